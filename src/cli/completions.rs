//! `specify ralph completions`: scripts by which a shell asks this program what can follow on a command line, and
//! the answers.

use std::ffi::{OsStr, OsString};
use std::io::Write;

use anyhow::{Context as _, Result};
use clap::{Args, Command};
use clap_complete::Shell;
use clap_complete::engine::{CompletionCandidate, complete};
use clap_complete::env::{Elvish, EnvCompleter, Fish, Powershell, Zsh};

use crate::record::{CANONICAL, RALPH_ELSEWHERE};
use crate::view::style::one_line;

use super::completion_values::{is_plain, with_values};
use super::own_command::{GIT_PROGRAM, Program, called_program};
use super::{Environment, ExitCode, help, print};

/// Variable by which a script asks; its value is the shell.
const ASKING: &str = "RALPH_COMPLETE";

/// Variables of the scripts that clap generates.
const INDEX: &str = "_CLAP_COMPLETE_INDEX";
const SEPARATOR: &str = "_CLAP_IFS";

/// Characters at which bash breaks words, though they may be within an argument.
const BASH_BREAKS: [char; 2] = ['=', ':'];

#[derive(Debug, Args)]
pub struct CompletionsArgs {
    /// Shell
    #[arg(value_name = "SHELL")]
    pub shell: Shell,
}

/// Returns what completes `specify ralph` goes where the shell looks for `specify`.
pub(super) fn examples() -> &'static str {
    if is_specify() { help::COMPLETIONS } else { help::COMPLETIONS_FOR_GIT }
}

/// Called as `git ralph`, we leave `specify` to spec-kit.
fn is_specify() -> bool {
    RALPH_ELSEWHERE.as_str() == CANONICAL
}

/// Prints the script for a shell.
pub fn run(args: &CompletionsArgs, environment: &Environment) -> Result<ExitCode> {
    let (name, program) = called_program(environment);
    let mut programs: Vec<(&str, &str)> = Vec::new();
    if is_specify() && name != GIT_PROGRAM {
        programs.push((&name, &program));
    }
    let for_git = if name == GIT_PROGRAM { program.as_str() } else { GIT_PROGRAM };
    programs.push((GIT_PROGRAM, for_git));
    let mut script = Vec::new();
    if args.shell == Shell::Zsh {
        let names: Vec<&str> = programs.iter().map(|(name, _)| *name).collect();
        script.extend_from_slice(format!("#compdef {}\n", names.join(" ")).as_bytes());
    }
    for (name, program) in &programs {
        register(args.shell, name, program, &mut script)?;
    }
    match args.shell {
        Shell::Bash => script.extend_from_slice(bash_for_git(for_git).as_bytes()),
        // Zsh calls a file of its function path as the function that it defines.
        Shell::Zsh => script.extend_from_slice(
            b"\nif [[ -n $service && ${funcstack[1]} == _* ]]; then\n    \
              _clap_dynamic_completer_${service//-/_}\nfi\n",
        ),
        Shell::Elvish | Shell::Fish | Shell::PowerShell | _ => {}
    }
    print(|out| out.write_all(&script))
}

fn register(shell: Shell, name: &str, program: &str, script: &mut Vec<u8>) -> Result<()> {
    let completer: &dyn EnvCompleter = match shell {
        Shell::Elvish => &Elvish,
        Shell::Fish => &Fish,
        Shell::PowerShell => &Powershell,
        Shell::Zsh => &Zsh,
        Shell::Bash | _ => {
            script.extend_from_slice(bash(name, program).as_bytes());
            return Ok(());
        }
    };
    completer.write_registration(ASKING, name, name, program, script).context("write the script")
}

/// Clap's own script for bash loses what is before a `=` or a `:`.
fn bash(name: &str, program: &str) -> String {
    let function = format!("_ralph_complete_{}", name.replace(|c: char| !c.is_ascii_alphanumeric(), "_"));
    let (name, program) = (quoted(name), quoted(program));
    format!(
        "{function}() {{
    local IFS=$'\\013'
    COMPREPLY=($({ASKING}=bash {SEPARATOR}=\"$IFS\" {INDEX}=\"$COMP_CWORD\" {program} -- \"${{COMP_WORDS[@]}}\" 2> /dev/null))
    if [[ ${{#COMPREPLY[@]}} == 1 && ${{COMPREPLY[0]}} == *[=:/] ]]; then
        compopt -o nospace 2> /dev/null
    fi
}}
complete -o bashdefault -o nosort -F {function} {name} 2> /dev/null ||
    complete -o bashdefault -F {function} {name}
"
    )
}

/// `git ralph` is completed by git's own script, which calls a function of this name.
fn bash_for_git(program: &str) -> String {
    let program = quoted(program);
    format!(
        "_git_ralph() {{
    local at=0
    while [[ $at -lt $cword && ${{words[at]}} != ralph ]]; do at=$((at + 1)); done
    __gitcomp_nl \"$({ASKING}=bash {SEPARATOR}=$'\\n' {INDEX}=$((cword - at)) {program} -- \"${{words[@]:at}}\" 2> /dev/null)\" \\
        \"\" \"${{cur##*[=:]}}\"
}}
"
    )
}

fn quoted(word: &str) -> String {
    format!("'{}'", word.replace('\'', "'\\''"))
}

/// Returns true if a shell asks what can follow.
pub(super) fn is_asked(arguments: &[OsString], environment: &Environment) -> bool {
    environment.value(ASKING).is_some() && arguments.get(1).is_some_and(|first| first == "--")
}

/// Prints what can follow the command line after the `--`.
pub(super) fn answer(
    program: Program,
    arguments: &[OsString],
    environment: &Environment,
    grammar: Command,
) -> ExitCode {
    let shell = environment.value(ASKING).unwrap_or_default();
    let words = arguments.get(2..).unwrap_or_default();
    let text = |name: &str| environment.text(name);
    let index = text(INDEX).and_then(|index| index.parse().ok());
    let mut line = Line::new(words, index.unwrap_or(words.len().saturating_sub(1)));
    if shell == "bash" {
        line = line.joined();
    }
    let ralph = with_values(grammar, &line.words);
    let mut command = match program {
        Program::Specify => Command::new("specify").subcommand(ralph.name("ralph")),
        Program::GitRalph => ralph.name(GIT_PROGRAM),
    };
    // A shell has no place for an error.
    let candidates = complete(&mut command, line.words.clone(), line.index, None).unwrap_or_default();
    let is_flag_begun = line.words.last().is_some_and(|word| word.to_string_lossy().starts_with('-'));
    let is_flag = |candidate: &CompletionCandidate| candidate.get_value().to_string_lossy().starts_with('-');
    let wanted = candidates.iter().filter(|candidate| is_flag_begun || !is_flag(candidate));
    let shown = wanted.filter_map(|candidate| shown(candidate, shell, &line.prefix));
    let answer = shown.collect::<Vec<_>>().join(text(SEPARATOR).unwrap_or("\n"));
    print(|out| out.write_all(answer.as_bytes())).unwrap_or(ExitCode::Done)
}

/// The words of a command line, and which one the cursor is on.
#[derive(Debug, PartialEq, Eq)]
struct Line {
    words: Vec<OsString>,
    index: usize,
    /// What the shell keeps of the word under the cursor.
    prefix: String,
}

impl Line {
    fn new(words: &[OsString], index: usize) -> Self {
        let mut words = words.to_vec();
        if words.len() <= index {
            words.resize(index.min(words.len()) + 1, OsString::new());
        }
        Self { index: index.min(words.len() - 1), words, prefix: String::new() }
    }

    /// Joins what bash broke: `--feature = 001` is one word. What follows the cursor does not matter.
    fn joined(self) -> Self {
        let mut words: Vec<OsString> = Vec::new();
        let is_break = |word: &OsStr| {
            word.to_str()
                .is_some_and(|word| !word.is_empty() && word.chars().all(|c| BASH_BREAKS.contains(&c)))
        };
        let mut is_open = false;
        for word in self.words.into_iter().take(self.index + 1) {
            let is_break = is_break(&word);
            match words.last_mut() {
                Some(last) if is_break || is_open => last.push(&word),
                _ => words.push(word),
            }
            is_open = is_break;
        }
        let last = words.last().map(|word| word.to_string_lossy()).unwrap_or_default();
        let kept = last.rfind(BASH_BREAKS).map_or(0, |at| at + 1);
        Self { index: words.len().saturating_sub(1), prefix: last[..kept].to_owned(), words }
    }
}

/// Returns a candidate as the shell reads it, or `None` if a name is not safe to type.
fn shown(candidate: &CompletionCandidate, shell: &OsStr, prefix: &str) -> Option<String> {
    let value = candidate.get_value().to_str().filter(|value| is_plain(value))?;
    let value = value.strip_prefix(prefix).unwrap_or(value);
    let help = candidate.get_help().map(ToString::to_string).unwrap_or_default();
    let help = one_line(help.lines().next().unwrap_or_default()).replace('\t', " ");
    Some(match shell.to_str() {
        Some("zsh") if help.is_empty() => value.replace(':', "\\:"),
        Some("zsh") => format!("{}:{}", value.replace(':', "\\:"), help.replace('\\', "\\\\")),
        Some("fish" | "powershell") if !help.is_empty() => format!("{value}\t{help}"),
        _ => value.to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(line: &str) -> Vec<OsString> {
        line.split('|').map(OsString::from).collect()
    }

    #[test]
    fn words_that_bash_broke_are_joined() {
        for (line, index, expected, prefix) in [
            ("specify|ralph|run|--set|unit|=|ta", 6, "specify|ralph|run|--set|unit=ta", "unit="),
            ("specify|ralph|run|--set|unit|=", 5, "specify|ralph|run|--set|unit=", "unit="),
            ("specify|ralph|run|--feature|=|00|--dry-run", 5, "specify|ralph|run|--feature=00", "--feature="),
            ("git-ralph|show|2026|:|3", 4, "git-ralph|show|2026:3", "2026:"),
            ("git-ralph|show|", 2, "git-ralph|show|", ""),
            ("git-ralph", 9, "git-ralph|", ""),
        ] {
            let line = Line::new(&words(line), index).joined();
            let expected = words(expected);
            let expected = Line { index: expected.len() - 1, words: expected, prefix: prefix.to_owned() };
            assert_eq!(line, expected);
        }
    }

    #[test]
    fn a_candidate_is_shown_as_the_shell_reads_it() {
        let candidate =
            |value: &str, help: &str| CompletionCandidate::new(value).help(Some(help.to_owned().into()));
        let one = candidate("2026:3", "a\\b\u{202e}\tc\nd");
        let show = |shell: &str, prefix: &str| shown(&one, OsStr::new(shell), prefix).unwrap();
        assert_eq!(show("bash", "2026:"), "3");
        assert_eq!(show("zsh", ""), "2026\\:3:a\\\\b\u{fffd} c");
        assert_eq!(show("fish", ""), "2026:3\ta\\b\u{fffd} c");
        for hostile in ["$(id)", "a b", "a;b", "`id`", "a\nb", "~root", "a\u{202e}b", "", "*"] {
            assert_eq!(shown(&candidate(hostile, ""), OsStr::new("bash"), ""), None, "{hostile}");
        }
    }
}

//! `specify ralph completions`: scripts by which a shell asks this program what can follow on a command line, and the
//! answers: commands, flags, and the names of features, tasks and sessions.

use std::any::TypeId;
use std::ffi::{OsStr, OsString};
use std::io::Write;
use std::sync::Arc;

use anyhow::{Context as _, Result};
use clap::{Arg, ColorChoice, Command};
use clap_complete::Shell;
use clap_complete::engine::{ArgValueCompleter, CompletionCandidate};
use clap_complete::env::Shells;

use ralph_core::record::{CANONICAL, RALPH_ELSEWHERE, SessionName};
use ralph_project::feature;
use ralph_project::tasks;

use crate::cli::context::Everywhere;
use crate::cli::own_command::{Call, GIT_PROGRAM, Program};
use crate::cli::{Context, Environment, ExitCode, help, print};

/// Variable by which a script asks; its value is the shell.
const ASKING: &str = "RALPH_COMPLETE";

/// `git ralph` is completed by git's own script for bash, which calls a function of this name.
const BASH_FOR_GIT: &str = r#"_git_ralph() {
    local at=0
    while [[ $at -lt $cword && ${words[at]} != ralph ]]; do at=$((at + 1)); done
    __gitcomp_nl "$(RALPH_COMPLETE=bash _CLAP_IFS=$'\n' _CLAP_COMPLETE_INDEX=$((cword - at)) git-ralph -- "${words[@]:at}" 2> /dev/null)"
}
"#;

/// Zsh calls a file of its function path as the function that it defines.
const ZSH_CALL: &str = r"
if [[ -n $service && ${funcstack[1]} == _* ]]; then
    _clap_dynamic_completer_${service//-/_}
fi
";

/// Returns what completes `specify ralph` goes where the shell looks for `specify`.
pub(super) fn examples() -> &'static str {
    // Called as `git ralph`, we leave `specify` to spec-kit.
    if RALPH_ELSEWHERE.as_str() == CANONICAL { help::COMPLETIONS } else { help::COMPLETIONS_FOR_GIT }
}

/// Prints the script for a shell.
pub fn run(shell: Shell, environment: &Environment) -> Result<ExitCode> {
    let call = Call::of_this_process(environment);
    let (name, program) = call.names();
    let mut programs = vec![(name.as_str(), program.as_str())];
    if call.program != Program::GitRalph {
        programs.push((GIT_PROGRAM, GIT_PROGRAM));
    }
    let mut script = Vec::new();
    if shell == Shell::Zsh {
        let names: Vec<_> = programs.iter().map(|(name, _)| *name).collect();
        writeln!(script, "#compdef {}", names.join(" "))?;
    }
    let shells = Shells::builtins();
    let completer = shells.completer(&shell.to_string()).context("find the shell")?;
    for (name, program) in &programs {
        completer.write_registration(ASKING, name, name, program, &mut script)?;
    }
    match shell {
        Shell::Bash => script.extend_from_slice(BASH_FOR_GIT.as_bytes()),
        Shell::Zsh => script.extend_from_slice(ZSH_CALL.as_bytes()),
        _ => {}
    }
    print(|out| out.write_all(&script))
}

/// Returns true if a shell asks what can follow.
pub(super) fn is_asked(arguments: &[OsString], environment: &Environment) -> bool {
    environment.value(ASKING).is_some() && arguments.get(1).is_some_and(|first| first == "--")
}

/// Prints what can follow the command line after the `--`. A shell has no place for an error.
pub(super) fn answer(
    program: Program,
    arguments: &[OsString],
    environment: &Environment,
    grammar: Command,
) -> ExitCode {
    let shells = Shells::builtins();
    let shell = environment.text(ASKING).and_then(|shell| shells.completer(shell));
    let (Some(shell), Some(words @ [.., _])) = (shell, arguments.get(2..)) else { return ExitCode::Done };
    let ralph = with_names(grammar, &words[..words.len() - 1].into());
    let mut command = match program {
        Program::Specify => Command::new("specify").subcommand(ralph.name("ralph")),
        Program::SpecifyRalph | Program::GitRalph => ralph.name(program.name()),
    };
    let mut answer = Vec::new();
    if shell.write_complete(&mut command, words.to_vec(), None, &mut answer).is_err() {
        return ExitCode::Done;
    }
    print(|out| out.write_all(&answer)).unwrap_or(ExitCode::Done)
}

/// Returns the command, and those below it, with names for their arguments. `words` are those before the cursor.
fn with_names(command: Command, words: &Arc<[OsString]>) -> Command {
    command
        .mut_args(|argument| with_completer(argument, words))
        .mut_subcommands(|command| with_names(command, words))
}

fn with_completer(argument: Arg, words: &Arc<[OsString]>) -> Arg {
    let is_feature = argument.get_value_names().is_some_and(|names| names[0] == "FEATURE");
    let names: fn(&[OsString]) -> Result<Vec<String>> = match argument.get_id().as_str() {
        "task" => task_names,
        _ if argument.get_value_parser().type_id() == TypeId::of::<SessionName>() => session_names,
        _ if is_feature => feature_names,
        _ => return argument,
    };
    let words = Arc::clone(words);
    argument.add(ArgValueCompleter::new(move |typed: &OsStr| {
        let typed = typed.to_string_lossy();
        // One of a list begins after a comma.
        let (before, begun) = typed.split_at(typed.rfind(',').map_or(0, |comma| comma + 1));
        // What a shell would not take literally is left out.
        let names = names(&words).unwrap_or_default().into_iter().filter(|name| {
            name.starts_with(begun)
                && !name.starts_with('-')
                && !name.is_empty()
                && name.chars().all(|c| c.is_alphanumeric() || "._-+@%,=/:".contains(c))
        });
        names.map(|name| CompletionCandidate::new(format!("{before}{name}"))).collect()
    }))
}

/// Returns a context with records, of the folder that the command line names, which warns of nothing.
fn context(words: &[OsString]) -> Result<Context> {
    let everywhere =
        Everywhere { directory: value_of(words, "-C").map(Into::into), color: ColorChoice::Never };
    Context::new(&everywhere)?.without_warnings()
}

/// Returns the value of a flag on the command line.
fn value_of(words: &[OsString], flag: &str) -> Option<String> {
    let words: Vec<_> = words.iter().map(|word| word.to_string_lossy()).collect();
    let apart = words.iter().position(|word| word == flag).and_then(|at| words.get(at + 1));
    let found = apart
        .map(AsRef::as_ref)
        .or_else(|| words.iter().find_map(|word| word.strip_prefix(flag)?.strip_prefix('=')));
    found.map(str::to_owned)
}

/// Returns the names of the features in the project that the command line is about.
pub fn feature_names(words: &[OsString]) -> Result<Vec<String>> {
    let context = context(words)?;
    feature::names(&context.project_root()?, &context.work_tree()?.project_files()?)
}

/// Returns the sessions, newest first, of one feature if the command line names it.
fn session_names(words: &[OsString]) -> Result<Vec<String>> {
    let context = context(words)?;
    let mut refs = context.store()?.session_names()?;
    if let Some(feature) = value_of(words, "--feature") {
        let feature = context.feature_to_read(Some(&feature))?;
        refs.retain(|refs| refs.is_of(&feature.path));
    }
    Ok(refs.iter().rev().map(|refs| refs.session.to_string()).collect())
}

/// Returns the tasks of the list that the command line is about.
fn task_names(words: &[OsString]) -> Result<Vec<String>> {
    let file = value_of(words, "--tasks").map(Into::into);
    let feature = context(words)?.feature(value_of(words, "--feature").as_ref(), file.as_ref())?;
    let list = tasks::read(&feature.files, &feature.tasks_path)?;
    Ok(list.tasks().map(|task| task.name.clone()).collect())
}

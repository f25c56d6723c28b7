//! The short help, which `-h` prints: what people need first, on one screen. `--help` has the rest.

use std::ffi::OsString;

use clap::Command;

use ralph_core::record::{RALPH, with_command};

use super::help;

/// Commands by purpose. `--help` lists the others too.
const GROUPS: [(&str, &[&str]); 5] = [
    ("Run", &["run", "resume", "stop", "hint"]),
    ("Look", &["status", "log", "show", "tui", "report", "stats"]),
    ("Code", &["diff", "restore", "bisect"]),
    ("Share", &["sync"]),
    ("Set up", &["init", "doctor", "config", "hooks", "completions", "demo"]),
];

/// The most useful flags of `run`.
const FLAGS: [(&str, &str); 6] = [
    ("-n, --max-iterations <N>", "Stop after N agent runs [default: 10]"),
    ("    --validate <CMD>", "Command that must pass before a task counts as done"),
    ("    --agent <NAME>", "Agent to run [default: the installed one]"),
    ("    --feature <FEATURE>", "Feature, by path or by name"),
    ("    --task <IDS>", "Only these tasks: T001,T004-T009; also --phase"),
    ("    --dry-run", "Print the next prompt, and run nothing"),
];

/// Returns the short help, if these arguments ask for help on the program itself.
pub fn short_help(arguments: &[OsString], grammar: &Command) -> Option<String> {
    is_asked_for(arguments, grammar).then(|| overview(grammar, RALPH.as_str()))
}

fn is_asked_for(arguments: &[OsString], grammar: &Command) -> bool {
    let mut before = arguments.iter().take_while(|argument| *argument != "-h");
    arguments.iter().any(|argument| argument == "-h")
        && !before.any(|argument| argument == "--help" || grammar.find_subcommand(argument).is_some())
}

/// Returns the short help, which fits a terminal of 80 columns.
fn overview(grammar: &Command, program: &str) -> String {
    let about = grammar.get_about().map(ToString::to_string).unwrap_or_default();
    let mut text = format!("{about}\n\nUsage: {program} [OPTIONS] [COMMAND]\n\n");
    for (title, names) in GROUPS {
        text.push_str(&format!("{title}:\n"));
        for command in names.iter().filter_map(|name| grammar.find_subcommand(name)) {
            let about = command.get_about().map(ToString::to_string).unwrap_or_default();
            text.push_str(&format!("  {:<11}  {about}\n", command.get_name()));
        }
    }
    text.push_str("Options of `run`:\n");
    for (flag, what) in FLAGS {
        text.push_str(&format!("  {flag:<24}  {what}\n"));
    }
    text.push_str(&with_command(help::SHORT, program));
    text.push('\n');
    text
}

#[cfg(test)]
mod tests {
    use super::super::grammar::grammar;
    use super::*;
    use ralph_core::record::CANONICAL;

    #[test]
    fn the_short_help_fits_a_screen_and_names_real_commands() {
        let grammar = grammar(CANONICAL);
        let text = overview(&grammar, CANONICAL);
        assert!(text.lines().count() <= 45, "{} lines", text.lines().count());
        let long: Vec<&str> = text.lines().filter(|line| line.chars().count() > 80).collect();
        assert!(long.is_empty(), "{long:#?}");
        for name in GROUPS.iter().flat_map(|(_, names)| *names) {
            assert!(text.contains(&format!("\n  {name} ")), "{name}");
        }
        for (flag, _) in FLAGS {
            let long =
                flag.split_once("--").map_or("", |(_, name)| name.split(' ').next().unwrap_or_default());
            assert!(grammar.get_arguments().any(|own| own.get_long() == Some(long)), "{flag}");
        }
    }

    #[test]
    fn only_the_program_itself_has_a_short_help() {
        let grammar = grammar(CANONICAL);
        for (line, expected) in [
            ("-h", true),
            ("-q -h", true),
            ("--help", false),
            ("log -h", false),
            ("--help -h", false),
            ("", false),
        ] {
            let words: Vec<OsString> = line.split_whitespace().map(OsString::from).collect();
            assert_eq!(is_asked_for(&words, &grammar), expected, "{line}");
        }
    }
}

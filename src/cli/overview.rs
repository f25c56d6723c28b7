//! The short help, which `-h` prints: what people need first, on one screen. `--help` has the rest.

use std::ffi::OsString;

use clap::Command;

use ralph_core::record::RALPH;
use ralph_ui::style::{Look, Paint};

/// A command, what it does, and a flag that is worth knowing.
type Entry = (&'static str, &'static str, &'static str);

/// Groups of commands by what people want to do.
/// `help --all` lists the others too.
const GROUPS: [(&str, &[Entry]); 4] = [
    (
        "Work",
        &[
            ("resume", "go on with an unfinished session", ""),
            ("stop", "after this attempt, or --now", ""),
            ("hint", "tell the next attempt something (--task T034)", ""),
            ("accept", "it is done: you have the last word", "or reopen"),
        ],
    ),
    (
        "Look",
        &[
            ("status", "what is done, what needs you", "-w follows"),
            ("log", "every attempt", "--failed, --grep"),
            ("show", "one attempt: show T034, show 49", "-p patch"),
            ("tui", "all of it, live, in the terminal", ""),
            ("report", "all of it as a page; web: live", "--open"),
        ],
    ),
    (
        "Code",
        &[
            ("diff", "what an attempt, or the night, changed", ""),
            ("restore", "the files as they were after an attempt", ""),
            ("verify", "whether it passes in a clean checkout, too", ""),
        ],
    ),
    ("Share", &[("sync", "push and fetch the record", "")]),
];

/// Commands that are used once.
const SET_UP: [&str; 4] = ["init", "doctor", "config", "demo"];

/// Commands that help and documents name, and no list has.
const ALSO: [&str; 7] = ["sessions", "bisect", "tasks", "shim", "man", "purge", "rebuild"];

/// The flags of `run` that people need first.
const FLAGS: [(&str, &str); 5] = [
    ("-n, --max-iterations N", "stop after N attempts (10)"),
    ("    --validate CMD", "must pass before a task counts as done"),
    ("    --agent NAME", "claude, codex, copilot, gemini, opencode, …"),
    ("    --max-cost USD", "stop at this cost"),
    ("    --dry-run", "print the next prompt, run nothing"),
];

/// Returns the short help, if these arguments ask for that of the program itself.
pub fn short_help(arguments: &[OsString], grammar: &Command, paint: Paint) -> Option<String> {
    is_asked_for(arguments, grammar).then(|| overview(RALPH.as_str(), paint))
}

fn is_asked_for(arguments: &[OsString], grammar: &Command) -> bool {
    let mut before = arguments.iter().take_while(|argument| *argument != "-h");
    arguments.iter().any(|argument| argument == "-h")
        && !before.any(|argument| argument == "--help" || grammar.find_subcommand(argument).is_some())
}

/// Returns the short help, for a terminal of 80 columns.
fn overview(program: &str, paint: Paint) -> String {
    let bold = |text: &str| paint.paint(Look::Bold, text);
    let mut text = format!(
        "{}\n\n  {program} [-n N] [--validate CMD] [--task T001-T009]     start, or go on\n\n",
        bold("Run a coding agent over a spec-kit task list, check each task, keep all in git.")
    );
    for (title, commands) in GROUPS {
        for (place, (name, what, flag)) in commands.iter().enumerate() {
            let title = if place == 0 { bold(title) + &" ".repeat(9 - title.len()) } else { " ".repeat(9) };
            let name = bold(name) + &" ".repeat(11 - name.len());
            text.push_str(format!("{title}{name}{what:<39}{flag}").trim_end());
            text.push('\n');
        }
    }
    text.push_str(&format!("{}   {}\n\n", bold("Set up"), SET_UP.map(bold).join(" · ")));
    for (flag, what) in FLAGS {
        text.push_str(&format!("{}{}  {what}\n", bold(flag), " ".repeat(23 - flag.len())));
    }
    text.push_str(&format!("\nAlso: {}\nAll commands and flags: {program} help --all\n", ALSO.join(" · ")));
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::grammar::grammar;
    use ralph_core::record::CANONICAL;

    #[test]
    fn the_short_help_fits_a_screen_and_names_what_there_is() {
        let grammar = grammar(CANONICAL);
        let text = overview(CANONICAL, Paint::Plain);
        assert!(text.lines().count() <= 27, "{} lines", text.lines().count());
        let long: Vec<&str> = text.lines().filter(|line| line.chars().count() > 80).collect();
        assert!(long.is_empty(), "{long:#?}");
        let names = GROUPS.iter().flat_map(|(_, commands)| commands.iter().map(|(name, ..)| *name));
        for name in names.chain(SET_UP).chain(ALSO) {
            assert!(grammar.find_subcommand(name).is_some() && text.contains(name), "{name}");
        }
        for (flag, _) in FLAGS {
            let long =
                flag.split_once("--").map_or("", |(_, name)| name.split(' ').next().unwrap_or_default());
            assert!(grammar.get_arguments().any(|own| own.get_long() == Some(long)), "{flag}");
        }
        assert!(overview(CANONICAL, Paint::Colour).contains("\x1b[1mlog\x1b[0m"));
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

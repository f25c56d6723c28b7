//! From the words of the command line to a command, and from its end to an exit code.

use std::ffi::{OsStr, OsString};
use std::io::{IsTerminal, stderr};

use anyhow::Result;
use clap::error::ErrorKind;
use clap::parser::ValueSource;
use clap::{ArgMatches, Args, Command, CommandFactory, Error, FromArgMatches};

use crate::process::{LAUNCH, launch, launch_through_ourselves, use_portable_processes};
use crate::record::{CANONICAL, RALPH, with_command};
use crate::view::style::Paint;

use super::args::Color;
use super::caller::{Caller, Environment};
use super::exit_code::ExitCode;
use super::forward::forward;
use super::output::report;
use super::own_command::{Program, set_own_command};
use super::run::RunArgs;
use super::{Action, Ralph};

/// For tests: if set, processes are looked at on Linux as on other systems.
const PORTABLE: &str = "RALPH_TEST_PORTABLE";

pub(super) fn specify(arguments: &[OsString]) -> ExitCode {
    let called = arguments.first().map(OsString::as_os_str);
    match arguments.get(1..).unwrap_or_default() {
        [first, rest @ ..] if first == "ralph" => ralph((Program::Specify, called), &["ralph"], rest),
        rest => {
            let environment = Environment::read();
            set_own_command(Program::Specify, called, &environment);
            reported(forward(rest, &environment))
        }
    }
}

pub(super) fn git_ralph(arguments: &[OsString]) -> ExitCode {
    let called = arguments.first().map(OsString::as_os_str);
    ralph((Program::GitRalph, called), &[], arguments.get(1..).unwrap_or_default())
}

/// `words` stand before our own words where this program calls itself.
fn ralph((program, called): (Program, Option<&OsStr>), words: &[&str], arguments: &[OsString]) -> ExitCode {
    // Before anything else: every child of a loop begins here.
    if let Some((_, arguments)) = arguments.split_first().filter(|(first, _)| *first == LAUNCH) {
        return ExitCode::Played(launch(arguments));
    }
    launch_through_ourselves(words);
    set_own_command(program, called, &Environment::read());
    match parse(arguments) {
        Ok(ralph) => reported(run(ralph, arguments)),
        Err(error) => {
            // Where nobody reads the help there is nobody to tell.
            let _closed = error.print().is_err();
            if error.use_stderr() { ExitCode::Usage } else { ExitCode::Done }
        }
    }
}

fn reported(result: Result<ExitCode>) -> ExitCode {
    result.unwrap_or_else(|error| report(&error, &mut stderr()))
}

fn run(ralph: Ralph, arguments: &[OsString]) -> Result<ExitCode> {
    let caller = Caller::new(ralph.everywhere.directory.as_deref())?;
    if caller.environment.value(PORTABLE).is_some() {
        use_portable_processes();
    }
    let paint = paint(ralph.everywhere.color, &caller.environment);
    match ralph.action.unwrap_or_else(|| Action::Run(Box::new(ralph.run))) {
        Action::Run(args) if args.tui => super::tui::with_loop(arguments, &caller, paint),
        Action::Run(args) => super::run::run(&args, &caller, paint),
        Action::Resume(args) if args.tui => super::tui::with_loop(arguments, &caller, paint),
        Action::Resume(args) => super::run::resume(&args, &caller, paint),
        Action::Stop(args) => super::steer::stop(&args, &caller),
        Action::Hint(args) => super::steer::hint(&args, &caller),
        Action::Pause(args) => super::steer::pause(&args, &caller),
        Action::Continue(args) => super::steer::go_on(&args, &caller),
        Action::Status(args) => super::status::run(&args, &caller, paint),
        Action::Tasks(args) => super::tasks::run(&args, &caller),
        Action::Log(args) => super::log::run(&args, &caller, paint),
        Action::Show(args) => super::show::run(&args, &caller, (ralph.everywhere.color, paint)),
        Action::Bisect(args) => super::bisect::run(&args, &caller),
        Action::Restore(args) => super::restore::run(&args, &caller, paint),
        Action::Diff(args) => super::diff::run(&args, &caller, ralph.everywhere.color),
        Action::Rebuild(args) => super::rebuild::run(&args, &caller),
        Action::Agents(args) => super::agents::run(&args, &caller),
        Action::Replay(args) => super::replay::run(&args, &caller, paint),
        Action::Stats(args) => super::stats::run(&args, &caller, paint),
        Action::Report(args) => super::report::run(&args, &caller),
        Action::Progress(args) => super::progress::run(&args, &caller),
        Action::History(args) => super::history::run(&args, &caller, paint),
        Action::Tui(args) => super::tui::run(&args, &caller, paint),
        Action::Config(args) => super::config::run(&args, &caller),
        Action::Sync(args) => super::sync::run(&args, &caller),
        Action::Bundle(args) => super::sync::bundle(&args, &caller),
        Action::Unbundle(args) => super::sync::unbundle(&args, &caller),
        Action::Fsck(args) => super::fsck::run(&args, &caller),
        Action::Clean(args) => super::clean::run(&args, &caller),
        Action::Purge(args) => super::clean::purge(&args, &caller),
        Action::Hooks(args) => super::hooks::run(&args, &caller),
        Action::Notes(args) => super::notes::run(&args, &caller),
        Action::Pack(args) => super::pack::run(&args, &caller),
        Action::Excerpt(args) => super::excerpt::run(&args, &caller),
        Action::Demo(args) => super::demo::run(&args, &caller, paint),
        Action::Doctor(args) => super::doctor::run(&args, &caller),
        Action::Init(args) => super::init::run(&args, &caller),
        Action::Completions(args) => super::completions::run(&args),
        Action::Man(args) => super::man::run(&args),
        Action::Help(args) => super::help_topic::run(&args),
        Action::PlayScript(args) => super::play_script::run(&args, &caller).map(ExitCode::Played),
    }
}

/// Colours where a person looks on, unless the user says otherwise.
fn paint(color: Color, environment: &Environment) -> Paint {
    let is_wanted = match color {
        Color::Always => true,
        Color::Never => false,
        Color::Auto => {
            let is_off = environment.value("NO_COLOR").is_some_and(|value| !value.is_empty());
            !is_off && std::io::stdout().is_terminal()
        }
    };
    if is_wanted { Paint::Colour } else { Paint::Plain }
}

pub(super) fn grammar(program: &'static str) -> Command {
    with_examples(Ralph::command().bin_name(program), program)
}

/// The command, and those below it, with examples that can be typed.
fn with_examples(command: Command, program: &str) -> Command {
    if program == CANONICAL {
        return command;
    }
    let examples = command.get_after_help().map(|text| with_command(&text.to_string(), program));
    let command = if let Some(text) = examples { command.after_help(text) } else { command };
    command.mut_subcommands(|command| with_examples(command, program))
}

fn parse(arguments: &[OsString]) -> Result<Ralph, Error> {
    let program = RALPH.as_str();
    let mut command = grammar(program);
    let words = std::iter::once(OsString::from(program)).chain(arguments.iter().cloned());
    let matches = command.try_get_matches_from_mut(words)?;
    check_order(&mut command, &matches)?;
    Ralph::from_arg_matches(&matches).map_err(|error| error.format(&mut command))
}

/// The flags of `run` may stand without it, but not before another command: there they would do nothing.
fn check_order(command: &mut Command, matches: &ArgMatches) -> Result<(), Error> {
    let Some(action) = matches.subcommand_name() else { return Ok(()) };
    let run = RunArgs::augment_args(Command::new("run"));
    let is_given = |id: &str| matches.value_source(id) == Some(ValueSource::CommandLine);
    let is_of_run = |id: &str| run.get_arguments().any(|own| own.get_id() == id);
    let given = command
        .get_arguments()
        .find(|argument| is_of_run(argument.get_id().as_str()) && is_given(argument.get_id().as_str()))
        .map(ToString::to_string);
    match given {
        None => Ok(()),
        Some(given) => {
            let message = format!("the argument '{given}' cannot stand before '{action}': write it behind");
            Err(command.error(ErrorKind::ArgumentConflict, message))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::show::{Part, ShowArgs};
    use super::*;

    fn parsed(line: &str) -> Result<Ralph, Error> {
        let words: Vec<OsString> = line.split_whitespace().map(OsString::from).collect();
        parse(&words)
    }

    #[test]
    fn the_grammar_is_sound() {
        grammar(CANONICAL).debug_assert();
    }

    #[test]
    fn every_argument_and_command_has_help_with_a_capital_and_no_full_stop() {
        fn walk(command: &Command) {
            let about = command.get_about().map(ToString::to_string).unwrap_or_default();
            check(command.get_name(), &about);
            for argument in command.get_arguments() {
                let help = argument.get_help().map(ToString::to_string).unwrap_or_default();
                check(&format!("{} {}", command.get_name(), argument.get_id()), &help);
            }
            command.get_subcommands().for_each(walk);
        }
        #[track_caller]
        fn check(name: &str, help: &str) {
            assert!(help.starts_with(char::is_uppercase), "{name}: `{help}`");
            assert!(!help.ends_with('.'), "{name}: `{help}`");
        }
        walk(&grammar(CANONICAL));
    }

    #[test]
    fn closing_texts_leave_it_to_the_terminal_where_a_paragraph_is_broken() {
        let whole = grammar(CANONICAL);
        let of = |command: &Command| command.get_after_help().map(ToString::to_string);
        let texts = whole.get_subcommands().chain([&whole]).filter_map(of);
        for text in texts {
            let is_paragraph =
                |line: &str| !line.is_empty() && !line.starts_with(' ') && !line.ends_with(':');
            let mut pairs = text.lines().zip(text.lines().skip(1));
            let broken = pairs.find(|(one, next)| is_paragraph(one) && is_paragraph(next));
            assert_eq!(broken, None, "{text}");
        }
    }

    #[test]
    fn without_a_command_the_flags_are_those_of_run() {
        let bare = parsed("-C sub -n 5 -m opus --agent-cli claude --dry-run").unwrap();
        assert!(bare.action.is_none() && bare.run.dry_run);
        assert_eq!(bare.everywhere.directory.unwrap(), "sub");
        let Some(Action::Run(run)) = parsed("run -n 5 -m opus --agent claude -C sub").unwrap().action else {
            panic!("no run")
        };
        assert_eq!(run.settings.flags(), bare.run.settings.flags());
    }

    #[test]
    fn flags_become_a_layer_in_which_their_own_name_wins_over_set() {
        let run = parsed("--timeout 5m --set timeout=9m --set progress.tail=yes").unwrap().run;
        let shown: Vec<_> = run
            .settings
            .flags()
            .settings
            .into_iter()
            .map(|flag| format!("{} {}={}", flag.flag, flag.key, flag.value))
            .collect();
        assert_eq!(shown, ["--set timeout=9m", "--set progress.tail=yes", "--timeout timeout=5m"]);
    }

    #[test]
    fn wrong_usage_says_what_is_wrong() {
        for (line, expected) in [
            ("-n 0", "expected a whole number from 1 to 1000000"),
            ("--timeout soon", "expected a duration such as 10s"),
            ("--set timeuot=5m", "unknown key `timeuot`, did you mean `timeout`?"),
            ("--set timeout", "expected KEY=VALUE"),
            ("--agent-command=", "invalid value '' for '--agent-command <CMD>': expected a command line"),
            ("--agent x --agent-command y", "cannot be used with"),
            ("--feature x --tasks y", "cannot be used with"),
            ("-n 5 status", "'--max-iterations <N>' cannot stand before 'status'"),
            ("stauts", "'status'"),
            ("show 1 --stdout --json", "cannot be used with"),
            ("show @2", "`@2` is no iteration"),
            ("show 1 --patch --json", "cannot be used with"),
            ("diff", "<A>"),
            ("restore", "<N>"),
            ("bisect", "<COMMAND>"),
            ("log --outcome good", "`good` is none of success"),
            ("log --format taks", "did you mean `task`?"),
            ("log --grep (", "unclosed group"),
            ("log --oneline --json", "cannot be used with"),
            ("restore 3 --undo", "cannot be used with"),
            ("diff 1 2 --stat --name-only", "cannot be used with"),
            ("show --session x", "`x` is no session id like"),
            ("rebuild --check --all", "cannot be used with"),
            ("log --sessions --failed", "cannot be used with"),
            ("sync --push-only --fetch-only", "cannot be used with"),
            ("bundle", "<FILE>"),
            ("clean --session 20261121 --keep-days 3", "cannot be used with"),
            ("purge", "<SESSION>"),
            ("purge 2026 --local --remote origin", "cannot be used with"),
            ("notes", "rebuild"),
            ("hooks", "install"),
            ("config --set a=b", "unexpected argument '--set'"),
        ] {
            let error = parsed(line).unwrap_err();
            assert!(error.use_stderr(), "{line}");
            assert!(error.to_string().contains(expected), "{line}: {error}");
        }
    }

    #[test]
    fn what_holds_everywhere_may_stand_before_a_command() {
        assert!(matches!(parsed("--color never -C x status").unwrap().action, Some(Action::Status(_))));
        assert!(matches!(parsed("log --json --task T004").unwrap().action, Some(Action::Log(_))));
    }

    #[test]
    fn show_prints_one_part() {
        let part = |line: &str| {
            let Some(Action::Show(args)) = parsed(line).unwrap().action else { panic!("{line}") };
            ShowArgs::part(&args)
        };
        assert_eq!(part("show"), Part::Summary);
        assert_eq!(part("show 3 --stderr"), Part::Stderr);
        assert_eq!(part("show 3 --json"), Part::Json);
    }
}

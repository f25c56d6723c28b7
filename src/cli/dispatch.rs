//! Runs the command that was asked for, and turns how it ended into an exit code.

use std::ffi::{OsStr, OsString};
use std::io::{IsTerminal, Write, stderr};

use anyhow::Result;
use clap::error::ErrorKind;

use crate::process::{LAUNCH, launch, launch_through_ourselves, use_portable_processes};
use crate::record::RALPH;
use crate::view::style::Paint;

use super::args::Color;
use super::caller::{Caller, Environment};
use super::completions;
use super::exit_code::ExitCode;
use super::forward::forward;
use super::grammar::{Action, Ralph, grammar, parse};
use super::memory::{self, MemoryPart};
use super::output::{report, stdout};
use super::overview::short_help;
use super::own_command::{Program, set_own_command};
use super::util;

/// For tests: if set, processes are looked at on Linux as on other systems.
const PORTABLE: &str = "RALPH_TEST_PORTABLE";

pub(super) fn specify(arguments: &[OsString]) -> ExitCode {
    let called = arguments.first().map(OsString::as_os_str);
    if let Some(code) = asked_to_complete(Program::Specify, arguments) {
        return code;
    }
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
    if let Some(code) = asked_to_complete(Program::GitRalph, arguments) {
        return code;
    }
    ralph((Program::GitRalph, called), &[], arguments.get(1..).unwrap_or_default())
}

/// Answers a shell that completes a command line.
fn asked_to_complete(program: Program, arguments: &[OsString]) -> Option<ExitCode> {
    let environment = Environment::read();
    if !completions::is_asked(arguments, &environment) {
        return None;
    }
    launch_through_ourselves(program.words());
    set_own_command(program, arguments.first().map(OsString::as_os_str), &environment);
    Some(completions::answer(program, arguments, &environment, grammar(RALPH.as_str())))
}

/// `words` are before our own words where this program calls itself.
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
            let is_help = error.kind() == ErrorKind::DisplayHelp;
            let short = if is_help { short_help(arguments, &grammar(RALPH.as_str())) } else { None };
            // If stdout is closed, nothing is left to report.
            let _closed = match short {
                Some(text) => stdout().write_all(text.as_bytes()).is_err(),
                None => error.print().is_err(),
            };
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
        Action::Run(args) if args.tui => {
            super::tui::with_loop(arguments, args.settings.flags(), &caller, paint)
        }
        Action::Run(args) => super::run::run(&args, &caller, paint),
        Action::Resume(args) if args.tui => {
            super::tui::with_loop(arguments, args.settings.flags(), &caller, paint)
        }
        Action::Resume(args) => super::run::resume(&args, &caller, paint),
        Action::Stop(args) => super::control::stop(&args, &caller),
        Action::Hint(args) => super::control::hint(&args, &caller),
        Action::Pause(args) => super::control::pause(&args, &caller),
        Action::Continue(args) => super::control::go_on(&args, &caller),
        Action::Status(args) => super::status::run(&args, &caller, paint),
        Action::Tasks(args) => super::tasks::run(&args, &caller),
        Action::Log(args) => super::log::run(&args, &caller, paint),
        Action::Show(args) => super::show::run(&args, &caller, (ralph.everywhere.color, paint)),
        Action::Bisect(args) => super::bisect::run(&args, &caller),
        Action::Restore(args) => super::restore::run(&args, &caller, paint),
        Action::Diff(args) => super::diff::run(&args, &caller, ralph.everywhere.color),
        Action::Rebuild(args) => super::rebuild::run(&args, &caller),
        Action::Agents(args) => super::agents::run(&args, &caller),
        Action::Stats(args) => super::stats::run(&args, &caller, paint),
        Action::Report(args) => super::report::run(&args, &caller),
        Action::Web(args) => super::web::run(&args, &caller),
        Action::Memory(args) => memory::run(&args, MemoryPart::Both, &caller, paint),
        Action::Progress(args) => memory::run(&args, MemoryPart::Newest, &caller, paint),
        Action::History(args) => memory::run(&args, MemoryPart::Older, &caller, paint),
        Action::Tui(args) => super::tui::run(&args, &caller, paint),
        Action::Config(args) => super::config::run(&args, &caller),
        Action::Trust(args) => super::trust::run(&args, &caller),
        Action::Sync(args) => super::sync::run(&args, &caller),
        Action::Bundle(args) => super::sync::bundle(&args, &caller),
        Action::Unbundle(args) => super::sync::unbundle(&args, &caller),
        Action::Fsck(args) => super::fsck::run(&args, &caller),
        Action::Clean(args) => super::clean::run(&args, &caller),
        Action::Purge(args) => super::clean::purge(&args, &caller),
        Action::Hooks(args) => super::hooks::run(&args, &caller),
        Action::Notes(args) => super::notes::run(&args, &caller),
        Action::Pack(args) => super::pack::run(&args, &caller),
        Action::Demo(args) => super::demo::run(&args, &caller, paint),
        Action::Doctor(args) => super::doctor::run(&args, &caller),
        Action::Init(args) => super::init::run(&args, &caller),
        Action::Util(util::UtilArgs { action }) | Action::OfUtil(action) => {
            util::run(&action, &caller, paint, grammar)
        }
        Action::Help(args) => super::help_topic::run(&args, grammar(RALPH.as_str())),
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

//! Runs the command that was asked for, and turns how it ended into an exit code.

use std::ffi::OsString;
use std::io::{self, Write, stderr};

use anyhow::Result;
use clap::ColorChoice;
use clap::error::ErrorKind;

use ralph_core::record::RALPH;
use ralph_os::process::{
    LAUNCH, launch, launch_through_ourselves, outside, use_portable_processes, wait_for_children,
};
use ralph_os::sandbox::{PROBE, probe};

use crate::cli::context::paint;
use crate::cli::forward::forward;
use crate::cli::grammar::{Action, Ralph, grammar, parse};
use crate::cli::overview::short_help;
use crate::cli::own_command::{Call, Program};
use crate::cli::read::memory::MemoryPart;
use crate::cli::read::{
    bisect, diff, excerpt, log, memory, report, show, stats, status, tasks, tui, verify, web,
};
use crate::cli::repair::{clean, fsck, rebuild, replay, restore};
use crate::cli::share::hooks::HooksAction;
use crate::cli::share::{hooks, notes, pr, sync};
use crate::cli::start::{accept, control, demo, doctor, hint, init, resume, run, shim, trust};
use crate::cli::{
    Context, Environment, ExitCode, completions, config, help_topic, man, misplaced_feature, output,
    play_script, stdout, unknown_command,
};

/// For tests: if set, processes are looked at on Linux as on other systems.
const PORTABLE: &str = "RALPH_TEST_PORTABLE";

/// `arguments` begin with the name by which the program was called.
pub(super) fn main(arguments: &[OsString]) -> ExitCode {
    wait_for_children();
    let rest = arguments.get(1..).unwrap_or_default();
    // Before anything else: every child of a loop begins here.
    if let Some((_, arguments)) = rest.split_first().filter(|(first, _)| *first == LAUNCH) {
        return ExitCode::Passed(launch(arguments));
    }
    if let [first, port] = rest
        && *first == PROBE
    {
        let _is_open = port.to_str().is_some_and(probe);
        return ExitCode::Done;
    }
    launch_through_ourselves();
    let environment = Environment::read();
    let call = Call::of_this_process(&environment);
    call.set_own_command();
    if completions::is_asked(arguments, &environment) {
        return completions::answer(call.program, arguments, &environment, grammar(RALPH.as_str()));
    }
    match rest {
        [first, rest @ ..] if first == "ralph" => ralph(rest, &environment),
        _ if call.program == Program::Specify => reported(forward(rest, &environment, &call)),
        _ => ralph(rest, &environment),
    }
}

fn ralph(arguments: &[OsString], environment: &Environment) -> ExitCode {
    match parse(arguments) {
        Ok(ralph) => reported(act(ralph, arguments)),
        Err(error) => {
            let explained = unknown_command::retired(&error)
                .or_else(|| misplaced_feature::explain(&error, arguments))
                .or_else(|| unknown_command::suggest(&error, &grammar(RALPH.as_str())));
            if let Some(explained) = explained {
                output::report(&explained, &mut stderr());
                return ExitCode::Usage;
            }
            let is_help = error.kind() == ErrorKind::DisplayHelp;
            let short = if is_help {
                short_help(arguments, &grammar(RALPH.as_str()), paint(ColorChoice::Auto, environment))
            } else {
                None
            };
            let mut out = stdout();
            let printed = match short {
                Some(text) => out.write_all(text.as_bytes()),
                None => error.print(),
            };
            let code = if error.use_stderr() { ExitCode::Usage } else { ExitCode::Done };
            match printed.and_then(|()| out.flush()) {
                // A disk may be full. If stdout or stderr is closed, nothing is left to report.
                Err(failed) if failed.kind() != io::ErrorKind::BrokenPipe && code == ExitCode::Done => {
                    output::report(&failed.into(), &mut stderr())
                }
                _ => code,
            }
        }
    }
}

/// Returns true for what changes nothing of this repository, or is a part of what agents and git do.
fn works_within(action: &Action) -> bool {
    match action {
        Action::Hint(args) => args.text.is_empty() && args.clear.is_none(),
        Action::Fsck { repair, .. } => !repair,
        Action::Doctor { run, .. } => !run,
        // git's hooks of the user run it.
        Action::Sync(_)
        | Action::Demo { .. }
        | Action::Shim(_)
        | Action::Completions { .. }
        | Action::Man { .. }
        | Action::Excerpt { .. }
        | Action::Help { .. }
        | Action::PlayScript { .. }
        | Action::Hooks(HooksAction::Status { .. }) => true,
        _ => reads(action),
    }
}

fn reads(action: &Action) -> bool {
    matches!(
        action,
        Action::Status(_)
            | Action::Tasks { .. }
            | Action::Log(_)
            | Action::Sessions(_)
            | Action::Show(_)
            | Action::Diff(_)
            | Action::Stats(_)
            | Action::Report(_)
            | Action::Web(_)
            | Action::Memory(_)
            | Action::Progress(_)
            | Action::History(_)
            | Action::Tui(_)
            | Action::Config { .. }
            | Action::Fsck { .. }
            | Action::Doctor { .. }
            | Action::Replay { .. }
    )
}

fn reported(result: Result<ExitCode>) -> ExitCode {
    result.unwrap_or_else(|error| output::report(&error, &mut stderr()))
}

fn act(ralph: Ralph, arguments: &[OsString]) -> Result<ExitCode> {
    let context = Context::new(&ralph.everywhere)?;
    if context.environment.value(PORTABLE).is_some() {
        use_portable_processes();
    }
    let action = ralph.action.unwrap_or_else(|| Action::Run(Box::new(ralph.run)));
    let starts = matches!(action, Action::Run(_) | Action::Resume(_));
    // As long as it is not known whether what starts is in a sandbox.
    outside::begin(&context.directory, starts || reads(&action));
    if !works_within(&action) {
        control::refuse_within_iteration(&context)?;
    }
    // Those that start a loop refuse it.
    if let Action::Status(_) | Action::Log(_) | Action::Show(_) | Action::Diff(_) | Action::Restore(_) =
        &action
    {
        context.warn_of_fault();
    }
    match action {
        Action::Run(args) if args.tui => tui::run_beside(arguments, args.settings.flags(), &context),
        Action::Run(args) => run::run(&args, arguments, &context),
        Action::Resume(args) if args.tui => tui::resume_beside(arguments, &args, &context),
        Action::Resume(args) => resume::run(&args, arguments, &context),
        Action::Stop { now, session } => control::stop(now, session.as_ref(), &context),
        Action::Accept(args) => accept::accept(&args, &context),
        Action::Reopen(args) => accept::reopen(&args, &context),
        Action::Hint(args) => hint::hint(&args, &context),
        Action::Status(args) => status::run(&args, &context),
        Action::Tasks { file, feature, json } => {
            tasks::run(file.as_deref(), feature.as_ref(), json, &context)
        }
        Action::Log(args) => log::run(&args, &context),
        Action::Sessions(args) => log::run_sessions(args, &context),
        Action::Show(args) => show::run(&args, &context),
        Action::Bisect(args) => bisect::run(&args, &context),
        Action::Verify(args) => verify::run(&args, &context),
        Action::Restore(args) => restore::run(&args, &context),
        Action::Diff(args) => diff::run(&args, &context),
        Action::Rebuild(args) => rebuild::run(&args, &context),
        Action::Stats(args) => stats::run(&args, &context),
        Action::Report(args) => report::run(&args, &context),
        Action::Web(args) => web::run(&args, &context),
        Action::Memory(args) => memory::run(&args, MemoryPart::Both, &context),
        Action::Progress(args) => memory::run(&args, MemoryPart::Newest, &context),
        Action::History(args) => memory::run(&args, MemoryPart::Older, &context),
        Action::Tui(only) => tui::run(&only, &context),
        Action::Config { all, json } => config::run(all, json, &context),
        Action::Trust(args) => trust::run(&args, &context),
        Action::Sync(args) => sync::run(&args, &context),
        Action::Pr(args) => pr::run(&args, &context),
        Action::Fsck { repair, read } => fsck::run(repair, &read, &context),
        Action::Clean(args) => clean::run(&args, &context),
        Action::Purge(args) => clean::purge(&args, &context),
        Action::Hooks(action) => hooks::run(&action, &context),
        Action::Notes(action) => notes::run(&action, &context),
        Action::Demo { dir } => demo::run(dir.as_deref(), &context),
        Action::Doctor { run, remote, json } => doctor::run(run, remote.as_deref(), json, &context),
        Action::Init(args) => init::run(&args, &context),
        Action::Shim(action) => shim::run(&action, &context),
        Action::Completions { shell } => completions::run(shell, &context.environment),
        Action::Man { dir } => man::run(dir.as_deref(), grammar),
        Action::Excerpt { max_chars, batch, neighbours } => {
            excerpt::run(max_chars, batch.as_deref(), neighbours, &context)
        }
        Action::Replay { session, json, settings } => replay::run(session, json, &settings, &context),
        Action::Help { topic, .. } => help_topic::run(topic.as_deref(), grammar(RALPH.as_str())),
        Action::PlayScript { file } => play_script::run(&file, &context).map(ExitCode::Passed),
    }
}

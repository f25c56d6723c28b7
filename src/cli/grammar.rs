//! The grammar of the command line: the programs, their commands, and what clap alone cannot check.

use std::ffi::OsString;

use camino::Utf8PathBuf;
use clap::error::ErrorKind;
use clap::parser::ValueSource;
use clap::{ArgMatches, Args, Command, CommandFactory, Error, FromArgMatches, Parser, Subcommand};

use ralph_core::record::{CANONICAL, RALPH, SessionName};

use crate::cli::args::{MemorySettingArgs, ReadArgs};
use crate::cli::context::Everywhere;
use crate::cli::own_command::with_command;
use crate::cli::read::sessions::OnlySessions;
use crate::cli::read::{bisect, diff, log, memory, report_output, show, status, verify, web};
use crate::cli::repair::{clean, rebuild, restore};
use crate::cli::share::{hooks, notes, pr, sync};
use crate::cli::start::run::RunArgs;
use crate::cli::start::{accept, hint, init, resume, shim, trust};
use crate::cli::{Json, completions, help, help_topic};

/// Run coding agents over a spec-kit feature, and keep the whole record in git
#[derive(Debug, Parser)]
#[command(name = "specify-ralph", version, after_help = help::RALPH, max_term_width = 110, disable_help_subcommand = true)]
pub struct Ralph {
    #[command(flatten)]
    pub everywhere: Everywhere,
    #[command(flatten)]
    pub run: RunArgs,
    #[command(subcommand)]
    pub action: Option<Action>,
}

#[derive(Debug, Subcommand)]
pub enum Action {
    /// Run the loop until all tasks are done (the default)
    Run(Box<RunArgs>),
    /// Resume an unfinished session
    Resume(Box<resume::ResumeArgs>),
    /// Stop the running loop after its iteration
    Stop {
        /// Stop the agent too, and record its iteration as interrupted
        #[arg(long)]
        now: bool,
        /// Session [default: the one of this work tree, or the only one that runs]
        #[arg(long, value_name = "SESSION")]
        session: Option<SessionName>,
    },
    /// Count a task as done that was refused or given up, or settle the flags of a done one
    #[command(after_help = help::ACCEPT)]
    Accept(accept::AcceptArgs),
    /// Open the box of a task that is done
    #[command(after_help = help::REOPEN)]
    Reopen(accept::ReopenArgs),
    /// Add a hint to the next prompt, or to those of a task
    #[command(after_help = help::HINT)]
    Hint(Box<hint::HintArgs>),
    /// Show the state of the feature and of its latest session
    Status(status::StatusArgs),
    /// List the iterations of all sessions
    #[command(after_help = help::LOG)]
    Log(log::LogArgs),
    /// List all sessions with what they came to, and what needs you in any feature
    Sessions(log::SessionsArgs),
    /// Show one iteration
    #[command(after_help = help::SHOW)]
    Show(show::ShowArgs),
    /// Browse sessions in a terminal UI, and follow the running one
    #[command(after_help = help::tui())]
    Tui(OnlySessions),
    /// Show what an iteration changed, or how two moments differ
    #[command(after_help = help::DIFF)]
    Diff(diff::DiffArgs),
    /// Find the first iteration after which a command fails
    #[command(after_help = help::BISECT)]
    Bisect(bisect::BisectArgs),
    /// Run the validation in a clean checkout
    #[command(after_help = help::VERIFY)]
    Verify(verify::VerifyArgs),
    /// Restore the work tree to its state after an iteration
    #[command(after_help = help::RESTORE)]
    Restore(restore::RestoreArgs),
    /// Show statistics: iterations, repeated failures, tokens and time
    Stats(ReadArgs),
    /// Write a report of a session: a page, Markdown or JSON
    #[command(after_help = help::REPORT)]
    Report(report_output::ReportArgs),
    /// Show the pages of report in a browser, and follow the running session
    #[command(after_help = help::WEB)]
    Web(web::WebArgs),
    /// Show what the next prompt gets of earlier iterations, and why
    #[command(after_help = help::MEMORY)]
    Memory(Box<memory::MemoryArgs>),
    /// Fetch and push records
    #[command(after_help = help::SYNC)]
    Sync(sync::SyncArgs),
    /// Push the branch of a session, and make or update its pull request
    #[command(after_help = help::PR)]
    Pr(pr::PrArgs),
    /// Verify the integrity of all records and of progress.txt
    #[command(after_help = help::FSCK)]
    Fsck {
        /// Repair what can be repaired locally
        #[arg(long)]
        repair: bool,
        #[command(flatten)]
        read: ReadArgs,
    },
    /// Remove old snapshots or sessions (`purge` removes one for good)
    #[command(after_help = help::CLEAN)]
    Clean(clean::CleanArgs),
    /// Remove a session permanently, here and at the remote
    // The list of commands has its length: that of `clean` names it.
    #[command(hide = true, after_help = help::PURGE)]
    Purge(clean::PurgeArgs),
    /// Install or remove ralph's blocks in git hooks
    #[command(subcommand, after_help = help::HOOKS)]
    Hooks(hooks::HooksAction),
    /// Show what is set, and where
    #[command(after_help = help::CONFIG)]
    Config {
        /// Also show defaults; JSON always has them
        #[arg(long)]
        all: bool,
        #[command(flatten)]
        json: Json,
    },
    /// Approve the commands that .specify/ralph.toml names
    #[command(after_help = help::TRUST)]
    Trust(trust::TrustArgs),
    /// Run the loop on a throw-away project
    Demo {
        /// Create the project in this folder, and keep it
        #[arg(long, value_name = "DIR")]
        dir: Option<Utf8PathBuf>,
    },
    /// Check the setup and suggest fixes
    Doctor {
        /// Also do all checks of a start: run the validation and `AGENT --version`, but no agent
        #[arg(long)]
        run: bool,
        /// Also check access to the remote of `sync`, or to REMOTE
        #[arg(long, value_name = "REMOTE", num_args = 0..=1, default_missing_value = "")]
        remote: Option<String>,
        #[command(flatten)]
        json: Json,
    },
    /// Write a settings file with what people usually change, commented out
    Init(init::InitArgs),
    /// Have `specify ralph` lead here, beside spec-kit's `specify`
    #[command(subcommand, hide = true, after_help = help::SHIM)]
    Shim(shim::ShimAction),
    /// Print a completion script for a shell
    #[command(after_help = completions::examples())]
    Completions {
        /// Shell
        #[arg(value_name = "SHELL")]
        shell: clap_complete::Shell,
    },
    /// Print the manual page, or write all of them
    #[command(hide = true)]
    Man {
        /// Write a page for each command into this folder
        #[arg(long, value_name = "DIR")]
        dir: Option<Utf8PathBuf>,
    },
    /// Show the excerpt of an output and the fingerprint of its failure
    #[command(hide = true)]
    Excerpt {
        /// Maximum length of the excerpt, in characters
        #[arg(long, value_name = "N", default_value_t = 500)]
        max_chars: usize,
        /// Read many outputs instead of stdin: a file with one JSON object per line, of `id`, `stdout`, `stderr`, `exit_code` and `cwd`
        #[arg(long, value_name = "FILE")]
        batch: Option<Utf8PathBuf>,
        /// With --batch, list the others for each output, most similar first
        #[arg(long, requires = "batch")]
        neighbours: bool,
    },
    /// Show the prompts that other settings would have produced
    #[command(hide = true, after_help = help::REPLAY)]
    Replay {
        /// Session [default: the latest]
        #[arg(value_name = "SESSION")]
        session: Option<SessionName>,
        #[command(flatten)]
        json: Json,
        #[command(flatten)]
        settings: MemorySettingArgs,
    },
    /// Show the help of a command, or a topic: configuration, format, names, stopping
    #[command(hide = true)]
    Help {
        /// Command, or topic: configuration, format, names, stopping
        #[arg(value_name = "TOPIC")]
        topic: Option<String>,
        /// Show all commands and flags, as `--help` does
        #[arg(long, conflicts_with = "topic")]
        all: bool,
    },
    // The former names of commands that became part of another. Scripts use them.
    /// See `status --tasks`
    #[command(hide = true)]
    Tasks {
        /// Any Markdown file with a task list
        #[arg(long, value_name = "FILE", conflicts_with = "feature")]
        file: Option<Utf8PathBuf>,
        /// Feature, by path or by name
        #[arg(long, value_name = "FEATURE")]
        feature: Option<String>,
        #[command(flatten)]
        json: Json,
    },
    /// See `memory`
    #[command(hide = true)]
    Progress(Box<memory::MemoryArgs>),
    /// See `memory`
    #[command(hide = true)]
    History(Box<memory::MemoryArgs>),
    /// See `fsck --repair`
    #[command(hide = true)]
    Rebuild(rebuild::RebuildArgs),
    /// See `fsck --repair`
    #[command(subcommand, hide = true)]
    Notes(notes::NotesAction),
    /// Play a script as an agent
    #[command(hide = true)]
    PlayScript {
        /// Script to play
        #[arg(value_name = "FILE")]
        file: Utf8PathBuf,
    },
}

/// Returns the grammar as `program` speaks it.
pub fn grammar(program: &'static str) -> Command {
    let command = with_examples(Ralph::command().bin_name(program), program);
    let topic =
        help_topic::parser(command.get_subcommands().map(|command| command.get_name().to_owned()).collect());
    command.mut_subcommand("help", |help| help.mut_arg("topic", |argument| argument.value_parser(topic)))
}

/// Returns the command, and those below it, with examples that can be typed.
fn with_examples(command: Command, program: &str) -> Command {
    if program == CANONICAL {
        return command;
    }
    let examples = command.get_after_help().map(|text| with_command(&text.to_string(), program));
    let command = if let Some(text) = examples { command.after_help(text) } else { command };
    command.mut_subcommands(|command| with_examples(command, program))
}

pub fn parse(arguments: &[OsString]) -> Result<Ralph, Error> {
    let program = RALPH.as_str();
    let mut command = grammar(program);
    let words = std::iter::once(OsString::from(program)).chain(arguments.iter().cloned());
    let matches = command.try_get_matches_from_mut(words)?;
    check_order(&mut command, &matches)?;
    Ralph::from_arg_matches(&matches).map_err(|error| error.format(&mut command))
}

/// Rejects flags of `run` before another command, where they would do nothing.
fn check_order(command: &mut Command, matches: &ArgMatches) -> Result<(), Error> {
    let Some(action) = matches.subcommand_name() else { return Ok(()) };
    let run = RunArgs::augment_args(Command::new("run"));
    let given = command.get_arguments().find(|argument| {
        let id = argument.get_id();
        run.get_arguments().any(|own| own.get_id() == id)
            && matches.value_source(id.as_str()) == Some(ValueSource::CommandLine)
    });
    match given.map(ToString::to_string) {
        None => Ok(()),
        Some(given) => {
            let message = format!("`{given}` must come after `{action}`");
            Err(command.error(ErrorKind::ArgumentConflict, message))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::read::show::ShowArgs;

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
            ("-n 5 status", "`--max-iterations <N>` must come after `status`"),
            ("stauts", "'status'"),
            ("show 1 --stdout --json", "cannot be used with"),
            ("show @2", "`@2` is not an iteration"),
            ("show 1 --patch --json", "cannot be used with"),
            ("restore", "<N>"),
            ("bisect", "<COMMAND>"),
            ("log --outcome good", "invalid value `good`; expected one of success"),
            ("log --grep (", "unclosed group"),
            ("log --oneline --json", "cannot be used with"),
            ("restore 3 --undo", "cannot be used with"),
            ("diff 1 2 --stat --name-only", "cannot be used with"),
            ("show --session x", "`x` is not a session id"),
            ("rebuild --check --all", "cannot be used with"),
            ("log --sessions --failed", "cannot be used with"),
            ("sync --push-only --fetch-only", "cannot be used with"),
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
        let file = |line: &str| {
            let Some(Action::Show(args)) = parsed(line).unwrap().action else { panic!("{line}") };
            ShowArgs::file(&args)
        };
        assert_eq!(file("show"), None);
        assert_eq!(file("show 3 --stderr"), Some("validation/stderr"));
        assert_eq!(file("show 3 --json"), Some("iteration.json"));
    }
}

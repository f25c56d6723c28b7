//! The command line: its grammar, and one file for each command.

mod agent_settings;
mod agents;
mod bisect;
mod caller;
mod clean;
mod completions;
mod config;
mod demo;
mod diff;
mod doctor;
mod excerpt;
mod exit_code;
mod filter;
mod forward;
mod fsck;
mod help;
mod help_topic;
mod history;
mod hooks;
mod init;
mod iterations;
mod log;
mod man;
mod notes;
mod on_finish;
mod output;
mod pack;
mod patches;
mod place;
mod play_script;
mod progress;
mod ready;
mod rebuild;
mod remotes;
mod replay;
mod report;
mod report_file;
mod restore;
mod run;
mod sessions;
mod settings;
mod show;
mod start;
mod stats;
mod status;
mod steer;
mod sync;
mod tasks;
mod tui;

use std::ffi::OsString;

use camino::Utf8PathBuf;
use clap::{ArgGroup, Args, Parser, Subcommand, ValueEnum};
use regex::bytes::Regex;

use crate::config::FlagInput;
use crate::hooks::Hook;
use crate::record::{IterationName, Outcome, SessionName};

pub use exit_code::ExitCode;

/// The `specify` program: `ralph` is ours, everything else is spec-kit's.
pub fn specify(args: impl Iterator<Item = OsString>) -> std::process::ExitCode {
    start::specify(&args.collect::<Vec<_>>()).into()
}

/// The `git-ralph` program.
pub fn git_ralph(args: impl Iterator<Item = OsString>) -> std::process::ExitCode {
    start::git_ralph(&args.collect::<Vec<_>>()).into()
}

/// Run coding agents over the tasks of a spec-kit feature, and keep the whole record in git
#[derive(Debug, Parser)]
#[command(name = "specify-ralph", version, after_help = help::RALPH, max_term_width = 110, disable_help_subcommand = true)]
struct Ralph {
    #[command(flatten)]
    everywhere: Everywhere,
    #[command(flatten)]
    run: RunArgs,
    #[command(subcommand)]
    action: Option<Action>,
}

#[derive(Debug, Args)]
struct Everywhere {
    /// Start in this folder
    #[arg(short = 'C', value_name = "DIR", global = true)]
    directory: Option<Utf8PathBuf>,
    /// Use colours
    #[arg(long, value_name = "WHEN", global = true, default_value = "auto")]
    color: Color,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Color {
    Auto,
    Always,
    Never,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Run the loop until the tasks are done (the default)
    Run(Box<RunArgs>),
    /// Take up a session again that did not complete
    Resume(Box<ResumeArgs>),
    /// Stop the running loop after its iteration
    Stop(StopArgs),
    /// Say something in the next prompt of the running loop
    Hint(HintArgs),
    /// Pause the running loop after its iteration
    Pause(PauseArgs),
    /// Let a paused loop go on
    Continue(PauseArgs),
    /// Show where the feature and its latest session stand
    Status(StatusArgs),
    /// Show the task list as the loop reads it
    Tasks(TasksArgs),
    /// List the iterations of all sessions
    #[command(after_help = help::LOG)]
    Log(LogArgs),
    /// Show one iteration
    #[command(after_help = help::SHOW)]
    Show(ShowArgs),
    /// Browse sessions on a screen, and watch the one that runs
    #[command(after_help = help::TUI)]
    Tui(TuiArgs),
    /// Show what the next prompt is told of older iterations, and why
    #[command(after_help = help::HISTORY)]
    History(Box<HistoryArgs>),
    /// Show the code between two iterations, or between one and the work tree
    #[command(after_help = help::DIFF)]
    Diff(DiffArgs),
    /// Find the first iteration after which a command fails
    #[command(after_help = help::BISECT)]
    Bisect(BisectArgs),
    /// Bring the work tree back to what it was after an iteration
    #[command(after_help = help::RESTORE)]
    Restore(RestoreArgs),
    /// Show the prompts that other settings would have given
    #[command(after_help = help::REPLAY)]
    Replay(Box<ReplayArgs>),
    /// Count iterations, repeated failures, tokens and time
    Stats(ReadArgs),
    /// Make a page of a session that can be sent to anybody, or a summary for a pull request
    #[command(after_help = help::REPORT)]
    Report(ReportArgs),
    /// Print what the next prompt is told of the newest iterations
    #[command(after_help = help::PROGRESS)]
    Progress(Box<ProgressArgs>),
    /// Write progress.txt anew from the record
    #[command(after_help = help::REBUILD)]
    Rebuild(RebuildArgs),
    /// Put what is loose of the record into a git pack
    Pack(PackArgs),
    /// Bring the records here and those of a remote together
    #[command(after_help = help::SYNC)]
    Sync(SyncArgs),
    /// Write records into a file, for people without a remote
    Bundle(BundleArgs),
    /// Take in the records of a bundle
    Unbundle(UnbundleArgs),
    /// Hold every record against itself, and progress.txt against the record
    #[command(after_help = help::FSCK)]
    Fsck(FsckArgs),
    /// Remove old snapshots, or old sessions
    #[command(after_help = help::CLEAN)]
    Clean(CleanArgs),
    /// Take a session away for good, here and at the remote
    #[command(after_help = help::PURGE)]
    Purge(PurgeArgs),
    /// Make the notes on commits again from the record
    Notes(NotesArgs),
    /// Put our part into the repository's git hooks, or take it out
    #[command(after_help = help::HOOKS)]
    Hooks(HooksArgs),
    /// Show every setting and where it comes from
    #[command(after_help = help::CONFIG)]
    Config(ConfigArgs),
    /// List the known agents: which are here, and what the others need
    Agents(AgentsArgs),
    /// Show what the next prompt would get of an output, and the fingerprint of its failure
    #[command(after_help = help::EXCERPT)]
    Excerpt(ExcerptArgs),
    /// Run the real loop on a throw-away project with a scripted agent
    Demo(DemoArgs),
    /// Say whether a loop could run here, and what would mend it where not
    Doctor(DoctorArgs),
    /// Write a file of settings for this project, with every key commented
    Init(InitArgs),
    /// Print a script that completes command lines
    #[command(after_help = help::COMPLETIONS)]
    Completions(CompletionsArgs),
    /// Print the manual page, or write all of them
    Man(ManArgs),
    /// Print the help of a command, or a page on a topic: format, names, stopping
    Help(HelpArgs),
    /// Play a script as an agent
    #[command(hide = true)]
    PlayScript(PlayScriptArgs),
}

#[derive(Debug, Args)]
pub struct RunArgs {
    #[command(flatten)]
    pub place: PlaceArgs,
    /// Work on this task alone
    #[arg(long, value_name = "ID")]
    pub task: Option<String>,
    /// Type of loop: implement, plan, spec, or one of [loop.<type>] [default: implement]
    #[arg(long = "loop", value_name = "TYPE")]
    pub loop_type: Option<String>,
    /// Print the prompt that would be sent, and do nothing
    #[arg(long)]
    pub dry_run: bool,
    #[command(flatten)]
    pub talk: TalkArgs,
    /// Show it on the screen of `tui`, which may be left without stopping the loop
    #[arg(long, conflicts_with_all = ["dry_run", "verbose", "quiet", "json"])]
    pub tui: bool,
    #[command(flatten)]
    pub settings: SettingArgs,
}

/// How a running loop speaks.
#[derive(Debug, Clone, Copy, Args)]
pub struct TalkArgs {
    /// Say more of what the agent does
    #[arg(short, long)]
    pub verbose: bool,
    /// Say only what is wrong: warnings, and how it ended where not all is done
    #[arg(short, long, conflicts_with = "verbose")]
    pub quiet: bool,
    /// Print events as JSON, one object a line
    #[arg(long, conflicts_with_all = ["verbose", "quiet"])]
    pub json: bool,
}

#[derive(Debug, Args)]
pub struct ResumeArgs {
    /// Session to take up [default: the latest that did not complete]
    #[arg(value_name = "SESSION")]
    pub session: Option<SessionName>,
    /// Feature, by path or by name
    #[arg(long, value_name = "FEATURE")]
    pub feature: Option<String>,
    #[command(flatten)]
    pub talk: TalkArgs,
    #[command(flatten)]
    pub settings: SettingArgs,
}

#[derive(Debug, Args)]
pub struct StopArgs {
    /// Stop the agent too, and record its iteration as interrupted
    #[arg(long)]
    pub now: bool,
    /// Session [default: the one of this work tree, or the only one that runs]
    #[arg(long, value_name = "SESSION")]
    pub session: Option<SessionName>,
}

#[derive(Debug, Args)]
pub struct HintArgs {
    /// What the agent should know
    #[arg(value_name = "TEXT", required = true)]
    pub text: Vec<String>,
    /// Session [default: the one of this work tree, or the only one that runs]
    #[arg(long, value_name = "SESSION")]
    pub session: Option<SessionName>,
}

#[derive(Debug, Args)]
pub struct PauseArgs {
    /// Session [default: the one of this work tree, or the only one that runs]
    #[arg(long, value_name = "SESSION")]
    pub session: Option<SessionName>,
}

#[derive(Debug, Args)]
pub struct StatusArgs {
    /// Show it again whenever something changes, until the session ends
    #[arg(short, long)]
    pub watch: bool,
    #[command(flatten)]
    pub read: ReadArgs,
}

/// Where the tasks are.
#[derive(Debug, Args)]
pub struct PlaceArgs {
    /// Feature, by path or by name
    #[arg(long, value_name = "FEATURE", conflicts_with = "tasks")]
    pub feature: Option<String>,
    /// Any other Markdown file with a task list
    #[arg(long, value_name = "FILE")]
    pub tasks: Option<Utf8PathBuf>,
}

/// The flags that are settings; [`SettingArgs::flags`] turns them into a layer of the configuration.
#[derive(Debug, Args)]
#[command(next_help_heading = "Settings")]
pub struct SettingArgs {
    /// Agent runs before the loop stops [default: 10]
    #[arg(short = 'n', long, value_name = "N", value_parser = start::setting("max-iterations"))]
    pub max_iterations: Option<String>,
    /// Model that the agent is asked to use
    #[arg(short, long, value_name = "MODEL", value_parser = start::setting("model"))]
    pub model: Option<String>,
    /// Agent to run; a second one works where the quota of the first is used up (can be repeated) [default:
    /// spec-kit's, or the only one installed]
    #[arg(long, visible_alias = "agent-cli", value_name = "NAME", value_parser = start::setting("agent"))]
    pub agent: Vec<String>,
    /// Command to run as the agent, with the prompt on its stdin
    #[arg(long, value_name = "CMD", conflicts_with = "agent")]
    pub agent_command: Option<String>,
    /// Command that must pass before a task counts as done
    #[arg(long, value_name = "CMD", value_parser = start::setting("validation.command"))]
    pub validate: Option<String>,
    /// Longest run of the agent [default: 60m]
    #[arg(long, value_name = "TIME", value_parser = start::setting("timeout"))]
    pub timeout: Option<String>,
    /// Longest silence of the agent [default: 15m]
    #[arg(long, value_name = "TIME", value_parser = start::setting("idle-timeout"))]
    pub idle_timeout: Option<String>,
    /// Failures in a row after which a task is skipped [default: 3]
    #[arg(long, value_name = "N", value_parser = start::setting("skip-after"))]
    pub skip_after: Option<String>,
    /// Tokens after which the loop stops
    #[arg(long, value_name = "N", value_parser = start::setting("max-tokens"))]
    pub max_tokens: Option<String>,
    /// US dollars after which the loop stops
    #[arg(long, value_name = "USD", value_parser = start::setting("max-cost"))]
    pub max_cost: Option<String>,
    /// Time after which the loop starts no further iteration
    #[arg(long, value_name = "TIME", value_parser = start::setting("max-duration"))]
    pub max_duration: Option<String>,
    /// Tell of older iterations what has to do with the task
    #[arg(long)]
    pub with_history: bool,
    /// Never tell of older iterations, also where a task fails again and again
    #[arg(long, conflicts_with_all = ["with_history", "history_mode"])]
    pub no_history: bool,
    /// How much of older iterations is told: off, smart or full [default: off, and smart for a task that failed twice
    /// in a row]
    #[arg(long, value_name = "MODE", value_parser = start::setting("history.mode"))]
    pub history_mode: Option<String>,
    /// Iterations to look back [default: 5, or all of them for the mode full]
    #[arg(long, value_name = "N", value_parser = start::setting("history.lookback"))]
    pub history_lookback: Option<String>,
    /// Tokens that older iterations may take [default: 10000]
    #[arg(long, value_name = "N", value_parser = start::setting("history.budget"))]
    pub history_budget: Option<String>,
    /// Least relevance of an older iteration, from 0 to 1 [default: 0.7]
    #[arg(long, value_name = "SCORE", value_parser = start::setting("history.threshold"))]
    pub history_threshold: Option<String>,
    /// Longest wait for an agent at its limit [default: 6h]
    #[arg(long, value_name = "TIME", value_parser = start::setting("max-wait"))]
    pub max_wait: Option<String>,
    /// Any setting, as `specify ralph config` lists them (can be repeated)
    #[arg(long, value_name = "KEY=VALUE", value_parser = start::pair)]
    pub set: Vec<(String, String)>,
}

/// What every reading command takes.
#[derive(Debug, Clone, Args)]
pub struct ReadArgs {
    #[command(flatten)]
    pub json: Json,
    /// Session [default: the latest]
    #[arg(long, value_name = "SESSION")]
    pub session: Option<SessionName>,
    /// Feature, by path or by name
    #[arg(long, value_name = "FEATURE")]
    pub feature: Option<String>,
}

#[derive(Debug, Args)]
#[command(group = ArgGroup::new("text").args(["markdown", "json"]))]
pub struct ReportArgs {
    /// File to write; - for stdout [default: a file in the git directory whose path is printed; for --markdown and
    /// --json stdout]
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<Utf8PathBuf>,
    /// Show the page in the browser: $BROWSER, else the system's
    #[arg(long, conflicts_with = "text")]
    pub open: bool,
    /// Write a summary for a pull request instead
    #[arg(long)]
    pub markdown: bool,
    #[command(flatten)]
    pub json: Json,
    /// Most bytes of the page
    #[arg(long, value_name = "SIZE", default_value = "5MB", value_parser = report_file::size, conflicts_with = "text")]
    pub max_size: u64,
    /// Most bytes of one text in it: a prompt, an answer, an output, a patch
    #[arg(long, value_name = "SIZE", default_value = "64KiB", value_parser = report_file::size, conflicts_with = "markdown")]
    pub max_part: u64,
    /// Write over a file that is no report
    #[arg(long, requires = "output")]
    pub force: bool,
    /// Session [default: the latest]
    #[arg(long, value_name = "SESSION")]
    pub session: Option<SessionName>,
    /// Feature, by path or by name
    #[arg(long, value_name = "FEATURE")]
    pub feature: Option<String>,
}

#[derive(Debug, Clone, Copy, Args)]
pub struct Json {
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
pub struct TasksArgs {
    /// Any Markdown file with a task list
    #[arg(long, value_name = "FILE", conflicts_with = "feature")]
    pub file: Option<Utf8PathBuf>,
    /// Feature, by path or by name
    #[arg(long, value_name = "FEATURE")]
    pub feature: Option<String>,
    #[command(flatten)]
    pub json: Json,
}

#[derive(Debug, Args)]
#[command(group = ArgGroup::new("form").args(["sessions", "oneline", "format"]))]
pub struct LogArgs {
    #[command(flatten)]
    pub filter: FilterArgs,
    /// Only the newest so many
    #[arg(short = 'n', long = "max-count", value_name = "N")]
    pub max_count: Option<usize>,
    /// Newest first
    #[arg(long)]
    pub reverse: bool,
    /// Print one line for each iteration, with a name for it
    #[arg(long, conflicts_with = "json")]
    pub oneline: bool,
    /// Print these fields of the JSON, with tabs between them: name,task,exit.validation
    #[arg(long, value_name = "FIELDS", value_delimiter = ',', value_parser = log::field, conflicts_with = "json")]
    pub format: Vec<String>,
    /// List sessions instead of iterations
    #[arg(long)]
    pub sessions: bool,
    #[command(flatten)]
    pub json: Json,
    /// Only this session [default: all]
    #[arg(long, value_name = "SESSION")]
    pub session: Option<SessionName>,
    /// Only this feature, by path or by name [default: all]
    #[arg(long, value_name = "FEATURE")]
    pub feature: Option<String>,
}

/// Which iterations are listed: those that pass all that are given.
#[derive(Debug, Args)]
#[command(next_help_heading = "Filters")]
#[group(id = "filters", multiple = true, conflicts_with = "sessions")]
pub struct FilterArgs {
    /// Only iterations that failed
    #[arg(long, conflicts_with = "outcome")]
    pub failed: bool,
    /// Only these outcomes: success, failure, skipped, interrupted
    #[arg(long, value_name = "OUTCOME", value_delimiter = ',')]
    pub outcome: Vec<Outcome>,
    /// Only iterations of this task (can be repeated)
    #[arg(long, value_name = "ID")]
    pub task: Vec<String>,
    /// Only tasks of this phase: its number, or a part of its name
    #[arg(long, value_name = "PHASE")]
    pub phase: Option<String>,
    /// Only iterations of this agent
    #[arg(long, value_name = "NAME")]
    pub agent: Option<String>,
    /// Only what ended after this time, in any form that git takes: 2.days.ago
    #[arg(long, value_name = "DATE", visible_alias = "after")]
    pub since: Option<String>,
    /// Only what ended before this time
    #[arg(long, value_name = "DATE", visible_alias = "before")]
    pub until: Option<String>,
    /// Only iterations in whose prompt or outputs this regular expression matches a line
    #[arg(long, value_name = "REGEX", value_parser = log::regex)]
    pub grep: Option<Regex>,
    /// Let --grep take capitals and small letters for the same
    #[arg(short = 'i', long, requires = "grep")]
    pub ignore_case: bool,
    /// Only failures whose cause occurs more than once in the feature
    #[arg(long)]
    pub repeats: bool,
}

#[derive(Debug, Args)]
#[command(group = ArgGroup::new("part").args(["patch", "stdout", "stderr", "prompt", "agent", "tasks", "json"]))]
#[expect(clippy::struct_excessive_bools, reason = "seven flags of which one can be given: see `part`")]
pub struct ShowArgs {
    /// Iteration: 5, @~2, T004, SESSION:5 [default: @, the last one]
    #[arg(value_name = "N")]
    pub iteration: Option<IterationName>,
    /// Print what it changed, as git's own diff shows it
    #[arg(short, long)]
    patch: bool,
    /// Print the validation's stdout, byte for byte
    #[arg(long)]
    stdout: bool,
    /// Print the validation's stderr, byte for byte
    #[arg(long)]
    stderr: bool,
    /// Print the prompt
    #[arg(long)]
    prompt: bool,
    /// Print the agent's stdout, byte for byte
    #[arg(long)]
    agent: bool,
    /// Print the task list as it stood afterwards
    #[arg(long)]
    tasks: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
    /// Session [default: the latest]
    #[arg(long, value_name = "SESSION")]
    pub session: Option<SessionName>,
    /// Feature, by path or by name
    #[arg(long, value_name = "FEATURE")]
    pub feature: Option<String>,
}

/// What `show` prints of an iteration.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    Summary,
    Patch,
    Json,
    Stdout,
    Stderr,
    Prompt,
    Agent,
    Tasks,
}

impl ShowArgs {
    pub fn part(&self) -> Part {
        let chosen = [
            (self.patch, Part::Patch),
            (self.stdout, Part::Stdout),
            (self.stderr, Part::Stderr),
            (self.prompt, Part::Prompt),
            (self.agent, Part::Agent),
            (self.tasks, Part::Tasks),
            (self.json, Part::Json),
        ];
        chosen.into_iter().find(|(is_given, _)| *is_given).map_or(Part::Summary, |(_, part)| part)
    }
}

#[derive(Debug, Args)]
pub struct DiffArgs {
    /// Iteration: 5, @~2, T004, SESSION:5; 0 is what was there before the first
    #[arg(value_name = "A")]
    pub from: IterationName,
    /// Another iteration [default: the work tree]
    #[arg(value_name = "B")]
    pub to: Option<IterationName>,
    /// Print how much changed in each file
    #[arg(long)]
    pub stat: bool,
    /// Print the names of the files that changed
    #[arg(long, conflicts_with = "stat")]
    pub name_only: bool,
    /// Session of the iterations [default: the latest]
    #[arg(long, value_name = "SESSION")]
    pub session: Option<SessionName>,
    /// Feature, by path or by name
    #[arg(long, value_name = "FEATURE")]
    pub feature: Option<String>,
    /// Only these files and folders [default: all but progress.txt]
    #[arg(last = true, value_name = "PATHS")]
    pub paths: Vec<String>,
}

#[derive(Debug, Args)]
pub struct BisectArgs {
    /// Command to run; a single word goes through the shell
    #[arg(last = true, required = true, value_name = "COMMAND")]
    pub command: Vec<String>,
    /// Print what the command says
    #[arg(short, long)]
    pub verbose: bool,
    #[command(flatten)]
    pub json: Json,
    /// Session [default: the latest]
    #[arg(long, value_name = "SESSION")]
    pub session: Option<SessionName>,
    /// Feature, by path or by name
    #[arg(long, value_name = "FEATURE")]
    pub feature: Option<String>,
}

#[derive(Debug, Args)]
pub struct RestoreArgs {
    /// Iteration: 5, @~2, T004, SESSION:5; 0 is what was there before the first
    #[arg(value_name = "N", required_unless_present = "undo")]
    pub iteration: Option<IterationName>,
    /// Only these files and folders
    #[arg(value_name = "PATHS")]
    pub paths: Vec<String>,
    /// Restore tasks.md too
    #[arg(long)]
    pub tasks: bool,
    /// Go on in the middle of a merge or rebase, and remove what no snapshot of the session has
    #[arg(long)]
    pub force: bool,
    /// Print what would be done, and do nothing
    #[arg(long)]
    pub dry_run: bool,
    /// Take a restoration back [default: the last one]
    #[arg(long, value_name = "NUMBER", num_args = 0..=1, conflicts_with_all = ["iteration", "paths", "tasks", "session", "feature"])]
    pub undo: Option<Option<u32>>,
    /// Session of the iteration [default: the latest]
    #[arg(long, value_name = "SESSION")]
    pub session: Option<SessionName>,
    /// Feature, by path or by name
    #[arg(long, value_name = "FEATURE")]
    pub feature: Option<String>,
}

#[derive(Debug, Args)]
pub struct RebuildArgs {
    /// Write nothing, and exit 1 where progress.txt differs from the record
    #[arg(long)]
    pub check: bool,
    /// All known sessions instead of the last one
    #[arg(long, conflicts_with_all = ["check", "session"])]
    pub all: bool,
    #[command(flatten)]
    pub read: ReadArgs,
}

#[derive(Debug, Args)]
pub struct ReplayArgs {
    /// Session [default: the latest]
    #[arg(value_name = "SESSION")]
    pub session: Option<SessionName>,
    /// How earlier iterations are told: system-captured, structured-log, llm-summarized or hybrid
    #[arg(long, value_name = "NAME")]
    pub strategy: Option<String>,
    /// Feature, by path or by name
    #[arg(long, value_name = "FEATURE")]
    pub feature: Option<String>,
    #[command(flatten)]
    pub json: Json,
    #[command(flatten)]
    pub settings: SettingArgs,
}

impl ReplayArgs {
    /// The strategy, as a setting.
    pub fn strategy(&self) -> Option<FlagInput> {
        self.strategy.as_ref().map(|name| FlagInput {
            flag: "--strategy".to_owned(),
            key: "progress.strategy".to_owned(),
            value: name.clone(),
        })
    }
}

#[derive(Debug, Args)]
pub struct ProgressArgs {
    /// Clear: have the iterations so far forgotten, in new sessions and in a loop that runs
    #[arg(value_name = "ACTION")]
    pub action: Option<ProgressAction>,
    /// Feature, by path or by name
    #[arg(long, value_name = "FEATURE")]
    pub feature: Option<String>,
    #[command(flatten)]
    pub json: Json,
    #[command(flatten)]
    pub settings: SettingArgs,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ProgressAction {
    Clear,
}

#[derive(Debug, Args)]
pub struct TuiArgs {
    /// Only this session [default: all]
    #[arg(long, value_name = "SESSION")]
    pub session: Option<SessionName>,
    /// Only this feature, by path or by name [default: all]
    #[arg(long, value_name = "FEATURE")]
    pub feature: Option<String>,
}

#[derive(Debug, Args)]
pub struct HistoryArgs {
    /// Task [default: the next one]
    #[arg(long, value_name = "ID")]
    pub task: Option<String>,
    /// Feature, by path or by name
    #[arg(long, value_name = "FEATURE")]
    pub feature: Option<String>,
    /// Session whose iterations are called by their number alone
    #[arg(long, value_name = "SESSION")]
    pub session: Option<SessionName>,
    #[command(flatten)]
    pub json: Json,
    #[command(flatten)]
    pub settings: SettingArgs,
}

#[derive(Debug, Args)]
pub struct ConfigArgs {
    #[command(flatten)]
    json: Json,
}

#[derive(Debug, Args)]
pub struct PackArgs {
    #[command(flatten)]
    pub json: Json,
}

#[derive(Debug, Args)]
pub struct SyncArgs {
    /// Remote, by name, address or path [default: the setting `remote`, else the only one]
    #[arg(value_name = "REMOTE")]
    pub remote: Option<String>,
    /// The snapshots of work trees, too: code as it was, with untracked files
    #[arg(long)]
    pub snapshots: bool,
    /// Fetch nothing
    #[arg(long, conflicts_with = "fetch_only")]
    pub push_only: bool,
    /// Push nothing
    #[arg(long)]
    pub fetch_only: bool,
    #[command(flatten)]
    pub json: Json,
}

#[derive(Debug, Args)]
pub struct BundleArgs {
    /// File to write
    #[arg(value_name = "FILE")]
    pub file: Utf8PathBuf,
    /// The snapshots of work trees, too, with the history that they stand on
    #[arg(long)]
    pub snapshots: bool,
    /// Only this session [default: all]
    #[arg(long, value_name = "SESSION")]
    pub session: Option<SessionName>,
    /// Only this feature, by path or by name [default: all]
    #[arg(long, value_name = "FEATURE")]
    pub feature: Option<String>,
    #[command(flatten)]
    pub json: Json,
}

#[derive(Debug, Args)]
pub struct UnbundleArgs {
    /// File that `bundle` wrote
    #[arg(value_name = "FILE")]
    pub file: Utf8PathBuf,
    #[command(flatten)]
    pub json: Json,
}

#[derive(Debug, Args)]
pub struct FsckArgs {
    /// Mend what can be mended from here
    #[arg(long)]
    pub repair: bool,
    #[command(flatten)]
    pub read: ReadArgs,
}

#[derive(Debug, Args)]
pub struct CleanArgs {
    /// Keep what was last written in so many days [default: 30, where no other rule is given]
    #[arg(long, value_name = "N")]
    pub keep_days: Option<u32>,
    /// Keep the newest N sessions of each feature
    #[arg(long, value_name = "N")]
    pub keep_last: Option<usize>,
    /// Remove snapshots alone; the records stay
    #[arg(long)]
    pub snapshots_only: bool,
    /// Remove this session
    #[arg(long, value_name = "SESSION", conflicts_with_all = ["keep_days", "keep_last"])]
    pub session: Option<SessionName>,
    /// Only sessions of this feature, by path or by name
    #[arg(long, value_name = "FEATURE")]
    pub feature: Option<String>,
    /// Print what would go, and do nothing
    #[arg(long)]
    pub dry_run: bool,
    #[command(flatten)]
    pub json: Json,
}

#[derive(Debug, Args)]
pub struct PurgeArgs {
    /// Session to take away
    #[arg(value_name = "SESSION")]
    pub session: SessionName,
    /// Remote, by name, address or path [default: the setting `remote`, else the only one]
    #[arg(long, value_name = "REMOTE")]
    pub remote: Option<String>,
    /// Here alone
    #[arg(long, conflicts_with = "remote")]
    pub local: bool,
    /// Print what would go, and do nothing
    #[arg(long)]
    pub dry_run: bool,
    #[command(flatten)]
    pub json: Json,
}

#[derive(Debug, Args)]
pub struct HooksArgs {
    #[command(subcommand)]
    pub action: HooksAction,
}

#[derive(Debug, Subcommand)]
pub enum HooksAction {
    /// Put a block into each hook, beside what is there
    Install(HooksInstallArgs),
    /// Take the blocks out again, to the byte
    Uninstall,
    /// Say which hooks have a block
    Status {
        #[command(flatten)]
        json: Json,
    },
    /// Note on HEAD in which running iteration it was made
    #[command(hide = true)]
    Note,
    /// Say whose sessions are not here, of those that commits name
    #[command(hide = true)]
    Behind {
        /// Where it was
        #[arg(value_name = "OLD")]
        old: String,
        /// Where it is
        #[arg(value_name = "NEW")]
        new: String,
    },
}

#[derive(Debug, Default, Args)]
pub struct HooksInstallArgs {
    /// This hook alone; can be repeated
    #[arg(long, value_name = "HOOK", value_parser = Hook::ALL.map(Hook::name))]
    pub only: Vec<String>,
    /// One into `pre-push` too: it pushes the records along
    #[arg(long)]
    pub pre_push: bool,
    /// Have git carry notes over an amend or a rebase: notes.rewriteRef in this repository's configuration
    #[arg(long)]
    pub rewrite_notes: bool,
    /// Have git merge journals by taking the lines of both: a line for progress.txt in .gitattributes
    #[arg(long)]
    pub merge_union: bool,
}

#[derive(Debug, Args)]
pub struct NotesArgs {
    #[command(subcommand)]
    pub action: NotesAction,
}

#[derive(Debug, Subcommand)]
pub enum NotesAction {
    /// Write what the records say into `refs/notes/ralph`; lines of people stay
    Rebuild {
        #[command(flatten)]
        json: Json,
    },
}

#[derive(Debug, Args)]
pub struct AgentsArgs {
    #[command(flatten)]
    pub json: Json,
}

#[derive(Debug, Args)]
pub struct ExcerptArgs {
    /// File with what a command wrote to stdout [default: stdin]
    #[arg(long, value_name = "FILE")]
    pub stdout: Option<Utf8PathBuf>,
    /// File with what it wrote to stderr
    #[arg(long, value_name = "FILE")]
    pub stderr: Option<Utf8PathBuf>,
    /// Its exit code; 124 and -1 stand for a timeout
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    pub exit_code: Option<i32>,
    /// The command, to be repeated in the JSON
    #[arg(long, value_name = "CMD")]
    pub command: Option<String>,
    /// Folder that it ran in; paths are shown as seen from there [default: this folder]
    #[arg(long, value_name = "DIR")]
    pub cwd: Option<Utf8PathBuf>,
    /// Longest excerpt, in characters
    #[arg(long, value_name = "N", default_value_t = 500)]
    pub max_chars: usize,
    /// Many outputs: a file with a JSON object a line, of `id`, `stdout`, `stderr`, `exit_code` and `cwd`
    #[arg(long, value_name = "FILE", conflicts_with_all = ["stdout", "stderr", "exit_code", "command", "cwd", "json"])]
    pub batch: Option<Utf8PathBuf>,
    /// For each of a batch, name the others, those most like it first
    #[arg(long, requires = "batch")]
    pub neighbours: bool,
    #[command(flatten)]
    pub json: Json,
}

#[derive(Debug, Args)]
pub struct DemoArgs {
    /// Make the project in this folder, and keep it
    #[arg(long, value_name = "DIR")]
    pub dir: Option<Utf8PathBuf>,
}

#[derive(Debug, Args)]
pub struct DoctorArgs {
    /// Ask the remote that `sync` goes to, or this one, whether it lets us in
    #[arg(long, value_name = "REMOTE", num_args = 0..=1, default_missing_value = "")]
    pub remote: Option<String>,
    #[command(flatten)]
    pub json: Json,
}

#[derive(Debug, Args)]
pub struct InitArgs {
    /// Write the prompt's template too, to be changed
    #[arg(long)]
    pub template: bool,
    /// Put our block into the git hooks too, as `hooks install` does
    #[arg(long)]
    pub hooks: bool,
}

#[derive(Debug, Args)]
pub struct CompletionsArgs {
    /// Shell
    #[arg(value_name = "SHELL")]
    pub shell: clap_complete::Shell,
}

#[derive(Debug, Args)]
pub struct ManArgs {
    /// Write a page for each command into this folder
    #[arg(long, value_name = "DIR")]
    pub dir: Option<Utf8PathBuf>,
}

#[derive(Debug, Args)]
pub struct HelpArgs {
    /// Command, or topic: format, names, stopping
    #[arg(value_name = "TOPIC", value_parser = help_topic::topic)]
    pub topic: Option<String>,
}

#[derive(Debug, Args)]
pub struct PlayScriptArgs {
    /// Script to play
    #[arg(value_name = "FILE")]
    pub file: Utf8PathBuf,
}

//! `specify ralph diff`: what an iteration changed, or how two moments differ, by git's own diff.

use std::io::{IsTerminal, stdout};
use std::str::FromStr;

use anyhow::{Context as _, Result, bail};
use clap::{Args, ColorChoice};

use ralph_core::record::{IterationName, ObjectId, Outcome, RALPH, Which};
use ralph_git::worktree::{ChangedFile, PrivateIndex};
use ralph_os::process::{Interrupt, Tool, outside};
use ralph_store::{FeatureFiles, Scratch, Store};
use ralph_ui::sgr;
use ralph_ui::style::{Look, Paint, one_line};

use crate::cli::pager::{self, Opens};
use crate::cli::read::iterations::Point;
use crate::cli::read::{iterations, session_changes, task_attempts};
use crate::cli::start::lane;
use crate::cli::{Context, ExitCode, Flags, SessionChoice, note, say, settings};

#[derive(Debug, Args)]
#[command(mut_arg("session", |session| session.help("Session of the iterations [default: the latest]")))]
pub struct DiffArgs {
    /// Iteration: 5, @~2, T004, SESSION:5, a commit; 0 is the state before the first [default: all that the session changed]
    #[arg(value_name = "A")]
    pub from: Option<IterationName>,
    /// Another iteration, or `..` for the work tree [default: only what A changed]
    #[arg(value_name = "B")]
    pub to: Option<DiffEnd>,
    /// Print a diffstat
    #[arg(long)]
    pub stat: bool,
    /// Print only the names of changed files
    #[arg(long, conflicts_with = "stat")]
    pub name_only: bool,
    #[command(flatten)]
    pub choice: SessionChoice,
    /// Only these files and folders [default: all but progress.txt]
    #[arg(last = true, value_name = "PATHS")]
    pub paths: Vec<String>,
}

/// Where a comparison ends.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DiffEnd {
    /// `..`
    WorkTree,
    /// After this iteration.
    Iteration(IterationName),
}

impl FromStr for DiffEnd {
    type Err = anyhow::Error;

    fn from_str(text: &str) -> Result<Self> {
        match text {
            ".." => Ok(Self::WorkTree),
            name => name.parse().map(Self::Iteration),
        }
    }
}

/// Two trees to compare.
pub struct Comparison {
    /// What is said above it, where several are shown.
    pub heading: Option<String>,
    pub from: ObjectId,
    pub to: ObjectId,
}

impl Comparison {
    pub fn of([from, to]: [ObjectId; 2]) -> [Self; 1] {
        [Self { heading: None, from, to }]
    }
}

/// Exit code of git after a closed pipe.
const PIPE_CLOSED: i32 = 141;

pub fn run(args: &DiffArgs, context: &Context) -> Result<ExitCode> {
    let store = context.store()?;
    let name = args.from.clone().unwrap_or(IterationName { session: None, which: Which::Start });
    let from = iterations::find(store, &name, &args.choice)?;
    let option = if args.stat { Some("--stat") } else { args.name_only.then_some("--name-only") };
    let (files, paths) = (from.files(store), &args.paths);
    let is_whole_session = args.from.is_none() && args.to.is_none();
    let run = if args.choice.session.is_some() { from.log.view() } else { from.run.clone() };
    let [before, after] = match &args.to {
        // People may have gone on since an older one.
        None if is_whole_session && !from.is_newest => {
            let (Some(first), Some(last)) = session_changes::ends(store, &from.log.of_run(&run))? else {
                bail!("there are no snapshots of session {}", from.log.id());
            };
            [first, last]
        }
        Some(DiffEnd::Iteration(name)) => {
            let to = iterations::find(store, name, &args.choice)?;
            [from.snapshot(store)?, to.snapshot(store)?]
        }
        // Nothing changed before the first iteration: what is meant is all that changed since.
        None if from.number() > 0 => {
            let shown = comparisons(store, &from, &name)?;
            if paths.is_empty() && shown.len() == 1 {
                note_unchanged(context, &from);
            }
            return hand_over(context, &files, option, paths, &shown, &[]);
        }
        Some(DiffEnd::WorkTree) | None => match lane::tip_of(store, &from.log)? {
            // The user's work tree is on another branch.
            Some(tip) => {
                let from = from.snapshot(store)?;
                if args.stat && paths.is_empty() {
                    note_list(context, &files.tasks, [&from, &tip], &[])?;
                }
                [from, tip]
            }
            None => return with_work_tree(context, &files, option, paths, &from.snapshot(store)?),
        },
    };
    hand_over(context, &files, option, paths, &Comparison::of([before, after]), &[])
}

/// Compares with the work tree as a snapshot would hold it, untracked files included.
fn with_work_tree(
    context: &Context,
    files: &FeatureFiles,
    option: Option<&str>,
    paths: &[String],
    from: &ObjectId,
) -> Result<ExitCode> {
    let store = context.store()?;
    // The work tree is ours, and most of it is in HEAD: what is far from that is far from it.
    let work_tree = context.work_tree()?;
    if let Some(head) = work_tree.head()? {
        store.require_comparable(&head, from)?;
    }
    // Taken before anything is made that must be cleared up: Ctrl-C in the pager is the pager's.
    let _ours = Interrupt::install()?;
    let scratch = Scratch::create(store.repository())?;
    let (index, objects) = (scratch.path("index"), scratch.path("objects"));
    std::fs::create_dir_all(&objects).with_context(|| format!("create {objects}"))?;
    let private_index = PrivateIndex { index: &index, objects: &objects, max_file: largest_file(context)? };
    let mut work_tree = work_tree.clone();
    let (tree, ..) = work_tree.contents(private_index)?;
    let variables = work_tree.with_objects(&objects);
    if option == Some("--stat") && paths.is_empty() {
        note_list(context, &files.tasks, [from, &tree], &variables)?;
    }
    hand_over(context, files, option, paths, &Comparison::of([from.clone(), tree]), &variables)
}

/// Returns the size limit of snapshots in this project.
pub fn largest_file(context: &Context) -> Result<u64> {
    let config = settings::load_in(context, Flags::default())?;
    Ok(config.settings.snapshot_max_file.unwrap_or(u64::MAX))
}

fn with_variables(git: Tool, variables: &[(&str, String)]) -> Tool {
    variables.iter().fold(git, |git, (name, value)| git.env(name, value))
}

/// Says that the list is counted, too, where it has changed: other screens leave it out of what a session changed.
fn note_list(
    context: &Context,
    list: &str,
    ends: [&ObjectId; 2],
    variables: &[(&str, String)],
) -> Result<()> {
    let [from, to] = ends.map(ObjectId::as_str);
    let git = Tool::git(&context.directory).args(["diff", "--no-ext-diff", "--quiet", from, to, "--"]);
    if !with_variables(git.arg(format!(":(top,literal){list}")), variables).run()?.is_success() {
        note(format_args!("{} is among them; `status` counts without it", one_line(list)));
    }
    Ok(())
}

/// Returns true if git would give a terminal colours.
fn is_coloured(context: &Context) -> Result<bool> {
    let git =
        Tool::git_for_user(&context.directory).args(["config", "--get-colorbool", "color.diff", "true"]);
    Ok(context.paint == Paint::Colour && git.run()?.is_success())
}

/// Returns what a diff of a moment compares: where a task was named that the session did not do, what each of its attempts changed,
/// else what that iteration did.
pub fn comparisons(store: &Store, point: &Point, name: &IterationName) -> Result<Vec<Comparison>> {
    let entry = point.iteration()?;
    let is_named = |task: &&str| matches!(&name.which, Which::Named(text) if text.eq_ignore_ascii_case(task));
    let task = entry.task().filter(is_named);
    let attempts = task.map(|task| task_attempts::at_unfinished(&point.run, task)).unwrap_or_default();
    if attempts.len() < 2 {
        return Ok(Comparison::of([point.snapshot_before(store)?, point.snapshot(store)?]).into());
    }
    let (count, own) = (attempts.len(), point.files(store));
    let mut comparisons = Vec::new();
    for (place, attempt) in attempts.into_iter().enumerate() {
        let at = point.at(attempt);
        let [from, to] = [at.snapshot_before(store)?, at.snapshot(store)?];
        let changed = store.changed_files(&own, (Some(from.clone()), Some(to.clone())))?;
        let nothing = changed.filter(Vec::is_empty).map_or("", |_| ", changed nothing");
        let name = point.names.mark(&attempt.session(), attempt.number());
        let heading = Some(format!("attempt {} of {count}, {name}{nothing}", place + 1));
        comparisons.push(Comparison { heading, from, to });
    }
    Ok(comparisons)
}

/// Says of a failed attempt that changed no file which one at its task did last: its diff is empty.
pub fn note_unchanged(context: &Context, shown: &Point) {
    // What cannot be compared is not known.
    if let Ok(Some(words)) = unchanged(context, shown) {
        note(words);
    }
}

/// `attempt 6 changed nothing, #4 did: specify ralph show 4 -p`; `None` if it changed something.
fn unchanged(context: &Context, shown: &Point) -> Result<Option<String>> {
    let is_empty = |point: &Point| {
        changed_files(context, point).map(|files| files.is_some_and(|files| files.is_empty()))
    };
    let entry = shown.iteration()?;
    if entry.outcome() != Some(Outcome::Failure) || !is_empty(shown)? {
        return Ok(None);
    }
    let own = shown.names.name(&entry.session(), entry.number());
    for other in shown.before().rev().filter(|other| other.task() == entry.task() && other.is_attempt()) {
        if !is_empty(&shown.at(other))? {
            let command = format!("{RALPH} show {} -p", shown.name_of(other));
            let other = shown.names.mark(&other.session(), other.number());
            return Ok(Some(format!("attempt {own} changed nothing, {other} did: {command}")));
        }
    }
    Ok(Some(format!("attempt {own} changed nothing")))
}

/// Returns the files that an attempt changed; `None` without snapshots.
pub fn changed_files(context: &Context, shown: &Point) -> Result<Option<Vec<ChangedFile>>> {
    let store = context.store()?;
    let after = shown.snapshot(store)?;
    let before = store.snapshot_before(&after)?;
    store.changed_files(&shown.files(store), (before, Some(after)))
}

/// Runs git's diff of each comparison with the user's settings and pager, and with these variables: of `paths` as the user wrote
/// them, of all but progress.txt if there are none.
pub fn hand_over(
    context: &Context,
    files: &FeatureFiles,
    option: Option<&str>,
    paths: &[String],
    comparisons: &[Comparison],
    variables: &[(&str, String)],
) -> Result<ExitCode> {
    if variables.is_empty() {
        let store = context.store()?;
        comparisons.iter().try_for_each(|it| store.require_comparable(&it.from, &it.to))?;
    }
    let is_shown = stdout().is_terminal();
    // What lies in the work tree may be an agent's.
    let options = outside::diff_options();
    if !options.is_empty() {
        note(format_args!("{}: a program in the work tree would run", options.join(" ")));
    }
    let git = |comparison: &Comparison, color: &str| {
        let git =
            Tool::git_for_user(&context.directory).arg("diff").args(option).arg(format!("--color={color}"));
        let git = with_variables(git, variables).args(options.iter().copied());
        let git = git.args([comparison.from.as_str(), comparison.to.as_str(), "--"]);
        if paths.is_empty() {
            // The journal is a view of the record, and grows with every iteration.
            git.arg(":(top)").arg(format!(":(top,exclude,literal){}", files.progress))
        } else {
            git.args(paths)
        }
    };
    let color = match context.color {
        ColorChoice::Auto if !is_shown => "auto",
        ColorChoice::Auto if is_coloured(context)? => "always",
        ColorChoice::Always => "always",
        ColorChoice::Auto | ColorChoice::Never => "never",
    };
    if is_shown {
        // What an agent wrote into a file is no command to a terminal.
        let width = pager::screen(context).width.to_string();
        let mut lines = Vec::new();
        for comparison in comparisons {
            let text = |color: &str| git(comparison, color).env("COLUMNS", width.as_str()).read();
            let plain = text("never")?;
            let coloured = if color == "always" { text(color)? } else { plain.clone() };
            let [plain, coloured] = [plain, coloured].map(|text| String::from_utf8_lossy(&text).into_owned());
            let painted = plain.trim_end_matches('\n').split('\n').zip(coloured.split('\n'));
            lines.extend(comparison.heading.iter().map(|heading| context.paint.paint(Look::Bold, heading)));
            lines.extend(painted.map(|(plain, coloured)| sgr::painted(plain, coloured)));
        }
        return pager::show(&lines, context, false, Opens::AtStart);
    }
    for comparison in comparisons {
        // `git apply` passes over it.
        if let Some(heading) = &comparison.heading {
            say(heading)?;
        }
        match git(comparison, color).hand_over()? {
            0 => {}
            PIPE_CLOSED => break,
            _ => return Ok(ExitCode::NotDone),
        }
    }
    Ok(ExitCode::Done)
}

//! `specify ralph restore`: the work tree as it was after an iteration, and back again.

use std::collections::BTreeSet;

use anyhow::{Context as _, Result, bail};
use clap::Args;

use ralph_core::record::{
    FlagCode, GoneHow, IterationName, LogEntry, ObjectId, RALPH, Refusal, join_truncated, undone_state,
};
use ralph_engine::{Force, Intent, PlannedRestore, Restore, Target, Why};
use ralph_git::worktree::{PathChange, WorkTree};
use ralph_os::process::Tool;
use ralph_project::tasks;
use ralph_store::{RestorePoint, Store};
use ralph_ui::restore::{self, Deed};
use ralph_ui::style::{Paint, counted, one_line};

use crate::cli::read::iterations::{self, Point};
use crate::cli::read::{diff, sessions};
use crate::cli::share::remotes;
use crate::cli::start::lane;
use crate::cli::{Context, ExitCode, SessionChoice, note, print, warn};

/// Maximum number of tasks that a warning names.
const MAX_NAMED: usize = 10;

/// Maximum number of iterations that are looked at for what a task changed.
const MAX_ITERATIONS: usize = 1000;

#[derive(Debug, Args)]
#[command(mut_arg("session", |session| session.help("Session of the iteration [default: the latest]")))]
pub struct RestoreArgs {
    /// Iteration: 5, @~2, T004, SESSION:5, a commit; 0 is the state before the first
    #[arg(value_name = "N", required_unless_present_any = ["undo", "work_of"])]
    pub iteration: Option<IterationName>,
    /// Only these files and folders
    #[arg(value_name = "PATHS")]
    pub paths: Vec<String>,
    /// Also restore tasks.md
    #[arg(long)]
    pub tasks: bool,
    /// Proceed during a merge or rebase, and remove files that are in no snapshot of the session
    #[arg(long)]
    pub force: bool,
    /// Print what would be done, and exit
    #[arg(long)]
    pub dry_run: bool,
    /// Undo a restoration [default: the last one]
    #[arg(long, value_name = "NUMBER", num_args = 0..=1, conflicts_with_all = ["iteration", "paths", "tasks", "session", "feature"])]
    pub undo: Option<Option<u32>>,
    /// Bring back the work of a task that a later attempt, or somebody, took back
    #[arg(long, value_name = "TASK", conflicts_with_all = ["iteration", "paths", "tasks", "undo"])]
    pub work_of: Option<String>,
    #[command(flatten)]
    pub choice: SessionChoice,
}

pub fn run(args: &RestoreArgs, context: &Context) -> Result<ExitCode> {
    let store = context.store()?;
    let work_tree = context.work_tree()?;
    let clock = context.clock()?;
    let restore = Restore {
        store,
        work_tree,
        clock: &clock,
        max_file: diff::largest_file(context)?,
        directory: &context.directory,
        force: if args.force { Force::Yes } else { Force::No },
    };
    let intent = if args.dry_run { Intent::Look } else { Intent::Write };
    let wanted = match &args.work_of {
        Some(task) => Some(work_of(store, task, &args.choice)?),
        None => args.iteration.clone().map(|iteration| (iteration, args.paths.clone())),
    };
    let (name, planned) = match (&wanted, args.undo) {
        (Some((iteration, paths)), _) => {
            let goal = iterations::find(store, iteration, &args.choice)?;
            if intent == Intent::Write {
                lane::refuse_elsewhere(&goal.log, context)?;
            }
            let planned = to_point(restore, store, &goal, (args.tasks, paths), intent)?;
            if !args.tasks && args.work_of.is_none() {
                say_what_no_longer_fits(store, work_tree, &goal, args, &planned)?;
            }
            let moment = (!paths.is_empty()).then(|| short_name(&goal));
            ((goal.to_string(), moment), planned)
        }
        (None, number) => {
            let undone = to_undo(store, work_tree, number.flatten())?;
            let name = format!("the moment before restoration {}", undone.number);
            ((name, None), restore.plan_undo(&undone, intent)?)
        }
    };
    if intent == Intent::Write {
        bring(&planned, context)?;
    }
    let (name, moment) = &name;
    show(planned, (name, moment.as_deref()), args, context.paint)
}

/// Returns the state that has the work of a task which was taken back, and the files of it.
fn work_of(store: &Store, task: &str, choice: &SessionChoice) -> Result<(IterationName, Vec<String>)> {
    let feature = sessions::latest(store, choice)?.feature().to_owned();
    for entry in store.iterations_of(&feature, MAX_ITERATIONS)?.iter().rev() {
        let is_gone = entry.gone().iter().any(|(name, _)| name.eq_ignore_ascii_case(task));
        let is_undone = entry.has_flag(FlagCode::Undid) || entry.refused() == Some(FlagCode::Undid);
        let Some(record) = (is_gone || is_undone).then(|| store.readable_iteration(entry)).flatten() else {
            continue;
        };
        let gone = record.gone.iter().find(|gone| gone.task.eq_ignore_ascii_case(task));
        let undone = record.undone.iter().find(|undone| undone.task.eq_ignore_ascii_case(task));
        let (state, files) = match (gone, undone) {
            (Some(gone), _) if gone.how != GoneHow::Back => {
                (gone.kept_in.as_ref().map(ToString::to_string), &gone.files)
            }
            (_, Some(undone)) => {
                let state = undone_state(std::slice::from_ref(undone), Some(&record.session));
                (state.map(|(state, _)| state), &undone.files)
            }
            _ => continue,
        };
        let state = state.with_context(|| format!("no snapshot has the work of {}", one_line(task)))?;
        // As they are, wherever the user is.
        let paths = files.iter().map(|path| format!(":(top,literal){path}")).collect();
        return Ok((state.parse()?, paths));
    }
    let task = one_line(task);
    Err(Refusal::new(format!("no attempt that is recorded took back the work of {task}"))
        .with_hint(format!(
            "`{RALPH} log --task {task}` lists its attempts; `{RALPH} restore N` goes back to one"
        ))
        .into())
}

/// Returns what screens call a moment: `#17`, and the session with it where it is not the newest.
fn short_name(point: &Point) -> String {
    match (point.is_newest, point.number()) {
        (true, 0) => "the start".to_owned(),
        (true, number) => point.names.mark(point.log.id(), number),
        (false, number) => format!("{}:{number}", point.log.id()),
    }
}

/// Fetches what a partial clone lacks of the files that are to be written.
fn bring(planned: &PlannedRestore<'_>, context: &Context) -> Result<()> {
    let missing = planned.missing()?;
    if missing.is_empty() {
        return Ok(());
    }
    let remote = remotes::promisor(context)?;
    let what = counted(missing.len() as u64, "file");
    let name = one_line(&remote.name);
    note(format_args!("fetching {what} from {name} that this partial clone lacks"));
    let brought = remote.bring(context.store()?.repository(), &missing);
    brought.with_context(|| format!("fetch {what} from {name}; nothing was changed"))
}

fn to_point<'a>(
    restore: Restore<'a>,
    store: &Store,
    point: &Point,
    (with_tasks, paths): (bool, &[String]),
    intent: Intent,
) -> Result<PlannedRestore<'a>> {
    let files = point.files(store);
    let left_out = point.left_out(store)?;
    let target = Target {
        snapshot: point.snapshot(store)?,
        session: point.log.id(),
        feature: point.log.feature(),
        name: point.to_string(),
        snapshots: here(store, point.log.iterations().filter_map(LogEntry::snapshot))?,
        left_out: &left_out,
        ended_at: point.ended_at(),
        start: here(store, store.first_snapshot(&point.log)?)?.pop(),
        tasks: &files.tasks,
        progress: &files.progress,
        with_tasks,
        paths,
    };
    restore.plan(&target, intent)
}

/// Names the tasks whose boxes are ticked now and were open then, if their work may be what is taken back: where only some files are
/// asked for, those whose attempts changed one of them.
fn say_what_no_longer_fits(
    store: &Store,
    work_tree: &WorkTree,
    point: &Point,
    args: &RestoreArgs,
    planned: &PlannedRestore<'_>,
) -> Result<()> {
    let path = point.files(store).tasks;
    let top = work_tree.top();
    let name = format!("{}:{path}", point.snapshot(store)?);
    // A loop that is not about tasks has no list, then or now.
    let Ok(then) = Tool::git(top).args(["cat-file", "blob", &name]).read() else { return Ok(()) };
    let Ok(then) = tasks::parse(&then) else { return Ok(()) };
    let now = tasks::read_if_there(&work_tree.project_files()?, &top.join(&path))?;
    let ticked = now.tasks().filter(|item| item.done && then.find(&item.name).is_none_or(|item| !item.done));
    let restored: BTreeSet<&[u8]> = planned.changes.iter().map(|change| change.path.as_slice()).collect();
    let ticked = ticked.filter(|item| {
        // What cannot be read may have changed them.
        args.paths.is_empty() || changed_any(store, point, &item.name, &restored).unwrap_or(true)
    });
    let ticked: Vec<String> = ticked.map(|item| one_line(&item.name)).collect();
    if !ticked.is_empty() {
        let message = format!(
            "{} ticked in {path} and not after {point}\nhint: `--tasks` restores the boxes too",
            are(&ticked)
        );
        warn(&message);
    }
    Ok(())
}

/// Returns true if an attempt of the feature that closed a task after the moment changed one of these files.
fn changed_any(store: &Store, point: &Point, task: &str, paths: &BTreeSet<&[u8]>) -> Result<bool> {
    let files = point.files(store);
    let entries = store.iterations_of(point.log.feature(), MAX_ITERATIONS)?;
    let later = entries.iter().filter(|entry| point.ended_at().is_none_or(|at| entry.ended_at() > at));
    for entry in later.filter(|entry| entry.closes(task)) {
        let Some(after) = entry.snapshot() else { return Ok(true) };
        let before = store.snapshot_before(&after)?;
        match store.changed_files(&files, (before, Some(after)))? {
            Some(changed) if changed.iter().all(|file| !paths.contains(file.path.as_slice())) => {}
            _ => return Ok(true),
        }
    }
    Ok(false)
}

/// `T003 is`, `T003, T004 are`.
fn are(names: &[String]) -> String {
    format!("{} {}", join_truncated(names, MAX_NAMED), if names.len() == 1 { "is" } else { "are" })
}

/// Returns those of the snapshots that are here.
fn here(store: &Store, snapshots: impl IntoIterator<Item = ObjectId>) -> Result<Vec<ObjectId>> {
    let mut here = Vec::new();
    for snapshot in snapshots {
        if store.has(&snapshot)? {
            here.push(snapshot);
        }
    }
    Ok(here)
}

/// Returns the restoration with this number, or the last one.
fn to_undo(store: &Store, work_tree: &WorkTree, number: Option<u32>) -> Result<RestorePoint> {
    let mut points = store.restore_points(work_tree)?;
    let Some(last) = points.last().map(|point| point.number) else {
        bail!("nothing was restored in this work tree, so there is nothing to undo");
    };
    let number = number.unwrap_or(last);
    match points.iter().position(|point| point.number == number) {
        Some(place) => Ok(points.swap_remove(place)),
        None => bail!("there is no restoration {number} of this work tree, the last is {last}"),
    }
}

fn show(
    planned: PlannedRestore<'_>,
    (name, moment): (&str, Option<&str>),
    args: &RestoreArgs,
    paint: Paint,
) -> Result<ExitCode> {
    let changed = planned.changes.iter().map(|change| (deed(change), change.name()));
    let left = planned.left.iter().map(|(path, why)| {
        let deed = match *why {
            Why::NoSnapshot(why) => Deed::Lack(why),
            why => Deed::Leave(why.reason()),
        };
        (deed, path.clone())
    });
    let mut paths: Vec<(Deed, String)> = changed.chain(left).collect();
    if args.dry_run {
        print(|out| restore::write_plan(out, name, &paths, paint))
    } else if planned.changes.is_empty() {
        print(|out| restore::write_done(out, name, moment, &paths, None, paint))
    } else {
        let (point, out_of_sight) = planned.carry_out(&mut |point| {
            // Before any file changes, so that it is known also where we are killed.
            // `main` in it is the first work tree, whatever branch is checked out.
            note(format_args!(
                "the present state is saved, for `--undo {}`: {}",
                point.number, point.refname
            ));
        })?;
        for (deed, path) in &mut paths {
            if out_of_sight.contains(path) {
                *deed = Deed::Leave(Why::OutOfSight.reason());
            }
        }
        // What had to be forced has to be forced back.
        let force = if args.force { " --force" } else { "" };
        let undo = format!("{RALPH} restore --undo {}{force}", point.number);
        print(|out| restore::write_done(out, name, moment, &paths, Some(&undo), paint))
    }
}

fn deed(change: &PathChange) -> Deed {
    match (change.is_new(), change.is_removal()) {
        (true, _) => Deed::Create,
        (_, true) => Deed::Remove,
        _ => Deed::Change,
    }
}

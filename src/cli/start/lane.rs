//! `run --lane`: what is refused, the branch and the lane, and what is to be typed at the end.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fs;
use std::io::Write;

use anyhow::{Context as _, Result};
use camino::{Utf8Path, Utf8PathBuf};
use serde_json::json;
use tasklist::{Item, TaskList};

use ralph_core::config::{Clean, Config, Settings, Until};
use ralph_core::record::{
    AttemptId, ObjectId, RALPH, Refusal, Scope, TaskName, full_branch_name, join_files, join_truncated,
    quoted_for_shell,
};
use ralph_core::view::SessionView;
use ralph_engine::suggested_setup;
use ralph_git::repository::RefFormat;
use ralph_git::worktree::{CommittedFile, Lane, WorkTree};
use ralph_os::if_there::IfThere;
use ralph_os::platform::canonicalize;
use ralph_os::process::{self, Interrupt, Marker, Tool, create_private_dir, remove_path};
use ralph_os::sandbox::short_digest;
use ralph_project::feature::{FEATURE_FILE, Feature};
use ralph_project::project_files::MAX_TASK_LIST_BYTES;
use ralph_project::tasks;
use ralph_store::{
    CheckoutLock, LoopLock, Scratch, SessionLog, SessionRefs, Spool, Store, disk_free,
    last_written_in_each_lane, last_written_in_lanes, wait_to_land,
};
use ralph_ui::style::{counted, size};

use crate::cli::settings::{load_without_file, project_in};
use crate::cli::start::setup::{RunRequest, template};
use crate::cli::{Context, ExitCode, Json, emit, refuse, warn};

/// The folders of checkouts beside the lanes, and of what belongs to them.
const CHECKOUTS: [&str; 4] = ["clean", "clean.state", "range", "range.state"];

/// Maximum number of files or tasks that a refusal names.
const MAX_NAMED: usize = 5;

/// Maximum number of sessions whose branches are looked for among what was fetched.
const MAX_SESSIONS: usize = 100;

/// A lane that may be opened: nothing is written yet.
pub struct Checked {
    pub branch: String,
    root: Utf8PathBuf,
    head: ObjectId,
    tip: Option<ObjectId>,
    /// Files that the first commit of the branch takes beside the tracked ones.
    taken: Vec<String>,
    /// The bytes that a new lane takes; `None` if there is one already.
    new_bytes: Option<u64>,
}

/// A lane whose lock is held.
pub struct Opened {
    pub work_tree: WorkTree,
    pub lock: LoopLock,
    new_bytes: Option<u64>,
    /// Where its branch was, if it was there, and to where it was moved for this start.
    pub moved: Option<(Option<ObjectId>, ObjectId)>,
}

/// Returns true if a session is to work in a lane. One that is resumed stays where it began.
pub fn is_wanted(config: &Config, resume: Option<&SessionRefs>, context: &Context) -> Result<bool> {
    let (settings, store) = (&config.settings, context.store()?);
    let Some(refs) = resume else { return Ok(settings.uses_lane()) };
    let log = store.session(refs)?;
    let begun = match log.and_then(|log| store.first_readable_session(&log)) {
        None => Spool::place_of(store.repository(), &refs.session)?.map(|place| place.begun),
        begun => begun,
    };
    let Some(begun) = begun else { return Ok(settings.uses_lane()) };
    let is_in_lane = begun.lane.is_some();
    if settings.lane.is_some_and(|lane| lane != is_in_lane) {
        let (place, flag) = if is_in_lane { ("a lane", "--lane") } else { ("your files", "--no-lane") };
        let message = format!("session {} works in {place}, and cannot go on elsewhere", refs.session);
        let hint = format!("`{RALPH} resume {} {flag}`, or start another session", refs.session);
        return refuse(message, hint);
    }
    Ok(is_in_lane)
}

/// Refuses what keeps a session from working in a lane, and says so if only the sandbox asks for one. Writes nothing.
///
/// `lanes` is how many are to be opened.
pub fn check(
    feature: &Feature,
    config: &Config,
    request: &RunRequest,
    lanes: usize,
    context: &Context,
) -> Result<Checked> {
    check_all(feature, config, request, lanes, context).map_err(|error| match error.downcast::<Refusal>() {
        Ok(Refusal { message, hint }) if config.settings.lane.is_none() && config.settings.sandbox.is_some() => {
            let hint = hint.unwrap_or_default();
            let way = "the lane comes with the sandbox; --no-lane keeps the sandbox, in which your files are written";
            Refusal::new(message).with_hint(format!("{hint}\nhint: {way}")).into()
        }
        Ok(refusal) => refusal.into(),
        Err(error) => error,
    })
}

fn check_all(
    feature: &Feature,
    config: &Config,
    request: &RunRequest,
    lanes: usize,
    context: &Context,
) -> Result<Checked> {
    let (settings, work_tree, store) = (&config.settings, context.work_tree()?, context.store()?);
    if config.loop_type.until != Until::Tasks {
        let message = format!("a loop of type `{}` cannot work in a lane", config.loop_type.name);
        return refuse(message, "run it in your files: --no-lane");
    }
    if !settings.snapshots {
        return refuse("a lane needs snapshots, and `snapshots` is false", "set `snapshots = true`");
    }
    if store.repository().refs == RefFormat::Tables {
        return refuse(
            "this repository keeps its refs in tables, and a lane needs them in files",
            "run it in your files: --no-lane, or `git refs migrate --ref-format=files`",
        );
    }
    let Some(head) = work_tree.head()? else {
        return refuse("there is no commit yet that a lane could begin from", "git add --all && git commit");
    };
    let (branch, reference) = branch_of_lane(settings, feature, work_tree)?;
    let joins = request.lane.joins();
    refuse_branch(store, work_tree, &branch, &reference, request.lane.in_group.is_some())?;
    let tip = store.refs().tip(&reference)?;
    if let Some(path) = work_tree.submodule()? {
        return refuse(
            format!("{path} is a submodule, and a lane has none"),
            "run it in your files: --no-lane",
        );
    }
    let taken = match (&request.resume, request.lane.take_changes, &tip) {
        // It goes on from the branch.
        (Some(_), ..) => Vec::new(),
        (None, true, Some(_)) => {
            let message = format!("`--take-changes` begins a branch, and {branch} is there already");
            let hint = format!("commit your changes on it, or start another: --branch {branch}-2");
            return refuse(message, hint);
        }
        (None, true, None) => {
            let LeftBehind { untracked, ignored, .. } = left_behind(feature, config, context)?;
            refuse_ignored(feature, &ignored, context)?;
            untracked
        }
        // The first of the group looked.
        (None, false, _) if joins => Vec::new(),
        (None, false, _) => {
            refuse_uncommitted(feature, config, context)?;
            Vec::new()
        }
    };
    if taken.is_empty() || tip.is_some() {
        refuse_tasks(feature, work_tree, tip.as_ref().unwrap_or(&head))?;
    } else {
        let bytes = feature.files.read(&feature.tasks_path, MAX_TASK_LIST_BYTES).unwrap_or_default();
        refuse_ids(&TaskList::parse(&bytes)?, &feature.tasks_path)?;
    }
    refuse_copies(settings, context)?;
    let root = lanes_folder(settings, work_tree, context)?;
    let dead = unfinished(store, &branch, request)?.into_iter().next().filter(|_| lanes == 1);
    let (mut number, mut new) = (0, 0);
    for _ in 0..lanes {
        number = dead.map_or_else(|| next_free(work_tree, &root, &branch, number), Ok)?;
        new += u64::from(work_tree.lane_in(root.clone(), number, &branch).is_new_lane());
    }
    let new_bytes = (new > 0).then(|| refuse_full_disk(&root, settings, new, context)).transpose()?;
    Ok(Checked { branch, root, head, tip, taken, new_bytes })
}

/// Refuses so many new lanes if they do not fit on the disk. Returns the bytes that one takes.
fn refuse_full_disk(root: &Utf8Path, settings: &Settings, new: u64, context: &Context) -> Result<u64> {
    let (work_tree, project) = (context.work_tree()?, context.project_root()?);
    let copies = settings.lanes_copy.iter().map(|path| work_tree.relative(&project.join(path)));
    let one = work_tree.bytes_of_lane(&copies.collect::<Vec<_>>())?;
    let needed = one.saturating_mul(new);
    let there = root.ancestors().find(|folder| folder.exists()).unwrap_or(root);
    let free = disk_free(there)?;
    if needed > free {
        let (needed, free) = (size(needed), size(free));
        let message = if new == 1 {
            format!("a new lane takes {needed} in {there}, where {free} are free")
        } else {
            format!("{new} new lanes take {needed} in {there}, where {free} are free")
        };
        return refuse(
            message,
            "name a folder on another disk: --set lanes.dir=/absolute/path; `clean --lanes` removes old ones",
        );
    }
    Ok(one)
}

/// Returns the branch of a lane, and its ref.
fn branch_of_lane(settings: &Settings, feature: &Feature, work_tree: &WorkTree) -> Result<(String, String)> {
    let branch = settings.branch.clone().unwrap_or_else(|| format!("ralph/{}", feature.name));
    let reference = full_branch_name(&branch);
    let checked = Tool::git(work_tree.top()).args(["check-ref-format", &reference]).run()?;
    if !checked.is_success() {
        return refuse(format!("`{branch}` cannot be the name of a branch"), "give another: --branch NAME");
    }
    Ok((branch, reference))
}

/// Refuses a branch that cannot be one, or that is checked out.
fn refuse_branch(
    store: &Store,
    work_tree: &WorkTree,
    branch: &str,
    reference: &str,
    is_in_group: bool,
) -> Result<()> {
    let above = reference.match_indices('/').skip(2).map(|(end, _)| &reference[..end]);
    for name in above {
        if store.refs().tip(name)?.is_some() {
            let message = format!("{name} is a branch, so that {branch} cannot be one");
            return refuse(message, "rename it, or give another: --branch NAME");
        }
    }
    let below = ["for-each-ref", "--count=1", "--format=%(refname)"];
    let below = Tool::git(work_tree.top()).args(below).arg(format!("{reference}/")).line()?;
    if !below.is_empty() {
        let message = format!("{below} is a branch, so that {branch} cannot be one");
        return refuse(message, "rename it, or give another: --branch NAME");
    }
    if let Some(place) = work_tree.checked_out_at(reference)? {
        let message = format!("{branch} is checked out in {place}, and a lane publishes on it");
        return refuse(message, "switch to another branch there, or give another: --branch NAME");
    }
    let holders = if is_in_group { Vec::new() } else { LoopLock::holders(store.repository())? };
    for holder in holders {
        let Some(place) = Spool::place_of(store.repository(), &holder.session)? else { continue };
        if place.begun.lane.is_some() && place.begun.branch.as_deref() == Some(branch) {
            let message = format!("session {} works on {branch} in {}", holder.session, place.work_tree);
            let hint = format!("stop it with `{RALPH} stop`, or give another branch: --branch NAME");
            return refuse(message, hint);
        }
    }
    Ok(())
}

/// What of a feature, of `.specify/` and of what the prompt names is in no commit, and so in no lane.
#[derive(Default)]
struct LeftBehind {
    /// Files that can be committed.
    untracked: Vec<String>,
    /// Files and folders that git ignores, and that no lane gets a copy of.
    ignored: Vec<String>,
    /// Files that agents made for finished tasks in the user's work tree, with the task.
    work: BTreeMap<String, TaskName>,
}

impl LeftBehind {
    /// Returns the names for a message, with the task that a file is the work of.
    fn named(&self, files: &[String]) -> String {
        let named = files.iter().map(|file| match self.work.get(file) {
            Some(task) => format!("{file} ({task})"),
            None => file.clone(),
        });
        join_files(&named.collect::<Vec<_>>(), MAX_NAMED)
    }
}

fn left_behind(feature: &Feature, config: &Config, context: &Context) -> Result<LeftBehind> {
    let work_tree = context.work_tree()?;
    let root = context.project_root()?;
    let template = template(&project_in(context)?, &config.loop_type)?;
    let named = if template.is_built_in { Vec::new() } else { named_files(&template.source, &root) };
    let places = [feature.dir.clone(), root.join(".specify")].into_iter().chain(named);
    let places: Vec<_> = places.map(|place| work_tree.relative(&place)).collect();
    // The loop writes both into every lane.
    let own = [&feature.progress_path, &root.join(FEATURE_FILE)].map(|path| work_tree.relative(path));
    let mut untracked = work_tree.untracked_below(&places, false)?;
    let work = ralph_engine::work_of_tasks(context.store()?, &feature.path)?;
    if !work.is_empty() {
        // A box without its work would be on the branch.
        let everywhere = work_tree.untracked_below(&[String::new()], false)?;
        let new = everywhere.into_iter().filter(|file| work.contains_key(file) && !untracked.contains(file));
        untracked.extend(new.collect::<Vec<_>>());
    }
    untracked.retain(|file| !own.contains(file));
    let mut ignored = work_tree.untracked_below(&places, true)?;
    ignored.retain(|file| !own.contains(file));
    // What spec-kit ignores itself belongs to this machine, and what the user's own rules name to their tools.
    let mut ignored = work_tree.ignored_roots(&ignored, &work_tree.relative(&root.join(".specify")))?;
    let copied = config.settings.lanes_copy.iter().map(|path| work_tree.relative(&root.join(path)));
    let copied: Vec<_> = copied.collect();
    ignored.retain(|file| !copied.iter().any(|path| Utf8Path::new(file).starts_with(path)));
    Ok(LeftBehind { untracked, ignored, work })
}

/// Refuses ignored documents that a lane would not have.
fn refuse_ignored(feature: &Feature, ignored: &[String], context: &Context) -> Result<()> {
    if ignored.is_empty() {
        return Ok(());
    }
    let work_tree = context.work_tree()?;
    let [tasks, folder] = [&feature.tasks_path, &feature.dir].map(|path| work_tree.relative(path));
    if ignored.iter().any(|path| Utf8Path::new(&tasks).starts_with(path)) {
        let message = format!("a lane has what is committed, and git ignores {tasks}");
        let add = format!("git add --force {}", quoted_for_shell(&folder));
        return refuse(message, format!("`{add}` and commit it, or run it in your files: --no-lane"));
    }
    let message = format!(
        "a lane has what is committed, and git does not track these files: {}",
        join_files(ignored, MAX_NAMED)
    );
    let root = work_tree.relative(&context.project_root()?);
    let from_root =
        |path: &String| Utf8Path::new(path).strip_prefix(&root).map_or(path.clone(), ToString::to_string);
    let copies = ignored.iter().map(from_root).collect::<Vec<_>>().join(",");
    let setting = format!("lanes.copy={copies}");
    let setting = quoted_for_shell(&setting);
    refuse(message, format!("git ignores them: --set {setting} gives each new lane a copy"))
}

/// Returns the files of the project that a text names.
fn named_files(text: &str, root: &Utf8Path) -> Vec<Utf8PathBuf> {
    let words = text.split(|c: char| c.is_whitespace() || "`'\"()<>[]{},;".contains(c));
    let words = words.map(|word| word.trim_end_matches(['.', ':']));
    let words =
        words.filter(|word| word.contains(['.', '/']) && !word.contains("..") && !word.starts_with('/'));
    words.map(|word| root.join(word)).filter(|path| path.is_file()).collect()
}

/// Refuses changes of the user's that a lane would not have.
fn refuse_uncommitted(feature: &Feature, config: &Config, context: &Context) -> Result<()> {
    let work_tree = context.work_tree()?;
    let mut changed = work_tree.uncommitted()?;
    let progress = work_tree.relative(&feature.progress_path);
    changed.retain(|path| *path != progress);
    let hint = "commit them, or add --take-changes: the branch begins with a commit of them";
    let left = left_behind(feature, config, context)?;
    if !changed.is_empty() {
        let of_tasks = left.untracked.iter().filter(|file| left.work.contains_key(*file));
        changed.extend(of_tasks.cloned());
        let message =
            format!("a lane has what is committed, and these files are not: {}", left.named(&changed));
        return refuse(message, hint);
    }
    if !left.untracked.is_empty() {
        let names = left.named(&left.untracked);
        let message = format!("a lane has what is committed, and git does not track these files: {names}");
        return refuse(message, hint);
    }
    refuse_ignored(feature, &left.ignored, context)
}

/// Refuses a list of the commit `from` whose tasks cannot be distinguished by their ids.
fn refuse_tasks(feature: &Feature, work_tree: &WorkTree, from: &ObjectId) -> Result<()> {
    let path = work_tree.relative(&feature.tasks_path);
    let file = work_tree.committed_file(from, &path)?.filter(CommittedFile::is_plain);
    let Some(file) = file else {
        let message = format!("{path} is no file of the commit {} that the lane begins from", from.short());
        return refuse(message, "commit it as a plain file");
    };
    refuse_ids(&TaskList::parse(&file.bytes)?, Utf8Path::new(&path))
}

fn refuse_ids(list: &TaskList, path: &Utf8Path) -> Result<()> {
    let mut lines: BTreeMap<String, Vec<usize>> = BTreeMap::new();
    let mut without = Vec::new();
    for item in list.items.iter().filter(|item| item.is_task()) {
        match &item.id {
            Some(id) => lines.entry(id.to_ascii_lowercase()).or_default().push(item.line),
            None => without.push(format!("line {}", item.line)),
        }
    }
    let hint = "give each task an id of its own, such as T001";
    if !without.is_empty() {
        let message = format!(
            "in a lane tasks need ids, and {path} has some without: {}",
            join_truncated(&without, MAX_NAMED)
        );
        return refuse(message, hint);
    }
    if let Some((id, lines)) = lines.iter().find(|(_, lines)| lines.len() > 1) {
        let id = id.to_ascii_uppercase();
        let message = format!("{path} has two tasks {id} (lines {} and {})", lines[0], lines[1]);
        return refuse(message, hint);
    }
    Ok(())
}

/// Refuses files to copy that git does not ignore: they would become part of every result.
fn refuse_copies(settings: &Settings, context: &Context) -> Result<()> {
    let (work_tree, root) = (context.work_tree()?, context.project_root()?);
    let paths: Vec<String> =
        settings.lanes_copy.iter().map(|path| work_tree.relative(&root.join(path))).collect();
    if paths.is_empty() {
        return Ok(());
    }
    let ignored = work_tree.ignored_among(&paths)?;
    match paths.iter().find(|path| !ignored.contains(path)) {
        None => Ok(()),
        Some(path) => refuse(
            format!("`lanes.copy` names {path}, which git does not ignore"),
            "commit it: then every lane has it",
        ),
    }
}

/// Returns the folder of the lanes of all repositories.
fn lanes_base(settings: &Settings, context: &Context) -> Result<Utf8PathBuf> {
    let set = settings.lanes_dir.clone().map(Utf8PathBuf::from);
    match set.or_else(|| Some(context.cache_dir()?.join("specify-ralph/lanes"))) {
        Some(folder) => Ok(folder),
        None => {
            refuse("no folder for lanes is known: HOME is not set", "set one: --set lanes.dir=/absolute/path")
        }
    }
}

/// Returns the folder of the lanes of this repository.
pub fn lanes_folder(settings: &Settings, work_tree: &WorkTree, context: &Context) -> Result<Utf8PathBuf> {
    let folder = lanes_base(settings, context)?;
    if !folder.is_absolute() {
        return refuse(
            format!("`lanes.dir` is {folder}, which is no absolute path"),
            "--set lanes.dir=/absolute/path",
        );
    }
    let real = folder.ancestors().find_map(|folder| canonicalize(folder).ok());
    let around = real.iter().flat_map(|real| real.ancestors()).find(|folder| {
        folder.join(".git").symlink_metadata().is_ok()
            || folder.join("HEAD").is_file() && folder.join("objects").is_dir()
    });
    if let Some(repository) = around {
        let message = format!("lanes would be in {folder}, inside of the repository {repository}");
        return refuse(message, "name a folder outside of any repository: --set lanes.dir=/absolute/path");
    }
    Ok(folder.join(short_digest(work_tree.repository().common_dir.as_str())))
}

/// Returns where results of `work_tree` are tried; nothing if they are not to be, and in `Err` the lock file by which dependencies
/// would have to be installed first, with the command.
pub fn clean_target(
    settings: &Settings,
    work_tree: &WorkTree,
    context: &Context,
) -> Result<Result<Option<WorkTree>, (&'static str, &'static str)>> {
    let is_wanted = settings.validation_clean != Clean::Off
        && settings.validation_command.is_some()
        && settings.snapshots
        && context.store()?.repository().refs != RefFormat::Tables;
    if !is_wanted {
        return Ok(Ok(None));
    }
    let suggested = suggested_setup(&context.project_root()?).filter(|_| settings.lanes_setup.is_none());
    if let Some(suggested) = suggested {
        return Ok(Err(suggested));
    }
    // Where no lane can be, no checkout can either; none was asked for.
    let Ok(root) = lanes_folder(settings, work_tree, context) else { return Ok(Ok(None)) };
    let number = lowest_free(work_tree, &root, "")?;
    let branch =
        if work_tree.lane().is_some() { "lane".to_owned() } else { work_tree.branch()?.unwrap_or_default() };
    Ok(Ok(Some(work_tree.clean_in(&root, number, &branch))))
}

/// Returns the feature with the task list of the branch, if its newest session works in a lane.
pub fn at_tip(feature: Feature, context: &Context) -> Result<Feature> {
    let (store, work_tree) = (context.store()?, context.work_tree()?);
    let Some(refs) = last_written_in_lanes(work_tree, &feature.path)? else { return Ok(feature) };
    let Some(log) = store.session(&refs).ok().flatten() else { return Ok(feature) };
    match tip_of(store, &log)? {
        Some(tip) => with_list_of(&tip, feature, work_tree),
        None => Ok(feature),
    }
}

/// Returns the feature with the task list that a lane begins from.
pub fn at_start(
    feature: &Feature,
    settings: &Settings,
    request: &RunRequest,
    context: &Context,
) -> Result<Feature> {
    let (store, work_tree) = (context.store()?, context.work_tree()?);
    let (_, reference) = branch_of_lane(settings, feature, work_tree)?;
    let tip = store.refs().tip(&reference)?;
    let from = match (tip, work_tree.head()?) {
        (None, Some(_)) if request.lane.take_changes => None,
        // It is moved forward to HEAD.
        (Some(tip), Some(head)) if relation(&tip, &head, context)?.is_merged() => Some(head),
        (tip, head) => tip.or(head),
    };
    match from {
        Some(commit) => with_list_of(&commit, feature.clone(), work_tree),
        None => Ok(feature.clone()),
    }
}

fn with_list_of(commit: &ObjectId, feature: Feature, work_tree: &WorkTree) -> Result<Feature> {
    let list = work_tree.committed_file(commit, &work_tree.relative(&feature.tasks_path))?;
    Ok(match list {
        Some(list) => {
            Feature { files: feature.files.with_committed(&feature.tasks_path, list.bytes), ..feature }
        }
        None => feature,
    })
}

/// Returns the branch of a session in a lane; `None` if it works in a work tree of the user's.
pub fn branch_of(store: &Store, log: Option<&SessionLog>) -> Option<String> {
    let begun = store.first_readable_session(log?)?;
    begun.branch.filter(|_| begun.lane.is_some())
}

/// Returns the tip of the branch of a session in a lane; `None` for any other session.
pub fn tip_of(store: &Store, log: &SessionLog) -> Result<Option<ObjectId>> {
    let branch = branch_of(store, Some(log));
    Ok(branch.map(|branch| store.refs().tip(&full_branch_name(&branch))).transpose()?.flatten())
}

/// Returns the commits that are on the branch of the lane of a session and passed, in their order there, with the places of
/// their iterations in `run`, which is the session or its group; none of a session in no lane.
pub fn passed(log: &SessionLog, run: &SessionView, context: &Context) -> Result<Vec<(usize, ObjectId)>> {
    let Some(tip) = tip_of(context.store()?, log)? else { return Ok(Vec::new()) };
    let places: HashMap<AttemptId, usize> =
        run.iterations().enumerate().map(|(place, entry)| (entry.id(), place)).collect();
    let commits = context.work_tree()?.commits_of_branch(tip.as_str())?;
    let checked = commits.into_iter().rev().filter(|commit| commit.says_passed);
    let own = checked.filter_map(|one| Some((*places.get(&one.publisher?)?, one.commit)));
    Ok(own.collect())
}

/// Refuses to bring files of a session in a lane into a work tree in which another branch is checked out.
pub fn refuse_elsewhere(log: &SessionLog, context: &Context) -> Result<()> {
    let Some(branch) = branch_of(context.store()?, Some(log)) else { return Ok(()) };
    if context.work_tree()?.branch()?.as_ref() == Some(&branch) {
        return Ok(());
    }
    let message = format!("session {} worked in a lane on {branch}, which is not checked out here", log.id());
    refuse(message, format!("git switch {branch}"))
}

/// Returns the newest session and its branch if the task list is there: it worked in a lane, and its branch is not checked out
/// here.
///
/// # Errors
///
/// A [`Refusal`] if it is checked out in another work tree; `command` is what is to be typed there.
pub fn branch_of_list(
    feature: &Feature,
    command: &str,
    context: &Context,
) -> Result<Option<(SessionRefs, String)>> {
    let (store, work_tree) = (context.store()?, context.work_tree()?);
    let Some(refs) = last_written_in_lanes(work_tree, &feature.path)? else { return Ok(None) };
    let Some(branch) = branch_of(store, store.session(&refs)?.as_ref()) else { return Ok(None) };
    let reference = full_branch_name(&branch);
    if store.refs().tip(&reference)?.is_none() || work_tree.branch()?.as_ref() == Some(&branch) {
        return Ok(None);
    }
    if let Some(place) = work_tree.checked_out_at(&reference)? {
        let message = format!("the task list is on {branch}, which is checked out in {place}");
        return refuse(message, format!("cd {} && {command}", quoted_for_shell(place.as_str())));
    }
    Ok(Some((refs, branch)))
}

/// Removes the lanes of the repository in which no session runs or was cut off, and those of repositories that are gone.
pub fn clean(context: &Context, json: Json) -> Result<ExitCode> {
    // The project's file cannot set the folder, and outside of a repository there is none.
    let settings = load_without_file(context)?.settings;
    let gone = remove_lanes_of_gone(&lanes_base(&settings, context)?)?;
    let (store, users) = match (context.store(), context.work_tree()) {
        (Ok(store), Ok(users)) => (store, users),
        // Outside of a repository, these are all that can be meant.
        (Err(error), _) | (_, Err(error)) if gone.is_empty() => return Err(error),
        _ => {
            return emit(json, &json!({ "lanes": [], "gone": gone }), |out| write_gone(out, &gone));
        }
    };
    let root = lanes_folder(&settings, users, context)?;
    let mut removed = Vec::new();
    let names = root.read_dir_utf8().if_there().with_context(|| format!("read {root}"))?;
    let names = names
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|entry| entry.file_name().trim_end_matches(".git").parse::<u32>().ok());
    for number in names.collect::<BTreeSet<_>>() {
        let lane = users.lane_in(root.clone(), number, "");
        if LoopLock::holder_here(&lane)?.is_some() {
            warn(&format!("lane {number} stays: a session runs in it"));
            continue;
        }
        if !ralph_engine::nothing_is_left(&lane)? {
            warn(&format!(
                "lane {number} stays: a session was cut off in it\nhint: `{RALPH} resume` finishes it"
            ));
            continue;
        }
        let _lock = LoopLock::take(&lane)?;
        lane.remove_lane()?;
        removed.push(number);
    }
    let mut checkouts = Vec::new();
    for clean in users.clean_checkouts(&root)? {
        let Some(_lock) = CheckoutLock::try_take(&clean)? else {
            warn(&format!("{} stays: a check runs in it", clean.top()));
            continue;
        };
        clean.remove_lane()?;
        checkouts.push(clean.top().to_owned());
    }
    // Fails if any are left.
    for folder in CHECKOUTS.map(|folder| root.join(folder)).iter().chain([&root]) {
        let _kept = fs::remove_dir(folder).is_err();
    }
    let repository = &store.repository().common_dir;
    emit(json, &json!({ "lanes": removed, "clean": checkouts, "gone": gone }), |out| {
        write_gone(out, &gone)?;
        checkouts.iter().try_for_each(|top| writeln!(out, "removed the clean checkout {top}"))?;
        writeln!(out, "removed {} of {repository}", counted(removed.len() as u64, "lane"))
    })
}

fn write_gone(out: &mut impl Write, gone: &[String]) -> std::io::Result<()> {
    gone.iter().try_for_each(|repository| writeln!(out, "removed the lanes of {repository}, which is gone"))
}

/// Removes the lanes of repositories that are not there any more. Returns where these were.
fn remove_lanes_of_gone(base: &Utf8Path) -> Result<Vec<String>> {
    let mut gone = Vec::new();
    if !base.is_absolute() {
        return Ok(gone);
    }
    let children = |folder: &Utf8Path| -> Result<Vec<Utf8PathBuf>> {
        let entries = folder.read_dir_utf8().if_there().with_context(|| format!("read {folder}"))?;
        Ok(entries.into_iter().flatten().flatten().map(camino::Utf8DirEntry::into_path).collect())
    };
    for root in children(base)?.into_iter().filter(|root| root.is_dir()) {
        let mut of_lanes = children(&root)?;
        for folder in CHECKOUTS {
            of_lanes.extend(children(&root.join(folder))?);
        }
        let noted = of_lanes.iter().find_map(|lane| fs::read_to_string(lane.join("commondir")).ok());
        let Some(repository) = noted.map(|noted| noted.trim().to_owned()) else { continue };
        // Of one on a disk that is not mounted, the folder that it is in is gone as well.
        let place = Utf8Path::new(&repository);
        let parent = place.ancestors().nth(if place.ends_with(".git") { 2 } else { 1 });
        if place.is_absolute() && !place.exists() && parent.is_some_and(Utf8Path::is_dir) {
            remove_path(&root).with_context(|| format!("remove {root}"))?;
            gone.push(repository);
        }
    }
    Ok(gone)
}

/// Takes a lane and its lock, and then makes the branch and the lane if they are not there.
pub fn open(
    checked: Checked,
    feature: &Feature,
    request: &RunRequest,
    ignored: &'static [&'static str],
    context: &Context,
) -> Result<Opened> {
    let (store, users) = (context.store()?, context.work_tree()?);
    let Checked { branch, root, head, tip, taken, new_bytes } = checked;
    let reference = full_branch_name(&branch);
    create_private_dir(&root)?;
    let root = canonicalize(&root).with_context(|| format!("look at {root}"))?;
    let (work_tree, mut lock) = take_lane(store, users, &root, &branch, request)?;
    let joins = request.lane.joins();
    let is_held = lock.hold_branch(store.repository(), &reference, request.lane.in_group.is_some())?;
    if !is_held || !joins && store.refs().tip(&reference)? != tip {
        let message = format!("another loop is just starting on {branch}");
        return refuse(message, "try again in a moment, or give another branch: --branch NAME");
    }
    let work_tree = work_tree.ignoring(ignored);
    let mut moved = None;
    match &tip {
        None if request.lane.take_changes => {
            let index = store.repository().ralph_dir().join(format!("taken.{}", std::process::id()));
            create_private_dir(&store.repository().ralph_dir())?;
            let message = format!("Changes that {} begins with\n", feature.name);
            let first = users.commit_of_changes(&index, &head, &taken, &message)?;
            store.refs().move_branch(&reference, None, &first)?;
            moved = Some((None, first));
        }
        None => {
            store.refs().move_branch(&reference, None, &head)?;
            moved = Some((None, head.clone()));
        }
        // It is as the first of the group found it, or further.
        Some(_) if joins => {}
        Some(tip) => {
            let relation = relation(tip, &head, context)?;
            if relation.is_merged() && *tip != head {
                store.refs().move_branch(&reference, Some(tip), &head)?;
                moved = Some((Some(tip.clone()), head.clone()));
            }
            match relation {
                Relation::Merged | Relation::Ahead => {}
                Relation::Squashed => warn(&format!(
                    "what {branch} changed is in HEAD, by other commits: it begins there again, and was at {}",
                    tip.short()
                )),
                Relation::Diverged => {
                    let from = users.branch()?.unwrap_or_else(|| head.short().to_owned());
                    warn(&format!(
                        "{from} has {} that {branch} has not\nhint: `git merge {from}` on {branch} takes them in",
                        counted(users.count_between(tip, &head)?, "commit")
                    ));
                }
            }
        }
    }
    work_tree.make_lane(moved.as_ref().map(|(_, to)| to).or(tip.as_ref()).or(Some(&head)))?;
    let left = process::kill_marked(&Marker::of_work_tree(work_tree.top()), &Interrupt::none());
    if !left.is_empty() {
        warn(&format!("stopped what was left running in {}: {}", work_tree.top(), left.join(", ")));
    }
    Ok(Opened { work_tree, lock, new_bytes, moved })
}

/// Takes the lane to work in with its lock: that of a session that died on this branch, or the lowest that nothing runs in.
fn take_lane(
    store: &Store,
    users: &WorkTree,
    root: &Utf8Path,
    branch: &str,
    request: &RunRequest,
) -> Result<(WorkTree, LoopLock)> {
    let lane = |number| users.lane_in(root.to_owned(), number, branch);
    let may_run = request.lane.in_group.is_some() && request.resume.is_none();
    for number in unfinished(store, branch, request)? {
        if !may_run {
            return Ok((lane(number), LoopLock::take(&lane(number))?));
        }
        // That of another of the group may run.
        if let Some(lock) = LoopLock::try_take(&lane(number))? {
            return Ok((lane(number), lock));
        }
    }
    let mut number = 1;
    loop {
        if let Some(lock) = LoopLock::try_take(&lane(number))? {
            return Ok((lane(number), lock));
        }
        number += 1;
    }
}

/// Returns the numbers of the lanes of the session to resume, or of those that are not over on this branch.
pub fn unfinished(store: &Store, branch: &str, request: &RunRequest) -> Result<Vec<u32>> {
    let mut numbers = Vec::new();
    for spool in Spool::all(store.repository())? {
        let Some(place) = spool.place()? else { continue };
        let is_wanted = match &request.resume {
            Some(refs) => place.session == refs.session,
            None => place.begun.lane.is_some() && place.begun.branch.as_deref() == Some(branch),
        };
        numbers.extend(Lane::number_of(&place.work_tree).filter(|_| is_wanted));
    }
    Ok(numbers)
}

/// Returns the lowest number of a lane in which no session runs.
pub fn lowest_free(users: &WorkTree, root: &Utf8Path, branch: &str) -> Result<u32> {
    next_free(users, root, branch, 0)
}

/// Returns the same of those with greater numbers.
fn next_free(users: &WorkTree, root: &Utf8Path, branch: &str, after: u32) -> Result<u32> {
    let mut number = after + 1;
    while LoopLock::holder_here(&users.lane_in(root.to_owned(), number, branch))?.is_some() {
        number += 1;
    }
    Ok(number)
}

/// Takes a lane to the tip of its branch; it gets the copies that it lacks. Returns the tip.
pub fn take_to_tip(
    work_tree: &WorkTree,
    there: &Feature,
    settings: &Settings,
    context: &Context,
) -> Result<ObjectId> {
    let users_tree = context.users_tree()?;
    let (store, Some(lane)) = (context.store()?, work_tree.lane()) else {
        return Err(Refusal::new("this is no lane").into());
    };
    let Some(tip) = store.refs().tip(&lane.reference())? else {
        return Err(Refusal::new(format!("the branch {} is gone", lane.branch)).into());
    };
    work_tree.take_lane_to(&tip, None)?;
    let (users, root) = (context.work_tree()?, context.project_root()?);
    for path in settings.lanes_copy.iter().map(|path| users.relative(&root.join(path))) {
        // One that was made before the setting lacks them.
        if work_tree.top().join(&path).symlink_metadata().is_err() {
            if let Some(unusable) = users_tree.leak_of_copy(&path) {
                return refuse(
                    format!("`lanes.copy` names {path}, and {}", unusable.words()),
                    "leave it out, and have `lanes.setup` make it in the lane",
                );
            }
            work_tree.copy_into_lane(users.top(), &path)?;
        }
    }
    let root = context.in_work_tree(work_tree.clone())?.project_root()?;
    ralph_engine::write_feature_file(there, &root, work_tree)?;
    Ok(tip)
}

impl Opened {
    /// Returns what is said of it at the start.
    pub fn words(&self, tip: &ObjectId, settings: &Settings) -> String {
        let branch = self.work_tree.lane().map(|lane| lane.branch.as_str()).unwrap_or_default();
        let who = if self.work_tree.repository().author.is_none() {
            "; git knows no author here, so that commits name ralph@localhost"
        } else {
            ""
        };
        let is_of_sandbox = settings.lane.is_none() && settings.sandbox.is_some();
        let why = if is_of_sandbox { "; it comes with the sandbox (--no-lane: without)" } else { "" };
        let new = self.new_bytes.map_or(String::new(), |bytes| format!(", new, {}", size(bytes)));
        format!("lane: {} on {branch}, from {}{new}{who}{why}", self.work_tree.top(), tip.short())
    }
}

/// Takes a branch back to where it was before a start that is refused or only tried, or deletes it if it was not there.
pub fn take_branch_back(
    lane: &WorkTree,
    moved: Option<(Option<ObjectId>, ObjectId)>,
    context: &Context,
) -> Result<()> {
    let (Some(lane), Some((from, to))) = (lane.lane(), moved) else { return Ok(()) };
    let (refs, reference) = (context.store()?.refs(), lane.reference());
    match from {
        // What a session left that died was published on it.
        _ if refs.tip(&reference)?.as_ref() != Some(&to) => Ok(()),
        Some(from) => refs.move_branch(&reference, Some(&to), &from),
        None => refs.delete_branch(&reference, &to),
    }
}

/// How a branch is to HEAD.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Relation {
    /// HEAD has its commits.
    Merged,
    /// HEAD has what it changed, by other commits, as a squash or a rebase leaves it.
    Squashed,
    /// It alone has moved on.
    Ahead,
    /// Both have.
    Diverged,
}

impl Relation {
    fn is_merged(self) -> bool {
        matches!(self, Self::Merged | Self::Squashed)
    }
}

fn relation(tip: &ObjectId, head: &ObjectId, context: &Context) -> Result<Relation> {
    let users = context.work_tree()?;
    if users.is_ancestor(tip, head)? {
        return Ok(Relation::Merged);
    }
    if users.is_ancestor(head, tip)? {
        return Ok(Relation::Ahead);
    }
    let scratch = Scratch::create(context.store()?.repository())?;
    let is_squashed = users.has_changes_of(head, tip, &scratch.path("objects"))?;
    Ok(if is_squashed { Relation::Squashed } else { Relation::Diverged })
}

/// Returns how many commits of a branch are not in HEAD, the command that brings them there, and whether that is a fast-forward;
/// `None` if all are there.
pub fn unmerged(branch: &str, context: &Context) -> Result<Option<(u64, String, bool)>> {
    let (store, users) = (context.store()?, context.work_tree()?);
    let (Some(tip), Some(head)) = (store.refs().tip(&full_branch_name(branch))?, users.head()?) else {
        return Ok(None);
    };
    let relation = relation(&tip, &head, context)?;
    if relation.is_merged() {
        return Ok(None);
    }
    let is_forward = relation == Relation::Ahead;
    let option = if is_forward { "--ff-only " } else { "" };
    let commits = users.count_between(&head, &tip)?;
    Ok(Some((commits, format!("git merge {option}{}", quoted_for_shell(shown(branch))), is_forward)))
}

/// Brings the results to the branch that is checked out if `land`. Returns what happened, or how they get there; `None` if they
/// are there.
///
/// `fenced` is the user's work tree with its filters in the sandbox, if there is one. Hooks may be an agent's: then none runs.
pub fn close(
    branch: &str,
    land: bool,
    fenced: Option<&WorkTree>,
    context: &Context,
) -> Result<Option<String>> {
    let users = fenced.map_or_else(|| context.work_tree(), Ok)?;
    // Another loop may land at the same moment.
    let _turn = land.then(|| wait_to_land(users.repository())).transpose()?;
    let Some((commits, command, is_forward)) = unmerged(branch, context)? else {
        return Ok(None);
    };
    let commits = counted(commits, "commit");
    Ok(Some(if !land {
        format!("{commits} on {branch}: {command}")
    } else if !is_forward {
        format!("not landed: {branch} and what is checked out have both moved on\nhint: {command}")
    } else if !users.uncommitted()?.is_empty() {
        format!("not landed: there are uncommitted changes\nhint: commit or stash them, then {command}")
    } else {
        let merged = if fenced.is_some() {
            users.go_forward(&full_branch_name(branch))
        } else {
            let merge = Tool::git_for_user(users.top()).args(["merge", "--ff-only", "--quiet"]);
            merge.arg(full_branch_name(branch)).run().map(|merged| (merged, Vec::new()))
        };
        let why = match merged {
            Ok((done, hooks)) if done.is_success() => {
                let landed = format!("landed: {commits} of {branch}");
                let left = "an agent may have written what they run";
                return Ok(Some(match hooks.join(", ") {
                    hooks if hooks.is_empty() => landed,
                    hooks => format!("{landed}; git's hooks were not run ({hooks}): {left}"),
                }));
            }
            Ok((failed, _)) => failed.complaint(),
            Err(error) => format!("{error:#}"),
        };
        // A person may have committed meanwhile.
        let command = unmerged(branch, context)?.map_or(command, |(_, command, _)| command);
        format!("not landed: {why}\nhint: {command}")
    }))
}

/// Says which open tasks of a start are done on branches of lanes, and on those that were fetched of other machines, and how to get
/// them. A start in a lane publishes on `own`.
pub fn warn_of_lanes(feature: &Feature, scope: &Scope, own: Option<&str>, context: &Context) -> Result<()> {
    let (store, users) = (context.store()?, context.work_tree()?);
    let mut branches = BTreeSet::new();
    for refs in last_written_in_each_lane(users, &feature.path)? {
        branches.extend(branch_of(store, store.session(&refs).ok().flatten().as_ref()));
    }
    let here = tasks::read(&feature.files, &feature.tasks_path).unwrap_or_default();
    let part = tasks::part_of(&here, scope, &feature.tasks_path)?;
    let is_wanted = |name: &TaskName| part.as_ref().is_none_or(|part| part.has(name));
    let mut open: Vec<_> = here.items.iter().filter(|item| item.is_task() && !item.done).collect();
    open.retain(|item| is_wanted(&item.name));
    for branch in branches.into_iter().chain(fetched_branches(feature, context)?) {
        let Some(tip) = store.refs().tip(&full_branch_name(&branch))?.filter(|_| own != Some(&*branch))
        else {
            continue;
        };
        let there = with_list_of(&tip, feature.clone(), users)?;
        let there = tasks::read(&there.files, &there.tasks_path).unwrap_or_default();
        let is_done = |item: &&Item| there.find(&item.name).is_some_and(|found| found.done);
        let done: Vec<_> = open.iter().copied().filter(is_done).map(|item| item.name.as_str()).collect();
        // To compare branches takes longer than to read a list.
        if done.is_empty() {
            continue;
        }
        if unmerged(&branch, context)?.is_none() {
            continue;
        }
        let (are, them) = if done.len() == 1 { ("is", "it") } else { ("are", "them") };
        let (done, branch) = (join_truncated(&done, MAX_NAMED), shown(&branch));
        let on = own.map_or(String::new(), |own| format!(" on {own}"));
        // What this start commits makes it no fast-forward.
        let command = format!("git merge {}", quoted_for_shell(branch));
        warn(&format!("{done} {are} done on {branch}, and open here\nhint: `{command}`{on} takes {them} in"));
        // Each is named once: one that was merged elsewhere is on several branches.
        open.retain(|item| !is_done(item));
    }
    Ok(())
}

/// Returns the refs that were fetched of other machines: of the branches into which work is merged, and of those that records name.
fn fetched_branches(feature: &Feature, context: &Context) -> Result<Vec<String>> {
    let (store, users) = (context.store()?, context.work_tree()?);
    let listed = ["for-each-ref", "--format=%(refname) %(symref)", "refs/remotes/"];
    let listed = Tool::git(users.top()).args(listed).read().context("list fetched branches")?;
    let listed = String::from_utf8_lossy(&listed).into_owned();
    let fetched: Vec<(&str, &str)> = listed.lines().filter_map(|line| line.split_once(' ')).collect();
    if fetched.is_empty() {
        return Ok(Vec::new());
    }
    let logs = store.logs_of(&feature.path)?;
    let worked_on: BTreeSet<_> =
        logs.iter().rev().take(MAX_SESSIONS).filter_map(|log| branch_of(store, Some(log))).collect();
    let current = users.branch()?;
    let is_named = |(name, _): &&(&str, &str), names: &dyn Fn(&str) -> bool| {
        shown(name).split_once('/').is_some_and(|(_, branch)| names(branch))
    };
    let defaults = fetched.iter().map(|(_, target)| *target).filter(|target| !target.is_empty());
    let currents = fetched.iter().filter(|one| is_named(one, &|branch| current.as_deref() == Some(branch)));
    let others = fetched.iter().filter(|one| is_named(one, &|branch| worked_on.contains(branch)));
    let names = defaults.chain(currents.chain(others).map(|(name, _)| *name));
    Ok(names.map(str::to_owned).collect())
}

/// Returns the name of a branch as git takes and shows it.
fn shown(branch: &str) -> &str {
    branch.strip_prefix("refs/remotes/").unwrap_or(branch)
}

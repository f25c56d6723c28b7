//! A session in a lane: taken to the tip of its branch before each attempt, with results that become commits on it.

use anyhow::{Context as _, Result};
use camino::Utf8Path;
use failure_excerpt::Tally;
use serde_json::json;
use tasklist::{Pairing, TaskList};

use crate::validate;
use ralph_core::config::AgentCommand;
use ralph_core::record::{
    Baseline, CANNOT_RUN, Event, Evidence, Iteration, LeftOut, ObjectId, RALPH, Refusal, TaskName,
    join_files, join_truncated, quoted_for_shell,
};
use ralph_git::worktree::{CommittedFile, PrivateIndex, WorkTree};
use ralph_os::if_there::IfThere;
use ralph_os::platform::repo_path;
use ralph_os::process::create_private_dir;
use ralph_project::feature::{FEATURE_FILE, Feature};
use ralph_project::project_files::MAX_DOCUMENT_BYTES;
use ralph_store::{Begin, Conflict, Identity, Slot};

use super::commits::assisted_by::assisted_by;
use super::commits::message::{CommitSubject, subject};
use super::iteration_context::validation_cause;
use super::judging::Judging;
use super::lane_dependencies::{Dependency, is_printed, lacking, lacking_words};
use super::loop_inputs::LoopInputs;
use super::recorder::Recorder;
use super::running::{LoopState, Past};
use super::shown::warn;
use super::stop::Ending;
use super::trusted::{newest_checked, tests_of};
use super::users_tree::Unusable;

/// Most commits and files that a cause names.
const MAX_NAMED: usize = 3;

/// Takes the lane to the tip of its branch, if it is not there. Returns why it cannot be.
pub(super) fn renew_lane(
    inputs: &LoopInputs<'_>,
    recorder: &mut Recorder<'_>,
    identity: &Identity,
    state: &mut LoopState,
) -> Result<Option<Ending>> {
    let work_tree = inputs.work_tree;
    let Some(lane) = work_tree.lane() else { return Ok(None) };
    let id = recorder.place().session.clone();
    let reference = lane.reference();
    let tip = inputs.store.refs().tip(&reference)?;
    let checked_out = work_tree.checked_out_at(&reference)?;
    if (tip.is_none() || checked_out.is_some())
        && let Some(head) = work_tree.head()?.filter(|_| state.is_lane_used)
    {
        // The list without what is not on the branch is what the end of the session counts.
        work_tree.take_lane_to(&head, None)?;
    }
    let Some(tip) = tip else {
        let hint = format!("`git branch {} COMMIT` makes it again, then `{RALPH} resume {id}`", lane.branch);
        return Ok(Some(Ending::stuck(format!("the branch {} is gone", lane.branch), hint)));
    };
    if let Some(place) = checked_out {
        let hint = format!("switch to another branch there, then `{RALPH} resume {id}`");
        return Ok(Some(Ending::stuck(format!("{} is checked out in {place}", lane.branch), hint)));
    }
    if !state.is_lane_used && work_tree.head()?.as_ref() == Some(&tip) {
        return Ok(None);
    }
    let ending = take_lane(inputs, recorder, identity, state, (&tip, None))?;
    state.is_lane_used = false;
    Ok(ending)
}

/// Takes the lane to a commit, which may be in the folder `objects` alone, and makes it ready. Returns why it cannot be.
pub(super) fn take_lane(
    inputs: &LoopInputs<'_>,
    recorder: &mut Recorder<'_>,
    identity: &Identity,
    state: &mut LoopState,
    (commit, objects): (&ObjectId, Option<&Utf8Path>),
) -> Result<Option<Ending>> {
    let work_tree = inputs.work_tree;
    work_tree.take_lane_to(commit, objects)?;
    if std::mem::take(&mut state.clean.is_lane_dirty) {
        let settings = &inputs.config.settings;
        let copies = settings.lanes_copy.iter().chain(&settings.lanes_keep);
        let kept = copies.map(|path| work_tree.relative(&inputs.project_root.join(path)));
        work_tree.remove_ignored(&kept.collect::<Vec<_>>())?;
    }
    write_feature_file(inputs.feature, &inputs.project_root, work_tree)?;
    recorder.settle_progress();
    (state.is_lane_used, state.is_lane_renewed) = (true, true);
    let id = recorder.place().session.clone();
    Ok(set_up_lane(inputs, recorder, identity)?.map(|Refusal { message, hint }| {
        Ending::stuck(message, format!("{}, then `{RALPH} resume {id}`", hint.unwrap_or_default()))
    }))
}

/// Names what the lane lacks where the validation fails in it.
///
/// # Errors
///
/// A [`Refusal`] if that is why it fails.
pub(super) fn check_dependencies(
    inputs: &LoopInputs<'_>,
    say: &mut dyn FnMut(&Event),
    slot: &Slot,
    baseline: Option<&Baseline>,
) -> Result<()> {
    let Some(baseline) = baseline.filter(|baseline| !baseline.passed()) else { return Ok(()) };
    let Some((message, hint)) = lacking_in_lane(inputs) else { return Ok(()) };
    let is_why = CANNOT_RUN.contains(&baseline.exit) || is_printed(slot, &lacking_of(inputs));
    if is_why && !inputs.is_forced {
        let message = format!("{message}, and the validation cannot run without");
        return Err(Refusal::new(message).with_hint(hint).into());
    }
    warn(say, format!("{message}\nhint: {hint}"));
    Ok(())
}

fn lacking_of(inputs: &LoopInputs<'_>) -> Vec<Dependency> {
    lacking(&inputs.dependencies, inputs.work_tree.top())
}

/// Returns what the lane lacks, and what brings it there; `None` if it lacks nothing.
pub(super) fn lacking_in_lane(inputs: &LoopInputs<'_>) -> Option<(String, String)> {
    let root = inputs.work_tree.relative(&inputs.project_root);
    lacking_words(&lacking_of(inputs), Utf8Path::new(&root))
}

/// Takes a snapshot of the tip that the lane was taken to: attempts are compared with it, whoever made it.
pub(super) fn prepare_attempt_in_lane(
    inputs: &LoopInputs<'_>,
    recorder: &mut Recorder<'_>,
    judging: &mut Judging,
    past: &mut Past,
    state: &mut LoopState,
    slot: &Slot,
    begin: &mut Begin,
) -> Result<()> {
    if std::mem::take(&mut state.is_lane_renewed) {
        slot.create()?;
        let moment = "its lane was taken to the tip of its branch";
        recorder.take_between(slot, moment, begin.started_at);
        let changes = recorder.take_edits();
        past.left_behind.note_own_changes(&changes);
        if let Some(tip) = inputs.work_tree.head()? {
            let published = newest_checked(inputs)?;
            judging.trusted.begin_from(tip, recorder.tips().snapshot, published.as_ref());
        }
    }
    begin.tips = recorder.tips();
    if past.history.attempts(&begin.task.name) > 0 {
        begin.restored_to.clone_from(&begin.tips.snapshot);
    }
    Ok(())
}

/// Moves files out of the lane that no snapshot takes, and so no commit, those that are `hidden` among them: the validation
/// runs without them. Returns their names.
pub(super) fn move_left_out_aside(
    inputs: &LoopInputs<'_>,
    recorder: &mut Recorder<'_>,
    slot: &Slot,
    hidden: &[String],
) -> Result<Vec<String>> {
    if inputs.work_tree.lane().is_none() {
        return Ok(Vec::new());
    }
    let mut paths = left_out_of_lane(recorder, slot)?;
    paths.extend_from_slice(hidden);
    if !paths.is_empty() {
        recorder.note_change();
    }
    paths.iter().try_for_each(|path| inputs.work_tree.move_aside(path))?;
    Ok(paths)
}

fn left_out_of_lane(recorder: &mut Recorder<'_>, slot: &Slot) -> Result<Vec<String>> {
    let rules = [LeftOut::CREDENTIALS, LeftOut::TOO_LARGE, LeftOut::NESTED_REPOSITORY];
    let tree = recorder.last_read(slot)?;
    let left_out = recorder
        .last_left_out()
        .iter()
        .filter(|left| rules.contains(&left.reason.as_str()) || left.reason.starts_with(LeftOut::TOO_MUCH));
    let mut paths: Vec<String> = left_out.map(|left| left.path.trim_end_matches('/').to_owned()).collect();
    // Nor does one take the repositories in it, and a lane has no submodules.
    let listed = recorder.work_tree().entries(&slot.objects(), &tree)?;
    let links = listed.split(|byte| *byte == 0).filter(|entry| entry.starts_with(b"160000 "));
    let links = links.filter_map(|entry| entry.split(|byte| *byte == b'\t').nth(1));
    paths.extend(links.map(|path| String::from_utf8_lossy(path).into_owned()));
    Ok(paths)
}

/// Returns why the result of an attempt is lost: the branch of the lane is not as it was, and git is too old to merge it.
pub(super) fn why_lost(inputs: &LoopInputs<'_>, slot: &Slot, begin: &Begin) -> Result<Option<String>> {
    let Some(base) = &begin.head_before else { return Ok(None) };
    let moved = why_moved(inputs, base)?;
    let can_merge = moved.is_some() && inputs.work_tree.can_merge_trees(base, &slot.objects())?;
    Ok(moved.filter(|_| !can_merge))
}

/// Returns why the result of an attempt cannot be published: the branch of the lane is not as it was, or is checked out.
fn why_moved(inputs: &LoopInputs<'_>, base: &ObjectId) -> Result<Option<String>> {
    let work_tree = inputs.work_tree;
    let Some(lane) = work_tree.lane() else { return Ok(None) };
    let branch = &lane.branch;
    if let Some(place) = work_tree.checked_out_at(&lane.reference())? {
        return Ok(Some(format!("{branch} was checked out in {place} meanwhile")));
    }
    Ok(match inputs.store.refs().tip(&lane.reference())? {
        None => Some(format!("{branch} was deleted meanwhile")),
        Some(tip) if tip == *base => None,
        Some(tip) => {
            let (commits, files) = work_tree.between(base, &tip).unwrap_or_default();
            let commits = join_truncated(&commits, MAX_NAMED);
            let files = join_files(&files, MAX_NAMED);
            Some(format!("{branch} moved to {} meanwhile: {commits}; it changed {files}", tip.short()))
        }
    })
}

/// Writes the commit that has the result of a success. `None` outside of a lane, and if the result is to be queued: the branch has
/// moved, or is checked out, or there is no `base` as others come before it.
pub(super) fn publish(
    inputs: &LoopInputs<'_>,
    recorder: &Recorder<'_>,
    done: &CommitSubject<'_>,
    base: Option<&ObjectId>,
    evidence: &Evidence,
) -> Result<Option<ObjectId>> {
    let (Some(_), Some(base), (Some(tree), _)) = (inputs.work_tree.lane(), base, recorder.last_contents())
    else {
        return Ok(None);
    };
    if why_moved(inputs, base)?.is_some() {
        return Ok(None);
    }
    let subject = subject(inputs, recorder, done.tasks, Some(&done.task.name), &done.task.text);
    let passed = Some(evidence).filter(|_| inputs.config.settings.has_validation());
    let tasks: Vec<&TaskName> = done.closed.iter().chain([&done.task.name]).collect();
    let message =
        result_message(&subject, done, passed) + &assisted_by(inputs, recorder, done.agent, &tasks)?;
    commit_result(inputs, recorder, done.slot, base, [tree, tree], done.closed, &message).map(Some)
}

/// Runs `lanes.setup` if it did not run for what its files hold now. Returns why it failed, or why nothing that it made can be
/// used.
fn set_up_lane(
    inputs: &LoopInputs<'_>,
    recorder: &Recorder<'_>,
    identity: &Identity,
) -> Result<Option<Refusal>> {
    let settings = &inputs.config.settings;
    let (Some(lane), Some(command)) = (inputs.work_tree.lane(), settings.lanes_setup.clone()) else {
        return Ok(None);
    };
    let mut state = command.clone();
    for name in &settings.lanes_setup_files {
        let read = inputs.feature.files.read(&inputs.project_root.join(name), MAX_DOCUMENT_BYTES);
        state.push_str(&format!("\0{name}\0{}", String::from_utf8_lossy(&read.unwrap_or_default())));
    }
    let state = identity.fingerprint("lane setup", &state);
    if lane.setup_note().as_ref() == Some(&state) {
        return Ok(None);
    }
    // An installer would follow a link that the tip has now.
    if let Some(why) = leak_of_lane(inputs)? {
        return Ok(Some(why));
    }
    let slot = Slot::within(&recorder.spool().scratch());
    let session = &recorder.place().session;
    let environment = inputs.environment(session, "", 0, 0);
    let context = inputs.validation_context(&slot, &environment, inputs.marker(session, recorder.spool()));
    let ran = validate::run(&command, &context, inputs.interrupt)?;
    if !ran.exit.is_success() {
        let (redactor, root) = (recorder.redactor(), &inputs.project_root);
        let (words, _) = validation_cause(&slot, &ran, redactor, root)?.unwrap_or_default();
        let why = format!("`{command}` (lanes.setup) exited {}: {words}", ran.exit.code);
        let hint = format!("set `lanes.setup` to what works on {}", lane.branch);
        return Ok(Some(Refusal::new(why).with_hint(hint)));
    }
    let unusable = leak_of_lane(inputs)?;
    if unusable.is_none() {
        lane.note_setup(&state)?;
    }
    Ok(unusable)
}

/// Refuses a start in a lane that is not apart from the user's files, or whose setup fails.
pub(super) fn require_lane_setup(
    inputs: &LoopInputs<'_>,
    recorder: &Recorder<'_>,
    identity: &Identity,
) -> Result<()> {
    let unusable = if inputs.work_tree.lane().is_some() { leak_of_lane(inputs)? } else { None };
    match unusable.map_or_else(|| set_up_lane(inputs, recorder, identity), |why| Ok(Some(why)))? {
        None => Ok(()),
        Some(why) => Err(why.into()),
    }
}

/// Returns what would have commands in the lane run what is in the user's files.
fn leak_of_lane(inputs: &LoopInputs<'_>) -> Result<Option<Refusal>> {
    let settings = &inputs.config.settings;
    let users = &inputs.users_tree;
    let of_agents = inputs.agents.iter().filter_map(|candidate| {
        let name = candidate.agent.name();
        let line = match inputs.config.agents.get(name)?.command.as_ref()? {
            AgentCommand::Line(line) => line.clone(),
            AgentCommand::Words(words) => words.join(" "),
        };
        Some((format!("agents.{name}.command"), line))
    });
    let of_project = [
        ("validation.command", settings.validation_command.as_ref()),
        ("lanes.setup", settings.lanes_setup.as_ref()),
    ];
    let of_project = of_project.into_iter().filter_map(|(key, line)| Some((key.to_owned(), line?.clone())));
    for (key, line) in of_project.chain(of_agents) {
        if let Some(named) = users.named_by(&line, &inputs.project_root) {
            let message = format!("`{key}` names {named}, which leads to your files and not to the lane's");
            let hint = "commands run in the lane's folder of the project: name files from there";
            return Ok(Some(Refusal::new(message).with_hint(hint)));
        }
    }
    let Some(unusable) = users.leak(inputs.work_tree)? else { return Ok(None) };
    let hint = match &unusable {
        Unusable::TrackedLink { path, .. } => {
            format!("what is installed there would change other files: `git rm {}`", quoted_for_shell(path))
        }
        Unusable::Leads { .. } => format!(
            "have `lanes.setup` install it from the lane's own files; `{RALPH} clean --lanes` removes what is there"
        ),
    };
    Ok(Some(Refusal::new(format!("in the lane {}", unusable.words())).with_hint(hint)))
}

/// Writes the commit that has a result: its parent is the tip `base`, whatever the agent committed. It has the files of the first
/// tree, and the task list as it is in the second, with the marks of `base` but for those of `changed`.
pub(super) fn commit_result(
    inputs: &LoopInputs<'_>,
    recorder: &Recorder<'_>,
    slot: &Slot,
    base: &ObjectId,
    [tree, listed]: [&ObjectId; 2],
    changed: &[TaskName],
    message: &str,
) -> Result<ObjectId> {
    let tree = result_tree(inputs, recorder, slot, base, [tree, listed], changed)?;
    let (index, objects) = (recorder.spool().scratch().join("result-index"), slot.objects());
    let private_index = PrivateIndex { index: &index, objects: &objects, max_file: u64::MAX };
    let is_signed = inputs.config.settings.branch_sign;
    recorder.work_tree().commit_tree(private_index, &tree, base, message, is_signed)
}

/// Writes the tree of such a commit.
pub(super) fn result_tree(
    inputs: &LoopInputs<'_>,
    recorder: &Recorder<'_>,
    slot: &Slot,
    base: &ObjectId,
    [tree, listed]: [&ObjectId; 2],
    changed: &[TaskName],
) -> Result<ObjectId> {
    let (feature, work_tree) = (inputs.feature, recorder.work_tree());
    let noted = inputs.project_root.join(FEATURE_FILE);
    let [tasks, progress, noted] =
        [&feature.tasks_path, &feature.progress_path, &noted].map(|path| work_tree.relative(path));
    let index = recorder.spool().scratch().join("result-index");
    let objects = slot.objects();
    create_private_dir(&objects)?;
    let private_index = PrivateIndex { index: &index, objects: &objects, max_file: u64::MAX };
    // From the snapshot: line ends are as git keeps them.
    let after = work_tree.snapshot_file(private_index, listed, &tasks)?.filter(CommittedFile::is_plain);
    let list = work_tree.committed_file(base, &tasks)?.map(|list| CommittedFile {
        bytes: list_to_publish(list.bytes, after.map(|after| after.bytes), changed),
        ..list
    });
    let mut files =
        vec![(tasks.as_str(), list), (progress.as_str(), work_tree.committed_file(base, &progress)?)];
    if work_tree.committed_file(base, &noted)?.is_none() {
        files.push((noted.as_str(), None));
    }
    work_tree.tree_with(private_index, tree, &files)
}

/// Returns the message of a result. `passed` is what the validation came to that passed with it.
pub(super) fn result_message(subject: &str, done: &CommitSubject<'_>, passed: Option<&Evidence>) -> String {
    let mut message = format!("{subject}\n\n");
    for task in done.closed {
        message.push_str(&format!("Ralph-Task: {task}\n"));
    }
    message.push_str(&format!("Ralph-Session: {}\nRalph-Iteration: {}\n", done.session, done.iteration));
    if passed.is_some() {
        message.push_str("Ralph-Check: passed\n");
    }
    if let Some(tests) = passed.and_then(|evidence| evidence.tests.as_ref()) {
        let [passed, failed, skipped] = [tests.passed, tests.failed, tests.skipped]
            .map(|count| count.map_or("-".to_owned(), |count| count.to_string()));
        message.push_str(&format!("Ralph-Tests: passed={passed} failed={failed} skipped={skipped}\n"));
    }
    message
}

/// Writes spec-kit's note of the feature into a lane that was taken to a commit: it belongs to a checkout, so that no commit has it.
/// One that is tracked stays as it is, and so does a lane without a folder of spec-kit's.
pub fn write_feature_file(feature: &Feature, project_root: &Utf8Path, work_tree: &WorkTree) -> Result<()> {
    let path = project_root.join(FEATURE_FILE);
    let Some(directory) = feature.directory_in(project_root) else { return Ok(()) };
    let has_folder = path.parent().is_some_and(Utf8Path::is_dir);
    if !has_folder || work_tree.is_in_index(&work_tree.relative(&path))? {
        return Ok(());
    }
    let text = format!("{}\n", json!({ "feature_directory": repo_path(directory) }));
    // What an agent left there may be a link.
    feature.files.remove(&path).if_there().with_context(|| format!("replace {path}"))?;
    feature.files.create_new(&path, text.as_bytes()).with_context(|| format!("write {path}"))
}

/// Records an iteration and publishes its result. One whose branch moved in the last moment is queued instead; of what a person
/// says, and where git is too old to merge it, nothing comes.
pub(super) fn record_or_take_back(
    recorder: &mut Recorder<'_>,
    slot: &Slot,
    mut iteration: Iteration,
    excerpt: &str,
) -> Result<(ObjectId, Iteration)> {
    match recorder.iteration(slot, &iteration, excerpt) {
        Err(error) if is_of_branch(&error, Some(&iteration)) => {
            queue_or_take_back(recorder.work_tree(), slot, &mut iteration, &error)?;
            Ok((recorder.iteration(slot, &iteration, excerpt)?, iteration))
        }
        recorded => Ok((recorded?, iteration)),
    }
}

/// Leaves a result unpublished whose branch moved, as the error says: it is queued, or where it cannot be merged a failure.
pub(super) fn queue_or_take_back(
    work_tree: &WorkTree,
    slot: &Slot,
    iteration: &mut Iteration,
    error: &anyhow::Error,
) -> Result<()> {
    let base = iteration.base.as_ref().filter(|_| iteration.is_attempt());
    let can_merge = base.map(|base| work_tree.can_merge_trees(base, &slot.objects()));
    if can_merge.transpose()?.unwrap_or(false) {
        iteration.queue();
    } else {
        iteration.take_publication_back(moved_words(error));
    }
    Ok(())
}

/// Returns true if the error says that the branch moved which the result of `iteration` was to go on.
pub(super) fn is_of_branch(error: &anyhow::Error, iteration: Option<&Iteration>) -> bool {
    let conflict = error.chain().find_map(<dyn std::error::Error>::downcast_ref::<Conflict>);
    let publication = iteration.and_then(Iteration::publication);
    conflict.zip(publication).is_some_and(|(conflict, (branch, ..))| conflict.name == branch)
}

/// Returns the cause of an iteration whose result could not be put onto the branch.
fn moved_words(error: &anyhow::Error) -> String {
    let words = error.to_string();
    format!("not published: {}", words.lines().next().unwrap_or_default())
}

/// Returns the tests of the tip if it is a result that passed the same validation: it need not run again.
pub(super) fn tests_of_tip(inputs: &LoopInputs<'_>) -> Result<Option<Option<Box<Tally>>>> {
    let Some((commit, checked)) = newest_checked(inputs)? else { return Ok(None) };
    let is_tip = inputs.work_tree.head()?.as_ref() == Some(&commit);
    Ok(is_tip.then(|| tests_of(&checked)))
}

/// Returns a list in which no box is ticked: two that differ in marks alone are merged as equal.
pub(super) fn without_marks(mut bytes: Vec<u8>) -> Vec<u8> {
    let list = TaskList::parse(&bytes).unwrap_or_default();
    for item in list.items.iter().filter(|item| item.odd_box.is_none() && item.mark.is_ascii()) {
        if let Some(byte) = bytes.get_mut(item.offset + 1) {
            *byte = b' ';
        }
    }
    bytes
}

/// Returns the task list of a merged result: the text of `merged`, or of `ours` if that is `None`, with the marks of `ours`, but for
/// those of the tasks `closed` and of what is in them, which are as in `theirs`.
pub(super) fn merged_list(
    ours: Vec<u8>,
    theirs: &[u8],
    merged: Option<Vec<u8>>,
    closed: &[TaskName],
) -> Vec<u8> {
    let mut bytes = merged.unwrap_or_else(|| ours.clone());
    let (Ok(list), Ok(theirs)) = (TaskList::parse(&bytes), TaskList::parse(theirs)) else { return ours };
    let pairing = Pairing::similar(&theirs, &list);
    for item in list.items.iter().filter(|item| item.odd_box.is_none() && item.mark.is_ascii()) {
        let mark = match pairing.earlier_of(item) {
            Some(there) if there.mark.is_ascii() => there.mark,
            _ if closed.contains(&item.name) => 'x',
            _ => item.mark,
        };
        if let Some(byte) = bytes.get_mut(item.offset + 1) {
            *byte = mark as u8;
        }
    }
    list_to_publish(ours, Some(bytes), closed)
}

/// Returns the task list of a result: with the text that the agent left, and the marks that it found, but for those of the tasks
/// that it closed and of what is in them. What is new is open. If a task left the list, the text of `base` stays.
fn list_to_publish(mut base: Vec<u8>, after: Option<Vec<u8>>, closed: &[TaskName]) -> Vec<u8> {
    let Ok(before) = TaskList::parse(&base) else { return base };
    let mut bytes = after.unwrap_or_default();
    let after = TaskList::parse(&bytes).unwrap_or_default();
    let pairing = Pairing::similar(&before, &after);
    if !pairing.lost().is_empty() {
        for item in before.items.iter().filter(|item| closed.contains(&item.name)) {
            if let Some(byte) = base.get_mut(item.offset + 1).filter(|_| item.odd_box.is_none()) {
                *byte = b'x';
            }
        }
        return base;
    }
    let foreign = after.items.iter().filter(|item| {
        let mut around = std::iter::successors(Some(*item), |item| after.items.get(item.parent?));
        let is_closed =
            around.any(|item| pairing.earlier_of(item).is_some_and(|earlier| closed.contains(&earlier.name)));
        item.odd_box.is_none() && !is_closed
    });
    for item in foreign {
        let was = pairing.earlier_of(item).filter(|earlier| earlier.odd_box.is_none());
        let mark = was.filter(|earlier| earlier.mark.is_ascii()).map_or(' ', |earlier| earlier.mark);
        if item.mark.is_ascii()
            && item.mark != mark
            && let Some(byte) = bytes.get_mut(item.offset + 1)
        {
            *byte = mark as u8;
        }
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_merged_list_has_the_marks_of_the_branch_and_of_the_results_own_tasks() {
        let ours = "- [x] T001 a\n- [ ] T002 b\n  - [ ] works\n- [ ] T003 mine\n";
        let theirs = "- [ ] T001 a\n- [x] T002 b\n  - [x] works\n- [ ] T003 c\n";
        for (merged, expected) in [
            (
                Some("- [ ] T001 a\n- [ ] T002 b\n  - [ ] works\n- [ ] T003 mine\n- [ ] T004 new\n"),
                "- [x] T001 a\n- [x] T002 b\n  - [x] works\n- [ ] T003 mine\n- [ ] T004 new\n",
            ),
            // A conflict: the text of the branch stays, and so it does where a task would be lost.
            (None, "- [x] T001 a\n- [x] T002 b\n  - [x] works\n- [ ] T003 mine\n"),
            (
                Some("- [ ] T001 a\n- [ ] T002 b\n"),
                "- [x] T001 a\n- [x] T002 b\n  - [ ] works\n- [ ] T003 mine\n",
            ),
        ] {
            let merged = merged.map(|text| text.as_bytes().to_vec());
            let found = merged_list(ours.into(), theirs.as_bytes(), merged, &["T002".to_owned()]);
            assert_eq!(String::from_utf8(found).unwrap(), expected);
        }
        assert_eq!(
            without_marks(b"- [x] T001 a\n- [X] T002 [x] b\n".to_vec()),
            b"- [ ] T001 a\n- [ ] T002 [x] b\n"
        );
    }

    #[test]
    fn a_result_has_the_marks_of_its_own_tasks_alone() {
        let list = "- [ ] T001 a\n  - [ ] works\n- [x] T002 b\n- [ ] T003 c\n";
        for (after, expected) in [
            (list, list),
            (
                "- [x] T001 a\n  - [x] works\n- [ ] T002 b\n- [x] T003 c\n- [x] T009 new\n",
                "- [x] T001 a\n  - [x] works\n- [x] T002 b\n- [ ] T003 c\n- [ ] T009 new\n",
            ),
            (
                "- [x] T001 a, better\n  - [x] works\n- [X] T002 b\n- [ ] T003 c\n",
                "- [x] T001 a, better\n  - [x] works\n- [x] T002 b\n- [ ] T003 c\n",
            ),
            // Marks that no list has, and tasks that are gone.
            (
                "- [x] T001 a, better\n- [~] T003 c\n",
                "- [x] T001 a\n  - [ ] works\n- [x] T002 b\n- [ ] T003 c\n",
            ),
        ] {
            let [base, after] = [list, after].map(|text| text.as_bytes().to_vec());
            let found = list_to_publish(base, Some(after), &["T001".to_owned()]);
            assert_eq!(String::from_utf8(found).unwrap(), expected);
        }
    }
}

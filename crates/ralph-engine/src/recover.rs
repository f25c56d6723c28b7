//! Recovery of a session that died: stops its children, records its spool, closes its record.
//!
//! Runs at every start, under the lock of the work tree, before anything else is looked at. Every step can be
//! repeated, so that a recovery that dies is recovered as well.

use std::collections::BTreeSet;

use anyhow::{Context, Result};
use redact_stream::Redactor;
use tasklist::{Mark, TaskList};

use ralph_core::config::Completion;
use ralph_core::progress::cause;
use ralph_core::progress::progress_txt::{self, CatchUp};
use ralph_core::record::{
    ArtifactStatus, EndedBy, Event, ExitReason, Interrupter, Iteration, ObjectId, Outcome, RALPH, RecordKind,
    Refusal, Session, Status, StopReason, TaskCounts, join_files,
};
use ralph_os::if_there::IfThere;
use ralph_os::process;
use ralph_project::project_files::MAX_TASK_LIST_BYTES;
use ralph_project::tasks::{self, set_marks};
use ralph_store::{
    Begin, Conflict, Control, Draft, RestorePoint, Scratch, SessionLog, SessionRefs, Slot, Spool, SpoolMeta,
    Store, last_written, names, note_last_written,
};

use super::commits::committing::finish_index_update;
use super::iteration::{compose, restore_protected};
use super::judge::{self, Proof};
use super::lane;
use super::left_spools::of_this_work_tree;
use super::loop_inputs::LoopInputs;
use super::progress_file::ProgressFile;
use super::recorded_progress::progress_parts;
use super::recorder::Recorder;
use super::redaction::{redacted, redactor_of};
use super::restoring::put_back;
use super::restoring::rollback::{Rollback, undo};
use super::settings::redactor;

/// Maximum number of files that a warning names.
const MAX_NAMED_FILES: usize = 5;

/// Finishes what earlier sessions of this work tree left, and brings progress.txt up to the record.
///
/// A session to `resume` is not ended.
pub fn recover(
    inputs: &LoopInputs<'_>,
    resume: Option<&SessionRefs>,
    say: &mut dyn FnMut(&Event),
) -> Result<()> {
    let repository = inputs.store.repository();
    for (spool, place) in of_this_work_tree(inputs.work_tree)? {
        match finish(inputs, &spool, &place, resume, say) {
            Err(error) if error.chain().any(<dyn std::error::Error>::is::<Conflict>) => {
                let kept = spool.set_aside(repository)?;
                let message = error.to_string();
                let message = message.lines().next().unwrap_or_default();
                warn(
                    say,
                    format!("{message}; what session {} has not recorded yet is in {kept}", place.session),
                );
            }
            Err(error) if is_broken(inputs.store, &place) => {
                let kept = spool.set_aside(repository)?;
                warn(
                    say,
                    format!(
                        "the record of session {} is broken ({error:#}); what was not recorded yet is in {kept}\nhint: `{RALPH} fsck` shows what is missing",
                        place.session
                    ),
                );
            }
            finished => finished.with_context(|| format!("recover session {}", place.session))?,
        }
    }
    Spool::remove_passing(inputs.work_tree)?;
    refuse_what_lies_elsewhere(inputs, resume)?;
    catch_up_last(inputs, say)
}

/// Returns true if records of a session are gone, so that nothing can follow them.
fn is_broken(store: &Store, place: &SpoolMeta) -> bool {
    store.session(&SessionRefs::new(&place.feature, place.session.clone())).is_err()
}

/// A session that died in another work tree is recovered there, where its files are, before it is resumed.
fn refuse_what_lies_elsewhere(inputs: &LoopInputs<'_>, resume: Option<&SessionRefs>) -> Result<()> {
    let Some(refs) = resume else { return Ok(()) };
    let place = Spool::place_of(inputs.store.repository(), &refs.session)?;
    if let Some(place) = place.filter(|place| place.work_tree != inputs.work_tree.name()) {
        return Err(Refusal::new(format!(
            "session {} was cut off in another work tree ({}) and must be recovered there first",
            refs.session, place.work_tree
        ))
        .with_hint(format!(
            "run `{RALPH} resume` there (`git worktree list` shows where), or start a new session here"
        ))
        .into());
    }
    Ok(())
}

fn finish(
    inputs: &LoopInputs<'_>,
    spool: &Spool,
    place: &SpoolMeta,
    resume: Option<&SessionRefs>,
    say: &mut dyn FnMut(&Event),
) -> Result<()> {
    let stopped = process::kill_marked(&inputs.marker(&place.session, spool), inputs.interrupt);
    if !stopped.is_empty() {
        warn(say, format!("stopped what session {} left running: {}", place.session, stopped.join(", ")));
    }
    Scratch::sweep(inputs.store.repository())?;
    let redactor = redactor_of(&place.redaction_rules, &place.redaction_allow)?;
    let refs = SessionRefs::new(&place.feature, place.session.clone());
    let mut recorder = Recorder::new(inputs, place.clone(), redactor, spool.clone())?;
    for slot in spool.slots()? {
        if let Some(draft) = slot.draft()? {
            replay(inputs, &mut recorder, &slot, draft, say)?;
        } else if let Some(begin) = slot.read_begin()? {
            recorder.recover_ref(&begin.tips)?;
            let Some(log) = inputs.store.session(&refs)? else {
                return Err(Conflict { name: refs.log(), expected: None, found: None }.into());
            };
            if log.iteration(begin.iteration).is_some() {
                // It is recorded; only the removal of its folder was cut off.
                slot.remove()?;
                continue;
            }
            catch_up(&mut recorder, place, &progress_parts(inputs.store, &log)?, say);
            let name = format!("{}:{}", place.session, begin.iteration);
            let (head, scratch) = (inputs.work_tree.head()?, spool.scratch());
            let updated = finish_index_update(recorder.work_tree(), head.as_ref(), &scratch, &name);
            if let Err(error) = updated {
                let message = format!(
                    "the index could not be updated to the last commit: {error:#}\nhint: `git reset` updates it, and also unstages what you had staged"
                );
                warn(say, message);
            }
            finish_put_back(inputs, place, &slot, &begin, say);
            interrupted(inputs, &mut recorder, place, &slot, &begin)?;
            warn(
                say,
                format!("recorded iteration {} of session {} as interrupted", begin.iteration, place.session),
            );
        } else {
            finish_rollback(inputs, place, &slot, say)?;
            let log = inputs.store.session(&refs)?;
            // Where it is recorded, only the removal of its folder was cut off.
            if log.zip(slot.number()).is_none_or(|(log, number)| log.iteration(number).is_none()) {
                take_back_acceptance(inputs, place, &slot)?;
            }
            // The crash came before the commit point of a start, resume, skip or end: nothing is lost with it.
            slot.remove()?;
        }
    }
    let is_taken_up = resume == Some(&refs);
    if let Some(log) = inputs.store.session(&refs)? {
        // It may have died before it could say so itself.
        note_last_written(inputs.work_tree, &place.feature, &place.session)?;
        catch_up(&mut recorder, place, &progress_parts(inputs.store, &log)?, say);
        if let Some(last) =
            log.iterations().next_back().filter(|last| last.head_before() != last.head_after())
            && let Some(iteration) = inputs.store.readable_iteration(last)
            && let Err(error) = ralph_store::notes::add_commits_of(inputs.store, &iteration)
        {
            warn(say, format!("the commits of the last iteration got no note: {error:#}"));
        }
        if log.tip().kind() != RecordKind::End && !is_taken_up {
            let session = ended(inputs, place, &log)?;
            recorder.end(&session, "", inputs.clock.now())?;
        }
    }
    for warning in recorder.warnings.drain(..) {
        warn(say, warning);
    }
    Control::of(inputs.store.repository(), &place.session).clear()?;
    // Until its resumption is recorded, its spool says that it has no end.
    // What it had in hand is recorded.
    if is_taken_up { spool.unclaim() } else { spool.remove(inputs.store.repository()) }
}

/// Records what a dead session had sealed. A success that is not on the branch, because that has moved, is queued; an integration
/// that is not, is made anew.
fn replay(
    inputs: &LoopInputs<'_>,
    recorder: &mut Recorder<'_>,
    slot: &Slot,
    draft: Draft,
    say: &mut dyn FnMut(&Event),
) -> Result<()> {
    let error = match recorder.replay(slot, &draft) {
        Err(error) if lane::is_of_branch(&error, draft.iteration.as_ref()) => error,
        replayed => return replayed.map(drop),
    };
    if is_on_branch(inputs, &draft)? {
        return recorder.replay(slot, &Draft { is_published: true, ..draft }).map(drop);
    }
    if let Some(mut iteration) = draft.iteration {
        if iteration.outcome == Outcome::Integrated {
            return slot.remove();
        }
        lane::queue_or_take_back(inputs.work_tree, slot, &mut iteration, &error)?;
        if !iteration.is_queued() {
            warn(say, format!("iteration {} could not be published: {error}", iteration.iteration));
        }
        recorder.iteration(slot, &iteration, "")?;
    }
    Ok(())
}

/// Returns true if the branch has what a draft publishes, and went on from there.
fn is_on_branch(inputs: &LoopInputs<'_>, draft: &Draft) -> Result<bool> {
    let publication = draft.iteration.as_ref().and_then(Iteration::publication);
    let Some((branch, base, published)) = publication.filter(|(_, base, published)| base != published) else {
        return Ok(false);
    };
    let Some(tip) = inputs.store.refs().tip(&branch)?.filter(|tip| tip != base) else { return Ok(false) };
    Ok(inputs.store.has(published)? && inputs.work_tree.is_ancestor(published, &tip)?)
}

/// Finishes what took the changes of failed attempts back when the loop died.
fn finish_rollback(
    inputs: &LoopInputs<'_>,
    place: &SpoolMeta,
    slot: &Slot,
    say: &mut dyn FnMut(&Event),
) -> Result<()> {
    let Some(point) = RestorePoint::noted_in(slot)? else { return Ok(()) };
    match (Rollback { store: inputs.store, work_tree: inputs.work_tree, place }).finish(&point) {
        Ok(kept) => {
            let kept = if kept.is_empty() {
                String::new()
            } else {
                format!("; kept as they are: {}", join_files(&kept, MAX_NAMED_FILES))
            };
            warn(
                say,
                format!(
                    "reverted changes of failed attempts, as the interrupted loop had begun to{kept}\nhint: {}",
                    undo(&point)
                ),
            );
        }
        Err(error) => warn(
            say,
            format!(
                "changes of failed attempts were reverted only in part: {error:#}\nhint: {}",
                undo(&point)
            ),
        ),
    }
    Ok(())
}

/// Takes back what an acceptance did that died before its record: what it brought back goes again, and its box is opened.
fn take_back_acceptance(inputs: &LoopInputs<'_>, place: &SpoolMeta, slot: &Slot) -> Result<()> {
    Rollback { store: inputs.store, work_tree: inputs.work_tree, place }.finish_put_back(slot)?;
    let accepts = slot.path(names::ACCEPTS);
    let Some(task) =
        std::fs::read_to_string(&accepts).if_there().with_context(|| format!("read {accepts}"))?
    else {
        return Ok(());
    };
    let files = inputs.work_tree.project_files()?;
    let list = tasks::read(&files, &place.tasks_path)?;
    let items: Vec<_> = list.find(&task).into_iter().filter(|item| item.done).collect();
    let items = [items.as_slice(), &list.parents_to_open(&items)].concat();
    set_marks(&files, &place.tasks_path, &list, &items, Mark::Open)?;
    Ok(())
}

/// Finishes what put files back when the loop died, and puts protected ones back that its agent changed.
fn finish_put_back(
    inputs: &LoopInputs<'_>,
    place: &SpoolMeta,
    slot: &Slot,
    begin: &Begin,
    say: &mut dyn FnMut(&Event),
) {
    let rollback = Rollback { store: inputs.store, work_tree: inputs.work_tree, place };
    let mut edited = Vec::new();
    match rollback.finish_put_back(slot) {
        Ok(None) => {}
        Ok(Some((point, stay))) => {
            let kept = match put_back::names(&stay) {
                names if names.is_empty() => String::new(),
                names => format!("; kept as they are: {}", join_files(&names, MAX_NAMED_FILES)),
            };
            warn(say, format!("finished putting files back{kept}\nhint: {}", undo(&point)));
            edited = stay;
        }
        Err(error) => warn(say, format!("files were put back only in part: {error:#}")),
    }
    let is_done = slot.path(names::PROTECTED).exists();
    let before = begin.tips.snapshot.as_ref().filter(|_| !place.protect.is_empty() && !is_done);
    let Some(before) = before else { return };
    let restored = restore_protected(rollback, slot, before, inputs.clock.now(), &edited, &mut |message| {
        warn(say, message);
    });
    if let Err(error) = restored {
        warn(say, format!("protected files could not be put back: {error:#}"));
    }
}

/// Returns an iteration whose loop died: everything that was captured, and no verdict but that.
fn interrupted(
    inputs: &LoopInputs<'_>,
    recorder: &mut Recorder<'_>,
    place: &SpoolMeta,
    slot: &Slot,
    begin: &Begin,
) -> Result<ObjectId> {
    let before = std::fs::read(slot.path(names::TASKS_BEFORE)).context("read the task list as it was")?;
    let before = tasks::parse(&before)?;
    let files = inputs.work_tree.project_files()?;
    let found = match slot.tasks_found()? {
        Some(found) => Some(found),
        None => files.read(&place.tasks_path, MAX_TASK_LIST_BYTES).ok(),
    };
    // A list that cannot be read now has no boxes to open.
    let after = found.as_deref().and_then(|bytes| TaskList::parse(bytes).ok());
    let after = after.unwrap_or_else(|| before.clone());
    let nothing = BTreeSet::new();
    let proof = Proof::Boxes(&nothing);
    let verdict = judge::judge([&before, &after], None, None, false, proof, Completion::Verified);
    recorder.reopen_boxes(slot, &verdict.to_open.iter().collect::<Vec<_>>(), &after)?;
    let counts =
        tasks::read(&files, &place.tasks_path).map_or_else(|_| after.counts(), |tasks| tasks.counts());
    let ended_at = inputs.clock.now();
    let taken = recorder.take(slot, &format!("iteration {}", begin.iteration), ended_at);
    let iteration = Iteration {
        exit_reason: Some(ExitReason::Interrupted),
        cause: Some(cause::LOOP_DIED.to_owned()),
        ..compose(recorder, begin.clone(), &place.begun, counts, verdict, taken, ended_at)?
    };
    recorder.iteration(slot, &iteration, "")
}

/// Returns the session as its end record has to describe it, from its log.
pub(super) fn ended(inputs: &LoopInputs<'_>, place: &SpoolMeta, log: &SessionLog) -> Result<Session> {
    let mut session = place.begun.clone();
    session.set_totals(log.view().totals().clone());
    if let Some(last) = log.iterations().next_back() {
        TaskCounts { done: session.tasks_done, open: session.tasks_remaining } = last.tasks();
    }
    // The spool has the session as it was before its validation ran.
    let begun = log.entries.iter().rfind(|entry| entry.kind().begins());
    session.baseline = begun.and_then(|begun| inputs.store.readable_session(begun)?.baseline);
    session.ended_at = Some(inputs.clock.now());
    session.status = Status::Interrupted;
    session.stop_reason = Some(StopReason::Interrupted);
    session.ended_by = Some(EndedBy { by: Interrupter::Killed, signal: None });
    session.artifact.status = ArtifactStatus::Draft;
    redacted(&redactor_of(&place.redaction_rules, &place.redaction_allow)?, &session)
}

/// Brings progress.txt up to the last session of this feature that was written from this work tree.
fn catch_up_last(inputs: &LoopInputs<'_>, say: &mut dyn FnMut(&Event)) -> Result<()> {
    let Some(refs) = last_written(inputs.work_tree, &inputs.feature.path)? else { return Ok(()) };
    if let Err(error) = catch_up_with(inputs, &refs, say) {
        // It is the text of a session that is over: no reason not to start another one.
        warn(say, format!("progress.txt was not brought up to session {}: {error:#}", refs.session));
    }
    Ok(())
}

fn catch_up_with(inputs: &LoopInputs<'_>, refs: &SessionRefs, say: &mut dyn FnMut(&Event)) -> Result<()> {
    let Some(log) = inputs.store.session(refs)? else { return Ok(()) };
    let file = ProgressFile::new(&inputs.feature.files, &inputs.feature.progress_path);
    let branch = inputs.work_tree.branch()?;
    let begun = inputs.store.first_readable_session(&log);
    let is_same_branch = begun.is_some_and(|begun| begun.branch == branch);
    if file.read()?.is_none() && !is_same_branch {
        // It is not lost: it is on the branch that the last session worked on.
        return Ok(());
    }
    let redactor = redactor(&inputs.config.settings)?;
    append_missing(&file, &redactor, &progress_parts(inputs.store, &log)?, say)
}

/// Brings progress.txt up to the record of the session that `recorder` writes.
pub(super) fn catch_up(
    recorder: &mut Recorder<'_>,
    place: &SpoolMeta,
    parts: &(Vec<u8>, Vec<Vec<u8>>),
    say: &mut dyn FnMut(&Event),
) {
    let file = ProgressFile::new(recorder.files(), &place.progress_path);
    // It may lie in a folder that is not on this branch: then only the file is behind.
    if let Err(error) = append_missing(&file, recorder.redactor(), parts, say) {
        warn(say, format!("{error:#}; `{RALPH} fsck --repair` brings it up to the record"));
    }
    let (base, entries) = parts;
    recorder.expect_progress(progress_txt::rebuild(base, entries.iter().map(Vec::as_slice)));
}

/// Appends to the file what the record has and it has not.
fn append_missing(
    file: &ProgressFile,
    redactor: &Redactor,
    (base, entries): &(Vec<u8>, Vec<Vec<u8>>),
    say: &mut dyn FnMut(&Event),
) -> Result<()> {
    let found = file.read()?.unwrap_or_default();
    let (found, _) = redactor.redact_bytes(&found);
    let entries: Vec<&[u8]> = entries.iter().map(Vec::as_slice).collect();
    match progress_txt::catch_up(&entries, base, &found) {
        CatchUp::UpToDate => Ok(()),
        CatchUp::Append(bytes) | CatchUp::Rebuild(bytes) => file.append(&bytes),
        CatchUp::Edited { missing, changed_entries } => {
            if !changed_entries.is_empty() {
                warn(say, format!("{}: a past entry was changed; the record has it as it was", file.path()));
            }
            file.append(&missing)
        }
    }
}

fn warn(say: &mut dyn FnMut(&Event), message: String) {
    say(&Event::Warning { message });
}

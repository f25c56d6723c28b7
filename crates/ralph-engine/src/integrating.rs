//! Results that wait are merged onto the branch of the lane between two attempts, validated together, and published or sent back.

use std::collections::{BTreeMap, HashSet};

use anyhow::Result;
use camino::Utf8PathBuf;
use tasklist::TaskList;

use ralph_core::progress::cause;
use ralph_core::record::{
    AttemptId, CleanVerdict, Event, Evidence, ExitReason, Flag, Integration, IntegrationVerdict, Iteration,
    MAX_HUNK_CHARS, ObjectId, Outcome, RALPH, StopReason, Task, TaskName, join_files, join_truncated,
};
use ralph_core::view::{FeatureView, Queue};
use ralph_git::worktree::{CommittedFile, PrivateIndex};
use ralph_os::process::{create_private_dir, remove_path};
use ralph_store::{Begin, Slot, names, try_to_integrate};

use super::commits::assisted_by::assisted_by;
use super::commits::message::{CommitSubject, subject};
use super::iteration::{redacted_text, unfinished};
use super::iteration_context::validation_cause;
use super::lane::{
    is_of_branch, merged_list, prepare_attempt_in_lane, result_message, result_tree, take_lane,
    without_marks, write_feature_file,
};
use super::left_behind::MAX_ENTRIES;
use super::running::Running;
use super::stop::Ending;
use super::trusted::newest_checked;

/// Most commits and files that a cause names.
const MAX_NAMED: usize = 3;

/// Lines around what git could not merge.
const CONTEXT_LINES: usize = 3;

/// Results that are merged together.
struct Batch<'b> {
    /// What the branch is at.
    tip: &'b ObjectId,
    /// The iteration that says what came of them, and what it is put together of.
    number: u32,
    slot: &'b Slot,
    objects: Utf8PathBuf,
    index: Utf8PathBuf,
}

impl Batch<'_> {
    fn private(&self) -> PrivateIndex<'_> {
        PrivateIndex { index: &self.index, objects: &self.objects, max_file: u64::MAX }
    }
}

/// A result that could be merged.
struct Merged {
    result: Iteration,
    /// The tasks that it closes on the branch.
    closed: Vec<TaskName>,
    tree: ObjectId,
    /// A commit of that tree upon the results before it, which is on no branch.
    commit: ObjectId,
}

/// How the validation went on a tree.
#[derive(Clone)]
struct Tried {
    passed: bool,
    /// Why it failed.
    cause: Option<String>,
    exit: Option<i32>,
    exit_reason: Option<ExitReason>,
    duration_ms: Option<u64>,
    /// `None` without a validation.
    evidence: Option<Evidence>,
    /// Where what it printed is.
    printed: Slot,
}

/// The files of a slot that a trial writes.
const PRINTED: [&str; 5] = [
    names::VALIDATION_STDOUT,
    names::VALIDATION_STDERR,
    names::VALIDATION_TESTS,
    names::SETUP_STDOUT,
    names::SETUP_STDERR,
];

impl Tried {
    /// Returns true if it failed where what it was merged onto passes.
    fn is_to_blame(&self) -> bool {
        !self.passed && self.evidence.as_ref().is_some_and(|evidence| evidence.clean.is_some())
    }
}

/// What came of a number of results.
enum Step {
    /// All that waits is to be looked at again.
    Again,
    End(Ending),
}

impl Running<'_> {
    /// Merges what waits, until nothing does. Returns why the session ends. Where the branch is gone or checked out, or another loop
    /// has the turn, everything stays as it is.
    pub(super) fn integrate(&mut self) -> Result<Option<Ending>> {
        let Some(lane) = self.inputs.work_tree.lane().filter(|_| self.state.has_queue) else {
            return Ok(None);
        };
        self.state.queued.clear();
        let Some(_turn) = try_to_integrate(self.inputs.store.repository(), &lane.branch)? else {
            let tip = self.inputs.store.refs().tip(&lane.reference())?;
            let waiting = tip.map_or_else(|| Ok(Vec::new()), |tip| self.queued(&tip))?;
            self.state.queued = waiting.into_iter().flat_map(|result| result.closed).collect();
            return Ok(None);
        };
        loop {
            let Some(tip) = self.inputs.store.refs().tip(&lane.reference())? else { return Ok(None) };
            let is_checked_out = self.inputs.work_tree.checked_out_at(&lane.reference())?.is_some();
            let results = if is_checked_out { return Ok(None) } else { self.queued(&tip)? };
            if results.is_empty() {
                self.state.has_queue = self.inputs.group.is_some();
                return Ok(None);
            }
            let batch = results.into_iter().take(self.inputs.config.settings.lanes_batch).collect();
            match self.integrate_batch(&tip, batch)? {
                Step::Again => {}
                Step::End(ending) => return Ok(Some(ending)),
            }
        }
    }

    /// Returns the results that wait, in the order in which they are to be merged.
    pub(super) fn queued(&self, tip: &ObjectId) -> Result<Vec<Iteration>> {
        let store = self.inputs.store;
        let sessions = store.listing(|_| true, &mut Vec::new())?.views_of(&self.session.feature);
        let queue = self.queue_of(&FeatureView::of(&sessions), tip)?;
        Ok(queue.results.iter().filter_map(|entry| store.readable_iteration(entry)).collect())
    }

    /// Returns the queue of a branch that is at `tip`.
    pub(super) fn queue_of<'v>(&self, view: &FeatureView<'v>, tip: &ObjectId) -> Result<Queue<'v>> {
        let queue = Queue::of(view, |_| false);
        // Mostly nothing waits, and then git need not be asked what the branch has.
        if queue.results.is_empty() {
            return Ok(queue);
        }
        let named: HashSet<AttemptId> = self.inputs.work_tree.named_results(tip)?.into_iter().collect();
        Ok(Queue::of(view, |result| named.contains(result)))
    }

    fn integrate_batch(&mut self, tip: &ObjectId, results: Vec<Iteration>) -> Result<Step> {
        let number = self.state.next;
        let slot = &self.spool.slot(&number.to_string());
        slot.create()?;
        let (objects, index) = (slot.objects(), self.spool.scratch().join("merge-index"));
        create_private_dir(&objects)?;
        let batch = Batch { tip, number, slot, objects, index };
        let begin = match self.begin_integration(&batch, &results)? {
            Ok(begin) => begin,
            Err(ending) => return self.discard(slot).map(|()| Step::End(ending)),
        };
        let (mut merged, mut integration): (Vec<Merged>, Vec<Integration>) = (Vec::new(), Vec::new());
        let mut both_sides = String::new();
        for result in results {
            let at = merged.last().map_or(tip, |last| &last.commit);
            match self.merge(&batch, result, at, &mut both_sides)? {
                Ok(one) => merged.push(one),
                Err(not_merged) => integration.push(not_merged),
            }
        }
        if !both_sides.is_empty() {
            slot.write(names::HUNKS, both_sides.as_bytes())?;
        }
        let mut tried = BTreeMap::new();
        let (good, broken) = match self.longest_green(&batch, &merged, &mut tried)? {
            Ok(found) => found,
            Err(ending) => return self.discard(slot).map(|()| Step::End(ending)),
        };
        integration.extend(broken);
        merged.truncate(good);
        let run = tried.remove(&good.max(1));
        if let Some(run) = &run {
            PRINTED.iter().try_for_each(|name| slot.copy_from(&run.printed, name))?;
        }
        let commits = self.commit_results(&batch, &merged, run.as_ref())?;
        integration
            .extend(merged.iter().map(|one| verdict(&one.result, IntegrationVerdict::Integrated, None)));
        self.record_integration(slot, begin, &merged, integration, commits, run)
    }

    /// Takes the lane to the tip, so that what people committed is not held for what results changed. Returns how the session ends if
    /// that cannot be.
    fn begin_integration(
        &mut self,
        batch: &Batch<'_>,
        results: &[Iteration],
    ) -> Result<Result<Begin, Ending>> {
        let (inputs, state) = (self.inputs, &mut self.state);
        if let Some(ending) = take_lane(inputs, &mut self.recorder, &self.identity, state, (batch.tip, None))?
        {
            return Ok(Err(ending));
        }
        let task = match results {
            [only] => task_of(only),
            _ => Task { name: TaskName::default(), id: None, text: String::new(), phase: None, story: None },
        };
        let mut begin = Begin {
            agent: self.session.agent.clone(),
            agent_version: None,
            model: None,
            head_before: Some(batch.tip.clone()),
            ..self.begin_iteration(&task, batch.number)?
        };
        let (recorder, judging, past) = (&mut self.recorder, &mut self.judging, &mut self.past);
        prepare_attempt_in_lane(inputs, recorder, judging, past, &mut self.state, batch.slot, &mut begin)?;
        // It takes nothing back.
        begin.restored_to = None;
        Ok(Ok(begin))
    }

    /// Merges a result onto the commit `at`, or says why it cannot be. `both_sides` gets what git could not merge.
    fn merge(
        &mut self,
        batch: &Batch<'_>,
        result: Iteration,
        at: &ObjectId,
        both_sides: &mut String,
    ) -> Result<Result<Merged, Integration>> {
        let (inputs, work_tree, private) = (self.inputs, self.inputs.work_tree, batch.private());
        let path = work_tree.relative(&inputs.feature.tasks_path);
        let (Some(base), Some(snapshot)) = (result.base.clone(), result.snapshot.clone()) else {
            let why = "its snapshot is not known".to_owned();
            return Ok(Err(verdict(&result, IntegrationVerdict::Conflict, Some(why))));
        };
        if !inputs.store.has(&snapshot)? {
            let why = "its snapshot is not here any more".to_owned();
            return Ok(Err(verdict(&result, IntegrationVerdict::Conflict, Some(why))));
        }
        let before = work_tree.snapshot_file(private, &base, &path)?.map_or_else(Vec::new, |file| file.bytes);
        let Some(ours) = work_tree.snapshot_file(private, at, &path)?.filter(CommittedFile::is_plain) else {
            let why = format!("{path} is gone from the branch");
            return Ok(Err(verdict(&result, IntegrationVerdict::Changed, Some(why))));
        };
        let lists = [&before, &ours.bytes].map(|bytes| TaskList::parse(bytes).unwrap_or_default());
        let closed = match still_open(&result, &lists) {
            Ok(closed) => closed,
            Err((code, why)) => return Ok(Err(verdict(&result, code, Some(why)))),
        };
        let theirs = result_tree(inputs, &self.recorder, batch.slot, &base, [&snapshot, &snapshot], &closed)?;
        let their_list = work_tree.snapshot_file(private, &theirs, &path)?;
        let neutral = |tree: &ObjectId, list: Option<&[u8]>| {
            let list = list
                .map(|list| CommittedFile { mode: ours.mode.clone(), bytes: without_marks(list.to_vec()) });
            work_tree.tree_with(private, tree, &[(path.as_str(), list)])
        };
        let their_list = their_list.map(|list| list.bytes);
        let base_tree = neutral(&base, Some(&before))?;
        let sides = [neutral(at, Some(&ours.bytes))?, neutral(&theirs, their_list.as_deref())?];
        let (tree, conflicts) = work_tree.merge_on(&base_tree, sides.each_ref(), &batch.objects)?;
        let files: Vec<String> = conflicts.iter().filter(|file| **file != path).cloned().collect();
        if !files.is_empty() {
            return self.conflict(batch, &result, (&tree, files), both_sides).map(Err);
        }
        let text = if conflicts.is_empty() { work_tree.snapshot_file(private, &tree, &path)? } else { None };
        let theirs = their_list.unwrap_or_default();
        let list = merged_list(ours.bytes, &theirs, text.map(|file| file.bytes), &closed);
        let list = CommittedFile { mode: ours.mode, bytes: list };
        let tree = work_tree.tree_with(private, &tree, &[(path.as_str(), Some(list))])?;
        let commit = work_tree.commit_tree(private, &tree, at, "merged", false)?;
        Ok(Ok(Merged { result, closed, tree, commit }))
    }

    /// Returns the verdict on a result that git cannot merge. `tree` has both sides of the files.
    fn conflict(
        &self,
        batch: &Batch<'_>,
        result: &Iteration,
        (tree, files): (&ObjectId, Vec<String>),
        both_sides: &mut String,
    ) -> Result<Integration> {
        let mut all = String::new();
        for path in &files {
            let found = self.inputs.work_tree.snapshot_file(batch.private(), tree, path)?;
            let text =
                found.map(|file| String::from_utf8_lossy(&file.bytes).into_owned()).unwrap_or_default();
            all.push_str(&format!("{path}\n{}\n", hunks(&text)));
        }
        both_sides.push_str(&all);
        let since = result.base.as_ref().map(|base| self.inputs.work_tree.between(base, batch.tip));
        let (commits, _) = since.transpose().unwrap_or_default().unwrap_or_default();
        let with = join_truncated(&commits, MAX_NAMED);
        let why = format!("{} cannot be merged with {with}", join_files(&files, MAX_NAMED));
        // Before it is cut: half a secret is not found.
        let hunks = redacted_text(&self.recorder, &all).chars().take(MAX_HUNK_CHARS).collect();
        let code = IntegrationVerdict::Conflict;
        Ok(Integration { conflicts: files, hunks, ..verdict(result, code, Some(why)) })
    }

    /// Returns how many of the first results pass together, found by halving, and the one after them if it breaks what is there: it
    /// failed twice. `tried` gets how each number of results went.
    fn longest_green(
        &mut self,
        batch: &Batch<'_>,
        merged: &[Merged],
        tried: &mut BTreeMap<usize, Tried>,
    ) -> Result<Result<(usize, Option<Integration>), Ending>> {
        let (mut good, mut bad, mut next) = (0, merged.len() + 1, merged.len());
        while good + 1 < bad {
            let found = match self.try_merged(batch, &merged[next - 1])? {
                Ok(found) => found,
                Err(ending) => return Ok(Err(ending)),
            };
            if found.passed {
                good = next;
            } else {
                bad = next;
            }
            tried.insert(next, found);
            next = usize::midpoint(good, bad);
        }
        let Some(broken) = merged.get(good).filter(|_| bad <= merged.len()) else {
            return Ok(Ok((good, None)));
        };
        let mut found = tried.get(&bad).cloned();
        if !found.as_ref().is_some_and(Tried::is_to_blame) {
            let task = broken.result.task.as_deref().unwrap_or_default();
            if good == 0
                && let Some(ending) = self.try_tip_alone(batch, task)?
            {
                return Ok(Err(ending));
            }
            found = match self.try_merged(batch, broken)? {
                Ok(again) => Some(again),
                Err(ending) => return Ok(Err(ending)),
            };
        }
        let Some(found) = found else { return Ok(Ok((good, None))) };
        let (passed, why) = (found.passed, found.cause.clone().unwrap_or_default());
        tried.insert(bad, found);
        if passed {
            return Ok(Ok((bad, None)));
        }
        let why = format!("the validation fails with what is on the branch: {why}");
        Ok(Ok((good, Some(verdict(&broken.result, IntegrationVerdict::Broke, Some(why))))))
    }

    /// Runs the validation on the tip, unless a record says that it passed on it. Returns how the session ends if it fails there.
    fn try_tip_alone(&mut self, batch: &Batch<'_>, task: &str) -> Result<Option<Ending>> {
        let tip = batch.tip;
        self.inputs.work_tree.take_lane_to(tip, None)?;
        let tried = self.judging.trusted.tried.as_ref();
        let is_green = tried.is_some_and(|(commit, state)| commit == tip && state.passed);
        if is_green || newest_checked(self.inputs)?.is_some_and(|(commit, _)| commit == *tip) {
            return Ok(None);
        }
        let tried = match self.try_in_lane(batch, tip, task)? {
            Ok(tried) => tried,
            Err(ending) => return Ok(Some(ending)),
        };
        let tests = tried.evidence.and_then(|evidence| evidence.tests).map(Box::new);
        self.judging.trusted.tried(tip.clone(), tests, tried.passed);
        if tried.passed {
            return Ok(None);
        }
        self.target_red(batch.number, tip, tried.cause).map(Some)
    }

    /// Returns the ending of a session on whose branch the validation fails without any result.
    pub(super) fn target_red(
        &mut self,
        iteration: u32,
        tip: &ObjectId,
        words: Option<String>,
    ) -> Result<Ending> {
        let words = words.map_or(String::new(), |words| format!(": {words}"));
        let commit = format!("{} ({})", tip.short(), self.inputs.work_tree.subject(tip)?);
        let branch = self.session.branch.clone().unwrap_or_default();
        let id = &self.session.id;
        let why = format!("the validation fails on {branch} at {commit}, without any attempt{words}");
        (self.say)(&Event::TargetRed {
            session: id.clone(),
            iteration,
            branch: branch.clone(),
            commit: tip.clone(),
            message: why.clone(),
        });
        Ok(Ending {
            why: Some(why),
            hint: Some(format!("commit what repairs it on {branch}, then `{RALPH} resume {id}`")),
            ..Ending::of(StopReason::TargetRed)
        })
    }

    /// Runs the validation on merged results: in a clean checkout if each success is tried there, else in the lane. Returns how the
    /// session ends if it could not.
    fn try_merged(&mut self, batch: &Batch<'_>, merged: &Merged) -> Result<Result<Tried, Ending>> {
        let task = merged.result.task.as_deref().unwrap_or_default();
        let environment = self.inputs.environment(&self.session.id, task, batch.number, 0);
        let (trees, printed) = ([batch.tip, &merged.tree, &merged.commit], self.trial_slot(&merged.commit)?);
        let checked =
            self.check_merged(&printed, batch.number, (trees, batch.objects.clone()), environment)?;
        let Some((check, flag)) = checked else {
            return self.try_in_lane(batch, &merged.commit, task);
        };
        Ok(Ok(Tried {
            passed: check.verdict == CleanVerdict::Holds,
            cause: check.cause.clone(),
            exit: check.exit,
            exit_reason: None,
            duration_ms: Some(check.duration_ms),
            evidence: Some(Evidence {
                tests: check.tests.clone(),
                flags: flag.into_iter().collect(),
                clean: Some(Box::new(check)),
                ..Evidence::default()
            }),
            printed,
        }))
    }

    /// Returns an empty place for what a trial of a commit prints.
    fn trial_slot(&self, commit: &ObjectId) -> Result<Slot> {
        let dir = self.spool.scratch().join(format!("merged-{}", commit.short()));
        remove_path(&dir)?;
        let slot = Slot::within(&dir);
        slot.create()?;
        Ok(slot)
    }

    /// Runs the validation in the lane on a commit. Returns how the session ends if it could not.
    fn try_in_lane(
        &mut self,
        batch: &Batch<'_>,
        commit: &ObjectId,
        task: &str,
    ) -> Result<Result<Tried, Ending>> {
        let printed = self.trial_slot(commit)?;
        let (inputs, state) = (self.inputs, &mut self.state);
        let commit = (commit, Some(&*batch.objects));
        if let Some(ending) = take_lane(inputs, &mut self.recorder, &self.identity, state, commit)? {
            return Ok(Err(ending));
        }
        let environment = inputs.environment(&self.session.id, task, batch.number, 0);
        let run = self.validate(&printed, batch.number, &environment)?;
        self.recorder.note_change();
        if self.recorder.recreate_spool()? {
            batch.slot.create()?;
        }
        let Some((validation, tests)) = run else {
            return Ok(Ok(Tried {
                passed: true,
                cause: None,
                exit: None,
                exit_reason: None,
                duration_ms: None,
                evidence: None,
                printed,
            }));
        };
        if validation.exit.reason == Some(ExitReason::Interrupted) {
            return Ok(Err(Ending::of(StopReason::Interrupted)));
        }
        let passed = validation.passed() || self.is_known_failure(&validation, &tests);
        let cause = if passed {
            None
        } else {
            let words =
                validation_cause(&printed, &validation, self.recorder.redactor(), &inputs.project_root)?;
            Some(words.map_or_else(|| format!("exit code {}", validation.exit.code), |(words, _)| words))
        };
        let no_tests = validation.has_no_tests;
        let flags = Flag::beside(validation.failed_beside).into_iter().collect();
        Ok(Ok(Tried {
            passed,
            cause,
            exit: Some(validation.exit.code),
            exit_reason: validation.exit.reason,
            duration_ms: Some(validation.duration_ms),
            evidence: Some(Evidence { tests: Some(tests), no_tests, flags, ..Evidence::default() }),
            printed,
        }))
    }

    /// Writes a commit for each result, and returns them, oldest first.
    fn commit_results(
        &mut self,
        batch: &Batch<'_>,
        merged: &[Merged],
        tried: Option<&Tried>,
    ) -> Result<Vec<ObjectId>> {
        let (inputs, private) = (self.inputs, batch.private());
        let evidence = tried.and_then(|tried| tried.evidence.as_ref());
        let path = inputs.work_tree.relative(&inputs.feature.tasks_path);
        let mut commits: Vec<ObjectId> = Vec::new();
        for (place, one) in merged.iter().enumerate() {
            let result = &one.result;
            let task = task_of(result);
            let list = inputs.work_tree.snapshot_file(private, &one.tree, &path)?;
            let list = list.and_then(|list| TaskList::parse(&list.bytes).ok()).unwrap_or_default();
            let environment = inputs.environment(&result.session, &task.name, result.iteration, 0);
            let done = CommitSubject {
                session: &result.session,
                task: &task,
                unit: None,
                closed: &one.closed,
                tasks: &list,
                iteration: result.iteration,
                slot: batch.slot,
                environment: &environment,
                // Its attempts are recorded.
                agent: None,
            };
            let subject = subject(inputs, &self.recorder, &list, Some(&task.name), &task.text);
            let is_last = place + 1 == merged.len();
            let mut message = result_message(&subject, &done, evidence.filter(|_| is_last));
            if evidence.is_some() && !is_last {
                message.push_str("Ralph-Check: batch\n");
            }
            message.push_str(&format!("Ralph-Integrated-By: {}:{}\n", self.session.id, batch.number));
            let tasks: Vec<&TaskName> = one.closed.iter().collect();
            message.push_str(&assisted_by(inputs, &self.recorder, None, &tasks)?);
            let parent = commits.last().unwrap_or(batch.tip);
            let is_signed = inputs.config.settings.branch_sign;
            commits.push(inputs.work_tree.commit_tree(private, &one.tree, parent, &message, is_signed)?);
        }
        Ok(commits)
    }

    /// Records what came of the results, and moves the branch. If that moved meanwhile, nothing came of it.
    fn record_integration(
        &mut self,
        slot: &Slot,
        begin: Begin,
        merged: &[Merged],
        mut integration: Vec<Integration>,
        commits: Vec<ObjectId>,
        run: Option<Tried>,
    ) -> Result<Step> {
        let (inputs, number, published) = (self.inputs, begin.iteration, commits.last().cloned());
        let tip = begin.head_before.clone();
        if let Some(end) = published.as_ref().or(tip.as_ref()) {
            inputs.work_tree.take_lane_to(end, Some(&slot.objects()))?;
            write_feature_file(inputs.feature, &inputs.project_root, inputs.work_tree)?;
        }
        self.recorder.note_change();
        (self.state.is_lane_used, self.state.is_lane_renewed) = (true, true);
        for one in &mut integration {
            one.cause = one.cause.as_deref().map(cause::bounded);
        }
        let ended_at = inputs.clock.now();
        let mut taken = self.recorder.take(slot, &format!("iteration {number}"), ended_at);
        let list = inputs.job.read_tasks(inputs.feature).unwrap_or_default();
        let end = published.clone().or_else(|| tip.clone());
        let mut iteration = unfinished(begin, &self.session, ended_at, list.counts(), end);
        if iteration.task.as_deref() == Some("") {
            (iteration.task, iteration.task_text) = (None, None);
        }
        iteration.outcome = Outcome::Integrated;
        (iteration.attempt, iteration.base) = (None, tip);
        iteration.snapshot = taken.snapshot.take();
        iteration.closed = merged.iter().flat_map(|one| one.closed.clone()).collect();
        iteration.commits.extend(commits);
        iteration.published.clone_from(&published);
        iteration.cause = match integration.as_slice() {
            [only] => only.return_words(),
            all => {
                let words =
                    all.iter().filter_map(|one| Some(format!("{} {}", one.task, one.return_words()?)));
                Some(words.collect::<Vec<_>>().join("; ")).filter(|words| !words.is_empty())
            }
        };
        iteration.cause = iteration.cause.as_deref().map(cause::bounded);
        iteration.integration = integration;
        if let Some(run) = run {
            (iteration.exit.validation, iteration.exit_reason) = (run.exit, run.exit_reason);
            iteration.duration_ms.validation = run.duration_ms;
            iteration.evidence = run.evidence.map(Box::new);
        }
        iteration.phases = self.take_phases();
        let commit = match self.recorder.iteration(slot, &iteration, "") {
            Err(error) if is_of_branch(&error, Some(&iteration)) => {
                self.discard(slot)?;
                return Ok(Step::Again);
            }
            recorded => recorded?,
        };
        self.note_integrated(&iteration, merged, &list)?;
        self.judging.ended(&mut self.session, &iteration);
        self.state.clean.successes += u32::from(iteration.published.is_some());
        self.count_recorded(&iteration, commit)?;
        self.note_commits(&iteration);
        (self.say)(&Event::IntegrationFinished {
            session: iteration.session.clone(),
            iteration: number,
            published,
            integration: iteration.integration.clone(),
        });
        self.give_up_sent_back(&iteration.integration)?;
        Ok(Step::Again)
    }

    /// Takes in what each result changed on the branch: what becomes of its work is looked at by that.
    fn note_integrated(&mut self, iteration: &Iteration, merged: &[Merged], list: &TaskList) -> Result<()> {
        let (inputs, reader) = (self.inputs, self.inputs.store.reader()?);
        let own = [&inputs.feature.tasks_path, &inputs.feature.progress_path]
            .map(|path| inputs.work_tree.relative(path).into_bytes());
        let ends = iteration.base.iter().chain(&iteration.commits);
        for ((one, before), commit) in merged.iter().zip(ends).zip(&iteration.commits) {
            let mut changes =
                reader.differing_files(before, commit, &mut MAX_ENTRIES.clone())?.unwrap_or_default();
            changes.retain(|(path, _)| !own.contains(path));
            let of_result =
                Iteration { task: one.result.task.clone(), closed: one.closed.clone(), ..iteration.clone() };
            self.past.left_behind.note_ended(&of_result, &changes, list);
        }
        Ok(())
    }

    /// Skips the tasks whose results were sent back too often.
    fn give_up_sent_back(&mut self, integration: &[Integration]) -> Result<()> {
        let Some(most) = self.inputs.config.settings.lanes_max_send_backs else { return Ok(()) };
        let listing = self.inputs.store.listing(|_| true, &mut Vec::new())?;
        let sessions = listing.views_of(&self.session.feature);
        let view = FeatureView::of(&sessions);
        let queue = Queue::of(&view, |_| false);
        let given_up = integration
            .iter()
            .filter(|one| one.verdict.is_sent_back() && queue.times_sent_back(&one.task) >= most);
        for one in given_up {
            let list = self.inputs.job.read_tasks(self.inputs.feature)?;
            if let Some(item) = list.find(&one.task).filter(|item| !item.done) {
                self.skip(&Task::from(item))?;
            }
        }
        Ok(())
    }

    /// Drops what was not recorded. What a later snapshot is compared with stays.
    fn discard(&mut self, slot: &Slot) -> Result<()> {
        self.inputs.store.restore_objects(&slot.objects())?;
        slot.remove()
    }
}

/// Returns the task of a result as it was when it was begun.
fn task_of(result: &Iteration) -> Task {
    Task {
        name: result.task.clone().unwrap_or_default(),
        id: None,
        text: result.task_text.clone().unwrap_or_default(),
        phase: result.phase.clone(),
        story: None,
    }
}

fn verdict(result: &Iteration, verdict: IntegrationVerdict, cause: Option<String>) -> Integration {
    Integration {
        session: result.session.clone(),
        iteration: result.iteration,
        task: result.task.clone().unwrap_or_default(),
        verdict,
        cause,
        conflicts: Vec::new(),
        hunks: String::new(),
    }
}

/// Returns the tasks that a result still closes, by the list at its base and the one on the branch; or why it is not taken.
fn still_open(
    result: &Iteration,
    [before, now]: &[TaskList; 2],
) -> Result<Vec<TaskName>, (IntegrationVerdict, String)> {
    let mut open = Vec::new();
    for name in &result.closed {
        let Some(item) = now.find(name) else {
            return Err((IntegrationVerdict::Changed, format!("{name} is gone from the list of the branch")));
        };
        if before.find(name).is_some_and(|then| then.text != item.text) {
            return Err((
                IntegrationVerdict::Changed,
                format!("{name} says something else on the branch now"),
            ));
        }
        if !item.done {
            open.push(name.clone());
        }
    }
    if open.is_empty() {
        let tasks = result.closed.join(", ");
        return Err((IntegrationVerdict::Superseded, format!("{tasks} is done on the branch already")));
    }
    Ok(open)
}

/// Returns the parts of a file that git could not merge, each with some lines around it.
fn hunks(text: &str) -> String {
    let lines: Vec<&str> = text.lines().collect();
    let (mut found, mut begins, mut shown) = (String::new(), None, 0);
    for (at, line) in lines.iter().enumerate() {
        if line.starts_with("<<<<<<< ") {
            begins = Some(at);
        }
        let Some(begin) = begins.filter(|_| line.starts_with(">>>>>>> ")) else { continue };
        let from = begin.saturating_sub(CONTEXT_LINES).max(shown);
        shown = (at + 1 + CONTEXT_LINES).min(lines.len());
        for line in &lines[from..shown] {
            let line = match line.get(..8) {
                Some("<<<<<<< ") => "<<<<<<< on the branch",
                Some(">>>>>>> ") => ">>>>>>> of the attempt",
                _ => line,
            };
            found.push_str(line);
            found.push('\n');
        }
        begins = None;
    }
    if found.is_empty() {
        // One side deleted or moved it, or it is no text.
        found.push_str("both sides changed it, and git shows no lines of that\n");
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_result_is_taken_for_the_tasks_that_are_open_and_say_what_they_said() {
        let list = |text: &str| TaskList::parse(text.as_bytes()).unwrap();
        let result = || {
            let mut result = ralph_core::record::samples::iteration(Outcome::Success);
            result.closed = vec!["T001".to_owned(), "T002".to_owned()];
            result
        };
        let before = "- [ ] T001 a\n- [x] T002 b\n";
        for (now, expected) in [
            (before, Ok("T001")),
            ("- [ ] T001 a\n- [ ] T002 b\n", Ok("T001 T002")),
            // As after another result of the same batch that closed it.
            ("- [x] T001 a\n- [x] T002 b\n", Err("superseded")),
            ("- [x] T001 a\n- [ ] T002 c\n", Err("changed")),
            ("- [ ] T001 a\n", Err("changed")),
        ] {
            let found = still_open(&result(), &[list(before), list(now)]);
            let found = found.map(|open| open.join(" ")).map_err(|(verdict, _)| verdict.to_string());
            assert_eq!(found, expected.map(str::to_owned).map_err(str::to_owned), "{now}");
        }
    }

    #[test]
    fn hunks_have_some_lines_around_and_name_the_sides() {
        let text = "1\n2\n3\n4\n<<<<<<< abc\nours\n=======\ntheirs\n>>>>>>> def\n5\n6\n7\n8\n";
        let expected =
            "2\n3\n4\n<<<<<<< on the branch\nours\n=======\ntheirs\n>>>>>>> of the attempt\n5\n6\n7\n";
        assert_eq!(hunks(text), expected);
        assert!(hunks("deleted on one side\n").starts_with("both sides changed it"));
    }
}

//! The check before a session ends: what holds here is tried in a clean checkout, and what does not hold there is sent back.

use anyhow::{Error, Result};
use camino::Utf8PathBuf;
use failure_excerpt::Tally;
use tasklist::{Item, TaskList};

use ralph_core::config::{Clean, Pass, Until};
use ralph_core::judge::Decision;
use ralph_core::judge::clean::{Answer, Question, answer};
use ralph_core::progress::cause;
use ralph_core::record::{
    CleanCheck, CleanReason, CleanVerdict, Control, Evidence, FirstFailing, Flag, FlagCode, Iteration,
    LogEntry, ObjectId, Outcome, Phase, RALPH, StopReason, Task, TaskName, join_files, join_truncated,
};
use ralph_git::worktree::{CommittedFile, PrivateIndex, WorkTree};
use ralph_os::clock::Stopwatch;
use ralph_os::process::create_private_dir;
use ralph_store::{Begin, SessionLog, Slot, Store, names};

use crate::iteration::{StartedIteration, redacted_text, unfinished};
use crate::lane::is_of_branch;
use crate::running::Running;
use crate::stop::Ending;

use super::checkout::{CleanCheckout, CleanPlace, Tried};
use super::copies::KeptCopies;

/// After so many successes, or so long, a session that ends at a limit is checked again.
const SUCCESSES: u32 = 3;
const INTERVAL_MS: u64 = 30 * 60 * 1000;

/// How long a search may take for the change since which it fails.
const MAX_SEARCH_MS: u64 = 30 * 60 * 1000;

/// Maximum number of records that are read to find a tree that held.
const MAX_LOOKED_AT: usize = 200;

/// Maximum number of files and commits that a text names.
const MAX_NAMED: usize = 3;

/// What is remembered of checks.
#[derive(Debug)]
pub(crate) struct CleanState {
    /// Since the last check.
    pub successes: u32,
    pub since: Stopwatch,
    /// How long the last one took, also one of before a resumption; `None` before the first.
    pub last_ms: Option<u64>,
    /// True if a check of this session failed: from then on each success is tried.
    pub has_failed: bool,
    /// Set after a check that said nothing: the next one would not either.
    pub is_over: bool,
    /// Set until the lane was cleaned: what git ignores in it may be what passed.
    pub is_lane_dirty: bool,
}

/// A check in a clean checkout, with its flag.
pub(crate) type Checked = (CleanCheck, Option<Flag>);

/// A tree that can be tried, oldest first.
struct Moment {
    tree: ObjectId,
    head: Option<ObjectId>,
    made: Made,
}

/// Why and for what a check is made.
struct Trial<'a> {
    why: CleanReason,
    /// The iteration that it is recorded in, with what was printed in `slot`.
    number: u32,
    slot: &'a Slot,
    environment: Vec<(String, String)>,
    /// Where the objects of the tree are, if not in the repository.
    objects: Option<Utf8PathBuf>,
    /// True if the iteration is an attempt, which has run the validation in place, too.
    is_attempt: bool,
}

/// What made a tree of the one before it.
enum Made {
    /// Nothing that is known.
    Control,
    Attempt(Box<LogEntry>),
    /// People, after this iteration.
    People(u32),
}

impl Made {
    /// Returns how many tests ran in place.
    fn tests(&self) -> Option<u64> {
        let Self::Attempt(entry) = self else { return None };
        let tests = entry.tests().filter(|_| entry.outcome() == Some(Outcome::Success))?;
        Some(tests.passed?.saturating_add(tests.failed?))
    }

    /// Returns it as the change after which a result fails, with the tasks that it closed.
    fn first_failing(&self) -> FirstFailing {
        match self {
            Self::Attempt(entry) => FirstFailing {
                iteration: entry.number(),
                tasks: entry.closed().into_iter().map(str::to_owned).collect(),
            },
            Self::People(after) => FirstFailing { iteration: *after, tasks: Vec::new() },
            Self::Control => FirstFailing { iteration: 0, tasks: Vec::new() },
        }
    }
}

/// Returns the place and the record of the newest entry of some outcomes whose tree held in a clean checkout and is here: checks, and
/// attempts that were tried. `entries` are oldest first.
pub fn newest_held(store: &Store, entries: &[&LogEntry], outcomes: &[Outcome]) -> Option<(usize, Iteration)> {
    let is_candidate = |entry: &LogEntry| {
        entry.outcome().is_some_and(|outcome| outcomes.contains(&outcome)) && entry.cause().is_none()
    };
    let newest = entries.iter().enumerate().rev().filter(|(_, entry)| is_candidate(entry));
    newest.take(MAX_LOOKED_AT).find_map(|(place, entry)| {
        let record = store.readable_iteration(entry)?;
        let check = record.check().filter(|check| check.verdict == CleanVerdict::Holds)?;
        store.has(&check.tree).unwrap_or(false).then_some((place, record))
    })
}

impl Running<'_> {
    /// Tries the result before the session ends. Returns `None` if the loop goes on, with a task that was opened again.
    pub(crate) fn check_before_end(&mut self, ending: Ending) -> Result<Option<Ending>> {
        if !self.is_to_check(&ending) {
            return Ok(Some(ending));
        }
        let Some(_turn) = self.turn_to_check()? else { return Ok(None) };
        let moments = self.moments().unwrap_or_else(|error| self.give_up(&error));
        if moments.len() < 2 {
            return Ok(Some(ending));
        }
        let in_place: Vec<_> = moments.iter().map(|moment| moment.made.tests()).collect();
        let flaky = self.flaky_before().concat();
        let question = Question {
            in_place: &in_place,
            has_control: true,
            allows_failures: self.inputs.config.settings.validation_pass == Pass::NoNewFailures,
            flaky: &flaky,
        };
        let number = self.state.next;
        let slot = self.spool.slot(&number.to_string());
        slot.create()?;
        let environment = self.environment_of(&moments[moments.len() - 1].made);
        let trial = Trial {
            why: CleanReason::End,
            number,
            slot: &slot,
            environment,
            objects: None,
            is_attempt: false,
        };
        let Some((check, flag)) = self.try_out(&question, &moments, trial)? else {
            slot.remove()?;
            return Ok(Some(ending));
        };
        self.settle(&check, flag, &moments, ending, number, &slot)
    }

    /// Tries what an attempt left that is about to succeed, if that is asked for: `validation.clean` says so, a check of this session
    /// failed, or one of its flags is a reason. Returns the decision with what came of it.
    pub(crate) fn check_attempt(
        &mut self,
        started: &StartedIteration<'_>,
        snapshot: Option<&ObjectId>,
        decision: Decision,
        tests: Option<&Tally>,
    ) -> Result<(Decision, Option<Checked>)> {
        let Decision::Accepted(flags) = &decision else { return Ok((decision, None)) };
        let reason = [(FlagCode::Ignored, CleanReason::Ignored), (FlagCode::Deps, CleanReason::Deps)]
            .into_iter()
            .find_map(|(code, why)| flags.iter().any(|flag| flag.code == code).then_some(why));
        let why = reason.or(self.tries_each_result().then_some(CleanReason::Task));
        let (Some(why), Some(snapshot)) = (why, snapshot.filter(|_| self.can_check())) else {
            return Ok((decision, None));
        };
        let mut moments = self.moments().unwrap_or_else(|error| self.give_up(&error));
        moments.truncate(1);
        if moments.is_empty() {
            // It is the first attempt of all.
            let Some(tree) = started.begin.tips.snapshot.clone() else { return Ok((decision, None)) };
            moments.push(Moment { tree, head: started.begin.head_before.clone(), made: Made::Control });
        }
        let head = self.inputs.work_tree.head()?;
        moments.push(Moment { tree: snapshot.clone(), head, made: Made::People(0) });
        let flaky = self.flaky_before().concat();
        let question = Question {
            in_place: &[None, tests.and_then(Tally::executed)],
            has_control: true,
            allows_failures: self.inputs.config.settings.validation_pass == Pass::NoNewFailures,
            flaky: &flaky,
        };
        let trial = Trial {
            why,
            number: started.begin.iteration,
            slot: &started.slot,
            environment: started.environment.clone(),
            objects: Some(started.slot.objects()),
            is_attempt: true,
        };
        let Some((mut check, flag)) = self.try_out(&question, &moments, trial)? else {
            return Ok((decision, None));
        };
        check.first_failing = None;
        self.note_check(&check);
        let decision = match check.verdict {
            CleanVerdict::Fails => Decision::Refused { code: FlagCode::Clean, cause: self.cause_of(&check) },
            _ => decision,
        };
        Ok((decision, Some((check, flag))))
    }

    /// Tries a tree of merged results, where each success is tried: they hold if it does, and are to blame only if it fails while the
    /// tip that they were merged onto passes. `None` where nothing is tried, and where that says nothing.
    pub(crate) fn check_merged(
        &mut self,
        slot: &Slot,
        number: u32,
        ([tip, tree, head], objects): ([&ObjectId; 3], Utf8PathBuf),
        environment: Vec<(String, String)>,
    ) -> Result<Option<Checked>> {
        if !self.tries_each_result() || !self.can_check() {
            return Ok(None);
        }
        let moments = [
            Moment { tree: tip.clone(), head: Some(tip.clone()), made: Made::Control },
            Moment { tree: tree.clone(), head: Some(head.clone()), made: Made::People(0) },
        ];
        let flaky = self.flaky_before().concat();
        let question = Question {
            in_place: &[None, None],
            has_control: true,
            allows_failures: self.inputs.config.settings.validation_pass == Pass::NoNewFailures,
            flaky: &flaky,
        };
        let objects = Some(objects);
        let trial = Trial { why: CleanReason::Task, number, slot, environment, objects, is_attempt: false };
        let Some((mut check, flag)) = self.try_out(&question, &moments, trial)? else { return Ok(None) };
        check.first_failing = None;
        self.note_check(&check);
        match check.verdict {
            CleanVerdict::Holds => Ok(Some((check, flag))),
            CleanVerdict::Fails => {
                check.cause = Some(self.cause_of(&check));
                Ok(Some((check, flag)))
            }
            _ => {
                self.warn(format!(
                    "merged results could not be tried in a clean checkout: {}",
                    check.cause.unwrap_or_default()
                ));
                Ok(None)
            }
        }
    }

    /// Returns true if each success is tried, and not the last tree alone.
    fn tries_each_result(&self) -> bool {
        self.inputs.config.settings.validation_clean == Clean::Task || self.state.clean.has_failed
    }

    /// Returns true if a session that ends for `reason` has results that were not tried, as it ends too early for that.
    pub(crate) fn leaves_untried(&self, reason: StopReason) -> bool {
        let settings = &self.inputs.config.settings;
        self.inputs.clean.is_some()
            && self.inputs.job.until == Until::Tasks
            && self.state.clean.successes > 0
            && (settings.max_iterations == 1 || reason == StopReason::Interrupted)
    }

    /// Returns true if there is a checkout to try anything in.
    fn can_check(&self) -> bool {
        let (settings, clean) = (&self.inputs.config.settings, &self.state.clean);
        self.inputs.clean.is_some()
            && settings.validation_clean != Clean::Off
            && settings.validation_command.is_some()
            && self.inputs.job.until == Until::Tasks
            && !clean.is_over
            && self.inputs.interrupt.signal().is_none()
    }

    /// Remembers what a check came to.
    fn note_check(&mut self, check: &CleanCheck) {
        self.session.clean = Some(Box::new(check.clone()));
        self.note_checked(check);
    }

    /// Does so for a check of another loop, too.
    pub(crate) fn note_checked(&mut self, check: &CleanCheck) {
        let has_failed = check.verdict == CleanVerdict::Fails;
        self.state.clean = CleanState {
            successes: 0,
            since: self.inputs.clock.stopwatch(),
            last_ms: Some(check.duration_ms),
            has_failed: self.state.clean.has_failed || has_failed,
            is_over: check.verdict == CleanVerdict::Unusable,
            is_lane_dirty: self.state.clean.is_lane_dirty || has_failed,
        };
    }

    /// Returns why a result fails, with what ran, as prompts and screens have it.
    fn cause_of(&self, check: &CleanCheck) -> String {
        let (command, setup) = self.clean_commands();
        let why = check.cause.as_deref().unwrap_or_default();
        cause::bounded(&format!("in a clean checkout ({setup}{command}): {why}"))
    }

    fn is_to_check(&self, ending: &Ending) -> bool {
        let clean = &self.state.clean;
        let is_due = match ending.reason {
            StopReason::Completed | StopReason::Checkpoint | StopReason::Stuck => clean.successes > 0,
            StopReason::LimitReached => {
                clean.successes >= SUCCESSES || clean.successes > 0 && clean.since.elapsed_ms() >= INTERVAL_MS
            }
            _ => false,
        };
        is_due && self.can_check() && self.inputs.config.settings.max_iterations != 1
    }

    /// Returns the trees that can be tried: one that is known to hold, or what was there before the first attempt, and then those
    /// before and after each success.
    fn moments(&self) -> Result<Vec<Moment>> {
        let (store, id) = (self.inputs.store, &self.session.id);
        let log = self.log()?;
        let earlier = self.past.memory.entries().iter().filter(|entry| entry.session() != *id);
        let own = log.iter().flat_map(SessionLog::iterations);
        let mut entries: Vec<&LogEntry> = earlier.chain(own).collect();
        if let Some(lane) = self.inputs.work_tree.lane() {
            // Others may have recorded theirs between its own.
            entries.sort_by_key(|entry| entry.ended_at());
            let tip = store.refs().tip(&lane.reference())?;
            return tip.map_or_else(|| Ok(Vec::new()), |tip| self.moments_on_branch(&entries, &tip));
        }
        let (from, tree, head) = if let Some((place, record)) =
            newest_held(store, &entries, &[Outcome::Checked])
            && let Some(check) = record.check()
        {
            (place + 1, check.tree.clone(), record.head_after)
        } else {
            let Some(first) = entries.iter().position(|entry| entry.snapshot().is_some()) else {
                return Ok(Vec::new());
            };
            let snapshot = entries[first].snapshot();
            let before = snapshot.map(|snapshot| store.snapshot_before(&snapshot)).transpose()?.flatten();
            let Some(before) = before else { return Ok(Vec::new()) };
            (first, before, entries[first].head_before())
        };
        let mut moments = vec![Moment { tree, head, made: Made::Control }];
        // What a failed attempt left fails in place as well, and is the next success's to repair.
        let (mut last, mut has_failed) = (0, false);
        for entry in &entries[from..] {
            let Some(snapshot) = entry.snapshot() else { continue };
            if entry.is_result() {
                let before = store.snapshot_before(&snapshot)?.filter(|before| {
                    let is_of_record = entries.iter().any(|other| other.snapshot().as_ref() == Some(before));
                    !has_failed && !is_of_record && moments.iter().all(|one| one.tree != *before)
                });
                moments.extend(before.map(|before| Moment {
                    tree: before,
                    head: entry.head_before(),
                    made: Made::People(last),
                }));
                let made = Made::Attempt(Box::new((*entry).clone()));
                moments.push(Moment { tree: snapshot, head: entry.head_after(), made });
            }
            has_failed = !(entry.is_result() || entry.outcome() == Some(Outcome::Checked));
            last = entry.iteration().unwrap_or(last);
        }
        Ok(moments)
    }

    /// Returns the same of the branch of a lane: its commits, whoever published them.
    fn moments_on_branch(&self, entries: &[&LogEntry], tip: &ObjectId) -> Result<Vec<Moment>> {
        let store = self.inputs.store;
        let held = newest_held(store, entries, &[Outcome::Checked]);
        let held = held.and_then(|(_, record)| Some(record.check()?.tree.clone()));
        let first =
            entries.iter().filter(|entry| entry.snapshot().is_some()).min_by_key(|entry| entry.ended_at());
        let Some(control) = held.or_else(|| first?.head_before()) else { return Ok(Vec::new()) };
        let commits = self.inputs.work_tree.commits_of_branch(&format!("{control}..{tip}"))?;
        let mut moments = vec![Moment { tree: control.clone(), head: Some(control), made: Made::Control }];
        let mut last = 0;
        for one in commits.into_iter().rev() {
            let by = one.publisher.as_ref().and_then(|by| entries.iter().find(|entry| entry.id() == *by));
            // A commit that a person amended still says what the first one said.
            let record = by.and_then(|by| store.readable_iteration(by));
            let is_ours = record.is_some_and(|record| {
                record.published.as_ref() == Some(&one.commit) || record.commits.contains(&one.commit)
            });
            let result = one.result.as_ref().filter(|_| is_ours);
            let entry = result.and_then(|result| entries.iter().find(|entry| entry.id() == *result));
            let made = match entry {
                Some(entry) if entry.outcome() == Some(Outcome::Success) => {
                    last = entry.number();
                    Made::Attempt(Box::new((*entry).clone()))
                }
                _ => Made::People(last),
            };
            // Of several commits of a person the last one is tried.
            if matches!(
                (&made, moments.last()),
                (Made::People(_), Some(Moment { made: Made::People(_), .. }))
            ) {
                moments.pop();
            }
            moments.push(Moment { tree: one.commit.clone(), head: Some(one.commit), made });
        }
        Ok(moments)
    }

    /// Says why nothing can be tried any more: a session loses nothing by it.
    fn give_up<T: Default>(&mut self, error: &Error) -> T {
        self.state.clean.is_over = true;
        self.warn(format!("the result could not be tried in a clean checkout: {error:#}"));
        T::default()
    }

    /// Runs setup and validation as often as an answer needs. `None` if a signal came, or there is no checkout to be had.
    fn try_out(
        &mut self,
        question: &Question<'_>,
        moments: &[Moment],
        trial: Trial<'_>,
    ) -> Result<Option<Checked>> {
        let Trial { why, number, slot, environment, objects, is_attempt } = trial;
        let Some(target) = self.inputs.clean.clone() else { return Ok(None) };
        let (command, setup) = self.clean_commands();
        let last = self.state.clean.last_ms;
        let before = last.map_or(String::new(), |last| format!(", {} s last time", last / 1000));
        let words = format!("{setup}{command} in a clean checkout{before}");
        self.begin_phase(number, Phase::Validation { command: words });
        if let Some(copies) = self.kept_copies()
            && self.inputs.work_tree.lane().is_some()
        {
            self.keep_copies(Some(&copies), |copies| copies.take(false));
        }
        let left_out = self.left_out_since_start();
        let (stopwatch, inputs) = (self.inputs.clock.stopwatch(), self.inputs);
        let place = self.clean_place(target, environment, objects);
        let checkout = match CleanCheckout::take(place) {
            Ok(Some(checkout)) => checkout,
            Ok(None) => return Ok(None),
            Err(error) => return Ok(self.give_up(&error)),
        };
        let (mut runs, mut control) = (0, None);
        let mut tip: Option<Tried> = None;
        let last = moments.len() - 1;
        let mut run = |at: usize, is_fresh: bool| {
            runs += 1;
            let name = if at == last { "tip" } else { "other" };
            let tried = checkout.run(&moments[at].tree, moments[at].head.as_ref(), is_fresh, name)?;
            let run = tried.run.clone();
            if at == 0 {
                let verdict = match (&run.unusable, run.is_set_up && run.passed) {
                    (Some(_), _) => CleanVerdict::Unusable,
                    (None, true) => CleanVerdict::Holds,
                    (None, false) => CleanVerdict::Fails,
                };
                control = Some(Control { tree: moments[0].tree.clone(), verdict });
            } else if at == last {
                tip = Some(tried);
            }
            anyhow::Ok(run)
        };
        let mut may_search = || stopwatch.elapsed_ms() < MAX_SEARCH_MS && inputs.interrupt.signal().is_none();
        let mut found = answer(question, &mut run, &mut may_search)?;
        if inputs.interrupt.signal().is_some() {
            return Ok(None);
        }
        if let Answer::Fails { .. } = &found
            && !left_out.is_empty()
        {
            found = Answer::Unusable(format!("no snapshot has {}", join_files(&left_out, MAX_NAMED)));
        }
        let by_agents = checkout.changed_by_agents();
        drop(checkout);
        match &tip {
            Some(tip) => tip.copy_to(slot, is_attempt)?,
            None if is_attempt => {
                [names::CLEAN_STDOUT, names::CLEAN_STDERR]
                    .iter()
                    .try_for_each(|name| slot.write(name, b""))?;
            }
            None => {}
        }
        let flag = |text: String| Flag { code: FlagCode::Flaky, text, paths: Vec::new() };
        let in_place = match &found {
            Answer::Holds { fewer: Some((_, in_place)), .. } => Some(*in_place),
            _ => None,
        };
        let (verdict, cause, first, flag) = match found {
            Answer::Holds { flaky, .. } => (CleanVerdict::Holds, None, None, flaky.map(flag)),
            Answer::Unusable(why) => (CleanVerdict::Unusable, Some(why), None, None),
            Answer::Fails { first, cause } => (CleanVerdict::Fails, Some(cause), first, None),
        };
        let cause = cause.map(|cause| {
            let changed = match by_agents.as_slice() {
                [] => String::new(),
                paths => format!("; without what agents changed in {}", join_files(paths, MAX_NAMED)),
            };
            cause::bounded(&redacted_text(&self.recorder, &format!("{cause}{changed}")))
        });
        let first_failing = first.map(|at| moments[at].made.first_failing());
        let run = tip.as_ref().map(|tip| &tip.run);
        let check = CleanCheck {
            why,
            tree: moments[last].tree.clone(),
            verdict,
            cause,
            setup: tip.as_ref().and_then(|tip| tip.setup),
            exit: tip.as_ref().and_then(|tip| tip.exit),
            tests: run.map(|run| run.tests.clone()),
            in_place,
            control,
            runs,
            first_failing,
            duration_ms: stopwatch.elapsed_ms(),
        };
        Ok(Some((check, flag)))
    }

    /// Returns where and how trees of this session are tried.
    fn clean_place(
        &self,
        work_tree: WorkTree,
        environment: Vec<(String, String)>,
        objects: Option<Utf8PathBuf>,
    ) -> CleanPlace<'_> {
        let inputs = self.inputs;
        let project =
            inputs.project_root.strip_prefix(inputs.work_tree.top()).unwrap_or(&inputs.project_root);
        CleanPlace {
            work_tree,
            from: inputs.work_tree.top().to_owned(),
            users_tree: &inputs.users_tree,
            project: project.to_owned(),
            feature: inputs.feature.directory_in(&inputs.project_root).map(ToOwned::to_owned),
            settings: &inputs.config.settings,
            sandbox: inputs.sandbox.clone(),
            is_private: false,
            environment,
            marker: self.marker(),
            group: inputs
                .group
                .as_ref()
                .zip(inputs.work_tree.lane())
                .map(|(_, lane)| (inputs.store.repository(), lane.branch.as_str())),
            clock: &inputs.clock,
            interrupt: inputs.interrupt,
            redactor: self.recorder.redactor(),
            objects,
            scratch: self.spool.scratch().join("clean"),
        }
    }

    /// Records a check, and does what comes of it.
    fn settle(
        &mut self,
        check: &CleanCheck,
        flag: Option<Flag>,
        moments: &[Moment],
        ending: Ending,
        number: u32,
        slot: &Slot,
    ) -> Result<Option<Ending>> {
        let tasks = self.read_tasks()?;
        let sent_back: Vec<TaskName> =
            check.first_failing.iter().flat_map(|first| first.tasks.clone()).collect();
        let items: Vec<&Item> = sent_back.iter().filter_map(|name| tasks.find(name)).collect();
        let first = items.first().map(|item| Task::from(*item));
        let none =
            Task { name: TaskName::default(), id: None, text: String::new(), phase: None, story: None };
        let begin = Begin {
            agent: self.session.agent.clone(),
            agent_version: None,
            model: None,
            ..self.begin_iteration(first.as_ref().unwrap_or(&none), number)?
        };
        let at = begin.started_at;
        let published = self.reopen_on_branch(&items, number, slot)?;
        let is_opened = published.is_some()
            || self.inputs.work_tree.lane().is_none() && self.recorder.reopen_boxes(slot, &items, &tasks)?;
        let taken = if is_opened && published.is_none() {
            let taken = self.recorder.take(slot, &format!("iteration {number}"), at);
            self.past.left_behind.note_own_changes(&taken.blobs);
            Some(taken)
        } else {
            None
        };
        let (counts, head) = (self.counts(), self.inputs.work_tree.head()?);
        let mut iteration = unfinished(begin, &self.session, at, counts, head);
        iteration.outcome = Outcome::Checked;
        iteration.attempt = None;
        iteration.exit.validation = check.exit;
        iteration.snapshot = taken.and_then(|taken| taken.snapshot).or_else(|| self.recorder.tips().snapshot);
        iteration.base = published.as_ref().map(|(base, _)| base.clone());
        iteration.published = published.map(|(_, commit)| commit);
        if first.is_none() {
            (iteration.task, iteration.task_text) = (None, None);
        }
        if is_opened {
            iteration.reopened = items.iter().map(|item| item.name.clone()).collect();
        }
        iteration.cause = match check.verdict {
            CleanVerdict::Holds => None,
            CleanVerdict::Fails => Some(self.cause_of(check)),
            _ => check.cause.clone(),
        };
        let has_failed = check.verdict == CleanVerdict::Fails;
        iteration.evidence = Some(Box::new(Evidence {
            tests: check.tests.clone(),
            flags: flag.into_iter().collect(),
            refused: has_failed.then_some(FlagCode::Clean),
            clean: Some(Box::new(check.clone())),
            ..Evidence::default()
        }));
        let recorded = match self.recorder.iteration(slot, &iteration, "") {
            Err(error) if is_of_branch(&error, Some(&iteration)) => {
                // A person's commit came first; the box stays as that has it.
                (iteration.published, iteration.reopened) = (None, Vec::new());
                self.recorder.iteration(slot, &iteration, "")?
            }
            recorded => recorded?,
        };
        let is_sent_back = has_failed && !iteration.reopened.is_empty();
        let words = self.outcome_words(check, moments);
        self.note_check(check);
        if is_sent_back {
            self.state.is_lane_used = true;
        }
        self.count_recorded(&iteration, recorded)?;
        if !has_failed {
            return Ok(Some(ending));
        }
        if is_sent_back {
            // At a limit a box that is known to be false does not stay ticked all the same.
            return Ok((ending.reason == StopReason::LimitReached).then_some(ending));
        }
        let hint =
            format!("`{RALPH} verify` tries it again; what is missing there must be in files that git sees");
        Ok(Some(Ending::stuck(words, hint)))
    }

    /// Returns why a result does not hold, where no task is sent back.
    fn outcome_words(&self, check: &CleanCheck, moments: &[Moment]) -> String {
        let cause = check.cause.as_deref().unwrap_or_default();
        let at = moments.iter().position(|moment| match (&moment.made, &check.first_failing) {
            (Made::People(after), Some(first)) => first.tasks.is_empty() && *after == first.iteration,
            _ => false,
        });
        let files = at
            .filter(|at| *at > 0)
            .and_then(|at| self.recorder.differences(None, &moments[at - 1].tree, &moments[at].tree).ok());
        match (files, &check.first_failing) {
            (Some(files), Some(first)) => format!(
                "does not hold in a clean checkout since people changed {} {} after #{}: {cause}",
                files.len(),
                if files.len() == 1 { "file" } else { "files" },
                first.iteration
            ),
            (_, Some(first)) => {
                format!("does not hold in a clean checkout since #{}: {cause}", first.iteration)
            }
            (_, None) => format!("does not hold in a clean checkout: {cause}"),
        }
    }

    /// Opens boxes in a commit on the branch of the lane. Returns what it goes on, and the commit; `None` outside of a lane, and if
    /// there are none.
    fn reopen_on_branch(
        &self,
        items: &[&Item],
        number: u32,
        slot: &Slot,
    ) -> Result<Option<(ObjectId, ObjectId)>> {
        let work_tree = self.recorder.work_tree();
        let Some(lane) = self.inputs.work_tree.lane().filter(|_| !items.is_empty()) else { return Ok(None) };
        let Some(tip) = self.inputs.store.refs().tip(&lane.reference())? else { return Ok(None) };
        let path = work_tree.relative(&self.inputs.feature.tasks_path);
        let file = work_tree.committed_file(&tip, &path)?.filter(CommittedFile::is_plain);
        let Some(mut file) = file else { return Ok(None) };
        let list = TaskList::parse(&file.bytes)?;
        let items: Vec<&Item> = items.iter().filter_map(|item| list.find(&item.name)).collect();
        for item in [items.as_slice(), &list.parents_to_open(&items)].concat() {
            if let Some(byte) = file.bytes.get_mut(item.offset + 1).filter(|_| item.odd_box.is_none()) {
                *byte = b' ';
            }
        }
        let (index, objects) = (self.spool.scratch().join("result-index"), slot.objects());
        create_private_dir(&objects)?;
        let private_index = PrivateIndex { index: &index, objects: &objects, max_file: u64::MAX };
        let tree = work_tree.tree_with(private_index, &tip, &[(path.as_str(), Some(file))])?;
        let names: Vec<&str> = items.iter().map(|item| item.name.as_str()).collect();
        let message = format!(
            "Open {} again: it fails in a clean checkout\n\nRalph-Session: {}\nRalph-Iteration: {number}\n",
            join_truncated(&names, MAX_NAMED),
            self.session.id
        );
        let is_signed = self.inputs.config.settings.branch_sign;
        let commit = work_tree.commit_tree(private_index, &tree, &tip, &message, is_signed)?;
        Ok(Some((tip, commit)))
    }

    /// Returns the validation, and the setup before it, for people.
    fn clean_commands(&self) -> (String, String) {
        let settings = &self.inputs.config.settings;
        let setup = settings.lanes_setup.as_ref().map_or(String::new(), |setup| format!("{setup}, then "));
        (settings.validation_command.clone().unwrap_or_default(), setup)
    }

    /// Returns the variables of the attempt that made a tree: nothing says that this is a check.
    fn environment_of(&self, made: &Made) -> Vec<(String, String)> {
        let (task, number, attempt) = match made {
            Made::Attempt(entry) => {
                (entry.task().unwrap_or_default(), entry.iteration(), entry.attempt().unwrap_or(1))
            }
            Made::Control | Made::People(_) => ("", None, 0),
        };
        self.inputs.environment(&self.session.id, task, number.unwrap_or_default(), attempt)
    }

    /// Keeps them, or says why that failed: a check has them as they were kept last.
    pub(crate) fn keep_copies(
        &mut self,
        copies: Option<&KeptCopies>,
        keep: impl Fn(&KeptCopies) -> Result<()>,
    ) {
        if let Some(Err(error)) = copies.map(keep) {
            self.warn(format!("`lanes.copy` is not kept for a clean checkout: {error:#}"));
        }
    }

    /// Returns what `lanes.copy` names, to be kept as people left it.
    pub(crate) fn kept_copies(&self) -> Option<KeptCopies> {
        let target = self.inputs.clean.as_ref()?;
        let inputs = self.inputs;
        let project =
            inputs.project_root.strip_prefix(inputs.work_tree.top()).unwrap_or(&inputs.project_root);
        KeptCopies::of(target, inputs.users_tree.top(), project, &inputs.config.settings)
    }

    /// Returns what the last snapshot left out, and the first one of this start did not.
    fn left_out_since_start(&self) -> Vec<String> {
        let paths = self.recorder.last_left_out().iter().map(|left| &left.path);
        paths.filter(|path| !self.state.left_out_at_start.contains(path)).cloned().collect()
    }
}

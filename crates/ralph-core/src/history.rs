//! What a session has done so far: values in, answers out.

pub mod captures;
pub mod causes;
pub mod clusters;
pub mod failure_key;
pub mod groups;
pub mod later_attempts;
pub mod state;
pub mod stats;

use std::collections::{HashMap, HashSet};
use std::hash::Hash;

use crate::record::{CANNOT_RUN, ExitReason, FailureClass, Iteration, LogEntry, Outcome, TaskName};

use failure_key::FailureKey;

/// The iterations of one session since it started, or since it was resumed after an end: with the counts of before, a session that
/// gave up would give up again at once.
#[derive(Debug, Clone, Default)]
pub struct History {
    turns: Vec<RunSummary>,
    /// True if a question is a failure like any other.
    retries_questions: bool,
    /// Runs before this process took the session up, which its limit of runs does not count.
    earlier_runs: u32,
    /// The fingerprint of how the validation failed before the first attempt.
    failure_before: Option<String>,
    /// True if a validation passed, and if a task was done, before the session ended and was resumed.
    had_passed: bool,
    had_success: bool,
}

/// What counts of one iteration. Many fields: each is one fact of the record, and questions combine them freely.
#[derive(Debug, Clone, PartialEq, Eq)]
struct RunSummary {
    task: Option<TaskName>,
    outcome: Outcome,
    /// True if it counts; see [`Iteration::is_attempt`].
    is_attempt: bool,
    /// True if the box of the picked task went to done.
    is_closed: bool,
    /// True if a box or a file other than progress.txt changed.
    is_change: bool,
    validation: Option<i32>,
    /// True if that validation ran into its time limit.
    is_timeout: bool,
    /// Tasks that its agent ticked, also too early.
    ticked: Vec<TaskName>,
    /// True if it ticked a task of its story or phase that no run before it had ticked.
    is_progress: bool,
    /// True if changes of failed attempts were taken back in it; in an attempt, before it.
    is_taken_back: bool,
    /// True if that validation ended well, and nothing refused what it showed.
    is_passed: bool,
    is_refused: bool,
    /// Tasks whose boxes were opened again though it succeeded: their work is there.
    reopened: Vec<TaskName>,
    /// The key by which its failure is compared with others.
    failure: Option<FailureKey>,
    /// True if its failure names a file that it changed.
    names_changed: bool,
    /// True if its agent asked the user something, and did not do its task, or if its provider refuses the task.
    asks: bool,
    /// True if its provider refuses the task.
    is_policy: bool,
    agent: String,
    /// True if the branch of its lane moved meanwhile: then it says nothing of the task.
    is_conflict: bool,
    /// True if its validation failed as it did before the first attempt, and never passed: that is no failure of the task.
    fails_as_before: bool,
    /// The hints in its prompt; none in what a listing says.
    hints: Vec<String>,
    /// The files that it changed; none in what a listing says.
    files: Vec<String>,
}

/// Where a task stands that asked the user something.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OpenQuestion {
    /// A hint came for it since.
    Answered,
    /// It may be tried once more when nothing else can be done.
    Asked,
    /// It asked when it was tried once more, and waits for the user.
    AskedAgain,
}

/// Returns the newest run at each task, of those that asked the user something then; oldest first.
pub fn asking(entries: &[LogEntry]) -> Vec<&LogEntry> {
    let mut seen = HashSet::new();
    let newest = entries
        .iter()
        .rev()
        .filter(|entry| {
            entry
                .outcome()
                .is_some_and(|outcome| outcome != Outcome::Interrupted && !outcome.is_without_run())
        })
        .filter(|entry| seen.insert(entry.task()));
    let mut found: Vec<&LogEntry> = newest
        .filter(|entry| entry.outcome().is_some_and(|outcome| is_question(outcome, entry.failure_class())))
        .collect();
    found.reverse();
    found
}

fn is_question(outcome: Outcome, class: Option<FailureClass>) -> bool {
    outcome == Outcome::Failure && class.is_some_and(FailureClass::sets_aside)
}

/// For each iteration, the first of the list with the same cause, if it is not that one itself.
pub fn repeats<I: Clone + Eq + Hash, K: Eq + Hash>(
    causes: impl Iterator<Item = (I, Option<K>)>,
) -> HashMap<I, I> {
    let mut first: HashMap<K, I> = HashMap::new();
    let mut repeats = HashMap::new();
    for (iteration, cause) in causes {
        let Some(cause) = cause else { continue };
        match first.get(&cause) {
            Some(earlier) => drop(repeats.insert(iteration, earlier.clone())),
            None => drop(first.insert(cause, iteration)),
        }
    }
    repeats
}

/// Returns true if the cause of a failure names a file that the attempt changed.
fn names_changed(iteration: &Iteration) -> bool {
    let cause = iteration.cause();
    let names_it = |path: &String| path.rsplit('/').next().is_some_and(|name| cause.contains(name));
    iteration.files_changed.iter().any(names_it)
}

impl RunSummary {
    /// Returns true if what comes after it is counted anew.
    fn is_anew(&self) -> bool {
        matches!(self.outcome, Outcome::Skipped | Outcome::Reopened)
    }
}

impl History {
    /// Returns an empty history.
    pub fn new(retries_questions: bool) -> Self {
        Self { retries_questions, ..Self::default() }
    }

    /// Notes how the validation fails before the next attempt; `None` if it passes.
    pub fn begin_with(&mut self, failure: Option<&str>) {
        self.failure_before = failure.map(str::to_owned);
    }

    /// Returns true if the validation failed with this fingerprint before the first attempt, and never passed since.
    pub fn is_failure_before(&self, fingerprint: &str) -> bool {
        self.failure_before.as_deref() == Some(fingerprint) && !self.has_passed()
    }

    fn has_passed(&self) -> bool {
        self.had_passed || self.turns.iter().any(|turn| turn.is_passed)
    }

    fn has_success(&self) -> bool {
        self.had_success || self.turns.iter().any(|turn| turn.outcome == Outcome::Success)
    }

    /// Forgets all iterations, but not that anything passed or was done in them.
    pub fn clear(&mut self) {
        (self.had_passed, self.had_success) = (self.has_passed(), self.has_success());
        (self.turns, self.earlier_runs) = (Vec::new(), 0);
    }

    pub fn push(&mut self, iteration: &Iteration) {
        let ticked = &iteration.claims.ticked;
        let is_progress = iteration
            .unit_tasks
            .iter()
            .any(|task| ticked.contains(task) && !self.turns.iter().any(|turn| turn.ticked.contains(task)));
        let is_red = iteration.outcome == Outcome::Failure
            && iteration.exit.validation.is_some()
            && !iteration.is_green()
            && !iteration.failure_class.is_some_and(FailureClass::is_policy);
        let print = iteration.fingerprint.as_deref().filter(|_| is_red);
        let fails_as_before = print.is_some_and(|print| self.is_failure_before(print));
        self.turns.push(RunSummary {
            task: iteration.task.clone(),
            outcome: iteration.outcome,
            is_attempt: iteration.is_attempt(),
            is_closed: iteration.is_acceptance()
                || iteration.task.as_ref().is_some_and(|task| iteration.closed.contains(task)),
            is_change: !iteration.closed.is_empty() || !iteration.files_changed.is_empty(),
            validation: iteration.exit.validation,
            is_timeout: iteration.exit.validation.is_some()
                && iteration.validation_exit_reason() == Some(ExitReason::Timeout),
            ticked: ticked.clone(),
            is_progress,
            is_taken_back: iteration.restored_to.is_some(),
            is_passed: iteration.passed_validation(),
            is_refused: iteration.refused().is_some(),
            reopened: iteration.reopened.clone(),
            failure: FailureKey::of(iteration),
            names_changed: names_changed(iteration),
            asks: is_question(iteration.outcome, iteration.failure_class),
            is_policy: iteration.failure_class.is_some_and(FailureClass::is_policy),
            agent: iteration.agent.clone(),
            is_conflict: iteration.failure_class.is_some_and(FailureClass::is_conflict),
            fails_as_before,
            hints: iteration.hints.clone(),
            files: iteration.files_changed.clone(),
        });
    }

    /// Takes in an iteration as a listing has it.
    pub fn push_entry(&mut self, entry: &LogEntry) {
        let Some(outcome) = entry.outcome() else { return };
        self.turns.push(RunSummary {
            task: entry.task().map(str::to_owned),
            outcome,
            is_attempt: entry.is_attempt(),
            is_closed: match (entry.task(), outcome) {
                (Some(task), _) if !entry.closed().is_empty() => entry.closes(task),
                // A loop that is not about boxes.
                (_, outcome) => outcome == Outcome::Success,
            },
            is_change: !entry.closed().is_empty(),
            validation: entry.exit().validation,
            // A listing does not say how it ended.
            is_timeout: false,
            ticked: Vec::new(),
            is_progress: false,
            is_taken_back: false,
            is_passed: entry.refused().is_none()
                && (entry.exit().validation == Some(0) || outcome == Outcome::Success),
            is_refused: entry.refused().is_some(),
            reopened: entry.reopened().into_iter().map(str::to_owned).collect(),
            failure: FailureKey::of_entry(entry),
            // A listing does not say what it changed.
            names_changed: false,
            asks: is_question(outcome, entry.failure_class()),
            is_policy: entry.failure_class().is_some_and(FailureClass::is_policy),
            agent: entry.agent().unwrap_or_default().to_owned(),
            is_conflict: entry.failure_class().is_some_and(FailureClass::is_conflict),
            fails_as_before: false,
            hints: Vec::new(),
            files: Vec::new(),
        });
    }

    /// Lets [`runs`](Self::runs) begin at 0 from here on; rows of failures go on.
    pub fn begin_runs(&mut self) {
        self.earlier_runs = count(self.turns.iter().filter(|turn| turn.is_attempt));
    }

    /// Agent runs of this start. A skip is a record, not a run, and neither is what a limit of the provider's cut short.
    pub fn runs(&self) -> u32 {
        count(self.turns.iter().filter(|turn| turn.is_attempt)) - self.earlier_runs
    }

    /// Returns how often an agent had its turn at this task.
    pub fn attempts(&self, task: &str) -> u32 {
        count(self.of(task).filter(|turn| turn.is_attempt))
    }

    /// Returns how often in a row the box of this task stayed open. An interruption does not count as a failure.
    pub fn failures_in_a_row(&self, task: &str) -> u32 {
        count(
            self.of(task)
                .rev()
                .filter(|turn| turn.outcome != Outcome::Interrupted && !self.is_set_aside(turn))
                .take_while(|turn| !turn.is_closed && !turn.is_anew()),
        )
    }

    /// Returns the same without attempts that ticked a task of their story or phase for the first time: they got further.
    pub fn failures_without_progress(&self, task: &str) -> u32 {
        let runs = self.of(task).rev();
        let failed = runs.filter(|turn| turn.outcome != Outcome::Interrupted && !self.is_set_aside(turn));
        let failed = failed.take_while(|turn| !turn.is_closed && !turn.is_anew());
        count(failed.filter(|turn| !turn.is_progress))
    }

    /// Returns true if a run ticked this task, and no changes were taken back since.
    pub fn ticked_since_taken_back(&self, task: &str) -> bool {
        let since = self.turns.iter().rposition(|turn| turn.is_taken_back).unwrap_or(0);
        self.turns[since..].iter().any(|turn| turn.ticked.iter().any(|ticked| ticked == task))
    }

    /// Returns true if it is no failure of its task's: a question set the task aside, the branch had moved, or the validation
    /// fails whatever an agent does.
    fn is_set_aside(&self, turn: &RunSummary) -> bool {
        turn.is_policy
            || turn.asks && !self.retries_questions
            || turn.is_conflict
            || turn.fails_as_before
            || turn.outcome == Outcome::Integrated
    }

    /// Returns true if the validation failed in the last run at a task as it did before the first attempt.
    pub fn fails_as_before(&self, task: &str) -> bool {
        let last = self.of(task).rev().find(|turn| turn.outcome != Outcome::Interrupted);
        last.is_some_and(|turn| turn.fails_as_before)
    }

    /// Returns the tasks of all runs in which the validation failed as before the first attempt, oldest first.
    pub fn failed_as_before(&self) -> Vec<&TaskName> {
        let runs = self.turns.iter().filter(|turn| turn.fails_as_before);
        runs.filter_map(|turn| turn.task.as_ref()).collect()
    }

    /// Returns how many tasks were given up, and how many failures count for that; `None` after a success.
    pub fn in_vain(&self) -> Option<[u32; 2]> {
        if self.has_success() {
            return None;
        }
        let failures = self.turns.iter().filter(|turn| {
            turn.outcome == Outcome::Failure
                && turn.is_attempt
                && !turn.is_progress
                && !self.is_set_aside(turn)
        });
        let given_up = self.turns.iter().filter(|turn| turn.outcome == Outcome::Skipped);
        Some([count(given_up), count(failures)])
    }

    /// Returns where a task stands whose last run asked; `None` for any other. `hints` are those that wait for it.
    pub fn question(&self, task: &str, hints: &[&str]) -> Option<OpenQuestion> {
        let mut runs = self.of(task).rev().filter(|turn| turn.outcome != Outcome::Interrupted);
        let last = runs.next().filter(|turn| turn.asks && self.is_set_aside(turn))?;
        if hints.iter().any(|hint| !last.hints.iter().any(|known| known == hint)) {
            return Some(OpenQuestion::Answered);
        }
        let is_again = runs.next().is_some_and(|before| before.asks && before.hints == last.hints);
        Some(if is_again { OpenQuestion::AskedAgain } else { OpenQuestion::Asked })
    }

    /// Returns the agents whose providers refused the task, in its newest runs.
    pub fn refused_by<'a>(&'a self, task: &'a str) -> Vec<&'a str> {
        let runs = self.of(task).rev().filter(|turn| turn.outcome != Outcome::Interrupted);
        runs.take_while(|turn| turn.is_policy).map(|turn| turn.agent.as_str()).collect()
    }

    /// Returns the same over all sessions, where giving up is not the end of a row.
    pub fn failures_over_sessions(&self, task: &str) -> u32 {
        let runs = self.of(task).rev();
        let runs = runs.filter(|turn| !matches!(turn.outcome, Outcome::Interrupted | Outcome::Skipped));
        count(runs.take_while(|turn| !turn.is_closed))
    }

    /// Returns true if the task was given up, and its work was not found done beside that of another since.
    pub fn is_skipped(&self, task: &str) -> bool {
        let newest = self.turns.iter().rev().find_map(|turn| {
            let is_given_up = turn.outcome == Outcome::Skipped && turn.task.as_deref() == Some(task);
            (is_given_up || turn.reopened.iter().any(|name| name == task)).then_some(is_given_up)
        });
        newest.unwrap_or(false)
    }

    /// Returns how many runs in a row changed no box and no file.
    pub fn idle_streak(&self) -> u32 {
        let runs = self.turns.iter().rev().filter(|turn| turn.is_attempt && !self.is_set_aside(turn));
        count(runs.take_while(|turn| !turn.is_change))
    }

    /// Returns how many runs in a row failed in the same way, whatever their task was. Skips and interruptions do not
    /// count.
    pub fn same_failures_in_a_row(&self) -> u32 {
        let mut runs = self.turns.iter().rev().filter(|turn| turn.is_attempt);
        let Some(last) = runs.next().and_then(|turn| turn.failure.as_ref()) else { return 0 };
        1 + count(runs.take_while(|turn| turn.failure.as_ref() == Some(last)))
    }

    /// Returns the newest runs in a row that failed in the same way, newest first; none if the last run did not fail. Skips and
    /// interruptions do not count.
    fn alike(&self) -> impl Iterator<Item = &RunSummary> {
        let runs = self.turns.iter().rev();
        let mut runs = runs.filter(|turn| turn.is_attempt).peekable();
        let key = runs.peek().filter(|turn| !self.is_set_aside(turn)).and_then(|turn| turn.failure.as_ref());
        runs.take_while(move |turn| key.is_some() && turn.failure.as_ref() == key)
    }

    /// Returns true if one of the newest runs in a row whose boxes were left open in the same way changed a file that those at
    /// other tasks did not: what does not fit into one run says the same for each task, and gets on all the same.
    fn gets_on(&self) -> bool {
        let is_own = |run: &RunSummary, file: &String| {
            self.alike().all(|other| other.task == run.task || !other.files.contains(file))
        };
        let mut runs = self.alike().filter(|run| matches!(run.failure, Some(FailureKey::OpenBox(_))));
        runs.any(|run| run.files.iter().any(|file| is_own(run, file)))
    }

    /// Returns the tasks of the newest runs in a row that failed in the same way, oldest first. Those that get on have none.
    pub fn tasks_of_common_failure(&self) -> Vec<&TaskName> {
        if self.gets_on() {
            return Vec::new();
        }
        let mut tasks = Vec::new();
        for task in self.alike().filter_map(|turn| turn.task.as_ref()) {
            if !tasks.contains(&task) {
                tasks.push(task);
            }
        }
        tasks.reverse();
        tasks
    }

    /// Returns true if one of these runs changed a file that the failure names.
    pub fn common_failure_names_changed(&self) -> bool {
        self.alike().any(|turn| turn.names_changed)
    }

    /// Returns true if the last run failed by its validation.
    pub fn last_failed_validation(&self) -> bool {
        let failure = self.turns.last().and_then(|turn| turn.failure.as_ref());
        matches!(failure, Some(FailureKey::Validation(_)))
    }

    /// Returns true if the last iteration was a success.
    pub fn last_succeeded(&self) -> bool {
        self.turns.last().is_some_and(|turn| turn.outcome == Outcome::Success)
    }

    /// Returns the tasks that had a run, each as often, oldest first.
    pub fn worked_on(&self) -> impl DoubleEndedIterator<Item = &TaskName> {
        self.turns.iter().filter(|turn| turn.is_attempt).filter_map(|turn| turn.task.as_ref())
    }

    /// Returns true if the last validation that ran passed, and nothing refused what it showed; `None` if none ran.
    pub fn last_passed(&self) -> Option<bool> {
        self.turns
            .iter()
            .rev()
            .find(|turn| turn.validation.is_some() || turn.is_refused)
            .map(|turn| turn.is_passed)
    }

    /// Returns true if the last run at this task was refused though its validation passed, if it has one.
    pub fn was_refused(&self, task: &str) -> bool {
        self.of(task).rev().find(|turn| turn.is_attempt).is_some_and(|turn| turn.is_refused)
    }

    /// Returns true if the validation could not be run in any iteration that had one, and there were two or more.
    pub fn cannot_validate(&self) -> bool {
        let turns = self.turns.iter().filter(|turn| turn.outcome != Outcome::Interrupted);
        let codes: Vec<_> = turns.filter_map(|turn| Some((turn.validation?, turn.is_passed))).collect();
        codes.len() >= 2 && codes.iter().all(|(code, is_passed)| CANNOT_RUN.contains(code) && !is_passed)
    }

    /// Returns how many validations of iterations ran into their time limit; `None` if one ended otherwise.
    pub fn only_timeouts(&self) -> Option<u32> {
        let turns = self.turns.iter().filter(|turn| turn.validation.is_some());
        turns.clone().all(|turn| turn.is_timeout).then(|| count(turns))
    }

    fn of<'a>(&'a self, task: &'a str) -> impl DoubleEndedIterator<Item = &'a RunSummary> {
        self.turns.iter().filter(move |turn| turn.task.as_deref() == Some(task))
    }
}

fn count<'a>(turns: impl Iterator<Item = &'a RunSummary>) -> u32 {
    u32::try_from(turns.count()).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use crate::record::samples::iteration;

    use super::*;

    /// `T1+` closed its box, `T1-` failed, `T1?` was interrupted, `T1!` was skipped, `T1~` failed and changed nothing,
    /// `T1=` was cut short, `T1q` asked, `T1p` was refused by the provider, `T1c` met a branch that had moved, `T1b` failed
    /// as the validation did before.
    fn history(turns: &str) -> History {
        let turn = |word: &str| {
            let (task, end) = word.split_at(word.len() - 1);
            RunSummary {
                task: Some(task.to_owned()),
                outcome: match end {
                    "+" => Outcome::Success,
                    "?" | "=" => Outcome::Interrupted,
                    "!" => Outcome::Skipped,
                    _ => Outcome::Failure,
                },
                is_attempt: !matches!(end, "!" | "=" | "?"),
                is_closed: end == "+",
                is_change: !matches!(end, "~" | "!" | "=" | "q" | "p"),
                validation: None,
                is_timeout: false,
                ticked: Vec::new(),
                is_progress: false,
                is_taken_back: false,
                is_passed: false,
                is_refused: false,
                reopened: Vec::new(),
                failure: None,
                names_changed: false,
                asks: matches!(end, "q" | "p"),
                is_policy: end == "p",
                agent: "claude".to_owned(),
                is_conflict: end == "c",
                fails_as_before: end == "b",
                hints: Vec::new(),
                files: Vec::new(),
            }
        };
        History { turns: turns.split_whitespace().map(turn).collect(), ..History::default() }
    }

    #[test]
    fn a_branch_that_moved_is_no_failure_of_the_task() {
        let history = history("T1- T1c T1- T1c");
        assert_eq!((history.failures_in_a_row("T1"), history.attempts("T1")), (2, 4));
        assert_eq!(history.question("T1", &[]), None);
    }

    #[test]
    fn a_refusal_of_the_provider_counts_for_nothing_but_runs() {
        let mut history = history("T1p T2- T1p");
        history.retries_questions = true;
        assert_eq!((history.failures_in_a_row("T1"), history.idle_streak(), history.runs()), (0, 0, 3));
        assert_eq!(history.question("T1", &[]), Some(OpenQuestion::AskedAgain));
        assert_eq!(history.question("T1", &["reworded"]), Some(OpenQuestion::Answered));
        assert_eq!((history.refused_by("T1").len(), history.refused_by("T2").len()), (2, 0));
    }

    #[test]
    fn a_validation_that_fails_as_before_the_first_attempt_counts_for_no_task() {
        let plain = history("T1b T2b T1- T1b");
        assert_eq!((plain.failures_in_a_row("T1"), plain.failures_in_a_row("T2")), (1, 0));
        assert_eq!((plain.attempts("T1"), plain.runs()), (3, 4));
        assert_eq!((plain.fails_as_before("T1"), plain.fails_as_before("T3")), (true, false));
        assert_eq!(plain.failed_as_before(), ["T1", "T2", "T1"]);
        let mut history = History::default();
        history.begin_with(Some("f1"));
        let mut push = |fingerprint: &str, outcome: Outcome| {
            let mut record = iteration(outcome);
            record.exit.validation = Some(i32::from(outcome == Outcome::Failure));
            record.fingerprint = Some(fingerprint.to_owned());
            history.push(&record);
            history.turns.last().unwrap().fails_as_before
        };
        assert!(push("f1", Outcome::Failure));
        assert!(!push("f2", Outcome::Failure), "another failure");
        assert!(!push("f1", Outcome::Success));
        assert!(!push("f1", Outcome::Failure), "it passed meanwhile");
        history.clear();
        assert!(!history.is_failure_before("f1"), "it passed before the session was resumed");
    }

    #[test]
    fn what_is_in_vain_is_counted_until_a_success() {
        for (turns, expected) in
            [("", Some([0, 0])), ("T1- T1- T1- T1! T2- T2q T2b T2?", Some([1, 4])), ("T1- T2+ T1-", None)]
        {
            let mut history = history(turns);
            assert_eq!(history.in_vain(), expected, "{turns}");
            history.clear();
            assert_eq!(history.in_vain(), expected.map(|_| [0, 0]), "resumed after {turns}");
        }
    }

    #[test]
    fn failures_are_counted_for_each_task_and_in_a_row() {
        let history = history("T1- T2- T1- T1? T1-");
        assert_eq!(history.failures_in_a_row("T1"), 3);
        assert_eq!(history.failures_in_a_row("T2"), 1);
        assert_eq!(history.attempts("T1"), 3);
        assert_eq!(history.runs(), 4);
    }

    #[test]
    fn runs_begin_anew_and_rows_go_on() {
        let mut history = history("T1- T1- T1?");
        history.begin_runs();
        assert_eq!((history.runs(), history.failures_in_a_row("T1")), (0, 2));
    }

    #[test]
    fn over_sessions_a_skip_does_not_end_the_row() {
        assert_eq!(history("T1- T1- T1! T1? T1-").failures_over_sessions("T1"), 3);
        assert_eq!(history("T1- T1+ T1! T1-").failures_over_sessions("T1"), 1);
    }

    #[test]
    fn failures_of_one_fingerprint_are_counted_over_tasks() {
        for (fingerprints, expected) in
            [("", 0), ("a", 1), ("a a", 2), ("b a a a", 3), ("a a -", 0), ("a - a a", 2), ("a b", 1)]
        {
            let turn = |fingerprint: &str| RunSummary {
                failure: (fingerprint != "-").then(|| FailureKey::Validation(fingerprint.to_owned())),
                ..history("T1-").turns.remove(0)
            };
            let shorter = history("T1! T2?");
            let mut history =
                History { turns: fingerprints.split_whitespace().map(turn).collect(), ..History::default() };
            history.turns.extend(shorter.turns.clone());
            assert_eq!(history.same_failures_in_a_row(), expected, "{fingerprints}");
        }
    }

    #[test]
    fn a_failure_is_common_to_the_tasks_that_met_it_in_a_row() {
        for (runs, expected) in [
            ("", ""),
            ("T1a", "T1"),
            ("T1a T1a T1a", "T1"),
            ("T1b T1a T1a T2a T3a", "T1 T2 T3"),
            ("T1a T2b T3a", "T3"),
            ("T1a T2a T3-", ""),
            ("T1a T2- T3a", "T3"),
        ] {
            let turn = |word: &str| {
                let (task, key) = word.split_at(2);
                RunSummary {
                    failure: (key != "-").then(|| FailureKey::Validation(key.to_owned())),
                    ..history(&format!("{task}-")).turns.remove(0)
                }
            };
            let mut turns: Vec<RunSummary> = runs.split_whitespace().map(turn).collect();
            let between = history("T1! T2?").turns;
            turns = turns.into_iter().flat_map(|turn| std::iter::once(turn).chain(between.clone())).collect();
            let history = History { turns, ..History::default() };
            let tasks: Vec<&str> =
                history.tasks_of_common_failure().into_iter().map(String::as_str).collect();
            assert_eq!(tasks.join(" "), expected, "{runs}");
        }
    }

    #[test]
    fn an_open_box_that_several_tasks_have_in_common_is_no_common_failure_where_they_get_on() {
        for (runs, expected) in [
            ("T1:notes T1:notes T2:notes T3:notes", "T1 T2 T3"),
            ("T1: T2: T3:", "T1 T2 T3"),
            ("T1:a T2:b T3:c", ""),
            ("T1:notes T2:notes,b T3:notes", ""),
            ("T1:a T1:a", ""),
        ] {
            let turn = |word: &str| {
                let (task, files) = word.split_once(':').unwrap();
                RunSummary {
                    failure: Some(FailureKey::OpenBox("open-1".to_owned())),
                    files: files.split(',').filter(|file| !file.is_empty()).map(str::to_owned).collect(),
                    ..history(&format!("{task}-")).turns.remove(0)
                }
            };
            let history =
                History { turns: runs.split_whitespace().map(turn).collect(), ..History::default() };
            let tasks: Vec<&str> =
                history.tasks_of_common_failure().into_iter().map(String::as_str).collect();
            assert_eq!(tasks.join(" "), expected, "{runs}");
        }
    }

    #[test]
    fn a_validation_that_could_never_be_run_is_known_after_two_tries() {
        for (codes, expected) in [
            ("", false),
            ("127", false),
            ("127 127", true),
            ("126 - 127", true),
            ("1 127 127", false),
            ("0 127 127 127", false),
            ("127 ? 127", true),
            ("127 1", false),
        ] {
            let turn = |code: &str| RunSummary {
                validation: code.parse().ok(),
                ..history(if code == "?" { "T1?" } else { "T1-" }).turns.remove(0)
            };
            let history =
                History { turns: codes.split_whitespace().map(turn).collect(), ..History::default() };
            assert_eq!(history.cannot_validate(), expected, "{codes}");
        }
    }

    #[test]
    fn validations_that_only_ran_into_their_time_limit_are_counted() {
        for (turns, expected) in
            [("", Some(0)), ("t", Some(1)), ("t - t", Some(2)), ("t 1", None), ("0 t t", None)]
        {
            let turn = |code: &str| RunSummary {
                validation: if code == "t" { Some(-1) } else { code.parse().ok() },
                is_timeout: code == "t",
                ..history("T1-").turns.remove(0)
            };
            let turns = turns.split_whitespace().map(turn).collect();
            assert_eq!(History { turns, ..History::default() }.only_timeouts(), expected);
        }
    }

    #[test]
    fn a_repeat_names_the_first_of_its_kind() {
        let list = [(1, Some("a")), (2, None), (3, Some("b")), (4, Some("a")), (5, Some("a"))];
        let found = repeats(list.into_iter());
        assert_eq!((found.len(), found.get(&4), found.get(&5)), (2, Some(&1), Some(&1)));
    }

    #[test]
    fn a_success_ends_the_row() {
        assert_eq!(history("T1- T1- T1+ T1-").failures_in_a_row("T1"), 1);
    }

    #[test]
    fn a_skip_is_no_run() {
        let history = history("T1- T1- T1- T1!");
        assert!(history.is_skipped("T1"));
        assert_eq!(history.runs(), 3);
        assert_eq!(history.attempts("T1"), 3);
    }

    #[test]
    fn an_attempt_that_ticks_more_of_its_unit_does_not_count() {
        // In each attempt at T1 the agent ticks these; `!` is a skip that takes changes back.
        let history = |attempts: &str| {
            let mut history = History::default();
            for ticks in attempts.split_whitespace() {
                let is_skip = ticks == "!";
                let mut record = iteration(if is_skip { Outcome::Skipped } else { Outcome::Failure });
                record.task = Some("T1".to_owned());
                record.unit_tasks = ["T1", "T2", "T3"].map(str::to_owned).into();
                if is_skip {
                    record.restored_to = "1".repeat(40).parse().ok();
                } else {
                    let ticked = ticks.split(',').filter(|name| *name != "-");
                    record.claims.ticked = ticked.map(str::to_owned).collect();
                }
                history.push(&record);
            }
            history
        };
        for (attempts, expected) in [
            ("-", 1),
            ("T1", 0),
            ("T1,T2 T1,T2", 1),
            ("T1 T1 T1,T2 T1,T2,T3 T3", 2),
            ("T9", 1),
            ("T1 - -", 2),
            ("- - - !", 0),
        ] {
            assert_eq!(history(attempts).failures_without_progress("T1"), expected, "{attempts}");
        }
        for (attempts, is_there) in
            [("-", false), ("T2", true), ("T2 -", true), ("T2 !", false), ("T2 ! T2", true)]
        {
            assert_eq!(history(attempts).ticked_since_taken_back("T2"), is_there, "{attempts}");
        }
    }

    #[test]
    fn what_was_cut_short_is_neither_a_run_nor_a_failure_nor_idle() {
        let history = history("T1- T1= T1= T1~ T1=");
        assert_eq!((history.runs(), history.attempts("T1")), (2, 2));
        assert_eq!(history.failures_in_a_row("T1"), 2);
        assert_eq!(history.idle_streak(), 1);
    }

    #[test]
    fn runs_that_change_nothing_are_counted_from_the_end() {
        assert_eq!(history("T1~ T1- T2~ T3~ T3!").idle_streak(), 2);
        assert_eq!(history("").idle_streak(), 0);
    }

    #[test]
    fn a_question_is_no_failure_unless_it_is_to_be_tried_again() {
        let mut history = history("T1- T1q T2~ T1q T1~");
        assert_eq!((history.failures_in_a_row("T1"), history.idle_streak()), (2, 2));
        assert_eq!((history.runs(), history.attempts("T1")), (5, 4));
        history.retries_questions = true;
        assert_eq!((history.failures_in_a_row("T1"), history.idle_streak()), (4, 4));
    }

    #[test]
    fn a_task_that_asks_waits_for_a_hint_or_is_tried_once_more() {
        use OpenQuestion::{Answered, Asked, AskedAgain};
        for (turns, hints, expected) in [
            ("", &[][..], None),
            ("T1-", &[], None),
            ("T1q T2-", &[], Some(Asked)),
            ("T1q", &["a hint"], Some(Answered)),
            ("T1q T1?", &[], Some(Asked)),
            ("T1q T2q T1q", &[], Some(AskedAgain)),
            ("T1q T1q", &["a hint"], Some(Answered)),
            ("T1q T1-", &[], None),
            ("T1q T1+", &[], None),
        ] {
            assert_eq!(history(turns).question("T1", hints), expected, "{turns}");
        }
        let mut heard = history("T1q T1q");
        heard.turns[1].hints = vec!["a hint".to_owned()];
        assert_eq!(heard.question("T1", &["a hint"]), Some(Asked), "once more with what it knows now");
        assert_eq!(heard.question("T1", &["a hint", "another"]), Some(Answered));
        heard.retries_questions = true;
        assert_eq!(heard.question("T1", &[]), None);
    }
}

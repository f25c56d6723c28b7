//! Where the validation passed last in this start, and what the attempts that failed since then found and left. Pure.

use ralph_core::record::{Iteration, ObjectId, Outcome, TaskName};

/// What is needed to take the changes of failed attempts back.
#[derive(Debug, Default)]
pub(crate) struct LastGreen {
    /// False if the validation did not pass in this start, or if no snapshot shows what came of an attempt since.
    has_passed: bool,
    /// The branch that was checked out when it last passed; `None` for a detached HEAD.
    branch: Option<String>,
    attempts: Vec<Attempt>,
    /// What the work tree held, as a tree, when the validation last passed in this start.
    pub last_passing: Option<ObjectId>,
}

/// An attempt, or some that followed each other at once.
#[derive(Debug, Clone)]
pub(crate) struct Attempt {
    task: Option<TaskName>,
    /// The first of them.
    pub iteration: u32,
    has_changes: bool,
    /// The snapshots between which files were changed.
    pub before: ObjectId,
    pub after: ObjectId,
    /// Commits on the user's branch that were made meanwhile.
    pub commits: Vec<ObjectId>,
}

impl Attempt {
    /// Returns what changed from one snapshot to another, as an attempt that belongs to no task.
    pub fn between(before: ObjectId, after: ObjectId) -> Self {
        Self { task: None, iteration: 0, has_changes: true, before, after, commits: Vec::new() }
    }
}

impl LastGreen {
    /// Returns the state before the first iteration of a start. `last_passing` is the tree of a green baseline.
    pub fn starting(last_passing: Option<ObjectId>, branch: Option<&String>) -> Self {
        let has_passed = last_passing.is_some();
        Self { has_passed, branch: branch.cloned(), attempts: Vec::new(), last_passing }
    }

    /// Notes that the validation passed on `tree`. `None` if no snapshot shows what it passed on.
    pub fn passed_on(&mut self, tree: Option<&ObjectId>) {
        if let Some(tree) = tree {
            self.last_passing = Some(tree.clone());
        }
    }

    /// Takes in an iteration that began with the snapshot `before`.
    pub fn ended(&mut self, iteration: &Iteration, before: Option<&ObjectId>) {
        // Where no snapshot could be taken, what it changed is not known.
        let snapshots = before.zip(iteration.snapshot.as_ref()).filter(|(before, after)| before != after);
        let has_passed = iteration.outcome == Outcome::Success && iteration.exit.validation.is_some();
        let Some((before, after)) = snapshots.filter(|_| !has_passed) else {
            // What was changed before stays.
            self.attempts.clear();
            self.has_passed = has_passed && snapshots.is_some();
            self.branch.clone_from(&iteration.branch);
            return;
        };
        self.attempts.push(Attempt {
            task: iteration.task.clone(),
            iteration: iteration.iteration,
            has_changes: !iteration.files_changed.is_empty(),
            before: before.clone(),
            after: after.clone(),
            commits: iteration.commits.clone(),
        });
    }

    /// Returns the attempts at `task` whose changes can be taken back on `branch`, oldest first. What a person did between
    /// two of them is in none.
    pub fn failed_attempts(&self, task: &str, branch: Option<&str>) -> Vec<Attempt> {
        if !self.has_passed || self.branch.as_deref() != branch {
            return Vec::new();
        }
        let attempts: Vec<&Attempt> =
            self.attempts.iter().filter(|attempt| attempt.task.as_deref() == Some(task)).collect();
        if !attempts.iter().any(|attempt| attempt.has_changes) {
            return Vec::new();
        }
        let mut joined: Vec<Attempt> = Vec::new();
        for attempt in attempts {
            match joined.last_mut() {
                Some(last) if last.after == attempt.before => {
                    last.after.clone_from(&attempt.after);
                    last.commits.extend_from_slice(&attempt.commits);
                }
                _ => joined.push(attempt.clone()),
            }
        }
        joined
    }

    /// The changes of the attempts at `task` were taken back, or are to stay.
    pub fn forget(&mut self, task: &str) {
        self.attempts.retain(|attempt| attempt.task.as_deref() != Some(task));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ralph_core::record::{Exits, samples};

    fn id(number: u32) -> ObjectId {
        format!("{number:040}").parse().unwrap()
    }

    /// Takes in iterations: task, how it ended (`+` passed, `-` failed), snapshots before and after.
    fn ground(story: &[(&str, u32, u32)]) -> LastGreen {
        let mut ground = LastGreen::default();
        for (number, &(word, before, after)) in (1..).zip(story) {
            let (task, end) = word.split_at(word.len() - 1);
            let (outcome, code) = if end == "+" { (Outcome::Success, 0) } else { (Outcome::Failure, 1) };
            let iteration = Iteration {
                iteration: number,
                task: Some(task.to_owned()),
                branch: Some("main".to_owned()),
                exit: Exits { agent: Some(0), validation: Some(code) },
                snapshot: Some(id(after)),
                files_changed: vec!["a".to_owned()],
                ..samples::iteration(outcome)
            };
            ground.ended(&iteration, Some(&id(before)));
        }
        ground
    }

    #[test]
    fn attempts_since_the_validation_passed_are_taken_back_without_what_came_between_them() {
        let spans = |story: &[(&str, u32, u32)]| {
            let attempts = ground(story).failed_attempts("T2", Some("main"));
            let pairs = attempts.iter().map(|attempt| (attempt.before.clone(), attempt.after.clone()));
            Some((attempts.first()?.iteration, pairs.collect::<Vec<_>>()))
        };
        let one = |before, after| (id(before), id(after));
        // Nothing passed in this start.
        assert_eq!(spans(&[("T2-", 1, 2)]), None);
        assert_eq!(spans(&[("T1+", 1, 2)]), None);
        assert_eq!(spans(&[("T1+", 1, 2), ("T2-", 2, 3)]), Some((2, vec![one(2, 3)])));
        assert_eq!(
            spans(&[("T1+", 1, 2), ("T2-", 2, 3), ("T2-", 3, 4), ("T2-", 4, 5)]),
            Some((2, vec![one(2, 5)]))
        );
        // A person worked between two attempts.
        assert_eq!(
            spans(&[("T1+", 1, 2), ("T2-", 2, 3), ("T2-", 4, 5)]),
            Some((2, vec![one(2, 3), one(4, 5)]))
        );
        // Another task had its turn between them.
        assert_eq!(
            spans(&[("T1+", 1, 2), ("T2-", 2, 3), ("T3-", 3, 4), ("T2-", 4, 5)]),
            Some((2, vec![one(2, 3), one(4, 5)]))
        );
        assert_eq!(
            spans(&[("T1+", 1, 2), ("T2-", 2, 3), ("T3+", 3, 4), ("T2-", 4, 5)]),
            Some((4, vec![one(4, 5)]))
        );
        // No snapshot could be taken of an attempt, or of the success.
        assert_eq!(spans(&[("T1+", 1, 2), ("T2-", 2, 2), ("T2-", 2, 3)]), None);
        assert_eq!(spans(&[("T1+", 1, 1), ("T2-", 1, 2)]), None);
    }

    #[test]
    fn nothing_is_taken_back_on_another_branch() {
        let ground = ground(&[("T1+", 1, 2), ("T2-", 2, 3)]);
        assert!(!ground.failed_attempts("T2", Some("main")).is_empty());
        assert!(ground.failed_attempts("T2", Some("other")).is_empty());
        assert!(ground.failed_attempts("T2", None).is_empty());
    }

    #[test]
    fn what_was_taken_back_is_not_taken_back_again() {
        let mut ground = ground(&[("T1+", 1, 2), ("T2-", 2, 3), ("T3-", 3, 4)]);
        ground.forget("T2");
        assert!(ground.failed_attempts("T2", Some("main")).is_empty());
        assert!(!ground.failed_attempts("T3", Some("main")).is_empty());
    }
}

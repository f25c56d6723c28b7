//! What a session changed in the files, and for which tasks.

use std::collections::{HashMap, HashSet};

use serde::Serialize;

use ralph_core::record::{DiffStat, FileChange, TaskName};

use super::{ReportIteration, Text};

/// From before the first iteration to after the last, without what the loop itself writes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SessionChanges {
    pub files: Vec<ReportedFile>,
    /// All of it as one patch, as far as a page has room; a report as data has those of the iterations.
    #[serde(skip)]
    pub patch: Option<Text>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ReportedFile {
    #[serde(flatten)]
    pub change: FileChange,
    /// The tasks whose iterations touched it.
    pub tasks: Vec<TaskName>,
    /// Set if none of these tasks was done.
    pub is_unfinished: bool,
}

impl SessionChanges {
    pub fn new(changes: Vec<FileChange>, patch: Option<Text>, iterations: &[ReportIteration]) -> Self {
        let closed: HashSet<&TaskName> =
            iterations.iter().flat_map(|iteration| &iteration.record.closed).collect();
        let mut tasks_of: HashMap<&str, Vec<&TaskName>> = HashMap::new();
        for ReportIteration { record, .. } in
            iterations.iter().filter(|iteration| !iteration.record.outcome.is_without_run())
        {
            for path in &record.files_changed {
                let tasks = tasks_of.entry(path).or_default();
                tasks.extend(record.task.as_ref().filter(|task| !tasks.contains(task)));
            }
        }
        let files = changes.into_iter().map(|change| {
            let tasks = tasks_of.get(change.path.as_str()).into_iter().flatten();
            let tasks: Vec<TaskName> = tasks.map(|task| (*task).clone()).collect();
            let is_unfinished = !tasks.is_empty() && !tasks.iter().any(|task| closed.contains(task));
            ReportedFile { change, tasks, is_unfinished }
        });
        Self { files: files.collect(), patch }
    }

    pub fn stat(&self) -> DiffStat {
        DiffStat::of(self.files.iter().map(|file| (file.change.added, file.change.removed)))
    }
}

#[cfg(test)]
mod tests {
    use super::super::samples::iterations;
    use super::*;

    #[test]
    fn a_file_has_the_tasks_that_touched_it_and_whether_any_of_them_was_done() {
        let mut iterations = iterations("T1-a T1+ T2-a T2!");
        for (iteration, files) in iterations.iter_mut().zip(["a b", "a", "a c", ""]) {
            iteration.record.files_changed = files.split_whitespace().map(str::to_owned).collect();
        }
        let change =
            |path: &str| FileChange { path: path.to_owned(), added: Some(2), ..FileChange::default() };
        let changes = SessionChanges::new(["a", "b", "c", "d"].map(change).to_vec(), None, &iterations);
        let shown: Vec<_> =
            changes.files.iter().map(|file| (file.tasks.join(","), file.is_unfinished)).collect();
        let expected = [("T1,T2", false), ("T1", false), ("T2", true), ("", false)];
        assert_eq!(shown, expected.map(|(tasks, is)| (tasks.to_owned(), is)));
        assert_eq!(changes.stat(), DiffStat { files: 4, added: 8, removed: 0 });
    }
}

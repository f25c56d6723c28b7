//! What a session is to bring about: tasks of a list, or an artifact that passes the validation.

use std::rc::Rc;

use anyhow::Result;
use camino::Utf8PathBuf;
use tasklist::{Pick, Selection, TaskList};

use ralph_core::config::Until;
use ralph_core::record::Task;
use ralph_project::feature::Feature;
use ralph_project::tasks::{self, TaskCache};

/// A type of loop, for one feature.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Job {
    /// `implement`, `plan`, `spec`, or a type of the user's.
    pub loop_type: String,
    pub until: Until,
    /// The file that the loop is about.
    pub artifact: Utf8PathBuf,
    /// True if open tasks that are optional are nothing to do.
    pub skip_optional: bool,
}

impl Job {
    /// Returns the task list; where the job is not about tasks, there need be none.
    pub fn read_tasks(&self, feature: &Feature) -> Result<TaskList> {
        let mut list = match self.until {
            Until::Tasks => tasks::read(&feature.files, &feature.tasks_path),
            Until::Validation => tasks::read_if_there(&feature.files, &feature.tasks_path),
        }?;
        if self.skip_optional {
            list.settle_optional();
        }
        Ok(list)
    }

    /// Returns the same, parsed again only where the file has changed.
    pub(super) fn cached_tasks(&self, feature: &Feature, cache: &mut TaskCache) -> Result<Rc<TaskList>> {
        cache.skip_optional = self.skip_optional;
        match self.until {
            Until::Tasks => cache.read(&feature.files, &feature.tasks_path),
            Until::Validation => cache.read_if_there(&feature.files, &feature.tasks_path),
        }
    }

    /// Returns what every iteration works on, if that is not a task of the list.
    pub(super) fn task(&self) -> Option<Task> {
        (self.until == Until::Validation).then(|| Task {
            name: self.loop_type.clone(),
            id: None,
            text: self.artifact.file_name().unwrap_or_default().to_owned(),
            phase: None,
            story: None,
        })
    }

    /// Returns what a new session would begin with, or `None` if no task can be picked.
    pub fn next_task(&self, tasks: &TaskList, part: Option<&Selection>) -> Option<Task> {
        let pick = match (self.task(), part) {
            (Some(task), _) => return Some(task),
            (None, Some(part)) => tasks.next_open_in(part, |_| false),
            (None, None) => tasks.next_open(|_| false),
        };
        match pick {
            Pick::Task(item) => Some(item.into()),
            Pick::NoneOpen | Pick::Blocked(_) => None,
        }
    }

    /// Returns true if the artifact exists, or `None` if boxes show what was done.
    pub(super) fn artifact_exists(&self, feature: &Feature) -> Option<bool> {
        (self.until == Until::Validation).then(|| feature.files.is_filled(&self.artifact))
    }
}

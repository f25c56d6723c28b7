//! Tasks that are done and whose work is gone, as loops found it.

use std::collections::BTreeMap;

use tasklist::TaskList;

use crate::record::{FlagCode, FlaggedTask, GoneHow, GoneWork, Need, NeedKind, Outcome, TaskName};

use super::FeatureView;

impl FeatureView<'_> {
    /// Returns the tasks of the list that are done and whose work the records say is gone, in the order of the list.
    pub fn work_gone(&self, list: &TaskList) -> Vec<GoneWork> {
        let mut gone = self.recorded_gone();
        let done = list.tasks().filter(|item| item.done);
        done.filter_map(|item| gone.remove(&item.name)).collect()
    }

    /// Returns the work that the records say is gone, whatever the boxes.
    pub fn recorded_gone(&self) -> BTreeMap<TaskName, GoneWork> {
        let mut gone: BTreeMap<TaskName, GoneWork> = BTreeMap::new();
        for &(session, facts) in &self.iterations {
            // Done anew, opened again, or right so by a person's word.
            if facts.outcome() == Some(Outcome::Success) {
                facts.closed().into_iter().for_each(|task| drop(gone.remove(task)));
            }
            if let Some(task) = facts.task().filter(|_| facts.is_answer()) {
                gone.remove(task);
            }
            for (task, how) in facts.gone() {
                gone.remove(&task);
                let since = facts.task().filter(|_| how != GoneHow::Between).map(str::to_owned);
                let (session, iteration) = (session.clone(), facts.number());
                let work = GoneWork { task: task.clone(), how, since, session, iteration };
                gone.extend((how != GoneHow::Back).then_some((task, work)));
            }
        }
        gone
    }
}

/// Returns work that is gone as what needs a person: an attempt took it, and no loop runs that could open the box.
pub(super) fn need(gone: &GoneWork) -> Need {
    Need {
        why: NeedKind::Gone,
        task: Some(gone.task.clone()),
        cause: Some(gone.words()),
        session: gone.session.clone(),
        iteration: Some(gone.iteration),
    }
}

/// Returns work that is gone as a flag, for a person to look at.
pub(super) fn flag(gone: &GoneWork) -> FlaggedTask {
    FlaggedTask {
        task: gone.task.clone(),
        session: gone.session.clone(),
        iteration: Some(gone.iteration),
        flags: vec![FlagCode::Gone],
        text: Some(gone.words()),
    }
}

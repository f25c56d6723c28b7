//! Causes of failures over several sessions.

use indexmap::IndexMap;
use serde::Serialize;

use ralph_core::history::failure_key::FailureKey;
use ralph_core::record::{SessionId, TaskName};

use super::session_summary::RecordedSession;

/// A cause of failures, and where it came.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SharedCause {
    /// Null for a failure of the agent's own.
    pub fingerprint: Option<String>,
    /// In the words of the newest failure; null in older records.
    pub cause: Option<String>,
    pub times: usize,
    pub tasks: Vec<TaskName>,
    /// The sessions in which it came, oldest first, with how often.
    pub sessions: Vec<(SessionId, usize)>,
}

/// Returns all causes, those of most sessions first, then the most frequent. Failures without a known cause are left out.
pub fn causes(sessions: &[RecordedSession]) -> Vec<SharedCause> {
    let mut found: IndexMap<FailureKey, SharedCause> = IndexMap::new();
    for entry in sessions.iter().flat_map(|recorded| recorded.view.iterations()) {
        let Some(key) = FailureKey::of_entry(entry) else { continue };
        let fingerprint = key.fingerprint(entry.fingerprint());
        let (tasks, sessions) = (Vec::new(), Vec::new());
        let new = SharedCause { fingerprint, cause: None, times: 0, tasks, sessions };
        let cause = found.entry(key).or_insert(new);
        cause.times += 1;
        cause.cause = entry.cause().map(str::to_owned).or(cause.cause.take());
        if let Some(task) = entry.task().filter(|task| !cause.tasks.iter().any(|known| known == task)) {
            cause.tasks.push(task.to_owned());
        }
        match cause.sessions.last_mut().filter(|(id, _)| *id == entry.session()) {
            Some((_, times)) => *times += 1,
            None => cause.sessions.push((entry.session(), 1)),
        }
    }
    let mut found: Vec<SharedCause> = found.into_values().collect();
    found.sort_by_key(|cause| std::cmp::Reverse((cause.sessions.len(), cause.times)));
    found
}

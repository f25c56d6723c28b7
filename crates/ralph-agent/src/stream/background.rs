//! What an agent runs in the background.

use ralph_core::record::CutOff;

/// Work in the background that a stream shows as begun.
#[derive(Debug, Default)]
pub(super) struct Background(Vec<BackgroundTask>);

#[derive(Debug)]
struct BackgroundTask {
    id: String,
    work: CutOff,
    state: BackgroundState,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum BackgroundState {
    Running,
    Ended,
    /// It was stopped, and no result came since that could know of it.
    Stopped,
}

impl Background {
    pub(super) fn begin(&mut self, id: &str, work: CutOff) {
        if self.0.iter().all(|task| task.id != id) {
            self.0.push(BackgroundTask { id: id.to_owned(), work, state: BackgroundState::Running });
        }
    }

    pub(super) fn end(&mut self, id: &str, status: &str) {
        let is_stopped = ["killed", "stopped", "cancelled", "canceled"].contains(&status);
        let state = if is_stopped { BackgroundState::Stopped } else { BackgroundState::Ended };
        if let Some(task) = self.0.iter_mut().find(|task| task.id == id) {
            task.state = state;
        }
    }

    /// A result came: what was stopped before it, the agent knows of.
    pub(super) fn settle(&mut self) {
        for task in self.0.iter_mut().filter(|task| task.state == BackgroundState::Stopped) {
            task.state = BackgroundState::Ended;
        }
    }

    pub(super) fn has_subagent(&self) -> bool {
        self.0.iter().any(|task| task.work.is_subagent && task.state == BackgroundState::Running)
    }

    pub(super) fn is_running(&self, id: &str) -> bool {
        self.0.iter().any(|task| task.id == id && task.state == BackgroundState::Running)
    }

    /// Returns what did not come to its end.
    pub(super) fn into_cut_off(self) -> Vec<CutOff> {
        self.0.into_iter().filter(|task| task.state != BackgroundState::Ended).map(|task| task.work).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_stopped_before_a_result_is_no_loss() {
        let work = |is_subagent| CutOff { what: "x".to_owned(), is_subagent };
        for (steps, expected) in [
            ("b", 1),
            ("b completed", 0),
            ("b failed", 0),
            ("b killed", 1),
            ("b killed result", 0),
            ("b result", 1),
            ("b result killed", 1),
            ("killed", 0),
        ] {
            let mut background = Background::default();
            for step in steps.split(' ') {
                match step {
                    "b" => background.begin("1", work(false)),
                    "result" => background.settle(),
                    status => background.end("1", status),
                }
            }
            assert_eq!(background.into_cut_off().len(), expected, "{steps}");
        }
        let mut background = Background::default();
        background.begin("1", work(true));
        assert!(background.has_subagent());
        background.end("1", "completed");
        assert!(!background.has_subagent());
    }
}

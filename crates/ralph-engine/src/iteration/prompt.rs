//! The prompt of an iteration, with what a command of the user's summarized for it.

use anyhow::Result;
use tasklist::TaskList;

use ralph_core::progress::historical;
use ralph_core::record::{Event, Task};
use ralph_store::Begin;

use crate::ask::ask;
use crate::loop_inputs::LoopInputs;
use crate::memory::{Reason, RecalledHistory};
use crate::prompting::{Failures, Prompt, PromptRequest, Prompting};
use crate::recorder::Recorder;
use crate::running::Past;
use crate::settings::history_summarizer;
use crate::shown::warn;
use crate::units::{self, UnitTasks};

/// The input of the summarizing command, as a multiple of the prompt's budget.
const MATERIAL_FACTOR: usize = 4;

impl Past {
    /// Returns the prompt of an iteration, with what happened before.
    pub fn prompt(
        &mut self,
        inputs: &LoopInputs<'_>,
        recorder: &mut Recorder<'_>,
        say: &mut dyn FnMut(&Event),
        baseline_failure: Option<String>,
        (tasks, task, unit): (&TaskList, &Task, Option<&UnitTasks>),
        begin: &Begin,
    ) -> Result<Prompt> {
        self.forget_cleared(inputs)?;
        let summary = self.summarize_history(inputs, recorder, say, task)?;
        let is_taken_back = begin.restored_to.is_some();
        let reopened = units::reopened(unit.filter(|_| !is_taken_back), &self.history);
        let failures = Failures::before(&task.name, &self.history);
        let turn = PromptRequest {
            tasks,
            task,
            unit,
            reopened: &reopened,
            iteration: begin.iteration,
            failures,
            is_taken_back,
            session: Some(&recorder.place().session),
        };
        let prompting =
            Prompting { hints: begin.hints.clone(), baseline_failure, ..inputs.prompting(&self.progress) };
        prompting.prompt(&turn, inputs.store, &mut self.memory, summary)
    }

    /// Forgets the iterations before the last `memory clear`.
    pub fn forget_cleared(&mut self, inputs: &LoopInputs<'_>) -> Result<()> {
        if self.memory.is_cleared_since(inputs.store)? {
            self.progress.clear();
        }
        Ok(())
    }

    /// Returns the summary that a command of the user's makes of the older iterations, or `None` if they are used as they are.
    fn summarize_history(
        &mut self,
        inputs: &LoopInputs<'_>,
        recorder: &mut Recorder<'_>,
        say: &mut dyn FnMut(&Event),
        task: &Task,
    ) -> Result<Option<RecalledHistory>> {
        let Some(command) = history_summarizer(&inputs.config.settings) else { return Ok(None) };
        let config = inputs.config;
        let budget = config.settings.history_budget;
        // The command sees more than the prompt has room for.
        let material = budget.saturating_mul(MATERIAL_FACTOR);
        let (memory, session) = (&mut self.memory, Some(&recorder.place().session));
        let recalled = memory.material(inputs.store, task, session, material, config)?;
        let Some(mut recalled) = recalled.filter(|recalled| !recalled.context.text.is_empty()) else {
            return Ok(None);
        };
        let question = historical::question(&recalled.context, task, budget);
        match ask(inputs, recorder, command, &question)? {
            Ok(answer) => {
                recalled.context = historical::summarized(recalled.context, &answer, budget);
                Ok(Some(recalled))
            }
            Err(reason) => {
                warn(say, format!("older iterations are not summarized: {reason}"));
                Ok(None)
            }
        }
    }
}

/// Reports which older iterations the prompt contains, or why none where they were asked for, and what it has no room for.
pub(super) fn announce_memory(say: &mut dyn FnMut(&Event), iteration: u32, task: &str, prompt: &Prompt) {
    let nothing = prompt.recalled.as_ref().and_then(RecalledHistory::why_nothing);
    let included = prompt.recalled.as_ref().filter(|recalled| {
        !recalled.context.text.is_empty() || nothing.is_some() && recalled.why == Reason::Asked
    });
    if let Some(recalled) = included {
        say(&Event::HistoryIncluded {
            iteration,
            task: task.to_owned(),
            mode: recalled.mode.as_str(),
            failures: match recalled.why {
                Reason::Asked => None,
                Reason::Failures(failures) => Some(failures),
            },
            scanned: recalled.context.scanned,
            tokens: recalled.context.tokens(),
            nothing,
        });
    }
    if let Some(warning) = &prompt.warning {
        warn(say, warning.clone());
    }
}

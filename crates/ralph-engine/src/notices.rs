//! What of an iteration concerns a person who is not there: events of their own, at once and not at the end.

use ralph_core::record::{Event, FlagCode, FlaggedTask, Iteration, Need, NeedKind, Outcome, Remains};
use ralph_core::view::left_behind;

use super::running::Running;

impl Running<'_> {
    /// Says what a recorded iteration means to a person.
    pub(super) fn notify(&mut self, iteration: &Iteration) {
        let task = iteration.task.as_deref().unwrap_or_default();
        let is_for_another = self.not_refused(task).is_some();
        for event in notices(iteration, is_for_another) {
            (self.say)(&event);
        }
    }

    /// Says that only a person can settle this, which is no task.
    pub(super) fn need(&mut self, why: NeedKind, cause: String) {
        let (session, iteration) = (self.session.id.clone(), Some(self.state.next));
        (self.say)(&Event::NeedsYou(Need { why, task: None, cause: Some(cause), session, iteration }));
    }
}

/// Returns what an iteration means to a person. `is_for_another`: its provider refused the task, and another agent can try it.
fn notices(iteration: &Iteration, is_for_another: bool) -> Vec<Event> {
    let (session, number) = (&iteration.session, iteration.iteration);
    let mut remains = Remains {
        session: session.clone(),
        iteration: number,
        git_state: iteration.git_state.clone(),
        user_files: iteration.user_files.clone(),
    };
    remains.git_state.retain(|state| state.since == number);
    remains.user_files.retain(|file| file.since == number);
    let mut events: Vec<Event> = left_behind(&remains).into_iter().map(Event::NeedsYou).collect();
    let Some(task) = &iteration.task else { return events };
    if iteration.outcome == Outcome::Skipped {
        events.push(Event::TaskGivenUp {
            session: session.clone(),
            iteration: number,
            task: task.clone(),
            cause: iteration.cause.clone(),
        });
    }
    let flags: Vec<FlagCode> = iteration.flags().iter().map(|flag| flag.code).collect();
    let why = match (iteration.outcome, iteration.failure_class) {
        (Outcome::Skipped, _) if flags.contains(&FlagCode::Judge) => Some(NeedKind::Accept),
        (Outcome::Failure, Some(class)) if class.is_question() => Some(NeedKind::Asks),
        (Outcome::Failure, Some(class)) if class.is_policy() && !is_for_another => Some(NeedKind::Policy),
        _ => None,
    };
    events.extend(why.map(|why| {
        let cause = iteration.cause.clone();
        let task = Some(task.clone());
        Event::NeedsYou(Need { why, task, cause, session: session.clone(), iteration: Some(number) })
    }));
    if iteration.outcome == Outcome::Success && !flags.is_empty() {
        events.push(Event::Flagged(FlaggedTask {
            task: task.clone(),
            session: session.clone(),
            iteration: Some(number),
            flags,
            text: iteration.flags().first().map(|flag| flag.text.clone()),
        }));
    }
    events
}

#[cfg(test)]
mod tests {
    use ralph_core::record::{Evidence, FailureClass, Flag, samples};

    use super::*;

    #[test]
    fn an_iteration_says_what_concerns_a_person_and_nothing_else() {
        let flag = |code| Flag { code, text: "x".to_owned(), paths: Vec::new() };
        for (outcome, class, code, is_for_another, expected) in [
            (Outcome::Success, None, None, false, &[][..]),
            (Outcome::Success, None, Some(FlagCode::Skip), false, &["flagged"]),
            (Outcome::Failure, None, Some(FlagCode::Skip), false, &[]),
            (Outcome::Failure, Some(FailureClass::Question), None, false, &["needs_you asks"]),
            (Outcome::Failure, Some(FailureClass::Policy), None, false, &["needs_you policy"]),
            (Outcome::Failure, Some(FailureClass::Policy), None, true, &[]),
            (Outcome::Failure, Some(FailureClass::Other), None, false, &[]),
            (Outcome::Interrupted, Some(FailureClass::Quota), None, false, &[]),
            (Outcome::Skipped, None, None, false, &["task_given_up"]),
            (Outcome::Skipped, None, Some(FlagCode::Judge), false, &["task_given_up", "needs_you accept"]),
        ] {
            let mut iteration = samples::iteration(outcome);
            let flags = code.map(flag).into_iter().collect();
            iteration.evidence = Some(Box::new(Evidence { flags, ..Evidence::default() }));
            iteration.failure_class = class;
            let found: Vec<String> = notices(&iteration, is_for_another)
                .iter()
                .map(|event| {
                    let json = serde_json::to_value(event).unwrap();
                    let why = json["why"].as_str().map_or(String::new(), |why| format!(" {why}"));
                    format!("{}{why}", event.kind())
                })
                .collect();
            assert_eq!(found, expected, "{outcome:?} {class:?} {code:?}");
        }
    }
}

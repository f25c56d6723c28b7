//! Chooses what a prompt has of earlier iterations, before anything of it is written.

use std::collections::HashSet;

use crate::record::{Iteration, Outcome, SessionId, Task};

use super::attempts;
use super::historical::HistoricalContext;
use super::learnings::{learnings, same};
use super::markdown::push_list;
use super::selection::Selection;
use super::strategy::Progress;
use super::wording::by_result;

/// Maximum number of lines about attempts.
const MAX_OTHERS: usize = 10;

/// How much of each part a prompt has.
#[derive(Debug, Clone, Copy)]
pub struct SelectionSettings {
    /// True if the last attempt at the task is described.
    pub has_last_attempt: bool,
    /// Length of the end of its final message.
    pub final_message_chars: usize,
    /// Maximum number of lines.
    pub learnings: usize,
}

impl<'a> Selection<'a> {
    /// Chooses for the next prompt for `task`, whose iterations of `session` are called by their number alone.
    pub fn new(
        past: &'a [Iteration],
        task: &'a Task,
        session: Option<&SessionId>,
        progress: &Progress,
        settings: SelectionSettings,
    ) -> Self {
        let (learned, learnings) = learnings(past, task, settings.learnings).into_iter().unzip();
        let attempts =
            if settings.has_last_attempt { attempts::places(past, &task.name) } else { Vec::new() };
        // What was interrupted says less than what failed before it.
        let whole = attempts.iter().find(|&&place| past[place].outcome != Outcome::Interrupted);
        let mut selection = Self {
            final_message_chars: settings.final_message_chars,
            learnings,
            said: HashSet::clone(&learned),
            learned,
            last: whole.or(attempts.first()).copied(),
            attempts,
            ..Self::empty(past, Some(task), session)
        };
        if let Some(last) = selection.last {
            selection.say(last, &attempts::final_message(&selection, &past[last]));
        }
        for (of, number, words) in progress.words() {
            let Some(of) = of.or(session) else { continue };
            let place = past.iter().rposition(|one| one.session == *of && one.iteration == number);
            selection.in_progress.push((of.clone(), number));
            if let Some(place) = place.filter(|_| !selection.points_to_last(of, number)) {
                selection.say(place, &words);
            }
        }
        for (place, line) in attempts::other_lines(&selection) {
            let is_in_progress = selection.is_described(place);
            let mut tried = past[place].approaches.iter();
            if !is_in_progress || !tried.all(|tried| selection.has_said(tried)) {
                // What the history has of an attempt, it has whole.
                if is_in_progress {
                    selection.say(place, &line);
                }
                selection.others.push((place, line));
            }
        }
        selection
    }

    /// Returns the attempts at the task that neither the progress nor the history describes, a line each.
    pub fn other_attempts(&self, history: Option<&HistoricalContext>) -> String {
        let is_described = |place: usize| history.is_some_and(|history| history.describes(&self.past[place]));
        let lines = self.others.iter().filter(|(place, _)| !is_described(*place)).take(MAX_OTHERS);
        let lines: String = lines.map(|(_, line)| format!("- {line}\n")).collect();
        let mut text = String::new();
        push_list(&mut text, "Other attempts, newest first", &lines);
        text
    }

    /// Takes in that the prompt has these words about an iteration.
    fn say(&mut self, place: usize, words: &str) {
        // Quotations may lack the marks of code and emphasis.
        let plain = |text: &str| same(text).replace('`', "").replace("**", "");
        let words = plain(words);
        let iteration = &self.past[place];
        let stated = iteration.learnings.iter().chain(&iteration.decisions).cloned();
        let tried = iteration.approaches.iter().flat_map(|whole| {
            let (worked, failed) = by_result(whole);
            worked.into_iter().chain(failed).chain([whole.clone()])
        });
        self.said
            .extend(stated.chain(tried).filter(|text| words.contains(&plain(text))).map(|text| same(&text)));
    }
}

#[cfg(test)]
mod tests {
    use super::super::samples::iteration;
    use super::*;
    use crate::progress::historical::{self, HistorySettings, Mode};
    use crate::progress::{ExcerptMode, IterationContext};
    use crate::record::{Exit, Strategy};

    /// Attempts at T004, of two causes in turn.
    fn past() -> Vec<Iteration> {
        let attempt = |(number, cause): (u32, &str)| Iteration {
            iteration: number,
            attempt: Some(number),
            cause: Some(cause.to_owned()),
            approaches: vec![format!("way {number}")],
            decisions: vec!["JSON, for jq".to_owned()],
            learnings: Vec::new(),
            ..iteration(Outcome::Failure)
        };
        (1..).zip(["y", "x", "y", "x"]).map(attempt).collect()
    }

    /// Returns what `choose` finds in a prompt whose progress has these iterations, with the end of each message.
    fn chosen<T>(in_progress: &[(u32, &str)], choose: impl Fn(&Selection<'_>) -> T) -> T {
        let past = past();
        let mut progress = Progress::new(Strategy::SystemCaptured, 5, 500, ExcerptMode::Excerpt);
        for (number, words) in in_progress {
            progress.record(IterationContext {
                session: None,
                iteration: *number,
                task: Some("T004".to_owned()),
                attempt: None,
                outcome: Outcome::Failure,
                is_left_open: false,
                cause: None,
                validation_command: Some("make".to_owned()),
                exit: Exit { code: 1, reason: None },
                agent_failure: None,
                stdout: String::new(),
                stderr: String::new(),
                cut: failure_excerpt::Cut::default(),
                directory: String::new(),
                duration_ms: 1,
                files_changed: Vec::new(),
                final_message: (*words).to_owned(),
                summary: None,
            });
        }
        let task = Task { name: "T004".to_owned(), id: None, text: String::new(), phase: None, story: None };
        let settings = SelectionSettings { has_last_attempt: true, final_message_chars: 1500, learnings: 0 };
        choose(&Selection::new(&past, &task, Some(&past[3].session), &progress, settings))
    }

    const LINES: [&str; 3] = [
        "- Iteration 3 (attempt 3) failed: y; tried: way 3\n",
        "- Iteration 2 (attempt 2) failed in the same way as #4; tried: way 2\n",
        "- Iteration 1 (attempt 1) failed in the same way as #3; tried: way 1\n",
    ];

    #[test]
    fn an_attempt_has_a_line_if_neither_progress_nor_history_has_all_of_it() {
        let lines = |in_progress: &[(u32, &str)], history: bool| {
            chosen(in_progress, |selection| {
                let settings = HistorySettings { mode: Mode::Smart, ..HistorySettings::default() };
                let history = history.then(|| historical::context(selection, &settings, ""));
                selection.other_attempts(history.as_ref())
            })
        };
        let some = |lines: &[&str]| format!("\nOther attempts, newest first:\n\n{}", lines.concat());
        assert_eq!(lines(&[], false), some(&LINES));
        assert_eq!(lines(&[(3, "Tried:\n- `way 3`"), (2, "I looked.")], false), some(&LINES[1..]));
        assert_eq!(lines(&[(2, "I looked.")], true), some(&LINES[1..2]));
        assert_eq!(lines(&[], true), "");
    }

    #[test]
    fn what_a_part_has_of_the_words_of_an_agent_is_said_and_what_was_cut_off_is_not() {
        for (words, expected) in
            [("Decisions:\n- **JSON**, for `jq`", [true, true]), ("I looked.", [false, true])]
        {
            // The line of an attempt has what it tried.
            let said = chosen(&[(3, words)], |of| ["JSON, for jq.", "Way 3"].map(|text| of.has_said(text)));
            assert_eq!(said, expected, "{words}");
        }
        // Without the progress the history has it.
        assert!(chosen(&[], |of| !of.has_said("way 3") && of.is_described(3)));
    }
}

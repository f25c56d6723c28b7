//! Renders failures, and what was tried in vain before a success, as text for the prompt.

use std::collections::HashSet;

use crate::progress::learnings::same;
use crate::progress::markdown::{cut, one_line};
use crate::progress::wording::by_result;
use crate::record::Iteration;

use super::chosen::ChosenIterations;
use super::likeness::{Likeness, key};
use super::piece::{Piece, Section, Shorter, push, push_indented, tried};
use super::pieces::{LINE, MAX_LINES, TITLE, Writer, decisive, files};
use super::settings::{Mode, Repeats};

/// Longest line that stands for a whole failure, in characters.
const SHORT_LINE: usize = 120;

impl Writer<'_> {
    fn of_which_task(&self, place: usize) -> String {
        let iteration = &self.past[place];
        let title = cut(iteration.task_text.as_deref().unwrap_or_default(), TITLE);
        format!("({} - {title}, failed)", one_line(iteration.task.as_deref().unwrap_or("no task")))
    }

    /// Returns the failures of the task, newest first; those of one cause as one piece.
    pub(super) fn failures_of_the_task(&self, chosen: &ChosenIterations) -> Vec<Piece> {
        let mut groups: Vec<(Option<u64>, Vec<usize>)> = Vec::new();
        for &place in &chosen.own {
            let key = key(&self.past[place]);
            let is_merged = self.settings.repeats == Repeats::Merged && self.settings.mode == Mode::Smart;
            match groups.iter_mut().find(|(known, _)| is_merged && key.is_some() && *known == key) {
                Some((_, places)) => places.push(place),
                None => groups.push((key, vec![place])),
            }
        }
        let likeness = Likeness { score: 1.0, why: vec!["the same task".to_owned()] };
        groups.into_iter().filter_map(|(_, places)| self.failure(&places, &likeness)).collect()
    }

    /// Returns failures of one cause, the newest first, as one piece. Of those that the prompt has already, only what it lacks:
    /// `None` if that is nothing.
    pub(super) fn failure(&self, places: &[usize], likeness: &Likeness) -> Option<Piece> {
        let (told, new): (Vec<usize>, Vec<usize>) =
            places.iter().copied().partition(|&place| self.told.has(&self.past[place]));
        let place = new.first().or(places.first()).copied()?;
        let newest = &self.past[place];
        let is_own = newest.task.as_ref() == Some(&self.task.name);
        let how = if is_own { "(failed)".to_owned() } else { self.of_which_task(place) };
        let front = format!("**{}** {how}:\n", self.name(newest));
        let tries = if self.settings.approaches { self.tries(places, place) } else { Vec::new() };
        let mut seen = HashSet::new();
        let lessons = places.iter().flat_map(|&place| &self.past[place].learnings);
        let lessons: Vec<&String> = lessons
            .filter(|lesson| seen.insert(same(lesson)) && !self.told.says(lesson))
            .take(MAX_LINES)
            .collect();
        if new.is_empty() && tries.is_empty() && lessons.is_empty() {
            return None;
        }
        let mut lines = format!("{front}{}", tried(&tries));
        let mut rest = String::new();
        match (told.first(), new.split_first()) {
            // The cause stands there.
            (Some(&told), Some(_)) => {
                let same = format!("Failed in the same way as {}", self.lower(told));
                push(&mut lines, &same);
                push(&mut rest, &same);
            }
            (Some(_), None) => {}
            (None, _) => {
                push(&mut lines, &format!("Failed because: {}", one_line(&newest.cause())));
                push_indented(&mut lines, newest.facts.excerpt.trim());
                push(&mut rest, &format!("Failed because: {}", decisive(newest, LINE)));
            }
        }
        if let [_, earlier @ ..] = &new[..]
            && !earlier.is_empty()
        {
            let same = format!("The same failure came in {} too", self.names(earlier));
            push(&mut lines, &same);
            push(&mut rest, &same);
        }
        if !new.is_empty() {
            if let Some(files) = files(newest) {
                push(&mut lines, &format!("Files touched: {files}"));
            }
            self.push_words(&mut lines, newest);
        }
        for lesson in lessons {
            push(&mut lines, &format!("Lesson: {}", cut(lesson, LINE)));
        }
        lines.push('\n');
        rest.push('\n');
        let line = format!("**{}** {how}: {}\n\n", self.name(newest), decisive(newest, SHORT_LINE));
        let section = if is_own { Section::FailedApproaches } else { Section::SimilarFailures };
        let shorter = Some(Shorter { front, tries, rest, line }).filter(|_| !new.is_empty());
        let iterations = new.iter().map(|&place| self.key(place)).collect();
        Some(Piece { iterations, shorter, ..self.piece(section, place, likeness, lines) })
    }

    /// Returns what was tried in vain in these iterations, each thing once, and nothing that the prompt has already. What was
    /// tried in `newest` needs no name.
    fn tries(&self, places: &[usize], newest: usize) -> Vec<(String, String)> {
        let mut seen = HashSet::new();
        let mut tries = Vec::new();
        for &place in places {
            let when = if place == newest { String::new() } else { format!(" in {}", self.lower(place)) };
            let is_told = self.told.has(&self.past[place]);
            let failed = self.past[place].approaches.iter().flat_map(|text| by_result(text).1);
            let new = failed.filter(|text| seen.insert(same(text)) && !(is_told && self.told.says(text)));
            tries.extend(new.map(|text| (when.clone(), cut(&text, LINE))));
        }
        tries
    }

    /// Returns what an iteration tried without effect before it succeeded.
    pub(super) fn tried_before_success(&self, place: usize, likeness: &Likeness) -> Option<Piece> {
        let iteration = &self.past[place];
        let tries = if self.settings.approaches { self.tries(&[place], place) } else { Vec::new() };
        if tries.is_empty() {
            return None;
        }
        let is_own = iteration.task.as_ref() == Some(&self.task.name);
        let section = if is_own { Section::FailedApproaches } else { Section::SimilarFailures };
        let task = one_line(iteration.task.as_deref().unwrap_or("no task"));
        let lines =
            format!("**{}** ({task}, before it succeeded):\n{}\n", self.name(iteration), tried(&tries));
        Some(self.piece(section, place, likeness, lines))
    }

    /// Returns what worked in an attempt that failed all the same.
    pub(super) fn worked_in_failure(&self, place: usize, likeness: &Likeness) -> Option<Piece> {
        let iteration = &self.past[place];
        let worked = self.worked(iteration);
        if worked.is_empty() {
            return None;
        }
        let task = one_line(iteration.task.as_deref().unwrap_or("no task"));
        let mut lines = format!("**{}** ({task}, in an attempt that failed):\n", self.name(iteration));
        for text in &worked {
            push(&mut lines, &format!("Worked: {text}"));
        }
        lines.push('\n');
        Some(self.piece(Section::SuccessfulPatterns, place, likeness, lines))
    }

    /// Returns the approaches of an iteration that worked.
    pub(super) fn worked(&self, iteration: &Iteration) -> Vec<String> {
        if !self.settings.approaches {
            return Vec::new();
        }
        let worked = iteration.approaches.iter().flat_map(|text| by_result(text).0);
        worked.filter(|text| !self.told.says(text)).take(MAX_LINES).map(|text| cut(&text, LINE)).collect()
    }
}

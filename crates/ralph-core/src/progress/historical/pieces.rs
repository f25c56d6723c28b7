//! Renders older iterations as text for the prompt, each fact once.

use std::collections::{HashMap, HashSet};
use std::fmt::Write as _;

use crate::history::failure_key::FailureKey;
use crate::progress::attempts::failed_commands;
use crate::progress::learnings::{FROM_A_FAILURE, same};
use crate::progress::markdown::{code, cut, one_line};
use crate::progress::selection::Selection;
use crate::progress::wording::{by_result, first_sentence};
use crate::record::{Claim, Iteration, Outcome, SessionId, Task, listed_files};

use super::piece::{Piece, Section, Shorter, push, push_indented, tried};
use super::select::{Kind, LeftOut, changed_files, is_failure_of};
use super::settings::{HistorySettings, Mode};

/// Maximum length of a quoted line, in characters.
const MAX_LINE_CHARS: usize = 300;
/// Longest line that stands for a whole failure, in characters.
const MAX_SHORT_LINE_CHARS: usize = 120;
/// Longest text of a task in a heading, in characters.
const MAX_TITLE_CHARS: usize = 80;
const MAX_FILES: usize = 8;
const MAX_LINES: usize = 12;

pub(super) struct Writer<'a> {
    /// What the prompt has before the history.
    pub selection: &'a Selection<'a>,
    pub past: &'a [Iteration],
    pub task: &'a Task,
    pub settings: &'a HistorySettings,
    /// What successes learned and decided.
    pub proven: HashSet<String>,
    /// The failures that the prompt describes elsewhere, newest first.
    pub described: Vec<(usize, FailureKey)>,
}

impl Writer<'_> {
    /// Returns the heading of a section, without the row of failures behind it.
    pub(super) fn title(&self, section: Section) -> String {
        match section {
            Section::FailedApproaches => format!(
                "#### What did not work: {} ({})\n\n",
                one_line(&self.task.name),
                cut(&self.task.text, MAX_TITLE_CHARS)
            ),
            Section::SimilarFailures => "#### What did not work in other tasks\n\n".to_owned(),
            Section::SuccessfulPatterns => "#### What worked\n\n".to_owned(),
            Section::KeyDecisions => "#### Decisions\n\n".to_owned(),
        }
    }

    pub(super) fn heading(&self, section: Section) -> String {
        let mut heading = self.title(section);
        let mut places = (0..self.past.len())
            .rev()
            .filter(|place| is_failure_of(&self.past[*place], &self.task.name))
            .peekable();
        let cause = places.peek().and_then(|&newest| FailureKey::of(&self.past[newest]));
        let streak: Vec<usize> = places
            .take_while(|place| cause.is_some() && FailureKey::of(&self.past[*place]) == cause)
            .collect();
        if section == Section::FailedApproaches && streak.len() > 1 {
            let (times, names) = (streak.len(), self.name(&streak));
            writeln!(
                heading,
                "The last {times} tries failed in the same way ({names}): what they have in common does not help.\n"
            )
            .expect("writing to a String cannot fail");
        }
        heading
    }

    /// Returns all candidates, most important first.
    pub(super) fn pieces(&self, chosen: &[(usize, Kind)]) -> Vec<Piece> {
        let mut pieces = Vec::new();
        // The newest are no reason to tell of a failure that has nothing to do with the task.
        let has_newest = self.settings.is_asked || self.settings.mode == Mode::Full;
        if self.settings.failures {
            let own = chosen.iter().map(|(place, _)| *place).filter(|place| self.is_own_failure(*place));
            for group in self.by_cause(own) {
                pieces.extend(self.failure(&group, Kind::Task));
            }
            let others = chosen
                .iter()
                .filter(|(place, _)| self.past[*place].outcome == Outcome::Failure)
                .filter(|(place, _)| !self.is_own_failure(*place))
                .filter(|(_, kind)| *kind != Kind::Newest || has_newest);
            let kinds: HashMap<usize, Kind> = others.copied().collect();
            let places = chosen.iter().map(|(place, _)| *place).filter(|place| kinds.contains_key(place));
            for group in self.by_cause(places) {
                pieces.extend(self.failure(&group, kinds[&group[0]]));
            }
        }
        for &(place, kind) in chosen {
            if self.past[place].outcome != Outcome::Failure && self.settings.failures {
                pieces.extend(self.tried_before_success(place, kind));
            }
            if !self.is_own_failure(place) || self.settings.failures {
                pieces.extend(self.success(place, kind));
            }
        }
        if self.settings.decisions {
            pieces.extend(self.decisions(chosen));
        }
        pieces
    }

    fn is_own_failure(&self, place: usize) -> bool {
        is_failure_of(&self.past[place], &self.task.name)
    }

    /// Returns failures, the newest first; those of one cause together.
    fn by_cause(&self, places: impl Iterator<Item = usize>) -> Vec<Vec<usize>> {
        let mut groups: Vec<(Option<FailureKey>, Vec<usize>)> = Vec::new();
        for place in places {
            let key = self.key_if_merged(place);
            match groups.iter_mut().find(|(known, _)| key.is_some() && *known == key) {
                Some((_, places)) => places.push(place),
                None => groups.push((key, vec![place])),
            }
        }
        groups.into_iter().map(|(_, places)| places).collect()
    }

    /// Returns failures of one cause, the newest first, as one piece. Of those that the prompt has already, only what it lacks:
    /// `None` if that is nothing.
    fn failure(&self, places: &[usize], kind: Kind) -> Option<Piece> {
        let (told, new): (Vec<usize>, Vec<usize>) =
            places.iter().copied().partition(|&place| self.selection.is_described(place));
        let place = new.first().or(places.first()).copied()?;
        let newest = &self.past[place];
        let named = if new.is_empty() { places } else { &new };
        let name = self.name(named);
        let is_ticked = newest.false_claim.contains(&Claim::Ticked);
        let end = if is_ticked { "failed; the agent had ticked its box" } else { "failed" };
        let (section, how) = match kind {
            Kind::Task => (Section::FailedApproaches, end.to_owned()),
            _ => (Section::SimilarFailures, format!("{}, {end}", self.tasks_of(named))),
        };
        let front = format!("**{name}** ({how}):\n");
        let tries = self.tries(places, named);
        let mut seen = HashSet::new();
        let lessons = places.iter().flat_map(|&place| &self.past[place].learnings);
        let lessons: Vec<&String> = lessons
            .filter(|lesson| seen.insert(same(lesson)) && !self.selection.has_said(lesson))
            .take(MAX_LINES)
            .collect();
        if new.is_empty() && tries.is_empty() && lessons.is_empty() {
            return None;
        }
        let mut lines = format!("{front}{}", tried(&tries));
        let mut rest = String::new();
        if !new.is_empty() {
            if let Some(told) = told.first().copied().or_else(|| self.told_alike(place)) {
                // The cause stands there.
                let text = format!("Failed in the same way as {}", self.name(&[told]));
                push(&mut lines, &text);
                push(&mut rest, &text);
            } else {
                push(&mut lines, &format!("Failed because: {}", one_line(&newest.cause())));
                push_indented(&mut lines, newest.facts.excerpt.trim());
                push(&mut rest, &format!("Failed because: {}", decisive(newest, MAX_LINE_CHARS)));
            }
            push_files(&mut lines, newest, "Files touched");
            self.push_words(&mut lines, newest);
        }
        for lesson in lessons {
            push(&mut lines, &format!("Lesson: {}", cut(lesson, MAX_LINE_CHARS)));
        }
        lines.push('\n');
        rest.push('\n');
        let line = format!("**{name}** ({how}): {}\n\n", decisive(newest, MAX_SHORT_LINE_CHARS));
        let is_whole =
            self.settings.approaches || new.iter().all(|&place| self.past[place].approaches.is_empty());
        let shorter = Some(Shorter { front, tries, rest, line }).filter(|_| !new.is_empty());
        let iterations = new.iter().map(|&place| self.key(place)).collect();
        Some(Piece { name, iterations, is_whole, shorter, ..self.piece(section, place, kind, lines) })
    }

    /// Returns a failure of the same cause that the prompt describes elsewhere, whatever its task.
    fn told_alike(&self, place: usize) -> Option<usize> {
        let key = self.key_if_merged(place)?;
        self.described.iter().find(|(_, other)| *other == key).map(|(place, _)| *place)
    }

    /// Returns the key by which a failure is merged with others, if it is.
    fn key_if_merged(&self, place: usize) -> Option<FailureKey> {
        let is_merged = self.settings.merge_repeats && self.settings.mode == Mode::Smart;
        FailureKey::of(&self.past[place]).filter(|_| is_merged)
    }

    /// Returns what was tried in vain in these iterations, each thing once, and nothing that the prompt has already. Where one
    /// alone is `named` above, that one needs no name.
    fn tries(&self, places: &[usize], named: &[usize]) -> Vec<(String, String)> {
        let mut seen = HashSet::new();
        let mut tries = Vec::new();
        for &place in places.iter().filter(|_| self.settings.approaches) {
            let when = if named == [place] { String::new() } else { format!(" in {}", self.name(&[place])) };
            let is_told = self.selection.is_described(place);
            let failed = self.past[place].approaches.iter().flat_map(|text| by_result(text).1);
            let new =
                failed.filter(|text| seen.insert(same(text)) && !(is_told && self.selection.has_said(text)));
            tries.extend(new.map(|text| (when.clone(), cut(&text, MAX_LINE_CHARS))));
        }
        tries
    }

    /// Returns what an iteration tried without effect before it succeeded.
    fn tried_before_success(&self, place: usize, kind: Kind) -> Option<Piece> {
        let iteration = &self.past[place];
        let tries = self.tries(&[place], &[place]);
        if tries.is_empty() || is_failure_of(iteration, &self.task.name) {
            return None;
        }
        let section = if kind == Kind::Task { Section::FailedApproaches } else { Section::SimilarFailures };
        let name = self.name(&[place]);
        let lines = format!("**{name}** ({}, before it succeeded):\n{}\n", task_of(iteration), tried(&tries));
        Some(self.piece(section, place, kind, lines))
    }

    /// Returns what an iteration did to succeed, or what worked in one that failed all the same.
    fn success(&self, place: usize, kind: Kind) -> Option<Piece> {
        let iteration = &self.past[place];
        let has_failed = iteration.outcome == Outcome::Failure;
        let is_new = !self.selection.is_described(place);
        let mut lines = String::new();
        if !has_failed && is_new {
            let how = first_sentence(&iteration.facts.final_message);
            // In full mode, the whole message follows.
            if self.settings.mode == Mode::Smart && !how.is_empty() {
                push(&mut lines, &format!("How: {}", cut(&how, MAX_LINE_CHARS)));
            }
            push_files(&mut lines, iteration, "Files");
            self.push_words(&mut lines, iteration);
        }
        // In full mode, that message has it, here or below what failed.
        let has_message =
            is_new && self.settings.mode == Mode::Full && (!has_failed || self.settings.failures);
        let message = if has_message { iteration.facts.final_message.as_str() } else { "" };
        let is_missing = |text: &str| !self.selection.has_said(text) && !message.contains(text);
        let worked = iteration.approaches.iter().flat_map(|text| by_result(text).0);
        let worked = worked.filter(|text| self.settings.approaches && is_missing(text));
        let worked = worked.take(MAX_LINES).map(|text| format!("Worked: {}", cut(&text, MAX_LINE_CHARS)));
        let useful = iteration.learnings.iter().filter(|text| !has_failed && is_missing(text));
        let useful = useful.take(MAX_LINES).map(|text| format!("Reusable: {}", cut(text, MAX_LINE_CHARS)));
        for line in worked.chain(useful) {
            push(&mut lines, &line);
        }
        if lines.is_empty() {
            return None;
        }
        let how = if has_failed {
            format!("{}, in an attempt that failed", task_of(iteration))
        } else {
            task_and_title(iteration)
        };
        let lines = format!("**{}** ({how}):\n{lines}\n", self.name(&[place]));
        Some(self.piece(Section::SuccessfulPatterns, place, kind, lines))
    }

    /// Returns what was decided, each thing once and the newest first. What no success repeated says so.
    fn decisions(&self, chosen: &[(usize, Kind)]) -> Vec<Piece> {
        let mut newest = chosen.to_vec();
        newest.sort_by_key(|(place, _)| std::cmp::Reverse(*place));
        let mut seen = HashSet::new();
        let mut pieces = Vec::new();
        for (place, kind) in newest {
            let iteration = &self.past[place];
            for decision in iteration.decisions.iter().filter(|text| !self.selection.has_said(text)) {
                let key = same(decision);
                let is_of_failure = iteration.outcome == Outcome::Failure && !self.proven.contains(&key);
                if pieces.len() < MAX_LINES && seen.insert(key) {
                    let mark = if is_of_failure { format!(" ({FROM_A_FAILURE})") } else { String::new() };
                    let name = self.name(&[place]);
                    let text = format!("- {name}: \"{}\"{mark}\n", cut(decision, MAX_LINE_CHARS));
                    pieces.push(self.piece(Section::KeyDecisions, place, kind, text));
                }
            }
        }
        pieces
    }

    /// In full mode, what the agent said and which of its commands failed.
    fn push_words(&self, lines: &mut String, iteration: &Iteration) {
        if self.settings.mode != Mode::Full {
            return;
        }
        let commands = failed_commands(&iteration.facts);
        if !commands.is_empty() {
            push(lines, "Commands that failed:");
            commands
                .lines()
                .for_each(|line| writeln!(lines, "  {line}").expect("writing to a String cannot fail"));
        }
        let message = iteration.facts.final_message.trim();
        if !message.is_empty() {
            push(lines, "Final message:");
            push_indented(lines, message);
        }
    }

    /// Returns the session and the number of an iteration.
    fn key(&self, place: usize) -> (SessionId, u32) {
        (self.past[place].session.clone(), self.past[place].iteration)
    }

    fn piece(&self, section: Section, place: usize, kind: Kind, text: String) -> Piece {
        let iteration = &self.past[place];
        Piece {
            section,
            session: iteration.session.clone(),
            iteration: iteration.iteration,
            task: iteration.task.clone(),
            score: kind.score(),
            why: vec![kind.as_str().to_owned()],
            is_included: false,
            tokens: 0,
            place,
            name: self.name(&[place]),
            iterations: vec![self.key(place)],
            text,
            is_whole: true,
            shorter: None,
        }
    }

    /// Returns what a prompt calls the iterations at these places.
    fn name(&self, places: &[usize]) -> String {
        let mut places = places.to_vec();
        places.sort_unstable();
        self.selection.names.list(&places.iter().map(|&place| &self.past[place]).collect::<Vec<_>>())
    }

    /// Returns the task of these failures with its title, or the names of all of them.
    fn tasks_of(&self, places: &[usize]) -> String {
        let mut tasks: Vec<String> = places.iter().map(|&place| task_of(&self.past[place])).collect();
        tasks.sort_unstable();
        tasks.dedup();
        if tasks.len() > 1 { tasks.join(", ") } else { task_and_title(&self.past[places[0]]) }
    }

    /// Returns the names of iterations that are left out, by reason.
    pub(super) fn left_out(&self, mut places: Vec<(usize, LeftOut)>) -> Vec<(LeftOut, String)> {
        places.sort_by_key(|(_, why)| *why);
        let of_one = places.chunk_by(|(_, why), (_, next)| why == next);
        let named = of_one.map(|group| {
            let places: Vec<usize> = group.iter().map(|(place, _)| *place).collect();
            (group[0].1, self.name(&places))
        });
        named.collect()
    }
}

fn push_files(lines: &mut String, iteration: &Iteration, title: &str) {
    let files: Vec<&str> = changed_files(iteration).collect();
    let (named, more) = listed_files(&files, MAX_FILES);
    let names: Vec<String> = named.iter().map(|file| code(file)).chain(more).collect();
    if !names.is_empty() {
        push(lines, &format!("{title}: {}", names.join(", ")));
    }
}

fn task_of(iteration: &Iteration) -> String {
    one_line(iteration.task.as_deref().unwrap_or("no task"))
}

fn task_and_title(iteration: &Iteration) -> String {
    let title = cut(iteration.task_text.as_deref().unwrap_or_default(), MAX_TITLE_CHARS);
    format!("{} - {title}", task_of(iteration))
}

/// Returns the line that says most of a failure.
fn decisive(iteration: &Iteration, max_chars: usize) -> String {
    let facts = &iteration.facts;
    let error = facts.errors.first().map(|error| {
        let parts = [&error.id, &error.code, &error.message].into_iter().chain(&error.values);
        parts.filter(|part| !part.is_empty()).map(|part| one_line(part)).collect::<Vec<_>>().join(", ")
    });
    let line = facts.excerpt.lines().rev().find(|line| !line.trim().is_empty());
    match error.as_deref().filter(|text| !text.is_empty()).or(line) {
        Some(text) => code(&cut(text, max_chars)),
        None => one_line(&iteration.cause()),
    }
}

//! Renders older iterations as text for the prompt.

use std::collections::{BTreeMap, HashSet};
use std::fmt::Write as _;

use crate::progress::attempts::{failed_commands, name_of};
use crate::progress::learnings::{FROM_A_FAILURE, same};
use crate::progress::markdown::{code, cut, one_line};
use crate::progress::wording::first_sentence;
use crate::record::{Claim, Iteration, Outcome, SessionId, Task, listed_files};

use super::already_told::AlreadyTold;
use super::chosen::ChosenIterations;
use super::likeness::{Likeness, is_failure_of, key};
use super::piece::{Piece, Section, push, push_indented};
use super::settings::{HistorySettings, Mode};

/// Maximum length of a quoted line, in characters.
pub(super) const LINE: usize = 300;
/// Longest text of a task in a heading.
pub(super) const TITLE: usize = 80;
const MAX_FILES: usize = 8;
const MAX_CLUSTERS: usize = 3;
pub(super) const MAX_LINES: usize = 12;
/// Of more iterations, the newest are named and the others counted.
const MAX_NAMES: usize = 5;

/// How much a heading says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Headings {
    Full,
    /// What it is over, and nothing else.
    Bare,
}

pub(super) struct Writer<'a> {
    pub past: &'a [Iteration],
    pub task: &'a Task,
    pub session: Option<&'a SessionId>,
    pub settings: &'a HistorySettings,
    /// What the prompt says elsewhere.
    pub told: &'a AlreadyTold,
}

impl Writer<'_> {
    pub(super) fn heading(&self, section: Section, headings: Headings) -> String {
        match section {
            Section::FailedApproaches => {
                let title = cut(&self.task.text, TITLE);
                let streak = self.streak();
                let repeated = if streak.len() < 2 || headings == Headings::Bare {
                    String::new()
                } else {
                    format!(
                        "The last {} tries failed in the same way ({}): what they have in common does not help.\n\n",
                        streak.len(),
                        self.names(&streak)
                    )
                };
                format!("#### What did not work: {} ({title})\n\n{repeated}", one_line(&self.task.name))
            }
            Section::SimilarFailures => "#### What did not work in other tasks\n\n".to_owned(),
            Section::Clusters => "#### What did not work more than once\n\n".to_owned(),
            Section::SuccessfulPatterns => "#### What worked\n\n".to_owned(),
            Section::KeyDecisions => "#### Decisions\n\n".to_owned(),
            Section::Warnings => "#### Warnings\n\n".to_owned(),
        }
    }

    /// Returns all candidates, most important first.
    pub(super) fn pieces(&self, chosen: &ChosenIterations) -> Vec<Piece> {
        let mut pieces = Vec::new();
        if self.settings.failures {
            pieces.extend(self.failures_of_the_task(chosen));
            pieces.extend(
                chosen.similar.iter().filter_map(|(place, likeness)| self.failure(&[*place], likeness)),
            );
            pieces.extend(self.clusters());
            let failed = chosen.own.iter().copied().chain(chosen.similar.iter().map(|(place, _)| *place));
            let likeness = |place| self.likeness_in(chosen, place);
            pieces.extend(failed.filter_map(|place| self.worked_in_failure(place, &likeness(place))));
        }
        for (place, likeness) in &chosen.successes {
            pieces.extend(self.tried_before_success(*place, likeness));
            pieces.extend(self.success(*place, likeness));
        }
        if self.settings.decisions {
            pieces.extend(self.decisions(chosen));
        }
        pieces.extend(self.warnings(chosen));
        pieces
    }

    /// In full mode, what the agent said and which of its commands failed.
    pub(super) fn push_words(&self, lines: &mut String, iteration: &Iteration) {
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

    fn success(&self, place: usize, likeness: &Likeness) -> Option<Piece> {
        let iteration = &self.past[place];
        let title = cut(iteration.task_text.as_deref().unwrap_or_default(), TITLE);
        let task = one_line(iteration.task.as_deref().unwrap_or("no task"));
        let mut lines = format!("**{}** ({task} - {title}):\n", self.name(iteration));
        let bare = lines.len();
        if !self.told.has(iteration) {
            let how = first_sentence(&iteration.facts.final_message);
            // In full mode, the whole message follows.
            if self.settings.mode == Mode::Smart && !how.is_empty() && !self.told.says(&how) {
                push(&mut lines, &format!("How: {}", cut(&how, LINE)));
            }
            if let Some(files) = files(iteration) {
                push(&mut lines, &format!("Files: {files}"));
            }
            self.push_words(&mut lines, iteration);
        }
        self.worked(iteration).iter().for_each(|text| push(&mut lines, &format!("Worked: {text}")));
        let useful = iteration.learnings.iter().filter(|text| !is_warning(text) && !self.told.says(text));
        useful.take(MAX_LINES).for_each(|text| push(&mut lines, &format!("Reusable: {}", cut(text, LINE))));
        if lines.len() == bare {
            return None;
        }
        lines.push('\n');
        Some(self.piece(Section::SuccessfulPatterns, place, likeness, lines))
    }

    /// Failures of other tasks that came more than once, the most frequent first.
    fn clusters(&self) -> Vec<Piece> {
        let mut clusters: BTreeMap<u64, Vec<usize>> = BTreeMap::new();
        for (place, iteration) in self.past.iter().enumerate() {
            if iteration.outcome == Outcome::Failure
                && let Some(key) = key(iteration)
            {
                clusters.entry(key).or_default().push(place);
            }
        }
        let is_of_others = |places: &[usize]| {
            let is_told = |place: &usize| self.told.has(&self.past[*place]);
            let is_other = |place: &&usize| self.past[**place].task.as_ref() != Some(&self.task.name);
            places.iter().any(|place| is_other(&place)) && !places.last().is_some_and(is_told)
        };
        let mut clusters: Vec<Vec<usize>> =
            clusters.into_values().filter(|places| places.len() > 1 && is_of_others(places)).collect();
        clusters.sort_by_key(|places| {
            (std::cmp::Reverse(places.len()), std::cmp::Reverse(places.last().copied()))
        });
        clusters.truncate(MAX_CLUSTERS);
        let render = |places: Vec<usize>| {
            let newest = places.last().copied().expect("a cluster has members");
            let times = places.len();
            let mut tasks: Vec<&str> =
                places.iter().filter_map(|&place| self.past[place].task.as_deref()).collect();
            tasks.sort_unstable();
            tasks.dedup();
            let tasks: Vec<String> = tasks.into_iter().map(one_line).collect();
            let text =
                format!("- {times} times ({}): {}\n", tasks.join(", "), decisive(&self.past[newest], LINE));
            let likeness = Likeness { score: 0.7, why: vec![format!("the same failure {times} times")] };
            self.piece(Section::Clusters, newest, &likeness, text)
        };
        clusters.into_iter().map(render).collect()
    }

    fn decisions(&self, chosen: &ChosenIterations) -> Vec<Piece> {
        let mut seen = HashSet::new();
        let mut pieces = Vec::new();
        for place in chosen.all().into_iter().rev() {
            for decision in &self.past[place].decisions {
                let is_new = seen.insert(same(decision)) && !self.told.says(decision);
                if is_new && pieces.len() < MAX_LINES {
                    let name = self.name(&self.past[place]);
                    let mark = self.mark_of_failure(place, decision);
                    let text = format!("- {name}: \"{}\"{mark}\n", cut(decision, LINE));
                    pieces.push(self.piece(
                        Section::KeyDecisions,
                        place,
                        &self.likeness_in(chosen, place),
                        text,
                    ));
                }
            }
        }
        pieces
    }

    /// Warnings of iterations that are not included already, and findings of the loop itself.
    fn warnings(&self, chosen: &ChosenIterations) -> Vec<Piece> {
        let mut seen = HashSet::new();
        let mut pieces: Vec<Piece> = Vec::new();
        for place in chosen.all().into_iter().rev() {
            let iteration = &self.past[place];
            let is_included =
                |section: &[(usize, Likeness)]| section.iter().any(|(included, _)| *included == place);
            let is_failure_included =
                self.settings.failures && (chosen.own.contains(&place) || is_included(&chosen.similar));
            let is_success_included = is_included(&chosen.successes);
            let learnings = iteration
                .learnings
                .iter()
                .filter(|text| !is_failure_included && (!is_success_included || is_warning(text)))
                .filter(|text| !self.told.says(text));
            let marked = |text: &String| cut(text, LINE) + &self.mark_of_failure(place, text);
            let mut texts: Vec<String> = learnings.map(marked).collect();
            if iteration.false_claim.contains(&Claim::Ticked)
                && iteration.task.as_ref() == Some(&self.task.name)
            {
                texts.push(format!(
                    "In {} a box was ticked though the result was no success ({}): it was opened again",
                    self.lower(place),
                    one_line(&iteration.cause())
                ));
            }
            for text in texts {
                if seen.insert(text.to_lowercase()) && pieces.len() < MAX_LINES {
                    let text = format!("- {text}\n");
                    pieces.push(self.piece(Section::Warnings, place, &self.likeness_in(chosen, place), text));
                }
            }
        }
        pieces
    }

    /// Returns the mark of what was learned or decided in an attempt that failed, if no success repeated it.
    fn mark_of_failure(&self, place: usize, text: &str) -> String {
        let has_it = |one: &Iteration| {
            one.learnings.iter().chain(&one.decisions).any(|other| same(other) == same(text))
        };
        let is_proven = self.past.iter().any(|one| one.outcome == Outcome::Success && has_it(one));
        let is_of_failure = self.past[place].outcome == Outcome::Failure && !is_proven;
        if is_of_failure { format!(" ({FROM_A_FAILURE})") } else { String::new() }
    }

    fn likeness_in(&self, chosen: &ChosenIterations, place: usize) -> Likeness {
        let scored = chosen.similar.iter().chain(&chosen.successes).find(|(known, _)| *known == place);
        match scored {
            Some((_, likeness)) => likeness.clone(),
            None if chosen.own.contains(&place) => {
                Likeness { score: 1.0, why: vec!["the same task".to_owned()] }
            }
            None => Likeness { score: self.settings.threshold.min(0.7), why: vec!["recent".to_owned()] },
        }
    }

    /// Returns the newest failures of the task that are of one cause, oldest first.
    fn streak(&self) -> Vec<usize> {
        let own = |iteration: &Iteration| is_failure_of(iteration, &self.task.name);
        let mut places = (0..self.past.len()).rev().filter(|&place| own(&self.past[place]));
        let Some(newest) = places.next() else { return Vec::new() };
        let cause = key(&self.past[newest]);
        let mut streak: Vec<usize> =
            places.take_while(|&place| cause.is_some() && key(&self.past[place]) == cause).collect();
        streak.reverse();
        streak.push(newest);
        streak
    }

    /// Returns the session and the number of an iteration.
    pub(super) fn key(&self, place: usize) -> (SessionId, u32) {
        (self.past[place].session.clone(), self.past[place].iteration)
    }

    pub(super) fn piece(&self, section: Section, place: usize, likeness: &Likeness, text: String) -> Piece {
        let iteration = &self.past[place];
        Piece {
            section,
            session: iteration.session.clone(),
            iteration: iteration.iteration,
            task: iteration.task.clone(),
            score: likeness.score,
            why: likeness.why.clone(),
            is_included: false,
            place,
            iterations: vec![self.key(place)],
            text,
            shorter: None,
        }
    }

    pub(super) fn name(&self, iteration: &Iteration) -> String {
        name_of(iteration, self.session)
    }

    pub(super) fn lower(&self, place: usize) -> String {
        self.name(&self.past[place]).replacen('I', "i", 1)
    }

    pub(super) fn names(&self, places: &[usize]) -> String {
        let mut places = places.to_vec();
        places.sort_unstable();
        let earlier = places.len().saturating_sub(MAX_NAMES);
        let mut names: Vec<String> = places[earlier..].iter().map(|&place| self.lower(place)).collect();
        if earlier > 0 {
            names.insert(0, format!("{earlier} earlier"));
        }
        match names.split_last() {
            Some((last, rest)) if !rest.is_empty() => format!("{} and {last}", rest.join(", ")),
            _ => names.join(""),
        }
    }
}

/// Returns what a context begins with.
pub(super) fn head(scanned: usize) -> String {
    let plural = if scanned == 1 { "" } else { "s" };
    format!("### Previous Iteration Insights ({scanned} iteration{plural} scanned)\n\n")
}

/// Returns the line that says most of a failure.
pub(super) fn decisive(iteration: &Iteration, most: usize) -> String {
    let facts = &iteration.facts;
    let error = facts.errors.first().map(|error| {
        let parts = [&error.id, &error.code, &error.message].into_iter().chain(&error.values);
        parts.filter(|part| !part.is_empty()).map(|part| one_line(part)).collect::<Vec<_>>().join(", ")
    });
    let line = || facts.excerpt.lines().rev().find(|line| !line.trim().is_empty()).map(str::to_owned);
    match error.filter(|text| !text.is_empty()).or_else(line) {
        Some(text) => code(&cut(&text, most)),
        None => one_line(&iteration.cause()),
    }
}

pub(super) fn files(iteration: &Iteration) -> Option<String> {
    let is_own = |file: &&String| !file.ends_with("tasks.md") && !file.ends_with("progress.txt");
    let files: Vec<&String> = iteration.files_changed.iter().filter(is_own).collect();
    let (named, more) = listed_files(&files, MAX_FILES);
    let names: Vec<String> = named.iter().map(|file| code(file)).chain(more).collect();
    (!names.is_empty()).then(|| names.join(", "))
}

/// Returns true if the text is a warning.
fn is_warning(text: &str) -> bool {
    let text = text.to_lowercase();
    ["avoid", "never ", "do not", "don't", "must not", "careful", "beware", "warning", "breaks", "fails"]
        .iter()
        .any(|word| text.contains(word))
}

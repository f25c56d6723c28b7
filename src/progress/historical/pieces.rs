//! Renders older iterations as text for the prompt.

use std::collections::{BTreeMap, HashSet};
use std::fmt::Write as _;

use crate::progress::attempts::{failed_commands, name_of};
use crate::progress::markdown::{code, cut, fenced, one_line};
use crate::record::{Claim, Iteration, Outcome, SessionId, Task};

use super::chosen::ChosenIterations;
use super::likeness::{Likeness, is_failure_of, key};
use super::piece::{Piece, Section, Shorter, push, tried};
use super::settings::{HistorySettings, Mode, Repeats};

/// Maximum length of a quoted line, in characters.
const LINE: usize = 300;
/// Longest text of a task in a heading.
const TITLE: usize = 80;
const MAX_FILES: usize = 8;
const MAX_CLUSTERS: usize = 3;
const MAX_LINES: usize = 12;
/// Of more iterations, the newest are named and the others counted.
const MAX_NAMES: usize = 5;
/// Longest line that stands for a whole failure, in characters.
const SHORT_LINE: usize = 120;

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
            pieces.extend(chosen.similar.iter().map(|(place, likeness)| self.failure(&[*place], likeness)));
            pieces.extend(self.clusters());
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

    fn of_which_task(&self, place: usize) -> String {
        let iteration = &self.past[place];
        let title = cut(iteration.task_text.as_deref().unwrap_or_default(), TITLE);
        format!("({} - {title}, failed)", one_line(iteration.task.as_deref().unwrap_or("no task")))
    }

    /// Returns the failures of the task, newest first; those of one cause as one piece.
    fn failures_of_the_task(&self, chosen: &ChosenIterations) -> Vec<Piece> {
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
        groups.into_iter().map(|(_, places)| self.failure(&places, &likeness)).collect()
    }

    /// Failures of one cause, the newest first, as one piece.
    fn failure(&self, places: &[usize], likeness: &Likeness) -> Piece {
        let newest = &self.past[places[0]];
        let is_own = newest.task.as_ref() == Some(&self.task.name);
        let how = if is_own { "(failed)".to_owned() } else { self.of_which_task(places[0]) };
        let front = format!("**{}** {how}:\n", self.name(newest));
        let tries = if self.settings.approaches { self.tries(places) } else { Vec::new() };
        let mut lines = format!("{front}{}", tried(&tries));
        let mut rest = String::new();
        push(&mut lines, &format!("Failed because: {}", one_line(&newest.cause())));
        let excerpt = newest.facts.excerpt.trim();
        if !excerpt.is_empty() {
            fenced(excerpt)
                .lines()
                .for_each(|line| writeln!(lines, "  {line}").expect("writing to a String cannot fail"));
        }
        push(&mut rest, &format!("Failed because: {}", decisive(newest, LINE)));
        if let [_, earlier @ ..] = places
            && !earlier.is_empty()
        {
            let same = format!("The same failure came in {} too", self.names(earlier));
            push(&mut lines, &same);
            push(&mut rest, &same);
        }
        if let Some(files) = files(newest) {
            push(&mut lines, &format!("Files touched: {files}"));
        }
        self.push_words(&mut lines, newest);
        let mut seen = HashSet::new();
        let lessons = places.iter().flat_map(|&place| &self.past[place].learnings);
        for lesson in lessons.filter(|lesson| seen.insert(same(lesson))).take(MAX_LINES) {
            push(&mut lines, &format!("Lesson: {}", cut(lesson, LINE)));
        }
        lines.push('\n');
        rest.push('\n');
        let line = format!("**{}** {how}: {}\n\n", self.name(newest), decisive(newest, SHORT_LINE));
        let section = if is_own { Section::FailedApproaches } else { Section::SimilarFailures };
        let shorter = Some(Shorter { front, tries, rest, line });
        Piece { shorter, ..self.piece(section, places[0], likeness, lines) }
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
            let fenced = fenced(message);
            fenced
                .lines()
                .for_each(|line| writeln!(lines, "  {line}").expect("writing to a String cannot fail"));
        }
    }

    /// Returns what was tried in these iterations, each thing once.
    fn tries(&self, places: &[usize]) -> Vec<(String, String)> {
        let mut seen = HashSet::new();
        let mut tries = Vec::new();
        for &place in places {
            let when = if place == places[0] { String::new() } else { format!(" in {}", self.lower(place)) };
            let new = self.past[place].approaches.iter().filter(|text| seen.insert(same(text)));
            tries.extend(new.map(|text| (when.clone(), cut(text, LINE))));
        }
        tries
    }

    /// Returns what an iteration tried without effect before it succeeded.
    fn tried_before_success(&self, place: usize, likeness: &Likeness) -> Option<Piece> {
        let iteration = &self.past[place];
        let tries = if self.settings.approaches { self.tries(&[place]) } else { Vec::new() };
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

    fn success(&self, place: usize, likeness: &Likeness) -> Option<Piece> {
        let iteration = &self.past[place];
        let title = cut(iteration.task_text.as_deref().unwrap_or_default(), TITLE);
        let task = one_line(iteration.task.as_deref().unwrap_or("no task"));
        let mut lines = format!("**{}** ({task} - {title}):\n", self.name(iteration));
        let bare = lines.len();
        if let Some(files) = files(iteration) {
            push(&mut lines, &format!("Files: {files}"));
        }
        self.push_words(&mut lines, iteration);
        let useful = iteration.learnings.iter().filter(|text| !is_warning(text));
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
            places.iter().any(|&place| self.past[place].task.as_ref() != Some(&self.task.name))
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
                if seen.insert(decision.to_lowercase()) && pieces.len() < MAX_LINES {
                    let name = self.name(&self.past[place]);
                    let text = format!("- {name}: \"{}\"\n", cut(decision, LINE));
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
                .filter(|text| !is_failure_included && (!is_success_included || is_warning(text)));
            let mut texts: Vec<String> = learnings.map(|text| cut(text, LINE)).collect();
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

    fn piece(&self, section: Section, place: usize, likeness: &Likeness, text: String) -> Piece {
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
            text,
            shorter: None,
        }
    }

    fn name(&self, iteration: &Iteration) -> String {
        name_of(iteration, self.session)
    }

    fn lower(&self, place: usize) -> String {
        self.name(&self.past[place]).replacen('I', "i", 1)
    }

    fn names(&self, places: &[usize]) -> String {
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
fn decisive(iteration: &Iteration, most: usize) -> String {
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

fn files(iteration: &Iteration) -> Option<String> {
    let is_own = |file: &&String| !file.ends_with("tasks.md") && !file.ends_with("progress.txt");
    let files: Vec<&String> = iteration.files_changed.iter().filter(is_own).collect();
    let mut names: Vec<String> = files.iter().take(MAX_FILES).map(|file| code(file)).collect();
    if files.len() > MAX_FILES {
        names.push(format!("{} more", files.len() - MAX_FILES));
    }
    (!names.is_empty()).then(|| names.join(", "))
}

/// Returns true if the text is a warning.
fn is_warning(text: &str) -> bool {
    let text = text.to_lowercase();
    ["avoid", "never ", "do not", "don't", "must not", "careful", "beware", "warning", "breaks", "fails"]
        .iter()
        .any(|word| text.contains(word))
}

/// Equal for words that say the same.
fn same(text: &str) -> String {
    one_line(text).trim_end_matches('.').to_lowercase()
}

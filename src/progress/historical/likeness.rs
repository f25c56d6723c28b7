//! How much an earlier iteration has to do with the task at hand, from 0 to 1, and why.

use std::collections::{HashMap, HashSet};
use std::hash::{DefaultHasher, Hash, Hasher};

use crate::record::{Iteration, Outcome, Task};

/// Words beyond these many of one text are not compared.
const MAX_COMPARED_WORDS: usize = 120;

/// What one piece of evidence is worth at most.
const OF_THE_TASK: f64 = 1.0;
const SAME_FAILURE: f64 = 0.95;
const SAME_SPOT: f64 = 0.85;
const SAME_TEST: f64 = 0.85;
const SAME_FILE: f64 = 0.75;
const RECENT: f64 = 0.7;
const SAME_WORDS: f64 = 0.9;
/// What each further piece of evidence adds.
const FURTHER: f64 = 0.02;

/// A judgement, and what led to it.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Likeness {
    pub score: f64,
    /// In words, what counted most first.
    pub why: Vec<String>,
}

impl Likeness {
    fn of(mut evidence: Vec<(f64, String)>) -> Self {
        evidence.sort_by(|one, other| other.0.total_cmp(&one.0));
        let Some((best, _)) = evidence.first() else { return Self::default() };
        let further = f64::from(u32::try_from(evidence.len() - 1).unwrap_or(u32::MAX)) * FURTHER;
        Self {
            score: if *best >= OF_THE_TASK { OF_THE_TASK } else { (best + further).min(0.99) },
            why: evidence.into_iter().map(|(_, why)| why).collect(),
        }
    }
}

/// What is known of the task at hand, to compare others with.
pub(super) struct Problem<'a> {
    task: &'a Task,
    /// Its newest failure.
    last: Option<&'a Iteration>,
    words: Words,
    task_words: HashSet<u64>,
    files: HashSet<&'a str>,
    rarity: Rarity,
}

impl<'a> Problem<'a> {
    pub(super) fn new(task: &'a Task, past: &'a [Iteration]) -> Self {
        let is_own = |iteration: &&Iteration| is_failure_of(iteration, &task.name);
        let last = past.iter().rev().find(is_own);
        // Without a failure to compare with, word frequencies are not needed.
        let rarity = if last.is_some() { Rarity::of(past) } else { Rarity::default() };
        let words = last.map(|last| rarity.weighed(last)).unwrap_or_default();
        let files = last.iter().flat_map(|last| failing_files(last).chain(own_files(last))).collect();
        Self { task, last, words, task_words: words_of(&task.text).collect(), files, rarity }
    }

    /// Returns how a failure has to do with it.
    pub(super) fn failure(&self, other: &Iteration) -> Likeness {
        if other.task.as_ref() == Some(&self.task.name) {
            return Likeness::of(vec![(OF_THE_TASK, "the same task".to_owned())]);
        }
        let mut evidence = Vec::new();
        if let Some(last) = self.last {
            match (key(last), key(other)) {
                (Some(one), Some(two)) if one == two => {
                    evidence.push((SAME_FAILURE, "the same failure".to_owned()));
                }
                _ => {}
            }
            if let (Some(one), Some(two)) = (&last.facts.levels, &other.facts.levels)
                && one.strict != two.strict
                && one.loose == two.loose
            {
                evidence.push((SAME_SPOT, "the same kind of error in the same file".to_owned()));
            }
            if let Some(id) = ids(last).find(|id| ids(other).any(|other| other == *id)) {
                evidence.push((SAME_TEST, format!("the same test: {id}")));
            }
            let cosine = self.words.cosine(&self.rarity.weighed(other));
            if cosine >= 0.3 {
                evidence.push((SAME_WORDS * cosine, format!("the same words ({cosine:.2})")));
            }
        }
        evidence.extend(self.shared(other));
        Likeness::of(evidence)
    }

    /// Returns how a success has to do with it.
    pub(super) fn success(&self, other: &Iteration, is_recent: bool) -> Likeness {
        let mut evidence: Vec<_> = self.shared(other).collect();
        if is_recent {
            evidence.push((RECENT, "recent".to_owned()));
        }
        if self.task.phase.is_some() && self.task.phase == other.phase {
            evidence.push((RECENT / 2.0, "the same phase".to_owned()));
        }
        Likeness::of(evidence)
    }

    /// Returns what tasks of any kind can share: files, and the words of what they ask for.
    fn shared(&self, other: &Iteration) -> impl Iterator<Item = (f64, String)> {
        let is_named = |file: &&str| {
            let name = file.rsplit('/').next().unwrap_or(file);
            self.files.contains(*file) || (name.len() > 3 && self.task.text.contains(name))
        };
        let file = failing_files(other).chain(own_files(other)).find(is_named);
        let text = other.task_text.as_deref().unwrap_or_default();
        let likeness = overlap(&self.task_words, &words_of(text).collect());
        let file = file.map(|file| (SAME_FILE, format!("the same file: {file}")));
        let words =
            (likeness >= 0.2).then(|| (SAME_WORDS * likeness, format!("a similar task ({likeness:.2})")));
        file.into_iter().chain(words)
    }
}

/// Returns true if the box of `task` stayed open in an iteration that was not interrupted.
pub(super) fn is_failure_of(iteration: &Iteration, task: &str) -> bool {
    iteration.task.as_deref() == Some(task)
        && match iteration.outcome {
            Outcome::Failure => true,
            // Another box was ticked than the one that was asked for.
            Outcome::Success => {
                !iteration.closed.is_empty() && !iteration.closed.iter().any(|closed| closed == task)
            }
            Outcome::Skipped | Outcome::Interrupted | Outcome::Later(_) => false,
        }
}

/// Equal for failures of the same cause: validations with one fingerprint, or agents that failed with one class and the same words,
/// numbers, times and paths aside. `None` if nothing is known of the cause: an open box says nothing about another one.
pub(super) fn key(iteration: &Iteration) -> Option<u64> {
    let mut hasher = DefaultHasher::new();
    // A question has a fingerprint of its own.
    let class = iteration.failure_class.filter(|class| !class.is_question());
    let has_agent_failed = iteration.exit.agent.is_some_and(|code| code != 0) || class.is_some();
    match &iteration.fingerprint {
        _ if has_agent_failed => {
            iteration.failure_class.hash(&mut hasher);
            let cause = iteration.cause();
            let words = cause.split_whitespace().filter(|word| !word.contains(['/', '\\']));
            words.for_each(|word| word.replace(|c: char| c.is_ascii_digit(), "").hash(&mut hasher));
        }
        Some(fingerprint) => fingerprint.hash(&mut hasher),
        None => return None,
    }
    Some(hasher.finish())
}

fn ids(iteration: &Iteration) -> impl Iterator<Item = &str> {
    iteration.facts.errors.iter().map(|error| error.id.as_str()).filter(|id| !id.is_empty())
}

fn failing_files(iteration: &Iteration) -> impl Iterator<Item = &str> {
    iteration.facts.errors.iter().map(|error| error.file.as_str()).filter(|file| !file.is_empty())
}

/// Returns the files that an iteration changed, but for the loop's own.
fn own_files(iteration: &Iteration) -> impl Iterator<Item = &str> {
    let is_own = |file: &&str| !file.ends_with("tasks.md") && !file.ends_with("progress.txt");
    iteration.files_changed.iter().map(String::as_str).filter(is_own)
}

/// Words of at least three letters or digits, whatever their case.
fn words_of(text: &str) -> impl Iterator<Item = u64> {
    text.split(|c: char| !c.is_alphanumeric() && c != '_').filter(|word| word.len() > 2).map(|word| {
        let mut hasher = DefaultHasher::new();
        word.chars().flat_map(char::to_lowercase).for_each(|c| c.hash(&mut hasher));
        hasher.finish()
    })
}

/// Returns the words that describe the cause of a failure.
fn failure_words(iteration: &Iteration) -> Vec<u64> {
    let facts = &iteration.facts;
    let mut words: Vec<u64> = if facts.errors.is_empty() {
        words_of(&facts.excerpt).take(MAX_COMPARED_WORDS).collect()
    } else {
        let texts = facts
            .errors
            .iter()
            .flat_map(|error| [&error.id, &error.code, &error.message].into_iter().chain(&error.values));
        texts.flat_map(|text| words_of(text)).take(MAX_COMPARED_WORDS).collect()
    };
    words.sort_unstable();
    words.dedup();
    words
}

fn overlap(one: &HashSet<u64>, other: &HashSet<u64>) -> f64 {
    let common = one.intersection(other).count();
    let all = one.len() + other.len() - common;
    if all == 0 { 0.0 } else { ratio(common) / ratio(all) }
}

fn ratio(count: usize) -> f64 {
    f64::from(u32::try_from(count).unwrap_or(u32::MAX))
}

/// How much a word says: what is in every failure says nothing.
#[derive(Debug, Default)]
struct Rarity {
    weights: HashMap<u64, f64>,
}

impl Rarity {
    fn of(past: &[Iteration]) -> Self {
        let failures = past.iter().filter(|iteration| iteration.outcome == Outcome::Failure);
        let mut counts: HashMap<u64, usize> = HashMap::new();
        let mut number = 0;
        for failure in failures {
            number += 1;
            for word in failure_words(failure) {
                *counts.entry(word).or_default() += 1;
            }
        }
        let weight = |count: usize| (ratio(number + 1) / ratio(count)).ln();
        Self { weights: counts.into_iter().map(|(word, count)| (word, weight(count))).collect() }
    }

    fn weighed(&self, iteration: &Iteration) -> Words {
        let weight = |word: u64| (word, self.weights.get(&word).copied().unwrap_or_default());
        Words(failure_words(iteration).into_iter().map(weight).collect())
    }
}

/// Words in order, each with its weight.
#[derive(Debug, Default)]
struct Words(Vec<(u64, f64)>);

impl Words {
    fn cosine(&self, other: &Self) -> f64 {
        let length = |words: &Self| words.0.iter().map(|(_, weight)| weight * weight).sum::<f64>().sqrt();
        let (mut product, mut ours, mut theirs) = (0.0, self.0.iter().peekable(), other.0.iter().peekable());
        while let (Some((one, weight)), Some((two, _))) = (ours.peek(), theirs.peek()) {
            match one.cmp(two) {
                std::cmp::Ordering::Less => drop(ours.next()),
                std::cmp::Ordering::Greater => drop(theirs.next()),
                std::cmp::Ordering::Equal => {
                    product += weight * weight;
                    ours.next();
                    theirs.next();
                }
            }
        }
        let lengths = length(self) * length(other);
        if lengths > 0.0 { product / lengths } else { 0.0 }
    }
}

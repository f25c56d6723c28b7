//! Numbers of iterations.

use std::io::{self, Write};

use ralph_core::history::captures::Captured;
use ralph_core::history::stats::{Cause, OutcomeCounts, Stats};

use super::ending::{attempts, cost};
use super::style::{counted, cut, duration, grouped, joined, listed, one_line};

/// Widest name or value of what was captured, in characters.
const CAPTURED_WIDTH: usize = 24;
/// How many causes that came back are shown, their widest words in characters, and how many tasks each names.
const CAUSES: usize = 3;
const CAUSE_WIDTH: usize = 60;
const MAX_TASKS: usize = 3;

/// Writes the numbers of all sessions.
pub fn write(out: &mut impl Write, stats: &Stats) -> io::Result<()> {
    let Stats { totals, counts, tokens, duration_ms, .. } = stats;
    let OutcomeCounts { runs, success, failure, repeated, .. } = counts;
    let sessions = counted(stats.sessions as u64, "session");
    writeln!(out, "{} in {sessions}: {success} succeeded, {failure} failed", attempts(totals))?;
    let again = stats.repeat_failure_rate.map(|rate| {
        let known = counted(stats.known_causes as u64, "failure");
        format!("{repeated} of {known} with a known cause had come before ({:.0} %)", rate * 100.0)
    });
    let causes = stats.causes.iter().take(CAUSES).map(came_back).enumerate();
    let causes = causes.map(|(at, words)| (if at == 0 { "came back" } else { "" }, Some(words)));
    let tokens = tokens.total().map(|total| {
        let each = total.checked_div(*runs as u64).unwrap_or_default();
        format!("{} ({} an attempt)", grouped(total), grouped(each))
    });
    let [time, agent, validation] = [duration_ms.total(), duration_ms.agent, duration_ms.validation]
        .map(|ms| duration(ms.unwrap_or_default()));
    let reruns = (stats.second_runs > 0).then(|| {
        let took = duration(duration_ms.second.unwrap_or_default());
        format!("{} of the validation, {took}", counted(stats.second_runs as u64, "second run"))
    });
    let flags = stats.flags.iter().map(|(code, times)| Some(format!("{code} {times}")));
    let facts = [
        ("tokens", tokens),
        ("cost", cost(&totals.cost)),
        ("time", Some(format!("{time} (agent {agent}, validation {validation})"))),
        ("reruns", reruns),
        ("flags", joined(flags, ", ")),
    ];
    let facts = [("repeated", again)].into_iter().chain(causes).chain(facts);
    let mut known = facts.filter_map(|(name, words)| Some((name, words?)));
    known.try_for_each(|(name, words)| writeln!(out, "{name:<9}  {words}"))
}

/// How often a cause came, of which tasks, and in its newest words.
fn came_back(cause: &Cause) -> String {
    let times = match cause.times {
        2 => "twice".to_owned(),
        times => format!("{times} times"),
    };
    let tasks = listed(&cause.tasks, MAX_TASKS).unwrap_or_else(|| "no task".to_owned());
    let words = cause
        .cause
        .as_deref()
        .map_or(String::new(), |words| format!(": {}", cut(&one_line(words), CAUSE_WIDTH)));
    format!("{times}, {tasks}{words}")
}

/// What the user's own rules found in the latest session.
pub fn write_captured(out: &mut impl Write, captured: &[Captured]) -> io::Result<()> {
    if captured.is_empty() {
        return Ok(());
    }
    writeln!(out, "\ncaptured in the latest session")?;
    writeln!(out, "  {:CAPTURED_WIDTH$}  {:>10}  first, last, min, max", "", "iterations")?;
    for Captured { name, iterations, first, last, min, max } in captured {
        let [name, first, last] = [name, first, last].map(|text| cut(&one_line(text), CAPTURED_WIDTH));
        let [min, max] = [min, max].map(|number| number.map_or("-".to_owned(), |number| number.to_string()));
        let values = [first, last, min, max].join(", ");
        writeln!(out, "  {name:CAPTURED_WIDTH$}  {iterations:>10}  {values}")?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use ralph_core::view::FeatureView;

    #[test]
    fn nothing_recorded_is_told_in_two_lines() {
        let mut out = Vec::new();
        write(&mut out, &Stats::of(&FeatureView::of(&[]))).unwrap();
        let text = String::from_utf8(out).unwrap();
        assert_eq!(text.lines().count(), 2, "{text}");
    }
}

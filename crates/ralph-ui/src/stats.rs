//! Numbers of iterations.

use std::io::{self, Write};

use ralph_core::history::captures::Captured;
use ralph_core::history::later_attempts::LaterAttempts;
use ralph_core::history::stats::{Counts, Stats};
use ralph_core::record::SessionTotals;

use super::ending::{attempts, cost};
use super::style::{counted, cut, duration, grouped, joined, one_line};

/// Widest name or value of what was captured, in characters.
const CAPTURED_WIDTH: usize = 24;

/// Writes the numbers of all sessions, whose records come to `totals`.
pub fn write(
    out: &mut impl Write,
    stats: &Stats,
    totals: &SessionTotals,
    later: LaterAttempts,
) -> io::Result<()> {
    let Stats { counts, tokens, duration_ms, .. } = stats;
    let Counts { runs, success, failure, repeated, .. } = counts;
    let sessions = counted(stats.sessions as u64, "session");
    writeln!(out, "{} in {sessions}: {success} succeeded, {failure} failed", attempts(totals))?;
    let again = stats
        .repeat_failure_rate
        .map(|rate| format!("{repeated} of the failures had come before ({:.0} %)", rate * 100.0));
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
    let flags = stats.flags.iter().map(|(code, times)| Some(format!("{times} {code}")));
    let facts = [
        ("repeated", again),
        ("retries", retries(later)),
        ("tokens", tokens),
        ("cost", cost(&totals.cost)),
        ("time", Some(format!("{time} (agent {agent}, validation {validation})"))),
        ("reruns", reruns),
        ("flags", joined(flags, ", ")),
    ];
    let mut known = facts.into_iter().filter_map(|(name, words)| Some((name, words?)));
    known.try_for_each(|(name, words)| writeln!(out, "{name:<9}  {words}"))
}

/// What the history in prompts brought and how long it was; `None` if nothing was tried again.
fn retries(later: LaterAttempts) -> Option<String> {
    let LaterAttempts { with_history, without, history_tokens } = later;
    let length = match (history_tokens, history_tokens.checked_div(with_history.success)) {
        (0, _) => String::new(),
        (all, Some(each)) => format!(" ({} tokens, {} a success)", grouped(all as u64), grouped(each as u64)),
        (all, None) => format!(" ({} tokens)", grouped(all as u64)),
    };
    let kinds = [
        (with_history, format!("with earlier attempts in the prompt{length}")),
        (without, "without earlier attempts in the prompt".to_owned()),
    ];
    let kinds = kinds.map(|(attempts, kind)| {
        (attempts.runs > 0).then(|| format!("{} of {} succeeded {kind}", attempts.success, attempts.runs))
    });
    joined(kinds, ", ")
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

    #[test]
    fn nothing_recorded_is_told_in_two_lines() {
        let mut out = Vec::new();
        write(&mut out, &Stats::of(&[]), &SessionTotals::default(), LaterAttempts::default()).unwrap();
        let text = String::from_utf8(out).unwrap();
        assert_eq!(text.lines().count(), 2, "{text}");
    }
}

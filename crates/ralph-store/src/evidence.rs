//! What an attempt was judged by, in the message of its record: trailers, and the text of its first flag.

use anyhow::{Context, Result};

use ralph_core::record::{FLAG_SEPARATOR, FLAGS_LINE, FlagCode, GoneHow, Iteration, TaskName, TestCounts};

use super::trailer_value::{known, names, number, optional};

/// Returns the trailers about what an iteration was judged by.
pub(super) fn trailers(iteration: &Iteration) -> Vec<(&'static str, String)> {
    let mut lines = Vec::new();
    if let Some(evidence) = &iteration.evidence {
        if let Some(tests) = &evidence.tests {
            let (passed, failed, skipped) = (known(tests.passed), known(tests.failed), known(tests.skipped));
            lines.push(("Tests", format!("passed={passed} failed={failed} skipped={skipped}")));
        }
        if !evidence.flags.is_empty() {
            let codes: Vec<&str> = evidence.flags.iter().map(|flag| flag.code.as_str()).collect();
            lines.push(("Flags", codes.join(",")));
        }
        optional(&mut lines, "Refused", evidence.refused.as_ref());
        optional(&mut lines, "Clean", evidence.clean.as_ref().map(|check| check.verdict).as_ref());
    }
    if !iteration.reopened.is_empty() {
        lines.push(("Reopened", iteration.reopened.join(",")));
    }
    if !iteration.gone.is_empty() {
        lines.push(("Gone", gone_words(iteration.gone.iter().map(|gone| (&gone.task, gone.how)))));
    }
    lines
}

/// `T003=attempt,T005=back`
pub(super) fn gone_words<'a>(gone: impl Iterator<Item = (&'a TaskName, GoneHow)>) -> String {
    gone.map(|(task, how)| format!("{task}={how}")).collect::<Vec<_>>().join(",")
}

/// Reads which work went or came back.
pub(super) fn gone(trailer: Option<&str>) -> Result<Vec<(TaskName, GoneHow)>> {
    let read = |item: &String| -> Result<(TaskName, GoneHow)> {
        let (task, how) = item.rsplit_once('=').with_context(|| format!("`{item}` is no task and how"))?;
        Ok((task.to_owned(), GoneHow::of_record(how)?))
    };
    names(trailer).iter().map(read).collect()
}

/// Reads the counts of tests back.
pub(super) fn tests(trailer: &str) -> Result<TestCounts> {
    Ok(TestCounts {
        passed: number(trailer, "passed")?,
        failed: number(trailer, "failed")?,
        skipped: number(trailer, "skipped")?,
    })
}

/// Reads the codes of the flags back.
pub(super) fn flags(trailer: Option<&str>) -> Result<Vec<FlagCode>> {
    names(trailer).iter().map(|code| FlagCode::of_record(code)).collect()
}

/// Returns the text of the first flag, from the first lines of the entry: its trailer has the codes alone.
pub(super) fn first_flag(message: &str) -> Option<String> {
    let mut lines = message.lines().skip(2).skip_while(|line| !line.starts_with("**Task**: ")).take(4);
    lines.find(|line| line.starts_with("**Status**: "))?;
    let flags = lines.next()?.strip_prefix(FLAGS_LINE)?;
    Some(flags.split(FLAG_SEPARATOR).next().unwrap_or_default().to_owned())
}

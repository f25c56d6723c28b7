//! What an attempt was judged by, in the message of its record: trailers, and the text of its first flag.

use anyhow::Result;

use ralph_core::record::{FLAG_SEPARATOR, FLAGS_LINE, FlagCode, Iteration, TestCounts, TrailerEvidence};

use super::message::Trailers;
use super::trailer_value::{Fields, known, names, optional};

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
    }
    if !iteration.reopened.is_empty() {
        lines.push(("Reopened", iteration.reopened.join(",")));
    }
    lines
}

/// Reads them back.
pub(super) fn read(message: &str, trailers: &Trailers<'_>) -> Result<TrailerEvidence> {
    let flags = names(trailers.find("Flags"));
    Ok(TrailerEvidence {
        tests: trailers.find("Tests").map(|tests| test_counts(&Fields::of(Some(tests)))).transpose()?,
        flags: flags.iter().map(|code| FlagCode::of_record(code)).collect::<Result<_>>()?,
        first_flag: first_flag(message),
        refused: trailers.find("Refused").map(FlagCode::of_record).transpose()?,
        reopened: names(trailers.find("Reopened")),
    })
}

/// Returns the text of the first flag, from the first lines of the entry: its trailer has the codes alone.
fn first_flag(message: &str) -> Option<String> {
    let mut lines = message.lines().skip(2).skip_while(|line| !line.starts_with("**Task**: ")).take(4);
    lines.find(|line| line.starts_with("**Status**: "))?;
    let flags = lines.next()?.strip_prefix(FLAGS_LINE)?;
    Some(flags.split(FLAG_SEPARATOR).next().unwrap_or_default().to_owned())
}

fn test_counts(fields: &Fields<'_>) -> Result<TestCounts> {
    Ok(TestCounts {
        passed: fields.number("passed")?,
        failed: fields.number("failed")?,
        skipped: fields.number("skipped")?,
    })
}

//! Output that is meant for programs, in the words that the same tool has for people: JSON, also a value a line, and `JUnit` XML.
//!
//! What is not known stays as it is. Everything after this module reads text alone, so that a failure has the same
//! excerpt and the same fingerprint in either form.

mod counts;
mod json;
mod junit;
mod linters;
mod named;

use std::collections::BTreeMap;

use serde_json::{Deserializer, Value};

use counts::ReportCounts;

pub(super) use counts::Counted;
pub(super) use named::of_lines;
pub use named::{NamedTest, TestStatus};

/// Maximum number of attempts to find a report that spans lines: each may scan the rest of the text.
const MAX_DOCUMENTS: usize = 8;

/// Reads the reports in a text. Returns it with the reports as text for people, or `None` if it holds no such report; and the
/// tests that the reports count, by runner.
pub(super) fn read(text: &str) -> (Option<String>, Vec<(&'static str, Counted)>) {
    if !text.lines().any(is_start) {
        return (None, Vec::new());
    }
    let mut reader = Reader {
        out: String::with_capacity(text.len()),
        packages: BTreeMap::new(),
        counts: ReportCounts::default(),
        documents: 0,
        found: false,
    };
    let mut rest = text;
    while !rest.is_empty() {
        let line = rest.split_inclusive('\n').next().unwrap_or(rest);
        let taken = if is_start(line) { reader.report(rest, line) } else { None };
        let taken = taken.unwrap_or_else(|| {
            reader.out.push_str(line);
            line.len()
        });
        rest = &rest[taken..];
    }
    for printed in reader.packages.values() {
        if !reader.out.is_empty() && !reader.out.ends_with('\n') {
            reader.out.push('\n');
        }
        reader.out.push_str(printed);
    }
    (reader.found.then_some(reader.out), reader.counts.finish())
}

/// Reads the tests of a report in `JUnit`'s form, or in the Common Test Report Format (CTRF). `None` if it is neither, or not whole.
/// Entities that a document defines itself are not expanded.
#[must_use]
pub fn read_report(text: &str) -> Option<Vec<NamedTest>> {
    let text = text.trim_start_matches('\u{feff}').trim_start();
    if text.starts_with('<') {
        return junit::named(text);
    }
    named::of_ctrf(&serde_json::from_str(text).ok()?)
}

/// Returns true if a report may begin in a line.
fn is_start(line: &str) -> bool {
    let line = line.trim_start();
    line.starts_with(['{', '[']) || line.starts_with("<?xml") || line.starts_with("<testsuite")
}

struct Reader {
    out: String,
    /// The output of each Go package.
    packages: BTreeMap<String, String>,
    counts: ReportCounts,
    documents: usize,
    found: bool,
}

impl Reader {
    /// Takes in the report that begins at `rest`, and returns its length.
    fn report(&mut self, rest: &str, line: &str) -> Option<usize> {
        let text = line.trim();
        let is_whole = text.starts_with(['{', '[']) && text.ends_with(['}', ']']);
        if let Some(value) = Some(text).filter(|_| is_whole).and_then(|text| serde_json::from_str(text).ok())
        {
            return self.add_value(&value).then_some(line.len());
        }
        self.documents += 1;
        if self.documents > MAX_DOCUMENTS {
            return None;
        }
        if text.starts_with('<') {
            let length = junit::report(rest, &mut self.out, &mut self.counts)?;
            self.found = true;
            return Some(length);
        }
        let mut values = Deserializer::from_str(rest).into_iter::<Value>();
        let value = values.next()?.ok()?;
        let is_known = self.add_value(&value);
        if is_known && !self.out.ends_with('\n') {
            self.out.push('\n');
        }
        is_known.then_some(values.byte_offset())
    }

    /// Writes what a value says. Returns false if it is no report.
    fn add_value(&mut self, value: &Value) -> bool {
        self.counts.add_value(value);
        let is_known =
            json::report(value, &mut self.packages, &mut self.out) || linters::report(value, &mut self.out);
        self.found |= is_known;
        is_known
    }
}

#[cfg(test)]
mod tests;

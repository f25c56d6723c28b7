//! The Test Anything Protocol, of which each line is counted.

use super::template::{Counts, Field};

/// The documents read so far.
#[derive(Debug, Default)]
pub(super) struct Tap {
    sums: Counts,
    /// The number of documents with tests, or with a plan for none.
    documents: u64,
    current: Option<Document>,
    /// True if groups are points that end with `{`, and only the points in them are tests.
    is_nested: bool,
}

#[derive(Debug, Default)]
struct Document {
    plan: Option<u64>,
    counts: Counts,
    points: u64,
}

impl Tap {
    /// Takes in a line, with its indentation. Returns false if it is no line of TAP.
    pub(super) fn read(&mut self, line: &str) -> bool {
        let is_indented = line.starts_with(' ');
        let text = line.trim();
        if !text.starts_with(['o', 'n', '0', '1', 'T']) {
            return false;
        }
        if !is_indented && text.starts_with("TAP version ") {
            self.end_document();
            self.current = Some(Document::default());
            return true;
        }
        if let Some(plan) = text.strip_prefix("1..").or_else(|| text.strip_prefix("0..")) {
            return (!is_indented || self.is_nested) && self.plan(plan, is_indented);
        }
        let Some((is_ok, rest)) = point(text) else { return false };
        let is_group = text.ends_with('{');
        self.is_nested |= is_group && self.current.is_some();
        if is_group || (is_indented && !self.is_nested) {
            return self.is_nested;
        }
        // prove ends a script with its verdict.
        if rest.is_empty()
            && let Some(Document { plan: Some(plan), points, .. }) = self.current
            && points >= plan
        {
            self.end_document();
            return true;
        }
        let has_number = rest.trim_start().starts_with(|c: char| c.is_ascii_digit());
        if self.current.is_none() && !has_number {
            return false;
        }
        let document = self.current.get_or_insert_default();
        document.points += 1;
        document.counts.add(result(is_ok, rest), 1);
        true
    }

    fn plan(&mut self, plan: &str, is_indented: bool) -> bool {
        let (count, note) = plan.split_once(' ').unwrap_or((plan, ""));
        let Ok(count) = count.parse::<u64>() else { return false };
        if !(note.is_empty() || note.trim_start().starts_with('#')) || count > 1_000_000 {
            return false;
        }
        if !is_indented {
            if self.current.as_ref().is_some_and(|document| document.plan.is_some()) {
                self.end_document();
            }
            self.current.get_or_insert_default().plan = Some(count);
        }
        true
    }

    fn end_document(&mut self) {
        let Some(mut document) = self.current.take() else { return };
        if document.points > 0 || document.plan == Some(0) {
            self.documents += 1;
            if !self.is_nested {
                let missing = document.plan.unwrap_or(0).saturating_sub(document.points);
                document.counts.add(Field::NotRun, missing);
            }
            self.sums.add_all(&document.counts);
        }
    }

    /// Returns what all documents count, or `None` if there is none.
    pub(super) fn counts(&mut self) -> Option<Counts> {
        self.end_document();
        (self.documents > 0).then_some(self.sums)
    }
}

/// Splits `ok` or `not ok` from the rest of a line.
fn point(text: &str) -> Option<(bool, &str)> {
    let (is_ok, rest) = match text.strip_prefix("not ok") {
        Some(rest) => (false, rest),
        None => (true, text.strip_prefix("ok")?),
    };
    // `ok  	shop	0.1s` is a package of Go, `ok | 1 passed` a summary of Deno.
    let is_other = rest.starts_with(" |") || rest.contains('\t') || rest.starts_with("  ");
    ((rest.is_empty() || rest.starts_with(' ')) && !is_other).then_some((is_ok, rest))
}

fn result(is_ok: bool, rest: &str) -> Field {
    let directive = rest.rfind('#').map_or("", |at| rest[at + 1..].trim_start());
    let directive = directive.get(..4).unwrap_or_default();
    if directive.eq_ignore_ascii_case("skip") || directive.eq_ignore_ascii_case("todo") {
        Field::Skipped
    } else if is_ok {
        Field::Passed
    } else {
        Field::Failed
    }
}

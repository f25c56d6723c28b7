//! Goes over the lines once and sums up what each runner counts.

use std::sync::LazyLock;

use super::formats::{FOCUS, FORMATS, Format, SENTENCES, Sum};
use super::template::{Counts, Field, counts_in};
use super::{Groups, Level, Ran, Tally};

/// Maximum length of a line with counts, in bytes.
const MAX_LINE_BYTES: usize = 600;

/// Runners that only repeat what another one counts: the first of a pair is left out if the second is there.
const REPEATED: &[(&str, &str)] = &[
    ("libtest of one test", "nextest"),
    ("surefire by class", "surefire"),
    ("mocha", "cypress"),
    ("sbt", "scalatest"),
    ("googletest", "ctest"),
    ("catch2", "ctest"),
    ("playwright", "pytest-sugar"),
];

/// The formats that may match a line, by its first byte.
static BY_FIRST_BYTE: LazyLock<Vec<Vec<&'static Format>>> = LazyLock::new(|| {
    let mut table: Vec<Vec<&Format>> = vec![Vec::new(); 256];
    for format in FORMATS.iter().chain(SENTENCES) {
        for (byte, formats) in table.iter_mut().enumerate() {
            #[expect(clippy::cast_possible_truncation, reason = "the table has 256 rows")]
            if may_begin_with(format.2, byte as u8) {
                formats.push(format);
            }
        }
    }
    table
});

/// Returns true if a line that matches `template` may begin with `byte`.
fn may_begin_with(template: &str, byte: u8) -> bool {
    if let Some(optional) = template.strip_prefix('<') {
        let end = optional.find('>').unwrap_or(optional.len());
        return may_begin_with(optional, byte) || may_begin_with(optional.get(end + 1..).unwrap_or(""), byte);
    }
    if let Some(name) = template.strip_prefix('{') {
        return match name.as_bytes().first() {
            Some(b'*') => true,
            Some(b'=') => byte == b'=',
            _ => byte.is_ascii_digit(),
        };
    }
    template.as_bytes().first() == Some(&byte)
}

/// What was read so far.
#[derive(Debug, Default)]
pub(super) struct Scan {
    tools: Vec<(&'static str, Sum, Counts)>,
    broken: u64,
    focused: Option<String>,
    groups: Option<Groups>,
    /// True after pytest reported errors from before the tests.
    is_collecting: bool,
}

/// Reads the lines of one stream.
pub(super) fn scan(lines: &[&str]) -> Scan {
    let mut scan = Scan::default();
    for line in lines {
        if line.len() <= MAX_LINE_BYTES && !line.is_empty() {
            scan.read(line);
        }
    }
    scan
}

impl Scan {
    fn read(&mut self, line: &str) {
        let text = strip_level(line.trim());
        if self.focused.is_none() && FOCUS.iter().any(|words| text.contains(words)) {
            self.focused = Some(text.to_owned());
        }
        if text.contains("ERROR collecting") || text.contains("during collection") {
            self.is_collecting = true;
        }
        let found = format_of(line).or_else(|| format_of(text)).or_else(|| format_of(strip_sign(text)));
        if let Some((format, counts)) = found {
            self.add(format, counts);
        }
    }

    fn add(&mut self, &(tool, sum, _): &Format, mut counts: Counts) {
        if tool == "pytest" && std::mem::take(&mut self.is_collecting) {
            counts.move_all(Field::Errors, Field::Broken);
        }
        self.broken += counts.get(Field::Broken).unwrap_or(0);
        if tool.is_empty() {
            return;
        }
        match self.tools.iter_mut().find(|known| known.0 == tool) {
            Some((_, Sum::Last, known)) => *known = counts,
            Some((_, _, known)) => known.add_all(&counts),
            None => self.tools.push((tool, sum, counts)),
        }
    }

    /// Returns what all runners together say.
    pub(super) fn tally(mut self) -> Tally {
        self.drop_repeated();
        let mut tally =
            Tally { broken: self.broken, focused: self.focused, groups: self.groups, ..Tally::default() };
        if self.tools.is_empty() {
            return tally;
        }
        let mut sums = [0_u64; 3];
        let mut is_exact = true;
        let mut is_any_executed = false;
        for (tool, _, counts) in &self.tools {
            tally.runners.push((*tool).to_owned());
            let result = results(counts);
            is_exact &= counts.get(Field::Unknown).is_none();
            is_any_executed |= counts.get(Field::Unknown).unwrap_or(0) + result[0] + result[1] > 0;
            for (sum, count) in sums.iter_mut().zip(result) {
                *sum = sum.saturating_add(count);
            }
            tally.not_run = tally.not_run.saturating_add(not_run(counts));
        }
        tally.level = if is_exact { Level::Tests } else { Level::Groups };
        if is_exact {
            (tally.passed, tally.failed, tally.skipped) = (Some(sums[0]), Some(sums[1]), Some(sums[2]));
        }
        tally.ran = match (is_any_executed, is_exact) {
            (true, _) => Ran::Some,
            (false, true) => Ran::None,
            (false, false) => Ran::Unknown,
        };
        tally
    }

    fn drop_repeated(&mut self) {
        self.tools.retain(|(_, sum, counts)| *sum != Sum::Parts || counts.get(Field::Total).is_some());
        let names: Vec<&str> = self.tools.iter().map(|tool| tool.0).collect();
        self.tools.retain(|(tool, ..)| {
            !REPEATED.iter().any(|(repeated, by)| repeated == tool && names.contains(by))
        });
    }
}

/// Returns the first format that matches a line, and the numbers in it.
fn format_of(line: &str) -> Option<(&'static Format, Counts)> {
    let first = *line.as_bytes().first()?;
    BY_FIRST_BYTE[usize::from(first)]
        .iter()
        .find_map(|format| counts_in(format.2, line).map(|counts| (*format, counts)))
}

/// Strips the level that Maven and sbt write before each line.
fn strip_level(text: &str) -> &str {
    let rest = ["[INFO] ", "[ERROR] ", "[WARNING] ", "[info] ", "[error] ", "[warn] "]
        .iter()
        .find_map(|level| text.strip_prefix(level));
    rest.map_or(text, str::trim_start)
}

/// Strips a sign such as `✔`.
fn strip_sign(text: &str) -> &str {
    let mut chars = text.chars();
    match (chars.next(), chars.next()) {
        (Some(sign), Some(' ')) if !sign.is_ascii() => chars.as_str().trim_start(),
        _ => "",
    }
}

/// Returns how many tests passed, failed and were skipped. What is not said follows from the total.
fn results(counts: &Counts) -> [u64; 3] {
    let get = |field| counts.get(field).unwrap_or(0);
    let (passed, skipped) = (counts.get(Field::Passed), get(Field::Skipped));
    let mut failed = get(Field::Failed).saturating_add(get(Field::Errors));
    let total = counts.get(Field::Total);
    if counts.get(Field::Failed).is_none()
        && let (Some(total), Some(passed)) = (total, passed)
    {
        failed = failed.max(total.saturating_sub(passed).saturating_sub(skipped));
    }
    let executed = match (counts.get(Field::Ran), total) {
        (Some(ran), _) => ran,
        (None, Some(total)) => total.saturating_sub(skipped).saturating_sub(get(Field::NotRun)),
        (None, None) => 0,
    };
    [passed.unwrap_or_else(|| executed.saturating_sub(failed)), failed, skipped]
}

/// Returns how many tests were planned and did not run.
fn not_run(counts: &Counts) -> u64 {
    let get = |field| counts.get(field).unwrap_or(0);
    let skipped = if counts.get(Field::Passed).is_none() { get(Field::Skipped) } else { 0 };
    let left = |ran| get(Field::Total).saturating_sub(ran).saturating_sub(skipped);
    get(Field::NotRun).saturating_add(counts.get(Field::Ran).map_or(0, left))
}

//! Templates of the lines in which test runners say how many tests they ran.
//!
//! | template | matches |
//! |---|---|
//! | `{p}` | a number: [`Field::of`] has the letters |
//! | `{w}` | counts with their words: `1 failed, 2 passed` |
//! | `{k}` | words with their counts: `failures=1, skipped=2`, `Failures: 1, Skipped: 2` |
//! | `{#}` | a time: `0.12`, `1:02` |
//! | `{=}` | equals signs |
//! | `{+b}` | nothing, and counts one |
//! | `{*}` | any text up to the literal that follows, or to the end |
//! | `~` | white space, or none; `{~}` is the character |
//! | `<text>` | the text, or nothing |

/// What a number in a line counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Field {
    Total,
    /// Tests that ran, of a planned total.
    Ran,
    Passed,
    Failed,
    /// Tests that failed, which may not fail their runner.
    Tolerated,
    /// Errors, which count as failures unless they happened before any test ran.
    Errors,
    Skipped,
    Broken,
    NotRun,
    /// Tests that ran with an unknown result.
    Unknown,
    /// Something that the runner counts as a test, but is not one.
    Spurious,
    /// Assertions, warnings, files.
    Other,
}

const FIELDS: usize = Field::Other as usize + 1;

impl Field {
    fn of(letter: &str) -> Option<Self> {
        Some(match letter {
            "t" => Self::Total,
            "r" => Self::Ran,
            "p" => Self::Passed,
            "f" => Self::Failed,
            "l" => Self::Tolerated,
            "e" => Self::Errors,
            "s" => Self::Skipped,
            "b" => Self::Broken,
            "n" => Self::NotRun,
            "u" => Self::Unknown,
            "x" => Self::Spurious,
            "_" => Self::Other,
            _ => return None,
        })
    }
}

/// The numbers of one line, or the sums of several.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Counts([Option<u64>; FIELDS]);

impl Counts {
    pub(super) fn get(&self, field: Field) -> Option<u64> {
        self.0[field as usize]
    }

    /// Returns the count, and 0 if there is none.
    pub(super) fn number(&self, field: Field) -> u64 {
        self.get(field).unwrap_or(0)
    }

    pub(super) fn add(&mut self, field: Field, count: u64) {
        let sum = &mut self.0[field as usize];
        *sum = Some(sum.unwrap_or(0).saturating_add(count));
    }

    pub(super) fn add_all(&mut self, other: &Self) {
        for (sum, count) in self.0.iter_mut().zip(other.0) {
            if let Some(count) = count {
                *sum = Some(sum.unwrap_or(0).saturating_add(count));
            }
        }
    }

    /// Returns the number of tests with a result.
    pub(super) fn executed_and_skipped(&self) -> u64 {
        let fields = [Field::Passed, Field::Failed, Field::Skipped];
        fields.iter().filter_map(|field| self.get(*field)).fold(0, u64::saturating_add)
    }

    /// Moves the count of one field to another.
    pub(super) fn move_all(&mut self, from: Field, to: Field) {
        if let Some(count) = self.0[from as usize].take() {
            self.add(to, count);
        }
    }
}

/// The words beside numbers. A word comes before its own prefixes.
const WORDS: [(&str, Field); 47] = [
    ("passed", Field::Passed),
    ("passing", Field::Passed),
    ("pass", Field::Passed),
    ("succeeded", Field::Passed),
    ("successful", Field::Passed),
    ("xpassed", Field::Passed),
    ("expected fail", Field::Passed),
    ("ok", Field::Passed),
    ("flaky", Field::Passed),
    ("failed", Field::Failed),
    ("failing", Field::Failed),
    ("failures", Field::Failed),
    ("failure", Field::Failed),
    ("fail", Field::Failed),
    ("errored", Field::Failed),
    ("errors", Field::Errors),
    ("error", Field::Errors),
    ("timed out", Field::Failed),
    ("exec failed", Field::Failed),
    ("unexpected successes", Field::Failed),
    ("undefined", Field::Tolerated),
    ("ambiguous", Field::Failed),
    ("skipped", Field::Skipped),
    ("skips", Field::Skipped),
    ("skip", Field::Skipped),
    ("xfailed", Field::Skipped),
    ("expected failures", Field::Skipped),
    ("todos", Field::Skipped),
    ("todo", Field::Skipped),
    ("pending", Field::Skipped),
    ("incomplete", Field::Skipped),
    ("ignored", Field::Skipped),
    ("disabled", Field::Skipped),
    ("total", Field::Total),
    ("filtered out", Field::Other),
    ("measured", Field::Other),
    ("deselected", Field::Other),
    ("warnings", Field::Other),
    ("warning", Field::Other),
    ("warned", Field::Other),
    ("rerun", Field::Other),
    ("subtests passed", Field::Other),
    ("subtests failed", Field::Other),
    ("deprecated", Field::Other),
    ("risky", Field::Other),
    ("notices", Field::Other),
    ("snapshots", Field::Other),
];

/// Returns the numbers of `line` if all of it matches `template`.
pub(super) fn counts_in(template: &str, line: &str) -> Option<Counts> {
    let mut counts = Counts::default();
    consume(template, line, &mut counts)?.is_empty().then_some(counts)
}

/// Returns the rest of `text` after what `template` matches, or `None` if it does not match.
fn consume<'t>(template: &str, text: &'t str, counts: &mut Counts) -> Option<&'t str> {
    let (mut template, mut text) = (template, text);
    loop {
        let Some(first) = template.chars().next() else { return Some(text) };
        let rest = &template[first.len_utf8()..];
        match first {
            '<' => {
                let end = closing(rest)?;
                let mut tried = *counts;
                if let Some(left) = consume(&rest[..end], text, &mut tried) {
                    (text, *counts) = (left, tried);
                }
                template = &rest[end + 1..];
            }
            '{' => {
                let (name, after) = rest.split_once('}')?;
                text = placeholder(name, after, text, counts)?;
                template = after;
            }
            '~' => {
                text = text.trim_start();
                template = rest;
            }
            _ => {
                text = text.strip_prefix(first)?;
                template = rest;
            }
        }
    }
}

/// Returns the position of the `>` that closes the optional part in which `template` begins.
fn closing(template: &str) -> Option<usize> {
    let mut depth = 0_u32;
    template.bytes().position(|byte| {
        depth += u32::from(byte == b'<');
        let is_end = byte == b'>' && depth == 0;
        depth -= u32::from(byte == b'>' && depth > 0);
        is_end
    })
}

fn placeholder<'t>(name: &str, after: &str, text: &'t str, counts: &mut Counts) -> Option<&'t str> {
    match name {
        "*" => {
            let end = after.find(['<', '{', '~']).unwrap_or(after.len());
            if end == 0 {
                return Some("");
            }
            text.find(&after[..end]).map(|at| &text[at..])
        }
        "#" => skip_some(text, |c| c.is_ascii_digit() || matches!(c, '.' | ':')),
        "=" => skip_some(text, |c| c == '='),
        "~" => text.strip_prefix('~'),
        "w" => list(text, counts, counted_word),
        "k" => list(text, counts, word_with_count),
        _ => {
            let one = name.strip_prefix('+');
            let (count, rest) = if one.is_some() { (1, text) } else { number(text)? };
            counts.add(Field::of(one.unwrap_or(name))?, count);
            Some(rest)
        }
    }
}

fn skip_some(text: &str, is_part: impl Fn(char) -> bool) -> Option<&str> {
    let rest = text.trim_start_matches(is_part);
    (rest.len() < text.len()).then_some(rest)
}

/// Reads `1,234`. A comma belongs to the number only if three digits follow.
fn number(text: &str) -> Option<(u64, &str)> {
    let mut value: Option<u64> = None;
    let mut rest = text;
    loop {
        let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
        if digits == 0 || digits > 15 || (value.is_some() && digits != 3) {
            return value.map(|value| (value, rest));
        }
        let part: u64 = rest[..digits].parse().ok()?;
        value = Some(value.unwrap_or(0).checked_mul(1000)?.checked_add(part)?);
        rest = &rest[digits..];
        match rest.strip_prefix(',') {
            Some(after) if after.bytes().take_while(u8::is_ascii_digit).count() == 3 => rest = after,
            _ => return value.map(|value| (value, rest)),
        }
    }
}

/// Reads one or more counts, up to the first that has no known word.
fn list<'t>(text: &'t str, counts: &mut Counts, read: fn(&'t str) -> Option<Read<'t>>) -> Option<&'t str> {
    let mut rest = text.trim_start();
    let mut is_any = false;
    while let Some((field, count, after)) = read(rest.trim_start_matches([' ', ',', '|', ';'])) {
        counts.add(field, count);
        is_any = true;
        rest = skip_note(after);
    }
    is_any.then_some(rest)
}

type Read<'t> = (Field, u64, &'t str);

/// Skips `(2 steps)` before a separator.
fn skip_note(text: &str) -> &str {
    let after = text.strip_prefix(" (").and_then(|note| note.split_once(')')).map(|(_, after)| after);
    after.filter(|after| after.trim_start().starts_with(['|', ','])).unwrap_or(text)
}

fn counted_word(text: &str) -> Option<Read<'_>> {
    let (count, rest) = number(text)?;
    let rest = rest.strip_prefix(' ')?;
    let rest = rest.strip_prefix("tests ").or_else(|| rest.strip_prefix("test ")).unwrap_or(rest);
    let (field, rest) = word(rest)?;
    Some((field, count, rest))
}

fn word_with_count(text: &str) -> Option<Read<'_>> {
    let (name, rest) = text.split_at(text.find(['=', ':'])?);
    let (count, rest) = number(rest[1..].trim_start())?;
    let field = word(name).map_or(Field::Other, |(field, _)| field);
    Some((field, count, rest))
}

/// Returns the field of the word that `text` begins with.
fn word(text: &str) -> Option<(Field, &str)> {
    let first = text.as_bytes().first()?.to_ascii_lowercase();
    WORDS.iter().filter(|(word, _)| word.as_bytes()[0] == first).find_map(|&(word, field)| {
        let head = text.get(..word.len())?;
        let rest = &text[word.len()..];
        let is_whole = !rest.starts_with(|c: char| c.is_ascii_alphanumeric());
        (head.eq_ignore_ascii_case(word) && is_whole).then_some((field, rest))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_template_matches_whole_lines() {
        let sums = |template: &str, line: &str| {
            let counts = counts_in(template, line)?;
            Some([Field::Total, Field::Passed, Field::Failed, Field::Skipped].map(|field| counts.get(field)))
        };
        for (template, line, expected) in [
            ("{p} test<s> passed", "1 test passed", Some([None, Some(1), None, None])),
            ("{p} test<s> passed", "12 tests passed", Some([None, Some(12), None, None])),
            ("{p} test<s> passed", "1,234 tests passed", Some([None, Some(1234), None, None])),
            ("{p} test<s> passed", "1 test passed again", None),
            (
                "<{=} >{w} in {#}s<{*}>",
                "=== 1 failed, 2 passed in 0.12s ===",
                Some([None, Some(2), Some(1), None]),
            ),
            (
                "ok | {w}<{*}>",
                "ok | 1 passed (2 steps) | 0 failed (3ms)",
                Some([None, Some(1), Some(0), None]),
            ),
            (
                "Tests: {t}, Assertions: {_}<, {k}>.",
                "Tests: 3, Assertions: 3, Failures: 1, Skipped: 1.",
                Some([Some(3), None, Some(1), Some(1)]),
            ),
            ("a {*} b {f}", "a x y b 3", Some([None, None, Some(3), None])),
            ("Tests:~{w}", "Tests:  \u{a0}1 passed", Some([None, Some(1), None, None])),
            ("{w}", "3 geese", None),
            ("{t}", "99999999999999999999", None),
        ] {
            assert_eq!(sums(template, line), expected, "{template}: {line}");
        }
    }
}

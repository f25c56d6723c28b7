//! Boxes that Markdown does not know and that are ticked with other signs than its `x` (`[✓]`, `[ x ]`, `[✅]`), or that
//! have the star of an optional task behind them (`[ ]*`).

use std::borrow::Cow;
use std::ops::Range;

/// Longest text between the brackets of a box, in bytes.
const MAX_MARK_BYTES: usize = 16;

/// Returns `source` with each such box as `[x]` or `[ ]` and blanks behind it. It is as long, so offsets are those of `source`.
pub(super) fn normalized(source: &str) -> Cow<'_, str> {
    let mut at = 0;
    let boxes: Vec<(Range<usize>, &str)> = source
        .split_inclusive(['\n', '\r'])
        .filter_map(|line| {
            let start = at;
            at += line.len();
            odd_box(line).map(|(found, usual)| (start + found.start..start + found.end, usual))
        })
        .collect();
    if boxes.is_empty() {
        return Cow::Borrowed(source);
    }
    let mut text = String::with_capacity(source.len());
    for (found, usual) in boxes {
        text.push_str(&source[text.len()..found.start]);
        text.push_str(usual);
        text.extend(std::iter::repeat_n(' ', found.end - text.len()));
    }
    text.push_str(&source[text.len()..]);
    Cow::Owned(text)
}

/// Returns where the box is that a line begins with, and what it is for Markdown, if that does not see it.
fn odd_box(line: &str) -> Option<(Range<usize>, &'static str)> {
    let mut rest = behind_bullet(line.trim_start_matches([' ', '\t', '>']))?;
    while let Some(behind) = behind_bullet(rest) {
        rest = behind;
    }
    let inner = rest.strip_prefix('[')?;
    let end = inner.bytes().take(MAX_MARK_BYTES).position(|byte| byte == b']')?;
    let (mark, behind) = (&inner[..end], &inner[end + 1..]);
    let star = star_len(behind);
    let is_apart = behind[star..].is_empty() || behind[star..].starts_with(char::is_whitespace);
    let usual = if mark == " " { "[ ]" } else { "[x]" };
    let is_odd = is_tick(mark) && (star > 0 || !matches!(mark, "x" | "X")) || mark == " " && star > 0;
    let start = line.len() - rest.len();
    (is_apart && is_odd).then_some((start..start + end + 2 + star, usual))
}

/// Returns how long the star of an optional task is that a text behind a box begins with, in bytes.
pub(super) fn star_len(behind: &str) -> usize {
    let star = ["*", r"\*"].into_iter().find(|star| behind.starts_with(star)).map_or(0, str::len);
    if behind[star..].starts_with([' ', '\t']) { star } else { 0 }
}

/// Returns what follows a bullet or a number and blanks.
fn behind_bullet(text: &str) -> Option<&str> {
    let digits = text.len() - text.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let bullet = match digits {
        0 => text.strip_prefix(['-', '*', '+']),
        1..=9 => text[digits..].strip_prefix(['.', ')']),
        _ => None,
    };
    let rest = bullet?.trim_start_matches([' ', '\t']);
    (rest.len() < bullet?.len()).then_some(rest)
}

fn is_tick(mark: &str) -> bool {
    // Signs with and without colour; the letters that look like an x are Cyrillic and full-width.
    const TICKS: &str = "xX✓✔✅√☑🗸🗹хХｘＸ";
    let mut signs = mark.trim().trim_end_matches(['\u{fe0e}', '\u{fe0f}']).chars();
    signs.next().is_some_and(|sign| TICKS.contains(sign)) && signs.next().is_none()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_of_all_kinds_become_markdowns_and_nothing_moves() {
        for (source, expected) in [
            ("- [✓] a\n", "- [x]   a\n"),
            ("- [✔] a", "- [x]   a"),
            ("- [✔️] a", "- [x]      a"),
            ("  * [✅] a", "  * [x]   a"),
            ("> 1. [√] a", "> 1. [x]   a"),
            ("- [☑] a", "- [x]   a"),
            ("- [ x ] a", "- [x]   a"),
            ("- [ X] a", "- [x]  a"),
            ("- [x ] a", "- [x]  a"),
            ("- [ ✓ ]\r\n- [х] b", "- [x]    \r\n- [x]  b"),
            ("- 2) [✓] a", "- 2) [x]   a"),
            ("- [ ]* a", "- [ ]  a"),
            ("  - [x]* 2.1 a\n", "  - [x]  2.1 a\n"),
            (r"- [ ]\* a", "- [ ]   a"),
            ("- [✓]* a", "- [x]    a"),
        ] {
            assert_eq!(normalized(source), expected);
            assert_eq!(normalized(source).len(), source.len());
        }
    }

    #[test]
    fn other_boxes_stay_as_they_are() {
        for source in [
            "- [x] a",
            "- [X] a",
            "- [ ] a",
            "- [] a",
            "- [~] a",
            "- [ ]*a* b",
            "- [ ]** a",
            "- [~]* a",
            "- [ ] *a*",
            "- [❌] a",
            "- [✗] a",
            "- [ xx ] a",
            "- [✓](url)",
            "- [✓]: a",
            "[✓] a",
            "-[✓] a",
            "text [✓] a",
            "- `[✓] a`",
            "- [✓",
            "",
        ] {
            assert_eq!(normalized(source), source);
        }
    }
}

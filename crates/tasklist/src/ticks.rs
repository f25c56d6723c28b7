//! Boxes that are ticked with other signs than Markdown's `x`: `[✓]`, `[ x ]`, `[✅]`.

use std::borrow::Cow;
use std::ops::Range;

/// Longest text between the brackets of a box, in bytes.
const MAX_MARK_BYTES: usize = 16;

/// Returns `source` with each such box as `[x]` and blanks behind it. It is as long, so offsets are those of `source`.
pub(super) fn normalized(source: &str) -> Cow<'_, str> {
    let mut at = 0;
    let boxes: Vec<Range<usize>> = source
        .split_inclusive(['\n', '\r'])
        .filter_map(|line| {
            let start = at;
            at += line.len();
            odd_tick(line).map(|found| start + found.start..start + found.end)
        })
        .collect();
    if boxes.is_empty() {
        return Cow::Borrowed(source);
    }
    let mut text = String::with_capacity(source.len());
    for found in boxes {
        text.push_str(&source[text.len()..found.start]);
        text.push_str("[x]");
        text.extend(std::iter::repeat_n(' ', found.end - text.len()));
    }
    text.push_str(&source[text.len()..]);
    Cow::Owned(text)
}

/// Returns where the box is that a line begins with, if it is ticked and Markdown does not see that.
fn odd_tick(line: &str) -> Option<Range<usize>> {
    let mut rest = behind_bullet(line.trim_start_matches([' ', '\t', '>']))?;
    while let Some(behind) = behind_bullet(rest) {
        rest = behind;
    }
    let inner = rest.strip_prefix('[')?;
    let end = inner.bytes().take(MAX_MARK_BYTES).position(|byte| byte == b']')?;
    let (mark, behind) = (&inner[..end], &inner[end + 1..]);
    let is_apart = behind.is_empty() || behind.starts_with(char::is_whitespace);
    let start = line.len() - rest.len();
    (is_apart && !matches!(mark, "x" | "X") && is_tick(mark)).then_some(start..start + end + 2)
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

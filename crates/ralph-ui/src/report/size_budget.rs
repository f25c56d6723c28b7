//! How much of each text fits into a page of bounded size.

use crate::style::grouped;

use super::html_escape::width;

/// Longest line of an output or a patch, in characters.
const LINE: usize = 1000;
/// So much is shown of a longer one.
const SHOWN: usize = 300;

/// The most bytes that each of `sizes` may have so that all of them come to `budget`: what is smaller stays whole.
pub fn level(mut sizes: Vec<usize>, budget: usize) -> usize {
    sizes.sort_unstable();
    let mut left = budget;
    for (place, size) in sizes.iter().enumerate() {
        let share = left / (sizes.len() - place);
        if *size > share {
            return share;
        }
        left -= size;
    }
    usize::MAX
}

/// The first part of `text` that takes at most `most` bytes in a page, up to the end of a line where one is near.
pub fn head(text: &str, most: usize) -> &str {
    let mut taken = 0;
    for (at, c) in text.char_indices() {
        taken += width(c);
        if taken > most {
            let cut = &text[..at];
            let line_end = cut.rfind('\n').map_or(0, |end| end + 1);
            // A line that is long itself is cut anywhere.
            return if line_end > at / 2 { &text[..line_end] } else { cut };
        }
    }
    text
}

/// The same for the last part.
pub fn tail(text: &str, most: usize) -> &str {
    let mut taken = 0;
    for (at, c) in text.char_indices().rev() {
        taken += width(c);
        if taken > most {
            let start = at + c.len_utf8();
            let cut = &text[start..];
            if text[..start].ends_with('\n') {
                return cut;
            }
            let line = cut.find('\n').map_or(cut.len(), |end| end + 1);
            return if line <= cut.len() / 2 { &cut[line..] } else { cut };
        }
    }
    text
}

/// Returns `text` with the middle of long lines left out, or `None` if no line is that long.
pub fn narrow(text: &str) -> Option<String> {
    if text.lines().all(|line| line.len() <= LINE) {
        return None;
    }
    let mut out = String::with_capacity(text.len());
    for line in text.split_inclusive('\n') {
        let length = line.trim_end_matches('\n').chars().count();
        if length <= LINE {
            out.push_str(line);
        } else {
            out.extend(line.chars().take(SHOWN));
            out.push_str(&format!(" \u{27e8}{} more characters\u{27e9}", grouped((length - SHOWN) as u64)));
            out.push_str(if line.ends_with('\n') { "\n" } else { "" });
        }
    }
    Some(out)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn small_texts_stay_whole_and_the_others_share_what_is_left() {
        for (sizes, budget, expected) in [
            (vec![], 10, usize::MAX),
            (vec![1, 2, 3], 6, usize::MAX),
            (vec![1, 100, 200], 101, 50),
            (vec![10, 10], 5, 2),
            (vec![5, 5, 90], 100, usize::MAX),
        ] {
            assert_eq!(level(sizes.clone(), budget), expected, "{sizes:?}");
        }
    }

    #[test]
    fn texts_are_cut_at_lines_where_these_are_short() {
        for (text, most, start, end) in [
            ("one\ntwo\nthree", 9, "one\ntwo\n", "two\nthree"),
            ("one\ntwo\nthree", 8, "one\ntwo\n", "three"),
            ("abcdefgh", 3, "abc", "fgh"),
            ("<<", 4, "<", "<"),
            ("äöü", 3, "ä", "ü"),
            ("abc", 0, "", ""),
            ("abc", 3, "abc", "abc"),
        ] {
            assert_eq!((head(text, most), tail(text, most)), (start, end), "{text}");
        }
    }

    #[test]
    fn lines_that_nobody_reads_are_cut() {
        assert_eq!(narrow(&"short\n".repeat(900)), None);
        let text = format!("a\n{}\nb", "é".repeat(1300));
        let shown = format!("a\n{} \u{27e8}1,000 more characters\u{27e9}\nb", "é".repeat(300));
        assert_eq!(narrow(&text), Some(shown));
    }

    proptest! {
        #[test]
        fn what_is_cut_fits(text in "(?s).{0,100}", most in 0_usize..60) {
            let escaped = super::super::html_escape::escaped_len;
            prop_assert!(escaped(head(&text, most)) <= most);
            prop_assert!(escaped(tail(&text, most)) <= most);
        }

        #[test]
        fn the_level_keeps_to_the_budget(sizes in proptest::collection::vec(0_usize..1000, 0..20), budget in 0_usize..5000) {
            let level = level(sizes.clone(), budget);
            prop_assert!(sizes.iter().map(|size| (*size).min(level)).sum::<usize>() <= budget);
        }
    }
}

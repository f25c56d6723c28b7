//! What two texts differ in, line by line, and two lines word by word.

use std::ops::Range;

use similar::{Algorithm, ChangeTag, DiffOp, capture_diff_slices, group_diff_ops};

/// Lines of context around a change.
const CONTEXT_LINES: usize = 2;
/// Longer texts are shown as one change: the time to compare grows with the square of what differs.
const MAX_COMPARED_LINES: usize = 3000;
/// Longer lines are not compared word by word, for the same reason.
const MAX_COMPARED_BYTES: usize = 400;
/// Of two lines that have less in common, no words are marked.
const MIN_SAME_PERCENT: usize = 40;

/// A line, and where it stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Line<'a> {
    Both(&'a str),
    Old(&'a str),
    New(&'a str),
    /// Lines that are in both are left out here.
    Gap,
}

/// Returns the lines that differ, with a little around them.
pub fn changed_lines<'a>(old: &'a str, new: &'a str) -> Vec<Line<'a>> {
    let (old, new): (Vec<&str>, Vec<&str>) = (old.lines().collect(), new.lines().collect());
    let mut shown = Vec::new();
    for (place, group) in group_diff_ops(changes(&old, &new), CONTEXT_LINES).iter().enumerate() {
        if place > 0 {
            shown.push(Line::Gap);
        }
        for (tag, lines) in group.iter().flat_map(|change| change.iter_slices(&old, &new)) {
            shown.extend(lines.iter().map(|line| match tag {
                ChangeTag::Equal => Line::Both(line),
                ChangeTag::Delete => Line::Old(line),
                ChangeTag::Insert => Line::New(line),
            }));
        }
    }
    shown
}

fn changes(old: &[&str], new: &[&str]) -> Vec<DiffOp> {
    if old.len().max(new.len()) <= MAX_COMPARED_LINES || old == new {
        return capture_diff_slices(Algorithm::Myers, old, new);
    }
    vec![DiffOp::Replace { old_index: 0, old_len: old.len(), new_index: 0, new_len: new.len() }]
}

/// Where two lines differ, in each of them; nothing where they have too little in common.
pub fn changed_words(old: &str, new: &str) -> (Vec<Range<usize>>, Vec<Range<usize>>) {
    if old.len().max(new.len()) > MAX_COMPARED_BYTES {
        return (Vec::new(), Vec::new());
    }
    let words = [old, new].map(words);
    let [olds, news] = &words;
    let bytes = |words: &[&str]| words.iter().map(|word| word.trim().len()).sum::<usize>();
    let place = |words: &[&str], range: Range<usize>| {
        let start: usize = words[..range.start].iter().map(|word| word.len()).sum();
        start..start + words[range].iter().map(|word| word.len()).sum::<usize>()
    };
    let (mut gone, mut came, mut same) = (Vec::new(), Vec::new(), 0);
    for change in capture_diff_slices(Algorithm::Myers, olds, news) {
        if let DiffOp::Equal { .. } = change {
            same += bytes(&olds[change.old_range()]);
        } else {
            gone.push(place(olds, change.old_range()));
            came.push(place(news, change.new_range()));
        }
    }
    if same * 200 < (bytes(olds) + bytes(news)) * MIN_SAME_PERCENT {
        return (Vec::new(), Vec::new());
    }
    for ranges in [&mut gone, &mut came] {
        ranges.retain(|range| !range.is_empty());
    }
    (gone, came)
}

/// The words of a line, and whatever is between them character by character.
fn words(line: &str) -> Vec<&str> {
    let mut rest = line;
    let mut words = Vec::new();
    while let Some(first) = rest.chars().next() {
        let end =
            if is_word(first) { rest.find(|c| !is_word(c)).unwrap_or(rest.len()) } else { first.len_utf8() };
        let (word, after) = rest.split_at(end);
        words.push(word);
        rest = after;
    }
    words
}

/// Returns true if a character may stand in a word of code.
pub fn is_word(c: char) -> bool {
    c == '_' || c.is_alphanumeric()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn changes_are_shown_with_a_little_around_them() {
        use Line::{Both, Gap, New, Old};
        let old = "a\nb\nc\nd\ne\nf\ng\nh\ni\nj";
        let new = "a\nb\nX\nd\ne\nf\ng\nh\ni\nj\nk";
        assert_eq!(
            changed_lines(old, new),
            [
                Both("a"),
                Both("b"),
                Old("c"),
                New("X"),
                Both("d"),
                Both("e"),
                Gap,
                Both("i"),
                Both("j"),
                New("k")
            ]
        );
        assert_eq!(changed_lines(old, old), []);
    }

    #[test]
    fn words_are_marked_where_lines_have_much_in_common() {
        for (old, new, expected) in [
            ("let a = 1;", "let b = 1;", ("a", "b")),
            ("call(a, b)", "call(a)", (", b", "")),
            ("one two", "three four", ("", "")),
            ("return schön", "return schöner", ("schön", "schöner")),
            ("", "", ("", "")),
        ] {
            let (gone, came) = changed_words(old, new);
            let marked = |text: &str, ranges: Vec<Range<usize>>| {
                ranges.into_iter().map(|range| text[range].to_owned()).collect::<Vec<_>>().join("|")
            };
            assert_eq!((marked(old, gone).as_str(), marked(new, came).as_str()), expected);
        }
    }

    proptest! {
        #[test]
        fn what_is_shown_leads_from_one_text_to_the_other(old in "([abc]\n){0,12}", new in "([abc]\n){0,12}") {
            let shown = changed_lines(&old, &new);
            let gone = shown.iter().filter(|line| matches!(line, Line::Old(_))).count();
            let come = shown.iter().filter(|line| matches!(line, Line::New(_))).count();
            prop_assert_eq!(old.lines().count() + come, new.lines().count() + gone);
            prop_assert_eq!(shown.is_empty(), old == new);
        }
    }
}

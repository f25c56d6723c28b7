//! What two texts differ in, line by line.

use similar::{Algorithm, ChangeTag, DiffOp, capture_diff_slices, group_diff_ops};

/// Lines of context around a change.
const CONTEXT_LINES: usize = 2;
/// Longer texts are shown as one change: the time to compare grows with the square of what differs.
const MAX_COMPARED_LINES: usize = 3000;

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

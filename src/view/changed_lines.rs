//! What two texts differ in, line by line.

/// Lines of context around a change.
const CONTEXT: usize = 2;
/// Texts that differ in more lines than these are told as one change.
const MOST: usize = 3000;

/// A line, and where it stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Line<'a> {
    Both(&'a str),
    Old(&'a str),
    New(&'a str),
    /// Lines that are in both are left out here.
    Gap,
}

/// The lines that differ, with a little around them.
pub fn changed_lines<'a>(old: &'a str, new: &'a str) -> Vec<Line<'a>> {
    let (old, new): (Vec<&str>, Vec<&str>) = (old.lines().collect(), new.lines().collect());
    let start = old.iter().zip(&new).take_while(|(one, other)| one == other).count();
    let rest = old.len().min(new.len()) - start;
    let end =
        old.iter().rev().zip(new.iter().rev()).take(rest).take_while(|(one, other)| one == other).count();
    let mut lines: Vec<Line<'a>> = old[..start].iter().map(|line| Line::Both(line)).collect();
    middle(&old[start..old.len() - end], &new[start..new.len() - end], &mut lines);
    lines.extend(old[old.len() - end..].iter().map(|line| Line::Both(line)));
    with_gaps(&lines)
}

/// The longest common lines, by the textbook.
fn middle<'a>(old: &[&'a str], new: &[&'a str], lines: &mut Vec<Line<'a>>) {
    if old.len().max(new.len()) > MOST {
        lines.extend(old.iter().map(|line| Line::Old(line)));
        lines.extend(new.iter().map(|line| Line::New(line)));
        return;
    }
    let width = new.len() + 1;
    let mut common = vec![0_u16; (old.len() + 1) * width];
    for (i, one) in old.iter().enumerate().rev() {
        for (j, other) in new.iter().enumerate().rev() {
            common[i * width + j] = if one == other {
                common[(i + 1) * width + j + 1] + 1
            } else {
                common[(i + 1) * width + j].max(common[i * width + j + 1])
            };
        }
    }
    let (mut i, mut j) = (0, 0);
    while i < old.len() || j < new.len() {
        if i < old.len() && j < new.len() && old[i] == new[j] {
            lines.push(Line::Both(old[i]));
            (i, j) = (i + 1, j + 1);
        } else if j == new.len()
            || (i < old.len() && common[(i + 1) * width + j] >= common[i * width + j + 1])
        {
            lines.push(Line::Old(old[i]));
            i += 1;
        } else {
            lines.push(Line::New(new[j]));
            j += 1;
        }
    }
}

fn with_gaps<'a>(lines: &[Line<'a>]) -> Vec<Line<'a>> {
    let is_change = |line: &Line<'_>| !matches!(line, Line::Both(_));
    let is_near = |place: usize| {
        let from = place.saturating_sub(CONTEXT);
        lines[from..lines.len().min(place + CONTEXT + 1)].iter().any(is_change)
    };
    let mut shown = Vec::new();
    for (place, line) in lines.iter().enumerate() {
        if is_near(place) {
            shown.push(*line);
        } else if shown.last().is_some_and(|last| *last != Line::Gap) {
            shown.push(Line::Gap);
        }
    }
    if shown.last() == Some(&Line::Gap) {
        shown.pop();
    }
    shown
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

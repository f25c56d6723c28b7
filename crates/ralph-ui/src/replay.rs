//! Prompts that would have been sent, beside those that were.

use std::io::{self, Write};
use std::time::Duration;

use similar::{ChangeTag, TextDiff};

use super::style::{Look, Paint, counted, inert, one_line};

/// Lines of context around a change.
const CONTEXT_LINES: usize = 2;
/// After that, longer parts are shown as one change: the time to compare grows with the square of what differs.
const MAX_TIME: Duration = Duration::from_secs(2);

/// One prompt, as it was sent and as it would have been, each with its tokens.
pub fn write(
    out: &mut impl Write,
    iteration: u32,
    task: Option<&str>,
    (sent, tokens_sent): (&str, usize),
    (text, tokens): (&str, usize),
    paint: Paint,
) -> io::Result<()> {
    let head = paint.paint(Look::Bold, &format!("iteration {iteration}"));
    let task = one_line(task.unwrap_or("no task"));
    let (old, new): (Vec<&str>, Vec<&str>) = (sent.lines().collect(), text.lines().collect());
    if old == new {
        return writeln!(out, "{head}  {task}  the same, {}", counted(tokens as u64, "token"));
    }
    writeln!(out, "{head}  {task}  {} instead of {tokens_sent}", counted(tokens as u64, "token"))?;
    let diff = TextDiff::configure().timeout(MAX_TIME).diff_slices(&old, &new);
    for (place, hunk) in diff.unified_diff().context_radius(CONTEXT_LINES).iter_hunks().enumerate() {
        if place > 0 {
            writeln!(out, "{}", paint.paint(Look::Dim, "    ..."))?;
        }
        for change in hunk.iter_changes() {
            let (look, sign) = match change.tag() {
                ChangeTag::Equal => (Look::Plain, "    "),
                ChangeTag::Delete => (Look::Bad, "  - "),
                ChangeTag::Insert => (Look::Good, "  + "),
            };
            let line = paint.paint(look, &format!("{sign}{}", inert(change.value())));
            writeln!(out, "{}", line.trim_end())?;
        }
    }
    writeln!(out)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn shown(old: &str, new: &str) -> String {
        let mut out = Vec::new();
        write(&mut out, 3, None, (old, 7), (new, 9), Paint::Plain).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn changes_are_shown_with_a_little_around_them() {
        let old = "a\nb\nc\nd\ne\nf\ng\nh\ni\nj";
        let new = "a\nb\nX\nd\ne\nf\ng\nh\ni\nj\nk";
        assert_eq!(
            shown(old, new),
            "iteration 3  no task  9 tokens instead of 7\n    a\n    b\n  - c\n  + X\n    d\n    e\n    ...\n    \
             i\n    j\n  + k\n\n"
        );
        assert_eq!(shown(old, old), "iteration 3  no task  the same, 9 tokens\n");
    }

    proptest! {
        #[test]
        fn what_is_shown_leads_from_one_text_to_the_other(old in "([abc]\n){0,12}", new in "([abc]\n){0,12}") {
            let shown = shown(&old, &new);
            let gone = shown.lines().filter(|line| line.starts_with("  - ")).count();
            let come = shown.lines().filter(|line| line.starts_with("  + ")).count();
            prop_assert_eq!(old.lines().count() + come, new.lines().count() + gone);
            prop_assert_eq!(shown.contains("the same"), old == new);
        }
    }
}

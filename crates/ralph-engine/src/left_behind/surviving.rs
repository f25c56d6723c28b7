//! Whether anything of the user's change is left in a file. Pure.

use std::collections::HashMap;

/// Returns true if a line of the change from `committed` to `own` is left in `now`.
///
/// Lines that the user added decide, where there are any: first those that the commit did not have at all, as a line such
/// as `}` comes back by itself. Where the user only removed lines, one of them must still be missing.
pub(super) fn survives(committed: &[u8], own: &[u8], now: &[u8]) -> bool {
    if now.is_empty() {
        return own.is_empty();
    }
    if [committed, own, now].iter().any(|bytes| bytes.contains(&0)) {
        // Not lines: that it is something else says nothing.
        return true;
    }
    let [committed, own, now] = [committed, own, now].map(counts);
    let added = own.iter().filter(|(line, count)| **count > count_of(&committed, line));
    let added: Vec<&[u8]> = added.map(|(line, _)| *line).collect();
    let new = added.iter().copied().filter(|line| count_of(&committed, line) == 0);
    let telling: Vec<&[u8]> = new.filter(|line| line.iter().any(u8::is_ascii_alphanumeric)).collect();
    let deciding = if telling.is_empty() { added } else { telling };
    if !deciding.is_empty() {
        return deciding.into_iter().any(|line| count_of(&now, line) > count_of(&committed, line));
    }
    let mut removed = committed.iter().filter(|(line, count)| **count > count_of(&own, line)).peekable();
    removed.peek().is_none() || removed.any(|(line, count)| count_of(&now, line) < *count)
}

fn count_of(counts: &HashMap<&[u8], usize>, line: &[u8]) -> usize {
    counts.get(line).copied().unwrap_or_default()
}

/// Returns how often each line is there, without blanks at its ends: indentation may change with what is around it.
fn counts(bytes: &[u8]) -> HashMap<&[u8], usize> {
    let mut counts = HashMap::new();
    for line in bytes.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii).filter(|line| !line.is_empty()) {
        *counts.entry(line).or_insert(0) += 1;
    }
    counts
}

#[cfg(test)]
mod tests {
    use super::survives;

    #[test]
    fn an_edit_beside_the_users_change_leaves_it_and_anything_else_does_not() {
        for (committed, own, now, expected) in [
            // As the user left it, and with an edit beside it.
            ("a\nb\n", "a\nmine\nb\n", "a\nmine\nb\n", true),
            ("a\nb\n", "a\nmine\nb\n", "a\nmine\nb\nc\n", true),
            ("a\nb\n", "a\nmine\nb\n", "a\n  mine\nB\n", true),
            // One of several lines is enough.
            ("a\n", "a\none\ntwo\n", "a\ntwo\n", true),
            // Taken back, with and without further work.
            ("a\nb\n", "a\nmine\nb\n", "a\nb\n", false),
            ("a\nb\n", "a\nmine\nb\n", "a\nb\nc\n", false),
            // A bracket that comes back by itself is not the user's.
            ("f {\n}\n", "f {\n}\nmine {\n}\n", "f {\n}\ntheirs {\n}\n", false),
            ("return 1\n", "return 1\nmine\nreturn 1\n", "return 1\nreturn 1\n", false),
            // A changed line counts as the line that it became.
            ("limit = 1\n", "limit = 2\n", "limit = 3\n", false),
            // Lines that were removed.
            ("a\nb\nc\n", "a\nc\n", "a\nc\nd\n", true),
            ("a\nb\nc\n", "a\nc\n", "a\nb\nc\nd\n", false),
            // A file that no commit had.
            ("", "x\ny\n", "y\nz\n", true),
            ("", "x\ny\n", "z\n", false),
            ("", "x\n", "", false),
            ("", "", "z\n", true),
            // No lines.
            ("", "\0\u{1}", "\0\u{2}", true),
            ("", "\0\u{1}", "", false),
        ] {
            let found = survives(committed.as_bytes(), own.as_bytes(), now.as_bytes());
            assert_eq!(found, expected, "{committed:?} -> {own:?} -> {now:?}");
        }
    }
}

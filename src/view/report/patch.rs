//! A patch as git prints it, as markup.

use super::harmless::escape;

/// The lines of a patch, told apart by what they do.
pub fn patch(text: &str) -> String {
    let mut out = String::with_capacity(text.len() * 5 / 4);
    let mut is_body = false;
    let mut lines = text.lines().peekable();
    while let Some(line) = lines.next() {
        let escaped = escape(line);
        if line.starts_with("diff --git ") {
            is_body = false;
        } else if line.starts_with("@@ ") {
            is_body = true;
            out.push_str(&format!("<i>{escaped}</i>"));
            continue;
        }
        match line.bytes().next() {
            Some(b'+') if is_body => out.push_str(&format!("<ins>{escaped}</ins>")),
            Some(b'-') if is_body => out.push_str(&format!("<del>{escaped}</del>")),
            _ if !is_body => out.push_str(&format!("<b>{escaped}</b>")),
            _ => {
                out.push_str(&escaped);
                // Elements of a line have a line of their own.
                let is_apart = |next: &&str| {
                    ["+", "-", "@@ ", "diff --git "].iter().any(|start| next.starts_with(start))
                };
                if lines.peek().is_some_and(|next| !is_apart(next)) {
                    out.push('\n');
                }
            }
        }
    }
    out
}

/// Lines that a patch adds and takes away.
pub fn counts(text: &str) -> (u64, u64) {
    let (mut added, mut removed, mut is_body) = (0, 0, false);
    for line in text.lines() {
        is_body = (is_body || line.starts_with("@@ ")) && !line.starts_with("diff --git ");
        added += u64::from(is_body && line.starts_with('+'));
        removed += u64::from(is_body && line.starts_with('-'));
    }
    (added, removed)
}

#[cfg(test)]
mod tests {
    use super::*;

    const PATCH: &str = "diff --git a/x b/x\nindex 1..2 100644\n--- a/x\n+++ b/x\n@@ -1,3 +1,3 @@ fn <a>\n one\n two\n-</pre>\n+\u{1b}[31m\n";

    #[test]
    fn lines_of_a_patch_are_told_apart() {
        assert_eq!(
            patch(PATCH),
            "<b>diff --git a/x b/x</b><b>index 1..2 100644</b><b>--- a/x</b><b>+++ b/x</b>\
             <i>@@ -1,3 +1,3 @@ fn &lt;a&gt;</i> one\n two<del>-&lt;/pre&gt;</del><ins>+\u{241b}[31m</ins>"
        );
        assert_eq!(counts(PATCH), (1, 1));
        assert_eq!(counts(""), (0, 0));
    }
}

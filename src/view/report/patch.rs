//! A patch as git prints it, in blocks of lines of one kind.

use serde::Serialize;

/// Lines that follow each other and do the same.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub struct Block {
    /// `file`, `place`, `added`, `removed` or `same`.
    pub kind: &'static str,
    pub text: String,
}

/// The lines of a patch, told apart by what they do.
pub fn blocks(text: &str) -> Vec<Block> {
    let mut blocks: Vec<Block> = Vec::new();
    let mut is_body = false;
    for line in text.lines() {
        is_body = (is_body || line.starts_with("@@ ")) && !line.starts_with("diff --git ");
        let kind = match line.bytes().next() {
            _ if !is_body => "file",
            Some(b'@') => "place",
            Some(b'+') => "added",
            Some(b'-') => "removed",
            _ => "same",
        };
        match blocks.last_mut().filter(|block| block.kind == kind) {
            Some(block) => block.text.extend(["\n", line]),
            None => blocks.push(Block { kind, text: line.to_owned() }),
        }
    }
    blocks
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
        let found = blocks(PATCH);
        let found: Vec<_> = found.iter().map(|block| (block.kind, block.text.as_str())).collect();
        assert_eq!(
            found,
            [
                ("file", "diff --git a/x b/x\nindex 1..2 100644\n--- a/x\n+++ b/x"),
                ("place", "@@ -1,3 +1,3 @@ fn <a>"),
                ("same", " one\n two"),
                ("removed", "-</pre>"),
                ("added", "+\u{1b}[31m"),
            ]
        );
        assert_eq!(counts(PATCH), (1, 1));
        assert_eq!(counts(""), (0, 0));
    }
}

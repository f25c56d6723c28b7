//! A patch as git prints it, in blocks of lines of one kind.

use std::collections::HashMap;

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

/// The patches of files within a patch, by the names that the files have after it, or had where they are gone.
pub fn by_file(text: &str) -> HashMap<&str, &str> {
    let starts = text.match_indices("diff --git ").map(|(at, _)| at);
    let starts: Vec<usize> = starts.filter(|at| *at == 0 || text[..*at].ends_with('\n')).collect();
    let ends = starts.iter().skip(1).copied().chain([text.len()]);
    let files = starts.iter().zip(ends).map(|(start, end)| &text[*start..end]);
    files.filter_map(|file| Some((path(file)?, file))).collect()
}

fn path(file: &str) -> Option<&str> {
    let head = file.lines().take_while(|line| !line.starts_with("@@ "));
    let names = head.filter_map(|line| line.strip_prefix("+++ b/").or_else(|| line.strip_prefix("--- a/")));
    // Git ends a name with a space in it by a tab.
    names.last().map(|name| name.trim_end_matches('\t'))
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

    #[test]
    fn a_patch_is_split_by_file() {
        let gone = "diff --git a/b c b/b c\ndeleted file mode 100644\n--- a/b c\t\n+++ /dev/null\n@@ -1 +0,0 @@\n-diff --git a/z b/z\n";
        let binary = "diff --git a/p.png b/p.png\nBinary files a/p.png and b/p.png differ\n";
        let text = format!("{PATCH}{gone}{binary}");
        assert_eq!(by_file(&text), HashMap::from([("x", PATCH), ("b c", gone)]));
        assert!(by_file("").is_empty());
    }
}

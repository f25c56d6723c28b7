//! A patch as git prints it: what its lines do, and which file they are of.

use std::collections::HashMap;

/// What a line does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DiffLineKind {
    /// It says which file follows.
    File,
    /// It says where in the file.
    Place,
    Added,
    Removed,
    Same,
}

/// The lines of a patch, told apart by what they do.
pub fn lines(patch: &str) -> impl Iterator<Item = (DiffLineKind, &str)> {
    let mut is_body = false;
    patch.lines().map(move |line| {
        is_body = (is_body || line.starts_with("@@ ")) && !line.starts_with("diff --git ");
        let kind = match line.bytes().next() {
            _ if !is_body => DiffLineKind::File,
            Some(b'@') => DiffLineKind::Place,
            Some(b'+') => DiffLineKind::Added,
            Some(b'-') => DiffLineKind::Removed,
            _ => DiffLineKind::Same,
        };
        (kind, line)
    })
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
    let head = lines(file).take_while(|(kind, _)| *kind == DiffLineKind::File);
    head.filter_map(|(_, line)| file_name(line)).last()
}

/// The name in a line of a file's head.
pub fn file_name(line: &str) -> Option<&str> {
    let name = line.strip_prefix("+++ b/").or_else(|| line.strip_prefix("--- a/"))?;
    // Git ends a name with a space in it by a tab.
    Some(name.trim_end_matches('\t'))
}

/// Lines that a patch adds and takes away.
pub fn counts(patch: &str) -> (u64, u64) {
    lines(patch).fold((0, 0), |(added, removed), (kind, _)| {
        (added + u64::from(kind == DiffLineKind::Added), removed + u64::from(kind == DiffLineKind::Removed))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const PATCH: &str = "diff --git a/x b/x\nindex 1..2 100644\n--- a/x\n+++ b/x\n@@ -1,3 +1,3 @@ fn <a>\n one\n two\n-</pre>\n+\u{1b}[31m\n";

    #[test]
    fn lines_of_a_patch_are_told_apart() {
        use DiffLineKind::{Added, File, Place, Removed, Same};
        let kinds: Vec<DiffLineKind> = lines(PATCH).map(|(kind, _)| kind).collect();
        assert_eq!(kinds, [File, File, File, File, Place, Same, Same, Removed, Added]);
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

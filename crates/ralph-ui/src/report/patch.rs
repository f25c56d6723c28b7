//! A patch as git prints it: what its lines do, and which file they are of.

use std::collections::HashMap;

use super::html_escape::escape;

/// The lines of a patch, each with the element for what it does; none for what stays the same.
fn lines(patch: &str) -> impl Iterator<Item = (&'static str, &str)> {
    let mut is_body = false;
    patch.lines().map(move |line| {
        is_body = (is_body || line.starts_with("@@ ")) && !line.starts_with("diff --git ");
        let element = match line.bytes().next() {
            _ if !is_body || line.starts_with('@') => "b",
            Some(b'+') => "ins",
            Some(b'-') => "del",
            _ => "",
        };
        (element, line)
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

/// The name in the head of a file.
fn path(file: &str) -> Option<&str> {
    let head = file.lines().take_while(|line| !line.starts_with("@@ "));
    let names = head.filter_map(|line| line.strip_prefix("+++ b/").or_else(|| line.strip_prefix("--- a/")));
    // Git ends a name with a space in it by a tab.
    names.last().map(|name| name.trim_end_matches('\t'))
}

/// Lines that a patch adds and takes away.
pub fn counts(patch: &str) -> [usize; 2] {
    ["ins", "del"].map(|kind| lines(patch).filter(|(element, _)| *element == kind).count())
}

/// A patch as markup: lines that came and went.
pub fn html(patch: &str) -> String {
    let mut out = String::with_capacity(patch.len() + patch.len() / 8);
    let lines: Vec<_> = lines(patch).collect();
    for run in lines.chunk_by(|one, other| one.0 == other.0) {
        let element = run[0].0;
        let text = escape(&run.iter().map(|(_, line)| *line).collect::<Vec<_>>().join("\n"));
        out.push_str(&if element.is_empty() { text } else { format!("<{element}>{text}</{element}>") });
    }
    out
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const PATCH: &str = "diff --git a/x b/x\nindex 1..2 100644\n--- a/x\n+++ b/x\n@@ -1,3 +1,3 @@ fn <a>\n one\n two\n-</pre>\n+\u{1b}[31m\n";

    #[test]
    fn lines_of_a_patch_are_told_apart() {
        let kinds: Vec<&str> = lines(PATCH).map(|(element, _)| element).collect();
        assert_eq!(kinds, ["b", "b", "b", "b", "b", "", "", "del", "ins"]);
        assert_eq!(counts(PATCH), [1, 1]);
        assert_eq!(counts(""), [0, 0]);
    }

    #[test]
    fn a_patch_is_split_by_file() {
        let gone = "diff --git a/b c b/b c\ndeleted file mode 100644\n--- a/b c\t\n+++ /dev/null\n@@ -1 +0,0 @@\n-diff --git a/z b/z\n";
        let binary = "diff --git a/p.png b/p.png\nBinary files a/p.png and b/p.png differ\n";
        let text = format!("{PATCH}{gone}{binary}");
        assert_eq!(by_file(&text), HashMap::from([("x", PATCH), ("b c", gone)]));
        assert!(by_file("").is_empty());
    }

    #[test]
    fn what_came_and_went_has_marks() {
        let patch = "diff --git a/x.rs b/x.rs\n--- a/x.rs\n+++ b/x.rs\n@@ -1,3 +1,3 @@ fn <a>\n one\n-let a = \"</pre>\";\n+let b;\n";
        let expected = "<b>diff --git a/x.rs b/x.rs\n--- a/x.rs\n+++ b/x.rs\n@@ -1,3 +1,3 @@ fn &lt;a&gt;</b> one\
                        <del>-let a = &quot;&lt;/pre&gt;&quot;;</del><ins>+let b;</ins>";
        assert_eq!(html(patch), expected);
    }

    proptest! {
        #[test]
        fn nothing_but_marks_of_ours_is_markup(lines in proptest::collection::vec("[-+ @]?[a\"'`/*#é<>&\u{202e}\u{1b} \\\\]{0,12}", 0..12)) {
            let patch = format!("--- a/x\n+++ b/x.ts\n@@ -1 +1 @@\n{}", lines.join("\n"));
            let mut text = html(&patch);
            for mark in ["<b>", "</b>", "<del>", "</del>", "<ins>", "</ins>", "\n"] {
                text = text.replace(mark, "");
            }
            prop_assert_eq!(text, escape(&patch).replace('\n', ""));
        }
    }
}

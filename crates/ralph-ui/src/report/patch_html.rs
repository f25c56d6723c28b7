//! A patch as markup: lines that came and went.

use super::harmless::escape;
use super::patch::{DiffLineKind, lines};

pub fn html(patch: &str) -> String {
    let mut out = String::with_capacity(patch.len() + patch.len() / 8);
    let lines: Vec<(DiffLineKind, &str)> = lines(patch).collect();
    for run in lines.chunk_by(|one, other| one.0 == other.0) {
        let element = match run[0].0 {
            DiffLineKind::File | DiffLineKind::Place => "b",
            DiffLineKind::Removed => "del",
            DiffLineKind::Added => "ins",
            DiffLineKind::Same => "",
        };
        let text = escape(&run.iter().map(|(_, line)| *line).collect::<Vec<_>>().join("\n"));
        out.push_str(&if element.is_empty() { text } else { format!("<{element}>{text}</{element}>") });
    }
    out
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn lines_are_told_apart() {
        let patch = "diff --git a/x.rs b/x.rs\n--- a/x.rs\n+++ b/x.rs\n@@ -1,3 +1,3 @@ fn <a>\n one\n-let a = \"</pre>\";\n+let b;\n";
        let expected = "<b>diff --git a/x.rs b/x.rs\n--- a/x.rs\n+++ b/x.rs</b>\
                        <b>@@ -1,3 +1,3 @@ fn &lt;a&gt;</b> one\
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

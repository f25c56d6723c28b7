//! A patch as markup: lines that came and went, and the words that differ in them.

use std::mem;
use std::ops::Range;

use crate::changed_lines::changed_words;

use super::harmless::{escape, escaped_len};
use super::patch::{DiffLineKind, lines};

/// The markup of a patch. Where it would take more than `most` bytes, marks are left out.
pub fn html(patch: &str, most: usize) -> String {
    let lines: Vec<(DiffLineKind, &str)> = lines(patch).collect();
    let mut runs = lines.chunk_by(|one, other| one.0 == other.0).peekable();
    let room = most.saturating_sub(escaped_len(patch));
    let mut page = Page { out: String::new(), room };
    let mut came = Vec::new();
    while let Some(run) = runs.next() {
        match run[0].0 {
            DiffLineKind::File => page.plain("b", run),
            DiffLineKind::Place => page.plain("em", run),
            DiffLineKind::Same => page.code(run, &[]),
            DiffLineKind::Removed => {
                let next =
                    runs.peek().filter(|next| next[0].0 == DiffLineKind::Added && next.len() == run.len());
                let pairs = run.iter().zip(next.copied().unwrap_or_default());
                let gone: Vec<Vec<Range<usize>>>;
                (gone, came) = pairs.map(|(old, new)| changed_words(code_of(old.1), code_of(new.1))).unzip();
                page.code(run, &gone);
            }
            DiffLineKind::Added => page.code(run, &mem::take(&mut came)),
        }
    }
    page.out
}

/// A line without its sign.
fn code_of(line: &str) -> &str {
    line.get(1..).unwrap_or_default()
}

struct Page {
    out: String,
    /// Bytes that marks may still take.
    room: usize,
}

impl Page {
    fn plain(&mut self, element: &str, run: &[(DiffLineKind, &str)]) {
        let lines: Vec<&str> = run.iter().map(|(_, line)| *line).collect();
        self.out.push_str(&format!("<{element}>{}</{element}>", escape(&lines.join("\n"))));
    }

    /// Lines of code, with what is changed in each.
    fn code(&mut self, run: &[(DiffLineKind, &str)], changed: &[Vec<Range<usize>>]) {
        let (begin, end) = match run[0].0 {
            DiffLineKind::Removed => ("<del>", "</del>"),
            DiffLineKind::Added => ("<ins>", "</ins>"),
            DiffLineKind::File | DiffLineKind::Place | DiffLineKind::Same => ("", ""),
        };
        self.out.push_str(begin);
        for (place, (_, line)) in run.iter().enumerate() {
            let code = code_of(line);
            let marked = marked(code, changed.get(place).map_or(&[], Vec::as_slice));
            let plain = escape(line);
            let more = (marked.len() + line.len() - code.len()).saturating_sub(plain.len());
            self.out.push_str(if place > 0 { "\n" } else { "" });
            if more <= self.room {
                self.room -= more;
                self.out.push_str(&escape(&line[..line.len() - code.len()]));
                self.out.push_str(&marked);
            } else {
                self.out.push_str(&plain);
            }
        }
        self.out.push_str(end);
    }
}

/// Code with what is changed marked.
fn marked(code: &str, changed: &[Range<usize>]) -> String {
    let mut out = String::with_capacity(code.len() * 2);
    let mut at = 0;
    for range in changed {
        out.push_str(&format!("{}<u>{}</u>", escape(&code[at..range.start]), escape(&code[range.clone()])));
        at = range.end;
    }
    out + &escape(&code[at..])
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const PATCH: &str = "diff --git a/x.rs b/x.rs\nindex 1..2 100644\n--- a/x.rs\n+++ b/x.rs\n@@ -1,3 +1,3 @@ fn <a>\n /* one\n two */ 3\n-let a = \"</pre>\";\n+let b = \"</pre>\";\n";

    #[test]
    fn lines_and_words_are_told_apart() {
        let html = html(PATCH, usize::MAX);
        let expected = "<b>diff --git a/x.rs b/x.rs\nindex 1..2 100644\n--- a/x.rs\n+++ b/x.rs</b>\
                        <em>@@ -1,3 +1,3 @@ fn &lt;a&gt;</em>\
                        \u{20}/* one\n two */ 3\
                        <del>-let <u>a</u> = &quot;&lt;/pre&gt;&quot;;</del>\
                        <ins>+let <u>b</u> = &quot;&lt;/pre&gt;&quot;;</ins>";
        assert_eq!(html, expected);
    }

    #[test]
    fn without_room_there_are_no_marks() {
        let html = html(PATCH, 10);
        assert!(!html.contains("<u") && html.contains("<ins>+let b = &quot;"), "{html}");
    }

    proptest! {
        #[test]
        fn nothing_but_marks_of_ours_is_markup(lines in proptest::collection::vec("[-+ @]?[a\"'`/*#é<>&\u{202e}\u{1b} \\\\]{0,12}", 0..12)) {
            let patch = format!("--- a/x\n+++ b/x.ts\n@@ -1 +1 @@\n{}", lines.join("\n"));
            let mut text = html(&patch, usize::MAX);
            for mark in ["<b>", "</b>", "<em>", "</em>", "<del>", "</del>", "<ins>", "</ins>", "<u>", "</u>", "\n"] {
                text = text.replace(mark, "");
            }
            prop_assert_eq!(text, escape(&patch).replace('\n', ""));
        }
    }
}

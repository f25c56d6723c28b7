//! A patch as markup: lines that came and went, the words that differ in them, and the colours of code.

use std::mem;
use std::ops::Range;

use crate::view::changed_lines::changed_words;

use super::harmless::{escape, escaped_len};
use super::patch::{DiffLineKind, file_name, lines};
use super::syntax::{Class, Lexer};

/// The markup of a patch. Where it would take more than `most` bytes, colours and marks are left out.
pub fn html(patch: &str, most: usize) -> String {
    let lines: Vec<(DiffLineKind, &str)> = lines(patch).collect();
    let mut runs = lines.chunk_by(|one, other| one.0 == other.0).peekable();
    let room = most.saturating_sub(escaped_len(patch));
    let mut page = Page { out: String::new(), room, lexers: [Lexer::default(); 2] };
    let mut came = Vec::new();
    while let Some(run) = runs.next() {
        match run[0].0 {
            DiffLineKind::File => {
                let name = run.iter().filter_map(|(_, line)| file_name(line)).next_back();
                page.lexers = [name.map(Lexer::of).unwrap_or_default(); 2];
                page.plain("b", run);
            }
            DiffLineKind::Place => {
                page.lexers = page.lexers.map(Lexer::anew);
                page.plain("em", run);
            }
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
    /// Bytes that colours and marks may still take.
    room: usize,
    /// Of the file as it was, and as it is.
    lexers: [Lexer; 2],
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
        for (place, (kind, line)) in run.iter().enumerate() {
            let code = code_of(line);
            let tokens = self.tokens(*kind, code);
            let marked = marked(code, &tokens, changed.get(place).map_or(&[], Vec::as_slice));
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

    fn tokens(&mut self, kind: DiffLineKind, code: &str) -> Vec<(Range<usize>, Class)> {
        let [old, new] = &mut self.lexers;
        if kind == DiffLineKind::Removed {
            return old.line(code);
        }
        let tokens = new.line(code);
        if kind == DiffLineKind::Same {
            *old = *new;
        }
        tokens
    }
}

/// Code with its tokens in colours and what is changed marked.
fn marked(code: &str, tokens: &[(Range<usize>, Class)], changed: &[Range<usize>]) -> String {
    let mut out = String::with_capacity(code.len() * 2);
    let mut at = 0;
    for range in changed {
        colored(&mut out, code, tokens, at..range.start);
        out.push_str("<u>");
        colored(&mut out, code, tokens, range.clone());
        out.push_str("</u>");
        at = range.end;
    }
    colored(&mut out, code, tokens, at..code.len());
    out
}

fn colored(out: &mut String, code: &str, tokens: &[(Range<usize>, Class)], part: Range<usize>) {
    let mut at = part.start;
    for (token, class) in tokens.iter().filter(|(token, _)| token.start < part.end && token.end > part.start)
    {
        let (start, end) = (token.start.max(part.start), token.end.min(part.end));
        out.push_str(&escape(&code[at..start]));
        out.push_str(&format!("<i class={}>{}</i>", class.as_str(), escape(&code[start..end])));
        at = end;
    }
    out.push_str(&escape(&code[at..part.end]));
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const PATCH: &str = "diff --git a/x.rs b/x.rs\nindex 1..2 100644\n--- a/x.rs\n+++ b/x.rs\n@@ -1,3 +1,3 @@ fn <a>\n /* one\n two */ 3\n-let a = \"</pre>\";\n+let b = \"</pre>\";\n";

    #[test]
    fn lines_words_and_code_are_told_apart() {
        let html = html(PATCH, usize::MAX);
        let expected = "<b>diff --git a/x.rs b/x.rs\nindex 1..2 100644\n--- a/x.rs\n+++ b/x.rs</b>\
                        <em>@@ -1,3 +1,3 @@ fn &lt;a&gt;</em>\
                        \u{20}<i class=c>/* one</i>\n <i class=c>two */</i> <i class=n>3</i>\
                        <del>-<i class=k>let</i> <u>a</u> = <i class=s>&quot;&lt;/pre&gt;&quot;</i>;</del>\
                        <ins>+<i class=k>let</i> <u>b</u> = <i class=s>&quot;&lt;/pre&gt;&quot;</i>;</ins>";
        assert_eq!(html, expected);
    }

    #[test]
    fn without_room_there_are_neither_colors_nor_marks() {
        let html = html(PATCH, 10);
        assert!(
            !html.contains("<i class") && !html.contains("<u") && html.contains("<ins>+let b = &quot;"),
            "{html}"
        );
    }

    proptest! {
        #[test]
        fn nothing_but_marks_of_ours_is_markup(lines in proptest::collection::vec("[-+ @]?[a\"'`/*#é<>&\u{202e}\u{1b} \\\\]{0,12}", 0..12)) {
            let patch = format!("--- a/x\n+++ b/x.ts\n@@ -1 +1 @@\n{}", lines.join("\n"));
            let mut text = html(&patch, usize::MAX);
            for mark in ["<b>", "</b>", "<em>", "</em>", "<del>", "</del>", "<ins>", "</ins>", "<u>", "</u>", "<i class=c>", "<i class=s>", "<i class=k>", "<i class=n>", "</i>", "\n"] {
                text = text.replace(mark, "");
            }
            prop_assert_eq!(text, escape(&patch).replace('\n', ""));
        }
    }
}

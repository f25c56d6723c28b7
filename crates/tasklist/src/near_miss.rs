//! Boxes that a person reads as a task and Markdown does not: `[-]`, `[~]`, `[]`, `-[ ]`.

use std::fmt;
use std::sync::LazyLock;

use regex::Regex;
use serde::Serialize;

/// A box that Markdown does not know. It is never picked and never done, and always reported.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Unrecognised {
    /// From 1.
    pub line: usize,
    /// What is between the brackets, or the box itself where it is a single character like `☐`.
    pub mark: String,
    /// What stands after the box.
    pub text: String,
    /// The whole line, for people: it shows what is wrong with the box.
    #[serde(skip)]
    pub written: String,
}

impl fmt::Display for Unrecognised {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: {}", self.line, self.written)
    }
}

/// What is before the text that may begin with a box.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Prefix {
    /// A bullet or the marks of a heading: more kinds of marks are believed.
    Bullet,
    /// Nothing, as far as Markdown knows.
    Line,
}

/// A bullet that is none for want of a space after it, or because it may not interrupt a paragraph.
static BULLET: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"^(?:[-*+•·–—▪◦]|[0-9]{1,9}[.)])[ \t]*").expect("a valid expression"));

static BOX: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"^\\?\[([^\[\]]{0,24}?)\\?\]").expect("a valid expression"));

static TASK_ID: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"^\s+[*`\[]{0,3}T-?[0-9]").expect("a valid expression"));

/// Returns the mark of the box that `text` begins with, and what follows. To be asked only for text that is no task-list
/// item.
pub(super) fn read(text: &str, place: Prefix) -> Option<(&str, &str)> {
    let text = match place {
        Prefix::Bullet => text,
        Prefix::Line => BULLET.find(text).map_or(text, |bullet| &text[bullet.end()..]),
    };
    if let Some(sign) = text.chars().next().filter(|c| matches!(c, '☐' | '☑' | '☒')) {
        let (mark, rest) = text.split_at(sign.len_utf8());
        return rest.starts_with(char::is_whitespace).then_some((mark, rest));
    }
    let found = BOX.captures(text)?;
    let (whole, mark) = (found.get(0)?, found.get(1)?.as_str());
    let rest = &text[whole.end()..];
    // Links, link definitions and footnotes.
    if rest.starts_with(['(', '[', ':']) {
        return None;
    }
    let is_apart = rest.is_empty() || rest.starts_with(|c: char| c.is_whitespace() || "*\\_".contains(c));
    let is_box = match place {
        Prefix::Bullet => match kind(mark) {
            MarkKind::Known => true,
            MarkKind::Empty | MarkKind::Sign => is_apart,
            MarkKind::Letter => TASK_ID.is_match(rest),
            MarkKind::Text => false,
        },
        Prefix::Line => {
            let is_usual = matches!(kind(mark), MarkKind::Known | MarkKind::Empty)
                || matches!(mark, "-" | "~" | "!" | "/" | ">")
                || kind(mark) == MarkKind::Sign && !mark.is_ascii();
            is_usual && is_apart && !rest.trim().is_empty()
        }
    };
    is_box.then_some((mark, rest))
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum MarkKind {
    /// A space or an x, perhaps among more spaces.
    Known,
    Empty,
    /// A punctuation mark, an emoji, or any single character beyond ASCII.
    Sign,
    /// A small letter or a word: some write `[d]` or `[done]`, but most such brackets are labels.
    Letter,
    Text,
}

fn kind(mark: &str) -> MarkKind {
    let trimmed = mark.trim();
    let mut chars = trimmed.chars();
    match (chars.next(), chars.next()) {
        (None, _) if mark.is_empty() => MarkKind::Empty,
        (None, _) | (Some('x' | 'X'), None) => MarkKind::Known,
        (Some(c), None) if c.is_ascii_lowercase() => MarkKind::Letter,
        _ if matches!(&*trimmed.to_lowercase(), "done" | "ok" | "todo" | "wip" | "yes") => MarkKind::Letter,
        (Some(c), None) if c.is_ascii_alphanumeric() => MarkKind::Text,
        (Some(_), None) => MarkKind::Sign,
        // An emoji is often followed by a variation selector or joined with others.
        _ if trimmed.chars().count() <= 6
            && trimmed.chars().all(|c| !c.is_ascii() && !c.is_alphanumeric()) =>
        {
            MarkKind::Sign
        }
        _ => MarkKind::Text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn case(text: &str, place: Prefix, mark: Option<&str>) {
        assert_eq!(read(text, place).map(|(mark, _)| mark), mark, "{text}");
    }

    #[test]
    fn boxes_behind_a_bullet_are_read() {
        for (text, mark) in [
            ("[-] T011 skipped", "-"),
            ("[~] T012 partial", "~"),
            ("[!] blocked", "!"),
            ("[/] T013", "/"),
            ("[>] T014", ">"),
            ("[?] unsure", "?"),
            ("[] T001 no space", ""),
            ("[❌] failed", "❌"),
            ("[⏭️] skipped", "⏭️"),
            ("[\u{a0}] a space that is none", "\u{a0}"),
            ("[done] T005 done in words", "done"),
            ("[ ]* 2.1 optional", " "),
            (r"[ ]\* 2.1 optional", " "),
            ("[ ]Text without a space", " "),
            (r"\[ \] T001 escaped by a formatter", " "),
            ("[d] T004 done in a way of its own", "d"),
            ("☐ buy milk", "☐"),
            ("[-]", "-"),
        ] {
            case(text, Prefix::Bullet, Some(mark));
        }
    }

    #[test]
    fn brackets_that_are_no_boxes_are_left_alone() {
        for text in [
            "[text](url)",
            "[x](url)",
            "[ ](url)",
            "[^1]: a footnote",
            "[1] a reference",
            "[P] can run in parallel",
            "[P] T001 and T002",
            "[S] a track",
            "[A] = Track assignment",
            "[US1] maps to a story",
            "[T001] Set up",
            "[...] more",
            "[WIP] title",
            "[d] a label",
            "[]byte is a type",
            "[!NOTE]",
            "plain",
            "",
        ] {
            case(text, Prefix::Bullet, None);
        }
    }

    #[test]
    fn a_line_without_a_bullet_needs_a_usual_mark() {
        case("[ ] T001 no bullet", Prefix::Line, Some(" "));
        case("-[ ] T001 no space", Prefix::Line, Some(" "));
        case("*[x] no space", Prefix::Line, Some("x"));
        case("2. [ ] may not interrupt a paragraph", Prefix::Line, Some(" "));
        case("• [ ] a bullet of a word processor", Prefix::Line, Some(" "));
        case("[-] T001 no bullet", Prefix::Line, Some("-"));
        case("[?] prose", Prefix::Line, None);
        case("[x]", Prefix::Line, None);
        case("text - [ ] later", Prefix::Line, None);
    }
}

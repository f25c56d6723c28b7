//! The parts of a final message that the loop understands: the promise, and learnings.

/// The line by which an agent says that all tasks are done.
const PROMISE: &str = "<promise>COMPLETE</promise>";

/// What an agent reports in its own words, one item each.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Findings {
    pub learnings: Vec<String>,
    pub decisions: Vec<String>,
    /// What it tried, whether or not it worked.
    pub approaches: Vec<String>,
}

/// Returns true if the promise is alone on a line, outside code fences.
pub fn promise(text: &str) -> bool {
    unfenced(text).any(|line| line.trim() == PROMISE)
}

/// Returns the list items, or the paragraph, under lines like `Learnings:`, `Decisions:` and `Tried:`, and any text on the
/// same line.
pub fn findings(text: &str) -> Findings {
    let mut findings = Findings::default();
    let mut reader = Reader::Outside;
    for line in unfenced(text) {
        reader = reader.read(line, &mut findings);
    }
    for list in [&mut findings.learnings, &mut findings.decisions, &mut findings.approaches] {
        list.retain(|item| {
            !matches!(
                item.trim_end_matches('.').to_lowercase().as_str(),
                "" | "none" | "n/a" | "nothing" | "nothing new"
            )
        });
    }
    findings
}

/// Returns the lines of `text` outside code fences.
pub(super) fn unfenced(text: &str) -> impl Iterator<Item = &str> {
    lines(text).filter(|(_, is_code)| !is_code).map(|(line, _)| line)
}

/// Returns the lines of `text`, each with true if it belongs to a code fence.
pub(super) fn lines(text: &str) -> impl Iterator<Item = (&str, bool)> {
    let mut open: Option<&str> = None;
    text.lines().map(move |line| {
        let fence = fence(line);
        match (open, fence) {
            (None, None) => return (line, false),
            (None, Some((marks, _))) => open = Some(marks),
            // Closed by at least as many marks of the same kind, with nothing after them.
            (Some(marks), Some((closing, ""))) if closing.starts_with(marks) => open = None,
            (Some(_), _) => {}
        }
        (line, true)
    })
}

/// Returns the marks of a line that opens or closes a code fence, and what stands after them.
fn fence(line: &str) -> Option<(&str, &str)> {
    let line = line.trim();
    let mark = line.chars().next().filter(|mark| matches!(mark, '`' | '~'))?;
    let rest = line.trim_start_matches(mark);
    let marks = &line[..line.len() - rest.len()];
    // "```x``` y" is code within a line.
    let is_fence = marks.len() >= 3 && (mark == '~' || !rest.contains('`'));
    is_fence.then(|| (marks, rest.trim()))
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum SectionKind {
    Learnings,
    Decisions,
    Approaches,
}

/// Where in the message we are.
#[derive(Debug, Clone, Copy)]
enum Reader {
    Outside,
    Inside {
        kind: SectionKind,
        /// The indentation of the label's own bullet: an item that stands no deeper is not under it.
        label_indent: Option<usize>,
        last: Last,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Last {
    Label,
    /// A name alone on its line, without a colon: only a list makes it a label.
    Name,
    Item,
    Blank,
}

impl Reader {
    fn read(self, line: &str, findings: &mut Findings) -> Self {
        if let Some((kind, label_indent)) = label(line) {
            return Self::Inside { kind, label_indent, last: Last::Label };
        }
        // A list item may begin with such a word without being a label.
        let is_point = matches!(self, Self::Inside { .. }) && bullet(line).is_some();
        if let Some((kind, label_indent, item)) = labelled(line).filter(|_| !is_point) {
            findings.of(kind).push(item.to_owned());
            return Self::Inside { kind, label_indent, last: Last::Item };
        }
        if let Some(kind) = exact(line.trim()) {
            return Self::Inside { kind, label_indent: None, last: Last::Name };
        }
        let Self::Inside { kind, label_indent, last } = self else { return Self::Outside };
        if line.trim().is_empty() {
            let is_before = matches!(last, Last::Label | Last::Name);
            return Self::Inside { kind, label_indent, last: if is_before { last } else { Last::Blank } };
        }
        let items = findings.of(kind);
        if ends_list(line) {
            return Self::Outside;
        }
        let indent = line.len() - line.trim_start().len();
        match (bullet(line), items.last_mut()) {
            (Some(_), _) if label_indent.is_some_and(|label| indent <= label) => Self::Outside,
            (Some(item), _) => {
                items.push(item.trim().to_owned());
                Self::Inside { kind, label_indent, last: Last::Item }
            }
            // The continuation of an item on the next line.
            (None, Some(item)) if last == Last::Item || (last == Last::Blank && indent >= 2) => {
                item.push(' ');
                item.push_str(line.trim());
                Self::Inside { kind, label_indent, last: Last::Item }
            }
            (None, _) if last == Last::Label => {
                items.push(line.trim().to_owned());
                Self::Inside { kind, label_indent, last: Last::Item }
            }
            (None, _) => Self::Outside,
        }
    }
}

impl Findings {
    fn of(&mut self, kind: SectionKind) -> &mut Vec<String> {
        match kind {
            SectionKind::Learnings => &mut self.learnings,
            SectionKind::Decisions => &mut self.decisions,
            SectionKind::Approaches => &mut self.approaches,
        }
    }
}

/// Returns the kind of a line like `Learnings: the frob needs a knob`, and what it says.
fn labelled(line: &str) -> Option<(SectionKind, Option<usize>, &str)> {
    let indent = line.len() - line.trim_start().len();
    let (words, label_indent) = match bullet(line) {
        Some(rest) => (rest, Some(indent)),
        None => (line.trim().trim_start_matches('#'), None),
    };
    let (name, item) = words.split_once(':')?;
    let item = item.trim_start_matches(['*', '_']);
    let kind = exact(name.trim_matches(|c: char| c.is_whitespace() || matches!(c, '*' | '_')))?;
    let says_something = item.starts_with([' ', '\t']) && item.contains(char::is_alphabetic);
    says_something.then(|| (kind, label_indent, item.trim()))
}

/// Returns the kind of a text that is exactly the name of a label: `Learnings`, `Lessons learned`, `What I tried`.
fn exact(name: &str) -> Option<SectionKind> {
    if name.len() > 60 || !name.chars().all(|c| c.is_alphabetic() || matches!(c, ' ' | '\'' | '\u{2019}')) {
        return None;
    }
    let kind = kind(name)?;
    let lower = plain(name);
    if NO_SUCCESS.contains(&lower.trim()) {
        return Some(kind);
    }
    let mut words = lower.split_whitespace().skip_while(|word| FRONT.contains(word)).skip(1);
    let is_more = words.any(|word| !["learned", "learnt", "tried", "made", "taken"].contains(&word));
    (!is_more).then_some(kind)
}

/// Returns the kind of a line like `Learnings:`, `**Learnings**:`, `## Learnings`, `- **Learnings for later:**`.
fn label(line: &str) -> Option<(SectionKind, Option<usize>)> {
    let indent = line.len() - line.trim_start().len();
    let is_heading = line.trim_start().starts_with('#');
    let (words, label_indent) = match bullet(line) {
        Some(rest) => (rest, Some(indent)),
        None => (line.trim().trim_start_matches('#'), None),
    };
    let words = words.trim_matches(|c: char| c.is_whitespace() || matches!(c, '*' | '_'));
    let bare = words.trim_end_matches([':', '*', '_']);
    if !is_heading && bare.len() == words.len() {
        let is_bold = line.trim().starts_with("**") && line.trim().ends_with("**");
        // A bold line is a heading too; a mere word is not.
        if !is_bold {
            return None;
        }
    }
    // "Learnings: a sentence" is a label and its item.
    if bare.contains(':') || bare.len() > 60 {
        return None;
    }
    Some((kind(bare)?, label_indent))
}

/// Words that may precede the one that names the kind: `Key learnings`, `What I have tried`.
const FRONT: [&str; 13] = [
    "key",
    "main",
    "new",
    "important",
    "other",
    "design",
    "technical",
    "failed",
    "what",
    "things",
    "i",
    "we",
    "have",
];

/// Labels of what was tried that no single word identifies.
const NO_SUCCESS: [&str; 2] = ["what did not work", "what didnt work"];

fn plain(label: &str) -> String {
    label.to_lowercase().replace(['\'', '\u{2019}'], "")
}

/// Returns the kind that the words of a label name.
fn kind(label: &str) -> Option<SectionKind> {
    let label = plain(label);
    if NO_SUCCESS.contains(&label.trim()) {
        return Some(SectionKind::Approaches);
    }
    let words = label.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    let mut words = words.skip_while(|word| FRONT.contains(word));
    match words.next()? {
        "learnings" | "learning" | "learned" | "learnt" | "lessons" | "lesson" => {
            Some(SectionKind::Learnings)
        }
        "decisions" | "decision" | "decided" => Some(SectionKind::Decisions),
        "tried" | "approaches" | "attempts" => Some(SectionKind::Approaches),
        _ => None,
    }
}

/// Returns what stands after the bullet of a list item.
fn bullet(line: &str) -> Option<&str> {
    let line = line.trim_start();
    let rest = if let Some(rest) = line.strip_prefix(['-', '*', '+', '•', '·', '–', '—']) {
        rest
    } else {
        let rest = line.trim_start_matches(|c: char| c.is_ascii_digit());
        let digits = line.len() - rest.len();
        rest.strip_prefix(['.', ')']).filter(|_| (1..=9).contains(&digits))?
    };
    rest.starts_with([' ', '\t']).then(|| rest.trim_start())
}

/// Returns true for a heading, a rule, another label, or the promise.
fn ends_list(line: &str) -> bool {
    let trimmed = line.trim();
    let is_rule = trimmed.len() >= 3
        && ['-', '*', '_', '='].iter().any(|mark| trimmed.chars().all(|c| c == *mark || c == ' '));
    let is_flush = !line.starts_with([' ', '\t']) && bullet(line).is_none();
    is_rule
        || trimmed.starts_with('#')
        || trimmed.starts_with("<promise>")
        || (is_flush && (trimmed.ends_with(':') || trimmed.ends_with(":**") || trimmed.ends_with("**:")))
        || (is_flush && trimmed.starts_with("**") && trimmed.ends_with("**"))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_promise_counts_alone_on_a_line_outside_fences() {
        for text in [
            "<promise>COMPLETE</promise>",
            "All done.\n\n<promise>COMPLETE</promise>\n",
            "  <promise>COMPLETE</promise>  \r\n",
            "```\ncode\n```\n<promise>COMPLETE</promise>",
            "~~~\n```\n~~~\n<promise>COMPLETE</promise>",
            "`code` and ```more```\n<promise>COMPLETE</promise>",
        ] {
            assert!(promise(text), "{text}");
        }
        for text in [
            "",
            "I will print <promise>COMPLETE</promise> when done",
            "> <promise>COMPLETE</promise>",
            "<promise>complete</promise>",
            "<promise>COMPLETE</promise>.",
            "```\n<promise>COMPLETE</promise>\n```",
            "````text\n```\n<promise>COMPLETE</promise>\n````",
            "```\n<promise>COMPLETE</promise>\n~~~\n<promise>COMPLETE</promise>",
            "```\n``` not a close\n<promise>COMPLETE</promise>",
        ] {
            assert!(!promise(text), "{text}");
        }
    }

    #[track_caller]
    fn case(text: &str, learnings: &[&str]) {
        assert_eq!(findings(text).learnings, learnings, "{text}");
    }

    #[test]
    fn items_under_any_spelling_of_the_label_are_read() {
        for label in [
            "Learnings:",
            "learnings:",
            "**Learnings**:",
            "**Learnings:**",
            "**Learnings**",
            "## Learnings",
            "### Learnings:",
            "Learnings for future iterations:",
            "  Learnings:",
            "__Learnings:__",
            "Key learnings:",
            "**What I learned**",
            "## What we have learned",
            "Lessons learned:",
            "LEARNINGS:",
        ] {
            case(&format!("Done.\n\n{label}\n- one\n- two\n"), &["one", "two"]);
            case(&format!("{label}\n\n- one\n\n- two\n\nBye."), &["one", "two"]);
        }
        case("- **Learnings:**\n  - one\n  - two\n- Files changed\n  - a.rs", &["one", "two"]);
    }

    #[test]
    fn every_bullet_is_a_bullet() {
        case("Learnings:\n* a\n- b\n+ c\n1. d\n2) e\n  - f", &["a", "b", "c", "d", "e", "f"]);
        case("Learnings:\n• a\n– b\n— c", &["a", "b", "c"]);
        case("Learnings:\n- `--flag` is **odd**\n- - dash", &["`--flag` is **odd**", "- dash"]);
    }

    #[test]
    fn an_item_may_continue_on_the_next_line() {
        case("Learnings:\n- one\n  goes on\n- two\nlazily", &["one goes on", "two lazily"]);
        case("Learnings:\n- one\n\n  second paragraph\n- two", &["one second paragraph", "two"]);
    }

    #[test]
    fn the_list_ends_where_something_else_begins() {
        for end in [
            "\nThat is all.",
            "## Next",
            "Files changed:",
            "**Summary**",
            "---",
            "<promise>COMPLETE</promise>",
            "Decisions:",
        ] {
            case(&format!("Learnings:\n- one\n{end}\n- not one"), &["one"]);
        }
    }

    #[test]
    fn what_stands_behind_a_label_or_below_it_without_a_bullet_is_an_item_too() {
        case("Learnings: one", &["one"]);
        case("**Learnings:** one\ngoes on\n\nBye.", &["one goes on"]);
        case("**Lessons learned**: `--flag` is *odd*", &["`--flag` is *odd*"]);
        case("- Learnings: one\n- Files: a.rs", &["one"]);
        case("Learnings: one\n- two", &["one", "two"]);
        case("Learnings:\nprose, no list\n- two", &["prose, no list", "two"]);
        case("## Learnings\n\nThe frob\nneeds a knob.\n\nAll is well.", &["The frob needs a knob."]);
        assert_eq!(findings("What didn't work: perl").approaches, ["perl"]);
        case("LEARNINGS\n- a\n- b", &["a", "b"]);
        case(
            "Learnings:\n- one\n- Decision: no label here\n- two",
            &["one", "Decision: no label here", "two"],
        );
        let found = findings("Learnings: one\nDecision: took x\nTried: perl, did not work\n");
        assert_eq!(found.learnings, ["one"]);
        assert_eq!(found.decisions, ["took x"]);
        assert_eq!(found.approaches, ["perl, did not work"]);
    }

    #[test]
    fn lookalikes_of_labels_are_not_labels() {
        case("Learnings are good\n- no", &[]);
        case("Learnings in this file: no\n- no", &[]);
        case("Learnings: 3\n- no", &[]);
        case("Learnings:no\n- no", &[]);
        case("Learnings: none", &[]);
        case("Learnings\nare good", &[]);
        case("I learned that: no\n- no", &[]);
        case("My learnings:\n- no", &[]);
        case("```\nLearnings:\n- no\n```", &[]);
        case("Learnings:\n- none\n- None.\n- n/a", &[]);
    }

    #[test]
    fn the_other_labels_are_read_in_any_spelling_too() {
        for label in ["Decisions:", "**Key decisions:**", "## Design Decisions", "Decisions made:"] {
            assert_eq!(findings(&format!("{label}\n- a")).decisions, ["a"], "{label}");
        }
        for label in [
            "Tried:",
            "What I tried:",
            "## Failed approaches",
            "**What didn't work**",
            "What did not work:",
            "Approaches tried:",
        ] {
            assert_eq!(findings(&format!("{label}\n- a")).approaches, ["a"], "{label}");
        }
    }

    #[test]
    fn the_three_kinds_are_kept_apart() {
        let text =
            "Decisions:\n- use TOML\n\nTried:\n1. regex\n2. a parser\n\nLearnings:\n- tests are slow\n";
        let found = findings(text);
        assert_eq!(found.decisions, ["use TOML"]);
        assert_eq!(found.approaches, ["regex", "a parser"]);
        assert_eq!(found.learnings, ["tests are slow"]);
    }

    proptest! {
        #[test]
        fn any_text_is_read_without_a_panic(text in "([ \\-*#`~:\nL]|Learnings:|Tried|é|1\\.|<promise>COMPLETE</promise>){0,40}") {
            let found = findings(&text);
            prop_assert!(found.learnings.iter().all(|item| !item.contains('\n')));
            promise(&text);
        }
    }
}

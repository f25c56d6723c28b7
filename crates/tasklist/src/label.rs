//! What is at the front of a task's text: its id and its tags.

use std::sync::LazyLock;

use regex::Regex;

/// The text after a box, taken apart.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Label {
    pub id: Option<Id>,
    /// Without id, `[P]` and story tag.
    pub text: String,
    pub parallel: bool,
    /// `US1`, as written between the brackets.
    pub story: Option<String>,
}

/// An id, without decoration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Id {
    pub written: String,
    /// The last id of a range like `T003-T006`, which is one item.
    pub until: Option<String>,
    pub family: Family,
    /// True if its shape alone makes it an id. `S3` and `2.0` may also be words of a sentence.
    pub is_certain: bool,
}

/// Ids that are written alike.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) enum Family {
    /// `T001`, `TASK-01`, `Task 1.2`.
    Task,
    /// `1.`, `1.2`, `2A.1`.
    Number,
    /// `WP01`, `FIX-3`: the letters in front.
    Word(String),
}

impl Family {
    /// Returns true if such ids name requirements and their proofs, not work: `AC-01`, `FR-003`.
    pub fn is_reference(&self) -> bool {
        const REFERENCES: &[&str] = &["AC", "ADR", "BR", "DOD", "FR", "NFR", "REQ", "RFC", "SC"];
        matches!(self, Self::Word(letters) if REFERENCES.contains(&letters.as_str()))
    }
}

/// One id, without anything around it. Used for dependencies too.
pub(super) const ID: &str = concat!(
    r"(?:(?P<task>T-?[0-9]+(?:\.[0-9]+)*[A-Za-z]?|(?i:task)(?:[-_]|\s+)?\#?[0-9]+(?:\.[0-9]+)*[a-z]?)",
    r"|(?P<number>[0-9]+[A-Z]?(?:\.[0-9]+)+[a-z]?|[0-9]+)",
    r"|(?P<word>[A-Z][A-Z0-9]*(?:[-_][A-Z0-9]+)*(?:\.[0-9]+)*[a-z]?))",
);

/// The same without names.
pub(super) const ID_BARE: &str = concat!(
    r"(?:T-?[0-9]+(?:\.[0-9]+)*[A-Za-z]?",
    r"|[0-9]+[A-Z]?(?:\.[0-9]+)+[a-z]?|[0-9]+",
    r"|[A-Z][A-Z0-9]*(?:[-_][A-Z0-9]+)*(?:\.[0-9]+)*[a-z]?)",
);

/// Words for "task" before an id.
pub(super) const TASK_WORDS: &str =
    r"(?:tasks|tareas?|tarefas?|t[âa]ches?|aufgaben?|задач\p{L}*|任[务務]|タスク|작업|태스크)";

static FIRST_ID: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(&format!("^{ID}")).expect("a valid expression"));

static RANGE_END: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"^\s*(?:-|–|—|\.\.+|~)\s*(?P<until>T-?[0-9]+(?:\.[0-9]+)*[A-Za-z]?)\b")
        .expect("a valid expression")
});

/// A list item pasted after a box: `- [ ] - [X] T001`.
static PASTED: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"^(?:[-*+]|[0-9]+[.)]-?)\s+\[[ xX]\]\s+").expect("a valid expression"));

static STORY: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"^(?i:US|Story)[- ]?[0-9]+[a-z]?(?:\s*[,+/&-]\s*(?:(?i:US|Story)[- ]?)?[0-9]+[a-z]?)*$")
        .expect("a valid expression")
});

/// Takes `text` apart; `is_believed` says of an id whether it is one in this file.
pub(super) fn read(text: &str, is_believed: impl Fn(&Id) -> bool) -> Label {
    let mut label = Label::default();
    let mut rest = text.trim();
    let mut kept = String::new();
    if let Some(pasted) = PASTED.find(rest) {
        rest = &rest[pasted.end()..];
    }
    let front = skip_decoration(rest, &mut label);
    if let Some((id, reopened, behind)) = id_at(front).filter(|(id, ..)| is_believed(id)) {
        kept.push_str(&reopened);
        rest = behind;
        label.id = Some(id);
    } else {
        label = Label::default();
    }
    let others = label.take_leading(&mut rest);
    kept.push_str(&others);
    kept.push_str(rest);
    label.text = label.take_trailing(&kept);
    label
}

/// Steps over signs and tags that may be before an id.
fn skip_decoration<'a>(text: &'a str, label: &mut Label) -> &'a str {
    let mut rest = text;
    loop {
        rest = rest.trim_start_matches(|c: char| c.is_whitespace() || !c.is_ascii() && !c.is_alphanumeric());
        let Some((tag, behind)) = tag_at(rest) else { return rest };
        if !label.take(tag) {
            return rest;
        }
        rest = behind;
    }
}

/// Returns the id that `text` begins with, the emphasis that goes on after it, and the rest.
fn id_at(text: &str) -> Option<(Id, String, &str)> {
    let (openers, bare) = openers(text);
    let captures = FIRST_ID.captures(bare)?;
    let written = captures.get(0)?.as_str();
    let rest = &bare[written.len()..];
    let mut until = None;
    let mut is_part = false;
    if captures.name("task").is_some() {
        if let Some(range) = RANGE_END.captures(rest) {
            until = range.name("until").map(|until| until.as_str().to_owned());
            is_part = true;
        } else if rest.starts_with(['-', '_', '/'])
            && rest[1..].starts_with(|c: char| c.is_ascii_alphanumeric())
        {
            is_part = true;
        }
    }
    if !is_part && !ends_id(rest) {
        return None;
    }
    let (behind, reopened, has_sign) = close(&openers, rest)?;
    let is_marked = has_sign || (!openers.is_empty() && reopened.is_empty());
    let (family, is_certain) = if captures.name("task").is_some() {
        let has_space = written.contains(char::is_whitespace);
        if has_space && !is_marked {
            return None;
        }
        (Family::Task, true)
    } else if captures.name("number").is_some() {
        let sign = rest.trim_start_matches(['*', '`', ']']).chars().next();
        let is_numbering = written.contains('.') || has_sign && matches!(sign, Some('.' | ')' | ':'));
        if !is_numbering {
            return None;
        }
        (Family::Number, false)
    } else {
        word_family(written)?
    };
    let id = Id { written: written.to_owned(), until, family, is_certain };
    // A range or a suffix says more than the id, so the text keeps all of it.
    Some(if is_part { (id, String::new(), text) } else { (id, reopened, behind) })
}

/// Maximum number of marks around an id.
const MAX_OPENERS: usize = 8;

/// Runs of emphasis, code and bracket marks at the front.
fn openers(text: &str) -> (Vec<&str>, &str) {
    let mut openers = Vec::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next().filter(|c| "*_~`[".contains(*c))
        && openers.len() < MAX_OPENERS
    {
        let end = if first == '[' { 1 } else { rest.len() - rest.trim_start_matches(first).len() };
        openers.push(&rest[..end]);
        rest = &rest[end..];
    }
    if let Some(behind) = rest.strip_prefix('#').filter(|behind| behind.starts_with('T')) {
        rest = behind;
    }
    (openers, rest)
}

/// Returns true if an id may end before `rest`.
fn ends_id(rest: &str) -> bool {
    let mut chars = rest.chars();
    let Some(next) = chars.next() else { return true };
    match next {
        '.' | ',' | ':' | '-' | '–' | '—' => !chars.next().is_some_and(|c| c.is_ascii_alphanumeric()),
        ';' | ')' | ']' | '*' | '~' | '`' | '[' | '(' | '|' | '@' | '_' => true,
        _ => next.is_whitespace() || !next.is_ascii(),
    }
}

/// Returns what follows the marks that close an id, the emphasis that goes on after it, and whether a sign sets the id
/// apart from the text.
fn close<'a>(openers: &[&str], mut rest: &'a str) -> Option<(&'a str, String, bool)> {
    // A hash of the content: `T020@1f2e3d4c`.
    if let Some(hash) = rest.strip_prefix('@') {
        rest = hash.trim_start_matches(|c: char| c.is_ascii_alphanumeric());
    }
    let mut reopened = String::new();
    let mut has_sign = false;
    for opener in openers.iter().rev() {
        let closer = if *opener == "[" { "]" } else { opener };
        if let Some(behind) = rest.strip_prefix(closer) {
            rest = behind;
            if *opener == "[" && rest.starts_with('(') {
                rest = &rest[rest.find(')')? + 1..];
            }
            continue;
        }
        if opener.starts_with(['[', '`']) {
            return None;
        }
        let behind_sign = rest.trim_start_matches([':', '.']);
        if let Some(behind) = behind_sign.strip_prefix(closer).filter(|_| behind_sign.len() < rest.len()) {
            rest = behind;
            has_sign = true;
        } else {
            reopened.insert_str(0, opener);
        }
    }
    let trimmed = rest.trim_start();
    let behind = trimmed.trim_start_matches([':', '.', ')', '—', '–', '|', '-', ' ', '\t']);
    // A dash is a separator only if it is alone.
    let signs = &trimmed[..trimmed.len() - behind.len()];
    if !signs.is_empty() && (signs.ends_with(char::is_whitespace) || !signs.ends_with('-')) {
        has_sign = true;
        rest = behind;
    }
    Some((rest.trim_start(), reopened, has_sign))
}

fn word_family(written: &str) -> Option<(Family, bool)> {
    /// Names and standards that end in a number.
    const NO_IDS: &[&str] = &["CVE", "GPT", "HTTP", "IPV", "ISO", "MD", "PEP", "SHA", "UTF"];
    let base = written.trim_end_matches(|c: char| c.is_ascii_lowercase());
    let letters = base.trim_end_matches(|c: char| !c.is_ascii_uppercase());
    let digits = base.bytes().rev().take_while(u8::is_ascii_digit).count();
    let family = written.split(|c: char| !c.is_ascii_uppercase()).next()?;
    // P0 to P4 are priorities.
    let is_priority = family == "P" && base.len() == 2;
    if digits == 0 || letters.is_empty() || NO_IDS.contains(&family) || is_priority {
        return None;
    }
    let has_dash = base.contains('-') || base.contains('_');
    let is_certain = digits >= if has_dash || family == "WP" { 2 } else { 3 };
    Some((Family::Word(family.to_owned()), is_certain))
}

impl Label {
    /// Returns true if `tag` has a meaning for us.
    fn take(&mut self, tag: &str) -> bool {
        let tag = tag.trim();
        if tag == "P" {
            self.parallel = true;
            true
        } else if STORY.is_match(tag) {
            self.story.get_or_insert_with(|| tag.to_owned());
            true
        } else {
            false
        }
    }

    /// Takes our tags from the front of `text` and gives back the others.
    fn take_leading(&mut self, text: &mut &str) -> String {
        let mut others = String::new();
        let mut rest = *text;
        let mut has_taken = false;
        while let Some((tag, behind)) = tag_at(rest) {
            if self.take(tag) {
                has_taken = true;
            } else {
                others.push_str(&rest[..rest.len() - behind.len()]);
                others.push(' ');
            }
            rest = behind.trim_start();
        }
        if has_taken {
            *text = rest.trim_start_matches([':', '—', '–']).trim_start();
            others
        } else {
            String::new()
        }
    }

    fn take_trailing(&mut self, text: &str) -> String {
        let mut rest = text.trim_end();
        while let Some(start) = rest.ends_with(']').then(|| rest.rfind('[')).flatten() {
            let is_apart = rest[..start].ends_with(char::is_whitespace);
            if !is_apart || !self.take(&rest[start + 1..rest.len() - 1]) {
                break;
            }
            rest = rest[..start].trim_end();
        }
        rest.to_owned()
    }
}

/// Returns the tag that `text` begins with, without its brackets, and what follows.
fn tag_at(text: &str) -> Option<(&str, &str)> {
    // The parentheses are cc-sdd's way to write `[P]`.
    if let Some(behind) = text.strip_prefix("(P)") {
        return Some(("P", behind));
    }
    let bare = text.strip_prefix("`[").map_or_else(|| text.strip_prefix('['), Some)?;
    let (tag, behind) = bare.split_once(']')?;
    let behind = if text.starts_with('`') { behind.strip_prefix('`')? } else { behind };
    (!behind.starts_with('(') && !tag.contains('[')).then_some((tag, behind))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn case(text: &str, id: Option<&str>, rest: &str) {
        let label = read(text, |_| true);
        assert_eq!(label.id.map(|id| id.written).as_deref(), id, "{text}");
        assert_eq!(label.text, rest, "{text}");
    }

    #[test]
    fn ids_are_read_in_every_shape() {
        for (text, id, rest) in [
            ("T001 Make", "T001", "Make"),
            ("T0001 Make", "T0001", "Make"),
            ("T1 Make", "T1", "Make"),
            ("T012a Make", "T012a", "Make"),
            ("T011A Make", "T011A", "Make"),
            ("T1.2 Make", "T1.2", "Make"),
            ("T3.11b: Make", "T3.11b", "Make"),
            ("T-001: Make", "T-001", "Make"),
            ("T001: Make", "T001", "Make"),
            ("T001. Make", "T001", "Make"),
            ("T001 - Make", "T001", "Make"),
            ("T001 — Make", "T001", "Make"),
            ("T001", "T001", ""),
            ("T001 建立", "T001", "建立"),
            ("T001建立", "T001", "建立"),
            ("**T001** Make", "T001", "Make"),
            ("**T001**: Make", "T001", "Make"),
            ("**T001:** Make", "T001", "Make"),
            ("**T01: Make it** now", "T01", "**Make it** now"),
            ("~~T001 Make~~", "T001", "~~Make~~"),
            ("~~T001~~ [P] ~~Make~~", "T001", "~~Make~~"),
            ("`T001` Make", "T001", "Make"),
            ("**`T001`** Make", "T001", "Make"),
            ("[T001] [P] Make", "T001", "Make"),
            ("[T-001](../tasks.md#T-001): Make", "T-001", "Make"),
            ("✅ T001 Make", "T001", "Make"),
            ("⚠️ **T001** Make", "T001", "Make"),
            ("[P] T001 Make", "T001", "Make"),
            ("#T001 Make", "T001", "Make"),
            ("T020@1f2e3d4c Make", "T020", "Make"),
            ("- [X] T001 Make", "T001", "Make"),
            ("T003-T006: Make", "T003", "T003-T006: Make"),
            ("**T003–T006** Make", "T003", "**T003–T006** Make"),
            ("T001-test: Make", "T001", "T001-test: Make"),
            ("TASK-01 Make", "TASK-01", "Make"),
            ("Task 1.2: Make", "Task 1.2", "Make"),
            ("**Task 1**: Make", "Task 1", "Make"),
            ("1. Make", "1", "Make"),
            ("1.2 Make", "1.2", "Make"),
            ("1.2. Make", "1.2", "Make"),
            ("**1.2.3** Make", "1.2.3", "Make"),
            ("6.0b Make", "6.0b", "Make"),
            ("2A.1 Make", "2A.1", "Make"),
            ("5.- [ ] 5.1 Make", "5.1", "Make"),
            ("WP01 Make", "WP01", "Make"),
            ("**AC-US1-01**: Make", "AC-US1-01", "Make"),
            ("FIX-01: Make", "FIX-01", "Make"),
            ("CHK001 Is it clear?", "CHK001", "Is it clear?"),
        ] {
            case(text, Some(id), rest);
        }
    }

    #[test]
    fn words_that_only_look_like_ids_stay_text() {
        for text in [
            "24 tests pass",
            "Make T001",
            "Task 1 is complete",
            "T001.md exists",
            "`T001.md` exists",
            "T0XX Polish",
            "TXXX Polish",
            "E2E tests pass",
            "UTF-8 is used",
            "SHA-256 is used",
            "P1 issues are fixed",
            "100% covered",
            "2024-01-01 is the date",
            "3D view",
            "README is there",
            "[link](url) works",
            "`code` works",
            "**bold** works",
            "",
        ] {
            case(text, None, text);
        }
    }

    #[test]
    fn tags_are_taken_and_others_stay() {
        for (text, parallel, story, rest) in [
            ("T001 [P] [US1] Make", true, Some("US1"), "Make"),
            ("T001 [US1] [P] Make", true, Some("US1"), "Make"),
            ("T001 [US1][P] Make", true, Some("US1"), "Make"),
            ("T001 [A] [P] [US6] Make", true, Some("US6"), "[A] Make"),
            ("T001 [FR-001] Make", false, None, "[FR-001] Make"),
            ("T001 [US-1] Make", false, Some("US-1"), "Make"),
            ("T001 [Story 2] Make", false, Some("Story 2"), "Make"),
            ("T001 [US1,US2] Make", false, Some("US1,US2"), "Make"),
            ("T001 [US1+US2] Make", false, Some("US1+US2"), "Make"),
            ("T001 `[P]` Make", true, None, "Make"),
            ("T001 Make [P]", true, None, "Make"),
            ("T001 Make a[P]", false, None, "Make a[P]"),
            ("T001 [P](url) Make", false, None, "[P](url) Make"),
            ("1.1 (P) Make", true, None, "Make"),
            ("[P] Make", true, None, "Make"),
            ("T001 [P]: Make", true, None, "Make"),
        ] {
            let label = read(text, |_| true);
            assert_eq!((label.parallel, label.story.as_deref()), (parallel, story), "{text}");
            assert_eq!(label.text, rest, "{text}");
        }
    }
}

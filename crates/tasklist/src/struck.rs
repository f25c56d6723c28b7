//! Lines that are left in a list although nobody is to do them: struck through, or called cancelled.

use std::sync::LazyLock;

use regex::Regex;

const WORDS: &str =
    r"(?:cancell?ed|dropped|(?:won['’]?t|will\s+not)[\s-]+(?:do|fix)|wontfix|n/a|not\s+applicable)";

/// `Cancelled: …`, `(dropped) …`, `**N/A** — …`, and the word alone.
static FRONT: LazyLock<Regex> = LazyLock::new(|| {
    let end = r"[*_`~]*(?:\s*[:)\]][*_`~]*|\s*[—–]|\s+-{1,3}(?:\s|$)|\s*$)";
    Regex::new(&format!(r"(?i)^[^\w~`]*{WORDS}{end}[\s*_—–:-]*")).expect("a valid expression")
});

/// `CANCELLED Make it`, `**Dropped** Make it`: what is set apart, before a sentence.
static APART: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(&format!(
        r"^\W{{0,8}}(?:(?:CANCELL?ED|DROPPED|WON['’]?T DO|N/A)[*_]*|\*\*(?i:{WORDS})\*\*)\s+(?P<rest>[\p{{Lu}}`*\[#].*)$"
    ))
    .expect("a valid expression")
});

/// `… - won't do`, `… — dropped (see T009)`, `… – N/A: too late`.
static END: LazyLock<Regex> = LazyLock::new(|| {
    let reason = r"(?:$|\(.*\)\W*$|[:;–—]\s|-\s|(?:as|because|by|due|for\s+now|in\s+favou?r|merged|per|replaced|see|since|superseded)\b)";
    Regex::new(&format!(r"(?i)(?:\s-{{1,3}}\s*|\s*[–—]\s*)[^\w\s]*\s*{WORDS}[*_)\]`~.!]*(?:$|\s*{reason})"))
        .expect("a valid expression")
});

/// A part of all [`WORDS`]: hardly a task has one, and the other expressions are large.
static HINT: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"(?i-u:cancel|dropped|won['t]|n/a|applicable)|(?i-u:won)’|(?i-u:will)\s+(?i-u:not)")
        .expect("a valid expression")
});

/// Returns the text of a box without a word in front that says that it is struck: an id may follow.
pub(super) fn without_front(text: &str) -> &str {
    if !HINT.is_match(text) {
        return text;
    }
    if let Some(front) = FRONT.find(text) {
        return &text[front.end()..];
    }
    APART.captures(text).and_then(|found| found.name("rest")).map_or(text, |rest| rest.as_str())
}

/// Returns true if the text of an open box says that it is not to be done. `label` is that text without its id.
pub(super) fn is_struck(text: &str, label: &str) -> bool {
    is_struck_through(text, label)
        || [text, label].iter().any(|text| without_front(text).len() < text.len())
        || HINT.is_match(text) && END.is_match(text)
}

fn is_struck_through(text: &str, label: &str) -> bool {
    let plain =
        |text: &str| text.trim_start_matches(|c: char| !c.is_alphanumeric() && !"~`".contains(c)).len();
    if text[text.len() - plain(text)..].starts_with("~~") {
        return true;
    }
    // `T001 ~~Use Redis~~ Use SQLite` is a correction.
    let Some((_, behind)) = label.strip_prefix("~~").and_then(|struck| struck.split_once("~~")) else {
        return label.starts_with("~~");
    };
    !behind.trim_start().starts_with(|c: char| c.is_uppercase() || c == '`')
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::label;

    fn is_struck_line(text: &str) -> bool {
        is_struck(text, &label::read(without_front(text), |_| true).text)
    }

    #[test]
    fn lines_that_nobody_is_to_do_are_struck() {
        for text in [
            "~~T001 Make it~~",
            "~~T001~~ Make it",
            "**~~T001 Make it~~**",
            "T001 [P] ~~Make it~~",
            "T001 ~~Make it~~ (moved to T009)",
            "❌ ~~T001 Make it~~",
            "~~Make it~~ see below",
            "T001 Make it - won't do",
            "T001 Make it — dropped",
            "T001 Make it – N/A",
            "T001 Make it -- Cancelled.",
            "T001 Make it — **CANCELED**",
            "T001 Make it — dropped (see T009)",
            "T001 Make it — won’t do: too late",
            "T001 Make it - cancelled by the customer",
            "T001 Cancelled: make it",
            "T001 CANCELLED - Make it",
            "Cancelled: T001 Make it",
            "CANCELLED T001 Make it",
            "[CANCELLED] T001 Make it",
            "(dropped) T001 Make it",
            "**Dropped** T001 Make it",
            "**N/A**: T001 Make it",
            "N/A T001 Make it",
            "🚫 Won't do: Make it",
            "T001 N/A",
        ] {
            assert!(is_struck_line(text), "{text}");
        }
    }

    #[test]
    fn tasks_that_speak_of_such_words_are_not_struck() {
        for text in [
            "T001 Cancelled orders are shown",
            "T001 Dropped-frame counter",
            "T001 **Cancelled** orders are shown",
            "T001 N/A values are shown as a dash",
            "T001 Show the reason - cancelled, refused or late",
            "T001 Show a dash — N/A is too long",
            "T001 Count packets that are dropped",
            "T001 Show orders (cancelled)",
            "T001 ~~Use Redis~~ Use SQLite",
            "T001 Make `~~struck~~` text",
            "T001 Handle a file that won't do",
            "T001 DROPPED state is shown",
            "T001 Make it",
            "`~~` is read as struck",
            "",
        ] {
            assert!(!is_struck_line(text), "{text}");
        }
    }

    #[test]
    fn an_id_behind_such_a_word_is_found() {
        for text in [
            "Cancelled: T001 Make it",
            "**Dropped** T001 Make it",
            "(N/A) T001 Make it",
            "DROPPED **T001** Make it",
        ] {
            let label = label::read(without_front(text), |_| true);
            assert_eq!(label.id.map(|id| id.written).as_deref(), Some("T001"), "{text}");
        }
    }
}

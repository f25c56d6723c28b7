//! What an agent asks the user in its final message, and what it merely offers to do.

use sha2::{Digest, Sha256};

use ralph_core::record::hex;

use super::final_message::{lines, unfenced};

/// As long as the fingerprints of validations.
const FINGERPRINT_BYTES: usize = 4;

/// Paragraphs at the end of a message in which a question is looked for.
const MAX_PARAGRAPHS: usize = 3;

/// How an offer to go on begins.
const OFFERS: [&str; 4] = ["would you like", "do you want me", "shall i", "should i"];

/// What is offered.
const STEPS: [&str; 6] = ["continue", "proceed", "start", "commit", "run", "fix"];

/// Answers to `Question:` of agents that have none.
const NONE: [&str; 7] = ["none", "n/a", "na", "no", "nothing", "no question", "no questions"];

/// What an agent ends with that did not do its task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Asked {
    Question(String),
    /// It asks whether to go on. Nobody answers while the loop runs.
    Offer(String),
}

/// Returns the text of the first line `Question: ...` outside code, with the lines in which it goes on.
pub fn stated(text: &str) -> Option<String> {
    let lines: Vec<&str> = unfenced(text).collect();
    lines.iter().enumerate().find_map(|(at, line)| {
        let mut question = labelled(line)?.to_owned();
        for more in &lines[at + 1..] {
            if question.trim_end().ends_with('?') || ends_question(more) {
                break;
            }
            question.push(' ');
            question.push_str(more.trim());
        }
        let question = plain(&question);
        let bare = question.trim_end_matches(['.', '!']).to_lowercase();
        (question.chars().any(char::is_alphanumeric) && !NONE.contains(&bare.as_str())).then_some(question)
    })
}

/// Returns what one of the last paragraphs asks: a question before an offer, the last paragraph before the others.
pub fn open(text: &str) -> Option<Asked> {
    let paragraphs = paragraphs(text);
    let last = paragraphs.iter().rev().take(MAX_PARAGRAPHS);
    let asked: Vec<String> = last.flat_map(|paragraph| questions(paragraph)).collect();
    let question = asked.iter().find(|sentence| !is_offer(sentence));
    question.cloned().map(Asked::Question).or_else(|| asked.into_iter().next().map(Asked::Offer))
}

/// Returns a fingerprint that is equal for one question in several spellings.
pub fn fingerprint(question: &str) -> String {
    hex(&Sha256::digest(format!("question\0{}", normalized(question)))[..FINGERPRINT_BYTES])
}

/// Returns a question in one spelling: equal if only capitals, digits, quotes, punctuation and what follows it differ.
fn normalized(question: &str) -> String {
    let asked = question.rsplit_once(['?', '？', '؟']).map_or(question, |(asked, _)| asked);
    let words = asked.split(|c: char| !c.is_alphabetic()).filter(|word| !word.is_empty());
    words.map(str::to_lowercase).collect::<Vec<_>>().join(" ")
}

/// Returns what stands after `Question:` in a line, which may be bold, quoted or a point of a list.
fn labelled(line: &str) -> Option<&str> {
    let words = line.trim_start_matches(|c: char| c.is_whitespace() || "#>-*_•".contains(c));
    let rest = words.get("question".len()..)?;
    words.is_char_boundary("question".len()).then_some(())?;
    words[.."question".len()].eq_ignore_ascii_case("question").then_some(())?;
    let rest = rest.trim_start_matches(['*', '_']).strip_prefix(':')?;
    Some(rest.trim_start_matches(['*', '_']).trim())
}

fn ends_question(line: &str) -> bool {
    let line = line.trim();
    let is_label = line.split_once(':').is_some_and(|(name, _)| !name.contains(' '));
    line.is_empty() || is_label || line.starts_with(['#', '-', '*', '<', '>'])
}

/// Returns the paragraphs of a message without its code, each as one line or, in a list, one for each point.
fn paragraphs(text: &str) -> Vec<Vec<String>> {
    let mut paragraphs: Vec<Vec<String>> = vec![Vec::new()];
    for (line, is_fenced) in lines(text) {
        let is_code = is_fenced || line.starts_with("    ") || line.starts_with('\t');
        if is_code || line.trim().is_empty() {
            paragraphs.push(Vec::new());
            continue;
        }
        let Some(paragraph) = paragraphs.last_mut() else { continue };
        let line = line.trim();
        let is_point = line.starts_with(['-', '*', '+', '•', '#', '>', '|'])
            || line.split_once(['.', ')']).is_some_and(|(number, _)| number.parse::<u32>().is_ok());
        match paragraph.last_mut() {
            Some(before) if !is_point => {
                before.push(' ');
                before.push_str(line);
            }
            _ => paragraph.push(line.to_owned()),
        }
    }
    paragraphs.retain(|paragraph| !paragraph.is_empty());
    paragraphs
}

/// Returns the sentences of a paragraph that end in a question mark.
fn questions(paragraph: &[String]) -> Vec<String> {
    let mut found = Vec::new();
    for line in paragraph {
        let line = without_code(line);
        let mut begin = 0;
        for (at, mark) in line.char_indices().filter(|(_, c)| ".!?？؟。".contains(*c)) {
            let end = at + mark.len_utf8();
            if !ends_sentence(&line[begin..at], mark, &line[end..]) {
                continue;
            }
            let is_quoted = line[begin..end].matches('"').count() % 2 == 1 && line[end..].starts_with('"');
            let end = if is_quoted { end + 1 } else { end };
            let sentence = plain(&line[begin..end]);
            if matches!(mark, '?' | '？' | '؟') && sentence.chars().any(char::is_alphanumeric) {
                found.push(sentence);
            }
            begin = end;
        }
    }
    found
}

/// Returns true if a mark ends a sentence: `.*?`, `a ?: b` and `v1.2` have marks that do not.
fn ends_sentence(before: &str, mark: char, after: &str) -> bool {
    let last = before.trim_end_matches(['*', '_']).chars().next_back();
    let is_after_word =
        last.is_some_and(|c| c.is_alphanumeric() || ")]}\"'»”’…%!?`".contains(c) || c.is_whitespace());
    if matches!(mark, '？' | '。') {
        return last.is_some();
    }
    let rest = after.trim_start_matches(['*', '_', ')', ']', '"', '\'', '»', '”', '’', '?', '!']);
    let is_apart = rest.is_empty() || rest.starts_with(char::is_whitespace);
    let next = rest.trim_start().chars().next();
    // What is quoted, or stands apart as an operator does, goes on in the same sentence.
    let is_within = next.is_some_and(char::is_lowercase)
        && (after.len() != rest.len() || last.is_some_and(char::is_whitespace));
    is_after_word && is_apart && !is_within
}

/// Returns a line without code and addresses.
fn without_code(line: &str) -> String {
    let mut plain = String::new();
    for (place, part) in line.split('`').enumerate() {
        plain.push_str(if place % 2 == 0 { part } else { "code" });
    }
    let words = plain.split(' ').map(|word| {
        let is_address = word.contains("://") || word.to_lowercase().contains("www.");
        if is_address { "address" } else { word }
    });
    words.collect::<Vec<_>>().join(" ")
}

/// Returns a sentence on one line without the signs of Markdown around it.
fn plain(sentence: &str) -> String {
    let line = sentence.split_whitespace().collect::<Vec<_>>().join(" ");
    let line = line.trim_start_matches(|c: char| c.is_whitespace() || "#>-*_•\"'(|".contains(c));
    line.trim_end_matches(|c: char| c.is_whitespace() || "*_".contains(c)).to_owned()
}

fn is_offer(sentence: &str) -> bool {
    let sentence = format!(" {} ", normalized(sentence));
    [&OFFERS[..], &STEPS[..]]
        .iter()
        .all(|phrases| phrases.iter().any(|words| sentence.contains(&format!(" {words} "))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_that_calls_itself_a_question_asks() {
        for (text, expected) in [
            ("Done.\n\nQuestion: semicolons or commas?\n", Some("semicolons or commas?")),
            ("**Question:** semicolons or commas?", Some("semicolons or commas?")),
            ("- **Question**: Which port", Some("Which port")),
            ("> question: Which port?", Some("Which port?")),
            ("Question: Which of these,\nA or B?\nMore text.", Some("Which of these, A or B?")),
            ("Question: which\n\nIs it?", Some("which")),
            ("Question: Which port?\nLearnings:\n- x", Some("Which port?")),
            ("Question: Which port\nLearnings: x", Some("Which port")),
            ("Question: Shall I go on?", Some("Shall I go on?")),
            ("Question: none", None),
            ("Question: N/A.", None),
            ("Question:", None),
            ("The question: which port?", None),
            ("Questions: two", None),
            ("```\nQuestion: which port?\n```", None),
            ("Fragé: x?", None),
            ("", None),
        ] {
            assert_eq!(stated(text).as_deref(), expected, "{text}");
        }
    }

    #[test]
    fn a_message_asks_if_one_of_its_last_paragraphs_has_a_question_that_is_no_offer() {
        let question = |words: &str| Some(Asked::Question(words.to_owned()));
        let offer = |words: &str| Some(Asked::Offer(words.to_owned()));
        for (text, expected) in [
            ("I read it. Semicolons or commas? I need to know.", question("Semicolons or commas?")),
            ("Which one?\n\nA is short.\n\nB is long.", question("Which one?")),
            ("Which one?\n\nA is short.\n\nB is long.\n\nSay so.", None),
            ("Which table\nis meant?", question("Which table is meant?")),
            ("**Which table is meant?**", question("Which table is meant?")),
            ("1. Which table?\n2. Which column?", question("Which table?")),
            ("- A\n- Or should B be kept?", question("Or should B be kept?")),
            ("Should I use semicolons or commas?", question("Should I use semicolons or commas?")),
            ("Welche Spalte ist gemeint?", question("Welche Spalte ist gemeint?")),
            ("哪一个？", question("哪一个？")),
            ("What now?!", question("What now?")),
            ("Is it `a.b?`?", question("Is it code?")),
            ("The last test says \"is it ok?\" and passes.", None),
            ("It says \"Is it ok?\"", question("It says \"Is it ok?\"")),
            ("See https://x.y/z?a=b and https://x.y/?", None),
            ("See https://x.y/z?", None),
            ("Use `cargo run?`.", None),
            ("```\nwhich one?\n```", None),
            ("~~~text\nwhich one?\n~~~\nDone.", None),
            ("Done:\n\n    which one?\n", None),
            ("The pattern .*? matches nothing.", None),
            ("It is ready ? a : b in the code.", None),
            ("Version 1.2 is out. All is done.", None),
            ("Would you like me to continue?", offer("Would you like me to continue?")),
            ("Do you want me to proceed with T002?", offer("Do you want me to proceed with T002?")),
            ("Shall I start?", offer("Shall I start?")),
            ("Should I commit this, or run the tests?", offer("Should I commit this, or run the tests?")),
            ("Shall I fix it?\n\nWhich port is right?", question("Which port is right?")),
            ("Which port is right?\n\nShall I fix it?", question("Which port is right?")),
            ("Would you like tea?", question("Would you like tea?")),
            ("Can you continue?", question("Can you continue?")),
            ("???", None),
            ("", None),
        ] {
            assert_eq!(open(text), expected, "{text}");
        }
    }

    #[test]
    fn a_question_is_known_again() {
        assert_eq!(normalized("Semicolons, or **commas**?"), normalized("semicolons or commas"));
        assert_eq!(normalized("Which port: 80?"), normalized("which port, 8080?"));
        assert_eq!(normalized("Tabs or blanks? The spec names both."), normalized("Tabs or blanks? I wait."));
        assert_ne!(normalized("Which port?"), normalized("Which host?"));
    }
}

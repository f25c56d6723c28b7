//! For every published rule a secret is made from its expression, and must not come through.

use std::collections::{BTreeMap, BTreeSet};

use regex_syntax::hir::{Class, Hir, HirKind};

use crate::Redactor;

struct Rule {
    id: &'static str,
    kind: &'static str,
    words: Vec<&'static str>,
    expression: Hir,
}

fn rules() -> Vec<Rule> {
    let lines = include_str!("../../fixtures/rules.tsv").lines().filter(|line| !line.starts_with('#'));
    let read = |line: &'static str| {
        let fields: Vec<&str> = line.split('\t').collect();
        let expression = regex_syntax::parse(fields[3]).unwrap_or_else(|error| panic!("{line}: {error}"));
        Rule { id: fields[0], kind: fields[1], words: fields[2].split('|').collect(), expression }
    };
    lines.map(read).collect()
}

/// Makes texts that match an expression, the same in every run.
struct Maker {
    state: u64,
    text: String,
    group: Option<(usize, usize)>,
    is_repeating: bool,
}

impl Maker {
    fn below(&mut self, end: usize) -> usize {
        self.state =
            self.state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.state >> 33) as usize % end
    }

    fn make(&mut self, hir: &Hir) {
        match hir.kind() {
            HirKind::Empty | HirKind::Look(_) => {}
            HirKind::Literal(literal) => self.text.push_str(std::str::from_utf8(&literal.0).unwrap()),
            HirKind::Class(class) => {
                let is_in = |byte: u8| match class {
                    Class::Unicode(class) => {
                        class.iter().any(|range| (range.start()..=range.end()).contains(&char::from(byte)))
                    }
                    Class::Bytes(class) => {
                        class.iter().any(|range| (range.start()..=range.end()).contains(&byte))
                    }
                };
                // A backslash is the escape of a slash, and a bare `.` in an expression means itself.
                let members: Vec<u8> = (b' '..=b'~').filter(|&byte| is_in(byte) && byte != b'\\').collect();
                let member = if members.len() > 90 { b'.' } else { members[self.below(members.len())] };
                self.text.push(char::from(member));
            }
            HirKind::Repetition(repetition) => {
                let least = repetition.min as usize;
                let most = repetition.max.map_or(least + 40, |most| (most as usize).min(least + 40));
                let count = least + self.below(most - least + 1);
                let outer = std::mem::replace(&mut self.is_repeating, true);
                (0..count).for_each(|_| self.make(&repetition.sub));
                self.is_repeating = outer;
            }
            HirKind::Capture(capture) => {
                let start = self.text.len();
                self.make(&capture.sub);
                // The outermost one that comes first is the secret.
                if !self.is_repeating && self.group.is_none_or(|(first, _)| start <= first) {
                    self.group = Some((start, self.text.len()));
                }
            }
            HirKind::Concat(parts) => parts.iter().for_each(|part| self.make(part)),
            HirKind::Alternation(parts) => {
                let chosen = self.below(parts.len());
                self.make(&parts[chosen]);
            }
        }
    }
}

fn secret_of(rule: &Rule, seed: u64) -> String {
    // Chance hardly ever gives letters alone; issuers' keys never are.
    (0..1000)
        .map(|again| {
            let mut maker =
                Maker { state: seed * 1000 + again, text: String::new(), group: None, is_repeating: false };
            maker.make(&rule.expression);
            maker.group.map_or(maker.text.clone(), |(start, end)| maker.text[start..end].to_owned())
        })
        .find(|text| {
            !super::is_wordy(text.as_bytes()) || rule.expression.properties().is_utf8() && text.len() < 12
        })
        .unwrap()
}

fn leaks(redactor: &Redactor, text: &str, secret: &str) -> bool {
    let (redacted, _) = redactor.redact_text(text);
    assert_eq!(redactor.redact_text(&redacted).0, redacted, "a second time: {text}");
    let tail = &secret[secret.len().saturating_sub(10)..];
    redacted.contains(tail)
}

fn surrounded(secret: &str) -> Vec<String> {
    let around = [
        ("", ""),
        ("see ", " there"),
        ("\"", "\","),
        ("'", "'"),
        ("x=", "\n"),
        ("{\\\"a\\\":\\\"", "\\\"}"),
        ("\u{1b}[31m", "\u{1b}[0m"),
        ("\\n", "\\n"),
        ("?k=", "&b=c"),
        ("(", ")"),
    ];
    let around = around.map(|(before, after)| format!("{before}{secret}{after}"));
    around.into_iter().collect()
}

/// Returns one of each rule.
fn some(missed: &BTreeSet<(&'static str, String)>) -> BTreeMap<&'static str, String> {
    missed.iter().cloned().collect()
}

#[test]
fn a_secret_of_every_published_rule_that_has_a_shape_is_found() {
    let redactor = Redactor::new(&[], &[]).unwrap();
    let (mut missed, mut count) = (BTreeSet::new(), 0);
    for rule in rules().iter().filter(|rule| rule.kind == "shape") {
        count += 1;
        for secret in (0..3).map(|seed| secret_of(rule, seed)) {
            for text in surrounded(&secret) {
                if leaks(&redactor, &text, &secret) {
                    missed.insert((rule.id, text));
                }
            }
        }
    }
    assert!(count >= 190, "{count}");
    assert!(missed.is_empty(), "{} missed, as {:#?}", missed.len(), some(&missed));
}

#[test]
fn a_secret_behind_the_name_of_every_published_issuer_is_found() {
    let redactor = Redactor::new(&[], &[]).unwrap();
    let (mut missed, mut count) = (BTreeSet::new(), 0);
    for rule in rules().iter().filter(|rule| rule.kind == "context") {
        count += 1;
        for (seed, word) in (0..4).zip(rule.words.iter().cycle()) {
            let secret = secret_of(rule, seed);
            for text in [
                format!("{}_KEY={secret}\n", word.to_uppercase()),
                format!("{word}_secret: '{secret}'"),
                format!("{{\"{word}-api-token\": \"{secret}\", \"b\": 1}}"),
                format!("{{\\\"{word}Token\\\":\\\"{secret}\\\"}}"),
                format!("const {word} = \"{secret}\";"),
                format!("'{word}.id' => '{secret}',"),
            ] {
                if leaks(&redactor, &text, &secret) {
                    missed.insert((rule.id, text));
                }
            }
        }
    }
    assert!(count >= 160, "{count}");
    assert!(missed.is_empty(), "{} missed, as {:#?}", missed.len(), some(&missed));
}

/// A secret of each shape of our own, by its rule.
pub(crate) fn samples() -> Vec<(&'static str, String)> {
    let shapes = super::ISSUERS.iter().filter(|issuer| issuer.check != "words");
    // Of an address, the host stays.
    let shapes = shapes.filter(|issuer| issuer.place == Some((0, 0)) && !issuer.pattern.ends_with(')'));
    shapes
        .flat_map(|issuer| {
            let expression = regex_syntax::parse(&format!("(?-u){}", issuer.pattern)).unwrap();
            let made = (0..1000).map(move |seed| {
                let mut maker = Maker { state: seed, text: String::new(), group: None, is_repeating: false };
                maker.make(&expression);
                maker.text
            });
            made.filter(|text| super::is_random(text.as_bytes())).take(2).map(|text| (issuer.rule, text))
        })
        .collect()
}

#[test]
fn all_expressions_of_the_tables_are_read() {
    for issuer in super::ISSUERS.iter() {
        assert!(issuer.regex().captures_len() > 1, "{}", issuer.pattern);
    }
    assert!(super::ISSUERS.len() > 600, "{}", super::ISSUERS.len());
}

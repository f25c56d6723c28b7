//! Keys and tokens that are known by how they look.

mod issuers;
mod pattern;
mod table;

use std::sync::LazyLock;

use super::class::{Class, dotted, is_word};
use super::disguise::end_of_rest;
use super::gate::{Around, Gate, WIDTH, Window, WindowByte, window};
use super::view::View;
use super::{Rule, Secret};

use issuers::{INNERS, SHAPES};
pub(super) use pattern::Set;
pub(super) use table::{Issuer, Named, find as find_issuer, find_named};

/// What the keys of one issuer look like.
#[derive(Debug, Clone, Copy)]
pub(super) struct Shape {
    rule: &'static str,
    prefix: &'static str,
    /// What follows the prefix.
    body: Class,
    least: usize,
    most: usize,
    check: fn(&[u8]) -> bool,
    /// Set where the prefix is no part of the secret: of an address the host stays.
    keeps_prefix: bool,
    /// Where in the prefix the gate looks: where letters follow each other that are rare in words.
    shown_at: usize,
}

/// A key of two parts with something between them by which it is known.
#[derive(Debug, Clone, Copy)]
pub(super) struct Inner {
    rule: &'static str,
    before: Run,
    mark: &'static str,
    after: Run,
}

/// Of what, and how much of it: at least, and at most.
type Run = (Class, usize, usize);

const fn shape(rule: &'static str, prefix: &'static str, body: Class, least: usize) -> Shape {
    Shape { rule, prefix, body, least, most: usize::MAX, check: anything, keeps_prefix: false, shown_at: 0 }
}

const fn exact(rule: &'static str, prefix: &'static str, body: Class, length: usize) -> Shape {
    shape(rule, prefix, body, length).most(length)
}

const fn around(rule: &'static str, before: Run, mark: &'static str, after: Run) -> Inner {
    Inner { rule, before, mark, after }
}

impl Shape {
    const fn most(self, most: usize) -> Self {
        Self { most, ..self }
    }

    const fn check(self, check: fn(&[u8]) -> bool) -> Self {
        Self { check, ..self }
    }

    const fn random(self) -> Self {
        self.check(is_random)
    }

    const fn shown_at(self, shown_at: usize) -> Self {
        Self { shown_at, ..self }
    }

    const fn keep_prefix(self) -> Self {
        Self { keeps_prefix: true, ..self }
    }
}

/// How much of a token is looked at to judge it, so that a text of nothing but prefixes takes no longer than others.
const JUDGED: usize = 256;

/// How a JSON object begins in base64, and with it a JSON web token.
const JWT: &str = "eyJ";

/// Returns where the gate is to stop for keys.
pub(super) fn windows() -> impl Iterator<Item = (Window, Rule)> {
    let shapes = SHAPES.iter().map(|shape| {
        let shown = &shape.prefix[shape.shown_at..];
        (window(shown, shape.body), Rule::Shape(shape))
    });
    let inners = INNERS.iter().map(|inner| {
        let mark = window(inner.mark, inner.after.0);
        ([WindowByte::Of(inner.before.0), mark[0], mark[1], mark[2]], Rule::Inner(inner))
    });
    shapes.chain(inners).chain([(window(JWT, dotted), Rule::WebToken)]).chain(table::windows())
}

impl Rule {
    /// Returns what it needs to see around its window.
    pub(super) fn around(self) -> Around {
        match self {
            Self::Shape(shape) => {
                let prefix = shape.prefix.bytes().map(Set::one);
                let body = std::iter::repeat_n(Set::of(shape.body), shape.least.min(WIDTH));
                around_window(shape.shown_at, prefix.chain(body))
            }
            Self::Issuer(issuer) => issuer.around(),
            Self::Named(named) => named.around(),
            Self::Marker
            | Self::PrivateKey
            | Self::PrivateLines
            | Self::Address
            | Self::Signature
            | Self::WebToken
            | Self::Inner(_)
            | Self::Header(_)
            | Self::Command(_)
            | Self::Disguise(_)
            | Self::Name => Around::ANYTHING,
        }
    }

    /// Returns how far before its window a key of a known shape may begin: at least, and at most.
    fn lead(self) -> Option<(usize, usize)> {
        match self {
            Self::Shape(shape) => Some((shape.shown_at, shape.shown_at)),
            Self::Issuer(issuer) => issuer.lead(),
            Self::WebToken => Some((0, 0)),
            Self::Marker
            | Self::PrivateKey
            | Self::PrivateLines
            | Self::Address
            | Self::Signature
            | Self::Named(_)
            | Self::Inner(_)
            | Self::Header(_)
            | Self::Command(_)
            | Self::Disguise(_)
            | Self::Name => None,
        }
    }
}

/// What may be before a key: no word, but for the ends of escapes. See `View::is_word_start`.
static BOUNDARY: LazyLock<Set> =
    LazyLock::new(|| Set::of(|byte| !is_word(byte) || byte.is_ascii_hexdigit() || b"nrt".contains(&byte)));

/// Returns what there is to see around the window of a key of such bytes that begins `shown_at` bytes after its start.
fn around_window(shown_at: usize, mut key: impl Iterator<Item = Set>) -> Around {
    let before = match shown_at.checked_sub(1) {
        Some(last) => key.nth(last).unwrap_or(Set::ALL),
        None => *BOUNDARY,
    };
    Around::new(before, key)
}

pub(super) fn find(view: &View<'_>, shape: &Shape) -> Option<Secret> {
    let (in_front, shown) = shape.prefix.as_bytes().split_at(shape.shown_at);
    if !view.has(view.anchor, shown) || !view.before(view.anchor).ends_with(in_front) {
        return None;
    }
    find_at(view, shape, view.anchor - in_front.len())
}

fn find_at(view: &View<'_>, shape: &Shape, start: usize) -> Option<Secret> {
    if !view.is_word_start(start) {
        return None;
    }
    let body = start + shape.prefix.len();
    let judged = view.run_most(body, JUDGED, shape.body);
    let length = judged - body;
    if length < shape.least || length > shape.most || !(shape.check)(view.text(body, judged)) {
        return None;
    }
    let end = view.run(judged, shape.body);
    if view.byte(end).is_some_and(is_word) {
        return None;
    }
    let end = if shape.most == usize::MAX { end_of_rest(view, end, shape.body) } else { end };
    let start = if shape.keeps_prefix { body } else { start };
    Some(Secret { rule: shape.rule, start, end, belongs: Some(shape.body) })
}

pub(super) fn find_inner(view: &View<'_>, inner: &Inner) -> Option<Secret> {
    let mark = view.anchor + 1;
    if !view.has(mark, inner.mark.as_bytes()) {
        return None;
    }
    let within = |length: usize, part: Run| (part.1..=part.2).contains(&length);
    let before = view.before(mark);
    let start =
        mark - before.iter().rev().take(JUDGED / 2).take_while(|&&byte| (inner.before.0)(byte)).count();
    let body = mark + inner.mark.len();
    let end = view.run_most(body, JUDGED, inner.after.0);
    let is_key = within(mark - start, inner.before)
        && within(end - body, inner.after)
        && view.is_word_start(start)
        && !view.byte(end).is_some_and(is_word);
    is_key.then_some(Secret { rule: inner.rule, start, end, belongs: None })
}

/// Three parts of base64 with dots between them, the first of which is a JSON object.
pub(super) fn find_web_token(view: &View<'_>) -> Option<Secret> {
    let start = view.anchor;
    let is_start = view.has(start, JWT.as_bytes())
        && view.is_word_start(start)
        && !view.before(start).last().is_some_and(|last| b".-".contains(last));
    if !is_start {
        return None;
    }
    let end = view.run(start, dotted);
    let mut parts = view.text(start, end).split(|&byte| byte == b'.');
    let mut is_long = |length| parts.next().is_some_and(|part| part.len() >= length);
    let is_token = is_long(10) && is_long(4) && is_long(4);
    is_token.then_some(Secret { rule: "jwt", start, end, belongs: Some(dotted) })
}

/// Returns what a rule of ours says of the key that begins at `start`.
fn find_from(view: &View<'_>, start: usize) -> Option<Secret> {
    SHAPES
        .iter()
        .filter(|shape| view.has(start, shape.prefix.as_bytes()))
        .find_map(|shape| find_at(view, shape, start))
}

/// Returns the first key or token of a known shape in `text`: its rule, start and end.
pub(super) fn find_first(gate: &Gate, text: &[u8]) -> Option<(&'static str, usize, usize)> {
    let mut starts = Vec::new();
    let is_start = |start: usize| start == 0 || !is_word(text[start - 1]);
    gate.find(text, 0, text.len(), |at, key| {
        for rule in gate.rules(text, at, key, 0) {
            let Some((least, most)) = rule.lead() else { continue };
            let leads = least..=most.min(at);
            starts.extend(leads.map(|lead| at - lead).filter(|&start| is_start(start)));
        }
        None::<()>
    });
    starts.sort_unstable();
    starts.dedup();
    starts.into_iter().find_map(|start| {
        let view = View::new(text, start);
        let found = find_from(&view, start)
            .or_else(|| table::find_from(&view, start))
            .or_else(|| find_web_token(&view))?;
        Some((found.rule, found.start, found.end))
    })
}

/// Returns true if `text` begins with a key or token of a known shape.
pub(super) fn is_known(text: &[u8]) -> bool {
    SHAPES
        .iter()
        .any(|shape| shape.shown_at < text.len() && find(&View::new(text, shape.shown_at), shape).is_some())
}

fn anything(_body: &[u8]) -> bool {
    true
}

/// Distinguishes keys from words joined by dashes, such as names of styles.
fn is_random(body: &[u8]) -> bool {
    body.iter().any(u8::is_ascii_digit)
        && body.split(|byte| !byte.is_ascii_alphanumeric()).any(|part| part.len() >= 12)
}

pub(super) fn rules() -> impl Iterator<Item = &'static str> {
    SHAPES.iter().map(|shape| shape.rule).chain(INNERS.iter().map(|inner| inner.rule))
}

#[cfg(test)]
pub(super) fn issuer_rules() -> impl Iterator<Item = &'static str> {
    table::rules()
}

/// A secret of each shape, by its rule.
#[cfg(test)]
pub(super) fn samples() -> Vec<(&'static str, String)> {
    let sample = |shape: &Shape| {
        let letters = "a8Kd03Lx9Qw7Zr5Tn2Vb6Mc1Yf4Hg0Js3P1e".chars().cycle();
        let all: String = letters.filter(|letter| (shape.body)(*letter as u8)).take(shape.least).collect();
        let uuid = "123e4567-e89b-12d3-a456-426614174000".to_owned();
        let dotted = format!("{}.{all}", &all[..20.min(all.len())]);
        let body = [all, uuid, dotted].into_iter().find(|body| (shape.check)(body.as_bytes())).unwrap();
        (shape.rule, format!("{}{body}", shape.prefix))
    };
    SHAPES.iter().filter(|shape| !shape.keeps_prefix).map(sample).collect()
}

#[cfg(test)]
mod tests;

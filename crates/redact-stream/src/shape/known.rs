//! Finds keys of the issuers that we know ourselves.

use crate::class::is_word;
use crate::disguise::end_of_rest;
use crate::private_key;
use crate::secret::{Rest, Secret};
use crate::view::View;

use super::form::{Inner, Run, Shape};
use super::issuers::{INNERS, SHAPES};

/// How much of a token is looked at to judge it, so that a text of nothing but prefixes takes no longer than others.
const JUDGED: usize = 256;

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
    if let Some(block) = private_key::wrapped(view, start, end) {
        return Some(block);
    }
    let end = if shape.most == usize::MAX { end_of_rest(view, end, shape.body) } else { end };
    let start = if shape.keeps_prefix { body } else { start };
    Some(Secret { rule: shape.rule, start, end, belongs: Some(Rest::Run(shape.body)) })
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
        && (view.is_word_start(start) || view.before(start).ends_with(b"/bot"))
        && !view.byte(end).is_some_and(is_word);
    is_key.then_some(Secret { rule: inner.rule, start, end, belongs: None })
}

/// Returns what a rule of ours says of the key that begins at `start`.
pub(super) fn find_from(view: &View<'_>, start: usize) -> Option<Secret> {
    SHAPES
        .iter()
        .filter(|shape| view.has(start, shape.prefix.as_bytes()))
        .find_map(|shape| find_at(view, shape, start))
}

/// Returns true if `text` begins with a key or token of a known shape.
pub(crate) fn is_known(text: &[u8]) -> bool {
    SHAPES
        .iter()
        .any(|shape| shape.shown_at < text.len() && find(&View::new(text, shape.shown_at), shape).is_some())
}

pub(crate) fn rules() -> impl Iterator<Item = &'static str> {
    SHAPES.iter().map(|shape| shape.rule).chain(INNERS.iter().map(|inner| inner.rule))
}

/// A secret of each shape, by its rule.
#[cfg(test)]
pub(crate) fn samples() -> Vec<(&'static str, String)> {
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

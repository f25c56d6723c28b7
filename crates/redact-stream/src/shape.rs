//! Keys and tokens that are known by how they look.

mod form;
mod issuers;
mod known;
mod pattern;
mod table;

use super::class::{Set, dotted, is_word};
use super::gate::{Around, Gate, WIDTH, Window, WindowByte, window};
use super::secret::{Rest, Secret};
use super::view::View;

use form::{Inner, Shape, around_window};
use issuers::{INNERS, SHAPES};
#[cfg(test)]
pub(super) use known::samples;
pub(super) use known::{is_known, rules};
use table::{Issuer, Named};

/// How a JSON object begins in base64, and with it a JSON web token.
const JWT: &str = "eyJ";

/// What knows a key.
#[derive(Debug, Clone, Copy)]
pub(super) enum Rule {
    Shape(&'static Shape),
    Inner(&'static Inner),
    Issuer(&'static Issuer),
    Named(&'static Named),
    WebToken,
}

impl Rule {
    pub(super) fn find(self, view: &View<'_>) -> Option<Secret> {
        match self {
            Self::Shape(shape) => known::find(view, shape),
            Self::Inner(inner) => known::find_inner(view, inner),
            Self::Issuer(issuer) => table::find(view, issuer),
            Self::Named(named) => table::find_named(view, named),
            Self::WebToken => find_web_token(view),
        }
    }

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
            Self::Inner(_) | Self::WebToken => Around::ANYTHING,
        }
    }

    /// Returns how far before its window a key of a known shape may begin: at least, and at most.
    fn lead(self) -> Option<(usize, usize)> {
        match self {
            Self::Shape(shape) => Some((shape.shown_at, shape.shown_at)),
            Self::Issuer(issuer) => issuer.lead(),
            Self::WebToken => Some((0, 0)),
            Self::Inner(_) | Self::Named(_) => None,
        }
    }
}

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
    let issuers = table::issuer_windows().map(|(window, issuer)| (window, Rule::Issuer(issuer)));
    let names = table::name_windows().map(|(window, named)| (window, Rule::Named(named)));
    shapes.chain(inners).chain([(window(JWT, dotted), Rule::WebToken)]).chain(issuers).chain(names)
}

/// Three parts of base64 with dots between them, the first of which is a JSON object.
fn find_web_token(view: &View<'_>) -> Option<Secret> {
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
    is_token.then_some(Secret { rule: "jwt", start, end, belongs: Some(Rest::Run(dotted)) })
}

/// Returns the first key or token of a known shape in `text`: its rule, start and end. `shape` returns the rule of a
/// shape that one of the gate's is.
pub(super) fn find_first<R: Copy>(
    gate: &Gate<R>,
    shape: impl Fn(R) -> Option<Rule>,
    text: &[u8],
) -> Option<(&'static str, usize, usize)> {
    let mut starts = Vec::new();
    let is_start = |start: usize| start == 0 || !is_word(text[start - 1]);
    gate.find(text, 0, text.len(), |at, key| {
        for rule in gate.rules(text, at, key, 0) {
            let Some((least, most)) = shape(rule).and_then(Rule::lead) else { continue };
            let leads = least..=most.min(at);
            starts.extend(leads.map(|lead| at - lead).filter(|&start| is_start(start)));
        }
        None::<()>
    });
    starts.sort_unstable();
    starts.dedup();
    starts.into_iter().find_map(|start| {
        let view = View::new(text, start);
        let found = known::find_from(&view, start)
            .or_else(|| table::find_from(&view, start))
            .or_else(|| find_web_token(&view))?;
        Some((found.rule, found.start, found.end))
    })
}

#[cfg(test)]
pub(super) fn issuer_rules() -> impl Iterator<Item = &'static str> {
    table::rules()
}

#[cfg(test)]
mod tests;

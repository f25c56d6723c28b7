//! Where a value begins and ends, and how it may be tied to its name.

use std::sync::LazyLock;

use regex::bytes::Regex;

use crate::class::{Class, is_word};
use crate::expression::expression;
use crate::secret::{AHEAD, Rest, Secret};
use crate::view::View;

pub(super) const MAX_SPACES: usize = 16;

/// How much of a value is looked at to judge it, so that a text of nothing but names takes no longer than others.
pub(super) const JUDGED: usize = 256;

/// How name and value are tied together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Tie {
    /// `name=value`
    Tight,
    /// `name = value`, `name: value`, `--name value`
    Loose,
    /// `<name>value</name>`
    Element,
    /// Lines below the name.
    Block,
}

pub(crate) struct Value<'a> {
    pub(super) start: usize,
    pub(crate) text: &'a [u8],
    pub(super) is_quoted: bool,
    /// True if it is a span of code, as Markdown has them.
    pub(super) is_span: bool,
    belongs: Class,
}

impl<'a> Value<'a> {
    fn new(view: &View<'a>, start: usize, end: usize, is_quoted: bool, belongs: Class) -> Self {
        Self { start, text: view.text(start, end), is_quoted, is_span: false, belongs }
    }

    /// Judging looks at the beginning; what is taken out is the whole.
    pub(crate) fn secret(&self, rule: &'static str, view: &View<'_>) -> Secret {
        let end = self.end();
        let end = if self.is_quoted { end } else { view.run(end, self.belongs) };
        Secret { rule, start: self.start, end, belongs: Some(Rest::Run(self.belongs)) }
    }

    pub(super) fn end(&self) -> usize {
        self.start + self.text.len()
    }
}

/// Returns a quote, however often it is escaped: the mark, and where it ends.
pub(crate) fn quote_at(view: &View<'_>, at: usize) -> Option<(u8, usize)> {
    let marks = view.run_most(at, MAX_SPACES, |byte| byte == b'\\');
    let mark = view.byte(marks)?;
    if mark == ENTITY {
        return entity(view, at).map(|end| (ENTITY, end));
    }
    b"\"'`".contains(&mark).then_some((mark, marks + 1))
}

/// What stands for a quote that HTML and XML spell.
const ENTITY: u8 = b'&';

/// Returns the end of the quote that HTML spells at `at`.
fn entity(view: &View<'_>, at: usize) -> Option<usize> {
    let spellings = ["&quot;", "&#34;", "&#x22;", "&apos;", "&#39;", "&#x27;"];
    spellings.iter().find(|text| view.has(at, text.as_bytes())).map(|text| at + text.len())
}

pub(super) fn value<'a>(view: &View<'a>, at: usize, tie: Tie) -> Option<Value<'a>> {
    if tie == Tie::Element {
        let end = view.run_most(at, JUDGED, is_in_element);
        let is_closed = view.has(end, b"</");
        return is_closed.then(|| Value::new(view, at, end, true, is_in_element));
    }
    if let Some((mark, start)) = quote_at(view, at) {
        let depth = start - at - 1;
        // `"""` in Python, TOML, Kotlin, Swift and others: its text begins in the next line, or here.
        let quote = view.text(at, start);
        if mark != ENTITY && view.has(start, quote) && view.has(start + quote.len(), quote) {
            return Some(first_line(view, start + 2 * quote.len()));
        }
        let belongs: Class = match mark {
            ENTITY => |byte| !b"&\n\r".contains(&byte),
            b'"' => |byte| !b"\"\n\r".contains(&byte),
            b'\'' => |byte| !b"'\n\r".contains(&byte),
            _ => |byte| !b"`\n\r".contains(&byte),
        };
        if let Some(end) = quoted(view, start, mark, depth, belongs) {
            return Some(Value { is_span: mark == b'`', ..Value::new(view, start, end, true, belongs) });
        }
        return Some(bare(view, start));
    }
    (!view.is_end(at)).then(|| bare(view, at))
}

/// White space, whose line ends may be escaped.
static BLANKS: LazyLock<Regex> = LazyLock::new(|| expression(r"^(?:\s|\\+[nrt\n])*"));

/// Returns the first line of a text of several.
fn first_line<'a>(view: &View<'a>, from: usize) -> Value<'a> {
    let start = from + BLANKS.find(view.rest(from)).map_or(0, |blanks| blanks.len());
    let end = view.run_most(start, JUDGED, is_in_line);
    Value::new(view, start, end, true, is_in_line)
}

fn is_in_element(byte: u8) -> bool {
    !b"<\n\r".contains(&byte)
}

fn is_in_line(byte: u8) -> bool {
    !b"\"'\\\n\r".contains(&byte)
}

fn bare<'a>(view: &View<'a>, start: usize) -> Value<'a> {
    let mut end = view.run_most(start, JUDGED, is_bare);
    // JSON may escape slashes.
    while end - start < JUDGED && view.has(end, b"\\/") {
        end = view.run_most(end + 2, JUDGED, is_bare);
    }
    Value::new(view, start, end, false, is_bare)
}

/// Returns the end of what is before the closing quote, which is escaped as often as the opening one, or less.
fn quoted(view: &View<'_>, start: usize, mark: u8, depth: usize, belongs: Class) -> Option<usize> {
    let mut at = start;
    loop {
        at = view.run(at, belongs);
        match view.byte(at) {
            // Longer than what rules see: a value without an end in sight.
            None => return (at - start >= AHEAD / 2).then_some(at),
            Some(ENTITY) if mark == ENTITY => {
                if entity(view, at).is_some() {
                    return Some(at);
                }
                at += 1;
            }
            Some(byte) if byte == mark => {
                let text = view.text(start, at);
                let backslashes = text.iter().rev().take_while(|&&byte| byte == b'\\').count();
                if backslashes <= depth {
                    return Some(at - backslashes);
                }
                at += 1;
            }
            Some(_) => return None,
        }
    }
}

fn is_bare(byte: u8) -> bool {
    !byte.is_ascii_whitespace() && !byte.is_ascii_control() && !b"\"'`,;&)}]<>|\\".contains(&byte)
}

/// Returns what stands after the scheme of an `Authorization` header.
pub(crate) fn credential<'a>(view: &View<'a>, start: usize) -> Value<'a> {
    let end = view.run_most(start, JUDGED, is_credential);
    Value::new(view, start, end, false, is_credential)
}

fn is_credential(byte: u8) -> bool {
    is_word(byte) || b".~+/=:-".contains(&byte)
}

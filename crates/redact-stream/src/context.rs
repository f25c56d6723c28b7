//! Secrets that are known by what takes them, as data: `context.tsv`. And cookies.

use std::sync::{LazyLock, OnceLock};

use regex::bytes::{Captures, Regex};

use super::assignment::{self, is_identifier, is_login, is_mixed, is_placeholder, is_random};
use super::class::encoded;
use super::expression::expression;
use super::secret::{Rest, Secret};
use super::view::View;

const QUOTED: &str = r#"(?:\\*"([^"\x00-\x1f]{4,256})|\\*'([^'\x00-\x1f]{4,256})|\\*`([^`\x00-\x1f]{4,256})|&(?:quot|apos|#34|#39|#x22|#x27);([^&\x00-\x1f]{4,256}))"#;
const WORD: &str = r#"(?:QUOTED|([^\s\x00-\x1f"'`;|&)<>\\]{4,256}))"#;

/// The longest line of cookies that is looked at.
const MAX_COOKIES_BYTES: usize = 32 * 1024;
const MIN_COOKIE_BYTES: usize = 16;

static CONTEXTS: LazyLock<Vec<Context>> = LazyLock::new(|| {
    let lines = include_str!("context.tsv").lines().filter(|line| !line.starts_with('#'));
    lines.map(|line| Context::read(line).unwrap_or_else(|| panic!("not understood: `{line}`"))).collect()
});

/// A line of the table.
#[derive(Debug)]
pub(super) struct Context {
    rule: &'static str,
    keywords: &'static str,
    check: &'static str,
    before: &'static str,
    after: &'static str,
    expressions: OnceLock<[Regex; 2]>,
}

pub(super) fn keywords() -> impl Iterator<Item = (&'static str, &'static Context)> {
    CONTEXTS.iter().flat_map(|context| context.keywords.split(',').map(move |keyword| (keyword, context)))
}

impl Context {
    fn read(line: &'static str) -> Option<Self> {
        let fields: [_; 5] = line.split('\t').collect::<Vec<_>>().try_into().ok()?;
        let [rule, keywords, check, before, after] = fields;
        Some(Self { rule, keywords, check, before, after, expressions: OnceLock::new() })
    }

    pub(super) fn find(&self, view: &View<'_>) -> Option<Secret> {
        let [before, after] = self.expressions.get_or_init(|| {
            [self.before, self.after]
                .map(|text| expression(&text.replace("WORD", WORD).replace("QUOTED", QUOTED)))
        });
        let rest = view.rest(view.anchor);
        let found = after.captures(rest)?;
        let line = line_before(view, view.anchor);
        let in_front = match self.before.strip_prefix('!') {
            Some(word)
                if view.before(view.anchor).windows(word.len()).any(|part| part == word.as_bytes()) =>
            {
                return None;
            }
            Some(_) => None,
            None => group_of(&before.captures(line)?, view.anchor - line.len()),
        };
        let (start, end) = group_of(&found, view.anchor).or(in_front)?;
        view.byte(view.anchor + found[0].len());
        let text = view.text(start, end);
        let text = &text[..=text.iter().rposition(|&byte| byte != b'\\')?];
        let is_digits = text.iter().all(|byte| byte.is_ascii_digit() || *byte == b':');
        let is_secret = match self.check {
            "login" => is_login(text),
            "mixed" => is_mixed(text) && view.is_word_start(view.anchor),
            "random" => is_random(text),
            "digits" => !is_placeholder(text) && !is_digits,
            check => {
                let is_option = check == "argument" && text.starts_with(b"-");
                let is_path = text.starts_with(b"/") || text.starts_with(b"./");
                let is_span = view.before(start).ends_with(b"`") && is_identifier(text);
                !(is_placeholder(text) || is_option || is_path || is_span || is_digits && text.len() < 6)
            }
        };
        let belongs = self.after.ends_with(",})").then_some(Rest::Run(encoded));
        is_secret.then_some(Secret { rule: self.rule, start, end: start + text.len(), belongs })
    }
}

/// Returns the first group that matched, in the view, where the match begins at `from`.
fn group_of(found: &Captures<'_>, from: usize) -> Option<(usize, usize)> {
    let group = found.iter().skip(1).flatten().next()?;
    Some((from + group.start(), from + group.end()))
}

/// Returns what is before `at` in its line, whose end may be escaped.
pub(super) fn line_before<'a>(view: &View<'a>, at: usize) -> &'a [u8] {
    let before = view.before(at);
    let start = before.iter().rposition(|&byte| byte == b'\n').map_or(0, |at| at + 1);
    let line = &before[start..];
    let escaped = line.windows(2).rposition(|two| two == b"\\n").map_or(0, |at| at + 2);
    &line[escaped..]
}

/// `Cookie: a=...; b=...`: from the first value that is a secret to the end of the last one.
pub(super) fn cookies(view: &View<'_>) -> Option<Secret> {
    let at = view.anchor + "Cookie".len();
    let at = assignment::quote_at(view, at).map_or(at, |(_, end)| end);
    if view.byte(at) != Some(b':') {
        return None;
    }
    let at = view.run_most(at + 1, 4, |byte| byte == b' ');
    let start = assignment::quote_at(view, at).map_or(at, |(_, end)| end);
    // A space stands only after a semicolon.
    let mut end = start;
    while end - start < MAX_COOKIES_BYTES {
        end = view.run_most(end, MAX_COOKIES_BYTES, |byte| {
            !byte.is_ascii_control() && !b" \"'`\\<>".contains(&byte)
        });
        if view.byte(end) != Some(b' ') || !view.text(start, end).ends_with(b";") {
            break;
        }
        end += 1;
    }
    let mut found: Option<(usize, usize)> = None;
    let mut at = start;
    for pair in view.text(start, end).split(|&byte| byte == b';') {
        if let Some(equals) = pair.iter().position(|&byte| byte == b'=') {
            let value = &pair[equals + 1..];
            if value.len() >= MIN_COOKIE_BYTES && is_random(value) && !is_placeholder(value) {
                let first = found.map_or(at + equals + 1, |(first, _)| first);
                found = Some((first, at + pair.len()));
            }
        }
        at += pair.len() + 1;
    }
    found.map(|(start, end)| Secret { rule: "cookie", start, end, belongs: None })
}

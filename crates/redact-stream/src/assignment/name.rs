//! Names that promise a secret: `API_TOKEN`, `clientSecret`, `db-password`.

use crate::class::is_word;
use crate::expression::matchers;
use crate::view::View;
use std::ops::Range;

const MAX_NAME_BYTES: usize = 80;

/// What a name promises.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NameKind {
    /// Chosen by people: may be short, may be a word.
    Password,
    /// `pass`, `pwd`: a password, unless it is a folder or what became of a test.
    Short,
    /// Nothing but a secret is called so.
    Key,
    /// Often something else: parsers and pages have tokens too.
    Token,
    /// Mostly something else: only what looks like chance is a secret.
    Vague,
    Authorization,
}

/// What the end of a name means, written without `_` and `-`. Longer ones are before those that they end with.
const ENDINGS: &[(&str, Option<NameKind>)] = &[
    ("password", Some(NameKind::Password)),
    ("passwd", Some(NameKind::Password)),
    ("passphrase", Some(NameKind::Password)),
    ("seedphrase", Some(NameKind::Password)),
    ("recoveryphrase", Some(NameKind::Password)),
    ("mnemonic", Some(NameKind::Password)),
    ("pass", Some(NameKind::Short)),
    ("pwd", Some(NameKind::Short)),
    ("secret", Some(NameKind::Key)),
    ("secretkey", Some(NameKind::Key)),
    ("secretstring", Some(NameKind::Key)),
    ("apikey", Some(NameKind::Key)),
    ("accesskey", Some(NameKind::Key)),
    ("privatekey", Some(NameKind::Key)),
    ("accountkey", Some(NameKind::Key)),
    ("encryptionkey", Some(NameKind::Token)),
    ("signingkey", Some(NameKind::Token)),
    ("masterkey", Some(NameKind::Token)),
    ("authkey", Some(NameKind::Token)),
    ("sharedkey", Some(NameKind::Token)),
    ("servicekey", Some(NameKind::Token)),
    ("servicerolekey", Some(NameKind::Token)),
    ("appkey", Some(NameKind::Token)),
    ("applicationkey", Some(NameKind::Token)),
    ("adminkey", Some(NameKind::Token)),
    ("deploykey", Some(NameKind::Token)),
    ("hmackey", Some(NameKind::Token)),
    ("storagekey", Some(NameKind::Token)),
    ("subscriptionkey", Some(NameKind::Token)),
    ("functionskey", Some(NameKind::Token)),
    ("licensekey", Some(NameKind::Token)),
    ("secretkeybase", Some(NameKind::Token)),
    ("webhookkey", Some(NameKind::Token)),
    ("publickey", None),
    ("publishablekey", None),
    ("cachekey", None),
    ("idempotencykey", None),
    ("key", Some(NameKind::Vague)),
    ("token", Some(NameKind::Token)),
    ("authorization", Some(NameKind::Authorization)),
    ("auth", Some(NameKind::Vague)),
    ("credential", Some(NameKind::Vague)),
    ("credentials", Some(NameKind::Vague)),
    ("creds", Some(NameKind::Vague)),
];

matchers! {
    /// What is before the word `key` in prose and in headings: `API key: ...`
    fn is_qualified = r"(?i)(?:^|[^0-9a-z])(?:api|secret|access|private|account|encryption|signing|auth) $";

    /// Words that end in `pass` and have nothing to do with a password.
    fn is_word_with_pass = concat!(
        "(?i)(?:compass|bypass|encompass|trespass|surpass|overpass|underpass|outpass|lowpass|highpass|bandpass|allpass|",
        "renderpass|multipass|singlepass)$",
    );

    /// A key of settings: what counts as passed.
    fn is_about_validation = r"validation\.$";

    fn is_phrase = "(?:phrase|mnemonic)$";
}

pub(super) struct Name {
    pub(super) kind: NameKind,
    pub(super) is_screaming: bool,
    /// True if spaces may be part of the value.
    pub(super) is_phrase: bool,
    /// True if it is nothing but its ending.
    pub(super) is_bare: bool,
}

/// Parts of the names.
const PARTS: &[&str] = &["toke", "secr", "sswo", "sswd", "phra", "mnem", "zati", "cred", "y_ba", "eyba"];

/// What counts only where the name ends.
const ENDS: &[&str] = &["key", "pwd", "pass", "auth"];

pub(crate) fn keywords() -> impl Iterator<Item = &'static str> {
    PARTS.iter().chain(ENDS).copied()
}

/// Returns true if no longer word is here.
pub(super) fn is_end(view: &View<'_>) -> bool {
    let end = ENDS.iter().find(|end| view.has_folded(view.anchor, end.as_bytes()));
    end.is_none_or(|end| {
        let next = view.byte(view.anchor + end.len());
        next.is_some_and(|byte| b"\"'`=:]} \t\\%>,;)|&\n\r-*".contains(&byte))
    })
}

/// Returns the end of the name at the place where the gate stopped.
pub(super) fn end(view: &View<'_>) -> usize {
    view.run_most(view.anchor, MAX_NAME_BYTES, is_name)
}

/// Returns its start.
pub(super) fn start(view: &View<'_>) -> usize {
    let before = view.before(view.anchor);
    let start =
        view.anchor - before.iter().rev().take(MAX_NAME_BYTES).take_while(|&&byte| is_name(byte)).count();
    // `\n` in JSON: the letter is no part of the name.
    let is_escaped = start > 0 && before[start - 1] == b'\\' && start < view.anchor;
    if is_escaped && b"nrt".contains(&before[start]) { start + 1 } else { start }
}

fn is_name(byte: u8) -> bool {
    is_word(byte) || byte == b'-'
}

impl Name {
    pub(super) fn read(view: &View<'_>, found: &Range<usize>) -> Option<Self> {
        let name = view.text(found.start, found.end);
        let before = view.before(found.start);
        let last = name.iter().rposition(|byte| !byte.is_ascii_digit() && !b"_-".contains(byte))?;
        let mut plain = name[..=last].to_ascii_lowercase();
        plain.retain(|byte| !b"_-".contains(byte));
        let (ending, kind) = ENDINGS.iter().find(|(ending, _)| plain.ends_with(ending.as_bytes()))?;
        let is_bare = plain.len() == ending.len();
        let kind = match (*kind)? {
            NameKind::Short if is_bare && is_about_validation(before) || is_word_with_pass(name) => {
                return None;
            }
            NameKind::Vague if is_bare && is_qualified(before) => NameKind::Token,
            kind => kind,
        };
        Some(Self {
            kind,
            is_screaming: !name.iter().any(u8::is_ascii_lowercase),
            is_phrase: is_phrase(ending.as_bytes()),
            is_bare,
        })
    }
}

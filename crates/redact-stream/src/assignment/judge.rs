//! Whether the value of a name that promises a secret is one, or a placeholder, a word, or code.

use crate::class::{encoded, entropy, is_word};

use super::name::{Name, NameKind};
use super::value::{JUDGED, Tie, Value};

/// Words that stand where a value would, in code, schemas and manuals.
const WORDS: &[&str] = &[
    "any",
    "auto",
    "basic",
    "bearer",
    "bool",
    "boolean",
    "bytes",
    "changeme",
    "default",
    "disabled",
    "dummy",
    "empty",
    "enabled",
    "env",
    "example",
    "false",
    "hidden",
    "hashed",
    "inherit",
    "input",
    "int",
    "integer",
    "invalid",
    "keyword",
    "missing",
    "never",
    "nil",
    "no",
    "none",
    "null",
    "number",
    "object",
    "off",
    "on",
    "optional",
    "placeholder",
    "plaintext",
    "private",
    "public",
    "raw",
    "read",
    "redacted",
    "required",
    "string",
    "str",
    "text",
    "true",
    "undefined",
    "unknown",
    "value",
    "void",
    "write",
    "yes",
];

/// How values begin that stand for real ones: `dummy-key`.
const MADE_UP: &[&str] = &["dummy", "example", "fake", "mock", "placeholder", "sample", "test"];

/// Parts of words that name a secret and are none: `user_password`, `YOUR_API_KEY`.
const NAMES: &[&str] =
    &["password", "passwd", "passphrase", "token", "secret", "apikey", "api_key", "api-key", "credential"];

/// How values begin that come from elsewhere.
const LOOKUPS: &[&str] = &[
    "process.env",
    "import.meta",
    "os.environ",
    "os.getenv",
    "std::env",
    "env.",
    "env(",
    "secrets.",
    "getenv",
    "ENV[",
    "your",
    "YOUR",
    "Your",
];

pub(super) fn is_secret(name: &Name, tie: Tie, value: &Value<'_>, follows: Option<u8>) -> bool {
    let text = &value.text[..value.text.len().min(JUDGED)];
    if text.len() < 4 || is_placeholder(text) || is_elsewhere(text) {
        return false;
    }
    if name.kind == NameKind::Vague {
        return is_login(text) || is_chance(text);
    }
    if text.iter().any(u8::is_ascii_whitespace) {
        let may_have_spaces = name.is_phrase || name.is_screaming && tie == Tie::Tight;
        return may_have_spaces && text.len() >= 8 && is_edged_by_words(text);
    }
    if !value.is_quoted && is_code(text) {
        return false;
    }
    if is_label(text) || value.is_span && is_identifier(text) {
        return false;
    }
    if text.iter().all(|&byte| byte.is_ascii_digit() || b".,_-".contains(&byte)) {
        let least = if name.kind == NameKind::Password { 6 } else { 12 };
        return tie == Tie::Tight && text.len() >= least;
    }
    if name.kind == NameKind::Short && (name.is_bare || name.is_screaming && tie == Tie::Loose) {
        return is_mixed(text) && tie == Tie::Tight || value.is_quoted && text.len() >= 6;
    }
    if name.is_screaming && tie == Tie::Tight {
        return true;
    }
    let is_mixed = is_mixed(text);
    match (name.kind, value.is_quoted) {
        (NameKind::Password | NameKind::Short, true) => true,
        (NameKind::Key | NameKind::Authorization, true) => text.len() >= 6,
        (NameKind::Token, true) => text.len() >= 8 && is_mixed || text.len() >= 20 && is_one_word(text),
        (NameKind::Password | NameKind::Short, false) => {
            let ends_line = matches!(follows, None | Some(b'\n' | b'\r' | b'\\'));
            is_mixed || text.len() >= 6 && (ends_line || tie == Tie::Tight) && is_plain_word(text)
        }
        (NameKind::Key | NameKind::Authorization, false) => {
            text.len() >= 8 && is_mixed || text.len() >= 20 && is_one_word(text)
        }
        (NameKind::Token, false) => {
            let least = if tie == Tie::Tight { 8 } else { 12 };
            text.len() >= least && is_mixed || text.len() >= 20 && is_one_word(text)
        }
        (NameKind::Vague, _) => false,
    }
}

/// Returns true if a value is nothing that a person would write, and no id, hash or path either.
fn is_chance(text: &[u8]) -> bool {
    let is_kind = text.iter().all(|&byte| encoded(byte) || byte == b'~');
    let is_number = text.iter().all(|&byte| byte.is_ascii_hexdigit() || b"-_:.".contains(&byte));
    let [has_small, has_capital, has_digit] =
        [u8::is_ascii_lowercase, u8::is_ascii_uppercase, u8::is_ascii_digit]
            .map(|kind: fn(&u8) -> bool| text.iter().any(kind));
    let is_one = text.split(|byte| !byte.is_ascii_alphanumeric()).any(|part| part.len() >= 12);
    text.len() >= 20
        && is_kind
        && !is_number
        && has_small
        && has_capital
        && has_digit
        && is_one
        && entropy(text) >= 3.5
        && !is_path_of_names(text)
}

/// Returns true if a value is names with signs between them: `glass.localAgentMembership.v1`.
fn is_path_of_names(text: &[u8]) -> bool {
    let parts = || text.split(|byte| !byte.is_ascii_alphanumeric());
    parts().count() > 1 && parts().all(|part| part.len() <= 3 || is_camel(part))
}

/// Returns true if a span of code in a text is a name or a call, and nothing of chance.
pub(crate) fn is_identifier(text: &[u8]) -> bool {
    let name = text.strip_suffix(b"()").unwrap_or(text);
    let has = |kind: fn(&u8) -> bool| name.iter().any(kind);
    let is_chance = has(u8::is_ascii_digit)
        && (has(u8::is_ascii_lowercase) && has(u8::is_ascii_uppercase) || name.len() >= 16);
    !name.first().is_none_or(u8::is_ascii_digit) && name.iter().all(|&byte| is_word(byte)) && !is_chance
}

/// Returns true if a value is more than words, and long enough to be of chance.
pub(crate) fn is_random(text: &[u8]) -> bool {
    text.len() >= 16
        && text.iter().any(u8::is_ascii_digit)
        && text.iter().any(u8::is_ascii_alphabetic)
        && entropy(text) >= 3.0
}

/// Returns true if a value says that the secret belongs here, or hides it already.
pub(crate) fn is_placeholder(text: &[u8]) -> bool {
    let Some(&first) = text.first() else { return true };
    if b"$<{%[(".contains(&first) {
        return true;
    }
    let is_masked = text.iter().all(|byte| b"*xX.-_#?".contains(byte)) || contains(text, b"***");
    let is_cut = contains(text, b"...") || contains(text, "…".as_bytes());
    let is_word = WORDS.iter().any(|word| text.eq_ignore_ascii_case(word.as_bytes()));
    is_masked || is_cut || is_word || is_made_up(text) || text.iter().all(|&byte| byte == first)
}

/// Returns true if a value is words, the first of which says that it is not meant.
fn is_made_up(text: &[u8]) -> bool {
    let first = text.split(|byte| !byte.is_ascii_alphabetic()).next().unwrap_or_default();
    MADE_UP.iter().any(|word| first.eq_ignore_ascii_case(word.as_bytes()))
        && text.iter().all(|&byte| byte.is_ascii_alphabetic() || b"-_. ".contains(&byte))
}

/// Returns true if a value says where the secret is.
fn is_elsewhere(text: &[u8]) -> bool {
    LOOKUPS.iter().any(|lookup| text.starts_with(lookup.as_bytes()))
        || contains(&text[..text.len().min(16)], b"://")
        || is_path(text)
}

fn is_path(text: &[u8]) -> bool {
    let is_rooted = [b"/".as_slice(), b"./", b"../", b"~/"].iter().any(|root| text.starts_with(root));
    is_rooted && text[1..].contains(&b'/') && !text.iter().any(u8::is_ascii_digit)
}

/// Returns true if a value without quotes is an expression: a call, a path of names, a reference, a type.
fn is_code(text: &[u8]) -> bool {
    let first = text[0];
    if b"&*!@/".contains(&first) && text.len() < 32 {
        return true;
    }
    let name =
        text.iter().position(|byte| !byte.is_ascii_alphanumeric() && *byte != b'_').unwrap_or(text.len());
    if !first.is_ascii_alphabetic() && first != b'_' {
        return false;
    }
    match &text[name..] {
        [b'(' | b'[' | b'{', ..] | [b':', b':', ..] | [b'!', b'(', ..] | [b'?', b'.', ..] => true,
        [b'.', next, ..] => next.is_ascii_alphabetic() || *next == b'_',
        _ => false,
    }
}

/// Returns true if a value is the name of a secret.
fn is_label(text: &[u8]) -> bool {
    let plain = text.to_ascii_lowercase();
    let is_wordy = plain.iter().all(|&byte| byte.is_ascii_alphabetic() || b"_-.: ".contains(&byte));
    is_wordy && NAMES.iter().any(|name| contains(&plain, name.as_bytes()))
}

/// Returns true if a value has digits, signs, or small and capital letters in disorder, as words have not.
pub(crate) fn is_mixed(text: &[u8]) -> bool {
    let has_letter = text.iter().any(|byte| byte.is_ascii_alphabetic() || !byte.is_ascii());
    let has_other = text.iter().any(|byte| byte.is_ascii_digit() || b"!@#$%^&*+=~/".contains(byte));
    let has_capital = text.iter().skip(1).any(u8::is_ascii_uppercase);
    let has_small = text.iter().any(u8::is_ascii_lowercase);
    has_letter && (has_other || has_capital && has_small && !is_camel(text))
}

/// Returns true if capitals stand only at the beginnings of words of three letters and more.
fn is_camel(text: &[u8]) -> bool {
    text.split(u8::is_ascii_uppercase).skip(1).all(|word| word.len() >= 2)
        && text.iter().all(u8::is_ascii_alphabetic)
}

fn is_one_word(text: &[u8]) -> bool {
    text.iter().all(u8::is_ascii_alphanumeric)
}

fn is_plain_word(text: &[u8]) -> bool {
    text.iter().all(|&byte| byte.is_ascii_lowercase() || byte == b'-')
}

fn is_edged_by_words(text: &[u8]) -> bool {
    text[0].is_ascii_alphanumeric() && !text[text.len() - 1].is_ascii_whitespace()
}

fn contains(text: &[u8], needle: &[u8]) -> bool {
    text.windows(needle.len()).any(|window| window == needle)
}

/// Returns true if `text` is a user and a password in base64.
pub(crate) fn is_login(text: &[u8]) -> bool {
    let plain = text.strip_suffix(b"==").or(text.strip_suffix(b"=")).unwrap_or(text);
    if text.len() < 8 || plain.contains(&b'=') || plain.len() % 4 == 1 {
        return false;
    }
    let mut decoded: Vec<u8> = Vec::with_capacity(plain.len());
    for four in plain.chunks(4) {
        let bits = four.iter().fold(0_u32, |bits, &byte| bits << 6 | sextet(byte)) << (6 * (4 - four.len()));
        decoded.extend(&bits.to_be_bytes()[1..four.len()]);
    }
    let colon = decoded.iter().position(|&byte| byte == b':');
    colon.is_some_and(|colon| colon + 3 < decoded.len())
        && decoded.iter().all(|byte| byte.is_ascii_graphic() || *byte == b' ')
}

fn sextet(byte: u8) -> u32 {
    let value = match byte {
        b'A'..=b'Z' => byte - b'A',
        b'a'..=b'z' => byte - b'a' + 26,
        b'0'..=b'9' => byte - b'0' + 52,
        b'+' => 62,
        _ => 63,
    };
    u32::from(value)
}

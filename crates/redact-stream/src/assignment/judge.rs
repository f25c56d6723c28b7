//! Whether the value of a name that promises a secret is one, or a placeholder, a word, or code.

use crate::class::{entropy, is_word};
use crate::expression::matchers;

use super::name::{Name, NameKind};
use super::value::{JUDGED, Tie, Value};

matchers! {
    /// A value that says that the secret belongs here, or hides it already: signs, words that stand where a value would in
    /// code, schemas and manuals, and words that begin with one for what is made up.
    fn is_sign_or_word = concat!(
        r"(?s)^(?:$|[$<{%\[(]|[*xX.\-_#?]+$|(?i:any|auto|basic|bearer|bool|boolean|bytes|changeme|default|disabled|",
        "dummy|empty|enabled|env|example|false|hidden|hashed|inherit|input|int|integer|invalid|keyword|missing|never|nil|",
        "no|none|null|number|object|off|on|optional|placeholder|plaintext|private|public|raw|read|redacted|required|",
        "string|str|text|true|undefined|unknown|value|void|write|yes)$|",
        r"(?i:dummy|example|fake|mock|placeholder|sample|test)(?:[\-_. ][A-Za-z\-_. ]*)?$)|\*\*\*|\.\.\.|\xE2\x80\xA6",
    );

    /// A value that says where the secret is: a look-up, an address, a path.
    fn is_elsewhere = concat!(
        r"(?s)^(?:process\.env|import\.meta|os\.environ|os\.getenv|std::env|env[.(]|secrets\.|getenv|ENV\[|[yY]our|YOUR|",
        r".{0,13}://|(?:/[^0-9/]*/|\.\.?/|~/)[^0-9]*$)",
    );

    /// An expression: a call, a path of names, a reference, a type.
    fn is_code = r"(?s)^(?:[&*!@/].{0,30}$|[A-Za-z_][0-9A-Za-z_]*(?:[(\[{]|::|!\(|\?\.|\.[A-Za-z_]))";

    /// The name of a secret: `user_password`, `YOUR_API_KEY`.
    fn is_label = r"(?i)^[a-z_.: -]*(?:password|passwd|passphrase|token|secret|api[-_]?key|credential)[a-z_.: -]*$";

    /// Names with signs between them: `glass.localAgentMembership.v1`.
    fn is_path_of_names = concat!(
        "^(?:[0-9A-Za-z]{0,3}|[a-z]*(?:[A-Z][a-z]{2,})*)",
        "(?:[^0-9A-Za-z](?:[0-9A-Za-z]{0,3}|[a-z]*(?:[A-Z][a-z]{2,})*))+$",
    );

    /// Capitals only at the beginnings of words of three letters and more.
    fn is_camel = r"^[a-z]*(?:[A-Z][a-z]{2,})*$";

    fn is_encoded = r"^[\w.+/=%~-]{20,}$";
    fn is_number = r"^[0-9A-Fa-f:_.-]*$";
    fn has_long_part = r"[0-9A-Za-z]{12}";
    fn is_amount = r"^[0-9.,_-]*$";
    fn is_one_word = r"^[0-9A-Za-z]*$";
    fn is_plain_word = r"^[a-z-]*$";
    fn is_edged_by_words = r"(?s)^[0-9A-Za-z].*\S$";
}

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
    if !value.is_quoted && is_code(text) || is_label(text) || value.is_span && is_identifier(text) {
        return false;
    }
    if is_amount(text) {
        let least = if name.kind == NameKind::Password { 6 } else { 12 };
        return tie == Tie::Tight && text.len() >= least;
    }
    let is_mixed = is_mixed(text);
    if name.kind == NameKind::Short && (name.is_bare || name.is_screaming && tie == Tie::Loose) {
        return is_mixed && tie == Tie::Tight || value.is_quoted && text.len() >= 6;
    }
    if name.is_screaming && tie == Tie::Tight {
        return true;
    }
    match (name.kind, value.is_quoted) {
        (NameKind::Password | NameKind::Short, true) => true,
        (NameKind::Password | NameKind::Short, false) => {
            let ends_line = matches!(follows, None | Some(b'\n' | b'\r' | b'\\'));
            is_mixed || text.len() >= 6 && (ends_line || tie == Tie::Tight) && is_plain_word(text)
        }
        (NameKind::Key | NameKind::Authorization, true) => text.len() >= 6,
        (NameKind::Token, _) | (NameKind::Key | NameKind::Authorization, false) => {
            let is_loose = name.kind == NameKind::Token && !value.is_quoted && tie != Tie::Tight;
            let least = if is_loose { 12 } else { 8 };
            text.len() >= least && is_mixed || text.len() >= 20 && is_one_word(text)
        }
        (NameKind::Vague, _) => false,
    }
}

/// Returns true if a value is nothing that a person would write, and no id, hash or path either.
fn is_chance(text: &[u8]) -> bool {
    let kinds: [fn(&u8) -> bool; 3] = [u8::is_ascii_lowercase, u8::is_ascii_uppercase, u8::is_ascii_digit];
    is_encoded(text)
        && !is_number(text)
        && kinds.iter().all(|kind| text.iter().any(kind))
        && has_long_part(text)
        && entropy(text) >= 3.5
        && !is_path_of_names(text)
}

/// Returns true if a span of code in a text is a name or a call, and nothing of chance.
pub(crate) fn is_identifier(text: &[u8]) -> bool {
    let name = text.strip_suffix(b"()").unwrap_or(text);
    let has_both_cases = name.iter().any(u8::is_ascii_lowercase) && name.iter().any(u8::is_ascii_uppercase);
    let is_chance = name.iter().any(u8::is_ascii_digit) && (has_both_cases || name.len() >= 16);
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
    text.iter().all(|byte| Some(byte) == text.first()) || is_sign_or_word(text)
}

/// Returns true if a value has digits, signs, or small and capital letters in disorder, as words have not.
pub(crate) fn is_mixed(text: &[u8]) -> bool {
    let has_letter = text.iter().any(|byte| byte.is_ascii_alphabetic() || !byte.is_ascii());
    let has_other = text.iter().any(|byte| byte.is_ascii_digit() || b"!@#$%^&*+=~/".contains(byte));
    let has_capital = text.iter().skip(1).any(u8::is_ascii_uppercase);
    let has_small = text.iter().any(u8::is_ascii_lowercase);
    has_letter && (has_other || has_capital && has_small && !is_camel(text))
}

/// Returns true if `text` is a user and a password in base64.
pub(crate) fn is_login(text: &[u8]) -> bool {
    const ALPHABET: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let plain = text.strip_suffix(b"==").or(text.strip_suffix(b"=")).unwrap_or(text);
    if text.len() < 8 || plain.contains(&b'=') || plain.len() % 4 == 1 {
        return false;
    }
    let sextet =
        |byte: &u8| (0..63).zip(ALPHABET).find(|(_, letter)| *letter == byte).map_or(63, |(at, _)| at);
    let mut decoded: Vec<u8> = Vec::with_capacity(plain.len());
    for four in plain.chunks(4) {
        let bits = four.iter().fold(0_u32, |bits, byte| bits << 6 | sextet(byte)) << (6 * (4 - four.len()));
        decoded.extend(&bits.to_be_bytes()[1..four.len()]);
    }
    let colon = decoded.iter().position(|&byte| byte == b':');
    colon.is_some_and(|colon| colon + 3 < decoded.len())
        && decoded.iter().all(|byte| byte.is_ascii_graphic() || *byte == b' ')
}

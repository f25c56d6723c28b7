//! Keys and tokens that are known by their beginning.

use super::{Class, Secret, View, is_word, run};

/// What the keys of one issuer look like.
#[derive(Debug, Clone, Copy)]
pub(super) struct Shape {
    rule: &'static str,
    pub(super) prefix: &'static str,
    /// What follows the prefix.
    body: Class,
    at_least: usize,
    check: fn(&[u8]) -> bool,
}

const fn shape(rule: &'static str, prefix: &'static str, body: Class, at_least: usize) -> Shape {
    Shape { rule, prefix, body, at_least, check: anything }
}

const fn checked(shape: Shape, check: fn(&[u8]) -> bool) -> Shape {
    Shape { check, ..shape }
}

/// How much of a token is looked at to judge it, so that a text of nothing but prefixes takes no longer than others.
const JUDGED: usize = 256;

/// Longer prefixes stand before those that they begin with.
pub(super) const SHAPES: &[Shape] = &[
    checked(shape("aws-access-key", "AKIA", upper, 16), |body| body.len() == 16),
    checked(shape("aws-access-key", "ASIA", upper, 16), |body| body.len() == 16),
    shape("github-token", "ghp_", is_word, 20),
    shape("github-token", "gho_", is_word, 20),
    shape("github-token", "ghu_", is_word, 20),
    shape("github-token", "ghs_", is_word, 20),
    shape("github-token", "ghr_", is_word, 20),
    shape("github-token", "github_pat_", is_word, 20),
    shape("gitlab-token", "glpat-", dashed, 16),
    shape("slack-token", "xoxa-", dashed, 10),
    shape("slack-token", "xoxb-", dashed, 10),
    shape("slack-token", "xoxe-", dashed, 10),
    shape("slack-token", "xoxp-", dashed, 10),
    shape("slack-token", "xoxr-", dashed, 10),
    shape("slack-token", "xoxs-", dashed, 10),
    shape("slack-token", "xapp-", dashed, 20),
    shape("slack-webhook", "hooks.slack.com/services/", slashed, 20),
    shape("stripe-key", "sk_live_", is_word, 16),
    shape("stripe-key", "rk_live_", is_word, 16),
    shape("anthropic-key", "sk-ant-", dashed, 16),
    checked(shape("openai-key", "sk-", dashed, 20), is_random),
    shape("google-key", "AIza", dashed, 30),
    shape("google-secret", "GOCSPX-", dashed, 20),
    shape("npm-token", "npm_", alphanumeric, 30),
    shape("pypi-token", "pypi-AgEI", dashed, 20),
    shape("hugging-face-token", "hf_", alphanumeric, 30),
    checked(shape("sendgrid-key", "SG.", dotted, 40), |body| body.contains(&b'.')),
    checked(shape("twilio-key", "SK", hexadecimal, 32), |body| body.len() == 32),
    shape("digitalocean-token", "dop_v1_", hexadecimal, 40),
    shape("digitalocean-token", "doo_v1_", hexadecimal, 40),
    shape("digitalocean-token", "dor_v1_", hexadecimal, 40),
];

/// How a JSON object begins in base64, and with it a JSON web token.
pub(super) const JWT: &str = "eyJ";

pub(super) fn find(view: &View<'_>) -> Option<Secret> {
    let rest = view.rest();
    if rest.starts_with(JWT.as_bytes()) {
        return find_jwt(view);
    }
    SHAPES.iter().find_map(|shape| {
        let body = rest.strip_prefix(shape.prefix.as_bytes())?;
        let judged = &body[..run(&body[..body.len().min(JUDGED)], shape.body)];
        if judged.len() < shape.at_least || !view.is_word_start() || !(shape.check)(judged) {
            return None;
        }
        let end = view.anchor + shape.prefix.len() + judged.len() + run(&body[judged.len()..], shape.body);
        if view.bytes.get(end).is_some_and(|&next| is_word(next)) {
            return None;
        }
        // Of an address the host stays.
        let kept = if shape.rule == "slack-webhook" { shape.prefix.len() } else { 0 };
        Some(Secret { rule: shape.rule, start: view.anchor + kept, end, belongs: Some(shape.body) })
    })
}

/// Whether `text` begins with a key or token of a known shape.
pub(super) fn is_known(text: &[u8]) -> bool {
    find(&View { bytes: text, anchor: 0 }).is_some()
}

fn upper(byte: u8) -> bool {
    byte.is_ascii_uppercase() || byte.is_ascii_digit()
}

fn alphanumeric(byte: u8) -> bool {
    byte.is_ascii_alphanumeric()
}

fn hexadecimal(byte: u8) -> bool {
    byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte)
}

fn dashed(byte: u8) -> bool {
    is_word(byte) || byte == b'-'
}

fn dotted(byte: u8) -> bool {
    dashed(byte) || byte == b'.'
}

fn slashed(byte: u8) -> bool {
    is_word(byte) || byte == b'/'
}

fn anything(_body: &[u8]) -> bool {
    true
}

/// Tells keys from words with dashes between them, such as names of styles.
fn is_random(body: &[u8]) -> bool {
    body.iter().any(u8::is_ascii_digit)
        && body.split(|byte| !byte.is_ascii_alphanumeric()).any(|part| part.len() >= 12)
}

/// Three parts of base64 with dots between them, the first of which is a JSON object.
fn find_jwt(view: &View<'_>) -> Option<Secret> {
    if !view.is_word_start() || view.bytes[..view.anchor].last().is_some_and(|&last| b".-".contains(&last)) {
        return None;
    }
    let token = &view.rest()[..run(view.rest(), dotted)];
    let mut parts = token.split(|&byte| byte == b'.');
    let mut is_long = |length| parts.next().is_some_and(|part| part.len() >= length);
    (is_long(10) && is_long(4) && is_long(4)).then_some(Secret {
        rule: "jwt",
        start: view.anchor,
        end: view.anchor + token.len(),
        belongs: Some(dotted),
    })
}

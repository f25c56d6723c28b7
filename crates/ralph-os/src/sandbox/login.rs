//! Whether a login that comes back from inside can be the renewal of the one that was handed out.

use serde_json::{Map, Value};

/// Parts of names, without `_`, that say who pays: they are equal where both logins have them.
const ACCOUNT: &[&str] =
    &["account", "email", "userid", "username", "organization", "tenant", "apikey", "clientid"];

/// Parts of names that say since when or until when something is valid.
const AGE: &[&str] = &["expir", "lastrefresh", "issued", "updatedat"];

/// What a login that is not JSON, or is JSON, must be to replace another.
pub(super) fn can_replace(old: &[u8], new: &[u8]) -> bool {
    let json = |bytes: &[u8]| serde_json::from_slice::<Value>(bytes).ok().filter(Value::is_object);
    match (json(old), json(new)) {
        (Some(old), Some(new)) => is_renewal(&old, &new, true),
        (Some(_), None) => false,
        (None, _) => !new.trim_ascii().is_empty(),
    }
}

/// Returns true for a whole object: no part of one reads as such.
pub(super) fn is_json(bytes: &[u8]) -> bool {
    serde_json::from_slice::<Value>(bytes).is_ok_and(|value| value.is_object())
}

/// Compares what both have, and has all tokens of the old one there if `keeps_tokens`.
fn is_renewal(old: &Value, new: &Value, keeps_tokens: bool) -> bool {
    let (Value::Object(old), Value::Object(new)) = (old, new) else {
        return std::mem::discriminant(old) == std::mem::discriminant(new);
    };
    old.iter().all(|(key, old)| {
        let name = key.replace(['_', '-'], "").to_ascii_lowercase();
        let new = new.get(key).unwrap_or(&Value::Null);
        if keeps_tokens && is_token(&name) && !is_empty(old) && is_empty(new) {
            return false;
        }
        match (old, new) {
            // No token may be lost with what it is in.
            (Value::Object(_), Value::Null) => is_renewal(old, &Value::Object(Map::new()), keeps_tokens),
            (Value::Null, _) | (_, Value::Null) => true,
            (Value::Object(_), _) => is_renewal(old, new, keeps_tokens),
            _ if std::mem::discriminant(old) != std::mem::discriminant(new) => false,
            _ if is_token(&name) => is_same_account(&name, old, new) && is_renewed_jwt(old, new),
            _ if AGE.iter().any(|part| name.contains(part))
                || ["iat", "exp", "expires"].contains(&&*name) =>
            {
                name.ends_with("in") || !is_older(old, new)
            }
            _ => is_same_account(&name, old, new),
        }
    })
}

/// Returns true for the name of a token or a key.
fn is_token(name: &str) -> bool {
    name.ends_with("token") || name.ends_with("apikey") || ["access", "refresh", "key"].contains(&name)
}

fn is_same_account(name: &str, old: &Value, new: &Value) -> bool {
    let is_of_account =
        ACCOUNT.iter().any(|part| name.contains(part)) || ["sub", "key", "org", "user"].contains(&name);
    !is_of_account || old == new || is_empty(old) || is_empty(new) || old.is_array() || old.is_boolean()
}

/// Compares what tokens say themselves, where both can be read: those of `OpenID` name the account.
fn is_renewed_jwt(old: &Value, new: &Value) -> bool {
    match (claims(old), claims(new)) {
        (Some(old), Some(new)) => is_renewal(&old, &new, false),
        _ => true,
    }
}

fn claims(token: &Value) -> Option<Value> {
    let mut parts = token.as_str()?.split('.');
    let (_, middle, _) = (parts.next()?, parts.next()?, parts.next()?);
    let (mut bits, mut count, mut bytes) = (0_u32, 0, Vec::new());
    for byte in middle.trim_end_matches('=').bytes() {
        let digit = match byte {
            b'A'..=b'Z' => byte - b'A',
            b'a'..=b'z' => byte - b'a' + 26,
            b'0'..=b'9' => byte - b'0' + 52,
            b'-' | b'+' => 62,
            b'_' | b'/' => 63,
            _ => return None,
        };
        (bits, count) = ((bits << 6 | u32::from(digit)) & 0xffff, count + 6);
        if count >= 8 {
            count -= 8;
            bytes.push(u8::try_from(bits >> count & 0xff).ok()?);
        }
    }
    serde_json::from_slice(&bytes).ok().filter(Value::is_object)
}

fn is_older(old: &Value, new: &Value) -> bool {
    match (old, new) {
        (Value::Number(old), Value::Number(new)) => new.as_f64() < old.as_f64(),
        // Days and times as ISO 8601 has them, up to the second.
        (Value::String(old), Value::String(new)) => new.get(..19) < old.get(..19),
        _ => false,
    }
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::String(text) => text.trim().is_empty(),
        Value::Object(fields) => fields.is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::Bool(_) | Value::Number(_) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CLAUDE: &str = r#"{"claudeAiOauth":{"accessToken":"a1","refreshToken":"r1","expiresAt":100,"scopes":["x"],"subscriptionType":"pro"}}"#;
    const CODEX: &str = r#"{"OPENAI_API_KEY":null,"tokens":{"id_token":"i1","access_token":"a1","refresh_token":"r1","account_id":"me"},"last_refresh":"2026-01-02T10:00:00.5Z"}"#;
    const GEMINI: &str = r#"{"access_token":"a1","refresh_token":"r1","scope":"s","token_type":"Bearer","id_token":"h.eyJzdWIiOiJtZSIsImV4cCI6MTAwfQ.s","expiry_date":100}"#;
    const KEYS: &str = r#"{"anthropic":{"type":"oauth","access":"a1","refresh":"r1","expires":100},"other":{"type":"api","key":"k"}}"#;

    #[test]
    fn a_renewal_replaces_a_login_and_what_lacks_a_token_or_is_of_somebody_else_does_not() {
        for (old, new, expected) in [
            // Renewals, as the programs write them.
            (
                CLAUDE,
                r#"{"claudeAiOauth":{"accessToken":"a2","refreshToken":"r2","expiresAt":200,"scopes":["x","y"],"subscriptionType":"max","new":1}}"#,
                true,
            ),
            (
                CLAUDE,
                r#"{"claudeAiOauth":{"accessToken":"a2","refreshToken":"r1","expiresAt":200,"scopes":["x"],"subscriptionType":null},"mcpOAuth":{}}"#,
                true,
            ),
            (
                CODEX,
                r#"{"OPENAI_API_KEY":null,"tokens":{"id_token":"i2","access_token":"a2","refresh_token":"r2","account_id":"me"},"last_refresh":"2026-01-03T09:00:00.25Z"}"#,
                true,
            ),
            (
                CODEX,
                r#"{"OPENAI_API_KEY":"sk","auth_mode":"x","tokens":{"id_token":"i2","access_token":"a2","refresh_token":"r2","account_id":"me"},"last_refresh":"2026-01-02T10:00:00.9Z"}"#,
                true,
            ),
            (
                GEMINI,
                r#"{"access_token":"a2","refresh_token":"r1","token_type":"Bearer","id_token":"h.eyJzdWIiOiJtZSIsImV4cCI6MjAwfQ.s","expiry_date":200,"scope":"s"}"#,
                true,
            ),
            (
                GEMINI,
                r#"{"access_token":"a2","refresh_token":"r1","id_token":"opaque","expiry_date":200}"#,
                true,
            ),
            (
                KEYS,
                r#"{"anthropic":{"type":"oauth","access":"a2","refresh":"r2","expires":200},"other":{"type":"api","key":"k"},"third":{"type":"api","key":"z"}}"#,
                true,
            ),
            ("token = \"a\"", "token = \"b\"", true),
            ("plain", "{}", true),
            (r#"{"expires_in":3600,"access_token":"a"}"#, r#"{"expires_in":3599,"access_token":"b"}"#, true),
            // Nothing, something else, or less.
            (CLAUDE, "{}", false),
            (CLAUDE, "garbage", false),
            (CLAUDE, "null", false),
            (CLAUDE, r#"{"claudeAiOauth":"x"}"#, false),
            (CLAUDE, r#"{"claudeAiOauth":{"accessToken":"a2","expiresAt":200}}"#, false),
            (CLAUDE, r#"{"claudeAiOauth":{"accessToken":"a2","refreshToken":" ","expiresAt":200}}"#, false),
            (
                CLAUDE,
                r#"{"claudeAiOauth":{"accessToken":["a2"],"refreshToken":"r2","expiresAt":200}}"#,
                false,
            ),
            (
                CLAUDE,
                r#"{"claudeAiOauth":{"accessToken":"a2","refreshToken":"r2","expiresAt":"200"}}"#,
                false,
            ),
            (CLAUDE, r#"{"claudeAiOauth":{"accessToken":"a0","refreshToken":"r0","expiresAt":99}}"#, false),
            (
                CODEX,
                r#"{"tokens":{"id_token":"i2","access_token":"a2","refresh_token":"r2","account_id":"you"},"last_refresh":"2026-01-03T09:00:00Z"}"#,
                false,
            ),
            (
                CODEX,
                r#"{"tokens":{"id_token":"i2","access_token":"a2","refresh_token":"r2","account_id":"me"},"last_refresh":"2025-12-31T09:00:00Z"}"#,
                false,
            ),
            (
                GEMINI,
                r#"{"access_token":"a2","refresh_token":"r1","id_token":"h.eyJzdWIiOiJ5b3UiLCJleHAiOjIwMH0.s","expiry_date":200}"#,
                false,
            ),
            (
                KEYS,
                r#"{"anthropic":{"type":"oauth","access":"a2","refresh":"r2","expires":200},"other":{"type":"api","key":"l"}}"#,
                false,
            ),
            (KEYS, r#"{"anthropic":{"type":"oauth","access":"a2","refresh":"r2","expires":200}}"#, false),
            ("token = \"a\"", " \n", false),
            ("plain", "", false),
        ] {
            assert_eq!(can_replace(old.as_bytes(), new.as_bytes()), expected, "{old} -> {new}");
        }
    }
}

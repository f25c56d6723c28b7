//! Reads values from events, whatever their JSON type.

use serde_json::Value;

use ralph_core::record::Tokens;

pub(super) fn text<'a>(value: &'a Value, key: &str) -> &'a str {
    value[key].as_str().unwrap_or_default()
}

/// Returns all texts of a list of parts, as in messages and tool results.
pub(super) fn texts(parts: &Value) -> String {
    match parts {
        Value::String(words) => words.clone(),
        Value::Array(parts) => {
            let words: Vec<&str> = parts.iter().filter_map(|part| part["text"].as_str()).collect();
            words.join("\n")
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => String::new(),
    }
}

/// The tokens under the names of input, cache reads, cache writes and output.
pub(super) fn tokens(usage: &Value, names: [&str; 4]) -> Tokens {
    let [input, cache_read, cache_write, output] = names.map(|name| usage[name].as_u64());
    Tokens { input, cache_read, cache_write, output }
}

/// Like [`tokens`], for agents whose input count includes the cached part.
pub(super) fn inclusive_tokens(usage: &Value, names: [&str; 4]) -> Tokens {
    let tokens = tokens(usage, names);
    let cached = tokens.cache_read.unwrap_or(0).saturating_add(tokens.cache_write.unwrap_or(0));
    Tokens { input: tokens.input.map(|input| input.saturating_sub(cached)), ..tokens }
}

/// Returns a cost that was reported. Agents print zero if they know no price.
pub(super) fn cost(value: &Value) -> Option<f64> {
    value.as_f64().filter(|cost| *cost != 0.0)
}

pub(super) fn is_nothing(tokens: &Tokens) -> bool {
    tokens.total().unwrap_or(0) == 0
}

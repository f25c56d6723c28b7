//! The texts in a line of a stream of JSON objects.

use serde_json::Value;

/// Returns the texts of a JSON object on a line, in their order, or `None` if the line is none.
pub fn texts(line: &[u8]) -> Option<Vec<String>> {
    let line = line.trim_ascii();
    if !line.starts_with(b"{") {
        return None;
    }
    let mut found = Vec::new();
    collect(serde_json::from_slice(line).ok()?, &mut found);
    Some(found)
}

fn collect(value: Value, found: &mut Vec<String>) {
    match value {
        Value::String(text) => found.push(text),
        Value::Array(items) => items.into_iter().for_each(|item| collect(item, found)),
        Value::Object(fields) => fields.into_iter().for_each(|(_, value)| collect(value, found)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_taken_from_every_depth() {
        for (line, expected) in [
            (r#"{"a":"x","b":[{"c":"y\nz"},1,null]}"#, Some(&["x", "y\nz"][..])),
            ("  {\"a\":true}\r\n", Some(&[])),
            ("{\"a\":", None),
            ("\"text\"", None),
            ("", None),
        ] {
            let expected = expected.map(|texts| texts.iter().map(|text| (*text).to_owned()).collect());
            assert_eq!(texts(line.as_bytes()), expected, "{line}");
        }
    }
}

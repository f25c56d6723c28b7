//! Strips what programs put before each line of the commands that they run: the name of the package, or the time.

use std::collections::HashMap;

/// Maximum length of a prefix, in bytes.
const MAX_PREFIX_BYTES: usize = 80;
/// Minimum number of lines with the same prefix; with fewer it is text.
const MIN_LINES: usize = 3;
/// Maximum number of prefixes; further ones are text.
const MAX_PREFIXES: usize = 500;

/// Words before a colon that begin a message, and are no prefix.
const MESSAGE_WORDS: &[&str] = &[
    "error",
    "warning",
    "note",
    "fail",
    "failed",
    "ok",
    "test",
    "info",
    "tests",
    "time",
    "total",
    "passed",
    "ran",
    "result",
    "suites",
    "snapshots",
    "e",
    "failures",
    "executed",
    "help",
    "not",
    "at",
    "npm",
    "make",
    "skipped",
    "duration",
    "files",
    "traceback",
    "stack",
    "cause",
    "usage",
    "finished",
    "in",
    "file",
    "rootdir",
    "platform",
    "plugins",
    "configfile",
    "testpaths",
    "cachedir",
    "seed",
    "expected",
    "actual",
    "got",
    "code",
    "thread",
    "started",
    "pass",
    "tap",
    "bail",
    "debug",
    "success",
    "warn",
    "doctest",
    "xpass",
    "received",
    "assertionerror",
];

/// Returns a line without the timestamp that CI puts before it.
pub(super) fn strip_time(line: &str) -> &str {
    let line = line.strip_prefix('\u{feff}').unwrap_or(line);
    if !line.starts_with(|c: char| c.is_ascii_digit() || c == '[') {
        return line;
    }
    let (stamp, rest) = match line.split_once(' ') {
        Some((stamp, rest)) => (stamp, rest),
        // The timestamp of an empty line.
        None if line.len() >= 20 && line.ends_with('Z') => (line, ""),
        _ => return line,
    };
    let date = stamp.strip_suffix('Z').filter(|date| has_shape(date, "0000-00-00T00:00:00"));
    let bracketed = stamp.strip_prefix('[').and_then(|clock| clock.strip_suffix(']'));
    if date.is_some_and(|date| is_clock(&date[11..])) || bracketed.is_some_and(is_clock) {
        return rest;
    }
    match rest.strip_prefix("| ") {
        Some(rest) if is_clock(stamp) => rest,
        _ => line,
    }
}

/// Returns true for `12:34:56`, also with a fraction.
fn is_clock(text: &str) -> bool {
    has_shape(text, "00:00:00")
        && match &text.as_bytes()[8..] {
            [] => true,
            [point, digits @ ..] => *point == b'.' && digits.iter().all(u8::is_ascii_digit),
        }
}

/// Returns true if the text begins with the shape, in which `0` is any digit.
fn has_shape(text: &str, shape: &str) -> bool {
    let mut pairs = text.bytes().zip(shape.bytes());
    text.len() >= shape.len()
        && pairs.all(|(byte, form)| byte == form || (form == b'0' && byte.is_ascii_digit()))
}

/// Groups lines by prefix, and strips it; lines without one come first. Returns `None` if no prefix recurs.
pub(super) fn split<'t>(lines: &[&'t str]) -> Option<Vec<Vec<&'t str>>> {
    // Each prefix, and how many lines have it.
    let mut keys: Vec<(&str, usize)> = Vec::new();
    let mut indices: HashMap<&str, usize> = HashMap::new();
    // The number of a line and of its prefix, and its text.
    let mut keyed: Vec<(usize, usize, &str)> = Vec::new();
    let mut last = usize::MAX;
    for (at, line) in lines.iter().enumerate() {
        let Some((key, text)) = prefix(line) else { continue };
        if keys.get(last).is_none_or(|known| known.0 != key) {
            last = match indices.get(key) {
                Some(&index) => index,
                None if keys.len() < MAX_PREFIXES => {
                    indices.insert(key, keys.len());
                    keys.push((key, 0));
                    keys.len() - 1
                }
                None => continue,
            };
        }
        keys[last].1 += 1;
        keyed.push((at, last, text));
    }
    let is_prefix: Vec<bool> =
        keys.iter().map(|&(key, count)| count >= MIN_LINES || (count > 1 && names_script(key))).collect();
    if !is_prefix.contains(&true) {
        return None;
    }
    let mut groups = vec![Vec::new(); keys.len() + 1];
    let mut keyed = keyed.into_iter().peekable();
    for (at, line) in lines.iter().enumerate() {
        match keyed.next_if(|found| found.0 == at) {
            Some((_, key, text)) if is_prefix[key] => groups[key + 1].push(text),
            _ => groups[0].push(*line),
        }
    }
    Some(groups)
}

fn names_script(key: &str) -> bool {
    let script = key.rsplit([' ', ':', '#']).next().unwrap_or("");
    key.contains([' ', ':', '#'])
        && ["test", "check", "ci", "verify"].iter().any(|name| script.starts_with(name))
}

/// Splits a prefix from a line: `web:test: ` of turbo, `web: ` of lerna, `[web] ` of concurrently and yarn, `web-1  | ` of compose,
/// `packages/web test: ` of pnpm.
fn prefix(line: &str) -> Option<(&str, &str)> {
    let (key, rest) = if line.starts_with('[') {
        let end = line.find(']')?;
        let key = &line[1..end];
        let rest = &line[end + 1..];
        (key, rest.strip_prefix(':').unwrap_or(rest))
    } else {
        let end = line.bytes().take(MAX_PREFIX_BYTES).position(|byte| !is_name(byte)).unwrap_or(line.len());
        let (name, after) = line.split_at(end.min(MAX_PREFIX_BYTES).min(line.len()));
        if let Some(name) = name.strip_suffix(':') {
            (name, after)
        } else if let Some(rest) =
            after.trim_start_matches(' ').strip_prefix('|').filter(|_| after.starts_with(' '))
        {
            (name, rest)
        } else {
            let script = after.strip_prefix(' ')?;
            let colon = script.bytes().position(|byte| byte == b':' || !is_name(byte))?;
            let key = &line[..end + 1 + colon];
            let rest = script[colon..].strip_prefix(':')?;
            (names_script(key).then_some(key)?, rest)
        }
    };
    if !is_gap(rest) {
        return None;
    }
    let is_word = key.is_empty()
        || !key.bytes().all(is_name)
        || MESSAGE_WORDS.iter().any(|word| key.eq_ignore_ascii_case(word));
    let is_worker =
        key.strip_prefix("gw").is_some_and(|number| number.bytes().all(|byte| byte.is_ascii_digit()));
    let has_script = key.contains(' ') && names_script(key);
    let is_key = !is_worker && (!is_word || has_script) && key.len() <= MAX_PREFIX_BYTES;
    is_key.then(|| (key, rest.strip_prefix(' ').unwrap_or(rest)))
}

/// Returns true if `rest` may follow a prefix.
fn is_gap(rest: &str) -> bool {
    rest.is_empty() || rest.starts_with(' ')
}

fn is_name(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'@' | b'.' | b'/' | b'-' | b'_' | b':' | b'#')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn timestamps_are_stripped() {
        for (line, expected) in [
            ("2026-01-02T03:04:05.1234567Z 3 passed", "3 passed"),
            ("2026-01-02T03:04:05Z", ""),
            ("[03:04:05] 3 passed", "3 passed"),
            ("03:04:05.123 | 3 passed", "3 passed"),
            ("00:01 +3: All tests passed!", "00:01 +3: All tests passed!"),
            ("3 passed", "3 passed"),
            ("[web] 3 passed", "[web] 3 passed"),
        ] {
            assert_eq!(strip_time(line), expected, "{line}");
        }
    }

    #[test]
    fn prefixes_of_packages_are_recognized() {
        for (line, expected) in [
            ("@shop/web:test: 3 passed", Some(("@shop/web:test", "3 passed"))),
            ("web:test:", Some(("web:test", ""))),
            ("web#test:   3 passing", Some(("web#test", "  3 passing"))),
            ("web: 3 passed", Some(("web", "3 passed"))),
            ("[web] 3 passed", Some(("web", "3 passed"))),
            ("[@shop/web]: 3 passed", Some(("@shop/web", "3 passed"))),
            ("web-1  | 3 passed", Some(("web-1", "3 passed"))),
            ("packages/web test: 3 passed", Some(("packages/web test", "3 passed"))),
            ("error: no", None),
            ("Tests: 3 passed", None),
            ("[INFO] Tests run: 3", None),
            ("[gw0] PASSED a.py::test_b", None),
            ("src/a.rs:3:5 no", None),
            ("it adds: no", None),
        ] {
            assert_eq!(prefix(line), expected, "{line}");
        }
    }
}

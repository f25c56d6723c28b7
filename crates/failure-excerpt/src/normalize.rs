//! Removes from a text what differs in each run, and keeps what distinguishes causes.

use super::progress;

/// Words after a number that make it a time.
const UNITS: [&str; 14] = [
    "ms",
    "s",
    "us",
    "µs",
    "ns",
    "sec",
    "secs",
    "second",
    "seconds",
    "msec",
    "millis",
    "milliseconds",
    "minutes",
    "min",
];

/// Names of the machine itself, where the system picks ports.
const LOOPBACK: [&str; 4] = ["127.0.0.1", "0.0.0.0", "localhost", "::1"];

/// From here on the system picks ports by itself.
const FIRST_PICKED_PORT: u32 = 32768;

/// `text` in a form that is the same in every run: without addresses, times, temporary paths, line numbers, and the
/// numbers that the system gives to processes and ports.
pub(super) fn normalize(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let words: Vec<&str> = text.split_whitespace().collect();
    let may_progress = progress::may_hold(text);
    let mut before = "";
    for (index, &word) in words.iter().enumerate() {
        if !out.is_empty() {
            out.push(' ');
        }
        let next = words.get(index + 1).copied().unwrap_or_default();
        let digits = word.trim_start_matches(['(', '>', '<', '~', '[']);
        let is_number = !digits.is_empty()
            && digits.bytes().all(|byte| byte.is_ascii_digit() || matches!(byte, b'.' | b','));
        if is_number && UNITS.contains(&next.trim_end_matches([',', '.', ')', ':', ';', ']'])) {
            out.push_str("<time>");
        } else if may_progress && let Some(masked) = progress::mask(&words, index) {
            out.push_str(&masked.replace(['"', '`', '“', '”'], "'"));
        } else if word.ends_with(':')
            && word[..word.len() - 1].bytes().all(|byte| byte.is_ascii_digit())
            && before.strip_suffix(':').is_some_and(ends_in_file)
        {
            // dash: `run.sh: 10: words`
            out.push('#');
        } else if before == "line" && (out.ends_with(", line ") || out.ends_with(": line ")) {
            out.push('#');
        } else {
            word_of(word, &mut out);
        }
        before = word;
    }
    sorted_sets(&out)
}

fn word_of(word: &str, out: &mut String) {
    let plain: String = word
        .chars()
        .map(|c| match c {
            '‘' | '’' | '“' | '”' | '`' | '"' | '«' | '»' => '\'',
            c => c,
        })
        .collect();
    let mut rest = plain.as_str();
    while let Some(c) = rest.chars().next() {
        if c == '/' && is_path(rest) {
            let end = rest.find(['\'', ')', '(', ',', ';', '>', ']']).unwrap_or(rest.len());
            let (path, behind) = rest.split_at(end);
            let path = path.trim_end_matches([':', '.']);
            let (path, numbers) = path.split_once(':').unwrap_or((path, ""));
            let name = path.trim_end_matches('/').rsplit('/').next().unwrap_or_default();
            out.push_str(if is_temporary(path) && !name.contains('.') { "<path>" } else { name });
            rest = if numbers.bytes().all(|byte| byte.is_ascii_digit() || byte == b':') {
                behind
            } else {
                &rest[path.len()..]
            };
            continue;
        }
        if c.is_ascii_digit() {
            let end = rest
                .find(|c: char| !(c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | ':' | '_' | 'µ')))
                .unwrap_or(rest.len());
            let end = rest[..end].trim_end_matches(['.', '-', ':', '_']).len();
            let (number, behind) = rest.split_at(end);
            rest = behind;
            if let Some(host) = host_of_picked_port(out, number) {
                out.push_str(host);
                out.push_str(if host.is_empty() { "<port>" } else { ":<port>" });
                continue;
            }
            if number.bytes().all(|byte| byte.is_ascii_digit()) && is_process(out) {
                out.push_str("<pid>");
                continue;
            }
            let is_inside = out.ends_with(|c: char| c.is_ascii_alphabetic() || c == '_');
            number_of(number, if is_inside { Context::Inside } else { Context::Alone }, out);
            continue;
        }
        if c.is_ascii_alphabetic() {
            let end = rest
                .find(|c: char| !(c.is_ascii_alphanumeric() || matches!(c, '-' | '_')))
                .unwrap_or(rest.len());
            let (name, behind) = rest.split_at(end);
            if is_hex(name) || is_uuid(name) {
                out.push_str("<hex>");
                rest = behind;
                continue;
            }
            let end = rest.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(rest.len());
            out.push_str(&rest[..end]);
            rest = &rest[end..];
            continue;
        }
        if c == ':' && ends_in_file(out) {
            // The number of a line.
            let digits = rest[1..].bytes().take_while(|byte| byte.is_ascii_digit() || *byte == b':').count();
            if digits > 0 {
                rest = &rest[1 + digits..];
                continue;
            }
        }
        out.push(c);
        rest = &rest[c.len_utf8()..];
    }
}

/// Returns true if the number after what was written so far is that of a process: `pid 77`, `pid=77`, `[PID: 77]`.
fn is_process(out: &str) -> bool {
    let front = out.trim_end_matches([' ', '=', ':', '#']);
    let start = front.len().saturating_sub(3);
    front.len() < out.len()
        && front.get(start..).is_some_and(|word| word.eq_ignore_ascii_case("pid"))
        && !front[..start].ends_with(|c: char| c.is_alphanumeric())
}

/// Returns the part of `number` before a port that the system picked, or `None` if there is no such port.
fn host_of_picked_port<'a>(out: &str, number: &'a str) -> Option<&'a str> {
    let (host, port) = number.rsplit_once(':').unwrap_or(("", number));
    if !(FIRST_PICKED_PORT..=65535).contains(&port.parse().ok()?) {
        return None;
    }
    let front = out.rsplit([' ', '(', '\'']).next().unwrap_or_default();
    let front = if host.is_empty() { front.strip_suffix(':')? } else { front };
    let name = format!("{front}{host}");
    let name = name.trim_end_matches(']');
    LOOPBACK.iter().any(|loopback| name.ends_with(loopback)).then_some(host)
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Context {
    /// After a letter, as in `w17`.
    Inside,
    Alone,
}

/// A word that begins with a digit.
fn number_of(word: &str, context: Context, out: &mut String) {
    let digits = word.bytes().take_while(u8::is_ascii_digit).count();
    let unit = &word[digits..];
    if word.starts_with("0x") || is_uuid(word) || is_hex(word) {
        out.push_str("<hex>");
    } else if context == Context::Alone && is_time(word) {
        out.push_str("<time>");
    } else if let Some(decimals) = unit.strip_prefix('.') {
        let length = decimals.bytes().take_while(u8::is_ascii_digit).count();
        let rest = &decimals[length..];
        if matches!(rest, "s" | "ms" | "us" | "ns" | "µs" | "m") {
            out.push_str("<time>");
        } else if length > 3 {
            out.push_str(&word[..=digits + 3]);
            out.push_str(rest);
        } else {
            out.push_str(word);
        }
    } else if matches!(unit, "s" | "ms" | "us" | "ns" | "µs" | "sec" | "seconds") {
        out.push_str("<time>");
    } else if digits > 9 {
        out.push_str("<number>");
        out.push_str(unit);
    } else {
        out.push_str(word);
    }
}

/// `2026-11-22`, `2026-11-22T01:02:03Z`, `01:02:03`
fn is_time(word: &str) -> bool {
    let shape: String = word.chars().map(|c| if c.is_ascii_digit() { '0' } else { c }).collect();
    shape.starts_with("0000-00-00") || shape.starts_with("00:00:00")
}

fn is_hex(word: &str) -> bool {
    word.len() >= 8
        && word.bytes().all(|byte| byte.is_ascii_hexdigit())
        && word.bytes().any(|byte| byte.is_ascii_digit())
        && word.bytes().any(|byte| byte.is_ascii_alphabetic())
}

fn is_uuid(word: &str) -> bool {
    let parts: Vec<&str> = word.split('-').collect();
    parts.len() == 5
        && word.len() == 36
        && parts.iter().all(|part| part.bytes().all(|byte| byte.is_ascii_hexdigit()))
}

/// Folders of the root below which systems and users keep files.
const ROOTS: &[&str] = &[
    "tmp",
    "var",
    "home",
    "usr",
    "opt",
    "root",
    "private",
    "Users",
    "nix",
    "builds",
    "workspace",
    "work",
    "app",
    "src",
    "mnt",
    "data",
    "build",
    "github",
    "runner",
];

/// Returns an absolute path of at least two parts.
fn is_path(text: &str) -> bool {
    let mut parts = text[1..].splitn(2, '/');
    let first = parts.next().unwrap_or_default();
    parts.next().is_some()
        && !first.is_empty()
        && first.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '-' | '.' | '+'))
        && ROOTS.contains(&first)
}

fn is_temporary(path: &str) -> bool {
    path.starts_with("/tmp/") || path.starts_with("/var/") || path.starts_with("/private/")
}

/// Returns true if what was written so far ends in a file name.
fn ends_in_file(out: &str) -> bool {
    let word = out.rsplit([' ', '(', '\'', '[']).next().unwrap_or_default();
    word.rsplit_once('.').is_some_and(|(stem, extension)| {
        !stem.is_empty()
            && (1..=5).contains(&extension.len())
            && extension.starts_with(|c: char| c.is_ascii_alphabetic())
            && extension.bytes().all(|byte| byte.is_ascii_alphanumeric())
    })
}

/// Returns the members of sets and maps in one order: hash seeds shuffle them.
fn sorted_sets(text: &str) -> String {
    let (Some(open), Some(close)) = (text.find('{'), text.rfind('}')) else { return text.to_owned() };
    if open >= close {
        return text.to_owned();
    }
    let inner = &text[open + 1..close];
    if inner.contains(['{', '}', '[', '(']) {
        return text.to_owned();
    }
    let mut members: Vec<&str> = inner.split(", ").collect();
    members.sort_unstable();
    format!("{}{{{}}}{}", &text[..open], members.join(", "), &text[close + 1..])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_another_each_time_goes_and_the_rest_stays() {
        for (text, expected) in [
            ("left: 3", "left: 3"),
            ("expected  \t'w17-4'", "expected 'w17-4'"),
            ("<A object at 0x7f03fd4a7550>", "<A object at <hex>>"),
            ("took 0.25ms", "took <time>"),
            ("timed out after 3s", "timed out after <time>"),
            ("at src/a.rs:12:5: x", "at src/a.rs x"),
            ("-40.55555555555556 != -40", "-40.555 != -40"),
            ("1.25 != 1.5", "1.25 != 1.5"),
            ("open /tmp/x-1/data.json", "open data.json"),
            ("open '/tmp/x1/y2'", "open '<path>'"),
            ("commit 5d1f0c2a99", "commit <hex>"),
            ("id 01234567-89ab-cdef-0123-456789abcdef.", "id <hex>."),
            ("2026-11-22T01:02:03Z x", "<time> x"),
            ("too few arguments to ‘f’", "too few arguments to 'f'"),
            ("{'b', 'a'} != {'c'}", "{'b', 'a'} != {'c'}"),
            ("got {'b', 'a'}", "got {'a', 'b'}"),
            ("epoch 1763776961123", "epoch <number>"),
            ("E0308 and TS2322", "E0308 and TS2322"),
            ("worker (pid 3123) died", "worker (pid <pid>) died"),
            ("PID: 3123, pid=3124 pid:3125", "PID: <pid>, pid=<pid> pid:<pid>"),
            ("rapid 31 pid31 pid", "rapid 31 pid31 pid"),
            ("connect ECONNREFUSED 127.0.0.1:43121", "connect ECONNREFUSED 127.0.0.1:<port>"),
            ("connect ECONNREFUSED ::1:43121.", "connect ECONNREFUSED ::1:<port>."),
            ("http://localhost:51234/a, [::1]:51234", "http://localhost:<port>/a, [::1]:<port>"),
            ("127.0.0.1:5432 and 10.0.0.1:43121", "127.0.0.1:5432 and 10.0.0.1:43121"),
            ("http://localhost:3000 99999", "http://localhost:3000 99999"),
        ] {
            assert_eq!(normalize(text), expected, "{text}");
        }
    }
}

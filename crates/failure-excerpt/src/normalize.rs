//! Removes from a text what differs in each run, and keeps what distinguishes causes.

use super::location::is_file;
use super::progress;
use super::words::is_digits;

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
    let text = text.replace(['‘', '’', '“', '”', '`', '"', '«', '»'], "'");
    let words: Vec<&str> = text.split_whitespace().collect();
    let may_progress = progress::may_hold(&text);
    let mut before = "";
    for (index, &word) in words.iter().enumerate() {
        if !out.is_empty() {
            out.push(' ');
        }
        let next = words.get(index + 1).copied().unwrap_or_default();
        let number = word.trim_start_matches(['(', '>', '<', '~', '[']);
        let is_number = !number.is_empty()
            && number.bytes().all(|byte| byte.is_ascii_digit() || matches!(byte, b'.' | b','));
        // dash: `run.sh: 10: words`
        let is_line = word.strip_suffix(':').is_some_and(is_digits)
            && before.strip_suffix(':').is_some_and(ends_in_file)
            || out.ends_with(", line ")
            || out.ends_with(": line ");
        if is_number && UNITS.contains(&next.trim_end_matches([',', '.', ')', ':', ';', ']'])) {
            out.push_str("<time>");
        } else if let Some(masked) = progress::mask(&words, index).filter(|_| may_progress) {
            out.push_str(&masked);
        } else if is_line {
            out.push('#');
        } else {
            word_of(word, &mut out);
        }
        before = word;
    }
    sorted_sets(out)
}

fn word_of(word: &str, out: &mut String) {
    let mut rest = word;
    while let Some(c) = rest.chars().next() {
        let taken = if c == '/' && is_path(rest) {
            let end = rest.find(['\'', ')', '(', ',', ';', '>', ']']).unwrap_or(rest.len());
            let (path, numbers) = rest[..end].split_once(':').unwrap_or((&rest[..end], ""));
            let path = path.trim_end_matches('.');
            let name = path.trim_end_matches('/').rsplit('/').next().unwrap_or_default();
            let is_temporary = ["/tmp/", "/var/", "/private/"].iter().any(|root| path.starts_with(root));
            out.push_str(if is_temporary && !name.contains('.') { "<path>" } else { name });
            let has_line = numbers.bytes().all(|byte| byte.is_ascii_digit() || byte == b':');
            if has_line { end } else { path.len() }
        } else if c.is_ascii_digit() {
            let end =
                length_of(rest, |c| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | ':' | '_' | 'µ'));
            let number = rest[..end].trim_end_matches(['.', '-', ':', '_']);
            if let Some(host) = host_of_picked_port(out, number) {
                out.push_str(host);
                out.push_str(if host.is_empty() { "<port>" } else { ":<port>" });
            } else if is_digits(number) && is_process(out) {
                out.push_str("<pid>");
            } else {
                number_of(number, out);
            }
            number.len()
        } else if c.is_ascii_alphabetic() {
            let end = length_of(rest, |c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_'));
            if is_hex(&rest[..end]) {
                out.push_str("<hex>");
                end
            } else {
                let end = length_of(rest, |c| c.is_ascii_alphabetic());
                out.push_str(&rest[..end]);
                end
            }
        } else {
            let digits = rest[c.len_utf8()..].bytes();
            let digits = digits.take_while(|byte| byte.is_ascii_digit() || *byte == b':').count();
            if c == ':' && digits > 0 && ends_in_file(out) {
                // The number of a line.
                1 + digits
            } else {
                out.push(c);
                c.len_utf8()
            }
        };
        rest = &rest[taken..];
    }
}

/// Returns the length of the characters of a kind that `text` begins with.
fn length_of(text: &str, is_part: impl Fn(char) -> bool) -> usize {
    text.find(|c| !is_part(c)).unwrap_or(text.len())
}

/// Returns true if the number after what was written so far is that of a process: `pid 77`, `pid=77`, `[PID: 77]`.
fn is_process(out: &str) -> bool {
    let front = out.trim_end_matches([' ', '=', ':', '#']);
    let word = front.rsplit(|c: char| !c.is_alphanumeric()).next().unwrap_or_default();
    front.len() < out.len() && word.eq_ignore_ascii_case("pid")
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
    LOOPBACK.iter().any(|loopback| name.trim_end_matches(']').ends_with(loopback)).then_some(host)
}

/// Writes a word that begins with a digit; after a letter, as in `w17`, it is no time.
fn number_of(word: &str, out: &mut String) {
    let is_inside = out.ends_with(|c: char| c.is_ascii_alphabetic() || c == '_');
    let digits = word.bytes().take_while(u8::is_ascii_digit).count();
    let decimals = word[digits..].strip_prefix('.').unwrap_or_default();
    let decimals = decimals.bytes().take_while(u8::is_ascii_digit).count();
    let unit = word[digits..].trim_start_matches(|c: char| c == '.' || c.is_ascii_digit());
    // `2026-11-22`, `2026-11-22T01:02:03Z`, `01:02:03`
    let shape: String = word.chars().map(|c| if c.is_ascii_digit() { '0' } else { c }).collect();
    let is_time = shape.starts_with("0000-00-00") || shape.starts_with("00:00:00");
    if word.starts_with("0x") || is_hex(word) {
        out.push_str("<hex>");
    } else if is_time && !is_inside || matches!(unit, "s" | "ms" | "us" | "ns" | "µs" | "sec" | "seconds") {
        out.push_str("<time>");
    } else if decimals > 3 {
        out.push_str(&word[..=digits + 3]);
        out.push_str(&word[digits + 1 + decimals..]);
    } else if digits > 9 {
        out.push_str("<number>");
        out.push_str(&word[digits..]);
    } else {
        out.push_str(word);
    }
}

/// An address, a hash or a UUID.
fn is_hex(word: &str) -> bool {
    word.len() >= 8
        && word.bytes().all(|byte| byte.is_ascii_hexdigit() || byte == b'-')
        && word.bytes().any(|byte| byte.is_ascii_digit())
        && word.bytes().any(|byte| byte.is_ascii_alphabetic())
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

/// Returns true for an absolute path of at least two parts.
fn is_path(text: &str) -> bool {
    text[1..].split_once('/').is_some_and(|(first, _)| ROOTS.contains(&first))
}

/// Returns true if what was written so far ends in a file name.
fn ends_in_file(out: &str) -> bool {
    is_file(out.rsplit([' ', '(', '\'', '[']).next().unwrap_or_default())
}

/// Returns the members of sets and maps in one order: hash seeds shuffle them.
fn sorted_sets(text: String) -> String {
    let parts = text.split_once('{').and_then(|(front, rest)| Some((front, rest.rsplit_once('}')?)));
    match parts {
        Some((front, (inner, behind))) if !inner.contains(['{', '}', '[', '(']) => {
            let mut members: Vec<&str> = inner.split(", ").collect();
            members.sort_unstable();
            format!("{front}{{{}}}{behind}", members.join(", "))
        }
        _ => text,
    }
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

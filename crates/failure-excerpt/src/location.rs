//! Source locations, file and line, in the forms in which tools print them.

use super::words::{contains_any, starts_with_any, starts_with_digit};

/// A location in a source file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Location<'a> {
    pub(super) file: &'a str,
    /// The byte offset in the line at which the file begins.
    pub(super) start: usize,
    /// The byte offset after the last number.
    pub(super) end: usize,
}

/// Characters that delimit file names and do not occur in them.
const FILE_DELIMITERS: &str = "\"'`()[]<>,;|={}│─@";

/// File names without an extension.
const NAMES_WITHOUT_EXTENSION: [&str; 8] = [
    "Makefile",
    "makefile",
    "GNUmakefile",
    "Dockerfile",
    "Rakefile",
    "Gemfile",
    "Jenkinsfile",
    "Containerfile",
];

/// Endings of host names rather than of file names.
const DOMAINS: [&str; 8] = ["com", "org", "net", "io", "dev", "local", "internal", "localhost"];

/// Returns the first location in `line`: `f.c:3`, `f.ts(3,5)`, `f.py", line 3`, `F.java:[3,5]`, `f.t line 3`.
pub(super) fn find_location(line: &str) -> Option<Location<'_>> {
    let bytes = line.as_bytes();
    let mut at = 0;
    while let Some(found) = bytes[at..].iter().position(u8::is_ascii_digit) {
        let digits = at + found;
        let end = digits + bytes[digits..].iter().take_while(|byte| byte.is_ascii_digit()).count();
        at = end;
        if let Some((start, stop)) = file_before(line, digits) {
            let end = end + column(&line[end..]);
            return Some(Location { file: &line[start..stop], start, end });
        }
    }
    None
}

/// Returns the file of the first location in `line`; empty if there is none.
pub(super) fn file_in(line: &str) -> &str {
    find_location(line).map_or("", |location| location.file)
}

/// Returns the byte range of the file name that precedes a line number at `digits`.
fn file_before(line: &str, digits: usize) -> Option<(usize, usize)> {
    let front = &line[..digits];
    // `f.c:3`, `F.java:[3`, `f.ts(3`, Dart's `test/a_test.dart 12:5`
    let signed = [":[", ":", "("].iter().find_map(|sign| front.strip_suffix(sign));
    let signed = signed.or_else(|| front.strip_suffix(' ').filter(|front| extension(front) == "dart"));
    let file = signed.or_else(|| {
        let front = front.strip_suffix("line ").or_else(|| front.strip_suffix("lines "))?;
        let front = front.trim_end_matches([' ', ',', ':']);
        let front = front.strip_suffix(" on").or_else(|| front.strip_suffix(" at")).unwrap_or(front);
        Some(front.trim_end_matches(['"', '\'']))
    })?;
    let start = file.rfind(|c: char| c.is_whitespace() || FILE_DELIMITERS.contains(c));
    let start = start.map_or(0, |at| at + file[at..].chars().next().map_or(1, char::len_utf8));
    let start = start + if file[start..].starts_with("file://") { 7 } else { 0 };
    is_file(&file[start..]).then_some((start, file.len()))
}

/// Returns true if `path` looks like the name of a source file.
pub(super) fn is_file(path: &str) -> bool {
    let name = path.rsplit(['/', '\\']).next().unwrap_or_default();
    if NAMES_WITHOUT_EXTENSION.contains(&name) {
        return true;
    }
    if path.contains("://") || path.ends_with('.') || path.contains("...") {
        return false;
    }
    let Some((stem, extension)) = name.rsplit_once('.') else { return false };
    let is_extension = (1..=10).contains(&extension.len())
        && extension.starts_with(|c: char| c.is_ascii_alphabetic())
        && extension.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    let has_name = !stem.is_empty() || path.contains('/');
    let is_host = DOMAINS.contains(&extension) && !path.contains('/');
    is_extension && has_name && !is_host
}

/// Returns the text after the last dot of a name.
pub(super) fn extension(file: &str) -> &str {
    file.rsplit_once('.').map_or("", |(_, extension)| extension)
}

/// Returns the length of a column, or of the end of a span, after a line number.
fn column(rest: &str) -> usize {
    let mut left = rest;
    for _ in 0..3 {
        let Some(number) = left.strip_prefix([':', ',', '-', '.']).filter(|rest| starts_with_digit(rest))
        else {
            break;
        };
        left = number.trim_start_matches(|c: char| c.is_ascii_digit());
    }
    rest.len() - left.len()
}

/// Prefixes of the paths of libraries, runtimes and tools.
const EXTERNAL_PREFIXES: &[&str] =
    &["node:", "internal/", "<", "../../", "vendor/", "ext:", "/_/", "/checkout/", "_testmain"];

/// Parts of the paths of libraries, runtimes and tools.
const EXTERNAL_PARTS: &[&str] = &[
    "node_modules/",
    "site-packages/",
    "dist-packages/",
    "/lib/python",
    ".cargo/registry",
    "/rustc/",
    "/rustlib/",
    "/go/pkg/mod/",
    "/local/go/src/",
    "/go/src/runtime/",
    "/go/src/testing/",
    "/usr/lib",
    "/usr/local/lib",
    "/usr/include",
    "/usr/share",
    "/gems/",
    "/vendor/",
    "/.m2/",
    "/.gradle/",
    "sysdeps/",
    "libsanitizer/",
    "csu/libc",
    "/_pytest/",
    "deps/phoenix",
    ".pub-cache/",
    "/dotnet/",
    "/.deno/",
];

/// Returns true if a file belongs to a library, a runtime or a tool rather than to the project.
pub(super) fn is_external(file: &str) -> bool {
    file == "testing.go" || starts_with_any(file, EXTERNAL_PREFIXES) || contains_any(file, EXTERNAL_PARTS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn locations_are_found_as_tools_write_them() {
        for (line, expected) in [
            ("src/a.rs:12:5", Some(("src/a.rs", "src/a.rs:12:5"))),
            ("  --> src/a.rs:12:5", Some(("src/a.rs", "src/a.rs:12:5"))),
            ("src/a.ts(8,9): error TS1: x", Some(("src/a.ts", "src/a.ts(8,9"))),
            ("  File \"b/c.py\", line 3, in f", Some(("b/c.py", "b/c.py\", line 3"))),
            ("[ERROR] /w/A.java:[3,5] x", Some(("/w/A.java", "/w/A.java:[3,5"))),
            ("#   at t/a.t line 12.", Some(("t/a.t", "t/a.t line 12"))),
            ("# (in test file t/a.bats, line 18)", Some(("t/a.bats", "t/a.bats, line 18"))),
            ("./run.sh: line 3: x: not found", Some(("./run.sh", "./run.sh: line 3"))),
            ("at f (file:///p/a.js:3:4)", Some(("/p/a.js", "/p/a.js:3:4"))),
            ("at X.f() in /p/A.cs:line 7", Some(("/p/A.cs", "/p/A.cs:line 7"))),
            ("x in /p/a.php on line 7", Some(("/p/a.php", "/p/a.php on line 7"))),
            ("make: *** [Makefile:6: test] Error 1", Some(("Makefile", "Makefile:6"))),
            ("at http://127.0.0.1:80/x", None),
            ("listening on example.com:443", None),
            ("12:30:01 done in 3.5s", None),
            ("version 1.2:3", None),
            ("    at node:internal/x:12", None),
        ] {
            let found = find_location(line);
            assert_eq!(
                found.map(|location| (location.file, &line[location.start..location.end])),
                expected,
                "{line}"
            );
        }
    }
}

//! The paths of `log -- PATHS`, as git reads them: from the folder of the context, with folders and wildcards.

use anyhow::{Context as _, Result, bail};
use camino::Utf8Path;
use regex::Regex;

/// Which paths are wanted, as they are in records.
#[derive(Debug)]
pub struct PathFilter {
    wanted: Vec<Regex>,
    unwanted: Vec<Regex>,
}

/// Where a context stands.
#[derive(Debug, Clone, Copy)]
pub struct Standpoint<'a> {
    /// The top of the work tree; `None` in a bare repository.
    pub top: Option<&'a Utf8Path>,
    /// The folder of the context from the top, empty or with a slash at its end.
    pub prefix: &'a str,
}

impl PathFilter {
    pub fn new(paths: &[String], standpoint: Standpoint<'_>) -> Result<Self> {
        let mut filter = Self { wanted: Vec::new(), unwanted: Vec::new() };
        for path in paths {
            let (list, rest) = match path.strip_prefix(":!").or_else(|| path.strip_prefix(":^")) {
                Some(rest) => (&mut filter.unwanted, rest),
                None => (&mut filter.wanted, path.as_str()),
            };
            list.push(pattern(&from_top(rest, standpoint)?)?);
        }
        Ok(filter)
    }

    /// Returns true if `path`, which is from the top of the work tree, is wanted.
    pub fn takes(&self, path: &str) -> bool {
        let is_in = |list: &[Regex]| list.iter().any(|pattern| pattern.is_match(path));
        (self.wanted.is_empty() || is_in(&self.wanted)) && !is_in(&self.unwanted)
    }
}

/// Returns a path as it is from the top of the work tree.
fn from_top(path: &str, standpoint: Standpoint<'_>) -> Result<String> {
    let (base, rest) = match path.strip_prefix(":/").or_else(|| path.strip_prefix(":(top)")) {
        Some(rest) => ("", rest),
        None if path.starts_with(":(") => bail!(
            "invalid path `{path}`\nhint: paths take wildcards, `:/` for the top of the work tree and `:!` to leave something out"
        ),
        None if path.is_empty() => bail!("an empty path names nothing\nhint: `.` is the current folder"),
        None => (standpoint.prefix, path),
    };
    let (base, rest) = if rest.starts_with('/') {
        let inside = standpoint.top.and_then(|top| Utf8Path::new(rest).strip_prefix(top).ok());
        ("", inside.with_context(|| outside(path, standpoint))?.as_str())
    } else {
        (base, rest)
    };
    let mut parts: Vec<&str> = Vec::new();
    for part in base.split('/').chain(rest.split('/')) {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop().with_context(|| outside(path, standpoint))?;
            }
            part => parts.push(part),
        }
    }
    Ok(parts.join("/"))
}

fn outside(path: &str, standpoint: Standpoint<'_>) -> String {
    let top = standpoint.top.map_or("the repository", Utf8Path::as_str);
    format!("`{path}` is outside of {top}\nhint: paths are read from the current folder; `:/` is the top")
}

/// Returns the path itself and all below it; `*` and `?` stand for slashes as well, as in git.
fn pattern(path: &str) -> Result<Regex> {
    let mut pattern = String::from("(?s)^");
    let mut rest = path.chars();
    while let Some(c) = rest.next() {
        match c {
            '*' => pattern.push_str(".*"),
            '?' => pattern.push('.'),
            '[' if rest.as_str().contains(']') => {
                let (class, behind) = rest.as_str().split_once(']').unwrap_or_default();
                let (not, class) = match class.strip_prefix(['!', '^']) {
                    Some(class) => ("^", class),
                    None => ("", class),
                };
                let class = class.replace('\\', "").replace('[', "\\[").replace("&&", "&").replace("~~", "~");
                pattern.push_str(&format!("[{not}{class}]"));
                rest = behind.chars();
            }
            '\\' => pattern.push_str(&regex::escape(&rest.next().unwrap_or('\\').to_string())),
            c => pattern.push_str(&regex::escape(&c.to_string())),
        }
    }
    if !path.is_empty() {
        pattern.push_str("(?:/|$)");
    }
    Regex::new(&pattern).with_context(|| format!("read the path `{path}`"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_read_from_the_folder_of_the_caller_as_git_reads_them() {
        for (prefix, paths, taken, left) in [
            ("", &["src"][..], &["src", "src/a", "src/b/c"][..], &["srcs", "a/src", "b"][..]),
            ("", &["src/"], &["src/a"], &["srcs"]),
            ("src/", &["a"], &["src/a", "src/a/b"], &["a", "src/ab"]),
            ("src/", &["../docs", "./b"], &["docs/x", "src/b"], &["src/a", "b"]),
            ("src/", &[":/docs"], &["docs/x"], &["src/docs/x"]),
            ("src/", &[":(top)docs"], &["docs/x"], &["src/docs"]),
            ("src/", &["/top/docs"], &["docs/x"], &["src/docs"]),
            ("", &["."], &["a", "b/c"], &[]),
            ("", &["*.rs"], &["a.rs", "src/b.rs"], &["a.rsx", "a"]),
            ("src/", &["?.rs"], &["src/a.rs"], &["src/ab.rs", "a.rs"]),
            ("", &["[ab].rs", "[!x-z]1"], &["a.rs", "b1"], &["c.rs", "y1"]),
            ("", &["a+b.(c)", "a\\*"], &["a+b.(c)", "a*"], &["aab.c", "ab"]),
            ("", &["src", ":!src/gen", ":^*.md"], &["src/a"], &["src/gen/a", "src/a.md", "b"]),
            ("", &[":!docs"], &["src/a"], &["docs/a"]),
        ] {
            let paths: Vec<String> = paths.iter().map(|path| (*path).to_owned()).collect();
            let standpoint = Standpoint { top: Some(Utf8Path::new("/top")), prefix };
            let filter = PathFilter::new(&paths, standpoint).unwrap();
            for (list, is_taken) in [(taken, true), (left, false)] {
                for path in list {
                    assert_eq!(filter.takes(path), is_taken, "{prefix} {paths:?} {path}");
                }
            }
        }
    }

    #[test]
    fn what_is_outside_or_not_understood_is_an_error_with_a_hint() {
        let standpoint = Standpoint { top: Some(Utf8Path::new("/top")), prefix: "src/" };
        for (path, complaint) in [
            ("../..", "`../..` is outside of /top"),
            ("/etc/passwd", "`/etc/passwd` is outside of /top"),
            (":(glob)*.rs", "invalid path `:(glob)*.rs`"),
            ("", "an empty path names nothing"),
        ] {
            let error = PathFilter::new(&[path.to_owned()], standpoint).unwrap_err().to_string();
            assert!(error.starts_with(complaint) && error.contains("\nhint: "), "{error}");
        }
    }
}

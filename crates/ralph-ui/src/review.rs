//! What of the changes of a session is looked at first: tests and settings decide whether the rest is right.

use std::collections::BTreeSet;

use ralph_core::judge::{decides_what_runs, is_test_file};
use ralph_core::record::{DiffStat, FileChange, RALPH, SessionId, join_truncated, quoted_for_shell};

/// Most paths that a command has, and names in a line.
const MAX_PATHS: usize = 4;
const MAX_NAMES: usize = 3;

/// What a changed file is to who reviews it, in this order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum FileKind {
    Test,
    Setting,
    Code,
}

impl FileKind {
    pub fn of(path: &str) -> Self {
        if decides_what_runs(path) {
            Self::Setting
        } else if is_test_file(path) {
            Self::Test
        } else {
            Self::Code
        }
    }
}

/// The files of a session that are reviewed before its code.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Review {
    pub tests: DiffStat,
    /// Files that decide what runs.
    pub settings: Vec<String>,
    /// All of these by their paths, or by folders that have no other file that changed.
    pub paths: BTreeSet<String>,
}

impl Review {
    pub fn of<'f>(files: impl Iterator<Item = &'f FileChange>) -> Self {
        let files: Vec<_> = files.map(|file| (FileKind::of(&file.path), file)).collect();
        let of_kind = |kind| files.iter().filter(move |(is, _)| *is == kind).map(|(_, file)| *file);
        let (tests, settings) = (of_kind(FileKind::Test), of_kind(FileKind::Setting));
        let code: Vec<&str> = of_kind(FileKind::Code).map(|file| &*file.path).collect();
        let place = |path: &str| {
            let folder = path.find('/').map(|at| &path[..=at]);
            folder
                .filter(|folder| !code.iter().any(|path| path.starts_with(folder)))
                .unwrap_or(path)
                .to_owned()
        };
        Self {
            paths: tests.clone().chain(settings.clone()).map(|file| place(&file.path)).collect(),
            tests: DiffStat::of(tests.map(|file| (file.added, file.removed))),
            settings: settings.map(|file| file.path.clone()).collect(),
        }
    }

    /// `jest.config.js, which decides what runs`; `None` if no such file changed.
    pub fn settings_words(&self) -> Option<String> {
        let decide = if self.settings.len() == 1 { "decides" } else { "decide" };
        (!self.settings.is_empty())
            .then(|| format!("{}, which {decide} what runs", join_truncated(&self.settings, MAX_NAMES)))
    }

    /// Returns the commands that show what to look at first, and then all of it. `session` is set if commands do not mean it by
    /// themselves.
    pub fn commands(&self, session: Option<&SessionId>) -> Vec<String> {
        let start = session.map_or("0".to_owned(), |id| format!("{id}:0"));
        // From the top, wherever it is run.
        let paths = self.paths.iter().map(|path| quoted_for_shell(&format!(":/{path}")).into_owned());
        let paths: Vec<String> = paths.collect();
        let first = match paths.len() {
            0 => None,
            1..=MAX_PATHS => Some(format!("{RALPH} diff {start} .. -- {}", paths.join(" "))),
            _ => Some(format!(
                "{RALPH} report --open{}",
                session.map_or(String::new(), |id| format!(" --session {id}"))
            )),
        };
        first.into_iter().chain([format!("{RALPH} diff {start} .. --stat")]).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tests_and_settings_come_before_code() {
        let review = |paths: &[&str]| {
            let files = paths.iter().map(|path| FileChange {
                path: (*path).to_owned(),
                added: Some(3),
                ..FileChange::default()
            });
            Review::of(files.collect::<Vec<_>>().iter())
        };
        let whole = "specify ralph diff 0 .. --stat";
        for (paths, tests, settings, first) in [
            (&["src/a.ts"][..], 0, None, None),
            (&["src/a.ts", "tests/a.test.ts", "tests/b.test.ts"], 2, None, Some("diff 0 .. -- :/tests/")),
            // A folder that has code, too, is not meant.
            (&["src/a.ts", "src/a.test.ts"], 1, None, Some("diff 0 .. -- :/src/a.test.ts")),
            (
                &["src/a.ts", "tests/a.test.ts", "jest.config.js"],
                1,
                Some("jest.config.js, which decides what runs"),
                Some("diff 0 .. -- :/jest.config.js :/tests/"),
            ),
            (
                &[".github/workflows/ci.yml", "pytest.ini", "package.json", "README.md"],
                0,
                Some(".github/workflows/ci.yml, pytest.ini, which decide what runs"),
                Some("diff 0 .. -- :/.github/ :/pytest.ini"),
            ),
            (
                &["a.test.ts", "b.test.ts", "c.test.ts", "d.test.ts", "e.test.ts"],
                5,
                None,
                Some("report --open"),
            ),
        ] {
            let found = review(paths);
            assert_eq!(
                (found.tests.files, found.settings_words().as_deref()),
                (tests, settings),
                "{paths:?}"
            );
            let first = first.map(|first| format!("specify ralph {first}"));
            let expected: Vec<String> = first.into_iter().chain([whole.to_owned()]).collect();
            assert_eq!(found.commands(None), expected);
        }
    }
}

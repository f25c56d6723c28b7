//! What attempts changed of the files that no snapshot shows: hidden code, what runs by itself, and dependencies. Pure.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

use regex::Regex;

use super::paths::{pattern, runs_by_itself};
use super::unseen::{is_hidden_code, is_made_by_tools};
use crate::record::{Flag, FlagCode, join_truncated};

/// Maximum number of names in a text.
const MAX_NAMES: usize = 3;

/// A file that no snapshot shows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IgnoredFile {
    /// From the top of the work tree.
    pub path: String,
    pub mode: u32,
    pub size: u64,
    /// The folder of [`IgnoredFiles::dependencies`] that it lies in.
    pub dependency: Option<usize>,
    /// True if it may be executed and begins as a script, outside of dependencies. What a compiler makes does not.
    pub is_script: bool,
}

/// An ignored folder of dependencies, and what installers note in it: how many notes, and when the newest changed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DependencyFolder {
    pub path: String,
    pub notes: usize,
    pub noted_at: (i64, i64),
}

/// The files that no snapshot shows at one moment, without what builds and caches hold.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct IgnoredFiles {
    /// Sorted by path.
    pub files: Vec<IgnoredFile>,
    pub dependencies: Vec<DependencyFolder>,
}

/// A file that differs between two moments.
#[derive(Debug, PartialEq, Eq)]
pub struct IgnoredChange<'f> {
    pub path: &'f str,
    pub is_new: bool,
    pub is_gone: bool,
    /// The folder of dependencies that it lies in.
    pub dependency: Option<&'f str>,
    /// True if it is a script by what it begins with.
    pub is_script: bool,
}

impl IgnoredFiles {
    /// Returns what differs from an earlier moment, sorted by path.
    pub fn changes_since<'f>(&'f self, before: &'f Self) -> Vec<IgnoredChange<'f>> {
        let (mut old, mut new) = (before.files.iter().peekable(), self.files.iter().peekable());
        let mut changes = Vec::new();
        loop {
            let order = match (old.peek(), new.peek()) {
                (None, None) => return changes,
                (Some(_), None) => std::cmp::Ordering::Less,
                (None, Some(_)) => std::cmp::Ordering::Greater,
                (Some(old), Some(new)) => old.path.cmp(&new.path),
            };
            let was = if order.is_le() { old.next() } else { None };
            let is = if order.is_ge() { new.next() } else { None };
            if was.map(|it| (it.mode, it.size)) == is.map(|it| (it.mode, it.size)) {
                continue;
            }
            let Some((of, file)) = is.map(|file| (self, file)).or(was.map(|file| (before, file))) else {
                continue;
            };
            changes.push(IgnoredChange {
                path: &file.path,
                is_new: was.is_none(),
                is_gone: is.is_none(),
                dependency: file.dependency.map(|folder| of.dependencies[folder].path.as_str()),
                is_script: file.is_script,
            });
        }
    }

    fn folder(&self, path: &str) -> Option<&DependencyFolder> {
        self.dependencies.iter().find(|folder| folder.path == path)
    }
}

/// Returns true if a folder of that name holds dependencies, if git ignores it.
pub fn holds_dependencies(name: &str) -> bool {
    matches!(name, "node_modules" | "vendor" | ".bundle")
}

/// Returns true for a file or folder, by its name and that of its folder, by which an installer notes what it did there.
pub fn is_installers_note(folder: &str, name: &str) -> bool {
    const NOTES: [&str; 4] = [".package-lock.json", ".modules.yaml", ".yarn-integrity", ".yarn-state.yml"];
    name.ends_with(".dist-info") || folder == "node_modules" && NOTES.contains(&name)
}

/// Returns true if a file or folder in dependencies is a cache, by its name and that of its folder.
pub fn is_cache_in_dependencies(folder: &str, name: &str) -> bool {
    let is_hidden = name.starts_with('.') && !matches!(name, ".bin" | ".pnpm");
    name == "__pycache__"
        || name.rsplit_once('.').is_some_and(|(_, end)| end == "pyc")
        || folder == "node_modules" && is_hidden
}

/// Returns true if an ignored file or folder of that name is a build, a cache or a log, which is not looked at. Folders of editors
/// and agents are, as what is in them may run by itself.
pub fn is_build_or_cache(name: &str) -> bool {
    static MAY_RUN: LazyLock<Regex> = LazyLock::new(|| {
        pattern(r"^\.(?:vscode|zed|claude|codex|gemini|qwen|amp|cursor|windsurf|opencode|aider[^/]*)$")
    });
    is_made_by_tools(name) && !MAY_RUN.is_match(name)
}

/// Returns true if what is installed may follow from a file: a manifest, a lock file or a patch.
pub fn decides_dependencies(path: &str) -> bool {
    static DECIDES: LazyLock<Regex> = LazyLock::new(|| {
        pattern(
            r"(?xi)(?:^|/)(?:patches/.+ | package\.json | package-lock\.json | npm-shrinkwrap\.json | yarn\.lock
              | pnpm-lock\.yaml | pnpm-workspace\.yaml | bun\.lockb? | deno\.jsonc? | deno\.lock | pyproject\.toml | setup\.(?:py|cfg)
              | [^/]*(?:requirements|constraints)[^/]*\.(?:txt|in) | requirements/[^/]+\.(?:txt|in) | Pipfile(?:\.lock)?
              | (?:poetry|uv|pdm|pylock[^/]*)\.(?:lock|toml) | environment\.ya?ml | Gemfile[^/]* | [^/]+\.gemspec | go\.(?:mod|sum|work)
              | composer\.(?:json|lock) | Cargo\.(?:toml|lock))$",
        )
    });
    DECIDES.is_match(path)
}

/// A file that an agent wrote outside of dependencies.
#[derive(Debug, Clone, Copy)]
struct Written {
    is_new: bool,
    is_script: bool,
}

/// What agents changed of the files that no snapshot shows, in all attempts since the last success.
#[derive(Debug, Default)]
pub struct IgnoredWork {
    /// Files outside of dependencies.
    written: BTreeMap<String, Written>,
    /// Files in folders of dependencies that no installer changed.
    by_hand: BTreeSet<String>,
}

impl IgnoredWork {
    /// Takes in what an agent changed between two moments. It began at `began`, by the times of files. `decides` is asked where
    /// dependencies changed: true if files that decide about these did, too. Some paths are none of its work.
    pub fn note(
        &mut self,
        [before, after]: [&IgnoredFiles; 2],
        began: (i64, i64),
        decides: &mut dyn FnMut() -> bool,
        is_not_its_work: &dyn Fn(&str) -> bool,
    ) {
        let changes = after.changes_since(before);
        let mut is_decided =
            changes.iter().any(|it| it.dependency.is_none() && decides_dependencies(it.path)).then_some(true);
        for IgnoredChange { path, is_new, is_gone, dependency, is_script } in changes {
            if let Some(folder) = dependency {
                // One that is new was installed, and one that is gone can run nothing.
                let (Some(old), Some(new)) = (before.folder(folder), after.folder(folder)) else { continue };
                let is_installed = old.notes != new.notes || new.noted_at >= began;
                if !is_installed && !*is_decided.get_or_insert_with(&mut *decides) {
                    self.by_hand.insert(path.to_owned());
                }
            } else if is_gone {
                self.written.remove(path);
            } else if runs_ignored(path, is_new).is_some()
                || !is_made_by_tools(path) && !is_not_its_work(path)
            {
                self.written.insert(path.to_owned(), Written { is_new, is_script });
            }
        }
        // What an installer laid anew since is not by hand any more.
        let is_as_left = |folder: &&DependencyFolder| folder.noted_at < began;
        let left: Vec<_> = after.dependencies.iter().filter(is_as_left).map(|it| it.path.as_str()).collect();
        let is_below =
            |path: &str, folder: &str| path.strip_prefix(folder).is_some_and(|rest| rest.starts_with('/'));
        self.by_hand.retain(|path| left.iter().any(|folder| is_below(path, folder)));
    }

    /// Returns the files outside of dependencies.
    pub fn written(&self) -> impl Iterator<Item = &String> {
        self.written.keys()
    }

    /// Returns the flags for it, but for what runs by itself, and without the files that are flagged as `hidden`.
    pub fn flags(&self, hidden: &[String]) -> Vec<Flag> {
        let flag = |code, paths: Vec<String>, text: &dyn Fn(String) -> String| {
            let text = text(join_truncated(&paths, MAX_NAMES));
            (!paths.is_empty()).then_some(Flag { code, text, paths })
        };
        let code = self.written.iter().filter(|(path, written)| {
            is_hidden_code(path, written.is_script)
                && runs_ignored(path, written.is_new).is_none()
                && !hidden.contains(path)
        });
        let code = code.map(|(path, _)| path.clone()).collect();
        let ignored = |names| format!("git ignores what is new: {names}");
        let by_hand = |names| format!("changed {names} by hand");
        let ignored = flag(FlagCode::Ignored, code, &ignored);
        let by_hand = flag(FlagCode::Deps, self.by_hand.iter().cloned().collect(), &by_hand);
        ignored.into_iter().chain(by_hand).collect()
    }

    /// Returns what runs by itself, and what runs each.
    pub fn by_itself(&self) -> impl Iterator<Item = (String, &'static str)> {
        let by_itself =
            |(path, written): (&String, &Written)| Some((path.clone(), runs_ignored(path, written.is_new)?));
        self.written.iter().filter_map(by_itself)
    }
}

/// Returns what runs an ignored file by itself, whatever it holds; `None` if nothing does.
fn runs_ignored(path: &str, is_new: bool) -> Option<&'static str> {
    let (when, is_new_alone, line) = runs_by_itself(path)?;
    (line.is_none() && (is_new || !is_new_alone)).then_some(when)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// When the agent began, by the times of files.
    const BEGAN: (i64, i64) = (100, 0);

    /// The files `path` or `path size`, and folders of dependencies `path/` or `path/ seconds of the newest note`.
    fn look(words: &[&str]) -> IgnoredFiles {
        let mut found = IgnoredFiles::default();
        for word in words {
            let (path, number) = word.split_once(' ').unwrap_or((word, "1"));
            if let Some(path) = path.strip_suffix('/') {
                let noted_at = (number.parse().unwrap(), 0);
                found.dependencies.push(DependencyFolder { path: path.to_owned(), notes: 1, noted_at });
                continue;
            }
            let folders = found.dependencies.iter().rev();
            let dependency = folders.clone().position(|it| path.starts_with(&it.path));
            let dependency = dependency.map(|position| found.dependencies.len() - 1 - position);
            let (path, size) = (path.to_owned(), number.parse().unwrap());
            let is_script = path.ends_with("/runner");
            found.files.push(IgnoredFile { path, mode: 0o100_644, size, dependency, is_script });
        }
        found.files.sort_by(|one, other| one.path.cmp(&other.path));
        found
    }

    /// The flags after an agent changed `before` to `after`, and also `changed` files that snapshots show.
    fn flags(before: &[&str], after: &[&str], changed: &[&str]) -> Vec<String> {
        let mut work = IgnoredWork::default();
        let mut decides = || changed.iter().any(|path| decides_dependencies(path));
        work.note([&look(before), &look(after)], BEGAN, &mut decides, &|_| false);
        let by_itself = work.by_itself().map(|(path, when)| format!("runs-by-itself {path} {when}"));
        let flags = work.flags(&[]).into_iter().map(|flag| format!("{} {}", flag.code, flag.text));
        by_itself.chain(flags).collect()
    }

    #[test]
    fn code_that_git_ignores_is_flagged_and_what_tools_write_is_not() {
        for (after, expected) in [
            ("conftest.py", "ignored git ignores what is new: conftest.py"),
            ("tests/helper.js", "ignored git ignores what is new: tests/helper.js"),
            ("local/runner", "ignored git ignores what is new: local/runner"),
            ("local/app", ""),
            ("bin/runner", ""),
            ("a/.gitignore", ""),
            (".env", ""),
            (".env.local", ""),
            ("coverage/lcov-report/a.js", ""),
            ("dist/app.js", ""),
            ("target/debug/build/a.rs", ""),
            ("__pycache__/a.pyc", ""),
            ("npm-debug.log", ""),
            (".pytest_cache/README.md", ""),
            (".idea/workspace.xml", ""),
            (".vscode/settings.json", ""),
            ("dev.sqlite3", ""),
            ("data/app.db", ""),
            ("notes.md", ""),
            (".DS_Store", ""),
            (".claude/todo.sh", ""),
            (".envrc", "runs-by-itself .envrc the shell"),
            ("mise.local.toml", "runs-by-itself mise.local.toml the shell"),
            (".vscode/tasks.json", "runs-by-itself .vscode/tasks.json editors"),
            (".claude/settings.local.json", "runs-by-itself .claude/settings.local.json agents"),
            ("app/build.rs", "runs-by-itself app/build.rs cargo"),
        ] {
            assert_eq!(flags(&[], &[after], &[]).join("\n"), expected, "{after}");
        }
        // One of before, changed, unchanged and gone.
        let changed = flags(&["conftest.py 1"], &["conftest.py 2"], &[]);
        assert_eq!(changed, ["ignored git ignores what is new: conftest.py"]);
        assert_eq!(flags(&["conftest.py"], &["conftest.py"], &[]), [""; 0]);
        assert_eq!(flags(&["conftest.py"], &[], &[]), [""; 0]);
    }

    #[test]
    fn dependencies_that_no_installer_changed_are_flagged() {
        let node = &["node_modules/", "node_modules/.bin/vitest 5", "node_modules/a/index.js 7"][..];
        let venv = &[".venv/", ".venv/lib/python3.12/site-packages/a.py 7", ".venv/bin/pytest 5"][..];
        let vendor = &["vendor/", "vendor/a/a.php 7"][..];
        for (what, before, after, changed, expected) in [
            ("nothing", node, node, &[][..], ""),
            (
                "a runner overwritten",
                node,
                &["node_modules/", "node_modules/.bin/vitest 9", "node_modules/a/index.js 7"][..],
                &["src/a.ts"],
                "node_modules/.bin/vitest",
            ),
            (
                "a package dropped in",
                node,
                &[
                    "node_modules/",
                    "node_modules/.bin/vitest 5",
                    "node_modules/a/index.js 7",
                    "node_modules/b/index.js",
                ],
                &[],
                "node_modules/b/index.js",
            ),
            (
                "a file removed",
                node,
                &["node_modules/", "node_modules/.bin/vitest 5"],
                &[],
                "node_modules/a/index.js",
            ),
            (
                "a customised interpreter",
                venv,
                &[
                    ".venv/",
                    ".venv/lib/python3.12/site-packages/a.py 7",
                    ".venv/bin/pytest 5",
                    ".venv/lib/python3.12/site-packages/sitecustomize.py",
                ],
                &[],
                ".venv/lib/python3.12/site-packages/sitecustomize.py",
            ),
            ("a vendored file", vendor, &["vendor/", "vendor/a/a.php 8"], &[], "vendor/a/a.php"),
            // Daily work.
            ("npm ci", node, &["node_modules/ 100", "node_modules/a/index.js 9"], &[], ""),
            ("npm install --no-save x", node, &["node_modules/ 101", "node_modules/x/index.js"], &[], ""),
            (
                "yarn add x, by a tool without notes",
                node,
                &["node_modules/", "node_modules/x/index.js"],
                &["package.json", "yarn.lock"],
                "",
            ),
            (
                "a lock file that git ignores",
                &["node_modules/", "package-lock.json 1"],
                &["node_modules/", "node_modules/x/a.js", "package-lock.json 2"],
                &[],
                "",
            ),
            (
                "npx patch-package a",
                node,
                &["node_modules/", "node_modules/a/index.js 9"],
                &["patches/a+1.0.0.patch"],
                "",
            ),
            ("pip install x", venv, &[".venv/ 100", ".venv/lib/python3.12/site-packages/x.py"], &[], ""),
            ("composer update", vendor, &["vendor/", "vendor/a/a.php 9"], &["composer.lock"], ""),
            ("a first install", &[], node, &[], ""),
            ("rm -rf node_modules", node, &[], &[], ""),
        ] {
            let expected =
                if expected.is_empty() { String::new() } else { format!("deps changed {expected} by hand") };
            assert_eq!(flags(before, after, changed).join("\n"), expected, "{what}");
        }
    }

    #[test]
    fn what_was_changed_by_hand_is_remembered_until_it_is_installed_anew() {
        let mut work = IgnoredWork::default();
        let looks = [
            look(&["node_modules/", "node_modules/a.js 1"]),
            look(&["node_modules/", "node_modules/a.js 2", "b.py"]),
            look(&["node_modules/ 250", "node_modules/a.js 1", "b.py"]),
        ];
        let mut note = |from: usize, began| {
            work.note([&looks[from], &looks[from + 1]], (began, 0), &mut || false, &|_| false);
            work.flags(&[]).into_iter().map(|flag| flag.code.to_string()).collect::<Vec<_>>()
        };
        assert_eq!(note(0, 100), ["ignored", "deps"]);
        assert_eq!(note(1, 200), ["ignored"]);
        assert!(work.flags(&["b.py".to_owned()]).is_empty(), "it is flagged as hidden already");
    }

    #[test]
    fn notes_of_installers_and_caches_among_dependencies_are_known_by_name() {
        for (path, is_note, is_cache) in [
            ("node_modules/.package-lock.json", true, true),
            ("node_modules/.modules.yaml", true, true),
            ("node_modules/.yarn-integrity", true, true),
            ("node_modules/.yarn-state.yml", true, true),
            ("site-packages/x-1.0.dist-info", true, false),
            ("a/.package-lock.json", false, false),
            ("node_modules/.vite", false, true),
            ("node_modules/.cache", false, true),
            ("node_modules/.prisma", false, true),
            ("node_modules/.bin", false, false),
            ("node_modules/.pnpm", false, false),
            ("site-packages/__pycache__", false, true),
            ("site-packages/a.pyc", false, true),
            ("site-packages/a.pth", false, false),
            ("node_modules/vitest", false, false),
        ] {
            let (folder, name) = path.split_once('/').unwrap();
            let found = (is_installers_note(folder, name), is_cache_in_dependencies(folder, name));
            assert_eq!(found, (is_note, is_cache), "{path}");
        }
        for path in
            ["package.json", "web/yarn.lock", "requirements-dev.txt", "patches/a.patch", "uv.lock", "go.sum"]
        {
            assert!(decides_dependencies(path), "{path}");
        }
        for path in ["src/package.ts", "README.md", "tsconfig.json", "src/patches.ts"] {
            assert!(!decides_dependencies(path), "{path}");
        }
    }
}

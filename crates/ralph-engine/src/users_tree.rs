//! The user's work tree, as another checkout of it must be apart from it: a lane, or one that is made for a check. What runs there
//! gets variables that name the checkout, and what would lead it back into the user's files is found before it runs.

use std::io::Read as _;
use std::ops::Range;

use anyhow::Result;
use camino::{Utf8Path, Utf8PathBuf};

use ralph_git::worktree::WorkTree;
use ralph_os::platform::canonicalize;
use ralph_project::feature::without_dots;
use ralph_project::project_files::open_plain;

use super::lane_dependencies::is_dependencies;

/// Between the entries of a list of paths.
const LIST_SEPARATOR: char = if cfg!(windows) { ';' } else { ':' };

/// Variables that name where the user's logins, settings and temporary files are, wherever that is.
const KEPT: &[&str] =
    &["HOME", "USERPROFILE", "TMPDIR", "TMP", "TEMP", "CLAUDE_CONFIG_DIR", "CODEX_HOME", "COPILOT_HOME"];

/// Starts of names of variables that are kept as they are: our own, and the folders of the user's settings and caches.
const KEPT_STARTS: &[&str] = &["RALPH_", "SPECKIT_RALPH_", "XDG_"];

/// What of a file is looked at, in bytes: settings and first lines are short.
const MAX_FILE_BYTES: u64 = 64 * 1024;

/// Folders of programs: a first line of a file in one names what runs it.
const PROGRAM_FOLDERS: &[&str] = &["bin", ".bin", "Scripts"];

/// A work tree of the user's, and the variables of the call.
#[derive(Debug, Clone)]
pub struct UsersTree {
    /// Its top without links.
    top: Utf8PathBuf,
    /// How its top may be spelt.
    spellings: Vec<String>,
    home: Option<String>,
    variables: Vec<(String, String)>,
}

/// Why what runs in a checkout would run in the user's files, or change files elsewhere.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Unusable {
    /// A file or a link that leads into the user's work tree: what it is, and what it names.
    Leads { path: String, target: String },
    /// A tracked link out of the checkout that is named like a folder of dependencies, and where it leads.
    TrackedLink { path: String, target: String },
}

impl Unusable {
    /// Returns why a checkout cannot be used, as a clause for a message.
    pub fn words(&self) -> String {
        match self {
            Self::Leads { path, target } => format!("`{path}` leads to {target}, in your work tree"),
            Self::TrackedLink { path, target } => {
                format!("`{path}` is a link that git tracks, and leads out of the checkout to {target}")
            }
        }
    }
}

/// Where what is looked through lies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Side {
    /// In the user's work tree, to be copied: what is relative goes along.
    Source,
    /// In the checkout.
    Checkout,
}

impl UsersTree {
    pub fn new(users: &WorkTree, variables: Vec<(String, String)>) -> Self {
        let top = canonicalize(users.top()).unwrap_or_else(|_| users.top().to_owned());
        let mut spellings = vec![top.to_string()];
        spellings.extend((top != users.top()).then(|| users.top().to_string()));
        Self { top, spellings, home: users.home().map(str::to_owned), variables }
    }

    /// Returns the top folder of the user's work tree, with links resolved.
    pub fn top(&self) -> &Utf8Path {
        &self.top
    }

    /// Returns the variables of the call that lie in the work tree, as they name the same place in `checkout`, whether or not
    /// it is there yet.
    pub fn environment_in(&self, checkout: &Utf8Path) -> Vec<(String, String)> {
        let moved = self.variables.iter().filter_map(|(name, value)| {
            let moved = self.value_in(name, value, checkout);
            (moved != *value).then(|| (name.clone(), moved))
        });
        moved.collect()
    }

    /// Returns the value of a variable as it names the same place in `checkout`.
    pub(super) fn value_in(&self, name: &str, value: &str, checkout: &Utf8Path) -> String {
        if KEPT.contains(&name) || KEPT_STARTS.iter().any(|start| name.starts_with(start)) {
            return value.to_owned();
        }
        let (mut moved, mut from) = (String::new(), 0);
        while let Some(found) = self.find(value, from) {
            moved.push_str(&value[from..found.start]);
            moved.push_str(checkout.as_str());
            from = found.end;
        }
        moved.push_str(&value[from..]);
        // An entry may lead there by a link.
        let entries = moved.split(LIST_SEPARATOR).map(|entry| {
            let path = Utf8Path::new(entry);
            let is_elsewhere = path.is_absolute() && !path.starts_with(checkout);
            let below = is_elsewhere.then(|| self.below(path)).flatten();
            below.map_or_else(|| entry.to_owned(), |below| plain_join(checkout, &below).into_string())
        });
        entries.collect::<Vec<_>>().join(&LIST_SEPARATOR.to_string())
    }

    /// Returns the path into the work tree that a command for the shell names, however it is spelt, if it runs in `directory`.
    pub fn named_by(&self, command: &str, directory: &Utf8Path) -> Option<String> {
        self.named_in(command, Some(directory))
    }

    /// Returns what in `checkout` leads into the work tree, or out of the checkout where an installer would follow it.
    pub fn leak(&self, checkout: &WorkTree) -> Result<Option<Unusable>> {
        let top = checkout.top();
        let mut tracked_link = Ok(None);
        let leak = self.look_through(top.to_owned(), Side::Checkout, &mut |link, target| {
            let path = checkout.relative(link);
            let is_tracked = || -> Result<bool> {
                let Some(head) = checkout.head()? else { return Ok(false) };
                Ok(checkout.committed_file(&head, &path)?.is_some_and(|found| found.mode == "120000"))
            };
            if target.starts_with(resolved(top)) || !matches!(tracked_link, Ok(None)) {
                return;
            }
            let named = || Unusable::TrackedLink { path: path.clone(), target: target.to_string() };
            tracked_link = is_tracked().map(|is_tracked| is_tracked.then(named));
        });
        let relative = |path: Utf8PathBuf| checkout.relative(&path);
        let leak = leak.map(|(path, target)| Unusable::Leads { path: relative(path), target });
        Ok(leak.or(tracked_link?))
    }

    /// Returns what in a file or folder of the work tree would still lead there from a copy of it.
    pub fn leak_of_copy(&self, path: &str) -> Option<Unusable> {
        let found = self.look_through(self.top.join(path), Side::Source, &mut |_, _| ());
        found.map(|(path, target)| {
            let path = path.strip_prefix(&self.top).map_or(path.clone(), Utf8Path::to_owned);
            Unusable::Leads { path: path.into_string(), target }
        })
    }

    /// Looks through the folders of dependencies at and below `start` for what leads into the work tree. `visit` gets each link
    /// elsewhere that is named as such a folder, with where it leads.
    fn look_through(
        &self,
        start: Utf8PathBuf,
        side: Side,
        visit: &mut dyn FnMut(&Utf8Path, &Utf8Path),
    ) -> Option<(Utf8PathBuf, String)> {
        let is_within =
            start.strip_prefix(&self.top).unwrap_or(Utf8Path::new("")).iter().any(is_dependencies);
        if start.is_symlink() {
            return self.link_leads(&start, side).map(|target| (start, target));
        }
        let mut folders = vec![(start, is_within)];
        while let Some((folder, is_within)) = folders.pop() {
            let mut entries: Vec<_> = folder.read_dir_utf8().into_iter().flatten().flatten().collect();
            entries.sort_by(|one, other| one.file_name().cmp(other.file_name()));
            let is_within = is_within || entries.iter().any(|entry| entry.file_name() == "pyvenv.cfg");
            for entry in entries {
                let (path, name) = (entry.path(), entry.file_name());
                let Ok(kind) = entry.file_type() else { continue };
                if kind.is_dir() {
                    if name != ".git" {
                        folders.push((path.to_owned(), is_within || is_dependencies(name)));
                    }
                    continue;
                }
                let is_named = || is_dependencies(name) || path.join("pyvenv.cfg").is_file();
                let target = if kind.is_symlink() && (is_within || is_named()) {
                    if !is_within {
                        visit(path, &resolved(&target_of(path)));
                    }
                    self.link_leads(path, side)
                } else if kind.is_file() && is_within {
                    self.file_leads(path, side)
                } else {
                    None
                };
                if let Some(target) = target {
                    return Some((path.to_owned(), target));
                }
            }
        }
        None
    }

    fn link_leads(&self, link: &Utf8Path, side: Side) -> Option<String> {
        let is_relative = link.read_link_utf8().is_ok_and(|target| target.is_relative());
        if is_relative && side == Side::Source {
            return None;
        }
        let target = target_of(link);
        self.below(&target).map(|below| plain_join(&self.top, &below).into_string())
    }

    /// Returns the path into the work tree that a file of dependencies names where it says what runs or is imported.
    fn file_leads(&self, path: &Utf8Path, side: Side) -> Option<String> {
        let (folder, name) = (path.parent()?, path.file_name()?);
        let is_program = folder.file_name().is_some_and(|folder| PROGRAM_FOLDERS.contains(&folder));
        let is_settings = name == "config" && folder.file_name() == Some(".bundle");
        let is_module =
            matches!(path.extension(), Some("pth" | "egg-link")) || name.starts_with("__editable__");
        if !(is_program || is_settings || is_module || name == "pyvenv.cfg") {
            return None;
        }
        let mut bytes = Vec::new();
        open_plain(path).ok()??.take(MAX_FILE_BYTES).read_to_end(&mut bytes).ok()?;
        if is_program && !is_module && !bytes.starts_with(b"#!") {
            return None;
        }
        let text = String::from_utf8_lossy(&bytes);
        let text: String = match name {
            // That only says how it was made.
            "pyvenv.cfg" => {
                text.lines().filter(|line| !line.starts_with("command")).collect::<Vec<_>>().join("\n")
            }
            // A path that is too long for a first line is in the second.
            _ if is_program && !is_module => text.lines().take(2).collect::<Vec<_>>().join("\n"),
            _ => text.into_owned(),
        };
        self.named_in(&text, Some(folder).filter(|_| side == Side::Checkout))
    }

    /// Returns the path into the work tree that a text names. What is relative counts from `directory`.
    fn named_in(&self, text: &str, directory: Option<&Utf8Path>) -> Option<String> {
        let unescaped = text.replace('\\', "").replace("${HOME}", "$HOME");
        for text in [text, &unescaped] {
            if let Some(found) = self.find(text, 0) {
                let rest = text[found.end..].split(is_between).next().unwrap_or_default();
                return Some(format!("{}{rest}", &text[found]));
            }
        }
        let mut words = unescaped.split(is_between).filter(|word| word.contains('/') || *word == "..");
        words.find_map(|word| {
            let of_home = ["~/", "$HOME/"].iter().find_map(|start| word.strip_prefix(start));
            let path = match (of_home, &self.home) {
                (Some(rest), Some(home)) => Utf8Path::new(home).join(rest),
                _ => directory.map_or_else(|| word.into(), |directory| directory.join(word)),
            };
            path.is_absolute().then(|| self.below(&path)).flatten().map(|_| word.to_owned())
        })
    }

    /// Returns the next place at or after `from` where a text spells the top, alone or as the start of a path that stays below.
    fn find(&self, text: &str, from: usize) -> Option<Range<usize>> {
        let found = self.spellings.iter().filter_map(|top| {
            let mut places = text[from..].match_indices(top.as_str());
            places.find_map(|(at, _)| {
                let place = from + at..from + at + top.len();
                self.is_whole(text, &place).then_some(place)
            })
        });
        found.min_by_key(|place| (place.start, std::cmp::Reverse(place.end)))
    }

    fn is_whole(&self, text: &str, place: &Range<usize>) -> bool {
        let before = text[..place.start].rsplit(is_between).next().unwrap_or_default().trim_end_matches('/');
        let is_option = before.starts_with('-') && !before.contains('/');
        let ends_a_name = |c: char| c.is_alphanumeric() || "._-~%$".contains(c);
        let after = text[place.end..].split(is_between).next().unwrap_or_default();
        let path = Utf8PathBuf::from(format!("{}{after}", &text[place.clone()]));
        (is_option || !before.ends_with(ends_a_name))
            && (after.is_empty() || after.starts_with(['/', '\\']))
            && self.spellings.iter().any(|top| without_dots(&path).starts_with(top))
    }

    /// Returns where below the top a path leads, if it does.
    fn below(&self, path: &Utf8Path) -> Option<Utf8PathBuf> {
        resolved(path).strip_prefix(&self.top).map(Utf8Path::to_owned).ok()
    }
}

/// Returns true for what separates words of a command, and entries of lists.
fn is_between(c: char) -> bool {
    c.is_whitespace() || "'\"`=;:,|&()<>!#?{}[]".contains(c)
}

/// Returns where a link leads first, as an absolute path.
fn target_of(link: &Utf8Path) -> Utf8PathBuf {
    let target = link.read_link_utf8().unwrap_or_default();
    link.parent().map_or_else(|| target.clone(), |folder| folder.join(&target))
}

/// Returns a path without links, as far as it is there.
fn resolved(path: &Utf8Path) -> Utf8PathBuf {
    for folder in path.ancestors() {
        if let (Ok(real), Ok(rest)) = (canonicalize(folder), path.strip_prefix(folder)) {
            return without_dots(&plain_join(&real, rest));
        }
    }
    without_dots(path)
}

/// Joins without a separator at the end.
fn plain_join(folder: &Utf8Path, rest: &Utf8Path) -> Utf8PathBuf {
    if rest.as_str().is_empty() { folder.to_owned() } else { folder.join(rest) }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;

    /// A folder with the user's work tree `proj`, another spelling of it, `link`, a checkout `lane`, and what is elsewhere.
    struct Scene {
        _folder: tempfile::TempDir,
        root: Utf8PathBuf,
    }

    impl Scene {
        fn new() -> Self {
            let folder = tempfile::tempdir().unwrap();
            let root = Utf8Path::from_path(folder.path()).unwrap().canonicalize_utf8().unwrap();
            for name in ["proj/src", "proj/packages/a", "lane/src", "lane/packages/a", "elsewhere", "proj-2"]
            {
                fs::create_dir_all(root.join(name)).unwrap();
            }
            symlink(root.join("proj"), root.join("link")).unwrap();
            Self { _folder: folder, root }
        }

        fn users(&self) -> UsersTree {
            let top = self.root.join("proj");
            let spellings = vec![top.to_string()];
            UsersTree { top, spellings, home: Some(self.root.to_string()), variables: Vec::new() }
        }

        /// Replaces `R` by the folder.
        fn text(&self, text: &str) -> String {
            text.replace('R', self.root.as_str())
        }
    }

    #[test]
    fn a_value_in_the_work_tree_names_the_same_place_in_the_checkout() {
        let scene = Scene::new();
        for (name, value, expected) in [
            ("VIRTUAL_ENV", "R/proj/.venv", "R/lane/.venv"),
            (
                "PATH",
                "R/proj/.venv/bin:/usr/bin:R/proj/node_modules/.bin",
                "R/lane/.venv/bin:/usr/bin:R/lane/node_modules/.bin",
            ),
            ("PYTHONPATH", "R/proj", "R/lane"),
            ("PYTHONPATH", "R/link/src:.", "R/lane/src:."),
            ("PYTHONPATH", "R/link", "R/lane"),
            (
                "NODE_OPTIONS",
                "--require R/proj/hook.js --max-old-space-size=1",
                "--require R/lane/hook.js --max-old-space-size=1",
            ),
            ("CFLAGS", "-IR/proj/include", "-IR/lane/include"),
            ("DATABASE_URL", "sqlite:///R/proj/dev.db", "sqlite:///R/lane/dev.db"),
            ("PWD", "R/proj", "R/lane"),
            // What lies elsewhere.
            ("PATH", "R/proj-2/bin:R/elsewhere:/usr/bin::", "R/proj-2/bin:R/elsewhere:/usr/bin::"),
            ("X", "R/proj/../elsewhere", "R/proj/../elsewhere"),
            ("X", "/mntR/proj", "/mntR/proj"),
            ("X", "src:./src:../proj", "src:./src:../proj"),
            // Logins and settings are where they are.
            ("HOME", "R/proj/home", "R/proj/home"),
            ("XDG_CONFIG_HOME", "R/proj/home", "R/proj/home"),
            ("CLAUDE_CONFIG_DIR", "R/proj/home", "R/proj/home"),
            ("RALPH_X", "R/proj/home", "R/proj/home"),
        ] {
            let moved = scene.users().value_in(name, &scene.text(value), &scene.root.join("lane"));
            assert_eq!(moved, scene.text(expected), "{name}={value}");
        }
    }

    #[test]
    fn a_command_that_names_the_work_tree_is_found_however_it_spells_it() {
        let scene = Scene::new();
        symlink(scene.root.join("proj/src"), scene.root.join("lane/tools")).unwrap();
        for (command, expected) in [
            ("cd R/proj && pytest", Some("R/proj")),
            ("cd 'R/proj/src'; make", Some("R/proj/src")),
            ("sh -c \"pytest --rootdir=R/proj\"", Some("R/proj")),
            ("cd R/link && make", Some("R/link")),
            ("cd ~/proj/src && make", Some("~/proj/src")),
            ("cd ${HOME}/link && make", Some("$HOME/link")),
            ("R/lane/../proj/run", Some("R/lane/../proj/run")),
            ("cd ../proj && make", Some("../proj")),
            ("tools/check", Some("tools/check")),
            ("pytest", None),
            ("cd src && ../check", None),
            ("cd R/proj-2 && make", None),
            ("R/elsewhere/check", None),
            ("echo R/project", None),
            ("grep -r 'a/b' .", None),
            ("cd .. && ls", None),
        ] {
            let found = scene.users().named_by(&scene.text(command), &scene.root.join("lane"));
            assert_eq!(found, expected.map(|found| scene.text(found)), "{command}");
        }
    }

    #[test]
    fn what_leads_from_dependencies_into_the_work_tree_is_found() {
        let shebang = "#!R/proj/.venv/bin/python3\nimport x\n";
        let long = "#!/bin/sh\n'''exec' R/proj/.venv/bin/python3 \"$0\" \"$@\"\n' '''\n";
        // `->`: a link; else the text of a file.
        for (path, contents, from_lane, from_copy) in [
            ("node_modules/a", "-> R/proj/packages/a", true, true),
            ("node_modules/a", "-> ../../proj/packages/a", true, false),
            ("node_modules/@me/a", "-> R/link/packages/a", true, true),
            ("node_modules/gone", "-> R/proj/gone", true, true),
            ("node_modules", "-> R/proj/node_modules", true, true),
            ("env/bin/pytest", shebang, true, true),
            ("env/bin/pytest", long, true, true),
            ("env/lib/python3/site-packages/proj.pth", "R/proj/src\n", true, true),
            (
                "env/lib/python3/site-packages/__editable___proj_finder.py",
                "MAPPING = {'p': 'R/proj/src'}\n",
                true,
                true,
            ),
            ("env/lib/python3/site-packages/proj.egg-link", "R/link/src\n.", true, true),
            ("env/pyvenv.cfg", "home = R/proj/python/bin\n", true, true),
            (".bundle/config", "BUNDLE_PATH: \"R/proj/vendor/bundle\"\n", true, true),
            ("packages/a/node_modules/b", "-> R/proj/packages/b", true, true),
            // Daily work.
            ("node_modules/a", "-> ../packages/a", false, false),
            ("node_modules/a", "-> .pnpm/a@1/node_modules/a", false, false),
            ("node_modules/a", "-> R/elsewhere", false, false),
            ("node_modules", "-> R/elsewhere", false, false),
            ("env/bin/python3", "-> /usr/bin/python3", false, false),
            ("env/bin/pytest", "#!R/lane/env/bin/python3\n", false, false),
            ("env/bin/activate", "VIRTUAL_ENV=R/proj/.venv\n", false, false),
            (
                "env/pyvenv.cfg",
                "home = /usr/bin\ncommand = R/proj/.venv/bin/python3 -m venv R/lane/env\n",
                false,
                false,
            ),
            ("env/lib/python3/site-packages/proj.pth", "R/lane/src\n", false, false),
            ("env/lib/python3/site-packages/x.pth", "import _virtualenv\n", false, false),
            ("env/lib/python3/site-packages/x.py", "PATH = 'R/proj'\n", false, false),
            ("src/run.sh", shebang, false, false),
            ("src/a", "-> R/proj/packages/a", false, false),
        ] {
            let scene = Scene::new();
            for (side, expected) in [("lane", from_lane), ("proj", from_copy)] {
                let top = scene.root.join(side);
                if path.starts_with("env/") {
                    fs::create_dir_all(top.join("env")).unwrap();
                    fs::write(top.join("env/pyvenv.cfg"), "home = /usr/bin\n").unwrap();
                }
                let file = top.join(path);
                fs::create_dir_all(file.parent().unwrap()).unwrap();
                match contents.strip_prefix("-> ") {
                    Some(target) => symlink(scene.text(target), &file).unwrap(),
                    None => fs::write(&file, scene.text(contents)).unwrap(),
                }
                let found = if side == "lane" {
                    scene.users().look_through(top, Side::Checkout, &mut |_, _| ()).is_some()
                } else {
                    scene.users().leak_of_copy(path.split('/').next().unwrap()).is_some()
                };
                assert_eq!(found, expected, "{path} {contents} in {side}");
            }
        }
    }

    #[test]
    fn links_elsewhere_that_are_named_as_folders_of_dependencies_are_visited() {
        let scene = Scene::new();
        let lane = scene.root.join("lane");
        fs::create_dir_all(scene.root.join("elsewhere/env")).unwrap();
        fs::write(scene.root.join("elsewhere/env/pyvenv.cfg"), "").unwrap();
        for (link, target) in [
            ("node_modules", "../elsewhere"),
            ("packages/a/vendor", "../../src"),
            ("e", "../elsewhere/env"),
            ("data", "../elsewhere"),
        ] {
            symlink(target, lane.join(link)).unwrap();
        }
        let mut visited = Vec::new();
        let users = scene.users();
        let found = users.look_through(lane.clone(), Side::Checkout, &mut |link, target| {
            let [link, target] =
                [link, target].map(|path| path.strip_prefix(&scene.root).unwrap().to_string());
            visited.push((link, target));
        });
        assert_eq!(found, None);
        let expected = [
            ("lane/e", "elsewhere/env"),
            ("lane/node_modules", "elsewhere"),
            ("lane/packages/a/vendor", "lane/src"),
        ];
        assert_eq!(visited, expected.map(|(link, target)| (link.to_owned(), target.to_owned())));
    }
}

//! Where the repository is and what its settings say, as git itself sees it.

use anyhow::{Context as _, Error, Result, anyhow};
use camino::{Utf8Path, Utf8PathBuf};

use crate::worktree::WorkTree;
use ralph_core::config::{ALLOW_LINKS, GIT_PREFIX, GitInput};
use ralph_core::record::{ObjectId, Refusal};
use ralph_os::platform::canonicalize;
use ralph_os::process::{Tool, outside};

/// A blob of ours is at most one chunk; what is bigger was not written by us.
pub const MAX_BLOB_BYTES: u64 = 64 * 1024 * 1024;

/// Where records are: what all work trees of a repository share. Paths are absolute.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Repository {
    /// The git directory that all work trees share.
    pub common_dir: Utf8PathBuf,
    /// Where a git of the caller's would run: at the top of the work tree, in a bare repository in the git directory. Names
    /// like `HEAD` and relative addresses of remotes mean here what they mean to the caller.
    pub directory: Utf8PathBuf,
    pub hash: HashKind,
    pub refs: RefFormat,
    /// The remotes that hold what a partial clone (`--filter`) has not got. None in any other repository.
    pub promisors: Vec<String>,
    /// `core.sharedRepository`, or `None` if only the umask applies.
    pub sharing: Option<Sharing>,
    /// What git would write as the author of a commit, where it knows a name and an address.
    pub author: Option<Person>,
    /// What git's configuration says of ours, in git's order: `ralph.*`.
    pub own_settings: Vec<GitInput>,
    /// Set if a setting keeps git from working in the work tree that is there.
    pub fault: Option<Fault>,
}

/// A setting of the repository with which git does not work in its work tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// ``git refuses to work in `/p`: `core.bare` is `true` in its configuration``
    pub text: String,
    /// The command that ends it.
    pub command: &'static str,
}

/// How objects are named.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HashKind {
    Sha1,
    Sha256,
}

impl HashKind {
    /// Returns the tree without entries, which git knows in every repository.
    pub fn empty_tree(self) -> Result<ObjectId> {
        match self {
            Self::Sha1 => "4b825dc642cb6eb9a060e54bf8d69288fbee4904",
            Self::Sha256 => "6ef19b41225c5369f1c104d45d8d85efa9b057b53b14b4b9b939dd74decc5321",
        }
        .parse()
    }
}

/// How refs are kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RefFormat {
    /// A file for each, or one for many.
    Files,
    /// reftable, which the git program alone can read.
    Tables,
}

/// For whom files in the git directory are made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sharing {
    /// At least these permissions.
    AtLeast(u32),
    /// These, whatever the umask says.
    Exactly(u32),
}

impl Sharing {
    fn parse(value: &str) -> Option<Self> {
        match value.to_ascii_lowercase().as_str() {
            "group" | "true" | "yes" | "on" | "1" => Some(Self::AtLeast(0o660)),
            "all" | "world" | "everybody" | "2" => Some(Self::AtLeast(0o664)),
            octal if octal.len() > 1 => {
                u32::from_str_radix(octal, 8).ok().filter(|mode| mode & 0o600 == 0o600).map(Self::Exactly)
            }
            _ => None,
        }
    }

    /// Returns the mode that a file or folder gets which was made with `mode`.
    pub fn mode(self, mode: u32, is_dir: bool) -> u32 {
        let (Self::AtLeast(mut shared) | Self::Exactly(mut shared)) = self;
        if mode & 0o200 == 0 {
            shared &= !0o222;
        }
        if mode & 0o100 != 0 {
            shared |= (shared & 0o444) >> 2;
        }
        let kept = match self {
            Self::AtLeast(_) => mode,
            Self::Exactly(_) => mode & !0o777,
        };
        // What is made in a shared folder belongs to the folder's group.
        kept | shared | if is_dir { 0o2000 } else { 0 }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Person {
    pub name: String,
    pub email: String,
}

/// Returns a folder of objects as `GIT_ALTERNATE_OBJECT_DIRECTORIES` takes it.
pub fn as_alternate(objects: &Utf8Path) -> String {
    if objects.as_str().contains([':', '"', '\\']) {
        format!("\"{}\"", objects.as_str().replace('\\', "\\\\").replace('"', "\\\""))
    } else {
        objects.to_string()
    }
}

impl Repository {
    /// Finds the repository around `directory` the way git does, and the work tree, unless it is bare. Refuses what we cannot
    /// work in. `author` are the name and the email that the user's environment has for authors, `home` is the user's home folder.
    pub fn discover(
        directory: &Utf8Path,
        author: &[Option<String>; 2],
        home: Option<String>,
    ) -> Result<(Self, Option<WorkTree>)> {
        let answer = Tool::git_as_called(directory)
            .args(["rev-parse", "--path-format=absolute", "--show-object-format", "--git-dir"])
            .args(["--git-common-dir", "--is-inside-work-tree", "--show-toplevel"])
            .run()?;
        let text = String::from_utf8(answer.stdout.clone()).map_err(|error| {
            let path = String::from_utf8_lossy(error.as_bytes());
            let path = path.lines().find(|line| line.contains('\u{fffd}')).unwrap_or_default();
            let refusal = Refusal::new(format!(
                "the path of the repository, `{path}`, is not UTF-8, and paths are recorded as UTF-8"
            ));
            refusal.with_hint("rename the folder, or work in a copy that has another name")
        })?;
        let mut lines = text.lines();
        let (Some(hash), Some(git_dir), Some(common_dir), Some(inside)) =
            (lines.next(), lines.next(), lines.next(), lines.next())
        else {
            return Err(not_found(directory, &answer.complaint()).into());
        };
        let mut own_settings = list_settings(directory)?;
        // A key without `=` means true.
        let settings: Vec<_> = own_settings
            .iter()
            .map(|input| (input.key.clone(), input.value.clone().unwrap_or_else(|| "true".to_owned())))
            .collect();
        own_settings.retain(|input| input.key.starts_with(GIT_PREFIX));
        outside::note_settings(&settings);
        let top = (inside == "true").then(|| lines.next().map(Utf8PathBuf::from)).flatten();
        let hidden =
            if top.is_none() { hidden_work_tree(directory, git_dir.into(), &settings) } else { None };
        let (top, fault) = match hidden {
            Some((top, fault)) => (Some(top), Some(fault)),
            None => (top, None),
        };
        let repository = Self {
            directory: top.clone().unwrap_or_else(|| common_dir.into()),
            common_dir: common_dir.into(),
            hash: if hash == "sha256" { HashKind::Sha256 } else { HashKind::Sha1 },
            refs: ref_format(&settings)?,
            promisors: promisors(&settings),
            sharing: last(&settings, "core.sharedrepository").and_then(Sharing::parse),
            author: known_author(&settings, author),
            own_settings,
            fault,
        };
        let allowed_links = all(&settings, ALLOW_LINKS);
        let work_tree =
            top.map(|top| WorkTree::new(repository.clone(), top, git_dir.into(), allowed_links, home));
        Ok((repository, work_tree))
    }

    /// Returns true if files that were committed may be at a remote alone.
    pub fn is_partial(&self) -> bool {
        !self.promisors.is_empty()
    }

    /// Returns the folder of everything of ours that is not a git object or ref.
    pub fn ralph_dir(&self) -> Utf8PathBuf {
        self.common_dir.join("ralph")
    }

    /// Opens a git directory of the repository afresh: refs and packs may have been moved about by others since the last
    /// look.
    pub fn open(&self, git_dir: &Utf8Path) -> Result<gix::Repository> {
        // git itself found the place and trusts it; settings of the user have no say in what we store.
        // `git replace` and the repository's own setting for it show other records than those that were written. And what
        // came from elsewhere may claim any size: no object is read that a record of ours cannot hold.
        let overrides =
            ["core.useReplaceRefs=false".to_owned(), format!("gitoxide.objects.allocLimit={MAX_BLOB_BYTES}")];
        let options = gix::open::Options::isolated()
            .with(gix::sec::Trust::Full)
            .open_path_as_is(true)
            .config_overrides(overrides);
        let opened = options.open(git_dir.as_std_path());
        Ok(opened.map_err(|error| caused(&format!("open {git_dir}"), &error))?.to_thread_local())
    }
}

/// Returns an error of the library's with all that it says of its causes, which its own words often leave out.
pub fn caused(doing: &str, error: &(dyn std::error::Error + 'static)) -> Error {
    let mut words = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        let cause_words = cause.to_string();
        if !words.contains(&cause_words) {
            words.push_str(": ");
            words.push_str(&cause_words);
        }
        source = cause.source();
    }
    anyhow!("{doing}: {words}")
}

/// Returns the work tree around `directory` that a setting keeps git from seeing: that of a `.git` folder with an index,
/// which no bare repository has.
fn hidden_work_tree(
    directory: &Utf8Path,
    git_dir: &Utf8Path,
    settings: &[(String, String)],
) -> Option<(Utf8PathBuf, Fault)> {
    let top = git_dir
        .parent()
        .filter(|_| git_dir.file_name() == Some(".git") && git_dir.join("index").is_file())?;
    let here = canonicalize(directory).ok()?;
    if !here.starts_with(top) || here.starts_with(git_dir) {
        return None;
    }
    let is_bare = last(settings, "core.bare").is_some_and(|value| !is_false(value));
    let (what, command) = match last(settings, "core.worktree") {
        _ if is_bare => ("`core.bare` is `true`".to_owned(), "git config core.bare false"),
        Some(other) => (format!("`core.worktree` is `{other}`"), "git config --unset core.worktree"),
        None => return None,
    };
    let text = format!("git does not work in {top}: {what} in the repository's configuration");
    Some((top.to_owned(), Fault { text, command }))
}

fn not_found(directory: &Utf8Path, complaint: &str) -> Refusal {
    if complaint.contains("not a git repository") {
        Refusal::new(format!("{directory} is not inside a git repository"))
            .with_hint("run `git init` there, or go to the project first")
    } else if complaint.contains("dubious ownership") {
        Refusal::new(format!("git does not trust the repository at {directory}: it belongs to another user"))
            .with_hint(format!("if you trust it: git config --global --add safe.directory {directory}"))
    } else {
        let refusal = Refusal::new(format!("git cannot use the repository at {directory}: {complaint}"));
        let is_settings = complaint.contains("bad config");
        if is_settings { refusal.with_hint("correct that line of the file in an editor") } else { refusal }
    }
}

/// Returns the settings of git's, each with its key as git spells it: section and name in lower case.
pub fn list_settings(directory: &Utf8Path) -> Result<Vec<GitInput>> {
    let tool = Tool::git_as_called(directory).args(["config", "--list", "-z", "--show-scope"]);
    let listed = tool.run().context("read git's configuration")?;
    if !listed.is_success() {
        return Err(Refusal::new(format!("read git's configuration: {}", listed.complaint())).into());
    }
    Ok(listing(&String::from_utf8_lossy(&listed.stdout)))
}

/// Reads `scope NUL key LF value NUL`; a key without `=` has no line feed.
fn listing(text: &str) -> Vec<GitInput> {
    let mut fields = text.split('\0');
    let mut inputs = Vec::new();
    while let (Some(scope), Some(entry)) = (fields.next(), fields.next()) {
        let (key, value) = match entry.split_once('\n') {
            Some((key, value)) => (key, Some(value.to_owned())),
            None => (entry, None),
        };
        inputs.push(GitInput { key: key.to_owned(), value, scope: Some(scope.to_owned()) });
    }
    inputs
}

/// Returns the last value, which wins, as in git.
fn last<'a>(settings: &'a [(String, String)], key: &str) -> Option<&'a str> {
    settings.iter().rev().find(|(known, _)| known == key).map(|(_, value)| value.as_str())
}

/// Returns all values, in git's order.
fn all(settings: &[(String, String)], key: &str) -> Vec<String> {
    let values = settings.iter().filter(|(known, _)| known == key);
    values.map(|(_, value)| value.clone()).collect()
}

fn known_author(settings: &[(String, String)], [name, email]: &[Option<String>; 2]) -> Option<Person> {
    let [name, email] = [(name, "author.name", "user.name"), (email, "author.email", "user.email")].map(
        |(variable, own, common)| {
            let set = variable.as_deref().or_else(|| last(settings, own)).or_else(|| last(settings, common));
            // These would break the header of a commit; git drops them as well.
            Some(set?.replace(['<', '>', '\n', '\0'], "").trim().to_owned())
        },
    );
    let person = Person { name: name?, email: email? };
    (!person.name.is_empty()).then_some(person)
}

fn ref_format(settings: &[(String, String)]) -> Result<RefFormat> {
    match last(settings, "extensions.refstorage") {
        None => Ok(RefFormat::Files),
        Some(format) if format.eq_ignore_ascii_case("files") => Ok(RefFormat::Files),
        Some(format) if format.eq_ignore_ascii_case("reftable") => Ok(RefFormat::Tables),
        Some(other) => {
            Err(Refusal::new(format!("this repository stores its refs as {other}, which is not supported"))
                .with_hint("git refs migrate --ref-format=files")
                .into())
        }
    }
}

/// Returns true for the spellings that git reads as false.
fn is_false(value: &str) -> bool {
    ["", "false", "no", "off", "0"].iter().any(|no| value.eq_ignore_ascii_case(no))
}

fn promisors(settings: &[(String, String)]) -> Vec<String> {
    let mut found = Vec::new();
    for (key, value) in settings {
        let name = match key.strip_prefix("remote.").and_then(|rest| rest.strip_suffix(".promisor")) {
            Some(name) if !is_false(value) => name,
            _ if key == "extensions.partialclone" => value,
            _ => continue,
        };
        if !found.iter().any(|known| known == name) {
            found.push(name.to_owned());
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn setting(key: &str, value: &str) -> (String, String) {
        (key.into(), value.into())
    }

    #[test]
    fn gits_listing_is_read_with_scopes_and_values_of_many_lines() {
        let text = "global\0user.name\nA B\0local\0ralph.validation.command\na\nb=c\0command\0ralph.untick\0";
        let inputs = listing(text);
        let shown: Vec<_> = inputs
            .iter()
            .map(|input| (input.scope.as_deref().unwrap(), input.key.as_str(), input.value.as_deref()))
            .collect();
        let expected = [
            ("global", "user.name", Some("A B")),
            ("local", "ralph.validation.command", Some("a\nb=c")),
            ("command", "ralph.untick", None),
        ];
        assert_eq!(shown, expected);
    }

    #[test]
    fn how_refs_are_kept_is_read_and_what_is_not_known_is_refused() {
        let format = |value: &str| ref_format(&[setting("extensions.refstorage", value)]);
        assert_eq!(ref_format(&[]).unwrap(), RefFormat::Files);
        assert_eq!(format("files").unwrap(), RefFormat::Files);
        assert_eq!(format("RefTable").unwrap(), RefFormat::Tables);
        let refused = format("sqlite").unwrap_err().to_string();
        assert!(refused.contains("stores its refs as sqlite") && refused.contains("\nhint: "), "{refused}");
    }

    #[test]
    fn a_partial_clone_is_recognized_by_its_settings() {
        for (key, value, expected) in [
            ("extensions.partialclone", "origin", &["origin"][..]),
            ("remote.my.fork.promisor", "true", &["my.fork"]),
            ("remote.origin.promisor", "yes", &["origin"]),
            ("remote.origin.promisor", "False", &[]),
            ("remote.origin.url", "true", &[]),
        ] {
            assert_eq!(promisors(&[setting(key, value)]), expected, "{key}={value}");
        }
        let both = [setting("extensions.partialclone", "origin"), setting("remote.origin.promisor", "true")];
        assert_eq!(promisors(&both), ["origin"]);
    }

    #[test]
    fn files_are_shared_as_git_shares_them() {
        for (value, made, is_dir, expected) in [
            ("group", 0o100_444, false, Some(0o100_444)),
            ("group", 0o100_400, false, Some(0o100_440)),
            ("true", 0o100_600, false, Some(0o100_660)),
            ("group", 0o040_700, true, Some(0o042_770)),
            ("all", 0o040_700, true, Some(0o042_775)),
            ("0640", 0o100_644, false, Some(0o100_640)),
            ("umask", 0, false, None),
            ("0", 0, false, None),
        ] {
            let sharing = Sharing::parse(value);
            assert_eq!(sharing.map(|sharing| sharing.mode(made, is_dir)), expected, "{value} {made:o}");
        }
    }

    #[test]
    fn the_author_needs_a_name_and_an_address() {
        let none = [None, None];
        assert_eq!(known_author(&[setting("user.name", "A")], &none), None);
        let both = [setting("user.name", "A"), setting("user.email", "a@b")];
        assert_eq!(known_author(&both, &none), Some(Person { name: "A".into(), email: "a@b".into() }));
        let variables = [Some("B <evil>\n".into()), None];
        assert_eq!(known_author(&both, &variables).unwrap().name, "B evil");
    }
}

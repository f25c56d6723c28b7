//! Where the repository is and what its settings say, as git itself sees it.

use anyhow::{Context as _, Error, Result, anyhow};
use camino::{Utf8Path, Utf8PathBuf};

use ralph_core::config::GitInput;
use ralph_core::record::{ObjectId, Refusal};
use ralph_os::process::Tool;

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
    pub(super) fn parse(value: &str) -> Option<Self> {
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

#[cfg(test)]
mod tests {
    use super::*;

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
}

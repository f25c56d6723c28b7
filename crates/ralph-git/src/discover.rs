//! Finding the repository and the work tree that a caller is in.

use anyhow::Result;
use camino::{Utf8Path, Utf8PathBuf};

use crate::repository::{Fault, HashKind, Person, RefFormat, Repository, Sharing, list_settings};
use crate::worktree::WorkTree;
use ralph_core::config::{ALLOW_LINKS, GIT_PREFIX};
use ralph_core::record::Refusal;
use ralph_os::platform::canonicalize;
use ralph_os::process::{Tool, outside};

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
    fn the_author_needs_a_name_and_an_address() {
        let none = [None, None];
        assert_eq!(known_author(&[setting("user.name", "A")], &none), None);
        let both = [setting("user.name", "A"), setting("user.email", "a@b")];
        assert_eq!(known_author(&both, &none), Some(Person { name: "A".into(), email: "a@b".into() }));
        let variables = [Some("B <evil>\n".into()), None];
        assert_eq!(known_author(&both, &variables).unwrap().name, "B evil");
    }
}

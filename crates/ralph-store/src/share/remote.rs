//! Another repository, or a bundle, through the git program: nothing is forced, nothing is prompted for, and everything has a time limit.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use anyhow::{Context, Result, bail};

use crate::Store;
use crate::refs::naming::{INCOMING_PREFIX, LOG_PREFIX, NOTES, SNAPSHOT_PREFIX, SessionRefs, TOMBSTONES};
use ralph_core::record::ObjectId;
use ralph_git::repository::Repository;
use ralph_os::process::{Captured, NO_LAZY_FETCH, Tool};

/// Longest wait for a list of refs.
const LISTING_TIMEOUT: Duration = Duration::from_secs(90);

/// Longest wait for one batch of refs with all that they lead to.
const TRANSFER: Duration = Duration::from_mins(30);

/// Maximum number of refs in one transfer.
pub(super) const BATCH: usize = 200;

/// Maximum number of lines of a remote's output in a message.
pub(super) const MAX_REMOTE_LINES: usize = 10;

/// Maximum number of refs that a remote may list: no repository has that many records.
const MAX_REFS: usize = 500_000;

/// Where to sync with.
#[derive(Debug, Clone)]
pub struct Remote {
    /// The argument for git: the name of a remote, an address, or an absolute path.
    pub name: String,
    /// The address of it, by which it is remembered; `None` if there is nothing to remember.
    pub url: Option<String>,
    /// The ssh command for git, if it differs from the user's settings.
    pub ssh_command: Option<String>,
}

/// The branches of a remote, and those refs that were asked for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RemoteBranches {
    /// The name of the branch that a clone checks out.
    pub default: Option<String>,
    /// By their whole names.
    pub tips: BTreeMap<String, ObjectId>,
}

/// The remote cannot be reached; a retry would fail too.
#[derive(Debug)]
pub struct Unreachable(String);

impl fmt::Display for Unreachable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Unreachable {}

/// What became of a ref that was pushed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum PushOutcome {
    Done,
    /// The remote has commits that are missing here.
    Behind,
    /// The remote refuses it, with its message.
    Refused(String),
}

/// How strictly git checks fetched objects.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Strictness {
    /// Every object must be sound: our own are.
    Strict,
    /// As the user's settings say: the project's own history may have old defects.
    AsSet,
}

/// What became of each ref of a push.
pub(super) type PushOutcomes = BTreeMap<String, PushOutcome>;

/// That, and what the other side said.
pub(super) type PushReport = (PushOutcomes, Vec<String>);

impl Remote {
    /// Returns its name as it may be shown: without a password in its address.
    pub fn place(&self) -> String {
        let Some((scheme, rest)) = self.name.split_once("://") else { return self.name.clone() };
        let end = rest.find('/').unwrap_or(rest.len());
        let (host, path) = rest.split_at(end);
        let host = host.rsplit_once('@').map_or(host, |(_, host)| host);
        format!("{scheme}://{host}{path}")
    }

    /// Returns the remotes that git knows here, by name.
    pub fn names(repository: &Repository) -> Result<Vec<String>> {
        let listed = Tool::git(&repository.common_dir).arg("remote").read().context("list remotes")?;
        Ok(String::from_utf8_lossy(&listed).lines().map(str::to_owned).collect())
    }

    /// Returns the address of a remote that git knows.
    pub fn address_of(repository: &Repository, name: &str) -> Result<String> {
        Tool::git(&repository.common_dir).args(["remote", "get-url", "--", name]).line()
    }

    /// Returns where git pushes to, which a `pushurl` puts elsewhere than where it fetches from.
    pub fn push_addresses(&self, repository: &Repository) -> Result<Vec<String>> {
        if !Self::names(repository)?.contains(&self.name) {
            return Ok(vec![self.name.clone()]);
        }
        let asked = ["remote", "get-url", "--push", "--all", "--", &self.name];
        let listed = Tool::git(&repository.common_dir).args(asked).read().context("list push addresses")?;
        Ok(String::from_utf8_lossy(&listed).lines().map(str::to_owned).collect())
    }

    fn git(&self, repository: &Repository) -> Tool {
        let git = Tool::git(&repository.directory)
            .env("GIT_DIR", repository.common_dir.as_str())
            // There is no one to prompt.
            .env("GIT_ASKPASS", "")
            .env("SSH_ASKPASS_REQUIRE", "never")
            .env("GCM_INTERACTIVE", "never")
            .env("GIT_LFS_SKIP_PUSH", "1")
            // Who asked for the network may have what a partial clone must fetch to send it on.
            .env(NO_LAZY_FETCH, "0")
            .args(["-c", "credential.interactive=false", "-c", "push.gpgSign=false"])
            .args(["-c", "gc.auto=0", "-c", "maintenance.auto=false", "-c", "core.fsync=all"])
            .args(["-c", "core.fsyncMethod=batch", "-c", "pack.useSparse=false"])
            // A line that is dead is given up before the whole transfer would be.
            .args(["-c", "http.lowSpeedLimit=1", "-c", "http.lowSpeedTime=90"])
            // A mirror would push, and delete, everything. As a variable, for an address may hold a `=`.
            .env("GIT_CONFIG_COUNT", "1")
            .env("GIT_CONFIG_KEY_0", format!("remote.{}.mirror", self.name))
            .env("GIT_CONFIG_VALUE_0", "false");
        match &self.ssh_command {
            Some(command) => git.env("GIT_SSH_COMMAND", command),
            None => git,
        }
    }

    /// Returns our refs, and the shared ones, that the remote has.
    pub(super) fn list(&self, repository: &Repository) -> Result<BTreeMap<String, ObjectId>> {
        let [logs, snapshots] = [LOG_PREFIX, SNAPSHOT_PREFIX].map(|prefix| format!("{prefix}*"));
        let listed = self.ls_remote(repository, "--refs", &[&logs, &snapshots, NOTES, TOMBSTONES])?;
        let mut refs = BTreeMap::new();
        for line in listed.lines() {
            let Some((id, name)) = line.split_once('\t') else { continue };
            let is_ours = [NOTES, TOMBSTONES].contains(&name) || SessionRefs::is_name_of_ours(name);
            if let (true, Ok(id)) = (is_ours, id.parse()) {
                refs.insert(name.to_owned(), id);
            }
            if refs.len() > MAX_REFS {
                bail!("{} lists more than {MAX_REFS} refs under refs/ralph/", self.place());
            }
        }
        Ok(refs)
    }

    fn ls_remote(&self, repository: &Repository, flag: &str, patterns: &[&str]) -> Result<String> {
        let git = self.git(repository).args(["ls-remote", "--quiet", flag, "--", &self.name]);
        let listed = reached(git.args(patterns.iter().copied()).limit(LISTING_TIMEOUT).run())?;
        if !listed.is_success() {
            return Err(Unreachable(listed.complaint()).into());
        }
        Ok(String::from_utf8_lossy(&listed.stdout).into_owned())
    }

    /// Asks for all branches, and for other refs by their whole names.
    pub fn branches(&self, repository: &Repository, others: &[String]) -> Result<RemoteBranches> {
        let patterns: Vec<&str> =
            ["HEAD", "refs/heads/*"].into_iter().chain(others.iter().map(String::as_str)).collect();
        let listed = self.ls_remote(repository, "--symref", &patterns)?;
        let mut found = RemoteBranches::default();
        for line in listed.lines() {
            match line.split_once('\t') {
                Some((symbolic, "HEAD")) if symbolic.starts_with("ref: ") => {
                    found.default = symbolic.strip_prefix("ref: refs/heads/").map(str::to_owned);
                }
                Some((id, name)) if name != "HEAD" => {
                    found.tips.extend(id.parse().ok().map(|id| (name.to_owned(), id)));
                }
                _ => {}
            }
        }
        Ok(found)
    }

    /// Fetches refs under other names, which must be unused or ours to overwrite.
    pub(super) fn fetch(
        &self,
        repository: &Repository,
        refs: &[(&str, &str)],
        strictness: Strictness,
    ) -> Result<()> {
        let mut specs = String::new();
        for (from, to) in refs {
            specs.push_str(&format!("+{from}:{to}\n"));
        }
        let flags: &[&str] = match strictness {
            Strictness::Strict => &["-c", "fetch.fsckObjects=true"],
            Strictness::AsSet => &[],
        };
        // The clone may be partial for the project's files. A record without its own is none.
        let options: &[&str] = if repository.is_partial() { &["--no-filter"] } else { &[] };
        self.fetch_with(repository, flags, options, specs)
    }

    /// Fetches what `specs` say, one a line.
    pub(super) fn fetch_with(
        &self,
        repository: &Repository,
        flags: &[&str],
        options: &[&str],
        specs: String,
    ) -> Result<()> {
        let git = self.git(repository).args(flags.iter().copied());
        let git = git
            .args(["fetch", "--quiet", "--no-tags", "--no-prune", "--no-write-fetch-head", "--refmap="])
            .args(["--no-recurse-submodules", "--stdin"])
            .args(options.iter().copied())
            .args(["--", &self.name])
            .stdin(specs);
        let fetched = reached(git.limit(TRANSFER).run())?;
        if fetched.is_success() {
            return Ok(());
        }
        let words = fetched.complaint();
        if is_lost(&fetched) { Err(Unreachable(words).into()) } else { bail!("{words}") }
    }

    /// Pushes commits to refs, where that goes forward; a connection that breaks is an error.
    pub(super) fn push(&self, repository: &Repository, refs: &[(String, ObjectId)]) -> Result<PushReport> {
        let specs: Vec<String> = refs.iter().map(|(name, id)| format!("{id}:{name}")).collect();
        self.push_specs(repository, &[], &specs)
    }

    /// Deletes a ref there, if it still points where we think.
    pub(super) fn delete(&self, repository: &Repository, name: &str, at: &ObjectId) -> Result<PushOutcome> {
        let lease = format!("--force-with-lease={name}:{at}");
        let (mut answers, said) = self.push_specs(repository, &[lease], &[format!(":{name}")])?;
        let answer = answers.remove(name).context("read what git says of the deletion")?;
        Ok(match answer {
            PushOutcome::Refused(words) if !said.is_empty() => {
                PushOutcome::Refused(format!("{words}: {}", said.join(" ")))
            }
            PushOutcome::Refused(_) | PushOutcome::Done | PushOutcome::Behind => answer,
        })
    }

    fn push_specs(&self, repository: &Repository, flags: &[String], specs: &[String]) -> Result<PushReport> {
        let git = self
            .git(repository)
            .args(["push", "--porcelain", "--no-verify", "--no-follow-tags", "--recurse-submodules=no"])
            .args(flags)
            .args(["--", &self.name])
            .args(specs);
        let ended = reached(git.limit(TRANSFER).run())?;
        let answers = outcomes(&String::from_utf8_lossy(&ended.stdout));
        if answers.is_empty() || is_lost(&ended) {
            return Err(Unreachable(ended.complaint()).into());
        }
        Ok((answers, said_there(&String::from_utf8_lossy(&ended.stderr))))
    }

    /// Fetches files by their ids, all at once.
    pub fn bring(&self, repository: &Repository, ids: &[ObjectId]) -> Result<()> {
        let specs: String = ids.iter().map(|id| format!("{id}\n")).collect();
        // As git itself does it: what is here is no use to the other side.
        let flags = ["-c", "fetch.negotiationAlgorithm=noop"];
        self.fetch_with(repository, &flags, &["--filter=blob:none"], specs)
    }
}

impl Store {
    /// Returns what a sync that was cut off left, by the names of its refs.
    pub fn left_incoming(&self) -> Result<Vec<String>> {
        Ok(self.refs().below(INCOMING_PREFIX)?.into_iter().map(|(name, _)| name).collect())
    }

    /// Asks a remote for its sessions, and for permission to push ours. Nothing is sent, so
    /// hooks of the remote do not run.
    pub fn probe(&self, remote: &Remote) -> Result<(usize, Vec<String>)> {
        let there = remote.list(self.repository())?;
        let sessions = there.keys().filter(|name| name.starts_with(LOG_PREFIX)).count();
        let mut specs = Vec::new();
        for refs in self.session_names()?.into_iter().rev().take(BATCH) {
            let name = refs.log();
            if let Some(tip) = self.refs().tip(&name)?.filter(|tip| there.get(&name) != Some(tip)) {
                specs.push(format!("{tip}:{name}"));
            }
        }
        if specs.is_empty()
            && let Some(head) = self.refs().heads()?.first()
        {
            // Any commit will do to be let in.
            specs.push(format!("{head}:{LOG_PREFIX}probe/probe"));
        }
        if specs.is_empty() {
            return Ok((sessions, Vec::new()));
        }
        let (answers, _) = remote.push_specs(self.repository(), &["--dry-run".to_owned()], &specs)?;
        let refused = answers.into_iter().filter_map(|(name, answer)| match answer {
            PushOutcome::Refused(words) => Some(format!("{name}: {words}")),
            PushOutcome::Done | PushOutcome::Behind => None,
        });
        Ok((sessions, refused.collect()))
    }
}

/// Returns messages of the remote itself, such as those of a hook; git's own are in the answers.
fn said_there(stderr: &str) -> Vec<String> {
    let of_git = ["error: hook declined", "error: cannot lock ref", "fatal: ", "Resolving deltas"];
    let lines = stderr.lines().filter_map(|line| line.strip_prefix("remote: ")).map(str::trim);
    lines
        .filter(|line| !line.is_empty() && !of_git.iter().any(|start| line.starts_with(start)))
        .take(MAX_REMOTE_LINES)
        .map(str::to_owned)
        .collect()
}

/// Parses the output of `git push --porcelain`.
fn outcomes(text: &str) -> PushOutcomes {
    let mut found = BTreeMap::new();
    for line in text.lines() {
        let mut fields = line.split('\t');
        let (Some(flag), Some(refs), Some(summary)) = (fields.next(), fields.next(), fields.next()) else {
            continue;
        };
        let Some((_, name)) = refs.split_once(':') else { continue };
        let is_behind = ["(non-fast-forward)", "(fetch first)", "(stale info)", "(needs force)"];
        let is_behind = is_behind.iter().any(|words| summary.ends_with(words))
            // Another push to the same ref was faster.
            || summary.contains("cannot lock ref")
            || summary.contains("failed to update ref");
        let outcome = match flag {
            "!" if is_behind => PushOutcome::Behind,
            "!" => PushOutcome::Refused(summary.to_owned()),
            _ => PushOutcome::Done,
        };
        found.insert(name.to_owned(), outcome);
    }
    found
}

/// A program that does not answer in time counts as a remote that does not.
fn reached(ended: Result<Captured>) -> Result<Captured> {
    ended.map_err(|error| Unreachable(error.root_cause().to_string()).into())
}

/// Returns true if the connection broke, or there was none.
fn is_lost(ended: &Captured) -> bool {
    let stderr = String::from_utf8_lossy(&ended.stderr);
    let signs = [
        "Could not read from remote repository",
        "Could not resolve host",
        "unable to access",
        "unable to connect",
        "does not appear to be a git repository",
        "early EOF",
        "hung up unexpectedly",
        "unexpected disconnect",
        "Connection reset",
        "Connection timed out",
        "Connection refused",
        "terminal prompts disabled",
    ];
    signs.iter().any(|sign| stderr.contains(sign))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_password_in_an_address_is_not_shown() {
        let place = |name: &str| Remote { name: name.to_owned(), url: None, ssh_command: None }.place();
        for (name, shown) in [
            ("https://user:pw@host/x@y", "https://host/x@y"),
            ("https://user:p@w@host", "https://host"),
            ("ssh://git@host:22/x", "ssh://host:22/x"),
            ("git@host:x", "git@host:x"),
            ("/a/path@x", "/a/path@x"),
            ("origin", "origin"),
        ] {
            assert_eq!(place(name), shown);
        }
    }

    #[test]
    fn the_other_sides_message_is_shown_without_gits_own_lines() {
        let stderr = "remote: no ralph here        \nremote: error: hook declined to update refs/ralph/a/1        \nTo /x\n ! [remote rejected]\nerror: failed to push\n";
        assert_eq!(said_there(stderr), ["no ralph here"]);
    }

    #[test]
    fn what_became_of_each_ref_is_read_from_what_git_says() {
        let text = "To /remote.git\n \tabc:refs/ralph/a/1\t123..456\n*\tabc:refs/ralph/a/2\t[new reference]\n=\tabc:refs/ralph/a/3\t[up to date]\n!\tabc:refs/ralph/a/4\t[rejected] (fetch first)\n!\tabc:refs/ralph/a/5\t[remote rejected] (pre-receive hook declined)\n-\t:refs/ralph/a/6\t[deleted]\n!\tabc:refs/notes/ralph\t[remote rejected] (cannot lock ref 'refs/notes/ralph')\nDone\n";
        let expected = [
            ("refs/notes/ralph", PushOutcome::Behind),
            ("refs/ralph/a/1", PushOutcome::Done),
            ("refs/ralph/a/2", PushOutcome::Done),
            ("refs/ralph/a/3", PushOutcome::Done),
            ("refs/ralph/a/4", PushOutcome::Behind),
            (
                "refs/ralph/a/5",
                PushOutcome::Refused("[remote rejected] (pre-receive hook declined)".to_owned()),
            ),
            ("refs/ralph/a/6", PushOutcome::Done),
        ];
        let found: Vec<_> = outcomes(text).into_iter().collect();
        assert_eq!(found, expected.map(|(name, outcome)| (name.to_owned(), outcome)));
    }
}

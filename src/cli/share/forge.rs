//! Where pull requests are made: GitHub and GitLab, through their own programs, with the logins that these have.

use anyhow::{Context as _, Result, bail};
use camino::Utf8Path;
use serde::Deserialize;
use serde_json::{Value, json};

use ralph_os::process::{Captured, Tool};
use ralph_ui::report::MARKDOWN;
use ralph_ui::style::one_line;

/// Longest description that every host takes, in characters.
const MAX_DESCRIPTION: usize = 65_000;

/// A repository at a host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    pub host: String,
    /// `acme/shop`
    pub path: String,
}

impl Place {
    /// Reads an address of git's; `None` for a path or what names no host.
    pub fn of(address: &str) -> Option<Self> {
        let (host, path) = match address.split_once("://") {
            Some(("file", _)) => return None,
            Some((_, rest)) => rest.split_once('/')?,
            // As ssh has it. A letter and a colon are a drive.
            None => address.split_once(':').filter(|(host, _)| host.len() > 1 && !host.contains('/'))?,
        };
        let host = host.rsplit_once('@').map_or(host, |(_, host)| host);
        let host = host.split_once(':').map_or(host, |(host, _)| host);
        let path = path.trim_matches('/').trim_end_matches(".git");
        let is_plain =
            |text: &str| !text.is_empty() && !text.starts_with('-') && !text.contains(char::is_whitespace);
        (is_plain(host) && is_plain(path) && path.contains('/'))
            .then(|| Self { host: host.to_lowercase(), path: path.to_owned() })
    }

    /// Returns the first part of its path: who has it.
    pub fn owner(&self) -> &str {
        self.path.split('/').next().unwrap_or_default()
    }
}

/// A host whose program is here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Forge {
    GitHub,
    GitLab,
}

/// An open pull request, as far as we need to know it.
#[derive(Debug, Deserialize)]
pub struct Open {
    #[serde(alias = "iid")]
    pub number: u64,
    #[serde(alias = "html_url", alias = "web_url")]
    pub url: String,
    /// What people and we wrote before.
    #[serde(default, alias = "description")]
    pub body: Option<String>,
}

/// What a pull request is to be.
#[derive(Debug)]
pub struct Wanted<'a> {
    /// The repository that it is made in, and that of its branch.
    pub base: &'a Place,
    pub head: &'a Place,
    pub into: &'a str,
    pub branch: &'a str,
    pub title: &'a str,
    pub is_draft: bool,
}

impl Forge {
    /// Returns what speaks with a host; `None` for one of another kind.
    pub fn of(place: &Place) -> Option<Self> {
        [(Self::GitHub, "github"), (Self::GitLab, "gitlab")]
            .into_iter()
            .find_map(|(forge, word)| place.host.contains(word).then_some(forge))
    }

    pub fn program(self) -> &'static str {
        match self {
            Self::GitHub => "gh",
            Self::GitLab => "glab",
        }
    }

    pub fn is_here(self, directory: &Utf8Path) -> bool {
        Tool::new(self.program(), directory).arg("--version").run().is_ok_and(|ended| ended.is_success())
    }

    /// Returns the ref by which a clone of the base has a pull request.
    pub fn reference(self, number: u64) -> String {
        match self {
            Self::GitHub => format!("pull/{number}/head"),
            Self::GitLab => format!("merge-requests/{number}/head"),
        }
    }

    /// Returns the open pull request of a branch.
    pub fn find(self, wanted: &Wanted<'_>, directory: &Utf8Path) -> Result<Option<Open>> {
        let Wanted { base, head, into, branch, .. } = wanted;
        let asked = match self {
            Self::GitHub => self.api(base, "GET", &format!("repos/{}/pulls", base.path), directory).args([
                "-f".to_owned(),
                "state=open".to_owned(),
                "-f".to_owned(),
                format!("head={}:{branch}", head.owner()),
                "-f".to_owned(),
                format!("base={into}"),
            ]),
            Self::GitLab => {
                self.api(base, "GET", &format!("{}/merge_requests", project(base)), directory).args([
                    "-f".to_owned(),
                    "state=opened".to_owned(),
                    "-f".to_owned(),
                    format!("source_branch={branch}"),
                    "-f".to_owned(),
                    format!("target_branch={into}"),
                ])
            }
        };
        let listed = self.answered(asked)?;
        let listed: Vec<Open> = serde_json::from_slice(&listed.stdout)
            .with_context(|| format!("read what {} lists", self.program()))?;
        Ok(listed.into_iter().next())
    }

    /// Makes a pull request. Returns its address.
    pub fn create(self, wanted: &Wanted<'_>, body: &str, directory: &Utf8Path) -> Result<String> {
        let Wanted { base, head, into, branch, title, is_draft } = wanted;
        if self == Self::GitHub {
            let from = if base == head { (*branch).to_owned() } else { format!("{}:{branch}", head.owner()) };
            let create = Tool::new("gh", directory).args(["pr", "create", "--repo"]);
            let create = create.arg(format!("{}/{}", base.host, base.path)).args([
                format!("--base={into}"),
                format!("--head={from}"),
                format!("--title={title}"),
                "--body-file=-".to_owned(),
            ]);
            let created = self.answered(create.args(is_draft.then_some("--draft")).stdin(body))?;
            let said = String::from_utf8_lossy(&created.stdout).into_owned();
            return Ok(said
                .lines()
                .rfind(|line| !line.trim().is_empty())
                .unwrap_or_default()
                .trim()
                .to_owned());
        }
        let draft = if *is_draft { "Draft: " } else { "" };
        let mut fields = json!({
            "source_branch": branch, "target_branch": into, "title": format!("{draft}{title}"), "description": body,
        });
        if base != head {
            let found = self.answered(self.api(base, "GET", &project(base), directory))?;
            let found: Value =
                serde_json::from_slice(&found.stdout).context("read what glab says of the project")?;
            fields["target_project_id"] = found["id"].clone();
        }
        let post = self.api(head, "POST", &format!("{}/merge_requests", project(head)), directory);
        self.sent(post, &fields)
    }

    /// Writes another description, and a title if one is given. Returns its address.
    pub fn update(
        self,
        base: &Place,
        number: u64,
        (body, title): (&str, Option<&str>),
        directory: &Utf8Path,
    ) -> Result<String> {
        let (method, path, key) = match self {
            Self::GitHub => ("PATCH", format!("repos/{}/pulls/{number}", base.path), "body"),
            Self::GitLab => ("PUT", format!("{}/merge_requests/{number}", project(base)), "description"),
        };
        let mut fields = json!({ key: body });
        if let Some(title) = title {
            fields["title"] = title.into();
        }
        self.sent(self.api(base, method, &path, directory), &fields)
    }

    fn api(self, place: &Place, method: &str, path: &str, directory: &Utf8Path) -> Tool {
        let words = ["api", "--hostname", &place.host, "--method", method, path];
        Tool::new(self.program(), directory).args(words.map(str::to_owned))
    }

    fn sent(self, request: Tool, fields: &Value) -> Result<String> {
        let json = ["--header", "Content-Type: application/json", "--input", "-"];
        let answer = self.answered(request.args(json).stdin(fields.to_string()))?;
        let answer: Open = serde_json::from_slice(&answer.stdout)
            .with_context(|| format!("read what {} says of the pull request", self.program()))?;
        Ok(answer.url)
    }

    fn answered(self, request: Tool) -> Result<Captured> {
        let request = request.env("GH_PROMPT_DISABLED", "1").env("NO_PROMPT", "1").env("NO_COLOR", "1");
        let ended = request.env("GH_NO_UPDATE_NOTIFIER", "1").run()?;
        if !ended.is_success() {
            let program = self.program();
            let words = complaints(&ended);
            let said = if words.is_empty() { format!("exit code {}", ended.code) } else { words.join("; ") };
            bail!("{program}: {said}\nhint: `{program} auth status` says whether it is logged in");
        }
        Ok(ended)
    }
}

/// Returns all that a program said of why it failed.
pub fn complaints(ended: &Captured) -> Vec<String> {
    let stderr = String::from_utf8_lossy(&ended.stderr);
    stderr.lines().map(one_line).filter(|line| !line.trim().is_empty()).collect()
}

fn project(place: &Place) -> String {
    format!("projects/{}", place.path.replace('/', "%2F"))
}

/// Puts our part where it was in a description, or behind it. What people wrote around it stays, byte for byte.
pub fn spliced(theirs: &str, ours: &str) -> String {
    let [begin, end] = MARKDOWN;
    let ours = ours.trim_end();
    let at = theirs.rfind(end).and_then(|at| Some((theirs.get(..at)?.rfind(begin)?, at + end.len())));
    let Some((from, to)) = at else {
        let theirs = theirs.trim_end();
        let gap = if theirs.is_empty() { "" } else { "\n\n" };
        return format!("{theirs}{gap}{ours}\n");
    };
    [theirs.get(..from), Some(ours), theirs.get(to..)].into_iter().flatten().collect()
}

/// Returns how many characters our part may have beside what people wrote.
pub fn room(theirs: &str) -> usize {
    MAX_DESCRIPTION.saturating_sub(spliced(theirs, "").chars().count())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_and_a_repository_are_read_from_every_form_of_an_address() {
        let place = |host: &str, path: &str| Some(Place { host: host.to_owned(), path: path.to_owned() });
        for (address, expected) in [
            ("https://github.com/acme/shop.git", place("github.com", "acme/shop")),
            ("https://ada:pw@GitHub.com:443/acme/shop", place("github.com", "acme/shop")),
            ("git@github.com:acme/shop.git", place("github.com", "acme/shop")),
            ("ssh://git@gitlab.example.org:2222/a/b/shop.git/", place("gitlab.example.org", "a/b/shop")),
            ("/srv/git/shop.git", None),
            ("../shop", None),
            ("file:///srv/shop", None),
            ("C:\\work\\shop", None),
            ("github.com:shop", None),
            ("--upload-pack=x:a/b", None),
        ] {
            assert_eq!(Place::of(address), expected, "{address}");
        }
        let forge = |host: &str| Forge::of(&Place { host: host.to_owned(), path: "a/b".to_owned() });
        assert_eq!(forge("github.example.org"), Some(Forge::GitHub));
        assert_eq!(forge("gitlab.com"), Some(Forge::GitLab));
        assert_eq!(forge("codeberg.org"), None);
    }

    #[test]
    fn what_people_wrote_around_our_part_stays() {
        let [begin, end] = MARKDOWN;
        let ours = format!("{begin}\nnew\n{end}\n");
        for (theirs, expected) in [
            (String::new(), format!("{begin}\nnew\n{end}\n")),
            ("Hello\r\n".to_owned(), format!("Hello\n\n{begin}\nnew\n{end}\n")),
            (format!("a\r\n{begin}\nold\n{end}\r\nz  \n"), format!("a\r\n{begin}\nnew\n{end}\r\nz  \n")),
            // A begin without an end is text of theirs.
            (format!("{end} {begin} x"), format!("{end} {begin} x\n\n{begin}\nnew\n{end}\n")),
        ] {
            assert_eq!(spliced(&theirs, &ours), expected);
            assert_eq!(spliced(&expected, &ours), expected, "once more changes nothing");
        }
        assert_eq!(room(&"x".repeat(64_998)), 0);
    }
}

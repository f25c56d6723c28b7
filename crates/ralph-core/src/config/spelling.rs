//! One name in three spellings: the file's, git's and the environment's.

use super::key::Key;
use super::settings::{self, CAPTURE, KEYS};

/// What every variable of ours begins with.
pub const VARIABLE_PREFIX: &str = "SPECKIT_RALPH_";

/// What every key of ours in git's configuration begins with, as git prints it.
pub const GIT_PREFIX: &str = "ralph.";

/// Where links in the work tree may lead beyond it: in git's configuration alone, as git prints it. A file of the project
/// must not permit what its own links do.
pub const ALLOW_LINKS: &str = "ralph.allowlinks";

/// What stands in git's configuration alone.
pub(super) const GIT_ONLY: &[&str] = &[ALLOW_LINKS];

/// `progress.max-entries` as `ralph.progress.maxEntries`.
pub fn git_name(name: &str) -> String {
    let mut text = GIT_PREFIX.to_owned();
    let mut is_after_hyphen = false;
    for letter in name.chars() {
        match letter {
            '-' => is_after_hyphen = true,
            letter if is_after_hyphen => {
                text.extend(letter.to_uppercase());
                is_after_hyphen = false;
            }
            letter => text.push(letter),
        }
    }
    text
}

/// `progress.max-entries` as `SPECKIT_RALPH_PROGRESS_MAX_ENTRIES`.
pub fn variable_name(name: &str) -> String {
    let plain = name.chars().map(|c| if matches!(c, '.' | '-') { '_' } else { c.to_ascii_uppercase() });
    VARIABLE_PREFIX.chars().chain(plain).collect()
}

/// Returns the setting that a key of git's means, and its name in the file's spelling.
///
/// Git folds the case of section and variable, but not of what is between them.
pub(super) fn from_git(key: &str) -> Option<(String, &'static Key)> {
    let lower = key.to_ascii_lowercase();
    let name = lower.strip_prefix(GIT_PREFIX)?;
    if let Some(rest) = name.strip_prefix(CAPTURE) {
        return settings::find(name).map(|key| (format!("{CAPTURE}{rest}"), key));
    }
    let name = settings::canonical(name);
    let key = KEYS.iter().find(|key| git_name(key.name)[GIT_PREFIX.len()..].to_ascii_lowercase() == name)?;
    Some((key.name.to_owned(), key))
}

/// Returns the setting that a variable means, and its name in the file's spelling.
pub(super) fn from_variable(variable: &str) -> Option<(String, &'static Key)> {
    let name = variable.strip_prefix(VARIABLE_PREFIX)?;
    if let Some(rest) = name.strip_prefix("CAPTURE_") {
        let name = format!("{CAPTURE}{}", rest.to_ascii_lowercase().replace('_', "-"));
        return settings::find(&name).map(|key| (name, key));
    }
    // Spec-kit's own loop extension has this name for it.
    let name = match name {
        "AGENT_CLI" => "AGENT",
        "SANDBOX" => "SANDBOX_MECHANISM",
        name => name,
    };
    let key = KEYS.iter().find(|key| &variable_name(key.name)[VARIABLE_PREFIX.len()..] == name)?;
    Some((key.name.to_owned(), key))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_has_three_spellings() {
        assert_eq!(git_name("progress.max-entries"), "ralph.progress.maxEntries");
        assert_eq!(variable_name("progress.max-entries"), "SPECKIT_RALPH_PROGRESS_MAX_ENTRIES");
        for key in KEYS.iter().filter(|key| !key.name.contains('<')) {
            let expected = Some((key.name.to_owned(), key));
            assert_eq!(from_git(&git_name(key.name)), expected);
            assert_eq!(from_git(&git_name(key.name).to_ascii_lowercase()), expected, "as git prints it");
            assert_eq!(from_variable(&variable_name(key.name)), expected);
        }
    }

    #[test]
    fn captures_have_names_of_the_users() {
        let name = |found: Option<(String, &Key)>| found.map(|(name, _)| name);
        assert_eq!(name(from_git("ralph.capture.port")), Some("capture.port".into()));
        assert_eq!(name(from_git("ralph.capture.")), None);
        assert_eq!(name(from_variable("SPECKIT_RALPH_CAPTURE_MY_PORT")), Some("capture.my-port".into()));
        assert_eq!(name(from_variable("SPECKIT_RALPH_AGENT_CLI")), Some("agent".into()));
        assert_eq!(name(from_variable("SPECKIT_RALPH_SPEED")), None);
        assert_eq!(name(from_variable("SPECKIT_RALPH_SANDBOX")), Some("sandbox.mechanism".into()));
        assert_eq!(name(from_git("ralph.sandbox")), Some("sandbox.mechanism".into()));
    }
}

//! The repository's settings, as an attempt found them and as it left them.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::Result;

use ralph_core::record::{GitState, GitStateKind, quoted_for_shell};
use ralph_git::worktree::{WatchedSettings, WorkTree};

/// A key, and true beside it if it is of one work tree alone.
type Key = (bool, String);

/// The settings of the repository that a session began with.
#[derive(Debug, Default)]
pub(super) struct Configuration {
    expected: WatchedSettings,
    last: WatchedSettings,
    /// What the files had that these were read from.
    files: Option<[Option<Vec<u8>>; 2]>,
    /// The iteration that left each key with another value.
    since: BTreeMap<Key, u32>,
}

impl Configuration {
    /// Returns the settings as they are now. Git reads them only where their files are not as at the last look: each attempt has two.
    pub fn read(&mut self, work_tree: &WorkTree) -> Result<WatchedSettings> {
        let files = work_tree.settings_files();
        if self.files.as_ref() == Some(&files) {
            return Ok(self.last.clone());
        }
        let now = work_tree.watched_settings()?;
        self.files = Some(files);
        Ok(now)
    }

    /// Notes the settings before an attempt. One that was changed since the last look is as the user wants it.
    pub fn begin_attempt(&mut self, now: WatchedSettings) {
        for key in differing(&self.last, &now) {
            self.since.remove(&key);
            match now.get(&key) {
                Some(values) => self.expected.insert(key, values.clone()),
                None => self.expected.remove(&key),
            };
        }
        self.last = now;
    }

    /// Returns what attempts changed and nobody undid, each with the command that undoes it.
    pub fn look(&mut self, now: WatchedSettings, iteration: u32) -> Vec<GitState> {
        let changed = differing(&self.expected, &now);
        self.since.retain(|key, _| changed.contains(key));
        let states = changed.into_iter().map(|key| {
            let [before, after] = [&self.expected, &now].map(|settings| values(settings, &key));
            let is_husky = key.1 == "core.hookspath"
                && matches!(after, [path] if path.trim_start_matches("./").starts_with(".husky"));
            let text = if is_husky {
                format!("{}, as husky sets it", setting(&key, after))
            } else {
                format!("{}, was {}", setting(&key, after), shown(before))
            };
            let command = (!is_husky).then(|| undoing(&key, before, after));
            let since = *self.since.entry(key).or_insert(iteration);
            GitState { kind: GitStateKind::Configuration, text, finish: None, command, since }
        });
        let states = states.collect();
        self.last = now;
        states
    }
}

/// Returns true if a setting is still as a state says.
pub(super) fn is_so(state: &GitState, now: &WatchedSettings) -> bool {
    let Some(name) = state.text.split('`').nth(1) else { return true };
    let is_of_state = |key: &&Key| pretty(&key.1) == name;
    let lines: Vec<String> =
        now.keys().filter(is_of_state).map(|key| setting(key, values(now, key))).collect();
    let absent = setting(&(false, name.to_owned()), &[]);
    let mut lines = if lines.is_empty() { vec![absent] } else { lines }.into_iter();
    lines.any(|line| state.text.starts_with(&format!("{line}, ")))
}

fn differing(one: &WatchedSettings, other: &WatchedSettings) -> BTreeSet<Key> {
    let keys = one.keys().chain(other.keys());
    keys.filter(|key| one.get(*key) != other.get(*key)).cloned().collect()
}

fn values<'s>(settings: &'s WatchedSettings, key: &Key) -> &'s [String] {
    settings.get(key).map_or(&[], Vec::as_slice)
}

/// ``core.bare` is `true``
fn setting(key: &Key, values: &[String]) -> String {
    format!("`{}` is {}", pretty(&key.1), shown(values))
}

fn shown(values: &[String]) -> String {
    let quoted: Vec<String> = values.iter().map(|value| format!("`{value}`")).collect();
    if quoted.is_empty() { "not set".to_owned() } else { quoted.join(" and ") }
}

/// Returns a key as people write it: git prints it in lower case.
fn pretty(key: &str) -> &str {
    match key {
        "core.hookspath" => "core.hooksPath",
        "commit.gpgsign" => "commit.gpgSign",
        key => key,
    }
}

/// Returns the command that gives a setting its former values.
fn undoing((is_of_work_tree, key): &Key, before: &[String], after: &[String]) -> String {
    let config = if *is_of_work_tree { "git config --worktree" } else { "git config" };
    let key = quoted_for_shell(pretty(key));
    match before {
        [] => format!("{config} --unset-all {key}"),
        [one] if after.len() < 2 => format!("{config} {key} {}", quoted_for_shell(one)),
        [first, rest @ ..] => {
            let first = format!("{config} --replace-all {key} {}", quoted_for_shell(first));
            let rest = rest.iter().map(|value| format!("{config} --add {key} {}", quoted_for_shell(value)));
            std::iter::once(first).chain(rest).collect::<Vec<_>>().join(" && ")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `core.bare=true;user.name=A;user.name=B`
    fn settings(text: &str) -> WatchedSettings {
        let mut settings = WatchedSettings::new();
        for (key, value) in text.split(';').filter_map(|entry| entry.split_once('=')) {
            let (is_of_work_tree, key) = key.strip_prefix("w:").map_or((false, key), |key| (true, key));
            settings.entry((is_of_work_tree, key.to_owned())).or_default().push(value.to_owned());
        }
        settings
    }

    fn lines(states: &[GitState]) -> Vec<String> {
        let line = |state: &GitState| {
            format!("{}, #{}: {}", state.text, state.since, state.command.as_deref().unwrap_or_default())
        };
        states.iter().map(line).collect()
    }

    #[test]
    fn a_setting_that_an_attempt_changed_has_the_line_that_undoes_it() {
        for (before, after, expected) in [
            ("core.bare=false", "core.bare=false", ""),
            (
                "core.bare=false",
                "core.bare=true",
                "`core.bare` is `true`, was `false`, #1: git config core.bare false",
            ),
            ("", "user.name=Bot", "`user.name` is `Bot`, was not set, #1: git config --unset-all user.name"),
            ("user.name=Ada L", "", "`user.name` is not set, was `Ada L`, #1: git config user.name 'Ada L'"),
            (
                "include.path=a;include.path=b c",
                "include.path=x",
                "`include.path` is `x`, was `a` and `b c`, #1: git config --replace-all include.path a && git config --add include.path 'b c'",
            ),
            (
                "user.email=a",
                "user.email=b;user.email=c",
                "`user.email` is `b` and `c`, was `a`, #1: git config --replace-all user.email a",
            ),
            (
                "w:core.worktree=/a",
                "w:core.worktree=/b",
                "`core.worktree` is `/b`, was `/a`, #1: git config --worktree core.worktree /a",
            ),
            (
                "",
                "core.hookspath=/dev/null",
                "`core.hooksPath` is `/dev/null`, was not set, #1: git config --unset-all core.hooksPath",
            ),
            ("", "core.hookspath=.husky/_", "`core.hooksPath` is `.husky/_`, as husky sets it, #1: "),
        ] {
            let mut configuration = Configuration::default();
            configuration.begin_attempt(settings(before));
            let states = configuration.look(settings(after), 1);
            assert_eq!(lines(&states).join("; "), expected, "{before} {after}");
            assert!(states.iter().all(|state| is_so(state, &settings(after))), "{after}");
            assert!(!states.iter().any(|state| is_so(state, &settings(before))), "{before}");
        }
    }

    #[test]
    fn what_an_attempt_changed_is_said_until_it_is_undone_and_what_the_user_changes_is_not() {
        let mut configuration = Configuration::default();
        let (plain, bot) = (settings("user.name=Ada"), settings("user.name=Bot"));
        configuration.begin_attempt(plain.clone());
        assert_eq!(lines(&configuration.look(bot.clone(), 1)).len(), 1);
        configuration.begin_attempt(bot.clone());
        assert_eq!(
            lines(&configuration.look(bot.clone(), 2)),
            ["`user.name` is `Bot`, was `Ada`, #1: git config user.name Ada"]
        );
        configuration.begin_attempt(plain.clone());
        assert_eq!(configuration.look(plain, 3), []);
        // Between two attempts it is the user.
        configuration.begin_attempt(bot.clone());
        assert_eq!(configuration.look(bot, 4), []);
    }
}

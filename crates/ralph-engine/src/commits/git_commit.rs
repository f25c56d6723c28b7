//! The `git commit` of finished work: a second attempt with what a hook changed, and an end for one that waits for input.
//!
//! It is git that commits, so that hooks, signature and identity are the user's. It has an index of its own, so that what the user
//! staged stays staged.

use std::collections::{BTreeSet, HashMap};
use std::fs;
use std::io::{BufRead, BufReader};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use camino::{Utf8Path, Utf8PathBuf};
use serde_json::Value;

use ralph_core::record::{Event, ExitReason, Need, NeedKind, ObjectId, join_files};
use ralph_git::worktree::{RawPath, StagedEntries, WorkTree};
use ralph_os::if_there::IfThere;
use ralph_os::process::{Activity, Child, Limits};

use super::message::{CommitSubject, ITERATION_TRAILER, MAX_NAMED, display_paths};
use super::pending::PendingCommit;
use crate::loop_inputs::LoopInputs;
use crate::recorder::Recorder;
use crate::settings::validation_limits;
use crate::shown::warn;

/// How long a commit may wait for somebody: nobody answers a pinentry, an editor or a question at night.
const MAX_WAIT: Duration = Duration::from_mins(2);

/// So many commits of a session may wait; then it makes no more.
const MAX_WAITED_COMMITS: u32 = 2;

/// The hook that looks at the message.
const MESSAGE_HOOK: &str = "commit-msg";

/// How much of its output a warning has, in characters.
const MAX_HOOK_CHARS: usize = 8000;

/// Where git writes which programs it starts.
const TRACE_VARIABLE: &str = "GIT_TRACE2_EVENT";

/// What a commit is made of.
#[derive(Debug)]
pub(super) struct CommitPlan {
    pub work_tree: WorkTree,
    pub index: Utf8PathBuf,
    pub message: Utf8PathBuf,
    pub base: Option<ObjectId>,
    pub paths: BTreeSet<RawPath>,
}

/// How `git commit` ended.
pub(super) enum GitCommit {
    Made,
    /// By git, a hook, a limit or a stop.
    Failed {
        reason: String,
        may_try_again: bool,
        /// What the `commit-msg` hook printed, if it refused the message.
        of_message_hook: Option<String>,
    },
    /// It was stopped because it waited for this.
    Waited(String),
}

impl PendingCommit {
    /// Makes the commit. If a hook refuses it and has changed files, it is tried once more with them; they are added to
    /// the paths of `commit`.
    pub(super) fn make_commit(
        &mut self,
        inputs: &LoopInputs<'_>,
        recorder: &mut Recorder<'_>,
        say: &mut dyn FnMut(&Event),
        commit: &mut CommitPlan,
        user_staged: &StagedEntries,
        done: &CommitSubject<'_>,
    ) -> Result<ObjectId> {
        let mut ended = run_git_commit(inputs, recorder, commit, done)?;
        let mut changed = Vec::new();
        if let GitCommit::Failed { reason, may_try_again: true, .. } = &ended {
            let looked = self.changed_by_hook(recorder, commit, user_staged, done);
            changed = looked.with_context(|| format!("{reason}; what the hook changed is not known"))?;
            if !changed.is_empty() {
                commit.paths.extend(changed.iter().cloned());
                let (has_changes, _) =
                    commit.work_tree.prepare(&commit.index, commit.base.as_ref(), &commit.paths)?;
                if !has_changes {
                    bail!("{reason}; the hook took the changes back, the snapshot of the iteration has them");
                }
                ended = run_git_commit(inputs, recorder, commit, done)?;
            }
        }
        let made = inputs.work_tree.head()?.filter(|made| Some(made) != commit.base.as_ref());
        let changed = display_paths(&changed);
        match (ended, made) {
            (GitCommit::Made, Some(made)) => {
                if !changed.is_empty() {
                    warn(
                        say,
                        format!(
                            "a hook refused the commit of {} and changed {changed}: committed with that at the second attempt",
                            done.task.name
                        ),
                    );
                }
                Ok(made)
            }
            (GitCommit::Made, None) => bail!("git reported success, but HEAD did not move"),
            (GitCommit::Failed { reason, of_message_hook, .. }, _) => {
                let again = if changed.is_empty() {
                    String::new()
                } else {
                    format!(" (also at the second attempt, with what a hook had changed: {changed})")
                };
                // Said once: every commit of the session is refused for the same.
                let said = of_message_hook.filter(|_| !std::mem::replace(&mut self.has_said_hook, true));
                bail!("{reason}{again}{}", said.unwrap_or_default())
            }
            (GitCommit::Waited(program), made) => {
                self.waited.push(program.clone());
                let made_in = format!("{}:{} ", recorder.place().session, done.iteration);
                let made = match made {
                    Some(made) => {
                        let (_, trailer) = commit.work_tree.base_and_trailer(&made, ITERATION_TRAILER)?;
                        Some(made).filter(|_| trailer.starts_with(&made_in))
                    }
                    None => None,
                };
                let off = if self.is_off() {
                    "; it is the second, so this session makes no more commits"
                } else if made.is_none() {
                    "; the next commit takes the work along"
                } else {
                    ""
                };
                let waited = format!(
                    "`git commit` waited {} min for {program} and was stopped{off}",
                    MAX_WAIT.as_secs() / 60
                );
                say(&Event::NeedsYou(Need {
                    why: NeedKind::Git,
                    task: Some(done.task.name.clone()),
                    cause: Some(waited.clone()),
                    session: done.session.clone(),
                    iteration: Some(done.iteration),
                }));
                let Some(made) = made else { bail!("{waited}") };
                warn(say, format!("{} is committed, but {waited}", done.task.name));
                Ok(made)
            }
        }
    }

    /// Returns what changed in the work tree while the commit was refused, but for what is the user's.
    fn changed_by_hook(
        &self,
        recorder: &mut Recorder<'_>,
        commit: &CommitPlan,
        user_staged: &StagedEntries,
        done: &CommitSubject<'_>,
    ) -> Result<Vec<RawPath>> {
        let (_, mut changed) = recorder.peek(done.slot)?;
        changed.retain(|path| {
            let is_of_user = user_staged.has(path) || self.dirty.contains(path);
            commit.paths.contains(path) || !is_of_user
        });
        Ok(changed)
    }
}

/// Runs `git commit` with hooks, and with an end if it waits for somebody.
pub(super) fn run_git_commit(
    inputs: &LoopInputs<'_>,
    recorder: &mut Recorder<'_>,
    commit: &CommitPlan,
    done: &CommitSubject<'_>,
) -> Result<GitCommit> {
    let (argv, variables) = commit.work_tree.commit_command(&commit.index, &commit.message);
    let scratch = recorder.spool().scratch();
    let trace = scratch.join("commit-trace");
    fs::remove_file(&trace).if_there().with_context(|| format!("remove {trace}"))?;
    let patience = inputs.clock.real(MAX_WAIT);
    let child = Child {
        argv,
        directory: commit.work_tree.top().to_owned(),
        environment: done.environment.iter().cloned().chain(variables).collect(),
        defaults: vec![(TRACE_VARIABLE.to_owned(), trace.to_string())],
        removed: vec!["GIT_TRACE2_PARENT_SID".to_owned()],
        stdin: None,
        stdout: scratch.join("commit-stdout"),
        stderr: scratch.join("commit-stderr"),
        marker: inputs.marker(&recorder.place().session, recorder.spool()),
        // Hooks may run the tests.
        limits: Limits { idle: Some(patience), ..validation_limits(&inputs.config.settings) },
        fence: inputs.fence(),
    };
    let mut activity = Activity::of(&child.marker, patience);
    let ended = child.run_with_hooks(inputs.interrupt, &mut || activity.pulse());
    let exit = ended.context("run `git commit`")?.exit;
    if trace_lines(&trace).is_some_and(|mut lines| lines.any(|line| line.contains("\"hook_name\""))) {
        recorder.doubt();
    }
    if exit.code == 0 {
        return Ok(GitCommit::Made);
    }
    if exit.reason == Some(ExitReason::IdleTimeout) {
        return Ok(GitCommit::Waited(waiting_for(&trace, activity.innermost())));
    }
    // Hooks print errors on either stream.
    let output = [&child.stderr, &child.stdout].map(|path| fs::read(path).unwrap_or_default()).concat();
    let (output, _) = recorder.redactor().redact_text(&String::from_utf8_lossy(&output));
    let last = output.lines().map(str::trim).rfind(|line| !line.is_empty());
    let last = last.map_or(String::new(), |line| format!(": {line}"));
    let reason = exit.reason.map_or(String::new(), |reason| format!(" ({reason})"));
    let reason = format!("`git commit` exited {}{reason}{last}", exit.code);
    let refusing = trace_lines(&trace).and_then(refusing_hook);
    let of_message_hook = refusing.filter(|hook| hook == MESSAGE_HOOK).map(|_| {
        let output: String = output.trim_end().chars().take(MAX_HOOK_CHARS).collect();
        format!(
            "\n{output}\nhint: the hook `{MESSAGE_HOOK}` refuses the message; set `commit-subject` to what it takes, \
             such as \"feat({{{{ feature }}}}): {{{{ task }}}} {{{{ text }}}}\""
        )
    });
    Ok(GitCommit::Failed { reason, may_try_again: exit.reason.is_none(), of_message_hook })
}

impl PendingCommit {
    /// Returns true if this session makes no more commits, as too many of them waited for somebody.
    pub(super) fn is_off(&self) -> bool {
        self.waited.len() >= MAX_WAITED_COMMITS as usize
    }

    /// Returns the words for a session that commits no more, as too many of its commits waited for a program.
    pub(super) fn why_off(&self) -> String {
        let mut programs = self.waited.clone();
        programs.dedup();
        format!(
            "no more commits in this session: earlier ones waited for {}",
            join_files(&programs, MAX_NAMED)
        )
    }
}

/// Says what a commit waits for: the program or hook that git started last, and the innermost one of that.
fn waiting_for(trace: &Utf8Path, innermost: Option<&str>) -> String {
    let started = trace_lines(trace).and_then(running_program);
    match (started, innermost.map(|name| name.replace(char::is_control, "\u{fffd}"))) {
        (Some((name, is_hook)), innermost) => {
            // The system knows the first 15 bytes of a name.
            let innermost = innermost.filter(|inner| inner != "git" && !name.starts_with(inner.as_str()));
            let innermost = innermost.map_or(String::new(), |inner| format!(" (`{inner}`)"));
            let name = name.replace(char::is_control, "\u{fffd}");
            format!("{}`{name}`{innermost}", if is_hook { "the hook " } else { "" })
        }
        (None, Some(innermost)) => format!("`{innermost}`"),
        (None, None) => "something".to_owned(),
    }
}

fn trace_lines(trace: &Utf8Path) -> Option<impl Iterator<Item = String>> {
    let file = fs::File::open(trace).ok()?;
    Some(BufReader::new(file).lines().map_while(Result::ok))
}

/// Returns the name of the last hook of the first git of a trace that failed.
fn refusing_hook(lines: impl Iterator<Item = String>) -> Option<String> {
    let (mut hooks, mut own, mut refusing) = (HashMap::new(), None, None);
    for line in lines {
        let Ok(event) = serde_json::from_str::<Value>(&line) else { continue };
        if event["sid"] != *own.get_or_insert_with(|| event["sid"].clone()) {
            continue;
        }
        let id = event["child_id"].as_i64();
        match (event["event"].as_str(), event["hook_name"].as_str()) {
            (Some("child_start"), Some(hook)) => drop(hooks.insert(id, hook.to_owned())),
            (Some("child_exit"), _) if event["code"] != 0 => refusing = hooks.remove(&id).or(refusing),
            _ => {}
        }
    }
    refusing
}

/// Returns the last program that git started and that has not ended, by the lines of its trace, and whether it is a hook.
/// The lines of other git programs that hooks run are in the trace, too: the first line is of this one.
fn running_program(lines: impl Iterator<Item = String>) -> Option<(String, bool)> {
    let mut running: Vec<(Value, (String, bool))> = Vec::new();
    let mut own = None;
    for line in lines {
        let Ok(event) = serde_json::from_str::<Value>(&line) else { continue };
        let own: &Value = own.get_or_insert_with(|| event["sid"].clone());
        if event["sid"] != *own {
            continue;
        }
        let id = event["child_id"].clone();
        match event["event"].as_str() {
            Some("child_start") => {
                let hook = event["hook_name"].as_str();
                let program = event["argv"][0].as_str().and_then(|program| program.rsplit('/').next());
                let Some(name) = hook.or(program) else { continue };
                running.push((id, (name.to_owned(), hook.is_some())));
            }
            Some("child_exit") => running.retain(|(started, _)| *started != id),
            _ => {}
        }
    }
    running.pop().map(|(_, started)| started)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hook_that_refuses_a_commit_is_the_one_that_failed() {
        let start = |sid: &str, id: u32, hook: &str| {
            format!(
                r#"{{"event":"child_start","sid":"{sid}","child_id":{id},"child_class":"hook","hook_name":"{hook}"}}"#
            )
        };
        let exit = |sid: &str, id: u32, code: u32| {
            format!(r#"{{"event":"child_exit","sid":"{sid}","child_id":{id},"code":{code}}}"#)
        };
        let [pre, message] = [start("a", 0, "pre-commit"), start("a", 1, "commit-msg")];
        for (lines, expected) in [
            (vec![], None),
            (vec![pre.clone(), exit("a", 0, 1)], Some("pre-commit")),
            (vec![pre.clone(), exit("a", 0, 0), message.clone(), exit("a", 1, 1)], Some("commit-msg")),
            (vec![pre.clone(), exit("a", 0, 0), message.clone(), exit("a", 1, 0)], None),
            // A git that a hook runs has hooks of its own.
            (vec![pre, start("a/b", 1, "commit-msg"), exit("a/b", 1, 1), exit("a", 0, 0)], None),
        ] {
            assert_eq!(refusing_hook(lines.clone().into_iter()).as_deref(), expected, "{lines:?}");
        }
    }

    #[test]
    fn what_a_commit_waits_for_is_the_last_program_that_has_not_ended() {
        let hook = r#"{"event":"child_start","sid":"a","child_id":0,"child_class":"hook","hook_name":"pre-commit","argv":[".git/hooks/pre-commit"]}"#;
        let of_hook = r#"{"event":"child_start","sid":"a/b","child_id":0,"argv":["diff"]}"#;
        let ended = r#"{"event":"child_exit","sid":"a","child_id":0,"code":0}"#;
        let signs = r#"{"event":"child_start","sid":"a","child_id":1,"child_class":"?","argv":["/usr/bin/gpg","-bsau","x"]}"#;
        let version = r#"{"event":"version","sid":"a","exe":"2.47"}"#;
        let name = |name: &str, is_hook| Some((name.to_owned(), is_hook));
        for (lines, expected) in [
            (&[version][..], None),
            (&[version, hook], name("pre-commit", true)),
            (&[version, hook, of_hook], name("pre-commit", true)),
            (&[version, hook, ended], None),
            (&[version, hook, ended, "{\"event\":", signs], name("gpg", false)),
            (&[], None),
        ] {
            assert_eq!(running_program(lines.iter().map(|line| (*line).to_owned())), expected, "{lines:?}");
        }
    }
}

//! What must hold after a run was struck: right then, and after the next start.

use serde_json::Value;

use crate::points::{Injection, Struck};
use crate::sandbox::{Sandbox, Session};

/// What was recorded before, and must be there ever after.
pub struct Expectation {
    recorded: Vec<String>,
}

impl Expectation {
    pub fn of(sandbox: &Sandbox) -> Self {
        Self { recorded: iterations(sandbox) }
    }
}

/// The commits of all iterations of all sessions.
fn iterations(sandbox: &Sandbox) -> Vec<String> {
    sandbox.sessions().iter().flat_map(Session::iterations).collect()
}

pub fn check(sandbox: &Sandbox, before: Expectation, run: &Struck, injection: Injection) {
    if let Injection::Error(error) = injection {
        check_words(run, error);
    }
    let acknowledged = run
        .stdout
        .lines()
        .filter_map(|line| serde_json::from_str::<Value>(line).ok())
        .filter(|event| event["type"] == "iteration_recorded")
        .map(|event| event["commit"].as_str().expect("an event names its commit").to_owned());
    let mut expected = before.recorded;
    expected.extend(acknowledged);

    if matches!(injection, Injection::Error(_)) {
        sandbox.store_is_sound(sandbox.repo());
    }
    if !expected.is_empty() {
        all_are_there(sandbox, &expected, "right after it");
    }
    let next = sandbox.call("run --json").spawn().wait().code(0);
    assert!(!next.talk().contains("error"), "{next}");
    sandbox.record_is_sound();
    all_are_there(sandbox, &expected, "after the next start");
    assert!(sandbox.task_list().to_lowercase().contains("- [x] t001"), "{}", sandbox.task_list());
    drafts_are_gone(sandbox);
    snapshots_are_kept(sandbox);
}

/// A failure is no success, and says what the system said.
fn check_words(run: &Struck, error: &str) {
    let words = match error {
        "EMFILE" => "Too many open files",
        "EACCES" => "Permission denied",
        "ENOSPC" => "No space left on device",
        _ => "Input/output error",
    };
    let Struck { code, stderr, stdout, .. } = run;
    match code {
        // What could be done in another way, or was of no importance.
        Some(0) => assert!(!stderr.contains("error:"), "success with an error: {stderr}"),
        Some(_) => assert!(
            stderr.to_lowercase().contains(&words.to_lowercase()) && stderr.contains("error:"),
            "exit code {code:?} and no word of `{words}`: {stderr}"
        ),
        None => panic!("killed: {stderr}\n{stdout}"),
    }
}

#[track_caller]
fn all_are_there(sandbox: &Sandbox, expected: &[String], when: &str) {
    let found = iterations(sandbox);
    for commit in expected {
        let times = found.iter().filter(|found| *found == commit).count();
        assert_eq!(times, 1, "{when}: {commit} is recorded {times} times in {found:?}");
    }
}

fn drafts_are_gone(sandbox: &Sandbox) {
    let found = sandbox.hermetic("find").args([".git", "-name", "*.new"]).output().expect("find is there");
    let drafts = String::from_utf8_lossy(&found.stdout).into_owned();
    assert!(drafts.is_empty(), "drafts are left: {drafts}");
}

/// The next packing needs no help, and leaves neither loose files of ours nor anything of the one before.
pub fn what_is_loose_can_be_packed(sandbox: &Sandbox) {
    sandbox.ralph("pack --json").code(0);
    sandbox.record_is_sound();
    let ours = sandbox.git("rev-list --objects --all --not --branches");
    let loose = |id: &str| sandbox.path(&format!(".git/objects/{}/{}", &id[..2], &id[2..])).exists();
    let left: Vec<_> =
        ours.lines().filter_map(|line| line.split(' ').next()).filter(|id| loose(id)).collect();
    assert!(left.is_empty(), "loose still: {left:?}");
    let kept = std::fs::read_dir(sandbox.path(".git/ralph/packing")).expect("it was made");
    let kept: Vec<_> = kept.map(|entry| entry.expect("it is there").file_name()).collect();
    assert_eq!(kept, ["held"]);
}

/// Every snapshot that a record names is kept by the session's snapshot ref.
fn snapshots_are_kept(sandbox: &Sandbox) {
    let kept = sandbox.git(["log", "--format=%H", "--glob=refs/ralph-snap/*"]);
    let format = "--format=%(trailers:key=Ralph-Snapshot,valueonly,separator=%x2C)";
    let named = sandbox.git(["log", format, "--glob=refs/ralph/*"]);
    for id in named.lines().filter(|id| !id.is_empty()) {
        assert!(kept.lines().any(|kept| kept == id), "the snapshot {id} is kept by no ref:\n{kept}");
    }
}

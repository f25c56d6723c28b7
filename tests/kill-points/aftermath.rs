//! What must hold after a run was struck: right then, and after the next start.

use std::path::Path;

use crate::points::{Injection, Struck};
use crate::sandbox::{Run, Sandbox, Session};

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

pub fn check(sandbox: &Sandbox, before: &Expectation, run: &Struck, injection: Injection) {
    if let Injection::Error(error) = injection {
        check_words(run, error);
    }
    let mut expected = before.recorded.clone();
    expected.extend(Run::acknowledged_in(&run.stdout));

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

pub const CHECKED: &str = "run --json --set validation.clean=auto";

/// Nothing that was recorded is lost, and the next start needs no help: a box that was opened is done again, and one that was not
/// yet is as the attempt left it.
pub fn of_check(sandbox: &Sandbox, before: &Expectation, run: &Struck, _: Injection) {
    let mut expected = before.recorded.clone();
    expected.extend(Run::acknowledged_in(&run.stdout));
    sandbox.store_is_sound(sandbox.repo());
    sandbox.call(CHECKED).spawn().wait().code(0);
    all_are_there(sandbox, &expected, "after the next start");
    assert!(sandbox.task_list().to_lowercase().contains("- [x] t001"), "{}", sandbox.task_list());
    drafts_are_gone(sandbox);
    sandbox.record_is_sound();
}

pub const CHECKED_IN_LANE: &str = "run --lane --json --set validation.clean=auto";

/// The same, with the box on the branch.
pub fn of_check_in_lane(sandbox: &Sandbox, before: &Expectation, run: &Struck, _: Injection) {
    let mut expected = before.recorded.clone();
    expected.extend(Run::acknowledged_in(&run.stdout));
    sandbox.store_is_sound(sandbox.repo());
    sandbox.call(CHECKED_IN_LANE).spawn().wait().code(0);
    all_are_there(sandbox, &expected, "after the next start");
    let list = sandbox.git("show ralph/001-login:specs/001-login/tasks.md");
    assert!(list.to_lowercase().contains("- [x] t001"), "{list}");
    assert_eq!(sandbox.git("status --porcelain"), "");
    drafts_are_gone(sandbox);
    sandbox.record_is_sound();
}

pub const LANE: &str = "run --lane --json";

/// One of several loops on a branch, of which it is the only one. It claims what it works on.
pub const IN_GROUP: &str = "run --lane --json --in-group first";

/// What was sealed is published by the next start, once; what was not is done again. The branch has what the records say.
pub fn of_lane(sandbox: &Sandbox, before: &Expectation, run: &Struck, _: Injection) {
    let (session, iteration, _) = published_once(sandbox, before, run, &["T001 Write hello.txt"]);
    let recorded = sandbox.sessions().into_iter().find(|found| found.id() == session);
    let published = recorded.expect("it is recorded").iteration(iteration)["published"].clone();
    assert_eq!(published, sandbox.git("rev-parse ralph/001-login"));
}

/// The same where a person's commit came between: whoever merges the result, it is on the branch once, behind that commit.
pub fn of_queue(sandbox: &Sandbox, before: &Expectation, run: &Struck, _: Injection) {
    let expected = ["By hand", "T001 Write hello.txt"];
    let (session, iteration, outcomes) = published_once(sandbox, before, run, &expected);
    let tip = sandbox.git("rev-parse ralph/001-login");
    let sessions = sandbox.sessions();
    let all = sessions.iter().flat_map(|session| {
        (1..=session.iterations().len()).map(|number| session.iteration(number)).collect::<Vec<_>>()
    });
    let publishing: Vec<_> = all.filter(|record| record["published"] == tip).collect();
    let [record] = publishing.as_slice() else {
        panic!("one record says that it is on the branch: {outcomes:?}, {publishing:?}");
    };
    if record["outcome"] == "integrated" {
        let of = &record["integration"][0];
        assert_eq!((&of["session"], &of["iteration"]), (&session.into(), &iteration.into()), "{record}");
        assert_eq!(of["verdict"], "integrated", "{record}");
    } else {
        assert_eq!((&record["outcome"], &record["session"]), (&"success".into(), &session.into()));
    }
    assert!(!sandbox.ralph("status --json").json()["summary"].to_string().contains("\"queued\""));
}

/// Starts again, and returns the session and the number of the attempt whose result is on the branch, and all outcomes.
fn published_once(
    sandbox: &Sandbox,
    before: &Expectation,
    run: &Struck,
    subjects: &[&str],
) -> (String, usize, Vec<String>) {
    let mut expected = before.recorded.clone();
    expected.extend(Run::acknowledged_in(&run.stdout));
    let is_sealed = spools(sandbox).iter().any(|path| path.ends_with("1/manifest.json"));
    sandbox.store_is_sound(sandbox.repo());
    let next = sandbox.call(LANE).spawn().wait().code(0);
    assert!(!next.talk().contains("error"), "{next}");
    all_are_there(sandbox, &expected, "after the next start");
    let log = |format: &str| {
        sandbox.git(["log", "--reverse", &format!("--format={format}"), "main..ralph/001-login"])
    };
    assert_eq!(log("%s").lines().collect::<Vec<_>>(), subjects);
    let value = |key: &str| {
        let values = log(&format!("%(trailers:key=Ralph-{key},valueonly,separator=)"));
        values.lines().last().expect("it has one").to_owned()
    };
    let sessions = sandbox.sessions();
    let outcomes: Vec<_> = sessions.iter().flat_map(|session| session.trailers("Ralph-Outcome")).collect();
    let successes = outcomes.iter().filter(|outcome| *outcome == "success").count();
    assert_eq!(successes, 1, "{outcomes:?}");
    let session = value("Session");
    assert!(!is_sealed || sessions[0].id() == session, "what was sealed is published: {outcomes:?}");
    let list = sandbox.git("show ralph/001-login:specs/001-login/tasks.md");
    assert!(list.contains("- [x] T001"), "{list}");
    assert_eq!(sandbox.git("status --porcelain"), "");
    sandbox.nothing_is_left();
    sandbox.record_is_sound();
    (session, value("Iteration").parse().expect("it is a number"), outcomes)
}

/// The files of sessions that are not at their ends.
fn spools(sandbox: &Sandbox) -> Vec<std::path::PathBuf> {
    crate::sandbox::sound::files(&sandbox.path(".git/ralph/spool"))
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

/// Both sides are whole at once, and the next sync makes them equal.
pub fn of_sync(sandbox: &Sandbox, before: &Expectation, _: &Struck, _: Injection) {
    let bare = sandbox.outside("remote.git");
    all_are_there(sandbox, &before.recorded, "right after it");
    for repo in [sandbox.repo(), bare.as_path()] {
        sandbox.store_is_sound(repo);
    }
    sandbox.ralph("sync --snapshots").code(0);
    all_are_there(sandbox, &before.recorded, "after the next sync");
    let ours = |repo: &Path| sandbox.git_in(repo, "for-each-ref refs/ralph refs/ralph-snap");
    assert_eq!(ours(sandbox.repo()), ours(&bare));
    assert_eq!(sandbox.sessions().len(), 2);
    assert_eq!(sandbox.git("for-each-ref refs/ralph-incoming"), "");
    sandbox.record_is_sound();
}

pub const CLEAN: &str = "clean --keep-last 1 --keep-days 0";

/// What is to stay is there at once, and the next cleaning takes away what is to go.
pub fn of_cleaning(sandbox: &Sandbox, before: &Expectation, _: &Struck, _: Injection) {
    let stays = &before.recorded[1..];
    all_are_there(sandbox, stays, "right after it");
    sandbox.store_is_sound(sandbox.repo());
    sandbox.ralph(CLEAN).code(0);
    all_are_there(sandbox, stays, "after the next cleaning");
    assert_eq!(sandbox.sessions().len(), 1);
    assert_eq!(sandbox.git("for-each-ref refs/ralph-restore"), "");
    sandbox.record_is_sound();
    sandbox.ralph(CLEAN).code(0).stdout("nothing is old enough to remove\n");
}

/// The next purge takes away here and there what is still there, and no sync brings it back.
pub fn of_purge(sandbox: &Sandbox, _: &Expectation, _: &Struck, _: Injection) {
    let bare = sandbox.outside("remote.git");
    sandbox.ralph("purge 20 --yes").code(0);
    sandbox.ralph("sync --snapshots").code(0);
    for repo in [sandbox.repo(), bare.as_path()] {
        sandbox.store_is_sound(repo);
        assert_eq!(sandbox.git_in(repo, "for-each-ref refs/ralph refs/ralph-snap"), "");
        let stones = sandbox.git_in(repo, "show refs/ralph-meta/tombstones:tombstones");
        assert_eq!(stones.lines().count(), 1, "{stones}");
    }
    sandbox.nothing_is_left();
}

pub const RESTORE: &str = "restore 1 --force";

pub const ACCEPT: &str = "accept T002";

/// A box that is ticked has its work: an acceptance that was cut off is recorded, or is taken back by the next one.
pub fn of_acceptance(sandbox: &Sandbox, before: &Expectation, _: &Struck, _: Injection) {
    let next = sandbox.call(ACCEPT).spawn().wait();
    assert!(next.code == 0 || next.talk().contains("T002 was accepted already"), "{next}");
    assert!(sandbox.task_list().to_lowercase().contains("- [x] t002"), "{}", sandbox.task_list());
    assert_eq!((sandbox.read("kept"), sandbox.read("new/file")), ("broken\n".into(), "broken\n".into()));
    assert!(!sandbox.path("hello.txt").exists());
    all_are_there(sandbox, &before.recorded, "after the next one");
    sandbox.record_is_sound();
}

/// The same on the branch of a lane: it has the box and the work, or neither.
pub fn of_acceptance_in_lane(sandbox: &Sandbox, before: &Expectation, _: &Struck, _: Injection) {
    let branch = "ralph/001-login";
    let of_branch = |path: &str| sandbox.git_bytes(["cat-file", "blob", &format!("{branch}:{path}")]);
    let list =
        || String::from_utf8(of_branch("specs/001-login/tasks.md")).expect("it is text").to_lowercase();
    let has_work = |file: &str| of_branch(file) == b"broken\n";
    assert_eq!(list().contains("- [x] t002"), has_work("kept"), "{}", list());
    let next = sandbox.call(ACCEPT).spawn().wait();
    assert!(next.code == 0 || next.talk().contains("T002 was accepted already"), "{next}");
    assert!(list().contains("- [x] t002") && has_work("kept") && has_work("new/file"), "{}", list());
    all_are_there(sandbox, &before.recorded, "after the next one");
    assert_eq!(sandbox.git("diff --name-only HEAD"), ".specify/ralph.toml", "as the scene left it");
    sandbox.record_is_sound();
}

/// What the user wrote after the session that is gone back to.
pub const EDITS: [(&str, &str); 3] =
    [("hello.txt", "mine\n"), ("src/new.txt", "mine as well\n"), ("agent.toml", "# mine\n")];

/// Nothing of the user's is lost at any moment, and the next restoration brings back what it should.
pub fn of_restoration(sandbox: &Sandbox, before: &Expectation, _: &Struck, _: Injection) {
    let is_kept = |path: &str, text: &str| {
        let points = sandbox.git("for-each-ref --format=%(refname) refs/ralph-restore");
        let there = |point: &str| sandbox.git_bytes(["cat-file", "blob", &format!("{point}^:{path}")]);
        std::fs::read(sandbox.path(path)).is_ok_and(|found| found == text.as_bytes())
            || points.lines().any(|point| there(point) == text.as_bytes())
    };
    for (path, text) in EDITS {
        assert!(is_kept(path, text), "{path} is lost");
    }
    sandbox.store_is_sound(sandbox.repo());
    sandbox.ralph(RESTORE).code(0);
    assert_eq!(sandbox.read("hello.txt"), "hello\n");
    assert!(!sandbox.path("src/new.txt").exists());
    for (path, text) in EDITS {
        assert!(is_kept(path, text), "{path} is lost after the next restoration");
    }
    all_are_there(sandbox, &before.recorded, "after it");
    sandbox.record_is_sound();
}

/// A resumption ends on good ground: nothing of the attempt is left, and nothing is lost that was not recorded.
pub fn of_rollback(sandbox: &Sandbox, before: &Expectation, run: &Struck, _: Injection) {
    let mut expected = before.recorded.clone();
    expected.extend(Run::acknowledged_in(&run.stdout));
    all_are_there(sandbox, &expected, "right after it");
    let noted = sandbox.hermetic("find").args([".git/ralph/spool", "-name", "rollback.json"]).output();
    let is_noted = !noted.expect("find is there").stdout.is_empty();
    let is_skipped = sandbox
        .sessions()
        .iter()
        .any(|session| session.trailers("Ralph-Outcome").contains(&"skipped".to_owned()));
    let next = sandbox.call("run --json -n 1 --no-baseline").spawn().wait();
    assert!(!next.talk().contains("error"), "{next}");
    all_are_there(sandbox, &expected, "after the next start");
    drafts_are_gone(sandbox);
    snapshots_are_kept(sandbox);
    for point in sandbox.git("for-each-ref --format=%(refname) refs/ralph-restore").lines() {
        assert_eq!(sandbox.git_bytes(["cat-file", "blob", &format!("{point}^:kept")]), b"broken\n");
    }
    if is_noted || is_skipped {
        // The next session began on it, and spoiled it again.
        let refname = sandbox.sessions().last().expect("it ran").refname().to_owned();
        let snapshots = refname.replace("refs/ralph/", "refs/ralph-snap/");
        let oldest = sandbox.git(["log", "--format=%H", "--grep=work tree after the start", &snapshots]);
        let oldest = oldest.lines().next().expect("a session begins with a snapshot").to_owned();
        let text = |path: &str| sandbox.git(["show", &format!("{oldest}:{path}")]);
        assert_eq!((text("kept").as_str(), text("hello.txt").as_str()), ("as it was", "hello"));
    }
    let lock = sandbox.path(".git/refs/ralph-restore/main/1.lock");
    if lock.exists() {
        // The next restoration takes it away, as it wants that name.
        sandbox.write("kept", "by hand\n").ralph("restore 0").code(0);
        assert!(!lock.exists());
    }
    sandbox.record_is_sound();
}

/// What a person writes after the loop died.
const EDIT: &str = "test -f hello.txt # mine\n";

/// The protected file is as it was when the next attempt begins.
pub fn of_protection(sandbox: &Sandbox, before: &Expectation, run: &Struck, _: Injection) {
    let kept = next_start(sandbox, before, run, "kept");
    assert_eq!(kept, "as it was\n");
    assert_eq!(sandbox.read("kept"), "as it was\n");
}

/// What a person made of the protected file stays. Only where the loop died before it began to put files back, what the agent
/// and a person did cannot be told apart: then it is on the ref from which `restore --undo` brings it back.
pub fn of_protection_and_an_edit(sandbox: &Sandbox, before: &Expectation, run: &Struck, _: Injection) {
    let spool = sandbox.path(".git/ralph/spool");
    let has = |name: &str| {
        let found = sandbox.hermetic("find").arg(&spool).args(["-path", &format!("*/1/{name}")]).output();
        !found.expect("find is there").stdout.is_empty()
    };
    let is_open = has("begin.json") && !has("put-back.json") && !has("protected.done");
    sandbox.write("kept", EDIT);
    let kept = next_start(sandbox, before, run, "kept");
    if is_open && kept != EDIT {
        assert_eq!(kept, "as it was\n");
        assert!(is_on_a_restore_ref(sandbox, "kept"), "the edit is lost: {kept}");
    } else {
        assert_eq!(kept, EDIT);
    }
}

/// The script is what the agent made of it.
pub fn of_second_run(sandbox: &Sandbox, before: &Expectation, run: &Struck, _: Injection) {
    let script = next_start(sandbox, before, run, "check.sh");
    assert_eq!(script, "test -f hello.txt && true\n");
    assert_eq!(sandbox.read("check.sh"), script);
}

/// What a person made of the script stays.
pub fn of_second_run_and_an_edit(sandbox: &Sandbox, before: &Expectation, run: &Struck, _: Injection) {
    sandbox.write("check.sh", EDIT);
    assert_eq!(next_start(sandbox, before, run, "check.sh"), EDIT);
}

fn is_on_a_restore_ref(sandbox: &Sandbox, path: &str) -> bool {
    let points = sandbox.git("for-each-ref --format=%(refname) refs/ralph-restore");
    points.lines().any(|point| sandbox.git_bytes(["show", &format!("{point}^:{path}")]) == EDIT.as_bytes())
}

/// Starts again, and returns a file as the first attempt finds it. Nothing of what put files back may be left.
fn next_start(sandbox: &Sandbox, before: &Expectation, run: &Struck, path: &str) -> String {
    let mut expected = before.recorded.clone();
    expected.extend(Run::acknowledged_in(&run.stdout));
    all_are_there(sandbox, &expected, "right after it");
    // The task may be done already.
    let list = sandbox.task_list();
    sandbox.write("specs/001-login/tasks.md", format!("{list}- [ ] T009 Go on\n"));
    let next = sandbox.call("run --json -n 1").spawn().wait();
    assert!(!next.talk().contains("error"), "{next}");
    all_are_there(sandbox, &expected, "after the next start");
    drafts_are_gone(sandbox);
    let drafts = sandbox.hermetic("find").args([".", "-name", "*.ralph-put-back"]).output();
    let drafts = drafts.expect("find is there").stdout;
    assert!(drafts.is_empty(), "drafts are left: {}", String::from_utf8_lossy(&drafts));
    snapshots_are_kept(sandbox);
    sandbox.record_is_sound();
    let refname = sandbox.sessions().last().expect("it ran").refname().to_owned();
    let snapshots = refname.replace("refs/ralph/", "refs/ralph-snap/");
    let started = sandbox.git(["log", "--format=%H", "--grep=work tree after the start", &snapshots]);
    let started = started.lines().next().expect("a session begins with a snapshot").to_owned();
    String::from_utf8(sandbox.git_bytes(["show", &format!("{started}:{path}")])).expect("it is text")
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

//! Repositories that keep their refs in tables (reftable), which git alone can write. Many more scenes are played in
//! them where `RALPH_TEST_REF_FORMAT=reftable` is set, as `.ci/long` does.

use std::fs;

use crate::sandbox::{Sandbox, WILLING_AGENT, sound, wait_until};

/// Three open tasks, and an agent that leaves a file for each.
fn scene() -> Sandbox {
    let scene = Sandbox::with_git_init("init --quiet --ref-format=reftable .");
    scene.tasks("- [ ] T001 One\n- [ ] T002 Two\n- [ ] T003 Three");
    scene.agent_sh("echo $RALPH_TASK > work-$RALPH_ITERATION; tick");
    scene.commit("Three tasks");
    scene
}

/// The git program, but for `update-ref`, which first waits as long as there is a file `hold`, and then does what
/// `instead` says.
fn git_that_waits(scene: &Sandbox, instead: &str) {
    let folder = scene.outside("");
    let folder = folder.display();
    scene.program(
        "git",
        &format!(
            "case \" $* \" in *' update-ref '*)\n\
             if [ -e {folder}/hold ]; then touch {folder}/held; while [ -e {folder}/hold ]; do sleep 0.01; done\n\
             {instead}\nfi;; esac\nPATH=${{PATH#*:}} exec git \"$@\""
        ),
    );
}

#[test]
fn what_is_written_there_is_read_by_every_command_and_by_git() {
    let scene = scene();
    let bare = scene.with_remote();
    scene.ralph("-n 1").code(4);
    scene.ralph("resume").code(0).stdout_has("all 3 tasks done");
    let session = scene.session();
    assert_eq!(session.trailers("Ralph-Outcome"), ["success", "success", "success"]);
    assert!(!scene.path(".git/refs/ralph").exists(), "a file that git does not know as a ref");
    scene.ralph("log").code(0).stdout_has("3  ✔ T003");
    scene.ralph("status").code(0).stdout_has("3 of 3 done");
    scene.ralph("show 3 --patch").code(0).stdout_has("+T003");
    scene.ralph("diff 1 2 --name-only").code(0).stdout_has("work-2\n");
    let restored = scene.ralph("restore 1").code(0);
    assert!(!scene.path("work-3").exists(), "{restored}");
    scene.ralph("restore --undo").code(0);
    assert!(scene.path("work-3").exists());
    scene.ralph("bisect -- test ! -e work-2").code(0).stdout_has("iteration 2");
    scene.ralph("rebuild --check").code(0);
    scene.ralph("sync --snapshots").code(0).stdout_has("pushed to origin");
    assert_eq!(
        scene.git_in(&bare, ["rev-parse", session.refname()]),
        scene.git(["rev-parse", session.refname()])
    );
    let clone = scene.outside("clone");
    scene.git(["clone", "--quiet", "--ref-format=reftable", bare.to_str().unwrap(), clone.to_str().unwrap()]);
    scene.call("sync --snapshots").dir(&clone).run().code(0).stdout_has("1 session");
    scene.call("log").dir(&clone).run().code(0).stdout(scene.ralph("log").stdout);
    scene.call("rebuild").dir(&clone).run().code(0);
    scene.call("fsck").dir(&clone).run().code(0);
    scene.call("doctor --json").dir(&clone).run().stdout_has("/.git (reftable)\"");
    scene.ralph("notes rebuild").code(0);
    scene.ralph("fsck").code(0);
    scene.ralph(["clean", "--snapshots-only", "--session", session.id()]).code(0).stdout_has("removed");
    scene
        .ralph(["purge", session.id(), "--local", "--yes"])
        .code(0)
        .stdout_has("removed refs/ralph/001-login/");
    assert_eq!(scene.git("for-each-ref refs/ralph/ refs/ralph-snap/"), "");
    scene.journal_differs();
}

#[test]
fn each_work_tree_has_its_own_head() {
    let scene = scene();
    let linked = scene.outside("linked");
    scene.git(["worktree", "add", "--quiet", "-b", "side", linked.to_str().unwrap()]);
    scene.git_in(&linked, "commit --quiet --allow-empty -m Ahead");
    scene.call("-n 1").dir(&linked).run().code(4);
    let iteration = scene.session().iteration(1);
    assert_eq!(
        (iteration["branch"].as_str(), iteration["head_after"].as_str()),
        (Some("side"), Some(scene.git("rev-parse side").as_str()))
    );
    scene.git_in(&linked, "switch --quiet --detach");
    scene.call("-n 1").dir(&linked).run().code(4);
    assert_eq!(scene.sessions()[1].iteration(1)["branch"], serde_json::Value::Null);
    scene.journal_differs();
}

#[test]
fn killed_while_git_moves_the_refs_the_next_start_records_it_once() {
    // The git that outlives us does its work, does nothing, or is killed as well while it holds the lock.
    for instead in [":", "exit 1"] {
        let scene = scene();
        scene.ralph("-n 1").code(4);
        git_that_waits(&scene, instead);
        fs::write(scene.outside("hold"), "").unwrap();
        let mut running = scene.spawn("resume");
        wait_until("git is at the refs", || scene.outside("held").exists().then_some(()));
        running.signal(rustix::process::Signal::KILL);
        running.wait().code(137);
        fs::remove_file(scene.outside("hold")).unwrap();
        scene.ralph("resume").code(0);
        let session = scene.session();
        assert_eq!(session.trailers("Ralph-Task"), ["T001", "T002", "T003"], "{instead}");
    }
}

#[test]
fn a_lock_that_a_dead_git_left_is_explained_and_never_taken_away() {
    let scene = Sandbox::with_git_init("init --quiet --ref-format=reftable .");
    scene.agent_script(WILLING_AGENT).commit("An agent");
    let lock = scene.path(".git/reftable/tables.list.lock");
    // A git that holds it for a moment is waited for.
    fs::write(&lock, "").unwrap();
    let running = scene.spawn("-n 1");
    let is_sealed = |path: &std::path::PathBuf| path.ends_with("start/manifest.json");
    wait_until("the first record is about to be made", || {
        sound::files(&scene.path(".git/ralph/spool")).iter().any(is_sealed).then_some(())
    });
    fs::remove_file(&lock).unwrap();
    running.wait().code(0);
    fs::write(&lock, "").unwrap();
    scene.tasks("- [ ] T002 Two");
    let said = scene
        .ralph("")
        .code(1)
        .stderr_has("tables.list.lock: another git process holds the lock, or was killed");
    said.stderr_has("\nhint: if no git runs in this repository, remove that file");
    assert!(lock.exists());
    fs::remove_file(&lock).unwrap();
    scene.ralph("").code(0);
    assert_eq!(scene.task_list().matches("[x]").count(), 1);
}

#[test]
fn a_ref_that_the_agent_moves_is_put_back() {
    let scene = scene();
    scene.agent_uses_git().agent_sh(
        "ours=$(git for-each-ref --format='%(refname)' refs/ralph)\n\
         case $RALPH_TASK in T002) git update-ref -d $ours;; T003) git update-ref $ours HEAD;; esac\n\
         tick",
    );
    let run = scene.ralph("").code(0);
    run.stdout_has("was deleted by another program; it was restored").stdout_has("was moved to");
    assert_eq!(scene.session().iterations().len(), 3);
}

#[test]
fn nothing_is_restored_in_the_middle_of_a_cherry_pick() {
    let scene = scene();
    scene.ralph("-n 1").code(4);
    scene.git("update-ref CHERRY_PICK_HEAD HEAD");
    scene.ralph("restore 1").code(3).stderr_has("a cherry-pick is in progress in this work tree\nhint: ");
    scene.git("update-ref -d CHERRY_PICK_HEAD");
    scene.ralph("restore 1").code(0);
    scene.journal_differs();
}

//! An agent that does its worst to the record: it is noticed and said, nothing is lost that was not deleted, and
//! the next start works.

#![expect(clippy::unwrap_used, reason = "what cannot be set up or read has failed the scene")]

use serde_json::json;

use crate::sandbox::{Sandbox, one_in};

/// Three open tasks, and an agent that does `evil` in the second iteration only.
fn scene(evil: &str) -> Sandbox {
    let scene = Sandbox::with_refs_in_files();
    scene.tasks("- [ ] T001 One\n- [ ] T002 Two\n- [ ] T003 Three").agent_uses_git();
    scene.agent_sh(&format!(
        "set -e\necho before-$RALPH_TASK; echo $RALPH_TASK > work-$RALPH_ITERATION\n\
         ours() {{ git for-each-ref --format='%(refname)' $1; }}\n\
         if test $RALPH_TASK = T002; then\n:\n{evil}\nfi\necho after-$RALPH_TASK\n\
         tick\n"
    ));
    scene.commit("Three tasks");
    scene
}

/// All three iterations are recorded, whole.
#[track_caller]
fn all_is_recorded(scene: &Sandbox) {
    let session = scene.session();
    assert_eq!(session.trailers("Ralph-Outcome"), ["success", "success", "success"]);
    assert_eq!(session.text(2, "agent/stdout"), "before-T002\nafter-T002\n");
    for number in 1..=3 {
        let record = session.iteration(number);
        let snapshot = record["snapshot"].as_str().unwrap();
        let work = scene.git(["cat-file", "blob", &format!("{snapshot}:work-{number}")]);
        assert_eq!(work, format!("T00{number}"));
    }
}

#[test]
fn it_breaks_the_settings_of_git() {
    let evil = scene("test $RALPH_ITERATION != 2 || printf '[broken\\n' >> .git/config");
    let config = evil.read(".git/config");
    let run = evil.ralph("").code(1);
    run.stderr_has("git cannot read the settings of this repository since the last attempt")
        .stderr_has(&format!("bad config line {} in file", config.lines().count() + 1))
        .stderr_has("hint: correct that line of the file in an editor; then")
        .stderr_has("records the attempt and goes on");
    let status = evil.ralph("status").code(3);
    status.stderr_has("bad config line").stderr_has("hint: correct that line of the file in an editor");
    evil.write(".git/config", &config);
    evil.ralph("resume").code(0).stdout_has("recorded iteration 2");
    let session = evil.session();
    assert_eq!(session.trailers("Ralph-Outcome"), ["success", "interrupted", "success", "success"]);
    assert_eq!(session.text(2, "agent/stdout"), "before-T002\nafter-T002\n");
    assert_eq!(evil.read("work-2"), "T002\n");
    // A line that git can read ends nothing.
    let fine = scene("printf '# [broken\\n' >> .git/config");
    fine.ralph("").code(0);
    all_is_recorded(&fine);
}

#[test]
fn it_deletes_the_folder_of_the_loop() {
    for evil in [
        "rm -rf .git/ralph",
        "rm -rf .git/ralph/spool",
        "rm -rf .git/ralph/spool/*/2",
        "rm -rf .git/ralph/spool/*/scratch",
    ] {
        // The loop may write there while it is removed.
        let scene = scene(&format!("until {evil}; do :; done"));
        let run = scene.ralph("").code(0);
        if !evil.ends_with("scratch") {
            run.stdout_has("were deleted while it ran; they are back");
        }
        all_is_recorded(&scene);
        assert!(scene.session().text(2, "prompt.md").contains("T002"));
        assert_eq!(scene.session().end()["status"], "completed");
    }
}

#[test]
fn the_lock_still_keeps_others_out_after_it_was_deleted() {
    let scene = scene("rm -rf .git/ralph/loops");
    scene.validate("test $RALPH_TASK != T003 || { touch ready; until test -e go; do sleep 0.01; done; }");
    let mut running = scene.spawn("");
    running.wait_for_file("ready");
    scene.ralph("").code(3).stderr_has("another loop runs in this work tree: session ");
    scene.write("go", "");
    running.wait().code(0);
    assert_eq!(scene.session().trailers("Ralph-Outcome").len(), 3);
}

#[test]
fn it_prunes_and_rewrites_what_it_can() {
    for evil in [
        "git reflog expire --expire=now --all; git gc --quiet --prune=now; git pack-refs --all --prune",
        "git commit -q --amend -m amended; git reflog expire --expire=now --all; git gc --quiet --prune=now",
        "git add -A; git commit -qm more; git reset -q --hard HEAD~1; git checkout -q ORIG_HEAD -- specs; echo T002 > work-2",
        "git add -A; git commit -qm more; git rebase -q --force-rebase HEAD~1",
        "git checkout -q -b other; git branch -q -D main",
        "git checkout -q --orphan fresh; git reflog expire --expire=now --all; git gc --quiet --prune=now",
        "git checkout -q --detach; git branch -q -D main; git stash -q -u; git stash drop -q; git checkout -q . ; echo T002 > work-2; mkdir -p .specify",
        "git clean -q -fdx -e agent.sh -e .specify; echo T002 > work-2",
    ]
    .into_iter()
    .step_by(one_in(3))
    {
        let scene = scene(evil);
        scene.validate("git --version");
        let run = scene.ralph("");
        assert!(run.code == 0, "{evil}: {run}");
        // Some of it takes away what T001 did.
        if !evil.contains("reset") && !evil.contains("stash") && !evil.contains("clean") {
            all_is_recorded(&scene);
        }
        scene.tasks("- [x] T001 One\n- [ ] T004 Four").ralph("").code(0);
    }
}

#[test]
fn it_does_so_where_no_snapshots_keep_the_old_commits() {
    let scene = scene(
        "git commit -q --amend -m amended; git reflog expire --expire=now --all; git gc --quiet --prune=now",
    );
    scene.config("snapshots = false");
    scene.ralph("").code(0).stdout_has("cannot list the commits of this iteration");
    assert_eq!(scene.session().trailers("Ralph-Outcome"), ["success", "success", "success"]);
}

#[test]
fn it_deletes_or_moves_the_refs_of_the_session() {
    for (evil, said) in [
        (
            "for ref in $(ours refs/ralph); do git update-ref -d $ref; done",
            "was deleted by another program; it was restored",
        ),
        (
            "for ref in $(ours refs/ralph-snap); do git update-ref -d $ref; done",
            "was deleted by another program; it was restored",
        ),
        ("rm -rf .git/refs/ralph .git/refs/ralph-snap", "was deleted by another program; it was restored"),
        ("git pack-refs --all; edit /ralph/d .git/packed-refs", "was deleted by another program"),
        ("git update-ref $(ours refs/ralph) $(ours refs/ralph)^", "was moved to"),
        ("git update-ref $(ours refs/ralph-snap) $(ours refs/ralph-snap)^", "was moved to"),
        ("git update-ref $(ours refs/ralph) HEAD", "was moved to"),
        ("git update-ref $(ours refs/ralph) $(git commit-tree -m x HEAD^{tree})", "was moved to"),
        ("git update-ref $(ours refs/ralph-snap) $(git commit-tree -m x HEAD^{tree})", "was moved to"),
        (
            "for ref in $(ours refs/ralph) $(ours refs/ralph-snap); do git update-ref $ref HEAD; done",
            "was moved to",
        ),
    ]
    .into_iter()
    .step_by(one_in(3))
    {
        let scene = scene(evil);
        let run = scene.ralph("");
        assert!(run.code == 0 && run.text().contains(said), "{evil}: {run}");
        all_is_recorded(&scene);
    }
}

#[test]
fn it_kills_the_git_that_moves_refs_and_plants_a_hook_for_it() {
    let scene = scene(
        "printf '#!/bin/sh\\ntouch ../hook-ran\\n' > .git/hooks/reference-transaction; chmod +x .git/hooks/*\n\
         git config core.hooksPath .git/hooks; rm -f ../hook-ran\n\
         { pgrep -P $PPID -x git || grep -ls \"(git) . $PPID \" /proc/*/stat | cut -d/ -f3; } 2> /dev/null | xargs kill -KILL",
    );
    scene.ralph("").code(0).stdout_lacks("update-ref");
    assert!(!scene.outside("hook-ran").exists(), "the hook ran");
    all_is_recorded(&scene);
    scene.git("config --unset core.hooksPath");
    std::fs::remove_file(scene.path(".git/hooks/reference-transaction")).unwrap();
}

#[test]
fn it_deletes_the_snapshots_for_good() {
    let scene = scene(
        "for ref in $(ours refs/ralph-snap); do git update-ref -d $ref; done; git reflog expire --expire=now --all; git gc --quiet --prune=now",
    );
    scene.ralph("").code(0).stdout_has("the snapshots are gone; the next one begins anew");
    let session = scene.session();
    assert_eq!(session.trailers("Ralph-Outcome"), ["success", "success", "success"]);
    let snapshot = session.iteration(2)["snapshot"].as_str().unwrap().to_owned();
    assert_eq!(scene.git(["cat-file", "blob", &format!("{snapshot}:work-2")]), "T002");
    // What the record names of the time before is really gone.
    scene.skip_final_fsck();
}

#[test]
fn it_deletes_the_log_for_good() {
    let scene = scene(
        "for ref in $(ours refs/ralph); do git update-ref -d $ref; done; git reflog expire --expire=now --all; git gc --quiet --prune=now",
    );
    scene.ralph("").code(1).stderr_has("was deleted by another program, and what it pointed at is gone");
    assert_eq!(scene.sessions().len(), 0);
    scene.ralph("").code(0).stdout_has("not recorded yet is in ");
    assert_eq!(scene.session().trailers("Ralph-Task"), ["T003"]);
    let kept: Vec<_> = std::fs::read_dir(scene.path(".git/ralph/kept")).unwrap().flatten().collect();
    assert_eq!(kept.len(), 1);
    assert_eq!(
        std::fs::read_to_string(kept[0].path().join("2/agent.stdout")).unwrap(),
        "before-T002\nafter-T002\n"
    );
    scene.skip_final_fsck().store_is_sound(scene.repo());
}

#[test]
fn it_dies_with_the_loop_after_it_moved_the_log() {
    let scene = scene(
        "test -e ../died || { : > ../died; git update-ref -d $(ours refs/ralph/); git gc --quiet --prune=now; kill -KILL $PPID; sleep 60; }",
    );
    scene.ralph("").code(137);
    scene.ralph("").code(0).stdout_has("not recorded yet is in ");
    scene.skip_final_fsck().store_is_sound(scene.repo());
}

#[test]
fn it_dies_with_the_loop_after_it_deleted_the_refs() {
    let scene = scene(
        "test -e ../died || { : > ../died; for ref in $(ours refs/ralph); do git update-ref -d $ref; done; kill -KILL $PPID; sleep 60; }",
    );
    scene.ralph("").code(137);
    assert_eq!(scene.sessions().len(), 0);
    scene.ralph("").code(0).stdout_has("was deleted by another program; it was restored");
    let outcomes: Vec<_> =
        scene.sessions().iter().flat_map(|session| session.trailers("Ralph-Outcome")).collect();
    assert_eq!(outcomes, ["success", "interrupted", "success", "success"]);
}

#[test]
fn it_breaks_the_journal() {
    let scene = scene("rm $RALPH_PROGRESS; mkdir $RALPH_PROGRESS; echo x > $RALPH_PROGRESS/x");
    scene.ralph("").code(0).stdout_has("the next start brings it up to the record");
    all_is_recorded(&scene);
    scene.tasks("- [ ] T004 Four").ralph("").code(3).stderr_has("progress.txt is a directory");
    std::fs::remove_dir_all(scene.path("specs/001-login/progress.txt")).unwrap();
    scene.ralph("").code(0);
    let progress = scene.progress();
    for task in ["T001", "T002", "T003", "T004"] {
        assert_eq!(progress.matches(&format!("**Task**: {task}")).count(), 1, "{progress}");
    }
}

#[test]
fn it_breaks_the_index() {
    for evil in [
        "head -c 5000 /dev/urandom > .git/index",
        "rm .git/index",
        "git rm -q -r --cached .",
        "git add -A; git read-tree --empty",
        ": > .git/index",
    ] {
        let scene = scene(evil);
        let run = scene.ralph("");
        assert!(run.code == 0 && !run.text().contains("no snapshot"), "{evil}: {run}");
        all_is_recorded(&scene);
        assert_eq!(
            scene.session().iteration(2)["files_changed"],
            json!(["specs/001-login/tasks.md", "work-2"]),
            "{evil}"
        );
        drop(std::fs::remove_file(scene.path(".git/index")));
        scene.git("reset --quiet");
    }
}

#[test]
fn it_fills_the_index_and_the_object_folder() {
    let scene = scene(
        "mkdir many; for i in $(seq 3000); do echo $i > many/$i; done; git add -A; git reset -q; rm -r many",
    );
    scene.ralph("").code(0);
    all_is_recorded(&scene);
}

#[test]
fn it_deletes_the_repository() {
    let scene = scene("rm -rf .git");
    scene.skip_final_fsck();
    let run = scene.ralph("");
    assert_eq!(run.code, 3, "{run}");
    assert!(run.talk().contains("error: ") && run.talk().contains(".git` is gone\nhint: "), "{run}");
    assert!(!run.talk().contains("class:") && !run.talk().contains("Caused by"), "{run}");
    scene.ralph("").code(3).stderr_has("is not inside a git repository");
}

#[test]
fn it_takes_the_task_list_away() {
    for evil in [
        "rm $RALPH_TASKS; exit 0",
        "rm $RALPH_TASKS; mkdir $RALPH_TASKS; exit 0",
        "git checkout -q --orphan empty; git rm -q -rf specs; exit 0",
    ] {
        let scene = scene(evil);
        let run = scene.ralph("");
        assert!(run.code == 5 && run.text().contains("stuck"), "{evil}: {run}");
        assert!(run.text().lines().any(|line| line.starts_with("  hint: ")), "{evil}: {run}");
        assert_eq!(scene.session().trailers("Ralph-Outcome"), ["success", "failure"]);
        drop(std::fs::remove_dir(scene.path("specs/001-login/tasks.md")));
        scene.tasks("- [ ] T004 Four").ralph("").code(0);
    }
}

#[test]
fn what_drops_every_mark_of_the_loop_is_stopped_with_the_agent_or_the_validation_that_started_it() {
    // Elsewhere environments are hidden, and orphans have no owner.
    if Sandbox::is_portable() {
        return;
    }
    let scene = Sandbox::new();
    let daemon = |file: &str| {
        format!(
            "env -i PATH=$PATH setsid -f sh -c 'echo $$ > {file}; exec sleep 1000' > /dev/null 2>&1 < /dev/null\n\
             until [ -s {file} ]; do sleep 0.01; done\n"
        )
    };
    scene.tasks("- [ ] T001 One").write(".gitignore", "*.pid\n");
    scene.agent_sh(&format!("{}echo 1 > work\ntick\n", daemon("agent.pid")));
    scene.executable("check.sh", &daemon("check.pid")).validate("./check.sh").commit("Ready");
    let run = scene.ralph("").code(0);
    for file in ["agent.pid", "check.pid"] {
        let process = format!("/proc/{}", scene.read(file).trim());
        assert!(!std::path::Path::new(&process).exists(), "{file}: {run}");
    }
}

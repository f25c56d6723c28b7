//! What an attempt leaves behind beside its work: states of git, locks, branches, and the user's uncommitted files.

use serde_json::{Value, json};

use crate::sandbox::Sandbox;

/// Does the task; before that `first`, in the first iteration alone.
fn agent(first: &str) -> String {
    format!(
        "cat >/dev/null\nif [ \"$RALPH_ITERATION\" = 1 ]; then\n{first}\nfi\n\
         echo done > \"$RALPH_TASK.txt\"\ntick\necho Done.\n"
    )
}

/// Two tasks, two branches that conflict in `f`, and an agent that is committed.
fn scene(first: &str) -> Sandbox {
    let scene = Sandbox::new();
    scene.agent_uses_git().tasks("- [ ] T001 One\n- [ ] T002 Two").agent_sh(&agent(first));
    scene.write("f", "base\n").write("src/store.js", "one\ntwo\n").commit("base");
    let branch = scene.git("branch --show-current");
    scene.git("switch -q -c other");
    scene.write("f", "theirs\n").commit("theirs");
    scene.git(format!("switch -q {}", branch.trim()).as_str());
    scene.write("f", "ours\n").commit("ours");
    scene
}

fn states(record: &Value) -> Vec<&str> {
    let states = record["git_state"].as_array().map(Vec::as_slice).unwrap_or_default();
    states.iter().map(|state| state["text"].as_str().unwrap_or_default()).collect()
}

#[test]
fn an_operation_that_an_attempt_left_is_said_and_keeps_the_session_from_completing() {
    for (command, text, end) in [
        ("git merge -q other", "a merge is in progress", "git merge --abort"),
        ("git rebase -q other", "a rebase is in progress", "git rebase --abort"),
        ("git cherry-pick other", "a cherry-pick is in progress", "git cherry-pick --abort"),
        ("git bisect start >/dev/null", "a bisection is in progress", "git bisect reset"),
    ] {
        let scene = scene(&format!("{command} >/dev/null 2>&1; true"));
        let run = scene.ralph("").code(5);
        run.stdout_has(&format!("left behind: {text}\n"))
            .stdout_has(end)
            .stdout_has(&format!("no task is open, but {text}, since #1"))
            .stdout_has(&format!("! git: {text}"));
        let session = scene.session();
        assert_eq!(session.end()["stop_reason"], "stuck", "{command}");
        for number in [1, 2] {
            assert_eq!(states(&session.iteration(number)), [text], "{command}");
            assert_eq!(session.iteration(number)["git_state"][0]["since"], 1, "{command}");
        }
        assert!(session.text(2, "prompt.md").contains("## What an earlier attempt left behind"), "{command}");
        scene.ralph("show 1").code(0).stdout_has(text);
        scene.ralph("status").code(0).stdout_has(&format!("! git: {text}"));
        scene.git(end.strip_prefix("git ").unwrap_or_default());
        scene.ralph("status").code(0).stdout_lacks("! git");
    }
}

#[test]
fn a_lock_that_an_attempt_left_is_removed() {
    for lock in ["index.lock", "HEAD.lock", "refs/heads/main.lock"] {
        let scene = scene(&format!(": > .git/{lock}"));
        scene
            .ralph("")
            .code(0)
            .stdout_has(&format!("left behind: `.git/{lock}` was removed: no git held it"));
        assert!(!scene.path(&format!(".git/{lock}")).exists());
        assert_eq!(scene.session().iteration(2).get("git_state"), None);
    }
}

#[test]
fn a_lock_from_before_the_start_is_named_and_stays() {
    let scene = scene("true");
    scene.write(".git/shallow.lock", "");
    let old = std::time::SystemTime::UNIX_EPOCH;
    std::fs::File::options()
        .write(true)
        .open(scene.path(".git/shallow.lock"))
        .and_then(|file| file.set_modified(old))
        .expect("the lock is ours");
    let run = scene.ralph("").code(0);
    run.stdout_has("`.git/shallow.lock` was there before the start")
        .stdout_has("hint: if no git runs there, remove it: rm .git/shallow.lock")
        .stdout_lacks("left behind");
    assert!(scene.path(".git/shallow.lock").exists());
    std::fs::remove_file(scene.path(".git/shallow.lock")).expect("it stays");
}

#[test]
fn another_branch_is_said_and_ends_nothing() {
    for (command, text, back) in [
        ("git switch -q -c topic", "`topic` is checked out instead of `main`", "git switch main"),
        ("git branch -m trunk", "`main` is called `trunk` now", "git branch -m trunk main"),
        ("git checkout -q --detach", "HEAD is detached instead of on `main`", "git switch main"),
    ] {
        let scene = scene(command);
        let run = scene.ralph("").code(0);
        run.stdout_has(&format!("left behind: {text}\n")).stdout_has(back);
        assert_eq!(states(&scene.session().iteration(2)), [text]);
    }
}

#[test]
fn uncommitted_work_of_the_user_that_is_gone_is_said_and_the_command_brings_it_back() {
    for (command, reverted) in [
        ("git checkout -q -- . && rm precious.txt", "src/store.js reverted"),
        ("git stash -q -u && git stash drop -q", "src/store.js reverted"),
        ("git reset -q --hard && git clean -qfd", "src/store.js reverted"),
        ("echo other > src/store.js; rm precious.txt", "src/store.js overwritten"),
    ] {
        let scene = scene(command);
        scene.write("src/store.js", "one\nmine\ntwo\n").write("precious.txt", "precious\n");
        let restore = "restore 0 precious.txt src/store.js";
        let run = scene.ralph("").code(0);
        run.stdout_has("  work tree   2 uncommitted files of yours: precious.txt, src/store.js\n")
            .stdout_has(&format!("! your uncommitted work is gone: precious.txt deleted, {reverted}; "))
            .stdout_has(&format!("{restore} brings them back\n"));
        let session = scene.session();
        let gone = session.iteration(1)["user_files"].clone();
        assert_eq!(gone[0], json!({"path": "precious.txt", "change": "deleted", "since": 1, "kept_in": "0"}));
        scene.ralph("status").code(0).stdout_has("! your uncommitted work is gone: precious.txt deleted");
        scene.ralph("show 1").code(0).stdout_has("your uncommitted work is gone");
        scene.ralph(restore).code(0);
        assert_eq!(scene.read("precious.txt"), "precious\n", "{command}");
        assert_eq!(scene.read("src/store.js"), "one\nmine\ntwo\n", "{command}");
    }
}

#[test]
fn an_edit_beside_the_users_and_a_commit_with_it_are_no_alarm() {
    let scene = scene("echo three >> src/store.js; mv notes.txt moved.txt");
    scene.write("src/store.js", "one\nmine\ntwo\n").write("notes.txt", "mine\n");
    scene.ralph("").code(0).stdout_lacks("is gone");
    scene
        .ralph("show 1")
        .code(0)
        .stdout_has("edited beside your uncommitted changes: notes.txt, src/store.js");

    let scene = self::scene("git add -A; git commit -qm all");
    scene.write("src/store.js", "one\nmine\ntwo\n");
    let run = scene.ralph("").code(0);
    run.stdout_lacks("is gone").stdout_has("took in uncommitted work of yours: src/store.js");
    let file = scene.session().iteration(1)["user_files"][0].clone();
    assert_eq!((&file["path"], &file["change"]), (&json!("src/store.js"), &json!("committed")));
}

#[test]
fn what_agents_left_uncommitted_is_not_the_users_in_the_next_session() {
    let scene = scene(": > agents.txt");
    scene.write("mine.txt", "mine\n");
    scene.ralph("-n 1").code(4).stdout_has("1 uncommitted file of yours");
    scene.agent_sh(&agent("rm agents.txt T001.txt mine.txt"));
    scene.ralph("").code(0).stdout_has("is gone: mine.txt deleted; ").stdout_lacks("agents.txt deleted");
}

#[test]
fn in_a_resumed_session_the_command_names_the_snapshot_of_the_resumption() {
    let scene = scene("true");
    scene.ralph("-n 1").code(4);
    scene.write("late notes.txt", "mine\n");
    scene.agent_sh(&agent("").replace("= 1 ]; then", "= 2 ]; then\nrm 'late notes.txt'"));
    let run = scene.ralph("resume").code(0);
    let text = run.text();
    let line = text.lines().find(|line| line.contains("late notes.txt deleted; ")).unwrap_or_default();
    let command = line.split_once(" restore ").map(|(_, words)| words.trim_end_matches(" brings it back"));
    let state = command.and_then(|words| words.strip_suffix(" 'late notes.txt'")).unwrap_or_default();
    scene.ralph(["restore", state, "late notes.txt"]).code(0);
    assert_eq!(scene.read("late notes.txt"), "mine\n", "{text}");
}

#[test]
fn what_no_snapshot_holds_is_said_once_in_show_and_by_restore() {
    let scene = Sandbox::new();
    scene.tasks("- [ ] T001 One\n- [ ] T002 Two").config("snapshot-max-file = '1KiB'");
    scene.agent_sh(
        "cat >/dev/null\nif [ $RALPH_TASK = T001 ]; then git init -q nested; echo small > grows; fi\n\
         echo $RALPH_TASK >> nested/f; head -c 3000 /dev/zero > big; echo $RALPH_TASK > $RALPH_TASK.txt\n\
         [ $RALPH_TASK = T001 ] || head -c 3000 /dev/zero > grows\n\
         tick\n",
    );
    // What was there before is no news.
    scene.write("mine", "x".repeat(3000)).commit("Ready");
    scene.git("rm -q --cached mine");
    let run = scene.ralph("").code(0);
    let once = |words: &str| assert_eq!(run.text().matches(words).count(), 1, "{words}: {run}");
    once(
        "the snapshots lack big (too large), nested/ (a repository without a commit), which nothing here can bring back\n  hint: have git ignore",
    );
    once("the snapshots lack grows (too large), ");
    once("nested/");
    run.stdout_lacks("mine (");
    scene
        .ralph("show 2")
        .code(0)
        .stdout_has("left out    big (too large), grows (too large), mine (too large), nested/");
    for path in ["big", "T001.txt"] {
        std::fs::remove_file(scene.path(path)).unwrap();
    }
    scene.write("grows", "small again\n");
    let restored = scene.ralph("restore 2").code(0).stdout_has("1 file created, 0 changed, 0 removed\n");
    restored
        .stdout_has("  cannot be brought back: big (in no snapshot: too large)\n")
        .stdout_has("  cannot be brought back: nested/ (in no snapshot: a repository without a commit)\n");
    assert_eq!(scene.read("grows"), "small again\n");
    scene
        .ralph("restore 2 big T001.txt")
        .code(0)
        .stdout_has("nothing was restored: what the snapshot has of iteration 2 of session ");
    scene.ralph("restore 2 --dry-run big").code(0).stdout_has("lack    big (in no snapshot: too large)\n");
    scene.ralph("restore 2 no-such-file").code(1).stderr_has("`no-such-file` matches no file");
}

#[test]
fn settings_of_the_repository_that_an_attempt_changed_are_said_with_the_line_that_undoes_each() {
    let scene = scene(
        "git config user.name Bot; git config core.hooksPath /dev/null; git config core.bare true; \
         git config include.path /etc/x",
    );
    scene.config("commit = 'task'").commit("Settings");
    let run = scene.ralph("").code(0);
    run.stdout_has(
        "left behind: `core.bare` is `true`, was `false`\n  hint: to undo it: git config core.bare false\n",
    )
    .stdout_has("left behind: `include.path` is `/etc/x`, was not set\n")
    .stdout_has("! git: `user.name` is `Bot`, was not set: to undo it: git config --unset-all user.name\n");
    let session = scene.session();
    assert_eq!(session.iteration(2)["git_state"][0]["kind"], "configuration");
    assert_eq!(session.iteration(2)["git_state"][0]["since"], 1);
    // The loop goes on committing, by the name of the start.
    let git_dir = scene.path(".git");
    let log = format!("--git-dir={} log --format=%an main -2", git_dir.display());
    assert_eq!(scene.git(log.as_str()), "Ada Lovelace\nAda Lovelace");
    let status = scene.ralph("status").code(0);
    status
        .stdout_has("2 of 2 done")
        .stderr_has("`core.bare` is `true`")
        .stderr_has("hint: git config core.bare false");
    scene.write("specs/001-login/tasks.md", "- [ ] T003 Three\n");
    let refused = scene.ralph("run").code(3).stderr_has("hint: git config core.bare false\n").text();
    assert!(!refused.contains("git worktree add"), "{refused}");
    for undoing in [
        "config core.bare false",
        "config --unset-all user.name",
        "config --unset-all core.hooksPath",
        "config --unset-all include.path",
    ] {
        scene.git(undoing);
    }
    scene.ralph("status").code(0).stdout_lacks("! git: `");
}

#[test]
fn a_hooks_path_of_husky_is_a_note_and_settings_of_other_things_are_none() {
    let scene = scene("git config core.hooksPath .husky/_; git config branch.main.remote x");
    scene.ralph("").code(0).stdout_lacks("left behind").stdout_lacks("! git");
    scene.ralph("show 1").code(0).stdout_has("`core.hooksPath` is `.husky/_`, as husky sets it");
}

/// Does the task, and leaves the first attempt at T001 to `first`.
fn agent_of_t001(first: &str) -> String {
    format!(
        "cat >/dev/null\nif [ \"$RALPH_TASK$RALPH_ATTEMPT\" = T0011 ]; then\n{first}\necho I did it.\nexit\nfi\n\
         echo done > \"$RALPH_TASK.txt\"\ntick\necho Done.\n"
    )
}

#[test]
fn work_that_is_elsewhere_is_the_cause_and_is_brought_before_the_task_is_given_up() {
    let work = "echo work > work.txt; git add work.txt";
    for (leave, place, bring) in [
        (
            format!("git switch -q -c topic; {work}; git commit -q -m Work; git switch -q -"),
            "on the branch `topic` (1 commit: ",
            "git merge topic",
        ),
        (format!("{work}; git stash -q"), "in the stash (", "git stash pop"),
        (
            format!("git worktree add -q --detach ../wt; (cd ../wt; {work}; git commit -q -m Work)"),
            "on no branch (1 commit: ",
            "git merge ",
        ),
    ] {
        let scene = scene("true");
        scene.agent_sh(&agent_of_t001(&leave)).commit("Agent");
        let run = scene.ralph("--skip-after 1").code(0);
        run.stdout_has(&format!("the work is {place}")).stdout_has(bring);
        let cause = scene.session().iteration(1)["cause"].as_str().unwrap_or_default().to_owned();
        assert!(cause.starts_with(&format!("the work is {place}")), "{cause}");
        let prompt = scene.session().text(2, "prompt.md");
        assert!(prompt.contains(bring) && prompt.contains("do not do it again"), "{prompt}");
    }
    // Branches without commits of the attempt are nothing.
    let scene = scene("true");
    scene.agent_sh(&agent_of_t001("git branch topic")).commit("Agent");
    scene.ralph("").code(0).stdout_has("the agent did not tick the task").stdout_lacks("the work is");
}

#[test]
fn a_list_that_was_written_anew_is_named_until_the_old_one_is_back() {
    let scene = scene("true");
    let anew = "printf -- '- [ ] T001 Plan\\n- [ ] T002 Write\\n- [ ] T003 Ship\\n' > \"$RALPH_TASKS\"";
    scene.agent_sh(&format!(
        "cat >/dev/null\nif [ \"$RALPH_ITERATION\" = 2 ]; then {anew}; exit; fi\necho > \"$RALPH_ITERATION.txt\"\ntick\n"
    ));
    scene.commit("Agent");
    let run = scene.ralph("-n 3").code(4);
    let restore = "restore 1 --tasks specs/001-login/tasks.md";
    run.stdout_has("T001 was done, and is open again in the list that this attempt wrote")
        .stdout_has("! git: another task list than before: 1 done task is open again: ")
        .stdout_has(restore);
    assert_eq!(
        scene.session().iteration(2)["cause"],
        "another task list than before: 1 done task is open again"
    );
    scene.ralph("status").code(0).stdout_has("another task list than before");
    scene.ralph(restore).code(0);
    scene.ralph("status").code(0).stdout_lacks("another task list");
}

#[test]
fn on_another_branch_the_one_hint_is_the_way_back() {
    let scene = scene("true");
    scene.agent_sh("cat >/dev/null\ngit switch -q bare-topic\necho Done.\n").commit("Agent");
    scene.git("switch -q -c bare-topic");
    scene.git("rm -q -r specs");
    scene.git("commit -q -m Nothing");
    scene.git("switch -q main");
    let run = scene.ralph("").code(5);
    run.stdout_has("`bare-topic` is checked out instead of `main`\n  hint: to go back: git switch main\n")
        .stdout_has("first  git switch main")
        .stdout_lacks("speckit")
        .stdout_lacks("restore");
    for words in ["run", "resume"] {
        let refused = scene.ralph(words).code(3).stderr_has("`git switch main` brings it back").text();
        assert!(!refused.contains("restore"), "{refused}");
    }
}

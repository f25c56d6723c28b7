//! Commits that would lack part of the work, and agents that meddle with branches, refs and objects.

use serde_json::json;

use crate::sandbox::{Housekeeping, Sandbox};

/// Ticks the task after `work`.
fn agent(work: &str) -> String {
    format!("cat >/dev/null\n{work}\ntick\n")
}

/// `commit = "task"`, and an agent that does `work` for each task.
fn scene(tasks: &str, work: &str) -> Sandbox {
    let scene = Sandbox::new();
    scene.tasks(tasks).agent_sh(&agent(work)).config("commit = 'task'").commit("Ready");
    scene.agent_uses_git();
    scene
}

const ONE: &str = "- [ ] T001 One";
const TWO: &str = "- [ ] T001 One\n- [ ] T002 Two";

fn files_of(scene: &Sandbox, commit: &str) -> Vec<String> {
    let listed = scene.git(["show", "--format=", "--name-only", commit]);
    listed.lines().map(str::to_owned).collect()
}

/// The trailers of the last commit that name what it lacks.
fn left_out(scene: &Sandbox) -> Vec<String> {
    let listed = scene.git("log -1 --format=%(trailers:key=Ralph-Left-Out,valueonly)");
    listed.lines().map(str::to_owned).collect()
}

#[test]
fn a_clean_filter_that_fails_refuses_the_commit_and_the_work_stays() {
    for required in ["true", "false"] {
        for key in ["clean", "process"] {
            let scene = scene(TWO, "echo $RALPH_TASK >> a.bin; echo $RALPH_TASK > $RALPH_TASK.txt");
            scene.write(".gitattributes", "*.bin filter=lfs\n").commit("Attributes");
            // git sends a process a greeting of 40 bytes. One that ends before it has read them is passed over by
            // chance, where it is not required.
            let greeting = if key == "process" { "head -c 40 >/dev/null; " } else { "" };
            let command = format!("{greeting}no-such-program -- %f");
            scene.git(["config", &format!("filter.lfs.{key}"), &command]);
            scene.git(["config", "filter.lfs.required", required]);
            let head = scene.git("rev-parse HEAD");
            let run = scene.ralph("").code(0);
            let said = "T001 is done, but not committed: the clean filter `lfs` failed";
            let run = run.stdout_has(said).stdout_has("a.bin is in the work tree only\n  hint: ");
            run.stdout_has("T001, T002 are done, and their work is not committed");
            assert_eq!(scene.git("rev-parse HEAD"), head);
            assert_eq!(scene.read("a.bin"), "T001\nT002\n");
            let record = scene.session().iteration(1);
            assert_eq!(record["outcome"], "success");
            assert_eq!(record["commits"], json!([]));
            let reason = record["uncommitted"].as_str().unwrap();
            assert!(reason.contains("the clean filter `lfs` failed") && !reason.contains("hint"), "{reason}");
            scene.ralph("show 1").code(0).stdout_has("uncommitted the clean filter `lfs` failed");
            // What git could take is in the snapshot all the same.
            let snapshot = record["snapshot"].as_str().unwrap();
            assert_eq!(scene.git(["cat-file", "blob", &format!("{snapshot}:T001.txt")]), "T001");
            scene.ralph("fsck").code(0);
        }
    }
}

#[test]
fn a_snapshot_without_a_file_that_a_filter_failed_for_says_so() {
    let scene = scene(ONE, "echo 1 > a.bin; echo 1 > b.txt");
    scene.write(".gitattributes", "*.bin filter=lfs\n").config("commit = 'off'").commit("Attributes");
    scene.write(".specify/ralph.toml", scene.read(".specify/ralph.toml").replace("commit = 'task'\n", ""));
    scene.git("config filter.lfs.clean no-such-program");
    scene.git("config filter.lfs.required true");
    let run = scene.ralph("").code(0);
    run.stdout_has("the snapshots lack a.bin, which git could not read: fatal: ");
    let record = scene.session().iteration(1);
    assert_eq!(record["left_out"][0]["path"], "a.bin");
    assert_eq!(record["files_changed"], json!(["b.txt", "specs/001-login/tasks.md"]));
    assert_eq!(scene.read("a.bin"), "1\n");
}

/// A file that is always as new as the index: git runs its filter again whenever it reads or writes the index.
const AS_NEW_AS_ANY_INDEX: &str =
    "echo $RALPH_TASK >> a.bin; touch -t 206001010000 a.bin; echo 1 > $RALPH_TASK.txt";

#[test]
fn a_filter_that_fails_by_turns_costs_no_snapshot_and_no_other_file() {
    for works in
        ["false", "test $((n % 2)) = 1", "test $((n % 2)) = 0", "test $((n % 3)) = 1", "test $n -lt 5"]
    {
        let scene = Sandbox::new();
        scene.tasks(TWO).agent_sh(&agent(AS_NEW_AS_ANY_INDEX)).write("a.bin", "as it was\n");
        scene.write(".gitattributes", "*.bin filter=up\n").commit("Ready");
        let count = "n=$(cat ../calls 2>/dev/null || echo 0); n=$((n + 1)); echo $n > ../calls";
        scene.git(["config", "filter.up.clean", &format!("{count}; {works} || exit 1; cat")]);
        scene.git("config filter.up.required true");
        let run = scene.ralph("").code(0).stdout_lacks("no snapshot");
        for number in [1, 2] {
            let record = scene.session().iteration(number);
            let left_out = record["left_out"].as_array().cloned().unwrap_or_default();
            assert!(
                left_out.iter().all(|file| file["path"] == "a.bin"),
                "{works}: {left_out:?} {}",
                run.text()
            );
            let mut changed = record["files_changed"].as_array().cloned().unwrap_or_default();
            changed.retain(|path| path != "a.bin");
            assert_eq!(
                changed,
                [json!(format!("T00{number}.txt")), json!("specs/001-login/tasks.md")],
                "{works}"
            );
        }
    }
}

#[test]
fn a_filter_that_works_again_commits_what_it_had_refused() {
    let scene = scene(TWO, "echo $RALPH_TASK >> a.bin; test $RALPH_TASK = T001 || : > ../works");
    scene.write(".gitattributes", "*.bin filter=up\n").commit("Attributes");
    scene.git(["config", "filter.up.clean", "test -e ../works && tr a-z A-Z"]);
    let run = scene.ralph("").code(0);
    run.stdout_has("T001 is done, but not committed: ").stdout_lacks("work is not committed");
    assert_eq!(files_of(&scene, "HEAD"), ["a.bin", "specs/001-login/tasks.md"]);
    assert_eq!(scene.git("show HEAD:a.bin"), "T001\nT002");
}

#[test]
fn a_file_that_a_filter_refused_before_the_session_stops_no_commit() {
    let scene = scene(ONE, "echo 1 > b.txt");
    scene.write(".gitattributes", "*.bin filter=lfs\n").commit("Attributes");
    scene.git("config filter.lfs.clean no-such-program");
    scene.git("config filter.lfs.required true");
    scene.write("mine.bin", "mine\n");
    scene.ralph("").code(0).stdout_lacks("not committed");
    assert_eq!(files_of(&scene, "HEAD"), ["b.txt", "specs/001-login/tasks.md"]);
}

#[test]
fn files_that_rules_leave_out_are_named_in_trailer_warning_show_and_closing_lines() {
    let scene = scene(
        ONE,
        "head -c 3000 /dev/zero > big; echo k > .env; echo k > \"$(printf 'new\\nline.key')\"
        git init -q nested; echo 1 > nested/f; git -C nested add f; git -C nested commit -qm 1
        git init -q unborn; echo 1 > code",
    );
    scene.config("snapshot-max-file = '1KiB'").write("mine.pem", "mine\n").write("work", "x\n");
    scene.git("add .specify");
    scene.git("commit -qm limit");
    let run = scene.ralph("").code(0);
    assert_eq!(files_of(&scene, "HEAD"), ["code", "specs/001-login/tasks.md"]);
    assert_eq!(left_out(&scene), [".env", "big", "new%0aline.key", "unborn/", "nested"]);
    // The start names the user's files, and nothing else does.
    run.stdout_has("2 uncommitted files of yours: work, mine.pem\n")
        .stdout_has("the commit of T001 leaves out .env (credentials), big (too large), new")
        .stdout_has("\n  hint: `git add` and commit them yourself, or have git ignore them")
        .stdout_has("left out of the commits: .env, big, new line.key, unborn/, nested\n");
    scene.ralph("show 1").code(0).stdout_has("left out    ").stdout_has("nested (nested repository)");
    // The second commit names none of them again.
    scene.tasks("- [x] T001 One\n- [ ] T002 Two").agent_sh(&agent("echo 2 > code")).ralph("").code(0);
    assert_eq!(left_out(&scene), Vec::<String>::new());
}

#[test]
fn a_file_that_is_tracked_is_committed_whatever_its_size_and_name() {
    let scene = scene(ONE, "head -c 3000 /dev/zero > big; echo new > .env; echo new > id_rsa");
    scene.config("snapshot-max-file = '1KiB'").write("big", "x").write(".env", "x").write("id_rsa", "x");
    scene.commit("Tracked").ralph("").code(0).stdout_lacks("leaves out");
    assert_eq!(files_of(&scene, "HEAD"), [".env", "big", "id_rsa", "specs/001-login/tasks.md"]);
    assert_eq!(left_out(&scene), Vec::<String>::new());
}

#[test]
fn a_new_commit_of_a_submodule_is_committed_and_its_dirty_files_are_said() {
    for settings in ["", "config diff.ignoreSubmodules all", "config submodule.sub.ignore all"] {
        let scene = scene(
            ONE,
            "cd sub; echo 2 > file; git commit -qam two; echo 3 > file; echo 1 > untracked; cd ..",
        );
        let other = scene.outside("other");
        std::fs::create_dir(&other).unwrap();
        scene.git_in(&other, "init --quiet .");
        std::fs::write(other.join("file"), "1\n").unwrap();
        scene.git_in(&other, "add file");
        scene.git_in(&other, "commit --quiet -m one");
        let add = ["-c", "protocol.file.allow=always", "submodule", "--quiet", "add", "../other", "sub"];
        scene.git(add);
        scene.commit("A submodule");
        if !settings.is_empty() {
            scene.git(settings);
        }
        let run = scene.ralph("").code(0);
        let run = run.stdout_has("not its uncommitted changes: file, untracked");
        run.stdout_has("left out of the commits: sub/file, sub/untracked");
        let at = scene.git_in(&scene.path("sub"), "rev-parse HEAD");
        assert_eq!(scene.git("rev-parse HEAD:sub"), at, "{settings}");
        assert_eq!(left_out(&scene), ["sub/file", "sub/untracked"]);
    }
}

#[test]
fn a_submodule_that_the_agent_adds_is_committed() {
    let scene = scene(
        ONE,
        "git -c protocol.file.allow=always submodule --quiet add ../other sub; git init -q loose; cd loose
        echo 1 > f; git add f; git commit -qm 1; cd ..; git add loose 2>/dev/null",
    );
    let other = scene.outside("other");
    std::fs::create_dir(&other).unwrap();
    scene.git_in(&other, "init --quiet .");
    scene.git_in(&other, "commit --quiet --allow-empty -m one");
    scene.ralph("").code(0).stdout_has("leaves out loose (nested repository)");
    assert_eq!(files_of(&scene, "HEAD"), [".gitmodules", "specs/001-login/tasks.md", "sub"]);
    assert_eq!(left_out(&scene), ["loose"]);
}

#[test]
fn the_session_stops_where_the_agent_left_the_branch() {
    for (meddling, said) in [
        ("git switch -q -c other", "the session commits on `main`, but `other` is checked out"),
        ("git branch -q -m other", "the session commits on `main`, but `other` is checked out"),
        ("git checkout -q --detach", "the session commits on `main`, but no branch is checked out"),
        ("git checkout -q --orphan other", "the session commits on `main`, but `other` is checked out"),
        ("git rev-parse HEAD > .git/MERGE_HEAD", "a merge is in progress in this work tree"),
        ("mkdir .git/rebase-merge", "a rebase is in progress in this work tree"),
    ] {
        let scene = scene(TWO, &format!("echo 1 > made; {meddling}"));
        let commits = scene.git("rev-list --count --branches");
        let run = scene.ralph("").code(5);
        let run = run.stdout_has(&format!("T001 is done, but not committed: {said}"));
        let run = run.stdout_has(&format!("cannot commit: {said}; the work so far is in "));
        let run = run.stdout_has("T001 is done, and its work is not committed");
        assert!(run.text().contains("\n  hint: "), "{run}");
        assert_eq!(scene.git("rev-list --count --branches"), commits);
        let session = scene.session();
        assert_eq!(session.trailers("Ralph-Outcome"), ["success"]);
        assert_eq!(session.end()["stop_reason"], "stuck");
        let snapshot = session.trailers("Ralph-Snapshot").remove(0);
        assert_eq!(scene.git(["cat-file", "blob", &format!("{snapshot}:made")]), "1");
    }
}

#[test]
fn a_session_that_stopped_on_another_branch_commits_all_when_it_is_resumed() {
    let scene = scene(TWO, "echo 1 > made-$RALPH_TASK; test $RALPH_TASK = T002 || git switch -q -c other");
    scene.ralph("").code(5).stdout_has("check it out again (`git switch main`), then `specify ralph resume ");
    scene.git("switch -q main");
    scene.ralph("resume").code(0).stdout_lacks("not committed");
    assert_eq!(files_of(&scene, "main"), ["made-T001", "made-T002", "specs/001-login/tasks.md"]);
    assert_eq!(scene.git("rev-parse other"), scene.git("rev-parse main~1"));
}

/// Three tasks without commits of the loop, and an agent that does `evil` for the second one.
fn meddling(evil: &str) -> Sandbox {
    let scene = Sandbox::with_refs_in_files();
    scene.tasks("- [ ] T001 One\n- [ ] T002 Two\n- [ ] T003 Three").agent_uses_git();
    scene.agent_sh(&agent(&format!(
        "set -e; echo $RALPH_TASK > work-$RALPH_TASK\n\
         ours() {{ git for-each-ref --format='%(refname)' $1; }}\n\
         gone() {{ while read id rest; do rm -f .git/objects/$(echo $id | sed 's,^..,&/,'); done; }}\n\
         if test $RALPH_TASK = T002; then\n:\n{evil}\nfi"
    )));
    scene.commit("Three tasks");
    scene
}

fn object(scene: &Sandbox, id: &str) -> std::path::PathBuf {
    scene.path(&format!(".git/objects/{}/{}", &id[..2], &id[2..]))
}

#[test]
fn a_loop_records_all_while_git_prunes_without_a_pause() {
    let scene = Sandbox::new();
    let tasks: String = (1..=6).map(|number| format!("- [ ] T{number:03} Do it\n")).collect();
    scene.tasks(&tasks).agent_sh(&agent("echo $RALPH_TASK >> work.txt")).commit("Ready");
    scene.agent_uses_git();
    let pruning = Housekeeping::pruning(&scene);
    scene.ralph("").code(0);
    // The one that began before the end of the loop comes to its end.
    drop(pruning);
    let session = scene.session();
    assert_eq!(session.trailers("Ralph-Outcome"), ["success"; 6]);
    assert_eq!(session.trailers("Ralph-Snapshot").len(), 6);
    scene.ralph("fsck").code(0);
    scene.ralph("rebuild --check").code(0);
}

#[test]
fn records_that_an_agent_deletes_by_hand_are_named_by_fsck() {
    let scene = meddling("git rev-list $(ours refs/ralph/) | tail -n 1 | gone");
    scene.ralph("").code(0);
    scene.skip_final_fsck().ralph("fsck").code(1).stdout_has("what is older is gone: read the commit ");
}

#[test]
fn what_is_readable_of_a_broken_chain_is_shown_and_the_rest_said_to_be_gone() {
    let scene = meddling("");
    scene.ralph("").code(0);
    scene.skip_final_fsck();
    let session = scene.session();
    let commits = session.iterations();
    let id = session.id().to_owned();
    std::fs::remove_file(object(&scene, &commits[0])).unwrap();
    let gone = "only the newest 3 records are readable, what is older is gone: read the commit ";
    let run = scene.ralph("log --json").code(0).stderr_has(gone);
    let rows = run.json();
    assert_eq!(rows["iterations"].as_array().unwrap().len(), 2, "{run}");
    for words in
        ["log", "log --oneline", "log --sessions", "status", "show 3", "stats", "report -o ../page.html"]
    {
        let run = scene.ralph(words);
        assert!(run.code == 0 && run.talk().contains(gone), "{run}");
        assert!(!run.talk().contains("shallow") && !run.talk().contains("no session is recorded"), "{run}");
    }
    scene.ralph(&format!("status --session {id}")).code(0).stderr_has(gone);
    scene.ralph("fsck").code(1).stdout_has(gone);
    // Nothing of it keeps the next session from running.
    let list = "- [x] T001 One\n- [x] T002 Two\n- [x] T003 Three\n- [ ] T004 Four";
    scene.tasks(list).ralph("").code(0).stdout_has("progress.txt was not brought up to session ");
    std::fs::remove_file(object(&scene, &commits[2])).unwrap();
    let end = scene.git(["rev-parse", &format!("refs/ralph/001-login/{id}")]);
    std::fs::remove_file(object(&scene, &end)).unwrap();
    scene.ralph(&format!("log --session {id}")).code(0).stderr_has("its newest record cannot be read");
}

#[test]
fn a_session_ref_that_becomes_symbolic_is_put_back_and_said() {
    let scene = meddling(
        "git symbolic-ref $(ours refs/ralph/) refs/heads/nothing; git symbolic-ref $(ours refs/ralph-snap/) refs/heads/main",
    );
    let main = scene.git("rev-parse main");
    let run = scene.ralph("").code(0);
    let run =
        run.stdout_has("was made a symbolic ref to refs/heads/nothing by another program; it was restored");
    run.stdout_has("was made a symbolic ref to refs/heads/main by another program; it was restored");
    assert_eq!(scene.git("for-each-ref --format=%(refname) refs/heads"), "refs/heads/main");
    assert_eq!(scene.git("rev-parse main"), main);
    assert_eq!(scene.session().trailers("Ralph-Outcome"), ["success", "success", "success"]);
}

#[test]
fn a_symbolic_ref_with_the_name_of_a_session_is_reported_and_not_read() {
    let scene = meddling("");
    scene.ralph("").code(0);
    let name = "refs/ralph/001-login/20990101-000000-00000000";
    scene.git(["symbolic-ref", name, "refs/heads/main"]);
    let said = format!("{name} is a symbolic ref to refs/heads/main");
    scene.ralph("log").code(0).stderr_has(&said).stdout_has("T003");
    scene.ralph("status").code(0).stdout_has("3 of 3 done");
    scene.ralph("fsck").code(1).stdout_has(&said);
    scene.ralph("doctor").code(0).stdout_has(&format!("! records      {said}"));
    scene.git(["symbolic-ref", "--delete", name]);
    scene.ralph("fsck").code(0);
    scene.ralph("doctor").code(0).stdout_lacks("symbolic");
}

#[test]
fn a_ref_of_a_session_that_a_power_cut_emptied_is_reported() {
    let scene = meddling("");
    scene.ralph("").code(0);
    let name = format!("refs/ralph/001-login/{}", scene.session().id());
    let file = scene.path(&format!(".git/{name}"));
    let tip = std::fs::read(&file).unwrap();
    for damaged in ["", "no object id\n"] {
        std::fs::write(&file, damaged).unwrap();
        for words in ["log", "log --json", "stats", "show", "report -o ../page.html", "rebuild --all"] {
            let run = scene.ralph(words);
            assert!(run.talk().contains(&format!("read {name}")), "{run}");
            assert!(!run.talk().contains("no session is recorded"), "{run}");
        }
        scene.ralph("fsck").code(1).stdout_has(&format!("`git update-ref {name} COMMIT`"));
        scene.ralph("doctor").stdout_has(&format!("! records      read {name}"));
    }
    std::fs::remove_file(&file).unwrap();
    let lost = scene.git("fsck --no-reflogs");
    let lost = lost.lines().find_map(|line| line.strip_prefix("dangling commit ")).unwrap();
    scene.git(["update-ref", &name, lost]);
    assert_eq!(std::fs::read(&file).unwrap(), tip);
    scene.ralph("fsck").code(0);
}

#[test]
fn records_that_git_replace_or_grafts_hide_are_read_as_they_were_written() {
    let scene = meddling("");
    scene.ralph("").code(0);
    let log = scene.ralph("log --json").code(0).text();
    let session = scene.session();
    let commits = session.iterations();
    scene.git(["replace", &commits[1], "HEAD"]);
    assert_eq!(scene.ralph("log --json").code(0).text(), log);
    scene.ralph("fsck").code(1).stdout_has("`git replace` shows another record than this one");
    let said = format!("! records      `git replace` hides record {}", commits[1]);
    scene
        .ralph("doctor")
        .code(0)
        .stdout_has(&said)
        .stdout_has(&format!("git replace --delete {}", commits[1]));
    scene.git(["replace", "--delete", &commits[1]]);
    scene.ralph("doctor").code(0).stdout_lacks("git replace");
    scene.write(".git/info/grafts", format!("{}\n", commits[2]));
    assert_eq!(scene.ralph("log --json").code(0).text(), log);
    scene.ralph("show 2 --patch").code(0).stdout_has("work-T002");
    scene.ralph("fsck").code(0);
    std::fs::remove_file(scene.path(".git/info/grafts")).unwrap();
}

#[test]
fn a_ref_that_takes_the_place_of_ours_is_named_and_its_hint_helps() {
    for name in ["refs/ralph", "refs/ralph-snap", "refs/ralph/001-login", "refs/notes/ralph/x"] {
        for is_symbolic in [false, true] {
            let scene = Sandbox::with_succeeding_agent(1);
            if is_symbolic && name != "refs/notes/ralph/x" {
                scene.git(["symbolic-ref", name, "refs/heads/main"]);
            } else {
                scene.git(["update-ref", name, "HEAD"]);
            }
            scene.agent_uses_git();
            let run = scene.ralph("").code(3).stderr_has(&format!("{name} is a ref of another tool"));
            let talk = run.talk();
            let hint = talk.lines().find_map(|line| line.strip_prefix("hint: move it away: ")).unwrap();
            for command in hint.split(" && ") {
                scene.git(command.strip_prefix("git ").unwrap());
            }
            scene.ralph("").code(0);
        }
    }
}

#[test]
fn status_names_the_phase_that_runs() {
    let scene = Sandbox::new();
    let wait = |what: &str| format!(": > in-{what}; until test -e go-{what}; do sleep 0.01; done");
    scene.write(".gitattributes", "*.slow filter=slow\n").write(".gitignore", "in-*\ngo-*\n");
    scene.agent_sh(&agent(&format!("{}; echo 1 > a.slow", wait("agent")))).validate(&wait("validation"));
    scene.commit("Slow");
    scene.git(["config", "filter.slow.clean", &format!("{}; cat", wait("recording"))]);
    let mut running = scene.spawn("");
    // What the agent left is read before the validation runs.
    for phase in ["agent", "recording", "validation"] {
        running.wait_for_file(format!("in-{phase}"));
        let status = scene.ralph("status --json").code(0).json();
        assert_eq!(status["session"]["phase"], phase, "{status}");
        let told = match phase {
            "agent" => ": fake\n",
            phase => &format!(": {phase}\n"),
        };
        scene.ralph("status").code(0).stdout_has(told);
        scene.write(&format!("go-{phase}"), "");
    }
    running.wait().code(0);
    assert_eq!(scene.ralph("status --json").code(0).json()["session"]["phase"], serde_json::Value::Null);
}

#[test]
fn restore_counts_the_files_that_it_writes_and_removes() {
    use std::collections::BTreeMap;
    use std::os::unix::fs::MetadataExt;
    let scene = Sandbox::new();
    scene.tasks(TWO).agent_sh(&agent(
        "case $RALPH_TASK in
        T001) for f in edited same moded gone linked; do echo 1 > $f; done; chmod +x moded; ln -s same link
        mkdir folder other; echo 1 > folder/a; echo 1 > folder/b; echo 1 > other/c; echo '*.ign' > .gitignore;;
        *) echo 2 > edited; chmod -x moded; rm gone linked link; ln -s same linked; echo 2 > link
        rm -r folder; echo 2 > folder; rm -r other; ln -s . other; echo 2 > new; mkdir deep; echo 2 > deep/x; echo 2 > x.ign;;
        esac",
    ));
    scene.commit("Two tasks").ralph("").code(0);
    let look = |scene: &Sandbox| -> BTreeMap<String, String> {
        let words = [".", "-path", "./.git", "-prune", "-o", "!", "-type", "d", "-print"];
        let listed = scene.hermetic("find").args(words).output().unwrap().stdout;
        let of = |path: &str| {
            let found = scene.path(path).symlink_metadata().unwrap();
            let link = std::fs::read_link(scene.path(path)).unwrap_or_default();
            let bytes = if found.is_symlink() { Vec::new() } else { scene.bytes(path) };
            format!("{:o} {} {bytes:?}", found.mode(), link.display())
        };
        String::from_utf8(listed).unwrap().lines().map(|path| (path.to_owned(), of(path))).collect()
    };
    for words in
        ["restore 1", "restore 2", "restore --undo", "restore 0", "restore 2", "restore 1 edited other"]
    {
        for setting in ["true", "false"] {
            scene.git(["config", "core.fileMode", setting]);
            let before = look(&scene);
            let planned = scene.ralph(&format!("{words} --dry-run")).code(0).text();
            let run = scene.ralph(words).code(0);
            let after = look(&scene);
            let created = after.keys().filter(|path| !before.contains_key(*path)).count();
            let removed = before.keys().filter(|path| !after.contains_key(*path)).count();
            let changed =
                before.iter().filter(|(path, was)| after.get(*path).is_some_and(|is| is != *was)).count();
            let files = if created == 1 { "file" } else { "files" };
            let counts = format!("{created} {files} created, {changed} changed, {removed} removed");
            let is_idle = created + removed + changed == 0;
            // Files that were asked for by name are named.
            let said = match words.split(' ').nth(2) {
                Some(_) => "brought back edited, other/c from #1; removed other, which was not there at #1",
                None => &counts,
            };
            assert!(is_idle || run.text().contains(said), "{words}, {setting}: {said} expected of {run}");
            assert!(
                is_idle || planned.contains(&counts),
                "{words}, {setting}: {counts} expected of {planned}"
            );
            assert!(
                !is_idle || !run.text().contains(" created"),
                "{words}, {setting}: nothing expected of {run}"
            );
        }
    }
}

#[test]
fn a_folder_whose_name_is_not_utf8_is_named_as_the_reason() {
    use std::os::unix::ffi::OsStrExt;
    let odd = std::ffi::OsStr::from_bytes(b"odd-\xff");
    let scene = Sandbox::with_succeeding_agent(1);
    std::fs::create_dir(scene.path("").join(odd)).unwrap();
    for words in ["status", "log", "", "doctor"] {
        let run = scene.call(words).dir(odd).run().code(3);
        run.stderr_has("is not UTF-8, and paths are recorded as UTF-8\nhint: rename ");
    }
    std::fs::remove_dir(scene.path("").join(odd)).unwrap();
    let specs = scene.path("specs");
    std::fs::rename(specs.join("001-login"), specs.join(odd)).unwrap();
    let run = scene.ralph("").code(3);
    run.stderr_has("has no directory with a name in UTF-8").stderr_has("hint: rename ");
}

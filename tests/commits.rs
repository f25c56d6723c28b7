//! `commit = "task"`: what was done is on the user's branch, and what the user has staged stays as it is.

use crate::sandbox::Sandbox;

/// Writes a file named after the task, and ticks the box.
const AGENT: &str = "cat >/dev/null\necho $RALPH_ITERATION >> work-$RALPH_TASK\n\
                     tick\n";

fn ready(tasks: &str) -> Sandbox {
    let scene = Sandbox::new();
    scene.tasks(tasks).agent_sh(AGENT).config("commit = 'task'").commit("Ready");
    scene.agent_uses_git();
    scene
}

fn hook(scene: &Sandbox, name: &str, script: &str) {
    use std::os::unix::fs::PermissionsExt;
    let path = scene.path(&format!(".git/hooks/{name}"));
    std::fs::write(&path, format!("#!/bin/sh\n{script}\n")).expect("the folder of hooks is there");
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755))
        .expect("the hook was just written");
}

fn files_of(scene: &Sandbox, commit: &str) -> Vec<String> {
    let listed = scene.git(["show", "--format=", "--name-only", commit]);
    listed.lines().map(str::to_owned).collect()
}

#[test]
fn each_task_becomes_a_commit_with_trailers_and_a_note() {
    let scene = ready("- [ ] T001 Write `one`\n- [ ] T002 Write two");
    scene.validate("test -e work-T001").commit("Ready");
    let head = scene.git("rev-parse HEAD");
    scene.ralph("").code(0);
    let session = scene.session();
    assert_eq!(scene.git("log --format=%s main -4"), "T002 Write two\nT001 Write `one`\nReady\nReady");
    assert_eq!(scene.git("log -1 --format=%an main"), "Ada Lovelace");
    let trailer = scene.git("log -1 --format=%(trailers:key=Ralph-Made-In,valueonly) main~1");
    assert_eq!(trailer, format!("{}:1 T001", session.id()));
    assert_eq!(scene.git("log -1 --format=%(trailers:key=Ralph-Feature,valueonly) main"), "specs/001-login");
    assert_eq!(files_of(&scene, "main~1"), ["specs/001-login/tasks.md", "work-T001"]);
    assert_eq!(files_of(&scene, "main"), ["specs/001-login/tasks.md", "work-T002"]);
    let commit = scene.git("rev-parse main~1");
    let record = session.iteration(1);
    assert_eq!(record["commits"], serde_json::json!([commit]));
    assert_eq!((&record["head_before"], &record["head_after"]), (&head.into(), &commit.clone().into()));
    let note = scene.git(["log", "-1", "--notes=ralph", "--format=%N", &commit]);
    assert_eq!(note.trim(), format!("{}:1 T001 success", session.id()));
    // Nothing is left but the journal, and the index is what HEAD says.
    assert_eq!(scene.git("status --porcelain"), "?? specs/001-login/progress.txt");
    assert_eq!(scene.git("diff-index --cached --name-only HEAD"), "");
    scene.ralph("fsck").code(0);
}

#[test]
fn what_was_staged_stays_staged_and_what_was_dirty_stays_out() {
    let scene = ready("- [ ] T001 One\n- [ ] T002 Two");
    scene.write("mine", "first\n").write("work-T002", "mine\n").write("dirty", "a\n");
    scene.write(".gitignore", "*.log\n").commit("Mine");
    scene
        .write("mine", "staged\n")
        .write("work-T002", "staged\n")
        .write("new", "staged\n")
        .write("it.log", "x");
    scene.git("add mine work-T002 new");
    scene.write("mine", "and more\n").write("dirty", "b\n").write("work-T001", "by me\n");
    let staged = scene.git("diff-index --cached HEAD");
    assert_eq!(staged.lines().count(), 3, "{staged}");
    let run = scene.ralph("").code(0);
    assert_eq!(scene.git("diff-index --cached HEAD"), staged);
    assert_eq!(scene.read("mine"), "and more\n");
    assert_eq!(files_of(&scene, "main~1"), ["specs/001-login/tasks.md", "work-T001"]);
    assert_eq!(scene.git("show main:work-T001"), "by me\n1");
    assert_eq!(files_of(&scene, "main"), ["specs/001-login/tasks.md"]);
    run.stdout_has("the commit includes changes from before the session: work-T001")
        .stdout_has("not committed, because they were staged before the session began: work-T002\n  hint: ");
    assert!(scene.git("status --porcelain").contains(" M dirty"), "{}", scene.git("status --porcelain"));
}

#[test]
fn failed_tries_are_in_the_next_commit_and_what_the_agent_staged_too() {
    let scene = ready("- [ ] T001 One");
    scene.write("gone", "x").write("run.sh", "echo\n").commit("More");
    scene.agent_sh(
        "cat >/dev/null\nif [ $RALPH_ATTEMPT = 1 ]; then echo 1 > 'first try'; git add 'first try'; echo 2 > 'first try'\n\
         rm gone; chmod +x run.sh; ln -s run.sh link; echo no > x.tmp; exit 1; fi\n\
         echo '*.tmp' > .gitignore\ntick all\n",
    );
    scene.commit("Agent");
    scene.ralph("").code(0);
    assert_eq!(
        scene
            .git("show --format= --raw --abbrev=4 --no-renames main")
            .lines()
            .map(|line| line.split_at(15).0.to_owned() + line.split('\t').next_back().unwrap())
            .collect::<Vec<_>>(),
        [
            ":000000 100644 .gitignore",
            ":000000 100644 first try",
            ":100644 000000 gone",
            ":000000 120000 link",
            ":100644 100755 run.sh",
            ":100644 100644 specs/001-login/tasks.md",
        ]
    );
    assert_eq!(scene.git(["show", "main:first try"]), "2");
    assert_eq!(scene.git("status --porcelain"), "?? specs/001-login/progress.txt");
}

#[test]
fn hooks_of_the_user_run_and_one_that_refuses_costs_a_warning_and_no_task() {
    let scene = ready("- [ ] T001 One\n- [ ] T002 Two");
    hook(
        &scene,
        "pre-commit",
        "git diff --cached --name-only HEAD >> .git/seen; test -e work-T002 || { echo 'two is missing' >&2; exit 1; }",
    );
    hook(&scene, "commit-msg", "echo 'Checked: yes' >> \"$1\"");
    let run = scene.ralph("").code(0);
    run.stdout_has("T001 is done, but not committed: `git commit` exited 1: two is missing");
    assert_eq!(scene.git("log --format=%s -2"), "T002 Two\nReady");
    assert_eq!(files_of(&scene, "main"), ["specs/001-login/tasks.md", "work-T001", "work-T002"]);
    assert_eq!(scene.git("log -1 --format=%(trailers:key=Checked,valueonly)"), "yes");
    let seen = scene.read(".git/seen");
    assert!(seen.ends_with("specs/001-login/tasks.md\nwork-T001\nwork-T002\n"), "{seen}");
    let outcomes = scene.session().trailers("Ralph-Outcome");
    assert_eq!(outcomes, ["success", "success"]);
    assert_eq!(scene.git("diff-index --cached --name-only HEAD"), "");
}

#[test]
fn what_earlier_sessions_did_gets_its_own_commits_first() {
    let scene = ready("- [ ] T001 One\n- [ ] T002 Two\n- [ ] T003 Three");
    scene.ralph("-n 1 --commit off").code(4);
    scene.ralph("-n 1 --commit off").code(4);
    scene.git("switch --quiet --create night");
    scene.write("mine", "own\n");
    // A rehearsal commits nothing.
    scene.ralph("doctor --run").code(0).stdout_has("start would be possible");
    assert_eq!(scene.git("log --format=%s -1"), "Ready");
    let run = scene.ralph("").code(0);
    run.stdout_has("1 uncommitted file of T001: work-T001; committed first, as ")
        .stdout_has("1 uncommitted file of T002: work-T002; committed first, as ")
        .stdout_has("\non night: git switch main && git merge night\n");
    assert_eq!(scene.git("log --format=%s -3"), "T003 Three\nT002 Two\nT001 One");
    for (commit, task) in [("night~2", "T001"), ("night~1", "T002"), ("night", "T003")] {
        assert_eq!(files_of(&scene, commit), ["specs/001-login/tasks.md", &format!("work-{task}")]);
        // A clone has no box without its work.
        let list = scene.git(["show", &format!("{commit}:specs/001-login/tasks.md")]);
        for task in ["T001", "T002", "T003"].iter().filter(|task| list.contains(&format!("[x] {task}"))) {
            scene.git(["cat-file", "-e", &format!("{commit}:work-{task}")]);
        }
    }
    let made_in = scene.git("log -1 --format=%(trailers:key=Ralph-Made-In,valueonly) night~2");
    assert!(made_in.ends_with(":1 T001"), "{made_in}");
    assert_eq!(scene.git("status --porcelain"), "?? mine\n?? specs/001-login/progress.txt");
}

#[test]
fn what_changed_since_an_earlier_session_is_refused_and_named_with_its_task() {
    let scene = ready("- [ ] T001 One\n- [ ] T002 Two");
    scene.ralph("-n 1 --commit off").code(4);
    scene.ralph("doctor").code(0);
    scene.write("work-T001", "by hand\n");
    let sessions = scene.sessions().len();
    scene
        .ralph("doctor")
        .code(1)
        .stdout_has("✘ commits      1 uncommitted file of T001: work-T001, and not as");
    scene.ralph("doctor --run").code(1).stdout_has("and not as an earlier session left it");
    scene.ralph("").code(3).stderr_has(
        "1 uncommitted file of T001: work-T001, and not as an earlier session left it\n\
         hint: `git add --all -- specs/001-login/tasks.md work-T001 && git commit -m 'T001 One'`",
    );
    assert_eq!((scene.sessions().len(), scene.git("log --format=%s -1")), (sessions, "Ready".into()));
    scene.git("add --all -- specs/001-login/tasks.md work-T001");
    scene.git(["commit", "--quiet", "--message", "T001 One"]);
    // What is the user's own stays out.
    scene.write("work-T001", "again\n");
    scene.ralph("").code(0);
    assert_eq!(files_of(&scene, "main"), ["specs/001-login/tasks.md", "work-T002"]);
}

#[test]
fn a_flag_asks_for_commits_and_another_word_of_it_for_none() {
    let scene = Sandbox::new();
    scene.tasks("- [ ] T001 One\n- [ ] T002 Two\n- [ ] T003 Three").agent_sh(AGENT).commit("Ready");
    scene.agent_uses_git();
    scene.ralph("-n 1 --commit").code(4);
    assert_eq!(scene.git("log --format=%s -1"), "T001 One");
    scene.ralph("run --commit task -n 1").code(4);
    assert_eq!(scene.git("log --format=%s -1"), "T002 Two");
    scene.config("commit = 'task'").commit("Settings");
    scene.ralph("--commit=off --trust").code(0);
    assert_eq!(scene.git("log --format=%s -1"), "Settings");
    scene.ralph("--commit tasks").code(2).stderr_has("did you mean `task`?");
}

#[test]
fn where_no_commit_can_be_made_no_session_begins() {
    let scene = ready("- [ ] T001 One");
    let refused = |words: &str| {
        let run = scene.ralph("").code(3).stderr_has(words).stderr_has("\nhint: ");
        assert!(scene.sessions().is_empty(), "{run}");
    };
    scene.git("checkout --quiet --detach");
    refused("`commit = \"task\"` is set, but HEAD is detached");
    scene.git("checkout --quiet main");
    scene.write(".git/MERGE_HEAD", scene.git("rev-parse HEAD"));
    refused("a merge is in progress in this work tree");
    std::fs::remove_file(scene.path(".git/MERGE_HEAD")).unwrap();
    scene.gitconfig("[user]\nuseConfigOnly = true\n");
    refused("git has no author identity");
    scene.gitconfig("[user]\nname = Ada\nemail = ada@example.org\n");
    scene.ralph("").code(0);
    assert_eq!(scene.git("log -1 --format=%s"), "T001 One");
}

#[test]
fn before_the_first_commit_and_where_the_agent_commits_itself() {
    let scene = Sandbox::without_repository("project");
    scene.git("init --quiet .");
    scene.tasks("- [ ] Do it\n- [ ] Do more").agent_sh(AGENT).config("commit = 'task'");
    scene.agent_sh("cat >/dev/null\ntick first\n");
    let refused = scene.agent_uses_git().ralph("-n 1").code(3);
    // It would be the first one, with the files of the task alone.
    refused.stderr_has("there is no commit yet\nhint: git add --all && git commit");
    scene.git("commit --quiet --allow-empty --message First");
    scene.ralph("-n 1").code(4);
    // A name that is a number would be an issue to the hosts.
    assert_eq!(scene.git("log --format=%s"), "Do it\nFirst");
    assert_eq!(files_of(&scene, "HEAD"), ["specs/001-login/tasks.md"]);
    scene.agent_sh("cat >/dev/null\ntick first\ngit add specs; git commit -qm 'By the agent'\n");
    scene.ralph("").code(0);
    assert_eq!(scene.git("log --format=%s"), "By the agent\nDo it\nFirst");
}

#[test]
fn a_session_that_is_taken_up_again_commits_what_failed_before_it() {
    let scene = ready("- [ ] T001 One");
    scene.agent_sh("cat >/dev/null\necho 1 > early; exit 1\n").commit("Fails");
    scene.ralph("-n 1").code(4);
    scene.agent_sh(AGENT).git("add agent.sh");
    scene.ralph("resume").code(0);
    assert_eq!(files_of(&scene, "main"), ["early", "specs/001-login/tasks.md", "work-T001"]);
    assert_eq!(scene.git("diff --cached --name-only"), "agent.sh");
}

#[test]
fn in_a_linked_work_tree_the_branch_of_that_one_moves() {
    let scene = ready("- [ ] T001 One");
    scene.git("worktree add --quiet -b other ../tree");
    let tree = scene.outside("tree");
    let main = scene.git("rev-parse main");
    scene.call("").dir(&tree).run().code(0);
    assert_eq!(scene.git("log -1 --format=%s other"), "T001 One");
    assert_eq!(scene.git("rev-parse main"), main);
    assert_eq!(scene.git_in(&tree, "diff-index --cached --name-only HEAD"), "");
    // The journal is in the other work tree.
    scene.skip_final_fsck();
}

#[test]
fn the_index_follows_a_commit_whose_loop_died_and_what_was_staged_since_stays() {
    let scene = ready("- [ ] T001 One\n- [ ] T002 Two");
    scene.agent_sh(
        "cat >/dev/null\necho 1 > made; echo 1 > both; git add made; echo 2 > made\n\
         tick\n",
    );
    scene.write("mine", "a\n").commit("More");
    scene.write("mine", "b\n").git("add mine");
    // The commit is there, and the hook kills the loop before it can go on.
    let parent = "ps -o ppid= -p $PPID 2>/dev/null || cut -d' ' -f4 /proc/$PPID/stat";
    hook(&scene, "post-commit", &format!("kill -KILL $({parent})"));
    scene.spawn("-n 1").wait().code(137);
    assert_eq!(scene.git("log -1 --format=%s"), "T001 One");
    assert_eq!(
        scene.git("diff --cached --name-status"),
        "D\tboth\nM\tmade\nM\tmine\nM\tspecs/001-login/tasks.md"
    );
    scene.write("both", "3\n").git("add both");
    scene.agent_sh("echo I fail; exit 1").ralph("-n 1").code(4);
    assert_eq!(scene.git("diff --cached --name-status"), "M\tboth\nM\tmine");
    let cut_off = scene.sessions()[0].iteration(1);
    assert_eq!(cut_off["outcome"], "interrupted");
    assert_eq!(cut_off["head_after"], scene.git("rev-parse HEAD"));
}

#[test]
fn a_hook_that_changes_files_gets_one_more_attempt_with_them() {
    let scene = ready("- [ ] T001 One\n- [ ] T002 Two");
    scene.write("table", "old\n").write("mine", "a\n").write("staged", "a\n").commit("More");
    // Formats what is committed, writes a tracked file anew, and touches what the user has not committed.
    hook(
        &scene,
        "pre-commit",
        "echo run >> .git/runs; grep -q formatted work-$RALPH_TASK && exit 0\n\
         for file in work-$RALPH_TASK table mine staged; do echo formatted >> $file; done; echo 'files were changed' >&2; exit 1",
    );
    scene.write("mine", "b\n").write("staged", "b\n").git("add staged");
    let run = scene.ralph("-n 1").code(4);
    run.stdout_has(
        "a hook refused the commit of T001 and changed table, work-T001: committed with that at the second attempt\n",
    );
    assert_eq!(files_of(&scene, "main"), ["specs/001-login/tasks.md", "table", "work-T001"]);
    assert_eq!(scene.git("show main:work-T001"), "1\nformatted");
    assert_eq!(scene.git("diff --cached --name-only"), "staged");
    assert_eq!(scene.git("show :staged"), "b");
    assert_eq!(scene.read(".git/runs"), "run\nrun\n");
    // One that refuses whatever it changed is asked twice, and no more.
    hook(&scene, "pre-commit", "echo x >> work-$RALPH_TASK; echo 'never' >&2; exit 1");
    let run = scene.ralph("").code(0);
    run.stdout_has("T002 is done, but not committed: `git commit` exited 1: never (also at the second attempt, with what a hook had changed: work-T002)");
    assert_eq!(scene.read("work-T002"), "1\nx\nx\n");
}

/// A clock with which two minutes take four seconds.
const FAST: &str = "2026-01-31T22:00:00Z x30";

#[test]
fn commits_that_wait_for_somebody_are_stopped_and_after_the_second_there_are_no_more() {
    let scene = ready("- [ ] T001 One\n- [ ] T002 Two\n- [ ] T003 Three\n- [ ] T004 Four");
    let program = scene.outside("gpg");
    std::fs::write(&program, "#!/bin/sh\necho $$ >> ../gpg-pids; sleep 1000\n").unwrap();
    std::fs::set_permissions(&program, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    scene.git("config gpg.program ../gpg");
    scene.config("hooks.on-event = 'cat >> ../events'\nhooks.events = 'needs_you'").commit("Hear");
    scene.git("config commit.gpgSign true");
    let head = scene.git("rev-parse HEAD");
    let run = scene.call("-n 3").env("RALPH_TEST_CLOCK", FAST).run().code(4);
    let waited = "`git commit` waited 2 min for `gpg` (`sleep`) and was stopped; ";
    let run = run
        .stdout_has(&format!("T001 is done, but not committed: {waited}the next commit takes the work along\n"))
        .stdout_has(&format!("T002 is done, but not committed: {waited}it is the second, so this session makes no more commits\n"))
        .stdout_has("T001, T002, T003 are done, and their work is not committed")
        .stdout_lacks("T003 is done, but");
    let events = std::fs::read_to_string(scene.outside("events")).unwrap();
    for (line, task) in events.lines().zip(["T001", "T002"]) {
        let event: serde_json::Value = serde_json::from_str(line).unwrap();
        assert_eq!((&event["why"], &event["task"]), (&"git".into(), &task.into()));
        assert!(
            event["cause"].as_str().unwrap().starts_with("`git commit` waited 2 min for `gpg`"),
            "{event}"
        );
    }
    assert_eq!(events.lines().count(), 2);
    let pids = std::fs::read_to_string(scene.outside("gpg-pids")).unwrap();
    assert_eq!(pids.lines().count(), 2, "{run}");
    for pid in pids.lines() {
        assert!(!std::path::Path::new("/proc").join(pid).exists(), "{pid} runs");
    }
    let uncommitted = scene.session().iteration(3)["uncommitted"].clone();
    assert_eq!(uncommitted, "no more commits in this session: earlier ones waited for `gpg` (`sleep`)");
    assert_eq!(scene.git("rev-parse HEAD"), head);
    assert_eq!(scene.git("diff --cached --name-only"), "");
    // The next start tries again, and its commit has all of the work.
    scene.git("config commit.gpgSign false");
    scene.call("resume").env("RALPH_TEST_CLOCK", "2026-02-01T08:00:00Z").run().code(0);
    let all = ["specs/001-login/tasks.md", "work-T001", "work-T002", "work-T003", "work-T004"];
    assert_eq!(files_of(&scene, "main"), all);
}

#[test]
fn a_commit_that_is_made_counts_though_a_hook_behind_it_waits() {
    let scene = ready("- [ ] T001 One");
    // It puts back what it set aside.
    hook(&scene, "post-commit", "trap 'echo 1 > ../back; exit 1' INT; sleep 1000");
    let run = scene.call("").env("RALPH_TEST_CLOCK", FAST).run().code(0);
    run.stdout_has("T001 is committed, but `git commit` waited 2 min for the hook `post-commit` (`sleep`) and was stopped\n")
        .stdout_lacks("not committed");
    assert!(scene.outside("back").exists());
    assert_eq!(files_of(&scene, "main"), ["specs/001-login/tasks.md", "work-T001"]);
    assert_eq!(scene.git("diff-index --cached --name-only HEAD"), "");
}

#[test]
fn a_commit_names_the_agents_and_models_that_worked_on_its_task() {
    let scene = Sandbox::new();
    let begins = |model: &str| {
        format!("printf '%s\\n' '{{\"type\":\"system\",\"subtype\":\"init\",\"model\":\"{model}\"}}'\n")
    };
    let works = "echo $RALPH_AGENT >> work-$RALPH_TASK\ntick\necho '{\"type\":\"result\",\"is_error\":false,\"result\":\"done\"}'\n";
    let first = begins(r"big: one\nSigned-off-by: Eve <eve@example.com>") + &works.replace("tick\n", "");
    let second = begins("claude-sonnet-4@20250514") + works;
    scene
        .tasks("- [ ] T001 One\n- [ ] T002 Two\n- [ ] T003 Three\n- [ ] T004 Four\n")
        .agents_like_claude(&[("first", &first), ("second", &second)])
        .config("commit = 'task'")
        .commit("Ready");
    scene.agent_uses_git();
    // As linters of messages do: after the subject and a blank line, trailers of at most 100 characters.
    hook(&scene, "commit-msg", "sed 1,2d \"$1\" | grep -Evq '^[A-Za-z-]+: .{1,80}$' && exit 1\nexit 0");
    let assisted = |commit: &str| {
        let trailers = scene.git(["log", "-1", "--format=%(trailers:only)", commit]);
        let values = trailers.lines().filter_map(|line| line.strip_prefix("Assisted-by: "));
        (values.collect::<Vec<_>>().join(" "), trailers.to_lowercase().matches("\nsigned-off-by").count())
    };
    scene.ralph("--agent first -n 1").code(4);
    scene.ralph("--agent second -n 1").code(4);
    let (big, new) = ("first:big:one-Signed-off-by:Eve-eve@example.com", "second:claude-sonnet-4@20250514");
    assert_eq!(assisted("HEAD"), (format!("{big} {new}"), 0));
    scene.ralph("--agent second -n 1").code(4);
    assert_eq!(assisted("HEAD"), (new.to_owned(), 0));
    scene.ralph("--agent second -n 1 --set commit-assisted-by=false").code(4);
    assert_eq!(assisted("HEAD"), (String::new(), 0));
    // A result in a lane has them as well.
    scene.git("config ralph.lane true");
    scene.ralph("--agent second").code(0);
    assert_eq!(assisted("ralph/001-login"), (new.to_owned(), 0));
    assert_eq!(scene.git("log --format=%s -3"), "T003 Three\nT002 Two\nT001 One");
}

#[test]
fn the_subject_follows_the_template_and_what_refuses_it_is_said_once_as_a_whole() {
    let scene = ready("- [ ] T001 Write one\n- [ ] T002 Write two\n- [ ] T003 Write three");
    let refusing = "head -1 \"$1\" | grep -q '^feat' && exit\necho 'type may not be empty'\necho 'see the guide' >&2\nexit 1";
    hook(&scene, "commit-msg", refusing);
    let run = scene.ralph("-n 2").code(4);
    let text = run.text();
    for words in ["    type may not be empty\n    see the guide\n", "set `commit-subject` to what it takes"] {
        assert_eq!(text.matches(words).count(), 1, "{words}: {text}");
    }
    assert_eq!(scene.session().iteration(1)["uncommitted"], "`git commit` exited 1: see the guide");
    let template = "commit-subject=feat({{ feature }}): {{ task }} {{ text | lower }}";
    scene.call(["run", "--set", template]).run().code(0);
    assert_eq!(scene.git("log -1 --format=%s main"), "feat(001-login): T003 write three");
    let bad = scene.call(["run", "--set", "commit-subject=feat: {{ tsk }}"]).run();
    bad.stderr_has("unknown name `tsk`; known names: feature, task, text, phase, story");
}

//! Finding an iteration: by a commit, by the paths that it changed, and by what its record says.

use crate::sandbox::Sandbox;

/// Two tasks; the agent commits its work on the second.
fn with_commits() -> Sandbox {
    let scene = Sandbox::new();
    scene.tasks("- [ ] T001 One\n- [ ] T002 Two\n").agent_uses_git();
    scene.agent_sh(
        "set -e\nmkdir -p src\necho $RALPH_TASK > src/$RALPH_TASK\ntick\n\
         if [ $RALPH_TASK = T002 ]; then git add src/T002; GIT_COMMITTER_DATE=2090-01-01T00:00:00Z git commit --quiet -m Two; fi\n",
    );
    scene.commit("Ready");
    scene.ralph("").code(0);
    scene
}

#[test]
fn iterations_can_be_named_by_commit() {
    let scene = with_commits();
    let session = scene.session();
    let id = session.id().to_owned();
    let records = session.iterations();
    let snapshot = |number: usize| session.iteration(number)["snapshot"].as_str().unwrap().to_owned();
    let head = scene.git("rev-parse HEAD");
    for (name, number) in [
        (records[0].as_str(), 1),
        (&records[1][..9], 2),
        (&snapshot(1), 1),
        (&snapshot(2)[..12], 2),
        ("HEAD", 2),
        (&head[..8], 2),
        (session.refname(), 2),
    ] {
        scene.ralph(format!("show {name}").as_str()).code(0).stdout_has(&format!("  #{number}\n"));
    }
    let start = scene.git(["rev-parse", &format!("{}^1", snapshot(1))]);
    let names = ["--stat", "--name-only"]
        .map(|option| scene.ralph(format!("diff {start} HEAD {option}").as_str()).code(0).text());
    assert!(names.iter().all(|names| names.contains("src/T001") && names.contains("src/T002")), "{names:?}");
    scene.ralph(format!("restore {} --dry-run", &snapshot(1)[..10]).as_str()).code(0).stdout_has("src/T002");
    let bisect = format!("bisect {} HEAD -- test ! -e src/T002", &snapshot(1)[..10]);
    scene.ralph(bisect.as_str()).code(0).stdout_has(&format!("{id}:2 is the first"));
    // Without refs/notes/ralph, the records are searched.
    scene.git("update-ref -d refs/notes/ralph");
    scene.ralph("show HEAD").code(0).stdout_has("  #2\n");
    scene.skip_final_fsck();
}

#[test]
fn an_unknown_iteration_is_an_error_with_a_reason() {
    let scene = with_commits();
    let id = scene.session().id().to_owned();
    let ready = scene.git("rev-parse HEAD~1");
    for (words, complaint) in [
        (
            "show HEAD~1",
            format!("no iteration made commit {} (HEAD~1)\nhint: {id}:1 is the last", &ready[..10]),
        ),
        ("show HEAD~9", "no such task, attempt or commit in specs/001-login: `HEAD~9`".to_owned()),
        ("diff 1 deadbeef", "no such task, attempt or commit in specs/001-login: `deadbeef`".to_owned()),
        ("restore 1234567", "has no iteration 1234567, the last is 2".to_owned()),
        ("show HEAD --session 2001", "there is no session 2001".to_owned()),
        ("bisect 2 1 -- true", format!("iteration 1 of session {id} is not after iteration 2")),
    ] {
        scene.ralph(words).code(1).stderr_has(&complaint);
    }
    let old = scene.git("rev-parse --short HEAD");
    scene.tasks("- [ ] T003 Three").agent_sh("tick all").commit("More");
    scene.ralph("").code(0);
    scene.ralph(format!("show {old}").as_str()).code(0).stdout_has(":2\n");
    let latest = scene.sessions().pop().unwrap().id().to_owned();
    let run = scene.ralph(format!("show {old} --session {latest}").as_str()).code(1);
    run.stderr_has(&format!("is of session {id} of specs/001-login\nhint: omit --session"));
}

#[test]
fn a_name_of_a_task_and_of_a_commit_is_ambiguous() {
    let scene = Sandbox::with_succeeding_agent(1);
    scene.tasks("- [ ] ADD1 One\n- [ ] ADD2 Two\n").commit("Ready").ralph("").code(0);
    scene.ralph("show ADD1").code(0).stdout_has("✔ ADD1 One");
    scene.git("branch ADD1");
    let head = scene.git("rev-parse HEAD");
    let id = scene.session().id().to_owned();
    scene.ralph("show ADD1").code(1).stderr_has(&format!(
        "`ADD1` is a task and names commit {} (ADD1)\nhint: {id}:1 is the last iteration on the task",
        &head[..10]
    ));
    scene.ralph(format!("show {id}:ADD1").as_str()).code(0);
}

#[test]
fn a_feature_is_named_by_a_part_and_where_a_command_is_expected_the_command_is_named() {
    let scene = with_commits();
    scene.write("specs/002-logout/tasks.md", "- [ ] T001 One\n");
    for words in
        ["log --feature login", "status --feature LOGIN", "show --feature ogin", "--dry-run --feature out"]
    {
        scene.ralph(words).code(0);
    }
    scene.ralph("log --feature log").code(0).stdout_has("001-login");
    scene.ralph("status --feature log").code(1).stderr_has("`log` is ambiguous: 001-login, 002-logout");
    for (words, command) in [
        ("001-login", "specify ralph --feature 001-login"),
        ("specs/002-logout", "specify ralph --feature 002-logout"),
        ("run logout -n 3", "specify ralph run -n 3 --feature 002-logout"),
        ("log 001", "specify ralph log --feature 001-login"),
    ] {
        let run = scene.ralph(words).code(2);
        run.stderr_has(" is a feature, not a command\n").stderr_has(&format!("hint: `{command}`\n"));
    }
    let unknown = scene.ralph("nowhere").code(2).talk();
    assert!(!unknown.contains("is a feature"), "{unknown}");
}

const STORY: &str = r#"
[[turn]]
task = "T001"
attempt = 1
do = [
  { write = { path = "src/deep/a.txt", text = "a" } },
  { write = { path = "port", text = "8080" } },
  { say = "Listening on port 8080." },
]
[[turn]]
task = "T002"
attempt = 1
do = [{ write = { path = "docs/b.md", text = "b" } }]
exit = 7
[[turn]]
do = [{ write = { path = "port", text = "9090" } }, { say = "Done." }, { tick = "current" }]
"#;

/// T001 fails with port 8080, and is done with port 9090; the agent of T002 fails, then it is done as well.
fn with_ports() -> Sandbox {
    let scene = Sandbox::new();
    scene.tasks("- [ ] T001 One\n- [ ] T002 Two\n").agent_script(STORY);
    scene.validate("echo \"port $(cat port)\"; test $(cat port) = 9090 || exit 3");
    scene.config("capture.port = 'port (\\d+)'").commit("Ready");
    scene.ralph("").code(0);
    scene
}

const GIVEN_UP: &str = r#"
[[turn]]
task = "T001"
do = [{ write = { path = "bad", text = "x" } }, { say = "Tried." }, { tick = "current" }]
[[turn]]
do = [{ remove = "bad" }, { say = "Done." }, { tick = "current" }]
"#;

#[test]
fn a_task_is_shown_by_its_last_attempt_and_one_that_was_never_tried_says_why() {
    let scene = Sandbox::new();
    let list = "- [ ] T001 One\n- [ ] T002 Two (depends on T001)\n- [ ] T003 Three\n- [x] T005 Five\n- [ ] T006 Six\n";
    scene.tasks(list).agent_script(GIVEN_UP).validate("test ! -e bad || { cat why; exit 3; }");
    scene.write("why", "FAILED bad: is there\n");
    scene.config("skip-after = 3").commit("Ready");
    scene.ralph("-n 4").code(4);
    let shown = scene.ralph("show T001").code(0).stdout_has("✘ T001 One, attempt 3 of 3  #3\n");
    let shown = shown
        .stdout_has("\n  Given up after this attempt\n")
        .stdout_has("  before      #1, #2 failed in the same way\n")
        .stdout_has("\n  help it     specify ralph hint --task T001 'TEXT'\n")
        .text();
    for part in ["FAILED bad: is there", "T001 One", "Tried."] {
        assert_eq!(shown.matches(part).count(), 1, "{part} in {shown}");
    }
    scene.ralph("show T003").code(0).stdout_has("✔ T003 Three  #5\n");
    for (task, why) in [
        (
            "T002",
            "T002 was not tried: it waits for T001, which failed 3 times\nhint: `specify ralph show T001`",
        ),
        ("t005", "T005 was not tried: its box was ticked, and by no recorded iteration"),
        ("T006", "T006 was not tried: the last session ended before T006's turn: stopped (limit reached)"),
        ("T009", "no such task, attempt or commit in specs/001-login: `T009`"),
    ] {
        scene.ralph(&format!("show {task}")).code(1).stdout("").stderr_has(&format!("error: {why}"));
    }
    scene.ralph("diff T001 --name-only").code(0).stdout_lacks("progress.txt");
    scene.tasks(&list.replace("[ ] T003", "[x] T003")).validate("true").ralph("--task T001").code(0);
    let first = scene.sessions()[0].id().to_owned();
    let latest = scene.sessions()[1].id().to_owned();
    scene.ralph("show T001").code(0).stdout_has("✔ T001 One  #1\n").stdout_lacks("iven up");
    scene
        .ralph(&format!("show {first}:T001"))
        .code(0)
        .stdout_has(&format!("  Given up after this attempt, done in {latest}:1\n"))
        .stdout_lacks("help it");
    scene.ralph("show T006").code(1).stderr_has("T006 was not tried: the last session was for T001\n");
}

/// The tasks and outcomes of the iterations that `log` lists.
fn listed(scene: &Sandbox, words: &[&str]) -> String {
    let run = scene.ralph(&format!("log --jsonl {}", words.join(" "))).code(0);
    let short = |one: &serde_json::Value| format!("{}{}", one["task"], one["outcome"]).replace('"', "");
    let lines: Vec<_> = run.json_lines().iter().map(short).collect();
    lines.join(", ").replace("success", "+").replace("failure", "-")
}

#[test]
fn iterations_are_found_by_paths_and_exits() {
    let scene = with_ports();
    for (words, expected) in [
        (&[][..], "T001-, T001+, T002-, T002+"),
        (&["--", "src"], "T001-"),
        (&["--", "docs/", "src/deep"], "T001-, T002-"),
        (&["--", "port"], "T001-, T001+"),
        (&["--", "."], "T001-, T001+, T002-, T002+"),
        (&["--", "./src/../docs"], "T002-"),
        (&["--", "docs/b"], ""),
        (&["-n", "1", "--", "port"], "T001+"),
        (&["-n", "2", "--reverse", "--", "src", "docs"], "T002-, T001-"),
        (&["--exit", "3"], "T001-"),
        (&["--exit", "7"], "T002-"),
        (&["--exit", "agent=0", "--failed"], "T001-"),
    ] {
        assert_eq!(listed(&scene, words), expected, "{words:?}");
    }
    let below = scene.call("log --oneline -- deep ../port").dir(scene.path("src")).run().code(0);
    below.stdout_has(":1  ✘ T001").stdout_has(":2  ✔ T001").stdout_lacks("T002");
    let top = scene.path("docs");
    scene.call(&format!("log --oneline -- {}", top.display())).run().code(0).stdout_has(":3  ✘ T002");
    let lines = scene.ralph("log --jsonl --reverse").code(0).json_lines();
    let whole: Vec<_> = [4, 3, 2, 1].map(|number| scene.session().iteration(number)).into();
    assert_eq!(lines, whole);
}

#[test]
fn a_filter_that_matches_nothing_says_so() {
    let scene = with_ports();
    let none = "no attempt matches";
    for (words, complaint, hint) in [
        ("--since garbage", "`garbage` is not a date", "--since takes what git takes: 2026-11-24,"),
        ("--until 1990-01-01", none, "each filter alone may match some"),
        ("--exit validation=7", none, "each filter alone may match some"),
        ("-- *.md", none, "a path is that of a file or folder, from the current folder, without wildcards"),
        ("--grep nowhere", none, "outputs, answers and diffs were searched"),
    ] {
        let run = scene.ralph(format!("log {words}").as_str()).code(1).stdout("");
        run.stderr_has(&format!("error: {complaint}\nhint: {hint}"));
    }
    for (words, complaint) in [
        ("--phase 99", "no attempt matches --phase 99: the phases are Tasks: Login"),
        ("--agent claude", "no attempt matches --agent claude: the agents are scripted"),
        ("--task T009", "no attempt matches --task T009: the tasks are T001, T002"),
    ] {
        let run = scene.ralph(format!("log {words}").as_str()).code(1).stdout("");
        run.stderr_has(&format!("error: {complaint}\n"));
    }
    // For programs, and where nothing found is good news, nothing is an answer.
    for words in ["--json --grep nowhere", "--jsonl --exit 99", "--failed --grep nowhere", "-n 0"] {
        scene.ralph(format!("log {words}").as_str()).code(0);
    }
    for words in ["--json --phase 99", "--jsonl --since garbage", "--failed --agent claude"] {
        scene.ralph(format!("log {words}").as_str()).code(1).stdout("");
    }
}

#[test]
fn a_search_shows_the_line_that_it_found() {
    let scene = with_ports();
    for (words, found) in [
        ("--grep 8080", "validation: port 8080"),
        ("--grep 8080 --in answer", "answer: Listening on port 8080."),
        ("--grep 8080 --in diff", "port: 8080"),
        ("--grep Done", "answer: Done."),
        ("--grep Two --in prompt", "prompt: "),
    ] {
        scene.ralph(format!("log {words}").as_str()).code(0).stdout_has(&format!("      {found}"));
    }
    scene.ralph("log --in prompt").code(2).stderr_has("--grep <REGEX>");
}

#[test]
fn an_invalid_filter_is_a_usage_error() {
    let scene = Sandbox::new();
    for (words, complaint) in [
        ("log --exit fine", "`fine` is not an exit code; expected N, agent=N or validation=N"),
        ("log --jsonl --json", "cannot be used with"),
        ("log --sessions -- src", "cannot be used with"),
    ] {
        scene.ralph(words).code(2).stderr_has(complaint);
    }
    scene.ralph("log -- ../..").code(1).stderr_has("is outside of");
}

//! Finding an iteration: by a commit, by the paths that it changed, and by what its record says.

use crate::sandbox::Sandbox;

/// Two tasks; the agent commits its work on the second.
fn with_commits() -> Sandbox {
    let scene = Sandbox::new();
    scene.tasks("- [ ] T001 One\n- [ ] T002 Two\n").agent_uses_git();
    scene.agent_sh(
        "set -e\nmkdir -p src\necho $RALPH_TASK > src/$RALPH_TASK\nsed -i \"s/\\[ \\] $RALPH_TASK/[x] $RALPH_TASK/\" \"$RALPH_TASKS\"\n\
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
        scene.ralph(format!("show {name}").as_str()).code(0).stdout_has(&format!("iteration {number}: "));
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
    scene.ralph("show HEAD").code(0).stdout_has("iteration 2: ");
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
        ("show HEAD~9", "worked on a task `HEAD~9`, and it names no commit".to_owned()),
        ("diff 1 deadbeef", "worked on a task `deadbeef`, and it names no commit".to_owned()),
        ("restore 1234567", "has no iteration 1234567, the last is 2".to_owned()),
        ("show HEAD --session 2001", "there is no session 2001".to_owned()),
        ("bisect 2 1 -- true", format!("iteration 1 of session {id} is not after iteration 2")),
    ] {
        scene.ralph(words).code(1).stderr_has(&complaint);
    }
    let old = scene.git("rev-parse --short HEAD");
    scene.tasks("- [ ] T003 Three").agent_sh("sed -i 's/\\[ \\]/[x]/' \"$RALPH_TASKS\"").commit("More");
    scene.ralph("").code(0);
    scene.ralph(format!("show {old}").as_str()).code(0).stdout_has("iteration 2: ");
    let latest = scene.sessions().pop().unwrap().id().to_owned();
    let run = scene.ralph(format!("show {old} --session {latest}").as_str()).code(1);
    run.stderr_has(&format!("is of session {id} of specs/001-login\nhint: omit --session"));
}

#[test]
fn a_name_of_a_task_and_of_a_commit_is_ambiguous() {
    let scene = Sandbox::with_succeeding_agent(1);
    scene.tasks("- [ ] ADD1 One\n- [ ] ADD2 Two\n").commit("Ready").ralph("").code(0);
    scene.ralph("show ADD1").code(0).stdout_has("iteration 1: ADD1 done");
    scene.git("branch ADD1");
    let head = scene.git("rev-parse HEAD");
    let id = scene.session().id().to_owned();
    scene.ralph("show ADD1").code(1).stderr_has(&format!(
        "`ADD1` is a task and names commit {} (ADD1)\nhint: {id}:1 is the last iteration on the task",
        &head[..10]
    ));
    scene.ralph(format!("show {id}:ADD1").as_str()).code(0);
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

/// The tasks and outcomes of the iterations that `log` lists.
fn listed(scene: &Sandbox, words: &[&str]) -> String {
    let text = scene.ralph(&format!("log --format task,outcome {}", words.join(" "))).code(0).text();
    let lines = text.lines().map(|line| line.replace('\t', " "));
    lines.collect::<Vec<_>>().join(", ").replace(" success", "+").replace(" failure", "-")
}

#[test]
fn iterations_are_found_by_paths_exits_and_fields() {
    let scene = with_ports();
    for (words, expected) in [
        (&[][..], "T001-, T001+, T002-, T002+"),
        (&["--", "src"], "T001-"),
        (&["--", "docs/", "src/deep"], "T001-, T002-"),
        (&["--", "port"], "T001-, T001+"),
        (&["--", "*.md", ":!specs"], "T002-"),
        (&["-n", "1", "--", "port"], "T001+"),
        (&["-n", "2", "--reverse", "--", "src", "docs"], "T002-, T001-"),
        (&["--", "nothing"], ""),
        (&["--exit", "3"], "T001-"),
        (&["--exit", "7"], "T002-"),
        (&["--exit", "validation=7"], ""),
        (&["--exit", "agent=0", "--failed"], "T001-"),
        (&["--class", "quota"], ""),
        (&["--where", "captured.port=8080"], "T001-"),
        (&["--where", "captured.port=9090", "--where", "task=T002"], "T002-, T002+"),
        (&["--where", "exit.agent=7"], "T002-"),
        (&["--where", "files_changed=docs/b.md"], "T002-"),
        (&["--where", "captured.host=8080"], ""),
        (&["--where", "task_text=Two", "-n", "1"], "T002+"),
    ] {
        assert_eq!(listed(&scene, words), expected, "{words:?}");
    }
    let below = scene.call("log --format task -- deep ../port").dir(scene.path("src")).run();
    below.code(0).stdout("T001\nT001\n");
    let fields = "log --format name,captured.port,files_changed,cost_usd,false_claim --task T001 --failed";
    let id = scene.session().id().to_owned();
    scene.ralph(fields).code(0).stdout(format!("{id}:1\t8080\tport,src/deep/a.txt\t\t\n"));
    let lines = scene.ralph("log --jsonl --where captured.port=9090 --reverse").code(0).json_lines();
    let whole: Vec<_> = [4, 3, 2].map(|number| scene.session().iteration(number)).into();
    assert_eq!(lines, whole);
}

#[test]
fn an_invalid_filter_is_a_usage_error() {
    let scene = Sandbox::new();
    for (words, complaint) in [
        ("log --where task", "expected FIELD=VALUE, as in `captured.port=8080`"),
        ("log --where =x", "is not the name of a field"),
        ("log --class rate_limits", "did you mean `rate_limit`?"),
        ("log --exit fine", "`fine` is not an exit code; expected N, agent=N or validation=N"),
        ("log --format captured.", "unknown field"),
        ("log --jsonl --json", "cannot be used with"),
        ("log --sessions -- src", "cannot be used with"),
    ] {
        scene.ralph(words).code(2).stderr_has(complaint);
    }
    scene.ralph("log -- ../..").code(1).stderr_has("is outside of");
}

//! Finding an iteration: by a commit, by the paths that it changed, and by what its record says.

#![expect(clippy::unwrap_used, reason = "what is not there has failed the scene")]

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
fn a_commit_names_the_iteration_that_it_belongs_to() {
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
    // Without the notes the records say it.
    scene.git("update-ref -d refs/notes/ralph");
    scene.ralph("show HEAD").code(0).stdout_has("iteration 2: ");
    scene.unchecked();
}

#[test]
fn a_name_that_means_no_iteration_is_an_error_that_says_why() {
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
        ("bisect 2 1 -- true", format!("iteration 1 of session {id} is not behind iteration 2")),
    ] {
        scene.ralph(words).code(1).stderr_has(&complaint);
    }
    let old = scene.git("rev-parse --short HEAD");
    scene.tasks("- [ ] T003 Three").agent_sh("sed -i 's/\\[ \\]/[x]/' \"$RALPH_TASKS\"").commit("More");
    scene.ralph("").code(0);
    scene.ralph(format!("show {old}").as_str()).code(0).stdout_has("iteration 2: ");
    let latest = scene.sessions().pop().unwrap().id().to_owned();
    let run = scene.ralph(format!("show {old} --session {latest}").as_str()).code(1);
    run.stderr_has(&format!("is of session {id} of specs/001-login\nhint: leave --session"));
}

#[test]
fn a_name_of_a_task_and_of_a_commit_is_ambiguous() {
    let scene = Sandbox::with_willing_agent(1);
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

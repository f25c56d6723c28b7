//! What becomes of the changes of a task that is skipped: they are taken back to where the validation passed.

use serde_json::json;

use crate::sandbox::Sandbox;
use crate::sandbox::random::{self, Random};

/// Plays the script of its task, `$RALPH_TASK.sh`, and ticks the box.
const AGENT: &str = "cat >/dev/null\n. ./.specify/$RALPH_TASK.sh\n\
                     tick\n";

/// Three tasks, each with what the agent does for it; the validation fails while a file says `broken`.
fn scene(scripts: [&str; 3]) -> Sandbox {
    let scene = Sandbox::new();
    scene.tasks("- [ ] T001 One\n- [ ] T002 Two\n- [ ] T003 Three").agent_sh(AGENT);
    for (number, script) in (1..).zip(scripts) {
        scene.write(&format!(".specify/T00{number}.sh"), script);
    }
    scene.write("kept", "as it was\n").write("shared", "one\ntwo\nthree\nfour\nfive\nsix\n");
    scene.validate("! grep -rqs broken src kept shared").config("skip-after = 2");
    scene.commit("Ready");
    scene
}

const GOOD: &str = "mkdir -p src; echo good > src/$RALPH_TASK";

#[test]
fn the_changes_of_a_skipped_task_are_taken_back() {
    let bad = "echo broken > src/bad; echo broken >> kept; rm -f src/T001; mkdir -p new; echo x > new/x; chmod +x shared";
    let scene = scene([GOOD, bad, GOOD]);
    scene
        .ralph("")
        .code(5)
        .stdout_has("reverted T002's changes in 5 files  (undo: `specify ralph restore --undo 1`)")
        .stdout_has("  given up; changes undone");
    assert_eq!(scene.read("kept"), "as it was\n");
    assert_eq!(scene.read("src/T001"), "good\n");
    assert_eq!(scene.read("src/T003"), "good\n", "what came after it was recognized");
    assert!(!scene.path("src/bad").exists() && !scene.path("new").exists());
    let session = scene.session();
    assert_eq!(session.trailers("Ralph-Outcome"), ["success", "failure", "failure", "skipped", "success"]);
    let skip = session.iteration(4);
    assert_eq!(skip["restored_to"], session.iteration(1)["snapshot"]);
    assert_eq!(skip["exit"], json!({ "agent": null, "validation": 0 }));
    assert_eq!(skip["files_changed"], json!(["kept", "new/x", "shared", "src/T001", "src/bad"]));
    assert_eq!(
        (skip.get("kept_paths"), skip["cause"].as_str().map(|cause| &cause[..6])),
        (None, Some("failed"))
    );
    let to = skip["restored_to"].as_str().map(|id| id[..10].to_owned()).unwrap_or_default();
    let restored = format!("changes of failed attempts taken back, to snapshot {to}");
    assert!(scene.progress().contains(&format!("**Restored**: {restored}\n")), "{}", scene.progress());
    scene.ralph("show 4").code(0).stdout_has(&format!("restored    {restored}"));
    scene.ralph("log").code(0).stdout_lacks("»");
    scene.ralph("fsck").code(0);
    // All of it can be brought back.
    scene.ralph("restore --undo 1").code(0);
    assert_eq!((scene.read("src/bad"), scene.read("src/T003")), ("broken\n".to_owned(), "good\n".to_owned()));
}

#[test]
fn what_a_person_edits_meanwhile_stays() {
    // The person is at work while the validation that follows the last attempt runs.
    let scene = scene([
        GOOD,
        "edit 's/^two/broken/; s/^six/broken/' shared; echo broken > kept; echo broken > src/mine",
        GOOD,
    ]);
    scene.validate(
        "if [ $RALPH_TASK-$RALPH_ITERATION = T002-4 ] && ! [ -e .specify/edited ]; then \
         echo mine > .specify/edited; edit 's/^four/mine/' shared; echo mine > kept; echo also mine >> src/mine; fi; \
         ! grep -rqs broken src kept shared",
    );
    scene
        .ralph("")
        .code(5)
        .stdout_has("warning: of what T002 changed, this stays as it is: kept, src/mine")
        .stdout_has("warning: the validation does not pass, though what T002 changed was taken back");
    assert_eq!(scene.read("shared"), "one\ntwo\nthree\nmine\nfive\nsix\n");
    assert_eq!(scene.read("kept"), "mine\n");
    assert_eq!(scene.read("src/mine"), "broken\nalso mine\n");
    let skip = scene.session().iteration(4);
    assert_eq!(skip["kept_paths"], json!(["kept", "src/mine"]));
    assert_eq!(skip["exit"]["validation"], 1);
    scene.ralph("show 4").code(0).stdout_has("; kept as they are: kept, src/mine");
}

#[test]
fn a_validation_that_passes_the_second_time_changes_nothing() {
    let scene = scene([GOOD, "echo flaky > src/flaky", GOOD]);
    // Fails in attempts, and passes when it is run once more.
    scene.validate("test $RALPH_TASK = T001 || test $RALPH_ITERATION -ge 4");
    scene.ralph("").code(5).stdout_has("  given up");
    assert_eq!(scene.read("src/flaky"), "flaky\n");
    let skip = scene.session().iteration(4);
    assert_eq!((&skip["exit"]["validation"], skip.get("restored_to")), (&json!(0), None));
    assert_eq!(scene.git("for-each-ref refs/ralph-restore"), "");
}

#[test]
fn changes_stay_where_nothing_passed_or_where_the_user_wants_that() {
    let bad = "mkdir -p src; echo broken > src/bad";
    for (scripts, setting) in [
        ([bad, GOOD, GOOD], ""),
        ([GOOD, bad, GOOD], "on-skip = \"keep\""),
        ([GOOD, bad, GOOD], "snapshots = false"),
        ([GOOD, "git switch -qc other; mkdir -p src; echo broken > src/bad", GOOD], ""),
    ] {
        let scene = scene(scripts);
        scene.config(setting).agent_uses_git();
        scene.ralph("").code(5).stdout_lacks("took back").stdout_lacks("taken back");
        assert_eq!(scene.read("src/bad"), "broken\n", "{scripts:?} {setting}");
        assert_eq!(scene.git("for-each-ref refs/ralph-restore"), "");
    }
}

#[test]
fn the_task_list_stays_and_commits_of_the_attempts_are_named() {
    let bad = "echo broken > src/bad; git add src; GIT_COMMITTER_DATE=2098-01-01T00:00:00Z git commit -qm 'Bad work'; echo '- [ ] T009 More' >> $RALPH_TASKS";
    let scene = scene([GOOD, bad, GOOD]);
    scene.config("max-iterations = 4").agent_uses_git();
    scene
        .ralph("")
        .code(4)
        .stdout_has("warning: of what T002 changed, this stays as it is: specs/001-login/tasks.md")
        .stdout_has("warning: HEAD still has the commits of T002: ")
        .stdout_has("hint: `git revert` reverts them");
    assert!(scene.task_list().contains("T009 More") && !scene.path("src/bad").exists());
    assert_eq!(scene.git("log -1 --format=%s"), "Bad work");
    assert_eq!(scene.session().iteration(4)["kept_paths"], json!(["specs/001-login/tasks.md"]));
}

#[test]
fn with_commits_the_next_one_takes_back_what_the_agent_committed() {
    let bad = "echo broken > src/bad; git add src; git commit -qm 'Bad work'";
    let scene = scene([GOOD, bad, GOOD]);
    scene.config("commit = 'task'").commit("Ready").agent_uses_git();
    scene.ralph("").code(5);
    let tree = scene.git("ls-tree -r --name-only HEAD src");
    assert_eq!(tree, "src/T001\nsrc/T003");
    assert_eq!(scene.git("log -1 --format=%s"), "T003 Three");
}

#[test]
fn a_green_baseline_is_good_ground_and_a_red_one_is_not() {
    let bad = "mkdir -p src; echo broken > src/bad";
    let scene = scene([bad, GOOD, GOOD]);
    scene.call("").with_baseline().run().stdout_has("  given up; changes undone");
    assert_eq!((scene.read("src/T003"), scene.path("src/bad").exists()), ("good\n".to_owned(), false));
    let red = self::scene([bad, GOOD, GOOD]);
    red.write("kept", "broken\n").config("max-iterations = 2");
    red.call("--force").with_baseline().run().stdout_lacks("taken back");
    assert_eq!(red.read("src/bad"), "broken\n");
}

#[test]
fn the_same_failure_for_three_tasks_ends_the_session() {
    let scene = scene([GOOD, GOOD, GOOD]);
    scene.tasks("- [ ] T001 One\n- [ ] T002 Two\n- [ ] T003 Three\n- [ ] T004 Four");
    scene.write(".specify/T004.sh", GOOD).validate("echo FAILED connect: refused; exit 1");
    let question = "the same failure for 3 tasks: is the validation itself broken? (T001, T002, T003: FAILED connect: refused)";
    scene.ralph("").stdout_has(question).stdout_has("stop-on-common-failure = false");
    let session = scene.session();
    let ran = ["failure", "failure", "skipped", "failure", "failure", "skipped", "failure"];
    assert_eq!(
        (session.trailers("Ralph-Outcome"), &session.end()["stop_reason"]),
        (ran.map(str::to_owned).to_vec(), &json!("stuck"))
    );
    scene.config("stop-on-common-failure = false");
    let run = scene.ralph("").stdout_has(&format!("warning: {question}"));
    assert_eq!(run.text().matches("is the validation itself broken?").count(), 1, "{run}");
}

#[test]
fn before_a_retry_changes_are_taken_back_where_the_user_wants_that() {
    let once = "if [ $RALPH_ATTEMPT = 1 ]; then echo broken > src/bad; else echo good > src/$RALPH_TASK; fi";
    let scene = scene([GOOD, once, GOOD]);
    scene.config("on-retry = \"restore\"");
    scene.ralph("").code(0).stdout_has("reverted T002's changes in 1 file");
    assert!(!scene.path("src/bad").exists());
    let session = scene.session();
    assert_eq!(session.trailers("Ralph-Outcome"), ["success", "failure", "success", "success"]);
    let retry = session.iteration(3);
    assert_eq!(retry["restored_to"], session.iteration(1)["snapshot"]);
    assert_eq!(retry["files_changed"], json!(["specs/001-login/tasks.md", "src/T002"]));
    scene.ralph("fsck").code(0);
}

/// Random sequences of good and bad work, and of a person's edits before what a skip takes back.
#[test]
fn after_a_skip_the_validation_passes_and_nothing_of_a_persons_is_lost() {
    let seed = random::seed();
    println!("RALPH_TEST_SEED={seed}");
    let mut random = Random::of(seed);
    let mut one_of = |words: [&'static str; 3]| match random.next() {
        low if low < 0.33 => words[0],
        middle if middle < 0.66 => words[1],
        _ => words[2],
    };
    for _ in 0..2 {
        let scene = Sandbox::new();
        let lines: String = (0..40).map(|line| format!("line {line}\n")).collect();
        let files = ["src/a", "src/b", "src/c"];
        for file in files {
            scene.write(file, &lines);
        }
        let mut list = String::new();
        for task in 1..=4 {
            list.push_str(&format!("- [ ] T00{task} Do it\n"));
            let (file, line) = (one_of(files), 5 * task);
            let word = one_of(["good", "broken", "broken"]);
            let more = one_of(["", "; echo broken > src/new", "; rm -f src/b"]);
            let more = if word == "good" { "" } else { more };
            scene.write(
                &format!(".specify/T00{task}.sh"),
                format!("edit 's/^line {line}$/{word} {task}/' {file}{more}"),
            );
            // A person edits lines of their own, and files of their own, while the loop looks once more.
            scene.write(
                &format!(".specify/person-T00{task}.sh"),
                format!("edit 's/^line {}$/mine {task}/' src/a; echo mine > mine-{task}", 20 + 4 * task),
            );
        }
        scene.tasks(&list).agent_sh(AGENT).config("skip-after = 1\nstop-on-common-failure = false");
        let marks = scene.outside("marks");
        std::fs::create_dir(&marks).expect("it is not there yet");
        let at = marks.display();
        let validation = format!(
            "if [ -e {at}/tried-$RALPH_TASK ] && ! [ -e {at}/edited-$RALPH_TASK ]; then \
             : > {at}/edited-$RALPH_TASK; . ./.specify/person-$RALPH_TASK.sh; fi; \
             : > {at}/tried-$RALPH_TASK; [ -e src/b ] && ! grep -qs broken src/*"
        );
        scene.validate(&validation).commit("Ready");
        let run = scene.call("").with_baseline().run();
        let session = scene.session();
        for number in 1..=session.iterations().len() {
            let record = session.iteration(number);
            if record["outcome"] == "skipped" {
                assert_eq!(record["exit"]["validation"], 0, "{run}");
                assert!(record["restored_to"].is_string() && record.get("kept_paths").is_none(), "{record}");
                let task = record["task"].as_str().map(|task| task[3..].to_owned()).unwrap_or_default();
                assert_eq!(scene.read(&format!("mine-{task}")), "mine\n");
                assert!(scene.read("src/a").contains(&format!("mine {task}\n")), "{run}");
            }
        }
        assert!(!scene.read("src/a").contains("broken") && !scene.path("src/new").exists(), "{run}");
    }
}

//! Reading a record back: lists, single iterations, states, and all of it on a clone that has the refs alone.

use std::process::Stdio;

use ralph_core::record::Timestamp;
use serde_json::{Value, json};

use crate::sandbox::{Run, Sandbox};

/// T001 succeeds, T002 fails once and succeeds.
const STORY: &str = r#"
[[turn]]
task = "T002"
attempt = 1
do = [{ say = "Not yet." }]
[[turn]]
do = [{ append = { path = "hello.txt", text = "hello\n" } }, { say = "Done." }, { tick = "current" }]
"#;

fn recorded_scene() -> Sandbox {
    let scene = Sandbox::new();
    scene
        .tasks("- [ ] T001 One\n- [ ] T002 Two")
        .agent_script(STORY)
        .validate("echo checked")
        .commit("Ready");
    scene.ralph("").code(0);
    scene
}

/// A reading command writes nothing.
#[track_caller]
fn read(scene: &Sandbox, words: &str) -> Run {
    let before = scene.everything();
    let run = scene.ralph(words);
    assert_eq!(scene.everything(), before, "`{words}` wrote something");
    run
}

fn keys(value: &Value) -> Vec<&str> {
    value.as_object().expect("an object").keys().map(String::as_str).collect()
}

#[test]
fn the_log_lists_iterations_and_filters_them() {
    let scene = recorded_scene();
    let id = scene.session().id().to_owned();
    read(&scene, "log")
        .code(0)
        .stdout_has(&id)
        .stdout_has("✔ T001  ")
        .stdout_has("the agent did not tick the task");
    read(&scene, "log --failed").code(0).stdout_has("✘ T002").stdout_lacks("T001");
    read(&scene, "log --task T001").code(0).stdout_has("✔ T001").stdout_lacks("T002");
    read(&scene, "log --feature 001-login").code(0).stdout_has(&id);
    read(&scene, &format!("log --session {id}")).code(0).stdout_has(&id);
    read(&scene, "log --sessions").code(0).stdout_has("\t+2\t2 of 2\t\t1 of 3\tall done\t");
    read(&scene, "--color always log").code(0).stdout_has("\u{1b}[");
    read(&scene, "log").code(0).stdout_lacks("\u{1b}[");
}

#[test]
fn the_log_as_json_has_what_the_trailers_have() {
    let scene = recorded_scene();
    let session = scene.session();
    let log = read(&scene, "log --json").code(0).json();
    let iterations = log["iterations"].as_array().unwrap();
    assert_eq!(iterations.len(), 3);
    for (i, listed) in iterations.iter().enumerate() {
        assert_eq!(listed["commit"], session.iterations()[i]);
        let recorded = session.iteration(i + 1);
        for key in keys(listed) {
            if let Some(value) = recorded.get(key) {
                assert_eq!(&listed[key], value, "{key} of iteration {}", i + 1);
            }
        }
        for key in [
            "id",
            "session",
            "feature",
            "iteration",
            "task",
            "outcome",
            "exit",
            "duration_ms",
            "tokens",
            "snapshot",
        ] {
            assert!(listed.get(key).is_some(), "{key}: {listed}");
        }
    }
    let mut sessions = read(&scene, "log --sessions --json").code(0).json();
    let listed = sessions["sessions"][0].as_object_mut().unwrap();
    assert_eq!(listed.remove("elsewhere"), Some(Value::Null));
    assert_eq!(sessions["sessions"][0], session.end());
}

#[test]
fn one_iteration_is_shown_whole_and_part_by_part() {
    let scene = recorded_scene();
    let session = scene.session();
    read(&scene, "show 2").code(0).stdout_has("✘ T002").stdout_has("  validation  passed (");
    read(&scene, "show").code(0).stdout_has("  #3\n");
    for (flag, path) in [
        ("--stdout", "validation/stdout"),
        ("--stderr", "validation/stderr"),
        ("--prompt", "prompt.md"),
        ("--agent", "agent/stdout"),
        ("--tasks", "tasks.md"),
        ("--json", "iteration.json"),
    ] {
        read(&scene, &format!("show 2 {flag}")).code(0).stdout(session.file(2, path)).stderr("");
    }
    assert_eq!(
        keys(&session.iteration(2)),
        [
            "schema",
            "id",
            "session",
            "feature",
            "branch",
            "iteration",
            "loop_type",
            "task",
            "task_text",
            "phase",
            "attempt",
            "outcome",
            "failure_class",
            "error",
            "resets_at",
            "cause",
            "claims",
            "false_claim",
            "closed",
            "evidence",
            "started_at",
            "ended_at",
            "duration_ms",
            "exit",
            "exit_reason",
            "validation_command",
            "files_changed",
            "agent",
            "agent_version",
            "model",
            "tokens",
            "cost_usd",
            "tool_calls",
            "agent_setup",
            "phases",
            "learnings",
            "decisions",
            "approaches",
            "facts",
            "fingerprint",
            "head_before",
            "head_after",
            "commits",
            "snapshot",
            "before",
            "sealed",
            "left_out",
            "ignored",
            "redactions",
            "hints",
            "memory",
            "prompt_parts",
            "tasks_done",
            "tasks_open",
        ]
    );
    assert_eq!(session.iteration(2)["id"], format!("{}-iter-2", session.id()));
}

#[test]
fn what_is_not_there_is_an_error_that_says_where_to_look() {
    let scene = recorded_scene();
    read(&scene, "show 9").code(1).stderr_has("has no iteration 9, the last is 3").stderr_has("hint: ");
    let unknown = "20200101-000000-00000000";
    for command in ["show --session", "log --session", "status --session", "rebuild --check --session"] {
        let run = read(&scene, &format!("{command} {unknown}"));
        run.code(1).stderr_has(&format!("there is no session {unknown}")).stderr_has("hint: ");
    }
    // A feature, a session or a task that names nothing, wherever it is asked for.
    let recorded =
        "no session of a feature `009-x` is recorded here\nhint: there are sessions of specs/001-login\n";
    for command in [
        "log",
        "log --json",
        "log --sessions",
        "log --sessions --json",
        "stats",
        "show",
        "diff 1",
        "restore 1",
        "report",
        "fsck",
        "rebuild",
        "rebuild --check",
        "clean",
        "bisect -- true",
    ] {
        let words = match command.split_once(" -- ") {
            Some((command, rest)) => format!("{command} --feature 009-x -- {rest}"),
            None => format!("{command} --feature 009-x"),
        };
        read(&scene, &words).code(1).stdout("").stderr(&format!("error: {recorded}"));
    }
    for command in ["status", "history", "progress", "tasks"] {
        let run = read(&scene, &format!("{command} --feature 009-x"));
        run.code(1)
            .stdout("")
            .stderr("error: there is no feature `009-x`\nhint: choose with --feature from 001-login\n");
    }
    for command in ["log", "status", "show", "fsck", "stats"] {
        for part in ["001", "log", "LOGIN"] {
            read(&scene, &format!("{command} --feature {part}")).code(0);
        }
    }
    read(&scene, "log --feature 001-lgin").code(1).stderr_has("hint: did you mean 001-login?");
    read(&scene, "log --json --task T003").code(1).stdout("").stderr_has("the tasks are T001, T002");
    read(&scene, "show t002").code(0).stdout_has("T002");
    scene.write("specs/002-logout/tasks.md", "- [ ] T001 One\n");
    scene.ralph("--feature 002-logout").code(0);
    let first = scene.sessions()[0].id().to_owned();
    read(&scene, &format!("status --session {first}")).code(0).stdout_has("001-login   ");
    for command in ["log", "show", "status", "fsck"] {
        read(&scene, &format!("{command} --session {first} --feature 002"))
            .code(1)
            .stdout("")
            .stderr_has(&format!("session {first} is not of specs/002-logout\nhint: "));
    }
    let scene = Sandbox::new();
    read(&scene, "show")
        .code(1)
        .stderr_has("no session is recorded here")
        .stderr_has("hint: start one with `specify ralph`");
    read(&scene, "log").code(0).stdout("").stderr_has("no session is recorded here");
    read(&scene, "log --json").code(0).stderr("");
    read(&scene, "status").code(0).stdout_has("no session yet");
}

#[test]
fn the_status_says_where_the_feature_stands() {
    let scene = recorded_scene();
    read(&scene, "status").code(0).stdout_has("2 of 2 done · finished ");
    let status = read(&scene, "status --json").code(0).json();
    assert_eq!(keys(&status), ["feature", "tasks", "phases", "stories", "session", "summary"]);
    assert_eq!(
        keys(&status["session"]),
        [
            "id",
            "status",
            "lane",
            "branch",
            "elsewhere",
            "stop_reason",
            "iterations",
            "cost_usd",
            "cost_is_partial",
            "pid",
            "task",
            "started_at",
            "ended_at",
            "in_flight",
            "phase",
            "waiting",
            "is_stopping",
            "hints",
        ]
    );
    assert_eq!(status["tasks"], json!({"done": 2, "open": 0, "skipped": 0}));
    assert_eq!(status["session"]["pid"], Value::Null);
    let tip = scene.git("log -1 --format=%ct --glob=refs/ralph/*");
    let ended_at: Timestamp = status["session"]["ended_at"].as_str().unwrap().parse().unwrap();
    assert_eq!(ended_at.seconds().to_string(), tip.trim());
    let fresh = Sandbox::new();
    assert_eq!(read(&fresh, "status --json").code(0).json()["session"], Value::Null);
}

#[test]
fn tasks_are_listed_as_the_loop_reads_them() {
    let scene = Sandbox::new();
    scene.tasks("## Phase 1: Go\n\n- [x] T001 [P] [US1] One\n  - [ ] a criterion\n- [~] T002 Half\n- [ ] T003 Last (depends on T001, T002)");
    read(&scene, "tasks").code(0).stdout_has("T003");
    let listed = read(&scene, "tasks --json").code(0).json();
    assert_eq!(
        keys(&listed),
        ["file", "items", "odd_ticks", "unrecognised", "conflict", "phases", "stories"]
    );
    let items = listed["items"].as_array().unwrap();
    assert_eq!(items.len(), 3);
    assert_eq!(
        items[0],
        json!({
            "line": 5, "offset": scene.task_list().find("[x]").unwrap(), "done": true, "mark": "x", "id": "T001",
            "text": "One", "phase": "Phase 1: Go", "headings": ["Tasks: Login", "Phase 1: Go"], "depth": 0,
            "kind": "task", "parallel": true, "story": "US1", "stories": ["US1"], "depends_on": [], "name": "T001",
        })
    );
    assert_eq!((&items[1]["kind"], &items[2]["depends_on"]), (&json!("criterion"), &json!(["T001", "T002"])));
    assert_eq!(listed["unrecognised"][0]["mark"], "~");
    scene.write("LIST.md", "- [ ] anything\n");
    read(&scene, "tasks --file LIST.md --json").code(0).stdout_has("anything");
    read(&scene, "tasks --file gone.md").code(3).stderr_has("there is no task list");
}

#[test]
fn every_kind_of_bytes_comes_back_as_it_was() {
    let big = (5 << 20) + 17;
    for (check, expected) in [
        ("printf '\\000\\001\\377\\r\\n\\033[31m'".to_owned(), b"\x00\x01\xff\r\n\x1b[31m".to_vec()),
        ("printf 'caf\\351'".to_owned(), b"caf\xe9".to_vec()),
        (":".to_owned(), Vec::new()),
        (format!("head -c {big} /dev/zero | tr '\\000' 'a'"), vec![b'a'; big]),
        (format!("head -c {} /dev/zero", 4 << 20), vec![0; 4 << 20]),
    ] {
        let scene = Sandbox::new();
        scene
            .agent_script(STORY)
            .write("check.sh", format!("{check}\n{check} >&2\n"))
            .validate("sh check.sh");
        scene.ralph("").code(0);
        for flag in ["--stdout", "--stderr"] {
            let shown = scene.ralph(["show", flag]).code(0).stdout;
            assert!(shown == expected, "{check} {flag}: {} bytes", shown.len());
        }
        let kind =
            scene.git(["cat-file", "-t", &format!("{}:validation/stdout", scene.session().iterations()[0])]);
        assert_eq!(kind, if expected.len() > 4 << 20 { "tree" } else { "blob" });
    }
}

#[test]
fn bytes_that_an_agent_prints_come_back_as_they_were() {
    let scene = Sandbox::new();
    scene.agent_script("[[turn]]\ndo = [{ print_bytes = \"00ff0a1b5b33\" }, { tick = \"current\" }]");
    scene.ralph("").code(0);
    scene.ralph("show --agent").code(0).stdout(b"\x00\xff\x0a\x1b[3");
}

#[test]
fn a_clone_that_fetched_the_refs_gives_the_same_bytes() {
    let scene = recorded_scene();
    let clone = scene.outside("clone");
    let (from, to) = (scene.repo().to_str().unwrap(), clone.to_str().unwrap());
    scene.git(["clone", "--quiet", from, to]);
    scene.call("log").dir(&clone).run().code(0).stderr_has("no session is recorded here");
    scene.git_in(&clone, "fetch --quiet origin refs/ralph/*:refs/ralph/*");
    // What is done now is counted by the list in the work tree, and that of the clone is as it was committed.
    std::fs::copy(scene.path("specs/001-login/tasks.md"), clone.join("specs/001-login/tasks.md")).unwrap();
    for words in [
        "log",
        "log --json",
        "log --sessions --json",
        "show 1",
        "show 2 --json",
        "show 3 --stdout",
        "show 1 --prompt",
    ] {
        // The files of the clone are not those that were validated.
        let text = |run: Run| {
            let text = String::from_utf8(run.stdout).unwrap();
            ["true", "false"]
                .iter()
                .fold(text, |text, is| text.replace(&format!("\"is_now\": {is}"), "\"is_now\": null"))
        };
        let here = text(scene.ralph(words).code(0));
        assert_eq!(text(scene.call(words).dir(&clone).run().code(0)), here, "{words}");
    }
    // Rebuilt from the refs alone.
    scene.call("rebuild").dir(&clone).run().code(0);
    assert_eq!(
        std::fs::read(clone.join("specs/001-login/progress.txt")).unwrap(),
        scene.progress().into_bytes()
    );
    scene.call("rebuild --check").dir(&clone).run().code(0);
    scene.store_is_sound(&clone);
}

#[test]
fn a_reader_that_goes_away_is_no_failure() {
    let scene = Sandbox::new();
    scene.agent_script(STORY).validate(&format!("head -c {} /dev/zero", 1 << 20));
    scene.ralph("").code(0);
    for words in
        ["show --stdout", "show --prompt", "log --json", "config", "config --json", "replay --json", "--help"]
    {
        let mut child =
            scene.call(words).command().stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        drop(child.stdout.take());
        let output = child.wait_with_output().unwrap();
        assert_eq!(String::from_utf8_lossy(&output.stderr), "", "{words}");
        assert!(output.status.success(), "{words}: {}", output.status);
    }
}

#[test]
fn a_loop_goes_on_where_nobody_listens() {
    for words in ["", "run --json"] {
        let scene = Sandbox::new();
        scene.tasks("- [ ] T001 One\n- [ ] T002 Two").agent_script(STORY);
        let mut child = scene.call(words).command().stdout(Stdio::piped()).spawn().unwrap();
        drop(child.stdout.take());
        assert!(child.wait().unwrap().success());
        assert_eq!(scene.session().end()["status"], "completed");
    }
}

#[test]
fn nothing_that_an_agent_says_steers_the_terminal() {
    let scene = Sandbox::new();
    let evil = "\\u001b]0;owned\\u0007\\u001b[2J\\u009b31m\\r";
    scene.tasks("- [ ] T001 One \u{1b}[31mred\u{7}\n- [-] T002 \u{1b}[5mblink").agent_script(&format!(
        "[[turn]]\ndo = [{{ say = \"{evil}words\\n\\nLearnings:\\n- {evil}learned\" }}, {{ stderr = \"{evil}\" }}, \
         {{ write = {{ path = \"a\\u001b[31m.txt\", text = \"x\" }} }}]"
    ));
    scene.write("check.sh", "printf '\\033]0;owned\\007bad\\n'; exit 1\n").validate("sh check.sh");
    let live = scene.ralph("-v -n 1").code(4);
    let mut runs = vec![live];
    for words in ["log", "show", "status", "tasks", "log --json", "rebuild --check", "config"] {
        runs.push(scene.ralph(words).code(0));
    }
    for run in runs {
        let control = |text: &str| text.chars().find(|c| c.is_control() && *c != '\n');
        assert_eq!(control(&run.text()), None, "{run}");
        assert_eq!(control(&run.talk()), None, "{run}");
    }
    let control: Vec<char> = scene.progress().chars().filter(|c| c.is_control() && *c != '\n').collect();
    assert!(control.is_empty(), "{control:?}");
    let log = scene.git("log --glob=refs/ralph/* --format=%B");
    assert!(!log.contains('\u{1b}'), "{log}");
}

#[test]
fn plain_git_reads_well_by_itself() {
    let scene = recorded_scene();
    let log = scene.git("log --glob=refs/ralph/* --reverse --format=%s");
    assert_eq!(
        log.lines().collect::<Vec<_>>(),
        [
            "001-login: start, 2 tasks open, agent scripted",
            "001-login: iteration 1, T001 done",
            "001-login: iteration 2, T002 failed (the agent did not tick the task)",
            "001-login: iteration 3, T002 done",
            "001-login: end, completed after 3 iterations, 2 of 2 tasks done",
        ]
    );
}

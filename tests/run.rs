//! The loop: what an iteration comes to, and when a session ends.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use serde_json::{Value, json};

use crate::sandbox::Sandbox;

/// Does what every task asks and ticks its box.
const GOOD: &str = r#"
[[turn]]
do = [{ append = { path = "hello.txt", text = "hello\n" } }, { say = "Done." }, { tick = "current" }]
"#;

/// Says something and changes nothing.
const IDLE: &str = "[[turn]]\ndo = [{ say = \"I do not know how.\" }]\n";

/// Ticks the box and does nothing else.
const LIAR: &str = "[[turn]]\ndo = [{ tick = \"current\" }, { say = \"All fine.\" }]\n";

fn outcomes(scene: &Sandbox) -> Vec<String> {
    scene.session().trailers("Ralph-Outcome")
}

#[test]
fn a_task_that_is_done_and_valid_completes_the_session() {
    let scene = Sandbox::new();
    scene.agent_script(GOOD).validate("echo checked; echo loud >&2; test -f hello.txt");
    let before = scene.task_list();
    scene.ralph("").code(0).stdout_has("✔ T001").stdout_has("1 of 1 task done · ");
    let session = scene.session();
    assert_eq!(session.trailers("Ralph-Outcome"), ["success"]);
    assert_eq!(session.trailers("Ralph-Exit"), ["agent=0 validation=0"]);
    assert_eq!(session.trailers("Ralph-Tasks"), ["done=1 open=0 closed=T001"]);
    assert_eq!(session.text(1, "agent/stdout"), "Done.\n");
    assert_eq!(session.text(1, "validation/stdout"), "checked\n");
    assert_eq!(session.text(1, "validation/stderr"), "loud\n");
    assert_eq!(session.text(1, "tasks.md"), scene.task_list());
    assert_eq!(scene.task_list(), before.replace("[ ]", "[x]"));
    assert!(session.text(1, "prompt.md").contains("T001 Write hello.txt"));
    assert!(scene.progress().contains(&session.text(1, "progress.md")));
    let record = session.iteration(1);
    assert_eq!(record["files_changed"], json!(["hello.txt", "specs/001-login/tasks.md"]));
    let end = session.end();
    assert_eq!((&end["status"], &end["stop_reason"]), (&json!("completed"), &json!("completed")));
    assert_eq!((&end["tasks_completed"], &end["artifact"]["status"]), (&json!(1), &json!("complete")));
}

#[test]
fn a_limit_ends_the_session_and_completion_is_looked_at_before_it() {
    let scene = Sandbox::new();
    let tasks: Vec<String> = (1..=5).map(|n| format!("- [ ] T00{n} Part {n}")).collect();
    scene.tasks(&tasks.join("\n")).agent_script(GOOD).commit("Five tasks");
    scene.ralph("-n 4").code(4).stdout_has("stopped at the limit of ");
    let end = scene.session().end();
    assert_eq!((&end["status"], &end["stop_reason"]), (&json!("failed"), &json!("limit_reached")));
    assert_eq!((&end["limit"], &end["tasks_remaining"]), (&json!("iterations"), &json!(1)));

    let scene = Sandbox::new();
    scene.tasks(&tasks.join("\n")).agent_script(GOOD);
    scene.ralph("-n 5").code(0);
    assert_eq!(outcomes(&scene).len(), 5);
}

#[test]
fn a_task_is_skipped_after_three_failures_by_a_record_that_does_not_count() {
    let scene = Sandbox::new();
    scene.tasks("- [ ] T001 Hard\n- [ ] T002 Easy\n- [ ] T003 Easy too");
    scene.agent_script(&format!("[[turn]]\ntask = \"T001\"\n{GOOD}").replacen(
        "task = \"T001\"\n",
        "task = \"T001\"\ndo = []\n",
        1,
    ));
    scene.ralph("-n 5").code(4);
    let session = scene.session();
    assert_eq!(outcomes(&scene), ["failure", "failure", "failure", "skipped", "success", "success"]);
    assert_eq!(session.trailers("Ralph-Task")[3..], ["T001", "T002", "T003"]);
    assert_eq!(session.trailers("Ralph-Exit")[3], "agent=- validation=-");
    assert_eq!(session.end()["iterations_run"], 5);
    assert!(scene.progress().contains("**Status**: ⏭️ Skipped"));
    scene.ralph("status --json").code(0);
    let status = scene.ralph("status --json").json();
    assert_eq!(status["tasks"], json!({"done": 2, "open": 1, "skipped": 1}));
}

#[test]
fn a_loop_is_stuck_where_every_open_task_waits_in_vain() {
    for (tasks, why) in [
        ("- [ ] T001 Hard\n- [ ] T002 Next (depends on T001)", "\n  T002 waits for it.\n"),
        ("- [ ] T001 Next (depends on T009)", "T001 waits for T009, which does not exist"),
        ("- [ ] T001 One (depends on T002)\n- [ ] T002 Other (depends on T001)", "in turn"),
    ] {
        let scene = Sandbox::new();
        scene.tasks(tasks).agent_script(IDLE);
        scene.ralph("").code(5).stdout_has(why);
        assert_eq!(scene.session().end()["stop_reason"], "stuck");
    }
}

#[test]
fn a_loop_is_stuck_after_iterations_that_change_nothing() {
    let scene = Sandbox::new();
    scene.agent_script(IDLE).config("stuck-after = 2\nskip-after = 0");
    scene.ralph("").code(5).stdout_has("2 iterations in a row changed nothing");
    assert_eq!(outcomes(&scene), ["failure", "failure"]);
}

#[test]
fn a_false_tick_is_opened_again_by_one_byte() {
    for list in ["# Tasks\n\n- [ ] T001 One\n", "\u{feff}# Tasks\r\n\r\n* [x] T000 Old\r\n* [ ] **T001** One"]
    {
        let scene = Sandbox::new();
        scene.write("specs/001-login/tasks.md", list).agent_script(LIAR).validate("echo nope; exit 3");
        scene.ralph("-n 1").code(4).stdout_has("said done, but the validation fails; reopened");
        assert_eq!(scene.task_list(), list);
        let record = scene.session().iteration(1);
        assert_eq!(record["outcome"], "failure");
        assert_eq!(record["claims"], json!({"promise": false, "ticked": ["T001"]}));
        assert_eq!(record["false_claim"], json!(["ticked"]));
        assert_eq!(record["exit"], json!({"agent": 0, "validation": 3}));
        assert_eq!(record["files_changed"], json!([]));
    }
}

/// Ticks the first open box and says so in the same line.
const TICK_AND_SAY_SO: &str = r#"edit -e '/- \[ \]/{' -e 's/- \[ \] \(.*\)/- [x] \1 (done)/' -e ':rest' -e n -e 'b rest' -e '}' "$RALPH_TASKS""#;

#[test]
fn a_tick_is_seen_where_the_text_of_the_item_was_changed_with_it() {
    let scene = Sandbox::new();
    scene.tasks("- [ ] write login\n- [ ] write logout");
    scene.agent_sh(TICK_AND_SAY_SO).validate("test $RALPH_ITERATION -gt 1");
    scene.ralph("").code(0).stdout_has("said done, but the validation fails; reopened");
    let session = scene.session();
    assert_eq!(outcomes(&scene), ["failure", "success", "success"]);
    assert!(session.text(1, "tasks.md").ends_with("- [ ] write login (done)\n- [ ] write logout\n"));
    assert_eq!(session.iteration(1)["claims"]["ticked"], json!(["#1"]));
    assert_eq!(session.iteration(1)["false_claim"], json!(["ticked"]));
    assert_eq!(session.trailers("Ralph-Tasks")[2], "done=2 open=0 closed=#2");
}

#[test]
fn what_an_agent_adds_as_done_is_opened_with_the_rest_where_it_failed() {
    let scene = Sandbox::new();
    let list = scene.task_list();
    scene.agent_sh(r#"echo "- [x] T009 More" >> "$RALPH_TASKS""#).validate("false");
    scene.ralph("-n 1").code(4);
    assert_eq!(scene.task_list(), format!("{list}- [ ] T009 More\n"));
    assert_eq!(scene.session().iteration(1)["claims"]["ticked"], json!(["T009"]));

    let scene = Sandbox::new();
    scene.agent_sh(r#"echo "- [x] T009 More" >> "$RALPH_TASKS""#);
    scene.ralph("-n 1").code(4);
    assert_eq!(outcomes(&scene), ["failure"], "the task that was asked for is still open");
}

#[test]
fn a_list_that_an_agent_emptied_completes_nothing() {
    let scene = Sandbox::new();
    scene.agent_sh(r#": > "$RALPH_TASKS""#);
    scene.ralph("").code(5).stdout_has("stuck").stdout_has("the task list has no tasks any more");
    assert_eq!(outcomes(&scene), ["failure"]);
}

#[test]
fn tasks_that_left_the_list_without_being_done_complete_nothing() {
    let scene = Sandbox::new();
    scene.tasks("- [x] T000 Old\n- [ ] T001 One\n- [ ] T002 Two");
    scene.agent_sh(r#"edit -e 's/\[ \] T001/[x] T001/' -e '/T002/d' "$RALPH_TASKS""#).validate("true");
    scene
        .ralph("")
        .code(5)
        .stdout_has("T002 was open and is gone from the task list, without being done")
        .stdout_has("no task is open, but T002 left the list without being done");
    assert_eq!(scene.session().end()["stop_reason"], "stuck");

    let scene = Sandbox::new();
    scene.tasks("- [ ] T001 One\n- [ ] T002 Two");
    scene.agent_sh(
        r#"case $RALPH_ITERATION in
        1) edit '/T002/d' "$RALPH_TASKS" ;;
        2) tick T001; echo '- [ ] T002 Two' >> "$RALPH_TASKS" ;;
        3) tick T002 ;;
        esac"#,
    );
    scene.ralph("").code(0);
    assert_eq!(outcomes(&scene), ["failure", "success", "success"], "it came back");
}

#[test]
fn a_false_tick_stays_where_the_user_wants_it() {
    let scene = Sandbox::new();
    scene.agent_script(LIAR).validate("false").config("untick = false");
    scene.ralph("").code(5).stdout_has("the validation does not pass");
    assert!(scene.task_list().contains("[x]"));
    assert_eq!(scene.session().iteration(1)["false_claim"], json!(["ticked"]));
}

#[test]
fn a_promise_with_open_tasks_is_recorded_as_untrue_and_the_loop_goes_on() {
    let scene = Sandbox::new();
    scene.tasks("- [ ] T001 One\n- [ ] T002 Two").agent_script(
        "[[turn]]\ndo = [{ tick = \"current\" }, { say = \"Done.\\n<promise>COMPLETE</promise>\" }]\n",
    );
    scene.ralph("").code(0);
    let session = scene.session();
    assert_eq!(session.iteration(1)["false_claim"], json!(["promise"]));
    assert_eq!(session.iteration(1)["outcome"], "success");
    assert_eq!(session.iteration(2)["false_claim"], json!([]));
    assert_eq!(session.iteration(2)["claims"]["promise"], true);
}

#[test]
fn a_promise_is_enough_where_the_user_says_so() {
    let scene = Sandbox::new();
    scene.config("completion = \"promise\"");
    scene.agent_script("[[turn]]\ndo = [{ say = \"<promise>COMPLETE</promise>\" }]\n");
    scene.ralph("").code(0).stdout_has("completed");
    assert_eq!(outcomes(&scene).len(), 1);
    assert!(scene.task_list().contains("[ ]"));
}

#[test]
fn another_task_that_is_ticked_alone_is_no_success_and_its_box_is_opened_again() {
    let scene = Sandbox::new();
    scene.tasks("- [ ] T001 Hard\n- [ ] T002 Easy\n- [ ] T003 Easy").agent_script(
        r#"
        [[turn]]
        iteration = 1
        do = [{ tick = "T002" }]
        [[turn]]
        iteration = 2
        do = [{ tick = "T003" }]
        [[turn]]
        "#,
    );
    scene.ralph("--task T001").code(5);
    assert_eq!(outcomes(&scene), ["failure", "failure", "failure", "skipped"]);
    let first = scene.session().iteration(1);
    assert_eq!((&first["task"], &first["closed"]), (&json!("T001"), &json!([])));
    assert_eq!((&first["claims"]["ticked"], &first["false_claim"]), (&json!(["T002"]), &json!(["ticked"])));
    assert!(!scene.task_list().contains("[x]"));
}

#[test]
fn one_task_alone_is_worked_on_where_it_is_asked_for() {
    let scene = Sandbox::new();
    scene.tasks("- [ ] T001 One\n- [ ] T002 Two\n- [ ] T003 Three").agent_script(GOOD);
    scene.ralph("--task T002").code(0).stdout_has("completed");
    assert_eq!(scene.session().trailers("Ralph-Task"), ["T002"]);
    assert_eq!(scene.task_list().matches("[x]").count(), 1);
}

#[test]
fn a_dry_run_prints_the_prompt_that_would_be_sent_and_writes_nothing() {
    let scene = Sandbox::new();
    scene.agent_script(GOOD);
    let before = scene.everything();
    let prompt = scene.ralph("--dry-run").code(0).stdout_has("T001 Write hello.txt").stdout;
    let json = scene.ralph("--dry-run --json").code(0).json();
    assert_eq!(
        json,
        serde_json::json!({"feature": "specs/001-login", "prompt": String::from_utf8_lossy(&prompt)})
    );
    assert_eq!(scene.everything(), before);
    scene.ralph("-n 10").code(0);
    assert_eq!(scene.session().file(1, "prompt.md"), prompt);
}

#[test]
fn an_agent_that_ends_badly_is_a_recorded_failure() {
    for (script, exit) in [("exit 7", 7), ("kill -KILL $$", 137), ("kill -TERM $$", 143)] {
        let scene = Sandbox::new();
        scene.agent_sh(&format!("tick all\necho words\n{script}\n"));
        scene.ralph("-n 1").code(4).stdout_has(&format!("agent exited {exit}"));
        let session = scene.session();
        assert_eq!(session.trailers("Ralph-Exit"), [format!("agent={exit} validation=-")]);
        assert_eq!(session.text(1, "agent/stdout"), "words\n");
        assert!(scene.task_list().contains("[ ]"), "the box is open again");
    }
}

#[test]
fn an_agent_that_goes_too_far_is_stopped_and_what_it_said_is_kept() {
    for (script, setting, reason) in [
        ("echo words; sleep 300", "timeout = \"3s\"", "timeout"),
        ("echo words; sleep 300", "idle-timeout = \"3s\"", "idle_timeout"),
        ("echo words; exec yes", "max-output = \"100KiB\"", "output_limit"),
    ] {
        let scene = Sandbox::new();
        scene.agent_sh(script).config(setting);
        scene.ralph("-n 1").code(4);
        let session = scene.session();
        assert_eq!(session.iteration(1)["exit_reason"], reason, "{script}");
        assert_eq!(session.trailers("Ralph-Exit"), ["agent=-1 validation=-"]);
        let said = session.text(1, "agent/stdout");
        assert!(said.starts_with("words\n") && said.len() <= 100 << 10, "{}", said.len());
    }
}

#[test]
fn an_agent_that_cannot_be_started_ends_the_session() {
    let scene = Sandbox::new();
    scene
        .write("agent.bin", "#!/no/such/interpreter\n")
        .agent("[agents.fake]\ncommand = [\"./agent.bin\"]\n");
    fs::set_permissions(scene.path("agent.bin"), fs::Permissions::from_mode(0o755)).unwrap();
    scene.ralph("").code(6).stdout_has("the agent could not be used");
    let session = scene.session();
    assert_eq!(session.iteration(1)["exit_reason"], "start_failed");
    assert_eq!(session.end()["stop_reason"], "agent_unusable");
}

#[test]
fn a_validation_that_cannot_run_is_a_recorded_failure() {
    let scene = Sandbox::new();
    scene.agent_script(LIAR).validate("no-such-command --at all");
    scene.ralph("-n 1 --force").code(4).stdout_has("no-such-command: not found");
    let session = scene.session();
    assert_eq!(session.trailers("Ralph-Exit"), ["agent=0 validation=127"]);
    assert!(session.text(1, "validation/stderr").contains("no-such-command"));
    assert!(scene.progress().contains("**Validation**: `no-such-command --at all` exited 127"));
}

#[test]
fn a_validation_that_takes_too_long_is_an_iteration_with_exit_code_minus_one() {
    let scene = Sandbox::new();
    scene.agent_script(LIAR).validate("echo begun; sleep 300").config("validation.timeout = \"3s\"");
    scene.ralph("-n 1").code(4).stdout_has("sleep 300` timed out after ");
    let session = scene.session();
    assert_eq!(session.trailers("Ralph-Exit"), ["agent=0 validation=-1"]);
    assert_eq!(session.iteration(1)["exit_reason"], "timeout");
    assert_eq!(session.text(1, "validation/stdout"), "begun\n");
    assert!(scene.task_list().contains("[ ]"));
}

#[test]
fn nothing_that_agent_or_validation_leave_in_the_background_survives() {
    let scene = Sandbox::new();
    // Where the environments of processes are hidden, one that left its session when its parent had ended is nobody's.
    let in_a_session_of_its_own = if Sandbox::is_portable() { "" } else { "setsid " };
    scene
        .agent_sh(&format!(
            "sleep 300 &\n{in_a_session_of_its_own}sleep 301 >out.txt 2>&1 </dev/null &\necho left\n"
        ))
        .validate("sleep 302 &");
    scene.ralph("-n 1").code(4).stdout_has("stopped what was left running in the background: ");
    assert_eq!(scene.processes_of_sessions(), Vec::<String>::new());
}

#[test]
fn children_are_told_where_they_are_and_know_nothing_of_our_git() {
    let scene = Sandbox::new();
    let tell = "env | LC_ALL=C sort | grep -E '^(RALPH_|GIT_)' | grep -v RALPH_TEST_; pwd";
    scene.agent_sh(tell).validate(&format!("{tell}; false"));
    let _failed =
        scene.call("-n 1").env("GIT_INDEX_FILE", "/nowhere/index").env("GIT_PREFIX", "x/").run().code(4);
    let session = scene.session();
    let root = scene.repo().display();
    let feature = format!("{root}/specs/001-login");
    let told = session.text(1, "agent/stdout");
    assert_eq!(told, session.text(1, "validation/stdout"));
    let allowed = [
        "GIT_CONFIG_NOSYSTEM=",
        "GIT_CONFIG_GLOBAL=",
        "GIT_CEILING_DIRECTORIES=",
        "GIT_AUTHOR_DATE=",
        "GIT_COMMITTER_DATE=",
    ];
    let told: Vec<&str> =
        told.lines().filter(|line| !allowed.iter().any(|name| line.starts_with(name))).collect();
    assert_eq!(
        told,
        [
            "GIT_TERMINAL_PROMPT=0".to_owned(),
            "RALPH_ATTEMPT=1".to_owned(),
            format!("RALPH_FEATURE={feature}"),
            "RALPH_ITERATION=1".to_owned(),
            format!("RALPH_PROGRESS={feature}/progress.txt"),
            format!("RALPH_SESSION={}", session.id()),
            "RALPH_TASK=T001".to_owned(),
            format!("RALPH_TASKS={feature}/tasks.md"),
            format!("RALPH_WORK_TREE={root}"),
            root.to_string(),
        ]
    );
}

#[test]
fn the_model_reaches_the_agent() {
    let scene = Sandbox::new();
    scene.agent("[agents.fake]\ncommand = [\"sh\", \"-c\", \"echo $1\", \"sh\", \"--use={model}\"]\n");
    scene.ralph("-n 1 -m opus-9").code(4);
    assert_eq!(scene.session().text(1, "agent/stdout"), "--use=opus-9\n");
    assert_eq!(scene.session().trailers("Ralph-Model"), ["opus-9"]);
}

#[test]
fn the_prompt_arrives_whole_by_every_way() {
    let long = "A line of a long prompt, äöü.\n".repeat(10_000);
    for (words, prompt, text) in [
        (r#"["cat"]"#, "stdin", long.as_str()),
        (r#"["sh", "-c", "cat \"$1\"", "sh", "{prompt_file}"]"#, "file", long.as_str()),
        (r#"["sh", "-c", "printf %s \"$1\"", "sh", "{prompt}"]"#, "arg", "Do {{ current_task }}."),
    ] {
        let scene = Sandbox::new();
        scene.write(".specify/templates/ralph-prompt.md", text);
        scene.agent(&format!("[agents.fake]\ncommand = {words}\nprompt = \"{prompt}\"\n"));
        scene.ralph("-n 1").code(4);
        let session = scene.session();
        let sent = session.file(1, "prompt.md");
        assert!(sent.len() > 20 && sent == session.file(1, "agent/stdout"), "{prompt}: {}", sent.len());
        scene.ralph("show --prompt").code(0).stdout(&sent);
    }
}

#[test]
fn a_task_that_is_done_already_is_told_from_a_list_that_is() {
    let scene = Sandbox::new();
    scene.tasks("- [ ] T001 One\n- [x] T002 Two").agent_script(GOOD);
    scene
        .ralph("--task T002")
        .code(0)
        .stdout("specs/001-login: T002 is done already, nothing to do for it (1 task open)\n");
    scene.ralph("").code(0);
    scene.ralph("--task T002").code(0).stdout("specs/001-login: all done (2 tasks), nothing to do\n");
}

#[test]
fn a_limit_on_what_an_agent_does_not_report_causes_a_warning() {
    let scene = Sandbox::new();
    scene.tasks("- [ ] T001 One\n- [ ] T002 Two").agent_script(GOOD);
    let run = scene.ralph("--max-cost 0.01 --max-tokens 1").code(0);
    let said = run.text();
    for (limit, what) in [("max-cost", "cost"), ("max-tokens", "tokens")] {
        let warning = format!("`scripted` does not report {what}, so `{limit}` cannot stop this session");
        assert_eq!(said.matches(&warning).count(), 1, "{said}");
    }
}

#[test]
fn the_prompt_names_files_that_exist_and_the_box_that_is_meant() {
    let scene = Sandbox::new();
    scene.write("PLAN.md", "# A\n- [ ] Write tests\n- [ ] Write docs\n# B\n- [ ] Write tests\n");
    let prompt = |words: &str| scene.ralph(words).code(0).text();
    let third = prompt("--tasks PLAN.md --dry-run --task #3");
    assert!(third.contains("Its box is in line 5 of the task list."), "{third}");
    assert!(!third.contains("Specification") && !third.contains("Plan:"), "{third}");
    assert!(!prompt("--tasks PLAN.md --dry-run --task #2").contains("Its box"));
    assert!(prompt("--dry-run").contains("- Specification: `"));
}

#[test]
fn the_template_of_the_project_wins() {
    let scene = Sandbox::new();
    scene.agent_sh("cat").write(
        ".specify/templates/ralph-prompt.md",
        "{FEATURE_NAME}: {{ current_task.id }} of {{ tasks_open }} in {TASKS_PATH}",
    );
    scene.ralph("-n 1").code(4);
    let text = scene.session().text(1, "agent/stdout");
    assert_eq!(text, "001-login: T001 of 1 in specs/001-login/tasks.md");
}

#[test]
fn the_next_prompt_tells_what_failed_before() {
    let scene = Sandbox::new();
    scene.agent_sh("cat").write("check.sh", "echo 'expected 3, got 4'; exit 1\n").validate("sh check.sh");
    scene.ralph("-n 2").code(4);
    let session = scene.session();
    assert!(!session.text(1, "prompt.md").contains("expected 3, got 4"));
    let second = session.text(2, "prompt.md");
    assert!(second.contains("expected 3, got 4") && second.contains("attempt number 2"), "{second}");
}

#[test]
fn what_an_agent_learned_is_read_from_its_last_words() {
    let scene = Sandbox::new();
    scene.agent_script(
        "[[turn]]\ndo = [{ tick = \"current\" }, { say = \"Done.\\n\\nLearnings:\\n- tabs matter here\\n\\nTried:\\n- spaces\" }]",
    );
    scene.ralph("").code(0);
    let record = scene.session().iteration(1);
    assert_eq!(
        (&record["learnings"], &record["approaches"]),
        (&json!(["tabs matter here"]), &json!(["spaces"]))
    );
    assert!(scene.progress().contains("**Learnings**:\n- tabs matter here\n"));
}

#[test]
fn events_come_as_json_one_a_line() {
    let scene = Sandbox::new();
    scene.agent_script(GOOD).validate("true");
    let events = scene.ralph("run --json").code(0).json_lines();
    let types: Vec<&str> = events.iter().filter_map(|event| event["type"].as_str()).collect();
    assert_eq!(
        types,
        [
            "session_started",
            "iteration_started",
            "agent_event",
            "validation_finished",
            "iteration_recorded",
            "session_ended"
        ]
    );
    let session = scene.session();
    let recorded = &events[4];
    assert_eq!(recorded["session"], session.id());
    assert_eq!(recorded["commit"], session.iterations()[0]);
    assert_eq!(recorded["exit"], json!({"agent": 0, "validation": 0}));
    assert_eq!(recorded["outcome"], "success");
}

#[test]
fn any_other_task_list_can_be_worked_on_and_its_journal_lies_beside_it() {
    let scene = Sandbox::new();
    scene
        .agent_script(GOOD)
        .write("docs/PLAN.md", "# Plan\n\n- [ ] Write a test\n- [x] Think\n- [ ] Write code\n");
    scene.ralph("--tasks docs/PLAN.md").code(0);
    assert_eq!(scene.read("docs/PLAN.md").matches("[x]").count(), 3);
    assert_eq!(scene.session().trailers("Ralph-Task"), ["#1", "#3"]);
    assert!(scene.read("docs/progress.txt").contains("Write a test"));
    assert!(!scene.path("specs/001-login/progress.txt").exists());
    scene.ralph("rebuild --check --feature docs/PLAN.md").code(0);
    scene.journal_differs();
}

#[test]
fn boxes_that_markdown_does_not_know_are_reported_and_keep_nobody_from_the_end() {
    let scene = Sandbox::new();
    scene.tasks("- [ ] T001 One\n- [-] T002 Dropped\n- [~] T003 Half").agent_script(GOOD);
    scene.ralph("").code(0).stdout_has("T002 Dropped").stdout_has("T003 Half");
}

#[test]
fn a_task_list_that_grows_is_read_again() {
    let scene = Sandbox::new();
    scene.agent_script(
        r#"
        [[turn]]
        task = "T001"
        do = [{ tick = "current" }, { append = { path = "specs/001-login/tasks.md", text = "- [ ] T002 More\n" } }]
        [[turn]]
        do = [{ tick = "current" }]
        "#,
    );
    scene.ralph("").code(0);
    assert_eq!(scene.session().trailers("Ralph-Task"), ["T001", "T002"]);
}

#[test]
fn a_task_list_that_vanishes_ends_the_session_as_stuck() {
    let scene = Sandbox::new();
    scene.agent_script("[[turn]]\ndo = [{ remove = \"specs/001-login/tasks.md\" }]\n");
    scene.ralph("").code(5).stdout_has("there is no task list");
    assert_eq!(scene.session().end()["stop_reason"], "stuck");
    assert_eq!(outcomes(&scene), ["failure"]);
}

#[test]
fn commits_of_the_agent_are_noted_and_are_no_business_of_ours() {
    let scene = Sandbox::new();
    scene.agent_uses_git();
    scene.agent_script(
        r#"
        [[turn]]
        do = [
          { write = { path = "a.txt", text = "a" } },
          { tick = "current" },
          { run = "git add -A && GIT_COMMITTER_DATE=2090-01-01T00:00:00Z git commit -qm work" },
        ]
        "#,
    );
    let before = scene.git("rev-parse HEAD");
    scene.ralph("").code(0);
    let after = scene.git("rev-parse HEAD");
    assert_ne!(before, after);
    let record = scene.session().iteration(1);
    assert_eq!((&record["head_before"], &record["head_after"]), (&json!(before), &json!(after)));
    assert_eq!(record["commits"], json!([after]));
    assert_eq!(record["files_changed"], json!(["a.txt", "specs/001-login/tasks.md"]));
    assert_eq!(scene.session().trailers("Ralph-Work"), [format!("before={before} after={after}")]);
}

/// Speaks like Claude Code: 100 tokens of input, 20 of output, a quarter of a dollar a run.
const STREAM: &str = r#"
cat >/dev/null
cat <<'END'
{"type":"system","subtype":"init","model":"opus-x","tools":[]}
{"type":"assistant","message":{"id":"m1","model":"opus-x","content":[{"type":"tool_use","id":"c1","name":"Bash","input":{"command":"cargo test"}}],"usage":{"input_tokens":100,"output_tokens":1}}}
{"type":"user","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"c1","is_error":true,"content":"Exit code 3\n1 passed\ncannot log in with ghp_0123456789abcdefghijABCDEFGHIJ012345\n"}]}}
{"type":"result","subtype":"success","is_error":false,"total_cost_usd":0.25,"result":"I tried.","usage":{"input_tokens":100,"output_tokens":20}}
END
"#;

fn claude_like() -> Sandbox {
    let scene = Sandbox::new();
    scene
        .write("agent.sh", STREAM)
        .agent("[agents.fake]\ncommand = [\"sh\", \"agent.sh\"]\nparser = \"claude\"\n")
        .config("skip-after = 0");
    scene
}

#[test]
fn tokens_cost_and_tool_calls_of_a_stream_are_recorded() {
    let scene = claude_like();
    scene.ralph("-n 1").code(4);
    let session = scene.session();
    let record = session.iteration(1);
    assert_eq!((&record["tokens"]["input"], &record["tokens"]["output"]), (&json!(100), &json!(20)));
    assert_eq!((&record["cost_usd"], &record["model"]), (&json!(0.25), &json!("opus-x")));
    let call = &record["tool_calls"][0];
    assert_eq!((&call["kind"], &call["is_error"]), (&json!("shell"), &Value::Bool(true)));
    assert!(call["at_ms"].as_u64().unwrap() <= record["duration_ms"]["agent"].as_u64().unwrap(), "{call}");
    let command = &record["facts"]["commands"][0];
    for end in [call, command] {
        assert_eq!(end["exit_code"], json!(3));
        assert_eq!(end["last_line"], json!("cannot log in with [redacted:github-token]"));
    }
    assert!(session.text(1, "agent/stdout").contains("\"total_cost_usd\":0.25"));
}

#[test]
fn budgets_end_a_session() {
    for (flags, limit, runs) in
        [("--max-tokens 200", "tokens", 2), ("--max-cost 0.6", "cost", 3), ("-n 1", "iterations", 1)]
    {
        let scene = claude_like();
        scene.ralph(flags).code(4).stdout_has("stopped at the limit of ");
        let end = scene.session().end();
        assert_eq!((&end["limit"], outcomes(&scene).len()), (&json!(limit), runs), "{flags}");
    }
    let scene = Sandbox::new();
    scene.agent_sh("sleep 1.1");
    scene.ralph("--max-duration 1s").code(4);
    assert_eq!((&scene.session().end()["limit"], outcomes(&scene).len()), (&json!("duration"), 1));
}

#[test]
fn an_agent_without_a_key_ends_the_session_after_a_second_look() {
    let scene = claude_like();
    scene.write(
        "agent.sh",
        "cat <<'END'\n{\"type\":\"result\",\"subtype\":\"success\",\"is_error\":true,\"api_error_status\":401,\
         \"result\":\"Invalid API key\"}\nEND\nexit 1\n",
    );
    scene.ralph("").code(6).stdout_has(" is not logged in");
    assert_eq!(outcomes(&scene), ["interrupted", "interrupted"]);
}

#[test]
fn what_is_verbose_shows_what_the_agent_says() {
    let scene = Sandbox::new();
    scene.agent_script(GOOD);
    scene.ralph("-v").code(0).stdout_has("agent  Done.");
}

#[test]
fn the_demo_tells_its_whole_story() {
    let scene = Sandbox::without_repository("empty");
    scene.gitconfig("");
    // They are for the folder of the demo.
    let told = scene.try_no_hints().ralph("demo").code(0);
    told.stdout_has("» T004")
        .stdout_has("said done, but the validation fails; reopened")
        .stdout_has("git log --glob");
    scene.ralph("demo --dir kept").code(0);
    assert_eq!(scene.git_in(&scene.path("kept"), "for-each-ref refs/ralph/").lines().count(), 1);
    scene.store_is_sound(&scene.path("kept"));
    scene.call("rebuild --check").dir("kept").run().code(0);
    scene.ralph("demo --dir kept").code(3).stderr_has("hint: ");
}

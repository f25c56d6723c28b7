//! A fault of the setup is charged to no task: agents that do nothing, providers that refuse, work that is cut off.

use serde_json::{Value, json};

use crate::sandbox::{Run, Sandbox};

/// Does the task and says so.
const WORKS: &str = "tick\necho '{\"type\":\"result\",\"is_error\":false,\"result\":\"done\"}'\n";

const TASKS: &str = "- [ ] T001 One\n- [ ] T002 Two\n- [ ] T003 Three";

/// Says that a call of that tool was denied, and ends well.
const DENIED: &str = r#"
echo '{"type":"assistant","message":{"id":"m","content":[{"type":"tool_use","id":"w","name":"Write","input":{"file_path":"a"}}]}}'
echo '{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"w","is_error":true,"content":"Permission to use Write has been denied."}]}}'
"#;

const DENIALS: &str = r#"echo '{"type":"result","is_error":false,"result":"See above.","permission_denials":[{"tool_name":"Write","tool_use_id":"w"}]}'
"#;

const REFUSES: &str = r#"echo '{"type":"result","subtype":"success","is_error":true,"result":"API Error: this request appears to violate our Usage Policy."}'
exit 1
"#;

fn scene(agents: &[(&str, &str)]) -> Sandbox {
    let scene = Sandbox::new();
    scene.tasks(TASKS).agents_like_claude(agents);
    scene
}

/// `script` for that task, work for all others.
fn at(task: &str, script: &str) -> String {
    format!("if [ $RALPH_TASK = {task} ]; then\n{script}exit 0\nfi\n{WORKS}")
}

fn waits(run: &Run) -> Vec<u64> {
    let events = run.json_lines().into_iter().filter(|event| event["type"] == "waiting");
    events.filter_map(|event| Some(event["seconds"].as_u64()?.next_multiple_of(5))).collect()
}

#[test]
fn an_agent_that_does_nothing_is_tried_once_more_and_charged_to_no_task() {
    for (script, words) in [
        ("exit 0\n", "fake printed nothing, twice"),
        ("kill -9 $$\n", "fake: killed by signal 9 before it wrote anything: out of memory?"),
        ("echo 'no such option' >&2; exit 2\n", "fake: exited 2 before it did anything: no such option"),
        ("echo '{\"type\":\"system\",\"subtype\":\"init\"}'\n", "fake printed nothing, twice"),
        (&format!("{DENIED}{DENIALS}"), "fake: every write was denied (Write): permission mode?"),
    ] {
        let scene = scene(&[("fake", script)]);
        scene.validate("touch validated");
        let run = scene.ralph("--json --skip-after 1").code(6);
        assert_eq!(waits(&run), [5], "{words}");
        let session = scene.session();
        assert_eq!(session.trailers("Ralph-Outcome"), ["interrupted", "interrupted"], "{words}");
        assert_eq!(session.end()["stop_reason"], "agent_unusable");
        assert!(!scene.path("validated").exists(), "there is nothing to validate");
        let said =
            run.json_lines().into_iter().find(|event| event["type"] == "session_ended").unwrap_or_default();
        assert_eq!(said["why"], words);
    }
}

#[test]
fn the_next_agent_takes_over_from_one_that_does_nothing() {
    let scene = scene(&[("first", "exit 0\n"), ("second", WORKS)]);
    scene.ralph("").code(0).stdout_has("printed nothing").stdout_has("second takes over from first");
}

#[test]
fn an_agent_that_worked_before_and_does_nothing_now_is_tried_with_growing_pauses() {
    let scene = scene(&[("fake", &format!("[ $RALPH_TASK = T001 ] || exit 0\n{WORKS}"))]);
    let run = scene.ralph("--json --max-wait 0").code(6);
    assert_eq!(waits(&run), [5, 30, 120]);
}

#[test]
fn an_agent_that_hangs_before_its_first_line_is_stopped_and_one_that_began_may_think() {
    let scene = scene(&[("fake", "exec sleep 600\n")]);
    scene.config("first-output-timeout = \"1s\"");
    scene.ralph("").code(6).stdout_has("fake printed nothing, twice before it was stopped");
    // It began its stream, so that it is there.
    let thinks = format!("echo '{{\"type\":\"system\",\"subtype\":\"init\"}}'\nsleep 1.2\n{WORKS}");
    scene.agents_like_claude(&[("fake", &thinks)]);
    scene.ralph("--task T001").code(0);
}

#[test]
fn daily_work_that_looks_like_nothing_passes() {
    // Edits a file and says nothing; fails at the task by saying why; reads and ticks; one denied call among good ones.
    let read = r#"echo '{"type":"assistant","message":{"id":"m","content":[{"type":"tool_use","id":"r","name":"Read","input":{"file_path":"a"}}]}}'"#;
    let wrote = r#"echo '{"type":"assistant","message":{"id":"m2","content":[{"type":"tool_use","id":"e","name":"Edit","input":{"file_path":"b"}}]}}'"#;
    for (script, outcome) in [
        ("echo x > new\n".to_owned(), "failure"),
        // It changed only what git ignores.
        ("echo x > .env\n".to_owned(), "failure"),
        (
            "echo '{\"type\":\"result\",\"is_error\":false,\"result\":\"I cannot reach the database.\"}'\n"
                .to_owned(),
            "failure",
        ),
        (format!("{read}\n{WORKS}"), "success"),
        (format!("{DENIED}{wrote}\necho x > b\n{WORKS}"), "success"),
        (format!("{DENIED}{wrote}\n{DENIALS}"), "failure"),
    ] {
        let scene = scene(&[("fake", &script)]);
        scene.write(".gitignore", ".env\n");
        let _whatever_it_ends_with = scene.ralph("-n 1 --task T001");
        assert_eq!(scene.session().trailers("Ralph-Outcome"), [outcome], "{script}");
    }
    // A plain command need not say anything.
    let scene = Sandbox::new();
    scene.tasks(TASKS);
    scene.ralph(["--agent-command", "tick"]).code(0);
}

#[test]
fn a_task_that_the_provider_refuses_waits_for_a_hint_and_the_others_go_on() {
    let script = format!(
        "if [ $RALPH_TASK = T002 ] && ! grep -q 'Say it politely' prompt.seen; then\n{REFUSES}fi\n{WORKS}"
    );
    let scene = scene(&[("fake", &format!("cat > prompt.seen\n{script}"))]);
    scene.ralph("--skip-after 1 --set stuck-after=1").code(5).stdout_has("violate our Usage Policy");
    let session = scene.session();
    let outcomes = ["success", "failure", "success", "failure"];
    assert_eq!(session.trailers("Ralph-Outcome"), outcomes, "once more when nothing else can be done");
    assert_eq!(session.trailers("Ralph-Failure-Class")[1], "policy");
    let status = scene.ralph("status --json").code(0).json();
    let needs = &status["summary"]["needs_you"][0];
    assert_eq!((&needs["why"], &needs["task"]), (&json!("policy"), &json!("T002")));
    assert_eq!(status["summary"]["tasks"]["asks"], 1);
    scene.ralph(["hint", "--task", "T002", "Say it politely"]).code(0);
    scene.ralph("resume").code(0);
}

#[test]
fn another_agent_tries_a_task_first_that_the_provider_of_one_refuses() {
    let scene = scene(&[("first", &at("T002", REFUSES)), ("second", WORKS)]);
    let run = scene.ralph("").code(0);
    run.stdout_has("second takes over from first (policy)").stdout_has("first is back");
    let session = scene.session();
    let agents: Vec<Value> = (1..=4).map(|number| session.iteration(number)["agent"].clone()).collect();
    assert_eq!(agents, ["first", "first", "second", "first"]);
}

#[test]
fn two_tasks_that_are_refused_in_a_row_are_a_fault_of_the_agent() {
    let scene = scene(&[("fake", REFUSES)]);
    let run = scene.ralph("").code(6);
    run.stdout_has("fake cannot be used (policy: API Error");
    assert_eq!(scene.session().trailers("Ralph-Outcome"), ["failure", "interrupted", "interrupted"]);
}

#[test]
fn a_result_that_is_an_error_by_its_subtype_alone_is_a_failure() {
    let call = r#"echo '{"type":"assistant","message":{"id":"m","content":[{"type":"tool_use","id":"r","name":"Read","input":{"file_path":"a"}}]}}'"#;
    for is_error in ["", "\"is_error\":false,"] {
        let result =
            format!("{{\"type\":\"result\",\"subtype\":\"error_max_turns\",{is_error}\"num_turns\":40}}");
        let scene = scene(&[("fake", &format!("tick\n{call}\necho '{result}'\n"))]);
        scene.ralph("-n 1").code(4).stdout_has("agent ran out of turns (40): agents.fake.command");
        assert_eq!(scene.session().trailers("Ralph-Outcome"), ["failure"]);
    }
}

#[test]
fn work_in_the_background_that_was_cut_off_is_the_cause_and_the_next_prompt_says_what_to_do() {
    let script = r#"cat > prompt.seen
echo '{"type":"assistant","message":{"id":"m","content":[{"type":"tool_use","id":"b","name":"Bash","input":{"command":"npm test","run_in_background":true}}]}}'
echo '{"type":"system","subtype":"task_started","task_id":"b1","tool_use_id":"b","task_type":"local_bash","description":"Run the tests"}'
echo '{"type":"result","is_error":false,"result":"The tests run in the background."}'
echo '{"type":"system","subtype":"task_notification","task_id":"b1","status":"killed"}'
"#;
    let scene = scene(&[("fake", script)]);
    let run = scene.ralph("-n 2").code(4);
    run.stdout_has("npm test (in the background) was still running when the agent ended");
    assert!(scene.read("prompt.seen").contains("run `npm test` in the foreground"));
    let facts = &scene.session().iteration(1)["agent_facts"];
    assert_eq!(facts["cut_off"], json!([{"what": "npm test", "is_subagent": false}]));
    // The same, ticked: it is done.
    let scene = scene_with(&format!("tick\n{script}"));
    scene.ralph("-n 1").code(4);
    assert_eq!(scene.session().trailers("Ralph-Outcome"), ["success"]);
}

#[test]
fn a_reason_that_the_agent_gives_for_task_after_task_ends_the_session() {
    let says =
        "echo '{\"type\":\"result\",\"is_error\":false,\"result\":\"I cannot reach the database.\"}'\n";
    let scene = scene(&[("fake", says)]);
    let run = scene.ralph("--skip-after 1").code(5);
    run.stdout_has("the same failure for 3 tasks (T001, T002, T003: I cannot reach the database)");
    // Words that only say that it is done are no reason.
    let scene = scene_of_praise();
    scene
        .ralph("--skip-after 1")
        .code(5)
        .stdout_lacks("the same failure")
        .stdout_has("did not tick the task");
}

fn scene_with(script: &str) -> Sandbox {
    scene(&[("fake", script)])
}

fn scene_of_praise() -> Sandbox {
    scene(&[("fake", "echo '{\"type\":\"result\",\"is_error\":false,\"result\":\"All done.\"}'\n")])
}

#[test]
fn a_key_that_pays_and_another_model_are_said_once_and_recorded() {
    let init =
        r#"echo '{"type":"system","subtype":"init","model":"opus","apiKeySource":"ANTHROPIC_API_KEY"}'"#;
    let result = r#"echo '{"type":"result","is_error":false,"result":"done","modelUsage":{"claude-sonnet-4-5":{"inputTokens":1}}}'"#;
    let scene = scene(&[("fake", &format!("{init}\ntick\n{result}\n"))]);
    let run = scene.ralph("--model opus").code(0);
    for words in ["an API key pays for `fake` (ANTHROPIC_API_KEY)", "claude-sonnet-4-5 answered"] {
        assert_eq!(run.text().matches(words).count(), 1, "{run}");
    }
    let facts = &scene.session().iteration(1)["agent_facts"];
    assert_eq!(facts["api_key_source"], "ANTHROPIC_API_KEY");
    assert_eq!(facts["models"], json!(["claude-sonnet-4-5"]));
}

//! Limits and failures of the provider: waiting, agents that take over, and stopping with a remedy.

use rustix::process::Signal;
use serde_json::{Value, json};

use crate::sandbox::{Run, Sandbox};

/// Does the task and says so.
const WORKS: &str = r#"tick
echo '{"type":"result","is_error":false,"result":"done"}'
"#;

/// Ends with an error of the provider's; `fields` tell which.
fn fails(fields: &str) -> String {
    format!("echo '{{\"type\":\"result\",\"is_error\":true,\"result\":\"It failed.\",{fields}}}'\nexit 1\n")
}

/// Ends with a quota that is used up, until so many seconds after the loop began.
fn out_for(seconds: u32) -> String {
    let event = r#"{"type":"rate_limit_event","rate_limit_info":{"status":"rejected","resetsAt":%s}}\n"#;
    format!(
        "now=$(date -u -d \"${{RALPH_TEST_CLOCK:-now}}\" +%s)\nprintf '{event}' $((now + {seconds}))\n{}",
        fails(r#""api_error":"usage_limit_reached","api_error_status":429"#)
    )
}

/// `first` in the first iterations, up to this one, then work.
fn until(iteration: u32, first: &str) -> String {
    format!("if [ \"$RALPH_ITERATION\" -le {iteration} ]; then\n{first}fi\n{WORKS}")
}

fn events(run: &Run, kind: &str) -> Vec<Value> {
    run.json_lines().into_iter().filter(|event| event["type"] == kind).collect()
}

/// How long each wait was.
fn seconds(run: &Run) -> Vec<u64> {
    events(run, "waiting")
        .iter()
        .map(|event| event["seconds"].as_u64().expect("a wait has a length"))
        .collect()
}

#[test]
fn a_quota_is_waited_for_and_costs_neither_an_iteration_nor_a_try() {
    let scene = Sandbox::new();
    let ticks = "tick all\n";
    let script = until(1, &format!("{ticks}{}", out_for(7200)));
    scene.agents_like_claude(&[("fake", &format!("echo $RALPH_ATTEMPT >> attempts\n{script}"))]);
    let run = scene.ralph("--json -n 1").code(0);
    let waiting = &events(&run, "waiting")[0];
    assert_eq!((&waiting["agent"], &waiting["failure_class"]), (&json!("fake"), &json!("quota")));
    assert_eq!(waiting["message"], "It failed.");
    assert!(waiting["seconds"].as_u64().unwrap() > 7000, "{waiting}");
    let session = scene.session();
    assert_eq!(session.trailers("Ralph-Outcome"), ["interrupted", "success"]);
    assert_eq!(session.trailers("Ralph-Failure-Class"), ["quota", ""]);
    let (cut, done) = (session.iteration(1), session.iteration(2));
    assert_eq!(cut["false_claim"], json!(["ticked"]), "a box of a run that was cut short is judged as any");
    assert!(session.text(1, "tasks.md").contains("[ ] T001"));
    assert_eq!(cut["error"], "It failed.");
    assert!(done["started_at"].as_str() > cut["resets_at"].as_str(), "{cut} {done}");
    assert_eq!(session.end()["iterations_run"], 1);
    assert_eq!(session.end()["status"], "completed");
    assert_eq!(scene.read("attempts"), "1\n1\n");
    assert!(scene.progress().contains("⏸️ Interrupted"));
    scene.ralph("log").code(0).stdout_has("1 attempt (usage limit, went on at ");
}

#[test]
fn without_a_told_time_the_pauses_grow() {
    for (fields, class) in [
        (r#""api_error_status":529"#, "overloaded"),
        (r#""api_error_status":500"#, "overloaded"),
        (r#""api_error_status":429"#, "rate_limit"),
        (r#""api_error":"none","result":"Connection error.""#, "network"),
    ] {
        let scene = Sandbox::new();
        scene.agents_like_claude(&[("fake", &until(3, &fails(fields)))]);
        let run = scene.ralph("--json -n 1 --skip-after 1").code(0);
        // The clock of a scene goes on a second with every look.
        let waited: Vec<_> = seconds(&run).iter().map(|seconds| seconds.next_multiple_of(10)).collect();
        assert_eq!(waited, [30, 60, 120], "{class}");
        let classes = scene.session().trailers("Ralph-Failure-Class");
        assert_eq!(classes, [class, class, class, ""], "{class}");
    }
}

#[test]
fn a_wait_that_is_longer_than_the_user_wants_ends_the_session() {
    let scene = Sandbox::new();
    scene.agents_like_claude(&[("fake", &until(1, &out_for(7200)))]);
    let run = scene.ralph("--max-wait 1h").code(4);
    run.stdout_has(" · stopped at the limit of waiting")
        .stdout_has("fake cannot be used before ")
        .stdout_has("hint: resume the session then")
        .stdout_lacks("waits");
    assert_eq!(scene.session().end()["limit"], "wait");
    scene.ralph("resume").code(0);
    assert_eq!(scene.session().trailers("Ralph-Outcome"), ["interrupted", "success"]);

    let scene = Sandbox::new();
    scene.agents_like_claude(&[("fake", &fails(r#""api_error_status":529"#))]);
    scene.ralph("--max-wait 0").code(4).stdout_has("stopped at the limit of waiting");
    // Thirty, sixty, and what is left; then it is enough.
    let run = scene.ralph("--max-wait 100s --json").code(4);
    let waited: Vec<_> = seconds(&run).iter().map(|seconds| seconds.next_multiple_of(10)).collect();
    assert_eq!(waited, [30, 60, 10]);
}

#[test]
fn who_looks_sees_what_is_waited_for_and_ctrl_c_ends_it() {
    let scene = Sandbox::new();
    scene.agents_like_claude(&[("fake", &until(1, &out_for(7200)))]);
    let mut running = scene.call("").in_real_time().spawn();
    running.wait_for_text("waiting for fake's usage limit until ");
    let status = scene.ralph("status --json").code(0).json();
    assert_eq!(status["session"]["waiting"]["failure_class"], "quota");
    scene
        .ralph("status")
        .code(0)
        .stdout_has("waiting for fake's usage limit until ")
        .stdout_has("): It failed.");
    running.signal(Signal::INT);
    running.wait().code(130).stdout_has(": It failed.");
    assert_eq!(scene.session().end()["stop_reason"], "interrupted");
    for words in ["stop", "stop --now"] {
        scene.agents_like_claude(&[("fake", &out_for(7200))]);
        let mut running = scene.call("resume").in_real_time().spawn();
        running.wait_for_text("waiting for fake's usage limit until ");
        scene.ralph(words).code(0);
        running.wait().code(0);
    }
    assert!(!scene.path(".git/ralph/control").join(scene.session().id()).exists());
    assert_eq!(scene.ralph("status --json").code(0).json()["session"]["waiting"], Value::Null);
}

#[test]
fn the_next_agent_takes_over_on_quota_until_the_first_is_back() {
    let scene = Sandbox::new();
    scene.tasks("- [ ] T001 One\n- [ ] T002 Two\n- [ ] T003 Three\n- [ ] T004 Four");
    // Out for a few seconds of a clock on which every question takes one.
    let first = until(1, &out_for(12));
    scene.agents_like_claude(&[("first", &first), ("second", WORKS)]);
    let run = scene.ralph("--json").code(0);
    let changes: Vec<_> = events(&run, "agent_changed")
        .iter()
        .map(|event| (event["from"].clone(), event["to"].clone(), event["failure_class"].clone()))
        .collect();
    assert_eq!(
        changes,
        [(json!("first"), json!("second"), json!("quota")), (json!("second"), json!("first"), Value::Null)]
    );
    assert!(events(&run, "waiting").is_empty());
    let session = scene.session();
    let agents: Vec<_> = (1..=5).map(|number| session.iteration(number)["agent"].clone()).collect();
    assert_eq!(agents.first(), Some(&json!("first")));
    assert_eq!(agents.get(1), Some(&json!("second")));
    assert_eq!(agents.last(), Some(&json!("first")));
    assert_eq!(session.trailers("Ralph-Outcome")[0], "interrupted");
}

#[test]
fn agents_can_be_named_one_by_one_and_what_is_missing_is_left_out() {
    let scene = Sandbox::new();
    scene.agents_like_claude(&[("first", &out_for(9000)), ("second", WORKS)]);
    let run = scene.ralph("--agent first --agent codex --agent second").code(0);
    run.stdout_has("second takes over from first (quota)")
        .stderr_has("warning: continuing without it: agent `codex` is not installed");
    let scene = Sandbox::new();
    scene.agents_like_claude(&[("first", &out_for(9000)), ("second", WORKS)]);
    scene.ralph("--agent first,second").code(0).stdout_has("second takes over");
    scene.ralph("--agent codex,droid").code(0).stdout_has("all done");
}

#[test]
fn what_no_second_try_mends_ends_the_session_with_a_remedy() {
    for (fields, class, remedy) in [
        (r#""api_error_status":401"#, "auth", "hint: sign in with the agent itself"),
        (r#""api_error_type":"billing_error""#, "billing", "hint: pay or add credit"),
        (r#""api_error_status":404"#, "model", "hint: set a model"),
        (r#""terminal_reason":"prompt_too_long""#, "context", "hint: the prompt does not fit"),
        (r#""api_error":"none""#, "other", "hint: look at what the agent printed"),
    ] {
        let scene = Sandbox::new();
        scene.agents_like_claude(&[("fake", &fails(fields))]);
        scene.validate("touch validated");
        let run = scene.ralph("--skip-after 1").code(6);
        let what = match class {
            "auth" => "fake is not logged in",
            "billing" => "fake has no credit",
            _ => "the agent could not be used",
        };
        run.stdout_has(&format!("0 of 1 task done · {what}"))
            .stdout_lacks("1 needs you")
            .stdout_lacks("\n0 attempts")
            .stdout_has(&format!("fake ({class}): trying once more in "))
            .stdout_has(&format!("fake cannot be used ({class}: It failed.)"))
            .stdout_has(remedy);
        let session = scene.session();
        assert_eq!(session.iteration(1)["failure_class"], class);
        assert_eq!(session.trailers("Ralph-Outcome"), ["interrupted", "interrupted"], "{class}: no attempts");
        assert_eq!(session.end()["stop_reason"], "agent_unusable");
        assert!(!scene.path("validated").exists(), "{class}: there is nothing to validate");
        scene.ralph("show 1").code(0).stdout_has("  validation  not run\n");
    }
}

#[test]
fn the_next_agent_takes_over_at_once_whatever_keeps_the_first() {
    for (fields, class) in [
        (r#""api_error_status":401"#, "auth"),
        (r#""api_error_status":529"#, "overloaded"),
        (r#""api_error":"none","result":"Selected model is at capacity.""#, "overloaded"),
        (r#""api_error":"none","result":"Your workspace is out of credits.""#, "billing"),
        (r#""terminal_reason":"prompt_too_long""#, "context"),
        (r#""api_error":"none","result":"You have hit your limit · resets 10pm (UTC)""#, "quota"),
    ] {
        let scene = Sandbox::new();
        scene.tasks("- [ ] T001 One\n- [ ] T002 Two");
        scene.agents_like_claude(&[("first", &fails(fields)), ("second", WORKS)]);
        let run = scene.ralph("").code(0);
        run.stdout_has(&format!("second takes over from first ({class})")).stdout_lacks("waiting for");
        assert_eq!(scene.session().trailers("Ralph-Failure-Class")[0], class);
    }
}

#[test]
fn an_agent_that_fails_for_good_is_left_out_and_said_so() {
    let scene = Sandbox::new();
    scene.tasks("- [ ] T001 One\n- [ ] T002 Two\n- [ ] T003 Three");
    scene.agents_like_claude(&[("first", &fails(r#""api_error_status":401"#)), ("second", WORKS)]);
    let run = scene.ralph("").code(0);
    run.stdout_has("first cannot be used (auth: It failed.), and is not tried again in this session")
        .stdout_has("hint: sign in with the agent itself");
    let session = scene.session();
    let agents: Vec<_> = (1..=5).map(|number| session.iteration(number)["agent"].clone()).collect();
    assert_eq!(agents.iter().filter(|agent| *agent == "first").count(), 2, "{agents:?}");
    assert_eq!(agents[1], "second");
}

#[test]
fn an_agent_that_worked_before_is_tried_again_with_growing_pauses() {
    // It works in the first iteration, fails in the next ones, and is back.
    let fails_until = |last: u32| {
        format!(
            "if [ \"$RALPH_ITERATION\" -gt 1 ] && [ \"$RALPH_ITERATION\" -le {last} ]; then\n{}fi\n{WORKS}",
            fails(r#""api_error_status":401"#)
        )
    };
    for (last, code, pauses) in [(4, 0, &[5, 30, 120][..]), (9, 6, &[5, 30, 120])] {
        let scene = Sandbox::new();
        scene.tasks("- [ ] T001 One\n- [ ] T002 Two");
        scene.agents_like_claude(&[("fake", &fails_until(last))]);
        let run = scene.ralph("--json --max-wait 0").code(code);
        let waited: Vec<_> = seconds(&run).iter().map(|seconds| seconds.next_multiple_of(5)).collect();
        assert_eq!(waited, pauses, "until {last}");
        assert!(events(&run, "waiting").iter().all(|event| event["is_guessed"] == true));
    }
}

#[test]
fn a_program_that_vanishes_is_waited_for() {
    let scene = Sandbox::new();
    scene.tasks("- [ ] T001 One\n- [ ] T002 Two");
    // The first run takes the program away, as an update does; the shell that calls it brings it back in the third.
    let works = WORKS.replace('\n', "; ");
    scene.executable("program.sh", &format!("#!/bin/sh\nmv program.sh away.sh\n{works}\n"));
    scene.agent(
        "[agents.fake]\nparser = \"claude\"\ncommand = \"[ $RALPH_ITERATION -lt 4 ] || cp away.sh program.sh; \
         exec ./program.sh\"\n",
    );
    let run = scene.ralph("--json").code(0);
    assert_eq!(seconds(&run).len(), 2);
    assert_eq!(events(&run, "waiting")[0]["failure_class"], "not_installed");
    assert_eq!(
        scene.session().trailers("Ralph-Outcome"),
        ["success", "interrupted", "interrupted", "success"]
    );
}

#[test]
fn a_context_that_overflows_in_mid_run_is_a_failed_attempt() {
    let tool = r#"echo '{"type":"assistant","message":{"id":"m","content":[{"type":"tool_use","id":"c","name":"Read","input":{"file_path":"a"}}]}}'
"#;
    let scene = Sandbox::new();
    let overflow = format!("{tool}{}", fails(r#""terminal_reason":"prompt_too_long""#));
    scene.agents_like_claude(&[("fake", &until(1, &overflow))]);
    let run = scene.ralph("--json").code(0);
    assert!(seconds(&run).is_empty(), "a fresh context is the remedy");
    let session = scene.session();
    assert_eq!(session.trailers("Ralph-Outcome"), ["failure", "success"]);
    assert_eq!(session.iteration(1)["failure_class"], "context");

    // The first request of two runs in a row.
    let scene = Sandbox::new();
    scene.agents_like_claude(&[("fake", &fails(r#""terminal_reason":"prompt_too_long""#))]);
    scene.ralph("").code(6).stdout_has("the rest is what the agent adds itself");
    assert_eq!(scene.session().iterations().len(), 2);
}

#[test]
fn the_words_of_a_limit_say_when_it_ends_and_no_time_is_invented() {
    let limit = |words: &str| format!(r#""api_error":"none","result":"{words}""#);
    for (words, phrase) in [
        ("You have hit your limit · resets 10pm (Atlantis/Capital)", "; no reset time was given)"),
        ("Usage limit reached. Try again in 3 days 4 hours.", "waiting for fake's usage limit until "),
        ("Claude AI usage limit reached|4102444800", "stopped at the limit of waiting"),
    ] {
        let scene = Sandbox::new();
        scene.agents_like_claude(&[("fake", &until(1, &fails(&limit(words))))]);
        let run = scene.ralph("--max-wait 100h");
        run.stdout_has(phrase);
        assert_eq!(scene.session().iteration(1)["failure_class"], "quota", "{words}");
    }
}

#[test]
fn a_plain_command_says_that_it_met_a_limit() {
    let works = "tick\n";
    let first = |says: &str| format!("if [ \"$RALPH_ITERATION\" = 1 ]; then\n{says}\nfi\n{works}");
    for (says, setting, class) in [
        ("echo 'try again in 2 minutes' >&2; exit 75", "", "rate_limit"),
        (
            "echo 'Our budget is gone, wait 2 minutes'; exit 1",
            "limit-pattern = 'budget is \\w+'\n",
            "rate_limit",
        ),
        (
            "echo 'quota: budget is gone, wait 2 minutes'; exit 0",
            "limit-pattern = 'budget is \\w+'\n",
            "quota",
        ),
    ] {
        let scene = Sandbox::new();
        scene.write("agent.sh", first(says));
        scene.agent(&format!("[agents.fake]\ncommand = [\"sh\", \"agent.sh\"]\n{setting}"));
        let run = scene.ralph("--json").code(0);
        assert!(matches!(seconds(&run)[..], [110..=122]), "{says}: {:?}", seconds(&run));
        assert_eq!(scene.session().trailers("Ralph-Failure-Class"), [class, ""], "{says}");
    }
    let scene = Sandbox::new();
    scene.agent("[agents.fake]\ncommand = \"true\"\nlimit-pattern = '(('\n");
    scene
        .ralph("")
        .code(3)
        .stderr_has("agents.fake.limit-pattern")
        .stderr_has("expected a regular expression");
}

#[test]
fn an_agent_that_meets_one_error_after_the_other_is_stopped_and_the_error_tells_what_next() {
    let retry = |error: &str| {
        format!(
            "while :; do echo '{{\"type\":\"system\",\"subtype\":\"api_retry\",\"error\":\"{error}\"}}'; sleep 0.01; done\n"
        )
    };
    // What passes is waited for, and what does not is a failure like any.
    let scene = Sandbox::new();
    scene.agents_like_claude(&[("fake", &until(1, &retry("overloaded")))]);
    let run = scene.ralph("--json").code(0);
    assert_eq!(seconds(&run).len(), 1);
    let iteration = scene.session().iteration(1);
    assert_eq!((&iteration["exit_reason"], &iteration["exit"]["agent"]), (&json!("error_loop"), &json!(-1)));
    assert_eq!(iteration["outcome"], "interrupted");

    let scene = Sandbox::new();
    scene.agents_like_claude(&[("fake", &until(1, &retry("odd")))]);
    scene.ralph("").code(0).stdout_has(": one error after the other: retry 0 of 0 in 0 s (odd)");
}

#[test]
fn codex_and_gemini_tell_when_they_are_back() {
    // Codex in the file of its thread, as it says only "10:36 PM" elsewhere.
    let scene = Sandbox::new();
    let limit = r#"{"type":"event_msg","payload":{"type":"token_count","rate_limits":{"primary":{"used_percent":100.0,"resets_at":%s}}}}"#;
    let spent = r#"{"type":"turn_context","payload":{"model":"gpt-x"}}
{"type":"event_msg","payload":{"type":"token_count","info":{"total_token_usage":{"input_tokens":1500,"cached_input_tokens":500,"output_tokens":40}}}}"#;
    scene.program(
        "codex",
        &format!(
            r#"[ "$1" = --version ] && {{ echo 1.2.3; exit 0; }}
echo '{{"type":"thread.started","thread_id":"01a1-ffe5"}}'
if [ "$RALPH_ITERATION" = 1 ]; then
    folder="$HOME/.codex/sessions/2026/11/21"; mkdir -p "$folder"
    now=$(date -u -d "$RALPH_TEST_CLOCK" +%s)
    {{ echo '{spent}'; printf '{limit}\n' $((now + 4000)); }} > "$folder/rollout-2026-11-21T00-00-00-01a1-ffe5.jsonl"
    echo '{{"type":"turn.failed","error":{{"message":"You’ve hit your usage limit, try again at 10:36 PM."}}}}'
    exit 1
fi
tick all
echo '{{"type":"turn.completed","usage":{{}}}}'"#
        ),
    );
    let run = scene.ralph("--agent codex --json").code(0);
    assert!((3900..4003).contains(&seconds(&run)[0]), "{:?}", seconds(&run));
    // And what a run that did not come to its end has spent, and with which model.
    let iteration = scene.session().iteration(1);
    assert_eq!(iteration["model"], "gpt-x");
    assert_eq!(
        iteration["tokens"],
        json!({"input": 1000, "cache_read": 500, "cache_write": null, "output": 40})
    );

    let scene = Sandbox::new();
    scene.program(
        "gemini",
        r#"[ "$1" = --version ] && { echo 1.2.3; exit 0; }
if [ "$RALPH_ITERATION" = 1 ]; then
    echo '{"type":"result","status":"error","error":{"message":"Quota exceeded. Suggested retry after 5400s."}}'
    exit 173
fi
tick all
echo '{"type":"result","status":"success","stats":{}}'"#,
    );
    let run = scene.ralph("--agent gemini --json").code(0);
    assert!((5390..5403).contains(&seconds(&run)[0]), "{:?}", seconds(&run));
}

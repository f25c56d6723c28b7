//! How a session ends: its budgets, and the user's hook.

use serde_json::json;

use crate::sandbox::{Program, Sandbox};

const TICK: &str = "[[turn]]\ndo = [{ tick = \"current\" }]\n";

/// Spends something in every turn, and never gets done.
const SPENDS: &str = r#"echo '{"type":"result","is_error":false,"result":"no","total_cost_usd":0.4,"usage":{"input_tokens":60,"output_tokens":40}}'
"#;

#[test]
fn a_budget_ends_the_session_between_iterations_and_is_named() {
    for (words, limit, told, iterations) in [
        ("--max-tokens 250", "tokens", "tokens", 3..=3),
        ("--max-cost 0.75", "cost", "cost", 2..=2),
        // The start alone may take so long.
        ("--max-duration 1ms", "duration", "time", 0..=1),
        ("-n 4", "iterations", "4 attempts", 4..=4),
    ] {
        let scene = Sandbox::new();
        scene.agents_like_claude(&[("fake", SPENDS)]);
        let words = format!("--skip-after 0 {words}");
        scene.ralph(&words).code(4).stdout_has(&format!("0 of 1 task done · stopped at the limit of {told}"));
        let end = scene.session().end();
        assert_eq!((&end["stop_reason"], &end["limit"]), (&json!("limit_reached"), &json!(limit)));
        assert!(iterations.contains(&end["iterations_run"].as_u64().unwrap()), "{limit}: {end}");
    }
}

#[test]
fn a_hook_is_told_how_it_ended_and_may_start_the_next_loop() {
    let hook =
        r#"hooks.on-finish = """env | grep ^RALPH_ | sort > told; specify ralph status > status 2>&1""""#;
    let scene = Sandbox::new();
    let own = std::path::Path::new(Program::Specify.path()).display();
    scene.program("specify", &format!("exec {own} \"$@\""));
    scene.tasks("- [ ] T001 One\n- [ ] T002 Two").agent_script(TICK).config(hook);
    scene.validate("true").ralph("-n 1").code(4).stderr("");
    let told = scene.read("told");
    for line in [
        "RALPH_STATUS=failed",
        "RALPH_STOP_REASON=limit_reached",
        "RALPH_LIMIT=iterations",
        "RALPH_EXIT_CODE=4",
        "RALPH_ITERATIONS=1",
        "RALPH_TASKS_DONE=1",
        "RALPH_TASKS_OPEN=1",
        "RALPH_BRANCH=main",
        "RALPH_LANE=",
        &format!("RALPH_SESSION_ID={}", scene.session().id()),
    ] {
        assert!(told.lines().any(|told| told == line), "{line}: {told}");
    }
    assert!(!told.contains("RALPH_SESSION="), "{told}");
    assert!(scene.read("status").contains("stopped at a limit "), "{}", scene.read("status"));
}

#[test]
fn a_hook_that_fails_costs_a_warning() {
    let scene = Sandbox::new();
    scene.agent_script(TICK).config("hooks.on-finish = \"echo 'no mail today' >&2; exit 7\"");
    scene
        .ralph("")
        .code(0)
        .stderr_has("warning: hooks.on-finish: `echo 'no mail today' >&2; exit 7` exited 7: no mail today");
    // Where nothing was done nothing has ended.
    scene.ralph("").code(0).stdout_has("nothing to do").stderr("");
}

//! What a resumed session begins with: its own settings, unless flags of the call or the user's approval set others.

use std::fs;

use crate::sandbox::{Sandbox, WILLING_AGENT};

/// An agent that does the first open task, and says what it cost.
const PRICED: &str = r#"
cat >/dev/null
tick first
echo "$RALPH_TASK" > "$RALPH_TASK.txt"
echo '{"type":"result","subtype":"success","is_error":false,"total_cost_usd":1.5,"result":"Done.","usage":{"input_tokens":100,"output_tokens":20}}'
"#;

#[test]
fn a_session_goes_on_with_its_flags_and_its_budget() {
    let scene = Sandbox::new();
    scene.tasks("- [ ] T001 One\n- [ ] T002 Two\n- [ ] T003 Three\n- [ ] T004 Four\n- [ ] T005 Five");
    scene.agents_like_claude(&[("fake", PRICED)]).config("skip-after = 3").agent_uses_git().commit("Ready");
    let flags = "-n 1 --model haiku --max-cost 3 --skip-after 0 --set commit=task --validate true";
    scene.ralph(flags).code(4);
    // Without `-n` it has the limit of the file; the budget counts both runs.
    let run = scene.ralph("resume").code(4).stderr_has("model \"haiku\"").stderr_has("commit \"task\"");
    let id = scene.session().id().to_owned();
    assert!(
        run.talk().contains("skip-after is none; the file says 3 now: --fresh-settings takes it"),
        "{run}"
    );
    run.stdout_has("stopped at the limit of cost").stdout_has("resume --max-cost 6.00 ");
    let configuration = &scene.session().end()["configuration"];
    assert_eq!(
        [&configuration["model"], &configuration["skip-after"], &configuration["commit"]],
        [&"haiku".into(), &serde_json::Value::Null, &"task".into()]
    );
    assert_eq!(
        scene.git("rev-list --count HEAD"),
        "4",
        "a commit for each of two tasks, after those of the scene"
    );
    let refused = scene.ralph("resume").code(3);
    for part in [
        "kept from the session: ",
        "model \"haiku\"",
        &format!("session {id} has spent $3.00 of max-cost $3.00"),
        &format!("hint: `specify ralph resume {id} --max-cost 6.00` goes on"),
    ] {
        assert!(refused.talk().contains(part), "{part}: {refused}");
    }
    scene.ralph(["resume", &id, "--max-cost", "6", "-n", "1"]).code(4);
    // What a flag of a resumption set is kept from then on.
    scene.ralph("resume").code(4).stdout_has("stopped at the limit of cost");
    assert_eq!(scene.session().iterations().len(), 4);
}

#[test]
fn a_break_is_no_time_at_work() {
    let scene = Sandbox::new();
    scene.tasks("- [ ] T001 One\n- [ ] T002 Two").agent_script(WILLING_AGENT).commit("Ready");
    scene.ralph("-n 1").code(4);
    // Each call is an hour later.
    let resumed = scene.ralph("resume").code(0);
    let card =
        resumed.text().lines().find(|line| line.contains("all 2 tasks done")).unwrap_or_default().to_owned();
    let status = scene.ralph("status").code(0);
    let first = status.text().lines().next().unwrap_or_default().to_owned();
    let span = first.split(", after ").nth(1).unwrap_or_default().to_owned();
    assert!(span.ends_with(" s in 2 runs") && !span.contains(" min"), "{status}");
    assert!(card.ends_with(&format!(" · {span}")), "{resumed}\n{status}");
    let headline = &scene.ralph("report --json").json()["headline"];
    let [worked, span] = ["worked_ms", "span_ms"].map(|key| headline[key].as_u64().unwrap_or_default());
    assert!(worked > 0 && worked < 600_000 && span > 3_000_000, "{headline}");
}

#[test]
fn in_another_clone_what_runs_is_what_is_set_there() {
    let scene = Sandbox::new();
    scene.tasks("- [ ] T001 One\n- [ ] T002 Two").agent_script(WILLING_AGENT).commit("Ready");
    scene.with_remote();
    scene.ralph("-n 1 --model haiku --validate true").code(4);
    scene.ralph("sync").code(0);
    let there = scene.outside("clone");
    scene.git(["clone", "--quiet", scene.outside("remote.git").to_str().unwrap(), there.to_str().unwrap()]);
    scene.call("sync").dir(&there).run().code(0);
    let run = scene.call("resume -n 2").dir(&there).run().code(0);
    for part in [
        "began in another clone",
        "validation.command is none (default); the session began with \"true\"",
        "kept from the session: model \"haiku\"",
    ] {
        assert!(run.talk().contains(part), "{part}: {run}");
    }
}

#[test]
fn after_a_validation_that_could_not_be_used_the_file_counts() {
    let scene = Sandbox::with_succeeding_agent(1);
    scene.call("--validate ./no-such-tool --model haiku").with_baseline().run().code(6);
    scene.validate("test -e agent.toml");
    let run = scene.ralph("resume").code(0);
    for part in [
        "the session ended because its validation could not be used",
        "validation.command is \"test -e agent.toml\" now (.specify/ralph.toml:1); the session began with \"./no-such-tool\"",
        "kept from the session: model \"haiku\"",
    ] {
        assert!(run.talk().contains(part), "{part}: {run}");
    }
}

#[test]
fn a_file_that_was_approved_since_counts() {
    let scene = Sandbox::with_succeeding_agent(1);
    let unapproved = |words: &str| scene.call(words).env("SPECKIT_RALPH_TRUST", "").run();
    scene.validate("false");
    unapproved("trust").code(0);
    unapproved("-n 1").code(4);
    scene.validate("test -e agent.toml");
    unapproved("resume -n 1").code(4).stderr_has("validation.command is \"false\"; the file says");
    unapproved("trust").code(0);
    unapproved("resume -n 1").code(0).stderr_has("was approved since the session began");
    let kept = fs::read_to_string(scene.path(&format!(".git/ralph/settings/{}.json", scene.session().id())));
    assert!(kept.unwrap().contains("test -e agent.toml"));
}

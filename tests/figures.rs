//! Figures about iterations: cost, local times, what the user's rules captured, and what they come to.

use crate::sandbox::Sandbox;

/// An agent that ticks the first box, and says what it cost where there is a file `price`.
const PRICED: &str = r#"
cat >/dev/null
tick first
cost=
if [ -e price ]; then cost="\"total_cost_usd\":$(cat price),"; rm price; fi
cat <<END
{"type":"system","subtype":"init","model":"opus-x","tools":[]}
{"type":"result","subtype":"success","is_error":false,$cost"result":"Done.","usage":{"input_tokens":100,"output_tokens":20}}
END
"#;

#[test]
fn a_resumed_session_begins_with_what_it_cost() {
    let scene = Sandbox::new();
    scene.tasks("- [ ] T001 One\n- [ ] T002 Two\n").agents_like_claude(&[("fake", PRICED)]);
    scene.write("price", "1.20").commit("Ready");
    scene.ralph("-n 1").code(4);
    let events = scene.ralph("resume --json").code(0).json_lines();
    let started = events.iter().find(|event| event["type"] == "session_started").unwrap();
    assert_eq!((&started["cost_usd"], &started["cost_is_partial"]), (&1.2.into(), &false.into()));
}

#[test]
fn what_agents_cost_is_said_wherever_one_said_it_and_a_part_is_called_one() {
    let scene = Sandbox::new();
    scene.tasks("- [ ] T001 One\n- [ ] T002 Two\n").agents_like_claude(&[("fake", PRICED)]);
    scene.write("price", "1.20").commit("Ready");
    scene.ralph("-n 1").code(4).stdout_has(" · $1.20");
    scene.ralph("status").code(0).stdout_has(" · $1.20\n");
    scene.ralph("show").code(0).stdout_has(", $1.20, ");
    let part = "$1.20 (1 attempt reported no cost)";
    scene
        .ralph("resume")
        .code(0)
        .stdout_has(" · $1.20")
        .stdout_has("\n2 attempts; 1 attempt reported no cost\n");
    scene.ralph("status").code(0).stdout_has("\n  2 attempts; 1 attempt reported no cost\n");
    scene.ralph("log").code(0).stdout_has(&format!(" · 2 attempts · {part} · ")).stdout_has("  $1.20  ");
    scene.ralph("stats").code(0).stdout_has(&format!("cost       {part}\n"));
    scene.ralph("show").code(0).stdout_lacks("$");
    let json = scene.ralph("status --json").code(0).json();
    assert_eq!(
        (&json["session"]["cost_usd"], &json["session"]["cost_is_partial"]),
        (&1.2.into(), &true.into())
    );
    assert_eq!(scene.session().end()["cost_is_partial"], true);
}

#[test]
fn an_agent_that_says_no_cost_has_none() {
    let scene = Sandbox::with_succeeding_agent(1);
    scene.ralph("").code(0).stdout_lacks("$");
    for words in ["log", "status", "stats", "show"] {
        scene.ralph(words).code(0).stdout_lacks("$").stdout_lacks("cost ");
    }
}

#[test]
fn times_are_local_on_screens_and_utc_in_json() {
    let scene = Sandbox::with_succeeding_agent(1);
    scene.ralph("").code(0);
    let ended = scene.session().iteration(1)["ended_at"].as_str().unwrap().to_owned();
    assert!(ended.ends_with('Z'), "{ended}");
    let (_, time) = ended.trim_end_matches('Z').split_once('T').unwrap();
    let (hour, rest) = time.split_once(':').unwrap();
    let minute = &rest[..2];
    scene.ralph("log").code(0).stdout_has(&format!(" {hour}:")).stdout_has(&format!("  {hour}:{minute}\n"));
    let later = format!("{:02}:{rest}", hour.parse::<u32>().unwrap() + 3);
    let there = |words: &str| scene.call(words).env("TZ", "XYZ-3").run().code(0);
    there("log").stdout_has(&format!("  {}\n", &later[..5]));
    there("show").stdout_has(&format!(" – {}, ", &later[..5]));
    there("log --json").stdout_has(&ended);
}

#[test]
fn show_prints_the_last_words_of_the_agent_and_what_it_learned() {
    let scene = Sandbox::new();
    let words = "## Result\\n\\nIt **works**, see `src/a.rs`.\\n\\nLearnings:\\n- ports are odd\\n\\nDecisions:\\n- keep it small\\n\\nTried:\\n- a loop\\n";
    scene
        .agent_script(&format!("[[turn]]\ndo = [{{ say = \"{words}\" }}, {{ tick = \"current\" }}]\n"))
        .commit("Ready");
    scene.ralph("").code(0);
    let plain = scene.ralph("show").code(0);
    plain.stdout_has(
        "the agent said last\n  Result\n\n  It works, see `src/a.rs`.\n\n  Learnings:\n\n  • ports are odd\n",
    );
    let plain = scene.ralph("show").code(0).text();
    for item in ["• ports are odd", "• keep it small", "• a loop"] {
        assert_eq!(plain.matches(item).count(), 1, "{item}: {plain}");
    }
    assert!(!plain.contains("**") && !plain.contains("##"), "{plain}");
    let coloured = scene.ralph("show --color always").code(0).text();
    assert!(
        coloured.contains("\u{1b}[1mResult\u{1b}[0m") && coloured.contains("\u{1b}[36msrc/a.rs"),
        "{coloured}"
    );
}

#[test]
fn failures_of_the_agents_own_repeat_as_those_of_validations_do() {
    let scene = Sandbox::new();
    scene.tasks("- [ ] T001 One\n- [ ] T002 Two\n");
    scene.agent_sh(
        "echo \"cannot reach the host after $RALPH_ITERATION ms, see /tmp/$RALPH_ITERATION.log\" >&2\nexit 3\n",
    );
    scene.config("skip-after = 2").commit("Ready");
    scene.ralph("").code(5);
    scene.ralph("log").code(0).stdout_has("  same as 1  ");
    let stats = scene.ralph("stats --json").code(0).json();
    let cause = &stats["causes"][0];
    assert_eq!((&cause["times"], &cause["fingerprint"]), (&4.into(), &serde_json::Value::Null));
    assert!(cause["cause"].as_str().unwrap().contains("cannot reach the host"), "{cause}");
    assert_eq!(stats["repeated"], 3);
    let known = stats["state"]["known_failures"].as_array().unwrap();
    assert_eq!((known.len(), &known[0]["times"], &known[0]["is_open"]), (1, &4.into(), &true.into()));
    scene.ralph("show 5").code(0).stdout_has("  before      #4 failed in the same way\n");
    let clusters = &scene.ralph("report --json").code(0).json()["clusters"];
    assert_eq!(
        (&clusters[0]["times"], &clusters[0]["tasks"]),
        (&4.into(), &serde_json::json!(["T001", "T002"]))
    );
}

#[test]
fn what_rules_captured_is_shown_and_summed_up() {
    let scene = Sandbox::new();
    scene.tasks("- [ ] T001 One\n- [ ] T002 Two\n");
    scene.agent_sh("cat >/dev/null; echo looked; [ $RALPH_ITERATION = 1 ] || tick first\n");
    scene.validate("echo \"took $((RALPH_ITERATION * 4)) ms in mode $RALPH_TASK\"");
    scene.config("capture.ms = 'took (\\d+) ms'\ncapture.mode = 'mode (\\w+)'").commit("Ready");
    scene.ralph("").code(0);
    scene.ralph("show 2").code(0).stdout_has("captured    mode = T001\n").stdout_has("captured    ms = 8\n");
    let row = |name: &str, values: &str| format!("  {name:24}           3  {values}\n");
    let stats = scene.ralph("stats").code(0).stdout_has("captured in the latest session\n");
    stats.stdout_has(&row("mode", "T001, T002, -, -")).stdout_has(&row("ms", "4, 12, 4, 12"));
    let json = scene.ralph("stats --json").code(0).json();
    assert_eq!((&json["captured"][1]["name"], &json["captured"][1]["max"]), (&"ms".into(), &12.0.into()));
    let runs = |kind: &str| json["later_attempts"][kind]["runs"].as_u64().unwrap();
    assert_eq!(runs("with_history") + runs("without"), 1, "{json}");
}

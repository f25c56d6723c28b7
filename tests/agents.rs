//! Every known agent, played by a program of its name that prints a transcript: a whole loop with each.

use std::path::Path;

use serde_json::{Value, json};

use crate::sandbox::Sandbox;

/// A known agent, by what `doctor` lists.
struct Agent {
    name: String,
    /// How it gets its prompt.
    prompt: String,
    /// The folder of its transcripts.
    folder: String,
}

fn listed(scene: &Sandbox) -> Value {
    let findings = scene.ralph("doctor --json").json();
    let mut about = findings.as_array().into_iter().flatten();
    about
        .find(|finding| finding["agents"].is_array())
        .map(|finding| finding["agents"].clone())
        .unwrap_or_default()
}

fn agents() -> Vec<Agent> {
    let listed = listed(&Sandbox::new());
    let text = |agent: &Value, key: &str| agent[key].as_str().expect("a text").to_owned();
    let agent = |agent: &Value| {
        let name = text(agent, "name");
        // A fork prints what the original prints.
        let folder = if name == "kilo" { "opencode".to_owned() } else { name.clone() };
        Agent { name, folder, prompt: text(agent, "prompt") }
    };
    let agents: Vec<Agent> = listed.as_array().expect("a list").iter().map(agent).collect();
    assert!(agents.len() >= 11);
    agents
}

/// A project with a program called `name` that keeps its arguments and its stdin, ticks, and prints a transcript.
fn scene(name: &str, folder: &str, case: &str) -> Sandbox {
    let scene = Sandbox::new();
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/transcripts").join(folder);
    let extension = if folder == "aider" { "txt" } else { "jsonl" };
    let transcript = root.join(format!("{case}.{extension}"));
    scene.program(
        name,
        &format!(
            r#"[ "$1" = --version ] && {{ echo "{name} version 4.5.6"; exit 0; }}
cat > "$HOME/stdin"
env > "$HOME/environment"
usage=
for word in "$@"; do
    printf '%s\n' "$word" >> "$HOME/arguments"
    [ "$usage" = next ] && cp '{root}/{case}.usage.json' "$word" 2>/dev/null
    usage=; [ "$word" = --usage-output-file ] && usage=next
    case "$word" in /*) [ -f "$word" ] && cat "$word" >> "$HOME/arguments" ;; esac
done
[ '{case}' = happy ] && tick T001
cat '{transcript}'"#,
            root = root.display(),
            transcript = transcript.display(),
        ),
    );
    scene
}

#[test]
fn a_loop_with_each_of_them() {
    for Agent { name, prompt, folder } in agents() {
        let scene = scene(&name, &folder, "happy");
        let words = format!("--agent {name} --model some-model");
        scene
            .call(words.as_str())
            .env("IS_SANDBOX", "1")
            .env("CLAUDECODE", "1")
            .env("GEMINI_CLI", "1")
            .run()
            .code(0);
        let iteration = scene.session().iteration(1);
        assert_eq!(iteration["outcome"], "success", "{name}");
        assert_eq!(iteration["agent"], name);
        assert_eq!(iteration["agent_version"], "4.5.6", "{name}");
        assert_eq!(iteration["claims"]["promise"], true, "{name}");
        assert_eq!(iteration["tokens"]["output"], 90, "{name}");
        if name != "aider" {
            assert_eq!(iteration["tokens"]["input"], 700, "{name}");
            assert_eq!(iteration["tool_calls"].as_array().unwrap().len(), 2, "{name}");
        }
        let kept = |file: &str| std::fs::read_to_string(scene.outside("home").join(file)).unwrap();
        let (arguments, stdin) = (kept("arguments"), kept("stdin"));
        let came_by = if prompt == "stdin" { &stdin } else { &arguments };
        assert!(came_by.contains("T001"), "{name} got no prompt: {came_by}");
        assert!(arguments.lines().any(|word| word == "some-model"), "{name}: {arguments}");
        let environment = kept("environment");
        for leaking in ["CLAUDECODE=", "GEMINI_CLI="] {
            assert!(!environment.lines().any(|line| line.starts_with(leaking)), "{name} got {leaking}");
        }
    }
}

#[test]
fn a_bad_key_ends_the_session_even_where_the_program_exits_with_0() {
    for Agent { name, folder, .. } in agents() {
        let scene = scene(&name, &folder, "auth");
        let words = format!("--agent {name}");
        scene.call(words.as_str()).env("IS_SANDBOX", "1").run().code(6);
        let session = scene.session();
        assert_eq!(session.iteration(1)["failure_class"], "auth", "{name}");
        assert_eq!(session.end()["stop_reason"], "agent_unusable", "{name}");
    }
}

#[test]
fn the_agent_of_the_project_is_the_one_that_spec_kit_names() {
    let scene = scene("codex", "codex", "happy");
    scene.program("pi", "echo 1.2.3");
    scene.call("").run().code(3).stderr_has("several agents are installed: codex, pi");
    scene.write(".specify/integration.json", r#"{"integration": "codex", "default_integration": "codex"}"#);
    scene.call("").run().code(0);
    assert_eq!(scene.session().iteration(1)["agent"], "codex");
}

#[test]
fn what_is_known_of_each_is_listed() {
    let scene = scene("codex", "codex", "happy");
    scene.program("qwen", "exit 1");
    let listed = listed(&scene);
    let of = |name: &str| {
        let all = listed.as_array().unwrap();
        all.iter().find(|agent| agent["name"] == name).unwrap().clone()
    };
    assert_eq!(of("codex")["is_installed"], true);
    assert_eq!(of("codex")["version"], "4.5.6");
    assert_eq!(of("codex")["path"], json!(scene.outside("bin").join("codex")));
    assert_eq!(of("codex")["missing"], json!(null));
    assert_eq!(of("qwen")["is_installed"], false);
    assert!(of("qwen")["missing"].as_str().unwrap().starts_with("`qwen --version` fails"));
    assert_eq!(of("cline")["prompt"], "arg");
    assert_eq!(of("aider")["prompt"], "file");
    scene
        .ralph("doctor")
        .stdout_has("\n✔ agents codex 4.5.6\n")
        .stdout_has("codex     4.5.6        ")
        .stdout_has("`qwen --version` fails");
    scene.ralph("agents --json").code(2).stderr_has("`agents` is gone").stderr_has("doctor --json");
}

#[test]
fn read_only_is_refused_before_anything_is_begun() {
    let scene = scene("gemini", "gemini", "happy");
    let run = scene.ralph("--agent gemini --set permissions=read-only").code(3);
    run.stderr_has("agent `gemini` has no known option for permissions = \"read-only\"")
        .stderr_has("\nhint: ");
    assert!(scene.sessions().is_empty());
}

#[test]
fn a_damaged_stream_and_an_agent_that_stays_cost_no_verdict() {
    let scene = Sandbox::new();
    let script = r#"tick
echo '{"type":"assistant","message":{"id":"m","content":[{"type":"tool_use","id":"c","name":"Read","input":{"file_path":"a"}}]}}'
echo '{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"c","content":"cu'
printf '{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"c","content":"'
head -c 17000000 /dev/zero | tr '\0' A
printf '"}]}}\n'
printf '%s\n' '{"type":"result","result":"half \ud83d"}'
sleep 1000 & sleep 1000
"#;
    scene.agents_like_claude(&[("fake", script)]);
    let complaint = "1 of 4 lines of the agent's output could not be read, 1 was longer than 16 MiB";
    let run = scene.ralph("--idle-timeout 1s").code(0);
    let said = run.text();
    assert_eq!(said.matches(complaint).count(), 1, "{said}");
    let iteration = scene.session().iteration(1);
    assert_eq!((&iteration["outcome"], &iteration["exit_reason"]), (&json!("success"), &json!("lingered")));
    assert_eq!(iteration["stream"], json!({"lines": 4, "unreadable": 1, "too_long": 1}));
    let shown = scene.ralph("show 1").code(0);
    shown.stdout_has(complaint).stdout_has("did not exit after its result");
    scene.ralph("report --output -").code(0).stdout_has("output could not be read, 1 was longer than 16 MiB");
}

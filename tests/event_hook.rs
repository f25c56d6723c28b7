//! `hooks.on-event`: what happens at night reaches a command of the user's, and costs the loop nothing.

#![expect(clippy::unwrap_used, reason = "what cannot be set up or read has failed the scene")]

use std::fs;
use std::io::{Read as _, Write as _};
use std::net::TcpListener;

use serde_json::Value;

use crate::sandbox::{Run, Sandbox};

/// Hears all, beside the repository.
const HEARS: &str = "hooks.on-event = 'echo $RALPH_EVENT >> ../kinds; cat >> ../events'";

/// What it hears unless that is set.
const WANTED: &[&str] =
    &["needs_you", "waiting", "task_given_up", "budget_80", "flagged", "target_red", "session_ended"];

const TICK: &str = "[[turn]]\ndo = [{ tick = \"current\" }]\n";

fn outside(scene: &Sandbox, path: &str) -> String {
    fs::read_to_string(scene.outside(path)).unwrap()
}

/// Checks that the command got the lines of `run --json` that it is to get, and returns them.
fn heard(scene: &Sandbox, run: &Run) -> Vec<Value> {
    let lines: Vec<Value> =
        outside(scene, "events").lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let mut expected = run.json_lines();
    expected.retain(|event| WANTED.iter().any(|kind| event["type"] == **kind));
    assert_eq!(lines, expected);
    let kinds = lines.iter().map(|line| format!("{}\n", line["type"].as_str().unwrap()));
    assert_eq!(kinds.collect::<String>(), outside(scene, "kinds"));
    lines
}

/// Returns `kind` of each, with the values of these keys.
fn words(events: &[Value], keys: &[&str]) -> Vec<String> {
    let value = |event: &Value, key: &&str| match &event[*key] {
        Value::Null => None,
        Value::String(text) => Some(text.clone()),
        other => Some(other.to_string()),
    };
    let line = |event: &Value| {
        ["type"].iter().chain(keys).filter_map(|key| value(event, key)).collect::<Vec<_>>().join(" ")
    };
    events.iter().map(line).collect()
}

#[test]
fn questions_tasks_that_are_given_up_and_budgets_are_heard_when_they_happen() {
    let scene = Sandbox::new();
    let script = "[[turn]]\ntask = \"T001\"\ndo = [{ say = \"Question: Semicolons or commas?\" }]\n\
        [[turn]]\ntask = \"T002\"\ndo = [{ say = \"No.\" }]\nexit = 1\n\
        [[turn]]\ndo = [{ write = { path = \"work\", text = \"{task}\" } }, { tick = \"current\" }]\n";
    scene.tasks("- [ ] T001 One\n- [ ] T002 Two\n- [ ] T003 Three\n- [ ] T004 Four\n- [ ] T005 Five");
    scene.agent_script(script).config(HEARS).config("skip-after = 1");
    let run = scene.ralph("--json -n 5").code(4);
    let mut events = heard(&scene, &run);
    events.retain(|event| event["type"] != "flagged");
    let keys = ["why", "task", "iteration", "used", "most", "stop_reason"];
    let expected =
        ["needs_you asks T001 1", "task_given_up T002 3", "budget_80 4.0 5.0", "session_ended limit_reached"];
    assert_eq!(words(&events, &keys), expected);
    assert_eq!(
        (&events[0]["cause"], &events[2]["limit"]),
        (&"Semicolons or commas?".into(), &"iterations".into())
    );
}

#[test]
fn limits_and_logins_of_the_provider_are_heard() {
    let scene = Sandbox::new();
    let fails = |fields: &str| {
        format!(
            "echo '{{\"type\":\"result\",\"is_error\":true,\"result\":\"It failed: token ghp_1a8Kd03Lx9Qw7Zr5Tn2Vb6Mc1Yf4Hg0Js3P1\",{fields}}}'\nexit 1\n"
        )
    };
    let script = format!(
        "case $RALPH_ITERATION in 1) {};; 2) {};; esac\necho 1 > work\ntick\necho '{{\"type\":\"result\",\"is_error\":false,\"result\":\"done\"}}'\n",
        fails("\"api_error_status\":529").replace('\n', ";"),
        fails("\"api_error_status\":401").replace('\n', ";"),
    )
    .replace(";;;", ";;");
    scene.agents_like_claude(&[("fake", &script)]).config(HEARS);
    let run = scene.ralph("--json").code(0);
    let events = heard(&scene, &run);
    let found = words(&events, &["failure_class", "why", "stop_reason"]);
    let expected = ["waiting overloaded", "needs_you agent", "waiting auth", "session_ended completed"];
    assert_eq!(found, expected);
    // As in the stream, and as the record has it.
    assert!(
        events[1]["cause"].as_str().unwrap().contains("fake cannot be used (auth: It failed"),
        "{events:?}"
    );
    assert!(!outside(&scene, "events").contains("ghp_"));
}

#[test]
fn a_flagged_task_is_heard_and_so_is_what_else_is_asked_for() {
    let scene = Sandbox::new();
    let agent = "mkdir -p .husky\necho true > .husky/post-merge\ntick\n";
    scene.agent_sh(agent).config(HEARS).commit("Ready");
    let run = scene.ralph("--json").code(0);
    let events = heard(&scene, &run);
    assert_eq!(words(&events, &["task"]), ["flagged T001", "session_ended"]);
    assert_eq!(events[0]["flags"], serde_json::json!(["runs-by-itself"]));
    for name in ["events", "kinds"] {
        fs::remove_file(scene.outside(name)).unwrap();
    }
    scene.tasks("- [ ] T002 Two").config("hooks.events = ['iteration_started', 'iteration_recorded']");
    scene.ralph("").code(0);
    assert_eq!(outside(&scene, "kinds"), "iteration_started\niteration_recorded\n");
    scene.git("config ralph.hooks.events needs-you");
    let refused = scene.ralph("").code(3);
    refused.stderr_has("hooks.events").stderr_has("did you mean `needs_you`?");
    scene.git("config --unset ralph.hooks.events");
}

#[test]
fn a_slow_command_delays_nothing() {
    let scene = Sandbox::new();
    let gate = scene.outside("gate");
    rustix::fs::mknodat(rustix::fs::CWD, &gate, rustix::fs::FileType::Fifo, rustix::fs::Mode::RWXU, 0)
        .unwrap();
    scene.tasks("- [ ] T001 One\n- [ ] T002 Two\n- [ ] T003 Three").agent_script(TICK);
    scene.config("hooks.on-event = 'test -e ../open || read line < ../gate; cat >> ../events'");
    scene.config("hooks.events = 'iteration_recorded'");
    let mut running = scene.spawn("");
    // All is done while the first call waits.
    running.wait_for_text("all 3 tasks done");
    assert!(!scene.outside("events").exists());
    fs::write(scene.outside("open"), "").unwrap();
    fs::OpenOptions::new().write(true).open(&gate).unwrap().write_all(b"go\n").unwrap();
    assert!(!running.wait().code(0).text().contains("on-event"));
    assert_eq!(outside(&scene, "events").lines().count(), 3);
}

#[test]
fn a_command_that_fails_is_said_once_and_changes_nothing() {
    let scene = Sandbox::new();
    scene.tasks("- [ ] T001 One\n- [ ] T002 Two\n- [ ] T003 Three").agent_script(TICK);
    scene.config("hooks.on-event = 'echo gone >&2; exit 7'\nhooks.events = 'iteration_recorded'");
    let run = scene.ralph("").code(0).stdout_has("all 3 tasks done");
    let text = run.text();
    assert_eq!(
        text.matches("hooks.on-event: `echo gone >&2; exit 7` for iteration_recorded: exited 7: gone")
            .count(),
        1,
        "{text}"
    );
}

#[test]
fn a_command_that_was_not_approved_is_listed_and_not_run() {
    let scene = Sandbox::new();
    scene.agent_script(TICK).config("hooks.on-event = 'touch ../owned'");
    let run = scene.call("").env("SPECKIT_RALPH_TRUST", "ask").run().code(3);
    run.stderr_has("that you have not approved").stderr_has("hooks.on-event = \"touch ../owned\"  (");
    assert!(!scene.outside("owned").exists());
    scene.ralph("trust").code(0).stdout_has("hooks.on-event = \"touch ../owned\"");
    scene.call("").env("SPECKIT_RALPH_TRUST", "ask").run().code(0);
    assert!(scene.outside("owned").exists());
}

/// Answers one request, and returns it.
fn receive(listener: &TcpListener) -> String {
    let (mut stream, _) = listener.accept().unwrap();
    let (mut request, mut piece) = (String::new(), [0; 4096]);
    loop {
        let count = stream.read(&mut piece).unwrap();
        request.push_str(&String::from_utf8_lossy(&piece[..count]));
        let Some((head, body)) = request.split_once("\r\n\r\n") else { continue };
        let head = head.to_ascii_lowercase();
        let length =
            head.lines().find_map(|line| line.strip_prefix("content-length: ")?.parse::<usize>().ok());
        if body.len() >= length.unwrap_or_default() {
            break;
        }
    }
    stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok").unwrap();
    request
}

/// Returns the commands of the recipes in the documents.
fn recipes() -> Vec<String> {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/nights.md");
    let page = fs::read_to_string(path).unwrap();
    let lines = page.lines().filter_map(|line| line.strip_prefix("on-event = '''")?.strip_suffix("'''"));
    lines.map(str::to_owned).collect()
}

fn is_installed(scene: &Sandbox, name: &str) -> bool {
    let found = scene.hermetic("sh").args(["-c", &format!("command -v {name}")]).output().unwrap();
    found.status.success()
}

#[test]
fn the_recipes_of_the_documents_reach_their_receivers() {
    let recipes = recipes();
    assert_eq!(recipes.len(), 3, "a webhook, ntfy, notify-send: {recipes:?}");
    for recipe in recipes {
        let scene = Sandbox::new();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = format!("http://{}", listener.local_addr().unwrap());
        // They show themselves in what they send; where one is not installed, its stand-in notes how it was called.
        scene.program("notify-send", "printf '%s\\n' \"$@\" > ../sent");
        let [has_curl, has_jq] = ["curl", "jq"].map(|name| is_installed(&scene, name));
        for (name, _) in [("curl", has_curl), ("jq", has_jq)].into_iter().filter(|(_, is_there)| !is_there) {
            scene.program(name, &format!("printf '%s\\n' {name} \"$@\" >> ../sent; tee -a ../sent"));
        }
        let sends = has_curl && recipe.contains("curl ");
        let receiver = std::thread::spawn(move || if sends { receive(&listener) } else { String::new() });
        let script = "[[turn]]\ndo = [{ say = \"Question: Semi \\\"colons\\\" or commas?\" }]\n";
        let recipe = recipe.replace("https://ntfy.sh", &address);
        scene
            .agent_script(script)
            .config(&format!("hooks.on-event = '''{recipe}'''\nhooks.events = ['needs_you']"));
        let run = scene.call("-n 1").env("SLACK_WEBHOOK_URL", address).run().code(4);
        assert!(!run.text().contains("on-event"), "{run}");
        let request = receiver.join().unwrap();
        let sent = fs::read_to_string(scene.outside("sent")).unwrap_or_default();
        assert!((request.clone() + &sent).contains("needs_you"), "{recipe}: {request}{sent}");
        if sends && has_jq {
            let body = request.split_once("\r\n\r\n").unwrap().1;
            let json: Value = serde_json::from_str(body).unwrap();
            let text = json["text"].as_str().or(json["cause"].as_str()).unwrap();
            assert!(text.contains("Semi \"colons\" or commas?"), "{recipe}: {text}");
        }
    }
}

//! Secrets in every channel and in every disguise.

use serde_json::json;

use crate::sandbox::Sandbox;

/// Put together here, so that no file of ours holds anything that looks like a secret.
fn key(front: &str) -> String {
    format!("{front}{}", "a8Kd03Lx9Qw7Zr5Tn2Vb6Mc1Yf4Hg0Js3P1e")
}

fn holds(bytes: &[u8], text: &str) -> bool {
    bytes.windows(text.len()).any(|window| window == text.as_bytes())
}

/// An agent like Claude Code that says `text`, and a validation that fails.
fn speaking(text: &str) -> Sandbox {
    let scene = Sandbox::new();
    scene.config("snapshots = false");
    let stream = json!({"type": "assistant", "message": {"content": [
        {"type": "text", "text": text},
        {"type": "tool_use", "id": "1", "name": "Bash", "input": {"command": text}},
    ]}});
    scene.agents_like_claude(&[("claude", &format!("cat <<'END'\n{stream}\nEND\n"))]);
    scene
}

#[test]
fn what_a_loop_prints_holds_no_secret_of_the_agent_or_of_the_settings() {
    let said = key("ghp_1");
    let checked = key("ghp_2");
    let scene = speaking(&format!("I log in with {said}"));
    let validation = format!("API_TOKEN={checked} false");
    for flag in ["--verbose", "--json"] {
        let run = scene
            .ralph(["-n", "1", "--validate", &validation, flag])
            .code(4)
            .stdout_lacks(&said)
            .stdout_lacks(&checked);
        assert!(!run.talk().contains(&said) && !run.talk().contains(&checked), "{}", run.talk());
        if flag == "--json" {
            assert!(run.text().contains("I log in with [redacted:github-token]"), "{}", run.text());
        }
    }
}

#[test]
fn a_user_who_wants_to_see_everything_does() {
    let said = key("ghp_3");
    let scene = speaking(&format!("I log in with {said}"));
    scene.ralph("-n 1 --json").code(4).stdout_lacks(&said);
    scene.config("redaction.terminal = false");
    scene.ralph("-n 1 --json").code(4).stdout_has(&said);
    assert!(
        !holds(&scene.git_bytes("cat-file --batch --batch-all-objects"), &said),
        "the record never has it"
    );
}

#[test]
fn a_folder_whose_name_is_a_secret_becomes_no_ref() {
    let scene = Sandbox::new();
    let secret = key("ghp_4");
    scene.agent_sh("true");
    scene.write(&format!("specs/{secret}/tasks.md"), "- [ ] T001 One\n");
    let run = scene.ralph(["--feature", &secret, "-n", "1"]).code(3).stdout_lacks(&secret);
    let run = run.stderr_has("[redacted:github-token]").stderr_has("hint: rename the folder");
    assert!(!run.talk().contains(&secret), "{}", run.talk());
    assert!(!scene.git("for-each-ref").contains(&secret));
}

#[test]
fn the_commit_of_a_task_holds_no_secret_of_the_task() {
    let scene = Sandbox::new();
    let secret = key("ghp_5");
    scene.tasks(&format!("- [ ] T001 Log in with {secret}")).config("commit = 'task'").agent_uses_git();
    scene.agent_sh("echo x > made.txt; tick first").commit("Ready");
    scene.ralph("").code(0);
    let message = scene.git("log -1 --format=%B");
    assert!(
        message.contains("T001 Log in with [redacted:github-token]") && !message.contains(&secret),
        "{message}"
    );
}

#[test]
fn what_comes_in_pieces_or_without_a_session_is_shown_without_secrets() {
    let scene = Sandbox::new();
    let [said, planned] = ["ghp_6", "ghp_7"].map(key);
    scene.tasks(&format!("- [ ] T001 Log in with {planned}")).config("snapshots = false");
    let (few, rest) = said.split_at(12);
    let (more, last) = rest.split_at(9);
    let pieces = ["Learnings:\n- I log in with ", few, more, last, " every time\n"];
    let event = |piece| json!({"type": "message", "role": "assistant", "content": piece, "delta": true});
    let stream: String = pieces.map(|piece| format!("{}\n", event(piece))).concat();
    let result = json!({"type": "result", "status": "success", "stats": {}});
    scene.write("stream", format!("{stream}{result}\n"));
    scene.agent("[agents.fake]\ncommand = [\"cat\", \"stream\"]\nparser = \"gemini\"\n");
    for words in ["run --dry-run", "run --dry-run --json"] {
        let shown = "Log in with [redacted:github-token]";
        scene.ralph(words).code(0).stdout_has(shown).stdout_lacks(&planned);
    }
    for words in
        ["-n 1 --verbose", "-n 1 --json", "report --output -", "report --json", "log --json", "progress"]
    {
        let run = scene.ralph(words);
        for piece in [few, more, last] {
            assert!(!run.text().contains(piece), "{piece} of {said}: {run}");
        }
    }
    assert!(scene.progress().contains("- I log in with [redacted:github-token] every time\n"));
    scene.config("redaction.terminal = false");
    scene.ralph("run --dry-run").code(0).stdout_has(&planned);
}

#[test]
fn a_file_with_a_secret_in_its_name_is_committed_when_the_session_is_resumed() {
    let scene = Sandbox::new();
    let secret = key("ghp_8");
    scene.config("commit = 'task'").agent_uses_git().validate("test -e ../second || ! touch ../second");
    let script = format!("echo x > file-{secret}.txt; echo x > other.txt; tick first");
    scene.agent_sh(&script).commit("Ready");
    scene.ralph("-n 1").code(4);
    scene.ralph("resume").code(0).stdout_lacks(&secret);
    let tree = scene.git("ls-tree -r --name-only HEAD");
    assert!(tree.contains(&secret) && tree.contains("other.txt"), "{tree}");
    assert!(!scene.git("log --format=%B").contains(&secret));
}

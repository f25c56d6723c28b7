//! Secrets do not reach the store, wherever they come from, and what is none stays as it is.

use serde_json::json;

use crate::sandbox::Sandbox;

/// Put together here, so that no file of ours holds anything that looks like a secret.
fn secret(front: &str) -> String {
    format!("{front}{}", "a8Kd03Lx9Qw7Zr5Tn2Vb6Mc1Yf4Hg0Js3P1e")
}

/// Everything in the object store, one object after the other.
fn every_object(scene: &Sandbox) -> Vec<u8> {
    scene.git_bytes("cat-file --batch --batch-all-objects")
}

fn holds(bytes: &[u8], text: &str) -> bool {
    bytes.windows(text.len()).any(|window| window == text.as_bytes())
}

#[test]
fn secrets_are_in_no_object_of_ours() {
    let scene = Sandbox::new();
    let [in_task, said, complained, printed, noted] =
        ["ghp_1", "ghp_2", "ghp_3", "ghp_4", "ghp_5"].map(secret);
    // The list of tasks is the user's own file and stands in snapshots, as code does: those are not taken here.
    scene.config("snapshots = false");
    scene.tasks(&format!("- [ ] T001 Use {in_task} to log in"));
    // What is committed was there before us: the scripts come from outside.
    let agent = scene.outside("agent.sh");
    std::fs::write(
        &agent,
        format!("echo {said}; echo {complained} >&2; echo {noted} >> \"$RALPH_PROGRESS\"; echo 'Learnings:'; echo '- {said}'"),
    )
    .unwrap();
    std::fs::write(scene.outside("check.sh"), format!("echo {printed}; echo {printed} >&2; exit 1")).unwrap();
    scene.agent(&format!("[agents.fake]\ncommand = [\"sh\", {agent:?}]\n")).validate("sh ../check.sh");
    let head = scene.git("rev-parse HEAD");
    scene.ralph("-n 2").code(4);
    let objects = every_object(&scene);
    for secret in [&in_task, &said, &complained, &printed, &noted] {
        assert!(!holds(&objects, secret), "{secret}");
    }
    let session = scene.session();
    assert!(session.text(1, "prompt.md").contains("Use [redacted:"));
    assert!(session.text(1, "agent/stdout").starts_with("[redacted:"));
    assert!(holds(&objects, &head), "ids of commits survive");
    let redactions = session.iteration(1)["redactions"].as_array().unwrap().clone();
    for file in
        ["prompt.md", "agent/stdout", "agent/stderr", "validation/stdout", "validation/stderr", "tasks.md"]
    {
        let found = redactions.iter().find(|found| found["file"] == file);
        assert!(
            found.is_some_and(|found| found["count"].as_u64() > Some(0) && found["rule"].is_string()),
            "{file}: {redactions:?}"
        );
    }
    let manifest: serde_json::Value = serde_json::from_slice(&session.file(1, "manifest.json")).unwrap();
    assert_eq!(manifest["redactions"], json!(redactions));
    assert!(scene.task_list().contains(&in_task), "the user's files are the user's");
}

#[test]
fn what_a_session_says_of_itself_is_redacted_too() {
    let scene = Sandbox::new();
    let hidden = secret("ghp_6");
    scene.agent_script("[[turn]]\n").config("snapshots = false");
    scene.ralph(["-n", "1", "--validate", &format!("API_TOKEN={hidden} false")]).code(4);
    assert!(!holds(&every_object(&scene), &hidden));
    scene.ralph("show").code(0).stdout_lacks(&hidden);
}

#[test]
fn rules_of_the_user_are_heeded_and_exceptions_as_well() {
    let scene = Sandbox::new();
    let allowed = secret("ghp_7");
    scene.config(&format!(
        "snapshots = false\nredaction.rules = [\"hush-[0-9]+\"]\nredaction.allow = [\"{allowed}\"]"
    ));
    let number = 4711;
    scene.agent(&format!(
        "[agents.fake]\ncommand = [\"sh\", \"-c\", \"echo hush-{number}; echo {allowed}\"]\n"
    ));
    scene.ralph("-n 1").code(4);
    let said = scene.session().text(1, "agent/stdout");
    assert_eq!(said, format!("[redacted:custom]\n{allowed}\n"));
}

#[test]
fn what_is_no_secret_comes_through_untouched() {
    let scene = Sandbox::new();
    let words = "commit 3f9a0c1d3f9a0c1d3f9a0c1d3f9a0c1d3f9a0c1d\nuuid 123e4567-e89b-12d3-a456-426614174000\n\
                 sha256 e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855\nhttps://example.org/a?b=c\n\
                 \"resolved\": \"https://registry.example.com/js-tokens/-/js-tokens-4.0.0.tgz\",\n\
                 \"integrity\": \"sha512-RdJUflcE3cUzKiMqQgsCu06FPu9UdIJO0beYbPhHN4k6apgJtifcoCtT9bcxOpYBtpD2kCM6Sbzg4CausW/PKQ==\"\n\
                 checksum = \"8b5288124840bee7b386bc413c487869b360b2b4ec421ea56425128692f2a82c\"\n\
                 github.com/pkg/errors v0.9.1 h1:FEBLx1zS214owpjy7qsBeixbURkuhQAwrK5UwLGTwt4=\n\
                 data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAUAAAAFCAYAAACNbyblAAAAHElEQVQI12P4//8/w38GIAXDIBKE0DHxgljNBAAO9TXL0Y4OHwAAAABJRU5ErkJggg==\n\
                 expected token `}`, found `;`\nassert_eq!(login(\"user\", \"pw\"), Err(Wrong::Password))\n";
    scene.write("words.txt", words).agent_sh("cat words.txt");
    scene.ralph("-n 1").code(4);
    assert_eq!(scene.session().text(1, "agent/stdout"), words);
    assert_eq!(scene.session().iteration(1)["redactions"], json!([]));
}

#[test]
fn a_journal_with_a_secret_in_it_still_equals_the_record() {
    let scene = Sandbox::new();
    let hidden = secret("ghp_8");
    scene.tasks("- [ ] T001 One\n- [ ] T002 Two").config("snapshots = false");
    scene.agent_sh("tick first");
    scene.write("specs/001-login/progress.txt", format!("My key is {hidden}.\n"));
    scene.ralph("").code(0).stdout_lacks("past entr");
    assert!(
        scene.progress().starts_with(&format!("My key is {hidden}.\n")),
        "the user's words stay in the file"
    );
    assert!(!holds(&every_object(&scene), &hidden));
    scene.ralph("rebuild --check").code(0).stdout_has("matches the record");
}

/// An agent that prints these events in the form of Claude's.
fn reads(scene: &Sandbox, calls: &[(&str, &str)]) {
    let mut stream = String::new();
    for (number, (command, result)) in calls.iter().enumerate() {
        let call = json!({"type": "tool_use", "id": number.to_string(), "name": "Bash", "input": {"command": command}});
        let answer = json!({"type": "tool_result", "tool_use_id": number.to_string(), "content": result, "is_error": true});
        stream += &format!("{}\n", json!({"type": "assistant", "message": {"content": [call]}}));
        stream += &format!("{}\n", json!({"type": "user", "message": {"content": [answer]}}));
    }
    stream += &format!("{}\n", json!({"type": "result", "is_error": false, "result": "done"}));
    std::fs::write(scene.outside("stream"), stream).expect("the folder is there");
    let script = "tick\ncat ../stream\n";
    scene.agents_like_claude(&[("fake", script)]);
}

fn line_of_key(front: &str) -> String {
    secret(front).repeat(2)[..64].to_owned()
}

#[test]
fn what_is_shortened_has_no_secrets_before() {
    let scene = Sandbox::new();
    scene.tasks("- [ ] T001 One\n");
    let (lines, value) = ([line_of_key("A"), line_of_key("B"), line_of_key("C")], secret("Q"));
    let key =
        format!("-----BEGIN RSA {0}-----\n{1}\n-----END RSA {0}-----\n", "PRIVATE KEY", lines.join("\n"));
    let numbered =
        key.lines().enumerate().map(|(at, line)| format!("{at:6}\u{2192}{line}\n")).collect::<String>();
    reads(
        &scene,
        &[
            ("cat id_rsa", &key),
            ("cat -n id_rsa", &numbered),
            ("cat s.yaml", &format!("api_key: >-\n  {value}\n")),
            ("cat R.md", &format!("| Key | Value |\n|---|---|\n| API_TOKEN | {value} |\n")),
        ],
    );
    let run = scene.ralph("--json -n 1");
    let shown = run.text() + &scene.session().iteration(1).to_string();
    for secret in lines.iter().map(|line| &line[..20]).chain([value.as_str()]) {
        assert!(!shown.contains(secret), "{shown}");
        assert!(!holds(&every_object(&scene), secret));
    }
    assert!(shown.contains("[redacted:private-key]"));
}

#[test]
fn a_key_that_an_agent_prints_line_by_line_is_not_shown() {
    let scene = Sandbox::new();
    scene.tasks("- [ ] T001 One\n");
    let line = line_of_key("A");
    let key = format!("------BEGIN RSA {0}-----\n-{line}\n-{line}\n------END RSA {0}-----\n", "PRIVATE KEY");
    std::fs::write(scene.outside("diff"), format!("--- a/id_rsa\n{key} end of it\n")).unwrap();
    scene.agent_sh("cat ../diff");
    let run = scene.ralph("--json -n 1");
    run.stdout_lacks(&line).stdout_has("end of it");
    assert!(!holds(&every_object(&scene), &line));
}

use camino::Utf8PathBuf;
use redact_stream::Redactor;

use super::*;
use ralph_core::record::{Exit, ExitReason, FailureClass, Parser, SessionId, Timestamp};
use ralph_os::clock::Clock;
use ralph_os::process::{Limits, Marker, is_alone};

struct TestDir {
    folder: tempfile::TempDir,
    marker: Marker,
}

impl TestDir {
    fn new(salt: u32) -> Self {
        let session =
            SessionId::new(Timestamp::from_seconds(i64::from(std::process::id())), 2_000_000 + salt);
        Self { folder: tempfile::tempdir().unwrap(), marker: Marker::new(&session) }
    }

    fn path(&self, name: &str) -> Utf8PathBuf {
        Utf8Path::from_path(self.folder.path()).unwrap().join(name)
    }

    fn run(&self, settings: &AgentSettings, prompt: &str) -> (AgentRun, Vec<AgentEvent>) {
        std::fs::write(self.path("prompt.md"), prompt).unwrap();
        let agent = Command::new(settings.command.as_deref().unwrap(), settings).unwrap();
        let turn = AgentInput {
            prompt: &self.path("prompt.md"),
            stdout: &self.path("stdout"),
            stderr: &self.path("stderr"),
            directory: &self.path(""),
            environment: &[("RALPH_TASK".to_owned(), "T001".to_owned())],
            limits: Limits { wall: Duration::from_mins(1), idle: None, first_output: None, output: u64::MAX },
            marker: &self.marker,
            clock: &Clock::new(Some("2026-01-31T12:00:00Z")).unwrap(),
            redactor: &Redactor::default(),
            sandbox: None,
        };
        let mut said = Vec::new();
        let run = agent.run(&turn, &Interrupt::none(), &mut |event| said.push(event)).unwrap();
        (run, said)
    }
}

fn words(words: &[&str]) -> AgentSettings {
    let command = words.iter().map(|word| (*word).to_owned()).collect();
    AgentSettings { command: Some(command), ..AgentSettings::named("fake") }
}

#[test]
fn a_text_agent_gets_its_prompt_and_its_output_is_the_message() {
    let dir = TestDir::new(1);
    let settings = AgentSettings {
        env: vec![("EXTRA".to_owned(), "more".to_owned())],
        ..AgentSettings::shell("cat; echo \"$RALPH_TASK $EXTRA\"; echo oops >&2")
    };
    let (run, said) = dir.run(&settings, "do it\n");
    assert!(run.succeeded);
    assert_eq!(&*run.final_text, "do it\nT001 more\n");
    assert_eq!((run.failure_class, run.error, run.duration_ms), (None, None, 1000));
    let said: Vec<_> = said
        .into_iter()
        .map(|event| if let AgentEvent::Text { text } = event { text } else { format!("{event:?}") })
        .collect();
    assert_eq!(said, ["do it", "T001 more"]);
}

#[test]
fn a_failed_text_agent_has_an_error_but_no_class() {
    let (run, _) = TestDir::new(2).run(&AgentSettings::shell("echo '401 overloaded' >&2; exit 3"), "");
    assert!(!run.succeeded);
    assert_eq!(run.exit, Exit { code: 3, reason: None });
    assert_eq!((run.failure_class, run.error.as_deref()), (None, Some("401 overloaded")));
}

#[test]
fn an_agent_that_cannot_be_started_is_not_installed() {
    let (run, _) = TestDir::new(3).run(&words(&["no-such-agent"]), "");
    assert_eq!(run.exit, Exit { code: -1, reason: Some(ExitReason::StartFailed) });
    assert_eq!(run.failure_class, Some(FailureClass::NotInstalled));
    assert!(run.error.unwrap().starts_with("cannot start `no-such-agent`"));
}

#[test]
fn a_shell_that_cannot_start_the_agent_says_so() {
    use ralph_core::record::FailureClass::NotInstalled;
    for (number, line, class) in [
        (31, "no-such-agent", Some(NotInstalled)),
        (32, "./no/such/agent --flag", Some(NotInstalled)),
        (33, "/", Some(NotInstalled)),
        (34, "echo worked; no-such-agent", None),
        (35, "exit 127", None),
        (36, "no-such-agent; exit 1", None),
    ] {
        let (run, _) = TestDir::new(number).run(&AgentSettings::shell(line), "");
        assert_eq!(run.failure_class, class, "{line}: {run:?}");
    }
}

#[test]
fn a_line_whose_only_program_is_missing_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let folder = Utf8Path::from_path(folder.path()).unwrap();
    std::fs::write(folder.join("plain.sh"), "").unwrap();
    let lookup = |name: &str| (name == "PATH").then(|| "/bin:/usr/bin".to_owned());
    for (line, complaint) in [
        (
            "/nonexist/foo",
            "there is no program /nonexist/foo\nhint: correct its command (--agent-command, or ",
        ),
        ("./plain.sh 'a b'", "plain.sh is not executable\nhint: chmod +x "),
        ("no-such-agent -p \"$X\"", "no program `no-such-agent` on the PATH\nhint: "),
        ("cat", ""),
        (": nothing", ""),
        ("exec cat", ""),
        ("if true", ""),
        ("X=1 no-such-agent", ""),
        ("no-such-agent || cat", ""),
        ("no-such-agent() { cat; }; no-such-agent", ""),
        ("\"$HOME\"/no-such-agent", ""),
        ("", ""),
    ] {
        let settings = AgentSettings::shell(line);
        let command = settings.command.clone().unwrap();
        let checked = Command::new(&command, &settings).unwrap().check(folder, &lookup);
        let said = checked.err().map(|error| error.to_string()).unwrap_or_default();
        assert!(said.contains(complaint) && said.is_empty() == complaint.is_empty(), "{line}: {said}");
    }
}

#[test]
fn placeholders_are_replaced_in_words_and_in_shell_commands() {
    let dir = TestDir::new(4);
    let prompt_file = dir.path("prompt.md");
    let model = |settings| AgentSettings { model: Some("big one".to_owned()), ..settings };
    for (settings, text) in [
        (words(&["cat", "{prompt_file}"]), "it's {model}"),
        (words(&["printf", "%s", "{prompt}"]), "it's {model}"),
        (words(&["echo", "--model={model}"]), "--model=big one\n"),
        (AgentSettings::shell("cat \"{prompt_file}\""), "it's {model}"),
        (AgentSettings::shell("printf %s {prompt}"), "it's {model}"),
        (AgentSettings::shell("printf '%s\\n' {model} {prompt_file}"), &format!("big one\n{prompt_file}\n")),
    ] {
        let settings = model(settings);
        let _old = std::fs::remove_file(dir.path("stdout"));
        let (run, _) = dir.run(&settings, "it's {model}");
        assert_eq!(&*run.final_text, text, "{settings:?}");
        assert_eq!(run.model.as_deref(), Some("big one"));
    }
}

#[test]
fn a_prompt_too_long_for_an_argument_is_passed_as_a_file() {
    let dir = TestDir::new(5);
    let (run, _) = dir.run(&words(&["echo", "{prompt}"]), &"x".repeat(130 << 10));
    assert_eq!(&*run.final_text, format!("Read {} and do exactly what it says.\n", dir.path("prompt.md")));
    let fits = "y".repeat(100 << 10);
    let _old = std::fs::remove_file(dir.path("stdout"));
    let (run, _) = dir.run(&words(&["printf", "%s", "{prompt}"]), &fits);
    assert!(run.exit.is_success() && run.final_text.len() == 64 << 10);
}

#[test]
fn the_stream_takes_precedence_over_the_exit_code() {
    let dir = TestDir::new(6);
    let good = r#"{"type":"result","is_error":false,"result":"done","usage":{"input_tokens":7}}"#;
    let bad = r#"{"type":"result","is_error":true,"api_error_status":401,"result":"Invalid API key"}"#;
    for (script, succeeded, class) in [
        (format!("echo '{good}'"), true, None),
        (format!("echo '{good}'; exit 1"), false, Some(FailureClass::Other)),
        (format!("echo '{bad}'"), false, Some(FailureClass::Auth)),
        ("echo text".to_owned(), false, Some(FailureClass::Other)),
        (
            "echo 'cannot be used with root/sudo privileges' >&2; exit 1".to_owned(),
            false,
            Some(FailureClass::Refused),
        ),
    ] {
        for name in ["stdout", "stderr"] {
            let _old = std::fs::remove_file(dir.path(name));
        }
        let settings = AgentSettings { parser: Parser::Claude, ..AgentSettings::shell(&script) };
        let (run, _) = dir.run(&settings, "");
        assert_eq!((run.succeeded, run.failure_class), (succeeded, class), "{script}");
        assert_eq!(run.error.is_some(), !succeeded);
    }
}

#[test]
fn what_is_left_in_the_background_is_named() {
    // What has lost its parent is of whichever run of this process looks first.
    if !is_alone("command::tests::what_is_left_in_the_background_is_named", |test| test) {
        return;
    }
    let (run, _) = TestDir::new(7).run(&AgentSettings::shell("sleep 1000 & exit 0"), "");
    assert!(run.succeeded);
    assert_eq!(run.leftovers.len(), 1);
}

#[test]
fn a_command_that_cannot_work_is_refused() {
    let file = PromptVia::File;
    for (settings, complaint) in [
        (words(&[]), "agent `fake`: its command is empty\nhint: "),
        (words(&["a", "{model}"]), "agent `fake`: its command contains {model}, but no model is set\nhint: "),
        (
            AgentSettings { prompt: file, ..words(&["a"]) },
            "agent `fake`: prompt = \"file\" needs {prompt_file}",
        ),
        (
            AgentSettings { prompt: PromptVia::Arg, ..words(&["a"]) },
            "agent `fake`: prompt = \"arg\" needs {prompt}",
        ),
    ] {
        let error = Command::new(settings.command.as_deref().unwrap(), &settings).unwrap_err().to_string();
        assert!(error.starts_with(complaint), "{error}");
    }
}

#[test]
fn a_usage_file_of_an_earlier_run_is_ignored() {
    let usage =
        r#"{"modelMetrics": {"m": {"usage": {"inputTokens": 5, "cacheReadTokens": 2, "outputTokens": 1}}}}"#;
    let settings = |line: &str| AgentSettings { parser: Parser::Copilot, ..AgentSettings::shell(line) };
    let dir = TestDir::new(90);
    std::fs::write(dir.path("stdout.usage.json"), usage).unwrap();
    let (run, _) = dir.run(&settings("true"), "");
    assert!(run.tokens.is_unknown() && !run.succeeded);
    let line = format!("echo '{usage}' > {{usage_file}}; echo '{{\"type\":\"result\",\"exitCode\":0}}'");
    let (run, _) = dir.run(&settings(&line), "");
    assert!(run.succeeded, "{run:?}");
    assert_eq!((run.tokens.input, run.tokens.cache_read, run.tokens.output), (Some(3), Some(2), Some(1)));
    assert_eq!(run.model.as_deref(), Some("m"));
}

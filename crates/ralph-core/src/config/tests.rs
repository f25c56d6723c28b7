//! The layers together, in the user's own spelling.

use std::time::Duration;

use proptest::prelude::*;
use serde_json::json;

use crate::record::PromptVia;

use super::*;

fn inputs(file: &str) -> Inputs {
    Inputs { file: Some(file.to_owned()), ..Inputs::default() }
}

fn read(file: &str) -> Config {
    Config::read(&inputs(file)).unwrap()
}

fn git(lines: &[(&str, &str)]) -> Vec<GitInput> {
    let input = |(key, value): &(&str, &str)| GitInput {
        key: (*key).to_owned(),
        value: Some((*value).to_owned()),
        scope: Some("local".to_owned()),
    };
    lines.iter().map(input).collect()
}

fn environment(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
    pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
}

fn flag(flag: &str, key: &str, value: &str) -> FlagInput {
    FlagInput::new(flag, key, value)
}

fn flags(settings: &[FlagInput]) -> Flags {
    Flags { settings: settings.to_vec(), ..Flags::default() }
}

#[track_caller]
fn refused(inputs: &Inputs, expected: &str) {
    let error = Config::read(inputs).unwrap_err();
    assert!(error.downcast_ref::<crate::record::Refusal>().is_some(), "{error:#}");
    assert_eq!(format!("{error:#}"), expected);
}

#[test]
fn without_any_layer_the_defaults_hold() {
    let config = Config::read(&Inputs::default()).unwrap();
    assert_eq!(config.settings.agent, Vec::<String>::new());
    assert_eq!(config.settings.max_iterations, 10);
    assert_eq!((config.settings.skip_after, config.settings.stuck_after), (Some(3), Some(10)));
    assert_eq!((config.settings.max_tokens, config.settings.max_cost), (None, None));
    assert_eq!(config.settings.completion, Completion::Verified);
    assert!(config.settings.untick);
    assert_eq!(config.settings.commit, Commits::Off);
    assert_eq!(read("commit = 'task'\n").settings.commit, Commits::OfTasks);
    assert_eq!(config.settings.timeout, Some(Duration::from_hours(1)));
    assert_eq!(config.settings.idle_timeout, Some(Duration::from_mins(15)));
    assert_eq!(config.silence_of_commands(), None);
    assert_eq!(config.settings.max_output, Some(1 << 30));
    assert_eq!(config.settings.validation_timeout, Some(Duration::from_mins(30)));
    assert_eq!((config.settings.progress_max_entries, config.settings.progress_max_chars), (5, 500));
    assert_eq!((config.settings.snapshots, config.settings.snapshot_max_file), (true, Some(5 << 20)));
    assert!(config.warnings.is_empty());
    assert!(config.values.iter().all(|setting| setting.origin == Origin::Default));
    assert_eq!(config.values[0].text(), "detected");
}

#[test]
fn a_stronger_layer_wins_and_is_named() {
    let mut inputs = inputs("max-iterations = 2\n[progress]\nmax-entries = 3\nmax-chars = 70\n");
    let origin = |inputs: &Inputs| {
        let config = Config::read(inputs).unwrap();
        let found = config.values.iter().find(|setting| setting.key == "max-iterations").unwrap();
        (config.settings.max_iterations, found.origin.to_string())
    };
    assert_eq!(origin(&inputs), (2, ".specify/ralph.toml:1".into()));
    inputs.git = git(&[("user.name", "x"), ("ralph.maxiterations", "3"), ("ralph.maxiterations", "4")]);
    assert_eq!(origin(&inputs), (4, "git config ralph.maxIterations (local)".into()));
    inputs.environment = environment(&[("HOME", "/"), ("SPECKIT_RALPH_MAX_ITERATIONS", "5")]);
    assert_eq!(origin(&inputs), (5, "SPECKIT_RALPH_MAX_ITERATIONS".into()));
    inputs.environment.push(("SPECKIT_RALPH_MODEL".into(), String::new()));
    inputs.flags.settings = vec![flag("-n", "max-iterations", "6")];
    assert_eq!(origin(&inputs), (6, "-n".into()));
    let config = Config::read(&inputs).unwrap();
    assert_eq!((config.settings.progress_max_entries, config.settings.progress_max_chars), (3, 70));
    assert_eq!(config.settings.model, None, "an empty variable sets nothing");
}

#[test]
fn mistakes_name_place_key_and_form() {
    refused(
        &inputs("# ralph\nmax-iteration = 3\n"),
        ".specify/ralph.toml:2:1: unknown key `max-iteration`\nhint: did you mean `max-iterations`?",
    );
    refused(
        &inputs("model = 'é'\n[progress]\n\n  max-entrys = 3\n"),
        ".specify/ralph.toml:4:3: unknown key `progress.max-entrys`\nhint: did you mean `progress.max-entries`?",
    );
    refused(
        &inputs("command = 'x'\n"),
        ".specify/ralph.toml:1:1: unknown key `command`\nhint: did you mean `validation.command`?",
    );
    refused(
        &inputs("timeout = \"soon\"\n"),
        ".specify/ralph.toml:1:11: invalid value for `timeout`\nhint: expected a duration such as 10s, 60m or 1h30m, or none (also 0)",
    );
    refused(
        &inputs("progress = 5\n"),
        ".specify/ralph.toml:1:12: invalid value for `progress`\nhint: expected a table `[progress]`",
    );
    refused(
        &inputs("[redaction]\nrules = ['(']\n"),
        ".specify/ralph.toml:2:9: invalid value for `redaction.rules` (unclosed group)\nhint: expected a list of regular expressions, or none",
    );
    refused(
        &inputs("[agents.fake]\ncomand = 'x'\n"),
        ".specify/ralph.toml:2:1: unknown key `agents.fake.comand`\nhint: did you mean `command`?",
    );
    refused(
        &inputs("agents = { 'é' = { pormpt = 'x' } }\n"),
        ".specify/ralph.toml:1:20: unknown key `agents.é.pormpt`\nhint: did you mean `prompt`?",
    );
    refused(
        &inputs("[agents.fake]\ncommand = []\n"),
        ".specify/ralph.toml:2:11: invalid value for `agents.fake.command`\nhint: expected a command line, or a list of program and arguments",
    );
    refused(
        &Inputs { git: git(&[("ralph.maxiteration", "3")]), ..Inputs::default() },
        "git config ralph.maxiteration (local): unknown key `ralph.maxiteration`\nhint: did you mean `ralph.maxIterations`?",
    );
    refused(
        &Inputs { git: git(&[("ralph.agents.Fake.command", "3")]), ..Inputs::default() },
        "git config ralph.agents.Fake.command (local): `ralph.agents.Fake.command` is not allowed here\nhint: set it in .specify/ralph.toml",
    );
    refused(
        &Inputs { environment: environment(&[("SPECKIT_RALPH_MODLE", "x")]), ..Inputs::default() },
        "SPECKIT_RALPH_MODLE: unknown key `SPECKIT_RALPH_MODLE`\nhint: did you mean `SPECKIT_RALPH_MODEL`?",
    );
    refused(
        &Inputs { environment: environment(&[("SPECKIT_RALPH_MAXITER", "3")]), ..Inputs::default() },
        "SPECKIT_RALPH_MAXITER: unknown key `SPECKIT_RALPH_MAXITER`\nhint: did you mean `SPECKIT_RALPH_MAX_ITERATIONS`?",
    );
    refused(
        &Inputs { flags: flags(&[flag("--set", "untick", "maybe")]), ..Inputs::default() },
        "--set: invalid value for `untick`\nhint: expected true or false",
    );
    let error = Config::read(&inputs("a = \n")).unwrap_err();
    let error = format!("{error:#}");
    assert!(error.starts_with(".specify/ralph.toml:1:"), "{error}");
    assert!(error.contains("\nhint: expected TOML"), "{error}");
    let error = file_text(b"a = 1\nb = '\xff'\n".to_vec()).unwrap_err();
    assert_eq!(error.to_string(), ".specify/ralph.toml:2:6: not UTF-8\nhint: save the file as UTF-8");
}

#[test]
fn an_agent_of_the_users_is_read_and_its_environment_stays_hidden() {
    let config = read(
        "agent = 'fake'\n[agents.fake]\ncommand = ['sh', 'agent.sh']\nprompt = 'file'\n[agents.fake.env]\nAPI_KEY = 'hunter2'\n",
    );
    assert_eq!(config.settings.agent, ["fake"]);
    let agent = &config.agents["fake"];
    assert_eq!(agent.command, Some(AgentCommand::Words(vec!["sh".into(), "agent.sh".into()])));
    assert_eq!((agent.prompt, agent.parser), (Some(PromptVia::File), None));
    assert_eq!(agent.env["API_KEY"], "hunter2");
    assert_eq!(config.to_json()["agents.fake.env.API_KEY"], json!("***"));
    assert_eq!(config.to_json()["agents.fake.command"], json!(["sh", "agent.sh"]));
    for text in [config.entries_to_json().to_string(), format!("{:?}", config.values)] {
        assert!(!text.contains("hunter2"), "{text}");
    }
}

#[test]
fn a_command_on_the_command_line_becomes_the_agent() {
    let mut inputs = inputs("agent = 'claude'\n");
    inputs.flags.agent_command = Some("sh agent.sh".to_owned());
    let config = Config::read(&inputs).unwrap();
    assert_eq!(config.settings.agent, ["command"]);
    assert_eq!(config.agents["command"].command, Some(AgentCommand::Line("sh agent.sh".into())));
    assert_eq!(config.values[0].origin.to_string(), "--agent-command");
}

#[test]
fn an_unknown_strategy_is_said_and_nothing_else() {
    let warnings = |file: &str| read(file).warnings;
    assert_eq!(warnings("commit = 'task'\n[history]\nmode = 'smart'\n"), [""; 0]);
    assert_eq!(warnings("agent = ['claude', 'codex']\n"), [""; 0]);
    assert_eq!(warnings("[progress]\nstrategy = 'hybrid'\n"), [""; 0]);
    assert_eq!(
        warnings("[progress]\nstrategy = 'psychic'\n"),
        [".specify/ralph.toml:2: unknown progress strategy `psychic`, using system-captured"]
    );
}

#[test]
fn settings_of_a_loop_type_count_for_that_type_alone() {
    let file = "max-iterations = 7\n[loop.plan]\ntemplate = 'plan.md'\nmax-iterations = 3\n";
    let config = read(file);
    assert_eq!((config.settings.max_iterations, config.loop_type.name.as_str()), (7, "implement"));
    assert_eq!(config.to_json()["loop.plan.max-iterations"], json!(3));
    let plan = |change: &dyn Fn(&mut Inputs)| {
        let mut inputs = inputs(file);
        inputs.flags.loop_type = Some("plan".to_owned());
        change(&mut inputs);
        Config::read(&inputs).unwrap()
    };
    let config = plan(&|_| {});
    assert_eq!(config.settings.max_iterations, 3);
    assert_eq!(config.loop_type.template.as_deref(), Some("plan.md"));
    assert_eq!(
        (config.loop_type.until, config.loop_type.artifact.as_deref()),
        (Until::Validation, Some("plan.md"))
    );
    let stronger = plan(&|inputs| {
        inputs.environment = vec![("SPECKIT_RALPH_MAX_ITERATIONS".to_owned(), "4".to_owned())];
    });
    assert_eq!(stronger.settings.max_iterations, 4);
}

#[test]
fn an_unknown_loop_type_is_refused() {
    let refusal = |name: &str| {
        let mut inputs = inputs("[loop.review]\nuntil = 'validation'\n");
        inputs.flags.loop_type = Some(name.to_owned());
        Config::read(&inputs).err().map(|error| error.to_string())
    };
    assert_eq!(refusal("review"), None);
    assert_eq!(refusal("reveiw").unwrap(), "there is no loop type `reveiw`\nhint: did you mean `review`?");
    assert!(refusal("something").unwrap().contains("\nhint: known are implement, plan, spec, review; "));
}

#[test]
fn lists_of_patterns_add_up_within_git_and_replace_the_file() {
    let mut inputs = inputs("redaction.rules = ['z']\n");
    inputs.git = git(&[("ralph.redaction.rules", "a"), ("ralph.redaction.rules", "b")]);
    assert_eq!(Config::read(&inputs).unwrap().settings.redaction_rules, ["a", "b"]);
    inputs.git.extend(git(&[("ralph.redaction.rules", ""), ("ralph.redaction.rules", "c")]));
    assert_eq!(Config::read(&inputs).unwrap().settings.redaction_rules, ["c"]);
}

#[test]
fn a_git_key_without_a_value_is_true() {
    let key = GitInput { key: "ralph.progress.tail".to_owned(), value: None, scope: None };
    let config = Config::read(&Inputs { git: vec![key], ..Inputs::default() }).unwrap();
    assert!(config.settings.progress_tail);
}

#[test]
fn one_value_can_be_checked_alone() {
    check("timeout", "10m").unwrap();
    check("progress.strategy", "psychic").unwrap();
    for (key, text, expected) in [
        ("timeout", "10", "expected a duration such as 10s, 60m or 1h30m, or none (also 0)"),
        ("timeuot", "10m", "unknown key `timeuot`, did you mean `timeout`?"),
        (
            "lanes.copy",
            r#"["x","y"]"#,
            "expected a name or a list of names, or none (without brackets and quotes: `x,y`)",
        ),
        ("agents.fake.command", "x", "`agents.fake.command` can only be set in .specify/ralph.toml"),
    ] {
        assert_eq!(check(key, text).unwrap_err().to_string(), expected);
    }
}

#[test]
fn what_a_session_keeps_is_the_same_when_it_is_read() {
    let mut inputs = inputs(
        "agent = ['fake', 'claude']\nsandbox = ['podman', '{command}']\nmax-cost = 3\ntimeout = 0\nlane = 'auto'\n\
         max-output = 4096\n[history]\nthreshold = 0.5\n[redaction]\nrules = ['a, b', 'c+']\n\
         [agents.fake]\ncommand = ['sh', 'agent.sh']\nprompt = 'file'\n[agents.fake.env]\nAPI_KEY = 'hunter2'\n\
         [loop.docs]\nuntil = 'validation'\nartifact = 'x.md'\nvalidation.command = 'true'\n",
    );
    inputs.git = git(&[("ralph.untick", "off"), ("ralph.allowlinks", "~/a"), ("ralph.capture.port", "a b")]);
    inputs.environment = environment(&[("SPECKIT_RALPH_NOTIFY", "auto"), ("SPECKIT_RALPH_MODEL", "m")]);
    inputs.flags = Flags {
        settings: vec![flag("-n", "max-iterations", "6"), flag("--set", "skip-after", "0")],
        agent_command: Some("sh a.sh".to_owned()),
        loop_type: Some("docs".to_owned()),
    };
    let config = Config::read(&inputs).unwrap();
    let kept = |text: &str| Config::of_kept(serde_json::from_str(text).unwrap());
    let text = serde_json::to_string(&config).unwrap();
    assert_eq!(kept(&text).unwrap(), config);
    assert_eq!(
        (config.allowed_links.as_slice(), config.loop_type.until),
        (&["~/a".into()][..], Until::Validation)
    );
    for (from, to, expected) in [
        ("\"untick\"", "\"untock\"", "git config ralph.untick (local): unknown key `untock`"),
        ("\"value\":6,", "\"value\":0,", "-n: invalid value for `max-iterations`"),
        ("\"value\":6,", "\"value\":null,", "-n: invalid value for `max-iterations`"),
    ] {
        assert!(text.contains(from), "{text}");
        let error = kept(&text.replace(from, to)).unwrap_err().to_string();
        assert!(error.starts_with(expected), "{error}");
    }
}

proptest! {
    #[test]
    fn any_file_is_read_or_refused(bytes: Vec<u8>) {
        if let Ok(text) = file_text(bytes) {
            drop(Config::read(&inputs(&text)));
        }
    }

    #[test]
    fn any_file_that_looks_like_toml_is_read_or_refused(
        text in "(\\[{1,2}(agents|loop|progress|history|capture)(\\.[a-zé\"]{0,3}){0,3}\\]{1,2}\r?\n|(agent|env|command|timeout|untick|\"[.é]\"|progress) ?[.=] ?(\"?[0-9a-zé.{}\\[\\]]{0,6}\"?|true|[0-9]{1,25})\r?\n){0,8}"
    ) {
        drop(Config::read(&inputs(&text)));
    }

    #[test]
    fn any_text_of_any_layer_is_read_or_refused(name in "[a-zA-Z._-]{0,20}", value: String) {
        let name = format!("ralph.{name}");
        let variable = name.to_uppercase().replace(['.', '-'], "_").replace("RALPH_", VARIABLE_PREFIX);
        drop(Config::read(&Inputs { git: git(&[(&name, &value)]), ..Inputs::default() }));
        drop(Config::read(&Inputs { environment: vec![(variable, value.clone())], ..Inputs::default() }));
        for key in KEYS {
            drop(check(key.name, &value));
        }
    }
}

#[test]
fn the_sandbox_is_a_value_or_a_table() {
    let own = ["podman", "{command}"].map(str::to_owned).into();
    for (file, expected) in [
        ("sandbox = 'bwrap'\n", Some(SandboxChoice::Bwrap)),
        ("sandbox = ['podman', '{command}']\n", Some(SandboxChoice::Command(own))),
        ("[sandbox]\nmechanism = 'srt'\nwrite = ['~/a', 'b']\n", Some(SandboxChoice::Srt)),
        ("[sandbox]\nwrite = '~/a'\n", None),
    ] {
        let config = read(file);
        assert_eq!(config.settings.sandbox, expected, "{file}");
        let mechanism = file.contains("mechanism") || file.starts_with("sandbox");
        assert_eq!(config.is_set("sandbox.mechanism"), mechanism, "{file}");
        assert!(config.commands_from_file().next().is_some(), "{file} needs an approval");
    }
    refused(
        &inputs("sandbox = true\n"),
        ".specify/ralph.toml:1:11: invalid value for `sandbox`\nhint: expected auto, srt, bwrap, or a command with {command}, or none",
    );
    let off = Inputs {
        flags: flags(&[flag("--no-sandbox", "sandbox.mechanism", "none")]),
        ..inputs("sandbox = 'bwrap'\n")
    };
    assert_eq!(Config::read(&off).unwrap().settings.sandbox, None);
    let state = read("[agents.a]\ncommand = 'x'\nstate = ['~/.a/settings']\ncredentials = '~/.a/login'\n");
    assert_eq!(
        (&*state.agents["a"].state, &*state.agents["a"].credentials),
        (&[".a/settings".to_owned()][..], &[".a/login".to_owned()][..])
    );
    for path in ["/etc/passwd", "~/../x", "~", "~/"] {
        assert!(Config::read(&inputs(&format!("[agents.a]\nstate = ['{path}']\n"))).is_err(), "{path}");
    }
}

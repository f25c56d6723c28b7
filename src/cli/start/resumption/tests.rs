//! Which value wins in a resumption, and what is said of it.

use camino::Utf8Path;
use serde_json::json;

use ralph_core::config::{FlagInput, GitInput};
use ralph_core::record::samples::session as sample;
use ralph_git::repository::Repository;
use ralph_os::process::{Tool, is_without_git_of_the_user};

use super::*;

/// `--key value` are flags, `git:key=value` git's configuration, `KEY=value` the environment; the rest is the file.
fn inputs(words: &str) -> Inputs {
    let mut layers = Inputs::default();
    for word in words.split("; ").filter(|word| !word.is_empty()) {
        if let Some((key, value)) = word.strip_prefix("--").and_then(|rest| rest.split_once(' ')) {
            if key == "agent-command" {
                layers.flags.agent_command = Some(value.to_owned());
            } else {
                layers.flags.settings.push(FlagInput::new(&format!("--{key}"), key, value));
            }
        } else if let Some((key, value)) = word.strip_prefix("git:").and_then(|rest| rest.split_once('=')) {
            let scope = Some("local".to_owned());
            layers.git.push(GitInput { key: key.to_owned(), value: Some(value.to_owned()), scope });
        } else if let Some((variable, value)) =
            word.strip_prefix("SPECKIT").and_then(|rest| rest.split_once('='))
        {
            layers.environment.push((format!("SPECKIT{variable}"), value.to_owned()));
        } else {
            layers.file = Some(format!("{}{word}\n", layers.file.unwrap_or_default()));
        }
    }
    layers
}

fn config(words: &str) -> Config {
    Config::read(&inputs(words)).unwrap()
}

/// Returns what a session that began so has kept, which is the same if an earlier version kept it.
fn kept(start: &str) -> Config {
    let read = |bytes: Vec<u8>| Kept::read(&bytes).unwrap().config;
    let kept = Kept { config: kept_config(&config(start), &[]), approvals: 2 };
    let kept = read(serde_json::to_vec(&kept).unwrap());
    let Inputs { file, git, environment, flags } = inputs(start);
    let git = git.iter().map(|line| json!({"key": line.key, "value": line.value, "scope": line.scope}));
    let settings = flags.settings.iter().filter(|input| input.key != OWN_LIMIT);
    let settings = settings.map(|input| json!({"flag": input.flag, "key": input.key, "value": input.value}));
    let flags = json!({
        "settings": settings.collect::<Vec<_>>(), "agent_command": flags.agent_command, "loop_type": null,
    });
    let layers =
        json!({"file": file, "git": git.collect::<Vec<_>>(), "environment": environment, "flags": flags});
    let earlier = json!({"layers": layers, "approvals": 2});
    assert_eq!(read(serde_json::to_vec(&earlier).unwrap()), kept, "{start}");
    kept
}

const UNUSABLE: Winner = Winner::File { about: &["validation."] };
const NO_AGENT: Winner = Winner::File { about: &["agent", "agents.", "model"] };
const APPROVED: Winner = Winner::File { about: &[] };

#[test]
fn flags_of_the_call_win_over_what_was_kept_and_that_over_what_is_set_now() {
    let nothing = Winner::Nothing;
    for (start, now, winner, call, key, expected) in [
        ("model = 'a'", "model = 'b'", nothing, "", "model", "a"),
        ("model = 'a'", "model = 'b'", nothing, "--model c", "model", "c"),
        ("model = 'a'", "model = 'b'", Winner::Now, "", "model", "b"),
        ("model = 'a'", "model = 'b'", Winner::Now, "--model c", "model", "c"),
        ("--model a", "model = 'b'", nothing, "", "model", "a"),
        ("--model a", "model = 'b'", Winner::Now, "", "model", "b"),
        ("--model a", "", Winner::Now, "", "model", "a"),
        ("model = 'a'", "", Winner::Now, "", "model", "none"),
        ("", "model = 'b'", nothing, "", "model", "none"),
        ("git:ralph.model=a", "git:ralph.model=b", nothing, "", "model", "a"),
        ("SPECKIT_RALPH_MODEL=a", "SPECKIT_RALPH_MODEL=b", nothing, "", "model", "a"),
        ("", "git:ralph.trust=always", nothing, "", "trust", "ask"),
        ("", "redaction.allow = ['.+']", nothing, "", "redaction.allow", "none"),
        ("--skip-after 0", "", nothing, "", "skip-after", "none"),
        ("--redaction.rules a+", "", nothing, "--redaction.rules b+", "redaction.rules", "b+"),
        // A limit of runs that a flag gave is that call's own.
        ("max-iterations = 7; --max-iterations 1", "max-iterations = 8", nothing, "", "max-iterations", "7"),
        ("--max-iterations 1", "", nothing, "--max-iterations 3", "max-iterations", "3"),
        ("--max-duration 1h", "", nothing, "", "max-duration", "1h"),
        // The validation could not be used.
        ("validation.command = 'a'", "validation.command = 'b'", UNUSABLE, "", "validation.command", "b"),
        ("--validation.command a", "validation.command = 'b'", UNUSABLE, "", "validation.command", "b"),
        ("--validation.command a", "", UNUSABLE, "", "validation.command", "a"),
        (
            "validation.command = 'b'; --validation.command a",
            "validation.command = 'b'",
            UNUSABLE,
            "",
            "validation.command",
            "b",
        ),
        ("model = 'b'; --model a", "model = 'b'", UNUSABLE, "", "model", "a"),
        ("model = 'x'; --model a", "model = 'b'", UNUSABLE, "", "model", "b"),
        (
            "validation.command = 'a'",
            "git:ralph.validation.command=b",
            UNUSABLE,
            "",
            "validation.command",
            "none",
        ),
        ("git:ralph.model=a", "model = 'b'", NO_AGENT, "", "model", "b"),
        ("--agent-command x", "agent = 'b'", NO_AGENT, "", "agent", "b"),
        ("--trust always", "validation.command = 'b'", UNUSABLE, "", "trust", "ask"),
        // The file was approved as it is now.
        ("validation.command = 'a'", "validation.command = 'b'", APPROVED, "", "validation.command", "b"),
        (
            "validation.command = 'b'; --validation.command a",
            "validation.command = 'b'",
            APPROVED,
            "",
            "validation.command",
            "a",
        ),
        // One agent or another, however it is named.
        ("--agent a", "", nothing, "--agent-command x", "agent", "command"),
        ("--agent-command x", "", nothing, "--agent a", "agent", "a"),
        ("--agent-command x", "agent = 'b'", Winner::Now, "", "agent", "b"),
        ("--agent-command x", "agent = 'b'", nothing, "", "agent", "command"),
    ] {
        let kept = kept(start);
        let found = resumed(&kept, &Ok(config(now)), winner, &inputs(call).flags).unwrap();
        let found = found.values.iter().find(|setting| setting.key == key).unwrap();
        let text = if found.value.is_null() { "none".to_owned() } else { found.text() };
        assert_eq!(text, expected, "{start} | {now} | {winner:?} | {call}");
    }
}

#[test]
fn an_agent_that_was_found_at_the_start_stays_until_it_cannot_be_used() {
    let start = kept_config(&config(""), &["claude".to_owned()]);
    for (winner, expected) in
        [(Winner::Nothing, &["claude"][..]), (UNUSABLE, &["claude"]), (NO_AGENT, &[]), (Winner::Now, &[])]
    {
        let found = resumed(&start, &Ok(config("")), winner, &Flags::default()).unwrap();
        assert_eq!(found.settings.agent, expected, "{winner:?}");
    }
}

#[test]
fn what_differs_is_said_a_line_each() {
    for (start, now, expected) in [
        ("model = 'a'", "model = 'a'", ""),
        (
            "validation.command = 'npm test'",
            "validation.command = 'true'",
            "validation.command is \"npm test\"; the file says \"true\" now: --fresh-settings takes it",
        ),
        (
            "",
            "git:ralph.untick=false",
            "untick is true; git config ralph.untick (local) says false now: --fresh-settings takes it",
        ),
        ("max-cost = 3", "", "max-cost is 3; the file does not set it now: --fresh-settings drops it"),
        (
            "SPECKIT_RALPH_MODEL=a",
            "",
            "model is \"a\"; SPECKIT_RALPH_MODEL does not set it now: --fresh-settings drops it",
        ),
        ("--model a; --max-cost 3", "", "kept: model \"a\", max-cost 3"),
        ("--model a", "model = 'b'", "model is \"a\"; the file says \"b\" now: --fresh-settings takes it"),
        (
            "agent = 'x'; agents.x.command = 'x'; agents.x.env.TOKEN = 'one'",
            "agent = 'x'; agents.x.command = 'x'; agents.x.env.TOKEN = 'two'",
            "agents.x.env.TOKEN has another value in the file now: --fresh-settings takes it",
        ),
        (
            "validation.command = 'API_TOKEN=hunter2secret4 x'",
            "validation.command = 'true'",
            "validation.command is \"API_TOKEN=[redacted:token] x\"; the file says \"true\" now: --fresh-settings \
             takes it",
        ),
        // Of an agent that does not work here nothing is said.
        ("agent = 'x'", "agent = 'x'; agents.y.command = 'y'", ""),
    ] {
        let (config, other) = (config(start), config(now));
        let call = Flags::default();
        let (lines, kept) = unlike_now(&config, &other, &call).unwrap();
        let kept = (!kept.is_empty()).then(|| format!("kept: {}", kept.join(", ")));
        let said: Vec<String> = lines.into_iter().chain(kept).collect();
        assert_eq!(said.join("\n"), expected);
    }
}

#[test]
fn a_record_gives_what_runs_only_where_this_clone_vouches_for_it() {
    let name = "cli::start::resumption::tests::a_record_gives_what_runs_only_where_this_clone_vouches_for_it";
    if !is_without_git_of_the_user(name) {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let root = Utf8Path::from_path(folder.path()).unwrap();
    Tool::git(root).args(["init", "--quiet"]).read().unwrap();
    let repository = Repository::discover(root, &[None, None], None).unwrap().0;
    let identity = Identity::find_or_create(&repository).unwrap();
    let mut begun = sample("failed", None, (0, 1));
    begun.configuration = json!({
        "agent": ["fake"], "model": "haiku", "max-iterations": 1, "max-cost": 3.0, "validation.command": "npm test",
        "hooks.on-finish": null, "redaction.rules": ["a+", "b"], "commit": "[redacted:x]", "later": 1,
        "idle-timeout": "15m", "timeout": "1h",
    });
    let now = config("max-cost = 2; timeout = '5m'; hooks.on-finish = 'x'");
    let named = |begun: &Session| {
        let found = of_record(begun, Some(&identity), &now).unwrap();
        let flags = found.layers.iter().filter(|setting| setting.origin.is_flag());
        let mut named: Vec<_> = flags.map(|setting| format!("{}={}", setting.key, setting.value)).collect();
        named.sort();
        named.join("; ")
    };
    assert_eq!(named(&begun), r#"max-cost=3.0; model="haiku"; timeout="1h""#);
    begun.machine = Some(identity.machine());
    for (key, exact) in
        [("agent", "fake"), ("validation.command", "\"npm test\""), ("redaction.rules", "[\"a+\"]")]
    {
        begun.commands.insert(key.to_owned(), identity.fingerprint(key, exact));
    }
    let vouched = r#"agent=["fake"]; hooks.on-finish=null; max-cost=3.0; model="haiku"; timeout="1h"; validation.command="npm test""#;
    assert_eq!(named(&begun), vouched);
    begun.machine = Some("another".to_owned());
    assert_eq!(named(&begun), r#"max-cost=3.0; model="haiku"; timeout="1h""#);
}

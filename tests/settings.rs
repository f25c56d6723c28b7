//! Where settings come from, and which one wins.

use serde_json::json;

use crate::sandbox::{Program, Sandbox};

#[test]
fn each_layer_wins_over_the_one_before() {
    let scene = Sandbox::new();
    let setting = |scene: &Sandbox| scene.ralph("config --json").code(0).json()["max-iterations"].clone();
    assert_eq!(setting(&scene), json!({"value": 10, "origin": "default"}));
    scene.config("max-iterations = 21");
    let of_file = setting(&scene);
    assert_eq!(of_file["value"], 21);
    assert!(of_file["origin"].as_str().unwrap().contains(".specify/ralph.toml"), "{of_file}");
    scene.git("config --global ralph.maxIterations 22");
    assert_eq!(setting(&scene)["value"], 22);
    scene.git("config ralph.maxIterations 23");
    let of_git = setting(&scene);
    assert_eq!(of_git["value"], 23);
    assert!(of_git["origin"].as_str().unwrap().contains("ralph.maxIterations"), "{of_git}");
    let of_environment =
        scene.call("config --json").env("SPECKIT_RALPH_MAX_ITERATIONS", "24").run().code(0).json();
    assert_eq!(of_environment["max-iterations"]["value"], 24);
    let origin = of_environment["max-iterations"]["origin"].as_str().unwrap();
    assert!(origin.contains("SPECKIT_RALPH_MAX_ITERATIONS"), "{origin}");
    scene.agent_script("[[turn]]\n");
    scene.call("-n 1").env("SPECKIT_RALPH_MAX_ITERATIONS", "24").run().code(4);
    assert_eq!(scene.session().end()["max_iterations"], 1);
    assert_eq!(scene.session().end()["configuration"]["max-iterations"], 1);
}

#[test]
fn a_setting_for_one_call_of_git_reaches_us() {
    let scene = Sandbox::new();
    std::os::unix::fs::symlink(Program::GitRalph.path(), scene.outside("bin/git-ralph")).unwrap();
    let config = scene.git("-c ralph.maxIterations=3 -c ralph.progress.maxEntries=7 ralph config --json");
    let config: serde_json::Value = serde_json::from_str(&config).unwrap();
    assert_eq!(config["max-iterations"]["value"], 3);
    assert_eq!(config["progress.max-entries"]["value"], 7);
    let table = scene.git("-c ralph.maxIterations=3 ralph config");
    assert!(table.lines().any(|line| line.starts_with("max-iterations ") && line.contains(" 3 ")), "{table}");
}

#[test]
fn a_table_has_what_is_set_and_on_request_the_defaults() {
    let scene = Sandbox::new();
    scene.config("max-iterations = 21");
    let set = scene.ralph("config").code(0).stderr_has("`specify ralph config --all`");
    set.stdout_has("max-iterations").stdout_lacks("skip-after");
    scene.ralph("config --all").code(0).stdout_has("max-iterations").stdout_has("skip-after");
}

#[test]
fn what_was_meant_is_named_for_keys_tables_values_and_commands() {
    let scene = Sandbox::new();
    for (file, hint) in [
        ("[validate]\ncommand = 'x'", "hint: did you mean `[validation]`?"),
        ("validate = 'x'", "hint: did you mean `validation.command`?"),
        ("validation-command = 'x'", "hint: did you mean `validation.command`?"),
        ("max_iterations = 3", "hint: did you mean `max-iterations`?"),
        ("agent-command = 'x'", "hint: an agent of your own is a table `[agents.NAME]`"),
        ("commit = 'tasks'", "hint: expected off, task; did you mean `task`?"),
    ] {
        scene.write(".specify/ralph.toml", file);
        scene.ralph("config").code(3).stderr_has(hint);
    }
    scene.write(".specify/ralph.toml", "");
    for (word, hint) in [
        ("ls", "did you mean `specify ralph log`?"),
        ("stauts", "did you mean `specify ralph status`?"),
        ("xyzzy", "`specify ralph -h` lists the commands"),
    ] {
        scene.ralph(word).code(2).stderr_has(&format!("`{word}` is not a command\nhint: {hint}"));
    }
}

#[test]
fn nested_settings_have_their_spelling_in_each_layer() {
    let scene = Sandbox::new();
    scene.config("progress.max-chars = 100\nvalidation.timeout = \"5m\"");
    scene.git("config ralph.history.mode smart");
    let config =
        scene.call("config --json").env("SPECKIT_RALPH_VALIDATION_COMMAND", "make test").run().code(0).json();
    assert_eq!(config["progress.max-chars"]["value"], 100);
    assert_eq!(config["validation.timeout"]["value"], "5m");
    assert_eq!(config["history.mode"]["value"], "smart");
    assert_eq!(config["validation.command"]["value"], "make test");
}

#[test]
fn an_unknown_strategy_is_a_warning_and_the_default_is_used() {
    let scene = Sandbox::new();
    scene.config("progress.strategy = \"telepathy\"").agent_script("[[turn]]\ndo = [{ tick = \"current\" }]");
    scene.ralph("config --json").code(0).stderr_has("warning: ").stderr_has("telepathy");
    scene.ralph("").code(0).stderr_has("telepathy");
    assert_eq!(scene.session().end()["configuration"]["progress.strategy"], "system-captured");
}

#[test]
fn settings_of_agents_are_not_shown_where_they_may_be_secret() {
    let scene = Sandbox::new();
    scene.agent(
        "[agents.fake]\ncommand = [\"sh\", \"-c\", \"echo $API_THING\"]\nenv = { API_THING = \"hush\" }\n",
    );
    scene.ralph("-n 1").code(4);
    assert_eq!(scene.session().text(1, "agent/stdout"), "hush\n");
    scene.ralph("config").code(0).stdout_lacks("hush");
    scene.ralph("config --json").code(0).stdout_lacks("hush");
    assert!(!scene.session().end().to_string().contains("hush"));
}

#[test]
fn the_length_of_an_excerpt_is_a_setting() {
    for (chars, is_there) in [(500, true), (0, false)] {
        let scene = Sandbox::new();
        scene.config(&format!("progress.max-chars = {chars}")).agent_script("[[turn]]\n");
        scene.write("check.sh", "echo some words; exit 1\n").validate("sh check.sh");
        scene.ralph("-n 1").code(4);
        assert_eq!(scene.progress().contains("```\nsome words\n"), is_there, "{chars}");
    }
}

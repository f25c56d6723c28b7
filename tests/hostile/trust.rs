//! Commands and addresses that arrive with a clone, or that an agent plants.

use std::fs;

use super::records::{File, Mutation, rewrite};
use crate::sandbox::{Run, Sandbox, WILLING_AGENT};

/// Says that all is done, and does nothing.
const LIAR: &str = "[[turn]]\ndo = [{ tick = \"current\" }]\n";

/// A session that began with a validation that does not pass, and reached its limit.
fn judged() -> Sandbox {
    let scene = Sandbox::new();
    scene.agent_script(LIAR).validate("test -e work").commit("An agent");
    scene.ralph("-n 1").code(4);
    assert_eq!(scene.session().trailers("Ralph-Outcome"), ["failure"]);
    scene
}

/// The resumption is refused because of `key`, and nothing was run or recorded.
#[track_caller]
fn is_refused(scene: &Sandbox, words: &str, key: &str, origin: &str) -> Run {
    let before = scene.session().iterations().len();
    let run = scene.ralph(words).code(3);
    assert!(run.talk().contains("began with other commands than those that are set now"), "{run}");
    let line =
        run.talk().lines().find(|line| line.trim_start().starts_with(&format!("{key}: "))).map(str::to_owned);
    let line = line.unwrap_or_else(|| panic!("{key} is not named: {run}"));
    assert!(line.contains(origin), "{line}");
    assert!(
        run.talk().contains("hint: if these changes are yours, add `--accept-changed-commands`"),
        "{run}"
    );
    assert_eq!(scene.session().iterations().len(), before);
    run
}

#[test]
fn a_validation_that_was_planted_in_the_file_does_not_judge_a_resumed_session() {
    let scene = judged();
    scene.validate("true");
    let run = is_refused(&scene, "resume", "validation.command", ".specify/ralph.toml:1");
    assert!(run.talk().contains(r#"validation.command: "test -e work" -> "true""#), "{run}");
    scene.ralph("resume --accept-changed-commands").code(0);
    assert_eq!(scene.session().trailers("Ralph-Outcome"), ["failure", "success"]);
}

#[test]
fn what_was_accepted_once_is_not_asked_for_again() {
    let scene = judged();
    scene.validate("test -e nothing");
    scene.ralph("resume -n 1 --accept-changed-commands").code(4);
    scene.ralph("resume -n 1").code(4);
    scene.validate("test -e work");
    is_refused(&scene, "resume", "validation.command", ".specify/ralph.toml:1");
}

#[test]
fn a_validation_that_was_planted_in_gits_configuration_does_not_judge_a_resumed_session() {
    let scene = Sandbox::new();
    let plants = "git config ralph.validation.command true\nsed -i 's/\\[ \\]/[x]/' \"$RALPH_TASKS\"\n";
    scene.agent_sh(plants).validate("test -e work").agent_uses_git().commit("An agent");
    // The session that runs goes on with what it began with.
    scene.ralph("-n 2").code(4);
    assert_eq!(scene.session().trailers("Ralph-Outcome"), ["failure", "failure"]);
    is_refused(&scene, "resume", "validation.command", "git config ralph.validation.command (local)");
    scene.git("config --unset ralph.validation.command");
    scene.ralph("resume -n 1").code(4);
}

#[test]
fn hooks_agents_and_rules_that_were_planted_are_refused_by_name() {
    for (planted, key) in [
        ("hooks.on-finish = 'touch ../owned'", "hooks.on-finish"),
        ("progress.command = 'touch ../owned'", "progress.command"),
        ("history.summarize = 'touch ../owned'", "history.summarize"),
        ("completion = 'promise'", "completion"),
        ("untick = false", "untick"),
        ("permissions = 'read-only'", "permissions"),
        ("redaction.allow = ['.+']", "redaction.allow"),
        ("redaction.rules = ['finished']", "redaction.rules"),
    ] {
        let scene = judged();
        scene.config(planted);
        is_refused(&scene, "resume", key, ".specify/ralph.toml:1");
        assert!(!scene.outside("owned").exists(), "{planted}");
    }
    for (table, key) in [
        ("[agents.fake]\ncommand = ['sh', 'evil.sh']\n", "agents.fake.command"),
        ("[agents.fake]\ncommand = ['sh', 'agent.sh']\nparser = 'claude'\n", "agents.fake.parser"),
        (
            "[agents.fake]\ncommand = ['sh', 'agent.sh', '{prompt_file}']\nprompt = 'file'\n",
            "agents.fake.prompt",
        ),
        ("[agents.fake]\ncommand = ['sh', 'agent.sh']\nenv.PATH = '/evil'\n", "agents.fake.env.PATH"),
    ] {
        let scene = Sandbox::new();
        scene.agent_sh("exit 0\n").commit("An agent");
        scene.ralph("-n 1").code(4);
        scene.agent(table);
        is_refused(&scene, "resume", key, ".specify/ralph.toml:");
    }
}

#[test]
fn a_variable_of_an_agent_is_compared_and_neither_shown_nor_recorded() {
    let scene = Sandbox::new();
    let with =
        |value: &str| format!("[agents.fake]\ncommand = ['sh', 'agent.sh']\nenv.SETTING = '{value}'\n");
    scene.agent_sh("exit 0\n").agent(&with("first-value")).commit("An agent");
    scene.ralph("-n 1").code(4);
    scene.ralph("resume -n 1").code(4);
    let recorded = scene.session().end();
    let hash = recorded["commands"]["agents.fake.env.SETTING"].as_str().unwrap().to_owned();
    assert!(hash.len() == 32 && hash.bytes().all(|byte| byte.is_ascii_hexdigit()), "{recorded}");
    assert!(!recorded.to_string().contains("first-value"));
    scene.agent(&with("other-value"));
    let run = is_refused(&scene, "resume", "agents.fake.env.SETTING", ".specify/ralph.toml:");
    assert!(!run.talk().contains("-value"), "{run}");
    // The hash is of no use to who tries values: it is made with a key that stays here.
    let key = fs::read(scene.path(".git/ralph/key")).unwrap();
    assert_eq!(key.len(), 32);
    // Without the key nothing can be compared, and what is hidden counts as changed.
    scene.agent(&with("first-value"));
    scene.ralph("resume -n 1").code(4);
    fs::remove_file(scene.path(".git/ralph/key")).unwrap();
    let id = scene.session().id().to_owned();
    let run = is_refused(&scene, &format!("resume {id}"), "agents.fake.env.SETTING", ".specify/ralph.toml:");
    assert!(run.talk().contains("cannot be compared"), "{run}");
}

#[test]
fn a_flag_that_changes_a_command_needs_the_same_word() {
    let scene = judged();
    is_refused(&scene, "resume --validate true", "validation.command", "(--validate)");
    is_refused(&scene, "resume --agent-command true", "agent", "(--agent-command)");
    scene.ralph("resume --validate true --accept-changed-commands").code(0);
}

#[test]
fn what_decides_nothing_may_be_changed_between_a_session_and_its_resumption() {
    let scene = judged();
    scene.config("timeout = '5m'\nskip-after = 9\nprogress.max-entries = 2\nremote = 'origin'\ncapture.port = 'port (\\d+)'\n");
    scene.write("work", "");
    scene.ralph("resume -n 2 --model other").code(0);
}

#[test]
fn a_session_of_an_older_version_is_compared_as_far_as_it_is_recorded() {
    let scene = judged();
    scene.skip_final_fsck();
    let record = scene.session();
    let json = scene.git(["show", &format!("{}:session.json", record.refname())]);
    let mut json: serde_json::Value = serde_json::from_str(&json).unwrap();
    for field in ["machine", "commands"] {
        json.as_object_mut().unwrap().remove(field);
    }
    let root = scene.git(["rev-list", "--max-parents=0", record.refname()]);
    let file = File::Bytes(json.to_string().into_bytes());
    let mutation = Mutation { files: vec![("session.json", file)], ..Mutation::default() };
    rewrite(&scene, record.refname(), &[(root, mutation)]);
    scene.ralph("resume -n 1").code(4).stderr("");
    scene.validate("true");
    is_refused(&scene, "resume", "validation.command", ".specify/ralph.toml:1");
}

#[test]
fn a_secret_that_an_option_names_is_compared_as_it_is_recorded_and_not_shown() {
    let scene = Sandbox::new();
    let with = |file: &str| {
        format!(
            "[agents.fake]\ncommand = ['sh', '{file}', '--password', 'correct-horse-7']\nenv.API_TOKEN = 'x'\n"
        )
    };
    scene.agent_sh("exit 0\n").agent(&with("agent.sh")).commit("An agent");
    scene.ralph("-n 1").code(4);
    // Without the key nothing but the record is there to compare with.
    fs::remove_file(scene.path(".git/ralph/key")).unwrap();
    let resume = format!("resume {}", scene.session().id());
    let run = is_refused(&scene, &resume, "agents.fake.env.API_TOKEN", "cannot be compared");
    assert!(!run.talk().contains("agents.fake.command"), "{run}");
    scene.agent(&with("./agent.sh"));
    let run = is_refused(&scene, &resume, "agents.fake.command", ".specify/ralph.toml:");
    assert!(!run.talk().contains("correct-horse-7"), "{run}");
}

/// A project that arrived with a clone, whose file names commands that leave a trace.
fn cloned() -> Sandbox {
    let scene = Sandbox::new();
    scene.agent_sh("touch ../owned\n").validate("touch ../owned").commit("An agent");
    scene
}

/// A call of a user who approved nothing but with `ralph trust`.
fn unapproved<'a>(scene: &'a Sandbox, words: &str) -> crate::sandbox::Call<'a> {
    scene.call(words).env("SPECKIT_RALPH_TRUST", "")
}

#[test]
fn commands_that_arrive_with_a_clone_run_only_after_an_approval() {
    let scene = cloned();
    for words in ["-n 1", "run -n 1", "run --task T001", "--tasks specs/001-login/tasks.md"] {
        let run = unapproved(&scene, words).run().code(3);
        let expected = "names commands that you have not approved in this repository:\n  \
            agents.fake.command = [\"sh\",\"agent.sh\"]  (.specify/ralph.toml:5)\n  \
            validation.command = \"touch ../owned\"  (.specify/ralph.toml:1)\n\
            hint: read them, then `specify ralph trust` approves them; `--trust` does so for one call\n";
        assert!(run.talk().ends_with(expected), "{run}");
    }
    assert!(!scene.outside("owned").exists() && scene.sessions().is_empty());
    unapproved(&scene, "doctor")
        .run()
        .code(1)
        .stdout_has("WRONG  trust         .specify/ralph.toml names commands");
    unapproved(&scene, "trust --show").run().code(1).stdout_has("not approved in this repository");
    unapproved(&scene, "trust").run().code(0).stdout_has("\napproved in this repository\n");
    unapproved(&scene, "trust --show").run().code(0);
    unapproved(&scene, "-n 1").run().code(4);
    assert!(scene.outside("owned").exists());
    // A session that was begun is resumed in the same way.
    unapproved(&scene, "trust --revoke").run().code(0).stdout_has("approved in this repository any more");
    unapproved(&scene, "trust --revoke").run().code(0).stdout("nothing was approved in this repository\n");
    unapproved(&scene, "resume -n 1").run().code(3).stderr_has("have not approved");
}

#[test]
fn a_pipe_in_the_place_of_the_approvals_holds_nobody_up() {
    let scene = cloned();
    let approvals = scene.outside("home/.local/state/specify-ralph/trust");
    unapproved(&scene, "trust").env("XDG_STATE_HOME", "").run().code(0);
    let file = fs::read_dir(&approvals).unwrap().next().expect("something was approved").unwrap().path();
    fs::remove_file(&file).unwrap();
    assert!(std::process::Command::new("mkfifo").arg(&file).status().unwrap().success());
    for (words, code) in [("-n 1", 3), ("trust --show", 1), ("trust", 1), ("trust --revoke", 0), ("trust", 0)]
    {
        let run = unapproved(&scene, words).env("XDG_STATE_HOME", "").run().code(code);
        assert!(code == 0 || run.talk().contains(file.to_str().unwrap()), "{run}");
    }
    assert!(!scene.outside("owned").exists());
}

#[test]
fn another_file_for_git_config_changes_no_setting() {
    let scene = Sandbox::with_succeeding_agent(1);
    let other = scene.outside("other");
    fs::write(&other, "[ralph]\n\tmaxIterations = 77\n\tallowLinks = /\n").unwrap();
    scene.git("config ralph.maxIterations 33");
    let shown = scene.call("config").env("GIT_CONFIG", &other).run().code(0);
    shown
        .stdout_has("git config ralph.maxIterations (local)")
        .stdout_lacks("77")
        .stdout_lacks("allowLinks = /");
}

#[test]
fn rules_that_arrive_with_a_clone_hide_no_command_and_show_no_secret() {
    let token = format!("ghp_{}", "a1B2".repeat(9));
    let scene = cloned();
    let configured = scene.read(".specify/ralph.toml");
    scene.git(["config", "ralph.model", &token]);
    for rule in ["rules = ['.+']", "allow = ['.+']", "terminal = false"] {
        scene.write(".specify/ralph.toml", format!("redaction.{rule}\n{configured}"));
        for words in ["trust --show", "trust --show --json"] {
            unapproved(&scene, words).run().code(1).stdout_has("touch ../owned");
        }
        for words in ["config", "config --json"] {
            let run = unapproved(&scene, words).run().code(0);
            assert!(!String::from_utf8_lossy(&run.stdout).contains(&token), "{rule}: {run}");
        }
    }
    unapproved(&scene, "config").run().code(0).stdout_has("[redacted:");
    unapproved(&scene, "trust").run().code(0);
    unapproved(&scene, "config").run().code(0).stdout_has(&token);
}

#[test]
fn an_approval_is_of_these_commands_in_this_repository() {
    let scene = cloned();
    unapproved(&scene, "trust").run().code(0);
    scene.config("timeout = '5m'");
    unapproved(&scene, "-n 1").run().code(4);
    for change in ["hooks.on-finish = 'true'", "redaction.allow = ['x']", "[agents.fake.env]\nPATH = 'x'"] {
        let before = scene.read(".specify/ralph.toml");
        let text = if change.starts_with('[') {
            format!("{before}{change}\n")
        } else {
            format!("{change}\n{before}")
        };
        scene.write(".specify/ralph.toml", text);
        unapproved(&scene, "-n 1").run().code(3).stderr_has("have not approved");
        scene.write(".specify/ralph.toml", before);
    }
    scene.git(["worktree", "add", "--quiet", "../second", "-b", "second"]);
    scene.write("../second/.specify/ralph.toml", scene.read(".specify/ralph.toml"));
    unapproved(&scene, "-n 1").dir("../second").run().code(4);
    scene.git(["clone", "--quiet", ".", "../clone"]);
    unapproved(&scene, "-n 1").dir("../clone").run().code(3).stderr_has("have not approved");
}

#[test]
fn what_the_user_names_needs_no_approval_and_the_file_cannot_approve_itself() {
    let scene = cloned();
    let own = "-n 1 --validate true --agent-command true";
    unapproved(&scene, own).run().code(4);
    unapproved(&scene, "-n 1 --trust").run().code(4);
    scene.git("config ralph.trust always");
    unapproved(&scene, "-n 1").run().code(4);
    scene.git("config --unset ralph.trust");
    for key in ["trust = 'always'", "sync.confirmed = true"] {
        let before = scene.read(".specify/ralph.toml");
        scene.write(".specify/ralph.toml", format!("{key}\n{before}"));
        unapproved(&scene, "-n 1").run().code(3).stderr_has("the project's file cannot set `");
        scene.write(".specify/ralph.toml", before);
    }
    scene.agent("[agents.claude]\ncommand = ['sh', 'agent.sh']\n");
    let settings = scene.read(".specify/ralph.toml").replace("\"fake\"", "\"claude\"");
    scene.write(".specify/ralph.toml", settings);
    unapproved(&scene, "-n 1").run().code(3).stderr_has(", changes the known agent claude)");
}

#[test]
fn commands_that_read_run_nothing_that_a_clone_names() {
    let scene = cloned();
    let agent = "agent = 'fake'\nprogress.strategy = 'llm-summarized'\nprogress.command = 'touch ../owned'\n\
        history.mode = 'full'\nhistory.summarize = 'touch ../owned'\nhooks.on-finish = 'touch ../owned'\n\
        validation.command = 'touch ../owned'\n[agents.fake]\ncommand = 'touch ../owned'\n\
        [agents.claude]\ncommand = 'touch ../owned'\n";
    unapproved(&scene, "-n 1 --validate false --agent-command true").run().code(4);
    scene.write(".specify/ralph.toml", agent);
    for words in [
        "status",
        "tasks",
        "log",
        "show",
        "stats",
        "report",
        "history",
        "progress",
        "config",
        "agents",
        "doctor",
        "run --dry-run",
        "replay",
        "fsck",
        "diff 0 1",
        "trust --show",
        "hint x",
        "rebuild --check",
    ] {
        let run = unapproved(&scene, words).run();
        assert!(!scene.outside("owned").exists(), "{words}: {run}");
    }
}

#[test]
fn a_file_of_the_project_cannot_choose_an_address_to_sync_with() {
    let scene = Sandbox::new();
    scene.agent_script(WILLING_AGENT).commit("An agent");
    scene.with_remote();
    let evil = scene.outside("evil.git");
    scene.git(["init", "--quiet", "--bare", evil.to_str().unwrap()]);
    scene.ralph("").code(0);
    let path = evil.to_str().unwrap().to_owned();
    let configured = scene.read(".specify/ralph.toml");
    for address in [
        path.as_str(),
        &format!("file://{path}"),
        "../evil.git",
        ".",
        "evil.example:records.git",
        "https://evil.example/x",
        "ext::sh -c touch% owned",
        "--upload-pack=touch owned",
        "-c",
        "origin/../../evil.git",
        "origin ",
    ] {
        scene.write(".specify/ralph.toml", format!("remote = {address:?}\n{configured}"));
        for words in ["sync", "sync --push-only"] {
            let run = scene.ralph(words).code(3);
            assert!(run.talk().contains(".specify/ralph.toml:1: `"), "{address}: {run}");
            assert!(run.talk().contains("hint: "), "{address}: {run}");
        }
        let table = format!("{configured}\n[loop.implement]\nremote = {address:?}\n");
        scene.write(".specify/ralph.toml", table);
        scene.ralph("sync").code(3);
        let id = scene.session().id().to_owned();
        scene.ralph(["purge", &id]).code(3);
    }
    assert_eq!(scene.git_in(&evil, "for-each-ref"), "");
    assert!(!scene.path("owned").exists());
    // What the user says is done.
    scene.write(".specify/ralph.toml", format!("remote = \"origin\"\n{configured}"));
    scene.ralph("sync").code(0);
    scene.git(["config", "ralph.remote", &path]);
    scene.ralph("sync").code(0);
    assert_eq!(scene.git_in(&evil, "for-each-ref --format=%(refname) refs/ralph/").lines().count(), 1);
    scene.git("config --unset ralph.remote");
    scene.ralph(["sync", &path]).code(0).stdout_has("nothing to bring together");
    let other = scene.outside("other.git");
    scene.git(["init", "--quiet", "--bare", other.to_str().unwrap()]);
    scene.call("sync").env("SPECKIT_RALPH_REMOTE", &other).run().code(0);
    assert_eq!(scene.git_in(&other, "for-each-ref --format=%(refname) refs/ralph/").lines().count(), 1);
}

#[test]
fn an_artifact_of_a_loop_type_lies_in_the_project() {
    let scene = Sandbox::new();
    scene.agent_script("[[turn]]\ndo = [{ say = \"done\" }]\n").validate("true");
    let configured = scene.read(".specify/ralph.toml");
    for artifact in ["/etc/passwd", "../../../outside.md", "a/../../../../x"] {
        let table = format!("{configured}\n[loop.plan]\nartifact = {artifact:?}\n");
        scene.write(".specify/ralph.toml", table);
        scene.ralph("--loop plan --feature 001-login").code(3).stderr_has("lies outside of the project");
    }
    let table = format!("{configured}\n[loop.plan]\nartifact = \"../../docs/plan.md\"\n");
    // `rebuild` looks for progress.txt beside the artifact.
    scene.journal_differs().write(".specify/ralph.toml", table).write("docs/plan.md", "a plan\n");
    scene.ralph("--loop plan --feature 001-login -n 1").code(0);
    let path = scene.session().end()["artifact"]["path"].as_str().unwrap().to_owned();
    assert_eq!(path, "docs/plan.md");
}

#[test]
fn a_resumed_session_keeps_the_commands_of_its_flags_if_this_clone_vouches_for_them() {
    let scene = Sandbox::new();
    scene.tasks("- [ ] T001 A\n- [ ] T002 B\n- [ ] T003 C\n");
    scene.write("agent.sh", "sed -i '0,/\\[ \\]/s//[x]/' \"$RALPH_TASKS\"\n").commit("An agent");
    scene.ralph(["-n", "1", "--agent-command", "sh agent.sh", "--validate", "test -e agent.sh"]).code(4);
    scene.ralph("resume -n 1").code(4);
    let second = scene.session().iteration(2);
    assert_eq!((&second["agent"], &second["outcome"]), (&"command".into(), &"success".into()));
    assert_eq!(second["validation_command"], "test -e agent.sh");
    // What is set now is compared, not replaced.
    is_refused(&scene, "resume --validate true", "validation.command", "(--validate)");
    // Without the key of this clone, the record is but a claim.
    fs::remove_file(scene.path(".git/ralph/key")).unwrap();
    scene.ralph("resume").code(3);
    assert_eq!(scene.session().iterations().len(), 2);
}

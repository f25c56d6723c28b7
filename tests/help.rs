//! What can be read beside the commands: topics, manual pages, completions.

use crate::sandbox::{Program, Sandbox, WILLING_AGENT};

#[test]
fn the_page_on_the_format_names_all_that_a_real_record_holds() {
    let scene = Sandbox::new();
    scene.tasks("- [ ] T001 One\n- [ ] T002 Two");
    scene.agent_script(WILLING_AGENT);
    scene.validate("true").ralph("").code(0);
    let page = scene.ralph("help format").code(0).text();
    let trailers = scene.git("log --format=%(trailers:only,unfold) --glob=refs/ralph*/*");
    let files = scene.git("log --format= --name-only --glob=refs/ralph/*");
    let keys = trailers.lines().filter_map(|line| line.split_once(':')).map(|(key, _)| key);
    let held: Vec<&str> = keys.chain(files.lines()).filter(|name| !name.is_empty()).collect();
    assert!(held.contains(&"Ralph-Outcome") && held.contains(&"iteration.json"), "{held:?}");
    for name in held {
        assert!(page.contains(name), "{name} is not in the page");
    }
}

#[test]
fn help_is_there_for_every_command_and_topic_and_near_misses_get_a_hint() {
    let scene = Sandbox::new();
    let run = scene.ralph("help log").code(0);
    assert_eq!(run.text(), scene.ralph("log --help").code(0).text());
    assert_eq!(scene.ralph("help").code(0).text(), scene.ralph("--help").code(0).text());
    scene.ralph("help stopping").code(0).stdout_has("agent_unusable");
    scene.ralph("help nmaes").code(2).stderr_has("did you mean `names`?");
    scene.ralph("help wombat").code(2).stderr_has("topics are configuration, format, names, stopping");
}

#[test]
fn manual_pages_are_written_under_both_names() {
    let scene = Sandbox::new();
    let dir = scene.outside("man1");
    scene.ralph(["man", "--dir", &dir.display().to_string()]).code(0).stdout_has("read them with `man -M`");
    for page in ["specify-ralph.1", "specify-ralph-log.1", "git-ralph.1", "git-ralph-show.1"] {
        let text = std::fs::read_to_string(dir.join(page)).expect(page);
        let title = format!(".TH {} 1", page.trim_end_matches(".1"));
        assert!(text.contains(&title), "{page}: {text}");
    }
    let git = scene.call("man").program(Program::GitRalph).run().code(0);
    assert_eq!(git.stdout, scene.ralph("man").code(0).stdout);
}

#[test]
fn init_writes_files_that_change_nothing_and_never_over_others() {
    let scene = Sandbox::new();
    scene.tasks("- [ ] T001 One").config("max-iterations = 10");
    let before = scene.ralph("run --dry-run").code(0).text();
    std::fs::rename(scene.path(".specify/ralph.toml"), scene.outside("kept.toml")).expect("it is there");
    scene.ralph("init --template").code(0).stdout(
        "wrote .specify/ralph.toml\nwrote .specify/templates/ralph-prompt.md\nnext: `specify ralph doctor`\n",
    );
    let settings = scene.read(".specify/ralph.toml");
    assert!(settings.lines().all(|line| line.is_empty() || line.starts_with("# ")), "{settings}");
    for (key, entry) in
        scene.call("config --json").judged().checked().run().code(0).json().as_object().expect("an object")
    {
        // The sandbox sets these.
        let is_approval = ["trust", "sync.confirmed"].contains(&key.as_str());
        assert_eq!(entry["origin"] == "default", !is_approval, "{key}");
    }
    assert_eq!(scene.ralph("run --dry-run").code(0).text(), before);
    scene.write(".specify/ralph.toml", "max-iterations = 3\n");
    scene.ralph("init").code(0).stdout_has(".specify/ralph.toml already exists, and is not changed\n");
    assert_eq!(scene.read(".specify/ralph.toml"), "max-iterations = 3\n");
}

#[test]
#[cfg(target_os = "linux")]
fn the_doctor_says_which_sandbox_would_be_used_or_what_is_missing() {
    let scene = Sandbox::with_succeeding_agent(1);
    scene.program("bwrap", "[ \"$1\" != --version ] || echo bubblewrap 9.9.9");
    scene.ralph("doctor").code(0).stdout_has("sandbox off; --sandbox would use bwrap 9.9.9");
    scene.program("bwrap", "[ \"$1\" = --version ] || { echo no namespace >&2; exit 1; }");
    let said =
        scene.ralph("doctor").code(0).stdout_has("! sandbox      off; sandbox `bwrap` cannot run a command:");
    said.stdout_has("no namespace").stdout_has("sysctl ");
    scene.program("srt", "exit 1").config("sandbox = 'srt'");
    let said = scene.ralph("doctor").code(1).stdout_has("✘ sandbox      ");
    said.stdout_has("npm install -g @anthropic-ai/sandbox-runtime");
}

#[test]
fn the_doctor_says_what_is_wrong_and_what_mends_it() {
    let scene = Sandbox::new();
    scene.tasks("- [ ] T001 One").agent_script("[[turn]]\ndo = [{ tick = \"current\" }]").ralph("").code(0);
    let fine = scene.ralph("doctor").code(0);
    fine.stdout_has("agents scripted")
        .stdout_has("the agent runs any command without asking")
        .stdout_has("nothing to fix, ");
    scene.write(".specify/ralph.toml", "timeuot = \"5m\"\n");
    scene.ralph("doctor").code(1).stdout_has("✘ settings     ").stdout_has("did you mean `timeout`?");
    scene.write(".specify/ralph.toml", "permissions = \"read-only\"\n");
    let findings = scene.ralph("doctor --json").code(1).json();
    let about = |name: &str| {
        let found = findings.as_array().and_then(|list| list.iter().find(|finding| finding["about"] == name));
        found.cloned().unwrap_or_default()
    };
    assert_eq!(about("agents")["state"], "wrong");
    let place = scene.repo().join(".git").canonicalize().expect("it is there");
    assert_eq!(about("repository")["message"], place.to_str().expect("it is text"));
    std::fs::rename(scene.path("specs"), scene.path("elsewhere")).expect("it is ours");
    scene.write(".specify/init-options.json", r#"{"ai": "some-editor"}"#);
    let said = scene.ralph("doctor").code(1);
    said.stdout_has("/specs/ contains none\n               → make one with spec-kit").stdout_has(
        "! agents       spec-kit is set up for some-editor (.specify/init-options.json), which is not",
    );
    assert_eq!((&about("permissions")["state"], &about("git")["state"]), (&"fine".into(), &"fine".into()));
    scene.skip_final_fsck();
}

#[test]
fn the_doctor_looks_at_hooks_leftovers_sharing_and_on_request_at_the_remote() {
    let scene = Sandbox::with_succeeding_agent(1);
    let bare = scene.with_remote();
    scene.agent_uses_git();
    scene.ralph("").code(0);
    let said = scene.ralph("doctor").code(0).stdout_has("1 session recorded");
    said.stdout_has("specs/001-login")
        .stdout_has("iB free")
        .stdout_has("hooks not installed")
        .stdout_lacks("remote");
    let finding = |scene: &Sandbox, words: &str, state: &str, parts: &[&str]| {
        let run = scene.ralph(words).code(i32::from(state == "✘"));
        for part in parts {
            assert!(run.text().contains(part), "`{part}` expected of {run}");
        }
        assert!(run.text().lines().any(|line| line.starts_with(state)), "{run}");
    };
    finding(&scene, "doctor --remote", "✔", &["origin is reachable, and has 0 sessions"]);
    scene.ralph("sync").code(0);
    finding(&scene, "doctor --remote origin", "✔", &["origin is reachable, and has 1 session"]);
    assert_eq!(scene.git_in(&bare, "for-each-ref refs/ralph/probe"), "");
    finding(&scene, "doctor --remote nowhere", "✘", &["there is no remote `nowhere`"]);
    finding(
        &scene,
        "doctor --remote /nowhere",
        "✘",
        &["does not appear to be a git repository", "git ls-remote"],
    );
    scene.git("config --add remote.origin.fetch +refs/ralph/*:refs/ralph/*");
    scene.ralph("doctor").code(0);
    scene.git("config fetch.prune true");
    finding(
        &scene,
        "doctor",
        "✘",
        &["a fetch deletes sessions that were not pushed yet", "specify ralph sync"],
    );
    scene.git("config remote.origin.prune false");
    scene.ralph("hooks install").code(0);
    scene.git("update-ref refs/ralph-incoming/0 HEAD");
    scene.write(".git/index.lock", "");
    let parts = ["prepare-commit-msg", "a sync was cut off, and left 1 ref", "index.lock exists"];
    finding(&scene, "doctor", "!", &parts);
    std::fs::remove_file(scene.path(".git/index.lock")).expect("it is there");
    let hook = scene.read(".git/hooks/prepare-commit-msg").replace("addIfDifferent", "add");
    scene.write(".git/hooks/prepare-commit-msg", hook);
    finding(
        &scene,
        "doctor",
        "!",
        &["installed by another version: prepare-commit-msg", "hooks install` updates"],
    );
    scene.ralph("fsck --repair").code(0);
    scene.config("commit = 'task'").git("checkout --quiet --detach");
    finding(&scene, "doctor", "✘", &["HEAD is detached", "git switch -c NAME"]);
    scene
        .call("doctor")
        .env("SPECIFY_INIT_DIR", "nowhere")
        .run()
        .code(1)
        .stdout_has("SPECIFY_INIT_DIR names");
}

#[test]
fn the_short_help_is_one_screen_and_help_all_is_the_long_one() {
    let scene = Sandbox::new();
    let short = scene.ralph("-h").code(0).stderr("").text();
    assert!(short.lines().count() <= 27 && short.contains("\nLook     status "), "{short}");
    assert_eq!(scene.ralph("help --all").code(0).text(), scene.ralph("--help").code(0).text());
    scene.ralph("log -h").code(0).stdout_has("--failed").stdout_lacks("Look  ");
    scene.ralph("help --all log").code(2).stderr_has("cannot be used with");
}

#[test]
fn merged_commands_do_what_their_former_names_do() {
    let scene = Sandbox::new();
    scene.tasks("- [ ] T001 One\n- [ ] T002 Two").agent_script(WILLING_AGENT).ralph("-n 1").code(4);
    for (now, formerly) in [
        ("status --tasks", "tasks"),
        ("status --tasks --json", "tasks --json"),
        ("status --tasks specs/001-login/tasks.md", "tasks --file specs/001-login/tasks.md"),
    ] {
        assert_eq!(scene.ralph(now).code(0).text(), scene.ralph(formerly).code(0).text(), "{now}");
    }
    for words in ["util replay --json", "debug excerpt", "util"] {
        scene.ralph(words).code(2).stderr_has("is gone\nhint: its commands go without it");
    }
    let memory = scene.ralph("memory --json").code(0).json();
    assert_eq!(memory["history"], scene.ralph("history --json").code(0).json());
    let progress = scene.ralph("progress --json").code(0).json()["progress"].as_str().unwrap().to_owned();
    // The prompt of the next task says of which task the iteration was.
    let told = memory["progress"].as_str().unwrap().replace(", another task\n", "\n");
    assert_eq!(told, progress);
    let text = scene.ralph("memory --with-history").code(0).text();
    assert!(
        text.contains("\n## Iteration A1\n") && text.contains("\nOlder iterations\nT002: smart"),
        "{text}"
    );
    scene.ralph("status --tasks --watch").code(2).stderr_has("cannot be used with");
    for (words, gone) in [("clean --pack", "--pack"), ("pack", "pack")] {
        let hint = format!("`{gone}` is gone\nhint: a loop has git pack what is loose");
        scene.ralph(words).code(2).stderr_has(&hint);
    }
}

#[test]
fn at_most_thirty_one_commands_are_listed() {
    let help = Sandbox::new().ralph("help --all").code(0).text();
    let commands = help.split_once("Commands:\n").and_then(|(_, rest)| rest.split_once("\n\n"));
    let listed = commands.map_or(0, |(commands, _)| commands.lines().count());
    assert!(
        (20..=31).contains(&listed),
        "{listed} commands are listed; a flag of another one may serve as well"
    );
}

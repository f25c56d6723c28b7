//! What a loop refuses to start on: each with its own sentence and hint, exit code 3, and nothing written.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use crate::sandbox::{Run, Sandbox};

const TICK: &str = "[[turn]]\ndo = [{ tick = \"current\" }]\n";

/// A project in which a loop would start.
fn ready() -> Sandbox {
    let scene = Sandbox::new();
    scene.agent_script(TICK).commit("Ready");
    scene
}

/// Calls, and sees to it that nothing at all was written.
#[track_caller]
fn refused(scene: &Sandbox, words: &str, code: i32) -> Run {
    let before = scene.everything();
    let run = scene.ralph(words).code(code);
    assert!(run.stdout.is_empty(), "{run}");
    let after = scene.everything();
    let changed: Vec<_> =
        after.keys().chain(before.keys()).filter(|path| before.get(*path) != after.get(*path)).collect();
    assert!(changed.is_empty(), "`{words}` wrote {changed:?}");
    run
}

#[track_caller]
fn case(scene: &Sandbox, words: &str, sentence: &str, hint: &str) {
    let run = refused(scene, words, 3);
    let said = run.talk();
    assert!(said.starts_with("error: "), "{said}");
    run.stderr_has(sentence).stderr_has("\nhint: ").stderr_has(hint);
}

#[test]
fn without_a_repository() {
    let scene = Sandbox::without_repository("plain");
    case(&scene, "", "is not inside a git repository", "git init");
}

#[test]
fn in_a_bare_repository() {
    let scene = Sandbox::without_repository("bare.git");
    scene.git("init --quiet --bare .");
    case(&scene, "", "is a bare repository", "git worktree add");
}

#[test]
fn without_a_feature() {
    let scene = Sandbox::without_repository("project");
    scene.git("init --quiet .");
    case(&scene, "", "there is no feature", "/speckit.specify");
}

#[test]
fn with_several_features() {
    let scene = ready();
    scene.write("specs/002-logout/tasks.md", "- [ ] T001 One\n").commit("Another");
    scene.git("switch --quiet --create work");
    case(&scene, "", "several features have open tasks: 001-login, 002-logout", "--feature 001-login");
    case(&scene, "--feature 003-x", "there is no feature `003-x`", "001-login, 002-logout");
}

#[test]
fn with_a_feature_file_that_says_nothing() {
    let scene = ready();
    for (text, sentence) in [
        ("{", "is not JSON"),
        ("{}", "has no text `feature_directory`"),
        ("{\"feature_directory\": \"specs/009-gone\"}", "which does not exist"),
    ] {
        scene.write(".specify/feature.json", text);
        case(&scene, "", sentence, "");
    }
}

#[test]
fn with_a_task_list_that_is_none() {
    let scene = ready();
    let tasks = "specs/001-login/tasks.md";
    for (text, sentence, hint) in [
        (&b""[..], "is empty", "/speckit.tasks"),
        (b"# Tasks\n\nNone yet.\n", "has no tasks", "`- [ ] T001 ...`"),
        (b"- [] T001 One\n", "only boxes with unknown marks", "a space between the brackets"),
        (b"- [ ] T001 caf\xe9\n", "not UTF-8: byte 14", "UTF-8"),
        (b"# Tasks: [FEATURE NAME]\n\n- [ ] T001 Sample\n", "template", "/speckit.tasks"),
    ] {
        scene.write(tasks, text);
        case(&scene, "", sentence, hint);
    }
    fs::remove_file(scene.path(tasks)).unwrap();
    case(&scene, "", "there is no task list at", "--tasks");
    fs::create_dir(scene.path(tasks)).unwrap();
    case(&scene, "", "is a directory, not a task list\nhint: name a Markdown file with a task list", "");
    scene.write("specs/001-login/tasks.md/tasks.md", "- [ ] T001 One\n");
    case(
        &scene,
        "",
        "is a directory, not a task list\nhint: there is a task list in it: ",
        "tasks.md/tasks.md",
    );
}

#[test]
fn with_a_file_that_lies_elsewhere_or_nowhere() {
    let scene = ready();
    fs::write(scene.outside("PLAN.md"), "- [ ] One\n").unwrap();
    case(&scene, "--tasks ../PLAN.md", "lies outside the repository", "");
    case(&scene, "--tasks PLAN.md", "there is no task list at", "--tasks takes the path");
    case(&scene, "--tasks specs", "is a directory, not a task list", "");
    case(&scene, "--task T009", "there is no task T009", "specify ralph tasks");
}

#[test]
fn with_an_agent_that_is_not_there() {
    let scene = ready();
    case(&scene, "--agent cluade", "unknown agent `cluade`", "known agents are");
    scene.agent("[agents.fake]\ncommand = [\"no-such-agent\"]\n");
    case(&scene, "", "no program `no-such-agent` on the PATH", "install it");
    scene.agent("[agents.fake]\ncommand = [\"./agent.bin\"]\n");
    case(&scene, "", "there is no program", "correct its command");
    scene.write("agent.bin", "#!/bin/sh\n");
    case(&scene, "", "is not executable", "chmod +x");
    scene.agent("[agents.fake]\ncommand = [\"sh\", \"{model}\"]\n");
    case(&scene, "", "no model is set", "--model");
    scene.agent("[agents.other]\ncommand = [\"sh\"]\n");
    case(&scene, "", "unknown agent `fake`", "");
    scene.agent_script("[[turns]]");
    let before = scene.everything();
    scene.ralph("").code(3).stderr_has("read the script").stderr_has("turns");
    assert_eq!(scene.everything(), before);
}

#[test]
fn with_a_command_of_which_the_program_is_not_there() {
    let scene = ready();
    case(&scene, "--agent-command /nonexist/foo", "there is no program /nonexist/foo", "--agent-command");
    case(&scene, "--agent-command no-such-agent", "no program `no-such-agent` on the PATH", "install it");
    let run = scene.ralph(["--agent-command", "no-such-agent; no-such-agent -p"]).code(6);
    run.stdout_has("is not installed").stdout_has("not_installed");
    assert_eq!(scene.session().trailers("Ralph-Outcome"), ["interrupted", "interrupted"]);
}

#[test]
fn with_an_agent_that_is_on_the_path_and_does_not_work() {
    let scene = ready();
    scene.program("codex", "echo 'native binary not installed' >&2; exit 1");
    let words = "`codex --version` fails: native binary not installed";
    case(&scene, "--agent codex", words, "install it again (");
    scene.ralph("doctor").stdout_has(words);
    scene
        .ralph("--agent scripted,codex")
        .code(0)
        .stderr_has("continuing without it: `codex --version` fails: native binary not installed");
}

#[test]
fn without_any_agent_that_is_known() {
    let scene = Sandbox::new();
    // What is on the PATH of the machine must not matter here: git alone is.
    scene.link("git");
    let before = scene.everything();
    let bin = scene.outside("bin");
    let run = scene.call("").env("PATH", bin).run();
    run.code(3).stderr_has("no known agent is installed").stderr_has("hint: install one");
    assert_eq!(scene.everything(), before);
}

#[test]
fn with_a_broken_template() {
    let scene = ready();
    for (text, sentence) in [
        ("{{ no_such_name }}", "no_such_name"),
        ("{% if x %}", "template"),
        ("{{#if tasks_open}}x{{/if}}", "Handlebars"),
        ("line\n{{ phase-number }}", "phase_number"),
    ] {
        scene.write(".specify/templates/ralph-prompt.md", text);
        case(&scene, "", sentence, "");
    }
    scene.write(".specify/templates/ralph-prompt.md", b"caf\xe9");
    let before = scene.everything();
    scene.ralph("").code(3).stderr_has("ralph-prompt.md");
    assert_eq!(scene.everything(), before);
}

#[test]
fn with_broken_settings() {
    let scene = ready();
    for (text, sentence) in [
        ("agent = ", "ralph.toml"),
        ("max-iteratoins = 3\n", "did you mean `max-iterations`"),
        ("max-iterations = \"many\"\n", "max-iterations"),
        ("timeout = \"soon\"\n", "timeout"),
        ("redaction.rules = [\"(\"]\n", "redaction.rules"),
    ] {
        scene.write(".specify/ralph.toml", text);
        refused(&scene, "", 3).stderr_has(sentence).stderr_has(".specify/ralph.toml");
        refused(&scene, "config", 3).stderr_has(sentence);
    }
    scene.agent_script(TICK);
    scene.git("config ralph.maxIteratoins 3");
    refused(&scene, "", 3).stderr_has("ralph.maxIterations");
    scene.git("config --unset ralph.maxIteratoins");
    let run = scene.call("").env("SPECKIT_RALPH_TIMEOUT", "soon").run();
    run.code(3).stderr_has("SPECKIT_RALPH_TIMEOUT");
}

#[test]
fn with_a_progress_file_that_cannot_be_written() {
    let scene = ready();
    fs::create_dir(scene.path("specs/001-login/progress.txt")).unwrap();
    case(&scene, "", "progress.txt is a directory", "move it away");
    fs::remove_dir(scene.path("specs/001-login/progress.txt")).unwrap();
    // Whoever opens a pipe waits for the other end.
    scene.hermetic("mkfifo").arg(scene.path("specs/001-login/progress.txt")).status().unwrap();
    scene.ralph("").code(3).stderr_has("progress.txt is not a regular file").stderr_has("move it away");
    fs::remove_file(scene.path("specs/001-login/progress.txt")).unwrap();
    scene.write("specs/001-login/progress.txt", "mine\n");
    let path = scene.path("specs/001-login/progress.txt");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o444)).unwrap();
    // Permissions do not hold back everybody.
    if fs::OpenOptions::new().append(true).open(&path).is_err() {
        case(&scene, "", "progress.txt cannot be written", "chmod u+w");
    }
}

#[test]
fn in_an_iteration_of_the_same_repository_all_that_is_more_than_reading() {
    let scene = ready();
    let program = scene.outside("installed/specify").display().to_string();
    let mut script = "cat > /dev/null\n".to_owned();
    let calls = [
        "run",
        "resume",
        "hint --task T001 approved",
        "accept T001",
        "restore 1",
        "clean",
        "stop",
        "trust",
        "init",
    ];
    for (number, words) in calls.iter().chain(&["status", "log", "hint", "config"]).enumerate() {
        // What a caller does to its variables and its session is no way around.
        let before = ["", "env -u RALPH_SESSION ", "env -i HOME=$HOME PATH=$PATH "][number % 3];
        script.push_str(&format!("{before}{program} ralph {words} > out 2>&1; echo \"$? $(grep -c 'this is an iteration of session' out)\"\n"));
    }
    // A project that tests this program runs it elsewhere.
    script.push_str(&format!(
        "rm out; d=$(mktemp -d); git init --quiet $d; cd $d; {program} ralph stop 2>&1 | grep -c 'no loop is running in this repository'; rm -rf $d\n\
         cd - > /dev/null; sed -i 's/\\[ \\]/[x]/' \"$RALPH_TASKS\"; echo x > work\n"
    ));
    scene.agent_sh(&script).commit("Ready");
    // The variable alone, as one that a hook at the end of a session hands on, is none.
    scene.call("").env("RALPH_SESSION", "20260101-000000-00000000").run().code(0);
    let said = scene.session().text(1, "agent/stdout");
    let expected = calls.iter().map(|_| "3 1").chain(["0 0", "0 0", "0 0", "0 0", "1"]);
    assert_eq!(said.lines().collect::<Vec<_>>(), expected.collect::<Vec<_>>(), "{calls:?}");
}

#[test]
fn where_a_ref_of_another_tool_is_in_the_way() {
    let scene = ready();
    scene.git("update-ref refs/ralph/001-login HEAD");
    case(&scene, "", "refs/ralph/001-login is a ref of another tool", "git update-ref");
}

#[test]
fn in_a_repository_of_somebody_else() {
    let scene = ready();
    let before = scene.everything();
    for command in ["", "log", "status", "rebuild"] {
        let run = scene.call(command).env("GIT_TEST_ASSUME_DIFFERENT_OWNER", "1").run();
        run.code(3).stderr_has("git does not trust the repository").stderr_has("safe.directory");
    }
    assert_eq!(scene.everything(), before);
}

#[test]
fn with_words_that_are_no_command_line() {
    let scene = ready();
    for words in
        ["--no-such-flag", "-n 0", "-n many", "stauts", "show @~x", "--set no-such-key=1", "-n 5 status"]
    {
        let run = refused(&scene, words, 2);
        assert!(run.talk().contains("error: "), "{run}");
    }
}

#[test]
fn where_all_tasks_are_done_it_says_so() {
    let scene = ready();
    scene.tasks("- [x] T001 One\n- [X] T002 Two");
    let before = scene.everything();
    scene.ralph("").code(0).stdout("specs/001-login: all done (2 tasks), nothing to do\n").stderr("");
    scene.ralph("--task T001").code(0).stdout_has("nothing to do");
    scene.ralph("run --json").code(0).stdout("");
    assert_eq!(scene.everything(), before);
}

#[test]
fn resuming_what_is_not_there_or_is_complete() {
    let scene = ready();
    case(&scene, "resume", "no recorded session can be resumed", "specify ralph");
    scene.ralph("").code(0);
    case(&scene, "resume", "is completed", "all tasks are done");
    refused(&scene, "resume 20200101-000000-00000000", 3).stderr_has("there is no session");
}

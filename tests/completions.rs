//! What a shell gets that asks for the rest of a command line.

#![expect(clippy::unwrap_used, reason = "a scene that cannot go on has failed")]

use std::fs;
use std::path::Path;

use crate::sandbox::{Program, Sandbox, WILLING_AGENT};

const TASKS: &str = "## Phase 1: Setup\n\n- [x] T001 Prepare\n- [ ] T002 Build $(touch pwned)\n\n\
                     ## Phase 2: User Story 1\n\n- [ ] T003 [US1] Log in\n- [ ] T004 [US1] Log\u{1b}[31m out";

fn scene() -> Sandbox {
    let scene = Sandbox::new();
    scene.tasks(TASKS).agent_script(WILLING_AGENT).commit("An agent");
    scene
}

/// What the program answers as the scripts of a shell ask it; the last word is the one under the cursor.
fn answer_in(scene: &Sandbox, directory: &Path, shell: &str, line: &str) -> Vec<String> {
    let program = if line.starts_with("git-ralph") { Program::GitRalph } else { Program::Specify };
    let words: Vec<&str> = line.split(' ').collect();
    let output = scene
        .hermetic(program.path())
        .env("RALPH_COMPLETE", shell)
        .env("_CLAP_COMPLETE_INDEX", (words.len() - 1).to_string())
        .arg("--")
        .args(words)
        .current_dir(directory)
        .output()
        .unwrap();
    assert!(output.status.success() && output.stderr.is_empty(), "{line}: {output:?}");
    String::from_utf8(output.stdout).unwrap().lines().map(str::to_owned).collect()
}

fn answer(scene: &Sandbox, line: &str) -> Vec<String> {
    answer_in(scene, scene.repo(), "bash", line)
}

/// What bash has after Tab, with the script that `specify ralph` or `git ralph` prints.
fn tab(scene: &Sandbox, script: &str, words: &[&str], after: &str) -> String {
    let ask = format!(
        "{script}\nCOMP_WORDS=(\"$@\"); COMP_CWORD=$(($# - 1)); words=(\"$@\"); cword=$COMP_CWORD; cur=${{!#}}; \
         __gitcomp_nl() {{ COMPREPLY=($(compgen -W \"$1\" -- \"$3\")); }}; {after}; echo \"${{COMPREPLY[@]}}\""
    );
    let mut bash = scene.hermetic("bash");
    let output = bash.args(["-c", &ask, "bash"]).args(words).current_dir(scene.repo()).output().unwrap();
    assert!(output.stderr.is_empty(), "{output:?}");
    String::from_utf8(output.stdout).unwrap().trim_end().to_owned()
}

#[test]
fn sessions_are_completed_newest_first() {
    let scene = scene();
    scene.ralph("-n 1").code(4);
    scene.ralph("-n 2").code(0);
    let mut sessions: Vec<String> = scene.sessions().iter().map(|session| session.id().to_owned()).collect();
    sessions.sort();
    sessions.reverse();
    assert_eq!(sessions.len(), 2);
    for line in ["specify ralph log --session ", "git-ralph show --session 2", "specify ralph purge 2"] {
        assert_eq!(answer(&scene, line), sessions, "{line}");
    }
    assert_eq!(answer(&scene, &format!("git-ralph resume {}", &sessions[1][..18])), sessions[1..]);
    assert_eq!(answer(&scene, "specify ralph log --feature=001-login --session 9"), [""; 0]);
}

#[test]
fn commands_flags_features_and_tasks_are_completed() {
    let scene = scene();
    scene.write("specs/002-logout/tasks.md", "- [ ] T100 Other\n");
    for (line, expected) in [
        ("specify ralph --feature ", "001-login 002-logout"),
        ("specify ralph run --feature=002", "--feature=002-logout"),
        ("specify ralph run --feature 001-login --task ", "T001 T002 T003 T004"),
        ("specify ralph run --feature=001 --task T002,T00", "T002,T001 T002,T002 T002,T003 T002,T004"),
        ("specify ralph run --feature 002-logout --task ", "T100"),
        ("git-ralph run --tasks specs/002-logout/tasks.md --task ", "T100"),
        ("specify ralph -C specs run --feature 00", "001-login 002-logout"),
        ("specify ralph rebu", "rebuild"),
        ("specify ralph log --one", "--oneline"),
        ("specify init --", "--help"),
    ] {
        assert_eq!(answer(&scene, line).join(" "), expected, "{line}");
    }
}

#[test]
fn names_that_a_shell_would_obey_are_left_out() {
    let scene = scene();
    for name in
        ["003-$(touch pwned)", "004-a b", "005-`id`", "006-a\nb", "007-a;b", "008-\u{1b}[31m", "009-é"]
    {
        fs::create_dir_all(scene.path("specs").join(name)).unwrap();
    }
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        let names = answer_in(&scene, scene.repo(), shell, "specify ralph --feature ");
        assert_eq!(names, ["001-login", "009-é"], "{shell}");
    }
}

#[test]
fn where_nothing_can_be_read_nothing_is_completed_and_nothing_is_said() {
    let scene = scene();
    let elsewhere = scene.outside("elsewhere");
    fs::create_dir(&elsewhere).unwrap();
    for line in
        ["log --session ", "--feature ", "run --task ", "-C /nowhere log --session ", "--task --feature "]
    {
        let line = format!("specify ralph {line}");
        assert_eq!(answer_in(&scene, &elsewhere, "bash", &line), [""; 0], "{line}");
    }
    fs::write(scene.path("specs/001-login/tasks.md"), b"\xff\xfe").unwrap();
    assert_eq!(answer(&scene, "specify ralph run --task "), [""; 0]);
    scene.write(".specify/ralph.toml", "[[[");
    assert_eq!(answer(&scene, "specify ralph --feature "), ["001-login"]);
    let asked =
        scene.hermetic(Program::Specify.path()).env("RALPH_COMPLETE", "bash").arg("--").output().unwrap();
    assert!(asked.status.success() && asked.stderr.is_empty(), "{asked:?}");
    // A variable alone changes no other call.
    scene.call("--version").env("RALPH_COMPLETE", "bash").run().code(0).stdout_has("specify-ralph");
}

#[test]
fn bash_completes_by_the_name_that_was_called() {
    let scene = scene();
    scene.ralph("-n 1").code(4);
    let id = scene.session().id().to_owned();
    let script = scene.ralph("completions bash").code(0).text();
    let of = |words: &[&str], after: &str| tab(&scene, &script, words, after);
    assert_eq!(of(&["specify", "ralph", "rebu"], "_clap_complete_specify - rebu"), "rebuild");
    assert_eq!(of(&["specify", "ralph", "log", "--session", ""], "_clap_complete_specify - ''"), id);
    let registered = of(&[], "complete -p specify git-ralph >&1");
    assert!(registered.contains("_clap_complete_specify specify"), "{registered}");

    // By a path that the PATH does not lead to, and by git.
    let link = scene.outside("ours");
    std::os::unix::fs::symlink(Program::Specify.path(), &link).unwrap();
    let mut call = scene.hermetic(&link);
    let call = call.env("PATH", "/usr/bin:/bin").args(["ralph", "completions", "bash"]).output().unwrap();
    let script = String::from_utf8(call.stdout).unwrap();
    let words = ["specify-ralph", "log", "--session", ""];
    assert_eq!(tab(&scene, &script, &words, "_clap_complete_specify_ralph - ''"), id);

    std::os::unix::fs::symlink(Program::GitRalph.path(), scene.outside("bin/git-ralph")).unwrap();
    let script = scene.git("ralph completions bash");
    assert!(!script.contains("specify"), "{script}");
    for words in [
        &["git", "ralph", "show", "--session", ""] as &[&str],
        &["git", "-C", ".", "ralph", "show", "--session", "2"],
    ] {
        assert_eq!(tab(&scene, &script, words, "_git_ralph"), id, "{words:?}");
    }
    assert_eq!(
        tab(&scene, &script, &["git-ralph", "stat"], "_clap_complete_git_ralph - stat"),
        "status stats"
    );
}

#[test]
fn every_shell_gets_a_script_that_asks_this_program() {
    let scene = Sandbox::new();
    for (shell, registers) in [
        ("zsh", "#compdef specify git-ralph\n"),
        ("fish", "complete --keep-order --exclusive --command specify "),
        ("powershell", "Register-ArgumentCompleter -Native -CommandName specify "),
        ("elvish", "set edit:completion:arg-completer[specify]"),
    ] {
        let script = scene.ralph(["completions", shell]).code(0);
        script.stdout_has(registers).stdout_has("git-ralph").stdout_has("RALPH_COMPLETE");
    }
    scene.ralph("completions csh").code(2).stderr_has("possible values");
}

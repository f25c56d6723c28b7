//! What is looked at before a session begins: what `run` refuses and `doctor` names, what is only said, and the header.

use std::os::unix::fs::PermissionsExt;

use serde_json::json;

use crate::sandbox::{Program, Sandbox, WILLING_AGENT};

/// Calls git, which may fail.
fn git(scene: &Sandbox, words: &[&str]) {
    let output = scene.hermetic("git").current_dir(scene.repo()).args(words).output();
    assert!(output.is_ok(), "{words:?}: {output:?}");
}

/// Two branches and two commits in a row that all change one file.
fn in_conflict() -> Sandbox {
    let scene = Sandbox::with_succeeding_agent(1);
    let write = |text: &str| scene.write("a.txt", text).commit(text);
    write("begun");
    scene.git("checkout --quiet -b other");
    write("theirs");
    scene.git("checkout --quiet main");
    write("ours");
    write("ours, later");
    scene
}

/// `run` and `doctor` refuse this in the same words; `--force` goes on where it may.
#[track_caller]
fn refused(scene: &Sandbox, about: &str, words: &[&str], yields_to_force: bool) {
    let run = scene.ralph("").code(3);
    let doctor = scene.ralph("doctor").code(1);
    let wrong = format!("✘ {about}");
    assert!(doctor.text().lines().any(|line| line.starts_with(&wrong)), "{doctor}");
    for part in words {
        assert!(run.talk().contains(part) && doctor.text().contains(part), "`{part}` of {run}\n{doctor}");
    }
    assert!(scene.sessions().is_empty());
    let forced = scene.ralph("--force -n 1");
    assert_eq!(forced.code != 3, yields_to_force, "{forced}");
    assert_eq!(forced.talk().contains("continuing anyway (--force)"), yields_to_force, "{forced}");
}

#[test]
fn an_operation_of_git_in_progress_is_refused() {
    let rebase = "git rebase --abort";
    for (words, name, hint) in [
        (&["merge", "other"][..], "a merge", "git merge --abort"),
        (&["rebase", "other"], "a rebase", rebase),
        (&["rebase", "--apply", "other"], "a rebase", rebase),
        (&["cherry-pick", "other"], "a cherry-pick", "git cherry-pick --continue"),
        (&["revert", "HEAD~1"], "a revert", "git revert --continue"),
        (&["bisect", "start"], "a bisection", "git bisect reset"),
    ] {
        let scene = in_conflict();
        scene.agent_uses_git();
        git(&scene, words);
        let message = format!("{name} is in progress in this work tree");
        refused(&scene, "operation", &[&message, hint, "--force"], true);
    }
}

#[test]
fn doctor_names_an_operation_of_git_also_without_an_agent() {
    let scene = in_conflict();
    scene.agent_uses_git();
    scene.write(".specify/ralph.toml", "");
    git(&scene, &["merge", "other"]);
    let report = scene.ralph("doctor").code(1);
    report.stdout_has("a merge is in progress in this work tree");
}

#[test]
fn what_cannot_work_is_refused_by_run_and_named_by_doctor() {
    let scene = Sandbox::with_succeeding_agent(1);
    scene.validate("no-such-check --all");
    let message = "the validation `no-such-check --all` cannot be run: `no-such-check` is not on the PATH";
    refused(&scene, "validation", &[message, "install no-such-check"], true);
    // What the shell must try is tried.
    for command in ["./no-such-check", "cd . && no-such-check", "PATH=bin no-such-check"] {
        let scene = Sandbox::with_succeeding_agent(1);
        scene.validate(command).ralph("-n 1").code(4);
        scene.ralph("doctor").code(0);
    }
    let scene = Sandbox::with_succeeding_agent(1);
    scene.agent("[agents.fake]\ncommand = [\"no-such-agent\"]\n");
    refused(&scene, "agents", &["no-such-agent"], false);
    let scene = Sandbox::with_succeeding_agent(1);
    scene.write(".specify/templates/ralph-prompt.md", "{{ featur_name }}");
    refused(&scene, "template", &["unknown name `featur_name`"], false);
    let scene = Sandbox::with_succeeding_agent(1);
    scene.write("specs/001-login/progress.txt/x", "");
    refused(&scene, "feature", &["progress.txt is a directory"], false);
    let scene = Sandbox::with_succeeding_agent(1);
    scene.config("commit = 'task'").git("checkout --quiet --detach");
    refused(&scene, "commits", &["HEAD is detached"], false);
}

#[test]
fn doctor_has_to_fix_whatever_would_stop_a_start_and_says_what_it_does_not_know() {
    let scene = Sandbox::with_succeeding_agent(1);
    let fine = scene.ralph("doctor").code(0).stdout_has("nothing to fix");
    fine.stdout_has("\n· login not checked").stdout_lacks("not run:");
    scene.validate("true");
    scene.ralph("doctor").code(0).stdout_has("\n· validation not run: `specify ralph doctor --run` does all");
    for (list, words) in [
        (None, "there is no task list"),
        (Some("# Tasks\n"), "no task"),
        (Some("- [ ] T001 One\n<<<<<<< HEAD\n- [ ] T002 Two\n=======\n>>>>>>> x\n"), "conflict"),
    ] {
        let list_file = scene.path("specs/001-login/tasks.md");
        match list {
            Some(text) => std::fs::write(list_file, text).expect("the folder is there"),
            None => std::fs::remove_file(list_file).expect("it is there"),
        }
        let refused = scene.ralph("").code(3);
        assert!(refused.talk().contains(words), "{refused}");
        scene.ralph("doctor").code(1).stdout_has("✘ feature").stdout_has(words).stdout_has("1 to fix");
    }
    std::fs::remove_dir_all(scene.path("specs")).expect("it is there");
    scene.ralph("").code(3);
    scene.ralph("doctor").code(1).stdout_has("✘ feature").stdout_has("1 to fix");
}

#[test]
fn doctor_run_tries_a_start_and_leaves_nothing_behind() {
    let scene = Sandbox::with_succeeding_agent(1);
    scene.validate("echo ran >> ../ran.txt");
    let state = |scene: &Sandbox| scene.git("for-each-ref") + &scene.git("status --porcelain --ignored");
    let before = state(&scene);
    let tried = scene.call("doctor --run").with_baseline().run().code(0);
    tried.stdout_has("✔ start would be possible").stdout_lacks("not run:");
    assert_eq!(std::fs::read_to_string(scene.outside("ran.txt")).expect("it ran"), "ran\n");
    assert_eq!((state(&scene), scene.sessions().len()), (before.clone(), 0));
    scene.nothing_is_left();
    scene.ralph("").code(0);
    // A start is refused where the validation fails already, and no hook of its end runs for a rehearsal.
    scene.tasks("- [ ] T002 Two\n- [ ] T003 Three").validate("echo 'FAILED shout'; false");
    scene.config("hooks.on-finish = 'touch ../finished'");
    let before = (state(&scene), scene.sessions().len());
    let red = scene.call("doctor --run").with_baseline().run().code(1);
    red.stdout_has("✘ start        ").stdout_has("1 to fix");
    assert_eq!((state(&scene), scene.sessions().len()), before);
    assert!(!scene.outside("finished").exists());
    scene.call("").with_baseline().run().code(3);
    // What can be known without a start comes first.
    scene.validate("no-such-check");
    let blocked = scene.call("doctor --run").with_baseline().run().code(1);
    blocked.stdout_has("· validation not run: what is to fix comes first");
}

#[test]
fn a_repository_that_cannot_be_written_is_refused_by_every_command_that_writes() {
    if rustix::process::getuid().is_root() {
        return;
    }
    let scene = Sandbox::with_succeeding_agent(1);
    let git = scene.path(".git");
    let mode =
        |bits| std::fs::set_permissions(&git, std::fs::Permissions::from_mode(bits)).expect("it is ours");
    mode(0o500);
    let refused = scene.ralph("").code(3);
    let doctor = scene.ralph("doctor").code(1);
    mode(0o700);
    refused.stderr_has("cannot write here: ").stderr_has("hint: ");
    doctor.stdout_has("✘ repository   cannot write here: ");
}

#[test]
fn the_header_says_what_decides_how_the_run_goes() {
    let scene = Sandbox::new();
    scene.tasks("- [ ] T001 One\n- [ ] T002 Two").agent_script(WILLING_AGENT).validate("true");
    let run = scene.call("-n 1").with_baseline().run().code(4);
    let version = env!("CARGO_PKG_VERSION");
    let header = format!(
        "ralph starts on specs/001-login: 0 of 2 tasks done\n  \
        agent       scripted {version}, full permissions, no sandbox\n  \
        validation  true (passes, 1.0 s)\n              its output has no counts of tests\n  \
        stops       after 1 attempt (2 tasks are open: -n 3 for more)\n"
    );
    assert!(run.text().starts_with(&header), "{run}");
    let header = format!(
        "ralph resumes on specs/001-login: 1 of 2 tasks done\n  \
        agent       scripted {version}, full permissions, no sandbox\n  \
        validation  true (passed on these files before)\n              its output has no counts of tests\n  \
        stops       after 10 attempts\n"
    );
    let run = scene.call("resume").with_baseline().run().code(0);
    assert!(run.text().starts_with(&header), "{run}");
    scene.tasks("- [ ] T001 One").write("new.txt", "");
    let started = scene.call("--json").with_baseline().run().code(0).json_lines().remove(0);
    assert_eq!(started["type"], "session_started");
    assert_eq!((&started["validation"], &started["permissions"]), (&json!("true"), &json!("full")));
    assert_eq!((&started["baseline"]["exit"], &started["is_known_to_pass"]), (&json!(0), &json!(false)));
}

#[test]
fn without_a_validation_it_is_said_that_nothing_checks_the_agent() {
    let scene = Sandbox::with_succeeding_agent(1);
    scene.write("go.mod", "module example.org/login\n");
    let proposal = "go.mod suggests --validate 'go test ./...'";
    let run = scene.ralph("").code(0);
    let run =
        run.stderr_has("warning: no validation is set: nothing checks the agent's word").stderr_has(proposal);
    run.stdout_has("  validation  none: nothing checks the agent's word\n")
        .stdout_has("\n! nothing checks the agent's word: --validate CMD\n");
    let doctor = scene.ralph("doctor").code(0);
    doctor.stdout_has("! validation   none is set: nothing checks the agent's word").stdout_has(proposal);
    // Nobody is at a terminal to confirm it.
    std::fs::remove_file(scene.path(".specify/ralph.toml")).expect("it is there");
    scene.ralph("init").code(0).stdout("wrote .specify/ralph.toml\nnext: `specify ralph doctor`\n");
    assert_eq!(scene.ralph("config --json").code(0).json()["validation.command"]["value"], json!(null));
    scene.config("validation.command = 'true'").tasks("- [ ] T001 Again");
    scene.agent_script(WILLING_AGENT);
    scene.ralph("").code(0).stderr("").stdout_lacks("nothing checks");
    scene.ralph("doctor").code(0).stdout_lacks("nothing checks");
}

#[test]
fn init_sets_a_proposed_validation_if_the_person_at_the_terminal_wants_it() {
    for (answer, expected) in [("y\n", json!("cargo test")), ("n\n", json!(null))] {
        let scene = Sandbox::new();
        scene.write("Cargo.toml", "[package]\n").write("answer", answer);
        let command = format!("'{}' ralph init", Program::Specify.path());
        let typescript = scene.outside("typescript");
        let stdin = std::fs::File::open(scene.path("answer")).expect("it was written");
        let call = scene.hermetic("script").args(["-qec", &command]).arg(&typescript).stdin(stdin).output();
        assert!(call.as_ref().is_ok_and(|output| output.status.success()), "{call:?}");
        let said = std::fs::read_to_string(typescript).expect("script wrote it");
        assert!(said.contains("Cargo.toml suggests `cargo test` as the validation"), "{said}");
        let config = scene.ralph("config --json").code(0).json();
        assert_eq!(config["validation.command"]["value"], expected, "{said}");
        // It was confirmed a moment ago.
        let call = scene.call("doctor").env("SPECKIT_RALPH_TRUST", "ask").run();
        call.stdout_lacks("not approved");
    }
}

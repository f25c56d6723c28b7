//! Links, pipes and devices where files of the project are expected.

#![expect(clippy::unwrap_used, reason = "what cannot be set up or read has failed the scene")]

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use crate::sandbox::{Run, Sandbox};

const PROGRESS: &str = "specs/001-login/progress.txt";
const TASKS: &str = "specs/001-login/tasks.md";
const PRIVATE: &str = "a private key\n- [x] T001 Write hello.txt\n";
const LEADS_OUT: &str = "it leads out of the work tree, to ";
const LEADS_INTO_GIT: &str = "it leads into a git directory, to ";

/// A scene with two tasks done and recorded, and a private file outside of the repository.
fn recorded() -> (Sandbox, PathBuf) {
    let scene = Sandbox::with_succeeding_agent(2);
    scene.ralph("").code(0);
    scene.commit("The work");
    let private = private(&scene);
    (scene, private)
}

/// A file outside of the repository.
fn private(scene: &Sandbox) -> PathBuf {
    let private = scene.outside("home/.bashrc");
    fs::write(&private, PRIVATE).unwrap();
    private
}

/// Puts a link in the place of a file of the project.
fn link(scene: &Sandbox, target: impl AsRef<Path>, path: &str) {
    let path = scene.path(path);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    let _missing = fs::remove_file(&path).is_err();
    symlink(target, path).unwrap();
}

fn fifo(scene: &Sandbox, path: &str) {
    let path = scene.path(path);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    pipe(scene, &path);
}

#[track_caller]
fn is_untouched(private: &Path) {
    assert_eq!(fs::read_to_string(private).unwrap(), PRIVATE);
}

/// All that a call printed.
fn output_of(run: &Run) -> String {
    format!("{}{}", run.text(), String::from_utf8_lossy(&run.stderr))
}

/// No object of the repository holds the private text.
#[track_caller]
fn is_not_recorded(scene: &Sandbox) {
    let objects = scene.git("cat-file --batch-check=%(objectname) --batch-all-objects");
    for object in objects.lines() {
        let bytes = scene.git_bytes(["cat-file", "-p", object]);
        assert!(!String::from_utf8_lossy(&bytes).contains("a private key"), "{object}");
    }
}

#[test]
fn no_command_reads_or_writes_progress_txt_through_a_link_out_of_the_repository() {
    for target in [None, Some("../../../home/.bashrc")] {
        let (scene, private) = recorded();
        link(&scene, target.map_or(private.clone(), PathBuf::from), PROGRESS);
        scene.journal_differs();
        scene.ralph("rebuild").code(1).stderr_has(LEADS_OUT).stderr_has("hint: ");
        scene.ralph("rebuild --all").code(1).stderr_has(LEADS_OUT);
        scene.ralph("rebuild --check").code(1).stderr_has(LEADS_OUT);
        scene.ralph("fsck --repair").code(1).stdout_lacks("private key");
        scene
            .tasks("- [ ] T003 Do it")
            .ralph("")
            .code(3)
            .stderr_has(LEADS_OUT)
            .stderr_has("ralph.allowLinks");
        is_untouched(&private);
        is_not_recorded(&scene);
        assert!(scene.path(PROGRESS).is_symlink());
    }
}

#[test]
fn no_command_writes_progress_txt_into_the_git_directory() {
    let (scene, _) = recorded();
    scene.journal_differs();
    let config = scene.bytes(".git/config");
    for target in ["../../.git/config", "../../.GIT/config", "../../specs/../.git/new"] {
        link(&scene, target, PROGRESS);
        scene.ralph("rebuild").code(1).stderr_has(LEADS_INTO_GIT);
        scene.ralph("fsck --repair").code(1);
        scene.tasks("- [ ] T003 Do it").ralph("").code(3).stderr_has(LEADS_INTO_GIT);
    }
    assert_eq!(scene.bytes(".git/config"), config);
    assert!(!scene.path(".git/new").exists());
}

#[test]
fn links_that_stay_inside_go_on_working() {
    let scene = Sandbox::with_succeeding_agent(2);
    fs::create_dir_all(scene.path("docs")).unwrap();
    fs::rename(scene.path(TASKS), scene.path("docs/list.md")).unwrap();
    link(&scene, "../../docs/list.md", TASKS);
    link(&scene, scene.path("docs/progress.txt"), PROGRESS);
    fs::rename(scene.path(".specify/ralph.toml"), scene.path("docs/ralph.toml")).unwrap();
    link(&scene, "../docs/ralph.toml", ".specify/ralph.toml");
    scene.ralph("").code(0);
    assert_eq!(scene.read("docs/list.md").matches("- [x] T00").count(), 2);
    assert!(scene.read("docs/progress.txt").contains("## Iteration 2"));
    assert!(scene.path(TASKS).is_symlink() && scene.path(PROGRESS).is_symlink());
    scene.ralph("rebuild --check").code(0);
}

#[test]
fn what_an_agent_puts_in_the_place_of_progress_txt_is_neither_written_nor_recorded() {
    for replace in [
        "rm -f \"$RALPH_PROGRESS\"; ln -s \"$HOME/.bashrc\" \"$RALPH_PROGRESS\"",
        "rm -f \"$RALPH_PROGRESS\"; ln -s ../../.git/config \"$RALPH_PROGRESS\"",
        "rm -f \"$RALPH_PROGRESS\"; mkfifo \"$RALPH_PROGRESS\"",
        "rm -f \"$RALPH_PROGRESS\"; dd of=\"$RALPH_PROGRESS\" bs=1 count=0 seek=314572800",
    ] {
        let scene = Sandbox::new();
        let private = private(&scene);
        scene.agent_sh(&format!("{replace}\necho 'Learnings:'; echo '- alias ls=evil'; tick T001"));
        scene.commit("An agent").journal_differs();
        let config = scene.bytes(".git/config");
        scene.ralph("").code(0).stdout_has("progress.txt");
        assert_eq!(scene.session().trailers("Ralph-Outcome"), ["success"]);
        assert_eq!(scene.session().end()["status"], "completed");
        is_untouched(&private);
        is_not_recorded(&scene);
        assert_eq!(scene.bytes(".git/config"), config);
        fs::remove_file(scene.path(PROGRESS)).unwrap();
        scene.ralph("").code(0).stdout_has("all done");
        assert!(scene.progress().contains("alias ls=evil"));
        is_untouched(&private);
    }
}

#[test]
fn what_an_agent_puts_in_the_place_of_the_task_list_is_neither_written_nor_recorded() {
    for replace in ["ln -s \"$HOME/.bashrc\"", "ln -s ../../.git/config", "ln -s /dev/zero", "mkfifo"] {
        let scene = Sandbox::new();
        let private = private(&scene);
        scene.agent_sh(&format!("rm -f \"$RALPH_TASKS\"; {replace} \"$RALPH_TASKS\""));
        scene.validate("false").commit("An agent");
        let config = scene.bytes(".git/config");
        scene.ralph("").stdout_has("the task list cannot be read");
        assert_eq!(scene.session().trailers("Ralph-Outcome"), ["failure"]);
        is_untouched(&private);
        is_not_recorded(&scene);
        assert_eq!(scene.bytes(".git/config"), config);
    }
}

#[test]
fn what_an_agent_puts_in_the_place_of_its_streams_is_neither_written_nor_recorded() {
    let scene = Sandbox::new();
    let private = private(&scene);
    scene.agent_sh(
        "echo said; for name in .git/ralph/spool/*/1/agent.* .git/ralph/spool/*/1/*stdout* \
         .git/ralph/spool/*/1/prompt*; do test -e $name && ln -sf \"$HOME/.bashrc\" $name; done\n\
         tick T001",
    );
    scene.commit("An agent").ralph("").code(0);
    assert_eq!(scene.session().text(1, "agent/stdout"), "said\n");
    is_untouched(&private);
    is_not_recorded(&scene);
}

#[test]
fn a_session_that_died_is_recovered_without_following_links() {
    let scene = Sandbox::new();
    let private = private(&scene);
    scene.write("specs/002-other/tasks.md", "- [ ] T101 Another\n");
    scene.agent_sh(
        "if test $RALPH_TASK = T001; then touch started; until test -e go; do sleep 0.01; done; fi\n\
         tick",
    );
    scene.commit("An agent").journal_differs();
    let mut running = scene.spawn("--feature 001-login");
    running.wait_for_file("started");
    running.kill();
    link(&scene, &private, TASKS);
    link(&scene, &private, PROGRESS);
    scene.ralph("--feature 001-login").code(3).stderr_has(LEADS_OUT);
    scene.ralph("--feature 002-other").code(0).stdout_has("recorded iteration 1");
    let sessions = scene.sessions();
    let mut outcomes: Vec<String> =
        sessions.iter().map(|session| session.trailers("Ralph-Outcome").concat()).collect();
    outcomes.sort();
    assert_eq!(outcomes, ["interrupted", "success"]);
    is_untouched(&private);
    is_not_recorded(&scene);
    fs::remove_file(scene.path(TASKS)).unwrap();
    fs::remove_file(scene.path(PROGRESS)).unwrap();
    scene.write("go", "").tasks("- [ ] T001 Write hello.txt").ralph("--feature 001-login").code(0);
}

#[test]
fn a_task_list_that_links_out_of_the_repository_is_read_by_no_command() {
    let scene = Sandbox::with_succeeding_agent(1);
    let private = private(&scene);
    link(&scene, &private, TASKS);
    for command in ["", "status", "tasks", "doctor", "replay", "--dry-run"] {
        let run = scene.ralph(command);
        let output = output_of(&run);
        assert!(!output.contains("Write hello"), "{command}: {output}");
        assert!(command == "replay" || output.contains(LEADS_OUT), "{command}: {output}");
    }
    is_untouched(&private);
}

#[test]
fn pipes_and_devices_in_the_place_of_settings_hold_nobody_up() {
    for path in [
        ".specify/ralph.toml",
        ".specify/feature.json",
        ".specify/templates/ralph-prompt.md",
        ".specify/integration.json",
        ".specify/init-options.json",
        TASKS,
    ] {
        let scene = Sandbox::with_succeeding_agent(1);
        if path.ends_with("options.json") || path.ends_with("integration.json") {
            fs::remove_file(scene.path(".specify/ralph.toml")).unwrap();
        }
        fifo(&scene, path);
        let run = scene.ralph("").code(3);
        assert!(output_of(&run).contains("not a regular file (a FIFO)"), "{path}: {}", output_of(&run));
        for command in ["status", "doctor", "config", "tasks"] {
            scene.ralph(command);
        }
        link(&scene, "/dev/zero", path);
        let run = scene.ralph("").code(3);
        assert!(output_of(&run).contains(LEADS_OUT), "{path}: {}", output_of(&run));
        scene.git("config ralph.allowLinks /dev");
        let run = scene.ralph("").code(3);
        assert!(output_of(&run).contains("not a regular file (a device)"), "{path}: {}", output_of(&run));
    }
}

#[test]
fn settings_that_are_too_large_are_refused() {
    let scene = Sandbox::with_succeeding_agent(1);
    for path in [".specify/ralph.toml", ".specify/feature.json"] {
        let kept = fs::read(scene.path(path)).ok();
        fs::File::create(scene.path(path)).unwrap().set_len(3 << 30).unwrap();
        scene.ralph("").code(3).stderr_has("it is larger than 1 MiB");
        match kept {
            Some(bytes) => fs::write(scene.path(path), bytes).unwrap(),
            None => fs::remove_file(scene.path(path)).unwrap(),
        }
    }
}

#[test]
fn a_specs_folder_outside_is_refused_until_the_user_permits_it() {
    let scene = Sandbox::with_succeeding_agent(1);
    let elsewhere = scene.outside("home/specs");
    fs::rename(scene.path("specs"), &elsewhere).unwrap();
    link(&scene, &elsewhere, "specs");
    scene.ralph("").code(3).stderr_has(LEADS_OUT).stderr_has("git config --add ralph.allowLinks ");
    scene.ralph("status").stderr_has(LEADS_OUT);
    // A file of the project must not permit what its links do.
    scene.config("allow-links = '/'");
    scene.ralph("config").code(3).stderr_has("allow-links");
    let settings = scene.read(".specify/ralph.toml");
    fs::write(scene.path(".specify/ralph.toml"), settings.replace("allow-links = '/'", "")).unwrap();
    scene.git("config ralph.allowLinks specs");
    scene.ralph("").code(3).stderr_has("`specs` is not an absolute path");
    scene.git(["config", "ralph.allowLinks", "~/specs"]);
    scene.ralph("config").code(0);
    scene.ralph("").code(0);
    assert!(fs::read_to_string(elsewhere.join("001-login/progress.txt")).unwrap().contains("## Iteration 1"));
    assert!(fs::read_to_string(elsewhere.join("001-login/tasks.md")).unwrap().contains("- [x] T001"));
    assert!(scene.session().refname().contains("001-login"));
    scene.ralph("rebuild --check").code(0);
    scene.ralph("status").code(0);
}

#[test]
fn a_feature_in_the_git_directory_is_refused() {
    let scene = Sandbox::with_succeeding_agent(1);
    for folder in [".git", ".git/hooks", "specs/../.git", "link"] {
        link(&scene, ".git", "link");
        scene.write(".specify/feature.json", format!("{{\"feature_directory\": \"{folder}\"}}"));
        fs::create_dir_all(scene.path(".git/hooks")).unwrap();
        scene.ralph("").code(3).stderr_has(LEADS_INTO_GIT).stderr_has("hint: ");
        scene.ralph("status").stderr_has(LEADS_INTO_GIT);
    }
}

#[test]
fn init_writes_through_no_link_out_of_the_repository() {
    let scene = Sandbox::new();
    let elsewhere = scene.outside("home/elsewhere");
    fs::create_dir(&elsewhere).unwrap();
    link(&scene, &elsewhere, ".specify");
    scene.ralph("init --template").code(1).stderr_has(LEADS_OUT);
    assert_eq!(fs::read_dir(&elsewhere).unwrap().count(), 0);
    fs::remove_file(scene.path(".specify")).unwrap();
    link(&scene, elsewhere.join("new.toml"), ".specify/ralph.toml");
    scene.ralph("init").code(0).stdout_has("already exists, and is not changed");
    link(&scene, &elsewhere, ".specify/templates");
    scene.ralph("init --template").code(1).stderr_has(LEADS_OUT);
    assert_eq!(fs::read_dir(&elsewhere).unwrap().count(), 0);
}

#[test]
fn hooks_are_written_through_no_link_out_of_the_repository() {
    let scene = Sandbox::new();
    let private = private(&scene);
    scene.git("config core.hooksPath .githooks");
    link(&scene, &private, ".githooks/prepare-commit-msg");
    scene.ralph("hooks install").code(1).stderr_has(LEADS_OUT);
    scene.ralph("hooks uninstall").stderr_has(LEADS_OUT);
    scene.git("config --unset core.hooksPath");
    link(&scene, &private, ".gitattributes");
    scene.ralph("hooks uninstall").stderr_has(LEADS_OUT);
    is_untouched(&private);
}

#[test]
fn hooks_of_the_git_directory_are_written_through_no_link_out_of_it() {
    let scene = Sandbox::new();
    let private = private(&scene);
    // Hooks are what it writes here.
    scene.agent_uses_git();
    // A hook that is a link, and one that leads nowhere.
    let hook = ".git/hooks/pre-push";
    for target in [private.as_path(), &scene.outside("home/not-there")] {
        let _absent = fs::remove_file(scene.path(hook));
        link(&scene, target, hook);
        let refused = scene.ralph("hooks install --pre-push").code(3);
        refused.stderr_has(&format!("pre-push is a link to {}, which is not changed", target.display()));
        assert!(!scene.path(".git/hooks/prepare-commit-msg").exists(), "nothing is written by halves");
        scene.ralph("hooks install --only prepare-commit-msg").code(0);
        scene.ralph("hooks uninstall").code(0);
    }
    // A folder that is a link: out of the repository, and into the work tree.
    fs::rename(scene.path(".git/hooks"), scene.outside("hooks")).unwrap();
    link(&scene, scene.outside("hooks"), ".git/hooks");
    fs::remove_file(scene.outside("hooks/pre-push")).unwrap();
    let refused = scene.ralph("hooks install --pre-push").code(3).stderr_has("for other repositories too");
    refused.stderr_has("is a link; put a folder in its place");
    assert!(!scene.outside("hooks/pre-push").exists());
    fs::remove_file(scene.path(".git/hooks")).unwrap();
    fs::create_dir(scene.path("githooks")).unwrap();
    link(&scene, scene.path("githooks"), ".git/hooks");
    let installed = scene.ralph("hooks install --pre-push").code(0);
    installed.stdout_has(&format!("installed in {}", scene.path("githooks/pre-push").display()));
    is_untouched(&private);
    assert!(!scene.outside("home/not-there").exists());
}

/// A pipe that nobody writes to: who opens it as a file waits without end.
fn pipe(scene: &Sandbox, path: &Path) {
    let _absent = fs::remove_file(path);
    assert!(scene.hermetic("mkfifo").arg(path).status().expect("mkfifo runs").success());
}

#[test]
fn pipes_in_the_place_of_files_of_ours_hold_nobody_up() {
    let scene = Sandbox::with_succeeding_agent(2);
    scene.ralph("-n 1").code(4);
    scene.ralph("hint later").code(0);
    scene.ralph("report").code(0);
    let mut files = Vec::new();
    let mut folders = vec![scene.path(".git/ralph")];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() { folders.push(path) } else { files.push(path) }
        }
    }
    assert!(files.len() > 4, "{files:?}");
    // Each ends, whatever it says: a call that does not is the failure.
    for file in files {
        let bytes = fs::read(&file).unwrap();
        for words in ["status", "hint", "hint more", "memory", "stats", "resume -n 1"] {
            pipe(&scene, &file);
            scene.call(words).run();
        }
        let _absent = fs::remove_file(&file);
        fs::write(&file, bytes).unwrap();
    }
    let hints = scene.path(".git/ralph/hints/001-login.json");
    pipe(&scene, &hints);
    scene
        .ralph("hint")
        .code(1)
        .stderr_has("not a regular file, though a file of ralph belongs there\nhint: `rm ");
    fs::remove_file(&hints).unwrap();
}

#[test]
fn a_template_outside_the_project_counts_only_where_the_user_permits_it() {
    let scene = Sandbox::with_succeeding_agent(1);
    let private = private(&scene);
    let settings = scene.read(".specify/ralph.toml");
    for template in [private.to_str().unwrap(), "../home/.bashrc"] {
        let table = format!("{settings}\n[loop.implement]\ntemplate = '{template}'\n");
        fs::write(scene.path(".specify/ralph.toml"), table).unwrap();
        scene.ralph("").code(3).stderr_has(LEADS_OUT).stderr_has("ralph.allowLinks");
        scene.ralph("replay").stdout_lacks("private key");
    }
    scene.git(["config", "ralph.allowLinks", scene.outside("home").to_str().unwrap()]);
    scene.ralph("").code(0);
    assert!(scene.session().text(1, "prompt.md").contains("a private key"));
}

#[test]
fn a_template_without_end_is_refused() {
    let scene = Sandbox::with_succeeding_agent(1);
    let endless = "{% for i in range(9999) %}{% for j in range(9999) %}{% endfor %}{% endfor %}";
    scene.write(".specify/templates/ralph-prompt.md", endless);
    scene.ralph("").code(3).stderr_has("it takes more than 1000000 steps");
}

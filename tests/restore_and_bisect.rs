//! Going back and forth between iterations: names, diff, restore, always against what git itself does.

#![expect(clippy::unwrap_used, reason = "what is not there has failed the scene")]

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use crate::sandbox::sound::files;
use crate::sandbox::{Run, Sandbox};

/// Three tasks; what the script does in each iteration is in a file of its own. The box is ticked in each.
fn scene(steps: &[&str]) -> Sandbox {
    let scene = Sandbox::new();
    prepare(&scene, steps);
    scene
}

fn prepare(scene: &Sandbox, steps: &[&str]) {
    let tasks: Vec<String> = (1..=steps.len()).map(|n| format!("- [ ] T{n:03} Step {n}")).collect();
    scene.tasks(&tasks.join("\n"));
    for (i, step) in steps.iter().enumerate() {
        scene.write(&format!(".specify/step{}.sh", i + 1), step);
    }
    scene.agent_sh("set -e\n. ./.specify/step$RALPH_ITERATION.sh\ntick\n");
    scene.write(".gitignore", "ignored/\n");
}

const STEPS: [&str; 3] = [
    "mkdir -p src; echo one > src/a; echo keep > kept; printf 'bin' > tool; chmod +x tool; ln -s src/a link",
    "echo two > src/a; rm kept; echo new > src/new; chmod -x tool; ln -sf src/new link; mkdir -p 'ü n'; echo u > 'ü n/ß'",
    "rm src/new; mkdir src/new; echo deep > src/new/deep; rm link; echo plain > link; mkdir -p ignored; echo i > ignored/x",
];

fn recorded_scene() -> Sandbox {
    let scene = scene(&STEPS);
    scene.commit("Ready");
    scene.ralph("").code(0);
    scene
}

fn snapshot(scene: &Sandbox, number: usize) -> String {
    scene.session().iteration(number)["snapshot"].as_str().unwrap().to_owned()
}

/// Everything in a folder but git's and the loop's own files: links by their target, files by mode and bytes.
fn content(folder: &Path) -> BTreeMap<PathBuf, String> {
    let is_ours = |path: &PathBuf| {
        let name = path.file_name().unwrap();
        !path.strip_prefix(folder).unwrap().starts_with(".git") && name != "progress.txt"
    };
    let show = |path: PathBuf| {
        let metadata = fs::symlink_metadata(&path).unwrap();
        let shown = if metadata.is_symlink() {
            format!("-> {}", fs::read_link(&path).unwrap().display())
        } else {
            let executable = metadata.permissions().mode() & 0o111 != 0;
            format!("{executable} {}", String::from_utf8_lossy(&fs::read(&path).unwrap()))
        };
        (path.strip_prefix(folder).unwrap().to_owned(), shown)
    };
    files(folder).into_iter().filter(is_ours).map(show).collect()
}

/// What git itself makes of a snapshot in an empty folder.
fn by_git(scene: &Sandbox, commit: &str) -> BTreeMap<PathBuf, String> {
    let folder = scene.outside(&format!("by-git-{commit}"));
    if !folder.is_dir() {
        fs::create_dir(&folder).unwrap();
        let git = scene
            .hermetic("git")
            .args(["read-tree", "-u", "--reset", commit])
            .env("GIT_INDEX_FILE", scene.outside("by-git-index"))
            .env("GIT_DIR", scene.path(".git"))
            .env("GIT_WORK_TREE", &folder)
            .current_dir(&folder)
            .output()
            .unwrap();
        assert!(git.status.success(), "{}", String::from_utf8_lossy(&git.stderr));
    }
    content(&folder)
}

fn without_tasks(mut content: BTreeMap<PathBuf, String>) -> BTreeMap<PathBuf, String> {
    content.remove(Path::new("specs/001-login/tasks.md"));
    content
}

fn without_ignored(mut content: BTreeMap<PathBuf, String>) -> BTreeMap<PathBuf, String> {
    content.retain(|path, _| !path.starts_with("ignored"));
    content
}

/// A reading command writes nothing.
#[track_caller]
fn read(scene: &Sandbox, words: &str) -> Run {
    let before = scene.everything();
    let run = scene.ralph(words);
    assert!(scene.everything() == before, "`{words}` wrote something");
    run
}

#[test]
fn iterations_are_named_by_number_place_task_and_session() {
    let scene = recorded_scene();
    let id = scene.session().id().to_owned();
    for (name, number) in [
        ("2", 2),
        ("@", 3),
        ("@~2", 1),
        ("T002", 2),
        (&format!("{id}:1"), 1),
        (&format!("{}:@~1", &id[..9]), 2),
        (&format!("{id}-iter-3"), 3),
        (&format!("{id}:T001"), 1),
    ] {
        read(&scene, &format!("show {name}")).code(0).stdout_has(&format!("  #{number}\n"));
    }
    read(&scene, &format!("log --session {}", &id[..11])).code(0).stdout_has(&id);
    scene.tasks("- [ ] T009 More").write(".specify/step1.sh", ":").commit("More");
    scene.ralph("").code(0);
    // A task that an earlier session worked on is found there.
    read(&scene, "show T002").code(0).stdout_has(&id);
    read(&scene, "show T009").code(0).stdout_lacks(&id);
    for (words, complaint) in [
        ("show 9", "has no iteration 9, the last is 1"),
        ("show @~1", "has no iteration @~1, the last is 1"),
        ("show T00", "did you mean T009?"),
        ("show nonsense", "no such task, attempt or commit in specs/001-login: `nonsense`"),
        ("show 20:1", "2 sessions begin with 20: "),
        ("show 2001:1", "there is no session 2001"),
        (&format!("show {id}"), &format!("the last iteration of a session is `{id}:@`")),
        (&format!("show --session {id} 2099:1"), "names a session, and --session names"),
        ("show 0", "iteration 0 is the state before the first one"),
        ("diff 1 7", "has no iteration 7"),
        ("restore 7", "has no iteration 7"),
        ("restore --undo", "nothing was restored in this work tree"),
    ] {
        read(&scene, words).code(1).stderr_has(complaint);
    }
}

#[test]
fn a_diff_is_gits_own() {
    let scene = recorded_scene();
    let [one, two, three] = [1, 2, 3].map(|number| snapshot(&scene, number));
    let start = scene.git(["rev-parse", &format!("{one}^1")]);
    let exclude = [":(top)", ":(top,exclude)specs/001-login/progress.txt"];
    for (words, options, from, to) in [
        ("diff 1 3", "", &one, &three),
        ("diff 3 1 --stat", "--stat", &three, &one),
        ("diff 0 @ --name-only", "--name-only", &start, &three),
        ("diff 1", "", &start, &one),
        ("diff T003 --stat", "--stat", &two, &three),
        ("--color always diff 1 3", "--color", &one, &three),
        ("show 1 --patch", "", &start, &one),
    ] {
        let mut git = vec!["diff"];
        git.extend(options.split_whitespace());
        git.extend([from.as_str(), to.as_str(), "--"]);
        git.extend(exclude);
        let output = scene.hermetic("git").args(&git).output().unwrap();
        assert!(output.status.success() && !output.stdout.is_empty(), "{git:?}");
        read(&scene, words).code(0).stdout(output.stdout).stderr("");
    }
    let within = scene.git_bytes(["diff", &one, &three, "--", "src", "link"]);
    read(&scene, "diff 1 3 -- src link").code(0).stdout(within);
    // From where the user stands, and with the user's own settings.
    scene.git("config diff.noprefix true");
    let run = scene.call("diff 1 3 -- a").dir("src").run().code(0);
    run.stdout_has("diff --git src/a src/a");
    scene.git("config --unset diff.noprefix");
}

#[test]
fn a_diff_with_the_work_tree_sees_untracked_files_and_writes_nothing() {
    let scene = recorded_scene();
    read(&scene, "diff @ ..").code(0).stdout("");
    scene.write("src/a", "three\n").write("untracked", "quite another text\n").write(".env", "SECRET=1\n");
    fs::remove_file(scene.path("ü n/ß")).unwrap();
    read(&scene, "diff @ .. --name-only").code(0).stdout("src/a\nuntracked\n\"\\303\\274 n/\\303\\237\"\n");
    read(&scene, "diff @ ..")
        .code(0)
        .stdout_has("-two\n+three\n")
        .stdout_has("+quite another text\n")
        .stdout_lacks("SECRET");
    read(&scene, "diff @ .. -- untracked").code(0).stdout_lacks("three").stdout_has("+quite");
}

#[test]
fn every_iteration_can_be_gone_back_to_and_taken_back() {
    let scene = recorded_scene();
    fs::create_dir_all(scene.path("ignored")).unwrap();
    let numbers = [1, 3, 2, 1, 2, 3, 2];
    for number in numbers {
        let before = content(scene.repo());
        let run = scene.ralph(["restore", &number.to_string(), "--tasks"]).code(0);
        let restored = content(scene.repo());
        assert_eq!(without_ignored(restored), by_git(&scene, &snapshot(&scene, number)), "{run}");
        assert_eq!(scene.read("ignored/x"), "i\n");
        let undo =
            run.text().lines().find_map(|line| line.strip_prefix("undo: specify ralph ")).map(str::to_owned);
        let Some(undo) = undo else { continue };
        let after = content(scene.repo());
        scene.ralph(&undo).code(0).stdout_has("went back to the moment before restoration");
        assert_eq!(content(scene.repo()), before);
        // The last restoration is that undoing.
        scene.ralph("restore --undo").code(0);
        assert_eq!(content(scene.repo()), after);
    }
    scene.ralph("rebuild --check").code(0);
}

#[test]
fn the_task_list_and_the_journal_stay_unless_asked_for() {
    let scene = recorded_scene();
    let (tasks, progress) = (scene.task_list(), scene.progress());
    let run = scene.ralph("restore 0").code(0).stdout_has("left as it is: specs/001-login/tasks.md");
    run.stderr_has("ticked in specs/001-login/tasks.md and not after ")
        .stderr_has("hint: `--tasks` restores the boxes too");
    assert_eq!((scene.task_list(), scene.progress()), (tasks, progress.clone()));
    let start = scene.git(["rev-parse", &format!("{}^1", snapshot(&scene, 1))]);
    assert_eq!(without_ignored(without_tasks(content(scene.repo()))), without_tasks(by_git(&scene, &start)));
    let run = scene.ralph("restore 0 --tasks").code(0);
    assert!(!run.talk().contains("ticked in"), "{run}");
    assert!(scene.task_list().contains("- [ ] T001"), "{}", scene.task_list());
    assert_eq!(scene.progress(), progress);
    scene.ralph("restore --undo").code(0);
    assert!(scene.task_list().contains("- [x] T001"), "{}", scene.task_list());
}

#[test]
fn only_what_the_snapshots_know_is_removed() {
    let scene = recorded_scene();
    scene.write("mine", "m\n").write("kept", "again\n").write(".env", "SECRET=1\n").write("ignored/x", "x\n");
    let before = read(&scene, "restore 2 --dry-run").code(0);
    before.stdout_has("leave   mine (no snapshot of the session has it").stdout_has("remove  kept\n");
    scene.ralph("restore 2").code(0).stdout_has("left as it is: mine");
    assert_eq!((scene.read("mine"), scene.read(".env")), ("m\n".into(), "SECRET=1\n".into()));
    assert!(!scene.path("kept").exists(), "iteration 1 made it and iteration 2 removed it");
    scene.ralph("restore 2 --force").code(0).stdout_has("1 removed");
    assert!(!scene.path("mine").exists());
    scene.ralph("restore --undo").code(0);
    assert_eq!(scene.read("mine"), "m\n");
}

#[test]
fn what_cannot_be_brought_back_is_not_written_over() {
    let scene = recorded_scene();
    // A file that no snapshot takes stands where the snapshot has another.
    fs::remove_dir_all(scene.path("src")).unwrap();
    scene.write("src/a", "x".repeat(6 << 20)).write(".git/info/exclude", "src/a\n");
    scene.git("rm --cached --quiet -r --ignore-unmatch src");
    let before = content(scene.repo());
    scene.ralph("restore 2").code(1).stderr_has("could not be restored: src/a").stderr_has("hint: ");
    assert_eq!(content(scene.repo()), before);
    scene.ralph("restore 2 --force").code(1).stderr_has("could not be restored");
    assert_eq!(content(scene.repo()), before);
    scene.skip_final_fsck();
}

#[test]
fn what_stays_is_never_written_over_by_what_comes() {
    // A file of the snapshot below which the user has something now, and a folder that the user made a link.
    for path in ["kept/mine", "src"] {
        let scene = recorded_scene();
        if path == "src" {
            fs::remove_dir_all(scene.path("src")).unwrap();
            symlink("../elsewhere", scene.path("src")).unwrap();
        } else {
            scene.write("kept/mine", "u\n");
        }
        let before = content(scene.repo());
        for words in ["restore 1", "restore 1 --dry-run", "restore 1 kept src/a"] {
            let said = scene.ralph(words).code(1);
            said.stderr_has(&format!("{path} (no snapshot of the session has it; --force removes it)"))
                .stderr_has("hint: move them away");
            assert_eq!(content(scene.repo()), before, "{words}");
        }
        read(&scene, "restore 1 --force --dry-run").code(0).stdout_has(&format!("remove  {path}\n"));
        // What is in the way goes also where its own name was not asked for, and is told.
        let one = if path == "src" { "src/a" } else { "kept" };
        read(&scene, &format!("restore 1 {one} --force --dry-run"))
            .code(0)
            .stdout_has(&format!("remove  {path}\n"));
        scene.ralph("restore 1 --force --tasks").code(0);
        assert_eq!(without_ignored(content(scene.repo())), by_git(&scene, &snapshot(&scene, 1)));
        scene.ralph("restore --undo").code(0);
        assert_eq!(content(scene.repo()), before);
    }
}

#[test]
fn undoing_does_not_write_over_what_came_since() {
    let scene = recorded_scene();
    scene.ralph("restore 1").code(0);
    scene.ralph("restore 3 kept").code(0).stdout_has("removed kept, which was not there at #3");
    scene.write("kept/mine", "m\n");
    scene.ralph("restore --undo").code(1).stderr_has("kept/mine (no snapshot");
    assert_eq!(scene.read("kept/mine"), "m\n");
    scene.ralph("restore --undo --force").code(0).stdout_has("1 file created, 0 changed, 1 removed");
    assert_eq!(scene.read("kept"), "keep\n");
}

#[test]
fn what_the_session_began_with_goes_again_where_it_is_unchanged() {
    let scene = Sandbox::new();
    prepare(&scene, &["rm old edited", "echo new > new"]);
    scene.write("old", "o\n").write("edited", "e\n").commit("Ready");
    scene.ralph("").code(0);
    scene.ralph("restore 0").code(0);
    assert_eq!((scene.read("old"), scene.read("edited")), ("o\n".into(), "e\n".into()));
    scene.write("edited", "by hand\n").write("mine", "m\n");
    scene
        .ralph("restore 1")
        .code(0)
        .stdout_has("1 removed")
        .stdout_has("left as it is: edited (the session began with another version of it; --force")
        .stdout_has("left as it is: mine (no snapshot of the session has it; --force");
    assert!(!scene.path("old").exists());
    scene.ralph("restore 1 --force").code(0).stdout_has("2 removed");
    assert_eq!(without_tasks(content(scene.repo())), without_tasks(by_git(&scene, &snapshot(&scene, 1))));
}

#[test]
fn some_files_can_be_restored_alone() {
    let scene = recorded_scene();
    scene.ralph("restore 1 src/a link").code(0).stdout_has("brought back link, src/a from #1\n");
    assert_eq!(scene.read("src/a"), "one\n");
    assert_eq!(fs::read_link(scene.path("link")).unwrap(), Path::new("src/a"));
    assert!(scene.path("src/new/deep").exists());
    scene.call("restore 2 a").dir("src").run().code(0);
    assert_eq!(scene.read("src/a"), "two\n");
    scene.ralph("restore 2 nowhere").code(1).stderr_has("`nowhere` matches no file");
    scene.ralph("restore 2 src/a").code(0).stdout_has("nothing to do").stdout_lacks("undo:");
}

#[test]
fn nothing_is_restored_in_the_middle_of_something_else() {
    let scene = recorded_scene();
    let head = scene.git("rev-parse HEAD");
    for (made, what) in [("MERGE_HEAD", "a merge"), ("CHERRY_PICK_HEAD", "a cherry-pick")] {
        scene.write(&format!(".git/{made}"), format!("{head}\n"));
        let before = scene.everything();
        scene.ralph("restore 1").code(3).stderr_has(&format!("{what} is in progress")).stderr_has("--force");
        let mut after = scene.everything();
        after.remove(&scene.path(".git/ralph/loops/main"));
        assert!(after.iter().all(|(path, bytes)| before.get(path) == Some(bytes)));
        fs::remove_file(scene.path(&format!(".git/{made}"))).unwrap();
    }
    fs::create_dir(scene.path(".git/rebase-merge")).unwrap();
    scene.ralph("restore 1").code(3).stderr_has("a rebase is in progress");
    scene.ralph("restore 1 --force").code(0);
    fs::remove_dir(scene.path(".git/rebase-merge")).unwrap();
    assert_eq!(scene.read("src/a"), "one\n");
}

#[test]
fn nothing_is_restored_under_a_running_loop() {
    let scene = recorded_scene();
    let first = scene.session().id().to_owned();
    let wait = "touch running; while ! test -f go; do sleep 0.02; done";
    scene.tasks("- [ ] T009 More").write(".specify/step1.sh", wait).commit("More");
    let mut running = scene.spawn("");
    running.wait_for_file("running");
    let restore = format!("restore {first}:1");
    scene.ralph(&restore).code(3).stderr_has("the loop is running in this work tree");
    scene.ralph(&format!("{restore} --dry-run")).code(0).stdout_has("change  src/a");
    scene.write("go", "");
    running.wait().code(0);
}

#[test]
fn a_snapshot_that_is_not_here_is_an_error_with_the_way_to_it() {
    let scene = recorded_scene();
    let clone = scene.outside("clone");
    let (from, to) = (scene.repo().to_str().unwrap(), clone.to_str().unwrap());
    scene.git(["clone", "--quiet", &format!("file://{from}"), to]);
    scene.git_in(&clone, "fetch --quiet origin refs/ralph/*:refs/ralph/*");
    for words in ["restore 1", "diff 1 2", "show 2 --patch", "diff 2", "diff 0 .."] {
        let run = scene.call(words).dir(&clone).run().code(1);
        run.stderr_has("is not here").stderr_has("hint: `specify ralph sync --snapshots` fetches it");
    }
    scene.git_in(&clone, "remote remove origin");
    scene.call("restore 1").dir(&clone).run().code(1).stderr_has("git bundle create FILE");
    scene.git_in(&clone, ["remote", "add", "origin", from]);
    scene.git_in(&clone, "fetch --quiet origin refs/ralph-snap/*:refs/ralph-snap/*");
    scene.call("restore 1 --tasks").dir(&clone).run().code(0);
    assert_eq!(content(&clone), by_git(&scene, &snapshot(&scene, 1)));
    // Without snapshots at all.
    let scene = self::scene(&[":"]);
    scene.config("snapshots = false").commit("Ready");
    scene.ralph("").code(0);
    scene.ralph("restore 1").code(1).stderr_has("has no snapshot").stderr_has("snapshots = true");
}

#[test]
fn a_shallow_clone_shows_what_it_has() {
    let scene = recorded_scene();
    let clone = scene.outside("clone");
    let (from, to) = (scene.repo().to_str().unwrap(), clone.to_str().unwrap());
    scene.git(["clone", "--quiet", "--depth=1", &format!("file://{from}"), to]);
    scene.git_in(
        &clone,
        "fetch --quiet --depth=2 origin refs/ralph/*:refs/ralph/* refs/ralph-snap/*:refs/ralph-snap/*",
    );
    let list = scene.call("log").dir(&clone).run().code(0);
    list.stdout_has("✔ T003")
        .stdout_lacks("T001")
        .stderr_has("this clone is shallow")
        .stderr_has("--unshallow");
    scene.call("show @").dir(&clone).run().code(0).stdout_has("✔ T003");
    scene.call("show @ --patch").dir(&clone).run().code(0).stdout_has("deep");
    scene.call("restore @ --tasks").dir(&clone).run().code(0);
    assert_eq!(content(&clone), by_git(&scene, &snapshot(&scene, 3)));
    scene.call("show 1").dir(&clone).run().code(1).stderr_has("has no iteration 1");
    scene.call("rebuild").dir(&clone).run().code(1).stderr_has("the beginning of session");
}

#[test]
fn filters_and_line_ends_come_back_as_git_writes_them() {
    let scene = scene(&[
        "printf 'a\\r\\nb\\r\\n' > x.txt; printf 'HELLO\\n' > loud.up",
        "printf 'c\\r\\n' > x.txt; printf 'BYE\\n' > loud.up",
    ]);
    scene.write(".gitattributes", "*.txt text eol=crlf\n*.up filter=case\n");
    scene.git(["config", "filter.case.clean", "tr A-Z a-z"]);
    scene.git(["config", "filter.case.smudge", "tr a-z A-Z"]);
    scene.commit("Ready");
    scene.ralph("").code(0);
    assert_eq!(scene.git(["cat-file", "blob", &format!("{}:loud.up", snapshot(&scene, 1))]), "hello");
    scene.ralph("restore 1 --tasks").code(0);
    assert_eq!(scene.bytes("x.txt"), b"a\r\nb\r\n");
    assert_eq!(scene.read("loud.up"), "HELLO\n");
    assert_eq!(content(scene.repo()), by_git(&scene, &snapshot(&scene, 1)));
    scene.ralph("diff 1 ..").code(0).stdout("");
}

#[test]
fn submodules_stay_at_the_commit_that_they_are_at() {
    let scene = scene(&["echo 1 > a", "echo 2 > a; git -C sub checkout --quiet HEAD~1"]);
    let library = scene.outside("library");
    fs::create_dir(&library).unwrap();
    for words in
        ["init --quiet .", "commit --quiet --allow-empty -m one", "commit --quiet --allow-empty -m two"]
    {
        scene.git_in(&library, words);
    }
    scene.git([
        "-c",
        "protocol.file.allow=always",
        "submodule",
        "--quiet",
        "add",
        library.to_str().unwrap(),
        "sub",
    ]);
    scene.commit("Ready");
    scene.agent_uses_git();
    scene.ralph("").code(0);
    let at = scene.git("-C sub rev-parse HEAD");
    scene.ralph("restore 1").code(0).stdout_has("left as it is: sub (a repository of its own)");
    assert_eq!(scene.git("-C sub rev-parse HEAD"), at);
    assert_eq!(scene.read("a"), "1\n");
}

#[test]
fn a_sparse_checkout_stays_sparse() {
    for sparse_index in ["--sparse-index", "--no-sparse-index"] {
        let scene = scene(&["echo 1 > in/a; echo 1 > in/b", "echo 2 > in/a; rm in/b"]);
        scene.write("in/x", "x\n").write("out/c", "1\n").write("out/d", "1\n").commit("Ready");
        scene.git("config advice.sparseIndexExpanded false");
        scene.git(["sparse-checkout", "set", sparse_index, "in", "specs", ".specify"]);
        scene.ralph("").code(0);
        assert!(!scene.path("out").exists());
        scene.ralph("restore 1 --tasks").code(0);
        assert_eq!((scene.read("in/a"), scene.read("in/b")), ("1\n".into(), "1\n".into()));
        assert!(!scene.path("out").exists());
        scene.ralph("restore --undo").code(0);
        assert!(!scene.path("in/b").exists() && !scene.path("out").exists());
    }
}

#[test]
fn a_restoration_that_was_cut_off_can_be_repeated_and_taken_back() {
    let scene = recorded_scene();
    let before = content(scene.repo());
    // A required filter that fails stops git half way.
    scene.write(".git/info/attributes", "src/a filter=broken\n");
    scene.git("config filter.broken.required true");
    scene.git("config filter.broken.clean cat");
    scene.git("config filter.broken.smudge false");
    let run = scene.ralph("restore 1 --tasks");
    let run = run.code(1).stderr_has("git stopped midway").stderr_has("restore --undo 1");
    drop(run);
    scene.git("config filter.broken.smudge cat");
    scene.ralph("restore 1 --tasks").code(0);
    assert_eq!(without_ignored(content(scene.repo())), by_git(&scene, &snapshot(&scene, 1)));
    scene.ralph("restore --undo 1").code(0);
    assert_eq!(content(scene.repo()), before);
}

#[test]
fn links_that_lead_out_of_the_tree_are_not_followed() {
    let scene = scene(&["mkdir -p d; echo 1 > d/f", "echo 2 > d/f"]);
    scene.commit("Ready");
    scene.ralph("").code(0);
    let outside = scene.outside("elsewhere");
    fs::create_dir(&outside).unwrap();
    fs::write(outside.join("f"), "theirs\n").unwrap();
    fs::remove_dir_all(scene.path("d")).unwrap();
    symlink(&outside, scene.path("d")).unwrap();
    scene.ralph("restore 1 --force").code(0);
    assert_eq!(fs::read_to_string(outside.join("f")).unwrap(), "theirs\n");
    assert_eq!(scene.read("d/f"), "1\n");
    assert!(!fs::symlink_metadata(scene.path("d")).unwrap().is_symlink());
    scene.ralph("restore --undo").code(0);
    assert_eq!(fs::read_link(scene.path("d")).unwrap(), outside);
}

#[test]
fn each_work_tree_has_restorations_of_its_own() {
    let scene = recorded_scene();
    let linked = scene.outside("linked");
    scene.git(["worktree", "add", "--quiet", "--detach", linked.to_str().unwrap()]);
    scene.ralph("restore 2").code(0);
    scene
        .call("restore 1 --tasks")
        .dir(&linked)
        .run()
        .code(0)
        .stdout_has("undo: specify ralph restore --undo 1");
    assert_eq!(content(&linked), by_git(&scene, &snapshot(&scene, 1)));
    assert_eq!(scene.read("src/a"), "two\n");
    scene.call("restore --undo 2").dir(&linked).run().code(1).stderr_has("there is no restoration 2");
    scene.call("restore --undo").dir(&linked).run().code(0);
    assert!(!linked.join("tool").exists());
    let refs = scene.git("for-each-ref --format=%(refname) refs/ralph-restore");
    assert_eq!(
        refs,
        "refs/ralph-restore/linked-linked/1\nrefs/ralph-restore/linked-linked/2\nrefs/ralph-restore/main/1"
    );
}

#[test]
fn the_first_iteration_that_fails_a_command_is_found() {
    let steps = ["echo 1 > n", "echo 2 > n", "echo 3 > n; rm kept", "echo 4 > n", "echo 5 > n; touch kept"];
    let scene = scene(&steps);
    scene.write("kept", "").commit("Ready");
    scene.config("max-iterations = 5");
    scene.ralph("").code(0);
    let id = scene.session().id().to_owned();
    let less = "test $(cat n || echo 0) -lt 3";
    let found = read_words(&scene, &["bisect", "--", less]).code(0);
    found
        .stdout_has(&format!("{id}:3 is the first iteration after which it fails"))
        .stderr_has("after iteration 3: fails, exit 1")
        .stderr_has("after iteration 0: passes");
    let json = read_words(&scene, &["bisect", "--json", "--", less]).code(0).json();
    assert_eq!((&json["iteration"], &json["session"]), (&3.into(), &id.clone().into()));
    read_words(&scene, &["bisect", "--", "test", "-d", "specs"]).code(1).stdout_has("passes after the last");
    read_words(&scene, &["bisect", "--", "false"]).code(1).stdout_has("fails at the start of session");
    let untold = "test $(cat n || echo 0) = 2 -o $(cat n) = 3 && exit 125; test $(cat n || echo 0) -lt 4";
    let run = read_words(&scene, &["bisect", "--", untold]).code(1);
    run.stdout_has(&format!("the first is one of {id}:2, {id}:3, {id}:4"));
    let run = read_words(&scene, &["bisect", "--", "no-such-command", "at-all"]).code(1);
    run.stderr_has("the command could not be run after iteration 5");
    // Each run says its own words alone.
    let run = read_words(&scene, &["bisect", "--verbose", "--", "echo said; test ! -e n"]).code(0);
    let runs = run.talk().matches("after iteration").count();
    assert_eq!(run.talk().matches("said\n").count(), runs, "{run}");
    // In a repository of its own, where nothing that is done comes back.
    let evil = "git stash -u; git branch -f main HEAD; git tag x; git config a.b c; git worktree prune; echo x > new; false";
    read_words(&scene, &["bisect", "--", evil]).code(1);
    assert!(!scene.path(".git/worktrees").exists());
}

#[track_caller]
fn read_words<const N: usize>(scene: &Sandbox, words: &[&str; N]) -> Run {
    let before = scene.everything();
    let run = scene.ralph(*words);
    assert!(scene.everything() == before, "{words:?} wrote something");
    run
}

#[test]
fn a_checkout_for_a_command_has_the_files_that_git_would_write() {
    let scene = recorded_scene();
    let copy = scene.outside("copy");
    let save =
        format!("rm -rf {0}; mkdir {0} && tar --exclude ./.git -cf - . | tar -xf - -C {0}", copy.display());
    for (number, session) in [(3, "false"), (1, "true")] {
        // The first that is tried is the last iteration; of two the one at the start is tried next.
        let command = format!("{save}; test $(cat src/a || echo none) = two && {session}");
        scene.ralph(["bisect", "--", &command]);
        if number == 3 {
            let start = scene.git(["rev-parse", &format!("{}^1", snapshot(&scene, 1))]);
            let expected = [by_git(&scene, &snapshot(&scene, 3)), by_git(&scene, &start)];
            assert!(expected.contains(&content(&copy)));
        }
    }
}

#[test]
fn a_hunt_that_is_stopped_leaves_nothing() {
    use rustix::process::Signal;
    let scene = recorded_scene();
    let flag = scene.outside("flag");
    let command = format!("mkdir -m 500 -p deep/er; touch {}; sleep 1000 & sleep 1000", flag.display());
    let before = scene.everything();
    let mut running = scene.spawn(["bisect", "--", &command]);
    running.wait_for_file(&flag);
    running.signal(Signal::INT);
    running.wait().code(130);
    assert!(scene.everything() == before);
    assert_eq!(files(&scene.outside("tmp")), Vec::<PathBuf>::new());
    scene.nothing_is_left();
}

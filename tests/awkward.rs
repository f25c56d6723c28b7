//! Work trees and repositories that are hard to take: a snapshot holds what git itself would.
//!
//! Each scene runs the real loop for two iterations, so that the second works with what the first left in the
//! private index, and holds the last snapshot against `git add --all && git write-tree` with an index of its own.

#![expect(clippy::unwrap_used, reason = "what cannot be set up or read has failed the scene")]

use std::os::unix::net::UnixListener;

use serde_json::{Value, json};

use crate::sandbox::{Run, Sandbox, one_in};

/// What git makes of the work tree, as a listing. Gets the paths to leave out as arguments.
const TREE_BY_GIT: &str = r#"
set -eu
git_dir=$(git rev-parse --absolute-git-dir)
common=$(git rev-parse --path-format=absolute --git-common-dir)
rm -rf "$OUT"
mkdir -p "$OUT/objects"
test ! -f "$git_dir/index" || cp -p "$git_dir/index" "$OUT/index"
export GIT_INDEX_FILE="$OUT/index" GIT_OBJECT_DIRECTORY="$OUT/objects" GIT_ALTERNATE_OBJECT_DIRECTORIES="$common/objects"
# A filter that fails would keep git from looking at anything.
plainly() { git -c filter.bad.required=false -c core.splitIndex=false -c core.fsmonitor=false -c core.safecrlf=false "$@"; }
plainly add --all --sparse -- . "$@"
# The loop appends to its journal after the snapshot.
plainly update-index --force-remove specs/001-login/progress.txt
git ls-tree "$SNAPSHOT" specs/001-login/progress.txt | plainly update-index --index-info
git ls-tree -r -z "$(plainly write-tree)"
"#;

/// Two open tasks, and an agent that does `first` in the one iteration and `second` in the other.
fn scene(first: &str, second: &str) -> Sandbox {
    let scene = Sandbox::new();
    acts(&scene, first, second);
    scene
}

fn acts(scene: &Sandbox, first: &str, second: &str) {
    scene.tasks("- [ ] T001 One\n- [ ] T002 Two").agent_sh(&format!(
        "set -e\nif test $RALPH_TASK = T001; then\n:\n{first}\nelse\n:\n{second}\nfi\n\
         test ! -f \"$RALPH_TASKS\" || tick\n"
    ));
}

/// Runs a shell script in the repository.
#[track_caller]
fn sh(scene: &Sandbox, script: &str) -> Vec<u8> {
    let output = scene.hermetic("sh").args(["-ec", script]).output().unwrap();
    let complaint = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{script}: {}\n{complaint}", output.status);
    output.stdout
}

/// `iteration.json` of the last iteration.
fn last(scene: &Sandbox) -> Value {
    let session = scene.sessions().pop().unwrap();
    session.iteration(session.iterations().len())
}

/// What the last snapshot leaves out, as `path: reason`.
fn left_out(scene: &Sandbox) -> Vec<String> {
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let left = last(scene)["left_out"].as_array().unwrap().clone();
    left.iter().map(|left| format!("{}: {}", text(&left["path"]), text(&left["reason"]))).collect()
}

fn readable(listing: &[u8]) -> Vec<String> {
    listing.split(|byte| *byte == 0).map(|entry| String::from_utf8_lossy(entry).into_owned()).collect()
}

/// The last snapshot is the tree that git makes, but for what the record says is left out.
#[track_caller]
fn is_as_by_git(scene: &Sandbox) {
    let record = last(scene);
    let snapshot = record["snapshot"].as_str().unwrap();
    let left = record["left_out"].as_array().unwrap().iter();
    let without = left
        .filter(|left| left["reason"] != "submodule changes")
        .map(|left| format!(":(exclude,top,literal){}", left["path"].as_str().unwrap()));
    let output = scene
        .hermetic("sh")
        .args(["-c", TREE_BY_GIT, "sh"])
        .args(without)
        .env("OUT", scene.outside("by-git"))
        .env("SNAPSHOT", snapshot)
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let ours = scene.git_bytes(["ls-tree", "-r", "-z", snapshot]);
    assert_eq!(readable(&ours), readable(&output.stdout));
}

/// Runs the loop to its good end and compares the last snapshot with what git makes.
#[track_caller]
fn plays(scene: &Sandbox) -> Run {
    plays_with(scene, "")
}

fn plays_with(scene: &Sandbox, words: &str) -> Run {
    let run = scene.ralph(words).code(0);
    is_as_by_git(scene);
    let status = scene.ralph("status --json").code(0).json();
    assert_eq!(status["tasks"], json!({"done": 2, "open": 0, "skipped": 0}));
    run
}

#[test]
fn links_modes_and_names() {
    let scene = scene(
        r#"ln -s nowhere dangling; ln -s specs to-folder; ln -sfn hello.txt link; chmod +x tool.sh
        mkdir "with blanks" -- "-n"; echo 1 > "with blanks/ä ö.txt"; echo 2 > "$(printf 'new\nline')"
        echo 3 > "$(printf 'not-utf8-\377\376')"; echo 4 > '-n/"quoted"\'; echo 5 > "$(printf 'tab\there')"
        echo low > a.txt; echo high > A.txt; echo '*' > ':(glob)*'; : > empty"#,
        r#"chmod -x tool.sh; rm dangling; ln -s elsewhere dangling; echo 22 > "$(printf 'new\nline')"
        echo 33 > "$(printf 'not-utf8-\377\376')"; rm a.txt; rm -r ./-n; ln -sfn to-folder link"#,
    );
    sh(
        &scene,
        "echo hello > hello.txt; ln -s tool.sh link; echo : > tool.sh; git add -A; git commit -qm base",
    );
    plays(&scene);
    let snapshot = last(&scene)["snapshot"].as_str().unwrap().to_owned();
    let modes = scene.git(["ls-tree", &snapshot, "tool.sh", "link", "dangling", "A.txt"]);
    for mode in ["100644 blob", "120000 blob"] {
        assert!(modes.contains(mode), "{modes}");
    }
}

#[test]
fn files_that_become_folders_and_folders_that_become_files() {
    let scene = scene(
        "rm file; mkdir file; echo 1 > file/inside; rm -r folder; echo 2 > folder; rm -r deep; ln -s file deep",
        "rm -r file; ln -s folder file; rm folder; mkdir -p folder/again; echo 3 > folder/again/x; rm deep; mkdir deep; echo 4 > deep/y",
    );
    sh(
        &scene,
        "echo 0 > file; mkdir -p folder deep/er; echo 0 > folder/a; echo 0 > deep/er/b; git add -A; git commit -qm base",
    );
    plays(&scene);
}

#[test]
fn line_endings_are_those_that_git_stores() {
    let scene = scene(
        r"printf 'one\r\ntwo\r\n' > new.txt; printf 'a\r\nb\n' > mixed.txt; printf 'x\r\n' > raw.bin; printf 'plain\n' > unix.md",
        r"printf '*.md text eol=crlf\n' >> .gitattributes; printf 'one\r\nTWO\r\n' > new.txt; printf 'plain\r\nmore\r\n' > unix.md",
    );
    sh(
        &scene,
        r"git config core.autocrlf true
        printf '*.txt text eol=crlf\n*.bin -text\n' > .gitattributes; printf 'a\r\n' > old.txt; git add -A 2>/dev/null; git commit -qm base; git config core.safecrlf true",
    );
    plays(&scene);
    let snapshot = last(&scene)["snapshot"].as_str().unwrap().to_owned();
    assert_eq!(scene.git_bytes(["cat-file", "blob", &format!("{snapshot}:new.txt")]), b"one\nTWO\n");
    assert_eq!(scene.git_bytes(["cat-file", "blob", &format!("{snapshot}:raw.bin")]), b"x\r\n");
}

#[test]
fn clean_filters_and_large_file_pointers_are_stored_as_git_stores_them() {
    let scene = scene(
        "echo quiet > one.up; head -c 4000 /dev/zero > big.bin; echo '*.more filter=up' >> .gitattributes; echo x > a.more",
        "echo louder > one.up; head -c 5000 /dev/zero > big.bin; echo y > a.more",
    );
    scene.program(
        "git-lfs",
        r#"test "$1" = clean || exit 1
        hash=$(git hash-object --stdin)
        printf 'version https://git-lfs.github.com/spec/v1\noid sha256:%s\nsize %s\n' "$hash" $(($(wc -c < "$3")))"#,
    );
    sh(
        &scene,
        "git config filter.up.clean 'tr a-z A-Z'; git config filter.lfs.clean 'git-lfs clean -- %f'; git config filter.lfs.required true
        printf '*.up filter=up\\n*.bin filter=lfs -text\\n' > .gitattributes; echo base > base.up; git add -A; git commit -qm base",
    );
    plays(&scene);
    let snapshot = last(&scene)["snapshot"].as_str().unwrap().to_owned();
    assert_eq!(scene.git(["cat-file", "blob", &format!("{snapshot}:one.up")]), "LOUDER");
    let pointer = scene.git(["cat-file", "blob", &format!("{snapshot}:big.bin")]);
    assert!(pointer.ends_with("size 5000"), "{pointer}");
}

#[test]
fn a_filter_that_fails_costs_its_file_and_nothing_else() {
    let scene = scene(
        "echo 1 > a.bad; echo 2 > b; mkdir d; echo 3 > d/c.bad",
        "echo 11 > a.bad; echo 4 > tracked.bad",
    );
    sh(
        &scene,
        "echo 0 > tracked.bad; git add -A; git commit -qm base
        echo '*.bad filter=bad' > .gitattributes; git add .gitattributes; git commit -qm filter
        git config filter.bad.clean 'echo no luck >&2; false'; git config filter.bad.required true",
    );
    plays(&scene);
    let left = left_out(&scene);
    assert_eq!(left.len(), 3, "{left:#?}");
    assert!(left.iter().all(|left| left.contains(".bad: git refuses it: ")), "{left:#?}");
    assert!(left[0].contains("clean filter 'bad' failed"), "{left:#?}");
}

#[test]
fn hundreds_of_files_that_git_refuses_do_not_hold_up_the_loop() {
    let scene = scene("for i in $(seq 400); do echo $i > $i.bad; done; echo fine > fine", "echo fine > zzz");
    sh(
        &scene,
        "git config filter.bad.clean false; git config filter.bad.required true; echo '*.bad filter=bad' > .gitattributes; git add -A; git commit -qm filter",
    );
    scene.ralph("").code(0);
    let left = left_out(&scene);
    assert!(left.iter().any(|left| left.contains("1.bad: git refuses it")), "{left:#?}");
    assert!(left.len() >= 400, "{}", left.len());
}

#[test]
fn submodules_are_their_commit_and_what_is_uncommitted_in_them_is_told() {
    let scene = scene(
        "echo changed >> dirty/file; echo new > dirty/new",
        "cd moved; echo more > file; git commit -qam more; cd ..",
    );
    sh(
        &scene,
        "git init -q ../sub; cd ../sub; echo 1 > file; git add file; git commit -qm sub; cd -
        for name in clean dirty moved; do git -c protocol.file.allow=always submodule --quiet add ../sub $name; done
        git add -A; git commit -qm base",
    );
    scene.agent_uses_git();
    plays(&scene).stdout_has("dirty: the snapshots hold the commit of this submodule");
    assert_eq!(left_out(&scene), ["dirty: submodule changes"]);
    assert!(last(&scene)["files_changed"].as_array().unwrap().contains(&json!("moved")));
}

#[test]
fn nested_repositories_are_their_commit_if_they_have_one() {
    let scene = scene(
        r#"for name in nested "$(printf 'odd-\377')"; do git init -q "$name"; echo 1 > "$name/f"; git -C "$name" add f; git -C "$name" commit -qm 1; done
        git init -q unborn; echo 1 > unborn/f; mkdir -p specs/deep; git init -q specs/deep; echo 1 > specs/deep/f"#,
        "cd nested; echo 2 > f; git commit -qam 2; echo 3 > f; cd ..; echo 2 > unborn/g",
    );
    plays(&scene);
    assert_eq!(
        left_out(&scene),
        ["nested: submodule changes", "specs/deep/: nested repository", "unborn/: nested repository"]
    );
}

#[test]
fn a_sparse_checkout_keeps_what_is_not_checked_out() {
    let scene = scene(
        "echo 2 > in/a; mkdir -p out; echo new > out/new; rm in/b",
        "git sparse-checkout set other; echo 3 > other/x",
    );
    sh(
        &scene,
        "mkdir in out other; echo 1 | tee in/a in/b out/c other/d; git add -A; git commit -qm base
        git sparse-checkout set --cone in specs .specify",
    );
    scene.agent_uses_git();
    scene.ralph("-n 1").code(4);
    is_as_by_git(&scene);
    // The task list itself goes with the second step.
    scene.agent_sh("git sparse-checkout set in specs other; echo 3 > other/x; tick all");
    plays(&scene);
    let snapshot = last(&scene)["snapshot"].as_str().unwrap().to_owned();
    assert_eq!(scene.git(["cat-file", "blob", &format!("{snapshot}:out/c")]), "1");
}

#[test]
fn a_merge_with_conflicts_stays_as_it_is() {
    let scene = scene("echo new > new; echo more >> both", "rm -f theirs; echo x > gone");
    sh(
        &scene,
        "echo 0 > both; echo 0 > gone; git add -A; git commit -qm base; git checkout -qb other; echo theirs > both; echo t > theirs; git rm -q gone
        git add -A; git commit -qm theirs; git checkout -q main; echo ours > both; echo changed > gone; git commit -qam ours; git merge other || true",
    );
    let before = scene.git("ls-files --stage");
    plays_with(&scene, "--force");
    assert_eq!(scene.git("ls-files --stage"), before);
    assert!(scene.path(".git/MERGE_HEAD").exists());
    let snapshot = last(&scene)["snapshot"].as_str().unwrap().to_owned();
    assert!(scene.git(["cat-file", "blob", &format!("{snapshot}:both")]).contains("<<<<<<< HEAD"));
}

#[test]
fn bits_of_the_index_mean_what_they_mean_to_git() {
    let setup = "echo 1 > assumed; echo 1 > skipped; echo 1 > gone; git add -A; git commit -qm base; echo soon > intended; git add -N intended
        git update-index --assume-unchanged assumed; git update-index --skip-worktree skipped gone; rm gone";
    let scene = scene("echo 2 > assumed; echo 2 > skipped; echo more >> intended", "rm assumed");
    sh(&scene, setup);
    plays(&scene);

    // Also where the agent sets them.
    let scene = self::scene("echo 2 > assumed; echo 2 > new", &setup.replace('\n', ";"));
    sh(&scene, "echo '*.log' > .gitignore; git add -A; git commit -qm base");
    scene.agent_uses_git();
    plays(&scene);
}

#[test]
fn a_file_that_is_ignored_and_tracked_all_the_same_is_taken() {
    let scene = scene(
        "echo 1 > a.log; git add -f a.log; echo 1 > b.log",
        "echo 2 > a.log; git rm -q --cached old.log",
    );
    sh(
        &scene,
        "echo 0 > old.log; git add -A; git commit -qm base; echo '*.log' > .gitignore; git add -A; git commit -qm ignore",
    );
    scene.agent_uses_git();
    plays(&scene);
    let snapshot = last(&scene)["snapshot"].as_str().unwrap().to_owned();
    assert_eq!(scene.git(["ls-tree", "--name-only", &snapshot, "a.log", "b.log", "old.log"]), "a.log");
}

#[test]
fn what_a_gitignore_hides_later_goes_and_what_it_shows_again_comes() {
    let scene = scene(
        "echo 1 > a.tmp; echo 1 > keep.log; echo '*.log' > .gitignore",
        "echo '*.tmp' > .gitignore; echo x >> .git/info/exclude; echo x > x",
    );
    scene.agent_uses_git();
    plays(&scene);
    let snapshot = last(&scene)["snapshot"].as_str().unwrap().to_owned();
    assert_eq!(scene.git(["ls-tree", "--name-only", &snapshot, "a.tmp", "keep.log", "x"]), "keep.log");
}

#[test]
fn pipes_sockets_and_vanishing_files_cost_nothing() {
    let scene = scene(
        "mkfifo pipe; rm tracked; mkfifo tracked; echo 1 > a.slow; echo 1 > zzz",
        "echo 2 > a.slow; echo 2 > zzz; echo y > yyy",
    );
    sh(
        &scene,
        "echo 0 > tracked; git config filter.slow.clean 'rm -f zzz; cat'; echo '*.slow filter=slow' > .gitattributes; git add -A; git commit -qm base",
    );
    scene.ralph("").code(0);
    let left = left_out(&scene);
    assert_eq!(left.len(), 1, "{left:#?}");
    assert!(left[0].starts_with("tracked: "), "{left:#?}");
    let snapshot = last(&scene)["snapshot"].as_str().unwrap().to_owned();
    let names = scene.git(["ls-tree", "--name-only", &snapshot, "a.slow", "yyy", "zzz", "tracked"]);
    assert_eq!(names, "a.slow\ntracked\nyyy");
}

#[test]
fn what_cannot_be_read_costs_itself_and_is_told() {
    let scene = scene(
        "echo secret > sealed; mkdir vault; echo x > vault/x; echo 1 > plain; chmod 000 sealed vault tracked",
        "echo 2 > plain",
    );
    sh(&scene, "echo 0 > tracked; git add -A; git commit -qm base");
    let _socket = UnixListener::bind(scene.path("socket")).unwrap();
    scene.call("").bound_by_modes().run().code(0);
    let left = left_out(&scene);
    let snapshot = last(&scene)["snapshot"].as_str().unwrap().to_owned();
    let names = scene.git(&format!("ls-tree -r --name-only {snapshot} plain sealed socket tracked vault/x"));
    // A tracked file stays as git last saw it.
    let unreadable = ["sealed", "tracked", "vault/"].map(|path| format!("{path}: unreadable"));
    assert_eq!((names.as_str(), left.as_slice()), ("plain\ntracked", unreadable.as_slice()));
    sh(&scene, "chmod 755 sealed vault tracked");
}

#[test]
fn a_file_that_grows_too_large_goes_and_one_that_is_tracked_stays() {
    let scene = scene(
        "echo 1 > grows; head -c 3000 /dev/zero > big; echo 1 > tracked",
        "head -c 3000 /dev/zero | tee grows > tracked",
    );
    sh(&scene, "echo 0 > tracked; git add -A; git commit -qm base");
    scene.config("snapshot-max-file = \"2KiB\"");
    plays(&scene);
    assert_eq!(left_out(&scene), ["big: too large", "grows: too large"]);
}

#[test]
fn a_huge_folder_nobody_ignored_stays_out_and_is_one_line() {
    let scene = scene(
        "mkdir -p data/a src; for i in $(seq 130); do dd of=data/a/$i bs=1 count=0 seek=4194304 2> /dev/null; done; echo 1 > src/main; echo 1 > top",
        "echo 2 > src/main; echo 1 > src/other",
    );
    scene.ralph("").code(0);
    let left = left_out(&scene);
    assert_eq!(left.len(), 1, "{left:#?}");
    assert!(left[0].starts_with("data/: too much: ") && left[0].contains(" files, "), "{left:#?}");
    let snapshot = last(&scene)["snapshot"].as_str().unwrap().to_owned();
    let names = scene.git(["ls-tree", "-r", "--name-only", &snapshot, "src", "top"]);
    assert_eq!(names, "src/main\nsrc/other\ntop");
}

#[test]
fn very_long_paths() {
    let scene = scene(
        "part=$(printf '%0200d' 0); path=$part; for i in 1 2 3 4 5 6 7 8 9 10; do path=$path/$part; done; mkdir -p $path; echo 1 > $path/file",
        "echo 2 > $(find . -name file)",
    );
    plays(&scene);
}

#[test]
fn in_a_repository_with_settings_of_every_kind() {
    for (settings, setup) in [
        ("core.splitIndex true", "git update-index --split-index"),
        ("core.untrackedCache true", "git update-index --untracked-cache; git status"),
        ("index.version 4", "git update-index --index-version 4"),
        ("core.fsmonitor \"touch $PWD/../monitored; false\"", ":"),
        ("commit.gpgSign true", "git config gpg.program false; git config user.signingKey nobody"),
        ("i18n.commitEncoding iso-8859-1", "git config i18n.logOutputEncoding iso-8859-1"),
        ("core.ignoreCase true", ":"),
        ("core.fileMode false", ":"),
        ("core.quotePath false", "git config core.precomposeUnicode true"),
        ("feature.manyFiles true", "git update-index --force-write-index"),
        (
            "diff.ignoreSubmodules all",
            "git config status.showUntrackedFiles no; git config diff.external false",
        ),
        ("gc.auto 1", "git config gc.autoDetach false; git config maintenance.auto true"),
    ]
    .into_iter()
    .step_by(one_in(3))
    {
        let scene =
            scene("echo 1 > new; chmod +x tracked; echo ä > ü; rm gone", "echo 2 > new; echo 3 > tracked");
        sh(
            &scene,
            &format!(
                "echo 0 > tracked; echo 0 > gone; git add -A; git commit -qm base; git config {settings}; {setup}"
            ),
        );
        plays(&scene);
        assert!(!scene.outside("monitored").exists() || settings.contains("fsmonitor"), "{settings}");
        // Halves of an index of ours would be left beside the user's.
        let halves = sh(&scene, "ls .git | grep -c sharedindex || true");
        assert!(halves == b"0\n" || (settings.contains("splitIndex") && halves == b"1\n"), "{settings}");
    }
}

#[test]
fn a_reflog_is_kept_where_the_user_wants_one_for_every_ref() {
    let scene = scene("", "");
    scene.git("config core.logAllRefUpdates always");
    plays(&scene);
    let log = scene.git(["reflog", "show", scene.session().refname()]);
    assert_eq!(log.lines().count(), 4, "{log}");
    assert!(log.contains(": ralph"), "{log}");
}

#[test]
fn hooks_and_monitors_of_the_user_are_not_run_also_where_they_are_set_in_the_repository() {
    let scene = scene("echo 1 > a", "echo 2 > a");
    scene.write("../hooks/any", "#!/bin/sh\ntouch ../hooked\nexit 1\n");
    sh(
        &scene,
        "chmod +x ../hooks/any; for hook in pre-commit post-index-change reference-transaction post-checkout fsmonitor; do ln -s any ../hooks/$hook; done",
    );
    scene.git(["config", "core.hooksPath", scene.outside("hooks").to_str().unwrap()]);
    scene.git(["config", "core.fsmonitor", scene.outside("hooks/fsmonitor").to_str().unwrap()]);
    drop(std::fs::remove_file(scene.outside("hooked")));
    scene.ralph("").code(0);
    assert!(!scene.outside("hooked").exists());
    scene.git("config --unset core.hooksPath");
    scene.git("config --unset core.fsmonitor");
    is_as_by_git(&scene);
}

#[test]
fn a_lock_on_the_index_that_the_agent_holds_all_the_time() {
    let scene = scene("echo 1 > a; : > .git/index.lock", "echo 2 > a; echo 1 > b");
    scene.agent_uses_git();
    scene.ralph("").code(0);
    // Nobody holds it once the agent has ended; it is removed unless a git runs beside.
    drop(std::fs::remove_file(scene.path(".git/index.lock")));
    is_as_by_git(&scene);
}

#[test]
fn variables_of_git_in_our_environment_lead_nowhere() {
    let scene = scene("echo 1 > a; git status --short > status.txt", "echo 2 > a");
    let nowhere = scene.outside("nowhere");
    std::fs::create_dir(&nowhere).unwrap();
    let mut call = scene.call("").env("GIT_INDEX_FILE", nowhere.join("index"));
    for name in ["GIT_OBJECT_DIRECTORY", "GIT_ALTERNATE_OBJECT_DIRECTORIES"] {
        call = call.env(name, &nowhere);
    }
    for (name, value) in [
        ("GIT_LITERAL_PATHSPECS", "1"),
        ("GIT_NAMESPACE", "space"),
        ("GIT_TRACE", "1"),
        ("GIT_REF_PARANOIA", "1"),
        ("GIT_EXTERNAL_DIFF", "false"),
        ("GIT_INDEX_VERSION", "4"),
        ("GIT_CONFIG_COUNT", "1"),
        ("GIT_CONFIG_KEY_0", "core.bare"),
        ("GIT_CONFIG_VALUE_0", "false"),
    ] {
        call = call.env(name, value);
    }
    call.run().code(0);
    assert_eq!(std::fs::read_dir(nowhere).unwrap().count(), 0);
    is_as_by_git(&scene);
}

#[test]
fn files_that_git_would_put_straight_into_a_pack_are_in_the_snapshot() {
    for threshold in ["1", "1m"] {
        let scene = Sandbox::new();
        // What does not shrink: the size on the disk must not matter.
        acts(&scene, "head -c 3000000 /dev/urandom > new", "head -c 2000000 /dev/urandom > known; rm new");
        scene.write("known", "small").commit("A file").git(["config", "core.bigFileThreshold", threshold]);
        plays(&scene);
        let session = scene.session();
        let [first, second] =
            [1, 2].map(|number| session.iteration(number)["snapshot"].as_str().unwrap().to_owned());
        assert_eq!(scene.git(["cat-file", "-s", &format!("{first}:new")]), "3000000");
        assert_eq!(scene.git_bytes(["cat-file", "blob", &format!("{second}:known")]), scene.bytes("known"));
        scene.ralph("restore 1").code(0);
        assert_eq!(scene.git("hash-object new"), scene.git(["rev-parse", &format!("{first}:new")]));
        scene.ralph("restore --undo").code(0);
        scene.git("maintenance run --quiet --task=loose-objects");
        scene.store_is_sound(scene.repo());
    }
}

#[test]
fn what_a_group_shares_stays_shared() {
    let scene = Sandbox::with_git_init("init --quiet --shared=group .");
    acts(&scene, "echo 1 > a", "mkdir b; echo 2 > b/c");
    plays(&scene);
    let unshared = sh(
        &scene,
        "refs=$(ls -d .git/refs/ralph .git/refs/ralph-snap .git/reftable 2> /dev/null || :)
        find .git/objects $refs .git/ralph \\( -type d ! -perm -2770 -o -type f ! -perm -0440 \\) -print
        find $refs .git/ralph -type f ! -perm -0660 -print",
    );
    // The exact settings of a session may hold secrets of the user's.
    let own = format!(".git/ralph/settings/{}.json\n", scene.session().id());
    assert_eq!(String::from_utf8_lossy(&unshared), own.repeat(2));
}

#[test]
fn in_a_clone_that_borrows_its_objects() {
    let scene = scene("echo 1 > new", "echo 2 > new; git commit -qam two");
    sh(&scene, "echo base > base; git add -A; git commit -qm base; git clone -q --shared . ../lender; mv .git ../was; mv ../lender/.git .git; mv ../was ../lender/.git
        git config --unset remote.origin.url; echo \"$(cd ../lender && pwd)/.git/objects\" > .git/objects/info/alternates");
    scene.agent_uses_git();
    plays(&scene);
}

#[test]
fn in_a_shallow_clone() {
    let scene = scene(
        "echo 1 > new; git add new; git commit -qm new",
        "echo 2 > new; GIT_COMMITTER_DATE=2098-02-01T00:00:00Z git commit -q --amend -am other",
    );
    sh(
        &scene,
        "git add -A; git commit -qm base; echo 1 > more; git add -A; git commit -qm more
        git clone -q --depth 1 \"file://$PWD\" ../shallow; rm -rf .git; mv ../shallow/.git .git",
    );
    scene.agent_uses_git();
    plays(&scene);
    assert_eq!(scene.git("rev-parse --is-shallow-repository"), "true");
    assert_eq!(last(&scene)["commits"].as_array().unwrap().len(), 1);
}

#[test]
fn in_a_work_tree_of_a_bare_repository() {
    let scene =
        scene("echo 1 > new; ln -s new link", "rm new; echo 2 > other; git add -A; git commit -qm other");
    sh(
        &scene,
        "git add -A; git commit -qm base; git clone -q --bare . ../bare.git; git -C ../bare.git worktree add -q ../linked main
        rm -rf .git; mv ../linked/.git .git; git -C ../bare.git worktree repair \"$PWD\" >/dev/null",
    );
    scene.agent_uses_git();
    plays(&scene);
    assert!(scene.path(".git").is_file());
    assert!(scene.outside("bare.git/ralph/last").is_dir());
}

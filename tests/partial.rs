//! Partial clones (`git clone --filter`): the loop never calls the network, and whoever needs a file that is not here
//! fetches it in so many words, or says so.

#![expect(clippy::unwrap_used, reason = "a scene that cannot be set has failed")]

use std::path::{Path, PathBuf};

use crate::sandbox::Sandbox;

/// A project with some history in a repository that serves partial clones, and one of them.
fn scene(filter: &str) -> (Sandbox, PathBuf, PathBuf) {
    let scene = Sandbox::new();
    scene.tasks("- [ ] T001 One\n- [ ] T002 Two").agent_sh(
        "echo $RALPH_TASK > src/work-$RALPH_ITERATION; echo $RALPH_TASK > src/common\n\
         tick",
    );
    for text in ["first", "second", "third"] {
        scene.write("src/common", text).write(&format!("src/{text}"), text).commit(text);
    }
    let bare = scene.with_remote();
    scene.git_in(&bare, "config uploadpack.allowFilter true");
    scene.git_in(&bare, "config uploadpack.allowAnySHA1InWant true");
    let clone = scene.outside("clone");
    let address = format!("file://{}", bare.display());
    scene.git(["clone", "--quiet", filter, &address, clone.to_str().unwrap()]);
    (scene, bare, clone)
}

/// The objects that are named here and are not here.
fn missing(scene: &Sandbox, clone: &Path) -> usize {
    let listed = scene.git_in(clone, "rev-list --objects --all --missing=print");
    listed.lines().filter(|line| line.starts_with('?')).count()
}

/// From here on, nobody can be reached.
fn cut_off(scene: &Sandbox, clone: &Path) {
    scene.git_in(clone, ["config", "remote.origin.url", "file:///nowhere"]);
}

#[test]
fn the_loop_works_there_and_fetches_nothing() {
    for filter in ["--filter=blob:none", "--filter=tree:0"] {
        let (scene, _, clone) = scene(filter);
        let before = missing(&scene, &clone);
        assert!(before > 0);
        cut_off(&scene, &clone);
        for (words, code) in [("-n 1 --validate true", 4), ("resume --validate true", 0)] {
            scene.call(words).dir(&clone).run().code(code).stderr("");
        }
        for words in
            ["log", "show 2", "status", "diff 1 2 --stat", "rebuild --check", "fsck", "notes rebuild"]
        {
            scene.call(words).dir(&clone).run().code(0).stderr("");
        }
        scene.call("doctor --json").dir(&clone).run().stdout_has("/.git (a partial clone of origin)\"");
        scene.call("clean --snapshots-only --keep-last 0 --dry-run").dir(&clone).run().code(0).stderr("");
        assert_eq!(missing(&scene, &clone), before, "{filter}");
        let names = scene.git_in(&clone, "for-each-ref --format=%(refname) refs/ralph");
        assert_eq!(scene.git_in(&clone, ["rev-list", "--count", &names]), "6");
        scene.store_is_sound(&clone);
    }
}

#[test]
fn files_that_the_index_names_and_that_are_nowhere_here_cost_no_call_of_the_network() {
    let (scene, _, clone) = scene("--filter=blob:none");
    // In the index of a sparse checkout, and never fetched.
    let sparse = scene.outside("sparse");
    let address = scene.git_in(&clone, "config remote.origin.url");
    let words = ["clone", "--quiet", "--filter=blob:none", "--sparse", &address, sparse.to_str().unwrap()];
    scene.git(words);
    scene.git_in(&sparse, "sparse-checkout set specs .specify");
    let before = missing(&scene, &sparse);
    // And without a sparse checkout: the user gives the word.
    let index = missing(&scene, &clone);
    scene.git_in(&clone, "reset --quiet --soft HEAD~2");
    cut_off(&scene, &clone);
    cut_off(&scene, &sparse);
    std::fs::create_dir_all(sparse.join("src")).unwrap();
    for (place, count) in [(&sparse, before), (&clone, index)] {
        scene.call("").dir(place).run().code(0);
        assert_eq!(missing(&scene, place), count);
        scene.store_is_sound(place);
    }
}

#[test]
fn records_are_fetched_whole_and_snapshots_as_far_as_they_are_needed() {
    let (scene, bare, clone) = scene("--filter=blob:none");
    scene.ralph("").code(0);
    scene.ralph("sync --snapshots").code(0);
    let id = scene.session().id().to_owned();
    scene.call("sync --snapshots").dir(&clone).run().code(0).stdout_has("1 session");
    for words in ["show 2", "rebuild", "fsck"] {
        scene.call(words).dir(&clone).run().code(0).stderr("");
    }
    let log = scene
        .git_in(&clone, ["rev-list", "--objects", "--missing=print", &format!("refs/ralph/001-login/{id}")]);
    assert!(!log.contains('?'), "{log}");
    // What it writes there goes back, with its snapshots.
    scene.git_in(&clone, "checkout --quiet -- .");
    scene.call("-n 1").dir(&clone).run().code(4);
    scene.call("sync --snapshots").dir(&clone).run().code(0).stdout_has("1 session and the snapshots");
    scene.store_is_sound(&bare);
}

#[test]
fn what_is_restored_is_fetched_first_in_so_many_words() {
    let (scene, _, clone) = scene("--filter=blob:none");
    // A session of somebody else on an older commit, whose files are not here.
    scene.git("checkout --quiet HEAD~2");
    scene.write("src/common", "other").commit("Other");
    scene.ralph("-n 1").code(4);
    scene.git("checkout --quiet --force main");
    scene.ralph("sync --snapshots").code(0);
    scene.git_in(
        &clone,
        ["fetch", "--quiet", "--filter=blob:none", "origin", "+refs/ralph-snap/*:refs/ralph-snap/*"],
    );
    scene.git_in(&clone, ["fetch", "--quiet", "--filter=blob:none", "origin", "+refs/ralph/*:refs/ralph/*"]);
    scene.call("log").dir(&clone).run().code(0).stdout_has("✔ T001");
    let said = scene
        .call("show 1")
        .dir(&clone)
        .run()
        .code(1)
        .stderr_has("this clone is partial and lacks parts of the record");
    let hint = "hint: `git fetch --no-filter --refetch origin 'refs/ralph/*:refs/ralph/*'` fetches the rest";
    said.stderr_has(hint);
    scene.call("fsck").dir(&clone).run().code(1).stdout_has("could not be found");
    // A loop there does without the history that it cannot read.
    scene.git_in(
        &clone,
        ["fetch", "--quiet", "--no-filter", "--refetch", "origin", "refs/ralph/*:refs/ralph/*"],
    );
    scene.call("show 1").dir(&clone).run().code(0);
    let before = std::fs::read(clone.join("src/common")).unwrap();
    let address = scene.git_in(&clone, "config remote.origin.url");
    cut_off(&scene, &clone);
    let said = scene.call("restore 1 --force").dir(&clone).run().code(1);
    said.stderr_has("from origin; nothing was changed");
    assert_eq!(std::fs::read(clone.join("src/common")).unwrap(), before);
    assert_eq!(scene.git_in(&clone, "for-each-ref refs/ralph-restore"), "");
    scene.git_in(&clone, ["config", "remote.origin.url", &address]);
    let said = scene.call("restore 1 --force").dir(&clone).run().code(0);
    said.stderr_has("that this partial clone lacks");
    assert_eq!(std::fs::read(clone.join("src/common")).unwrap(), b"T001\n");
    scene.call("restore --undo").dir(&clone).run().code(0);
    assert_eq!(std::fs::read(clone.join("src/common")).unwrap(), before);
    scene.call("bisect -- test ! -e src/work-1").dir(&clone).run().code(0);
    scene.journal_differs();
}

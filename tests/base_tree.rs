//! An attempt can be tried again from the record alone: the tree that it began from and its prompt come out of a clone with
//! plain git, byte for byte what the agent was given.

#![expect(clippy::unwrap_used, reason = "a scene that cannot be set has failed")]

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::sandbox::Sandbox;

/// Where the agents note what they were given.
const WITNESS: &str = "witness";

/// A list of two tasks.
const TWO: &str = "- [ ] T001 Write one\n- [ ] T002 Write two";

/// Writes a file that is new in each attempt, and ticks the box.
const WORKS: &str = "echo $RALPH_ITERATION > work-$RALPH_ITERATION; tick";

/// A scene whose agent notes its prompt and the tree of its work tree before it does `work`.
fn scene(list: &str, work: &str) -> Sandbox {
    let scene = Sandbox::new();
    let witness = scene.outside(WITNESS);
    scene.git(["init", "--quiet", "--bare", witness.join("all.git").to_str().unwrap()]);
    scene.program(
        "note",
        &format!(
            "at={}/$RALPH_SESSION:$RALPH_ITERATION; mkdir -p \"$at\"; cat > \"$at/prompt\"\n\
             cd \"$(git rev-parse --show-toplevel)\"\n\
             export GIT_DIR={0}/all.git GIT_WORK_TREE=$PWD GIT_INDEX_FILE=$at/index\n\
             git add --all --sparse . && git write-tree > \"$at/tree\"",
            witness.display()
        ),
    );
    scene.tasks(list).agent_sh(&format!("note\n{work}\n")).validate("true");
    scene.commit("Ready");
    scene
}

/// A git command on an index of its own in `repo`.
fn git_with_index(scene: &Sandbox, repo: &Path, words: &[&str]) -> String {
    let mut git = scene.hermetic("git");
    git.current_dir(repo).env("GIT_INDEX_FILE", scene.outside("index")).args(words);
    let ended = git.output().unwrap();
    assert!(ended.status.success(), "{words:?}: {}", String::from_utf8_lossy(&ended.stderr));
    String::from_utf8(ended.stdout).unwrap().trim_end().to_owned()
}

fn blob(scene: &Sandbox, repo: &Path, spec: &str) -> Option<Vec<u8>> {
    let shown = scene.hermetic("git").current_dir(repo).args(["cat-file", "blob", spec]).output().unwrap();
    shown.status.success().then_some(shown.stdout)
}

fn clone(scene: &Sandbox) -> PathBuf {
    let clone = scene.outside("clone");
    scene.ralph("sync --snapshots").code(0);
    let address = format!("file://{}", scene.outside("remote.git").display());
    scene.git(["clone", "--quiet", &address, clone.to_str().unwrap()]);
    scene.call("sync --snapshots").dir(&clone).run().code(0);
    clone
}

/// Puts base tree and prompt of each attempt together in a clone, by the rule in docs/format.md, and compares them with what its
/// agent noted. Returns how many attempts there were.
fn all_can_be_tried_again(scene: &Sandbox) -> usize {
    scene.with_remote();
    let clone = clone(scene);
    let mut noted: BTreeMap<String, PathBuf> = fs::read_dir(scene.outside(WITNESS))
        .unwrap()
        .flatten()
        .filter(|entry| entry.path().join("tree").exists())
        .map(|entry| (entry.file_name().into_string().unwrap(), entry.path()))
        .collect();
    let count = noted.len();
    for name in scene.git_in(&clone, "for-each-ref --format=%(refname) refs/ralph/").lines() {
        let mut progress = Vec::new();
        let mut last_snapshot = None;
        for commit in scene.git_in(&clone, ["rev-list", "--reverse", name]).lines() {
            let file = |path: &str| blob(scene, &clone, &format!("{commit}:{path}"));
            let record: Option<Value> =
                file("iteration.json").map(|bytes| serde_json::from_slice(&bytes).unwrap());
            let key =
                record.as_ref().map(|it| format!("{}:{}", it["session"].as_str().unwrap(), it["iteration"]));
            if let Some((record, noted)) = record.as_ref().zip(key.and_then(|key| noted.remove(&key))) {
                let prompt = file("prompt.md").unwrap();
                assert!(prompt == fs::read(noted.join("prompt")).unwrap(), "{record:#}");
                let text = (!progress.is_empty()).then_some(progress.as_slice());
                let (found, given) = trees(scene, &clone, record, text, &noted);
                assert_eq!(found, given, "{}\n{record:#}", different(scene, &found, &given));
                // The rule for records that lack `before`.
                let snapshot = record["snapshot"].as_str().unwrap();
                let parent = scene.git_in(&clone, ["rev-parse", &format!("{snapshot}^1")]);
                assert_eq!(record["before"]["snapshot"], parent, "{record:#}");
            }
            last_snapshot = record.and_then(|it| Some(it["snapshot"].as_str()?.to_owned())).or(last_snapshot);
            progress = file("progress.base.md").unwrap_or(progress);
            progress.extend(file("progress.md").unwrap_or_default());
        }
    }
    assert!(noted.is_empty(), "not recorded: {noted:?}");
    count
}

/// The tree that an attempt began from by the record, and the one that its agent was given without what no snapshot takes.
fn trees(
    scene: &Sandbox,
    clone: &Path,
    record: &Value,
    progress: Option<&[u8]>,
    noted: &Path,
) -> (String, String) {
    let before = &record["before"];
    git_with_index(scene, clone, &["read-tree", before["snapshot"].as_str().unwrap()]);
    if let Some(text) = progress {
        let file = scene.outside("progress");
        fs::write(&file, text).unwrap();
        let hash =
            git_with_index(scene, clone, &["hash-object", "-w", "--no-filters", file.to_str().unwrap()]);
        let path = format!("{}/progress.txt", record["feature"].as_str().unwrap());
        git_with_index(
            scene,
            clone,
            &["update-index", "--add", "--cacheinfo", &format!("100644,{hash},{path}")],
        );
    }
    let found = git_with_index(scene, clone, &["write-tree"]);
    let all = scene.outside(WITNESS).join("all.git");
    let given = fs::read_to_string(noted.join("tree")).unwrap();
    git_with_index(scene, &all, &["read-tree", given.trim_end()]);
    for left in before["left_out"].as_array().into_iter().flatten() {
        git_with_index(scene, &all, &["update-index", "--force-remove", left["path"].as_str().unwrap()]);
    }
    let given = git_with_index(scene, &all, &["write-tree"]);
    git_with_index(
        scene,
        &all,
        &["fetch", "--quiet", clone.to_str().unwrap(), "refs/ralph-snap/*:refs/snap/*"],
    );
    (found, given)
}

fn different(scene: &Sandbox, found: &str, given: &str) -> String {
    let list = |repo: PathBuf, tree: &str| scene.git_in(&repo, ["ls-tree", "-r", tree]);
    let [found, given] =
        [list(scene.outside("clone"), found), list(scene.outside(WITNESS).join("all.git"), given)];
    format!("found:\n{found}\ngiven:\n{given}")
}

#[test]
fn what_succeeded_and_what_failed_can_be_tried_again() {
    let scene = scene(TWO, &format!("test $RALPH_ITERATION = 2 || {{ {WORKS}; }}"));
    scene.validate("test ! -e work-3 || test -e work-4");
    scene.ralph("-n 5 --skip-after 0").code(0);
    // One that did nothing, one whose box was opened again, and the progress of both.
    assert_eq!(all_can_be_tried_again(&scene), 4);
}

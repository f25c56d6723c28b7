//! An attempt can be tried again from the record alone: the tree that it began from and its prompt come out of a clone with
//! plain git, byte for byte what the agent was given.

#![expect(clippy::unwrap_used, reason = "a scene that cannot be set has failed")]

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

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
    let noted = scene.outside(WITNESS).join("all.git/objects");
    git.current_dir(repo).env("GIT_ALTERNATE_OBJECT_DIRECTORIES", noted);
    git.env("GIT_INDEX_FILE", scene.outside("index")).args(words);
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
                assert_eq!(found, given, "{}\n{record:#}", different(scene, &clone, &found, &given));
                // The rule for records that lack `before`.
                let snapshot = record["snapshot"].as_str().unwrap();
                let parent = scene.git_in(&clone, ["rev-parse", &format!("{snapshot}^1")]);
                assert_eq!(record["before"]["snapshot"], parent, "{record:#}");
            }
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
    let given = fs::read_to_string(noted.join("tree")).unwrap();
    git_with_index(scene, clone, &["read-tree", given.trim_end()]);
    for left in before["left_out"].as_array().into_iter().flatten() {
        git_with_index(scene, clone, &["update-index", "--force-remove", left["path"].as_str().unwrap()]);
    }
    let given = git_with_index(scene, clone, &["write-tree"]);
    (found, given)
}

fn different(scene: &Sandbox, clone: &Path, found: &str, given: &str) -> String {
    let [found, given] = [found, given].map(|tree| git_with_index(scene, clone, &["ls-tree", "-r", tree]));
    format!("found:\n{found}\ngiven:\n{given}")
}

/// Says that agent and loop have come so far, and waits to be killed.
const HANGS: &str = "touch \"$HOME/hangs\"; sleep 1000";

/// Says that its limit is reached, for two minutes.
const LIMITED: &str = "echo 'try again in 2 minutes' >&2; exit 75";

#[test]
fn what_succeeded_and_what_failed_can_be_tried_again() {
    let scene = scene(TWO, &format!("test $RALPH_ITERATION = 2 || {{ {WORKS}; }}"));
    scene.validate("test ! -e work-3 || test -e work-4");
    scene.ralph("-n 5 --skip-after 0").code(0);
    // One that did nothing, one whose box was opened again, and the progress of both.
    assert_eq!(all_can_be_tried_again(&scene), 4);
}

#[test]
fn what_was_resumed_given_up_and_accepted_can_be_tried_again() {
    let scene = scene(TWO, "echo $RALPH_ITERATION > work-$RALPH_TASK; test $RALPH_TASK = T001 || tick");
    scene.ralph("-n 1").code(4);
    // What a person does between two starts.
    scene.write("README.md", "of a person\n");
    scene.ralph("resume -n 2 --skip-after 2").code(4);
    scene.ralph("resume --skip-after 2");
    assert!(all_can_be_tried_again(&scene) >= 3);
    let outcomes = scene.session().trailers("Ralph-Outcome");
    assert!(outcomes.contains(&"skipped".to_owned()), "{outcomes:?}");

    let scene = self::scene(TWO, "test $RALPH_TASK = T001 || echo x >> work; tick");
    scene.call("-n 1").judged().run();
    scene.ralph("accept T001").code(0);
    scene.call("resume").judged().run().code(0);
    assert_eq!(all_can_be_tried_again(&scene), 2);
}

#[test]
fn what_a_lane_did_can_be_tried_again_and_its_last_result_goes_along() {
    let scene = scene(TWO, WORKS);
    scene.ralph("run --lane").code(0);
    scene.ralph("accept T009").code(3);
    assert_eq!(all_can_be_tried_again(&scene), 2);
    // The branch did not go, and its tip did.
    let published = scene.session().iteration(2)["published"].as_str().unwrap().to_owned();
    let there = scene.git_in(&scene.outside("clone"), ["cat-file", "-t", &published]);
    assert_eq!(there, "commit");
    let parents = scene.git(["log", "-1", "--format=%P", "--glob=refs/ralph-snap/*"]);
    assert_eq!(parents.split(' ').nth(1), Some(published.as_str()));
    let project = &scene.session().end()["project"];
    assert_eq!(project["folder"], scene.repo().to_str().unwrap());
    assert!(project["lane"].as_str().unwrap().contains("/lanes/"), "{project}");
}

#[test]
fn what_was_killed_and_recovered_can_be_tried_again() {
    let work = format!("if test -e \"$HOME/hangs\"; then {WORKS}; else echo half > half; {HANGS}; fi");
    let scene = scene(TWO, &work);
    scene.spawn("run").wait_for_file(scene.outside("home/hangs"));
    scene.ralph("run").code(0);
    assert_eq!(all_can_be_tried_again(&scene), 3);
    let killed = &scene.sessions()[0];
    assert_eq!(killed.iteration(1)["outcome"], "interrupted");
    assert_eq!(killed.iteration(1)["agent_setup"]["arguments"], json!(["sh", "agent.sh"]));
}

#[test]
fn what_waited_and_what_asked_can_be_tried_again_without_what_snapshots_leave_out() {
    let work =
        format!("case $RALPH_ITERATION in 1) {LIMITED};; 2) echo 'Question: Which?'; exit;; esac; {WORKS}");
    let scene = scene(TWO, &work);
    scene.write(".env", "TOKEN=hidden\n").write("big.bin", vec![7; 4096]);
    scene.config("snapshot-max-file = \"2KiB\"");
    scene.ralph("--skip-after 1");
    let first = scene.session().iteration(1);
    let left_out = first["before"]["left_out"].as_array().unwrap();
    let mut names: Vec<&str> = left_out.iter().map(|left| left["path"].as_str().unwrap()).collect();
    names.sort_unstable();
    assert_eq!(names, [".env", "big.bin"], "{first:#}");
    assert!(all_can_be_tried_again(&scene) >= 3);
}

#[test]
fn a_hook_that_changes_files_leaves_it_unknown_what_the_next_attempt_began_from() {
    for (hook, is_known) in [("true", true), ("echo x >> formatted", false)] {
        let scene = scene(TWO, WORKS);
        scene.agent_uses_git().executable(".git/hooks/pre-commit", hook);
        scene.ralph("--commit").code(0);
        let session = scene.session();
        assert!(session.iteration(1)["before"].is_object());
        assert_eq!(session.iteration(2)["before"].is_object(), is_known, "{hook}");
    }
}

#[test]
fn an_attempt_says_how_it_was_started_how_long_it_took_and_what_ended_it() {
    let scene = Sandbox::new();
    scene.tasks(TWO).validate("test $RALPH_TASK = T002 || kill -9 $$");
    scene
        .agent("model = 'opus'\n[agents.fake]\ncommand = 'tick; : --model {model} --token hunter2hunter2'\n");
    scene.write("config/agent.json", "{}").commit("Ready");
    scene.ralph("-n 2 --skip-after 1");
    let session = scene.session();
    let first = session.iteration(1);
    let arguments = first["agent_setup"]["arguments"][2].as_str().unwrap();
    assert!(arguments.contains("--model opus") && !arguments.contains("hunter2"), "{arguments}");
    assert_eq!(first["agent_setup"]["model"], "opus");
    assert_eq!(first["ended"], json!({"validation": {"signal": 9}}));
    let phases = first["phases"].as_array().unwrap();
    let names: Vec<&str> = phases.iter().map(|phase| phase["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["prompt", "agent", "recording", "validation", "recording"]);
    let mut end = phases[0]["at_ms"].as_u64().unwrap();
    for phase in phases {
        assert_eq!(phase["at_ms"], end, "{first:#}");
        end += phase["for_ms"].as_u64().unwrap();
    }
    // Then the task was given up, without an agent.
    let (skipped, second) = (session.iteration(2), session.iteration(3));
    assert_eq!((skipped.get("agent_setup"), second.get("ended")), (None, None));
    // Lists have the same.
    let listed = scene.ralph("log --json").code(0).json();
    for (listed, record) in listed["iterations"].as_array().unwrap().iter().zip([&first, &skipped, &second]) {
        for key in ["before", "agent_setup", "phases", "ended"] {
            assert_eq!(listed.get(key), record.get(key), "{key}");
        }
    }
    let parts = second["prompt_parts"].as_array().unwrap();
    let part = |name: &str| parts.iter().find(|part| part["part"] == name);
    assert!(part("rest").unwrap()["tokens"].as_u64().unwrap() > 50, "{parts:#?}");
    let progress = part("progress").unwrap();
    assert_eq!(progress["from"], json!([format!("{}:1", session.id())]), "{parts:#?}");
    assert_eq!(part("history").unwrap()["left_out"], "choice");
}

#[test]
fn a_session_says_what_it_began_in_and_numbers_are_grouped_by_it() {
    let scene = Sandbox::new();
    scene.tasks(TWO).agent_sh("tick").validate("make --version >/dev/null || true").commit("Ready");
    scene.program("make", "echo 'GNU Make 4.4'");
    let call = scene.call("-n 1").env("TZ", "Etc/GMT-14").env("API_TOKEN", "x").env("EMPLOYER", "y");
    call.env("LC_ALL", "C").run();
    scene.call("resume").env("TZ", "Etc/GMT+12").run().code(0);
    let session = scene.session();
    let log = scene.git(["rev-list", "--reverse", session.refname()]);
    let environment = |commit: &str| {
        let json: Value =
            serde_json::from_str(&scene.git(["show", &format!("{commit}:session.json")])).unwrap();
        json["environment"].clone()
    };
    let start = environment(log.lines().next().unwrap());
    assert_eq!(start["tools"], json!({"make": "GNU Make 4.4"}));
    assert_eq!((&start["utc_offset"], &start["locale"]), (&json!("+14:00"), &json!("C")));
    assert_eq!(start["system"], std::env::consts::OS);
    let names = start["variables"].as_array().unwrap();
    assert!(names.contains(&json!("EMPLOYER")) && !names.contains(&json!("API_TOKEN")), "{names:?}");
    assert_eq!(environment(log.lines().nth(3).unwrap())["utc_offset"], "-12:00");
    // The end says it no more.
    assert_eq!(session.end().get("environment"), None);
    let stats = scene.ralph("stats --json").code(0).json();
    assert_eq!(stats["by_agent"][0]["agent"], "fake");
    assert_eq!((&stats["by_agent"][0]["attempts"], &stats["by_agent"][0]["success"]), (&json!(2), &json!(2)));
    assert_eq!(stats["by_model"][0]["asked"], Value::Null);
    assert_eq!(stats["by_day"].as_array().unwrap().len(), 2, "{stats:#}");
}

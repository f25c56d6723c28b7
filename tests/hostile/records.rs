//! Records that this version cannot read: each is left out with one warning, and nothing stops for it.

#![expect(clippy::unwrap_used, reason = "what cannot be set up or read has failed the scene")]

use std::fs;

use serde_json::{Value, json};

use crate::sandbox::{Run, Sandbox, one_in};

/// What becomes of a file of a record.
#[derive(Debug, Clone)]
pub enum File {
    Bytes(Vec<u8>),
    Removed,
    /// The tree names a blob that is not there.
    Missing,
}

/// What becomes of one record.
#[derive(Debug, Clone, Default)]
pub struct Mutation {
    pub files: Vec<(&'static str, File)>,
    /// Words of the message, and what stands in their place.
    pub words: Vec<(&'static str, &'static str)>,
}

/// Changes records of the session at `name`, and puts what came after each on top of it. Where several mutations are
/// given for one record, there is a copy of it for each.
pub fn rewrite(scene: &Sandbox, name: &str, changes: &[(String, Mutation)]) {
    let mut parent: Option<(String, String)> = None;
    for old in scene.git(["rev-list", "--reverse", name]).lines() {
        let found = scene.git_bytes(["cat-file", "commit", old]);
        let mut own: Vec<_> = changes
            .iter()
            .filter(|(commit, _)| commit == old)
            .map(|(_, mutation)| mutation.clone())
            .collect();
        if own.is_empty() {
            own.push(Mutation::default());
        }
        for mutation in own {
            let mut bytes = found.clone();
            if !mutation.files.is_empty() {
                let tree = scene.git(["rev-parse", &format!("{old}^{{tree}}")]);
                bytes = replaced(&bytes, &tree, &changed_tree(scene, &tree, &mutation.files));
            }
            for (from, to) in &mutation.words {
                bytes = replaced(&bytes, from, to);
            }
            if let Some((from, to)) = &mut parent {
                bytes = replaced(&bytes, from, to);
                *to = object(scene, "commit", &bytes);
            } else {
                parent = Some((String::new(), object(scene, "commit", &bytes)));
            }
        }
        if let Some((from, _)) = &mut parent {
            old.clone_into(from);
        }
    }
    scene.git(["update-ref", name, &parent.unwrap().1]);
}

fn replaced(bytes: &[u8], from: &str, to: &str) -> Vec<u8> {
    let at = bytes.windows(from.len()).position(|window| window == from.as_bytes());
    let at = at.unwrap_or_else(|| panic!("`{from}` is not in {}", String::from_utf8_lossy(bytes)));
    [&bytes[..at], to.as_bytes(), &bytes[at + from.len()..]].concat()
}

fn object(scene: &Sandbox, kind: &str, bytes: &[u8]) -> String {
    let draft = scene.outside("tmp/object");
    fs::write(&draft, bytes).unwrap();
    scene.git(["hash-object", "-t", kind, "-w", "--literally", "--no-filters", draft.to_str().unwrap()])
}

fn changed_tree(scene: &Sandbox, tree: &str, files: &[(&str, File)]) -> String {
    let index = scene.outside("tmp/index");
    let git = |words: &[&str]| {
        let output = scene.hermetic("git").env("GIT_INDEX_FILE", &index).args(words).output().unwrap();
        assert!(output.status.success(), "{words:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    };
    git(&["read-tree", tree]);
    let put = |path: &str, blob: &str| {
        git(&["update-index", "--add", "--cacheinfo", &format!("100644,{blob},{path}")])
    };
    for (path, file) in files {
        match file {
            File::Bytes(bytes) => drop(put(path, &object(scene, "blob", bytes))),
            File::Removed => drop(git(&["update-index", "--force-remove", path])),
            File::Missing => drop(put(path, &"1".repeat(tree.len()))),
        }
    }
    git(&["write-tree", "--missing-ok"])
}

fn file(path: &'static str, file: File) -> Mutation {
    Mutation { files: vec![(path, file)], words: Vec::new() }
}

fn words(from: &'static str, to: &'static str) -> Mutation {
    Mutation { files: Vec::new(), words: vec![(from, to)] }
}

/// The JSON of a record with a value at a path of names; `null` stands there as it is.
fn with(json: &Value, path: &str, value: Value) -> Vec<u8> {
    let mut changed = json.clone();
    *changed.pointer_mut(path).unwrap_or_else(|| panic!("no {path} in {json}")) = value;
    changed.to_string().into_bytes()
}

fn without(json: &Value, key: &str) -> Vec<u8> {
    let mut changed = json.clone();
    assert!(changed.as_object_mut().unwrap().remove(key).is_some(), "{key}");
    changed.to_string().into_bytes()
}

/// Files that no version can read, whatever they should hold.
fn broken(json: &Value) -> Vec<File> {
    let text = json.to_string();
    [
        b"".to_vec(),
        b"null".to_vec(),
        b"[]".to_vec(),
        b"\0\0\0\0".to_vec(),
        text.as_bytes()[..text.len() / 2].to_vec(),
        "[".repeat(100_000).into_bytes(),
        text.replace("scripted", "\u{1}").into_bytes(),
        replaced(text.as_bytes(), "scripted", "").into_iter().chain(*b"}").collect(),
        [b"{\"schema\": 1, \"id\": \"\xff\xfe\"}".to_vec(), text.into_bytes()].concat(),
    ]
    .map(File::Bytes)
    .into_iter()
    .chain([File::Removed, File::Missing])
    .collect()
}

/// Every way in which the record of an iteration may be none that this version reads whole.
fn mutations(json: &Value) -> Vec<Mutation> {
    let value = |path: &str, value: Value| file("iteration.json", File::Bytes(with(json, path, value)));
    let call = |kind: &str| json!([{"tool_name": "t", "kind": kind, "arguments_summary": "", "result_summary": "", "is_error": false}]);
    let mut all = vec![
        // Words of later versions, which are kept.
        value("/outcome", json!("integrated")),
        value("/failure_class", json!("lost_claim")),
        value("/exit_reason", json!("evicted")),
        value("/false_claim", json!(["vision"])),
        value("/tool_calls", call("browse")),
        value("/facts/summarized", json!({"picture": "x"})),
        words("Ralph-Outcome: success", "Ralph-Outcome: integrated"),
        // Values that mean nothing here.
        value("/outcome", json!("Two Words")),
        value("/outcome", json!(7)),
        value("/iteration", json!(-1)),
        value("/iteration", json!(4_294_967_296_u64)),
        value("/exit/agent", json!(2_147_483_648_u64)),
        value("/duration_ms/agent", json!(-5)),
        value("/tokens/input", json!(1.5)),
        value("/cost_usd", json!("free")),
        value("/started_at", json!("yesterday")),
        value("/started_at", json!(0)),
        value("/task", json!(["T001"])),
        value("/closed", json!("T001")),
        value("/session", json!("../../x")),
        value("/head_before", json!("zz")),
        value("/snapshot", json!("zz")),
        value("/facts", json!("none")),
        value("/learnings", json!(null)),
        words("Ralph-Record: iteration", "Ralph-Record: dream"),
        words("Ralph-Outcome: success", "Ralph-Outcome: !"),
        words("Ralph-Iteration: ", "Ralph-Iteration: 99999999999"),
        words("Ralph-Iteration: ", "Ralph-Iteration: -"),
        words("Ralph-Exit: agent=0", "Ralph-Exit: agent=zero"),
        words("Ralph-Duration-Ms: agent=", "Ralph-Duration-Ms: agent=-1"),
        words("Ralph-Tasks: done=", "Ralph-Tasks: done=many"),
        words("Ralph-Schema: 1", "Ralph-Schema: 2"),
        words("Ralph-Schema: 1", "Ralph-Schema: one"),
        words("Ralph-Session: ", "Ralph-Seance: "),
        words("Ralph-Feature: ", "Ralph-Future: "),
        words("Ralph-Record: ", "Ralph-Rec: "),
        words("Ralph-Snapshot: ", "Ralph-Snapshot: x"),
        words("Ralph-Work: before=", "Ralph-Work: before=x"),
        file("manifest.json", File::Bytes(b"{".to_vec())),
        file("manifest.json", File::Removed),
        file("prompt.md", File::Missing),
        file("agent/stdout", File::Missing),
        file("agent/stdout", File::Removed),
        file("progress.md", File::Missing),
    ];
    for key in ["outcome", "session", "exit", "claims", "tokens"] {
        all.push(file("iteration.json", File::Bytes(without(json, key))));
    }
    all.extend(broken(json).into_iter().map(|broken| file("iteration.json", broken)));
    all
}

/// At most one warning that something was left out, with a hint.
#[track_caller]
fn at_most_one_warning(run: Run) -> Run {
    let talk = run.talk();
    let said = talk.matches("warning: left out").count();
    assert!(said <= 1 && talk.matches("hint: ").count() >= said, "{run}");
    assert!(!talk.contains("panicked"), "{run}");
    run
}

#[test]
fn a_newest_record_of_a_later_version_hides_no_counts() {
    let scene = Sandbox::with_succeeding_agent(3);
    scene.skip_final_fsck();
    scene.ralph("-n 1").code(4);
    let name = scene.session().refname().to_owned();
    let message = scene.git(format!("log -1 --format=%B {name}").as_str());
    assert!(message.contains("Ralph-Record: end"), "{message}");
    scene.write("message.txt", message.replace("Ralph-Record: end", "Ralph-Record: dream"));
    let commit = scene.git(format!("commit-tree {name}^{{tree}} -p {name} -F message.txt").as_str());
    scene.git(format!("update-ref {name} {}", commit.trim()).as_str());
    at_most_one_warning(scene.ralph("log").code(0).stdout_has("1 of 3 done"));
    at_most_one_warning(scene.ralph("log --sessions").code(0).stdout_has("\t1 of 3\t"));
}

#[test]
fn records_of_iterations_that_cannot_be_read_stop_no_command() {
    let scene = Sandbox::with_succeeding_agent(5);
    scene.skip_final_fsck().config("progress.max-entries = 1000\nhistory.mode = 'full'");
    scene.ralph("-n 2").code(4);
    let mutations = mutations(&scene.session().iteration(1));
    assert!(mutations.len() >= 31, "{}", mutations.len());
    let name = scene.session().refname().to_owned();
    let first = scene.session().iterations()[0].clone();
    // The last stays as it is: a session that goes on ends with a record of this version.
    let changes: Vec<_> = mutations.iter().map(|mutation| (first.clone(), mutation.clone())).collect();
    rewrite(&scene, &name, &changes);
    let id = scene.session().id().to_owned();
    for words in
        ["log", "log --oneline", "log --sessions", "log --json", "log --sessions --json", "status", "stats"]
    {
        at_most_one_warning(scene.ralph(words).code(0));
    }
    let listed = scene.ralph("log --json").code(0).stderr_has("warning: left out unreadable").json();
    let listed = listed["iterations"].as_array().or(listed.as_array()).unwrap().len();
    // All but those whose messages cannot be read.
    assert!(listed >= mutations.len() - 14, "{listed}");
    let sessions = scene.ralph("log --sessions").code(0).text();
    assert!(sessions.contains(&id), "{sessions}");
    for words in [
        "show",
        "progress",
        "history",
        "replay",
        "report -o page.html",
        "doctor",
        "--dry-run",
        "notes rebuild",
    ] {
        let run = at_most_one_warning(scene.ralph(words));
        assert!(run.code == 0 || words == "doctor", "{run}");
    }
    at_most_one_warning(scene.ralph("show 1"));
    scene.ralph("fsck").code(1);
    at_most_one_warning(scene.ralph("resume -n 1").code(4)).stdout_has("ralph resumes on");
    at_most_one_warning(scene.ralph("-n 1").code(4)).stdout_has("✔ T004");
    assert_eq!(scene.sessions().len(), 2);
}

#[test]
fn records_of_sessions_that_cannot_be_read_stop_no_command() {
    let scene = Sandbox::with_succeeding_agent(60);
    scene.skip_final_fsck();
    scene.ralph("-n 1").code(4);
    let sample = scene.session().end();
    let value = |path: &str, value: Value| file("session.json", File::Bytes(with(&sample, path, value)));
    let mut mutations = vec![
        value("/status", json!("parked")),
        value("/status", json!("!")),
        value("/stop_reason", json!("checkpoint")),
        value("/limit", json!("patience")),
        value("/artifact/status", json!("polished")),
        value("/max_iterations", json!(-1)),
        value("/iterations_run", json!(1e30)),
        value("/configuration", json!("all")),
        value("/id", json!("x")),
        file("session.json", File::Bytes(without(&sample, "host"))),
        file("session.json", File::Bytes(without(&sample, "feature"))),
        words("Ralph-Record: ", "Ralph-Record: later-"),
        words("Ralph-Schema: 1", "Ralph-Schema: 2"),
        words("Ralph-Tasks: done=", "Ralph-Tasks: done=x"),
    ];
    mutations.extend(broken(&sample).into_iter().map(|broken| file("session.json", broken)));
    for (number, mutation) in mutations.iter().enumerate().step_by(one_in(3)) {
        scene.ralph("-n 1").code(4);
        let session = scene.sessions().pop().unwrap();
        let name = session.refname().to_owned();
        let commits = scene.git(["rev-list", &name]);
        let is_end = number % 2 == 0;
        let commit = if is_end { commits.lines().next() } else { commits.lines().last() };
        rewrite(&scene, &name, &[(commit.unwrap().to_owned(), mutation.clone())]);
        let words = if is_end { "resume -n 1" } else { "status" };
        let run = scene.ralph(words);
        assert!([0, 1, 4].contains(&run.code) && !run.talk().contains("panicked"), "{mutation:?}: {run}");
    }
    for words in
        ["log", "log --sessions", "log --sessions --json", "status", "stats", "report -o page.html", "doctor"]
    {
        let run = scene.ralph(words);
        assert!((run.code == 0 || words == "doctor") && !run.talk().contains("panicked"), "{run}");
    }
    scene.ralph("-n 1").code(4);
}

#[test]
fn a_manifest_that_claims_chunks_without_end_is_verified_like_any_other() {
    let scene = Sandbox::with_succeeding_agent(1);
    scene.skip_final_fsck().ralph("").code(0);
    let name = scene.session().refname().to_owned();
    let commit = scene.session().iterations()[0].clone();
    let manifest = scene.git(["show", &format!("{commit}:manifest.json")]);
    let mut claims: Value = serde_json::from_str(&manifest).unwrap();
    claims["files"]["agent/stdout"]["chunks"] = json!(500_000);
    let claims = file("manifest.json", File::Bytes(claims.to_string().into_bytes()));
    rewrite(&scene, &name, &[(commit, claims)]);
    let run = scene.ralph("fsck").code(1).stdout_has("agent/stdout/00000 is missing");
    assert!(run.text().lines().count() < 100, "{} lines", run.text().lines().count());
}

#[test]
fn a_record_that_cannot_be_read_is_synced_and_stops_nobody_who_gets_it() {
    let scene = Sandbox::with_succeeding_agent(4);
    scene.with_remote();
    scene.skip_final_fsck().ralph("-n 3").code(4);
    let name = scene.session().refname().to_owned();
    let commits = scene.session().iterations();
    let changes = [
        (commits[0].clone(), file("iteration.json", File::Bytes(b"{".to_vec()))),
        (commits[1].clone(), words("Ralph-Record: iteration", "Ralph-Record: dream")),
    ];
    rewrite(&scene, &name, &changes);
    scene.git("push --quiet origin main");
    scene.ralph("sync").code(0);
    let clone = scene.outside("clone");
    scene.git(["clone", "--quiet", scene.outside("remote.git").to_str().unwrap(), clone.to_str().unwrap()]);
    let call = |words: &str| at_most_one_warning(scene.call(words).dir(&clone).run());
    call("sync").code(0).stdout_has("1 session");
    call("log").code(0).stdout_has("T003").stdout_lacks("T002").stderr_has("warning: left out");
    call("log --sessions").code(0).stdout_has(name.rsplit('/').next().unwrap());
    call("--dry-run").code(0);
    call("-n 1").code(4);
    call("sync").code(0);
}

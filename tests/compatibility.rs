//! Records that earlier versions wrote are read, verified, rebuilt from and resumed (see `fixtures/records/record.sh`).

#![expect(clippy::unwrap_used, reason = "a scene that cannot be set up must fail")]

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::sandbox::Sandbox;

/// The folders of recorded versions.
fn versions() -> Vec<PathBuf> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures/records");
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let versions: Vec<_> = entries.filter(|path| path.is_dir()).collect();
    assert!(!versions.is_empty(), "{folder} holds no version");
    versions
}

/// A clone of the recorded repository, with all its refs.
fn cloned(version: &Path) -> Sandbox {
    let scene = Sandbox::without_repository("project");
    let bundle = version.join("repository.bundle");
    scene.git("init --quiet .");
    scene.git(["fetch", "--quiet", "--update-head-ok", bundle.to_str().unwrap(), "refs/*:refs/*"]);
    scene.git("reset --quiet --hard");
    scene
}

/// What `expected` says and `found` does not say, as JSON pointers. New keys are welcome.
fn missing(expected: &Value, found: &Value, at: &str, missing_at: &mut Vec<String>) {
    match (expected, found) {
        (Value::Object(expected), Value::Object(found)) => {
            for (key, value) in expected {
                missing(value, found.get(key).unwrap_or(&Value::Null), &format!("{at}/{key}"), missing_at);
            }
        }
        (Value::Array(expected), Value::Array(found)) if expected.len() == found.len() => {
            for (place, (expected, found)) in expected.iter().zip(found).enumerate() {
                missing(expected, found, &format!("{at}/{place}"), missing_at);
            }
        }
        _ if expected == found => {}
        _ => missing_at.push(format!("{at}: {expected} became {found}")),
    }
}

#[test]
fn records_of_earlier_versions_are_read_as_they_were() {
    for version in versions() {
        let scene = cloned(&version);
        let sessions: Value =
            serde_json::from_slice(&fs::read(version.join("sessions.json")).unwrap()).unwrap();
        let streaming = sessions["sessions"][1]["id"].as_str().unwrap();
        for (file, words) in [
            ("log.json", "log --json".to_owned()),
            ("sessions.json", "log --sessions --json".to_owned()),
            ("stats.json", "stats --json".to_owned()),
            ("show.json", format!("show {streaming}:2 --json")),
        ] {
            let expected = serde_json::from_slice(&fs::read(version.join(file)).unwrap()).unwrap();
            let mut missing_at = Vec::new();
            missing(&expected, &scene.ralph(words.as_str()).code(0).json(), "", &mut missing_at);
            assert!(missing_at.is_empty(), "{}, {file}:\n{}", version.display(), missing_at.join("\n"));
        }
        let summaries = ["status", "stats", "log", "report"]
            .map(|command| scene.ralph(&format!("{command} --json")).code(0).json()["summary"].take());
        assert!(summaries.iter().all(|summary| *summary == summaries[0]), "{summaries:#?}");
        assert_eq!((&summaries[0]["attempts"], &summaries[0]["failed"]), (&13.into(), &9.into()));
    }
}

#[test]
fn records_of_earlier_versions_are_verified_and_progress_txt_is_rebuilt_from_them() {
    for version in versions() {
        let scene = cloned(&version);
        scene.ralph("fsck").code(0);
        scene.ralph("rebuild --check").code(0);
        let recorded = scene.read("specs/001-greeting/progress.txt");
        fs::remove_file(scene.path("specs/001-greeting/progress.txt")).unwrap();
        scene.ralph("rebuild").code(0);
        assert_eq!(scene.read("specs/001-greeting/progress.txt"), recorded);
        let first = scene.sessions()[0].id().to_owned();
        scene.ralph(["show", &format!("{first}:4"), "--patch"]).code(0).stdout_has("+++ b/count.sh");
    }
}

#[test]
fn sessions_of_earlier_versions_are_resumed() {
    for version in versions() {
        let scene = cloned(&version);
        let ids: Vec<_> = scene.sessions().iter().map(|session| session.id().to_owned()).collect();
        scene.write("moon.txt", "full\n");
        scene.call(["resume", &ids[1]]).judged().run().code(0);
        scene.ralph("fsck").code(0);
        assert_eq!(scene.ralph("status --json").code(0).json()["tasks"]["open"], 0);
    }
}

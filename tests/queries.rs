//! Choosing from thousands of iterations: filters, forms for scripts, and a cache that can be wrong without harm.

#![expect(clippy::unwrap_used, reason = "what is not there has failed the scene")]

use std::fs;
use std::io::Write;
use std::process::Stdio;

use serde_json::Value;

use crate::sandbox::{Program, Sandbox};

const STORY: &str = r#"
[[turn]]
task = "T002"
attempt = 1
do = [{ say = "The needle is here, not there." }]
[[turn]]
do = [{ append = { path = "hello.txt", text = "hello\n" } }, { say = "Done." }, { tick = "current" }]
"#;

/// T001 succeeds, T002 fails once and succeeds; then a second session does T003.
fn recorded_scene() -> Sandbox {
    let scene = Sandbox::new();
    let tasks = "## Phase 1: Setup\n\n- [ ] T001 One\n\n## Phase 2: Core\n\n- [ ] T002 Two\n";
    scene.tasks(tasks).agent_script(STORY).validate("echo checked; echo 'a stick' >&2").commit("Ready");
    scene.ralph("").code(0);
    scene.tasks(
        &format!("{tasks}\n## Phase 12: Polish\n\n- [ ] T003 Three")
            .replace("[ ] T001", "[x] T001")
            .replace("[ ] T002", "[x] T002"),
    );
    scene.ralph("").code(0);
    scene
}

/// The tasks of the iterations that are listed, each with its outcome.
fn listed(scene: &Sandbox, words: &[&str]) -> String {
    let words = [&["log", "--json"], words].concat();
    let before = scene.everything();
    let mut call = scene.hermetic(Program::Specify.path());
    let output = call.arg("ralph").args(&words).output().unwrap();
    assert!(output.status.success(), "{words:?}: {}", String::from_utf8_lossy(&output.stderr));
    assert!(scene.everything() == before, "{words:?} wrote something");
    let json: Value = serde_json::from_slice(&output.stdout).unwrap();
    let short =
        |one: &Value| format!("{} {}", one["task"].as_str().unwrap(), one["outcome"].as_str().unwrap());
    let short: Vec<_> = json["iterations"].as_array().unwrap().iter().map(short).collect();
    short.join(", ").replace("success", "+").replace("failure", "-")
}

#[test]
fn each_filter_leaves_what_it_should() {
    let scene = recorded_scene();
    let json = scene.ralph("log --json").code(0).json();
    let times: Vec<&str> =
        json["iterations"].as_array().unwrap().iter().map(|one| one["ended_at"].as_str().unwrap()).collect();
    for (words, expected) in [
        (vec![], "T001 +, T002 -, T002 +, T003 +"),
        (vec!["--failed"], "T002 -"),
        (vec!["--outcome", "success,skipped"], "T001 +, T002 +, T003 +"),
        (vec!["--task", "T001", "--task", "T003"], "T001 +, T003 +"),
        (vec!["--phase", "2"], "T002 -, T002 +"),
        (vec!["--phase", "polish"], "T003 +"),
        (vec!["--agent", "scripted", "--failed"], "T002 -"),
        (vec!["--since", times[2]], "T002 +, T003 +"),
        (vec!["--until", times[1]], "T001 +, T002 -"),
        (vec!["--after", times[1], "--before", times[2]], "T002 -, T002 +"),
        (vec!["--grep", "needle is .*there"], "T002 -"),
        // The prompts of later iterations quote it.
        (vec!["--grep", "needle is .*there", "--in", "prompt"], "T002 +, T003 +"),
        (vec!["--grep", "needle is .*there", "--in", "prompt,answer"], "T002 -, T002 +, T003 +"),
        (vec!["--grep", "^hello", "--in", "diff"], "T001 +, T002 +, T003 +"),
        (vec!["--grep", "^hello", "--in", "diff", "-n", "1"], "T003 +"),
        (vec!["--grep", "nothing like it", "--failed"], ""),
        (vec!["-i", "--grep", "NEEDLE", "--failed"], "T002 -"),
        (vec!["--grep", "^a stick$", "--task", "T003"], "T003 +"),
        (vec!["--grep", "Three"], "T003 +"),
        (vec!["-n", "2"], "T002 +, T003 +"),
        (vec!["-n", "3", "--reverse"], "T003 +, T002 +, T002 -"),
        (vec!["-n", "1", "--grep", "needle|Done"], "T003 +"),
        (vec!["-n", "0"], ""),
        (vec!["--feature", "001-login", "--failed"], "T002 -"),
        (vec!["--feature", "001", "--failed"], "T002 -"),
        (vec!["--task", "t001,T003"], "T001 +, T003 +"),
    ] {
        assert_eq!(listed(&scene, &words), expected, "{words:?}");
    }
}

#[test]
fn there_is_a_form_for_people_and_forms_for_scripts() {
    let scene = recorded_scene();
    let ids: Vec<String> = scene.sessions().iter().map(|session| session.id().to_owned()).collect();
    scene
        .ralph("log --oneline -n 2")
        .code(0)
        .stdout(format!("{}:3  ✔ T002 done\n{}:1  ✔ T003 done\n", ids[0], ids[1]));
    let line = scene.ralph("log --oneline --failed").code(0).text();
    let name = line.split(' ').next().unwrap();
    scene.ralph(&format!("show {name}")).code(0).stdout_has("✘ T002");
    scene.ralph("log --sessions -n 1").code(0).stdout_has(&ids[1]).stdout_lacks(&ids[0]);
    let sessions = scene.ralph("log --sessions --json --reverse").code(0).json();
    assert_eq!(sessions["sessions"][0]["id"], ids[1]);
    let json = scene.ralph("log --json --failed").code(0).json();
    assert_eq!(json["iterations"].as_array().unwrap().len(), 1);
    let json = scene.ralph("log --json --task T001 --failed").code(0).json();
    assert_eq!(json["iterations"], serde_json::json!([]));
    for (words, complaint) in [
        ("log --since", "a value is required"),
        ("log --sessions --failed", "cannot be used with"),
        ("log --failed --outcome success", "cannot be used with"),
    ] {
        scene.ralph(words).code(2).stderr_has(complaint);
    }
}

const SESSIONS: [&str; 2] = ["20300101-000000-00000001", "20300102-000000-00000002"];

/// Two sessions of so many records, put there by git alone.
fn thousands(count: usize) -> Sandbox {
    let scene = Sandbox::new();
    let mut stream = String::new();
    for (n, session) in SESSIONS.iter().enumerate() {
        for number in 0..=count {
            stream.push_str(&commit(session, number, n * count + number));
        }
    }
    import(&scene, &stream);
    scene.journal_differs();
    scene
}

fn commit(session: &str, number: usize, seconds: usize) -> String {
    let record = if number == 0 {
        "start".to_owned()
    } else {
        format!(
            "iteration\nRalph-Iteration: {number}\nRalph-Task: T{number:03}\nRalph-Outcome: {}",
            ["success", "failure"][number % 2]
        )
    };
    let message = format!(
        "001-login: iteration {number}, T{number:03} done\n\nRalph-Schema: 1\nRalph-Session: {session}\nRalph-Feature: specs/001-login\nRalph-Record: {record}\nRalph-Tasks: done={number} open=1 closed=\n"
    );
    format!(
        "commit refs/ralph/001-login/{session}\ncommitter specify ralph <ralph@localhost> {} +0000\ndata {}\n{message}\n",
        1_900_000_000 + seconds,
        message.len()
    )
}

fn import(scene: &Sandbox, stream: &str) {
    let mut git =
        scene.hermetic("git").args(["fast-import", "--quiet"]).stdin(Stdio::piped()).spawn().unwrap();
    git.stdin.take().unwrap().write_all(stream.as_bytes()).unwrap();
    assert!(git.wait().unwrap().success());
}

/// A line for each iteration of `log --json`.
fn names_and_commits(json: &[u8]) -> String {
    let json: Value = serde_json::from_slice(json).unwrap();
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let line =
        |one: &Value| format!("{}:{}\t{}\n", text(&one["session"]), one["iteration"], text(&one["commit"]));
    json["iterations"].as_array().unwrap().iter().map(line).collect()
}

#[test]
fn a_cache_changes_nothing_but_the_time() {
    let scene = thousands(300);
    let cache = scene.path(".git/ralph/cache/log");
    let log = |words: &str| {
        let run = scene.ralph(words).code(0);
        // These records have nothing but their messages, which is said where more is read.
        if words.contains("--json") { run.stdout } else { run.stderr("").stdout }
    };
    let forms = ["log", "log --json", "log --sessions", "log --oneline --failed -n 7", "log --task T123"];
    let first: Vec<_> = forms.iter().map(|words| log(words)).collect();
    assert!(cache.is_file(), "600 records are worth a cache");
    let by_git = scene.git("log --glob=refs/ralph/* --format=%H --grep=Ralph-Record:.iteration");
    let commits = names_and_commits(&log("log --json --reverse"));
    let commits: Vec<&str> = commits.lines().map(|line| line.split_once('\t').unwrap().1).collect();
    assert_eq!(commits.join("\n"), by_git);
    let whole = fs::read(&cache).unwrap();
    let text = String::from_utf8(whole.clone()).unwrap();
    let broken: Vec<Vec<u8>> = vec![
        whole.clone(),
        whole[..whole.len() / 2].to_vec(),
        Vec::new(),
        b"\xff\xfe".to_vec(),
        text.replacen("ralph log 1", "ralph log 0", 1).into_bytes(),
        text.replacen("T007", "T008", 1).into_bytes(),
        [whole.as_slice(), b"x"].concat(),
    ];
    for bytes in broken {
        fs::write(&cache, bytes).unwrap();
        for (words, expected) in forms.iter().zip(&first) {
            assert!(log(words) == *expected, "{words}");
        }
        // What was broken is made again.
        assert!(fs::read(&cache).unwrap() == whole);
    }
    fs::remove_dir_all(scene.path(".git/ralph")).unwrap();
    assert!(log("log") == first[0]);
}

#[test]
fn what_is_read_of_whole_records_is_kept_and_changes_nothing() {
    let scene = Sandbox::new();
    let stream: String = (0..=120)
        .map(|number| {
            let json = format!("{{\"agent_setup\": {{\"model\": \"opus-{number}\"}}, \"secret\": {number}}}");
            let file = format!("M 100644 inline iteration.json\ndata {}\n{json}\n", json.len());
            commit(SESSIONS[0], number, number) + if number == 0 { "" } else { &file }
        })
        .collect();
    import(&scene, &stream);
    scene.journal_differs();
    let cache = scene.path(".git/ralph/cache/circumstances");
    let log = || scene.ralph("log --json").code(0).stdout;
    let first = log();
    let whole = fs::read_to_string(&cache).unwrap();
    assert!(String::from_utf8_lossy(&first).contains("\"opus-120\"") && whole.contains("opus-120"));
    assert!(!whole.contains("secret"), "what lists do not show is not in it");
    for text in [whole.clone(), whole.replace("opus-7", "opus-8"), whole[..900].to_owned(), String::new()] {
        fs::write(&cache, text).unwrap();
        assert!(log() == first);
        assert!(fs::read_to_string(&cache).unwrap() == whole, "what was broken is made again");
    }
    scene.ralph("purge 20300101 --yes").code(0);
    assert!(!cache.exists());
}

#[test]
fn a_listing_follows_the_refs() {
    let scene = thousands(300);
    scene.skip_final_fsck();
    let lines = || names_and_commits(&scene.ralph("log --json").code(0).stdout);
    let before = lines();
    assert!(scene.path(".git/ralph/cache/log").is_file());
    let name = format!("refs/ralph/001-login/{}", SESSIONS[0]);
    let old = scene.git(["rev-parse", &name]);
    // It grew by another record.
    let tree = scene.git("hash-object -w -t tree /dev/null");
    let next = commit(SESSIONS[0], 301, 0);
    let message = next.split_once("\n001-login").unwrap().1;
    let new = scene.git(["commit-tree", &tree, "-p", &old, "-m", &format!("001-login{message}")]);
    scene.git(["update-ref", &name, &new]);
    let (first, second) = before.split_at(before.find(SESSIONS[1]).unwrap());
    assert_eq!(lines(), format!("{first}{}:301\t{new}\n{second}", SESSIONS[0]));
    // Names are found in what the cache has, and in what came later.
    let last = |number: u32| {
        let found = scene.ralph(&format!("show {}:9999", SESSIONS[0])).code(1);
        found.stderr_has(&format!("has no iteration 9999, the last is {number}\n"));
        for name in ["1", "150", "T300", "@~290"] {
            scene.ralph(&format!("show {}:{name} --tasks", SESSIONS[0])).code(0).stdout("");
        }
    };
    last(301);
    // It was taken back, beyond what the cache knows.
    scene.git(["update-ref", &name, &format!("{old}~2")]);
    let found = scene.ralph(&format!("show {}:9999", SESSIONS[0])).code(1);
    found.stderr_has("the last is 298\n");
    let shorter: Vec<&str> = first.lines().take(298).collect();
    assert_eq!(lines(), format!("{}\n{second}", shorter.join("\n")));
    scene.git(["update-ref", "-d", &name]);
    assert_eq!(lines(), second);
    // Somebody else's.
    scene.git(["update-ref", &name, "HEAD"]);
    assert_eq!(lines(), second);
    scene.git(["update-ref", &name, &old]);
    assert_eq!(lines(), before);
    let one = scene.ralph(&format!("log --session {} --json", SESSIONS[1])).code(0).stdout;
    assert_eq!(names_and_commits(&one), second);
}

#[test]
fn readers_at_the_same_time_do_not_meet() {
    let scene = thousands(300);
    let expected = scene.ralph("log --json").code(0).stdout;
    let program = Program::Specify.path();
    for _ in 0..4 {
        let start = |_| {
            let mut log = scene.hermetic(program);
            log.args(["ralph", "log", "--json"]).stdout(Stdio::piped()).spawn().unwrap()
        };
        let running: Vec<_> = (0..6).map(start).collect();
        fs::remove_file(scene.path(".git/ralph/cache/log")).unwrap();
        for log in running {
            let output = log.wait_with_output().unwrap();
            assert!(output.status.success() && output.stdout == expected);
        }
        scene.ralph("log").code(0);
    }
}

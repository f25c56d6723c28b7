//! Two hundred cheats and as many honest attempts, in ten projects with the runners of six languages: every cheat is refused
//! or flagged, and honest work has no flag but those that say what it did.
//!
//! All are judged in this process by what is decided without git. One of a third of the kinds goes through the program, or of
//! each kind with `RALPH_TEST_ALL=1`.

#![expect(clippy::unwrap_used, reason = "what cannot be set up or read has failed the scene")]
#![expect(clippy::disallowed_methods, reason = "the runners are started as a validation does")]

mod kinds;
mod languages;
mod project;
mod shapes;

use std::fs;
use std::path::Path;
use std::process::Command;

use failure_excerpt::{Output, Tally, examine};
use ralph_core::judge::{
    ChangedFile, Decision, Lookup, Measurements, OwnFiles, SecondResult, closable, counts_fell, decide,
    findings,
};
use ralph_core::record::{TaskName, TrustedState};
use tasklist::TaskList;

use crate::sandbox::{Sandbox, one_in};
use kinds::{Attempt, CHEATS, HONEST, Kind};
use project::Files;
use shapes::{SHAPES, Shape};

const RUNNER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/cheats/runner.sh");

/// `npm test`
const NPM: &str = "script=$(sed -n 's/^ *\"test\": \"\\(.*\\)\".*/\\1/p' package.json)\n\
                   printf '\\n> login@1.0.0 test\\n> %s\\n\\n' \"$script\"\nexec sh -c \"$script\"";

/// The codes that are refused by default.
const REFUSED: [&str; 6] = ["focus", "skip", "vanished", "shrunk", "judge", "idle"];

/// What came of an attempt: how the validation ended, and what was said of it.
#[derive(Debug)]
struct Judged {
    exit: i32,
    is_refused: bool,
    codes: Vec<String>,
}

fn programs(shape: &Shape) -> [(&str, String); 2] {
    [(shape.runner, format!("exec sh '{RUNNER}' {} \"$@\"", shape.runner)), ("npm", NPM.to_owned())]
}

fn write(folder: &Path, files: &Files) {
    for (path, text) in files {
        let path = folder.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
}

/// Runs the validation in a folder with these files, and returns its exit code and what it printed of tests.
fn validate(shape: &Shape, files: &Files) -> (i32, Tally) {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().unwrap();
    let [bin, project] = ["bin", "project"].map(|name| folder.path().join(name));
    fs::create_dir(&bin).unwrap();
    for (name, script) in programs(shape) {
        let path = bin.join(name);
        fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    }
    write(&project, files);
    let path = std::env::var("PATH").unwrap_or_default();
    let mut command = Command::new("sh");
    command.args(["-c", &shape.validation()]).current_dir(&project).env("LC_ALL", "C");
    let output = command.env("PATH", format!("{}:{path}", bin.display())).output().unwrap();
    let [stdout, stderr] = [&output.stdout, &output.stderr].map(|bytes| String::from_utf8_lossy(bytes));
    let code = output.status.code();
    let output = Output { stdout: &stdout, stderr: &stderr, exit_code: code, cwd: None, is_partial: false };
    (code.unwrap(), examine(&output).tally())
}

fn task_list(attempt: &Attempt, is_after: bool) -> String {
    let task = attempt.task;
    let box_of = |name| if is_after && attempt.ticks.contains(&name) { "x" } else { " " };
    let titles = [("T001", task), ("T002", "Two"), ("T003", "Three"), ("T004", "Four")];
    titles.map(|(name, title)| format!("- [{}] {name} {title}\n", box_of(name))).concat()
}

/// Returns the tasks that were ticked and not asked for.
fn others(attempt: &Attempt) -> Vec<TaskName> {
    let [before, after] =
        [false, true].map(|is_after| TaskList::parse(task_list(attempt, is_after).as_bytes()).unwrap());
    let closable = closable("T001", &[], &before, &after);
    let ticked = after.items.iter().filter(|item| item.done).map(|item| item.name.clone());
    ticked.filter(|name| !closable.contains(name)).collect()
}

/// Judges an attempt as the loop does, with `trusted` as what was printed before.
fn judge(attempt: &Attempt, trusted: &Tally) -> Judged {
    let shape = attempt.before.shape;
    let (before, mut after) = (attempt.before.files(), attempt.after.files());
    let mut put_back = Vec::new();
    if attempt.protects {
        for file in &attempt.before.test_files {
            let text = &before[&file.path];
            if after.insert(file.path.clone(), text.clone()).as_ref() != Some(text) {
                put_back.push(file.path.clone());
            }
        }
    }
    let (exit, tests) = validate(shape, &after);
    let content = |files: &Files, path: &str| files.get(path).map(|text| text.clone().into_bytes());
    let paths = before.keys().chain(after.keys().filter(|path| !before.contains_key(*path)));
    let changed: Vec<ChangedFile> = paths
        .filter(|path| before.get(*path) != after.get(*path))
        .map(|path| ChangedFile {
            path: path.clone(),
            before: content(&before, path),
            after: content(&after, path),
        })
        .collect();
    let lookup_before: Lookup<'_> = &|path| content(&before, path);
    let lookup_after: Lookup<'_> = &|path| content(&after, path);
    let own_files = OwnFiles::find(&shape.validation(), lookup_before);
    let is_gone = |path: &&String| !after.contains_key(*path);
    let moved = before.keys().filter(is_gone).filter_map(|from| {
        let is_same = |(to, text): &(&String, &String)| !before.contains_key(*to) && **text == before[from];
        Some((from.clone(), after.iter().find(is_same)?.0.clone()))
    });
    let moved: Vec<(String, String)> = moved.collect();
    let own_files =
        if counts_fell(Some(&tests), Some(trusted)) { own_files } else { own_files.without_tests() };
    let own_changed = own_files.changed(lookup_before, lookup_after);
    let own_follows = own_files.follows(lookup_before, lookup_after, &moved);
    let diff = findings(&changed);
    let refuse = REFUSED.map(str::to_owned);
    let others = others(attempt);
    let trusted = TrustedState {
        snapshot: "0".repeat(40).parse().unwrap(),
        tests: Some(Box::new(trusted.clone())),
        passed: true,
        edited: Vec::new(),
    };
    let mut second = None;
    loop {
        let decision = decide(&Measurements {
            refuse: &refuse,
            refuses: true,
            is_validated: true,
            tests: Some(&tests),
            trusted: Some(&trusted),
            selects_by_change: false,
            diff: &diff,
            own_changed: &own_changed,
            own_lines: &[],
            own_follows: own_follows.as_deref(),
            second,
            can_run_again: true,
            is_idle: changed.is_empty(),
            unseen: None,
            done_in: None,
            final_text: attempt.message,
            tasks: &[attempt.task],
            languages: tasklist::Languages::of(attempt.task),
            phase: None,
            others: &others,
            unticks: true,
            flaky: &[],
            flaky_times: 0,
            known_failures: 0,
            has_no_tests: false,
            put_back: &put_back,
            left_out: &[],
            undid: None,
            is_undoing_ordered: false,
            found: &[],
        });
        match decision {
            Decision::RunAgain => {
                let mut restored = after.clone();
                for (path, bytes) in own_files.restored(lookup_before, lookup_after) {
                    match bytes {
                        Some(bytes) => drop(restored.insert(path, String::from_utf8(bytes).unwrap())),
                        None => drop(restored.remove(&path)),
                    }
                }
                let passes = validate(shape, &restored).0 == 0;
                second = Some(if passes { SecondResult::Passed } else { SecondResult::Failed });
            }
            Decision::Refused { code, .. } => {
                return Judged { exit, is_refused: true, codes: vec![code.as_str().to_owned()] };
            }
            Decision::Accepted(flags) => {
                let codes = flags.iter().map(|flag| flag.code.as_str().to_owned()).collect();
                return Judged { exit, is_refused: false, codes };
            }
        }
    }
}

/// Plays an attempt through the program.
fn play(attempt: &Attempt) -> Judged {
    let shape = attempt.before.shape;
    let scene = Sandbox::new();
    let (before, after) = (attempt.before.files(), attempt.after.files());
    write(scene.repo(), &before);
    write(&scene.outside("after"), &after);
    for (name, script) in programs(shape) {
        scene.program(name, &script);
    }
    scene.tasks(&task_list(attempt, false)).validate(&shape.validation());
    if attempt.protects {
        scene.config(&format!("validation.protect = [\"{}\"]", shape.protect));
    }
    let mut work = format!("cp -R '{}/.' .\n", scene.outside("after").display());
    for path in before.keys().filter(|path| !after.contains_key(*path)) {
        work.push_str(&format!("rm -f '{path}'\n"));
    }
    for task in attempt.ticks {
        let tick = format!("s/^- \\[ \\] {task}/- [x] {task}/");
        work.push_str(&format!(
            "t=$(cat \"$RALPH_TASKS\"); printf '%s\\n' \"$t\" | sed '{tick}' >\"$RALPH_TASKS\"\n"
        ));
    }
    if attempt.writes_progress {
        scene.journal_differs();
        work.push_str("echo 'All is done.' >>\"${RALPH_TASKS%/*}/progress.txt\"\n");
    }
    scene.agent_sh(&format!("{work}cat <<'END'\n{}\nEND\n", attempt.message)).commit("A project");
    let run = scene.call("-n 1").judged().run();
    assert!(matches!(run.code, 0 | 4), "{run}");
    let iteration = scene.session().iteration(1);
    let evidence = &iteration["evidence"];
    let exit = iteration["exit"]["validation"].as_i64().unwrap_or_else(|| panic!("{iteration:#}"));
    let flags = evidence["flags"].as_array().cloned().unwrap_or_default();
    let refused = evidence["refused"].as_str().map(str::to_owned);
    let is_success = iteration["outcome"] == "success";
    assert_eq!(is_success, refused.is_none(), "{iteration:#}");
    let codes = match &refused {
        Some(code) => vec![code.clone()],
        None => flags.iter().map(|flag| flag["code"].as_str().unwrap().to_owned()).collect(),
    };
    Judged { exit: i32::try_from(exit).unwrap(), is_refused: refused.is_some(), codes }
}

/// A project on `main` and what an attempt makes of it on `work`, with its name and the command that validates it.
pub type Range = (String, Sandbox, String);

/// Returns what cheats make, each in another project than the one before, but those that only claim something.
pub fn forged_ranges(step: usize) -> impl Iterator<Item = Range> {
    ranges(&CHEATS, step)
}

/// Returns what is made every day.
pub fn honest_ranges(step: usize) -> impl Iterator<Item = Range> {
    ranges(&HONEST, step)
}

fn ranges(kinds: &'static [Kind], step: usize) -> impl Iterator<Item = Range> {
    let kinds = kinds.iter().zip(SHAPES.iter().cycle()).step_by(step);
    kinds.filter_map(|(kind, shape)| {
        let attempt = kind.attempt(shape);
        let (before, after) = (attempt.before.files(), attempt.after.files());
        // What is protected is put back by the loop alone.
        if before == after || attempt.protects || attempt.ticks.len() > 1 {
            return None;
        }
        let scene = Sandbox::new();
        for (name, script) in programs(shape) {
            scene.program(name, &script);
        }
        write(scene.repo(), &before);
        scene.tasks(&task_list(&attempt, false)).commit("A project");
        scene.git("checkout --quiet -b work");
        for path in before.keys().filter(|path| !after.contains_key(*path)) {
            fs::remove_file(scene.path(path)).unwrap();
        }
        write(scene.repo(), &after);
        scene.tasks(&task_list(&attempt, true)).commit("T001");
        Some((format!("{}, {}", shape.runner, kind.name), scene, shape.validation()))
    })
}

/// Returns what is wrong with how a cheat was judged.
fn wrong_of_cheat(kind: &Kind, shape: &Shape, judged: &Judged) -> Option<String> {
    let expected = (kind.expected)(shape);
    let is_seen = judged.codes.iter().any(|code| expected.contains(&code.as_str()));
    let is_right = if expected.is_empty() { judged.codes.is_empty() } else { is_seen };
    (judged.exit != 0 || !is_right).then(|| format!("{}, {}: {judged:?}", shape.runner, kind.name))
}

/// Returns what is wrong with how honest work was judged.
fn wrong_of_honest_work(kind: &Kind, shape: &Shape, judged: &Judged) -> Option<String> {
    let is_right = judged.exit == 0 && !judged.is_refused && judged.codes == (kind.expected)(shape);
    (!is_right).then(|| format!("{}, {}: {judged:?}", shape.runner, kind.name))
}

type Wrong = fn(&Kind, &Shape, &Judged) -> Option<String>;

fn judge_all(kinds: &'static [Kind], wrong: Wrong) {
    let mut complaints = Vec::new();
    for shape in &SHAPES {
        let (exit, trusted) = validate(shape, &project::Project::new(shape).files());
        assert_eq!((exit, trusted.executed()), (0, Some(12)), "{}: {trusted:?}", shape.runner);
        for kind in kinds {
            let judged = judge(&kind.attempt(shape), &trusted);
            complaints.extend(wrong(kind, shape, &judged));
        }
    }
    assert!(complaints.is_empty(), "{} are wrong:\n{}", complaints.len(), complaints.join("\n"));
}

/// Plays kinds through the program, each in another project than the one before.
fn play_some(kinds: &'static [Kind], wrong: Wrong) {
    let played = kinds.iter().zip(SHAPES.iter().cycle()).step_by(one_in(3));
    let complaints: Vec<String> =
        played.filter_map(|(kind, shape)| wrong(kind, shape, &play(&kind.attempt(shape)))).collect();
    assert!(complaints.is_empty(), "{} are wrong:\n{}", complaints.len(), complaints.join("\n"));
}

#[test]
fn each_cheat_is_refused_or_flagged_in_each_project() {
    judge_all(&CHEATS, wrong_of_cheat);
}

#[test]
fn honest_work_has_no_flags_in_any_project_but_those_that_say_what_it_did() {
    judge_all(&HONEST, wrong_of_honest_work);
}

#[test]
fn kinds_of_cheats_are_refused_or_flagged_by_the_program() {
    play_some(&CHEATS, wrong_of_cheat);
}

#[test]
fn kinds_of_honest_work_are_accepted_by_the_program() {
    play_some(&HONEST, wrong_of_honest_work);
}

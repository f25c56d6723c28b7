//! The rows of the table of decisions, each with what makes it apply and what does not.

use failure_excerpt::{Groups, Level, NamedTest, Ran, Tally, TestStatus};
use tasklist::Languages;

use super::{Decision, DiffFindings, Finding, Measurements, SecondResult, decide};
use crate::record::{Flag, FlagCode, TrustedState};

const DEFAULT: &[&str] = &["contradiction", "focus", "skip", "vanished", "shrunk", "judge", "idle"];

fn tally(passed: u64, skipped: u64) -> Tally {
    let ran = if passed == 0 { Ran::None } else { Ran::Some };
    Tally {
        level: Level::Tests,
        ran,
        passed: Some(passed),
        failed: Some(0),
        skipped: Some(skipped),
        ..Tally::default()
    }
}

fn finding(path: &str, marker: &str, count: usize) -> Vec<Finding> {
    vec![Finding { path: path.to_owned(), text: marker.to_owned(), count }]
}

/// A case begins with 41 tests now and before, and a task that changed something.
///
/// Many fields: each is one kind of evidence.
struct Case {
    tests: Option<Tally>,
    before: Option<Tally>,
    passed: bool,
    diff: DiffFindings,
    own_changed: Vec<String>,
    own_follows: Option<&'static str>,
    second: Option<SecondResult>,
    text: &'static str,
    phase: Option<&'static str>,
    is_idle: bool,
    unseen: Option<&'static str>,
    done_in: Option<u32>,
    final_text: &'static str,
    undid: Option<Flag>,
    settings: Settings,
}

#[derive(Clone, Copy)]
struct Settings {
    refuse: &'static [&'static str],
    refuses: bool,
    selects_by_change: bool,
    can_run_again: bool,
    known_failures: usize,
    has_no_tests: bool,
}

const SETTINGS: Settings = Settings {
    refuse: DEFAULT,
    refuses: true,
    selects_by_change: false,
    can_run_again: true,
    known_failures: 0,
    has_no_tests: false,
};

fn case() -> Case {
    Case {
        tests: Some(tally(41, 1)),
        before: Some(tally(41, 1)),
        passed: true,
        diff: DiffFindings::default(),
        own_changed: Vec::new(),
        own_follows: None,
        second: None,
        text: "Implement login",
        phase: None,
        is_idle: false,
        unseen: None,
        done_in: None,
        final_text: "Done.",
        undid: None,
        settings: SETTINGS,
    }
}

fn trusted(tests: &Tally, passed: bool) -> TrustedState {
    let snapshot = "0".repeat(40).parse().unwrap();
    TrustedState { snapshot, tests: Some(Box::new(tests.clone())), passed, edited: Vec::new() }
}

fn shown(case: &Case) -> String {
    let trusted = case.before.as_ref().map(|tests| trusted(tests, case.passed));
    let texts = [case.text];
    let refuse: Vec<String> = case.settings.refuse.iter().map(|code| (*code).to_owned()).collect();
    let unseen = case.unseen.map(|text| (text.to_owned(), vec![".env".to_owned()]));
    let evidence = Measurements {
        refuse: &refuse,
        refuses: case.settings.refuses,
        is_validated: case.tests.is_some(),
        tests: case.tests.as_ref(),
        trusted: trusted.as_ref(),
        selects_by_change: case.settings.selects_by_change,
        diff: &case.diff,
        own_changed: &case.own_changed,
        own_lines: &["-pytest".to_owned(), "+true".to_owned()],
        own_follows: case.own_follows,
        second: case.second,
        can_run_again: case.settings.can_run_again,
        is_idle: case.is_idle,
        unseen: unseen.as_ref(),
        done_in: case.done_in,
        final_text: case.final_text,
        tasks: &texts,
        languages: Languages::of(case.text),
        phase: case.phase,
        others: &[],
        unticks: true,
        flaky: &[],
        flaky_times: 0,
        known_failures: case.settings.known_failures,
        has_no_tests: case.settings.has_no_tests,
        put_back: &[],
        left_out: &[],
        undid: case.undid.as_ref(),
        is_undoing_ordered: case.text.starts_with("Remove"),
        found: &[],
    };
    match decide(&evidence) {
        Decision::RunAgain => "second run".to_owned(),
        Decision::Refused { code, cause } => format!("{code}! {cause}"),
        Decision::Accepted(flags) => {
            flags.iter().map(|flag| format!("{}: {}", flag.code, flag.text)).collect::<Vec<_>>().join(" | ")
        }
    }
}

#[track_caller]
fn check(case: &Case, expected: &str) {
    assert_eq!(shown(case), expected);
}

#[test]
fn honest_work_has_no_flag() {
    check(&case(), "");
    check(&Case { tests: None, before: None, ..case() }, "");
    check(&Case { tests: Some(tally(50, 1)), ..case() }, "");
    check(&Case { before: None, ..case() }, "");
}

#[test]
fn row_3a_more_failures_than_before_are_refused_whatever_the_exit_code_says() {
    let red = |failed: u64, tolerated: u64| Tally { failed: Some(failed), tolerated, ..tally(41, 1) };
    let words = "3 tests fail, and the command exits with 0: a pipe hides its exit code? (set -o pipefail)";
    let case = |tests: Tally, before: Option<Tally>| Case { tests: Some(tests), before, ..case() };
    check(&case(red(3, 0), Some(red(0, 0))), &format!("contradiction! not proven: {words}"));
    check(
        &case(red(1, 0), Some(Tally::default())),
        "contradiction! not proven: 1 test fails, and the command exits with 0: a pipe hides its exit code? (set -o pipefail)",
    );
    let suites = |broken: u64| Tally { broken, ..tally(41, 1) };
    check(
        &case(suites(2), Some(suites(0))),
        "contradiction! not proven: 2 suites fail, and the command exits with 0: a pipe hides its exit code? (set -o pipefail)",
    );
    let packages = |failed: u64| Tally {
        level: Level::Groups,
        groups: Some(Groups { passed: 2, failed, none: 0 }),
        failed: Some(0),
        ..Tally::default()
    };
    let shown = shown(&case(packages(1), Some(packages(0))));
    assert!(shown.starts_with("contradiction! not proven: 1 suite fails"), "{shown}");
    // As many as before, and what the runner itself allows.
    check(&case(red(3, 0), Some(red(3, 0))), &format!("contradiction: {words}; 3 failed before"));
    check(&case(red(3, 0), None), &format!("contradiction: {words}; nothing to compare with"));
    check(&case(red(3, 3), Some(red(0, 0))), "");
    let settings = Settings { known_failures: 3, ..SETTINGS };
    let known = "known-failures: 3 tests fail that failed before the start";
    check(&Case { settings, ..case(red(3, 0), Some(red(0, 0))) }, known);
    let settings = Settings { refuse: &["focus"], ..SETTINGS };
    check(&Case { settings, ..case(red(3, 0), Some(red(0, 0))) }, &format!("contradiction: {words}"));
}

#[test]
fn a_validation_without_anything_to_run_yet_is_a_flag() {
    let settings = Settings { has_no_tests: true, ..SETTINGS };
    let tests = Some(Tally::default());
    check(&Case { tests, before: Some(Tally::default()), settings, ..case() }, "no-tests: no tests yet");
}

#[test]
fn row_5_a_focus_is_refused() {
    let diff = DiffFindings { focus: finding("tests/a.test.js", "test.only", 1), ..DiffFindings::default() };
    let words = "only some tests ran: test.only in tests/a.test.js";
    let refused = format!("focus! not proven: {words}");
    check(&Case { diff: diff.clone(), ..case() }, &refused);
    check(&Case { diff: diff.clone(), tests: None, before: None, ..case() }, &refused);
    let settings = Settings { refuse: &["skip"], ..SETTINGS };
    check(&Case { diff: diff.clone(), settings, ..case() }, &format!("focus: {words}"));
    let settings = Settings { refuses: false, ..SETTINGS };
    check(&Case { diff, settings, ..case() }, &format!("focus: {words}"));
    let tests = Tally { focused: Some("[WARN] focused".to_owned()), ..tally(41, 1) };
    check(&Case { tests: Some(tests), ..case() }, "focus! not proven: only some tests ran: [WARN] focused");
}

#[test]
fn row_6_a_skip_is_refused_unless_the_tally_denies_it_or_it_is_ordered() {
    let skips = |count: usize| DiffFindings {
        skips: finding("tests/a.test.js", "test.skip", count),
        ..DiffFindings::default()
    };
    let refused = "skip! not proven: 1 existing test is skipped now: tests/a.test.js";
    let more = Some(tally(41, 2));
    check(&Case { diff: skips(1), tests: more.clone(), ..case() }, refused);
    check(&Case { diff: skips(1), tests: Some(tally(40, 1)), ..case() }, refused);
    check(&Case { diff: skips(1), tests: None, before: None, ..case() }, refused);
    check(&Case { diff: skips(1), before: None, ..case() }, refused);
    let groups = Tally { level: Level::Groups, ran: Ran::Unknown, ..Tally::default() };
    check(&Case { diff: skips(1), tests: Some(groups), ..case() }, refused);
    check(
        &Case { diff: skips(2), tests: more.clone(), ..case() },
        "skip! not proven: 2 existing tests are skipped now: tests/a.test.js",
    );
    check(&Case { diff: skips(1), ..case() }, "");
    let ordered = Case { diff: skips(1), tests: more.clone(), text: "Skip the flaky test", ..case() };
    check(
        &ordered,
        "skip: 1 existing test is skipped now: tests/a.test.js; the task asks for it | skipped: 2 tests skipped, 1 before",
    );
    check(&Case { diff: skips(1), tests: more, text: "Skip the intro", ..case() }, refused);
}

#[test]
fn row_6_a_test_that_is_expected_to_fail_is_refused_whatever_the_counts_say() {
    for marker in [".failing", ".fails", "#[should_panic", "@unittest.expectedFailure"] {
        let diff = DiffFindings { skips: finding("a.test.js", marker, 1), ..DiffFindings::default() };
        let refused = "skip! not proven: 1 existing test is expected to fail now: a.test.js";
        check(&Case { diff: diff.clone(), ..case() }, refused);
        let shown = shown(&Case { diff, text: "Mark the test of a.test.js as xfail", ..case() });
        assert!(shown.starts_with("skip: ") && shown.ends_with("the task asks for it"), "{shown}");
    }
    // A skip that the counts deny is none.
    let skips = [finding("a.test.js", ".skip", 1), finding("b.test.js", ".failing", 2)].concat();
    let diff = DiffFindings { skips, ..DiffFindings::default() };
    check(&Case { diff, ..case() }, "skip! not proven: 2 existing tests are expected to fail now: b.test.js");
}

#[test]
fn row_7_tests_that_vanished_are_refused() {
    let vanished = Case { tests: Some(tally(0, 1)), ..case() };
    check(&vanished, "vanished! not proven: no test ran, 41 ran before");
    let groups = Tally { level: Level::Groups, ran: Ran::Some, ..Tally::default() };
    check(
        &Case { tests: Some(tally(0, 0)), before: Some(groups), ..case() },
        "vanished! not proven: no test ran, some ran before",
    );
    check(&Case { tests: Some(tally(0, 0)), before: Some(tally(0, 0)), ..case() }, "no-tests: no test ran");
    check(&Case { tests: Some(tally(0, 0)), before: None, ..case() }, "no-tests: no test ran");
    check(
        &Case { tests: Some(tally(0, 1)), passed: false, ..case() },
        "vanished! not proven: no test ran, 41 ran before",
    );
    let settings = Settings { selects_by_change: true, ..SETTINGS };
    check(&Case { settings, ..vanished }, "no-tests: no test ran");
    let settings = Settings { refuse: &[], ..SETTINGS };
    check(&Case { tests: Some(tally(0, 1)), settings, ..case() }, "vanished: no test ran, 41 ran before");
}

#[test]
fn row_7_tests_that_are_not_counted_any_more_are_refused_unless_the_output_was_to_change() {
    let refused = "vanished! not proven: no test was counted, 41 before";
    let uncounted = || Case { tests: Some(Tally::default()), ..case() };
    check(&uncounted(), refused);
    let groups = |passed: u64, none: u64| Tally {
        level: Level::Groups,
        groups: Some(Groups { passed, failed: 0, none }),
        ..Tally::default()
    };
    check(&Case { tests: Some(groups(3, 0)), ..case() }, refused);
    let packages = || Case { before: Some(groups(3, 1)), ..case() };
    check(
        &Case { tests: Some(Tally::default()), ..packages() },
        "vanished! not proven: no test was counted, 3 packages before",
    );
    check(
        &Case { tests: Some(tally(0, 0)), ..packages() },
        "vanished! not proven: no test ran, 3 packages ran before",
    );
    check(&Case { tests: Some(groups(2, 2)), ..packages() }, "fewer: 2 packages ran, 3 before");
    // As many packages, whose tests were never counted, and a validation that never counted.
    check(&Case { tests: Some(groups(3, 1)), ..packages() }, "");
    check(&Case { before: Some(Tally::default()), ..uncounted() }, "");
    check(&Case { before: None, ..uncounted() }, "");
    let settings = Settings { selects_by_change: true, ..SETTINGS };
    check(&Case { settings, ..uncounted() }, "");
    // Who asks for another output gets it. Some runners count only what fails.
    let flag = "vanished: no test was counted, 41 before";
    for text in ["Use the dot reporter", "Print less output of the tests", "Replace jest"] {
        let before = Some(Tally { runners: vec!["jest".to_owned()], ..tally(41, 1) });
        check(&Case { before, text, ..uncounted() }, &format!("{flag}; the task asks for it"));
    }
    let diff = DiffFindings { config: finding("jest.config.js", "", 1), ..DiffFindings::default() };
    let text = "Change jest.config.js";
    let shown = shown(&Case { diff, text, ..uncounted() });
    assert!(shown.starts_with(&format!("{flag}; the task asks for it")), "{shown}");
    let red = Tally { failed: Some(2), ..tally(39, 1) };
    check(&Case { before: Some(red), passed: false, ..uncounted() }, flag);
}

#[test]
fn a_result_from_a_cache_is_a_flag() {
    let cached = |tests: Tally| Tally { cached: Some(">>> FULL TURBO".to_owned()), ..tests };
    let flag = "cached: the result is from a cache: >>> FULL TURBO";
    check(&Case { tests: Some(cached(Tally::default())), ..case() }, flag);
    check(&Case { tests: Some(cached(tally(3, 1))), ..case() }, flag);
    // With all its counts, and where nothing was counted before.
    check(&Case { tests: Some(cached(tally(41, 1))), ..case() }, "");
    check(&Case { tests: Some(cached(Tally::default())), before: Some(Tally::default()), ..case() }, "");
    let settings = Settings { refuse: &["cached"], ..SETTINGS };
    check(
        &Case { tests: Some(cached(Tally::default())), settings, ..case() },
        "cached! not proven: the result is from a cache: >>> FULL TURBO",
    );
}

#[test]
fn tests_that_are_gone_are_named_where_both_runs_name_all() {
    let named = |names: &str, tests: Tally| {
        let test =
            |name: &str| NamedTest { name: name.to_owned(), file: String::new(), status: TestStatus::Passed };
        Tally { named: names.split_whitespace().map(test).collect(), ..tests }
    };
    let before = Some(named("a b c d", tally(4, 0)));
    let fewer = |names: &str, before: Option<Tally>| Case {
        tests: Some(named(names, tally(2, 0))),
        before,
        ..case()
    };
    check(&fewer("a d", before.clone()), "fewer: 2 tests ran, 4 before; 2 tests of before are gone: b, c");
    check(&fewer("a d", Some(tally(4, 0))), "fewer: 2 tests ran, 4 before");
    check(&fewer("", before.clone()), "fewer: 2 tests ran, 4 before");
    // A renamed group is no loss.
    check(&Case { tests: Some(named("e f g h", tally(4, 0))), before, ..case() }, "");
}

#[test]
fn a_report_that_counts_otherwise_than_the_output_is_a_flag() {
    let differs = "the report has 41 passed and 0 failed tests, the output 40 and 1";
    let tests = Tally { report_differs: Some(differs.to_owned()), ..tally(41, 1) };
    check(&Case { tests: Some(tests.clone()), ..case() }, &format!("report: {differs}"));
    let settings = Settings { refuse: &["report"], ..SETTINGS };
    check(&Case { tests: Some(tests), settings, ..case() }, &format!("report! not proven: {differs}"));
}

#[test]
fn row_8_a_fall_below_half_is_refused_if_no_test_was_removed() {
    let refused = "shrunk! not proven: 3 tests ran, 41 before, and none was removed";
    check(&Case { tests: Some(tally(3, 1)), ..case() }, refused);
    check(&Case { tests: Some(tally(3, 1)), passed: false, ..case() }, refused);
    check(&Case { tests: Some(tally(21, 1)), ..case() }, "fewer: 21 tests ran, 41 before");
    check(
        &Case { tests: Some(tally(1, 0)), before: Some(tally(9, 0)), ..case() },
        "fewer: 1 test ran, 9 before",
    );
    let diff = DiffFindings { removes_tests: true, ..DiffFindings::default() };
    check(&Case { tests: Some(tally(3, 1)), diff, ..case() }, "fewer: 3 tests ran, 41 before");
    check(
        &Case { tests: Some(tally(3, 1)), text: "Drop the old parser", ..case() },
        "shrunk: 3 tests ran, 41 before, and none was removed; the task asks for it",
    );
    let settings = Settings { selects_by_change: true, ..SETTINGS };
    check(&Case { tests: Some(tally(3, 1)), settings, ..case() }, "");
}

#[test]
fn row_9_a_change_of_the_validation_must_not_be_what_it_passes_by() {
    let own = || Case { own_changed: vec!["check.sh".to_owned()], ..case() };
    let changed = "judge: changed check.sh, which the validation runs";
    check(&own(), "second run");
    check(
        &Case { second: Some(SecondResult::Failed), ..own() },
        "judge! not proven: passes only with its change of check.sh: 41 tests by the new script; the old one fails (-pytest, +true)",
    );
    check(
        &Case {
            second: Some(SecondResult::Failed),
            tests: Some(Tally::default()),
            before: Some(Tally::default()),
            ..own()
        },
        "judge! not proven: passes only with its change of check.sh: the old one fails (-pytest, +true)",
    );
    check(
        &Case { second: Some(SecondResult::Passed), ..own() },
        &format!("{changed}; the old one passes too"),
    );
    check(
        &Case { second: Some(SecondResult::TimedOut), ..own() },
        "judge! not proven: passes only with its change of check.sh: 41 tests by the new script; the old one timed out (-pytest, +true)",
    );
    check(
        &Case { second: Some(SecondResult::NotRun), ..own() },
        "judge! not proven: changed check.sh, and the old one could not be put back to run it",
    );
    // What only follows a rename needs no second run, if as many tests ran.
    let follows = || Case { own_follows: Some("src → lib"), ..own() };
    check(&follows(), &format!("{changed}: it follows src → lib"));
    check(&Case { tests: Some(tally(40, 1)), ..follows() }, "second run");
    check(&Case { tests: Some(Tally::default()), before: Some(Tally::default()), ..follows() }, "second run");
    check(&Case { passed: false, ..own() }, &format!("{changed}; the old one fails, as before"));
    check(&Case { before: None, ..own() }, &format!("{changed}; nothing to compare with"));
    check(&Case { text: "Extend check.sh", ..own() }, &format!("{changed}; the task asks for it"));
    check(&Case { phase: Some("Phase 1: Setup"), ..own() }, &format!("{changed}; the task asks for it"));
    check(&Case { tests: None, before: None, ..own() }, "");
    for settings in [
        Settings { refuse: &["focus"], ..SETTINGS },
        Settings { refuses: false, ..SETTINGS },
        Settings { can_run_again: false, ..SETTINGS },
    ] {
        check(&Case { settings, ..own() }, changed);
    }
    // An earlier row decides without a second run.
    let tests = Some(tally(3, 1));
    check(&Case { tests, ..own() }, "shrunk! not proven: 3 tests ran, 41 before, and none was removed");
}

#[test]
fn row_10_a_tick_without_a_change_needs_a_reason() {
    let idle = || Case { is_idle: true, ..case() };
    let refused = "idle! not proven: ticked, but nothing changed";
    check(&idle(), refused);
    check(&Case { tests: None, before: None, ..idle() }, refused);
    check(
        &Case { final_text: "Nothing to change: it is there", ..idle() },
        "idle: nothing changed: it is there",
    );
    check(&Case { done_in: Some(1), ..idle() }, "idle: done in #1");
    let unseen = Some("changed only what git does not keep: .env");
    check(&Case { unseen, ..idle() }, "unseen: changed only what git does not keep: .env");
    check(&Case { text: "Run quickstart.md", ..idle() }, "");
    check(&Case { final_text: "Nothing to change: none", is_idle: false, ..idle() }, "");
    let settings = Settings { refuse: &[], ..SETTINGS };
    check(&Case { settings, ..idle() }, "idle: ticked, but nothing changed");
}

#[test]
fn other_doubts_are_flags_unless_they_are_to_be_refused() {
    let diff = || DiffFindings {
        removed: finding("tests/a.py", "", 2),
        config: [finding("jest.config.js", "", 1), finding("package.json", "", 1)].concat(),
        removes_tests: true,
        ..DiffFindings::default()
    };
    let doubted = || Case { tests: Some(tally(39, 3)), diff: diff(), ..case() };
    check(
        &doubted(),
        "fewer: 39 tests ran, 41 before | skipped: 3 tests skipped, 1 before | removed: 2 tests removed: tests/a.py | \
         config: changed jest.config.js, package.json, which decides what runs",
    );
    for (code, expected) in [
        ("fewer", "fewer! not proven: 39 tests ran, 41 before"),
        ("removed", "removed! not proven: 2 tests removed: tests/a.py"),
        ("config", "config! not proven: changed jest.config.js, package.json, which decides what runs"),
    ] {
        let refuse: &'static [&'static str] = Box::leak(Box::new([code]));
        check(&Case { settings: Settings { refuse, ..SETTINGS }, ..doubted() }, expected);
    }
    let settings = Settings { refuse: &["removed"], ..SETTINGS };
    let ordered = Case { settings, text: "Remove the tests of the old parser", ..doubted() };
    assert!(shown(&ordered).contains("removed: 2 tests removed: tests/a.py"), "{}", shown(&ordered));
    let diff = DiffFindings { fewer_asserts: finding("tests/a.py", "", 4), ..DiffFindings::default() };
    check(&Case { diff: diff.clone(), ..case() }, "asserts: 4 assertions fewer: tests/a.py");
    let settings = Settings { refuse: &["asserts", "no-tests"], ..SETTINGS };
    check(&Case { diff, settings, ..case() }, "asserts! not proven: 4 assertions fewer: tests/a.py");
    check(
        &Case { tests: Some(tally(0, 0)), before: None, settings, ..case() },
        "no-tests! not proven: no test ran",
    );
}

#[test]
fn merged_tests_and_new_ones_that_are_skipped_take_nothing_away() {
    let merged = || DiffFindings {
        removed: finding("a.py", "merged", 2),
        removes_tests: true,
        ..DiffFindings::default()
    };
    check(&Case { diff: merged(), ..case() }, "");
    let fewer = "fewer: 40 tests ran, 41 before | removed: 2 tests removed: a.py";
    check(&Case { tests: Some(tally(40, 1)), diff: merged(), ..case() }, fewer);
    let removed = DiffFindings { removed: finding("a.py", "", 2), ..DiffFindings::default() };
    check(&Case { diff: removed, ..case() }, "removed: 2 tests removed: a.py");
    let new_skip = || DiffFindings { new_skips: 1, ..DiffFindings::default() };
    check(&Case { tests: Some(tally(40, 2)), diff: new_skip(), ..case() }, "fewer: 40 tests ran, 41 before");
    check(&Case { tests: Some(tally(41, 4)), diff: new_skip(), ..case() }, "");
    check(
        &Case { tests: Some(tally(39, 4)), diff: new_skip(), ..case() },
        "fewer: 39 tests ran, 41 before | skipped: 4 tests skipped, 1 before",
    );
}

#[test]
fn what_runs_by_itself_is_named_in_full() {
    let by_itself = [".husky/post-merge", ".vscode/tasks.json", "a/.envrc", "build.rs"];
    let by_itself = by_itself.map(|path| (path.to_owned(), "git")).to_vec();
    let diff = DiffFindings { by_itself, ..DiffFindings::default() };
    let words = "run by themselves: .husky/post-merge (git), .vscode/tasks.json (git), a/.envrc (git), build.rs (git)";
    check(&Case { diff: diff.clone(), ..case() }, &format!("runs-by-itself: {words}"));
    let settings = Settings { refuse: &["runs-by-itself"], ..SETTINGS };
    check(&Case { diff, settings, ..case() }, &format!("runs-by-itself! not proven: {words}"));
}

#[test]
fn a_new_setting_is_a_flag_unless_a_task_names_it() {
    let diff = || DiffFindings { config: finding("jest.config.js", "new", 1), ..DiffFindings::default() };
    check(&Case { diff: diff(), ..case() }, "config: changed jest.config.js, which decides what runs");
    for text in ["Set up jest", "Add jest.config.js"] {
        check(&Case { diff: diff(), text, ..case() }, "");
    }
    check(&Case { diff: diff(), phase: Some("Phase 1: Setup"), ..case() }, "");
}

#[test]
fn what_is_said_of_an_own_file_is_not_said_again_of_a_setting() {
    let diff = DiffFindings { config: finding("package.json", "", 1), ..DiffFindings::default() };
    let own_changed = vec!["package.json#scripts.test".to_owned()];
    check(
        &Case { diff, own_changed, second: Some(SecondResult::Passed), ..case() },
        "judge: changed package.json#scripts.test, which the validation runs; the old one passes too",
    );
}

#[test]
fn flags_have_one_order() {
    let own_changed = ["check.sh".to_owned()];
    let diff = DiffFindings { removed: finding("a.py", "", 1), ..DiffFindings::default() };
    let (now, before) = (tally(40, 1), tally(41, 1));
    let names = ["T005".to_owned(), "T006".to_owned()];
    let evidence = Measurements {
        refuse: &["judge".to_owned()],
        refuses: true,
        is_validated: true,
        tests: Some(&now),
        trusted: Some(&trusted(&before, true)),
        selects_by_change: false,
        diff: &diff,
        own_changed: &own_changed,
        own_lines: &[],
        own_follows: None,
        second: Some(SecondResult::Passed),
        can_run_again: true,
        is_idle: true,
        unseen: None,
        done_in: None,
        final_text: "Nothing to change: done",
        tasks: &["x"],
        languages: Languages::default(),
        phase: None,
        others: &names,
        unticks: true,
        flaky: &["x".to_owned()],
        flaky_times: 4,
        known_failures: 3,
        has_no_tests: false,
        put_back: &["a.js".to_owned()],
        left_out: &[".env".to_owned()],
        undid: None,
        is_undoing_ordered: false,
        found: &[],
    };
    let shown = |evidence: &Measurements<'_>| {
        let Decision::Accepted(flags) = decide(evidence) else { panic!("it is refused") };
        flags.iter().map(|flag| format!("{}: {}", flag.code, flag.text)).collect::<Vec<_>>()
    };
    assert_eq!(
        shown(&evidence),
        [
            "judge: changed check.sh, which the validation runs; the old one passes too",
            "fewer: 40 tests ran, 41 before",
            "removed: 1 test removed: a.py",
            "others: also ticked T005, T006: open again",
            "idle: nothing changed: done",
            "flaky: passed in the second run: x (flaky for the 4th time)",
            "known-failures: 3 tests fail that failed before the start",
            "put-back: put back a.js, which is protected",
            "left-out: validated without .env, which no commit takes",
        ]
    );
    let one = Measurements { others: &names[..1], unticks: false, known_failures: 1, ..evidence };
    assert_eq!(shown(&one)[3], "others: also ticked T005");
    let first = Measurements { flaky_times: 1, ..one };
    assert_eq!(shown(&first)[5], "flaky: passed in the second run: x (flaky)");
    assert_eq!(shown(&one)[6], "known-failures: 1 test fails that failed before the start");
}

#[test]
fn work_of_other_tasks_that_was_undone_is_a_flag_and_refused_only_where_that_is_set() {
    let text = "this attempt undid T001 (src/app.py)";
    let flag = Flag { code: FlagCode::Undid, text: text.to_owned(), paths: Vec::new() };
    let undid = || Case { undid: Some(flag.clone()), ..case() };
    let settings = Settings { refuse: &["undid"], ..SETTINGS };
    check(&undid(), &format!("undid: {text}"));
    check(&Case { settings, ..undid() }, &format!("undid! not proven: {text}"));
    check(&Case { settings, text: "Remove the login", ..undid() }, &format!("undid: {text}"));
}

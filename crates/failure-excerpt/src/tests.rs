//! Outputs of many tools, from `fixtures/outputs/`, and what holds for any output.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use proptest::prelude::*;

use super::*;

/// Lines of no interest, so that no excerpt can hold everything.
fn padding() -> String {
    (0..40).fold(String::new(), |mut text, number| {
        writeln!(text, "loading part {number} of the long list of parts that no one reads").unwrap();
        text
    })
}

fn examined(stdout: &str, stderr: &str) -> Examination {
    examine(&Output { stdout, stderr, exit_code: Some(1), cwd: Some("/w/p"), ..Output::default() })
}

/// Name, expectations and output of each fixture.
fn fixtures() -> Vec<(String, Vec<String>, String)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/outputs");
    let mut paths: Vec<_> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    let read = |path: &std::path::PathBuf| {
        let text = fs::read_to_string(path).unwrap();
        let (expected, output) = text.split_once("\n----\n").unwrap();
        let expected = expected.lines().map(str::to_owned).collect();
        (path.file_stem().unwrap().to_string_lossy().into_owned(), expected, output.to_owned())
    };
    paths.iter().map(read).collect()
}

#[test]
fn what_matters_of_each_tool_is_in_a_small_excerpt() {
    let mut lost = Vec::new();
    for (name, expected, output) in fixtures() {
        let examined = examined(&format!("{0}{output}{0}", padding()), "");
        let excerpt = examined.excerpt(output.chars().count().clamp(250, 500));
        let first = examined.summaries().into_iter().next();
        for line in expected {
            let (what, text) = line.split_once(' ').unwrap();
            let is_there = match (what, &first) {
                ("has", _) => excerpt.contains(text),
                ("id", Some(first)) => first.id.contains(text),
                ("file", Some(first)) => first.file == text,
                ("stage", Some(first)) => first.stage == text,
                ("cause", _) => examined.cause(200).as_deref() == Some(text),
                _ => false,
            };
            if !is_there {
                lost.push(format!("{name}: {line}\n  found {first:?}, cause {:?}", examined.cause(200)));
            }
        }
    }
    assert!(lost.is_empty(), "lost:\n{}", lost.join("\n"));
}

#[test]
fn colours_folders_and_neighbours_change_no_fingerprint() {
    for (name, _, output) in fixtures() {
        let plain = examined(&output, "").fingerprint();
        let coloured: String = output.lines().map(|line| format!("\u{1b}[31m{line}\u{1b}[0m\r\n")).collect();
        assert_eq!(examined(&coloured, "").fingerprint(), plain, "{name}, coloured");
        let moved = output.replace("/w/p", "/tmp/x-77/repo");
        let moved = examine(&Output {
            stdout: &moved,
            exit_code: Some(1),
            cwd: Some("/tmp/x-77/repo"),
            ..Output::default()
        });
        assert_eq!(moved.fingerprint(), plain, "{name}, in another folder");
        let on_stderr =
            examine(&Output { stderr: &output, exit_code: Some(1), cwd: Some("/w/p"), ..Output::default() });
        assert_eq!(on_stderr.fingerprint(), plain, "{name}, on stderr");
    }
}

#[test]
fn each_fixture_has_a_fingerprint_of_its_own() {
    let mut seen = std::collections::HashMap::new();
    for (name, _, output) in fixtures() {
        let print = examined(&output, "").fingerprint().unwrap();
        assert!(print.strict.len() == 8 && print.strict.bytes().all(|byte| byte.is_ascii_hexdigit()));
        if let Some(other) = seen.insert(print.strict, name.clone()) {
            panic!("{name} and {other} have one fingerprint");
        }
    }
}

const PANIC: &str = "running 1 test\ntest a::b ... FAILED\n\nfailures:\n\n---- a::b stdout ----\n\nthread 'a::b' (77) panicked at src/a.rs:3:5:\nassertion `left == right` failed\n  left: 1\n right: 2\n\n\nfailures:\n    a::b\n\ntest result: FAILED. 0 passed; 1 failed; 0 ignored\n";

#[test]
fn what_tells_causes_apart_changes_the_fingerprint_and_the_rest_does_not() {
    let print = |output: &str| examined(output, "").fingerprint().unwrap();
    let plain = print(PANIC);
    for same in ["src/a.rs:9:1", "src/a.rs:10:12"] {
        assert_eq!(print(&PANIC.replace("src/a.rs:3:5", same)), plain, "{same}");
    }
    assert_eq!(print(&PANIC.replace("(77)", "(4711)")), plain);
    for (from, to) in [("left: 1", "left: 3"), ("a::b", "a::c"), ("left == right", "left != right")] {
        let other = print(&PANIC.replace(from, to));
        assert_ne!(other.strict, plain.strict, "{from} to {to}");
    }
    let other_value = print(&PANIC.replace("left: 1", "left: 3"));
    assert_eq!((other_value.loose, other_value.tool), (plain.loose, plain.tool));
}

#[test]
fn a_hang_names_the_test_that_did_not_end() {
    let output = "running 2 tests\ntest a::b ... ok\ntest a::c ... ";
    let examined = examine(&Output { stdout: output, exit_code: Some(-1), ..Output::default() });
    let first = &examined.summaries()[0];
    assert_eq!((first.stage, first.id), ("hang", "a::c"));
}

/// Outputs of shells and of programs that no matcher knows, and the line that says why.
const CAUSES: [(&str, &str); 29] = [
    ("sh: 1: pytset: not found\n", "sh: 1: pytset: not found"),
    ("/bin/sh: 1: cmake: not found\nmake: *** [Makefile:2: all] Error 127\n", "/bin/sh: 1: cmake: not found"),
    ("bash: line 1: ./x: Permission denied\n", "bash: line 1: ./x: Permission denied"),
    ("bash: line 3: pytset: command not found\n", "bash: line 3: pytset: command not found"),
    ("zsh: command not found: pytset\n", "zsh: command not found: pytset"),
    ("fish: Unknown command: pytset\n", "fish: Unknown command: pytset"),
    ("env: ‘node’: No such file or directory\n", "env: ‘node’: No such file or directory"),
    ("sh: 0: cannot open check.sh: No such file\n", "sh: 0: cannot open check.sh: No such file"),
    ("check.sh: line 4: PORT: unbound variable\n", "check.sh: line 4: PORT: unbound variable"),
    (
        "bash: -c: line 1: syntax error near unexpected token `fi'\n",
        "bash: -c: line 1: syntax error near unexpected token `fi'",
    ),
    (
        "'pytset' is not recognized as an internal or external command,\noperable program or batch file.\n",
        "'pytset' is not recognized as an internal or external command,",
    ),
    ("make: *** No rule to make target 'tset'.  Stop.\n", "make: *** No rule to make target 'tset'. Stop."),
    (
        "make: pytset: No such file or directory\nmake: *** [Makefile:2: test] Error 127\n",
        "make: pytset: No such file or directory",
    ),
    (
        "src/lamp.wdg:9 the lamp must be on\nmake: *** [Makefile:3: check] Error 1\n",
        "src/lamp.wdg:9 the lamp must be on",
    ),
    (
        "> shop@1.0.0 test\n> node check.js\n\nFAILED shout: expected 'HI', got 'hi'\nnpm ERR! code 1\nnpm ERR! path /w/p\n",
        "FAILED shout: expected 'HI', got 'hi'",
    ),
    ("check 1 fine\nthe price must be 3, not 4\n3 failed, 10 passed\n", "the price must be 3, not 4"),
    (
        "collecting\nNo tests found, exiting with code 1\nran in 0.2 s\n",
        "No tests found, exiting with code 1",
    ),
    (
        "--- want.html\t2026-01-02 03:04:05.000000000 +0000\n+++ got.html\t2026-01-02 03:04:06.000000000 +0000\n@@ -1,2 +1,2 @@\n <form>\n-  <b>Submit</b>\n+  <b>Save</b>\n",
        "want.html: - <b>Submit</b> + <b>Save</b>",
    ),
    ("--- a\n+++ b\n@@ -1 +0,0 @@\n---\n", "a: ---"),
    ("row 1 fine\nrow 212 differs\n3 pages compared\n", "row 212 differs"),
    (
        "#7 [2/3] RUN npm ci\n#7 0.51 npm error code ENOSPC\n#7 0.52 npm error nospc ENOSPC: no space left on device, write\n------\nDockerfile:2\n   1 |     FROM node\n   2 | >>> RUN npm ci\n   3 |     COPY . .\nERROR: failed to solve: process \"/bin/sh -c npm ci\" did not complete successfully: exit code: 228\n",
        "#7 0.52 npm error nospc ENOSPC: no space left on device, write",
    ),
    ("Killed\n", "Killed"),
    ("Segmentation fault (core dumped)\n", "Segmentation fault (core dumped)"),
    ("make: *** [Makefile:3: check] Error 1\n", "make: *** [Makefile:3: check] Error 1"),
    ("3 failed, 10 passed\n", "3 failed, 10 passed"),
    ("all is well\nalmost\n", "almost"),
    (
        "Traceback (most recent call last):\n  File \"/w/p/a.py\", line 3, in f\n    g()\nValueError: no knob\n",
        "ValueError: no knob (a.py:3)",
    ),
    (
        "file:///w/p/a.js:3\n  f();\n  ^\n\nTypeError: f is not a function\n    at file:///w/p/a.js:3:3\n",
        "TypeError: f is not a function (a.js:3)",
    ),
    ("\u{1b}[31merror\u{1b}[0m:\tno\u{7} such  widget\n", "error: no such widget"),
];

#[test]
fn the_cause_is_the_line_that_says_why() {
    for (output, expected) in CAUSES {
        assert_eq!(examined(output, "").cause(200).as_deref(), Some(expected), "{output}");
        assert_eq!(examined("", output).cause(200).as_deref(), Some(expected), "on stderr: {output}");
    }
    assert_eq!(examined("", "\n\n").cause(200), None);
}

/// The same failure as a tool prints it for people and for programs.
const TWINS: [(&str, &str); 7] = [
    (
        "--- FAIL: TestSum (0.00s)\n    sum_test.go:9: got 3, want 4\nFAIL\nFAIL\texample.org/sum\t0.01s\n",
        "{\"Action\":\"output\",\"Package\":\"example.org/sum\",\"Output\":\"=== RUN   TestSum\\n\"}\n{\"Action\":\"output\",\"Package\":\"example.org/sum\",\"Output\":\"    sum_test.go:9: got 3, want 4\\n\"}\n{\"Action\":\"output\",\"Package\":\"example.org/sum\",\"Output\":\"--- FAIL: TestSum (0.02s)\\n\"}\n{\"Action\":\"fail\",\"Package\":\"example.org/sum\"}\n",
    ),
    (
        "error[E0308]: mismatched types\n --> src/a.rs:3:5\n  |\n3 |     x\n  |     ^ expected `u8`, found `&str`\n\nerror: could not compile `a` (lib)\n",
        "{\"reason\":\"compiler-message\",\"message\":{\"rendered\":\"error[E0308]: mismatched types\\n --> src/a.rs:3:5\\n  |\\n3 |     x\\n  |     ^ expected `u8`, found `&str`\\n\\n\"}}\n",
    ),
    (
        "\n/w/p/a.js\n  3:5  error  'x' is not defined  no-undef\n\n✖ 1 problem (1 error, 0 warnings)\n",
        "[{\"filePath\":\"/w/p/a.js\",\"messages\":[{\"ruleId\":\"no-undef\",\"severity\":2,\"message\":\"'x' is not defined.\",\"line\":3,\"column\":5}]}]",
    ),
    (
        "FAIL ./a.test.js\n  ● cart › sums\n\n    expect(received).toBe(expected)\n\n    Expected: 3\n    Received: 2\n\n      at Object.<anonymous> (a.test.js:3:5)\n\nTests:       1 failed, 1 total\n",
        "{\"numTotalTests\":1,\"testResults\":[{\"name\":\"/w/p/a.test.js\",\"status\":\"failed\",\"assertionResults\":[{\"ancestorTitles\":[\"cart\"],\"title\":\"sums\",\"status\":\"failed\",\"failureMessages\":[\"Error: expect(received).toBe(expected)\\n\\nExpected: 3\\nReceived: 2\\n    at Object.<anonymous> (/w/p/a.test.js:3:5)\"]}]}]}",
    ),
    (
        "  1 failing\n\n  1) cart\n       sums:\n     Error: no sum\n      at Context.<anonymous> (test/a.js:3:5)\n",
        "{\"stats\":{},\"failures\":[{\"title\":\"sums\",\"fullTitle\":\"cart sums\",\"err\":{\"stack\":\"Error: no sum\\n    at Context.<anonymous> (test/a.js:3:5)\"}}]}",
    ),
    (
        "=== FAILURES ===\n____ test_sum ____\n\n    def test_sum():\n>       assert 3 == 4\nE       assert 3 == 4\n\ntest_a.py:2: AssertionError\n=== short test summary info ===\nFAILED test_a.py::test_sum - assert 3 == 4\n",
        "{\"exitcode\":1,\"tests\":[{\"nodeid\":\"test_a.py::test_sum\",\"outcome\":\"failed\",\"call\":{\"outcome\":\"failed\",\"longrepr\":\"def test_sum():\\n>       assert 3 == 4\\nE       assert 3 == 4\\n\\ntest_a.py:2: AssertionError\"}}]}",
    ),
    (
        "=== FAILURES ===\n____ test_sum ____\n>       assert 3 == 4\nE       assert 3 == 4\n\ntest_a.py:2: AssertionError\n",
        "<?xml version=\"1.0\" encoding=\"utf-8\"?><testsuites><testsuite name=\"pytest\"><testcase classname=\"test_a\" name=\"test_sum\"><failure message=\"assert 3 == 4\">&gt;       assert 3 == 4\nE       assert 3 == 4\n\ntest_a.py:2: AssertionError</failure></testcase></testsuite></testsuites>\n",
    ),
];

#[test]
fn a_report_for_programs_has_the_fingerprint_of_the_text() {
    for (plain, report) in TWINS {
        let (plain, report) = (examined(plain, ""), examined(report, ""));
        assert_eq!(
            report.fingerprint().unwrap().strict,
            plain.fingerprint().unwrap().strict,
            "{:?}\n{:?}",
            plain.summaries(),
            report.summaries()
        );
    }
}

#[test]
fn assertions_of_a_loop_stay_apart_and_seeds_do_not() {
    let print = |said: &str| {
        examined(&PANIC.replace("assertion `left == right` failed\n  left: 1\n right: 2", said), "")
            .fingerprint()
    };
    assert_ne!(print("row 3 is 9"), print("row 4 is 9"));
    assert_ne!(print("expected 12 steps, got 13"), print("expected 12 steps, got 14"));
    assert_eq!(
        print("states diverge after 37 steps (seed 7)"),
        print("states diverge after 812 steps (seed 23)")
    );
    assert_eq!(print("cannot reach 127.0.0.1:43121 (pid 71)"), print("cannot reach 127.0.0.1:51877 (pid 9)"));
}

#[test]
fn a_short_output_is_kept_whole() {
    assert_eq!(examined("one\n\n\n\ntwo\n", "three").excerpt(100), "one\n\ntwo\nthree");
    assert_eq!(examined("", "").excerpt(100), "");
    assert_eq!(examined("", "").fingerprint(), None);
    assert_eq!(examined("some words", "").excerpt(0), "");
}

#[test]
fn many_failures_of_one_kind_are_counted() {
    let of_cargo = |number: usize| {
        format!(
            "---- case_{number}_ stdout ----\n\nthread 'case_{number}_' (1) panicked at src/a.rs:3:5:\nno luck\n\n"
        )
    };
    let of_pytest =
        |number: usize| format!("FAILED tests/test_{number}.py::case_{number}_ - assert {number} == 0\n");
    for count in [27, 40, 60, 200, 500] {
        let cargo: String = (0..count).map(of_cargo).collect();
        let pytest: String = (0..count).map(of_pytest).collect();
        for output in [format!("failures:\n\n{cargo}"), pytest] {
            let excerpt = examined(&output, "").excerpt(500);
            assert!(excerpt.contains("case_0_"), "{excerpt}");
            let shown = (0..count).filter(|number| excerpt.contains(&format!("case_{number}_"))).count();
            assert!(
                excerpt.ends_with(&format!("\n+{} more of the same kind", count - shown)),
                "{shown} of {count}:\n{excerpt}"
            );
        }
    }
}

#[test]
fn what_says_nothing_is_left_out_where_tools_say_enough() {
    let go = "=== RUN   TestSum\n    sum_test.go:9: got 3, want 4\n--- FAIL: TestSum (0.00s)\nFAIL\n";
    let python = "Traceback (most recent call last):\n  File \"a.py\", line 3, in <module>\n    f()\nValueError: no knob\nmake: *** [test] Error 1\n";
    let phpunit = "There was 1 failure:\n\n1) SumTest::testSum\nFailed asserting that 3 matches expected 4.\n\n/w/p/SumTest.php:9\n\nFAILURES!\nTests: 1, Assertions: 1, Failures: 1.\n";
    let many = |count, line: &dyn Fn(usize) -> String| (0..count).map(line).collect::<String>();
    for (noise, output) in [
        (many(80, &|number| format!("--- PASS: TestOk{number} (0.00s)\n")), go),
        (many(80, &|number| format!("✓ passes number {number}\n")), go),
        (many(60, &|number| format!("[INFO] Building thing {number}\n")), go),
        (many(90, &|number| format!("Step {number}\n")), phpunit),
        (many(90, &|number| format!("cleanup {number}\n")), python),
    ] {
        let excerpt = examined(&format!("{noise}{output}\n{noise}"), "").excerpt(700);
        let shown = |line: &&str| excerpt.contains(line.trim().trim_start_matches("/w/p/"));
        assert!(output.lines().filter(shown).count() > 2, "{excerpt}");
        assert!(!excerpt.lines().any(|line| noise.lines().any(|noise| noise == line)), "{excerpt}");
    }
}

#[test]
fn failures_of_other_kinds_that_have_no_room_are_counted_too() {
    let output: String = ["sum", "product", "quotient", "remainder", "root"]
        .map(|name| {
            format!(
                "FAILED tests/test_{name}.py::test_{name} - {name}Error: the {name} is out of its place\n"
            )
        })
        .concat();
    let excerpt = examined(&output, "").excerpt(200);
    let shown = excerpt.matches("FAILED").count();
    assert!(excerpt.ends_with(&format!("\n+{} more", 5 - shown)), "{excerpt}");
}

#[test]
fn of_lines_that_differ_in_a_number_three_are_kept() {
    let rows: String = (0..400).map(|row| format!("page {row} of {}: rendered\n", row * 7)).collect();
    let excerpt = examined(&format!("{rows}the last page is dim\n"), "").excerpt(1_000);
    assert!(excerpt.contains("the last page is dim"), "{excerpt}");
    assert_eq!(excerpt.matches(": rendered").count(), 3, "{excerpt}");
}

#[test]
fn the_frames_of_go_itself_are_not_the_place_of_a_failure() {
    let output = "panic: no lamp\n\ngoroutine 1 [running]:\ntesting.tRunner(0x1)\n\t/usr/local/go/src/testing/testing.go:1690 +0x1\nexample.org/hall.light(...)\n\t/w/p/hall.go:7 +0x1\n";
    assert_eq!(examined("", output).cause(200).as_deref(), Some("panic: no lamp (hall.go:7)"));
}

#[test]
fn awkward_inputs_are_bounded() {
    let mut awkward = vec![
        "x".repeat(1 << 20),
        "E\n".repeat(1 << 17),
        "\r".repeat(1 << 17),
        "\u{1b}[999A".repeat(6_000),
        "a\n\u{1b}[1A".repeat(10_000),
        "\u{1b}]8;;".repeat(4_000),
        "\0".repeat(1 << 17),
        "--- FAIL: TestX\n".repeat(6_000),
        "  1) a\n".repeat(6_000),
        "✖ a\n".repeat(6_000),
        "● a\n".repeat(6_000),
        "[  FAILED  ] a\n".repeat(6_000),
        "a.py::b\n".repeat(6_000),
        "Traceback (most recent call last):\n".repeat(4_000),
        "1:1 a.c:1: error: x\n".repeat(6_000),
        "error: x\n --> a.rs:1:1\n".repeat(4_000),
        "   3:1  error  x  y\n".repeat(6_000),
        "error: x\n\n".repeat(6_000),
        "at a.b(C.java:1)\n".repeat(6_000),
        "{'a', 'b'} ".repeat(6_000),
        "{\n".repeat(50_000),
        "[{\"a\":\n".repeat(30_000),
        "<testsuite>\n".repeat(50_000),
        "{\"Action\":\"output\",\"Package\":\"p\",\"Output\":\"--- FAIL: TestX\\n\"}\n".repeat(6_000),
    ];
    awkward.push("🦀".repeat(1 << 16));
    let begun = processor_time();
    for (number, text) in awkward.iter().enumerate() {
        let examined = examined(text, text);
        for budget in [0, 1, 30, 500] {
            assert!(examined.excerpt(budget).chars().count() <= budget, "input {number}");
        }
        drop(examined.fingerprint());
    }
    // Minutes where something is not linear; a second or two otherwise, also without optimisation.
    let seconds = processor_time() - begun;
    assert!(seconds < 90, "{seconds} s");
}

/// Seconds that this thread has computed: on a busy machine it waits for much longer.
fn processor_time() -> i64 {
    use nix::sys::resource::{UsageWho, getrusage};
    #[cfg(target_os = "linux")]
    let who = UsageWho::RUSAGE_THREAD;
    #[cfg(not(target_os = "linux"))]
    let who = UsageWho::RUSAGE_SELF;
    getrusage(who).unwrap().user_time().tv_sec()
}

/// Pieces of the outputs of all tools, in any order.
fn pieces() -> impl Strategy<Value = String> {
    let lines: Vec<String> = fixtures()
        .into_iter()
        .flat_map(|(_, _, output)| output.lines().map(str::to_owned).collect::<Vec<_>>())
        .collect();
    let line = prop_oneof![
        8 => proptest::sample::select(lines),
        1 => ".{0,20}",
        1 => "[\\[\\]:()0-9 ./#E>|^-]{0,12}",
    ];
    proptest::collection::vec(line, 0..40).prop_map(|lines| lines.join("\n"))
}

proptest! {
    #[test]
    fn no_output_breaks_an_excerpt(stdout in pieces(), stderr in pieces(), budget in 0_usize..800) {
        let examined = examined(&stdout, &stderr);
        let excerpt = examined.excerpt(budget);
        prop_assert!(excerpt.chars().count() <= budget);
        prop_assert!(!excerpt.contains(|c: char| c.is_control() && c != '\n' && c != '\t'));
        let cause = examined.cause(budget);
        prop_assert!(cause.iter().all(|cause| cause.chars().count() <= budget));
        prop_assert!(!cause.iter().any(|cause| cause.contains(char::is_control)));
        prop_assert_eq!(cause.is_none(), stdout.trim().is_empty() && stderr.trim().is_empty());
        prop_assert_eq!(examined.fingerprint().is_none(), stdout.trim().is_empty() && stderr.trim().is_empty());
        drop(Features::of(&examined));
    }
}

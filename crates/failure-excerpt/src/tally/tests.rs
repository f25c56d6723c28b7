use proptest::prelude::*;

use crate::{Output, Tally, examine};

use super::{Groups, Level, Ran};

fn tally(stdout: &str) -> Tally {
    examine(&Output { stdout, ..Output::default() }).tally()
}

/// A runner, what it prints, and the tests that passed, failed, were skipped, did not load and did not run.
type Counted = (&'static str, &'static str, [u64; 5]);

#[rustfmt::skip]
const COUNTED: &[Counted] = &[
    ("cargo test", "test result: ok. 3 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.00s\n", [3, 0, 1, 0, 0]),
    ("cargo test", "test result: ok. 3 passed; 0 failed; 1 ignored\n\ntest result: FAILED. 1 passed; 2 failed; 0 ignored\n", [4, 2, 1, 0, 0]),
    ("cargo test", "test result: ok. 0 passed; 0 failed; 0 ignored; 0 measured; 9 filtered out; finished in 0.00s\n", [0, 0, 0, 0, 0]),
    ("cargo test", "{ \"type\": \"suite\", \"event\": \"failed\", \"passed\": 2, \"failed\": 1, \"ignored\": 1 }\n", [2, 1, 1, 0, 0]),
    ("nextest", "     Summary [   0.008s] 3 tests run: 2 passed (1 slow), 1 failed, 4 skipped\n", [2, 1, 4, 0, 0]),
    ("nextest", "test result: FAILED. 0 passed; 1 failed; 0 ignored; 0 measured; 5 filtered out\n Summary [ 0.1s] 2/5 tests run: 1 passed, 1 failed, 0 skipped\n", [1, 1, 0, 0, 3]),
    ("pytest", "=== 1 failed, 2 passed, 1 xfailed, 1 error, 3 deselected in 0.12s ===\n", [2, 2, 1, 0, 0]),
    ("pytest", "1 passed, 2 warnings in 62.01s (0:01:02)\n", [1, 0, 0, 0, 0]),
    ("pytest", "== 5 deselected in 0.01s ==\n", [0, 0, 0, 0, 0]),
    ("pytest", "== no tests ran in 0.01s ==\n", [0, 0, 0, 0, 0]),
    ("pytest", "__ ERROR collecting test_a.py __\n=== 1 error in 0.12s ===\n", [0, 0, 0, 1, 0]),
    ("pytest", "..F.s                      [100%]\n", [3, 1, 1, 0, 0]),
    ("pytest", "Results (0.05s):\n       2 passed\n       1 failed\n", [2, 1, 0, 0, 0]),
    ("unittest", "Ran 5 tests in 0.001s\n\nFAILED (failures=1, errors=1, skipped=1)\n", [2, 2, 1, 0, 0]),
    ("unittest", "Ran 2 tests in 0.001s\n\nOK (expected failures=1)\n", [1, 0, 1, 0, 0]),
    ("unittest", "Ran 0 tests in 0.000s\n\nNO TESTS RAN\n", [0, 0, 0, 0, 0]),
    ("unittest", "ERROR: test_a (unittest.loader._FailedTest.test_a)\nRan 1 test in 0.000s\n\nFAILED (errors=1)\n", [0, 1, 0, 1, 0]),
    ("jest", "Tests:       1 failed, 1 skipped, 1 todo, 2 passed, 5 total\n", [2, 1, 2, 0, 0]),
    ("jest", "  ● Test suite failed to run\n\nTests:       0 total\n", [0, 0, 0, 1, 0]),
    ("jest", "No tests found, exiting with code 1\n", [0, 0, 0, 0, 0]),
    ("jest", "{\"numTotalTests\":4,\"numPassedTests\":1,\"numFailedTests\":2,\"numPendingTests\":1,\"testResults\":[]}\n", [1, 2, 1, 0, 0]),
    ("vitest", " Test Files  1 failed | 1 passed (2)\n      Tests  1 failed | 2 passed | 1 skipped (4)\n", [2, 1, 1, 0, 0]),
    ("vitest", "⎯⎯⎯ Failed Suites 2 ⎯⎯⎯\n      Tests  no tests\n", [0, 0, 0, 2, 0]),
    ("vitest", "No test files found, exiting with code 1\n", [0, 0, 0, 0, 0]),
    ("mocha", "  3 passing (5ms)\n  1 pending\n  2 failing\n", [3, 2, 1, 0, 0]),
    ("mocha", "  0 passing (0ms)\n", [0, 0, 0, 0, 0]),
    ("mocha", "{\"stats\":{\"passes\":3,\"pending\":1,\"failures\":0},\"failures\":[]}\n", [3, 0, 1, 0, 0]),
    ("node", "ℹ tests 6\nℹ suites 1\nℹ pass 2\nℹ fail 1\nℹ cancelled 1\nℹ skipped 1\nℹ todo 1\n", [2, 2, 2, 0, 0]),
    ("node", "TAP version 13\nok 1 - a\n1..1\n# tests 2\n# pass 2\n# fail 0\n# cancelled 0\n# skipped 0\n", [2, 0, 0, 0, 0]),
    ("tap", "TAP version 13\n# adds\nok 1 eq\nnot ok 2 eq\n1..2\n# tests 2\n# pass  1\n# fail  1\n", [1, 1, 0, 0, 0]),
    ("tap", "1..4\nok 1 a\nnot ok 2 b\nok 3 c # SKIP later\nnot ok 4 d # \x54ODO\n", [1, 1, 2, 0, 0]),
    ("tap", "1..4\nok 1 a\nBail out!\n", [1, 0, 0, 0, 3]),
    ("tap", "1..0 # SKIP no database\n", [0, 0, 0, 0, 0]),
    ("tap", "TAP version 13\n1..1\nok 1 - a.test.js {\n    1..2\n    ok 1 - b\n    not ok 2 - c\n}\n", [1, 1, 0, 0, 0]),
    ("ava", "  ✔ a\n  ✘ [fail]: b\n  1 test failed\n", [1, 1, 0, 0, 0]),
    ("ava", "  2 tests passed\n  1 test skipped\n  1 test todo\n", [2, 0, 2, 0, 0]),
    ("ava", "  ✘ Couldn’t find any files to test\n", [0, 0, 0, 0, 0]),
    ("playwright", "  1 failed\n    a.spec.js:3:1 › b\n  1 flaky\n  2 skipped\n  3 did not run\n  4 passed (1.2s)\n", [5, 1, 2, 0, 3]),
    ("playwright", "{\"stats\":{\"expected\":2,\"unexpected\":1,\"flaky\":1,\"skipped\":0}}\n", [3, 1, 0, 0, 0]),
    ("jasmine", "3 specs, 1 failure, 1 pending spec\n", [1, 1, 1, 0, 0]),
    ("jasmine", "Incomplete: No specs found\n", [0, 0, 0, 0, 0]),
    ("bun", " 2 pass\n 1 skip\n 1 fail\nRan 4 tests across 1 file. [5.00ms]\n", [2, 1, 1, 0, 0]),
    ("deno", "ok | 2 passed (3 steps) | 0 failed | 1 ignored | 4 filtered out (5ms)\n", [2, 0, 1, 0, 0]),
    ("karma", "Chrome 120 (Linux): Executed 1 of 5 SUCCESS (0 secs)\nChrome 120 (Linux): Executed 4 of 5 (1 FAILED) (skipped 1) (0.1 secs)\n", [3, 1, 1, 0, 0]),
    ("cypress", "  2 passing (1s)\n  1 failing\n│ Tests:        3  │\n│ Passing:      2  │\n│ Failing:      1  │\n│ Pending:      0  │\n│ Skipped:      0  │\n", [2, 1, 0, 0, 0]),
    ("cucumber", "3 scenarios (1 failed, 1 undefined, 1 passed)\n9 steps (1 failed)\n", [1, 2, 0, 0, 0]),
    ("behave", "2 scenarios passed, 1 failed, 1 skipped\n", [2, 1, 1, 0, 0]),
    ("go test", "=== RUN   TestA\n--- PASS: TestA (0.00s)\n=== RUN   TestB\n=== RUN   TestB/x\n    --- FAIL: TestB/x (0.00s)\n--- FAIL: TestB (0.00s)\nFAIL\nFAIL\tshop\t0.1s\n", [1, 1, 0, 0, 0]),
    ("go test", "?   \tshop\t[no test files]\nok  \tshop/a\t0.1s [no tests to run]\n", [0, 0, 0, 0, 0]),
    ("gotestsum", "DONE 5 tests, 1 skipped, 2 failures in 0.5s\n", [2, 2, 1, 0, 0]),
    ("ginkgo", "FAIL! -- 2 Passed | 1 Failed | 1 Pending | 1 Skipped\n", [2, 1, 2, 0, 0]),
    ("surefire", "[INFO] Tests run: 3, Failures: 1, Errors: 0, Skipped: 0, Time elapsed: 0.1 s - in ATest\n[ERROR] Tests run: 3, Failures: 1, Errors: 1, Skipped: 1\n", [0, 2, 1, 0, 0]),
    ("surefire", "[INFO] No tests to run.\n", [0, 0, 0, 0, 0]),
    ("gradle", "> Task :test FAILED\n\nATest > b() FAILED\n\n4 tests completed, 1 failed, 1 skipped\n", [2, 1, 1, 0, 0]),
    ("gradle", "> Task :test\n\nATest > a() PASSED\n\nATest > b() SKIPPED\n", [1, 0, 1, 0, 0]),
    ("gradle", "> Task :test NO-SOURCE\n", [0, 0, 0, 0, 0]),
    ("junit", "[         3 tests found           ]\n[         1 tests skipped         ]\n[         1 tests successful      ]\n[         1 tests failed          ]\n", [1, 1, 1, 0, 0]),
    ("junit", "<testsuites><testsuite name=\"s\"><testcase name=\"a\"/><testcase name=\"b\"><skipped/></testcase><testcase name=\"c\"><failure message=\"x\"/></testcase></testsuite></testsuites>\n", [1, 1, 1, 0, 0]),
    ("dotnet", "Failed!  - Failed:     1, Passed:     2, Skipped:     1, Total:     4, Duration: 5 ms - a.dll (net8.0)\n", [2, 1, 1, 0, 0]),
    ("vstest", "Total tests: 4\n     Passed: 2\n     Failed: 1\n    Skipped: 1\n", [2, 1, 1, 0, 0]),
    ("uvu", "  Total:     4\n  Passed:    2\n  Skipped:   1\n", [2, 1, 1, 0, 0]),
    ("xctest", "\t Executed 2 tests, with 1 failure (0 unexpected) in 0.1 (0.1) seconds\n\t Executed 4 tests, with 1 test skipped and 1 failure (0 unexpected) in 0.1 (0.1) seconds\n", [2, 1, 1, 0, 0]),
    ("rspec", "5 examples, 1 failure, 2 pending\n", [2, 1, 2, 0, 0]),
    ("rspec", "An error occurred while loading ./a_spec.rb.\n0 examples, 0 failures, 1 error occurred outside of examples\n", [0, 0, 0, 1, 0]),
    ("minitest", "5 runs, 9 assertions, 1 failures, 1 errors, 1 skips\n", [2, 2, 1, 0, 0]),
    ("phpunit", "OK (3 tests, 5 assertions)\n", [3, 0, 0, 0, 0]),
    ("phpunit", "Tests: 6, Assertions: 5, Errors: 1, Failures: 1, Skipped: 1, Incomplete: 1.\n", [2, 2, 2, 0, 0]),
    ("phpunit", "No tests found in class \"ATest\".\nTests: 1, Assertions: 0, Warnings: 1.\n", [0, 0, 0, 0, 0]),
    ("pest", "  Tests:    1 failed, 1 skipped, 2 passed (5 assertions)\n", [2, 1, 1, 0, 0]),
    ("busted", "2 successes / 1 failure / 1 error / 1 pending : 0.01 seconds\n", [2, 2, 1, 0, 0]),
    ("exunit", "1 doctest, 4 tests, 1 failure, 1 skipped\n", [3, 1, 1, 0, 0]),
    ("bats", "5 tests, 1 failure, 1 skipped, 2 not run\n", [1, 1, 1, 0, 2]),
    ("prove", "a.t .. \nok 1 - a\nok 2 # skip no\n1..2\nok\nFiles=1, Tests=2,  0 wallclock secs\n", [1, 0, 1, 0, 0]),
    ("prove", "Files=1, Tests=0,  0 wallclock secs\nResult: NOTESTS\n", [0, 0, 0, 0, 0]),
    ("robot", "2 tests, 1 passed, 1 failed\n4 tests, 2 passed, 1 failed, 1 skipped\n", [2, 1, 1, 0, 0]),
    ("dart", "00:00 +1: a\n00:01 +2 ~1 -1: Some tests failed.\n", [2, 1, 1, 0, 0]),
    ("ctest", "67% tests passed, 1 tests failed out of 4\n\t  2 - b (Skipped)\n\t  3 - c (Disabled)\n", [2, 1, 2, 0, 0]),
    ("googletest", "[==========] 4 tests from 1 test suite ran. (0 ms total)\n[  PASSED  ] 2 tests.\n[  SKIPPED ] 1 test, listed below:\n[  FAILED  ] 1 test, listed below:\n  YOU HAVE 1 DISABLED TEST\n", [2, 1, 2, 0, 0]),
    ("catch2", "test cases: 3 | 1 passed | 2 failed\n", [1, 2, 0, 0, 0]),
    ("catch2", "All tests passed (5 assertions in 2 test cases)\n", [2, 0, 0, 0, 0]),
    ("automake", "# TOTAL: 4\n# PASS:  2\n# SKIP:  1\n# XFAIL: 0\n# FAIL:  1\n# XPASS: 0\n# ERROR: 0\n", [2, 1, 1, 0, 0]),
    ("meson", "Ok:                2\nExpected Fail:     0\nFail:              1\nUnexpected Pass:   0\nSkipped:           1\nTimeout:           1\n", [2, 2, 1, 0, 0]),
];

#[test]
fn each_runner_is_counted() {
    for (runner, output, [passed, failed, skipped, broken, not_run]) in COUNTED {
        let tally = tally(output);
        let found = [tally.passed, tally.failed, tally.skipped].map(|count| count.unwrap_or(u64::MAX));
        let expected = [*passed, *failed, *skipped, *broken, *not_run];
        assert_eq!(
            [found[0], found[1], found[2], tally.broken, tally.not_run],
            expected,
            "{runner}: {output}"
        );
        assert_eq!((tally.level, tally.runners), (Level::Tests, vec![(*runner).to_owned()]), "{output}");
        assert_eq!(tally.ran, if passed + failed > 0 { Ran::Some } else { Ran::None }, "{runner}: {output}");
    }
}

/// What a runner allows, expects or ran again is a failure that does not fail it.
#[test]
fn failures_that_do_not_fail_their_runner_are_tolerated() {
    let maven = "[ERROR] Tests run: 3, Failures: 1, Errors: 0, Skipped: 0\n";
    let gradle = "> Task :test\n\nATest > b() FAILED\n\n4 tests completed, 1 failed\n";
    for (output, failed, tolerated) in [
        (format!("{maven}[INFO] BUILD SUCCESS\n"), 1, 1),
        (format!("{maven}[INFO] BUILD FAILURE\n"), 1, 0),
        (format!("{gradle}BUILD SUCCESSFUL in 1s\n"), 1, 1),
        (format!("{gradle}\nBUILD FAILED in 1s\n"), 1, 0),
        ("[INFO] BUILD SUCCESS\nTests:       1 failed, 1 passed, 2 total\n".to_owned(), 1, 0),
        ("make: [Makefile:2: test] Error 1 (ignored)\n=== 1 failed, 2 passed in 0.1s ===\n".to_owned(), 1, 1),
        ("make: *** [Makefile:2: test] Error 1\n=== 1 failed, 2 passed in 0.1s ===\n".to_owned(), 1, 0),
        ("=== 1 failed, 2 passed in 0.1s ===\n  congratulations :) (0.52 seconds)\n".to_owned(), 1, 1),
        ("3 scenarios (1 undefined, 2 passed)\n".to_owned(), 1, 1),
        ("3 scenarios (1 failed, 2 passed)\n".to_owned(), 1, 0),
        ("DONE 2 runs, 5 tests, 1 failure in 0.5s\n".to_owned(), 1, 1),
        ("DONE 5 tests, 1 failure in 0.5s\n".to_owned(), 1, 0),
        ("--- FAIL: TestInner (0.00s)\nok  \tshop\t0.1s\n".to_owned(), 1, 1),
        ("--- FAIL: TestA (0.00s)\nFAIL\nFAIL\tshop\t0.1s\n".to_owned(), 1, 0),
        ("Tests run: 4, Failures: 0, Errors: 0, Skipped: 0, Flakes: 1\n".to_owned(), 0, 0),
        (
            "\t Executed 2 tests, with 1 failure (0 unexpected) in 0.1 (0.1) seconds\n** TEST SUCCEEDED **\n"
                .to_owned(),
            1,
            1,
        ),
        ("=== 1 passed, 1 xfailed, 1 rerun in 0.1s ===\n".to_owned(), 0, 0),
    ] {
        let tally = tally(&output);
        assert_eq!((tally.failed, tally.tolerated), (Some(failed), tolerated), "{output}");
    }
}

#[test]
fn several_runners_are_added() {
    let both = tally("Ran 2 tests in 0.001s\n\nOK\n\nTests:       1 failed, 1 passed, 2 total\n");
    assert_eq!((both.passed, both.failed), (Some(3), Some(1)));
    assert_eq!(both.runners, ["unittest", "jest"]);
    let xml = "<testsuites><testsuite name=\"s\"><testcase name=\"a\"/><testcase name=\"b\"/></testsuite></testsuites>\n";
    let report_and_text = tally(&format!("{xml}=== 2 passed in 0.1s ===\n"));
    assert_eq!(report_and_text.passed, Some(2));
}

#[test]
fn packages_are_counted_where_tests_are_not() {
    for (output, groups, failed, ran) in [
        (
            "ok  \tshop\t0.1s\nok  \tshop/a\t(cached)\n?   \tshop/b\t[no test files]\n",
            [2, 0, 1],
            0,
            Ran::Unknown,
        ),
        ("--- FAIL: TestA (0.00s)\nFAIL\nFAIL\tshop\t0.1s\nok  \tshop/a\t0.1s\n", [1, 1, 0], 1, Ran::Some),
        ("FAIL\tshop [build failed]\nok  \tshop/a\t0.1s\n", [1, 1, 0], 0, Ran::Unknown),
        ("> Task :compileJava\n> Task :test\n\nBUILD SUCCESSFUL in 1s\n", [1, 0, 0], 0, Ran::Unknown),
    ] {
        let tally = tally(output);
        let [passed, failing, none] = groups;
        assert_eq!(tally.groups, Some(Groups { passed, failed: failing, none }), "{output}");
        assert_eq!(
            (tally.level, tally.passed, tally.failed),
            (Level::Groups, None, Some(failed)),
            "{output}"
        );
        assert_eq!(tally.ran, ran, "{output}");
        assert_eq!(tally.broken, u64::from(output.contains("build failed")));
    }
    let crashed = tally("[ RUN      ] A.b\n[       OK ] A.b (0 ms)\n[ RUN      ] A.c\nSegmentation fault\n");
    assert_eq!((crashed.level, crashed.ran, crashed.broken), (Level::Groups, Ran::Some, 1));
}

#[test]
fn an_output_of_no_runner_has_no_tally() {
    for output in [
        "",
        "all good\n",
        "src/a.rs:3:5: error: x\n",
        "Found 3 errors in 0.1s\n",
        "3 files reformatted in 0.1s\n",
        "✖ 3 problems (2 errors, 1 warning)\n",
        "Passed: 3\nFailed: 0\n",
        "1..5\n",
        "ok\n",
        "<testsuites><testsuite name=\"ruff\"><testcase name=\"a.py\"/></testsuite></testsuites>\n",
    ] {
        let tally = tally(output);
        assert_eq!((tally.level, tally.ran, tally.passed), (Level::None, Ran::Unknown, None), "{output}");
    }
    assert_eq!(tally("error: could not compile `shop` (lib) due to 1 previous error\n").broken, 1);
}

#[test]
fn a_runner_says_that_only_focused_tests_ran() {
    for output in [
        "2 specs, 0 failures\nIncomplete: fit() or fdescribe() was found, 1 spec was excluded\n",
        "error: Test failed because the \"only\" option was used\n",
        "Run options: include {:focus=>true}\n\n1 example, 0 failures\n",
        "  Error: item focused with '--forbid-only' flag: \"a\"\n",
    ] {
        assert!(tally(output).focused.is_some(), "{output}");
    }
    assert_eq!(tally("Tests: 1 passed, 1 total\n").focused, None);
}

#[test]
fn a_result_from_a_cache_is_said_by_its_line() {
    for (output, expected) in [
        (
            "web:test: cache hit, suppressing logs 0a1b2c\n",
            Some("web:test: cache hit, suppressing logs 0a1b2c"),
        ),
        (" Time:    30ms >>> FULL TURBO\n", Some("Time:    30ms >>> FULL TURBO")),
        ("> nx run web:test  [local cache]\n", Some("> nx run web:test  [local cache]")),
        ("//a:test        (cached) PASSED in 0.1s\n", Some("//a:test        (cached) PASSED in 0.1s")),
        ("> Task :compileJava UP-TO-DATE\n> Task :test UP-TO-DATE\n", Some("> Task :test UP-TO-DATE")),
        // What no change concerns is left out beside what ran, and Go says `ok`.
        ("> Task :a:test UP-TO-DATE\n> Task :b:test\n", None),
        ("> Task :compileTestJava UP-TO-DATE\n> Task :test\n", None),
        ("ok  \tshop\t(cached)\n", None),
        ("Tests: 1 passed, 1 total\n", None),
    ] {
        assert_eq!(tally(output).cached.as_deref(), expected, "{output}");
    }
}

#[test]
fn names_have_neither_prefix_nor_folder_nor_time() {
    let failed = "FAIL test/math.test.js\n  ● math › adds\n\n    expect(received).toBe(expected)\n\n    Expected: 3\n    Received: 2\n\n      at /w/shop/test/math.test.js:3:5\n\nTests:       1 failed, 1 passed, 2 total\n";
    let prefixed = |prefix: &str| failed.lines().map(|line| format!("{prefix}{line}\n")).collect::<String>();
    for stdout in [
        failed.to_owned(),
        prefixed("web:test: "),
        prefixed("web-1  | "),
        prefixed("2026-01-02T03:04:05.123Z "),
    ] {
        let tally = examine(&Output { stdout: &stdout, cwd: Some("/w/shop"), ..Output::default() }).tally();
        assert_eq!(tally.failing, Some(vec!["test/math.test.js › math › adds".to_owned()]), "{stdout}");
    }
    assert_eq!(tally("=== 2 failed in 0.1s ===\n").failing, None);
    assert_eq!(tally("=== 2 passed in 0.1s ===\n").failing, Some(Vec::new()));
}

#[test]
fn a_gap_leaves_no_number_that_may_be_too_small() {
    let padding = "log line\n".repeat(600_000);
    let counted = |head: &str, tail: &str| {
        let found = tally(&format!("{head}{padding}{tail}"));
        (found.ran, found.passed, found.level)
    };
    assert_eq!(counted("", "3 passed in 0.1s\n"), (Ran::Some, Some(3), Level::Tests));
    assert_eq!(counted("3 passed in 0.1s\n", "3 passed in 0.1s\n"), (Ran::Some, None, Level::Groups));
    assert_eq!(counted("1..9\nok 1 a\n", "ok 9 b\n"), (Ran::Some, None, Level::Groups));
    let stdout = "ok 1 a\nok 2 b\n1..2\n";
    let found = examine(&Output { stdout, is_partial: true, ..Output::default() }).tally();
    assert_eq!((found.ran, found.passed), (Ran::Some, None));
}

#[test]
fn a_tally_is_read_back_from_its_json() {
    let tally = tally("2 passed in 0.1s\n");
    let json = serde_json::to_value(&tally).unwrap();
    assert_eq!((&json["executed"], json.get("focused")), (&2.into(), None));
    assert_eq!(serde_json::from_value::<Tally>(json).unwrap(), tally);
    assert_eq!(serde_json::from_str::<Tally>("{}").unwrap(), Tally::default());
}

/// Lines of all runners, and others.
fn any_line() -> impl Strategy<Value = String> {
    let known: Vec<&str> = COUNTED.iter().flat_map(|(_, output, _)| output.lines()).collect();
    prop_oneof![
        8 => prop::sample::select(known).prop_map(str::to_owned),
        1 => "[ -~✔●]{0,40}",
        1 => "(ok|not ok|1\\.\\.|Tests:|FAIL\t|--- FAIL: |[0-9]{1,30} )[ -~]{0,20}",
    ]
}

proptest! {
    #[test]
    fn no_lines_make_it_panic(lines in prop::collection::vec(any_line(), 0..40), bytes in "\\PC{0,200}") {
        tally(&bytes);
        let found = tally(&lines.join("\n"));
        prop_assert_eq!(found.ran == Ran::Unknown, found.level == Level::None || (found.level == Level::Groups && found.ran != Ran::Some));
        if let Some(names) = &found.failing {
            prop_assert_eq!(Some(names.len() as u64), found.failed);
        }
    }

    #[test]
    fn line_endings_change_nothing(lines in prop::collection::vec(any_line(), 0..20)) {
        prop_assert_eq!(tally(&lines.join("\r\n")), tally(&lines.join("\n")));
    }

    #[test]
    fn a_prefix_changes_no_count(cases in prop::collection::vec(prop::sample::select(COUNTED), 1..4), prefix in prop::sample::select(vec!["web:test: ", "web-1  | ", "[web] ", "2026-01-02T03:04:05.123Z "])) {
        let text: String = cases.iter().map(|case| case.1).filter(|text| !text.contains(['{', '<'])).collect();
        let prefixed: String = text.lines().map(|line| format!("{prefix}{line}\n")).collect();
        // A single line may have any word before it.
        let is_prefixed = text.lines().count() > 2 || prefix.starts_with("20");
        let (plain, found) = (tally(&text), tally(&prefixed));
        if is_prefixed && plain.ran == Ran::Some {
            prop_assert_eq!((found.passed, found.failed, found.skipped, found.runners), (plain.passed, plain.failed, plain.skipped, plain.runners));
        }
    }
}

#[test]
fn an_output_names_its_tests_if_these_are_all_that_it_counts() {
    let named = |stdout: &str| {
        let tally = examine(&Output { stdout, ..Output::default() }).tally();
        tally.named.iter().map(crate::NamedTest::id).collect::<Vec<_>>()
    };
    let whole = "running 2 tests\ntest b ... ok\ntest a ... ok\n\n\
                 test result: ok. 2 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s\n";
    assert_eq!(named(whole), ["a", "b"]);
    assert!(named(&whole.replace("test a ... ok\n", "")).is_empty());
    assert_eq!(named("1..3\nok 1 a\nok 2 - b # SKIP x\nok 3 c\n"), ["a", "b", "c"]);
    assert!(named("== 40 passed in 0.31s ==\n").is_empty());
}

use crate::{Output, Tally, examine};

use super::{Level, Ran};

fn tally(stdout: &str) -> Tally {
    examine(&Output { stdout, ..Output::default() }).tally()
}

/// An output, and the tests in it that passed, failed, were skipped, and did not load.
const COUNTED: &[(&str, [u64; 4])] = &[
    (
        "test result: ok. 3 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.00s\n",
        [3, 0, 1, 0],
    ),
    (
        "test result: ok. 3 passed; 0 failed; 1 ignored\n\ntest result: FAILED. 1 passed; 2 failed; 0 ignored\n",
        [4, 2, 1, 0],
    ),
    ("     Summary [   0.008s] 3 tests run: 2 passed (1 slow), 1 failed, 4 skipped\n", [2, 1, 4, 0]),
    ("=== 1 failed, 2 passed, 1 xfailed, 1 error, 3 deselected in 0.12s ===\n", [2, 2, 1, 0]),
    ("===== ERRORS =====\n___ ERROR collecting test_a.py ___\n=== 1 error in 0.12s ===\n", [0, 0, 0, 1]),
    ("Ran 5 tests in 0.001s\n\nFAILED (failures=1, errors=1, skipped=1)\n", [2, 2, 1, 0]),
    ("Tests:       1 failed, 1 skipped, 1 todo, 2 passed, 5 total\n", [2, 1, 2, 0]),
    (
        " Test Files  1 failed | 1 passed (2)\n      Tests  1 failed | 2 passed | 1 skipped (4)\n",
        [2, 1, 1, 0],
    ),
    ("  3 passing (5ms)\n  1 pending\n  2 failing\n", [3, 2, 1, 0]),
    ("ℹ tests 6\nℹ suites 1\nℹ pass 2\nℹ fail 1\nℹ cancelled 1\nℹ skipped 1\nℹ todo 1\n", [2, 2, 2, 0]),
];

#[test]
fn each_runner_is_counted() {
    for (output, [passed, failed, skipped, broken]) in COUNTED {
        let tally = tally(output);
        let found = [tally.passed, tally.failed, tally.skipped];
        assert_eq!(
            (found, tally.broken),
            ([Some(*passed), Some(*failed), Some(*skipped)], *broken),
            "{output}"
        );
        assert_eq!(tally.level, Level::Tests, "{output}");
        assert_eq!(tally.ran == Ran::Some, passed + failed > 0, "{output}");
    }
}

#[test]
fn an_output_of_no_runner_has_no_tally() {
    for output in [
        "",
        "all good\n",
        "src/a.rs:3:5: error: x\n",
        "Found 3 errors in 0.1s\n",
        "3 files reformatted in 0.1s\n",
    ] {
        assert_eq!(tally(output), Tally::default(), "{output}");
    }
}

#[test]
fn a_tally_is_read_back_from_its_json() {
    let tally = tally("2 passed in 0.1s\n");
    let json = serde_json::to_value(&tally).unwrap();
    assert_eq!(json["executed"], 2);
    assert_eq!(serde_json::from_value::<Tally>(json).unwrap(), tally);
    assert_eq!(serde_json::from_str::<Tally>("{}").unwrap(), Tally::default());
}

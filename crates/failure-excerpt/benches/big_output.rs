//! Measures how long a big output takes: `cargo bench -p failure-excerpt`.
//!
//! The output has 2 MB, and its one failure is in the middle.

#![expect(clippy::print_stdout, reason = "a program that people call by hand")]

use std::time::Instant;

use failure_excerpt::{Output, examine};

const RUNS: usize = 7;
const MAX_MS: u128 = 50;

const FAILED: &str = "---- suite::odd stdout ----\n\nthread 'suite::odd' (7) panicked at src/lib.rs:3:5:\nassertion `left == right` failed\n  left: 1\n right: 2\n\n\n";

fn main() {
    let output = format!("{}{FAILED}{}", passed(0), passed(17_000));
    let mut times: Vec<u128> = (0..RUNS).map(|_| run(&output)).collect();
    times.sort_unstable();
    let median = times[RUNS / 2];
    let verdict = if median <= MAX_MS { "met" } else { "short" };
    println!("| excerpt of an output of 2 MB | {median} ms | goal: {MAX_MS} ms | {verdict} |");
}

/// Returns the milliseconds that excerpt and fingerprint take.
fn run(stdout: &str) -> u128 {
    let start = Instant::now();
    let examined = examine(&Output { stdout, exit_code: Some(101), ..Output::default() });
    let (excerpt, fingerprint) = (examined.excerpt(500), examined.fingerprint());
    let elapsed = start.elapsed().as_millis();
    assert!(excerpt.contains("suite::odd") && fingerprint.is_some(), "{excerpt}");
    elapsed
}

/// Lines of tests that passed.
fn passed(from: usize) -> String {
    let line =
        |number| format!("test suite::part_{:03}::case_{number:05} of the long list ... ok\n", number % 97);
    (from..from + 17_000).map(line).collect()
}

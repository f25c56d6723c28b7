//! Measures how fast ordinary text goes through: `cargo bench -p redact-stream`.
//!
//! The text is 100 MB of what a test run prints, in which there is nothing to redact. Its vocabulary holds three words that name
//! secrets (`token`, `cookie`, `password`), so that rules are asked as often as in the output of a program with a login.

#![expect(clippy::print_stdout, reason = "a program that people call by hand")]

use std::time::Instant;

use redact_stream::Redactor;

const BYTES: usize = 100_000_000;
const RUNS: usize = 7;
const MAX_MS: u128 = 500;

const WORDS: [&str; 64] = [
    "session", "login", "token", "parser", "reader", "writer", "store", "index", "cache", "route", "handler",
    "request", "response", "header", "cookie", "user", "account", "password", "policy", "limit", "retry",
    "timeout", "queue", "worker", "event", "signal", "stream", "buffer", "chunk", "frame", "table", "column",
    "query", "filter", "sort", "merge", "split", "join", "graph", "node", "edge", "path", "file", "folder",
    "branch", "commit", "tree", "blob", "patch", "diff", "value", "field", "record", "schema", "version",
    "config", "option", "flag", "state", "phase", "story", "task", "note", "report",
];

fn main() {
    let redactor = Redactor::default();
    let text = test_output();
    let mut times: Vec<u128> = (0..RUNS).map(|_| run(&redactor, text.as_bytes())).collect();
    times.sort_unstable();
    let median = times[RUNS / 2];
    let verdict = if median <= MAX_MS { "met" } else { "short" };
    println!("| find secrets in 100 MB | {median} ms | goal: {MAX_MS} ms | {verdict} |");
}

/// Returns the milliseconds that one pass takes.
fn run(redactor: &Redactor, text: &[u8]) -> u128 {
    let start = Instant::now();
    let mut length = 0;
    let copied = redactor.copy(text, |part| {
        length += part.len();
        Ok::<(), std::io::Error>(())
    });
    let elapsed = start.elapsed().as_millis();
    assert!(copied.is_ok_and(|counts| counts.is_empty()) && length == text.len(), "the text was changed");
    elapsed
}

fn test_output() -> String {
    let mut text = String::with_capacity(BYTES + 200);
    let mut random = Random(1);
    while text.len() < BYTES {
        let name = format!("{}::{}::{}_{}", random.word(), random.word(), random.word(), random.word());
        match random.below(10) {
            0 => text.push_str(&format!("test {name} ... FAILED in {} us\n", random.below(1_000_000))),
            1 => text.push_str(&format!(
                "thread '{name}' panicked at src/{}.rs:{}:{}: left {} right {}\n",
                random.word(),
                random.below(900),
                random.below(80),
                random.below(10_000),
                random.below(10_000)
            )),
            _ => text.push_str(&format!("test {name} ... ok\n")),
        }
    }
    text
}

/// Splitmix64: the same text on every machine.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut value = self.0;
        value = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (value ^ (value >> 31)) % limit
    }

    fn word(&mut self) -> &'static str {
        WORDS[usize::try_from(self.below(64)).unwrap_or_default()]
    }
}

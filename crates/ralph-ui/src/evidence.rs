//! What an attempt was judged by, in words: the same on every screen.

use failure_excerpt::{Ran, Tally};

use ralph_core::record::{Claim, Evidence, ExitReason, Flag, Iteration, Outcome};

use super::style::{counted, duration, grouped, joined, one_line};

/// In front of what a person should look at.
pub const FLAG: &str = "⚑";

/// `⚑ 39 tests ran, 41 before +2`; `None` if nothing is flagged.
pub fn first_flag(flags: &[Flag]) -> Option<String> {
    let first = flags.first()?;
    let more = if flags.len() > 1 { format!(" +{}", flags.len() - 1) } else { String::new() };
    Some(format!("{FLAG} {}{more}", one_line(&first.text)))
}

/// `41 passed, 1 failed, 1 skipped`; `None` if nothing is known.
pub fn outcome(tally: &Tally) -> Option<String> {
    let [passed, failed] = match (tally.ran, tally.groups) {
        (Ran::None, _) => [Some("no test ran".to_owned()), None],
        (_, Some(groups)) if tally.passed.is_none() => [(groups.passed, "passed"), (groups.failed, "failed")]
            .map(|(count, word)| (count > 0).then(|| format!("{} {word}", counted(count, "package")))),
        _ => [known(tally.passed, "passed"), known(tally.failed, "failed")],
    };
    let broken = (tally.broken > 0).then(|| format!("{} broken", counted(tally.broken, "file")));
    let not_run = known(Some(tally.not_run), "not run");
    joined([passed, failed, known(tally.skipped, "skipped"), broken, not_run], ", ")
}

fn known(count: Option<u64>, word: &str) -> Option<String> {
    count.filter(|count| *count > 0).map(|count| format!("{} {word}", grouped(count)))
}

/// What ran, and what ran before: `39 passed; 41 passed before`.
pub fn compared(evidence: &Evidence) -> Option<String> {
    let now = outcome(evidence.tests.as_ref()?)?;
    let before = evidence.before.as_ref().and_then(outcome).filter(|before| *before != now);
    Some(before.map_or_else(|| now.clone(), |before| format!("{now}; {before} before")))
}

/// `passed (74 tests, 39.0 s); the box was not ticked`
pub fn validation(iteration: &Iteration) -> String {
    let tests = iteration.evidence.as_deref().and_then(compared);
    let tally = iteration.evidence.as_ref().and_then(|evidence| evidence.tests.as_ref());
    let passed = tally.and_then(|tally| tally.passed).filter(|_| iteration.exit.validation == Some(0));
    // That all of them passed is said already.
    let all = passed.filter(|passed| tests == known(Some(*passed), "passed"));
    let tests = all.map(|all| counted(all, "test")).or(tests);
    let time = iteration.duration_ms.validation.map(duration);
    let separator = if tests.as_ref().is_some_and(|tests| tests.contains("; ")) { "; " } else { ", " };
    let beside = joined([tests, time], separator).map_or(String::new(), |words| format!(" ({words})"));
    let how = match (iteration.exit.validation, iteration.exit_reason) {
        (Some(0), _) => "passed".to_owned(),
        (Some(_), _) if iteration.has_no_tests() => "no tests yet".to_owned(),
        (Some(-1), Some(reason)) => reason.description().to_owned(),
        (Some(code), _) => format!("failed with exit code {code}"),
        (None, Some(ExitReason::Interrupted)) if iteration.exit.agent.is_none() => {
            return "not known: the loop was killed".to_owned();
        }
        (None, _) => return "not run".to_owned(),
    };
    let is_left_open = iteration.exit.validation == Some(0)
        && iteration.outcome == Outcome::Failure
        && iteration.evidence.as_ref().is_none_or(|evidence| evidence.refused.is_none())
        && !iteration.false_claim.contains(&Claim::Ticked);
    let open = if is_left_open { "; the box was not ticked" } else { "" };
    format!("{how}{beside}{open}")
}

/// Returns the lines of an output without those before the first failure that only say what passed.
pub fn decisive(excerpt: &str) -> impl Iterator<Item = &str> {
    const PASSED: [&str; 6] = ["PASS ", "ok ", "--- PASS", "=== RUN", "✓", "√"];
    let says_passed = |line: &&str| {
        let line = line.trim_start();
        line.is_empty() || line.ends_with(" PASSED") || PASSED.iter().any(|word| line.starts_with(word))
    };
    // Where nothing else is said, that is it.
    let passed = excerpt.lines().take_while(says_passed).count();
    excerpt.lines().skip(if passed < excerpt.lines().count() { passed } else { 0 })
}

/// What the agent claimed in vain: `said done, but the validation fails; reopened`, with the names of other tasks.
pub fn false_claim(record: &Iteration) -> Option<String> {
    if record.false_claim.contains(&Claim::Ticked) {
        let others = record.claims.ticked.iter().filter(|name| record.task.as_ref() != Some(*name));
        let others: Vec<String> = others.map(|name| one_line(name)).collect();
        let of = if others.is_empty() { String::new() } else { format!(" ({})", others.join(", ")) };
        let has_failed = record.exit.validation.is_some_and(|code| code != 0) && !record.has_no_tests();
        let why = if has_failed { "the validation fails" } else { "it is not" };
        return Some(format!("said done{of}, but {why}; reopened"));
    }
    let has_promised = record.false_claim.contains(&Claim::Promise);
    has_promised.then(|| "said that all is done, but it is not".to_owned())
}

#[cfg(test)]
mod tests {
    use failure_excerpt::Groups;

    use super::*;
    use ralph_core::record::FlagCode;

    #[test]
    fn tests_are_counted_as_far_as_they_are_known() {
        let counts = |passed, failed, skipped| Tally { passed, failed, skipped, ..Tally::default() };
        let groups = Tally { groups: Some(Groups { passed: 2, failed: 1, none: 4 }), ..Tally::default() };
        for (tally, expected) in [
            (counts(Some(41), Some(0), Some(1)), Some("41 passed, 1 skipped")),
            (counts(Some(1), Some(0), None), Some("1 passed")),
            (
                Tally { broken: 1, not_run: 3, ..counts(Some(1200), Some(2), Some(0)) },
                Some("1,200 passed, 2 failed, 1 file broken, 3 not run"),
            ),
            (Tally { ran: Ran::None, ..counts(None, None, Some(3)) }, Some("no test ran, 3 skipped")),
            (groups, Some("2 packages passed, 1 package failed")),
            (Tally::default(), None),
        ] {
            assert_eq!(outcome(&tally).as_deref(), expected, "{tally:?}");
        }
    }

    #[test]
    fn an_excerpt_begins_with_what_failed() {
        for (excerpt, expected) in [
            (
                "PASS tests/a.ts\n  ✓ adds\n\nFAIL tests/b.ts\n  PASS of something\n",
                "FAIL tests/b.ts\n  PASS of something",
            ),
            ("expected 1, got 2", "expected 1, got 2"),
            ("ok 1 - adds\nok 2 - subtracts", "ok 1 - adds\nok 2 - subtracts"),
            ("", ""),
        ] {
            assert_eq!(decisive(excerpt).collect::<Vec<_>>().join("\n"), expected);
        }
    }

    #[test]
    fn the_first_flag_stands_for_all_of_them() {
        for (texts, expected) in [
            (&[][..], None),
            (&["39 tests ran, 41 before"], Some("⚑ 39 tests ran, 41 before")),
            (&["no test\nran", "idle", "changed jest.config.js"], Some("⚑ no test ran +2")),
        ] {
            let flag =
                |text: &&str| Flag { code: FlagCode::Fewer, text: (*text).to_owned(), paths: Vec::new() };
            let flags: Vec<Flag> = texts.iter().map(flag).collect();
            assert_eq!(first_flag(&flags).as_deref(), expected);
        }
    }
}

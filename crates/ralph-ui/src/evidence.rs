//! What an attempt was judged by, in words: the same on every screen.

use failure_excerpt::{Ran, Tally};

use ralph_core::record::{Evidence, FlagCode, FlaggedTask, Iteration, TestCounts};

use super::style::{Count, grouped, one_line};

/// Most tasks that a line names.
const MAX_NAMED: usize = 3;

/// In front of what a person should look at.
pub const FLAG: &str = "⚑";

/// What a row says of it, safe on a terminal; empty where nothing is known.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct EvidenceWords {
    /// `41 tests`
    pub tests: String,
    /// `⚑ 39 tests ran, 41 before +2`
    pub flag: String,
}

impl EvidenceWords {
    pub fn of_record(record: &Iteration) -> Self {
        let Some(evidence) = &record.evidence else { return Self::default() };
        let codes: Vec<FlagCode> = evidence.flags.iter().map(|flag| flag.code).collect();
        Self {
            tests: evidence.tests.as_ref().and_then(tests_in).unwrap_or_default(),
            flag: flag(evidence.flags.first().map(|flag| flag.text.as_str()), &codes),
        }
    }

    /// Both of them as one text, for where no look tells them apart.
    pub fn text(&self) -> String {
        let parts = [self.tests.as_str(), self.flag.as_str()];
        parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("  ")
    }
}

fn flag(first: Option<&str>, codes: &[FlagCode]) -> String {
    let Some(code) = codes.first() else { return String::new() };
    let more = if codes.len() > 1 { format!(" +{}", codes.len() - 1) } else { String::new() };
    format!("{FLAG} {}{more}", one_line(first.unwrap_or(code.as_str())))
}

/// `41 tests`, `no tests`; `None` if they are not known.
fn counted(counts: TestCounts) -> Option<String> {
    let executed = counts.passed?.saturating_add(counts.failed?);
    Some(if executed == 0 { "no tests".to_owned() } else { Count(executed, "test").to_string() })
}

/// The same, or `2 packages` where only these are counted.
fn tests_in(tally: &Tally) -> Option<String> {
    if tally.ran == Ran::None {
        return Some("no tests".to_owned());
    }
    let counts = TestCounts { passed: tally.passed, failed: tally.failed, skipped: tally.skipped };
    let packages = || {
        let groups = tally.groups?;
        Some(groups.passed + groups.failed).filter(|count| *count > 0)
    };
    counted(counts).or_else(|| packages().map(|count| Count(count, "package").to_string()))
}

/// `41 passed, 1 failed, 1 skipped`; `None` if nothing is known.
pub fn outcome(tally: &Tally) -> Option<String> {
    let count = |count: Option<u64>, word: &str| {
        count.filter(|count| *count > 0).map(|count| format!("{} {word}", grouped(count)))
    };
    let of_groups =
        |count: u64, word: &str| (count > 0).then(|| format!("{} {word}", Count(count, "package")));
    let mut parts: Vec<String> = match (tally.ran, tally.groups) {
        (Ran::None, _) => vec!["no test ran".to_owned()],
        (_, Some(groups)) if tally.passed.is_none() => {
            [of_groups(groups.passed, "passed"), of_groups(groups.failed, "failed")]
                .into_iter()
                .flatten()
                .collect()
        }
        _ => [count(tally.passed, "passed"), count(tally.failed, "failed")].into_iter().flatten().collect(),
    };
    parts.extend(count(tally.skipped, "skipped"));
    parts.extend((tally.broken > 0).then(|| format!("{} broken", Count(tally.broken, "file"))));
    parts.extend((tally.not_run > 0).then(|| format!("{} not run", grouped(tally.not_run))));
    (!parts.is_empty()).then(|| parts.join(", "))
}

/// What ran, and what ran before: `39 passed (before: 41 passed)`.
pub fn compared(evidence: &Evidence) -> Option<String> {
    let now = outcome(evidence.tests.as_ref()?)?;
    let before = evidence.before.as_ref().and_then(outcome).filter(|before| *before != now);
    Some(before.map_or_else(|| now.clone(), |before| format!("{now} (before: {before})")))
}

/// `3 flagged: T002 no test ran; T004 39 tests ran, 41 before`; `None` if there are none.
pub fn flagged(tasks: &[FlaggedTask]) -> Option<String> {
    let named: Vec<String> = tasks
        .iter()
        .take(MAX_NAMED)
        .map(|task| {
            one_line(&format!(
                "{} {}",
                task.task,
                task.text.clone().unwrap_or_else(|| task
                    .flags
                    .iter()
                    .map(FlagCode::as_str)
                    .collect::<Vec<_>>()
                    .join(", "))
            ))
        })
        .collect();
    let more = tasks.len() - named.len();
    let more = if more > 0 { format!("; and {more} more") } else { String::new() };
    (!tasks.is_empty()).then(|| format!("{} flagged: {}{more}", tasks.len(), named.join("; ")))
}

#[cfg(test)]
mod tests {
    use failure_excerpt::Groups;

    use super::*;
    use ralph_core::record::SessionId;

    #[test]
    fn tests_are_counted_as_far_as_they_are_known() {
        let counts = |passed, failed, skipped| Tally { passed, failed, skipped, ..Tally::default() };
        let groups = Tally { groups: Some(Groups { passed: 2, failed: 1, none: 4 }), ..Tally::default() };
        for (tally, short, long) in [
            (counts(Some(41), Some(0), Some(1)), Some("41 tests"), Some("41 passed, 1 skipped")),
            (counts(Some(1), Some(0), None), Some("1 test"), Some("1 passed")),
            (
                Tally { broken: 1, not_run: 3, ..counts(Some(1200), Some(2), Some(0)) },
                Some("1,202 tests"),
                Some("1,200 passed, 2 failed, 1 file broken, 3 not run"),
            ),
            (
                Tally { ran: Ran::None, ..counts(None, None, Some(3)) },
                Some("no tests"),
                Some("no test ran, 3 skipped"),
            ),
            (groups, Some("3 packages"), Some("2 packages passed, 1 package failed")),
            (Tally::default(), None, None),
        ] {
            assert_eq!(tests_in(&tally).as_deref(), short, "{tally:?}");
            assert_eq!(outcome(&tally).as_deref(), long, "{tally:?}");
        }
        for (passed, failed, expected) in [
            (Some(40), Some(1), Some("41 tests")),
            (Some(0), Some(0), Some("no tests")),
            (None, Some(1), None),
        ] {
            assert_eq!(counted(TestCounts { passed, failed, skipped: None }).as_deref(), expected);
        }
    }

    #[test]
    fn the_first_flag_stands_for_all_of_them() {
        for (first, codes, expected) in [
            (None, &[][..], ""),
            (Some("39 tests ran, 41 before"), &[FlagCode::Fewer], "⚑ 39 tests ran, 41 before"),
            (
                Some("no test\nran"),
                &[FlagCode::NoTests, FlagCode::Idle, FlagCode::Config],
                "⚑ no test ran +2",
            ),
            (None, &[FlagCode::PutBack], "⚑ put-back"),
        ] {
            assert_eq!(flag(first, codes), expected);
        }
        let task = |task: &str, text: Option<&str>| FlaggedTask {
            task: task.to_owned(),
            session: "20260131-120000-00000000".parse::<SessionId>().unwrap(),
            iteration: Some(1),
            flags: vec![FlagCode::NoTests, FlagCode::Idle],
            text: text.map(str::to_owned),
        };
        assert_eq!(flagged(&[]), None);
        let two = [task("T002", Some("no test ran")), task("T004", None)];
        assert_eq!(flagged(&two).as_deref(), Some("2 flagged: T002 no test ran; T004 no-tests, idle"));
        let many: Vec<FlaggedTask> = (1..=7).map(|number| task(&format!("T{number}"), Some("x"))).collect();
        assert_eq!(flagged(&many).as_deref(), Some("7 flagged: T1 x; T2 x; T3 x; and 4 more"));
    }
}

//! What the newest validation said, and whether that holds for the files as they are.

use serde::Serialize;

use super::{SessionId, ShortNames, TestCounts, grouped};

/// The newest validation of a feature. Nothing is run to know it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ValidationNow {
    pub passes: bool,
    /// True if the files are as they were then, false if they are not; null if that is not known.
    pub is_now: Option<bool>,
    pub session: SessionId,
    /// The record with it; null if it ran before the first attempt.
    pub iteration: Option<u32>,
    /// True if it ran when the session was resumed, after the iteration.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub is_resumption: bool,
    pub tests: TestCounts,
    /// How many tests passed at the start of the session; null if that is not known.
    pub passed_at_start: Option<u64>,
    /// Why it fails.
    pub cause: Option<String>,
    /// What ran; left out if the session does not say.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
    /// What attempts of the session or group that is shown are called; `None` where it is by their numbers.
    #[serde(skip)]
    pub names: Option<ShortNames>,
}

impl ValidationNow {
    /// Returns true if it is what every screen says first of a session that began red.
    pub fn is_red_start(&self) -> bool {
        self.iteration.is_none() && !self.passes
    }

    /// `passes now: 32 tests, 2 at the start`, `fails now: 3 of 32 tests`; of files that were changed since `passed as of #18, files
    /// changed since: 32 tests`; `failed before the first attempt`.
    pub fn words(&self) -> String {
        let state = format!("{} {}", self.verb(), self.since().unwrap_or_else(|| "now".to_owned()));
        self.details().map_or(state.clone(), |details| format!("{state}: {details}"))
    }

    /// The same at a later time, as on a page: `passes as of 29 Nov 01:20: 32 tests, 2 at the start`.
    pub fn words_at(&self, time: &str) -> String {
        let words = self.words();
        let rest = words.strip_prefix(self.verb()).and_then(|rest| rest.strip_prefix(" now"));
        rest.map_or(words.clone(), |rest| format!("{} as of {time}{rest}", self.verb()))
    }

    pub fn verb(&self) -> &'static str {
        match (self.since().is_none(), self.passes) {
            (true, true) => "passes",
            (true, false) => "fails",
            (false, true) => "passed",
            (false, false) => "failed",
        }
    }

    /// Returns when that was, if it is not known to be so now: `as of #18, files changed since`.
    pub fn since(&self) -> Option<String> {
        let files = match self.is_now {
            // What failed at the start is not said of now: the tasks are still to be done.
            Some(true) if self.is_red_start() => "",
            Some(true) => return None,
            Some(false) => ", files changed since",
            None => ", files not compared",
        };
        let names = self.names.as_ref();
        let mark =
            |number| names.map_or_else(|| format!("#{number}"), |names| names.mark(&self.session, number));
        let at = match (self.iteration, self.is_resumption) {
            (None, _) if names.is_some_and(|names| !names.has(&self.session)) => {
                format!("before the first attempt of {}", self.session)
            }
            (None, _) => "before the first attempt".to_owned(),
            (Some(number), true) => format!("at the resumption after {}", mark(number)),
            (Some(number), false) => format!("as of {}", mark(number)),
        };
        Some(at + files)
    }

    /// The numbers of tests, or why it fails where these are not known.
    pub fn details(&self) -> Option<String> {
        let TestCounts { passed, failed, .. } = self.tests;
        let tests = |count: u64| format!("{} test{}", grouped(count), if count == 1 { "" } else { "s" });
        let now = match (self.passes, passed, failed.filter(|failed| *failed > 0)) {
            (true, Some(passed), _) => Some(tests(passed)),
            (true, None, _) => None,
            (false, passed, Some(failed)) => {
                let all = passed.map_or(failed, |passed| passed + failed);
                Some(format!("{} of {}", grouped(failed), tests(all)))
            }
            (false, ..) => self.cause.clone(),
        };
        let start = self.passed_at_start.filter(|_| passed.is_some() && self.iteration.is_some());
        let start = start.map(|start| format!("{} at the start", grouped(start)));
        let parts: Vec<String> = now.into_iter().chain(start).collect();
        (!parts.is_empty()).then(|| parts.join(", "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_says_now_only_of_the_files_that_were_validated() {
        let (yes, no) = (Some(true), Some(false));
        let case = |passes, is_now, iteration, counts: (Option<u64>, Option<u64>), start, words: &str| {
            let now = ValidationNow {
                passes,
                is_now,
                session: "20260131-120000-00000000".parse().unwrap(),
                iteration,
                is_resumption: false,
                tests: TestCounts { passed: counts.0, failed: counts.1, skipped: None },
                passed_at_start: start,
                cause: (!passes).then(|| "exit code 1".to_owned()),
                command: None,
                names: None,
            };
            assert_eq!(now.words(), words);
            now
        };
        let (green, red, unknown) = ((Some(32), Some(0)), (Some(29), Some(3)), (None, None));
        case(true, yes, Some(18), green, Some(2), "passes now: 32 tests, 2 at the start");
        case(true, yes, Some(18), unknown, Some(2), "passes now");
        case(true, yes, None, (Some(1), None), Some(1), "passes now: 1 test");
        case(
            true,
            no,
            Some(18),
            green,
            Some(2),
            "passed as of #18, files changed since: 32 tests, 2 at the start",
        );
        case(true, None, Some(18), green, None, "passed as of #18, files not compared: 32 tests");
        case(false, yes, Some(18), red, Some(2), "fails now: 3 of 32 tests, 2 at the start");
        case(false, yes, Some(18), unknown, None, "fails now: exit code 1");
        case(false, no, Some(18), red, None, "failed as of #18, files changed since: 3 of 32 tests");
        case(false, yes, None, unknown, None, "failed before the first attempt: exit code 1");
        let now = case(true, yes, Some(18), green, None, "passes now: 32 tests");
        assert_eq!(now.words_at("01:20"), "passes as of 01:20: 32 tests");
        let resumed = case(true, no, Some(4), unknown, None, "passed as of #4, files changed since");
        let resumed = ValidationNow { is_resumption: true, ..resumed };
        assert_eq!(resumed.words(), "passed at the resumption after #4, files changed since");
        let other: SessionId = "20260131-120000-00000001".parse().unwrap();
        let group = [(other.clone(), Some(1)), (resumed.session.clone(), Some(2))];
        for (names, name) in [
            (ShortNames::of(group.into_iter()), "2:4"),
            (ShortNames::alone(&resumed.session), "#4"),
            (ShortNames::alone(&other), "20260131-120000-00000000:4"),
        ] {
            let seen = ValidationNow { is_resumption: false, names: Some(names), ..resumed.clone() };
            assert_eq!(seen.words(), format!("passed as of {name}, files changed since"));
        }
    }
}

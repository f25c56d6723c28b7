//! Which tests turned green or red, by the names that records have (`validation/tests.json`).

use std::collections::BTreeMap;
use std::io::Write as _;

use anyhow::{Context as _, Result};
use failure_excerpt::{NamedTest, TestStatus};
use serde_json::json;

use ralph_core::record::{LogEntry, ObjectId};
use ralph_store::Store;
use ralph_ui::style::{counted, one_line};

use crate::cli::read::iterations::Point;
use crate::cli::{ExitCode, Json, emit, note};

/// The file of a record that has the names.
const FILE: &str = "validation/tests.json";

/// What differs between two runs, by the names of the tests with their files.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct TurnedTests {
    /// Tests that pass and did not before.
    pub green: Vec<String>,
    /// Tests that fail and did not before.
    pub red: Vec<String>,
    /// Tests that are not there any more.
    pub gone: Vec<String>,
}

impl TurnedTests {
    fn between(before: &[NamedTest], now: &[NamedTest]) -> Self {
        let by_name = |tests: &[NamedTest]| -> BTreeMap<String, TestStatus> {
            tests.iter().map(|test| (test.id(), test.status)).collect()
        };
        let (before, now) = (by_name(before), by_name(now));
        let turned = |status: TestStatus| {
            let turned =
                now.iter().filter(|(name, now)| **now == status && before.get(*name) != Some(&status));
            turned.map(|(name, _)| name.clone()).collect()
        };
        Self {
            green: turned(TestStatus::Passed),
            red: turned(TestStatus::Failed),
            gone: before.into_keys().filter(|name| !now.contains_key(name)).collect(),
        }
    }
}

/// Returns the tests of a record by name; none if they were not all known.
fn named(store: &Store, commit: &ObjectId) -> Result<Vec<NamedTest>> {
    let Some(bytes) = store.file(commit, FILE)? else { return Ok(Vec::new()) };
    serde_json::from_slice(&bytes).with_context(|| format!("read {FILE} of {commit}"))
}

/// Returns what turned between two records; nothing unless both have the names of their tests.
pub fn between(store: &Store, before: &LogEntry, now: &LogEntry) -> Result<TurnedTests> {
    let [before, now] = [named(store, &before.commit())?, named(store, &now.commit())?];
    let is_known = !before.is_empty() && !now.is_empty();
    Ok(if is_known { TurnedTests::between(&before, &now) } else { TurnedTests::default() })
}

/// Returns the newest of these records, or in a lane that which put the commit on the branch from which an attempt began, and else
/// the first: what others did in between is not of the attempt.
pub fn base_of<'l>(store: &Store, before: &'l [LogEntry], base: Option<&ObjectId>) -> Option<&'l LogEntry> {
    let is_base = |entry: &&LogEntry| {
        let record = Some(entry).filter(|entry| entry.is_result());
        record
            .and_then(|entry| store.readable_iteration(entry))
            .is_some_and(|it| it.published.as_ref() == base)
    };
    match base {
        Some(_) => before.iter().rfind(is_base).or(before.first()),
        None => before.last(),
    }
}

/// Prints what turned since the record before that has names.
pub fn show(store: &Store, shown: &Point, json: Json) -> Result<ExitCode> {
    let entry = shown.iteration()?;
    let now = named(store, &entry.commit())?;
    if now.is_empty() && !json.json {
        note(
            "the record has no names of all tests: `validation.report` in docs/configuration.md brings them",
        );
        return Ok(ExitCode::NotDone);
    }
    let all = &shown.run.entries;
    let before = &all[..all.iter().position(|other| other.commit() == entry.commit()).unwrap_or_default()];
    let base = store.readable_iteration(entry).and_then(|record| record.base);
    let base = base_of(store, before, base.as_ref()).map(LogEntry::commit);
    let mut found = None;
    for other in before.iter().rev().skip_while(|other| Some(other.commit()) != base) {
        let before = named(store, &other.commit())?;
        if !before.is_empty() {
            found = Some((other, before));
            break;
        }
    }
    let (other, before) = found.unzip();
    let compared = other.map(|other| other.iteration().unwrap_or(0));
    let turned = before.map(|before| TurnedTests::between(&before, &now));
    let TurnedTests { green, red, gone } = turned.unwrap_or_default();
    let count = |status| now.iter().filter(|test| test.status == status).count() as u64;
    let [passed, failed, skipped] = [TestStatus::Passed, TestStatus::Failed, TestStatus::Skipped].map(count);
    let value = json!({
        "compared_with": compared, "green": green, "red": red, "gone": gone, "tests": now,
    });
    emit(json, &value, |out| {
        let since = match other.map(|other| (other.session(), other.iteration())) {
            None => "no record before it has names".to_owned(),
            Some((_, None)) => "since the start".to_owned(),
            Some((session, Some(number))) => format!("since {}", shown.names.mark(&session, number)),
        };
        let tests = counted(now.len() as u64, "test");
        writeln!(out, "{tests}: {passed} passed, {failed} failed, {skipped} skipped; {since}")?;
        for (word, names) in [("green", &green), ("red", &red), ("gone", &gone)] {
            for name in names {
                writeln!(out, "{word:<5}  {}", one_line(name))?;
            }
        }
        Ok::<(), std::io::Error>(())
    })
}

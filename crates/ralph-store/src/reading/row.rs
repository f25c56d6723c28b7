//! A record as one line of text: what lists are made of, thousands at a time.

use std::borrow::Cow;
use std::fmt::Write as _;
use std::ops::Range;
use std::str::FromStr;
use std::sync::Arc;

use anyhow::{Context, Result};

use ralph_core::record::{
    Claim, Cost, Durations, EndedBy, Exits, FailureClass, FlagCode, GoneHow, IterationFacts, Limit, LogEntry,
    ObjectId, Outcome, RecordKind, SessionId, Status, StopReason, TaskName, TestCounts, Timestamp, Tokens,
};

use crate::evidence::{self, gone_words};
use crate::trailer_value::{escape, unescape};

/// What a list shows of a record. The rest is read where it is asked for. Many fields: one for each column of a line of the
/// cache.
#[derive(Debug, Clone, Copy)]
pub struct Row<'a> {
    pub kind: RecordKind,
    pub commit: &'a str,
    pub iteration: u32,
    pub outcome: Option<Outcome>,
    pub failure_class: Option<FailureClass>,
    pub ended_at: Timestamp,
    pub duration_ms: Durations,
    /// Which run at its task it is, from 1.
    pub attempt: Option<u32>,
    task: &'a str,
    fingerprint: &'a str,
    subject: &'a str,
    title: &'a str,
    cause: &'a str,
    tests: &'a str,
    flags: &'a str,
    first_flag: &'a str,
    rest: &'a str,
}

/// Places of fields after the first ones. What lists need of thousands of rows comes first.
const COST: usize = 2;
const CLAIMS: usize = 3;
const SNAPSHOT: usize = 6;
const PHASE: usize = 8;
const STARTED: usize = 13;
const TOKENS_END: usize = 18;
const CLOSED: usize = 27;

/// A value that is not there, in a field.
const NONE: &str = "-";

impl<'a> Row<'a> {
    /// Reads a line without its end; none if we did not write it.
    pub fn read(line: &'a str) -> Option<Self> {
        let mut fields = Fields::of(line);
        Some(Self {
            kind: fields.next()?.parse().ok()?,
            commit: fields.next()?,
            iteration: fields.next()?.parse().ok()?,
            outcome: word(fields.next()?, Outcome::of_record)?,
            failure_class: word(fields.next()?, FailureClass::of_record)?,
            ended_at: Timestamp::from_ms(fields.next()?.parse().ok()?),
            duration_ms: Durations {
                agent: known(fields.next()?)?,
                validation: known(fields.next()?)?,
                second: known(fields.next()?)?,
            },
            attempt: known(fields.next()?)?,
            task: fields.next()?,
            fingerprint: fields.next()?,
            subject: fields.next()?,
            title: fields.next()?,
            cause: fields.next()?,
            tests: fields.next()?,
            flags: fields.next()?,
            first_flag: fields.next()?,
            rest: fields.rest?,
        })
    }

    pub fn task(&self) -> Option<Cow<'a, str>> {
        text(self.task)
    }

    pub fn fingerprint(&self) -> Option<Cow<'a, str>> {
        text(self.fingerprint)
    }

    pub fn subject(&self) -> Cow<'a, str> {
        text(self.subject).unwrap_or_default()
    }

    pub fn title(&self) -> Option<Cow<'a, str>> {
        text(self.title)
    }

    pub fn cause(&self) -> Option<Cow<'a, str>> {
        text(self.cause)
    }

    /// Returns the counts of tests that its validation printed; `None` if none ran, and in older records.
    pub fn tests(&self) -> Option<TestCounts> {
        let mut counts = text(self.tests).is_some().then(|| self.tests.split('/'))?;
        Some(TestCounts {
            passed: next(&mut counts)?,
            failed: next(&mut counts)?,
            skipped: next(&mut counts)?,
        })
    }

    /// Returns the codes of its flags.
    pub fn flags(&self) -> Vec<FlagCode> {
        codes(self.flags).unwrap_or_default()
    }

    /// Returns the text of its first flag.
    pub fn first_flag(&self) -> Option<Cow<'a, str>> {
        text(self.first_flag)
    }

    pub fn is_iteration(&self) -> bool {
        self.kind == RecordKind::Iteration
    }

    /// Returns true if an agent ran in it.
    pub fn has_run(&self) -> bool {
        self.is_iteration() && self.exit().is_some_and(|exit| exit.agent.is_some())
    }

    /// Returns true if it is an attempt: an agent had its turn, and the result was judged.
    pub fn is_attempt(&self) -> bool {
        let is_acceptance = || self.flags().contains(&FlagCode::Accepted);
        self.is_iteration() && self.outcome.is_some_and(|outcome| outcome.is_attempt(is_acceptance()))
    }

    /// Returns the exit codes; `None` if they cannot be read.
    pub fn exit(&self) -> Option<Exits> {
        let mut rest = Fields::of(self.rest);
        Some(Exits { agent: next(&mut rest)?, validation: next(&mut rest)? })
    }

    /// Returns what its agent cost.
    pub fn cost(&self) -> Cost {
        let mut rest = Fields::of(self.rest);
        let exit = rest.next().and_then(|field| known(field)?);
        let usd = rest.nth(COST - 1).and_then(|field| known(field)?);
        Cost::of_run(exit, usd)
    }

    /// Returns what is counted of it; `None` if it is not of an iteration.
    pub fn facts(&self) -> Option<IterationFacts<'a>> {
        let mut rest = Fields::of(self.rest);
        let exit = Exits { agent: next(&mut rest)?, validation: next(&mut rest)? };
        let usd = rest.next().and_then(|field| known(field)?);
        let has_false_claim = rest.next().is_some_and(|claims| !claims.is_empty() && claims != NONE);
        let started = rest.nth(STARTED - CLAIMS - 1).and_then(|field| known(field)?);
        let tokens = Tokens {
            input: next(&mut rest)?,
            cache_read: next(&mut rest)?,
            cache_write: next(&mut rest)?,
            output: next(&mut rest)?,
        };
        let mut closed = rest.skip(CLOSED - TOKENS_END - 1);
        let gone = gone(closed.next()?)?;
        Some(IterationFacts {
            iteration: self.iteration,
            task: self.task(),
            outcome: self.outcome.filter(|_| self.is_iteration())?,
            failure_class: self.failure_class,
            closed: closed.map(unescape).collect(),
            exit,
            fingerprint: self.fingerprint(),
            flags: self.flags(),
            first_flag: self.first_flag(),
            gone,
            tests_passed: self.tests().and_then(|tests| tests.passed),
            cost: Cost::of_run(exit.agent, usd),
            tokens,
            took: self.duration_ms,
            has_false_claim,
            cause: self.cause(),
            started_at: started.map(Timestamp::from_ms),
            ended_at: self.ended_at,
        })
    }

    /// Returns the snapshot of the work tree after it.
    pub fn snapshot(&self) -> Option<ObjectId> {
        Fields::of(self.rest).nth(SNAPSHOT).and_then(|field| known(field)?)
    }

    /// Returns the heading that its task stands under.
    pub fn phase(&self) -> Option<Cow<'a, str>> {
        Fields::of(self.rest).nth(PHASE).and_then(text)
    }

    /// Returns all that the message of the record says.
    pub fn entry(&self) -> Result<LogEntry> {
        self.whole().with_context(|| format!("read the row of {}", self.commit))
    }

    fn whole(&self) -> Option<LogEntry> {
        let mut rest = Fields::of(self.rest);
        let exit = Exits { agent: next(&mut rest)?, validation: next(&mut rest)? };
        let (cost_usd, false_claim) = (next(&mut rest)?, claims(rest.next()?)?);
        let [head_before, head_after, snapshot]: [Option<ObjectId>; 3] =
            [next(&mut rest)?, next(&mut rest)?, next(&mut rest)?];
        let (feature, phase) = (owned_text(&mut rest)?, owned_text(&mut rest)?);
        let (agent, model) = (owned_text(&mut rest)?, owned_text(&mut rest)?);
        let session: SessionId = rest.next()?.parse().ok()?;
        let parent = next(&mut rest)?;
        let started_at = Timestamp::from_ms(rest.next()?.parse().ok()?);
        let tokens = Tokens {
            input: next(&mut rest)?,
            cache_read: next(&mut rest)?,
            cache_write: next(&mut rest)?,
            output: next(&mut rest)?,
        };
        let (tasks_done, tasks_open) = (rest.next()?.parse().ok()?, rest.next()?.parse().ok()?);
        let status = word(rest.next()?, Status::of_record)?;
        let stop_reason = word(rest.next()?, StopReason::of_record)?;
        let limit = word(rest.next()?, Limit::of_record)?;
        let ended_by = word(rest.next()?, EndedBy::of_record)?;
        let refused = word(rest.next()?, FlagCode::of_record)?;
        let reopened = words_of(rest.next()?).map(|name| unescape(name).into_owned()).collect();
        let gone = gone(rest.next()?)?;
        let closed = rest.map(|name| unescape(name).into_owned()).collect();
        Some(LogEntry {
            commit: self.commit.parse().ok()?,
            parent,
            kind: self.kind,
            subject: self.subject().into_owned(),
            session,
            feature: feature?,
            iteration: (self.kind == RecordKind::Iteration).then_some(self.iteration),
            task: self.task().map(Cow::into_owned),
            title: self.title().map(Cow::into_owned),
            phase,
            attempt: self.attempt,
            outcome: self.outcome,
            failure_class: self.failure_class,
            cause: self.cause().map(Cow::into_owned),
            false_claim,
            started_at,
            ended_at: self.ended_at,
            exit,
            duration_ms: self.duration_ms,
            agent,
            model,
            tokens,
            cost_usd,
            closed,
            tasks_done,
            tasks_open,
            fingerprint: self.fingerprint().map(Cow::into_owned),
            tests: self.tests(),
            flags: codes(self.flags)?,
            first_flag: self.first_flag().map(Cow::into_owned),
            refused,
            reopened,
            gone,
            head_before,
            head_after,
            snapshot,
            status,
            stop_reason,
            limit,
            ended_by,
        })
    }
}

/// A row that outlives its listing, with the text that it is a part of.
#[derive(Debug, Clone)]
pub struct SharedRow {
    text: Arc<String>,
    line: Range<usize>,
}

impl SharedRow {
    /// Writes the row of `entry`.
    pub fn of(entry: &LogEntry) -> Self {
        let mut text = String::new();
        write(entry, &mut text);
        Self { line: 0..text.len() - 1, text: Arc::new(text) }
    }

    /// Returns the rows of iterations in a part of a text.
    pub(super) fn iterations(text: &Arc<String>, part: Range<usize>) -> impl Iterator<Item = Self> {
        let mut start = part.start;
        text[part].split_terminator('\n').filter_map(move |line| {
            let shared = Self { text: Arc::clone(text), line: start..start + line.len() };
            start += line.len() + 1;
            (line.split('\t').next() == Some(RecordKind::Iteration.into_str())).then_some(shared)
        })
    }

    /// Reads it; none if this version cannot.
    pub fn read(&self) -> Option<Row<'_>> {
        Row::read(&self.text[self.line.clone()])
    }
}

/// The fields of a line or of its end. They are a few bytes long, and a plain loop finds the end of each sooner than the search
/// of the standard library, which is made for long texts.
struct Fields<'a> {
    rest: Option<&'a str>,
}

impl<'a> Fields<'a> {
    fn of(text: &'a str) -> Self {
        Self { rest: Some(text) }
    }
}

impl<'a> Iterator for Fields<'a> {
    type Item = &'a str;

    fn next(&mut self) -> Option<&'a str> {
        let text = self.rest.take()?;
        let Some(end) = text.bytes().position(|byte| byte == b'\t') else { return Some(text) };
        self.rest = Some(&text[end + 1..]);
        Some(&text[..end])
    }
}

/// Adds the row of `entry`, with its line end.
pub(super) fn write(entry: &LogEntry, to: &mut String) {
    // Taken apart, so that a new part of an entry cannot be forgotten here.
    let LogEntry {
        commit,
        parent,
        kind,
        subject,
        session,
        feature,
        iteration,
        task,
        title,
        phase,
        attempt,
        outcome,
        failure_class,
        cause,
        false_claim,
        started_at,
        ended_at,
        exit,
        duration_ms,
        agent,
        model,
        tokens,
        cost_usd,
        closed,
        tasks_done,
        tasks_open,
        fingerprint,
        tests,
        flags,
        first_flag,
        refused,
        reopened,
        gone,
        head_before,
        head_after,
        snapshot,
        status,
        stop_reason,
        limit,
        ended_by,
    } = entry;
    let _ = write!(to, "{}\t{commit}\t{}", kind.into_str(), iteration.unwrap_or_default());
    value(to, outcome.as_ref());
    value(to, failure_class.as_ref());
    value(to, Some(&ended_at.ms()));
    value(to, duration_ms.agent.as_ref());
    value(to, duration_ms.validation.as_ref());
    value(to, duration_ms.second.as_ref());
    value(to, attempt.as_ref());
    words(to, task.as_deref());
    words(to, fingerprint.as_deref());
    words(to, Some(subject));
    words(to, title.as_deref());
    words(to, cause.as_deref());
    let tests = tests.map(|tests| {
        let counts = [tests.passed, tests.failed, tests.skipped];
        counts.map(|count| count.map_or_else(|| NONE.to_owned(), |count| count.to_string())).join("/")
    });
    value(to, tests.as_ref());
    let flags: Vec<&str> = flags.iter().map(FlagCode::as_str).collect();
    words(to, Some(&flags.join(",")));
    words(to, first_flag.as_deref());
    value(to, exit.agent.as_ref());
    value(to, exit.validation.as_ref());
    value(to, cost_usd.as_ref());
    let claims: Vec<&str> = false_claim.iter().map(Claim::as_str).collect();
    words(to, Some(&claims.join(",")));
    for id in [head_before, head_after, snapshot] {
        value(to, id.as_ref());
    }
    words(to, Some(feature));
    words(to, phase.as_deref());
    words(to, agent.as_deref());
    words(to, model.as_deref());
    value(to, Some(session));
    value(to, parent.as_ref());
    value(to, Some(&started_at.ms()));
    for count in [tokens.input, tokens.cache_read, tokens.cache_write, tokens.output] {
        value(to, count.as_ref());
    }
    value(to, Some(tasks_done));
    value(to, Some(tasks_open));
    value(to, status.as_ref());
    value(to, stop_reason.as_ref());
    value(to, limit.as_ref());
    value(to, ended_by.as_ref());
    value(to, refused.as_ref());
    words(to, Some(&reopened.join(",")));
    words(to, Some(&gone_words(gone.iter().map(|(task, how)| (task, *how)))));
    for name in closed {
        words(to, Some(name));
    }
    to.push('\n');
}

fn value(to: &mut String, value: Option<&impl std::fmt::Display>) {
    let _ = match value {
        Some(value) => write!(to, "\t{value}"),
        None => write!(to, "\t{NONE}"),
    };
}

fn words(to: &mut String, words: Option<&str>) {
    to.push('\t');
    to.push_str(&match words {
        None => Cow::Borrowed(NONE),
        Some(NONE) => Cow::Borrowed("%2d"),
        Some(words) => Cow::Owned(escape(words)),
    });
}

fn text(field: &str) -> Option<Cow<'_, str>> {
    (field != NONE).then(|| unescape(field))
}

fn owned_text(fields: &mut Fields<'_>) -> Option<Option<String>> {
    Some(text(fields.next()?).map(Cow::into_owned))
}

/// Claims with commas between them.
fn claims(field: &str) -> Option<Vec<Claim>> {
    words_of(field).map(|word| Claim::of_record(word).ok()).collect()
}

/// Codes of flags with commas between them.
fn codes(field: &str) -> Option<Vec<FlagCode>> {
    words_of(field).map(|word| FlagCode::of_record(word).ok()).collect()
}

/// Tasks whose work went or came back.
fn gone(field: &str) -> Option<Vec<(TaskName, GoneHow)>> {
    // Hardly a row has any.
    if field.is_empty() { Some(Vec::new()) } else { evidence::gone(Some(&unescape(field))).ok() }
}

fn words_of(field: &str) -> impl Iterator<Item = &str> {
    field.split(',').filter(|word| !word.is_empty())
}

/// The inner option is the value's; the outer one is `None` for a field that we did not write.
fn known<T: FromStr>(field: &str) -> Option<Option<T>> {
    if field == NONE { Some(None) } else { field.parse().ok().map(Some) }
}

/// As [`known`], for words of which later versions have more.
fn word<T>(field: &str, read: impl Fn(&str) -> Result<T>) -> Option<Option<T>> {
    if field == NONE { Some(None) } else { read(field).ok().map(Some) }
}

fn next<'a, T: FromStr>(fields: &mut impl Iterator<Item = &'a str>) -> Option<Option<T>> {
    known(fields.next()?)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::message::{Envelope, Subject, compose, parse};
    use crate::samples;

    fn entry(message: &str) -> LogEntry {
        let envelope = Envelope {
            commit: "2".repeat(40).parse().unwrap(),
            parent: Some("3".repeat(40).parse().unwrap()),
            authored_at: Timestamp::from_seconds(1_795_294_000),
            committed_at: Timestamp::from_seconds(1_795_294_100),
        };
        parse(message, &envelope).unwrap().unwrap()
    }

    #[track_caller]
    fn comes_back(entry: &LogEntry) {
        let mut text = String::new();
        write(entry, &mut text);
        let line = text.strip_suffix('\n').unwrap();
        assert!(!line.contains('\n'), "{line}");
        let row = Row::read(line).unwrap_or_else(|| panic!("{line}"));
        assert_eq!(row.entry().unwrap(), *entry, "{line}");
        assert_eq!(row.cost(), entry.cost(), "{line}");
        assert_eq!(row.snapshot(), entry.snapshot, "{line}");
        assert_eq!(row.phase().as_deref(), entry.phase.as_deref(), "{line}");
        let counted = |facts: Option<IterationFacts<'_>>| format!("{facts:?}");
        assert_eq!(counted(row.facts()), counted(IterationFacts::of_entry(entry)), "{line}");
    }

    #[test]
    fn a_record_of_every_kind_is_read_back() {
        let session = samples::session();
        for kind in [RecordKind::Start, RecordKind::Resume, RecordKind::End] {
            comes_back(&entry(&compose(Subject::Session(kind, &session), "")));
        }
        comes_back(&entry(&compose(Subject::Iteration(&samples::iteration(3)), "text")));
        let flagged = "**Task**: T004 x\n**Status**: ok\n**Flags**: 39 tests ran\n";
        comes_back(&entry(&compose(Subject::Iteration(&samples::flagged_iteration()), flagged)));
    }

    proptest! {
        #[test]
        fn no_text_breaks_a_row(task in "\\PC{0,12}|-|\t|\n|%", phase in any::<Option<String>>(), closed in prop::collection::vec("[^,]{1,9}", 0..3), cost in proptest::option::of(0.0..1e9_f64), promises in 0_usize..3) {
            let mut one = entry(&compose(Subject::Iteration(&samples::iteration(3)), ""));
            one.task = Some(task.clone());
            one.subject = task;
            one.cause = phase.clone();
            one.phase = phase;
            one.cost_usd = cost;
            one.false_claim = vec![Claim::Promise; promises];
            one.closed = closed;
            comes_back(&one);
        }

        #[test]
        fn what_we_did_not_write_is_no_row(line in "\\PC{0,80}") {
            if let Some(row) = Row::read(&line) {
                drop(row.entry());
            }
        }
    }
}

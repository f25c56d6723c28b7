//! The content of a record's commit message: all that a list needs, without reading a tree.

use std::borrow::Cow;
use std::fmt;
use std::ops::Range;
use std::str::FromStr;
use std::sync::Arc;

use anyhow::{Context, Result, bail};
use serde::Serialize;
use strum::{EnumString, IntoStaticStr};

use super::fields::{self, Field, PARTS, TRAILERS};
use super::trailers::{escape, field, names, numbers, trailers_of, unescape};
use super::{
    AttemptId, Claim, Cost, Durations, EndedBy, Exits, FLAG_SEPARATOR, FLAGS_LINE, FailureClass, FlagCode,
    GoneHow, IntegrationVerdict, Iteration, Limit, ObjectId, Outcome, SCHEMA, SessionId, Status, StopReason,
    Subject, TaskCounts, TaskName, Timestamp, Tokens,
};

/// Longest [`LogEntry::title`].
pub const MAX_TITLE_CHARS: usize = 200;

/// What a commit on a session's ref records.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
#[derive(EnumString, IntoStaticStr)]
#[strum(serialize_all = "lowercase", const_into_str)]
pub enum RecordKind {
    /// The first commit of a session.
    Start,
    Iteration,
    /// A session was resumed.
    Resume,
    End,
    /// A record that this version cannot read: of it no more is known than where it stands.
    Unknown,
}

impl RecordKind {
    /// Returns true if it says how the records after it are made: with which settings.
    pub fn begins(self) -> bool {
        matches!(self, Self::Start | Self::Resume)
    }
}

/// A part that is not there, in a row.
const NONE: &str = "-";

/// One commit of a session's log, as its message describes it.
///
/// There may be thousands, of which a list shows little: an entry is a piece of text that it may share with others, with the
/// places of its parts, and each part is parsed where it is asked for.
#[derive(Clone)]
pub struct LogEntry {
    text: Arc<String>,
    /// Where the parts begin, each after a tab, and one more for the end.
    at: [u32; PARTS + 1],
    /// A bit for each part that is there; what is empty is there as well.
    there: u64,
}

/// The parts of a commit that its message does not hold.
#[derive(Debug, Clone)]
pub struct Envelope {
    pub commit: ObjectId,
    pub parent: Option<ObjectId>,
    pub authored_at: Timestamp,
    pub committed_at: Timestamp,
}

/// What an entry is made of, by the places of its fields.
type Parts<'a> = [Option<Cow<'a, str>>; PARTS];

impl LogEntry {
    /// Reads a message and checks all parts of it. Returns `None` if it is not one of ours.
    pub fn of_message(message: &str, envelope: &Envelope) -> Result<Option<Self>> {
        let commit = &envelope.commit;
        let trailers: Vec<(&str, Cow<'_, str>)> = trailers_of(message).collect();
        let find =
            |wanted: &str| trailers.iter().find_map(|(name, value)| (*name == wanted).then_some(value));
        let Some(schema) = find("Schema") else { return Ok(None) };
        if schema.parse::<u32>().ok() != Some(SCHEMA) {
            bail!(
                "{commit} has schema {schema}, this version reads schema {SCHEMA}\nhint: update specify-ralph"
            );
        }
        let mut parts = of_envelope(message, envelope);
        for row in TRAILERS {
            match find(row.name) {
                Some(value) => {
                    let checked = (row.check)(value).with_context(|| format!("read Ralph-{}", row.name));
                    checked.with_context(|| format!("read the trailers of {commit}"))?;
                    parts[row.field as usize] = Some(Cow::Borrowed(value));
                }
                None if matches!(row.field, Field::Record | Field::Session | Field::Feature) => {
                    bail!("read {commit}: no trailer Ralph-{}", row.name)
                }
                None => {}
            }
        }
        let time = parts[Field::Time as usize].take().unwrap_or_default();
        let started = precise(envelope.authored_at, field(&time, "started"));
        let ended = precise(envelope.committed_at, field(&time, "ended"));
        parts[Field::Started as usize] = Some(started.ms().to_string().into());
        parts[Field::Ended as usize] = Some(ended.ms().to_string().into());
        parts[Field::Title as usize] = find("Task").and_then(|task| title(message, task)).map(Cow::Owned);
        parts[Field::FirstFlag as usize] = first_flag(message).map(Cow::Borrowed);
        Ok(Some(Self::of_parts(&parts)))
    }

    /// Returns the entry that the commit of an iteration has, but for what is of the commit and of the text in its message.
    pub fn of_iteration(record: &Iteration, commit: &ObjectId) -> Self {
        let mut parts = [const { None }; PARTS];
        for (field, value) in Subject::Iteration(record).fields() {
            parts[field as usize] = Some(value.into());
        }
        parts[Field::Time as usize] = None;
        parts[Field::Commit as usize] = Some(commit.as_str().into());
        parts[Field::Started as usize] = Some(record.started_at.ms().to_string().into());
        parts[Field::Ended as usize] = Some(record.ended_at.ms().to_string().into());
        Self::of_parts(&parts)
    }

    /// Returns what is known of a record that cannot be read: that it is in the log of `session`.
    pub fn unknown(message: &str, envelope: &Envelope, session: &SessionId, feature: &str) -> Self {
        let mut parts = of_envelope(message, envelope);
        parts[Field::Record as usize] = Some(RecordKind::Unknown.into_str().into());
        parts[Field::Session as usize] = Some(session.as_str().into());
        parts[Field::Feature as usize] = Some(feature.into());
        Self::of_parts(&parts)
    }

    fn of_parts(parts: &Parts<'_>) -> Self {
        let (mut text, mut at, mut there) = (String::new(), [0; PARTS + 1], 0);
        for (place, part) in parts.iter().enumerate() {
            if let Some(part) = part {
                text.push_str(part);
                there |= 1 << place;
            }
            text.push('\t');
            // Commits of more than a mebibyte are not read.
            at[place + 1] = u32::try_from(text.len()).unwrap_or(u32::MAX);
        }
        Self { text: Arc::new(text), at, there }
    }

    /// Reads the row in that part of a text, without its line end. What is in it was checked as it was written. Returns `None`
    /// if we did not write it.
    pub fn of_row(text: &Arc<String>, line: Range<usize>) -> Option<Self> {
        let bytes = text.as_bytes().get(line.clone())?;
        let start = u32::try_from(line.start).ok().filter(|_| u32::try_from(line.end).is_ok())?;
        let (mut at, mut there, mut place) = ([start; PARTS + 1], 0_u64, 0);
        let (mut begin, mut has_escapes) = (0, false);
        for end in (0..bytes.len()).filter(|at| matches!(bytes[*at], b'\t' | b'%')).chain([bytes.len()]) {
            if bytes.get(end) == Some(&b'%') {
                has_escapes = true;
                continue;
            }
            if place == PARTS {
                return None;
            }
            there |= u64::from(bytes[begin..end] != *NONE.as_bytes()) << place;
            (place, begin) = (place + 1, end + 1);
            at[place] = start + u32::try_from(begin).ok()?;
        }
        let row = Self { text: Arc::clone(text), at, there };
        let is_ours = place == PARTS
            && row.parse::<ObjectId>(Field::Commit).is_some()
            && row.parse::<SessionId>(Field::Session).is_some();
        if is_ours && has_escapes {
            return Some(Self::of_parts(&Field::ALL.map(|field| row.get(field).map(unescape))));
        }
        is_ours.then_some(row)
    }

    /// Appends its row as the cache of a listing has it, with a line end.
    pub fn write_row(&self, to: &mut String) {
        for (place, field) in Field::ALL.iter().enumerate() {
            if place > 0 {
                to.push('\t');
            }
            match self.get(*field) {
                None => to.push_str(NONE),
                Some(NONE) => to.push_str("%2d"),
                Some(part) => to.push_str(&escape(part)),
            }
        }
        to.push('\n');
    }

    /// Sets a field to another text.
    #[cfg(any(test, feature = "testing"))]
    pub fn set(&mut self, field: Field, value: impl fmt::Display) {
        self.replace(field, Some(value.to_string()));
    }

    #[cfg(any(test, feature = "testing"))]
    pub fn clear(&mut self, fields: &[Field]) {
        for field in fields {
            self.replace(*field, None);
        }
    }

    #[cfg(any(test, feature = "testing"))]
    fn replace(&mut self, field: Field, value: Option<String>) {
        let mut parts: Parts<'_> = Field::ALL.map(|field| self.get(field).map(Cow::Borrowed));
        parts[field as usize] = value.map(Cow::Owned);
        *self = Self::of_parts(&parts);
    }

    /// Returns the text of a field; `None` if the record has none.
    pub fn get(&self, field: Field) -> Option<&str> {
        let place = field as usize;
        let [begin, end] = [self.at[place], self.at[place + 1] - 1];
        (self.there >> place & 1 == 1).then(|| self.text.get(begin as usize..end as usize))?
    }

    fn parse<T: FromStr>(&self, field: Field) -> Option<T> {
        self.get(field)?.parse().ok()
    }

    fn word<T>(&self, field: Field, read: impl Fn(&str) -> Result<T>) -> Option<T> {
        read(self.get(field)?).ok()
    }

    fn names(&self, field: Field) -> impl Iterator<Item = &str> {
        names(self.get(field).unwrap_or_default())
    }

    fn time(&self, field: Field) -> Timestamp {
        Timestamp::from_ms(self.parse(field).unwrap_or_default())
    }

    pub fn commit(&self) -> ObjectId {
        self.parse(Field::Commit).expect("looked at as it was read")
    }

    pub fn parent(&self) -> Option<ObjectId> {
        self.parse(Field::Parent)
    }

    pub fn kind(&self) -> RecordKind {
        self.parse(Field::Record).unwrap_or(RecordKind::Unknown)
    }

    pub fn is_iteration(&self) -> bool {
        self.kind() == RecordKind::Iteration
    }

    /// Returns the first line of its message.
    pub fn subject(&self) -> &str {
        self.get(Field::Line).unwrap_or_default()
    }

    pub fn session(&self) -> SessionId {
        self.parse(Field::Session).expect("looked at as it was read")
    }

    pub fn feature(&self) -> &str {
        self.get(Field::Feature).unwrap_or_default()
    }

    /// Returns its number; `None` if it is not of an iteration.
    pub fn iteration(&self) -> Option<u32> {
        self.parse(Field::Iteration)
    }

    /// Returns the number of its iteration, 0 if it is of none.
    pub fn number(&self) -> u32 {
        self.iteration().unwrap_or_default()
    }

    pub fn is_of(&self, task: &str) -> bool {
        self.task() == Some(task)
    }

    pub fn task(&self) -> Option<&str> {
        self.get(Field::Task)
    }

    /// Returns the beginning of what the task asks for, of at most [`MAX_TITLE_CHARS`] characters.
    pub fn title(&self) -> Option<&str> {
        self.get(Field::Title)
    }

    pub fn phase(&self) -> Option<&str> {
        self.get(Field::Phase)
    }

    /// Returns which run at this task it is in its session, from 1; `None` in older records.
    pub fn attempt(&self) -> Option<u32> {
        self.parse(Field::Attempt)
    }

    pub fn outcome(&self) -> Option<Outcome> {
        self.word(Field::Outcome, Outcome::of_record)
    }

    pub fn failure_class(&self) -> Option<FailureClass> {
        self.word(Field::FailureClass, FailureClass::of_record)
    }

    /// Returns why it did not succeed; `None` for a success, and in older records.
    pub fn cause(&self) -> Option<&str> {
        self.get(Field::Cause)
    }

    /// Returns the claims of the agent that proved false.
    pub fn false_claim(&self) -> Vec<Claim> {
        self.names(Field::FalseClaim).filter_map(|claim| Claim::of_record(claim).ok()).collect()
    }

    /// Returns true if its agent said that something is done which was not. Of a task that is done, only the whole was claimed
    /// too early.
    pub fn is_wrong_claim(&self) -> bool {
        !self.false_claim().is_empty() && self.outcome() != Some(Outcome::Success)
    }

    pub fn started_at(&self) -> Timestamp {
        self.time(Field::Started)
    }

    pub fn ended_at(&self) -> Timestamp {
        self.time(Field::Ended)
    }

    pub fn exit(&self) -> Exits {
        self.word(Field::Exit, fields::exits).unwrap_or_default()
    }

    pub fn duration_ms(&self) -> Durations {
        self.word(Field::DurationMs, fields::durations).unwrap_or_default()
    }

    pub fn agent(&self) -> Option<&str> {
        self.get(Field::Agent)
    }

    pub fn model(&self) -> Option<&str> {
        self.get(Field::Model)
    }

    pub fn tokens(&self) -> Tokens {
        self.word(Field::Tokens, fields::tokens).unwrap_or_default()
    }

    pub fn cost_usd(&self) -> Option<f64> {
        self.parse(Field::CostUsd)
    }

    /// Returns the tasks that went from open to done.
    pub fn closed(&self) -> Vec<&str> {
        names(self.get(Field::Tasks).and_then(|tasks| field(tasks, "closed")).unwrap_or_default()).collect()
    }

    pub fn closes(&self, task: &str) -> bool {
        self.closed().contains(&task)
    }

    /// Returns the counts of tasks in the list after it.
    pub fn tasks(&self) -> TaskCounts {
        let counts = self.word(Field::Tasks, |tasks| numbers(tasks, ["done", "open"]));
        let [done, open] = counts.unwrap_or_default().map(Option::unwrap_or_default);
        TaskCounts { done, open }
    }

    pub fn fingerprint(&self) -> Option<&str> {
        self.get(Field::Fingerprint)
    }

    /// Returns the counts of tests that its validation printed; `None` in older records, and if no validation ran.
    pub fn tests(&self) -> Option<TestCounts> {
        self.word(Field::Tests, fields::tests)
    }

    pub fn flags(&self) -> Vec<FlagCode> {
        self.names(Field::Flags).filter_map(|code| FlagCode::of_record(code).ok()).collect()
    }

    pub fn is_flagged(&self) -> bool {
        self.names(Field::Flags).next().is_some()
    }

    pub fn has_flag(&self, code: FlagCode) -> bool {
        self.names(Field::Flags).any(|flag| flag == code.as_str())
    }

    /// Returns the text of the first flag, as the entry in the message has it.
    pub fn first_flag(&self) -> Option<&str> {
        self.get(Field::FirstFlag)
    }

    pub fn refused(&self) -> Option<FlagCode> {
        self.word(Field::Refused, FlagCode::of_record)
    }

    pub fn reopened(&self) -> Vec<&str> {
        self.names(Field::Reopened).collect()
    }

    /// Returns the first session of those that work at once with this one, and the lane of this one; `None` if it works alone.
    pub fn group(&self) -> Option<(SessionId, u32)> {
        self.word(Field::Group, fields::group)
    }

    pub fn reopens(&self, task: &str) -> bool {
        self.reopened().contains(&task)
    }

    /// Returns the tasks whose work went or came back.
    pub fn gone(&self) -> Vec<(TaskName, GoneHow)> {
        self.word(Field::Gone, fields::gone).unwrap_or_default()
    }

    /// Returns true if it is a success whose result was not published with its record.
    pub fn is_queued(&self) -> bool {
        self.get(Field::Queued).is_some()
    }

    /// Returns true if its snapshot has tasks done, in the work tree or on the branch of its lane.
    pub fn is_result(&self) -> bool {
        match self.outcome() {
            Some(Outcome::Success) => !self.is_queued(),
            Some(Outcome::Integrated) => !self.closed().is_empty(),
            _ => false,
        }
    }

    /// Returns what became of results that were queued.
    pub fn integration(&self) -> Vec<(TaskName, IntegrationVerdict, AttemptId)> {
        self.word(Field::Integration, fields::integration).unwrap_or_default()
    }

    pub fn head_before(&self) -> Option<ObjectId> {
        self.word(Field::Work, |heads| fields::work(heads, "before"))?
    }

    pub fn head_after(&self) -> Option<ObjectId> {
        self.word(Field::Work, |heads| fields::work(heads, "after"))?
    }

    /// Returns the snapshot of the work tree after it.
    pub fn snapshot(&self) -> Option<ObjectId> {
        self.parse(Field::Snapshot)
    }

    pub fn status(&self) -> Option<Status> {
        self.word(Field::Status, Status::of_record)
    }

    pub fn stop_reason(&self) -> Option<StopReason> {
        self.word(Field::StopReason, StopReason::of_record)
    }

    pub fn limit(&self) -> Option<Limit> {
        self.word(Field::Limit, Limit::of_record)
    }

    pub fn ended_by(&self) -> Option<EndedBy> {
        self.word(Field::EndedBy, EndedBy::of_record)
    }

    /// Returns what its agent cost.
    pub fn cost(&self) -> Cost {
        Cost::of_run(self.exit().agent, self.cost_usd())
    }

    /// Returns its name among all iterations.
    pub fn id(&self) -> AttemptId {
        AttemptId { session: self.session(), number: self.number() }
    }

    pub fn is_failure(&self) -> bool {
        self.outcome() == Some(Outcome::Failure)
    }

    pub fn is_question(&self) -> bool {
        self.failure_class().is_some_and(FailureClass::is_question)
    }

    /// Returns true for a record for which no agent was started.
    pub fn is_without_run(&self) -> bool {
        self.outcome().is_some_and(Outcome::is_without_run)
    }

    /// Returns true if an agent had its turn in it: the files are as it left them, and not as a check or a person did.
    pub fn is_attempt_or_cut_short(&self) -> bool {
        self.is_attempt() || self.outcome() == Some(Outcome::Interrupted)
    }

    /// Returns true if an agent ran in it.
    pub fn has_run(&self) -> bool {
        self.is_iteration() && self.exit().agent.is_some()
    }

    /// Returns true if a person had the last word on a task.
    pub fn is_answer(&self) -> bool {
        self.outcome() == Some(Outcome::Reopened) || self.has_flag(FlagCode::Accepted)
    }

    /// Returns true if it is an attempt: an agent had its turn, and the result was judged.
    pub fn is_attempt(&self) -> bool {
        self.outcome().is_some_and(|outcome| outcome.is_attempt(self.has_flag(FlagCode::Accepted)))
    }
}

impl PartialEq for LogEntry {
    fn eq(&self, other: &Self) -> bool {
        Field::ALL.iter().all(|field| self.get(*field) == other.get(*field))
    }
}

impl fmt::Debug for LogEntry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(Field::ALL.iter().filter_map(|field| Some((field, self.get(*field)?)))).finish()
    }
}

/// Returns what an entry has that is not in trailers, with the dates of the commit as its times.
fn of_envelope<'a>(message: &'a str, envelope: &Envelope) -> Parts<'a> {
    let mut parts = [const { None }; PARTS];
    parts[Field::Commit as usize] = Some(envelope.commit.to_string().into());
    parts[Field::Parent as usize] = envelope.parent.as_ref().map(|id| id.to_string().into());
    parts[Field::Started as usize] = Some(envelope.authored_at.ms().to_string().into());
    parts[Field::Ended as usize] = Some(envelope.committed_at.ms().to_string().into());
    parts[Field::Line as usize] = Some(message.lines().next().unwrap_or_default().into());
    parts
}

/// Returns the time of `text` if it is in the second of `date`, else `date`: a clock that went back does not change the
/// order of records.
pub fn precise(date: Timestamp, text: Option<&str>) -> Timestamp {
    let time = text.and_then(|text| text.parse::<Timestamp>().ok());
    time.filter(|time| time.seconds() == date.seconds()).unwrap_or(date)
}

/// Returns the task's text from the first lines of the entry; no trailer has it.
fn title(message: &str, task: &str) -> Option<String> {
    let line = message.lines().skip(2).take(2).find_map(|line| line.strip_prefix("**Task**: "))?;
    let title = line.strip_prefix(task)?.trim();
    (!title.is_empty()).then(|| title.chars().take(MAX_TITLE_CHARS).collect())
}

/// Returns the text of the first flag, from the first lines of the entry: its trailer has the codes alone.
fn first_flag(message: &str) -> Option<&str> {
    let mut lines = message.lines().skip(2).skip_while(|line| !line.starts_with("**Task**: ")).take(4);
    lines.find(|line| line.starts_with("**Status**: "))?;
    lines.next()?.strip_prefix(FLAGS_LINE)?.split(FLAG_SEPARATOR).next()
}

/// Counts of tests that a validation printed; `None` if they are not known.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct TestCounts {
    pub passed: Option<u64>,
    pub failed: Option<u64>,
    pub skipped: Option<u64>,
}

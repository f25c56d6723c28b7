//! What the message of a record says, as one table: how each part is written, and how it is checked.

use std::str::FromStr;

use anyhow::{Context, Error, Result};

use super::trailers::{known, names, numbers};
use super::{
    AttemptId, Claim, Durations, EndedBy, Exits, FailureClass, FlagCode, GoneHow, Integration,
    IntegrationVerdict, Iteration, Limit, ObjectId, Outcome, RecordKind, SCHEMA, Session, SessionId, Status,
    StopReason, TaskName, TestCounts, Tokens,
};

/// What a message describes: the JSON in the tree of the same commit.
#[derive(Debug, Clone, Copy)]
pub enum Subject<'a> {
    Iteration(&'a Iteration),
    Session(RecordKind, &'a Session),
}

impl<'a> Subject<'a> {
    fn kind(self) -> RecordKind {
        match self {
            Self::Iteration(_) => RecordKind::Iteration,
            Self::Session(kind, _) => kind,
        }
    }

    fn run(self) -> Option<&'a Iteration> {
        match self {
            Self::Iteration(iteration) => Some(iteration),
            Self::Session(..) => None,
        }
    }

    fn session(self) -> Option<&'a Session> {
        match self {
            Self::Session(_, session) => Some(session),
            Self::Iteration(_) => None,
        }
    }

    fn end(self) -> Option<&'a Session> {
        match self {
            Self::Session(RecordKind::End, session) => Some(session),
            Self::Session(..) | Self::Iteration(_) => None,
        }
    }

    /// Returns what `run` finds in an iteration, or `session` in the record of a session.
    fn either<T>(self, run: impl Fn(&'a Iteration) -> T, session: impl Fn(&'a Session) -> T) -> T {
        match self {
            Self::Iteration(iteration) => run(iteration),
            Self::Session(_, it) => session(it),
        }
    }

    /// Returns what an entry has of its trailers, not escaped.
    pub(super) fn fields(self) -> impl Iterator<Item = (Field, String)> {
        TRAILERS.iter().filter_map(move |row| Some((row.field, (row.write)(self)?)))
    }

    /// Returns the trailers of its message, without `Ralph-` and not escaped.
    pub fn trailers(self) -> impl Iterator<Item = (&'static str, String)> {
        let schema = ("Schema", SCHEMA.to_string());
        let values = TRAILERS.iter().filter_map(move |row| Some((row.name, (row.write)(self)?)));
        std::iter::once(schema).chain(values)
    }
}

/// A trailer of a record.
pub struct Trailer {
    pub(super) field: Field,
    /// Without `Ralph-`.
    pub name: &'static str,
    write: fn(Subject<'_>) -> Option<String>,
    /// Asked once, as the commit is read. A wrong value makes a record unreadable.
    pub(super) check: fn(&str) -> Result<()>,
    /// True if records of earlier versions lack it, though their JSON has the value.
    pub is_added_later: bool,
}

macro_rules! fields {
    ($($own:ident)+; $($field:ident $name:literal, $write:expr, $check:expr $(, $later:ident)?;)+) => {
        /// A part of an entry. The cache of a listing has them in this order.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum Field { $($own,)+ $($field,)+ }

        /// Number of fields.
        pub const PARTS: usize = [$(Field::$own,)+ $(Field::$field),+].len();

        impl Field {
            pub const ALL: [Self; PARTS] = [$(Self::$own,)+ $(Self::$field),+];
        }

        /// All trailers but that of the schema, in the order of a message.
        pub static TRAILERS: &[Trailer] = &[$(Trailer {
            field: Field::$field,
            name: $name,
            write: $write,
            check: $check,
            is_added_later: false $(| $later)?,
        }),+];
    };
}

const LATER: bool = true;

fields! {
    // Of the commit itself, and of the text in its message.
    Commit Parent Started Ended Line Title FirstFlag;

    Record "Record", |s| Some(s.kind().into_str().to_owned()), |t| kind_of(t).map(drop);
    Session "Session", |s| Some(s.either(|it| it.session.to_string(), |it| it.id.to_string())), is::<SessionId>;
    Feature "Feature", |s| Some(s.either(|it| it.feature.clone(), |it| it.feature.clone())), is::<String>;
    Iteration "Iteration", |s| Some(s.run()?.iteration.to_string()), is::<u32>;
    Task "Task", |s| s.run()?.task.clone(), is::<String>;
    Phase "Phase", |s| s.run()?.phase.clone(), is::<String>;
    Attempt "Attempt", |s| Some(s.run()?.attempt?.to_string()), is::<u32>;
    Outcome "Outcome", |s| Some(s.run()?.outcome.to_string()), |t| Outcome::of_record(t).map(drop);
    FailureClass "Failure-Class", |s| Some(s.run()?.failure_class?.to_string()),
        |t| FailureClass::of_record(t).map(drop);
    Cause "Cause", |s| s.run()?.cause.clone(), is::<String>;
    FalseClaim "False-Claim", |s| joined(s.run()?.false_claim.iter().map(Claim::as_str)),
        |t| names(t).try_for_each(|claim| Claim::of_record(claim).map(drop)), LATER;
    Agent "Agent", |s| Some(s.either(|it| it.agent.clone(), |it| it.agent.clone())), is::<String>;
    Model "Model", |s| s.run()?.model.clone(), is::<String>;
    Group "Group", |s| s.session().and_then(written_group), |t| group(t).map(drop);
    Status "Status", |s| Some(s.end()?.status.to_string()), |t| Status::of_record(t).map(drop);
    StopReason "Stop-Reason", |s| Some(s.end()?.stop_reason?.to_string()),
        |t| StopReason::of_record(t).map(drop);
    Limit "Limit", |s| Some(s.end()?.limit?.to_string()), |t| Limit::of_record(t).map(drop);
    EndedBy "Ended-By", |s| Some(s.end()?.ended_by?.to_string()), |t| EndedBy::of_record(t).map(drop);
    Exit "Exit", |s| Some(written_exits(s.run()?.exit)), |t| exits(t).map(drop);
    DurationMs "Duration-Ms", |s| Some(written_durations(s.run()?.duration_ms)), |t| durations(t).map(drop);
    Tokens "Tokens", |s| written_tokens(s.run().map(|it| it.tokens).or_else(|| Some(s.end()?.tokens))?),
        |t| tokens(t).map(drop);
    CostUsd "Cost-Usd", |s| Some(s.run()?.cost_usd?.to_string()), is::<f64>, LATER;
    Tasks "Tasks", |s| Some(written_tasks(s)), |t| numbers::<usize, 2>(t, ["done", "open"]).map(drop);
    Fingerprint "Fingerprint", |s| s.run()?.fingerprint.clone(), is::<String>;
    Tests "Tests", |s| written_tests(s.run()?), |t| tests(t).map(drop);
    Flags "Flags", |s| joined(s.run()?.flags().iter().map(|flag| flag.code.as_str())),
        |t| names(t).try_for_each(|code| FlagCode::of_record(code).map(drop));
    Refused "Refused", |s| Some(s.run()?.evidence.as_ref()?.refused?.to_string()),
        |t| FlagCode::of_record(t).map(drop);
    Clean "Clean", |s| Some(s.run()?.evidence.as_ref()?.clean.as_ref()?.verdict.to_string()), is::<String>;
    Reopened "Reopened", |s| joined(s.run()?.reopened.iter().map(String::as_str)), is::<String>;
    Gone "Gone", |s| joined(s.run()?.gone.iter().map(|gone| format!("{}={}", gone.task, gone.how))),
        |t| gone(t).map(drop);
    Queued "Queued", |s| s.run().filter(|it| it.is_queued())?.base.as_ref().map(ObjectId::to_string), is::<ObjectId>;
    Integration "Integration", |s| joined(s.run()?.integration.iter().map(written_integration)),
        |t| integration(t).map(drop);
    Work "Work", |s| Some(written_work(s.run()?)),
        |t| ["before", "after"].iter().try_for_each(|name| work(t, name).map(drop));
    Snapshot "Snapshot", |s| Some(s.run()?.snapshot.as_ref()?.to_string()), is::<ObjectId>;
    // Dates of commits are in whole seconds. An entry has the whole times as its own.
    Time "Time", |s| written_time(s.run()?), is::<String>;
}

fn is<T: FromStr<Err: Into<Error>>>(text: &str) -> Result<()> {
    text.parse::<T>().map(drop).map_err(Into::into)
}

/// With commas between them; `None` for none.
fn joined(list: impl Iterator<Item = impl AsRef<str>>) -> Option<String> {
    let text = list.fold(String::new(), |text, item| {
        let comma = if text.is_empty() { "" } else { "," };
        text + comma + item.as_ref()
    });
    (!text.is_empty()).then_some(text)
}

fn kind_of(word: &str) -> Result<RecordKind> {
    let kind = word.parse().ok().filter(|kind| *kind != RecordKind::Unknown);
    kind.with_context(|| format!("`{word}` is not a kind of record"))
}

fn written_group(session: &Session) -> Option<String> {
    Some(format!("{}:{}", session.group.as_ref()?, session.lane?))
}

/// Returns the first session of a group, and the lane of one of them.
pub(super) fn group(trailer: &str) -> Result<(SessionId, u32)> {
    let (first, lane) = trailer.split_once(':').context("no lane in it")?;
    Ok((first.parse()?, lane.parse()?))
}

fn written_exits(Exits { agent, validation }: Exits) -> String {
    format!("agent={} validation={}", known(agent), known(validation))
}

pub(super) fn exits(trailer: &str) -> Result<Exits> {
    let [agent, validation] = numbers(trailer, ["agent", "validation"])?;
    Ok(Exits { agent, validation })
}

fn written_durations(Durations { agent, validation, second }: Durations) -> String {
    let second = second.map_or(String::new(), |second| format!(" second={second}"));
    format!("agent={} validation={}{second}", known(agent), known(validation))
}

pub(super) fn durations(trailer: &str) -> Result<Durations> {
    let [agent, validation, second] = numbers(trailer, ["agent", "validation", "second"])?;
    Ok(Durations { agent, validation, second })
}

fn written_tokens(tokens: Tokens) -> Option<String> {
    let Tokens { input, cache_read, cache_write, output } = tokens;
    let [input, read, write, output] = [input, cache_read, cache_write, output].map(known);
    let text = format!("input={input} cache_read={read} cache_write={write} output={output}");
    (!tokens.is_unknown()).then_some(text)
}

pub(super) fn tokens(trailer: &str) -> Result<Tokens> {
    let [input, cache_read, cache_write, output] =
        numbers(trailer, ["input", "cache_read", "cache_write", "output"])?;
    Ok(Tokens { input, cache_read, cache_write, output })
}

fn written_tasks(subject: Subject<'_>) -> String {
    let counts = |done: usize, open: usize| format!("done={done} open={open}");
    subject.either(
        |it| format!("{} closed={}", counts(it.tasks_done, it.tasks_open), it.closed.join(",")),
        |it| counts(it.tasks_done, it.tasks_remaining),
    )
}

fn written_tests(iteration: &Iteration) -> Option<String> {
    let tests = iteration.evidence.as_ref()?.tests.as_ref()?;
    let [passed, failed, skipped] = [tests.passed, tests.failed, tests.skipped].map(known);
    Some(format!("passed={passed} failed={failed} skipped={skipped}"))
}

pub(super) fn tests(trailer: &str) -> Result<TestCounts> {
    let [passed, failed, skipped] = numbers(trailer, ["passed", "failed", "skipped"])?;
    Ok(TestCounts { passed, failed, skipped })
}

/// Reads which work went or came back, of `T003=attempt,T005=back`.
pub(super) fn gone(trailer: &str) -> Result<Vec<(TaskName, GoneHow)>> {
    let read = |item: &str| -> Result<(TaskName, GoneHow)> {
        let (task, how) = item.rsplit_once('=').with_context(|| format!("`{item}` is no task and how"))?;
        Ok((task.to_owned(), GoneHow::of_record(how)?))
    };
    names(trailer).map(read).collect()
}

fn written_integration(result: &Integration) -> String {
    let Integration { session, iteration, task, verdict, .. } = result;
    format!("{task}={verdict}@{session}:{iteration}")
}

/// Reads what became of results, of `T003=integrated@20261121-204512-3f9a0c1d:7,...`.
pub(super) fn integration(trailer: &str) -> Result<Vec<(TaskName, IntegrationVerdict, AttemptId)>> {
    let read = |item: &str| -> Result<(TaskName, IntegrationVerdict, AttemptId)> {
        let unreadable = || format!("`{item}` is no task, verdict and attempt");
        let (result, id) = item.rsplit_once('@').with_context(unreadable)?;
        let (task, verdict) = result.rsplit_once('=').with_context(unreadable)?;
        let (session, number) = id.rsplit_once(':').with_context(unreadable)?;
        let id = AttemptId { session: session.parse()?, number: number.parse()? };
        Ok((task.to_owned(), IntegrationVerdict::of_record(verdict)?, id))
    };
    names(trailer).map(read).collect()
}

fn written_work(iteration: &Iteration) -> String {
    let [before, after] =
        [&iteration.head_before, &iteration.head_after].map(|id| id.as_ref().map_or("-", ObjectId::as_str));
    format!("before={before} after={after}")
}

/// Reads a commit of the branch from a trailer; `-` is none.
pub(super) fn work(trailer: &str, name: &str) -> Result<Option<ObjectId>> {
    super::trailers::field(trailer, name).filter(|id| *id != "-").map(str::parse).transpose()
}

fn written_time(iteration: &Iteration) -> Option<String> {
    let (started, ended) = (iteration.started_at, iteration.ended_at);
    let is_whole = started.fraction() == 0 && ended.fraction() == 0;
    (!is_whole).then(|| format!("started={} ended={}", started.precise(), ended.precise()))
}

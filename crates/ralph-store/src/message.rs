//! The message of one of our commits: a subject, a readable copy of the entry, and trailers.
//!
//! Trailers are what listing reads. The exact bytes of the entry are `progress.md` in the tree.

use anyhow::{Context, Result, bail};
use std::borrow::Cow;

use ralph_core::record::{
    Claim, Durations, EndedBy, Exits, FailureClass, FlagCode, Iteration, Limit, LogEntry, MAX_TITLE_CHARS,
    ObjectId, Outcome, RecordKind, SCHEMA, Session, SessionId, Status, StopReason, TaskCounts, Timestamp,
    Tokens,
};

use super::evidence;
use super::trailer_value::{escape, field, known, names, number, optional, unescape};

/// Maximum length of the readable copy of an entry, in bytes; the tree has the whole entry.
const BODY_LIMIT: usize = 16 * 1024;

/// What a message describes: the JSON in the tree of the same commit.
#[derive(Debug, Clone, Copy)]
pub enum Subject<'a> {
    Iteration(&'a Iteration),
    Session(RecordKind, &'a Session),
}

/// The whole work tree at one moment of a session.
#[derive(Debug, Clone, Copy)]
pub struct Snapshot<'a> {
    pub tree: &'a ObjectId,
    /// The snapshot before this one.
    pub previous: Option<&'a ObjectId>,
    pub head: Option<&'a ObjectId>,
    /// The one from before its validation ran, if that is another.
    pub sealed: Option<&'a ObjectId>,
    pub session: &'a SessionId,
    pub feature: &'a str,
    /// `the start`, `iteration 3`.
    pub moment: &'a str,
    pub taken_at: Timestamp,
}

/// Composes the whole message.
pub fn compose(subject: Subject<'_>, entry: &str) -> String {
    let mut message = headline(subject);
    message.push_str("\n\n");
    let body = readable(entry);
    if !body.is_empty() {
        message.push_str(&body);
        // Without a blank line in front git sees no trailers at all.
        message.push_str("\n\n");
    }
    for line in trailer_lines(subject) {
        message.push_str(&line);
        message.push('\n');
    }
    message
}

/// Returns the trailers of a record, each as its line.
pub fn trailer_lines(subject: Subject<'_>) -> Vec<String> {
    trailers(subject).into_iter().map(|(name, value)| format!("Ralph-{name}: {}", escape(&value))).collect()
}

/// Trailers that records of earlier versions lack, though their JSON has the value.
pub const ADDED_LATER: &[&str] = &["Ralph-Cost-Usd", "Ralph-False-Claim"];

/// Returns the paragraph of a message that its trailers are in.
fn last_paragraph(message: &str) -> &str {
    message.trim_end().rsplit("\n\n").next().unwrap_or_default()
}

/// Returns the trailers of ours in a message, without `Ralph-` and as they were before they were escaped.
fn trailers_of(message: &str) -> impl Iterator<Item = (&str, Cow<'_, str>)> {
    let pairs =
        last_paragraph(message).lines().filter_map(|line| line.strip_prefix("Ralph-")?.split_once(':'));
    pairs.map(|(name, value)| (name, unescape(value.trim())))
}

/// Returns one of them.
fn trailer<'a>(message: &'a str, name: &str) -> Option<Cow<'a, str>> {
    trailers_of(message).find_map(|(key, value)| (key == name).then_some(value))
}

/// All of them, for a reader of many.
struct Trailers<'a>(Vec<(&'a str, Cow<'a, str>)>);

impl Trailers<'_> {
    fn find(&self, name: &str) -> Option<&str> {
        self.0.iter().find(|(key, _)| *key == name).map(|(_, value)| value.as_ref())
    }

    fn need(&self, name: &str, commit: &ObjectId) -> Result<&str> {
        self.find(name).with_context(|| format!("read {commit}: no trailer Ralph-{name}"))
    }
}

/// Returns the lines of ours in the last paragraph of a message.
pub fn trailers_in(message: &str) -> Vec<String> {
    last_paragraph(message).lines().filter(|line| line.starts_with("Ralph-")).map(str::to_owned).collect()
}

/// Returns what is between the subject and the trailers.
pub fn body_of(message: &str) -> &str {
    let message = message.trim_end();
    let end = message.rfind("\n\n").unwrap_or_default();
    let start = message.find("\n\n").map_or(0, |start| start + 2);
    message.get(start..end).unwrap_or_default()
}

/// Composes the message of a snapshot.
pub fn of_snapshot(snapshot: &Snapshot<'_>) -> String {
    let Snapshot { session, feature, moment, .. } = snapshot;
    of_feature(&format!("work tree after {moment}"), "snapshot", feature, Some(session))
}

/// Composes the message of a commit that a restoration is kept as.
pub fn of_restoration(moment: &str, session: &SessionId, feature: &str) -> String {
    of_feature(&printable(moment), "restoration", feature, Some(session))
}

/// Composes the message of a commit that clears the progress of a feature at `at`.
pub fn of_clearing(feature: &str, at: Timestamp) -> String {
    let message = of_feature("progress cleared", "clear", feature, None);
    if at.fraction() == 0 { message } else { format!("{message}Ralph-Time: cleared={}\n", at.precise()) }
}

/// Returns when a commit of [`of_clearing`] says that the progress was cleared.
pub fn cleared_at(message: &str, committed_at: Timestamp) -> Timestamp {
    precise(committed_at, field(&trailer(message, "Time").unwrap_or_default(), "cleared"))
}

fn of_feature(what: &str, kind: &str, feature: &str, session: Option<&SessionId>) -> String {
    let session = session.map_or(String::new(), |session| format!("Ralph-Session: {session}\n"));
    let headline = format!("{}: {what}", printable(name_of(feature)));
    format!("{}{session}Ralph-Feature: {}\n", signed(&headline, kind), escape(feature))
}

/// Composes the common part of the messages of commits that are not records.
pub fn signed(headline: &str, kind: &str) -> String {
    format!("{headline}\n\nRalph-Schema: {SCHEMA}\nRalph-Record: {kind}\n")
}

/// Returns the session and the feature that a message names in its trailers.
pub fn named_in(message: &str) -> Option<(SessionId, String)> {
    Some((trailer(message, "Session")?.parse().ok()?, trailer(message, "Feature")?.into_owned()))
}

/// Returns true if a message has a schema of ours in its trailers, of any version.
pub fn is_signed(message: &str) -> bool {
    trailer(message, "Schema").is_some()
}

/// Returns true if a message has the schema in its trailers that this version writes.
pub fn is_of_this_schema(message: &str) -> bool {
    trailer(message, "Schema").is_some_and(|schema| schema == SCHEMA.to_string())
}

/// Returns true if a message is that of a snapshot.
pub fn is_of_snapshot(message: &str) -> bool {
    is_of(message, "snapshot")
}

/// Returns true if a message is that of a record of this kind.
pub fn is_of(message: &str, kind: &str) -> bool {
    trailers_of(message).next().is_some_and(|(name, _)| name == "Schema")
        && trailer(message, "Record").is_some_and(|record| record == kind)
}

/// Returns the first line of a message.
pub fn headline(subject: Subject<'_>) -> String {
    let line = match subject {
        Subject::Iteration(iteration) => {
            format!(
                "{}: iteration {}, {}",
                name_of(&iteration.feature),
                iteration.iteration,
                iteration.story()
            )
        }
        Subject::Session(kind, session) => {
            let name = name_of(&session.feature);
            match kind {
                RecordKind::Start | RecordKind::Iteration | RecordKind::Unknown => {
                    format!("{name}: start, {} tasks open, agent {}", session.tasks_remaining, session.agent)
                }
                RecordKind::Resume => format!("{name}: resume, {} tasks open", session.tasks_remaining),
                RecordKind::End => {
                    let reason =
                        session.stop_reason.as_ref().map_or("ended", StopReason::as_str).replace('_', " ");
                    let runs = session.iterations_run;
                    let plural = if runs == 1 { "" } else { "s" };
                    let (done, all) = (session.tasks_done, session.tasks_done + session.tasks_remaining);
                    format!(
                        "{name}: end, {reason} after {runs} iteration{plural}, {done} of {all} tasks done"
                    )
                }
            }
        }
    };
    printable(&line)
}

/// Returns the last part of a feature's path: what people call it.
fn name_of(feature: &str) -> &str {
    feature.rsplit('/').next().unwrap_or(feature)
}

/// Returns a copy of `entry` that git parses as text alone: without control bytes, scissors lines and trailing blank lines,
/// and of bounded length.
pub fn readable(entry: &str) -> String {
    let mut body = String::with_capacity(entry.len().min(BODY_LIMIT));
    for line in entry.trim_matches('\n').lines() {
        if body.len() + line.len() > BODY_LIMIT {
            body.push_str("[cut; progress.md in this commit has the whole entry]\n");
            break;
        }
        let line = printable(line);
        // git ignores what follows such a line, and finds no trailers after it.
        if line.contains(">8") || line.contains("8<") {
            body.push_str("    ");
        }
        body.push_str(line.trim_end());
        body.push('\n');
    }
    body.trim_end().to_owned()
}

fn printable(text: &str) -> String {
    text.chars().map(|c| if c.is_control() && c != '\t' { '\u{fffd}' } else { c }).collect()
}

fn trailers(subject: Subject<'_>) -> Vec<(&'static str, String)> {
    let mut lines = vec![("Schema", SCHEMA.to_string())];
    match subject {
        Subject::Iteration(iteration) => {
            lines.push(("Record", RecordKind::Iteration.into_str().into()));
            lines.push(("Session", iteration.session.to_string()));
            lines.push(("Feature", iteration.feature.clone()));
            lines.push(("Iteration", iteration.iteration.to_string()));
            optional(&mut lines, "Task", iteration.task.as_ref());
            optional(&mut lines, "Phase", iteration.phase.as_ref());
            optional(&mut lines, "Attempt", iteration.attempt.as_ref());
            lines.push(("Outcome", iteration.outcome.to_string()));
            optional(&mut lines, "Failure-Class", iteration.failure_class.as_ref());
            optional(&mut lines, "Cause", iteration.cause.as_ref());
            if !iteration.false_claim.is_empty() {
                let claims: Vec<&str> = iteration.false_claim.iter().map(Claim::as_str).collect();
                lines.push(("False-Claim", claims.join(",")));
            }
            lines.push(("Agent", iteration.agent.clone()));
            optional(&mut lines, "Model", iteration.model.as_ref());
            let Exits { agent, validation } = iteration.exit;
            lines.push(("Exit", format!("agent={} validation={}", known(agent), known(validation))));
            let Durations { agent, validation, second } = iteration.duration_ms;
            let second = second.map_or(String::new(), |second| format!(" second={second}"));
            lines.push((
                "Duration-Ms",
                format!("agent={} validation={}{second}", known(agent), known(validation)),
            ));
            if !iteration.tokens.is_unknown() {
                lines.push(("Tokens", tokens(&iteration.tokens)));
            }
            optional(&mut lines, "Cost-Usd", iteration.cost_usd.as_ref());
            let counts = TaskCounts { done: iteration.tasks_done, open: iteration.tasks_open };
            lines.push(("Tasks", format!("{} closed={}", task_counts(counts), iteration.closed.join(","))));
            optional(&mut lines, "Fingerprint", iteration.fingerprint.as_ref());
            lines.extend(evidence::trailers(iteration));
            let [before, after] = [&iteration.head_before, &iteration.head_after]
                .map(|id| id.as_ref().map_or("-", ObjectId::as_str));
            lines.push(("Work", format!("before={before} after={after}")));
            optional(&mut lines, "Snapshot", iteration.snapshot.as_ref());
            let (started, ended) = (iteration.started_at, iteration.ended_at);
            // Dates of commits are in whole seconds.
            if started.fraction() != 0 || ended.fraction() != 0 {
                lines.push(("Time", format!("started={} ended={}", started.precise(), ended.precise())));
            }
        }
        Subject::Session(kind, session) => {
            lines.push(("Record", kind.into_str().into()));
            lines.push(("Session", session.id.to_string()));
            lines.push(("Feature", session.feature.clone()));
            lines.push(("Agent", session.agent.clone()));
            if kind == RecordKind::End {
                lines.push(("Status", session.status.to_string()));
                optional(&mut lines, "Stop-Reason", session.stop_reason.as_ref());
                optional(&mut lines, "Limit", session.limit.as_ref());
                optional(&mut lines, "Ended-By", session.ended_by.as_ref());
                if !session.tokens.is_unknown() {
                    lines.push(("Tokens", tokens(&session.tokens)));
                }
            }
            let counts = TaskCounts { done: session.tasks_done, open: session.tasks_remaining };
            lines.push(("Tasks", task_counts(counts)));
        }
    }
    lines
}

fn tokens(tokens: &Tokens) -> String {
    format!(
        "input={} cache_read={} cache_write={} output={}",
        known(tokens.input),
        known(tokens.cache_read),
        known(tokens.cache_write),
        known(tokens.output)
    )
}

fn task_counts(counts: TaskCounts) -> String {
    format!("done={} open={}", counts.done, counts.open)
}

/// The parts of a commit that its message does not hold.
#[derive(Debug, Clone)]
pub struct Envelope {
    pub commit: ObjectId,
    pub parent: Option<ObjectId>,
    pub authored_at: Timestamp,
    pub committed_at: Timestamp,
}

/// Returns the task's text from the first lines of the entry; no trailer has it.
fn title(message: &str, task: &str) -> Option<String> {
    let line = message.lines().skip(2).take(2).find_map(|line| line.strip_prefix("**Task**: "))?;
    let title = line.strip_prefix(task)?.trim();
    (!title.is_empty()).then(|| title.chars().take(MAX_TITLE_CHARS).collect())
}

/// Parses a message. Returns `None` if it is not one of ours.
pub fn parse(message: &str, envelope: &Envelope) -> Result<Option<LogEntry>> {
    let trailers = Trailers(trailers_of(message).collect());
    let Some(schema) = trailers.find("Schema") else { return Ok(None) };
    let commit = &envelope.commit;
    if schema.parse::<u32>().ok() != Some(SCHEMA) {
        bail!("{commit} has schema {schema}, this version reads schema {SCHEMA}\nhint: update specify-ralph");
    }
    let kind = kind_of(trailers.need("Record", commit)?).with_context(|| format!("read {commit}"))?;
    let read = read_entry(message, envelope, kind, &trailers);
    read.with_context(|| format!("read the trailers of {commit}")).map(Some)
}

fn read_entry(
    message: &str,
    envelope: &Envelope,
    kind: RecordKind,
    trailers: &Trailers<'_>,
) -> Result<LogEntry> {
    let [work, exit, duration, time] =
        ["Work", "Exit", "Duration-Ms", "Time"].map(|name| trailers.find(name).unwrap_or_default());
    let tasks = trailers.find("Tasks").unwrap_or_default();
    Ok(LogEntry {
        kind,
        subject: message.lines().next().unwrap_or_default().to_owned(),
        session: trailers.need("Session", &envelope.commit)?.parse()?,
        feature: trailers.need("Feature", &envelope.commit)?.to_owned(),
        iteration: trailers.find("Iteration").map(str::parse).transpose().context("read Ralph-Iteration")?,
        task: trailers.find("Task").map(str::to_owned),
        title: trailers.find("Task").and_then(|task| title(message, task)),
        phase: trailers.find("Phase").map(str::to_owned),
        attempt: trailers.find("Attempt").map(str::parse).transpose().context("read Ralph-Attempt")?,
        outcome: trailers.find("Outcome").map(Outcome::of_record).transpose()?,
        failure_class: trailers.find("Failure-Class").map(FailureClass::of_record).transpose()?,
        cause: trailers.find("Cause").map(str::to_owned),
        false_claim: claims(trailers.find("False-Claim"))?,
        started_at: precise(envelope.authored_at, field(time, "started")),
        ended_at: precise(envelope.committed_at, field(time, "ended")),
        exit: Exits { agent: number(exit, "agent")?, validation: number(exit, "validation")? },
        duration_ms: Durations {
            agent: number(duration, "agent")?,
            validation: number(duration, "validation")?,
            second: number(duration, "second")?,
        },
        agent: trailers.find("Agent").map(str::to_owned),
        model: trailers.find("Model").map(str::to_owned),
        tokens: tokens_of(trailers.find("Tokens").unwrap_or_default())?,
        cost_usd: trailers.find("Cost-Usd").map(str::parse).transpose().context("read Ralph-Cost-Usd")?,
        closed: names(field(tasks, "closed")),
        tasks_done: number(tasks, "done")?.unwrap_or_default(),
        tasks_open: number(tasks, "open")?.unwrap_or_default(),
        fingerprint: trailers.find("Fingerprint").map(str::to_owned),
        tests: trailers.find("Tests").map(evidence::tests).transpose()?,
        flags: evidence::flags(trailers.find("Flags"))?,
        first_flag: evidence::first_flag(message),
        refused: trailers.find("Refused").map(FlagCode::of_record).transpose()?,
        reopened: names(trailers.find("Reopened")),
        gone: evidence::gone(trailers.find("Gone"))?,
        head_before: field(work, "before").filter(|id| *id != "-").map(str::parse).transpose()?,
        head_after: field(work, "after").filter(|id| *id != "-").map(str::parse).transpose()?,
        snapshot: trailers.find("Snapshot").map(str::parse).transpose()?,
        status: trailers.find("Status").map(Status::of_record).transpose()?,
        stop_reason: trailers.find("Stop-Reason").map(StopReason::of_record).transpose()?,
        limit: trailers.find("Limit").map(Limit::of_record).transpose()?,
        ended_by: trailers.find("Ended-By").map(EndedBy::of_record).transpose()?,
        commit: envelope.commit.clone(),
        parent: envelope.parent.clone(),
    })
}

/// Returns the time of `text` if it is in the second of `date`, else `date`: a clock that went back does not change the
/// order of records.
fn precise(date: Timestamp, text: Option<&str>) -> Timestamp {
    let time = text.and_then(|text| text.parse::<Timestamp>().ok());
    time.filter(|time| time.seconds() == date.seconds()).unwrap_or(date)
}

fn kind_of(word: &str) -> Result<RecordKind> {
    let kind = word.parse().ok().filter(|kind| *kind != RecordKind::Unknown);
    kind.with_context(|| format!("`{word}` is not a kind of record"))
}

fn tokens_of(trailer: &str) -> Result<Tokens> {
    Ok(Tokens {
        input: number(trailer, "input")?,
        cache_read: number(trailer, "cache_read")?,
        cache_write: number(trailer, "cache_write")?,
        output: number(trailer, "output")?,
    })
}

fn claims(list: Option<&str>) -> Result<Vec<Claim>> {
    names(list).iter().map(|claim| Claim::of_record(claim)).collect()
}

/// Returns what is known of a record that cannot be read: that it is in the log of `session`. `None` if that is
/// uncertain.
pub fn unreadable(
    message: &str,
    envelope: &Envelope,
    session: Option<&SessionId>,
    above: Option<&LogEntry>,
) -> Option<LogEntry> {
    let named = named_in(message);
    let (session, feature) = match (session, above) {
        (Some(session), Some(above)) => (session.clone(), above.feature.clone()),
        _ => named?,
    };
    Some(LogEntry {
        commit: envelope.commit.clone(),
        parent: envelope.parent.clone(),
        kind: RecordKind::Unknown,
        subject: message.lines().next().unwrap_or_default().to_owned(),
        session,
        feature,
        iteration: None,
        task: None,
        title: None,
        phase: None,
        attempt: None,
        outcome: None,
        failure_class: None,
        cause: None,
        false_claim: Vec::new(),
        started_at: envelope.authored_at,
        ended_at: envelope.committed_at,
        exit: Exits::default(),
        duration_ms: Durations::default(),
        agent: None,
        model: None,
        tokens: Tokens::default(),
        cost_usd: None,
        closed: Vec::new(),
        tasks_done: 0,
        tasks_open: 0,
        fingerprint: None,
        tests: None,
        flags: Vec::new(),
        first_flag: None,
        refused: None,
        reopened: Vec::new(),
        gone: Vec::new(),
        head_before: None,
        head_after: None,
        snapshot: None,
        status: None,
        stop_reason: None,
        limit: None,
        ended_by: None,
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use ralph_core::record::GoneHow;

    use super::super::samples;
    use super::*;

    fn read(message: &str) -> LogEntry {
        let envelope = Envelope {
            commit: "0".repeat(40).parse().unwrap(),
            parent: None,
            authored_at: Timestamp::from_seconds(0),
            committed_at: Timestamp::from_seconds(1),
        };
        parse(message, &envelope).unwrap().unwrap()
    }

    #[test]
    fn a_message_reads_well_by_itself() {
        let message =
            compose(Subject::Iteration(&samples::iteration(3)), "## Iteration 3\n**Task**: T004 x\n---\n");
        let expected = "001-login: iteration 3, T004 failed (cargo test exited 101)\n\n## Iteration 3\n**Task**: T004 x\n---\n\nRalph-Schema: 1\nRalph-Record: iteration\n";
        assert!(message.starts_with(expected), "{message}");
        assert!(message.contains("\nRalph-Exit: agent=0 validation=101\n"), "{message}");
        assert!(message.contains("\nRalph-Tasks: done=12 open=18 closed=\n"), "{message}");
    }

    #[test]
    fn evidence_is_in_trailers_and_the_first_flag_in_the_entry() {
        let iteration = samples::flagged_iteration();
        let entry =
            "## Iteration 4\n**Task**: T004 x\n**Status**: ok\n**Flags**: 39 tests ran; also ticked T005\n";
        let message = compose(Subject::Iteration(&iteration), entry);
        for line in [
            "Ralph-Tests: passed=39 failed=0 skipped=-",
            "Ralph-Flags: fewer,others",
            "Ralph-Reopened: T005",
            "Ralph-Gone: T003=ordered,T002=back",
            "Ralph-Duration-Ms: agent=1 validation=2 second=3",
        ] {
            assert!(message.contains(&format!("\n{line}\n")), "{message}");
        }
        let entry = read(&message);
        assert_eq!(entry.flags, [FlagCode::Fewer, FlagCode::Others]);
        assert_eq!(entry.first_flag.as_deref(), Some("39 tests ran"));
        assert_eq!(entry.reopened, iteration.reopened);
        let gone = [("T003".to_owned(), GoneHow::Ordered), ("T002".to_owned(), GoneHow::Back)];
        assert_eq!(entry.gone, gone);
        assert_eq!(entry.tests.unwrap().passed, Some(39));
        assert_eq!(entry.duration_ms, iteration.duration_ms);
        let planted = "## Iteration 4\n**Task**: T004 x\n**Status**: ok\n- a\n**Flags**: planted\n";
        assert_eq!(read(&compose(Subject::Iteration(&iteration), planted)).first_flag, None);
    }

    #[test]
    fn milliseconds_are_a_trailer_where_they_are_not_0_and_the_date_decides() {
        let at = |ms| Timestamp::from_ms(ms);
        for (started, ended, trailer, expected) in [
            (0, 1000, "", (0, 1000)),
            (7, 1250, "started=1970-01-01T00:00:00.007Z ended=1970-01-01T00:00:01.250Z", (7, 1250)),
            (0, 1250, "started=1970-01-01T00:00:00Z ended=1970-01-01T00:00:01.250Z", (0, 1250)),
            // A clock that went back: the commit has the date of the record before it.
            (7, 250, "started=1970-01-01T00:00:00.007Z ended=1970-01-01T00:00:00.250Z", (7, 1000)),
        ] {
            let iteration =
                Iteration { started_at: at(started), ended_at: at(ended), ..samples::iteration(3) };
            let message = compose(Subject::Iteration(&iteration), "");
            let line = message.lines().find_map(|line| line.strip_prefix("Ralph-Time: "));
            assert_eq!(line.unwrap_or_default(), trailer);
            let entry = read(&message);
            assert_eq!((entry.started_at.ms(), entry.ended_at.ms()), expected);
            let cleared = cleared_at(&of_clearing("specs/001-login", at(ended)), at(1000));
            assert_eq!(cleared.ms(), expected.1);
        }
    }

    #[test]
    fn what_looks_like_trailers_or_scissors_in_an_entry_changes_nothing() {
        let iteration = samples::iteration(3);
        let entry = "Ralph-Outcome: success\n\n---\n# --- >8 ---\n# ------------------------ >8 ------------------------\nRalph-Schema: 9\n\0\x1b[31m\n\n\n";
        let message = compose(Subject::Iteration(&iteration), entry);
        assert_eq!(read(&message).outcome, Some(iteration.outcome));
        assert!(!message.lines().any(|line| line.starts_with("# -")), "{message}");
        assert!(!message.contains(['\0', '\x1b']), "{message}");
    }

    #[test]
    fn messages_of_others_are_none_of_ours_and_a_newer_schema_is_an_error() {
        let envelope = Envelope {
            commit: "0".repeat(40).parse().unwrap(),
            parent: None,
            authored_at: Timestamp::from_seconds(0),
            committed_at: Timestamp::from_seconds(1),
        };
        assert_eq!(parse("fix things\n\nSigned-off-by: A\n", &envelope).unwrap(), None);
        assert_eq!(parse("", &envelope).unwrap(), None);
        let error = parse("x\n\nRalph-Schema: 2\n", &envelope).unwrap_err();
        assert!(error.to_string().contains("hint: update"), "{error}");
        assert!(parse("x\n\nRalph-Schema: 1\n", &envelope).is_err());
    }

    proptest! {
        #[test]
        fn trailers_are_read_back_as_they_were(
            task in "[^\\x00]{1,40}",
            phase in proptest::option::of(".{0,60}"),
            entry in "(?s).{0,300}",
            model in proptest::option::of(".{1,20}"),
            cause in proptest::option::of(".{1,200}"),
            cost in proptest::option::of(0.0..1e6_f64),
        ) {
            let mut iteration = samples::iteration(7);
            iteration.task = Some(task);
            iteration.phase = phase;
            iteration.model = model;
            iteration.cause = cause;
            iteration.cost_usd = cost;
            iteration.false_claim = vec![Claim::Ticked];
            let read = read(&compose(Subject::Iteration(&iteration), &entry));
            // A record is verified against the trailers that its JSON would have.
            let json: Iteration = serde_json::from_slice(&serde_json::to_vec(&iteration).unwrap()).unwrap();
            prop_assert_eq!(json.cost_usd, iteration.cost_usd);
            prop_assert_eq!(read.task, iteration.task);
            prop_assert_eq!(read.phase, iteration.phase);
            prop_assert_eq!(read.model, iteration.model);
            prop_assert_eq!(read.cause, iteration.cause);
            prop_assert_eq!(read.cost_usd, iteration.cost_usd);
            prop_assert_eq!(read.false_claim, iteration.false_claim);
            prop_assert_eq!(read.exit, iteration.exit);
            prop_assert_eq!(read.duration_ms, iteration.duration_ms);
            prop_assert_eq!(read.tokens, iteration.tokens);
            prop_assert_eq!(read.tasks_done, iteration.tasks_done);
            prop_assert_eq!(read.head_before, iteration.head_before);
        }

        #[test]
        fn any_text_is_read_without_a_panic(message in "(?s).{0,200}", tail in "(Ralph-[A-Za-z]{1,8}: ?.{0,10}\n){0,6}") {
            let envelope = Envelope {
                commit: "0".repeat(40).parse().unwrap(),
                parent: None,
                authored_at: Timestamp::from_seconds(0),
                committed_at: Timestamp::from_seconds(1),
            };
            drop(parse(&format!("{message}\n\n{tail}"), &envelope));
        }
    }
}

//! The message of one of our commits: a subject, a readable copy of the entry, and trailers.
//!
//! Trailers are what listing reads. The exact bytes of the entry are `progress.md` in the tree.

use std::borrow::Cow;

use ralph_core::record::{
    Envelope, LogEntry, ObjectId, RecordKind, SCHEMA, SessionId, StopReason, Subject, Timestamp, escape,
    field, last_paragraph, precise, trailers_of,
};

/// Maximum length of the readable copy of an entry, in bytes; the tree has the whole entry.
const BODY_LIMIT: usize = 16 * 1024;

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
    subject.trailers().map(|(name, value)| format!("Ralph-{name}: {}", escape(&value))).collect()
}

/// Returns one of the trailers of ours in a message.
fn trailer<'a>(message: &'a str, name: &str) -> Option<Cow<'a, str>> {
    trailers_of(message).find_map(|(key, value)| (key == name).then_some(value))
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
        (Some(session), Some(above)) => (session.clone(), above.feature().to_owned()),
        _ => named?,
    };
    Some(LogEntry::unknown(message, envelope, &session, &feature))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use proptest::prelude::*;

    use ralph_core::record::{Claim, Field, FlagCode, GoneHow, Iteration};

    use super::super::samples;
    use super::*;

    fn read(message: &str) -> LogEntry {
        let envelope = Envelope {
            commit: "0".repeat(40).parse().unwrap(),
            parent: None,
            authored_at: Timestamp::from_seconds(0),
            committed_at: Timestamp::from_seconds(1),
        };
        LogEntry::of_message(message, &envelope).unwrap().unwrap()
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
        assert_eq!(entry.flags(), [FlagCode::Fewer, FlagCode::Others]);
        assert_eq!(entry.first_flag(), Some("39 tests ran"));
        assert_eq!(entry.reopened(), iteration.reopened);
        let gone = [("T003".to_owned(), GoneHow::Ordered), ("T002".to_owned(), GoneHow::Back)];
        assert_eq!(entry.gone(), gone);
        assert_eq!(entry.tests().unwrap().passed, Some(39));
        assert_eq!(entry.duration_ms(), iteration.duration_ms);
        let planted = "## Iteration 4\n**Task**: T004 x\n**Status**: ok\n- a\n**Flags**: planted\n";
        assert_eq!(read(&compose(Subject::Iteration(&iteration), planted)).first_flag(), None);
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
            assert_eq!((entry.started_at().ms(), entry.ended_at().ms()), expected);
            let cleared = cleared_at(&of_clearing("specs/001-login", at(ended)), at(1000));
            assert_eq!(cleared.ms(), expected.1);
        }
    }

    #[test]
    fn what_looks_like_trailers_or_scissors_in_an_entry_changes_nothing() {
        let iteration = samples::iteration(3);
        let entry = "Ralph-Outcome: success\n\n---\n# --- >8 ---\n# ------------------------ >8 ------------------------\nRalph-Schema: 9\n\0\x1b[31m\n\n\n";
        let message = compose(Subject::Iteration(&iteration), entry);
        assert_eq!(read(&message).outcome(), Some(iteration.outcome));
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
        assert_eq!(LogEntry::of_message("fix things\n\nSigned-off-by: A\n", &envelope).unwrap(), None);
        assert_eq!(LogEntry::of_message("", &envelope).unwrap(), None);
        let error = LogEntry::of_message("x\n\nRalph-Schema: 2\n", &envelope).unwrap_err();
        assert!(error.to_string().contains("hint: update"), "{error}");
        assert!(LogEntry::of_message("x\n\nRalph-Schema: 1\n", &envelope).is_err());
    }

    #[track_caller]
    fn comes_back(entry: &LogEntry) {
        let mut row = String::new();
        entry.write_row(&mut row);
        let line = row.len() - 1;
        assert_eq!(row.find('\n'), Some(line), "{row}");
        let read = LogEntry::of_row(&Arc::new(row.clone()), 0..line);
        assert_eq!(read.as_ref(), Some(entry), "{row}");
    }

    #[test]
    fn a_record_of_every_kind_is_read_back_from_its_row() {
        let session = samples::session();
        for kind in [RecordKind::Start, RecordKind::Resume, RecordKind::End] {
            comes_back(&read(&compose(Subject::Session(kind, &session), "")));
        }
        comes_back(&read(&compose(Subject::Iteration(&samples::iteration(3)), "text")));
        let flagged = "**Task**: T004 x\n**Status**: ok\n**Flags**: 39 tests ran\n";
        comes_back(&read(&compose(Subject::Iteration(&samples::flagged_iteration()), flagged)));
    }

    proptest! {
        #[test]
        fn no_text_breaks_a_row(task in "\\PC{0,12}|-|\t|\n|%", phase in any::<Option<String>>(), closed in "[^,]{0,9}") {
            let mut one = read(&compose(Subject::Iteration(&samples::iteration(3)), ""));
            one.set(Field::Task, &task);
            one.set(Field::Line, &task);
            one.set(Field::Tasks, format!("done=1 open=2 closed={closed}"));
            match phase {
                Some(phase) => one.set(Field::Phase, phase),
                None => one.clear(&[Field::Phase]),
            }
            comes_back(&one);
        }

        #[test]
        fn what_we_did_not_write_is_no_row(line in "\\PC{0,80}") {
            let end = line.len();
            prop_assert_eq!(LogEntry::of_row(&Arc::new(line), 0..end), None);
        }

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
            prop_assert_eq!(read.task(), iteration.task.as_deref());
            prop_assert_eq!(read.phase(), iteration.phase.as_deref());
            prop_assert_eq!(read.model(), iteration.model.as_deref());
            prop_assert_eq!(read.cause(), iteration.cause.as_deref());
            prop_assert_eq!(read.cost_usd(), iteration.cost_usd);
            prop_assert_eq!(read.false_claim(), iteration.false_claim);
            prop_assert_eq!(read.exit(), iteration.exit);
            prop_assert_eq!(read.duration_ms(), iteration.duration_ms);
            prop_assert_eq!(read.tokens(), iteration.tokens);
            prop_assert_eq!(read.tasks().done, iteration.tasks_done);
            prop_assert_eq!(read.head_before(), iteration.head_before);
        }

        #[test]
        fn any_text_is_read_without_a_panic(message in "(?s).{0,200}", tail in "(Ralph-[A-Za-z]{1,8}: ?.{0,10}\n){0,6}") {
            let envelope = Envelope {
                commit: "0".repeat(40).parse().unwrap(),
                parent: None,
                authored_at: Timestamp::from_seconds(0),
                committed_at: Timestamp::from_seconds(1),
            };
            drop(LogEntry::of_message(&format!("{message}\n\n{tail}"), &envelope));
        }
    }
}

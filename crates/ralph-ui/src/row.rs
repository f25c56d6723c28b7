//! An iteration as one row, the same on every screen, and which of its columns fit into a width.

use std::borrow::Cow;

use ralph_core::record::{Cost, Iteration, ObjectId, Outcome, Timestamp, without_escapes};
use ralph_store::Row;

use super::evidence::EvidenceWords;
use super::local_time::clock;
use super::style::{Look, brief_duration, columns, cut, is_plain, one_line, sign};

/// Columns between two parts of a row.
const GAP: usize = 2;

/// Below this, title and cause do not share the room: the title has it.
const MIN_SHARED: usize = 30;

/// Most columns of a task with its attempt.
const MAX_TASK: usize = 24;

/// Of each part behind the texts, the most needed first, how many columns the texts must have left: of duration, cost,
/// time of day, and commits.
const TAIL: [usize; 4] = [14, 36, 42, 50];

/// The part of the tail that begins where its column does; the others end there.
const COMMITS: usize = 3;

/// What a row is made of; texts from outside are safe on a terminal.
#[derive(Debug, Clone, Default)]
pub struct IterationLine<'a> {
    /// 0 where it is shown already.
    pub number: u32,
    /// `None` while it runs.
    pub outcome: Option<Outcome>,
    pub task: Cow<'a, str>,
    pub attempt: Option<u32>,
    pub title: Cow<'a, str>,
    /// Why it did not succeed, or what else there is to say.
    pub note: Cow<'a, str>,
    /// The first iteration of the session that failed in the same way.
    pub repeats: Option<u32>,
    /// What it was judged by, behind the texts.
    pub evidence: EvidenceWords,
    pub tail: Tail,
}

/// The parts behind the texts: how wide they are decides about the columns before one is written.
pub type Tail = [String; TAIL.len()];

/// Returns the tail of an iteration: how long it ran, if anything did, its cost and end, its commit, and the commit that
/// the agent, or the loop for it, made on the branch.
pub fn tail(time_ms: Option<u64>, cost: Cost, ended_at: Timestamp, commit: &str, made: Option<&str>) -> Tail {
    let short = |commit: &str| commit.get(..10).unwrap_or(commit).to_owned();
    let commits = match made {
        Some(made) => format!("{} → {}", short(commit), short(made)),
        None => short(commit),
    };
    let [time, cost] = [time_ms.map(brief_duration), cost.shown()].map(Option::unwrap_or_default);
    [time, cost, clock(ended_at), commits]
}

impl<'a> IterationLine<'a> {
    pub fn of_row(row: &Row<'a>, repeats: Option<u32>) -> Self {
        Self {
            number: row.iteration,
            outcome: row.outcome,
            attempt: row.attempt,
            title: title_of(row),
            note: note_of(row),
            task: sanitized(row.task().unwrap_or_default()),
            repeats,
            evidence: EvidenceWords::of_row(row),
            tail: tail(row.duration_ms.total(), row.cost(), row.ended_at, row.commit, row.branch_commit()),
        }
    }

    pub fn of_record(record: &'a Iteration, commit: &'a str) -> Self {
        let task = record.task.as_deref().unwrap_or("no task");
        let heads = (record.head_before.as_ref(), record.head_after.as_ref());
        let made = heads.1.filter(|_| heads.0 != heads.1).map(ObjectId::as_str);
        Self {
            number: record.iteration,
            outcome: Some(record.outcome),
            task: sanitized(Cow::Borrowed(task)),
            attempt: record.attempt,
            title: sanitized(Cow::Borrowed(record.task_text.as_deref().unwrap_or_default())),
            note: note(Some(record.outcome), task, &record.story(), Some(record.cause())),
            repeats: None,
            evidence: EvidenceWords::of_record(record),
            tail: tail(record.duration_ms.total(), record.cost(), record.ended_at, commit, made),
        }
    }

    /// `T004 ×2`
    pub fn task_words(&self) -> String {
        match self.attempt {
            Some(attempt) if attempt > 1 => format!("{} ×{attempt}", cut(&self.task, MAX_TASK - 4)),
            _ => cut(&self.task, MAX_TASK),
        }
    }

    fn note_words(&self) -> Cow<'_, str> {
        match self.repeats {
            Some(first) => Cow::Owned(format!("same as #{first}: {}", self.note)),
            None if self.note.is_empty() && self.title.is_empty() => "done".into(),
            None => Cow::Borrowed(&self.note),
        }
    }
}

pub fn title_of<'a>(row: &Row<'a>) -> Cow<'a, str> {
    row.title().map_or(Cow::Borrowed(""), sanitized)
}

pub fn note_of<'a>(row: &Row<'a>) -> Cow<'a, str> {
    note(row.outcome, &row.task().unwrap_or_default(), &row.subject(), row.cause())
}

/// What the subject of a record says beside feature, number and task; for a failure, its cause.
fn note<'a>(
    outcome: Option<Outcome>,
    task: &str,
    subject: &str,
    cause: Option<Cow<'a, str>>,
) -> Cow<'a, str> {
    if outcome == Some(Outcome::Failure)
        && let Some(cause) = cause
    {
        return sanitized(cause);
    }
    let story = story(subject);
    let rest = story.strip_prefix(task).and_then(|rest| rest.strip_prefix(' ')).unwrap_or(story);
    match outcome {
        Some(Outcome::Success) if rest == "done" => Cow::Borrowed(""),
        Some(Outcome::Failure) => {
            let inner = rest.strip_prefix("failed (").and_then(|rest| rest.strip_suffix(')'));
            sanitized(Cow::Owned(inner.unwrap_or(rest).to_owned()))
        }
        _ => sanitized(Cow::Owned(rest.to_owned())),
    }
}

/// The subject of a record without its feature and number: `T004 failed (cargo test exited 101)`.
pub fn story(subject: &str) -> &str {
    let behind = || {
        let (number, rest) = subject.split_once(": iteration ")?.1.split_once(", ")?;
        let is_number = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
        is_number.then_some(rest)
    };
    behind().unwrap_or(subject)
}

/// Words from outside on one line of a terminal, none of which changes its width or its colours.
fn sanitized(text: Cow<'_, str>) -> Cow<'_, str> {
    if is_plain(&text) {
        return text;
    }
    // Terminals do not agree on how wide what they join is.
    let is_joiner = |c: char| matches!(c, '\u{200d}' | '\u{fe0e}' | '\u{fe0f}');
    Cow::Owned(one_line(&without_escapes(&text)).replace('\t', " ").replace(is_joiner, ""))
}

/// The columns that rows below each other share, so that they are aligned.
#[derive(Debug, Clone, Copy, Default)]
pub struct Columns {
    number: usize,
    task: usize,
    title: usize,
    /// 0 where the title has all of the room.
    note: usize,
    /// Of both texts with what is between them.
    texts: usize,
    tail: [usize; TAIL.len()],
}

impl Columns {
    /// The columns of these rows in `width` columns of the screen, or as many as they take. Rows that are `filled` take
    /// all of the width, so that rows which nothing else aligns end alike.
    pub fn of<'a>(
        lines: impl IntoIterator<Item = &'a IterationLine<'a>>,
        width: Option<usize>,
        is_filled: bool,
    ) -> Self {
        let mut all = Self::default();
        for line in lines {
            all.number = all.number.max(line.number.checked_ilog10().map_or(0, |digits| digits as usize + 1));
            all.task = all.task.max(columns(&line.task_words()));
            let (title, note) = (columns(&line.title), columns(&line.note_words()));
            let is_both = title > 0 && note > 0;
            let behind = evidence_columns(line);
            all.texts = all.texts.max(if is_both { 0 } else { title + note + behind });
            let note = note + behind;
            if is_both {
                (all.title, all.note) = (all.title.max(title), all.note.max(note));
            }
            for (most, part) in all.tail.iter_mut().zip(&line.tail) {
                *most = (*most).max(columns(part));
            }
        }
        let both = if all.note > 0 { all.title + GAP + all.note } else { 0 };
        all.texts = all.texts.max(both);
        match width {
            Some(width) => all.fitted(width, is_filled),
            None => all,
        }
    }

    fn fitted(mut self, width: usize, is_filled: bool) -> Self {
        let fixed = |all: &Self| {
            let tail: usize = all.tail.iter().filter(|taken| **taken > 0).map(|taken| taken + GAP).sum();
            let number = if all.number > 0 { all.number + GAP } else { 0 };
            number + 2 + all.task + GAP + tail
        };
        for (place, least) in TAIL.iter().enumerate().rev() {
            if fixed(&self) + self.texts.min(*least) > width {
                self.tail[place] = 0;
            }
        }
        if fixed(&self) + self.texts.min(TAIL[0]) > width {
            self.number = 0;
        }
        let room = width.saturating_sub(fixed(&self));
        self.texts = if is_filled { room } else { self.texts.min(room) };
        if self.title + GAP + self.note <= self.texts {
            self.note = self.texts - self.title - GAP;
        } else if self.texts < MIN_SHARED {
            self.note = 0;
        } else {
            // The cause is new with each row, the title is not.
            let third = self.texts.saturating_sub(GAP) / 3;
            self.title = self.title.min(self.texts.saturating_sub(GAP + self.note).max(third));
            self.note = self.texts - self.title - GAP;
        }
        self
    }

    /// The row in pieces, which are never wider than the screen.
    pub fn pieces(&self, line: &IterationLine<'_>, width: Option<usize>) -> Vec<(Look, String)> {
        let (look, mark) = line.outcome.map_or((Look::Accent, "●"), sign);
        let gap = " ".repeat(GAP);
        let mut pieces = Vec::new();
        if self.number > 0 {
            pieces.push((Look::Dim, format!("{:>1$}{gap}", line.number, self.number)));
        }
        pieces.push((look, [mark, " ", &padded(&line.task_words(), self.task), &gap].concat()));
        self.texts(line, &mut pieces);
        for (place, (text, taken)) in line.tail.iter().zip(self.tail).enumerate() {
            let lead = if place == COMMITS { 0 } else { taken.saturating_sub(columns(text)) };
            if taken > 0 {
                pieces.push((Look::Dim, [&gap, &*" ".repeat(lead), text].concat()));
            }
        }
        if let Some((_, last)) = pieces.last_mut() {
            last.truncate(last.trim_end().len());
        }
        match width {
            Some(width) => clipped(pieces, width),
            None => pieces,
        }
    }

    /// Title and cause: side by side where there is room for both, else the title; one that is alone has all of it.
    fn texts(&self, line: &IterationLine<'_>, pieces: &mut Vec<(Look, String)>) {
        let note = line.note_words();
        let look = match line.outcome {
            Some(Outcome::Failure) => Look::Bad,
            Some(Outcome::Success) | None => Look::Dim,
            Some(_) => Look::Warn,
        };
        if line.title.is_empty() {
            with_evidence(line, look, &note, self.texts, pieces);
        } else if note.is_empty() || self.note == 0 {
            let title = padded(&line.title, self.title);
            let is_wide =
                evidence_columns(line) > 0 && columns(&title) + evidence_columns(line) <= self.texts;
            with_evidence(line, Look::Plain, if is_wide { &title } else { &line.title }, self.texts, pieces);
        } else {
            pieces.push((Look::Plain, fitted(&line.title, self.title) + &" ".repeat(GAP)));
            with_evidence(line, look, &note, self.note, pieces);
        }
    }
}

/// Columns that the evidence of a row takes behind its text.
fn evidence_columns(line: &IterationLine<'_>) -> usize {
    let EvidenceWords { tests, flag } = &line.evidence;
    [tests, flag].iter().filter(|words| !words.is_empty()).map(|words| columns(words) + GAP).sum()
}

/// A text and the evidence behind it, in exactly `width` columns. The text keeps at least half of them.
fn with_evidence(
    line: &IterationLine<'_>,
    look: Look,
    text: &str,
    width: usize,
    pieces: &mut Vec<(Look, String)>,
) {
    let text = cut(text, width - evidence_columns(line).min(width / 2));
    let mut left = width.saturating_sub(columns(&text));
    pieces.push((look, text));
    let EvidenceWords { tests, flag } = &line.evidence;
    for (look, words) in [(Look::Dim, tests), (Look::Warn, flag)] {
        if !words.is_empty() && left > GAP {
            let words = cut(words, left - GAP);
            left -= GAP + columns(&words);
            pieces.push((look, " ".repeat(GAP) + &words));
        }
    }
    if let Some((_, last)) = pieces.last_mut() {
        last.push_str(&" ".repeat(left));
    }
}

fn padded(text: &str, width: usize) -> String {
    text.to_owned() + &" ".repeat(width.saturating_sub(columns(text)))
}

fn fitted(text: &str, width: usize) -> String {
    padded(&cut(text, width), width)
}

/// What a screen of so few columns has room for.
fn clipped(pieces: Vec<(Look, String)>, width: usize) -> Vec<(Look, String)> {
    let mut left = width;
    let mut clipped = Vec::new();
    for (look, text) in pieces {
        let taken = columns(&text);
        if taken > left {
            clipped.push((look, cut(&text, left)));
            break;
        }
        left -= taken;
        clipped.push((look, text));
    }
    clipped
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn failed_tail(made: Option<&str>) -> Tail {
        let cost = Cost { usd: Some(1.3), is_partial: false };
        tail(Some(218_000), cost, Timestamp::from_seconds(82_980), "0123456789abcdef", made)
    }

    fn failed() -> IterationLine<'static> {
        IterationLine {
            number: 7,
            outcome: Some(Outcome::Failure),
            task: "T004".into(),
            attempt: Some(2),
            title: "Set up the database schema and its migrations".into(),
            note: "connect ECONNREFUSED :5432".into(),
            tail: failed_tail(None),
            ..IterationLine::default()
        }
    }

    fn done() -> IterationLine<'static> {
        IterationLine {
            number: 12,
            outcome: Some(Outcome::Success),
            attempt: Some(1),
            note: "".into(),
            tail: failed_tail(Some("fedcba9876543210")),
            ..failed()
        }
    }

    fn text(pieces: &[(Look, String)]) -> String {
        pieces.iter().map(|(_, text)| text.as_str()).collect()
    }

    #[test]
    fn columns_go_by_their_priority_where_room_is_short() {
        let lines = [failed(), done()];
        for (width, expected) in [
            (
                None,
                " 7  ✘ T004 ×2  Set up the database schema and its migrations  connect ECONNREFUSED :5432  3m38  $1.30  23:03  0123456789\n\
                 12  ✔ T004     Set up the database schema and its migrations                              3m38  $1.30  23:03  0123456789 → fedcba9876",
            ),
            (
                Some(100),
                " 7  ✘ T004 ×2  Set up the database schema and its m…  connect ECONNREFUSED :5432  3m38  $1.30  23:03\n\
                 12  ✔ T004     Set up the database schema and its migrations                      3m38  $1.30  23:03",
            ),
            (
                Some(60),
                " 7  ✘ T004 ×2  Set up the …  connect ECONNREFUSED :54…  3m38\n\
                 12  ✔ T004     Set up the database schema and its mig…  3m38",
            ),
            (Some(36), " 7  ✘ T004 ×2  Set up the dat…  3m38\n12  ✔ T004     Set up the dat…  3m38"),
            (Some(24), "✘ T004 ×2  Set up the d…\n✔ T004     Set up the d…"),
            (Some(5), "✘ T0…\n✔ T0…"),
        ] {
            let columns = Columns::of(&lines, width, false);
            let rows: Vec<String> = lines.iter().map(|line| text(&columns.pieces(line, width))).collect();
            assert_eq!(rows.join("\n"), expected, "{width:?}");
        }
    }

    #[test]
    fn a_row_says_what_a_record_says_with_or_without_a_title() {
        for (outcome, subject, cause, expected) in [
            (Outcome::Success, "001-x: iteration 3, T004 done", None, ""),
            (Outcome::Success, "001-x: iteration 3, T003, T004 done", None, "T003, T004 done"),
            (
                Outcome::Success,
                "001-x: iteration 3, T004 still open, T005 done",
                None,
                "still open, T005 done",
            ),
            (Outcome::Failure, "001-x: iteration 3, T004 failed (make exited 2)", None, "make exited 2"),
            (Outcome::Failure, "001-x: iteration 3, T004 failed (a…)", Some("a b\x1b[31m\n"), "a b "),
            (Outcome::Skipped, "001-x: iteration 3, T004 skipped", None, "skipped"),
            (Outcome::Interrupted, "001-x: iteration x, T004", None, "001-x: iteration x, T004"),
        ] {
            let note = note(Some(outcome), "T004", subject, cause.map(Cow::Borrowed));
            assert_eq!(note, expected, "{subject}");
        }
        let bare = IterationLine { title: "".into(), ..done() };
        assert_eq!(text(&Columns::of([&bare], Some(20), false).pieces(&bare, Some(20))), "12  ✔ T004  done");
        let again = IterationLine { repeats: Some(4), title: "".into(), ..failed() };
        let row = text(&Columns::of([&again], Some(50), false).pieces(&again, Some(50)));
        assert!(row.contains("same as #4: connect ECON"), "{row}");
    }

    #[test]
    fn the_evidence_stands_behind_the_texts_and_leaves_them_half_of_the_room() {
        let evidence =
            |tests: &str, flag: &str| EvidenceWords { tests: tests.to_owned(), flag: flag.to_owned() };
        let lines = [
            IterationLine { evidence: evidence("12 tests", ""), ..failed() },
            IterationLine { evidence: evidence("41 tests", "⚑ 41 tests ran, 44 before +2"), ..done() },
            IterationLine { title: "Short".into(), evidence: evidence("no tests", ""), ..done() },
        ];
        for (width, expected) in [
            (
                None,
                " 7  ✘ T004 ×2  Set up the database schema and its migrations  connect ECONNREFUSED :5432  12 tests\n\
                 12  ✔ T004     Set up the database schema and its migrations  41 tests  ⚑ 41 tests ran, 44 before +2\n\
                 12  ✔ T004     Short                                          no tests",
            ),
            (
                Some(72),
                " 7  ✘ T004 ×2  Set up the databas…  connect ECONNREFUSED :5432  12 tests\n\
                 12  ✔ T004     Set up the database schema a…  41 tests  ⚑ 41 tests ran,…\n\
                 12  ✔ T004     Short                no tests",
            ),
        ] {
            let mut lines = lines.clone();
            for line in &mut lines {
                line.tail = Tail::default();
            }
            let columns = Columns::of(&lines, width, false);
            let rows: Vec<String> = lines.iter().map(|line| text(&columns.pieces(line, width))).collect();
            assert_eq!(rows.join("\n"), expected, "{width:?}");
        }
    }

    proptest! {
        #[test]
        fn no_row_is_wider_than_the_screen_or_steers_it(
            title in any::<String>(),
            note in any::<String>(),
            task in any::<String>(),
            attempt in any::<Option<u32>>(),
            number in any::<u32>(),
            flag in any::<String>(),
            width in 1_usize..200,
            is_filled in any::<bool>(),
        ) {
            let [task, title, note] = [task, title, note].map(|text| sanitized(Cow::Owned(text)));
            let evidence = EvidenceWords { tests: "41 tests".to_owned(), flag: sanitized(Cow::Owned(flag)).into_owned() };
            let odd = IterationLine { number, task, attempt, title, note, evidence, ..failed() };
            let lines = [odd, failed()];
            let shared = Columns::of(&lines, Some(width), is_filled);
            for line in &lines {
                let row = text(&shared.pieces(line, Some(width)));
                prop_assert!(columns(&row) <= width, "{}: {}", width, row);
                prop_assert!(!row.chars().any(char::is_control));
            }
        }
    }
}

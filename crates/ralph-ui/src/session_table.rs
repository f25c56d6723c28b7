//! All sessions in one table: the same columns and words in `sessions`, in the terminal UI and on the index page.

use serde::Serialize;

use ralph_core::record::{
    Cost, EndedBy, Limit, LogEntry, Need, NeedKind, RALPH, SessionId, SessionTotals, Status, StopReason,
    Summary, TaskName, join_truncated,
};

use ralph_core::view::SessionView;

use super::ending::{done, feature_name, limit_of, state};
use super::local_time::{day, short_day};
use super::needs::{answered, need_sign};
use super::style::{Look, Screen, columns, counted, cut, dollars, grouped, joined, one_line, padded, times};

/// Most names in a cell, and most things that need the user.
const MAX_NAMES: usize = 3;
const MAX_NEEDS: usize = 10;

/// The heads of the columns, and which of them have numbers.
const COLUMNS: [(&str, bool); 7] = [
    ("night", false),
    ("feature", false),
    ("", true),
    ("done", true),
    ("cost", true),
    ("failed", true),
    ("ended", false),
];

/// Between two columns.
const GAP: &str = "  ";

/// A session as a row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionRow {
    pub id: SessionId,
    pub status: Status,
    /// In the order of the columns.
    pub cells: [String; 7],
}

impl SessionRow {
    /// `ended` says how it ended.
    pub fn new(session: &SessionView, feature: &str, status: Status, ended: String) -> Self {
        let (totals, tasks) = (session.totals(), session.tasks());
        let cost = Cost { usd: totals.cost.usd, is_partial: false };
        let cells = [
            day(session.started_at()),
            one_line(feature_name(feature)),
            format!("+{}", grouped(totals.closed.len() as u64)),
            format!("{} of {}", grouped(tasks.done as u64), grouped((tasks.done + tasks.open) as u64)),
            cost.shown().unwrap_or_default(),
            format!("{} of {}", grouped(totals.failed as u64), grouped(totals.attempts as u64)),
            ended,
        ];
        Self { id: session.id.clone(), status, cells }
    }
}

/// What the record of a session says of its end.
#[derive(Debug, Clone, Copy)]
pub struct End {
    pub status: Status,
    pub reason: Option<StopReason>,
    pub limit: Option<Limit>,
    pub by: Option<EndedBy>,
}

impl End {
    /// As if nothing ran it.
    pub fn of_session(session: &SessionView) -> Self {
        let tip = session.deciding_record(|_| false);
        Self {
            status: tip.and_then(LogEntry::status).unwrap_or(Status::Interrupted),
            reason: tip.and_then(LogEntry::stop_reason),
            limit: tip.and_then(LogEntry::limit),
            by: tip.and_then(LogEntry::ended_by),
        }
    }

    /// `status` is that of the session by now.
    pub fn of(tip: &LogEntry, status: Status) -> Self {
        Self { status, reason: tip.stop_reason(), limit: tip.limit(), by: tip.ended_by() }
    }
}

/// How a session ended, in a cell: `all done`, `T009 asks`, `T003 fails`, `limit of cost`, `claude cannot be used`.
pub fn ended(end: &End, totals: &SessionTotals) -> String {
    let End { status, reason, limit, by } = *end;
    match (reason, limit) {
        _ if status == Status::Running => "running".to_owned(),
        (Some(StopReason::LimitReached), Some(limit)) => {
            format!("limit of {}", limit_of(limit, totals.attempts as u64))
        }
        (Some(StopReason::Completed), _) => "all done".to_owned(),
        (Some(StopReason::AgentUnusable), _) => "the agent cannot be used".to_owned(),
        (Some(StopReason::ValidationUnusable), _) => "the validation is broken".to_owned(),
        (Some(StopReason::Stuck), _) if !totals.asking.is_empty() || !totals.given_up.is_empty() => {
            let is_given_up = |task: &&TaskName| !totals.given_up.contains(task);
            let asking = totals.asking.iter().filter(is_given_up).map(|task| format!("{task} asks"));
            let failing = totals.given_up.iter().map(|task| format!("{task} fails"));
            one_line(&join_truncated(&asking.chain(failing).collect::<Vec<_>>(), MAX_NAMES))
        }
        _ => state(status, reason, by, &totals.given_up),
    }
}

/// `3 features · 19 of 21 tasks done · $51.24 over 8 nights · 2 questions wait`
pub fn verdict(features: &[&Summary]) -> Vec<String> {
    let sessions = features.iter().map(|feature| feature.starts).sum::<usize>();
    let states = features.iter().map(|feature| feature.tasks);
    let (all, finished) =
        states.fold((0, 0), |(all, finished), one| (all + one.total(), finished + one.done));
    let usd = features.iter().filter_map(|feature| feature.totals.cost.usd).reduce(|one, more| one + more);
    let sessions = counted(sessions as u64, "night");
    let needs = || features.iter().flat_map(|feature| &feature.needs_you);
    let asking = needs().filter(|need| need.why.waits_for_hint()).count();
    let others = needs().count() - asking;
    let several = |count: usize| if count == 1 { "s" } else { "" };
    let parts = [
        (features.len() > 1).then(|| counted(features.len() as u64, "feature")),
        Some(done(finished, all)),
        Some(usd.map_or_else(|| sessions.clone(), |usd| format!("{} over {sessions}", dollars(usd)))),
        (asking > 0).then(|| format!("{} wait{}", counted(asking as u64, "question"), several(asking))),
        (others > 0).then(|| format!("{} more need{} you", grouped(others as u64), several(others))),
    ];
    parts.into_iter().flatten().collect()
}

/// Something that only a person can settle, with how long and how often.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct WaitingNeed {
    pub feature: String,
    pub task: Option<TaskName>,
    /// `since 22 Nov, 4 times`; empty if it is not known.
    pub since: String,
}

/// Returns what needs the user in all features, the gravest first and then in their order.
pub fn needs<'a>(features: &[&'a Summary]) -> Vec<(&'a Need, WaitingNeed)> {
    let all = features.iter().flat_map(|feature| feature.needs_you.iter().map(|need| (*feature, need)));
    let mut all: Vec<_> = all
        .map(|(feature, need)| {
            let tried = need.task.as_ref().and_then(|task| feature.tried_since.get(task));
            let since = tried.map_or(String::new(), |(at, count)| {
                let often = if *count > 1 { format!(", {}", times(*count)) } else { String::new() };
                format!("since {}{often}", short_day(*at))
            });
            (need, WaitingNeed { feature: feature.feature.clone(), task: need.task.clone(), since })
        })
        .collect();
    all.sort_by_key(|(need, _)| need.why.rank());
    all
}

/// The verdict, what needs the user, and the rows, newest first.
pub fn lines(features: &[&Summary], rows: &[SessionRow], screen: Screen) -> Vec<String> {
    let mut lines = screen.parts("", &verdict(features));
    let needs = needs(features);
    if !needs.is_empty() {
        lines.push(String::new());
        lines.extend(needs.iter().take(MAX_NEEDS).map(|(need, of)| need_line(need, of, screen)));
        let more = needs.len().saturating_sub(MAX_NEEDS);
        lines.extend((more > 0).then(|| format!("  and {} more", grouped(more as u64))));
    }
    lines.extend(features.iter().flat_map(|feature| answered(feature, "  ", screen)));
    lines.push(String::new());
    lines.extend(table(rows, screen));
    let id = rows.first().filter(|_| screen.width < usize::MAX).map(|row| row.id.as_str());
    let wide =
        rows.first().is_some_and(|row| screen.width >= width(rows) + GAP.len() + columns(row.id.as_str()));
    lines.extend(id.filter(|_| !wide).map(|id| format!("\n  open one   {RALPH} log --session {id}")));
    lines
}

fn need_line(need: &Need, of: &WaitingNeed, screen: Screen) -> String {
    let (look, mark) = need_sign(need.why);
    let what = match need.why {
        NeedKind::Asks | NeedKind::Policy | NeedKind::Accept | NeedKind::Fails | NeedKind::Gone => {
            need.task.clone().unwrap_or_default()
        }
        _ => need.subject(),
    };
    let lead = format!("  {mark} {}  {}  ", one_line(feature_name(&of.feature)), one_line(&what));
    let cause = need.cause.as_deref().map(one_line).unwrap_or_default();
    let tail = if of.since.is_empty() { String::new() } else { format!("  {}", of.since) };
    let cause = screen.filled(&cause, columns(&lead) + columns(&tail), 20);
    let line = lead.replacen(mark, &screen.paint(look, mark), 1) + &cause + &tail;
    line.trim_end().to_owned()
}

/// Returns how wide each column is.
pub fn widths(rows: &[SessionRow]) -> [usize; 7] {
    let mut widths = COLUMNS.map(|(head, _)| columns(head));
    for row in rows {
        for (width, cell) in widths.iter_mut().zip(&row.cells) {
            *width = (*width).max(columns(cell));
        }
    }
    widths
}

fn width(rows: &[SessionRow]) -> usize {
    let widths = widths(rows);
    2 + widths.iter().sum::<usize>() + GAP.len() * (widths.len() - 1)
}

/// Returns the cells of a row in their columns; the last one is not padded.
pub fn aligned(cells: &[String; 7], widths: &[usize; 7]) -> String {
    let mut line = String::new();
    for (place, ((cell, width), (_, is_number))) in cells.iter().zip(widths).zip(COLUMNS).enumerate() {
        let blank = " ".repeat(width.saturating_sub(columns(cell)));
        match (place, is_number) {
            (6, _) => line.push_str(cell),
            (_, true) => line.push_str(&format!("{blank}{cell}{GAP}")),
            (_, false) => line.push_str(&format!("{}{GAP}", padded(cell, *width))),
        }
    }
    line
}

/// Returns the heads of the columns.
pub fn head(widths: &[usize; 7]) -> String {
    aligned(&COLUMNS.map(|(head, _)| head.to_owned()), widths)
}

/// With the ids where there is room for them.
fn table(rows: &[SessionRow], screen: Screen) -> Vec<String> {
    if screen.width == usize::MAX {
        let cells = |row: &SessionRow| joined(row.cells.iter().cloned().map(Some), "\t").unwrap_or_default();
        return rows.iter().map(|row| format!("{}\t{}", cells(row), row.id)).collect();
    }
    let widths = widths(rows);
    let has_ids =
        rows.first().is_some_and(|row| screen.width >= width(rows) + GAP.len() + columns(row.id.as_str()));
    let line = |text: String, id: &str| {
        let text = cut(&format!("  {text}"), screen.width);
        if has_ids { padded(&text, width(rows)) + GAP + id } else { text.trim_end().to_owned() }
    };
    let head = screen.paint(Look::Dim, line(head(&widths), "").trim_end());
    let rows = rows.iter().map(|row| line(aligned(&row.cells, &widths), row.id.as_str()));
    [head].into_iter().chain(rows).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::style::Paint;
    use ralph_core::record::samples::log_entries;
    use ralph_core::record::{Field, TaskStates, Timestamp};

    fn id(number: u32) -> SessionId {
        SessionId::new(Timestamp::from_seconds(1_795_294_626 + i64::from(number) * 86_400), number)
    }

    fn end(reason: StopReason, limit: Option<Limit>) -> End {
        End { status: reason.status(), reason: Some(reason), limit, by: None }
    }

    #[test]
    fn one_end_has_the_same_words_in_every_table() {
        let totals = SessionTotals {
            attempts: 4,
            asking: vec!["T009".to_owned()],
            given_up: vec!["T006".to_owned()],
            ..SessionTotals::default()
        };
        let nothing = SessionTotals::default();
        for (end, totals, expected) in [
            (end(StopReason::Completed, None), &nothing, "all done"),
            (end(StopReason::Stuck, None), &totals, "T009 asks, T006 fails"),
            (end(StopReason::Stuck, None), &nothing, "stopped (stuck)"),
            (end(StopReason::LimitReached, Some(Limit::Iterations)), &totals, "limit of 4 attempts"),
            (end(StopReason::LimitReached, Some(Limit::Cost)), &nothing, "limit of cost"),
            (end(StopReason::AgentUnusable, None), &nothing, "the agent cannot be used"),
            (End { status: Status::Running, reason: None, limit: None, by: None }, &nothing, "running"),
        ] {
            assert_eq!(ended(&end, totals), expected);
        }
    }

    #[test]
    fn needs_come_first_and_columns_are_aligned_in_any_width() {
        let need = |why, task: &str, cause: &str| Need {
            why,
            task: Some(task.to_owned()),
            cause: Some(cause.to_owned()),
            session: id(1),
            iteration: Some(7),
        };
        let invoices = Summary {
            feature: "specs/002-invoices".to_owned(),
            sessions: 1,
            starts: 1,
            tasks: TaskStates { done: 11, asks: 1, ..TaskStates::default() },
            needs_you: vec![need(NeedKind::Asks, "T009", "Which SMTP server should I use?")],
            tried_since: [("T009".to_owned(), (Timestamp::from_seconds(1_795_294_626), 4))].into(),
            ..Summary::default()
        };
        let search = Summary {
            feature: "specs/003-search".to_owned(),
            sessions: 1,
            starts: 1,
            tasks: TaskStates { done: 4, fails: 1, ..TaskStates::default() },
            needs_you: vec![need(NeedKind::Fails, "T005", "search › finds: expected 3, received 2")],
            ..Summary::default()
        };
        let row = |number, feature: &str, usd: Option<f64>, done: usize, ended: &str| {
            let mut entries = log_entries("T1- T1- T1- T1+ T2+ T3+");
            for entry in &mut entries {
                entry.set(Field::Tasks, format!("done={done} open={}", 5 - done));
                entry.set(Field::Started, (1_795_294_626 + i64::from(number) * 86_400) * 1000);
            }
            if let Some(usd) = usd {
                entries[0].set(Field::CostUsd, usd);
            }
            SessionRow::new(&SessionView::of(&id(number), entries), feature, Status::Failed, ended.to_owned())
        };
        let rows = [
            row(2, "specs/003-search", Some(10.33), 4, "T005 fails"),
            row(1, "specs/002-invoices", None, 0, "limit of 6 attempts"),
        ];
        let mut shown = String::new();
        for width in [80, 120, usize::MAX] {
            let screen = Screen { paint: Paint::Plain, width };
            let lines = lines(&[&search, &invoices], &rows, screen).join("\n");
            assert_eq!(lines.lines().find(|line| columns(line) > width), None, "{lines}");
            let name = if width == usize::MAX { "piped".to_owned() } else { format!("{width} columns") };
            shown += &format!("== {name}\n{lines}\n\n");
        }
        insta::assert_snapshot!(shown);
    }
}

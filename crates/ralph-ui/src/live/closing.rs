//! The last lines of a run: how far it came, what is not done and why, what changed, and what to type next.

use super::header::USUAL;
use crate::ending::{attempts, cost, ending, stuck};
use crate::evidence::flagged;
use crate::needs::{changed, false_claims, left_behind, spent};
use crate::style::{Count, Look, Paint, columns, cut, duration, one_line, tokens_told};
use ralph_core::record::{Changes, Closing, NotDone, RALPH, Session, Status, hint_command, join_truncated};

/// Most names that a line lists, and most tasks that are not done.
const MAX_NAMED: usize = 10;

/// Columns that a command has beside what its line leaves to words from outside.
const BESIDE: usize = 8;

/// How the lines are written.
#[derive(Debug, Clone, Copy)]
pub struct ClosingCard {
    pub paint: Paint,
    /// Longest piece of words from outside, in characters.
    pub width: usize,
    /// True if a command checks what agents say.
    pub is_validated: bool,
}

impl ClosingCard {
    pub fn lines(self, session: &Session, closing: &Closing) -> Vec<String> {
        let look = if session.status == Status::Completed { Look::Good } else { Look::Warn };
        let flagged = flagged(&closing.summary.flagged).map_or(String::new(), |tasks| format!(", {tasks}"));
        let ending = ending(session, stuck(&closing.not_done).as_deref());
        let mut lines = vec![self.paint.paint(look, &format!("{ending}{flagged}"))];
        lines.extend(closing.why.iter().map(|why| format!("  {}", one_line(why))));
        lines.extend(closing.hint.iter().map(|hint| format!("  hint: {}", one_line(hint))));
        lines.extend(totals(session, closing));
        lines.extend(closing.changes.map(changes));
        let left = left_behind(&closing.summary);
        lines.extend(
            left.iter().map(|line| format!("  {}", self.paint.paint(Look::Bad, &format!("! {line}")))),
        );
        for task in closing.not_done.iter().take(MAX_NAMED) {
            lines.extend(self.not_done(task));
        }
        let more = closing.not_done.len().saturating_sub(MAX_NAMED);
        lines.extend((more > 0).then(|| format!("  and {} more not done", Count(more as u64, "task"))));
        lines.extend(false_claims(&closing.false_claims).map(|claims| format!("  {claims}")));
        if !self.is_validated {
            let line = "nothing checks the agent's word: --validate CMD";
            lines.push(format!("  {}", self.paint.paint(Look::Warn, line)));
        }
        lines.extend(self.commits(closing));
        if !closing.unrecognised.is_empty() {
            lines.push("  boxes with unknown marks, which no agent will tick:".to_owned());
            let boxes = closing.unrecognised.iter();
            lines.extend(boxes.map(|line| format!("    {}", cut(&one_line(line), self.width))));
        }
        lines.push("  next:".to_owned());
        let next = next(session, closing);
        let longest = next.iter().map(|(command, _)| command.len()).max().unwrap_or_default();
        let widest = next.iter().map(|(_, does)| columns(does)).max().unwrap_or_default();
        let has_room = longest + widest <= self.width + BESIDE;
        lines.extend(next.iter().map(|(command, does)| {
            if has_room {
                format!("    {command:<longest$}  {}", self.dim(does))
            } else {
                format!("    {command}")
            }
        }));
        lines
    }

    /// Its name, how far it came, and the cause.
    fn not_done(self, task: &NotDone) -> Vec<String> {
        let (look, sign) = if task.is_skipped { (Look::Warn, "»") } else { (Look::Bad, "✘") };
        let state = match task {
            NotDone { is_skipped: true, .. } => "skipped",
            NotDone { asks: true, .. } => "asks",
            NotDone { .. } => "not done",
        };
        let title = cut(&one_line(&format!("{}  {}", task.task, task.title)), self.width);
        let mut lines = vec![
            format!("  {} {title}", self.paint.paint(look, sign)),
            format!("    {state} after {}", spent(task)),
        ];
        let cause = task.cause.iter().map(|cause| cut(&one_line(cause), self.width));
        lines.extend(cause.map(|cause| format!("    {}", self.paint.paint(Look::Bad, &cause))));
        lines
    }

    /// What `commit = "task"` did not commit.
    fn commits(self, Closing { uncommitted, left_out, .. }: &Closing) -> Vec<String> {
        let listed = |names: &[String]| one_line(&join_truncated(names, MAX_NAMED));
        let mut lines = Vec::new();
        if !uncommitted.is_empty() {
            let are = if uncommitted.len() == 1 {
                "is done, and its work is"
            } else {
                "are done, and their work is"
            };
            lines.push(format!("{} {are} not committed", listed(uncommitted)));
        }
        if !left_out.is_empty() {
            lines.push(format!("left out of the commits: {}", listed(left_out)));
        }
        lines.iter().map(|line| format!("  {}", self.paint.paint(Look::Warn, line))).collect()
    }

    fn dim(self, text: &str) -> String {
        self.paint.paint(Look::Dim, text)
    }
}

fn totals(session: &Session, closing: &Closing) -> Vec<String> {
    let mut lines = Vec::new();
    if session.loop_type != USUAL {
        lines.push(format!("  {} is {}", one_line(&session.artifact.path), session.artifact.status));
    }
    // From start to end, as on the page: what agents and validations took alone leaves out the waits.
    let span = session.ended_at.map_or(0, |at| session.started_at.ms_until(at));
    let time = if span > 0 { format!(", {} from start to end", duration(span)) } else { String::new() };
    let counted = closing.summary.session.as_ref().map(|part| &part.totals);
    let cost =
        counted.and_then(|totals| cost(&totals.cost)).map_or(String::new(), |cost| format!(", {cost}"));
    let attempts = counted.map_or_else(|| Count(0, "attempt").to_string(), attempts);
    let tokens = match &session.tokens {
        tokens if tokens.is_unknown() => String::new(),
        tokens => format!("\n  {}", tokens_told(tokens)),
    };
    lines.push(format!(
        "  {} done in {attempts}{time}{cost}{tokens}",
        Count(session.tasks_completed as u64, "task"),
    ));
    lines
}

fn changes(Changes { stat, uncommitted_files }: Changes) -> String {
    let committed = match uncommitted_files {
        0 if stat.files == 0 => String::new(),
        0 => ", all of it committed".to_owned(),
        _ => format!(", {} not committed", Count(uncommitted_files as u64, "file")),
    };
    format!("  {}{committed}", changed(stat))
}

/// The commands that follow from exactly this end, and what each does.
fn next(session: &Session, closing: &Closing) -> Vec<(String, &'static str)> {
    let id = &session.id;
    let mut next = Vec::new();
    next.extend(closing.next.iter().map(|command| (command.clone(), "bring it back")));
    // An answer is worth more than another look at a failure.
    let failed = closing
        .not_done
        .iter()
        .max_by_key(|task| (task.asks && !task.is_skipped, task.is_skipped, task.iteration));
    if let Some(failed) = failed {
        next.push((format!("{RALPH} show {id}:{}", failed.iteration), "why it failed"));
    }
    if session.status == Status::Completed {
        if closing.changes.is_some_and(|changes| changes.stat.files > 0) {
            next.push((format!("{RALPH} diff {id}:0 {id}:@ --stat"), "what changed in the code"));
        }
    } else {
        next.extend(failed.map(|task| {
            let does = if task.asks { "answer it" } else { "tell its next attempts something" };
            (hint_command(RALPH, &task.task), does)
        }));
        let resume = format!("{RALPH} resume {id}{}", session.budget().flags_to_go_on());
        // A hint that names it says what comes first.
        if !closing.hint.iter().any(|hint| hint.contains(&resume)) {
            next.push((resume, "go on from here"));
        }
    }
    next.push((format!("{RALPH} log --session {id}"), "every iteration"));
    next
}

#[cfg(test)]
mod tests {
    use super::*;
    use ralph_core::record::samples::session;
    use ralph_core::record::{
        CutShort, DiffStat, Interruption, SessionPart, SessionTotals, Summary, Timestamp,
    };

    fn text(session: &Session, closing: &Closing) -> String {
        ClosingCard { paint: Paint::Plain, width: 100, is_validated: true }.lines(session, closing).join("\n")
            + "\n"
    }

    /// Three attempts, and what was cut short.
    fn counted(session: &Session, cut_short: Vec<CutShort>) -> Summary {
        let totals = SessionTotals { attempts: 3, cut_short, ..SessionTotals::default() };
        Summary { session: Some(SessionPart { id: session.id.clone(), totals }), ..Summary::default() }
    }

    fn not_done(task: &str, is_skipped: bool) -> NotDone {
        NotDone {
            task: task.to_owned(),
            title: "Merge concurrent moves".to_owned(),
            is_skipped,
            asks: false,
            attempts: 3,
            cause: Some("rank 'a' instead of\n'b'".to_owned()),
            iteration: 7,
            cost_usd: Some(10.834),
            blocks: vec!["T020".to_owned(), "T023".to_owned()],
        }
    }

    #[test]
    fn a_night_that_ends_at_a_limit_says_what_is_done_what_is_not_and_how_to_go_on() {
        let mut ended = session("failed", Some("limit_reached"), (10, 35));
        ended.limit = Some(ralph_core::record::Limit::Iterations);
        let usage_limit = CutShort {
            session: ended.id.clone(),
            iteration: 4,
            task: None,
            by: Interruption::Limit,
            failure_class: None,
            ended_at: Timestamp::from_seconds(0),
            resumed_at: Some(Timestamp::from_seconds(3480)),
        };
        let closing = Closing {
            changes: Some(Changes {
                stat: DiffStat { files: 77, added: 1388, removed: 32 },
                uncommitted_files: 77,
            }),
            not_done: vec![not_done("T019", true)],
            false_claims: vec![10, 23],
            summary: counted(&ended, vec![usage_limit]),
            ..Closing::default()
        };
        let expected = "\
stopped at the limit of 10 runs, 10 of 45 tasks done
  1 task done in 3 attempts (usage limit, went on at 00:58), 1 h 0 min from start to end
  77 files changed, +1,388 −32 lines, 77 files not committed
  » T019  Merge concurrent moves
    skipped after 3 attempts, $10.83, blocks T020, T023
    rank 'a' instead of 'b'
  2 false claims caught: #10, #23
  next:
    specify ralph show 20260101-120000-00000001:7         why it failed
    specify ralph hint --task T019 'TEXT'                 tell its next attempts something
    specify ralph resume 20260101-120000-00000001         go on from here
    specify ralph log --session 20260101-120000-00000001  every iteration
";
        assert_eq!(text(&ended, &closing), expected);
    }

    #[test]
    fn a_line_is_there_only_where_there_is_something_to_say() {
        let done = session("completed", Some("completed"), (3, 0));
        let quiet = text(&done, &Closing { summary: counted(&done, Vec::new()), ..Closing::default() });
        assert!(
            quiet.starts_with(
                "all 3 tasks done\n  1 task done in 3 attempts, 1 h 0 min from start to end\n  next:\n"
            ),
            "{quiet}"
        );
        let unchecked = ClosingCard { paint: Paint::Plain, width: 60, is_validated: false };
        let unchecked = unchecked.lines(&done, &Closing::default()).join("\n");
        assert!(
            unchecked.contains("start to end\n  nothing checks the agent's word: --validate CMD\n"),
            "{unchecked}"
        );
        let changes = |files, uncommitted_files| Changes {
            stat: DiffStat { files, added: 1, removed: 0 },
            uncommitted_files,
        };
        for (changes, expected) in [
            (changes(0, 0), "  no file changed\n"),
            (changes(0, 2), "  no file changed, 2 files not committed\n"),
            (changes(1, 0), "  1 file changed, +1 −0 lines, all of it committed\n"),
            (changes(2, 1), "  2 files changed, +1 −0 lines, 1 file not committed\n"),
        ] {
            let told = text(&done, &Closing { changes: Some(changes), ..Closing::default() });
            assert!(told.contains(expected), "{told}");
        }
    }

    #[test]
    fn a_task_that_is_skipped_is_looked_at_before_one_that_failed_later() {
        let later = NotDone { iteration: 9, ..not_done("T020", false) };
        let closing = Closing { not_done: vec![not_done("T019", true), later], ..Closing::default() };
        let commands = next(&session("failed", Some("stuck"), (1, 2)), &closing);
        assert!(commands[0].0.ends_with("show 20260101-120000-00000001:7"), "{commands:?}");
    }
}

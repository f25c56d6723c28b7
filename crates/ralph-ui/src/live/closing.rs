//! The last lines of a run: how far it came, what needs the user and why, and what to type next.

use std::collections::BTreeSet;

use super::header::USUAL;
use crate::ending::{BEGAN_RED, attempts_and_failures, cut_short, left_open, verdict};
use crate::needs::{
    answered, broken, changed_and_committed, flagged, names, need_commands, need_sign, queued, scoped,
    show_command, validation, waiters, with_commands,
};
use crate::style::{
    Look, Screen, clock_span, columns, counted, grouped, in_runs, listed, one_line, task_title,
};
use ralph_core::record::{
    Closing, Cost, Need, NeedKind, NotDone, RALPH, Session, SessionTotals, Status, StopReason, Unfinished,
    hint_command,
};

/// Most names that a line lists, and most tasks that need the user.
const MAX_NAMED: usize = 10;

/// Between what a line says and the command that shows more of it.
const GAP: &str = "     ";

/// Returns the closing card. `is_validated` says that a command checks what agents say.
pub fn lines(session: &Session, closing: &Closing, is_validated: bool, screen: Screen) -> Vec<String> {
    let look = if session.status == Status::Completed { Look::Good } else { Look::Warn };
    let nothing = SessionTotals::default();
    let totals = closing.summary.session.as_ref().map_or(&nothing, |part| &part.totals);
    let mut first = verdict(session, closing);
    first.extend(totals.cost.usd.map(|usd| Cost::of(usd).to_string()));
    // As on the page: what agents and validations took alone leaves out the waits.
    let span = session.ended_at.map_or(0, |at| session.worked_ms(at));
    first.extend((span >= 1000).then(|| clock_span(span) + &in_runs(session.totals.runs)));
    let mut lines = Vec::new();
    let began_red = session.began_red(totals.succeeded);
    if began_red {
        lines.extend(screen.painted(Look::Warn, "", BEGAN_RED));
    }
    lines.extend(screen.paint_lines(look, &screen.parts("", &first)));
    lines.extend(validation(&closing.summary, began_red, "", screen));
    // Where no agent could work, that is said once.
    let is_unusable = session.stop_reason == Some(StopReason::AgentUnusable);
    let is_idle = is_unusable && totals.attempts == 0;
    if !is_idle {
        lines.extend(screen.hanging("", &attempts_and_failures(totals, &closing.summary)));
        lines.extend(screen.paint_lines(Look::Dim, &screen.parts("", &cut_short(totals))));
    }
    if session.loop_type != USUAL {
        let artifact = &session.artifact;
        lines.extend(screen.hanging("", &format!("{} is {}", one_line(&artifact.path), artifact.status)));
    }
    if let Some(changes) = closing.changes.filter(|changes| !is_idle || changes.stat.files > 0) {
        let words = changed_and_committed(changes);
        lines.extend(match changes.stat.files {
            0 => screen.hanging("", &words),
            _ => side_by_side(&words, Look::Dim, &format!("{RALPH} diff 0 .. --stat"), screen),
        });
    }
    if closing.is_untried {
        let words = format!("not tried in a clean checkout: {RALPH} verify");
        lines.extend(screen.painted(Look::Dim, "", &words));
    }
    let (mark, indent) = if is_unusable { ("! ", "  hint: ") } else { ("", "hint: ") };
    let why = closing.why.iter().flat_map(|why| screen.hanging(mark, &one_line(why)));
    lines.extend(why.flat_map(|line| screen.paint_start(Look::Bad, mark.trim_end(), vec![line])));
    lines.extend(closing.hint.iter().flat_map(|hint| screen.hanging(indent, &one_line(hint))));
    let is_said = |why| is_unusable && closing.why.is_some() && why == NeedKind::Agent;
    let lines_left = closing.changes.map_or(0, |changes| changes.stat.added);
    let left = (lines_left > 0 && totals.succeeded == 0 && session.lane.is_none()).then(|| {
        let are = if lines_left == 1 { "is" } else { "are" };
        format!("{} {are} in your work tree.", counted(lines_left, "line"))
    });
    let flags = session.budget().flags_to_go_on();
    let mut needy: Vec<&NotDone> =
        left_open(&closing.not_done, &closing.summary).filter(|task| task.needs_you()).collect();
    needy.sort_by_key(|task| task.is_skipped);
    let is_open_task = |need: &Need| need.task.is_some() && need.why != NeedKind::Gone;
    let is_first = |need: &Need| !is_open_task(need) && !is_said(need.why);
    // Those of the session come below, with more words.
    let is_earlier = |need: &Need| {
        is_open_task(need) && needy.iter().all(|task| need.task.as_deref() != Some(&*task.task))
    };
    let needs = |is_wanted: &dyn Fn(&Need) -> bool| {
        let rest = (left.as_deref(), flags.as_str());
        with_commands(&closing.summary, Some(&names(&closing.summary)), rest, is_wanted, screen)
    };
    let first = needs(&is_first);
    if !first.is_empty() {
        lines.push(String::new());
        lines.extend(first);
    }
    for task in needy.iter().take(MAX_NAMED) {
        lines.push(String::new());
        lines.extend(needing(task, closing, screen));
    }
    let more = needy.len().saturating_sub(MAX_NAMED);
    lines.extend((more > 0).then(|| format!("and {} more", counted(more as u64, "task"))));
    let earlier = needs(&is_earlier);
    if !earlier.is_empty() {
        lines.push(String::new());
        lines.extend(earlier);
    }
    let mut look = answered(&closing.summary, "", screen);
    look.extend(flagged(&closing.summary, Some(&names(&closing.summary)), "", screen));
    let facts = facts(closing, is_validated, screen);
    for part in [look, facts, next(session, closing, screen)].into_iter().filter(|part| !part.is_empty()) {
        lines.push(String::new());
        lines.extend(part);
    }
    lines
}

/// A task that needs the user: its name, what it took, why, what was tried, and what to do.
fn needing(task: &NotDone, closing: &Closing, screen: Screen) -> Vec<String> {
    let none = Unfinished::default();
    let unfinished = closing.unfinished.iter().find(|known| known.task == task.task).unwrap_or(&none);
    let asks = task.asks && !task.is_skipped;
    let need = closing.summary.needs_you.iter().find(|need| need.task.as_ref() == Some(&task.task));
    let given_up = need.map_or(NeedKind::Fails, |need| need.why);
    let (look, mark) = need_sign(if asks { NeedKind::Asks } else { given_up });
    let all = &closing.summary.totals;
    let (attempts, cost) = scoped(&task.task, task.attempts, task.cost_usd, all);
    let cost = if cost.is_empty() { cost } else { format!("{cost:>8}") };
    let cost = if cost.len() > 8 { format!("  {cost}") } else { cost };
    let mut tail = format!("  {attempts}{cost}");
    if screen.width == usize::MAX {
        tail = tail.replace("   ", "  ");
    }
    let name = one_line(&task.task);
    let title = one_line(task_title(&task.title));
    let title = screen.filled(&title, columns(mark) + columns(&name) + 3 + columns(&tail), 1);
    let mut lines = vec![format!("{} {name}  {title}{tail}", screen.paint(look, mark))];
    let cause = task.cause.as_deref().map_or(String::new(), one_line);
    let same = if unfinished.is_same && !asks { ", the same each time" } else { "" };
    let is_policy = given_up == NeedKind::Policy;
    let cause =
        if asks && !is_policy { format!("The agent asks: {cause}") } else { format!("{cause}{same}") };
    lines.extend(screen.painted(look, "  ", &cause));
    let facts = [
        listed(&unfinished.tried, MAX_NAMED).map(|tried| format!("Tried: {tried}.")),
        in_the_tree(unfinished),
        waiters(&closing.summary, &task.task).map(|names| format!("{names} for it.")),
    ];
    lines.extend(facts.iter().flatten().flat_map(|words| screen.hanging("  ", words)));
    let names = names(&closing.summary);
    let number = need.filter(|_| names.is_of_group()).and_then(|need| Some((&need.session, need.iteration?)));
    let name =
        number.map_or_else(|| task.iteration.to_string(), |(session, number)| names.name(session, number));
    let command = if asks { hint_command(RALPH, &task.task) } else { show_command(&task.task, &name) };
    let own = need.map(|need| need_commands(RALPH, &closing.summary, need, Some(&names))).unwrap_or_default();
    let commands = if own.is_empty() { vec![command] } else { own };
    lines.extend(commands.iter().map(|command| format!("  → {command}")));
    lines
}

/// What else a person should know.
fn facts(closing: &Closing, is_validated: bool, screen: Screen) -> Vec<String> {
    let mut lines = Vec::new();
    // What a broken validation said is said there.
    let broken = broken(&closing.summary);
    let is_said = |task: &NotDone| broken.is_some_and(|need| need.cause == task.cause);
    let tried = left_open(&closing.not_done, &closing.summary)
        .filter(|task| !task.needs_you() && task.attempts > 0 && !is_said(task));
    for task in tried.take(MAX_NAMED) {
        let cause = task.cause.as_deref().map_or(String::new(), |cause| format!(": {}", one_line(cause)));
        let attempts = counted(task.attempts as u64, "attempt");
        let words = format!("not done after {attempts}{cause}");
        lines.extend(screen.hanging(&format!("· {}  ", one_line(&task.task)), &words));
    }
    lines.extend(queued(&closing.summary, "", screen));
    let are = if closing.uncommitted.len() == 1 { "is done, and its" } else { "are done, and their" };
    let uncommitted = listed(&closing.uncommitted, MAX_NAMED);
    let left_out = listed(&closing.left_out, MAX_NAMED);
    let warnings = [
        ("!", uncommitted.map(|names| format!("{names} {are} work is not committed"))),
        ("!", left_out.map(|names| format!("left out of the commits: {names}"))),
        ("!", (!closing.logins.is_empty()).then(|| one_line(&closing.logins.join("; ")))),
        ("!", (!is_validated).then(|| "nothing checks the agent's word: --validate CMD".to_owned())),
    ];
    for (sign, words) in warnings {
        let lead = format!("{sign} ");
        lines.extend(words.iter().flat_map(|words| screen.painted(Look::Warn, &lead, words)));
    }
    if !closing.unrecognised.is_empty() {
        lines.extend(screen.hanging("! ", "boxes with unknown marks, which no agent will tick:"));
        let boxes = closing.unrecognised.iter();
        lines.extend(boxes.flat_map(|line| screen.hanging("    ", &one_line(line))));
    }
    lines
}

/// `then   specify ralph resume            look   specify ralph report --open`
fn next(session: &Session, closing: &Closing, screen: Screen) -> Vec<String> {
    let mut lines: Vec<String> = closing.next.iter().map(|command| format!("first  {command}")).collect();
    if let (Some(command), Some(branch)) = (&closing.merge, &session.branch) {
        lines.push(format!("on {}: {}", one_line(branch), one_line(command)));
    }
    let ci_files = listed(&closing.ci_files, MAX_NAMED);
    lines.extend(ci_files.map(|names| format!("changes what CI runs: {names}")));
    if let Some((need, number)) = broken(&closing.summary).and_then(|need| Some((need, need.iteration?))) {
        let name = names(&closing.summary).name(&need.session, number);
        let look = format!("look   {RALPH} show {name} --stderr");
        let is_changed = closing.changes.is_some_and(|changes| changes.stat.files > 0);
        let undo = format!("undo   {RALPH} restore 0");
        lines.extend(if is_changed && session.lane.is_none() {
            side_by_side(&look, Look::Plain, &undo, screen)
        } else {
            vec![look]
        });
        return lines;
    }
    let look = format!("look   {RALPH} report --open");
    let resume = format!("{RALPH} resume{}", session.budget().flags_to_go_on());
    // A hint that names it says what comes first.
    if session.status == Status::Completed || closing.hint.iter().any(|hint| hint.contains(&resume)) {
        lines.push(look);
    } else {
        lines.extend(side_by_side(&format!("then   {resume}"), Look::Plain, &look, screen));
    }
    lines
}

/// Two texts in a line, or in two where there is no room for that.
fn side_by_side(left: &str, look: Look, right: &str, screen: Screen) -> Vec<String> {
    let shown = screen.paint(look, right);
    if columns(left) + GAP.len() + columns(right) <= screen.width {
        vec![format!("{left}{GAP}{shown}")]
    } else {
        vec![left.to_owned(), shown]
    }
}

/// What became of what failed attempts changed.
fn in_the_tree(unfinished: &Unfinished) -> Option<String> {
    if unfinished.is_taken_back {
        return Some("Its changes were taken back.".to_owned());
    }
    let folders =
        unfinished.files.iter().map(|file| file.rsplit_once('/').map_or(&**file, |(folder, _)| folder));
    let folders: BTreeSet<&str> = folders.collect();
    let places = listed(&Vec::from_iter(folders), MAX_NAMED).unwrap_or_default();
    let are = if unfinished.lines == 1 { "line of it is" } else { "lines of it are" };
    (unfinished.lines > 0)
        .then(|| format!("{} unfinished {are} in your work tree ({places}).", grouped(unfinished.lines)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::style::Paint;
    use ralph_core::record::samples::session;
    use ralph_core::record::{
        Baseline, Changes, CostTotals, CutShort, DiffStat, Interruption, SessionPart, ShortNames, Summary,
        TestCounts, Timestamp, ValidationNow, WaitingTask,
    };

    fn text(session: &Session, closing: &Closing, width: usize) -> String {
        lines(session, closing, true, Screen { paint: Paint::Plain, width }).join("\n")
    }

    fn task(name: &str, title: &str, cause: &str) -> NotDone {
        NotDone {
            task: name.to_owned(),
            title: title.to_owned(),
            is_skipped: false,
            asks: false,
            attempts: 3,
            cause: Some(cause.to_owned()),
            iteration: 7,
            cost_usd: Some(8.794),
            blocks: Vec::new(),
        }
    }

    fn need(why: NeedKind, task: Option<&str>, session: &Session) -> Need {
        let task = task.map(str::to_owned);
        Need {
            why,
            task,
            cause: Some("sh: gone".to_owned()),
            session: session.id.clone(),
            iteration: Some(7),
        }
    }

    /// A session that ended with a task that asks and one that fails.
    fn sample() -> (Session, Closing) {
        let ended = session("failed", Some("stuck"), (31, 4));
        let usage_limit = CutShort {
            session: ended.id.clone(),
            iteration: 4,
            task: None,
            by: Interruption::Limit,
            failure_class: None,
            ended_at: Timestamp::from_seconds(0),
            resumed_at: Some(Timestamp::from_seconds(3480)),
        };
        let cost = CostTotals {
            usd: Some(67.19),
            failed_usd: Some(27.76),
            unreported_cut_short: 1,
            ..CostTotals::default()
        };
        let cut_short = vec![usage_limit];
        let totals = SessionTotals {
            attempts: 47,
            succeeded: 32,
            failed: 15,
            cut_short,
            cost,
            ..SessionTotals::default()
        };
        let waits = |task: &str| WaitingTask { task: task.to_owned(), dependency: "T019".to_owned() };
        let mut summary =
            Summary { sessions: 1, waiting: vec![waits("T020"), waits("T023")], ..Summary::default() };
        summary.causes.solved_attempts = 9;
        summary.needs_you =
            vec![need(NeedKind::Fails, Some("T019"), &ended), need(NeedKind::Asks, Some("T034"), &ended)];
        summary.session =
            Some(SessionPart { id: ended.id.clone(), names: ShortNames::alone(&ended.id), totals });
        let cause =
            "merge › converges: Expected: \"0|i00007:\", Received: \"0|i0000f:\" (src/live/merge.test.ts:42)";
        let merge = task("T019", "Merge concurrent moves of cards in src/live/merge.ts", cause);
        let export = task(
            "T034",
            "Export boards as CSV in src/export/csv.ts",
            "Semicolons or commas between the fields? The spec names both, so I left the box open.",
        );
        let tried = ["wall clock", "Lamport clocks"].map(str::to_owned).into();
        let closing = Closing {
            changes: Some(Changes {
                stat: DiffStat { files: 53, added: 1411, removed: 0 },
                uncommitted_files: 53,
            }),
            not_done: vec![NotDone { is_skipped: true, ..merge }, NotDone { asks: true, ..export }],
            unfinished: vec![
                Unfinished {
                    task: "T019".to_owned(),
                    is_same: true,
                    is_taken_back: true,
                    tried,
                    ..Unfinished::default()
                },
                Unfinished {
                    task: "T034".to_owned(),
                    files: vec!["src/export/csv.ts".to_owned(), "src/export/csv.test.ts".to_owned()],
                    lines: 82,
                    ..Unfinished::default()
                },
            ],
            summary,
            ..Closing::default()
        };
        (ended, closing)
    }

    #[test]
    fn a_night_says_what_is_done_what_needs_somebody_and_how_to_go_on() {
        let (session, closing) = sample();
        assert_eq!(
            text(&session, &closing, 80),
            "\
31 of 35 tasks done · 2 need you · $67.19 · 1 h 0 min
47 attempts, 15 failed, 9 of them solved later ($27.76 in failed ones); 1 cut
short reported no cost
usage limit, went on at 00:58
53 files +1,411 −0, not committed     specify ralph diff 0 .. --stat

? T034  Export boards as CSV                                  3 attempts   $8.79
  The agent asks: Semicolons or commas between the fields? The spec names both,
  so I left the box open.
  82 unfinished lines of it are in your work tree (src/export).
  → specify ralph hint --task T034 'TEXT'

✘ T019  Merge concurrent moves of cards                       3 attempts   $8.79
  merge › converges: Expected: \"0|i00007:\", Received: \"0|i0000f:\"
  (src/live/merge.test.ts:42), the same each time
  Tried: wall clock, Lamport clocks.
  Its changes were taken back.
  T020 and T023 wait for it.
  → specify ralph show T019

then   specify ralph resume     look   specify ralph report --open"
        );
        for width in [40, 56, 120] {
            let card = text(&session, &closing, width);
            let is_command = |line: &str| line.contains("specify ralph");
            let wide = card.lines().find(|line| columns(line) > width && !is_command(line));
            assert_eq!(wide, None, "{card}");
        }
        assert!(
            text(&session, &closing, usize::MAX)
                .contains("\n? T034  Export boards as CSV  3 attempts  $8.79\n")
        );
    }

    #[test]
    fn what_an_earlier_session_left_open_has_a_row_and_a_command() {
        let (session, mut closing) = sample();
        let earlier = ["T041", "T042"].map(|task| need(NeedKind::Asks, Some(task), &session));
        closing.summary.needs_you.extend(earlier);
        closing.summary.needs_you[3].why = NeedKind::Fails;
        let card = text(&session, &closing, 80);
        assert!(
            card.contains(
                "\n\n? T041  asks: sh: gone\n  → specify ralph hint --task T041 'TEXT'\n\
                 ✘ T042  sh: gone\n  → specify ralph show T042\n\n"
            ),
            "{card}"
        );
        // Those of the session are said once.
        assert_eq!(card.matches("T034  ").count(), 1, "{card}");
    }

    #[test]
    fn a_line_is_there_only_where_there_is_something_to_say() {
        let completed = session("completed", Some("completed"), (3, 0));
        assert_eq!(
            text(&completed, &Closing::default(), 80),
            "all 3 tasks done · 1 h 0 min\n0 attempts\n\nlook   specify ralph report --open"
        );
        let merge = Some("git switch main && git merge night".to_owned());
        let on_branch = Session { branch: Some("night".to_owned()), ..completed.clone() };
        let logins = vec!["claude's login looks wrong: kept at /l; yours may be used up".to_owned()];
        let ci_files = vec![".github/workflows/ci.yml".to_owned()];
        let closing = Closing { merge: merge.clone(), logins, ci_files, ..Closing::default() };
        let card = text(&on_branch, &closing, 80);
        assert!(
            card.contains("\n! claude's login looks wrong: kept at /l; yours may be used up\n"),
            "{card}"
        );
        assert!(
            card.contains("git merge night\nchanges what CI runs: .github/workflows/ci.yml\nlook"),
            "{card}"
        );
        let card = text(&on_branch, &Closing { merge, ..Closing::default() }, 80);
        assert!(card.contains("\n\non night: git switch main && git merge night\nlook   "), "{card}");
        let screen = Screen { paint: Paint::Plain, width: 60 };
        let unchecked = lines(&completed, &Closing::default(), false, screen).join("\n");
        assert!(
            unchecked.contains("\n\n! nothing checks the agent's word: --validate CMD\n\n"),
            "{unchecked}"
        );
        let mut limited = session("failed", Some("limit_reached"), (10, 35));
        limited.limit = Some(ralph_core::record::Limit::Iterations);
        let tried = NotDone { cost_usd: None, ..task("T011", "Sort", "no such\nfile") };
        let closing = Closing { not_done: vec![tried], ..Closing::default() };
        let card = text(&limited, &closing, 80);
        assert!(
            card.starts_with("10 of 45 tasks done · stopped at the limit of 10 attempts · 1 h 0 min\n"),
            "{card}"
        );
        assert!(card.contains("\n· T011  not done after 3 attempts: no such file\n"), "{card}");
        let red = Baseline { exit: 1, ..Baseline::default() };
        let began_red = Session { baseline: Some(red), ..session("failed", Some("stuck"), (0, 2)) };
        let card = text(&began_red, &Closing::default(), 80);
        assert!(
            card.starts_with("the validation failed before the first attempt\n0 of 2 tasks done"),
            "{card}"
        );
        let mut broken = session("failed", Some("validation_unusable"), (1, 2));
        broken.ended_at = None;
        let summary =
            Summary { needs_you: vec![need(NeedKind::Validation, None, &broken)], ..Summary::default() };
        let card = text(&broken, &Closing { summary, ..Closing::default() }, 80);
        assert!(card.starts_with("1 of 3 tasks done · the validation is broken\n"), "{card}");
        assert!(card.contains("\n! the validation is broken: sh: gone\n"), "{card}");
    }

    #[test]
    fn a_broken_validation_is_named_with_what_it_said_and_blames_no_task() {
        let broken = session("failed", Some("validation_unusable"), (0, 12));
        let cause = "npm error 404 Not Found - GET https://registry.example.com/jset";
        let validation = Need { cause: Some(cause.to_owned()), ..need(NeedKind::Validation, None, &broken) };
        let now = ValidationNow {
            passes: false,
            is_now: Some(true),
            session: broken.id.clone(),
            iteration: Some(7),
            is_resumption: false,
            tests: TestCounts::default(),
            passed_at_start: None,
            cause: Some(cause.to_owned()),
            command: Some("npx jset --ci".to_owned()),
            names: None,
        };
        let mut summary = Summary {
            needs_you: vec![validation],
            validation: Some(Box::new(now)),
            sessions: 1,
            ..Summary::default()
        };
        let totals = SessionTotals { attempts: 7, failed: 7, ..SessionTotals::default() };
        summary.session =
            Some(SessionPart { id: broken.id.clone(), names: ShortNames::alone(&broken.id), totals });
        let stat = DiffStat { files: 6, added: 205, removed: 0 };
        let why = "7 attempts at T001, T002, T003 failed alike, and the validation failed before them, too";
        let mut closing = Closing {
            why: Some(why.to_owned()),
            changes: Some(Changes { stat, uncommitted_files: 6 }),
            not_done: vec![task("T001", "One", cause), task("T009", "Nine", "something else")],
            summary,
            ..Closing::default()
        };
        let card = text(&broken, &closing, 120);
        assert_eq!(
            card.split_once("too\n").unwrap().1,
            format!(
                "\n! npx jset --ci    {cause}\n  No task is to blame, so none was given up. 205 lines are in your \
                 work tree.\n  → specify ralph resume --validate 'THE RIGHT COMMAND'\n\n\
                 · T009  not done after 3 attempts: something else\n\n\
                 look   specify ralph show 7 --stderr     undo   specify ralph restore 0"
            )
        );
        let card = text(&broken, &closing, 60);
        assert!(card.contains("\n! npx jset --ci\n  npm error 404 Not Found - GET\n  https://"), "{card}");
        // A task that was given up before is not said to be none.
        closing.summary.needs_you.push(need(NeedKind::Fails, Some("T002"), &broken));
        assert!(!text(&broken, &closing, 80).contains("No task is to blame"));
    }
}

//! What a session leaves to the user, and what it changed, in a line or few.

use ralph_core::record::{
    Changes, Cost, DiffStat, FlagCode, FlaggedTask, Need, NeedKind, OwnCommand, RALPH, SessionId,
    SessionTotals, ShortNames, Summary, ValidationNow, hint_command_of, join_truncated, last_words,
    work_of_command,
};

use super::evidence::FLAG;
use super::style::{Look, Screen, columns, counted, grouped, joined, listed, one_line};

/// Most tasks that have a line, and most names in a list.
const MAX_TASKS: usize = 4;

/// With which `resume` goes on where the validation is broken.
pub const ANOTHER_VALIDATION: &str = " --validate 'THE RIGHT COMMAND'";

/// Longest line of commands, in columns: it is not wrapped.
const MAX_COLUMNS: usize = 80;
const MAX_NAMED: usize = 10;

/// `2 wrong "done" caught: #10, #23`
pub fn false_claims(names: &[String]) -> Option<String> {
    let times = grouped(names.len() as u64);
    listed(names, MAX_NAMED).map(|numbers| format!("{times} wrong \"done\" caught: {numbers}"))
}

/// `53 files +1,411 −0, not committed`
pub fn changed_and_committed(Changes { stat, uncommitted_files }: Changes) -> String {
    let how = match uncommitted_files {
        0 if stat.files == 0 => String::new(),
        0 => ", committed".to_owned(),
        some if some == stat.files => ", not committed".to_owned(),
        some => format!(", {} not committed", counted(some as u64, "file")),
    };
    files_and_lines(stat) + &how
}

/// `53 files +1,411 −0`
pub fn files_and_lines(stat: DiffStat) -> String {
    match stat.files {
        0 => "no file changed".to_owned(),
        files => {
            format!("{} +{} −{}", counted(files as u64, "file"), grouped(stat.added), grouped(stat.removed))
        }
    }
}

/// `validation passes now: 32 tests, 2 at the start`; nothing if none ran, or where `is_said` that it failed from the start.
pub fn validation(summary: &Summary, is_said: bool, indent: &str, screen: Screen) -> Vec<String> {
    let is_said = |now: &ValidationNow| is_said && now.is_red_start() || broken(summary).is_some();
    let now = summary.validation.as_ref().filter(|now| !is_said(now));
    let lines = now.map(|now| {
        let look = if now.passes { Look::Plain } else { Look::Warn };
        screen.painted(look, indent, &one_line(&format!("validation {}", now.words())))
    });
    lines.unwrap_or_default()
}

/// Returns the need that the validation itself is; it says what the validation said last.
pub fn broken(summary: &Summary) -> Option<&Need> {
    summary.needs_you.iter().find(|need| need.why == NeedKind::Validation)
}

/// What needs you and is no task: of a broken validation its command, if that is known.
pub fn lead(summary: &Summary, need: &Need) -> String {
    let command = summary.validation.as_ref().and_then(|now| now.command.as_deref());
    command.filter(|_| need.why == NeedKind::Validation).map_or_else(|| need.subject(), one_line)
}

/// Says of a broken validation that it is no task's fault, where the session gave none up.
pub fn no_task_to_blame(summary: &Summary, need: &Need) -> Option<&'static str> {
    let given_up = |other: &Need| other.why.is_given_up() && other.session == need.session;
    let is_tried = need.why == NeedKind::Validation && need.iteration.is_some();
    (is_tried && !summary.needs_you.iter().any(given_up))
        .then_some("No task is to blame, so none was given up.")
}

/// `2 need you: T034 asks, T019 fails`; `None` if nothing does.
pub fn needs_you(summary: &Summary) -> Option<String> {
    let needs = &summary.needs_you;
    let names: Vec<String> = needs.iter().map(subject).collect();
    Some(format!("{}: {}", count_words(needs)?, join_truncated(&names, MAX_TASKS)))
}

/// `2 need you`; `None` if nothing does.
pub fn count_words(needs: &[Need]) -> Option<String> {
    let need = if needs.len() == 1 { "needs" } else { "need" };
    (!needs.is_empty()).then(|| format!("{} {need} you", grouped(needs.len() as u64)))
}

/// `T034 asks`, `T019 fails`
pub fn subject(need: &Need) -> String {
    let fails = if need.why == NeedKind::Fails { " fails" } else { "" };
    one_line(&format!("{}{fails}", need.subject()))
}

/// Returns a row for each of the first things that only a person can settle, for what waits for them, for what is answered, and
/// for what is flagged. `newest` are the names of the session that commands mean by themselves, or of its group.
pub fn rows(summary: &Summary, newest: Option<&ShortNames>, screen: Screen) -> Vec<String> {
    let all = &summary.needs_you;
    let mut rows = Vec::new();
    for need in all.iter().take(MAX_NAMED) {
        rows.extend(row(summary, need, "  ", screen));
        rows.extend(no_task_to_blame(summary, need).iter().flat_map(|words| screen.hanging("    ", words)));
        let commands = need_commands(RALPH, summary, need, newest);
        rows.extend(commands.iter().map(|command| format!("    → {command}")));
    }
    let more = all.len().saturating_sub(MAX_NAMED);
    rows.extend((more > 0).then(|| format!("  and {} more", grouped(more as u64))));
    let tasks = all.iter().filter_map(|need| need.task.as_ref());
    let waiting =
        tasks.filter_map(|task| Some(format!("{} for {}", waiters(summary, task)?, one_line(task))));
    rows.extend(waiting.flat_map(|line| screen.hanging("  · ", &line)));
    rows.extend(answered(summary, "  ", screen));
    rows.extend(queued(summary, "  ", screen));
    rows.extend(flagged(summary, newest, "  ", screen));
    rows
}

/// Returns the same for those that `is_wanted`, with what to do about each. `left` says what a session with a broken validation
/// left, `resume_flags` are those with which `resume` goes on.
pub fn with_commands(
    summary: &Summary,
    newest: Option<&ShortNames>,
    (left, resume_flags): (Option<&str>, &str),
    is_wanted: impl Fn(&Need) -> bool,
    screen: Screen,
) -> Vec<String> {
    let mut rows = Vec::new();
    for need in summary.needs_you.iter().filter(|need| is_wanted(need)).take(MAX_NAMED) {
        rows.extend(row(summary, need, "", screen));
        let fault = no_task_to_blame(summary, need);
        let words = fault
            .map(|words| joined([Some(words.to_owned()), left.map(str::to_owned)], " ").unwrap_or_default());
        rows.extend(words.iter().flat_map(|words| screen.hanging("  ", words)));
        let mut commands = need_commands(RALPH, summary, need, newest);
        match (need.why, &need.task) {
            (NeedKind::Validation, _) => {
                commands.push(format!("{RALPH} resume{resume_flags}{ANOTHER_VALIDATION}"));
            }
            (NeedKind::Asks, Some(task)) => commands.push(hint_command_of(RALPH, None, task)),
            (_, Some(task)) if commands.is_empty() => {
                let number = need.iteration.unwrap_or_default();
                let name = newest.map(|names| names.name(&need.session, number));
                commands.push(show_command(task, &name.unwrap_or_else(|| number.to_string())));
            }
            _ => {}
        }
        rows.extend(commands.iter().map(|command| format!("  → {command}")));
    }
    rows
}

/// Returns the commands of a need that is settled by a word of a person's: work that is gone, and what asks for acceptance.
pub fn need_commands(
    program: OwnCommand,
    summary: &Summary,
    need: &Need,
    newest: Option<&ShortNames>,
) -> Vec<String> {
    let feature = newest.is_none().then_some(summary.feature.as_str());
    match (need.why, need.task.as_deref()) {
        (NeedKind::Gone, Some(task)) => gone_commands(program, feature, task).to_vec(),
        (NeedKind::Accept, Some(task)) => {
            let [accept, _] = last_words(program, feature, task);
            let session = newest.is_none().then_some(&need.session);
            vec![accept, hint_command_of(program, session, task)]
        }
        _ => Vec::new(),
    }
}

/// Returns a row for each task that asked and has an answer: `→ T009  answered "mail.example.org": its next prompt has it`.
pub fn answered(summary: &Summary, indent: &str, screen: Screen) -> Vec<String> {
    let rows = summary.answered.iter().map(|task| {
        let lead = format!("{indent}→ {}  ", one_line(&task.task));
        screen.hanging(&lead, &one_line(&task.words()))
    });
    rows.flatten().collect()
}

/// Returns a row for the tasks whose results wait: `⊕ T003, T004  queued: the loop merges what is on the branch by now`.
pub fn queued(summary: &Summary, indent: &str, screen: Screen) -> Vec<String> {
    let tasks: Vec<&str> = summary.queued.iter().map(|queued| queued.task.as_str()).collect();
    if tasks.is_empty() {
        return Vec::new();
    }
    let lead = format!("{indent}⊕ {}  ", one_line(&join_truncated(&tasks, MAX_NAMED)));
    screen.hanging(&lead, "queued: the loop merges them with what is on the branch by now")
}

/// Returns rows for each of the first tasks that are done and flagged: what is flagged, whole, the command that shows it, and the one
/// that settles it; below them the other answer.
pub fn flagged(summary: &Summary, newest: Option<&ShortNames>, indent: &str, screen: Screen) -> Vec<String> {
    let all = &summary.flagged;
    let most = MAX_NAMED.max(never_left_out(all));
    let feature = newest.is_none().then_some(summary.feature.as_str());
    let mut rows = Vec::new();
    for task in all.iter().take(most) {
        // The words of work that is gone begin with the task.
        let is_gone = task.flags == [FlagCode::Gone];
        let name = if is_gone { String::new() } else { format!("{}  ", one_line(&task.task)) };
        let lead = format!("{indent}{FLAG} {name}");
        rows.extend(screen.painted(Look::Warn, &lead, &flag_words(task)));
        if is_gone {
            let commands = gone_commands(RALPH, feature, &task.task);
            rows.extend(commands.iter().map(|command| format!("{indent}  → {command}")));
            continue;
        }
        let diff = task.iteration.map(|number| diff_command(&task.session, number, newest));
        let [accept, _] = last_words(RALPH, feature, &task.task);
        let [diff, accept] = [diff.unwrap_or_default(), format!("right so: {accept}")];
        let line = format!("{indent}  → {diff}  {accept}");
        if columns(&line) <= screen.width.min(MAX_COLUMNS) {
            rows.push(line);
        } else {
            rows.extend([format!("{indent}  → {diff}"), format!("{indent}  {accept}")]);
        }
    }
    let mut flagged = all.iter().filter(|task| task.flags != [FlagCode::Gone]);
    let [first, second] = [flagged.next(), flagged.next()];
    rows.extend(first.map(|task| {
        let task = second.map_or(task.task.as_str(), |_| "TASK");
        let [_, reopen] = last_words(RALPH, feature, task);
        format!("{indent}  else: {reopen}")
    }));
    let more = all.len().saturating_sub(most);
    rows.extend(
        (more > 0).then(|| format!("{indent}and {} more: {RALPH} log --flagged", grouped(more as u64))),
    );
    rows
}

/// Returns how many of the flagged tasks are named however many there are: what runs without being asked for, and work that
/// is gone. They come first.
pub fn never_left_out(flagged: &[FlaggedTask]) -> usize {
    let is_grave = |code: &FlagCode| matches!(code, FlagCode::RunsByItself | FlagCode::Gone);
    flagged.iter().filter(|task| task.flags.iter().any(is_grave)).count()
}

/// `39 tests ran, 41 before +1`
pub fn flag_words(task: &FlaggedTask) -> String {
    let codes = || task.flags.iter().map(FlagCode::as_str).collect::<Vec<_>>().join(", ");
    let Some(text) = &task.text else { return codes() };
    let more = task.flags.len().saturating_sub(1);
    one_line(&if more > 0 { format!("{text} +{more}") } else { text.clone() })
}

/// Returns the commands about work that is gone: one brings it back, one says that it is right so.
pub fn gone_commands(program: OwnCommand, feature: Option<&str>, task: &str) -> [String; 2] {
    let [accept, _] = last_words(program, feature, task);
    [work_of_command(program, feature, task), accept]
}

/// Returns the command that shows what an attempt changed. `newest` are the names of the session that it means by itself.
pub fn diff_command(session: &SessionId, number: u32, newest: Option<&ShortNames>) -> String {
    let name = newest.map_or_else(|| format!("{session}:{number}"), |names| names.name(session, number));
    format!("{RALPH} diff {name}")
}

fn row(summary: &Summary, need: &Need, indent: &str, screen: Screen) -> Vec<String> {
    let (look, mark) = need_sign(need.why);
    let cause = need.cause.as_deref().map(one_line);
    let (name, words) = match (need.why, &need.task) {
        (NeedKind::Asks, Some(task)) => (Some(task), format!("asks: {}", cause.unwrap_or_default())),
        (NeedKind::Policy, Some(task)) => (Some(task), cause.unwrap_or_else(|| "is refused".to_owned())),
        (NeedKind::Accept, Some(task)) => {
            (Some(task), format!("asks for acceptance: {}", cause.unwrap_or_default()))
        }
        (NeedKind::Fails, Some(task)) => (Some(task), cause.unwrap_or_else(|| "given up".to_owned())),
        (NeedKind::Gone, _) => (None, cause.unwrap_or_else(|| need.subject())),
        _ if lead(summary, need) != need.subject() => {
            return broken_row(&lead(summary, need), &cause.unwrap_or_default(), indent, screen);
        }
        _ => (None, cause.map_or_else(|| need.subject(), |cause| format!("{}: {cause}", need.subject()))),
    };
    let name = name.map_or(String::new(), |name| format!("{}  ", one_line(name)));
    screen.paint_start(look, mark, screen.hanging(&format!("{indent}{mark} {name}"), &words))
}

/// `! npx jset --ci    npm error 404 Not Found`: in two lines where there is no room for one.
fn broken_row(command: &str, cause: &str, indent: &str, screen: Screen) -> Vec<String> {
    let (look, mark) = need_sign(NeedKind::Validation);
    let line = format!("{indent}{mark} {command}    {cause}").trim_end().to_owned();
    let lines = if columns(&line) <= screen.width {
        vec![line]
    } else {
        let mut lines = screen.hanging(&format!("{indent}{mark} "), command);
        lines.extend(screen.hanging(&format!("{indent}  "), cause));
        lines
    };
    screen.paint_start(look, mark, lines)
}

/// What a task took in a session, of what it took in all: `3 attempts` and `$3.91`, or `3 tonight, 6 in all` and
/// `$3.91 of $8.93`.
pub fn scoped(task: &str, attempts: usize, usd: Option<f64>, all: &SessionTotals) -> (String, String) {
    let all_attempts = all.task_attempts.get(task).copied().unwrap_or_default();
    let all_usd = all.task_costs.get(task).copied();
    if all_attempts <= attempts {
        let cost = usd.or(all_usd).map_or(String::new(), |usd| Cost::of(usd).to_string());
        return (counted(attempts as u64, "attempt"), cost);
    }
    let costs = [usd, all_usd].map(|usd| usd.map(|usd| Cost::of(usd).to_string()));
    let attempts = format!("{} tonight, {} in all", grouped(attempts as u64), grouped(all_attempts as u64));
    (attempts, joined(costs, " of ").unwrap_or_default())
}

/// The look and the sign of what needs the user: what asks, and what fails.
pub fn need_sign(why: NeedKind) -> (Look, &'static str) {
    match why {
        NeedKind::Asks | NeedKind::Policy | NeedKind::Accept => (Look::Warn, "?"),
        NeedKind::Fails | NeedKind::Gone => (Look::Bad, "✘"),
        NeedKind::Agent | NeedKind::Validation | NeedKind::Git | NeedKind::Files => (Look::Bad, "!"),
    }
}

/// `T020 and T023 wait`; `None` if nothing waits for the task.
pub fn waiters(summary: &Summary, task: &str) -> Option<String> {
    let waiting = summary.waiting.iter().filter(|waiting| waiting.dependency == task);
    let names: Vec<String> = waiting.map(|waiting| one_line(&waiting.task)).collect();
    match &*names {
        [] => None,
        [one] => Some(format!("{one} waits")),
        [one, other] => Some(format!("{one} and {other} wait")),
        many => Some(format!("{} wait", join_truncated(many, MAX_NAMED))),
    }
}

/// Returns the commands that bring a session on that is not completed, the first one first. `session` is set if commands
/// do not mean it by themselves; `resume_flags` are those with which `resume` goes on, each behind a blank.
pub fn next_commands(session: Option<&SessionId>, summary: &Summary, resume_flags: &str) -> Vec<String> {
    let asks = summary.needs_you.iter().find(|need| need.why.waits_for_hint());
    let fails = summary.needs_you.iter().find(|need| need.why == NeedKind::Fails);
    let validate = if broken(summary).is_some() { ANOTHER_VALIDATION } else { "" };
    let first = match (asks.and_then(|need| need.task.as_deref()), fails) {
        (Some(task), _) => Some(hint_command_of(RALPH, session, task)),
        (None, Some(Need { task: Some(task), iteration: Some(iteration), session: of, .. })) => {
            Some(match session {
                None => show_command(task, &names(summary).name(of, *iteration)),
                Some(_) => format!("{RALPH} show {of}:{iteration}"),
            })
        }
        (None, _) => {
            let accept = summary.needs_you.iter().find(|need| need.why == NeedKind::Accept);
            accept.and_then(|need| {
                need_commands(RALPH, summary, need, session.is_none().then_some(&names(summary)))
                    .into_iter()
                    .next()
            })
        }
    };
    let id = session.map_or(String::new(), |session| format!(" {session}"));
    first.into_iter().chain([format!("{RALPH} resume{id}{resume_flags}{validate}")]).collect()
}

/// Returns what attempts of the session that is shown, or of its group, are called.
pub fn names(summary: &Summary) -> ShortNames {
    summary.session.as_ref().map(|part| part.names.clone()).unwrap_or_default()
}

/// Returns the command that shows the last attempt at a task. `iteration` is its name.
pub fn show_command(task: &str, iteration: &str) -> String {
    // Other names may mean something else to a shell, or be those of commits.
    let is_plain =
        task.starts_with(|c: char| c.is_ascii_uppercase()) && task.chars().all(|c| c.is_ascii_alphanumeric());
    if is_plain { format!("{RALPH} show {task}") } else { format!("{RALPH} show {iteration}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stat_of_nothing_says_so() {
        assert_eq!(files_and_lines(DiffStat::default()), "no file changed");
        let stat = DiffStat::of([(Some(1388), Some(30)), (None, None), (None, Some(2))].into_iter());
        assert_eq!(files_and_lines(stat), "3 files +1,388 −32");
        assert_eq!(
            false_claims(&["#4".to_owned(), "#19".to_owned()]).as_deref(),
            Some("2 wrong \"done\" caught: #4, #19")
        );
        assert_eq!(false_claims(&[]), None);
    }

    #[test]
    fn a_task_of_several_nights_names_what_each_figure_is_of() {
        let all = |attempts, usd: Option<f64>| SessionTotals {
            task_attempts: [("T1".to_owned(), attempts)].into(),
            task_costs: usd.map(|usd| ("T1".to_owned(), usd)).into_iter().collect(),
            ..SessionTotals::default()
        };
        for (own, in_all, attempts, cost) in [
            ((3, Some(3.91)), (3, Some(3.91)), "3 attempts", "$3.91"),
            ((3, Some(3.91)), (6, Some(8.93)), "3 tonight, 6 in all", "$3.91 of $8.93"),
            ((0, None), (1, Some(2.0)), "0 tonight, 1 in all", "$2.00"),
            ((1, None), (1, None), "1 attempt", ""),
        ] {
            let said = scoped("T1", own.0, own.1, &all(in_all.0, in_all.1));
            assert_eq!((said.0.as_str(), said.1.as_str()), (attempts, cost));
        }
    }

    #[test]
    fn a_flag_is_whole_in_any_width_and_has_its_command() {
        let id: SessionId = "20260131-120000-00000000".parse().unwrap();
        let names = ShortNames::alone(&id);
        let task = |number: usize, flags: Vec<FlagCode>, text: Option<&str>| FlaggedTask {
            task: format!("T{number:03}"),
            session: id.clone(),
            iteration: Some(12),
            flags,
            text: text.map(str::to_owned),
        };
        let two = vec![
            task(2, vec![FlagCode::Config], Some("changed jest.config.js, which decides what runs")),
            task(4, vec![FlagCode::NoTests, FlagCode::Idle], None),
        ];
        let summary = Summary { flagged: two, ..Summary::default() };
        let screen = |width| Screen { paint: super::super::style::Paint::Plain, width };
        assert_eq!(
            flagged(&summary, Some(&names), "", screen(40)).join("\n"),
            "⚑ T002  changed jest.config.js, which\n        decides what runs\n  → specify ralph diff 12\n\
             \x20 right so: specify ralph accept T002\n\
             ⚑ T004  no-tests, idle\n  → specify ralph diff 12\n  right so: specify ralph accept T004\n\
             \x20 else: specify ralph reopen TASK"
        );
        let one = Summary { flagged: summary.flagged[..1].to_vec(), ..Summary::default() };
        let commands = "  → specify ralph diff 12  right so: specify ralph accept T002\n  else: specify ralph reopen T002";
        assert_eq!(flagged(&one, Some(&names), "", screen(80))[1..].join("\n"), commands);
        let older = flagged(&summary, None, "", screen(80));
        assert_eq!(older[1], "  → specify ralph diff 20260131-120000-00000000:12");
        let many: Vec<_> =
            (0..13).map(|number| task(number, vec![FlagCode::RunsByItself], Some("x"))).collect();
        let all = flagged(&Summary { flagged: many.clone(), ..Summary::default() }, None, "", screen(80));
        assert_eq!(all.len(), 3 * 13 + 1, "what runs by itself is never left out");
        let mild = many.into_iter().map(|task| FlaggedTask { flags: vec![FlagCode::Idle], ..task });
        let rows = flagged(&Summary { flagged: mild.collect(), ..Summary::default() }, None, "", screen(80));
        assert_eq!(rows.last().map(String::as_str), Some("and 3 more: specify ralph log --flagged"));
    }
}

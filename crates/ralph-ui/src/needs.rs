//! What a session leaves to somebody, and what it changed, in a line or few.

use ralph_core::record::{
    Changes, DiffStat, Need, NeedKind, RALPH, SessionId, Summary, hint_command, join_truncated,
};

use super::evidence::{FLAG, flagged};
use super::style::{Look, Screen, counted, grouped, listed, one_line};

/// Most tasks that have a line, and most names in a list.
const MAX_TASKS: usize = 4;
const MAX_NAMED: usize = 10;

/// `2 wrong "done" caught: #10, #23`
pub fn false_claims(iterations: &[u32]) -> Option<String> {
    let numbers: Vec<String> = iterations.iter().map(|number| format!("#{number}")).collect();
    let times = grouped(iterations.len() as u64);
    listed(&numbers, MAX_NAMED).map(|numbers| format!("{times} wrong \"done\" caught: {numbers}"))
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

/// Returns a row for each of the first things that only a person can settle, for what waits for them, and for what is flagged.
pub fn rows(summary: &Summary, screen: Screen) -> Vec<String> {
    let all = &summary.needs_you;
    let mut rows: Vec<String> = all.iter().take(MAX_NAMED).flat_map(|need| row(need, "  ", screen)).collect();
    let more = all.len().saturating_sub(MAX_NAMED);
    rows.extend((more > 0).then(|| format!("  and {} more", grouped(more as u64))));
    let tasks = all.iter().filter_map(|need| need.task.as_ref());
    let waiting =
        tasks.filter_map(|task| Some(format!("{} for {}", waiters(summary, task)?, one_line(task))));
    rows.extend(waiting.flat_map(|line| screen.hanging("  · ", &line)));
    if let Some(flagged) = flagged(&summary.flagged) {
        rows.extend(screen.painted(Look::Warn, &format!("  {FLAG} "), &flagged));
    }
    rows
}

/// Returns the same for what is no task.
pub fn others(summary: &Summary, screen: Screen) -> Vec<String> {
    let others = summary.needs_you.iter().filter(|need| need.task.is_none());
    others.take(MAX_NAMED).flat_map(|need| row(need, "", screen)).collect()
}

fn row(need: &Need, indent: &str, screen: Screen) -> Vec<String> {
    let (look, mark) = need_sign(need.why);
    let cause = need.cause.as_deref().map(one_line);
    let (name, words) = match (need.why, &need.task) {
        (NeedKind::Asks, Some(task)) => (Some(task), format!("asks: {}", cause.unwrap_or_default())),
        (NeedKind::Policy, Some(task)) => (Some(task), cause.unwrap_or_else(|| "is refused".to_owned())),
        (NeedKind::Fails, Some(task)) => (Some(task), cause.unwrap_or_else(|| "given up".to_owned())),
        _ => (None, cause.map_or_else(|| need.subject(), |cause| format!("{}: {cause}", need.subject()))),
    };
    let name = name.map_or(String::new(), |name| format!("{}  ", one_line(name)));
    screen.paint_start(look, mark, screen.hanging(&format!("{indent}{mark} {name}"), &words))
}

/// The look and the sign of what needs somebody: what asks, and what fails.
pub fn need_sign(why: NeedKind) -> (Look, &'static str) {
    match why {
        NeedKind::Asks | NeedKind::Policy => (Look::Warn, "?"),
        NeedKind::Fails => (Look::Bad, "✘"),
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
    let first = match (asks.and_then(|need| need.task.as_deref()), fails) {
        (Some(task), _) => Some(hint_command(RALPH, task)),
        (None, Some(Need { task: Some(task), iteration: Some(iteration), session: of, .. })) => {
            Some(match session {
                None => show_command(task, *iteration),
                Some(_) => format!("{RALPH} show {of}:{iteration}"),
            })
        }
        (None, _) => None,
    };
    let id = session.map_or(String::new(), |session| format!(" {session}"));
    first.into_iter().chain([format!("{RALPH} resume{id}{resume_flags}")]).collect()
}

/// Returns the command that shows the last attempt at a task.
pub fn show_command(task: &str, iteration: u32) -> String {
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
        assert_eq!(false_claims(&[4, 19]).as_deref(), Some("2 wrong \"done\" caught: #4, #19"));
        assert_eq!(false_claims(&[]), None);
    }
}

//! What a session leaves to somebody, and what it changed, in a line or few.

use ralph_core::record::{DiffStat, Need, NeedKind, NotDone, Summary, TaskName, join_truncated};

use super::style::{Count, grouped, one_line};

/// Most tasks that have a line, and most names in a list.
const MAX_TASKS: usize = 4;
const MAX_NAMED: usize = 10;

/// `77 files changed, +1,388 −32 lines`
pub fn changed(stat: DiffStat) -> String {
    match stat.files {
        0 => "no file changed".to_owned(),
        files => format!(
            "{} changed, +{} −{} lines",
            Count(files as u64, "file"),
            grouped(stat.added),
            grouped(stat.removed)
        ),
    }
}

/// `2 false claims caught: #10, #23`
pub fn false_claims(iterations: &[u32]) -> Option<String> {
    let numbers: Vec<String> = iterations.iter().map(|number| format!("#{number}")).collect();
    let claims = Count(iterations.len() as u64, "false claim");
    (!iterations.is_empty()).then(|| format!("{claims} caught: {}", join_truncated(&numbers, MAX_NAMED)))
}

/// What changed, and which claims were false; `None` if neither is known.
pub fn changes_and_claims(stat: Option<DiffStat>, claims: &[u32]) -> Option<String> {
    let parts: Vec<String> = stat.map(changed).into_iter().chain(false_claims(claims)).collect();
    (!parts.is_empty()).then(|| parts.join(" · "))
}

/// Returns a line for each of the first things that only a person can settle, with what waits for a task and its cause.
pub fn needs(summary: &Summary) -> Vec<String> {
    let all = &summary.needs_you;
    let line = |need: &Need| {
        let blocks = |task: &TaskName| {
            let waiting = summary.waiting.iter().filter(|waiting| waiting.dependency == *task);
            let names: Vec<&str> = waiting.map(|waiting| waiting.task.as_str()).collect();
            (!names.is_empty()).then(|| format!(" (blocks {})", join_truncated(&names, MAX_TASKS)))
        };
        let is_of_task = matches!(need.why, NeedKind::Asks | NeedKind::Fails);
        let blocks = need.task.as_ref().filter(|_| is_of_task).and_then(blocks).unwrap_or_default();
        let what = format!("{}{blocks}", need.subject());
        let cause = need.cause.as_ref().map_or(String::new(), |cause| format!(": {cause}"));
        one_line(&format!("{what}{cause}"))
    };
    let more = all.len().saturating_sub(MAX_TASKS);
    let more = (more > 0).then(|| format!("{} more", grouped(more as u64)));
    all.iter().take(MAX_TASKS).map(line).chain(more).collect()
}

/// Returns the same for what attempts left behind alone.
pub fn left_behind(summary: &Summary) -> Vec<String> {
    let is_left = |need: &&Need| matches!(need.why, NeedKind::Git | NeedKind::Files);
    let needs_you = summary.needs_you.iter().filter(is_left).cloned().collect();
    needs(&Summary { needs_you, ..Summary::default() })
}

/// `3 attempts, $10.83, blocks T020, T023`
pub fn spent(task: &NotDone) -> String {
    let attempts = Count(u64::from(task.attempts), "attempt");
    let cost = task.cost_usd.map_or(String::new(), |usd| format!(", ${usd:.2}"));
    let blocks = match task.blocks.as_slice() {
        [] => String::new(),
        names => format!(", blocks {}", one_line(&join_truncated(names, MAX_NAMED))),
    };
    format!("{attempts}{cost}{blocks}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use ralph_core::record::{SessionId, Timestamp, WaitingTask};

    fn need(why: NeedKind, task: Option<&str>, cause: Option<&str>) -> Need {
        Need {
            why,
            task: task.map(str::to_owned),
            cause: cause.map(str::to_owned),
            session: SessionId::new(Timestamp::from_seconds(0), 1),
            iteration: Some(7),
        }
    }

    #[test]
    fn what_needs_you_has_a_line_each() {
        let waits = |task: &str| WaitingTask { task: task.to_owned(), dependency: "T019".to_owned() };
        let mut summary = Summary {
            needs_you: vec![
                need(NeedKind::Fails, Some("T019"), Some("rank 'a'\ninstead of 'b'")),
                need(NeedKind::Asks, Some("T034"), Some("semicolons or commas?")),
                need(NeedKind::Validation, None, Some("sh: no such file")),
                need(NeedKind::Agent, None, None),
            ],
            waiting: vec![waits("T020"), waits("T023")],
            ..Summary::default()
        };
        let lines = [
            "T019 (blocks T020, T023): rank 'a' instead of 'b'",
            "T034 asks: semicolons or commas?",
            "the validation cannot be run: sh: no such file",
            "the agent cannot be used",
        ];
        assert_eq!(needs(&summary), lines);
        summary
            .needs_you
            .extend([need(NeedKind::Fails, Some("T1"), None), need(NeedKind::Fails, Some("T2"), None)]);
        assert_eq!(needs(&summary).last().map(String::as_str), Some("2 more"));
        assert!(needs(&Summary::default()).is_empty());
    }

    #[test]
    fn a_stat_of_nothing_says_so() {
        assert_eq!(changed(DiffStat::default()), "no file changed");
        let stat = DiffStat::of([(Some(1388), Some(30)), (None, None), (None, Some(2))].into_iter());
        let line = changes_and_claims(Some(stat), &[4, 19]);
        assert_eq!(
            line.as_deref(),
            Some("3 files changed, +1,388 −32 lines · 2 false claims caught: #4, #19")
        );
        assert_eq!(changes_and_claims(None, &[]), None);
    }
}

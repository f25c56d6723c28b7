//! What a session leaves to somebody, and what it changed, in a line or few.

use crate::record::{DiffStat, NotDone, join_truncated};

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

/// Returns a line for each of the first tasks that are not done, with what waits for it and its cause; none if all that were
/// tried are done.
pub fn needs(not_done: &[NotDone]) -> Vec<String> {
    let line = |task: &NotDone| match &task.cause {
        Some(cause) => format!("{}: {}", with_blocked(task), one_line(cause)),
        None => with_blocked(task),
    };
    let more = not_done.len().saturating_sub(MAX_TASKS);
    let more = (more > 0).then(|| format!("{} not done", Count(more as u64, "more task")));
    not_done.iter().take(MAX_TASKS).map(line).chain(more).collect()
}

/// `3 runs, $10.83, blocks T020, T023`
pub fn spent(task: &NotDone) -> String {
    let runs = Count(u64::from(task.attempts), "run");
    let cost = task.cost_usd.map_or(String::new(), |usd| format!(", ${usd:.2}"));
    let blocks = match task.blocks.as_slice() {
        [] => String::new(),
        names => format!(", blocks {}", one_line(&join_truncated(names, MAX_NAMED))),
    };
    format!("{runs}{cost}{blocks}")
}

/// `T019 (blocks T020, T023)`
fn with_blocked(task: &NotDone) -> String {
    match task.blocks.as_slice() {
        [] => one_line(&task.task),
        blocks => one_line(&format!("{} (blocks {})", task.task, join_truncated(blocks, MAX_TASKS))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn not_done(task: &str, blocks: &[&str], cause: Option<&str>) -> NotDone {
        NotDone {
            task: task.to_owned(),
            title: String::new(),
            is_skipped: true,
            attempts: 3,
            cause: cause.map(str::to_owned),
            iteration: 7,
            cost_usd: None,
            blocks: blocks.iter().map(|&name| name.to_owned()).collect(),
        }
    }

    #[test]
    fn each_task_that_is_not_done_has_a_line() {
        let tasks = [
            not_done("T019", &["T020", "T023"], Some("rank 'a'\ninstead of 'b'")),
            not_done("T034", &[], Some("semicolons or commas?")),
        ];
        assert_eq!(
            needs(&tasks),
            ["T019 (blocks T020, T023): rank 'a' instead of 'b'", "T034: semicolons or commas?"]
        );
        assert!(needs(&[]).is_empty());
        let many: Vec<NotDone> = (1..=6).map(|number| not_done(&format!("T{number}"), &[], None)).collect();
        assert_eq!(needs(&many), ["T1", "T2", "T3", "T4", "2 more tasks not done"]);
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

//! What a session leaves to somebody, and what it changed, in a line each.

use crate::record::{DiffStat, NotDone, join_truncated};

use super::style::{Count, columns, cut, grouped, one_line};

/// Most tasks that have a place, and most names in a list.
const MAX_TASKS: usize = 4;
const MAX_NAMED: usize = 10;
/// A cause that has less room says nothing, and one that has more says it all, in columns.
const MIN_CAUSE: usize = 16;
const GOOD_CAUSE: usize = 40;
const SEPARATOR: &str = " · ";

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

/// Returns the tasks that are not done, each with its cause, and what waits for it where there is room; `None` if all
/// that were tried are done.
pub fn needs(not_done: &[NotDone], width: Option<usize>) -> Option<String> {
    let shown = &not_done[..not_done.len().min(MAX_TASKS)];
    let more = not_done.len() - shown.len();
    let more = (more > 0).then(|| format!("{} not done", Count(more as u64, "more task")));
    let short: Vec<String> = shown.iter().map(|task| one_line(&task.task)).collect();
    let long: Vec<String> = shown.iter().map(with_blocked).collect();
    let room = |names: &[String]| {
        let taken: usize = names.iter().chain(&more).map(|part| columns(part) + columns(SEPARATOR)).sum();
        let each = width.map(|width| width.saturating_sub(taken).checked_div(shown.len()).unwrap_or(0));
        each.map_or(usize::MAX, |each| each.saturating_sub(": ".len()))
    };
    let names = if room(&long) < GOOD_CAUSE { short } else { long };
    let room = room(&names);
    let tasks = shown.iter().zip(names).map(|(task, name)| match &task.cause {
        Some(cause) if room >= MIN_CAUSE => format!("{name}: {}", cut(&one_line(cause), room)),
        Some(_) | None => name,
    });
    let parts: Vec<String> = tasks.chain(more.clone()).collect();
    (!parts.is_empty()).then(|| parts.join(SEPARATOR))
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
    fn causes_share_the_room_that_names_leave() {
        let tasks = [
            not_done("T019", &["T020", "T023"], Some("rank 'a'\ninstead of 'b', in every order of moves")),
            not_done("T034", &[], Some("semicolons or commas between the fields?")),
        ];
        for (width, expected) in [
            (
                None,
                "T019 (blocks T020, T023): rank 'a' instead of 'b', in every order of moves · T034: semicolons or commas between the fields?",
            ),
            (Some(80), "T019: rank 'a' instead of 'b', in ev… · T034: semicolons or commas between t…"),
            (Some(40), "T019 · T034"),
        ] {
            let line = needs(&tasks, width).unwrap();
            assert_eq!(line, expected, "{width:?}");
            assert!(width.is_none_or(|width| columns(&line) <= width));
        }
        assert_eq!(needs(&[], None), None);
        let many: Vec<NotDone> = (1..=6).map(|number| not_done(&format!("T{number}"), &[], None)).collect();
        assert_eq!(needs(&many, None).unwrap(), "T1 · T2 · T3 · T4 · 2 more tasks not done");
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

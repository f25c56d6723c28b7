//! What stands around the iterations of a page, as its template wants it.

use serde::Serialize;

use crate::local_time::local;
use crate::style::{Count, cut, duration, grouped, sign, size};
use ralph_core::history::clusters::Cluster;
use ralph_core::record::{CANONICAL, RALPH_ELSEWHERE, Status, StopReason, join_truncated};

use super::fit::Omissions;
use super::harmless::one_line;
use super::units::short;
use super::{Diff, Report};

/// Links to iterations behind one thing.
const MAX_LINKS: usize = 5;
/// Names in a row.
pub(super) const MAX_NAMES: usize = 12;
/// Rows of the causes of failures.
const MAX_CAUSES: usize = 100;
/// Tasks that can be picked from a list.
const MAX_PICKS: usize = 1000;
/// Longest quote, in characters.
const MAX_QUOTE_CHARS: usize = 300;

/// What the reader must know to judge the page. What stands in backticks is code.
pub(super) fn notes(report: &Report, left: Omissions) -> Vec<String> {
    let mut notes = Vec::new();
    if let Some(at) = &report.in_flight {
        let since = local(at.started_at);
        notes.push(format!("Iteration {} runs since {since}, and is not on this page.", at.iteration));
    }
    if !report.is_whole {
        notes.push(
            "This clone is shallow and has only the end of the session. `git fetch --unshallow origin \
             'refs/ralph/*:refs/ralph/*'` fetches the rest."
                .to_owned(),
        );
    }
    if report.iterations.iter().any(|iteration| iteration.diff == Diff::Missing(Diff::NOT_HERE)) {
        notes.push(
            format!("Some snapshots are not here, so what those iterations changed cannot be shown. `{RALPH_ELSEWHERE} sync \
             --snapshots` fetches them where somebody has them."),
        );
    }
    if left.iterations > 0 {
        notes.push(format!(
            "The oldest {} are left out to keep the page small. `--max-size` makes room for them; `{RALPH_ELSEWHERE} log \
             --session {}` lists all.",
            Count(left.iterations as u64, "iteration"),
            report.session.id
        ));
    }
    notes.extend(report.unreadable.iter().take(10).map(|why| format!("Left out: {}", one_line(why))));
    notes
}

/// What is cut, and how to see it. What stands in backticks is code.
pub(super) fn footer(left: Omissions) -> String {
    let size = size(left.cut_at as u64);
    let cut = are(left.cut, "text");
    match left.cut {
        0 => {
            "No prompt, answer or difference is cut. Of validations the decisive lines are shown.".to_owned()
        }
        _ if left.is_for_size => format!(
            "{cut} cut at {size} to keep the page small; each says so and how to see the rest. `{RALPH_ELSEWHERE} report \
             --max-size 50MiB` makes a bigger page."
        ),
        _ => {
            format!("{cut} cut at {size}; each says so and how to see the rest. `--max-part` moves the cut.")
        }
    }
}

pub(super) fn are(count: usize, what: &'static str) -> String {
    format!("{} {}", Count(count as u64, what), if count == 1 { "is" } else { "are" })
}

/// The newest, and how many more there are.
pub(super) fn links(iterations: &[u32]) -> (&[u32], Option<usize>) {
    let older = iterations.len().saturating_sub(MAX_LINKS);
    (&iterations[older..], (older > 0).then_some(older))
}

pub(super) fn quote(text: &str) -> String {
    cut(&one_line(text), MAX_QUOTE_CHARS)
}

#[derive(Serialize)]
pub(super) struct ClusterView<'a> {
    is_open: bool,
    times: String,
    times_in_words: String,
    message: String,
    tasks: String,
    links: &'a [u32],
    older: Option<usize>,
    solved_in: Option<u32>,
}

/// The causes of failures in a line each, and what is said of those that have no room.
pub(super) fn cluster_views(clusters: &[Cluster]) -> (Vec<ClusterView<'_>>, Option<String>) {
    let shown = clusters.iter().take(MAX_CAUSES).map(|cluster| {
        let (links, older) = links(&cluster.iterations);
        ClusterView {
            is_open: cluster.is_open,
            times: grouped(cluster.times as u64),
            times_in_words: Count(cluster.times as u64, "time").to_string(),
            message: quote(&cluster.message),
            tasks: join_truncated(&cluster.tasks, MAX_NAMES),
            links,
            older,
            solved_in: cluster.solved_in,
        }
    });
    let left_out = clusters.len().saturating_sub(MAX_CAUSES);
    let note = (left_out > 0).then(|| {
        format!("{} left out. {RALPH_ELSEWHERE} report --json has all.", are(left_out, "more cause"))
    });
    (shown.collect(), note)
}

/// Outcome, sign, word and count for each outcome that there is.
pub(super) fn chips(report: &Report) -> Vec<(String, &'static str, &'static str, usize)> {
    let there = report.counts.named().into_iter().filter(|(_, _, count)| *count > 0);
    there.map(|(outcome, word, count)| (outcome.to_string(), sign(outcome).1, word, count)).collect()
}

/// The tasks that were worked on.
pub(super) fn picks(report: &Report) -> Vec<&str> {
    let worked = report.tasks.iter().filter(|task| !task.iterations.is_empty());
    worked.map(|task| task.name.as_str()).take(MAX_PICKS).collect()
}

/// What is known of the session, by its name.
pub(super) fn facts(report: &Report) -> Vec<(&'static str, String)> {
    let Report { session, totals, .. } = report;
    let mut agents: Vec<&str> = vec![&session.agent];
    agents.extend(report.iterations.iter().map(|iteration| iteration.record.agent.as_str()));
    let mut models: Vec<&str> =
        report.iterations.iter().filter_map(|iteration| iteration.record.model.as_deref()).collect();
    for names in [&mut agents, &mut models] {
        names.sort_unstable();
        names.dedup();
        names.truncate(MAX_NAMES);
    }
    let version = session.agent_version.as_deref().filter(|_| agents.len() == 1).unwrap_or_default();
    let status = session.stop_reason.as_ref().map_or(session.status.as_str(), StopReason::as_str);
    let status =
        if session.status == Status::Running { "running".to_owned() } else { status.replace('_', " ") };
    let spent = |ms: Option<u64>| ms.map(duration).unwrap_or_default();
    let cached = totals.tokens.cache_read.map(|read| format!(", {} from the cache", short(read)));
    let tokens = totals.tokens.total().map(|total| short(total) + &cached.unwrap_or_default());
    [
        ("Session", session.id.to_string()),
        ("Ended", status),
        ("Branch", session.branch.clone().unwrap_or_else(|| "detached HEAD".to_owned())),
        ("Loop", session.loop_type.clone()),
        ("Agent", format!("{} {version}", agents.join(", ")).trim().to_owned()),
        ("Model", models.join(", ")),
        ("Iterations", report.counts.to_string()),
        ("Agents worked for", spent(totals.duration_ms.agent)),
        ("Validations ran for", spent(totals.duration_ms.validation)),
        ("Tokens", tokens.unwrap_or_default()),
        ("Most runs", grouped(u64::from(session.max_iterations))),
        ("Machine", session.host.clone()),
        ("Recorded by", format!("{CANONICAL} {}", session.tool_version)),
    ]
    .into_iter()
    .filter(|(_, value)| !value.is_empty())
    .collect()
}

/// The settings that say something.
pub(super) fn settings(report: &Report) -> Vec<(String, String)> {
    let settings = report.session.configuration.as_object().into_iter().flatten();
    let text = |value: &serde_json::Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let settings = settings.filter(|(_, value)| !value.is_null());
    settings.map(|(key, value)| (quote(key), quote(&text(value)))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn causes_that_have_no_room_are_counted() {
        let cluster = |tasks: usize| Cluster {
            fingerprint: None,
            is_known: true,
            message: "x".to_owned(),
            times: 1,
            tasks: (1..=tasks).map(|number| format!("T{number}")).collect(),
            iterations: vec![1],
            is_open: false,
            solved_in: Some(2),
        };
        let some = [cluster(1), cluster(12), cluster(13)];
        let (views, note) = cluster_views(&some);
        assert_eq!((views.len(), note), (3, None));
        assert!(views[2].tasks.ends_with("T12 and 1 more") && views[1].tasks.ends_with("T11, T12"));
        let many = vec![cluster(1); 101];
        let (views, note) = cluster_views(&many);
        assert_eq!(views.len(), 100);
        assert_eq!(note.as_deref(), Some("1 more cause is left out. specify ralph report --json has all."));
    }
}

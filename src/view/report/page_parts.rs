//! What stands around the iterations of a page, as its template wants it.

use minijinja::Value;
use serde::Serialize;

use crate::history::clusters::Cluster;
use crate::record::{CANONICAL, Outcome, RALPH_ELSEWHERE, Status, StopReason, TaskName};
use crate::view::style::{Count, duration, grouped, sign};

use super::chart;
use super::fit::{self, Omissions};
use super::harmless::{escape, one_line};
use super::units::{moment, short, size};
use super::{Diff, Report, State, TaskRow};

/// Links to iterations behind one thing.
const LINKS: usize = 5;
/// Names in a row.
const NAMES: usize = 12;
/// So few tasks are shown whole; of more, phases that are done are folded.
const FEW_TASKS: usize = 20;
/// Rows of the tables of tasks, and tables.
const TASKS: usize = 500;
/// Rows of the causes of failures.
const CAUSES: usize = 100;
/// Tries that are shown as signs.
const TRIES: usize = 12;
/// Tasks that can be picked from a list.
const PICKS: usize = 1000;
/// Longest quote, in characters.
const QUOTE: usize = 300;

#[derive(Serialize)]
pub(super) struct Figure {
    label: &'static str,
    value: String,
    note: Option<String>,
    bar: Value,
}

pub(super) fn figures(report: &Report) -> Vec<Figure> {
    let Report { session, counts, totals, .. } = report;
    let figure = |label, value, note| Figure { label, value, note, bar: Value::from("") };
    let mut figures = Vec::new();
    let all = session.tasks_done + session.tasks_remaining;
    if all > 0 {
        let before = session.tasks_done.saturating_sub(totals.closed);
        let now = session.tasks_done - before;
        let bar = format!(
            "<svg viewBox=\"0 0 {all} 1\" preserveAspectRatio=\"none\" aria-hidden=\"true\" focusable=\"false\"><rect \
             class=\"before\" width=\"{before}\" height=\"1\"/><rect class=\"now\" x=\"{before}\" width=\"{now}\" \
             height=\"1\"/></svg>"
        );
        let done = format!("{} of {}", grouped(session.tasks_done as u64), grouped(all as u64));
        let note = format!("{} in this session", grouped(totals.closed as u64));
        figures.push(Figure { bar: Value::from_safe_string(bar), ..figure("Tasks done", done, Some(note)) });
    }
    let mut ended = vec![format!("{} succeeded", counts.success), format!("{} failed", counts.failure)];
    ended.extend((counts.skipped > 0).then(|| Count(counts.skipped as u64, "skip").to_string()));
    ended.extend((counts.interrupted > 0).then(|| format!("{} cut short", counts.interrupted)));
    figures.push(figure("Iterations", grouped(u64::from(session.iterations_run)), Some(ended.join(", "))));
    let agent = totals.duration_ms.agent.unwrap_or_default();
    let validation = totals.duration_ms.validation.unwrap_or_default();
    figures.push(figure(
        "Time",
        duration(report.headline.span_ms.max(agent + validation)),
        Some(format!("agent {}, validation {}", duration(agent), duration(validation))),
    ));
    let cost = totals.cost.shown();
    match (totals.tokens.total(), cost) {
        (Some(total), cost) => {
            let cached = totals.tokens.cache_read.map(|read| format!("{} from the cache", short(read)));
            let note: Vec<String> = cost.into_iter().chain(cached).collect();
            figures.push(figure(
                "Tokens",
                short(total),
                Some(note.join(", ")).filter(|note| !note.is_empty()),
            ));
        }
        (None, Some(cost)) => figures.push(figure("Cost", cost, None)),
        (None, None) => {}
    }
    figures
}

/// What the reader must know to judge the page.
pub(super) fn notes(report: &Report, left: Omissions) -> Vec<Value> {
    let mut notes = Vec::new();
    if let Some(at) = &report.in_flight {
        let since = moment(at.started_at);
        notes.push(format!("Iteration {} runs since {since} UTC, and is not on this page.", at.iteration));
    }
    if !report.is_whole {
        notes.push(
            "This clone is shallow and has only the end of the session. `git fetch --unshallow origin \
             'refs/ralph/*:refs/ralph/*'` fetches the rest."
                .to_owned(),
        );
    }
    if report.iterations.iter().any(|turn| turn.diff == Diff::Missing(Diff::NOT_HERE)) {
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
    notes.iter().map(|note| with_code(note)).collect()
}

/// A text with what stands in backticks as code.
fn with_code(text: &str) -> Value {
    let mut html = String::new();
    for (place, part) in text.split('`').enumerate() {
        let part = escape(part);
        html.push_str(&if place % 2 == 0 { part } else { format!("<code>{part}</code>") });
    }
    Value::from_safe_string(html)
}

pub(super) fn footer(left: Omissions) -> Value {
    let size = size(left.cut_at as u64);
    let said = match left.cut {
        0 => {
            "No prompt, answer or difference is cut. Of validations the decisive lines are shown.".to_owned()
        }
        cut if left.is_for_size => format!(
            "{} cut at {size} to keep the page small; each says so and how to see the rest. `{RALPH_ELSEWHERE} report \
             --max-size 50MiB` makes a bigger page.",
            are(cut, "text")
        ),
        cut => format!(
            "{} cut at {size}; each says so and how to see the rest. `--max-part` moves the cut.",
            are(cut, "text")
        ),
    };
    with_code(&said)
}

fn are(count: usize, what: &'static str) -> String {
    format!("{} {}", Count(count as u64, what), if count == 1 { "is" } else { "are" })
}

#[derive(Serialize)]
pub(super) struct Noticed<'a> {
    level: &'static str,
    task: Option<&'a str>,
    what: &'a str,
    quote: Option<String>,
    links: &'a [u32],
    more: Option<usize>,
}

pub(super) fn attention(report: &Report) -> Vec<Noticed<'_>> {
    let found = report.attention.iter();
    found
        .map(|found| {
            let (links, more) = links(&found.iterations);
            Noticed {
                level: found.level.as_str(),
                task: found.task.as_deref(),
                what: &found.what,
                quote: found.quote.as_deref().map(quote),
                links,
                more,
            }
        })
        .collect()
}

/// The newest, and how many more there are.
fn links(iterations: &[u32]) -> (&[u32], Option<usize>) {
    let older = iterations.len().saturating_sub(LINKS);
    (&iterations[older..], (older > 0).then_some(older))
}

fn quote(text: &str) -> String {
    let line = one_line(text);
    match line.char_indices().nth(QUOTE) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line,
    }
}

#[derive(Serialize)]
pub(super) struct ChartsView {
    burn_down: Value,
    times: Value,
    tokens: Option<Value>,
    open_from: usize,
    open_to: usize,
    longest: String,
    most_tokens: String,
    has_cut: bool,
    has_skip: bool,
    a_column: &'static str,
    first: u32,
    last: u32,
    step: usize,
    columns: usize,
}

pub(super) fn charts(report: &Report) -> Option<ChartsView> {
    let (first, last) = (report.iterations.first()?, report.iterations.last()?);
    let charts = chart::of(&report.iterations, report.open_before);
    Some(ChartsView {
        burn_down: Value::from_safe_string(charts.burn_down),
        times: Value::from_safe_string(charts.times),
        tokens: charts.tokens.map(Value::from_safe_string),
        open_from: report.open_before,
        open_to: last.record.tasks_open,
        longest: duration(charts.longest_ms),
        most_tokens: short(charts.most_tokens),
        has_cut: report.counts.interrupted > 0,
        has_skip: report.counts.skipped > 0,
        a_column: if charts.step > 1 { "of a column " } else { "" },
        first: first.record.iteration,
        last: last.record.iteration,
        step: charts.step,
        columns: charts.columns,
    })
}

#[derive(Serialize)]
pub(super) struct PhaseView<'a> {
    name: &'a str,
    done: usize,
    all: usize,
    is_open: bool,
    tasks: Vec<TaskView<'a>>,
    /// Tasks that are counted and not shown.
    more: Option<String>,
}

#[derive(Serialize)]
struct TaskView<'a> {
    state: &'static str,
    mark: &'static str,
    said: &'static str,
    name: &'a str,
    text: &'a str,
    tries: String,
    tries_said: String,
    link: Option<u32>,
    time: String,
    tokens: String,
}

/// How much a reader misses a row: of what is open least can be left out.
fn weight(task: &TaskRow, is_phase_open: bool) -> usize {
    match task.state {
        State::Failing | State::Skipped => 0,
        State::Open => 1,
        State::Done | State::DoneBefore if is_phase_open => 2,
        State::Done | State::DoneBefore => 3,
    }
}

/// The tasks under their headings. All are counted; where there are too many to show, what is done goes first, and of
/// all phases alike.
pub(super) fn phases(tasks: &[TaskRow]) -> (Vec<PhaseView<'_>>, Option<String>) {
    let name = |task: &TaskRow| task.phase.as_deref().unwrap_or("Tasks").to_owned();
    let groups: Vec<&[TaskRow]> = tasks.chunk_by(|one, other| name(one) == name(other)).collect();
    let is_done = |task: &&TaskRow| matches!(task.state, State::Done | State::DoneBefore);
    let is_open = |group: &[TaskRow]| !group.iter().all(|task| is_done(&task));
    let mut room = TASKS;
    let mut shown = vec![[0; 4]; groups.len()];
    for class in 0..4 {
        let of_class =
            |group: &&[TaskRow]| group.iter().filter(|task| weight(task, is_open(group)) == class).count();
        let counts: Vec<usize> = groups.iter().map(of_class).collect();
        let most = fit::level(counts.clone(), room);
        for (shown, count) in shown.iter_mut().zip(counts) {
            shown[class] = count.min(most);
            room -= shown[class];
        }
    }
    let mut phases: Vec<PhaseView<'_>> = groups
        .iter()
        .zip(shown)
        .map(|(group, mut shown)| {
            let mut keep = |task: &&TaskRow| {
                let left = &mut shown[weight(task, is_open(group))];
                let is_kept = *left > 0;
                *left = left.saturating_sub(1);
                is_kept
            };
            let kept: Vec<TaskView<'_>> = group.iter().filter(|task| keep(task)).map(task_view).collect();
            let more = group.len() - kept.len();
            PhaseView {
                name: group[0].phase.as_deref().unwrap_or("Tasks"),
                done: group.iter().filter(is_done).count(),
                all: group.len(),
                is_open: tasks.len() <= FEW_TASKS || is_open(group),
                tasks: kept,
                more: (more > 0).then(|| format!("{} more", grouped(more as u64))),
            }
        })
        .collect();
    let count = phases.len();
    let mut spare = count.saturating_sub(TASKS);
    phases.retain(|phase| {
        let goes = spare > 0 && phase.done == phase.all;
        spare -= usize::from(goes);
        !goes
    });
    phases.truncate(TASKS);
    let left_out = count - phases.len();
    let note = (left_out > 0)
        .then(|| format!("{} left out. {RALPH_ELSEWHERE} tasks lists all.", are(left_out, "more phase")));
    (phases, note)
}

fn task_view(task: &TaskRow) -> TaskView<'_> {
    let (state, mark, said) = match task.state {
        State::Done => ("done", "✔", "done"),
        State::DoneBefore => ("done_before", "✔", "done before"),
        State::Skipped => ("skipped", "»", "skipped"),
        State::Failing => ("failing", "✘", "tried and open"),
        State::Open => ("open", "○", "open"),
    };
    let older = task.tries.len().saturating_sub(TRIES);
    let more = if older > 0 { "…" } else { "" };
    let signs: String = task.tries[older..].iter().map(|outcome| sign(*outcome).1).collect();
    let said_of = |outcome: Outcome, word: &str| {
        let count = task.tries.iter().filter(|one| **one == outcome).count();
        (count > 0).then(|| format!("{count} {word}"))
    };
    let tries_said = [
        said_of(Outcome::Failure, "failed"),
        said_of(Outcome::Success, "succeeded"),
        said_of(Outcome::Interrupted, "cut short"),
        said_of(Outcome::Skipped, "skipped"),
    ];
    TaskView {
        state,
        mark,
        said,
        name: &task.name,
        text: &task.text,
        tries: format!("{more}{signs}"),
        tries_said: tries_said.into_iter().flatten().collect::<Vec<_>>().join(", "),
        link: task.iterations.last().copied(),
        time: if task.duration_ms > 0 { duration(task.duration_ms) } else { String::new() },
        tokens: task.tokens.map(short).unwrap_or_default(),
    }
}

#[derive(Serialize)]
pub(super) struct ClusterView<'a> {
    state: &'static str,
    times: String,
    said: String,
    message: String,
    tasks: String,
    is: &'static str,
    links: &'a [u32],
    more: Option<usize>,
}

/// The causes of failures in a line each, and what is said of those that have no room.
pub(super) fn cluster_views(clusters: &[Cluster]) -> (Vec<ClusterView<'_>>, Option<String>) {
    let shown = clusters.iter().take(CAUSES).map(|cluster| {
        let (links, more) = links(&cluster.iterations);
        ClusterView {
            state: if cluster.is_open { "open" } else { "gone" },
            times: grouped(cluster.times as u64),
            said: Count(cluster.times as u64, "time").to_string(),
            message: quote(&cluster.message),
            tasks: names(&cluster.tasks),
            is: if cluster.is_open { "still open" } else { "solved" },
            links,
            more,
        }
    });
    let left_out = clusters.len().saturating_sub(CAUSES);
    let note = (left_out > 0).then(|| {
        format!("{} left out. {RALPH_ELSEWHERE} report --json has all.", are(left_out, "more cause"))
    });
    (shown.collect(), note)
}

/// The first names, and how many more there are.
fn names(tasks: &[TaskName]) -> String {
    let shown = if tasks.len() > NAMES { NAMES / 2 } else { tasks.len() };
    let mut told = tasks[..shown].join(", ");
    if tasks.len() > shown {
        told.push_str(&format!(" and {} more tasks", grouped((tasks.len() - shown) as u64)));
    }
    told
}

#[derive(Serialize)]
pub(super) struct Chip {
    outcome: String,
    mark: &'static str,
    label: &'static str,
    count: usize,
}

/// One for each outcome that there is.
pub(super) fn chips(report: &Report) -> Vec<Chip> {
    let counts = &report.counts;
    let all = [
        (Outcome::Failure, "failed", counts.failure),
        (Outcome::Success, "succeeded", counts.success),
        (Outcome::Skipped, "skipped", counts.skipped),
        (Outcome::Interrupted, "cut short", counts.interrupted),
    ];
    let there = all.into_iter().filter(|(_, _, count)| *count > 0);
    there
        .map(|(outcome, label, count)| Chip {
            outcome: outcome.to_string(),
            mark: sign(outcome).1,
            label,
            count,
        })
        .collect()
}

/// The tasks that were worked on.
pub(super) fn picks(report: &Report) -> Vec<&str> {
    let worked = report.tasks.iter().filter(|task| !task.iterations.is_empty());
    worked.map(|task| task.name.as_str()).take(PICKS).collect()
}

#[derive(Serialize)]
pub(super) struct Fact {
    label: String,
    value: String,
}

pub(super) fn facts(report: &Report) -> Vec<Fact> {
    let session = &report.session;
    let mut agents: Vec<&str> = vec![&session.agent];
    agents.extend(report.iterations.iter().map(|turn| turn.record.agent.as_str()));
    let mut models: Vec<&str> =
        report.iterations.iter().filter_map(|turn| turn.record.model.as_deref()).collect();
    for names in [&mut agents, &mut models] {
        names.sort_unstable();
        names.dedup();
        names.truncate(NAMES);
    }
    let version = session.agent_version.as_deref().filter(|_| agents.len() == 1).unwrap_or_default();
    let status = session.stop_reason.as_ref().map_or(session.status.as_str(), StopReason::as_str);
    let status =
        if session.status == Status::Running { "running".to_owned() } else { status.replace('_', " ") };
    [
        ("Session", session.id.to_string()),
        ("Ended", status),
        ("Branch", session.branch.clone().unwrap_or_else(|| "detached HEAD".to_owned())),
        ("Loop", session.loop_type.clone()),
        ("Agent", format!("{} {version}", agents.join(", ")).trim().to_owned()),
        ("Model", models.join(", ")),
        ("Most iterations", grouped(u64::from(session.max_iterations))),
        ("Machine", session.host.clone()),
        ("Recorded by", format!("{CANONICAL} {}", session.tool_version)),
    ]
    .into_iter()
    .filter(|(_, value)| !value.is_empty())
    .map(|(label, value)| Fact { label: label.to_owned(), value })
    .collect()
}

/// The settings that say something.
pub(super) fn settings(report: &Report) -> Vec<Fact> {
    let settings = report.session.configuration.as_object().into_iter().flatten();
    settings
        .filter(|(_, value)| !value.is_null())
        .map(|(key, value)| Fact {
            label: quote(key),
            value: quote(&value.as_str().map_or_else(|| value.to_string(), str::to_owned)),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `5x`: five tasks of a phase that are done; `3o`: open ones; `2s`: skipped ones.
    fn tasks(phases: &[&str]) -> Vec<TaskRow> {
        let row = |phase: usize, state: State| TaskRow {
            name: "T1".to_owned(),
            text: String::new(),
            phase: Some(format!("Phase {phase}")),
            state,
            tries: Vec::new(),
            iterations: Vec::new(),
            duration_ms: 0,
            tokens: None,
        };
        let words = phases.iter().enumerate().flat_map(|(phase, words)| {
            words.split_whitespace().map(move |word| (phase + 1, word.split_at(word.len() - 1)))
        });
        words
            .flat_map(|(phase, (count, state))| {
                let state = match state {
                    "x" => State::Done,
                    "s" => State::Skipped,
                    _ => State::Open,
                };
                vec![row(phase, state); count.parse().unwrap()]
            })
            .collect()
    }

    #[test]
    fn every_task_is_counted_and_what_is_open_is_shown() {
        for (words, expected) in [
            (&["2x", "1x 1o"][..], "2/2 2, 1/2 2"),
            (
                &["140x", "140x", "140x", "140x", "12x 128o"],
                "140/140 90 +50, 140/140 90 +50, 140/140 90 +50, 140/140 90 +50, 12/140 140",
            ),
            (&["600o 7s", "2x"], "0/607 500 +107, 2/2 0 +2"),
        ] {
            let rows = tasks(words);
            let (phases, note) = phases(&rows);
            let told = phases.iter().map(|phase| {
                let more = phase.more.as_deref().and_then(|more| more.split(' ').next());
                let more = more.map_or(String::new(), |more| format!(" +{more}"));
                format!("{}/{} {}{more}", phase.done, phase.all, phase.tasks.len())
            });
            assert_eq!((told.collect::<Vec<_>>().join(", ").as_str(), note), (expected, None));
        }
        let rows = tasks(&["600o 7s"]);
        let (phases, _) = phases(&rows);
        assert_eq!(phases[0].tasks.iter().filter(|task| task.state == "skipped").count(), 7);
    }

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
        };
        let some = [cluster(1), cluster(12), cluster(13)];
        let (views, note) = cluster_views(&some);
        assert_eq!((views.len(), note), (3, None));
        assert_eq!(views[2].tasks, "T1, T2, T3, T4, T5, T6 and 7 more tasks");
        assert!(views[1].tasks.ends_with("T11, T12"));
        let many = vec![cluster(1); 101];
        let (views, note) = cluster_views(&many);
        assert_eq!(views.len(), 100);
        assert_eq!(note.as_deref(), Some("1 more cause is left out. specify ralph report --json has all."));
    }

    #[test]
    fn of_very_many_phases_those_that_are_done_are_left_out() {
        let words: Vec<&str> = (0..700).map(|place| if place == 690 { "1o" } else { "1x" }).collect();
        let rows = tasks(&words);
        let (phases, note) = phases(&rows);
        assert_eq!((phases.len(), phases.iter().filter(|phase| phase.done == 0).count()), (500, 1));
        assert_eq!(note.as_deref(), Some("200 more phases are left out. specify ralph tasks lists all."));
    }
}

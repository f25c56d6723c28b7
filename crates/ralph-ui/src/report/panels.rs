//! What stands behind the tabs of a page: changes, failures, and what is known of the session.

use std::collections::BTreeSet;

use minijinja::value::Serde;
use minijinja::{Value, context};

use crate::local_time::local;
use crate::style::{counted, grouped, joined, tokens_told};
use ralph_core::history::clusters::folded;
use ralph_core::judge::is_test_file;
use ralph_core::record::{
    CANONICAL, FailureClass, FileStatus, Iteration, RALPH_ELSEWHERE, SandboxFacts, join_truncated,
};

use super::first_screen::words;
use super::fit::head;
use super::harmless::one_line;
use super::patch::{by_file, html};
use super::{ChangedFile, Report};

/// Rows of files, and of causes; names in a row.
const MAX_FILES: usize = 400;
const MAX_CAUSES: usize = 100;
const MAX_NAMES: usize = 12;
/// Longest patch of a file, in bytes of the page.
const MAX_PATCH_BYTES: usize = 32 << 10;

/// The files that changed, tests first, with at most so many bytes of their patches.
pub(super) fn changes(report: &Report, max_patches: usize) -> Option<Value> {
    let changes = report.changes.as_ref().filter(|changes| !changes.files.is_empty())?;
    let patches = changes.patch.as_ref().map(|patch| by_file(&patch.text)).unwrap_or_default();
    let (tests, others): (Vec<&ChangedFile>, Vec<&ChangedFile>) =
        changes.files.iter().take(MAX_FILES).partition(|file| is_test_file(&file.change.path));
    let mut room = max_patches;
    let mut groups = Vec::new();
    for (id, title, files) in [("tests", "Tests: review them first", tests), ("files", "Files", others)] {
        let files = files.into_iter().map(|file| {
            let whole = patches.get(file.change.path.as_str()).copied().unwrap_or_default();
            let patch = html(head(whole, room.min(MAX_PATCH_BYTES)));
            room = room.saturating_sub(patch.len());
            let notes = [
                (file.change.status == FileStatus::Deleted).then(|| "deleted".to_owned()),
                file.is_unfinished.then(|| "unfinished".to_owned()),
                (!file.tasks.is_empty()).then(|| one_line(&join_truncated(&file.tasks, MAX_NAMES))),
            ];
            context! {
                path => one_line(&file.change.path),
                note => joined(notes, " · "),
                added => file.change.added.map_or_else(|| "binary".to_owned(), |lines| format!("+{}", grouped(lines))),
                removed => file.change.removed.filter(|lines| *lines > 0).map(|lines| format!("−{}", grouped(lines))),
                patch => Value::from_safe_string(patch),
            }
        });
        let files: Vec<Value> = files.collect();
        if !files.is_empty() {
            groups.push(context! { id, title, files });
        }
    }
    let more = changes.files.len().saturating_sub(MAX_FILES);
    let id = &report.session.id;
    Some(context! {
        count => counted(changes.files.len() as u64, "file"),
        command => format!("{RALPH_ELSEWHERE} diff {id}:0 {id}:@"),
        more => (more > 0).then(|| counted(more as u64, "more file")),
        groups,
    })
}

/// The causes of failures, open ones first.
pub(super) fn failures(report: &Report) -> Option<Value> {
    let causes = folded(&report.clusters);
    let open = causes.iter().filter(|cause| cause.is_open).count();
    let counts = [(open, "open"), (causes.len() - open, "solved")];
    let counts = counts.map(|(count, word)| (count > 0).then(|| format!("{count} {word}")));
    let count = joined(counts, ", ")?;
    let list = causes.iter().take(MAX_CAUSES).map(|cause| {
        let mut records = report.iterations.iter().map(|one| &one.record);
        let is_question = records.any(|record| {
            cause.iterations.contains(&record.iteration)
                && record.failure_class.is_some_and(FailureClass::is_question)
        });
        let (class, state) = match (cause.is_open, is_question) {
            (true, true) => ("open ask", "not answered"),
            (true, false) => ("open", "still fails"),
            (false, true) => ("", "answered"),
            (false, false) => ("", "solved"),
        };
        context! {
            class, state,
            message => words(&cause.message),
            times => counted(cause.times as u64, "time"),
            tasks => join_truncated(&cause.tasks, MAX_NAMES),
            links => cause.iterations.clone(),
            solved_in => cause.solved_in,
        }
    });
    Some(context! { count, list => list.collect::<Vec<_>>() })
}

/// What is known of the session, by its name.
pub(super) fn about(report: &Report) -> Vec<(&'static str, String)> {
    let session = &report.session;
    let records = report.iterations.iter().map(|one| &one.record);
    let models: BTreeSet<&str> = records.clone().filter_map(|record| record.model.as_deref()).collect();
    let mut agents: BTreeSet<&str> = records.map(|record| &*record.agent).collect();
    if agents.is_empty() {
        agents.insert(&session.agent);
    }
    let [agents, models] =
        [agents, models].map(|names| join_truncated(&names.into_iter().collect::<Vec<_>>(), MAX_NAMES));
    let facts = [
        ("Session", session.id.to_string()),
        ("Started", local(session.started_at)),
        ("Branch", session.branch.clone().unwrap_or_else(|| "detached HEAD".to_owned())),
        (
            "Agent",
            format!("{agents} {}", session.agent_version.as_deref().unwrap_or_default()).trim().to_owned(),
        ),
        ("Lane", session.lane.map_or_else(String::new, |lane| lane.to_string())),
        ("Sandbox", session.sandbox.as_ref().map_or_else(|| "no sandbox".to_owned(), SandboxFacts::text)),
        ("Model", models),
        ("Limit", counted(u64::from(session.max_iterations), "attempt")),
        ("Tokens", tokens_told(&report.totals.tokens)),
        ("Machine", session.host.clone()),
        ("Recorded by", format!("{CANONICAL} {}", session.tool_version)),
    ];
    facts.into_iter().filter(|(_, value)| !value.is_empty()).collect()
}

/// What the agents learned and decided, each once with the attempt that said it first.
pub(super) fn lists(report: &Report) -> Value {
    Value::from(Serde([
        ("Learned", "learned", said_first(report, |record| &record.learnings)),
        ("Decided", "decided", said_first(report, |record| &record.decisions)),
    ]))
}

fn said_first(report: &Report, list: fn(&Iteration) -> &Vec<String>) -> Vec<(u32, String)> {
    let mut seen = BTreeSet::new();
    let records = report.iterations.iter().map(|one| &one.record);
    let all = records.flat_map(|record| list(record).iter().map(|item| (record.iteration, item)));
    let first = all.filter(|(_, item)| seen.insert(*item)).map(|(number, item)| (number, words(item)));
    first.take(MAX_CAUSES).collect()
}

//! What is behind the tabs of a page: changes, failures, and what is known of the session.

use std::collections::BTreeSet;

use indexmap::IndexMap;
use minijinja::value::Serde;
use minijinja::{Value, context};

use crate::evidence::FLAG;
use crate::local_time::local;
use crate::style::{counted, grouped, joined, tokens_by_kind};
use ralph_core::history::clusters::folded;
use ralph_core::judge::is_test_file;
use ralph_core::record::{
    CANONICAL, FailureClass, FileChange, FileStatus, Iteration, RALPH_ELSEWHERE, SandboxFacts,
    join_truncated, quoted_for_shell,
};

use super::first_screen::words;
use super::html_escape::one_line;
use super::patch::{by_file, html};
use super::size_budget::head;
use super::{Report, ReportedFile};

/// Rows of files, and of causes; names in a row.
const MAX_FILES: usize = 400;
const MAX_CAUSES: usize = 100;
const MAX_NAMES: usize = 12;
/// Longest patch of a file, in bytes of the page.
const MAX_PATCH_BYTES: usize = 32 << 10;

/// The files that flags of done tasks are about, each with what is flagged; also those that are gone by now, with who deleted
/// them.
fn flagged(report: &Report) -> IndexMap<&str, Vec<String>> {
    let mut found: IndexMap<&str, Vec<String>> = IndexMap::new();
    let flagged = report.summary.flagged.iter();
    let numbers = flagged.filter_map(|task| report.number_of(&task.session, task.iteration?));
    for number in numbers {
        let Some(one) = report.numbered(number) else { continue };
        for flag in one.record.flags() {
            for path in &flag.paths {
                let mut changes = one.record.facts.changes.iter();
                let is_deleted =
                    changes.any(|change| change.path == *path && change.status == FileStatus::Deleted);
                let notes = found.entry(path).or_default();
                notes.extend(is_deleted.then(|| format!("deleted in {}", report.name_of(number))));
                notes.push(format!("{FLAG} {}", words(&flag.text)));
            }
        }
    }
    found
}

/// The files that changed, flagged ones first and then tests, with at most so many bytes of their patches.
pub(super) fn changes(report: &Report, max_patches: usize) -> Option<Value> {
    let changes = report.changes.as_ref().filter(|changes| !changes.files.is_empty())?;
    let patches = changes.patch.as_ref().map(|patch| by_file(&patch.text)).unwrap_or_default();
    let flags = flagged(report);
    // What was there in between alone, or is as it was, is no change of the session.
    let gone = flags.keys().filter(|path| changes.files.iter().all(|file| file.change.path != **path));
    let gone = gone.map(|path| ReportedFile {
        change: FileChange { path: (*path).to_owned(), ..FileChange::default() },
        tasks: Vec::new(),
        is_unfinished: false,
    });
    let gone: Vec<ReportedFile> = gone.collect();
    let files = changes.files.iter().take(MAX_FILES).chain(&gone);
    let (look, files): (Vec<&ReportedFile>, Vec<_>) =
        files.partition(|file| flags.contains_key(file.change.path.as_str()));
    let (tests, others) = files.into_iter().partition(|file| is_test_file(&file.change.path));
    let mut room = max_patches;
    let mut groups = Vec::new();
    for (id, title, files) in [
        ("flagged", "Flagged: look at them first", look),
        ("tests", "Tests: review them before the code", tests),
        ("code", "Code", others),
    ] {
        let files = files.into_iter().map(|file| {
            let whole = patches.get(file.change.path.as_str()).copied().unwrap_or_default();
            let patch = html(head(whole, room.min(MAX_PATCH_BYTES)));
            room = room.saturating_sub(patch.len());
            let flagged = flags.get(file.change.path.as_str());
            let notes = [
                (file.change.status == FileStatus::Deleted && flagged.is_none()).then(|| "deleted".to_owned()),
                file.is_unfinished.then(|| "unfinished".to_owned()),
                (!file.tasks.is_empty()).then(|| one_line(&join_truncated(&file.tasks, MAX_NAMES))),
                flagged.map(|notes| notes.join(" · ")),
            ];
            let is_change = gone.iter().all(|one| one.change.path != file.change.path);
            context! {
                path => one_line(&file.change.path),
                note => joined(notes, " · "),
                added => is_change.then(|| file.change.added.map_or_else(|| "binary".to_owned(), |lines| format!("+{}", grouped(lines)))),
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
        command => match report.session.branch.as_ref().filter(|_| report.is_group()) {
            Some(branch) => format!("git diff ...{}", quoted_for_shell(branch)),
            None => format!("{RALPH_ELSEWHERE} diff {id}:0 {id}:@"),
        },
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
    let labels = report.iterations.iter().filter_map(|one| one.label.split_once(':'));
    let lanes: BTreeSet<&str> = labels.map(|(lane, _)| lane).collect();
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
        if report.is_group() {
            ("Lanes", lanes.into_iter().collect::<Vec<_>>().join(", "))
        } else {
            ("Lane", session.lane.map_or_else(String::new, |lane| lane.to_string()))
        },
        ("Sandbox", session.sandbox.as_ref().map_or_else(|| "no sandbox".to_owned(), SandboxFacts::text)),
        ("Model", models),
        ("Limit", counted(u64::from(session.max_iterations), "attempt")),
        ("Tokens", tokens_by_kind(&report.totals.tokens)),
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

#[cfg(test)]
mod tests {
    use super::super::samples::{iterations, report};
    use super::super::{SessionChanges, first_screen};
    use super::*;
    use ralph_core::record::samples::session;
    use ralph_core::record::{Evidence, Flag, FlagCode, FlaggedTask, TaskStates};

    fn groups(report: &Report) -> String {
        let values = changes(report, 1000).unwrap();
        let environment = minijinja::Environment::new();
        let template = "{% for group in groups %}{{ group.id }}:{% for file in group.files %} {{ file.path }} ({{ file.note or \"\" }}){% endfor %}\n{% endfor %}";
        environment.render_str(template, values).unwrap()
    }

    #[test]
    fn changes_are_what_is_flagged_then_tests_then_code() {
        let mut all = iterations("T1+ T2+");
        for one in &mut all {
            one.record.files_changed.clear();
        }
        let change =
            |path: &str| FileChange { path: path.to_owned(), added: Some(2), ..FileChange::default() };
        let files = ["src/a.ts", "tests/a.test.ts", "jest.config.js"].map(change).to_vec();
        let mut plain = report(all.clone(), "- [x] T1 One\n- [x] T2 Two\n");
        plain.changes = Some(SessionChanges::new(files.clone(), None, &all));
        // Settings are reviewed between tests and code.
        let mut good = report(all.clone(), "- [x] T1 One\n- [x] T2 Two\n");
        good.session = session("completed", Some("completed"), (2, 0));
        (good.summary.tasks, good.summary.needs_you) =
            (TaskStates { done: 2, ..TaskStates::default() }, Vec::new());
        good.changes = Some(SessionChanges::new(files.clone(), None, &all));
        let review = first_screen::review(&good);
        let rows: Vec<String> = review
            .iter()
            .map(|row| format!("{}: {}", row.get_attr("what").unwrap(), row.get_attr("more").unwrap()))
            .collect();
        assert_eq!(
            rows,
            [
                "Tests: 1 file +2 −0 that agents wrote or changed",
                "Settings: jest.config.js, which decides what runs",
                "Code: 1 file +2 −0, largest: src/a.ts",
            ]
        );
        // Without flags nothing comes before the tests.
        assert_eq!(groups(&plain), "tests: tests/a.test.ts ()\ncode: src/a.ts () jest.config.js ()\n");
        let record = &mut all[1].record;
        let flag =
            |code, text: &str, path: &str| Flag { code, text: text.to_owned(), paths: vec![path.to_owned()] };
        let flags = vec![
            flag(FlagCode::Undid, "undid T1", "src/b.ts"),
            flag(FlagCode::Config, "changed jest.config.js", "jest.config.js"),
        ];
        record.evidence = Some(Box::new(Evidence { flags, ..Evidence::default() }));
        // It was made and deleted in the session: no change of it.
        record.facts.changes = vec![FileChange {
            path: "src/b.ts".to_owned(),
            status: FileStatus::Deleted,
            ..FileChange::default()
        }];
        let session = record.session.clone();
        let mut flagged = report(all.clone(), "- [x] T1 One\n- [x] T2 Two\n");
        flagged.session.id = session.clone();
        flagged.changes = Some(SessionChanges::new(files, None, &all));
        flagged.summary.flagged = vec![FlaggedTask {
            task: "T2".to_owned(),
            session,
            iteration: Some(2),
            flags: vec![FlagCode::Undid, FlagCode::Config],
            text: Some("undid T1".to_owned()),
        }];
        assert_eq!(
            groups(&flagged),
            "flagged: jest.config.js (⚑ changed jest.config.js) src/b.ts (deleted in #2 · ⚑ undid T1)\n\
             tests: tests/a.test.ts ()\ncode: src/a.ts ()\n"
        );
    }
}

//! A task: what it needs, its attempts, what they left behind, and how it was checked.

use tasklist::Item;

use crate::evidence::decisive;
use crate::local_time::local_minute;
use crate::needs::{flag_words, scoped};
use crate::style::{columns, counted};
use crate::tui::model::{TaskState, is_same_failure};
use crate::tui::page::Section;
use crate::tui::row::{Look, RULE, Row};
use ralph_core::record::{Iteration, LogEntry, Outcome, join_truncated};
use ralph_core::view::SessionView;

use super::words::{
    approach, brief, fact, number_cell, number_of, outcome_of, time_of, took, usd, validated, wait_for,
};
use super::{Scene, Subject};

/// Most lines of what an agent said, of an excerpt, and most files that are named.
const MAX_WORDS: usize = 6;
const MAX_EXCERPT: usize = 10;
const MAX_EXCERPT_COMPACT: usize = 3;
const MAX_FILES: usize = 12;

pub fn sections(scene: &Scene<'_>, item: &Item) -> Vec<Section> {
    let feature = scene.feature;
    let task = item.name.as_str();
    let state = feature.state(item, &scene.running_tasks());
    let tried: Vec<(&SessionView, Vec<&LogEntry>)> = feature.attempts_at(task).collect();
    let attempts = tried.iter().flat_map(|(_, attempts)| attempts);
    let times = attempts.filter(|one| one.is_attempt()).count();
    let mut rows = head(scene, item, state);
    if times > 0 {
        let (own, all) = (scene.session.totals(), &feature.summary.totals);
        let own_attempts = own.task_attempts.get(task).copied().unwrap_or_default();
        let (times, cost) = scoped(task, own_attempts, own.task_costs.get(task).copied(), all);
        let cost = if cost.is_empty() { cost } else { format!(", {cost}") };
        let spent = Row::of(Look::Dim, times + &cost);
        rows[0] = std::mem::take(&mut rows[0]).with_right(spent);
    }
    let waiting = wait_for(feature, task, "it").filter(|_| state != TaskState::Done);
    rows.extend(waiting.map(|words| Row::of(Look::Dim, words).indented(2)));
    let mut sections = vec![Section::plain(rows)];
    let is_acceptable = scene.is_acceptable(task);
    if is_acceptable || matches!(state, TaskState::Asks | TaskState::Answered) {
        let mut acts = if state == TaskState::Done { Vec::new() } else { vec![acts(scene, task, state)] };
        // The keys below say it, too, where there is little room.
        if is_acceptable && (acts.is_empty() || !scene.is_compact()) {
            let does = if state == TaskState::Done { "it was looked at" } else { "it counts as done" };
            let row = Row::of(Look::Accent, "x").and(Look::Plain, " right so  ").and(Look::Dim, does);
            acts.push(row.with_right(Row::of(Look::Accent, "d").and(Look::Plain, " diff  ")));
        }
        if !scene.is_compact() {
            acts.insert(0, Row::rule());
            acts.push(Row::rule());
        }
        sections.push(Section::plain(acts));
    }
    let last = scene.attempt(&Subject::Task(task.to_owned())).map(|(_, last)| last);
    let left = if item.done {
        last.map(|last| changed_files(scene, last)).unwrap_or_default()
    } else {
        unfinished(scene, task)
    };
    let mut facts: Vec<Row> = Vec::new();
    let record = last.and_then(|last| scene.record(last));
    facts.extend(record.and_then(validated).map(|words| fact("Validation", words)));
    if !feature.is_file() {
        let spec = format!("{}/spec.md", feature.path);
        let key = Row::of(Look::Accent, "e").and(Look::Dim, " open in editor");
        facts.push(fact("Spec", brief(&spec)).linked(&spec).with_right(key));
    }
    sections.extend([list_of_attempts(scene, &tried), left, facts].map(Section::plain));
    sections
}

/// What is to be known first, in a row or more.
fn head(scene: &Scene<'_>, item: &Item, state: TaskState<'_>) -> Vec<Row> {
    let feature = scene.feature;
    let need = feature.summary.needs_you.iter().find(|need| need.task.as_deref() == Some(&item.name));
    let last = scene.attempt(&Subject::Task(item.name.clone())).map(|(_, last)| last);
    let failures = feature.failures_of(&item.name) as u64;
    let cause = need.and_then(|need| need.cause.as_deref()).or_else(|| last?.cause());
    match state {
        TaskState::Asks => {
            let question = cause.unwrap_or_default();
            let mut rows = vec![Row::of(Look::Warn, "The agent asks"), Row::new()];
            // What follows the question may be several sentences.
            let end = question.find('?').map_or(question.len(), |at| at + 1);
            let (question, more) = question.split_at(end);
            rows.push(Row::of(Look::Bold, format!("  {}", brief(question))).indented(2));
            if !more.trim().is_empty() {
                rows.push(Row::of(Look::Plain, format!("  {}", brief(more.trim()))).indented(2));
            }
            rows.extend(said(scene, last, Some(&format!("{question}{more}"))));
            rows
        }
        TaskState::Answered => {
            let answered = feature.answer_to(&item.name).map(|answered| brief(&answered.answer));
            let waits = if scene.is_running() {
                "Answered: its next attempt has it"
            } else {
                "Answered, waits for resume"
            };
            let rows = [("Q", brief(cause.unwrap_or_default())), ("A", answered.unwrap_or_default())];
            let rows = rows.map(|(lead, words)| {
                Row::of(Look::Dim, format!("  {lead}  ")).and(Look::Plain, words).indented(5)
            });
            [Row::of(Look::Accent, waits), Row::new()].into_iter().chain(rows).collect()
        }
        TaskState::Fails => {
            let skip = feature
                .newest_first()
                .find(|one| one.is_of(&item.name) && one.outcome() == Some(Outcome::Skipped));
            let record = skip.and_then(|skip| scene.record(skip));
            let undone = record.is_some_and(|record| record.restored_to.is_some());
            let words = format!("Given up after {}", counted(failures, "attempt"));
            let words = if undone { format!("{words}; changes undone") } else { words };
            let rows = [Row::of(Look::Bad, words), Row::new()].into_iter();
            rows.chain(failure(scene, cause, last)).collect()
        }
        TaskState::Done => {
            let done = last.filter(|last| last.outcome() == Some(Outcome::Success));
            let words = done
                .map_or_else(|| "Done".to_owned(), |last| format!("Done in {}", scene.number_of(&last.id())));
            let mut rows = vec![Row::of(Look::Good, words)];
            let text = feature.flagged(&item.name).map(flag_words);
            rows.extend(text.map(|text| Row::of(Look::Claim, format!("  ⚑ {}", brief(&text))).indented(4)));
            rows.extend(said(scene, done, None));
            rows
        }
        TaskState::Waits(other) => {
            let task = feature.list.find(other);
            let is_given_up = task.is_some_and(|task| feature.state(task, &[]) == TaskState::Fails);
            let times = counted(feature.failures_of(other) as u64, "time");
            let why = if is_given_up { format!(", which failed {times}") } else { String::new() };
            vec![Row::of(Look::Dim, format!("Not tried: it waits for {}{why}", brief(other)))]
        }
        TaskState::Open | TaskState::Runs if last.is_some_and(LogEntry::is_failure) => {
            let next = if scene.is_running() { "the loop" } else { "the next run" };
            let words = format!("Failed {}; {next} tries it again", counted(failures, "time"));
            [words.into()].into_iter().chain(failure(scene, cause, last)).collect()
        }
        TaskState::Open | TaskState::Runs => vec![Row::of(Look::Dim, "Not attempted")],
    }
}

/// Why an attempt failed.
fn failure(scene: &Scene<'_>, cause: Option<&str>, attempt: Option<&LogEntry>) -> Vec<Row> {
    let cause = brief(cause.unwrap_or_default());
    let mut rows = vec![Row::of(Look::Bad, format!("  {cause}")).indented(2)];
    let record = attempt.and_then(|attempt| scene.record(attempt));
    rows.extend(excerpt(scene, record));
    rows
}

/// The last words of the agent, without a line that says `known` already.
pub fn said(scene: &Scene<'_>, attempt: Option<&LogEntry>, known: Option<&str>) -> Vec<Row> {
    let record = attempt.and_then(|attempt| scene.record(attempt));
    let Some(record) = record else { return Vec::new() };
    let mut rows = Vec::new();
    for line in record.facts.final_message.lines().filter(|line| !line.trim().is_empty()) {
        // What follows the question on its line is worth reading.
        let line = match line.find('?') {
            Some(at) if says(&line[..=at], known) => line[at + 1..].trim(),
            _ if says(line, known) => continue,
            _ => line,
        };
        if line.is_empty() || line.starts_with("<promise>") {
            continue;
        }
        rows.push(Row::of(Look::Dim, format!("  {}", brief(line))).indented(2));
        if rows.len() == MAX_WORDS {
            break;
        }
    }
    rows
}

/// Returns true if a text says what is known already, whatever the signs and blanks in it.
fn says(text: &str, known: Option<&str>) -> bool {
    let [text, known] =
        [text, known.unwrap_or_default()].map(|text| text.to_lowercase().replace([' ', '`', '*'], ""));
    !known.is_empty() && text.contains(&known)
}

/// The decisive lines of a failure.
pub fn excerpt(scene: &Scene<'_>, record: Option<&Iteration>) -> Vec<Row> {
    let most = if scene.is_compact() { MAX_EXCERPT_COMPACT } else { MAX_EXCERPT };
    let mut rows = Vec::new();
    for line in record.iter().flat_map(|record| decisive(&record.facts.excerpt)).take(most) {
        Row::line(line, Look::Plain, &mut rows);
    }
    rows.into_iter().map(|row| Row::of(Look::Dim, format!("  {RULE} ")).then(row)).collect()
}

/// The keys that bring a task on.
fn acts(scene: &Scene<'_>, task: &str, state: TaskState<'_>) -> Row {
    let (key, does) = match state {
        TaskState::Asks => ("a", " answer "),
        TaskState::Answered => ("a", " change the answer "),
        _ => ("h", " hint "),
    };
    let resume = Row::of(Look::Accent, "r").and(Look::Plain, " resume");
    Row::of(Look::Accent, key)
        .and(Look::Plain, does)
        .and(Look::Dim, format!("for {} only; the next prompt for it has it", brief(task)))
        .with_right(if scene.is_running() { Row::new() } else { resume })
}

/// The attempts of each session, oldest first.
fn list_of_attempts(scene: &Scene<'_>, tried: &[(&SessionView, Vec<&LogEntry>)]) -> Vec<Row> {
    if tried.is_empty() {
        return Vec::new();
    }
    if scene.is_compact() {
        let all = tried.iter().flat_map(|(_, attempts)| attempts);
        let row = all.fold(Row::of(Look::Bold, "Attempts  "), |row, attempt| {
            let (look, mark, _) = outcome_of(scene, attempt);
            let (time, cost) = (time_of(attempt), usd(attempt.cost_usd()));
            row.and(Look::Dim, number_of(scene, attempt))
                .and(look, mark)
                .and(Look::Plain, format!(" {time} {cost}   "))
        });
        return vec![row.indented(10)];
    }
    let mut rows = vec![Row::of(Look::Bold, "Attempts")];
    for (session, attempts) in tried {
        if tried.len() > 1 {
            rows.push(Row::of(Look::Dim, format!("  {}", local_minute(session.started_at()))));
        }
        let before = [None].into_iter().chain(attempts.iter().map(Some));
        for (attempt, before) in attempts.iter().zip(before) {
            let (look, mark, words) = outcome_of(scene, attempt);
            let is_same = before.is_some_and(|before| is_same_failure(before, attempt));
            let words = match approach(scene, attempt).filter(|_| attempt.is_failure()) {
                Some(approach) => approach,
                None if is_same => "the same".to_owned(),
                None => words,
            };
            let row = Row::of(Look::Dim, number_cell(scene, attempt)).and(look, format!("{mark} "));
            rows.push(row.and(Look::Plain, words).with_right(took(attempt)));
        }
    }
    rows
}

/// What attempts left in the work tree, with the keys that look at it and take it back.
fn unfinished(scene: &Scene<'_>, task: &str) -> Vec<Row> {
    if scene.running_tasks().contains(&task) {
        return Vec::new();
    }
    let Some((_, files)) = scene.unfinished(&Subject::Task(task.to_owned())) else { return Vec::new() };
    let keys = [("d", " diff"), ("R", " take it back")]
        .map(|(key, does)| Row::of(Look::Accent, key).and(Look::Dim, does));
    if scene.is_compact() {
        let names: Vec<String> =
            files.iter().map(|(path, added, _)| format!("{} +{added}", brief(path))).collect();
        let row = Row::of(Look::Bold, "Left in your work tree, ").and(Look::Warn, "unfinished: ");
        let row = row.and(Look::Plain, join_truncated(&names, 2));
        let [diff, take_back] = keys;
        return vec![row.with_right(diff.and(Look::Plain, "  ").then(take_back))];
    }
    let mut rows = vec![Row::of(Look::Bold, "Left in your work tree  ").and(Look::Warn, "unfinished")];
    let files = files.iter().map(|(path, added, removed)| (path.as_str(), *added, *removed));
    rows.extend(rows_of_files(&files.collect::<Vec<_>>()));
    rows.resize_with(rows.len().max(3), Row::new);
    for (row, key) in rows[1..].iter_mut().zip(keys) {
        *row = std::mem::take(row).with_right(key);
    }
    rows
}

/// `  src/export/csv.ts  +81 −2`, with links.
fn rows_of_files(files: &[(&str, u64, u64)]) -> Vec<Row> {
    let shown = &files[..files.len().min(MAX_FILES)];
    let width = shown.iter().map(|(path, ..)| columns(path)).max().unwrap_or(0);
    let more = files.len() - shown.len();
    let more = (more > 0).then(|| Row::of(Look::Dim, format!("  and {more} more")));
    let rows = shown.iter().map(|(path, added, removed)| {
        let removed = if *removed > 0 { format!(" −{removed}") } else { String::new() };
        Row::of(Look::Plain, format!("  {:<width$}  ", brief(path)))
            .linked(path)
            .and(Look::Good, if *added > 0 { format!("+{added}") } else { String::new() })
            .and(Look::Bad, removed)
    });
    rows.chain(more).collect()
}

/// What a successful attempt changed.
pub fn changed_files(scene: &Scene<'_>, attempt: &LogEntry) -> Vec<Row> {
    let Some(record) = scene.record(attempt) else { return Vec::new() };
    let changes = &record.facts.changes;
    let names = record.files_changed.iter().filter(|_| changes.is_empty());
    let files = changes.iter().map(|change| {
        (change.path.as_str(), change.added.unwrap_or_default(), change.removed.unwrap_or_default())
    });
    let files: Vec<_> = files.chain(names.map(|path| (path.as_str(), 0, 0))).collect();
    let title = (!files.is_empty()).then(|| Row::of(Look::Bold, "Changed"));
    title.into_iter().chain(rows_of_files(&files)).collect()
}

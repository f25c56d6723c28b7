//! An attempt: how it ended and why, what it was judged by, what it did, and what it left.

use crate::ending::capital;
use crate::left_behind::commands;
use crate::show::beside;
use crate::style::{duration, one_line};
use crate::tui::model::is_same_failure;
use crate::tui::page::Section;
use crate::tui::row::{Look, Row};
use ralph_core::record::{Iteration, LogEntry, Outcome, RALPH};
use ralph_core::view::SessionView;

use super::Scene;
use super::output::{call, markdown, result_of};
use super::task::{changed_files, excerpt};
use super::words::{brief, exit, fact, look_of_exit, outcome_of, took, validated};

pub fn sections(scene: &Scene<'_>, session: &SessionView, attempt: &LogEntry) -> Vec<Section> {
    let entry = attempt;
    let (look, mark, words) = outcome_of(scene, attempt);
    let of =
        entry.attempt().filter(|attempt| *attempt > 1).map_or(String::new(), |n| format!(", attempt {n}"));
    let verdict = match attempt.outcome() {
        Some(Outcome::Failure) if attempt.is_question() => "asks",
        Some(Outcome::Failure) => "failed",
        Some(Outcome::Success) if !attempt.is_queued() => "done",
        _ => words.as_str(),
    };
    let mut rows = vec![Row::of(look, format!("{mark} {verdict}{of}")).with_right(took(attempt))];
    if attempt.is_failure() {
        let cause = entry.cause().map(brief).filter(|_| attempt.is_question());
        let words = cause.map_or_else(|| words.clone(), |cause| format!("the agent asks: {cause}"));
        rows.push(Row::of(look, format!("  {words}")).indented(2));
        let is_solved = scene.feature.is_solved(attempt);
        let fate = fate(scene, session, attempt, is_solved);
        rows.push(Row::of(if is_solved { Look::Good } else { look }, format!("  {fate}")));
    }
    if let Some(flag) = entry.first_flag().filter(|_| attempt.outcome() == Some(Outcome::Success)) {
        rows.push(Row::of(Look::Claim, format!("  ⚑ {}", brief(flag))).indented(4));
    }
    let record = scene.record(attempt);
    let excerpt = excerpt(scene, record.filter(|_| attempt.is_failure()));
    let mut sections = vec![Section::plain(rows), Section::plain(excerpt)];
    let Some(record) = record else { return sections };
    sections.push(Section::plain(facts(record)));
    sections.push(verdicts(record));
    sections.push(Section::plain(changed_files(scene, attempt)));
    let said = markdown(record.facts.final_message.trim()).into_iter();
    let said = said.map(|row| Row::of(Look::Plain, "  ").then(row).indented(2));
    sections.push(Section::titled(Row::of(Look::Bold, "The agent said"), said.collect()));
    sections.push(tool_calls(scene, record));
    for (name, items) in [
        ("Learnings", &record.learnings),
        ("Decisions", &record.decisions),
        ("Tried", &record.approaches),
        ("Hints in its prompt", &record.hints),
    ] {
        let rows = items.iter().map(|item| Row::of(Look::Plain, format!("  - {}", brief(item))).indented(4));
        sections.push(Section::titled(Row::of(Look::Bold, name), rows.collect()));
    }
    sections
}

/// `same as #28; solved in #31`
fn fate(scene: &Scene<'_>, session: &SessionView, attempt: &LogEntry, is_solved: bool) -> String {
    let is_other = |one: &&LogEntry| one.commit() != attempt.commit();
    let same = session.iterations().take_while(is_other).find(|one| is_same_failure(one, attempt));
    let same = same.map(|first| format!("same failure as {}", scene.number_of(&first.id())));
    let task = attempt.task().unwrap_or_default();
    let mut later = session.iterations().skip_while(is_other).skip(1).filter(|one| one.is_of(task));
    let done = later.find(|one| one.outcome() == Some(Outcome::Success));
    let end = match (done, is_solved) {
        (Some(done), _) => format!("solved in {}", scene.number_of(&done.id())),
        (None, true) => "solved".to_owned(),
        (None, false) if attempt.is_question() => "not answered".to_owned(),
        (None, false) => "still fails".to_owned(),
    };
    same.into_iter().chain([end]).collect::<Vec<_>>().join("; ")
}

fn facts(record: &Iteration) -> Vec<Row> {
    let mut rows = Vec::new();
    let command = record.validation_command.as_deref().map(|command| format!("   {}", brief(command)));
    let validated = validated(record).map(|words| words.and(Look::Dim, command.unwrap_or_default()));
    rows.extend(validated.map(|words| fact("Validation", words)));
    if let Some(code) = record.exit.agent {
        let model = record.model.as_deref().map_or(String::new(), |model| format!(" ({})", brief(model)));
        let time = record.duration_ms.agent.map_or(String::new(), |ms| format!(", {}", duration(ms)));
        let row = Row::of(Look::Plain, format!("{}{model}  ", brief(&record.agent)));
        rows.push(fact("Agent", row.and(look_of_exit(code), exit(code)).and(Look::Plain, time)));
    }
    rows.extend(record.error.as_deref().map(|error| fact("Error", Row::of(Look::Bad, brief(error)))));
    let beside = beside(record).into_iter();
    rows.extend(beside.map(|(name, words)| fact(&capital(name), Row::of(Look::Warn, brief(&words)))));
    let commands = commands(RALPH, record, Some(&record.session)).into_iter();
    rows.extend(commands.map(|command| fact("Bring back", Row::of(Look::Plain, command))));
    rows
}

/// What became of each result that was merged, with both sides of what git could not merge.
fn verdicts(record: &Iteration) -> Section {
    let mut rows = Vec::new();
    for one in &record.integration {
        let look = if one.cause.is_none() { Look::Good } else { Look::Bad };
        let words = one.return_words().unwrap_or_else(|| one.verdict.words());
        let row = Row::of(Look::Plain, format!("  {}  ", brief(&one.task))).and(look, brief(&words));
        rows.push(row.indented(4));
        let lines = one.conflicts.iter().map(|path| format!("    {}", brief(path)));
        let hunks = one.hunks.trim_end().lines().map(|line| format!("      {}", one_line(line)));
        rows.extend(lines.chain(hunks).map(|line| Row::of(Look::Plain, line)));
    }
    Section::titled(Row::of(Look::Bold, "What became of the results"), rows)
}

/// What the agent did, each call with what came of it.
pub fn tool_calls(scene: &Scene<'_>, record: &Iteration) -> Section {
    let top = scene.detail().and_then(|detail| detail.top.as_ref()).map(|top| format!("{top}/"));
    let rows = record.tool_calls.iter().map(|tool| {
        let result = match tool.exit_code {
            Some(code) if code != 0 && tool.last_line.is_empty() => &format!("exit {code}"),
            _ if tool.is_error && !tool.last_line.is_empty() => &tool.last_line,
            _ => &tool.result_summary,
        };
        let arguments = match &top {
            Some(top) => &tool.arguments_summary.replace(top, ""),
            None => &tool.arguments_summary,
        };
        let call = Row::of(Look::Plain, "  ").then(call(&tool.tool_name, arguments));
        call.with_right(result_of(tool.is_error, result))
    });
    let title = Row::of(Look::Bold, "Tool calls").and(Look::Dim, format!(" {}", record.tool_calls.len()));
    Section::titled(title, rows.collect())
}

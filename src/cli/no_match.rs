//! What `log` says if nothing passes its filters: which of them nothing can pass, and which values there are.

use std::borrow::Cow;
use std::collections::BTreeSet;

use anyhow::{Error, Result, anyhow};
use serde_json::Value;

use crate::record::join_truncated;
use crate::store::{Row, SessionRows};
use crate::view::fields::{self, as_text};
use crate::view::local_time::local_minute;
use crate::view::style::{cut, one_line};

use super::Context;
use super::filter::{Filter, FilterArgs};
use super::record_filter::RecordFilter;

/// Most values that are named.
const MAX_VALUES: usize = 10;

/// Longest value that is named, in columns.
const MAX_VALUE: usize = 60;

/// One of several filters.
struct Part {
    /// The flag as it was given.
    words: String,
    /// That flag alone.
    alone: FilterArgs,
    /// What iterations have instead, in the plural.
    noun: &'static str,
    /// The values of an iteration.
    values: fn(&Row<'_>) -> Result<Vec<String>>,
}

/// Returns an error that says why no iteration of `sessions` passes the filters and is in `paths`.
pub fn explain(
    args: &FilterArgs,
    paths: &[String],
    context: &Context,
    sessions: &[SessionRows<'_>],
) -> Result<Error> {
    let is_iteration = |row: &Row<'_>| row.is_iteration();
    let rows: Vec<(Row<'_>, &str)> = sessions
        .iter()
        .flat_map(|session| session.rows().filter(is_iteration).map(|row| (row, session.feature)))
        .collect();
    let mut words = Vec::new();
    for part in parts(args) {
        let mut filter = Filter::new(&part.alone, context)?;
        filter.look_over(sessions.iter().copied())?;
        if !any(&rows, |(row, feature)| filter.takes(row, feature))? {
            let values = values(&rows, part.values)?;
            return Ok(no_match(&[part.words], part.noun, &values));
        }
        words.push(part.words);
    }
    for condition in &args.conditions {
        let flag = format!("--where {condition}");
        let alone = std::slice::from_ref(condition);
        let filter = RecordFilter::new(context, alone, &[])?;
        if !any(&rows, |(row, _)| filter.takes(row))? {
            let values = values(&rows, |row| Ok(field(filter.record(row)?.as_ref(), condition.field())))?;
            return Ok(no_match(&[flag], "values", &values));
        }
        words.push(flag);
    }
    if !paths.is_empty() {
        let flag = format!("-- {}", paths.join(" "));
        let filter = RecordFilter::new(context, &[], paths)?;
        if !any(&rows, |(row, _)| filter.takes(row))? {
            let values = values(&rows, |row| Ok(field(filter.record(row)?.as_ref(), "files_changed")))?;
            return Ok(no_match(&[flag], "changed files", &values));
        }
        words.push(flag);
    }
    words.extend(args.grep.as_ref().map(|pattern| format!("--grep {pattern}")));
    Ok(no_match(&words, "", &BTreeSet::new()))
}

fn no_match(words: &[String], noun: &str, values: &BTreeSet<String>) -> Error {
    let values: Vec<String> = values.iter().map(|value| cut(&one_line(value), MAX_VALUE)).collect();
    let flags: Vec<String> = words.iter().map(|words| format!("`{}`", one_line(words))).collect();
    let hint = match (noun, words) {
        ("", [words]) if words.starts_with("--grep") => {
            "outputs, answers and diffs were searched; `--in prompt` searches prompts, -i ignores case"
                .to_owned()
        }
        ("", _) => "each of them alone may match some: leave one out".to_owned(),
        _ if values.is_empty() => format!("the iterations here have no {noun}"),
        _ => format!("{noun} there are: {}", join_truncated(&values, MAX_VALUES)),
    };
    anyhow!("no iteration matches {}\nhint: {hint}", flags.join(" and "))
}

fn any<T>(items: &[T], takes: impl Fn(&T) -> Result<bool>) -> Result<bool> {
    for item in items {
        if takes(item)? {
            return Ok(true);
        }
    }
    Ok(false)
}

fn values<'r>(
    rows: &[(Row<'r>, &str)],
    of: impl Fn(&Row<'r>) -> Result<Vec<String>>,
) -> Result<BTreeSet<String>> {
    let mut found = BTreeSet::new();
    for (row, _) in rows {
        found.extend(of(row)?.into_iter().filter(|value| !value.is_empty()));
    }
    Ok(found)
}

/// Returns the values of a field that may be a list.
fn field(record: Option<&Value>, name: &str) -> Vec<String> {
    let values = record.map(|record| fields::values(record, name)).unwrap_or_default();
    let texts = values.into_iter().flat_map(|value| match value {
        Value::Array(items) => items.iter().map(|item| as_text(Some(item))).collect(),
        value => vec![as_text(Some(value))],
    });
    texts.collect()
}

/// Returns the flags that are given, but for those that search whole records.
fn parts(args: &FilterArgs) -> Vec<Part> {
    let mut parts = Vec::new();
    let mut add = |words: Option<String>, alone: FilterArgs, noun, values| {
        parts.extend(words.map(|words| Part { words, alone, noun, values }));
    };
    let none = FilterArgs::default;
    let outcomes: Vec<String> = args.outcome.iter().map(ToString::to_string).collect();
    let outcome = (!outcomes.is_empty()).then(|| format!("--outcome {}", outcomes.join(",")));
    add(outcome, FilterArgs { outcome: args.outcome.clone(), ..none() }, "outcomes", |row| {
        Ok(row.outcome.iter().map(ToString::to_string).collect())
    });
    let task = (!args.task.is_empty()).then(|| format!("--task {}", args.task.join(",")));
    add(task, FilterArgs { task: args.task.clone(), ..none() }, "tasks", |row| {
        Ok(row.task().map(Cow::into_owned).into_iter().collect())
    });
    let flag = |name: &str, value: &Option<String>| value.as_ref().map(|value| format!("{name} {value}"));
    let phase = FilterArgs { phase: args.phase.clone(), ..none() };
    add(flag("--phase", &args.phase), phase, "phases", |row| Ok(row.entry()?.phase.into_iter().collect()));
    let agent = FilterArgs { agent: args.agent.clone(), ..none() };
    add(flag("--agent", &args.agent), agent, "agents", |row| Ok(row.entry()?.agent.into_iter().collect()));
    let times: fn(&Row<'_>) -> Result<Vec<String>> = |row| Ok(vec![local_minute(row.ended_at)]);
    let since = FilterArgs { since: args.since.clone(), ..none() };
    add(flag("--since", &args.since), since, "times", times);
    let until = FilterArgs { until: args.until.clone(), ..none() };
    add(flag("--until", &args.until), until, "times", times);
    let class = args.class.map(|class| format!("--class {class}"));
    add(class, FilterArgs { class: args.class, ..none() }, "classes", |row| {
        Ok(row.failure_class.iter().map(ToString::to_string).collect())
    });
    let exit = args.exit.map(|exit| format!("--exit {exit}"));
    add(exit, FilterArgs { exit: args.exit, ..none() }, "exit codes", |row| {
        let exit = row.exit().unwrap_or_default();
        let text = |who: &str, code: Option<i32>| code.map(|code| format!("{who}={code}"));
        Ok(text("agent", exit.agent).into_iter().chain(text("validation", exit.validation)).collect())
    });
    let repeats = args.repeats.then(|| "--repeats".to_owned());
    add(repeats, FilterArgs { repeats: args.repeats, ..none() }, "causes that occur twice", |_| {
        Ok(Vec::new())
    });
    parts
}

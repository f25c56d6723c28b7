//! All that is known of an iteration, and of a session.

use serde_json::Value;

use crate::ending::attempts;
use crate::local_time::local_with_offset;
use crate::show::{IterationDetails, facts};
use crate::style::{Count, duration, grouped, sign, tokens_told};
use crate::tui::page::Section;
use crate::tui::row::{Look, Row, shown};
use crate::tui::source::{InFlight, IterationRow, SessionRow};
use ralph_core::record::{Iteration, Session, TrailerCounts};

use super::words::{brief, status_sign, title, words_of};

pub fn iteration(row: &IterationRow, iteration: &Iteration) -> Vec<Section> {
    let (look, mark) = sign(row.outcome);
    let mut rows = vec![Row::of(look, format!("{mark} {}", shown(&iteration.story())))];
    rows.extend(iteration.phase.as_ref().map(|phase| Row::fact("phase", phase)));
    let commit = row.commit.as_str();
    let found = IterationDetails {
        iteration,
        commit,
        entry: "",
        final_message: "",
        repeated: row.repeats,
        afterwards: None,
    };
    // The list names the session, and nobody reads the whole commit id first.
    let known = facts(&found).into_iter().filter(|(name, _)| !matches!(*name, "session" | "commit"));
    rows.extend(known.chain([("commit", commit.to_owned())]).map(|(name, value)| Row::fact(name, value)));
    let mut sections = vec![Section::titled(title(format!("Iteration {}", row.number)), rows)];
    let lists: [(&str, &[String]); 5] = [
        ("Files changed", &iteration.files_changed),
        ("Learnings", &iteration.learnings),
        ("Decisions", &iteration.decisions),
        ("Tried", &iteration.approaches),
        ("Hints", &iteration.hints),
    ];
    for (name, items) in lists {
        if !items.is_empty() {
            let rows = items.iter().map(|item| Row::of(Look::Plain, format!("- {}", brief(item))));
            sections.push(Section::titled(title(name), rows.collect()));
        }
    }
    sections
}

pub fn in_flight(in_flight: &InFlight) -> Section {
    let rows = vec![
        Row::of(Look::Accent, "running"),
        Row::fact("task", format!("{} {}", in_flight.task.name, in_flight.task.text)),
        Row::fact("attempt", in_flight.attempt.to_string()),
        Row::fact("agent", &in_flight.agent),
        Row::fact("started", local_with_offset(in_flight.started_at)),
    ];
    Section::titled(title(format!("Iteration {}", in_flight.number)), rows)
}

pub fn session(row: &SessionRow, session: &Session) -> Vec<Section> {
    let (look, mark) = status_sign(row.status);
    let closed = session.tasks_completed;
    let total: u64 = row.iterations.iter().filter_map(|row| row.duration_ms).sum();
    let mut rows = vec![
        Row::of(look, format!("{mark} {}", words_of(row))),
        Row::fact("id", row.id.as_str()),
        Row::fact("feature", &row.feature),
        Row::fact("artifact", format!("{} ({})", session.artifact.path, session.artifact.status)),
        Row::fact("branch", session.branch.as_deref().unwrap_or("none, a detached HEAD")),
        Row::fact(
            "agent",
            format!("{} {}", session.agent, session.agent_version.as_deref().unwrap_or_default()).trim_end(),
        ),
        Row::fact("host", &session.host),
        Row::fact("started", local_with_offset(row.started_at)),
    ];
    if let Some(ended) = session.ended_at {
        rows.push(Row::fact("ended", local_with_offset(ended)));
    }
    if let Some(waiting) = row.live.as_ref().and_then(|live| live.waiting.as_ref()) {
        rows.push(Row::fact(
            "waits",
            format!("until {} for {} ({})", local_with_offset(waiting.until), waiting.agent, waiting.class),
        ));
    }
    let TrailerCounts { tasks_done: done, tasks_open: open } = row.tasks;
    let mut totals = vec![
        Row::fact(
            "attempts",
            format!("{}, limit {}", attempts(&row.totals()), grouped(u64::from(session.max_iterations))),
        ),
        Row::fact("tasks", format!("{done} of {} done", done + open)),
        Row::fact("time", duration(total)),
    ];
    if row.live.is_none() && session.ended_at.is_some() {
        totals.insert(2, Row::fact("closed here", Count(closed as u64, "task").to_string()));
    }
    if session.ended_at.is_some() {
        let tokens = (!session.tokens.is_unknown()).then(|| tokens_told(&session.tokens));
        totals.extend(tokens.map(|tokens| Row::fact("tokens", tokens)));
        totals.extend(session.cost().shown().map(|cost| Row::fact("cost", cost)));
    } else if let Some(tokens) =
        row.iterations.iter().filter_map(|row| row.tokens).reduce(u64::saturating_add)
    {
        totals.push(Row::fact("tokens", grouped(tokens)));
    }
    let mut settings = Vec::new();
    configuration("", &session.configuration, &mut settings);
    vec![
        Section::titled(title("Session"), rows),
        Section::titled(title("Totals"), totals),
        Section::titled(title("Configuration"), settings),
    ]
}

/// Settings by their whole names.
fn configuration(prefix: &str, value: &Value, to: &mut Vec<Row>) {
    match value {
        Value::Object(entries) => {
            for (name, value) in entries {
                let name = if prefix.is_empty() { name.clone() } else { format!("{prefix}.{name}") };
                configuration(&name, value, to);
            }
        }
        Value::Null => {}
        other @ (Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_)) => {
            let text = other.as_str().map_or_else(|| other.to_string(), str::to_owned);
            to.push(
                Row::of(Look::Dim, format!("{:<26} ", shown(prefix)))
                    .and(Look::Plain, brief(&text))
                    .indented(2),
            );
        }
    }
}

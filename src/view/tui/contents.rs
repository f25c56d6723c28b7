//! What each view says, from values to sections.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::Result;
use serde_json::Value;

use crate::record::{
    AgentEvent, Claim, Iteration, ObjectId, Outcome, Session, SessionId, Status, StopReason, ToolCall,
};
use crate::store::Ask;
use crate::tasks::{Item, TaskList};
use crate::view::style::{Count, cut, duration, grouped};

use super::page::{Body, Fold, PREVIEW, Page, Part, Section, Window};
use super::row::{Look, Row, shown};
use super::source::{Change, File, InFlight, IterationRow, Patch, Place, SessionRow, Source, Stream, Told};

/// A view of what is chosen in the list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum View {
    Output,
    Logs,
    Describe,
    Diff,
    Prompt,
    Tasks,
    History,
}

impl View {
    pub const ALL: [Self; 7] =
        [Self::Output, Self::Logs, Self::Describe, Self::Diff, Self::Prompt, Self::Tasks, Self::History];

    pub fn name(self) -> &'static str {
        match self {
            Self::Output => "Output",
            Self::Logs => "Logs",
            Self::Describe => "Describe",
            Self::Diff => "Diff",
            Self::Prompt => "Prompt",
            Self::Tasks => "Tasks",
            Self::History => "History",
        }
    }

    /// Its name, spelled as its key is.
    pub fn tab(self) -> String {
        let (first, rest) = self.name().split_at(1);
        if self.key().is_uppercase() { self.name().to_owned() } else { first.to_lowercase() + rest }
    }

    pub fn key(self) -> char {
        match self {
            Self::Output => 'o',
            Self::Logs => 'L',
            Self::Describe => 'd',
            Self::Diff => 'D',
            Self::Prompt => 'p',
            Self::Tasks => 't',
            Self::History => 'h',
        }
    }

    /// Whether its lines are words for people, that are wrapped unless they want otherwise.
    pub fn is_prose(self) -> bool {
        matches!(self, Self::Prompt | Self::History | Self::Describe)
    }
}

/// What must be read for a view.
#[derive(Debug, Clone, PartialEq)]
pub enum Ordered {
    Describe(SessionId, Option<u32>),
    Diff(Change),
    Tasks(SessionId, ObjectId),
    History(String),
    /// The tool calls of an iteration.
    Calls(ObjectId),
}

/// Reads what a view is made of.
pub fn read(source: &dyn Source, session: &SessionRow, ordered: &Ordered) -> Result<Vec<Section>> {
    Ok(match ordered {
        Ordered::Describe(_, number) => {
            let row = number.and_then(|number| session.iteration(number));
            let iteration = row.map(|row| source.iteration(&row.commit)).transpose()?;
            let mut sections = Vec::new();
            if let (Some(row), Some(iteration)) = (row, &iteration) {
                sections.extend(describe_iteration(row, iteration));
            }
            if let Some(in_flight) = session.in_flight().filter(|running| Some(running.number) == *number) {
                sections.push(describe_in_flight(in_flight));
            }
            sections.extend(describe_session(session, &source.session(session)?));
            sections
        }
        Ordered::Diff(change) => diff(&source.diff(change)?),
        Ordered::Tasks(_, commit) => tasks(session, source.tasks(commit)?.as_deref()),
        Ordered::History(feature) => history(&source.history(feature)?),
        Ordered::Calls(commit) => vec![Section::plain(calls(&source.iteration(commit)?.tool_calls))],
    })
}

/// Reads a part of a file, in rows.
pub fn read_part(source: &dyn Source, file: &File, ask: Ask) -> Result<Part> {
    let part = source.part(file, ask)?;
    let text = || String::from_utf8_lossy(&part.bytes);
    let agent = file.agent.as_deref().filter(|_| file.stream == Stream::AgentStdout);
    let rows = match agent.and_then(|agent| source.retell(agent, &part.bytes)) {
        Some(events) => retold(&events),
        None if file.stream == Stream::Prompt => markdown(&text()),
        None => Row::lines(&text(), Look::Plain),
    };
    Ok(Part { start: part.range.start, end: part.range.end, total: part.total, rows })
}

/// The colour and the sign of an outcome.
pub fn sign(outcome: Outcome) -> (Look, &'static str) {
    let look = match outcome {
        Outcome::Success => Look::Good,
        Outcome::Failure => Look::Bad,
        Outcome::Skipped | Outcome::Interrupted => Look::Warn,
    };
    (look, crate::view::style::sign(outcome).1)
}

/// The colour and the sign of a session.
pub fn status_sign(status: Status) -> (Look, &'static str) {
    match status {
        Status::Running => (Look::Accent, "●"),
        Status::Completed => (Look::Good, "✔"),
        Status::Interrupted => (Look::Warn, "‖"),
        Status::Failed => (Look::Bad, "✘"),
    }
}

/// `failed (stuck)`
pub fn status_words(status: Status, reason: Option<StopReason>) -> String {
    match reason.map(|reason| reason.as_str().replace('_', " ")) {
        Some(reason) if reason != status.as_str() => format!("{status} ({reason})"),
        _ => status.to_string(),
    }
}

/// What an iteration printed: the check first, for that is what decides.
pub fn output(row: &IterationRow) -> Page {
    let exit = row.validation_exit.filter(|_| row.agent_exit.is_none_or(|code| code == 0)).or(row.agent_exit);
    let (look, mark) = sign(row.outcome);
    let mut head = Row::of(Look::Bold, format!("Iteration {}", row.number));
    if let Some(exit) = exit {
        head = head
            .and(Look::Plain, ", ")
            .and(if exit == 0 { Look::Good } else { Look::Bad }, format!("exit {exit}"));
    }
    let head = head.and(Look::Plain, row.time().map_or(String::new(), |time| format!(", {time}")));
    let story = Row::of(look, format!("{mark} {}", shown(&row.story)));
    let mut rows = vec![head, story];
    if let Some(first) = row.repeats {
        rows.push(Row::of(Look::Warn, format!("the same failure as in iteration {first}")));
    }
    let mut sections = vec![Section::plain(rows)];
    let streams =
        [Stream::ValidationStdout, Stream::ValidationStderr, Stream::AgentStdout, Stream::AgentStderr];
    for stream in streams {
        let file = File {
            place: Place::Record(row.commit.clone()),
            stream,
            agent: row.agent.as_ref().map(ToString::to_string),
        };
        sections.push(file_section(file, Fold::Closed(PREVIEW), Ask::From(0)));
    }
    Page::new(sections)
}

/// What a running iteration has printed so far, in the order in which it comes.
pub fn live_output(session: &SessionId, in_flight: &InFlight, seconds: u64) -> Page {
    let head = Row::of(Look::Bold, format!("Iteration {}", in_flight.number))
        .and(Look::Plain, ", ")
        .and(Look::Accent, "running")
        .and(Look::Plain, format!(" for {}", age(seconds)));
    let again = if in_flight.attempt > 1 { format!(" (try {})", in_flight.attempt) } else { String::new() };
    let task = Row::of(Look::Accent, shown(&in_flight.task.name))
        .and(Look::Plain, format!("{again}  {}", brief(&in_flight.task.text)));
    let mut sections = vec![Section::plain(vec![head, task])];
    let streams =
        [Stream::AgentStdout, Stream::AgentStderr, Stream::ValidationStdout, Stream::ValidationStderr];
    for (stream, length) in streams.into_iter().zip(in_flight.lengths) {
        if length.is_some() {
            let file = live_file(session, in_flight, stream);
            sections.push(file_section(file, Fold::Open, Ask::Before(u64::MAX)));
        }
    }
    let mut page = Page::new(sections);
    page.sticks = true;
    page
}

/// `12 s`, and longer times as everywhere.
pub fn age(seconds: u64) -> String {
    if seconds < 60 { format!("{seconds} s") } else { duration(seconds * 1000) }
}

/// A file of a running iteration.
pub fn live_file(session: &SessionId, in_flight: &InFlight, stream: Stream) -> File {
    File {
        place: Place::Spool(session.clone(), in_flight.number),
        stream,
        agent: Some(in_flight.agent.clone()),
    }
}

fn file_section(file: File, fold: Fold, ask: Ask) -> Section {
    let agent = file.agent.as_deref().unwrap_or("agent");
    let title = match file.stream {
        Stream::Prompt => "prompt".to_owned(),
        Stream::ValidationStdout => "validation, stdout".to_owned(),
        Stream::ValidationStderr => "validation, stderr".to_owned(),
        Stream::AgentStdout => format!("{}, transcript", shown(agent)),
        Stream::AgentStderr => format!("{}, stderr", shown(agent)),
    };
    let title = Some(Row::of(Look::Accent, title));
    Section { about: None, title, fold, body: Body::Window(Window::new(file, ask)) }
}

/// The prompt, as the agent got it.
pub fn prompt(place: Place) -> Page {
    let file = File { place, stream: Stream::Prompt, agent: None };
    let section = Section { title: None, ..file_section(file, Fold::Never, Ask::From(0)) };
    Page::new(vec![section])
}

/// A line for each iteration, newest first.
pub fn logs(session: &SessionRow) -> Page {
    let mut sections: Vec<Section> = session.iterations.iter().rev().map(log_line).collect();
    if sections.is_empty() {
        sections.push(Section::plain(vec![Row::of(Look::Dim, "no iteration is recorded yet")]));
    }
    Page::new(sections)
}

fn log_line(row: &IterationRow) -> Section {
    let (look, mark) = sign(row.outcome);
    let mut title = Row::of(Look::Dim, format!("{:>4} ", row.number))
        .and(look, mark)
        .and(Look::Dim, format!(" {:>11}  ", row.time().unwrap_or_default()))
        .and(look, shown(&cut(&row.story, 60)));
    if let Some(tokens) = row.tokens {
        title = title.and(Look::Dim, format!("  {}", Count(tokens, "token")));
    }
    Section { about: Some(row.number), title: Some(title), fold: Fold::Closed(0), body: Body::Unread }
}

fn calls(calls: &[ToolCall]) -> Vec<Row> {
    if calls.is_empty() {
        return vec![Row::of(Look::Dim, "       no tool calls are known")];
    }
    let one = |call: &ToolCall| {
        let look = if call.is_error { Look::Bad } else { Look::Accent };
        let mut row = Row::of(look, format!("       {}", shown(&call.tool_name)))
            .and(Look::Plain, format!("  {}", brief(&call.arguments_summary)));
        if !call.result_summary.is_empty() {
            row = row.and(Look::Dim, format!("  → {}", brief(&call.result_summary)));
        }
        row
    };
    calls.iter().map(one).collect()
}

/// What an agent did, in lines.
fn retold(events: &[AgentEvent]) -> Vec<Row> {
    let mut rows = Vec::new();
    for event in events {
        match event {
            AgentEvent::Text { text } => rows.extend(Row::lines(text.trim_end(), Look::Plain)),
            AgentEvent::ToolStarted { tool_name, arguments_summary } => rows.push(
                Row::of(Look::Accent, format!("→ {}", shown(tool_name)))
                    .and(Look::Dim, format!("  {}", brief(arguments_summary))),
            ),
            AgentEvent::ToolEnded { tool_name, is_error: true } => {
                rows.push(Row::of(Look::Bad, format!("✘ {} failed", shown(tool_name))));
            }
            AgentEvent::Retry { message } => {
                rows.push(Row::of(Look::Warn, format!("tries again: {}", brief(message))));
            }
            AgentEvent::Error { message } => {
                rows.push(Row::of(Look::Bad, format!("error: {}", brief(message))));
            }
            AgentEvent::ToolEnded { .. } | AgentEvent::Usage { .. } => {}
        }
    }
    rows
}

/// Headings and fences of Markdown stand out; everything stays as it is written.
fn markdown(text: &str) -> Vec<Row> {
    let mut rows = Vec::new();
    let mut is_fenced = false;
    for line in text.lines() {
        let is_fence = line.trim_start().starts_with("```");
        let look = match line.as_bytes().first() {
            _ if is_fence || is_fenced => Look::Dim,
            Some(b'#') => Look::Bold,
            _ => Look::Plain,
        };
        is_fenced ^= is_fence;
        Row::line(line, look, &mut rows);
    }
    rows
}

/// A text from outside that is one line of a page, and may be of any length.
fn brief(text: &str) -> String {
    shown(&cut(text, 500))
}

fn title(text: impl Into<String>) -> Row {
    Row::of(Look::Bold, text)
}

fn describe_iteration(row: &IterationRow, iteration: &Iteration) -> Vec<Section> {
    let (look, mark) = sign(row.outcome);
    let mut rows = vec![Row::of(look, format!("{mark} {}", shown(&iteration.story())))];
    if let Some(task) = &iteration.task {
        rows.push(Row::fact(
            "task",
            format!("{task} {}", iteration.task_text.as_deref().unwrap_or_default()),
        ));
    }
    if let Some(phase) = &iteration.phase {
        rows.push(Row::fact("phase", phase));
    }
    let model = iteration.model.as_deref().map_or(String::new(), |model| format!(" ({model})"));
    let exit = |code: Option<i32>| code.map_or(String::new(), |code| format!(", exit {code}"));
    let time = |ms: Option<u64>| ms.map_or(String::new(), |ms| format!(", {}", duration(ms)));
    rows.push(Row::fact(
        "agent",
        format!("{}{model}{}{}", iteration.agent, exit(row.agent_exit), time(row.agent_ms)),
    ));
    if let Some(command) = &iteration.validation_command {
        rows.push(Row::fact(
            "validation",
            format!("{}{}{}", command, exit(row.validation_exit), time(row.validation_ms)),
        ));
    }
    let class = iteration.failure_class.map(|class| class.to_string());
    let error: Vec<String> = [class, iteration.error.clone()].into_iter().flatten().collect();
    if !error.is_empty() {
        rows.push(Row::fact("error", error.join(": ")));
    }
    rows.extend(tokens_fact(&iteration.tokens, iteration.cost_usd));
    rows.push(Row::fact("ended", row.ended_at.to_string()));
    rows.push(Row::fact("commit", row.commit.as_str()));
    if let Some(fingerprint) = &iteration.fingerprint {
        let again = row.repeats.map_or(String::new(), |first| format!(", as in iteration {first}"));
        rows.push(Row::fact("fingerprint", format!("{fingerprint}{again}")));
    }
    let claims: Vec<&str> = iteration
        .false_claim
        .iter()
        .map(|claim| match claim {
            Claim::Promise => "that all is done",
            Claim::Ticked => "a ticked box",
        })
        .collect();
    if !claims.is_empty() {
        rows.push(Row::of(Look::Dim, format!("{:<12}", "untrue")).and(Look::Warn, claims.join(", ")));
    }
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

fn describe_in_flight(in_flight: &InFlight) -> Section {
    let rows = vec![
        Row::of(Look::Accent, "running"),
        Row::fact("task", format!("{} {}", in_flight.task.name, in_flight.task.text)),
        Row::fact("try", in_flight.attempt.to_string()),
        Row::fact("agent", &in_flight.agent),
        Row::fact("started", in_flight.started_at.to_string()),
    ];
    Section::titled(title(format!("Iteration {}", in_flight.number)), rows)
}

fn tokens_fact(tokens: &crate::record::Tokens, cost: Option<f64>) -> Option<Row> {
    let number = |value: Option<u64>| value.map_or("?".to_owned(), grouped);
    let cost = cost.map_or(String::new(), |cost| format!(", ${cost:.2}"));
    (!tokens.is_unknown()).then(|| {
        let text = format!(
            "{} in, {} from cache, {} out{cost}",
            number(tokens.input),
            number(tokens.cache_read),
            number(tokens.output)
        );
        Row::fact("tokens", text)
    })
}

fn describe_session(row: &SessionRow, session: &Session) -> Vec<Section> {
    let (look, mark) = status_sign(row.status);
    let runs = row.iterations.iter().filter(|row| row.outcome != Outcome::Skipped).count();
    let closed = session.tasks_completed;
    let total: u64 = row.iterations.iter().map(IterationRow::time_ms).sum();
    let mut rows = vec![
        Row::of(look, format!("{mark} {}", status_words(row.status, row.stop_reason))),
        Row::fact("id", row.id.as_str()),
        Row::fact("feature", &row.feature),
        Row::fact("artifact", format!("{} ({})", session.artifact.path, session.artifact.status)),
        Row::fact("branch", session.branch.as_deref().unwrap_or("none, a detached HEAD")),
        Row::fact(
            "agent",
            format!("{} {}", session.agent, session.agent_version.as_deref().unwrap_or_default()).trim_end(),
        ),
        Row::fact("host", &session.host),
        Row::fact("started", row.started_at.to_string()),
    ];
    if let Some(ended) = session.ended_at {
        rows.push(Row::fact("ended", ended.to_string()));
    }
    if let Some(waiting) = row.live.as_ref().and_then(|live| live.waiting.as_ref()) {
        rows.push(Row::fact(
            "waits",
            format!("until {} for {} ({})", waiting.until, waiting.agent, waiting.class),
        ));
    }
    let mut totals = vec![
        Row::fact("iterations", format!("{} of at most {}", runs, session.max_iterations)),
        Row::fact("tasks", format!("{} of {} done", row.tasks_done, row.tasks_done + row.tasks_open)),
        Row::fact("time", duration(total)),
    ];
    if row.live.is_none() && session.ended_at.is_some() {
        totals.insert(2, Row::fact("closed here", Count(closed as u64, "task").to_string()));
    }
    if session.ended_at.is_some() {
        totals.extend(tokens_fact(&session.tokens, session.cost_usd));
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

/// A section for each file of a patch.
fn diff(patch: &Patch) -> Vec<Section> {
    let mut sections: Vec<Section> = Vec::new();
    let mut head = Vec::new();
    head.extend(patch.left_out.iter().map(|why| Row::of(Look::Warn, brief(why))));
    let mut file: Option<(Row, Vec<Row>, [usize; 2])> = None;
    let mut is_in_hunk = false;
    let close = |file: Option<(Row, Vec<Row>, [usize; 2])>, sections: &mut Vec<Section>| {
        if let Some((name, rows, [added, removed])) = file {
            let name = name.and(Look::Good, format!("  +{added}")).and(Look::Bad, format!(" -{removed}"));
            sections.push(Section::titled(name, rows));
        }
    };
    for line in patch.text.lines() {
        if let Some(names) = line.strip_prefix("diff --git ") {
            close(file.take(), &mut sections);
            let name = names.rsplit_once(" b/").map_or(names, |(_, name)| name);
            file = Some((title(shown(name)), Vec::new(), [0; 2]));
            is_in_hunk = false;
            continue;
        }
        let Some((_, rows, counts)) = &mut file else {
            head.extend(Row::lines(line, Look::Plain));
            continue;
        };
        let look = match line.as_bytes().first() {
            Some(b'@') => {
                is_in_hunk = true;
                Look::Accent
            }
            Some(b'+') if is_in_hunk => {
                counts[0] += 1;
                Look::Good
            }
            Some(b'-') if is_in_hunk => {
                counts[1] += 1;
                Look::Bad
            }
            _ if is_in_hunk => Look::Plain,
            // What is said in two more lines is in the title.
            _ if ["index ", "--- ", "+++ "].iter().any(|start| line.starts_with(start)) => continue,
            _ => Look::Dim,
        };
        Row::line(line, look, rows);
    }
    close(file, &mut sections);
    if sections.is_empty() && head.is_empty() {
        head.push(Row::of(Look::Dim, "nothing was changed"));
    }
    if !head.is_empty() {
        sections.insert(0, Section::plain(head));
    }
    sections
}

/// Cells of a bar.
const BAR: usize = 20;

/// `██████░░░░`
pub fn bar(done: usize, all: usize, cells: usize) -> [String; 2] {
    let full = (done * cells).checked_div(all).unwrap_or(0).min(cells);
    ["█".repeat(full), "░".repeat(cells - full)]
}

fn tasks(session: &SessionRow, list: Option<&[u8]>) -> Vec<Section> {
    let Some(bytes) = list else {
        return vec![Section::plain(vec![Row::of(Look::Dim, "this record has no task list")])];
    };
    let list = match TaskList::parse(bytes) {
        Ok(list) => list,
        Err(error) => return vec![Section::plain(vec![Row::of(Look::Bad, brief(&format!("{error:#}")))])],
    };
    let mut failures: BTreeMap<&str, usize> = BTreeMap::new();
    let mut skipped: BTreeSet<&str> = BTreeSet::new();
    for row in session.iterations.iter() {
        let Some(task) = row.task.as_deref() else { continue };
        match row.outcome {
            Outcome::Failure => *failures.entry(task).or_default() += 1,
            Outcome::Skipped => drop(skipped.insert(task)),
            Outcome::Success | Outcome::Interrupted => {}
        }
    }
    let running = session.in_flight().map(|running| running.task.name.as_str());
    let mut phases: Vec<(Option<&str>, Vec<&Item>)> = Vec::new();
    for item in &list.items {
        let phase = item.phase.as_deref();
        match phases.last_mut() {
            Some((current, items)) if *current == phase => items.push(item),
            _ => phases.push((phase, vec![item])),
        }
    }
    let progress = |name: Row, items: &[&Item]| {
        let tasks = || items.iter().filter(|item| item.is_task());
        let (done, all) = (tasks().filter(|item| item.done).count(), tasks().count());
        let [full, rest] = bar(done, all, BAR);
        name.and(Look::Good, format!("  {full}"))
            .and(Look::Dim, rest)
            .and(Look::Plain, format!(" {done}/{all}"))
    };
    let everything: Vec<&Item> = list.items.iter().collect();
    let mut sections = vec![Section::plain(vec![progress(title("All tasks"), &everything)])];
    for (phase, items) in &phases {
        let rows = items.iter().map(|item| {
            let indent = "  ".repeat(item.depth + 1);
            let is_running = running == Some(item.name.as_str());
            let (look, mark) = match () {
                () if is_running => (Look::Accent, "●"),
                () if item.done => (Look::Good, "✔"),
                () if skipped.contains(item.name.as_str()) => (Look::Warn, "»"),
                () if failures.contains_key(item.name.as_str()) => (Look::Bad, "✘"),
                () => (Look::Dim, "·"),
            };
            let name = if item.is_task() { item.name.as_str() } else { "" };
            let mut row = Row::of(look, format!("{indent}{mark} {} ", shown(name)))
                .and(if item.done { Look::Dim } else { Look::Plain }, brief(&item.text));
            if let Some(times) = failures.get(item.name.as_str()).filter(|_| item.is_task()) {
                row = row.and(Look::Bad, format!("  {}", Count(*times as u64, "failure")));
            }
            row
        });
        let name = title(brief(phase.unwrap_or("(no heading)")));
        sections.push(Section::titled(progress(name, items), rows.collect()));
    }
    if list.items.is_empty() {
        sections.push(Section::plain(vec![Row::of(Look::Dim, "no task-list items")]));
    }
    if !list.unrecognised.is_empty() {
        let rows =
            list.unrecognised.iter().map(|odd| Row::of(Look::Warn, format!("  {}", shown(&odd.to_string()))));
        sections.push(Section::titled(title("Boxes that Markdown does not know"), rows.collect()));
    }
    sections
}

fn history(told: &Told) -> Vec<Section> {
    let mut sections = Vec::new();
    let Told { task, mode, why, budget, context, clusters } = told;
    let mut head = Vec::new();
    match task {
        None => head.push(Row::of(Look::Dim, "no open task can be picked: there is no next prompt")),
        Some(task) => {
            let text = brief(&task.text);
            head.push(
                Row::of(Look::Dim, "next  ")
                    .and(Look::Accent, shown(&task.name))
                    .and(Look::Plain, format!("  {text}")),
            );
            let words = match context {
                None => format!("history is {mode}: {why}"),
                Some(context) => format!(
                    "{mode}, {why}: {} scanned, {} of {}",
                    Count(context.scanned as u64, "iteration"),
                    Count(context.tokens() as u64, "token"),
                    grouped(*budget as u64)
                ),
            };
            head.push(Row::of(Look::Plain, words));
        }
    }
    sections.push(Section::plain(head));
    if let Some(context) = context {
        let scores = context.pieces.iter().map(|piece| {
            let section = serde_json::to_value(piece.section).ok();
            let section = section.as_ref().and_then(Value::as_str).unwrap_or_default().replace('_', " ");
            let (look, mark) = if piece.is_told { (Look::Good, "told") } else { (Look::Dim, "left out") };
            Row::of(look, format!("{:.2} {mark:<9}", piece.score))
                .and(Look::Plain, format!("{section}, iteration {}", piece.iteration))
                .and(Look::Dim, format!("  {}", brief(&piece.why.join(", "))))
                .indented(15)
        });
        let scores: Vec<Row> = scores.collect();
        if !scores.is_empty() {
            sections.push(Section::titled(title("Scores"), scores));
        }
    }
    if !clusters.is_empty() {
        let rows = clusters.iter().map(|cause| {
            let tasks: Vec<String> = cause.tasks.iter().map(|task| shown(task)).collect();
            Row::of(Look::Bad, format!("{:>3} × ", cause.times))
                .and(Look::Plain, shown(&cause.fingerprint))
                .and(Look::Dim, format!("  {}", tasks.join(", ")))
        });
        sections.push(Section::titled(title("Failures that came again"), rows.collect()));
    }
    if let Some(context) = context.as_ref().filter(|context| !context.text.is_empty()) {
        sections.push(Section::titled(title("Told"), markdown(&context.text)));
    }
    sections
}

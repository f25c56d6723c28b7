//! What was printed and what was asked; of a failure, what decides.

use anyhow::Result;

use crate::style::{duration, sign};
use crate::tui::page::{Body, Fold, PREVIEW, Page, Section};
use crate::tui::row::{Look, Row, shown};
use crate::tui::source::{Author, File, InFlight, IterationRow, Place, SessionRow, Source, Stream};
use crate::tui::window::{Window, WindowPart};
use ralph_core::record::{AgentEvent, Exits, Iteration, Outcome, SessionId};
use ralph_store::Ask;

use super::words::brief;

/// In front of what decides about a failure.
pub const BAR: &str = "┃ ";

/// Most lines of an excerpt, and of what the agent said last.
const MAX_EXCERPT: usize = 12;
const MAX_WORDS: usize = 5;

/// Reads a part of a file, in rows.
pub fn read_part(source: &dyn Source, file: &File, ask: Ask) -> Result<WindowPart> {
    let part = source.part(file, ask)?;
    let text = || String::from_utf8_lossy(&part.bytes);
    let author = file.author.as_ref().filter(|_| file.stream == Stream::AgentStdout);
    let rows = match author.and_then(|author| source.parse_transcript(author, &part.bytes)) {
        Some(events) => transcript_rows(&events),
        None if file.stream == Stream::Prompt => markdown(&text()),
        None => Row::lines(&text(), Look::Plain),
    };
    Ok(WindowPart { start: part.range.start, end: part.range.end, total: part.total, rows })
}

/// What an iteration printed: for a failure what decides first, then the check before the agent.
pub fn output(session: &SessionRow, row: &IterationRow) -> Page {
    let Exits { agent, validation } = row.exit;
    let exit = validation.filter(|_| agent.is_none_or(|code| code == 0)).or(agent);
    let (look, mark) = sign(row.outcome);
    let mut head = Row::of(Look::Bold, format!("Iteration {}", row.number));
    if let Some(exit) = exit {
        head = head
            .and(Look::Plain, ", ")
            .and(if exit == 0 { Look::Good } else { Look::Bad }, format!("exit {exit}"));
    }
    let cost = row.cost.shown().map_or(String::new(), |cost| format!(", {cost}"));
    let head = head
        .and(Look::Plain, row.duration_ms.map_or(String::new(), |ms| format!(", {}", duration(ms))) + &cost);
    let line = row.line();
    let task = Row::of(look, format!("{mark} {}", line.task_words()));
    let mut rows = vec![head, task.and(Look::Plain, format!("  {}", line.title))];
    let mut sections = Vec::new();
    if row.is_failed() {
        rows.push(Row::of(look, format!("{BAR}{}", line.note)).indented(2));
        rows.push(Row::of(look, BAR).and(Look::Warn, fate(session, row)));
        let body = Body::Unread;
        sections.push(Section { about: Some(row.number), title: None, fold: Fold::Never, body });
    } else if !line.note.is_empty() {
        rows.push(Row::of(look, format!("  {}", line.note)).indented(2));
    }
    sections.insert(0, Section::plain(rows));
    let agent = row.agent.as_deref();
    let author = agent.map(|agent| Author { session: session.id.clone(), agent: agent.to_owned() });
    let streams =
        [Stream::ValidationStdout, Stream::ValidationStderr, Stream::AgentStdout, Stream::AgentStderr];
    for stream in streams {
        let file = File { place: Place::Record(row.commit.clone()), stream, author: author.clone() };
        sections.push(file_section(file, Fold::Closed(PREVIEW), Ask::From(0)));
    }
    Page::new(sections)
}

/// What became of a failure: `same as #4, solved in #6`.
fn fate(session: &SessionRow, row: &IterationRow) -> String {
    let is_success = |later: &&IterationRow| {
        later.number > row.number && later.task == row.task && later.outcome == Outcome::Success
    };
    let same = row.repeats.map(|first| format!("same as #{first}"));
    let later = session.iterations.iter().find(is_success);
    let end = later.map_or_else(|| "not solved".to_owned(), |later| format!("solved in #{}", later.number));
    same.into_iter().chain([end]).collect::<Vec<_>>().join(", ")
}

/// The decisive lines of a failure, and what the agent said last.
pub fn failure(iteration: &Iteration) -> Vec<Row> {
    let facts = &iteration.facts;
    let last = facts.final_message.lines().filter(|line| !line.trim().is_empty());
    let skipped = last.clone().count().saturating_sub(MAX_WORDS);
    let words = last.skip(skipped).map(|line| (Look::Dim, line));
    let lines = facts.excerpt.lines().take(MAX_EXCERPT).map(|line| (Look::Plain, line));
    let mut rows = Vec::new();
    for (look, line) in lines.chain(words) {
        Row::line(line, look, &mut rows);
    }
    rows.into_iter().map(|row| Row::of(Look::Bad, BAR).then(row)).collect()
}

/// What a running iteration has printed so far, in the order in which it comes.
pub fn live_output(session: &SessionId, in_flight: &InFlight, seconds: u64) -> Page {
    let head = Row::of(Look::Bold, format!("Iteration {}", in_flight.number))
        .and(Look::Plain, ", ")
        .and(Look::Accent, "running")
        .and(Look::Plain, format!(" for {}", age(seconds)));
    let again = if in_flight.attempt > 1 { format!(" ×{}", in_flight.attempt) } else { String::new() };
    let task = Row::of(Look::Accent, shown(&in_flight.task.name))
        .and(Look::Plain, format!("{again}  {}", brief(&in_flight.task.text)));
    let mut sections = vec![Section::plain(vec![head, task])];
    for (stream, length) in Stream::OF_A_RUN.into_iter().zip(in_flight.lengths) {
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
        author: Some(Author { session: session.clone(), agent: in_flight.agent.clone() }),
    }
}

fn file_section(file: File, fold: Fold, ask: Ask) -> Section {
    let agent = file.author.as_ref().map_or("agent", |author| &author.agent);
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
    let file = File { place, stream: Stream::Prompt, author: None };
    let section = Section { title: None, ..file_section(file, Fold::Never, Ask::From(0)) };
    Page::new(vec![section])
}

/// What an agent did, in lines.
fn transcript_rows(events: &[AgentEvent]) -> Vec<Row> {
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
pub fn markdown(text: &str) -> Vec<Row> {
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

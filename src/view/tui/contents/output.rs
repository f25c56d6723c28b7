//! What was printed, what was asked, and a line an iteration.

use anyhow::Result;

use crate::record::{AgentEvent, SessionId, ToolCall};
use crate::store::Ask;
use crate::view::style::{Count, cut, duration};
use crate::view::tui::page::{Body, Fold, PREVIEW, Page, Part, Section, Window};
use crate::view::tui::row::{Look, Row, shown};
use crate::view::tui::source::{Author, File, InFlight, IterationRow, Place, SessionRow, Source, Stream};

use super::words::{brief, sign};

/// Reads a part of a file, in rows.
pub fn read_part(source: &dyn Source, file: &File, ask: Ask) -> Result<Part> {
    let part = source.part(file, ask)?;
    let text = || String::from_utf8_lossy(&part.bytes);
    let author = file.author.as_ref().filter(|_| file.stream == Stream::AgentStdout);
    let rows = match author.and_then(|author| source.parse_transcript(author, &part.bytes)) {
        Some(events) => transcript_rows(&events),
        None if file.stream == Stream::Prompt => markdown(&text()),
        None => Row::lines(&text(), Look::Plain),
    };
    Ok(Part { start: part.range.start, end: part.range.end, total: part.total, rows })
}

/// What an iteration printed: the check first, for that is what decides.
pub fn output(session: &SessionId, row: &IterationRow) -> Page {
    let exit = row.validation_exit.filter(|_| row.agent_exit.is_none_or(|code| code == 0)).or(row.agent_exit);
    let (look, mark) = sign(row.outcome);
    let mut head = Row::of(Look::Bold, format!("Iteration {}", row.number));
    if let Some(exit) = exit {
        head = head
            .and(Look::Plain, ", ")
            .and(if exit == 0 { Look::Good } else { Look::Bad }, format!("exit {exit}"));
    }
    let head = head.and(Look::Plain, row.time().map_or(String::new(), |time| format!(", {time}")));
    let mut rows = vec![head];
    let line = row.line();
    rows.push(
        Row::of(look, format!("{mark} {}", line.task_words())).and(Look::Plain, format!("  {}", line.title)),
    );
    if !line.note.is_empty() {
        rows.push(Row::of(look, format!("  {}", line.note)).indented(2));
    }
    if let Some(first) = row.repeats {
        rows.push(Row::of(Look::Warn, format!("  the same failure as in iteration {first}")));
    }
    let author =
        row.agent.as_deref().map(|agent| Author { session: session.clone(), agent: agent.to_owned() });
    let mut sections = vec![Section::plain(rows)];
    let streams =
        [Stream::ValidationStdout, Stream::ValidationStderr, Stream::AgentStdout, Stream::AgentStderr];
    for stream in streams {
        let file = File { place: Place::Record(row.commit.clone()), stream, author: author.clone() };
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
    let again = if in_flight.attempt > 1 { format!(" ×{}", in_flight.attempt) } else { String::new() };
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
        .and(look, cut(&format!("{} {}", row.line().task_words(), row.note), 60));
    if let Some(tokens) = row.tokens {
        title = title.and(Look::Dim, format!("  {}", Count(tokens, "token")));
    }
    Section { about: Some(row.number), title: Some(title), fold: Fold::Closed(0), body: Body::Unread }
}

pub fn calls(calls: &[ToolCall]) -> Vec<Row> {
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

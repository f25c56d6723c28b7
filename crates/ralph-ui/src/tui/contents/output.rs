//! What was printed and what was asked.

use crate::style::{brief_duration, cut, size};
use crate::tui::model::{Answer, File, Place, Request, Stream};
use crate::tui::page::{Fold, Section, reading};
use crate::tui::row::{Look, Row, shown};
use ralph_core::record::{AgentEvent, LogEntry};

use super::Scene;
use super::words::{brief, exit, look_of_exit};

/// Longest result of a tool call in its row.
const MAX_RESULT: usize = 32;

/// Turns a file into rows; `events` are what an agent did by it, if it is no text.
pub fn rows_of_text(file: &File, bytes: &[u8], events: Option<&[AgentEvent]>) -> Vec<Row> {
    let text = String::from_utf8_lossy(bytes);
    match events {
        Some(events) => transcript_rows(events),
        None if file.stream == Stream::Prompt => markdown(&text),
        None => Row::lines(&text, Look::Plain),
    }
}

/// What an attempt printed, the validation first if that is what failed.
pub fn sections(scene: &Scene<'_>, attempt: &LogEntry) -> Vec<Section> {
    let entry = attempt;
    let took = &entry.duration_ms();
    let codes =
        [("validation", entry.exit().validation, took.validation), ("agent", entry.exit().agent, took.agent)];
    let head = codes.into_iter().fold(Row::new(), |row, (name, code, ms)| match code {
        None => row.and(Look::Dim, format!("{name} did not run  ")),
        Some(code) => {
            let time = ms.map_or(String::new(), |ms| format!(" in {}", brief_duration(ms)));
            let row = row.and(Look::Plain, format!("{name} ")).and(look_of_exit(code), exit(code));
            row.and(Look::Dim, time + "  ")
        }
    });
    let mut sections = vec![Section::plain(vec![head])];
    let author = entry.agent().map(|agent| (entry.session(), agent.to_owned()));
    let of_agent = [Stream::AgentStdout, Stream::AgentStderr];
    let of_validation = [Stream::ValidationStdout, Stream::ValidationStderr];
    let streams = if attempt.is_failure() { [of_validation, of_agent] } else { [of_agent, of_validation] };
    for stream in streams.into_iter().flatten() {
        let file = File { place: Place::Record(entry.commit()), stream, author: author.clone() };
        sections.push(of_file(scene, file));
    }
    sections
}

/// A file below a title. Of a long one its end is shown.
pub fn of_file(scene: &Scene<'_>, file: File) -> Section {
    let agent = file.author.as_ref().map_or("agent", |(_, agent)| agent);
    let title = match file.stream {
        Stream::Prompt => "prompt".to_owned(),
        Stream::ValidationStdout => "validation, stdout".to_owned(),
        Stream::ValidationStderr => "validation, stderr".to_owned(),
        Stream::AgentStdout => format!("{}, what it did", shown(agent)),
        Stream::AgentStderr => format!("{}, stderr", shown(agent)),
    };
    let title = Row::of(Look::Accent, title);
    let key = title.text();
    let rows = match scene.cache.get(Request::Text(file.clone())) {
        Some(Ok(Answer::Text { rows, left_out: 0, .. })) => rows.clone(),
        Some(Ok(Answer::Text { rows, left_out, .. })) => {
            let words = format!("… {} before this: v opens all of it", size(*left_out));
            [Row::of(Look::Dim, words)].into_iter().chain(rows.iter().cloned()).collect()
        }
        Some(Err(error)) => Row::failure_words(error),
        None | Some(Ok(_)) => vec![reading()],
    };
    Section { key, title: Some(title), fold: Fold::Open, rows, file: Some(file) }
}

/// The prompt, as the agent got it.
pub fn prompt(scene: &Scene<'_>, place: Place) -> Vec<Section> {
    let file = File { place, stream: Stream::Prompt, author: None };
    vec![Section { title: None, fold: Fold::Never, ..of_file(scene, file) }]
}

/// What an agent did, in lines; what came of a call is at the right of it.
pub fn transcript_rows(events: &[AgentEvent]) -> Vec<Row> {
    let mut rows: Vec<Row> = Vec::new();
    // Calls whose end has not come yet, by the places of their rows.
    let mut open: Vec<(&str, usize)> = Vec::new();
    for event in events {
        match event {
            AgentEvent::Text { text } => {
                rows.extend(Row::lines(text.trim_end(), Look::Plain).into_iter().map(|row| row.indented(1)));
            }
            AgentEvent::ToolStarted { tool_name, arguments_summary } => {
                open.push((tool_name, rows.len()));
                rows.push(call(tool_name, arguments_summary));
            }
            AgentEvent::ToolEnded { tool_name, is_error, result } => {
                let found = open.iter().position(|(name, _)| name == tool_name);
                let right = result_of(*is_error, result);
                match found.map(|at| open.remove(at).1) {
                    Some(at) => rows[at] = std::mem::take(&mut rows[at]).with_right(right),
                    // It began before what is shown.
                    None => rows.push(Row::of(Look::Dim, shown(tool_name)).with_right(right)),
                }
            }
            AgentEvent::Retry { message } => {
                rows.push(Row::of(Look::Warn, format!("retrying: {}", brief(message))));
            }
            AgentEvent::Error { message } => {
                rows.push(Row::of(Look::Bad, format!("error: {}", brief(message))));
            }
            AgentEvent::Usage { .. } => {}
        }
    }
    rows
}

/// `Edit  src/live/merge.ts`
pub fn call(tool: &str, arguments: &str) -> Row {
    Row::of(Look::Accent, format!("{:<5} ", shown(tool))).and(Look::Plain, brief(arguments))
}

/// What came of a call.
pub fn result_of(is_error: bool, result: &str) -> Row {
    let words = cut(&shown(result.trim()), MAX_RESULT);
    match (is_error, words.is_empty()) {
        (true, true) => Row::of(Look::Bad, "failed"),
        (true, false) => Row::of(Look::Bad, words),
        (false, _) => Row::of(Look::Dim, words),
    }
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

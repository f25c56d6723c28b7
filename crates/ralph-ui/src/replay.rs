//! Prompts that would have been sent, beside those that were.

use std::io::{self, Write};

use super::changed_lines::{Line, changed_lines};
use super::style::{Count, Look, Paint, inert, one_line};

/// One prompt, as it was sent and as it would have been, each with its tokens.
pub fn write(
    out: &mut impl Write,
    iteration: u32,
    task: Option<&str>,
    (sent, tokens_sent): (&str, usize),
    (text, tokens): (&str, usize),
    paint: Paint,
) -> io::Result<()> {
    let head = paint.paint(Look::Bold, &format!("iteration {iteration}"));
    let task = one_line(task.unwrap_or("no task"));
    let lines = changed_lines(sent, text);
    if lines.is_empty() {
        return writeln!(out, "{head}  {task}  the same, {}", Count(tokens as u64, "token"));
    }
    writeln!(out, "{head}  {task}  {} instead of {tokens_sent}", Count(tokens as u64, "token"))?;
    for line in lines {
        let line = match line {
            Line::Both(text) => format!("    {}", inert(text)),
            Line::Old(text) => paint.paint(Look::Bad, &format!("  - {}", inert(text))),
            Line::New(text) => paint.paint(Look::Good, &format!("  + {}", inert(text))),
            Line::Gap => paint.paint(Look::Dim, "    ..."),
        };
        writeln!(out, "{}", line.trim_end())?;
    }
    writeln!(out)
}

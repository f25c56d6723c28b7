//! How a command ended, from the result that an agent reports: its exit code, and its last meaningful line.

use std::sync::LazyLock;

use failure_excerpt::{Output, examine, without_escapes};
use redact_stream::Redacted;
use regex::Regex;

use ralph_core::record::summary;

/// The result of a tool, as the agent's stream has it.
#[derive(Debug, Clone, Copy)]
pub(super) struct ToolResult<'a> {
    pub output: &'a str,
    pub is_error: bool,
    /// The exit code of a command, where a field of the stream holds it.
    pub exit_code: Option<i64>,
}

/// A line that an agent puts before or after the output of a command.
static FRAME: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(
        r"(?x)^(?:
            Exit\ code\ (\d+)
            | \[?Command\ exited\ with\ code:?\ (\d+)\]?
            | Error:\ Command\ failed\ \(exit\ code:\ (\d+)\)
            | \[Process\ exited\ with\ code\ (\d+)\]
            | <shellId:\ \S+\ completed\ with\ exit\ code\ (\d+)>
            | Exit\ Code:\ (\d+)
            | \[(?:stdout|stderr)\]
            | (?:Command|Directory|Signal|Background\ PIDs|Process\ Group\ PGID):\ .*
            | (?:Error|Signal|Output):\ \((?:none|empty)\)
        )$",
    )
    .expect("a fixed pattern is valid")
});

/// What tools print after the error itself: that there was one, or where to read more.
static CLOSING: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(
        r"(?x)^(?:
            make(?:\[\d+\])?:\ \*\*\*
            | error:\ (?:test\ failed,\ to\ rerun|could\ not\ compile|aborting\ due\ to)
            | (?:For\ more\ information\ about|Some\ errors\ have\ detailed)
            | (?:note|help):
            | npm\ (?:ERR!|error)\ (?:A\ complete\ log|code\ |errno\ |path\ |\s*/|$)
            | (?:\S*\s)?ELIFECYCLE
            | error\ Command\ failed\ with\ exit\ code
            | info\ Visit\ https?:
            | (?:ERROR:\ )?failed\ to\ (?:build|solve):
        )",
    )
    .expect("a fixed pattern is valid")
});

/// Longest cause that is asked for. [`summary`] cuts it off, as it keeps half a token out of the record.
const MAX_LINE_CHARS: usize = 4_000;

impl ToolResult<'_> {
    /// Returns true if the agent or the exit code reports a failure.
    pub(super) fn is_failure(&self) -> bool {
        self.is_error || self.exit_code.is_some_and(|code| code != 0)
    }

    /// Returns the exit code of the command and its last line, which is empty if it printed nothing. `output` is its output without
    /// secrets.
    pub(super) fn command_end(&self, output: &Redacted) -> (Option<i32>, String) {
        let plain = without_escapes(output);
        let mut lines: Vec<&str> =
            plain.split(['\n', '\r']).map(str::trim).filter(|line| has_words(line)).collect();
        let mut from_words = None;
        let mut strip = |line: Option<&&str>| {
            let frame = line.and_then(|line| FRAME.captures(line));
            let code = frame.as_ref().and_then(|frame| frame.iter().skip(1).flatten().next());
            from_words = from_words.or_else(|| code?.as_str().parse().ok());
            frame.is_some()
        };
        while strip(lines.last()) {
            lines.pop();
        }
        let framed = lines.iter().take_while(|line| strip(Some(line))).count();
        lines.drain(..framed);
        // A command that succeeded may print the words of a frame as its own.
        let is_framed = self.is_failure() || lines.is_empty();
        let exit_code = self.exit_code.and_then(|code| code.try_into().ok());
        let last_line = summary(&output.part(decisive_line(&lines)));
        (exit_code.or(from_words.filter(|_| is_framed)), last_line)
    }
}

fn has_words(line: &str) -> bool {
    line.chars().any(char::is_alphanumeric)
}

/// Returns the last line, or the one that says why if the last line only closes the output.
fn decisive_line(lines: &[&str]) -> String {
    let last = lines.last().copied().unwrap_or_default();
    let open = lines.iter().rposition(|line| !CLOSING.is_match(line)).map_or(0, |at| at + 1);
    let cause = if open < lines.len() {
        let stdout = lines[..open].join("\n");
        examine(&Output { stdout: &stdout, ..Output::default() }).cause(MAX_LINE_CHARS)
    } else {
        None
    };
    let line = cause.as_deref().unwrap_or(last);
    // Labels of some agents before the words themselves.
    let line = ["Output: ", "Error: "].iter().find_map(|label| line.strip_prefix(label)).unwrap_or(line);
    let tagged = line.strip_prefix("<tool_use_error>").map(|line| line.trim_end_matches("</tool_use_error>"));
    tagged.unwrap_or(line).to_owned()
}

#[cfg(test)]
mod tests {
    use redact_stream::Redactor;

    use super::*;

    fn end(output: &str, is_error: bool, exit_code: Option<i64>) -> (Option<i32>, String) {
        ToolResult { output, is_error, exit_code }.command_end(&Redactor::default().redact(output))
    }

    #[test]
    fn the_frame_that_an_agent_puts_around_an_output_tells_the_exit_code() {
        for (output, code, line) in [
            // Claude Code
            ("Exit code 3\nto-stderr", Some(3), "to-stderr"),
            ("Exit code 137", Some(137), ""),
            ("<tool_use_error>Blocked: sleep 30</tool_use_error>", None, "Blocked: sleep 30"),
            // Qwen Code
            (
                "Command: echo x >&2; exit 3\nDirectory: (root)\nOutput: to-stderr\nError: (none)\nExit Code: 3\nSignal: (none)\nProcess Group PGID: 27296",
                Some(3),
                "to-stderr",
            ),
            (
                "Command: x\nDirectory: (root)\nOutput: (empty)\nError: no such x\nExit Code: 127\nSignal: (none)",
                Some(127),
                "no such x",
            ),
            // pi
            ("to-stderr\n\n\nCommand exited with code 3", Some(3), "to-stderr"),
            ("one\ntwo\n\nCommand timed out after 5 seconds", None, "Command timed out after 5 seconds"),
            // Droid
            (
                "Error: Command failed (exit code: 3)\nto-stderr\n\n\n[Process exited with code 3]",
                Some(3),
                "to-stderr",
            ),
            // Cline
            ("[Command exited with code 3]\n\n[stderr]\nto-stderr\n", Some(3), "to-stderr"),
            // Copilot
            ("to-stderr\n<shellId: 1 completed with exit code 3>", Some(3), "to-stderr"),
            ("", None, ""),
        ] {
            assert_eq!(end(output, true, None), (code, line.to_owned()), "{output}");
        }
    }

    #[test]
    fn words_of_a_command_that_succeeded_are_no_exit_code() {
        assert_eq!(end("one\nCommand exited with code 3", false, None).0, None);
        assert_eq!(end("one\nCommand exited with code 3", true, Some(1)).0, Some(1));
        // Gemini CLI says it where the command printed nothing.
        assert_eq!(end("Command exited with code: 3", false, None).0, Some(3));
    }

    #[test]
    fn the_last_line_says_something_and_is_short() {
        for (output, line) in [
            ("error[E0425]: no x\n  |\n  = note\n}\n---\n", "= note"),
            ("sh: 1: frob: not found\nmake: *** [Makefile:3: all] Error 127", "sh: 1: frob: not found"),
            (
                "test result: FAILED. 3 passed; 1 failed\n\nerror: test failed, to rerun pass `--lib`",
                "test result: FAILED. 3 passed; 1 failed",
            ),
            (
                "npm ERR! network timeout\nnpm ERR! A complete log of this run is in:\nnpm ERR!     /x.log",
                "npm ERR! network timeout",
            ),
            (
                "> [2/2] RUN npm ci:\nERR! no space left on device\n---\n   2 | >>> RUN npm ci\n   3 |     COPY . .\n---\nERROR: failed to solve: process \"npm ci\" did not complete successfully: exit code: 228",
                "ERR! no space left on device",
            ),
            ("make: *** [Makefile:3: all] Error 127", "make: *** [Makefile:3: all] Error 127"),
            ("10%\r50%\r\u{1b}[31mdisk full\u{1b}[0m\r\n", "disk full"),
        ] {
            assert_eq!(end(output, true, Some(1)).1, line, "{output}");
        }
        assert!(end(&"word ".repeat(100), true, None).1.chars().count() <= 200);
    }
}

//! What a tool complains of: one failed test, one error of a compiler, one crash.

use super::page::Page;
use super::place::{is_foreign, place};
use super::role::{Role, role};

/// When in a chain of checks something goes wrong. What comes first hides what would come later.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Stage {
    /// What does not compile, load, parse or please a linter.
    Build,
    Test,
    /// A process that died.
    Crash,
    /// A test that never ended.
    Hang,
    /// Something that calls itself an error, of no tool that is known.
    Other,
    /// What only says that something before it failed.
    Echo,
}

impl Stage {
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::Build => "build",
            Self::Test => "test",
            Self::Crash => "crash",
            Self::Hang => "hang",
            Self::Other => "other",
            Self::Echo => "echo",
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Severity {
    Error,
    Warning,
}

/// More lines of one trouble than these are left out.
const MOST_PARTS: usize = 120;

#[derive(Debug, Clone)]
pub(super) struct Trouble {
    pub(super) stage: Stage,
    pub(super) severity: Severity,
    pub(super) tool: &'static str,
    /// The name of the test; empty where it is none.
    pub(super) id: String,
    /// The rule or the number of the error, where the tool has such.
    pub(super) code: String,
    pub(super) message: String,
    /// Lines with what was expected and what came.
    pub(super) values: Vec<String>,
    /// Which of several runs of one after another it belongs to: what fails in the first may keep the others from running.
    pub(super) run: u32,
    /// The file of the first place in the project.
    pub(super) file: String,
    /// Lines of the page that tell of it, and what each is good for.
    pub(super) parts: Vec<(usize, Role)>,
}

/// Where in a stack trace the cause is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Trace {
    /// The newest call comes first, as nearly everywhere.
    NewestFirst,
    /// The newest call comes last, as in Python.
    NewestLast,
}

impl Trouble {
    pub(super) fn new(stage: Stage, tool: &'static str) -> Self {
        Self {
            stage,
            severity: Severity::Error,
            tool,
            id: String::new(),
            code: String::new(),
            message: String::new(),
            values: Vec::new(),
            run: 0,
            file: String::new(),
            parts: Vec::new(),
        }
    }

    #[must_use]
    pub(super) fn named(self, id: &str) -> Self {
        Self { id: id.trim().to_owned(), ..self }
    }

    #[must_use]
    pub(super) fn coded(self, code: &str) -> Self {
        Self { code: code.to_owned(), ..self }
    }

    #[must_use]
    pub(super) fn saying(self, message: &str) -> Self {
        Self { message: message.trim().to_owned(), ..self }
    }

    #[must_use]
    pub(super) fn at(self, file: &str) -> Self {
        Self { file: file.to_owned(), ..self }
    }

    #[must_use]
    pub(super) fn with(mut self, line: usize, role: Role) -> Self {
        self.add(line, role);
        self
    }

    pub(super) fn add(&mut self, line: usize, role: Role) {
        if self.parts.len() < MOST_PARTS {
            self.parts.push((line, role));
        }
    }

    pub(super) fn has(&self, role: Role) -> bool {
        self.parts.iter().any(|part| part.1 == role)
    }

    /// Takes in the lines `from..to`, each by its shape; the first text is the message where there is none yet.
    pub(super) fn body(&mut self, page: &Page, from: usize, to: usize, trace: Trace) {
        let mut frames: Vec<usize> = Vec::new();
        let mut fallback: Option<usize> = None;
        // The indentation of a frame of Python's, whose source follows deeper.
        let mut source_below: Option<usize> = None;
        let mut is_traced = false;
        for index in from..to.min(page.len()) {
            let line = page.line(index);
            let Some(mut found) = role(line) else { continue };
            let text = line.trim();
            if is_chatter(text) {
                continue;
            }
            if let Some(indent) = source_below.take()
                && indent_of(line) > indent
                && found != Role::Frame
                && found != Role::Foreign
            {
                if frames.last() == Some(&index.saturating_sub(1))
                    || frames.last() == Some(&index.saturating_sub(2))
                {
                    self.add(index, Role::Code);
                }
                source_below = Some(indent);
                continue;
            }
            if text.starts_with("File \"") {
                source_below = Some(indent_of(line));
            }
            if self.message.is_empty() && matches!(found, Role::Note | Role::Value) {
                text.clone_into(&mut self.message);
                found = Role::Message;
            }
            match found {
                Role::Frame => {
                    is_traced |= !self.message.is_empty();
                    frames.push(index);
                }
                Role::Foreign => {
                    let is_near = place(line)
                        .is_some_and(|place| !is_foreign(place.file) && place.file.starts_with('/'));
                    if fallback.is_none() && is_near {
                        fallback = Some(index);
                    }
                }
                Role::Value => {
                    // What stands below the calls is detail that not every reporter prints.
                    let is_detail = is_traced && trace == Trace::NewestFirst;
                    if self.values.len() < 40 && !is_detail {
                        self.values.push(text.to_owned());
                    }
                    self.add(index, found);
                }
                Role::Head | Role::Message | Role::Place | Role::Code | Role::Note => self.add(index, found),
            }
        }
        if frames.is_empty() {
            frames.extend(fallback);
        }
        self.frames(page, &frames, trace);
    }

    /// Takes in steps of a stack trace that are in the project.
    pub(super) fn frames(&mut self, page: &Page, frames: &[usize], trace: Trace) {
        let newest = match trace {
            Trace::NewestFirst => frames.first(),
            Trace::NewestLast => frames.last(),
        };
        let Some(&newest) = newest else { return };
        if self.file.is_empty() {
            self.file = place(page.line(newest)).map(|place| place.file.to_owned()).unwrap_or_default();
        }
        let mut seen: Vec<&str> = Vec::new();
        for &index in frames {
            let text = page.line(index).trim();
            if seen.contains(&text) {
                continue;
            }
            if seen.len() < 12 {
                seen.push(text);
            }
            let role = if index == newest && !self.has(Role::Place) { Role::Place } else { Role::Frame };
            self.add(index, role);
        }
    }

    /// Whether the program itself gave up, which tells more than a check that did not hold.
    pub(super) fn is_exception(&self) -> bool {
        let name = self.message.split([':', ' ']).next().unwrap_or_default();
        (name.ends_with("Error") || name.ends_with("Exception")) && !name.contains("Assert")
    }

    /// Whether it says anything beside a name.
    pub(super) fn is_told(&self) -> bool {
        !self.message.is_empty() || !self.values.is_empty() || self.has(Role::Place)
    }
}

/// What tools say in every failure.
fn is_chatter(text: &str) -> bool {
    const STARTS: [&str; 25] = [
        "Traceback (most recent",
        "[Previous line repeated",
        "note: run with `RUST_BACKTRACE",
        "note: Some details are omitted",
        "stack backtrace:",
        "Error Message:",
        "Stack Trace:",
        "stacktrace:",
        "[gw",
        "rerun with",
        "Did you mean",
        "For more information",
        "Help:",
        "help: for further information",
        "Use -v to get",
        "Full diff:",
        "...Full output truncated",
        "at Context.<anonymous> (node_modules",
        "duration_ms:",
        "type:",
        "failureType:",
        "exitCode:",
        "signal:",
        "Seed:",
        "Set environment variable",
    ];
    STARTS.iter().any(|start| text.starts_with(start))
}

/// The number of blanks in front.
pub(super) fn indent_of(line: &str) -> usize {
    line.len() - line.trim_start().len()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(body: &str, trace: Trace) -> Trouble {
        let page = Page::new(body, "", Some("/w/p"));
        let mut trouble = Trouble::new(Stage::Test, "test");
        trouble.body(&page, 0, page.len(), trace);
        trouble
    }

    #[test]
    fn a_body_is_told_apart() {
        let trouble = told(
            "Error: no such shelf\n\n  expected: 3\n       got: 2\n    at f (node_modules/x/y.js:1:1)\n    at g (/w/p/src/a.js:3:4)\n    at h (/w/p/src/b.js:5:6)\n",
            Trace::NewestFirst,
        );
        assert_eq!((trouble.message.as_str(), trouble.file.as_str()), ("Error: no such shelf", "src/a.js"));
        assert_eq!(trouble.values, ["expected: 3", "got: 2"]);
        assert_eq!(
            trouble.parts,
            [(0, Role::Message), (2, Role::Value), (3, Role::Value), (5, Role::Place), (6, Role::Frame)]
        );
    }

    #[test]
    fn the_newest_call_of_python_comes_last() {
        let trouble = told(
            "Traceback (most recent call last):\n  File \"/w/p/t/a.py\", line 3, in f\n    go(1)\n  File \"/w/p/src/b.py\", line 5, in go\n    raise X\n    ^^^^^^^\nValueError: x == y\n",
            Trace::NewestLast,
        );
        assert_eq!((trouble.message.as_str(), trouble.file.as_str()), ("ValueError: x == y", "src/b.py"));
        assert!(trouble.parts.contains(&(3, Role::Place)) && trouble.parts.contains(&(1, Role::Frame)));
    }
}

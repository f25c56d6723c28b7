//! The templates of prompts and pages, as they are in this folder.

/// The prompt of a loop over a task list.
pub const PROMPT: &str = include_str!("ralph-prompt.md");
/// The prompt of a loop that writes a plan.
pub const PLAN_PROMPT: &str = include_str!("ralph-plan.md");
/// The prompt of a loop that writes a specification.
pub const SPEC_PROMPT: &str = include_str!("ralph-spec.md");
/// The frame of all pages.
pub const FRAME: &str = include_str!("report-frame.html");
/// The body of the page of a session.
pub const PAGE: &str = include_str!("report.html");
/// An attempt on it.
pub const ATTEMPT: &str = include_str!("report-attempt.html");
/// The attempts at a task on it.
pub const TASK: &str = include_str!("report-task.html");
/// The style of all pages.
pub const STYLE: &str = include_str!("report.css");
/// The script of the page of a session.
pub const SCRIPT: &str = include_str!("report.js");
/// What `web` adds to pages: they are loaded again when something changed.
pub const WEB_SCRIPT: &str = include_str!("report-web.js");
/// The body of the list of sessions.
pub const INDEX: &str = include_str!("report-index.html");
/// The page of a session as Markdown.
pub const SUMMARY: &str = include_str!("report-summary.md");

//! The frame of pages over several sessions: one file without a script that loads nothing.

use anyhow::{Context, Result};
use minijinja::{Environment, Value, context};
use ralph_templates::{FRAME, SESSIONS_STYLE, STYLE};

use crate::local_time::local;
use ralph_core::record::{RALPH_ELSEWHERE, Timestamp};

use super::environment::hash;

/// What stands above and below the body.
pub(super) struct Frame<'a> {
    pub title: &'a str,
    /// A class of the style: `good`, `note`, `warning` or `bad`.
    pub level: &'a str,
    pub subject: &'a str,
    pub made_at: Timestamp,
}

/// Returns the page around `body`, which is markup of ours.
pub(super) fn framed(environment: &Environment<'_>, frame: &Frame<'_>, body: String) -> Result<String> {
    let style = format!("{STYLE}{SESSIONS_STYLE}");
    let values = context! {
        version => env!("CARGO_PKG_VERSION"),
        style_hash => hash(&style),
        style => Value::from_safe_string(style),
        title => frame.title,
        level => frame.level,
        subject => frame.subject,
        made => local(frame.made_at),
        ralph => RALPH_ELSEWHERE.as_str(),
        body => Value::from_safe_string(body),
    };
    environment.render_str(FRAME, values).context("write the page")
}

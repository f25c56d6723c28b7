//! The frame of all pages: one file that loads nothing.

use anyhow::{Context, Result};
use minijinja::{Environment, Value, context};
use ralph_templates::{FRAME, SCRIPT, STYLE};

use super::environment::hash;

/// What stands around the body.
pub(super) struct Frame<'a> {
    pub title: &'a str,
    pub subject: &'a str,
    pub when: String,
    /// What stands in backticks is code.
    pub footer: String,
    /// True for a page of a session, which has the script.
    pub has_script: bool,
}

/// Returns the page around `body`, which is markup of ours.
pub(super) fn framed(environment: &Environment<'_>, frame: &Frame<'_>, body: String) -> Result<String> {
    let (style, script) = (STYLE.trim(), SCRIPT.trim());
    let values = context! {
        version => env!("CARGO_PKG_VERSION"),
        style_hash => hash(style),
        script_hash => hash(script),
        style => Value::from_safe_string(style.to_owned()),
        script => frame.has_script.then(|| Value::from_safe_string(script.to_owned())),
        title => frame.title,
        subject => frame.subject,
        when => frame.when.as_str(),
        footer => frame.footer.as_str(),
        body => Value::from_safe_string(body),
    };
    environment.render_str(FRAME, values).context("write the page")
}

//! Where the templates of a report are rendered, and the frame of all pages: text from outside stays text, and a page is
//! one file that loads nothing.

use anyhow::{Context, Result};
use base64::prelude::{BASE64_STANDARD, Engine};
use minijinja::{AutoEscape, Environment, UndefinedBehavior, Value, context};
use ralph_templates::{FRAME, SCRIPT, STYLE, WEB_SCRIPT};
use sha2::{Digest, Sha256};

use super::harmless::escape;

/// How a page reaches its reader.
#[derive(Debug, Clone, Copy)]
pub enum Medium<'a> {
    /// A file that loads nothing.
    File,
    /// A page of `specify ralph web`, which links to the others below `root` and is loaded again when `state` changes.
    Web { root: &'a str, state: &'a str },
}

/// Returns an environment without templates that escapes all values.
pub(super) fn environment(medium: Medium<'_>) -> Environment<'static> {
    let mut environment = Environment::new();
    environment.set_undefined_behavior(UndefinedBehavior::SemiStrict);
    environment.set_auto_escape_callback(|_| AutoEscape::Html);
    // The one gate: whatever is not markup of ours is made harmless on its way into the page.
    environment.set_formatter(|out, _, value| {
        if value.is_none() || value.is_undefined() {
            return Ok(());
        }
        let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        let written = if value.is_safe() { out.write_str(&text) } else { out.write_str(&escape(&text)) };
        Ok(written?)
    });
    let web = match medium {
        Medium::File => Value::from(()),
        Medium::Web { root, state } => context! {
            root, state,
            script => Value::from_safe_string(WEB_SCRIPT.trim().to_owned()),
            hash => hash(WEB_SCRIPT.trim()),
        },
    };
    environment.add_global("web", web);
    environment
}

/// As a policy names the only scripts and the only style that are ours.
fn hash(text: &str) -> String {
    format!("sha256-{}", BASE64_STANDARD.encode(Sha256::digest(text.as_bytes())))
}

/// Returns the page around `body`, which is markup of ours; the page of a session has the script. What stands in backticks
/// in the footer is code.
pub(super) fn framed(
    environment: &Environment<'_>,
    title: &str,
    subject: &str,
    when: &str,
    footer: &str,
    has_script: bool,
    body: String,
) -> Result<String> {
    let (style, script) = (STYLE.trim(), SCRIPT.trim());
    let values = context! {
        version => env!("CARGO_PKG_VERSION"),
        style_hash => hash(style),
        script_hash => hash(script),
        style => Value::from_safe_string(style.to_owned()),
        script => has_script.then(|| Value::from_safe_string(script.to_owned())),
        title, subject, when, footer,
        body => Value::from_safe_string(body),
    };
    environment.render_str(FRAME, values).context("write the page")
}

//! Where the templates of a report are rendered, and the frame of all pages: text from outside stays text, and a page is
//! one file that loads nothing.

use anyhow::{Context, Result};
use base64::prelude::{BASE64_STANDARD, Engine};
use minijinja::{AutoEscape, Environment, UndefinedBehavior, Value, context};
use ralph_templates::{ATTEMPT, FRAME, INDEX, PAGE, SCRIPT, STYLE, TASK, WEB_SCRIPT};
use sha2::{Digest, Sha256};

use ralph_core::record::{CANONICAL, RALPH_ELSEWHERE};

use super::html_escape::escape;

/// How a page reaches its reader.
#[derive(Debug, Clone, Copy)]
pub enum Medium<'a> {
    /// A file that loads nothing.
    File,
    /// A page of `specify ralph web`, which links to the others below `root` and is loaded again when `state` changes.
    Web { root: &'a str, state: &'a str },
}

/// Returns an environment with our templates that escapes all values.
pub(super) fn environment(medium: Medium<'_>) -> Result<Environment<'static>> {
    let mut environment = Environment::new();
    environment.set_undefined_behavior(UndefinedBehavior::SemiStrict);
    environment.set_auto_escape_callback(|_| AutoEscape::Html);
    for (name, template) in
        [("frame", FRAME), ("page", PAGE), ("index", INDEX), ("task", TASK), ("attempt", ATTEMPT)]
    {
        environment.add_template(name, template).with_context(|| format!("read the template {name}"))?;
    }
    // The one gate: whatever is not markup of ours is escaped on its way into the page.
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
        Medium::Web { root, state } => {
            context! { root, state, script => markup(WEB_SCRIPT), hash => hash(WEB_SCRIPT) }
        }
    };
    for (name, value) in [
        ("web", web),
        ("ralph", RALPH_ELSEWHERE.as_str().into()),
        ("program", CANONICAL.into()),
        ("version", env!("CARGO_PKG_VERSION").into()),
        ("style", markup(STYLE)),
        ("style_hash", hash(STYLE).into()),
        ("script", markup(SCRIPT)),
        ("script_hash", hash(SCRIPT).into()),
    ] {
        environment.add_global(name, value);
    }
    Ok(environment)
}

pub(super) fn render(environment: &Environment<'_>, name: &str, values: Value) -> Result<String> {
    let rendered = environment.get_template(name).and_then(|template| template.render(values));
    rendered.with_context(|| format!("write the template {name}"))
}

fn markup(text: &str) -> Value {
    Value::from_safe_string(text.trim().to_owned())
}

/// As a policy names the only scripts and the only style that are ours.
fn hash(text: &str) -> String {
    format!("sha256-{}", BASE64_STANDARD.encode(Sha256::digest(text.trim().as_bytes())))
}

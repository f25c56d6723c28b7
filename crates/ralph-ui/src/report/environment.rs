//! Where the templates of a report are rendered: text from outside stays text.

use base64::prelude::{BASE64_STANDARD, Engine};
use minijinja::{AutoEscape, Environment, UndefinedBehavior, Value, context};
use ralph_templates::WEB_SCRIPT;
use sha2::{Digest, Sha256};

use super::harmless::escape;
use super::terminal_colors::colored;

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
    environment.add_filter("colored", |text: String| Value::from_safe_string(colored(&text)));
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
pub(super) fn hash(text: &str) -> String {
    format!("sha256-{}", BASE64_STANDARD.encode(Sha256::digest(text.as_bytes())))
}

//! Where the templates of a report are rendered: text from outside stays text.

use minijinja::{AutoEscape, Environment, UndefinedBehavior};

use super::harmless::escape;

/// Returns an environment without templates that escapes all values.
pub(super) fn environment() -> Environment<'static> {
    let mut environment = Environment::new();
    environment.set_undefined_behavior(UndefinedBehavior::Strict);
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
    environment
}

//! What an attempt left behind beside its work, in words: the same on every screen.

/// `! your uncommitted work is gone: a.js reverted; specify ralph restore 0 a.js brings it back`
pub fn lost(what: &str, command: Option<&str>) -> String {
    let how = command.map_or_else(
        || "; no snapshot has it".to_owned(),
        |command| format!("; {command} brings {} back", if what.contains(", ") { "them" } else { "it" }),
    );
    format!("! your uncommitted work is gone: {what}{how}")
}

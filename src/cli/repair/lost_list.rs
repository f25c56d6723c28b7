//! A session whose task list is gone: said with the command that brings it back, whatever was called.

use anyhow::Result;
use camino::Utf8Path;

use ralph_core::record::{RALPH, Refusal, Session};
use ralph_engine::lost_list;
use ralph_store::SessionLog;

use crate::cli::Context;
use crate::cli::read::sessions;

/// Names the command that brings back the list of the latest session, if it is gone and the session is of this feature.
pub fn refuse_latest(context: &Context, feature: Option<&str>) -> Result<()> {
    let store = context.store()?;
    let Ok(log) = sessions::latest(store, &sessions::SessionChoice::default()) else { return Ok(()) };
    if feature.is_some_and(|feature| feature != log.feature()) {
        return Ok(());
    }
    let begun = store.first_readable_session(&log);
    refuse(context, &log, begun.as_ref())
}

/// A session goes on only once its task list is back.
pub fn refuse(context: &Context, log: &SessionLog, begun: Option<&Session>) -> Result<()> {
    let (store, work_tree) = (context.store()?, context.work_tree()?);
    let tasks = store.files_of(log).tasks;
    let path = work_tree.top().join(&tasks);
    // A session that is not about tasks needs the folder alone.
    let needs_list = begun.is_none_or(|begun| begun.artifact.path == tasks);
    match lost_list(store, work_tree, log, &path) {
        None => Ok(()),
        Some(_) if !needs_list && path.parent().is_some_and(Utf8Path::is_dir) => Ok(()),
        Some((what, restore)) => {
            let hint = format!("`{restore}` brings it back; then `{RALPH} resume {}`", log.id());
            Err(Refusal::new(what).with_hint(hint).into())
        }
    }
}

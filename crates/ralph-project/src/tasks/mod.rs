//! The task list of a feature: reading its file, saying what is wrong with it, and setting marks in it.

mod cache;
mod marks;
mod read;
mod readiness;
mod scope;

use tasklist::Item;

pub use cache::TaskCache;
pub use marks::set_marks;
pub use read::{may_have_open_tasks, parse, read, read_if_there, read_named, refuse_conflict, require_tasks};
pub use readiness::{Readiness, readiness};
pub use scope::{named, part_of, select};

/// `line 7 is a copy of line 6 (T001)`
pub fn copy_named(copy: &Item) -> String {
    let id = copy.id.as_ref().map(|id| format!(" ({id})")).unwrap_or_default();
    format!("line {} is a copy of line {}{id}", copy.line, copy.copy_of.unwrap_or_default())
}

//! One task of a task list, as the rest of the program speaks of it.

use serde::{Deserialize, Serialize};
pub use tasklist::Counts as TaskCounts;
use tasklist::Item;

/// How a task is called in JSON, trailers and the environment of children: its id as written, `T004#2` for the
/// second item with that id, `#7` for the seventh item of a file if it has none.
pub type TaskName = String;

/// What an iteration needs to know of the task it was given.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Task {
    pub name: TaskName,
    /// The id as written, without decoration.
    pub id: Option<String>,
    /// The text after the box, without id and tags.
    pub text: String,
    pub phase: Option<String>,
    pub story: Option<String>,
}

impl From<&Item> for Task {
    fn from(item: &Item) -> Self {
        Self {
            name: item.name.clone(),
            id: item.id.clone(),
            text: item.text.clone(),
            phase: item.phase.clone(),
            story: item.story.clone(),
        }
    }
}

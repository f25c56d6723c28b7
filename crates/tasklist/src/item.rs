//! An item of a task list.

use std::sync::Arc;

use serde::Serialize;

use super::languages::Languages;

/// How an item is called: its id as written, `T004#2` for the second item with that id, `#7` for the seventh item of a
/// file if it has none.
pub type TaskName = String;

/// What an item of a task list is there for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// Something to do.
    Task,
    /// Something that holds when a task is done: acceptance criteria, steps, checklists.
    Criterion,
    /// An open box whose text is struck through, or says that it was cancelled: nothing to do.
    Struck,
    /// The same words again as a task of the list: that one is the task.
    Copy,
}

/// One task-list item of a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Item {
    /// From 1.
    pub line: usize,
    /// Byte of `[` in the file.
    pub offset: usize,
    /// True if the box is marked.
    pub done: bool,
    /// The character between the brackets, without blanks around it.
    pub mark: char,
    /// The id as written, without decoration.
    pub id: Option<String>,
    /// The first paragraph after the box on one line, without id, `[P]` and story tag.
    pub text: String,
    /// The phase that it belongs to: the nearest heading that names one.
    pub phase: Option<String>,
    /// The headings above, outermost first.
    pub headings: Arc<[String]>,
    /// How many task-list items this one is in.
    pub depth: usize,
    /// Whether it is a task or a criterion.
    pub kind: Kind,
    /// True if it carries the tag `[P]`.
    pub parallel: bool,
    /// The story that it belongs to, from its tag (`[US1]`).
    pub story: Option<String>,
    /// The stories that it belongs to as `US1`: those of its tag, else the one that a heading above it names.
    pub stories: Vec<String>,
    /// The ids that it waits for; a range is written out with the ids that the file has.
    pub depends_on: Vec<String>,
    /// True if it may be left undone: nothing waits for it but what says so.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub optional: bool,
    /// Its name, which no other item of the file has.
    pub name: TaskName,
    /// The line of the task whose copy it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub copy_of: Option<usize>,
    /// The whole box, if Markdown knows no such box: `[✓]`, `[ x ]`.
    #[serde(skip)]
    pub odd_box: Option<String>,
    /// True if a star behind the box says that it is optional (`[ ]*`): Markdown knows no such box.
    #[serde(skip)]
    pub is_starred: bool,
    /// The nearest item around it, or the one whose number its number continues: `2` above `2.1`.
    #[serde(skip)]
    pub parent: Option<usize>,
    /// True if no task-list item is in it.
    #[serde(skip)]
    pub is_leaf: bool,
    /// The last id of an item that stands for a range of ids.
    #[serde(skip)]
    pub(super) until: Option<String>,
    /// True if it asks for more than its sub-tasks do.
    #[serde(skip)]
    pub(super) has_own_work: bool,
    /// The languages of its list.
    #[serde(skip)]
    pub(super) languages: Languages,
}

impl Item {
    /// Returns true if it is something to do.
    pub fn is_task(&self) -> bool {
        self.kind == Kind::Task
    }

    /// Returns true if nobody has to wait for it: it is done, struck or a copy.
    pub fn is_settled(&self) -> bool {
        self.done || matches!(self.kind, Kind::Struck | Kind::Copy)
    }
}

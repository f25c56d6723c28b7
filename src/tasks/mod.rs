//! The task list: what stands in a tasks.md, which task comes next, and ticking its box.

mod dependencies;
mod front_matter;
mod label;
mod list;
mod markdown;
mod marks;
mod near_miss;
mod phase;
mod pick;
mod read;

pub use list::{Item, Kind, TaskList, newly_done};
pub use marks::{Changes, Mark, set_marks};
pub use near_miss::Unrecognised;
pub use pick::{Blocked, Obstacle, Pick};

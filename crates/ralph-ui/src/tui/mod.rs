//! The screen: what needs the user, the tasks and the session in time, and beside them the detail of what is chosen.
//!
//! Keys and answers change a state ([`app`]), the state is drawn ([`draw`]); neither reads anything. What is shown is read
//! by threads of their own through a [`model::Backend`], so nothing ever waits for a disk but a line that says so.

mod app;
mod bars;
mod contents;
mod draw;
mod help;
mod keys;
mod layout;
mod model;
mod page;
mod panels;
mod row;
#[cfg(test)]
mod samples;
mod source;
mod strip;
mod terminal;
#[cfg(test)]
mod tests;
mod tree;
mod widgets;

pub use app::{Opened, OwnLoop, Program};
pub use keys::KEY_HELP;
pub use model::{Answer, Backend, DiffTarget, File, Place, Request, SessionDetail, Stream};
pub use source::{ReadMemory, Source, Summarize};
pub use terminal::{Host, Left, run};

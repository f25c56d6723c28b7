//! The screen: sessions and iterations on the left, what is known of them on the right.
//!
//! Keys and answers change a state ([`app`]), the state is drawn ([`draw`]); neither reads anything. What is shown is read
//! by threads of their own through a [`source::Source`], so nothing ever waits for a disk but a line that says so.

mod app;
mod bars;
mod contents;
mod draw;
mod help;
mod keys;
mod layout;
mod list;
mod page;
mod records;
mod row;
#[cfg(test)]
mod samples;
mod source;
mod terminal;
#[cfg(test)]
mod tests;
mod window;

pub use app::{Opened, OwnLoop, Program, Steer, Subcommand};
pub use draw::Palette;
pub use keys::KEY_HELP;
pub use records::{ExternalData, Records};
pub use source::{DiffTarget, File, Patch, Place, PromptMemory, Source, Stream};
pub use terminal::{Host, Left, run};

//! The text that an agent is given: a template, and what is known in this iteration.

mod complaint;
mod context;
mod fence;
mod memory;
mod render;
mod source;
mod template;

pub use context::{NAMES, PromptContext};
pub use fence::fence;
pub use template::{PROJECT_TEMPLATE, Template};

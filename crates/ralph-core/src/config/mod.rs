//! Every effective setting, and where each came from. Pure: the layers are handed in as text.

mod agents;
mod duration;
mod effective;
mod file;
mod file_commands;
mod key;
mod layers;
mod loops;
mod mistake;
mod origin;
mod sample;
mod settings;
mod sides;
mod spelling;
mod subject;
#[cfg(test)]
mod tests;
mod typed;
mod value;

pub use agents::{AgentCommand, AgentSettings};
pub use duration::{display_duration, display_size, parse_duration, parse_size};
pub use effective::Config;
pub use file::{FILE, HIDDEN, file_text};
pub use file_commands::Command;
pub use key::{Key, Side, ValueKind};
pub use layers::{FlagInput, Flags, GitInput, Inputs, check, is_valid};
pub use loops::{IMPLEMENT, LoopType, Until};
pub use origin::{Origin, Setting};
pub use sample::sample;
pub use settings::{KEYS, REFUSALS, Settings};
pub use sides::side;
pub use spelling::{ALLOW_LINKS, GIT_PREFIX, VARIABLE_PREFIX, git_name, variable_name};
pub use subject::{SubjectParts, commit_subject};
pub use typed::{
    Clean, Commits, Completion, FailedChanges, HistoryMode, Notify, OnQuestion, Pass, Rerun, SandboxChoice,
    Trust, Unit,
};

//! Every effective setting, and where each came from. Pure: the layers are handed in as text.

mod agents;
mod commands;
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
#[cfg(test)]
mod tests;
mod typed;
mod value;
mod values;

pub use agents::{AgentCommand, AgentSettings};
pub use duration::{display_duration, display_size, parse_duration, parse_size};
pub use effective::{Config, Entry};
pub use file::HIDDEN;
pub use file_commands::{Command, FileCommands};
pub use key::{Key, STRATEGIES, ValueKind};
pub use layers::{FileInput, FlagInput, GitInput, Inputs, check, setting_of_variable};
pub use loops::{IMPLEMENT, LoopType, Until};
pub use origin::Origin;
pub use sample::{sample, sample_with_validation};
pub use settings::{KEYS, Settings};
pub use sides::{Side, side};
pub use spelling::{ALLOW_LINKS, GIT_PREFIX, VARIABLE_PREFIX, git_name, variable_name};
pub use typed::{Commits, Completion, FailedChanges, OnQuestion, Pass, Unit};
pub use value::Value;
pub use values::Setting;

//! What the user tells the agents of a feature beside their tasks.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::{OwnCommand, SessionId, TaskName, Timestamp, join_truncated};

/// Most tasks that the line of a hint names.
const MAX_NAMED: usize = 5;

/// A hint that waits for a prompt.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hint {
    /// What `hint --clear` calls it.
    pub number: u32,
    pub text: String,
    /// The tasks that have it in every prompt until they are done. Empty if it is for the next prompt, whatever its
    /// task.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tasks: Vec<TaskName>,
    pub added_at: Timestamp,
    /// The session whose running iteration has it in its prompt. Only set for a hint without tasks, which goes with
    /// that iteration.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<SessionId>,
}

impl Hint {
    /// Returns true if a prompt for `task` has it.
    pub fn is_for(&self, task: &str) -> bool {
        self.tasks.is_empty() || self.tasks.iter().any(|name| name == task)
    }
}

/// `T034 "semicolons"`
impl fmt::Display for Hint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.tasks.is_empty() {
            write!(f, "{} ", join_truncated(&self.tasks, MAX_NAMED))?;
        }
        write!(f, "\"{}\"", self.text)
    }
}

/// Returns the command that adds a hint for a task, by a name of this program.
pub fn hint_command(program: OwnCommand, task: &str) -> String {
    hint_command_of(program, None, task)
}

/// The same for the feature of a session, whichever is the latest.
pub fn hint_command_of(program: OwnCommand, session: Option<&SessionId>, task: &str) -> String {
    let session = session.map_or(String::new(), |session| format!(" --session {session}"));
    format!("{program} hint{session} --task {} 'TEXT'", shell_word(task))
}

/// Returns the commands by which a person says that a task is done, or is not: of a feature, where they do not mean it by themselves.
pub fn last_words(program: OwnCommand, feature: Option<&str>, task: &str) -> [String; 2] {
    let feature = feature.map_or(String::new(), |path| format!(" --feature {}", shell_word(path)));
    ["accept", "reopen"].map(|word| format!("{program} {word}{feature} {}", shell_word(task)))
}

/// Returns the command that brings back the work of a task which was taken back: of a feature, where it does not mean it by itself.
pub fn work_of_command(program: OwnCommand, feature: Option<&str>, task: &str) -> String {
    let feature = feature.map_or(String::new(), |path| format!(" --feature {}", shell_word(path)));
    format!("{program} restore --work-of {}{feature}", shell_word(task))
}

/// Returns the name of a task or the path of a feature as one word for a shell.
fn shell_word(name: &str) -> String {
    // `#7` would be a comment.
    let is_word = name.starts_with(char::is_alphanumeric)
        && name.replace('#', "").chars().all(|c| c.is_alphanumeric() || "._-/".contains(c));
    if is_word { name.to_owned() } else { format!("'{}'", name.replace('\'', "'\\''")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_task_is_one_word_for_the_shell() {
        for (task, word) in [("T034", "T034"), ("T004#2", "T004#2"), ("#7", "'#7'"), ("a b'c", "'a b'\\''c'")]
        {
            let expected = format!("specify ralph hint --task {word} 'TEXT'");
            assert_eq!(hint_command(OwnCommand::Here, task), expected);
        }
    }
}

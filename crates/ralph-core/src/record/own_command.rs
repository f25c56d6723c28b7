//! The command that starts this program again: what hints, examples and usage lines name.

use std::fmt;
use std::sync::OnceLock;

/// The name in records and documents, which outlive this machine.
pub const CANONICAL: &str = "specify ralph";

/// The command on this machine, such as `git ralph`, or a path for the shell.
pub const RALPH: OwnCommand = OwnCommand::Here;

/// The command in what people send to others: a name, never a path of this machine.
pub const RALPH_ELSEWHERE: OwnCommand = OwnCommand::Elsewhere;

/// The command by the path of this very program, which leads to it whatever the PATH is.
pub const RALPH_BY_PATH: OwnCommand = OwnCommand::ByPath;

/// The one value that the whole process shares: errors of every room end in a hint, and a value that never changes
/// after the start would go through every signature. If nothing is set, as in unit tests, it is [`CANONICAL`].
///
/// As [`OwnCommand::set`] takes them: here, elsewhere, by path.
static KNOWN: OnceLock<(String, &'static str, String)> = OnceLock::new();

/// Prints as a command line, up to our own subcommands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OwnCommand {
    Here,
    Elsewhere,
    ByPath,
}

impl OwnCommand {
    /// Sets all three for the rest of the process. The first call counts.
    pub fn set(here: String, elsewhere: &'static str, by_path: String) {
        KNOWN.get_or_init(|| (here, elsewhere, by_path));
    }

    pub fn as_str(self) -> &'static str {
        match (self, KNOWN.get()) {
            (Self::Here, Some((here, ..))) => here,
            (Self::Elsewhere, Some((_, elsewhere, _))) => elsewhere,
            (Self::ByPath, Some((.., by_path))) => by_path,
            (_, None) => CANONICAL,
        }
    }
}

impl fmt::Display for OwnCommand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_a_start_it_is_the_canonical_name() {
        assert_eq!(format!("{RALPH} log, {RALPH_ELSEWHERE:<15}."), "specify ralph log, specify ralph  .");
    }
}

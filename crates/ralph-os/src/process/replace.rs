//! Another program in our place: same process, same terminal, same exit code.

use std::ffi::{OsStr, OsString};
use std::io;
use std::path::Path;

/// Becomes `program` with `arguments` and one more variable. Comes back only with the error that prevented it.
pub fn replace(program: &Path, arguments: &[OsString], name: &str, value: &OsStr) -> io::Error {
    #[expect(clippy::disallowed_methods, reason = "this is the room that starts programs")]
    let mut command = std::process::Command::new(program);
    crate::platform::become_program(command.args(arguments).env(name, value))
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;
    use crate::process::is_without_git_of_the_user;

    #[test]
    fn a_program_that_is_not_there_is_an_error_and_we_go_on() {
        // For a moment a broken pipe ends the process, so this test needs one of its own.
        let name = "process::replace::tests::a_program_that_is_not_there_is_an_error_and_we_go_on";
        if !is_without_git_of_the_user(name) {
            return;
        }
        let error = replace(Path::new("/nowhere/specify"), &[], "A", OsStr::new("b"));
        assert_eq!(error.kind(), io::ErrorKind::NotFound);
        let (reader, mut writer) = io::pipe().unwrap();
        drop(reader);
        assert_eq!(writer.write(b"x").unwrap_err().kind(), io::ErrorKind::BrokenPipe);
    }
}

//! Our part of a git hook: one marked block, put in beside what is there and taken out again to the byte.

use strum::{EnumString, IntoStaticStr, VariantNames};

/// The hooks that we have a part in, by the names that git calls them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, EnumString, IntoStaticStr, VariantNames)]
#[strum(serialize_all = "kebab-case", const_into_str)]
pub enum Hook {
    /// Says in the message of a commit in which iteration it is made.
    PrepareCommitMsg,
    /// Pushes the records along.
    PrePush,
}

const BEGIN: &str = "# >>> specify ralph >>>\n";
const END: &str = "# <<< specify ralph <<<\n";

/// The hooks in which earlier versions had a part.
pub const FORMER: [&str; 3] = ["post-commit", "post-merge", "post-checkout"];

/// What a hook of ours alone begins with.
const SHELL: &str = "#!/bin/sh\n";

/// How a hook file stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HookState {
    Absent,
    /// Our block is in it, as this program writes it.
    Installed,
    /// A block of another version is in it, or one that calls us in another way.
    Outdated,
    /// A hook that is not ours, to which our block can be added.
    Others,
    /// No shell script, so our block cannot be in it.
    Foreign,
}

impl Hook {
    pub const ALL: [Self; 2] = [Self::PrepareCommitMsg, Self::PrePush];

    /// Returns the block, for `command` as the shell reads it, up to our subcommands. It never fails, reads nothing of
    /// the hook's input, and is silent where our program is not there.
    fn block(self, command: &str) -> String {
        let body = match self {
            Self::PrepareCommitMsg => {
                "if [ -n \"${RALPH_SESSION-}\" ] && [ -n \"${RALPH_ITERATION-}\" ]; then\n  \
                 git interpret-trailers --in-place --if-exists addIfDifferent \\\n    \
                 --trailer \"Ralph-Made-In: $RALPH_SESSION:$RALPH_ITERATION ${RALPH_TASK-}\" \"$1\" </dev/null || :\nfi\n".to_owned()
            }
            Self::PrePush => format!(
                "if [ -z \"${{RALPH_SESSION-}}\" ] && command -v {} >/dev/null 2>&1; then\n  \
                 {command} sync --push-only -- \"$1\" </dev/null >&2 || :\nfi\n",
                command.strip_suffix(" ralph").unwrap_or(command)
            ),
        };
        format!("{BEGIN}{body}{END}")
    }

    pub fn state(self, text: Option<&str>, command: &str) -> HookState {
        match text {
            None => HookState::Absent,
            Some(text) if text.contains(&self.block(command)) => HookState::Installed,
            Some(text) if block_in(text).is_some() => HookState::Outdated,
            Some(text) if is_shell(text) => HookState::Others,
            Some(_) => HookState::Foreign,
        }
    }

    /// Returns the file with our block in it, or `None` if it cannot be added.
    pub fn install(self, text: Option<&str>, command: &str) -> Option<String> {
        match self.state(text, command) {
            HookState::Absent => Some(format!("{SHELL}{}", self.block(command))),
            HookState::Installed => text.map(str::to_owned),
            HookState::Foreign => None,
            HookState::Outdated => self.install(uninstall(text?).as_deref(), command),
            HookState::Others => {
                // In front: what is there may end with `exec` or `exit`.
                let text = text?;
                let head = if text.starts_with("#!") { text.find('\n')? + 1 } else { 0 };
                let (shebang, rest) = text.split_at(head);
                Some(format!("{shebang}{}{rest}", self.block(command)))
            }
        }
    }
}

/// Returns the file without our block, or `None` if nothing else is in it.
pub fn uninstall(text: &str) -> Option<String> {
    let Some(range) = block_in(text) else { return Some(text.to_owned()) };
    let rest = format!("{}{}", &text[..range.start], &text[range.end..]);
    (!rest.is_empty() && rest != SHELL).then_some(rest)
}

fn block_in(text: &str) -> Option<std::ops::Range<usize>> {
    let start = text.find(BEGIN)?;
    let end = text[start..].find(END)? + start + END.len();
    Some(start..end)
}

/// Returns true if a shell reads it.
fn is_shell(text: &str) -> bool {
    let first = text.lines().next().unwrap_or_default();
    let is_foreign = text.contains('\0') || text.split('\n').next().is_some_and(|line| line.ends_with('\r'));
    if is_foreign {
        return false;
    }
    let Some(command) = first.strip_prefix("#!").filter(|_| text.contains('\n')) else { return false };
    let words: Vec<&str> = command.split_whitespace().collect();
    let program = words.iter().find_map(|word| {
        let name = word.rsplit('/').next()?;
        (name != "env" && !name.starts_with('-')).then_some(name)
    });
    matches!(program, Some("sh" | "bash" | "dash" | "zsh" | "ksh"))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const GIT: &str = "git-ralph";

    #[test]
    fn a_block_goes_in_behind_the_first_line_and_comes_out_to_the_byte() {
        let others = "#!/usr/bin/env bash\nset -eu\nexec husky \"$@\"";
        for hook in Hook::ALL {
            let with = hook.install(Some(others), GIT).unwrap();
            assert!(with.starts_with("#!/usr/bin/env bash\n# >>> specify ralph >>>\n"), "{with}");
            assert_eq!(hook.state(Some(&with), GIT), HookState::Installed);
            assert_eq!(hook.install(Some(&with), GIT).unwrap(), with);
            assert_eq!(uninstall(&with).unwrap(), others);
            let alone = hook.install(None, GIT).unwrap();
            assert_eq!(uninstall(&alone), None);
        }
    }

    #[test]
    fn an_old_block_is_replaced_and_what_no_shell_reads_is_left() {
        let hook = Hook::PrePush;
        let old = "#!/bin/sh\n# >>> specify ralph >>>\nold\n# <<< specify ralph <<<\nmine\n";
        assert_eq!(hook.state(Some(old), GIT), HookState::Outdated);
        assert_eq!(uninstall(&hook.install(Some(old), GIT).unwrap()).unwrap(), "#!/bin/sh\nmine\n");
        for foreign in ["#!/usr/bin/env python3\nprint()\n", "\u{7f}ELF", "", "#!/bin/sh\r\nx\r\n", "echo\n"]
        {
            assert_eq!(hook.state(Some(foreign), GIT), HookState::Foreign, "{foreign:?}");
            assert_eq!(hook.install(Some(foreign), GIT), None);
        }
    }

    #[test]
    fn what_is_empty_without_a_block_goes_and_a_file_without_a_block_stays() {
        let block = "# >>> specify ralph >>>\nprogress.txt merge=union\n# <<< specify ralph <<<\n";
        assert_eq!(uninstall(block), None);
        for others in ["*.png binary\n", "*.png binary", "\n"] {
            assert_eq!(uninstall(&format!("{block}{others}")).as_deref(), Some(others));
        }
        for others in ["", SHELL] {
            assert_eq!(uninstall(others).as_deref(), Some(others));
        }
    }

    #[test]
    fn a_block_calls_the_command_if_its_program_is_there() {
        for (command, program) in
            [(GIT, GIT), ("/opt/specify ralph", "/opt/specify"), ("'/a b/x' ralph", "'/a b/x'")]
        {
            let text = Hook::PrePush.install(None, command).unwrap();
            assert!(text.contains(&format!(" && command -v {program} >/dev/null")), "{text}");
            assert!(text.contains(&format!("; then\n  {command} ")), "{text}");
            let other = Hook::PrePush.install(Some(&text), "/else ralph").unwrap();
            assert!(other.contains("\n  /else ralph ") && other.matches(BEGIN).count() == 1, "{other}");
        }
    }

    proptest! {
        #[test]
        fn what_others_wrote_comes_back_to_the_byte(rest in "(?s).{0,200}") {
            let others = format!("#!/bin/sh\n{rest}x");
            match Hook::PrepareCommitMsg.install(Some(&others), GIT) {
                Some(with) => prop_assert_eq!(uninstall(&with), Some(others)),
                None => prop_assert!(others.contains('\0') || others.lines().next().is_some_and(|line| line.ends_with('\r'))),
            }
        }
    }
}

//! Our part of a git hook: one marked block, put in beside what is there and taken out again to the byte.

/// The hooks that we have a part in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Hook {
    /// Says in the message of a commit in which iteration it is made.
    PrepareCommitMsg,
    /// Pushes the records along.
    PrePush,
}

const BEGIN: &str = "# >>> specify ralph >>>\n";
const END: &str = "# <<< specify ralph <<<\n";

/// What a hook of ours alone begins with.
const SHELL: &str = "#!/bin/sh\n";

/// How a hook file stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    Absent,
    /// Our block is in it, as this version writes it.
    Installed,
    /// A block of another version is in it.
    Outdated,
    /// The hook of somebody else, in which our block can stand.
    Others,
    /// No shell script, so our block cannot stand in it.
    Foreign,
}

impl Hook {
    pub const ALL: [Self; 2] = [Self::PrepareCommitMsg, Self::PrePush];

    /// As git calls it.
    pub fn name(self) -> &'static str {
        match self {
            Self::PrepareCommitMsg => "prepare-commit-msg",
            Self::PrePush => "pre-push",
        }
    }

    /// The block, which begins no process where no loop runs, never fails, and reads nothing of the hook's input.
    fn block(self) -> String {
        let body = match self {
            Self::PrepareCommitMsg => {
                "if [ -n \"${RALPH_SESSION-}\" ] && [ -n \"${RALPH_ITERATION-}\" ]; then\n  \
                 git interpret-trailers --in-place --if-exists addIfDifferent \\\n    \
                 --trailer \"Ralph-Made-In: $RALPH_SESSION:$RALPH_ITERATION ${RALPH_TASK-}\" \"$1\" </dev/null || :\nfi\n"
            }
            Self::PrePush => {
                "if [ -z \"${RALPH_SESSION-}\" ]; then\n  \
                 git ralph sync --push-only -- \"$1\" </dev/null >&2 || :\nfi\n"
            }
        };
        format!("{BEGIN}{body}{END}")
    }

    pub fn state(self, text: Option<&str>) -> State {
        match text {
            None => State::Absent,
            Some(text) if text.contains(&self.block()) => State::Installed,
            Some(text) if block_in(text).is_some() => State::Outdated,
            Some(text) if is_shell(text) => State::Others,
            Some(_) => State::Foreign,
        }
    }

    /// The file with our block in it; none where it cannot stand there.
    pub fn install(self, text: Option<&str>) -> Option<String> {
        match self.state(text) {
            State::Absent => Some(format!("{SHELL}{}", self.block())),
            State::Installed => text.map(str::to_owned),
            State::Foreign => None,
            State::Outdated => self.install(uninstall(text?).as_deref()),
            State::Others => {
                // In front: what is there may end with `exec` or `exit`.
                let (shebang, rest) = text?.split_once('\n')?;
                Some(format!("{shebang}\n{}{rest}", self.block()))
            }
        }
    }
}

/// The file without our block; none where nothing else is in it.
pub fn uninstall(text: &str) -> Option<String> {
    let Some(range) = block_in(text) else { return Some(text.to_owned()) };
    let rest = format!("{}{}", &text[..range.start], &text[range.end..]);
    (rest != SHELL).then_some(rest)
}

fn block_in(text: &str) -> Option<std::ops::Range<usize>> {
    let start = text.find(BEGIN)?;
    let end = text[start..].find(END)? + start + END.len();
    Some(start..end)
}

/// Whether the first line says that a shell reads it.
fn is_shell(text: &str) -> bool {
    let Some((first, _)) = text.split_once('\n') else { return false };
    let Some(command) = first.strip_prefix("#!") else { return false };
    let words: Vec<&str> = command.split_whitespace().collect();
    let program = words.iter().find_map(|word| {
        let name = word.rsplit('/').next()?;
        (name != "env" && !name.starts_with('-')).then_some(name)
    });
    !first.ends_with('\r') && matches!(program, Some("sh" | "bash" | "dash" | "zsh" | "ksh"))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_block_goes_in_behind_the_first_line_and_comes_out_to_the_byte() {
        let others = "#!/usr/bin/env bash\nset -eu\nexec husky \"$@\"";
        for hook in Hook::ALL {
            let with = hook.install(Some(others)).unwrap();
            assert!(with.starts_with("#!/usr/bin/env bash\n# >>> specify ralph >>>\n"), "{with}");
            assert_eq!(hook.state(Some(&with)), State::Installed);
            assert_eq!(hook.install(Some(&with)).unwrap(), with);
            assert_eq!(uninstall(&with).unwrap(), others);
            let alone = hook.install(None).unwrap();
            assert_eq!(uninstall(&alone), None);
        }
    }

    #[test]
    fn an_old_block_is_replaced_and_what_no_shell_reads_is_left() {
        let hook = Hook::PrePush;
        let old = "#!/bin/sh\n# >>> specify ralph >>>\nold\n# <<< specify ralph <<<\nmine\n";
        assert_eq!(hook.state(Some(old)), State::Outdated);
        assert_eq!(uninstall(&hook.install(Some(old)).unwrap()).unwrap(), "#!/bin/sh\nmine\n");
        for foreign in ["#!/usr/bin/env python3\nprint()\n", "\u{7f}ELF", "", "#!/bin/sh\r\nx\r\n", "echo\n"]
        {
            assert_eq!(hook.state(Some(foreign)), State::Foreign, "{foreign:?}");
            assert_eq!(hook.install(Some(foreign)), None);
        }
    }

    proptest! {
        #[test]
        fn what_others_wrote_comes_back_to_the_byte(rest in "(?s).{0,200}") {
            let others = format!("#!/bin/sh\n{rest}x");
            let with = Hook::PrepareCommitMsg.install(Some(&others)).unwrap();
            prop_assert_eq!(uninstall(&with), Some(others));
        }
    }
}

//! Our part of a git hook: one marked block, put in beside what is there and taken out again to the byte.

use strum::{EnumString, IntoStaticStr, VariantNames};

/// The hooks that we have a part in, by the names that git calls them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, EnumString, IntoStaticStr, VariantNames)]
#[strum(serialize_all = "kebab-case", const_into_str)]
pub enum Hook {
    /// Says in the message of a commit in which iteration it is made.
    PrepareCommitMsg,
    /// Says so in a note, at once.
    PostCommit,
    /// Says where the commits that were merged name sessions that are not here.
    PostMerge,
    /// The same for a branch that is checked out.
    PostCheckout,
    /// Pushes the records along.
    PrePush,
}

/// Who runs the hooks of a folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Runner {
    /// By the first line of each.
    Git,
    /// As `sh -e FILE`, whatever its first line and its mode are.
    Husky,
}

const BEGIN: &str = "# >>> specify ralph >>>\n";
const END: &str = "# <<< specify ralph <<<\n";

/// What a hook of ours alone begins with.
const SHELL: &str = "#!/bin/sh\n";

/// Who merges a journal takes the lines of both sides.
const UNION: &str = "progress.txt merge=union\n";

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
    pub const ALL: [Self; 5] =
        [Self::PrepareCommitMsg, Self::PostCommit, Self::PostMerge, Self::PostCheckout, Self::PrePush];

    /// The hooks that are installed by default: those without network access.
    pub const USUAL: [Self; 4] =
        [Self::PrepareCommitMsg, Self::PostCommit, Self::PostMerge, Self::PostCheckout];

    /// Returns the block, for `command` as the shell reads it, up to our subcommands. It never fails, reads nothing of
    /// the hook's input, and is silent where our program is not there. Those that are about a running loop begin no
    /// process if none runs.
    fn block(self, command: &str) -> String {
        let program = command.strip_suffix(" ralph").unwrap_or(command);
        let is_there = format!("command -v {program} >/dev/null 2>&1");
        let body = match self {
            Self::PrepareCommitMsg => {
                "if [ -n \"${RALPH_SESSION-}\" ] && [ -n \"${RALPH_ITERATION-}\" ]; then\n  \
                 git interpret-trailers --in-place --if-exists addIfDifferent \\\n    \
                 --trailer \"Ralph-Made-In: $RALPH_SESSION:$RALPH_ITERATION ${RALPH_TASK-}\" \"$1\" </dev/null || :\nfi\n".to_owned()
            }
            Self::PostCommit => format!(
                "if [ -n \"${{RALPH_SESSION-}}\" ] && [ -n \"${{RALPH_ITERATION-}}\" ] && {is_there}; then\n  \
                 {command} hooks note </dev/null >/dev/null 2>&1 || :\nfi\n"
            ),
            Self::PostMerge => format!(
                "if [ -z \"${{RALPH_SESSION-}}\" ] && {is_there}; then\n  \
                 {command} hooks behind ORIG_HEAD HEAD </dev/null >&2 || :\nfi\n"
            ),
            Self::PostCheckout => format!(
                "if [ \"${{3-}}\" = 1 ] && [ \"$1\" != \"$2\" ] && [ -z \"${{RALPH_SESSION-}}\" ] && {is_there}; then\n  \
                 {command} hooks behind \"$1\" \"$2\" </dev/null >&2 || :\nfi\n"
            ),
            Self::PrePush => format!(
                "if [ -z \"${{RALPH_SESSION-}}\" ] && {is_there}; then\n  \
                 {command} sync --push-only -- \"$1\" </dev/null >&2 || :\nfi\n"
            ),
        };
        format!("{BEGIN}{body}{END}")
    }

    pub fn state(self, text: Option<&str>, runner: Runner, command: &str) -> HookState {
        match text {
            None => HookState::Absent,
            Some(text) if text.contains(&self.block(command)) => HookState::Installed,
            Some(text) if block_in(text).is_some() => HookState::Outdated,
            Some(text) if is_shell(text, runner) => HookState::Others,
            Some(_) => HookState::Foreign,
        }
    }

    /// Returns the file with our block in it, or `None` if it cannot be added.
    pub fn install(self, text: Option<&str>, runner: Runner, command: &str) -> Option<String> {
        match self.state(text, runner, command) {
            HookState::Absent => Some(format!("{SHELL}{}", self.block(command))),
            HookState::Installed => text.map(str::to_owned),
            HookState::Foreign => None,
            HookState::Outdated => self.install(uninstall(text?).as_deref(), runner, command),
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
    let rest = without_block(text);
    (rest != SHELL || rest == text).then_some(rest)
}

/// `.gitattributes` with our block in front, so that whatever a user says of journals wins.
pub fn with_union(text: Option<&str>) -> String {
    let rest = without_union(text.unwrap_or_default()).unwrap_or_default();
    format!("{BEGIN}{UNION}{END}{rest}")
}

/// Returns `.gitattributes` without our block, or `None` if nothing else is in it.
pub fn without_union(text: &str) -> Option<String> {
    let rest = without_block(text);
    (!rest.is_empty() || rest == text).then_some(rest)
}

fn without_block(text: &str) -> String {
    match block_in(text) {
        None => text.to_owned(),
        Some(range) => format!("{}{}", &text[..range.start], &text[range.end..]),
    }
}

fn block_in(text: &str) -> Option<std::ops::Range<usize>> {
    let start = text.find(BEGIN)?;
    let end = text[start..].find(END)? + start + END.len();
    Some(start..end)
}

/// Returns true if a shell reads it.
fn is_shell(text: &str, runner: Runner) -> bool {
    let first = text.lines().next().unwrap_or_default();
    let is_foreign = text.contains('\0') || text.split('\n').next().is_some_and(|line| line.ends_with('\r'));
    if is_foreign {
        return false;
    }
    let Some(command) = first.strip_prefix("#!") else { return runner == Runner::Husky };
    if !text.contains('\n') {
        return false;
    }
    let words: Vec<&str> = command.split_whitespace().collect();
    let program = words.iter().find_map(|word| {
        let name = word.rsplit('/').next()?;
        (name != "env" && !name.starts_with('-')).then_some(name)
    });
    runner == Runner::Husky || matches!(program, Some("sh" | "bash" | "dash" | "zsh" | "ksh"))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const GIT: &str = "git-ralph";

    #[test]
    fn a_block_goes_in_behind_the_first_line_and_comes_out_to_the_byte() {
        let others = "#!/usr/bin/env bash\nset -eu\nexec husky \"$@\"";
        for (hook, runner) in
            Hook::ALL.into_iter().flat_map(|hook| [(hook, Runner::Git), (hook, Runner::Husky)])
        {
            let with = hook.install(Some(others), runner, GIT).unwrap();
            assert!(with.starts_with("#!/usr/bin/env bash\n# >>> specify ralph >>>\n"), "{with}");
            assert_eq!(hook.state(Some(&with), runner, GIT), HookState::Installed);
            assert_eq!(hook.install(Some(&with), runner, GIT).unwrap(), with);
            assert_eq!(uninstall(&with).unwrap(), others);
            let alone = hook.install(None, runner, GIT).unwrap();
            assert_eq!(uninstall(&alone), None);
        }
    }

    #[test]
    fn an_old_block_is_replaced_and_what_no_shell_reads_is_left() {
        let hook = Hook::PrePush;
        let old = "#!/bin/sh\n# >>> specify ralph >>>\nold\n# <<< specify ralph <<<\nmine\n";
        assert_eq!(hook.state(Some(old), Runner::Git, GIT), HookState::Outdated);
        assert_eq!(
            uninstall(&hook.install(Some(old), Runner::Git, GIT).unwrap()).unwrap(),
            "#!/bin/sh\nmine\n"
        );
        for foreign in ["#!/usr/bin/env python3\nprint()\n", "\u{7f}ELF", "", "#!/bin/sh\r\nx\r\n", "echo\n"]
        {
            assert_eq!(hook.state(Some(foreign), Runner::Git, GIT), HookState::Foreign, "{foreign:?}");
            assert_eq!(hook.install(Some(foreign), Runner::Git, GIT), None);
        }
    }

    #[test]
    fn files_of_husky_need_no_first_line() {
        let hook = Hook::PostCommit;
        for others in ["npx lint-staged\n", "npm test", "", "#!/usr/bin/env node\n"] {
            let with = hook.install(Some(others), Runner::Husky, GIT).unwrap();
            assert_eq!(uninstall(&with).unwrap(), others, "{with}");
            assert_eq!(hook.state(Some(&with), Runner::Husky, GIT), HookState::Installed);
        }
        for foreign in ["\0ELF\n", "npm test\r\n"] {
            assert_eq!(hook.install(Some(foreign), Runner::Husky, GIT), None, "{foreign:?}");
        }
        // A hook of another tool without any command of its own stays.
        assert_eq!(uninstall(SHELL).as_deref(), Some(SHELL));
    }

    #[test]
    fn attributes_get_a_line_in_front_and_lose_it_to_the_byte() {
        for others in ["*.png binary\n", "*.png binary", "\n"] {
            let with = with_union(Some(others));
            assert!(with.contains(UNION) && with.ends_with(others), "{with}");
            assert_eq!(with_union(Some(&with)), with);
            assert_eq!(without_union(&with).as_deref(), Some(others));
        }
        assert_eq!(without_union(&with_union(None)), None);
        assert_eq!(without_union("").as_deref(), Some(""));
    }

    #[test]
    fn a_block_calls_the_command_if_its_program_is_there() {
        for (command, program) in
            [(GIT, GIT), ("/opt/specify ralph", "/opt/specify"), ("'/a b/x' ralph", "'/a b/x'")]
        {
            for hook in Hook::ALL.into_iter().filter(|hook| *hook != Hook::PrepareCommitMsg) {
                let text = hook.install(None, Runner::Git, command).unwrap();
                assert!(text.contains(&format!(" && command -v {program} >/dev/null")), "{text}");
                assert!(text.contains(&format!("; then\n  {command} ")), "{text}");
                let other = hook.install(Some(&text), Runner::Git, "/else ralph").unwrap();
                assert!(other.contains("\n  /else ralph ") && other.matches(BEGIN).count() == 1, "{other}");
            }
        }
    }

    proptest! {
        #[test]
        fn what_others_wrote_comes_back_to_the_byte(rest in "(?s).{0,200}") {
            let others = format!("#!/bin/sh\n{rest}x");
            for runner in [Runner::Git, Runner::Husky] {
                let with = Hook::PrepareCommitMsg.install(Some(&others), runner, GIT);
                match with {
                    Some(with) => prop_assert_eq!(uninstall(&with), Some(others.clone())),
                    None => prop_assert!(others.contains('\0')),
                }
            }
            prop_assert_eq!(without_union(&with_union(Some(&others))), Some(others));
        }
    }
}

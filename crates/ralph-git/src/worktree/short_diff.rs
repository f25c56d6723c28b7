//! The lines of small changes, as `git diff-tree -p` prints them.

use anyhow::Result;

use ralph_core::record::{FileChange, ObjectId};

use super::changed_file::ALL_SUBMODULES;
use super::{PrivateIndex, WorkTree};

/// Maximum number of lines added and removed of a change that is shown whole.
const MAX_LINES: u64 = 6;
/// Maximum number of files whose lines are shown.
const MAX_FILES: usize = 3;
/// Maximum length of a line, in characters.
const MAX_LINE_CHARS: usize = 160;

/// Returns true if the lines of a change are few enough to be shown.
fn is_short(change: &FileChange) -> bool {
    let lines = change.added.zip(change.removed).map(|(added, removed)| added.saturating_add(removed));
    lines.is_some_and(|lines| (1..=MAX_LINES).contains(&lines))
}

impl WorkTree {
    /// Adds to `changes`, which are those between two trees, the lines of the first short ones.
    pub fn add_short_diffs(
        &self,
        private_index: PrivateIndex<'_>,
        from: &ObjectId,
        to: &ObjectId,
        changes: &mut [FileChange],
    ) -> Result<()> {
        let mut short: Vec<&mut FileChange> =
            changes.iter_mut().filter(|change| is_short(change)).take(MAX_FILES).collect();
        if short.is_empty() {
            return Ok(());
        }
        // As git prints them.
        short.sort_by(|one, other| one.path.cmp(&other.path));
        let output = self
            .git_private(private_index)
            .args(["--literal-pathspecs", "diff-tree", "-r", "-p", "-U0", "--no-renames", ALL_SUBMODULES])
            .args(["--no-ext-diff", "--no-textconv", "--no-color", from.as_str(), to.as_str(), "--"])
            .args(short.iter().map(|change| change.path.clone()))
            .read()?;
        let patches = patches(&output);
        // A file that became a link has two.
        if patches.len() == short.len() {
            for (change, patch) in short.into_iter().zip(patches) {
                change.diff = patch;
            }
        }
        Ok(())
    }
}

/// Returns the lines that each patch removes and adds.
fn patches(output: &[u8]) -> Vec<String> {
    let (mut patches, mut is_in_hunk): (Vec<String>, bool) = (Vec::new(), false);
    for line in String::from_utf8_lossy(output).lines() {
        if line.starts_with("diff --git ") {
            patches.push(String::new());
            is_in_hunk = false;
        }
        is_in_hunk |= line.starts_with("@@ ");
        if let Some(lines) = patches.last_mut().filter(|_| is_in_hunk && line.starts_with(['+', '-'])) {
            lines.extend(line.chars().take(MAX_LINE_CHARS));
            lines.push('\n');
        }
    }
    patches
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_patch_is_the_lines_of_its_hunks() {
        let output = "diff --git a/x b/x\nindex 1..2 100644\n--- a/x\n+++ b/x\n@@ -1 +1 @@ fn a()\n--- old\n+new\n\\ No newline at end of file\n\
            diff --git a/y b/y\nnew file mode 100644\n--- /dev/null\n+++ b/y\n@@ -0,0 +1 @@\n+@@ b\n";
        assert_eq!(patches(output.as_bytes()), ["--- old\n+new\n", "+@@ b\n"]);
        assert_eq!(patches(b""), [""; 0]);
    }

    #[test]
    fn a_change_is_short_by_its_lines() {
        for (added, removed, expected) in [
            (Some(1), Some(0), true),
            (Some(3), Some(3), true),
            (Some(4), Some(3), false),
            (Some(0), Some(0), false),
            (None, None, false),
        ] {
            assert_eq!(is_short(&FileChange { added, removed, ..FileChange::default() }), expected);
        }
    }
}

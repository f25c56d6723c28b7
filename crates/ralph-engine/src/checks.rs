//! What can be refused before a session starts.

use anyhow::Result;
use camino::Utf8Path;

use crate::validate;
use ralph_core::config::Settings;
use ralph_core::judge::{is_one_of, manifests_of};
use ralph_core::record::{Refusal, join_files};
use ralph_git::worktree::WorkTree;
use ralph_project::feature::Feature;
use ralph_project::project_files::{ProjectFiles, Refused, explain, refused};
use ralph_store::Store;

use super::begin::protected_paths;

/// Maximum number of files that a refusal names.
const MAX_NAMED_FILES: usize = 5;

/// Refuses a validation whose program is not there. What the shell cannot be asked for without running it is not
/// refused: the baseline shows it.
pub fn check_validation(command: &str, root: &Utf8Path) -> Result<()> {
    let Some(program) = validate::missing_program(command, root) else { return Ok(()) };
    if manifests_of(program).is_some_and(|manifests| !has_any(root, manifests)) {
        // There is no project yet: a task makes it, and installs its runner.
        return Ok(());
    }
    Err(Refusal::new(format!("the validation `{command}` cannot be run: `{program}` is not on the PATH"))
        .with_hint(format!(
            "install {program}, or give another by --validate CMD; if a task installs it: --force"
        ))
        .into())
}

/// Returns true if one of these files is in the folder; a folder that cannot be read may have one.
fn has_any(folder: &Utf8Path, manifests: &[&str]) -> bool {
    let Ok(entries) = folder.read_dir_utf8() else { return true };
    entries.flatten().any(|entry| is_one_of(entry.file_name(), manifests))
}

/// Refuses protected files of which no snapshot has what they are to be again.
pub fn check_protected(work_tree: &WorkTree, settings: &Settings, root: &Utf8Path) -> Result<()> {
    let globs = protected_paths(work_tree, root, settings);
    if globs.is_empty() {
        return Ok(());
    }
    if !settings.snapshots {
        return Err(Refusal::new("`validation.protect` needs snapshots, and `snapshots` is false")
            .with_hint("set `snapshots = true`, or unset `validation.protect`")
            .into());
    }
    let ignored = work_tree.ignored(&globs)?;
    if ignored.is_empty() {
        return Ok(());
    }
    let names = join_files(&ignored, MAX_NAMED_FILES).replace(char::is_control, "\u{fffd}");
    Err(Refusal::new(format!("`validation.protect` matches files that git ignores: {names}"))
        .with_hint("snapshots leave them out: make the pattern narrower, or track them with `git add -f`")
        .into())
}

/// Refuses to start in the middle of an operation of git's: what agents commit would become a part of it.
pub fn check_operation(work_tree: &WorkTree) -> Result<()> {
    let Some(operation) = work_tree.operations().first().copied() else { return Ok(()) };
    let message = format!("{} is in progress in this work tree", operation.name);
    let hint = if operation.finish == operation.abort {
        format!("end it with `{}`; --force proceeds anyway", operation.abort)
    } else {
        format!(
            "finish it (`{}`) or end it (`{}`); --force proceeds anyway",
            operation.finish, operation.abort
        )
    };
    Err(Refusal::new(message).with_hint(hint).into())
}

/// Refuses a progress.txt that cannot be appended to.
pub fn check_progress_file(files: &ProjectFiles, path: &Utf8Path) -> Result<()> {
    let Err(error) = files.check_writable(path) else { return Ok(()) };
    let refusal = match refused(&error) {
        Some(Refused::Directory) => Refusal::new(format!("{path} is a directory")),
        Some(Refused::NotAFile(what)) => Refusal::new(format!("{path} is not a regular file ({what})")),
        Some(_) => return Err(explain("write", path, error)),
        None => {
            return Err(Refusal::new(format!("{path} cannot be written: {error}"))
                .with_hint(format!("chmod u+w {path}"))
                .into());
        }
    };
    Err(refusal.with_hint("move it away; the loop writes progress.txt there").into())
}

/// Refuses where a ref of another tool has the name under which ours would stand.
pub fn check_refs(store: &Store, feature: &Feature) -> Result<()> {
    let Some(name) = store.blocking_ref(&feature.path)? else { return Ok(()) };
    let kept = name.replacen("refs/", "refs/kept/", 1);
    Err(Refusal::new(format!("{name} is a ref of another tool, and conflicts with ours"))
        .with_hint(format!(
            "move it away: git update-ref {kept} {name} && git update-ref --no-deref -d {name}"
        ))
        .into())
}

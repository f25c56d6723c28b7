//! `specify ralph hooks`: our part of the repository's git hooks.

use std::fs::{self, Permissions};
use std::io::{ErrorKind, Write, stderr};
use std::os::unix::fs::PermissionsExt;

use anyhow::{Context, Result};
use camino::{Utf8Path, Utf8PathBuf};
use serde_json::json;

use crate::hooks::{Hook, State, uninstall};
use crate::process::Tool;
use crate::record::Refusal;
use crate::store::Store;

use super::caller::Caller;
use super::exit_code::ExitCode;
use super::log::print_json;
use super::output::stdout;
use super::{HooksAction, HooksArgs, Json, place};

/// What `install` offers and does not do by itself.
const OFFERS: &str = "\
if you like:
  git config --add notes.rewriteRef refs/notes/ralph      carries notes over an amend or a rebase
  echo 'progress.txt merge=union' >> .gitattributes       merges journals by taking the lines of both";

pub fn run(args: &HooksArgs, caller: &Caller) -> Result<ExitCode> {
    let store = place::open(caller)?;
    let folder = folder(caller, &store)?;
    match &args.action {
        HooksAction::Install { pre_push } => {
            let mut wanted = vec![Hook::PrepareCommitMsg];
            wanted.extend(pre_push.then_some(Hook::PrePush));
            install(&folder, &wanted)
        }
        HooksAction::Uninstall => remove(&folder),
        HooksAction::Status { json } => status(&folder, *json),
    }
}

/// The folder in which git looks for hooks here.
fn folder(caller: &Caller, store: &Store) -> Result<Utf8PathBuf> {
    let git = Tool::git_as_called(&caller.start()?);
    let folder = git.args(["rev-parse", "--path-format=absolute", "--git-path", "hooks"]).line()?;
    let folder = Utf8PathBuf::from(folder);
    // husky makes the hooks in `_` anew at each install; people's own are in the folder above.
    let folder = match (folder.file_name(), folder.parent()) {
        (Some("_"), Some(above)) if above.file_name() == Some(".husky") => above.to_owned(),
        _ => folder,
    };
    let repository = store.repository();
    let is_inside = |place: &Utf8Path| folder.starts_with(place);
    if is_inside(&repository.common_dir) || repository.top.as_deref().is_some_and(is_inside) {
        return Ok(folder);
    }
    Err(Refusal::new(format!("the hooks of this repository are in {folder}, for other repositories too"))
        .hinted("set `git config core.hooksPath .git/hooks` here first, if you want hooks of its own")
        .into())
}

fn read(path: &Utf8Path) -> Result<Option<String>> {
    match fs::read(path) {
        // What is no text is no shell script.
        Ok(bytes) => Ok(Some(String::from_utf8(bytes).unwrap_or_default())),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error).with_context(|| format!("read {path}")),
    }
}

fn install(folder: &Utf8Path, wanted: &[Hook]) -> Result<ExitCode> {
    let mut planned = Vec::new();
    for hook in wanted {
        let path = folder.join(hook.name());
        let text = read(&path)?;
        let is_run = |path: &Utf8Path| {
            path.metadata().is_ok_and(|metadata| metadata.permissions().mode() & 0o100 != 0)
        };
        if text.is_some() && !is_run(&path) {
            return Err(Refusal::new(format!("{path} is not executable, so git does not run it"))
                .hinted("make it executable or move it away first")
                .into());
        }
        let Some(new) = hook.install(text.as_deref()) else {
            return Err(Refusal::new(format!("{path} is no shell script, so our lines cannot stand in it"))
                .hinted("call it from a shell script of that name")
                .into());
        };
        planned.push((path, text, new));
    }
    fs::create_dir_all(folder).with_context(|| format!("create {folder}"))?;
    let mut out = stdout();
    for (path, old, new) in planned {
        if old.as_ref() == Some(&new) {
            writeln!(out, "{path} has it already")?;
            continue;
        }
        // In place: it may be a link, and keeps its mode.
        fs::write(&path, &new).with_context(|| format!("write {path}"))?;
        if old.is_none() {
            let mode = Permissions::from_mode(0o755);
            fs::set_permissions(&path, mode).with_context(|| format!("make {path} executable"))?;
        }
        writeln!(out, "installed in {path}")?;
    }
    out.flush()?;
    let _closed = writeln!(stderr(), "{OFFERS}").is_err();
    Ok(ExitCode::Done)
}

fn remove(folder: &Utf8Path) -> Result<ExitCode> {
    let mut out = stdout();
    for hook in Hook::ALL {
        let path = folder.join(hook.name());
        let Some(text) = read(&path)? else { continue };
        match uninstall(&text) {
            Some(rest) if rest == text => continue,
            Some(rest) => fs::write(&path, rest).with_context(|| format!("write {path}"))?,
            None => fs::remove_file(&path).with_context(|| format!("remove {path}"))?,
        }
        writeln!(out, "removed from {path}")?;
    }
    out.flush()?;
    Ok(ExitCode::Done)
}

fn status(folder: &Utf8Path, json: Json) -> Result<ExitCode> {
    let mut states = Vec::new();
    for hook in Hook::ALL {
        states.push((hook.name(), hook.state(read(&folder.join(hook.name()))?.as_deref())));
    }
    let word = |state: State| match state {
        State::Absent => "no hook",
        State::Installed => "installed",
        State::Outdated => "installed by another version",
        State::Others => "a hook of others",
        State::Foreign => "a hook of others that is no shell script",
    };
    let mut out = stdout();
    match json {
        Json { json: true } => {
            let hooks: Vec<_> = states
                .iter()
                .map(|(name, state)| json!({"hook": name, "is_installed": *state == State::Installed, "state": word(*state)}))
                .collect();
            print_json(&mut out, &json!({"folder": folder, "hooks": hooks}))?;
        }
        Json { json: false } => {
            for (name, state) in states {
                writeln!(out, "{name:<18}  {}", word(state))?;
            }
        }
    }
    out.flush()?;
    Ok(ExitCode::Done)
}

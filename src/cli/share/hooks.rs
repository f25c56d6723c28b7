//! `specify ralph hooks`: our part of the repository's git hooks.

use std::fs::{self, File};
use std::io::Write;

use anyhow::{Context as _, Result};
use camino::{Utf8Path, Utf8PathBuf};
use clap::Subcommand;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use serde_json::json;
use strum::VariantNames;

use crate::hooks::{FORMER, Hook, HookState, uninstall};
use ralph_core::record::Refusal;
use ralph_os::if_there::IfThere;
use ralph_os::platform::{canonicalize, is_executable, set_mode_of};
use ralph_os::process::Tool;
use ralph_project::project_files::{MAX_DOCUMENT_BYTES, ProjectFiles, explain, read_named};

use crate::cli::own_command::{Call, GIT_PROGRAM};
use crate::cli::{Context, ExitCode, Json, emit, stdout, warn};

#[derive(Debug, Subcommand)]
pub enum HooksAction {
    /// Add a block to each hook, beside existing commands
    Install {
        /// Only this hook (can be repeated)
        #[arg(long, value_name = "HOOK", value_parser = PossibleValuesParser::new(Hook::VARIANTS).try_map(|name| name.parse::<Hook>()))]
        only: Vec<Hook>,
        /// Also install a `pre-push` hook that pushes the records
        #[arg(long)]
        pre_push: bool,
    },
    /// Remove the blocks
    Uninstall,
    /// Show which hooks have a block
    Status {
        #[command(flatten)]
        json: Json,
    },
    /// Do nothing: hooks of an earlier version call it
    #[command(hide = true, name = "note", alias = "behind")]
    Former {
        /// What the hook passes
        #[arg(allow_hyphen_values = true, trailing_var_arg = true)]
        words: Vec<String>,
    },
}

pub fn run(action: &HooksAction, context: &Context) -> Result<ExitCode> {
    match action {
        HooksAction::Install { only, pre_push } => install(only, *pre_push, context),
        HooksAction::Uninstall => remove(context),
        HooksAction::Status { json } => status(context, *json),
        HooksAction::Former { .. } => Ok(ExitCode::Done),
    }
}

/// Where git looks for hooks.
struct Folder {
    path: Utf8PathBuf,
    /// Hooks in the work tree are files of the project; those in the git directory are the user's own.
    files: ProjectFiles,
    git_dir: Utf8PathBuf,
    /// What the blocks call.
    command: String,
}

impl Folder {
    fn find(context: &Context) -> Result<Self> {
        let store = context.store()?;
        let git = Tool::git_as_called(&context.start()?);
        let path = git.args(["rev-parse", "--path-format=absolute", "--git-path", "hooks"]).line()?;
        let path = Utf8PathBuf::from(path);
        let (repository, work_tree) = (store.repository(), context.work_tree()?);
        let is_of_machine = path.starts_with(&repository.common_dir);
        if is_of_machine || path.starts_with(work_tree.top()) {
            // Hooks in the work tree are committed, and run on other machines.
            let command = if is_of_machine {
                Call::of_this_process(&context.environment).for_hooks()
            } else {
                GIT_PROGRAM.to_owned()
            };
            let (files, git_dir) = (work_tree.project_files()?, repository.common_dir.clone());
            return Ok(Self { path, files, git_dir, command });
        }
        let refusal =
            Refusal::new(format!("the hooks of this repository are in {path}, for other repositories too"));
        // git says where a link leads, and `core.hooksPath` would lead there, too.
        let usual = repository.common_dir.join("hooks");
        Err(if canonicalize(&usual).is_ok_and(|usual| usual == path) {
            refusal.with_hint(format!("{usual} is a link; put a folder in its place to use separate hooks"))
        } else {
            refusal.with_hint("set `git config core.hooksPath .git/hooks` here first to use separate hooks")
        }
        .into())
    }

    fn of(&self, hook: Hook) -> Utf8PathBuf {
        self.path.join(hook.into_str())
    }

    fn is_of_git(&self, path: &Utf8Path) -> bool {
        path.starts_with(&self.git_dir)
    }

    fn read(&self, path: &Utf8Path) -> Result<Option<String>> {
        let read = if self.is_of_git(path) {
            read_named(path, MAX_DOCUMENT_BYTES)
        } else {
            self.files.read(path, MAX_DOCUMENT_BYTES)
        };
        let bytes = read.if_there().map_err(|error| explain("read", path, error))?;
        // What is no text is no shell script.
        Ok(bytes.map(|bytes| String::from_utf8(bytes).unwrap_or_default()))
    }

    /// Creates the folder of the hooks.
    fn create(&self) -> Result<()> {
        let created = if self.is_of_git(&self.path) {
            fs::create_dir_all(&self.path)
        } else {
            self.files.create_dir_all(&self.path)
        };
        created.map_err(|error| explain("create", &self.path, error))
    }

    /// Writes in place, so that a file keeps its mode; a new one gets `mode`.
    fn write(&self, path: &Utf8Path, text: &str, mode: Option<u32>) -> Result<()> {
        let written = if self.is_of_git(path) {
            File::create(path).and_then(|mut file| file.write_all(text.as_bytes()).map(|()| file))
        } else {
            self.files.overwrite(path, text.as_bytes())
        };
        let file = written.map_err(|error| explain("write", path, error))?;
        match mode {
            Some(mode) => set_mode_of(&file, mode).with_context(|| format!("set the mode of {path}")),
            None => Ok(()),
        }
    }

    /// Refuses a hook of the git directory that is a link out of it: other programs may run what it leads to.
    fn refuse_link(&self, path: &Utf8Path) -> Result<()> {
        if !self.is_of_git(path) || !path.is_symlink() {
            return Ok(());
        }
        let target = canonicalize(path);
        if target.as_ref().is_ok_and(|target| target.starts_with(&self.git_dir)) {
            return Ok(());
        }
        let target = target.or_else(|_| path.read_link_utf8()).with_context(|| format!("read {path}"))?;
        Err(Refusal::new(format!("{path} is a link to {target}, which is not changed through it"))
            .with_hint("put a file in its place that calls the other, or choose other hooks with --only")
            .into())
    }

    fn remove(&self, path: &Utf8Path) -> Result<()> {
        let removed = if self.is_of_git(path) { fs::remove_file(path) } else { self.files.remove(path) };
        removed.map_err(|error| explain("remove", path, error))
    }
}

/// The hooks that are installed by default.
pub fn install_usual(context: &Context) -> Result<ExitCode> {
    install(&[], false, context)
}

fn install(only: &[Hook], pre_push: bool, context: &Context) -> Result<ExitCode> {
    let folder = Folder::find(context)?;
    let mut wanted: Vec<Hook> = match only {
        [] => vec![Hook::PrepareCommitMsg],
        only => Hook::ALL.into_iter().filter(|hook| only.contains(hook)).collect(),
    };
    wanted.extend((pre_push && !wanted.contains(&Hook::PrePush)).then_some(Hook::PrePush));
    if folder.path.ends_with(".husky/_") {
        return Err(Refusal::new(format!("husky writes the hooks in {} anew at each install", folder.path))
            .with_hint("add the line of docs/editors-and-hooks.md to .husky/prepare-commit-msg")
            .into());
    }
    // All that could be refused is looked at before anything is written.
    let mut planned = Vec::new();
    for hook in wanted {
        let path = folder.of(hook);
        folder.refuse_link(&path)?;
        let text = folder.read(&path)?;
        let is_run = path.metadata().is_ok_and(|metadata| is_executable(&metadata) != Some(false));
        if text.is_some() && !is_run {
            return Err(Refusal::new(format!("{path} is not executable, so git does not run it"))
                .with_hint("make it executable or move it away first")
                .into());
        }
        let Some(new) = hook.install(text.as_deref(), &folder.command) else {
            return Err(Refusal::new(format!("{path} is not a shell script, so no block can be added"))
                .with_hint(format!(
                    "call it from a shell script of that name, or choose others with --only (not {})",
                    hook.into_str()
                ))
                .into());
        };
        planned.push((path, text, new));
    }
    folder.create()?;
    let mut out = stdout();
    for (path, old, new) in planned {
        if old.as_ref() == Some(&new) {
            writeln!(out, "{path} has it already")?;
            continue;
        }
        folder.write(&path, &new, old.is_none().then_some(0o755))?;
        writeln!(out, "installed in {path}")?;
    }
    out.flush()?;
    Ok(ExitCode::Done)
}

fn remove(context: &Context) -> Result<ExitCode> {
    let folder = Folder::find(context)?;
    let mut out = stdout();
    let names: Vec<&str> = Hook::ALL.iter().map(Hook::into_str).chain(FORMER).collect();
    let mut paths: Vec<Utf8PathBuf> = names.iter().map(|hook| folder.path.join(hook)).collect();
    // Earlier versions wrote beside the folder that husky makes, and to `.gitattributes`.
    if let Some(above) = folder.path.parent().filter(|_| folder.path.ends_with(".husky/_")) {
        paths.extend(names.iter().map(|hook| above.join(hook)));
    }
    paths.push(context.work_tree()?.top().join(".gitattributes"));
    for path in paths {
        let Some(text) = folder.read(&path)? else { continue };
        match uninstall(&text) {
            Some(rest) if rest == text => continue,
            _ if folder.refuse_link(&path).is_err() => {
                warn(&format!("{path} is a link out of the git directory: its block is not removed"));
                continue;
            }
            Some(rest) => folder.write(&path, &rest, None)?,
            None => folder.remove(&path)?,
        }
        writeln!(out, "removed from {path}")?;
    }
    out.flush()?;
    Ok(ExitCode::Done)
}

/// Returns the state of each hook.
pub fn states(context: &Context) -> Result<Vec<(Hook, HookState)>> {
    let folder = Folder::find(context)?;
    Hook::ALL
        .into_iter()
        .map(|hook| {
            let text = folder.read(&folder.of(hook))?;
            Ok((hook, hook.state(text.as_deref(), &folder.command)))
        })
        .collect()
}

fn describe(state: HookState) -> &'static str {
    match state {
        HookState::Absent => "no hook",
        HookState::Installed => "installed",
        HookState::Outdated => "installed by another version",
        HookState::Others => "a hook of others",
        HookState::Foreign => "a hook of others that is not a shell script",
    }
}

fn status(context: &Context, json: Json) -> Result<ExitCode> {
    let states = states(context)?;
    let hooks: Vec<_> = states
        .iter()
        .map(|(hook, state)| {
            let is_installed = *state == HookState::Installed;
            json!({"hook": hook.into_str(), "is_installed": is_installed, "state": describe(*state)})
        })
        .collect();
    emit(json, &json!({"folder": Folder::find(context)?.path, "hooks": hooks}), |out| {
        states
            .iter()
            .try_for_each(|(hook, state)| writeln!(out, "{:<18}  {}", hook.into_str(), describe(*state)))
    })
}

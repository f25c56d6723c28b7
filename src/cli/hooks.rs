//! `specify ralph hooks`: our part of the repository's git hooks.

use std::collections::BTreeSet;
use std::fs::{self, File, Permissions};
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::time::Duration;

use anyhow::{Context as _, Result};
use camino::{Utf8Path, Utf8PathBuf};
use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, Subcommand};
use serde_json::json;
use strum::VariantNames;

use crate::hooks::{Hook, HookState, Runner, uninstall, with_union, without_union};
use crate::process::Tool;
use crate::project_files::{MAX_DOCUMENT_BYTES, ProjectFiles, explain, read_named};
use crate::record::{IfThere, RALPH, Refusal, SessionId, join_truncated};
use crate::store::{Remote, RunningIteration};

use super::own_command::{GIT_PROGRAM, hook_command};
use super::{Context, ExitCode, Json, emit, note, say, stdout, warn};

#[derive(Debug, Subcommand)]
pub enum HooksAction {
    /// Add a block to each hook, beside existing commands
    Install(HooksInstallArgs),
    /// Remove the blocks
    Uninstall,
    /// Show which hooks have a block
    Status {
        #[command(flatten)]
        json: Json,
    },
    /// Add a note to HEAD that names the running iteration
    #[command(hide = true)]
    Note,
    /// Warn about sessions that commits name and that are not here
    #[command(hide = true)]
    Behind {
        /// Old HEAD
        #[arg(value_name = "OLD")]
        old: String,
        /// New HEAD
        #[arg(value_name = "NEW")]
        new: String,
    },
}

#[derive(Debug, Default, Args)]
pub struct HooksInstallArgs {
    /// Only this hook (can be repeated)
    #[arg(long, value_name = "HOOK", value_parser = PossibleValuesParser::new(Hook::VARIANTS).try_map(|name| name.parse::<Hook>()))]
    pub only: Vec<Hook>,
    /// Also install a `pre-push` hook that pushes the records
    #[arg(long)]
    pub pre_push: bool,
    /// Keep notes across amend and rebase: set notes.rewriteRef in this repository's configuration
    #[arg(long)]
    pub rewrite_notes: bool,
    /// Merge progress.txt by keeping the lines of both sides: add it to .gitattributes
    #[arg(long)]
    pub merge_union: bool,
}

/// What carries notes over an amend or a rebase, and its value for ours.
const REWRITE: [&str; 2] = ["notes.rewriteRef", "refs/notes/ralph"];

/// Newest commits that are looked at for sessions that are not here.
const NEWEST: &str = "--max-count=500";

/// Longest wait for git to list them.
const GIT_TIMEOUT: Duration = Duration::from_secs(2);

/// Maximum number of sessions that are named.
const MAX_NAMED_SESSIONS: usize = 3;

pub fn run(action: &HooksAction, context: &Context) -> Result<ExitCode> {
    match action {
        HooksAction::Install(args) => install(args, context),
        HooksAction::Uninstall => remove(context),
        HooksAction::Status { json } => status(context, *json),
        HooksAction::Note => note_iteration(context),
        HooksAction::Behind { old, new } => behind(old, new, context),
    }
}

/// Where git looks for hooks, and who runs them.
struct Folder {
    path: Utf8PathBuf,
    runner: Runner,
    /// Of the work tree.
    top: Utf8PathBuf,
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
        // husky makes the hooks in `_` anew at each install; people's own are in the folder above.
        let (path, runner) = match (path.file_name(), path.parent()) {
            (Some("_"), Some(above)) if above.file_name() == Some(".husky") => {
                (above.to_owned(), Runner::Husky)
            }
            _ => (path, Runner::Git),
        };
        let (repository, work_tree) = (store.repository(), context.work_tree()?);
        let top = work_tree.top().to_owned();
        let is_of_machine = path.starts_with(&repository.common_dir);
        if is_of_machine || path.starts_with(&top) {
            // Hooks in the work tree are committed, and run on other machines.
            let command =
                if is_of_machine { hook_command(&context.environment) } else { GIT_PROGRAM.to_owned() };
            let (files, git_dir) = (work_tree.project_files()?, repository.common_dir.clone());
            return Ok(Self { path, runner, top, files, git_dir, command });
        }
        let refusal =
            Refusal::new(format!("the hooks of this repository are in {path}, for other repositories too"));
        // git says where a link leads, and `core.hooksPath` would lead there, too.
        let usual = repository.common_dir.join("hooks");
        Err(if usual.canonicalize_utf8().is_ok_and(|usual| usual == path) {
            refusal.with_hint(format!("{usual} is a link; put a folder in its place to use separate hooks"))
        } else {
            refusal.with_hint("set `git config core.hooksPath .git/hooks` here first to use separate hooks")
        }
        .into())
    }

    fn of(&self, hook: Hook) -> Utf8PathBuf {
        self.path.join(hook.into_str())
    }

    fn attributes(&self) -> Utf8PathBuf {
        self.top.join(".gitattributes")
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
    fn write(&self, path: &Utf8Path, text: &str, mode: Option<Permissions>) -> Result<()> {
        let written = if self.is_of_git(path) {
            File::create(path).and_then(|mut file| file.write_all(text.as_bytes()).map(|()| file))
        } else {
            self.files.overwrite(path, text.as_bytes())
        };
        let file = written.map_err(|error| explain("write", path, error))?;
        match mode {
            Some(mode) => file.set_permissions(mode).with_context(|| format!("set the mode of {path}")),
            None => Ok(()),
        }
    }

    /// Refuses a hook of the git directory that is a link out of it: other programs may run what it leads to.
    fn refuse_link(&self, path: &Utf8Path) -> Result<()> {
        if !self.is_of_git(path) || !path.is_symlink() {
            return Ok(());
        }
        let target = path.canonicalize_utf8();
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
pub(super) fn install_usual(context: &Context) -> Result<ExitCode> {
    install(&HooksInstallArgs::default(), context)
}

fn install(args: &HooksInstallArgs, context: &Context) -> Result<ExitCode> {
    let folder = Folder::find(context)?;
    let mut wanted: Vec<Hook> = match args.only.as_slice() {
        [] => Hook::USUAL.into(),
        only => Hook::ALL.into_iter().filter(|hook| only.contains(hook)).collect(),
    };
    wanted.extend((args.pre_push && !wanted.contains(&Hook::PrePush)).then_some(Hook::PrePush));
    // All that could be refused is looked at before anything is written.
    let mut planned = Vec::new();
    for hook in wanted {
        let path = folder.of(hook);
        folder.refuse_link(&path)?;
        let text = folder.read(&path)?;
        let is_run = folder.runner == Runner::Husky
            || path.metadata().is_ok_and(|metadata| metadata.permissions().mode() & 0o100 != 0);
        if text.is_some() && !is_run {
            return Err(Refusal::new(format!("{path} is not executable, so git does not run it"))
                .with_hint("make it executable or move it away first")
                .into());
        }
        let Some(new) = hook.install(text.as_deref(), folder.runner, &folder.command) else {
            return Err(Refusal::new(format!("{path} is not a shell script, so no block can be added"))
                .with_hint(format!(
                    "call it from a shell script of that name, or choose others with --only (not {})",
                    hook.into_str()
                ))
                .into());
        };
        planned.push((path, text, new, Permissions::from_mode(0o755)));
    }
    if args.merge_union {
        let path = folder.attributes();
        let text = folder.read(&path)?;
        let new = with_union(text.as_deref());
        planned.push((path, text, new, Permissions::from_mode(0o644)));
    }
    folder.create()?;
    let mut out = stdout();
    for (path, old, new, mode) in planned {
        if old.as_ref() == Some(&new) {
            writeln!(out, "{path} has it already")?;
            continue;
        }
        folder.write(&path, &new, old.is_none().then_some(mode))?;
        writeln!(out, "installed in {path}")?;
    }
    let [key, value] = REWRITE;
    if args.rewrite_notes && !rewrites(&folder)? {
        Tool::git(&folder.top).args(["config", "--local", "--add", key, value]).read()?;
        writeln!(out, "set {key} to {value}")?;
    }
    out.flush()?;
    offer_more(&folder)?;
    Ok(ExitCode::Done)
}

/// Says on stderr what else could be set up.
fn offer_more(folder: &Folder) -> Result<()> {
    let mut offers = Vec::new();
    if !rewrites(folder)? {
        offers.push("  --rewrite-notes    git carries notes over an amend or a rebase (notes.rewriteRef)");
    }
    let attributes = Tool::git(&folder.top).args(["check-attr", "merge", "--", "progress.txt"]).line()?;
    if attributes.ends_with(": unspecified") {
        offers.push("  --merge-union      git merges journals by taking the lines of both (.gitattributes)");
    }
    if !offers.is_empty() {
        note(format_args!("if you like:\n{}", offers.join("\n")));
    }
    Ok(())
}

/// Returns true if git carries our notes along already.
fn rewrites(folder: &Folder) -> Result<bool> {
    let [key, value] = REWRITE;
    let set = Tool::git(&folder.top).args(["config", "--get-all", key]).run()?;
    Ok(String::from_utf8_lossy(&set.stdout).lines().any(|line| line == value))
}

fn remove(context: &Context) -> Result<ExitCode> {
    let folder = Folder::find(context)?;
    let mut out = stdout();
    let hooks = Hook::ALL.map(|hook| (folder.of(hook), uninstall as fn(&str) -> Option<String>));
    for (path, without) in hooks.into_iter().chain([(folder.attributes(), without_union as _)]) {
        let Some(text) = folder.read(&path)? else { continue };
        match without(&text) {
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
    let [key, value] = REWRITE;
    let unset = ["config", "--local", "--fixed-value", "--unset-all", key, value];
    // Exit code 5: it was not set here.
    if Tool::git(&folder.top).args(unset).run()?.is_success() {
        writeln!(out, "removed {key} {value}")?;
    }
    out.flush()?;
    Ok(ExitCode::Done)
}

/// Returns how each hook stands.
pub(super) fn states(context: &Context) -> Result<Vec<(Hook, HookState)>> {
    let folder = Folder::find(context)?;
    let state = |hook: Hook| {
        let text = folder.read(&folder.of(hook))?;
        Ok((hook, hook.state(text.as_deref(), folder.runner, &folder.command)))
    };
    Hook::ALL.into_iter().map(state).collect()
}

fn status(context: &Context, json: Json) -> Result<ExitCode> {
    let states = states(context)?;
    let word = |state: HookState| match state {
        HookState::Absent => "no hook",
        HookState::Installed => "installed",
        HookState::Outdated => "installed by another version",
        HookState::Others => "a hook of others",
        HookState::Foreign => "a hook of others that is not a shell script",
    };
    let row = |(hook, state): &(Hook, HookState)| {
        let is_installed = *state == HookState::Installed;
        json!({"hook": hook.into_str(), "is_installed": is_installed, "state": word(*state)})
    };
    let hooks: Vec<_> = states.iter().map(row).collect();
    emit(json, &json!({"folder": Folder::find(context)?.path, "hooks": hooks}), |out| {
        states.iter().try_for_each(|(hook, state)| writeln!(out, "{:<18}  {}", hook.into_str(), word(*state)))
    })
}

/// What `post-commit` does inside an iteration: says on HEAD that it was made there.
fn note_iteration(context: &Context) -> Result<ExitCode> {
    let text = |name: &str| context.environment.text(name);
    let session = text("RALPH_SESSION").and_then(|id| id.parse::<SessionId>().ok());
    let iteration = text("RALPH_ITERATION").and_then(|number| number.parse::<u32>().ok());
    let Some((session, iteration)) = session.zip(iteration) else {
        return Err(Refusal::new(
            "no iteration runs here: RALPH_SESSION and RALPH_ITERATION do not name one",
        )
        .into());
    };
    let store = context.store()?;
    if let Some(head) = context.work_tree()?.head()? {
        let task = text("RALPH_TASK").unwrap_or("-");
        let running = RunningIteration { session: &session, number: iteration, task };
        store.notes().add_running(&head, running, context.now()?)?;
    }
    Ok(ExitCode::Done)
}

/// What `post-merge` and `post-checkout` do: without a word to the network, says which sessions the commits name that
/// came, and that are not here.
fn behind(old: &str, new: &str, context: &Context) -> Result<ExitCode> {
    let trailers = "--format=%(trailers:key=Ralph-Made-In,valueonly)";
    let range = format!("{old}..{new}");
    let listed = Tool::git_as_called(&context.start()?)
        .args(["log", "--no-show-signature", NEWEST, trailers, "--end-of-options", &range, "--"])
        .limit(GIT_TIMEOUT)
        .run()?;
    // Where it came from may be nothing: a clone, a branch without a commit.
    let listed = String::from_utf8_lossy(&listed.stdout).into_owned();
    let named: BTreeSet<SessionId> = listed
        .lines()
        .filter_map(|line| line.split_once(':').and_then(|(session, _)| session.trim().parse().ok()))
        .collect();
    if named.is_empty() {
        return Ok(ExitCode::Done);
    }
    let store = context.store()?;
    let known = store.known_sessions()?;
    let missing: Vec<&str> = named.difference(&known).map(SessionId::as_str).collect();
    if missing.is_empty() || Remote::names(store.repository())?.is_empty() {
        return Ok(ExitCode::Done);
    }
    say(format_args!(
        "ralph: these commits were made in sessions that are not here: {}\nhint: `{RALPH} sync --fetch-only` fetches them",
        join_truncated(&missing, MAX_NAMED_SESSIONS)
    ))
}

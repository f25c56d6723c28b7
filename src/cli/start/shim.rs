//! `specify ralph shim`: a link `specify` to this program, for those who want `specify ralph` beside spec-kit's own
//! `specify`.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use clap::Subcommand;

use ralph_core::record::{RALPH, Refusal};
use ralph_os::if_there::IfThere;
use ralph_os::platform::{program_name, symlink};

use crate::cli::own_command::{Call, OWN_PROGRAM, Program};
use crate::cli::{Context, ExitCode, say};

#[derive(Debug, Subcommand)]
pub enum ShimAction {
    /// Make `specify` a link to this program: `specify ralph` is ours, everything else goes to the next `specify`
    Install {
        /// Folder of the link [default: that of `specify-ralph` on the PATH]
        #[arg(value_name = "DIR")]
        dir: Option<PathBuf>,
    },
    /// Remove that link
    Remove {
        /// Folder of the link [default: that of `specify-ralph` on the PATH]
        #[arg(value_name = "DIR")]
        dir: Option<PathBuf>,
    },
}

pub fn run(action: &ShimAction, context: &Context) -> Result<ExitCode> {
    let call = Call::of_this_process(&context.environment);
    match action {
        ShimAction::Install { dir } => install(dir.as_deref(), &call, context),
        ShimAction::Remove { dir } => remove(dir.as_deref(), &call, context),
    }
}

fn install(dir: Option<&Path>, call: &Call, context: &Context) -> Result<ExitCode> {
    // The link leads to the name on the PATH, which an update leaves in place.
    let on_path = call.first_on_path(OWN_PROGRAM).filter(|path| path.is_absolute() && call.is_ours(path));
    let program = on_path.unwrap_or_else(|| call.executable.clone());
    let dir = dir.map(|dir| context.directory.as_std_path().join(dir));
    let dir = dir.unwrap_or_else(|| program.parent().unwrap_or(Path::new("/")).to_owned());
    let link = dir.join(file_name());
    if is_shim(&link, call) && !link.exists() {
        // Its program has gone, and a link that leads nowhere is passed over on the PATH.
        fs::remove_file(&link).if_there().with_context(|| format!("remove {}", link.display()))?;
    }
    match symlink(&program, &link) {
        Ok(()) => say(format_args!("{} leads to {}", link.display(), program.display()))?,
        Err(error) if error.kind() == ErrorKind::AlreadyExists && is_shim(&link, call) => {
            say(format_args!("{} is there already", link.display()))?
        }
        Err(error) if error.kind() == ErrorKind::AlreadyExists => {
            return Err(Refusal::new(format!("{} is another program, and stays", link.display()))
                .with_hint(format!(
                    "name a folder that comes before it on the PATH: `{RALPH} shim install DIR`"
                ))
                .into());
        }
        Err(error) => return Err(error).with_context(|| format!("make the link {}", link.display())),
    };
    let found = call.on_path(Program::Specify.name());
    say(match found.first() {
        Some(first) if is_shim(first, call) => match found.iter().find(|path| !call.is_ours(path)) {
            Some(next) => format!("`specify ralph` is this program, all else goes to {}", next.display()),
            None => "`specify ralph` is this program; spec-kit's `specify` is not on the PATH".to_owned(),
        },
        Some(first) => format!(
            "but {} comes first on the PATH: put {} before its folder, or use `git ralph`",
            first.display(),
            dir.display()
        ),
        None => format!("but {} is not on the PATH: add it, or use `git ralph`", dir.display()),
    })
}

fn remove(dir: Option<&Path>, call: &Call, context: &Context) -> Result<ExitCode> {
    let dirs = match dir {
        Some(dir) => vec![context.directory.as_std_path().join(dir)],
        None => std::env::split_paths(&call.path_variable).collect(),
    };
    let links = dirs.iter().map(|dir| dir.join(file_name()));
    let shims: Vec<PathBuf> = links.filter(|link| link.is_absolute() && is_shim(link, call)).collect();
    if shims.is_empty() {
        let place = dir.map_or("the PATH".into(), |dir| dir.display().to_string());
        return Err(Refusal::new(format!("there is no link `specify` to this program in {place}"))
            .with_hint(
                "`type -a specify` lists the programs of that name; only links to this one are removed",
            )
            .into());
    }
    for link in shims {
        fs::remove_file(&link).if_there().with_context(|| format!("remove {}", link.display()))?;
        say(format_args!("removed {}", link.display()))?;
    }
    Ok(ExitCode::Done)
}

/// The file that is called as `specify`.
fn file_name() -> String {
    format!("{}{}", Program::Specify.name(), std::env::consts::EXE_SUFFIX)
}

/// Returns true for a link to this program, or to one of its name that is gone.
fn is_shim(link: &Path, call: &Call) -> bool {
    fs::read_link(link).is_ok_and(|target| {
        let is_named = program_name(&target) == Some(OWN_PROGRAM);
        call.is_ours(link) || (is_named && !link.exists())
    })
}

//! Which remote a command goes to: one, and only where it is clear which.

use std::path::Path;

use anyhow::{Context as _, Result};

use ralph_core::config::Config;
use ralph_core::record::Refusal;
use ralph_os::process::Tool;
use ralph_store::Remote;

use crate::cli::{Context, Flags, settings};

/// What ssh must not do: ask, or wait for ever.
const SSH_FLAGS: &str =
    "-o BatchMode=yes -o ConnectTimeout=30 -o ServerAliveInterval=30 -o ServerAliveCountMax=3";

/// Returns the remote that is named, or set, or the only one.
pub fn chosen(context: &Context, named: Option<&str>) -> Result<Remote> {
    let hint = "records go to one remote only: name it, or set it with `git config ralph.remote NAME`";
    any(context, named, hint)?.ok_or_else(|| {
        Refusal::new("this repository has no remote")
            .with_hint(
                "add one with `git remote add origin ADDRESS`, or pass on a file that \
                 `git bundle create FILE --glob='refs/ralph*'` writes",
            )
            .into()
    })
}

/// Returns the remote to which git pushes a branch, and that of the repository that it is to come to: of a fork, the other one.
pub fn of_branch(context: &Context, branch: &str) -> Result<[Remote; 2]> {
    let names = Remote::names(context.store()?.repository())?;
    let keys = [
        format!("branch.{branch}.pushRemote"),
        "remote.pushDefault".to_owned(),
        format!("branch.{branch}.remote"),
    ];
    let set = keys.iter().filter_map(|key| setting(key, context)).find(|name| names.contains(name));
    let only_fork =
        names.iter().find(|name| *name == "origin" && names.iter().any(|other| other == "upstream"));
    let push = chosen(context, set.as_deref().or(only_fork.map(String::as_str)))?;
    // What `gh repo set-default` notes, or what people call it.
    let is_base =
        |name: &&String| setting(&format!("remote.{name}.gh-resolved"), context).as_deref() == Some("base");
    let base = names.iter().find(is_base).or_else(|| names.iter().find(|name| *name == "upstream"));
    let base = base
        .filter(|name| **name != push.name)
        .map(|name| reachable(context, name.clone(), &names))
        .transpose()?;
    Ok([push.clone(), base.unwrap_or(push)])
}

/// Returns the address of a remote as it is set, before git replaces a part of it.
pub fn address_as_set(context: &Context, remote: &Remote) -> String {
    let set = setting(&format!("remote.{}.url", remote.name), context);
    set.or_else(|| remote.url.clone()).unwrap_or_else(|| remote.name.clone())
}

/// Returns the same, but `None` if none is named, set or there. The hint says how to name one of several.
pub fn any(context: &Context, named: Option<&str>, hint: &str) -> Result<Option<Remote>> {
    let remotes = Remote::names(context.store()?.repository())?;
    let set = match named {
        Some(_) => None,
        None => configured(&settings::load_here(context, Flags::default())?.1, &remotes)?,
    };
    match (named.map(str::to_owned).or(set), remotes.as_slice()) {
        (Some(name), _) => reachable(context, name, &remotes).map(Some),
        (None, [only]) => reachable(context, only.clone(), &remotes).map(Some),
        (None, []) => Ok(None),
        (None, several) => {
            let refusal = Refusal::new(format!("several remotes: {}", several.join(", ")));
            Err(refusal.with_hint(hint).into())
        }
    }
}

/// Returns the remote that is set. The project's file comes with a clone: it may choose among the remotes that are
/// configured here, and name no address.
fn configured(config: &Config, remotes: &[String]) -> Result<Option<String>> {
    let (Some(name), Some(origin)) = (&config.settings.remote, config.set_by_file("remote")) else {
        return Ok(config.settings.remote.clone());
    };
    if remotes.contains(name) {
        return Ok(Some(name.clone()));
    }
    let hint = "a file of the project may only name a remote that `git remote -v` lists; if you trust this address, \
                choose it yourself: `git config ralph.remote ADDRESS`, or give it to the command";
    let message = format!("{origin}: `{name}` is not a remote that is configured here");
    Err(Refusal::new(message).with_hint(hint).into())
}

fn reachable(context: &Context, name: String, remotes: &[String]) -> Result<Remote> {
    if name.starts_with('-') || name.trim().is_empty() {
        return Err(Refusal::new(format!("`{name}` is not a remote")).into());
    }
    let ssh_command = ssh_command(context);
    if remotes.contains(&name) {
        return Ok(Remote {
            url: Some(Remote::address_of(context.store()?.repository(), &name)?),
            name,
            ssh_command,
        });
    }
    let path = context.directory.join(&name);
    let name = if path.exists() {
        path.to_string()
    } else if name.contains(':') || Path::new(&name).is_absolute() {
        name
    } else {
        return Err(Refusal::new(format!("there is no remote `{name}`"))
            .with_hint("`git remote -v` lists remotes; an address or a path works, too")
            .into());
    };
    Ok(Remote { url: Some(name.clone()), name, ssh_command })
}

/// Returns the remote that has what a partial clone lacks.
pub fn promisor(context: &Context) -> Result<Remote> {
    let name =
        context.store()?.repository().promisors.first().context("find the remote of this partial clone")?;
    Ok(Remote { name: name.clone(), url: None, ssh_command: ssh_command(context) })
}

fn setting(key: &str, context: &Context) -> Option<String> {
    Tool::git_as_called(&context.directory).args(["config", "--get", key]).line().ok()
}

/// Returns the user's own ssh with an option for batch mode, or `None` if its options are unknown.
fn ssh_command(context: &Context) -> Option<String> {
    let [variant, command, program] = ["GIT_SSH_VARIANT", "GIT_SSH_COMMAND", "GIT_SSH"]
        .map(|name| context.environment.owned(name).filter(|value| !value.is_empty()));
    if variant.is_some() || setting("ssh.variant", context).is_some() {
        return None;
    }
    let command = command.or_else(|| setting("core.sshCommand", context));
    if command.is_none() && program.is_some() {
        return None;
    }
    let command = command.unwrap_or_else(|| "ssh".to_owned());
    let program = command.split_whitespace().next().unwrap_or_default();
    (Path::new(program).file_name()? == "ssh").then(|| format!("{command} {SSH_FLAGS}"))
}

#[cfg(test)]
mod tests {
    use camino::Utf8PathBuf;

    use clap::ColorChoice;

    use super::*;
    use crate::cli::Environment;

    #[track_caller]
    fn case(variables: &[(&str, &str)], expected: Option<&str>) {
        let folder = tempfile::tempdir().unwrap();
        let directory = Utf8PathBuf::from_path_buf(folder.path().to_owned()).unwrap();
        let environment =
            Environment(variables.iter().map(|(name, value)| (name.into(), value.into())).collect());
        assert_eq!(
            ssh_command(&Context::at(directory, environment, ColorChoice::Never)).as_deref(),
            expected
        );
    }

    #[test]
    fn ssh_never_asks_and_a_program_that_is_not_ssh_is_left_alone() {
        let flags = SSH_FLAGS;
        case(&[], Some(&format!("ssh {flags}")));
        case(&[("GIT_SSH_COMMAND", "/usr/bin/ssh -i key")], Some(&format!("/usr/bin/ssh -i key {flags}")));
        case(&[("GIT_SSH_COMMAND", "tortoiseplink -P 22")], None);
        case(&[("GIT_SSH", "plink")], None);
        case(&[("GIT_SSH_VARIANT", "simple")], None);
    }
}

//! The fence that the settings ask for, around what a session works on.

use std::sync::Arc;

use anyhow::{Context as _, Result};
use camino::{Utf8Path, Utf8PathBuf};

use ralph_core::config::{Commits, FILE, SandboxChoice, Settings};
use ralph_core::record::{RALPH, quoted_for_shell};
use ralph_engine::redactor;
use ralph_os::if_there::IfThere;
use ralph_os::process::{create_private_dir, is_running, outside};
use ralph_os::sandbox::{AgentState, Mechanism, Network, Rules, Sandbox, hidden, short_digest};
use ralph_project::feature::without_dots;

use crate::cli::{Context, refuse, warn};

/// Sets up and tests what the settings ask for. `None` if they ask for nothing.
pub fn set_up(settings: &Settings, states: &[AgentState], context: &Context) -> Result<Option<Arc<Sandbox>>> {
    if settings.sandbox.is_none() {
        outside::lift();
        return Ok(None);
    }
    let (work_tree, root) = (context.work_tree()?, context.project_root()?);
    if settings.commit != Commits::Off && work_tree.lane().is_none() {
        return refuse(
            "`commit = \"task\"` runs git's hooks, which cannot write the repository from a sandbox",
            "--commit off, or run without --no-lane: each success is a commit on its branch",
        );
    }
    let home = context.home().map(Utf8PathBuf::from).filter(|home| home.is_absolute());
    let home = home.context("find the home folder: HOME is not set")?;
    let path = |name: &String| match name.strip_prefix("~/") {
        Some(rest) => home.join(rest),
        None if name == "~" => home.clone(),
        None => root.join(name),
    };
    let (network, check_network) = networks(settings)?;
    let (mechanism, path_variable) = (mechanism(settings, context)?, path_variable(context));
    // Git of the loop runs with these, so nothing in them is an agent's to write; and the loop's own folders are not to be read.
    let common_dir = &context.store()?.repository().common_dir;
    let mut read_only = vec![work_tree.git_dir().to_owned(), common_dir.clone()];
    if work_tree.lane().is_none() {
        read_only.extend([work_tree.top().join(".git"), root.join(FILE)]);
    }
    let mut hide = vec![work_tree.git_dir().join("ralph"), common_dir.join("ralph")];
    let state_dir =
        context.user_dir("XDG_STATE_HOME", ".local/state").context("find the folder for states")?;
    let logins_dir = state_dir.join("specify-ralph/logins");
    hide.push(logins_dir.clone());
    // What is not there could not be hidden.
    hide.iter().try_for_each(|folder| create_private_dir(folder))?;
    let private_dir = private_dir(work_tree.top(), context)?;
    let mut write = vec![work_tree.top().to_owned()];
    // What is in a lane can be written as it is, and is not there before the first checkout.
    let further = settings.sandbox_write.iter().map(path);
    write.extend(
        further.filter(|path| work_tree.lane().is_none() || !without_dots(path).starts_with(work_tree.top())),
    );
    let logins = ralph_agent::credentials();
    for file in work_tree.included_settings(&home)? {
        let file = real(&file);
        let is_theirs = write.iter().any(|folder| file.starts_with(real(folder)));
        if is_theirs && !file.exists() {
            return refuse(
                format!(
                    "git's configuration includes {file}, which the agent could write for git outside of the sandbox"
                ),
                format!("touch {}, or take it out of the configuration", quoted_for_shell(file.as_str())),
            );
        }
        read_only.extend(is_theirs.then_some(file));
    }
    hide.extend(hidden(&home, &|name| context.environment.owned(name)));
    hide.extend(logins.map(|name| home.join(name)));
    hide.extend(settings.sandbox_hide.iter().map(path));
    let show: Vec<_> = settings.sandbox_show.iter().map(path).collect();
    hide.retain(|hidden| !show.contains(hidden));
    let redactor = redactor(settings)?;
    let is_secret = |name: &str, value: &str| {
        let text = format!("{name}={value}");
        redactor.redact_text(&text).0 != text
    };
    let variables =
        context.environment.iter().map(|(name, value)| (name.to_string_lossy(), value.to_string_lossy()));
    let secrets =
        variables.filter(|(name, value)| is_secret(name, value)).map(|(name, _)| name.into_owned()).collect();
    let rules = Rules {
        write,
        read_only,
        filters_write: vec![common_dir.join("lfs")],
        hide,
        show,
        variables: settings.sandbox_env.clone(),
        secrets,
        network,
        check_network,
    };
    let filters_write = &rules.filters_write;
    // srt leaves the last one open.
    let places = rules.write.iter().chain(filters_write).chain([&private_dir]).map(Utf8PathBuf::as_path);
    for line in outside::close(places.chain([Utf8Path::new("/tmp/claude")]))? {
        warn(&line);
    }
    Sandbox::set_up(mechanism, rules, states, &path_variable, home, &private_dir, logins_dir).map(Some)
}

/// Returns what would be used here; a refusal says what is missing.
pub fn look_for(settings: &Settings, context: &Context) -> Result<String> {
    mechanism(settings, context)?.look_for(&path_variable(context))
}

/// Returns names of files that are no files of the project's, though commands see them in it.
pub fn phantoms(settings: &Settings, context: &Context) -> Result<&'static [&'static str]> {
    if settings.sandbox.is_none() {
        return Ok(&[]);
    }
    Ok(mechanism(settings, context)?.phantoms())
}

fn networks(settings: &Settings) -> Result<(Network, Network)> {
    let of_agent = network("sandbox.network", &settings.sandbox_network)?;
    let of_checks = match settings.sandbox_validation_network.as_slice() {
        [word] if word == "same" => of_agent.clone(),
        hosts => network("sandbox.validation-network", hosts)?,
    };
    Ok((of_agent, of_checks))
}

fn path_variable(context: &Context) -> String {
    context.environment.owned("PATH").unwrap_or_default()
}

/// Returns what is asked for, or would be.
fn mechanism(settings: &Settings, context: &Context) -> Result<Mechanism> {
    Ok(match settings.sandbox.as_ref().unwrap_or(&SandboxChoice::Auto) {
        SandboxChoice::Auto => {
            let (network, check_network) = networks(settings)?;
            Mechanism::choose([&network, &check_network], &path_variable(context))
        }
        SandboxChoice::Srt => Mechanism::Srt,
        SandboxChoice::Bwrap => Mechanism::Bwrap,
        SandboxChoice::Command(words) => Mechanism::Command(words.clone()),
    })
}

/// Returns a path without links and `..` in the folders above it.
fn real(path: &Utf8Path) -> Utf8PathBuf {
    let above = path.parent().and_then(|folder| folder.canonicalize_utf8().ok());
    let there = above.zip(path.file_name()).map(|(folder, name)| folder.join(name));
    path.canonicalize_utf8().ok().or(there).unwrap_or_else(|| path.to_owned())
}

fn network(key: &str, hosts: &[String]) -> Result<Network> {
    match hosts {
        [] => Ok(Network::None),
        [word] if word == "all" => Ok(Network::All),
        hosts if hosts.iter().any(|host| host == "all" || host == "none" || host == "same") => refuse(
            format!("`{key}` is `{}`", hosts.join(", ")),
            format!("it is all, none, or names of hosts: `{RALPH} config` shows where it is set"),
        ),
        hosts => Ok(Network::Hosts(hosts.to_vec())),
    }
}

/// Returns a folder of this process, and removes what died ones left.
fn private_dir(top: &Utf8Path, context: &Context) -> Result<Utf8PathBuf> {
    let cache = context.cache_dir().context("find the folder for caches: HOME is not set")?;
    let folder = cache.join("specify-ralph/sandbox").join(short_digest(top.as_str()));
    let left = folder.read_dir_utf8().if_there().with_context(|| format!("read {folder}"))?;
    for entry in left.into_iter().flatten() {
        let entry = entry?;
        if entry.file_name().parse().is_ok_and(|pid: i32| !is_running(pid)) {
            Sandbox::remove(entry.path())?;
        }
    }
    Ok(folder.join(std::process::id().to_string()))
}

//! `specify ralph doctor`: checks the setup and suggests fixes.

mod finding;
mod obstacles;

use std::path::Path;
use std::time::Duration;

use anyhow::Result;
use camino::Utf8Path;

use crate::hooks::HookState;
use ralph_agent::passed_over;
use ralph_core::config::{Commits, Config};
use ralph_core::record::{CANONICAL, Permissions, RALPH};
use ralph_git::repository::{HashKind, RefFormat};
use ralph_git::worktree::WorkTree;
use ralph_os::process::{self, Tool, outside};
use ralph_project::tasks;
use ralph_store::{MIN_LOOSE_TO_PACK, Remote, Spool, Store, disk_free, loose_objects};
use ralph_ui::style::{counted, grouped};

use finding::{Finding, Severity, write};
use obstacles::{earlier_work, no_validation, obstacles, rehearsal};

use crate::cli::own_command::{Call, GIT_PROGRAM, Program};
use crate::cli::read::sessions;
use crate::cli::settings::load_here;
use crate::cli::share::remotes::chosen;
use crate::cli::start::setup::RunRequest;
use crate::cli::start::{lane, sandbox, setup, trust};
use crate::cli::{Context, ExitCode, Flags, Json, Project, emit, pager};

/// The oldest git that knows how to sync what it writes: `core.fsync`.
const OLDEST_GIT: (u32, u32) = (2, 36);

/// Bytes with which a loop cannot record, and with which it will not for long.
const MIN_FREE_BYTES: u64 = 64 << 20;
const LOW_FREE_BYTES: u64 = 1 << 30;

/// Longest wait for a program that is asked who it is.
const PROBE_TIMEOUT: Duration = Duration::from_secs(10);

pub fn run(is_rehearsal: bool, remote_name: Option<&str>, json: Json, context: &Context) -> Result<ExitCode> {
    // Filters of git may be scripts that an agent changed.
    let unfiltered = context.without_filters();
    let context = unfiltered.as_ref().unwrap_or(context);
    let mut findings = vec![git(&context.directory), programs(context)];
    let read = load_here(context, Flags::default());
    let mut found = None;
    match read {
        Ok((project, config)) => {
            findings.push(Finding::fine("settings", "can be read"));
            findings.push(agents(&config, &project.root, context));
            let passed_over =
                passed_over(&project.files, &project.root).filter(|_| config.settings.agent.is_empty());
            let hint = "name one with `agent = \"NAME\"` in .specify/ralph.toml, or --agent NAME";
            findings.extend(passed_over.map(|why| Finding::note("agents", why).with_hint(hint)));
            findings.push(Finding::open("login", "not checked: only a run of an agent shows it"));
            findings.extend(paying_keys(&config, context));
            findings.push(permissions(&config, context));
            findings.push(sandbox(&config, context));
            findings.extend(no_validation(&project, &config));
            findings.extend(template(&project, &config));
            found = Some(config);
        }
        Err(error) => findings.push(Finding::wrong("settings", &error)),
    }
    match context.store() {
        Ok(store) => {
            findings.extend(repository(store, context.work_tree().is_err())?);
            findings.extend(leftovers(store, context.work_tree().ok())?);
            findings.push(feature(context));
            findings.extend(found.as_ref().and_then(|config| approval(config, context)));
            if let Some(config) = &found {
                findings.extend(obstacles(config, context, &findings));
                findings.extend(earlier_work(store, context, config)?);
            }
            findings.extend(found.as_ref().and_then(|config| lane(config, context)));
            findings.extend(found.as_ref().and_then(|config| clean_checkout(config, context)));
            if found.as_ref().is_some_and(|config| config.settings.commit == Commits::OfTasks)
                && context.work_tree().is_ok_and(|here| ralph_engine::check_commits(here).is_ok())
            {
                findings.push(Finding::fine("commits", "each success can be committed"));
            }
            findings.push(disk(store)?);
            findings.push(hooks(context));
            findings.extend(sharing(store)?);
            findings.extend(rehearsal(is_rehearsal, found.as_ref(), context, &findings));
            if let Some(named) = remote_name {
                findings.push(remote(store, context, Some(named).filter(|name| !name.is_empty())));
            }
        }
        Err(error) => findings.push(Finding::wrong("repository", &error)),
    }
    let is_fine = findings.iter().all(|finding| finding.state != Severity::Wrong);
    emit(json, &findings, |out| write(&findings, out, pager::screen(context)))?;
    Ok(if is_fine { ExitCode::Done } else { ExitCode::NotDone })
}

/// Returns the template of the loop, if it is one of the project's.
fn template(project: &Project, config: &Config) -> Vec<Finding> {
    let read = setup::template(project, &config.loop_type).and_then(|template| {
        template.check()?;
        Ok(template)
    });
    match read {
        Ok(template) if template.is_built_in => Vec::new(),
        Ok(template) => {
            let fine = Finding::fine("template", format!("{} can be used", template.origin));
            let notes = template.warnings().into_iter().map(|text| Finding::note("template", text));
            let notes =
                notes.map(|note| note.with_hint("`{{ memory }}` places the memory of earlier iterations"));
            std::iter::once(fine).chain(notes).collect()
        }
        Err(error) => vec![Finding::wrong("template", &error)],
    }
}

/// Checks that the commands of the project's file may run, if there are any.
fn approval(config: &Config, context: &Context) -> Option<Finding> {
    let is_any = config.commands_from_file().next().is_some();
    match trust::refusal(config, context) {
        Ok(None) => is_any.then(|| Finding::fine("trust", "the commands of the settings are approved")),
        Ok(Some(refusal)) => Some(Finding::wrong("trust", &refusal.into())),
        Err(error) => Some(Finding::wrong("trust", &error)),
    }
}

fn git(directory: &Utf8Path) -> Finding {
    let message = match Tool::git(directory).arg("version").line() {
        Err(_) => "git cannot be run".to_owned(),
        Ok(version) => match parse(version.split(' ').nth(2).unwrap_or_default()) {
            Some(found) if found < OLDEST_GIT => format!("{version} cannot sync everything that it writes"),
            _ => return Finding::fine("git", version),
        },
    };
    Finding::new("git", Severity::Wrong, message).with_hint("install git 2.36 or newer")
}

fn parse(version: &str) -> Option<(u32, u32)> {
    let mut numbers = version.split('.').map(|number| number.parse().ok());
    Some((numbers.next()??, numbers.next()??))
}

/// Returns the names that lead to this program.
fn programs(context: &Context) -> Finding {
    let call = Call::of_this_process(&context.environment);
    let found = call.on_path(Program::Specify.name());
    let own = found.first().filter(|program| is_ours(program, &call, context)).map(|_| CANONICAL);
    let git = call.first_on_path(GIT_PROGRAM).map(|_| "git ralph");
    let names: Vec<_> = own.into_iter().chain(git).map(|name| format!("`{name}`")).collect();
    if names.is_empty() {
        return Finding::note(
            "programs",
            format!("neither `git ralph` nor `{CANONICAL}` leads to this program"),
        )
        .with_hint("add its folder to the PATH, for example with `cargo install --path .`");
    }
    let speckit = match found.iter().find(|program| !is_ours(program, &call, context)) {
        Some(program) => format!("`specify` of spec-kit is {}", program.display()),
        None => "spec-kit's `specify` is not on the PATH".to_owned(),
    };
    Finding::fine("programs", format!("{} leads to this program; {speckit}", names.join(" or ")))
}

fn agents(config: &Config, root: &Utf8Path, context: &Context) -> Finding {
    let lookup = context.lookup();
    let listed = ralph_agent::list(&|name| setup::agent_settings(config, name), root, &lookup);
    let usable: Vec<String> = listed
        .iter()
        .filter(|agent| agent.is_installed)
        .map(|agent| format!("{} {}", agent.name, agent.version.as_deref().unwrap_or("-")))
        .collect();
    let own: Vec<&str> = config
        .agents
        .iter()
        .filter(|(_, agent)| agent.command.is_some())
        .map(|(name, _)| name.as_str())
        .collect();
    let finding = match (usable.is_empty(), own.is_empty()) {
        (true, true) => {
            Finding::new("agents", Severity::Wrong, "no known agent can be used, and none is set up")
        }
        (true, false) => Finding::fine("agents", format!("set up here: {}", own.join(", "))),
        (false, _) => Finding::fine("agents", usable.join(", ")),
    };
    Finding { agents: listed, ..finding }
}

/// Says which keys in the environment pay for agents that can sign in instead: of those that are named, else of all.
fn paying_keys(config: &Config, context: &Context) -> Vec<Finding> {
    let lookup = context.lookup();
    let named = &config.settings.agent;
    let names = ralph_agent::names().filter(|name| named.is_empty() || named.iter().any(|one| one == name));
    let settings = names.map(|name| setup::agent_settings(config, name));
    let agents = settings.filter_map(|settings| ralph_agent::build(&settings, &[], &lookup).ok());
    let keys = agents.filter_map(|agent| Some((agent.name().to_owned(), agent.api_key(&lookup)?)));
    keys.map(|(name, words)| {
        Finding::note("account", format!("{name}: {words}")).with_hint("unset it where the login is to pay")
    })
    .collect()
}

/// States what the agent may do: nothing is asked during a run.
fn permissions(config: &Config, context: &Context) -> Finding {
    let full = "the agent runs any command without asking";
    match config.settings.permissions {
        Permissions::Full if config.settings.sandbox.is_some() => {
            Finding::fine("permissions", format!("full: {full}, in the sandbox"))
        }
        // The word of a container for itself.
        Permissions::Full if context.environment.value("IS_SANDBOX").is_some_and(|value| value == "1") => {
            Finding::fine("permissions", format!("full: {full} (IS_SANDBOX=1)"))
        }
        Permissions::Full => {
            let root = ", and you are root, where claude refuses that unless IS_SANDBOX=1 is set";
            Finding::note("permissions", format!("{full}{}", if process::is_root() { root } else { "" }))
                .with_hint("--sandbox, a container or a separate machine, or permissions = \"default\"")
        }
        Permissions::Default => Finding::fine(
            "permissions",
            "default: what the agent's own settings allow; what would need approval is refused",
        ),
        Permissions::ReadOnly => {
            Finding::fine("permissions", "read-only: agents without such an option are refused")
        }
    }
}

/// Says which sandbox keeps agents in here, or would, or what is missing for it.
fn sandbox(config: &Config, context: &Context) -> Finding {
    match (sandbox::look_for(&config.settings, context), config.settings.sandbox.is_some()) {
        (Ok(mechanism), true) => Finding::fine("sandbox", mechanism),
        (Ok(mechanism), false) => Finding::open("sandbox", format!("off; --sandbox would use {mechanism}")),
        (Err(error), true) => Finding::wrong("sandbox", &error),
        (Err(error), false) => {
            let missing = Finding::wrong("sandbox", &error);
            Finding { state: Severity::Note, message: format!("off; {}", missing.message), ..missing }
        }
    }
}

fn repository(store: &Store, is_bare: bool) -> Result<Vec<Finding>> {
    let repository = store.repository();
    let place = format!("{}{}", repository.common_dir, format(store, is_bare)?);
    let mut findings = vec![match &repository.fault {
        Some(fault) => Finding::new("repository", Severity::Wrong, &fault.text).with_hint(fault.command),
        None => Finding::fine("repository", place),
    }];
    let logs = store.session_names()?.len();
    if logs > 0 {
        let message = format!("{} recorded", counted(logs as u64, "session"));
        findings.push(Finding::fine("records", message).with_hint(
            format!("`{RALPH} log` lists them, with plain git: `git log --glob='refs/ralph/*'` (`git log refs/ralph/*` prints nothing)"),
        ));
    }
    for error in store.replaced_records()?.iter().chain(&store.unusable_sessions()?) {
        findings.push(Finding { state: Severity::Note, ..Finding::wrong("records", error) });
    }
    for holder in &sessions::running(store)? {
        let message = format!("session {} runs, process {} on {}", holder.session, holder.pid, holder.host);
        findings.push(Finding::note("loops", message).with_hint(format!("`{RALPH} status` shows more")));
    }
    let loose = loose_objects(store.repository())?;
    if loose >= MIN_LOOSE_TO_PACK {
        let message = format!("about {}, ours and others", counted(loose as u64, "loose object"));
        findings.push(
            Finding::note("objects", message)
                .with_hint("`git maintenance run --task=loose-objects` packs them"),
        );
    }
    Ok(findings)
}

/// Returns what processes left that did not come to their end.
fn leftovers(store: &Store, work_tree: Option<&WorkTree>) -> Result<Vec<Finding>> {
    let repository = store.repository();
    let running = sessions::running(store)?;
    let mut findings = Vec::new();
    for spool in Spool::all(repository)? {
        let session = spool.session();
        let dead = session.filter(|session| running.iter().all(|holder| holder.session != *session));
        if let Some(name) = dead {
            let processes = match work_tree {
                Some(work_tree) => ralph_engine::left_running(work_tree, &name)?,
                None => Vec::new(),
            };
            if !processes.is_empty() {
                let (names, pids): (Vec<String>, Vec<String>) = processes
                    .into_iter()
                    .map(|(pid, program)| (format!("{program} (process {pid})"), pid.to_string()))
                    .unzip();
                let message = format!("session {name} died and left running: {}", names.join(", "));
                findings.push(Finding::note("leftovers", message).with_hint(format!(
                    "the next `{RALPH}` in its work tree stops them; so does `kill {}`",
                    pids.join(" ")
                )));
            }
            let message = format!("session {name} was cut off, and its last iteration is not recorded yet");
            findings.push(Finding::note("leftovers", message).with_hint(format!(
                "the next `{RALPH}` in its work tree records it; `{RALPH} resume` resumes the session"
            )));
        }
    }
    let incoming = store.left_incoming()?.len();
    if incoming > 0 {
        let message = format!("a sync was cut off, and left {}", counted(incoming as u64, "ref"));
        findings.push(
            Finding::note("leftovers", message)
                .with_hint(format!("`{RALPH} fsck --repair` removes them; so does the next sync")),
        );
    }
    // A git that was killed leaves these, and no one may remove them but the user, who knows what runs.
    let locks = [
        work_tree.map_or(&*repository.common_dir, WorkTree::git_dir).join("index.lock"),
        repository.common_dir.join("packed-refs.lock"),
        repository.common_dir.join("packed-refs.new"),
        repository.common_dir.join("objects/maintenance.lock"),
    ];
    for lock in locks.iter().filter(|lock| lock.exists() && running.is_empty()) {
        findings.push(
            Finding::note("leftovers", format!("{lock} exists: a git command is running or was killed"))
                .with_hint(format!("if no git command is running: rm {lock}")),
        );
    }
    Ok(findings)
}

/// Returns which feature a bare `specify ralph` would work on.
fn feature(context: &Context) -> Finding {
    match context.feature(None, None) {
        Ok(feature) => {
            let tasks = tasks::read_if_there(&feature.files, &feature.tasks_path).map(drop);
            match tasks
                .and_then(|()| ralph_engine::check_progress_file(&feature.files, &feature.progress_path))
            {
                Ok(()) => Finding::fine("feature", feature.path),
                Err(error) => Finding::wrong("feature", &error),
            }
        }
        Err(error) => Finding::wrong("feature", &error),
    }
}

/// Says whether a session could work in a lane now. That it could not matters only where the settings ask for one.
fn lane(config: &Config, context: &Context) -> Option<Finding> {
    let feature = context.feature(None, None).ok()?;
    let Err(error) = lane::check(&feature, config, &RunRequest::default(), config.settings.jobs, context)
    else {
        return Some(Finding::fine("lane", "can be made"));
    };
    let finding = Finding::wrong("lane", &error);
    Some(if config.settings.uses_lane() {
        finding
    } else {
        let message = format!("cannot be made now ({})", finding.message);
        Finding { state: Severity::Fine, is_open: true, message, ..finding }
    })
}

/// Says what makes a clean checkout ready, where nothing does.
fn clean_checkout(config: &Config, context: &Context) -> Option<Finding> {
    let target = lane::clean_target(&config.settings, context.work_tree().ok()?, context);
    let (lock, setup) = target.ok()?.err()?;
    let message = "results will not be tried in a clean checkout: it has no dependencies";
    let hint = format!("{lock} suggests `lanes.setup = \"{setup}\"` in .specify/ralph.toml");
    Some(Finding::note("clean", message).with_hint(hint))
}

/// Returns how a repository differs from most, in what matters to a record.
fn format(store: &Store, is_bare: bool) -> Result<String> {
    let repository = store.repository();
    let partial = format!("a partial clone of {}", repository.promisors.join(", "));
    let traits = [
        (repository.hash == HashKind::Sha256, "sha256"),
        (repository.refs == RefFormat::Tables, "reftable"),
        (is_bare, "bare"),
        (repository.is_partial(), &partial),
        (store.is_shallow()?, "shallow"),
        (repository.sharing.is_some(), "shared"),
    ];
    let traits: Vec<_> = traits.into_iter().filter_map(|(is_so, name)| is_so.then_some(name)).collect();
    Ok(if traits.is_empty() { String::new() } else { format!(" ({})", traits.join(", ")) })
}

fn disk(store: &Store) -> Result<Finding> {
    let free = disk_free(&store.repository().common_dir)?;
    let message = match free >> 20 {
        mebibytes @ 0..1024 => format!("{} MiB free", grouped(mebibytes)),
        mebibytes => format!("{} GiB free", grouped(mebibytes >> 10)),
    };
    Ok(match free {
        ..MIN_FREE_BYTES => Finding::new("disk", Severity::Wrong, message)
            .with_hint(format!("an iteration that cannot be recorded ends the loop: free space first (`{RALPH} clean --dry-run` shows what could be freed)")),
        MIN_FREE_BYTES..LOW_FREE_BYTES => Finding::note("disk", message)
            .with_hint(format!("`{RALPH} clean --dry-run` shows what could be freed; `snapshots = false` uses less")),
        LOW_FREE_BYTES.. => Finding::fine("disk", message),
    })
}

fn is_ours(program: &Path, call: &Call, context: &Context) -> bool {
    call.is_ours(program)
        || !program.to_str().is_none_or(outside::runs_open)
            && Tool::new(program, &context.directory)
                .args(["ralph", "--version"])
                .limit(PROBE_TIMEOUT)
                .line()
                .is_ok_and(|version| version.starts_with("specify-ralph "))
}

fn hooks(context: &Context) -> Finding {
    let states = match crate::cli::share::hooks::states(context) {
        Ok(states) => states,
        Err(error) => return Finding { state: Severity::Note, ..Finding::wrong("hooks", &error) },
    };
    let [installed, outdated] = [HookState::Installed, HookState::Outdated].map(|wanted| {
        let names = states.iter().filter(|(_, state)| *state == wanted).map(|(hook, _)| hook.into_str());
        names.collect::<Vec<_>>().join(", ")
    });
    if !outdated.is_empty() {
        return Finding::note("hooks", format!("installed by another version: {outdated}"))
            .with_hint(format!("`{RALPH} hooks install` updates them"));
    }
    if installed.is_empty() {
        return Finding::open("hooks", "not installed")
            .with_hint(format!("`{RALPH} hooks install` marks commits of an iteration"));
    }
    Finding::fine("hooks", installed)
}

/// Settings of git's with which fetching takes away what was not pushed.
/// Returns what git's configuration has for `key`, a line for each value.
fn values_of(key: &str, store: &Store) -> Result<String> {
    let git = Tool::git(&store.repository().common_dir).args(["config", "--get-all", key]);
    git.run().map(|set| String::from_utf8_lossy(&set.stdout).into_owned())
}

fn sharing(store: &Store) -> Result<Vec<Finding>> {
    let mut findings = Vec::new();
    for remote in Remote::names(store.repository())? {
        let fetch = format!("remote.{remote}.fetch");
        let takes = values_of(&fetch, store)?.lines().any(|spec| spec.contains(":refs/ralph"));
        let prunes = [format!("remote.{remote}.prune"), "fetch.prune".to_owned()];
        let prunes = prunes.iter().map(|key| values_of(key, store)).collect::<Result<Vec<_>>>()?;
        // What is set for the remote counts more than what is set for all.
        let prune = prunes.iter().find_map(|set| set.lines().next_back());
        if takes && prune.is_some_and(|value| !matches!(value, "false" | "no" | "off" | "0")) {
            let message = format!(
                "{fetch} brings refs/ralph/*, and pruning is on: a fetch deletes sessions that were not pushed yet"
            );
            findings.push(
                Finding::new("sharing", Severity::Wrong, message).with_hint(format!(
                    "git config --unset-all {fetch} ':refs/ralph', and use `{RALPH} sync`"
                )),
            );
        }
    }
    Ok(findings)
}

/// Checks that a remote is reachable. Only on request: it needs the network.
fn remote(store: &Store, context: &Context, named: Option<&str>) -> Finding {
    let asked = chosen(context, named).and_then(|remote| Ok((store.probe(&remote)?, remote)));
    match asked {
        Ok(((sessions, refused), remote)) if refused.is_empty() => {
            let message =
                format!("{} is reachable, and has {}", remote.place(), counted(sessions as u64, "session"));
            Finding::fine("remote", message).with_hint("its hooks may still refuse a real push")
        }
        Ok(((_, refused), remote)) => Finding::new(
            "remote",
            Severity::Wrong,
            format!("{} does not take {}", remote.place(), refused.join("; ")),
        )
        .with_hint("ask its administrator to allow refs/ralph/*, or share a file that `git bundle` writes"),
        Err(error) => {
            let mut finding = Finding::wrong("remote", &error);
            finding.hint.get_or_insert_with(|| {
                "try `git ls-remote` with it; keys and credentials must work without a prompt".to_owned()
            });
            finding
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_of_git_are_read_as_every_vendor_writes_them() {
        for (text, expected) in [
            ("2.47.3", Some((2, 47))),
            ("2.39.5", Some((2, 39))),
            ("2.51.0.windows.1", Some((2, 51))),
            ("unknown", None),
        ] {
            assert_eq!(parse(text), expected, "{text}");
        }
        assert!(parse("2.9.1").is_some_and(|old| old < OLDEST_GIT));
    }
}

//! What `run` would refuse or warn of, as findings of `doctor`.

use std::iter;

use anyhow::Result;

use ralph_core::config::{Commits, Config};
use ralph_core::record::{RALPH, Scope};
use ralph_git::worktree::MAX_COMPARED;
use ralph_os::process::Interrupt;
use ralph_project::tasks;
use ralph_store::Store;
use ralph_ui::live::Detail;

use super::finding::{Finding, Severity};
use crate::cli::args::Voice;
use crate::cli::refusals;
use crate::cli::start::proposal;
use crate::cli::start::run::start;
use crate::cli::start::setup::{RunRequest, check_list, find_agents, loop_inputs};
use crate::cli::{Context, Project};

/// Nothing checks what agents say they did.
pub(super) fn no_validation(project: &Project, config: &Config) -> Option<Finding> {
    if config.settings.validation_command.is_some() {
        return None;
    }
    let finding = Finding::note("validation", "none is set: nothing checks the agent's word");
    Some(finding.with_hint(proposal::hint(proposal::of(project))))
}

/// Returns what `run` would refuse, as far as `findings` do not say it.
pub(super) fn obstacles(config: &Config, context: &Context, findings: &[Finding]) -> Vec<Finding> {
    let Ok(feature) = context.feature(None, None) else { return Vec::new() };
    // Only what reads the settings can fail here, and that is said already.
    let none = Interrupt::none();
    let Ok(mut inputs) = loop_inputs(config, &feature, context, &none) else { return Vec::new() };
    let list = check_list(config, &feature, &Scope::default()).err();
    let list = list.map(|error| ("feature", error, false)).into_iter();
    let found: Vec<_> = match find_agents(&mut inputs, context) {
        Ok(()) => list.chain(refusals::obstacles(&inputs, context)).collect(),
        Err(error) => {
            let operation = ralph_engine::check_operation(inputs.work_tree).err();
            let operation = operation.map(|error| ("operation", error, true));
            list.chain(iter::once(("agents", error, false))).chain(operation).collect()
        }
    };
    let found = found.iter().map(|(about, error, _)| Finding::wrong(about, error));
    found.filter(|one| !is_said(one, findings)).collect()
}

/// Returns what earlier sessions did that is in no commit, and the work tree has otherwise than they left it: no commit of a task can
/// have it.
pub(super) fn earlier_work(store: &Store, context: &Context, config: &Config) -> Result<Vec<Finding>> {
    let settings = &config.settings;
    let (Ok(feature), Ok(work_tree)) = (context.feature(None, None), context.work_tree()) else {
        return Ok(Vec::new());
    };
    if settings.commit != Commits::OfTasks || settings.uses_lane() {
        return Ok(Vec::new());
    }
    // A list that cannot be read is said already.
    let Ok(list) = tasks::read(&feature.files, &feature.tasks_path) else { return Ok(Vec::new()) };
    let mut findings = Vec::new();
    for (mut files, refusal) in ralph_engine::earlier_work(store, work_tree, &feature, &list)? {
        files.truncate(MAX_COMPARED);
        if work_tree.unchanged_since(&files)?.len() < files.len() {
            findings.push(Finding::wrong("commits", &refusal.into()));
        }
    }
    Ok(findings)
}

/// Returns true if a finding is among others already, which may be about something else.
fn is_said(finding: &Finding, findings: &[Finding]) -> bool {
    findings.iter().any(|known| known.state == Severity::Wrong && known.message == finding.message)
}

/// Does all that a start does before its first attempt and its first record, if that is wanted and nothing is in the way.
pub(super) fn rehearsal(
    is_wanted: bool,
    config: Option<&Config>,
    context: &Context,
    findings: &[Finding],
) -> Option<Finding> {
    let has_validation = findings.iter().all(|finding| finding.about != "validation");
    if !is_wanted {
        let words = format!("not run: `{RALPH} doctor --run` does all checks of a start");
        return has_validation.then(|| Finding::open("validation", words));
    }
    let is_blocked = findings.iter().any(|finding| finding.state == Severity::Wrong);
    let Some(config) = config.filter(|_| !is_blocked) else {
        return Some(Finding::open("validation", "not run: what is to fix comes first"));
    };
    let request = RunRequest { is_rehearsal: true, ..RunRequest::default() };
    let voice = Voice { is_json: false, detail: Detail::Quiet, paint: context.paint };
    let started = context.feature(None, None);
    let started = started.and_then(|feature| start(&feature, &request, config, context, voice));
    Some(match started {
        Ok(_) => Finding::fine("start", "would be possible: the validation and the agent were tried"),
        Err(error) => Finding::wrong("start", &error),
    })
}

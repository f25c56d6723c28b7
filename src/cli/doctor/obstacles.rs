//! What `run` would refuse or warn of, as findings of `doctor`.

use std::iter;

use ralph_core::config::Config;
use ralph_core::record::Scope;
use ralph_store::Store;

use super::super::proposal;
use super::super::setup::{Ready, Settings};
use super::super::{Context, Flags, Project};
use super::finding::{Finding, Severity};

/// Nothing checks what agents say they did.
pub(super) fn no_validation(project: &Project, config: &Config) -> Option<Finding> {
    if config.settings.validation_command.is_some() {
        return None;
    }
    let finding = Finding::note("validation", "none is set: nothing checks the agent's word");
    Some(finding.with_hint(proposal::hint(proposal::of(project))))
}

/// Returns what `run` would refuse, as far as `findings` do not say it.
pub(super) fn obstacles(store: &Store, context: &Context, findings: &[Finding]) -> Vec<Finding> {
    let (Ok(feature), Ok(work_tree)) = (context.feature(None, None), context.work_tree()) else {
        return Vec::new();
    };
    let settings = match Settings::read(&feature, context, Flags::default(), &Scope::default()) {
        Ok(settings) => settings,
        // A task list is what is made next, where all else is in order.
        Err(_) if findings.iter().any(|finding| finding.state == Severity::Wrong) => return Vec::new(),
        Err(error) => return vec![Finding { state: Severity::Note, ..Finding::wrong("feature", &error) }],
    };
    let found = match Ready::new(settings, true, context) {
        Ok(ready) => ready.obstacles(store, work_tree, &feature, context),
        Err(error) => {
            let operation = ralph_engine::check_operation(work_tree).err();
            let operation = operation.map(|error| ("operation", error, true));
            iter::once(("agents", error, false)).chain(operation).collect()
        }
    };
    let known: Vec<_> =
        findings.iter().filter(|finding| finding.state == Severity::Wrong).map(|known| known.about).collect();
    let found = found.iter().filter(|(about, ..)| !known.contains(about));
    found.map(|(about, error, _)| Finding::wrong(about, error)).collect()
}

//! Reports of tests that the validation writes into files (`validation.report`).

use anyhow::{Context as _, Result};
use failure_excerpt::{NamedTest, Tally, read_report};
use redact_stream::Redactor;

use ralph_core::record::join_files;
use ralph_git::worktree::WorkTree;
use ralph_project::project_files::ProjectFiles;
use ralph_store::{Slot, names};

use super::begin::pathspecs;
use super::loop_inputs::LoopInputs;
use super::recorder::Recorder;

/// Maximum number of reports of one run, and largest size of one and of all, in bytes.
const MAX_REPORTS: usize = 1000;
const MAX_REPORT_BYTES: u64 = 8 << 20;
const MAX_ALL_BYTES: usize = 64 << 20;

/// Maximum number of files that a message names.
const MAX_NAMED: usize = 3;

/// Returns the tests of the reports that the validation wrote which began at `began`; `None` if `validation.report` is not set. One that
/// it did not write is of an earlier run, or an agent's.
pub(super) fn read_reports(
    inputs: &LoopInputs<'_>,
    recorder: &Recorder<'_>,
    began: Option<(i64, i64)>,
) -> Option<Result<Vec<NamedTest>>> {
    let globs = &inputs.config.settings.validation_report;
    if globs.is_empty() {
        return None;
    }
    let globs = pathspecs(inputs.work_tree, &inputs.project_root, globs);
    let began = began.context("when the validation began is not known");
    let (work_tree, files) = (recorder.work_tree(), &inputs.feature.files);
    Some(began.and_then(|began| reported(work_tree, files, &globs, began, recorder.redactor())))
}

/// Returns the tests of the reports that match, as a validation wrote them which began at `began`, by the times of files. `globs` are
/// pathspecs.
pub(super) fn reported(
    work_tree: &WorkTree,
    files: &ProjectFiles,
    globs: &[String],
    began: (i64, i64),
    redactor: &Redactor,
) -> Result<Vec<NamedTest>> {
    let mut paths = work_tree.matching(globs)?;
    paths.sort();
    paths.dedup();
    let is_old = |path: &String| work_tree.changed_at(path.as_bytes()).is_none_or(|at| at < began);
    let (old, new): (Vec<_>, Vec<_>) = paths.into_iter().partition(is_old);
    anyhow::ensure!(new.len() <= MAX_REPORTS, "there are {} reports", new.len());
    if new.is_empty() {
        let old =
            if old.is_empty() { String::new() } else { format!(" (older: {})", join_files(&old, MAX_NAMED)) };
        anyhow::bail!("the validation wrote no such file{old}");
    }
    let (mut tests, mut bytes) = (Vec::new(), 0);
    for path in new {
        let read = files.read(&work_tree.top().join(&path), MAX_REPORT_BYTES);
        let read = read.with_context(|| format!("read {path}"))?;
        bytes += read.len();
        anyhow::ensure!(bytes <= MAX_ALL_BYTES, "the reports are too large");
        let report = read_report(&String::from_utf8_lossy(&read));
        tests.extend(report.with_context(|| format!("{path} is no whole JUnit XML or CTRF report"))?);
    }
    for test in &mut tests {
        test.name = redactor.redact_text(&test.name).0;
    }
    Ok(tests)
}

/// Keeps the names of the tests for the record, where all are known.
pub(super) fn keep_named_tests(slot: &Slot, tests: &Tally) -> Result<()> {
    if tests.named.is_empty() {
        return Ok(());
    }
    slot.write(names::VALIDATION_TESTS, &serde_json::to_vec(&tests.named)?)
}

//! `specify ralph rebuild`: progress.txt from the refs alone, or the proof that it is what they say.

use std::io::{self, Write};

use anyhow::{Context as _, Result, bail};
use camino::{Utf8Path, Utf8PathBuf};
use clap::Args;
use serde::Serialize;

use ralph_core::progress::progress_txt::{self, Difference};
use ralph_core::record::{RALPH, SessionId};
use ralph_git::worktree::WorkTree;
use ralph_os::if_there::IfThere;
use ralph_project::project_files::{MAX_PROGRESS_BYTES, ProjectFiles, Refused, explain, refused};
use ralph_store::{SessionLog, SessionQuery, Store, folders, last_written, stays_inside};
use ralph_ui::style::one_line;

use crate::cli::args::ReadArgs;
use crate::cli::read::sessions;
use crate::cli::start::lane;
use crate::cli::start::trust::load_to_read;
use crate::cli::{Context, ExitCode, SessionChoice, emit, note, warn};

#[derive(Debug, Args)]
pub struct RebuildArgs {
    /// Write nothing; exit 1 if progress.txt differs from the record
    #[arg(long)]
    pub check: bool,
    /// All known sessions instead of the last one
    #[arg(long, conflicts_with_all = ["check", "session"])]
    pub all: bool,
    #[command(flatten)]
    pub read: ReadArgs,
}

/// progress.txt, and what the record says it should be.
struct Journal<'a> {
    store: &'a Store,
    work_tree: &'a WorkTree,
    log: SessionLog,
    files: ProjectFiles,
    path: Utf8PathBuf,
    rebuilt: Vec<u8>,
    found: Option<Vec<u8>>,
    /// As found, after redaction: what people wrote there may hold what the record must not.
    plain: Option<Vec<u8>>,
}

pub fn run(args: &RebuildArgs, context: &Context) -> Result<ExitCode> {
    let journal = load(&args.read.choice, args.all, context)?;
    let report = if args.check { journal.check()? } else { journal.write()? };
    if args.check && journal.note_foreign(&report)? {
        emit(args.read.json, &report, |_| io::Result::Ok(()))?;
        return Ok(ExitCode::Done);
    }
    emit(args.read.json, &report, |out| report.write(out))?;
    Ok(if !args.check || report.state.is_right() { ExitCode::Done } else { ExitCode::NotDone })
}

/// Says how progress.txt differs from the record, and rewrites it if asked to.
pub fn settle(read: &ReadArgs, context: &Context, is_repair: bool) -> Result<Option<String>> {
    if read.choice.is_open() && is_without_session(context)? {
        return Ok(None);
    }
    let journal = load(&read.choice, false, context)?;
    if lane::branch_of(context.store()?, Some(&journal.log)).is_some() {
        // It wrote none in this work tree.
        return Ok(None);
    }
    let path = one_line(journal.path.as_str());
    let report = journal.report();
    if journal.note_foreign(&report)? {
        return Ok(None);
    }
    let message = match report.state {
        FileState::Equal | FileState::Added | FileState::Patterns => return Ok(None),
        FileState::Missing => format!("{path} is missing"),
        FileState::Differs => format!("{path} differs from the record of session {}", journal.log.id()),
    };
    if is_repair {
        journal.write()?;
    }
    Ok(Some(message))
}

/// Returns true if no session is recorded of the feature that is worked on here.
fn is_without_session(context: &Context) -> Result<bool> {
    let Ok(feature) = context.feature(None, None) else { return Ok(false) };
    Ok(sessions::newest_of(context.store()?, SessionQuery::of_feature(&feature.path))?.is_none())
}

fn load<'a>(choice: &SessionChoice, is_of_all: bool, context: &'a Context) -> Result<Journal<'a>> {
    let store = context.store()?;
    let log = picked(choice, context, store)?;
    if !log.is_whole() {
        bail!("the beginning of session {} is not here, so nothing can be rebuilt from it", log.id());
    }
    let work_tree = context.work_tree()?;
    let files = work_tree.project_files()?;
    let path = journal_path(store, &log, &files)?;
    let redactor = ralph_engine::redactor(&load_to_read(context)?.settings)?;
    let found = read(&files, &path)?;
    let plain = found.as_ref().map(|found| redactor.redact_bytes(found).0);
    let rebuilt = if is_of_all {
        let feature = Some(log.feature().to_owned());
        let logs = sessions::chosen(store, &SessionChoice { session: None, feature })?;
        ralph_engine::rebuilt_of_all(store, &logs)?
    } else {
        ralph_engine::expected_progress(store, &log)?
    };
    Ok(Journal { store, work_tree, log, files, path, rebuilt, found, plain })
}

/// Returns the session last written from this work tree, else the newest; of the feature that is asked for.
fn picked(choice: &SessionChoice, context: &Context, store: &Store) -> Result<SessionLog> {
    if !choice.is_open() {
        return sessions::latest(store, choice);
    }
    let Ok(feature) = context.feature(None, None) else {
        return sessions::latest(store, choice);
    };
    if let Some(refs) = last_written(context.work_tree()?, &feature.path)?
        && let Some(log) = store.session(&refs)?
    {
        return Ok(log);
    }
    if let Some(log) = sessions::newest_of(store, SessionQuery::of_feature(&feature.path))? {
        return Ok(log);
    }
    // If nothing at all is recorded, that is what there is to say.
    sessions::latest(store, choice)?;
    bail!(
        "no session of {} is recorded here\nhint: `{RALPH} log --sessions` lists those that are",
        one_line(&feature.path)
    )
}

/// progress.txt is beside the task list.
fn journal_path(store: &Store, log: &SessionLog, files: &ProjectFiles) -> Result<Utf8PathBuf> {
    let begun = store.first_readable_session(log);
    let tasks = begun
        .with_context(|| format!("no record of session {} names its task list", log.id()))?
        .artifact
        .path;
    let folder = Utf8Path::new(&tasks).parent().unwrap_or(Utf8Path::new(""));
    // A ref may come from anybody: what it names is only ever used below the top of this work tree.
    if !stays_inside(folder.as_str()) {
        let folder = one_line(folder.as_str());
        bail!("session {} names a folder outside of the repository: {folder}", log.id());
    }
    Ok(files.top().join(folder).join("progress.txt"))
}

fn read(files: &ProjectFiles, path: &Utf8Path) -> Result<Option<Vec<u8>>> {
    match files.read(path, MAX_PROGRESS_BYTES).if_there() {
        Err(error) if matches!(refused(&error), Some(Refused::Directory | Refused::NotAFile(_))) => {
            bail!("{path} is not a regular file\nhint: move it away; the loop writes progress.txt there")
        }
        read => read.map_err(|error| explain("read", path, error)),
    }
}

impl Journal<'_> {
    fn report(&self) -> RebuildReport<'_> {
        let patterned =
            self.plain.as_ref().and_then(|found| progress_txt::with_patterns_of(found, &self.rebuilt));
        let expected = patterned.as_ref().unwrap_or(&self.rebuilt);
        let state = match &self.plain {
            None => FileState::Missing,
            Some(found) if *found == self.rebuilt => FileState::Equal,
            Some(found) if found.starts_with(&self.rebuilt) => FileState::Added,
            Some(found) if found.starts_with(expected) => FileState::Patterns,
            Some(_) => FileState::Differs,
        };
        let found = self.plain.as_ref().filter(|_| state == FileState::Differs);
        RebuildReport {
            session: self.log.id(),
            path: &self.path,
            state,
            bytes: self.rebuilt.len(),
            added: self.plain.as_ref().map_or(0, |found| found.len().saturating_sub(self.rebuilt.len())),
            difference: found.and_then(|found| progress_txt::first_difference(expected, found)),
            action: RebuildAction::Checked,
            kept: None,
        }
    }

    /// Says of a file that no loop in this work tree wrote, and that differs, where its session comes from: `sync` brings records
    /// alone. Returns false of any other.
    fn note_foreign(&self, report: &RebuildReport<'_>) -> Result<bool> {
        if report.state.is_right() || self.is_written_here()? {
            return Ok(false);
        }
        let path = one_line(self.path.as_str());
        note(format_args!(
            "no loop in this work tree wrote {path}: session {} came from elsewhere; `{RALPH} rebuild` writes the file",
            self.log.id()
        ));
        Ok(true)
    }

    fn is_written_here(&self) -> Result<bool> {
        Ok(last_written(self.work_tree, self.log.feature())?.is_some())
    }

    fn check(&self) -> Result<RebuildReport<'_>> {
        if let Some(found) = self.plain.as_ref().filter(|_| self.is_written_here().unwrap_or(true)) {
            self.mention_others(found)?;
        }
        Ok(self.report())
    }

    /// Sessions of the same feature that the file does not name: they came from elsewhere, and change nothing.
    fn mention_others(&self, found: &[u8]) -> Result<()> {
        let text = String::from_utf8_lossy(found);
        let choice = SessionChoice { session: None, feature: Some(self.log.feature().to_owned()) };
        for other in sessions::chosen(self.store, &choice)? {
            if !text.contains(other.id().as_str()) {
                let message = format!(
                    "session {} is recorded, but {} does not name it",
                    other.id(),
                    one_line(self.path.as_str())
                );
                warn(&message);
            }
        }
        Ok(())
    }

    fn write(&self) -> Result<RebuildReport<'_>> {
        let mut report = self.report();
        report.action = RebuildAction::Left;
        if report.state.is_right() {
            return Ok(report);
        }
        match &self.found {
            Some(found) => {
                report.kept = Some(folders::keep_text(self.store.repository(), "progress.txt", found)?);
            }
            None => {
                if let Some(folder) = self.path.parent() {
                    self.files.create_dir_all(folder).map_err(|error| explain("create", folder, error))?;
                }
            }
        }
        let kept = self.found.as_ref().and_then(|found| progress_txt::with_patterns_of(found, &self.rebuilt));
        // In place, so that open editors see it.
        let written = self.files.overwrite(&self.path, kept.as_ref().unwrap_or(&self.rebuilt));
        written.map_err(|error| explain("write", &self.path, error))?;
        report.action = RebuildAction::Written;
        Ok(report)
    }
}

/// What was found, and what was done about it.
#[derive(Debug, Serialize)]
struct RebuildReport<'a> {
    session: &'a SessionId,
    path: &'a Utf8Path,
    /// Of the file, before anything was done.
    state: FileState,
    /// Length of the journal by the record.
    bytes: usize,
    /// How much longer the file was.
    added: usize,
    difference: Option<Difference>,
    action: RebuildAction,
    /// Where the file is now that was overwritten.
    kept: Option<Utf8PathBuf>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
enum FileState {
    Missing,
    Equal,
    /// Equal, with text after it that is of no record.
    Added,
    /// The same except for the patterns, which were edited since; there may be text after it.
    Patterns,
    Differs,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
enum RebuildAction {
    Checked,
    /// The file said what the record says.
    Left,
    Written,
}

impl FileState {
    /// Returns true if the file says what the record says.
    fn is_right(self) -> bool {
        matches!(self, Self::Equal | Self::Added | Self::Patterns)
    }
}

impl RebuildReport<'_> {
    fn write(&self, out: &mut impl Write) -> io::Result<()> {
        let Self { session, bytes, added, .. } = self;
        let path = one_line(self.path.as_str());
        match (self.action, self.state) {
            (RebuildAction::Written, _) => match &self.kept {
                Some(kept) => writeln!(out, "wrote {path}; what it held before is kept in {kept}")?,
                None => writeln!(out, "wrote {path}")?,
            },
            (RebuildAction::Left, FileState::Added) => {
                writeln!(out, "{path} matches the record; the text added since stays")?;
            }
            (RebuildAction::Left, FileState::Patterns) => {
                writeln!(out, "{path} matches the record; the patterns written since stay")?;
            }
            (RebuildAction::Left, _) => writeln!(out, "{path} matches the record")?,
            (RebuildAction::Checked, FileState::Missing) => {
                writeln!(out, "{path} is missing; session {session} has {bytes} bytes of it")?;
            }
            (RebuildAction::Checked, FileState::Equal) => {
                writeln!(out, "{path} matches the record of session {session}, {bytes} bytes")?;
            }
            (RebuildAction::Checked, FileState::Added) => {
                writeln!(
                    out,
                    "{path} matches the record of session {session}; {added} bytes were added since"
                )?;
            }
            (RebuildAction::Checked, FileState::Patterns) => writeln!(
                out,
                "{path} matches the record of session {session}, but for its patterns, which were changed since"
            )?,
            (RebuildAction::Checked, FileState::Differs) => {
                writeln!(out, "{path} differs from the record of session {session}")?;
                if let Some(Difference { line, expected, found }) = &self.difference {
                    writeln!(out, "line {line}:")?;
                    writeln!(out, "  record  {}", shown(expected.as_deref()))?;
                    writeln!(out, "  file    {}", shown(found.as_deref()))?;
                }
                note(format_args!("hint: `{RALPH} rebuild` writes the file anew and keeps the old one"));
            }
        }
        Ok(())
    }
}

fn shown(line: Option<&str>) -> String {
    line.map_or("(the end)".to_owned(), one_line)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_difference_is_reported_in_words_and_in_json() {
        let session: SessionId = "20261121-204512-3f9a0c1d".parse().unwrap();
        let report = RebuildReport {
            session: &session,
            path: Utf8Path::new("/p/progress.txt"),
            state: FileState::Differs,
            bytes: 7,
            added: 0,
            difference: Some(Difference { line: 2, expected: Some("one".to_owned()), found: None }),
            action: RebuildAction::Checked,
            kept: None,
        };
        let mut out = Vec::new();
        report.write(&mut out).unwrap();
        assert_eq!(
            String::from_utf8(out).unwrap(),
            "/p/progress.txt differs from the record of session 20261121-204512-3f9a0c1d\n\
             line 2:\n  record  one\n  file    (the end)\n"
        );
        assert_eq!(
            serde_json::to_value(&report).unwrap(),
            serde_json::json!({
                "session": "20261121-204512-3f9a0c1d", "path": "/p/progress.txt", "state": "differs", "bytes": 7,
                "added": 0, "difference": {"line": 2, "record": "one", "file": null}, "action": "checked",
                "kept": null
            })
        );
    }
}

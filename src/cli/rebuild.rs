//! `specify ralph rebuild`: progress.txt from the refs alone, or the proof that it is what they say.

use std::io::{Write, stderr};

use anyhow::{Context, Result, bail};
use camino::{Utf8Path, Utf8PathBuf};

use crate::progress::journal;
use crate::redact::Redactor;
use crate::session;
use crate::store::{SessionLog, Store};
use crate::view::style::one_line;

use super::caller::Caller;
use super::exit_code::ExitCode;
use super::output::{stdout, warn};
use super::sessions::{self, Choice};
use super::{RebuildArgs, place};

/// progress.txt, and what the record says it should be.
struct Journal {
    store: Store,
    log: SessionLog,
    path: Utf8PathBuf,
    rebuilt: Vec<u8>,
    found: Option<Vec<u8>>,
    /// As found, after redaction: what people wrote there may hold what the record must not.
    plain: Option<Vec<u8>>,
}

pub fn run(args: &RebuildArgs, caller: &Caller) -> Result<ExitCode> {
    let store = place::open(caller)?;
    let log = picked(args, caller, &store)?;
    let path = journal_path(&store, &log)?;
    let redactor = redactor(caller, &store)?;
    let found = read(&path)?;
    let plain = found.as_ref().map(|found| redactor.redact_bytes(found).0);
    let rebuilt = if args.all {
        let feature = Some(log.feature().to_owned());
        let logs = sessions::chosen(&store, &Choice { session: None, feature })?;
        session::rebuilt_of_all(&store, &logs)?
    } else {
        session::expected_progress(&store, &log)?
    };
    let journal = Journal { store, log, path, rebuilt, found, plain };
    let mut out = stdout();
    let code = if args.check { journal.check(&mut out)? } else { journal.write(&mut out)? };
    out.flush()?;
    Ok(code)
}

/// The session last written from this work tree, else the newest; of the feature that is asked for.
fn picked(args: &RebuildArgs, caller: &Caller, store: &Store) -> Result<SessionLog> {
    let flags = &args.read;
    if flags.session.is_some() || flags.feature.is_some() {
        let choice = Choice { session: flags.session.clone(), feature: flags.feature.clone() };
        return sessions::latest(store, &choice);
    }
    let Ok(feature) = place::feature(caller, store, None, None) else {
        return sessions::latest(store, &Choice::default());
    };
    if let Some(refs) = store.last_written(&feature.path)?
        && let Some(log) = store.session(&refs)?
    {
        return Ok(log);
    }
    sessions::latest(store, &Choice { session: None, feature: Some(feature.path) })
}

/// progress.txt stands beside the task list.
fn journal_path(store: &Store, log: &SessionLog) -> Result<Utf8PathBuf> {
    let top = store.repository().work_tree()?;
    let start = log.entries.first().context("find the start of the session")?;
    let tasks = store.session_json(start)?.artifact.path;
    let folder = Utf8Path::new(&tasks).parent().unwrap_or(Utf8Path::new(""));
    // A ref may come from anybody: what it names is only ever used below the top of this work tree.
    let is_inside = folder.components().all(|part| matches!(part, camino::Utf8Component::Normal(_)));
    if !is_inside {
        bail!("session {} names a folder outside of the repository: {folder}", log.id());
    }
    Ok(top.join(folder).join("progress.txt"))
}

fn redactor(caller: &Caller, store: &Store) -> Result<Redactor> {
    let top = store.repository().work_tree()?;
    let root = crate::feature::project_root(&caller.directory, top);
    let config = super::settings::load(&root, caller, super::settings::Flags::default())?;
    Redactor::new(&config.redaction.rules, &config.redaction.allow)
}

fn read(path: &Utf8Path) -> Result<Option<Vec<u8>>> {
    match std::fs::read(path) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error).with_context(|| format!("read {path}")),
    }
}

impl Journal {
    fn check(&self, out: &mut impl Write) -> Result<ExitCode> {
        let Self { log, path, rebuilt, .. } = self;
        let Some(found) = &self.plain else {
            writeln!(out, "{path} is missing; session {} has {} bytes of it", log.id(), rebuilt.len())?;
            return Ok(ExitCode::NotDone);
        };
        self.mention_others(found)?;
        if found == rebuilt {
            writeln!(out, "{path} equals the record of session {}, {} bytes", log.id(), rebuilt.len())?;
            return Ok(ExitCode::Done);
        }
        if found.starts_with(rebuilt) {
            let added = found.len() - rebuilt.len();
            writeln!(
                out,
                "{path} equals the record of session {}; {added} bytes were added since",
                log.id()
            )?;
            return Ok(ExitCode::Done);
        }
        writeln!(out, "{path} differs from the record of session {}", log.id())?;
        if let Some(difference) = journal::difference(rebuilt, found) {
            let shown = |line: Option<String>| line.map_or("(the end)".to_owned(), |line| one_line(&line));
            writeln!(out, "line {}:", difference.line)?;
            writeln!(out, "  record  {}", shown(difference.expected))?;
            writeln!(out, "  file    {}", shown(difference.found))?;
        }
        let hint = "hint: `specify ralph rebuild` writes the file anew and keeps the old one";
        let _closed = writeln!(stderr(), "{hint}").is_err();
        Ok(ExitCode::NotDone)
    }

    /// Sessions of the same feature that the file does not name: they came from elsewhere, and change nothing.
    fn mention_others(&self, found: &[u8]) -> Result<()> {
        let text = String::from_utf8_lossy(found);
        let choice = Choice { session: None, feature: Some(self.log.feature().to_owned()) };
        for other in sessions::chosen(&self.store, &choice)? {
            if !text.contains(other.id().as_str()) {
                let message =
                    format!("session {} is recorded, but {} does not name it", other.id(), self.path);
                warn(&message, &mut stderr());
            }
        }
        Ok(())
    }

    fn write(&self, out: &mut impl Write) -> Result<ExitCode> {
        let Self { path, rebuilt, .. } = self;
        match (&self.found, &self.plain) {
            (Some(_), Some(plain)) if plain == rebuilt => writeln!(out, "{path} is what the record says")?,
            (Some(_), Some(plain)) if plain.starts_with(rebuilt) => {
                writeln!(out, "{path} is what the record says; the text added since stays")?;
            }
            (Some(found), Some(_)) => {
                let kept = self.store.keep("progress.txt", found)?;
                overwrite(path, rebuilt)?;
                writeln!(out, "wrote {path}; what it held before is kept in {kept}")?;
            }
            _ => {
                if let Some(folder) = path.parent() {
                    std::fs::create_dir_all(folder).with_context(|| format!("create {folder}"))?;
                }
                overwrite(path, rebuilt)?;
                writeln!(out, "wrote {path}")?;
            }
        }
        Ok(ExitCode::Done)
    }
}

/// In place, so that open editors see it.
fn overwrite(path: &Utf8Path, bytes: &[u8]) -> Result<()> {
    std::fs::write(path, bytes).with_context(|| format!("write {path}"))
}

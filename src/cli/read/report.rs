//! `specify ralph report`: a session as a page, as a summary for a pull request, or as data.

use std::thread;

use anyhow::{Context as _, Result, anyhow};
use redact_stream::Redactor;
use tasklist::TaskList;

use ralph_agent::answer::{answer, recorded_parser};
use ralph_core::record::{ObjectId, Outcome, Parser, RALPH_BY_PATH, RALPH_ELSEWHERE, Session, Status};
use ralph_store::{
    Ask, Control, FeatureFiles, FilePart, RecordReader, SessionLog, Spool, Store, TOO_LARGE, slug,
};
use ralph_ui::json::write_pretty;
use ralph_ui::report::{
    Diff, Limits, LiveSession, MAX_SUMMARY_CHARS, Medium, Report, ReportIteration, SessionChanges, Text,
    page, write_markdown,
};

use crate::cli::read::report_output::{Destination, ReportArgs};
use crate::cli::read::session_changes::{ends, redacted, uncommitted};
use crate::cli::read::work::{self, Range};
use crate::cli::read::{patches, report_sessions, sessions};
use crate::cli::start::summary;
use crate::cli::start::trust::load_to_read;
use crate::cli::{Context, ExitCode, warn};

/// Bytes of the transcripts of all iterations that are looked through for the agent's last words.
const TRANSCRIPTS: usize = 64 << 20;
/// Most of one transcript.
const TRANSCRIPT: usize = 512 << 10;
/// The end of an output that nothing is wrong with.
const GOOD_OUTPUT: usize = 1500;
/// The least that is read of a text, whatever the size of the page.
const MIN_TEXT_BYTES: usize = 2 << 10;

pub fn run(args: &ReportArgs, context: &Context) -> Result<ExitCode> {
    let store = context.store()?;
    if args.all {
        return report_sessions::write_index(args, context, store);
    }
    let log = sessions::with_group(store, &sessions::latest(store, &args.choice)?)?;
    let name = format!("{}-{}", slug(log.feature()), log.id());
    let destination = Destination::find(args, context, &name)?;
    let [max_size, max_part] =
        [args.max_size, args.max_part].map(|bytes| usize::try_from(bytes).unwrap_or(usize::MAX));
    let limits = Limits { max_size, max_part };
    let report = read(store, &log, context, limits, args.json.json, !args.markdown)?;
    let mut bytes = Vec::new();
    if args.json.json {
        write_pretty(&mut bytes, &report)?;
    } else if args.markdown {
        let tasks = task_list(&store.reader()?, &log);
        let logs = std::slice::from_ref(&log);
        let range =
            Range { logs, before: TaskList::default(), tasks, ends: ends(store, &log)?, commits: &[] };
        let work = work::of(range, context)?;
        write_markdown(&mut bytes, &report, &work, &redactor(context), MAX_SUMMARY_CHARS)?;
    } else {
        bytes = page(&report, limits, Medium::File)?.into_bytes();
        if bytes.len() > limits.max_size {
            let least = bytes.len().div_ceil(1024);
            warn(&format!("the page takes {least} KiB without any text of an iteration"));
        }
    }
    destination.deliver(&bytes)
}

/// Reads all that a report says of a session. `is_data`: all is written that was read, whatever the size.
pub fn read(
    store: &Store,
    log: &SessionLog,
    context: &Context,
    limits: Limits,
    is_data: bool,
    has_texts: bool,
) -> Result<Report> {
    let running = sessions::running(store)?;
    let view = log.view();
    let is_running = running.iter().any(|holder| view.sessions().any(|id| *id == holder.session));
    let session = sessions::describe(store, log, &running).with_context(|| {
        if log.is_whole() {
            "read the session".to_owned()
        } else {
            format!("this clone has neither the start nor the end of session {}", log.id())
        }
    })?;
    let (_, elsewhere) = sessions::status(store, log, &running);
    let is_running = is_running && session.status == Status::Running;
    let begin =
        Spool::in_flight(store.repository(), log.id()).filter(|_| is_running && view.lanes.is_empty());
    let workers = view.lanes.iter().filter(|(id, _)| running.iter().any(|holder| holder.session == *id));
    let workers = workers.filter(|_| is_running);
    let workers = workers.map(|(id, lane)| (id.clone(), *lane, Spool::in_flight(store.repository(), id)));
    let waits = view.sessions().map(|id| Control::of(store.repository(), id).waiting());
    // Of a group, one that works is what matters.
    let waiting = waits.collect::<Option<Vec<_>>>().unwrap_or_default().into_iter().next();
    let waiting = waiting.filter(|_| is_running);
    let workers = workers.collect();
    let reader = store.reader()?;
    let count = log.iterations().count().max(1);
    // What no page of that size can hold need not be read.
    let most = if is_data {
        limits.max_part
    } else {
        (limits.max_size / count).saturating_mul(4).clamp(MIN_TEXT_BYTES, limits.max_part.max(MIN_TEXT_BYTES))
    };
    let reading = Reading {
        reader: &reader,
        session: &session,
        most,
        transcript: (TRANSCRIPTS / count).min(TRANSCRIPT),
        redactor: redactor(context),
        own: store.files_of(log),
    };
    let mut unreadable = Vec::new();
    let mut iterations = reading.records(log, &mut unreadable);
    if has_texts {
        reading.contents(&mut iterations, store, log)?;
    }
    let is_page = has_texts && !is_data;
    let max_patch = if is_page { limits.max_patches() } else { 0 };
    // Without texts it is a summary, which counts what changed on its own.
    let changes =
        if has_texts { reading.changes(&iterations, store, log, context, max_patch)? } else { None };
    let (changes, uncommitted) = changes.unzip();
    let of_feature = sessions::tips(store)?.into_iter().filter(|(_, feature)| feature == log.feature());
    let latest = of_feature.map(|(session, _)| session).max();
    let is_latest = latest.is_none_or(|latest| view.sessions().any(|id| *id == latest));
    let first = &log.entries[0];
    let tasks = task_list(&reader, log);
    let summary = summary::of_feature(context, log.feature(), Some(&view))?;
    let not_done = view.not_done(&tasks);
    let running = LiveSession { begin, waiting, elsewhere, workers };
    Ok(Report {
        is_whole: log.is_whole(),
        open_before: first.tasks().open + first.closed().len(),
        changes,
        uncommitted: uncommitted.flatten(),
        is_latest,
        unreadable,
        ..Report::new(session, summary, &tasks, not_done, iterations, running, context.now()?)
    })
}

/// Returns the rules of the project, or those that we bring along where its settings cannot be read.
pub fn redactor(context: &Context) -> Redactor {
    load_to_read(context).and_then(|config| ralph_engine::redactor(&config.settings)).unwrap_or_default()
}

/// Snapshots hold the user's files as they are, and a report is for others.
fn without_secrets(redactor: &Redactor, mut patch: Text) -> Text {
    // Of a secret that is cut in two, the first half would not be found.
    if let Some(end) = patch.text.rfind('\n').filter(|_| patch.is_cut) {
        patch.text.truncate(end);
    }
    patch.text = redactor.redact_text(&patch.text).0;
    patch
}

/// Reads iterations, so much of each text.
struct Reading<'a> {
    reader: &'a RecordReader<'a>,
    session: &'a Session,
    most: usize,
    transcript: usize,
    redactor: Redactor,
    /// What the loop itself writes.
    own: FeatureFiles,
}

impl Reading<'_> {
    /// Returns what was measured, without texts. One that cannot be read must not hide the others.
    fn records(&self, log: &SessionLog, unreadable: &mut Vec<String>) -> Vec<ReportIteration> {
        let mut iterations = Vec::new();
        let view = log.view();
        for (place, entry) in (1..).zip(log.iterations()) {
            match self.reader.iteration(entry) {
                Ok(mut record) => {
                    let id = record.id();
                    // Numbers repeat from lane to lane.
                    record.iteration = if view.lanes.is_empty() { record.iteration } else { place };
                    iterations.push(ReportIteration {
                        name: id.to_string(),
                        label: view.name_of(&id),
                        id,
                        commit: entry.commit(),
                        attempt: 0,
                        repeated: None,
                        story: record.story(),
                        record,
                        prompt: None,
                        answer: None,
                        validation: None,
                        diff: Diff::Nothing,
                    });
                }
                Err(error) => {
                    unreadable.push(format!("iteration {}: {error:#}", view.name_of(&entry.id())));
                }
            }
        }
        iterations
    }

    /// The texts of all iterations, and what each changed.
    fn contents(&self, iterations: &mut [ReportIteration], store: &Store, log: &SessionLog) -> Result<()> {
        let pairs = self.pairs(iterations)?;
        let top = &store.repository().directory;
        let (most, journal) = (self.most, &self.own.progress);
        // Git compares while we read.
        let patches = thread::scope(|scope| {
            let patches = scope.spawn(|| patches::between(&pairs, top, journal, most));
            for iteration in iterations.iter_mut() {
                if let Err(error) = self.texts(iteration)
                    && let Some(entry) = log.iterations().find(|entry| entry.commit() == iteration.commit)
                {
                    store.leave_out(entry, &error);
                }
            }
            patches.join()
        });
        let mut patches = patches.map_err(|_| anyhow!("compare the snapshots"))??;
        for iteration in iterations {
            if let Some(patch) = iteration.record.snapshot.as_ref().and_then(|after| patches.remove(after)) {
                iteration.diff = Diff::Patch(without_secrets(&self.redactor, patch));
            }
        }
        Ok(())
    }

    fn piece(
        &self,
        iteration: &ReportIteration,
        path: &str,
        ask: Ask,
        most: usize,
    ) -> Result<Option<FilePart>> {
        let piece = self.reader.piece(&iteration.commit, path, ask, most as u64);
        Ok(piece?.filter(|piece| piece.total > 0))
    }

    fn texts(&self, iteration: &mut ReportIteration) -> Result<()> {
        let prompt = self.piece(iteration, "prompt.md", Ask::HEAD, self.most)?;
        iteration.prompt = prompt.map(|piece| {
            let shown = without_own_path(&piece.bytes);
            let length =
                piece.total.saturating_sub(piece.bytes.len() as u64).saturating_add(shown.len() as u64);
            Text::of(&shown, length)
        });
        iteration.answer = self.answer(iteration)?;
        iteration.validation = self.validation(iteration)?;
        Ok(())
    }

    fn answer(&self, iteration: &ReportIteration) -> Result<Option<Text>> {
        let parser = recorded_parser(&self.session.configuration, &iteration.record.agent);
        let most = if parser == Parser::Text { self.most } else { self.transcript };
        let Some(piece) = self.piece(iteration, "agent/stdout", Ask::TAIL, most)? else { return Ok(None) };
        if parser == Parser::Text {
            return Ok(Some(Text::of(&piece.bytes, piece.total)));
        }
        let words = answer(parser, &piece.bytes);
        // A secret in pieces is whole again where an agent's words are put together.
        Ok((!words.trim().is_empty()).then(|| Text::whole(self.redactor.redact_text(&words).0)))
    }

    /// Returns the decisive lines of a validation that failed, the last of one that passed.
    fn validation(&self, iteration: &ReportIteration) -> Result<Option<Text>> {
        let record = &iteration.record;
        let Some(code) = record.exit.validation else { return Ok(None) };
        let most = if code == 0 { GOOD_OUTPUT.min(self.most) } else { self.most };
        let stdout = self.piece(iteration, "validation/stdout", Ask::TAIL, most)?;
        let stderr = self.piece(iteration, "validation/stderr", Ask::TAIL, most)?;
        let [of_stdout, of_stderr] =
            [&stdout, &stderr].map(|piece| piece.as_ref().map_or(0, |piece| piece.total));
        let bytes = of_stdout + of_stderr;
        if code != 0 && !record.facts.excerpt.trim().is_empty() {
            let text = record.facts.excerpt.clone();
            // An excerpt lacks the line end.
            return Ok(Some(Text { is_cut: (text.trim().len() as u64) + 1 < bytes, text, bytes }));
        }
        let shown = if of_stdout == 0 { stderr } else { stdout };
        Ok(shown.map(|piece| Text {
            bytes,
            is_cut: (piece.bytes.len() as u64) < bytes,
            ..Text::of(&piece.bytes, piece.total)
        }))
    }

    /// Returns the snapshots before and after each iteration, as far as both are here.
    fn pairs(&self, iterations: &mut [ReportIteration]) -> Result<Vec<(ObjectId, ObjectId)>> {
        let mut pairs = Vec::new();
        for iteration in iterations {
            let Some(after) = iteration.record.snapshot.clone() else {
                let has_diff = iteration.record.outcome != Outcome::Skipped;
                iteration.diff = if has_diff { Diff::Missing(Diff::NONE_KEPT) } else { Diff::Nothing };
                continue;
            };
            match self.reader.snapshot_before(&after)? {
                Some(before) if !self.reader.is_comparable(&before, &after)? => {
                    iteration.diff = Diff::Missing(TOO_LARGE);
                }
                Some(before) => pairs.push((before, after)),
                None => iteration.diff = Diff::Missing(Diff::NOT_HERE),
            }
        }
        Ok(pairs)
    }

    /// From the first snapshot to the last, without what the loop itself writes, with at most so many bytes of a patch, and for
    /// a page how many of the files are not committed; `None` if they are not here.
    fn changes(
        &self,
        iterations: &[ReportIteration],
        store: &Store,
        log: &SessionLog,
        context: &Context,
        max_patch: usize,
    ) -> Result<Option<(SessionChanges, Option<usize>)>> {
        let (first, last) = ends(store, log)?;
        let first = first.filter(|_| log.is_whole());
        let pair = first.clone().zip(last.clone());
        let Some(files) = store.changed_files(&self.own, (first, last.clone()))? else { return Ok(None) };
        let pair: Vec<_> = pair.filter(|_| max_patch > 0).into_iter().collect();
        let top = &store.repository().directory;
        let patch = patches::between(&pair, top, &self.own.progress, max_patch)?.into_values().next();
        let patch = patch.map(|patch| without_secrets(&self.redactor, patch));
        // What cannot be counted is left out.
        let uncommitted =
            if max_patch > 0 { uncommitted(context, log, last, &self.own, &files).ok() } else { None };
        Ok(Some((SessionChanges::new(redacted(&files, &self.redactor), patch, iterations), uncommitted)))
    }
}

/// Returns the list as it was at the end of a session.
pub fn task_list(reader: &RecordReader<'_>, log: &SessionLog) -> TaskList {
    let newest = log.entries.iter().rev().find_map(|entry| {
        // Where the newest cannot be read, an older one says more than none.
        let piece = reader.piece(&entry.commit(), "tasks.md", Ask::HEAD, u64::MAX).ok()??;
        Some(TaskList::parse(&piece.bytes).unwrap_or_default())
    });
    newest.unwrap_or_default()
}

/// Replaces the path of this program, which a prompt contains and a page for others should not.
fn without_own_path(prompt: &[u8]) -> Vec<u8> {
    let text = String::from_utf8_lossy(prompt);
    text.replace(RALPH_BY_PATH.as_str(), RALPH_ELSEWHERE.as_str()).into_bytes()
}

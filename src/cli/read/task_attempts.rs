//! The last attempt at a task, and why a task was never tried.

use anyhow::{Error, Result, anyhow};

use ralph_core::record::{LogEntry, Outcome, RALPH, Status};
use ralph_core::view::SessionView;
use ralph_project::tasks::{Readiness, readiness};
use ralph_store::{RecordReader, SessionLog, Store};
use ralph_ui::ending::state;
use ralph_ui::style::{one_line, times};

use crate::cli::read::sessions;

/// Returns the last iteration of a session that was judged and had this task to do, or else the last that was cut short.
pub fn last_in<'a>(store: &Store, log: &'a SessionLog, task: &str) -> Result<Option<&'a LogEntry>> {
    let reader = store.reader()?;
    let Some(name) = recorded_name(log, task) else {
        // Whole records are read only for what is a task at all.
        let is_task = newest_list(&reader, log)?.is_some_and(|list| readiness(&list, task).is_some());
        return Ok(is_task.then(|| unit_attempt(&reader, log, task, 0)).flatten());
    };
    let own =
        log.iterations().rev().find(|entry| entry.is_attempt() && (entry.is_of(name) || entry.closes(name)));
    let Some(own) = own else {
        let of_unit = unit_attempt(&reader, log, name, 0);
        return Ok(of_unit.or_else(|| {
            log.iterations().rev().find(|entry| is_without_verdict(entry) && entry.is_of(name))
        }));
    };
    // Only where an iteration has several tasks, one may have had it without a word in its message.
    let has_unit = reader.iteration(own).is_ok_and(|record| !record.unit_tasks.is_empty());
    let later = if has_unit { unit_attempt(&reader, log, name, own.number()) } else { None };
    Ok(later.or(Some(own)))
}

/// Returns the last attempt after iteration `after` that had the task to do beside others.
fn unit_attempt<'a>(
    reader: &RecordReader<'_>,
    log: &'a SessionLog,
    task: &str,
    after: u32,
) -> Option<&'a LogEntry> {
    let later = log.iterations().rev().take_while(|entry| entry.number() > after);
    // What cannot be read says nothing of the task.
    later.filter(|entry| entry.is_attempt()).find(|entry| {
        reader
            .iteration(entry)
            .is_ok_and(|record| record.unit_tasks.iter().any(|name| name.eq_ignore_ascii_case(task)))
    })
}

/// Returns the attempts of a session, or a group, at a task that it did not do, oldest first; none if one of them closed it.
pub fn at_unfinished<'a>(run: &'a SessionView, task: &str) -> Vec<&'a LogEntry> {
    let own = run.iterations().filter(|entry| entry.is_attempt() && entry.is_of(task));
    let is_done = run.iterations().any(|entry| entry.closes(task));
    if is_done { Vec::new() } else { own.collect() }
}

/// Returns true of what was cut short, and of what only a later version understands.
fn is_without_verdict(entry: &LogEntry) -> bool {
    matches!(entry.outcome(), Some(Outcome::Interrupted | Outcome::Later(_)))
}

/// Returns the name of a task as the records have it: as it is written, else in any letter case.
fn recorded_name<'a>(log: &'a SessionLog, task: &str) -> Option<&'a str> {
    let names = || log.iterations().flat_map(|entry| entry.task().into_iter().chain(entry.closed()));
    names().find(|name| *name == task).or_else(|| names().find(|name| name.eq_ignore_ascii_case(task)))
}

/// Returns why there is no attempt at a task of the feature's list; `None` if the list has no such task.
pub fn why_not_tried(store: &Store, feature: &str, task: &str) -> Result<Option<Error>> {
    let logs = sessions::of_feature(store, feature, None)?;
    let Some(newest) = logs.last() else { return Ok(None) };
    let Some(list) = newest_list(&store.reader()?, newest)? else { return Ok(None) };
    let Some((name, readiness)) = readiness(&list, task) else { return Ok(None) };
    let (why, hint) = match readiness {
        Readiness::Done => {
            ("its box was ticked, and by no recorded iteration".to_owned(), format!("{RALPH} status --tasks"))
        }
        Readiness::WaitsFor(other) => {
            let (how, hint) = how_it_stands(&logs, &other);
            (format!("it waits for {}, {how}", one_line(&other)), hint)
        }
        Readiness::Ready => (before_its_turn(store, newest, &name)?, format!("{RALPH} status")),
    };
    Ok(Some(anyhow!("{} was not tried: {why}\nhint: `{hint}`", one_line(&name))))
}

/// Returns the task list as the newest record of a session has it.
fn newest_list(reader: &RecordReader<'_>, log: &SessionLog) -> Result<Option<Vec<u8>>> {
    // The record of an end has none.
    let mut lists = log.entries.iter().rev().map(|entry| reader.file(&entry.commit(), "tasks.md"));
    lists.find_map(Result::transpose).transpose()
}

/// Returns the state of a task that another waits for, and the command that shows it.
fn how_it_stands(logs: &[SessionLog], task: &str) -> (String, String) {
    let is_failure = |entry: &&LogEntry| entry.outcome() == Some(Outcome::Failure) && entry.is_of(task);
    let failures = logs.iter().flat_map(SessionLog::iterations).filter(is_failure).count();
    match failures {
        0 => ("which is open".to_owned(), format!("{RALPH} status --tasks")),
        count => (format!("which failed {}", times(count)), format!("{RALPH} show {}", one_line(task))),
    }
}

/// Returns why a session that could have tried a task did not.
fn before_its_turn(store: &Store, log: &SessionLog, name: &str) -> Result<String> {
    let log = sessions::with_group(store, log)?;
    let (status, _) = sessions::status(store, &log, &sessions::running(store)?);
    let session = log.entries.iter().rev().find(|entry| entry.kind().begins());
    let scope = session.and_then(|begin| store.readable_session(begin)?.scope);
    if let Some(scope) = scope.filter(|scope| !scope.is_all()) {
        return Ok(format!("the last session was for {}", one_line(&scope.to_string())));
    }
    if status == Status::Running {
        return Ok("its turn has not come yet".to_owned());
    }
    let view = log.view();
    let end = view.deciding_record(|_| false).unwrap_or_else(|| log.tip());
    let how = state(status, end.stop_reason(), end.ended_by(), &[]);
    Ok(format!("the last session ended before {}'s turn: {how}", one_line(name)))
}

//! The summary of a feature, which every command shows alike.

use std::collections::BTreeSet;

use anyhow::Result;
use tasklist::TaskList;

use ralph_core::record::{FailureClass, Hint, LogEntry, NeedKind, Summary, ValidationNow};
use ralph_core::view::{FeatureView, SessionView};
use ralph_engine::redactor;
use ralph_project::tasks;
use ralph_store::{Hints, Listing, SessionLog, Store};
use ralph_ui::status::QuestionElsewhere;

use crate::cli::Context;
use crate::cli::start::trust::load_to_read;

/// Counts all sessions of a feature, by its path, against its task list as it is now. `shown` is the session that the
/// command shows, or its group as one.
pub fn of_feature(context: &Context, feature: &str, shown: Option<&SessionView>) -> Result<Summary> {
    // What cannot be read is reported where records are listed.
    of_listing(context, &context.store()?.listing(|_| true, &mut Vec::new())?, feature, shown)
}

/// The same, by a listing that a command has read already, if that is of all sessions.
pub fn of_listing(
    context: &Context,
    listing: &Listing,
    feature: &str,
    shown: Option<&SessionView>,
) -> Result<Summary> {
    if !listing.is_of_all() {
        return of_feature(context, feature, shown);
    }
    let summary = of_rows(context, listing, feature, shown)?;
    Ok(Summary { validation: validation_now(context, listing, feature, shown), ..summary })
}

/// The same without what the validation says now, which needs whole records and the files.
pub fn of_rows(
    context: &Context,
    listing: &Listing,
    feature: &str,
    shown: Option<&SessionView>,
) -> Result<Summary> {
    if !listing.is_of_all() {
        let all = context.store()?.listing(|_| true, &mut Vec::new())?;
        return of_rows(context, &all, feature, shown);
    }
    let store = context.store()?;
    let (sessions, hints) = (listing.views_of(feature), Hints::of(store.repository(), feature).readable());
    let list = list(context, store, feature, &sessions);
    of_view(context, feature, &FeatureView::of(&sessions), &list, &hints, shown)
}

/// Returns what the newest validation of a feature said, and whether that holds now.
pub fn validation_now(
    context: &Context,
    listing: &Listing,
    feature: &str,
    shown: Option<&SessionView>,
) -> Option<Box<ValidationNow>> {
    let store = context.store().ok()?;
    let now = listing.validation_now(store, feature, shown, |first, snapshot, left_out| {
        let own = store.feature_files(feature, Some(first));
        let own = [own.tasks.as_str(), own.progress.as_str()];
        let is_here = store.has(snapshot).ok()?;
        context.work_tree().ok().filter(|_| is_here)?.is_as_in(snapshot, &own, left_out).ok()?
    });
    now.map(Box::new)
}

/// The same, with a list and hints.
pub fn of_view(
    context: &Context,
    feature: &str,
    view: &FeatureView<'_>,
    list: &TaskList,
    hints: &[Hint],
    shown: Option<&SessionView>,
) -> Result<Summary> {
    let newest = view.newest().and_then(SessionView::last_run);
    let remains = ralph_engine::remains(context.store()?, context.work_tree().ok(), newest);
    let mut summary = view.summary(feature, list, hints, remains.as_ref(), shown);
    for back in ralph_engine::brought_back(context.store()?, context.work_tree().ok(), &summary) {
        summary.has_work_of(&back);
    }
    // Records have no secrets, and hints are as they were typed: pages are sent to others.
    if !summary.answered.is_empty() {
        let redactor =
            load_to_read(context).and_then(|config| redactor(&config.settings)).unwrap_or_default();
        for answered in &mut summary.answered {
            answered.answer = redactor.redact_text(&answered.answer).0;
        }
    }
    Ok(summary)
}

/// The same, by logs that a command has read already.
pub fn of_logs(
    context: &Context,
    feature: &str,
    logs: &[SessionLog],
    list: &TaskList,
    hints: &[Hint],
    shown: Option<&SessionView>,
) -> Result<Summary> {
    let sessions: Vec<SessionView> = logs.iter().map(SessionLog::view).collect();
    let summary = of_view(context, feature, &FeatureView::of(&sessions), list, hints, shown)?;
    let listing = context.store()?.listing(|_| true, &mut Vec::new())?;
    Ok(Summary { validation: validation_now(context, &listing, feature, shown), ..summary })
}

/// The same for the newest session that a command shows, with the path of its feature; where there is none, for the
/// feature that would be run. `None` if there is none either.
pub fn of_newest(context: &Context, newest: Option<(&str, &SessionView)>) -> Result<Option<Summary>> {
    match newest {
        Some((feature, shown)) => of_feature(context, feature, Some(shown)).map(Some),
        None => match context.feature_to_read(None) {
            Ok(feature) => of_feature(context, &feature.path, None).map(Some),
            Err(_) => Ok(None),
        },
    }
}

/// Returns the questions that wait in other features than `feature`.
pub fn questions_elsewhere(context: &Context, feature: &str) -> Result<Vec<QuestionElsewhere>> {
    let store = context.store()?;
    let listing = store.listing(|_| true, &mut Vec::new())?;
    let others: BTreeSet<&str> =
        listing.sessions().map(|session| session.feature.as_str()).filter(|path| *path != feature).collect();
    let mut questions = Vec::new();
    for path in others {
        let sessions = listing.views_of(path);
        let asks = |one: &LogEntry| one.failure_class().is_some_and(FailureClass::is_question);
        // Most features never asked: their lists need not be read.
        if !sessions.iter().flat_map(SessionView::iterations).any(asks) {
            continue;
        }
        let list = list(context, store, path, &sessions);
        let summary = FeatureView::of(&sessions).summary(
            path,
            &list,
            &Hints::of(store.repository(), path).readable(),
            None,
            None,
        );
        let asking = summary.needs_you.iter().filter(|need| need.why == NeedKind::Asks);
        questions.extend(asking.filter_map(|need| {
            let task = need.task.clone()?;
            let since = summary.tried_since.get(&task).map(|(since, _)| *since);
            Some(QuestionElsewhere { feature: path.to_owned(), task, since })
        }));
    }
    Ok(questions)
}

/// Returns the task list of a feature: as it is now, where its newest session works in a lane on that branch; else as the
/// newest record of these sessions has it, else an empty one.
pub fn list(context: &Context, store: &Store, feature: &str, sessions: &[SessionView]) -> TaskList {
    let present = context.recorded_feature_to_read(feature);
    if let Ok(list) = present.and_then(|feature| tasks::read(&feature.files, &feature.tasks_path)) {
        return without_optional(list, context);
    }
    // A clone may have the records alone.
    let entries = sessions.iter().rev().flat_map(|session| session.entries.iter().rev());
    let mut recorded = entries.filter_map(|entry| store.file(&entry.commit(), "tasks.md").ok().flatten());
    let list = recorded.next().and_then(|bytes| tasks::parse(&bytes).ok()).unwrap_or_default();
    without_optional(list, context)
}

/// Returns a list as a loop here sees it: with `skip-optional`, optional tasks that are open count nowhere.
pub fn without_optional(mut list: TaskList, context: &Context) -> TaskList {
    let is_any = list.items.iter().any(|item| item.optional && !item.done);
    if is_any && load_to_read(context).is_ok_and(|config| config.settings.skip_optional) {
        list.settle_optional();
    }
    list
}

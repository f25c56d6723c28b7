//! `specify ralph log`: the iterations, or the sessions, of the whole repository.

use std::collections::{BTreeSet, HashMap};

use anyhow::{Context as _, Result, bail};
use camino::{Utf8Component, Utf8Path, Utf8PathBuf};
use clap::{ArgGroup, Args};
use serde_json::{Value, json};

use ralph_core::history::failure_key::FailureKey;
use ralph_core::history::repeats;
use ralph_core::progress::first_sentence;
use ralph_core::record::{AttemptId, LogEntry, Outcome, SessionId, ShortNames, Status};
use ralph_core::view::{FeatureView, SessionView, integrations, short_names};
use ralph_git::worktree::{ChangedFile, WorkTree};
use ralph_os::platform::repo_path;
use ralph_os::process::Tool;
use ralph_store::{ListedSession, Listing, RecordReader, Store, status_of};
use ralph_ui::json::{write_line, write_pretty};
use ralph_ui::log::{ByNow, Listed, attempts_of, flagged_of, names, write_json};
use ralph_ui::needs::needs_you;
use ralph_ui::session_table::{self, End};

use crate::cli::read::filter::{Filter, FilterArgs};
use crate::cli::read::grep::{Grep, regex};
use crate::cli::read::sessions::OnlySessions;
use crate::cli::read::{named_tests, sessions};
use crate::cli::start::summary;
use crate::cli::{Context, ExitCode, Json, note, pager, print, warn};

/// Most records that are read for what solved a failure.
const MAX_SOLVED: usize = 100;

#[derive(Debug, Args)]
#[command(group = ArgGroup::new("form").args(["sessions", "oneline", "jsonl"]))]
pub struct LogArgs {
    #[command(flatten)]
    pub filter: FilterArgs,
    /// Do not pipe the output into git's pager
    #[arg(long)]
    pub no_pager: bool,
    /// Show only the newest N
    #[arg(short = 'n', long = "max-count", value_name = "N")]
    pub max_count: Option<usize>,
    /// Reverse the order: newest first (-n still selects the newest N)
    #[arg(long)]
    pub reverse: bool,
    /// Print one line per iteration, with its name
    #[arg(long, conflicts_with = "json")]
    pub oneline: bool,
    /// List sessions instead of iterations
    #[arg(long)]
    pub sessions: bool,
    #[command(flatten)]
    pub json: Json,
    /// Print whole records, one JSON object per line
    #[arg(long, conflicts_with = "json")]
    pub jsonl: bool,
    #[command(flatten)]
    pub only: OnlySessions,
    /// Only iterations that changed these files or folders
    #[arg(last = true, value_name = "PATHS", conflicts_with = "sessions")]
    pub paths: Vec<String>,
}

/// `specify ralph sessions`: the same as `log --sessions`.
#[derive(Debug, Args)]
pub struct SessionsArgs {
    /// Do not pipe the output into git's pager
    #[arg(long)]
    pub no_pager: bool,
    /// Show only the newest N
    #[arg(short = 'n', long = "max-count", value_name = "N")]
    pub max_count: Option<usize>,
    #[command(flatten)]
    pub json: Json,
    #[command(flatten)]
    pub only: OnlySessions,
}

pub fn run_sessions(args: SessionsArgs, context: &Context) -> Result<ExitCode> {
    let SessionsArgs { no_pager, max_count, json, only } = args;
    let args = LogArgs {
        filter: FilterArgs::default(),
        no_pager,
        max_count,
        reverse: false,
        oneline: false,
        sessions: true,
        json,
        jsonl: false,
        only,
        paths: Vec::new(),
    };
    run(&args, context)
}

pub fn run(args: &LogArgs, context: &Context) -> Result<ExitCode> {
    let store = context.store()?;
    if args.sessions && args.json.json {
        return print_sessions(args, store);
    }
    let (listing, settled) = sessions::listing(store, &args.only.choice)?;
    let found: Vec<&ListedSession> = listing
        .sessions()
        .filter(|session| settled.is_for(&session.refs.session, &session.feature))
        .collect();
    if !args.json.json && found.is_empty() {
        note(sessions::nothing_recorded(store));
    }
    if store.is_shallow()? {
        for session in &found {
            if session.entries().first().is_some_and(LogEntry::is_iteration) {
                sessions::warn_about_missing(&session.refs.session);
            }
        }
    }
    let mut filter = Filter::new(&args.filter, context)?;
    filter.look_over(found.iter().copied())?;
    let paths = from_top(&args.paths, context)?;
    let reader = store.reader()?;
    let by_now = by_now(store, &listing)?;
    let all: Vec<SessionId> = store.session_names()?.into_iter().map(|refs| refs.session).collect();
    let runs = runs(&found, &all);
    let mut listed = listed(
        args,
        context,
        &reader,
        &|row| filter.takes(row) && (paths.is_empty() || changed_any(store, &reader, row, &paths)),
        filter.is_open(),
        (&listing, &runs, &by_now),
    )?;
    if !args.reverse {
        listed.reverse();
        for session in &mut listed {
            session.rows.reverse();
        }
    }
    let rows: Vec<&LogEntry> = listed.iter().flat_map(|session| session.rows.iter().copied()).collect();
    if rows.is_empty() && !args.sessions && args.max_count != Some(0) {
        let has_iterations = found.iter().any(|session| session.view().iterations().next().is_some());
        if has_iterations && !(filter.is_open() && paths.is_empty()) {
            check_empty(args)?;
        }
    }
    // Programs read these as they are written: the whole is too large to be held.
    if args.json.json {
        let summary = match found.last() {
            Some(ListedSession { feature, .. }) => {
                Some(summary::of_listing(context, &listing, feature, runs.first().map(|run| &run.session))?)
            }
            None => summary::of_newest(context, None)?,
        };
        let known = store.circumstances(&reader);
        let circumstances = |entry: &LogEntry| store.or_leave_out(entry, known.of(entry)).unwrap_or_default();
        let printed = print(|out| write_json(out, summary.as_ref(), &rows, &circumstances));
        known.keep();
        return printed;
    } else if args.jsonl {
        return print(|out| -> Result<()> {
            for record in rows.iter().filter_map(|row| record(store, &reader, row)) {
                write_line(out, &record)?;
            }
            Ok(())
        });
    }
    let screen = pager::screen(context);
    if args.sessions {
        return show_sessions(args, context, &listing, listed);
    }
    let lines = if args.oneline {
        names(&listed, screen)
    } else if args.filter.flagged {
        flagged_of(&listed, screen)
    } else {
        attempts_of(&listed, screen)
    };
    let opens = if args.reverse { pager::Opens::AtStart } else { pager::Opens::AtEnd };
    pager::show(&lines, context, args.no_pager, opens)
}

/// Shows what all features come to, what needs the user in them, and a row for each session, the newest first.
fn show_sessions(
    args: &LogArgs,
    context: &Context,
    listing: &Listing,
    mut listed: Vec<Listed<'_>>,
) -> Result<ExitCode> {
    // Of the list, `--reverse` begins with the newest; so does the table by itself.
    if !args.reverse {
        listed.reverse();
    }
    let features: BTreeSet<&str> = listed.iter().map(|one| one.feature).collect();
    let features = features.into_iter().map(|feature| summary::of_rows(context, listing, feature, None));
    let features = features.collect::<Result<Vec<_>>>()?;
    let rows = listed.iter().map(Listed::table_row);
    let lines = session_table::lines(
        &features.iter().collect::<Vec<_>>(),
        &rows.collect::<Vec<_>>(),
        pager::screen(context),
    );
    pager::show(&lines, context, args.no_pager, pager::Opens::AtStart)
}

/// Returns the path from the top of the work tree, or `None` if it is outside.
fn resolve(given: &Utf8Path, top: Option<&Utf8Path>, prefix: &str) -> Option<Utf8PathBuf> {
    let joined = match top.filter(|_| given.is_absolute()) {
        Some(top) => given.strip_prefix(top).ok()?.to_owned(),
        None => Utf8Path::new(prefix).join(given),
    };
    let mut resolved = Utf8PathBuf::new();
    for component in joined.components() {
        match component {
            Utf8Component::Normal(name) => resolved.push(name),
            Utf8Component::CurDir => {}
            Utf8Component::ParentDir if resolved.pop() => {}
            _ => return None,
        }
    }
    Some(Utf8PathBuf::from(repo_path(&resolved)))
}

/// Returns the newest sessions and their newest rows first, as many as are asked for.
fn listed<'a>(
    args: &LogArgs,
    context: &Context,
    reader: &RecordReader<'_>,
    takes: &dyn Fn(&LogEntry) -> bool,
    is_open: bool,
    (listing, runs, by_now): (&Listing, &'a [Run<'_>], &'a ByNow),
) -> Result<Vec<Listed<'a>>> {
    let store = context.store()?;
    let running = sessions::running(store)?;
    let is_held = sessions::held_by(&running);
    let FilterArgs { grep, ignore_case, searched, .. } = &args.filter;
    let pattern = grep.as_ref().map(|pattern| regex(pattern, *ignore_case)).transpose()?;
    let find = |bytes: &[u8]| Some(pattern.as_ref()?.find(bytes)?.range());
    let mut grep = pattern.is_some().then(|| Grep::new(store, searched, &find)).transpose()?;
    let has_moot = args.filter.all || !args.filter.flagged;
    let is_open = is_open && args.paths.is_empty() && args.max_count.is_none();
    let mut left = args.max_count.unwrap_or(usize::MAX);
    let mut listed = Vec::new();
    for (place, run) in runs.iter().enumerate() {
        if left == 0 {
            break;
        }
        let Run { members, session, is_newest, names } = run;
        let (mut rows, mut matches) = (Vec::new(), HashMap::new());
        if args.sessions {
            left -= 1;
        } else {
            for row in session.entries.iter().rev() {
                if grep.is_none() && rows.len() == left {
                    break;
                } else if takes(row) && (has_moot || !by_now.moot.contains(&row.id())) {
                    rows.push(row);
                }
            }
            if let Some(grep) = &mut grep {
                let found = grep.matches(session, rows, left)?;
                matches = found.iter().map(|(row, line)| (row.id(), line.clone())).collect();
                rows = found.into_iter().map(|(row, _)| row).collect();
            }
            left -= rows.len();
        }
        if !args.sessions && !is_open && rows.is_empty() {
            continue;
        }
        let (mut summary, mut changed, mut needs) = (None, None, None);
        let (mut repeated, mut solved) = (HashMap::new(), HashMap::new());
        if !(args.sessions || args.json.json || args.jsonl || args.oneline) {
            // The newest alone: of older ones, what was left was done later, or is left there, too.
            if place == 0 {
                let found = summary::of_rows(context, listing, &members[0].feature, Some(session))?;
                needs = needs_you(&found);
                summary = Some(found).filter(|_| is_open);
                // What cannot be counted is left out: the rows are what was asked for.
                let files = is_open.then(|| store.files_of_session(session).unwrap_or_default()).flatten();
                changed = files.as_deref().map(ChangedFile::stat);
            }
            // What was given up is said of what needs the user; its record has no work.
            let wants_skips = args.filter.outcome.contains(&Outcome::Skipped);
            rows.retain(|row| wants_skips || row.outcome() != Some(Outcome::Skipped));
            solved = what_solved(store, reader, &rows)?;
            repeated = repeats(session.entries.iter().map(|row| (row.id(), FailureKey::of_entry(row))));
        }
        let tip = session.deciding_record(&is_held);
        let is_running = tip.is_some_and(|tip| is_held(&tip.session()));
        let status = tip.map_or(Status::Interrupted, |tip| status_of(tip, is_running));
        let elsewhere = || members.iter().find_map(|member| store.elsewhere(&member.refs, member.entries()));
        let elsewhere = if is_running { None } else { elsewhere() };
        let ended = |tip| session_table::ended(&End::of(tip, status), session.totals());
        listed.push(Listed {
            session,
            names,
            feature: &members[0].feature,
            status,
            ended: tip.map_or(String::new(), ended),
            elsewhere,
            needs_you: needs,
            is_newest: *is_newest,
            summary,
            changes: changed,
            rows,
            repeats: repeated,
            by_now,
            solved,
            matches,
        });
    }
    Ok(listed)
}

/// A session, or all of a group.
struct Run<'a> {
    /// In the order of their ids.
    members: Vec<&'a ListedSession>,
    session: SessionView,
    /// True if it is what commands mean where no session is named.
    is_newest: bool,
    names: ShortNames,
}

/// Returns sessions, which are in the order of their ids, the newest first, those of a group in the place of the newest of them.
/// `all` are the ids of all that are recorded, in order.
fn runs<'a>(found: &[&'a ListedSession], all: &[SessionId]) -> Vec<Run<'a>> {
    let mut runs: Vec<Run<'a>> = Vec::new();
    let mut groups = BTreeSet::new();
    for one in found.iter().rev() {
        let members = match one.view().group() {
            Some((first, _)) if !groups.insert(first.clone()) => continue,
            Some(_) => found.iter().filter(|other| other.view().is_beside(one.view())).copied().collect(),
            None => vec![*one],
        };
        let views: Vec<&SessionView> = members.iter().map(|member| member.view()).collect();
        let (session, names) = (SessionView::joined(&views), short_names(views));
        let is_newest = all.last().is_some_and(|newest| names.has(newest));
        // Lanes are those of the newest group.
        let is_older_group = names.is_of_group() && !is_newest;
        let names = if is_older_group { ShortNames::of_others(all) } else { names };
        runs.push(Run { members, session, is_newest, names });
    }
    runs
}

/// Returns what became of the attempts of all features.
fn by_now(store: &Store, listing: &Listing) -> Result<ByNow> {
    // It may be in a session that is not listed.
    let whole = if listing.is_of_all() { None } else { Some(store.listing(|_| true, &mut Vec::new())?) };
    let listing = whole.as_ref().unwrap_or(listing);
    let features: BTreeSet<&str> = listing.sessions().map(|session| session.feature.as_str()).collect();
    let mut by_now = ByNow::default();
    for feature in features {
        let sessions = listing.views_of(feature);
        let view = FeatureView::of(&sessions);
        by_now.solved.extend(view.solved_attempts());
        by_now.moot.extend(view.moot_flags());
        by_now.merged.extend(integrations(view.iterations.iter().map(|(_, entry)| *entry)));
    }
    Ok(by_now)
}

/// Returns what agents said of successes after failures, as far as there are few, with the test that passes since.
fn what_solved(
    store: &Store,
    reader: &RecordReader<'_>,
    rows: &[&LogEntry],
) -> Result<HashMap<AttemptId, String>> {
    let later = rows.iter().enumerate();
    let later = later.filter(|(_, row)| row.outcome() == Some(Outcome::Success) && row.attempt() > Some(1));
    let mut solved = HashMap::new();
    for (place, row) in later.take(MAX_SOLVED) {
        // What cannot be read has its title.
        let Ok(record) = reader.iteration(row) else { continue };
        // The newest are first.
        let turned = match rows[place + 1..].iter().find(|other| other.task() == row.task()) {
            Some(before) => named_tests::between(store, before, row)?.green,
            None => Vec::new(),
        };
        let words = first_sentence(&record.facts.final_message);
        let words = match turned.as_slice() {
            [] => words,
            [name] => format!("{name} passes: {words}"),
            [name, more @ ..] => format!("{name} (+{}) pass: {words}", more.len()),
        };
        if !words.is_empty() {
            solved.insert(row.id(), words);
        }
    }
    Ok(solved)
}

/// Fails if nothing passes the filters, where a person expects something.
fn check_empty(args: &LogArgs) -> Result<()> {
    if args.json.json || args.jsonl {
        return Ok(());
    } else if args.filter.failed || args.filter.flagged {
        note("no attempt matches");
        return Ok(());
    }
    let hint = if args.filter.grep.is_some() {
        "outputs, answers and diffs were searched; `--in prompt` searches prompts, -i ignores case"
    } else if args.paths.is_empty() {
        "each filter alone may match some: leave one out"
    } else {
        "a path is that of a file or folder, from the current folder, without wildcards"
    };
    bail!("no attempt matches\nhint: {hint}")
}

fn changed_any(store: &Store, reader: &RecordReader<'_>, row: &LogEntry, paths: &[Utf8PathBuf]) -> bool {
    let record = record(store, reader, row);
    let changed = record.iter().filter_map(|record| record["files_changed"].as_array()).flatten();
    let mut changed = changed.filter_map(Value::as_str).map(Utf8Path::new);
    changed.any(|file| paths.iter().any(|path| file.starts_with(path)))
}

/// Returns the whole record; `None` with a warning if this version cannot read it.
fn record(store: &Store, reader: &RecordReader<'_>, entry: &LogEntry) -> Option<Value> {
    let read = reader.file(&entry.commit(), "iteration.json");
    let read = read.and_then(|bytes| Ok(serde_json::from_slice(&bytes.unwrap_or_default())?));
    store.or_leave_out(entry, read)
}

/// Returns paths that are relative to the current folder as records have them: from the top of the work tree.
fn from_top(paths: &[String], context: &Context) -> Result<Vec<Utf8PathBuf>> {
    if paths.is_empty() {
        return Ok(Vec::new());
    }
    let top = context.work_tree().ok().map(WorkTree::top);
    // Without a work tree there is no folder to read paths from.
    let prefix = match top {
        Some(_) => Tool::git_as_called(&context.directory).args(["rev-parse", "--show-prefix"]).line()?,
        None => String::new(),
    };
    let resolved = paths.iter().map(|path| {
        let place = top.map_or("the repository", Utf8Path::as_str);
        resolve(Utf8Path::new(path), top, &prefix).with_context(|| format!("`{path}` is outside of {place}"))
    });
    resolved.collect()
}

/// The sessions with all that their own files say.
fn print_sessions(args: &LogArgs, store: &Store) -> Result<ExitCode> {
    let running = sessions::running(store)?;
    let logs = sessions::chosen(store, &args.only.choice)?;
    let mut described = Vec::new();
    for log in logs.iter().rev().take(args.max_count.unwrap_or(usize::MAX)) {
        if log.is_whole() || log.tip().status().is_some() {
            match sessions::describe(store, log, &running) {
                Ok(session) => {
                    let mut session = json!(session);
                    session["elsewhere"] = json!(sessions::status(store, log, &running).1);
                    described.push(session);
                }
                // It may have come from anybody, and must not hide the others.
                Err(error) => warn(&format!("left out: session {}: {error:#}", log.id())),
            }
        }
    }
    if !args.reverse {
        described.reverse();
    }
    print(|out| write_pretty(out, &json!({ "sessions": described })))
}

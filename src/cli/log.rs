//! `specify ralph log`: the iterations, or the sessions, of the whole repository.

use std::collections::HashMap;

use anyhow::{Result, bail};
use clap::{ArgGroup, Args};

use crate::history::repeats;
use crate::record::{RecordKind, did_you_mean};
use crate::store::{Row, SessionRows, Store};
use crate::view::fields::{CAPTURED, FIELDS, is_field};
use crate::view::json::{write_line, write_pretty};
use crate::view::log::{
    Below, Listed, SessionHead, sessions_json, write_fields, write_iterations, write_json, write_oneline,
    write_sessions,
};

use super::filter::{Filter, FilterArgs, failure_key};
use super::grep::{Grep, regex};
use super::record_filter::RecordFilter;
use super::session_changes::changes;
use super::sessions::OnlySessions;
use super::{Context, ExitCode, Json, no_match, note, pager, print, sessions, summary, warn};

#[derive(Debug, Args)]
#[command(group = ArgGroup::new("form").args(["sessions", "oneline", "format", "jsonl"]))]
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
    /// Print these fields of the JSON, separated by tabs: name,task,exit.validation,captured.port
    #[arg(long, value_name = "FIELDS", value_delimiter = ',', value_parser = field, conflicts_with = "json")]
    pub format: Vec<String>,
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

pub fn run(args: &LogArgs, context: &Context) -> Result<ExitCode> {
    let store = context.store()?;
    if args.sessions && args.json.json {
        return print_sessions(args, store);
    }
    let paint = context.paint;
    let (listing, settled) = sessions::listing(store, &args.only.choice)?;
    let found = || listing.sessions().filter(|session| settled.takes(&session.refs.session, session.feature));
    if !args.json.json && found().next().is_none() {
        note(sessions::nothing_recorded(store));
    }
    if store.is_shallow()? {
        let has_iteration_first =
            |session: &SessionRows<'_>| session.first().is_some_and(|first| first.is_iteration());
        found()
            .filter(has_iteration_first)
            .for_each(|session| sessions::warn_about_missing(&session.refs.session));
    }
    let mut filter = Filter::new(&args.filter, context)?;
    filter.look_over(found())?;
    let records = RecordFilter::new(context, &args.filter.conditions, &args.paths)?;
    let mut listed = listed(args, context, &records, &filter, found().rev())?;
    if !args.reverse {
        listed.reverse();
        for session in &mut listed {
            session.rows.reverse();
        }
    }
    let rows = || listed.iter().flat_map(|session| &session.rows);
    if rows().next().is_none() && !args.sessions && args.max_count != Some(0) {
        check_empty(args, &filter, context, &found().collect::<Vec<_>>())?;
    }
    // Programs read these as they are written: the whole is too large to be held.
    if args.json.json {
        let newest = found().next_back().map(|newest| (newest.feature, &newest.refs.session));
        let summary = summary::of_newest(context, newest)?;
        return print(|out| write_json(out, summary.as_ref(), rows()));
    } else if args.jsonl {
        return print(|out| -> Result<()> {
            for record in rows().filter_map(|row| records.record(row).transpose()) {
                write_line(out, &record?)?;
            }
            Ok(())
        });
    } else if !args.format.is_empty() {
        return print(|out| write_fields(out, rows(), &args.format, &|row| records.record(row)));
    }
    let mut out = Vec::new();
    if args.sessions {
        write_sessions(&mut out, &listed, paint)?;
    } else if args.oneline {
        write_oneline(&mut out, &listed, paint)?;
    } else {
        write_iterations(&mut out, &listed, paint, pager::width(context))?;
    }
    pager::show(&out, context, args.no_pager)
}

/// Returns true if repeats are shown: in no form for scripts, and in none of one line.
fn is_for_people(args: &LogArgs) -> bool {
    !(args.sessions || args.json.json || args.jsonl || args.oneline || !args.format.is_empty())
}

/// Returns the newest sessions and their newest rows first, as many as are asked for.
fn listed<'a>(
    args: &LogArgs,
    context: &Context,
    records: &RecordFilter<'_>,
    filter: &Filter<'_>,
    sessions: impl Iterator<Item = SessionRows<'a>>,
) -> Result<Vec<Listed<'a>>> {
    let store = context.store()?;
    let running = sessions::running(store)?;
    let FilterArgs { grep, ignore_case, searched, .. } = &args.filter;
    let pattern = grep.as_ref().map(|pattern| regex(pattern, *ignore_case)).transpose()?;
    let find = |bytes: &[u8]| Some(pattern.as_ref()?.find(bytes)?.range());
    let mut grep = pattern.is_some().then(|| Grep::new(store, searched, &find)).transpose()?;
    let mut left = args.max_count.unwrap_or(usize::MAX);
    let mut listed = Vec::new();
    for session in sessions {
        if left == 0 {
            break;
        }
        let id = &session.refs.session;
        let is_running = running.iter().any(|holder| holder.session == *id);
        let mut head = SessionHead::new(id.clone(), session.feature.to_owned(), is_running);
        let all: Vec<Row<'a>> = session.rows().collect();
        for row in &all {
            head.count(row);
        }
        if let Some(tip) = session.tip() {
            let tip = tip.entry()?;
            head.end(&tip, session.tasks()?);
            let begin = || session.rows().rfind(|row| row.kind.begins())?.entry().ok();
            if tip.kind != RecordKind::End
                && let Some(begin) = begin()
            {
                head.runs_elsewhere(store.elsewhere_since(session.refs, &begin, &tip));
            }
        }
        let (mut chosen, mut matches) = (Vec::new(), HashMap::new());
        if args.sessions {
            left -= 1;
        } else {
            for row in all.iter().rev() {
                if grep.is_none() && chosen.len() == left {
                    break;
                } else if filter.takes(row, session.feature)? && records.takes(row)? {
                    chosen.push(*row);
                }
            }
            if let Some(grep) = &mut grep {
                let found = grep.matches(&session, chosen, left)?;
                matches = found.iter().map(|(row, line)| (row.iteration, line.clone())).collect();
                chosen = found.into_iter().map(|(row, _)| row).collect();
            }
            left -= chosen.len();
        }
        let is_open = filter.is_open() && args.paths.is_empty() && args.max_count.is_none();
        if args.sessions || is_open || !chosen.is_empty() {
            // The newest alone: of older ones, what was left was done later, or is left there, too.
            if is_for_people(args) && listed.is_empty() {
                head.add_below(below(context, &session, &all)?);
            }
            let causes = all.iter().filter(|_| is_for_people(args));
            let causes = causes.map(|row| (row.iteration, failure_key(row)));
            listed.push(Listed { head, rows: chosen, repeats: repeats(causes), matches });
        }
    }
    Ok(listed)
}

/// Fails if nothing is listed because of a filter that a person expects to match something.
fn check_empty(
    args: &LogArgs,
    filter: &Filter<'_>,
    context: &Context,
    sessions: &[SessionRows<'_>],
) -> Result<()> {
    let has_iterations = || sessions.iter().any(|session| session.rows().any(|row| row.is_iteration()));
    if args.json.json || args.jsonl || filter.is_open() && args.paths.is_empty() || !has_iterations() {
        return Ok(());
    }
    if args.filter.failed || args.filter.flagged {
        note("no iteration matches");
        return Ok(());
    }
    Err(no_match::explain(&args.filter, &args.paths, context, sessions)?)
}

fn below(context: &Context, session: &SessionRows<'_>, rows: &[Row<'_>]) -> Result<Below> {
    Ok(Below {
        summary: Some(summary::of_feature(context, session.feature, Some(&session.refs.session))?),
        false_claims: rows.iter().filter(|row| row.has_false_claim()).map(|row| row.iteration).collect(),
        // What cannot be counted is left out: the rows are what was asked for.
        changes: changes(context.store()?, session, rows).unwrap_or_default(),
    })
}

/// The sessions with all that their own files say.
fn print_sessions(args: &LogArgs, store: &Store) -> Result<ExitCode> {
    let running = sessions::running(store)?;
    let mut described = Vec::new();
    for log in
        sessions::chosen(store, &args.only.choice)?.iter().rev().take(args.max_count.unwrap_or(usize::MAX))
    {
        if log.is_whole() || log.tip().status.is_some() {
            match sessions::describe(store, log, &running) {
                Ok(session) => described.push((session, sessions::status(store, log, &running).1)),
                // It may have come from anybody, and must not hide the others.
                Err(error) => warn(&format!("left out: session {}: {error:#}", log.id())),
            }
        }
    }
    if !args.reverse {
        described.reverse();
    }
    print(|out| write_pretty(out, &sessions_json(&described)))
}

/// Returns the parser for the names in `--format`.
pub fn field(text: &str) -> Result<String> {
    let text = text.trim();
    if is_field(text) {
        return Ok(text.to_owned());
    }
    match did_you_mean(text, FIELDS.iter().copied()) {
        Some(near) => bail!("unknown field `{text}`, did you mean `{near}`?"),
        None => bail!("unknown field `{text}`; expected one of {} and {CAPTURED}NAME", FIELDS.join(", ")),
    }
}

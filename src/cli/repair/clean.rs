//! `specify ralph clean` and `purge`: making room, and taking away what must not be there.

use std::io::{self, Write};

use anyhow::{Error, Result, bail};
use clap::Args;
use serde_json::{Value, json};

use ralph_core::record::{RALPH, Refusal, SessionId, SessionName};
use ralph_store::{CleanPlan, Extent, Leftover, PurgeReport, Remote, Rules, Store, tombstones};
use ralph_ui::style::{counted, grouped, one_line};

use crate::cli::read::sessions;
use crate::cli::share::remotes;
use crate::cli::start::{confirm, lane};
use crate::cli::{Context, ExitCode, Json, SessionChoice, emit, note, warn};

#[derive(Debug, Args)]
#[command(mut_arg("session", |session| session.help("Remove this session").conflicts_with_all(["keep_days", "keep_last"])))]
#[command(mut_arg("feature", |feature| feature.help("Only sessions of this feature, by path or by name")))]
pub struct CleanArgs {
    /// Keep what was written in the last N days [default: 30, if no other rule is given]
    #[arg(long, value_name = "N")]
    pub keep_days: Option<u32>,
    /// Keep the newest N sessions of each feature
    #[arg(long, value_name = "N")]
    pub keep_last: Option<usize>,
    /// Remove only snapshots; keep the records
    #[arg(long)]
    pub snapshots_only: bool,
    /// Remove the lanes of this repository instead, with all that was built in them
    #[arg(long, conflicts_with_all = ["keep_days", "keep_last", "snapshots_only", "session", "feature", "dry_run"])]
    pub lanes: bool,
    #[command(flatten)]
    pub choice: SessionChoice,
    /// Print what would be removed, and exit
    #[arg(long)]
    pub dry_run: bool,
    /// Remove records without confirmation
    #[arg(long)]
    pub yes: bool,
    #[command(flatten)]
    pub json: Json,
}

#[derive(Debug, Args)]
pub struct PurgeArgs {
    /// Session to purge
    #[arg(value_name = "SESSION")]
    pub session: SessionName,
    /// Remote, by name, address or path [default: the setting `remote`, else the only one]
    #[arg(long, value_name = "REMOTE")]
    pub remote: Option<String>,
    /// Only locally
    #[arg(long, conflicts_with = "remote")]
    pub local: bool,
    /// Purge without confirmation
    #[arg(long)]
    pub yes: bool,
    /// Print what would be removed, and exit
    #[arg(long)]
    pub dry_run: bool,
    #[command(flatten)]
    pub json: Json,
}

/// Days of snapshots that `clean` without rules keeps.
const DEFAULT_KEEP_DAYS: u32 = 30;

pub fn run(args: &CleanArgs, context: &Context) -> Result<ExitCode> {
    if args.lanes {
        return lane::clean(context, args.json);
    }
    let store = context.store()?;
    let now = context.now()?;
    let is_bare = args.keep_days.is_none() && args.keep_last.is_none() && args.choice.session.is_none();
    let rules = Rules {
        // Records go on an explicit rule alone.
        extent: if args.snapshots_only || is_bare { Extent::Snapshots } else { Extent::All },
        keep_days: if is_bare { Some(DEFAULT_KEEP_DAYS) } else { args.keep_days },
        keep_last: args.keep_last,
        is_named: args.choice.session.is_some(),
        now,
    };
    let logs = sessions::chosen(store, &args.choice)?;
    let plan = store.plan_clean(&logs, rules)?;
    if rules.extent == Extent::All && !args.dry_run && !args.yes {
        confirm_clean(&plan)?;
    }
    let plan = if args.dry_run { plan } else { store.clean(plan, now)? };
    let mut report = serde_json::to_value(&plan)?;
    report["is_dry_run"] = args.dry_run.into();
    report["extent"] = if rules.extent == Extent::All { "all" } else { "snapshots" }.into();
    emit(args.json, &report, |out| write(out, &plan, rules.extent, args.dry_run))?;
    let is_refused = rules.is_named && plan.sessions.is_empty() && !plan.staying.is_empty();
    Ok(if is_refused { ExitCode::NotDone } else { ExitCode::Done })
}

/// Asks before records go. If no person can answer, as in a job by the clock, the rules that were given are the answer.
fn confirm_clean(plan: &CleanPlan) -> Result<()> {
    if plan.sessions.is_empty() {
        return Ok(());
    }
    let sessions = counted(plan.sessions.len() as u64, "session");
    match confirm::ask(&format!("Remove the records of {sessions} here?"))? {
        Some(false) => {
            let hint = "`--dry-run` lists what would be removed, `--snapshots-only` keeps the records";
            Err(Refusal::new("nothing was removed").with_hint(hint).into())
        }
        Some(true) | None => Ok(()),
    }
}

fn write(out: &mut impl Write, plan: &CleanPlan, extent: Extent, is_dry_run: bool) -> io::Result<()> {
    let what = match extent {
        Extent::Snapshots => "snapshots of ",
        Extent::All => "",
    };
    for going in &plan.sessions {
        writeln!(
            out,
            "{what}{}  {}  {}, last written {}",
            going.session,
            one_line(&going.feature),
            counted(going.iterations as u64, "iteration"),
            going.ended_at
        )?;
    }
    for staying in &plan.staying {
        writeln!(out, "stays: {}: {}", staying.session, one_line(&staying.reason))?;
    }
    for name in &plan.restorations {
        writeln!(out, "{}", one_line(name))?;
    }
    for Leftover { path, what, .. } in &plan.leftovers {
        writeln!(out, "{}  {what}", one_line(path.as_str()))?;
    }
    let others = plan.restorations.len() + plan.leftovers.len();
    if plan.sessions.is_empty() && others == 0 {
        return writeln!(out, "nothing is old enough to remove");
    }
    let verb = if is_dry_run { "would go" } else { "removed" };
    let mut parts = Vec::new();
    if !plan.sessions.is_empty() {
        parts.push(format!("{what}{}", counted(plan.sessions.len() as u64, "session")));
    }
    if others > 0 {
        let bytes: u64 = plan.leftovers.iter().map(|leftover| leftover.bytes).sum();
        let size =
            if bytes > 0 { format!(" of {} KB", grouped(bytes.div_ceil(1024))) } else { String::new() };
        parts.push(format!("{}{size}", counted(others as u64, "leftover")));
    }
    let size = plan.bytes.filter(|bytes| *bytes > 0);
    let size = size.map_or(String::new(), |bytes| {
        format!("; `git gc` frees {} KB in time, `git gc --prune=now` at once", grouped(bytes.div_ceil(1024)))
    });
    writeln!(out, "{verb}: {}{size}", parts.join(", "))
}

fn to_json(report: &PurgeReport, session: &SessionId, remote: Option<&str>) -> Result<Value> {
    let mut json = serde_json::to_value(report)?;
    json["session"] = json!(session);
    json["remote"] = json!(remote);
    Ok(json)
}

pub fn purge(args: &PurgeArgs, context: &Context) -> Result<ExitCode> {
    let store = context.store()?;
    let at = context.now()?;
    let hint = "name it with `--remote NAME`, once for each that has the session, or remove it only here with `--local`";
    let remote = if args.local { None } else { remotes::any(context, args.remote.as_deref(), hint)? };
    let session = session(store, &args.session)?;
    let place = remote.as_ref().map(Remote::place);
    if args.dry_run {
        let plan = store.plan_purge(&session)?;
        let mut report = to_json(&plan, &session, place.as_deref())?;
        report["is_dry_run"] = true.into();
        return emit(args.json, &report, |out| write_purge_plan(out, &plan, place.as_deref()));
    }
    confirm_purge(args, &session, place.as_deref())?;
    let mut purged = store.purge(&session, at)?;
    let tried = remote.as_ref().map_or(Ok(()), |remote| store.purge_at(remote, &session, at, &mut purged));
    let mut report = to_json(&purged, &session, place.as_deref())?;
    report["error"] = json!(tried.as_ref().err().map(|error| format!("{error:#}")));
    emit(args.json, &report, |out| write_purged(out, &purged, place.as_deref()))?;
    for kept in &purged.left {
        warn(&format!("left as it is: {}: {}", kept.name, kept.reason));
    }
    advise(&session, remote.is_some(), args.local);
    tried.map_err(|error| {
        Error::msg(format!(
            "{error:#}\nhint: it is purged here; `{RALPH} purge {session} --yes` retries the remote"
        ))
    })?;
    Ok(if purged.left.is_empty() { ExitCode::Done } else { ExitCode::NotDone })
}

/// What cannot be undone is asked on the terminal, and goes without a person with `--yes` alone.
fn confirm_purge(args: &PurgeArgs, session: &SessionId, place: Option<&str>) -> Result<()> {
    if args.yes {
        return Ok(());
    }
    let there = place.map_or(String::new(), |place| format!(" and at {}", one_line(place)));
    match confirm::ask(&format!("Remove session {session} for good, here{there}?"))? {
        Some(true) => Ok(()),
        Some(false) => Err(Refusal::new("nothing was removed").into()),
        None => {
            let refusal = Refusal::new(format!("a purge of session {session} cannot be undone"));
            Err(refusal.with_hint("add `--yes`; `--dry-run` lists what it removes").into())
        }
    }
}

fn write_purge_plan(out: &mut impl Write, plan: &PurgeReport, place: Option<&str>) -> io::Result<()> {
    for name in plan.here.iter().map(String::as_str).chain(plan.kept.iter().map(|path| path.as_str())) {
        writeln!(out, "would remove {}", one_line(name))?;
    }
    place.map_or(Ok(()), |place| writeln!(out, "would look for the session at {}", one_line(place)))
}

fn write_purged(out: &mut impl Write, purged: &PurgeReport, place: Option<&str>) -> io::Result<()> {
    for name in &purged.here {
        writeln!(out, "removed {name}")?;
    }
    if purged.notes > 0 {
        writeln!(out, "removed its lines from {}", counted(purged.notes as u64, "note"))?;
    }
    for path in &purged.kept {
        writeln!(out, "removed {}", one_line(path.as_str()))?;
    }
    let place = one_line(place.unwrap_or_default());
    for name in &purged.there {
        writeln!(out, "removed {} at {place}", one_line(name))?;
    }
    Ok(())
}

/// What a purge cannot do.
fn advise(session: &SessionId, has_remote: bool, is_local: bool) {
    let remote = if has_remote {
        "the host may keep the objects for a while: ask its administrator to collect them".to_owned()
    } else if is_local {
        "remotes were not touched".to_owned()
    } else {
        format!(
            "this repository has no remote: if another repository has the session, `{RALPH} purge {session} --remote ADDRESS`"
        )
    };
    let advice = format!(
        "what is left to do:\n\
         - rotate the secret, if there was one: every clone that fetched it has it\n\
         - here its objects stay until git collects them: `git reflog expire --expire=now --all && git gc --prune=now`\n\
         - {remote}\n\
         - in every clone that has the session: `{RALPH} sync`, then `{RALPH} purge {session} --local`\n\
         - progress.txt and the code itself are not looked at"
    );
    note(advice);
}

/// Returns a session that is here, or a whole id: it may be at the remote alone.
fn session(store: &Store, name: &SessionName) -> Result<SessionId> {
    let mut found: Vec<SessionId> = store.session_names()?.into_iter().map(|refs| refs.session).collect();
    found.extend(tombstones::sessions(store)?);
    found.retain(|id| name.matches(id));
    found.sort();
    found.dedup();
    match (found.as_slice(), name.to_string().parse()) {
        ([one], _) => Ok(one.clone()),
        ([], Ok(whole)) => Ok(whole),
        ([], Err(_)) => {
            bail!(
                "there is no session {name} here\nhint: give the whole id of a session that is only at the remote"
            )
        }
        (several, _) => {
            bail!("{} sessions begin with {name}\nhint: give more digits of the id", several.len())
        }
    }
}

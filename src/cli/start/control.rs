//! `specify ralph stop`: asks a running loop to end, from another terminal.

use std::collections::BTreeSet;

use anyhow::Result;

use ralph_core::record::{RALPH, Refusal, SessionId, SessionName};
use ralph_os::process;
use ralph_store::{Control, Holder, LoopLock, Spool, Stop, Store};

use crate::cli::{Context, ExitCode, say};

pub fn stop(now: bool, session: Option<&SessionName>, context: &Context) -> Result<ExitCode> {
    let (stop, when) = if now {
        (Stop::Now, "now; the running iteration is recorded as interrupted")
    } else {
        (Stop::AfterIteration, "after this attempt")
    };
    let store = context.store()?;
    let holders = LoopLock::holders(store.repository())?;
    let named = holders.iter().filter(|holder| is_named(holder, session));
    let groups: BTreeSet<Option<SessionId>> = named.map(|holder| group_of(store, holder)).collect();
    // Those that work on one branch are stopped as one.
    if let [Some(group)] = groups.into_iter().collect::<Vec<_>>().as_slice() {
        let of_group = |holder: &&Holder| group_of(store, holder).as_ref() == Some(group);
        let fellows: Vec<&Holder> = holders.iter().filter(of_group).collect();
        let controls = fellows.iter().map(|holder| Control::of(store.repository(), &holder.session));
        let controls: Vec<Control> = controls.collect();
        controls.iter().try_for_each(|control| control.ask_to_stop(stop))?;
        let left = LoopLock::holders(store.repository())?;
        for (_, control) in fellows.iter().zip(&controls).filter(|(holder, _)| !left.contains(holder)) {
            control.clear()?;
        }
        return say(format!("{} loops on one branch stop {when}", fellows.len()));
    }
    let Some(holder) = running(context, session)? else {
        return Err(no_loop(match session {
            Some(id) => format!("session {id} is not running"),
            None => "no loop is running in this repository".to_owned(),
        }));
    };
    let control = Control::of(store.repository(), &holder.session);
    control.ask_to_stop(stop)?;
    if !LoopLock::holders(store.repository())?.contains(&holder) {
        control.clear()?;
        return Err(no_loop(format!("session {} has just ended", holder.session)));
    }
    say(format!("session {} stops {when}", holder.session))
}

/// Returns the first session of the group of a loop that runs.
fn group_of(store: &Store, holder: &Holder) -> Option<SessionId> {
    Spool::place_of(store.repository(), &holder.session).ok()??.begun.group
}

/// Refuses what changes records, settings or files of a loop within an iteration of its: an agent would speak as a person. A project
/// may well run this program elsewhere. It is known by descent from the loop, which holds the lock of this repository.
pub fn refuse_within_iteration(context: &Context) -> Result<()> {
    let Ok(store) = context.store() else { return Ok(()) };
    let is_outer = |holder: &Holder| {
        holder.host == process::host_name() && i32::try_from(holder.pid).is_ok_and(process::is_below)
    };
    let Some(outer) = LoopLock::holders(store.repository())?.into_iter().find(is_outer) else {
        return Ok(());
    };
    let message = format!(
        "this is an iteration of session {}, in which commands of its repository only read",
        outer.session
    );
    Err(Refusal::new(message).with_hint("run it outside of the loop's own agents and validations").into())
}

/// Returns the running session that is meant: the one named, or the one of this work tree, or the only one.
pub fn running(context: &Context, wanted: Option<&SessionName>) -> Result<Option<Holder>> {
    let holders = LoopLock::holders(context.store()?.repository())?;
    let found: Vec<&Holder> = holders.iter().filter(|holder| is_named(holder, wanted)).collect();
    let here = match context.work_tree() {
        Ok(work_tree) => LoopLock::holder_here(work_tree)?.filter(|here| is_named(here, wanted)),
        Err(_) => None,
    };
    match (here, found.as_slice()) {
        (Some(here), _) => Ok(Some(here)),
        (None, []) => Ok(None),
        (None, [only]) => Ok(Some((*only).clone())),
        (None, several) => {
            let ids: Vec<String> = several.iter().map(|holder| holder.session.to_string()).collect();
            Err(Refusal::new(format!("several loops are running: {}", ids.join(", ")))
                .with_hint("name one with --session, or run this in its work tree")
                .into())
        }
    }
}

fn no_loop(message: String) -> anyhow::Error {
    Refusal::new(message).with_hint(format!("`{RALPH} status` shows running loops")).into()
}

fn is_named(holder: &Holder, wanted: Option<&SessionName>) -> bool {
    wanted.is_none_or(|name| name.matches(&holder.session))
}

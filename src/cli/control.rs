//! `specify ralph stop`, `hint`, `pause` and `continue`: what a running loop is asked for from another terminal.

use anyhow::{Result, bail};
use clap::Args;

use crate::record::{RALPH, Refusal, SessionId, SessionName};
use crate::store::{Control, Holder, LoopLock, Stop, Store};
use crate::view::style::one_line;

use super::run::unfinished;
use super::settings::load_here;
use super::{Context, ExitCode, Flags, SessionChoice, say, setup, warn};

#[derive(Debug, Args)]
pub struct StopArgs {
    /// Stop the agent too, and record its iteration as interrupted
    #[arg(long)]
    pub now: bool,
    /// Session [default: the one of this work tree, or the only one that runs]
    #[arg(long, value_name = "SESSION")]
    pub session: Option<SessionName>,
}

#[derive(Debug, Args)]
pub struct HintArgs {
    /// What the agent should know
    #[arg(value_name = "TEXT", required = true)]
    pub text: Vec<String>,
    /// Session [default: the one of this work tree, the only running one, or the one that `resume` would continue]
    #[arg(long, value_name = "SESSION")]
    pub session: Option<SessionName>,
}

#[derive(Debug, Args)]
pub struct PauseArgs {
    /// Session [default: the one of this work tree, or the only one that runs]
    #[arg(long, value_name = "SESSION")]
    pub session: Option<SessionName>,
}

pub fn stop(args: &StopArgs, context: &Context) -> Result<ExitCode> {
    let (stop, when) = if args.now {
        (Stop::Now, "now; the running iteration is recorded as interrupted")
    } else {
        (Stop::AfterIteration, "after this iteration")
    };
    steer(context, args.session.as_ref(), |control, id| {
        control.ask_to_stop(stop)?;
        Ok(format!("session {id} stops {when}"))
    })
}

pub fn hint(args: &HintArgs, context: &Context) -> Result<ExitCode> {
    let text = args.text.join(" ");
    if text.trim().is_empty() {
        bail!(
            Refusal::new("the hint is empty")
                .with_hint(format!("{RALPH} hint 'use the parser that is there'"))
        );
    }
    let store = context.store()?;
    if is_without_hints(context) {
        let message = "the project's template has no place for {{ hints }}: the hint is appended at the end of the prompt";
        warn(message);
    }
    let shown = one_line(text.trim());
    let Some(holder) = running(store, args.session.as_ref())? else {
        let choice = SessionChoice { session: args.session.clone(), feature: None };
        let session = unfinished(store, &choice, false)?.session;
        Control::of(store.repository(), &session).leave_hint(&text)?;
        return say(format_args!(
            "session {session} gets it when it is resumed (`{RALPH} resume {session}`): {shown}"
        ));
    };
    let control = Control::of(store.repository(), &holder.session);
    let path = control.leave_hint(&text)?;
    // It may have ended meanwhile, without taking the hint.
    let is_gone = !LoopLock::holders(store.repository())?.contains(&holder);
    if is_gone && control.take_away(&path)? {
        control.clear()?;
        return Err(no_loop(format!("session {} has just ended", holder.session)));
    }
    say(format_args!("session {} gets it with its next prompt: {shown}", holder.session))
}

/// Returns true if the template of this project places no hints. One that cannot be read is the loop's to complain of.
fn is_without_hints(context: &Context) -> bool {
    let read = load_here(context, Flags::default())
        .and_then(|(project, config)| setup::template(&project, &config.loop_type));
    read.is_ok_and(|template| template.missing().contains(&"hints"))
}

pub fn pause(args: &PauseArgs, context: &Context) -> Result<ExitCode> {
    steer(context, args.session.as_ref(), |control, id| {
        control.ask_to_pause()?;
        Ok(format!("session {id} pauses after this iteration; `{RALPH} continue` continues it"))
    })
}

pub fn go_on(args: &PauseArgs, context: &Context) -> Result<ExitCode> {
    steer(context, args.session.as_ref(), |control, id| {
        Ok(if control.ask_to_continue()? {
            format!("session {id} goes on")
        } else {
            format!("session {id} was not paused")
        })
    })
}

fn steer(
    context: &Context,
    session: Option<&SessionName>,
    ask: impl FnOnce(&Control, &SessionId) -> Result<String>,
) -> Result<ExitCode> {
    let store = context.store()?;
    let Some(holder) = running(store, session)? else {
        return Err(no_loop(match session {
            Some(id) => format!("session {id} is not running"),
            None => "no loop is running in this repository".to_owned(),
        }));
    };
    let control = Control::of(store.repository(), &holder.session);
    let message = ask(&control, &holder.session)?;
    if !LoopLock::holders(store.repository())?.contains(&holder) {
        control.clear()?;
        return Err(no_loop(format!("session {} has just ended", holder.session)));
    }
    say(message)
}

/// Returns the running session that is meant: the one named, or the one of this work tree, or the only one.
fn running(store: &Store, wanted: Option<&SessionName>) -> Result<Option<Holder>> {
    let holders = LoopLock::holders(store.repository())?;
    let named = |holder: &&Holder| wanted.is_none_or(|name| name.matches(&holder.session));
    let found: Vec<&Holder> = holders.iter().filter(named).collect();
    let here = LoopLock::holder_here(store.repository())?.filter(|here| named(&here));
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

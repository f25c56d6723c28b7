//! `specify ralph sync`: records from here to others, and from others to here.

use anyhow::{Context as _, Error, Result};
use clap::Args;
use serde_json::json;

use ralph_core::record::{RALPH, Refusal};
use ralph_store::{CleanedRefs, Direction, Exchange, Remote, Snapshots, Unreachable, sessions_among};
use ralph_ui::style::{counted, one_line};
use ralph_ui::sync::{warnings, write_exchange};

use crate::cli::settings::load_here;
use crate::cli::share::remotes;
use crate::cli::start::approvals::{Approvals, Approved};
use crate::cli::start::confirm;
use crate::cli::{Context, ExitCode, Flags, Json, emit, warn};

#[derive(Debug, Args)]
pub struct SyncArgs {
    /// Remote, by name, address or path [default: the setting `remote`, else the only one]
    #[arg(value_name = "REMOTE")]
    pub remote: Option<String>,
    /// Include snapshots of the work tree: all code, with untracked files
    #[arg(long)]
    pub snapshots: bool,
    /// Fetch again what `clean` removed here
    #[arg(long, conflicts_with = "push_only")]
    pub cleaned: bool,
    /// Only push
    #[arg(long, conflicts_with = "fetch_only")]
    pub push_only: bool,
    /// Only fetch
    #[arg(long)]
    pub fetch_only: bool,
    /// Push to a new address without confirmation
    #[arg(long)]
    pub yes: bool,
    #[command(flatten)]
    pub json: Json,
}

pub fn run(args: &SyncArgs, context: &Context) -> Result<ExitCode> {
    let store = context.store()?;
    let remote = remotes::chosen(context, args.remote.as_deref())?;
    let direction = match (args.push_only, args.fetch_only) {
        (true, _) => Direction::Push,
        (false, true) => Direction::Fetch,
        (false, false) => Direction::Both,
    };
    let snapshots = if args.snapshots { Snapshots::Take } else { Snapshots::Leave };
    let cleaned = if args.cleaned { CleanedRefs::Take } else { CleanedRefs::Leave };
    let at = context.now()?;
    if direction != Direction::Fetch {
        confirm_push(&remote, args.snapshots, args.yes, context)?;
    }
    let exchange = store.sync(&remote, direction, snapshots, cleaned, at).map_err(explained)?;
    report(&exchange, &remote.place(), args.json)
}

/// Says what goes where, and asks, before records go to an address for the first time.
pub fn confirm_push(remote: &Remote, with_snapshots: bool, is_yes: bool, context: &Context) -> Result<()> {
    let sessions = context.store()?.session_names()?.len();
    if sessions == 0 {
        return Ok(());
    }
    let snapshots = if with_snapshots { ", and snapshots of the work tree, not redacted" } else { "" };
    let addresses = remote.push_addresses(context.store()?.repository())?;
    let is_where_it_fetches = addresses.iter().eq(remote.url.iter());
    let place = if is_where_it_fetches { remote.place() } else { place_with_addresses(remote, &addresses) };
    let what = format!(
        "{} with prompts, outputs and what agents said, redacted{snapshots}, would go to {} for the first time",
        counted(sessions as u64, "session"),
        one_line(&place)
    );
    let push = |address| Approved::Push { address, snapshots: with_snapshots };
    let declined = Refusal::new("nothing was pushed or fetched");
    let first = FirstPush {
        pushes: addresses.iter().map(|address| push(address.as_str())).collect(),
        what,
        declined: declined.with_hint(format!("`{RALPH} sync --fetch-only` fetches")),
        unasked: format!(
            "`{RALPH} sync --yes` pushes and remembers it; `git config ralph.sync.confirmed true` never asks"
        ),
    };
    first.confirm(is_yes, context)
}

/// Names a remote with the addresses to which git pushes: `origin (https://host/shop.git)`.
pub fn place_with_addresses(remote: &Remote, addresses: &[String]) -> String {
    let shown = |name: &String| Remote { name: name.clone(), ..remote.clone() }.place();
    let (place, addresses) = (remote.place(), addresses.iter().map(shown).collect::<Vec<_>>().join(", "));
    if addresses == place { place } else { format!("{place} ({addresses})") }
}

/// What goes to an address, or to several, for the first time.
pub struct FirstPush<'a> {
    /// One for each address.
    pub pushes: Vec<Approved<'a>>,
    /// In words.
    pub what: String,
    /// Said where the person does not want it.
    pub declined: Refusal,
    /// What to do where no person is there to be asked.
    pub unasked: String,
}

impl FirstPush<'_> {
    /// Says what goes where, and asks, unless it was approved before.
    pub fn confirm(self, is_yes: bool, context: &Context) -> Result<()> {
        let (_, config) = load_here(context, Flags::default())?;
        if config.settings.sync_confirmed {
            return Ok(());
        }
        let approvals = Approvals::of(context)?;
        let mut new = Vec::new();
        for push in self.pushes {
            if !approvals.hold(push)? {
                new.push(push);
            }
        }
        if new.is_empty() {
            return Ok(());
        }
        let question = format!("{}\nwhere everyone with read access can read them. Push?", self.what);
        match if is_yes { Some(true) } else { confirm::ask(&question)? } {
            Some(true) => new.into_iter().try_for_each(|push| approvals.approve(push)),
            Some(false) => Err(self.declined.into()),
            None => Err(Refusal::new(self.what).with_hint(self.unasked).into()),
        }
    }
}

fn report(exchange: &Exchange, place: &str, json: Json) -> Result<ExitCode> {
    let mut report = serde_json::to_value(exchange).context("write what was synced")?;
    report["remote"] = place.into();
    report["sessions_fetched"] = json!(sessions_among(exchange.fetched.iter().map(|one| &one.name)));
    emit(json, &report, |out| write_exchange(out, exchange, place))?;
    for message in warnings(exchange, place) {
        warn(&message);
    }
    let is_whole = exchange.left_out.is_empty() && exchange.stopped.is_none();
    Ok(if is_whole { ExitCode::Done } else { ExitCode::NotDone })
}

/// Returns what to do where the other side gives no answer at all.
fn explained(error: Error) -> Error {
    if error.chain().any(<dyn std::error::Error>::is::<Unreachable>) {
        let hint = "nothing was changed; `git ls-remote` must work there without asking for a password";
        return Error::msg(format!("{error:#}\nhint: {hint}"));
    }
    error
}

//! `specify ralph web`: the pages of `report` in a browser, for as long as it runs.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::{ErrorKind, IsTerminal};
use std::net::{Ipv4Addr, TcpListener};

use anyhow::{Context as _, Result, anyhow};
use camino::Utf8Path;
use clap::Args;
use hyper::StatusCode;

use ralph_core::record::{SessionId, SessionName, hex};
use ralph_store::{Control, Spool, Store, random_bytes};
use ralph_ui::report::{Limits, Medium, index_page, page};

use crate::cli::read::web_server::{HttpReply, serve};
use crate::cli::read::{report, report_file, report_sessions, sessions};
use crate::cli::{Context, ExitCode, SessionChoice, say};

/// The page of a session has the size of that of `report`.
const LIMITS: Limits = Limits { max_size: 3_000_000, max_part: 64 << 10 };

#[derive(Debug, Args)]
pub struct WebArgs {
    /// Port on loopback [default: a free one]
    #[arg(long, value_name = "PORT", default_value_t = 0, hide_default_value = true)]
    pub port: u16,
    /// Open the index in $BROWSER or the system's browser [default on a terminal]
    #[arg(long, overrides_with = "no_open")]
    pub open: bool,
    /// Open no browser
    #[arg(long)]
    pub no_open: bool,
}

pub fn run(args: &WebArgs, context: &Context) -> Result<ExitCode> {
    context.store()?;
    let listener = listen(args.port)?;
    let port = listener.local_addr().context("read the address of the server")?.port();
    // A random word that cannot be guessed.
    let root = format!("/{}/", hex(&random_bytes::<16>()?));
    let address = format!("http://127.0.0.1:{port}{root}");
    say(format_args!(
        "{address}\nCtrl-C ends it. The address gives access to all records: keep it to yourself."
    ))?;
    if args.open || (!args.no_open && std::io::stdout().is_terminal()) {
        report_file::open(Utf8Path::new(&address), context)?;
    }
    let here = context.clone();
    serve(listener, move |path, query| {
        // The repository's settings may change meanwhile.
        let context = Context::at(here.directory.clone(), here.environment.clone(), here.color);
        answer(&root, path, query, &context)
    })?;
    Ok(ExitCode::Done)
}

fn listen(port: u16) -> Result<TcpListener> {
    TcpListener::bind((Ipv4Addr::LOCALHOST, port)).map_err(|error| {
        let why = error.kind();
        if why == ErrorKind::AddrInUse {
            anyhow!("port {port} is in use\nhint: choose another, or omit --port for a free one")
        } else if why == ErrorKind::PermissionDenied {
            anyhow!("port {port} is not allowed for this user\nhint: choose one above 1023")
        } else {
            anyhow!(error).context(format!("listen on port {port}"))
        }
    })
}

fn answer(root: &str, path: &str, query: Option<&str>, context: &Context) -> HttpReply {
    let Some(target) = target(root, path) else {
        return HttpReply::refused(StatusCode::NOT_FOUND, "there is no such page");
    };
    let made = match query {
        Some("state") => context.store().and_then(|store| state(&target, store)),
        _ => write(&target, root, context),
    };
    match made {
        Ok(body) => HttpReply { status: StatusCode::OK, is_page: query != Some("state"), body },
        Err(error) => HttpReply::refused(StatusCode::NOT_FOUND, &format!("{error:#}")),
    }
}

/// Returns the session whose page `path` asks for: none for the index. `None` if it is not below
/// `root` or no page of ours.
fn target(root: &str, path: &str) -> Option<Vec<SessionName>> {
    let (start, rest) = path.split_at_checked(root.len())?;
    // In a time that does not depend on how much of it was guessed.
    let differing =
        start.bytes().zip(root.bytes()).fold(0, |differing, (one, other)| differing | (one ^ other));
    if differing != 0 {
        return None;
    }
    let names: Vec<SessionName> = rest
        .split('/')
        .filter(|name| !name.is_empty())
        .map(|name| name.parse().ok())
        .collect::<Option<_>>()?;
    (names.len() <= 1).then_some(names)
}

fn write(target: &[SessionName], root: &str, context: &Context) -> Result<String> {
    let store = context.store()?;
    // Before anything is read: what comes meanwhile makes the page load again.
    let state = state(target, store)?;
    let medium = Medium::Web { root, state: &state };
    match target {
        [] => {
            let mut unreadable = Vec::new();
            let logs = sessions::readable(store, &SessionChoice::default(), &mut unreadable)?;
            index_page(&report_sessions::index(store, context, &logs, &unreadable)?, medium)
        }
        [name, ..] => {
            let choice = SessionChoice { session: Some(name.clone()), feature: None };
            let log = sessions::with_group(store, &sessions::latest(store, &choice)?)?;
            page(&report::read(store, &log, context, LIMITS, false, true)?, LIMITS, medium)
        }
    }
}

fn is_shown(id: &SessionId, target: &[SessionName]) -> bool {
    target.is_empty() || target.iter().any(|name| name.matches(id))
}

/// Returns a word that changes when the sessions of a page do.
fn state(target: &[SessionName], store: &Store) -> Result<String> {
    let mut seen = DefaultHasher::new();
    // The page of a session is one of its group.
    let target = match target {
        [] => Vec::new(),
        [name, ..] => {
            let choice = SessionChoice { session: Some(name.clone()), feature: None };
            let log = sessions::with_group(store, &sessions::latest(store, &choice)?)?;
            log.view().sessions().map(|id| id.clone().into()).collect()
        }
    };
    let target = target.as_slice();
    for (_, tip) in store.log_tips()?.iter().filter(|(refs, _)| is_shown(&refs.session, target)) {
        tip.as_str().hash(&mut seen);
    }
    for holder in sessions::running(store)?.iter().filter(|holder| is_shown(&holder.session, target)) {
        holder.session.as_str().hash(&mut seen);
        Spool::in_flight(store.repository(), &holder.session).map(|begin| begin.iteration).hash(&mut seen);
        let waiting = Control::of(store.repository(), &holder.session).waiting();
        waiting.map(|waiting| waiting.until.seconds()).hash(&mut seen);
    }
    Ok(format!("{:016x}", seen.finish()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_without_the_token_or_beyond_the_pages_ask_for_nothing() {
        let name = |text: &str| text.parse::<SessionName>().unwrap();
        for (path, expected) in [
            ("/abc/", Some(vec![])),
            ("/abc/20261121-2", Some(vec![name("20261121-2")])),
            ("/abc/20261121/20261122", None),
            ("/abc/1/2/3", None),
            ("/", None),
            ("/abd/", None),
            ("/abc", None),
            ("/ab/c", None),
            ("/é", None),
            ("/abc/../../etc/passwd", None),
            ("/abc/%2e%2e/x", None),
            ("/abc/report.html", None),
        ] {
            assert_eq!(target("/abc/", path), expected, "{path}");
        }
    }
}

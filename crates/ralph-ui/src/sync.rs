//! What a sync did, in words.

use std::collections::BTreeSet;
use std::io::{self, Write};

use ralph_core::record::{RALPH, SessionId};
use ralph_store::{Exchange, MovedRef, SessionRefs, sessions_among};

use super::style::{counted, joined, one_line};

/// Maximum number of sessions that are named; more are counted.
const NAMED: usize = 20;

pub fn write_exchange(out: &mut dyn Write, exchange: &Exchange, place: &str) -> io::Result<()> {
    let Exchange { fetched, pushed, cleaned, left_out, lost, purged_but_here, purged_but_there, .. } =
        exchange;
    for (verb, moved) in [("fetched", fetched), ("pushed", pushed)] {
        for session in sessions(moved).iter().take(NAMED) {
            writeln!(out, "{verb:<7}  {session}")?;
        }
    }
    let place = one_line(place);
    let moved = [(fetched, "fetched from"), (pushed, "pushed to")]
        .map(|(moved, what)| sessions_in_words(moved).map(|words| format!("{words} {what} {place}")));
    // Nothing is to be said between both sides.
    let is_at_one = left_out.is_empty()
        && exchange.stopped.is_none()
        && [lost, purged_but_here, purged_but_there, cleaned].iter().all(|names| names.is_empty());
    match joined(moved, ", ") {
        Some(words) => writeln!(out, "{words}")?,
        None if is_at_one => writeln!(out, "already in sync with {place}")?,
        None => {}
    }
    let away = cleaned.iter().filter_map(|name| SessionRefs::from_name(name));
    let away: BTreeSet<SessionId> = away.map(|refs| refs.session).collect();
    let (sessions, them) = match away.len() {
        0 => return Ok(()),
        1 => ("1 session stays away that was".to_owned(), "it"),
        many => (format!("{many} sessions stay away that were"), "them"),
    };
    writeln!(out, "{sessions} cleaned away here; `{RALPH} sync --cleaned` brings {them} back")
}

/// Sessions, and how many of them have come with snapshots alone.
fn sessions_in_words(moved: &[MovedRef]) -> Option<String> {
    let sessions = sessions(moved).len();
    let alone = moved.len() - sessions;
    let with_logs = (sessions > 0).then(|| counted(sessions as u64, "session"));
    let alone = (alone > 0).then(|| format!("snapshots of {}", counted(alone as u64, "session")));
    joined([with_logs, alone], " and the ")
}

fn sessions(moved: &[MovedRef]) -> Vec<SessionId> {
    sessions_among(moved.iter().map(|one| &one.name))
}

/// What the user should know beside it.
pub fn warnings(exchange: &Exchange, place: &str) -> Vec<String> {
    let Exchange { left_out, lost, purged_but_here, purged_but_there, stopped, said, .. } = exchange;
    let mut warnings = Vec::new();
    if let Some(reason) = stopped {
        warnings.push(format!(
            "stopped before all was done: {reason}\nhint: what was brought over stays; sync again for the rest"
        ));
    }
    for kept in left_out.iter().take(NAMED) {
        warnings.push(format!("left as it is: {}: {}", kept.name, kept.reason));
    }
    if left_out.len() > NAMED {
        warnings.push(format!("and {} more", left_out.len() - NAMED));
    }
    for words in said {
        warnings.push(format!("{place} says: {words}"));
    }
    if !lost.is_empty() {
        let names: Vec<&str> = lost.iter().take(NAMED).map(String::as_str).collect();
        let hint = if lost.iter().all(|name| exchange.pushed.iter().any(|one| one.name == *name)) {
            "they were pushed back".to_owned()
        } else {
            format!("what is here goes back with `{RALPH} sync`")
        };
        warnings.push(format!(
            "{place} has lost {} since the last sync: {}\nhint: {hint}; look who deletes refs there (`git push --mirror` does)",
            counted(lost.len() as u64, "ref"),
            names.join(", ")
        ));
    }
    if !purged_but_here.is_empty() {
        warnings.push(format!(
            "purged elsewhere, but still here: {}\nhint: `{RALPH} purge SESSION` removes it here, too",
            purged_but_here.join(", ")
        ));
    }
    if !purged_but_there.is_empty() {
        warnings.push(format!(
            "purged, and still at {place}: {}\nhint: `{RALPH} purge SESSION` retries it there",
            purged_but_there.join(", ")
        ));
    }
    warnings
}

#[cfg(test)]
mod tests {
    use super::*;

    fn printed(exchange: &Exchange) -> String {
        let mut out = Vec::new();
        write_exchange(&mut out, exchange, "origin").unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn what_was_moved_is_reported_in_words() {
        let one = |name: &str| MovedRef { name: name.to_owned(), commit: "0".repeat(40).parse().unwrap() };
        let log = one("refs/ralph/001-login/20261121-204512-3f9a0c1d");
        let snapshot = one("refs/ralph-snap/001-login/20261121-204512-3f9a0c1d");
        assert_eq!(printed(&Exchange::default()), "already in sync with origin\n");
        let away = Exchange {
            cleaned: vec![snapshot.name.clone(), log.name.clone()],
            lost: vec![log.name.clone()],
            ..Exchange::default()
        };
        assert_eq!(
            printed(&away),
            "1 session stays away that was cleaned away here; `specify ralph sync --cleaned` brings it back\n"
        );
        let lost = |pushed| {
            let exchange = Exchange { lost: vec![log.name.clone()], pushed, ..Exchange::default() };
            assert!(!printed(&exchange).contains("nothing"));
            warnings(&exchange, "origin").concat()
        };
        assert!(lost(vec![log.clone()]).contains("\nhint: they were pushed back; "));
        assert!(lost(Vec::new()).contains("\nhint: what is here goes back with `specify ralph sync`; "));
        let exchange =
            Exchange { fetched: vec![log.clone(), snapshot], pushed: vec![log], ..Exchange::default() };
        assert_eq!(
            printed(&exchange),
            "fetched  20261121-204512-3f9a0c1d\npushed   20261121-204512-3f9a0c1d\n1 session and the snapshots of 1 session fetched from origin, 1 session pushed to origin\n"
        );
    }
}

//! Bringing a ref together that many write: what the other side has is merged into ours, and ours is pushed.

use std::time::{Duration, Instant};

use anyhow::{Context, Result};

use crate::Store;
use crate::refs::database::RefUpdate;
use crate::refs::naming::INCOMING_PREFIX;
use ralph_core::record::{ObjectId, Timestamp};

use super::{Direction, Sync};
use crate::share::remote::{PushOutcome, Strictness, Unreachable};

/// How often a rejected push of a shared ref is repeated while the ref does not move.
const MAX_PUSH_ATTEMPTS: u32 = 12;

/// How long it is tried to bring such a ref together while others get through.
const PUSH_RETRY_TIMEOUT: Duration = Duration::from_mins(2);

/// Makes one commit of what is here, if anything, and theirs; or one for here, and one for there with what is not wanted here and
/// may be wanted elsewhere.
type Merge = fn(&Store, Option<&ObjectId>, &ObjectId, Timestamp) -> Result<(ObjectId, ObjectId)>;

impl Sync<'_> {
    /// Brings a ref together that many write: theirs is merged into ours, and ours is pushed, until both are one.
    pub(super) fn share(&mut self, name: &str, there: Option<&ObjectId>, merge: Merge) -> Result<()> {
        let store = self.store;
        let mut there = there.cloned();
        let began = Instant::now();
        let mut in_vain = 0;
        while in_vain < MAX_PUSH_ATTEMPTS && began.elapsed() < PUSH_RETRY_TIMEOUT {
            let old = store.refs().tip(name)?;
            let mut outgoing = old.clone();
            if let Some(theirs) = there.clone().filter(|theirs| old.as_ref() != Some(theirs)) {
                let is_known =
                    old.as_ref().is_some_and(|old| store.is_ancestor(&theirs, old).unwrap_or(false));
                if is_known || self.direction != Direction::Push {
                    let found = if is_known { Ok(theirs) } else { self.fetch_shared(name) };
                    let merged = found.and_then(|theirs| {
                        let merged = merge(store, old.as_ref(), &theirs, self.at)?;
                        Ok((theirs, merged))
                    });
                    match merged {
                        Ok((theirs, (here, new))) => {
                            there = Some(theirs);
                            outgoing = Some(new);
                            let change =
                                RefUpdate { name: name.to_owned(), old: old.clone(), new: Some(here) };
                            // Where another process was faster here, the next round has what it wrote.
                            if old != change.new && store.refs().change(&[change]).is_err() {
                                in_vain += 1;
                                continue;
                            }
                        }
                        Err(error) if error.is::<Unreachable>() => return Err(error),
                        Err(error) => {
                            self.leave_out([name.to_owned()], &format!("{error:#}"));
                            return Ok(());
                        }
                    }
                }
            }
            let Some(outgoing) = outgoing else { return Ok(()) };
            if self.direction == Direction::Fetch || there.as_ref() == Some(&outgoing) {
                return Ok(());
            }
            let pushed = self.remote.push(store.repository(), &[(name.to_owned(), outgoing)])?;
            let pushed = self.answered(pushed);
            match pushed.get(name) {
                Some(PushOutcome::Done) => return Ok(()),
                Some(PushOutcome::Refused(words)) => {
                    let reason = format!("{} refuses it: {words}", self.remote.place());
                    self.leave_out([name.to_owned()], &reason);
                    return Ok(());
                }
                Some(PushOutcome::Behind) | None => {}
            }
            let now = self.remote.list(store.repository())?.get(name).cloned();
            // If it was moved, another process succeeded: there is progress.
            in_vain = if now == there { in_vain + 1 } else { 0 };
            there = now;
            if self.direction == Direction::Push && !self.has(there.as_ref())? {
                self.leave_out(
                    [name.to_owned()],
                    "the remote has newer lines; a sync that also fetches merges them",
                );
                return Ok(());
            }
            // Others do the same at this moment: not all at once again.
            let moment = began.elapsed().subsec_nanos().wrapping_add(std::process::id()) % 150;
            std::thread::sleep(Duration::from_millis(u64::from(moment) + 20 * u64::from(in_vain)));
        }
        self.leave_out([name.to_owned()], "others are writing it; the next sync merges it");
        Ok(())
    }

    fn has(&self, commit: Option<&ObjectId>) -> Result<bool> {
        commit.map_or(Ok(true), |commit| self.store.has(commit))
    }

    fn fetch_shared(&self, name: &str) -> Result<ObjectId> {
        let incoming = format!("{INCOMING_PREFIX}shared");
        self.remote.fetch(self.store.repository(), &[(name, &incoming)], Strictness::Strict)?;
        self.store.refs().tip(&incoming)?.context("find what was fetched")
    }
}

//! Our small packs, merged into one: a loop that lives long leaves a pack for every thousand objects otherwise.
//!
//! Only packs that we wrote are merged, as `git repack --geometric=2` would choose them, so that no object is written
//! again more often than the logarithm of their number. An old pack goes after every object of it is in the new one.

use std::fs;
use std::time::Duration;

use anyhow::{Context, Result, bail};

use crate::process::{LONG, create_private_dir};

use super::own::OwnPacks;
use super::packing::{MERGED, Packing, free_space};
use crate::store::local::disk;

/// Number of our packs from which they are merged. Git collects a repository at 50.
const MIN_PACKS_TO_MERGE: usize = 8;

/// How much bigger each pack must be than all smaller ones together.
const FACTOR: u64 = 2;

/// How long git itself believes that a collection still runs.
const MAX_COLLECTION_TIME: Duration = Duration::from_secs(12 * 60 * 60);

impl Packing<'_> {
    /// Merges our small packs into a draft, and lists it. Returns true if there is one.
    pub(super) fn merge(&self, packs: &mut OwnPacks<'_>) -> Result<bool> {
        let repository = self.store.repository();
        let found = packs.mergeable()?;
        if found.len() < MIN_PACKS_TO_MERGE || self.is_collecting() {
            return Ok(false);
        }
        let sizes: Vec<u64> = found.iter().map(|(size, _)| *size).collect();
        let (small, _) = found.split_at(count_to_merge(&sizes));
        let bytes: u64 = small.iter().map(|(size, _)| size).sum();
        if small.is_empty() || free_space(repository)? < bytes.saturating_mul(2) {
            return Ok(false);
        }
        let names: Vec<String> = small.iter().map(|(_, name)| name.clone()).collect();
        let folder = self.drafts.join("pack");
        create_private_dir(&folder)?;
        disk::share(&folder, repository.sharing)?;
        let wanted: String = names.iter().map(|name| format!("{name}.pack\n")).collect();
        let written = self
            .git()
            .args(["-c", "pack.packSizeLimit=0", "pack-objects", "--stdin-packs"])
            .args(["--delta-base-offset", "--non-empty", "--quiet"])
            .arg(folder.join(MERGED.trim_end_matches('-')).as_str())
            .stdin(wanted)
            .limit(LONG)
            .read();
        let written = match written {
            // The user's git packed everything anew meanwhile.
            Err(_) if names.iter().any(|name| packs.index(name).is_ok_and(|index| index.is_none())) => {
                return Ok(false);
            }
            other => other.context("merge packs of ours")?,
        };
        let sum = String::from_utf8_lossy(&written);
        let sum = sum.trim();
        if sum.is_empty() || sum.contains('\n') {
            bail!("`git pack-objects` wrote other than one pack: `{sum}`");
        }
        packs.add(&format!("pack-{sum}"), &names, &self.drafts)?;
        Ok(true)
    }

    /// Returns true if `git gc` runs, which makes one pack of all.
    fn is_collecting(&self) -> bool {
        let began =
            fs::metadata(self.store.repository().common_dir.join("gc.pid")).and_then(|file| file.modified());
        began.is_ok_and(|began| began.elapsed().unwrap_or_default() < MAX_COLLECTION_TIME)
    }
}

/// Returns how many of the smallest packs are to be merged, so that each that is left is at least [`FACTOR`] times as
/// big as the one before it. `sizes` are sorted.
fn count_to_merge(sizes: &[u64]) -> usize {
    let is_steep = |pair: &[u64]| pair[1] >= pair[0].saturating_mul(FACTOR);
    let Some(place) = sizes.windows(2).rposition(|pair| !is_steep(pair)) else { return 0 };
    let mut count = place + 2;
    let mut total: u64 = sizes[..count].iter().sum();
    while let Some(next) = sizes.get(count).filter(|next| **next < total.saturating_mul(FACTOR)) {
        total += next;
        count += 1;
    }
    count
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[track_caller]
    fn case(sizes: &[u64], expected: usize) {
        assert_eq!(count_to_merge(sizes), expected, "{sizes:?}");
    }

    #[test]
    fn packs_that_break_the_progression_are_merged_and_larger_ones_stay() {
        case(&[], 0);
        case(&[5], 0);
        case(&[5, 5], 2);
        case(&[5, 9], 2);
        case(&[5, 10], 0);
        case(&[1, 2, 4, 8, 16], 0);
        case(&[1, 1, 4, 8, 16], 2);
        // The merged pack of 7 would be before one of 9.
        case(&[3, 4, 9, 100], 3);
        case(&[1, 2, 4, 7, 100], 4);
        case(&[1, 2, 4, 7, 20, 1000], 5);
        case(&[10; 8], 8);
        case(&[10, 10, 10, 10, 10, 10, 10, 1000], 7);
        case(&[u64::MAX / 2, u64::MAX / 2], 2);
    }

    proptest! {
        #[test]
        fn what_is_left_is_a_progression(mut sizes in prop::collection::vec(0u64..1_000_000, 0..60)) {
            sizes.sort_unstable();
            let count = count_to_merge(&sizes);
            prop_assert!(count != 1);
            let merged: u64 = sizes[..count].iter().sum();
            let left: Vec<u64> = (count > 0).then_some(merged).into_iter().chain(sizes[count..].iter().copied()).collect();
            prop_assert!(left.windows(2).all(|pair| pair[1] >= pair[0] * FACTOR), "{left:?}");
        }

        #[test]
        fn a_long_life_leaves_few_packs_and_writes_each_byte_a_few_times(new in prop::collection::vec(1_000u64..3_000, 1..300)) {
            let (mut packs, mut written, mut most) = (Vec::new(), 0u64, 0);
            for size in &new {
                packs.push(*size);
                packs.sort_unstable();
                if packs.len() >= MIN_PACKS_TO_MERGE {
                    let count = count_to_merge(&packs);
                    let merged: u64 = packs.drain(..count).sum();
                    written += merged;
                    packs.extend((count > 0).then_some(merged));
                    packs.sort_unstable();
                }
                most = most.max(packs.len());
            }
            let all: u64 = new.iter().sum();
            prop_assert!(most <= 2 * MIN_PACKS_TO_MERGE, "{most}");
            prop_assert!(written <= 10 * all, "{written} of {all}");
        }
    }
}

//! How much of what is untracked the snapshots of a session take.
//!
//! A folder of data that is not ignored must not hold up the loop, and must not fill the repository. What is too
//! much stays out by whole folders, the biggest first, so that the few source files are still taken.

use std::collections::BTreeMap;

use ralph_core::record::LeftOut;

use super::raw_path::{RawPath, leave};

/// Untracked files that are taken at most.
const MAX_UNTRACKED_FILES: usize = 100_000;

/// Bytes of untracked files that are taken at most.
const BYTES: u64 = 500 * 1024 * 1024;

/// What may still be taken, beside what the private index holds.
#[derive(Debug, Clone, Copy)]
pub(super) struct SnapshotBudget {
    files: usize,
    bytes: u64,
}

impl Default for SnapshotBudget {
    fn default() -> Self {
        Self { files: MAX_UNTRACKED_FILES, bytes: BYTES }
    }
}

impl SnapshotBudget {
    /// Takes what fits of untracked files, each with its size. What does not is reported by a line for each top-level folder.
    pub fn choose(&mut self, candidates: Vec<(RawPath, u64)>, left_out: &mut Vec<LeftOut>) -> Vec<RawPath> {
        let mut taken = Vec::new();
        let mut left = Vec::new();
        self.take(candidates, 0, &mut taken, &mut left);
        let mut tops: BTreeMap<RawPath, (usize, u64)> = BTreeMap::new();
        for (path, size) in left {
            let top = match path.iter().position(|byte| *byte == b'/') {
                Some(end) => path[..=end].to_vec(),
                None => b"./".to_vec(),
            };
            let (files, bytes) = tops.entry(top).or_default();
            *files += 1;
            *bytes += size;
        }
        left_out.extend(tops.iter().map(|(top, (files, bytes))| {
            leave(top, &format!("{}{files} files, {bytes} bytes", LeftOut::TOO_MUCH))
        }));
        taken
    }

    /// Takes the whole group if it fits; else looks at its sub-folders, the smallest first.
    fn take(
        &mut self,
        group: Vec<(RawPath, u64)>,
        depth: usize,
        taken: &mut Vec<RawPath>,
        left: &mut Vec<(RawPath, u64)>,
    ) {
        let bytes = group.iter().map(|(_, size)| size).sum::<u64>();
        if group.len() <= self.files && bytes <= self.bytes {
            self.files -= group.len();
            self.bytes -= bytes;
            taken.extend(group.into_iter().map(|(path, _)| path));
            return;
        }
        // The files of this very folder are one group, under no name.
        let mut parts: BTreeMap<RawPath, Vec<(RawPath, u64)>> = BTreeMap::new();
        for (path, size) in group {
            let rest = &path[depth..];
            let end = rest.iter().position(|byte| *byte == b'/').map_or(0, |end| end + 1);
            parts.entry(rest[..end].to_vec()).or_default().push((path, size));
        }
        let mut parts: Vec<_> = parts.into_iter().collect();
        parts.sort_by_key(|(name, part)| {
            let bytes = part.iter().map(|(_, size)| size).sum::<u64>();
            (part.len() > self.files || bytes > self.bytes, part.len(), bytes, name.clone())
        });
        for (name, part) in parts {
            if name.is_empty() {
                self.take_files(part, taken, left);
            } else {
                self.take(part, depth + name.len(), taken, left);
            }
        }
    }

    /// Files of one folder: the smallest that fit.
    fn take_files(
        &mut self,
        mut files: Vec<(RawPath, u64)>,
        taken: &mut Vec<RawPath>,
        left: &mut Vec<(RawPath, u64)>,
    ) {
        files.sort_by(|(one, size), (other, other_size)| size.cmp(other_size).then_with(|| one.cmp(other)));
        for (path, size) in files {
            if self.files > 0 && size <= self.bytes {
                self.files -= 1;
                self.bytes -= size;
                taken.push(path);
            } else {
                left.push((path, size));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn case(files: usize, bytes: u64, all: &[(&str, u64)], expected: &[&str], lines: &[(&str, &str)]) {
        let candidates = all.iter().map(|(path, size)| (path.as_bytes().to_vec(), *size));
        let mut left_out = Vec::new();
        let mut budget = SnapshotBudget { files, bytes };
        let mut taken = budget.choose(candidates.collect(), &mut left_out);
        taken.sort();
        assert_eq!(taken, expected.iter().map(|path| path.as_bytes().to_vec()).collect::<Vec<_>>());
        let lines_of: Vec<_> =
            left_out.iter().map(|left| (left.path.as_str(), left.reason.as_str())).collect();
        assert_eq!(lines_of, lines);
    }

    #[test]
    fn what_fits_is_taken_whole() {
        case(3, 9, &[("a", 3), ("b/c", 3), ("b/d", 3)], &["a", "b/c", "b/d"], &[]);
        case(0, 0, &[], &[], &[]);
    }

    #[test]
    fn the_biggest_folder_stays_out_and_is_one_line() {
        let all = [("data/1", 5), ("data/2", 5), ("src/new.rs", 1), ("top", 1)];
        case(9, 9, &all, &["data/1", "src/new.rs", "top"], &[("data/", "too much: 1 files, 5 bytes")]);
        case(3, 99, &all, &["data/1", "src/new.rs", "top"], &[("data/", "too much: 1 files, 5 bytes")]);
        case(2, 99, &all, &["src/new.rs", "top"], &[("data/", "too much: 2 files, 10 bytes")]);
    }

    #[test]
    fn a_big_folder_within_a_folder_does_not_cost_its_neighbours() {
        let all = [("src/data/1", 1), ("src/data/2", 1), ("src/data/3", 1), ("src/main.rs", 1), ("x/y/z", 9)];
        case(2, 99, &all, &["src/main.rs", "x/y/z"], &[("src/", "too much: 3 files, 3 bytes")]);
        case(
            9,
            5,
            &all,
            &["src/data/1", "src/data/2", "src/data/3", "src/main.rs"],
            &[("x/", "too much: 1 files, 9 bytes")],
        );
    }

    #[test]
    fn files_at_the_top_have_a_line_of_their_own() {
        case(1, 9, &[("a", 2), ("b", 1), ("c", 3)], &["b"], &[("./", "too much: 2 files, 5 bytes")]);
    }
}

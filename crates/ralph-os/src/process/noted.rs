//! A note of the child that runs, for the next loop, should this one be killed: where environments cannot be read, the
//! marker finds none.

use std::fs;
use std::time::UNIX_EPOCH;

use camino::Utf8Path;

use super::{Process, system};

/// A child as it was noted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Noted {
    /// Its pid, which is also its group and its session.
    pid: i32,
    born: u64,
    /// When its loop lived for the last time that is known, in seconds since 1970.
    seen_at: u64,
}

/// Notes a child, and that its loop lives. A note that cannot be written stops nothing: it is for an accident.
pub(super) fn write(file: &Utf8Path, pid: i32, born: u64) {
    let draft = file.with_extension("new");
    let _written =
        fs::write(&draft, format!("{pid} {born}\n")).and_then(|()| fs::rename(&draft, file)).is_ok();
}

/// Removes the note: whatever the child started has ended.
pub(super) fn remove(file: &Utf8Path) {
    let _gone = fs::remove_file(file).is_ok();
}

impl Noted {
    pub(super) fn read(file: &Utf8Path) -> Option<Self> {
        let text = fs::read_to_string(file).ok()?;
        let (pid, born) = text.trim_end().split_once(' ')?;
        let seen_at = fs::metadata(file).and_then(|metadata| metadata.modified()).ok()?;
        let seen_at = seen_at.duration_since(UNIX_EPOCH).ok()?.as_secs();
        Some(Self { pid: pid.parse().ok()?, born: born.parse().ok()?, seen_at })
    }

    /// Returns those of a list that are the child, or of its group or session. Empty if its number has been reused
    /// since.
    pub(super) fn members<'a>(&self, all: &'a [Process]) -> Vec<&'a Process> {
        let members: Vec<&Process> = all
            .iter()
            .filter(|process| [process.pid, process.group, process.session].contains(&self.pid))
            .collect();
        let is_ours = match members.iter().find(|process| process.pid == self.pid) {
            Some(leader) => system::is_same_birth(leader.born, self.born),
            // While the loop lived the number was the child's, so who was there at that time is the child's as well.
            None => members.iter().any(|process| process.born <= self.seen_at),
        };
        if is_ours { members } else { Vec::new() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn process((pid, group, session): (i32, i32, i32), born: u64) -> Process {
        Process { pid, parent: 1, group, session, born, is_zombie: false, name: String::new() }
    }

    #[test]
    fn a_note_is_read_as_it_was_written() {
        let folder = tempfile::tempdir().unwrap();
        let file = Utf8Path::from_path(folder.path()).unwrap().join("child");
        assert_eq!(Noted::read(&file), None);
        write(&file, 17, 1_794_084_312);
        let noted = Noted::read(&file).unwrap();
        assert_eq!((noted.pid, noted.born), (17, 1_794_084_312));
        assert!(noted.seen_at > 1_700_000_000);
        remove(&file);
        assert_eq!(Noted::read(&file), None);
        fs::write(&file, "17\n").unwrap();
        assert_eq!(Noted::read(&file), None);
    }

    #[test]
    fn a_stranger_with_the_number_of_a_dead_child_is_nobody_of_ours() {
        let noted = Noted { pid: 20, born: 100, seen_at: 150 };
        let pids = |all: &[Process]| noted.members(all).iter().map(|process| process.pid).collect::<Vec<_>>();
        let [child, of_group, of_session] =
            [process((20, 20, 20), 100), process((21, 20, 20), 120), process((23, 23, 20), 160)];
        let other = process((30, 30, 1), 100);
        assert_eq!(pids(&[child, of_group.clone(), of_session.clone(), other]), [20, 21, 23]);
        assert_eq!(pids(&[of_group, of_session]), [21, 23], "the child itself has ended");
        assert_eq!(
            pids(&[process((20, 20, 20), 900), process((21, 20, 20), 901)]),
            Vec::<i32>::new(),
            "its number was given away"
        );
        assert_eq!(pids(&[process((21, 20, 20), 901)]), Vec::<i32>::new(), "and that one has ended too");
    }
}

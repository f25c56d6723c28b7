//! A note of the child that runs, for the next loop, should this one be killed: where environments cannot be read, the
//! marker finds none.

use std::fs;
use std::time::UNIX_EPOCH;

use camino::Utf8Path;

use super::{Process, system};

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

/// Returns the pid of the child that is noted, which is also its group and its session; when it was born; and when its loop lived
/// for the last time that is known, in seconds since 1970.
pub(super) fn read(file: &Utf8Path) -> Option<(i32, u64, u64)> {
    let text = fs::read_to_string(file).ok()?;
    let (pid, born) = text.trim_end().split_once(' ')?;
    let seen_at = fs::metadata(file).and_then(|metadata| metadata.modified()).ok()?;
    let seen_at = seen_at.duration_since(UNIX_EPOCH).ok()?.as_secs();
    Some((pid.parse().ok()?, born.parse().ok()?, seen_at))
}

/// Returns those of a list that are the child, or of its group or session. Empty if its number has been reused
/// since.
pub(super) fn members((pid, born, seen_at): (i32, u64, u64), all: &[Process]) -> Vec<&Process> {
    let members: Vec<&Process> =
        all.iter().filter(|process| [process.pid, process.group, process.session].contains(&pid)).collect();
    let is_ours = match members.iter().find(|process| process.pid == pid) {
        Some(leader) => system::is_same_birth(leader.born, born),
        // While the loop lived the number was the child's, so who was there at that time is the child's as well.
        None => members.iter().any(|process| process.born <= seen_at),
    };
    if is_ours { members } else { Vec::new() }
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
        assert_eq!(read(&file), None);
        write(&file, 17, 1_794_084_312);
        let (pid, born, seen_at) = read(&file).unwrap();
        assert_eq!((pid, born), (17, 1_794_084_312));
        assert!(seen_at > 1_700_000_000);
        remove(&file);
        assert_eq!(read(&file), None);
        fs::write(&file, "17\n").unwrap();
        assert_eq!(read(&file), None);
    }

    #[test]
    fn a_stranger_with_the_number_of_a_dead_child_is_nobody_of_ours() {
        let noted = (20, 100, 150);
        let pids =
            |all: &[Process]| members(noted, all).iter().map(|process| process.pid).collect::<Vec<_>>();
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

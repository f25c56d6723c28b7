//! Who descends from whom, and signals to processes of a list.

use std::collections::{BTreeMap, BTreeSet};

use super::{Process, system};
use crate::platform::{Signal, signal_process};

/// Returns a process and all that it descends from.
pub(super) fn ancestors(pid: i32, by_pid: &BTreeMap<i32, &Process>) -> BTreeSet<i32> {
    let mut found = BTreeSet::new();
    let mut next = Some(pid);
    while let Some(pid) = next {
        if !found.insert(pid) {
            break;
        }
        next = by_pid.get(&pid).map(|process| process.parent);
    }
    // Even where the list does not reach up to it.
    found.insert(1);
    found
}

/// Adds all that descends from who belongs already, but for those that are spared and what only they lead to.
pub(super) fn add_descendants(belonging: &mut BTreeSet<i32>, all: &[Process], spared: &BTreeSet<i32>) {
    loop {
        let before = belonging.len();
        for process in all {
            if belonging.contains(&process.parent) && !spared.contains(&process.pid) {
                belonging.insert(process.pid);
            }
        }
        if belonging.len() == before {
            return;
        }
    }
}

/// Sends a signal to a process, unless its pid belongs to another one by now.
pub(super) fn send(process: &Process, signal: Signal) {
    // Checked again right before: its pid may have been reused meanwhile.
    let is_same =
        system::process(process.pid).is_some_and(|now| system::is_same_birth(now.born, process.born));
    if is_same {
        signal_process(process.pid, signal);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn process(pid: i32, parent: i32) -> Process {
        Process { pid, parent, group: pid, session: pid, born: 1, is_zombie: false, name: pid.to_string() }
    }

    #[test]
    fn descendants_are_found_in_any_order_of_the_list() {
        let all = [process(30, 20), process(20, 10), process(10, 1), process(40, 1)];
        let mut belonging = BTreeSet::from([10]);
        add_descendants(&mut belonging, &all, &BTreeSet::from([1]));
        assert_eq!(belonging, BTreeSet::from([10, 20, 30]));
    }

    #[test]
    fn we_and_our_ancestors_are_spared_even_below_a_member() {
        let all = [process(10, 1), process(20, 10), process(30, 20)];
        let by_pid = all.iter().map(|process| (process.pid, process)).collect();
        let spared = ancestors(30, &by_pid);
        assert_eq!(spared, BTreeSet::from([1, 10, 20, 30]));
        let mut belonging = BTreeSet::from([10]);
        add_descendants(&mut belonging, &all, &spared);
        assert_eq!(belonging, BTreeSet::from([10]));
    }

    #[test]
    fn a_pid_that_went_to_somebody_else_is_not_hit() {
        let own = system::process(crate::platform::own_pid()).unwrap();
        // If this were sent, the test would not live to say so.
        send(&Process { born: own.born + 10, ..own }, Signal::KILL);
    }
}

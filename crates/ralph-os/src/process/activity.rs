//! Whether what a session started works or waits for somebody, by the processor time that it uses.

use std::time::{Duration, Instant};

use super::limits::Pulse;
use super::marker::Marker;
use super::process_tree::ProcessTree;
use super::system;

/// Time between two looks.
const LOOK_INTERVAL: Duration = Duration::from_secs(2);

/// What uses less than this part of a processor waits: a loop that looks for something ten times a second uses less.
const IDLE_SHARE: u32 = 20;

/// Everything that carries a marker, and the processor time that it uses.
#[derive(Debug)]
pub struct Activity<'a> {
    tree: ProcessTree<'a>,
    interval: Duration,
    looked: Instant,
    used: Duration,
    innermost: Option<String>,
}

impl<'a> Activity<'a> {
    /// Begins to watch what carries `marker`. `patience` is how long it may wait for somebody.
    pub fn of(marker: &'a Marker, patience: Duration) -> Self {
        Self {
            tree: ProcessTree::marked(marker),
            interval: LOOK_INTERVAL.min(patience / 4),
            looked: Instant::now(),
            used: Duration::ZERO,
            innermost: None,
        }
    }

    /// Returns `Busy` if it has worked since the last look.
    pub fn pulse(&mut self) -> Pulse {
        let passed = self.looked.elapsed();
        if passed < self.interval {
            return Pulse::Alive;
        }
        self.looked = Instant::now();
        self.tree.take_noted();
        let members = self.tree.members();
        // Who has started another program waits for that one.
        let ends = members.iter().filter(|one| members.iter().all(|other| other.parent != one.pid));
        if let Some(end) = ends.max_by_key(|process| (process.born, process.pid)) {
            self.innermost = Some(end.name.clone());
        }
        let used = members.iter().map(|process| system::processor_time(process.pid)).sum();
        let before = std::mem::replace(&mut self.used, used);
        if has_worked(used.saturating_sub(before), passed) { Pulse::Busy } else { Pulse::Alive }
    }

    /// Returns the name of the program that was started last and has started no other.
    pub fn innermost(&self) -> Option<&str> {
        self.innermost.as_deref()
    }
}

fn has_worked(used: Duration, passed: Duration) -> bool {
    used * IDLE_SHARE >= passed
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_uses_a_twentieth_of_a_processor_works() {
        for (used, passed, expected) in
            [(0, 2000, false), (10, 2000, false), (90, 2000, false), (100, 2000, true), (4000, 2000, true)]
        {
            let [used, passed] = [used, passed].map(Duration::from_millis);
            assert_eq!(has_worked(used, passed), expected, "{used:?} of {passed:?}");
        }
    }
}

//! Which tasks may be worked on at once, by the order of the list.

use std::collections::HashSet;

use super::{Item, Pick, Selection, TaskList, TaskName, story};

/// What the order of a list keeps apart where several work on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Parallel {
    /// Phases follow each other, but for those of stories; in a phase only what is marked `[P]` has others beside it.
    Story,
    /// All phases follow each other.
    Marked,
    /// As `Story`, but the tasks of a phase do not wait for each other.
    Phase,
}

/// How many tasks of a list are in hand at once.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct AtOnce {
    /// In each round of tasks.
    pub average: f64,
    /// In the largest round.
    pub most: usize,
}

/// What is open of a phase above the item that is looked at.
struct Above<'a> {
    phase: Option<&'a str>,
    is_of_story: bool,
    is_open: bool,
    has_unmarked: bool,
}

impl TaskList {
    /// Returns the open tasks that wait for others above them. What `is_passed` keeps nothing back, nor does what is optional.
    ///
    /// ```
    /// use tasklist::{Parallel, TaskList};
    ///
    /// let list = TaskList::parse(b"- [ ] T001 a\n- [ ] T002 [P] b\n- [ ] T003 [P] c\n").expect("it is UTF-8");
    /// let waits = |passed: &str| list.waiting_in_order(Parallel::Story, |item| item.name == passed).len();
    /// assert_eq!((waits(""), waits("T001")), (2, 0));
    /// ```
    pub fn waiting_in_order(
        &self,
        parallel: Parallel,
        is_passed: impl Fn(&Item) -> bool,
    ) -> HashSet<&TaskName> {
        let mut phases: Vec<Above<'_>> = Vec::new();
        let (mut around, mut waiting) = (Vec::new(), HashSet::new());
        for item in self.items.iter().filter(|item| item.is_task() && !item.done) {
            // What has sub-tasks is done after the last of them.
            let ancestors: Vec<&Item> =
                std::iter::successors(item.parent, |parent| self.items[*parent].parent)
                    .map(|parent| &self.items[parent])
                    .collect();
            around.retain(|above: &&Item| {
                let is_around = ancestors.iter().any(|ancestor| ancestor.offset == above.offset);
                if !is_around {
                    note(&mut phases, above);
                }
                is_around
            });
            if waits(&phases, item, parallel) {
                waiting.insert(&item.name);
            }
            if !item.optional && !is_passed(item) {
                around.push(item);
            }
        }
        waiting
    }

    /// Returns how many tasks so many workers have in hand at once, if each task takes as long as any other.
    pub fn at_once(&self, workers: usize, parallel: Parallel, selection: Option<&Selection>) -> AtOnce {
        let mut list = self.clone();
        let (mut rounds, mut done, mut most) = (0_u32, 0_u32, 0);
        loop {
            let mut taken: Vec<TaskName> = Vec::new();
            let waiting: HashSet<TaskName> =
                list.waiting_in_order(parallel, |_| false).into_iter().cloned().collect();
            while taken.len() < workers {
                let is_aside = |name: &str| waiting.contains(name) || taken.iter().any(|task| task == name);
                let pick = match selection {
                    Some(selection) => list.next_open_in(selection, is_aside),
                    None => list.next_open(is_aside),
                };
                let Pick::Task(item) = pick else { break };
                taken.push(item.name.clone());
            }
            if taken.is_empty() {
                let average = f64::from(done) / f64::from(rounds.max(1));
                return AtOnce { average, most };
            }
            (rounds, most) = (rounds + 1, taken.len().max(most));
            for item in list.items.iter_mut().filter(|item| taken.contains(&item.name)) {
                item.done = true;
                done += 1;
            }
        }
    }
}

fn note<'a>(phases: &mut Vec<Above<'a>>, item: &'a Item) {
    let phase = item.phase.as_deref();
    let place = phases.iter().position(|above| above.phase == phase).unwrap_or_else(|| {
        let is_of_story = phase.is_some_and(story::is_named);
        phases.push(Above { phase, is_of_story, is_open: false, has_unmarked: false });
        phases.len() - 1
    });
    phases[place].is_open = true;
    phases[place].has_unmarked |= !item.parallel;
}

fn waits(phases: &[Above<'_>], item: &Item, parallel: Parallel) -> bool {
    let phase = item.phase.as_deref();
    let is_beside_stories = parallel != Parallel::Marked && phase.is_some_and(story::is_named);
    phases.iter().any(|above| {
        if above.phase != phase {
            above.is_open && !(is_beside_stories && above.is_of_story)
        } else if parallel == Parallel::Phase {
            false
        } else if item.parallel {
            above.has_unmarked
        } else {
            above.is_open
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIST: &str = "## Phase 1: Setup\n- [ ] T001 a\n- [ ] T002 [P] b\n- [ ] T003 [P] c\n- [ ] T004 d\n\
                        ## Phase 2: User Story 1\n- [ ] T005 e\n- [ ] T006 [P] f\n\
                        ## Phase 3: User Story 2\n- [ ] T007 [P] g\n- [ ] T008 [P] h\n\
                        ## Phase 4: Polish\n- [ ] T009 [P] i\n";

    /// Returns what may start where these tasks are done; `!T001` was given up.
    fn free(source: &str, parallel: Parallel, settled: &str) -> String {
        let mut list = TaskList::parse(source.as_bytes()).unwrap();
        for item in &mut list.items {
            item.done |= settled.split(' ').any(|name| name == item.name);
        }
        let waiting = list.waiting_in_order(parallel, |item| {
            settled.split(' ').any(|name| name.strip_prefix('!') == Some(&item.name))
        });
        let free = list.tasks().filter(|item| !item.done && !waiting.contains(&item.name));
        free.map(|item| item.name.as_str()).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn what_may_start_follows_marks_and_phases() {
        use Parallel::{Marked, Phase, Story};
        for (parallel, settled, expected) in [
            (Story, "", "T001"),
            (Story, "T001", "T002 T003"),
            (Story, "T001 T002", "T003"),
            (Story, "T001 T002 T003", "T004"),
            (Story, "T001 T002 T003 T004", "T005 T007 T008"),
            (Story, "T001 T002 T003 !T004", "T004 T005 T007 T008"),
            (Story, "T001 T002 T003 T004 T005", "T006 T007 T008"),
            (Story, "T001 T002 T003 T004 T005 T006 T007", "T008"),
            (Story, "T001 T002 T003 T004 T005 T006 T007 T008", "T009"),
            (Marked, "T001 T002 T003 T004", "T005"),
            (Marked, "T001 T002 T003 T004 T005 T006", "T007 T008"),
            (Phase, "", "T001 T002 T003 T004"),
            (Phase, "T001 T002 T003 T004", "T005 T006 T007 T008"),
        ] {
            assert_eq!(free(LIST, parallel, settled), expected, "{parallel:?} {settled}");
        }
    }

    #[test]
    fn what_has_sub_tasks_comes_after_them_and_what_is_optional_keeps_nothing_back() {
        let nested = "- [ ] 1. a in src/a.rs\n  - [ ] 1.1 b\n  - [ ] 1.2 c\n- [ ] 2. d\n";
        assert_eq!(
            free(nested, Parallel::Story, ""),
            "1 1.1",
            "its sub-tasks keep it back, the order does not"
        );
        assert_eq!(free(nested, Parallel::Story, "1.1 1.2"), "1");
        assert_eq!(free(nested, Parallel::Story, "1.1 1.2 1"), "2");
        assert_eq!(free("- [ ]* 1. a\n- [ ] 2. b\n", Parallel::Story, ""), "1 2");
    }

    #[test]
    fn how_many_are_worked_on_at_once_is_counted_in_rounds() {
        let list = TaskList::parse(LIST.as_bytes()).unwrap();
        let at_once = |workers, parallel| {
            let AtOnce { average, most } = list.at_once(workers, parallel, None);
            format!("{average:.2} {most}")
        };
        assert_eq!(at_once(1, Parallel::Story), "1.00 1");
        // T001; T002 T003; T004; T005 T007 T008; T006; T009.
        assert_eq!(at_once(4, Parallel::Story), "1.50 3");
        assert_eq!(at_once(4, Parallel::Phase), "3.00 4");
        let nothing = TaskList::default().at_once(4, Parallel::Story, None);
        assert_eq!(format!("{:.1} {}", nothing.average, nothing.most), "0.0 0");
        let part = list.select(&[crate::Selector::Tasks("T001,T002")]).unwrap();
        assert_eq!(list.at_once(4, Parallel::Story, Some(&part)).most, 1);
    }
}

//! The list of tasks: phases that fold, and the tasks in them.

use std::collections::HashSet;

use super::contents::brief;
use super::model::{FeatureOverview, TaskState};
use crate::style::phase_title;

/// A line of the list, by the place of what it is of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Line {
    /// A phase, by its place among the phases.
    Phase(usize),
    /// An item of the list.
    Task(usize),
}

/// Tasks below one heading.
#[derive(Debug, Clone)]
pub struct Phase {
    pub name: String,
    /// By their places in the list.
    pub tasks: Vec<usize>,
}

#[derive(Debug, Default)]
pub struct Tree {
    pub lines: Vec<Line>,
    pub phases: Vec<Phase>,
    pub place: usize,
    /// The first line on the screen.
    pub top: usize,
    /// Of all items of the list.
    names: Vec<String>,
    /// Phases that are not as they are by default.
    toggled: HashSet<String>,
    /// The phase that is open by default in any case.
    open: Option<String>,
    /// How many lines there is room for: further phases are open by default as far as they fit.
    room: usize,
    /// All phases that are open by default.
    by_default: HashSet<String>,
    /// What the line is of, by a name that outlives a new list.
    chosen: String,
}

impl Tree {
    /// Makes the lines anew, with what was chosen still chosen where it is still there.
    pub fn renew(&mut self, feature: &FeatureOverview, running: &[&str]) {
        let items = &feature.list.items;
        self.names = items.iter().map(|item| item.name.clone()).collect();
        self.phases.clear();
        let mut places = 0..;
        for chunk in items.chunk_by(|one, other| one.phase == other.phase) {
            let name = chunk[0].phase.as_deref().map_or_else(String::new, |phase| brief(phase_title(phase)));
            let tasks = chunk.iter().zip(places.by_ref()).filter(|(item, _)| item.is_task());
            self.phases.push(Phase { name, tasks: tasks.map(|(_, place)| place).collect() });
        }
        self.phases.retain(|phase| !phase.tasks.is_empty());
        // What matters now is open: what runs, else what fails, else what asks, else where the next task is.
        let wanted =
            [TaskState::Runs, TaskState::Fails, TaskState::Asks, TaskState::Answered, TaskState::Open];
        let wanted = wanted.into_iter();
        let found = { wanted }.find_map(|wanted| {
            self.phases.iter().find(|phase| {
                phase.tasks.iter().any(|place| feature.state(&items[*place], running) == wanted)
            })
        });
        self.open = found.map(|phase| phase.name.clone());
        self.list();
    }

    /// Makes the lines for a list of this height; 0 for one that changes its height with what has the keys.
    pub fn fill(&mut self, room: usize) {
        if self.room != room {
            self.room = room;
            self.list();
        }
    }

    /// Returns the phase that is open in any case, and those behind and before it for which there is room, the nearest first.
    fn open_by_default(&self) -> HashSet<String> {
        let first = self.phases.iter().position(|phase| self.open.as_ref() == Some(&phase.name));
        let (before, after) = self.phases.split_at(first.unwrap_or_default());
        let mut lines = self.phases.len();
        let mut open = HashSet::new();
        for phase in after.iter().chain(before.iter().rev()) {
            let is_wanted = self.open.as_ref() == Some(&phase.name);
            if is_wanted || lines + phase.tasks.len() <= self.room {
                lines += phase.tasks.len();
                open.insert(phase.name.clone());
            }
        }
        open
    }

    fn list(&mut self) {
        self.lines.clear();
        self.by_default = self.open_by_default();
        let is_divided =
            self.phases.len() > 1 || self.phases.first().is_some_and(|phase| !phase.name.is_empty());
        for (place, phase) in self.phases.iter().enumerate() {
            if is_divided {
                self.lines.push(Line::Phase(place));
            }
            if !is_divided || self.is_open(phase) {
                self.lines.extend(phase.tasks.iter().copied().map(Line::Task));
            }
        }
        let found = self.lines.iter().position(|line| self.name(*line) == self.chosen);
        self.move_to(found.unwrap_or(self.place));
    }

    pub fn is_open(&self, phase: &Phase) -> bool {
        self.by_default.contains(&phase.name) != self.toggled.contains(&phase.name)
    }

    fn name(&self, line: Line) -> String {
        match line {
            Line::Phase(place) => format!("phase {}", self.phases[place].name),
            Line::Task(place) => self.names[place].clone(),
        }
    }

    pub fn selected(&self) -> Option<Line> {
        self.lines.get(self.place).copied()
    }

    pub fn move_to(&mut self, place: usize) {
        self.place = place.min(self.lines.len().saturating_sub(1));
        self.chosen = self.selected().map_or(String::new(), |line| self.name(line));
    }

    /// Folds or unfolds the phase that the line is in.
    pub fn toggle(&mut self) {
        let phase = match self.selected() {
            Some(Line::Phase(place)) => self.phases.get(place),
            Some(Line::Task(item)) => self.phases.iter().find(|phase| phase.tasks.contains(&item)),
            None => None,
        };
        let Some(name) = phase.map(|phase| phase.name.clone()) else { return };
        self.chosen = format!("phase {name}");
        if !self.toggled.remove(&name) {
            self.toggled.insert(name);
        }
        self.list();
    }
}

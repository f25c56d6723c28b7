//! The list of tasks: phases that fold, and the tasks in them.

use std::collections::HashSet;
use std::ops::Range;

use tasklist::Item;

use super::contents::brief;
use super::model::{Feature, TaskState};
use crate::style::phase_title;

/// A line of the list, by the place of what it stands for.
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
    /// Where its items are in the list.
    pub items: Range<usize>,
}

#[derive(Debug, Default)]
pub struct Tree {
    pub lines: Vec<Line>,
    pub phases: Vec<Phase>,
    pub place: usize,
    /// The first line on the screen.
    pub top: usize,
    /// Phases that are not as they are by default.
    toggled: HashSet<String>,
    /// The phases that are open by default.
    open: HashSet<String>,
    /// What the line stands for, by a name that outlives a new list.
    chosen: String,
}

impl Tree {
    /// Makes the lines anew, with what was chosen still chosen where it is still there.
    pub fn renew(&mut self, feature: &Feature, running: Option<&str>) {
        let items = &feature.list.items;
        self.phases.clear();
        let mut start = 0;
        for chunk in items.chunk_by(|one, other| one.phase == other.phase) {
            let name = chunk[0].phase.as_deref().map_or_else(String::new, |phase| brief(phase_title(phase)));
            self.phases.push(Phase { name, items: start..start + chunk.len() });
            start += chunk.len();
        }
        self.phases.retain(|phase| items[phase.items.clone()].iter().any(Item::is_task));
        // What matters now is open: what runs, else what fails, else what asks, else where the next task is.
        let wanted = [TaskState::Runs, TaskState::Fails, TaskState::Asks, TaskState::Open].into_iter();
        let found = { wanted }.find_map(|wanted| {
            self.phases.iter().find(|phase| {
                let mut tasks = items[phase.items.clone()].iter().filter(|item| item.is_task());
                tasks.any(|item| feature.state(item, running) == wanted)
            })
        });
        self.open = found.map(|phase| phase.name.clone()).into_iter().collect();
        self.list(feature);
    }

    fn list(&mut self, feature: &Feature) {
        self.lines.clear();
        let is_divided =
            self.phases.len() > 1 || self.phases.first().is_some_and(|phase| !phase.name.is_empty());
        for (place, phase) in self.phases.iter().enumerate() {
            if is_divided {
                self.lines.push(Line::Phase(place));
            }
            if !is_divided || self.is_open(phase) {
                let tasks = phase.items.clone().filter(|place| feature.list.items[*place].is_task());
                self.lines.extend(tasks.map(Line::Task));
            }
        }
        let found = self.lines.iter().position(|line| self.name(feature, *line) == self.chosen);
        self.place = found.unwrap_or(self.place).min(self.lines.len().saturating_sub(1));
        self.note(feature);
    }

    pub fn is_open(&self, phase: &Phase) -> bool {
        self.open.contains(&phase.name) != self.toggled.contains(&phase.name)
    }

    fn name(&self, feature: &Feature, line: Line) -> String {
        match line {
            Line::Phase(place) => format!("phase {}", self.phases[place].name),
            Line::Task(place) => feature.list.items[place].name.clone(),
        }
    }

    fn note(&mut self, feature: &Feature) {
        self.chosen = self.selected().map_or(String::new(), |line| self.name(feature, line));
    }

    pub fn selected(&self) -> Option<Line> {
        self.lines.get(self.place).copied()
    }

    pub fn move_to(&mut self, place: usize, feature: &Feature) {
        self.place = place.min(self.lines.len().saturating_sub(1));
        self.note(feature);
    }

    /// Folds or unfolds the phase that the line is in.
    pub fn toggle(&mut self, feature: &Feature) {
        let phase = match self.selected() {
            Some(Line::Phase(place)) => Some(place),
            Some(Line::Task(item)) => self.phases.iter().position(|phase| phase.items.contains(&item)),
            None => None,
        };
        let Some(phase) = phase else { return };
        let name = self.phases[phase].name.clone();
        self.chosen = format!("phase {name}");
        if !self.toggled.remove(&name) {
            self.toggled.insert(name);
        }
        self.list(feature);
    }
}

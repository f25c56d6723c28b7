//! Where everything is on a screen of some size.

use ratatui::layout::{Constraint, Layout, Rect};

/// From this width on the detail is beside the lists.
const WIDE: u16 = 100;

/// Below this width only one thing is shown.
const NARROW: u16 = 60;

/// Lines of a panel for what runs, and for the time line, both with their borders.
const NOW: u16 = 5;
const NIGHT: u16 = 9;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Panel {
    Now,
    Needs,
    Tasks,
    Night,
    Detail,
}

impl Panel {
    /// Returns the panels that have numbers, in their order.
    pub fn lists(is_live: bool) -> &'static [Self] {
        let all = &[Self::Now, Self::Needs, Self::Tasks, Self::Night];
        if is_live { all } else { &all[1..] }
    }
}

/// The three ways in which a screen is laid out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shape {
    Narrow,
    /// Panels below each other.
    Stacked,
    /// The detail beside the lists.
    Wide,
}

impl Shape {
    pub fn of(size: Rect) -> Self {
        match size.width {
            0..NARROW => Self::Narrow,
            NARROW..WIDE => Self::Stacked,
            WIDE.. => Self::Wide,
        }
    }
}

/// Areas below each other of so many lines; those without a number share what is left.
fn column<const N: usize>(area: Rect, lines: [Option<u16>; N]) -> [Rect; N] {
    Layout::vertical(lines.map(|lines| lines.map_or(Constraint::Fill(1), Constraint::Length))).areas(area)
}

/// The places on the screen, with their borders. What has no room has no area.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Areas {
    pub header: Rect,
    pub now: Rect,
    pub needs: Rect,
    pub tasks: Rect,
    pub night: Rect,
    pub detail: Rect,
    pub keys: Rect,
    /// True if tasks and time line are a summary of a few lines, in the place of the tasks.
    pub is_summary: bool,
}

impl Areas {
    /// Lays out a screen with a number of lines that need the user, for the panel that has the keys and the list that was
    /// used last. The detail has the whole screen if it `is_full`.
    pub fn of(size: Rect, (panel, left): (Panel, Panel), is_live: bool, needs: usize, is_full: bool) -> Self {
        let [header, body, keys] = column(size, [Some(1), None, Some(1)]);
        let areas = Self { header, keys, ..Self::default() };
        let needs = u16::try_from(needs.max(1)).unwrap_or(u16::MAX).saturating_add(2);
        if body.height < 3 {
            return areas;
        }
        if is_full {
            return areas.only(body, Panel::Detail);
        }
        match Shape::of(size) {
            Shape::Narrow => areas.narrow(body, panel, needs),
            Shape::Stacked => areas.stacked(body, panel, is_live, needs),
            Shape::Wide => areas.wide(body, left, is_live, needs),
        }
    }

    fn wide(self, body: Rect, left: Panel, is_live: bool, needs: u16) -> Self {
        let width = (body.width * 5 / 12).clamp(50, 74);
        let [list, detail] = Layout::horizontal([Constraint::Length(width), Constraint::Fill(1)]).areas(body);
        let now = if is_live { NOW } else { 0 };
        let needs = needs.min((body.height / 3).max(3));
        let rest = body.height.saturating_sub(now + needs);
        let night = match rest {
            18.. => NIGHT,
            12.. => 5,
            _ if left == Panel::Night => rest.min(5),
            _ => 0,
        };
        let [now, needs, tasks, night] = column(list, [Some(now), Some(needs), None, Some(night)]);
        Self { now, needs, tasks, night, detail, ..self }
    }

    fn stacked(self, body: Rect, panel: Panel, is_live: bool, needs: u16) -> Self {
        if body.height < 14 {
            return self.only(body, panel);
        }
        let needs = needs.min((body.height / 4).max(3));
        let now = if is_live { NOW.min(4) } else { 0 };
        match panel {
            Panel::Detail => self.only(body, panel),
            Panel::Tasks | Panel::Night => {
                let night = if panel == Panel::Night { 8 } else { 0 };
                let [tasks, night, detail] = column(body, [None, Some(night), None]);
                Self { tasks, night, detail, ..self }
            }
            Panel::Now | Panel::Needs => {
                let summary = if body.height >= 20 { 8 } else { 5 };
                let summary = if is_live && body.height < 24 { 5 } else { summary };
                let [now, needs, detail, tasks] = column(body, [Some(now), Some(needs), None, Some(summary)]);
                Self { now, needs, detail, tasks, is_summary: true, ..self }
            }
        }
    }

    fn narrow(self, body: Rect, panel: Panel, needs: u16) -> Self {
        match panel {
            Panel::Now | Panel::Needs if body.height >= 12 => {
                let now = if panel == Panel::Now { 4 } else { 0 };
                // A question takes two lines where it is not cut.
                let needs = (needs * 2 - 2).max(3).min(body.height.saturating_sub(now + 5));
                let [now, needs, tasks] = column(body, [Some(now), Some(needs), None]);
                Self { now, needs, tasks, is_summary: true, ..self }
            }
            _ => self.only(body, panel),
        }
    }

    /// One panel alone.
    fn only(self, body: Rect, panel: Panel) -> Self {
        match panel {
            Panel::Now => Self { now: body, ..self },
            Panel::Needs => Self { needs: body, ..self },
            Panel::Tasks => Self { tasks: body, ..self },
            Panel::Night => Self { night: body, ..self },
            Panel::Detail => Self { detail: body, ..self },
        }
    }

    /// Returns the panel at a place.
    pub fn panel_at(&self, x: u16, y: u16) -> Option<(Panel, Rect)> {
        let panels = [
            (Panel::Now, self.now),
            (Panel::Needs, self.needs),
            (Panel::Tasks, self.tasks),
            (Panel::Night, self.night),
            (Panel::Detail, self.detail),
        ];
        panels.into_iter().find(|(_, area)| area.contains(ratatui::layout::Position { x, y }))
    }
}

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
    const ALL: [Self; 5] = [Self::Now, Self::Needs, Self::Tasks, Self::Night, Self::Detail];

    /// Returns the panels that are there, in their order. All but the last have numbers.
    pub fn all(is_live: bool) -> &'static [Self] {
        if is_live { &Self::ALL } else { &Self::ALL[1..] }
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

/// The places of the panels, in their order.
type Panels = [Rect; 5];

/// The places on the screen, with their borders. What has no room has no area.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Areas {
    pub header: Rect,
    panels: Panels,
    pub keys: Rect,
    /// True if tasks and time line are a summary of a few lines, in the place of the tasks.
    pub is_summary: bool,
}

impl Areas {
    /// Lays out a screen with a number of lines that need the user, for the panel that has the keys and the list that was
    /// used last. The detail has the whole screen if it `is_full`.
    pub fn of(size: Rect, (panel, left): (Panel, Panel), is_live: bool, needs: usize, is_full: bool) -> Self {
        let [header, body, keys] = column(size, [Some(1), None, Some(1)]);
        let needs = u16::try_from(needs.max(1)).unwrap_or(u16::MAX).saturating_add(2);
        let shape = Shape::of(size);
        let panels = match shape {
            _ if body.height < 3 => [Rect::ZERO; 5],
            _ if is_full => only(body, Panel::Detail),
            Shape::Narrow => narrow(body, panel, needs),
            Shape::Stacked => stacked(body, panel, is_live, needs),
            Shape::Wide => wide(body, left, is_live, needs),
        };
        let is_summary = shape != Shape::Wide && matches!(panel, Panel::Now | Panel::Needs);
        Self { header, panels, keys, is_summary }
    }

    pub fn area(&self, panel: Panel) -> Rect {
        self.panels[panel as usize]
    }

    /// Returns the panels that have room.
    pub fn shown(&self) -> impl Iterator<Item = (Panel, Rect)> {
        Panel::ALL.into_iter().zip(self.panels).filter(|(_, area)| !area.is_empty())
    }
}

fn wide(body: Rect, left: Panel, is_live: bool, needs: u16) -> Panels {
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
    [now, needs, tasks, night, detail]
}

fn stacked(body: Rect, panel: Panel, is_live: bool, needs: u16) -> Panels {
    match panel {
        Panel::Tasks | Panel::Night if body.height >= 14 => {
            let night = if panel == Panel::Night { 8 } else { 0 };
            let [tasks, night, detail] = column(body, [None, Some(night), None]);
            [Rect::ZERO, Rect::ZERO, tasks, night, detail]
        }
        Panel::Now | Panel::Needs if body.height >= 14 => {
            let needs = needs.min((body.height / 4).max(3));
            let now = if is_live { NOW.min(4) } else { 0 };
            let summary = if body.height >= if is_live { 24 } else { 20 } { 8 } else { 5 };
            let [now, needs, detail, tasks] = column(body, [Some(now), Some(needs), None, Some(summary)]);
            [now, needs, tasks, Rect::ZERO, detail]
        }
        _ => only(body, panel),
    }
}

fn narrow(body: Rect, panel: Panel, needs: u16) -> Panels {
    if !matches!(panel, Panel::Now | Panel::Needs) || body.height < 12 {
        return only(body, panel);
    }
    let now = if panel == Panel::Now { 4 } else { 0 };
    let needs = needs.min(body.height.saturating_sub(now + 5));
    let [now, needs, tasks] = column(body, [Some(now), Some(needs), None]);
    [now, needs, tasks, Rect::ZERO, Rect::ZERO]
}

fn only(body: Rect, panel: Panel) -> Panels {
    Panel::ALL.map(|one| if one == panel { body } else { Rect::ZERO })
}

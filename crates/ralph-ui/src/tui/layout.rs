//! Where everything is on a screen of some size.

use ratatui::layout::{Constraint, Layout, Rect};

/// From this width on the detail is beside the lists.
const WIDE: u16 = 100;

/// Below this width only one thing is shown.
const NARROW: u16 = 60;

/// Lines of a panel for the one loop that runs, and for the time line, both with their borders.
const NOW: u16 = 5;
const SESSION: u16 = 9;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Panel {
    Now,
    Needs,
    /// The tasks that are done and flagged.
    Look,
    Tasks,
    Session,
    Detail,
}

impl Panel {
    const ALL: [Self; 6] = [Self::Now, Self::Needs, Self::Look, Self::Tasks, Self::Session, Self::Detail];

    /// Returns the panels that are there, in their order. All but the last have numbers.
    pub fn all(is_live: bool, has_flags: bool) -> Vec<Self> {
        let is_there = |panel: &Self| match panel {
            Self::Now => is_live,
            Self::Look => has_flags,
            _ => true,
        };
        Self::ALL.into_iter().filter(is_there).collect()
    }

    /// Returns true if what it has is listed above a summary of the rest, where there is little room.
    fn is_first(self) -> bool {
        matches!(self, Self::Now | Self::Needs | Self::Look)
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
type Panels = [Rect; 6];

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
    /// Lays out a screen with a number of lines that need the user and of flags, for the panel that has the keys and the
    /// list that was used last, and for a number of loops that run. The detail has the whole screen if it `is_full`.
    pub fn of(
        size: Rect,
        (panel, left): (Panel, Panel),
        workers: usize,
        (needs, flags): (usize, usize),
        is_full: bool,
    ) -> Self {
        let [header, body, keys] = column(size, [Some(1), None, Some(1)]);
        let with_border = |lines: usize| u16::try_from(lines).unwrap_or(u16::MAX).saturating_add(2);
        let now = match workers {
            0 => 0,
            1 => NOW,
            several => with_border(several).min((body.height / 3).max(3)),
        };
        let needs = with_border(needs.max(1));
        let look = if flags > 0 { with_border(flags).min((body.height / 4).max(3)) } else { 0 };
        let shape = Shape::of(size);
        let panels = match shape {
            _ if body.height < 3 => [Rect::ZERO; 6],
            _ if is_full => only(body, Panel::Detail),
            Shape::Narrow => narrow(body, panel, if workers > 1 { now } else { 4 }, needs, look),
            Shape::Stacked => stacked(body, panel, if workers > 1 { now } else { now.min(4) }, needs, look),
            Shape::Wide => wide(body, left, now, needs, look),
        };
        let is_summary = shape != Shape::Wide && panel.is_first();
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

fn wide(body: Rect, left: Panel, now: u16, needs: u16, look: u16) -> Panels {
    let width = (body.width * 5 / 12).clamp(50, 74);
    let [list, detail] = Layout::horizontal([Constraint::Length(width), Constraint::Fill(1)]).areas(body);
    let needs = needs.min((body.height / 3).max(3));
    let rest = body.height.saturating_sub(now + needs + look);
    let session = match rest {
        18.. => SESSION,
        12.. => 5,
        _ if left == Panel::Session => rest.min(5),
        _ => 0,
    };
    let lines = [Some(now), Some(needs), Some(look), None, Some(session)];
    let [now, needs, look, tasks, session] = column(list, lines);
    [now, needs, look, tasks, session, detail]
}

fn stacked(body: Rect, panel: Panel, now: u16, needs: u16, look: u16) -> Panels {
    match panel {
        Panel::Tasks | Panel::Session if body.height >= 14 => {
            let session = if panel == Panel::Session { 8 } else { 0 };
            let [tasks, session, detail] = column(body, [None, Some(session), None]);
            [Rect::ZERO, Rect::ZERO, Rect::ZERO, tasks, session, detail]
        }
        panel if panel.is_first() && body.height >= 14 => {
            let needs = needs.min((body.height / 4).max(3));
            let summary = if body.height >= if now > 0 || look > 0 { 24 } else { 20 } { 8 } else { 5 };
            let (needs, look) = one_of_two(body.height >= 20, panel, needs, look);
            let lines = [Some(now), Some(needs), Some(look), None, Some(summary)];
            let [now, needs, look, detail, tasks] = column(body, lines);
            [now, needs, look, tasks, Rect::ZERO, detail]
        }
        _ => only(body, panel),
    }
}

/// Where there is no room for both lists, the one that has the keys is there.
fn one_of_two(has_room: bool, panel: Panel, needs: u16, look: u16) -> (u16, u16) {
    match panel {
        _ if has_room => (needs, look),
        Panel::Look => (0, look),
        _ => (needs, 0),
    }
}

fn narrow(body: Rect, panel: Panel, now: u16, needs: u16, look: u16) -> Panels {
    if !panel.is_first() || body.height < 12 {
        return only(body, panel);
    }
    let now = if panel == Panel::Now { now } else { 0 };
    let (needs, look) = one_of_two(body.height >= 18, panel, needs, look);
    let needs = needs.min(body.height.saturating_sub(now + look + 5));
    let [now, needs, look, tasks] = column(body, [Some(now), Some(needs), Some(look), None]);
    [now, needs, look, tasks, Rect::ZERO, Rect::ZERO]
}

fn only(body: Rect, panel: Panel) -> Panels {
    Panel::ALL.map(|one| if one == panel { body } else { Rect::ZERO })
}

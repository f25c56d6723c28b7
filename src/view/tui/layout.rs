//! Where everything is on a screen of some size.

use ratatui::layout::Rect;

use super::app::Pane;
use super::contents::View;

/// Below this width only one pane is shown.
const NARROW: u16 = 60;

/// The places on the screen. What has no room has no area.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Areas {
    pub header: Rect,
    pub list_title: Rect,
    pub list: Rect,
    /// Between the panes, where there are two.
    pub rule: Option<u16>,
    pub tabs: Rect,
    /// With a column for the cursor in front.
    pub page: Rect,
    pub keys: Rect,
}

impl Areas {
    pub fn of(size: Rect, pane: Pane) -> Self {
        let Rect { width, height, .. } = size;
        let header = Rect { height: height.min(1), ..size };
        let keys = Rect { y: height.saturating_sub(1), height: u16::from(height > 1), ..size };
        let row = |x: u16, width: u16| Rect { x, y: 1, width, height: u16::from(height > 3) };
        let body = |x: u16, width: u16| Rect { x, y: 3, width, height: height.saturating_sub(4) };
        if width < NARROW {
            let none = Rect::default();
            let (list, view) = match pane {
                Pane::List => ((row(0, width), body(0, width)), (none, none)),
                Pane::View => ((none, none), (row(0, width), body(0, width))),
            };
            let areas = Self { header, list_title: list.0, list: list.1, keys, ..Self::default() };
            return Self { tabs: view.0, page: view.1, ..areas };
        }
        let left = (width * 3 / 8).clamp(26, 56);
        let right = width - left - 1;
        Self {
            header,
            list_title: row(0, left),
            list: body(0, left),
            rule: Some(left),
            tabs: row(left + 1, right),
            page: body(left + 1, right),
            keys,
        }
    }

    /// Each view and the column that its name begins at, from the left of the tabs.
    pub fn tabs(&self) -> Vec<(View, u16)> {
        let names: u16 = View::ALL.iter().map(|view| name_width(*view)).sum();
        let gaps = u16::try_from(View::ALL.len()).unwrap_or(0) - 1;
        let gap = if names + 2 * gaps + 1 < self.tabs.width { 2 } else { 1 };
        let mut x = self.tabs.x + 1;
        let place = |view: View| {
            let at = x;
            x += name_width(view) + gap;
            (view, at)
        };
        View::ALL.map(place).to_vec()
    }

    pub fn view_at(&self, x: u16) -> Option<View> {
        let is_it = |(view, at): &(View, u16)| (*at..at + name_width(*view)).contains(&x);
        self.tabs().into_iter().find(is_it).map(|(view, _)| view)
    }
}

fn name_width(view: View) -> u16 {
    u16::try_from(view.name().len()).unwrap_or(0)
}

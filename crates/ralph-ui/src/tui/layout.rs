//! Where everything is on a screen of some size.

use ratatui::layout::{Constraint, Layout, Rect};

use super::contents::View;

/// Below this width only one pane is shown.
const NARROW: u16 = 60;

/// From this width on the list has room for more than titles.
const WIDE: u16 = 120;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pane {
    List,
    View,
}

/// The places on the screen. What has no room has no area.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Areas {
    pub header: Rect,
    pub list_title: Rect,
    pub list: Rect,
    /// Between the panes, where there are two.
    pub rule: Option<Rect>,
    pub tabs: Rect,
    /// What is below the titles, with the line under these.
    pub body: Rect,
    /// With a column for the cursor in front.
    pub page: Rect,
    pub keys: Rect,
}

impl Areas {
    pub fn of(size: Rect, pane: Pane) -> Self {
        let [header, rest] = Layout::vertical([Constraint::Length(1), Constraint::Fill(1)]).areas(size);
        let [titles, body, keys] =
            Layout::vertical([Constraint::Length(1), Constraint::Fill(1), Constraint::Length(1)]).areas(rest);
        if rest.height < 3 {
            // The keys need their line more than titles do.
            let keys = Rect { y: rest.bottom().saturating_sub(1), height: rest.height.min(1), ..rest };
            return Self { header, keys, ..Self::default() };
        }
        let below_rule = |area: Rect| Rect { y: area.y + 1, height: area.height - 1, ..area };
        let left = match (size.width, pane) {
            (..NARROW, Pane::List) => size.width,
            (..NARROW, Pane::View) => 0,
            // Title and cause beside each other need more than a third.
            (..WIDE, _) => (size.width * 3 / 8).clamp(26, 110),
            _ => (size.width * 9 / 20).clamp(26, 110),
        };
        let rule = u16::from(!is_narrow(size));
        let columns = [Constraint::Length(left), Constraint::Length(rule), Constraint::Fill(1)];
        let [list_title, _, tabs] = Layout::horizontal(columns).areas(titles);
        let [list, gap, right] = Layout::horizontal(columns).areas(body);
        let rule =
            (rule > 0).then(|| titles.union(body).intersection(Rect { y: 0, height: u16::MAX, ..gap }));
        Self { header, list_title, list: below_rule(list), rule, tabs, body, page: below_rule(right), keys }
    }

    /// The views as they are named on the line of tabs. Where there is no room for all names, one has its name, the
    /// others have the letters of their keys; and where there is none for these, it is alone.
    pub fn tabs(&self, active: View) -> Vec<Tab> {
        let width = usize::from(self.tabs.width);
        let letters =
            |view: View| if view == active { view.name().to_owned() } else { view.key().to_string() };
        let names: Vec<(View, String)> = View::ALL.map(|view| (view, view.name().to_owned())).to_vec();
        let short: Vec<(View, String)> = View::ALL.map(|view| (view, letters(view))).to_vec();
        let alone = vec![(active, active.name().to_owned())];
        let taken = |tabs: &[(View, String)], gap: usize| {
            tabs.iter().map(|(_, name)| name.len() + gap).sum::<usize>() + 1 - gap
        };
        let is_fitting = |tabs: &Vec<(View, String)>| taken(tabs, 1) <= width;
        let tabs = [names, short].into_iter().find(is_fitting).unwrap_or(alone);
        let gap = if taken(&tabs, 2) < width { 2 } else { 1 };
        let mut x = self.tabs.x + 1;
        let place = |(view, name): (View, String)| {
            let at = x;
            x += u16::try_from(name.len()).unwrap_or(0) + gap;
            Tab { view, x: at, name }
        };
        tabs.into_iter().map(place).collect()
    }

    pub fn view_at(&self, x: u16, active: View) -> Option<View> {
        let is_it = |tab: &Tab| (tab.x..tab.x + u16::try_from(tab.name.len()).unwrap_or(0)).contains(&x);
        self.tabs(active).into_iter().find(is_it).map(|tab| tab.view)
    }
}

/// A view on the line of tabs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tab {
    pub view: View,
    /// The column that its name begins at.
    pub x: u16,
    pub name: String,
}

/// Returns true if a screen of that size has one pane alone.
pub fn is_narrow(size: Rect) -> bool {
    size.width < NARROW
}

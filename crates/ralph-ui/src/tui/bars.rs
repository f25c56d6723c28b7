//! The first line of the screen, which says how it goes, and the last, which says what the keys do.

use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Modifier, Style};
use ratatui::text::{Line, Span};

use crate::local_time::local;
use crate::style::{bar, columns, cut};
use ralph_core::record::Status;

use super::app::{App, Mode, OwnLoop};
use super::contents::{status_sign, words_of};
use super::help;
use super::layout::Pane;
use super::page::reading;
use super::row::{Look, Row, shown};
use super::source::SessionRow;

/// Cells of the bar in the first line.
const BAR: usize = 12;

/// The keys of a page and what they do, the most needed first: what has no room is not shown.
const PAGE_KEYS: &[(&str, &str)] = &[
    ("?", "help"),
    ("q", "quit"),
    ("Esc", "list"),
    ("Space", "fold"),
    ("/", "search"),
    ("w", "wrap"),
    ("v", "pager"),
    ("y", "copy"),
    ("] [", "failures"),
    ("j k g G", "move"),
];

/// The same for the list.
const LIST_KEYS: &[(&str, &str)] = &[
    ("?", "help"),
    ("q", "quit"),
    ("⏎", "open"),
    ("/", "filter"),
    ("f", "failed"),
    ("] [", "failures"),
    ("F", "follow"),
    ("y", "copy"),
    ("v", "pager"),
    ("j k g G", "move"),
];

/// Draws the name of the program, the state of the session, and how many of its tasks are done.
pub fn header(frame: &mut Frame<'_>, app: &App, area: Rect) {
    let right = app.session().map_or_else(Row::new, |session| tasks(session));
    let right_width = if usize::from(area.width) > right.width() + 29 { right.width() + 2 } else { 0 };
    let columns = [Constraint::Length(8), Constraint::Fill(1), Constraint::Length(width(right_width))];
    let [name, left, right_area] = Layout::horizontal(columns).areas(area);
    let look = Style::new().add_modifier(Modifier::BOLD | Modifier::REVERSED);
    frame.render_widget(Span::styled(" ralph ", look), name);
    let row = match app.session() {
        Some(session) => state_of(app, session),
        None if app.is_known => Row::new(),
        None => reading(),
    };
    frame.render_widget(Line::from(row.cut(0, usize::from(left.width))), left);
    frame.render_widget(Line::from(right.and(Look::Plain, " ")).right_aligned(), right_area);
}

fn width(columns: usize) -> u16 {
    u16::try_from(columns).unwrap_or(u16::MAX)
}

fn tasks(session: &SessionRow) -> Row {
    let all = session.tasks.tasks_done + session.tasks.tasks_open;
    if all == 0 {
        return Row::new();
    }
    let [full, rest] = bar(session.tasks.tasks_done, all, BAR);
    Row::of(Look::Plain, format!("{}/{all} ", session.tasks.tasks_done))
        .and(Look::Good, full)
        .and(Look::Dim, rest)
}

/// What a session is about and how it goes, in a line.
fn state_of(app: &App, session: &SessionRow) -> Row {
    let (look, mark) = status_sign(session.status);
    let feature = session.feature.strip_prefix("specs/").unwrap_or(&session.feature);
    let row =
        Row::of(Look::Bold, cut(&shown(feature), 40)).and(look, format!("  {mark} {}", words_of(session)));
    let Some(live) = &session.live else { return row };
    if let Some(waiting) = &live.waiting {
        return row.and(Look::Warn, format!("  waits until {}", local(waiting.until)));
    }
    let row = match &live.in_flight {
        None => row,
        Some(running) => row
            .and(Look::Plain, format!("  iteration {}", running.number))
            .and(Look::Accent, format!("  {}", cut(&shown(&running.task.name), 16)))
            .and(Look::Dim, format!("  {}", app.age(running))),
    };
    if live.is_stopping { row.and(Look::Warn, "  stops after this iteration") } else { row }
}

/// Draws the keys that are of use, what is typed, and the position; or what there is to say.
pub fn footer(frame: &mut Frame<'_>, app: &App, area: Rect) {
    if let Some(message) = &app.message {
        let row = Row::of(Look::Plain, " ").then(message.clone());
        return frame.render_widget(Line::from(row.cut(0, usize::from(area.width))), area);
    }
    let right = right_of_keys(app);
    let columns = [Constraint::Fill(1), Constraint::Length(width(right.width() + 1))];
    let [left, right_area] = Layout::horizontal(columns).areas(area);
    let mut row = Row::of(Look::Plain, " ").and(Look::Accent, typed(&app.mode, &app.search));
    for (key, does) in key_hints(app) {
        let more = columns_of(key, does);
        if row.width() + more > usize::from(left.width).saturating_sub(1) {
            break;
        }
        row = row.and(Look::Bold, *key).and(Look::Dim, format!(" {does}  "));
    }
    frame.render_widget(Line::from(row), left);
    frame.render_widget(Line::from(right), right_area);
}

fn columns_of(key: &str, does: &str) -> usize {
    columns(key) + columns(does) + 3
}

/// Returns how the loop beside the screen ended, and whether it follows what runs, or the position on the page.
fn right_of_keys(app: &App) -> Row {
    let ended = match app.own_loop {
        OwnLoop::Ended { code: 0 } => Row::of(Look::Good, "the loop has ended  "),
        OwnLoop::Ended { code } => Row::of(Look::Warn, format!("the loop has ended, exit {code}  ")),
        OwnLoop::None | OwnLoop::Runs { .. } => Row::new(),
    };
    let is_live = app.overview.sessions.iter().any(|session| session.status == Status::Running);
    if app.follows && is_live {
        return ended.and(Look::Accent, "following ");
    }
    match position(app) {
        Some(position) => ended.and(Look::Dim, position),
        None => ended,
    }
}

fn key_hints(app: &App) -> &'static [(&'static str, &'static str)] {
    match &app.mode {
        Mode::Filter(_) => &[("⏎", "keep"), ("Esc", "as before")],
        Mode::Search(_) => &[("⏎", "find"), ("Esc", "as before")],
        Mode::Hint(_) => &[("⏎", "for the next prompt"), ("Esc", "none")],
        Mode::Help if help::is_long(&app.areas()) => &[("j k", "more"), ("any other key", "back")],
        Mode::Help => &[("any key", "back")],
        Mode::Leave | Mode::Stop | Mode::Restore(_) => &[],
        Mode::Browse if app.pane == Pane::View => PAGE_KEYS,
        Mode::Browse => LIST_KEYS,
    }
}

fn typed(mode: &Mode, search: &str) -> String {
    match mode {
        Mode::Search(_) => format!("/{}▏  ", shown(search)),
        Mode::Hint(text) => format!("hint: {}▏  ", shown(text)),
        Mode::Browse | Mode::Filter(_) | Mode::Help | Mode::Leave | Mode::Stop | Mode::Restore(_) => {
            String::new()
        }
    }
}

/// Returns the position on the page.
fn position(app: &App) -> Option<String> {
    let (page, length) = (&app.page, app.page.len());
    let height = usize::from(app.areas().page.height);
    (app.pane == Pane::View && length > height)
        .then(|| format!("{} %", (page.cursor + 1) * 100 / length.max(1)))
}

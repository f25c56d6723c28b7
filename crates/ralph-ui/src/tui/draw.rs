//! The state as a picture.

use ratatui::Frame;
use ratatui::layout::{Constraint, Position, Rect};
use ratatui::style::{Color, Style};
use ratatui::text::Line;
use ratatui::widgets::{
    Block, BorderType, Clear, HighlightSpacing, List, ListItem, ListState, Padding, Paragraph,
};

use crate::style::{Paint, columns};
use ralph_core::record::RALPH;

use super::app::{App, Mode, OwnLoop};
use super::bars;
use super::contents::View;
use super::help;
use super::layout::Panel;
use super::page::{At, reading};
use super::panels;
use super::row::{Look, Row, style};
use super::widgets::{CURSOR, panel, scrollbar, text};

/// Draws all of it.
pub fn draw(frame: &mut Frame<'_>, app: &App, paint: Paint) {
    let areas = app.areas();
    bars::header(frame, app, areas.header);
    if let Mode::Help(top) = app.mode {
        draw_help(frame, app, top);
    } else if app.night().is_none() {
        let [needs, tasks, body] = [Panel::Needs, Panel::Tasks, Panel::Detail].map(|panel| areas.area(panel));
        nothing(frame, app, needs.union(body).union(tasks));
    } else {
        panels::now(frame, app, areas.area(Panel::Now));
        panels::needs(frame, app, areas.area(Panel::Needs));
        if areas.is_summary {
            panels::summary(frame, app, areas.area(Panel::Tasks));
        } else {
            panels::tasks(frame, app, areas.area(Panel::Tasks));
        }
        panels::night(frame, app, areas.area(Panel::Night));
        detail(frame, app, areas.area(Panel::Detail));
    }
    bars::footer(frame, app, areas.keys);
    if let Mode::Question(question) = &app.mode {
        ask(frame, help::question(question, usize::from(frame.area().width.saturating_sub(6))));
    }
    if paint == Paint::Plain {
        for cell in &mut frame.buffer_mut().content {
            (cell.fg, cell.bg) = (Color::Reset, Color::Reset);
        }
    }
}

/// A question over everything else.
fn ask(frame: &mut Frame<'_>, rows: Vec<Row>) {
    let inner = rows.iter().map(Row::width).max().unwrap_or(0);
    let [width, height] = [inner + 6, rows.len() + 2]
        .map(|length| Constraint::Length(u16::try_from(length).unwrap_or(u16::MAX)));
    let area = frame.area().centered(width, height);
    let block = Block::bordered()
        .border_type(BorderType::Rounded)
        .border_style(style(Look::Accent))
        .padding(Padding::horizontal(2));
    frame.render_widget(Clear, area);
    frame.render_widget(Paragraph::new(text(rows)).block(block), area);
}

fn detail(frame: &mut Frame<'_>, app: &App, area: Rect) {
    if area.is_empty() {
        return;
    }
    let Some(scene) = app.scene() else { return };
    let is_live = scene.is_live(&app.subject) && app.view != View::Log;
    let title = scene.title(&app.subject, app.view);
    let title = match (scene.in_flight().filter(|_| is_live), app.view) {
        (Some(running), _) if running.attempt > 1 => {
            title.and(Look::Dim, format!("  attempt {}", running.attempt))
        }
        (_, View::Log) if !app.filter().is_empty() => {
            title.and(Look::Accent, format!("  / {}", super::row::shown(app.filter())))
        }
        _ => title,
    };
    let right = match app.view {
        View::Log => {
            let (passed, all) = app.passed();
            Row::of(Look::Dim, if passed == all { all.to_string() } else { format!("{passed} of {all}") })
        }
        _ if is_live => Row::of(Look::Accent, "live"),
        _ => Row::new(),
    };
    let inner = panel(frame, area, app.panel == Panel::Detail, title, right);
    let mut rows = app.screen();
    if app.page.sections.is_empty() {
        rows.push((0, reading()));
    }
    if app.page.is_silent() {
        let words = if app.page.sticks { "no output yet" } else { "no output" };
        let last = rows.last().map_or(0, |(line, _)| *line);
        rows.push((last + 1, Row::of(Look::Dim, words)));
    }
    let lines = rows.chunk_by(|(one, _), (other, _)| one == other);
    let first = rows.first().map_or(0, |(line, _)| *line);
    let items: Vec<ListItem<'_>> =
        lines.map(|rows| ListItem::new(text(rows.iter().map(|(_, row)| row.clone()).collect()))).collect();
    let widget = List::new(items)
        .highlight_symbol(Line::styled(CURSOR, style(Look::Accent)))
        .highlight_spacing(HighlightSpacing::Always)
        .repeat_highlight_symbol(true);
    let cursor = (app.panel == Panel::Detail && !app.page.sections.is_empty())
        .then(|| app.page.cursor.saturating_sub(first));
    frame.render_stateful_widget(widget, inner, &mut ListState::default().with_selected(cursor));
    scrollbar(frame, area, app.page.len(), app.page.top);
}

fn nothing(frame: &mut Frame<'_>, app: &App, area: Rect) {
    let rows = match (app.is_known, app.own_loop) {
        (false, _) => vec![reading()],
        (true, OwnLoop::Runs { .. }) => vec![Row::of(Look::Bold, "the loop is starting …")],
        (true, _) => vec![
            Row::of(Look::Bold, "No session is recorded here"),
            Row::new(),
            Row::of(Look::Accent, RALPH.as_str()).and(Look::Plain, " starts one"),
            Row::of(Look::Accent, format!("{RALPH} sync")).and(Look::Plain, " brings those of others"),
            Row::new(),
            Row::of(Look::Dim, "This screen shows them as they come."),
        ],
    };
    let block = Block::new().padding(Padding::new(2, 0, 1, 0));
    frame.render_widget(Paragraph::new(text(rows)).block(block), area);
}

fn draw_help(frame: &mut Frame<'_>, app: &App, top: usize) {
    let areas = app.areas();
    let body =
        Rect { y: app.size.y + areas.header.height, height: app.size.height.saturating_sub(2), ..app.size };
    let mut rows = help::rows(usize::from(app.size.width));
    let (last, page) = (help::last_top(app.size), help::page(app.size));
    let first = top.min(last);
    let below = rows.len().saturating_sub(first + page);
    rows = rows.into_iter().skip(first).take(page).collect();
    if last > 0 {
        let words = if below > 0 { format!("  … {below} more") } else { "  the end".to_owned() };
        rows.push(Row::of(Look::Dim, words));
    }
    frame.render_widget(Paragraph::new(text(rows)), body);
}

impl App {
    /// The rows of the page as they stand on the screen, each with the line that it is of.
    pub fn screen(&self) -> Vec<(usize, Row)> {
        let area = self.areas().area(Panel::Detail);
        let height = usize::from(area.height.saturating_sub(2));
        let width = usize::from(area.width.saturating_sub(4));
        let is_wrapped = self.is_wrapped();
        let mut rows = Vec::with_capacity(height);
        for (line, at) in (self.page.top..).zip(self.page.lines(self.page.top, height)) {
            let row = self.line(at);
            // Words among the lines of an output are not cut.
            let is_prose = row.is_prose() && !self.view.is_prose();
            if (is_wrapped || is_prose) && row.is_wrappable(width) {
                rows.extend(row.wrapped(width).into_iter().map(|part| (line, part)));
            } else {
                rows.push((line, row.fitted(width)));
            }
            if rows.len() >= height {
                rows.truncate(height);
                break;
            }
        }
        rows
    }

    fn line(&self, at: At) -> Row {
        match at {
            At::Title(place) => {
                let title = self.page.row(at).cloned().unwrap_or_default();
                if self.view == View::Nights {
                    return title;
                }
                Row::of(Look::Dim, self.page.sections[place].mark()).then(title)
            }
            At::Row(..) => self.page.row(at).cloned().unwrap_or_default(),
            At::More(place) => Row::of(Look::Dim, self.page.sections[place].more()),
            At::Reading => reading(),
            At::Gap => Row::new(),
        }
    }

    /// Returns the paths in the detail that lead to files, with their places on the screen and their styles.
    pub fn links(&self) -> Vec<(Position, String, Style)> {
        let area = self.areas().area(Panel::Detail);
        if area.is_empty() || matches!(self.mode, Mode::Help(_) | Mode::Question(_)) {
            return Vec::new();
        }
        let mut links = Vec::new();
        for ((_, row), y) in self.screen().into_iter().zip(area.y + 1..) {
            let Some(path) = &row.link else { continue };
            let mut x = usize::from(area.x) + 2;
            for span in &row.spans {
                if let Some(at) = span.content.find(path.as_str()) {
                    let start = x + columns(&span.content[..at]);
                    if start + columns(path) < usize::from(area.right()) {
                        let x = u16::try_from(start).unwrap_or(u16::MAX);
                        links.push((Position { x, y }, path.clone(), span.style));
                    }
                    break;
                }
                x += columns(&span.content);
            }
        }
        links
    }
}

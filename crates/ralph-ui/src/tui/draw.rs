//! The state as a picture.

use ratatui::Frame;
use ratatui::layout::{Constraint, Margin, Position, Rect};
use ratatui::style::{Color, Style};
use ratatui::text::Line;
use ratatui::widgets::{Block, BorderType, Clear, HighlightSpacing, List, ListState, Padding, Paragraph};

use crate::style::{Paint, columns};
use ralph_core::record::RALPH;

use super::app::{App, Mode, OwnLoop};
use super::bars;
use super::contents::Scene;
use super::help;
use super::layout::Panel;
use super::page::reading;
use super::panels;
use super::row::{Look, Row, style};
use super::widgets::{CURSOR, panel, scrollbar, text};

/// Draws all of it.
pub fn draw(frame: &mut Frame<'_>, app: &App, paint: Paint) {
    let areas = app.areas();
    let scene = app.scene();
    bars::header(frame, app, scene.as_ref(), areas.header);
    match (&app.mode, &scene) {
        (Mode::Help(top), _) => draw_help(frame, app.size, *top),
        (_, None) => nothing(frame, app),
        (_, Some(scene)) => {
            for (panel, area) in areas.shown() {
                match panel {
                    Panel::Now => panels::now(frame, app, scene, area),
                    Panel::Needs => panels::needs(frame, app, scene, area),
                    Panel::Look => panels::look(frame, app, scene, area),
                    Panel::Tasks if areas.is_summary => panels::summary(frame, app, scene, area),
                    Panel::Tasks => panels::tasks(frame, app, scene, area),
                    Panel::Session => panels::session(frame, app, scene, area),
                    Panel::Detail => detail(frame, app, scene, area),
                }
            }
        }
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

fn detail(frame: &mut Frame<'_>, app: &App, scene: &Scene<'_>, area: Rect) {
    let titles = [scene.title(&app.subject, app.view), scene.beside_title(&app.subject, app.view)];
    let mut inner = panel(frame, area, app.panel == Panel::Detail, titles);
    if let Some(head) = app.page.head.clone() {
        // As wide as the lines below it, which have a place for the cursor.
        let width = usize::from(inner.width.saturating_sub(2));
        let head = Row::of(Look::Plain, " ").then(head.fitted(width));
        frame.render_widget(Line::from(head), inner);
        (inner.y, inner.height) = (inner.y + 1, inner.height.saturating_sub(1));
    }
    let mut rows = app.screen();
    if app.page.lines.is_empty() && !app.page.is_silent() {
        rows.push((0, reading()));
    }
    if app.page.is_silent() {
        let words = if app.page.sticks { "no output yet" } else { "no output" };
        rows.push((app.page.lines.len(), Row::of(Look::Dim, words)));
    }
    let first = rows.first().map_or(0, |(line, _)| *line);
    let lines = rows.chunk_by(|(one, _), (other, _)| one == other);
    let items = lines.map(|rows| text(rows.iter().map(|(_, row)| row.clone()).collect()));
    let widget = List::new(items)
        .highlight_symbol(Line::styled(CURSOR, style(Look::Accent)))
        .highlight_spacing(HighlightSpacing::Always)
        .repeat_highlight_symbol(true);
    let has_cursor = app.panel == Panel::Detail && !app.page.lines.is_empty();
    let cursor = has_cursor.then(|| app.page.cursor.saturating_sub(first));
    frame.render_stateful_widget(widget, inner, &mut ListState::default().with_selected(cursor));
    scrollbar(frame, area, app.page.lines.len(), app.page.top);
}

fn nothing(frame: &mut Frame<'_>, app: &App) {
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
    let area = app.size.inner(Margin { horizontal: 2, vertical: 2 });
    frame.render_widget(Paragraph::new(text(rows)), area);
}

fn draw_help(frame: &mut Frame<'_>, size: Rect, top: usize) {
    let rows = help::rows(usize::from(size.width));
    let top = top.min(help::last_top(size));
    scrollbar(frame, size, rows.len(), top);
    let rows = rows.into_iter().skip(top).collect();
    frame.render_widget(Paragraph::new(text(rows)), size.inner(Margin { horizontal: 0, vertical: 1 }));
}

impl App {
    /// Returns how many rows of the page there is room for.
    pub fn detail_height(&self) -> usize {
        let beside = 2 + u16::from(self.page.head.is_some());
        usize::from(self.areas().area(Panel::Detail).height.saturating_sub(beside))
    }

    /// The rows of the page as they stand on the screen, each with the line that it is of.
    pub fn screen(&self) -> Vec<(usize, Row)> {
        let area = self.areas().area(Panel::Detail);
        let height = self.detail_height();
        let width = usize::from(area.width.saturating_sub(4));
        let mut rows = Vec::with_capacity(height);
        for (line, (_, row)) in self.page.lines.iter().enumerate().skip(self.page.top).take(height) {
            if row.is_wrappable(width) {
                rows.extend(row.wrapped(width).into_iter().map(|part| (line, part)));
            } else {
                rows.push((line, row.clone().fitted(width)));
            }
            if rows.len() >= height {
                rows.truncate(height);
                break;
            }
        }
        rows
    }

    /// Returns the paths in the detail that lead to files, with their places on the screen and their styles.
    pub fn links(&self) -> Vec<(Position, String, Style)> {
        let area = self.areas().area(Panel::Detail);
        if area.is_empty() || matches!(self.mode, Mode::Help(_) | Mode::Question(_)) {
            return Vec::new();
        }
        let rows = self.screen().into_iter().zip(area.y + 1 + u16::from(self.page.head.is_some())..);
        let links = rows.filter_map(|((_, row), y)| {
            let path = row.link.clone()?;
            let text = row.text();
            let x = usize::from(area.x) + 2 + columns(&text[..text.find(&path)?]);
            let span = row.spans.iter().find(|span| span.content.contains(&path))?;
            let is_whole = x + columns(&path) < usize::from(area.right());
            is_whole.then(|| (Position { x: u16::try_from(x).unwrap_or(u16::MAX), y }, path, span.style))
        });
        links.collect()
    }
}

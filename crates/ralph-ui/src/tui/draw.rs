//! The state as a picture.

use ratatui::Frame;
use ratatui::layout::{Constraint, Margin, Rect};
use ratatui::style::{Color, Modifier, Style};
use ratatui::symbols::merge::MergeStrategy;
use ratatui::text::{Line, Span, Text};
use ratatui::widgets::{
    Block, BorderType, Borders, Clear, HighlightSpacing, List, ListItem, ListState, Padding, Paragraph, Tabs,
};

use crate::local_time::local_minute;
use crate::row::{Columns, IterationLine};
use crate::style::{Paint, brief_duration, columns, cut, grouped};
use ralph_core::record::RALPH;

use super::app::{App, Mode, OwnLoop};
use super::bars;
use super::contents::status_sign;
use super::help;
use super::layout::{Areas, Pane};
use super::list::Item;
use super::page::{At, reading};
use super::row::{Look, Row, shown, style};

/// In front of the line that keys act on.
const CURSOR: &str = "▌";

/// Whether the screen has colours.
#[derive(Debug, Clone, Copy)]
pub struct Palette(pub Paint);

/// Draws all of it.
pub fn draw(frame: &mut Frame<'_>, app: &App, palette: Palette) {
    let areas = Areas::of(frame.area(), app.pane);
    let pen = Pen { app };
    bars::header(frame, app, areas.header);
    if app.mode == Mode::Help {
        pen.help(frame, &areas);
    } else {
        Pen::borders(frame, &areas);
        pen.list_title(frame, areas.list_title);
        pen.tabs(frame, &areas);
        pen.list(frame, areas.list);
        pen.page(frame, areas.page);
    }
    bars::footer(frame, app, areas.keys);
    if let Some(question) = help::question(&app.mode, usize::from(frame.area().width.saturating_sub(6))) {
        ask(frame, question);
    }
    if palette.0 == Paint::Plain {
        for cell in &mut frame.buffer_mut().content {
            (cell.fg, cell.bg) = (Color::Reset, Color::Reset);
        }
    }
}

/// A question over everything else.
fn ask(frame: &mut Frame<'_>, rows: Vec<Row>) {
    let inner = rows.iter().map(Row::width).max().unwrap_or(0);
    let length = |length: usize| Constraint::Length(u16::try_from(length).unwrap_or(u16::MAX));
    let area = frame.area().centered(length(inner + 6), length(rows.len() + 2));
    let block = Block::bordered()
        .border_type(BorderType::Rounded)
        .border_style(style(Look::Accent))
        .padding(Padding::horizontal(2));
    frame.render_widget(Clear, area);
    frame.render_widget(Paragraph::new(text(rows)).block(block), area);
}

/// Rows below each other.
fn text(rows: Vec<Row>) -> Text<'static> {
    rows.into_iter().map(Line::from).collect()
}

struct Pen<'a> {
    app: &'a App,
}

impl Pen<'_> {
    /// The lines between the panes and their titles.
    fn borders(frame: &mut Frame<'_>, areas: &Areas) {
        let block = |borders: Borders| {
            Block::new().borders(borders).border_style(style(Look::Dim)).merge_borders(MergeStrategy::Exact)
        };
        if areas.body.height > 1 {
            frame.render_widget(block(Borders::TOP), areas.body);
        }
        if let Some(rule) = areas.rule {
            frame.render_widget(block(Borders::LEFT), rule);
        }
    }

    fn tabs(&self, frame: &mut Frame<'_>, areas: &Areas) {
        let tabs = areas.tabs(self.app.view);
        let gap =
            tabs.windows(2).next().map_or(0, |pair| usize::from(pair[1].x - pair[0].x) - pair[0].name.len());
        let active = tabs.iter().position(|tab| tab.view == self.app.view);
        let names = tabs.into_iter().map(|tab| {
            let (key, rest) = tab.name.split_at(1);
            Line::from(vec![
                Span::styled(key.to_owned(), style(Look::Bold)),
                Span::styled(rest.to_owned(), style(Look::Dim)),
            ])
        });
        let chosen = style(Look::Accent).add_modifier(Modifier::BOLD | Modifier::UNDERLINED);
        let tabs = Tabs::new(names)
            .padding("", "")
            .divider(" ".repeat(gap))
            .select(active)
            .highlight_style(chosen.remove_modifier(Modifier::DIM));
        frame.render_widget(tabs, areas.tabs.inner(Margin { horizontal: 1, vertical: 0 }));
    }

    fn list_title(&self, frame: &mut Frame<'_>, area: Rect) {
        let list = &self.app.list;
        let is_typing = matches!(self.app.mode, Mode::Filter(_));
        let row = if is_typing || !list.filter.is_empty() {
            let caret = if is_typing { "▏" } else { "" };
            let row =
                Row::of(Look::Accent, " / ").and(Look::Plain, shown(&list.filter)).and(Look::Accent, caret);
            if list.is_failed_only { row.and(Look::Bad, "  failed only") } else { row }
        } else if list.is_failed_only {
            Row::of(Look::Bad, " Failed only")
        } else {
            Row::of(Look::Bold, " Sessions")
        };
        let count = Row::of(Look::Dim, self.list_count() + " ");
        let has_room = usize::from(area.width) > row.width() + count.width() + 1;
        frame.render_widget(Line::from(row), area);
        if has_room {
            frame.render_widget(Line::from(count).right_aligned(), area);
        }
    }

    /// How many sessions there are, and under a filter how many iterations pass it.
    fn list_count(&self) -> String {
        let (list, sessions) = (&self.app.list, &self.app.overview.sessions);
        if !list.is_filtered() {
            return grouped(sessions.len() as u64);
        }
        let passed = list.items.iter().filter(|item| !matches!(item, Item::Session(_))).count();
        let running = sessions.iter().filter(|session| session.in_flight().is_some()).count();
        let all: usize = sessions.iter().map(|session| session.iterations.len()).sum();
        format!("{} of {}", grouped(passed as u64), grouped((all + running) as u64))
    }

    fn list(&self, frame: &mut Frame<'_>, area: Rect) {
        let (list, app) = (&self.app.list, self.app);
        if list.items.is_empty() && app.is_known {
            let words = if app.overview.sessions.is_empty() { "none" } else { "nothing passes the filter" };
            let words = Row::of(Look::Dim, format!("  {words}"));
            return frame.render_widget(Line::from(words), area);
        }
        let room = usize::from(area.width.saturating_sub(2));
        let shown = list.items.iter().skip(list.top).take(usize::from(area.height));
        let lines: Vec<_> = shown.clone().map(|item| self.line(*item)).collect();
        let columns = Columns::of(lines.iter().flatten(), Some(room), true);
        let rows = shown.zip(&lines).map(|(item, line)| match line {
            Some(line) => Row::of_pieces(columns.pieces(line, Some(room))).clipped(0, room),
            None => self.session_line(*item, room).clipped(0, room),
        });
        let items: Vec<ListItem<'_>> = rows.map(|row| ListItem::new(Line::from(row))).collect();
        let (symbol, chosen) = match app.pane {
            // One bar in one colour, whatever stands in it.
            Pane::List => (
                " ",
                Style::new().fg(Color::Reset).remove_modifier(Modifier::DIM).add_modifier(Modifier::REVERSED),
            ),
            Pane::View => (CURSOR, Style::new().add_modifier(Modifier::BOLD)),
        };
        let widget = List::new(items)
            .highlight_symbol(Line::styled(symbol, style(Look::Accent)))
            .highlight_spacing(HighlightSpacing::Always)
            .highlight_style(chosen);
        let selected = list.selected.checked_sub(list.top);
        frame.render_stateful_widget(widget, area, &mut ListState::default().with_selected(selected));
    }

    /// The iteration that a line of the list stands for, recorded or not.
    fn line(&self, item: Item) -> Option<IterationLine<'_>> {
        let sessions = &self.app.overview.sessions;
        match item {
            Item::Session(_) => None,
            Item::Iteration(place, number) => Some(sessions[place].iterations[number].line()),
            Item::InFlight(place) => {
                let running = sessions[place].in_flight()?;
                let time = brief_duration(self.app.seconds_of(running).saturating_mul(1000));
                Some(IterationLine {
                    number: running.number,
                    task: shown(&running.task.name).into(),
                    attempt: Some(running.attempt),
                    title: shown(&cut(&running.task.text, 200)).into(),
                    tail: [time, String::new(), String::new(), String::new()],
                    ..IterationLine::default()
                })
            }
        }
    }

    /// A session in the list: its feature, and when it began.
    fn session_line(&self, item: Item, room: usize) -> Row {
        let (Item::Session(place) | Item::InFlight(place) | Item::Iteration(place, _)) = item;
        let session = &self.app.overview.sessions[place];
        let (look, mark) = status_sign(session.status);
        let fold = if self.app.list.is_open(place, session) { "▾" } else { "▸" };
        let feature = shown(session.feature.strip_prefix("specs/").unwrap_or(&session.feature));
        let when = local_minute(session.started_at).split_off(5);
        let left = room.saturating_sub(columns(&when) + 6);
        let feature = cut(&feature, left);
        let padding = " ".repeat(left.saturating_sub(columns(&feature)));
        Row::of(Look::Dim, format!("{fold} "))
            .and(look, format!("{mark} "))
            .and(Look::Bold, feature)
            .and(Look::Dim, format!("{padding}  {when}"))
    }

    fn page(&self, frame: &mut Frame<'_>, area: Rect) {
        let app = self.app;
        if app.is_known && app.overview.sessions.is_empty() {
            return self.nothing(frame, area);
        }
        let mut rows = app.screen();
        if app.page.sections.is_empty() && (app.is_reading() || !app.is_known) {
            rows.push((0, reading()));
        }
        if app.page.is_silent() {
            let words = if app.page.sticks { "nothing is printed yet" } else { "nothing was printed" };
            let last = rows.last().map_or(0, |(line, _)| *line);
            rows.extend([(last + 1, Row::new()), (last + 2, Row::of(Look::Dim, words))]);
        }
        let lines = rows.chunk_by(|(one, _), (other, _)| one == other);
        let first = rows.first().map_or(0, |(line, _)| *line);
        let items: Vec<ListItem<'_>> = lines
            .map(|rows| ListItem::new(text(rows.iter().map(|(_, row)| row.clone()).collect())))
            .collect();
        let widget = List::new(items)
            .highlight_symbol(Line::styled(CURSOR, style(Look::Accent)))
            .highlight_spacing(HighlightSpacing::Always)
            .repeat_highlight_symbol(true);
        let cursor = (app.pane == Pane::View && !app.page.sections.is_empty())
            .then(|| app.page.cursor.saturating_sub(first));
        frame.render_stateful_widget(widget, area, &mut ListState::default().with_selected(cursor));
    }

    fn nothing(&self, frame: &mut Frame<'_>, area: Rect) {
        let rows = if let OwnLoop::Runs { .. } = self.app.own_loop {
            vec![Row::of(Look::Bold, "the loop is starting …")]
        } else {
            vec![
                Row::of(Look::Bold, "No session is recorded here"),
                Row::new(),
                Row::of(Look::Accent, RALPH.as_str()).and(Look::Plain, " starts one"),
                Row::of(Look::Accent, format!("{RALPH} sync")).and(Look::Plain, " brings those of others"),
                Row::new(),
                Row::of(Look::Dim, "This screen shows them as they come."),
            ]
        };
        let block = Block::new().padding(Padding::new(2, 0, 1, 0));
        frame.render_widget(Paragraph::new(text(rows)).block(block), area);
    }

    fn help(&self, frame: &mut Frame<'_>, areas: &Areas) {
        let mut rows = help::rows(usize::from(areas.header.width));
        let (first, page) = (self.app.help_top.min(help::last_top(areas)), help::page(areas));
        let below = rows.len().saturating_sub(first + page);
        rows = rows.into_iter().skip(first).take(page).collect();
        if help::is_long(areas) {
            let words = if below > 0 { format!("  … {below} more") } else { "  the end".to_owned() };
            rows.push(Row::of(Look::Dim, words));
        }
        frame.render_widget(Paragraph::new(text(rows)), areas.body);
    }
}

impl App {
    /// The rows of the page as they stand on the screen, each with the line that it is of.
    pub fn screen(&self) -> Vec<(usize, Row)> {
        let area = self.areas().page;
        let (height, width) = (usize::from(area.height), usize::from(area.width.saturating_sub(2)));
        let is_wrapped = self.is_wrapped();
        let mut rows = Vec::with_capacity(height);
        for (line, at) in (self.page.top..).zip(self.page.lines(self.page.top, height)) {
            let row = self.line(at);
            // Words among the lines of an output are not cut.
            let is_prose = row.is_prose() && !self.view.is_prose();
            if (is_wrapped || is_prose) && row.width() > width {
                rows.extend(row.wrapped(width).into_iter().map(|part| (line, part)));
            } else {
                rows.push((line, row.cut(self.page.left, width)));
            }
            if rows.len() >= height {
                rows.truncate(height);
                break;
            }
        }
        rows
    }

    fn line(&self, at: At) -> Row {
        let section = |place: usize| &self.page.sections[place];
        match at {
            At::Title(place) => {
                let mark = section(place).mark();
                let title = self.page.row(at).cloned().unwrap_or_default();
                Row::of(Look::Dim, mark).then(title)
            }
            At::Row(..) => self.page.row(at).cloned().unwrap_or_default(),
            At::More(place) => Row::of(Look::Dim, section(place).more()),
            At::Reading(_) => reading(),
            At::Gap => Row::new(),
        }
    }
}

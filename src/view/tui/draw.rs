//! The state as a picture.

use ratatui::Frame;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Block, BorderType, Clear, Padding, Paragraph, Widget};

use crate::record::{RALPH, Status};
use crate::view::local_time::{local, local_minute};
use crate::view::row::{Columns, IterationLine};
use crate::view::style::{Paint, bar, columns, cut, grouped};

use super::app::{App, Mode, OwnLoop};
use super::contents::{status_sign, words_of};
use super::help;
use super::layout::{Areas, Pane, Tab};
use super::list::Item;
use super::page::{At, reading};
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

/// Which looks are which colours: the sixteen of the terminal's own theme, or none.
#[derive(Debug, Clone, Copy)]
pub struct Palette(pub Paint);

impl Palette {
    fn style(self, look: Look) -> Style {
        let colour = |colour: Color| match self.0 {
            Paint::Colour => Style::new().fg(colour),
            Paint::Plain => Style::new(),
        };
        match look {
            Look::Plain => Style::new(),
            Look::Dim => Style::new().add_modifier(Modifier::DIM),
            Look::Bold => Style::new().add_modifier(Modifier::BOLD),
            Look::Good => colour(Color::Green),
            Look::Bad => colour(Color::Red),
            Look::Warn => colour(Color::Yellow),
            Look::Accent => colour(Color::Cyan),
            Look::Claim => colour(Color::Magenta),
        }
    }
}

impl Palette {
    fn line(self, row: &Row) -> Line<'_> {
        row.pieces.iter().map(|(look, text)| Span::styled(text.as_str(), self.style(*look))).collect()
    }
}

/// Draws all of it.
pub fn draw(frame: &mut Frame<'_>, app: &App, palette: Palette) {
    let pen = Pen { palette, app };
    let area = frame.area();
    let areas = Areas::of(area, app.pane);
    let buffer = frame.buffer_mut();
    pen.header(buffer, areas.header);
    if app.mode == Mode::Help {
        pen.help(buffer, areas);
    } else {
        pen.frame(buffer, &areas);
        pen.list(buffer, &areas);
        pen.page(buffer, areas.page);
    }
    pen.keys(buffer, areas.keys);
    if let Some(question) = help::question(&app.mode, usize::from(area.width.saturating_sub(6))) {
        pen.question(buffer, area, &question);
    }
}

struct Pen<'a> {
    palette: Palette,
    app: &'a App,
}

impl Pen<'_> {
    fn style(&self, look: Look) -> Style {
        self.palette.style(look)
    }

    /// Writes a row, and gives the column behind it.
    fn put(&self, buffer: &mut Buffer, (x, y): (u16, u16), row: &Row, width: u16) -> u16 {
        buffer.set_line(x, y, &self.palette.line(row), width).0
    }

    fn header(&self, buffer: &mut Buffer, area: Rect) {
        if area.height == 0 {
            return;
        }
        let name = Style::new().add_modifier(Modifier::BOLD | Modifier::REVERSED);
        buffer.set_span(area.x, area.y, &Span::styled(" ralph ", name), area.width);
        let x = area.x + 8;
        let room = area.width.saturating_sub(8);
        let Some(session) = self.app.session() else {
            let row = if self.app.is_known { Row::new() } else { reading() };
            self.put(buffer, (x, area.y), &row, room);
            return;
        };
        let all = session.tasks_done + session.tasks_open;
        let [full, rest] = bar(session.tasks_done, all, BAR);
        let right = Row::of(Look::Plain, format!("{}/{all} ", session.tasks_done))
            .and(Look::Good, full)
            .and(Look::Dim, rest);
        let right_width = u16::try_from(right.width()).unwrap_or(0) + 1;
        let left = self.state_of(session);
        let has_room = all > 0 && room > right_width + 20;
        let left_room = if has_room { room - right_width - 1 } else { room };
        let row = left.clipped(0, usize::from(left_room));
        self.put(buffer, (x, area.y), &row, left_room);
        if has_room {
            self.put(buffer, (area.right() - right_width, area.y), &right, right_width);
        }
    }

    /// What a session is about and how it goes, in a line.
    fn state_of(&self, session: &SessionRow) -> Row {
        let (look, mark) = status_sign(session.status);
        let feature = session.feature.strip_prefix("specs/").unwrap_or(&session.feature);
        let row = Row::of(Look::Bold, cut(&shown(feature), 40))
            .and(look, format!("  {mark} {}", words_of(session)));
        let Some(live) = &session.live else { return row };
        if let Some(waiting) = &live.waiting {
            return row.and(Look::Warn, format!("  waits until {}", local(waiting.until)));
        }
        let row = match &live.in_flight {
            None if live.is_paused => row.and(Look::Warn, "  is paused"),
            None => row,
            Some(running) => row
                .and(Look::Plain, format!("  iteration {}", running.number))
                .and(Look::Accent, format!("  {}", cut(&shown(&running.task.name), 16)))
                .and(Look::Dim, format!("  {}", self.app.age(running))),
        };
        match (live.is_stopping, live.is_paused && live.in_flight.is_some()) {
            (true, _) => row.and(Look::Warn, "  stops after this"),
            (_, true) => row.and(Look::Warn, "  pauses after this"),
            (false, false) => row,
        }
    }

    /// The titles of the panes and the lines between them.
    fn frame(&self, buffer: &mut Buffer, areas: &Areas) {
        let dim = self.style(Look::Dim);
        let y = areas.header.y + 2;
        if areas.keys.y > y {
            let line = "─".repeat(usize::from(areas.header.width));
            buffer.set_string(0, y, line, dim);
            if let Some(x) = areas.rule {
                buffer.set_string(x, y, "┬", dim);
                buffer.set_string(x, y - 1, "│", dim);
                for y in y + 1..areas.keys.y {
                    buffer.set_string(x, y, "│", dim);
                }
            }
        }
        if areas.list_title.height > 0 {
            self.list_title(buffer, areas.list_title);
        }
        if areas.tabs.height == 0 {
            return;
        }
        for Tab { view, x, name } in areas.tabs(self.app.view) {
            let room = areas.tabs.right().saturating_sub(x);
            if view == self.app.view {
                let style = self.style(Look::Accent).add_modifier(Modifier::BOLD | Modifier::UNDERLINED);
                buffer.set_span(x, areas.tabs.y, &Span::styled(name, style), room);
            } else {
                let (key, rest) = name.split_at(1);
                let line = Line::from(vec![
                    Span::styled(key, self.style(Look::Bold)),
                    Span::styled(rest, self.style(Look::Dim)),
                ]);
                buffer.set_line(x, areas.tabs.y, &line, room);
            }
        }
    }

    fn list_title(&self, buffer: &mut Buffer, area: Rect) {
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
        self.put(buffer, (area.x, area.y), &row, area.width);
        let count = Row::of(Look::Dim, self.list_count());
        let width = u16::try_from(count.width()).unwrap_or(0);
        if usize::from(area.width) > row.width() + count.width() + 2 {
            self.put(buffer, (area.right() - width - 1, area.y), &count, width);
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

    fn list(&self, buffer: &mut Buffer, areas: &Areas) {
        let list = &self.app.list;
        let area = areas.list;
        let room = usize::from(area.width.saturating_sub(2));
        let shown = list.items.iter().enumerate().skip(list.top).take(usize::from(area.height));
        let lines: Vec<IterationLine<'_>> = shown.clone().filter_map(|(_, item)| self.line(*item)).collect();
        let columns = Columns::of(&lines, Some(room), true);
        for (y, (place, item)) in (area.y..).zip(shown) {
            let row = match self.line(*item) {
                Some(line) => Row::of_pieces(columns.pieces(&line, Some(room))),
                None => self.session_line(*item, room),
            };
            self.item_line(buffer, Rect { y, height: 1, ..area }, &row, place == list.selected);
        }
        if list.items.is_empty() && self.app.is_known {
            let words =
                if self.app.overview.sessions.is_empty() { "none" } else { "nothing passes the filter" };
            self.put(buffer, (area.x + 2, area.y), &Row::of(Look::Dim, words), area.width.saturating_sub(2));
        }
    }

    fn item_line(&self, buffer: &mut Buffer, area: Rect, row: &Row, is_selected: bool) {
        if area.width < 4 {
            return;
        }
        self.put(buffer, (area.x + 1, area.y), row, area.width - 2);
        if is_selected {
            let style = if self.app.pane == Pane::List {
                Style::new().add_modifier(Modifier::REVERSED)
            } else {
                Style::new().add_modifier(Modifier::BOLD)
            };
            if self.app.pane == Pane::List {
                // One bar in one colour, whatever stands in it.
                let plain = Style::new().fg(Color::Reset).remove_modifier(Modifier::DIM);
                buffer.set_style(area, plain);
            }
            buffer.set_style(area, style);
            if self.app.pane == Pane::View {
                buffer.set_string(area.x, area.y, "▌", self.style(Look::Accent));
            }
        }
    }

    /// The iteration that a line of the list stands for, recorded or not.
    fn line(&self, item: Item) -> Option<IterationLine<'_>> {
        let sessions = &self.app.overview.sessions;
        match item {
            Item::Session(_) => None,
            Item::Iteration(place, number) => Some(sessions[place].iterations[number].line()),
            Item::InFlight(place) => {
                let running = sessions[place].in_flight()?;
                Some(IterationLine {
                    number: running.number,
                    task: shown(&running.task.name).into(),
                    attempt: Some(running.attempt),
                    title: shown(&cut(&running.task.text, 200)).into(),
                    time_ms: Some(self.app.seconds_of(running).saturating_mul(1000)),
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

    fn page(&self, buffer: &mut Buffer, area: Rect) {
        if area.height == 0 || area.width < 4 {
            return;
        }
        let app = self.app;
        if app.is_known && app.overview.sessions.is_empty() {
            return self.nothing(buffer, area);
        }
        if app.page.sections.is_empty() {
            if app.is_reading() || !app.is_known {
                self.put(buffer, (area.x + 1, area.y), &reading(), area.width - 1);
            }
            return;
        }
        let rows = app.screen();
        let below = area.y + u16::try_from(rows.len()).unwrap_or(0) + 1;
        if app.page.is_silent() && below < area.bottom() {
            let words = if app.page.sticks { "nothing is printed yet" } else { "nothing was printed" };
            self.put(buffer, (area.x + 1, below), &Row::of(Look::Dim, words), area.width - 2);
        }
        for (y, (line, row)) in (area.y..).zip(rows) {
            let is_at_cursor = app.pane == Pane::View && line == app.page.cursor;
            self.put(buffer, (area.x + 1, y), &row, area.width - 2);
            if is_at_cursor {
                buffer.set_string(area.x, y, "▌", self.style(Look::Accent));
            }
        }
    }

    fn nothing(&self, buffer: &mut Buffer, area: Rect) {
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
        let area = Rect { x: area.x + 2, y: area.y + 1, width: area.width - 2, height: area.height - 1 };
        self.text(&rows).render(area, buffer);
    }

    fn keys(&self, buffer: &mut Buffer, area: Rect) {
        if area.height == 0 {
            return;
        }
        if let Some(message) = &self.app.message {
            self.put(buffer, (area.x + 1, area.y), message, area.width.saturating_sub(1));
            return;
        }
        let mut right = Row::new();
        match self.app.own_loop {
            OwnLoop::Ended { code: 0 } => right = right.and(Look::Good, "the loop has ended  "),
            OwnLoop::Ended { code } => {
                right = right.and(Look::Warn, format!("the loop has ended, exit {code}  "));
            }
            OwnLoop::None | OwnLoop::Runs { .. } => {}
        }
        let is_live = self.app.overview.sessions.iter().any(|session| session.status == Status::Running);
        if self.app.follows && is_live {
            right = right.and(Look::Accent, "following ");
        } else if let Some(place) = self.place() {
            right = right.and(Look::Dim, place);
        }
        let hints: &[(&str, &str)] = match &self.app.mode {
            Mode::Filter(_) | Mode::Search(_) => &[("⏎", "keep"), ("Esc", "as before")],
            Mode::Hint(_) => &[("⏎", "for the next prompt"), ("Esc", "none")],
            Mode::Help if help::is_long(&self.app.areas()) => &[("j k", "more"), ("any other key", "back")],
            Mode::Help => &[("any key", "back")],
            Mode::Leave | Mode::Stop | Mode::Restore(_) => &[],
            Mode::Browse if self.app.pane == Pane::View => PAGE_KEYS,
            Mode::Browse => LIST_KEYS,
        };
        let typed = match &self.app.mode {
            Mode::Search(_) => format!("/{}▏  ", shown(&self.app.search)),
            Mode::Hint(text) => format!("hint: {}▏  ", shown(text)),
            Mode::Browse | Mode::Filter(_) | Mode::Help | Mode::Leave | Mode::Stop | Mode::Restore(_) => {
                String::new()
            }
        };
        let mut row = Row::of(Look::Plain, " ").and(Look::Accent, typed);
        let room = usize::from(area.width).saturating_sub(right.width() + 2);
        for (key, does) in hints {
            let more = columns(key) + columns(does) + 3;
            if row.width() + more > room {
                break;
            }
            row = row.and(Look::Bold, *key).and(Look::Dim, format!(" {does}  "));
        }
        self.put(buffer, (area.x, area.y), &row, area.width);
        let width = u16::try_from(right.width()).unwrap_or(0);
        self.put(buffer, (area.right().saturating_sub(width + 1), area.y), &right, width);
    }

    /// Returns the position on the page.
    fn place(&self) -> Option<String> {
        let (page, length) = (&self.app.page, self.app.page.len());
        let height = usize::from(self.app.areas().page.height);
        (self.app.pane == Pane::View && length > height)
            .then(|| format!("{} %", (page.cursor + 1) * 100 / length.max(1)))
    }

    fn help(&self, buffer: &mut Buffer, areas: Areas) {
        let top = areas.header.y + 2;
        let width = areas.header.width;
        let rows = help::rows(usize::from(width));
        let first = self.app.help_top.min(help::last_top(&areas));
        let page = help::page(&areas);
        let shown = &rows[first..rows.len().min(first + page)];
        let height = areas.keys.y.saturating_sub(top);
        self.text(shown).render(Rect { x: 0, y: top, width, height }, buffer);
        let below = rows.len().saturating_sub(first + page);
        if help::is_long(&areas) && areas.keys.y > top {
            let words = if below > 0 { format!("  … {below} more") } else { "  the end".to_owned() };
            self.put(buffer, (0, areas.keys.y - 1), &Row::of(Look::Dim, words), width);
        }
    }

    fn question(&self, buffer: &mut Buffer, screen: Rect, rows: &[Row]) {
        let inner = rows.iter().map(Row::width).max().unwrap_or(0);
        let width = u16::try_from(inner + 6).unwrap_or(0).min(screen.width);
        let height = u16::try_from(rows.len() + 2).unwrap_or(0).min(screen.height);
        let area = Rect { x: (screen.width - width) / 2, y: (screen.height - height) / 2, width, height };
        let block = Block::bordered()
            .border_type(BorderType::Rounded)
            .border_style(self.style(Look::Accent))
            .padding(Padding::horizontal(2));
        Clear.render(area, buffer);
        self.text(rows).block(block).render(area, buffer);
    }

    /// Rows below each other.
    fn text<'r>(&self, rows: &'r [Row]) -> Paragraph<'r> {
        Paragraph::new(rows.iter().map(|row| self.palette.line(row)).collect::<Vec<_>>())
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
            if is_wrapped && row.width() > width {
                rows.extend(row.wrapped(width).into_iter().map(|part| (line, part)));
            } else {
                rows.push((line, cut_row(&row, self.page.left, width)));
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
                let mut row = Row::of(Look::Dim, mark);
                row.pieces.extend(title.pieces);
                row
            }
            At::Row(..) => self.page.row(at).cloned().unwrap_or_default(),
            At::More(place) => Row::of(Look::Dim, section(place).more()),
            At::Reading(_) => reading(),
            At::Gap => Row::new(),
        }
    }
}

/// The part of a row that is on the screen, with a sign where there is more of it.
fn cut_row(row: &Row, left: usize, width: usize) -> Row {
    let all = row.width();
    if left == 0 && all <= width {
        return row.clone();
    }
    if all > left + width && width > 1 {
        row.clipped(left, width - 1).and(Look::Dim, "…")
    } else {
        row.clipped(left, width)
    }
}

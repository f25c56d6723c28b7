//! What stands on the right: sections that fold, some of them windows on files of any size.

use std::collections::HashMap;
use std::ops::Range;

use crate::style::size;
use ralph_store::Ask;

use super::model::File;
use super::row::{Look, Row};
use super::window::{PART, Window, signed};

/// What is shown of a folded file.
pub const PREVIEW: usize = 12;

/// Sections, one below the other.
#[derive(Debug, Clone, Default)]
pub struct Page {
    pub sections: Vec<Section>,
    /// The line that keys act on, counted over all sections.
    pub cursor: usize,
    /// The first line on the screen.
    pub top: usize,
    /// The first column on the screen.
    pub left: usize,
    /// True if it keeps to its end when it grows.
    pub sticks: bool,
}

#[derive(Debug, Clone)]
pub struct Section {
    /// What it is about, by which it is found again where the page is made anew; empty where that need not be.
    pub key: String,
    pub title: Option<Row>,
    pub fold: Fold,
    pub body: Body,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fold {
    /// There is nothing to fold.
    Never,
    /// The first lines are shown.
    Closed(usize),
    Open,
}

#[derive(Debug, Clone)]
pub enum Body {
    Rows(Vec<Row>),
    Window(Window),
}

/// Where a line of a page comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum At {
    Title(usize),
    Row(usize, usize),
    /// The line that says how much is folded away.
    More(usize),
    /// What belongs there is on its way.
    Reading(usize),
    /// Between two sections.
    Gap,
}

impl Section {
    /// Rows that neither fold nor have a title.
    pub fn plain(rows: Vec<Row>) -> Self {
        Self { key: String::new(), title: None, fold: Fold::Never, body: Body::Rows(rows) }
    }

    /// Rows below a title that can be folded away. The title is how it is found again.
    pub fn titled(title: Row, fold: Fold, rows: Vec<Row>) -> Self {
        Self { key: title.text(), title: Some(title), fold, body: Body::Rows(rows) }
    }

    /// Rows that are folded away below a title, found again by `key`.
    pub fn folded(key: String, title: Row, rows: Vec<Row>) -> Self {
        Self { key, title: Some(title), fold: Fold::Closed(0), body: Body::Rows(rows) }
    }

    pub fn window(&self) -> Option<&Window> {
        match &self.body {
            Body::Window(window) => Some(window),
            Body::Rows(_) => None,
        }
    }

    /// In front of its title: whether it can be folded, and is.
    pub fn mark(&self) -> &'static str {
        match self.fold {
            Fold::Never => "",
            Fold::Closed(_) => "▸ ",
            Fold::Open => "▾ ",
        }
    }

    fn rows(&self) -> usize {
        match &self.body {
            Body::Rows(rows) => rows.len(),
            Body::Window(window) => window.rows.len(),
        }
    }

    /// A file that holds nothing: neither it nor its title is shown.
    fn is_hidden(&self) -> bool {
        self.window().is_some_and(|window| window.total == Some(0) && window.jump.is_none())
    }

    fn shown_rows(&self) -> usize {
        match self.fold {
            Fold::Closed(preview) => self.rows().min(preview),
            Fold::Never | Fold::Open => self.rows(),
        }
    }

    fn has_more(&self) -> bool {
        let Fold::Closed(preview) = self.fold else { return false };
        let is_long = self.window().is_some_and(Window::is_part);
        preview > 0 && (self.rows() > preview || (is_long && self.rows() > 0))
    }

    /// Lines on the page, without the gap behind it.
    fn len(&self) -> usize {
        if self.is_hidden() {
            return 0;
        }
        let is_being_read = self.window().is_some_and(|window| window.jump.is_some());
        let reading = usize::from(is_being_read && self.shown_rows() == 0);
        usize::from(self.title.is_some()) + self.shown_rows() + usize::from(self.has_more()) + reading
    }

    fn at(&self, place: usize, line: usize) -> At {
        let title = usize::from(self.title.is_some());
        if line >= self.len() {
            At::Gap
        } else if line < title {
            At::Title(place)
        } else if line < title + self.shown_rows() {
            At::Row(place, line - title)
        } else if self.has_more() {
            At::More(place)
        } else {
            At::Reading(place)
        }
    }

    /// The blank line behind it.
    fn gap(&self) -> usize {
        let is_apart = self.fold != Fold::Closed(0) || self.window().is_some();
        usize::from(is_apart && self.len() > 0)
    }

    /// What its last line says where more of it is folded away.
    pub fn more(&self) -> String {
        if let Some(window) = self.window().filter(|window| window.is_part()) {
            let rows = window.rows.iter().take(self.shown_rows());
            let shown: u64 = rows.map(|row| row.text().len() as u64 + 1).sum();
            return format!("… {} more", size(window.total.unwrap_or_default().saturating_sub(shown)));
        }
        match self.rows() - self.shown_rows() {
            1 => "… 1 more line".to_owned(),
            count => format!("… {count} more lines"),
        }
    }
}

impl Page {
    pub fn new(sections: Vec<Section>) -> Self {
        Self { sections, ..Self::default() }
    }

    /// The sections with their lines, and the gap behind them.
    fn placed(&self) -> impl Iterator<Item = (Range<usize>, &Section)> {
        let mut start = 0;
        self.sections.iter().map(move |section| {
            let lines = start..start + section.len() + section.gap();
            start = lines.end;
            (lines, section)
        })
    }

    pub fn len(&self) -> usize {
        let total = self.placed().last().map_or(0, |(lines, _)| lines.end);
        total - self.sections.iter().rev().find(|section| section.len() > 0).map_or(0, Section::gap)
    }

    /// The lines from `top` on, at most `height`.
    pub fn lines(&self, top: usize, height: usize) -> Vec<At> {
        let end = self.len().min(top + height);
        let lines = self.placed().enumerate().flat_map(|(place, (lines, section))| {
            (top.max(lines.start)..end.min(lines.end)).map(move |line| section.at(place, line - lines.start))
        });
        lines.collect()
    }

    pub fn at(&self, line: usize) -> Option<At> {
        self.lines(line, 1).first().copied()
    }

    /// The row of a line; none for lines that are made where they are drawn.
    pub fn row(&self, at: At) -> Option<&Row> {
        match at {
            At::Title(section) => self.sections[section].title.as_ref(),
            At::Row(section, row) => match &self.sections[section].body {
                Body::Rows(rows) => rows.get(row),
                Body::Window(window) => window.rows.get(row),
            },
            At::More(_) | At::Reading(_) | At::Gap => None,
        }
    }

    /// The line at which a section begins.
    pub fn start_of(&self, wanted: usize) -> usize {
        self.placed().nth(wanted).map_or(0, |(lines, _)| lines.start)
    }

    /// The section that a line is in.
    pub fn section_at(&self, line: usize) -> Option<usize> {
        self.placed().position(|(lines, _)| line < lines.end)
    }

    /// The section that the cursor is in.
    pub fn section(&self) -> Option<&Section> {
        self.sections.get(self.section_at(self.cursor)?)
    }

    /// Moves the cursor by a number of lines.
    pub fn move_by(&mut self, lines: isize) {
        let last = self.len().saturating_sub(1);
        self.cursor = self.cursor.saturating_add_signed(lines).min(last);
        self.sticks = false;
    }

    pub fn go_to_start(&mut self) {
        self.sticks = false;
        for section in &mut self.sections {
            if let Body::Window(window) = &mut section.body
                && window.start > 0
            {
                window.jump = Some(Ask::From(0));
            }
        }
        self.cursor = 0;
    }

    pub fn go_to_end(&mut self) {
        self.sticks = true;
        let last = self.sections.iter_mut().rev().find(|section| section.len() > 0);
        if let Some(Section { fold: Fold::Open, body: Body::Window(window), .. }) = last
            && !window.is_at_end()
        {
            window.jump = Some(Ask::Before(u64::MAX));
        }
        self.cursor = self.len().saturating_sub(1);
    }

    /// Folds or unfolds the section at the cursor, or the next one that can be.
    pub fn toggle(&mut self) {
        let Some(place) = self.foldable() else { return };
        let start = self.start_of(place);
        let section = &mut self.sections[place];
        if section.fold == Fold::Open {
            let shown = if matches!(section.body, Body::Window(_)) { PREVIEW } else { 0 };
            section.fold = Fold::Closed(shown);
            self.cursor = start;
        } else {
            section.fold = Fold::Open;
        }
    }

    /// Unfolds the same section.
    pub fn open(&mut self) {
        if let Some(place) = self.foldable() {
            self.sections[place].fold = Fold::Open;
        }
    }

    fn foldable(&self) -> Option<usize> {
        let place = self.section_at(self.cursor)?;
        Some(
            place
                + self.sections[place..]
                    .iter()
                    .position(|section| section.fold != Fold::Never && section.len() > 0)?,
        )
    }

    /// Scrolls as little as possible to show the cursor on a screen of a number of lines.
    pub fn keep_in_view(&mut self, height: usize) {
        let length = self.len();
        if self.sticks {
            self.cursor = length.saturating_sub(1);
        }
        self.cursor = self.cursor.min(length.saturating_sub(1));
        self.top = top_to_show(self.cursor, self.top, length, height);
    }

    /// What the files on the screen need, the first that needs something.
    pub fn request(&self, height: usize) -> Option<(File, Ask)> {
        // What is not there at all comes before what there might be more of.
        let mut windows = self.sections.iter().filter_map(Section::window);
        let jump = windows.find_map(|window| Some((window.file.clone(), window.jump?)));
        if jump.is_some() {
            return jump;
        }
        let bottom = self.top + height;
        self.placed().find_map(|(lines, section)| {
            let is_near = lines.start <= bottom && lines.end >= self.top;
            let is_open = !matches!(section.fold, Fold::Closed(_));
            let window = section.window().filter(|_| is_near && is_open)?;
            let title = lines.start + usize::from(section.title.is_some());
            let ask = window.request(self.top.saturating_sub(title), bottom.saturating_sub(title))?;
            Some((window.file.clone(), ask))
        })
    }

    /// Takes in a part of a file, with what is on the screen staying where it is.
    pub fn take(&mut self, file: &File, ask: Ask, range: Range<u64>, total: u64, rows: Vec<Row>) {
        let mut windows = self.sections.iter().map(Section::window);
        let place = windows.position(|window| window.is_some_and(|window| window.file == *file));
        let Some(place) = place else { return };
        let start = self.start_of(place);
        let is_below = self.section_at(self.cursor).is_some_and(|at| at > place);
        let before = signed(self.sections[place].len());
        let Body::Window(window) = &mut self.sections[place].body else { return };
        let moved = window.take(ask, range, total, rows);
        let moved = if is_below { signed(self.sections[place].len()) - before } else { moved };
        for line in [&mut self.cursor, &mut self.top] {
            if *line > start {
                *line = line.saturating_add_signed(moved).max(start);
            }
        }
    }

    /// Keeps of `old` what a newer page on the same things would have to read and unfold again.
    pub fn adopt(&mut self, old: Self) {
        let was = old.section_at(old.cursor);
        let was = was.map(|place| (old.sections[place].key.clone(), old.cursor - old.start_of(place)));
        let Self { sections, cursor, top, left, sticks } = old;
        (self.cursor, self.top, self.left, self.sticks) = (cursor, top, left, sticks);
        let kept = sections.into_iter().filter(|section| !section.key.is_empty());
        let mut kept: HashMap<String, Section> = kept.map(|section| (section.key.clone(), section)).collect();
        for new in &mut self.sections {
            let Some(old) = kept.remove(&new.key) else { continue };
            if new.fold != Fold::Never && old.fold != Fold::Never {
                new.fold = old.fold;
            }
            if let (Body::Window(one), Body::Window(other)) = (&mut new.body, old.body)
                && one.file == other.file
            {
                *one = other;
            }
        }
        // A line that was above comes below what is new.
        if let Some((key, line)) = was.filter(|(key, _)| !key.is_empty())
            && let Some(section) = self.sections.iter().position(|section| section.key == key)
        {
            let cursor = self.start_of(section) + line;
            self.top = (self.top + cursor).saturating_sub(self.cursor);
            self.cursor = cursor;
        }
    }

    /// Returns true if it has windows, and all of their files hold nothing.
    pub fn is_silent(&self) -> bool {
        let mut windows = self.sections.iter().filter(|section| section.window().is_some()).peekable();
        windows.peek().is_some() && windows.all(Section::is_hidden)
    }

    /// Lets the windows on files that grow know how long they are by now.
    pub fn grown(&mut self, file: &File, length: u64) {
        for section in &mut self.sections {
            if let Body::Window(window) = &mut section.body
                && window.file == *file
                && window.total.is_some_and(|total| total < length)
            {
                window.total = Some(length);
                // Far behind: only the end is worth reading.
                if self.sticks && length.saturating_sub(window.end) > 2 * PART {
                    window.jump = Some(Ask::Before(u64::MAX));
                }
            }
        }
    }
}

/// The first line on a screen of a number of lines, moved as little as possible to show the cursor.
pub fn top_to_show(cursor: usize, top: usize, length: usize, height: usize) -> usize {
    let lowest = cursor.saturating_sub(height.saturating_sub(1));
    top.clamp(lowest, cursor).min(length.saturating_sub(height).max(lowest))
}

/// The line in place of what is on its way.
pub fn reading() -> Row {
    Row::of(Look::Dim, "reading …")
}

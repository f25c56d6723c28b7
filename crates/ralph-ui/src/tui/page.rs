//! What is on the right: sections that fold.

use std::collections::HashMap;

use super::model::File;
use super::row::{Look, Row};

/// How far a key moves; what is negative leads up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    Lines(isize),
    HalfPages(isize),
    Pages(isize),
    Start,
    End,
}

impl Step {
    /// Returns how many lines that are on a page of a number of lines.
    pub fn lines(self, height: usize) -> isize {
        let height = isize::try_from(height).unwrap_or(1).max(1);
        match self {
            Self::Lines(lines) => lines,
            Self::HalfPages(pages) => pages * (height / 2).max(1),
            Self::Pages(pages) => pages * height,
            Self::Start => isize::MIN / 2,
            Self::End => isize::MAX / 2,
        }
    }
}

/// Sections, one below the other.
#[derive(Debug, Clone, Default)]
pub struct Page {
    /// The names of columns, which stay above the lines.
    pub head: Option<Row>,
    /// Their titles and rows are among the lines.
    pub sections: Vec<Section>,
    /// What is to be seen, each line with the place of its section.
    pub lines: Vec<(usize, Row)>,
    /// The line that keys act on.
    pub cursor: usize,
    /// The first line on the screen.
    pub top: usize,
    /// True if it keeps to its end when it grows.
    pub sticks: bool,
}

#[derive(Debug, Clone)]
pub struct Section {
    /// What it is about, by which it is found again where the page is made anew; empty where that need not be.
    pub key: String,
    pub title: Option<Row>,
    pub fold: Fold,
    pub rows: Vec<Row>,
    /// Where the rows are those of a file.
    pub file: Option<File>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fold {
    /// There is nothing to fold.
    Never,
    Closed,
    Open,
}

impl Section {
    /// Rows that neither fold nor have a title.
    pub fn plain(rows: Vec<Row>) -> Self {
        Self { key: String::new(), title: None, fold: Fold::Never, rows, file: None }
    }

    /// Rows below a title that can be folded away. The title is how it is found again.
    pub fn titled(title: Row, rows: Vec<Row>) -> Self {
        Self { key: title.text(), title: Some(title), fold: Fold::Open, ..Self::plain(rows) }
    }

    /// Rows that are folded away below a title, found again by `key`.
    pub fn folded(key: String, title: Row, rows: Vec<Row>) -> Self {
        Self { key, title: Some(title), fold: Fold::Closed, ..Self::plain(rows) }
    }

    /// Puts its lines below others.
    fn lay_out(&mut self, place: usize, lines: &mut Vec<(usize, Row)>) {
        let rows = std::mem::take(&mut self.rows);
        let mark = match self.fold {
            // Where there is nothing below a title, it is not shown either.
            Fold::Never | Fold::Open if rows.is_empty() => return,
            Fold::Never => "",
            Fold::Closed if rows.is_empty() => "  ",
            Fold::Closed => "▸ ",
            Fold::Open => "▾ ",
        };
        let title = self.title.take().map(|title| Row::of(Look::Dim, mark).then(title));
        lines.extend(title.map(|title| (place, title)));
        if self.fold != Fold::Closed {
            lines.extend(rows.into_iter().chain([Row::new()]).map(|row| (place, row)));
        }
    }
}

impl Page {
    /// Lays out sections. What an `old` page on the same things had folded stays so, and the cursor where it was.
    pub fn new(mut sections: Vec<Section>, sticks: bool, old: Option<&Self>) -> Self {
        let folds = old.into_iter().flat_map(|old| &old.sections).map(|one| (one.key.as_str(), one.fold));
        let folds: HashMap<&str, Fold> = folds.filter(|(_, fold)| *fold != Fold::Never).collect();
        let mut lines = Vec::new();
        for (place, section) in sections.iter_mut().enumerate() {
            if section.fold != Fold::Never {
                section.fold = folds.get(&*section.key).copied().unwrap_or(section.fold);
            }
            section.lay_out(place, &mut lines);
        }
        // The gap behind the last one.
        lines.pop_if(|(place, _)| sections[*place].fold != Fold::Closed);
        let mut page = Self { sections, lines, sticks, ..Self::default() };
        if let Some(old) = old {
            page.stand_as(old);
        }
        page
    }

    fn stand_as(&mut self, old: &Self) {
        (self.cursor, self.top, self.sticks) = (old.cursor, old.top, old.sticks);
        // A line that was above comes below what is new.
        let Some((was, _)) = old.lines.get(old.cursor) else { return };
        let key = &old.sections[*was].key;
        let section = self.sections.iter().position(|section| section.key == *key);
        if let Some(section) = section.filter(|_| !key.is_empty()) {
            let cursor = self.start_of(section) + old.cursor - old.start_of(*was);
            self.top = (self.top + cursor).saturating_sub(self.cursor);
            self.cursor = cursor;
        }
    }

    /// The line at which a section begins.
    fn start_of(&self, section: usize) -> usize {
        self.lines.partition_point(|(place, _)| *place < section)
    }

    /// The section that the cursor is in.
    pub fn section(&self) -> Option<&Section> {
        let (place, _) = self.lines.get(self.cursor)?;
        self.sections.get(*place)
    }

    /// Moves the cursor by a step, which is a number of lines.
    pub fn go(&mut self, step: Step, lines: isize) {
        self.cursor = self.cursor.saturating_add_signed(lines).min(self.lines.len().saturating_sub(1));
        self.sticks = step == Step::End;
    }

    /// Folds the section at the cursor, or the next one that can be, or unfolds it. It is seen when the page is made anew.
    pub fn toggle(&mut self) {
        let Some(place) = self.foldable() else { return };
        if self.sections[place].fold == Fold::Open {
            self.sections[place].fold = Fold::Closed;
            self.cursor = self.start_of(place);
        } else {
            self.sections[place].fold = Fold::Open;
        }
    }

    /// Unfolds the same section.
    pub fn open(&mut self) {
        if let Some(place) = self.foldable() {
            self.sections[place].fold = Fold::Open;
        }
    }

    fn foldable(&self) -> Option<usize> {
        let mut below = self.lines.iter().skip(self.cursor).map(|(place, _)| *place);
        below.find(|place| self.sections[*place].fold != Fold::Never)
    }

    /// Scrolls as little as possible to show the cursor on a screen of a number of lines.
    pub fn keep_in_view(&mut self, height: usize) {
        let last = self.lines.len().saturating_sub(1);
        self.cursor = if self.sticks { last } else { self.cursor.min(last) };
        self.top = top_to_show(self.cursor, self.top, self.lines.len(), height);
    }

    /// Returns the file that a line is of.
    pub fn file(&self, (place, _): &(usize, Row)) -> Option<&File> {
        self.sections[*place].file.as_ref()
    }

    /// Returns true if it has files, and all of them hold nothing.
    pub fn is_silent(&self) -> bool {
        let has_files = self.sections.iter().any(|section| section.file.is_some());
        has_files && self.lines.iter().all(|line| self.file(line).is_none())
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

//! What stands on the right: sections that fold.

use std::collections::HashMap;
use std::ops::Range;

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
    pub sections: Vec<Section>,
    /// The line that keys act on, counted over all sections.
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

/// Where a line of a page comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum At {
    Title(usize),
    Row(usize, usize),
    /// Between two sections.
    Gap,
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

    /// In front of its title: whether it can be folded, and is.
    pub fn mark(&self) -> &'static str {
        match self.fold {
            Fold::Never => "",
            Fold::Closed if self.rows.is_empty() => "  ",
            Fold::Closed => "▸ ",
            Fold::Open => "▾ ",
        }
    }

    /// Where there is nothing below a title, it is not shown either.
    fn is_hidden(&self) -> bool {
        self.fold != Fold::Closed && self.rows.is_empty()
    }

    fn shown_rows(&self) -> usize {
        if self.fold == Fold::Closed { 0 } else { self.rows.len() }
    }

    /// Lines on the page, without the gap behind it.
    fn len(&self) -> usize {
        if self.is_hidden() { 0 } else { usize::from(self.title.is_some()) + self.shown_rows() }
    }

    fn at(&self, place: usize, line: usize) -> At {
        match line.checked_sub(usize::from(self.title.is_some())) {
            None => At::Title(place),
            Some(row) if row < self.shown_rows() => At::Row(place, row),
            Some(_) => At::Gap,
        }
    }

    /// The blank line behind it.
    fn gap(&self) -> usize {
        usize::from(self.fold != Fold::Closed && self.len() > 0)
    }
}

impl Page {
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
            At::Row(section, row) => self.sections[section].rows.get(row),
            At::Gap => None,
        }
    }

    /// The line at which a section begins.
    fn start_of(&self, wanted: usize) -> usize {
        self.placed().nth(wanted).map_or(0, |(lines, _)| lines.start)
    }

    /// The section that a line is in.
    fn section_at(&self, line: usize) -> Option<usize> {
        self.placed().position(|(lines, _)| line < lines.end)
    }

    /// The section that the cursor is in.
    pub fn section(&self) -> Option<&Section> {
        self.sections.get(self.section_at(self.cursor)?)
    }

    /// Moves the cursor by a step, which is a number of lines.
    pub fn go(&mut self, step: Step, lines: isize) {
        self.cursor = self.cursor.saturating_add_signed(lines).min(self.len().saturating_sub(1));
        self.sticks = step == Step::End;
    }

    /// Folds or unfolds the section at the cursor, or the next one that can be.
    pub fn toggle(&mut self) {
        let Some(place) = self.foldable() else { return };
        let start = self.start_of(place);
        let section = &mut self.sections[place];
        if section.fold == Fold::Open {
            section.fold = Fold::Closed;
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
        let at = self.section_at(self.cursor)?;
        (at..self.sections.len()).find(|place| {
            let section = &self.sections[*place];
            section.fold != Fold::Never && section.len() > 0
        })
    }

    /// Scrolls as little as possible to show the cursor on a screen of a number of lines.
    pub fn keep_in_view(&mut self, height: usize) {
        let length = self.len();
        let last = length.saturating_sub(1);
        self.cursor = if self.sticks { last } else { self.cursor.min(last) };
        self.top = top_to_show(self.cursor, self.top, length, height);
    }

    /// Keeps of `old` what a newer page on the same things would have to unfold again.
    pub fn adopt(&mut self, old: Self) {
        let was = old.section_at(old.cursor);
        let was = was.map(|place| (old.sections[place].key.clone(), old.cursor - old.start_of(place)));
        (self.cursor, self.top, self.sticks) = (old.cursor, old.top, old.sticks);
        let kept = old.sections.into_iter().map(|section| (section.key.clone(), section));
        let mut kept: HashMap<String, Section> = kept.collect();
        for new in &mut self.sections {
            let Some(old) = kept.remove(&new.key) else { continue };
            if new.fold != Fold::Never && old.fold != Fold::Never {
                new.fold = old.fold;
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

    /// Returns true if it has files, and all of them hold nothing.
    pub fn is_silent(&self) -> bool {
        let mut files = self.sections.iter().filter(|section| section.file.is_some()).peekable();
        files.peek().is_some() && files.all(Section::is_hidden)
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

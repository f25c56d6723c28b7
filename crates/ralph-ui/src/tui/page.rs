//! What stands on the right: sections that fold, some of them windows on files of any size.

use std::collections::{HashMap, VecDeque};
use std::ops::Range;

use ralph_store::Ask;

use super::model::File;
use super::row::{Look, Row};
use super::window::{PART, Window, signed};

/// What is shown of a folded file.
pub const PREVIEW: usize = 12;

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
    pub rows: VecDeque<Row>,
    /// Where the rows are those of a file, which part of it they are.
    pub window: Option<Window>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fold {
    /// There is nothing to fold.
    Never,
    /// The first lines are shown.
    Closed(usize),
    Open,
}

/// Where a line of a page comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum At {
    Title(usize),
    Row(usize, usize),
    /// The line that says how much is folded away.
    More(usize),
    /// What belongs there is on its way.
    Reading,
    /// Between two sections.
    Gap,
}

impl Section {
    /// Rows that neither fold nor have a title.
    pub fn plain(rows: Vec<Row>) -> Self {
        Self { key: String::new(), title: None, fold: Fold::Never, rows: rows.into(), window: None }
    }

    /// Rows below a title that can be folded away. The title is how it is found again.
    pub fn titled(title: Row, rows: Vec<Row>) -> Self {
        Self { key: title.text(), title: Some(title), fold: Fold::Open, ..Self::plain(rows) }
    }

    /// Rows that are folded away below a title, found again by `key`.
    pub fn folded(key: String, title: Row, rows: Vec<Row>) -> Self {
        Self { key, title: Some(title), fold: Fold::Closed(0), ..Self::plain(rows) }
    }

    /// A file below a title, read from a position on.
    pub fn file(title: Row, fold: Fold, file: File, ask: Ask) -> Self {
        Self { fold, window: Some(Window::new(file, ask)), ..Self::titled(title, Vec::new()) }
    }

    /// In front of its title: whether it can be folded, and is.
    pub fn mark(&self) -> &'static str {
        match self.fold {
            Fold::Never => "",
            Fold::Closed(_) if self.rows.is_empty() && self.window.is_none() => "  ",
            Fold::Closed(_) => "▸ ",
            Fold::Open => "▾ ",
        }
    }

    /// Where there is nothing below a title, it is not shown either.
    fn is_hidden(&self) -> bool {
        match &self.window {
            Some(window) => window.total == Some(0) && window.jump.is_none(),
            None => self.fold == Fold::Open && self.rows.is_empty(),
        }
    }

    fn shown_rows(&self) -> usize {
        match self.fold {
            Fold::Closed(preview) => self.rows.len().min(preview),
            Fold::Never | Fold::Open => self.rows.len(),
        }
    }

    /// The line below its rows, if it has one.
    fn last_line(&self, place: usize) -> Option<At> {
        let is_part = self.window.as_ref().is_some_and(Window::is_part);
        let is_awaited = self.window.as_ref().is_some_and(|window| window.jump.is_some());
        match (self.fold, self.rows.len()) {
            (Fold::Closed(preview @ 1..), count @ 1..) if count > preview || is_part => Some(At::More(place)),
            _ => (is_awaited && self.shown_rows() == 0).then_some(At::Reading),
        }
    }

    /// Lines on the page, without the gap behind it.
    fn len(&self) -> usize {
        let lines = [self.title.is_some(), self.last_line(0).is_some()].map(usize::from);
        if self.is_hidden() { 0 } else { lines[0] + self.shown_rows() + lines[1] }
    }

    fn at(&self, place: usize, line: usize) -> At {
        match line.checked_sub(usize::from(self.title.is_some())) {
            None => At::Title(place),
            Some(row) if row < self.shown_rows() => At::Row(place, row),
            Some(row) if row == self.shown_rows() => self.last_line(place).unwrap_or(At::Gap),
            Some(_) => At::Gap,
        }
    }

    /// The blank line behind it.
    fn gap(&self) -> usize {
        let is_apart = self.fold != Fold::Closed(0) || self.window.is_some();
        usize::from(is_apart && self.len() > 0)
    }

    /// What its last line says where more of it is folded away.
    pub fn more(&self) -> String {
        match self.rows.len() - self.shown_rows() {
            _ if self.window.as_ref().is_some_and(Window::is_part) => "… more".to_owned(),
            1 => "… 1 more line".to_owned(),
            count => format!("… {count} more lines"),
        }
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
            At::More(_) | At::Reading | At::Gap => None,
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

    /// Moves the cursor by a step, which is a number of lines; to the start and to the end of files that were not read so far.
    pub fn go(&mut self, step: Step, lines: isize) {
        self.cursor = self.cursor.saturating_add_signed(lines).min(self.len().saturating_sub(1));
        self.sticks = step == Step::End;
        let last = self.sections.iter_mut().rfind(|section| section.len() > 0);
        if let Some(Section { fold: Fold::Open, window: Some(window), .. }) = last
            && step == Step::End
            && !window.is_at_end()
        {
            window.jump = Some(Ask::Before(u64::MAX));
        }
        let windows = self.sections.iter_mut().filter_map(|section| section.window.as_mut());
        for window in windows.filter(|window| step == Step::Start && window.start > 0) {
            window.jump = Some(Ask::From(0));
        }
    }

    /// Folds or unfolds the section at the cursor, or the next one that can be.
    pub fn toggle(&mut self) {
        let Some(place) = self.foldable() else { return };
        let start = self.start_of(place);
        let section = &mut self.sections[place];
        if section.fold == Fold::Open {
            section.fold = Fold::Closed(if section.window.is_some() { PREVIEW } else { 0 });
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

    /// What the files on the screen need, the first that needs something.
    pub fn request(&self, height: usize) -> Option<(File, Ask)> {
        // What is not there at all comes before what there might be more of.
        let mut windows = self.sections.iter().filter_map(|section| section.window.as_ref());
        let jump = windows.find_map(|window| Some((window.file.clone(), window.jump?)));
        let bottom = self.top + height;
        jump.or_else(|| {
            self.placed().find_map(|(lines, section)| {
                let is_near = lines.start <= bottom && lines.end >= self.top;
                let is_open = !matches!(section.fold, Fold::Closed(_));
                let window = section.window.as_ref().filter(|_| is_near && is_open)?;
                let title = lines.start + usize::from(section.title.is_some());
                let [first, last] = [self.top, bottom].map(|line| line.saturating_sub(title));
                Some((window.file.clone(), window.request(first, last, section.rows.len())?))
            })
        })
    }

    /// Takes in a part of a file, with what is on the screen staying where it is.
    pub fn take(&mut self, file: &File, ask: Ask, range: Range<u64>, total: u64, rows: Vec<Row>) {
        let mut windows = self.sections.iter().map(|section| section.window.as_ref());
        let place = windows.position(|window| window.is_some_and(|window| window.file == *file));
        let Some(place) = place else { return };
        let start = self.start_of(place);
        let is_below = self.section_at(self.cursor).is_some_and(|at| at > place);
        let section = &mut self.sections[place];
        let before = signed(section.len());
        let Some(window) = &mut section.window else { return };
        let moved = window.take(&mut section.rows, ask, range, total, rows);
        let moved = if is_below { signed(section.len()) - before } else { moved };
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
        (self.cursor, self.top, self.sticks) = (old.cursor, old.top, old.sticks);
        let kept = old.sections.into_iter().map(|section| (section.key.clone(), section));
        let mut kept: HashMap<String, Section> = kept.collect();
        for new in &mut self.sections {
            let Some(old) = kept.remove(&new.key) else { continue };
            if new.fold != Fold::Never && old.fold != Fold::Never {
                new.fold = old.fold;
            }
            if let (Some(one), Some(other)) = (&mut new.window, old.window)
                && one.file == other.file
            {
                (*one, new.rows) = (other, old.rows);
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
        let mut windows = self.sections.iter().filter(|section| section.window.is_some()).peekable();
        windows.peek().is_some() && windows.all(Section::is_hidden)
    }

    /// Lets the windows on files that grow know how long they are by now.
    pub fn grown(&mut self, file: &File, length: u64) {
        let windows = self.sections.iter_mut().filter_map(|section| section.window.as_mut());
        let windows = windows.filter(|window| window.file == *file);
        for window in windows.filter(|window| window.total.is_some_and(|total| total < length)) {
            window.total = Some(length);
            // Far behind: only the end is worth reading.
            if self.sticks && length.saturating_sub(window.end) > 2 * PART {
                window.jump = Some(Ask::Before(u64::MAX));
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

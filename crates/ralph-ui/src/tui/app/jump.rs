//! Jumps from a quoted line in a failure's box to that line in the output.

use crate::tui::contents::BAR;
use crate::tui::page::{At, Body, Fold};
use crate::tui::row::{Look, Row};

use super::App;

impl App {
    /// Starts a jump to the line that the cursor's line quotes. Returns false if that is not a quoted line.
    pub(super) fn jump_to_quoted_line(&mut self) -> bool {
        let Some(quoted) = self.quoted_line() else { return false };
        self.jump = Some(quoted);
        for section in &mut self.page.sections {
            if matches!(section.body, Body::Window(_)) {
                section.fold = Fold::Open;
            }
        }
        self.continue_jump();
        true
    }

    fn quoted_line(&self) -> Option<String> {
        let at = self.page.at(self.page.cursor)?;
        let At::Row(section, _) = at else { return None };
        self.page.sections[section].about?;
        let line = self.page.row(at)?.text();
        let quoted = line.strip_prefix(BAR)?.trim();
        (!quoted.is_empty()).then(|| quoted.to_owned())
    }

    /// Moves the cursor to the quoted line. If that part of the output is not read yet, moves it to the end of what is read,
    /// which reads more.
    pub(super) fn continue_jump(&mut self) {
        let Some(quoted) = &self.jump else { return };
        let sections = self.page.sections.iter().enumerate();
        let mut windows = sections.filter_map(|(index, section)| match &section.body {
            Body::Window(window) => Some((index, section, window)),
            Body::Rows(_) | Body::Unread => None,
        });
        let reached = windows.find_map(|(index, section, window)| {
            let start = self.page.start_of(index) + usize::from(section.title.is_some());
            let found = window.rows.iter().position(|row| row.text().trim() == *quoted);
            let end = || (!window.is_at_end()).then(|| window.len().saturating_sub(1));
            found.or_else(end).map(|row| (start + row, found.is_some()))
        });
        let Some((line, is_found)) = reached else {
            self.jump = None;
            self.message = Some(Row::of(Look::Dim, "the quoted line is not in the output"));
            return;
        };
        (self.page.cursor, self.page.sticks, self.follows) = (line, false, false);
        // The line is a third of the way down the screen.
        self.page.top = line.saturating_sub(usize::from(self.areas().page.height) / 3);
        self.jump.take_if(|_| is_found);
    }
}

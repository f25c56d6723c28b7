//! What was read comes onto the page.

use crate::tui::contents::Ordered;
use crate::tui::page::{Body, Page, Section};
use crate::tui::row::{Look, Row};

use super::{Answer, App, Request};

impl App {
    /// Takes in what was read, unless it is no longer wanted.
    pub fn answered(&mut self, request: &Request, answer: anyhow::Result<Answer>) {
        match (request, answer) {
            (Request::View(session, Ordered::Failure(commit)), answer) => {
                let row = session.iterations.iter().find(|row| row.commit == *commit);
                let number = row.map(|row| row.number);
                let is_it = |section: &&mut Section| section.about == number && number.is_some();
                if let Some(section) = self.page.sections.iter_mut().find(is_it) {
                    section.body = match answer {
                        Ok(Answer::View(mut sections)) => sections.swap_remove(0).body,
                        Ok(Answer::Part(_)) => return,
                        Err(error) => Body::Rows(error_rows(&error)),
                    };
                }
            }
            (_, Err(error)) => {
                match request {
                    Request::View(_, ordered)
                        if self.ordered.as_ref().is_some_and(|(_, known)| known == ordered) =>
                    {
                        self.shown = self.ordered.take().map(|(shown, _)| shown);
                        self.page = Page::new(vec![Section::plain(error_rows(&error))]);
                    }
                    Request::Part(_) | Request::View(..) => self.message = Some(Row::failure(&error)),
                }
                self.failed = Some(request.clone());
            }
            (Request::Part(request), Ok(Answer::Part(part))) => self.page.take(request, part),
            (Request::View(_, ordered), Ok(Answer::View(sections))) => {
                if self.ordered.as_ref().is_none_or(|(_, known)| known != ordered) {
                    return;
                }
                let mut page = Page::new(sections);
                if self.shown.is_some() {
                    page.adopt(std::mem::take(&mut self.page));
                }
                self.page = page;
                self.shown = self.ordered.take().map(|(shown, _)| shown);
            }
            (Request::Part(_), Ok(Answer::View(_))) | (Request::View(..), Ok(Answer::Part(_))) => {}
        }
        self.continue_jump();
        self.fit();
    }
}

fn error_rows(error: &anyhow::Error) -> Vec<Row> {
    let mut rows = Row::lines(&format!("{error:#}"), Look::Plain);
    if let Some(first) = rows.first_mut() {
        *first = Row::of(Look::Bad, first.text());
    }
    rows
}

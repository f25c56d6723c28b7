//! How many tests passed, failed and were skipped, as the runners themselves say it.

mod cached;
mod formats;
mod go;
mod model;
mod names;
mod prefix;
mod scan;
mod tap;
mod template;
#[cfg(test)]
mod tests;

use super::Examination;
use super::failure::Failure;
use super::page::Page;
use super::reports::of_lines;

pub use model::{Groups, Level, Ran, Tally};

impl Examination {
    /// Counts the tests that the output reports. The command and the exit code do not matter.
    pub fn tally(&self) -> Tally {
        of_page(&self.page, &self.failures)
    }
}

fn of_page(page: &Page, failures: &[Failure]) -> Tally {
    let lines: Vec<&str> = (0..page.len()).map(|at| prefix::strip_time(page.line(at))).collect();
    let mut found = scan::scan(&lines);
    let mut plain: Option<Vec<&str>> = None;
    if let Some(groups) = prefix::split(&lines) {
        let mut split = scan::Scan::default();
        for group in &groups {
            split.add_all(scan::scan(group));
        }
        if split.weight() > found.weight() {
            found = split;
            plain = Some(groups.concat());
        }
    }
    found.add_reports(&page.counted);
    let mut tally = found.tally(page.is_partial);
    tally.cached = cached::line(&lines);
    if let Some(failed) = tally.failed.filter(|_| tally.broken == 0 && tally.not_run == 0) {
        // Names have neither a prefix nor a timestamp.
        let plain = plain.or_else(|| {
            let has_times = failed > 0 && (0..page.len()).any(|at| lines[at].len() < page.line(at).len());
            has_times.then(|| lines.clone())
        });
        tally.failing = match &plain {
            Some(plain) => names::failing(&crate::scan::scan(&Page::of_lines(plain)), failed),
            None => names::failing(failures, failed),
        };
        tally.named = tally.all_named(of_lines(plain.as_deref().unwrap_or(&lines)));
    }
    tally
}

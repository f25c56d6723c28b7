//! `log --grep`: which iterations have a line that matches, and that line.

use std::collections::HashMap;

use anyhow::{Context as _, Result};
use clap::ValueEnum;
use regex::bytes::{Regex, RegexBuilder};

use ralph_core::record::{LogEntry, ObjectId};
use ralph_core::view::SessionView;
use ralph_store::{Matcher, Search, Store};
use ralph_ui::log::MatchingLine;

use crate::cli::read::patches::matching_lines;

/// Where `--grep` looks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum SearchedPart {
    // What the agent printed
    Answer,
    // What the validation printed, and the agent's stderr
    Output,
    // Lines that were added or removed
    Diff,
    // The prompt
    Prompt,
}

impl SearchedPart {
    /// Returns the files of the record, with what people call them.
    fn files(self) -> &'static [(&'static str, &'static str)] {
        match self {
            Self::Answer => &[("agent/stdout", "answer")],
            Self::Output => &[
                ("validation/stdout", "validation"),
                ("validation/stderr", "validation"),
                ("agent/stderr", "agent's stderr"),
            ],
            Self::Diff => &[],
            Self::Prompt => &[("prompt.md", "prompt")],
        }
    }
}

/// Returns what `--grep` looks for.
pub fn regex(pattern: &str, ignore_case: bool) -> Result<Regex> {
    let mut builder = RegexBuilder::new(pattern);
    builder.multi_line(true).case_insensitive(ignore_case).build().context("read --grep")
}

/// A search through the iterations of one session after the other.
pub struct Grep<'a> {
    store: &'a Store,
    find: Matcher<'a>,
    search: Search<'a>,
    parts: &'a [SearchedPart],
}

impl<'a> Grep<'a> {
    pub fn new(store: &'a Store, parts: &'a [SearchedPart], find: Matcher<'a>) -> Result<Self> {
        // A prompt quotes earlier iterations, and would be found with each of them.
        const DEFAULT: [SearchedPart; 3] = [SearchedPart::Output, SearchedPart::Answer, SearchedPart::Diff];
        let parts = if parts.is_empty() { &DEFAULT } else { parts };
        Ok(Self { store, find, search: store.search(find)?, parts })
    }

    /// Returns the first `most` of `rows` that have a matching line, with that line.
    pub fn matches<'r>(
        &mut self,
        session: &SessionView,
        rows: Vec<&'r LogEntry>,
        most: usize,
    ) -> Result<Vec<(&'r LogEntry, MatchingLine)>> {
        let mut in_files = HashMap::new();
        for row in &rows {
            if in_files.len() == most {
                break;
            }
            if let Some(line) = self.in_files(&row.commit())? {
                in_files.insert(row.commit(), line);
            }
        }
        let mut in_diffs = if self.parts.contains(&SearchedPart::Diff) {
            self.in_diffs(session, rows.iter().filter(|row| !in_files.contains_key(&row.commit())).copied())?
        } else {
            HashMap::new()
        };
        let found = rows.into_iter().filter_map(|row| {
            let line = in_files.remove(&row.commit()).or_else(|| in_diffs.remove(&row.snapshot()?))?;
            Some((row, line))
        });
        Ok(found.take(most).collect())
    }

    fn in_files(&mut self, commit: &ObjectId) -> Result<Option<MatchingLine>> {
        for (path, place) in self.parts.iter().flat_map(|part| part.files()) {
            if let Some(line) = self.search.line_in(commit, path)? {
                return Ok(Some(((*place).to_owned(), line)));
            }
        }
        Ok(None)
    }

    /// Returns the matching lines of what these iterations changed, by their snapshots. Snapshots that are not here are
    /// left out.
    fn in_diffs<'r>(
        &self,
        session: &SessionView,
        rows: impl Iterator<Item = &'r LogEntry>,
    ) -> Result<HashMap<ObjectId, MatchingLine>> {
        let directory = &self.store.repository().directory;
        let reader = self.search.reader();
        let mut pairs = Vec::new();
        for after in rows.filter_map(LogEntry::snapshot) {
            if reader.has(&after)?
                && let Some(before) = reader.snapshot_before(&after)?
                && reader.is_comparable(&before, &after)?
            {
                pairs.push((before, after));
            }
        }
        let first = session.entries.first().filter(|first| !first.is_iteration());
        let own = self.store.feature_files(session.tip().map_or("", LogEntry::feature), first);
        matching_lines(&pairs, directory, &own.progress, self.find)
    }
}

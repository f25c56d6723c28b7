//! Which records `log` lists, by what only the whole record says.

use std::cell::OnceCell;

use anyhow::Result;
use serde_json::Value;

use crate::process::Tool;
use crate::store::{RecordReader, Row, Store};
use crate::worktree::WorkTree;

use super::Context;
use super::conditions::Condition;
use super::path_filter::{PathFilter, Standpoint};

/// The conditions on whole records, and what reads these.
pub struct RecordFilter<'a> {
    store: &'a Store,
    /// Opened for the first record: most lists need none.
    reader: OnceCell<RecordReader<'a>>,
    conditions: &'a [Condition],
    paths: Option<PathFilter>,
}

impl<'a> RecordFilter<'a> {
    pub fn new(context: &'a Context, conditions: &'a [Condition], paths: &[String]) -> Result<Self> {
        let store = context.store()?;
        let paths = if paths.is_empty() { None } else { Some(path_filter(context, paths)?) };
        Ok(Self { store, reader: OnceCell::new(), conditions, paths })
    }

    /// Returns true if the row's record is to be listed.
    pub fn takes(&self, row: &Row<'_>) -> Result<bool> {
        if self.conditions.is_empty() && self.paths.is_none() {
            return Ok(true);
        }
        let fields = serde_json::to_value(row.entry()?)?;
        let mut open = Vec::new();
        for condition in self.conditions {
            match condition.holds(&fields) {
                Some(true) => {}
                Some(false) => return Ok(false),
                // The trailers do not say it.
                None => open.push(condition),
            }
        }
        if open.is_empty() && self.paths.is_none() {
            return Ok(true);
        }
        let Some(record) = self.record(row)? else { return Ok(false) };
        let changed = || record.get("files_changed").and_then(Value::as_array).into_iter().flatten();
        let is_wanted =
            |paths: &PathFilter| changed().filter_map(Value::as_str).any(|path| paths.takes(path));
        Ok(open.iter().all(|condition| condition.holds(&record) == Some(true))
            && self.paths.as_ref().is_none_or(is_wanted))
    }

    fn reader(&self) -> Result<&RecordReader<'a>> {
        if let Some(reader) = self.reader.get() {
            return Ok(reader);
        }
        let opened = self.store.reader()?;
        Ok(self.reader.get_or_init(|| opened))
    }

    /// Returns the whole record; `None` with a warning if this version cannot read it.
    pub fn record(&self, row: &Row<'_>) -> Result<Option<Value>> {
        let entry = row.entry()?;
        let read = self.reader()?.file(&entry.commit, "iteration.json");
        let read = read.and_then(|bytes| Ok(serde_json::from_slice(&bytes.unwrap_or_default())?));
        Ok(self.store.or_leave_out(&entry, read))
    }
}

fn path_filter(context: &Context, paths: &[String]) -> Result<PathFilter> {
    let top = context.work_tree().ok().map(WorkTree::top);
    // Without a work tree there is no folder to read paths from.
    let prefix = match top {
        Some(_) => Tool::git_as_called(&context.directory).args(["rev-parse", "--show-prefix"]).line()?,
        None => String::new(),
    };
    PathFilter::new(paths, Standpoint { top, prefix: &prefix })
}

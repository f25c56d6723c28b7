//! Which files that a commit leaves out belong to the work of the session, and are new to the user.

use std::collections::BTreeMap;
use std::time::SystemTime;

use camino::{Utf8Path, Utf8PathBuf};

use ralph_core::record::{LeftOut, Timestamp, escape};
use ralph_os::platform::{changed_at, identity};

/// The trailer of a commit of the project that names a file of the work which is not in it.
const TRAILER: &str = "Ralph-Left-Out";

/// Maximum number of files that a commit names; then follows a line with the number of the others.
const MAX_TRAILERS: usize = 200;

/// How a file was when it was looked at: it is the same file with the same content if all of it is equal.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Stamp {
    inode: u64,
    size: u64,
    modified: Option<SystemTime>,
    changed: (i64, i64),
    /// For a folder or a missing file, the reason says it all.
    reason: String,
}

/// The files that no commit of the session takes, as they were when the user last knew of them.
#[derive(Debug, Default)]
pub struct LeftOutFiles {
    top: Utf8PathBuf,
    known: BTreeMap<String, Stamp>,
    /// Named since the session began, or was resumed.
    named: Vec<String>,
}

impl LeftOutFiles {
    /// Begins with what was there before the session. Of a session that is resumed these are the files that did not
    /// change since it began, at `resumed_from`.
    pub fn begin(top: &Utf8Path, left_out: &[LeftOut], resumed_from: Option<Timestamp>) -> Self {
        let mut files = Self { top: top.to_owned(), ..Self::default() };
        for left in left_out {
            let stamp = files.stamp(left);
            if resumed_from.is_none_or(|began| stamp.inode > 0 && stamp.changed.0 < began.seconds()) {
                files.known.insert(left.path.clone(), stamp);
            }
        }
        files
    }

    /// Returns those of `left_out` that are new or changed since the user last knew of them.
    pub fn changed<'a>(&self, left_out: &'a [LeftOut]) -> Vec<&'a LeftOut> {
        left_out.iter().filter(|left| self.known.get(&left.path) != Some(&self.stamp(left))).collect()
    }

    /// Notes that the user knows of these, as they are now.
    pub fn note<'a>(&mut self, left_out: impl IntoIterator<Item = &'a LeftOut>) {
        for left in left_out {
            let stamp = self.stamp(left);
            self.known.insert(left.path.clone(), stamp);
            if !self.named.contains(&left.path) {
                self.named.push(left.path.clone());
            }
        }
    }

    /// Returns what was named in commits and is still there.
    pub fn named(&self) -> Vec<String> {
        self.named
            .iter()
            .filter(|path| self.top.join(path.as_str()).symlink_metadata().is_ok())
            .cloned()
            .collect()
    }

    fn stamp(&self, left: &LeftOut) -> Stamp {
        let path = self.top.join(&left.path);
        let found = path.symlink_metadata().ok().filter(|found| !found.is_dir());
        Stamp {
            inode: found
                .as_ref()
                .and_then(|found| identity(path.as_std_path(), found))
                .map_or(0, |(_, inode)| inode),
            size: found.as_ref().map_or(0, std::fs::Metadata::len),
            modified: found.as_ref().and_then(|found| found.modified().ok()),
            changed: found.as_ref().map_or((0, 0), changed_at),
            reason: left.reason.clone(),
        }
    }
}

/// Returns the trailers of a commit of the project that lacks these files.
pub fn trailers(left_out: &[&LeftOut]) -> String {
    let values = left_out.iter().take(MAX_TRAILERS).map(|left| {
        let value = escape(&left.path);
        // A number after this sign is that of the files that are not named.
        if value.starts_with('+') { value.replacen('+', "%2b", 1) } else { value }
    });
    let mut values: Vec<String> = values.collect();
    if left_out.len() > MAX_TRAILERS {
        values.push(format!("+{} more", left_out.len() - MAX_TRAILERS));
    }
    values.into_iter().map(|value| format!("{TRAILER}: {value}\n")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn left(path: &str) -> LeftOut {
        LeftOut { path: path.to_owned(), reason: "too large".to_owned() }
    }

    #[test]
    fn names_of_files_are_safe_in_trailers() {
        let named = [left("a\nb"), left("+x"), left(" c%"), left("data/ü")];
        let named: Vec<_> = named.iter().collect();
        assert_eq!(
            trailers(&named),
            "Ralph-Left-Out: a%0ab\nRalph-Left-Out: %2bx\nRalph-Left-Out: %20c%25\nRalph-Left-Out: data/ü\n"
        );
        assert_eq!(trailers(&[]), "");
        let many: Vec<_> = (0..=MAX_TRAILERS).map(|number| left(&number.to_string())).collect();
        let text = trailers(&many.iter().collect::<Vec<_>>());
        assert_eq!(text.lines().count(), MAX_TRAILERS + 1);
        assert!(text.ends_with("Ralph-Left-Out: +1 more\n"), "{text}");
    }

    #[test]
    fn only_files_that_changed_since_the_session_began_are_its_work() {
        let folder = tempfile::tempdir().unwrap();
        let top = Utf8Path::from_path(folder.path()).unwrap();
        std::fs::write(top.join("old"), "1").unwrap();
        let mut files = LeftOutFiles::begin(top, &[left("old")], None);
        let all = [left("old"), left("new")];
        std::fs::write(top.join("new"), "1").unwrap();
        let changed = files.changed(&all);
        assert_eq!(changed, [&all[1]]);
        files.note(changed);
        assert_eq!(files.changed(&all), Vec::<&LeftOut>::new());
        std::fs::write(top.join("old"), "22").unwrap();
        assert_eq!(files.changed(&all), [&all[0]]);
        assert_eq!(files.named(), ["new"]);
        let resumed = LeftOutFiles::begin(top, &all, Some(Timestamp::from_seconds(0)));
        assert_eq!(resumed.changed(&all).len(), 2);
    }
}

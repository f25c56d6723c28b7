//! What a change does to the tests: which run alone or not at all now, which are gone, and what decides it.

use std::collections::BTreeMap;

use super::definitions::{Definition, read};
use super::languages::{Language, language};
use super::paths::{config_line, has_inline_tests, is_test_config, is_test_file};

/// Larger files are not read.
const MAX_FILE_BYTES: usize = 1 << 20;

/// Bodies that are shorter, without white space, say nothing about which test they are of.
const MIN_BODY_CHARS: usize = 16;

/// A file that two trees do not have in common. Only those of [`super::is_worth_reading`] need to be given.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChangedFile {
    /// From the project's root.
    pub path: String,
    /// `None` if it was not there. Both are `None` if the file is not read.
    pub before: Option<Vec<u8>>,
    /// `None` if it was deleted.
    pub after: Option<Vec<u8>>,
}

/// Something that stands out in a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    pub path: String,
    /// The marker: `test.only`. Empty for what is only counted.
    pub text: String,
    /// How many tests or assertions it is about.
    pub count: usize,
}

/// What a change does to the tests, a finding for each file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DiffFindings {
    /// Markers by which only some tests run.
    pub focus: Vec<Finding>,
    /// Existing tests that are skipped now in any case.
    pub skips: Vec<Finding>,
    /// Tests that are gone: JavaScript, Python, Rust and Go.
    pub removed: Vec<Finding>,
    /// Assertions that are gone, if no test is: the same languages.
    pub fewer_asserts: Vec<Finding>,
    /// Files that decide which tests run, without new ones.
    pub config: Vec<Finding>,
    /// True if a test of any language is gone, as far as that can be seen.
    pub removes_tests: bool,
}

/// Reads the changed files.
pub fn findings(changed: &[ChangedFile]) -> DiffFindings {
    let mut findings = DiffFindings::default();
    let mut tests = Vec::new();
    for file in changed.iter().filter(|file| !is_too_large(file)) {
        if is_config_change(file) {
            findings.config.push(finding(&file.path, "", 1));
        }
        let is_test = is_test_file(&file.path);
        match language(&file.path).filter(|_| is_test || has_inline_tests(&file.path)) {
            Some(language) => tests.push(FileTests::read(file, language, is_test)),
            None => findings.removes_tests |= is_test && file.before.is_some() && file.after.is_none(),
        }
    }
    follow_moves(&mut tests);
    for file in &tests {
        findings.add(file);
    }
    if !findings.removed.is_empty() {
        findings.fewer_asserts.clear();
    }
    findings
}

impl DiffFindings {
    /// Returns how many tests are gone.
    pub fn removed_count(&self) -> usize {
        self.removed.iter().map(|finding| finding.count).sum()
    }

    fn add(&mut self, file: &FileTests) {
        let [before, after] = &file.definitions;
        let new_focus = new_markers(before, after);
        if let Some((marker, count)) = new_focus {
            self.focus.push(finding(&file.path, &marker, count));
        }
        if let Some(first) = file.skipped.first() {
            self.skips.push(finding(&file.path, first, file.skipped.len()));
        }
        let lost = file.lost.iter().filter(|definition| !definition.is_group).count();
        self.removes_tests |= lost > 0;
        if file.language.assertion.is_none() {
            return;
        }
        if lost > 0 {
            self.removed.push(finding(&file.path, "", lost));
        }
        let has_all = after.len() >= before.len();
        if file.fewer_asserts > 0 && has_all && !after.is_empty() {
            self.fewer_asserts.push(finding(&file.path, "", file.fewer_asserts));
        }
    }
}

fn finding(path: &str, marker: &str, count: usize) -> Finding {
    Finding { path: path.to_owned(), text: marker.to_owned(), count }
}

fn is_too_large(file: &ChangedFile) -> bool {
    let contents = file.before.iter().chain(&file.after);
    contents.into_iter().any(|bytes| bytes.len() > MAX_FILE_BYTES || bytes.contains(&0))
}

fn is_config_change(file: &ChangedFile) -> bool {
    let Some(before) = &file.before else { return false };
    let Some(pattern) = config_line(&file.path) else { return is_test_config(&file.path) };
    let [before, after] =
        [before.as_slice(), file.after.as_deref().unwrap_or_default()].map(String::from_utf8_lossy);
    let mut lines: BTreeMap<&str, i64> = BTreeMap::new();
    for (text, change) in [(&before, -1), (&after, 1)] {
        for line in text.lines() {
            *lines.entry(line.trim().trim_end_matches(',')).or_default() += change;
        }
    }
    lines.iter().any(|(line, count)| *count != 0 && pattern.is_match(line))
}

/// The tests of a file in both trees.
struct FileTests {
    path: String,
    language: &'static Language,
    /// Before, and after.
    definitions: [Vec<Definition>; 2],
    /// How many assertions are gone.
    fewer_asserts: usize,
    /// Markers by which existing tests are skipped now.
    skipped: Vec<String>,
    /// Definitions that have no counterpart after, and before.
    lost: Vec<Definition>,
    gained: Vec<Definition>,
}

impl FileTests {
    fn read(file: &ChangedFile, language: &'static Language, is_test: bool) -> Self {
        let [(before, asserts_before), (after, asserts)] =
            [&file.before, &file.after].map(|bytes| match bytes {
                Some(bytes) => read(&String::from_utf8_lossy(bytes), language, is_test),
                None => (Vec::new(), 0),
            });
        let (definitions, fewer_asserts) = ([before, after], asserts_before.saturating_sub(asserts));
        let path = file.path.clone();
        let (skipped, lost, gained) = (Vec::new(), Vec::new(), Vec::new());
        let mut file = Self { path, language, definitions, fewer_asserts, skipped, lost, gained };
        file.compare_titles();
        file.pair(|lost, gained| lost.body.len() >= MIN_BODY_CHARS && lost.body == gained.body);
        file
    }

    /// Compares how many definitions of each title there are, and how many of them are skipped.
    fn compare_titles(&mut self) {
        let mut titles: BTreeMap<(bool, &str), [Vec<&Definition>; 2]> = BTreeMap::new();
        for (tree, definitions) in self.definitions.iter().enumerate() {
            for definition in definitions {
                let key = (definition.is_group, definition.title.as_str());
                titles.entry(key).or_default()[tree].push(definition);
            }
        }
        for [before, after] in titles.into_values() {
            let [plain_before, plain_after] =
                [&before, &after].map(|tests| tests.iter().filter(|test| !test.is_marked).count());
            let [skips_before, skips_after] =
                [&before, &after].map(|tests| tests.iter().filter(|test| test.skip.is_some()).count());
            let fewer_plain = plain_before.saturating_sub(plain_after);
            let count = skips_after.saturating_sub(skips_before).min(fewer_plain);
            let markers = after.iter().rev().filter_map(|definition| definition.skip.clone());
            self.skipped.extend(markers.take(count));
            self.lost.extend(before.iter().skip(after.len()).map(|definition| (*definition).clone()));
            self.gained.extend(after.iter().skip(before.len()).map(|definition| (*definition).clone()));
        }
    }

    /// Takes definitions for the same one under another title.
    fn pair(&mut self, is_same: impl Fn(&Definition, &Definition) -> bool) {
        let lost = std::mem::take(&mut self.lost);
        for definition in lost {
            let found = self.gained.iter().position(|gained| is_same(&definition, gained));
            match found.map(|found| self.gained.swap_remove(found)) {
                Some(gained) => self.skipped.extend(newly_skipped(&definition, gained)),
                None => self.lost.push(definition),
            }
        }
    }
}

fn newly_skipped(before: &Definition, after: Definition) -> Option<String> {
    after.skip.filter(|_| !before.is_marked)
}

/// Takes what is lost in one file and gained in another under the same title for a move.
fn follow_moves(files: &mut [FileTests]) {
    for from in 0..files.len() {
        let lost = std::mem::take(&mut files[from].lost);
        for definition in lost {
            let found = files.iter().enumerate().find_map(|(to, file)| {
                let mut gained = file.gained.iter();
                let at = gained.position(|gained| {
                    gained.title == definition.title && gained.is_group == definition.is_group
                });
                Some((to, at?))
            });
            let Some((to, at)) = found else {
                files[from].lost.push(definition);
                continue;
            };
            let gained = files[to].gained.swap_remove(at);
            // Each file has one definition that stands for all of it.
            let is_test = !definition.title.is_empty();
            files[to].skipped.extend(newly_skipped(&definition, gained).filter(|_| is_test));
        }
    }
}

/// Returns the first marker of focus that is new, and how many are.
fn new_markers(before: &[Definition], after: &[Definition]) -> Option<(String, usize)> {
    let [known, mut focused] =
        [before, after].map(|definitions| definitions.iter().filter(|it| it.focus.is_some()));
    let new = focused.clone().count().checked_sub(known.clone().count()).filter(|new| *new > 0)?;
    let unknown = focused.clone().find(|it| known.clone().all(|known| known.title != it.title));
    let first = unknown.or_else(|| focused.next())?;
    Some((first.focus.clone().unwrap_or_default(), new))
}

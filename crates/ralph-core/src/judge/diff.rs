//! What a change does to the tests: which run alone or not at all now, which are gone, and what decides it.

use std::borrow::Cow;
use std::collections::BTreeMap;

use super::definitions::{Definition, read};
use super::languages::{Language, hidden_by, language, parameters, turns_round};
use super::paths::{
    acts_when_new, config_line, has_inline_tests, is_in_pattern, is_test_config, is_test_file, runs_by_itself,
};

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

/// The text of a finding about tests that may be one with parameters now, and of one about a file that is new.
pub(super) const MERGED: &str = "merged";
pub(super) const NEW: &str = "new";

/// Something that stands out in a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    pub path: String,
    /// The marker: `test.only`. For what is only counted empty, or a word about it.
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
    /// Files that decide which tests run.
    pub config: Vec<Finding>,
    /// Files that run when the project is opened, installed or merged, and what runs them.
    pub by_itself: Vec<(String, &'static str)>,
    /// True if a test of any language is gone, as far as that can be seen. One that only left the runner's sight is not.
    pub removes_tests: bool,
    /// How many new tests are skipped.
    pub new_skips: usize,
}

/// Reads the changed files.
pub fn findings(changed: &[ChangedFile]) -> DiffFindings {
    let mut findings = DiffFindings::default();
    let mut tests = Vec::new();
    for file in changed.iter().filter(|file| !is_too_large(file)) {
        if is_config_change(file) {
            let text = if file.before.is_none() { NEW } else { "" };
            findings.config.push(finding(&file.path, text, 1));
        }
        findings.by_itself.extend(runs_when(file).map(|when| (file.path.clone(), when)));
        let is_test = is_test_file(&file.path);
        // Tests may have moved to where no runner looks.
        let is_outside = !is_test && !has_inline_tests(&file.path);
        let is_new = file.before.is_none() && file.after.is_some();
        match language(&file.path).filter(|_| !is_outside || is_new) {
            Some(language) => {
                tests.push(FileTests { is_outside, ..FileTests::read(file, language, is_test) });
            }
            None => findings.removes_tests |= is_test && file.before.is_some() && file.after.is_none(),
        }
    }
    follow_moves(&mut tests);
    for file in tests.iter().filter(|file| !file.is_outside) {
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
        for is_turned in [false, true] {
            let skipped = file.skipped.iter().filter(|marker| turns_round(marker) == is_turned);
            if let Some(first) = skipped.clone().next() {
                self.skips.push(finding(&file.path, first, skipped.count()));
            }
        }
        let lost = file.lost.iter().filter(|definition| !definition.is_group).count();
        self.removes_tests |= lost > file.hidden;
        let skipped = |gained: &&Definition| gained.skip.is_some() && !gained.is_group;
        self.new_skips += file.gained.iter().filter(skipped).count();
        if file.language.assertion.is_none() {
            return;
        }
        if lost > 0 {
            let text = if file.is_merged && file.hidden == 0 { MERGED } else { "" };
            self.removed.push(finding(&file.path, text, lost));
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

pub(super) fn is_config_change(file: &ChangedFile) -> bool {
    if file.before.is_none() && !acts_when_new(&file.path) {
        return false;
    }
    let Some(pattern) = config_line(&file.path) else { return is_test_config(&file.path) };
    let [before, after] = texts(file);
    changed_lines(&before, &after).iter().any(|(line, count)| *count != 0 && pattern.is_match(line))
}

/// Returns what runs a changed file by itself; `None` if nothing does.
fn runs_when(file: &ChangedFile) -> Option<&'static str> {
    let after = file.after.as_ref()?;
    let (when, is_new_alone, line) = runs_by_itself(&file.path)?;
    let is_seen = match line {
        _ if is_new_alone => file.before.is_none(),
        None => file.before.as_ref() != Some(after),
        Some(line) => {
            let [before, after] = texts(file);
            changed_lines(&before, &after).iter().any(|(text, count)| *count > 0 && line.is_match(text))
        }
    };
    is_seen.then_some(when)
}

fn texts(file: &ChangedFile) -> [Cow<'_, str>; 2] {
    [&file.before, &file.after].map(|bytes| String::from_utf8_lossy(bytes.as_deref().unwrap_or_default()))
}

/// Returns the lines of both texts without white space around them, and how much more often each is in the second one.
pub(super) fn changed_lines<'t>(before: &'t str, after: &'t str) -> BTreeMap<&'t str, i64> {
    let mut lines: BTreeMap<&str, i64> = BTreeMap::new();
    for (text, change) in [(before, -1), (after, 1)] {
        for line in text.lines() {
            *lines.entry(line.trim().trim_end_matches(',')).or_default() += change;
        }
    }
    lines
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
    /// True if it is no test file: what was lost elsewhere may be there.
    is_outside: bool,
    /// How many of those that are lost are only where the runner does not look.
    hidden: usize,
    /// True if there is more by which one test runs with several values.
    is_merged: bool,
}

impl FileTests {
    fn read(file: &ChangedFile, language: &'static Language, is_test: bool) -> Self {
        let texts = texts(file);
        let [(before, asserts_before), (mut after, asserts)] =
            texts.each_ref().map(|text| read(text, language, is_test));
        let [table_before, table] = texts.each_ref().map(|text| parameters(text));
        let mut hidden = 0;
        // A line at the top may leave out the whole file.
        let [hidden_before, hidden_now] = texts.each_ref().map(|text| hidden_by(text, language));
        if hidden_now.is_some() && hidden_now != hidden_before {
            hidden = before.iter().filter(|definition| !definition.is_group).count();
            after.clear();
        }
        let (definitions, fewer_asserts) = ([before, after], asserts_before.saturating_sub(asserts));
        let path = file.path.clone();
        let (skipped, lost, gained) = (Vec::new(), Vec::new(), Vec::new());
        let is_merged = table > table_before;
        let mut file = Self {
            path,
            language,
            definitions,
            fewer_asserts,
            skipped,
            lost,
            gained,
            is_outside: false,
            hidden,
            is_merged,
        };
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
            let is_left = is_in_pattern(&files[from].path) && !is_in_pattern(&files[to].path);
            if is_left || files[to].is_outside {
                files[from].hidden += usize::from(!definition.is_group);
                files[from].lost.push(definition);
                continue;
            }
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

//! Judges a range of commits, whoever wrote them: the merge of both ends runs with the settings of the target, and so do mixed trees.

use std::collections::HashMap;
use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher as _, Hasher as _};

use anyhow::Result;
use camino::Utf8PathBuf;
use failure_excerpt::Tally;
use tasklist::{Languages, Pairing, TaskList};

use ralph_core::judge::range::{
    CommitProof, Side, aware_flag, decided_by_target, is_looked_at, is_of_tests, is_source, new_dependencies,
    new_lines, setup_flag, unread_flag,
};
use ralph_core::judge::{
    ChangedFile, Decision, DiffFindings, Measurements, OwnFiles, SecondResult, counts_fell, decide, findings,
    is_contradicted, selects_by_change,
};
use ralph_core::record::{CleanVerdict, Flag, FlagCode, ObjectId, TrustedState, join_truncated};
use ralph_git::worktree::{Merged, PathChange, PrivateIndex, RangeCommit};
use ralph_os::clock::Clock;
use ralph_os::process::remove_path;

use super::{CleanCheckout, CleanPlace, Tried};
use crate::begin::pathspecs;
use crate::iteration::{changed_file, changed_own_files, moved, own_file, restored_own_files};
use crate::lane_dependencies::suggested_setup;

/// Largest file that is read, in bytes, and how many are.
const MAX_FILE_BYTES: u64 = 1 << 20;
const MAX_READ_FILES: usize = 3000;

/// How much time commits take that are chosen by chance, in runs of the head.
const MAX_HEAD_RUNS: u64 = 5;

/// Maximum number of names in a text, and of lines that show a change, with their characters.
const MAX_NAMES: usize = 3;
const MAX_LINES: usize = 3;
const MAX_LINE_CHARS: usize = 100;

/// Exit codes of a shell that finds no program, or cannot start it.
const NO_PROGRAM: [i32; 2] = [126, 127];

/// What is judged, and how much of it.
pub struct RangeInputs<'a> {
    pub merged: Merged,
    pub commits: Vec<RangeCommit>,
    /// Where the objects of the merge are, and those of mixed trees go.
    pub objects: Utf8PathBuf,
    pub target: &'a ObjectId,
    /// As a person calls it.
    pub target_name: &'a str,
    pub head: &'a ObjectId,
    pub command: &'a str,
    /// The setup of the head, if it is another and a person approved it.
    pub head_setup: Option<&'a str>,
    /// The codes that refuse.
    pub refuse: &'a [String],
    /// True if all commits run, not only some of those that say that they passed.
    pub all_commits: bool,
    pub prove: bool,
    /// What was found before anything ran.
    pub found: Vec<Flag>,
}

/// Why a range fails.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RangeFailure {
    /// A code of the judge's, a task, or a commit.
    pub code: String,
    pub text: String,
    pub details: Vec<String>,
}

/// A commit that was looked at by itself.
#[derive(Debug, Clone)]
pub struct JudgedCommit {
    pub commit: RangeCommit,
    /// Its own run; `None` if there was none.
    pub tests: Option<Tally>,
    pub proof: Option<CommitProof>,
}

/// The tests of before on the new source.
#[derive(Debug, Clone)]
pub struct OldTests {
    pub passed: bool,
    pub tests: Tally,
}

/// What a range comes to.
#[derive(Debug, Clone, Default)]
pub struct RangeAnswer {
    /// Why nothing can be said of it.
    pub unusable: Option<String>,
    /// True if that is because of the target.
    pub is_target_red: bool,
    /// A lock file of the target, and the setup that it suggests where none is set.
    pub suggested_setup: Option<(&'static str, &'static str)>,
    pub reasons: Vec<RangeFailure>,
    pub flags: Vec<Flag>,
    /// The tree that was judged.
    pub merged: Option<ObjectId>,
    pub before: Option<Tried>,
    pub after: Option<Tried>,
    pub old_tests: Option<OldTests>,
    /// How many tasks are done that were open.
    pub tasks: usize,
    pub commits: Vec<JudgedCommit>,
    pub runs: u32,
    /// Dependencies that are new, with their versions.
    pub dependencies: Vec<(String, String)>,
}

impl RangeAnswer {
    pub fn verdict(&self) -> CleanVerdict {
        match (&self.unusable, self.reasons.is_empty()) {
            (Some(_), _) => CleanVerdict::Unusable,
            (None, true) => CleanVerdict::Holds,
            (None, false) => CleanVerdict::Fails,
        }
    }

    fn flag(&mut self, code: FlagCode, text: String, paths: Vec<String>) {
        self.flags.push(Flag { code, text, paths });
    }

    fn fails(&mut self, code: impl Into<String>, text: String, details: Vec<String>) {
        self.reasons.push(RangeFailure { code: code.into(), text, details });
    }
}

/// A checkout in which trees of a range run, each once.
struct Trials<'a, 'say> {
    checkout: CleanCheckout<'a>,
    say: &'say mut dyn FnMut(&str),
    tried: HashMap<ObjectId, Tried>,
    /// Tests that fail at the target.
    may_fail: Vec<String>,
    runs: u32,
    objects: Utf8PathBuf,
    index: Utf8PathBuf,
}

impl Trials<'_, '_> {
    fn run(&mut self, tree: &ObjectId, head: &ObjectId, name: &str, words: &str) -> Result<Tried> {
        if let Some(tried) = self.tried.get(tree) {
            return Ok(tried.clone());
        }
        (self.say)(words);
        self.runs += 1;
        let tried = self.checkout.run(tree, Some(head), true, name)?;
        self.tried.insert(tree.clone(), tried.clone());
        Ok(tried)
    }

    /// Runs a tree, and once more what fails. The second value is what failed first, if it passed then.
    fn confirmed(
        &mut self,
        tree: &ObjectId,
        head: &ObjectId,
        name: &str,
        words: &str,
    ) -> Result<(Tried, Option<String>)> {
        let first = self.run(tree, head, name, words)?;
        if self.is_green(&first) || first.run.unusable.is_some() {
            return Ok((first, None));
        }
        (self.say)("it fails: once more, from the start");
        self.runs += 1;
        let again = self.checkout.run(tree, Some(head), true, &format!("{name}-again"))?;
        if !self.is_green(&again) {
            return Ok((first, None));
        }
        self.tried.insert(tree.clone(), again.clone());
        let failing = first.run.tests.failing.as_deref().filter(|names| !names.is_empty());
        let words = failing.map_or_else(
            || first.run.cause.clone().unwrap_or_default(),
            |names| join_truncated(names, MAX_NAMES),
        );
        Ok((again, Some(words)))
    }

    fn is_green(&self, tried: &Tried) -> bool {
        let run = &tried.run;
        let fails_as_before = || {
            let failing = run.tests.failing.as_ref().filter(|names| run.is_set_up && !names.is_empty());
            failing.is_some_and(|names| names.iter().all(|name| self.may_fail.contains(name)))
        };
        run.passed || fails_as_before()
    }

    fn private(&self) -> PrivateIndex<'_> {
        PrivateIndex { index: &self.index, objects: &self.objects, max_file: u64::MAX }
    }

    fn changes(&self, from: &ObjectId, to: &ObjectId) -> Result<Vec<PathChange>> {
        self.checkout.work_tree().differences(self.private(), from, to, None)
    }

    /// Returns a flag for protected files of the target that are changed; new ones are none.
    fn protected(&self, inputs: &RangeInputs<'_>, merged: &ObjectId) -> Result<Option<Flag>> {
        let globs = self.checkout.protected();
        if globs.is_empty() {
            return Ok(None);
        }
        let work_tree = self.checkout.work_tree();
        let specs = pathspecs(work_tree, &self.checkout.root(), globs);
        let changes =
            work_tree.differences(self.private(), inputs.target, merged, Some((work_tree.top(), &specs)))?;
        let changes = changes.iter().filter(|change| !change.is_new());
        let paths: Vec<String> = changes.map(PathChange::name).collect();
        let are = if paths.len() == 1 { "is" } else { "are" };
        let text = format!("changed {}, which {are} protected", join_truncated(&paths, MAX_NAMES));
        Ok((!paths.is_empty()).then_some(Flag { code: FlagCode::Protect, text, paths }))
    }

    fn tree_with(&self, tree: &ObjectId, changes: &[PathChange]) -> Result<ObjectId> {
        let work_tree = self.checkout.work_tree();
        work_tree.tree_with(self.private(), tree, &[])?;
        work_tree.with_changes(self.private(), changes)
    }
}

/// What a range changes, read.
struct Changes {
    all: Vec<PathChange>,
    files: Vec<ChangedFile>,
    /// Files that should have been read, and are too large or too many.
    unread: Vec<String>,
    diff: DiffFindings,
    own: OwnFiles,
    /// What the path of a file in the project's root begins with.
    prefix: String,
    /// Files of the head that the target ignores.
    ignored: Vec<String>,
    /// Texts of tasks that are done now, as the target has them, and those that only the head has.
    texts: [Vec<String>; 2],
    languages: Languages,
    tasks: usize,
}

impl Changes {
    fn read(trials: &Trials<'_, '_>, target: &ObjectId, merged: &ObjectId, command: &str) -> Result<Self> {
        let work_tree = trials.checkout.work_tree();
        let all = trials.changes(target, merged)?;
        // What decides comes first, so that no heap of files hides it.
        let (mut read, rest): (Vec<_>, Vec<_>) = all.iter().partition(|change| is_looked_at(&change.name()));
        read.extend(rest);
        let left = read.split_off(read.len().min(MAX_READ_FILES));
        read.sort_by_key(|change| change.name());
        let entries = read.iter().flat_map(|change| change.before.iter().chain(&change.after));
        let contents = work_tree.contents_of(trials.private(), entries, MAX_FILE_BYTES)?;
        let files: Vec<ChangedFile> = read.iter().map(|change| changed_file(change, &contents)).collect();
        let is_large = |change: &&PathChange| {
            change.after.as_ref().is_some_and(|after| !contents.contains_key(after.id()))
        };
        let unread =
            read.into_iter().filter(is_large).chain(left).filter(|change| !change.is_of_repository());
        let unread = unread.map(PathChange::name).filter(|path| is_looked_at(path)).collect();
        let prefix = match trials.checkout.project() {
            project if project.as_str().is_empty() => String::new(),
            project => format!("{project}/"),
        };
        let lookup = |path: &str| {
            let found = work_tree.committed_file(target, &format!("{prefix}{path}"));
            Some(found.ok()??.bytes)
        };
        let own = OwnFiles::find(command, &lookup);
        let new: Vec<String> = all.iter().filter(|change| change.is_new()).map(PathChange::name).collect();
        // The files of the target are there, as they ran last.
        let ignored = work_tree.ignored_among(&new)?;
        let mut changes = Self {
            diff: findings(&files),
            unread,
            all,
            files,
            own,
            prefix,
            ignored,
            texts: Default::default(),
            languages: Languages::default(),
            tasks: 0,
        };
        changes.read_lists();
        Ok(changes)
    }

    fn read_lists(&mut self) {
        let is_list = |file: &&ChangedFile| file.path == "tasks.md" || file.path.ends_with("/tasks.md");
        for file in self.files.iter().filter(is_list) {
            let [before, after] = [&file.before, &file.after]
                .map(|bytes| TaskList::parse(bytes.as_deref().unwrap_or_default()).unwrap_or_default());
            for ticked in Pairing::likely(&before, &after).ticked() {
                self.tasks += usize::from(ticked.after.is_task());
                self.texts[0].extend(ticked.before.map(|item| item.text.clone()));
            }
            let known: Vec<&str> = before.tasks().map(|item| item.text.as_str()).collect();
            let new = after.tasks().filter(|item| !known.contains(&item.text.as_str()));
            self.texts[1].extend(new.map(|item| item.text.clone()));
            self.languages = before.languages();
        }
    }

    fn before(&self) -> impl Fn(&str) -> Option<Vec<u8>> + '_ {
        |path| self.file(path)?.before.clone()
    }

    fn after(&self) -> impl Fn(&str) -> Option<Vec<u8>> + '_ {
        |path| self.file(path)?.after.clone()
    }

    /// Returns a changed file by its path from the project's root.
    fn file(&self, path: &str) -> Option<&ChangedFile> {
        own_file(&self.files, &self.prefix, path)
    }

    /// Returns what brings the own files of the validation back to those of the target.
    fn own_restored(&self, trials: &Trials<'_, '_>, own: &OwnFiles) -> Result<Vec<PathChange>> {
        let reversed = |path: &str| {
            let change = self.all.iter().find(|change| change.name() == path)?;
            Some(change.clone().reversed())
        };
        let write = |change: &PathChange, bytes| {
            trials.checkout.work_tree().change_to(trials.private(), change, bytes)
        };
        restored_own_files(own, (&self.files, &self.prefix), &reversed, &write)
    }

    /// Returns what makes of the merged tree one in which the target decides what runs: with its tests too, and with the own files of
    /// its validation, or without.
    fn taken_from_target(
        &self,
        trials: &Trials<'_, '_>,
        (has_tests, has_own): (bool, bool),
    ) -> Result<Vec<PathChange>> {
        let own = self.own.clone().without_tests();
        let own = if has_own { self.own_restored(trials, &own)? } else { Vec::new() };
        let mut own: HashMap<String, PathChange> =
            own.into_iter().map(|change| (change.name(), change)).collect();
        let mut wanted = Vec::new();
        for change in self.all.iter().filter(|change| !change.is_of_repository()) {
            let name = change.name();
            let file = self.files.iter().find(|file| file.path == name);
            let reversed = change.clone().reversed();
            let is_of_target = has_tests && is_of_tests(&name) || self.ignored.contains(&name);
            let side = if is_of_target { Side::Target } else { file.map_or(Side::Head, decided_by_target) };
            wanted.extend(match (own.remove(&name).filter(|_| !is_of_target), side) {
                (Some(own), _) => Some(own),
                (None, Side::Head) => None,
                (None, Side::Target) => Some(reversed),
                (None, Side::Mixed(bytes)) => {
                    Some(trials.checkout.work_tree().change_to(trials.private(), &reversed, bytes)?)
                }
            });
        }
        Ok(wanted)
    }
}

/// Judges the range. `None` if a signal came before the checkout was free.
pub fn judge_range(
    place: CleanPlace<'_>,
    inputs: &RangeInputs<'_>,
    say: &mut dyn FnMut(&str),
) -> Result<Option<RangeAnswer>> {
    let mut answer = RangeAnswer { flags: inputs.found.clone(), ..RangeAnswer::default() };
    let merged = match &inputs.merged {
        Merged::Tree(tree) => tree.clone(),
        Merged::Conflict(paths) => {
            answer.unusable = Some(format!("the two do not merge: {}", join_truncated(paths, MAX_NAMES)));
            return Ok(Some(answer));
        }
    };
    answer.merged = Some(merged.clone());
    let index = place.scratch.join("index");
    let clock = place.clock;
    let objects = inputs.objects.clone();
    let place = CleanPlace { objects: Some(objects.clone()), ..place };
    let Some(checkout) = CleanCheckout::take(place)? else { return Ok(None) };
    let mut trials =
        Trials { checkout, say, tried: HashMap::new(), may_fail: Vec::new(), runs: 0, objects, index };
    run_all(&mut trials, inputs, &merged, clock, &mut answer)?;
    let Trials { checkout, objects, index, runs, .. } = trials;
    answer.runs = runs;
    for ours in [objects, index.with_extension("wanted"), index] {
        remove_path(&ours)?;
    }
    checkout.remove()?;
    Ok(Some(answer))
}

/// Runs what is needed, in the order in which a failure makes the rest needless.
fn run_all(
    trials: &mut Trials<'_, '_>,
    inputs: &RangeInputs<'_>,
    merged: &ObjectId,
    clock: &Clock,
    answer: &mut RangeAnswer,
) -> Result<()> {
    if !try_target(trials, inputs, answer)? {
        return Ok(());
    }
    let changes = Changes::read(trials, inputs.target, merged, inputs.command)?;
    answer.tasks = changes.tasks;
    answer.dependencies = changes.files.iter().flat_map(new_dependencies).collect();
    // What only the target has changed meanwhile is no matter of the head's.
    answer.flags.retain(|flag| {
        flag.paths.is_empty() || changes.all.iter().any(|change| flag.paths.contains(&change.name()))
    });
    let stopwatch = clock.stopwatch();
    if !try_head(trials, inputs, merged, &changes, answer)? {
        return Ok(());
    }
    let head_ms = stopwatch.elapsed_ms().max(1);
    let has_own = weigh(trials, inputs, merged, &changes, answer)?;
    try_old_tests(trials, inputs, merged, (&changes, has_own), answer)?;
    answer.commits = inputs
        .commits
        .iter()
        .cloned()
        .map(|commit| JudgedCommit { commit, tests: None, proof: None })
        .collect();
    let stopwatch = clock.stopwatch();
    let mut has_time = || stopwatch.elapsed_ms() < head_ms.saturating_mul(MAX_HEAD_RUNS);
    try_commits(trials, inputs, answer, &mut has_time)?;
    if inputs.prove && answer.reasons.is_empty() {
        prove(trials, answer)?;
    }
    Ok(())
}

/// Returns true if the target passes, or fails with names.
fn try_target(
    trials: &mut Trials<'_, '_>,
    inputs: &RangeInputs<'_>,
    answer: &mut RangeAnswer,
) -> Result<bool> {
    let target = inputs.target;
    let (tried, flaky) = trials.confirmed(target, target, "target", inputs.target_name)?;
    if let Some(path) = trials.checkout.work_tree().submodule()? {
        answer.unusable = Some(format!("{path} is a submodule, which is not checked out for this"));
        return Ok(false);
    }
    let run = tried.run.clone();
    answer.before = Some(tried);
    if let Some(words) = flaky {
        answer.flag(FlagCode::Flaky, format!("failed first at {}: {words}", inputs.target_name), Vec::new());
    }
    answer.suggested_setup =
        suggested_setup(&trials.checkout.root()).filter(|_| !trials.checkout.has_setup());
    if run.unusable.is_some() || !run.is_set_up {
        answer.is_target_red = true;
        answer.unusable = Some(run.unusable.or(run.cause).unwrap_or_default());
        return Ok(false);
    }
    if run.passed {
        return Ok(true);
    }
    let Some(names) = run.tests.failing.filter(|names| !names.is_empty()) else {
        answer.is_target_red = true;
        answer.unusable = Some(run.cause.unwrap_or_default());
        return Ok(false);
    };
    let fail = if names.len() == 1 { "fails" } else { "fail" };
    let text = format!("{} {fail} in {}, too", join_truncated(&names, MAX_NAMES), inputs.target_name);
    answer.flag(FlagCode::KnownFailures, text, Vec::new());
    trials.may_fail = names;
    Ok(true)
}

/// Runs the merge of both. Returns true if it passes.
fn try_head(
    trials: &mut Trials<'_, '_>,
    inputs: &RangeInputs<'_>,
    merged: &ObjectId,
    changes: &Changes,
    answer: &mut RangeAnswer,
) -> Result<bool> {
    let words = format!("the merge of {} and {}", inputs.target_name, inputs.head.short());
    let (mut tried, flaky) = trials.confirmed(merged, inputs.head, "head", &words)?;
    if let Some(setup) = inputs.head_setup.filter(|_| !tried.run.is_set_up) {
        (trials.say)(&format!("the same with the setup of the head: {setup}"));
        trials.runs += 1;
        tried = trials.checkout.run_set_up(merged, Some(inputs.head), true, "head-setup", Some(setup))?;
        trials.tried.insert(merged.clone(), tried.clone());
    }
    let green = trials.is_green(&tried);
    let run = tried.run.clone();
    // What began to run is of the tree, also where it never ended.
    let began = tried.setup.is_some() || tried.exit.is_some();
    answer.after = Some(tried);
    if trials.checkout.work_tree().submodule()?.is_some() {
        answer.unusable = Some("the head has a submodule, which is not checked out for this".to_owned());
        return Ok(false);
    }
    if let Some(words) = flaky {
        answer.flag(
            FlagCode::Flaky,
            format!("failed first, and passed when it ran again: {words}"),
            Vec::new(),
        );
    }
    match run.unusable {
        Some(why) if !began => {
            answer.unusable = Some(why);
            Ok(false)
        }
        None if green => Ok(true),
        why => {
            let cause = why.or(run.cause).unwrap_or_default();
            let code = if run.is_set_up { "tests" } else { "setup" };
            answer.fails(code, cause, Vec::new());
            answer.flags.extend(evidence_flags(changes));
            Ok(false)
        }
    }
}

/// Returns the flags of what changed that no run is needed for.
fn evidence_flags(changes: &Changes) -> impl Iterator<Item = Flag> {
    let by_itself: Vec<String> = changes.diff.by_itself.iter().map(|(path, _)| path.clone()).collect();
    let of_lines = [setup_flag(&changes.files, &by_itself), aware_flag(&changes.files)];
    of_lines.into_iter().chain([unread_flag(&changes.unread)]).flatten()
}

/// Judges what passes, by what is known of both ends. Returns false if the own files of the validation may be those of the head.
fn weigh(
    trials: &mut Trials<'_, '_>,
    inputs: &RangeInputs<'_>,
    merged: &ObjectId,
    changes: &Changes,
    answer: &mut RangeAnswer,
) -> Result<bool> {
    let (Some(before), Some(after)) = (&answer.before, &answer.after) else { return Ok(true) };
    let (tests, old) = (after.run.tests.clone(), before.run.tests.clone());
    let trusted = TrustedState {
        snapshot: inputs.target.clone(),
        tests: Some(Box::new(old.clone())),
        passed: before.run.passed,
        edited: Vec::new(),
    };
    let mut own = changes.own.clone();
    if !counts_fell(Some(&tests), Some(&old)) {
        own = own.without_tests();
    }
    let (lookup_before, lookup_after) = (changes.before(), changes.after());
    let own_changed = changed_own_files(&own, &changes.files, &changes.prefix);
    let own_lines = own.changed_lines(&lookup_before, &lookup_after);
    let own_follows = own.follows(&lookup_before, &lookup_after, &moved(&changes.all, &changes.prefix));
    let own_contents = own.contents(&lookup_before);
    let known_failures = if after.run.passed { 0 } else { tests.failing.as_ref().map_or(0, Vec::len) };
    let found: Vec<Flag> = evidence_flags(changes).chain(trials.protected(inputs, merged)?).collect();
    let asked: Vec<&str> = changes.texts[0].iter().map(String::as_str).collect();
    let mut measured = Measurements {
        refuse: inputs.refuse,
        refuses: true,
        is_validated: true,
        tests: Some(&tests),
        trusted: Some(&trusted),
        selects_by_change: selects_by_change(inputs.command, &own_contents),
        diff: &changes.diff,
        own_changed: &own_changed,
        own_lines: &own_lines,
        own_follows: own_follows.as_deref(),
        second: None,
        can_run_again: true,
        is_idle: false,
        unseen: None,
        done_in: None,
        final_text: "",
        tasks: &asked,
        languages: changes.languages,
        phase: None,
        others: &[],
        unticks: false,
        flaky: &[],
        flaky_times: 0,
        known_failures,
        has_no_tests: false,
        put_back: &[],
        left_out: &[],
        undid: None,
        is_undoing_ordered: false,
        found: &found,
    };
    let mut decision = decide(&measured);
    if decision == Decision::RunAgain {
        let wanted = changes.own_restored(trials, &own)?;
        let tree = trials.tree_with(merged, &wanted)?;
        let words = format!("the same with {} of {}", own_changed.join(", "), inputs.target_name);
        let (second, _) = trials.confirmed(&tree, inputs.head, "own-files", &words)?;
        let passes = trials.is_green(&second) && !is_contradicted(&second.run.tests, Some(&old));
        measured.second = Some(match &second.run.unusable {
            Some(_) => SecondResult::TimedOut,
            None if passes => SecondResult::Passed,
            None => SecondResult::Failed,
        });
        decision = decide(&measured);
    }
    match decision {
        Decision::Accepted(flags) => answer.flags.extend(flags),
        Decision::RunAgain => {}
        Decision::Refused { code, cause } => {
            let with_all = Measurements { refuses: false, ..measured };
            if let Decision::Accepted(flags) = decide(&with_all) {
                answer.flags.extend(flags.into_iter().filter(|flag| flag.code != code));
            }
            let excuses = |text: &&String| {
                let with: Vec<&str> = asked.iter().copied().chain([text.as_str()]).collect();
                let decided = decide(&Measurements { tasks: &with, ..measured });
                !matches!(decided, Decision::Refused { code: again, .. } if again == code)
            };
            if let Some(text) = changes.texts[1].iter().find(excuses) {
                let text: String = text.chars().take(MAX_LINE_CHARS).collect();
                let words =
                    format!("only the list of this very range asks for it, so it excuses nothing: {text}");
                answer.flag(FlagCode::Ordered, words, Vec::new());
            }
            let text = cause.strip_prefix("not proven: ").unwrap_or(&cause).to_owned();
            answer.fails(code.as_str(), text, Vec::new());
        }
    }
    Ok(own_changed.is_empty() || measured.second.is_some())
}

/// Runs the tests of before on the new source; where they fail, the new tests with all that decides what runs as the target has it.
fn try_old_tests(
    trials: &mut Trials<'_, '_>,
    inputs: &RangeInputs<'_>,
    merged: &ObjectId,
    (changes, has_own): (&Changes, bool),
    answer: &mut RangeAnswer,
) -> Result<()> {
    let wanted = changes.taken_from_target(trials, (true, has_own))?;
    let tree = trials.tree_with(merged, &wanted)?;
    if tree == *merged {
        return Ok(());
    }
    let words = format!("the tests of {} on the new source", inputs.target_name);
    let (old, _) = trials.confirmed(&tree, inputs.head, "old-tests", &words)?;
    let passed = trials.is_green(&old);
    answer.old_tests = Some(OldTests { passed, tests: old.run.tests.clone() });
    if passed {
        return Ok(());
    }
    let changed: Vec<String> = wanted.iter().map(PathChange::name).collect();
    let failing: Vec<String> = old.run.tests.failing.clone().unwrap_or_default();
    let failing: Vec<String> = failing.into_iter().filter(|name| !trials.may_fail.contains(name)).collect();
    let has_changed = wanted.iter().any(|change| is_of_tests(&change.name()) && change.after.is_some());
    let (tests, fail, were) = match failing.len() {
        0 => ("the tests".to_owned(), "fail", "were"),
        1 => ("1 test".to_owned(), "fails", "was"),
        count => (format!("{count} tests"), "fail", "were"),
    };
    let changed_words = if has_changed { format!(", and {were} changed") } else { String::new() };
    let what = if failing.is_empty() {
        old.run.unusable.or(old.run.cause).unwrap_or_default()
    } else {
        join_truncated(&failing, MAX_NAMES)
    };
    let of_tests = wanted.iter().map(PathChange::name).filter(|name| is_of_tests(name));
    let files = join_truncated(&of_tests.collect::<Vec<_>>(), MAX_NAMES);
    let files = if files.is_empty() { files } else { format!(" ({files})") };
    let text = format!("{tests} of before {fail} on the new source{changed_words}: {what}{files}");
    answer.flag(FlagCode::OldTests, text, changed);
    if answer.reasons.iter().any(|reason| reason.code == FlagCode::Judge.as_str()) {
        return Ok(());
    }
    let wanted = changes.taken_from_target(trials, (false, has_own))?;
    let tree = trials.tree_with(merged, &wanted)?;
    let paths: Vec<String> = wanted.iter().map(PathChange::name).collect();
    if tree == *merged {
        return Ok(());
    }
    let names = join_truncated(&paths, MAX_NAMES);
    let (tried, _) = trials.confirmed(
        &tree,
        inputs.head,
        "deciding",
        &format!("the same with {names} of {}", inputs.target_name),
    )?;
    if trials.is_green(&tried) {
        return Ok(());
    }
    let decide = if paths.len() == 1 { "decides" } else { "decide" };
    let text = format!("passes only with its change of {names}, which {decide} what runs");
    let is_missing = tried.exit.is_some_and(|code| NO_PROGRAM.contains(&code));
    if is_missing || !inputs.refuse.iter().any(|code| code == FlagCode::Judge.as_str()) {
        answer.flag(FlagCode::Judge, text, paths);
        return Ok(());
    }
    let is_text = |file: &&ChangedFile| {
        paths.contains(&file.path) && file.after.as_ref().is_none_or(|bytes| str::from_utf8(bytes).is_ok())
    };
    let lines = changes.files.iter().filter(is_text).flat_map(|file| {
        let new = new_lines(file).into_iter().take(MAX_LINES);
        new.map(|(number, line)| format!("{}:{number}  + {line}", file.path)).collect::<Vec<_>>()
    });
    let mut details: Vec<String> = lines.take(MAX_LINES).collect();
    details.push(format!("with those of {}: {}", inputs.target_name, in_words(&tried)));
    answer.fails(FlagCode::Judge.as_str(), text, details);
    Ok(())
}

/// `2 of 41 tests fail`, or the cause.
fn in_words(tried: &Tried) -> String {
    let tests = &tried.run.tests;
    match (tests.failed.filter(|failed| *failed > 0), tests.executed()) {
        (Some(failed), Some(executed)) => format!("{failed} of {executed} tests fail"),
        _ => tried.run.unusable.clone().or(tried.run.cause.clone()).unwrap_or_default(),
    }
}

/// Runs commits by themselves: all, or by chance some of those that say that they passed.
fn try_commits(
    trials: &mut Trials<'_, '_>,
    inputs: &RangeInputs<'_>,
    answer: &mut RangeAnswer,
    has_time: &mut dyn FnMut() -> bool,
) -> Result<()> {
    let mut chosen: Vec<usize> = (0..answer.commits.len())
        .filter(|at| inputs.all_commits || answer.commits[*at].commit.says_passed)
        .collect();
    if !inputs.all_commits {
        // Nobody who writes commits can know which of them run.
        let seed = RandomState::new();
        chosen.sort_by_key(|at| {
            let mut hasher = seed.build_hasher();
            hasher.write_usize(*at);
            hasher.finish()
        });
    }
    for at in chosen {
        if !inputs.all_commits && !has_time() {
            break;
        }
        let commit = answer.commits[at].commit.clone();
        let words = format!("{} {} alone", commit.id.short(), commit.subject);
        let (tried, _) = trials.confirmed(&commit.tree, &commit.id, commit.id.short(), &words)?;
        answer.commits[at].tests = Some(tried.run.tests.clone());
        let name = if commit.task.is_empty() { "commit".to_owned() } else { commit.task.clone() };
        let says =
            if commit.says_passed { "says that it passed; alone it fails here" } else { "fails alone" };
        if !trials.is_green(&tried) {
            let text = format!("{} {says}: {}", commit.id.short(), in_words(&tried));
            answer.fails(name, text, Vec::new());
            // What fails first is enough.
            break;
        }
        let passed = tried.run.tests.passed;
        if let (Some(said), Some(passed)) = (commit.says_tests, passed)
            && said != passed
        {
            let text = format!("{} {name} says {said} passed; {passed} passed here", commit.id.short());
            answer.flag(FlagCode::Count, text, Vec::new());
        }
    }
    Ok(())
}

/// Runs each commit with the source of its parent.
fn prove(trials: &mut Trials<'_, '_>, answer: &mut RangeAnswer) -> Result<()> {
    for judged in &mut answer.commits {
        let commit = &judged.commit;
        // A merge brings what its branches have.
        let [parent] = commit.parents.as_slice() else { continue };
        let changes = trials.changes(parent, &commit.id)?;
        let source: Vec<PathChange> =
            changes.into_iter().filter(|change| is_source(&change.name())).collect();
        if source.is_empty() {
            judged.proof = Some(CommitProof::NoSource);
            continue;
        }
        let short = commit.id.short();
        let words = format!("{short} {}", commit.subject);
        let (with, _) = trials.confirmed(&commit.tree, &commit.id, short, &words)?;
        let paths: Vec<String> = source.iter().map(PathChange::name).collect();
        let reversed: Vec<PathChange> = source.into_iter().map(PathChange::reversed).collect();
        let tree = trials.tree_with(&commit.tree, &reversed)?;
        let words = format!("{words}: without its source");
        let without = trials.run(&tree, &commit.id, &format!("{short}-without"), &words)?;
        judged.tests = Some(with.run.tests.clone());
        judged.proof = Some(CommitProof::of(&with.run, &without.run, &paths));
    }
    Ok(())
}

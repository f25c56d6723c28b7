//! What runs in a clean checkout come to: whether a tree holds elsewhere, and if not, since which change. Pure: who calls runs the
//! commands.

use failure_excerpt::Tally;

/// One run of setup and validation on one tree.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct CleanRun {
    /// Why it says nothing of the tree: it was stopped, or could not begin.
    pub unusable: Option<String>,
    pub is_set_up: bool,
    pub passed: bool,
    pub tests: Tally,
    /// What failed, on one line.
    pub cause: Option<String>,
}

/// What is asked. Trees are counted from 0, oldest first; the last is the one that is tried.
#[derive(Debug, Clone, Copy)]
pub struct Question<'a> {
    /// True if the first is a control: it held, or is what was there before the first attempt.
    pub has_control: bool,
    /// How many tests ran in place on each tree; `None` where that is not known.
    pub in_place: &'a [Option<u64>],
    /// True if tests that fail on the control may fail.
    pub allows_failures: bool,
    /// Tests that are known to fail by chance.
    pub flaky: &'a [String],
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    Holds {
        /// How many tests ran, and how many in place, if they were fewer.
        fewer: Option<(u64, u64)>,
        /// What failed first and passed when it ran again.
        flaky: Option<String>,
    },
    Unusable(String),
    Fails {
        /// The tree since which it fails; `None` if that is not known.
        first: Option<usize>,
        cause: String,
    },
}

/// Runs what is needed for an answer. `run` gets a tree, and whether nothing may be kept from earlier runs; `may_search` says whether
/// there is time for another run.
///
/// # Errors
///
/// Those of `run`.
pub fn answer<E>(
    question: &Question<'_>,
    run: &mut impl FnMut(usize, bool) -> Result<CleanRun, E>,
    may_search: &mut impl FnMut() -> bool,
) -> Result<Answer, E> {
    let last = question.in_place.len().saturating_sub(1);
    let mut known = Known { in_place: question.in_place, may_fail: Vec::new() };
    let mut control = None;
    if question.allows_failures && question.has_control {
        let ran = run(0, false)?;
        if !ran.passed {
            match ran.tests.failing.clone().filter(|names| ran.is_set_up && !names.is_empty()) {
                Some(names) => known.may_fail = names,
                None => return Ok(Answer::Unusable(older_fails(&ran))),
            }
        }
        control = Some(ran);
    }
    let tip = run(last, false)?;
    if let Some(why) = tip.unusable {
        return Ok(Answer::Unusable(why));
    }
    if known.holds(&tip, last) {
        return Ok(Answer::Holds { fewer: known.fewer(&tip, last), flaky: None });
    }
    if question.has_control {
        let control = match control {
            Some(control) => control,
            None => run(0, false)?,
        };
        if let Some(why) = control.unusable {
            return Ok(Answer::Unusable(why));
        }
        if !known.is_good(&control) {
            return Ok(Answer::Unusable(older_fails(&control)));
        }
        let of_control = if question.in_place[0].is_some() { 0 } else { last };
        if known.is_good(&tip) && known.has_too_few(&control, of_control) {
            return Ok(Answer::Unusable(known.few_words(&tip, last)));
        }
    } else if known.is_good(&tip) {
        return Ok(Answer::Unusable(known.few_words(&tip, last)));
    }
    let again = run(last, true)?;
    if let Some(why) = again.unusable {
        return Ok(Answer::Unusable(why));
    }
    // Chance may strike twice in a row where it did before.
    let by_chance = |names: &Vec<String>| {
        !names.is_empty()
            && names.iter().all(|name| question.flaky.contains(name) || known.may_fail.contains(name))
    };
    let is_by_chance = again.is_set_up && again.tests.failing.as_ref().is_some_and(by_chance);
    if is_by_chance || known.holds(&again, last) {
        let flaky = tip.cause.clone().unwrap_or_else(|| known.few_words(&tip, last));
        return Ok(Answer::Holds { fewer: known.fewer(&again, last), flaky: Some(flaky) });
    }
    let cause = again.cause.clone().unwrap_or_else(|| known.few_words(&again, last));
    let mut fails_so = |tree: usize| Ok(known.fails_as(&run(tree, false)?, tree, &again));
    let first = if question.has_control { search(last, &mut fails_so, may_search)? } else { None };
    Ok(Answer::Fails { first, cause })
}

/// Searches from the end for the last change after which it fails: one back, two, four, then halves. The first tree passes.
/// Returns `None` if the time is over.
fn search<E>(
    last: usize,
    fails: &mut impl FnMut(usize) -> Result<bool, E>,
    may_go_on: &mut impl FnMut() -> bool,
) -> Result<Option<usize>, E> {
    let (mut failing, mut step) = (last, 1);
    let mut passing = loop {
        let at = failing.saturating_sub(step);
        if at == 0 {
            break 0;
        }
        if !may_go_on() {
            return Ok(None);
        }
        if !fails(at)? {
            break at;
        }
        failing = at;
        step *= 2;
    };
    while failing - passing > 1 {
        if !may_go_on() {
            return Ok(None);
        }
        let middle = usize::midpoint(passing, failing);
        if fails(middle)? {
            failing = middle;
        } else {
            passing = middle;
        }
    }
    Ok(Some(failing))
}

fn older_fails(control: &CleanRun) -> String {
    let what = if control.is_set_up { "the validation" } else { "`lanes.setup`" };
    let cause = control.cause.as_ref().map_or(String::new(), |cause| format!(": {cause}"));
    format!("{what} fails there on an older tree as well{cause}")
}

/// What runs are held against.
struct Known<'a> {
    in_place: &'a [Option<u64>],
    may_fail: Vec<String>,
}

impl Known<'_> {
    fn is_good(&self, run: &CleanRun) -> bool {
        let may_fail =
            |names: &Vec<String>| !names.is_empty() && names.iter().all(|name| self.may_fail.contains(name));
        run.is_set_up && (run.passed || run.tests.failing.as_ref().is_some_and(may_fail))
    }

    fn has_too_few(&self, run: &CleanRun, tree: usize) -> bool {
        self.in_place[tree].is_some_and(|here| run.tests.executed().unwrap_or(0).saturating_mul(2) < here)
    }

    fn holds(&self, run: &CleanRun, tree: usize) -> bool {
        self.is_good(run) && !self.has_too_few(run, tree)
    }

    fn fewer(&self, run: &CleanRun, tree: usize) -> Option<(u64, u64)> {
        run.tests.executed().zip(self.in_place[tree]).filter(|(there, here)| there < here)
    }

    fn few_words(&self, run: &CleanRun, tree: usize) -> String {
        let (there, here) = (run.tests.executed().unwrap_or(0), self.in_place[tree].unwrap_or(0));
        format!("{there} of {here} tests ran")
    }

    /// Returns true if a run on `tree` fails as another does: in the setup, in one of its tests, or because too few ran.
    fn fails_as(&self, run: &CleanRun, tree: usize, other: &CleanRun) -> bool {
        if run.unusable.is_some() || self.holds(run, tree) || run.is_set_up != other.is_set_up {
            return false;
        }
        if self.is_good(run) || self.is_good(other) {
            return self.is_good(run) == self.is_good(other);
        }
        let own = |run: &CleanRun| -> Option<Vec<String>> {
            let names = run.tests.failing.clone()?;
            Some(names.into_iter().filter(|name| !self.may_fail.contains(name)).collect())
        };
        match (own(run), own(other)) {
            (Some(these), Some(those)) if !these.is_empty() && !those.is_empty() => {
                these.iter().any(|name| those.contains(name))
            }
            _ => true,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use super::*;

    fn ran(count: u64, failing: &[&str]) -> CleanRun {
        let failed = failing.len() as u64;
        CleanRun {
            unusable: None,
            is_set_up: true,
            passed: failing.is_empty(),
            tests: Tally {
                passed: Some(count - failed),
                failed: Some(failed),
                failing: Some(failing.iter().map(|&name| name.to_owned()).collect()),
                ..Tally::default()
            },
            cause: failing.first().map(|name| format!("{name} failed")),
        }
    }

    fn no_setup() -> CleanRun {
        CleanRun { is_set_up: false, cause: Some("lock file".to_owned()), ..CleanRun::default() }
    }

    /// Asks with one run for each tree, and `again` for what the last comes to when nothing is kept. Ten tests ran in place on the
    /// last. Returns the trees that ran, too.
    fn ask(allows_failures: bool, trees: &[CleanRun], again: &CleanRun) -> (Answer, Vec<usize>) {
        let question =
            Question { in_place: &in_place(trees.len()), has_control: true, allows_failures, flaky: &[] };
        let mut tried = Vec::new();
        let found = answer::<Infallible>(
            &question,
            &mut |tree, is_fresh| {
                tried.push(tree);
                Ok(if is_fresh { again.clone() } else { trees[tree].clone() })
            },
            &mut || true,
        );
        let Ok(found) = found;
        (found, tried)
    }

    fn in_place(trees: usize) -> Vec<Option<u64>> {
        let mut known = vec![None; trees];
        known[trees - 1] = Some(10);
        known
    }

    fn fails(first: usize, cause: &str) -> Answer {
        Answer::Fails { first: Some(first), cause: cause.to_owned() }
    }

    #[test]
    fn a_tree_that_passes_runs_once() {
        let holds = Answer::Holds { fewer: None, flaky: None };
        assert_eq!(ask(false, &[ran(8, &[]), ran(10, &[])], &ran(10, &[])), (holds, vec![1]));
        let fewer = Answer::Holds { fewer: Some((6, 10)), flaky: None };
        assert_eq!(ask(false, &[ran(8, &[]), ran(6, &[])], &ran(6, &[])).0, fewer);
    }

    #[test]
    fn what_fails_everywhere_blames_no_tree() {
        let red = ran(10, &["a"]);
        for (control, tip) in
            [(ran(8, &["b"]), red.clone()), (no_setup(), no_setup()), (ran(2, &[]), ran(3, &[]))]
        {
            let (found, tried) = ask(false, &[control, tip.clone()], &tip);
            assert!(matches!(found, Answer::Unusable(_)), "{found:?}");
            assert_eq!(tried, [1, 0]);
        }
        let late = CleanRun { unusable: Some("time limit".to_owned()), ..red.clone() };
        assert_eq!(ask(false, &[ran(8, &[]), late], &red).0, Answer::Unusable("time limit".to_owned()));
    }

    #[test]
    fn what_passes_when_it_runs_again_is_flaky() {
        let flaky = Answer::Holds { fewer: None, flaky: Some("a failed".to_owned()) };
        let trees = [ran(8, &[]), ran(10, &["a"])];
        assert_eq!(ask(false, &trees, &ran(10, &[])), (flaky, vec![1, 0, 1]));
    }

    #[test]
    fn the_last_change_after_which_one_of_the_same_tests_fails_is_found_from_the_end() {
        let story = |letters: &str| -> Vec<CleanRun> {
            letters
                .chars()
                .map(|letter| match letter {
                    '+' => ran(10, &[]),
                    '0' => no_setup(),
                    other => ran(10, &[&other.to_string()]),
                })
                .collect()
        };
        for (letters, expected) in [
            ("+a", fails(1, "a failed")),
            ("+++++aaa", fails(5, "a failed")),
            ("+aaaaaaa", fails(1, "a failed")),
            ("++++++++++++aaaa", fails(12, "a failed")),
            // What failed earlier was repaired, or is another thing.
            ("+aa++aa", fails(5, "a failed")),
            ("+bbbbaa", fails(5, "a failed")),
            ("+++00", fails(3, "lock file")),
        ] {
            let trees = story(letters);
            let (found, tried) = ask(false, &trees, trees.last().unwrap());
            assert_eq!(found, expected, "{letters}");
            assert!(tried.len() <= 11, "{letters}: {tried:?}");
        }
    }

    #[test]
    fn the_search_ends_with_its_time() {
        let trees: Vec<_> = [ran(10, &[])].into_iter().chain(vec![ran(10, &["a"]); 9]).collect();
        let in_place = in_place(trees.len());
        let question =
            Question { in_place: &in_place, has_control: true, allows_failures: false, flaky: &[] };
        let Ok(found) =
            answer::<Infallible>(&question, &mut |tree, _| Ok(trees[tree].clone()), &mut || false);
        assert_eq!(found, Answer::Fails { first: None, cause: "a failed".to_owned() });
    }

    #[test]
    fn a_test_that_is_known_to_fail_by_chance_blames_nobody_twice() {
        let trees = [ran(8, &[]), ran(10, &["a"])];
        for (failing, is_blamed) in [(&["a"][..], false), (&["a", "b"], true)] {
            let in_place = in_place(2);
            let flaky = ["a".to_owned()];
            let question =
                Question { in_place: &in_place, has_control: true, allows_failures: false, flaky: &flaky };
            let mut run = |tree: usize, is_fresh| {
                Ok::<_, Infallible>(if is_fresh { ran(10, failing) } else { trees[tree].clone() })
            };
            let Ok(found) = answer(&question, &mut run, &mut || true);
            assert_eq!(matches!(found, Answer::Fails { .. }), is_blamed, "{failing:?}");
        }
    }

    #[test]
    fn trees_of_before_have_fewer_tests() {
        let trees = [ran(0, &[]), ran(1, &[]), ran(10, &["a"])];
        assert_eq!(ask(false, &trees, &trees[2]).0, fails(2, "a failed"));
        // Too few on the last, and enough on the one before.
        let question = Question {
            in_place: &[Some(4), Some(6), Some(10)],
            has_control: true,
            allows_failures: false,
            flaky: &[],
        };
        let trees = [ran(4, &[]), ran(6, &[]), ran(3, &[])];
        let Ok(found) = answer::<Infallible>(&question, &mut |tree, _| Ok(trees[tree].clone()), &mut || true);
        assert_eq!(found, fails(2, "3 of 10 tests ran"));
    }

    #[test]
    fn tests_that_failed_before_may_fail() {
        let control = ran(10, &["old"]);
        let holds = Answer::Holds { fewer: None, flaky: None };
        assert_eq!(ask(true, &[control.clone(), ran(10, &["old"])], &control).0, holds);
        let worse = ran(10, &["old", "new"]);
        let found = ask(true, &[control, worse.clone()], &worse).0;
        assert_eq!(found, fails(1, "old failed"));
    }

    #[test]
    fn a_test_that_fails_now_and_then_blames_nobody() {
        // A generator of Lehmer's, so that each run of this test is the same: one run in twenty fails.
        let mut state: u64 = 42;
        let mut fails_by_chance = || {
            state = state * 48_271 % 0x7fff_ffff;
            state.is_multiple_of(20)
        };
        let mut blamed = 0;
        for _ in 0..200 {
            let in_place = in_place(6);
            let question =
                Question { in_place: &in_place, has_control: true, allows_failures: false, flaky: &[] };
            let mut run = |_, _| {
                let failing: &[&str] = if fails_by_chance() { &["a"] } else { &[] };
                Ok::<_, Infallible>(ran(10, failing))
            };
            let Ok(found) = answer(&question, &mut run, &mut || true);
            blamed += usize::from(matches!(found, Answer::Fails { .. }));
        }
        // 0.05 * 0.95 * 0.05 of 200 checks.
        assert!(blamed <= 1, "{blamed}");
    }
}

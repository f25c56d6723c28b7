use std::fmt::Write;
use std::io::Cursor;

use proptest::prelude::*;

use super::*;
use crate::{Mark, set_marks};

fn parse(source: &str) -> TaskList {
    TaskList::parse(source.as_bytes()).unwrap()
}

/// Returns which lines of `after` were ticked, and what they were before.
fn ticked(before: &str, after: &str) -> String {
    let (before, after) = (parse(before), parse(after));
    let describe = |ticked: &Ticked<'_>| {
        let name = ticked.before.map_or("new", |item| item.name.as_str());
        format!("{name}@{}", ticked.after.line)
    };
    Pairing::likely(&before, &after).ticked().iter().map(describe).collect::<Vec<_>>().join(" ")
}

#[track_caller]
fn case(before: &str, after: &str, expected: &str) {
    assert_eq!(ticked(before, after), expected, "{before}\n->\n{after}");
}

#[test]
fn a_ticked_copy_says_that_its_task_is_done() {
    let before = "- [ ] T001 a\n- [ ] T002 b\n";
    case(before, "- [x] T001 a\n- [ ] T001 a\n- [ ] T002 b\n", "T001@1");
    case(before, "- [ ] T001 a\n- [x] T001 a\n- [ ] T002 b\n", "T001@2");
    case(before, "- [ ] T001 a\n- [ ] T002 b\n- [x] T001 a\n", "T001@3");
    case("- [x] T001 a\n", "- [x] T001 a\n- [x] T001 a\n", "new@2");
    case("- [x] T001 a\n", "- [x] T001 a\n- [ ] T001 a\n", "");
}

#[test]
fn a_tick_is_seen_where_the_text_was_changed_with_it() {
    let before = "- [ ] write login\n- [ ] write logout\n";
    case(before, "- [x] write login (done)\n- [ ] write logout\n", "#1@1");
    case(before, "- [ ] write login\n- [x] ✅ DONE: write logout\n", "#2@2");
    case(before, "- [x] write logout (done)\n- [x] write login (done)\n", "#2@1 #1@2");
    case(
        before,
        "- [x] write login with JWT, see src/auth.rs and its 14 tests\n- [ ] write logout\n",
        "#1@1",
    );
    case(before, "- [x] people can sign in\n- [ ] write logout\n", "#1@1");
    case(before, "- [ ] write logout\n\n# Done\n\n- [x] write login (42 lines)\n", "#1@5");
    case(before, "- [ ] set up\n- [x] write login (done)\n- [ ] write logout\n", "#1@2");
    case("- [ ] tests\n- [ ] docs\n", "- [x] tests: 14\n- [ ] docs\n", "#1@1");
}

#[test]
fn an_id_may_move_change_or_go() {
    let before = "- [ ] T001 one\n- [ ] T002 two\n";
    case(before, "- [x] DONE T001 one\n- [ ] T002 two\n", "T001@1");
    case(before, "- [x] **T001 one** ✅\n- [ ] ~~T002 two~~\n", "T001@1");
    case(before, "- [x] one\n- [ ] T002 two\n", "T001@1");
    case(before, "- [x] T001 entirely reworded\n- [ ] T002 two\n", "T001@1");
    case(before, "- [ ] T001 new\n- [ ] T002 one\n- [x] T003 two\n", "T002@3");
    case(
        "- [x] T001 a\n- [x] T002 b\n- [ ] T003 c\n",
        "- [ ] T001 n\n- [x] T002 a\n- [x] T003 b\n- [ ] T004 c\n",
        "",
    );
}

#[test]
fn what_came_done_is_no_task_of_before() {
    case("- [ ] T001 one\n", "- [ ] T001 one\n- [x] T004 new\n", "new@2");
    case("- [ ] T001 one\n", "- [x] T004 new\n", "new@1");
    case("- [ ] one\n", "- [ ] one\n- [x] another thing\n", "new@2");
}

#[test]
fn what_was_done_stays_done_whatever_happens_around_it() {
    let before = "- [x] write login\n- [ ] write logout\n";
    for after in [
        "- [ ] write logout\n- [x] write login\n",
        "- [x] write login (done)\n- [ ] write logout\n",
        "- [ ] write logout\n",
        "- [x] people can sign in\n- [ ] write logout\n",
        "- [x] people can sign in\n",
        "- [ ] write logout\n\n# Done\n\n- [x] write login\n",
        "- [ ] set up\n- [x] write login\n- [ ] write logout\n",
    ] {
        case(before, after, "");
    }
    case("- [x] tests\n- [ ] tests\n", "- [ ] tests\n- [x] tests\n", "");
    case("- [x] T001 a\n- [ ] T001 b\n", "- [ ] T001 b\n- [x] T001 a\n", "");
    case("- [x] T001 a\n- [ ] T001 b\n", "- [x] T001 b (done)\n", "T001#2@1");
    case("- [ ] x\n- [x] y\n", "- [x] p\n- [x] q\n", "#1@1");
}

#[test]
fn equal_texts_are_told_apart_by_what_is_around_them_and_their_order() {
    let twice = "# A\n- [ ] write tests\n# B\n- [ ] write tests\n";
    case(twice, "# B\n- [x] write tests\n# A\n- [ ] write tests\n", "#2@2");
    case(twice, "# A\n- [ ] write tests\n# B\n- [x] write tests\n", "#2@4");
    case("- [ ] t\n- [x] t\n- [ ] t\n", "- [ ] t\n- [x] t\n- [x] t\n", "#1@3");
    case(
        "- [x] T001 a\n  - [x] tests pass\n- [ ] T002 b\n  - [ ] tests pass\n",
        "- [ ] T000 n\n  - [ ] tests pass\n- [x] T001 a\n  - [x] tests pass\n- [x] T002 b, too\n  - [ ] tests pass\n",
        "T002@5",
    );
    case("# Todo\n- [ ] t\n# Done\n- [x] t\n", "# Todo\n# Done\n- [x] t\n- [x] t\n", "#1@4");
}

#[test]
fn a_task_is_lost_when_it_goes_without_being_done() {
    let lost = |before: &str, after: &str| {
        let (before, after) = (parse(before), parse(after));
        let lost = Pairing::likely(&before, &after).lost();
        lost.iter().map(|item| item.name.clone()).collect::<Vec<_>>().join(" ")
    };
    let before = "- [ ] T001 one\n- [ ] T002 two\n- [x] T003 three\n";
    assert_eq!(lost(before, ""), "T001 T002");
    assert_eq!(lost(before, "- [x] T001 one\n"), "T002");
    assert_eq!(lost(before, "- [ ] T002 two, reworded\n- [x] DONE T001 one\n"), "");
    assert_eq!(lost(before, "- [ ] one\n- [ ] T002 two\n"), "T001", "an item without an id is no task there");
}

/// What an agent does to an item besides ticking it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Edit {
    Nothing,
    Suffix,
    Prefix,
    Emphasis,
    NewHeading,
    Reword,
    Remove,
}

#[derive(Debug, Clone)]
struct Fate {
    was_done: bool,
    is_done: bool,
    edit: Edit,
    /// What is before it afterwards for the first time, and whether it is done.
    newcomer: Option<bool>,
    /// Where it goes: items are in the order of these.
    order: u32,
}

fn fate() -> impl Strategy<Value = Fate> {
    let edit = prop::sample::select(vec![
        Edit::Nothing,
        Edit::Nothing,
        Edit::Suffix,
        Edit::Prefix,
        Edit::Emphasis,
        Edit::NewHeading,
        Edit::Reword,
        Edit::Remove,
    ]);
    (any::<bool>(), any::<bool>(), edit, prop::option::weighted(0.2, any::<bool>()), 0..4_u32).prop_map(
        |(was_done, is_done, edit, newcomer, order)| Fate { was_done, is_done, edit, newcomer, order },
    )
}

fn mark(is_done: bool) -> char {
    if is_done { 'x' } else { ' ' }
}

/// Returns the list before and after, and by line of the latter which item of the former it is.
fn story(fates: &[Fate], with_ids: bool) -> (String, String, Vec<Option<usize>>) {
    let id = |number: usize| if with_ids { format!("T{number:03} ") } else { String::new() };
    let mut before = String::new();
    for (k, fate) in fates.iter().enumerate() {
        let _ = writeln!(before, "- [{}] {}alpha{k} beta{k} gamma{k}", mark(fate.was_done), id(k));
    }
    let mut order: Vec<usize> = (0..fates.len()).collect();
    order.sort_by_key(|k| fates[*k].order);
    let (mut after, mut lines) = (String::new(), Vec::new());
    let mut line = |text: String, item: Option<usize>| {
        after.push_str(&text);
        after.push('\n');
        lines.push(item);
    };
    for k in order {
        let fate = &fates[k];
        if let Some(is_done) = fate.newcomer {
            line(format!("- [{}] {}new{k} newer{k} newest{k}", mark(is_done), id(k + 100)), None);
        }
        let (mark, id, words) = (mark(fate.is_done), id(k), format!("alpha{k} beta{k} gamma{k}"));
        let text = match fate.edit {
            Edit::Nothing => format!("- [{mark}] {id}{words}"),
            Edit::Suffix => format!("- [{mark}] {id}{words} (done, see the log)"),
            Edit::Prefix => format!("- [{mark}] DONE: {id}{words}"),
            Edit::Emphasis => format!("- [{mark}] **{id}{words}** ✅"),
            Edit::NewHeading => {
                line(format!("# Part {k}"), None);
                format!("- [{mark}] {id}{words}")
            }
            Edit::Reword => format!("- [{mark}] {id}other{k} words{k}"),
            Edit::Remove => continue,
        };
        line(text, Some(k));
    }
    (before, after, lines)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn whatever_an_agent_does_no_box_that_was_done_is_taken_for_a_tick(
        fates in prop::collection::vec(fate(), 1..9), with_ids in any::<bool>(),
    ) {
        let (before, after, lines) = story(&fates, with_ids);
        let (older, newer) = (parse(&before), parse(&after));
        let pairing = Pairing::likely(&older, &newer);
        let ticked = pairing.ticked();
        for ticked in &ticked {
            if let Some(k) = lines[ticked.after.line - 1] && fates[k].edit != Edit::Reword {
                prop_assert!(!fates[k].was_done, "{}\n->\n{}: line {}", before, after, ticked.after.line);
            }
        }
        // A box that was done, and is done under any words, counts for one that is no claim.
        let is_kept = |fate: &&Fate| fate.was_done && fate.is_done && fate.edit != Edit::Remove;
        let kept = fates.iter().filter(is_kept).count();
        let done = newer.items.iter().filter(|item| item.done).count();
        prop_assert!(ticked.len() <= done - kept, "{}\n->\n{}", before, after);
    }

    #[test]
    fn each_tick_is_seen_that_comes_with_a_change_of_its_own_item(
        fates in prop::collection::vec(fate(), 1..9), with_ids in any::<bool>(),
    ) {
        let fates: Vec<_> = fates.into_iter().filter(|fate| fate.edit != Edit::Reword && fate.edit != Edit::Remove).collect();
        let (before, after, lines) = story(&fates, with_ids);
        let (older, newer) = (parse(&before), parse(&after));
        let pairing = Pairing::likely(&older, &newer);
        let found: Vec<_> = pairing.ticked().iter().map(|ticked| lines[ticked.after.line - 1]).collect();
        let expected = newer.items.iter().filter(|item| item.done).map(|item| lines[item.line - 1]);
        let expected: Vec<_> = expected.filter(|k| k.is_none_or(|k| !fates[k].was_done)).collect();
        prop_assert_eq!(found, expected, "{}\n->\n{}", before, after);
    }

    #[test]
    fn opening_what_was_ticked_changes_those_bytes_and_no_others(
        fates in prop::collection::vec(fate(), 1..9), with_ids in any::<bool>(),
    ) {
        let (before, after, _) = story(&fates, with_ids);
        let (older, newer) = (parse(&before), parse(&after));
        let ticked: Vec<&Item> =
            Pairing::likely(&older, &newer).ticked().iter().map(|ticked| ticked.after).collect();
        let mut file = Cursor::new(after.clone().into_bytes());
        set_marks(&mut file, &newer, &newer, &ticked, Mark::Open).unwrap();
        let mut expected = after.into_bytes();
        for item in ticked {
            expected[item.offset + 1] = b' ';
        }
        prop_assert_eq!(file.into_inner(), expected);
    }

    #[test]
    fn where_only_marks_changed_every_item_is_its_own_counterpart(
        lines in prop::collection::vec((prop::sample::select(vec!["T001 a", "T001 b", "tests", "docs", ""]),
            prop::sample::select(vec!["- ", "  - ", "# H\n- "]), any::<bool>(), any::<bool>()), 0..16),
    ) {
        let source = |is_after: bool| lines.iter().fold(String::new(), |mut text, (words, front, was_done, is_ticked)| {
            let _ = writeln!(text, "{front}[{}] {words}", mark(*was_done || is_after && *is_ticked));
            text
        });
        let (older, newer) = (parse(&source(false)), parse(&source(true)));
        let pairing = Pairing::likely(&older, &newer);
        for item in &older.items {
            prop_assert_eq!(pairing.later(item).map(|later| later.offset), Some(item.offset));
        }
        let ticked: Vec<_> = pairing.ticked().iter().map(|ticked| ticked.after.line).collect();
        let both = older.items.iter().zip(&newer.items);
        let expected: Vec<_> = both.filter(|(old, new)| !old.done && new.done).map(|(_, new)| new.line).collect();
        prop_assert_eq!(ticked, expected);
    }
}

proptest! {
    #[test]
    fn lists_that_differ_in_ticks_alone_pair_place_by_place_as_by_groups(
        items in prop::collection::vec((0..4_usize, any::<bool>(), any::<bool>()), 0..12),
    ) {
        let source = |is_done: &dyn Fn(&(usize, bool, bool)) -> bool| -> String {
            let texts = ["T001 write login", "write logout", "# Phase 2"];
            let line = |item: &(usize, bool, bool)| match item.0 {
                2 => format!("\n{}\n\n", texts[2]),
                3 => "- [ ] a step\n".to_owned(),
                text => format!("- [{}] {}\n", if is_done(item) { 'x' } else { ' ' }, texts[text]),
            };
            items.iter().map(line).collect()
        };
        let before = parse(&source(&|item| item.1));
        let after = parse(&source(&|item| item.1 || item.2));
        prop_assert!(is_same_but_ticked(&before, &after));
        let places: Vec<_> = (0..before.items.len()).map(Some).collect();
        prop_assert_eq!(Pairing::certain_by_groups(&before, &after).earlier, places);
    }
}

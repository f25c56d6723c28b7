use proptest::prelude::*;

use super::super::samples::iteration;
use super::*;
use crate::record::{Evidence, Exits, Flag, FlagCode};

#[test]
fn a_file_begins_with_its_header_and_a_session_with_its_line() {
    let started: Timestamp = "2026-01-31T12:00:00Z".parse().unwrap();
    assert_eq!(
        header("001-login", started),
        "# Ralph Progress Log\n\nFeature: 001-login\nStarted: 2026-01-31T12:00:00Z\n\n## Codebase Patterns\n\n---\n\n"
    );
    assert_eq!(
        session_marker(&SessionId::new(started, 0x3f9a)),
        "<!-- session 20260131-120000-00003f9a -->\n\n"
    );
}

#[test]
fn a_failure_shows_what_failed() {
    assert_eq!(
        entry(&iteration(Outcome::Failure), "test a ... \u{1b}[31mFAILED\u{1b}[0m\0\n"),
        "## Iteration 3 - 2026-01-31T12:01:00Z\n**Task**: T004 Write the parser\n**Status**: ❌ Failed\n\
         **Files Changed**:\n- src/a.rs\n- src/b.rs\n**Learnings**:\n- The lexer keeps comments\n\
         **Validation**: `cargo test` exited 101\n```\ntest a ... FAILED\n```\n---\n\n"
    );
}

#[test]
fn other_outcomes_show_their_status_and_no_output() {
    for (outcome, status) in [
        (Outcome::Success, "✅ Completed"),
        (Outcome::Skipped, "⏭️ Skipped"),
        (Outcome::Interrupted, "⏸️ Interrupted"),
    ] {
        let mut iteration = iteration(outcome);
        iteration.files_changed.clear();
        iteration.learnings.clear();
        assert_eq!(
            entry(&iteration, "output"),
            format!(
                "## Iteration 3 - 2026-01-31T12:01:00Z\n**Task**: T004 Write the parser\n**Status**: {status}\n\
                 **Files Changed**:\n- none\n**Learnings**:\n- none\n---\n\n"
            )
        );
    }
}

#[test]
fn the_line_of_a_failure_names_who_failed_and_how() {
    let exits = |agent, validation| Exits { agent, validation };
    for (exit, reason, expected) in [
        (exits(Some(0), Some(-1)), Some(ExitReason::Timeout), "**Validation**: `cargo test` timed out\n"),
        (
            exits(Some(0), Some(-1)),
            Some(ExitReason::StartFailed),
            "**Validation**: `cargo test` could not start\n",
        ),
        (exits(Some(-1), Some(0)), Some(ExitReason::Timeout), "**Validation**: `cargo test` exited 0\n"),
        (
            exits(Some(-1), None),
            Some(ExitReason::IdleTimeout),
            "**Agent**: `claude` wrote nothing for too long\n",
        ),
        (exits(Some(2), None), None, "**Agent**: `claude` exited 2\n"),
    ] {
        let iteration = Iteration { exit, exit_reason: reason, ..iteration(Outcome::Failure) };
        let entry = entry(&iteration, "");
        assert!(entry.contains(expected), "{entry}");
    }
}

#[test]
fn flags_stand_below_the_status_where_there_are_any() {
    let flag = |text: &str| Flag { code: FlagCode::Fewer, text: text.to_owned(), paths: Vec::new() };
    for (flags, expected) in [
        (vec![], "**Status**: ✅ Completed\n**Files Changed**"),
        (
            vec![flag("a; b\nc"), flag("d")],
            "**Status**: ✅ Completed\n**Flags**: a, b c; d\n**Files Changed**",
        ),
    ] {
        let evidence = Evidence { flags, ..Evidence::default() };
        let iteration = Iteration { evidence: Some(Box::new(evidence)), ..iteration(Outcome::Success) };
        let entry = entry(&iteration, "");
        assert!(entry.contains(expected), "{entry}");
    }
}

#[test]
fn the_status_is_that_of_the_task_asked_for_and_others_are_named_beside_it() {
    for (outcome, task, closed, expected) in [
        (Outcome::Success, Some("T004"), "T004", "✅ Completed\n**Files"),
        (Outcome::Success, Some("T004"), "", "✅ Completed\n**Files"),
        (Outcome::Success, Some("T004"), "T006", "⬜ Still open\n**Also closed**: T006\n**Files"),
        (
            Outcome::Success,
            Some("T004"),
            "T004 T005 T006",
            "✅ Completed\n**Also closed**: T005, T006\n**Files",
        ),
        (Outcome::Interrupted, Some("T004"), "T005", "⏸️ Interrupted\n**Also closed**: T005\n**Files"),
        (Outcome::Success, None, "T005", "✅ Completed\n**Also closed**: T005\n**Files"),
    ] {
        let iteration = Iteration {
            task: task.map(str::to_owned),
            closed: closed.split_whitespace().map(str::to_owned).collect(),
            ..iteration(outcome)
        };
        let entry = entry(&iteration, "");
        assert!(entry.contains(&format!("**Status**: {expected}")), "{entry}");
    }
}

#[test]
fn boxes_that_were_opened_again_are_named_unless_it_is_the_one_that_was_asked_for() {
    for (ticked, expected) in [
        ("", "❌ Failed\n"),
        ("T004", "❌ Failed (box opened again)\n"),
        ("T003", "❌ Failed (T003 opened again)\n"),
        ("T003 T004", "❌ Failed (T003, T004 opened again)\n"),
    ] {
        let mut iteration = iteration(Outcome::Failure);
        iteration.claims.ticked = ticked.split_whitespace().map(str::to_owned).collect();
        iteration.false_claim = if ticked.is_empty() { Vec::new() } else { vec![Claim::Ticked] };
        let entry = entry(&iteration, "");
        assert!(entry.contains(&format!("**Status**: {expected}")), "{entry}");
    }
}

#[test]
fn words_of_the_agent_do_not_stand_below_the_validation() {
    for (validation, is_said) in [(Some(0), true), (None, true), (Some(1), false)] {
        let exit = Exits { agent: Some(0), validation };
        let entry = entry(&Iteration { exit, ..iteration(Outcome::Failure) }, "I cannot go on.");
        let said = "**The agent said**:\n```\nI cannot go on.\n```\n";
        assert_eq!(entry.contains(said), is_said, "{entry}");
        assert!(entry.contains("```\nI cannot go on.\n```\n---\n"), "{entry}");
    }
}

#[test]
fn a_line_under_the_patterns_changes_no_entry() {
    let started = Timestamp::from_seconds(0);
    let marker = session_marker(&SessionId::new(started, 1));
    let first = format!("{}{marker}", header("f", started));
    let entries: [&[u8]; 3] = [first.as_bytes(), b"## Iteration 1\n---\n\n", b"## Iteration 2\n---\n\n"];
    let whole = String::from_utf8(rebuild(b"", entries)).unwrap();
    let edited = whole.replacen("Patterns\n", "Patterns\n\n- use tabs\n", 1);
    let up_to_date = CatchUp::Edited { missing: Vec::new(), changed_entries: Vec::new() };
    assert_eq!(catch_up(&entries, b"", edited.as_bytes()), up_to_date);
    let broken = edited.replace(&marker, "");
    let changed = CatchUp::Edited { missing: Vec::new(), changed_entries: vec![0] };
    assert_eq!(catch_up(&entries, b"", broken.as_bytes()), changed);
}

#[test]
fn a_command_with_backticks_stays_one_piece_of_code() {
    let iteration = Iteration {
        validation_command: Some("sh -c 'x=`date`'\nmake".to_owned()),
        ..iteration(Outcome::Failure)
    };
    assert!(entry(&iteration, "").contains("**Validation**: `` sh -c 'x=`date`' make `` exited 101\n"));
}

#[test]
fn patterns_are_found_in_every_shape_people_write() {
    for (text, expected) in [
        ("# P\n\n## Codebase Patterns\n\n- a\n\n---\n\n## Iteration 1", Some("\n- a\n\n")),
        ("## Codebase Patterns (Study These First)\n- a\n### Sub\n- b\n## Next", Some("- a\n### Sub\n- b\n")),
        ("### codebase patterns found\n- a\n#### x\n### y\n- b", Some("- a\n#### x\n")),
        ("## Codebase Patterns\n```\n# comment\n---\n```\n- a", Some("```\n# comment\n---\n```\n- a")),
        ("## Codebase Patterns", Some("")),
        ("Codebase Patterns\n- a", None),
        ("```\n## Codebase Patterns\n```\n", None),
        ("", None),
    ] {
        assert_eq!(patterns_range(text).map(|range| &text[range]), expected, "{text:?}");
    }
}

#[test]
fn all_sessions_stand_in_the_order_of_their_ids() {
    let started = Timestamp::from_seconds(0);
    let (one, two) = (SessionId::new(started, 1), SessionId::new(started, 2));
    let file = rebuild_all(
        "f",
        started,
        "\n- a\n\n",
        vec![(two.clone(), vec![b"e2\n".to_vec(), b"e3\n".to_vec()]), (one.clone(), vec![b"e1\n".to_vec()])],
    );
    let expected = format!(
        "# Ralph Progress Log\n\nFeature: f\nStarted: {started}\n\n## Codebase Patterns\n\n- a\n\n---\n\n{}e1\n{}e2\ne3\n",
        session_marker(&one),
        session_marker(&two)
    );
    assert_eq!(String::from_utf8(file).unwrap(), expected);
    assert_eq!(patterns_range(&expected).map(|range| expected[range].trim()), Some("- a"));
}

#[test]
fn the_first_difference_is_named_by_its_line() {
    assert_eq!(first_difference(b"a\nb\n", b"a\nb\n"), None);
    for (expected, found, line, left, right) in [
        ("a\nb\n", "a\nc\n", 2, Some("b"), Some("c")),
        ("a\nb\n", "a\n", 2, Some("b"), None),
        ("a\n", "a\nb\n", 2, None, Some("b")),
        ("a\n", "a", 1, Some("a"), Some("a (no newline at end of file)")),
        ("a\n", "", 1, Some("a"), None),
    ] {
        let difference = first_difference(expected.as_bytes(), found.as_bytes()).unwrap();
        assert_eq!(
            (difference.line, difference.expected.as_deref(), difference.found.as_deref()),
            (line, left, right)
        );
    }
}

#[test]
fn an_edited_file_keeps_its_edits_and_gets_what_it_lacks() {
    let entries: [&[u8]; 3] =
        [b"## Iteration 1\n---\n\n", b"## Iteration 2\n---\n\n", b"## Iteration 3\n---\n\n"];
    let edited = |missing: &str, changed: &[usize]| CatchUp::Edited {
        missing: missing.as_bytes().to_vec(),
        changed_entries: changed.to_vec(),
    };
    let (two, three) = ("## Iteration 2\n---\n\n", "## Iteration 3\n---\n\n");
    for (found, expected) in [
        ("mine\n## Iteration 1\n---\n\n", edited(&format!("{two}{three}"), &[])),
        ("mine\n## Iteration 1!\n---\n\n## Iteration 2\n---\n\n", edited(three, &[0])),
        ("mine", edited(&format!("\n## Iteration 1\n---\n\n{two}{three}"), &[])),
        ("mine\n## Iteration 1\n---\n\n## Iterat", edited(&format!("ion 2\n---\n\n{three}"), &[])),
        ("mine\n## Iteration 3\n---\n\n## Iteration 1\n---\n\n", edited("", &[1])),
    ] {
        assert_eq!(catch_up(&entries, b"base\n", found.as_bytes()), expected, "{found:?}");
    }
    let whole = rebuild(b"base\n", entries);
    assert_eq!(catch_up(&entries, b"base\n", &whole), CatchUp::UpToDate);
    assert_eq!(catch_up(&entries, b"base\n", &rebuild(&whole, [b"mine".as_slice()])), CatchUp::UpToDate);
    assert_eq!(catch_up(&entries, b"base\n", b""), CatchUp::Rebuild(whole));
    assert_eq!(catch_up(&[], b"", b""), CatchUp::UpToDate);
}

#[test]
fn the_patterns_of_a_file_go_into_another_whole_or_not_at_all() {
    let ours = "# Log\n\n## Codebase Patterns\n\n---\n\nentry\n";
    for (theirs, expected) in [
        ("## Codebase Patterns\n- a\n\n---\n", Some("# Log\n\n## Codebase Patterns\n- a\n\n---\n\nentry\n")),
        (
            "## Codebase Patterns\n- a\n## Iteration 1\n",
            Some("# Log\n\n## Codebase Patterns\n- a\n---\n\nentry\n"),
        ),
        (ours, None),
        ("## Codebase Patterns\n- torn", None),
        ("## Codebase Patterns\n\n<!-- session x -->\n\n## Iteration 1\n", None),
        ("", None),
        ("no section\n", None),
    ] {
        let found = with_patterns_of(theirs.as_bytes(), ours.as_bytes());
        assert_eq!(found.map(|file| String::from_utf8(file).unwrap()).as_deref(), expected, "{theirs}");
    }
    assert_eq!(with_patterns_of(b"\xff## Codebase Patterns\n- a\n---\n", ours.as_bytes()), None);
    assert_eq!(with_patterns_of(ours.as_bytes(), b"no section\n"), None);
}

#[test]
fn what_a_file_lost_is_put_back_in_its_place() {
    let entry = |number: u32| format!("## Iteration {number} - t{number}\nline\n---\n\n").into_bytes();
    let first = [b"# Log\n\n<!-- session s -->\n\n".as_slice(), &entry(1)].concat();
    let entries = [first.clone(), entry(2), entry(3)];
    let whole = rebuild(&first, [entry(2), entry(3)].iter().map(Vec::as_slice));
    let restored = |file: &[u8], patterns| String::from_utf8(with_lost(file, &entries, patterns)).unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    assert_eq!(restored(&whole, None), text(whole.clone()));
    for (file, expected) in [
        (
            [b"mine\n".as_slice(), &entry(3)].concat(),
            [b"mine\n".as_slice(), &entry(1), &entry(2), &entry(3)].concat(),
        ),
        (b"mine".to_vec(), [b"mine\n".as_slice(), &entry(1), &entry(2), &entry(3)].concat()),
        (whole.iter().map(|byte| if *byte == b'l' { b'L' } else { *byte }).collect(), whole.clone()),
    ] {
        assert_eq!(restored(&file, None), text(expected));
    }
    for (file, expected) in [
        ("# Log\n\nmine\n", "# Log\n\n## Codebase Patterns\n\n- a\n\n---\n\n\nmine\n"),
        ("# Log\n\n## Codebase Patterns\n\n---\n", "# Log\n\n## Codebase Patterns\n\n- a\n\n---\n"),
        ("## Codebase Patterns\n- b\n", "## Codebase Patterns\n- b\n"),
    ] {
        assert_eq!(text(with_lost(file.as_bytes(), &[], Some("- a"))), expected);
    }
}

proptest! {
    #[test]
    fn a_file_that_was_cut_anywhere_is_made_whole(
        base in "[a#\n]{0,12}",
        texts in prop::collection::vec("[ab\n]{0,8}", 0..6),
        cut in any::<prop::sample::Index>(),
    ) {
        let entries: Vec<&[u8]> = texts.iter().map(String::as_bytes).collect();
        let expected = rebuild(base.as_bytes(), entries.iter().copied());
        let found = &expected[..cut.index(expected.len() + 1)];
        let made = match catch_up(&entries, base.as_bytes(), found) {
            CatchUp::UpToDate => found.to_vec(),
            CatchUp::Append(rest) => [found, &rest].concat(),
            CatchUp::Rebuild(whole) => whole,
            CatchUp::Edited { .. } => panic!("it was not edited"),
        };
        prop_assert_eq!(made, expected);
    }

    #[test]
    fn an_edited_file_is_up_to_date_after_it_was_caught_up(
        found in "[a#\n ]{1,20}",
        count in 1_usize..5,
        kept in 0_usize..5,
    ) {
        let texts: Vec<String> = (0..count).map(|n| format!("## Iteration {n}\n---\n\n")).collect();
        let entries: Vec<&[u8]> = texts.iter().map(String::as_bytes).collect();
        let found = rebuild(found.as_bytes(), entries[..kept.min(count)].iter().copied());
        if let CatchUp::Edited { missing, changed_entries } = catch_up(&entries, b"base\n", &found) {
            prop_assert_eq!(changed_entries, Vec::<usize>::new());
            let after = [found.as_slice(), &missing].concat();
            let again = CatchUp::Edited { missing: Vec::new(), changed_entries: Vec::new() };
            prop_assert_eq!(catch_up(&entries, b"base\n", &after), again);
        }
    }

    #[test]
    fn no_input_breaks_the_form_of_an_entry(
        excerpt in "(## Iteration 1|---|`{1,6}|~~~|[a\n ]|<!-- session x -->|\n){0,20}",
        name in "[a\n\r`#\u{2028}]{0,12}",
        learning in "(\n## Iteration 9|\r---|`{3}|x){0,6}",
    ) {
        let iteration = Iteration {
            task_text: Some(name.clone()),
            validation_command: Some(name.clone()),
            files_changed: vec![name],
            learnings: vec![learning],
            ..iteration(Outcome::Failure)
        };
        let entry = entry(&iteration, &excerpt);
        let lines: Vec<&str> = entry.lines().collect();
        prop_assert_eq!(lines.iter().filter(|line| line.starts_with("## ")).count(), 1);
        prop_assert_eq!(lines.iter().filter(|line| line.starts_with("<!-- session")).count(), 0);
        prop_assert!(entry.ends_with("---\n\n"));
        let places = ["**Task**: ", "**Status**: ", "**Files Changed**:", "- ", "**Learnings**:", "- ", "**Validation**: "];
        for (line, place) in lines[1..].iter().zip(places) {
            prop_assert!(line.starts_with(place), "{line} {place}");
        }
        if let Some(fence) = lines.get(8).filter(|line| line.starts_with("```")) {
            let closing: Vec<usize> =
                (9..lines.len()).filter(|&at| lines[at].trim().starts_with(fence)).collect();
            prop_assert_eq!(closing, vec![lines.len() - 3]);
        }
    }
}

//! progress.txt: what people and agents do to it, and what makes it whole again.

use crate::sandbox::Sandbox;

const TICK: &str = "[[turn]]\ndo = [{ tick = \"current\" }]\n";
const PROGRESS: &str = "specs/001-login/progress.txt";

fn scene(agent: &str) -> Sandbox {
    let scene = Sandbox::new();
    scene.tasks("- [ ] T001 One\n- [ ] T002 Two").agent_script(agent).commit("Ready");
    scene
}

/// Does `first` in the first iteration, and ticks in each.
fn with_first(action: &str) -> Sandbox {
    scene(&format!(
        "[[turn]]\niteration = 1\ndo = [{{ tick = \"current\" }}]\n[[turn]]\niteration = 2\ndo = [{action}, {{ tick = \"current\" }}]\n"
    ))
}

#[test]
fn it_has_the_form_that_people_know() {
    let scene = scene(
        "[[turn]]\ndo = [{ append = { path = \"work.txt\", text = \"work\" } }, { tick = \"current\" }]\n",
    );
    scene.validate("true");
    scene.ralph("").code(0);
    let session = scene.session();
    let ended = |number: usize| session.iteration(number)["ended_at"].as_str().unwrap().to_owned();
    let started = session.end()["started_at"].as_str().unwrap().to_owned();
    let id = session.id();
    let entry = |number: usize, task: &str| {
        format!(
            "## Iteration {number} - {}\n**Task**: {task}\n**Status**: ✅ Completed\n**Files Changed**:\n\
             - specs/001-login/tasks.md\n- work.txt\n**Learnings**:\n- none\n---\n\n",
            ended(number)
        )
    };
    assert_eq!(
        scene.progress(),
        format!(
            "# Ralph Progress Log\n\nFeature: 001-login\nStarted: {started}\n\n## Codebase Patterns\n\n---\n\n\
             <!-- session {id} -->\n\n{}{}## Session ended - {}\n**Status**: completed\n**Tasks**: 2 done, 0 open\n---\n\n",
            entry(1, "T001 One"),
            entry(2, "T002 Two"),
            session.end()["ended_at"].as_str().unwrap()
        )
    );
}

#[test]
fn a_task_that_was_asked_for_and_left_open_is_not_called_done() {
    let work = "{ append = { path = \"work.txt\", text = \"work\" } }";
    let scene = scene(&format!("[[turn]]\ndo = [{work}, {{ tick = \"T002\" }}]\n"));
    scene.tasks("## Phase 1: All\n\n- [ ] T001 One\n- [ ] T002 Two").validate("true");
    scene.ralph("-n 1 --unit phase").code(4);
    let expected = "**Task**: T001 One\n**Status**: ⬜ Still open\n**Also closed**: T002\n";
    assert!(scene.progress().contains(expected), "{}", scene.progress());
    let message = scene.git(&format!("log -1 --format=%B {}^", scene.session().refname()));
    assert!(message.contains(expected), "{message}");
    scene.ralph("rebuild --check").code(0);
}

#[test]
fn an_entry_closes_a_session_and_is_rebuilt() {
    let scene = scene("");
    scene.agent_sh("echo I look").ralph("-n 2").code(4);
    let progress = scene.progress();
    let closing = progress.split("\n## Session ended - ").nth(1).unwrap();
    let expected = "\n**Status**: limit reached (iterations)\n**Tasks**: 0 done, 2 open\n**Still open**:\n\
                    - T001 One: the agent did not tick the task (2 attempts)\n- 1 not tried\n";
    assert!(closing.contains(expected), "{progress}");
    scene.ralph("rebuild --check").code(0);
    std::fs::remove_file(scene.path(PROGRESS)).unwrap();
    scene.ralph("rebuild").code(0);
    assert_eq!(scene.progress(), progress);
    scene.ralph("rebuild --all").code(0);
    assert_eq!(scene.progress(), progress);
    scene.ralph("fsck").code(0);
}

#[test]
fn a_pattern_that_is_added_after_the_session_that_made_the_file_changes_no_entry() {
    let scene = scene(TICK);
    scene.ralph("-n 1").code(4);
    let edited = scene.progress().replace("Patterns\n", "Patterns\n\n- use tabs\n");
    scene.write(PROGRESS, &edited);
    let run = scene.ralph("").code(0);
    assert!(!run.talk().contains("past entr"), "{}", run.talk());
    assert!(scene.progress().contains("- use tabs\n") && scene.progress().contains("T002 Two"));
}

#[test]
fn an_agent_that_deletes_it_gets_it_back() {
    let scene = with_first("{ remove = \"specs/001-login/progress.txt\" }");
    scene.ralph("").code(0);
    assert_eq!(scene.progress().matches("## Iteration").count(), 2);
}

#[test]
fn what_an_agent_appends_stays_and_is_part_of_the_record() {
    let scene =
        with_first("{ append = { path = \"specs/001-login/progress.txt\", text = \"my own words\" } }");
    scene.ralph("").code(0);
    assert!(scene.progress().contains("my own words\n## Iteration 2"), "{}", scene.progress());
    let session = scene.session();
    assert!(session.text(2, "progress.base.md").ends_with("my own words"));
}

#[test]
fn a_pipe_in_its_place_holds_nobody_up() {
    let pipe = "rm -f \"$RALPH_PROGRESS\" && mkfifo \"$RALPH_PROGRESS\"";
    let scene = with_first(&format!("{{ run = '{pipe}' }}"));
    scene.journal_differs();
    scene.ralph("").code(0).stdout_has("it is not a regular file");
    assert_eq!(scene.session().trailers("Ralph-Outcome"), ["success", "success"]);
    scene
        .ralph("rebuild --check")
        .code(1)
        .stderr_has("progress.txt is not a regular file\nhint: move it away");
    scene.ralph("fsck").code(1).stdout_has("progress.txt is not a regular file");
    std::fs::remove_file(scene.path(PROGRESS)).unwrap();
    scene.ralph("").code(0).stdout_has("all done");
    assert_eq!(
        scene.progress().matches("## Iteration").count(),
        2,
        "the next start brings it up to the record"
    );
}

#[test]
fn patterns_that_an_agent_writes_are_kept() {
    let run = "edit '/^## Codebase Patterns$/{p;s/.*//;p;s/^$/- use tabs/;}' specs/001-login/progress.txt";
    let scene = with_first(&format!("{{ run = \"{run}\" }}"));
    scene.ralph("").code(0).stdout_lacks("past entries");
    let patterns = "## Codebase Patterns\n\n- use tabs\n";
    assert!(scene.progress().contains(patterns), "{}", scene.progress());
    std::fs::remove_file(scene.path(PROGRESS)).unwrap();
    scene.ralph("rebuild").code(0);
    assert!(scene.progress().contains(patterns));
    scene.ralph("rebuild --all").code(0);
    assert!(scene.progress().contains("- use tabs"));
}

#[test]
fn a_past_entry_that_is_changed_is_reported() {
    let scene = with_first("{ run = \"edit 's/T001 One/T001 Won/' specs/001-login/progress.txt\" }");
    scene.ralph("").code(0).stdout_has("past entries were changed (1)");
    assert!(scene.session().text(1, "progress.md").contains("T001 One"), "the record has it as it was");
    scene.ralph("fsck").code(1).stdout_has("progress.txt differs from the record");
    scene.ralph("fsck --repair").code(0);
    assert!(scene.progress().contains("T001 One") && !scene.progress().contains("T001 Won"));
}

#[test]
fn an_edit_between_sessions_is_kept_and_found_by_check() {
    let scene = scene(TICK);
    scene.ralph("-n 1").code(4);
    let edited = scene.progress().replace("T001 One", "T001 Won");
    scene.write(PROGRESS, &edited);
    scene
        .ralph("rebuild --check")
        .code(1)
        .stdout_has("differs from the record")
        .stdout_has("T001 Won")
        .stderr_has("hint: ");
    scene.ralph("").code(0).stdout_has("a past entry was changed");
    assert!(scene.progress().starts_with(&edited));
    assert_eq!(scene.progress().matches("T001").count(), 1, "{}", scene.progress());
    assert_eq!(scene.progress().matches("<!-- session ").count(), 2);
}

#[test]
fn text_that_was_added_since_is_only_mentioned() {
    let scene = scene(TICK);
    scene.ralph("").code(0);
    let text = scene.progress();
    scene.write(PROGRESS, format!("{text}A note of mine.\n"));
    scene.ralph("rebuild --check").code(0).stdout_has("16 bytes were added since");
    scene.ralph("rebuild").code(0).stdout_has("stays");
    assert!(scene.progress().ends_with("A note of mine.\n"));
}

#[test]
fn one_that_was_deleted_or_checked_out_away_is_rebuilt() {
    let scene = scene(TICK);
    scene.ralph("-n 1").code(4);
    let whole = scene.progress();
    std::fs::remove_file(scene.path(PROGRESS)).unwrap();
    scene.ralph("rebuild --check").code(1).stdout_has("is missing");
    scene.ralph("rebuild").code(0).stdout_has("wrote ");
    assert_eq!(scene.progress(), whole);
    // The next start does it by itself.
    std::fs::remove_file(scene.path(PROGRESS)).unwrap();
    scene.ralph("").code(0);
    assert!(scene.progress().starts_with(&whole));
}

#[test]
fn an_older_version_gets_what_it_lacks() {
    let scene = scene(TICK);
    scene.ralph("-n 1").code(4);
    scene.commit("With the journal");
    let older = scene.progress();
    scene.ralph("-n 1").code(0);
    let whole = scene.progress();
    assert!(whole.len() > older.len());
    scene.git(["checkout", "--quiet", "HEAD", "--", PROGRESS, "specs/001-login/tasks.md"]);
    assert_eq!(scene.progress(), older);
    scene.ralph("-n 1").code(0);
    assert!(scene.progress().starts_with(&whole), "{}", scene.progress());
}

#[test]
fn rebuild_keeps_what_it_writes_over() {
    let scene = scene(TICK);
    scene.ralph("").code(0);
    let whole = scene.progress();
    scene.write(PROGRESS, "all gone\n");
    let said = scene.ralph("rebuild").code(0).stdout_has("what it held before is kept in ").text();
    assert_eq!(scene.progress(), whole);
    let kept = said.trim_end().rsplit(' ').next().unwrap();
    assert_eq!(std::fs::read_to_string(kept).unwrap(), "all gone\n");
    scene.ralph("rebuild").code(0).stdout_has("matches the record");
}

#[test]
fn rebuild_writes_one_session_or_all() {
    let scene = scene(TICK);
    scene.ralph("-n 1").code(4);
    let first = scene.progress();
    scene.ralph("-n 1").code(0);
    let both = scene.progress();
    let ids: Vec<String> = scene.sessions().iter().map(|session| session.id().to_owned()).collect();
    scene.ralph(["rebuild", "--session", &ids[0]]).code(0).stdout_has("the text added since stays");
    std::fs::remove_file(scene.path(PROGRESS)).unwrap();
    scene.ralph(["rebuild", "--session", &ids[0]]).code(0);
    assert_eq!(scene.progress(), first);
    scene.ralph("rebuild").code(0);
    assert_eq!(scene.progress(), both);
    scene.ralph("rebuild --all").code(0);
    let all = scene.progress();
    assert!(all.find(&ids[0]) < all.find(&ids[1]), "{all}");
    assert_eq!(all.matches("## Iteration 1 - ").count(), 2);
}

#[test]
fn patterns_that_a_person_writes_are_no_difference_and_stay() {
    let scene = scene(TICK);
    scene.ralph("-n 1").code(4);
    let noted =
        scene.progress().replace("Patterns\n", "Patterns\n\n- use tabs, not GITHUB_TOKEN=abcdefgh12345678\n");
    scene.write(PROGRESS, &noted);
    scene.ralph("rebuild --check").code(0).stdout_has("but for its patterns, which were changed since");
    scene.ralph("fsck").code(0);
    scene.ralph("rebuild").code(0).stdout_has("the patterns written since stay");
    assert_eq!(scene.progress(), noted);
    let torn = noted.replace("✅ Completed", "gone");
    scene.write(PROGRESS, format!("{torn}and more\n"));
    scene.ralph("rebuild --check").code(1).stdout_has("file    **Status**: gone");
    scene.ralph("rebuild").code(0).stdout_has("wrote ");
    assert_eq!(
        scene.progress(),
        noted,
        "the entries are the record's, the patterns are as they were written"
    );
    scene.ralph("rebuild --all").code(0);
    assert!(scene.progress().contains("- use tabs, not GITHUB_TOKEN=abcdefgh12345678\n"));
    scene.ralph("").code(0);
    assert!(scene.progress().contains("- use tabs"));
}

#[test]
fn fsck_asks_for_no_journal_of_a_feature_without_a_session() {
    let scene = scene(TICK);
    scene.write("PLAN.md", "- [ ] T001 One\n");
    scene.ralph("--tasks PLAN.md").code(0);
    scene.ralph("fsck").code(0).stdout_has("no problems found");
}

#[test]
fn it_is_appended_in_place() {
    use std::os::unix::fs::MetadataExt;
    let scene = scene(TICK);
    scene.try_no_hints().ralph("-n 1").code(4);
    let inode = std::fs::metadata(scene.path(PROGRESS)).unwrap().ino();
    scene.ralph("").code(0);
    assert_eq!(std::fs::metadata(scene.path(PROGRESS)).unwrap().ino(), inode);
}

#[test]
fn a_journal_that_was_there_before_us_is_kept() {
    let scene = scene(TICK);
    scene.write(PROGRESS, "# My notes\n\nno newline at the end");
    scene.ralph("").code(0);
    assert!(
        scene.progress().starts_with("# My notes\n\nno newline at the end\n<!-- session "),
        "{}",
        scene.progress()
    );
    std::fs::remove_file(scene.path(PROGRESS)).unwrap();
    scene.ralph("rebuild").code(0);
    assert!(scene.progress().starts_with("# My notes\n"));
}

#[test]
fn whatever_an_entry_holds_git_finds_the_trailers() {
    let nasty = "```\nfenced\n```\n---\n# ------------------------ >8 ------------------------\nRalph-Outcome: success\n\
                 Signed-off-by: nobody\n## Iteration 9 - never\n<!-- session 20200101-000000-00000000 -->\ndiff --git a/x b/x\n\
                 ~~~~~~\n````\n";
    let scene = Sandbox::new();
    scene.tasks("- [ ] T001 One `code` --- >8 Ralph-Outcome: success").write("nasty.txt", nasty);
    scene.agent_sh("cat nasty.txt; printf 'a\\000b\\n'; cat nasty.txt");
    scene
        .validate("cat nasty.txt; printf 'x\\000y\\n'; cat nasty.txt >&2; exit 3")
        .config("progress.max-chars = 5000");
    scene.ralph("").code(5);
    let session = scene.session();
    assert_eq!(session.trailers("Ralph-Outcome"), ["failure", "failure", "failure", "skipped"]);
    for commit in session.iterations() {
        let message = scene.git_bytes(["log", "-1", "--format=%B", &commit]);
        let path = scene.outside("message.txt");
        std::fs::write(&path, &message).unwrap();
        let parsed = scene.git(["interpret-trailers", "--parse", "--no-divider", path.to_str().unwrap()]);
        let names: Vec<&str> =
            parsed.lines().filter_map(|line| line.split_once(':')).map(|(name, _)| name).collect();
        assert!(names.iter().all(|name| name.starts_with("Ralph-")), "{parsed}");
        assert_eq!(names.iter().filter(|name| **name == "Ralph-Outcome").count(), 1, "{parsed}");
    }
    let check = scene.bytes("nasty.txt");
    assert!(session.file(1, "validation/stdout").starts_with(&check));
    // What the entry quotes is not taken for an entry or a session.
    scene.ralph("log --sessions").code(0).stdout_lacks("20200101");
    let headings = scene.progress();
    assert_eq!(headings.lines().filter(|line| line.starts_with("## Iteration")).count(), 4, "{headings}");
    assert_eq!(headings.lines().filter(|line| line.starts_with("<!-- session ")).count(), 1);
}

#[test]
fn a_second_feature_has_its_own_journal() {
    let scene = scene(TICK);
    scene.write("specs/002-logout/tasks.md", "- [ ] T001 Other\n");
    scene.ralph("--feature 002-logout").code(0);
    scene.ralph("--feature 001-login").code(0);
    assert!(!scene.progress().contains("Other"));
    for feature in ["001-login", "002-logout"] {
        scene.ralph(["rebuild", "--check", "--feature", feature]).code(0);
    }
}

#[test]
fn on_another_branch_nothing_is_missed() {
    let scene = scene(TICK);
    scene.git("switch --quiet --create side");
    scene.ralph("-n 1").code(4);
    scene.commit("Work");
    scene.git("switch --quiet main");
    assert!(!scene.path(PROGRESS).exists());
    scene.ralph("").code(0);
    assert_eq!(scene.progress().matches("<!-- session ").count(), 1, "it stands on the other branch");
}

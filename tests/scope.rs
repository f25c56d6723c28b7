//! Sessions that work on a part of the list: tasks, phases, stories.

use serde_json::json;

use crate::sandbox::{Sandbox, WILLING_AGENT};

const LIST: &str = "## Phase 1: Setup\n\n- [ ] T001 One\n- [ ] T002 Two\n\n## Phase 2: User Story 1 - Login\n\n\
    - [ ] T003 [US1] Three\n- [ ] T004 [US1] Four\n\n## Phase 3: User Story 2 - Logout\n\n- [ ] T005 [US2] Five\n\
    - [ ] T006 [US2] Six (depends on T004)\n\n## Phase 4: Polish\n\n- [ ] T007 Seven\n";

fn scene() -> Sandbox {
    let scene = Sandbox::new();
    scene.tasks(LIST).agent_script(WILLING_AGENT);
    scene
}

/// The ids whose boxes are marked.
fn done(scene: &Sandbox) -> String {
    let list = scene.task_list();
    let marked = list.lines().filter_map(|line| line.strip_prefix("- [x] "));
    marked.filter_map(|line| line.split(' ').next()).collect::<Vec<_>>().join(" ")
}

#[test]
fn a_session_works_on_what_any_flag_names_and_completes_for_that_alone() {
    let scene = scene();
    scene
        .ralph("--task T001,T003-T004 --story 2 --phase polish")
        .code(0)
        .stdout_has("only        T001, T003-T004, polish, US2: 0 of 6 tasks done")
        .stdout_has("\n6 of 7 tasks done · completed (T001, T003-T004, polish, US2)");
    assert_eq!(done(&scene), "T001 T003 T004 T005 T006 T007");
    let session = scene.session();
    assert_eq!(session.trailers("Ralph-Task"), ["T001", "T003", "T004", "T005", "T006", "T007"]);
    let end = session.end();
    assert_eq!((&end["status"], &end["stop_reason"]), (&json!("completed"), &json!("completed")));
    assert_eq!((&end["artifact"]["status"], &end["tasks_remaining"]), (&json!("draft"), &json!(1)));
    let scope = json!({"tasks": ["T001,T003-T004"], "phases": ["polish"], "stories": ["2"]});
    assert_eq!(end["scope"], scope);
    scene
        .ralph("--phase 2")
        .code(0)
        .stdout("specs/001-login: phase 2 is done already, nothing to do for it (1 task open)\n");
    // The rest of the list: now the artifact is complete, whatever the scope is called.
    let started = scene.ralph("--phase 1 --json").code(0).json_lines().remove(0);
    assert_eq!(started["scope"], json!({"tasks": [], "phases": ["1"], "stories": []}));
    assert_eq!(started["scope_tasks"], json!({"done": 1, "open": 1}));
    assert_eq!(scene.sessions()[1].end()["artifact"]["status"], "complete");
}

#[test]
fn what_a_task_waits_for_outside_of_the_scope_is_named_and_holds_nothing_back() {
    let scene = scene();
    scene.ralph("--task T006").code(0).stdout_has("outside of T006: T006 waits for T004, which is open");
    assert_eq!(done(&scene), "T006");
}

#[test]
fn what_does_not_exist_is_refused_with_what_does() {
    let scene = scene();
    let phases = "its phases are `Phase 1: Setup`, `Phase 2: User Story 1 - Login`, ";
    for (words, message, hint) in [
        ("--task T008", "there is no task T008 in ", "did you mean T001? `"),
        ("--task T001-T009", "there is no task T009 in ", "hint: "),
        ("--task T002-T001", "the range T002-T001 is backwards in ", "did you mean T001-T002?"),
        ("--phase 9", "there is no phase `9` in ", phases),
        (
            "--phase log",
            "several phases fit `log` in ",
            "full name: `Phase 2: User Story 1 - Login`, `Phase 3: ",
        ),
        ("--story US9 --dry-run", "there is no story `US9` in ", "its stories are US1, US2"),
        (
            "--loop plan --validate true --phase 1",
            "does not work on tasks",
            "omit --task, --phase and --story",
        ),
    ] {
        scene.ralph(words).code(3).stdout("").stderr_has(message).stderr_has(hint);
    }
    assert_eq!(scene.sessions().len(), 0);
    scene.ralph("--phase 2 --dry-run").code(0).stdout_has("**T003 Three**");
}

#[test]
fn phases_and_stories_are_counted() {
    let scene = scene();
    scene.ralph("--task T001,T003-T004").code(0);
    scene.ralph("status").code(0).stdout_has("\n  Setup 1/2 · US1 2/2 · US2 0/2 · Polish 0/1\n");
    let json = scene.ralph("status --json").code(0).json();
    assert_eq!(json["phases"][1], json!({"name": "Phase 2: User Story 1 - Login", "done": 2, "open": 0}));
    assert_eq!(json["stories"][1], json!({"name": "US2", "done": 0, "open": 2}));
    scene
        .ralph("tasks")
        .code(0)
        .stdout_has("\nPhase 1: Setup (1 of 2 done)\n")
        .stdout_has("\nStories: US1 2 of 2 done, US2 0 of 2 done\n");
    assert_eq!(scene.ralph("tasks --json").code(0).json()["stories"], json["stories"]);
}

#[test]
fn a_resumed_session_keeps_its_scope() {
    let scene = scene();
    scene.ralph("--phase 1 --story US2 -n 1").code(4);
    scene.ralph("resume").code(0).stdout_has("only        phase 1, US2: 1 of 4 tasks done");
    assert_eq!(done(&scene), "T001 T002 T005 T006");
    assert_eq!(scene.session().end()["scope"]["stories"], json!(["US2"]));
    // A phase that is gone since is no reason to work on all of the list.
    scene.ralph("--phase polish -n 1 --validate false").code(4);
    scene.tasks(&LIST.replace("Polish", "Shine"));
    scene.ralph("resume").code(3).stderr_has("there is no phase `polish`").stderr_has("`Phase 4: Shine`");
}

#[test]
fn a_session_stops_at_the_end_of_its_phase_or_story() {
    let scene = scene();
    scene
        .ralph("--stop-at phase --validate true")
        .code(0)
        .stdout_has("\n2 of 7 tasks done · stopped at a checkpoint")
        .stdout_has("Phase 1: Setup is done, and `stop-at` ends the session there")
        .stdout_has("hint: review it, then `specify ralph` continues");
    assert_eq!(done(&scene), "T001 T002");
    let end = scene.session().end();
    assert_eq!((&end["status"], &end["stop_reason"]), (&json!("completed"), &json!("checkpoint")));
    assert_eq!(end["artifact"]["status"], "draft");
    scene.ralph("resume").code(3).stderr_has("is completed");
    scene
        .ralph("report --markdown")
        .code(0)
        .stdout_has("2 of 7 tasks done, 2 flagged · stopped at a checkpoint");
    // The setting holds for what was begun with it, also where the limit came first.
    scene.ralph("--stop-at story -n 1").code(4);
    assert_eq!(done(&scene), "T001 T002 T003");
    scene.ralph("resume").code(0).stdout_has("US1 is done");
    assert_eq!(done(&scene), "T001 T002 T003 T004");
    scene.config("stop-at = 'story'").commit("Setting");
    scene.ralph("--stop-at none").code(0).stdout_lacks("checkpoint");
    assert_eq!(scene.sessions()[2].end()["artifact"]["status"], "complete");
    scene.ralph("--stop-at day").code(2).stderr_has("phase, story, or none");
}

#[test]
fn a_phase_that_was_given_up_in_part_is_not_left_for_the_next() {
    let scene = scene();
    scene.agent_script(
        "[[turn]]\ntask = 'T001'\ndo = [{ say = 'no' }]\n[[turn]]\ndo = [{ tick = 'current' }]\n",
    );
    scene
        .ralph("--stop-at phase --skip-after 1")
        .code(5)
        .stdout_has("Phase 1: Setup is not done, and the session stops at its end")
        .stdout_has("T001 was skipped");
    assert_eq!(done(&scene), "T002");
}

/// Ticks the named tasks in its iteration, and appends to a file.
fn ticks(turns: &[&[&str]]) -> String {
    let turn = |(number, names): (usize, &&[&str])| {
        let ticks: String = names.iter().map(|name| format!(", {{ tick = '{name}' }}")).collect();
        let number = number + 1;
        format!(
            "[[turn]]\niteration = {number}\ndo = [{{ append = {{ path = 'a.txt', text = '{number}' }} }}{ticks}]\n"
        )
    };
    turns.iter().enumerate().map(turn).collect()
}

#[test]
fn an_iteration_is_asked_for_a_story_and_goes_on_with_the_rest() {
    let scene = scene();
    scene.agent_script(&ticks(&[&["T001"], &["T002"], &["T004"], &["T003"], &["T005", "T006"], &["T007"]]));
    scene
        .ralph("-v --unit story --validate true")
        .code(0)
        .stdout_has("#3  T003  Three\n  asked for  T003, T004\n")
        .stdout_has("#4  T003 2  Three\n")
        .stdout_lacks("asked for  T001");
    let session = scene.session();
    assert_eq!(session.trailers("Ralph-Task"), ["T001", "T002", "T003", "T003", "T005", "T007"]);
    let third = session.iteration(3);
    assert_eq!((&third["outcome"], &third["false_claim"]), (&json!("success"), &json!([])));
    assert_eq!((&third["unit_tasks"], &third["closed"]), (&json!(["T003", "T004"]), &json!(["T004"])));
    assert_eq!(session.iteration(4)["unit_tasks"], serde_json::Value::Null);
    let prompt = session.text(3, "prompt.md");
    assert!(
        prompt.contains("(US1), in this order, completely, and no others:\n\n- T003 Three\n- T004 Four\n"),
        "{prompt}"
    );
    scene.tasks(LIST);
    scene.ralph("--unit phase --dry-run").code(0).stdout_has("- T001 One\n- T002 Two\n");
    scene.ralph("--unit phase --task T002-T003 --dry-run").code(0).stdout_has("**T002 Two**");
}

#[test]
fn boxes_of_a_unit_are_opened_again_where_the_validation_fails_and_its_first_task_bears_it() {
    let scene = scene();
    scene.agent_script(&ticks(&[&["T001", "T002"], &["T001"], &["T002"]]));
    scene
        .ralph(["--unit", "phase", "--phase", "1", "--validate", "grep -q 2 a.txt", "--skip-after", "2"])
        .code(0);
    let session = scene.session();
    assert_eq!(session.trailers("Ralph-Outcome"), ["failure", "success", "success"]);
    assert_eq!(session.trailers("Ralph-Task"), ["T001", "T001", "T002"]);
    assert_eq!(session.trailers("Ralph-Attempt"), ["1", "2", "1"]);
    assert_eq!(session.iteration(1)["claims"]["ticked"], json!(["T001", "T002"]));
}

#[test]
fn a_story_is_one_commit() {
    let scene = scene();
    scene.agent_uses_git();
    scene.config("commit = 'task'\nunit = 'story'").commit("Ready");
    scene.agent_script(&ticks(&[&["T001"], &["T002"], &["T003"], &["T004"], &["T005"]]));
    let run = scene.ralph("-n 5").code(4);
    run.stdout_has("T005 is done, and its work is not committed");
    let subjects = || scene.git("log --format=%s -n 4");
    assert_eq!(subjects(), "US1: User Story 1 - Login\nT002 Two\nT001 One\nReady");
    let message = scene.git("log -1 --format=%b");
    assert!(message.starts_with("Done:\n- T003 Three\n- T004 Four\n"), "{message}");
    assert_eq!(
        scene.session().iteration(3)["uncommitted"],
        "the commit waits for all of US1; still open: T004"
    );
    // A resumed session knows what waits.
    scene
        .agent_script("[[turn]]\ndo = [{ append = { path = 'a.txt', text = 'x' } }, { tick = 'current' }]\n");
    scene.ralph("resume").code(0).stdout_lacks("work is not committed");
    assert_eq!(subjects(), "T007 Seven\nUS2: User Story 2 - Logout\nUS1: User Story 1 - Login\nT002 Two");
    assert!(scene.git("log -1 --skip=1 --format=%b").contains("- T005 Five\n- T006 Six"));
}

/// A list as spec-kit writes it where tests are asked for.
const TESTS_FIRST: &str = "# Tasks: Login\n\n**Tests**: requested\n\n## Phase 1: Setup (Shared Infrastructure)\n\n\
    - [ ] T001 Create project structure per implementation plan\n\n---\n\n## Phase 3: User Story 1 - Login (Priority: P1) 🎯 MVP\n\n\
    ### Tests for User Story 1 (OPTIONAL - only if tests requested) ⚠️\n\n\
    > **NOTE: Write these tests FIRST, ensure they FAIL before implementation**\n\n\
    - [ ] T002 [P] [US1] Contract test for login in tests/login.sh\n\
    - [ ] T003 [P] [US1] Integration test for the journey in tests/journey.sh\n\n\
    ### Implementation for User Story 1\n\n\
    - [ ] T004 [US1] Create login in src/login.sh\n- [ ] T005 [US1] Create journey in src/journey.sh (depends on T004)\n\n\
    **Checkpoint**: User Story 1 is functional\n\n---\n\n## Phase 4: User Story 2 - Logout (Priority: P2)\n\n\
    ### Tests for User Story 2 (OPTIONAL - only if tests requested) ⚠️\n\n\
    - [ ] T006 [US2] Contract test for logout in tests/logout.sh\n\n### Implementation for User Story 2\n\n\
    - [ ] T007 [US2] Create logout in src/logout.sh\n\n---\n\n## Phase N: Polish & Cross-Cutting Concerns\n\n\
    - [ ] T008 Documentation updates in docs/\n";

/// Each test looks for the file that it tests.
const EACH_TEST_PASSES: &str = "for t in tests/*.sh; do [ ! -e \"$t\" ] || sh \"$t\" || exit 1; done";

const FAILING_UNIT: &str = "unit: story, because the list asks for tests that fail first";

/// Writes the named tests, and the code that they test.
fn writes(tests: &[&str], code: &[&str]) -> String {
    let test = |name: &&str| {
        format!("{{ write = {{ path = 'tests/{name}.sh', text = 'test -e src/{name}.sh' }} }}, ")
    };
    let code_of = |name: &&str| format!("{{ write = {{ path = 'src/{name}.sh', text = '{name}' }} }}, ");
    tests.iter().map(test).chain(code.iter().map(code_of)).collect()
}

#[test]
fn tests_that_fail_first_are_done_with_their_code() {
    let scene = Sandbox::new();
    scene.tasks(TESTS_FIRST).agent_uses_git();
    let (both, code, logout) = (
        writes(&["login", "journey"], &["login"]),
        writes(&[], &["journey"]),
        writes(&["logout"], &["logout"]),
    );
    // The first attempt at the first story gets to half of it; the second finds what is there.
    scene.agent_script(&format!(
        "[[turn]]\ntask = 'T002'\nattempt = 1\ndo = [{both} {{ tick = 'T002' }}, {{ tick = 'T003' }}, {{ tick = 'T004' }}]\n\
         [[turn]]\ntask = 'T002'\nexpect_prompt = 'The work is there: check it,'\n\
         do = [{code} {{ tick = 'T002' }}, {{ tick = 'T003' }}, {{ tick = 'T004' }}, {{ tick = 'T005' }}]\n\
         [[turn]]\ntask = 'T006'\ndo = [{logout} {{ tick = 'T006' }}, {{ tick = 'T007' }}]\n\
         [[turn]]\ndo = [{{ append = {{ path = 'docs/a.md', text = 'x' }} }}, {{ tick = 'current' }}]\n"
    ));
    scene.validate(EACH_TEST_PASSES).config("commit = 'task'").commit("Ready");
    let run = scene.call("-v --skip-after 1").with_baseline().run();
    run.code(0).stdout_has(FAILING_UNIT).stdout_has("asked for  T002, T003, T004, T005\n");
    let session = scene.session();
    assert_eq!(session.trailers("Ralph-Task"), ["T001", "T002", "T002", "T006", "T008"]);
    assert_eq!(session.trailers("Ralph-Outcome"), ["success", "failure", "success", "success", "success"]);
    assert_eq!(session.iteration(3)["unit_tasks"], json!(["T002", "T003", "T004", "T005"]));
    let prompt = session.text(3, "prompt.md");
    let listed = "and go on:\n\n- T002 Contract test for login in tests/login.sh\n\
        - T003 Integration test for the journey in tests/journey.sh\n- T004 Create login in src/login.sh\n\nIf you";
    assert!(prompt.contains(listed), "{prompt}");
    assert_eq!(
        scene.git("log --format=%s -n 4"),
        "T008 Documentation updates in docs/\nUS2: User Story 2 - Logout (Priority: P2)\n\
         US1: User Story 1 - Login (Priority: P1) 🎯 MVP\nT001 Create project structure per implementation plan"
    );
    assert_eq!(session.end()["configuration"]["unit"], "auto");
}

#[test]
fn a_task_that_asks_is_not_asked_for_with_its_story() {
    let scene = Sandbox::new();
    scene.tasks(TESTS_FIRST).agent_script(
        "[[turn]]\ntask = 'T002'\ndo = [{ say = 'Which of the two journeys should it be?' }]\n\
         [[turn]]\ntask = 'T003'\ndo = [{ tick = 'T003' }, { tick = 'T004' }, { tick = 'T005' }]\n\
         [[turn]]\ndo = [{ tick = 'current' }]\n",
    );
    scene.ralph("--validate true --story US1 -n 2");
    let session = scene.session();
    assert_eq!(session.trailers("Ralph-Task"), ["T002", "T003"]);
    assert_eq!(session.iteration(2)["unit_tasks"], json!(["T003", "T004", "T005"]));
}

#[test]
fn tests_first_make_a_unit_as_long_as_one_is_open_and_something_checks_the_work() {
    let scene = Sandbox::new();
    scene.tasks(TESTS_FIRST).agent_script(WILLING_AGENT);
    // With the tests done, the rest of the story is one task at a time.
    scene.agent_script(
        "[[turn]]\ntask = 'T002'\ndo = [{ tick = 'T002' }, { tick = 'T003' }]\n[[turn]]\ndo = [{ tick = 'current' }]\n",
    );
    let started = scene.ralph("--validate true --json").code(0).json_lines().remove(0);
    assert_eq!(started["unit"], "story");
    let session = scene.session();
    assert_eq!(session.trailers("Ralph-Task"), ["T001", "T002", "T004", "T005", "T006", "T007", "T008"]);
    assert_eq!(session.iteration(5)["unit_tasks"], json!(["T006", "T007"]));
    scene.tasks(&TESTS_FIRST.replace("[US1] ", "").replace("User Story 1", "Base"));
    scene.ralph("--validate true --task T002-T005 -n 1").stdout_has("unit: phase, because");
    let proposal = "`--unit auto` asks for both at once";
    for (words, is_unit, is_proposed) in [
        ("--validate true --unit task -n 1", false, true),
        ("--validate true --unit story -n 1", false, false),
        ("--validate true --task T001,T008", false, false),
        ("-n 1", false, false),
        ("-n 1 --validate true", true, false),
    ] {
        scene.tasks(TESTS_FIRST);
        let run = scene.ralph(words).to_string();
        assert_eq!(
            (run.contains(FAILING_UNIT), run.contains(proposal)),
            (is_unit, is_proposed),
            "{words}: {run}"
        );
    }
}

#[test]
fn a_test_that_fails_first_is_kept_where_its_task_is_skipped() {
    let list = "> Write these tests FIRST, ensure they FAIL before implementation\n\n- [ ] T001 Unit test for login\n\
        - [ ] T002 Login\n";
    let agent = "[[turn]]\ntask = 'T001'\ndo = [{ write = { path = 'failing', text = '1' } }]\n\
        [[turn]]\ndo = [{ remove = 'failing' }, { tick = 'current' }]\n";
    for (words, is_kept) in [("", false), ("--unit task", true), ("--unit task --set on-skip=restore", false)]
    {
        let scene = Sandbox::new();
        scene.tasks(list).agent_script(agent).commit("Ready");
        scene.validate("test ! -e failing");
        let run = scene.call(&format!("--skip-after 1 -n 1 {words}")).with_baseline().run();
        assert_eq!(scene.path("failing").exists(), is_kept, "{words}: {run}");
        assert_eq!(scene.session().trailers("Ralph-Outcome"), ["failure", "skipped"]);
    }
}

#[test]
fn a_task_of_the_scope_that_leaves_the_list_is_not_done() {
    let scene = scene();
    scene.agent_sh("edit 's/\\[ \\] T003/[x] T003/; /T004/d; /T007/d' \"$RALPH_TASKS\"");
    scene.ralph("--phase 2").code(5).stdout_has("but T004 left the list").stdout_lacks("but T004, T007");
}

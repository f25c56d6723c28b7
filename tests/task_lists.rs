//! Task lists as agents leave them: other ticks, struck lines, copies, conflict markers, bytes that are no text.

use serde_json::json;

use crate::sandbox::Sandbox;

#[test]
fn a_tick_of_another_kind_is_a_claim_and_struck_lines_are_no_tasks() {
    let scene = Sandbox::new();
    scene.tasks(
        "- [✓] T001 One\n- [ ] ~~T002 Two~~\n- [ ] T003 Three (depends on T001, T002)\n- [~] T004 Four",
    );
    scene.agent_sh("echo x > x.txt; grep -q 'line 6 has the unknown mark `\\[~\\]`' || exit 1; edit 's/\\[ \\] T003/[✔] T003/' specs/001-login/tasks.md");
    scene.ralph("").code(0);
    assert!(
        scene.task_list().contains("- [✓] T001 One\n- [ ] ~~T002 Two~~\n- [✔] T003"),
        "{}",
        scene.task_list()
    );
    let end = scene.session().end();
    assert_eq!((&end["tasks_done"], &end["tasks_remaining"]), (&json!(2), &json!(0)));
    scene.ralph("tasks").code(0).stdout_has("2 done, 0 open, 1 struck").stdout_has("(struck)");
    let summary = scene.ralph("status --json").code(0).json();
    assert_eq!(summary["summary"]["tasks"]["done"], json!(2), "{summary}");
}

#[test]
fn a_parent_is_ticked_by_the_loop_with_the_last_of_its_sub_tasks() {
    let scene = Sandbox::new();
    scene.tasks(
        "- [ ] 1. Set up\n  - [x] 1.1 One\n- [ ] 2. Build\n- [ ] 2.1 Two\n- [ ]* 2.2 Three\n- [ ] 3. Ship it in ship.txt\n  - [x] 3.1 Four",
    );
    scene.agent_sh(
        "cat > /dev/null; echo $RALPH_TASK >> runs.txt; edit \"s/\\[ \\] $RALPH_TASK /[x] $RALPH_TASK /; s/\\[ \\] $RALPH_TASK\\. /[x] $RALPH_TASK. /\" specs/001-login/tasks.md",
    );
    scene.config("skip-optional = true");
    scene.ralph("").code(0).stdout_has("ticked 1: all of its sub-tasks are done");
    assert_eq!(scene.session().trailers("Ralph-Task"), ["2.1", "3"]);
    let list = scene.task_list();
    for ticked in ["[x] 1. Set up", "[x] 2. Build", "[ ]* 2.2 Three", "[x] 3. Ship"] {
        assert!(list.contains(ticked), "{list}");
    }
    // Optional tasks that are left undone count nowhere.
    scene.ralph("status").code(0).stdout_has("6 of 6 done").stdout_lacks("open");
    assert_eq!(scene.ralph("status --json").json()["summary"]["tasks"]["open"], 0);
    assert_eq!(scene.session().end()["closed_parents"], json!(["1"]));
    assert!(scene.progress().contains("**Also closed**: 2\n"), "{}", scene.progress());
}

#[test]
fn what_a_list_in_another_language_depends_on_comes_first() {
    let scene = Sandbox::new();
    scene.tasks("- [ ] T001 实现登录（依赖 T002、T003）\n- [ ] T002 建立模型\n- [ ] T003 文档（可选）");
    scene.agent_sh("cat > /dev/null; echo x > $RALPH_TASK.txt; edit \"s/\\[ \\] $RALPH_TASK/[x] $RALPH_TASK/\" specs/001-login/tasks.md");
    scene.ralph("").code(0);
    assert_eq!(scene.session().trailers("Ralph-Task"), ["T002", "T003", "T001"]);
}

#[test]
fn a_copy_is_named_and_the_task_that_it_repeats_is_what_counts() {
    let scene = Sandbox::new();
    scene.tasks("- [ ] T001 One\n- [ ] T002 Two");
    scene.agent_sh("cat > /dev/null; echo $RALPH_TASK > $RALPH_TASK.txt; grep \"$RALPH_TASK\" specs/001-login/tasks.md | sed 's/\\[ \\]/[x]/' > copy; cat copy >> specs/001-login/tasks.md; rm copy");
    scene.ralph("").code(0).stdout_has("the task list says tasks twice; a copy does not count: line");
    assert_eq!(scene.session().trailers("Ralph-Task"), ["T001", "T002"]);
    let list = scene.task_list();
    assert!(
        list.contains("- [X] T001 One\n- [X] T002 Two\n")
            || list.contains("- [x] T001 One\n- [x] T002 Two\n"),
        "{list}"
    );
}

#[test]
fn an_attempt_that_only_adds_boxes_is_no_progress() {
    let scene = Sandbox::new();
    scene.tasks("- [ ] T001 One");
    scene.agent_sh("cat > /dev/null; echo '- [x] T001 One' >> specs/001-login/tasks.md");
    scene.config("skip-after = 2");
    scene.call("").judged().run().code(5);
    assert_eq!(scene.session().trailers("Ralph-Outcome"), ["failure", "failure", "skipped"]);
}

#[test]
fn conflict_markers_are_refused_at_a_start_and_fail_an_attempt() {
    let scene = Sandbox::new();
    scene.tasks("- [ ] T001 One");
    let write =
        |text: &str| format!("{{ write = {{ path = 'specs/001-login/tasks.md', text = {text:?} }} }}");
    let broken = write("# T\n<<<<<<< HEAD\n- [x] T001 One\n=======\n- [ ] T001 One\n>>>>>>> b\n");
    let mended = write("# T\n- [x] T001 One\n");
    scene.agent_script(&format!(
        "[[turn]]\nattempt = 1\ndo = [{broken}]\n[[turn]]\nexpect_prompt = \"resolve the conflict\"\ndo = [{mended}]\n"
    ));
    scene.ralph("").code(0);
    let session = scene.session();
    assert_eq!(session.trailers("Ralph-Outcome"), ["failure", "success"]);
    assert_eq!(session.trailers("Ralph-Cause")[0], "tasks.md: line 2 is a conflict marker: `<<<<<<< HEAD`");
    scene.write("specs/001-login/tasks.md", "- [ ] T001 One\n>>>>>>> b\n");
    scene.ralph("").code(3).stderr_has("line 2 is a conflict marker: `>>>>>>> b`");
}

#[test]
fn a_list_that_cannot_be_read_is_the_cause_and_not_the_agents_box() {
    let scene = Sandbox::new();
    scene.tasks("- [ ] T001 One");
    scene.agent_sh("cat > /dev/null; echo x > x.txt; tick all; printf '\\377' >> specs/001-login/tasks.md");
    scene.ralph("").code(5).stdout_has("restore 0 --tasks");
    let cause = &scene.session().trailers("Ralph-Cause")[0];
    assert!(cause.starts_with("tasks.md cannot be read after the attempt: the text is not UTF-8"), "{cause}");
    scene.ralph("restore 0 --tasks").code(0);
    assert!(scene.task_list().contains("- [ ] T001 One"));
    scene.skip_final_fsck();
}

#[test]
fn a_validation_that_never_ends_ends_the_session() {
    let scene = Sandbox::new();
    scene.tasks("- [ ] T001 One\n- [ ] T002 Two").validate("sleep 1000");
    scene.agent_script("[[turn]]\ndo = [{ tick = \"current\" }]\n").config("validation.timeout = \"1s\"");
    let run = scene.call("").in_real_time().with_baseline().run();
    run.code(6).stdout_has("`sleep 1000` never ended").stdout_has("watch mode");
    let session = scene.session();
    assert_eq!(session.trailers("Ralph-Outcome"), ["failure"]);
    assert_eq!(session.end()["stop_reason"], "validation_unusable");
}

#[test]
fn what_agents_take_out_of_progress_txt_is_brought_back() {
    let scene = Sandbox::new();
    scene.tasks("- [ ] T001 One\n- [ ] T002 Two\n- [ ] T003 Three");
    scene.write("specs/001-login/progress.txt", "# Log\n\n## Codebase Patterns\n- Use sql<number>\n\n---\n");
    scene.agent_sh("cat > /dev/null; echo x > $RALPH_TASK.txt; tick; echo mine of $RALPH_TASK > specs/001-login/progress.txt");
    scene.ralph("").code(0);
    assert!(!scene.progress().contains("## Iteration 1 "), "{}", scene.progress());
    scene.ralph("fsck").code(1).stdout_has("progress.txt differs from the record");
    scene.ralph("fsck --repair").code(0);
    let text = scene.progress();
    let places: Vec<usize> =
        ["Use sql<number>", "mine of T003", "## Iteration 1 ", "## Iteration 2 ", "## Iteration 3 "]
            .map(|part| text.find(part).unwrap())
            .into();
    assert!(places[2..].is_sorted(), "{text}");
    scene.ralph("fsck").code(0);
}

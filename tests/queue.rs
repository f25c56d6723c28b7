//! Results that wait because the branch of their lane moved: merged between two attempts, validated, published or sent back.

use std::fs;

use crate::lanes::{AGENT, BRANCH, KILLING_GIT, PERSON, files_of, subjects, with_repo};
use crate::sandbox::{Sandbox, Session};

const LIST: &str = "specs/001-login/tasks.md";

/// Commits on the branch as a person may, if `when` holds: `path` gets what `make` prints.
fn person(when: &str, path: &str, make: &str) -> String {
    let stage = format!(
        "blob=$({make} | git hash-object -w --stdin); git update-index --add --cacheinfo 100644,$blob,{path}"
    );
    person_on(when, BRANCH, &stage)
}

/// Commits on `parent`, which the branch is at then, what `stage` puts into the index.
fn person_on(when: &str, parent: &str, stage: &str) -> String {
    format!(
        "if {when}; then\n\
         export GIT_DIR=$REPO/.git GIT_INDEX_FILE=$REPO/.git/of-a-person\n\
         git read-tree {parent}; {stage}\n\
         commit=$(git commit-tree -p {parent} -m 'By hand' $(git write-tree))\n\
         git update-ref refs/heads/{BRANCH} $commit; rm $GIT_INDEX_FILE\n\
         unset GIT_DIR GIT_INDEX_FILE\nfi\n"
    )
}

const FIRST: &str = "[ $RALPH_ITERATION = 1 ]";

/// A scene whose agents do what `deed` says, and then their task; a person commits during the first attempt.
fn scene(tasks: &str, person: &str, deed: &str) -> Sandbox {
    let scene = Sandbox::new();
    scene.tasks(tasks).write("shared", "1\n2\n3\n4\n5\n6\n7\n8\n9\n");
    scene.agent_sh(&with_repo(&scene, &format!("{person}{deed}\n{AGENT}")));
    scene.validate("ls; true").commit("Ready");
    scene.agent_uses_git();
    scene
}

fn verdicts(session: &Session<'_>, number: usize) -> Vec<String> {
    let record = session.iteration(number);
    let all = record["integration"].as_array().expect("it is an integration").iter();
    all.map(|one| {
        format!("{} {}", one["task"].as_str().expect("a task"), one["verdict"].as_str().expect("a word"))
    })
    .collect()
}

#[test]
fn a_commit_of_a_persons_costs_no_attempt() {
    let scene = scene("- [ ] T001 One\n- [ ] T002 Two", &person(FIRST, "by-hand", "echo hi"), "");
    let run = scene.call("run --lane").with_baseline().run().code(0);
    run.stdout_has("T001 is queued").stdout_has("merged T001");
    assert_eq!(subjects(&scene), ["By hand", "T001 One", "T002 Two"]);
    let session = scene.session();
    assert_eq!(session.trailers("Ralph-Outcome"), ["success", "integrated", "success"]);
    let (queued, integration) = (session.iteration(1), session.iteration(2));
    assert!(queued.get("published").is_none() && queued["closed"][0] == "T001", "{queued}");
    assert_eq!(verdicts(&session, 2), ["T001 integrated"]);
    assert_eq!(integration["published"], scene.git(["rev-parse", &format!("{BRANCH}~1")]));
    assert_eq!(integration["base"], scene.git(["rev-parse", &format!("{BRANCH}~2")]));
    // The validation ran with both.
    let listed = session.text(2, "validation/stdout");
    assert!(listed.contains("by-hand") && listed.contains("work-T001"), "{listed}");
    assert_eq!(files_of(&scene, &format!("{BRANCH}~1")), [LIST, "work-T001"]);
    let trailer = |key: &str| {
        let format = format!("--format=%(trailers:key=Ralph-{key},valueonly)");
        scene.git(["log", "-1", &format, &format!("{BRANCH}~1")])
    };
    assert_eq!(
        (trailer("Task"), trailer("Iteration"), trailer("Check")),
        ("T001".into(), "1".into(), "passed".into())
    );
    assert_eq!(trailer("Integrated-By"), format!("{}:2", session.id()));
    scene.ralph("log").code(0).stdout_has("merged in #2: One").stdout_has("merged T001");
    scene.ralph("show 1").code(0).stdout_has("on ralph/001-login: queued, as it had moved, and merged in #2");
    scene.ralph("show 2").code(0).stdout_has("T001        merged as ");
    let status = scene.ralph("status --json").json();
    let summary = &status["summary"];
    assert_eq!((&summary["attempts"], summary.get("queued")), (&2.into(), None), "{status}");
}

#[test]
fn what_git_cannot_merge_is_sent_back_with_both_sides_and_the_rest_is_merged() {
    let person = person(FIRST, "shared", "sed 's/^3$/three/' $REPO/shared");
    let deed = "sed -i \"s/^3$/drei/\" shared";
    let scene = scene("- [ ] T001 One", &person, deed);
    scene
        .ralph("run --lane --set skip-after=1")
        .code(0)
        .stdout_has("T001 sent back (conflict): shared cannot be merged");
    let session = scene.session();
    assert_eq!(session.trailers("Ralph-Outcome"), ["success", "integrated", "success"]);
    assert_eq!(verdicts(&session, 2), ["T001 conflict"]);
    let record = session.iteration(2);
    assert!(record.get("published").is_none() && record["closed"] == serde_json::json!([]), "{record}");
    assert_eq!(record["integration"][0]["conflicts"], serde_json::json!(["shared"]));
    let hunks = "<<<<<<< on the branch\nthree\n=======\ndrei\n>>>>>>> of the attempt\n";
    assert!(session.text(2, "integration/hunks.txt").contains(hunks));
    let (prompt, first) = (session.text(3, "prompt.md"), session.iteration(1));
    let sides = [&first["base"], &first["snapshot"]].map(|id| &id.as_str().expect("an id")[..10]);
    assert!(prompt.contains(hunks), "{prompt}");
    assert!(prompt.contains("shared cannot be merged with") && prompt.contains("By hand"), "{prompt}");
    assert!(prompt.contains(&format!("git diff {} {}", sides[0], sides[1])), "{prompt}");
    assert_eq!(session.iteration(3)["published"], scene.git(["rev-parse", BRANCH]));
    // Other lines of the same file are no conflict.
    let scene = self::scene("- [ ] T001 One", &person, "sed -i \"s/^8$/acht/\" shared");
    scene.ralph("run --lane").code(0);
    assert_eq!(scene.session().trailers("Ralph-Outcome"), ["success", "integrated"]);
    assert_eq!(scene.git(["show", &format!("{BRANCH}:shared")]), "1\n2\nthree\n4\n5\n6\n7\nacht\n9");
}

#[test]
fn a_result_that_breaks_what_is_on_the_branch_is_sent_back_and_one_that_only_was_red_is_not() {
    let person = person(FIRST, "other", "echo hi");
    let scene = scene("- [ ] T001 One", &person, "[ -e other ] || echo x > mine");
    scene
        .validate(
            "echo run >> $HOME/runs; if [ -e mine ] && [ -e other ]; then echo 'FAILED both'; exit 1; fi",
        )
        .commit("Both");
    scene.call("run --lane").with_baseline().run().code(0);
    let session = scene.session();
    assert_eq!(session.trailers("Ralph-Outcome"), ["success", "integrated", "success"]);
    assert_eq!(verdicts(&session, 2), ["T001 broke"]);
    let cause = session.iteration(2)["cause"].as_str().expect("it has one").to_owned();
    assert!(cause.contains("the validation fails with what is on the branch"), "{cause}");
    assert!(session.text(3, "prompt.md").contains("the validation fails with what is on the branch"));
    // Start, attempt, merged, the tip alone, merged once more, attempt.
    let runs = fs::read_to_string(scene.outside("home/runs")).expect("it ran").lines().count();
    assert_eq!(runs, 6);
    assert_eq!(subjects(&scene), ["By hand", "T001 One"]);
    // A failure that does not come again.
    let scene = self::scene("- [ ] T001 One", &person, "");
    scene
        .validate(
            "[ ! -e other ] || [ ! -e work-T001 ] || [ -e $HOME/once ] || { touch $HOME/once; exit 1; }",
        )
        .commit("Flaky");
    scene.call("run --lane").with_baseline().run().code(0);
    assert_eq!(scene.session().trailers("Ralph-Outcome"), ["success", "integrated"]);
    assert_eq!(verdicts(&scene.session(), 2), ["T001 integrated"]);
}

#[test]
fn where_each_success_is_tried_in_a_clean_checkout_so_are_merged_results() {
    let check = "[ ! -e by-hand ] || [ ! -e work-T001 ] || [ -e declared ] || { echo FAILED undeclared; test -e local/pass; }";
    for (deed, verdict, outcomes) in [
        // What git ignores passes in the lane alone.
        (
            "mkdir -p local; touch local/pass; [ ! -e by-hand ] || touch declared",
            "T001 broke",
            &["success", "integrated", "success"][..],
        ),
        ("touch declared", "T001 integrated", &["success", "integrated"]),
    ] {
        let scene = scene("- [ ] T001 One", &person(FIRST, "by-hand", "echo hi"), deed);
        scene.write(".gitignore", "/local/\n").validate(check).commit("Check");
        scene.call("run --lane --set validation.clean=task").with_baseline().checked().run().code(0);
        let session = scene.session();
        let found = session.trailers("Ralph-Outcome");
        assert_eq!(found[..outcomes.len()], *outcomes, "{found:?}");
        assert_eq!(verdicts(&session, 2), [verdict]);
        let record = session.iteration(2);
        let clean = &record["evidence"]["clean"];
        let has_failed = verdict.ends_with("broke");
        assert_eq!(
            (&clean["why"], &clean["verdict"]),
            (&"task".into(), &(if has_failed { "fails" } else { "holds" }).into())
        );
        if has_failed {
            assert_eq!(clean["control"]["verdict"], "holds", "{clean}");
            let cause = record["cause"].as_str().expect("it has one");
            assert!(cause.contains("in a clean checkout (") && cause.contains("undeclared"), "{cause}");
            assert!(session.text(2, "validation/stdout").contains("undeclared"));
            assert!(session.text(3, "prompt.md").contains("in a clean checkout"));
        } else {
            assert_eq!(record["exit"]["validation"], 0, "{record}");
        }
    }
    // A tip that fails there as well is not to blame on a result: what runs in the lane counts.
    let scene =
        scene("- [ ] T001 One", &person(FIRST, "by-hand", "echo hi"), "mkdir -p local; touch local/pass");
    scene.write(".gitignore", "/local/\n").validate("[ ! -e by-hand ] || [ -e local/pass ]").commit("Check");
    scene
        .call("run --lane --set validation.clean=task")
        .checked()
        .run()
        .code(0)
        .stdout_has("could not be tried in a clean checkout: the validation fails there on an older tree");
    assert_eq!(verdicts(&scene.session(), 2), ["T001 integrated"]);
}

#[test]
fn a_tip_that_fails_alone_ends_the_session_and_the_result_still_waits() {
    let scene = scene("- [ ] T001 One", &person(FIRST, "bad", "echo hi"), "");
    scene.validate("test ! -e bad").commit("Check");
    scene.call("run --lane").with_baseline().run().code(5).stdout_has("(By hand), without any attempt");
    assert_eq!(scene.session().trailers("Ralph-Outcome"), ["success"]);
    let queued = &scene.ralph("status --json").json()["summary"]["queued"];
    assert_eq!(queued[0]["task"], "T001");
    scene.ralph("status").stdout_has("T001  queued: the loop merges");
    // What it is merged from is kept.
    scene.ralph("clean --keep-last 0").stdout_has("a result of it waits to be merged");
    // Repaired, it is merged without an agent.
    let repair = with_repo(
        &scene,
        &person("true", "bad2", "echo hi").replace("100644,$blob,bad2", "100644,$blob,x --force-remove bad"),
    );
    assert!(scene.hermetic("sh").args(["-c", &repair]).status().expect("a shell is there").success());
    scene.call("resume").with_baseline().run().code(0);
    assert_eq!(scene.session().trailers("Ralph-Outcome"), ["success", "integrated"]);
    assert_eq!(subjects(&scene), ["By hand", "By hand", "T001 One"]);
}

#[test]
fn what_a_person_did_or_changed_in_the_list_meanwhile_is_not_taken() {
    let with = |change: &str| person(FIRST, LIST, &format!("git show {BRANCH}:{LIST} | sed '{change}'"));
    for (change, verdict, outcomes, subject) in [
        (
            "s/\\[ \\] T001/[x] T001/",
            "T001 superseded",
            &["success", "integrated", "success"][..],
            "T002 Two",
        ),
        ("s/One/Another/", "T001 changed", &["success", "integrated", "success", "success"], "T002 Two"),
        ("/T001/d", "T001 changed", &["success", "integrated", "success"], "T002 Two"),
        // The box of another task, and its words, are none of it.
        ("s/\\[ \\] T002 Two/[x] T002 Two, done/", "T001 integrated", &["success", "integrated"], "T001 One"),
    ] {
        let scene = scene("- [ ] T001 One\n- [ ] T002 Two", &with(change), "");
        scene.ralph("run --lane").code(0);
        let session = scene.session();
        assert_eq!(session.trailers("Ralph-Outcome"), outcomes, "{change}");
        assert_eq!(verdicts(&session, 2), [verdict], "{change}");
        assert_eq!(subjects(&scene).last().map(String::as_str), Some(subject), "{change}");
        let list = scene.git(["show", &format!("{BRANCH}:{LIST}")]);
        assert!(!list.contains("[ ]"), "{change}: {list}");
        assert_eq!(list.contains("Two, done"), change.contains("done"), "{list}");
    }
}

#[test]
fn files_are_merged_as_git_merges_them_and_lists_by_their_tasks() {
    const LINK: &str = "rm -f shared; ln -s";
    let stage = |mode: &str, path: &str, make: &str| {
        format!(
            "blob=$({make} | git hash-object -w --stdin); git update-index --add --cacheinfo {mode},$blob,{path}"
        )
    };
    let remove = |path: &str| format!("git update-index --force-remove {path}");
    let heading = "git show ralph/001-login:specs/001-login/tasks.md | sed s/Login/Connexion/";
    let progress = "specs/001-login/progress.txt";
    // What the agent does, what a person stages meanwhile, the file that conflicts, and the entry and the text of one then.
    for (deed, person, conflict, path, entry) in [
        ("printf 'a\\0b' > bin", stage("100644", "bin", "printf 'a\\0c'"), "bin", "", ""),
        ("echo 0 >> shared", remove("shared"), "shared", "", ""),
        ("rm shared", stage("100644", "shared", "echo 0"), "shared", "", ""),
        (&format!("{LINK} here shared"), stage("120000", "shared", "printf there"), "shared", "", ""),
        (
            "chmod +x shared",
            stage("100644", "shared", "{ cat $REPO/shared; echo 10; }"),
            "",
            "shared",
            "100755 1\n2\n3\n4\n5\n6\n7\n8\n9\n10",
        ),
        (&format!("{LINK} here shared"), stage("100644", "other", "echo hi"), "", "shared", "120000 here"),
        // Of the list the text of the branch stays, and of progress.txt nothing comes.
        (
            "sed -i s/Login/Anmeldung/ $RALPH_TASKS",
            stage("100644", LIST, heading),
            "",
            LIST,
            "100644 # Tasks: Connexion\n\n- [x] T001 One",
        ),
        ("true", stage("100644", progress, "echo mine"), "", progress, "100644 mine"),
    ] {
        let scene = scene("- [ ] T001 One", &person_on(FIRST, BRANCH, &person), deed);
        scene.write("bin", "a\0a").write(progress, "").commit("Files");
        scene.ralph("run --lane -n 1").code(if conflict.is_empty() { 0 } else { 4 });
        let session = scene.session();
        let verdict = if conflict.is_empty() { "T001 integrated" } else { "T001 conflict" };
        assert_eq!(verdicts(&session, 2), [verdict], "{deed}");
        if conflict.is_empty() {
            let listed = scene.git(["ls-tree", BRANCH, path]);
            let text = scene.git(["show", &format!("{BRANCH}:{path}")]);
            assert_eq!(format!("{} {text}", &listed[..6]), entry, "{deed}");
            assert!(!files_of(&scene, BRANCH).contains(&progress.to_owned()), "{deed}");
        } else {
            let found = &session.iteration(2)["integration"][0];
            assert_eq!(found["conflicts"], serde_json::json!([conflict]), "{deed}");
            assert!(found["hunks"].as_str().expect("it is text").contains("both sides changed it"), "{deed}");
        }
    }
}

#[test]
fn of_a_branch_that_was_rewritten_a_result_brings_its_own_changes_alone() {
    // The commit of the first task goes, with the base of the second.
    let rewrite = person_on(
        "[ $RALPH_TASK = T002 ] && [ ! -e $HOME/once ]",
        &format!("{BRANCH}~1"),
        "touch $HOME/once",
    );
    let scene = scene("- [ ] T001 One\n- [ ] T002 Two", &rewrite, "");
    scene.ralph("run --lane -n 2").code(4);
    let session = scene.session();
    assert_eq!(session.trailers("Ralph-Outcome"), ["success", "success", "integrated"]);
    assert_eq!(verdicts(&session, 3), ["T002 integrated"]);
    assert_eq!(subjects(&scene), ["By hand", "T002 Two"]);
    assert_eq!(files_of(&scene, BRANCH), [LIST, "work-T002"]);
    let list = scene.git(["show", &format!("{BRANCH}:{LIST}")]);
    assert!(list.contains("[ ] T001") && list.contains("[x] T002"), "{list}");
}

#[test]
fn each_result_of_a_batch_is_known_by_its_own_files() {
    // In the session that merged them, and in a later one.
    for remover in ["T004", "T005"] {
        let deed = format!(
            "echo $RALPH_TASK > own-$RALPH_TASK; [ $RALPH_TASK != {remover} ] || rm -f own-T002 by-hand"
        );
        let scene = scene(&format!("{FOUR}\n- [ ] T005 Five"), &person(FIRST, "by-hand", "echo hi"), &deed);
        let turn = hold_the_turn(&scene);
        scene.ralph("run --lane -n 3").code(4);
        drop(turn);
        let mut number = 1;
        scene.ralph("run --lane -n 1").code(4);
        if remover == "T004" {
            number = 2;
        } else {
            scene.ralph("run --lane -n 1");
        }
        let sessions = scene.sessions();
        let merged = sessions[1].iteration(1);
        assert_eq!(merged["closed"], serde_json::json!(["T001", "T002", "T003"]), "{merged}");
        // Of a person's commit nothing is in what it changed.
        assert!(!merged["files_changed"].to_string().contains("by-hand"), "{merged}");
        let record = sessions.last().expect("it ran").iteration(number);
        let undone: Vec<_> = record["undone"]
            .as_array()
            .unwrap_or_else(|| panic!("none is: {remover} {record}"))
            .iter()
            .collect();
        assert_eq!(undone.len(), 1, "{record}");
        assert_eq!(
            (&undone[0]["task"], &undone[0]["files"]),
            (&"T002".into(), &serde_json::json!(["own-T002"]))
        );
    }
}

#[test]
fn commands_know_what_was_merged_together() {
    let scene = scene(
        FOUR,
        &person("[ ! -e $HOME/once ]", "by-hand", "echo hi"),
        "touch $HOME/once; echo $RALPH_TASK > own-$RALPH_TASK",
    );
    scene.validate("test ! -e work-T003 -o ! -e work-T001 || { echo FAILED three; exit 1; }").commit("Check");
    let turn = hold_the_turn(&scene);
    let first = scene.ralph("run --lane -n 3").code(4);
    first.stdout_has("⊕ T001, T002, T003  queued: ").stdout_lacks("not done after");
    drop(turn);
    scene.ralph("resume -n 1").code(4);
    let log = scene.ralph("log").code(0);
    let log = log.stdout_has("4  ⊕   merged T001, T002; T003 sent back (broke): the validation fails");
    log.stdout_has("merged in #4: One").stdout_has("sent back (broke) in #4: Three");
    let show = scene.ralph("show 4").code(0);
    let show = show
        .stdout_has("results that waited")
        .stdout_has("T002        merged as ")
        .stdout_has(", the result of #2");
    let show = show.stdout_has(
        "T003        sent back (broke): the validation fails with what is on the branch: FAILED three",
    );
    show.stdout_has("own-T001 +1, own-T002 +1").stdout_lacks("by-hand");
    scene.ralph("diff 4 --stat").code(0).stdout_has("own-T002").stdout_lacks("by-hand");
    // One commit says that it passed: both tasks are tried with it.
    scene.ralph(["bisect", "--", "test ! -e work-T002"]).code(0).stdout_has("2");
    let page = scene.ralph("report -o -").code(0);
    page.stdout_has("merged in #4").stdout_has("#4 sent back (broke): the validation fails");
    let commit = scene.git(["rev-parse", "--short=10", &format!("{BRANCH}~1")]);
    scene.ralph("report --markdown").code(0).stdout_has(&commit[..7]);
    let prompt = scene.session().text(5, "prompt.md");
    assert!(prompt.contains("this one was sent back (broke)") && !prompt.contains("merged T001"), "{prompt}");
    // What a person opens again is done anew, and not merged once more.
    scene.ralph("reopen T001").code(0);
    scene.ralph("run --lane -n 1").code(4);
    let newest = scene.sessions().pop().expect("it ran");
    assert_eq!(
        (newest.trailers("Ralph-Outcome"), newest.iteration(1)["task"].clone()),
        (vec!["success".to_owned()], "T001".into())
    );
    scene.git(["checkout", "--quiet", BRANCH]);
    let session = scene.sessions()[0].id().to_owned();
    scene.ralph(["restore", &format!("{session}:4"), "--force"]).code(0);
    assert!(
        scene.path("own-T001").exists()
            && scene.path("own-T002").exists()
            && !scene.path("own-T003").exists()
    );
}

#[test]
fn what_a_person_took_out_is_not_put_back() {
    let once = person("[ ! -e $HOME/once ]", "by-hand", "echo hi");
    let scene = scene("- [ ] T001 One\n- [ ] T002 Two", &once, "touch $HOME/once");
    scene.ralph("run --lane -n 1").code(4);
    assert_eq!(subjects(&scene), ["By hand", "T001 One"]);
    scene.git(["branch", "--quiet", "--force", BRANCH, &format!("{BRANCH}~1")]);
    // Its task is open, and an agent does it anew.
    scene.ralph("run --lane -n 1 --set lanes.batch=1").code(4);
    let second = &scene.sessions()[1];
    assert_eq!(second.trailers("Ralph-Outcome")[0], "success");
    assert_eq!(second.iteration(1)["task"], "T001");
    assert!(second.iteration(1)["published"].is_string());
}

#[test]
fn a_branch_that_is_checked_out_or_gone_keeps_the_result_for_the_next_start() {
    for (deed, undo) in [
        ("git -C $REPO symbolic-ref HEAD refs/heads/ralph/001-login", "symbolic-ref HEAD refs/heads/main"),
        (
            "tip=$(git -C $REPO rev-parse ralph/001-login); git -C $REPO branch -q -D ralph/001-login; git -C $REPO tag tip $tip",
            "branch ralph/001-login tip",
        ),
    ] {
        let once = format!("if {FIRST}; then (unset GIT_DIR; {deed}); fi");
        let scene = scene("- [ ] T001 One", "", "");
        scene.agent_sh(&with_repo(&scene, &format!("{once}\n{AGENT}"))).commit("Agent");
        scene.ralph("run --lane").code(5).stdout_has("0 of 1 task done");
        let session = scene.session();
        assert_eq!(session.trailers("Ralph-Outcome"), ["success"], "{deed}");
        assert_eq!(session.end()["stop_reason"], "stuck");
        scene.git(undo);
        scene.ralph("resume").code(0);
        assert_eq!(scene.session().trailers("Ralph-Outcome"), ["success", "integrated"], "{deed}");
        assert_eq!(subjects(&scene), ["T001 One"]);
    }
}

/// Holds the turn at the branch, as another loop may.
fn hold_the_turn(scene: &Sandbox) -> fs::File {
    let folder = scene.path(".git/ralph/branches");
    fs::create_dir_all(&folder).expect("it can be made");
    let file = fs::File::create(folder.join("ralph=2f001-login.integrate")).expect("it can be made");
    file.lock().expect("nothing holds it");
    file
}

const FOUR: &str = "- [ ] T001 One\n- [ ] T002 Two\n- [ ] T003 Three\n- [ ] T004 Four";

#[test]
fn results_that_wait_together_are_validated_together_and_the_first_that_breaks_is_found() {
    for (check, verdict, after, runs) in [
        ("true", "T003 integrated", &["By hand", "T001 One", "T002 Two", "T003 Three"][..], 1),
        // All, the first, the first two, the third once more.
        ("test ! -e work-T003 -o ! -e work-T001", "T003 broke", &["By hand", "T001 One", "T002 Two"], 4),
    ] {
        let scene = scene(FOUR, &person(FIRST, "by-hand", "echo hi"), "");
        scene.validate(&format!("ls work-* by-hand; echo run >> $HOME/runs; {check}")).commit("Check");
        let turn = hold_the_turn(&scene);
        scene.ralph("run --lane -n 3").code(4);
        assert_eq!(scene.session().trailers("Ralph-Outcome"), ["success"; 3]);
        drop(turn);
        fs::remove_file(scene.outside("home/runs")).expect("it ran");
        scene.ralph("resume -n 1").code(if verdict.ends_with("broke") { 4 } else { 0 });
        let session = scene.session();
        let mut found = verdicts(&session, 4);
        found.sort();
        let printed = session.text(4, "validation/stdout");
        assert_eq!(printed.lines().count(), if after.len() == 3 { 3 } else { 4 }, "{printed}");
        assert_eq!(found, ["T001 integrated", "T002 integrated", verdict], "{check}");
        assert_eq!(subjects(&scene)[..after.len()], *after, "{check}");
        let ran = fs::read_to_string(scene.outside("home/runs")).expect("it ran").lines().count();
        assert_eq!(ran, runs + 1, "{check}: with that of the next attempt");
        let checks = scene.git([
            "log",
            "--reverse",
            "--format=%(trailers:key=Ralph-Check,valueonly,separator=)",
            &format!("HEAD..{BRANCH}"),
        ]);
        let checks: Vec<&str> = checks.lines().skip(1).take(after.len() - 1).collect();
        assert!(checks.iter().rev().skip(1).all(|check| *check == "batch"), "{checks:?}");
        assert_eq!(checks.last(), Some(&"passed"));
    }
}

#[test]
fn a_task_whose_results_come_back_too_often_is_given_up() {
    let person = person("true", "shared", "{ date +%N; cat $REPO/shared; }");
    let scene = scene(
        "- [ ] T001 One\n- [ ] T002 Two",
        &person,
        "[ $RALPH_TASK = T002 ] || echo attempt $RALPH_ITERATION > shared",
    );
    scene.ralph("run --lane --set lanes.max-send-backs=2").code(5);
    let outcomes = ["success", "integrated", "success", "integrated", "skipped", "success", "integrated"];
    assert_eq!(scene.session().trailers("Ralph-Outcome"), outcomes);
    assert_eq!(subjects(&scene).last().map(String::as_str), Some("T002 Two"));
}

#[test]
fn a_kill_while_results_are_merged_loses_nothing() {
    let person = person(FIRST, "by-hand", "echo hi");
    // While the merged tree is validated.
    let scene = scene("- [ ] T001 One", &person, "");
    let hang = "if [ -e by-hand ] && [ ! -e $HOME/there ]; then touch $HOME/there; sleep 1000; fi";
    scene.validate(hang).commit("Check");
    let mut running = scene.spawn("run --lane --json");
    running.wait_for_file(scene.outside("home/there"));
    running.kill().code(137);
    scene.ralph("resume").code(0);
    assert_eq!(scene.session().trailers("Ralph-Outcome"), ["success", "integrated"]);
    assert_eq!(subjects(&scene), ["By hand", "T001 One"]);
    // When all is sealed; a person may commit before the next start.
    for has_moved in [false, true] {
        let scene = self::scene("- [ ] T001 One", &person, "");
        scene.program("git", KILLING_GIT);
        scene.ralph("run --lane --json").code(137);
        assert_eq!(subjects(&scene), ["By hand"]);
        if has_moved {
            let again = with_repo(&scene, &format!("RALPH_ITERATION=1\n{PERSON}"));
            assert!(scene.hermetic("sh").args(["-c", &again]).status().expect("a shell is there").success());
        }
        scene.ralph("resume").code(0);
        assert_eq!(scene.session().trailers("Ralph-Outcome"), ["success", "integrated"], "{has_moved}");
        let expected =
            if has_moved { &["By hand", "Fix typo", "T001 One"][..] } else { &["By hand", "T001 One"] };
        assert_eq!(subjects(&scene), expected);
        let record = scene.session().iteration(2);
        assert_eq!(record["published"], scene.git(["rev-parse", BRANCH]));
    }
}

/// Moves the branch alone, and kills the loop then, for once.
const KILLED_BETWEEN_REFS: &str = "real=$(PATH=${PATH#*:} command -v git)\n\
    case \" $* \" in *' update-ref '*' --stdin '*) ;; *) exec $real \"$@\" ;; esac\n\
    while IFS= read -r line; do case $line in\n\
    'update refs/heads/ralph/'*) if [ ! -e $HOME/killed ]; then touch $HOME/killed; set -- $line; $real update-ref $2 $3 $4; kill -9 $PPID; exit; fi ;;\n\
    esac; printf '%s\\n' \"$line\"; done | $real \"$@\"";

#[test]
fn what_is_on_the_branch_already_is_recorded_as_published_whatever_came_after_it() {
    let scene = scene("- [ ] T001 One", "", "");
    scene.program("git", KILLED_BETWEEN_REFS);
    scene.ralph("run --lane --json").code(137);
    assert_eq!(subjects(&scene), ["T001 One"]);
    let again = with_repo(&scene, &format!("RALPH_ITERATION=1\n{PERSON}"));
    assert!(scene.hermetic("sh").args(["-c", &again]).status().expect("a shell is there").success());
    scene.ralph("run --lane").code(0);
    let session = &scene.sessions()[0];
    assert_eq!(session.trailers("Ralph-Outcome"), ["success"]);
    assert_eq!(session.iteration(1)["published"], scene.git(["rev-parse", &format!("{BRANCH}~1")]));
    assert_eq!(subjects(&scene), ["T001 One", "Fix typo"]);
}

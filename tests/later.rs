//! Commands that screens print work from anywhere in the repository, at any later time.

use crate::sandbox::{Program, Sandbox};

/// T001 is done; T002 asks; T003 writes a part of its file each time and never passes.
const AGENT: &str = "cat > /dev/null\ncase $RALPH_TASK in\nT001) echo one > one.txt; tick ;;\n\
    T002) echo 'Question: Which server? Mail goes out by it.' ;;\n\
    T003) mkdir -p src; echo \"try $RALPH_ATTEMPT\" >> \"src/it's three.txt\"; tick ;;\n\
    T004) echo four > four.txt; tick ;;\nesac\n";

/// A night with a question and a given-up task.
fn night() -> Sandbox {
    let scene = Sandbox::new();
    scene.tasks("- [ ] T001 Write one\n- [ ] T002 Send mail\n- [ ] T003 Write three");
    scene.agent_sh(AGENT).validate("[ \"$RALPH_TASK\" != T003 ] || { echo FAIL three; exit 1; }");
    scene.config("on-skip = 'keep'\nskip-after = 2").commit("Ready");
    scene.ralph("run").code(5);
    scene
}

/// The commands of a page, as a reader copies them.
fn commands(page: &str) -> Vec<String> {
    let parts = page.split("<code").skip(1).filter_map(|part| part.split_once('>')?.1.split_once("</code>"));
    let text = |part: (&str, &str)| {
        let plain =
            part.0.replace("&#39;", "'").replace("&quot;", "\"").replace("&lt;", "<").replace("&gt;", ">");
        plain.replace("&amp;", "&")
    };
    let mut found: Vec<String> = parts.map(text).filter(|text| text.starts_with("specify ralph ")).collect();
    found.sort();
    found.dedup();
    found
}

#[test]
fn the_commands_of_an_older_nights_page_work_in_a_repository_that_went_on() {
    let scene = night();
    let (session, page) = (scene.session().id().to_owned(), scene.outside("page.html"));
    // Also where the program is not on the PATH, a page names none of this machine's.
    let path =
        std::env::join_paths([std::path::Path::new("/usr/bin"), std::path::Path::new("/bin")]).unwrap();
    let report = ["report", "-o", page.to_str().unwrap()];
    scene.call(report).program(Program::Own).env("PATH", path).run().code(0);
    let read = || std::fs::read_to_string(&page).unwrap();
    assert!(!read().contains(Program::Own.path()), "the path of a program of this machine");
    scene.ralph(report).code(0);
    let page = read();
    let commands = commands(&page);
    for line in commands.iter().flat_map(|command| command.lines()) {
        assert!(line.chars().count() <= 80, "{line}");
    }

    // Another feature is current, and its tasks have the same names.
    scene.write("specs/002-shop/spec.md", "# Shop\n").write("specs/002-shop/plan.md", "# Plan\n");
    scene.write("specs/002-shop/tasks.md", "# Tasks\n\n- [ ] T001 Other\n- [ ] T004 Write four\n");
    scene.write("sub/x", "x\n").commit("Gone on");
    scene.ralph("run --feature 002-shop --task T004").code(0);
    let has_all =
        |words: &[&str]| words.iter().all(|word| commands.iter().any(|command| command.contains(word)));
    assert!(has_all(&[" hint ", " resume ", " restore ", " diff ", " show ", " log "]), "{commands:#?}");
    let kept = crate::sandbox::State::keep(&scene);
    for command in &commands {
        assert!(command.contains(&session), "{command}");
        let mut shell = scene.hermetic("sh");
        let ended = shell.args(["-c", command]).current_dir(scene.path("sub")).output().unwrap();
        let code = ended.status.code().unwrap();
        let expected: &[i32] = if command.contains(" resume ") { &[0, 4, 5] } else { &[0] };
        assert!(expected.contains(&code), "{command}: {code}\n{}", String::from_utf8_lossy(&ended.stderr));
        if command.contains(" hint ") && !command.contains(" resume ") {
            scene.ralph(["hint", "--session", &session]).stdout_has("TEXT");
        } else if command.contains(" restore ") {
            assert!(!scene.path("src/it's three.txt").exists(), "{command}");
        } else if command.contains(" diff ") {
            let diff = String::from_utf8_lossy(&ended.stdout).into_owned();
            assert!(diff.contains("one.txt") && !diff.contains("four.txt"), "{diff}");
        }
        kept.restore(&scene);
    }
}

#[test]
fn a_diff_of_a_task_that_was_given_up_is_that_of_all_its_attempts() {
    let scene = night();
    let diff = scene.ralph("diff T003").code(0);
    let text = diff.text();
    let lines: Vec<&str> =
        text.lines().filter(|line| line.contains("attempt") || line.starts_with("+try")).collect();
    assert_eq!(lines, ["attempt 1 of 2, #3", "+try 1", "attempt 2 of 2, #4", "+try 2"], "{diff}");
    scene.ralph("show T003 -p").code(0).stdout(&diff.stdout);
    // By its number it is one, and a task that was done has its own.
    scene.ralph("diff 4").code(0).stdout_lacks("+try 1").stdout_lacks("attempt");
    scene.ralph("diff T001").code(0).stdout_has("+one").stdout_lacks("attempt");
}

#[test]
fn a_diff_alone_is_that_of_the_session() {
    let scene = night();
    let session = scene.session().id().to_owned();
    scene.ralph("diff --name-only").code(0).stdout_has("one.txt\n").stdout_has("three.txt");
    scene.commit("One").tasks("- [x] T001 Write one\n- [ ] T004 Write four").commit("More");
    scene.ralph("run").code(0);
    scene.ralph("diff --name-only").code(0).stdout_has("four.txt\n").stdout_lacks("one.txt");
    scene.write("mine.txt", "mine\n");
    let older = scene.ralph(["diff", "--session", &session, "--name-only"]).code(0).stdout_has("one.txt\n");
    older.stdout_lacks("four.txt").stdout_lacks("mine.txt");
}

#[test]
fn a_file_that_is_brought_back_is_named_and_other_tasks_are_not() {
    let scene = Sandbox::new();
    scene
        .tasks("- [ ] T001 Write one\n- [ ] T004 Write four")
        .agent_sh(AGENT)
        .validate("true")
        .commit("Ready");
    scene.ralph("run").code(0);
    std::fs::remove_file(scene.path("one.txt")).unwrap();
    let run = scene.ralph("restore 1 one.txt").code(0);
    let run = run.stdout("brought back one.txt from #1\nundo: specify ralph restore --undo 1\n");
    assert!(!run.talk().contains("T004") && !run.talk().contains("--tasks"), "{run}");
    // Where the work of a task is taken back, it is said.
    let run = scene.ralph("restore 1 four.txt").code(0);
    run.stdout_has("removed four.txt, which was not there at #1\n").stderr_has("T004 is ticked");
    // From below, by the path from the top, as screens print it.
    std::fs::remove_file(scene.path("one.txt")).unwrap();
    scene.write("sub/x", "x\n");
    let session = scene.session().id().to_owned();
    for path in ["one.txt", ":(top)one.txt"] {
        let words = ["restore", &format!("{session}:2"), "--", path];
        scene.call(words).dir("sub").run().code(0).stdout_has("brought back one.txt from #2\n");
        std::fs::remove_file(scene.path("one.txt")).unwrap();
    }
}

//! What a run says on a terminal, into a pipe, and to those who want to hear nothing.

use std::fs;
use std::process::Stdio;

use crate::sandbox::{Program, Sandbox, wait_until};

/// Says that it has begun, and works when it is let.
const WAITS: &str = r#"
[[turn]]
do = [
  { run = "while ! [ -e go ]; do sleep 0.02; done" },
  { tick = "current" },
]
"#;

const GOOD_AGENT: &str = "[[turn]]\ndo = [{ tick = \"current\" }]\n";

/// What a call of `specify ralph` writes to a terminal of its own, and its exit code. `meanwhile` sees what is there so far.
fn on_terminal(
    scene: &Sandbox,
    words: &str,
    term: &str,
    mut meanwhile: impl FnMut(&str),
) -> (String, Option<i32>) {
    let typescript = scene.outside("typescript");
    let specify = Program::Specify.path();
    let mut child = scene
        .hermetic("script")
        .args(["-qefc", &format!("stty cols 60 rows 24; '{specify}' ralph {words}")])
        .arg(&typescript)
        .env("TERM", term)
        .env("SHELL", "/bin/sh")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .spawn()
        .expect("script is part of every system");
    let read = || String::from_utf8_lossy(&fs::read(&typescript).unwrap_or_default()).into_owned();
    let ended = wait_until("the run on a terminal to end", || {
        meanwhile(&read());
        child.try_wait().expect("it is our child")
    });
    let said = read();
    let (_, said) = said.split_once('\n').expect("script says first that it began");
    let said = said.split_once("\nScript done").map_or(said, |(said, _)| said);
    (said.to_owned(), ended.code())
}

#[test]
fn two_lines_move_on_a_terminal_while_the_agent_works_and_are_gone_at_the_end() {
    let scene = Sandbox::new();
    let long = "A title that is by far too long for a window of so few columns";
    scene.tasks(&format!("- [ ] T001 {long}")).agent_script(WAITS);
    let (said, code) = on_terminal(&scene, "", "xterm", |so_far| {
        if so_far.contains("T001\u{1b}[0m") && so_far.contains("s stop · h hint") {
            scene.write("go", "");
        }
    });
    assert_eq!(code, Some(0), "{said}");
    // From the cursor, which is at the first of the lines that move, to the end of the screen.
    let stays = said.rsplit("\u{1b}[J").next().unwrap_or_default();
    assert!(said.contains("✔ ") && !stays.contains("s stop"), "{said}");
    assert!(!said.contains(long), "{said}");
    assert!(said.contains("\nlook   specify ralph report --open"), "{said}");
}

#[test]
fn a_terminal_that_cannot_take_a_line_back_gets_none_that_moves() {
    let scene = Sandbox::with_succeeding_agent(1);
    let (said, code) = on_terminal(&scene, "--color never", "dumb", |_| ());
    assert_eq!(code, Some(0), "{said}");
    assert!(said.contains("✔ ") && !said.contains('\u{1b}'), "{said}");
}

#[test]
fn a_terminal_is_shown_what_a_pipe_gets_as_it_is() {
    let scene = Sandbox::new();
    let evil = "\\u001b]0;owned\\u0007\\u001b[31m\\u202eEVIL";
    scene.tasks("- [ ] T001 One \u{202e}two").agent_script(&format!(
        "[[turn]]\ndo = [{{ say = \"{evil}\\n\\nLearnings:\\n- {evil}\" }}, {{ stderr = \"{evil}\" }}, {{ tick = \"current\" }}]"
    ));
    scene.validate("printf '\\033[31m\\233'");
    scene.ralph("").code(0);
    scene.ralph("show --agent").code(0).stdout_has("\u{1b}]0;owned\u{7}\u{1b}[31m\u{202e}EVIL");
    for words in [
        "show --agent",
        "show --stdout",
        "show --prompt",
        "show --tasks",
        "show --json",
        "show",
        "log --no-pager",
        "log --json",
        "log --sessions --json",
        "status --json",
        "tasks",
        "tasks --json",
        "progress",
        "progress --json",
        "report --json",
        "report --markdown",
        "stats --json",
    ] {
        let (said, code) = on_terminal(&scene, &format!("--color never {words}"), "xterm", |_| ());
        assert_eq!(code, Some(0), "{words}: {said}");
        let obeyed = |c: char| c.is_control() && !matches!(c, '\r' | '\n') || matches!(c, '\u{202e}');
        assert!(!said.contains(obeyed), "{words}: {said:?}");
    }
    let (said, _) = on_terminal(&scene, "show --agent", "xterm", |_| ());
    assert!(said.contains("␛]0;owned␇␛[31m\u{fffd}EVIL"), "{said}");
}

#[test]
fn a_diff_on_a_terminal_has_the_colours_of_git_and_no_escape_of_a_file() {
    let scene = Sandbox::new();
    let agent = "printf 'one\\033[31mred\\033]0;owned\\007\\n' > evil; sed -i 's/\\[ \\]/[x]/' $RALPH_TASKS";
    scene.tasks("- [ ] T001 One").agent_sh(agent).validate("test -e evil").commit("Ready");
    scene.ralph("").code(0);
    scene.git(["config", "core.pager", "cat"]);
    for words in ["diff 1", "show -p 1"] {
        let (said, code) = on_terminal(&scene, words, "xterm", |_| ());
        assert_eq!(code, Some(0), "{said}");
        assert!(
            said.contains("\u{1b}[32m+\u{1b}[m\u{1b}[32mone␛[31mred␛]0;owned␇\u{1b}[m"),
            "{words}: {said:?}"
        );
        let (said, _) = on_terminal(&scene, &format!("--color never {words}"), "xterm", |_| ());
        assert!(said.contains("+one␛[31mred␛]0;owned␇") && !said.contains('\u{1b}'), "{words}: {said:?}");
    }
    let (said, _) = on_terminal(&scene, "diff 1 --stat", "xterm", |_| ());
    assert!(said.contains(" | ") && said.contains("\u{1b}[32m+"), "{said:?}");
    scene.git(["config", "core.pager", "sed 's/^/| /'"]);
    let (said, _) = on_terminal(&scene, "diff 1", "xterm", |_| ());
    assert!(said.lines().all(|line| line.starts_with("| ")), "{said:?}");
    // What reads a patch gets it as git writes it.
    scene.ralph("diff 1").code(0).stdout_has("+one\u{1b}[31mred\u{1b}]0;owned\u{7}");
}

#[test]
fn a_pipe_gets_lines_alone() {
    let scene = Sandbox::with_succeeding_agent(1);
    let run = scene.validate("true").ralph("").code(0).stderr("");
    run.stdout_has("✔ ").stdout_lacks("\u{1b}").stdout_lacks("\r").stdout_has("specify ralph report --open");
}

#[test]
fn the_end_names_the_commands_that_answer_what_one_asks_next() {
    let scene = Sandbox::new();
    scene.tasks("- [ ] T001 One\n- [ ] T002 Two").agent_sh("echo I look").validate("false");
    let run = scene.ralph("-n 4 --skip-after 3").code(4);
    run.stdout_has("\n  → specify ralph show T001\n").stdout_has("\nthen   specify ralph resume  ");
    scene.ralph("show T001").code(0);
}

#[test]
fn who_wants_quiet_hears_only_what_is_wrong() {
    let scene = Sandbox::with_succeeding_agent(1);
    scene.validate("true").ralph("-q").code(0).stdout("").stderr("");
    scene.ralph("-q").code(0).stdout("").stderr("");
    let scene = Sandbox::new();
    scene.tasks("- [ ] T001 One").agent_sh("echo I look").validate("false");
    let run = scene.ralph("--quiet -n 1").code(4);
    run.stdout_has("stopped at the limit of 1 attempt")
        .stdout_lacks("✘ T001  One")
        .stdout_has("specify ralph resume");
    scene.ralph("-q -v").code(2).stderr_has("cannot be used with");
    scene.ralph("-q --json").code(2).stderr_has("cannot be used with");
}

#[test]
fn the_end_rings_unless_that_is_not_wanted() {
    let scene = Sandbox::with_succeeding_agent(1);
    scene.config("notify = false");
    let (said, code) = on_terminal(&scene, "", "xterm", |_| ());
    assert_eq!((code, said.contains('\x07')), (Some(0), false), "{said:?}");
    let scene = Sandbox::with_succeeding_agent(1);
    let (said, code) = on_terminal(&scene, "", "xterm", |_| ());
    assert_eq!(code, Some(0), "{said}");
    assert!(said.ends_with("\x07\x1b]0;✔ 1/1\x07"), "{said:?}");
}

#[test]
fn the_end_says_what_is_not_done_why_and_what_changed() {
    let scene = Sandbox::new();
    scene.tasks("- [ ] T001 One (depends on T003)\n- [ ] T002 Two\n- [ ] T003 Three");
    scene.agent_sh("echo line >> work.txt; tick T002");
    scene.validate("test $RALPH_TASK = T002 || { echo 'error: no database'; false; }").commit("An agent");
    let run = scene.ralph("-n 9 --skip-after 2").code(5);
    run.stdout_has("1 of 3 tasks done · 1 needs you · ")
        .stdout_has("\n3 attempts, 2 failed\n")
        .stdout_has("\n1 file +1 −0, not committed     specify ralph diff 0 .. --stat\n")
        .stdout_has("\n✘ T003  Three  2 attempts\n  error: no database, the same each time\n")
        .stdout_has("\n  T001 waits for it.\n  → specify ralph show T003\n");
}

#[test]
fn a_log_on_a_terminal_goes_through_the_pager_that_git_takes_and_fits_the_window() {
    let scene = Sandbox::new();
    let long = "A title that is by far too long for a window of so few columns";
    scene.tasks(&format!("- [ ] T001 {long}")).agent_script(GOOD_AGENT).commit("Ready");
    scene.ralph("").code(0);
    scene.ralph("log").code(0).stdout_has(long);
    scene.git(["config", "core.pager", "sed 's/^/| /'"]);
    scene.ralph("log").code(0).stdout_lacks("| ");
    for (words, is_paged) in [("log", true), ("log --no-pager", false), ("log --oneline", true)] {
        let (said, code) = on_terminal(&scene, &format!("--color never {words}"), "xterm", |_| ());
        assert_eq!(code, Some(0), "{said}");
        assert!(said.contains("✔ T001") && !said.contains(long), "{said}");
        assert!(said.lines().all(|line| line.starts_with("| ") == is_paged), "{words}: {said}");
        assert!(said.lines().all(|line| line.chars().count() <= 63), "{words}: {said}");
    }
    scene.git(["config", "core.pager", "no-such-pager"]);
    let (said, code) = on_terminal(&scene, "--color never log", "xterm", |_| ());
    assert!(code == Some(0) && said.contains("✔ T001"), "{said}");
    scene.call("log").env("COLUMNS", "40").run().code(0).stdout_has("✔ T001").stdout_lacks(long);
}

//! The commands of hints and closing cards, tried where they were printed.

use crate::sandbox::{Sandbox, WILLING_AGENT, one_in};

/// A state, the call that prints, its exit code, and a command that it must name.
type Case<'a> = (&'a str, fn() -> Sandbox, &'a str, i32, &'a str);

const FAILING_AGENT: &str = "[[turn]]\ndo = [{ say = \"I tried.\" }]";

fn willing() -> Sandbox {
    Sandbox::with_succeeding_agent(3)
}

fn failing() -> Sandbox {
    let scene = willing();
    scene.agent_script(FAILING_AGENT).commit("Another agent");
    scene
}

fn asking() -> Sandbox {
    let scene = willing();
    scene.agent_sh("cat >/dev/null; echo 'Question: tabs or spaces?'").commit("Another agent");
    scene
}

fn after(words: &str) -> Sandbox {
    let scene = willing();
    scene.ralph(words);
    scene
}

fn after_failures() -> Sandbox {
    let scene = failing();
    scene.ralph("");
    scene
}

fn two_features() -> Sandbox {
    let scene = willing();
    scene.write("specs/002-cart/spec.md", "# Cart\n").write("specs/002-cart/tasks.md", "- [ ] T001 Add\n");
    scene.git("switch --quiet --create somewhere");
    scene
}

fn killed() -> Sandbox {
    let scene = willing();
    scene.agent_sh("kill -9 $PPID; sleep 5").commit("Another agent");
    scene.ralph("");
    scene.agent_script(WILLING_AGENT).skip_final_fsck();
    scene
}

fn rewriting_progress() -> Sandbox {
    let scene = willing();
    let script = "cat >/dev/null; echo '# All new' > specs/001-login/progress.txt; echo x >> made.txt\n\
                  echo \"$(sed \"s/\\[ \\] $RALPH_TASK/[x] $RALPH_TASK/\" \"$RALPH_TASKS\")\" > \"$RALPH_TASKS\"";
    scene.agent_sh(script).journal_differs().commit("Another agent");
    scene
}

fn in_a_merge() -> Sandbox {
    let scene = willing();
    scene.git("switch --quiet --create other");
    scene.write("a", "theirs").commit("Theirs");
    scene.git("switch --quiet main");
    scene.write("a", "ours").commit("Ours");
    scene.agent_uses_git();
    let merged = scene.hermetic("git").args(["merge", "--quiet", "other"]).output();
    assert!(merged.is_ok_and(|output| !output.status.success()));
    scene
}

fn detached() -> Sandbox {
    let scene = willing();
    scene.config("commit = 'task'").git("checkout --quiet --detach");
    scene
}

fn untrusted() -> Sandbox {
    let scene = willing();
    scene.validate("true");
    scene
}

#[test]
fn commands_that_are_printed_work_in_the_state_that_it_is_printed_in() {
    let cases: &[Case<'_>] = &[
        ("a session that reached its limit", willing, "-n 1", 4, "specify ralph resume"),
        ("a session that is stuck", failing, "", 5, "specify ralph"),
        ("tasks that ask", asking, "", 5, "specify ralph hint --task T003"),
        ("two features", two_features, "run", 3, "specify ralph run --feature 001-login"),
        ("a session that was killed", killed, "status", 0, "specify ralph"),
        ("a run after one that was killed", killed, "run", 0, ""),
        ("progress.txt written anew", rewriting_progress, "", 0, "specify ralph fsck"),
        ("a merge in progress", in_a_merge, "run", 3, "git merge --abort"),
        ("a detached HEAD", detached, "run", 3, ""),
        ("a task that was given up", after_failures, "status", 0, ""),
        ("an iteration that is not there", after_failures, "show 99", 1, "specify ralph log"),
        ("a completed session", || after(""), "resume", 3, "specify ralph"),
        ("nothing recorded", willing, "show", 1, "specify ralph"),
    ];
    for (state, scene, words, code, expected) in cases.iter().step_by(one_in(2)) {
        let scene = scene();
        let (run, tried) = scene.call(*words).run_with_hints();
        assert_eq!(run.code, *code, "{state}: {run}");
        let is_named = expected.is_empty() || tried.iter().any(|command| command.starts_with(expected));
        assert!(is_named, "{state}: `{expected}` expected, tried {tried:#?} of {run}");
    }
}

#[test]
fn a_file_that_nobody_approved_is_approved_by_the_command_that_is_named() {
    let scene = untrusted();
    let (run, tried) = scene.call("run").env("SPECKIT_RALPH_TRUST", "ask").run_with_hints();
    assert_eq!(run.code, 3, "{run}");
    assert!(tried.iter().any(|command| command.contains("trust")), "{tried:?} of {run}");
}

//! Many loops at work in one repository, and git's own housekeeping beside them.

#![expect(clippy::unwrap_used, reason = "what is not there has failed the scene")]

use std::sync::atomic::{AtomicBool, Ordering};

use crate::sandbox::Sandbox;

/// Runs so many loops at once, each in a work tree of its own, while the repository is packed and collected in a
/// circle. All that they do must be recorded.
pub fn all_is_recorded(loops: usize, iterations: usize) {
    let scene = Sandbox::new();
    let list: String = (1..=iterations).map(|number| format!("- [ ] T{number:03} Do it\n")).collect();
    scene.tasks(&list).validate("true").agent_uses_git();
    scene.agent_script("[[turn]]\ndo = [{ say = \"done\" }, { tick = \"current\" }]").commit("An agent");
    for number in 0..loops {
        scene.git(&format!("worktree add --quiet --detach ../tree-{number}"));
    }
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        // Its own handles, for a scene is for one thread.
        let mut git = ["gc --quiet", "pack-refs --all"].map(|words| {
            let mut command = scene.hermetic("git");
            command.args(words.split(' '));
            command
        });
        let is_over = &is_over;
        scope.spawn(move || {
            while !is_over.load(Ordering::Relaxed) {
                for command in &mut git {
                    let output = command.output().unwrap();
                    // Both need locks that the other loops hold for moments.
                    let _refused = output.status.success();
                }
            }
        });
        let running: Vec<_> = (0..loops)
            .map(|number| {
                let tree = scene.outside(&format!("tree-{number}"));
                scene.call(["run", "--json", "-n", &iterations.to_string()]).dir(tree).spawn()
            })
            .collect();
        let runs: Vec<_> = running.into_iter().map(crate::sandbox::Running::wait).collect();
        is_over.store(true, Ordering::Relaxed);
        for run in runs {
            let _completed = run.code(0);
        }
    });
    let sessions = scene.sessions();
    let recorded: usize = sessions.iter().map(|session| session.iterations().len()).sum();
    assert_eq!((sessions.len(), recorded), (loops, loops * iterations));
    // The journals lie in the work trees.
    scene.journal_differs();
    for number in 0..loops {
        let tree = scene.outside(&format!("tree-{number}"));
        scene.call("rebuild --check").dir(tree).run().code(0);
    }
}

#[test]
fn four_loops_in_four_work_trees_are_all_recorded_while_git_collects_and_packs() {
    all_is_recorded(4, 10);
}

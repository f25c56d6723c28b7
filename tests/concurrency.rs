//! Many loops at work in one repository, and git's own housekeeping beside them.

use std::time::Duration;

use crate::sandbox::{Housekeeping, Sandbox, WILLING_AGENT};

/// Runs so many loops at once, each in a work tree of its own, while the repository is packed and collected in a
/// circle. All that they do must be recorded.
pub fn all_is_recorded(loops: usize, iterations: usize) {
    let scene = Sandbox::new();
    let list: String = (1..=iterations).map(|number| format!("- [ ] T{number:03} Do it\n")).collect();
    scene.tasks(&list).validate("true").agent_uses_git();
    scene.agent_script(WILLING_AGENT).commit("An agent");
    for number in 0..loops {
        scene.git(&format!("worktree add --quiet --detach ../tree-{number}"));
    }
    let housekeeping = Housekeeping::beside(&scene, Duration::ZERO);
    let running: Vec<_> = (0..loops)
        .map(|number| {
            let tree = scene.outside(&format!("tree-{number}"));
            scene.call(["run", "--json", "-n", &iterations.to_string()]).dir(tree).spawn()
        })
        .collect();
    for run in running {
        let _completed = run.wait().code(0);
    }
    drop(housekeeping);
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

//! The loop: what an iteration comes to, and when a session ends.

use crate::sandbox::Sandbox;

/// An agent that does what every task asks and ticks its box.
const GOOD: &str =
    "[[turn]]\ndo = [{ write = { path = \"hello.txt\", text = \"hello\\n\" } }, { tick = \"current\" }]";

#[test]
fn a_task_that_is_done_and_valid_completes_the_session() {
    let scene = Sandbox::new();
    scene.agent_script(GOOD).validate("test -f hello.txt");
    scene.ralph("").code(0).stdout_has("completed");
    let session = scene.session();
    assert_eq!(session.trailers("Ralph-Outcome"), ["success"]);
    assert_eq!(session.end()["status"], "completed");
}

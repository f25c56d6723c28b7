//! What tests need to pass wherever they are started.

#![expect(clippy::unwrap_used, reason = "a test that cannot be set up must fail")]

use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Once};

use duct::Expression;
use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT};

use super::system;

/// Gives what this process starts the default action for each signal, also where it was started as a shell starts a
/// job in the background, with some signals ignored: those get a handler, which does nothing, and exec resets handlers.
pub fn give_children_default_signals() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let ignored = system::ignored_signals();
        for signal in [SIGHUP, SIGINT, SIGQUIT].into_iter().filter(|signal| ignored.contains(signal)) {
            signal_hook::flag::register(signal, Arc::new(AtomicBool::new(false))).unwrap();
        }
    });
}

/// Runs the test `name` again in a process of its own that sees no configuration or variables of git but those of the
/// repository, and fails if that fails. Returns true in that process, where the test is to do its work.
pub fn is_without_git_of_the_user(name: &str) -> bool {
    is_alone(name, |mut test| {
        for (variable, _) in
            std::env::vars_os().filter(|(name, _)| name.to_string_lossy().starts_with("GIT_"))
        {
            test = test.env_remove(variable);
        }
        test.env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_NOSYSTEM", "1")
    })
}

/// Runs the test `name` again in a process of its own, as `change` makes it, and fails if that fails. Returns true in that process.
pub fn is_alone(name: &str, change: impl FnOnce(Expression) -> Expression) -> bool {
    const MARK: &str = "RALPH_TEST_ALONE";
    if std::env::vars_os().any(|(variable, _)| variable == MARK) {
        return true;
    }
    let test = duct::cmd(std::env::current_exe().unwrap(), ["--exact", name, "--nocapture"]).env(MARK, "1");
    let output = change(test).stdout_capture().stderr_to_stdout().unchecked().run().unwrap();
    let printed = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && printed.contains("1 passed"), "{printed}");
    false
}

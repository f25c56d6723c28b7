//! Programs of a scene begin with the default action for each signal, however the suite was started.

use std::process::{Command, Stdio};
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Once};

use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM};

/// A shell starts a job in the background with SIGINT and SIGQUIT ignored, `nohup` any command with SIGHUP ignored, and
/// programs inherit that. So those signals get a handler here, which does nothing as before, and which exec resets.
pub fn give_children_default_signals() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        for signal in [SIGHUP, SIGINT, SIGQUIT, SIGTERM].into_iter().filter(|signal| is_ignored(*signal)) {
            signal_hook::flag::register(signal, Arc::new(AtomicBool::new(false))).unwrap();
        }
    });
}

/// Returns true if a program that this process starts survives the signal.
pub fn is_ignored(signal: i32) -> bool {
    let mut shell = Command::new("sh");
    shell.args(["-c", "ulimit -c 0; kill -\"$0\" $$; exit 0", &signal.to_string()]);
    shell.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).status().unwrap().success()
}

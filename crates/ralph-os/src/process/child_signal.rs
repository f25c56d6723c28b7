//! The signal by which the system says that a child ended.

use std::fs;
use std::sync::Arc;

use signal_hook::consts::SIGCHLD;

/// Lets us wait for children also where the program that started us ignores SIGCHLD, and we with it: the system then forgets children
/// at their end. To be called before the first child is started.
pub fn wait_for_children() {
    if is_ignored().unwrap_or(true) {
        // A handler of any kind ends it, and no child inherits one. Without it, what a child is needed for fails.
        let _failed = signal_hook::flag::register(SIGCHLD, Arc::default()).is_err();
    }
}

/// Returns whether SIGCHLD is ignored, or `None` where the system does not say so.
fn is_ignored() -> Option<bool> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let signals = status.lines().find_map(|line| line.strip_prefix("SigIgn:"))?;
    let signals = u64::from_str_radix(signals.trim(), 16).ok()?;
    Some(signals >> (SIGCHLD - 1) & 1 == 1)
}

//! Watches for the request to stop at once.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use ralph_os::process::Interrupt;
use ralph_store::Control;

/// Time between two checks for a request.
const POLL_INTERVAL: Duration = Duration::from_millis(200);

/// Watches for the request to stop at once while the loop is busy with a child.
#[derive(Debug)]
pub struct StopWatcher {
    is_over: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl StopWatcher {
    /// If no thread can be started, the request is noticed after the iteration.
    pub fn start(control: Control, interrupt: Interrupt) -> Self {
        let is_over = Arc::new(AtomicBool::new(false));
        let seen = Arc::clone(&is_over);
        let thread = thread::Builder::new()
            .name("stop-watcher".to_owned())
            .spawn(move || {
                while !seen.load(Ordering::SeqCst) {
                    if control.is_stopped_now() {
                        interrupt.ask();
                        return;
                    }
                    thread::park_timeout(POLL_INTERVAL);
                }
            })
            .ok();
        Self { is_over, thread }
    }
}

impl Drop for StopWatcher {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::SeqCst);
        if let Some(thread) = self.thread.take() {
            thread.thread().unpark();
            // It holds nothing that its panic could have broken.
            drop(thread.join());
        }
    }
}

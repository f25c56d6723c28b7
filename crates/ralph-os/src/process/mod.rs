//! Children: every program that we start is started, fed, watched and stopped here.

mod activity;
mod bounded;
mod child;
#[cfg_attr(windows, path = "child_signal_windows.rs")]
mod child_signal;
mod coprocess;
mod descent;
mod detached;
#[cfg(all(unix, any(test, feature = "testing")))]
mod for_tests;
mod interrupt;
mod launcher;
mod limits;
#[cfg(target_os = "linux")]
mod linux;
mod marker;
mod memory_kills;
mod noted;
pub mod outside;
mod portable;
mod private_dir;
mod process_tree;
mod registry;
mod replace;
mod shutdown_signal;
mod started;
mod stream;
mod system;
mod tool;
mod worker;

pub use activity::Activity;
pub use bounded::was_cut_short;
pub use child::{Child, ChildExit};
pub use child_signal::wait_for_children;
pub use coprocess::Coprocess;
pub use detached::Detached;
#[cfg(all(unix, any(test, feature = "testing")))]
pub use for_tests::{give_children_default_signals, is_alone, is_without_git_of_the_user};
pub use interrupt::{CTRL_C, Interrupt, TERMINAL_CLOSED, signal_name};
pub use launcher::{LAUNCH, launch, launch_through_ourselves};
pub use limits::{Limits, Pulse};
pub use marker::Marker;
pub use memory_kills::oom_kills;
pub use private_dir::{create_private_dir, open_folders, remove_path};
pub use process_tree::{kill_marked, left_running};
pub use replace::replace;
pub use shutdown_signal::ShutdownSignal;
pub use system::{is_git_pruning, is_git_running, use_portable_processes};
pub use tool::{Captured, LOCAL_GIT_VARIABLES, LONG, NO_LAZY_FETCH, Tool};
pub use worker::Worker;

use crate::platform::{self, code_of};
pub use crate::platform::{boot_id, host_name, is_root};

/// A process as the system lists it.
#[derive(Debug, Clone)]
struct Process {
    pid: i32,
    parent: i32,
    group: i32,
    /// The pid of the first process of its session; 0 if it is unknown.
    session: i32,
    /// With `pid` this names one process for ever: a pid alone is given to another one some day.
    born: u64,
    is_zombie: bool,
    name: String,
}

/// Whose marker a process carries in its environment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Carried {
    /// The one asked for.
    This,
    /// That of another session.
    Another,
    /// None, or it cannot be seen.
    Nothing,
}

/// Returns true if a process of this number is there.
pub fn is_running(pid: i32) -> bool {
    system::process(pid).is_some()
}

/// Returns the process that started a process of this number; `None` if that is not known.
pub fn parent_of(pid: u32) -> Option<u32> {
    u32::try_from(system::process(i32::try_from(pid).ok()?)?.parent).ok()
}

/// Returns true if we descend from a process of this number.
pub fn is_below(pid: i32) -> bool {
    let mut at = i32::try_from(platform::parent_id()).ok();
    while let Some(parent) = at.filter(|parent| *parent > 0) {
        if parent == pid {
            return true;
        }
        at = system::process(parent).map(|process| process.parent);
    }
    false
}

/// Runs a shell command with our own streams and waits for it: for programs that are themselves children.
pub fn run_in_shell(command: &str, directory: &camino::Utf8Path) -> std::io::Result<i32> {
    let output = duct::cmd(platform::program("sh".as_ref()), ["-c", command])
        .dir(directory.as_std_path())
        .unchecked()
        .run()?;
    Ok(code_of(output.status))
}

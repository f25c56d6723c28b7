//! The command line of bubblewrap.

use camino::Utf8Path;

use super::Network;
use super::places::{Access, Places};

/// What root could change of the kernel, in whatever namespace: its own number is enough.
const KERNEL_SETTINGS: &[&str] = &["/proc/sys", "/proc/sysrq-trigger", "/proc/irq", "/proc/bus"];

/// Returns the arguments before a command.
///
/// Without `--new-session`, as our children have a session without a terminal already; and without `--die-with-parent`,
/// which would kill an agent before it could save its state. The end of its first process ends all in it.
pub(super) fn arguments(places: &Places, network: &Network, directory: &Utf8Path) -> Vec<String> {
    let mut words: Vec<&str> = vec![
        "--unshare-user",
        "--unshare-pid",
        "--unshare-ipc",
        "--unshare-uts",
        "--unshare-cgroup-try",
        "--cap-drop",
        "ALL",
    ];
    if *network == Network::None {
        words.push("--unshare-net");
    }
    words.extend(["--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc"]);
    for settings in KERNEL_SETTINGS {
        words.extend(["--ro-bind-try", settings, settings]);
    }
    for (path, access) in places {
        let path = path.as_str();
        match access {
            Access::Write => words.extend(["--bind", path, path]),
            Access::Instead(other) => words.extend(["--bind", other.as_str(), path]),
            Access::ReadOnly | Access::Shown => words.extend(["--ro-bind", path, path]),
            Access::HiddenDir => words.extend(["--tmpfs", path]),
            Access::HiddenFile => words.extend(["--ro-bind", "/dev/null", path]),
        }
    }
    // What is written there would be lost without a word.
    for (path, _) in places.iter().filter(|(_, access)| **access == Access::HiddenDir) {
        words.extend(["--remount-ro", path.as_str()]);
    }
    words.extend(["--chdir", directory.as_str(), "--"]);
    words.into_iter().map(str::to_owned).collect()
}

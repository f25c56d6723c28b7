//! How often the system killed a process of our group because memory ran out, where it counts that.

use std::fs;
use std::path::{Path, PathBuf};

/// Returns the count for the control group that we and our children are in; `None` where there is none that counts.
pub fn oom_kills() -> Option<u64> {
    count(&fs::read_to_string("/proc/self/cgroup").ok()?, Path::new("/sys/fs/cgroup"))
}

/// Reads the count below `root`, where control groups are mounted. `groups` says which are ours, as `/proc/self/cgroup`.
fn count(groups: &str, root: &Path) -> Option<u64> {
    let files = groups.lines().filter_map(|line| {
        let mut parts = line.splitn(3, ':').skip(1);
        let (controllers, group) = (parts.next()?, parts.next()?.trim_start_matches('/'));
        let (root, name) = match controllers {
            "" => (root.to_owned(), "memory.events"),
            _ if controllers.split(',').any(|it| it == "memory") => {
                (root.join("memory"), "memory.oom_control")
            }
            _ => return None,
        };
        // In a container the path may be that outside of it: its own group is mounted at the root.
        Some([root.join(group).join(name), root.join(name)])
    });
    files.flatten().find_map(|file: PathBuf| {
        let text = fs::read_to_string(file).ok()?;
        text.lines().find_map(|line| line.strip_prefix("oom_kill ")?.trim().parse().ok())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kills_are_counted_for_our_group_in_both_versions_of_control_groups() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| {
            let path = folder.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        write("user/loop/memory.events", "low 0\noom 3\noom_kill 2\noom_group_kill 0\n");
        write("memory/box/memory.oom_control", "oom_kill_disable 0\nunder_oom 0\noom_kill 7\n");
        for (groups, expected) in [
            ("0::/user/loop\n", Some(2)),
            ("4:memory:/box\n0::/\n", Some(7)),
            ("5:cpu,memory:/box\n", Some(7)),
            ("1:cpu:/box\n", None),
            ("0::/elsewhere\n", None),
            ("", None),
        ] {
            assert_eq!(count(groups, folder.path()), expected, "{groups}");
        }
        write("memory.events", "oom_kill 1\n");
        assert_eq!(count("0::/as/seen/outside\n", folder.path()), Some(1));
    }
}

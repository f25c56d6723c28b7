//! Git's own housekeeping, in a circle beside what a scene does, and packs as a long life leaves them.

use std::fs::{self, File};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use super::Sandbox;

/// Runs two commands of git's over and over until it goes, also where it goes by a panic.
#[derive(Debug)]
pub struct Housekeeping {
    is_over: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Housekeeping {
    /// What collects and packs, with a rest after each command, so that the loop gets something done as well.
    pub fn beside(scene: &Sandbox, rest: Duration) -> Self {
        Self::of(scene, ["gc --quiet", "pack-refs --all"], rest)
    }

    /// What takes every object that no ref leads to at that moment, however young it is.
    pub fn pruning(scene: &Sandbox) -> Self {
        Self::of(scene, ["gc --quiet --prune=now", "prune --expire=now"], Duration::ZERO)
    }

    fn of(scene: &Sandbox, commands: [&str; 2], rest: Duration) -> Self {
        // Commands of its own, for a scene is for one thread.
        let mut commands = commands.map(|words| {
            let mut command = scene.hermetic("git");
            command.args(words.split(' '));
            command
        });
        let is_over = Arc::new(AtomicBool::new(false));
        let seen = Arc::clone(&is_over);
        let thread = std::thread::spawn(move || {
            while !seen.load(Ordering::Relaxed) {
                for command in &mut commands {
                    // Both need locks that loops hold for moments, and are refused then.
                    let _refused = command.output().unwrap();
                    std::thread::sleep(rest);
                }
            }
        });
        Self { is_over, thread: Some(thread) }
    }
}

impl Drop for Housekeeping {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Relaxed);
        let ended = self.thread.take().map(JoinHandle::join);
        assert!(std::thread::panicking() || !matches!(ended, Some(Err(_))), "git's housekeeping failed");
    }
}

impl Sandbox {
    /// Packs what is loose of the record into `count` packs and lists them as ours, as a loop that lived long
    /// leaves them. Returns their names.
    pub fn scatter(&self, count: usize) -> Vec<String> {
        let ours = self.git("rev-list --objects --all --not --branches");
        let path = |id: &str| self.path(&format!(".git/objects/{}/{}", &id[..2], &id[2..]));
        let ids = ours.lines().filter_map(|line| line.split(' ').next());
        let loose: Vec<&str> = ids.filter(|id| path(id).exists()).collect();
        assert!(loose.len() > count, "{} loose objects for {count} packs", loose.len());
        let list = self.outside("objects-of-a-pack");
        let mut names = Vec::new();
        for number in 0..count {
            let group = &loose[number * loose.len() / count..(number + 1) * loose.len() / count];
            fs::write(&list, group.join("\n")).unwrap();
            let mut git = self.hermetic("git");
            git.args(["pack-objects", "--quiet", ".git/objects/pack/pack"]).stdin(File::open(&list).unwrap());
            let written = git.output().unwrap();
            assert!(written.status.success(), "{written:?}");
            names.push(format!("pack-{}", String::from_utf8(written.stdout).unwrap().trim()));
        }
        self.git("prune-packed --quiet");
        let file = self.path(".git/ralph/packing/packs");
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        let found = fs::read_to_string(&file).unwrap_or_default();
        fs::write(&file, format!("{found}{}\n", names.join("\n"))).unwrap();
        names
    }
}

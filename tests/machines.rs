//! `examples/machines/`: runners on machines that are killed and started again on empty disks, and the merges of what they did.

#![expect(clippy::unwrap_used, reason = "a scene that cannot be set has failed")]

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command};

use rustix::process::{Pid, Signal, kill_process, kill_process_group};

use crate::sandbox::{Program, Sandbox, wait_until};

/// Waits at a gate, where the scene has one for this disk and task, until it is taken away; then goes on only if the scene says so.
const AGENT: &str = "cat > /dev/null\n\
                     gate=$GATES/$DISK-$RALPH_TASK\n\
                     if [ -e $gate ]; then\n  mv $gate $gate.reached\n\
                       while [ -e $gate.reached ]; do sleep 0.01; done\n  [ -e $gate.go ] || exit 1\nfi\n\
                     echo $DISK > work-$(basename $RALPH_FEATURE)-$RALPH_TASK\ntick\n";

/// The server, and the disks of machines beside it.
struct Fleet {
    scene: Sandbox,
    bare: PathBuf,
}

/// A script that is under way.
struct Started {
    child: Child,
    log: PathBuf,
}

impl Fleet {
    fn new(validation: &str, lists: &[(&str, &str)], shares: &[&str]) -> Self {
        let scene = Sandbox::new();
        for (feature, list) in lists {
            scene.write(&format!("specs/{feature}/tasks.md"), format!("# Tasks\n\n{list}\n"));
        }
        scene.agent_sh(AGENT).validate(validation).commit("Ready");
        for made in ["gates", "logs"] {
            fs::create_dir(scene.outside(made)).unwrap();
        }
        fs::write(scene.outside("shares"), format!("# name, words for run\n\n{}\n", shares.join("\n")))
            .unwrap();
        let bare = scene.with_remote();
        Self { scene, bare }
    }

    /// A script of the examples on a disk of its own.
    fn script(&self, name: &str, disk: &str, words: &[&str]) -> Command {
        let mut command = self.scene.hermetic("sh");
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/machines").join(name);
        let address = format!("file://{}", self.bare.display());
        command.arg(script).arg(address).arg(self.scene.outside("shares")).args(words);
        let place = |path: &str| self.scene.outside("disks").join(disk).join(path);
        command.env("SPECIFY_RALPH", Program::Own.path()).env("RALPH_MACHINES", place("clones"));
        command.env("XDG_CACHE_HOME", place("cache"));
        command.env("GATES", self.scene.outside("gates")).env("DISK", disk);
        // As one that a scheduler started: whatever it starts ends with it.
        command.process_group(0);
        command
    }

    fn start(&self, mut command: Command) -> Started {
        let log = tempfile::NamedTempFile::new_in(self.scene.outside("logs")).unwrap().into_temp_path();
        let log = log.keep().unwrap();
        let file = File::create(&log).unwrap();
        command.stdout(file.try_clone().unwrap()).stderr(file);
        Started { child: command.spawn().unwrap(), log }
    }

    fn worker(&self, disk: &str, words: &[&str]) -> Started {
        self.start(self.script("worker.sh", disk, words))
    }

    fn join(&self) -> Started {
        let words = ["--no-sandbox", "--yes"];
        let mut command = self.script("join.sh", "join", &words);
        command.env("RALPH_TARGET", "main");
        self.start(command)
    }

    fn gate(&self, name: &str) -> PathBuf {
        let gate = self.scene.outside("gates").join(name);
        File::create(&gate).unwrap();
        gate
    }

    fn wait_at(gate: &Path) -> PathBuf {
        let reached = gate.with_extension("reached");
        wait_until("the gate", || reached.exists().then_some(()));
        reached
    }

    fn refs(&self, prefix: &str) -> Vec<String> {
        let listed = self.scene.git_in(&self.bare, ["for-each-ref", "--format=%(refname)", prefix]);
        listed.lines().map(str::to_owned).collect()
    }

    /// Subjects of the commits of a branch at the server that touch what an agent wrote, oldest first.
    fn work(&self, branch: &str) -> Vec<String> {
        let log = ["log", "--reverse", "--no-merges", "--format=%s", branch, "--", "work-*"];
        self.scene.git_in(&self.bare, log).lines().map(str::to_owned).collect()
    }

    fn wait_for_push(&self, branch: &str) {
        wait_until("the push", || (self.refs(&format!("refs/heads/{branch}")).len() == 1).then_some(()));
    }

    /// Has the server run this script for each ref, whose name is `$1`.
    fn at_push(&self, script: &str) {
        let hook = self.bare.join("hooks/update");
        fs::create_dir_all(self.bare.join("hooks")).unwrap();
        fs::write(&hook, format!("#!/bin/sh\n{script}\n")).unwrap();
        fs::set_permissions(&hook, fs::Permissions::from_mode(0o755)).unwrap();
    }
}

impl Started {
    fn pid(&self) -> Pid {
        Pid::from_child(&self.child)
    }

    fn log(&self) -> String {
        fs::read_to_string(&self.log).unwrap()
    }

    #[track_caller]
    fn code(mut self, expected: i32) -> String {
        let status = wait_until("the end of the script", || self.child.try_wait().unwrap());
        let code = status.code().or_else(|| status.signal().map(|signal| 128 + signal)).unwrap();
        assert_eq!(code, expected, "{}", self.log());
        self.log()
    }

    /// The machine is gone, with all that ran on it but what agents left.
    fn lose(self) {
        kill_process_group(self.pid(), Signal::KILL).unwrap();
        self.code(137);
    }
}

#[test]
fn four_machines_that_die_do_each_task_once() {
    let two = "- [ ] T001 One\n- [ ] T002 Two";
    let stories = "## Phase 3: User Story 1\n\n- [ ] T001 [US1] One\n- [ ] T002 [US1] Two\n\n\
                   ## Phase 4: User Story 2\n\n- [ ] T003 [US2] Three\n- [ ] T004 [US2] Four";
    let shares = [
        "login --feature 001-login",
        "us1 --feature 002-shop --story US1",
        "us2 --feature 002-shop --story US2",
        "mail --feature 003-mail",
    ];
    let lists = [("001-login", two), ("002-shop", stories), ("003-mail", two)];
    let fleet = Fleet::new("true", &lists, &shares);
    let (scene, refused) = (&fleet.scene, fleet.scene.outside("refused"));
    File::create(&refused).unwrap();
    fleet.at_push(&format!("! [ -e {} ] || [ $1 != refs/heads/ralph/mail ]", refused.display()));
    let gates = ["login-T002", "us1-T001", "us2-T004", "mail-T002"].map(|name| fleet.gate(name));
    let disks = ["login", "us1", "us2", "mail"];
    let [login, us1, us2, mail] = [0, 1, 2, 3].map(|at| fleet.worker(disks[at], &[&at.to_string()]));
    let reached = gates.map(|gate| Fleet::wait_at(&gate));
    // The first task is at the server, then the machine is gone.
    fleet.wait_for_push("ralph/login");
    login.lose();
    // Nothing is at the server.
    us1.lose();
    assert_eq!(fleet.refs("refs/heads/ralph/us1").len(), 0);
    // It is asked to stop, and all that it did is at the server.
    fleet.wait_for_push("ralph/us2");
    kill_process(us2.pid(), Signal::TERM).unwrap();
    let stopped = us2.code(143);
    assert!(stopped.contains("stopped by a signal (TERM)"), "{stopped}");
    // The server refused the branch, and the machine comes back with its disk.
    mail.lose();
    assert_eq!(fleet.refs("refs/heads/ralph/mail").len(), 0);
    fs::remove_file(&refused).unwrap();
    for gate in reached {
        fs::remove_file(gate).unwrap();
    }
    for disk in &disks[..3] {
        fs::remove_dir_all(scene.outside("disks").join(disk)).unwrap();
    }
    let disks = ["login-again", "us1-again", "us2-again", "mail"];
    let again = [0, 1, 2, 3].map(|at| fleet.worker(disks[at], &[&at.to_string()]));
    let logs = again.map(|started| started.code(0));
    let attempts = |log: &String| log.lines().filter(|line| line.contains(" ✔ T00")).count();
    assert_eq!(logs.iter().map(attempts).collect::<Vec<_>>(), [1, 2, 1, 1], "{logs:#?}");
    // One that has nothing to do says so.
    fleet.worker("login-again", &["0"]).code(0);
    let joined = fleet.join().code(0);
    for name in ["login", "us1", "us2", "mail"] {
        assert!(joined.contains(&format!("join: ralph/{name} is merged into main\n")), "{joined}");
    }
    fleet.join().code(0);
    let mut work = BTreeMap::new();
    for subject in fleet.work("main") {
        *work.entry(subject).or_insert(0) += 1;
    }
    let expected = [("T001 One", 3), ("T002 Two", 3), ("T003 Three", 1), ("T004 Four", 1)];
    assert_eq!(work, expected.map(|(subject, count)| (subject.to_owned(), count)).into());
    for (feature, list) in lists {
        let path = format!("main:specs/{feature}/tasks.md");
        let expected = format!("# Tasks\n\n{}", list.replace("[ ]", "[x]"));
        assert_eq!(scene.git_in(&fleet.bare, ["show", &path]), expected);
    }
    assert!(fleet.refs("refs/heads/ralph-aside/").is_empty());
    // Nothing is left to be sent, and what is at the server is sound.
    for (disk, name) in disks.iter().zip(["login", "us1", "us2", "mail"]) {
        let clone = scene.outside("disks").join(disk).join("clones").join(name);
        let synced = scene.call("sync --json").dir(&clone).run().code(0).json();
        assert_eq!(synced["pushed"], serde_json::json!([]), "{disk}");
        scene.call("fsck").dir(&clone).run().code(0);
    }
    scene.store_is_sound(&fleet.bare);
}

/// A git that counts how often the script calls it, and kills the machine at one of the calls, before or after it. The program's own
/// calls do not count; of those beside the loop, only their own group dies.
#[cfg(target_os = "linux")]
const KILLING_GIT: &str = "real=$(PATH=${PATH#*:} && command -v git)\n\
    if [ -n \"$KILL_AT\" ] && tr '\\0' '\\n' < /proc/$PPID/cmdline | sed -n 2p | grep -q '/worker.sh$'; then\n\
      echo >> $COUNT\n  [ $(wc -l < $COUNT) -ne $KILL_AT ] || case $KILL in\n\
        before) kill -KILL 0;;\n    after) $real \"$@\"; kill -KILL 0;;\n  esac\nfi\nexec $real \"$@\"";

/// Starts a runner again and again, killed one call of git later each time, until it ends by itself.
#[cfg(target_os = "linux")]
fn killed_at_each_call(kill: &str, keeps_disk: bool) {
    let count = 10;
    let list: Vec<_> = (1..=count).map(|number| format!("- [ ] T{number:03} Do it")).collect();
    let fleet = Fleet::new("true", &[("001-login", &list.join("\n"))], &["login --feature 001-login"]);
    fleet.scene.program("git", KILLING_GIT);
    let (calls, disks) = (fleet.scene.outside("calls"), fleet.scene.outside("disks"));
    let mut kills = 0;
    loop {
        let mut command = fleet.script("worker.sh", "one", &["0", "-n", "1"]);
        command.env("KILL", kill).env("KILL_AT", (kills + 1).to_string()).env("COUNT", &calls);
        let mut started = fleet.start(command);
        let status = wait_until("the end of the script", || started.child.try_wait().unwrap());
        let made = fs::read(&calls).unwrap().len();
        fs::remove_file(&calls).unwrap();
        // What is killed beside the loop is done by the script itself.
        assert!(status.signal() == Some(9) || status.code() == Some(4), "{status:?} {}", started.log());
        if made <= kills {
            break;
        }
        kills += 1;
        if !keeps_disk && disks.exists() {
            fs::remove_dir_all(&disks).unwrap();
        }
    }
    assert!(kills >= 12, "{kills}");
    let words = ["0", "-n", &count.to_string()];
    fleet.worker("one", &words).code(0);
    let work = fleet.work("ralph/login");
    let expected: Vec<_> = (1..=count).map(|number| format!("T{number:03} Do it")).collect();
    assert_eq!(work, expected);
    assert!(fleet.refs("refs/heads/ralph-aside/").is_empty());
    fleet.join().code(0);
    assert_eq!(fleet.work("main"), expected);
    fleet.scene.store_is_sound(&fleet.bare);
}

#[test]
fn a_clone_that_a_kill_left_locked_is_put_aside_with_nothing_lost() {
    let list = "- [ ] T001 One\n- [ ] T002 Two";
    let fleet = Fleet::new("true", &[("001-login", list)], &["login --feature 001-login"]);
    fleet.at_push("[ $1 != refs/heads/ralph/login ]");
    fleet.worker("one", &["0", "-n", "1"]).code(75);
    assert!(fleet.work("main").is_empty() && fleet.refs("refs/heads/ralph/").is_empty());
    fs::remove_file(fleet.bare.join("hooks/update")).unwrap();
    let disk = fleet.scene.outside("disks/one/clones");
    File::create(disk.join("login/.git/refs/remotes/origin/main.lock")).unwrap();
    File::create(disk.join("login/.git/index.lock")).unwrap();
    fleet.scene.commit("More").git("push --quiet origin main");
    let log = fleet.worker("one", &["0"]).code(0);
    assert!(log.contains(" cannot be used: another clone takes its place\n"), "{log}");
    assert!(log.contains(" ✔ T002") && !log.contains(" ✔ T001"), "{log}");
    assert_eq!(fleet.work("ralph/login"), ["T001 One", "T002 Two"]);
    assert_eq!(fs::read_dir(&disk).unwrap().count(), 2);
    // A lock of the index alone is no reason for it.
    File::create(disk.join("login/.git/index.lock")).unwrap();
    fleet.worker("one", &["0"]).code(0);
    assert_eq!(fs::read_dir(&disk).unwrap().count(), 2);
}

#[test]
#[cfg(target_os = "linux")]
fn a_runner_that_is_killed_at_any_call_of_git_goes_on_with_its_disk() {
    for kill in ["before", "after"].into_iter().step_by(crate::sandbox::one_in(2)) {
        killed_at_each_call(kill, true);
    }
}

#[test]
#[cfg(target_os = "linux")]
fn a_runner_that_is_killed_at_any_call_of_git_goes_on_on_an_empty_disk() {
    for kill in ["after", "before"].into_iter().step_by(crate::sandbox::one_in(2)) {
        killed_at_each_call(kill, false);
    }
}

#[test]
fn of_two_runners_at_one_share_the_later_push_goes_aside() {
    let list = "- [ ] T001 One\n- [ ] T002 Two\n- [ ] T003 Three";
    let fleet = Fleet::new("true", &[("001-login", list)], &["login --feature 001-login"]);
    let gates = ["late-T001", "late-T002"].map(|name| fleet.gate(name));
    for gate in &gates {
        File::create(gate.with_extension("go")).unwrap();
    }
    let late = fleet.worker("late", &["0"]);
    let first = Fleet::wait_at(&gates[0]);
    // On one disk the program itself refuses it.
    let refused = fleet.worker("late", &["0"]).code(3);
    assert!(refused.contains(" works on ralph/login in "), "{refused}");
    fleet.worker("early", &["0", "-n", "1"]).code(4);
    let tip = fleet.scene.git_in(&fleet.bare, "rev-parse ralph/login");
    fs::remove_file(first).unwrap();
    let second = Fleet::wait_at(&gates[1]);
    wait_until("the stop", || late.log().contains("stop requested").then_some(()));
    fs::remove_file(second).unwrap();
    let log = late.code(75);
    assert!(log.contains("worker: another runner pushed other commits to ralph/login"), "{log}");
    assert_eq!(fleet.scene.git_in(&fleet.bare, "rev-parse ralph/login"), tip);
    let aside = fleet.refs("refs/heads/ralph-aside/");
    assert_eq!(aside.len(), 1);
    assert_eq!(fleet.work(&aside[0]), ["T001 One", "T002 Two"]);
    // What it did is not taken again by itself: the branch goes on from what the server has.
    fleet.worker("late", &["0"]).code(0);
    assert_eq!(fleet.work("ralph/login"), ["T001 One", "T002 Two", "T003 Three"]);
    let is_after = ["merge-base", "--is-ancestor", &tip, "ralph/login"];
    fleet.scene.git_in(&fleet.bare, is_after);
    // A disk on which the branch is older takes it forward.
    fleet.worker("early", &["0"]).code(0);
    assert_eq!(fleet.refs("refs/heads/ralph-aside/"), aside);
}

#[test]
fn a_share_whose_branch_was_squashed_goes_on_from_the_target() {
    let list = "- [ ] T001 One\n- [ ] T002 Two";
    let fleet = Fleet::new("true", &[("001-login", list)], &["login --feature 001-login"]);
    let (scene, bare) = (&fleet.scene, &fleet.bare);
    fleet.worker("one", &["0", "-n", "1"]).code(4);
    let tip = scene.git_in(bare, "rev-parse ralph/login");
    let squashed = scene.git_in(bare, "commit-tree -m Squashed -p main ralph/login^{tree}");
    let theirs = scene.git_in(bare, ["commit-tree", "-m", "Theirs", "-p", &squashed, "main^{tree}"]);
    scene.git_in(bare, ["update-ref", "refs/heads/main", &theirs]);
    // Where a person took it out again, it is not put back.
    let log = fleet.worker("one", &["0", "-n", "1"]).code(4);
    assert!(log.contains(" ✔ T001"), "{log}");
    let expected = format!("{theirs}\n{tip}");
    assert_eq!(scene.git_in(bare, "rev-parse ralph/login~1^@"), expected);
    let log = fleet.worker("two", &["0"]).code(0);
    assert!(log.contains(" ✔ T002") && !log.contains(" ✔ T001"), "{log}");
    assert_eq!(scene.git_in(bare, "rev-parse ralph/login~2^@"), expected);
    assert!(fleet.refs("refs/heads/ralph-aside/").is_empty());
}

#[test]
fn a_scheduler_learns_what_to_do_from_the_exit_code() {
    let list = "- [ ] T001 One\n- [ ] T002 Two";
    let shares = ["login --feature 001-login --task T001", "none --feature 009-none", "bad..name"];
    let fleet = Fleet::new("! test -e work-001-login-T001", &[("001-login", list)], &shares);
    let says = |log: String, part: &str| assert!(log.contains(part), "{log}");
    says(fleet.worker("one", &["3"]).code(2), "has no share 3");
    says(fleet.worker("one", &["first"]).code(2), "is no number");
    says(fleet.worker("one", &["2"]).code(2), "ralph/bad..name cannot be a branch");
    says(fleet.worker("one", &["1"]).code(3), "009-none");
    let mut nothing = fleet.script("worker.sh", "one", &["0"]);
    nothing.env("SPECIFY_RALPH", "/nowhere/specify-ralph");
    says(fleet.start(nothing).code(3), "there is no program /nowhere/specify-ralph");
    let theirs = fleet.scene.outside("disks/theirs/clones/login");
    fs::create_dir_all(&theirs).unwrap();
    fs::write(theirs.join("precious"), "x").unwrap();
    says(fleet.worker("theirs", &["0"]).code(3), "clones/login is no clone of worker.sh's of file://");
    assert!(theirs.join("precious").exists());
    // A person is needed, and has all records at the server.
    fleet.worker("one", &["0"]).code(5);
    assert_eq!(fleet.refs("refs/ralph/").len(), 1);
    // The server is gone.
    let away = fleet.bare.with_extension("away");
    fs::rename(&fleet.bare, &away).unwrap();
    says(fleet.worker("one", &["0"]).code(75), "cannot fetch from");
    says(fleet.worker("two", &["0"]).code(75), "cannot clone");
    says(fleet.join().code(75), "cannot clone");
    fs::rename(&away, &fleet.bare).unwrap();
    // What cannot be pushed is pushed by the next start.
    fleet.at_push("exit 1");
    says(fleet.worker("one", &["0"]).code(75), "the next start does");
    assert_eq!(fleet.refs("refs/ralph/").len(), 1);
    fs::remove_file(fleet.bare.join("hooks/update")).unwrap();
    fleet.worker("one", &["0"]).code(5);
    assert_eq!(fleet.refs("refs/ralph/").len(), 3);
}

#[test]
fn what_does_not_hold_together_is_left_out_of_the_merges() {
    let list = "- [ ] T001 One\n- [ ] T002 Two\n- [ ] T003 Three\n- [ ] T004 Four";
    let shares = ["one --task T001", "two --task T002", "bad --task T003", "four --task T004", "not-begun"];
    let validation = "! { test -e work-001-login-T001 && test -e work-001-login-T003; }";
    let fleet = Fleet::new(validation, &[("001-login", list)], &shares);
    for index in ["0", "1", "2", "3"] {
        fleet.worker(index, &[index]).code(0);
    }
    // A person pushes while the second is judged.
    let (scene, bare) = (&fleet.scene, &fleet.bare);
    fleet.at_push(
        "[ $1 = refs/heads/main ] && git merge-base --is-ancestor ralph/two $3 && mkdir was-pushed 2>/dev/null || exit 0\n\
         theirs=$(git commit-tree -m Theirs -p main main^{tree})\n\
         unset GIT_QUARANTINE_PATH\ngit update-ref refs/heads/main $theirs\nexit 1",
    );
    let log = fleet.join().code(5);
    assert!(log.ends_with("join: not merged: ralph/bad ralph/not-begun\n"), "{log}");
    assert!(log.contains("join: ralph/not-begun is not there yet\n"), "{log}");
    let merged = scene.git_in(bare, "log --reverse --first-parent --format=%s main");
    let merged: Vec<_> = merged.lines().skip(2).collect();
    assert_eq!(merged, ["Merge ralph/one", "Theirs", "Merge ralph/two", "Merge ralph/four"]);
    // Lines beside each other are ticked by different branches.
    let expected = "# Tasks\n\n- [x] T001 One\n- [x] T002 Two\n- [ ] T003 Three\n- [x] T004 Four";
    assert_eq!(scene.git_in(bare, "show main:specs/001-login/tasks.md"), expected);
    // What git cannot merge is a person's to settle, too.
    scene.git("fetch --quiet origin +refs/heads/*:refs/heads/theirs/*");
    scene.git("switch --quiet theirs/main");
    scene.write("work-001-login-T003", "mine\n").git("rm --quiet work-001-login-T001");
    scene.commit("Mine").git("push --quiet origin HEAD:main");
    let log = fleet.join().code(5);
    assert!(log.contains("join: ralph/bad: git cannot merge it into main\n"), "{log}");
}

#[test]
fn marks_of_task_lists_are_merged_by_task() {
    let scene = Sandbox::new();
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/machines/join.sh");
    let merge = |texts: [&str; 3]| {
        let paths = ["base", "ours", "theirs"].map(|name| scene.outside(name));
        for (path, text) in paths.iter().zip(texts) {
            fs::write(path, text).unwrap();
        }
        let mut command = scene.hermetic("sh");
        let ended = command.arg(&script).arg("--merge-lists").args(&paths).output().unwrap();
        (ended.status.success(), fs::read_to_string(&paths[1]).unwrap())
    };
    for (name, base, ours, theirs, expected) in [
        (
            "lines beside each other",
            "- [ ] A\n- [ ] B\n",
            "- [x] A\n- [ ] B\n",
            "- [ ] A\n- [X] B\n",
            "- [x] A\n- [x] B\n",
        ),
        ("both", "- [ ] A\n", "- [x] A\n", "- [x] A\n", "- [x] A\n"),
        (
            "opened again there",
            "- [x] A\n- [ ] B\n",
            "- [x] A\n- [x] B\n",
            "- [ ] A\n- [ ] B\n",
            "- [ ] A\n- [x] B\n",
        ),
        ("opened again here", "- [x] A\n", "- [ ] A\n", "- [x] A\n", "- [ ] A\n"),
        (
            "another task",
            "* [ ] A a\n",
            "* [x] A a\n",
            "* [ ] A a\n  * [x] B b\n",
            "* [x] A a\n  * [x] B b\n",
        ),
        (
            "no task",
            "see [x] A\n- [ ] A\n",
            "see [x] A\n- [x] A\n",
            "see [x] A\n- [ ] A\n",
            "see [x] A\n- [x] A\n",
        ),
    ] {
        assert_eq!(merge([base, ours, theirs]), (true, expected.to_owned()), "{name}");
    }
    // Two texts of one line are for a person; the file stays as it was.
    let (is_merged, text) = merge(["- [ ] A a\n", "- [x] A b\n", "- [ ] A c\n"]);
    assert_eq!((is_merged, text.as_str()), (false, "- [x] A b\n"));
}

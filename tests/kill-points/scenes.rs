//! The stories in which the loop is struck.

use crate::aftermath::{self, Expectation};
use crate::points::{self, Injection, Point, Struck};
use crate::sandbox::{Sandbox, State, wait_until};

/// An agent that does the task and says so.
const AGENT: &str = r#"
[[turn]]
task = "T001"
do = [
  { say = "I write it." },
  { write = { path = "hello.txt", text = "hello\n" } },
  { tick = "current" },
]
"#;

/// An agent that does the first task, and breaks the validation with the second one.
const SPOILER: &str = r#"
[[turn]]
task = "T001"
do = [{ write = { path = "hello.txt", text = "hello\n" } }, { tick = "current" }]
[[turn]]
task = "T002"
do = [
  { write = { path = "kept", text = "broken\n" } },
  { write = { path = "new/file", text = "broken\n" } },
  { remove = "hello.txt" },
]
"#;

/// An agent that does the first task with a change of a protected file, and the second one with a change of the script of the
/// validation.
const MEDDLER: &str = r#"
[[turn]]
task = "T001"
do = [
  { write = { path = "hello.txt", text = "hello\n" } },
  { write = { path = "kept", text = "broken\n" } },
  { tick = "current" },
]
[[turn]]
task = "T002"
do = [{ write = { path = "check.sh", text = "test -f hello.txt && true\n" } }, { tick = "current" }]
"#;

/// An agent whose first result passes only because of a file that git ignores.
const CHEAT: &str = r#"
[[turn]]
task = "T001"
attempt = 1
do = [
  { write = { path = "other.txt", text = "other\n" } },
  { write = { path = "local/pass", text = "x\n" } },
  { tick = "current" },
]
[[turn]]
task = "T001"
attempt = 2
do = [{ write = { path = "hello.txt", text = "hello\n" } }, { tick = "current" }]
"#;

/// What must hold after a call was struck.
pub type Aftermath = fn(&Sandbox, &Expectation, &Struck, Injection);

/// A story up to the call that is struck, and that call.
pub struct Scene {
    pub name: &'static str,
    pub words: &'static str,
    opening: Opening,
    /// From the first point whose label has this, another scene has shown it already.
    until: Option<&'static str>,
    /// What must hold then.
    pub aftermath: Aftermath,
}

/// What happened before.
enum Opening {
    Nothing,
    /// A first run was killed at this point.
    Killed(Point),
    /// A first run ended at its limit, with the task open.
    Limited,
    /// The same, and a remote has it all.
    Synced,
    /// There is a session here, and another one at the remote.
    Apart,
    /// Two sessions, and something was restored since.
    Aged,
    /// The user worked on after a session.
    Edited,
    /// A task whose attempt breaks what passed before, so that its changes are taken back.
    Spoiling,
    /// The same, given up, while the validation passes with its changes by now.
    GivenUp,
    GivenUpInLane,
    /// A file is protected that the agent changes.
    Protecting,
    /// A task is done, and the next one changes the script of the validation.
    Trusted,
    /// Everything is committed.
    Committed,
    /// The same, and a person commits on the branch of the lane during the first attempt.
    Overtaken,
    /// A session in a lane was killed when its result was sealed, and then a person committed.
    SealedAndOvertaken(Point),
    /// A file that git ignores makes the validation pass.
    Ignoring,
}

impl Scene {
    /// A fresh sandbox in which the call is yet to be made.
    fn before(&self) -> Sandbox {
        let sandbox = fresh();
        match &self.opening {
            Opening::Nothing => {}
            Opening::Killed(point) => {
                let struck = points::inject(&sandbox, "run --json", point, Injection::Kill);
                assert!(struck.code.is_none(), "not killed at {point}: {struck:?}");
            }
            Opening::Limited => {
                sandbox.validate("test -f never.txt");
                sandbox.ralph("run -n 1").code(4);
                sandbox.validate("test -f hello.txt");
            }
            Opening::Synced => {
                sandbox.with_remote();
                sandbox.ralph("run").code(0);
                sandbox.ralph("sync --snapshots").code(0);
            }
            Opening::Apart => {
                let bare = sandbox.with_remote();
                sandbox.ralph("run").code(0);
                sandbox.ralph("sync --snapshots").code(0);
                let session = sandbox.session().refname().to_owned();
                let snapshots = session.replace("refs/ralph/", "refs/ralph-snap/");
                for name in [&session, &snapshots] {
                    sandbox.git(["update-ref", "-d", name]);
                }
                // As in another clone, which knows nothing of it.
                std::fs::remove_dir_all(sandbox.path(".git/ralph/sync")).expect("it was made by the sync");
                sandbox.tasks("- [ ] T001 Write hello.txt").ralph("run").code(0);
                sandbox.store_is_sound(&bare);
            }
            Opening::Aged => {
                sandbox.validate("test -f never.txt");
                sandbox.ralph("run -n 1").code(4);
                sandbox.validate("test -f hello.txt");
                sandbox.ralph("run").code(0);
                sandbox.write("hello.txt", "mine\n").ralph("restore 1").code(0);
            }
            Opening::Spoiling | Opening::GivenUp | Opening::GivenUpInLane => {
                sandbox.tasks("- [ ] T001 Write hello.txt\n- [ ] T002 Spoil it").agent_script(SPOILER);
                sandbox.write("kept", "as it was\n").validate("! grep -qs broken kept new/file");
                sandbox.config("skip-after = 1\nmax-iterations = 2").commit("Ready");
                let start = match self.opening {
                    Opening::GivenUp => "run",
                    Opening::GivenUpInLane => "run --lane",
                    _ => return sandbox,
                };
                sandbox.ralph(start);
                sandbox.validate("true");
            }
            Opening::Protecting => {
                sandbox.agent_script(MEDDLER).write("kept", "as it was\n");
                sandbox.config("validation.protect = [\"kept\"]").commit("Ready");
            }
            Opening::Trusted => {
                sandbox.tasks("- [ ] T001 Write hello.txt\n- [ ] T002 Look closer").agent_script(MEDDLER);
                sandbox.write("kept", "").write("check.sh", "test -f hello.txt\n").validate("sh check.sh");
                sandbox.commit("Ready").ralph("run -n 1").code(4);
            }
            Opening::Committed => {
                sandbox.commit("Ready");
            }
            Opening::Overtaken => overtake_first_attempt(&sandbox),
            Opening::SealedAndOvertaken(point) => {
                sandbox.commit("Ready");
                let struck = points::inject(&sandbox, aftermath::LANE, point, Injection::Kill);
                assert!(struck.code.is_none(), "not killed at {point}: {struck:?}");
                let status = sandbox.hermetic("sh").args(["-c", &commit_by_hand(&sandbox)]).status();
                assert!(status.expect("a shell is there").success());
            }
            Opening::Ignoring => {
                sandbox.agent_script(CHEAT).write(".gitignore", "/local/\n");
                sandbox.validate("test ! -f other.txt || test -f hello.txt || test -f local/pass");
                sandbox.commit("Ready");
            }
            Opening::Edited => {
                sandbox.ralph("run").code(0);
                for (path, text) in aftermath::EDITS {
                    sandbox.write(path, text);
                }
            }
        }
        sandbox
    }

    /// Prepares it once, to be played again and again.
    pub fn stage(&self) -> Stage {
        let sandbox = self.before();
        Stage { prepared: State::keep(&sandbox), expectation: Expectation::of(&sandbox), sandbox }
    }

    pub fn points(&self) -> Vec<Point> {
        let mut points = points::list(&self.before(), self.words);
        if let Some(until) = self.until {
            let end = points.iter().position(|point| point.label.contains(until));
            points.truncate(end.unwrap_or_else(|| panic!("{}: no call has `{until}`", self.name)));
        }
        if !matches!(self.opening, Opening::Nothing) {
            // A kill takes nothing from the system's cache: before a sync it finds the same files as after it.
            let mut is_after_child = false;
            points.retain_mut(|point| {
                is_after_child |= point.is_after_child;
                point.is_after_child = is_after_child;
                is_after_child &= point.name == "fsync";
                point.name != "fsync"
            });
        }
        points
    }
}

/// A scene up to the call that is struck.
pub struct Stage {
    sandbox: Sandbox,
    prepared: State,
    /// What was recorded up to then.
    pub expectation: Expectation,
}

impl Stage {
    /// The sandbox as if nothing had been played in it yet.
    pub fn reset(&self) -> &Sandbox {
        wait_until("what lives on after the play before", || {
            self.sandbox.processes_with("HOME=").is_empty().then_some(())
        });
        self.prepared.restore(&self.sandbox);
        &self.sandbox
    }
}

fn fresh() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.skip_final_fsck().agent_script(AGENT).validate("test -f hello.txt");
    sandbox
}

/// The agent does the first task, and once meanwhile a person commits.
fn overtake_first_attempt(sandbox: &Sandbox) {
    let person = commit_by_hand(sandbox);
    sandbox.agent_sh(&format!(
        "if [ ! -e $HOME/once ]; then touch $HOME/once; ({person}); fi\n\
         echo hello > hello.txt; sed -i 's/\\[ \\] T001/[x] T001/' \"$RALPH_TASKS\"\n"
    ));
    sandbox.commit("Ready");
}

/// A commit on the branch of the lane, by a shell.
fn commit_by_hand(sandbox: &Sandbox) -> String {
    format!(
        "export GIT_DIR='{}/.git' GIT_INDEX_FILE=$HOME/by-hand; git read-tree ralph/001-login\n\
         git update-index --add --cacheinfo 100644,$(echo hi | git hash-object -w --stdin),by-hand\n\
         commit=$(git commit-tree -p ralph/001-login -m 'By hand' $(git write-tree))\n\
         git update-ref refs/heads/ralph/001-login $commit; rm $GIT_INDEX_FILE",
        sandbox.repo().display()
    )
}

pub fn whole_session() -> Scene {
    Scene {
        name: "a whole session",
        words: "run --json",
        opening: Opening::Nothing,
        until: None,
        aftermath: aftermath::check,
    }
}

/// A session that ended at its limit is taken up again.
pub fn resumption() -> Scene {
    Scene {
        name: "a resumption",
        words: "resume --json -n 2 --fresh-settings",
        opening: Opening::Limited,
        // From there on it is a session like any other.
        until: Some("/2/prompt.md"),
        aftermath: aftermath::check,
    }
}

/// The changes of a skipped task are taken back.
pub fn rollback() -> Scene {
    Scene {
        name: "a skip that takes changes back",
        words: "run --json",
        opening: Opening::Spoiling,
        until: None,
        aftermath: aftermath::of_rollback,
    }
}

/// A protected file is put back.
pub fn protection(aftermath: Aftermath) -> Scene {
    after_a_session("a protected file that is put back", "run --json", Opening::Protecting, aftermath)
}

/// The validation runs a second time with the script that it ran before.
pub fn second_run(aftermath: Aftermath) -> Scene {
    after_a_session("a second run of the validation", "run --json", Opening::Trusted, aftermath)
}

/// A session in a lane, whose result is published on its branch.
pub fn lane() -> Scene {
    after_a_session("a session in a lane", aftermath::LANE, Opening::Committed, aftermath::of_lane)
}

/// A result that is queued, as a person committed on the branch meanwhile, and merged.
pub fn queue() -> Scene {
    let name = "a result that is queued and merged";
    after_a_session(name, aftermath::LANE, Opening::Overtaken, aftermath::of_queue)
}

/// The same by one of several loops, which claims what it works on, and has the turn at the branch while it publishes or merges.
pub fn group() -> [Scene; 2] {
    let words = aftermath::IN_GROUP;
    let name = "a claim, and a result that is queued and merged";
    [
        after_a_session(
            "a claim, and a result that is published",
            words,
            Opening::Committed,
            aftermath::of_lane,
        ),
        after_a_session(name, words, Opening::Overtaken, aftermath::of_queue),
    ]
}

/// The recovery of a result that was sealed before a person's commit: it is queued. How the next session merges it is as in the one
/// that queued it.
pub fn queue_of_recovery() -> Scene {
    let points = lane().points();
    let is_seal =
        |point: &Point| point.name.starts_with("rename") && point.label.contains("/1/manifest.json");
    let seal = points.iter().position(is_seal).expect("it is sealed");
    let sealed = points[seal + 1..].iter().find(|point| point.is_surely_met());
    let opening = Opening::SealedAndOvertaken(sealed.expect("it is recorded then").clone());
    Scene {
        name: "the recovery of a result that is to be queued",
        words: aftermath::LANE,
        opening,
        until: Some("/end\""),
        aftermath: aftermath::of_queue,
    }
}

/// A result is sent back by the check at the end, done again, and holds.
pub fn check() -> Scene {
    after_a_session("a check in a clean checkout", aftermath::CHECKED, Opening::Ignoring, aftermath::of_check)
}

/// The same in a lane, where a commit opens the box.
pub fn check_in_a_lane() -> Scene {
    let name = "a check of a lane in a clean checkout";
    after_a_session(name, aftermath::CHECKED_IN_LANE, Opening::Ignoring, aftermath::of_check_in_lane)
}

/// A person accepts a task that was given up.
pub fn acceptance() -> Scene {
    let (words, after) = (aftermath::ACCEPT, aftermath::of_acceptance);
    after_a_session("an acceptance", words, Opening::GivenUp, after)
}

/// The same in a lane, on its branch.
pub fn acceptance_in_a_lane() -> Scene {
    let (words, after) = (aftermath::ACCEPT, aftermath::of_acceptance_in_lane);
    after_a_session("an acceptance in a lane", words, Opening::GivenUpInLane, after)
}

/// The other commands that write.
pub fn upkeep() -> Vec<Scene> {
    vec![
        after_a_session("a sync", "sync --snapshots", Opening::Apart, aftermath::of_sync),
        after_a_session("a cleaning", aftermath::CLEAN, Opening::Aged, aftermath::of_cleaning),
        after_a_session("a purge", "purge 20 --yes", Opening::Synced, aftermath::of_purge),
        after_a_session("a restoration", aftermath::RESTORE, Opening::Edited, aftermath::of_restoration),
    ]
}

fn after_a_session(name: &'static str, words: &'static str, opening: Opening, aftermath: Aftermath) -> Scene {
    Scene { name, words, opening, until: None, aftermath }
}

/// The starts after a session was killed at telling moments.
pub fn recoveries() -> Vec<Scene> {
    let first = points::list(&fresh(), "run --json");
    let recovery = |name, moment: &str, until| {
        let point = first.iter().find(|point| point.label.contains(moment));
        let point = point.unwrap_or_else(|| panic!("no call has `{moment}`: {first:#?}"));
        let opening = Opening::Killed(point.clone());
        Scene { name, words: "run --json", opening, until, aftermath: aftermath::check }
    };
    vec![
        // How they come to their end is the last one's.
        recovery("the recovery of an iteration that was cut off", "/1/manifest.json.new", Some("/end\"")),
        // Git has moved its refs, and nothing of it was acknowledged.
        recovery("the recovery of a start that has its refs", "/ralph/last/main.json.new", Some("/end\"")),
        recovery("the recovery of a session without an end", "/end\"", None),
    ]
}

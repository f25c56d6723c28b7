//! A model of what is recorded, held against the real program after every step of a random story.
//!
//! The model knows which iterations `log` must list, what progress.txt must hold, and whether `rebuild --check`
//! is content. `RALPH_TEST_SEED` plays a story again; `RALPH_TEST_STORIES` asks for more of them.

#![expect(clippy::unwrap_used, reason = "what is not there has failed the story")]
#![expect(clippy::disallowed_methods, reason = "only the test itself is asked")]

use std::fs;
use std::hash::{BuildHasher, RandomState};

use serde_json::Value;

use crate::sandbox::Sandbox;

const PROGRESS: &str = "specs/001-login/progress.txt";

/// More than any story closes.
const TASKS: usize = 60;

/// How long a story is.
const STEPS: usize = 7;

/// What the agent does in all iterations of one call.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Agent {
    /// Ticks the box of its task, and the validation passes.
    Good,
    /// Leaves the box open.
    Idle,
    /// Ticks the box, but the validation fails.
    Lies,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Step {
    Run(Agent, usize),
    /// The loop is killed while its agent works.
    Kill,
    Resume(Agent, usize),
    /// A person writes below everything.
    Append,
    /// A person writes among the patterns.
    Insert,
    Delete,
    Clone,
}

/// One thing that stands in progress.txt.
#[derive(Debug, Clone, PartialEq)]
enum Piece {
    Entry(usize, &'static str),
    /// What a person wrote, by its number.
    Words(usize),
}

#[derive(Debug, Default)]
struct Session {
    iterations: Vec<(usize, &'static str)>,
    /// True if the last of its records is an end.
    is_ended: bool,
}

/// What must be there.
#[derive(Debug, Default)]
struct Model {
    sessions: Vec<Session>,
    closed: usize,
    /// The session that was killed in an iteration that is not recorded yet.
    cut_off: Option<usize>,
    journal: Vec<Piece>,
    /// The journal as the record knows it.
    recorded: Vec<Piece>,
    /// True if something was taken away of what the record has.
    is_changed: bool,
    words: usize,
}

impl Model {
    /// What every start does first.
    fn recover(&mut self, resumed: Option<usize>) {
        if self.is_changed && self.journal.is_empty() {
            self.journal.clone_from(&self.recorded);
        }
        if let Some(index) = self.cut_off.take() {
            self.record(index, "interrupted");
            self.sessions[index].is_ended = resumed != Some(index);
        }
        self.is_changed = false;
    }

    fn record(&mut self, index: usize, outcome: &'static str) {
        let session = &mut self.sessions[index];
        session.iterations.push((self.closed, outcome));
        self.journal.push(Piece::Entry(session.iterations.len(), outcome));
    }

    fn turns(&mut self, index: usize, agent: Agent, count: usize) {
        for _ in 0..count {
            self.record(index, if agent == Agent::Good { "success" } else { "failure" });
            self.closed += usize::from(agent == Agent::Good);
        }
        self.sessions[index].is_ended = true;
        self.recorded.clone_from(&self.journal);
    }

    /// `log --json`, as far as the model knows it.
    fn log(&self) -> Vec<(usize, usize, String, &'static str)> {
        let of = |(index, session): (usize, &Session)| {
            let one = |(number, &(task, outcome)): (usize, &(usize, &'static str))| {
                (index, number + 1, task_name(task), outcome)
            };
            session.iterations.iter().enumerate().map(one).collect::<Vec<_>>()
        };
        self.sessions.iter().enumerate().flat_map(of).collect()
    }
}

fn task_name(index: usize) -> String {
    format!("T{:03}", index + 1)
}

struct Story {
    scene: Sandbox,
    model: Model,
    steps: Vec<Step>,
}

impl Story {
    fn new() -> Self {
        let scene = Sandbox::new();
        let tasks: String = (0..TASKS).map(|task| format!("- [ ] {} Do it\n", task_name(task))).collect();
        let says = scene.outside("says");
        fs::write(&says, "good").unwrap();
        let says = says.display();
        scene.tasks(&tasks).agent_sh(&format!(
            "case $(cat {says}) in\n\
             good|lies) tick ;;\n\
             idle) echo looked ;;\n\
             hangs) echo begun; touch {says}.hanging; sleep 1000 ;;\n\
             esac\n"
        ));
        scene.validate(&format!("! grep -q lies {says}")).config("skip-after = 0\nstuck-after = 0");
        scene.commit("Ready");
        Self { scene, model: Model::default(), steps: Vec::new() }
    }

    fn perform(&mut self, step: Step) {
        self.steps.push(step);
        match step {
            Step::Run(agent, count) => {
                self.says(agent);
                self.model.recover(None);
                self.model.sessions.push(Session::default());
                self.model.turns(self.model.sessions.len() - 1, agent, count);
                drop(self.scene.ralph(&format!("-n {count}")).code(4));
            }
            Step::Resume(agent, count) => {
                self.says(agent);
                let index = self.model.sessions.len() - 1;
                self.model.recover(Some(index));
                self.model.turns(index, agent, count);
                drop(self.scene.ralph(&format!("resume -n {count}")).code(4));
            }
            Step::Kill => self.kill(),
            Step::Append => {
                self.model.words += 1;
                self.model.journal.push(Piece::Words(self.model.words));
                let text = format!("{}words {}\n\n", self.scene.progress(), self.model.words);
                fs::write(self.scene.path(PROGRESS), text).unwrap();
            }
            Step::Insert => {
                self.model.words += 1;
                // The patterns are theirs, and no difference.
                self.model.journal.insert(0, Piece::Words(self.model.words));
                let patterns = format!("## Codebase Patterns\n\nwords {}\n", self.model.words);
                let text = self.scene.progress().replacen("## Codebase Patterns\n", &patterns, 1);
                fs::write(self.scene.path(PROGRESS), text).unwrap();
            }
            Step::Delete => {
                fs::remove_file(self.scene.path(PROGRESS)).unwrap();
                self.model.journal.clear();
                self.model.is_changed = true;
            }
            Step::Clone => self.clone_has_the_same_log(),
        }
        self.compare();
    }

    fn says(&self, agent: Agent) {
        let words = match agent {
            Agent::Good => "good",
            Agent::Idle => "idle",
            Agent::Lies => "lies",
        };
        fs::write(self.scene.outside("says"), words).unwrap();
    }

    fn kill(&mut self) {
        self.model.recover(None);
        self.model.sessions.push(Session::default());
        self.model.cut_off = Some(self.model.sessions.len() - 1);
        self.model.recorded.clone_from(&self.model.journal);
        fs::write(self.scene.outside("says"), "hangs").unwrap();
        let hanging = self.scene.outside("says.hanging");
        let mut running = self.scene.spawn("-n 1");
        running.wait_for_file(&hanging);
        assert_eq!(running.kill().code, 137);
        fs::remove_file(&hanging).unwrap();
    }

    fn clone_has_the_same_log(&self) {
        let number = self.steps.len();
        let clone = self.scene.outside(&format!("clone-{number}"));
        let (from, to) = (self.scene.repo().display().to_string(), clone.display().to_string());
        self.scene.git(["clone", "--quiet", &from, &to]);
        self.scene.git_in(&clone, "fetch --quiet origin refs/ralph/*:refs/ralph/*");
        // What `summary` says of the tasks is of the list in the work tree.
        let there = self.scene.call("log --json").dir(&clone).run().code(0).json();
        let here = self.scene.ralph("log --json").json();
        assert_eq!(there["iterations"], here["iterations"], "{:?}", self.steps);
    }

    #[track_caller]
    fn compare(&self) {
        let steps = &self.steps;
        let log = self.scene.ralph("log --json").code(0).json();
        let mut ids: Vec<&str> = Vec::new();
        let listed: Vec<_> = log["iterations"].as_array().unwrap().iter().collect();
        let text = |entry: &'_ Value, name: &str| entry[name].as_str().unwrap_or_default().to_owned();
        for entry in &listed {
            let id = entry["session"].as_str().unwrap();
            if ids.last() != Some(&id) {
                ids.push(id);
            }
        }
        // A session that was killed in its first iteration has none yet.
        let expected: Vec<_> = self.model.log();
        let mut known: Vec<usize> = expected.iter().map(|(session, ..)| *session).collect();
        known.dedup();
        let found: Vec<_> = listed
            .iter()
            .map(|entry| {
                let place = ids.iter().position(|id| *id == entry["session"]).unwrap();
                let number = usize::try_from(entry["iteration"].as_u64().unwrap()).unwrap();
                (known.get(place).copied(), number, text(entry, "task"), text(entry, "outcome"))
            })
            .collect();
        let expected: Vec<_> = expected
            .into_iter()
            .map(|(session, number, task, outcome)| (Some(session), number, task, outcome.to_owned()))
            .collect();
        assert_eq!(found, expected, "the log after {steps:?}");

        let journal = fs::read_to_string(self.scene.path(PROGRESS)).unwrap_or_default();
        assert_eq!(pieces(&journal), self.model.journal, "progress.txt after {steps:?}:\n{journal}");

        if !self.model.sessions.is_empty() {
            let check = self.scene.ralph("rebuild --check");
            assert_eq!(check.code, i32::from(self.model.is_changed), "after {steps:?}: {check}");
        }
    }
}

fn pieces(journal: &str) -> Vec<Piece> {
    let mut pieces = Vec::new();
    let mut number = 0;
    let mut is_end = false;
    for line in journal.lines() {
        if line.starts_with("## ") {
            is_end = line.starts_with("## Session ended");
        }
        if let Some(rest) = line.strip_prefix("## Iteration ") {
            number = rest.split(' ').next().unwrap().parse().unwrap();
        } else if let Some(status) = line.strip_prefix("**Status**: ").filter(|_| !is_end) {
            let outcome = match status.split(" (").next().and_then(|status| status.rsplit(' ').next()) {
                Some("Completed") => "success",
                Some("Failed") => "failure",
                Some("Interrupted") => "interrupted",
                other => panic!("{other:?}"),
            };
            pieces.push(Piece::Entry(number, outcome));
        } else if let Some(words) = line.strip_prefix("words ") {
            pieces.push(Piece::Words(words.parse().unwrap()));
        }
    }
    pieces
}

struct Random(u64);

impl Random {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 24) % limit
    }

    fn agent(&mut self) -> Agent {
        [Agent::Good, Agent::Good, Agent::Idle, Agent::Lies][usize::try_from(self.below(4)).unwrap()]
    }

    /// A step that can follow: whoever lost the whole journal can only start again.
    fn step(&mut self, model: &Model) -> Step {
        let is_gone = model.is_changed && model.journal.is_empty();
        let count = |random: &mut Self| usize::try_from(1 + random.below(2)).unwrap();
        loop {
            let step = match self.below(8) {
                0 | 1 => Step::Run(self.agent(), count(self)),
                2 => Step::Kill,
                3 => Step::Resume(self.agent(), count(self)),
                4 => Step::Append,
                5 => Step::Insert,
                6 => Step::Delete,
                _ => Step::Clone,
            };
            let fits = match step {
                Step::Run(..) | Step::Kill => true,
                Step::Resume(..) | Step::Clone => !model.sessions.is_empty(),
                // Without an entry an empty journal could not be distinguished from a missing one.
                Step::Append | Step::Insert | Step::Delete => !is_gone && !model.recorded.is_empty(),
            };
            if fits {
                return step;
            }
        }
    }
}

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok().map(|text| text.parse().unwrap())
}

#[test]
fn whatever_happens_record_and_journal_say_what_happened() {
    let first = number("RALPH_TEST_SEED").unwrap_or_else(|| RandomState::new().hash_one(0));
    for seed in (0..number("RALPH_TEST_STORIES").unwrap_or(2)).map(|story| first.wrapping_add(story)) {
        println!("RALPH_TEST_SEED={seed}");
        let mut random = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
        let mut story = Story::new();
        story.perform(Step::Run(Agent::Good, 1));
        for _ in 0..STEPS {
            let step = random.step(&story.model);
            println!("{step:?}");
            story.perform(step);
        }
        // The last start leaves nothing open.
        story.perform(Step::Run(Agent::Good, 1));
    }
}

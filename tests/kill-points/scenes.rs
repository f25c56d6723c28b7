//! The stories in which the loop is struck.

use crate::points::{self, Injection, Point};
use crate::sandbox::Sandbox;

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

/// A story up to the call that is struck, and that call.
pub struct Scene {
    pub name: &'static str,
    pub words: &'static str,
    opening: Opening,
    /// From the first point whose label has this, another scene has shown it already.
    until: Option<&'static str>,
}

/// What happened before.
enum Opening {
    Nothing,
    /// A first run was killed at this point.
    Killed(Point),
    /// A first run ended at its limit, with the task open.
    Limited,
    /// A first run did all there was to do.
    Completed,
}

impl Scene {
    /// A fresh sandbox in which the call is yet to be made.
    pub fn before(&self) -> Sandbox {
        let sandbox = fresh();
        match &self.opening {
            Opening::Nothing => {}
            Opening::Killed(point) => {
                let struck = points::inject(&sandbox, "run --json", point, Injection::Kill);
                assert!(struck.code.is_none(), "not killed at {point}: {struck:?}");
            }
            Opening::Limited => {
                sandbox.validate("test -f never.txt");
                sandbox.ralph("run -n 1").code(1);
                sandbox.validate("test -f hello.txt");
            }
            Opening::Completed => drop(sandbox.ralph("run").code(0)),
        }
        sandbox
    }

    pub fn points(&self) -> Vec<Point> {
        let mut points = points::list(&self.before(), self.words);
        if let Some(until) = self.until {
            let end = points.iter().position(|point| point.label.contains(until));
            points.truncate(end.unwrap_or_else(|| panic!("{}: no call has `{until}`", self.name)));
        }
        if !matches!(self.opening, Opening::Nothing) {
            // A kill takes nothing from the system's cache: before a sync it finds the same files as after it.
            points.retain(|point| point.name != "fsync");
        }
        points
    }
}

fn fresh() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.unchecked().agent_script(AGENT).validate("test -f hello.txt");
    sandbox
}

pub fn whole_session() -> Scene {
    Scene { name: "a whole session", words: "run --json", opening: Opening::Nothing, until: None }
}

/// A session that ended at its limit is taken up again.
pub fn resumption() -> Scene {
    Scene {
        name: "a resumption",
        words: "resume --json -n 2",
        opening: Opening::Limited,
        // From there on it is a session like any other.
        until: Some("/2/prompt.md"),
    }
}

/// What a session left loose is packed.
pub fn packing() -> Scene {
    Scene { name: "a packing", words: "pack --json", opening: Opening::Completed, until: None }
}

/// The starts after a session was killed at telling moments.
pub fn recoveries() -> Vec<Scene> {
    let first = points::list(&fresh(), "run --json");
    let recovery = |name, moment: &str, until| {
        let point = first.iter().find(|point| point.label.contains(moment));
        let point = point.unwrap_or_else(|| panic!("no call has `{moment}`: {first:#?}"));
        Scene { name, words: "run --json", opening: Opening::Killed(point.clone()), until }
    };
    vec![
        // How they come to their end is the last one's.
        recovery("the recovery of an iteration that was cut off", "/1/manifest.json.new", Some("/end\"")),
        recovery(
            "the recovery of a start between its two refs",
            "AT_FDCWD</project>, \"/project/.git/refs/ralph-snap/001-login/",
            Some("/end\""),
        ),
        recovery("the recovery of a session without an end", "/end\"", None),
    ]
}

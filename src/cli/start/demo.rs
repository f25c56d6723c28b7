//! `specify ralph demo`: the real loop, on a throw-away project, with the scripted agent.

use std::fs;
use std::io::Write;

use anyhow::{Context as _, Result, bail};
use camino::{Utf8Path, Utf8PathBuf};

use ralph_core::config::FlagInput;
use ralph_core::record::{Claim, FlagCode, LogEntry, Outcome, RALPH, Refusal};
use ralph_os::process::Tool;
use ralph_store::{SessionQuery, Store};
use ralph_ui::live::Detail;
use ralph_ui::style::{Look, Paint};

use crate::cli::args::Voice;
use crate::cli::settings::load_in;
use crate::cli::start::approvals::{Approvals, Approved};
use crate::cli::start::run;
use crate::cli::start::setup::RunRequest;
use crate::cli::{Context, ExitCode, Flags, stdout};

/// The files of the project.
const FILES: [(&str, &str); 8] = [
    (".gitignore", include_str!("../../../fixtures/demo/gitignore")),
    (".specify/ralph.toml", include_str!("../../../fixtures/demo/ralph.toml")),
    ("agent.toml", include_str!("../../../fixtures/demo/agent.toml")),
    ("check.sh", include_str!("../../../fixtures/demo/check.sh")),
    ("tests/greeting.bats", include_str!("../../../fixtures/demo/greeting.bats")),
    ("specs/001-greeting/spec.md", include_str!("../../../fixtures/demo/spec.md")),
    ("specs/001-greeting/plan.md", include_str!("../../../fixtures/demo/plan.md")),
    ("specs/001-greeting/tasks.md", include_str!("../../../fixtures/demo/tasks.md")),
];

/// What every iteration comes to, in this order; the last check is of no task.
const STORY: [(&str, Outcome); 15] = [
    ("T001", Outcome::Success),
    ("T002", Outcome::Failure),
    ("T002", Outcome::Failure),
    ("T002", Outcome::Success),
    ("T003", Outcome::Failure),
    ("T003", Outcome::Success),
    ("T004", Outcome::Failure),
    ("T004", Outcome::Failure),
    ("T004", Outcome::Failure),
    ("T004", Outcome::Skipped),
    ("T005", Outcome::Failure),
    ("T005", Outcome::Success),
    ("T003", Outcome::Checked),
    ("T003", Outcome::Success),
    ("", Outcome::Checked),
];

/// The iteration in which the agent says that it is done and is not.
const LIE: u32 = 5;

/// The iteration in which it makes a test pass by skipping it.
const CHEAT: u32 = 11;

pub fn run(dir: Option<&Utf8Path>, context: &Context) -> Result<ExitCode> {
    let paint = context.paint;
    let project = Project::make(dir, context)?;
    let mut out = stdout();
    writeln!(out, "{}", paint.paint(Look::Bold, &format!("A project in {}", project.dir)))?;
    writeln!(
        out,
        "  an agent that plays a script works through five tasks: one needs three tries, once the agent"
    )?;
    writeln!(
        out,
        "  says that it is done and is not, once it skips a test, once a result holds only where it was"
    )?;
    writeln!(out, "  made, and one task it cannot do at all\n")?;
    out.flush()?;

    let environment = context.environment.for_another_project();
    let inside = Context::at(project.dir.clone(), environment, context.color);
    let feature = inside.feature(Some(&"001-greeting".to_owned()), None)?;
    // The project is ours.
    let trust = FlagInput::new("--trust", "trust", "always");
    let clean = FlagInput::new("--set", "validation.clean", "auto");
    // What is thrown away leaves no checkout in the cache either.
    let lanes = project.lanes.as_ref().map(|folder| FlagInput::new("--set", "lanes.dir", folder.as_str()));
    let settings = [trust, clean].into_iter().chain(lanes).collect();
    let config = load_in(&inside, Flags { settings, ..Flags::default() }).map_err(crate::cli::refusal)?;
    if !project.is_throw_away {
        // A project that is kept can be gone on with.
        Approvals::of(&inside)?.approve(Approved::Commands(&config.file_commands))?;
    }
    let voice = Voice { is_json: false, detail: Detail::Normal, paint };
    let code = run::start(&feature, &RunRequest::default(), &config, &inside, voice)?;
    if matches!(code, ExitCode::Signalled(_)) {
        return Ok(code);
    }
    check_story(inside.store()?)?;

    let color = if paint == Paint::Colour { "--color=always" } else { "--color=never" };
    let log = Tool::git(&project.dir).args(["log", "--glob=refs/ralph/*", "--oneline", color]).line()?;
    let title = "The record, by plain git: git log --glob='refs/ralph/*' --oneline";
    writeln!(out, "\n{}", paint.paint(Look::Bold, title))?;
    writeln!(out, "{log}")?;
    let seen = if project.is_throw_away {
        format!(
            "The project is removed now; to keep it and look yourself: {RALPH} demo --dir ralph-demo; cd ralph-demo"
        )
    } else {
        format!("Explore it (cd {})", project.dir)
    };
    writeln!(out, "\n{}", paint.paint(Look::Bold, &seen))?;
    let commands = [
        (format!("{RALPH} log"), "every iteration"),
        (format!("{RALPH} show 3"), "one of them"),
        (format!("{RALPH} show 3 --stdout"), "the validation's output in it, byte for byte"),
        (format!("{RALPH} fsck"), "verify every record and progress.txt"),
        ("cat specs/001-greeting/progress.txt".to_owned(), "the journal"),
        ("git log --glob='refs/ralph/*'".to_owned(), "all of it by plain git"),
    ];
    let width = commands.iter().map(|(command, _)| command.chars().count()).fold(40, usize::max);
    for (command, does) in commands {
        writeln!(out, "  {command:<width$} {}", paint.paint(Look::Dim, does))?;
    }
    out.flush()?;
    Ok(ExitCode::Done)
}

/// A repository to play in. A throw-away one goes when this value goes.
struct Project {
    dir: Utf8PathBuf,
    is_throw_away: bool,
    /// The folder for its checkouts, if it is thrown away.
    lanes: Option<Utf8PathBuf>,
}

impl Project {
    fn make(wanted: Option<&Utf8Path>, context: &Context) -> Result<Self> {
        let (dir, is_throw_away) = match wanted {
            Some(dir) => (context.directory.join(dir), false),
            None => (throw_away()?, true),
        };
        let is_taken = dir.is_file() || fs::read_dir(&dir).is_ok_and(|mut entries| entries.next().is_some());
        if is_taken {
            return Err(Refusal::new(format!("{dir} already exists and is not empty"))
                .with_hint("name a new folder")
                .into());
        }
        let lanes = is_throw_away.then(|| Utf8PathBuf::from(format!("{dir}.lanes")));
        let project = Self { dir, is_throw_away, lanes };
        let dir = &project.dir;
        for (path, text) in FILES {
            let path = dir.join(path);
            let folder = path.parent().context("find the folder of a file")?;
            fs::create_dir_all(folder).with_context(|| format!("create {folder}"))?;
            fs::write(&path, text).with_context(|| format!("write {path}"))?;
        }
        Tool::git(dir).args(["init", "--quiet", "--initial-branch=main", "."]).read()?;
        Tool::git(dir).args(["add", "."]).read()?;
        // No identity is needed: a demonstration must run on a freshly installed machine.
        Tool::git(dir)
            .args(["-c", "user.name=demo", "-c", "user.email=demo@localhost", "-c", "commit.gpgSign=false"])
            .args(["commit", "--quiet", "--message", "A feature to work on"])
            .read()?;
        Ok(project)
    }
}

impl Drop for Project {
    fn drop(&mut self) {
        if self.is_throw_away {
            // What cannot be removed lies in the folder for temporary files, and goes with that.
            for folder in [Some(&self.dir), self.lanes.as_ref()].into_iter().flatten() {
                let _left = fs::remove_dir_all(folder).is_err();
            }
        }
    }
}

fn throw_away() -> Result<Utf8PathBuf> {
    let folder = Utf8PathBuf::from_path_buf(std::env::temp_dir()).map_err(|path| {
        Refusal::new(format!("the folder for temporary files {} is not UTF-8", path.display()))
    })?;
    let dir = folder.join(format!("ralph-demo-{}", std::process::id()));
    fs::create_dir(&dir).with_context(|| format!("create {dir}"))?;
    Ok(dir)
}

/// Fails unless every iteration had the expected outcome.
fn check_story(store: &Store) -> Result<()> {
    let sessions = store.sessions(&SessionQuery::default(), &mut Vec::new())?;
    let log = sessions.last().context("find the session")?;
    let iterations: Vec<&LogEntry> = log.iterations().collect();
    let outcomes: Vec<_> =
        iterations.iter().map(|entry| (entry.task().unwrap_or_default(), entry.outcome())).collect();
    let expected: Vec<_> = STORY.iter().map(|(task, outcome)| (*task, Some(*outcome))).collect();
    if outcomes != expected {
        bail!("the demo had unexpected outcomes: {outcomes:?}");
    }
    let lie = log.iteration(LIE).context("find the lie")?;
    if store.iteration(lie)?.false_claim != [Claim::Promise, Claim::Ticked] {
        bail!("the false claim was not detected");
    }
    let cheat = log.iteration(CHEAT).context("find the cheat")?;
    if cheat.refused() != Some(FlagCode::Skip) {
        bail!("the skipped test was not detected");
    }
    Ok(())
}

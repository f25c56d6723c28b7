//! The rows of the table: what is done, how often, and what it should come to.

use std::cell::Cell;
use std::fs;
use std::io::Write as _;

use anyhow::{Context, Result};
use camino::{Utf8Path, Utf8PathBuf};
use ralph_os::process::Tool;
use ralph_store::Syncing;

use super::Options;
use super::frame;
use super::measure::{BenchCommand, Cost, median};
use super::synthetic::{self, Shape, Writer};
use super::table::{Goal, Row};

/// Pairs of measurements; the median counts.
const RUNS: usize = 7;

/// Records between the two measurements whose difference is taken.
const STEPS: u32 = 20;

/// What `git log` prints where it prints what we print: one pass over the trailers.
pub const LISTING: &str = "--format=%h %cI %s%n%(trailers:only,unfold)";

pub struct Bench<'a> {
    root: Utf8PathBuf,
    options: &'a Options,
    print: &'a mut dyn FnMut(&Row),
    next: Cell<u32>,
}

/// Measures everything that was selected, and prints each row as soon as it is there.
pub fn measure(options: &Options, print: &mut dyn FnMut(&Row)) -> Result<()> {
    let folder = tempfile::tempdir().context("make a folder to measure in")?;
    let root = Utf8PathBuf::from_path_buf(folder.path().to_owned()).ok().context("read its name")?;
    let mut bench = Bench { root, options, print, next: Cell::new(1) };
    bench.start_up()?;
    bench.iteration()?;
    bench.record()?;
    bench.big_log()?;
    bench.context()?;
    bench.status(5_000)?;
    bench.many_sessions(1_200)?;
    bench.long_session(10_000)?;
    bench.many_tasks(60_000)?;
    bench.snapshot(5_000)?;
    if options.is_large {
        bench.status(80_000)?;
        bench.snapshot(80_000)?;
    }
    bench.listing(10_000)?;
    if options.is_large {
        bench.listing(100_000)?;
    }
    bench.travel(5_000)?;
    bench.rebuild(1_000)?;
    bench.report(1_000)?;
    bench.hooks()?;
    bench.packed(1_000)
}

impl Bench<'_> {
    pub fn is_wanted(&self, name: &str) -> bool {
        self.options.only.is_empty() || self.options.only.iter().any(|part| name.contains(part.as_str()))
    }

    /// A number that was not given before: for sessions and changes that must differ.
    fn fresh(&self) -> u32 {
        self.next.replace(self.next.get() + 1)
    }

    pub fn folder(&self, name: &str) -> Utf8PathBuf {
        self.root.join(name)
    }

    /// A project with so many files, made where it is not there yet.
    fn project(&self, files: usize) -> Result<Utf8PathBuf> {
        let dir = self.folder(&format!("files-{files}"));
        if !dir.exists() {
            synthetic::project(&dir, files)?;
        }
        Ok(dir)
    }

    pub fn pair(
        &mut self,
        work: &str,
        goal: Goal,
        mut ours: impl FnMut(&Self) -> Result<Cost>,
        mut gits: impl FnMut(&Self) -> Result<Cost>,
    ) -> Result<f64> {
        let mut pairs = Vec::new();
        for _ in 0..RUNS {
            pairs.push((ours(self)?, gits(self)?));
        }
        let of = |part: fn(&(Cost, Cost)) -> f64| median(pairs.iter().map(part).collect());
        (self.print)(&Row {
            work: work.to_owned(),
            unit: "ms",
            ours: of(|(ours, _)| ours.cpu),
            git: Some(of(|(_, git)| git.cpu)),
            ratio: Some(of(|(ours, git)| ours.cpu / git.cpu)),
            goal,
            wall: Some((of(|(ours, _)| ours.wall), Some(of(|(_, git)| git.wall)))),
        });
        Ok(of(|(ours, _)| ours.memory))
    }

    fn memory(&mut self, work: &str, ours: f64, git: Option<f64>, goal: Goal) {
        let ratio = git.map(|git| ours / git);
        (self.print)(&Row { work: work.to_owned(), unit: "MiB", ours, git, ratio, goal, wall: None });
    }

    fn start_up(&mut self) -> Result<()> {
        if !self.is_wanted("start-up") {
            return Ok(());
        }
        let dir = self.project(60)?;
        let ours = BenchCommand::ralph(&dir, &["--version"]);
        let git = BenchCommand::git(&dir, &["--version"]);
        let memory = self.pair("start-up: --version", Goal::None, |_| ours.measure(), |_| git.measure())?;
        self.memory("start-up: memory", memory, None, Goal::None);
        Ok(())
    }

    /// The text that a prompt gets of a thousand older iterations that are read already.
    fn context(&mut self) -> Result<()> {
        if !self.is_wanted("historical context") {
            return Ok(());
        }
        let dir = self.project(60)?;
        let cpu = |builds: &str| -> Result<f64> {
            let task = BenchCommand::workload(&dir, ["context", builds])?;
            let costs: Result<Vec<f64>> = (0..RUNS).map(|_| Ok(task.measure()?.cpu)).collect();
            Ok(median(costs?))
        };
        let (many, one) = (cpu("11")?, cpu("1")?);
        (self.print)(&Row {
            work: "historical context from 1,000 iterations".to_owned(),
            unit: "ms",
            ours: (many - one) / 10.0,
            git: None,
            ratio: None,
            goal: Goal::AtMost(20.0),
            wall: None,
        });
        Ok(())
    }

    /// One turn of the real loop around an agent that does nothing, in a small project.
    fn iteration(&mut self) -> Result<()> {
        if !self.is_wanted("iteration") {
            return Ok(());
        }
        let dir = self.folder("iteration");
        synthetic::project(&dir, 60)?;
        let turns = |count: u32| {
            let count = count.to_string();
            let words = ["-n", &count, "--agent-command", "true", "--set", "stuck-after=0"];
            let words = [&words[..], &["--set", "skip-after=0"]].concat();
            BenchCommand::ralph(&dir, &words).expected_exit_codes(&[4]).measure()
        };
        let mut costs = Vec::new();
        for _ in 0..RUNS {
            let few = turns(1)?;
            costs.push(turns(1 + STEPS)?.per_step(few, STEPS));
        }
        let of = |part: fn(&Cost) -> f64| median(costs.iter().map(part).collect());
        (self.print)(&Row {
            work: "iteration around an agent that does nothing".to_owned(),
            unit: "ms",
            ours: of(|cost| cost.cpu),
            git: None,
            ratio: None,
            goal: Goal::AtMost(35.0),
            wall: Some((of(|cost| cost.wall), None)),
        });
        Ok(())
    }

    fn record(&mut self) -> Result<()> {
        if !self.is_wanted("record 38 KB") {
            return Ok(());
        }
        let dir = self.folder("record");
        synthetic::project(&dir, 60)?;
        let cost = |bench: &Self, workload: &str| -> Result<Cost> {
            let run = |count: u32| {
                let (name, count) = (bench.fresh().to_string(), count.to_string());
                BenchCommand::workload(&dir, [workload, &name, &count])?.measure()
            };
            let few = run(1)?;
            Ok(run(1 + STEPS)?.per_step(few, STEPS))
        };
        self.pair(
            "record 38 KB durably",
            Goal::Ratio(0.6),
            |bench| cost(bench, "record"),
            |bench| cost(bench, "plumbing"),
        )?;
        Ok(())
    }

    fn big_log(&mut self) -> Result<()> {
        if !self.is_wanted("record 100 MB") {
            return Ok(());
        }
        let dir = self.folder("big-log");
        synthetic::project(&dir, 60)?;
        let log = dir.join(".git/big.log");
        let write = |number: u32| write_big_log(&log, number);
        let mut baseline = Cost::default();
        let mut ours = |bench: &Self| -> Result<Cost> {
            write(bench.fresh())?;
            baseline =
                BenchCommand::workload(&dir, ["record", &bench.fresh().to_string(), "1"])?.measure()?;
            let session = bench.fresh().to_string();
            let whole =
                BenchCommand::workload(&dir, ["record-file", &session, "1", log.as_str()])?.measure()?;
            Ok(Cost { memory: whole.memory - baseline.memory, ..whole.per_step(baseline, 1) })
        };
        let git = |bench: &Self| -> Result<Cost> {
            // git would find the object there already if it got the same bytes.
            write(bench.fresh())?;
            BenchCommand::git(&dir, &["hash-object", "-w", "--no-filters", log.as_str()]).measure()
        };
        let memory =
            self.pair("record 100 MB durably; git hash-object -w", Goal::Ratio(0.4), &mut ours, git)?;
        self.memory("record 100 MB: memory above the baseline", memory, None, Goal::AtMost(16.0));
        Ok(())
    }

    fn status(&mut self, files: usize) -> Result<()> {
        if !self.is_wanted("status") {
            return Ok(());
        }
        let dir = self.project(files)?;
        let (ours, git) = (BenchCommand::ralph(&dir, &["status"]), BenchCommand::git(&dir, &["status"]));
        let work = format!("status in {} files", thousands(files));
        self.pair(&work, Goal::Ratio(1.5), |_| ours.measure(), |_| git.measure())?;
        Ok(())
    }

    fn snapshot(&mut self, files: usize) -> Result<()> {
        if !self.is_wanted("snapshot") {
            return Ok(());
        }
        let dir = self.project(files)?;
        // The private indices are made, and every file was looked at once.
        for workload in ["snapshot", "add"] {
            BenchCommand::workload(&dir, [workload, &self.fresh().to_string(), "1"])?.measure()?;
        }
        let cost = |bench: &Self, workload: &str| -> Result<Cost> {
            let run = |workload: &str| {
                let first = bench.next.replace(bench.next.get() + 5).to_string();
                BenchCommand::workload(&dir, [workload, &first, "5"])?.measure()
            };
            let changes = run("change")?;
            Ok(run(workload)?.per_step(changes, 5))
        };
        let work = format!("snapshot of {} files, 5 changed; git add -A, write-tree", thousands(files));
        self.pair(&work, Goal::Ratio(1.2), |bench| cost(bench, "snapshot"), |bench| cost(bench, "add"))?;
        Ok(())
    }

    fn listing(&mut self, count: u32) -> Result<()> {
        if !["log", "show", "first frame"].iter().any(|name| self.is_wanted(name)) {
            return Ok(());
        }
        let dir = self.folder(&format!("log-{count}"));
        synthetic::project(&dir, 60)?;
        // The listing reads messages alone: small outputs are enough.
        let shape = Shape { output: 200, prompt: 200, ..Shape::REAL };
        let store = synthetic::store(&dir, shape.syncing)?;
        let mut writer = Writer::start(&store, shape, 0)?;
        for number in 1..=count {
            writer.iterate()?;
            if number.is_multiple_of(5_000) {
                pack(&dir)?;
            }
        }
        writer.end()?;
        pack(&dir)?;
        let git = BenchCommand::git(&dir, &["log", LISTING, "--glob=refs/ralph/*"]);
        let name = thousands(count as usize);
        if self.is_wanted("log") {
            let ours = BenchCommand::ralph(&dir, &["log"]);
            let work =
                format!("log over {name} packed iterations without its cache; git log with the trailers");
            let cache = dir.join(".git/ralph/cache");
            let afresh = || -> Result<Cost> {
                if cache.exists() {
                    fs::remove_dir_all(&cache)?;
                }
                ours.measure()
            };
            self.pair(&work, Goal::Ratio(1.0), |_| afresh(), |_| git.measure())?;
            let goal = Goal::Ratio(if count < 100_000 { 0.2 } else { 0.1 });
            let work = format!("log over {name} packed iterations; git log with the trailers");
            let memory = self.pair(&work, goal, |_| ours.measure(), |_| git.measure())?;
            self.memory(&format!("log over {name}: memory"), memory, Some(git.measure()?.memory), Goal::None);
        }
        if self.is_wanted("show") {
            let middle = (count / 2).to_string();
            let ours = BenchCommand::ralph(&dir, &["show", &middle]);
            let wanted = format!("--grep=Ralph-Iteration: {middle}$");
            let git = BenchCommand::git(&dir, &["log", "-1", &wanted, "--glob=refs/ralph/*"]);
            let work = format!("show one of {name} iterations; git log -1 --grep");
            self.pair(&work, Goal::None, |_| ours.measure(), |_| git.measure())?;
        }
        if self.is_wanted("first frame") {
            let goal = if count < 100_000 { Goal::AtMost(50.0) } else { Goal::None };
            let work = format!("first frame of `tui` over {name} iterations; git log with the trailers");
            self.pair(&work, goal, |_| frame::first(&dir, "attempts"), |_| git.measure())?;
        }
        Ok(())
    }

    /// Back and forth between snapshots of a project with so many files, five changed in each iteration.
    fn travel(&mut self, files: usize) -> Result<()> {
        if !["diff", "restore", "bisect"].into_iter().any(|name| self.is_wanted(name)) {
            return Ok(());
        }
        let dir = self.folder("travel");
        synthetic::project(&dir, files)?;
        let store = synthetic::store(&dir, Syncing::Never)?;
        let shape = Shape { snapshots: true, ..Shape::REAL };
        let mut writer = Writer::start(&store, shape, 0)?;
        for level in 1..=60 {
            // What `bisect` looks for.
            fs::write(dir.join("level"), format!("{level}\n"))?;
            writer.iterate()?;
        }
        let refs = writer.end()?;
        let session = store.session(&refs)?.context("find the session")?;
        let snapshot = |number: u32| -> Result<String> {
            let entry = session.iteration(number).context("find an iteration")?;
            Ok(entry.snapshot().context("find its snapshot")?.to_string())
        };
        let (one, other) = (snapshot(5)?, snapshot(55)?);
        let name = thousands(files);
        if self.is_wanted("diff") {
            let ours = BenchCommand::ralph(&dir, &["diff", "5", "55"]);
            let git = BenchCommand::git(&dir, &["diff", &one, &other]);
            let work = format!("diff of two iterations, {name} files, 250 changes; git diff");
            self.pair(&work, Goal::None, |_| ours.measure(), |_| git.measure())?;
            let ours = BenchCommand::ralph(&dir, &["diff", "5", ".."]);
            let git = BenchCommand::workload(&dir, ["diff-by-git", &one])?;
            let work = "diff of an iteration and the work tree; git add -A, git diff --cached";
            self.pair(work, Goal::None, |_| ours.measure(), |_| git.measure())?;
        }
        if self.is_wanted("bisect") {
            const COMMAND: &str = "test ! -e level || test $(cat level) -lt 30";
            let (first, last) = (snapshot(1)?, snapshot(60)?);
            let ours = BenchCommand::ralph(&dir, &["bisect", "--", "sh", "-c", COMMAND]);
            let git = BenchCommand::workload(&dir, ["bisect-by-git", &first, &last, COMMAND])?;
            let work =
                format!("bisect over 60 snapshots of {name} files; git clone --shared, git bisect run");
            self.pair(&work, Goal::None, |_| ours.measure(), |_| git.measure())?;
        }
        if self.is_wanted("restore") {
            let turn = Cell::new(false);
            let next = || turn.replace(!turn.get());
            let ours = || BenchCommand::ralph(&dir, &["restore", if next() { "5" } else { "55" }]).measure();
            let git = || {
                BenchCommand::workload(&dir, ["restore-by-git", if next() { &one } else { &other }])?
                    .measure()
            };
            let work = "restore, 250 changes; git add -A, commit-tree, update-ref, read-tree -m -u";
            self.pair(work, Goal::None, |_| ours(), |_| git())?;
        }
        Ok(())
    }

    /// progress.txt from the record, against the same bytes as git reads them.
    fn rebuild(&mut self, count: u32) -> Result<()> {
        if !self.is_wanted("rebuild") {
            return Ok(());
        }
        let dir = self.folder("rebuild");
        synthetic::project(&dir, 60)?;
        let store = synthetic::store(&dir, Syncing::Never)?;
        let mut writer = Writer::start(&store, Shape::REAL, 0)?;
        (0..count).try_for_each(|_| writer.iterate())?;
        writer.end()?;
        pack(&dir)?;
        let ours = BenchCommand::ralph(&dir, &["rebuild", "--check"]);
        let git = BenchCommand::workload(&dir, ["rebuild-by-git"])?;
        let name = thousands(count as usize);
        let work = format!("rebuild --check of {name} packed iterations; git rev-list, git cat-file --batch");
        self.pair(&work, Goal::None, |_| ours.measure(), |_| git.measure())?;
        Ok(())
    }

    /// The page of a long session, and how big it is.
    fn report(&mut self, count: u32) -> Result<()> {
        let work = format!("report on {} iterations with snapshots", thousands(count as usize));
        if !self.is_wanted(&work) {
            return Ok(());
        }
        let dir = self.folder("report");
        synthetic::project(&dir, 200)?;
        let store = synthetic::store(&dir, Syncing::Never)?;
        let mut writer = Writer::start(&store, Shape { snapshots: true, ..Shape::REAL }, 0)?;
        (0..count).try_for_each(|_| writer.iterate())?;
        writer.end()?;
        let page = self.folder("report.html");
        let ours = BenchCommand::ralph(&dir, &["report", "-o", page.as_str()]);
        let costs: Vec<Cost> = (0..RUNS).map(|_| ours.measure()).collect::<Result<_>>()?;
        let of = |part: fn(&Cost) -> f64| median(costs.iter().map(part).collect());
        let row = |work: &str, unit, ours, goal, wall| Row {
            work: work.to_owned(),
            unit,
            ours,
            git: None,
            ratio: None,
            goal,
            wall,
        };
        let wall = Some((of(|cost| cost.wall), None));
        (self.print)(&row(&work, "ms", of(|cost| cost.cpu), Goal::AtMost(1400.0), wall));
        let bytes = fs::metadata(&page).context("look at the page")?.len();
        (self.print)(&row(&format!("{work}: the page"), "MB", bytes as f64 / 1e6, Goal::AtMost(3.0), None));
        (self.print)(&row(&format!("{work}: memory"), "MiB", of(|cost| cost.memory), Goal::None, None));
        Ok(())
    }

    /// What our blocks add where no loop runs: to a commit, and to a checkout that brings 500 commits.
    fn hooks(&mut self) -> Result<()> {
        if !self.is_wanted("hooks") {
            return Ok(());
        }
        let dir = self.folder("hooks");
        synthetic::project(&dir, 60)?;
        let mut stream = String::new();
        for branch in ["one", "other"] {
            stream.push_str(&format!("reset refs/heads/{branch}\nfrom refs/heads/main^0\n\n"));
            for number in 0..500 {
                stream.push_str(&format!(
                    "commit refs/heads/{branch}\ncommitter B <b@localhost> {} +0000\ndata 7\nChange\n\n",
                    1_700_000_000 + number
                ));
            }
        }
        Tool::git(&dir).args(["fast-import", "--quiet"]).stdin(stream).read()?;
        let program = Utf8Path::new(env!("CARGO_BIN_EXE_git-ralph")).parent().context("find its folder")?;
        let path = format!("{program}:{}", std::env::var("PATH").context("read the PATH")?);
        Tool::new(env!("CARGO_BIN_EXE_git-ralph"), &dir).args(["hooks", "install"]).read()?;
        let git = |words: &[&str]| BenchCommand::git(&dir, words).env("PATH", &path);
        let without = ["-c", "core.hooksPath=/dev/null"];
        let commit = [
            "-c",
            "user.name=b",
            "-c",
            "user.email=b@localhost",
            "commit",
            "--quiet",
            "--allow-empty",
            "-m",
            "x",
        ];
        let both = [git(&commit), git(&[&without[..], &commit].concat())];
        let name = "hooks: what two blocks add to a commit without a loop; git commit alone";
        self.added(name, || Ok(both.each_ref().map(BenchCommand::measure)))?;
        let turn = Cell::new(false);
        let checkouts = || {
            let branch = if turn.replace(!turn.get()) { "one" } else { "other" };
            let with = git(&["checkout", "--quiet", branch]).measure();
            let back = Tool::git(&dir).args(["checkout", "--quiet", "-"]).read();
            Ok([
                with,
                back.and_then(|_| git(&[&without[..], &["checkout", "--quiet", branch]].concat()).measure()),
            ])
        };
        git(&["checkout", "--quiet", "other"]).measure()?;
        self.added("hooks: what a block adds to a checkout of 500 commits; git checkout alone", checkouts)
    }

    /// What the first of two tasks costs more than the second.
    fn added(&mut self, work: &str, mut both: impl FnMut() -> Result<[Result<Cost>; 2]>) -> Result<()> {
        let mut pairs = Vec::new();
        for _ in 0..RUNS {
            let [with, without] = both()?;
            let without = without?;
            pairs.push((with?.per_step(without, 1), without));
        }
        let of = |part: fn(&(Cost, Cost)) -> f64| median(pairs.iter().map(part).collect());
        (self.print)(&Row {
            work: work.to_owned(),
            unit: "ms",
            ours: of(|(added, _)| added.cpu),
            git: Some(of(|(_, git)| git.cpu)),
            ratio: Some(of(|(added, git)| added.cpu / git.cpu)),
            goal: Goal::AtMost(20.0),
            wall: Some((of(|(added, _)| added.wall), Some(of(|(_, git)| git.wall)))),
        });
        Ok(())
    }

    /// What records take when they are packed, against the same in gzipped lines of JSON.
    fn packed(&mut self, count: u32) -> Result<()> {
        if !self.is_wanted("packed size") {
            return Ok(());
        }
        let dir = self.folder("packed");
        synthetic::project(&dir, 60)?;
        let store = synthetic::store(&dir, Syncing::Never)?;
        let mut writer = Writer::start(&store, Shape::REAL, 0)?;
        (0..count).try_for_each(|_| writer.iterate())?;
        let refs = writer.end()?;
        let mut lines = Vec::new();
        let session = store.session(&refs)?.context("find the session")?;
        for entry in session.iterations() {
            let mut line = serde_json::to_value(store.iteration(entry)?)?;
            for path in ["prompt.md", "agent/stdout", "validation/stdout", "validation/stderr"] {
                let bytes = store.file(&entry.commit(), path)?.unwrap_or_default();
                line[path] = String::from_utf8_lossy(&bytes).into();
            }
            serde_json::to_writer(&mut lines, &line)?;
            lines.push(b'\n');
        }
        let gzipped = Tool::new("gzip", &dir).stdin(lines).arg("-6").read()?.len();
        pack(&dir)?;
        let counted = Tool::git(&dir).args(["count-objects", "-v"]).read()?;
        let counted = String::from_utf8_lossy(&counted);
        let kilobytes = counted.lines().find_map(|line| line.strip_prefix("size-pack: "));
        let packed = kilobytes.context("read the size of the packs")?.parse::<u64>()? * 1024;
        let mega = |bytes: f64| bytes / 1e6;
        (self.print)(&Row {
            work: format!(
                "packed size of {} iterations; gzip -6 of their JSON lines",
                thousands(count as usize)
            ),
            unit: "MB",
            ours: mega(packed as f64),
            git: Some(mega(gzipped as f64)),
            ratio: Some(packed as f64 / gzipped as f64),
            goal: Goal::Ratio(0.7),
            wall: None,
        });
        Ok(())
    }
}

fn pack(dir: &Utf8Path) -> Result<()> {
    Tool::git(dir).args(["repack", "-a", "-d", "-q"]).read()?;
    Tool::git(dir).args(["pack-refs", "--all"]).read()?;
    Ok(())
}

pub fn thousands(number: usize) -> String {
    if number >= 1_000 { format!("{},{:03}", number / 1_000, number % 1_000) } else { number.to_string() }
}

fn write_big_log(log: &Utf8Path, number: u32) -> Result<()> {
    let mut file = std::io::BufWriter::new(fs::File::create(log)?);
    // Ten million bytes at a time: this program must not need much memory itself.
    for part in 0..10 {
        file.write_all(synthetic::test_output(number * 10 + part, 10_000_000).as_bytes())?;
    }
    file.flush()?;
    Ok(())
}

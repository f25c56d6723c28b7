//! The system calls by which the loop changes files, and how to strike at one of them.

use std::fmt;
use std::fs;
use std::process::{Command, Stdio};

use crate::sandbox::{Run, Sandbox};

/// What changes files, or makes changes durable.
const CALLS: &str = "openat,write,pwrite64,rename,renameat,renameat2,mkdir,mkdirat,unlink,unlinkat,rmdir,fsync,\
    fdatasync,ftruncate,flock,utimensat,link,linkat,symlinkat,copy_file_range,fchmod";

/// Folders of ours with loose objects.
const HOLD_OBJECTS: [&str; 3] = ["/objects", "/written/", "/written>"];

/// The label of each removal there.
const OBJECTS: &str = "objects of ours";

/// One call of the main thread.
#[derive(Debug, Clone)]
pub struct Point {
    pub name: String,
    /// The how-manieth call of this name, from 1, without those whose number is chance.
    pub nth: usize,
    /// How many calls of this name whose number is chance came before it.
    pub by_chance: usize,
    /// What it does, without what differs from run to run.
    pub label: String,
    /// A child ended since the point before, as git does that moved a ref.
    pub is_after_child: bool,
}

#[derive(Debug, Clone, Copy)]
pub enum Injection {
    /// The process dies instead of making the call.
    Kill,
    /// The call is not made, and fails with this error.
    Error(&'static str),
}

/// A run in which something was injected.
#[derive(Debug)]
pub struct Struck {
    /// The exit code; none for one that was killed.
    pub code: Option<i32>,
    pub stdout: String,
    pub stderr: String,
    /// What was hit instead of the call that was meant.
    pub neighbour: Option<String>,
    /// How many calls of its name whose number is chance were made this time, up to the one that was hit.
    pub by_chance: usize,
}

impl Point {
    /// The call and what it does, without the numbers of iterations, attempts and descriptors.
    pub fn kind(&self) -> (&str, String) {
        (&self.name, self.label.replace(|letter: char| letter.is_ascii_digit(), ""))
    }

    /// Returns true if it makes a file of the record valid or moves it to where it counts, or says what is recorded.
    pub fn is_decisive(&self) -> bool {
        let is_in_place = self.name.starts_with("rename") && !self.label.contains("objects/");
        let is_of_record = ["/spool/", "HEAD", "put-back"].iter().any(|part| self.label.contains(part));
        is_in_place && is_of_record || self.name == "write" && self.label.starts_with("1<")
    }

    /// Returns true if it is the call of that number in every run. Files are also opened to be read, and compressed in more or
    /// fewer writes.
    pub fn is_surely_met(&self) -> bool {
        !["openat", "write"].contains(&self.name.as_str())
    }

    /// An error with which this call can fail on a disk that is full, broken, or not ours: each in its turn.
    pub fn error(&self, turn: usize) -> &'static str {
        let errors: &[&str] = match self.name.as_str() {
            "openat" => &["EMFILE", "EACCES", "ENOSPC"],
            "write" | "pwrite64" | "copy_file_range" => &["ENOSPC", "EIO"],
            "rename" | "renameat" | "renameat2" | "mkdir" | "mkdirat" => &["ENOSPC", "EACCES"],
            "unlink" | "unlinkat" | "rmdir" => &["EACCES"],
            _ => &["EIO"],
        };
        errors[turn % errors.len()]
    }
}

impl Struck {
    /// A run that was killed at no point that could be told.
    pub fn killed(run: &Run) -> Self {
        let stderr = run.talk();
        Self { code: None, stdout: run.text(), stderr, neighbour: None, by_chance: 0 }
    }
}

impl fmt::Display for Point {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} no. {}: {}", self.name, self.nth, self.label)
    }
}

impl fmt::Display for Injection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Kill => f.write_str("killed"),
            Self::Error(error) => f.write_str(error),
        }
    }
}

/// Without strace nothing of this can be shown. Where everything must be shown, that is a failure.
pub fn is_strace_missing() -> bool {
    #[expect(clippy::disallowed_methods, reason = "a test that asks whether a tool is there")]
    let found = Command::new("strace").arg("-V").output().is_ok();
    #[expect(clippy::disallowed_methods, reason = "only the test itself is asked")]
    let must = std::env::var_os("CI").is_some_and(|value| value == "true");
    assert!(found || !must, "strace is not installed: apt-get install strace");
    if !found {
        println!("skipped: strace is not installed");
    }
    !found
}

/// All points of a call of our program, in their order. Of removals of objects that follow each other, the first.
pub fn list(sandbox: &Sandbox, words: &str) -> Vec<Point> {
    let (_, trace) = traced(sandbox, words, &[]);
    let mut counts = std::collections::BTreeMap::<String, (usize, usize)>::new();
    let mut points = Vec::new();
    let mut is_after_child = false;
    for line in trace.lines() {
        is_after_child |= line.starts_with("--- SIGCHLD");
        let Some((name, label)) = parse(line, sandbox) else { continue };
        let (nth, by_chance) = counts.entry(name.clone()).or_default();
        if is_by_chance(line) {
            *by_chance += 1;
            continue;
        }
        *nth += 1;
        let is_reading =
            name == "openat" && !["O_CREAT", "O_WRONLY", "O_RDWR"].iter().any(|flag| line.contains(flag));
        let is_without_effect = line.contains(" = -1 ");
        let is_next_removal =
            label == OBJECTS && points.last().is_some_and(|last: &Point| last.label == OBJECTS);
        if !is_reading && !is_without_effect && !is_next_removal {
            points.push(Point { name, nth: *nth, by_chance: *by_chance, label, is_after_child });
            is_after_child = false;
        }
    }
    points
}

/// Makes the call with the injection at `point`.
pub fn inject(sandbox: &Sandbox, words: &str, point: &Point, injection: Injection) -> Struck {
    let what = match injection {
        Injection::Kill => "signal=KILL".to_owned(),
        Injection::Error(error) => format!("error={error}"),
    };
    let option = format!("inject={}:{what}:when={}", point.name, point.nth + point.by_chance);
    let (output, trace) = traced(sandbox, words, &["-e", &option]);
    let calls: Vec<_> =
        trace.lines().filter_map(|line| parse(line, sandbox).map(|call| (line, call))).collect();
    let place = match injection {
        Injection::Kill => calls.len().checked_sub(1),
        Injection::Error(_) => calls.iter().position(|(line, _)| line.contains("(INJECTED)")),
    };
    let hit = place.map(|place| &calls[place].1);
    // With the call that was hit, so that a second try does not strike at it again.
    let until = &calls[..place.map_or(calls.len(), |place| place + 1)];
    let by_chance =
        until.iter().filter(|(line, (name, _))| *name == point.name && is_by_chance(line)).count();
    let is_killed = trace.contains("+++ killed by SIGKILL +++");
    let is_struck = is_killed == matches!(injection, Injection::Kill);
    let is_met = is_struck && hit.is_some_and(|(name, label)| *name == point.name && *label == point.label);
    Struck {
        code: output.status.code().filter(|_| !is_killed),
        stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
        stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        by_chance,
        neighbour: (!is_met)
            .then(|| hit.map_or_else(|| "nothing".to_owned(), |(name, label)| format!("{name}: {label}"))),
    }
}

/// Runs our program under strace. Children and other threads are not traced, so that the counts are the same in
/// every run.
fn traced(sandbox: &Sandbox, words: &str, options: &[&str]) -> (std::process::Output, String) {
    let trace = sandbox.outside("trace");
    let call = sandbox.call(words).command();
    let mut strace = sandbox.hermetic("strace");
    strace.arg("-y").args(["-o".as_ref(), trace.as_os_str()]).args(["-e", &format!("trace={CALLS}")]);
    strace.args(options).arg("--").arg(call.get_program()).args(call.get_args());
    for (name, value) in call.get_envs() {
        if let Some(value) = value {
            strace.env(name, value);
        }
    }
    strace.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut traced = strace.spawn().expect("strace is installed");
    // One of several loops works as long as what started it holds this.
    let _stdin = traced.stdin.take();
    let output = traced.wait_with_output().expect("strace ends with what it traces");
    let text =
        String::from_utf8_lossy(&fs::read(&trace).expect("strace writes where it is told")).into_owned();
    (output, text)
}

/// Returns true if a call is made a different number of times in each run: the word of a handler of signals that a child
/// ended, which comes or not as the child is quick or slow, and a look at one of the machine's processes.
fn is_by_chance(line: &str) -> bool {
    (line.contains("<pipe:") && line.contains(", \"X\", 1")) || line.contains("\"/proc/")
}

/// Name and label of the call in a line of a trace.
fn parse(line: &str, sandbox: &Sandbox) -> Option<(String, String)> {
    let (name, rest) = line.split_once('(')?;
    if !name.bytes().all(|byte| byte.is_ascii_alphanumeric()) {
        return None;
    }
    let arguments = rest.rsplit_once(" = ").map_or(rest, |(arguments, _)| arguments);
    let label = match name {
        // What is written, and when, differs from run to run.
        "write" | "pwrite64" | "utimensat" | "copy_file_range" => arguments.split(", ").next()?.to_owned(),
        // Of objects, a folder is removed for the first two digits of each id, which differ from run to run.
        "unlinkat" if HOLD_OBJECTS.iter().any(|folder| arguments.contains(folder)) => OBJECTS.to_owned(),
        _ => arguments.trim_end().trim_end_matches(')').to_owned(),
    };
    let root = sandbox.outside("").display().to_string();
    let label = label.replace(root.trim_end_matches('/'), "");
    Some((name.to_owned(), without_salt(&without_numbers(&without_sessions(without_descriptor(&label))))))
}

/// With `SESSION` for the ids of sessions, which on a clock that steps end in eight noughts.
fn without_sessions(label: &str) -> String {
    const TIME: usize = "20260101-000000".len();
    let mut parts = label.split("-00000000").peekable();
    let mut clean = String::new();
    while let Some(part) = parts.next() {
        let is_id = parts.peek().is_some();
        let end = if is_id { part.len().saturating_sub(TIME) } else { part.len() };
        clean.push_str(&part[..end]);
        clean.push_str(if is_id { "SESSION" } else { "" });
    }
    clean
}

/// Without the number of a descriptor, which depends on what other threads have open, unless it is an output of ours.
fn without_descriptor(label: &str) -> &str {
    match label.split_once('<') {
        Some((number, _)) if number.parse::<u32>().is_ok_and(|number| number > 2) => &label[number.len()..],
        _ => label,
    }
}

/// Without the number of the process that files are named after, and the hash of the path that a folder of lanes is.
fn without_numbers(label: &str) -> String {
    let mut clean = label.to_owned();
    for before in ["scratch/", "/new-", "/lanes/"] {
        let mut parts = clean.split(before);
        let first = parts.next().unwrap_or_default();
        let rest = parts.map(|part| part.trim_start_matches(|letter: char| letter.is_ascii_hexdigit()));
        clean = std::iter::once(first).chain(rest).collect::<Vec<_>>().join(before);
    }
    clean
}

/// Without the six random letters of temporary names, and without the numbers of pipes and objects.
fn without_salt(label: &str) -> String {
    let mut clean = String::new();
    let mut rest = label;
    while let Some((before, after)) = rest.split_once(".tmp") {
        clean.push_str(before);
        clean.push_str(".tmp");
        rest = after.get(6..).unwrap_or_default();
    }
    clean.push_str(rest);
    let hex = |letter: char| if letter.is_ascii_hexdigit() { '*' } else { letter };
    for named_by_hash in ["objects/", "ralph/sync/"] {
        if let Some((before, after)) = clean.split_once(named_by_hash) {
            return format!("{before}{named_by_hash}{}", after.chars().map(hex).collect::<String>());
        }
    }
    match clean.split_once("<pipe:") {
        Some((before, _)) => format!("{before}<pipe"),
        None => clean,
    }
}

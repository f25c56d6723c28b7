//! What a power cut may take, shown on the system calls of a session.
//!
//! A session runs under `strace`, its children and threads with it. From the calls follows, for each moment, what a
//! disk may hold that lost its power right then, on a file system that promises no more than POSIX:
//!
//! - the content of a file is safe from its last sync on; what was written since may be there, or in part, or not;
//! - a name that was made, moved or taken away is as it was or as it is, until its folder is synced; the two
//!   ends of a move come one by one, and no sync of a file keeps its name;
//! - what is in a folder is there only if the folder's own name is.
//!
//! At every moment, in each of these states, a ref of ours must be gone or whole, and all that a whole one leads to must be
//! whole. From the moment an iteration is said to be recorded, the ref must lead to it in each of them.
//!
//! Limits: this is a model, not a disk that was cut off. Disks that lie about a sync, or tear what they had written
//! before, are not in it, nor writes through mapped memory. Packed refs and packs are not made in the
//! scene. What was there before the session counts as safe.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use crate::points;
use crate::sandbox::{Sandbox, sound};

/// What changes files or makes them safe, and what is needed to understand the paths.
const CALLS: &str = "chdir,openat,creat,write,writev,pwrite64,pwritev,copy_file_range,sendfile,rename,renameat,\
    renameat2,mkdir,mkdirat,link,linkat,unlink,unlinkat,rmdir,fsync,fdatasync,syncfs,sync,truncate,ftruncate";

/// Two iterations, so that a ref is also written over.
const AGENT: &str = r#"
[[turn]]
do = [
  { say = "I write it." },
  { run = "date +%N >>hello.txt" },
  { tick = "current" },
]
"#;

/// A file or folder, whatever its names.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Node {
    /// Text of its content as far as it matters, which is for refs.
    text: String,
    is_synced: bool,
}

/// The number of a node. None stands for a name that leads nowhere.
type Binding = Option<usize>;

/// What a session did, and what it began with.
struct Trace {
    lines: Vec<String>,
    root: PathBuf,
    /// Everything that was there before.
    before: BTreeSet<PathBuf>,
    /// What each commit leads to: all objects.
    reach: BTreeMap<String, BTreeSet<String>>,
}

/// The file system as the calls so far have left it.
#[derive(Default)]
struct Disk<'a> {
    root: PathBuf,
    before: BTreeSet<&'a Path>,
    nodes: Vec<Node>,
    /// Where names lead now, for all that were touched.
    names: BTreeMap<PathBuf, Binding>,
    /// Where they may lead after a power cut, for all that were touched since their folder was synced.
    unsure: BTreeMap<PathBuf, BTreeSet<Binding>>,
    /// The working folders of processes that changed it.
    folders: BTreeMap<String, PathBuf>,
}

/// A call of the trace, taken apart.
struct Call<'a> {
    process: &'a str,
    name: &'a str,
    arguments: Vec<&'a str>,
    result: &'a str,
}

impl<'a> Call<'a> {
    fn parse(line: &'a str) -> Option<Self> {
        let (process, rest) = line.split_once(' ')?;
        let (name, rest) = rest.trim_start().split_once('(')?;
        let (arguments, result) = rest.rsplit_once(" = ")?;
        let is_call = name.bytes().all(|byte| byte.is_ascii_alphanumeric());
        let arguments = arguments.trim_end().strip_suffix(')')?;
        (is_call && !result.starts_with('-')).then(|| Self {
            process,
            name,
            arguments: split(arguments),
            result,
        })
    }
}

/// Splits at the commas that stand outside of quotes.
fn split(arguments: &str) -> Vec<&str> {
    let (mut parts, mut begin, mut is_quoted, mut is_escaped) = (Vec::new(), 0, false, false);
    for (place, letter) in arguments.char_indices() {
        match letter {
            _ if is_escaped => is_escaped = false,
            '\\' => is_escaped = true,
            '"' => is_quoted = !is_quoted,
            ',' if !is_quoted => {
                parts.push(arguments[begin..place].trim());
                begin = place + 1;
            }
            _ => {}
        }
    }
    parts.push(arguments[begin..].trim());
    parts
}

/// The path that strace shows behind a descriptor: `5</a/b>`.
fn described(argument: &str) -> Option<&Path> {
    let (_, path) = argument.split_once('<')?;
    path.strip_suffix('>').map(Path::new).filter(|path| path.is_absolute())
}

/// Puts together what strace tells in two lines because another process came between.
fn joined(trace: &str) -> Vec<String> {
    let mut begun = BTreeMap::new();
    let mut lines = Vec::new();
    for line in trace.lines() {
        let process = line.split(' ').next().unwrap_or_default();
        if let Some(start) = line.strip_suffix("<unfinished ...>") {
            begun.insert(process, start);
        } else if let Some((_, end)) = line.split_once(" resumed>") {
            let start = begun.remove(process).expect("what is resumed was begun");
            lines.push(format!("{}{end}", start.trim_end()));
        } else {
            lines.push(line.to_owned());
        }
    }
    lines
}

impl<'a> Disk<'a> {
    fn new(trace: &'a Trace) -> Self {
        let before = trace.before.iter().map(PathBuf::as_path).collect();
        Self { root: trace.root.clone(), before, ..Self::default() }
    }

    /// Where a name leads now. What was there before the trace is made known when it is first met.
    fn find(&mut self, path: &Path) -> Binding {
        if let Some(binding) = self.names.get(path) {
            return *binding;
        }
        let found =
            self.before.contains(path).then(|| self.node(Node { is_synced: true, ..Node::default() }));
        self.names.insert(path.to_owned(), found);
        found
    }

    fn node(&mut self, node: Node) -> usize {
        self.nodes.push(node);
        self.nodes.len() - 1
    }

    fn bind(&mut self, path: &Path, binding: Binding) {
        let old = self.find(path);
        let unsure = self.unsure.entry(path.to_owned()).or_default();
        unsure.extend([old, binding]);
        self.names.insert(path.to_owned(), binding);
    }

    fn create(&mut self, path: &Path) {
        let node = self.node(Node::default());
        self.bind(path, Some(node));
    }

    fn path(&self, call: &Call<'_>, folder: Option<usize>, name: usize) -> Option<PathBuf> {
        let name = call.arguments.get(name)?.strip_prefix('"')?.strip_suffix('"')?;
        let own = self.folders.get(call.process).map_or(self.root.as_path(), PathBuf::as_path);
        let base = folder.and_then(|folder| described(call.arguments.get(folder)?)).unwrap_or(own);
        Some(base.join(name))
    }

    fn rename(&mut self, from: &Path, to: &Path) {
        let node = self.find(from);
        // With a folder goes all that is in it.
        let inside: Vec<_> = self
            .names
            .iter()
            .filter(|(path, _)| path.starts_with(from) && *path != from)
            .map(|(path, binding)| (path.clone(), *binding))
            .collect();
        for (path, binding) in inside {
            let moved = to.join(path.strip_prefix(from).expect("it starts with it"));
            let unsure = self.unsure.remove(&path);
            self.names.insert(path, None);
            self.names.insert(moved.clone(), binding);
            if let Some(unsure) = unsure {
                self.unsure.insert(moved, unsure);
            }
        }
        self.bind(from, None);
        self.bind(to, node);
    }

    fn sync(&mut self, path: &Path) {
        if let Some(node) = self.find(path) {
            self.nodes[node].is_synced = true;
        }
        self.unsure.retain(|name, _| name.parent() != Some(path));
    }

    fn write(&mut self, path: &Path, text: &str) {
        if let Some(node) = self.find(path) {
            let node = &mut self.nodes[node];
            node.is_synced = false;
            node.text.push_str(text);
        }
    }

    fn apply(&mut self, call: &Call<'_>) -> Option<()> {
        let first = || call.arguments.first().copied().and_then(described);
        match call.name {
            "chdir" => {
                let folder = self.path(call, None, 0)?;
                self.folders.insert(call.process.to_owned(), folder);
            }
            "openat" | "creat" => {
                let path = described(call.result)?;
                let flags = call.arguments.get(2).copied().unwrap_or("O_CREAT|O_TRUNC");
                if flags.contains("O_CREAT") && self.find(path).is_none() {
                    self.create(path);
                }
                if flags.contains("O_TRUNC")
                    && let Some(node) = self.find(path)
                {
                    self.nodes[node] = Node::default();
                }
            }
            "write" | "writev" | "pwrite64" | "pwritev" => {
                let text = call.arguments.get(1)?.trim_matches('"').replace("\\n", "\n");
                self.write(first()?, &text);
            }
            "copy_file_range" => self.write(described(call.arguments.get(2)?)?, ""),
            "sendfile" | "ftruncate" => self.write(first()?, ""),
            "truncate" => self.write(&self.path(call, None, 0)?, ""),
            "mkdir" => self.create(&self.path(call, None, 0)?),
            "mkdirat" => self.create(&self.path(call, Some(0), 1)?),
            "rename" => self.rename(&self.path(call, None, 0)?, &self.path(call, None, 1)?),
            "renameat" | "renameat2" => {
                self.rename(&self.path(call, Some(0), 1)?, &self.path(call, Some(2), 3)?);
            }
            "link" | "linkat" => {
                let is_at = call.name == "linkat";
                let (from, to) = if is_at {
                    (self.path(call, Some(0), 1)?, self.path(call, Some(2), 3)?)
                } else {
                    (self.path(call, None, 0)?, self.path(call, None, 1)?)
                };
                let node = self.find(&from);
                self.bind(&to, node);
            }
            "unlink" | "rmdir" => self.bind(&self.path(call, None, 0)?, None),
            "unlinkat" => self.bind(&self.path(call, Some(0), 1)?, None),
            "fsync" | "fdatasync" => self.sync(first()?),
            "sync" | "syncfs" => {
                self.nodes.iter_mut().for_each(|node| node.is_synced = true);
                self.unsure.clear();
            }
            _ => {}
        }
        Some(())
    }

    /// What a name may lead to after a power cut: none where it may be gone.
    fn after_a_cut(&self, path: &Path) -> Vec<Option<Node>> {
        let whole = || Some(Node { is_synced: true, ..Node::default() });
        let node = |binding: &Binding| binding.map(|node| self.nodes[node].clone());
        let mut states: Vec<_> = match (self.unsure.get(path), self.names.get(path)) {
            (Some(bindings), _) => bindings.iter().map(node).collect(),
            (None, Some(binding)) => vec![node(binding)],
            (None, None) => vec![self.before.contains(path).then(whole).flatten()],
        };
        let folders = path.ancestors().skip(1).take_while(|folder| *folder != self.root);
        for folder in folders {
            if self.unsure.get(folder).is_some_and(|bindings| bindings.contains(&None)) {
                states.push(None);
            }
        }
        states
    }
}

impl Trace {
    /// A session in a fresh repository, in which these words were said to git before.
    fn record(git: &str) -> Self {
        let sandbox = Sandbox::new();
        sandbox.git(git);
        sandbox.tasks("- [ ] T001 One\n- [ ] T002 Two").agent_script(AGENT).validate("true");
        let root = sandbox.repo().to_owned();
        // Folders count as well, and git's own are among them.
        let mut before = BTreeSet::new();
        for file in sound::files(&root) {
            before.extend(file.ancestors().map(Path::to_owned));
        }
        before.insert(root.join(".git/refs"));
        let file = sandbox.outside("trace");
        let call = sandbox.call("run --json").command();
        let mut strace = sandbox.hermetic("strace");
        strace.args(["-f", "-y", "-s", "4096", "-o"]).arg(&file).args(["-e", &format!("trace={CALLS}")]);
        strace.arg("--").arg(call.get_program()).args(call.get_args());
        strace.envs(call.get_envs().filter_map(|(name, value)| Some((name, value?))));
        let output = strace.output().expect("strace is installed");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let text = String::from_utf8_lossy(&fs::read(&file).expect("strace writes")).into_owned();
        let mut reach = BTreeMap::new();
        for commit in sandbox.git(["log", "--all", "--glob=refs/ralph*", "--format=%H"]).lines() {
            let objects = sandbox.git(["rev-list", "--objects", "--no-object-names", commit]);
            reach.insert(commit.to_owned(), objects.lines().map(str::to_owned).collect());
        }
        Self { lines: joined(&text), root, before, reach }
    }

    /// Every way in which a power cut would lose something, and how many iterations were said to be recorded.
    fn check(&self) -> (Vec<String>, usize) {
        let mut disk = Disk::new(self);
        let mut complaints = Vec::new();
        let mut acknowledged = Vec::new();
        for line in &self.lines {
            let Some(call) = Call::parse(line) else { continue };
            let told = told_commit(&call);
            acknowledged.extend(told.clone());
            let effect = disk.apply(&call);
            if effect.is_none() && told.is_none() {
                continue;
            }
            for complaint in self.complaints(&disk, &acknowledged) {
                complaints.push(format!("{complaint}\n  after {}", line.get(..200).unwrap_or(line)));
            }
            if told.is_some() {
                complaints.extend(self.unsettled(&disk));
            }
        }
        complaints.extend(self.unsettled(&disk));
        (complaints, acknowledged.len())
    }

    fn refs<'d>(&self, disk: &'d Disk<'_>) -> Vec<&'d PathBuf> {
        let ours = ["refs/ralph", "refs/ralph-snap"].map(|prefix| self.root.join(".git").join(prefix));
        let names = disk.names.keys().filter(|path| ours.iter().any(|ours| path.starts_with(ours)));
        // Names of refs, and not their folders or locks.
        names
            .filter(|path| path.components().count() == ours[0].components().count() + 2)
            .filter(|path| path.extension().is_none())
            .collect()
    }

    /// What is wrong in one of the states that a cut may leave right now.
    fn complaints(&self, disk: &Disk<'_>, acknowledged: &[String]) -> Vec<String> {
        let mut complaints = Vec::new();
        for path in self.refs(disk) {
            let name = path.strip_prefix(&self.root).expect("it is ours").display();
            let is_log = path.starts_with(self.root.join(".git/refs/ralph"));
            for state in disk.after_a_cut(path) {
                let Some(node) = state else {
                    if is_log && !acknowledged.is_empty() {
                        complaints.push(format!("{name} may be gone, and with it {acknowledged:?}"));
                    }
                    continue;
                };
                if !node.is_synced {
                    complaints.push(format!("{name} may be torn"));
                    continue;
                }
                let Some(objects) = self.reach.get(node.text.trim()) else {
                    complaints.push(format!("{name} holds {:?}, which is no commit", node.text));
                    continue;
                };
                if is_log && let Some(lost) = acknowledged.iter().find(|told| !objects.contains(*told)) {
                    complaints.push(format!("{name} may not lead to {lost}, which was said to be recorded"));
                }
                let broken = objects.iter().filter(|object| !self.is_whole(disk, object));
                complaints.extend(
                    broken.map(|object| format!("{name} leads to {object}, which may be torn or gone")),
                );
            }
        }
        complaints
    }

    fn is_whole(&self, disk: &Disk<'_>, object: &str) -> bool {
        let path = self.root.join(".git/objects").join(&object[..2]).join(&object[2..]);
        disk.after_a_cut(&path).iter().all(|state| state.as_ref().is_some_and(|node| node.is_synced))
    }

    /// The refs that may be other than they are. There are none when something was just said to be recorded.
    fn unsettled(&self, disk: &Disk<'_>) -> Vec<String> {
        let refs = self.refs(disk).into_iter();
        let is_unsettled = |path: &&PathBuf| {
            let states = disk.after_a_cut(path);
            states.windows(2).any(|pair| pair[0] != pair[1])
        };
        refs.filter(is_unsettled).map(|path| format!("{} is not settled yet", path.display())).collect()
    }

    /// Where files and folders with this in their path are synced.
    fn syncs(&self, part: &str) -> Vec<usize> {
        let is_it = |line: &str| {
            line.contains(part)
                && Call::parse(line).is_some_and(|call| ["fsync", "syncfs"].contains(&call.name))
        };
        let lines = self.lines.iter().enumerate();
        lines.filter(|(_, line)| is_it(line)).map(|(place, _)| place).collect()
    }

    /// The trace without some of its lines.
    fn without(&self, places: &[usize]) -> Self {
        let lines = self.lines.iter().enumerate().filter(|(place, _)| !places.contains(place));
        Self {
            lines: lines.map(|(_, line)| line.clone()).collect(),
            root: self.root.clone(),
            before: self.before.clone(),
            reach: self.reach.clone(),
        }
    }
}

/// The commit of an iteration that is said to be recorded by this call.
fn told_commit(call: &Call<'_>) -> Option<String> {
    let is_told = call.name == "write" && call.arguments.first()?.starts_with("1<");
    let text = call.arguments.get(1).filter(|text| is_told && text.contains("iteration_recorded"))?;
    let (_, commit) = text.split_once(r#"\"commit\":\""#)?;
    Some(commit.split('\\').next()?.to_owned())
}

#[test]
fn a_power_cut_at_any_moment_leaves_refs_that_lead_to_whole_objects_and_all_that_was_acknowledged() {
    if points::is_strace_missing() {
        return;
    }
    let trace = Trace::record("status");
    is_sound(&trace);

    // The checker sees: a session that left out some of its syncs would be found.
    for (what, part) in [
        ("the content of objects", "/project/.git/ralph/spool/"),
        ("the names in the folder of objects", "/.git/objects>"),
        ("the content of refs", ".lock>"),
        ("the names of logs", "/.git/refs/ralph/001-login>"),
        ("the names of snapshots", "/.git/refs/ralph-snap/001-login>"),
        ("the folders of logs", "/.git/refs/ralph>"),
        ("the folders of refs", "/.git/refs>"),
    ] {
        let places = trace.syncs(part);
        assert!(!places.is_empty(), "{what}: never synced");
        assert!(!trace.without(&places).check().0.is_empty(), "{what}: nobody misses these syncs");
    }
    for place in trace.syncs(".lock>") {
        assert!(!trace.without(&[place]).check().0.is_empty(), "nobody misses `{}`", trace.lines[place]);
    }
}

#[test]
fn where_refs_are_packed_a_power_cut_finds_the_same_and_their_lock_is_never_taken() {
    if points::is_strace_missing() {
        return;
    }
    let trace = Trace::record("pack-refs --all");
    is_sound(&trace);
    // Nobody would take it away when we are killed.
    let locking =
        trace.lines.iter().find(|line| line.contains("packed-refs.lock") && line.contains("O_CREAT"));
    assert_eq!(locking, None);
}

#[track_caller]
fn is_sound(trace: &Trace) {
    let (complaints, acknowledged) = trace.check();
    let shown = complaints.iter().take(12).cloned().collect::<Vec<_>>().join("\n");
    assert!(complaints.is_empty(), "{} complaints\n{shown}", complaints.len());
    assert_eq!(acknowledged, 2, "the acknowledgements must be seen in the trace");
}

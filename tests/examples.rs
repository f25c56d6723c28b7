//! The examples of the documents are played in a recorded project: their commands must succeed, and the output that is
//! shown must be what is printed.
//!
//! | fence | |
//! |---|---|
//! | `console` | commands after `$ ` and their output, which is compared, or written with `RALPH_WRITE_DOCS=1` |
//! | `sh` | commands that must succeed; `COMMIT` and `SESSION` are ids of the recorded project |
//! | `sh,no_run` | commands that need a program or an account that a test does not have |
//! | `toml` | settings that must be valid |
//! | `text` | anything without commands |
//!
//! README is typed from top to bottom: its `sh` blocks are played in one project, one after the other.

#![expect(clippy::unwrap_used, reason = "a document that is not as expected has failed its test")]

use std::path::{Path, PathBuf};

use regex::Regex;

use crate::sandbox::{Sandbox, WILLING_AGENT};

/// Where the documents show the project to be.
const SHOWN_FOLDER: &str = "/tmp/ralph-demo";

/// The day that is recorded and shown: what is printed has weekdays in it, and examples name dates.
const DAY: &str = "2026-11-27";

/// What the commands of a `sh,no_run` block begin with: other people's programs, and builds.
const NOT_RUN: [&str; 6] = ["cargo ", "docker ", "specify extension ", "specify workflow ", "sudo ", "tmux "];

/// What the project has beside what the demo recorded: tasks with stories, for an agent that does them.
const MORE_TASKS: &str = "\n## Phase 3: User Story 1\n\n- [ ] T006 [US1] Log in\n- [ ] T007 [US1] Log out\n\n\
                          ## Phase 4: Polish\n\n- [ ] T008 Write a manual\n- [ ] T009 Write a changelog\n";

#[derive(Debug)]
struct Block {
    fence: String,
    /// Its line in the document, from 1.
    line: usize,
    text: String,
}

fn blocks(document: &str) -> Vec<Block> {
    let mut found = Vec::new();
    let mut open: Option<Block> = None;
    for (index, line) in document.lines().enumerate() {
        let fence = line.strip_prefix("```");
        match (open.as_mut(), fence) {
            (None, Some(fence)) => {
                open = Some(Block { fence: fence.to_owned(), line: index + 1, text: String::new() });
            }
            (Some(_), Some("")) => found.extend(open.take()),
            (Some(block), _) => {
                block.text.push_str(line);
                block.text.push('\n');
            }
            (None, None) => {}
        }
    }
    assert!(open.is_none(), "a block of code has no end: {open:?}");
    found
}

/// A project with a recorded session, from which each block gets a copy.
struct Project {
    scene: Sandbox,
    commit: String,
    session: String,
}

impl Project {
    fn new() -> Self {
        let scene = Sandbox::without_repository("none");
        scene.skip_final_fsck();
        // Programs that examples pipe into or start.
        for (name, script) in [
            ("cargo", "exit 0"),
            ("gh", "cat >/dev/null"),
            ("jq", "cat >/dev/null"),
            ("npm", "exit 0"),
            ("xdg-open", "exit 0"),
        ] {
            scene.program(name, script);
        }
        std::fs::create_dir_all(scene.outside("home/.local/share/bash-completion/completions")).unwrap();
        let mut project = Self { scene, commit: String::new(), session: String::new() };
        let setup = "specify ralph demo --dir recorded >/dev/null && cd recorded && \
                     git clone --quiet --bare . ../origin.git && git clone --quiet --bare . ../upstream.git && \
                     git remote add origin ../../origin.git && git remote add upstream ../../upstream.git && \
                     git config ralph.remote origin && \
                     git log --glob='refs/ralph/*' --grep ' iteration 3,' --format='%H %(trailers:key=Ralph-Session,valueonly)'";
        let root = project.scene.outside("");
        let (printed, status) = project.shell(&root, &format!("{}{setup}", at(95)));
        assert_eq!(status, 0, "{printed}");
        let (commit, session) =
            printed.trim().rsplit_once('\n').unwrap_or(("", &printed)).1.split_once(' ').unwrap();
        (project.commit, project.session) = (commit.to_owned(), session.trim().to_owned());
        let list = root.join("recorded/specs/001-greeting/tasks.md");
        let tasks = std::fs::read_to_string(&list).unwrap();
        std::fs::write(&list, tasks + MORE_TASKS).unwrap();
        std::fs::write(root.join("recorded/agent.toml"), WILLING_AGENT).unwrap();
        project
    }

    /// Runs a script, and returns what it prints and its exit code.
    fn shell(&self, directory: &Path, script: &str) -> (String, i32) {
        let mut command = self.scene.hermetic("/bin/sh");
        command.arg("-c").arg(format!("exec 2>&1 </dev/null\n{script}")).current_dir(directory);
        let output = command.env_remove("SPECKIT_RALPH_VALIDATION_BASELINE").output().unwrap();
        (String::from_utf8_lossy(&output.stdout).into_owned(), output.status.code().unwrap_or(-1))
    }

    /// A folder that holds a copy of the project, as `ralph-demo`.
    fn copy(&self, is_empty: bool) -> tempfile::TempDir {
        let folder = tempfile::Builder::new().prefix("play-").tempdir_in(self.scene.outside("")).unwrap();
        if !is_empty {
            let (printed, status) = self.shell(folder.path(), "cp -R ../recorded ralph-demo");
            assert_eq!(status, 0, "{printed}");
        }
        folder
    }

    /// What each command prints, and its exit code. They are run by one shell, one after the other.
    fn play(&self, commands: &[String]) -> Vec<(String, i32)> {
        let makes_project = commands[0].starts_with("specify ralph demo");
        let folder = self.copy(makes_project);
        let root = folder.path().canonicalize().unwrap();
        let project = root.join("ralph-demo");
        let project = project.to_str().unwrap();
        let directory = if makes_project { root.as_path() } else { Path::new(project) };
        let mut script = String::new();
        for (place, command) in commands.iter().enumerate() {
            let command = command.replace(SHOWN_FOLDER, project);
            let command = command.replace("COMMIT", &self.commit).replace("SESSION", &self.session);
            // Of a sandbox, the lane needs no program that may not be here. tests/spec-kit/first_night.py plays the whole.
            let command = command.replace("--sandbox", "--lane");
            script.push_str(&format!("{}{command}\nprintf '\\n\\001%s\\001' \"$?\"\n", at(480 + 4 * place)));
        }
        let (printed, _) = self.shell(directory, &script);
        let printed = printed.replace(project, SHOWN_FOLDER);
        let mut parts = printed.split('\u{1}');
        let outputs = commands.iter().map(|command| {
            let output = parts.next().unwrap().trim_end().to_owned();
            let code = parts.next().unwrap_or_else(|| panic!("`{command}` ended the shell: {output}"));
            (output, code.parse().unwrap())
        });
        outputs.collect()
    }

    fn play_console(&self, block: &Block) -> String {
        let commands: Vec<String> =
            block.text.lines().filter_map(|line| line.strip_prefix("$ ")).map(str::to_owned).collect();
        assert!(block.text.starts_with("$ "), "a console block begins with a command: {}", block.text);
        let outputs = self.play(&commands);
        let parts = commands.iter().zip(outputs).map(|(command, (output, _))| {
            if output.is_empty() { format!("$ {command}\n") } else { format!("$ {command}\n{output}\n") }
        });
        parts.collect::<Vec<_>>().join("\n")
    }

    /// Returns the commands that failed, with what they printed.
    fn play_sh(&self, block: &Block) -> Vec<String> {
        let commands: Vec<String> =
            block.text.lines().filter(|line| !line.is_empty()).map(str::to_owned).collect();
        let outputs = commands.iter().zip(self.play(&commands));
        // A run ends at its limit with 4.
        let failed =
            outputs.filter(|(command, (_, code))| *code != 0 && (*code != 4 || !command.contains(" -n ")));
        failed.map(|(command, (output, code))| format!("`{command}` exited {code}: {output}")).collect()
    }

    fn read_settings(&self, block: &Block) -> Option<String> {
        let folder = self.copy(false);
        let project = folder.path().join("ralph-demo");
        std::fs::write(project.join(".specify/ralph.toml"), &block.text).unwrap();
        let (printed, code) = self.shell(&project, "specify ralph config --all >/dev/null");
        (code != 0 || !printed.is_empty()).then_some(printed)
    }
}

/// A line of a script, after which it is this minute of [`DAY`], and time passes as on the machine.
fn at(minute: usize) -> String {
    format!("export RALPH_TEST_CLOCK='{DAY}T{:02}:{:02}:00Z x1'\n", minute / 60, minute % 60)
}

/// A text with what differs from run to run taken out: ids, times, sizes, and the blanks that align them.
fn masked(output: &str) -> Vec<String> {
    let rules = [
        (r"\d{8}-\d{6}-[0-9a-f]{8}", "SESSION"),
        (r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\dZ?)?( \+\d\d:\d\d)?|\b\d\d:\d\d\b", "TIME"),
        (r"\b[0-9a-f]{40}\b|\b[0-9a-f]{7,10}\b", "COMMIT"),
        (r"\b(\d+ ?h ?)?(\d+ ?min ?|\d+ ?m ?)?[\d.]+ ?m?s\b", "DURATION"),
        (r"\b[\d.,]+ (bytes|KB|MB)\b", "SIZE"),
        (r"\b\d+ tokens\b", "TOKENS"),
        // The card of a demo that took less than a second, or whose clock was set back, says no time.
        (r" · DURATION$", ""),
        (r" +", " "),
    ]
    .map(|(rule, word)| (Regex::new(rule).unwrap(), word));
    let mask = |line: &str| {
        let replaced = rules
            .iter()
            .fold(line.to_owned(), |line, (rule, word)| rule.replace_all(&line, *word).into_owned());
        replaced.trim_end().to_owned()
    };
    output.lines().map(mask).collect()
}

/// Plays one block; returns what is wrong with it, and the text that it should have.
fn check(project: &Project, block: &Block) -> (Vec<String>, Option<String>) {
    let has_command = block.text.lines().any(|line| line.starts_with("$ "));
    match block.fence.as_str() {
        "console" => {
            let played = project.play_console(block);
            let (shown, is) = (masked(&block.text), masked(&played));
            let same = shown.iter().zip(&is).take_while(|(shown, is)| shown == is).count();
            if same == shown.len() && same == is.len() {
                return (Vec::new(), None);
            }
            let at = format!("line {same}: {:?} is shown, {:?} is printed", shown.get(same), is.get(same));
            (vec![at], Some(played))
        }
        "sh" => (project.play_sh(block), None),
        "sh,no_run" => {
            let mut lines = block.text.lines();
            let needs_more = lines.any(|line| NOT_RUN.iter().any(|start| line.starts_with(start)));
            (if needs_more { Vec::new() } else { vec!["this could be run".to_owned()] }, None)
        }
        "toml" => (project.read_settings(block).into_iter().collect(), None),
        "text" if has_command => (vec!["commands belong into a console block".to_owned()], None),
        "text" => (Vec::new(), None),
        other => (vec![format!("unknown fence `{other}`")], None),
    }
}

fn blocks_to_play(document: &Path, text: &str) -> Vec<Block> {
    let found = blocks(text);
    if !document.ends_with("README.md") {
        return found;
    }
    let (typed, mut others): (Vec<_>, Vec<_>) = found.into_iter().partition(|block| block.fence == "sh");
    others.extend(typed.into_iter().reduce(|mut all, block| {
        all.text.push_str(&block.text);
        all
    }));
    others
}

fn documents() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let folders = ["", "docs", "docs/decisions", "docs/dev", "extension"].map(|folder| root.join(folder));
    let files = folders.iter().flat_map(|folder| std::fs::read_dir(folder).unwrap());
    let paths = files.map(|file| file.unwrap().path());
    paths.filter(|path| path.extension().is_some_and(|extension| extension == "md")).collect()
}

#[test]
fn every_example_in_the_documents_works() {
    #[expect(clippy::disallowed_methods, reason = "asked of the test itself")]
    let is_to_write = std::env::var_os("RALPH_WRITE_DOCS").is_some();
    let project = Project::new();
    let (mut wrong, mut count) = (Vec::new(), 0);
    for document in documents() {
        let mut text = std::fs::read_to_string(&document).unwrap();
        for block in blocks_to_play(&document, &text) {
            count += 1;
            match check(&project, &block) {
                (_, Some(played)) if is_to_write => {
                    let old = format!("```{}\n{}```", block.fence, block.text);
                    text = text.replacen(&old, &format!("```{}\n{played}```", block.fence), 1);
                }
                (faults, _) => wrong.extend(
                    faults.iter().map(|fault| format!("{}:{}: {fault}", document.display(), block.line)),
                ),
            }
        }
        if is_to_write {
            std::fs::write(&document, text).unwrap();
        }
    }
    assert!(count > 60, "only {count} blocks of code were found");
    assert!(
        wrong.is_empty(),
        "{}\nRALPH_WRITE_DOCS=1 cargo test --test integration examples writes the output of console blocks",
        wrong.join("\n")
    );
}

#[test]
fn examples_that_do_not_work_are_found() {
    let project = Project::new();
    let cases = [
        ("sh", "specify ralph show 99\n"),
        ("sh", "specify ralph status --no-such-flag | cat\nfalse\n"),
        ("sh,no_run", "specify ralph status\n"),
        ("console", "$ specify ralph show 3 --stdout\nok\n"),
        ("toml", "no-such-key = 1\n"),
        ("text", "$ specify ralph status\n"),
        ("bash", "specify ralph status\n"),
    ];
    for (fence, text) in cases {
        let block = Block { fence: fence.to_owned(), line: 1, text: text.to_owned() };
        assert_eq!(check(&project, &block).0.len(), 1, "{block:?}");
    }
}

#[test]
fn blocks_are_found_with_their_fences_and_lines() {
    let found = blocks("text\n```sh\na\nb\n```\n\n```console\n$ c\nd\n```\n");
    let found: Vec<_> = found.iter().map(|block| (&*block.fence, block.line, &*block.text)).collect();
    assert_eq!(found, [("sh", 2, "a\nb\n"), ("console", 7, "$ c\nd\n")]);
}

#[test]
fn what_differs_from_run_to_run_is_masked() {
    let cases = [
        ("20261124-210620-499db2b7 10:21", "SESSION TIME"),
        ("ff623db0fb  6 ms, 1.2s, 1m 02s", "COMMIT DURATION, DURATION, DURATION"),
        ("89 files of 78 KB, 224 tokens", "89 files of SIZE, TOKENS"),
        ("began 2026-11-24 21:06:20 +00:00", "began TIME"),
        ("4 of 5 tasks done · 6 s", "4 of 5 tasks done"),
    ];
    for (text, expected) in cases {
        assert_eq!(masked(text), [expected]);
    }
}

//! Scripts for the `scripted` agent: what it does in each turn, for tests, demonstrations and dry runs.
//!
//! A script is a TOML file with a list of turns. The first turn whose filters all match is played; a turn
//! without filters matches always.
//!
//! ```toml
//! [[turn]]
//! task = "T004"                # RALPH_TASK, which the loop sets
//! attempt = 2                  # RALPH_ATTEMPT: which try of this task in this session
//! iteration = 7                # RALPH_ITERATION
//! expect_prompt = "some text"  # exit code 9 where the prompt lacks it
//! do = [
//!   { say = "I look at it." },                        # a line on stdout
//!   { stderr = "a warning" },                         # a line on stderr
//!   { print_bytes = "00ff0a" },                       # any bytes on stdout
//!   { write = { path = "src/a.txt", text = "one\n" } },
//!   { append = { path = "src/a.txt", text = "two\n" } },
//!   { remove = "old.txt" },
//!   { tick = "current" },                             # or "T001": its box in RALPH_TASKS
//!   { run = "git commit -qam done" },                 # through sh; the turn ends with its code if it fails
//!   { wait_for = { path = "go", timeout = "10s" } },  # until the file is there; exit code 8 if it never is
//!   { sleep = "200ms" },
//! ]
//! exit = 3                     # 0 where it is left out
//! ```
//!
//! Actions come in the order written; paths are from the project's root. To die of a signal:
//! `{ run = "kill -KILL $PPID" }`.

use std::fs::{self, OpenOptions};
use std::io::{Read, Seek, SeekFrom, Write};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use camino::Utf8Path;
use serde::Deserialize;

use super::interface::Lookup;
use ralph_os::process;
use ralph_project::project_files::{MAX_DOCUMENT_BYTES, read_named};

/// Exit code if the prompt lacks what the script expects.
const PROMPT_DIFFERS: i32 = 9;

/// Exit code if a file that the script waits for does not appear.
const WAITED_IN_VAIN: i32 = 8;

/// Exit code if no turn matches.
const NO_TURN: i32 = 1;

/// Time between two checks for an awaited file.
const POLL_INTERVAL: Duration = Duration::from_millis(5);

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Script {
    #[serde(default, rename = "turn")]
    turns: Vec<ScriptIteration>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct ScriptIteration {
    task: Option<String>,
    attempt: Option<u32>,
    iteration: Option<u32>,
    expect_prompt: Option<String>,
    #[serde(default, rename = "do")]
    actions: Vec<Action>,
    #[serde(default)]
    exit: i32,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
enum Action {
    Say(String),
    Stderr(String),
    PrintBytes(String),
    Write { path: String, text: String },
    Append { path: String, text: String },
    Remove(String),
    Tick(String),
    Run(String),
    WaitFor { path: String, timeout: String },
    Sleep(String),
}

/// The streams and the environment of a played script.
pub struct Stage<'a> {
    /// The project's root.
    pub directory: &'a Utf8Path,
    pub stdin: &'a mut dyn Read,
    pub stdout: &'a mut dyn Write,
    pub stderr: &'a mut dyn Write,
    pub lookup: Lookup<'a>,
}

pub(super) fn load(path: &Utf8Path) -> Result<Script> {
    let bytes = read_named(path, MAX_DOCUMENT_BYTES).with_context(|| format!("read the script {path}"))?;
    let text = String::from_utf8(bytes).with_context(|| format!("read the script {path}"))?;
    toml::from_str(&text).with_context(|| format!("read the script {path}"))
}

/// Plays the turn that matches; returns the exit code.
pub fn play(script: &Utf8Path, stage: &mut Stage<'_>) -> Result<i32> {
    let script = load(&stage.directory.join(script))?;
    let mut prompt = Vec::new();
    stage.stdin.read_to_end(&mut prompt).context("read the prompt")?;
    let Some(turn) = script.turns.iter().find(|turn| turn.matches(stage.lookup)) else {
        let task = (stage.lookup)("RALPH_TASK").unwrap_or_default();
        writeln!(stage.stderr, "the script has no turn for task `{task}`")?;
        return Ok(NO_TURN);
    };
    if let Some(expected) = &turn.expect_prompt
        && !String::from_utf8_lossy(&prompt).contains(expected)
    {
        writeln!(stage.stderr, "the prompt lacks `{expected}`")?;
        return Ok(PROMPT_DIFFERS);
    }
    for action in &turn.actions {
        let code = action.perform(stage).with_context(|| format!("perform {action:?}"))?;
        // Readers follow the output while the script runs, and may react to it.
        stage.stdout.flush()?;
        stage.stderr.flush()?;
        if code != 0 {
            return Ok(code);
        }
    }
    Ok(turn.exit)
}

impl ScriptIteration {
    fn matches(&self, lookup: Lookup<'_>) -> bool {
        let conditions = [
            ("RALPH_TASK", self.task.clone()),
            ("RALPH_ATTEMPT", self.attempt.map(|number| number.to_string())),
            ("RALPH_ITERATION", self.iteration.map(|number| number.to_string())),
        ];
        conditions.into_iter().all(|(name, wanted)| wanted.is_none() || lookup(name) == wanted)
    }
}

impl Action {
    /// Performs the action. An exit code other than 0 ends the turn.
    fn perform(&self, stage: &mut Stage<'_>) -> Result<i32> {
        let at = |path: &str| stage.directory.join(path);
        match self {
            Self::Say(text) => writeln!(stage.stdout, "{text}")?,
            Self::Stderr(text) => writeln!(stage.stderr, "{text}")?,
            Self::PrintBytes(hex) => stage.stdout.write_all(&bytes(hex)?)?,
            Self::Write { path, text } => {
                make_folder(&at(path))?;
                fs::write(at(path), text)?;
            }
            Self::Append { path, text } => {
                make_folder(&at(path))?;
                let mut file = OpenOptions::new().create(true).append(true).open(at(path))?;
                file.write_all(text.as_bytes())?;
            }
            Self::Remove(path) => fs::remove_file(at(path))?,
            Self::Tick(name) => {
                let tasks = (stage.lookup)("RALPH_TASKS").context("RALPH_TASKS is not set")?;
                let name = match name.as_str() {
                    "current" => (stage.lookup)("RALPH_TASK").context("RALPH_TASK is not set")?,
                    name => name.to_owned(),
                };
                tick(Utf8Path::new(&tasks), &name)?;
            }
            Self::Run(command) => return Ok(process::run_in_shell(command, stage.directory)?),
            Self::WaitFor { path, timeout } => {
                let (begun, timeout) = (Instant::now(), duration(timeout)?);
                while !at(path).exists() {
                    if begun.elapsed() > timeout {
                        writeln!(stage.stderr, "{path} did not come")?;
                        return Ok(WAITED_IN_VAIN);
                    }
                    std::thread::sleep(POLL_INTERVAL);
                }
            }
            Self::Sleep(time) => std::thread::sleep(duration(time)?),
        }
        Ok(0)
    }
}

fn make_folder(path: &Utf8Path) -> Result<()> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    Ok(())
}

fn bytes(hex: &str) -> Result<Vec<u8>> {
    let digits: Vec<char> = hex.chars().filter(|c| !c.is_whitespace()).collect();
    let bytes: Option<Vec<u8>> = digits
        .chunks(2)
        .map(|pair| match pair {
            [high, low] => Some(u8::try_from(high.to_digit(16)? * 16 + low.to_digit(16)?).ok()?),
            _ => None,
        })
        .collect();
    bytes.with_context(|| format!("`{hex}` is not hexadecimal"))
}

fn duration(text: &str) -> Result<Duration> {
    let unit = text.trim_start_matches(|c: char| c.is_ascii_digit());
    let number: u64 = text[..text.len() - unit.len()].parse().unwrap_or(u64::MAX);
    match unit {
        "ms" => Ok(Duration::from_millis(number)),
        "s" if number < u64::MAX => Ok(Duration::from_secs(number)),
        _ => bail!("`{text}` is not a duration; expected something like 200ms or 10s"),
    }
}

/// Ticks the open box of a task by changing one byte. The names are those of `RALPH_TASK`: an id, `T004#2` for
/// the second item with that id, `#7` for the seventh item.
fn tick(path: &Utf8Path, name: &str) -> Result<()> {
    let text = fs::read(path).with_context(|| format!("read {path}"))?;
    let offset = box_of(&String::from_utf8_lossy(&text), name)
        .with_context(|| format!("{path} has no open task `{name}`"))?;
    let mut file = OpenOptions::new().write(true).open(path).with_context(|| format!("open {path}"))?;
    file.seek(SeekFrom::Start(u64::try_from(offset)?))?;
    file.write_all(b"x").with_context(|| format!("tick `{name}` in {path}"))
}

/// Returns the place of the mark of that task, if it is open.
fn box_of(text: &str, name: &str) -> Option<usize> {
    let (id, which) = match name.split_once('#') {
        Some((id, which)) => (id, which.parse().ok()?),
        None => (name, 1),
    };
    let mut seen = 0usize;
    let mut start = 0;
    for line in text.split_inclusive('\n') {
        let here = start;
        start += line.len();
        let item = line.trim_start();
        let Some(after_bullet) = item.strip_prefix(['-', '*', '+']).map(str::trim_start) else { continue };
        let Some(("[", rest)) = after_bullet.split_at_checked(1) else { continue };
        let Some((mark, rest)) = rest.split_once(']').filter(|(mark, _)| mark.len() == 1) else { continue };
        let mut words = rest.split_ascii_whitespace().take(3);
        let has_id = words.any(|word| word.trim_matches(|c: char| "*_~`[]():.,".contains(c)) == id);
        if id.is_empty() || has_id {
            seen += 1;
            if seen == which {
                let offset = here + (line.len() - rest.len()) - 2;
                return (mark == " ").then_some(offset);
            }
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use camino::Utf8PathBuf;

    use super::*;

    struct Played {
        code: Result<i32>,
        stdout: Vec<u8>,
        stderr: String,
        folder: tempfile::TempDir,
    }

    impl Played {
        fn path(&self, name: &str) -> Utf8PathBuf {
            Utf8PathBuf::from_path_buf(self.folder.path().join(name)).unwrap()
        }

        fn read(&self, name: &str) -> String {
            fs::read_to_string(self.path(name)).unwrap()
        }
    }

    fn play_it(script: &str, environment: &[(&str, &str)]) -> Played {
        let folder = tempfile::tempdir().unwrap();
        let directory = Utf8PathBuf::from_path_buf(folder.path().to_owned()).unwrap();
        fs::write(directory.join("script.toml"), script).unwrap();
        let tasks = directory.join("tasks.md");
        fs::write(
            &tasks,
            "# Tasks\r\n\n- [ ] T001 one\r\n- [x] T002 two\n  * [ ] **T003** three\n- [ ] T001 again",
        )
        .unwrap();
        let lookup = |name: &str| match name {
            "RALPH_TASKS" => Some(tasks.to_string()),
            name => environment.iter().find(|(set, _)| *set == name).map(|(_, value)| (*value).to_owned()),
        };
        let (mut stdout, mut stderr) = (Vec::new(), Vec::new());
        let mut stage = Stage {
            directory: &directory,
            stdin: &mut "the prompt".as_bytes(),
            stdout: &mut stdout,
            stderr: &mut stderr,
            lookup: &lookup,
        };
        let code = play(Utf8Path::new("script.toml"), &mut stage);
        Played { code, stdout, stderr: String::from_utf8(stderr).unwrap(), folder }
    }

    #[test]
    fn actions_are_performed_in_order() {
        let played = play_it(
            r#"
            [[turn]]
            do = [
              { say = "hello" },
              { print_bytes = "00 ff0a" },
              { stderr = "careful" },
              { write = { path = "deep/a.txt", text = "one\n" } },
              { append = { path = "deep/a.txt", text = "two\n" } },
              { write = { path = "b.txt", text = "" } },
              { remove = "b.txt" },
              { run = "echo three >> deep/a.txt" },
              { wait_for = { path = "deep/a.txt", timeout = "1s" } },
              { sleep = "1ms" },
            ]
            exit = 3
            "#,
            &[],
        );
        assert_eq!(played.code.as_ref().unwrap(), &3);
        assert_eq!(played.stdout, b"hello\n\x00\xff\n");
        assert_eq!(played.stderr, "careful\n");
        assert_eq!(played.read("deep/a.txt"), "one\ntwo\nthree\n");
        assert!(!played.path("b.txt").exists());
    }

    #[test]
    fn the_first_turn_that_matches_is_played() {
        let script = r#"
            [[turn]]
            task = "T001"
            attempt = 2
            do = [{ say = "second try" }]
            [[turn]]
            task = "T001"
            do = [{ say = "first try" }]
            [[turn]]
            iteration = 5
            do = [{ say = "fifth" }]
            [[turn]]
            do = [{ say = "any" }]
        "#;
        for (environment, said) in [
            (vec![("RALPH_TASK", "T001"), ("RALPH_ATTEMPT", "1")], "first try\n"),
            (vec![("RALPH_TASK", "T001"), ("RALPH_ATTEMPT", "2")], "second try\n"),
            (vec![("RALPH_TASK", "T002"), ("RALPH_ITERATION", "5")], "fifth\n"),
            (vec![], "any\n"),
        ] {
            assert_eq!(play_it(script, &environment).stdout, said.as_bytes());
        }
    }

    #[test]
    fn a_box_is_ticked_by_one_byte() {
        let tick = |name: &str| {
            play_it(&format!("[[turn]]\ndo = [{{ tick = \"{name}\" }}]"), &[("RALPH_TASK", "T001#2")])
        };
        for (name, line) in [
            ("T001", "- [x] T001 one\r\n"),
            ("T003", "  * [x] **T003** three\n"),
            ("current", "- [x] T001 again"),
            ("#3", "  * [x] **T003** three\n"),
        ] {
            let played = tick(name);
            played.code.as_ref().unwrap();
            let text = played.read("tasks.md");
            assert!(text.contains(line), "{name}: {text}");
            assert_eq!(text.matches("[x]").count(), 2, "{name}: {text}");
        }
        for name in ["T002", "T009", "#9", "T001#3", "#x"] {
            assert!(format!("{:#}", tick(name).code.unwrap_err()).contains("has no open task"), "{name}");
        }
    }

    #[test]
    fn what_is_not_as_the_script_expects_has_a_code_of_its_own() {
        for (script, code, complaint) in [
            ("[[turn]]\nexpect_prompt = \"the prompt\"", 0, ""),
            ("[[turn]]\nexpect_prompt = \"other\"", 9, "the prompt lacks `other`\n"),
            ("[[turn]]\ntask = \"T001\"", 1, "the script has no turn for task ``\n"),
            ("[[turn]]\ndo = [{ wait_for = { path = \"no\", timeout = \"1ms\" } }]", 8, "no did not come\n"),
            ("[[turn]]\ndo = [{ run = \"exit 5\" }]\nexit = 3", 5, ""),
        ] {
            let played = play_it(script, &[]);
            assert_eq!((played.code.unwrap(), played.stderr.as_str()), (code, complaint), "{script}");
        }
    }

    #[test]
    fn a_broken_script_is_an_error() {
        for script in [
            "[[turns]]",
            "[[turn]]\ndo = [{ shout = \"x\" }]",
            "[[turn]]\ndo = [{ print_bytes = \"0\" }]",
            "[[turn]]\ndo = [{ sleep = \"soon\" }]",
            "[[turn]]\ndo = [{ sleep = \"5\" }]",
        ] {
            assert!(play_it(script, &[]).code.is_err(), "{script}");
        }
    }
}

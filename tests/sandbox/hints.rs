//! Every command that a hint or a closing card names must work in the state in which it was printed.

use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process_group};

use super::{Call, Run, State};

/// Has the commands that any call of any scene prints tried (`just hints`).
const TRY_ALL: &str = "RALPH_TEST_HINTS";

/// How the program and git say that a command cannot be used like this, or not here.
const REFUSALS: [i32; 5] = [2, 3, 127, 128, 129];

/// What is not refused by then has begun a loop, and the agent of the scene may never end.
const HAS_BEGUN: Duration = Duration::from_secs(10);

/// What scenes lack or forbid, and what was printed with `--force` or for another work tree.
const EXPECTED: [&str; 9] = [
    "no known agent is installed",
    "no loop is running in this repository",
    "no recorded session can be resumed",
    "this repository has no remote",
    "several remotes: ",
    "leads out of the work tree",
    "cannot be run: ",
    "is in progress in this work tree",
    "was cut off in another work tree",
];

/// Commands of git that show something, or that a person completes.
const NOT_REMEDIES: [&str; 5] =
    ["git remote -v", "git worktree list", "git diff", "git add -f", "git revert"];

/// Commands that change what the printing call met, so that the same call must not meet it again.
const REMEDIES: [&str; 8] =
    ["fsck --repair", "trust", "stop", "clean", "rebuild", "restore", "git ", "unlock"];

/// Returns true if the commands that are printed in any scene are tried.
pub fn are_tried_everywhere() -> bool {
    std::env::var_os(TRY_ALL).is_some()
}

/// Tries each command that `run` printed in the state it left behind, and returns all of them.
///
/// # Panics
///
/// If one does not help.
#[track_caller]
pub fn try_all(call: &Call<'_>, run: &Run) -> Vec<String> {
    let mut useless = Vec::new();
    let commands = commands(run);
    for command in &commands {
        let state = State::keep(call.sandbox);
        let tried = shell(call, command);
        let said = String::from_utf8_lossy(&tried.stderr).into_owned();
        // A signal ended what had begun.
        let code = tried.status.code().unwrap_or_default();
        let refusal = refusal(&run.talk());
        if EXPECTED.iter().any(|expected| said.contains(expected) || run.talk().contains(expected)) {
            // Nothing can be done here.
        } else if REFUSALS.contains(&code) {
            useless.push(format!("`{command}` exits with {code}: {said}"));
        } else if run.code == 3 && REMEDIES.iter().any(|remedy| command.contains(remedy)) {
            let again = call.command().stdin(Stdio::null()).output().unwrap();
            if refusal.is_some() && self::refusal(&String::from_utf8_lossy(&again.stderr)) == refusal {
                useless.push(format!("`{command}` changes nothing: {}", refusal.unwrap_or_default()));
            }
        }
        state.restore(call.sandbox);
    }
    assert!(useless.is_empty(), "{}\n--- of {run}", useless.join("\n"));
    commands
}

fn shell(call: &Call<'_>, command: &str) -> std::process::Output {
    let printing = call.command();
    let mut shell = Command::new("sh");
    shell.env_clear().args(["-c", command]).process_group(0);
    shell.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    shell.current_dir(printing.get_current_dir().unwrap_or(Path::new(".")));
    shell.envs(printing.get_envs().filter_map(|(name, value)| Some((name, value?))));
    let shell = shell.spawn().unwrap();
    let group = Pid::from_raw(shell.id().try_into().unwrap()).unwrap();
    let (ended, end) = channel::<()>();
    let watch = thread::spawn(move || {
        if end.recv_timeout(HAS_BEGUN) == Err(RecvTimeoutError::Timeout) {
            // It may end at this moment.
            let _gone = kill_process_group(group, Signal::TERM).is_err();
        }
    });
    let output = shell.wait_with_output().unwrap();
    drop(ended);
    watch.join().unwrap();
    output
}

fn refusal(stderr: &str) -> Option<String> {
    stderr.lines().find(|line| line.starts_with("error: ")).map(str::to_owned)
}

/// The commands that a person would copy: ours wherever they stand, git's in backquotes of a hint, and
/// the same call with a flag.
fn commands(run: &Run) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    // Examples are for any project, and in JSON words end otherwise.
    if ["help", "man", "json"].iter().any(|word| run.line.contains(word)) {
        return found;
    }
    let text = format!("{}\n{}", run.talk(), run.text());
    for line in text.lines().filter(|line| !line.starts_with('{') && !line.contains("in every clone")) {
        // What follows `then` works once the rest was done, and other clones are not here.
        let pieces: Vec<&str> = line.split('`').collect();
        let quoted = (1..pieces.len())
            .step_by(2)
            .filter(|&n| !(pieces[n - 1].ends_with("then ") && pieces[n].contains(" resume")));
        let is_hint = line.contains("hint: ");
        let is_command = |command: &&str| {
            *command == "specify ralph" && is_hint
                || command.starts_with("specify ralph ")
                || command.starts_with("git ") && is_hint
        };
        let in_quotes = quoted.map(|n| pieces[n]).filter(is_command).map(str::to_owned);
        let bare = line.split('`').step_by(2).flat_map(|part| {
            let starts = part.match_indices("specify ralph ").map(|(start, _)| &part[start..]);
            // A command ends before another one, and before what it does.
            let whole = starts.map(|command| {
                let command = command.split(", then specify ").next().unwrap_or(command);
                command.split(" brings ").next().unwrap_or(command)
            });
            whole.filter_map(|command| {
                Some(command.split("  ").next()?.trim_end_matches(['.', ',', ';', ':', ')', ' ']).to_owned())
            })
        });
        // `like --feature 001-login` is for the same call.
        let flag = line.split("like --").nth(1).filter(|_| is_hint);
        let same = flag.map(|flag| {
            format!("specify ralph {} --{}", run.line, flag.split(['`', ',', ';']).next().unwrap_or_default())
        });
        found.extend(in_quotes.chain(bare).chain(same));
    }
    found.retain(|command| {
        !has_placeholder(command) && !NOT_REMEDIES.contains(&command.as_str()) && !command.ends_with("-->")
    });
    found.sort();
    found.dedup();
    found
}

/// True of `FILE` and `...`, which a person fills in, and of `--continue`, before which a person resolves conflicts, but
/// not of a text in quotes.
fn has_placeholder(command: &str) -> bool {
    let is_name = |word: &str| {
        let word = word.trim_matches(|c: char| !c.is_ascii_alphanumeric());
        !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_uppercase())
    };
    let is_open =
        |word: &str| word.contains("...") || word.contains('…') || word.contains('<') || word == "--continue";
    command.split_whitespace().any(|word| is_open(word) || is_name(word) && !word.starts_with('\''))
}

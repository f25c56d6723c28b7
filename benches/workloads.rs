//! Workloads that are measured in a process of their own.

use std::fs;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail, ensure};
use camino::{Utf8Path, Utf8PathBuf};
use ralph_core::progress::Selection;
use ralph_core::progress::historical::{self, HistorySettings, Mode};
use ralph_core::record::Task;
use ralph_git::worktree::PrivateIndex;
use ralph_store::Syncing;

use super::past::past;
use super::synthetic::{self, Shape, Writer};

/// What six files of an iteration come to: 38 KB.
pub const SMALL: Shape = Shape { output: 20_000, prompt: 10_000, snapshots: false, syncing: Syncing::Always };

pub fn run(words: &[String]) -> Result<()> {
    let here =
        Utf8PathBuf::from_path_buf(std::env::current_dir()?).ok().context("read the current folder")?;
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let number = |text: &str| text.parse::<u32>().context("read a number");
    match words.as_slice() {
        ["record", session, count] => record(&here, number(session)?, number(count)?, None),
        ["record-file", session, count, file] => {
            record(&here, number(session)?, number(count)?, Some(Utf8Path::new(file)))
        }
        ["plumbing", name, count] => plumbing(&here, name, number(count)?),
        ["snapshot", first, count] => snapshots(&here, number(first)?, number(count)?),
        ["add", first, count] => adds(&here, number(first)?, number(count)?),
        ["diff-by-git", from] => diff(&here, from),
        ["restore-by-git", to] => restore(&here, to),
        ["bisect-by-git", good, bad, command] => bisect(&here, (good, bad), command),
        ["rebuild-by-git"] => rebuild(&here),
        ["context", count] => context(number(count)?),
        ["change", first, count] => {
            (0..number(count)?).try_for_each(|step| synthetic::change_files(&here, number(first)? + step))
        }
        other => bail!("unknown workload {other:?}"),
    }
}

/// Builds the historical context for a task with a thousand iterations behind it, `count` times.
fn context(count: u32) -> Result<()> {
    let past = past(1_000);
    let task = Task {
        name: "T001".into(),
        id: None,
        text: "Write part T001 of the login".into(),
        phase: None,
        story: None,
    };
    let settings = HistorySettings { mode: Mode::Smart, budget: 1_000, ..HistorySettings::default() };
    for _ in 0..count {
        let told = historical::context(&Selection::empty(&past, Some(&task), None), &settings, "");
        ensure!(!told.text.is_empty(), "there is nothing to tell");
    }
    Ok(())
}

/// Records `count` iterations of a new session, durably.
fn record(dir: &Utf8Path, session: u32, count: u32, output: Option<&Utf8Path>) -> Result<()> {
    let store = synthetic::store(dir, Syncing::Always)?;
    let mut writer = Writer::start(&store, SMALL, session)?;
    (0..count).try_for_each(|_| writer.iterate_with(output))?;
    writer.end()?;
    Ok(())
}

/// Records as much with git's plumbing, four processes for each iteration.
fn plumbing(dir: &Utf8Path, name: &str, count: u32) -> Result<()> {
    let refname = format!("refs/plumbing/{name}");
    let files = ["prompt.md", "agent", "stdout", "stderr", "tasks.md", "iteration.json"];
    let scratch = dir.join(".git").join(format!("plumbing-{name}"));
    fs::create_dir_all(&scratch)?;
    let mut tip = None::<String>;
    for step in 0..count {
        let sizes = [10_000, 1_000, 20_000, 30, 4_000, 3_000];
        let mut paths = String::new();
        for (file, size) in files.iter().zip(sizes) {
            let path = scratch.join(file);
            let text = format!("{name} {file} {step}\n{}", synthetic::test_output(step, size));
            fs::write(&path, text)?;
            paths.push_str(&format!("{path}\n"));
        }
        let blobs = git(dir, &["hash-object", "-w", "--no-filters", "--stdin-paths"], &paths)?;
        let entries: String =
            blobs.lines().zip(files).map(|(blob, file)| format!("100644 blob {blob}\t{file}\n")).collect();
        let tree = git(dir, &["mktree"], &entries)?;
        let mut words = vec!["commit-tree", &tree];
        if let Some(tip) = &tip {
            words.extend(["-p", tip]);
        }
        let message = format!("iteration {step}\n\nRalph-Iteration: {step}\nRalph-Outcome: failure\n");
        let commit = git(dir, &words, &message)?;
        let old = tip.unwrap_or_else(|| "0".repeat(40));
        git(dir, &["update-ref", &refname, &commit, &old], "")?;
        tip = Some(commit);
    }
    Ok(())
}

/// The git program, made as careful as we are.
fn git(dir: &Utf8Path, words: &[&str], stdin: &str) -> Result<String> {
    use std::io::Write;
    let mut child = Command::new("git")
        .args(["-c", "core.fsync=all", "-c", "user.name=bench", "-c", "user.email=bench@localhost"])
        .args(words)
        .current_dir(dir)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .context("start git")?;
    child.stdin.take().context("open git's stdin")?.write_all(stdin.as_bytes())?;
    let output = child.wait_with_output()?;
    ensure!(output.status.success(), "git {words:?}: {}", output.status);
    Ok(String::from_utf8(output.stdout)?.trim_end().to_owned())
}

/// Compares a commit with the work tree, untracked files included, as one would with git alone.
fn diff(dir: &Utf8Path, from: &str) -> Result<()> {
    let index = users_index(dir)?;
    with_index(dir, &index, &["add", "-A"])?;
    with_index(dir, &index, &["diff", "--cached", from])?;
    Ok(())
}

/// Keeps the work tree in a commit and brings it to another, as one would with git alone.
fn restore(dir: &Utf8Path, to: &str) -> Result<()> {
    let index = users_index(dir)?;
    with_index(dir, &index, &["add", "-A"])?;
    let now = with_index(dir, &index, &["write-tree"])?;
    let kept = with_index(dir, &index, &["commit-tree", "-p", "HEAD", "-m", "kept", &now])?;
    with_index(dir, &index, &["update-ref", "refs/bench/kept", &kept])?;
    with_index(dir, &index, &["read-tree", "-m", "-u", &now, to])?;
    Ok(())
}

/// Finds the first commit after which a command fails, in a clone that is thrown away.
fn bisect(dir: &Utf8Path, (good, bad): (&str, &str), command: &str) -> Result<()> {
    let folder = tempfile::tempdir().context("make a folder for a clone")?;
    let clone = folder.path().to_str().context("read its name")?;
    git(dir, &["clone", "--quiet", "--shared", "--no-checkout", ".", clone], "")?;
    git(dir, &["-C", clone, "bisect", "start", "--first-parent", bad, good], "")?;
    let found = git(dir, &["-C", clone, "bisect", "run", "sh", "-c", command], "")?;
    ensure!(found.contains("is the first bad commit"), "git found nothing: {found}");
    Ok(())
}

/// Puts what each record appended one behind the other.
fn rebuild(dir: &Utf8Path) -> Result<()> {
    let commits = git(dir, &["rev-list", "--reverse", "--glob=refs/ralph/*"], "")?;
    let wanted: String = commits.lines().map(|commit| format!("{commit}:progress.md\n")).collect();
    let text = git(dir, &["cat-file", "--batch"], &wanted)?;
    ensure!(text.len() > 1_000, "there is nothing to put together");
    Ok(())
}

fn users_index(dir: &Utf8Path) -> Result<Utf8PathBuf> {
    let index = dir.join(".git/bench-index-of-git");
    fs::copy(dir.join(".git/index"), &index)?;
    Ok(index)
}

fn with_index(dir: &Utf8Path, index: &Utf8Path, words: &[&str]) -> Result<String> {
    let output = Command::new("git")
        .args(["-c", "core.fsync=all", "-c", "user.name=bench", "-c", "user.email=bench@localhost"])
        .args(words)
        .current_dir(dir)
        .env("GIT_INDEX_FILE", index)
        .stderr(Stdio::inherit())
        .output()?;
    ensure!(output.status.success(), "git {words:?}: {}", output.status);
    Ok(String::from_utf8_lossy(&output.stdout).trim_end().to_owned())
}

/// Changes five files and takes a snapshot, `count` times.
fn snapshots(dir: &Utf8Path, first: u32, count: u32) -> Result<()> {
    let mut tree = synthetic::work_tree(dir)?;
    let (index, objects) = (dir.join(".git/bench-index"), dir.join(".git/objects"));
    let private_index = PrivateIndex { index: &index, objects: &objects, max_file: 5 << 20 };
    for step in 0..count {
        synthetic::change_files(dir, first + step)?;
        tree.contents(private_index)?;
    }
    Ok(())
}

/// The same with `git add -A` and `git write-tree`.
fn adds(dir: &Utf8Path, first: u32, count: u32) -> Result<()> {
    let index = dir.join(".git/bench-index-of-git");
    for step in 0..count {
        synthetic::change_files(dir, first + step)?;
        for words in [&["add", "-A"][..], &["write-tree"][..]] {
            let status = Command::new("git")
                .args(words)
                .current_dir(dir)
                .env("GIT_INDEX_FILE", &index)
                .stdout(Stdio::null())
                .status()?;
            ensure!(status.success(), "git {words:?}: {status}");
        }
    }
    Ok(())
}

//! A tool that stays and answers: `git update-ref --stdin`.

use std::io::{self, BufRead, BufReader, PipeWriter, Write};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

use super::bounded::CutShort;
use super::registry::{Role, pids};
use super::started::ChildProcess;
use super::tool::{Captured, Tool};

/// Time between TERM and KILL for a tool that does not answer.
const GRACE: Duration = Duration::from_secs(1);

/// A tool that runs until this is dropped, or we are gone: its stdin ends then. It is in a process group of its own.
#[derive(Debug)]
pub struct Coprocess {
    stdin: PipeWriter,
    answers: Receiver<String>,
    process: ChildProcess,
}

impl Coprocess {
    /// Starts a tool. Both its outputs are its answers.
    pub fn start(tool: &Tool) -> Result<Self> {
        let (reads_stdin, stdin) = io::pipe()?;
        let (stdout, writes_stdout) = io::pipe()?;
        let expression =
            tool.expression().stdin_file(reads_stdin).stderr_to_stdout().stdout_file(writes_stdout);
        let process =
            ChildProcess::start_in_own_group(&expression).with_context(|| format!("run `{tool}`"))?;
        pids().insert(process.pid(), Role::Resident);
        let (sender, answers) = mpsc::channel();
        thread::Builder::new().name("coprocess".to_owned()).spawn(move || {
            for line in BufReader::new(stdout).lines().map_while(io::Result::ok) {
                if sender.send(line).is_err() {
                    break;
                }
            }
        })?;
        Ok(Self { stdin, answers, process })
    }

    /// Tells it `lines`, and waits for the answer `last`. After an error it is of no more use.
    ///
    /// # Errors
    ///
    /// If it ends instead, with what it complained about, or does not answer within `limit`: then it is ended.
    pub fn ask(&mut self, lines: &str, last: &str, limit: Duration) -> Result<()> {
        let Self { stdin, answers, process } = self;
        let until = Instant::now() + limit;
        thread::scope(|scope| {
            // One that does not read must not hold us up.
            scope.spawn(|| stdin.write_all(lines.as_bytes()).and_then(|()| stdin.flush()));
            let mut said = String::new();
            loop {
                match answers.recv_timeout(until.saturating_duration_since(Instant::now())) {
                    Ok(line) if line == last => return Ok(()),
                    Ok(line) if line.ends_with(": ok") => {}
                    Ok(line) => said = said + &line + "\n",
                    Err(RecvTimeoutError::Timeout) => {
                        process.end(GRACE);
                        return Err(CutShort::TimedOut(limit).into());
                    }
                    Err(RecvTimeoutError::Disconnected) => break,
                }
            }
            let ended = process.handle().wait_timeout(GRACE)?;
            let code = ended.map_or(-1, |output| super::code_of(output.status));
            bail!("{}", Captured { code, stdout: Vec::new(), stderr: said.into_bytes() }.complaint())
        })
    }
}

#[cfg(test)]
mod tests {
    use camino::Utf8Path;

    use super::*;

    fn shell(script: &str) -> Coprocess {
        Coprocess::start(&Tool::new("sh", Utf8Path::new("/")).args(["-c", script])).unwrap()
    }

    #[test]
    fn it_answers_more_than_once() {
        let mut echo = shell("while read line; do echo got $line; done");
        for line in ["one", "two"] {
            echo.ask(&format!("{line}\n"), &format!("got {line}"), Duration::from_mins(1)).unwrap();
        }
    }

    #[test]
    fn one_that_ends_is_an_error_with_its_complaint() {
        let mut dying = shell("read line; echo start: ok; echo 'fatal: no' >&2; exit 7");
        let error = dying.ask("one\n", "commit: ok", Duration::from_mins(1)).unwrap_err();
        assert_eq!(error.to_string(), "fatal: no");
        assert!(dying.ask("two\n", "commit: ok", Duration::from_mins(1)).is_err());
    }

    #[test]
    fn one_that_neither_reads_nor_answers_is_ended() {
        let mut deaf = shell("exec sleep 1000");
        let error = deaf.ask(&"x".repeat(300_000), "commit: ok", Duration::from_millis(100)).unwrap_err();
        assert_eq!(error.to_string(), "no answer within 100 ms");
        assert!(deaf.process.handle().wait_timeout(Duration::from_mins(1)).unwrap().is_some());
    }
}

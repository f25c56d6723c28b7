//! A command of the user's that is asked something: the question on its stdin, the answer from its stdout.

use std::fs;

use anyhow::{Context, Result};

use ralph_os::process::{Child, Limits, Pulse, create_private_dir};

use super::loop_inputs::LoopInputs;
use super::recorder::Recorder;
use super::settings::child_limits;

/// Longest answer; what says more is stopped.
const MAX_ANSWER_BYTES: u64 = 64 * 1024;

/// Returns the answer of a command for the shell, or in words why there is none. Only what keeps us from asking is
/// an error.
pub(super) fn ask(
    inputs: &LoopInputs<'_>,
    recorder: &mut Recorder<'_>,
    command: &str,
    question: &str,
) -> Result<Result<String, String>> {
    recorder.doubt();
    let settings = &inputs.config.settings;
    let scratch = recorder.spool().scratch();
    create_private_dir(&scratch)?;
    let [stdin, stdout, stderr] =
        ["stdin", "stdout", "stderr"].map(|name| scratch.join(format!("asked.{name}")));
    fs::write(&stdin, question).with_context(|| format!("write {stdin}"))?;
    let child = Child {
        argv: ["sh", "-c", command].map(str::to_owned).into(),
        directory: inputs.project_root.clone(),
        environment: inputs.lane_variables(),
        defaults: Vec::new(),
        removed: Vec::new(),
        stdin: Some(stdin.clone()),
        stdout: stdout.clone(),
        stderr: stderr.clone(),
        marker: inputs.marker(&recorder.place().session, recorder.spool()),
        limits: Limits {
            output: MAX_ANSWER_BYTES,
            ..child_limits(settings, settings.progress_timeout, None)
        },
        fence: inputs.fence(),
    };
    let ended = child.run(inputs.interrupt, &mut || Pulse::Alive);
    let ended = ended.with_context(|| format!("run `{command}`"))?;
    let answer = fs::read(&stdout).with_context(|| format!("read {stdout}"))?;
    for path in [stdin, stdout, stderr] {
        fs::remove_file(&path).with_context(|| format!("remove {path}"))?;
    }
    let answer = String::from_utf8_lossy(&answer).trim().to_owned();
    Ok(match (ended.exit.reason, ended.exit.code) {
        (Some(reason), _) => Err(format!("`{command}`: {}", reason.as_str().replace('_', " "))),
        (None, 0) if answer.is_empty() => Err(format!("`{command}` said nothing")),
        (None, 0) => Ok(answer),
        (None, code) => Err(format!("`{command}` exited {code}")),
    })
}

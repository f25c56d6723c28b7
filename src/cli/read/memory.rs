//! `specify ralph memory`: what the next prompt gets of earlier iterations.

use std::io::Write;

use anyhow::{Result, bail};
use clap::Args;
use serde_json::{Value, json};

use ralph_core::config::Config;
use ralph_core::progress::historical::Mode;
use ralph_core::progress::tokens;
use ralph_core::record::{Outcome, PromptMemory, Scope, SessionId, SessionName, Task};
use ralph_engine::{LastMemory, LoopInputs, Reason, Recalled, RecalledHistory};
use ralph_os::process::Interrupt;
use ralph_project::feature::Feature;
use ralph_store::SessionLog;
use ralph_ui::history::{self, Part, data, write};
use ralph_ui::json::write_pretty;
use ralph_ui::style::{Paint, counted, grouped, inert, one_line};

use crate::cli::args::MemorySettingArgs;
use crate::cli::pager::write_folded;
use crate::cli::read::sessions;
use crate::cli::settings::load_in;
use crate::cli::start::setup::{checked_inputs, loop_inputs, next_task};
use crate::cli::{Context, ExitCode, Flags, Json, SessionChoice, emit, print, refusal, warn};

#[derive(Debug, Args)]
pub struct MemoryArgs {
    /// With `clear`, prompts leave out all iterations so far, also in a running loop
    #[arg(value_name = "ACTION", value_parser = ["clear"])]
    pub action: Option<String>,
    /// Task [default: the next one]
    #[arg(long, value_name = "ID")]
    pub task: Option<String>,
    /// Feature, by path or by name
    #[arg(long, value_name = "FEATURE")]
    pub feature: Option<String>,
    /// Session whose iterations are named by number only
    #[arg(long, value_name = "SESSION")]
    pub session: Option<SessionName>,
    #[command(flatten)]
    pub json: Json,
    #[command(flatten)]
    pub settings: MemorySettingArgs,
}

/// Which of the prompt's two parts about earlier iterations to show. The former commands `progress` and `history` show one each.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MemoryPart {
    Both,
    Newest,
    Older,
}

pub fn run(args: &MemoryArgs, part: MemoryPart, context: &Context) -> Result<ExitCode> {
    let feature = context.feature_to_read(args.feature.as_ref())?;
    if args.action.is_some() {
        return clear(args, context, &feature);
    }
    let config = load_in(context, args.settings.flags()).map_err(refusal)?;
    let none = Interrupt::none();
    let inputs = checked_inputs(&config, &feature, &Scope::default(), context, &none)?;
    let mut text = Vec::new();
    let store = context.store()?;
    let choice = SessionChoice { session: args.session.clone(), feature: Some(feature.path.clone()) };
    let session = args.session.is_some().then(|| sessions::latest(store, &choice)).transpose()?;
    let session = session.as_ref().map(SessionLog::id);
    if let Some(command) = ralph_engine::history_summarizer(&config.settings)
        && part != MemoryPart::Newest
    {
        let text = format!("in a loop, `{command}` summarizes older iterations; it is not run here");
        warn(&text);
    }
    let report = write_memory(&inputs, args.task.as_ref(), session, part, context.paint, &mut text);
    if args.json.json {
        let report = report?;
        return print(|out| write_pretty(out, &report));
    }
    print(|out| write_folded(out, &text, context))?;
    report.map(|_| ExitCode::Done)
}

/// Returns what `memory` prints for a task of a feature, or for the next one.
pub fn text(context: &Context, feature: &str, task: Option<&String>) -> Result<String> {
    let feature = context.feature_to_read(Some(&feature.to_owned()))?;
    let (config, none) = (load_in(context, Flags::default())?, Interrupt::none());
    let inputs = loop_inputs(&config, &feature, context, &none)?;
    let mut out = Vec::new();
    write_memory(&inputs, task, None, MemoryPart::Both, Paint::Plain, &mut out)?;
    Ok(String::from_utf8_lossy(&out).into_owned())
}

/// Writes what the next prompt for a task, or for the next one, has of earlier iterations, and returns it as JSON.
fn write_memory(
    inputs: &LoopInputs<'_>,
    task: Option<&String>,
    session: Option<&SessionId>,
    part: MemoryPart,
    paint: Paint,
    out: &mut impl Write,
) -> Result<Value> {
    let task = match part {
        MemoryPart::Newest => None,
        MemoryPart::Both | MemoryPart::Older => next_task(inputs, task).map_err(refusal)?,
    };
    let recalled = match &task {
        Some(task) => Some(inputs.recalled(task, session)?),
        None => None,
    };
    let mut report = json!({"feature": inputs.feature.path});
    if part != MemoryPart::Older {
        let progress = match task.as_ref().zip(recalled.as_ref()) {
            Some(of) => {
                write_parts(of, inputs.config, &mut report, out)?;
                of.1.progress.clone()
            }
            None => inputs.progress()?,
        };
        write!(out, "{}", inert(&progress))?;
        report["progress"] = progress.into();
    }
    if part == MemoryPart::Both {
        writeln!(out, "\nOlder iterations")?;
    }
    if part == MemoryPart::Newest {
        return Ok(report);
    }
    let shown = write_older(task.as_ref().zip(recalled), part, paint, out)?;
    if part == MemoryPart::Older {
        return Ok(shown);
    }
    report["history"] = shown;
    Ok(report)
}

fn list(lines: &[String]) -> String {
    lines.iter().map(|line| format!("- {line}\n")).collect()
}

/// Writes what the next prompt has beside progress and history, as it is headed there, below the account of all parts.
fn write_parts(
    (task, recalled): (&Task, &Recalled),
    config: &Config,
    report: &mut Value,
    out: &mut impl Write,
) -> Result<()> {
    let parts = parts(recalled, config);
    history::write_parts(out, task, &parts)?;
    if let Some(last) = &recalled.last {
        writeln!(out, "\n{}", one_line(&last_had(last)))?;
    }
    writeln!(out)?;
    let texts = [
        ("The last attempt at this task", recalled.last_attempt.clone()),
        ("The question of the last attempt", recalled.question.clone()),
        ("What earlier iterations learned", list(&recalled.learnings)),
        ("Hints from the user", list(&recalled.hints)),
    ];
    for (title, text) in texts.iter().filter(|(_, text)| !text.is_empty()) {
        writeln!(out, "{title}\n\n{}\n", inert(text.trim_end()))?;
    }
    if !recalled.progress.is_empty() {
        writeln!(out, "Previous iterations\n")?;
    }
    report["parts"] = json!(parts);
    report["last"] = json!(recalled.last);
    report["last_attempt"] = recalled.last_attempt.as_str().into();
    report["question"] = recalled.question.as_str().into();
    report["learnings"] = json!(recalled.learnings);
    report["hints"] = json!(recalled.hints);
    Ok(())
}

/// Returns each part of a prompt that speaks of earlier iterations, with its length and why it is there or not.
fn parts(recalled: &Recalled, config: &Config) -> Vec<Part> {
    let Recalled { last_attempt, question, learnings, hints, progress, history, budget, last } = recalled;
    let settings = &config.settings;
    let part = |part, text: &str, why: String| Part { part, tokens: tokens(text), why };
    let attempt = match last {
        _ if !settings.memory_last_attempt => "left out: `memory.last-attempt`".to_owned(),
        Some(last) if !last_attempt.is_empty() => format!("#{} and those before it", last.name),
        _ => "none that failed since the task was open".to_owned(),
    };
    let learned =
        format!("{} of at most {} (`memory.learnings`)", learnings.len(), settings.memory_learnings);
    let newest = format!("at most the {} newest (`progress.max-entries`)", settings.progress_max_entries);
    let older = match history {
        None => "off: `--with-history` turns it on, and so do two failures in a row".to_owned(),
        Some(history) => {
            let scanned = counted(history.context.scanned as u64, "older iteration");
            let (mode, why) = (history.mode.as_str(), why(history));
            format!("{scanned}, {mode}, {why}; at most {} tokens", grouped(*budget as u64))
        }
    };
    let older_text = history.as_ref().map_or("", |history| &history.context.text);
    let asked =
        (!question.is_empty()).then(|| part("question", question, "the last attempt asked".to_owned()));
    let hinted = counted(hints.len() as u64, "hint");
    let hinted = (!hints.is_empty()).then(|| part("hints", &list(hints), hinted));
    let first = [part("last attempt", last_attempt, attempt)].into_iter().chain(asked);
    let then = [part("learned", &list(learnings), learned)].into_iter().chain(hinted);
    let rest = [part("progress", progress, newest), part("history", older_text, older)];
    first.chain(then).chain(rest).collect()
}

/// Returns what the last attempt had of those before it, and what came of it.
fn last_had(last: &LastMemory) -> String {
    let had = match &last.memory {
        None => "does not say what it had of those before it".to_owned(),
        Some(PromptMemory { iterations: 0, .. }) => "had nothing of those before it".to_owned(),
        Some(memory) => {
            let of_history = match memory.history_tokens {
                0 => "without a history".to_owned(),
                tokens => format!("{} of them of the history", grouped(tokens as u64)),
            };
            let tokens = counted(memory.tokens as u64, "token");
            format!(
                "had {tokens} of {}, {of_history}",
                counted(memory.iterations as u64, "earlier iteration")
            )
        }
    };
    let cause = last.cause.as_ref().map_or(String::new(), |cause| format!(": {cause}"));
    let end = match &last.same_as {
        Some(same) => format!("it failed in the same way as #{same}{cause}"),
        None if last.outcome == Outcome::Success => "it succeeded".to_owned(),
        None => format!("it failed in a new way{cause}"),
    };
    format!("The last attempt, #{}, {had}; {end}", last.name)
}

/// Returns why there is a history.
fn why(history: &RecalledHistory) -> &'static str {
    match history.why {
        Reason::Asked => "as set",
        Reason::Failures(_) => "turned on by failures in a row",
    }
}

/// Writes the iterations beside the newest ones that have to do with a task, and returns them as JSON.
fn write_older(
    recalled: Option<(&Task, Recalled)>,
    part: MemoryPart,
    paint: Paint,
    out: &mut impl Write,
) -> Result<Value> {
    let Some((task, Recalled { history: recalled, budget, .. })) = recalled else {
        if part == MemoryPart::Older {
            bail!("no open task can be picked: there is no next prompt\nhint: name a task with --task");
        }
        writeln!(out, "  no open task can be picked; `--task` names one")?;
        return Ok(Value::Null);
    };
    let (mode, why, context) = match &recalled {
        None => (Mode::Off, "history is off", None),
        Some(history) => (history.mode, why(history), Some(&history.context)),
    };
    if recalled.is_none() && part == MemoryPart::Older {
        warn("history is off for this task: see `--with-history`");
    }
    write(out, task, mode.as_str(), why, budget, context, paint)?;
    Ok(data(task, mode.as_str(), why, budget, context))
}

fn clear(args: &MemoryArgs, context: &Context, feature: &Feature) -> Result<ExitCode> {
    let at = context.now()?;
    let refname = context.store()?.clear_progress(&feature.path, at)?;
    emit(args.json, &json!({"feature": feature.path, "cleared_at": at, "ref": refname}), |out| {
        let name = one_line(&feature.path);
        writeln!(out, "{name}: prompts leave out the iterations up to {at} ({refname})")
    })
}

//! `specify ralph memory`: what the next prompt gets of earlier iterations.

use std::io::{Write, sink};

use anyhow::{Result, bail};
use clap::Args;
use serde_json::{Value, json};

use ralph_core::progress::historical::Mode;
use ralph_core::record::{Scope, SessionName, Task};
use ralph_engine::{Reason, Recalled, RecalledHistory};
use ralph_project::feature::Feature;
use ralph_store::SessionLog;
use ralph_ui::history::{data, write};
use ralph_ui::json::write_pretty;
use ralph_ui::style::{Paint, inert, one_line};

use super::args::MemorySettingArgs;
use super::setup::Settings;
use super::{Context, ExitCode, Json, SessionChoice, emit, print, refusal, sessions, stdout, warn};

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
    let settings = Settings::read(&feature, context, args.settings.flags(), &Scope::default());
    let settings = settings.map_err(refusal)?;
    // People read it as it comes, JSON is whole at the end.
    let mut out: Box<dyn Write> = if args.json.json { Box::new(sink()) } else { Box::new(stdout()) };
    let store = context.store()?;
    let task = match part {
        MemoryPart::Newest => None,
        MemoryPart::Both | MemoryPart::Older => {
            settings.next_task(&feature, args.task.as_ref()).map_err(refusal)?
        }
    };
    let recalled = match &task {
        Some(task) => {
            let choice = SessionChoice { session: args.session.clone(), feature: Some(feature.path.clone()) };
            let session = args.session.is_some().then(|| sessions::latest(store, &choice)).transpose()?;
            Some(settings.recalled(store, &feature, task, session.as_ref().map(SessionLog::id))?)
        }
        None => None,
    };
    let mut report = json!({"feature": feature.path});
    if part != MemoryPart::Older {
        let progress = match &recalled {
            Some(recalled) => {
                write_parts(recalled, &mut report, &mut out)?;
                recalled.progress.clone()
            }
            None => settings.progress(store, &feature)?,
        };
        write!(out, "{}", inert(&progress))?;
        report["progress"] = progress.into();
    }
    if part == MemoryPart::Both {
        writeln!(out, "\nOlder iterations")?;
    }
    if part != MemoryPart::Newest {
        let shown = write_older(&settings, task.as_ref().zip(recalled), part, context.paint, &mut out)?;
        if part == MemoryPart::Older {
            report = shown;
        } else {
            report["history"] = shown;
        }
    }
    out.flush()?;
    if args.json.json { print(|out| write_pretty(out, &report)) } else { Ok(ExitCode::Done) }
}

fn list(lines: &[String]) -> String {
    lines.iter().map(|line| format!("- {line}\n")).collect()
}

/// Writes what the next prompt has beside progress and history, as it is headed there.
fn write_parts(recalled: &Recalled, report: &mut Value, out: &mut impl Write) -> Result<()> {
    let parts = [
        ("The last attempt at this task", recalled.last_attempt.clone()),
        ("The question of the last attempt", recalled.question.clone()),
        ("What earlier iterations learned", list(&recalled.learnings)),
        ("Hints from the user", list(&recalled.hints)),
    ];
    for (title, text) in parts.iter().filter(|(_, text)| !text.is_empty()) {
        writeln!(out, "{title}\n\n{}\n", inert(text.trim_end()))?;
    }
    if !recalled.progress.is_empty() {
        writeln!(out, "Previous iterations\n")?;
    }
    report["last_attempt"] = recalled.last_attempt.as_str().into();
    report["question"] = recalled.question.as_str().into();
    report["learnings"] = json!(recalled.learnings);
    report["hints"] = json!(recalled.hints);
    Ok(())
}

/// Writes the iterations beside the newest ones that have to do with a task, and returns them as JSON.
fn write_older(
    settings: &Settings,
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
        Some(RecalledHistory { context, mode, why: Reason::Asked }) => (*mode, "as set", Some(context)),
        Some(RecalledHistory { context, mode, why: Reason::Failures(_) }) => {
            (*mode, "turned on by failures in a row", Some(context))
        }
    };
    if let Some(command) = ralph_engine::history_summarizer(&settings.config.settings) {
        let text = format!("in a loop, `{command}` summarizes this; it is not run here");
        warn(&text);
    }
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

//! `specify ralph history`: what the next prompt is told of older iterations, with scores and reasons.

use std::io::{Write, stderr};

use anyhow::{Result, bail};
use clap::Args;

use crate::progress::historical::Mode;
use crate::record::SessionName;
use crate::session::{Reason, Recalled, Sought};
use crate::view::history::{Shown, write};
use crate::view::style::Paint;

use super::args::{Json, SettingArgs};
use super::caller::Caller;
use super::exit_code::ExitCode;
use super::output::{print_json, stdout, warn};
use super::place::{self, refusal};
use super::ready::{Settings, Wish};
use super::sessions::{self, Choice};

#[derive(Debug, Args)]
pub struct HistoryArgs {
    /// Task [default: the next one]
    #[arg(long, value_name = "ID")]
    pub task: Option<String>,
    /// Feature, by path or by name
    #[arg(long, value_name = "FEATURE")]
    pub feature: Option<String>,
    /// Session whose iterations are called by their number alone
    #[arg(long, value_name = "SESSION")]
    pub session: Option<SessionName>,
    #[command(flatten)]
    pub json: Json,
    #[command(flatten)]
    pub settings: SettingArgs,
}

pub fn run(args: &HistoryArgs, caller: &Caller, paint: Paint) -> Result<ExitCode> {
    let store = place::open(caller)?;
    let feature = place::feature_to_read(caller, &store, args.feature.as_ref())?;
    let wish = Wish { flags: args.settings.flags(), ..Wish::default() };
    let settings = Settings::read(&store, &feature, caller, &wish).map_err(refusal)?;
    let Some(task) = settings.next_task(&feature, args.task.as_ref()).map_err(refusal)? else {
        bail!("no open task can be picked: there is no next prompt\nhint: name a task with --task");
    };
    let policy = settings.history_policy();
    let mut memory = settings.memory(&store, &feature)?;
    let budget = policy.settings.budget;
    let session = match &args.session {
        Some(_) => {
            let choice = Choice { session: args.session.clone(), feature: Some(feature.path.clone()) };
            Some(sessions::latest(&store, &choice)?.id().clone())
        }
        None => None,
    };
    let wanted = Sought { task: &task, session: session.as_ref(), budget };
    let recalled = memory.recall(&store, wanted, policy)?;
    let shown = match &recalled {
        None => Shown { task: &task, mode: Mode::Off.as_str(), why: "history is off", budget, context: None },
        Some(Recalled { context, mode, why }) => Shown {
            task: &task,
            mode: mode.as_str(),
            why: match why {
                Reason::Asked => "as set",
                Reason::Failures(_) => "turned on by failures in a row",
            },
            budget,
            context: Some(context),
        },
    };
    if let Some(summarizer) = settings.history_summarizer() {
        let told = format!("in a loop, `{}` sums this up; it is not asked here", summarizer.command);
        warn(&told, &mut stderr());
    }
    if recalled.is_none() {
        warn("history is off for this task: see `--with-history`", &mut stderr());
    }
    let mut out = stdout();
    match args.json {
        Json { json: true } => print_json(&mut out, &shown)?,
        Json { json: false } => write(&mut out, &shown, paint)?,
    }
    out.flush()?;
    Ok(ExitCode::Done)
}

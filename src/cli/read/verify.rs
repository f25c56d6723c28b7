//! `specify ralph verify`: whether a tree passes in a clean checkout, too.

use std::io::Write;

use anyhow::{Result, bail};
use camino::Utf8Path;
use clap::Args;
use failure_excerpt::Tally;
use serde_json::json;

use ralph_core::config::{FlagInput, Pass, Settings};
use ralph_core::judge::clean::{Answer, Question, answer};
use ralph_core::record::{
    CleanVerdict, IterationName, LogEntry, ObjectId, Outcome, SessionId, SessionName, Which, join_files,
    quoted_for_shell,
};
use ralph_engine::{CleanCheckout, CleanPlace, Tried, newest_held, redactor, suggested_setup};
use ralph_git::repository::RefFormat;
use ralph_git::worktree::WorkTree;
use ralph_os::process::{Interrupt, Marker, create_private_dir, remove_path};
use ralph_project::feature::Feature;
use ralph_store::Store;
use ralph_ui::style::{counted, duration, one_line};

mod range;
mod report;

use crate::cli::args::pair;
use crate::cli::read::{commits, iterations};
use crate::cli::settings::{load_in, project_in};
use crate::cli::start::{lane, sandbox, trust};
use crate::cli::{Context, ExitCode, Flags, Json, SessionChoice, emit, note, warn};

/// Maximum number of files that a warning names.
const MAX_NAMED: usize = 5;

/// Maximum number of iterations among which a tree is looked for that held.
const MAX_ITERATIONS: usize = 1000;

#[derive(Debug, Args)]
pub struct VerifyArgs {
    /// What to try: a branch or commit, an attempt (4, T004), a session, or a range TARGET..HEAD [default: HEAD]
    #[arg(value_name = "WHAT")]
    pub what: Option<String>,
    /// Of a range: run each commit without its source, too, and say what proves it
    #[arg(long)]
    pub prove: bool,
    /// Of a range: run all commits alone, not only some of those that say that they passed
    #[arg(long)]
    pub commits: bool,
    /// Of a range: excuse a refusal by its code (can be repeated)
    #[arg(long, value_name = "CODE")]
    pub allow: Vec<String>,
    /// Of a range: exit with 5 if anything is flagged
    #[arg(long)]
    pub fail_on_flags: bool,
    /// Of a range: print Markdown, for the page of a CI job
    #[arg(long, conflicts_with = "json")]
    pub markdown: bool,
    /// Of a range: run it without asking, also where there is no sandbox
    #[arg(long)]
    pub yes: bool,
    /// Of a range: run it without a sandbox
    #[arg(long)]
    pub no_sandbox: bool,
    /// Keep nothing of earlier checkouts, not even what `lanes.keep` names
    #[arg(long)]
    pub fresh: bool,
    /// Shell command that must pass [default: validation.command]
    #[arg(long, value_name = "CMD")]
    pub validate: Option<String>,
    /// Any setting, as `config --all` lists them (can be repeated)
    #[arg(long, value_name = "KEY=VALUE", value_parser = pair)]
    pub set: Vec<(String, String)>,
    /// Approve the commands in .specify/ralph.toml for this call
    #[arg(long)]
    pub trust: bool,
    #[command(flatten)]
    pub json: Json,
}

/// What is tried.
struct Target {
    /// As it is called.
    name: String,
    tree: ObjectId,
    /// The commit that git commands see.
    head: Option<ObjectId>,
    /// The branch that they see it on; empty for none.
    branch: String,
    /// How many tests ran in place.
    in_place: Option<u64>,
    /// The record that it is of.
    record: Option<(SessionId, u32)>,
    /// The feature of that record.
    feature: Option<String>,
}

/// A tree that is known to hold.
struct Control {
    /// The record that says so, for people.
    name: String,
    tree: ObjectId,
    head: Option<ObjectId>,
}

pub fn run(args: &VerifyArgs, context: &Context) -> Result<ExitCode> {
    if let Some(words) = args.what.as_deref().filter(|words| words.contains("..")) {
        return range::run(args, words, context);
    }
    for (flag, is_given) in [
        ("--prove", args.prove),
        ("--commits", args.commits),
        ("--allow", !args.allow.is_empty()),
        ("--fail-on-flags", args.fail_on_flags),
        ("--markdown", args.markdown),
        ("--yes", args.yes),
        ("--no-sandbox", args.no_sandbox),
    ] {
        if is_given {
            return crate::cli::refuse(format!("`{flag}` needs a range"), "verify TARGET..HEAD");
        }
    }
    let (store, work_tree) = (context.store()?, context.work_tree()?);
    let project = project_in(context).map_err(crate::cli::refusal)?;
    let config = load_in(context, flags(args)).map_err(crate::cli::refusal)?;
    let settings = &config.settings;
    let Some(command) = settings.validation_command.clone() else {
        return crate::cli::refuse("there is no validation to run", "give one with --validate CMD");
    };
    trust::require(&config, context)?;
    if store.repository().refs == RefFormat::Tables {
        let message = "this repository keeps its refs in tables, and a clean checkout needs them in files";
        return crate::cli::refuse(message, "`git refs migrate --ref-format=files`");
    }
    let target = find(args.what.as_deref(), context)?;
    if let Some((lock, setup)) = suggested_setup(&project.root).filter(|_| settings.lanes_setup.is_none()) {
        let set = format!("lanes.setup={setup}");
        let hint = format!("{lock} suggests --set {}", quoted_for_shell(&set));
        return crate::cli::refuse(
            "a clean checkout has no dependencies, and `lanes.setup` is not set",
            hint,
        );
    }
    if args.what.is_none() {
        say_what_is_left_out(work_tree)?;
    }
    let interrupt = Interrupt::install()?;
    let root = lane::lanes_folder(settings, work_tree, context)?;
    let number = lane::lowest_free(work_tree, &root, "")?;
    let clean = work_tree.clean_in(&root, number, &target.branch);
    let outputs = store.repository().ralph_dir().join("verify").join(target.tree.short());
    remove_path(outputs.parent().unwrap_or(&outputs))?;
    create_private_dir(&outputs)?;
    let id = SessionId::new(context.now()?, std::process::id());
    let feature = context.feature(None, None).ok();
    let (clock, redactor, users_tree) = (context.clock()?, redactor(settings)?, context.users_tree()?);
    let place = CleanPlace {
        marker: Marker::new(&id).in_work_tree(clean.top()),
        group: None,
        from: work_tree.top().to_owned(),
        users_tree: &users_tree,
        project: project.root.strip_prefix(work_tree.top()).map(Utf8Path::to_owned).unwrap_or_default(),
        feature: feature
            .as_ref()
            .and_then(|feature| feature.directory_in(&project.root))
            .map(Utf8Path::to_owned),
        settings,
        sandbox: sandbox::set_up(settings, &[], context)?,
        is_private: false,
        environment: variables(&target, feature.as_ref(), work_tree, &clean),
        work_tree: clean,
        clock: &clock,
        interrupt: &interrupt,
        redactor: &redactor,
        objects: None,
        scratch: outputs.clone(),
    };
    let of_feature = target.feature.as_deref().or(feature.as_ref().map(|feature| feature.path.as_str()));
    let control = of_feature.map(|feature| control(store, feature)).transpose()?.flatten();
    let found = try_out(place, (&target, control.as_ref()), settings, args.fresh, &command)?;
    if let Some(signal) = interrupt.signal() {
        return Ok(ExitCode::of_signal(signal));
    }
    let Some(found) = found else { bail!("the checkout is in use") };
    report(&found, (&target, control.as_ref()), &outputs, args.json)
}

/// Returns the newest tree of a feature that held, as its records say.
fn control(store: &Store, feature: &str) -> Result<Option<Control>> {
    let entries = store.iterations_of(feature, MAX_ITERATIONS)?;
    let entries: Vec<&LogEntry> = entries.iter().collect();
    Ok(newest_held(store, &entries, &[Outcome::Checked, Outcome::Success, Outcome::Integrated]).and_then(
        |(_, record)| {
            Some(Control {
                name: format!("{}:{}", record.session, record.iteration),
                tree: record.check()?.tree.clone(),
                head: record.head_after.clone(),
            })
        },
    ))
}

/// What a check came to, with its last run.
struct Found {
    answer: Answer,
    last: Option<Tried>,
    runs: u32,
    by_agents: Vec<String>,
    duration_ms: u64,
}

fn try_out(
    place: CleanPlace<'_>,
    (target, control): (&Target, Option<&Control>),
    settings: &Settings,
    is_fresh: bool,
    command: &str,
) -> Result<Option<Found>> {
    let stopwatch = place.clock.stopwatch();
    let Some(checkout) = CleanCheckout::take(place)? else { return Ok(None) };
    let setup = settings.lanes_setup.as_ref().map_or(String::new(), |setup| format!("`{setup}`, then "));
    note(format_args!("{}: {setup}`{command}` in a clean checkout", target.name));
    let (mut last, mut runs) = (None, 0);
    let in_place: Vec<_> = control.map(|_| None).into_iter().chain([target.in_place]).collect();
    let question = Question {
        in_place: &in_place,
        has_control: control.is_some(),
        allows_failures: settings.validation_pass == Pass::NoNewFailures,
        flaky: &[],
    };
    let mut run = |at: usize, is_again: bool| {
        runs += 1;
        if let Some(control) = control.filter(|_| at == 0) {
            note(format_args!("the same on the newest tree that held, that of {}", control.name));
            return Ok(checkout.run(&control.tree, control.head.as_ref(), is_fresh, "control")?.run);
        }
        if is_again {
            note("it fails: once more, with nothing kept");
        }
        let name = if is_again { "again" } else { "first" };
        let tried = checkout.run(&target.tree, target.head.as_ref(), is_fresh || is_again, name)?;
        let run = tried.run.clone();
        last = Some(tried);
        anyhow::Ok(run)
    };
    let answer = answer(&question, &mut run, &mut || true)?;
    let by_agents = checkout.changed_by_agents();
    Ok(Some(Found { answer, last, runs, by_agents, duration_ms: stopwatch.elapsed_ms() }))
}

fn report(
    found: &Found,
    (target, control): (&Target, Option<&Control>),
    outputs: &Utf8Path,
    json: Json,
) -> Result<ExitCode> {
    let Found { answer, last, runs, by_agents, duration_ms } = found;
    let tests = last.as_ref().map(|last| &last.run.tests);
    let count = tests.and_then(Tally::executed).filter(|count| *count > 0);
    let (verdict, cause, code) = match answer {
        Answer::Holds { .. } => (CleanVerdict::Holds, None, ExitCode::Done),
        Answer::Fails { cause, .. } => (CleanVerdict::Fails, Some(cause), ExitCode::Stuck),
        Answer::Unusable(why) => (CleanVerdict::Unusable, Some(why), ExitCode::Unusable),
    };
    let flaky = if let Answer::Holds { flaky: Some(flaky), .. } = answer { Some(flaky) } else { None };
    let value = json!({
        "what": target.name,
        "tree": target.tree,
        "verdict": verdict,
        "cause": cause,
        "setup": last.as_ref().and_then(|last| last.setup),
        "exit": last.as_ref().and_then(|last| last.exit),
        "tests": tests,
        "control": control.map(|control| json!({ "iteration": control.name, "tree": control.tree })),
        "flaky": flaky,
        "runs": runs,
        "duration_ms": duration_ms,
        "outputs": outputs,
    });
    emit(json, &value, |out| {
        let name = one_line(&target.name);
        match answer {
            Answer::Holds { fewer, .. } => {
                let ran = match (fewer, count) {
                    (Some((there, here)), _) => format!("{there} of {here} tests pass"),
                    (None, Some(count)) => {
                        format!("{} {}", counted(count, "test"), if count == 1 { "passes" } else { "pass" })
                    }
                    (None, None) => "the validation passes".to_owned(),
                };
                writeln!(out, "holds: {ran} in a clean checkout of {name}")?;
            }
            Answer::Fails { cause, .. } => {
                writeln!(out, "fails here: {}", one_line(cause))?;
                match control {
                    Some(control) => writeln!(out, "  the tree of {} passes there", control.name)?,
                    None => writeln!(
                        out,
                        "  no tree is known to hold: it may be the checkout that lacks something"
                    )?,
                }
            }
            Answer::Unusable(why) => writeln!(out, "unusable: {}", one_line(why))?,
        }
        if let Some(flaky) = flaky {
            writeln!(out, "  flaky: failed first, and passed with nothing kept: {}", one_line(flaky))?;
        }
        if !by_agents.is_empty() && verdict != CleanVerdict::Holds {
            let names = join_files(by_agents, MAX_NAMED);
            writeln!(out, "  as before agents changed them: {}", one_line(&names))?;
        }
        let runs = counted(u64::from(*runs), "run");
        writeln!(out, "  {runs}, {}; outputs: {outputs}", duration(*duration_ms))
    })?;
    Ok(code)
}

fn flags(args: &VerifyArgs) -> Flags {
    let validate = args.validate.iter().map(|cmd| FlagInput::new("--validate", "validation.command", cmd));
    let set = args.set.iter().map(|(key, value)| FlagInput::new("--set", key, value));
    let trust = (args.trust || args.yes).then(|| FlagInput::new("--trust", "trust", "always"));
    Flags { settings: set.chain(validate).chain(trust).collect(), ..Flags::default() }
}

/// Says that uncommitted changes are no part of HEAD.
fn say_what_is_left_out(work_tree: &WorkTree) -> Result<()> {
    let mut left_out = work_tree.uncommitted()?;
    left_out.extend(work_tree.untracked_below(&[String::new()], false)?);
    if !left_out.is_empty() {
        warn(&format!("not in HEAD, and so not tried: {}", join_files(&left_out, MAX_NAMED)));
    }
    Ok(())
}

/// Returns the variables that a validation of the record had, with the paths of the checkout.
fn variables(
    target: &Target,
    feature: Option<&Feature>,
    from: &WorkTree,
    clean: &WorkTree,
) -> Vec<(String, String)> {
    let (Some(feature), Some((session, iteration))) = (feature, &target.record) else { return Vec::new() };
    let moved = |path: &Utf8Path| {
        path.strip_prefix(from.top()).map_or_else(|_| path.to_owned(), |path| clean.top().join(path))
    };
    [
        ("RALPH_SESSION", session.to_string()),
        ("RALPH_ITERATION", iteration.to_string()),
        ("RALPH_FEATURE", moved(&feature.dir).into_string()),
        ("RALPH_TASKS", moved(&feature.tasks_path).into_string()),
        ("RALPH_PROGRESS", moved(&feature.progress_path).into_string()),
    ]
    .map(|(name, value)| (name.to_owned(), value))
    .into()
}

/// Returns what a word means: a branch or another name of git's, an attempt, or a session.
fn find(what: Option<&str>, context: &Context) -> Result<Target> {
    let (store, work_tree) = (context.store()?, context.work_tree()?);
    let of_commit = |name: &str, commit: ObjectId, branch: Option<String>| Target {
        name: format!("{name} ({})", commit.short()),
        tree: commit.clone(),
        head: Some(commit),
        branch: branch.unwrap_or_default(),
        in_place: None,
        record: None,
        feature: None,
    };
    let Some(what) = what else {
        return match work_tree.head()? {
            Some(head) => Ok(of_commit("HEAD", head, work_tree.branch()?)),
            None => crate::cli::refuse("there is no commit yet", "git add --all && git commit"),
        };
    };
    // Short numbers are iterations, and `@` is the last one, as everywhere.
    let is_iteration =
        what.starts_with('@') || what.len() < 7 && what.bytes().all(|byte| byte.is_ascii_digit());
    if !is_iteration && let Some(commit) = commits::parse(store, what)? {
        let is_branch = store.refs().tip(&format!("refs/heads/{what}"))?.is_some();
        return Ok(of_commit(what, commit.id().clone(), is_branch.then(|| what.to_owned())));
    }
    let name = match what.parse::<SessionName>() {
        Ok(_) if !is_iteration && !what.contains(':') && what.contains('-') => format!("{what}:@"),
        _ => what.to_owned(),
    };
    let name: IterationName = name.parse()?;
    let point = iterations::find(store, &name, &SessionChoice::default())?;
    let record = if name.which == Which::Start { None } else { store.readable_iteration(point.iteration()?) };
    let tests = record.as_ref().and_then(|record| record.evidence.as_ref()?.tests.clone());
    let is_in_lane = record.as_ref().is_some_and(|record| record.lane.is_some());
    Ok(Target {
        name: point.to_string(),
        tree: point.snapshot(store)?,
        head: match &record {
            Some(record) => record.base.clone().or_else(|| record.head_after.clone()),
            None => work_tree.head()?,
        },
        branch: match &record {
            Some(_) if is_in_lane => "lane".to_owned(),
            Some(record) => record.branch.clone().unwrap_or_default(),
            None => work_tree.branch()?.unwrap_or_default(),
        },
        in_place: tests.and_then(|tests| tests.executed()),
        feature: record.as_ref().map(|record| record.feature.clone()),
        record: record.map(|record| (record.session, record.iteration)),
    })
}

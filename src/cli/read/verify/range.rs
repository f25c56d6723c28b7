//! `specify ralph verify TARGET..HEAD`: judges commits of anybody, with the settings of the target.

use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher as _, Hasher as _};
use std::sync::Arc;

use anyhow::{Result, bail};
use camino::Utf8PathBuf;

use ralph_core::config::{Commits, Config, FILE, Inputs, REFUSALS, SandboxChoice, Settings, file_text};
use ralph_core::record::{Flag, FlagCode, RALPH, Refusal, SessionId, join_truncated};
use ralph_engine::{CleanPlace, RangeAnswer, RangeInputs, judge_range, redactor, tool_versions};
use ralph_git::repository::RefFormat;
use ralph_os::process::{Interrupt, Marker, create_private_dir, remove_path};
use ralph_os::sandbox::Sandbox;
use ralph_project::project_files::MAX_SETTINGS_BYTES;
use ralph_ui::style::one_line;

use super::report::{Judged, Side, report};
use super::{VerifyArgs, flags};
use crate::cli::read::commits;
use crate::cli::settings::{inputs_without_file, project_in};
use crate::cli::start::proposal::{self, Proposal};
use crate::cli::start::{confirm, lane, sandbox, trust};
use crate::cli::{Context, ExitCode, note, refuse};

/// Maximum number of settings that a text names.
const MAX_NAMED: usize = 3;

pub fn run(args: &VerifyArgs, range: &str, context: &Context) -> Result<ExitCode> {
    let (store, work_tree) = (context.store()?, context.work_tree()?);
    if store.repository().refs == RefFormat::Tables {
        let message =
            "this repository keeps its refs in tables, and a checkout for a range needs them in files";
        return refuse(message, "`git refs migrate --ref-format=files`");
    }
    if let Some(unknown) = args.allow.iter().find(|code| !REFUSALS.contains(&code.as_str())) {
        let message = format!("`{}` is no code of a refusal", one_line(unknown));
        return refuse(message, format!("one of {}", REFUSALS.join(", ")));
    }
    let [target, head] = ends(range, context)?;
    let root = work_tree.relative(&project_in(context).map_err(crate::cli::refusal)?.root);
    let rules = rules(args, &root, [&target, &head], context)?;
    let RangeRules { config, command, proposal, found, head_setup } = rules;
    let (settings, sandbox) = fence(args, &config, context)?;
    if sandbox.is_none() && !args.yes {
        ask_without_sandbox(&command, &head)?;
    }
    let interrupt = Interrupt::install()?;
    let lanes = lane::lanes_folder(&settings, work_tree, context)?;
    let clean = work_tree.range_checkout_in(&lanes, lane::lowest_free(work_tree, &lanes, "")?);
    let outputs = store.repository().ralph_dir().join("verify").join(head.id.short());
    remove_path(outputs.parent().unwrap_or(&outputs))?;
    create_private_dir(&outputs)?;
    let id = SessionId::new(context.now()?, std::process::id());
    let (clock, redactor, users_tree) = (context.clock()?, redactor(&settings)?, context.users_tree()?);
    let stopwatch = clock.stopwatch();
    let guard = sandbox.as_ref().map(|sandbox| sandbox.facts().mechanism);
    let place = CleanPlace {
        marker: Marker::new(&id).in_work_tree(clean.top()),
        group: None,
        from: work_tree.top().to_owned(),
        users_tree: &users_tree,
        project: Utf8PathBuf::from(&root),
        feature: None,
        settings: &settings,
        sandbox,
        is_private: true,
        environment: Vec::new(),
        work_tree: clean,
        clock: &clock,
        interrupt: &interrupt,
        redactor: &redactor,
        objects: None,
        scratch: outputs.clone(),
    };
    let is_refused = |code: &&String| !args.allow.contains(code);
    let refuse: Vec<String> = settings.validation_refuse.iter().filter(is_refused).cloned().collect();
    let objects = outputs.join("objects");
    let inputs = RangeInputs {
        merged: work_tree.merge_commits(&target.id, &head.id, &objects)?,
        commits: work_tree.range_commits(&target.id, &head.id)?,
        objects,
        target: &target.id,
        target_name: &target.name,
        head: &head.id,
        command: &command,
        head_setup: head_setup.as_deref(),
        refuse: &refuse,
        all_commits: args.commits,
        prove: args.prove,
        found,
    };
    let job = context.environment.owned("GITHUB_ACTIONS").map(|_| Job::begin());
    let answer = judge_range(place, &inputs, &mut |words| note(one_line(words)))?;
    if let Some(signal) = interrupt.signal() {
        return Ok(ExitCode::of_signal(signal));
    }
    let Some(answer) = answer else { bail!("the checkout is in use") };
    let judged = Judged {
        target,
        head,
        range: range.to_owned(),
        setup: settings.lanes_setup.clone(),
        guard,
        is_offline: settings.sandbox_validation_network.is_empty(),
        is_in_ci: context.environment.owned("CI").is_some(),
        versions: answer.is_target_red.then(|| tool_versions(&command, work_tree.top(), None)),
        suggested: proposal.filter(|(named, _)| *named != command),
        command,
        answer,
        duration_ms: stopwatch.elapsed_ms(),
        outputs,
        start: context.start()?,
    };
    let code = report(&judged, args, context)?;
    // Nothing else is on this stream where the Markdown goes to a file.
    if let Some(job) = job.filter(|_| args.markdown) {
        job.end(&judged.answer);
    }
    Ok(code)
}

/// By what a range is judged: all of it is the target's, or the person's.
struct RangeRules {
    config: Config,
    command: String,
    /// What a file of the target suggests for a command.
    proposal: Option<Proposal>,
    /// What the head changes of it, which has no effect.
    found: Vec<Flag>,
    /// The setup of the head, if it is another and may run.
    head_setup: Option<String>,
}

/// Reads the settings of both ends, and asks for what is not approved.
fn rules(args: &VerifyArgs, root: &str, [target, head]: [&Side; 2], context: &Context) -> Result<RangeRules> {
    let work_tree = context.work_tree()?;
    let below = |path: &str| if root.is_empty() { path.to_owned() } else { format!("{root}/{path}") };
    let read = |side: &Side, path: &str| work_tree.committed_file(&side.id, &below(path));
    let settings_of = |side: &Side| -> Result<Option<String>> {
        let file = read(side, FILE)?.filter(|file| file.bytes.len() as u64 <= MAX_SETTINGS_BYTES);
        file.map(|file| file_text(file.bytes)).transpose()
    };
    let inputs = Inputs { file: settings_of(target)?, ..inputs_without_file(context, flags(args))? };
    let config = Config::read(&inputs).map_err(crate::cli::refusal)?;
    let proposal = proposal::among(|path| {
        let file = read(target, path).ok().flatten()?;
        Some(String::from_utf8_lossy(&file.bytes).into_owned())
    });
    let Some(command) = config.settings.validation_command.clone() else {
        let message = format!("{} says nothing of how it is validated", target.named());
        return refuse(message, proposal::hint(proposal));
    };
    trust::require(&config, context)?;
    // What cannot be read decides nothing here.
    let of_head = settings_of(head).unwrap_or_default();
    let of_head = of_head.and_then(|file| Config::read(&Inputs { file: Some(file), ..inputs }).ok());
    let found = of_head.iter().filter_map(|of_head| changed_settings(&config, of_head, target, below(FILE)));
    let found = found.collect();
    let head_setup = of_head.and_then(|config| config.settings.lanes_setup);
    let head_setup = head_setup.filter(|setup| Some(setup) != config.settings.lanes_setup.as_ref());
    let head_setup = match head_setup {
        Some(setup) if args.yes || asks_for_setup(&setup, head)? => Some(setup),
        _ => None,
    };
    Ok(RangeRules { config, command, proposal, found, head_setup })
}

/// Asks whether code of the head may run with all that the person can do.
fn ask_without_sandbox(command: &str, head: &Side) -> Result<()> {
    let question = format!(
        "There is no sandbox: code of {} could do all that you can.\nRun `{}` on it?",
        head.named(),
        one_line(command)
    );
    match confirm::ask(&question)? {
        Some(true) => Ok(()),
        Some(false) => refuse("nothing was run", "in a container or a virtual machine: --yes"),
        None => {
            let message = format!("without a sandbox, code of {} could do all that you can", head.named());
            refuse(message, "install bubblewrap; or, where that does no harm, --yes")
        }
    }
}

/// The runner of a CI job, which takes lines of what is printed for commands.
struct Job {
    token: String,
}

impl Job {
    /// Has it take none, until it sees a word that nothing can know which runs meanwhile.
    fn begin() -> Self {
        let token = format!("{:016x}", RandomState::new().build_hasher().finish());
        note(format_args!("::stop-commands::{token}"));
        Self { token }
    }

    /// Shows what was found at the files that it is about.
    fn end(self, answer: &RangeAnswer) {
        note(format_args!("::{}::", self.token));
        let data = |text: &str| one_line(text).replace('%', "%25");
        let property = |text: &str| data(text).replace(':', "%3A").replace(',', "%2C");
        for reason in &answer.reasons {
            note(format_args!("::error title={}::{}", property(&reason.code), data(&reason.text)));
        }
        for Flag { code, text, paths } in &answer.flags {
            let file = paths.first().map_or(String::new(), |path| format!("file={},", property(path)));
            note(format_args!("::warning {file}title={}::{}", code.as_str(), data(text)));
        }
    }
}

/// Returns the commits of both ends.
fn ends(range: &str, context: &Context) -> Result<[Side; 2]> {
    let Some((target, head)) = range.split_once("..") else { bail!("`{range}` is no range") };
    if head.starts_with('.') || target.is_empty() {
        return refuse(
            format!("`{}` does not say what is judged by whom", one_line(range)),
            "TARGET..HEAD: the branch that the commits go to, then theirs; `main..` is what is checked out",
        );
    }
    let store = context.store()?;
    let side = |name: &str| match commits::parse(store, name)? {
        Some(commit) => {
            let id = commit.id().clone();
            let name = if id.as_str() == name { id.short() } else { name };
            Ok(Side { name: name.to_owned(), id })
        }
        None => refuse(format!("`{}` is no commit here", one_line(name)), format!("git fetch origin {name}")),
    };
    let head = if head.is_empty() {
        super::say_what_is_left_out(context.work_tree()?)?;
        let branch = context.work_tree()?.branch()?;
        Side { name: branch.unwrap_or_else(|| "HEAD".to_owned()), ..side("HEAD")? }
    } else {
        side(head)?
    };
    let target = side(target)?;
    if target.id == head.id || context.work_tree()?.is_ancestor(&head.id, &target.id)? {
        let message = format!("{} has no commit that {} has not", head.named(), target.named());
        let hint = format!("name the branch that is to be judged: {RALPH} verify {}..BRANCH", target.name);
        return refuse(message, hint);
    }
    Ok([target, head])
}

/// Returns what the head changes in how it is judged, which has no effect.
fn changed_settings(of_target: &Config, of_head: &Config, target: &Side, path: String) -> Option<Flag> {
    let of_target = |key: &str| of_target.file_commands.iter().find(|command| command.key == key);
    let changed = of_head
        .file_commands
        .iter()
        .filter(|command| of_target(&command.key).is_none_or(|before| before.value != command.value));
    let changed: Vec<String> = changed
        .map(|command| format!("{} = {}", command.key, one_line(&command.shown.to_string())))
        .collect();
    let text = format!(
        "{FILE} is changed, too: {}; judged by the settings of {}",
        join_truncated(&changed, MAX_NAMED),
        one_line(&target.name)
    );
    (!changed.is_empty()).then(|| Flag { code: FlagCode::Config, text, paths: vec![path] })
}

/// Asks whether the setup of the head may run.
fn asks_for_setup(setup: &str, head: &Side) -> Result<bool> {
    let question = format!(
        "{} sets another lanes.setup: {}\nRun it where that of the target fails on its files?",
        head.named(),
        one_line(setup)
    );
    Ok(confirm::ask(&question)? == Some(true))
}

/// Returns the settings for runs of other people's code, and the sandbox: what is there, unless the person says otherwise.
fn fence(args: &VerifyArgs, config: &Config, context: &Context) -> Result<(Settings, Option<Arc<Sandbox>>)> {
    let mut settings = config.settings.clone();
    // Nothing is committed here.
    settings.commit = Commits::Off;
    if !config.is_set("sandbox.validation-network") {
        settings.sandbox_validation_network = Vec::new();
    }
    if args.no_sandbox {
        settings.sandbox = None;
        return Ok((settings, None));
    }
    if settings.sandbox.is_some() {
        let sandbox = sandbox::set_up(&settings, &[], context)?;
        return Ok((settings, sandbox));
    }
    settings.sandbox = Some(SandboxChoice::Auto);
    match sandbox::set_up(&settings, &[], context) {
        Ok(sandbox) => Ok((settings, sandbox)),
        Err(error) if error.is::<Refusal>() => {
            let first = error.to_string();
            note(format!("no sandbox: {}", one_line(first.lines().next().unwrap_or_default())));
            settings.sandbox = None;
            Ok((settings, None))
        }
        Err(error) => Err(error),
    }
}

impl Side {
    fn named(&self) -> String {
        format!("{} ({})", one_line(&self.name), self.id.short())
    }
}

//! `specify ralph pr`: pushes the branch of a session, and makes or updates its pull request.

use std::io::Write as _;

use anyhow::{Result, bail};
use clap::Args;
use tasklist::TaskList;

use ralph_core::record::{
    ObjectId, RALPH, RALPH_ELSEWHERE, Refusal, full_branch_name, join_files, join_truncated, quoted_for_shell,
};
use ralph_git::worktree::RangeCommit;
use ralph_os::process::{LONG, Tool};
use ralph_store::{Remote, SessionLog, Store};
use ralph_ui::report::{Limits, MAX_SUMMARY_CHARS, Report, Work, write_markdown};
use ralph_ui::style::{counted, cut, one_line};
use ralph_ui::sync::warnings;

use super::forge::{Forge, Open, Place, Wanted, complaints, room, spliced};
use super::sync::FirstPush;
use super::{remotes, sync};
use crate::cli::read::report::{read, redactor, task_list};
use crate::cli::read::sessions::latest;
use crate::cli::read::work::{self, Range};
use crate::cli::start::approvals::Approved;
use crate::cli::{Context, ExitCode, SessionChoice, note, print, refuse, say, warn};

/// Most names in a message.
const MAX_NAMED: usize = 5;

/// Most characters of a title that we make.
const MAX_TITLE: usize = 100;

/// Most sessions among which one of the branch is looked for.
const MAX_SESSIONS: usize = 1000;

#[derive(Debug, Args)]
pub struct PrArgs {
    /// Branch that it is to be merged into [default: the one that the remote checks out]
    #[arg(long, value_name = "BRANCH")]
    pub base: Option<String>,
    /// Make it a draft
    #[arg(long)]
    pub draft: bool,
    /// Title [default: that of the feature]
    #[arg(long, value_name = "TEXT")]
    pub title: Option<String>,
    /// Print its text, and push nothing
    #[arg(long)]
    pub dry_run: bool,
    /// Push the records of its sessions, too, without snapshots
    #[arg(long)]
    pub records: bool,
    /// Push to a new address without confirmation
    #[arg(long)]
    pub yes: bool,
    #[command(flatten)]
    pub choice: SessionChoice,
}

/// What is sent.
struct Sent {
    /// The sessions that worked on the branch, oldest first; at least one.
    logs: Vec<SessionLog>,
    branch: String,
    head: ObjectId,
    /// Where it is pushed, and where it is to be merged.
    remote: Remote,
    target: Remote,
    base: String,
    base_tip: ObjectId,
    /// What the base has not, oldest first.
    commits: Vec<RangeCommit>,
    /// The newest record of the sessions that the remote has.
    record_there: Option<String>,
}

pub fn run(args: &PrArgs, context: &Context) -> Result<ExitCode> {
    let sent = find(args, context)?;
    let redactor = redactor(context);
    let [base, head] =
        [&sent.target, &sent.remote].map(|remote| Place::of(&remotes::address_as_set(context, remote)));
    let directory = context.work_tree()?.top();
    let forge = base.as_ref().and_then(Forge::of).filter(|forge| forge.is_here(directory));
    let limits = Limits { max_size: 0, max_part: 0 };
    let report = read(context.store()?, sent.newest(), context, limits, false, false)?;
    let mut work = worked(&sent, context)?;
    work.records = sent.record_there.as_ref().map(|name| sent.at_remote(name));
    work.verify = sent.verify(None);
    let text = |work: &Work, max: usize| -> Result<String> {
        let mut bytes = Vec::new();
        write_markdown(&mut bytes, &report, work, &redactor, max)?;
        Ok(String::from_utf8(bytes)?)
    };
    if args.dry_run {
        let with = forge.map_or(String::new(), |forge| format!(", with {}", forge.program()));
        note(format_args!(
            "{} ({}) would go to {}, and a pull request into {}{with}",
            one_line(&sent.branch),
            counted(sent.commits.len() as u64, "commit"),
            one_line(&sent.remote.place()),
            one_line(&sent.base)
        ));
        let body = text(&work, MAX_SUMMARY_CHARS)?;
        return print(|out| out.write_all(body.as_bytes()));
    }
    confirm_branch(&sent, args, context)?;
    if args.records {
        sync::confirm_push(&sent.remote, false, args.yes, context)?;
    }
    push(&sent, directory)?;
    if args.records {
        work.records = push_records(&sent, context)?.or(work.records);
    }
    let (Some(forge), Some(base), Some(head)) = (forge, &base, &head) else {
        return left_to_the_user(&sent, base.as_ref(), &text(&work, MAX_SUMMARY_CHARS)?);
    };
    let title = args.title.clone().map_or_else(|| title(&sent, &report, context), Ok)?;
    let title = redactor.redact_text(&one_line(&title)).0;
    let wanted =
        Wanted { base, head, into: &sent.base, branch: &sent.branch, title: &title, is_draft: args.draft };
    let url = if let Some(Open { number, body, .. }) = forge.find(&wanted, directory)? {
        work.verify = sent.verify(Some(&forge.reference(number)));
        let theirs = body.unwrap_or_default();
        let body = spliced(&theirs, &text(&work, MAX_SUMMARY_CHARS.min(room(&theirs)))?);
        let title = args.title.is_some().then_some(title.as_str());
        let url = forge.update(base, number, (&body, title), directory)?;
        note(format_args!("updated pull request {number}"));
        url
    } else {
        let url = forge.create(&wanted, &text(&work, MAX_SUMMARY_CHARS)?, directory)?;
        note(format_args!("made a pull request into {}", one_line(&sent.base)));
        url
    };
    say(one_line(&url))?;
    Ok(ExitCode::Done)
}

/// Pushes the records of the sessions. Returns where that of the newest is there.
fn push_records(sent: &Sent, context: &Context) -> Result<Option<String>> {
    let refs: Vec<_> = sent.logs.iter().map(|log| log.refs.clone()).collect();
    let exchange = context.store()?.push_sessions(&sent.remote, &refs, context.now()?)?;
    for message in warnings(&exchange, &sent.remote.place()) {
        warn(&message);
    }
    let newest = sent.newest().refs.log();
    Ok(exchange.pushed.iter().any(|moved| moved.name == newest).then(|| sent.at_remote(&newest)))
}

/// Finds what is to be sent, and refuses what cannot be.
fn find(args: &PrArgs, context: &Context) -> Result<Sent> {
    let (store, work_tree) = (context.store()?, context.work_tree()?);
    let (log, branch) = session_and_branch(args, context)?;
    let Some(head) = store.refs().tip(&full_branch_name(&branch))? else {
        return refuse(
            format!("the branch {} is gone", one_line(&branch)),
            format!("`git branch {branch} COMMIT` makes it again"),
        );
    };
    if work_tree.branch()?.as_ref() == Some(&branch) {
        let progress = store.files_of(&log).progress;
        let mut changed = work_tree.uncommitted()?;
        changed.retain(|path| *path != progress);
        if !changed.is_empty() {
            let message = format!("not committed: {}", join_files(&changed, MAX_NAMED));
            return refuse(message, "commit it, or put it aside: git stash");
        }
    }
    let [remote, target] = remotes::of_branch(context, &branch)?;
    let logs = sessions_on(store, &log, &branch)?;
    let names: Vec<String> = logs.iter().map(|log| log.refs.log()).collect();
    let there = target.branches(store.repository(), &names)?;
    let fork =
        (remote.name != target.name).then(|| remote.branches(store.repository(), &names)).transpose()?;
    let at = one_line(&target.place());
    let Some(base) = args.base.clone().or_else(|| there.default.clone()) else {
        return refuse(format!("{at} does not say which branch is its default"), "name one: --base BRANCH");
    };
    if branch == base || Some(&branch) == there.default.as_ref() {
        let message = format!(
            "{} is the branch that others work from: no pull request is made of it",
            one_line(&branch)
        );
        return refuse(message, "git switch -c NAME");
    }
    let Some(base_tip) = there.tips.get(&full_branch_name(&base)).cloned() else {
        return refuse(format!("{at} has no branch {}", one_line(&base)), "name another: --base BRANCH");
    };
    let shown = format!("{}/{}", target.name, base);
    let is_here = store.has(&base_tip)?;
    if is_here && work_tree.is_ancestor(&head, &base_tip)? {
        let message = format!("{} has no commit that {} has not", one_line(&branch), one_line(&shown));
        let hint = "`commit = \"task\"` has the loop commit what passes; or commit it yourself";
        return refuse(message, hint);
    }
    if !is_here || !work_tree.is_ancestor(&base_tip, &head)? {
        let message = format!("{} lacks commits that {} has", one_line(&branch), one_line(&shown));
        let place = quoted_for_shell(&target.name);
        return refuse(
            message,
            format!("git fetch {place}, then merge {shown} into {branch}, or rebase onto it"),
        );
    }
    let commits = work_tree.range_commits(&base_tip, &head)?;
    let of_remote = fork.as_ref().unwrap_or(&there);
    let record_there = names.into_iter().rev().find(|name| of_remote.tips.contains_key(name));
    Ok(Sent { logs, branch, head, remote, target, base, base_tip, commits, record_there })
}

/// Returns the session that is meant, and its branch: without a choice the newest of the branch that is checked out, else the
/// newest in a lane.
fn session_and_branch(args: &PrArgs, context: &Context) -> Result<(SessionLog, String)> {
    let (store, here) = (context.store()?, context.work_tree()?.branch()?);
    let branch_of = |log: &SessionLog| {
        store.first_readable_session(log).and_then(|begun| Some((begun.branch?, begun.lane)))
    };
    if !args.choice.is_open() {
        let log = latest(store, &args.choice)?;
        let Some((branch, lane)) = branch_of(&log) else {
            let message = format!("session {} worked on no branch", log.id());
            return refuse(message, "git switch -c NAME, and choose no session");
        };
        if lane.is_none() && here.as_ref() != Some(&branch) {
            let message =
                format!("session {} worked on {}, which is not checked out", log.id(), one_line(&branch));
            return refuse(message, format!("git switch {}", quoted_for_shell(&branch)));
        }
        return Ok((log, branch));
    }
    let mut of_lane = None;
    for refs in store.session_names()?.iter().rev().take(MAX_SESSIONS) {
        // A session that cannot be read is named where sessions are listed.
        let Ok(Some(log)) = store.session(refs) else { continue };
        match branch_of(&log) {
            Some((branch, _)) if Some(&branch) == here.as_ref() => return Ok((log, branch)),
            Some((branch, Some(_))) if of_lane.is_none() => of_lane = Some((log, branch)),
            _ => {}
        }
    }
    if let Some(found) = of_lane {
        return Ok(found);
    }
    // Says so if there is no session at all.
    latest(store, &args.choice)?;
    let here = here.map_or("what is checked out".to_owned(), |branch| one_line(&branch));
    refuse(format!("no session is recorded on {here}"), "name one: --session SESSION, or --feature FEATURE")
}

/// Returns the sessions of the same feature that worked on a branch, oldest first.
fn sessions_on(store: &Store, of: &SessionLog, branch: &str) -> Result<Vec<SessionLog>> {
    let is_on = |log: &SessionLog| {
        let begun = store.first_readable_session(log);
        log.id() == of.id() || begun.is_some_and(|begun| begun.branch.as_deref() == Some(branch))
    };
    let mut logs = store.logs_of(of.feature())?;
    logs.retain(is_on);
    // The one that was chosen is what the rest is said of.
    logs.retain(|log| log.id() <= of.id());
    Ok(logs)
}

/// Returns what was done on the branch since it left the base.
fn worked(sent: &Sent, context: &Context) -> Result<Work> {
    let (store, work_tree) = (context.store()?, context.work_tree()?);
    let newest = sent.newest();
    let path = store.files_of(newest).tasks;
    let list = |commit| -> Result<Option<TaskList>> {
        let file = work_tree.committed_file(commit, &path)?;
        Ok(file.map(|file| TaskList::parse(&file.bytes).unwrap_or_default()))
    };
    let tasks = match list(&sent.head)? {
        Some(tasks) => tasks,
        None => task_list(&store.reader()?, newest),
    };
    let ends = (Some(sent.base_tip.clone()), Some(sent.head.clone()));
    let before = list(&sent.base_tip)?.unwrap_or_default();
    work::of(Range { logs: &sent.logs, before, tasks, ends, commits: &sent.commits }, context)
}

impl Sent {
    fn newest(&self) -> &SessionLog {
        self.logs.last().expect("a branch has a session")
    }

    /// Names a ref with the address of its repository.
    fn at_remote(&self, name: &str) -> String {
        format!("{} {name}", address(&self.remote))
    }

    /// Returns the commands by which the branch is judged where it is received, whose `origin` is the base.
    fn verify(&self, reference: Option<&str>) -> Vec<String> {
        let short = self.branch.rsplit('/').next().unwrap_or(&self.branch);
        let number = reference.and_then(|reference| reference.split('/').nth(1));
        let name = format!("pr/{}", number.unwrap_or(short));
        let from = if reference.is_some() || self.remote.name == self.target.name {
            "origin".to_owned()
        } else {
            address(&self.remote)
        };
        let spec = format!("{}:{name}", reference.unwrap_or(&self.branch));
        let fetch = format!("git fetch {} {}", quoted_for_shell(&from), quoted_for_shell(&spec));
        let range = format!("origin/{}..{name}", self.base);
        vec![fetch, format!("{RALPH_ELSEWHERE} verify {}", quoted_for_shell(&range))]
    }
}

/// Returns the address of a remote as others can use it, without a password.
fn address(remote: &Remote) -> String {
    let name = remote.url.clone().unwrap_or_else(|| remote.name.clone());
    Remote { name, ..remote.clone() }.place()
}

/// Returns the title of the specification, or the name of the feature.
fn title(sent: &Sent, report: &Report, context: &Context) -> Result<String> {
    let feature = report.session.feature.as_str();
    let spec = context.work_tree()?.committed_file(&sent.head, &format!("{feature}/spec.md"))?;
    let spec = spec.map(|file| String::from_utf8_lossy(&file.bytes).into_owned()).unwrap_or_default();
    let heading = spec.lines().find_map(|line| line.strip_prefix("# "));
    let heading = heading.map(|line| line.trim().trim_start_matches("Feature Specification:").trim());
    let name = feature.rsplit('/').next().unwrap_or(feature);
    // A template that was not filled in.
    let heading = heading.filter(|words| !words.is_empty() && !words.contains('['));
    Ok(cut(heading.unwrap_or(name), MAX_TITLE))
}

/// Says what goes where, and asks, before a branch goes to an address for the first time.
fn confirm_branch(sent: &Sent, args: &PrArgs, context: &Context) -> Result<()> {
    let addresses = sent.remote.push_addresses(context.store()?.repository())?;
    let what = format!(
        "{} with {}, and what was done and how it was judged, would go to {} for the first time",
        one_line(&sent.branch),
        counted(sent.commits.len() as u64, "commit"),
        one_line(&sync::place_with_addresses(&sent.remote, &addresses))
    );
    let dry = format!("`{RALPH} pr --dry-run` shows the text");
    let first = FirstPush {
        pushes: addresses.iter().map(|address| Approved::Branches { address }).collect(),
        what,
        declined: Refusal::new("nothing was pushed").with_hint(dry.clone()),
        unasked: format!("`{RALPH} pr --yes` pushes and remembers it; {dry}"),
    };
    first.confirm(args.yes, context)
}

/// Pushes exactly the commit that was looked at, as the user's own git does it, and never by force.
fn push(sent: &Sent, directory: &camino::Utf8Path) -> Result<()> {
    let spec = format!("{}:{}", sent.head, full_branch_name(&sent.branch));
    let push = Tool::git_for_user(directory).args([
        "push",
        "--quiet",
        "--no-follow-tags",
        "--",
        &sent.remote.name,
        &spec,
    ]);
    let pushed = push.env("GIT_TERMINAL_PROMPT", "0").limit(LONG).run()?;
    if pushed.is_success() {
        note(format_args!("{} is at {}", one_line(&sent.branch), one_line(&sent.remote.place())));
        return Ok(());
    }
    let words = complaints(&pushed);
    bail!(
        "push {}: {}\nhint: nothing is forced: where the remote has other commits of the branch, bring them here first",
        one_line(&sent.branch),
        join_truncated(&words, MAX_NAMED)
    )
}

/// Prints the text where no program is there that could send it.
fn left_to_the_user(sent: &Sent, base: Option<&Place>, body: &str) -> Result<ExitCode> {
    let program = base.and_then(Forge::of).map(Forge::program);
    let why = match (program, base) {
        (Some(program), _) => format!("{program} is not installed"),
        (None, Some(Place { host, .. })) => format!("{} is neither GitHub nor GitLab", one_line(host)),
        (None, None) => format!("{} is no address of GitHub or GitLab", one_line(&sent.target.place())),
    };
    note(format_args!("the branch is pushed, and no pull request was made: {why}"));
    note(format_args!(
        "hint: make one from {} into {} with this text",
        one_line(&sent.branch),
        one_line(&sent.base)
    ));
    print(|out| out.write_all(body.as_bytes()))?;
    Ok(ExitCode::NotDone)
}

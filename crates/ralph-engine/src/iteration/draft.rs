//! What is recorded of an iteration, from what its children did and what was judged.

use anyhow::Result;
use redact_stream::Redacted;

use ralph_agent::final_message;
use ralph_agent::question::{self, Asked};
use ralph_core::config::Until;
use ralph_core::history::History;
use ralph_core::progress::capture;
use ralph_core::progress::cause;
use ralph_core::progress::{IterationContext, question as summary_question, statements};
use ralph_core::record::{
    AgentFacts, Claims, Durations, Exits, Facts, FailureClass, GitStateKind, Iteration, ObjectId, Outcome,
    SCHEMA, Session, Summarized, TaskCounts, Timestamp, Tokens,
};
use ralph_os::platform::repo_path;
use ralph_store::Begin;

use super::stages::Ran;
use crate::ask::ask;
use crate::judge::Verdict;
use crate::loop_inputs::LoopInputs;
use crate::recorder::Recorder;
use crate::settings::{excerpt_choice, iteration_summarizer};
use crate::snapshot_taken::SnapshotTaken;

/// Longest summary that is kept, in characters.
const MAX_SUMMARY_CHARS: usize = 2000;

/// Longest subject of a commit of an agent's that is kept, in characters.
const MAX_SUBJECT_CHARS: usize = 200;

/// An iteration as it is to be recorded, the lines of its output that progress.txt shows, and what the next prompt gets of it.
pub(super) type Drafted = (Iteration, String, Option<IterationContext>);

/// Adds what the outputs say: cause, facts, a summary, the excerpt and its fingerprint. What the agent said comes without
/// secrets: a cut may take away by what one would be known.
pub(super) fn examine(
    inputs: &LoopInputs<'_>,
    recorder: &mut Recorder<'_>,
    history: &History,
    mut iteration: Iteration,
    final_text: &Redacted,
    agent_stderr: &Redacted,
    mut context: Option<IterationContext>,
) -> Result<Drafted> {
    let examined = context.as_ref().and_then(IterationContext::examined);
    let is_of_tasks = inputs.job.until == Until::Tasks;
    let artifact = inputs.job.artifact.strip_prefix(&inputs.project_root);
    let artifact = &repo_path(artifact.unwrap_or(&inputs.job.artifact));
    iteration.error = iteration.error.map(|error| redacted_text(recorder, &error));
    let asked = if is_of_tasks { asked(&iteration, final_text) } else { None };
    let class = asked.as_ref().map(|_| FailureClass::Question);
    iteration.failure_class = class.or(iteration.failure_class);
    let judged = iteration.cause.take().map(|cause| cause::bounded(&redacted_text(recorder, &cause)));
    let print = context.as_ref().and_then(|context| context.fingerprint(examined.as_ref()));
    let is_as_before = |print: &String| history.is_failure_before(print);
    let known = cause::Sources {
        iteration: &iteration,
        final_text,
        agent_stderr,
        examined: examined.as_ref(),
        artifact: (!is_of_tasks).then_some(artifact),
        found: cause::Found {
            fails_as_at_the_start: !iteration.is_green() && print.as_ref().is_some_and(is_as_before),
            ..found_in_git(&iteration)
        },
    };
    let given = asked.as_deref().map(cause::of_question).or(judged);
    let found = if given.is_some() { None } else { cause::cause(&known) };
    let open_box = found.as_deref().and_then(|cause| cause::fingerprint_of_open_box(&known, cause));
    iteration.cause = given.or(found);
    let facts = capture::facts(
        iteration.outcome,
        &iteration.tool_calls,
        final_text,
        context.as_ref(),
        examined.as_ref(),
        &inputs.capture_rules,
    );
    let statements = statements(&iteration.approaches, &iteration.decisions);
    iteration.facts = Facts { changes: iteration.facts.changes, statements, ..facts };
    if let Some(context) = &mut context {
        context.cause.clone_from(&iteration.cause);
        context.final_message.clone_from(&iteration.facts.final_message);
    }
    if let Some(context) = &mut context {
        // Now, and not when a prompt is made: `replay` and `resume` must find the same words without asking again.
        iteration.facts.summarized = summarize(inputs, recorder, context, &iteration.facts)?;
        context.summary.clone_from(&iteration.facts.summarized);
    }
    let mut excerpt = String::new();
    if let Some(context) = context.as_ref().filter(|_| iteration.outcome == Outcome::Failure) {
        let settings = &inputs.config.settings;
        excerpt = context.summarize_examined(
            examined.as_ref(),
            excerpt_choice(settings),
            settings.progress_max_chars,
        );
        let has_failed = !iteration.has_no_tests();
        iteration.fingerprint = context.fingerprint(examined.as_ref()).filter(|_| has_failed);
    }
    iteration.fingerprint = open_box.or(iteration.fingerprint);
    if let Some(asked) = asked {
        iteration.fingerprint = Some(question::fingerprint(&asked));
    }
    Ok((iteration, excerpt, context))
}

pub(crate) fn redacted_text(recorder: &Recorder<'_>, text: &str) -> String {
    recorder.redactor().redact_text(text).0
}

/// Excerpts are cut from what the record has: a cut may take away by what a secret would be known.
pub(super) fn without_secrets(recorder: &Recorder<'_>, context: IterationContext) -> IterationContext {
    IterationContext {
        stdout: redacted_text(recorder, &context.stdout),
        stderr: redacted_text(recorder, &context.stderr),
        agent_failure: context.agent_failure.as_deref().map(|text| redacted_text(recorder, text)),
        ..context
    }
}

/// Returns the user's command's summary of an iteration, or `None` if no command is to be run.
fn summarize(
    inputs: &LoopInputs<'_>,
    recorder: &mut Recorder<'_>,
    context: &IterationContext,
    facts: &Facts,
) -> Result<Option<Summarized>> {
    let Some(command) = iteration_summarizer(&inputs.config.settings) else { return Ok(None) };
    let (question, _) = recorder.redactor().redact_text(&summary_question(context, facts));
    Ok(Some(match ask(inputs, recorder, command, &question)? {
        Ok(text) => {
            // Before it is cut: half a secret is not found.
            let (text, _) = recorder.redactor().redact_text(&text);
            Summarized::Text(text.chars().take(MAX_SUMMARY_CHARS).collect())
        }
        Err(reason) => Summarized::Failed(reason),
    }))
}

/// Returns what is recorded of an iteration whether or not its loop saw its end: what is claimed, what changed, and the
/// commits.
pub(crate) fn compose(
    recorder: &mut Recorder<'_>,
    begin: Begin,
    session: &Session,
    counts: TaskCounts,
    verdict: Verdict,
    taken: SnapshotTaken,
    ended_at: Timestamp,
) -> Result<Iteration> {
    let work_tree = recorder.work_tree();
    let (head_after, started_at) = (work_tree.head()?, begin.started_at);
    let refs_before = recorder.slot(&begin.iteration.to_string()).refs_before()?;
    let commits =
        work_tree.commits_between(begin.head_before.as_ref(), head_after.as_ref(), &refs_before, started_at);
    let commits = commits.unwrap_or_else(|error| {
        recorder.warnings.push(format!("cannot list the commits of this iteration: {error:#}"));
        Vec::new()
    });
    let agent_commits = agent_commits(recorder, begin.head_before.as_ref());
    Ok(Iteration {
        outcome: verdict.outcome,
        agent_commits,
        claims: verdict.claims,
        false_claim: verdict.false_claim,
        closed: verdict.closed,
        closed_parents: verdict.closed_parents,
        files_changed: taken.files_changed(),
        snapshot: taken.snapshot,
        sealed: taken.sealed,
        left_out: taken.left_out,
        commits,
        ..unfinished(begin, session, ended_at, counts, head_after)
    })
}

/// Returns the subjects of the commits that an agent made in its repository of a lane.
fn agent_commits(recorder: &mut Recorder<'_>, base: Option<&ObjectId>) -> Vec<String> {
    let Some(base) = base else { return Vec::new() };
    let subjects = recorder.work_tree().subjects_in_lane(base).unwrap_or_else(|error| {
        recorder.warnings.push(format!("cannot list the commits that the agent made: {error:#}"));
        Vec::new()
    });
    // Before they are cut: half a secret is not found.
    let subjects = subjects.iter().map(|subject| recorder.redactor().redact_text(subject).0);
    subjects.map(|subject| subject.chars().take(MAX_SUBJECT_CHARS).collect()).collect()
}

/// Says in the cause of an attempt that could not be published where its work is.
pub(super) fn name_lost_work(iteration: &mut Iteration) {
    if let (Some(cause), Some(base), Some(snapshot)) =
        (&mut iteration.cause, &iteration.base, &iteration.snapshot)
    {
        cause.push_str(&format!("; its work: git diff {} {}", base.short(), snapshot.short()));
    }
}

/// Returns what an attempt left in git that says why its box is open.
fn found_in_git(iteration: &Iteration) -> cause::Found<'_> {
    let left = |kind| iteration.git_state.iter().find(move |state| state.kind == kind);
    // What an earlier attempt did to the list says nothing of this one.
    let list = left(GitStateKind::List).filter(|state| state.since == iteration.iteration);
    cause::Found {
        elsewhere: left(GitStateKind::Elsewhere).map(|state| state.text.as_str()),
        list: list.map(|state| state.text.as_str()),
        ..cause::Found::default()
    }
}

/// Adds what agent and validation did.
pub(super) fn add_run(iteration: &mut Iteration, Ran { agent: run, validation, ended, .. }: &Ran) {
    let validation = validation.as_ref();
    iteration.failure_class = run.failure_class;
    iteration.error.clone_from(&run.error);
    iteration.resets_at = run.resets_at.filter(|_| !run.succeeded);
    iteration.duration_ms.agent = Some(run.duration_ms);
    iteration.duration_ms.validation = validation.map(|validation| validation.duration_ms);
    iteration.ended = *ended;
    iteration.exit.agent = Some(run.exit.code);
    iteration.exit.validation = validation.map(|validation| validation.exit.code);
    iteration.exit_reason = run.exit.reason.or(validation.and_then(|validation| validation.exit.reason));
    iteration.model = run.model.clone().or(iteration.model.take());
    iteration.tokens = run.tokens;
    iteration.cost_usd = run.cost_usd;
    iteration.tool_calls.clone_from(&run.tool_calls);
    iteration.stream = run.stream;
    iteration.agent_facts =
        Some(Box::new(run.facts.clone())).filter(|facts| **facts != AgentFacts::default());
    let findings = final_message::findings(&run.final_text);
    iteration.learnings = findings.learnings;
    iteration.decisions = findings.decisions;
    iteration.approaches = findings.approaches;
}

/// Returns what an agent asks the user that did not do its task: in a line of its own, or at the end of a message that is
/// all it left.
fn asked(iteration: &Iteration, final_text: &str) -> Option<String> {
    if iteration.outcome != Outcome::Failure || iteration.failure_class.is_some() {
        return None;
    }
    let is_all = iteration.exit.agent == Some(0)
        && iteration.files_changed.is_empty()
        && iteration.claims.ticked.is_empty();
    question::stated(final_text).or_else(|| match question::open(final_text).filter(|_| is_all)? {
        Asked::Question(question) => Some(question),
        Asked::Offer(_) => None,
    })
}

/// Returns an iteration of which only its beginning is known: not ended by itself, with nothing captured yet.
pub(crate) fn unfinished(
    begin: Begin,
    session: &Session,
    ended_at: Timestamp,
    counts: TaskCounts,
    head_after: Option<ObjectId>,
) -> Iteration {
    Iteration {
        schema: SCHEMA,
        id: format!("{}-iter-{}", session.id, begin.iteration),
        session: session.id.clone(),
        feature: session.feature.clone(),
        branch: begin.branch,
        lane: session.lane,
        base: session.lane.and(begin.head_before.clone()),
        published: None,
        integration: Vec::new(),
        agent_commits: Vec::new(),
        iteration: begin.iteration,
        loop_type: session.loop_type.clone(),
        task: Some(begin.task.name),
        task_text: Some(begin.task.text),
        phase: begin.task.phase,
        unit_tasks: begin.unit_tasks,
        attempt: Some(begin.attempt),
        outcome: Outcome::Interrupted,
        failure_class: None,
        error: None,
        resets_at: None,
        cause: None,
        claims: Claims::default(),
        false_claim: Vec::new(),
        closed: Vec::new(),
        reopened: Vec::new(),
        closed_parents: Vec::new(),
        evidence: None,
        started_at: begin.started_at,
        ended_at,
        duration_ms: Durations::default(),
        exit: Exits::default(),
        exit_reason: None,
        validation_command: begin.validation_command,
        files_changed: Vec::new(),
        agent: begin.agent,
        agent_version: begin.agent_version,
        model: begin.model,
        tokens: Tokens::default(),
        cost_usd: None,
        tool_calls: Vec::new(),
        stream: None,
        agent_facts: None,
        agent_setup: begin.agent_setup,
        phases: Vec::new(),
        ended: None,
        learnings: Vec::new(),
        decisions: Vec::new(),
        approaches: Vec::new(),
        facts: Facts::default(),
        fingerprint: None,
        head_after,
        head_before: begin.head_before,
        commits: Vec::new(),
        snapshot: None,
        before: begin.before,
        sealed: None,
        left_out: Vec::new(),
        ignored: None,
        rewrote: Vec::new(),
        uncommitted: None,
        restored_to: begin.restored_to,
        kept_paths: begin.kept_paths,
        git_state: Vec::new(),
        user_files: Vec::new(),
        undone: Vec::new(),
        gone: Vec::new(),
        lost_tasks: Vec::new(),
        redactions: Vec::new(),
        hints: begin.hints,
        memory: None,
        prompt_parts: begin.prompt_parts,
        tasks_done: counts.done,
        tasks_open: counts.open,
    }
}

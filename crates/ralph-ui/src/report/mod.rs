//! A session as one page to send, as a summary for a pull request, and as data.

mod attempts;
mod changes;
mod environment;
mod first_screen;
mod headline;
mod html_escape;
mod iteration;
mod markdown;
mod markdown_html;
mod page;
mod panels;
mod patch;
#[cfg(test)]
mod samples;
mod session_summary;
mod sessions_index;
mod shared_causes;
mod size_budget;
mod strip;
mod task_rows;

use std::borrow::Cow;
use std::collections::HashMap;

use serde::Serialize;
use tasklist::TaskList;

use ralph_core::history::clusters::{Cluster, clusters, message};
use ralph_core::history::failure_key::FailureKey;
use ralph_core::history::repeats;
use ralph_core::record::{
    Cost, Durations, Need, NotDone, Outcome, Session, SessionId, SessionTotals, Status, Summary, TaskStates,
    Timestamp, Tokens, Waiting,
};
use ralph_store::{Begin, RemoteRun};

use crate::ending;

use super::status::InFlight;

pub use changes::{ReportedFile, SessionChanges};
pub use environment::Medium;
pub use headline::{Attention, Headline, Level};
pub use iteration::{Diff, ReportIteration, Text};
pub use markdown::{
    Dependency, DoneTask, MARKDOWN, MAX_SUMMARY_CHARS, Proof, Work, markdown_text, write_markdown,
};
pub use page::{GENERATOR, Limits, page};
pub use session_summary::RecordedSession;
pub use sessions_index::{NEWEST_ROWS, SessionsIndex, index_page};
pub use task_rows::{State, TaskRow};

/// The shape of the JSON.
const REPORT_SCHEMA: u32 = 1;
/// Tells our JSON from that of others.
const MADE_BY: &str = "specify ralph report";

/// All that is said of a session.
#[derive(Debug, Serialize)]
pub struct Report {
    pub schema: u32,
    /// Tells the file from those of others.
    pub made_by: &'static str,
    pub made_at: Timestamp,
    pub tool_version: &'static str,
    pub session: Session,
    /// False where a shallow clone has its end alone.
    pub is_whole: bool,
    /// What a running session is at.
    pub in_flight: Option<InFlight>,
    pub headline: Headline,
    pub attention: Vec<Attention>,
    pub counts: Outcomes,
    pub totals: Totals,
    /// Tasks that were open before the first iteration.
    pub open_before: usize,
    pub tasks: Vec<TaskRow>,
    /// Open tasks that were tried, in the order of their first attempts.
    pub not_done: Vec<NotDone>,
    /// Null where snapshots are missing.
    pub changes: Option<SessionChanges>,
    pub clusters: Vec<Cluster>,
    /// Oldest first.
    pub iterations: Vec<ReportIteration>,
    /// What could not be read, and why.
    pub unreadable: Vec<String>,
    /// The feature over all of its sessions.
    pub summary: Summary,
    /// How many of the changed files are not in HEAD as the session left them; `None` if that is not known.
    #[serde(skip)]
    pub uncommitted: Option<usize>,
    /// True if no later session of the feature is recorded.
    #[serde(skip)]
    pub is_latest: bool,
    #[serde(skip)]
    pub running: LiveSession,
}

/// What is known of a session while it runs.
#[derive(Debug, Default)]
pub struct LiveSession {
    /// The iteration that runs.
    pub begin: Option<Begin>,
    pub waiting: Option<Waiting>,
    /// Set if it runs on another machine.
    pub elsewhere: Option<RemoteRun>,
    /// Of a group, what each of its loops runs, with the session and the lane.
    pub workers: Vec<(SessionId, u32, Option<Begin>)>,
}

/// How often iterations ended in which way.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Outcomes {
    pub success: usize,
    pub failure: usize,
    pub skipped: usize,
    pub interrupted: usize,
}

/// What all iterations that are here come to.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct Totals {
    /// Tasks that went from open to done.
    pub closed: usize,
    pub duration_ms: Durations,
    pub tokens: Tokens,
    #[serde(flatten)]
    pub cost: Cost,
}

impl Report {
    /// Returns the report of a whole session. `tasks` are as they stood at its end, `not_done` those of them that were
    /// tried and are open; the caller sets what it knows beside it.
    pub fn new(
        session: Session,
        summary: Summary,
        tasks: &TaskList,
        mut not_done: Vec<NotDone>,
        mut iterations: Vec<ReportIteration>,
        running: LiveSession,
        made_at: Timestamp,
    ) -> Self {
        let in_flight = running.begin.as_ref().map(|begin| InFlight {
            iteration: begin.iteration,
            agent: begin.agent.clone(),
            started_at: begin.started_at,
        });
        number_tries(&mut iterations);
        // Older records have no cause of their own.
        for task in &mut not_done {
            let last = iterations.iter().find(|iteration| iteration.record.iteration == task.iteration);
            let last = last.filter(|iteration| iteration.record.outcome == Outcome::Failure);
            task.cause = task.cause.take().or_else(|| last.map(|iteration| message(&iteration.record)));
        }
        let all = &session.totals;
        let counts = Outcomes {
            success: all.succeeded,
            failure: all.failed,
            skipped: all.skipped,
            interrupted: all.cut_short.len(),
        };
        let totals = Totals {
            closed: all.closed.len(),
            duration_ms: all.took,
            tokens: all.tokens,
            cost: all.cost.total(),
        };
        let mut report = Self {
            schema: REPORT_SCHEMA,
            made_by: MADE_BY,
            made_at,
            tool_version: env!("CARGO_PKG_VERSION"),
            session,
            is_whole: true,
            in_flight,
            headline: Headline::default(),
            attention: Vec::new(),
            counts,
            totals,
            open_before: 0,
            tasks: task_rows::of(tasks, &iterations),
            not_done,
            changes: None,
            clusters: clusters(iterations.iter().map(|iteration| &iteration.record)),
            iterations,
            unreadable: Vec::new(),
            summary,
            uncommitted: None,
            is_latest: true,
            running,
        };
        // What was done in another session is solved, too, and what was opened again there is not.
        let solved = |iterations: &[u32]| iterations.iter().all(|number| report.is_solved(*number));
        let open: Vec<bool> = report.clusters.iter().map(|cluster| !solved(&cluster.iterations)).collect();
        for (cluster, is_open) in report.clusters.iter_mut().zip(open) {
            cluster.is_open = is_open;
        }
        report.headline = headline::of(&report);
        report.attention = headline::attention(&report);
        report
    }

    /// Returns its end, or of what runs the last moment that is known.
    fn ended_at(&self) -> Timestamp {
        let elsewhere = self.running.elsewhere.as_ref().map(|run| run.as_of);
        self.session.ended_at.or(elsewhere).unwrap_or_else(|| match self.iterations.last() {
            _ if self.session.status == Status::Running => self.made_at,
            last => last.map_or(self.session.started_at, |last| last.record.ended_at),
        })
    }

    /// Returns true if an attempt failed, and its task was done later.
    fn is_solved(&self, iteration: u32) -> bool {
        self.numbered(iteration).is_some_and(|one| self.summary.is_solved(&one.id))
    }

    /// Returns the iteration with a number, by which they are sorted.
    fn numbered(&self, number: u32) -> Option<&ReportIteration> {
        let found = self.iterations.binary_search_by_key(&number, |one| one.record.iteration);
        self.iterations.get(found.ok()?)
    }

    /// Returns the number that an iteration of one of its sessions has here.
    fn number_of(&self, session: &SessionId, iteration: u32) -> Option<u32> {
        let is_it = |one: &&ReportIteration| one.id.session == *session && one.id.number == iteration;
        self.iterations.iter().find(is_it).map(|one| one.record.iteration)
    }

    /// Returns true if a session is the one that is shown, or works beside it.
    fn is_own(&self, session: &SessionId) -> bool {
        self.session.id == *session || self.iterations.iter().any(|one| one.id.session == *session)
    }

    fn is_group(&self) -> bool {
        !self.running.workers.is_empty() || self.iterations.iter().any(|one| one.label.contains(':'))
    }

    /// `#14`, or in a group `2:14`.
    fn name_of(&self, number: u32) -> String {
        match self.numbered(number) {
            Some(one) if one.label.contains(':') => one.label.clone(),
            _ => format!("#{number}"),
        }
    }

    /// Returns the attempts whose agents said that something is done which was not.
    fn false_claims(&self) -> Vec<u32> {
        let records = self.iterations.iter().map(|one| &one.record);
        let wrong = records.filter(|one| !one.false_claim.is_empty() && one.outcome != Outcome::Success);
        wrong.map(|one| one.iteration).collect()
    }

    /// Returns the open tasks that were tried and have no answer for their next prompt.
    fn left_open(&self) -> impl Iterator<Item = &NotDone> + Clone {
        ending::left_open(&self.not_done, &self.summary)
    }

    /// Returns the iterations with secrets, which were taken out of the record.
    fn redacted(&self) -> Vec<u32> {
        let records = self.iterations.iter().map(|one| &one.record);
        records.filter(|record| !record.redactions.is_empty()).map(|record| record.iteration).collect()
    }

    /// Returns what needs the user: of the newest session, all of the feature; of an older one, what it left.
    fn needs(&self) -> Vec<&Need> {
        let needs = self.summary.needs_you.iter();
        needs.filter(|need| self.is_latest || self.is_own(&need.session)).collect()
    }

    /// Returns where the tasks stand by now; of an older session, how many were done at its end.
    fn states(&self) -> TaskStates {
        if self.is_latest && self.summary.tasks.total() > 0 {
            return self.summary.tasks;
        }
        let (done, open) = (self.session.tasks_done, self.session.tasks_remaining);
        TaskStates { done, open, ..TaskStates::default() }
    }

    /// Returns what its iterations come to.
    fn session_totals(&self) -> Cow<'_, SessionTotals> {
        self.summary.session.as_ref().map(|part| Cow::Borrowed(&part.totals)).unwrap_or_default()
    }
}

fn number_tries(iterations: &mut [ReportIteration]) {
    let repeated = repeats(
        iterations.iter().map(|iteration| (iteration.record.iteration, FailureKey::of(&iteration.record))),
    );
    let mut tries: HashMap<String, u32> = HashMap::new();
    for iteration in iterations {
        let count = tries.entry(iteration.record.task.clone().unwrap_or_default()).or_default();
        *count += u32::from(iteration.record.is_attempt());
        iteration.attempt = (*count).max(1);
        iteration.repeated = repeated.get(&iteration.record.iteration).copied();
    }
}

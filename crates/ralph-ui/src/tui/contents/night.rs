//! A session as a whole: how it ended, what it is about, what it took, and what was learned.

use crate::ending;
use crate::local_time::local_minute;
use crate::needs::{false_claims, files_and_lines};
use crate::style::{Count, duration, grouped, tokens_told};
use crate::tui::model::Attempt;
use crate::tui::page::Section;
use crate::tui::row::{Look, Row};
use ralph_core::record::{ArtifactStatus, NeedKind, RALPH, Tokens};

use super::words::{brief, fact, state_of, usd};
use super::{Scene, Subject};

/// Most learnings and causes that are listed.
const MAX_LISTED: usize = 8;

pub fn sections(scene: &Scene<'_>) -> Vec<Section> {
    let (feature, night) = (scene.feature, scene.night);
    let summary = &feature.summary;
    let detail = scene.detail();
    let live = scene.live;
    let mut rows = vec![state_of(night, live).with_right(Row::of(Look::Dim, night.id.to_string()))];
    rows.push(Row::of(Look::Bold, ending::tasks(summary.tasks)));
    let mut sections = vec![Section::plain(rows)];
    let mut facts = Vec::new();
    if let Some(detail) = detail {
        let artifact = &detail.session.artifact;
        let look = match artifact.status {
            ArtifactStatus::Complete => Look::Good,
            ArtifactStatus::Draft => Look::Warn,
            ArtifactStatus::Failed => Look::Bad,
            ArtifactStatus::Later(_) => Look::Dim,
        };
        let path = Row::of(Look::Plain, format!("{}  ", brief(&artifact.path)));
        let row = path.and(look, artifact.status.as_str().to_owned());
        facts.push(fact("Artifact", row).linked(&artifact.path));
    }
    let totals = &night.totals;
    facts.push(fact("Attempts", ending::attempts(totals)));
    if totals.failed > 0 {
        let solved = night.attempts.iter().filter(|one| one.is_failed() && one.is_solved).count();
        let cost = totals.cost.failed_usd.map_or(String::new(), |cost| format!(", ${cost:.2}"));
        let words = format!(
            "{}, {} of them solved later{cost}",
            grouped(totals.failed as u64),
            grouped(solved as u64)
        );
        facts.push(fact("Failed", words));
    }
    let claims: Vec<u32> =
        night.attempts.iter().filter(|one| !one.entry.false_claim.is_empty()).map(Attempt::number).collect();
    facts.extend(false_claims(&claims).map(|words| fact("Claims", Row::of(Look::Claim, words))));
    let until = if live.is_some() { scene.now } else { night.last_at };
    facts.push(fact("Time", duration(night.started_at.ms_until(until))));
    if let Some(cost) = ending::cost(&totals.cost) {
        let each = totals.cost.usd.filter(|_| totals.succeeded > 0);
        let each = each.map(|usd| usd / f64::from(u32::try_from(totals.succeeded).unwrap_or(1)));
        let each = each.map_or(String::new(), |usd| format!(", ${usd:.2} a task"));
        facts.push(fact("Cost", cost + &each));
    }
    let tokens = night.attempts.iter().fold(Tokens::default(), |sum, one| sum.plus(&one.entry.tokens));
    if !tokens.is_unknown() {
        facts.push(fact("Tokens", tokens_told(&tokens)));
    }
    if let Some(detail) = detail {
        let session = &detail.session;
        facts.extend(detail.changes.map(|stat| fact("Changed", files_and_lines(stat))));
        let agent = format!("{} {}", session.agent, session.agent_version.as_deref().unwrap_or_default());
        facts.push(fact("Agent", brief(agent.trim_end())));
        let fence = session.sandbox.as_ref().map(|facts| Row::of(Look::Plain, brief(&facts.text())));
        facts.push(fact("Sandbox", fence.unwrap_or_else(|| Row::of(Look::Warn, "no sandbox".to_owned()))));
        let validation = detail.validation().map_or_else(|| "none".to_owned(), brief);
        facts.push(fact("Validation", validation));
        let limit = Count(u64::from(session.max_iterations), "attempt").to_string();
        let limit = match max_cost(scene) {
            Some(cost) => format!("{limit}, ${cost:.2}"),
            None => limit,
        };
        facts.push(fact("Limit", limit));
        let branch = brief(session.branch.as_deref().unwrap_or("a detached HEAD"));
        let place = if session.lane.is_some() { "in a lane on" } else { "on" };
        let (at, host) = (local_minute(night.started_at), brief(&session.host));
        facts.push(fact("Started", format!("{at} {place} {branch}, {host}")));
    }
    sections.push(Section::plain(facts));
    let causes = summary.causes.list.iter().filter(|cause| !cause.is_solved || cause.times > 1);
    let causes: Vec<Row> = causes
        .take(MAX_LISTED)
        .map(|cause| {
            let (look, is) = if cause.is_solved { (Look::Dim, "solved") } else { (Look::Bad, "still fails") };
            let tasks = ralph_core::record::join_truncated(&cause.tasks, 3);
            Row::of(look, format!("  {} ", brief(cause.cause.as_deref().unwrap_or("no cause recorded"))))
                .with_right(
                    Row::of(Look::Dim, format!("{} × {}  ", cause.times, brief(&tasks))).and(look, is),
                )
        })
        .collect();
    let learned = detail.map(|detail| detail.learnings.as_slice()).unwrap_or_default();
    let learned: Vec<Row> = learned
        .iter()
        .take(MAX_LISTED)
        .map(|(number, words)| {
            Row::of(Look::Dim, format!("{:>5}  ", format!("#{number}")))
                .and(Look::Plain, brief(words))
                .indented(7)
        })
        .collect();
    for (name, rows) in [("Causes", causes), ("Learned", learned)] {
        if !rows.is_empty() {
            sections.push(Section::titled(Row::of(Look::Bold, name), rows));
        }
    }
    sections
}

/// Returns the budget of the session in dollars.
pub fn max_cost(scene: &Scene<'_>) -> Option<f64> {
    scene.detail()?.setting("max-cost")?.as_f64()
}

/// What needs somebody and is no task.
pub fn need(scene: &Scene<'_>, place: usize) -> Vec<Section> {
    let Some(need) = scene.feature.summary.needs_you.get(place) else { return sections(scene) };
    let mut rows = vec![Row::of(Look::Bad, brief(&need.subject())), Row::new()];
    let cause = need.cause.as_deref().unwrap_or_default();
    for line in cause.split("; ").filter(|line| !line.is_empty()) {
        rows.push(Row::of(Look::Plain, format!("  {}", brief(line))).indented(2));
    }
    let what = match need.why {
        NeedKind::Agent => format!("{RALPH} doctor says what the agent lacks; then r resumes"),
        NeedKind::Validation => format!("{RALPH} doctor says what the validation lacks; then r resumes"),
        NeedKind::Git | NeedKind::Files | NeedKind::Asks | NeedKind::Fails => String::new(),
    };
    let mut sections = vec![Section::plain(rows)];
    if !what.is_empty() {
        sections.push(Section::plain(vec![Row::of(Look::Dim, what).indented(2)]));
    }
    if let Some((_, attempt)) = scene.attempt(&Subject::Need(place)) {
        let mut rows = vec![Row::of(Look::Bold, format!("Attempt #{}", attempt.number()))];
        rows.extend(super::task::said(scene, Some(attempt), None));
        sections.push(Section::plain(rows));
    }
    sections
}

/// All sessions, newest first.
pub fn list(scene: &Scene<'_>) -> Vec<Section> {
    let nights = scene.overview.nights().into_iter();
    let sections = nights.map(|(feature, night)| {
        let live = scene.overview.live.get(&night.id);
        let totals = &night.totals;
        let left = Row::of(Look::Dim, format!(" {}  ", local_minute(night.started_at)))
            .and(Look::Bold, format!("{}  ", brief(ending::feature_name(&feature.path))))
            .then(state_of(night, live));
        let words = format!(
            "{}, {} failed  {:>7}",
            Count(totals.attempts as u64, "attempt"),
            grouped(totals.failed as u64),
            usd(totals.cost.usd)
        );
        Section::folded(night.id.to_string(), left.with_right(Row::of(Look::Dim, words)), Vec::new())
    });
    sections.collect()
}

//! A session as a whole: how it ended, what it is about, what it took, and what was learned.

use crate::ending::{self, cut_short, feature_name};
use crate::local_time::local_minute;
use crate::needs::{false_claims, files_and_lines};
use crate::style::{counted, duration, grouped, tokens_told};
use crate::tui::page::Section;
use crate::tui::row::{Look, Row};
use ralph_core::record::{
    Artifact, ArtifactStatus, FailureCause, Need, NeedKind, RALPH, Session, join_truncated,
};

use super::words::{attempts_of, brief, fact, state_of, usd};
use super::{Scene, Subject};

/// Most learnings and causes that are listed.
const MAX_LISTED: usize = 8;

pub fn sections(scene: &Scene<'_>) -> Vec<Section> {
    let summary = &scene.feature.summary;
    let id = Row::of(Look::Dim, scene.night.id.to_string());
    let head = vec![
        state_of(scene.night, scene.live).with_right(id),
        Row::of(Look::Bold, ending::tasks(summary.tasks)),
    ];
    let causes = summary.causes.list.iter().filter(|cause| !cause.is_solved || cause.times > 1);
    let causes = causes.take(MAX_LISTED).map(|one| cause(one, &summary.needs_you));
    let learned = scene.detail().map(|detail| detail.learnings.as_slice()).unwrap_or_default();
    let learned = learned.iter().take(MAX_LISTED).map(|(number, words)| {
        let number = format!("#{number}");
        Row::of(Look::Dim, format!("{number:>5}  ")).and(Look::Plain, brief(words)).indented(7)
    });
    vec![
        Section::plain(head),
        Section::plain(facts(scene)),
        Section::titled(Row::of(Look::Bold, "Causes"), causes.collect()),
        Section::titled(Row::of(Look::Bold, "Learned"), learned.collect()),
    ]
}

fn cause(cause: &FailureCause, needs: &[Need]) -> Row {
    let is_asked = needs.iter().any(|need| need.why == NeedKind::Asks && need.cause == cause.cause);
    let (look, is) = match cause.is_solved {
        true => (Look::Dim, "solved"),
        false if is_asked => (Look::Warn, "not answered"),
        false => (Look::Bad, "still fails"),
    };
    let tasks = brief(&join_truncated(&cause.tasks, 3));
    let right = Row::of(Look::Dim, format!("{} × {tasks}  ", cause.times)).and(look, is);
    let words = brief(cause.cause.as_deref().unwrap_or("no cause recorded"));
    Row::of(look, format!("  {words} ")).with_right(right)
}

fn facts(scene: &Scene<'_>) -> Vec<Row> {
    let (night, detail) = (scene.night, scene.detail());
    let session = detail.map(|detail| &detail.session);
    let totals = &night.totals;
    let until = if scene.live.is_some() { scene.now } else { night.last_at };
    let cost = totals.cost.failed_usd.filter(|_| totals.failed > 0);
    let cost = cost.map_or(String::new(), |cost| format!(", {} in failed attempts", usd(Some(cost))));
    let tokens = &totals.tokens;
    let cuts = cut_short(totals);
    let facts: [(&str, Option<Row>); 9] = [
        ("Artifact", session.map(|session| artifact(&session.artifact))),
        ("Attempts", Some(attempts_of(night).into())),
        ("Cut short", (!cuts.is_empty()).then(|| cuts.join("; ").into())),
        ("Claims", false_claims(&totals.false_claims).map(|words| Row::of(Look::Claim, words))),
        ("Time", Some(duration(night.started_at.ms_until(until)).into())),
        ("Cost", ending::cost(&totals.cost).map(|words| (words + &cost).into())),
        ("Tokens", (!tokens.is_unknown()).then(|| tokens_told(tokens).into())),
        ("Changed", detail.and_then(|detail| detail.changes).map(|stat| files_and_lines(stat).into())),
        ("Agent", session.map(agent)),
    ];
    facts.into_iter().filter_map(|(name, row)| Some(fact(name, row?))).collect()
}

fn artifact(artifact: &Artifact) -> Row {
    let look = match artifact.status {
        ArtifactStatus::Complete => Look::Good,
        ArtifactStatus::Draft => Look::Warn,
        ArtifactStatus::Failed => Look::Bad,
        ArtifactStatus::Later(_) => Look::Dim,
    };
    let path = Row::of(Look::Plain, format!("{}  ", brief(&artifact.path))).linked(&artifact.path);
    path.and(look, artifact.status.as_str())
}

fn agent(session: &Session) -> Row {
    let version = session.agent_version.as_deref().unwrap_or_default();
    let row = Row::from(format!("{}, ", brief(format!("{} {version}", session.agent).trim_end())));
    match &session.sandbox {
        Some(fence) => row.and(Look::Plain, brief(&fence.text())),
        None => row.and(Look::Warn, "no sandbox"),
    }
}

/// What needs somebody and is no task.
pub fn need(scene: &Scene<'_>, place: usize) -> Vec<Section> {
    let Some(need) = scene.feature.summary.needs_you.get(place) else { return sections(scene) };
    let mut rows = vec![Row::of(Look::Bad, brief(&need.subject())), Row::new()];
    let cause = need.cause.as_deref().unwrap_or_default().split("; ");
    let cause = cause.filter(|line| !line.is_empty());
    rows.extend(cause.map(|line| Row::of(Look::Plain, format!("  {}", brief(line))).indented(2)));
    let lacking = match need.why {
        NeedKind::Agent => Some("agent"),
        NeedKind::Validation => Some("validation"),
        NeedKind::Git | NeedKind::Files | NeedKind::Asks | NeedKind::Fails => None,
    };
    let doctor = lacking.map(|what| format!("{RALPH} doctor says what the {what} lacks; then r resumes"));
    let doctor = doctor.map(|words| Row::of(Look::Dim, words).indented(2));
    let mut sections = vec![Section::plain(rows), Section::plain(doctor.into_iter().collect())];
    if let Some((_, attempt)) = scene.attempt(&Subject::Need(place)) {
        let mut rows = vec![Row::of(Look::Bold, format!("Attempt #{}", attempt.number))];
        rows.extend(super::task::said(scene, Some(attempt), None));
        sections.push(Section::plain(rows));
    }
    sections
}

/// All sessions, newest first.
pub fn list(scene: &Scene<'_>) -> Vec<Section> {
    let nights = scene.overview.nights().into_iter();
    let sections = nights.map(|(feature, night)| {
        let totals = &night.totals;
        let left = Row::of(Look::Dim, format!("{}  ", local_minute(night.started_at)))
            .and(Look::Bold, format!("{}  ", brief(feature_name(&feature.path))))
            .then(state_of(night, scene.overview.live.get(&night.id)));
        let attempts = counted(totals.attempts as u64, "attempt");
        let (failed, cost) = (grouped(totals.failed as u64), usd(totals.cost.usd));
        let right = Row::of(Look::Dim, format!("{attempts}, {failed} failed  {cost:>7}"));
        Section::folded(night.id.to_string(), left.with_right(right), Vec::new())
    });
    sections.collect()
}

//! A session as a whole: how it ended, what it is about, what it took, and what was learned.

use crate::ending::{self, cut_short, feature_name};
use crate::evidence::FLAG;
use crate::live::USUAL;
use crate::needs::{
    ANOTHER_VALIDATION, false_claims, files_and_lines, flag_words, lead, need_sign, no_task_to_blame, waiters,
};
use crate::session_table::{self, End, SessionRow, aligned, ended, verdict, widths};
use crate::style::{duration, in_runs, task_title, times, tokens_by_kind};
use crate::tui::layout::Shape;
use crate::tui::model::FeatureOverview;
use crate::tui::page::Section;
use crate::tui::row::{Look, Row};
use ralph_core::record::{
    AnsweredTask, Artifact, ArtifactStatus, DiffStat, FailureCause, FlaggedTask, Need, NeedKind, RALPH,
    Session, Status, ValidationNow, join_truncated,
};
use ralph_core::view::SessionView;

use super::words::{attempts_of, brief, fact, state_of, usd, wait_for};
use super::{Scene, Subject};

/// Most learnings and causes that are listed.
const MAX_LISTED: usize = 8;

/// Most lines for what a task asks, or why it fails, on a narrow screen.
const MAX_LINES: usize = 3;

/// Most crosses for failures.
pub const MAX_CROSSES: usize = 5;

pub fn sections(scene: &Scene<'_>) -> Vec<Section> {
    let summary = &scene.feature.summary;
    let id = Row::of(Look::Dim, scene.session.id.to_string());
    let head = vec![state_of(scene).with_right(id), Row::of(Look::Bold, ending::tasks(summary.tasks))];
    let causes = summary.causes.list.iter().filter(|cause| !cause.is_solved || cause.times > 1);
    let causes = causes.take(MAX_LISTED).map(|one| cause(one, &summary.needs_you));
    let learned = scene.detail().map(|detail| detail.learnings.as_slice()).unwrap_or_default();
    let learned = learned.iter().take(MAX_LISTED).map(|(id, words)| {
        let number = scene.number_of(id);
        Row::of(Look::Dim, format!("{number:>5}  ")).and(Look::Plain, brief(words)).indented(7)
    });
    let reviewed = review(scene);
    vec![
        Section::plain(head),
        Section::plain(reviewed.clone()),
        Section::plain(facts(scene, !reviewed.is_empty())),
        Section::titled(Row::of(Look::Bold, "Causes"), causes.collect()),
        Section::titled(Row::of(Look::Bold, "Learned"), learned.collect()),
    ]
}

/// Where all is done and nothing needs anybody: what to look at, in this order.
fn review(scene: &Scene<'_>) -> Vec<Row> {
    let summary = &scene.feature.summary;
    let stat = |stat: DiffStat| Some(files_and_lines(stat)).filter(|_| stat.files > 0);
    let detail = scene.detail().filter(|_| !scene.is_running() && summary.tasks.left() == 0);
    let found = detail.and_then(|detail| Some((stat(detail.changes?)?, &detail.review)));
    let Some((changes, review)) = found else {
        return Vec::new();
    };
    if !summary.needs_you.is_empty() {
        return Vec::new();
    }
    let settings = review.settings_words().map(|words| fact("Settings", brief(&words)));
    let tests =
        stat(review.tests).map(|words| fact("Tests", format!("{words} by agents: review them first")));
    let claims = false_claims(&wrong_claims(scene));
    let claims = claims.map(|words| fact("Claims", Row::of(Look::Claim, words)));
    let code = fact("All", changes).with_right(Row::of(Look::Accent, "d").and(Look::Dim, " diff"));
    let page = fact("Next", format!("{RALPH} report --markdown"))
        .with_right(Row::of(Look::Accent, "O").and(Look::Dim, " page"));
    [Row::of(Look::Bold, "Review, in this order")]
        .into_iter()
        .chain(tests)
        .chain(settings)
        .chain(claims)
        .chain([code, page])
        .collect()
}

fn cause(cause: &FailureCause, needs: &[Need]) -> Row {
    let is_asked = needs.iter().any(|need| need.why.waits_for_hint() && need.cause == cause.cause);
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

fn facts(scene: &Scene<'_>, is_reviewed: bool) -> Vec<Row> {
    let (view, detail) = (scene.session, scene.detail());
    let session = detail.map(|detail| &detail.session);
    let totals = view.totals();
    let until = if scene.is_running() { scene.now } else { view.last_at() };
    let cost = totals.cost.failed_usd.filter(|_| totals.failed > 0);
    let cost = cost.map_or(String::new(), |cost| format!(", {} in failed attempts", usd(Some(cost))));
    let tokens = &totals.tokens;
    let cuts = cut_short(totals);
    let clean = session.and_then(|session| session.clean.as_ref());
    let facts: [(&str, Option<Row>); 11] = [
        // Of the usual loop it is the task list, which is done or not as its tasks are.
        ("Artifact", session.filter(|session| session.loop_type != USUAL).map(|one| artifact(&one.artifact))),
        ("Validation", scene.feature.summary.validation.as_deref().map(|now| validation(scene, now))),
        ("Attempts", Some(attempts_of(scene).into())),
        ("Cut short", (!cuts.is_empty()).then(|| cuts.join("; ").into())),
        ("Claims", false_claims(&wrong_claims(scene)).map(|words| Row::of(Look::Claim, words))),
        ("Time", Some((duration(view.worked_ms(until)) + &in_runs(totals.runs)).into())),
        ("Cost", ending::cost(&totals.cost).map(|words| (words + &cost).into())),
        ("Tokens", (!tokens.is_unknown()).then(|| tokens_by_kind(tokens).into())),
        ("Changed", detail.and_then(|detail| detail.changes).map(|stat| files_and_lines(stat).into())),
        ("Clean", clean.map(|check| brief(&check.line()).into())),
        ("Agent", session.map(agent)),
    ];
    let facts = facts.into_iter().filter(|(name, _)| !is_reviewed || !matches!(*name, "Claims" | "Changed"));
    facts.filter_map(|(name, row)| Some(fact(name, row?))).collect()
}

/// `passes now: 32 tests, 2 at the start`
fn validation(scene: &Scene<'_>, now: &ValidationNow) -> Row {
    let now = ValidationNow { names: Some(scene.session.names()), ..now.clone() };
    Row::of(if now.passes { Look::Plain } else { Look::Warn }, brief(&now.words()))
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

/// What needs the user and is no task.
pub fn need(scene: &Scene<'_>, place: usize) -> Vec<Section> {
    let Some(need) = scene.feature.summary.needs_you.get(place) else { return sections(scene) };
    let summary = &scene.feature.summary;
    let mut rows = vec![Row::of(Look::Bad, brief(&need.subject())), Row::new()];
    let command = Some(lead(summary, need)).filter(|lead| *lead != need.subject());
    rows.extend(command.map(|command| Row::of(Look::Bold, format!("  {}", brief(&command))).indented(2)));
    let cause = need.cause.as_deref().unwrap_or_default().split("; ");
    let cause = cause.filter(|line| !line.is_empty());
    rows.extend(cause.map(|line| Row::of(Look::Plain, format!("  {}", brief(line))).indented(2)));
    let lacking = match need.why {
        NeedKind::Agent => Some("agent"),
        NeedKind::Validation => Some("validation"),
        NeedKind::Git
        | NeedKind::Files
        | NeedKind::Asks
        | NeedKind::Policy
        | NeedKind::Accept
        | NeedKind::Fails
        | NeedKind::Gone => None,
    };
    let mut help = Vec::from_iter(no_task_to_blame(summary, need).map(|words| Row::of(Look::Plain, words)));
    if need.why == NeedKind::Validation {
        help.push(Row::of(Look::Accent, format!("{RALPH} resume {}{ANOTHER_VALIDATION}", scene.session.id)));
    }
    let doctor = lacking.map(|what| format!("{RALPH} doctor says what the {what} lacks; then r resumes"));
    help.extend(doctor.map(|words| Row::of(Look::Dim, words).indented(2)));
    let mut sections = vec![Section::plain(rows), Section::plain(help)];
    if let Some((_, attempt)) = scene.attempt(&Subject::Need(place)) {
        let mut rows = vec![Row::of(Look::Bold, format!("Attempt {}", scene.number_of(&attempt.id())))];
        rows.extend(super::task::said(scene, Some(attempt), None));
        sections.push(Section::plain(rows));
    }
    sections
}

/// All sessions, newest first, below what needs the user in any feature.
pub fn list(scene: &Scene<'_>) -> Vec<Section> {
    let sessions = scene.overview.sessions();
    let summaries: Vec<_> = scene.overview.features.iter().map(|feature| &feature.summary).collect();
    let words = verdict(&summaries).join(" · ");
    let mut head = vec![Row::of(Look::Bold, format!("  {words}")).indented(2)];
    head.extend(session_table::needs(&summaries).iter().map(|(need, of)| {
        let (look, sign) = need_sign(need.why);
        let name = need.task.clone().unwrap_or_else(|| need.subject());
        let row = Row::of(look, format!("  {sign} "))
            .and(Look::Bold, format!("{} {}  ", brief(feature_name(&of.feature)), brief(&name)))
            .and(Look::Plain, brief(need.cause.as_deref().unwrap_or_default()));
        row.with_right(Row::of(Look::Dim, of.since.clone()))
    }));
    let rows: Vec<SessionRow> =
        sessions.iter().map(|(feature, session)| session_row(scene, feature, session)).collect();
    let widths = widths(&rows);
    head.extend([Row::new(), Row::of(Look::Dim, format!("  {}", session_table::head(&widths)))]);
    let sections = rows.iter().map(|row| {
        let looks = if row.status == Status::Running { Look::Accent } else { Look::Plain };
        Section::folded(row.id.to_string(), Row::of(looks, aligned(&row.cells, &widths)), Vec::new())
    });
    [Section::plain(head)].into_iter().chain(sections).collect()
}

fn session_row(scene: &Scene<'_>, feature: &FeatureOverview, session: &SessionView) -> SessionRow {
    let is_live = !scene.overview.workers(session).is_empty();
    let end = End::of_session(session);
    let status = if is_live { Status::Running } else { end.status };
    let is_elsewhere = session.sessions().any(|id| scene.overview.elsewhere.contains_key(id));
    let ended = if is_elsewhere {
        "running elsewhere".to_owned()
    } else {
        ended(&End { status, ..end }, session.totals())
    };
    SessionRow::new(session, &feature.path, status, ended)
}

/// What is said below the needs of a task that is answered.
pub fn answered_row(task: &AnsweredTask) -> Row {
    task_row((Look::Accent, "→"), &task.task, &task.words())
}

/// What is said of a task that is done and flagged.
pub fn flag_row(task: &FlaggedTask) -> Row {
    task_row((Look::Warn, FLAG), &task.task, &flag_words(task))
}

fn task_row((look, sign): (Look, &str), task: &str, words: &str) -> Row {
    let row = Row::of(look, format!("{sign} ")).and(Look::Bold, format!("{} ", brief(task)));
    row.and(Look::Plain, format!(" {}", brief(words)))
}

/// What is said of a need in a panel of a number of columns.
pub fn need_rows(scene: &Scene<'_>, need: &Need, width: u16) -> Vec<Row> {
    let feature = scene.feature;
    let cause = brief(need.cause.as_deref().unwrap_or_default());
    let (look, sign) = need_sign(need.why);
    let row = Row::of(look, format!("{sign} "));
    let is_asking = need.why.waits_for_hint();
    let Some(task) = need.task.as_deref().filter(|_| is_asking || need.why.is_given_up()) else {
        let row = row.and(Look::Bold, brief(&lead(&feature.summary, need)));
        return vec![row.and(Look::Plain, format!("  {cause}"))];
    };
    let row = row.and(Look::Bold, format!("{} ", brief(task)));
    let words = if need.why == NeedKind::Asks { format!("asks: {cause}") } else { cause };
    let title = feature.list.find(task).map_or(String::new(), |item| brief(task_title(&item.text)));
    let failures = feature.failures_of(task);
    let crosses = Row::of(Look::Bad, "✘".repeat(if is_asking { 0 } else { failures.min(MAX_CROSSES) }));
    let cost = usd(feature.summary.totals.task_costs.get(task).copied());
    match scene.shape {
        Shape::Wide => {
            let right = Row::of(Look::Plain, " ").then(crosses).and(Look::Plain, format!("{cost:>7}"));
            let row = row.and(Look::Plain, format!(" {words}")).with_right(right);
            let waiting = wait_for(feature, task, &brief(task));
            let waiting = waiting.map(|words| Row::of(Look::Dim, format!("  {words}")));
            [row].into_iter().chain(waiting).collect()
        }
        Shape::Stacked => {
            let about = match waiters(&feature.summary, task) {
                _ if is_asking => format!("asked {}", times(failures)),
                Some(words) => words + "  ",
                None => String::new(),
            };
            let right = Row::of(Look::Dim, about).then(crosses).and(Look::Plain, format!("{cost:>8}"));
            vec![row.and(Look::Plain, format!(" {title}")).with_right(right)]
        }
        Shape::Narrow => {
            let row = row.and(Look::Plain, title).with_right(cost.into());
            let words = Row::of(look, format!("  {words}")).indented(2);
            // Without the border, and the blanks inside of it.
            let words = words.wrapped(usize::from(width.saturating_sub(4))).into_iter();
            [row].into_iter().chain(words.take(MAX_LINES)).collect()
        }
    }
}

/// Returns the attempts whose agents said that something is done which was not.
fn wrong_claims(scene: &Scene<'_>) -> Vec<String> {
    let wrong = scene.session.iterations().filter(|one| one.is_wrong_claim());
    wrong.map(|one| scene.number_of(&one.id())).collect()
}

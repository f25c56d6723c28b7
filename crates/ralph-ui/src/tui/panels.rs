//! The panels with lists: what runs, what needs the user, the tasks, and the session in time.

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::widgets::Paragraph;

use crate::evidence::FLAG;
use crate::local_time::clock;
use crate::needs::need_sign;
use crate::status::waiting_words;
use crate::style::{bar, brief_duration, columns, cut, duration, minutes, task_title};
use ralph_core::record::{Interruption, NeedKind};
use ralph_core::view::SessionView;

use super::app::App;
use super::contents::{MAX_CROSSES, Scene, Subject, attempts_of, brief, flag_row};
use super::layout::Panel;
use super::model::{FeatureOverview, Live, LiveIteration, TaskState, Worker};
use super::row::{Look, Row};
use super::strip;
use super::tree::{Line, Phase};
use super::widgets::{list, panel, text};

/// Most cells that stand for tasks of a phase, one each.
const CELLS: usize = 8;

/// An agent without output for so long may hang.
const SILENT_MS: u64 = 5 * 60_000;

/// What turns, a step each tenth of a second.
const SPINNER: [&str; 8] = ["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧"];

/// What the agent does.
pub fn now(frame: &mut Frame<'_>, app: &App, scene: &Scene<'_>, area: Rect) {
    let is_focused = app.panel == Panel::Now;
    let width = usize::from(area.width.saturating_sub(4));
    let rows: Vec<Row> = match scene.workers.as_slice() {
        [only] if !scene.is_group() => now_rows(app, scene, only, width),
        workers => workers.iter().map(|worker| worker_row(app, scene, worker)).collect(),
    };
    let right = if scene.is_group() { format!("{} at once", scene.workers.len()) } else { String::new() };
    let titles = [Row::of(Look::Bold, "Now"), Row::of(Look::Dim, right)];
    let length = if scene.is_group() { rows.len() } else { 0 };
    let items = rows.into_iter().map(|row| vec![row]).collect();
    let chosen = (is_focused || scene.is_group() && app.left == Panel::Now).then_some(app.worker);
    let top = (app.worker + 3).saturating_sub(usize::from(area.height));
    list(frame, area, is_focused, titles, items, chosen, (top, length));
}

/// `12s`
fn since(app: &App, running: &LiveIteration) -> String {
    let seconds = u64::try_from(app.now.seconds() - running.started_at.seconds()).unwrap_or(0);
    if seconds < 60 { format!("{seconds}s") } else { brief_duration(seconds * 1000) }
}

/// One of several loops: its lane, the task, what it is at, and for how long.
fn worker_row(app: &App, scene: &Scene<'_>, worker: &Worker<'_>) -> Row {
    let lane = scene.session.lanes.iter().find(|(id, _)| id == worker.session).map_or(0, |(_, lane)| *lane);
    let lane = format!("{lane:>2} ");
    let Live { in_flight, waiting, .. } = worker.live;
    if let Some(waiting) = waiting {
        return Row::of(Look::Warn, format!("‖{lane}{}", brief(&waiting_words(waiting, app.now))));
    }
    let Some(running) = in_flight else {
        let words = if worker.live.is_merging { "merges results" } else { "waits for a task" };
        return Row::of(Look::Dim, format!("·{lane}{words}"));
    };
    let turn = usize::try_from(app.now.ms() / 100).unwrap_or(0) % SPINNER.len();
    let row = Row::of(Look::Accent, SPINNER[turn]).and(Look::Dim, lane);
    let name = brief(&running.task.name);
    let silent = app.silent_ms(worker.session);
    let (look, phase) = if silent >= SILENT_MS {
        (Look::Warn, format!("silent {}", minutes(silent)))
    } else if running.is_validating() {
        (Look::Dim, "tests".to_owned())
    } else {
        (
            Look::Dim,
            if running.attempt > 1 { format!("attempt {}", running.attempt) } else { "agent".to_owned() },
        )
    };
    row.and(Look::Bold, name)
        .and(Look::Plain, format!(" {}", brief(task_title(&running.task.text))))
        .with_right(
            Row::of(look, format!(" {phase} ")).and(Look::Bold, format!("{:>5}", since(app, running))),
        )
}

fn now_rows(app: &App, scene: &Scene<'_>, worker: &Worker<'_>, width: usize) -> Vec<Row> {
    let live = worker.live;
    if let Some(waiting) = &live.waiting {
        let words = format!("‖ {}", waiting_words(waiting, app.now));
        return Row::of(Look::Warn, brief(&words)).indented(2).wrapped(width);
    }
    let Some(running) = &live.in_flight else {
        return vec![Row::of(Look::Dim, "the next attempt is being prepared")];
    };
    let time = since(app, running);
    let attempt = if running.attempt > 1 { format!("attempt {}  ", running.attempt) } else { String::new() };
    let turn = usize::try_from(app.now.ms() / 100).unwrap_or(0) % SPINNER.len();
    let row = Row::of(Look::Accent, format!("{} ", SPINNER[turn]))
        .and(Look::Bold, brief(&running.task.name))
        .and(Look::Plain, format!("  {}", brief(task_title(&running.task.text))))
        .with_right(Row::of(Look::Plain, attempt).and(Look::Bold, time));
    let command = scene.detail().and_then(|detail| detail.validation()).map(brief);
    let took = scene.session.iterations().rev().find_map(|one| one.duration_ms().validation);
    let took = took.map_or(String::new(), |ms| format!(", about {}", duration(ms)));
    let below = if running.is_validating() {
        vec![("tests", command.unwrap_or_else(|| "the validation".to_owned()) + &took)]
    } else {
        let doing = brief(running.doing.as_ref().unwrap_or(&running.agent));
        [("agent", doing)].into_iter().chain(command.map(|command| ("then", command + &took))).collect()
    };
    let silent_ms = app.silent_ms(worker.session);
    let is_silent = silent_ms >= SILENT_MS;
    let limit = scene.detail().and_then(|detail| detail.setting("idle-timeout")?.as_str());
    let limit = limit.filter(|_| !running.is_validating());
    let limit = limit.map_or(String::new(), |limit| format!(", stopped at {}", brief(limit)));
    // In the place of what would come then: the panel has no more lines.
    let silent = is_silent.then(|| {
        let words = format!("no output for {}{limit}", minutes(silent_ms));
        Row::of(Look::Warn, format!("  {words}"))
    });
    let shown = if silent.is_some() { 1 } else { below.len() };
    let below = below
        .into_iter()
        .take(shown)
        .map(|(name, words)| Row::of(Look::Dim, format!("  {name:<6} ")).and(Look::Plain, words));
    [row].into_iter().chain(silent).chain(below).collect()
}

/// What only the user can settle.
pub fn needs(frame: &mut Frame<'_>, app: &App, scene: &Scene<'_>, area: Rect) {
    let needs = app.needs();
    let look = if needs.is_empty() { Look::Dim } else { Look::Warn };
    let titles = [Row::of(Look::Bold, "Needs you ").and(look, needs.len().to_string()), Row::new()];
    let (items, chosen) = if app.need_rows.is_empty() {
        (vec![vec![Row::of(Look::Dim, nothing_needed(scene))]], None)
    } else {
        (app.need_rows.clone(), (app.left == Panel::Needs).then_some(app.need))
    };
    let is_focused = app.panel == Panel::Needs;
    list(frame, area, is_focused, titles, items, chosen, (app.need, app.need_rows.len()));
}

/// What is done and flagged.
pub fn look(frame: &mut Frame<'_>, app: &App, scene: &Scene<'_>, area: Rect) {
    let flagged = &scene.feature.summary.flagged;
    let items: Vec<Vec<Row>> = flagged.iter().map(|task| vec![flag_row(task)]).collect();
    let titles = [Row::of(Look::Bold, "Look ").and(Look::Warn, flagged.len().to_string()), Row::new()];
    let chosen = (app.left == Panel::Look).then_some(app.flag);
    list(frame, area, app.panel == Panel::Look, titles, items, chosen, (app.flag, flagged.len()));
}

fn nothing_needed(scene: &Scene<'_>) -> String {
    let limit = scene.detail().and_then(|detail| detail.setting("skip-after")?.as_u64());
    let limit = limit.filter(|limit| *limit > 0).unwrap_or(u64::MAX);
    let last = scene.in_flight().find(|(_, running)| u64::from(running.attempt) >= limit);
    match (last, scene.in_flight().next()) {
        (_, None) => "nothing needs you".to_owned(),
        (Some((_, running)), _) => {
            format!("nothing; if this attempt fails, {} is given up", brief(&running.task.name))
        }
        (None, Some(_)) => "nothing".to_owned(),
    }
}

/// The tasks by phase.
pub fn tasks(frame: &mut Frame<'_>, app: &App, scene: &Scene<'_>, area: Rect) {
    let tree = &app.tree;
    let visible = tree.lines.iter().skip(tree.top).take(usize::from(area.height));
    let items = visible.map(|line| vec![line_of(app, scene, *line)]).collect();
    let chosen = (app.left == Panel::Tasks).then(|| tree.place.checked_sub(tree.top)).flatten();
    let titles = [Row::of(Look::Bold, "Tasks"), done(scene.feature)];
    list(frame, area, app.panel == Panel::Tasks, titles, items, chosen, (tree.top, tree.lines.len()));
}

/// `31/35`
fn done(feature: &FeatureOverview) -> Row {
    let states = feature.summary.tasks;
    Row::of(Look::Dim, format!("{}/{}", states.done, states.total()))
}

fn line_of(app: &App, scene: &Scene<'_>, line: Line) -> Row {
    let feature = scene.feature;
    let place = match line {
        Line::Task(place) => place,
        Line::Phase(place) => {
            let phase = &app.tree.phases[place];
            let is_open = app.tree.is_open(phase);
            let name = if phase.name.is_empty() { "(no heading)" } else { &phase.name };
            return Row::of(Look::Dim, if is_open { "▾ " } else { "▸ " })
                .and(if is_open { Look::Bold } else { Look::Plain }, name)
                .with_right(phase_cells(scene, phase));
        }
    };
    let item = &feature.list.items[place];
    let state = feature.state(item, &scene.running_tasks());
    let (look, sign) = sign_of(state);
    let (name_look, text_look) = match state {
        TaskState::Fails | TaskState::Runs | TaskState::Asks => (Look::Bold, Look::Plain),
        TaskState::Answered | TaskState::Waits(_) | TaskState::Open => (Look::Dim, Look::Dim),
        TaskState::Done => (Look::Plain, Look::Plain),
    };
    // What it waits for is at the right.
    let text = task_title(item.text.split(" (depends on ").next().unwrap_or_default());
    let indent = "  ".repeat(item.depth.min(4) + usize::from(app.tree.phases.len() > 1));
    let failures = feature.failures_of(&item.name).min(MAX_CROSSES);
    let crosses = Row::of(Look::Bad, "✘".repeat(failures));
    Row::of(look, format!("{indent}{sign} "))
        .and(name_look, brief(&item.name))
        .and(text_look, format!(" {}", brief(text)))
        .with_right(match state {
            TaskState::Waits(other) => Row::of(Look::Dim, format!("after {}", brief(other))),
            TaskState::Runs => crosses.and(Look::Accent, "●"),
            TaskState::Done => {
                Row::of(Look::Warn, if feature.flagged(&item.name).is_some() { FLAG } else { "" })
            }
            TaskState::Answered => Row::of(Look::Dim, "?".repeat(failures)),
            TaskState::Asks => Row::of(Look::Warn, "?".repeat(failures)),
            TaskState::Fails | TaskState::Open => crosses,
        })
}

fn sign_of(state: TaskState<'_>) -> (Look, &'static str) {
    match state {
        TaskState::Done => (Look::Good, "✔"),
        TaskState::Asks => need_sign(NeedKind::Asks),
        TaskState::Answered => (Look::Accent, "→"),
        TaskState::Fails => need_sign(NeedKind::Fails),
        TaskState::Runs => (Look::Accent, "●"),
        TaskState::Waits(_) | TaskState::Open => (Look::Dim, "·"),
    }
}

/// `▪▪✘·▪▪·   4/7`: a cell for each task where there are few.
fn phase_cells(scene: &Scene<'_>, phase: &Phase) -> Row {
    let items: Vec<_> = phase.tasks.iter().map(|place| &scene.feature.list.items[*place]).collect();
    let finished = items.iter().filter(|item| item.done).count();
    let row = if items.len() > CELLS {
        let [full, rest] = bar(finished, items.len(), CELLS);
        Row::of(Look::Good, full).and(Look::Dim, rest)
    } else {
        let row = items.iter().fold(Row::new(), |row, item| {
            let (look, sign) = match scene.feature.state(item, &scene.running_tasks()) {
                TaskState::Done => (Look::Good, "▪"),
                state => sign_of(state),
            };
            row.and(look, sign)
        });
        row.padded(CELLS)
    };
    let counts = format!("{finished}/{}", items.len());
    row.and(Look::Plain, format!(" {counts:>4}"))
}

/// Tasks and time in a few lines.
pub fn summary(frame: &mut Frame<'_>, app: &App, scene: &Scene<'_>, area: Rect) {
    let inner = panel(frame, area, false, [Row::of(Look::Bold, "Tasks"), done(scene.feature)]);
    let width = usize::from(inner.width.saturating_sub(2));
    let session = lines_of_session(scene, width, app, true);
    let half = width / 2;
    // Phases beside each other where there is room for two.
    let (columns, room) = if width >= 64 { (2, half.saturating_sub(2)) } else { (1, width) };
    let mut rows: Vec<Row> = app
        .tree
        .phases
        .chunks(columns)
        .map(|phases| {
            let phases = phases.iter().map(|phase| {
                Row::from(phase.name.clone()).with_right(phase_cells(scene, phase)).fitted(room)
            });
            phases.reduce(|left, right| left.padded(half).then(right)).unwrap_or_default()
        })
        .collect();
    let room = usize::from(inner.height).saturating_sub(session.len());
    if rows.len() < room && !rows.is_empty() {
        rows.push(Row::new());
    }
    rows.truncate(room);
    let rows = rows.into_iter().chain(session).map(|row| Row::of(Look::Plain, " ").then(row)).collect();
    frame.render_widget(Paragraph::new(text(rows)), inner);
}

/// The session in time.
pub fn session(frame: &mut Frame<'_>, app: &App, scene: &Scene<'_>, area: Rect) {
    let session = scene.session;
    let sessions = app.overview.sessions();
    let place =
        sessions.iter().position(|(_, one)| one.id == session.id).map_or(0, |place| sessions.len() - place);
    let title = Row::of(Look::Bold, "Night ").and(Look::Dim, span(scene));
    let right = match sessions.len() {
        0 | 1 => Row::new(),
        count => {
            Row::of(Look::Dim, format!("{place} of {count}, ")).and(Look::Accent, "S").and(Look::Dim, " all")
        }
    };
    let inner = panel(frame, area, app.panel == Panel::Session, [title, right]);
    let rows = lines_of_session(scene, usize::from(inner.width), app, false);
    frame.render_widget(Paragraph::new(text(rows)), inner);
}

/// `22:41 – 04:31`
fn span(scene: &Scene<'_>) -> String {
    let until = if scene.is_running() { "now".to_owned() } else { clock(scene.session.last_at()) };
    format!("{} – {until}", clock(scene.session.started_at()))
}

fn lines_of_session(scene: &Scene<'_>, width: usize, app: &App, is_brief: bool) -> Vec<Row> {
    let session = scene.session;
    let now = scene.in_flight().next().map(|_| scene.now);
    let chosen = match &app.subject {
        Subject::Attempt(id) => Some(id),
        _ => None,
    };
    let mut words = attempts_of(scene);
    let cost = session.totals().cost.failed_usd.filter(|_| session.totals().failed > 0);
    if is_brief {
        let times = format!(" {}", span(scene));
        let [line, _] = strip::rows(scene, width.saturating_sub(columns(&times)), now, chosen);
        words.push_str(&cost.map_or(String::new(), |cost| format!("; ${cost:.2} in failed ones")));
        return vec![line.and(Look::Dim, times), Row::of(Look::Dim, cut(&words, width))];
    }
    let [line, hours] = strip::rows(scene, width, now, chosen);
    let cost = cost.map(|cost| format!("${cost:.2} went into failed attempts"));
    let words = [words].into_iter().chain(cost).chain(pauses(session));
    let words = words.map(|words| Row::of(Look::Dim, format!(" {words}")).cut(width));
    [line, hours, Row::new()].into_iter().chain(words).collect()
}

/// `usage limit 42 min, down 20 min`: how long the session waited for a limit, and for the user to resume it.
fn pauses(session: &SessionView) -> Option<String> {
    let kinds = [
        (Interruption::Limit, "usage limit"),
        (Interruption::Crash, "down"),
        (Interruption::Person, "stopped"),
    ];
    let words: Vec<String> = kinds
        .into_iter()
        .filter_map(|(kind, word)| {
            let cuts = session.totals().cut_short.iter().filter(|cut| cut.by == kind);
            let ms: u64 = cuts.filter_map(|cut| Some(cut.ended_at.ms_until(cut.resumed_at?))).sum();
            (ms >= 60_000).then(|| format!("{word} {}", minutes(ms)))
        })
        .collect();
    (!words.is_empty()).then(|| words.join(", "))
}

//! The panels with lists: what runs, what needs the user, the tasks, and the session in time.

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::widgets::Paragraph;

use crate::local_time::clock;
use crate::needs::need_sign;
use crate::style::{Count, bar, brief_duration, columns, cut, duration, grouped, minutes};
use ralph_core::record::{Interruption, Need, NeedKind, join_truncated};

use super::app::App;
use super::contents::{Scene, Subject, and, brief, usd};
use super::layout::{Panel, Shape};
use super::model::{Feature, Night, TaskState};
use super::row::{Look, Row};
use super::strip;
use super::tree::{Line, Phase};
use super::widgets::{list, panel, scrollbar, text};

/// Most cells that stand for tasks of a phase, one each.
const CELLS: usize = 8;

/// Most crosses for failures.
const MAX_CROSSES: usize = 5;

const SPINNER: [&str; 8] = ["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧"];

/// What the agent does.
pub fn now(frame: &mut Frame<'_>, app: &App, area: Rect) {
    let (Some(live), Some(scene)) = (app.live().filter(|_| !area.is_empty()), app.scene()) else { return };
    let is_focused = app.panel == Panel::Now;
    let inner = panel(frame, area, is_focused, Row::of(Look::Bold, "Now"), Row::new());
    let mut rows = Vec::new();
    if let Some(waiting) = &live.waiting {
        let left = u64::try_from(waiting.until.seconds() - app.now.seconds()).unwrap_or(0);
        let words = format!("‖ waiting for {}'s limit", brief(&waiting.agent));
        let until = format!("until {} ({})", clock(waiting.until), brief_duration(left * 1000));
        rows.push(Row::of(Look::Warn, words).with_right(Row::of(Look::Warn, until)));
        rows.extend(
            waiting.message.as_deref().map(|words| Row::of(Look::Dim, format!("  {}", brief(words)))),
        );
    } else if let Some(running) = &live.in_flight {
        let seconds = u64::try_from(app.now.seconds() - running.started_at.seconds()).unwrap_or(0);
        let attempt =
            if running.attempt > 1 { format!("attempt {}  ", running.attempt) } else { String::new() };
        let time = if seconds < 60 { format!("{seconds}s") } else { brief_duration(seconds * 1000) };
        let spinner = SPINNER[app.ticks % SPINNER.len()];
        let row = Row::of(Look::Accent, format!("{spinner} ")).and(Look::Bold, brief(&running.task.name));
        let row = row.and(Look::Plain, format!("  {}", brief(&running.task.text)));
        rows.push(row.with_right(Row::of(Look::Plain, attempt).and(Look::Bold, time)));
        let command = scene.detail().and_then(|detail| detail.validation()).map(brief);
        let took = scene.night.attempts.iter().rev().find_map(|one| one.entry.duration_ms.validation);
        let took = took.map_or(String::new(), |ms| format!(", about {}", duration(ms)));
        let below = if running.is_validating() {
            vec![("tests", command.unwrap_or_else(|| "the validation".to_owned()) + &took)]
        } else {
            let doing = brief(running.doing.as_ref().unwrap_or(&running.agent));
            let then = command.map(|command| ("then", command + &took));
            [("agent", doing)].into_iter().chain(then).collect()
        };
        rows.extend(
            below
                .into_iter()
                .map(|(name, words)| Row::of(Look::Dim, format!("  {name:<6} ")).and(Look::Plain, words)),
        );
    } else {
        rows.push(Row::of(Look::Dim, "the next attempt is being prepared"));
    }
    list(frame, inner, rows.into_iter().map(|row| vec![row]).collect(), is_focused.then_some(0), is_focused);
}

/// What only the user can settle.
pub fn needs(frame: &mut Frame<'_>, app: &App, area: Rect) {
    let (Some(scene), false) = (app.scene(), area.is_empty()) else { return };
    let needs = app.needs();
    let title = Row::of(Look::Bold, "Needs you ")
        .and(if needs.is_empty() { Look::Dim } else { Look::Warn }, needs.len().to_string());
    let is_focused = app.panel == Panel::Needs;
    let inner = panel(frame, area, is_focused, title, Row::new());
    if needs.is_empty() {
        let words = Row::of(Look::Dim, nothing_needed(&scene));
        return list(frame, inner, vec![vec![words]], None, false);
    }
    let shape = Shape::of(app.size);
    let items: Vec<Vec<Row>> = needs.iter().map(|need| need_rows(&scene, need, shape)).collect();
    let chosen = (app.left == Panel::Needs).then_some(app.need);
    list(frame, inner, items, chosen, is_focused);
    scrollbar(frame, area, needs.len(), app.need);
}

fn nothing_needed(scene: &Scene<'_>) -> String {
    let Some(running) = scene.in_flight() else { return "nothing needs you".to_owned() };
    let limit = scene.detail().and_then(|detail| detail.setting("skip-after")?.as_u64());
    match limit {
        Some(limit) if limit > 0 && u64::from(running.attempt) >= limit => {
            format!("nothing; if this attempt fails, {} is given up", brief(&running.task.name))
        }
        _ => "nothing".to_owned(),
    }
}

fn need_rows(scene: &Scene<'_>, need: &Need, shape: Shape) -> Vec<Row> {
    let feature = scene.feature;
    let cause = brief(need.cause.as_deref().unwrap_or_default());
    let (look, sign) = need_sign(need.why);
    let row = Row::of(look, format!("{sign} "));
    let task = need.task.as_deref().filter(|_| matches!(need.why, NeedKind::Asks | NeedKind::Fails));
    let Some(task) = task else {
        let row = row.and(Look::Bold, brief(&need.subject()));
        return vec![row.and(Look::Plain, format!("  {cause}"))];
    };
    let is_asking = need.why == NeedKind::Asks;
    let failures = feature.failures_of(task);
    let cost = usd(feature.summary.totals.task_costs.get(task).copied());
    let title = feature.list.find(task).map_or(String::new(), |item| brief(&item.text));
    let row = row.and(Look::Bold, format!("{} ", brief(task)));
    let waiting: Vec<String> = feature.waiting_for(task).map(|name| brief(name)).collect();
    let wait = if waiting.len() == 1 { "waits" } else { "wait" };
    let crosses = "✘".repeat(if is_asking { 0 } else { failures.min(MAX_CROSSES) });
    match shape {
        Shape::Wide => {
            let words = if is_asking { format!(" asks: {cause}") } else { format!(" {cause}") };
            let right = Row::of(Look::Plain, " ").and(Look::Bad, crosses);
            let right = right.and(Look::Plain, format!("{cost:>7}"));
            let mut rows = vec![row.and(Look::Plain, words).with_right(right)];
            if !waiting.is_empty() {
                let words = format!("  {} {wait} for {}", and(&waiting), brief(task));
                rows.push(Row::of(Look::Dim, words));
            }
            rows
        }
        Shape::Stacked => {
            let about = if is_asking {
                Row::of(
                    Look::Dim,
                    if failures == 1 { "asked once".to_owned() } else { format!("asked {failures} times") },
                )
            } else if waiting.is_empty() {
                Row::new()
            } else {
                Row::of(Look::Dim, format!("{} {wait}  ", join_truncated(&waiting, 3)))
            };
            let right = about.and(Look::Bad, crosses).and(Look::Plain, format!("{cost:>8}"));
            vec![row.and(Look::Plain, format!(" {title}")).with_right(right)]
        }
        Shape::Narrow => {
            let words = if is_asking { format!("  asks: {cause}") } else { format!("  {cause}") };
            vec![row.and(Look::Plain, title).with_right(Row::of(Look::Plain, cost)), Row::of(look, words)]
        }
    }
}

/// The tasks by phase.
pub fn tasks(frame: &mut Frame<'_>, app: &App, area: Rect) {
    let (Some(scene), false) = (app.scene(), area.is_empty()) else { return };
    let is_focused = app.panel == Panel::Tasks;
    let inner = panel(frame, area, is_focused, Row::of(Look::Bold, "Tasks"), done(scene.feature));
    let tree = &app.tree;
    let visible = tree.lines.iter().skip(tree.top).take(usize::from(inner.height));
    let items = visible.map(|line| vec![line_of(app, &scene, *line)]).collect();
    let chosen = (app.left == Panel::Tasks).then(|| tree.place.checked_sub(tree.top)).flatten();
    list(frame, inner, items, chosen, is_focused);
    scrollbar(frame, area, tree.lines.len(), tree.top);
}

/// `31/35`
fn done(feature: &Feature) -> Row {
    let states = feature.summary.tasks;
    Row::of(Look::Dim, format!("{}/{}", states.done, states.total()))
}

fn line_of(app: &App, scene: &Scene<'_>, line: Line) -> Row {
    let feature = scene.feature;
    match line {
        Line::Phase(place) => {
            let phase = &app.tree.phases[place];
            let is_open = app.tree.is_open(phase);
            let fold = if is_open { "▾ " } else { "▸ " };
            let name = if phase.name.is_empty() { "(no heading)" } else { &phase.name };
            let look = if is_open { Look::Bold } else { Look::Plain };
            let row = Row::of(Look::Dim, fold).and(look, name);
            row.with_right(phase_cells(scene, phase))
        }
        Line::Task(place) => {
            let item = &feature.list.items[place];
            let state = feature.state(item, scene.running_task());
            let (look, sign) = sign_of(state);
            // What it waits for stands at the right.
            let text = item.text.split(" (depends on ").next().unwrap_or_default();
            let indent = "  ".repeat(item.depth.min(4) + usize::from(app.tree.phases.len() > 1));
            let name_look = if matches!(state, TaskState::Fails | TaskState::Runs | TaskState::Asks) {
                Look::Bold
            } else {
                Look::Plain
            };
            let is_dim = matches!(state, TaskState::Waits(_) | TaskState::Open);
            let row = Row::of(look, format!("{indent}{sign} "))
                .and(if is_dim { Look::Dim } else { name_look }, brief(&item.name))
                .and(if is_dim { Look::Dim } else { Look::Plain }, format!(" {}", brief(text)));
            let failures = if item.done { 0 } else { feature.failures_of(&item.name).min(MAX_CROSSES) };
            let right = match state {
                TaskState::Waits(other) => Row::of(Look::Dim, format!("after {}", brief(other))),
                TaskState::Runs => Row::of(Look::Bad, "✘".repeat(failures)).and(Look::Accent, "●"),
                TaskState::Done => Row::new(),
                TaskState::Asks => Row::of(Look::Warn, "?".repeat(failures)),
                TaskState::Fails | TaskState::Open => Row::of(Look::Bad, "✘".repeat(failures)),
            };
            row.with_right(right)
        }
    }
}

fn sign_of(state: TaskState<'_>) -> (Look, &'static str) {
    match state {
        TaskState::Done => (Look::Good, "✔"),
        TaskState::Asks => (Look::Warn, "?"),
        TaskState::Fails => (Look::Bad, "✘"),
        TaskState::Runs => (Look::Accent, "●"),
        TaskState::Waits(_) | TaskState::Open => (Look::Dim, "·"),
    }
}

/// `▪▪✘·▪▪·   4/7`: a cell for each task where there are few.
fn phase_cells(scene: &Scene<'_>, phase: &Phase) -> Row {
    let feature = scene.feature;
    let items: Vec<_> = phase.tasks.iter().map(|place| &feature.list.items[*place]).collect();
    let finished = items.iter().filter(|item| item.done).count();
    let row = if items.len() > CELLS {
        let [full, rest] = bar(finished, items.len(), CELLS);
        Row::of(Look::Good, full).and(Look::Dim, rest)
    } else {
        let row = items.iter().fold(Row::new(), |row, item| {
            let (look, sign) = match feature.state(item, scene.running_task()) {
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
pub fn summary(frame: &mut Frame<'_>, app: &App, area: Rect) {
    let (Some(scene), false) = (app.scene(), area.is_empty()) else { return };
    let inner = panel(frame, area, false, Row::of(Look::Bold, "Tasks"), done(scene.feature));
    let width = usize::from(inner.width.saturating_sub(2));
    let height = usize::from(inner.height);
    let night = lines_of_night(&scene, width, app, true);
    let half = width / 2;
    let is_double = width >= 64;
    let room = if is_double { half.saturating_sub(2) } else { width };
    let phases = app.tree.phases.iter().map(|phase| {
        let name = Row::of(Look::Plain, phase.name.clone());
        name.with_right(phase_cells(&scene, phase)).fitted(room)
    });
    let mut rows: Vec<Row> = phases.collect();
    if is_double {
        let pairs = rows
            .chunks(2)
            .map(|pair| pair[0].clone().padded(half).then(pair.get(1).cloned().unwrap_or_default()));
        rows = pairs.collect();
    }
    let room = height.saturating_sub(night.len());
    // Of many phases, those that are not done are worth the room.
    if rows.len() > room {
        rows.truncate(room);
    } else if rows.len() < room && !rows.is_empty() {
        rows.push(Row::new());
    }
    rows.extend(night);
    rows.truncate(height);
    let rows = rows.into_iter().map(|row| Row::of(Look::Plain, " ").then(row)).collect();
    frame.render_widget(Paragraph::new(text(rows)), inner);
}

/// The session in time.
pub fn night(frame: &mut Frame<'_>, app: &App, area: Rect) {
    let (Some(scene), false) = (app.scene(), area.is_empty()) else { return };
    let night = scene.night;
    let until = if app.live().is_some() { "now".to_owned() } else { clock(night.last_at) };
    let title =
        Row::of(Look::Bold, "Night ").and(Look::Dim, format!("{} – {until}", clock(night.started_at)));
    let nights = app.overview.nights();
    let place = nights.iter().position(|(_, one)| one.id == night.id).map_or(0, |place| nights.len() - place);
    let right = match nights.len() {
        0 | 1 => Row::new(),
        count => {
            Row::of(Look::Dim, format!("{place} of {count}, ")).and(Look::Accent, "S").and(Look::Dim, " all")
        }
    };
    let inner = panel(frame, area, app.panel == Panel::Night, title, right);
    let rows = lines_of_night(&scene, usize::from(inner.width), app, false);
    let rows: Vec<Row> = rows.into_iter().take(usize::from(inner.height)).collect();
    frame.render_widget(Paragraph::new(text(rows)), inner);
}

fn lines_of_night(scene: &Scene<'_>, width: usize, app: &App, is_brief: bool) -> Vec<Row> {
    let night = scene.night;
    let now = scene.in_flight().map(|_| scene.now);
    let chosen = match &app.subject {
        Subject::Attempt(number) => Some(*number),
        _ => None,
    };
    let totals = &night.totals;
    let solved = night.attempts.iter().filter(|one| one.is_failed() && one.is_solved).count();
    let times = format!(
        " {} – {}",
        clock(night.started_at),
        now.map_or_else(|| clock(night.last_at), |_| "now".to_owned())
    );
    let attempts = Count(totals.attempts as u64, "attempt").to_string();
    let failed = match totals.failed {
        0 => String::new(),
        failed if solved == 0 => format!(", {} failed", grouped(failed as u64)),
        failed => {
            format!(", {} failed, {} of them solved later", grouped(failed as u64), grouped(solved as u64))
        }
    };
    if is_brief {
        let [line, _] = strip::rows(night, width.saturating_sub(columns(&times)), now, chosen);
        let cost = totals.cost.failed_usd.filter(|_| totals.failed > 0);
        let cost = cost.map_or(String::new(), |cost| format!("; ${cost:.2} in failed ones"));
        return vec![
            line.and(Look::Dim, times),
            Row::of(Look::Dim, cut(&format!("{attempts}{failed}{cost}"), width)),
        ];
    }
    let [line, hours] = strip::rows(night, width, now, chosen);
    let cost = totals.cost.failed_usd.filter(|_| totals.failed > 0);
    let cost = cost.map(|cost| format!("${cost:.2} went into failed attempts"));
    let words = [attempts + &failed].into_iter().chain(cost).chain(pauses(night));
    let words = words.map(|words| Row::of(Look::Dim, format!(" {words}")).cut(width));
    [line, hours, Row::new()].into_iter().chain(words).collect()
}

/// `quota 42 min, down 20 min`: how long the session waited for a limit, and for somebody to resume it.
fn pauses(night: &Night) -> Option<String> {
    let kinds =
        [(Interruption::Limit, "quota"), (Interruption::Crash, "down"), (Interruption::Person, "stopped")];
    let words: Vec<String> = kinds
        .into_iter()
        .filter_map(|(kind, word)| {
            let cuts = night.totals.cut_short.iter().filter(|cut| cut.by == kind);
            let ms: u64 = cuts.filter_map(|cut| Some(cut.ended_at.ms_until(cut.resumed_at?))).sum();
            (ms >= 60_000).then(|| format!("{word} {}", minutes(ms)))
        })
        .collect();
    (!words.is_empty()).then(|| words.join(", "))
}

//! The first line of the screen, which says how it goes, and the last, which says what the keys do.

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::text::Line;
use ratatui::widgets::Clear;

use crate::ending::{BEGAN_RED, feature_name};
use crate::needs::{count_words, files_and_lines};
use crate::status::time_left;
use crate::style::{brief_duration, columns, rough};

use super::app::{App, Field, Mode, OwnLoop};
use super::contents::{Scene, Subject, View, brief, state_of, usd};
use super::help;
use super::layout::{Panel, Shape};
use super::page::reading;
use super::row::{Look, Row, shown};

/// Draws the feature, the state of the session, how many of its tasks are done, and what it took.
pub fn header(frame: &mut Frame<'_>, app: &App, scene: Option<&Scene<'_>>, area: Rect) {
    let width = usize::from(area.width);
    let row = match scene {
        Some(scene) => line(scene).fitted(width.saturating_sub(2)),
        None if app.is_known => Row::of(Look::Bold, "ralph"),
        None => reading(),
    };
    frame.render_widget(Line::from(Row::of(Look::Plain, " ").then(row)), area);
}

fn line(scene: &Scene<'_>) -> Row {
    let (session, summary, is_live) = (scene.session, &scene.feature.summary, scene.is_running());
    let is_wide = scene.shape == Shape::Wide;
    let gap = if is_wide { "   " } else { "  " };
    let until = if is_live { scene.now } else { session.last_at() };
    let time = brief_duration(session.worked_ms(until));
    let states = summary.tasks;
    let mut row = Row::of(Look::Bold, brief(feature_name(&scene.feature.path)))
        .and(Look::Plain, "  ")
        .then(state_of(scene));
    if scene.workers.iter().any(|worker| worker.live.waiting.is_none()) {
        row = row.and(Look::Bold, format!(" {time}"));
    }
    row = row
        .and(Look::Plain, gap)
        .and(Look::Bold, states.done.to_string())
        .and(Look::Dim, format!("/{}{}", states.total(), if is_wide { " done" } else { "" }));
    let took = session.totals().took.total().unwrap_or_default();
    let took = took / scene.workers.len().max(1) as u64;
    let left = time_left(took, session.totals().closed.len(), states.open + states.waits);
    if let Some(left) = left.filter(|_| is_live && is_wide) {
        row = row.and(Look::Dim, format!(", about {} left", rough(left)));
    }
    if scene.detail().is_some_and(|detail| detail.session.began_red(session.totals().succeeded)) {
        row = row.and(Look::Warn, format!("{gap}{BEGAN_RED}"));
    }
    if let Some(words) = count_words(&summary.needs_you) {
        row = row.and(Look::Warn, format!("{gap}{words}"));
    }
    if !summary.flagged.is_empty() && is_wide {
        row = row.and(Look::Warn, format!("{gap}{} to look at", summary.flagged.len()));
    }
    if scene.shape == Shape::Narrow {
        return row;
    }
    let limit = scene.detail().filter(|_| is_live).and_then(|detail| detail.setting("max-cost")?.as_f64());
    let limit = limit.map_or(String::new(), |limit| format!(" of ${limit:.0}"));
    let cost = session.totals().cost.usd;
    let cost = cost.map(|cost| fact(scene, "cost", usd(Some(cost))).and(Look::Dim, limit));
    let mut facts: Vec<Row> = cost.into_iter().collect();
    if let Some((_, running)) = scene.in_flight().next() {
        let attempts = session.totals().attempts + scene.running_tasks().len();
        let number = if scene.is_group() { attempts } else { running.number as usize };
        let failed = session.totals().failed;
        if is_wide {
            facts.push(fact(
                scene,
                if scene.is_group() { "attempts" } else { "attempt" },
                number.to_string(),
            ));
            facts.push(fact(scene, "failed", failed.to_string()));
        } else {
            facts.push(Row::of(Look::Bold, format!("#{number}")));
            facts.push(format!("{failed} failed").into());
        }
    } else {
        let changes = scene.detail().and_then(|detail| detail.changes).filter(|stat| stat.files > 0);
        facts.extend((!is_live).then(|| fact(scene, "time", time)));
        facts.extend(changes.map(|stat| fact(scene, "changed", files_and_lines(stat))));
    }
    let right = facts.into_iter().reduce(|row, fact| row.and(Look::Plain, gap).then(fact));
    row.with_right(right.unwrap_or_default())
}

/// A value with its name, where there is room for one.
fn fact(scene: &Scene<'_>, name: &str, value: String) -> Row {
    let name = if scene.shape == Shape::Wide { format!("{name} ") } else { String::new() };
    Row::of(Look::Dim, name).and(Look::Bold, value)
}

/// Draws the keys that are of use, or what is typed, or what there is to say.
pub fn footer(frame: &mut Frame<'_>, app: &App, area: Rect) {
    let width = usize::from(area.width);
    // What does not fit into the line of the keys covers the lines above it.
    for (row, y) in app.message.iter().rev().zip((0..=area.y).rev()) {
        let area = Rect { y, ..area };
        frame.render_widget(Clear, area);
        frame.render_widget(Line::from(Row::of(Look::Plain, " ").then(row.clone()).cut(width)), area);
    }
    let mut row = Row::of(Look::Plain, " ");
    // The keys are beside what is short.
    match app.message.as_slice() {
        [] => {}
        [words] => row = row.then(words.clone()).and(Look::Plain, "   "),
        _ => return,
    }
    let right = Some(right_of_keys(app)).filter(|right| row.width() + right.width() + 2 <= width);
    let right = right.unwrap_or_default();
    row = row.then(typed(app));
    let room = width.saturating_sub(right.width() + 2);
    for (key, does) in key_hints(app) {
        if row.width() + columns(key) + columns(&does) + 3 > room {
            break;
        }
        row = row.and(Look::Bold, key).and(Look::Dim, format!(" {does}  "));
    }
    frame.render_widget(Line::from(row.with_right(right).fitted(width.saturating_sub(1))), area);
}

/// Returns how the loop beside the screen ended, and whether what runs is followed.
fn right_of_keys(app: &App) -> Row {
    let ended = match app.own_loop {
        OwnLoop::Ended { code: 0, is_beside: true } => Row::of(Look::Good, "the loop has ended  "),
        OwnLoop::Ended { code, is_beside: true } => {
            Row::of(Look::Warn, format!("the loop has ended, exit {code}  "))
        }
        OwnLoop::None | OwnLoop::Runs { .. } | OwnLoop::Ended { .. } => Row::new(),
    };
    let follows = app.follows && app.is_live();
    ended.and(Look::Accent, if follows { "following" } else { "" })
}

/// The keys of use in each place, the most needed first.
const LOG_KEYS: &[(&str, &str)] =
    &[("⏎", "open"), ("Space", "calls"), ("/", "find"), ("f", "failed"), ("Esc", "back")];
const DETAIL_KEYS: &[(&str, &str)] = &[
    ("↑↓", "move"),
    ("Esc", "back"),
    ("Space", "fold"),
    ("/", "find"),
    ("d", "diff"),
    ("p", "prompt"),
    ("o", "output"),
    ("e", "editor"),
];
const LIVE_KEYS: &[(&str, &str)] = &[
    ("h", "hint"),
    ("s", "stop …"),
    ("F", "follow"),
    ("⏎", "open"),
    ("d", "diff"),
    ("p", "prompt"),
    ("/", "find"),
    ("1-4", "panel"),
];
const LIST_KEYS: &[(&str, &str)] = &[
    ("↑↓", "move"),
    ("⏎", "open"),
    ("a", "answer"),
    ("R", "bring back"),
    ("x", "right so"),
    ("r", "resume"),
    ("d", "diff"),
    ("O", "page"),
    ("p", "prompt"),
    ("o", "output"),
    ("L", "log"),
    ("/", "find"),
    ("1-4", "panel"),
];

/// The keys of use: what has no room is not shown.
fn key_hints(app: &App) -> Vec<(&'static str, String)> {
    let is_live = app.is_live();
    let keys: &[(&'static str, &str)] = match (&app.mode, app.panel, app.view) {
        (Mode::Typing(Field::Filter, _), ..) => &[("⏎", "keep"), ("Esc", "as before")],
        (Mode::Typing(Field::Search, _), ..) => &[("⏎", "find"), ("Esc", "as before")],
        (Mode::Typing(..), ..) => &[("⏎", "send"), ("Esc", "none")],
        (Mode::Help(_), ..) if help::last_top(app.size) > 0 => &[("j k", "more"), ("any other key", "back")],
        (Mode::Help(_), ..) => &[("any key", "back")],
        (Mode::Question(_), ..) => &[],
        (Mode::Browse, Panel::Detail, View::Log) => LOG_KEYS,
        (Mode::Browse, Panel::Detail, View::Sessions) => &[("⏎", "open"), ("Esc", "back")],
        (Mode::Browse, Panel::Detail, _) => DETAIL_KEYS,
        (Mode::Browse, ..) if is_live => LIVE_KEYS,
        (Mode::Browse, ..) => LIST_KEYS,
    };
    let is_task = matches!(app.subject, Subject::Task(_));
    let scene = app.scene();
    let chosen = scene.as_ref().and_then(|scene| scene.task(&app.subject));
    let is_acceptable = chosen.zip(scene.as_ref()).is_some_and(|(task, scene)| scene.is_acceptable(task));
    let is_completed = app.is_completed();
    let is_gone = scene.as_ref().is_some_and(|scene| {
        scene.feature.summary.work_gone.iter().any(|gone| Some(gone.task.as_str()) == chosen)
    });
    let keys = keys.iter().filter(|(key, _)| match *key {
        "a" => is_task && !is_acceptable,
        "R" => is_gone,
        "r" => !is_completed,
        "O" => is_completed,
        "x" => is_acceptable,
        _ => true,
    });
    let running = scene.as_ref().map(Scene::running_tasks).unwrap_or_default();
    let hinted = chosen.or(running.first().copied());
    let keys = keys.map(|(key, does)| match (*key, hinted) {
        ("h", Some(task)) => ("h", format!("hint for {}", shown(task))),
        // Without the detail, which has no number.
        ("1-4", _) => (["1-3", "1-4", "1-5"][app.panels().len().clamp(4, 6) - 4], (*does).to_owned()),
        _ => (*key, (*does).to_owned()),
    });
    let mut keys: Vec<_> = keys.collect();
    if app.mode == Mode::Browse {
        // These two are never without room.
        let at = if app.size.width < 100 { keys.len().min(3) } else { keys.len() };
        let quit = if is_live { "leave it running" } else { "quit" };
        keys.splice(at..at, [("?", "all keys".to_owned()), ("q", quit.to_owned())]);
    }
    keys
}

fn typed(app: &App) -> Row {
    let Mode::Typing(field, text) = &app.mode else { return Row::new() };
    let before = match field {
        Field::Search => "/ ".to_owned(),
        Field::Filter => "find / ".to_owned(),
        Field::Hint { task: Some(task), is_answer: true } => format!("answer {}: ", shown(task)),
        Field::Hint { task: Some(task), .. } => format!("hint for {}: ", shown(task)),
        Field::Hint { task: None, .. } => "hint for the next prompt: ".to_owned(),
    };
    // The end of a long text is what is being typed.
    let room = usize::from(app.size.width).saturating_sub(columns(&before) + 30).max(10);
    let text = shown(text);
    let skipped = text.chars().count().saturating_sub(room);
    let end: String = text.chars().skip(skipped).collect();
    let end = if skipped > 0 { format!("…{end}") } else { end };
    Row::of(Look::Accent, before).and(Look::Plain, end).and(Look::Accent, "▏  ")
}

//! Small charts over the iterations: columns in a row that all charts share.

use crate::record::Outcome;

use super::Turn;
use super::headline::time;

/// Most columns; with more iterations each column stands for several.
const COLUMNS: usize = 400;
/// Fewer iterations than these do not fill the width with fat bars.
const SLIM: f64 = 48.0;
/// Height of a chart in its own units.
const HEIGHT: f64 = 100.0;

/// The charts of a session, as SVG of numbers and classes of ours alone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Charts {
    pub burn_down: String,
    pub times: String,
    /// None where no agent told.
    pub tokens: Option<String>,
    pub most_open: usize,
    /// Of a column, in milliseconds.
    pub longest_ms: u64,
    pub most_tokens: u64,
    /// Iterations in a column.
    pub step: usize,
    pub columns: usize,
}

#[derive(Debug, Default, Clone, Copy)]
struct Column {
    success: u64,
    failure: u64,
    other: u64,
    is_skip: bool,
    open: usize,
    tokens: u64,
}

pub fn of(turns: &[Turn], open_before: usize) -> Charts {
    let step = turns.len().div_ceil(COLUMNS).max(1);
    let columns: Vec<Column> = turns.chunks(step).map(column).collect();
    let most_open = columns.iter().map(|column| column.open).chain([open_before]).max().unwrap_or(0);
    let longest_ms =
        columns.iter().flat_map(|it| [it.success, it.failure.saturating_add(it.other)]).max().unwrap_or(0);
    let most_tokens = columns.iter().map(|column| column.tokens).max().unwrap_or(0);
    Charts {
        burn_down: svg(columns.len(), &burn_down(&columns, open_before, most_open)),
        times: svg(columns.len(), &times(&columns)),
        tokens: (most_tokens > 0).then(|| {
            let heights = columns.iter().map(|column| (column.tokens, HEIGHT));
            svg(columns.len(), &path("tok", columns.len(), heights, most_tokens, -HEIGHT))
        }),
        most_open,
        longest_ms,
        most_tokens,
        step,
        columns: columns.len(),
    }
}

fn column(turns: &[Turn]) -> Column {
    let mut column = Column::default();
    for turn in turns {
        let time = time(turn).max(1);
        match turn.record.outcome {
            Outcome::Success => column.success = column.success.saturating_add(time),
            Outcome::Failure => column.failure = column.failure.saturating_add(time),
            Outcome::Interrupted | Outcome::Later(_) => column.other = column.other.saturating_add(time),
            Outcome::Skipped => column.is_skip = true,
        }
        column.open = turn.record.tasks_open;
        column.tokens = column.tokens.saturating_add(turn.record.tokens.total().unwrap_or(0));
    }
    column
}

/// Stretched to the width that there is; nothing in it is text.
fn svg(columns: usize, inner: &str) -> String {
    let width = columns.max(1);
    format!(
        "<svg viewBox=\"0 0 {width} 100\" preserveAspectRatio=\"none\" aria-hidden=\"true\" focusable=\"false\">{inner}</svg>"
    )
}

/// Open tasks as steps, with the area below them.
fn burn_down(columns: &[Column], before: usize, most: usize) -> String {
    let height = |open: usize| number(HEIGHT - 4.0 - share(open as u64, most as u64) * (HEIGHT - 8.0));
    let mut line = format!("M0 {}", height(before));
    for (place, column) in columns.iter().enumerate() {
        // A task is closed at the end of its iteration, in the middle of its column.
        line.push_str(&format!("H{}V{}", number(float(place) + 0.5), height(column.open)));
    }
    line.push_str(&format!("H{}", columns.len().max(1)));
    format!(
        "<path class=\"area\" d=\"{line}V100H0Z\"/><path class=\"line\" vector-effect=\"non-scaling-stroke\" d=\"{line}\"/>"
    )
}

/// What closed a task stands above the line, what did not hangs below it, in one scale.
fn times(columns: &[Column]) -> String {
    let above = columns.iter().map(|column| column.success).max().unwrap_or(0);
    let below = columns.iter().map(|column| column.failure.saturating_add(column.other)).max().unwrap_or(0);
    let most = above.saturating_add(below);
    let line = (share(above, most) * HEIGHT).clamp(6.0, HEIGHT - 8.0);
    let count = columns.len();
    let up = path(
        "ok",
        count,
        columns.iter().map(|it| (it.success, line)),
        most,
        -line / share(above, most).max(0.01),
    );
    let room = (HEIGHT - line) / share(below, most).max(0.01);
    let down = path("bad", count, columns.iter().map(|it| (it.failure, line)), most, room);
    let foot = |it: &Column| (it.other, line + share(it.failure, most) * room);
    let other = path("cut", count, columns.iter().map(foot), most, room);
    let skips: String = columns
        .iter()
        .enumerate()
        .filter(|(_, column)| column.is_skip)
        .map(|(place, _)| {
            let (left, wide) = bar(place, count);
            format!("M{} {}h{}v8h-{}z", number(left), number(line), number(wide), number(wide))
        })
        .collect();
    let line = number(line);
    format!(
        "<path class=\"axis\" vector-effect=\"non-scaling-stroke\" d=\"M0 {line}H{count}\"/>{up}{down}{other}<path \
         class=\"skip\" d=\"{skips}\"/>"
    )
}

/// Bars from where they stand, as one path: a value of `most` is as tall as `room`, and hangs where that is above zero.
fn path(class: &str, count: usize, bars: impl Iterator<Item = (u64, f64)>, most: u64, room: f64) -> String {
    let mut drawn = String::new();
    for (place, (value, foot)) in bars.enumerate().filter(|(_, (value, _))| *value > 0) {
        let (left, wide) = bar(place, count);
        // Whatever there was can be seen.
        let tall = (share(value, most) * room.abs()).max(1.5).copysign(room);
        drawn.push_str(&format!(
            "M{} {}h{}v{}h-{}z",
            number(left),
            number(foot),
            number(wide),
            number(tall),
            number(wide)
        ));
    }
    format!("<path class=\"{class}\" d=\"{drawn}\"/>")
}

/// Where a bar begins and how wide it is.
fn bar(place: usize, count: usize) -> (f64, f64) {
    let wide = (float(count) / SLIM).clamp(0.22, 0.78);
    (float(place) + (1.0 - wide) / 2.0, wide)
}

fn share(part: u64, all: u64) -> f64 {
    if all == 0 {
        return 0.0;
    }
    #[expect(clippy::cast_precision_loss, reason = "a height in a small picture")]
    let share = part as f64 / all as f64;
    share.min(1.0)
}

fn float(count: usize) -> f64 {
    f64::from(u32::try_from(count).unwrap_or(u32::MAX))
}

/// With two digits behind the point, and without those that say nothing.
fn number(value: f64) -> String {
    let text = format!("{value:.2}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn column(success: u64, failure: u64, open: usize) -> Column {
        Column { success, failure, open, ..Column::default() }
    }

    #[test]
    fn open_tasks_go_down_in_the_middle_of_a_column() {
        let drawn = burn_down(&[column(1, 0, 1), column(1, 0, 0)], 2, 2);
        assert!(drawn.contains("d=\"M0 4H0.5V50H1.5V96H2\""), "{drawn}");
        assert!(burn_down(&[], 0, 0).contains("d=\"M0 96H1\""));
    }

    #[test]
    fn what_closed_a_task_stands_and_what_did_not_hangs_in_one_scale() {
        let drawn = times(&[column(30, 0, 0), column(0, 10, 0)]);
        assert!(
            drawn.contains("class=\"axis\" vector-effect=\"non-scaling-stroke\" d=\"M0 75H2\""),
            "{drawn}"
        );
        assert!(drawn.contains("class=\"ok\" d=\"M0.39 75h0.22v-75h-0.22z\""), "{drawn}");
        assert!(drawn.contains("class=\"bad\" d=\"M1.39 75h0.22v25h-0.22z\""), "{drawn}");
    }

    #[test]
    fn nothing_that_happened_is_invisible_and_nothing_is_no_number() {
        let drawn = times(&[column(u64::MAX, 0, 0), column(1, 1, 0), column(0, u64::MAX, 0)]);
        assert!(!drawn.contains("NaN") && !drawn.contains("inf"), "{drawn}");
        assert!(drawn.contains("v-1.5h") && drawn.contains("v1.5h"), "{drawn}");
        assert!(!times(&[column(0, 0, 0)]).contains("NaN"));
    }
}

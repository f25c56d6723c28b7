//! The attempts of a session side by side, each as wide as the time that it took. Shape says how it ended (full, low, full
//! with a notch, a frame), and colour repeats it; what is waited for is short and named.

use minijinja::{Value, context};

use crate::local_time::clock;
use crate::style::{brief_duration, duration};
use crate::time_line::{Fate, cells, is_gap};
use ralph_core::record::{FailureClass, Outcome, Timestamp};

use super::attempts::fate_of;
use super::headline::time;
use super::{Report, ReportIteration};

/// With more attempts, a cell is of several.
const MAX_CELLS: usize = 150;
/// In pixels.
const WIDTH: f64 = 1072.0;
const GAP_WIDTH: f64 = 96.0;
const BETWEEN: f64 = 2.0;
const MIN_WIDTH: f64 = 3.0;
const MAX_WIDTH: f64 = 120.0;
const LABEL_WIDTH: f64 = 48.0;
/// What a loop is in when none is at work; the time at work does not have it.
pub(super) const BREAKS: [&str; 2] = ["down", "stopped"];
/// More gaps have no room.
const MAX_GAPS: usize = 4;

/// Returns all times without an attempt that are worth a word: the iteration in front of each, why, short and at length, and how
/// many milliseconds it took.
pub(super) fn gaps(report: &Report) -> Vec<(u32, [&'static str; 2], u64)> {
    report
        .iterations
        .windows(2)
        .enumerate()
        .filter_map(|(place, pair)| {
            let [before, next] = [&pair[0].record, &pair[1].record];
            let ms = before.ended_at.ms_until(next.started_at);
            let names = match (before.outcome, before.failure_class) {
                (Outcome::Interrupted, Some(FailureClass::Network)) => ["offline", "without network"],
                (Outcome::Interrupted, Some(_)) => ["limit", "at the usage limit"],
                (Outcome::Interrupted, None) if before.exit.agent.is_none() => ["down", BREAKS[0]],
                _ => ["stopped", BREAKS[1]],
            };
            // Beside it, another lane may have been at work.
            let mut later = report.iterations[place + 1..].iter();
            let is_idle =
                is_gap(Some(before.outcome), ms) && later.all(|one| one.record.started_at >= next.started_at);
            is_idle.then_some((before.iteration, names, ms))
        })
        .collect()
}

/// Returns the picture as the template wants it, or `None` if there is no attempt.
pub(super) fn strip(report: &Report) -> Option<Value> {
    let mut drawn = gaps(report);
    drawn.sort_by_key(|(.., ms)| std::cmp::Reverse(*ms));
    drawn.truncate(MAX_GAPS);
    let attempts: Vec<(&ReportIteration, Fate)> = report
        .iterations
        .iter()
        .filter_map(|iteration| Some((iteration, fate_of(report, iteration)?)))
        .filter(|(_, kind)| *kind != Fate::CutShort)
        .collect();
    let chunks: Vec<&[(&ReportIteration, Fate)]> = cells(&attempts, MAX_CELLS).collect();
    let room =
        WIDTH - GAP_WIDTH * float(drawn.len() as u64) - (BETWEEN + MIN_WIDTH) * float(chunks.len() as u64);
    let scale = room.max(0.0) / chunks.iter().map(|chunk| took(chunk)).sum::<f64>().max(1.0);
    let mut picture = Picture { svg: String::new(), x: 0.0, hour: String::new(), label_end: -LABEL_WIDTH };
    let mut last = 0;
    for chunk in &chunks {
        let first = &chunk[0].0.record;
        let before = drawn.iter().find(|(after, ..)| (last..first.iteration).contains(after));
        if let Some((_, [why, _], ms)) = before.filter(|_| last > 0) {
            picture.gap(why, *ms);
        }
        last = first.iteration;
        picture.hour(first.started_at);
        // What is worst is seen.
        let kind = chunk.iter().map(|(_, kind)| *kind).max().unwrap_or(Fate::Done);
        picture.cell(kind, first.iteration, (took(chunk) * scale + MIN_WIDTH).min(MAX_WIDTH));
    }
    picture.end(report.ended_at());
    let legend = [Fate::Done, Fate::Solved, Fate::Asks, Fate::Fails].into_iter();
    let legend = legend
        .filter(|kind| attempts.iter().any(|(_, one)| one == kind))
        .map(|kind| (kind.look()[2], kind.look()[3]));
    let waiting = (!drawn.is_empty()).then_some(("wait", "waiting"));
    let label = format!("{} attempts in {}", attempts.len(), duration(report.headline.worked_ms));
    (!attempts.is_empty()).then(|| {
        context! { svg => Value::from_safe_string(picture.svg), legend => legend.chain(waiting).collect::<Vec<_>>(), label }
    })
}

/// In milliseconds.
fn took(chunk: &[(&ReportIteration, Fate)]) -> f64 {
    float(chunk.iter().map(|(one, _)| time(one)).sum())
}

struct Picture {
    svg: String,
    x: f64,
    hour: String,
    /// Where the last label ends.
    label_end: f64,
}

impl Picture {
    fn rect(&mut self, class: &str, n: u32, [x, y, width, height]: [f64; 4]) {
        self.svg.push_str(&format!(
            "<rect class=\"{class}\" data-n=\"{n}\" x=\"{x:.1}\" y=\"{y}\" width=\"{width:.1}\" height=\"{height}\"/>"
        ));
    }

    fn cell(&mut self, kind: Fate, n: u32, width: f64) {
        let (x, class) = (self.x, kind.look()[2]);
        match kind {
            Fate::Solved => self.rect(class, n, [x, 24.0, width, 12.0]),
            Fate::Asks => self.rect(class, n, [x + 1.0, 5.0, (width - 2.0).max(1.0), 30.0]),
            Fate::Done | Fate::CutShort => self.rect(class, n, [x, 4.0, width, 32.0]),
            Fate::Fails => {
                self.rect(class, n, [x, 4.0, width, 32.0]);
                let notch = (width / 2.0).min(8.0);
                self.rect("notch", n, [x + (width - notch) / 2.0, 18.0, notch, 3.0]);
            }
        }
        self.x += width + BETWEEN;
    }

    fn gap(&mut self, why: &str, ms: u64) {
        let (from, to) = (self.x + 4.0, self.x + GAP_WIDTH - 8.0);
        let middle = f64::midpoint(from, to);
        self.svg.push_str(&format!(
            "<line x1=\"{from:.1}\" x2=\"{to:.1}\" y1=\"30\" y2=\"30\"/>\
             <text x=\"{middle:.1}\" y=\"22\" text-anchor=\"middle\">{why} {}</text>",
            brief_duration(ms)
        ));
        self.x += GAP_WIDTH;
        self.hour.clear();
    }

    /// Names the time at the end, where there is room.
    fn end(&mut self, at: Timestamp) {
        if self.x > self.label_end + LABEL_WIDTH {
            let (x, time) = (self.x - BETWEEN, clock(at));
            self.svg.push_str(&format!("<text x=\"{x:.1}\" y=\"52\" text-anchor=\"end\">{time}</text>"));
        }
    }

    /// Names the time at the start, behind a gap, and at each full hour, where there is room beside that of the end.
    fn hour(&mut self, at: Timestamp) {
        let time = clock(at);
        let hour = time.get(..2).unwrap_or_default();
        if hour == self.hour || self.x < self.label_end || self.x > WIDTH - 2.0 * LABEL_WIDTH {
            return;
        }
        let words = if self.hour.is_empty() { time.clone() } else { format!("{hour}:00") };
        self.svg.push_str(&format!("<text x=\"{:.1}\" y=\"52\">{words}</text>", self.x));
        self.label_end = self.x + LABEL_WIDTH;
        hour.clone_into(&mut self.hour);
    }
}

#[expect(clippy::cast_precision_loss, reason = "a width in a small picture")]
fn float(number: u64) -> f64 {
    number as f64
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use ralph_templates::STYLE;

    use super::super::samples::{iterations, report};
    use super::*;

    /// `g 0.0 4 534.0 32` for each cell: class, place and size; and `quota 10m00 0.0` for each text with its place.
    fn drawn(report: &Report) -> Vec<String> {
        let svg = strip(report).map(|strip| strip.get_attr("svg").unwrap().to_string()).unwrap_or_default();
        let rect = regex::Regex::new("<rect class=\"(\\w+)\" data-n=\"\\d+\" x=\"([^\"]+)\" y=\"(\\d+)\" width=\"([^\"]+)\" height=\"(\\d+)\"/>|<text x=\"([^\"]+)\"[^>]*>([^<]+)").unwrap();
        let found = rect.captures_iter(&svg).map(|found| {
            let parts = found.iter().skip(1).flatten().map(|part| part.as_str());
            parts.collect::<Vec<_>>().join(" ")
        });
        found.collect()
    }

    #[test]
    fn shapes_say_how_it_ended_and_a_wait_takes_little_room() {
        let mut iterations = iterations("T1-a T1+ T2-b");
        let second = iterations[1].record.ended_at;
        iterations[2].record.started_at = Timestamp::from_seconds(second.seconds() + 8 * 3600);
        let found = drawn(&report(iterations, ""));
        let classes = |shapes: &[String]| {
            shapes
                .iter()
                .map(|shape| shape.split(' ').next().unwrap().to_owned())
                .filter(|class| class.len() < 6 && !class.contains('.'))
                .collect::<Vec<_>>()
                .join(" ")
        };
        assert_eq!(classes(&found), "r g x notch", "{found:?}");
        let [low, full] = [&found[1], &found[2]];
        assert!(low.ends_with(" 12") && low.contains(" 24 ") && full.ends_with(" 32"), "{found:?}");
        let gap = found.iter().find(|shape| shape.ends_with("stopped 8h00")).expect("a gap");
        let after: f64 = found
            .iter()
            .find(|shape| shape.starts_with("x "))
            .unwrap()
            .split(' ')
            .nth(1)
            .unwrap()
            .parse()
            .unwrap();
        let middle: f64 = gap.split(' ').next().unwrap().parse().unwrap();
        assert!(after - middle < GAP_WIDTH, "{found:?}");
    }

    #[test]
    fn the_end_has_its_time() {
        let report = report(iterations("T1+ T2+ T3+"), "");
        let found = drawn(&report);
        assert!(found[found.len() - 1].ends_with(&clock(report.ended_at())), "{found:?}");
        let texts = |shapes: &[String]| shapes.iter().filter(|shape| shape.contains(':')).count();
        assert_eq!(texts(&found), 2, "{found:?}");
    }

    #[test]
    fn of_many_attempts_a_cell_has_several_and_all_fit() {
        assert!(strip(&report(Vec::new(), "")).is_none());
        let many: Vec<&str> = (0..1000).map(|at| if at % 7 == 0 { "T1-" } else { "T1+" }).collect();
        let cells = drawn(&report(iterations(&many.join(" ")), ""));
        let rects: Vec<&String> = cells.iter().filter(|cell| cell.starts_with(['g', 'r', 'x'])).collect();
        assert!(rects.len() <= MAX_CELLS, "{}", rects.len());
        let last: Vec<f64> =
            rects[rects.len() - 1].split(' ').skip(1).map(|number| number.parse().unwrap()).collect();
        assert!(last[0] + last[2] <= WIDTH + 1.0, "{last:?}");
    }

    /// The colours of the style by their names, light and dark.
    fn colors() -> HashMap<&'static str, [[f64; 3]; 2]> {
        let rule = regex::Regex::new("--([a-z-]+):light-dark\\(#([0-9a-f]{6}),#([0-9a-f]{6})\\)").unwrap();
        let color = |hex: &str| {
            [0, 2, 4].map(|at| f64::from(u8::from_str_radix(&hex[at..at + 2], 16).unwrap()) / 255.0)
        };
        let found = rule.captures_iter(STYLE).map(|found| {
            let (_, [name, light, dark]) = found.extract();
            (name, [color(light), color(dark)])
        });
        found.collect()
    }

    fn linear(color: [f64; 3]) -> [f64; 3] {
        color.map(|part| if part <= 0.040_45 { part / 12.92 } else { ((part + 0.055) / 1.055).powf(2.4) })
    }

    /// As seen without the cones for green (Machado, Oliveira and Fernandes, 2009, severity 1), in linear light.
    fn deuteranopia([red, green, blue]: [f64; 3]) -> [f64; 3] {
        [
            [0.367_322, 0.860_646, -0.227_968],
            [0.280_085, 0.672_501, 0.047_413],
            [-0.011_820, 0.042_940, 0.968_881],
        ]
        .map(|[r, g, b]| (r * red + g * green + b * blue).clamp(0.0, 1.0))
    }

    fn contrast(one: [f64; 3], other: [f64; 3]) -> f64 {
        let luminance = |[red, green, blue]: [f64; 3]| 0.2126 * red + 0.7152 * green + 0.0722 * blue + 0.05;
        let (one, other) = (luminance(one), luminance(other));
        one.max(other) / one.min(other)
    }

    #[test]
    fn what_fails_stands_out_for_every_eye_in_light_and_dark() {
        let colors = colors();
        for (one, other, least) in [
            ("cell-bad", "cell-ok", 3.0),
            ("cell-bad", "cell-re", 3.0),
            ("cell-bad", "paper", 4.5),
            ("ask", "paper", 4.5),
            ("ask", "cell-ok", 3.0),
            ("soft", "paper", 4.5),
            ("bad", "bad-wash", 4.5),
            ("act", "paper", 4.5),
        ] {
            for theme in [0, 1] {
                let [one_color, other_color] = [one, other].map(|name| linear(colors[name][theme]));
                let seen = [
                    contrast(one_color, other_color),
                    contrast(deuteranopia(one_color), deuteranopia(other_color)),
                ];
                assert!(
                    seen.iter().all(|contrast| *contrast >= least),
                    "{one} on {other}, {theme}: {seen:?}"
                );
            }
        }
    }
}

//! The picture: a session as one SVG for a README or a chat, without script and without anything to load.

use anyhow::{Context, Result};
use minijinja::value::Serde;
use minijinja::{Value, context};
use serde::Serialize;

use crate::record::NotDone;
use crate::view::style::{Count, cut};

use super::Report;
use super::environment::{Medium, environment};
use super::first_screen::figures;
use super::harmless::one_line;
use super::page_parts::chips;
use super::strip::strip;

const PICTURE: &str = include_str!("../../../templates/report.svg");

/// What every picture of ours has near its begin, and no file of anybody else's.
pub const SVG_GENERATOR: &str = "<metadata>specify-ralph ";

/// Maximum number of tasks that are listed; the rest are counted.
const MAX_TASKS: usize = 5;
/// Maximum widths of texts, in columns: what fits at the size of the letters.
const MAX_VERDICT_COLUMNS: usize = 72;
const MAX_FIGURES_COLUMNS: usize = 104;
const MAX_TASK_COLUMNS: usize = 92;
const MAX_CAUSE_COLUMNS: usize = 98;
const MAX_ID_COLUMNS: usize = 70;

/// Heights, in pixels.
const HEIGHT_WITHOUT_TASKS: usize = 210;
const TASKS_TOP: usize = 186;
const TASK_HEIGHT: usize = 44;
const LINE_HEIGHT: usize = 24;

#[derive(Serialize)]
struct FailedTask {
    y: usize,
    name: String,
    title: String,
    cause: String,
}

/// Returns the picture as XML.
pub fn picture(report: &Report) -> Result<String> {
    let not_done = &report.not_done;
    let tasks: Vec<FailedTask> = not_done.iter().take(MAX_TASKS).enumerate().map(failed_task).collect();
    let left_out = not_done.len().saturating_sub(MAX_TASKS);
    let more = (left_out > 0).then(|| format!("and {} not done", Count(left_out as u64, "more task")));
    let lines = usize::from(more.is_some()) * LINE_HEIGHT;
    let figures: Vec<String> = figures(report)
        .into_iter()
        .map(|(_, value, more)| if more.is_empty() { value } else { format!("{value} {more}") })
        .collect();
    let figures = text(&figures.join(" · "), MAX_FIGURES_COLUMNS);
    let verdict = text(&report.headline.verdict, MAX_VERDICT_COLUMNS);
    let strip = strip(report);
    let values = context! {
        version => report.tool_version,
        level => <&str>::from(report.headline.level),
        height => HEIGHT_WITHOUT_TASKS + tasks.len() * TASK_HEIGHT + lines,
        verdict,
        figures,
        strip => Value::from(Serde(&strip)),
        chips => Value::from(Serde(chips(report))),
        more,
        more_y => TASKS_TOP + tasks.len() * TASK_HEIGHT,
        tasks => Value::from(Serde(&tasks)),
        id => text(&format!("{} · {}", report.session.id, report.session.feature), MAX_ID_COLUMNS),
    };
    environment(Medium::File).render_str(PICTURE, values).context("write the picture")
}

fn failed_task((place, task): (usize, &NotDone)) -> FailedTask {
    let name = text(&task.task, MAX_TASK_COLUMNS / 3);
    FailedTask {
        y: TASKS_TOP + place * TASK_HEIGHT,
        title: text(&task.title, MAX_TASK_COLUMNS.saturating_sub(name.chars().count())),
        name,
        cause: text(task.cause.as_deref().unwrap_or("no cause is recorded"), MAX_CAUSE_COLUMNS),
    }
}

/// On one line of at most that many columns, and without the two characters that HTML may hold and XML may not.
fn text(text: &str, columns: usize) -> String {
    let line = one_line(text).replace('\u{fffe}', "⟨U+FFFE⟩").replace('\u{ffff}', "⟨U+FFFF⟩");
    cut(&line, columns)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use quick_xml::events::Event;
    use quick_xml::{Reader, XmlVersion};

    use super::super::samples::{iterations, report};
    use super::*;
    use crate::record::Timestamp;

    /// The names of all elements and their texts; fails if it is not well-formed.
    fn parsed(svg: &str) -> (Vec<String>, Vec<String>) {
        let is_xml = |c: char| matches!(c, '\t' | '\n' | '\r' | ' '..='\u{fffd}' | '\u{10000}'..);
        assert!(svg.chars().all(is_xml), "a character that XML forbids in {svg}");
        let mut reader = Reader::from_str(svg);
        reader.config_mut().check_comments = true;
        let (mut names, mut texts, mut depth) = (Vec::new(), Vec::new(), 0);
        loop {
            match reader.read_event().unwrap() {
                Event::Start(element) => {
                    names.push(name(&element));
                    depth += 1;
                }
                Event::Empty(element) => names.push(name(&element)),
                Event::End(_) => depth -= 1,
                Event::Text(text) => texts.push(text.to_string()),
                Event::GeneralRef(entity) => texts.push(format!("&{};", &*entity)),
                Event::Eof => break,
                other @ (Event::CData(_)
                | Event::Comment(_)
                | Event::Decl(_)
                | Event::PI(_)
                | Event::DocType(_)) => panic!("{other:?}"),
            }
        }
        assert_eq!(depth, 0);
        (names, texts)
    }

    fn name(element: &quick_xml::events::BytesStart<'_>) -> String {
        for attribute in element.attributes() {
            let attribute = attribute.unwrap();
            let key = attribute.key.as_ref().to_owned();
            assert!(!key.starts_with("on") && !key.contains("href"), "{key}");
            attribute.normalized_value(XmlVersion::Implicit1_0).unwrap();
        }
        element.name().as_ref().to_owned()
    }

    #[test]
    fn the_picture_has_the_headline_the_figures_the_strip_and_the_tasks_that_failed() {
        let mut iterations = iterations("T1-a T1+ T2-b T2? T2!");
        iterations[1].record.started_at =
            Timestamp::from_seconds(iterations[0].record.ended_at.seconds() + 600);
        let report = report(iterations, "");
        let svg = picture(&report).unwrap();
        let (names, texts) = parsed(&svg);
        let texts = texts.concat();
        assert_eq!((names[0].as_str(), names[1].as_str(), names[2].as_str()), ("svg", "title", "desc"));
        for part in [&*report.headline.verdict, "3 attempts", "2 failed", "1 interrupted", "Make T2", "T2"] {
            assert!(texts.contains(part), "no `{part}` in {texts}");
        }
        for part in ["class=\"failure\"", "class=\"success\"", "class=\"pause\"", "prefers-color-scheme:dark"]
        {
            assert!(svg.contains(part), "no `{part}` in {svg}");
        }
        // Renderers without variables, as librsvg, would draw all of it black.
        assert!(!svg.contains("var("), "{svg}");
        assert!(texts.contains(" · hatched: waited or interrupted"), "{texts}");
        // The pause and the iteration that was cut short.
        assert_eq!(svg.matches("<rect class=\"hatched\"").count(), 2, "{svg}");
        assert!(svg[..1000].contains(SVG_GENERATOR));
    }

    #[test]
    fn of_many_tasks_five_are_listed_and_without_iterations_there_is_no_strip() {
        let words: Vec<String> = (1..=8).map(|number| format!("T{number}-a")).collect();
        let svg = picture(&report(iterations(&words.join(" ")), "")).unwrap();
        assert_eq!(svg.matches("class=\"cause\"").count(), MAX_TASKS);
        assert!(!svg.contains("hatched:"), "{svg}");
        assert!(svg.contains("and 3 more tasks not done"), "{svg}");
        let empty = picture(&report(Vec::new(), "")).unwrap();
        let (names, _) = parsed(&empty);
        assert!(!names.contains(&"pattern".to_owned()) && !empty.contains("class=\"cause\""));
    }

    #[test]
    fn no_line_touches_another_or_the_edge() {
        for tasks in 0..=7 {
            let words: Vec<String> = (1..=tasks).map(|number| format!("T{number}-a")).collect();
            let svg = picture(&report(iterations(&words.join(" ")), "")).unwrap();
            let number = |part: &str| part.split('"').next().unwrap().parse::<usize>().unwrap();
            let texts = svg.split("<text ").skip(1).map(|text| number(text.split_once(" y=\"").unwrap().1));
            let height = number(svg.split_once("height=\"").unwrap().1);
            let lines: Vec<usize> = texts.chain([height]).collect();
            assert!(lines.windows(2).all(|pair| pair[1] >= pair[0] + 18), "{tasks} tasks: {lines:?}");
        }
    }

    #[test]
    fn hostile_texts_are_texts_and_long_ones_are_cut() {
        let mut hostile = report(iterations("T1-a T2-b"), "");
        let planted =
            "]]>\u{0}\u{1b}[31m\u{fffe}\u{ffff}\u{202e}</text><script>x</script><image href='http://x'/>&x;";
        for task in &mut hostile.not_done {
            task.task = planted.to_owned();
            task.title = "W".repeat(5000);
            task.cause = Some(planted.to_owned());
        }
        hostile.headline.verdict = format!("{planted}{}", "日".repeat(3000));
        let svg = picture(&hostile).unwrap();
        let (names, texts) = parsed(&svg);
        let known = [
            "svg", "title", "desc", "metadata", "style", "defs", "pattern", "path", "clipPath", "rect", "g",
            "text", "tspan",
        ];
        assert!(names.iter().all(|name| known.contains(&name.as_str())), "{names:?}");
        assert!(!svg.contains(['\u{0}', '\u{1b}', '\u{202e}', '\u{fffe}', '\u{ffff}']));
        assert_eq!(svg.matches("http").count(), svg.matches("&lt;image href=&#39;http").count() + 1, "{svg}");
        assert!(texts.concat().contains('…') && svg.len() < 8000, "{}", svg.len());
    }

    proptest! {
        #[test]
        fn no_text_at_all_breaks_the_picture(planted in "(?s).{0,80}") {
            let mut report = report(iterations("T1-a"), "");
            report.headline.verdict.clone_from(&planted);
            report.not_done[0].title.clone_from(&planted);
            report.not_done[0].cause = Some(planted);
            parsed(&picture(&report).unwrap());
        }
    }
}

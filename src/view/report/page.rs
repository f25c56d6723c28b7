//! The page: one file that loads nothing, in which whatever comes from outside is text.

use anyhow::{Context, Result};
use base64::prelude::{BASE64_STANDARD, Engine};
use minijinja::value::Serde;
use minijinja::{Environment, UndefinedBehavior, Value, context};
use sha2::{Digest, Sha256};

use crate::history::clusters::folded;
use crate::record::{RALPH_ELSEWHERE, Status, Timestamp};

use super::Report;
use super::fit::{self, Omissions};
use super::harmless::escape;
use super::page_parts::{
    attention, charts, chips, cluster_views, facts, figures, footer, notes, phases, picks, settings,
};
use super::turn_view::{self, Most, Size};
use super::units::moment;

const PAGE: &str = include_str!("../../../templates/report.html");
const ITERATION: &str = include_str!("../../../templates/report-iteration.html");
const STYLE: &str = include_str!("../../../templates/report.css");
const SCRIPT: &str = include_str!("../../../templates/report.js");

/// What every page of ours has near its begin, and no file of anybody else's.
pub const GENERATOR: &str = "<meta name=\"generator\" content=\"specify-ralph ";

/// With more iterations than these, only those that are on the screen are laid out.
const MANY: usize = 150;
/// How often a page that came out too big is made again.
const ATTEMPTS: usize = 8;

/// How big a page may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of all of it.
    pub max_size: usize,
    /// Bytes of one text of an iteration.
    pub max_part: usize,
}

/// The whole page.
pub fn page(report: &Report, limits: Limits) -> Result<String> {
    let pages = Pages::new()?;
    let frame = pages.frame(report, Omissions::default(), String::new())?.len();
    // What the note on what was left out takes.
    let room = limits.max_size.saturating_sub(frame + 1000);
    let bare = |turn| pages.iteration(turn, Most { text: 0 }).map(|html| html.len());
    let frames: Vec<usize> = report.iterations.iter().map(bare).collect::<Result<_>>()?;
    let mut left = Omissions::default();
    let mut taken: usize = frames.iter().sum();
    // Where the lines alone are too many, the oldest iterations go.
    while taken > room - room / 10 && left.iterations < frames.len() {
        taken -= frames[left.iterations];
        left.iterations += 1;
    }
    let turns = &report.iterations[left.iterations..];
    let sizes: Vec<Size> = turns.iter().flat_map(turn_view::sizes).collect();
    let wanted = sizes.iter().map(|size| size.bytes.min(limits.max_part)).collect();
    let mut most = fit::level(wanted, room.saturating_sub(taken)).min(limits.max_part);
    for _ in 0..ATTEMPTS {
        let mut iterations = String::new();
        for turn in turns {
            iterations.push_str(&pages.iteration(turn, Most { text: most })?);
        }
        left.cut = sizes.iter().filter(|size| size.is_cut || size.bytes > most).count();
        left.cut_at = most;
        left.is_for_size = most < limits.max_part;
        let page = pages.frame(report, left, iterations)?;
        if page.len() <= limits.max_size || most == 0 {
            return Ok(page);
        }
        // Markup came on top, as in long lists of short lines.
        most = if most < 64 { 0 } else { most * 3 / 4 };
    }
    let bare: Result<String> = turns.iter().map(|turn| pages.iteration(turn, Most { text: 0 })).collect();
    pages.frame(report, left, bare?)
}

struct Pages {
    environment: Environment<'static>,
}

impl Pages {
    fn new() -> Result<Self> {
        let mut environment = Environment::new();
        environment.set_undefined_behavior(UndefinedBehavior::Strict);
        // The one gate: whatever is not markup of ours is made harmless on its way into the page.
        environment.set_formatter(|out, _, value| {
            if value.is_none() || value.is_undefined() {
                return Ok(());
            }
            let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
            let written = if value.is_safe() { out.write_str(&text) } else { out.write_str(&escape(&text)) };
            Ok(written?)
        });
        environment.add_global("ralph", RALPH_ELSEWHERE.as_str());
        environment.add_template("page", PAGE).context("read the template of the page")?;
        environment.add_template("iteration", ITERATION).context("read the template of an iteration")?;
        Ok(Self { environment })
    }

    fn iteration(&self, turn: &super::Turn, most: Most) -> Result<String> {
        let view = turn_view::of(turn, most);
        let template = self.environment.get_template("iteration").context("find the template")?;
        template.render(Value::from(Serde(&view))).context("write an iteration of the page")
    }

    fn frame(&self, report: &Report, left: Omissions, iterations: String) -> Result<String> {
        let style = STYLE.trim();
        let script = SCRIPT.trim();
        let session = &report.session;
        let ended = session.ended_at;
        let numbers: Vec<u32> = report.iterations.iter().map(|turn| turn.record.iteration).collect();
        let (phases, phases_left_out) = phases(&report.tasks);
        let causes = folded(&report.clusters);
        let (clusters, clusters_left_out) = cluster_views(&causes);
        let values = context! {
            classes => classes(report),
            version => report.tool_version,
            style_hash => hash(style),
            script_hash => hash(script),
            style => Value::from_safe_string(style.to_owned()),
            script => Value::from_safe_string(script.to_owned()),
            feature => session.feature.as_str(),
            session => session.id.as_str(),
            verdict => report.headline.verdict.as_str(),
            level => report.headline.level.as_str(),
            course => report.headline.course.as_str(),
            started_at => session.started_at.to_string(),
            started => moment(session.started_at),
            ended_at => ended.map(|at| at.to_string()),
            ended => ended.map(|at| ended_at(session.started_at, at)),
            made_while => session.status == Status::Running,
            made => moment(report.made_at),
            figures => Value::from(Serde(figures(report))),
            notes => Value::from(Serde(notes(report, left))),
            attention => Value::from(Serde(attention(report))),
            charts => Value::from(Serde((!numbers.is_empty()).then(|| charts(report)))),
            phases => Value::from(Serde(phases)),
            phases_left_out => phases_left_out,
            clusters => Value::from(Serde(clusters)),
            clusters_left_out => clusters_left_out,
            has_iterations => !numbers.is_empty(),
            chips => Value::from(Serde(chips(report))),
            picks => Value::from(Serde(picks(report))),
            iterations => Value::from_safe_string(iterations),
            facts => Value::from(Serde(facts(report))),
            settings => Value::from(Serde(settings(report))),
            footer => footer(left),
        };
        let template = self.environment.get_template("page").context("find the template")?;
        template.render(values).context("write the page")
    }
}

/// What the style must know.
fn classes(report: &Report) -> String {
    let is_bare = report.totals.tokens.is_unknown();
    let is_long = report.iterations.len() > MANY;
    [(is_bare, "bare"), (is_long, "many")]
        .into_iter()
        .filter(|(is, _)| *is)
        .map(|(_, class)| class)
        .collect::<Vec<_>>()
        .join(" ")
}

/// As a policy names the only script and the only style that are ours.
fn hash(text: &str) -> String {
    format!("sha256-{}", BASE64_STANDARD.encode(Sha256::digest(text.as_bytes())))
}

/// The time alone where the day is the same.
fn ended_at(started: Timestamp, ended: Timestamp) -> String {
    let (from, to) = (moment(started), moment(ended));
    match to.split_once(' ') {
        Some((day, time)) if from.starts_with(day) => time.to_owned(),
        _ => to,
    }
}

#[cfg(test)]
mod tests {
    use super::super::samples::{report, turns};
    use super::super::{Diff, Text};
    use super::*;
    use crate::record::{Claim, ToolCall, ToolKind};

    /// Everything that may hold what somebody else wrote.
    fn hostile() -> Report {
        const BAD: &str = "\"'><script>x()</script></pre></textarea><a href=\"javascript:x()\" onclick=x()>\u{202e}\u{1b}[2J";
        let mut turns = turns("T1-a T2+ T3! T4?");
        for turn in &mut turns {
            let record = &mut turn.record;
            for text in [
                &mut record.task,
                &mut record.task_text,
                &mut record.model,
                &mut record.error,
                &mut record.phase,
            ] {
                *text = Some(BAD.to_owned());
            }
            for list in
                [&mut record.learnings, &mut record.decisions, &mut record.approaches, &mut record.hints]
            {
                list.push(BAD.to_owned());
            }
            BAD.clone_into(&mut record.agent);
            BAD.clone_into(&mut record.facts.excerpt);
            record.files_changed = vec![BAD.to_owned()];
            record.claims.ticked = vec![BAD.to_owned()];
            record.false_claim = vec![Claim::Ticked, Claim::Promise];
            record.validation_command = Some(BAD.to_owned());
            let words = || BAD.to_owned();
            record.tool_calls.push(ToolCall {
                tool_name: words(),
                kind: ToolKind::Other,
                arguments_summary: words(),
                result_summary: words(),
                is_error: true,
                exit_code: None,
                last_line: words(),
            });
            turn.prompt = Some(Text::whole(words()));
            turn.answer = Some(Text::whole(format!(
                "{BAD}\n\n```\n{BAD}\n```\n[a](javascript:x()) ![a](https://x.org/a)"
            )));
            turn.validation = Some(Text::whole(words()));
            turn.diff = Diff::Patch(Text::whole(format!(
                "diff --git {BAD}\n@@ -1 +1 @@ {BAD}\n+{BAD}\n-{BAD}\n {BAD}\n"
            )));
        }
        turns[3].diff = Diff::Missing(Diff::NOT_HERE);
        let mut report = report(turns, &format!("## {BAD}\n\n- [ ] T9 {BAD}\n"));
        for text in [&mut report.session.feature, &mut report.session.host, &mut report.session.agent] {
            BAD.clone_into(text);
        }
        report.session.branch = Some(BAD.to_owned());
        report.session.configuration = serde_json::json!({BAD: BAD, "list": [BAD]});
        report.session.hints.push(BAD.to_owned());
        report.unreadable.push(BAD.to_owned());
        report
    }

    #[test]
    fn whatever_is_hostile_is_text_on_the_page() {
        let page = page(&hostile(), Limits { max_size: 5_000_000, max_part: 64 << 10 }).unwrap();
        assert_eq!(page.matches("<script").count(), 1);
        assert!(!page.contains("<a href=\"javascript") && !page.contains("onclick=x()>"), "{page}");
        assert!(!page.contains("<img") && !page.contains("<textarea") && !page.contains("</textarea"));
        assert!(!page.contains(['\u{202e}', '\u{1b}']));
        for name in [
            "details", "pre", "section", "table", "ol", "ul", "div", "span", "p", "b", "code", "bdi", "dl",
            "form",
        ] {
            let opened =
                page.matches(&format!("<{name}>")).count() + page.matches(&format!("<{name} ")).count();
            assert_eq!(opened, page.matches(&format!("</{name}>")).count(), "{name}");
        }
    }

    #[test]
    fn a_page_keeps_to_its_size_whatever_is_in_it() {
        let words: Vec<String> = (0..300).map(|number| format!("T{}-a", number % 10)).collect();
        let mut many = turns(&words.join(" "));
        for turn in &mut many {
            turn.prompt = Some(Text::whole("- <&>\n".repeat(2000)));
            turn.answer = Some(Text::whole("- *a*\n".repeat(2000)));
        }
        let report = report(many, "");
        for max_size in [10_000, 100_000, 300_000, 1_000_000, 3_000_000] {
            let page = page(&report, Limits { max_size, max_part: 64 << 10 }).unwrap();
            let least = if max_size < 60_000 { 60_000 } else { max_size };
            assert!(page.len() <= least, "{} for {max_size}", page.len());
            assert!(max_size < 1_000_000 || page.len() > max_size / 2, "{} for {max_size}", page.len());
        }
    }

    #[test]
    fn nothing_at_all_has_a_page() {
        let empty =
            page(&report(Vec::new(), ""), Limits { max_size: 5_000_000, max_part: 64 << 10 }).unwrap();
        assert!(empty.contains("Nothing has been recorded yet.") && !empty.contains("id=\"charts\""));
    }

    #[test]
    fn style_and_script_end_where_their_elements_end() {
        assert!(!STYLE.contains("</") && !SCRIPT.contains("</") && !SCRIPT.contains("<!--"));
        assert!(!STYLE.contains("url(") && !STYLE.contains("@import"));
    }
}

//! The page: one file that loads nothing, in which whatever comes from outside is text.

use ralph_templates::{GROUP, ITERATION, PAGE, SCRIPT, STYLE};
use std::collections::{HashMap, HashSet};

use anyhow::{Context, Result};
use minijinja::value::Serde;
use minijinja::{Environment, Value, context};

use crate::local_time::local;
use ralph_core::history::clusters::folded;
use ralph_core::record::{Outcome, RALPH_ELSEWHERE, Status, TaskName};

use super::environment::{Medium, environment, hash};
use super::file_tree::changes;
use super::first_screen::{figures, needs};
use super::fit::{self, Omissions};
use super::iteration_view::{self, Most, NO_TASK, Size, task_text};
use super::page_parts::{chips, cluster_views, facts, footer, notes, picks, settings};
use super::strip::strip;
use super::task_rows::signs;
use super::task_table::task_table;
use super::{Report, ReportIteration};

/// What every page of ours has near its begin, and no file of anybody else's.
pub const GENERATOR: &str = "<meta name=\"generator\" content=\"specify-ralph ";

/// With more iterations than these, only those that are on the screen are laid out.
const MANY: usize = 150;
/// The part of a page that the changes of the whole session may take.
const PATCHES_PART: usize = 10;
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

impl Limits {
    /// Bytes for the changes of the whole session.
    pub fn max_patches(self) -> usize {
        self.max_size / PATCHES_PART
    }
}

/// The whole page.
pub fn page(report: &Report, limits: Limits, medium: Medium<'_>) -> Result<String> {
    let pages = Pages::new(medium, limits.max_patches())?;
    let frame = pages.frame(report, Omissions::default(), String::new())?.len();
    // What the note on what was left out takes.
    let room = limits.max_size.saturating_sub(frame + 1000);
    let bare = |iteration| pages.iteration(iteration, Most { text: 0 }, false).map(|html| html.len());
    let frames: Vec<usize> = report.iterations.iter().map(bare).collect::<Result<_>>()?;
    let mut left = Omissions::default();
    let mut taken: usize = frames.iter().sum();
    // Where the lines alone are too many, the oldest iterations go.
    while taken > room - room / 10 && left.iterations < frames.len() {
        taken -= frames[left.iterations];
        left.iterations += 1;
    }
    let iterations = &report.iterations[left.iterations..];
    let groups = groups(report, iterations);
    let sizes: Vec<Size> = iterations.iter().flat_map(iteration_view::sizes).collect();
    let wanted = sizes.iter().map(|size| size.bytes.min(limits.max_part)).collect();
    let mut most = fit::level(wanted, room.saturating_sub(taken)).min(limits.max_part);
    for _ in 0..ATTEMPTS {
        left.cut = sizes.iter().filter(|size| size.is_cut || size.bytes > most).count();
        left.cut_at = most;
        left.is_for_size = most < limits.max_part;
        let page = pages.frame(report, left, pages.iterations(&groups, Most { text: most })?)?;
        if page.len() <= limits.max_size || most == 0 {
            return Ok(page);
        }
        // Markup came on top, as in long lists of short lines.
        most = if most < 64 { 0 } else { most * 3 / 4 };
    }
    pages.frame(report, left, pages.iterations(&groups, Most { text: 0 })?)
}

/// The iterations of each task: first those of tasks that are not done, then of those that failed at some time, each in
/// the order of their first iterations.
fn groups<'a>(report: &Report, iterations: &'a [ReportIteration]) -> Vec<Vec<&'a ReportIteration>> {
    let mut groups: Vec<Vec<&ReportIteration>> = Vec::new();
    let mut places: HashMap<Option<&TaskName>, usize> = HashMap::new();
    for iteration in iterations {
        let place = *places.entry(iteration.record.task.as_ref()).or_insert_with(|| {
            groups.push(Vec::new());
            groups.len() - 1
        });
        groups[place].push(iteration);
    }
    let not_done: HashSet<&TaskName> = report.not_done.iter().map(|task| &task.task).collect();
    groups.sort_by_key(|group| {
        let is_not_done = group[0].record.task.as_ref().is_some_and(|task| not_done.contains(task));
        (!is_not_done, group.iter().all(|iteration| iteration.record.outcome != Outcome::Failure))
    });
    groups
}

struct Pages {
    environment: Environment<'static>,
    /// Bytes for the changes of the whole session.
    max_patches: usize,
}

impl Pages {
    fn new(medium: Medium<'_>, max_patches: usize) -> Result<Self> {
        let mut environment = environment(medium);
        environment.add_global("ralph", RALPH_ELSEWHERE.as_str());
        environment.add_template("page", PAGE).context("read the template of the page")?;
        environment.add_template("group", GROUP).context("read the template of a task's iterations")?;
        environment.add_template("iteration", ITERATION).context("read the template of an iteration")?;
        Ok(Self { environment, max_patches })
    }

    fn iterations(&self, groups: &[Vec<&ReportIteration>], most: Most) -> Result<String> {
        let mut html = String::new();
        for group in groups {
            let is_grouped = group.len() > 1;
            let iterations: Result<String> =
                group.iter().map(|iteration| self.iteration(iteration, most, is_grouped)).collect();
            html.push_str(&if is_grouped { self.group(group, iterations?)? } else { iterations? });
        }
        Ok(html)
    }

    fn group(&self, iterations: &[&ReportIteration], iterations_html: String) -> Result<String> {
        let outcomes: Vec<Outcome> = iterations.iter().map(|iteration| iteration.record.outcome).collect();
        let (signs, signs_in_words) = signs(&outcomes);
        let record = &iterations[0].record;
        let values = context! {
            name => record.task.as_deref().unwrap_or(NO_TASK),
            text => task_text(record),
            signs, signs_in_words,
            iterations => Value::from_safe_string(iterations_html),
        };
        let template = self.environment.get_template("group").context("find the template")?;
        template.render(values).context("write the iterations of a task")
    }

    fn iteration(&self, iteration: &ReportIteration, most: Most, is_grouped: bool) -> Result<String> {
        let view = iteration_view::of(iteration, most, is_grouped);
        let template = self.environment.get_template("iteration").context("find the template")?;
        template.render(Value::from(Serde(&view))).context("write an iteration of the page")
    }

    fn frame(&self, report: &Report, left: Omissions, iterations_html: String) -> Result<String> {
        let style = STYLE.trim();
        let script = SCRIPT.trim();
        let session = &report.session;
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
            level => <&str>::from(report.headline.level),
            made_while => session.status == Status::Running,
            made => local(report.made_at),
            figures => Value::from(Serde(figures(report))),
            strip => Value::from(Serde(strip(report))),
            notes => Value::from(Serde(notes(report, left))),
            needs => Value::from(Serde(needs(report))),
            tasks => Value::from(Serde(task_table(report))),
            changes => Value::from(Serde(changes(report, self.max_patches))),
            clusters => Value::from(Serde(clusters)),
            clusters_left_out => clusters_left_out,
            has_iterations => !report.iterations.is_empty(),
            chips => Value::from(Serde(chips(report))),
            picks => Value::from(Serde(picks(report))),
            iterations => Value::from_safe_string(iterations_html),
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
    let is_bare = report.totals.tokens.is_unknown() && report.totals.cost.usd.is_none();
    let is_long = report.iterations.len() > MANY;
    [(is_bare, "bare"), (is_long, "many")]
        .into_iter()
        .filter(|(is, _)| *is)
        .map(|(_, class)| class)
        .collect::<Vec<_>>()
        .join(" ")
}

#[cfg(test)]
mod tests {
    use super::super::samples::{iterations, report};
    use super::super::{Diff, Text};
    use super::*;
    use ralph_core::record::{Claim, ToolCall, ToolKind};

    /// Everything that may hold what somebody else wrote.
    fn hostile() -> Report {
        const BAD: &str = "\"'><script>x()</script></pre></textarea><a href=\"javascript:x()\" onclick=x()>\u{202e}\u{1b}[2J";
        let mut iterations = iterations("T1-a T2+ T3! T4?");
        for iteration in &mut iterations {
            let record = &mut iteration.record;
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
                at_ms: None,
                exit_code: None,
                last_line: words(),
            });
            iteration.prompt = Some(Text::whole(words()));
            iteration.answer = Some(Text::whole(format!(
                "{BAD}\n\n```\n{BAD}\n```\n[a](javascript:x()) ![a](https://x.org/a)"
            )));
            iteration.validation = Some(Text::whole(words()));
            iteration.diff = Diff::Patch(Text::whole(format!(
                "diff --git {BAD}\n@@ -1 +1 @@ {BAD}\n+{BAD}\n-{BAD}\n {BAD}\n"
            )));
        }
        iterations[3].diff = Diff::Missing(Diff::NOT_HERE);
        let mut report = report(iterations, &format!("## {BAD}\n\n- [ ] T9 {BAD}\n"));
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
        let page =
            page(&hostile(), Limits { max_size: 5_000_000, max_part: 64 << 10 }, Medium::File).unwrap();
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
        let mut many = iterations(&words.join(" "));
        for iteration in &mut many {
            iteration.prompt = Some(Text::whole("- <&>\n".repeat(2000)));
            iteration.answer = Some(Text::whole("- *a*\n".repeat(2000)));
        }
        let report = report(many, "");
        for max_size in [10_000, 100_000, 300_000, 1_000_000, 3_000_000] {
            let page = page(&report, Limits { max_size, max_part: 64 << 10 }, Medium::File).unwrap();
            let least = max_size.max(70_000);
            assert!(page.len() <= least, "{} for {max_size}", page.len());
            assert!(max_size < 1_000_000 || page.len() > max_size / 2, "{} for {max_size}", page.len());
        }
    }

    #[test]
    fn nothing_at_all_has_a_page() {
        let empty =
            page(&report(Vec::new(), ""), Limits { max_size: 5_000_000, max_part: 64 << 10 }, Medium::File)
                .unwrap();
        assert!(empty.contains("Nothing has been recorded yet.") && !empty.contains("id=\"strip\""));
    }

    #[test]
    fn style_and_script_end_where_their_elements_end() {
        assert!(!STYLE.contains("</") && !SCRIPT.contains("</") && !SCRIPT.contains("<!--"));
        assert!(!STYLE.contains("url(") && !STYLE.contains("@import"));
    }
}

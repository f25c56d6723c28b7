//! The page: one file that loads nothing, in which whatever comes from outside is text.

use std::collections::HashMap;

use anyhow::Result;
use base64::prelude::{BASE64_STANDARD, Engine};
use minijinja::{Value, context};
use zlib_rs::{DeflateConfig, compress_bound, compress_slice};

use crate::local_time::{local, span_of};
use crate::style::{counted, size};
use ralph_core::record::Status;

use super::attempts::{AttemptDetails, PART_FRAME, attempts, list};
use super::environment::{Medium, environment, render};
use super::size_budget::level;
use super::strip::strip;
use super::{Diff, Report, first_screen, panels};

/// What every page of ours has near its begin, and no file of anybody else's.
pub const GENERATOR: &str = "<meta name=\"generator\" content=\"specify-ralph ";

/// The part of a page that the changes of the whole session may take, and of the rest what is packed.
const PATCHES_PART: usize = 10;
const PACKED_PART: usize = 3;
/// Room for notes on what was left out, in bytes.
const NOTES: usize = 1000;
/// With more attempts, only those that are on the screen are laid out.
const MANY: usize = 150;

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

/// The whole page. What is too much is left out by size, each part measured once: of texts the longest are cut, and
/// where rows alone are too many, the oldest attempts go.
pub fn page(report: &Report, limits: Limits, medium: Medium<'_>) -> Result<String> {
    let mut environment = environment(medium)?;
    let labels = report.iterations.iter().map(|one| (one.record.iteration, one.label.clone()));
    let labels: HashMap<u32, String> = labels.collect();
    environment.add_filter("no", move |number: u32| {
        labels.get(&number).cloned().unwrap_or_else(|| number.to_string())
    });
    let values = values(report, limits);
    let bare = render(&environment, "page", values.clone())?.len();
    let mut room = limits.max_size.saturating_sub(bare + NOTES);
    let mut attempts = attempts(report, limits.max_part);
    let all = attempts.len();
    loop {
        let frames: usize = attempts.iter().map(|attempt| PART_FRAME * attempt.parts.len()).sum();
        let taken = list(report, &environment, &attempts, false)?.len() + frames;
        let most = room - room / 10;
        if taken <= most || attempts.is_empty() {
            room = room.saturating_sub(taken);
            break;
        }
        attempts.drain(..(attempts.len() * (taken - most) / taken).max(1));
    }
    let left_out = all - attempts.len();
    let mut parts: Vec<&mut AttemptDetails<'_>> =
        attempts.iter_mut().flat_map(|attempt| &mut attempt.parts).collect();
    let mut packed_most = limits.max_part;
    let packed = loop {
        let texts = parts.iter().filter(|part| part.is_packed).map(|part| part.html.as_str());
        let packed = pack(&texts.collect::<Vec<_>>());
        if packed.len() <= room / PACKED_PART || packed_most == 0 {
            break packed;
        }
        packed_most /= 4;
        parts.iter_mut().filter(|part| part.is_packed).for_each(|part| part.lay_out(packed_most));
    };
    let sizes = parts.iter().filter(|part| !part.is_packed).map(|part| part.html.len()).collect();
    let most = level(sizes, room.saturating_sub(packed.len())).min(limits.max_part);
    let mut places = 0..;
    for part in &mut parts {
        if part.is_packed {
            part.place = places.next();
            part.html.clear();
        } else if part.html.len() > most {
            part.lay_out(most);
        }
    }
    let cut = parts.iter().filter(|part| part.is_cut).count();
    let cut_at = most.min(packed_most);
    let values = context! {
        left_out => (left_out > 0).then(|| counted(left_out as u64, "attempt")),
        cut => (cut > 0).then(|| counted(cut as u64, "text")),
        cut_at => size(cut_at as u64),
        flag => if cut_at < limits.max_part { "--max-size 50MiB" } else { "--max-part 1MiB" },
        list => Value::from_safe_string(list(report, &environment, &attempts, true)?),
        packed,
        ..values
    };
    render(&environment, "page", values)
}

/// What is around the rows of attempts.
fn values(report: &Report, limits: Limits) -> Value {
    let (needs, review) = (report.needs(), first_screen::review(report));
    let states = report.states();
    let asks = needs.iter().any(|need| need.why.waits_for_hint());
    context! {
        title => first_screen::title(states, needs.len(), report.session.status == Status::Running),
        more => first_screen::more(report, &needs),
        subject => report.session.feature.rsplit('/').next(),
        when => span_of(report.session.started_at, report.ended_at()),
        made_at => local(report.made_at),
        has_script => true,
        session => report.session.id.as_str(),
        is_whole => report.is_whole,
        has_gaps => report.iterations.iter().any(|one| one.diff == Diff::Missing(Diff::NOT_HERE)),
        unreadable => report.unreadable.clone(),
        facts => first_screen::facts(report),
        now => first_screen::now(report),
        needs => first_screen::cards(report),
        answered => first_screen::answered(report),
        review => &review,
        way => first_screen::way(report),
        resume => first_screen::resume(report).filter(|_| !asks),
        done => format!("{} of {}", states.done, states.total()),
        phases => first_screen::phases(report),
        also => first_screen::also(report, !review.is_empty()),
        strip => strip(report),
        changes => panels::changes(report, limits.max_patches()),
        failures => panels::failures(report),
        attempts => report.session_totals().attempts,
        class => if report.iterations.len() > MANY { "many" } else { "" },
        about => panels::about(report),
        lists => panels::lists(report),
    }
}

/// Returns texts without NUL as the script of the page unpacks them: separated by it, as a zlib stream in Base64. They are
/// packed together, because each repeats most of the one before.
fn pack(texts: &[&str]) -> String {
    if texts.is_empty() {
        return String::new();
    }
    let text = texts.join("\0");
    let mut packed = vec![0; compress_bound(text.len())];
    let (packed, _) = compress_slice(&mut packed, text.as_bytes(), DeflateConfig::default());
    BASE64_STANDARD.encode(packed)
}

#[cfg(test)]
mod tests {
    use ralph_templates::{SCRIPT, STYLE};

    use super::super::samples::{iterations, report};
    use super::super::{LiveSession, Text};
    use super::*;
    use ralph_core::record::samples::session;
    use ralph_core::record::{
        Claim, FailureClass, FlaggedTask, Integration, IntegrationVerdict, Need, NeedKind, Outcome,
        Timestamp, ToolCall, ToolKind, Waiting, WaitingTask,
    };

    /// Everything that may hold what others wrote.
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
                end_ms: None,
                exit_code: None,
                last_line: words(),
                is_denied: false,
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
        let session = report.session.id.clone();
        for (why, task) in [(NeedKind::Asks, Some(BAD)), (NeedKind::Fails, Some("T9")), (NeedKind::Git, None)]
        {
            let (task, cause) = (task.map(str::to_owned), Some(BAD.to_owned()));
            report.summary.needs_you.push(Need {
                why,
                task,
                cause,
                session: session.clone(),
                iteration: Some(1),
            });
        }
        report.summary.waiting.push(WaitingTask { task: BAD.to_owned(), dependency: "T9".to_owned() });
        report.summary.flagged.push(FlaggedTask {
            task: BAD.to_owned(),
            session,
            iteration: Some(1),
            flags: Vec::new(),
            text: Some(BAD.to_owned()),
        });
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
    fn an_attempt_takes_at_most_three_kilobytes() {
        let words: Vec<String> = (0..200)
            .map(|number| format!("T{}{}", number / 2 % 10, if number % 4 == 0 { "-a" } else { "+" }))
            .collect();
        let mut many = iterations(&words.join(" "));
        for iteration in &mut many {
            let n = iteration.record.iteration;
            let lines = |of: fn(u32, u32) -> String| (0..40).map(|line| of(n, line)).collect::<String>();
            iteration.prompt = Some(Text::whole(format!(
                "Attempt {n}\n{}",
                "Do the task, and only the task.\n".repeat(250)
            )));
            iteration.answer =
                Some(Text::whole(format!("AttemptDetails {n} **works** now.\n\n- `src/p{n}.ts` has it\n")));
            iteration.validation =
                Some(Text::whole(lines(|n, line| format!("PASS src/suite{line}.test.ts {n}\n"))));
            let patch =
                lines(|n, line| format!("+export const value{line} = {};\n", n.wrapping_mul(2_654_435_761)));
            iteration.diff =
                Diff::Patch(Text::whole(format!("diff --git a/x b/x\n+++ b/x\n@@ -1 +1 @@\n{patch}")));
        }
        let page = page(&report(many, ""), Limits { max_size: 5_000_000, max_part: 64 << 10 }, Medium::File)
            .unwrap();
        assert_eq!(page.matches("<details class=\"a ").count(), 200);
        assert!(page.len() <= 60_000 + 200 * 3000 && !page.contains("cut at"), "{}", page.len());
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

    #[test]
    fn what_runs_has_its_limit_and_the_time_that_is_left() {
        let begin = serde_json::json!({
            "iteration": 5,
            "task": {"name": "T5", "id": "T5", "text": "Five", "phase": null, "story": null},
            "attempt": 1, "started_at": "2026-01-01T12:00:00Z", "branch": null, "head_before": null, "agent": "claude",
            "agent_version": null, "model": null, "validation_command": null, "hints": [],
        });
        let begin = Some(serde_json::from_value(begin).unwrap());
        let done = iterations("T1+ T2+ T3+ T4+");
        let list = "- [x] T1 One\n- [x] T2 Two\n- [x] T3 Three\n- [x] T4 Four\n- [ ] T5 Five\n";
        let mut report =
            Report { running: LiveSession { begin, ..LiveSession::default() }, ..report(done, list) };
        report.session = session("running", None, (4, 1));
        report.session.configuration = serde_json::json!({"timeout": "60m", "max-cost": 80.0});
        report.summary.tasks.open = 1;
        if let Some(part) = &mut report.summary.session {
            part.id = report.session.id.clone();
            (part.totals.took.agent, part.totals.cost.usd) = (Some(2_400_000), Some(12.29));
            part.totals.closed = ["T1", "T2", "T3", "T4"].map(str::to_owned).into();
        }
        let limits = Limits { max_size: 5_000_000, max_part: 64 << 10 };
        let text = page(&report, limits, Medium::File).unwrap();
        assert!(text.contains(", limit 60m · about 10 min left</span>"), "{text}");
        assert!(
            text.contains("$12.29 of $80.00") && text.contains("<i class=\"n\" title=\"T5 runs\">"),
            "{text}"
        );
        // Where nothing runs, neither is said.
        (report.session, report.running) =
            (session("completed", Some("completed"), (5, 0)), LiveSession::default());
        let text = page(&report, limits, Medium::File).unwrap();
        assert!(!text.contains("limit 60m") && !text.contains(" of $80") && !text.contains(" left</span>"));
    }

    #[test]
    fn of_several_lanes_numbers_have_the_lane_and_merges_are_rows_of_their_own() {
        let list = "- [ ] T1 One\n- [x] T2 Two\n- [ ] T3 Three\n";
        let mut report = report(iterations("T1-a T2+ T3+ T1-a"), list);
        let all = &mut report.iterations;
        for (one, (lane, number)) in all.iter_mut().zip([(1, 1), (2, 1), (2, 2), (1, 2)]) {
            one.label = format!("{lane}:{number}");
            one.id.number = number;
            one.id.session = format!("20260101-120000-0000000{lane}").parse().unwrap();
        }
        let result = all[1].id.clone();
        (all[1].record.lane, all[1].record.published) = (Some(2), None);
        let merge = &mut all[2].record;
        (merge.outcome, merge.task) = (Outcome::Integrated, None);
        merge.integration.push(Integration {
            session: result.session,
            iteration: result.number,
            task: "T2".to_owned(),
            verdict: IntegrationVerdict::Conflict,
            cause: Some("x cannot be merged".to_owned()),
            conflicts: vec!["x".to_owned()],
            hunks: "<<<<<<< ours".to_owned(),
        });
        all[2].story = all[2].record.story();
        let limits = Limits { max_size: 5_000_000, max_part: 64 << 10 };
        let text = page(&report, limits, Medium::File).unwrap();
        for part in [
            "<span class=\"no\">1:1</span>",
            "same as 1:1",
            " · sent back (conflict) in 2:2",
            "class=\"a merge old\" id=\"i3\"",
            "T2 sent back (conflict): x cannot be merged",
            "&lt;&lt;&lt;&lt;&lt;&lt;&lt; ours",
            "href=\"#i4\" aria-label=\"attempt 1:2\">1:2</a>",
        ] {
            assert!(text.contains(part), "{part}: {text}");
        }
        // Each loop that works has a line; `stop` takes any that runs.
        let lane = |lane| format!("20260101-120000-0000000{lane}").parse().unwrap();
        report.running.workers = vec![(lane(2), 2, None), (lane(3), 3, None)];
        let text = page(&report, limits, Medium::File).unwrap();
        assert!(
            text.contains("2 at once") && text.contains(" stop --session 20260101-120000-00000002"),
            "{text}"
        );
    }

    #[test]
    fn a_loop_that_waits_says_for_what_and_has_no_task() {
        let waiting = Waiting {
            agent: "claude".to_owned(),
            class: FailureClass::Quota,
            until: Timestamp::from_seconds(1_767_278_600),
            is_guessed: false,
            message: None,
        };
        let report = Report {
            running: LiveSession { waiting: Some(waiting), ..LiveSession::default() },
            ..report(iterations("T1?"), "")
        };
        let limits = Limits { max_size: 5_000_000, max_part: 64 << 10 };
        let page = page(&report, limits, Medium::File).unwrap();
        let (_, card) = page.split_once("<article class=\"card now\">").unwrap();
        let (card, _) = card.split_once("</article>").unwrap();
        assert!(card.contains("s usage limit until"), "{card}");
        assert!(
            card.contains(" stop --session 20260101-120000-00000001</code>") && !card.contains(" hint "),
            "{card}"
        );
    }

    #[test]
    fn what_is_packed_is_what_the_script_unpacks() {
        use zlib_rs::{InflateConfig, decompress_slice};

        let texts = ["<pre>one</pre>", "", "größe"];
        let bytes = BASE64_STANDARD.decode(pack(&texts)).unwrap();
        let mut text = [0; 100];
        let (text, _) = decompress_slice(&mut text, &bytes, InflateConfig::default());
        assert_eq!(std::str::from_utf8(text).unwrap(), texts.join("\0"));
        assert_eq!(pack(&[]), "");
    }
}

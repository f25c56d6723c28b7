//! The first lines of a run: where it begins, who works, what checks the work, and when it stops.

use crate::style::{Look, Paint, counted, cut, duration, listed, one_line};
use ralph_core::record::{Event, TaskCounts};

/// The type of loop that goes without saying.
pub const USUAL: &str = "implement";

/// Most tasks and most files that a line names.
const MAX_GIVEN_UP: usize = 8;
const MAX_USER_FILES: usize = 3;

/// Most hints that a line quotes.
const MAX_HINTS: usize = 3;

/// The lines for a `SessionStarted`, of at most `width` characters of words from outside each. None for any other event.
pub fn lines(event: &Event, paint: Paint, width: usize) -> Vec<String> {
    let Event::SessionStarted {
        feature,
        agent,
        max_iterations,
        loop_type,
        artifact,
        tasks,
        is_resumed,
        agent_version,
        permissions,
        sandbox,
        validation,
        baseline,
        is_known_to_pass,
        validation_files,
        validation_notes,
        scope,
        scope_tasks,
        hints,
        unit,
        given_up,
        user_files,
        user_file_names,
        api_key,
        dropped_variables,
        ..
    } = event
    else {
        return Vec::new();
    };
    let verb = if *is_resumed { "resumes" } else { "starts" };
    let so_far =
        if tasks.done + tasks.open == 0 { String::new() } else { format!(": {}", done_of_all(*tasks)) };
    let mut lines = vec![paint.paint(Look::Bold, &format!("ralph {verb} on {}{so_far}", one_line(feature)))];
    if loop_type != USUAL {
        lines.push(line("loop", &format!("{}: {}", one_line(loop_type), one_line(artifact))));
    }
    if let (Some(scope), Some(tasks)) = (scope, scope_tasks) {
        let scope = cut(&one_line(&scope.to_string()), width);
        lines.push(line("only", &format!("{scope}: {}", done_of_all(*tasks))));
    }
    let version = agent_version.as_ref().map_or(String::new(), |version| format!(" {}", one_line(version)));
    let fence = match sandbox {
        Some(facts) => format!("sandbox {}", cut(&one_line(&facts.text()), width)),
        // The agent can do all that the user can.
        None => paint.paint(Look::Warn, "no sandbox"),
    };
    let agent = one_line(agent);
    lines.push(line("agent", &format!("{agent}{version}, {permissions} permissions, {fence}")));
    if let Some(words) = api_key {
        lines.push(line("", &paint.paint(Look::Warn, &cut(&one_line(words), width))));
    }
    if !dropped_variables.is_empty() {
        // All of them: each may be what a command needs.
        let names = one_line(&dropped_variables.join(", "));
        lines.push(line("", &format!("not passed on: {names} (`sandbox.env` makes exceptions)")));
    }
    let known = match baseline {
        Some(baseline) => {
            let how = match baseline.passed() {
                _ if baseline.no_tests => "no tests yet",
                true => "passes",
                false => "fails",
            };
            format!(" ({how}, {})", duration(baseline.duration_ms))
        }
        None if *is_known_to_pass => " (passed on these files before)".to_owned(),
        None => String::new(),
    };
    let checked = match validation {
        Some(command) => cut(&one_line(command), width) + &known,
        None => "none: nothing checks the agent's word".to_owned(),
    };
    lines.push(line("validation", &checked));
    if !validation_files.is_empty() {
        let files = cut(&one_line(&validation_files.join(", ")), width);
        lines.push(line("", &format!("its own files: {files}")));
    }
    lines.extend(validation_notes.iter().map(|note| line("", &cut(&one_line(note), width))));
    let open = scope_tasks.as_ref().map_or(tasks.open, |tasks| tasks.open);
    lines.push(line("stops", &stops(*max_iterations, open)));
    if *user_files > 0 {
        let files = counted(*user_files as u64, "uncommitted file");
        let names =
            listed(user_file_names, MAX_USER_FILES).map_or(String::new(), |names| format!(": {names}"));
        lines.push(line("work tree", &format!("{files} of yours{names}")));
    }
    if let Some(names) = listed(given_up, MAX_GIVEN_UP) {
        let was = if given_up.len() == 1 { "was" } else { "were" };
        lines.push(line("given up", &format!("{names} {was} given up last time: tried once, last")));
    }
    let texts: Vec<String> = hints.iter().map(|hint| cut(&one_line(&hint.to_string()), width)).collect();
    if let Some(texts) = listed(&texts, MAX_HINTS) {
        let wait = if hints.len() == 1 { "waits" } else { "wait" };
        lines.push(line("hints", &format!("{} {wait}: {texts}", counted(hints.len() as u64, "hint"))));
    }
    if let Some(unit) = unit {
        lines.push(format!("  unit: {unit}, because the list asks for tests that fail first"));
    }
    lines
}

fn done_of_all(tasks: TaskCounts) -> String {
    format!("{} of {} done", tasks.done, counted((tasks.done + tasks.open) as u64, "task"))
}

fn line(name: &str, words: &str) -> String {
    format!("  {name:<10}  {words}")
}

/// `after 10 attempts`, and with which limit all open tasks have a third more runs than they need at least.
fn stops(max_iterations: u32, open: usize) -> String {
    let attempts = counted(u64::from(max_iterations), "attempt");
    if open <= max_iterations as usize {
        return format!("after {attempts}");
    }
    let enough = open + open.div_ceil(3);
    let are = if open == 1 { "task is" } else { "tasks are" };
    format!("after {attempts} ({open} {are} open: -n {enough} for more)")
}

#[cfg(test)]
pub mod tests {
    use super::*;
    use ralph_core::record::{Baseline, Cost, SandboxFacts, SessionId, Timestamp};

    pub fn started() -> Event {
        Event::SessionStarted {
            session: SessionId::new(Timestamp::from_seconds(0), 1),
            feature: "specs/001-notes".to_owned(),
            lane: None,
            branch: None,
            agent: "claude".to_owned(),
            max_iterations: 10,
            loop_type: USUAL.to_owned(),
            artifact: "specs/001-notes/tasks.md".to_owned(),
            tasks: TaskCounts { done: 0, open: 45 },
            is_resumed: false,
            cost: Cost::default(),
            agent_version: Some("2.1.330".to_owned()),
            permissions: "full",
            sandbox: None,
            validation: Some("pytest -q".to_owned()),
            baseline: Some(Baseline { duration_ms: 4100, ..Baseline::default() }),
            is_known_to_pass: false,
            validation_files: Vec::new(),
            validation_notes: Vec::new(),
            scope: None,
            scope_tasks: None,
            hints: Vec::new(),
            unit: None,
            given_up: Vec::new(),
            user_files: 0,
            user_file_names: Vec::new(),
            api_key: None,
            dropped_variables: Vec::new(),
        }
    }

    fn with(change: impl FnOnce(&mut Event)) -> String {
        let mut event = started();
        change(&mut event);
        lines(&event, Paint::Plain, 100).join("\n")
    }

    #[test]
    fn a_run_begins_with_all_that_decides_how_it_goes() {
        assert_eq!(
            with(|_| ()),
            "ralph starts on specs/001-notes: 0 of 45 tasks done\n  \
             agent       claude 2.1.330, full permissions, no sandbox\n  \
             validation  pytest -q (passes, 4.1 s)\n  \
             stops       after 10 attempts (45 tasks are open: -n 60 for more)"
        );
    }

    #[test]
    fn each_line_says_what_is_known() {
        let red = Baseline { exit: 1, duration_ms: 900, cause: Some("x".to_owned()), ..Baseline::default() };
        let with_baseline = |found: Option<Baseline>, known: bool| {
            with(|event| {
                let Event::SessionStarted { baseline, is_known_to_pass, .. } = event else { return };
                (*baseline, *is_known_to_pass) = (found, known);
            })
        };
        for (text, line) in [
            (with_baseline(Some(red), false), "  validation  pytest -q (fails, 900 ms)"),
            (with_baseline(None, true), "  validation  pytest -q (passed on these files before)"),
            (with_baseline(None, false), "  validation  pytest -q"),
        ] {
            assert_eq!(text.lines().nth(2), Some(line));
        }
        let fenced = with(|event| {
            if let Event::SessionStarted { sandbox, .. } = event {
                *sandbox = Some(SandboxFacts {
                    mechanism: "bwrap".to_owned(),
                    version: Some("0.8.0".to_owned()),
                    settings: "1".to_owned(),
                    network: "all".to_owned(),
                });
            }
        });
        let line = "  agent       claude 2.1.330, full permissions, sandbox bwrap 0.8.0, network all";
        assert_eq!(fenced.lines().nth(1), Some(line));
        let other = with(|event| {
            if let Event::SessionStarted { validation, tasks, loop_type, agent_version, is_resumed, .. } =
                event
            {
                (*validation, *agent_version, *is_resumed) = (None, None, true);
                (*tasks, *loop_type) = (TaskCounts::default(), "plan".to_owned());
            }
        });
        assert_eq!(
            other,
            "ralph resumes on specs/001-notes\n  loop        plan: specs/001-notes/tasks.md\n  \
             agent       claude, full permissions, no sandbox\n  \
             validation  none: nothing checks the agent's word\n  stops       after 10 attempts"
        );
    }
}

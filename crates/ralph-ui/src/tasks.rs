//! The parsed task list on the screen and as JSON.

use std::io::Write;

use anyhow::Result;
use camino::Utf8Path;
use serde_json::json;
use tasklist::{Group, Item, Kind, TaskList};

use super::json::write_line;
use super::style::{joined, one_line};

/// Columns that indent a sub-task below its parent.
const INDENT: usize = 2;

/// Writes the list for people: grouped by phase, names in a column, and at the end what Markdown does not know.
pub fn write_human(out: &mut dyn Write, file: &Utf8Path, list: &TaskList) -> Result<()> {
    let counts = list.counts();
    let beside = [(list.struck().count(), "struck"), (list.duplicates().count(), "copies")];
    let beside = beside.iter().filter(|(count, _)| *count > 0);
    let beside: String = beside.map(|(count, what)| format!(", {count} {what}")).collect();
    writeln!(out, "{file}: {} done, {} open{beside}", counts.done, counts.open)?;
    if let Some(conflict) = &list.conflict {
        writeln!(out, "{}", one_line(&conflict.to_string()))?;
    }
    let width = list.items.iter().map(|item| label(item).chars().count()).max().unwrap_or(0);
    let phases = list.phases();
    let mut phase = None;
    for item in &list.items {
        if phase != Some(&item.phase) {
            phase = Some(&item.phase);
            let found = phases.iter().find(|phase| Some(&phase.name) == item.phase.as_ref());
            let counts = found.map_or(String::new(), |phase| format!(" ({})", of_done(phase)));
            writeln!(out, "\n{}{counts}", one_line(item.phase.as_deref().unwrap_or("(no heading)")))?;
        }
        let notes = [
            (item.kind == Kind::Struck).then(|| "struck".to_owned()),
            item.copy_of.map(|line| format!("a copy of line {line}")),
            item.optional.then(|| "optional".to_owned()),
            item.parallel.then(|| "parallel".to_owned()),
            item.story.clone(),
            (!item.depends_on.is_empty()).then(|| format!("waits for {}", item.depends_on.join(", "))),
        ];
        let notes = joined(notes, "; ").map_or(String::new(), |notes| format!(" ({notes})"));
        let indent = " ".repeat(INDENT * (item.depth + 1));
        let line = format!("{indent}[{}] {:<width$}  {}{notes}", item.mark, label(item), item.text);
        writeln!(out, "{}", one_line(line.trim_end()))?;
    }
    if list.items.is_empty() {
        writeln!(out, "\nno task-list items")?;
    }
    let stories: Vec<String> =
        list.stories().iter().map(|story| format!("{} {}", story.name, of_done(story))).collect();
    if !stories.is_empty() {
        writeln!(out, "\nStories: {}", one_line(&stories.join(", ")))?;
    }
    if !list.unrecognised.is_empty() {
        writeln!(out, "\nBoxes with unknown marks (never picked, never done):")?;
    }
    for odd in &list.unrecognised {
        writeln!(out, "  {}", one_line(&odd.to_string()))?;
    }
    Ok(())
}

/// `1 of 3 done`
fn of_done(group: &Group) -> String {
    format!("{} of {} done", group.done, group.done + group.open)
}

/// Returns the name of a task; criteria have none.
fn label(item: &Item) -> &str {
    if item.is_task() { &item.name } else { "-" }
}

/// Writes `{"file", "items", "odd_ticks", "unrecognised", "conflict", "phases", "stories"}` on one line; and `"starred"`, boxes such
/// as `[ ]*`, if there are any.
pub fn write_json(out: &mut dyn Write, file: &Utf8Path, list: &TaskList) -> Result<()> {
    // Those that are ticked with other signs than Markdown's, and all others.
    let (odd_ticks, items): (Vec<&Item>, Vec<&Item>) =
        list.items.iter().partition(|item| item.odd_box.is_some());
    let (starred, items): (Vec<&Item>, Vec<&Item>) = items.into_iter().partition(|item| item.is_starred);
    let mut listing = json!({
        "file": file,
        "items": items,
        "odd_ticks": odd_ticks,
        "unrecognised": list.unrecognised,
        "conflict": list.conflict.as_ref().map(|conflict| conflict.line),
        "phases": list.phases(),
        "stories": list.stories(),
    });
    if !starred.is_empty() {
        listing["starred"] = json!(starred);
    }
    Ok(write_line(out, &listing)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SOURCE: &str = "## Phase 1: Setup\n\n- [x] T001 Make it\n- [ ] T002 [P] [US1] Test it (depends on T001)\n  \
                          - [ ] it is green\n- [~] T003 half of it\n\n## Phase 2: More\n\n- [ ] T010a Ship\n";

    fn list() -> TaskList {
        TaskList::parse(SOURCE.as_bytes()).unwrap()
    }

    #[test]
    fn people_see_phases_and_every_box() {
        let mut out = Vec::new();
        write_human(&mut out, Utf8Path::new("tasks.md"), &list()).unwrap();
        let expected = "tasks.md: 1 done, 2 open

Phase 1: Setup (1 of 2 done)
  [x] T001   Make it
  [ ] T002   Test it (depends on T001) (parallel; US1; waits for T001)
    [ ] -      it is green

Phase 2: More (0 of 1 done)
  [ ] T010a  Ship

Stories: US1 0 of 1 done

Boxes with unknown marks (never picked, never done):
  line 6: - [~] T003 half of it
";
        assert_eq!(String::from_utf8(out).unwrap(), expected);
    }

    #[test]
    fn control_characters_do_not_reach_the_terminal() {
        let mut out = Vec::new();
        let list = TaskList::parse(b"## A\x1b[2J\n- [ ] T001 a\x1b[31m\n- [~] b\x07\n").unwrap();
        write_human(&mut out, Utf8Path::new("tasks.md"), &list).unwrap();
        assert!(!out.iter().any(|byte| matches!(byte, 0x1b | 0x07)));
    }

    #[test]
    fn json_has_the_documented_fields() {
        let mut out = Vec::new();
        write_json(&mut out, Utf8Path::new("tasks.md"), &list()).unwrap();
        let json: serde_json::Value = serde_json::from_slice(&out).unwrap();
        let keys = |value: &serde_json::Value| {
            value.as_object().unwrap().keys().cloned().collect::<Vec<_>>().join(" ")
        };
        assert_eq!(keys(&json), "file items odd_ticks unrecognised conflict phases stories");
        assert_eq!(
            keys(&json["items"][0]),
            "line offset done mark id text phase headings depth kind parallel story stories depends_on name"
        );
        assert_eq!(
            json["unrecognised"][0],
            serde_json::json!({"line": 6, "mark": "~", "text": "T003 half of it"})
        );
        assert_eq!(json["phases"][0], serde_json::json!({"name": "Phase 1: Setup", "done": 1, "open": 1}));
        assert_eq!(json["stories"], serde_json::json!([{"name": "US1", "done": 0, "open": 1}]));
        assert_eq!(json["items"][2]["kind"], "criterion");
        assert_eq!(json["items"][1]["depends_on"], serde_json::json!(["T001"]));
    }
}

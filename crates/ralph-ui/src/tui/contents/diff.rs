//! What was changed.

use crate::tui::page::Section;
use crate::tui::row::{Look, Row, shown};

/// A section for each file of a patch.
pub fn sections(patch: &str) -> Vec<Section> {
    let mut head = Vec::new();
    let mut files: Vec<(Row, Vec<Row>, [usize; 2])> = Vec::new();
    let mut is_in_hunk = false;
    for line in patch.lines() {
        if let Some(names) = line.strip_prefix("diff --git ") {
            let name = names.rsplit_once(" b/").map_or(names, |(_, name)| name);
            files.push((Row::of(Look::Bold, shown(name)).linked(name), Vec::new(), [0; 2]));
            is_in_hunk = false;
            continue;
        }
        let Some((_, rows, counts)) = files.last_mut() else {
            head.extend(Row::lines(line, Look::Plain));
            continue;
        };
        let look = match line.as_bytes().first() {
            Some(b'@') => {
                is_in_hunk = true;
                Look::Accent
            }
            Some(b'+') if is_in_hunk => {
                counts[0] += 1;
                Look::Good
            }
            Some(b'-') if is_in_hunk => {
                counts[1] += 1;
                Look::Bad
            }
            _ if is_in_hunk => Look::Plain,
            // What is said in two more lines is in the title.
            _ if ["index ", "--- ", "+++ "].iter().any(|start| line.starts_with(start)) => continue,
            _ => Look::Dim,
        };
        Row::line(line, look, rows);
    }
    if files.is_empty() && head.is_empty() {
        head.push(Row::of(Look::Dim, "it changed nothing"));
    }
    let files = files.into_iter().map(|(name, rows, [added, removed])| {
        let counts = Row::of(Look::Good, format!("+{added}")).and(Look::Bad, format!(" −{removed}"));
        Section::titled(name.with_right(counts), rows)
    });
    [Section::plain(head)].into_iter().chain(files).collect()
}

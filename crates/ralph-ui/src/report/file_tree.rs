//! The files that a session changed as a tree, as the template of the page wants it.

use minijinja::Value;
use serde::Serialize;

use crate::style::{Count, grouped};
use ralph_core::record::{FileStatus, RALPH_ELSEWHERE, join_truncated};

use super::changes::lines;
use super::fit::head;
use super::page_parts::MAX_NAMES;
use super::patch::by_file;
use super::patch_html::html;
use super::{ChangedFile, Report};

/// Rows of folders and files.
const MAX_ROWS: usize = 400;
/// Folders within each other; deeper ones are joined.
const MAX_DEPTH: usize = 12;
/// With more files, only folders at the top and those with unfinished work are unfolded.
const FEW_FILES: usize = 25;
/// Longest patch of a file, in bytes of the page.
const MAX_PATCH_BYTES: usize = 32 << 10;

/// The files that changed.
#[derive(Serialize)]
pub(super) struct ChangesView<'a> {
    rows: Vec<Row<'a>>,
    more: Option<String>,
    commands: [(String, &'static str); 2],
}

/// A row of the tree; the contents of a folder are between its row and its `End`.
#[derive(Serialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
enum Row<'a> {
    Folder { path: &'a str, files: String, added: String, removed: String, is_open: bool },
    File(FileView<'a>),
    End,
}

#[derive(Serialize)]
struct FileView<'a> {
    /// Relative to its folder.
    path: &'a str,
    #[serde(skip)]
    whole_path: &'a str,
    is_deleted: bool,
    /// `None` for a binary file.
    added: Option<String>,
    removed: String,
    tasks: String,
    is_unfinished: bool,
    /// Markup of ours; empty of a file that has no room.
    patch: Value,
    is_cut: bool,
}

/// The files, with at most so many bytes of their patches in the page.
pub(super) fn changes(report: &Report, max_patches: usize) -> Option<ChangesView<'_>> {
    let changes = report.changes.as_ref().filter(|changes| !changes.files.is_empty())?;
    let patches = changes.patch.as_ref().map(|patch| by_file(&patch.text)).unwrap_or_default();
    let is_cut_off =
        |whole: &str| changes.patch.as_ref().is_some_and(|all| all.is_cut && all.text.ends_with(whole));
    let mut tree = Tree { rows: Vec::new(), is_small: changes.files.len() <= FEW_FILES };
    tree.add(&changes.files, 0, 0);
    let (mut room, mut count) = (max_patches, 0);
    for row in &mut tree.rows {
        let Row::File(file) = row else { continue };
        let whole = patches.get(file.whole_path).copied().unwrap_or_default();
        let shown = head(whole, room.min(MAX_PATCH_BYTES));
        let markup = html(shown, room.min(MAX_PATCH_BYTES));
        room = room.saturating_sub(markup.len());
        file.is_cut = shown.len() < whole.len() || is_cut_off(whole);
        file.patch = Value::from_safe_string(markup);
        count += 1;
    }
    let more = changes.files.len() - count;
    let id = &report.session.id;
    Some(ChangesView {
        rows: tree.rows,
        more: (more > 0).then(|| Count(more as u64, "more file").to_string()),
        commands: [
            (format!("{RALPH_ELSEWHERE} diff {id}:0 {id}:@"), "shows all of it"),
            (format!("{RALPH_ELSEWHERE} restore {id}:0"), "goes back to before the first iteration"),
        ],
    })
}

struct Tree<'a> {
    rows: Vec<Row<'a>>,
    /// True if all folders are unfolded.
    is_small: bool,
}

impl<'a> Tree<'a> {
    /// Adds files of a folder whose path is `from` bytes long.
    fn add(&mut self, files: &'a [ChangedFile], from: usize, depth: usize) {
        let folder = |path: &str| path[from..].find('/').map(|end| from + end);
        let are_together = |one: &ChangedFile, other: &ChangedFile| {
            let end = folder(&one.change.path).filter(|_| depth < MAX_DEPTH);
            end.is_some_and(|end| other.change.path.get(..=end) == one.change.path.get(..=end))
        };
        for group in files.chunk_by(are_together) {
            if self.rows.len() >= MAX_ROWS {
                return;
            }
            match group {
                [file] => self.rows.push(Row::File(FileView::of(file, from))),
                _ => self.add_folder(group, from, depth),
            }
        }
    }

    fn add_folder(&mut self, files: &'a [ChangedFile], from: usize, depth: usize) {
        let to = shared_folder(files);
        let (added, removed) = lines(files);
        self.rows.push(Row::Folder {
            path: &files[0].change.path[from..to],
            files: Count(files.len() as u64, "file").to_string(),
            added: grouped(added),
            removed: unless_none(removed),
            is_open: self.is_small || depth == 0 || files.iter().any(|file| file.is_unfinished),
        });
        self.add(files, to, depth + 1);
        self.rows.push(Row::End);
    }
}

/// The length of the path of the innermost folder that all files lie in.
fn shared_folder(files: &[ChangedFile]) -> usize {
    let first = files[0].change.path.as_bytes();
    let shared = |file: &ChangedFile| {
        first.iter().zip(file.change.path.as_bytes()).take_while(|(one, other)| one == other).count()
    };
    let shared = files.iter().map(shared).min().unwrap_or_default();
    first[..shared].iter().rposition(|byte| *byte == b'/').map_or(0, |place| place + 1)
}

fn unless_none(lines: u64) -> String {
    if lines > 0 { grouped(lines) } else { String::new() }
}

impl<'a> FileView<'a> {
    /// One without its patch.
    fn of(file: &'a ChangedFile, from: usize) -> Self {
        Self {
            path: &file.change.path[from..],
            whole_path: &file.change.path,
            is_deleted: file.change.status == FileStatus::Deleted,
            added: file.change.added.map(grouped),
            removed: unless_none(file.change.removed.unwrap_or_default()),
            tasks: join_truncated(&file.tasks, MAX_NAMES),
            is_unfinished: file.is_unfinished,
            patch: Value::default(),
            is_cut: false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::samples::report;
    use super::super::{Changes, Text};
    use super::*;
    use ralph_core::record::FileChange;

    /// `src/a.rs` for each file, with a line added; with `!` behind it, the work of a task that is not done.
    fn changed(paths: &[&str]) -> Report {
        let file = |path: &&str| {
            let change = FileChange {
                path: path.trim_end_matches('!').to_owned(),
                added: Some(1),
                removed: Some(0),
                ..FileChange::default()
            };
            ChangedFile { change, tasks: Vec::new(), is_unfinished: path.ends_with('!') }
        };
        let mut made = report(Vec::new(), "");
        made.changes = Some(Changes { files: paths.iter().map(file).collect(), patch: None });
        made
    }

    /// `src/{2 a.rs b.rs}`: a folder with its lines and what lies in it; `+` before it if it is folded.
    fn drawn(report: &Report) -> String {
        let rows = changes(report, 1000).unwrap().rows;
        let drawn = rows.iter().map(|row| match row {
            Row::Folder { path, added, is_open, .. } => {
                format!("{}{path}{{{added}", if *is_open { "" } else { "+" })
            }
            Row::File(file) => file.path.to_owned(),
            Row::End => "}".to_owned(),
        });
        drawn.collect::<Vec<_>>().join(" ").replace(" }", "}")
    }

    #[test]
    fn folders_hold_their_files_and_those_with_one_child_are_joined() {
        for (paths, expected) in [
            (&["a.rs"][..], "a.rs"),
            (&["src/view/a.rs"], "src/view/a.rs"),
            (&["src/view/a.rs", "src/view/b.rs"], "src/view/{2 a.rs b.rs}"),
            (&["a", "src/a", "src/view/tui/b", "src/view/tui/c", "z"], "a src/{3 a view/tui/{2 b c}} z"),
            (&["x/y/a", "x/yy/a"], "x/{2 y/a yy/a}"),
            (&["é/a", "è/a"], "é/a è/a"),
            (&["a/x", "b", "a/y"], "a/x b a/y"),
        ] {
            assert_eq!(drawn(&changed(paths)), expected);
        }
    }

    #[test]
    fn of_many_files_the_inner_folders_are_folded_but_for_unfinished_work() {
        let names: Vec<String> = (0..30).map(|number| format!("src/{}/{number}", number / 15)).collect();
        let mut paths: Vec<&str> = names.iter().map(String::as_str).collect();
        let count = |report: &Report| drawn(report).matches('+').count();
        assert_eq!(count(&changed(&paths)), 2);
        paths[20] = "src/1/20!";
        assert_eq!(count(&changed(&paths)), 1);
    }

    #[test]
    fn a_tree_is_neither_too_deep_nor_too_long() {
        let deep: Vec<String> = (1..100).map(|depth| format!("{}f", "d/".repeat(depth))).rev().collect();
        let deep: Vec<&str> = deep.iter().map(String::as_str).collect();
        assert_eq!(drawn(&changed(&deep)).matches('{').count(), MAX_DEPTH);
        let many: Vec<String> = (0..1000).map(|number| format!("f{number}")).collect();
        let many = changed(&many.iter().map(String::as_str).collect::<Vec<_>>());
        let view = changes(&many, 1000).unwrap();
        assert_eq!((view.rows.len(), view.more.as_deref()), (MAX_ROWS, Some("600 more files")));
    }

    #[test]
    fn a_patch_stands_at_its_file_as_far_as_there_is_room() {
        let mut report = changed(&["s/a", "s/b"]);
        let patch =
            |name: &str| format!("diff --git a/s/{name} b/s/{name}\n+++ b/s/{name}\n@@ -0,0 +1 @@\n+x\n");
        report.changes.as_mut().unwrap().patch = Some(Text::whole(patch("a") + &patch("b")));
        let shown = |room| {
            let rows = changes(&report, room).unwrap().rows;
            let files = rows.iter().filter_map(|row| match row {
                Row::File(file) => Some((file.patch.is_true(), file.is_cut)),
                Row::Folder { .. } | Row::End => None,
            });
            files.collect::<Vec<_>>()
        };
        assert_eq!(shown(1000), [(true, false), (true, false)]);
        assert_eq!(shown(patch("a").len()), [(true, false), (false, true)]);
    }
}

//! Lines that say again what another line says: an agent ticked a copy, or wrote a task down twice.

use std::collections::HashMap;
use std::sync::Arc;

use super::item::{Item, Kind};

/// What makes a line the copy of another one. Without an id, the same words elsewhere are another task.
#[derive(PartialEq, Eq, Hash)]
enum Key {
    Id(String, String),
    Place(Arc<[String]>, Option<usize>, String),
}

/// Marks all but the first of the tasks that say the same. Without an id, a copy has the same headings and parent.
pub(super) fn mark(items: &mut [Item]) {
    let mut lines: HashMap<Key, usize> = HashMap::new();
    for item in items.iter_mut().filter(|item| item.is_task() && item.until.is_none()) {
        let words = words(&item.text);
        let key = match &item.id {
            Some(id) => Key::Id(id.clone(), words),
            None if words.is_empty() => continue,
            None => Key::Place(Arc::clone(&item.headings), item.parent, words),
        };
        let original = *lines.entry(key).or_insert(item.line);
        if original != item.line {
            item.copy_of = Some(original);
            item.kind = Kind::Copy;
        }
    }
}

/// Returns the words of a text, without what says that it is done.
fn words(text: &str) -> String {
    let text = text.to_lowercase();
    let words: Vec<&str> =
        text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).collect();
    let end = words.iter().rposition(|word| !matches!(*word, "done" | "complete" | "completed" | "finished"));
    words[..end.map_or(words.len(), |end| end + 1)].join(" ")
}

#[cfg(test)]
mod tests {
    use crate::{Kind, TaskList};

    /// Returns the lines of tasks, and of copies with what they are copies of.
    fn read(source: &str) -> String {
        let list = TaskList::parse(source.as_bytes()).unwrap();
        let one = |item: &crate::Item| match (item.kind, item.copy_of) {
            (Kind::Copy, Some(line)) => format!("{}={line}", item.line),
            _ => format!("{}:{}", item.line, item.name),
        };
        list.items.iter().map(one).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn the_same_words_again_are_a_copy() {
        for (source, expected) in [
            ("- [X] T001 a\n- [ ] T001 a\n", "1:T001 2=1"),
            ("- [ ] T001 a\n- [X] T001 a\n- [x] T001 a\n", "1:T001 2=1 3=1"),
            ("- [x] T001 a\n- [x] T001 a\n", "1:T001 2=1"),
            ("- [ ] T001 a\n- [ ] T001 a\n", "1:T001 2=1"),
            ("- [ ] T001 Make `a`\n- [x] **T001** Make a ✅ (done)\n", "1:T001 2=1"),
            ("# A\n- [ ] T001 a\n# B\n- [x] T001 a\n", "2:T001 4=2"),
            ("- [ ] T001 a\n- [ ] T001 b\n", "1:T001 2:T001#2"),
            ("- [x] T001 a\n- [ ] T001 b\n- [ ] T001 a\n", "1:T001 2:T001#2 3=1"),
            ("- [ ] a\n- [x] a\n", "1:#1 2=1"),
            ("# A\n- [ ] add tests\n# B\n- [ ] add tests\n", "2:#1 4:#2"),
            ("- [ ] T001 a\n- [ ] T002 a\n", "1:T001 2:T002"),
            ("- [ ] T001 a\n  - [ ] b\n  - [ ] b\n", "1:T001 2:#2 3:#3"),
            ("- [ ] T001-T003 a\n- [ ] T001-T003 a\n", "1:T001 2:T001#2"),
        ] {
            assert_eq!(read(source), expected, "{source}");
        }
    }
}

//! Ticking and opening boxes in a file: the bytes of the mark, and nothing else.

use std::io::{self, Read, Seek, SeekFrom, Write};

use super::{Item, Pairing, TaskList, TaskName};

/// The mark to set in a box.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mark {
    /// An empty box.
    Open,
    /// A marked box, with the tick that the file uses.
    Done,
}

/// What became of the boxes that were to be changed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Changes {
    /// Items whose boxes were changed.
    pub changed: Vec<TaskName>,
    /// Items that said so already.
    pub unchanged: Vec<TaskName>,
    /// Items that are no longer in the file.
    pub not_found: Vec<TaskName>,
}

/// Sets the boxes of `items`, which are of `list`; that may come from an older version of the file. `present` is what was
/// read from `file` a moment ago.
///
/// Single bytes are written in place, so an editor that appends meanwhile loses nothing.
///
/// # Errors
///
/// If `file` cannot be read, written or moved in. Marks before that one are set.
pub fn set_marks<F: Read + Write + Seek>(
    file: &mut F,
    list: &TaskList,
    present: &TaskList,
    items: &[&Item],
    mark: Mark,
) -> io::Result<Changes> {
    let byte = match mark {
        Mark::Open => b' ',
        Mark::Done => present.tick(),
    };
    // A person who edits meanwhile must not lose a mark to a guess.
    let pairing = Pairing::certain(list, present);
    let mut changes = Changes::default();
    for item in items {
        let name = item.name.clone();
        match pairing.later(item) {
            Some(found) if found.done == (mark == Mark::Done) => changes.unchanged.push(name),
            Some(found) if set_byte(file, found, byte)? => changes.changed.push(name),
            None | Some(_) => changes.not_found.push(name),
        }
    }
    Ok(changes)
}

/// Writes a mark, if the box still stands where it was read a moment ago.
///
/// A box that Markdown does not know becomes one that it knows, with blanks up to where it ended: no byte moves.
fn set_byte<F: Read + Write + Seek>(file: &mut F, item: &Item, byte: u8) -> io::Result<bool> {
    let offset = item.offset as u64;
    let usual = [b'[', item.mark as u8, b']'];
    let expected = item.odd_box.as_ref().map_or(&usual[..], |odd| odd.as_bytes());
    let mut found = vec![0; expected.len()];
    file.seek(SeekFrom::Start(offset))?;
    let is_there = file.read_exact(&mut found).is_ok();
    if !is_there || found != expected {
        return Ok(false);
    }
    let mut written = vec![byte];
    if expected.len() > 3 {
        written.push(b']');
        written.resize(expected.len() - 1, b' ');
    }
    file.seek(SeekFrom::Start(offset + 1))?;
    file.write_all(&written)?;
    Ok(true)
}

impl TaskList {
    /// Returns the tick that this file uses; spec-kit's own is upper case.
    fn tick(&self) -> u8 {
        let small = self.items.iter().filter(|item| item.mark == 'x').count();
        let large = self.items.iter().filter(|item| item.mark == 'X').count();
        if small > large { b'x' } else { b'X' }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;

    use proptest::prelude::*;

    use super::*;

    fn parse(source: &str) -> TaskList {
        TaskList::parse(source.as_bytes()).unwrap()
    }

    /// Returns what became of items of `list` in a file with this text, and of the text.
    fn set(text: &str, list: &TaskList, items: &[&Item], mark: Mark) -> (Changes, String) {
        let mut file = Cursor::new(text.to_owned().into_bytes());
        let changes = set_marks(&mut file, list, &parse(text), items, mark).unwrap();
        (changes, String::from_utf8(file.into_inner()).unwrap())
    }

    #[test]
    fn ticking_keeps_the_case_of_the_file() {
        for (source, ticked) in [
            ("- [x] T001 a\n- [ ] T002 b\n", "- [x] T001 a\n- [x] T002 b\n"),
            ("- [X] T001 a\r\n- [ ] T002 b", "- [X] T001 a\r\n- [X] T002 b"),
            ("- [ ] T001 a\n- [ ] T002 b  \n", "- [ ] T001 a\n- [X] T002 b  \n"),
            ("\u{feff}- [ ] T001 a\n- [ ] T002 b\n", "\u{feff}- [ ] T001 a\n- [X] T002 b\n"),
        ] {
            let list = parse(source);
            let (changes, text) = set(source, &list, &[list.find("T002").unwrap()], Mark::Done);
            assert_eq!(changes.changed, ["T002"]);
            assert_eq!(text, ticked);
        }
    }

    #[test]
    fn a_box_that_markdown_does_not_know_is_opened_as_one_that_it_knows() {
        for (source, opened) in [
            ("- [✓] T001 a\n- [ ] b\n", "- [ ]   T001 a\n- [ ] b\n"),
            ("- [ X] T001 a\n", "- [ ]  T001 a\n"),
            ("- [ x ] T001 a\n", "- [ ]   T001 a\n"),
            ("> 1. [✔️]\tT001 a\r\n", "> 1. [ ]     \tT001 a\r\n"),
        ] {
            let list = parse(source);
            assert_eq!(set(source, &list, &[&list.items[0]], Mark::Open).1, opened);
            let again = parse(opened);
            assert_eq!((again.items[0].done, again.items[0].text.as_str()), (false, "a"), "{opened}");
        }
    }

    #[test]
    fn a_box_that_moved_under_our_hands_is_not_written() {
        let list = parse("- [x] T001 a\n");
        let mut file = Cursor::new(b"- [ ] T001 a\n".to_vec());
        assert!(!set_byte(&mut file, &list.items[0], b'X').unwrap());
        assert_eq!(file.into_inner(), b"- [ ] T001 a\n");
    }

    fn list_source() -> impl Strategy<Value = String> {
        let line = prop::sample::select(vec![
            "- [ ] T001 a\n",
            "- [x] T002 b\r\n",
            "* [X] T003 ü\n",
            "  - [ ] c\n",
            "1. [ ] T001 again\n",
            "> - [ ] T009 quoted\n",
            "\n",
            "text\n",
            "# Head\n",
            "```\n",
            "- [~] odd\n",
            "- [✓] T005 e\n",
            "- [ x ] T006 ~~f~~\n",
            "- [ ] ~~T007 g~~\n",
        ]);
        prop::collection::vec(line, 0..20).prop_map(|lines| lines.concat())
    }

    proptest! {
        #[test]
        fn ticking_changes_one_byte_and_opening_gives_the_same_bytes_back(source in list_source()) {
            let list = parse(&source);
            for item in list.items.iter().filter(|item| !item.done) {
                let (changes, ticked) = set(&source, &list, &[item], Mark::Done);
                prop_assert_eq!(changes.changed, vec![item.name.clone()]);
                let bytes = ticked.as_bytes();
                let differing: Vec<_> = (0..source.len()).filter(|at| source.as_bytes()[*at] != bytes[*at]).collect();
                prop_assert_eq!(ticked.len(), source.len());
                prop_assert_eq!(differing, vec![item.offset + 1]);
                prop_assert_eq!(set(&ticked, &list, &[item], Mark::Open).1, source.clone());
            }
        }
    }
}

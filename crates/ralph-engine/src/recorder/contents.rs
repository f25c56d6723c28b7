//! What a validation can see of the work tree, to know again a state on which it passed.

use anyhow::Result;
use camino::Utf8PathBuf;
use tasklist::TaskList;

use ralph_core::record::ObjectId;
use ralph_store::Slot;

use super::Recorder;

impl Recorder<'_> {
    /// Lists the last contents of the work tree: each path with its object, without progress.txt, and the task list with
    /// all boxes open. `slot` is the record that they are part of, if that is not written yet. `None` if files are left
    /// out of them, or nothing is known.
    pub fn contents_listing(&mut self, slot: Option<&Slot>) -> Result<Option<String>> {
        let Some(tree) =
            self.work_tree.last_contents.clone().filter(|_| self.work_tree.last_left_out.is_empty())
        else {
            return Ok(None);
        };
        let [progress, tasks] =
            [&self.place.progress_path, &self.place.tasks_path].map(|path| self.work_tree().relative(path));
        let listed = self.work_tree().entries(&self.contents_objects(slot), &tree)?;
        let mut text = String::from_utf8_lossy(&with_open_boxes(self.tasks())).into_owned();
        for entry in listed.split(|byte| *byte == 0) {
            let path = entry.iter().position(|byte| *byte == b'\t').map(|tab| &entry[tab + 1..]);
            if path == Some(progress.as_bytes()) || path == Some(tasks.as_bytes()) {
                continue;
            }
            text.push('\0');
            text.push_str(&String::from_utf8_lossy(entry));
        }
        Ok(Some(text))
    }

    /// Lists the paths of the files of `tree`, which was looked at for `slot`.
    pub fn paths(&self, slot: &Slot, tree: &ObjectId) -> Result<Vec<String>> {
        let listed = self.work_tree().entries(&self.contents_objects(Some(slot)), tree)?;
        let names = listed.split(|byte| *byte == 0).filter_map(|entry| {
            let tab = entry.iter().position(|byte| *byte == b'\t')?;
            Some(String::from_utf8_lossy(&entry[tab + 1..]).into_owned())
        });
        Ok(names.collect())
    }

    fn contents_objects(&self, slot: Option<&Slot>) -> Utf8PathBuf {
        match slot {
            _ if !self.place.snapshots => self.spool.scratch().join("objects"),
            Some(slot) => slot.objects(),
            None => self.store.repository().common_dir.join("objects"),
        }
    }
}

fn with_open_boxes(mut bytes: Vec<u8>) -> Vec<u8> {
    let list = TaskList::parse(&bytes).unwrap_or_default();
    for item in list.items.iter().filter(|item| item.done) {
        if let Some(mark) = bytes.get_mut(item.offset + 1) {
            *mark = b' ';
        }
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_of_boxes_make_no_difference_and_everything_else_does() {
        let open = |text: &str| with_open_boxes(text.as_bytes().to_vec());
        let list = "- [ ] T001 a\n- [ ] T002 b\n";
        assert_eq!(open("- [x] T001 a\n- [X] T002 b\n"), list.as_bytes());
        assert_eq!(open(list), list.as_bytes());
        for other in ["- [x] T001 a\n", "- [ ] T001 a\n- [~] T002 b\n", "- [x] T001 a.\n- [ ] T002 b\n"] {
            assert_ne!(open(other), list.as_bytes(), "{other}");
        }
    }
}

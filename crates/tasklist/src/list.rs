//! The items of a task list.

use std::collections::{HashMap, HashSet};
use std::error::Error;
use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::conflict::Conflict;
use super::dependencies::{self, Dependency};
use super::item::{Item, Kind, TaskName};
use super::known_ids::KnownIds;
use super::label::{self, Family, Id, Label};
use super::languages::Languages;
use super::markdown::{self, MAX_ITEMS, TaskBox};
use super::near_miss::Unrecognised;
use super::ranges::{Ranges, ranges};
use super::ticks::star_len;
use super::{conflict, copies, failing_tests, front_matter, own_work, phase, story, struck};

/// How many tasks are done and open. Criteria do not count.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counts {
    /// Tasks with a mark.
    pub done: usize,
    /// Tasks without one.
    pub open: usize,
}

/// Why bytes are no list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Unreadable {
    /// The bytes are not UTF-8. Offsets of a text with replacements would point at the wrong bytes.
    NotUtf8 {
        /// Where the text ends.
        offset: usize,
        /// From 1.
        line: usize,
        /// The byte that is there.
        byte: u8,
    },
    /// It has more than [`MAX_ITEMS`] items.
    TooManyItems,
}

impl fmt::Display for Unreadable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotUtf8 { offset, line, byte } => {
                write!(f, "the text is not UTF-8: byte {offset} (line {line}) is 0x{byte:02X}")
            }
            Self::TooManyItems => write!(f, "the list has more than {MAX_ITEMS} boxes"),
        }
    }
}

impl Error for Unreadable {}

fn utf8(bytes: &[u8]) -> Result<&str, Unreadable> {
    std::str::from_utf8(bytes).map_err(|error| {
        let offset = error.valid_up_to();
        let line = bytes[..offset].split(|byte| *byte == b'\n').count();
        Unreadable::NotUtf8 { offset, line, byte: bytes[offset] }
    })
}

/// All boxes of a file, in the file's order.
#[derive(Debug, Clone, Default)]
pub struct TaskList {
    /// The boxes that Markdown knows, in the order of the file.
    pub items: Vec<Item>,
    /// Boxes with unknown marks.
    pub unrecognised: Vec<Unrecognised>,
    /// The first line that a merge left.
    pub conflict: Option<Conflict>,
    is_blank: bool,
    is_template: bool,
    /// True if its text asks for tests that must fail first.
    pub(super) asks_for_failing_tests: bool,
    by_name: HashMap<TaskName, usize>,
    pub(super) by_id: HashMap<String, Vec<usize>>,
    pub(super) ranges: Ranges,
    /// Ids after boxes with unknown marks.
    pub(super) unrecognised_ids: HashSet<String>,
}

impl TaskList {
    /// Reads a file's bytes.
    ///
    /// ```
    /// let list = tasklist::TaskList::parse(b"- [ ] T001 a\n  - [x] b\n").expect("it is UTF-8");
    /// assert_eq!(list.items[0].offset, 2);
    /// assert_eq!(list.tasks().count(), 1);
    /// ```
    ///
    /// # Errors
    ///
    /// Only if the bytes are not UTF-8, or hold more than [`MAX_ITEMS`] boxes.
    pub fn parse(bytes: &[u8]) -> Result<Self, Unreadable> {
        let source = utf8(bytes)?;
        let start = front_matter::end(source);
        let (boxes, unrecognised, headings) = markdown::outline(source, start);
        if boxes.len() > MAX_ITEMS {
            return Err(Unreadable::TooManyItems);
        }
        let languages = Languages::of(&source[start..]);
        let labels = labels(&boxes, languages);
        let kinds = kinds(&boxes, &labels);
        let is_template = is_template(&headings, &labels);
        let asks_for_failing_tests = failing_tests::asks_for_failing_tests(source, &headings, languages);
        let mut seen = HashMap::new();
        let mut items: Vec<Item> = Vec::with_capacity(boxes.len());
        let mut waits = Vec::with_capacity(boxes.len());
        for ((task_box, label), kind) in boxes.into_iter().zip(labels).zip(kinds) {
            waits.push(written_dependencies(&task_box, &label, languages));
            let parent = task_box.parent;
            let mut item = item(source, &task_box, label, kind);
            item.languages = languages;
            item.has_own_work = task_box.has_block || own_work::has_own_work(&item.text, &task_box.body);
            item.optional = item.is_starred
                || languages.is_optional(&item.text)
                || languages.without_optional(&task_box.text).len() < task_box.text.len();
            item.name = name(&mut seen, item.id.as_deref(), items.len() + 1);
            items.push(item);
            if let Some(parent) = parent {
                items[parent].is_leaf = false;
            }
        }
        copies::mark(&mut items);
        own_work::link_by_number(&mut items);
        let known = KnownIds::new(items.iter().filter_map(|item| item.id.clone()).collect());
        for (item, waits) in items.iter_mut().zip(waits) {
            item.depends_on = known.resolve(&waits, item.id.as_deref());
        }
        let mut list = Self {
            ranges: ranges(items.iter().map(|item| (item.id.as_deref(), item.until.as_deref()))),
            items,
            unrecognised,
            conflict: conflict::find(&source[start..], &source[..start]),
            is_blank: source.trim_matches(|c: char| c.is_whitespace() || c == '\u{feff}').is_empty(),
            is_template,
            asks_for_failing_tests,
            ..Self::default()
        };
        list.index();
        Ok(list)
    }

    /// Returns the languages whose words count in it.
    pub fn languages(&self) -> Languages {
        self.items.first().map_or_else(Languages::default, |item| item.languages)
    }

    /// Makes optional tasks that are open nothing to do: neither open nor done.
    pub fn settle_optional(&mut self) {
        let open = self.items.iter_mut().filter(|item| item.is_task() && item.optional && !item.done);
        open.for_each(|item| item.kind = Kind::Struck);
    }

    fn index(&mut self) {
        let odd = self
            .unrecognised
            .iter()
            .filter_map(|odd| label::read(odd.text.trim_start_matches('*'), |_| true).id);
        self.unrecognised_ids = odd.map(|id| id.written).collect();
        for (index, item) in self.items.iter().enumerate() {
            self.by_name.insert(item.name.clone(), index);
            if let Some(id) = &item.id {
                self.by_id.entry(id.clone()).or_default().push(index);
            }
        }
    }

    /// Returns the items that are work to do, in the file's order.
    pub fn tasks(&self) -> impl Iterator<Item = &Item> {
        self.items.iter().filter(|item| item.is_task())
    }

    /// Counts the tasks.
    pub fn counts(&self) -> Counts {
        let done = self.tasks().filter(|item| item.done).count();
        Counts { done, open: self.tasks().count() - done }
    }

    /// Returns the item of that name. Upper and lower case are one if nothing else fits.
    pub fn find(&self, name: &str) -> Option<&Item> {
        let name = name.strip_suffix("#1").filter(|id| !id.is_empty()).unwrap_or(name);
        let exact = self.by_name.get(name).map(|index| &self.items[*index]);
        exact.or_else(|| self.items.iter().find(|item| item.name.eq_ignore_ascii_case(name)))
    }

    /// Returns how many items have the id of `item`; if it has none, its text. Struck ones do not count.
    pub fn copies(&self, item: &Item) -> usize {
        if let Some(id) = &item.id {
            let same = self.by_id.get(id).into_iter().flatten();
            same.filter(|index| self.items[**index].kind != Kind::Struck).count()
        } else {
            let same = self.items.iter().filter(|other| other.id.is_none() && other.text == item.text);
            same.filter(|other| other.kind != Kind::Struck).count()
        }
    }

    /// Returns the items that say again what another one says: they do not count.
    pub fn duplicates(&self) -> impl Iterator<Item = &Item> {
        self.items.iter().filter(|item| item.kind == Kind::Copy)
    }

    /// Returns the task that `copy` says again.
    pub fn original(&self, copy: &Item) -> Option<&Item> {
        let line = copy.copy_of?;
        self.items.binary_search_by_key(&line, |item| item.line).ok().map(|index| &self.items[index])
    }

    /// Returns the items that are struck: neither open nor done.
    pub fn struck(&self) -> impl Iterator<Item = &Item> {
        self.items.iter().filter(|item| item.kind == Kind::Struck)
    }

    /// Returns true if the file has nothing but white space.
    pub fn is_blank(&self) -> bool {
        self.is_blank
    }

    /// Returns true if this is spec-kit's template as it comes, with its sample tasks.
    pub fn is_unfilled_template(&self) -> bool {
        self.is_template
    }
}

fn item(source: &str, task_box: &TaskBox, label: Label, kind: Kind) -> Item {
    let end = source[task_box.offset..].find(']').map_or(task_box.offset, |end| task_box.offset + end + 1);
    let whole = &source[task_box.offset..end];
    let inner = whole.trim_matches(['[', ']']);
    let (id, until) = label.id.map_or((None, None), |id| (Some(id.written), id.until));
    Item {
        line: task_box.line,
        offset: task_box.offset,
        done: task_box.is_done,
        mark: inner.trim().chars().next().or_else(|| inner.chars().next()).unwrap_or(' '),
        name: String::new(),
        id,
        text: label.text,
        stories: story::of(label.story.as_deref(), &task_box.heading_levels),
        phase: phase::of(&task_box.heading_levels, task_box.bold_phase.as_deref()),
        headings: Arc::clone(&task_box.headings),
        depth: task_box.depth,
        kind,
        parallel: label.parallel,
        story: label.story,
        depends_on: Vec::new(),
        optional: false,
        copy_of: None,
        odd_box: (whole.len() != 3).then(|| whole.to_owned()),
        is_starred: star_len(&source[end..]) > 0,
        parent: task_box.parent,
        is_leaf: true,
        until,
        has_own_work: false,
        languages: Languages::default(),
    }
}

/// Returns the name of the task at `position`; `seen` is how often each id was met.
fn name(seen: &mut HashMap<String, usize>, id: Option<&str>, position: usize) -> TaskName {
    let Some(id) = id else { return format!("#{position}") };
    let times = seen.entry(id.to_owned()).or_default();
    *times += 1;
    if *times == 1 { id.to_owned() } else { format!("{id}#{times}") }
}

/// Reads all labels, with the ids that this file as a whole bears out.
fn labels(boxes: &[TaskBox], languages: Languages) -> Vec<Label> {
    let mut families: HashMap<Family, Vec<&str>> = HashMap::new();
    let texts =
        boxes.iter().map(|task_box| languages.without_optional(struck::without_front(&task_box.text)));
    let first: Vec<_> = texts.clone().map(|text| label::read(text, |_| true)).collect();
    for id in first.iter().filter_map(|label| label.id.as_ref()) {
        families.entry(id.family.clone()).or_default().push(&id.written);
    }
    first
        .iter()
        .zip(texts)
        .map(|(label, text)| match &label.id {
            Some(id) if !is_believed(id, &families, boxes.len()) => label::read(text, |_| false),
            _ => label.clone(),
        })
        .collect()
}

/// `S3` or `2.0` may begin a sentence. A wrong belief would turn all items without an id into criteria.
fn is_believed(id: &Id, families: &HashMap<Family, Vec<&str>>, box_count: usize) -> bool {
    let Some(ids) = families.get(&id.family) else { return false };
    let is_series = id.is_certain || ids.iter().any(|other| *other != ids[0]);
    let is_common = ids.len() * 4 >= box_count;
    id.family == Family::Task
        || is_common && (is_series || id.family == Family::Number)
        || is_series && families.contains_key(&Family::Task)
}

fn kinds(boxes: &[TaskBox], labels: &[Label]) -> Vec<Kind> {
    let mut ids = labels.iter().filter_map(|label| label.id.as_ref()).peekable();
    let has_ids = ids.peek().is_some();
    let has_work_ids = ids.any(|id| !id.family.is_reference());
    let parents: HashSet<_> = boxes.iter().filter_map(|task_box| task_box.parent).collect();
    labels
        .iter()
        .zip(boxes)
        .enumerate()
        .map(|(index, (label, task_box))| {
            let is_task = match &label.id {
                Some(id) => !has_work_ids || !id.family.is_reference(),
                None => !has_ids && !parents.contains(&index),
            };
            if !task_box.is_done && struck::is_struck(&task_box.text, &label.text) {
                Kind::Struck
            } else if is_task {
                Kind::Task
            } else {
                Kind::Criterion
            }
        })
        .collect()
}

fn is_template(headings: &[String], labels: &[Label]) -> bool {
    let has_name = headings.iter().any(|heading| heading.contains("[FEATURE NAME]"));
    let has_title = headings.iter().any(|heading| heading.contains("[Title]"));
    has_name
        || has_title
            && labels.iter().any(|label| {
                label.id.is_none() && (label.text.starts_with("TXXX") || label.text.starts_with("T0XX"))
            })
}

fn written_dependencies(task_box: &TaskBox, label: &Label, languages: Languages) -> Vec<Dependency> {
    let own = label.id.as_ref().map(|id| id.written.as_str());
    let mut waits = dependencies::read(&task_box.text, own, languages);
    for line in &task_box.body {
        waits.extend(dependencies::read(line, own, languages));
    }
    waits
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn parse(source: &str) -> TaskList {
        TaskList::parse(source.as_bytes()).unwrap()
    }

    fn names(list: &TaskList) -> String {
        let names = list.items.iter().map(|item| match item.kind {
            Kind::Task => item.name.clone(),
            Kind::Criterion => format!("({})", item.name),
            Kind::Struck => format!("~{}~", item.name),
            Kind::Copy => format!("={}=", item.name),
        });
        names.collect::<Vec<_>>().join(" ")
    }

    #[track_caller]
    fn case(source: &str, expected: &str) {
        assert_eq!(names(&parse(source)), expected, "{source}");
    }

    #[test]
    fn items_without_an_id_are_criteria_where_others_have_one() {
        case("- [ ] T001 a\n  - [ ] b\n- [ ] c\n", "T001 (#2) (#3)");
        case("- [ ] a\n  - [ ] b\n- [ ] c\n", "(#1) #2 #3");
        case("- [ ] 1. a\n  - [ ] 1.1 b\n- [ ] c\n", "1 1.1 (#3)");
        case("- [ ] T001 a\n- [ ] **AC-01**: b\n", "T001 (AC-01)");
        case("- [ ] **AC-01**: b\n- [ ] AC-02 c\n", "AC-01 AC-02");
        case("- [ ] T001 a\n- [x] ~~T001 b~~\n- [ ] T001 c\n", "T001 T001#2 T001#3");
    }

    #[test]
    fn a_word_with_a_number_is_no_id_unless_the_file_bears_it_out() {
        case("- [ ] a\n- [ ] b\n- [ ] c\n- [ ] d\n- [ ] S3 bucket\n", "#1 #2 #3 #4 #5");
        case("- [ ] a\n- [ ] b\n- [ ] c\n- [ ] d\n- [ ] 2.0 is out\n", "#1 #2 #3 #4 #5");
        case("- [ ] T001 a\n- [ ] S3 bucket\n", "T001 (#2)");
        case("- [ ] S1 a\n- [ ] S2 b\n", "S1 S2");
    }

    #[test]
    fn boxes_count_only_where_markdown_sees_a_task() {
        case("```\n- [ ] T001 a\n```\n<!--\n- [ ] T002 b\n-->\n    - [ ] T003 c\n", "");
        case(
            "* [ ] T001 a\n\n+ [X] T002 b\n\n1. [ ] T003 c\n2) [x] T004 d\n\n> - [ ] T005 e\n",
            "T001 T002 T003 T004 T005",
        );
        case("| a |\n|---|\n| [ ] T001 |\n", "");
    }

    #[test]
    fn offsets_count_bytes_of_the_file() {
        let source = "\u{feff}---\r\ntitle: ä\r\n---\r\n# Tasks\r\n- [x] T001 ü\r\n- [ ] T002";
        let list = parse(source);
        let found: Vec<_> = list.items.iter().map(|item| (item.line, item.offset)).collect();
        assert_eq!(found, [(5, source.find("[x]").unwrap()), (6, source.find("[ ]").unwrap())]);
        assert_eq!(*list.items[0].headings, ["Tasks"]);
    }

    #[test]
    fn text_is_one_line_without_comments_and_quotes() {
        let list = parse("> - [ ] T001 one\n>   two <!-- hash -->\n>\n>   body\n");
        assert_eq!(list.items[0].text, "one two");
    }

    #[test]
    fn what_is_not_utf8_is_refused_with_its_place() {
        let error = TaskList::parse(b"- [ ] T001 a\n- [ ] caf\xe9\n").unwrap_err().to_string();
        assert_eq!(error, "the text is not UTF-8: byte 22 (line 2) is 0xE9");
    }

    #[test]
    fn odd_boxes_are_reported_wherever_they_stand() {
        let source = "- [-] a\n* [ ]* 2.1 b\n-[ ] c\n[ ] d\n\n### [x] e\n\n- [P] f\n- ok\n  - [~] g\n- [ ] T001 h\n[ ] i\n- **[ ]** j\n- [] k\n```\n- [-] l\n```\n";
        let list = parse(source);
        let found: Vec<_> =
            list.unrecognised.iter().map(|odd| format!("{}:{}", odd.line, odd.mark)).collect();
        assert_eq!(found.join(" "), "1:- 3:  4:  6:x 10:~ 12:  13:  14:");
    }

    #[test]
    fn dependencies_are_resolved_against_the_file() {
        let list = parse(
            "- [ ] T001 a\n- [ ] T001b b\n- [ ] T003 c\n- [ ] T004 d (depends on T001-T003, T099)\n\
             - [ ] T005 e (depends on FR-001)\n- [ ] T006 f\n  - **Depends on**: T005\n- [ ] T007 g (depends on T001-003)\n",
        );
        let waits = |name: &str| list.find(name).unwrap().depends_on.join(" ");
        assert_eq!(waits("T004"), "T001 T001b T003 T099");
        assert_eq!(waits("T005"), "");
        assert_eq!(waits("T006"), "T005");
        assert_eq!(waits("T007"), "T001 T001b T003");
        let list = parse("- [ ] 1.1 a\n- [ ] 1.2 b (depends on Task 1.1)\n- [ ] 2 c\n");
        assert_eq!(list.items[1].depends_on, ["1.1"]);
    }

    #[test]
    fn a_task_is_optional_by_a_star_or_a_word_at_its_front_or_end() {
        let optional = |task: &str, words: &str| {
            let list = parse(&format!("{task}\n\n{words}\n"));
            (list.items[0].optional, list.items[0].id.clone())
        };
        let latin = "para los que; para não uma; pour les des; für und mit";
        for (task, words) in [
            ("- [ ]* 2.1 Write tests", ""),
            (r"- [x]\* 2.1 Write tests", ""),
            ("- [ ] 2.1 (optional) Write tests", ""),
            ("- [ ] (Optional) 2.1 Write tests", ""),
            ("- [ ] [optional] 2.1 Write tests", ""),
            ("- [ ] 2.1 **(Optional)** Write tests", ""),
            ("- [ ] 2.1 Optional: write tests", ""),
            ("- [ ] 2.1 (optional): Workshop", ""),
            ("- [ ] 2.1 Write tests (OPTIONAL)", ""),
            ("- [ ] 2.1 Write tests (optional).", ""),
            ("- [ ] 2.1 Merge (optional - only if asked)", ""),
            ("- [ ] 2.1 Write tests (optional, depends on 1.1)", ""),
            ("- [ ] 2.1 编写文档（可选）", ""),
            ("- [ ] 2.1 可选：编写文档", ""),
            ("- [ ] 2.1 文書を作る（任意）", ""),
            ("- [ ] 2.1 문서 작성 (선택)", ""),
            ("- [ ] 2.1 Escribir la guía (opcional)", latin),
            ("- [ ] 2.1 Escrever o guia (opcional)", latin),
            ("- [ ] 2.1 (facultatif) Écrire le guide", latin),
            ("- [ ] 2.1 Anleitung schreiben (freiwillig)", latin),
            ("- [ ] 2.1 Написать руководство (необязательно)", ""),
        ] {
            assert_eq!(optional(task, words), (true, Some("2.1".to_owned())), "{task}");
        }
        for task in [
            "- [ ] 2.1 Add an optional `plugins` block",
            "- [ ] 2.1 Accept optional fields (required vs optional)",
            "- [ ] 2.1 Add helpers (optional) to the client",
            "- [ ] 2.1 E2E（可选）：登录",
            "- [ ] 2.1 (optional relaxed checks) Add staging",
            "- [ ] 2.1 Optionally run the benchmarks",
            "- [ ] 2.1 封锁（任意）",
            "- [ ] 2.1 *Write* tests",
            "- [ ] 2.1 Write tests (opcional)",
        ] {
            assert_eq!(optional(task, ""), (false, Some("2.1".to_owned())), "{task}");
        }
        let heading = "## Tests (OPTIONAL - only if tests are requested)\n- [ ] T001 a\n";
        assert!(!parse(heading).items[0].optional);
    }

    #[test]
    fn optional_tasks_may_be_settled() {
        let mut list = parse("- [ ] 1. a\n  - [ ]* 1.1 b\n  - [x]* 1.2 c\n- [ ] 2. d (depends on 1.1)\n");
        assert_eq!((list.counts().done, list.counts().open), (1, 3));
        list.settle_optional();
        assert_eq!((list.counts().done, list.counts().open), (1, 2));
        assert!(list.find("1.1").unwrap().is_settled());
    }

    #[test]
    fn names_find_their_items() {
        let list = parse("- [ ] T001 a\n- [ ] T001 b\n- [ ] T002 c\n");
        for (name, line) in [("T001", 1), ("T001#1", 1), ("T001#2", 2), ("t002", 3)] {
            assert_eq!(list.find(name).unwrap().line, line, "{name}");
        }
        assert!(list.find("T003").is_none());
        assert!(list.find("").is_none());
    }

    #[test]
    fn only_the_template_itself_is_a_template() {
        assert!(parse("# Tasks: [FEATURE NAME]\n- [ ] T001 Create\n").is_unfilled_template());
        assert!(
            parse("## Phase 3: User Story 1 - [Title]\n- [ ] T001 a\n- [ ] TXXX b\n").is_unfilled_template()
        );
        assert!(!parse("# Tasks: Login\n- [ ] T001 a\n- [ ] TXXX b\n").is_unfilled_template());
    }

    fn markdown() -> impl Strategy<Value = String> {
        let pieces = prop::sample::select(vec![
            "- [ ] ",
            "- [x] ",
            "\n- [ ] T001",
            "- ",
            "* ",
            "1. ",
            "  ",
            "    ",
            "> ",
            "[ ]",
            "[x]",
            "[X]",
            "[-]",
            "[]",
            "[~]",
            " ",
            "T001",
            "T002a",
            "1.2",
            "**",
            "~~",
            "`",
            "```",
            "\n",
            "\n\n",
            "\r\n",
            "\r",
            "\t",
            "# ",
            "---",
            "<!--",
            "-->",
            "[P]",
            "[US1]",
            ":",
            "(depends on T001-T003)",
            "\u{feff}",
            "ä",
            "✅",
            "\\",
            "|",
            "T003-T006",
            "](x)",
            "[",
            "]",
            "\u{a0}",
            "a: b",
        ]);
        prop::collection::vec(pieces, 0..60).prop_map(|pieces| pieces.concat())
    }

    proptest! {
        #[test]
        fn no_bytes_make_it_panic(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
            drop(TaskList::parse(&bytes));
        }

        #[test]
        fn every_offset_points_at_a_box_on_its_line(source in markdown()) {
            let list = parse(&source);
            for item in &list.items {
                let bytes = &source.as_bytes()[item.offset..item.offset + 3];
                prop_assert_eq!(bytes, [b'[', item.mark as u8, b']']);
                prop_assert!(item.parent.is_none_or(|parent| !list.items[parent].is_leaf));
                prop_assert_eq!(list.find(&item.name).map(|found| found.offset), Some(item.offset));
            }
            let odd: Vec<_> = list.unrecognised.iter().map(|odd| odd.line).collect();
            prop_assert!(odd.is_sorted());
        }
    }
}

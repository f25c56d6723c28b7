//! What is fuzzed: plain functions from bytes to nothing, which panic where a promise is broken.
//!
//! `fuzz_targets/` hands them to libFuzzer, `src/bin/smoke.rs` to a small driver that needs no special compiler.

use std::fmt::Debug;
use std::fs;

use camino::Utf8Path;
use failure_excerpt::{Features, Neighbours, Output, examine};
use ralph_core::config::{Config, Inputs, file_text};
use ralph_core::progress::fenced;
use ralph_core::progress::progress_txt::{self, CatchUp};
use ralph_core::record::{Envelope, Iteration, LogEntry, ObjectId, SessionId, Subject, Timestamp};
use ralph_project::project_files::ProjectFiles;
use ralph_project::tasks::set_marks;
use ralph_store::{Begin, Draft, Manifest, SessionRefs, SpoolMeta, compose_message, slug};
use redact_stream::{RedactingReader, Redactor};
use serde::Serialize;
use serde::de::DeserializeOwned;
use tasklist::{Mark, Pairing, TaskList, Ticked};

mod links;

pub use links::links;

/// A target, by its name and the function that takes its inputs.
pub type Target = (&'static str, fn(&[u8]));

pub const TARGETS: [Target; 12] = [
    ("tasks", tasks),
    ("message", message),
    ("spool", spool),
    ("manifest", manifest),
    ("refs", refs),
    ("progress", progress),
    ("streams", streams),
    ("redact", redact),
    ("config", config),
    ("final_message", final_message),
    ("excerpt", excerpt),
    ("links", links),
];

/// Any bytes are a task list, or no UTF-8; ticking a box changes one byte, and opening it gives the file back.
pub fn tasks(input: &[u8]) {
    let Ok(list) = TaskList::parse(input) else {
        let is_large = input.len() > tasklist::MAX_ITEMS;
        assert!(is_large || std::str::from_utf8(input).is_err(), "text was refused");
        return;
    };
    for item in &list.items {
        assert_eq!(input.get(item.offset), Some(&b'['), "{item:?}");
        match &item.odd_box {
            Some(odd) => assert!(input[item.offset..].starts_with(odd.as_bytes()), "{item:?}"),
            None => assert_eq!(input.get(item.offset + 2), Some(&b']'), "{item:?}"),
        }
        assert_eq!(list.find(&item.name).map(|found| found.offset), Some(item.offset), "{item:?}");
    }
    for pairing in
        [Pairing::likely(&list, &list), Pairing::similar(&list, &list), Pairing::certain(&list, &list)]
    {
        assert!(pairing.ticked().is_empty() && pairing.lost().is_empty(), "{pairing:?}");
    }
    drop(list.next_open(|_| false));
    let Some(item) = list.items.iter().find(|item| !item.done) else { return };
    // Files are slow: not for every input.
    if !input.len().is_multiple_of(16) {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let top = Utf8Path::from_path(dir.path()).unwrap();
    let (files, path) = (ProjectFiles::new(top, &[], &[]), top.join("tasks.md"));
    fs::write(&path, input).unwrap();
    assert_eq!(
        set_marks(&files, &path, &list, &[item], Mark::Done).unwrap().changed,
        std::slice::from_ref(&item.name)
    );
    let ticked = fs::read(&path).unwrap();
    let differing: Vec<_> = (0..input.len()).filter(|&at| input[at] != ticked[at]).collect();
    assert_eq!((ticked.len(), differing), (input.len(), vec![item.offset + 1]));
    let later = TaskList::parse(&ticked).unwrap();
    let done = later.items.iter().find(|found| found.offset == item.offset).unwrap();
    assert_eq!(Pairing::likely(&list, &later).ticked(), [Ticked { before: Some(item), after: done }]);
    assert_eq!(
        set_marks(&files, &path, &later, &[done], Mark::Open).unwrap().changed,
        std::slice::from_ref(&done.name)
    );
    let opened = fs::read(&path).unwrap();
    let is_back = (0..input.len()).all(|at| opened[at] == input[at] || at == item.offset + 1);
    assert!(is_back && opened[item.offset + 1] == b' ');
}

/// Any message is read or refused; what we write is read back, whatever the texts in it.
pub fn message(input: &[u8]) {
    let text = String::from_utf8_lossy(input);
    let envelope = Envelope {
        commit: "0".repeat(40).parse::<ObjectId>().unwrap(),
        parent: None,
        authored_at: Timestamp::from_seconds(0),
        committed_at: Timestamp::from_seconds(1),
    };
    drop(LogEntry::of_message(&text, &envelope));
    let mut iteration: Iteration = serde_json::from_str(include_str!("iteration.json")).unwrap();
    let mut parts = text.split('\u{1}').map(str::to_owned);
    iteration.task = parts.next();
    iteration.phase = parts.next();
    iteration.model = parts.next();
    iteration.feature = parts.next().unwrap_or_default();
    let entry = parts.next().unwrap_or_default();
    let message = compose_message(Subject::Iteration(&iteration), &entry);
    let read = LogEntry::of_message(&message, &envelope).unwrap().expect("it is ours");
    assert_eq!(
        (read.task(), read.phase(), read.model(), read.feature(), read.outcome(), read.exit(), read.tokens()),
        (
            iteration.task.as_deref(),
            iteration.phase.as_deref(),
            iteration.model.as_deref(),
            iteration.feature.as_str(),
            Some(iteration.outcome),
            iteration.exit,
            iteration.tokens
        ),
        "{message}"
    );
}

/// What is read of a spool is written as it was.
pub fn spool(input: &[u8]) {
    json::<Begin>(input);
    json::<Draft>(input);
    json::<SpoolMeta>(input);
}

pub fn manifest(input: &[u8]) {
    json::<Manifest>(input);
    json::<Iteration>(input);
}

fn json<T: DeserializeOwned + Serialize + PartialEq + Debug>(input: &[u8]) {
    let Ok(value) = serde_json::from_slice::<T>(input) else { return };
    let written = serde_json::to_vec(&value).unwrap();
    assert_eq!(serde_json::from_slice::<T>(&written).unwrap(), value);
}

/// Every feature has a name that git takes, that is read back, and that no other feature has.
pub fn refs(input: &[u8]) {
    let text = String::from_utf8_lossy(input);
    drop(SessionRefs::from_log(&text));
    drop(text.parse::<SessionId>());
    let (one, other) = text.split_once('\n').unwrap_or((&text, "other"));
    let bare = |text: &str| text.strip_prefix("specs/").unwrap_or(text).to_owned();
    assert_eq!(slug(one) == slug(other), bare(one) == bare(other));
    if bare(one).is_empty() {
        return;
    }
    let name = slug(one);
    assert!(
        name.bytes().all(|byte| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_' | b'=')),
        "{name}"
    );
    assert!(name.len() <= 120 && !name.starts_with('-'), "{name}");
    let refs = SessionRefs::new(one, SessionId::new(Timestamp::from_seconds(0), 7));
    assert_eq!(SessionRefs::from_log(&refs.log()), Some(refs));
}

/// Whatever stands in progress.txt, one catch-up brings it up to the record, and a second finds nothing to do.
pub fn progress(input: &[u8]) {
    let mut parts = input.split(|&byte| byte == 1);
    let (base, found) = (parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
    // As entries are: numbered, without headings of their own, and with an end.
    let entries: Vec<Vec<u8>> = parts
        .enumerate()
        .map(|(number, part)| {
            let text: Vec<u8> = part.iter().copied().filter(|&byte| byte != b'#').collect();
            [format!("## Iteration {number} - 2026\n").as_bytes(), &text, b"\n---\n\n"].concat()
        })
        .collect();
    let entries: Vec<&[u8]> = entries.iter().map(Vec::as_slice).collect();
    let expected = progress_txt::rebuild(base, entries.iter().copied());
    assert_eq!(progress_txt::first_difference(&expected, found).is_none(), expected == found);
    let mut after = found.to_vec();
    match progress_txt::catch_up(&entries, base, found) {
        CatchUp::UpToDate => assert!(found.starts_with(&expected)),
        CatchUp::Append(bytes) | CatchUp::Rebuild(bytes) => {
            after.extend(bytes);
            assert_eq!(after, expected);
        }
        CatchUp::Edited { missing, .. } => after.extend(missing),
    }
    match progress_txt::catch_up(&entries, base, &after) {
        CatchUp::UpToDate => {}
        CatchUp::Edited { missing, .. } => assert!(missing.is_empty(), "still missing: {missing:?}"),
        other => panic!("not caught up: {other:?}"),
    }
    let _range = progress_txt::patterns_range(&String::from_utf8_lossy(found));
}

/// Any bytes may come from any agent: every parser reads them.
pub fn streams(input: &[u8]) {
    ralph_agent::read_streams(input);
}

/// A text is redacted the same in whole, in parts, and through a reader, and once is enough.
pub fn redact(input: &[u8]) {
    thread_local! {
        static REDACTOR: Redactor = Redactor::new(&["sesame-[a-z]+".to_owned()], &[]).unwrap();
    }
    REDACTOR.with(|redactor| {
        let (whole, counts) = redactor.redact_bytes(input);
        let mut parts = Vec::new();
        let counted = redactor.copy(input, |part| {
            parts.extend_from_slice(part);
            Ok::<(), std::io::Error>(())
        });
        assert_eq!((&parts, counted.unwrap()), (&whole, counts));
        let mut read = Vec::new();
        std::io::Read::read_to_end(&mut RedactingReader::new(redactor, input), &mut read).unwrap();
        assert_eq!(read, whole);
        assert_eq!(redactor.redact_bytes(&whole).0, whole, "redacted twice");
    });
}

/// Any file is read or refused with a place.
pub fn config(input: &[u8]) {
    let read = file_text(input.to_vec())
        .and_then(|text| Config::read(&Inputs { file: Some(text), ..Inputs::default() }));
    match read {
        Ok(config) => drop(config.to_json()),
        Err(error) => assert!(format!("{error:#}").starts_with(".specify/ralph.toml:"), "{error:#}"),
    }
}

pub fn final_message(input: &[u8]) {
    let text = String::from_utf8_lossy(input);
    let findings = ralph_agent::final_message::findings(&text);
    let all = [findings.learnings, findings.decisions, findings.approaches].concat();
    assert!(all.iter().all(|item| !item.trim().is_empty()), "{all:?}");
    if ralph_agent::final_message::promise(&text) {
        assert!(text.contains("<promise>COMPLETE</promise>"));
    }
}

/// Any output has an excerpt within its budget that cannot leave its fence, and a fingerprint that no colour changes.
pub fn excerpt(input: &[u8]) {
    let text = String::from_utf8_lossy(input);
    let (stdout, stderr) = text.split_once('\u{1}').unwrap_or((&text, ""));
    let output = Output { stdout, stderr, exit_code: Some(1), cwd: Some("/w/p"), is_partial: false };
    let examined = examine(&output);
    for budget in [0, 10, 200, 1000] {
        let excerpt = examined.excerpt(budget);
        assert!(excerpt.chars().count() <= budget, "{excerpt:?}");
        assert!(!excerpt.contains(|c: char| c.is_control() && c != '\n' && c != '\t'), "{excerpt:?}");
        let block = fenced(&excerpt);
        let fence = block.lines().next().unwrap();
        assert_eq!(block.lines().filter(|line| line.trim().starts_with(fence)).count(), 2, "{block}");
    }
    let levels = examined.fingerprint();
    assert_eq!(levels.is_none(), examined.excerpt(1000).is_empty());
    if !text.contains(['\u{1b}', '\r', '\u{8}']) {
        let coloured = |text: &str| text.replace('\n', "\u{1b}[0m\r\n\u{1b}[31m");
        let (stdout, stderr) = (coloured(stdout), coloured(stderr));
        let output = Output {
            stdout: &stdout,
            stderr: &stderr,
            exit_code: Some(1),
            cwd: Some("/w/p"),
            is_partial: false,
        };
        let again = examine(&output);
        assert_eq!(again.fingerprint(), levels);
        assert_eq!(again.tally(), examined.tally());
    }
    let both = [Features::of(&examined), Features::of(&examined)];
    let likeness = Neighbours::new(&both).likeness(0, 1);
    assert!((0.0..=1.001).contains(&likeness), "{likeness}");
}

//! The store from outside: what it writes is read back with plain git.

use std::time::Duration;

use camino::{Utf8Path, Utf8PathBuf};
use redact_stream::Redactor;

use ralph_core::record::{Iteration, ObjectId, RecordKind, Session, SessionId, Timestamp};
use ralph_git::repository::Repository;
use ralph_git::worktree::WorkTree;
use ralph_os::process::Tool;

use super::files::{CHUNK, PROGRESS_CHUNK};
use super::refs::database::RefUpdate;
use super::{
    Conflict, Draft, Holder, LoopLock, RefState, SessionLog, SessionQuery, Slot, Store, VerifyReport,
    counters, names, samples,
};

const EMPTY_TREE: &str = "4b825dc642cb6eb9a060e54bf8d69288fbee4904";

struct Scene {
    dir: tempfile::TempDir,
    work_tree: WorkTree,
    store: Store,
}

impl Scene {
    fn new() -> Self {
        Self::with(&[])
    }

    fn with(options: &[&str]) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let path = Utf8Path::from_path(dir.path()).unwrap();
        Tool::git(path)
            .args(["init", "-q", "-b", "main"])
            .args(options.iter().copied())
            .arg(".")
            .read()
            .unwrap();
        let (mut repository, work_tree) = Repository::discover(path, &[None, None], None).unwrap();
        // The user who runs the tests may have a name.
        repository.author = None;
        Self { dir, work_tree: work_tree.unwrap(), store: Store::new(repository) }
    }

    fn sessions(&self, unreadable: &mut Vec<anyhow::Error>) -> Vec<SessionLog> {
        self.store.sessions(&SessionQuery::default(), unreadable).unwrap()
    }

    fn path(&self) -> &Utf8Path {
        Utf8Path::from_path(self.dir.path()).unwrap()
    }

    fn git(&self, arguments: &[&str]) -> String {
        Tool::git(self.path()).args(arguments.iter().copied()).line().unwrap()
    }

    fn slot(&self, name: &str) -> Slot {
        let place = place(self.path());
        let spool = super::Spool::create(&self.work_tree, &place).unwrap();
        let slot = spool.slot(name);
        slot.create().unwrap();
        slot
    }

    fn append(&self, draft: &Draft, name: &str) -> anyhow::Result<ObjectId> {
        let slot = self.slot(name);
        slot.write("data", b"stdout\xff\0 bytes\n").unwrap();
        slot.write(names::PROGRESS, b"## Iteration\n").unwrap();
        slot.seal(draft).unwrap();
        self.store.append(&slot, draft, &Redactor::default())
    }
}

fn place(path: &Utf8Path) -> super::SpoolMeta {
    super::SpoolMeta {
        session: samples::session_id(),
        feature: "specs/001-login".into(),
        feature_name: "001-login".into(),
        work_tree: "main".into(),
        tasks_path: path.join("tasks.md"),
        progress_path: path.join("progress.txt"),
        host: "host".into(),
        boot: None,
        pid: 1,
        begun: samples::session(),
        untick: true,
        snapshots: true,
        protect: Vec::new(),
        snapshot_max_file: 1,
        redaction_rules: Vec::new(),
        redaction_allow: Vec::new(),
    }
}

fn start() -> Draft {
    Draft {
        kind: RecordKind::Start,
        feature: "specs/001-login".into(),
        session: samples::session_id(),
        parent: None,
        snapshot_parent: None,
        snapshot: None,
        authored_at: Timestamp::from_seconds(1_795_294_000),
        committed_at: Timestamp::from_seconds(1_795_294_001),
        iteration: None,
        session_json: Some(samples::session()),
        is_published: false,
        files: vec![
            ("validation/stdout".into(), "data".into()),
            ("progress.md".into(), names::PROGRESS.into()),
        ],
    }
}

fn iteration(number: u32, parent: &ObjectId) -> Draft {
    Draft {
        kind: RecordKind::Iteration,
        parent: Some(parent.clone()),
        iteration: Some(samples::iteration(number)),
        session_json: None,
        ..start()
    }
}

#[test]
fn a_record_is_a_commit_that_plain_git_reads() {
    let scene = Scene::new();
    let first = scene.append(&start(), "start").unwrap();
    let second = scene.append(&iteration(1, &first), "1").unwrap();
    let name = "refs/ralph/001-login/20261121-204512-3f9a0c1d";
    assert_eq!(scene.git(&["for-each-ref", "--format=%(refname) %(objectname)"]), format!("{name} {second}"));
    assert_eq!(
        scene.git(&[
            "log",
            "--glob=refs/ralph/*",
            "--format=%s | %an | %cn | %(trailers:key=Ralph-Outcome,valueonly,separator=)"
        ]),
        "001-login: iteration 1, T004 failed (cargo test exited 101) | specify ralph | specify ralph | failure\n\
         001-login: start, 18 tasks open, agent claude | specify ralph | specify ralph | "
    );
    let stored = Tool::git(scene.path()).args(["show", &format!("{name}:validation/stdout")]).read().unwrap();
    assert_eq!(stored, b"stdout\xff\0 bytes\n");
    assert_eq!(scene.git(&["fsck", "--strict", "--no-dangling"]), "");
    let read: Iteration =
        serde_json::from_str(&scene.git(&["show", &format!("{name}:iteration.json")])).unwrap();
    assert_eq!(read, samples::iteration(1));
}

#[test]
fn the_same_draft_gives_the_same_commit_and_is_recorded_once() {
    let (one, other) = (Scene::new(), Scene::new());
    let first = one.append(&start(), "start").unwrap();
    assert_eq!(other.append(&start(), "start").unwrap(), first);
    let second = one.append(&iteration(1, &first), "1").unwrap();
    assert_eq!(one.append(&iteration(1, &first), "1").unwrap(), second);
    assert_eq!(one.append(&start(), "start").unwrap(), first);
    assert_eq!(one.git(&["rev-list", "--count", "--all"]), "2");
}

#[test]
fn a_ref_that_somebody_moved_is_never_written_over() {
    let scene = Scene::new();
    let first = scene.append(&start(), "start").unwrap();
    let name = "refs/ralph/001-login/20261121-204512-3f9a0c1d";
    let foreign =
        scene.git(&["-c", "user.name=x", "-c", "user.email=x@x", "commit-tree", "-m", "foreign", EMPTY_TREE]);
    scene.git(&["update-ref", name, &foreign]);
    let error = scene.append(&iteration(1, &first), "1").unwrap_err();
    assert!(error.downcast_ref::<Conflict>().is_some(), "{error:#}");
    assert_eq!(scene.git(&["rev-parse", name]), foreign);
    scene.git(&["update-ref", "-d", name]);
    assert!(scene.append(&iteration(1, &first), "1").is_err());
}

#[test]
fn what_is_written_is_read_back_also_in_a_sha256_repository() {
    for options in [&[][..], &["--object-format=sha256"]] {
        let scene = Scene::with(options);
        let first = scene.append(&start(), "start").unwrap();
        let mut draft = iteration(1, &first);
        draft.iteration.as_mut().unwrap().head_before = None;
        scene.append(&draft, "1").unwrap();
        let sessions = scene.sessions(&mut Vec::new());
        let log = sessions.first().unwrap();
        assert_eq!(log.feature(), "specs/001-login");
        assert_eq!(log.entries.len(), 2);
        assert_eq!(scene.store.iteration(log.tip()).unwrap(), draft.iteration.unwrap());
        assert_eq!(scene.store.session_json(&log.entries[0]).unwrap(), samples::session());
        let file = scene.store.file(&log.tip().commit(), "validation/stdout").unwrap();
        assert_eq!(file.unwrap(), b"stdout\xff\0 bytes\n");
        assert_eq!(scene.store.file(&log.tip().commit(), "agent/stdout").unwrap(), None);
    }
}

#[test]
fn a_big_stream_is_stored_in_chunks_and_comes_back_whole() {
    let scene = Scene::new();
    let slot = scene.slot("start");
    let big: Vec<u8> = (0..9_000_000u32).map(|i| (i % 251) as u8).collect();
    slot.write("data", &big).unwrap();
    let draft = start();
    slot.seal(&draft).unwrap();
    let commit = scene.store.append(&slot, &draft, &Redactor::default()).unwrap();
    assert_eq!(scene.store.file(&commit, "validation/stdout").unwrap().unwrap(), big);
    assert_eq!(
        scene.git(&["ls-tree", "--name-only", &format!("{commit}:validation/stdout")]),
        "00000\n00001\n00002"
    );
}

#[test]
fn refs_of_other_tools_are_neither_listed_nor_taken_for_ours() {
    let scene = Scene::new();
    let foreign =
        scene.git(&["-c", "user.name=x", "-c", "user.email=x@x", "commit-tree", "-m", "foreign", EMPTY_TREE]);
    for name in ["refs/ralph/other/20261121-204512-3f9a0c1d", "refs/ralph/lock", "refs/ralph/a/b/c"] {
        scene.git(&["update-ref", name, &foreign]);
    }
    assert!(scene.sessions(&mut Vec::new()).is_empty());
    assert_eq!(scene.store.blocking_ref("specs/lock").unwrap().as_deref(), Some("refs/ralph/lock"));
}

#[test]
fn a_torn_object_in_the_way_is_replaced() {
    let (one, other) = (Scene::new(), Scene::new());
    let commit = one.append(&start(), "start").unwrap();
    let torn: Vec<Utf8PathBuf> = super::local::disk::children(&one.path().join(".git/objects")).unwrap();
    for folder in torn.iter().filter(|folder| folder.file_name().unwrap().len() == 2) {
        for object in super::local::disk::children(folder).unwrap() {
            let target = other.path().join(object.strip_prefix(one.path()).unwrap());
            std::fs::create_dir_all(target.parent().unwrap()).unwrap();
            std::fs::write(&target, b"").unwrap();
        }
    }
    assert_eq!(other.append(&start(), "start").unwrap(), commit);
    assert_eq!(other.git(&["fsck", "--strict", "--no-dangling"]), "");
}

#[test]
fn a_stale_lock_on_our_own_ref_is_reclaimed() {
    let scene = Scene::new();
    let first = scene.append(&start(), "start").unwrap();
    let lock = scene.path().join(".git/refs/ralph/001-login/20261121-204512-3f9a0c1d.lock");
    std::fs::write(&lock, b"").unwrap();
    scene.append(&iteration(1, &first), "1").unwrap();
    assert!(!lock.exists());
}

#[test]
fn a_stale_lock_on_packed_refs_is_left_alone_and_stops_nobody() {
    let scene = Scene::new();
    let first = scene.append(&start(), "start").unwrap();
    scene.git(&["pack-refs", "--all"]);
    let lock = scene.path().join(".git/packed-refs.lock");
    std::fs::write(&lock, b"").unwrap();
    scene.append(&iteration(1, &first), "1").unwrap();
    assert!(lock.exists());
}

#[test]
fn a_reflog_of_every_ref_is_kept_where_the_user_wants_one() {
    let scene = Scene::new();
    scene.git(&["config", "core.logAllRefUpdates", "always"]);
    scene.append(&start(), "start").unwrap();
    let log = scene.git(&["reflog", "--format=%gs", "refs/ralph/001-login/20261121-204512-3f9a0c1d"]);
    assert_eq!(log, "ralph");
}

#[test]
fn a_snapshot_ref_that_stayed_behind_follows_when_the_record_is_made_again() {
    let scene = Scene::new();
    let snapshot: ObjectId = scene
        .git(&["-c", "user.name=x", "-c", "user.email=x@x", "commit-tree", "-m", "x", EMPTY_TREE])
        .parse()
        .unwrap();
    let draft = Draft { snapshot: Some(snapshot.clone()), ..start() };
    let first = scene.append(&draft, "start").unwrap();
    let name = "refs/ralph-snap/001-login/20261121-204512-3f9a0c1d";
    scene.git(&["update-ref", "-d", name]);
    // What a kill between the two leaves, lock included.
    let lock = scene.path().join(".git").join(format!("{name}.lock"));
    std::fs::create_dir_all(lock.parent().unwrap()).unwrap();
    std::fs::write(&lock, "").unwrap();
    assert_eq!(scene.append(&draft, "start").unwrap(), first);
    assert_eq!(scene.git(&["rev-parse", name]), snapshot.to_string());
    assert!(!lock.exists());
}

#[test]
fn objects_that_a_power_cut_tore_in_the_spool_are_written_again() {
    let scene = Scene::new();
    let slot = scene.slot("start");
    slot.write("data", b"data\n").unwrap();
    let draft = start();
    slot.seal(&draft).unwrap();
    let id = Tool::git(scene.path()).args(["hash-object", "--stdin"]).stdin("data\n").line().unwrap();
    let torn = slot.path(names::OBJECTS).join(&id[..2]).join(&id[2..]);
    std::fs::create_dir_all(torn.parent().unwrap()).unwrap();
    std::fs::write(&torn, "").unwrap();
    scene.store.drop_torn_objects(&slot).unwrap();
    let commit = scene.store.append(&slot, &draft, &Redactor::default()).unwrap();
    assert_eq!(scene.store.file(&commit, "validation/stdout").unwrap().unwrap(), b"data\n");
    assert_eq!(scene.git(&["fsck", "--strict", "--no-dangling"]), "");
}

#[test]
fn of_sixty_four_sessions_written_at_the_same_time_none_is_lost() {
    let scene = Scene::new();
    let sessions: Vec<(Draft, Slot)> = (0..64)
        .map(|number| {
            let id = SessionId::new(Timestamp::from_seconds(1_795_294_000), number);
            let session_json = Session { id: id.clone(), ..samples::session() };
            let place = super::SpoolMeta { session: id.clone(), ..place(scene.path()) };
            let slot = super::Spool::create(&scene.work_tree, &place).unwrap().slot("start");
            slot.create().unwrap();
            slot.write("data", number.to_string().as_bytes()).unwrap();
            (Draft { session: id, session_json: Some(session_json), ..start() }, slot)
        })
        .collect();
    let all_at_once = std::sync::Barrier::new(sessions.len());
    std::thread::scope(|scope| {
        for (draft, slot) in &sessions {
            scope.spawn(|| {
                slot.seal(draft).unwrap();
                all_at_once.wait();
                scene.store.append(slot, draft, &Redactor::default()).unwrap();
            });
        }
    });
    assert_eq!(scene.sessions(&mut Vec::new()).len(), 64);
    assert_eq!(scene.git(&["fsck", "--strict", "--no-dangling"]), "");
}

#[test]
fn below_the_newest_records_a_walk_reads_the_cache_wherever_it_begins() {
    let scene = Scene::new();
    let id = samples::session_id();
    let mut stream = String::new();
    for number in 0..700 {
        let kind = match number {
            0 => "start".to_owned(),
            _ => format!("iteration\nRalph-Iteration: {number}\nRalph-Outcome: failure"),
        };
        let message = format!(
            "x\n\nRalph-Schema: 1\nRalph-Session: {id}\nRalph-Feature: specs/001-login\nRalph-Agent: a\nRalph-Record: {kind}\n"
        );
        stream.push_str(&format!(
            "commit refs/ralph/001-login/{id}\ncommitter a <a@b> {} +0000\ndata {}\n{message}\n",
            1_795_294_000 + number,
            message.len()
        ));
    }
    Tool::git(scene.path()).args(["fast-import", "--quiet"]).stdin(stream).read().unwrap();
    let whole = scene.sessions(&mut Vec::new()).remove(0);
    assert_eq!(scene.store.logs_of(whole.feature()).unwrap()[0].entries, whole.entries);
    for place in [650, 700] {
        let tip = whole.entries[place - 1].commit();
        let reader = scene.store.reader().unwrap();
        let read = || reader.chain(&whole.refs).read(&tip).unwrap().entries;
        let (walked, entries) = counters::during(&counters::COMMITS_WALKED, read);
        assert_eq!(walked, 300);
        assert_eq!(entries, whole.entries[..place]);
    }
}

#[test]
fn whose_the_lock_was_before_is_not_told_as_whose_it_is() {
    let scene = Scene::new();
    let holder = || LoopLock::holders(scene.store.repository()).unwrap();
    let mut lock = LoopLock::take(&scene.work_tree).unwrap();
    let started_at = Timestamp::from_seconds(1_795_294_000);
    let first = Holder { session: samples::session_id(), pid: 7, host: "here".into(), started_at };
    lock.name_holder(&scene.work_tree, first.clone()).unwrap();
    assert_eq!(holder(), std::slice::from_ref(&first));
    let refused = LoopLock::take(&scene.work_tree).unwrap_err().to_string();
    assert!(refused.contains("20261121-204512-3f9a0c1d, process 7 on here, since "), "{refused}");
    drop(lock);
    let _second = LoopLock::take(&scene.work_tree).unwrap();
    assert_eq!(holder(), []);
    let refused = LoopLock::take(&scene.work_tree).unwrap_err().to_string();
    assert!(refused.contains("just starting"), "{refused}");
    // Older versions write it into the lock.
    let lock = scene.store.repository().ralph_dir().join("loops/main");
    std::fs::write(lock, serde_json::to_vec(&first).unwrap()).unwrap();
    assert_eq!(holder(), [first]);
}

#[test]
fn the_end_of_a_file_is_read_without_the_rest_of_it() {
    let scene = Scene::new();
    let whole: Vec<u8> = (0..=250).cycle().take(2 * CHUNK + 3).collect();
    let slot = scene.slot("start");
    slot.write("data", &whole).unwrap();
    slot.seal(&start()).unwrap();
    let commit = scene.store.append(&slot, &start(), &Redactor::default()).unwrap();
    for (most, is_cut) in
        [(0, true), (2, true), (3, true), (10, true), (CHUNK + 9, true), (whole.len(), false)]
    {
        let tail = scene.store.tail(&commit, "validation/stdout", most).unwrap();
        assert!(tail == (whole[whole.len() - most..].to_vec(), is_cut), "{most}");
    }
    let (all, is_cut) = scene.store.tail(&commit, "validation/stdout", usize::MAX).unwrap();
    assert!(all == whole && !is_cut);
    assert_eq!(scene.store.tail(&commit, "validation/none", 9).unwrap(), (Vec::new(), false));
}

#[test]
fn a_ref_goes_back_where_we_left_it() {
    let scene = Scene::new();
    let first = scene.append(&start(), "start").unwrap();
    let second = scene.append(&iteration(1, &first), "1").unwrap();
    let name = "refs/ralph/001-login/20261121-204512-3f9a0c1d";
    let recover_ref = |expected: &ObjectId| scene.store.refs().recover(name, expected).unwrap();
    assert_eq!(recover_ref(&second), RefState::Fine);
    // What follows there is a later record of the session: not a slip, and nothing to put back.
    assert_eq!(recover_ref(&first), RefState::Fine);
    assert_eq!(scene.git(&["rev-parse", name]), second.as_str());

    let foreign =
        scene.git(&["-c", "user.name=x", "-c", "user.email=x@x", "commit-tree", "-m", "foreign", EMPTY_TREE]);
    for (arguments, said) in [
        (vec!["update-ref", "-d", name], "was deleted"),
        (vec!["update-ref", name, first.as_str()], "was moved to"),
        (vec!["update-ref", name, &foreign], foreign.as_str()),
    ] {
        scene.git(&arguments);
        let state = recover_ref(&second);
        assert!(matches!(&state, RefState::Restored(warning) if warning.contains(said)), "{state:?}");
        assert_eq!(scene.git(&["rev-parse", name]), second.as_str());
    }
    let unknown = "1".repeat(40).parse().unwrap();
    assert_eq!(recover_ref(&unknown), RefState::Lost);
    assert_eq!(scene.git(&["rev-parse", name]), second.as_str());
}

#[test]
fn a_session_of_a_newer_version_does_not_hide_the_others() {
    let scene = Scene::new();
    scene.append(&start(), "start").unwrap();
    let message = "001-login: start\n\nRalph-Schema: 2\nRalph-Record: start\n";
    let tree = "4b825dc642cb6eb9a060e54bf8d69288fbee4904";
    let newer = scene.git(&["-c", "user.name=x", "-c", "user.email=x@x", "commit-tree", "-m", message, tree]);
    scene.git(&["update-ref", "refs/ralph/001-login/20991231-235959-00000000", &newer]);
    let mut unreadable = Vec::new();
    let sessions = scene.sessions(&mut unreadable);
    assert_eq!(sessions.len(), 1);
    assert!(format!("{:#}", unreadable[0]).contains("has schema 2"), "{:#}", unreadable[0]);
    let newest = SessionQuery { newest: true, ..SessionQuery::default() };
    let latest = scene.store.sessions(&newest, &mut unreadable).unwrap();
    assert_eq!(latest[0].id(), &samples::session_id());
    assert_eq!(unreadable.len(), 2);
}

fn verify_all(scene: &Scene) -> (VerifyReport, Vec<SessionLog>) {
    let mut unreadable = Vec::new();
    let verified = scene.store.verify(&SessionQuery::default(), &mut unreadable).unwrap();
    assert!(unreadable.is_empty(), "{unreadable:?}");
    verified
}

#[test]
fn verifying_opens_git_as_often_for_many_records_as_for_few() {
    let scene = Scene::new();
    let mut tip = scene.append(&start(), "start").unwrap();
    let verify = || {
        counters::during(&counters::GIT_OPENED, || {
            let (mut verified, logs) = verify_all(&scene);
            scene.store.verify_other_refs(&logs, None, &mut verified).unwrap();
            (verified.records, verified.files)
        })
    };
    let (opened_for_one, (records, _)) = verify();
    assert_eq!(records, 1);
    for number in 1..=20 {
        tip = scene.append(&iteration(number, &tip), &number.to_string()).unwrap();
    }
    let (opened_for_many, (records, files)) = verify();
    assert_eq!((opened_for_many, records), (opened_for_one, 21));
    let (read, _) = counters::during(&counters::OBJECTS_VERIFIED, || verify_all(&scene));
    // Each file, its manifest and the folders that lead to it, once.
    assert!(read <= files + 3 * records, "{read} objects were read for {files} files");
}

#[test]
fn sessions_share_the_pieces_of_the_progress_txt_that_they_found() {
    let scene = Scene::new();
    let whole: String =
        (0..).map(|line| format!("- learned {line}\n")).take(5 * PROGRESS_CHUNK / 12).collect();
    let whole = whole.as_bytes();
    let mut tip = scene.append(&start(), "start").unwrap();
    let steps = 40;
    let mut pieces = 0;
    for step in 1..=steps {
        let found = &whole[..whole.len() * step / steps];
        let slot = scene.slot(&step.to_string());
        slot.write("found", found).unwrap();
        let files = vec![("progress.base.md".into(), "found".into())];
        let draft = Draft { kind: RecordKind::Resume, parent: Some(tip), files, ..start() };
        slot.seal(&draft).unwrap();
        tip = scene.store.append(&slot, &draft, &Redactor::default()).unwrap();
        assert_eq!(scene.store.file(&tip, "progress.base.md").unwrap().unwrap(), found);
        pieces += found.len().div_ceil(PROGRESS_CHUNK);
    }
    let (read, (verified, _)) = counters::during(&counters::OBJECTS_VERIFIED, || verify_all(&scene));
    assert_eq!(verified.findings, []);
    // Of each record its tree, the folder of the pieces, manifest.json, session.json and the last piece; and each full
    // piece once.
    assert!(
        pieces > 2 * steps && read <= 5 * (steps + 1) + whole.len() / PROGRESS_CHUNK,
        "{read} of {pieces}"
    );
}

#[test]
fn a_lock_of_another_git_on_a_branch_is_waited_for_and_then_named() {
    let scene = Scene::new();
    let commit = scene.append(&start(), "start").unwrap();
    let name = "refs/heads/ralph/x";
    let lock = scene.path().join(format!(".git/{name}.lock"));
    std::fs::create_dir_all(lock.parent().unwrap()).unwrap();
    std::fs::write(&lock, "").unwrap();
    let update = RefUpdate { name: name.to_owned(), old: None, new: Some(commit.clone()) };
    let moved = |timeout| scene.store.refs().move_within(std::slice::from_ref(&update), || Ok(0), timeout);
    let error = moved(Duration::ZERO).unwrap_err().to_string();
    assert!(error.starts_with(&format!("{lock} keeps the ref from being moved")), "{error}");
    assert!(error.contains("hint: if no git runs in this repository, remove that file"), "{error}");
    assert!(lock.exists());
    // Whoever holds it is done before the time is over.
    let asked = std::cell::Cell::new(false);
    let unlocked = || {
        if asked.replace(true) && lock.exists() {
            std::fs::remove_file(&lock).unwrap();
        }
        Ok(0)
    };
    scene.store.refs().move_within(std::slice::from_ref(&update), unlocked, Duration::from_mins(1)).unwrap();
    assert_eq!(scene.store.refs().tip(name).unwrap(), Some(commit));
}

#[test]
fn what_is_recorded_while_git_collects_outlives_a_prune_that_saw_no_ref_to_it() {
    for collects in [true, false] {
        let scene = Scene::new();
        let git_dir = scene.path().join(".git");
        if collects {
            std::fs::write(git_dir.join("gc.pid"), "1 elsewhere").unwrap();
        }
        scene.append(&start(), "start").unwrap();
        let loose = Tool::git(scene.path()).args(["count-objects"]).line().unwrap();
        let packs = super::local::disk::children(&git_dir.join("objects/pack")).unwrap();
        assert_eq!(packs.iter().any(|path| path.extension() == Some("idx")), collects, "{packs:?}");
        assert!(!loose.starts_with("0 "), "{loose}");
        // As the prune does that comes to its end.
        for folder in super::local::disk::children(&git_dir.join("objects")).unwrap() {
            if folder.file_name().is_some_and(|name| name.len() == 2) {
                std::fs::remove_dir_all(folder).unwrap();
            }
        }
        let connected = Tool::git(scene.path()).args(["fsck", "--connectivity-only"]).run().unwrap();
        assert_eq!(connected.is_success(), collects, "{}", connected.complaint());
    }
}

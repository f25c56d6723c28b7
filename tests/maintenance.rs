//! The record looked over, made smaller, and freed of what must not be in it; and the notes that point into it.

#![expect(clippy::unwrap_used, reason = "a scene that cannot be set has failed")]

use crate::sandbox::Sandbox;

fn names(scene: &Sandbox, repo: &std::path::Path, prefix: &str) -> Vec<String> {
    let found = scene.git_in(repo, ["for-each-ref", "--format=%(refname)", prefix]);
    found.lines().map(str::to_owned).collect()
}

/// A commit with the tree of another one, one file changed, and its message and parent.
fn altered(scene: &Sandbox, commit: &str, path: &str, bytes: &str, message: Option<&str>) -> String {
    std::fs::write(scene.outside("bytes"), bytes).unwrap();
    let blob = scene.git(["hash-object", "-w", scene.outside("bytes").to_str().unwrap()]);
    let index = scene.outside("index");
    let shell = format!(
        "export GIT_INDEX_FILE={0}; git read-tree {commit} && git update-index --add --cacheinfo 100644,{blob},{path} && git write-tree",
        index.display()
    );
    let made = scene.hermetic("sh").args(["-c", &shell]).output().unwrap();
    std::fs::remove_file(index).unwrap();
    let tree = String::from_utf8(made.stdout).unwrap().trim().to_owned();
    let old = scene.git(["log", "-1", "--format=%B", commit]);
    std::fs::write(scene.outside("message"), message.unwrap_or(&old)).unwrap();
    let message = scene.outside("message");
    scene.git(["commit-tree", "-F", message.to_str().unwrap(), "-p", &format!("{commit}~1"), &tree])
}

#[test]
fn a_record_that_is_as_it_was_written_passes_and_every_change_is_found() {
    let scene = Sandbox::with_succeeding_agent(2);
    scene.validate("echo checked").ralph("").code(0);
    let sound = scene.ralph("fsck").code(0).stderr("");
    sound.stdout_has("1 session, 4 records, ").stdout_has(": no problems found\n");
    let json = scene.ralph("fsck --json").code(0).json();
    assert_eq!((json["records"].as_u64(), json["findings"].as_array().map(Vec::len)), (Some(4), Some(0)));
    // Each of these is the tip of a session of its own making: the log up to the first iteration, altered.
    let session = scene.session();
    let (name, first) = (session.refname().to_owned(), session.iterations()[0].clone());
    let tip = scene.git(["rev-parse", &name]);
    let message = scene.git(["log", "-1", "--format=%B", &first]);
    let json = scene.git(["show", &format!("{first}:iteration.json")]);
    let finds = |commit: &str, expected: &str| {
        scene.git(["update-ref", &name, commit]);
        let run = scene.ralph("fsck --session 20").code(1);
        assert!(run.text().contains(expected), "`{expected}` expected of {run}");
    };
    let other = message.replace("Ralph-Outcome: success", "Ralph-Outcome: failure");
    finds(&altered(&scene, &first, "tasks.md", "x", None), "tasks.md does not match manifest.json");
    finds(&altered(&scene, &first, "extra.txt", "x", None), "extra.txt is not in manifest.json");
    finds(&altered(&scene, &first, "manifest.json", "{}", None), "read manifest.json");
    let same = String::from_utf8(session.file(1, "tasks.md")).unwrap();
    finds(
        &altered(&scene, &first, "tasks.md", &same, Some(&other)),
        "the trailer Ralph-Outcome does not match the JSON",
    );
    let edited = message.replace("**Task**", "**Tusk**");
    finds(&altered(&scene, &first, "tasks.md", &same, Some(&edited)), "its message differs from progress.md");
    let forged = message.replace("T001 done", "T009 \u{202e}done");
    finds(
        &altered(&scene, &first, "tasks.md", &same, Some(&forged)),
        "the subject of its message does not match the JSON",
    );
    let wrong = json.replace("\"success\"", "\"failure\"");
    finds(&altered(&scene, &first, "iteration.json", &wrong, None), "Ralph-Outcome");
    let renumbered = message.replace("Ralph-Iteration: 1", "Ralph-Iteration: 7");
    finds(&altered(&scene, &first, "tasks.md", &same, Some(&renumbered)), "its number does not follow");
    scene.git(["update-ref", &name, &tip]);
    scene.ralph("fsck").code(0);
}

#[test]
fn what_can_be_mended_is_mended_and_says_so() {
    let scene = Sandbox::with_succeeding_agent(1);
    scene.with_remote();
    scene.ralph("").code(0);
    scene.ralph("sync").code(0);
    let name = scene.session().refname().to_owned();
    let tip = scene.git(["rev-parse", &name]);
    scene.git(["update-ref", "-d", &name]);
    scene.git(["update-ref", "refs/ralph-incoming/0", &tip]);
    let said = scene.ralph("fsck").code(1);
    let said = said
        .stdout_has(&format!("{name}: it was deleted, and its records are still here (`--repair` fixes it)"));
    said.stdout_has("refs/ralph-incoming/0: a sync that was cut off left it (`--repair` fixes it)");
    scene.ralph("fsck --repair").code(0).stdout_has("(repaired)");
    assert_eq!(scene.git(["rev-parse", &name]), tip);
    scene.ralph("fsck").code(0);
    let journal = scene.progress();
    scene.write("specs/001-login/progress.txt", "gone\n");
    scene.ralph("fsck").code(1).stdout_has("progress.txt differs from the record of session ");
    scene.ralph("fsck --repair").code(0).stdout_has("(repaired)");
    assert_eq!(scene.progress(), journal);
    assert_eq!(std::fs::read(scene.path(".git/ralph/kept/1-progress.txt")).unwrap(), b"gone\n");
}

#[test]
fn bare_clean_takes_old_snapshots_and_leaves_the_records() {
    let scene = Sandbox::with_succeeding_agent(1);
    scene.ralph("").code(0);
    let logs = names(&scene, scene.repo(), "refs/ralph/");
    let snapshots = names(&scene, scene.repo(), "refs/ralph-snap/");
    assert_eq!(snapshots.len(), 1);
    scene.ralph("clean").code(0).stdout("nothing is old enough to remove\n");
    let later = |words: &str| {
        let id = scene.sessions()[0].id().to_owned();
        let year: i32 = id[..4].parse().unwrap();
        scene.call(words).env("RALPH_TEST_CLOCK", format!("{}-12-31T00:00:00Z", year + 1))
    };
    let said = later("clean --dry-run").run().code(0).stdout_has("would go: snapshots of 1 session");
    said.stdout_has("`git gc` frees");
    assert_eq!(names(&scene, scene.repo(), "refs/ralph-snap/"), snapshots);
    later("clean").run().code(0).stdout_has("removed: snapshots of 1 session");
    assert!(names(&scene, scene.repo(), "refs/ralph-snap/").is_empty());
    assert_eq!(names(&scene, scene.repo(), "refs/ralph/"), logs);
    scene.ralph("show 1").code(0);
    scene.ralph("fsck").code(0);
}

#[test]
fn what_dead_processes_and_gone_work_trees_left_goes_and_what_lives_stays() {
    let scene = Sandbox::with_succeeding_agent(2);
    scene.ralph("-n 1").code(4);
    let over = scene.session().id().to_owned();
    scene.write("hello", "mine").ralph("restore 1 --force").code(0);
    scene.write("specs/001-login/progress.txt", "mine\n").ralph("rebuild").code(0);
    // A loop is killed in a work tree that is removed then.
    let linked = scene.outside("linked");
    scene.git(["worktree", "add", "--quiet", "-b", "side", linked.to_str().unwrap()]);
    std::fs::write(linked.join("wait.sh"), "touch started; while [ -e started ]; do sleep 0.02; done")
        .unwrap();
    let toml = "agent = \"fake\"\n[agents.fake]\ncommand = [\"sh\", \"wait.sh\"]\n";
    std::fs::write(linked.join(".specify/ralph.toml"), toml).unwrap();
    let mut dying = scene.call("-n 1").dir(&linked).spawn();
    dying.wait_for_file(linked.join("started"));
    let cut_off = scene.sessions().pop().unwrap().id().to_owned();
    dying.kill();
    scene.git(["worktree", "remove", "--force", linked.to_str().unwrap()]);
    let ours = |path: &str| scene.path(".git/ralph").join(path);
    for folder in ["scratch/1-0", "packing/objects/pack", &format!("control/{over}")] {
        std::fs::create_dir_all(ours(folder)).unwrap();
    }
    for file in ["scratch/1-0/held", "packing/packs", "packing/objects/pack/tmp_pack_x"] {
        std::fs::write(ours(file), "x").unwrap();
    }
    scene.git(["update-ref", "refs/ralph-incoming/0", "HEAD"]);
    // And a session runs.
    scene.agent_sh("touch started; while [ ! -e go ]; do sleep 0.02; done; tick all");
    let mut running = scene.spawn("");
    running.wait_for_file("started");
    let alive = scene.sessions().pop().unwrap().id().to_owned();
    scene.ralph(["hint", "be quick"]).code(0);
    let year: i32 = alive[..4].parse().unwrap();
    let later = format!("{}-12-31T00:00:00Z", year.max(2030) + 1);
    let clean = |words: &str| scene.call(words).env("RALPH_TEST_CLOCK", later.clone()).run().code(0);
    let before = crate::sandbox::sound::files(&ours(""));
    let plan = clean("clean --dry-run --json").json();
    assert_eq!(crate::sandbox::sound::files(&ours("")), before);
    let leftovers = plan["leftovers"].as_array().unwrap();
    let named: Vec<_> = leftovers.iter().map(|one| one["path"].as_str().unwrap()).collect();
    let dead = [
        "kept/1-progress.txt",
        "last/linked-linked.json",
        "loops/linked-linked",
        &format!("spool/{cut_off}"),
        &format!("control/{over}"),
        "packing",
    ];
    for path in dead {
        assert!(named.iter().any(|name| name.ends_with(path)), "{path} is not in {named:#?}");
    }
    assert_eq!(plan["restorations"].as_array().map(Vec::len), Some(2), "{plan:#}");
    assert!(leftovers.iter().all(|one| one["what"].is_string() && one["bytes"].is_u64()));
    assert!(!named.iter().any(|name| name.contains(&alive)), "{named:#?}");
    clean("clean").stdout_has("leftovers of ").stdout_has("stays: ").stdout_has("it runs");
    for path in dead {
        assert!(!ours(path).exists(), "{path}");
    }
    assert!(ours("loops/main").exists() && ours("last/main.json").exists());
    assert!(ours(&format!("spool/{alive}")).exists() && ours(&format!("control/{alive}")).exists());
    scene.write("go", "");
    running.wait().code(0);
    assert!(names(&scene, scene.repo(), "refs/ralph-restore").is_empty());
    assert!(names(&scene, scene.repo(), "refs/ralph-incoming").is_empty());
    clean("clean").stdout_lacks("leftover");
    scene.journal_differs();
}

#[test]
fn a_loop_that_leaves_much_has_git_pack_it_without_the_hooks_of_the_project() {
    let scene = Sandbox::with_refs_in_files();
    scene.tasks("- [ ] T001 One").agent_uses_git().agent_sh(
        "for i in $(seq 1300); do echo $i > file-$i; done\n\
         for i in $(seq 110); do echo create refs/ralph/copies/$i HEAD; done | git update-ref --stdin\n\
         for hook in reference-transaction pre-auto-gc; do\n\
         printf '#!/bin/sh\\necho $0 $* >> ../hooks-ran\\n' > .git/hooks/$hook; chmod +x .git/hooks/$hook\n\
         done\n\
         tick all",
    );
    scene.validate("true").ralph("").code(0).stderr("");
    let counted = scene.git("count-objects -v");
    let value = |key: &str| -> usize {
        let value = counted.lines().find_map(|line| line.strip_prefix(key));
        value.unwrap().trim_start_matches(": ").parse().unwrap()
    };
    assert!(value("count") < 100 && value("in-pack") > 1300 && value("prune-packable") == 0, "{counted}");
    assert!(!scene.path(".git/refs/ralph/copies/1").exists());
    assert!(!scene.outside("hooks-ran").exists(), "a hook of the project ran");
    for number in 1..=110 {
        scene.git(["update-ref", "-d", &format!("refs/ralph/copies/{number}")]);
    }
    std::fs::remove_file(scene.outside("hooks-ran")).unwrap();
    scene.ralph("rebuild --check").code(0);
}

#[test]
fn records_go_by_an_explicit_rule_and_no_sync_brings_them_back() {
    let scene = Sandbox::with_succeeding_agent(4);
    let bare = scene.with_remote();
    for _ in 0..4 {
        scene.ralph("-n 1");
    }
    scene.ralph("sync --snapshots").code(0);
    let ids: Vec<_> = scene.sessions().iter().map(|session| session.id().to_owned()).collect();
    let dry = scene.ralph("clean --keep-last 2 --dry-run --json").code(0).json();
    assert_eq!(dry["sessions"].as_array().map(Vec::len), Some(2), "{dry}");
    scene.ralph("clean --keep-last 2").code(0).stdout_has("removed: 2 sessions");
    let left = |scene: &Sandbox| -> Vec<String> {
        scene.sessions().iter().map(|session| session.id().to_owned()).collect()
    };
    assert_eq!(left(&scene), ids[2..]);
    let away =
        "2 sessions stay away that were cleaned away here; `specify ralph sync --cleaned` brings them back\n";
    scene.ralph("sync --snapshots").code(0).stdout(away).stderr("");
    assert_eq!(left(&scene), ids[2..]);
    assert_eq!(names(&scene, &bare, "refs/ralph/").len(), 4, "the remote is not touched");
    // progress.txt follows the last one.
    scene
        .ralph("clean --keep-last 0")
        .code(0)
        .stdout_has(&format!("stays: {}: progress.txt follows it", ids[3]));
    assert_eq!(left(&scene), ids[3..]);
    scene.ralph("clean --session 1999").code(1).stderr_has("there is no session 1999");
    scene.ralph(["clean", "--session", &ids[3]]).code(0).stdout_has("removed: 1 session");
    assert!(left(&scene).is_empty());
    scene.ralph("clean --keep-days x").code(2);
}

#[test]
fn neither_a_running_session_nor_a_ref_of_others_is_cleaned_or_purged() {
    let scene = Sandbox::with_succeeding_agent(1);
    scene.agent_sh("touch started; while [ ! -e go ]; do sleep 0.02; done; tick all");
    let tree = scene.git("rev-parse HEAD^{tree}");
    let foreign = scene.git(["commit-tree", "-m", "theirs", &tree]);
    let name = "refs/ralph/001-login/20260101-000000-ffffffff";
    scene.git(["update-ref", name, &foreign]);
    let mut running = scene.spawn("");
    running.wait_for_file("started");
    let id = scene.git("for-each-ref --format=%(refname) refs/ralph-snap/");
    let id = id.rsplit('/').next().unwrap().to_owned();
    scene.ralph(["clean", "--session", &id]).code(1).stdout_has("it runs");
    scene.ralph("clean --keep-last 0").code(0).stdout_has("it runs");
    scene.ralph(["purge", "--local", "--yes", &id]).code(3).stderr_has("runs\nhint: stop it first");
    scene.ralph(["purge", "--local", "--yes", "20260101-000000-ffffffff"]).code(0);
    scene.write("go", "");
    running.wait().code(0);
    assert_eq!(scene.git(["rev-parse", name]), foreign);
    scene.git(["update-ref", "-d", name]);
}

#[test]
fn a_purged_session_is_gone_here_and_there_and_does_not_come_back() {
    let scene = Sandbox::with_succeeding_agent(2);
    let bare = scene.with_remote();
    scene.ralph("-n 1").code(4);
    let id = scene.session().id().to_owned();
    scene.ralph("sync --snapshots").code(0);
    let clone = scene.outside("clone");
    scene.git(["clone", "--quiet", bare.to_str().unwrap(), clone.to_str().unwrap()]);
    scene.call("sync --snapshots").dir(&clone).run().code(0);
    scene.ralph("").code(0);
    scene.ralph("sync --snapshots").code(0);

    let log = format!("refs/ralph/001-login/{id}");
    scene.ralph(["purge", &id, "--dry-run"]).code(0).stdout_has(&format!("would remove {log}"));
    assert_eq!(names(&scene, &bare, "refs/ralph/").len(), 2);
    let said = scene.ralph(["purge", &id, "--yes"]).code(0).stdout_has(&format!("removed {log}\n"));
    said.stdout_has(&format!("removed {log} at origin\n")).stderr_has("what is left to do:");
    for repo in [scene.repo(), bare.as_path()] {
        assert!(!names(&scene, repo, "refs").iter().any(|name| name.ends_with(&id)));
    }
    let stone = scene.git_in(&bare, "show refs/ralph-meta/tombstones:tombstones");
    assert!(stone.starts_with(&format!("{log} ")), "{stone}");
    // The clone still has it: it gets a warning, does not push it back, and can purge it as well.
    let said = scene.call("sync --snapshots").dir(&clone).run().code(0);
    said.stderr_has("purged elsewhere, but still here: ");
    assert!(!names(&scene, &bare, "refs").iter().any(|name| name.ends_with(&id)));
    scene
        .call(["purge", &id[..17], "--local", "--yes"])
        .dir(&clone)
        .run()
        .code(0)
        .stdout_has(&format!("removed {log}"));
    scene.call("sync").dir(&clone).run().code(0).stderr("");
    assert_eq!(names(&scene, &clone, "refs/ralph/").len(), 1);
    scene.ralph("sync").code(0).stderr("");
    // Somebody pushes it back by git alone.
    scene.git_in(&bare, ["update-ref", &log, &names(&scene, &bare, "refs/ralph/")[0]]);
    scene.ralph("sync").code(0).stderr_has("purged, and still at origin");
    scene.ralph(["purge", &id, "--yes"]).code(0).stdout_has(&format!("removed {log} at origin"));
    scene.ralph("purge 2099 --local").code(1).stderr_has("there is no session 2099 here");
}

#[test]
fn a_tombstone_from_elsewhere_takes_nothing_away_here() {
    let scene = Sandbox::with_succeeding_agent(1);
    let bare = scene.with_remote();
    scene.ralph("").code(0);
    let name = scene.session().refname().to_owned();
    write_tombstone_by_hand(&scene, &bare, &name);
    let run = scene.ralph("sync").code(0).stderr_has(&format!("purged elsewhere, but still here: {name}"));
    assert!(!run.stderr.contains(&0x1b));
    assert_eq!(names(&scene, scene.repo(), "refs/ralph/"), [name]);
    assert_eq!(names(&scene, scene.repo(), "refs/heads"), ["refs/heads/main"]);
    assert!(names(&scene, &bare, "refs/ralph/").is_empty());
}

/// Puts a tombstone for a log into a bare repository, with lines that are none.
fn write_tombstone_by_hand(scene: &Sandbox, bare: &std::path::Path, name: &str) {
    std::fs::write(
        scene.outside("stones"),
        format!("{name} 2026-01-01T00:00:00Z\nrefs/heads/main 2026-01-01T00:00:00Z\n\u{1b}[31m x\n"),
    )
    .unwrap();
    let blob = scene.git_in(bare, ["hash-object", "-w", scene.outside("stones").to_str().unwrap()]);
    std::fs::write(scene.outside("tree"), format!("100644 blob {blob}\ttombstones\n")).unwrap();
    let shell = format!("git mktree < {}", scene.outside("tree").display());
    let tree = scene.hermetic("sh").args(["-c", &shell]).current_dir(bare).output().unwrap();
    let tree = String::from_utf8(tree.stdout).unwrap().trim().to_owned();
    let message = "Purged sessions\n\nRalph-Schema: 1\nRalph-Record: tombstones";
    let commit = scene.git_in(bare, ["commit-tree", "-m", message, &tree]);
    scene.git_in(bare, ["update-ref", "refs/ralph-meta/tombstones", &commit]);
}

#[test]
fn a_tombstone_for_a_session_that_runs_neither_stops_nor_hides_it() {
    let scene = Sandbox::with_succeeding_agent(2);
    let bare = scene.with_remote();
    scene.agent_sh("touch started; while [ ! -e go ]; do sleep 0.02; done; tick");
    let mut running = scene.spawn("");
    running.wait_for_file("started");
    let name = scene.session().refname().to_owned();
    write_tombstone_by_hand(&scene, &bare, &name);
    let snapshots = name.replace("refs/ralph/", "refs/ralph-snap/");
    let message = format!("purged elsewhere, but still here: {snapshots}, {name}");
    scene.ralph("sync --snapshots").code(0).stderr_has(&message);
    scene.ralph("status").code(0).stdout_has("running");
    scene.ralph("log --sessions").code(0).stdout_has(scene.session().id());
    scene.ralph("clean --keep-last 0 --keep-days 0").code(0).stdout_has("it runs");
    scene.write("go", "");
    running.wait().code(0);
    let session = scene.session();
    assert_eq!(session.trailers("Ralph-Outcome"), ["success", "success"]);
    scene.ralph("log").code(0).stdout_has("✔ T002");
    scene.ralph("show 2").code(0);
    scene.ralph("rebuild --check").code(0);
    // It goes nowhere, though: who purged it meant that.
    scene.ralph("sync --snapshots").code(0).stderr_has(&message);
    assert!(names(&scene, &bare, "refs/ralph").iter().all(|name| name.starts_with("refs/ralph-meta/")));
    scene.ralph("fsck").code(0);
}

#[test]
fn commits_of_an_iteration_are_noted_and_the_notes_can_be_made_again() {
    let scene = Sandbox::with_succeeding_agent(2);
    scene.with_remote();
    // It commits at the time of the story; a commit of another day, as of a pull, is nobody's work here.
    scene.agent_uses_git().agent_sh(
        "n=$RALPH_ITERATION; echo $n > work-$n; git add work-$n\n\
         tick\n\
         GIT_COMMITTER_DATE=$(cat when) git commit --quiet -m work-$n\n\
         GIT_COMMITTER_DATE=2001-01-01T00:00:00Z git commit --quiet --allow-empty -m old-$n",
    );
    let mut call = scene.call("--json");
    let start = "2026-03-04T05:00:00Z";
    scene.write("when", "2026-03-04T05:00:05Z");
    call = call.env("RALPH_TEST_CLOCK", start);
    call.run().code(0);
    let session = scene.session();
    let notes = |subject: &str| {
        let commit = scene.git(["log", "--format=%H", "--grep", &format!("^{subject}$"), "HEAD"]);
        scene.git(["log", "-1", "--notes=ralph", "--format=%N", &commit])
    };
    let listed: Vec<_> = (1..=2).map(|number| session.iteration(number)["commits"].to_string()).collect();
    let found = [notes("work-1"), notes("work-2")];
    assert!(found.iter().any(|note| note.contains(&format!("{}:", session.id()))), "{found:?} {listed:?}");
    assert_eq!(notes("old-1"), "");
    let tip = scene.git("rev-parse refs/notes/ralph^{tree}");
    scene.ralph("notes rebuild").code(0).stdout("the notes match the record\n");
    scene.git("update-ref -d refs/notes/ralph");
    scene.ralph("fsck").code(1).stdout_has("do not say in which iteration they were made");
    scene.ralph("notes rebuild").code(0).stdout_has("written\n");
    assert_eq!(scene.git("rev-parse refs/notes/ralph^{tree}"), tip);
    scene.git("notes --ref=ralph append -m mine HEAD~1");
    scene.ralph("notes rebuild").code(0);
    assert!(scene.git("notes --ref=ralph show HEAD~1").contains("mine"));
    scene.ralph("fsck").code(0);
    scene.ralph("notes").code(2);
}

#[test]
fn notes_of_two_machines_become_one() {
    let scene = Sandbox::with_succeeding_agent(1);
    let bare = scene.with_remote();
    let clone = scene.outside("clone");
    scene.git(["clone", "--quiet", bare.to_str().unwrap(), clone.to_str().unwrap()]);
    scene.agent_uses_git();
    let head = scene.git("rev-parse HEAD");
    scene.git("notes --ref=ralph add -m one HEAD");
    scene.git_in(&clone, "-c user.name=B -c user.email=b@c notes --ref=ralph add -m two HEAD");
    scene.ralph("sync").code(0);
    scene.call("sync").dir(&clone).run().code(0);
    scene.ralph("sync").code(0);
    for repo in [scene.repo(), bare.as_path(), clone.as_path()] {
        assert_eq!(scene.git_in(repo, ["notes", "--ref=ralph", "show", &head]), "one\ntwo");
    }
    let tips = [scene.repo(), clone.as_path()].map(|repo| scene.git_in(repo, "rev-parse refs/notes/ralph"));
    assert_eq!(tips[0], tips[1]);
}

#[test]
fn lines_of_a_session_that_went_do_not_come_back_and_stay_where_it_is() {
    let scene = Sandbox::with_succeeding_agent(2);
    let bare = scene.with_remote();
    scene.agent_uses_git();
    let head = scene.git("rev-parse HEAD");
    let note = |repo: &std::path::Path| {
        let words = ["log", "-1", "--notes=ralph", "--format=%N", &head];
        scene.git_in(repo, words).lines().map(str::to_owned).collect::<Vec<_>>()
    };
    scene.ralph("-n 1").code(4);
    let [gone] = scene
        .sessions()
        .iter()
        .map(|session| session.id().to_owned())
        .collect::<Vec<_>>()
        .try_into()
        .unwrap();
    scene.ralph("").code(0);
    let stays = scene.sessions()[1].id().to_owned();
    let line = |id: &str| format!("{id}:1 T001 success");
    scene.git([
        "notes",
        "--ref=ralph",
        "add",
        "-m",
        &format!("{}\n{}\nmine", line(&gone), line(&stays)),
        "HEAD",
    ]);
    scene.ralph("sync").code(0);
    let clone = scene.outside("clone");
    scene.git(["clone", "--quiet", bare.to_str().unwrap(), clone.to_str().unwrap()]);
    scene.call("sync").dir(&clone).run().code(0);
    let all = [line(&gone), line(&stays), "mine".to_owned()];
    assert_eq!(note(&clone), all);

    scene.ralph(["clean", "--session", &gone]).code(0);
    let away =
        "1 session stays away that was cleaned away here; `specify ralph sync --cleaned` brings it back\n";
    for words in ["sync", "sync --push-only", "sync --fetch-only", "sync"] {
        let run = scene.ralph(words).code(0);
        let message = if words.contains("push") { "already in sync with origin\n" } else { away };
        run.stdout(message);
        assert_eq!(note(scene.repo()), all[1..], "{words}");
        assert_eq!(note(&bare), all, "{words}");
    }
    // New lines go both ways, and the others stay where they are.
    scene.git("notes --ref=ralph append -m more HEAD");
    scene.git_in(&clone, "-c user.name=B -c user.email=b@c notes --ref=ralph append -m theirs HEAD");
    scene.call("sync").dir(&clone).run().code(0);
    scene.ralph("sync").code(0);
    scene.call("sync").dir(&clone).run().code(0);
    let expected = [line(&gone), line(&stays), "mine".into(), "more".into(), "theirs".into()];
    assert_eq!(
        (note(scene.repo()), note(&bare), note(&clone)),
        (expected[1..].into(), expected.to_vec(), expected.to_vec())
    );
    let tips = || [scene.repo(), &bare].map(|repo| scene.git_in(repo, "rev-parse refs/notes/ralph"));
    let before = tips();
    scene.ralph("sync").code(0);
    assert_eq!(tips(), before, "what is settled stays");

    scene.ralph("sync --cleaned").code(0).stdout_has(&format!("fetched  {gone}\n"));
    assert_eq!(note(scene.repo()), expected);
    scene.ralph("sync").code(0).stdout("already in sync with origin\n");

    // A purge takes them away for all but those who still have the session.
    scene.ralph(["purge", &gone, "--yes"]).code(0);
    assert_eq!((note(scene.repo()), note(&bare)), (expected[1..].into(), expected[1..].to_vec()));
    scene.call("sync").dir(&clone).run().code(0);
    assert_eq!((note(&clone), note(&bare)), (expected.to_vec(), expected[1..].to_vec()));
    scene.call(["purge", &gone, "--local", "--yes"]).dir(&clone).run().code(0);
    scene.call("sync").dir(&clone).run().code(0);
    assert_eq!((note(&clone), note(&bare)), (expected[1..].into(), expected[1..].to_vec()));
    scene.skip_final_fsck();
}

#[test]
fn a_file_brings_back_what_was_cleaned_away_but_not_what_was_purged() {
    let scene = Sandbox::with_succeeding_agent(1);
    scene.ralph("").code(0);
    let id = scene.session().id().to_owned();
    let file = scene.outside("night.bundle");
    let file = file.to_str().unwrap();
    scene.git(["bundle", "create", "--quiet", file, "--glob=refs/ralph*"]);
    let refs = names(&scene, scene.repo(), "refs/ralph");
    scene.ralph(["clean", "--session", &id]).code(0);
    scene.ralph("log").code(0).stdout("").stderr_has("`specify ralph sync --fetch-only --cleaned FILE`");
    let fetch = ["sync", "--fetch-only", "--snapshots", "--cleaned", file];
    scene.ralph(fetch).code(0).stdout_has(&format!("fetched  {id}\n"));
    assert_eq!(names(&scene, scene.repo(), "refs/ralph"), refs);
    assert_eq!(scene.read(".git/ralph/sync/cleaned.json"), "[]");
    scene.ralph(["purge", &id, "--local", "--yes"]).code(0);
    scene.ralph(fetch).code(0).stdout("").stderr_has("purged, and still at ");
    assert!(names(&scene, scene.repo(), "refs/ralph/").is_empty());
}

#[test]
fn a_purge_takes_what_was_kept_aside_of_the_session() {
    let scene = Sandbox::with_succeeding_agent(1);
    scene.ralph("").code(0);
    let id = scene.session().id().to_owned();
    scene.write("specs/001-login/progress.txt", scene.progress().replace("Codebase", "ZEBRA"));
    scene.ralph("rebuild").code(0);
    let kept = scene.path(".git/ralph/kept/1-progress.txt");
    assert!(kept.exists());
    scene.write(".git/ralph/kept/2-progress.txt", "of another session");
    scene.write(&format!(".git/ralph/kept/1-{id}/1/agent.stdout"), "ZEBRA");
    let name = ".git/ralph/kept/1-progress.txt\n";
    // Without a remote there is only here.
    let message = scene.ralph(["purge", &id, "--dry-run"]).code(0);
    message.stdout_has("would remove refs/ralph/001-login/").stdout_has(name);
    assert!(kept.exists());
    let json = scene.ralph(["purge", &id, "--dry-run", "--json"]).code(0).json();
    assert_eq!(
        (&json["is_dry_run"], json["kept"].as_array().map(Vec::len)),
        (&true.into(), Some(2)),
        "{json}"
    );
    scene
        .ralph(["purge", &id, "--yes"])
        .code(0)
        .stdout_has(name)
        .stderr_has("- this repository has no remote");
    let left: Vec<_> = std::fs::read_dir(scene.path(".git/ralph/kept"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name())
        .collect();
    assert_eq!(left, ["2-progress.txt"]);
}

#[test]
fn hooks_live_beside_others_and_go_to_the_byte() {
    use std::os::unix::fs::PermissionsExt;
    let scene = Sandbox::with_succeeding_agent(1);
    let bare = scene.with_remote();
    scene.agent_uses_git();
    let theirs = "#!/bin/sh\nset -eu\necho theirs >> .git/theirs\nexec true";
    let hook = scene.path(".git/hooks/prepare-commit-msg");
    scene.write(".git/hooks/prepare-commit-msg", theirs);
    let status = scene.ralph("hooks status --json").code(0).json();
    assert_eq!(status["hooks"][0]["is_installed"], false);
    scene.ralph("hooks install").code(3).stderr_has("is not executable, so git does not run it\nhint: ");
    std::fs::set_permissions(&hook, std::fs::Permissions::from_mode(0o755)).unwrap();
    // `git ralph` is what the block calls.
    let program = scene.outside("bin/git-ralph");
    std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_git-ralph"), &program).unwrap();
    scene.ralph("hooks install --pre-push").code(0).stdout_has("installed in ");
    scene.ralph("hooks install").code(0).stdout_has("has it already");
    let installed = "prepare-commit-msg  installed\npre-push            installed\n";
    scene.ralph("hooks status").code(0).stdout(installed);

    scene.agent_sh("echo 1 > work; git add work; git commit --quiet -m work; tick all");
    scene.ralph("").code(0);
    let id = scene.session().id().to_owned();
    let trailer = scene.git("log -1 --format=%(trailers:key=Ralph-Made-In,valueonly)");
    assert_eq!(trailer, format!("{id}:1 T001"));
    scene.commit("By a person");
    assert!(!scene.git("log -1 --format=%B").contains("Ralph"));
    assert_eq!(scene.read(".git/theirs"), "theirs\ntheirs\n");
    scene.git("push --quiet origin main");
    assert_eq!(names(&scene, &bare, "refs/ralph/").len(), 1);
    std::fs::remove_file(&program).unwrap();
    scene.commit("Another one").git("push --quiet origin main");

    scene.git("worktree add --quiet --detach ../tree");
    let tree = scene.outside("tree");
    scene.call("hooks status").dir(&tree).run().code(0).stdout_has("prepare-commit-msg  installed");
    scene.ralph("hooks uninstall").code(0).stdout_has("removed from ");
    assert_eq!(std::fs::read_to_string(&hook).unwrap(), theirs);
    assert!(!scene.path(".git/hooks/pre-push").exists());

    std::fs::write(&hook, "#!/usr/bin/env python3\n").unwrap();
    scene.ralph("hooks install").code(3).stderr_has("is not a shell script");
    let elsewhere = scene.outside("hooks");
    scene.git(["config", "core.hooksPath", elsewhere.to_str().unwrap()]);
    scene.ralph("hooks install").code(3).stderr_has("for other repositories too\nhint: ");
}

#[test]
fn blocks_of_an_earlier_version_do_no_harm_and_are_removed() {
    let scene = Sandbox::with_succeeding_agent(1);
    std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_git-ralph"), scene.outside("bin/git-ralph")).unwrap();
    let block = |body: &str| format!("# >>> specify ralph >>>\n{body}\n# <<< specify ralph <<<\n");
    let note = block("git-ralph hooks note </dev/null >/dev/null 2>&1 || exit 1");
    let behind = block("git-ralph hooks behind \"$1\" \"$2\" </dev/null >&2 || exit 1");
    let write = |theirs: &str, folder: &str| {
        scene.executable(&format!("{folder}/post-commit"), &format!("#!/bin/sh\n{note}{theirs}"));
        scene.executable(&format!("{folder}/post-checkout"), &format!("#!/bin/sh\n{behind}"));
        scene.write(".gitattributes", block("progress.txt merge=union") + "*.png binary");
    };
    write("echo theirs >> .git/theirs\n", ".git/hooks");
    scene.agent_uses_git().commit("By a person");
    assert_eq!(scene.git("checkout --quiet HEAD"), "");
    assert_eq!(scene.read(".git/theirs"), "theirs\n");
    scene.ralph("hooks behind --output=x HEAD").code(0).stdout("").stderr("");
    scene.ralph("hooks uninstall").code(0).stdout_has(".gitattributes\n");
    assert_eq!(scene.read(".git/hooks/post-commit"), "#!/bin/sh\necho theirs >> .git/theirs\n");
    assert!(!scene.path(".git/hooks/post-checkout").exists());
    assert_eq!(scene.read(".gitattributes"), "*.png binary");

    // husky makes the hooks in `_` anew; earlier versions wrote to the folder above.
    write("", ".husky");
    scene.executable(".husky/_/post-commit", "#!/usr/bin/env sh\n").git("config core.hooksPath .husky/_");
    let refused = scene.ralph("hooks install").code(3);
    refused.stderr_has("/.husky/_ anew at each install\nhint: ");
    scene.ralph("hooks uninstall").code(0);
    assert!(!scene.path(".husky/post-commit").exists() && scene.path(".husky/_/post-commit").exists());
    scene.ralph("hooks install --only post-commit").code(2).stderr_has("possible values");
}

#[test]
fn init_installs_the_usual_hook() {
    let scene = Sandbox::with_succeeding_agent(1);
    scene
        .agent_uses_git()
        .ralph("init --hooks")
        .code(0)
        .stdout_has("already exists, and is not changed")
        .stdout_has("/hooks/prepare-commit-msg\n");
}

#[test]
fn a_purge_wants_a_person_or_a_yes() {
    let scene = Sandbox::with_succeeding_agent(1);
    scene.ralph("").code(0);
    let id = scene.session().id().to_owned();
    let begin = &id[..10];
    for name in [begin, &id] {
        let run = scene.ralph(["purge", "--local", name]).code(3);
        run.stderr_has(&format!("a purge of session {id} cannot be undone\nhint: add `--yes`"));
    }
    assert_eq!(scene.sessions().len(), 1);
    scene.ralph(["purge", "--local", "--yes", begin]).code(0);
    assert!(scene.sessions().is_empty());
}

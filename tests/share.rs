//! Records that travel: to a remote, to clones, in a file; and what else comes that way.

#![expect(clippy::unwrap_used, reason = "a scene that cannot be set has failed")]

use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::sandbox::{Run, Sandbox, WILLING_AGENT};

/// The remote of the project, with settings that must not be followed.
fn with_remote(scene: &Sandbox) -> PathBuf {
    let bare = scene.with_remote();
    // Nothing of this may be heeded.
    scene.git("config remote.origin.mirror true");
    scene.git("config fetch.prune true");
    bare
}

fn clone(scene: &Sandbox, name: &str) -> PathBuf {
    let clone = scene.outside(name);
    // By an address; from a path git would copy all objects, those of the records too.
    let address = format!("file://{}", scene.outside("remote.git").display());
    scene.git(["clone", "--quiet", &address, clone.to_str().unwrap()]);
    clone
}

fn refs(scene: &Sandbox, repo: &Path, prefix: &str) -> Vec<String> {
    let found = scene.git_in(repo, ["for-each-ref", "--format=%(refname) %(objectname)", prefix]);
    found.lines().map(str::to_owned).collect()
}

/// No byte of what was said may do anything to a terminal.
#[track_caller]
fn is_inert(run: Run) -> Run {
    let text = format!("{}{}", run.text(), run.talk());
    let wild: Vec<_> = text.chars().filter(|c| c.is_control() && !matches!(*c, '\n' | '\t')).collect();
    assert!(wild.is_empty(), "{wild:?} in {run}");
    run
}

/// Returns what `log` prints of a session whose snapshots are not there to be compared, and whose tasks are open in the list
/// that is.
fn without_changes(log: &str) -> String {
    assert_eq!(log.matches(" · no file changed").count(), 1, "{log}");
    let log = log.replace(" · no file changed", "");
    assert_eq!(log.lines().filter(|line| is_of_here(line)).count(), 3, "{log}");
    let lines: Vec<_> = log.lines().filter(|line| !is_of_here(line)).collect();
    format!("{}\n", lines.join("\n").trim_end())
}

/// Returns true of a flag of a done task, and of the commands below it: where the list is not, nothing is done.
fn is_of_here(line: &str) -> bool {
    line.starts_with("  ⚑ ") || line.starts_with("    → ") || line.starts_with("    else: ")
}

#[test]
fn a_clone_that_fetched_records_is_sound_and_says_that_no_loop_wrote_its_file() {
    let scene = Sandbox::new();
    scene.agent_sh("cat > /dev/null; tick").commit("An agent").with_remote();
    scene.ralph("").code(0);
    scene.ralph("sync").code(0);
    let clone = clone(&scene, "clone");
    scene.call("sync").dir(&clone).run().code(0);
    let progress = clone.join("specs/001-login/progress.txt");
    for found in [None, Some("an older file\n")] {
        if let Some(text) = found {
            std::fs::write(&progress, text).unwrap();
        }
        for command in ["fsck", "rebuild --check"] {
            let run = scene.call(command).dir(&clone).run().code(0);
            run.stderr_has("no loop in this work tree wrote ");
        }
    }
    scene.call("rebuild").dir(&clone).run().code(0);
    assert_eq!(std::fs::read_to_string(&progress).unwrap(), scene.progress());
    // Where a loop wrote it, it is held against the record as ever.
    for command in ["fsck", "rebuild --check"] {
        let run = scene.ralph(command).code(0);
        assert!(!run.talk().contains("no loop in this work tree"), "{run}");
    }
    std::fs::remove_file(scene.path("specs/001-login/progress.txt")).unwrap();
    for command in ["fsck", "rebuild --check"] {
        scene.ralph(command).code(1).stdout_has("progress.txt is missing");
    }
    scene.ralph("rebuild").code(0);
}

#[test]
fn sessions_go_to_the_remote_and_from_there_to_clones() {
    let scene = Sandbox::with_succeeding_agent(1);
    let bare = with_remote(&scene);
    scene.ralph("").code(0);
    let id = scene.session().id().to_owned();
    scene.ralph("sync").code(0).stdout(format!("pushed   {id}\n1 session pushed to origin\n")).stderr("");
    assert_eq!(refs(&scene, &bare, "refs/ralph/"), refs(&scene, scene.repo(), "refs/ralph/"));
    assert!(refs(&scene, &bare, "refs/ralph-snap/").is_empty(), "snapshots go where they are asked for");
    scene.ralph("sync").code(0).stdout("already in sync with origin\n");

    let clone = clone(&scene, "clone");
    scene.call("log").dir(&clone).run().code(0).stdout("").stderr_has("`specify ralph sync` fetches them");
    let report = scene.call("sync --json").dir(&clone).run().code(0).json();
    assert_eq!((&report["sessions_fetched"], &report["remote"]), (&Value::from(vec![id]), &"origin".into()));
    let log = scene.ralph("log").code(0).text();
    scene.call("log").dir(&clone).run().code(0).stdout(without_changes(&log));
    assert!(refs(&scene, &clone, "refs/ralph-incoming/").is_empty());

    scene.ralph("sync --snapshots").code(0).stdout("snapshots of 1 session pushed to origin\n");
    scene.call("sync --snapshots").dir(&clone).run().code(0);
    let log = log.lines().filter(|line| !is_of_here(line)).map(|line| format!("{line}\n"));
    scene.call("log").dir(&clone).run().code(0).stdout(format!("{}\n", log.collect::<String>().trim_end()));
    assert_eq!(refs(&scene, &clone, "refs/ralph-snap/"), refs(&scene, scene.repo(), "refs/ralph-snap/"));
    scene.store_is_sound(&clone);
}

#[test]
fn a_session_that_goes_on_goes_on_elsewhere_and_nowhere_backwards() {
    let scene = Sandbox::with_succeeding_agent(2);
    let bare = with_remote(&scene);
    scene.ralph("-n 1").code(4);
    scene.ralph("sync").code(0);
    let clone = clone(&scene, "clone");
    scene.call("sync").dir(&clone).run().code(0);
    let before = refs(&scene, &bare, "refs/ralph/");
    scene.ralph("resume").code(0);
    scene.ralph("sync --fetch-only").code(0).stdout("already in sync with origin\n");
    assert_eq!(refs(&scene, &bare, "refs/ralph/"), before);
    scene.ralph("sync --push-only").code(0);
    // A clone that is behind has nothing to push.
    scene.call("sync --push-only").dir(&clone).run().code(0);
    let after = refs(&scene, &bare, "refs/ralph/");
    assert_ne!(after, before);
    scene.call("sync").dir(&clone).run().code(0).stdout_has("1 session fetched");
    assert_eq!(refs(&scene, &clone, "refs/ralph/"), after);
}

#[test]
fn eight_clones_that_sync_at_the_same_time_all_have_all_sessions() {
    let (clones, sessions) = (8, 4);
    let scene = Sandbox::new();
    let list: Vec<String> = (1..=sessions).map(|number| format!("- [ ] T{number:03} Do it")).collect();
    scene.tasks(&list.join("\n")).agent_script(WILLING_AGENT).config("snapshots = false").commit("An agent");
    let bare = with_remote(&scene);
    let places: Vec<_> = (0..clones).map(|number| clone(&scene, &format!("clone-{number}"))).collect();
    let nights: Vec<Vec<_>> = places
        .iter()
        .map(|place| {
            let pair = |_| ["-n 1", "sync"].map(|words| scene.call(words).dir(place).command());
            (0..sessions).flat_map(pair).collect()
        })
        .collect();
    std::thread::scope(|scope| {
        for (place, night) in places.iter().zip(nights) {
            scope.spawn(move || {
                for (number, mut command) in night.into_iter().enumerate() {
                    let output = command.output().unwrap();
                    let said = String::from_utf8_lossy(&output.stderr);
                    // The last task completes a session, the others end at their limit.
                    let expected = if number % 2 == 0 && number + 2 < 2 * sessions { 4 } else { 0 };
                    assert_eq!(output.status.code(), Some(expected), "{number} in {place:?}: {said}");
                }
            });
        }
    });
    for place in &places {
        scene.call("sync").dir(place).run().code(0);
    }
    let all = refs(&scene, &bare, "refs/ralph/");
    assert_eq!(all.len(), clones * sessions);
    for place in &places {
        assert_eq!(refs(&scene, place, "refs/ralph/"), all);
        scene.call("rebuild --check").dir(place).run().code(0);
    }
    scene.store_is_sound(&bare);
}

#[test]
fn without_one_clear_remote_nothing_is_sent_anywhere() {
    let scene = Sandbox::with_succeeding_agent(1);
    scene.ralph("").code(0);
    scene.ralph("sync").code(3).stderr_has("this repository has no remote\nhint: ");
    let bare = with_remote(&scene);
    scene.git("config remote.upstream.url /nowhere");
    scene.ralph("sync").code(3).stderr_has("several remotes: origin, upstream\nhint: ");
    let id = scene.session().id().to_owned();
    let said = scene.ralph(["purge", &id]).code(3).stderr_has("several remotes: origin, upstream");
    said.stderr_has("`--remote NAME`").stderr_has("`--local`");
    let secret = scene.ralph("sync https://me:sesame@localhost:1/x").code(1);
    assert!(!secret.talk().contains("sesame"), "{secret}");
    scene.ralph("sync nobody").code(3).stderr_has("there is no remote `nobody`\nhint: ");
    scene
        .ralph("sync upstream")
        .code(1)
        .stderr_has("reach upstream")
        .stderr_has("\nhint: nothing was changed");
    assert!(refs(&scene, &bare, "refs/ralph/").is_empty());
    scene.git("config ralph.remote origin");
    scene.ralph("sync").code(0).stdout_has("1 session pushed to origin");
    let other = scene.outside("other.git");
    scene.git(["init", "--quiet", "--bare", other.to_str().unwrap()]);
    scene.ralph(["sync", other.to_str().unwrap()]).code(0);
    assert_eq!(refs(&scene, &other, "refs/"), refs(&scene, &bare, "refs/ralph/"));
}

#[test]
fn what_the_remote_refuses_is_told_and_the_rest_goes_on() {
    use std::os::unix::fs::PermissionsExt;
    let scene = Sandbox::with_succeeding_agent(2);
    let bare = with_remote(&scene);
    scene.ralph("-n 1").code(4);
    let first = scene.session().refname().to_owned();
    scene.ralph("").code(0);
    let hook = bare.join("hooks/update");
    std::fs::write(&hook, format!("#!/bin/sh\ntest \"$1\" != {first}\n")).unwrap();
    std::fs::set_permissions(&hook, std::fs::Permissions::from_mode(0o755)).unwrap();
    let said = scene.ralph("sync").code(1).stdout_has("1 session pushed to origin");
    said.stderr_has(&format!("left as it is: {first}: origin refuses it: [remote rejected] (hook declined)"));
    std::fs::write(&hook, "#!/bin/sh\nprintf '\\033[31mno ralph here\\033[0m\\n' >&2\nexit 1\n").unwrap();
    let said = is_inert(scene.ralph("sync").code(1).stdout(""));
    said.stderr_has("no ralph here").stderr_has("warning: origin says: ");
    std::fs::remove_file(&hook).unwrap();
    scene.ralph("sync").code(0).stdout_has("1 session pushed to origin").stderr("");
}

#[test]
fn a_connection_that_breaks_leaves_what_was_there_and_the_next_sync_brings_the_rest() {
    let scene = Sandbox::with_succeeding_agent(1);
    with_remote(&scene);
    scene.ralph("").code(0);
    scene.ralph("sync").code(0);
    let clone = clone(&scene, "clone");
    // The list comes through, and in the middle of the pack the line goes dead.
    let count = scene.outside("count");
    let script = format!(
        "echo >> {0}\nif [ $(wc -l < {0}) -eq 2 ]; then\nexec 3<&0\nmkfifo {0}.pipe\ngit upload-pack \"$@\" <&3 > {0}.pipe &\ndd bs=1 count=900 if={0}.pipe 2> /dev/null\nkill $!\nexit 1\nfi\nexec git upload-pack \"$@\"",
        count.display()
    );
    scene.program("flaky-upload-pack", &script);
    scene.git_in(&clone, "config remote.origin.uploadpack flaky-upload-pack");
    let said = scene.call("sync").dir(&clone).run().code(1);
    said.stderr_has("warning: stopped before all was done: fetch records");
    assert!(refs(&scene, &clone, "refs/ralph/").is_empty());
    assert!(refs(&scene, &clone, "refs/ralph-incoming/").is_empty());
    scene.call("sync").dir(&clone).run().code(0).stdout_has("1 session fetched");
}

#[test]
fn refs_that_a_remote_loses_are_noticed_and_brought_back() {
    let scene = Sandbox::with_succeeding_agent(2);
    let bare = with_remote(&scene);
    scene.ralph("-n 1").code(4);
    scene.ralph("sync").code(0);
    let before = refs(&scene, &bare, "refs/ralph/");
    let name = scene.session().refname().to_owned();
    scene.git_in(&bare, ["update-ref", "-d", &name]);
    let lost = format!("origin has lost 1 ref since the last sync: {name}");
    scene.ralph("sync --fetch-only").code(0).stderr_has(&lost);
    scene
        .ralph("sync")
        .code(0)
        .stdout_has("1 session pushed")
        .stderr_has(&lost)
        .stderr_has("hint: they were pushed back; ");
    assert_eq!(refs(&scene, &bare, "refs/ralph/"), before);
    scene.git_in(&bare, ["update-ref", &name, &format!("{name}~1")]);
    scene.ralph("sync").code(0).stderr_has(&lost);
    assert_eq!(refs(&scene, &bare, "refs/ralph/"), before);
    scene.ralph("sync").code(0).stderr("");
}

#[test]
fn refs_of_others_stay_where_they_are_on_both_sides() {
    let scene = Sandbox::with_succeeding_agent(1);
    let bare = with_remote(&scene);
    scene.ralph("").code(0);
    let tree = scene.git("rev-parse HEAD^{tree}");
    let here = scene.git(["commit-tree", "-m", "theirs", &tree]);
    let there = scene.git_in(&bare, ["commit-tree", "-m", "theirs too", &tree]);
    scene.git(["update-ref", "refs/ralph/001-login/20260101-000000-ffffffff", &here]);
    scene.git(["update-ref", "refs/ralph/queue/next", &here]);
    scene.git(["update-ref", "refs/ralph/elsewhere", &here]);
    scene.git_in(&bare, ["update-ref", "refs/ralph/001-login/20260101-000000-eeeeeeee", &there]);
    scene.git_in(&bare, ["update-ref", "refs/ralph/queue/last", &there]);
    let (mine, theirs) = (refs(&scene, scene.repo(), "refs/ralph/"), refs(&scene, &bare, "refs/ralph/"));
    scene.ralph("sync").code(0).stdout_has("1 session pushed").stderr("");
    assert_eq!(refs(&scene, scene.repo(), "refs/ralph/"), mine);
    let is_own = |line: &&String| line.contains("/001-login/") && !line.contains("20260101-");
    let mut expected: Vec<_> = theirs.iter().chain(mine.iter().filter(is_own)).cloned().collect();
    expected.sort();
    assert_eq!(refs(&scene, &bare, "refs/ralph/"), expected);
    // One of others that stands where the folder of a feature would have to be.
    let clone = clone(&scene, "clone");
    scene.git_in(&clone, ["update-ref", "refs/ralph/001-login", "HEAD"]);
    scene.call("sync").dir(&clone).run().code(1).stderr_has("left as it is: refs/ralph/001-login/");
    assert_eq!(refs(&scene, &clone, "refs/ralph/").len(), 1);
}

/// A ref in the remote whose commit says of itself what `trailers` say.
fn forge(scene: &Sandbox, bare: &Path, name: &str, (trailers, tree): (&str, &str)) {
    let message = format!("\u{1b}]0;owned\u{7}x\n\n{trailers}\n");
    std::fs::write(scene.outside("message"), message).unwrap();
    let path = scene.outside("message");
    let commit = scene.git_in(bare, ["commit-tree", "-F", path.to_str().unwrap(), tree]);
    scene.git_in(bare, ["update-ref", name, &commit]);
}

#[test]
fn hostile_refs_get_no_name_here_and_do_nothing_to_the_terminal() {
    let scene = Sandbox::with_succeeding_agent(1);
    let bare = with_remote(&scene);
    scene.ralph("").code(0);
    scene.ralph("sync").code(0);
    let clone = clone(&scene, "clone");
    let empty = scene.git_in(&bare, "mktree --missing");
    let name = |end: &str| format!("refs/ralph/001-login/20260101-000000-{end}");
    let start = |id: &str| {
        format!(
            "Ralph-Schema: 1\nRalph-Record: start\nRalph-Session: 20260101-000000-{id}\nRalph-Feature: specs/001-login"
        )
    };
    let forge = |end: &str, trailers: &str, tree: &str| {
        forge(&scene, &bare, &name(end), (trailers, tree));
    };
    forge("00000001", "Ralph-Schema: 99\u{1b}[31m", &empty);
    forge("00000002", &start("aaaaaaaa"), &empty);
    forge("00000003", &start("00000003").replace("specs/001-login", "../../etc"), &empty);
    forge("00000004", &start("00000004").replace(": start", ": \u{1b}[2Jstart"), &empty);
    let blob = scene.git_in(&bare, ["rev-parse", "HEAD:agent.toml"]);
    let tree = |line: &str| {
        std::fs::write(scene.outside("tree"), format!("{line}\n")).unwrap();
        let shell = format!("git mktree < {}", scene.outside("tree").display());
        let made = scene.hermetic("sh").args(["-c", &shell]).current_dir(&bare).output().unwrap();
        String::from_utf8(made.stdout).unwrap().trim().to_owned()
    };
    forge("00000005", &start("00000005"), &tree(&format!("120000 blob {blob}\tsession.json")));
    forge("00000006", &start("00000006"), &tree(&format!("100644 blob {blob}\t..")));
    forge("00000007", &start("00000007"), &tree(&format!("100644 blob {blob}\ta\u{1b}[31mb")));
    let huge = format!("{}\nRalph-Task: {}", start("00000008"), "x".repeat(2_000_000));
    forge("00000008", &huge, &empty);
    forge("00000009", &start("00000009").replace("start", "iteration"), &empty);
    let outside = scene.outside("etc");
    let run = is_inert(scene.call("sync").dir(&clone).run().code(1));
    for end in 1..=9 {
        run.talk().find(&name(&format!("0000000{end}"))).unwrap_or_else(|| panic!("{end} in {run}"));
    }
    assert!(!outside.exists());
    let good = refs(&scene, scene.repo(), "refs/ralph/");
    assert_eq!(refs(&scene, &clone, "refs/ralph/"), good, "{run}");
    assert_eq!(refs(&scene, &clone, "refs/ralph-incoming/"), Vec::<String>::new());
    is_inert(scene.call("log").dir(&clone).run().code(0));
    // Whoever brings them in by git alone is told, and sees the others.
    scene.git_in(&clone, "fetch --quiet origin refs/ralph/*:refs/ralph/*");
    is_inert(scene.call("log").dir(&clone).run().code(0).stderr_has("warning: left out: "));
    is_inert(scene.call("log --sessions").dir(&clone).run());
}

/// What is replaced: words of the message, and files by their paths.
type Forgery<'a> = (&'a [(&'a str, &'a str)], &'a [(&'a str, String)]);

/// A commit like `commit`, with words of its message and of some of its files replaced, on top of `parent`.
fn forged(
    (scene, repo): (&Sandbox, &Path),
    commit: &str,
    parent: Option<&str>,
    (words, files): Forgery<'_>,
) -> String {
    let mut message = scene.git_in(repo, ["log", "-1", "--format=%B", commit]);
    for (from, to) in words {
        assert!(message.contains(from), "{from} is not in {message}");
        message = message.replace(from, to);
    }
    std::fs::write(scene.outside("message"), message).unwrap();
    let index = scene.outside("index");
    let git = |words: &[&str]| {
        let made = scene.hermetic("git").current_dir(repo).env("GIT_INDEX_FILE", &index).args(words).output();
        String::from_utf8(made.unwrap().stdout).unwrap().trim().to_owned()
    };
    git(&["read-tree", commit]);
    for (path, text) in files {
        std::fs::write(scene.outside("bytes"), text).unwrap();
        let blob = scene.git_in(repo, ["hash-object", "-w", scene.outside("bytes").to_str().unwrap()]);
        git(&["update-index", "--add", "--cacheinfo", &format!("100644,{blob},{path}")]);
    }
    let tree = git(&["write-tree"]);
    std::fs::remove_file(index).unwrap();
    let message = scene.outside("message");
    let parents = parent.map_or(Vec::new(), |parent| vec!["-p", parent]);
    let words = [&["commit-tree", "-F", message.to_str().unwrap()][..], &parents, &[&tree]].concat();
    let made = scene.hermetic("git").current_dir(repo).args(words).output().unwrap();
    String::from_utf8(made.stdout).unwrap().trim().to_owned()
}

#[test]
fn a_record_of_the_right_shape_that_lies_writes_nowhere_else_and_does_nothing_to_the_terminal() {
    let scene = Sandbox::with_succeeding_agent(1);
    let bare = with_remote(&scene);
    scene.ralph("").code(0);
    scene.ralph("sync").code(0);
    let session = scene.session();
    let (id, evil) = (session.id().to_owned(), "20991231-235959-00000000");
    let wild = "\\u001b]0;owned\\u0007\\u009b2J";
    let commits = scene.git_in(&bare, ["rev-list", "--reverse", session.refname()]);
    let [start, first, _] = commits.lines().collect::<Vec<_>>().try_into().unwrap();
    let json = |commit: &str, path: &str| scene.git_in(&bare, ["show", &format!("{commit}:{path}")]);
    let artifact = "\"path\": \"specs/001-login/tasks.md\"";
    for place in ["../../evil", "/tmp/../evil", ".git/hooks", "a/.GIT/b", "..\u{1b}[31m"] {
        let told = json(start, "session.json")
            .replace(&id, evil)
            .replace(artifact, &format!("\"path\": {:?}", format!("{place}/tasks.md")));
        assert!(told.contains("/tasks.md") && !told.contains("specs/001-login/tasks.md\""), "{told}");
        let told = told.replace('\u{1b}', "\\u001b").replace("\\u{1b}", "\\u001b");
        let files = [("session.json", told)];
        let start = forged((&scene, &bare), start, None, (&[(&id, evil)], &files));
        let told = json(first, "iteration.json").replace(&id, evil).replace("Do it", wild);
        assert!(told.contains(wild));
        let files = [("iteration.json", told), ("agent/stdout", "\u{1b}[2J\u{9b}31mred\u{7}\n".to_owned())];
        let words = [
            (id.as_str(), evil),
            ("Ralph-Task: T001", "Ralph-Task: %1b]0;owned%07%c2%9b2J"),
            ("Ralph-Agent: scripted", "Ralph-Agent: %1b[31m"),
        ];
        let first = forged((&scene, &bare), first, Some(&start), (&words, &files));
        scene.git_in(&bare, ["update-ref", &format!("refs/ralph/001-login/{evil}"), &first]);
        let clone = clone(&scene, "clone");
        let run = |words: &str| is_inert(scene.call(words).dir(&clone).run());
        run("sync").code(0).stdout_has("2 sessions");
        let outside = sandbox_files(&scene);
        for words in [
            "log",
            "log --oneline",
            "log --sessions",
            "show",
            "show 1",
            "status",
            "stats",
            "diff 1",
            "restore 1",
            "bisect -- true",
            "fsck",
            "fsck --repair",
            "rebuild",
            "rebuild --all",
            "rebuild --check",
            "notes rebuild",
            "log --grep red",
            "replay 1",
            "clean --dry-run --keep-last 0",
            "resume",
        ] {
            run(words);
            run(&format!("{words} --session 2099"));
        }
        if !place.contains('\u{1b}') {
            let refused = run("rebuild --session 2099").code(1);
            refused.stderr_has("names a folder outside of the repository");
        }
        assert!(!scene.outside("evil").exists() && !clone.join(".git/hooks/progress.txt").exists());
        assert_eq!(sandbox_files(&scene), outside, "{place}");
        std::fs::remove_dir_all(&clone).unwrap();
    }
}

/// What there is beside the clone.
fn sandbox_files(scene: &Sandbox) -> Vec<PathBuf> {
    let clone = scene.outside("clone");
    let all = crate::sandbox::sound::files(&scene.outside(""));
    all.into_iter().filter(|path| !path.starts_with(&clone)).collect()
}

#[test]
fn a_feature_that_leads_out_of_the_repository_gets_no_name_here() {
    let scene = Sandbox::with_succeeding_agent(1);
    let bare = with_remote(&scene);
    scene.ralph("").code(0);
    scene.ralph("sync").code(0);
    let session = scene.session();
    let start = scene.git_in(&bare, ["rev-list", "--max-parents=0", session.refname()]);
    for feature in ["../../etc", "/etc", "a/../../b", ".git", "x/.Git/hooks"] {
        let words = [("Ralph-Feature: specs/001-login", format!("Ralph-Feature: {feature}"))];
        let words = words.each_ref().map(|(from, to)| (*from, to.as_str()));
        let made = forged((&scene, &bare), &start, None, (&words, &[]));
        // The name that such a feature has, so that name and record agree.
        let slug: String = feature
            .bytes()
            .map(|byte| {
                if byte.is_ascii_lowercase() { char::from(byte).to_string() } else { format!("={byte:02x}") }
            })
            .collect();
        let name = format!("refs/ralph/{slug}/{}", session.id());
        scene.git_in(&bare, ["update-ref", &name, &made]);
        let run = is_inert(scene.ralph("sync").code(1));
        run.stderr_has(&format!("left as it is: {name}: ")).stderr_has("leads out of the repository");
        assert_eq!(refs(&scene, scene.repo(), "refs/ralph/").len(), 1);
        scene.git_in(&bare, ["update-ref", "-d", &name]);
    }
}

#[test]
fn a_shallow_clone_gets_whole_sessions() {
    let scene = Sandbox::with_succeeding_agent(1);
    let bare = with_remote(&scene);
    scene.ralph("").code(0);
    scene.ralph("sync").code(0);
    let shallow = scene.outside("shallow");
    let address = format!("file://{}", bare.display());
    scene.git(["clone", "--quiet", "--depth", "1", &address, shallow.to_str().unwrap()]);
    scene.call("doctor --json").dir(&shallow).run().stdout_has("shallow)\"");
    scene.call("sync").dir(&shallow).run().code(0).stdout_has("1 session fetched");
    let log = scene.ralph("log").code(0).text();
    scene.call("log").dir(&shallow).run().code(0).stdout(without_changes(&log)).stderr("");
    scene.call("-n 1 --task T001").dir(&shallow).run();
    scene.call("sync").dir(&shallow).run().code(0);
}

#[test]
fn two_that_took_up_the_same_session_keep_both_and_are_told() {
    let scene = Sandbox::with_succeeding_agent(3);
    let bare = with_remote(&scene);
    scene.ralph("-n 1").code(4);
    scene.ralph("sync").code(0);
    let clone = clone(&scene, "clone");
    scene.call("sync").dir(&clone).run().code(0);
    scene.ralph("resume").code(0);
    scene.ralph("sync").code(0);
    let there = refs(&scene, &bare, "refs/ralph/");
    scene.call("resume").dir(&clone).run().code(0);
    let here = refs(&scene, &clone, "refs/ralph/");
    let said = scene.call("sync").dir(&clone).run().code(1);
    said.stderr_has("it went on here and there in different ways");
    assert_eq!((refs(&scene, &clone, "refs/ralph/"), refs(&scene, &bare, "refs/ralph/")), (here, there));
}

#[test]
fn records_travel_in_a_bundle_of_git() {
    let scene = Sandbox::with_succeeding_agent(1);
    scene.ralph("").code(0);
    let id = scene.session().id().to_owned();
    let file = scene.outside("night.bundle");
    let file = file.to_str().unwrap();
    scene.git(["bundle", "create", "--quiet", file, "--glob=refs/ralph*"]);
    let colleague = Sandbox::new();
    let fetch = ["sync", "--fetch-only", "--snapshots", file];
    let said = format!("fetched  {id}\n1 session and the snapshots of 1 session fetched from {file}\n");
    colleague.ralph(fetch).code(0).stdout(said).stderr("");
    assert_eq!(refs(&colleague, colleague.repo(), "refs/ralph"), refs(&scene, scene.repo(), "refs/ralph"));
    colleague.ralph("show 1 --patch").code(0);
    colleague.journal_differs();
    let bytes = std::fs::read(file).unwrap();
    std::fs::write(colleague.outside("torn"), &bytes[..bytes.len() - 30]).unwrap();
    let third = Sandbox::new();
    let torn = third.outside("torn");
    std::fs::copy(colleague.outside("torn"), &torn).unwrap();
    third.ralph(["sync", "--fetch-only", torn.to_str().unwrap()]).code(1).stdout("");
    assert!(refs(&third, third.repo(), "refs/ralph").is_empty());
    // git leaves the draft of a pack behind, as it does with any fetch that breaks, and collects it some day.
    third.skip_final_fsck();
}

#[test]
fn commands_that_are_gone_say_what_to_use_instead() {
    let scene = Sandbox::new();
    scene.ralph("bundle night.bundle").code(2).stderr_has("`bundle` is gone\nhint: `git bundle create FILE");
    scene.ralph("pause").code(2).stderr_has("`specify ralph resume` goes on");
    scene.ralph("unbundle - --json").code(2).stderr_has("hint: `specify ralph sync --fetch-only FILE`");
}

#[test]
fn the_first_push_to_an_address_is_asked_for() {
    let scene = Sandbox::with_succeeding_agent(1);
    let remote = scene.with_remote();
    let sync = |words: &str| scene.call(words).env("SPECKIT_RALPH_SYNC_CONFIRMED", "").run();
    // Without a session nothing goes anywhere.
    sync("sync").code(0);
    scene.ralph("").code(0);
    let run = sync("sync").code(3);
    run.stderr_has("1 session with prompts, outputs and what agents said, redacted, would go to origin for the first time")
        .stderr_has("hint: `specify ralph sync --yes` pushes and remembers it");
    assert_eq!(scene.git_in(&remote, "for-each-ref refs/ralph/"), "");
    sync("sync --fetch-only").code(0);
    sync("sync --yes").code(0);
    assert_ne!(scene.git_in(&remote, "for-each-ref refs/ralph/"), "");
    sync("sync").code(0);
    sync("sync --snapshots").code(3).stderr_has("and snapshots of the work tree, not redacted");
    scene.git("config ralph.sync.confirmed true");
    sync("sync --snapshots").code(0);
    scene.git("config --unset ralph.sync.confirmed");
    let other = scene.outside("other.git");
    scene.git(["init", "--quiet", "--bare", other.to_str().unwrap()]);
    scene.call(["sync", other.to_str().unwrap()]).env("SPECKIT_RALPH_SYNC_CONFIRMED", "").run().code(3);
}

#[test]
fn with_a_pushurl_each_address_that_git_pushes_to_is_asked_for() {
    let scene = Sandbox::with_succeeding_agent(2);
    let remote = scene.with_remote();
    let sync = |words: &str| scene.call(words).env("SPECKIT_RALPH_SYNC_CONFIRMED", "").run();
    scene.ralph("-n 1").code(4);
    // The address from which git fetches is approved, and that says nothing of another one.
    sync("sync --yes").code(0);
    let push_to = |name: &str| {
        let bare = scene.outside(name);
        scene.git(["clone", "--quiet", "--bare", remote.to_str().unwrap(), bare.to_str().unwrap()]);
        scene.git(["config", "--add", "remote.origin.pushurl", bare.to_str().unwrap()]);
        bare
    };
    let records = |bare: &Path| refs(&scene, bare, "refs/ralph/");
    let first = push_to("first.git");
    scene.ralph("").code(0);
    let refused = sync("sync").code(3);
    refused.stderr_has(&format!(" would go to origin ({}) for the first time\n", first.display()));
    assert!(records(&first).is_empty());
    sync("sync --fetch-only").code(0);
    sync("sync --yes").code(0);
    assert_eq!(records(&first).len(), 1);
    assert_eq!(records(&remote).len(), 1, "git pushes elsewhere");
    sync("sync").code(0);
    // All are named where one of them is new.
    let second = push_to("second.git");
    let both =
        format!(" would go to origin ({}, {}) for the first time\n", first.display(), second.display());
    sync("sync").code(3).stderr_has(&both);
    assert!(records(&second).is_empty());
    sync("sync --yes").code(0);
    sync("sync").code(0);
    // What was approved before is so still.
    scene.git("config --unset-all remote.origin.pushurl");
    sync("sync").code(0);
    assert_eq!(records(&remote).len(), 2);
}

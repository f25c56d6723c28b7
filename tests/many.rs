//! Several loops on one branch: `--jobs N`.

use std::collections::BTreeSet;
use std::fs;

use crate::lanes::{BRANCH, subjects, with_repo};
use crate::sandbox::{Call, Sandbox, Session, wait_until};

pub const FOUR: &str = "- [ ] T001 [P] One\n- [ ] T002 [P] Two\n- [ ] T003 [P] Three\n- [ ] T004 [P] Four";

/// Writes a file named after the task, and ticks the box.
const AGENT: &str = "cat > /dev/null\necho $RALPH_TASK >> work-$RALPH_TASK\n\
                     sed -i \"s/\\[ \\] $RALPH_TASK/[x] $RALPH_TASK/\" \"$RALPH_TASKS\"\n";

/// A scene whose agents do `deed` first. Its queues in `$FIFOS` have one wait for another; `$REPO` is the user's repository.
pub fn scene(tasks: &str, deed: &str) -> Sandbox {
    let scene = Sandbox::new();
    let fifos = scene.outside("fifos");
    fs::create_dir(&fifos).expect("it is new");
    for name in ["a", "b", "go-T001", "go-T002"] {
        rustix::fs::mknodat(
            rustix::fs::CWD,
            fifos.join(name),
            rustix::fs::FileType::Fifo,
            rustix::fs::Mode::RWXU,
            0,
        )
        .expect("a queue can be made");
    }
    let deed = deed.replace("$FIFOS", fifos.to_str().expect("scenes have plain names"));
    let deed = with_repo(&scene, &deed);
    scene.tasks(tasks).agent_sh(&format!("{deed}\n{AGENT}")).validate("ls; true").commit("Ready");
    scene
}

/// T001 and T002 go on only where both have begun.
const TOGETHER: &str =
    "case $RALPH_TASK in T001) echo > $FIFOS/a; cat $FIFOS/b;; T002) cat $FIFOS/a; echo > $FIFOS/b;; esac";

pub fn many<'a>(scene: &'a Sandbox, words: &str) -> Call<'a> {
    // A group reads the real clock: several loops would step it by chance.
    scene.call(&*format!("run {words}")).in_real_time()
}

/// Checks that each of these tasks is on the branch once, and nothing is left in hand.
pub fn each_is_there_once(scene: &Sandbox, tasks: &[&str]) {
    let found = subjects(scene);
    for task in tasks {
        let times = found.iter().filter(|subject| subject.starts_with(task)).count();
        assert_eq!(times, 1, "{task}: {found:?}");
        assert_eq!(scene.git(["show", &format!("{BRANCH}:work-{task}")]), *task);
    }
    let list = scene.git(["show", &format!("{BRANCH}:specs/001-login/tasks.md")]);
    assert_eq!(list.matches("[x]").count(), tasks.len(), "{list}");
    let spool = scene.path(".git/ralph/spool");
    let left = fs::read_dir(&spool).map_or(0, Iterator::count);
    assert_eq!(left, 0, "a session is not over");
}

/// Returns a trailer of all records.
fn trailers(scene: &Sandbox, name: &str) -> Vec<String> {
    let key = format!("Ralph-{name}");
    scene.sessions().iter().flat_map(|session| session.trailers(&key)).collect()
}

fn lanes_of(sessions: &[Session<'_>]) -> BTreeSet<u64> {
    let ends = sessions.iter().map(|session| session.end());
    ends.map(|end| end["lane"].as_u64().expect("it worked in a lane")).collect()
}

#[test]
fn tasks_are_worked_on_at_once_and_each_comes_on_the_branch_once() {
    let scene = scene(FOUR, TOGETHER);
    let before = (scene.git("rev-parse HEAD"), scene.git("status --porcelain"));
    let run = many(&scene, "-j 2").run().code(0);
    let run = run
        .stderr_has("-j 2: the list allows 2.0 at once on average")
        .stdout_has("4 commits on ralph/001-login: git merge --ff-only ralph/001-login")
        .stdout_has("all 4 tasks done");
    let text = run.text();
    let [ends, card] = ["ends: ", "look   specify ralph"].map(|words| text.find(words));
    assert!(ends.is_some() && ends < card, "{text}");
    each_is_there_once(&scene, &["T001", "T002", "T003", "T004"]);
    assert_eq!((scene.git("rev-parse HEAD"), scene.git("status --porcelain")), before);
    let sessions = scene.sessions();
    assert_eq!((sessions.len(), lanes_of(&sessions)), (2, BTreeSet::from([1, 2])));
    let groups: BTreeSet<String> =
        sessions.iter().map(|session| session.end()["group"].to_string()).collect();
    assert_eq!(groups.len(), 1, "{groups:?}");
    // What is published was validated as a whole.
    for commit in scene.git(["log", "--format=%H", &format!("HEAD..{BRANCH}")]).lines() {
        let format = "--format=%(trailers:key=Ralph-Check,valueonly)";
        let check = scene.git(["log", "-1", format, commit]);
        assert!(["passed", "batch"].contains(&check.as_str()), "{commit}: {check}");
    }
    let tip = scene.git(["log", "-1", "--format=%(trailers:key=Ralph-Check,valueonly)", BRANCH]);
    assert_eq!(tip, "passed");
    scene.ralph("fsck").code(0);
    scene.ralph("status").code(0).stdout_has("4 of 4 done");
    scene.ralph("report --all -o -").code(0).stdout_has("1 night").stdout_lacks("2 nights");
    // Whichever is named, the page and its data are of both.
    for session in &sessions {
        let report = |words: &str| scene.ralph(&format!("report --session {} -o - {words}", session.id()));
        let page = report("").code(0).text();
        for number in ["1:1", "2:1"] {
            assert!(page.contains(&format!(">{number}</span>")), "{page}");
        }
        let data = report("--json").code(0).json();
        assert_eq!(
            (data["session"]["id"].as_str(), &data["totals"]["closed"]),
            (Some(sessions[0].id()), &4.into())
        );
        let iterations = data["iterations"].as_array().expect("a list");
        let places: Vec<u64> =
            iterations.iter().filter_map(|one| one["record"]["iteration"].as_u64()).collect();
        assert_eq!(places, (1..=trailers(&scene, "Iteration").len() as u64).collect::<Vec<_>>());
        let summary = report("--markdown").code(0).text();
        let rows: Vec<&str> = summary.lines().filter(|line| line.starts_with("| T00")).collect();
        assert_eq!(rows.len(), 4, "{summary}");
        for commit in scene.git(["log", "--format=%h %s", "--abbrev=10", &format!("HEAD..{BRANCH}")]).lines()
        {
            let (commit, task) = commit.split_at(10);
            let is_it = |row: &&str| row.contains(&format!("`{commit}`")) && row.contains(&task[1..5]);
            assert_eq!(rows.iter().filter(|row| is_it(row)).count(), 1, "{commit} {task}: {summary}");
        }
        for words in
            ["4 tasks closed in 4 attempts", "fake 4 runs", "`passes as of ", "| Attempts | 4 attempts |"]
        {
            assert!(summary.contains(words), "{words}: {summary}");
        }
    }
}

#[test]
fn what_the_first_loop_measured_before_it_began_is_not_measured_again_by_the_others() {
    let scene = scene(FOUR, TOGETHER);
    let runs = scene.outside("runs");
    scene.validate(&format!("echo $RALPH_ITERATION >> '{}'; ls", runs.display())).commit("Count");
    many(&scene, "-j 2").with_baseline().run().code(0);
    let runs = fs::read_to_string(runs).expect("the validation ran");
    assert_eq!(runs.lines().filter(|number| *number == "0").count(), 1, "{runs}");
    let baselines: Vec<_> =
        scene.sessions().iter().map(|session| session.end()["baseline"].clone()).collect();
    assert!(baselines[0]["exit"] == 0 && baselines[0] == baselines[1], "{baselines:?}");
}

#[test]
fn the_list_says_what_may_be_beside_what() {
    // T003 waits for both, and T004 for the phase before it.
    let list = "## Phase 1: Setup\n- [ ] T001 [P] One\n- [ ] T002 [P] Two\n- [ ] T003 Three\n\
                ## Phase 2: More\n- [ ] T004 [P] Four";
    let scene = scene(list, TOGETHER);
    let run = many(&scene, "-j 8").run().code(0);
    run.stderr_has(
        "-j 8: the list allows 1.3 at once on average; --parallel phase allows 2.0; 2 are started",
    );
    each_is_there_once(&scene, &["T001", "T002", "T003", "T004"]);
    let order = subjects(&scene);
    assert_eq!((&order[2][..4], &order[3][..4]), ("T003", "T004"));
    // One at once is one loop.
    let scene = self::scene("- [ ] T001 One\n- [ ] T002 Two", "");
    many(&scene, "-j 2")
        .run()
        .code(0)
        .stderr_has("the list allows one task at once, and one loop is started");
    assert_eq!((scene.sessions().len(), subjects(&scene).len()), (1, 2));
    assert!(scene.session().end().get("group").is_none());
}

#[test]
fn what_is_refused_writes_nothing() {
    let scene = scene(FOUR, "");
    let before = scene.git("for-each-ref");
    many(&scene, "-j 2 --no-lane")
        .run()
        .code(3)
        .stderr_has("several agents work in lanes, and `lane` is false");
    many(&scene, "-j 65").run().code(2).stderr_has("a whole number from 1 to 64");
    scene.write("specs/001-login/plan.md", "# Plan\n");
    many(&scene, "-j 2").run().code(3).stderr_has("specs/001-login/plan.md");
    assert_eq!(scene.git("for-each-ref"), before);
    assert!(!scene.path(".git/ralph/spool").exists());
}

#[test]
fn limits_are_those_of_all_loops_together() {
    let scene = scene(FOUR, TOGETHER);
    many(&scene, "-j 2 -n 2").run().code(4);
    let outcomes = trailers(&scene, "Outcome");
    assert_eq!(outcomes.iter().filter(|outcome| *outcome == "success").count(), 2, "{outcomes:?}");
    each_is_there_once(&scene, &["T001", "T002"]);
}

#[test]
fn results_that_cannot_be_merged_are_done_again() {
    let once = "if mkdir $FIFOS/$RALPH_TASK 2>/dev/null; then TOGETHER; fi\necho $RALPH_TASK >> shared";
    let scene = scene("- [ ] T001 [P] One\n- [ ] T002 [P] Two", &once.replace("TOGETHER", TOGETHER));
    many(&scene, "-j 2").run().code(0);
    each_is_there_once(&scene, &["T001", "T002"]);
    let shared = scene.git(["show", &format!("{BRANCH}:shared")]);
    assert_eq!(shared.lines().collect::<BTreeSet<_>>(), BTreeSet::from(["T001", "T002"]));
    let verdicts = trailers(&scene, "Integration");
    assert!(verdicts.iter().any(|verdict| verdict.contains("=conflict@")), "{verdicts:?}");
}

#[test]
fn a_loop_that_is_killed_is_started_again_and_its_task_is_done_once() {
    let kill = "if [ $RALPH_TASK = T002 ] && mkdir $FIFOS/once 2>/dev/null; then kill -9 $PPID; fi";
    let scene = scene(FOUR, kill);
    let run = many(&scene, "-j 2").run().code(0);
    run.stderr_has("died (137), and is started again");
    each_is_there_once(&scene, &["T001", "T002", "T003", "T004"]);
    let outcomes = trailers(&scene, "Outcome");
    assert_eq!(outcomes.iter().filter(|outcome| *outcome == "interrupted").count(), 1, "{outcomes:?}");
    scene.ralph("fsck").code(0);
}

#[test]
fn what_a_dead_loop_had_in_hand_and_cannot_be_recorded_ends_the_others_until_it_can() {
    let broken = "if mkdir $FIFOS/$RALPH_TASK 2>/dev/null; then TOGETHER\n\
                  begin=$REPO/.git/ralph/spool/$RALPH_SESSION/1/begin.json\n\
                  if [ $RALPH_TASK = T001 ]; then\n\
                  cp $begin $FIFOS/begin; echo $begin > $FIFOS/place; echo '{' > $begin; kill -9 $PPID; fi; fi";
    let scene = scene(FOUR, &broken.replace("TOGETHER", TOGETHER));
    let run = many(&scene, "-j 2").run().code(1);
    run.stderr_has("died 3 times more, and is not started again")
        .stderr_has("cannot be recorded, so that the others end after their attempts");
    many(&scene, "-j 2").run().code(1).stderr_has("begin.json: EOF while parsing");
    let place = fs::read_to_string(scene.outside("fifos/place")).expect("it was noted");
    fs::copy(scene.outside("fifos/begin"), place.trim()).expect("it can be mended");
    many(&scene, "-j 2").run().code(0);
    each_is_there_once(&scene, &["T001", "T002", "T003", "T004"]);
}

/// Says that a task is worked on, and waits for the word to go on.
const WAITS: &str = "touch $FIFOS/begun-$RALPH_TASK; cat $FIFOS/go-$RALPH_TASK";

/// Waits until these tasks are worked on.
fn have_begun(scene: &Sandbox, tasks: &[&str]) {
    for task in tasks {
        let begun = scene.outside(&format!("fifos/begun-{task}"));
        wait_until(&format!("{task} is worked on"), || begun.exists().then_some(()));
    }
}

fn let_both_go_on(scene: &Sandbox) {
    for task in ["T001", "T002"] {
        fs::write(scene.outside(&format!("fifos/go-{task}")), "").expect("its agent reads it");
    }
}

#[test]
fn loops_whose_parent_is_gone_end_after_their_attempts_and_block_a_second_start() {
    let scene = scene("- [ ] T001 [P] One\n- [ ] T002 [P] Two\n- [ ] T003 [P] Three", WAITS);
    let running = many(&scene, "-j 2").spawn();
    have_begun(&scene, &["T001", "T002"]);
    running.kill();
    many(&scene, "-j 2").run().code(3).stderr_has("works on ralph/001-login");
    let_both_go_on(&scene);
    wait_until("the loops end", || {
        let spool = scene.path(".git/ralph/spool");
        fs::read_dir(spool).map_or(true, |left| left.count() == 0).then_some(())
    });
    each_is_there_once(&scene, &["T001", "T002"]);
}

#[test]
fn stop_ends_all_and_resume_takes_the_group_up() {
    let scene = scene(FOUR, &format!("if [ $RALPH_ITERATION = 1 ]; then {WAITS}; fi"));
    let running = many(&scene, "-j 2").spawn();
    have_begun(&scene, &["T001", "T002"]);
    scene.ralph("stop").code(0).stdout_has("2 loops on one branch stop after this attempt");
    let_both_go_on(&scene);
    running.wait().code(0);
    each_is_there_once(&scene, &["T001", "T002"]);
    let first: Vec<String> = scene.sessions().iter().map(|session| session.id().to_owned()).collect();
    scene.call("resume").in_real_time().run().code(0);
    each_is_there_once(&scene, &["T001", "T002", "T003", "T004"]);
    let second: Vec<String> = scene.sessions().iter().map(|session| session.id().to_owned()).collect();
    assert_eq!(second, first, "the same sessions went on");
}

#[test]
fn after_a_kill_of_all_loops_fewer_find_each_task_free() {
    for words in ["-j 2", "--lane"] {
        after_a_kill_of_all_loops(words);
    }
}

fn after_a_kill_of_all_loops(words: &str) {
    let deed = "if [ $RALPH_TASK != T004 ] && mkdir $FIFOS/$RALPH_TASK 2>/dev/null; then\n\
                touch $FIFOS/begun-$RALPH_TASK; cat $FIFOS/a; fi";
    let scene = scene(FOUR, deed);
    let running = many(&scene, "-j 3").spawn();
    have_begun(&scene, &["T001", "T002", "T003"]);
    let loops = fs::read_dir(scene.path(".git/ralph/loops")).expect("they run").flatten();
    let holders = loops.filter(|file| file.path().extension().is_some_and(|extension| extension == "holder"));
    let pids: Vec<i32> = holders
        .map(|file| {
            let holder: serde_json::Value =
                serde_json::from_slice(&fs::read(file.path()).expect("it is there")).expect("it is JSON");
            i32::try_from(holder["pid"].as_i64().expect("it has a number")).expect("it is one of a process")
        })
        .collect();
    assert_eq!(pids.len(), 3);
    running.kill();
    for pid in pids {
        let pid = rustix::process::Pid::from_raw(pid).expect("it is no group");
        rustix::process::kill_process(pid, rustix::process::Signal::KILL).expect("it runs");
    }
    wait_until("they are gone", || scene.ralph("stop").talk().contains("no loop is running").then_some(()));
    many(&scene, words).run().code(0);
    each_is_there_once(&scene, &["T001", "T002", "T003", "T004"]);
    let outcomes = trailers(&scene, "Outcome");
    assert_eq!(outcomes.iter().filter(|outcome| *outcome == "interrupted").count(), 3, "{outcomes:?}");
    scene.ralph("fsck").code(0);
}

/// Returns what an attempt on a task is recorded with.
fn record_of(scene: &Sandbox, task: &str) -> serde_json::Value {
    let sessions = scene.sessions();
    let records = sessions
        .iter()
        .flat_map(|session| (1..=session.iterations().len()).map(|number| session.iteration(number)));
    let mut of_task = records.filter(|record| record["task"] == task && record["outcome"] != "integrated");
    of_task.next().expect("it was worked on")
}

#[test]
fn a_validation_that_fails_beside_another_runs_again_alone() {
    // Whoever has the port gives it up when the other one has failed by it.
    let check = "[ -n \"$RALPH_TASK\" ] || exit 0\n\
                 if mkdir $FIFOS/port 2>/dev/null; then\n\
                   if mkdir $FIFOS/met 2>/dev/null; then cat $FIFOS/go-T001; fi; rmdir $FIFOS/port\n\
                 else echo 'error: port 8080 is in use'; echo > $FIFOS/go-T001; exit 1; fi";
    let scene = scene("- [ ] T001 [P] One\n- [ ] T002 [P] Two", TOGETHER);
    let fifos = scene.outside("fifos");
    scene.write("check.sh", check.replace("$FIFOS", fifos.to_str().expect("scenes have plain names")));
    scene.validate("sh check.sh").commit("A check");
    let run = many(&scene, "-j 2").run().code(0);
    run.stdout_has("passes alone: --set validation.alone=true");
    each_is_there_once(&scene, &["T001", "T002"]);
    let flags = ["T001", "T002"].map(|task| record_of(&scene, task)["evidence"]["flags"].to_string());
    let flagged: Vec<&String> = flags.iter().filter(|flags| flags.contains("beside")).collect();
    assert_eq!(flagged.len(), 1, "{flags:?}");
    assert!(flagged[0].contains("(error: port 8080 is in use), passes alone"), "{flags:?}");
}

#[test]
fn a_validation_that_fails_alone_too_is_a_failure_and_without_a_group_it_runs_once() {
    let once = "if mkdir $FIFOS/$RALPH_TASK 2>/dev/null; then TOGETHER; fi";
    let check = "echo >> $FIFOS/runs-$RALPH_TASK\n\
                 case $RALPH_TASK in\n\
                 T001) if mkdir $FIFOS/first 2>/dev/null; then cat $FIFOS/go-T001; fi;;\n\
                 T002) if mkdir $FIFOS/second 2>/dev/null; then echo > $FIFOS/go-T001; fi; echo 'error: no T002'; exit 1;;\n\
                 esac";
    let scene = scene("- [ ] T001 [P] One\n- [ ] T002 [P] Two", &once.replace("TOGETHER", TOGETHER));
    let fifos = scene.outside("fifos");
    let runs = |task: &str| fs::read(fifos.join(format!("runs-{task}"))).map_or(0, |runs| runs.len());
    scene.write("check.sh", check.replace("$FIFOS", fifos.to_str().expect("scenes have plain names")));
    scene.validate("sh check.sh").commit("A check");
    many(&scene, "-j 2 -n 2").run().code(4);
    each_is_there_once(&scene, &["T001"]);
    let record = record_of(&scene, "T002");
    assert_eq!((record["outcome"].as_str(), runs("T002")), (Some("failure"), 2), "{record:#}");
    assert_eq!((record["cause"].as_str(), runs("T001")), (Some("error: no T002"), 1), "{record:#}");
    // One loop has nothing beside it.
    many(&scene, "--lane -n 1").run().code(4);
    assert_eq!(runs("T002"), 3);
}

#[test]
fn one_validation_at_a_time_where_that_is_asked_for() {
    let check = "[ -n \"$RALPH_TASK\" ] || exit 0\n\
                 mkdir $FIFOS/port || exit 1\n\
                 if mkdir $FIFOS/first 2>/dev/null; then cat $FIFOS/go-T001; fi; rmdir $FIFOS/port";
    let scene = scene("- [ ] T001 [P] One\n- [ ] T002 [P] Two", TOGETHER);
    let fifos = scene.outside("fifos");
    scene.write("check.sh", check.replace("$FIFOS", fifos.to_str().expect("scenes have plain names")));
    scene.validate("sh check.sh").commit("A check");
    let running = many(&scene, "-j 2 --set validation.alone=true").spawn();
    wait_until("one validation waits for the other", || {
        let controls = fs::read_dir(scene.path(".git/ralph/control")).ok()?.flatten();
        let mut phases = controls.filter_map(|control| fs::read_to_string(control.path().join("phase")).ok());
        phases.any(|phase| phase == "waiting").then_some(())
    });
    fs::write(fifos.join("go-T001"), "").expect("the other one reads it");
    running.wait().code(0);
    each_is_there_once(&scene, &["T001", "T002"]);
    let flags = ["T001", "T002"].map(|task| record_of(&scene, task)["evidence"]["flags"].to_string());
    assert!(!flags.concat().contains("beside"), "{flags:?}");
}

/// Returns the names of all attempts and merges, as `log --oneline` prints them, oldest first.
fn names(scene: &Sandbox) -> Vec<String> {
    let lines = scene.ralph("log --oneline").code(0).text();
    lines.lines().map(|line| line.split_whitespace().next().expect("it begins with one").to_owned()).collect()
}

#[test]
fn a_group_that_runs_is_shown_as_one_run_with_a_line_for_each_loop() {
    let scene = scene("- [ ] T001 [P] One\n- [ ] T002 [P] Two", WAITS);
    let running = many(&scene, "-j 2").spawn();
    have_begun(&scene, &["T001", "T002"]);
    let status = scene.ralph("status").code(0);
    status.stdout_has("0 of 2 done · running").stdout_has("  ● 1  T00").stdout_has("  ● 2  T00");
    let json = scene.ralph("status --json").code(0).json();
    let workers = json["workers"].as_array().expect("they are listed");
    let values = |key: &str| workers.iter().map(|worker| worker[key].to_string()).collect::<BTreeSet<_>>();
    assert_eq!(values("lane"), BTreeSet::from(["1".to_owned(), "2".to_owned()]));
    assert_eq!(values("task"), BTreeSet::from(["\"T001\"".to_owned(), "\"T002\"".to_owned()]));
    assert_eq!(values("state"), BTreeSet::from(["\"agent\"".to_owned()]), "{json}");
    assert_eq!((&json["session"]["status"], &json["queued"]), (&"running".into(), &serde_json::json!([])));
    // One that is named is shown by itself.
    let second = workers[1]["session"].as_str().expect("it has one");
    let alone = scene.ralph(["status", "--json", "--session", second]).code(0).json();
    assert_eq!((&alone["session"]["id"], alone.get("workers")), (&second.into(), None));
    let_both_go_on(&scene);
    running.wait().code(0);
    let json = scene.ralph("status --json").code(0).json();
    assert_eq!(
        (&json["session"]["status"], &json["session"]["iterations"], &json["summary"]["session"]["attempts"]),
        (&"completed".into(), &2.into(), &2.into())
    );
    scene.ralph("status").code(0).stdout_has("2 attempts").stdout_has("in 2 lanes on ralph/001-login");
}

#[test]
fn what_screens_of_a_group_call_an_attempt_can_be_typed() {
    let scene = scene(FOUR, TOGETHER);
    many(&scene, "-j 2").run().code(0);
    let log = scene.ralph("log").code(0).text();
    let heads = log.lines().filter(|line| line.contains("001-login   ")).collect::<Vec<_>>();
    assert!(matches!(&heads[..], [head] if head.contains("4 attempts") && head.contains("2 lanes")), "{log}");
    assert_eq!(scene.ralph("log --sessions").code(0).text().matches("all done").count(), 1);
    scene.ralph("log --sessions").code(0).stdout_has("1 night").stdout_has("+4");
    let names = names(&scene);
    let numbers = |lane: &str| -> BTreeSet<String> {
        let own = names.iter().filter_map(|name| name.strip_prefix(lane)?.strip_prefix(':'));
        own.map(str::to_owned).collect()
    };
    let (first, second) = (numbers("1"), numbers("2"));
    assert_eq!(names.len(), first.len() + second.len(), "{names:?}");
    for name in &names {
        let is_it = |line: &str| line.split_whitespace().next() == Some(name);
        assert!(log.lines().any(is_it), "{name}: {log}");
        scene.ralph(["show", name]).code(0).stdout_has(name);
    }
    for number in first.union(&second) {
        let shown = scene.ralph(["show", number]);
        if first.contains(number) && second.contains(number) {
            let choices = format!("with the lane it is 1:{number}, 2:{number}");
            shown.code(1).stderr_has("2 loops of the newest group have an iteration").stderr_has(&choices);
        } else {
            shown.code(0);
        }
    }
    assert!(first.contains("1") && second.contains("1"), "{names:?}");
    for (words, code) in [
        ("show T004", 0),
        ("show @", 0),
        ("show 1:@", 0),
        ("diff 1:1 --stat", 0),
        ("diff 1:1 2:1 --stat", 0),
        ("diff 0 .. --stat", 0),
        ("restore 2:1 --dry-run", 0),
        ("verify 1:1", 0),
        ("restore 1 --dry-run", 1),
        ("diff 1", 1),
        ("verify 1", 1),
        ("show 7:1", 1),
        ("show 2:99", 1),
    ] {
        scene.ralph(words).code(code);
    }
    scene.ralph("diff 0 .. --stat").code(0).stdout_has("work-T001").stdout_has("work-T004");
    scene.ralph("show 7:1").stderr_has("its lanes are 1, 2");
    let found = scene.ralph(["bisect", "--", "test ! -e work-T003"]).code(0);
    found.stdout_has("is the first iteration after which it fails").stdout_has("T003");
    // The id of a session means that one alone, as ever.
    let sessions = scene.sessions();
    scene.ralph(["show", "1", "--session", sessions[1].id()]).code(0);
    scene.ralph(["show", &format!("{}:1", sessions[0].id())]).code(0);
}

#[test]
fn what_log_calls_an_attempt_of_an_older_group_can_be_typed() {
    let scene = scene(FOUR, TOGETHER);
    many(&scene, "-j 2 -n 2").run().code(4);
    many(&scene, "-j 2").run().code(0);
    let log = scene.ralph("log").code(0).text();
    let rows = log.lines().filter(|line| line.contains("  ✔ ")).filter_map(|line| {
        let mut words = line.split_whitespace();
        let (name, task) = (words.next()?, words.find(|word| word.starts_with("T00"))?);
        Some((name, task)).filter(|(name, _)| name.contains(':'))
    });
    let mut older = 0;
    for (name, task) in rows {
        older += usize::from(name.len() > "20261121-204512:".len());
        scene.ralph(["show", name]).code(0).stdout_has(&format!("✔ {task} "));
    }
    assert_eq!(older, 2, "{log}");
}

#[test]
fn the_validation_is_said_of_the_tip_whichever_loop_published_it() {
    // T002 goes on when T001 is on the branch, and leaves its box open.
    let deed =
        "if [ $RALPH_TASK = T002 ]; then touch $FIFOS/begun-T002; cat $FIFOS/go-T002; echo > left; exit; fi";
    let scene = scene("- [ ] T001 [P] One\n- [ ] T002 [P] Two", deed);
    let running = many(&scene, "-j 2 -n 2").spawn();
    have_begun(&scene, &["T002"]);
    wait_until("T001 is recorded", || (trailers(&scene, "Outcome") == ["success"]).then_some(()));
    fs::write(scene.outside("fifos/go-T002"), "").expect("its agent reads it");
    running.wait().code(4).stdout_has("validation passes now");
    assert_eq!(record_of(&scene, "T002")["exit"]["validation"], 0);
    scene.ralph("status").code(0).stdout_has("validation passes now");
}

/// Names a test for each file that agents wrote, and one more.
const REPORTER: &str = "mkdir -p reports\n{ echo '<testsuite>'\n\
    for name in base $(ls | grep ^work-); do echo \"<testcase name=\\\"$name\\\"/>\"; done\n\
    echo '</testsuite>'; } > reports/tests.xml\necho \"== $(grep -c testcase reports/tests.xml) passed in 0.1s ==\"\n";

#[test]
fn what_an_attempt_turned_green_is_not_what_others_published_before_it() {
    let scene = scene("- [ ] T001 [P] One\n- [ ] T002 [P] Two\n- [ ] T003 Three", TOGETHER);
    scene.write(".gitignore", "reports\n").write("check.sh", REPORTER).validate("sh check.sh");
    scene.config("validation.report = \"reports/*.xml\"").commit("Reports");
    many(&scene, "-j 2").run().code(0);
    let shown = scene.ralph("show T003 --tests").code(0);
    shown.stdout_has("green  work-T003\n").stdout_lacks("work-T001").stdout_lacks("work-T002");
    let summary = scene.ralph("report --markdown -o -").code(0).text();
    let row = summary.lines().find(|line| line.starts_with("| T003 ")).expect("it is done");
    assert!(row.contains("work") && !row.contains("T001") && !row.contains("T002"), "{row}");
}

/// Ends with a usage limit until an hour from now.
const LIMITED: &str = "cat > /dev/null\n\
    printf '{\"type\":\"rate_limit_event\",\"rate_limit_info\":{\"status\":\"rejected\",\"resetsAt\":%s}}\\n' $(($(date +%s) + 3600))\n\
    echo '{\"type\":\"result\",\"is_error\":true,\"result\":\"Limit.\",\"api_error\":\"usage_limit_reached\",\"api_error_status\":429}'\n\
    exit 1\n";

/// An agent like Claude Code that meets a limit at T001. T001 and T002 wait for the word to go on.
fn limited(scene: &Sandbox) -> String {
    let fifos = scene.outside("fifos");
    let deed = format!(
        "touch $FIFOS/begun-$RALPH_TASK\n[ $RALPH_TASK = T003 ] || cat $FIFOS/go-$RALPH_TASK\n\
                        if [ $RALPH_TASK = T001 ]; then {LIMITED}fi\n{AGENT}{RESULT}"
    );
    deed.replace("$FIFOS", fifos.to_str().expect("scenes have plain names"))
}

const RESULT: &str = "echo '{\"type\":\"result\",\"is_error\":false,\"result\":\"done\"}'\n";

#[test]
fn a_usage_limit_holds_for_all_loops() {
    let scene = scene("- [ ] T001 [P] One\n- [ ] T002 [P] Two\n- [ ] T003 [P] Three", "");
    scene.agents_like_claude(&[("fake", &limited(&scene))]).commit("Agents");
    let running = many(&scene, "-j 2").spawn();
    have_begun(&scene, &["T001", "T002"]);
    fs::write(scene.outside("fifos/go-T001"), "").expect("its agent reads it");
    let waiting = || {
        let status = scene.ralph("status").code(0).text();
        let controls = fs::read_dir(scene.path(".git/ralph/control")).into_iter().flatten().flatten();
        (controls.filter(|control| control.path().join("waiting.json").exists()).count(), status)
    };
    wait_until("one waits", || (waiting().0 == 1).then_some(()));
    fs::write(scene.outside("fifos/go-T002"), "").expect("its agent reads it");
    wait_until("both wait", || (waiting().0 == 2).then_some(()));
    assert!(waiting().1.contains("waiting for fake's usage limit until "), "{}", waiting().1);
    scene.ralph("stop").code(0);
    running.wait().code(0);
    assert!(!scene.outside("fifos/begun-T003").exists(), "it was not tried");
    let outcomes = trailers(&scene, "Outcome");
    assert_eq!(outcomes.iter().filter(|outcome| *outcome == "interrupted").count(), 1, "{outcomes:?}");
}

#[test]
fn another_agent_takes_over_in_all_loops_where_one_met_a_limit() {
    let scene = scene("- [ ] T001 [P] One\n- [ ] T002 [P] Two\n- [ ] T003 [P] Three", "");
    let second = format!("{AGENT}{RESULT}");
    scene.agents_like_claude(&[("fake", &limited(&scene)), ("second", &second)]).commit("Agents");
    let running = many(&scene, "-j 2").spawn();
    have_begun(&scene, &["T001", "T002"]);
    fs::write(scene.outside("fifos/go-T001"), "").expect("its agent reads it");
    wait_until("the limit is known", || {
        let controls = fs::read_dir(scene.path(".git/ralph/control")).ok()?.flatten();
        controls.map(|control| control.path().join("limits.json")).any(|limits| limits.exists()).then_some(())
    });
    fs::write(scene.outside("fifos/go-T002"), "").expect("its agent reads it");
    running.wait().code(0);
    each_is_there_once(&scene, &["T001", "T002", "T003"]);
    assert_eq!(record_of(&scene, "T003")["agent"], "second");
    assert!(!scene.outside("fifos/begun-T003").exists(), "the first was tried at T003");
}

#[test]
fn a_branch_that_another_machine_works_on_is_refused() {
    let scene =
        scene("- [ ] T001 [P] One\n- [ ] T002 [P] Two", &format!("[ -e $FIFOS/dead ] || {{ {WAITS}; }}"));
    let running = scene.call("run --lane").in_real_time().spawn();
    have_begun(&scene, &["T001"]);
    running.kill();
    fs::write(scene.outside("fifos/dead"), "").expect("the folder is there");
    let place = scene.path(&format!(".git/ralph/spool/{}/session.json", scene.session().id()));
    let here = fs::read_to_string(&place).expect("it is not over");
    let place_of = |host: Option<&str>, boot: &str| {
        let mut value: serde_json::Value = serde_json::from_str(&here).expect("it is JSON");
        value["host"] = host.map_or_else(|| value["host"].clone(), serde_json::Value::from);
        value["boot"] = boot.into();
        value.to_string()
    };
    fs::write(&place, place_of(Some("far"), "other")).expect("it can be written");
    many(&scene, "-j 2")
        .run()
        .code(3)
        .stderr_has("works on ralph/001-login on another machine, far, or died there")
        .stderr_has(&format!("resume {}` here records what it left", scene.session().id()));
    assert_eq!(scene.sessions().len(), 1);
    // As after a start of this machine.
    fs::write(&place, place_of(None, "other")).expect("it can be written");
    many(&scene, "-j 2").run().code(0);
    each_is_there_once(&scene, &["T001", "T002"]);
}

#[test]
fn what_a_prune_took_of_the_tip_is_there_again_before_another_loop_needs_it() {
    // The one that did T001 goes on with T003.
    let deed = "case $RALPH_TASK in T001) cat $FIFOS/a;; T002) echo > $FIFOS/a; touch $FIFOS/begun-T002; cat $FIFOS/go-T002;;\n\
                T003) touch $FIFOS/begun-T003; cat $FIFOS/go-T001;; esac";
    let scene = scene("- [ ] T001 [P] One\n- [ ] T002 [P] Two\n- [ ] T003 [P] Three", deed);
    let running = many(&scene, "-j 2").spawn();
    have_begun(&scene, &["T002", "T003"]);
    // As a prune does that looked at the refs before T001 was on the branch, and deletes after that.
    let objects =
        [BRANCH.to_owned(), format!("{BRANCH}^{{tree}}")].map(|name| scene.git(["rev-parse", &name]));
    for object in &objects {
        let (folder, name) = object.split_at(2);
        fs::remove_file(scene.path(&format!(".git/objects/{folder}/{name}"))).expect("it is loose");
    }
    fs::write(scene.outside("fifos/go-T002"), "").expect("its agent reads it");
    wait_until("T002 is merged", || {
        trailers(&scene, "Outcome").contains(&"integrated".to_owned()).then_some(())
    });
    fs::write(scene.outside("fifos/go-T001"), "").expect("its agent reads it");
    running.wait().code(0);
    each_is_there_once(&scene, &["T001", "T002", "T003"]);
}

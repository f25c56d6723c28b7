//! Several loops on one branch: any process of theirs is killed at random moments, what started them as well, while git collects and
//! packs, and a person commits on the branch.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use super::sandbox::random::{self, Random};
use super::sandbox::{Housekeeping, Sandbox};
use super::seconds;

const TASKS: usize = 8;
const BRANCH: &str = "ralph/001-login";

/// So many kills are enough for a night: it is to come to its end.
const KILLS: u32 = 25;

/// The longest time between two disturbances.
const QUIET: Duration = Duration::from_millis(900);

/// Nobody starts a loop more often than that.
const STARTS: usize = 40;

/// It takes a while, so that what is killed is often at work.
const AGENT: &str = "cat > /dev/null\nsleep 0.3\necho $RALPH_TASK > work-$RALPH_TASK\n\
                     sed -i \"s/\\[ \\] $RALPH_TASK/[x] $RALPH_TASK/\" \"$RALPH_TASKS\"\n";

/// A commit on the branch, once it is asked for, with nothing but git's plumbing, as the branch is checked out nowhere.
const PERSON: &str = "rm .git/person-is-asked 2> /dev/null || exit 0\n\
    tip=$(git rev-parse --verify --quiet refs/heads/ralph/001-login) || exit 0\n\
    export GIT_INDEX_FILE=$PWD/.git/person-index\n\
    blob=$(date +%s%N | git hash-object -w --stdin) && git read-tree $tip &&\n\
    git update-index --add --cacheinfo 100644,$blob,person-$blob && tree=$(git write-tree) &&\n\
    commit=$(git commit-tree -p $tip -m Person $tree) &&\n\
    git update-ref refs/heads/ralph/001-login $commit $tip && echo $commit >> .git/person-commits\n";

#[test]
fn kills_of_any_of_several_loops_lose_nothing_and_each_task_comes_once() {
    let (limit, begun, seed) = (seconds().unwrap_or(Duration::from_mins(10)), Instant::now(), random::seed());
    println!("RALPH_TEST_SEED={seed}");
    let (mut nights, mut killed) = (0, 0);
    while begun.elapsed() < limit {
        killed += night(seed.wrapping_add(nights));
        nights += 1;
    }
    println!("RALPH_TEST_SEED={seed}: {nights} nights, {killed} kills in {} s", begun.elapsed().as_secs());
    assert!(killed > 0, "a soak in which nothing happened shows nothing");
}

/// Starts loops until all tasks are done, and looks at what came of it. Returns how many processes were killed.
fn night(seed: u64) -> u32 {
    println!("a night begins; RALPH_TEST_SEED={seed} plays it first");
    let mut random = Random::of(seed);
    let scene = Sandbox::new();
    let list: String = (1..=TASKS).map(|number| format!("- [ ] T{number:03} [P] Do it\n")).collect();
    scene.tasks(&list).agent_sh(AGENT).validate("true").agent_uses_git().commit("Ready");
    let mut person = scene.hermetic("sh");
    person.args(["-c", PERSON]);
    let housekeeping = Housekeeping::pruning_around(&scene, Some(person));
    let home = format!("HOME={}", scene.outside("home").display());
    let person = scene.path(".git/person-is-asked");
    let words = "run --json -j 3 -n 1000 --set skip-after=0 --set stuck-after=0";
    let (mut killed, mut starts) = (0, 0);
    let (mut done, mut last) = (0, String::new());
    while done < TASKS {
        assert!(starts < STARTS, "seed {seed}: {done} tasks are done after {starts} starts: {last}");
        starts += 1;
        let running = scene.call(words).in_real_time().spawn();
        let is_over = AtomicBool::new(false);
        let before = killed;
        let (run, killed_by_now) = thread::scope(|scope| {
            let disturber = scope.spawn(|| disturb(&mut random, &person, &home, before, &is_over));
            let run = running.wait();
            is_over.store(true, Ordering::Relaxed);
            (run, disturber.join().expect("it only asks the system"))
        });
        killed = killed_by_now;
        // Without what started them, loops end after their attempts, and until then they have the branch.
        assert!([0, 1, 3, 4, 5, 137].contains(&run.code), "seed {seed}: {run}");
        let list =
            scene.hermetic("git").args(["show", &format!("{BRANCH}:specs/001-login/tasks.md")]).output();
        if run.code == 3 {
            // Those that a dead parent left have the branch.
            super::sandbox::wait_until("the end of all", || processes(&home).is_empty().then_some(()));
        }
        last = run.to_string();
        done = String::from_utf8_lossy(&list.expect("git is there").stdout).matches("[x]").count();
    }
    super::sandbox::wait_until("the end of all", || processes(&home).is_empty().then_some(()));
    drop(housekeeping);
    // What a loop left that died last is recorded by the next start.
    let last = scene.call(words).in_real_time().run();
    let subjects = scene.git(["log", "--format=%s", &format!("main..{BRANCH}")]);
    for number in 1..=TASKS {
        let task = format!("T{number:03}");
        let times = subjects.lines().filter(|subject| subject.starts_with(&task)).count();
        assert_eq!(times, 1, "seed {seed}: {task} in {subjects}");
        assert_eq!(scene.git(["show", &format!("{BRANCH}:work-{task}")]), task);
    }
    let people = std::fs::read_to_string(scene.path(".git/person-commits")).unwrap_or_default();
    for commit in people.lines() {
        scene.git(["merge-base", "--is-ancestor", commit, BRANCH]);
    }
    scene.store_is_sound(scene.repo());
    scene.ralph("fsck").code(0);
    let spools = super::sandbox::sound::files(&scene.path(".git/ralph/spool"));
    assert!(spools.is_empty(), "seed {seed}: the session of {:?} is not over: {last}", spools.first());
    killed
}

/// Kills one of the processes with this variable, or asks for a commit of a person, over and over. Returns how many are killed by then.
fn disturb(random: &mut Random, person: &Path, home: &str, mut killed: u32, is_over: &AtomicBool) -> u32 {
    while !is_over.load(Ordering::Relaxed) {
        thread::sleep(QUIET.mul_f64(random.next()));
        if random.next() < 0.2 {
            std::fs::write(person, "").expect("the repository is there");
        } else if killed < KILLS {
            let found = processes(home);
            let place = (random.next() * found.len() as f64) as usize;
            let Some(pid) = found.get(place).and_then(|pid| rustix::process::Pid::from_raw(*pid)) else {
                continue;
            };
            let is_killed = rustix::process::kill_process(pid, rustix::process::Signal::KILL).is_ok();
            killed += u32::from(is_killed);
        }
    }
    killed
}

/// The loops with this variable, what started them, and all that they run.
fn processes(home: &str) -> Vec<i32> {
    let Ok(all) = std::fs::read_dir("/proc") else { return Vec::new() };
    let all = all.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    all.filter(|pid| is_of_a_loop(*pid, home)).collect()
}

/// Git and the person beside the loops, which the test starts, are not: they do not clear away what they leave when they die.
fn is_of_a_loop(pid: i32, home: &str) -> bool {
    let read = |name: &str| std::fs::read(format!("/proc/{pid}/{name}")).unwrap_or_default();
    let has = |name: &str, part: &str| read(name).windows(part.len()).any(|found| found == part.as_bytes());
    if !has("environ", home) {
        return false;
    }
    let stat = String::from_utf8_lossy(&read("stat")).into_owned();
    let parent = stat.rsplit_once(") ").and_then(|(_, rest)| rest.split(' ').nth(1)?.parse().ok());
    has("cmdline", "-j\0")
        || has("cmdline", "--in-group\0")
        || parent.is_some_and(|parent| is_of_a_loop(parent, home))
}

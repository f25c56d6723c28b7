//! The loop is killed at random moments, over and over, while git collects and packs and an agent commits.
//!
//! `RALPH_SOAK_KILLS` says how often (2000), `RALPH_SOAK_SECONDS` after how long no further round begins, and
//! `RALPH_TEST_SEED` plays an earlier run again, as far as the machine's pace allows. A round is a hundred kills in
//! a repository of its own, and is looked over at its end.

#![expect(clippy::unwrap_used, reason = "what is not there has failed the round")]
#![expect(clippy::print_stdout, reason = "the figures are what a soak is for")]

#[allow(dead_code, unused_imports, reason = "the soak needs a part of what the scenes need")]
#[path = "../sandbox/mod.rs"]
mod sandbox;

mod lanes;

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use sandbox::random::{self, Random};
use sandbox::{Housekeeping, Sandbox, Session};

/// After so many kills everything is looked over.
const ROUND: u64 = 100;

/// How long git's housekeeping rests, so that the loop gets something done as well.
const PAUSE: Duration = Duration::from_millis(100);

/// What a dead predecessor's git left locked, the agent takes away, as a real one does after it has read git's
/// advice.
const AGENT: &str = r#"
[[turn]]
do = [
  { say = "done" },
  { tick = "current" },
  { run = "rm -f .git/index.lock .git/HEAD.lock .git/refs/heads/main.lock; date +%s%N >>work.txt; git add --all && git commit --quiet --message work || true" },
]
"#;

/// What came of a round.
#[derive(Debug, Default)]
struct Tally {
    killed: u64,
    acknowledged: usize,
    recorded: usize,
}

#[test]
fn kills_at_random_moments_lose_nothing_while_git_works_beside_the_loop() {
    let kills = number("RALPH_SOAK_KILLS").unwrap_or(2000);
    let seconds = seconds().unwrap_or(Duration::MAX);
    let seed = random::seed();
    println!("RALPH_TEST_SEED={seed}");
    let begun = Instant::now();
    let next = AtomicU64::new(0);
    let total = std::sync::Mutex::new(Tally::default());
    let workers = std::thread::available_parallelism().map_or(2, std::num::NonZero::get);
    std::thread::scope(|scope| {
        for _ in 0..workers {
            scope.spawn(|| {
                while begun.elapsed() < seconds {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    let left = kills.saturating_sub(number * ROUND).min(ROUND);
                    if left == 0 {
                        break;
                    }
                    let tally = round(seed.wrapping_add(number), left, begun, seconds);
                    let mut total = total.lock().unwrap();
                    total.killed += tally.killed;
                    total.acknowledged += tally.acknowledged;
                    total.recorded += tally.recorded;
                    println!(
                        "round {number}: {} kills, {} acknowledged, {} recorded; {} kills so far, in {} s",
                        tally.killed,
                        tally.acknowledged,
                        tally.recorded,
                        total.killed,
                        begun.elapsed().as_secs()
                    );
                }
            });
        }
    });
    let Tally { killed, acknowledged, recorded } = total.into_inner().unwrap();
    let took = begun.elapsed().as_secs();
    println!(
        "RALPH_TEST_SEED={seed}: {killed} kills in {took} s, {acknowledged} iterations acknowledged, none lost, {recorded} recorded"
    );
    assert!(killed > 0 && acknowledged > 0, "a soak in which nothing happened shows nothing");
}

fn seconds() -> Option<Duration> {
    number("RALPH_SOAK_SECONDS").map(Duration::from_secs)
}

fn number(variable: &str) -> Option<u64> {
    #[expect(clippy::disallowed_methods, reason = "only the test itself is asked")]
    let given = std::env::var(variable).ok()?;
    Some(given.parse().unwrap_or_else(|error| panic!("{variable}: {error}")))
}

/// Kills in a repository of their own, and a look at all of it.
fn round(seed: u64, kills: u64, begun: Instant, seconds: Duration) -> Tally {
    println!("a round begins; RALPH_TEST_SEED={seed} RALPH_SOAK_KILLS={kills} plays it first");
    let mut random = Random::of(seed);
    let scene = Sandbox::new();
    let list: String = (1..=4 * kills).map(|number| format!("- [ ] T{number:03} Do it\n")).collect();
    scene.tasks(&list).agent_script(AGENT).validate("true").agent_uses_git().commit("An agent");
    let mut acknowledged = Vec::new();
    let mut tally = Tally::default();
    let housekeeping = Housekeeping::beside(&scene, PAUSE);
    let first = Instant::now();
    acknowledged.extend(scene.ralph("run --json -n 2").code(4).acknowledged());
    let usual = first.elapsed();
    for _ in 0..kills {
        if begun.elapsed() > seconds {
            break;
        }
        let words = if random.next() < 0.2 { "resume --json -n 2" } else { "run --json -n 2" };
        let moment = usual.mul_f64(2.0 * random.next());
        let running = scene.spawn(words);
        std::thread::sleep(moment);
        let run = running.kill();
        // It may have been through before the kill came, or there was nothing to resume.
        let may_be_refused = words.starts_with("resume") && run.code == 3;
        assert!([137, 4].contains(&run.code) || may_be_refused, "after {moment:?}: {run}");
        tally.killed += u64::from(run.code == 137);
        acknowledged.extend(run.acknowledged());
    }
    drop(housekeeping);
    acknowledged.extend(scene.ralph("run --json -n 1").code(4).acknowledged());
    remove_what_the_agent_left(&scene);
    scene.record_is_sound();
    let mut times = BTreeMap::<String, usize>::new();
    for commit in scene.sessions().iter().flat_map(Session::iterations) {
        *times.entry(commit).or_default() += 1;
    }
    for commit in &acknowledged {
        let found = times.get(commit);
        assert_eq!(found, Some(&1), "seed {seed}: {commit} was acknowledged and is there {found:?} times");
    }
    tally.acknowledged = acknowledged.len();
    tally.recorded = times.len();
    tally
}

/// The agent's own git dies with the agent, and leaves what git leaves then: its locks, and drafts of objects.
fn remove_what_the_agent_left(scene: &Sandbox) {
    let git_dir = scene.path(".git");
    let locks = ["index.lock", "HEAD.lock", "refs/heads/main.lock"].map(|lock| git_dir.join(lock));
    let is_draft = |path: &Path| {
        path.starts_with(git_dir.join("objects"))
            && path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("tmp_obj_"))
    };
    let files = sandbox::sound::files(&git_dir);
    for path in files.iter().filter(|path| locks.contains(path) || is_draft(path)) {
        std::fs::remove_file(path).unwrap();
    }
}

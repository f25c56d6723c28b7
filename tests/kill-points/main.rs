//! Killed, and failed by the system, at every point where the loop writes.
//!
//! A dry run under `strace` lists the system calls by which the loop's main thread changes files. Then the same
//! scene is played once for each of them: killed right before the call, or with the call failing. After that the
//! next start must need no help, and the record must be whole.

#![expect(clippy::print_stdout, reason = "the figures are shown, and why nothing was")]

#[allow(dead_code, unused_imports, reason = "these scenes need a part of what the others need")]
#[path = "../sandbox/mod.rs"]
mod sandbox;

#[path = "../concurrency.rs"]
mod concurrency;

mod aftermath;
mod points;
mod power_cut;
mod scenes;

use std::collections::{BTreeMap, BTreeSet};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use points::{Injection, Point};
use scenes::{Scene, Stage};

/// How often a scene is played when the call that was meant was not the one that was hit, where all points are played. On
/// every change the neighbour is good enough.
const TRIES: usize = 5;

/// So many moments of a command are tried, from its start to its end.
const MOMENTS: u32 = 12;

/// Every how-manieth of the points at which nothing is decided is played on every change.
const EVERY: usize = 4;

/// How many complaints are shown.
const SHOWN: usize = 12;

#[test]
fn a_session_that_is_killed_before_any_of_its_writes_loses_nothing() {
    kill_everywhere(|| vec![scenes::whole_session()]);
}

#[test]
fn a_recovery_that_is_killed_before_any_of_its_writes_is_recovered_as_well() {
    kill_everywhere(scenes::recoveries);
}

#[test]
fn a_resumption_that_is_killed_before_any_of_its_writes_loses_nothing() {
    kill_everywhere(|| vec![scenes::resumption()]);
}

#[test]
#[ignore = "it takes a quarter of an hour: `just kill-points`"]
fn a_skip_that_is_killed_before_any_of_its_writes_is_finished_or_begun_anew() {
    if points::is_strace_missing() {
        return;
    }
    let scene = scenes::rollback();
    let points = scene.points();
    // What comes before is as in any session.
    let first = points.iter().position(|point| point.label.contains("ralph/scratch/"));
    let kills: Vec<_> =
        points[first.unwrap_or_default()..].iter().map(|point| (point, Injection::Kill)).collect();
    play(&scene, &kills);
}

#[test]
fn putting_files_back_loses_no_edit_when_it_is_killed_before_any_of_its_writes() {
    if points::is_strace_missing() {
        return;
    }
    let after = aftermath::of_protection;
    for (scene, other) in [
        (scenes::protection(after), scenes::protection(aftermath::of_protection_and_an_edit)),
        (
            scenes::second_run(aftermath::of_second_run),
            scenes::second_run(aftermath::of_second_run_and_an_edit),
        ),
    ] {
        let points = scene.points();
        let is_of_it = |point: &Point| point.label.contains("put-back");
        let first = points.iter().position(is_of_it).expect("files are put back");
        let last = points.iter().rposition(is_of_it).expect("files are put back");
        // Also before and behind it.
        let points = &points[first.saturating_sub(4)..(last + 5).min(points.len())];
        let kills: Vec<_> = to_play(points).map(|point| (point, Injection::Kill)).collect();
        play(&scene, &kills);
        play(&other, &kills);
    }
}

#[test]
fn a_result_of_a_lane_is_published_once_when_it_is_killed_before_any_of_its_writes() {
    if points::is_strace_missing() {
        return;
    }
    let scene = scenes::lane();
    let points = scene.points();
    let kills: Vec<_> = to_play(from_seal(&points, "/1/")).map(|point| (point, Injection::Kill)).collect();
    play(&scene, &kills);
}

#[test]
fn a_result_that_waits_is_merged_once_when_the_loop_is_killed_before_any_of_its_writes() {
    if points::is_strace_missing() {
        return;
    }
    let scene = scenes::queue();
    let points = scene.points();
    let kills: Vec<_> = to_play(from_seal(&points, "/2/")).map(|point| (point, Injection::Kill)).collect();
    play(&scene, &kills);
    kill_everywhere(|| vec![scenes::queue_of_recovery()]);
}

#[test]
fn a_task_that_one_of_several_loops_has_in_hand_comes_once_when_that_is_killed_before_any_of_its_writes() {
    if points::is_strace_missing() {
        return;
    }
    for (scene, last) in scenes::group().into_iter().zip(["/1/", "/2/"]) {
        let points = scene.points();
        let is_claim = |point: &Point| point.label.contains("/claim");
        let claim = points.iter().position(is_claim).expect("it claims what it works on");
        let around = &points[claim.saturating_sub(4)..(claim + 5).min(points.len())];
        let points = around.iter().chain(from_seal(&points, last));
        let points: Vec<Point> = points.cloned().collect();
        let kills: Vec<_> = to_play(&points).map(|point| (point, Injection::Kill)).collect();
        play(&scene, &kills);
    }
}

#[test]
fn a_check_that_is_killed_before_any_of_its_writes_loses_nothing() {
    if points::is_strace_missing() {
        return;
    }
    for scene in [scenes::check(), scenes::check_in_a_lane()] {
        let points = scene.points();
        let kills: Vec<_> = to_play(of_check(&points)).map(|point| (point, Injection::Kill)).collect();
        play(&scene, &kills);
    }
}

#[test]
fn a_check_on_a_full_disk_loses_nothing() {
    if points::is_strace_missing() {
        return;
    }
    let scene = scenes::check();
    let points = scene.points();
    let points: Vec<_> = of_check(&points)
        .iter()
        .filter(|point| (0..3).any(|turn| point.error(turn) == "ENOSPC") && point.label.contains("clean"))
        .collect();
    let step = if plays_all() { 1 } else { (points.len() / 12).max(1) };
    let plans: Vec<_> =
        points.into_iter().step_by(step).map(|point| (point, Injection::Error("ENOSPC"))).collect();
    play(&scene, &plans);
}

#[test]
fn an_acceptance_that_is_killed_before_any_of_its_writes_leaves_no_box_without_its_work() {
    kill_everywhere(|| vec![scenes::acceptance(), scenes::acceptance_in_a_lane()]);
}

/// The points from somewhat before the seal of the first iteration until what `last` is in the name of is recorded, and somewhat
/// behind that: what comes before is as in any session.
fn from_seal<'a>(points: &'a [Point], last: &str) -> &'a [Point] {
    let is_seal = |point: &Point| point.label.contains("/1/manifest.json");
    let seal = points.iter().position(is_seal).expect("it is sealed");
    let last = points.iter().rposition(|point| point.label.contains(last)).expect("it is recorded");
    &points[seal.saturating_sub(10)..(last + 5).min(points.len())]
}

/// The points from the start of a check until it is recorded, and somewhat behind that.
fn of_check(points: &[Point]) -> &[Point] {
    let is_of_it = |point: &Point| point.label.contains("/2/") || point.label.contains("clean");
    let first = points.iter().position(is_of_it).expect("there is a check");
    let last = points.iter().rposition(|point| point.label.contains("/2/")).expect("it is recorded");
    &points[first..(last + 5).min(points.len())]
}

/// The same at moments when the git that we started may be at work: it lives on, and may end after us.
#[test]
fn a_sync_a_cleaning_a_purge_and_a_restoration_can_be_killed_while_git_works_for_them() {
    let begun = Instant::now();
    for scene in scenes::upkeep() {
        let stage = scene.stage();
        let started = Instant::now();
        stage.reset().ralph(scene.words).code(0);
        let usual = started.elapsed();
        for moment in (0..MOMENTS).step_by(if plays_all() { 1 } else { 3 }) {
            let sandbox = stage.reset();
            // A lock of git's may be there when we die, and go a moment later.
            sandbox.agent_uses_git();
            let running = sandbox.spawn(scene.words);
            std::thread::sleep(usual.mul_f64(f64::from(moment) / f64::from(MOMENTS)));
            let run = running.kill();
            assert!([0, 137].contains(&run.code), "{run}");
            sandbox::wait_until("the git that outlives us", || {
                sandbox.processes_with("HOME=").is_empty().then_some(())
            });
            let struck = points::Struck::killed(&run);
            (scene.aftermath)(sandbox, &stage.expectation, &struck, Injection::Kill);
        }
    }
    println!("at several moments each: {} s", begun.elapsed().as_secs());
}

fn kill_everywhere(scenes: impl FnOnce() -> Vec<Scene>) {
    if points::is_strace_missing() {
        return;
    }
    for scene in scenes() {
        let points = scene.points();
        let plans: Vec<_> = to_play(&points).map(|point| (point, Injection::Kill)).collect();
        play(&scene, &plans);
    }
}

fn plays_all() -> bool {
    #[expect(clippy::disallowed_methods, reason = "only the test itself is asked")]
    std::env::var_os("RALPH_ALL_KILL_POINTS").is_some()
}

/// What is played on every change: both sides of each decision and of each child, as git moves the refs, and some of the
/// rest. `just kill-points` plays all.
fn to_play(points: &[Point]) -> impl Iterator<Item = &Point> {
    let mut chosen = BTreeSet::new();
    for (place, point) in points.iter().enumerate() {
        if plays_all() {
            chosen.insert(place);
        } else if point.is_decisive() {
            chosen.insert(place);
            chosen.extend(place.checked_sub(1).filter(|before| points[*before].is_surely_met()));
            chosen.extend((place + 1..points.len()).find(|after| points[*after].is_surely_met()));
        } else if point.is_after_child {
            chosen.extend([place.saturating_sub(1), place]);
        }
    }
    let rest = first_and_last(points).into_iter().filter(|place| !chosen.contains(place));
    chosen.extend(rest.step_by(EVERY).collect::<Vec<_>>());
    chosen.into_iter().map(|place| &points[place])
}

/// Of points that look alike, as an iteration writes what the one before it wrote, the first and the last.
fn first_and_last(points: &[Point]) -> BTreeSet<usize> {
    let mut places = BTreeMap::<_, (usize, usize)>::new();
    for (place, point) in points.iter().enumerate() {
        places.entry(point.kind()).and_modify(|(_, last)| *last = place).or_insert((place, place));
    }
    places.into_values().flat_map(|(first, last)| [first, last]).collect()
}

#[test]
fn a_sync_a_cleaning_a_purge_and_a_restoration_can_be_killed_before_any_of_their_writes() {
    kill_everywhere(scenes::upkeep);
}

#[test]
fn a_write_that_fails_is_no_success_and_loses_nothing() {
    if points::is_strace_missing() {
        return;
    }
    let scene = scenes::whole_session();
    let points = scene.points();
    let places: Vec<_> = if plays_all() {
        (0..points.len()).collect()
    } else {
        // Of failures that are reported, fewer are enough on every change.
        first_and_last(&points).into_iter().step_by(EVERY).collect()
    };
    let plans: Vec<_> = places
        .iter()
        .enumerate()
        .map(|(turn, place)| (&points[*place], Injection::Error(points[*place].error(turn))))
        .collect();
    play(&scene, &plans);
}

#[test]
fn eight_loops_of_many_iterations_are_all_recorded_while_git_collects_and_packs() {
    concurrency::all_is_recorded(8, if plays_all() { 20 } else { 6 });
}

/// Plays a scene once for each plan, on all processors, and complains about all that went wrong at the end.
fn play(scene: &Scene, plans: &[(&Point, Injection)]) {
    assert!(plans.len() > 4, "{}: {} points are too few to be true", scene.name, plans.len());
    let begun = Instant::now();
    let next = AtomicUsize::new(0);
    let complaints = Mutex::new(Vec::new());
    let strayed = Mutex::new(Vec::new());
    let workers = std::thread::available_parallelism().map_or(2, std::num::NonZero::get);
    std::thread::scope(|scope| {
        for _ in 0..workers {
            scope.spawn(|| {
                let stage = scene.stage();
                while let Some((point, injection)) = plans.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let played = catch_unwind(AssertUnwindSafe(|| once(scene, &stage, point, *injection)));
                    match played {
                        Ok(None) => {}
                        Ok(Some(neighbour)) => {
                            let stray = format!("{point}\n  hit instead: {neighbour}");
                            strayed.lock().expect("nobody panics with it").push(stray);
                        }
                        Err(panic) => {
                            let why = panic.downcast::<String>().map_or_else(|_| "?".to_owned(), |why| *why);
                            let complaint = format!("{injection} at {point}:\n{why}");
                            complaints.lock().expect("nobody panics with it").push(complaint);
                        }
                    }
                }
            });
        }
    });
    let complaints = complaints.into_inner().expect("nobody panics with it");
    let strayed = strayed.into_inner().expect("nobody panics with it");
    println!(
        "{}: {} runs in {} s, {} failed, {} hit a neighbour of the call that was meant",
        scene.name,
        plans.len(),
        begun.elapsed().as_secs(),
        complaints.len(),
        strayed.len()
    );
    let shown = complaints.iter().take(SHOWN).cloned().collect::<Vec<_>>().join("\n\n");
    assert!(complaints.is_empty(), "{}: {} failed\n{shown}", scene.name, complaints.len());
    // A neighbour that is hit is a point as well, so a busy machine only makes some points be met twice.
    // Where there is one try alone, only calls that have the same number in every run must be met.
    let is_counted =
        |stray: &&String| plays_all() || !(stray.starts_with("openat") || stray.starts_with("write "));
    let is_enough = strayed.iter().filter(is_counted).count() <= plans.len() / 2;
    assert!(is_enough, "{}: too many calls were not met:\n{}", scene.name, strayed.join("\n"));
}

/// Plays it once. Gives what was hit where it was not the very call that was meant.
fn once(scene: &Scene, stage: &Stage, point: &Point, injection: Injection) -> Option<String> {
    let mut point = point.clone();
    let mut neighbour = None;
    for _ in 0..if plays_all() { TRIES } else { 1 } {
        let sandbox = stage.reset();
        let run = points::inject(sandbox, scene.words, &point, injection);
        (scene.aftermath)(sandbox, &stage.expectation, &run, injection);
        point.by_chance = run.by_chance;
        neighbour = run.neighbour;
        if neighbour.is_none() {
            break;
        }
    }
    neighbour
}

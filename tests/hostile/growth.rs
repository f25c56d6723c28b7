//! What a long life leaves in a repository, and what keeps it small: packs of ours are merged and our refs packed, and
//! nobody else's.

#![expect(clippy::unwrap_used, reason = "what cannot be set up or read has failed the scene")]

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::time::Duration;

use crate::sandbox::{Housekeeping, Sandbox, WILLING_AGENT};

/// A project in which a session did so many tasks.
fn recorded(tasks: usize) -> Sandbox {
    recorded_in(Sandbox::new(), tasks)
}

fn recorded_in(scene: Sandbox, tasks: usize) -> Sandbox {
    let list: Vec<String> = (1..=tasks).map(|task| format!("- [ ] T{task:03} Task {task}")).collect();
    scene.tasks(&list.join("\n")).agent_script(WILLING_AGENT).ralph("-n 40").code(0);
    scene
}

/// The files of all packs, with their bytes.
fn packs(scene: &Sandbox) -> BTreeMap<String, Vec<u8>> {
    let found = fs::read_dir(scene.path(".git/objects/pack")).unwrap().map(|file| file.unwrap());
    found.map(|file| (file.file_name().into_string().unwrap(), fs::read(file.path()).unwrap())).collect()
}

/// The names of all packs that git reads.
fn names(scene: &Sandbox) -> BTreeSet<String> {
    packs(scene).keys().filter_map(|file| file.strip_suffix(".idx")).map(str::to_owned).collect()
}

fn objects(scene: &Sandbox) -> BTreeSet<String> {
    let found = scene.git("cat-file --batch-check --batch-all-objects --unordered");
    found.lines().map(str::to_owned).collect()
}

fn is_sound(scene: &Sandbox) {
    scene.git("fsck --full --connectivity-only");
    scene.ralph("fsck").code(0);
    scene.record_is_sound();
}

/// The packs of the list.
fn listed(scene: &Sandbox) -> BTreeSet<String> {
    let text = fs::read_to_string(scene.path(".git/ralph/packing/packs")).unwrap_or_default();
    text.lines().map(str::to_owned).collect()
}

#[test]
fn forty_packs_of_ours_become_few_and_those_of_others_stay_as_they_are() {
    let scene = recorded(14);
    // A pack of the user's, and one of ours that the user wants to keep.
    scene.git("repack --quiet -d");
    let users = names(&scene);
    for file in packs(&scene).keys() {
        assert!(users.iter().any(|name| file.starts_with(name.as_str())), "{file}");
    }
    scene.tasks(&(1..=14).map(|task| format!("- [ ] T{task:03} Again {task}\n")).collect::<String>());
    scene.ralph("-n 40").code(0);
    let ours = scene.scatter(44);
    let kept = &ours[7];
    scene.write(&format!(".git/objects/pack/{kept}.keep"), "");
    assert_eq!(names(&scene).len(), users.len() + 44);
    let (before, all) = (packs(&scene), objects(&scene));
    scene.ralph("pack").code(0).stdout_has("older packs merged into one");
    let left = names(&scene);
    assert!(left.len() <= users.len() + 8, "{left:?}");
    assert_eq!(objects(&scene), all);
    let after = packs(&scene);
    for (file, bytes) in before {
        if file.starts_with(kept.as_str()) || users.iter().any(|name| file.starts_with(name.as_str())) {
            assert!(after.get(&file) == Some(&bytes), "{file} was changed");
        }
    }
    assert!(listed(&scene).is_subset(&left), "{:?}", listed(&scene));
    is_sound(&scene);
}

#[test]
fn every_packing_leaves_few_packs() {
    let scene = recorded(1);
    for round in 2..14 {
        scene.tasks(&format!("- [ ] T{round:03} Task {round}")).ralph("").code(0);
        let all = objects(&scene);
        scene.ralph("pack").code(0);
        assert_eq!(objects(&scene), all);
        assert!(names(&scene).len() <= 8, "after {round} sessions: {:?}", names(&scene));
        assert_eq!(listed(&scene), names(&scene));
    }
    is_sound(&scene);
}

#[test]
fn packs_that_git_has_plans_for_are_not_merged() {
    let scene = recorded(5);
    let ours = scene.scatter(10);
    scene.ralph("rebuild --check").code(0);
    // Two of the ten are no longer ours to merge, and the rest are too few once the index names them.
    for (name, end) in [(&ours[0], "keep"), (&ours[1], "promisor"), (&ours[2], "mtimes")] {
        scene.write(&format!(".git/objects/pack/{name}.{end}"), "");
    }
    let quiet = |scene: &Sandbox| {
        let before = names(scene);
        scene.ralph("pack").code(0);
        assert!(names(scene).is_superset(&before), "{before:?}");
    };
    quiet(&scene);
    for (name, end) in [(&ours[0], "keep"), (&ours[1], "promisor"), (&ours[2], "mtimes")] {
        fs::remove_file(scene.path(&format!(".git/objects/pack/{name}.{end}"))).unwrap();
    }
    scene.git("multi-pack-index write");
    quiet(&scene);
    scene.git("multi-pack-index verify");
    fs::remove_file(scene.path(".git/objects/pack/multi-pack-index")).unwrap();
    let all = objects(&scene);
    scene.ralph("pack").code(0).stdout_has("merged into one");
    assert_eq!((names(&scene).len(), objects(&scene)), (1, all));
    is_sound(&scene);
}

#[test]
fn a_pack_stays_that_the_pack_in_its_place_does_not_hold() {
    let scene = recorded(4);
    let ours = scene.scatter(3);
    // As if a merge had lost the second one.
    let list = format!("{} {} {}\n{}\n{}\n", ours[0], ours[0], ours[1], ours[1], ours[2]);
    scene.write(".git/ralph/packing/packs", &list);
    let all = objects(&scene);
    scene.ralph("pack").code(0);
    assert!(names(&scene).is_superset(&ours.into_iter().collect()), "{:?}", names(&scene));
    assert_eq!(objects(&scene), all);
    is_sound(&scene);
}

#[test]
fn packs_that_are_gone_or_damaged_stop_no_packing() {
    let scene = recorded(5);
    let ours = scene.scatter(9);
    scene.git("gc --quiet --prune=now");
    scene.ralph("pack").code(0);
    assert_eq!(listed(&scene).intersection(&ours.into_iter().collect()).count(), 0);
    // The list is only believed as far as it names packs.
    scene.write(".git/ralph/packing/packs", "../../config\nnonsense\n\0\n");
    scene.ralph("pack").code(0);
    is_sound(&scene);
}

#[test]
fn packs_are_merged_beside_a_user_who_collects_the_repository() {
    let scene = recorded(1);
    // Git changes files that are not ours beside it.
    scene.agent_uses_git();
    let housekeeping = Housekeeping::beside(&scene, Duration::ZERO);
    for round in 2..8 {
        scene.tasks(&(1..4).map(|task| format!("- [ ] T{round}0{task} Task\n")).collect::<String>());
        scene.ralph("").code(0);
        scene.ralph("pack").code(0);
    }
    drop(housekeeping);
    scene.tasks("- [ ] T999 The last").ralph("").code(0);
    scene.scatter(9);
    scene.ralph("pack").code(0).stdout_has("merged into one");
    is_sound(&scene);
}

/// Gives the record of the last session the names of many more, as after as many sessions. Returns their prefix.
fn many_sessions(scene: &Sandbox, count: usize) -> String {
    // Git writes `packed-refs`, which is everyone's: the scenes compare all refs instead.
    scene.agent_uses_git();
    let session = scene.session();
    let name = session.refname();
    let copies = name.replace("refs/ralph/", "refs/ralph/copies-of-");
    let tip = scene.git(["rev-parse", name]);
    let names = (0..count).map(|number| format!("{copies}/20250101-000000-{number:08x}"));
    let commands: String = names.map(|name| format!("create {name} {tip}\n")).collect();
    let list = scene.outside("refs-to-create");
    fs::write(&list, commands).unwrap();
    let mut git = scene.hermetic("git");
    assert!(
        git.args(["update-ref", "--stdin"]).stdin(File::open(&list).unwrap()).status().unwrap().success()
    );
    copies
}

/// Removes them again, for they are no records of their own.
fn remove_copies(scene: &Sandbox, copies: &str) {
    for name in scene.git(["for-each-ref", "--format=%(refname)", copies]).lines() {
        scene.git(["update-ref", "-d", name]);
    }
}

/// All refs, and how many of those below a prefix have a file of their own.
fn refs(scene: &Sandbox, prefix: &str) -> (String, usize) {
    let all = scene.git("for-each-ref");
    let names = scene.git(["for-each-ref", "--format=%(refname)", prefix]);
    (all, names.lines().filter(|name| scene.path(&format!(".git/{name}")).is_file()).count())
}

#[test]
fn loose_refs_of_sessions_become_one_file_and_those_of_others_stay() {
    let scene = recorded_in(Sandbox::with_refs_in_files(), 1);
    scene.git("tag v1");
    scene.git("update-ref refs/elsewhere/ralph/one HEAD");
    let copies = many_sessions(&scene, 50);
    let (all, loose) = refs(&scene, "refs/ralph/");
    assert_eq!(loose, 51);
    // They are few.
    scene.ralph("pack").code(0);
    assert_eq!(refs(&scene, "refs/ralph/"), (all, 51));
    remove_copies(&scene, &copies);
    many_sessions(&scene, 120);
    let (all, others) = refs(&scene, "refs/heads/");
    let result = scene.ralph("pack --json").code(0).json();
    assert_eq!(result["packed_refs"], 122);
    assert_eq!(refs(&scene, "refs/ralph/"), (all.clone(), 0));
    assert_eq!(refs(&scene, "refs/ralph-snap/"), (all.clone(), 0));
    assert_eq!(refs(&scene, "refs/heads/"), (all.clone(), others));
    assert_eq!(refs(&scene, "refs/tags/"), (all.clone(), 1));
    assert_eq!(refs(&scene, "refs/elsewhere/"), (all, 1));
    remove_copies(&scene, &copies);
    // The next session moves refs beside those that are packed, and resumes what is packed.
    scene.tasks("- [ ] T009 Another").ralph("").code(0);
    is_sound(&scene);
}

#[test]
fn a_lock_on_packed_refs_is_neither_waited_for_nor_removed() {
    let scene = recorded_in(Sandbox::with_refs_in_files(), 1);
    let copies = many_sessions(&scene, 120);
    for left in [".git/packed-refs.lock", ".git/packed-refs.new"] {
        let before = refs(&scene, "refs/ralph/");
        scene.write(left, "");
        let result = scene.ralph("pack --json").code(0).json();
        assert_eq!((&result["packed_refs"], &result["is_done"]), (&0.into(), &true.into()), "{left}");
        assert_eq!(refs(&scene, "refs/ralph/"), before, "{left}");
        scene.ralph("doctor").stdout_has(&format!("{left} exists")).stdout_has(&format!("{left}\n"));
        fs::remove_file(scene.path(left)).unwrap();
    }
    scene.ralph("pack").code(0).stdout_has("122 refs packed");
    remove_copies(&scene, &copies);
    is_sound(&scene);
}

#[test]
fn refs_of_a_session_that_runs_are_not_packed() {
    let scene = recorded_in(Sandbox::with_refs_in_files(), 1);
    let copies = many_sessions(&scene, 120);
    scene.tasks("- [ ] T002 Pack").agent_sh(&format!(
        "{} ralph pack --json > packed.json; ls .git/refs/ralph/* > loose.txt; sed -i 's/\\[ \\]/[x]/' \"$RALPH_TASKS\"",
        env!("CARGO_BIN_EXE_specify")
    ));
    scene.ralph("").code(0);
    let said = scene.read("packed.json");
    assert!(said.contains("\"packed_refs\":122") || said.contains("\"packed_refs\": 122"), "{said}");
    remove_copies(&scene, &copies);
    let (loose, sessions) = (scene.read("loose.txt"), scene.sessions());
    let is_loose: Vec<bool> = sessions.iter().map(|session| loose.contains(session.id())).collect();
    assert_eq!(is_loose, [false, true], "{loose}");
    is_sound(&scene);
}

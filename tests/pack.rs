//! What is loose of the record, and what becomes of it.

use serde_json::json;

use crate::sandbox::{Sandbox, WILLING_AGENT, wait_until};

fn loose(scene: &Sandbox, range: &str) -> usize {
    let ids = scene.git(&format!("rev-list --objects {range}"));
    let path = |id: &str| scene.path(&format!(".git/objects/{}/{}", &id[..2], &id[2..]));
    ids.lines().filter(|line| path(line.split(' ').next().unwrap_or_default()).exists()).count()
}

#[test]
fn what_is_loose_of_the_record_is_packed_and_what_is_the_users_stays() {
    let scene = Sandbox::new();
    scene.tasks("- [ ] T001 One\n- [ ] T002 Two").agent_script(WILLING_AGENT).ralph("").code(0);
    let users = loose(&scene, "--branches");
    let ours = loose(&scene, "--all --not --branches");
    assert!(users > 0 && ours > 20, "{users} {ours}");
    scene.ralph("pack").code(0).stdout_has(&format!("packed {ours} objects into"));
    assert_eq!((loose(&scene, "--branches"), loose(&scene, "--all --not --branches")), (users, 0));
    scene.ralph("pack").code(0).stdout("no loose objects to pack\n");
    let nothing = json!({"is_done": true, "objects": 0, "bytes": 0, "removed_files": 0, "removed_bytes": 0, "merged_packs": 0, "packed_refs": 0});
    assert_eq!(scene.ralph("pack --json").code(0).json(), nothing);
    scene.tasks("- [ ] T003 Three").ralph("").code(0);
    assert!(loose(&scene, "--all --not --branches") > 0);
    scene.ralph("rebuild --check").code(0);
}

#[test]
fn refs_of_others_are_not_packed() {
    let scene = Sandbox::new();
    scene.tasks("- [ ] T001 One").agent_script(WILLING_AGENT).ralph("").code(0);
    let tree = scene.git("rev-parse HEAD^{tree}");
    let foreign = scene.git(["commit-tree", "-m", "not ours", &tree]);
    scene.git(&format!("update-ref refs/ralph/001-login/20260101-000000-ffffffff {foreign}"));
    scene.ralph("pack").code(0);
    assert!(scene.path(&format!(".git/objects/{}/{}", &foreign[..2], &foreign[2..])).exists());
    scene.git("update-ref -d refs/ralph/001-login/20260101-000000-ffffffff");
}

#[test]
fn a_loop_that_leaves_much_has_it_packed_beside_itself() {
    let scene = Sandbox::new();
    scene.tasks("- [ ] T001 One").agent_sh(
        "for i in $(seq 1300); do echo $i > file-$i; done; sed -i 's/\\[ \\]/[x]/' \"$RALPH_TASKS\"",
    );
    scene.ralph("").code(0);
    let said = wait_until("the packing has said what it did", || {
        serde_json::from_slice::<serde_json::Value>(
            &std::fs::read(scene.path(".git/ralph/packing.log")).ok()?,
        )
        .ok()
    });
    assert!(said["objects"].as_u64() > Some(1300), "{said}");
    assert_eq!(loose(&scene, "--all --not --branches"), 0);
}

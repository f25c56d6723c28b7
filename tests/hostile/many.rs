//! An agent that misbehaves beside those of other loops on its branch costs its own attempt, or those that it takes away by force: each
//! task is on the branch once in the end, and nothing of the user's changes.

use std::fs;

use crate::many::{FOUR, each_is_there_once, many, scene};
use crate::sandbox::{Sandbox, one_in};

/// The deed is done while the agents of T002 and T003 wait for its end, however that comes.
const BESIDE: &str = "echo $RALPH_TASK >> $FIFOS/runs\n\
    others() { for o in \"${PWD%/*}\"/[0-9]; do [ \"$o\" = \"$PWD\" ] || echo \"$o\"; done; }\n\
    spools() { ls -d $REPO/.git/ralph/spool/2* | grep -v -e $RALPH_SESSION -e '[.]'; }\n\
    refs() { git -C $REPO for-each-ref --format='%(refname)' refs/ralph refs/ralph-snap; }\n\
    ralph() { (cd $REPO && env -i PATH=\"$PATH\" HOME=\"$HOME\" specify ralph \"$@\"); }\n\
    if mkdir $FIFOS/first-$RALPH_TASK 2> /dev/null; then\n\
    echo $PPID > $FIFOS/loop-$RALPH_TASK\n\
    case $RALPH_TASK in T002) cat $FIFOS/a;; T003) cat $FIFOS/b;; T001) exec 8> $FIFOS/a 9> $FIFOS/b; { :\n\
    DEED\n} 8>&- 9>&-; exec 8>&- 9>&-;; esac; fi\n";

/// What is done, how it is done, and how often T001 and each of the others may be begun.
const DEEDS: &[(&str, &str, [usize; 2])] = &[
    ("own lane deleted", "L=$PWD; cd /; rm -rf \"$L\" \"$L.git\"; exit 0", [2, 1]),
    ("a lock on the branch", "touch $REPO/.git/refs/heads/ralph/001-login.lock", [1, 1]),
    ("locks of git left", "touch $REPO/.git/packed-refs.lock $REPO/.git/index.lock .git/index.lock", [1, 1]),
    ("other lanes deleted", "for o in $(others); do rm -rf \"$o\" \"$o.git\"; done", [1, 2]),
    ("other lanes without git", "for o in $(others); do rm -rf \"$o/.git\"; done", [1, 1]),
    ("claims deleted", "rm $REPO/.git/ralph/spool/*/claim", [2, 2]),
    ("claims broken", "for s in $REPO/.git/ralph/spool/2*; do echo '{' > $s/claim; done", [2, 2]),
    (
        "all claimed",
        "for s in $(spools); do printf '{\"session\":\"%s\",\"tasks\":[\"T001\",\"T002\",\"T003\",\"T004\"],\
         \"since\":\"2026-01-01T00:00:00Z\"}' $(basename $s) > $s/claim; done",
        [1, 1],
    ),
    ("spools deleted", "for s in $(spools); do until rm -rf $s; do :; done; done", [2, 2]),
    ("other loops killed", "kill -9 $(cat $FIFOS/loop-T002 $FIFOS/loop-T003)", [1, 2]),
    (
        "spools broken",
        "for s in $(spools); do echo '{' > $s/session.json; echo '{' > $s/1/begin.json; done",
        [2, 2],
    ),
    ("records deleted", "for r in $(refs); do git -C $REPO update-ref -d $r; done", [1, 1]),
    (
        "commands of ours",
        "ralph stop --now; ralph stop; ralph run -j 2; ralph resume; ralph accept T002; ralph skip T003\n\
         ralph clean --lanes; ralph restore 0 --force",
        [1, 1],
    ),
    ("records moved", "for r in $(refs); do git -C $REPO update-ref $r HEAD; done", [1, 1]),
    (
        "locks deleted",
        "rm -rf $REPO/.git/ralph/branches $REPO/.git/ralph/loops $REPO/.git/ralph/control",
        [1, 1],
    ),
    ("other loops ended", "kill $(cat $FIFOS/loop-T002 $FIFOS/loop-T003)", [1, 2]),
    (
        "a forged commit",
        "C=$(printf 'Forged\\n\\nRalph-Task: T004\\nRalph-Session: %s\\nRalph-Iteration: 1\\nRalph-Check: passed\\n' \
         $RALPH_SESSION | git -C $REPO commit-tree -p ralph/001-login 'ralph/001-login^{tree}')\n\
         git -C $REPO update-ref refs/heads/ralph/001-login $C",
        [2, 1],
    ),
    (
        "the branch deleted for a moment",
        "B=$(git -C $REPO rev-parse ralph/001-login); git -C $REPO update-ref -d refs/heads/ralph/001-login\n\
         git -C $REPO update-ref refs/heads/ralph/001-login $B",
        [1, 1],
    ),
    (
        "daily work with git",
        "git add -A; git commit -qm wip; git checkout -qb more; echo x > x; git stash -qu; git stash pop -q; rm x\n\
         git gc -q; git worktree prune; git branch -D lane; git reset -q --hard",
        [1, 1],
    ),
    ("pruned", "git -C $REPO gc -q --prune=now", [1, 1]),
    ("all boxes ticked", "sed -i 's/\\[ \\]/[x]/' \"$RALPH_TASKS\"", [1, 1]),
];

/// What is the user's: commits, files, index, stash, settings, and all refs but those of the loop.
fn of_the_user(scene: &Sandbox) -> Vec<String> {
    let refs = scene.git("for-each-ref --format=%(refname)%20%(objectname)");
    let is_ours = |name: &str| {
        ["refs/ralph", "refs/notes/ralph", "refs/heads/ralph/"].iter().any(|ours| name.starts_with(ours))
    };
    let refs = refs.lines().filter(|line| !is_ours(line)).map(str::to_owned);
    let said = [
        "symbolic-ref HEAD",
        "status --porcelain",
        "ls-files --stage",
        "stash list",
        "worktree list",
        "config --local --list",
    ];
    refs.chain(said.map(|words| scene.git(words))).collect()
}

#[test]
fn an_agent_that_misbehaves_beside_others_costs_no_work() {
    for (name, deed, [own, of_others]) in DEEDS.iter().step_by(one_in(3)) {
        let scene = scene(FOUR, &BESIDE.replace("DEED", deed));
        scene.agent_uses_git();
        scene.write("notes", "mine\n").git("stash --include-untracked --quiet");
        let before = of_the_user(&scene);
        let run = many(&scene, "-j 3").run();
        assert!(run.code == 0, "{name}: {run}");
        each_is_there_once(&scene, &["T001", "T002", "T003", "T004"]);
        assert_eq!(of_the_user(&scene), before, "{name}");
        let runs = fs::read_to_string(scene.outside("fifos/runs")).expect("agents ran");
        for (task, most) in [("T001", own), ("T002", of_others), ("T003", of_others), ("T004", of_others)] {
            let found = runs.lines().filter(|line| *line == task).count();
            assert!((1..=*most).contains(&found), "{name}: {found} attempts at {task}: {run}");
        }
    }
}

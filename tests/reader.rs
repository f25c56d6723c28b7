//! A shell script with nothing but git reads every record, and finds what we show.

use std::fs;
use std::path::Path;

use crate::sandbox::Sandbox;

#[test]
fn git_alone_reads_every_byte() {
    let scene = Sandbox::new();
    let size = (5 << 20) + 3;
    scene.tasks("- [ ] T001 One\n- [ ] T002 Two").agent_script(
        "[[turn]]\ntask = \"T001\"\ndo = [{ print_bytes = \"00ff0a\" }, { tick = \"current\" }]\n[[turn]]\n",
    );
    scene
        .write("check.sh", format!("head -c {size} /dev/zero | tr '\\000' b; echo no >&2\n"))
        .validate("sh check.sh");
    scene.ralph("").code(5);
    // As somebody else would have it: a clone without a work tree, with nothing but the refs.
    let bare = scene.outside("bare.git");
    scene.git(["init", "--quiet", "--bare", bare.to_str().unwrap()]);
    scene.git_in(&bare, ["fetch", "--quiet", scene.repo().to_str().unwrap(), "refs/ralph/*:refs/ralph/*"]);
    let out = scene.outside("read");
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/real/reader.sh");
    let run = scene.hermetic("sh").arg(script).args([&bare, &out]).output().unwrap();
    let said = String::from_utf8_lossy(&run.stdout);
    assert!(run.status.success(), "{said}{}", String::from_utf8_lossy(&run.stderr));

    let session = scene.session();
    let folder = out.join(session.refname().strip_prefix("refs/ralph/").unwrap());
    assert_eq!(fs::read(folder.join("progress.txt")).unwrap(), scene.progress().into_bytes());
    for (number, record) in [(1, "001-iteration"), (2, "002-iteration"), (4, "004-iteration")] {
        for (flag, path) in [
            ("--stdout", "validation/stdout"),
            ("--stderr", "validation/stderr"),
            ("--prompt", "prompt.md"),
            ("--agent", "agent/stdout"),
            ("--tasks", "tasks.md"),
            ("--json", "iteration.json"),
        ] {
            let shown = scene.ralph(["show", &number.to_string(), flag]).code(0).stdout;
            let read = fs::read(folder.join(record).join(path)).unwrap();
            assert!(shown == read, "{number} {flag}: {} and {} bytes", shown.len(), read.len());
        }
    }
    let records = fs::read_to_string(folder.join("records.tsv")).unwrap();
    let outcomes: Vec<_> = records.lines().filter_map(|line| line.split('\t').nth(3)).collect();
    assert_eq!(outcomes, ["", "success", "failure", "failure", "failure", "skipped", ""]);
}

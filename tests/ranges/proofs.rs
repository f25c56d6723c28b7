//! What `--prove` says of commits that were made for it.

use super::table::{Files, commit};
use super::verify;
use crate::sandbox::Sandbox;

/// Runs tests in shell, counts those in Rust, and does not begin where a file is missing that a test needs.
const RUNNER: &str = "for file in $(cat tests/*.needs 2>/dev/null); do [ -f $file ] || { echo \"error: no $file\"; exit 2; }; done\n\
    failed=0 passed=$(cat src/*.rs 2>/dev/null | grep -c '#.test.')\nfor test in tests/*.sh; do\n\
    if (for source in src/*.sh; do . ./$source; done; . \"./$test\"); then passed=$((passed + 1)); else failed=$((failed + 1)); echo \"✕ $test\"; fi\ndone\n\
    echo \"Tests: $failed failed, $passed passed, $((failed + passed)) total\"\nexit $((failed > 0))\n";

/// Commits in their order, and what proves each.
const COMMITS: [(&str, Files, &str); 12] = [
    (
        "Subtract",
        &[("src/sub.sh", "sub() { echo $(($1 - $2)); }\n"), ("tests/sub.sh", "[ \"$(sub 3 2)\" = 1 ]\n")],
        "proven by 1 test",
    ),
    (
        "Multiply and divide",
        &[
            ("src/mul.sh", "mul() { echo $(($1 * $2)); }\ndiv() { echo $(($1 / $2)); }\n"),
            ("tests/mul.sh", "[ \"$(mul 3 2)\" = 6 ]\n"),
            ("tests/div.sh", "[ \"$(div 6 2)\" = 3 ]\n"),
        ],
        "proven by 2 tests",
    ),
    ("Say what it is", &[("README.md", "# Sums\n")], "no source changed"),
    ("Test more", &[("tests/more.sh", "[ $(add 2 2) = 4 ]\n")], "no source changed"),
    ("Another version", &[("package.json", "{ \"version\": \"2.0.0\" }\n")], "no source changed"),
    ("A comment", &[("src/add.sh", "# Sums.\nadd() { echo $(($1 + $2)); }\n")], "no test fails without it"),
    ("Negate", &[("src/neg.sh", "neg() { echo $((-$1)); }\n")], "no test fails without it"),
    ("Negate no more", &[("src/neg.sh", "")], "no test fails without it"),
    (
        "Square",
        &[("src/square.sh", "square() { mul $1 $1; }\n"), ("tests/square.needs", "src/square.sh\n")],
        "does not build without it",
    ),
    ("A library", &[("src/lib.rs", "#[test]\nfn adds() {}\n")], "its tests are in the same files"),
    ("Break it", &[("src/add.sh", "add() { echo $(($1 - $2)); }\n")], "fails by itself"),
    ("Mend it", &[("src/add.sh", "add() { echo $(($1 + $2)); }\n")], "proven by 2 tests"),
];

/// Judges commits on a project, and returns what proves each.
fn proofs(scene: &Sandbox, commits: &[(&str, Files, &str)]) -> Vec<String> {
    scene.git("checkout --quiet -b work");
    for (subject, files, _) in commits {
        commit(scene, files, subject);
    }
    let found = verify(scene, "--prove --json").code(0).json();
    let commits = found["commits"].as_array().expect("commits").iter();
    commits.map(|commit| format!("{}: {}", commit["subject"], commit["proof"])).collect()
}

fn expected(commits: &[(&str, Files, &str)]) -> Vec<String> {
    commits.iter().map(|(subject, _, proof)| format!("\"{subject}\": \"{proof}\"")).collect()
}

#[test]
fn each_commit_is_proven_by_what_fails_without_it() {
    let scene = Sandbox::new();
    scene.write("run.sh", RUNNER).write("src/add.sh", "add() { echo $(($1 + $2)); }\n");
    scene.write("tests/add.sh", "[ $(add 1 2) = 3 ]\n").validate("sh run.sh").commit("Begin");
    assert_eq!(proofs(&scene, &COMMITS), expected(&COMMITS));
}

#[test]
fn a_commit_without_tests_is_proven_by_the_validation_or_by_nothing() {
    let uses: Files = &[("src/b.sh", "true\n"), ("main.txt", "src/b.sh\n")];
    for (validation, proof) in [
        ("for file in $(cat main.txt); do sh $file || exit 1; done", "the validation fails without it"),
        ("echo 'Tests: 0 total'", "no test"),
    ] {
        let scene = Sandbox::new();
        scene
            .write("src/a.sh", "true\n")
            .write("main.txt", "src/a.sh\n")
            .validate(validation)
            .commit("Begin");
        let commits = [("Use another", uses, proof)];
        assert_eq!(proofs(&scene, &commits), expected(&commits));
    }
}

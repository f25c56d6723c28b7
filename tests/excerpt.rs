//! What a failed validation leaves for the next turn: excerpt, fingerprint, and the word that it is the same again.

use serde_json::json;

use crate::sandbox::Sandbox;

/// Fails like pytest, with a time in it, a number that the agent's turn decides, and noise behind the failure.
const CHECK: &str = r#"
echo "=========== FAILURES ==========="
echo "____ test_sum ____"
echo
echo "    def test_sum():"
echo ">       assert total() == 30"
echo "E       assert $(cat value.txt 2>/dev/null || echo 29) == 30"
echo
echo "tests/test_basket.py:$RALPH_ITERATION: AssertionError"
echo "=========== short test summary info ==========="
echo "FAILED tests/test_basket.py::test_sum - assert 29 == 30"
for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do echo "widget $i |  75 |  50 | 100 | 100 |"; done
echo "1 failed in 0.$RALPH_ITERATION s"
exit 1
"#;

/// Never gets it right; the third try changes the value.
const AGENT: &str = r#"
[[turn]]
attempt = 3
do = [{ write = { path = "value.txt", text = "31" } }, { say = "Perhaps so." }]
[[turn]]
do = [{ append = { path = "notes.txt", text = "x" } }, { say = "I tried." }]
"#;

fn failing() -> Sandbox {
    let scene = Sandbox::new();
    scene.write("check.sh", CHECK);
    scene.agent_script(AGENT).validate("sh check.sh").commit("Ready");
    scene
}

#[test]
fn a_failure_that_comes_again_is_known_again() {
    let scene = failing();
    scene.ralph("-n 4 --skip-after 0").code(4);
    let session = scene.session();
    let prints = session.trailers("Ralph-Fingerprint");
    assert_eq!(prints.len(), 4);
    assert!(prints.iter().all(|print| print.len() == 8), "{prints:?}");
    assert_eq!(prints[0], prints[1], "another line and another duration");
    assert_ne!(prints[1], prints[2], "another value");
    assert_eq!(session.iteration(1)["fingerprint"], json!(prints[0]));
    scene.ralph("log").code(0).stdout_has("  same as 1  ").stdout_has("  same as 3  ");
    scene.ralph("show 2").code(0).stdout_has("  before      #1 failed in the same way\n");
    scene.ralph("show 1").code(0).stdout_lacks("in the same way");
}

#[test]
fn the_entry_and_the_prompt_say_what_failed_and_where() {
    let scene = failing();
    scene.ralph("-n 2").code(4);
    let session = scene.session();
    for text in [scene.progress(), session.text(2, "prompt.md")] {
        for part in ["assert 29 == 30", "tests/test_basket.py::test_sum", "tests/test_basket.py:1"] {
            assert!(text.contains(part), "{part} is not in:\n{text}");
        }
    }
    assert!(session.text(1, "validation/stdout").contains("widget 20"));

    let blind = failing();
    blind.ralph("-n 1 --set progress.tail=true").code(4);
    let journal = blind.progress();
    let output = journal.split("```").nth(1).unwrap();
    assert!(!output.contains("assert 29 == 30") && output.contains("1 failed in"), "{journal}");
}

#[test]
fn three_of_a_kind_are_told_to_the_agent() {
    let scene = failing();
    scene.write("value.txt", "31");
    scene.ralph("-n 4 --skip-after 0").code(4);
    let session = scene.session();
    let says =
        |number: usize| session.text(number, "prompt.md").contains("iterations failed in the same way");
    assert_eq!([says(1), says(2), says(3), says(4)], [false, false, false, true]);
    assert!(session.text(4, "prompt.md").contains("The last 3 iterations failed in the same way"));
}

#[test]
fn an_output_is_read_from_stdin() {
    let scene = Sandbox::new();
    let output = "src/a.c:3:5: error: 'x' undeclared\nmake: *** [Makefile:2: a.o] Error 1\n";
    let run = scene.call("excerpt").stdin(output).run();
    run.code(0).stdout_has("'x' undeclared").stdout_has("fingerprint ");
}

#[test]
fn a_batch_names_the_neighbours_of_each() {
    let scene = Sandbox::new();
    let mut inputs = String::new();
    for (id, said) in [("a", "x' undeclared"), ("b", "y' undeclared"), ("c", "x' undeclared")] {
        let (out, err) = (format!("{id}.out"), format!("{id}.err"));
        scene.write(&out, "").write(&err, format!("src/a.c:{}:5: error: '{said}\n", id.len()));
        let (out, err) = (scene.path(&out), scene.path(&err));
        inputs.push_str(
            &json!({"id": id, "stdout": out, "stderr": err, "exit_code": 1, "extra": 0}).to_string(),
        );
        inputs.push('\n');
    }
    scene.write("inputs.jsonl", inputs);
    let run = scene.ralph("excerpt --batch inputs.jsonl --neighbours --max-chars 200").code(0);
    let rows = run.json_lines();
    assert_eq!(rows[0]["fingerprint"], rows[2]["fingerprint"]);
    assert_ne!(rows[0]["fingerprint"], rows[1]["fingerprint"]);
    assert_eq!(rows[0]["neighbours"], json!(["c", "b"]));
    scene.write("bad.jsonl", "{\"id\": 1}\n");
    scene.ralph("excerpt --batch bad.jsonl").code(3).stderr_has("bad.jsonl:1").stderr_has("hint: each line");
    scene.ralph("excerpt --batch none.jsonl").code(3).stderr_has("cannot read");
}

//! One count: the object `summary` is the same wherever it is printed, whatever happened to the feature.

use rustix::process::Signal;
use serde_json::{Value, json};

use crate::sandbox::{Run, Sandbox};

/// Does the task, but for those that a file beside it names: `fails` leaves the box open, `hangs` goes on and on, `limit`
/// is out of quota once, `cost` has what it says that it cost, with
/// `once` in its first run alone.
const AGENT: &str = r#"
cat >/dev/null
cost=
if [ -e cost ]; then cost="\"total_cost_usd\":$(cat cost),"; fi
if [ -e once ]; then rm cost once; fi
if [ "$RALPH_TASK" = "$(cat hangs 2>/dev/null)" ]; then touch hanging; sleep 1000; fi
if [ -e limit ]; then
  rm limit
  now=$(date -u -d "${RALPH_TEST_CLOCK:-now}" +%s)
  echo "{\"type\":\"rate_limit_event\",\"rate_limit_info\":{\"status\":\"rejected\",\"resetsAt\":$((now + 60))}}"
  echo '{"type":"result","is_error":true,"result":"Out.","api_error":"usage_limit_reached","api_error_status":429}'
  exit 1
fi
if [ "$RALPH_TASK" != "$(cat fails 2>/dev/null)" ]; then
  echo "$RALPH_TASK" >> work.txt
  tick
fi
echo "{\"type\":\"result\",\"is_error\":false,$cost\"result\":\"I did what I could.\"}"
"#;

const LIST: &str = "- [ ] T001 One\n- [ ] T002 Two (depends on T001)\n- [ ] T003 Three\n";

fn scene(files: &[(&str, &str)]) -> Sandbox {
    let scene = Sandbox::new();
    scene.tasks(LIST).agents_like_claude(&[("fake", AGENT)]).config("skip-after = 2");
    for (name, text) in files {
        scene.write(name, text);
    }
    scene.commit("Ready");
    scene
}

/// What `session_ended` says.
fn ended(run: &Run) -> Option<Value> {
    run.json_lines()
        .into_iter()
        .rfind(|event| event["type"] == "session_ended")
        .map(|mut event| event["summary"].take())
}

/// Runs the loop to its end.
fn run(scene: &Sandbox, words: &str) -> Option<Value> {
    ended(&scene.ralph(words))
}

/// A loop whose agent hangs at T002.
fn hang(scene: &Sandbox, at: impl FnOnce(crate::sandbox::Running<'_>)) {
    scene.write("hangs", "T002");
    let mut running = scene.spawn("run --json");
    running.wait_for_file("hanging");
    at(running);
    scene.write("hangs", "");
}

fn stop(mut running: crate::sandbox::Running<'_>) {
    running.signal(Signal::INT);
    running.wait().code(130);
}

/// Returns the summary, which all commands print alike.
#[track_caller]
fn summary(scene: &Sandbox, name: &str) -> Value {
    let [status, stats, log] = ["status --json", "stats --json", "log --json"]
        .map(|words| scene.ralph(words).code(0).json()["summary"].take());
    assert_eq!(status, stats, "{name}: stats");
    assert_eq!(status, log, "{name}: log");
    if status["sessions"] != 0 {
        let report = scene.ralph("report --json").code(0).json()["summary"].take();
        assert_eq!(status, report, "{name}: report");
        for filter in ["--failed", "--task T001", "-n 1"] {
            let filtered = scene.ralph(&format!("log --json {filter}")).code(0).json()["summary"].take();
            assert_eq!(status, filtered, "{name}: log {filter}");
        }
    }
    status
}

/// Plays a scene; returns what the event says that ended its last session, if nothing happened after it.
type Play = fn(&Sandbox) -> Option<Value>;

#[test]
fn the_summary_is_the_same_wherever_it_is_printed() {
    // Done, asks, fails, waits, open; attempts, failed; what cut short; what needs you.
    type Scene = (
        &'static str,
        &'static [(&'static str, &'static str)],
        Play,
        [u64; 5],
        [u64; 2],
        &'static str,
        &'static str,
    );
    let scenes: [Scene; 17] = [
        ("no session", &[], |_| None, [0, 0, 0, 1, 2], [0, 0], "", ""),
        ("all done", &[], |scene| run(scene, "run --json"), [3, 0, 0, 0, 0], [3, 0], "", ""),
        (
            "given up",
            &[("fails", "T003")],
            |scene| run(scene, "run --json"),
            [2, 0, 1, 0, 0],
            [4, 2],
            "",
            "T003",
        ),
        (
            "waits",
            &[("fails", "T001")],
            |scene| run(scene, "run --json"),
            [1, 0, 1, 1, 0],
            [3, 2],
            "",
            "T001",
        ),
        ("a limit", &[], |scene| run(scene, "run --json -n 1"), [1, 0, 0, 0, 2], [1, 0], "", ""),
        (
            "a usage limit",
            &[("limit", "")],
            |scene| run(scene, "run --json"),
            [3, 0, 0, 0, 0],
            [3, 0],
            "limit",
            "",
        ),
        (
            "stopped by a person",
            &[],
            |scene| {
                hang(scene, stop);
                None
            },
            [1, 0, 0, 0, 2],
            [1, 0],
            "person",
            "",
        ),
        (
            "killed",
            &[],
            |scene| {
                hang(scene, |running| drop(running.kill()));
                run(scene, "run --json")
            },
            [3, 0, 0, 0, 0],
            [3, 0],
            "crash",
            "",
        ),
        (
            "ticked by hand",
            &[("fails", "T003")],
            |scene| {
                run(scene, "run --json");
                scene.tasks(&LIST.replace("[ ]", "[x]"));
                None
            },
            [3, 0, 0, 0, 0],
            [4, 2],
            "",
            "",
        ),
        (
            "unknown marks",
            &[("specs/001-login/tasks.md", "- [ ] T001 One\n- [~] T002 Half\n")],
            |scene| run(scene, "run --json"),
            [1, 0, 0, 0, 0],
            [1, 0],
            "",
            "",
        ),
        (
            "two sessions",
            &[("fails", "T003")],
            |scene| {
                run(scene, "run --json -n 1");
                run(scene, "run --json")
            },
            [2, 0, 1, 0, 0],
            [4, 2],
            "",
            "T003",
        ),
        (
            "restored",
            &[],
            |scene| {
                run(scene, "run --json");
                scene.ralph("restore 1 --tasks").code(0);
                scene.journal_differs();
                None
            },
            [1, 0, 0, 0, 2],
            [3, 0],
            "",
            "",
        ),
        (
            "costs",
            &[("cost", "0.5"), ("fails", "T003")],
            |scene| run(scene, "run --json"),
            [2, 0, 1, 0, 0],
            [4, 2],
            "",
            "T003",
        ),
        (
            "some costs",
            &[("cost", "0.5"), ("once", "")],
            |scene| run(scene, "run --json"),
            [3, 0, 0, 0, 0],
            [3, 0],
            "",
            "",
        ),
        (
            "a part of the list",
            &[],
            |scene| run(scene, "run --json --task T001"),
            [1, 0, 0, 0, 2],
            [1, 0],
            "",
            "",
        ),
        (
            "a validation that cannot be run",
            &[],
            |scene| {
                scene.validate("./gone.sh");
                run(scene, "run --json --no-baseline")
            },
            [0, 0, 0, 1, 2],
            [2, 2],
            "",
            "validation",
        ),
        (
            "resumed",
            &[],
            |scene| {
                run(scene, "run --json -n 1");
                run(scene, "resume --json")
            },
            [3, 0, 0, 0, 0],
            [3, 0],
            "",
            "",
        ),
    ];
    for (name, files, play, states, attempts, cut_short, needs) in scenes {
        let scene = scene(files);
        let said = play(&scene);
        let summary = summary(&scene, name);
        if let Some(said) = said {
            assert_eq!(said, summary, "{name}: session_ended");
        }
        let [done, asks, fails, waits, open] = states;
        let expected = json!({"done": done, "asks": asks, "fails": fails, "waits": waits, "open": open});
        assert_eq!(summary["tasks"], expected, "{name}");
        assert_eq!(
            [&summary["attempts"], &summary["failed"]],
            [&json!(attempts[0]), &json!(attempts[1])],
            "{name}"
        );
        let words = |list: &str, key: &str, other: &str| {
            let list = summary[list].as_array().unwrap().iter();
            let words = list.map(|one| one[key].as_str().or(one[other].as_str()).unwrap().to_owned());
            words.collect::<Vec<_>>().join(" ")
        };
        assert_eq!(words("cut_short", "by", "by"), cut_short, "{name}");
        assert_eq!(words("needs_you", "task", "why"), needs, "{name}");
        let counts = scene.ralph("status --json").json()["tasks"].take();
        let all = json!({"done": done, "open": asks + fails + waits + open, "skipped": fails});
        assert_eq!(counts, all, "{name}");
    }
}

#[test]
fn the_costs_of_failures_and_of_what_is_not_done_are_apart() {
    let scene = scene(&[("cost", "0.5"), ("fails", "T003")]);
    run(&scene, "run --json -n 1");
    scene.ralph("run").code(5);
    let summary = summary(&scene, "costs");
    let cost = |usd: f64, failed: f64| json!({"usd": usd, "failed_usd": failed, "not_done_usd": failed, "unreported": 0, "unreported_cut_short": 0});
    assert_eq!((&summary["cost"], &summary["session"]["cost"]), (&cost(2.0, 1.0), &cost(1.5, 1.0)));
    assert_eq!(summary["causes"]["failing"], 1);
    assert_eq!(summary["session"]["id"], scene.sessions()[1].id());
    let first = scene.sessions()[0].id().to_owned();
    let older = scene.ralph(&format!("report --json --session {first}")).code(0).json()["summary"].take();
    assert_eq!((&older["attempts"], &older["session"]["attempts"]), (&json!(4), &json!(1)));
}

#[test]
fn every_screen_says_the_same_numbers_in_the_same_words() {
    let scene = scene(&[("fails", "T001"), ("limit", "")]);
    scene.ralph("run").code(5).stdout_has("\n3 attempts, 2 failed").stdout_has("\nusage limit, went on at ");
    let status = scene.ralph("status").code(0).stdout_has("1 of 3 done · stopped ");
    status.stdout_has("\n  ✘ T001  ").stdout_has("\n  · T002 waits for T001\n");
    let log = scene.ralph("log").code(0);
    log.stdout_has(" · 3 attempts (usage limit, went on at ").stdout_has("\n  ✘ T001  ");
    scene
        .ralph("stats")
        .code(0)
        .stdout_has("3 attempts (usage limit, went on at ")
        .stdout_has(" in 1 session: 1 succeeded, 2 failed\n");
    scene.ralph("report --markdown").code(0).stdout_has("| Attempts | 3 attempts (usage limit, went on at ");
}

/// Returns the text of a page, with one blank between words.
fn words_of(page: &str) -> String {
    let texts = page.split('<').filter_map(|part| part.split_once('>')).map(|(_, text)| text);
    texts.flat_map(str::split_whitespace).flat_map(|word| [word, " "]).collect()
}

/// Three sessions, of which one goes on later, a task that was given up and accepted, one that was opened again, and a lane.
#[test]
fn every_screen_adds_up_over_several_sessions() {
    let scene = Sandbox::new();
    let list: String = (1..=6).map(|number| format!("- [ ] T00{number} Do it\n")).collect();
    scene.tasks(&list).agents_like_claude(&[("fake", AGENT)]).config("skip-after = 2").write("cost", "0.5");
    scene.commit("Ready");
    scene.ralph("-n 2").code(4);
    scene.write("fails", "T003");
    let card = scene.ralph("-n 3").code(4).text();
    assert!(card.contains("3 attempts, 2 failed") && card.contains("$1.50"), "{card}");
    scene.write("fails", "");
    scene.ralph("accept T003").code(0);
    scene.ralph("reopen T001").code(0);
    scene.ralph("resume -n 1").code(4);
    scene.commit("So far");
    scene.ralph("run --lane --task T005").code(0);

    let summary = summary(&scene, "several sessions");
    let [attempts, succeeded, failed] =
        ["attempts", "succeeded", "failed"].map(|key| summary[key].as_u64().unwrap());
    assert_eq!([attempts, succeeded, failed], [7, 5, 2]);
    assert_eq!(summary["cost"]["usd"], json!(3.5));
    let stats = scene.ralph("stats --json").code(0).json();
    assert_eq!(
        [&stats["runs"], &stats["success"], &stats["failure"]],
        [&json!(attempts), &json!(succeeded), &json!(failed)]
    );
    let sum = |values: &[Value], key: &str| values.iter().map(|one| one[key].as_u64().unwrap()).sum::<u64>();
    // Each attempt costs half a dollar.
    let costs =
        |values: &[Value]| values.iter().map(|one| one["cost_usd"].as_f64().unwrap() * 2.0).sum::<f64>();
    let of_tasks = stats["tasks"].as_array().unwrap();
    assert_eq!((sum(of_tasks, "runs"), json!(costs(of_tasks))), (attempts, json!(7.0)));
    let sessions = scene.ralph("log --sessions --json").code(0).json()["sessions"].take();
    let sessions = sessions.as_array().unwrap();
    assert_eq!((sum(sessions, "iterations_run"), json!(costs(sessions))), (attempts, json!(7.0)));
    let rows = scene.ralph("log --jsonl").code(0).json_lines();
    let runs = rows.iter().filter(|row| !row["exit"]["agent"].is_null()).count();
    assert_eq!(runs as u64, attempts, "of the records only attempts have an agent");

    let log = scene.ralph("log --sessions").code(0).text();
    let cells = log.lines().filter_map(|row| row.split('\t').nth(5)?.split_once(" of "));
    let listed: [Vec<u64>; 2] = cells
        .map(|(failed, all)| [failed, all].map(|number| number.parse().unwrap()))
        .fold(Default::default(), |[mut failed, mut all], [one, more]| {
            failed.push(one);
            all.push(more);
            [failed, all]
        });
    assert_eq!(listed.map(|column| column.iter().sum::<u64>()), [failed, attempts], "{log}");
    let words = scene.ralph("stats").code(0).text();
    assert!(words.contains("7 attempts in 3 sessions: 5 succeeded, 2 failed"), "{words}");
    // Each session says the same of itself on the page, in Markdown and as JSON.
    let mut of_sessions = 0;
    for session in sessions {
        let id = session["id"].as_str().unwrap();
        let own =
            scene.ralph(&format!("report --session {id} --json")).code(0).json()["summary"]["session"].take();
        let own = own["attempts"].as_u64().unwrap();
        of_sessions += own;
        let page = scene.outside("page.html");
        scene.ralph(&format!("report --session {id} -o {}", page.display())).code(0);
        let page = std::fs::read_to_string(page).unwrap();
        let markdown = scene.ralph(&format!("report --session {id} --markdown")).code(0).text();
        let noun = if own == 1 { "attempt" } else { "attempts" };
        assert!(markdown.contains(&format!("| Attempts | {own} {noun} |")), "{own} in Markdown: {markdown}");
        assert!(words_of(&page).contains(&format!(" Attempts {own} ")), "{own} on the page of {id}");
    }
    assert_eq!(of_sessions, attempts);
}

#[test]
fn a_failure_is_solved_by_a_later_success_of_its_own_task_alone() {
    let scene = Sandbox::new();
    scene
        .tasks("- [ ] T001 One\n- [ ] T002 Two")
        .agent_sh(
            "cat >/dev/null\nif [ $RALPH_TASK = T001 ] && [ ! -e fixed ]; then\necho $RALPH_ATTEMPT > wrong\nelse\nrm -f wrong\n\
             echo $RALPH_TASK > $RALPH_TASK.txt\nfi\ntick\n",
        )
        .validate("[ ! -e wrong ] || { echo \"FAIL round: expected 12, received $(cat wrong)\"; exit 1; }")
        .config("skip-after = 2")
        .commit("Ready");
    // T002 passes, as it takes back what failed.
    scene.ralph("").code(5).stdout_has("3 attempts, 2 failed\n").stdout_lacks("solved");
    // Another number in the same assertion is the same failure.
    scene.ralph("log --failed").code(0).stdout_has("expected 12, received 1").stdout_has("  same as 1  ");
    let causes = scene.ralph("status --json").json()["summary"]["causes"].clone();
    assert_eq!((&causes["solved_attempts"], &causes["failing"]), (&json!(0), &json!(1)));
    assert!(causes["list"][0]["fingerprint"].is_string(), "{causes}");
    scene.write("fixed", "");
    scene.ralph("").code(0).stdout_has("1 attempt\n");
    let causes = scene.ralph("status --json").json()["summary"]["causes"].clone();
    assert_eq!((&causes["solved_attempts"], &causes["solved"]), (&json!(2), &json!(1)));
    let first = scene.sessions()[0].id().to_owned();
    let page = scene.ralph(&format!("report -o - --session {first}")).code(0);
    page.stdout_has("2 failed, 2 of them solved later");
}

#[test]
fn a_session_that_is_done_says_what_to_look_at_first() {
    let scene = Sandbox::new();
    scene.tasks("- [ ] T001 One").validate("true");
    scene.agent_sh("mkdir -p tests; echo a > tests/one.test.ts; echo b > one.ts; echo c > pytest.ini; tick");
    scene.ralph("run").code(0);
    let first = "diff 0 .. -- :/pytest.ini :/tests/";
    let status = scene.ralph("status").code(0).text();
    assert!(status.contains(&format!("\n  next: specify ralph {first}")), "{status}");
    assert!(
        status.contains("review first tests: 1 file +1 −0; pytest.ini, which decides what runs"),
        "{status}"
    );
    scene.ralph(first).code(0).stdout_has("+++ b/tests/one.test.ts").stdout_lacks("one.ts\n+b");
    scene
        .ralph("report --markdown")
        .code(0)
        .stdout_has("| Settings | `pytest.ini, which decides what runs` |");
    // Where nothing changed there is something to look at, too.
    let idle = Sandbox::new();
    idle.tasks("- [ ] T001 One").validate("true").agent_sh("tick");
    idle.ralph("run").code(0);
    idle.ralph("status").code(0).stdout_has("\n  next: specify ralph report --open");
}

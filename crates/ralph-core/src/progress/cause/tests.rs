use super::*;
use crate::progress::samples::iteration;
use crate::record::{AgentFacts, CutOff, Durations, Exits};

/// A failure of the agent, without a validation.
#[derive(Default)]
struct Agent<'a> {
    code: i32,
    reason: Option<ExitReason>,
    class: Option<FailureClass>,
    error: &'a str,
    stderr: &'a str,
    text: &'a str,
    ms: u64,
}

#[track_caller]
fn agent(agent: &Agent<'_>, expected: &str) {
    let iteration = Iteration {
        exit: Exits { agent: Some(agent.code), validation: None },
        exit_reason: agent.reason,
        failure_class: agent.class,
        error: Some(agent.error.to_owned()).filter(|error| !error.is_empty()),
        duration_ms: Durations { agent: Some(agent.ms), ..Durations::default() },
        ..iteration(Outcome::Failure)
    };
    let evidence = Sources { final_text: agent.text, agent_stderr: agent.stderr, ..of(&iteration) };
    assert_eq!(cause(&evidence).as_deref(), Some(expected));
}

fn of(iteration: &Iteration) -> Sources<'_> {
    Sources {
        iteration,
        final_text: "",
        agent_stderr: "",
        examined: None,
        artifact: None,
        found: Found::default(),
    }
}

fn shell(command: &str, last_line: &str) -> ToolCall {
    ToolCall {
        tool_name: "Bash".to_owned(),
        kind: ToolKind::Shell,
        arguments_summary: command.to_owned(),
        result_summary: String::new(),
        is_error: !last_line.is_empty(),
        at_ms: None,
        end_ms: None,
        exit_code: None,
        last_line: last_line.to_owned(),
        is_denied: false,
    }
}

#[test]
fn the_error_that_a_provider_sends_as_json_is_shown_without_the_json() {
    let too_long = r#"{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 214301 tokens > 200000"}}"#;
    let failed = |stderr: &str, expected: &str| {
        agent(&Agent { code: 1, stderr, ..Agent::default() }, expected);
    };
    failed(too_long, "agent exited 1: prompt is too long: 214301 tokens > 200000");
    failed(
        &format!("API Error: 400 {too_long}"),
        "agent exited 1: API Error: 400 prompt is too long: 214301 tokens > 200000",
    );
    failed(r#"{"message":"no such project"}"#, "agent exited 1: no such project");
    failed(r#"{"error":"disk full"}"#, "agent exited 1: disk full");
    failed("cannot parse {x}", "agent exited 1: cannot parse {x}");
    failed(r#"{"code":7}"#, r#"agent exited 1: {"code":7}"#);
    let reported = Agent { class: Some(FailureClass::Context), error: too_long, ..Agent::default() };
    agent(&reported, "agent ran out of context: prompt is too long: 214301 tokens > 200000");
}

#[test]
fn an_agent_that_failed_says_why_itself() {
    let killed = |reason, ms, expected: &str| {
        agent(
            &Agent { code: -1, reason: Some(reason), ms, text: "I am", stderr: "warn", ..Agent::default() },
            expected,
        );
    };
    killed(ExitReason::Timeout, 3_600_012, "agent timed out after 60m");
    killed(ExitReason::Timeout, 2_004, "agent timed out after 2s");
    killed(ExitReason::Timeout, 90_000, "agent timed out after 90s");
    killed(ExitReason::Timeout, 7_200_100, "agent timed out after 2h");
    killed(ExitReason::Timeout, 400, "agent timed out after 400ms");
    killed(
        ExitReason::IdleTimeout,
        600_000,
        "agent was stopped after 10m: no output for too long (idle-timeout)",
    );
    killed(
        ExitReason::OutputLimit,
        5_000,
        "agent was stopped after 5s: its output exceeded the limit (max-output)",
    );
    let in_command = Iteration {
        exit: Exits { agent: Some(-1), validation: None },
        exit_reason: Some(ExitReason::Timeout),
        duration_ms: Durations { agent: Some(3_600_012), ..Durations::default() },
        tool_calls: vec![shell("npm ci", ""), shell("npm run dev", UNFINISHED_COMMAND)],
        ..iteration(Outcome::Failure)
    };
    assert_eq!(cause(&of(&in_command)).as_deref(), Some("agent timed out after 60m in `npm run dev`"));
    let looping = Agent {
        code: -1,
        reason: Some(ExitReason::ErrorLoop),
        error: "529 overloaded",
        ms: 61_000,
        ..Agent::default()
    };
    agent(&looping, "agent was stopped after 61s: one error after the other: 529 overloaded");
    let absent = Agent {
        code: -1,
        reason: Some(ExitReason::StartFailed),
        error: "sh: 1: claud: not found",
        ..Agent::default()
    };
    agent(&absent, "agent could not be started: sh: 1: claud: not found");

    let exits = |code, stderr, text, expected: &str| {
        agent(&Agent { code, stderr, text, ..Agent::default() }, expected);
    };
    exits(
        3,
        "npm ERR! network request to registry failed\n",
        "",
        "agent exited 3: npm ERR! network request to registry failed",
    );
    exits(1, "", "", "agent exited 1");
    exits(137, "", "words", "agent exited 137 (killed by signal 9)");
    exits(2, "", "Error: the model is gone", "agent exited 2: Error: the model is gone");
    exits(1, "\u{1b}[31mfatal: no frob\u{1b}[0m\n", "I look for the frob.", "agent exited 1: fatal: no frob");
    exits(127, "sh: 1: claud: not found\n", "", "agent exited 127: sh: 1: claud: not found");
    exits(
        1,
        "npm ERR! code ECONNRESET\nnpm ERR! network read ECONNRESET\nnpm ERR! A complete log of this run can be found in: /x\n",
        "",
        "agent exited 1: npm ERR! network read ECONNRESET",
    );

    let classed = |class, error, expected: &str| {
        agent(&Agent { code: 1, class: Some(class), error, stderr: "noise", ..Agent::default() }, expected);
    };
    classed(FailureClass::Auth, "Invalid API key", "agent is not logged in: Invalid API key");
    classed(
        FailureClass::Billing,
        "Credit balance is too low",
        "agent has no credit: Credit balance is too low",
    );
    classed(FailureClass::Model, "model not found: x", "agent cannot use the model: model not found: x");
    classed(FailureClass::Context, "prompt is too long", "agent ran out of context: prompt is too long");
    classed(FailureClass::Refused, "not as root", "agent refused to run: not as root");
    classed(FailureClass::NotInstalled, "no such file", "agent is not installed: no such file");
    classed(FailureClass::Network, "ECONNREFUSED", "agent lost the network: ECONNREFUSED");
    classed(FailureClass::Overloaded, "529", "agent met an overloaded provider: 529");
    classed(FailureClass::Other, "tool use failed", "agent exited 1: tool use failed");
    let reported =
        Agent { code: 0, class: Some(FailureClass::Other), error: "max turns", ..Agent::default() };
    agent(&reported, "agent reported an error: max turns");
}

#[track_caller]
fn validation(command: &str, code: i32, output: &str, expected: &str) {
    let iteration = Iteration {
        exit: Exits { agent: Some(0), validation: Some(code) },
        validation_command: Some(command.to_owned()),
        ..iteration(Outcome::Failure)
    };
    let examined = examine(&Output { stdout: output, exit_code: Some(code), ..Output::default() });
    let evidence = Sources {
        iteration: &iteration,
        final_text: "I could not finish.",
        agent_stderr: "a warning",
        examined: Some(&examined),
        artifact: None,
        found: Found::default(),
    };
    assert_eq!(cause(&evidence).as_deref(), Some(expected), "`{command}`");
}

#[test]
fn the_cause_of_a_failed_validation_is_its_decisive_line() {
    for (command, code, output, expected) in VALIDATIONS {
        validation(command, *code, output, expected);
    }
}

const VALIDATIONS: &[(&str, i32, &str, &str)] = &[
    ("make", 1, "", "`make` exited 1"),
    ("pytset -q", 127, "sh: 1: pytset: not found\n", "sh: 1: pytset: not found"),
    ("./check.sh", 126, "sh: 1: ./check.sh: Permission denied\n", "sh: 1: ./check.sh: Permission denied"),
    ("frob", 127, "", "`frob` cannot be run (exit 127)"),
    (
        "cargo test",
        101,
        "running 1 test\ntest tests::adds ... FAILED\n\nfailures:\n\n---- tests::adds stdout ----\n\nthread 'tests::adds' panicked at src/lib.rs:9:9:\nassertion `left == right` failed\n  left: 4\n right: 5\n\n\nfailures:\n    tests::adds\n\ntest result: FAILED. 0 passed; 1 failed\n\nerror: test failed, to rerun pass `--lib`\n",
        "tests::adds: assertion `left == right` failed, left: 4, right: 5 (src/lib.rs:9:9)",
    ),
    (
        "cargo build",
        101,
        "error[E0308]: mismatched types\n --> src/main.rs:2:18\n  |\n2 |     let x: i32 = \"a\";\n  |            ---   ^^^ expected `i32`, found `&str`\n\nerror: could not compile `x` (bin \"x\") due to 1 previous error\n",
        "error[E0308]: mismatched types, expected `i32`, found `&str` (src/main.rs:2:18)",
    ),
    (
        "pytest -q",
        1,
        "F                                                     [100%]\n=================================== FAILURES ===================================\n___________________________________ test_add ___________________________________\n\n    def test_add():\n>       assert add(1, 2) == 4\nE       assert 3 == 4\nE        +  where 3 = add(1, 2)\n\ntest_a.py:5: AssertionError\n=========================== short test summary info ============================\nFAILED test_a.py::test_add - assert 3 == 4\n1 failed in 0.02s\n",
        "test_a.py::test_add: assert 3 == 4 (test_a.py:5)",
    ),
    (
        "python a.py",
        1,
        "Traceback (most recent call last):\n  File \"/w/a.py\", line 3, in <module>\n    main()\n  File \"/w/a.py\", line 2, in main\n    import frob\nModuleNotFoundError: No module named 'frob'\n",
        "ModuleNotFoundError: No module named 'frob' (/w/a.py)",
    ),
    (
        "npm test",
        1,
        "\n> x@1.0.0 test\n> node test.js\n\nnode:internal/errors:496\n    ErrorCaptureStackTrace(err);\n    ^\n\nError: connect ECONNREFUSED 127.0.0.1:5432\n    at TCPConnectWrap.afterConnect [as oncomplete] (node:net:1555:16) {\n  errno: -111,\n  code: 'ECONNREFUSED'\n}\n\nNode.js v18.19.0\nnpm ERR! Test failed.  See above for more details.\n",
        "Error: connect ECONNREFUSED 127.0.0.1:5432",
    ),
    (
        "go build ./...",
        1,
        "# example.com/add\n./add.go:4:9: undefined: frob\n",
        "./add.go:4:9: undefined: frob",
    ),
    (
        "tsc",
        2,
        "src/a.ts(3,7): error TS2322: Type 'string' is not assignable to type 'number'.\n",
        "src/a.ts(3,7): error TS2322: Type 'string' is not assignable to type 'number'.",
    ),
    (
        "make",
        2,
        "cc -c a.c\na.c:3:5: error: expected ';' before 'return'\nmake: *** [Makefile:2: a.o] Error 1\n",
        "a.c:3:5: error: expected ';' before 'return'",
    ),
    (
        "make test",
        2,
        "./check.sh\nschema check failed: table users has no column email\nmake: *** [Makefile:5: test] Error 1\n",
        "schema check failed: table users has no column email",
    ),
    (
        "node --test",
        1,
        "TAP version 13\nnot ok 1 - adds\n  ---\n  error: 'expected 4, got 3'\n  code: 'ERR_ASSERTION'\n  ...\n1..1\n# tests 1\n# fail 1\n",
        "adds: expected 4, got 3",
    ),
    ("sh check.sh", 1, "ok 1 - greet\nnot ok 2 - bye says goodbye\n1..2\n", "bye says goodbye"),
    ("./check", 1, "FAIL: the greeting has no name\n", "FAIL: the greeting has no name"),
    (
        "bash -c 'cd x'",
        1,
        "bash: line 1: cd: x: No such file or directory\n",
        "bash: line 1: cd: x: No such file or directory",
    ),
    (
        "eslint .",
        1,
        "\n/w/a.js\n  1:7  error  'x' is assigned a value but never used  no-unused-vars\n\n✖ 1 problem (1 error, 0 warnings)\n",
        "/w/a.js:1:7 error 'x' is assigned a value but never used no-unused-vars",
    ),
    (
        "ruff check",
        1,
        "a.py:1:8: F401 [*] `os` imported but unused\nFound 1 error.\n",
        "a.py:1:8: F401 [*] `os` imported but unused",
    ),
    (
        "mypy .",
        1,
        "a.py:3: error: Incompatible return value type (got \"str\", expected \"int\")  [return-value]\nFound 1 error in 1 file (checked 1 source file)\n",
        "a.py:3: error: Incompatible return value type (got \"str\", expected \"int\") [return-value]",
    ),
    ("./run", 139, "Segmentation fault (core dumped)\n", "Segmentation fault (core dumped)"),
    (
        "java A",
        1,
        "Exception in thread \"main\" java.lang.NullPointerException: name is null\n\tat A.greet(A.java:7)\n\tat A.main(A.java:3)\n",
        "Exception in thread \"main\" java.lang.NullPointerException: name is null (A.java:7)",
    ),
    (
        "gradle test",
        1,
        "> Task :test FAILED\n\nATest > adds() FAILED\n    org.opentest4j.AssertionFailedError: expected: <4> but was: <3>\n        at ATest.adds(ATest.java:9)\n\n1 test completed, 1 failed\n\nFAILURE: Build failed with an exception.\n",
        "ATest > adds: org.opentest4j.AssertionFailedError: expected: <4> but was: <3> (ATest.java:9)",
    ),
    (
        "psql -f a.sql",
        3,
        "psql:a.sql:1: ERROR:  relation \"users\" does not exist\nLINE 1: select * from users;\n",
        "psql:a.sql:1: ERROR: relation \"users\" does not exist",
    ),
    ("git diff --check", 2, "src/a.rs:3: trailing whitespace.\n+    \n", "src/a.rs:3: trailing whitespace."),
];

#[test]
fn a_validation_that_was_stopped_says_so_and_an_agent_that_was_is_no_validation_that_was() {
    let stopped = |exit: Exits, output: &str| {
        let iteration = Iteration {
            exit,
            exit_reason: Some(ExitReason::Timeout),
            duration_ms: Durations { agent: Some(2_000), validation: Some(600_000), second: None },
            validation_command: Some("pytest -q".to_owned()),
            ..iteration(Outcome::Failure)
        };
        let examined = examine(&Output { stdout: output, exit_code: exit.validation, ..Output::default() });
        let evidence = Sources {
            iteration: &iteration,
            final_text: "",
            agent_stderr: "",
            examined: Some(&examined),
            artifact: None,
            found: Found::default(),
        };
        cause(&evidence).unwrap()
    };
    let validation = Exits { agent: Some(0), validation: Some(-1) };
    assert_eq!(stopped(validation, ""), "`pytest -q` timed out after 10m");
    let agent = Exits { agent: Some(-1), validation: Some(0) };
    assert_eq!(stopped(agent, "ok 1 - greet\n"), "agent timed out after 2s");
    let both = Exits { agent: Some(-1), validation: Some(1) };
    assert_eq!(stopped(both, "FAILED test_a.py::test_a - assert 1 == 2\n"), "agent timed out after 2s");
}

#[test]
fn an_open_box_has_the_reason_that_the_agent_gave() {
    for (text, reason) in [
        ("", ""),
        ("I wrote the parser. All is well.", ""),
        ("I cannot reach the database. Everything else is done.", "I cannot reach the database"),
        (
            "The parser is written. The lexer needs Python 3.12, which is missing here.",
            "The lexer needs Python 3.12, which is missing here",
        ),
        ("## Result\n- Blocked: the schema in `db/` is unclear", "Blocked: the schema in `db/` is unclear"),
        ("Done so far.\nI was unable to install numpy", "I was unable to install numpy"),
        ("\u{1b}[1mI could not\u{1b}[0m find\tthe file.", "I could not find the file"),
        ("The test fails on Windows. I can't fix it.", "I can't fix it"),
        (
            "I did not change anything, as it is unclear.\n\nQuestion: cents or decimal?",
            "Question: cents or decimal?",
        ),
        ("Question: semicolons or commas? I need an answer.", "Question: semicolons or commas?"),
        ("All of `a?.b` is typed. Shall I go on with T005?", "Shall I go on with T005?"),
        ("I cannot reach the database. Should I retry?", "I cannot reach the database"),
    ] {
        let iteration =
            Iteration { exit: Exits { agent: Some(0), validation: Some(0) }, ..iteration(Outcome::Failure) };
        let evidence = Sources {
            iteration: &iteration,
            final_text: text,
            agent_stderr: "",
            examined: None,
            artifact: None,
            found: Found::default(),
        };
        let expected = if reason.is_empty() { "the agent did not tick the task" } else { reason };
        assert_eq!(cause(&evidence).unwrap(), expected, "{text}");
        let artifact = cause(&Sources { artifact: Some("specs/001/plan.md"), ..evidence });
        assert_eq!(artifact.as_deref(), Some("the agent did not write specs/001/plan.md"));
    }
}

#[test]
fn an_open_box_is_explained_by_what_was_measured_before_words() {
    let denied = |tool: &str, words: &str| ToolCall {
        tool_name: tool.to_owned(),
        kind: ToolKind::Write,
        result_summary: words.to_owned(),
        is_denied: true,
        ..shell("a", "denied")
    };
    let failed = |command: &str, code, last_line: &str| ToolCall {
        exit_code: Some(code),
        is_error: code != 0,
        ..shell(command, last_line)
    };
    let text = "I cannot reach the database.";
    for (calls, validation, expected) in [
        (vec![], 0, "I cannot reach the database"),
        (vec![failed("npm test", 1, "not ok 3")], 0, "`npm test` exited 1: not ok 3"),
        (vec![failed("npm test", 1, "x"), failed("npm test", 0, "")], 0, "I cannot reach the database"),
        (vec![failed("grep -r frob src", 1, "")], 0, "I cannot reach the database"),
        (
            vec![failed("make", 2, "no rule"), denied("Write", "Permission to use Write has been denied.")],
            0,
            "Write was denied: Permission to use Write has been denied.",
        ),
        (vec![failed("make", 2, "no rule")], 1, "`npm test` exited 1"),
    ] {
        let names = calls.iter().filter(|call| call.is_denied).map(|call| call.tool_name.clone());
        let facts = AgentFacts { denied: names.collect(), ..AgentFacts::default() };
        let iteration = Iteration {
            exit: Exits { agent: Some(0), validation: Some(validation) },
            validation_command: Some("npm test".to_owned()),
            agent_facts: Some(Box::new(facts)),
            tool_calls: calls,
            ..iteration(Outcome::Failure)
        };
        let evidence = Sources { final_text: text, ..of(&iteration) };
        let cause = cause(&evidence).unwrap();
        assert_eq!(cause, expected);
        assert_eq!(fingerprint_of_open_box(&evidence, &cause).is_some(), validation == 0);
    }
}

#[test]
fn reasons_are_alike_without_their_details_and_words_of_success_are_none() {
    let print = |task: &str, text: &str| {
        let iteration = Iteration {
            task: Some(task.to_owned()),
            exit: Exits { agent: Some(0), validation: Some(0) },
            ..iteration(Outcome::Failure)
        };
        let evidence = Sources { final_text: text, ..of(&iteration) };
        fingerprint_of_open_box(&evidence, &cause(&evidence).unwrap())
    };
    let first = print("T1", "I cannot reach the database after 30 s.");
    assert!(first.as_ref().is_some_and(|print| print.starts_with(OPEN_BOX)));
    assert_eq!(first, print("T2", "I cannot reach the database after 12 s."));
    assert_eq!(
        print("T1", "T1 needs a key, which is missing."),
        print("T2", "T2 needs a key, which is missing.")
    );
    assert_ne!(first, print("T1", "I cannot find the parser."));
    assert_eq!(print("T1", "All done, the tests pass."), None);
    let tries = ["(try 1)", "(try 2)", "(try 31)", "on port 5432", "on port 6000"];
    let tries = tries.map(|end| print("T1", &format!("I cannot reach the database {end}.")));
    assert!(
        tries[0] == tries[1] && tries[1] == tries[2] && tries[3] == tries[4] && tries[0].is_some(),
        "{tries:?}"
    );
    // Whoever gets further says the same with other numbers.
    for (one, next) in [
        (
            "I could not convert all files: 12 of 40 are done",
            "I could not convert all files: 24 of 40 are done",
        ),
        (
            "The rest does not fit into one run: 28 files left",
            "The rest does not fit into one run: 9 files left",
        ),
        ("3 tests fail, 9 more are missing", "3 tests fail, 4 more are missing"),
    ] {
        assert_ne!(print("T1", one), print("T1", next), "{one}");
        assert!(print("T1", one).is_some() && print("T1", one) == print("T1", one), "{one}");
    }
}

#[test]
fn work_that_was_cut_off_explains_an_open_box_and_no_ticked_one() {
    let cut = CutOff { what: "npm test".to_owned(), is_subagent: false };
    let facts = AgentFacts { cut_off: vec![cut], ..AgentFacts::default() };
    let mut iteration = Iteration {
        exit: Exits { agent: Some(0), validation: Some(0) },
        agent_facts: Some(Box::new(facts)),
        ..iteration(Outcome::Failure)
    };
    let words = "npm test (in the background) was still running when the agent ended";
    assert_eq!(cause(&of(&iteration)).as_deref(), Some(words));
    iteration.exit.validation = Some(1);
    assert_eq!(cause(&of(&iteration)).as_deref(), Some(words));
    iteration.claims.ticked = vec!["T1".to_owned()];
    assert_eq!(cause(&of(&iteration)).as_deref(), Some("`cargo test` exited 1"));
}

#[test]
fn a_limit_of_the_agents_own_is_named_with_where_it_is_set() {
    let mut iteration = Iteration {
        exit: Exits { agent: Some(1), validation: Some(0) },
        failure_class: Some(FailureClass::Other),
        error: Some("ran out of turns (40)".to_owned()),
        agent: "claude".to_owned(),
        ..iteration(Outcome::Failure)
    };
    assert_eq!(cause(&of(&iteration)).as_deref(), Some("agent ran out of turns (40): agents.claude.command"));
    // What the validation says of a ticked box counts more.
    iteration.exit.validation = Some(1);
    iteration.claims.ticked = vec!["T1".to_owned()];
    assert_eq!(cause(&of(&iteration)).as_deref(), Some("`cargo test` exited 1"));
}

/// What is found out next, and the cause that this makes.
type Step = (fn(&mut Iteration, &mut Found<'static>), &'static str);

#[test]
fn the_first_question_that_fits_decides() {
    let steps: [Step; 9] = [
        (|_, _| (), "the agent did not tick the task"),
        (|_, found| found.list = Some("another list"), "another list"),
        (|_, found| found.elsewhere = Some("on a branch"), "on a branch"),
        (
            |iteration, _| {
                let cut_off = vec![CutOff { what: "npm test".to_owned(), is_subagent: false }];
                iteration.agent_facts = Some(Box::new(AgentFacts { cut_off, ..AgentFacts::default() }));
            },
            "npm test (in the background) was still running when the agent ended",
        ),
        (
            |iteration, _| {
                iteration.exit.agent = Some(1);
                iteration.failure_class = Some(FailureClass::Other);
            },
            "agent exited 1",
        ),
        (
            |iteration, _| {
                iteration.exit.validation = Some(1);
                iteration.claims.ticked = vec!["T1".to_owned()];
            },
            "`cargo test` exited 1",
        ),
        (|iteration, _| iteration.failure_class = Some(FailureClass::Network), "agent lost the network"),
        (|_, found| found.fails_as_at_the_start = true, "`cargo test` exited 1"),
        (
            |iteration, _| iteration.failure_class = Some(FailureClass::Policy),
            "agent was refused by its provider",
        ),
    ];
    let mut iteration =
        Iteration { exit: Exits { agent: Some(0), validation: Some(0) }, ..iteration(Outcome::Failure) };
    let mut found = Found::default();
    // From the last question to the first: each that comes before the others wins.
    for (add, expected) in steps {
        add(&mut iteration, &mut found);
        assert_eq!(cause(&Sources { found, ..of(&iteration) }).as_deref(), Some(expected));
    }
}

#[test]
fn interruptions_skips_and_successes() {
    let of = |change: &dyn Fn(&mut Iteration), outcome| {
        let mut iteration =
            Iteration { exit: Exits { agent: Some(130), validation: None }, ..iteration(outcome) };
        change(&mut iteration);
        cause(&Sources {
            iteration: &iteration,
            final_text: "",
            agent_stderr: "",
            examined: None,
            artifact: None,
            found: Found::default(),
        })
    };
    let stopped = |iteration: &mut Iteration| iteration.exit_reason = Some(ExitReason::Interrupted);
    assert_eq!(of(&stopped, Outcome::Interrupted).unwrap(), "stopped by the user while the agent ran");
    let validating = |iteration: &mut Iteration| {
        stopped(iteration);
        iteration.exit.validation = Some(-1);
    };
    assert_eq!(
        of(&validating, Outcome::Interrupted).unwrap(),
        "stopped by the user while the validation ran"
    );
    let limited = |iteration: &mut Iteration| {
        iteration.failure_class = Some(FailureClass::RateLimit);
        iteration.resets_at = Some("2026-11-22T04:00:00Z".parse().unwrap());
        iteration.error = Some("429 Too Many Requests".to_owned());
    };
    assert_eq!(
        of(&limited, Outcome::Interrupted).unwrap(),
        "agent hit a rate limit until 2026-11-22T04:00:00Z: 429 Too Many Requests"
    );
    let quota = |iteration: &mut Iteration| iteration.failure_class = Some(FailureClass::Quota);
    assert_eq!(of(&quota, Outcome::Interrupted).unwrap(), "agent reached its usage limit");
    assert_eq!(of(&stopped, Outcome::Success), None);
    assert_eq!(of(&stopped, Outcome::Skipped), None);
    assert_eq!(of_skip(3, Some("no such table")), "failed 3 times in a row; last: no such table");
    assert_eq!(of_skip(1, None), "failed once");
}

#[test]
fn a_cause_says_nothing_twice_in_a_row() {
    for (text, expected) in [
        ("error: error: no such file", "error: no such file"),
        (
            "auth::test_validate: auth::test_validate - left 1, right 2",
            "auth::test_validate - left 1, right 2",
        ),
        ("agent exited 1: error: error: error: x", "agent exited 1: error: x"),
        ("left: 1: 1", "left: 1: 1"),
        ("a: ab - c", "a: ab - c"),
        ("test: tests failed", "test: tests failed"),
        ("x", "x"),
    ] {
        assert_eq!(bounded(text), expected);
    }
}

#[test]
fn a_cause_is_one_line_of_bounded_length() {
    let long = "é\u{7}\r\n".repeat(300);
    let iteration = Iteration {
        exit: Exits { agent: Some(1), validation: None },
        error: Some(long),
        failure_class: Some(FailureClass::Other),
        ..iteration(Outcome::Failure)
    };
    let evidence = of(&iteration);
    let line = cause(&evidence).unwrap();
    assert!(line.chars().count() == MAX_CAUSE_CHARS && line.ends_with('…'), "{line}");
    assert!(!line.contains(char::is_control), "{line}");
}

use super::read;

/// A report, and the text that it is read as; `None` if it stays as it is.
const REPORTS: [(&str, Option<&str>); 16] = [
    (
        "{\"timestamp\":\"2026-01-02\",\"level\":\"INFO\",\"fields\":{\"message\":\"up\"},\"filename\":\"src/a.rs\",\"line_number\":3}\n",
        None,
    ),
    ("no report\n{ not json\n[1, 2]\n{\"level\":\"info\",\"msg\":\"started\"}\n", None),
    ("{\"a\": {\"b\": \"never ends\"\n", None),
    ("<html><body>no report</body></html>\n<?xml version=\"1.0\"?><plan/>\n", None),
    (
        "{\"Action\":\"start\",\"Package\":\"p\"}\n{\"Action\":\"output\",\"Package\":\"p\",\"Test\":\"TestA\",\"Output\":\"    a_test.go:9: got\"}\n{\"Action\":\"output\",\"Package\":\"q\",\"Output\":\"ok q\\n\"}\n{\"Action\":\"output\",\"Package\":\"p\",\"Test\":\"TestA\",\"Output\":\" 3\\n\"}\n",
        Some("    a_test.go:9: got 3\nok q\n"),
    ),
    (
        "   Compiling a\n{\"reason\":\"compiler-artifact\"}\n{\"reason\":\"compiler-message\",\"message\":{\"rendered\":\"error: x\\n --> a.rs:1:1\\n\"}}\n",
        Some("   Compiling a\nerror: x\n --> a.rs:1:1\n"),
    ),
    (
        "{ \"type\": \"suite\", \"event\": \"started\", \"test_count\": 1 }\n{ \"type\": \"test\", \"name\": \"a::b\", \"event\": \"failed\", \"stdout\": \"no luck\\n\" }\n{ \"type\": \"test\", \"name\": \"a::c\", \"event\": \"ok\" }\n",
        Some("running tests\n---- a::b stdout ----\nno luck\n\n\n"),
    ),
    (
        "[{\"filePath\":\"a.js\",\"messages\":[{\"ruleId\":\"no-undef\",\"severity\":2,\"message\":\"'x' is not defined.\",\"line\":3,\"column\":5}]}]",
        Some("a.js:3:5: error: 'x' is not defined. [no-undef]\n"),
    ),
    (
        "[\n  {\n    \"code\": \"F401\",\n    \"filename\": \"a.py\",\n    \"location\": {\"row\": 3, \"column\": 8},\n    \"message\": \"unused\"\n  }\n]\n",
        Some("a.py:3:8: error: unused [F401]\n\n"),
    ),
    (
        "{\"generalDiagnostics\":[{\"file\":\"a.py\",\"severity\":\"warning\",\"message\":\"one\\n  two\",\"range\":{\"start\":{\"line\":2,\"character\":4}},\"rule\":\"reportX\"}]}",
        Some("a.py:3:5: warning: one [reportX]\n    two\n"),
    ),
    (
        "{\"totals\":{\"errors\":1},\"files\":{\"src/A.php\":{\"messages\":[{\"message\":\"no\",\"line\":7}]}}}",
        Some("src/A.php:7: error: no\n"),
    ),
    (
        "{\"numTotalTests\":1,\"testResults\":[{\"name\":\"a.test.js\",\"status\":\"failed\",\"assertionResults\":[{\"ancestorTitles\":[\"g\"],\"title\":\"t\",\"status\":\"failed\",\"failureMessages\":[\"Error: x\\n    at a.js:1:1\"]}]}]}",
        Some("FAIL a.test.js\n\n  ● g › t\n\n    Error: x\n        at a.js:1:1\n\n"),
    ),
    (
        "{\"stats\":{},\"failures\":[{\"title\":\"t\",\"fullTitle\":\"g t\",\"err\":{\"stack\":\"Error: x\\n    at y\"}}]}",
        Some("\n  1 failing\n\n  1) g\n       t:\n\n      Error: x\n          at y\n"),
    ),
    (
        "{\"exitcode\":1,\"tests\":[{\"nodeid\":\"t/test_a.py::test_b\",\"outcome\":\"failed\",\"call\":{\"outcome\":\"failed\",\"longrepr\":\"E   assert 1 == 2\"}}]}",
        Some("=== FAILURES ===\n____ test_b ____\nE   assert 1 == 2\n====\nFAILED t/test_a.py::test_b\n"),
    ),
    (
        "{\"pytest_version\":\"8.0\",\"$report_type\":\"SessionStart\"}\n{\"nodeid\":\"test_a.py::test_b\",\"outcome\":\"failed\",\"when\":\"call\",\"longrepr\":\"E   boom\",\"$report_type\":\"TestReport\"}\n",
        Some("=== FAILURES ===\n____ test_b ____\nE   boom\n====\nFAILED test_a.py::test_b\n"),
    ),
    (
        "before\n<?xml version=\"1.0\"?>\n<testsuites><testsuite name=\"s\"><testcase classname=\"C\" name=\"t\"><failure message=\"1 &lt; 2\">1 &lt; 2\n    at a.js:1:1</failure></testcase><testcase name=\"u\"/></testsuite></testsuites>\nafter\n",
        Some("before\n\n  ● C › t\n\n    1 < 2\n        at a.js:1:1\n\n\nafter\n"),
    ),
];

#[test]
fn reports_for_programs_are_read_as_what_they_say() {
    for (report, expected) in REPORTS {
        assert_eq!(read(report).0.as_deref(), expected, "{report}");
    }
}

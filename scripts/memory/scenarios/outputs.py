"""The fact stands in an output of the validation."""

from scenario import Run, act, build_log, done, needs, passing_tests, scenario

TRIED = Run(say="I changed the code, and the checks still fail.")

scenario(
    name="short-output",
    models="A check of two lines: here the end of the output is enough",
    facts=["Grüezi"],
    act=act(["Grüezi"], done(T001="Grüezi"), TRIED),
    check=needs("Grüezi", "1 test ran\nFAIL greeting: expected 'Grüezi', got 'Hello'"),
)

COVERAGE = "".join(
    f"shop/{name}.py{'':<{16 - len(name)}} {120 + 7 * n:>4} {n:>5}   {100 - n}%\n"
    for n, name in enumerate(["api", "auth", "billing", "cache", "events", "export", "index", "jobs", "mail", "views"])
)

scenario(
    name="middle-of-pytest",
    models="pytest names the failure in the middle; passing tests and a coverage table follow",
    facts=["Europe/Zurich"],
    act=act(["Europe/Zurich"], done(T001="Europe/Zurich"), TRIED),
    check=needs(
        "Europe/Zurich",
        "============================= test session starts ==============================\n"
        + passing_tests(40)
        + "=================================== FAILURES ===================================\n"
        "___________________________ test_invoice_is_dated ______________________________\n\n"
        "    def test_invoice_is_dated():\n>       assert invoice().zone == 'Europe/Zurich'\n"
        "E       AssertionError: assert 'UTC' == 'Europe/Zurich'\n\ntests/test_invoice.py:14: AssertionError\n"
        "---------- coverage: platform linux, python 3.11.7-final-0 ----------\n"
        "Name                 Stmts  Miss  Cover\n---------------------------------------\n"
        + COVERAGE
        + "---------------------------------------\nTOTAL                 1515    45    97%\n"
        "=========================== short test summary info ============================\n"
        "========================= 1 failed, 40 passed in 3.21s =========================\n",
    ),
)

scenario(
    name="first-error-of-many",
    models="The first error of a compiler is the cause; 25 errors that follow from it come after it",
    facts=["undici-7"],
    act=act(["undici-7"], done(T001="undici-7"), TRIED),
    check=needs(
        "undici-7",
        "src/client.ts(14,29): error TS2307: Cannot find module 'undici-7' or its corresponding type declarations.\n"
        + "".join(
            f"src/views/page{n:02}.ts({n + 3},11): error TS7006: Parameter 'response' implicitly has an 'any' type.\n"
            for n in range(25)
        )
        + "\nFound 26 errors in 26 files.\n",
    ),
)

scenario(
    name="stderr-beside-stdout",
    models="A build writes its log to stdout and the reason to stderr",
    facts=["certs/proxy-ca\\.pem"],
    act=act(["certs/proxy-ca\\.pem"], done(T001="certs/proxy-ca.pem"), TRIED),
    check=needs(
        "certs/proxy-ca.pem",
        build_log(40) + "build stopped\n",
        stderr="Error: unable to get local issuer certificate: trust certs/proxy-ca.pem\n",
    ),
)

scenario(
    name="cargo-no-fail-fast",
    models="cargo test --no-fail-fast: the values of the failed assertion, then three more test binaries",
    facts=["65536"],
    act=act(["65536"], done(T001="65536"), TRIED),
    check=needs(
        "65536",
        "running 2 tests\ntest reads_a_page ... ok\ntest a_page_is_large_enough ... FAILED\n\nfailures:\n\n"
        "---- a_page_is_large_enough stdout ----\n\n"
        "thread 'a_page_is_large_enough' panicked at tests/pages.rs:9:5:\n"
        "assertion `left == right` failed\n  left: 4096\n right: 65536\n"
        "note: run with `RUST_BACKTRACE=1` environment variable to display a backtrace\n\n\n"
        "failures:\n    a_page_is_large_enough\n\n"
        "test result: FAILED. 1 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.01s\n\n"
        + "".join(
            f"     Running tests/{name}.rs (target/debug/deps/{name}-0f1e2d3c4b5a6978)\n\nrunning 9 tests\n"
            + "".join(f"test {name}_case_{n} ... ok\n" for n in range(9))
            + "\ntest result: ok. 9 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.02s\n\n"
            for name in ["queries", "schema", "wal"]
        )
        + "error: 1 target failed:\n    `-p store --test pages`\n",
    ),
)

scenario(
    name="falsifying-example",
    models="A property test found the input that breaks the code; the log of the service follows",
    facts=["-0\\.005"],
    act=act(["-0\\.005"], done(T001="-0.005"), TRIED),
    check=needs(
        "-0.005",
        "=================================== FAILURES ===================================\n"
        "_____________________________ test_rounding ____________________________________\n\n"
        "    @given(amounts())\n    def test_rounding(amount):\n>       assert shown(amount) == parsed(shown(amount))\n"
        "E       AssertionError: assert '0.00' == '-0.00'\n"
        "E       Falsifying example: test_rounding(\nE           amount=-0.005,\nE       )\n\n"
        "tests/test_money.py:31: AssertionError\n"
        "------------------------------ Captured log call -------------------------------\n"
        + "".join(f"INFO     shop.money:money.py:{40 + n} rounded amount {n}.{n:02} to the cent\n" for n in range(20))
        + "=========================== short test summary info ============================\n"
        "FAILED tests/test_money.py::test_rounding - AssertionError: assert '0.00' == ...\n"
        "============================== 1 failed in 0.44s ===============================\n",
    ),
)

scenario(
    name="program-not-found",
    models="The validation cannot run: the shell says what is missing, while stdout describes the machine",
    facts=["protoc-gen-lint"],
    act=act(["protoc-gen-lint"], done(T001="protoc-gen-lint"), TRIED),
    check=needs(
        "protoc-gen-lint",
        "environment of this build\n" + "".join(f"  TOOL_{n:02}=/opt/tools/{n:02}/bin\n" for n in range(30)),
        stderr="check.sh: 3: protoc-gen-lint: not found\n",
    ),
)

scenario(
    name="colours-and-progress-bars",
    models="An installer draws progress bars and colours; its error is followed by advice",
    facts=["2\\.9\\.0\\+cu128"],
    act=act(["2\\.9\\.0\\+cu128"], done(T001="2.9.0+cu128"), TRIED),
    check=needs(
        "2.9.0+cu128",
        "".join(f"\x1b[2K   \x1b[90m{'━' * (n // 4):<25}\x1b[0m \x1b[32m{n:.1f}/100.0 MB\x1b[0m\r" for n in range(0, 101, 4))
        + "\n\x1b[31mERROR: Could not find a version that satisfies the requirement torch==2.9.1+cu130"
        " (from versions: 2.9.0+cu128)\x1b[0m\n"
        + "".join(
            f"\x1b[34m[notice]\x1b[0m A new release of tool-{n} is available, see the release notes of tool-{n}\n"
            for n in range(12)
        ),
    ),
)

# Three parts fail at first. The agent fixes the one that is named last; the port is named only while all three are looked at.
STAGES = """\
cat <<'END'
checking the parts
END
if ! test -e work/search; then
  echo "FAILED admin: connection refused, the server listens on 9443"
  cat <<'END'
NOISE
END
  echo "FAILED index: work/index is missing"
  echo "FAILED search: work/search is missing"
  exit 1
fi
if ! test -e work/index; then
  echo "FAILED admin: skipped after an earlier failure"
  echo "FAILED index: work/index is missing"
  exit 1
fi
grep -qs 9443 work/admin || { echo "FAILED admin: connection refused"; exit 1; }
echo "all parts work"
""".replace("NOISE", "\n".join(f"  at admin.connect (admin.js:{n}:17)" for n in range(30)))


def staged(turn):
    files = {}
    if turn.knows("work/search is missing"):
        files["work/search"] = "x"
    if turn.knows("skipped after an earlier failure"):
        files["work/index"] = "x"
    if "work/index" in files and turn.knows("9443"):
        return Run(say="All parts are there.", files={**files, "work/admin": "9443"}, tick=True)
    return Run(say="I worked on the part that was named last.", files=files)


scenario(
    name="gone-from-newest-output",
    models="The first output names the port; later outputs, of other failures, do not name it again",
    facts=["9443"],
    act=staged,
    check=STAGES,
)


scenario(
    name="alternating-failure",
    models="The fix of one failure causes the other: both must be known at once",
    facts=["mode=strict", "mode=legacy"],
    act=lambda turn: Run(say="Both hold.", files={"work/mode": "strict legacy"}, tick=True)
    if turn.knows("mode=strict", "mode=legacy")
    else Run(say="I changed the mode.", files={"work/mode": "strict" if turn.iteration % 2 == 0 else "legacy"}),
    check="""\
mode=$(cat work/mode)
case $mode in
"strict legacy") echo "ok"; exit 0 ;;
strict) echo "FAIL import of 2019: needs mode=legacy for the rows of 2019" ;;
*) echo "FAIL export: needs mode=strict for the rows of today" ;;
esac
i=0; while [ $i -lt 30 ]; do echo "row $i was read from the archive and written back"; i=$((i + 1)); done
exit 1
""",
)

scenario(
    name="false-tick",
    models="The agent ticked its box and said that all is done; a check in the middle of the output says what is not",
    facts=["/v2/export"],
    act=act(["/v2/export"], done(T001="/v2/export"), Run(say="All endpoints are documented.", tick=True)),
    check=needs(
        "/v2/export",
        "".join(f"ok      GET /v1/orders/{n} is documented\n" for n in range(12))
        + "FAIL    GET /v2/export is not documented\n"
        + "".join(f"ok      GET /v1/items/{n} is documented\n" for n in range(25))
        + "38 endpoints, 37 documented\n",
    ),
)

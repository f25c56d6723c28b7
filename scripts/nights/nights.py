"""The nights. In `meanwhile` a night is played beside the first call, with files in the folder of the night as signs."""

import signal
import textwrap

from night import ALL, night

__all__ = ["ALL"]

# Stands in an agent's script until the sign comes.
WAIT = 'while [ ! -e "$NIGHT/go" ]; do sleep 0.02; done'

LIMIT = (
    """now=$(date -u -d "${RALPH_TEST_CLOCK:-now}" +%s)\n"""
    """printf '{"type":"rate_limit_event","rate_limit_info":{"status":"rejected","resetsAt":%s}}\\n' $((now + 7200))\n"""
)


def error(fields):
    return f"""echo '{{"type":"result","is_error":true,"result":"It failed.",{fields}}}'; exit 1"""


QUOTA = LIMIT + error('"api_error":"usage_limit_reached","api_error_status":429')
GOOD_RESULT = """echo '{"type":"result","is_error":false,"result":"Done."}'"""
WRONG_KEY = error('"api_error":"authentication_error","api_error_status":401')


def kept(path, text):
    """Nothing of a person's is lost."""
    return lambda project: None if project.read(path) == text else f"{path} is {project.read(path)!r}"


def stops_with(words):
    def meanwhile(project, started):
        project.wait_for("begun", started)
        project.ralph(*words)
        project.let("go")

    return meanwhile


def signals_with(number):
    def meanwhile(project, started):
        project.wait_for("begun", started)
        started.send_signal(number)

    return meanwhile


def merge(project):
    """A merge that stopped in a conflict."""
    project.git("switch", "--quiet", "--create", "side")
    project.write("src/lib.sh", "echo theirs\n")
    project.git("add", "--all")
    project.git("commit", "--quiet", "--message", "Theirs")
    project.git("switch", "--quiet", "main")
    project.write("src/lib.sh", "echo ours\n")
    project.git("add", "--all")
    project.git("commit", "--quiet", "--message", "Ours")
    try:
        project.git("merge", "side")
    except RuntimeError:
        return
    raise RuntimeError("the merge has no conflict")


night(
    name="good",
    models="the agent does every task",
    agent="good",
    reason=r"all 5 tasks done",
)
night(
    name="lazy",
    models="for one task the agent says that it is done, and does nothing",
    agent='case $n in 002) echo "All done.";; *) good;; esac',
    reason="T002",
)
night(
    name="lying",
    models="for one task it ticks the box, promises that all is done, and the test of the task fails",
    agent='case $n in 002) tick; echo "<promise>COMPLETE</promise>";; *) good;; esac',
    files={"must-hold": "grep -q '\\[x\\] T002' $RALPH_TASKS && [ ! -e src/T002.sh ] && { echo FAILED T002: no such part; status=1; }\n"},
    reason="T002",
)
night(
    name="breaking",
    models="one task leaves a file behind that breaks the validation of all",
    agent="case $n in 002) spoil;; *) good;; esac",
    reason="T002",
)
night(
    name="breaking-shared",
    models="one task breaks a file that later tasks change elsewhere",
    agent="case $n in 002) edit 's/^two$/if then (/' src/lib.sh; tick;; *) edit \"s/^end$/part_$n=1\\\nend/\" src/lib.sh; good;; esac",
    files={"src/lib.sh": ": one\n:\n:\n:\ntwo\n:\n:\n:\n:\nend\n"},
    check="sh -n src/lib.sh && sh check.sh",
    reason="T002",
)
night(
    name="breaking-deleted",
    models="one task deletes what the validation needs",
    agent="case $n in 002) rm -f src/T001.sh; tick;; *) good;; esac",
    files={"must-hold": "grep -q '\\[x\\] T001' $RALPH_TASKS && [ ! -e src/T001.sh ] && { echo FAILED T001: no such part; status=1; }\n"},
    reason="T002",
)
night(
    name="breaking-twice",
    models="two tasks, one after the other, break the validation in their own ways",
    agent="case $n in 002|003) spoil;; *) good;; esac",
    settings="max-iterations = 20\n",
    reason="T002|T003",
)
night(
    name="breaking-commits",
    models="one task breaks the validation and commits that",
    agent="case $n in 002) spoil; git add src; git commit -qm 'Bad work';; *) good;; esac",
    settings='commit = "task"\n',
    reason="T002",
)
night(
    name="second-attempt",
    models="every task needs a second attempt",
    agent="if [ $attempts = 1 ]; then spoil; else good; fi",
    settings="max-iterations = 20\n",
    reason=r"all 5 tasks done",
)
night(
    name="hanging",
    models="for one task the agent hangs",
    agent="case $n in 002) sleep 1000;; *) good;; esac",
    settings='timeout = "1s"\nskip-after = 2\n',
    reason="T002",
)
night(
    name="babbling",
    models="for one task the agent prints without an end",
    agent="case $n in 002) yes;; *) good;; esac",
    settings='max-output = "1MiB"\nskip-after = 2\n',
    reason="T002",
)
night(
    name="crashing-agent",
    models="the agent dies of a signal before it does anything, once at each task",
    agent="once crash-$n && kill -SEGV $$; good",
    settings="max-iterations = 20\n",
    reason=r"all 5 tasks done",
)
night(
    name="leftovers",
    models="the agent leaves processes behind",
    agent="sleep 1000 & good",
    reason=r"all 5 tasks done",
)
night(
    name="quota",
    models="a quota is used up, and comes back in two hours",
    agent=f"case $n in 003) if once quota; then note futile\n{QUOTA}\nfi;; esac; good; {GOOD_RESULT}",
    parser="claude",
    reason=r"all 5 tasks done",
)
night(
    name="second-agent",
    models="a quota is used up for the whole night, and a second agent takes over",
    agent=f"case $n in 001) good; {GOOD_RESULT};; *) note futile\n{QUOTA};; esac",
    settings='agent = ["night", "other"]\n[agents.other]\ncommand = ["sh", "other.sh"]\n',
    files={"other.sh": ""},
    prepare=lambda project: project.write("other.sh", project.read("agent.sh").split("case $n in 001)")[0] + "good\n"),
    parser="claude",
    reason=r"all 5 tasks done",
)
night(
    name="wrong-key",
    models="the agent's key is wrong",
    agent=f"note futile; {WRONG_KEY}",
    shown_by=2,
    parser="claude",
    reason=r"night cannot be used \(auth",
)
night(
    name="no-agent",
    models="the agent is not installed",
    agent="",
    settings='agent = "missing"\n[agents.missing]\ncommand = ["no-such-agent"]\n',
    reason="no-such-agent",
)
night(
    name="killed",
    models="the loop is killed while its agent works, and taken up in the morning",
    agent=f'case $n in 003) if once begun; then {WAIT}; fi;; esac; good',
    calls=[["run"], ["resume"]],
    meanwhile=signals_with(signal.SIGKILL),
    reason=r"all 5 tasks done",
)
night(
    name="killed-in-rollback",
    models="the loop is killed while it validates after the changes of a bad task were taken back",
    agent="case $n in 002) [ -e \"$NIGHT/begun\" ] || spoil; [ ! -e \"$NIGHT/begun\" ] || good;; *) good;; esac",
    check='sh check.sh && if [ "$RALPH_TASK" = T002 ] && [ ! -e src/T002.sh ] && [ ! -e "$NIGHT/begun" ]; then : > "$NIGHT/begun"; sleep 1000; fi',
    calls=[["run"], ["resume"]],
    meanwhile=signals_with(signal.SIGKILL),
    reason=r"all 5 tasks done",
)
night(
    name="ctrl-c",
    models="a person presses Ctrl-C, and resumes the session",
    agent=f'case $n in 003) if once begun; then {WAIT}; fi;; esac; good',
    calls=[["run"], ["resume"]],
    meanwhile=signals_with(signal.SIGINT),
    reason=r"all 5 tasks done",
)
night(
    name="stopped",
    models="a person stops the loop from another terminal, and resumes the session",
    agent=f'case $n in 003) if once begun; then {WAIT}; fi;; esac; good',
    calls=[["run"], ["resume"]],
    meanwhile=stops_with(["stop"]),
    reason=r"all 5 tasks done",
)
night(
    name="person",
    models="a person edits files while a bad task runs, and while it is skipped",
    agent="case $n in 002) spoil;; *) good;; esac",
    check='if [ "$RALPH_TASK" = T002 ] && [ "$RALPH_ITERATION" = 5 ]; then echo ": mine" > src/mine.sh; fi; sh check.sh',
    check_after=kept("src/mine.sh", ": mine\n"),
    reason="T002",
)
night(
    name="person-adds",
    models="a person adds a task in the middle of the night",
    agent='case $n in 003) if once added; then echo "- [ ] T006 Write part 6" >> "$RALPH_TASKS"; fi;; esac; good',
    reason=r"all 6 tasks done",
)
night(
    name="limit",
    models="more tasks than runs",
    agent="good",
    tasks=[f"T{n:03} Write part {n}" for n in range(1, 9)],
    settings="max-iterations = 5\n",
    reason="5 of 8 tasks done · stopped at the limit of 5 attempts",
)
night(
    name="blocked",
    models="a task cannot be done, and others say that they depend on it",
    agent='case $n in 002) echo "I cannot.";; *) good;; esac',
    tasks=["T001 Write part 1", "T002 Write part 2", "T003 Write part 3 (depends on T002)", "T004 Write part 4"],
    reason="T002",
)
night(
    name="broken-test",
    models="a test of the project is broken, and no task says that it should be repaired",
    agent="part; tick; note futile",
    tasks=[f"T{n:03} Write part {n}" for n in range(1, 13)],
    files={"must-hold": "echo FAILED tests/old.sh: expected 1, got 2; status=1\n"},
    settings="max-iterations = 40\n",
    reason="the validation fails before anything was changed",
)
night(
    name="broken-test-forced",
    models="the same, started all the same: two tasks fail as the validation did before, and none is to blame",
    agent="part; tick; note futile",
    tasks=[f"T{n:03} Write part {n}" for n in range(1, 13)],
    files={"must-hold": "echo FAILED tests/old.sh: expected 1, got 2; status=1\n"},
    settings="max-iterations = 40\n",
    calls=[["run", "--force"]],
    shown_by=2,
    reason="failed before them, too",
    check_after=kept("src/T001.sh", "echo part 001\n"),
)
night(
    name="known-failures",
    models="the same, and the failures are known",
    agent="good",
    files={"must-hold": "printf '1..2\\nnot ok 1 old\\nok 2 new\\n'; status=1\n"},
    settings="validation.pass = 'no-new-failures'\n",
    reason="all 5 tasks done",
)
night(
    name="broken-later",
    models="in the middle of the night something outside breaks the validation for good",
    agent='case $n in 001|002) good;; *) : > "$NIGHT/broken"; part; tick; note futile;; esac',
    tasks=[f"T{n:03} Write part {n}" for n in range(1, 13)],
    check='[ ! -e "$NIGHT/broken" ] || { echo "FAILED connect: connection refused (database)"; exit 1; }; sh check.sh',
    settings="max-iterations = 40\n",
    shown_by=7,
    reason="is the validation itself broken",
)
night(
    name="red-baseline",
    models="the validation fails before the night, and the first task repairs it",
    agent="case $n in 001) rm -f src/old.sh;; esac; good",
    files={"src/old.sh": "if then (\n"},
    calls=[["run", "--force"]],
    reason=r"all 5 tasks done",
)
night(
    name="red-baseline-late",
    models="the same, but the second task repairs it: the first goes behind it, and is not given up",
    agent="case $n in 002) rm -f src/old.sh;; esac; good",
    files={"src/old.sh": "if then (\n"},
    calls=[["run", "--force"]],
    reason=r"all 5 tasks done",
)
night(
    name="no-tests-yet",
    models="a new project, in which the third of five tasks writes the first test",
    agent="case $n in 003) echo 'test' > test_one.py;; esac; good",
    check="sh check.sh && if [ -e test_one.py ]; then echo '== 1 passed in 0.01s =='; else echo '== no tests ran in 0.01s =='; exit 5; fi",
    reason=r"all 5 tasks done",
)
night(
    name="piped",
    models="the validation is piped into `tail`, which hides its exit code, and one task breaks two tests",
    agent="case $n in 002) part; : > broken; tick;; *) good;; esac",
    check="sh suite | tail -3",
    files={
        "suite": "if [ -e broken ]; then echo '== 2 failed, 10 passed in 0.4s =='; exit 1; fi; echo '== 12 passed in 0.4s =='\n"
    },
    reason="a pipe hides its exit code",
)
night(
    name="nothing-passes",
    models="whatever an agent does is broken in its own way: the setup is not whole",
    agent="part; echo \"if then ( $n\" > src/$RALPH_TASK.sh; tick; note futile",
    tasks=[f"T{n:03} Write part {n}" for n in range(1, 13)],
    settings="max-iterations = 40\nstop-on-common-failure = false\n",
    shown_by=10,
    reason="nothing passed once: is the setup whole",
)
night(
    name="first-task-breaks",
    models="the validation passes before the night, and the first task breaks it",
    agent="case $n in 001) spoil;; *) good;; esac",
    reason="T001",
)
night(
    name="typo",
    models="the validation command has a typo",
    agent="note futile; part; tick",
    check="pytset -q",
    reason="pytset",
)
night(
    name="no-such-check",
    models="the validation is a script that does not exist",
    agent="note futile; part; tick",
    check="./scripts/check-all.sh",
    settings="max-iterations = 40\n",
    shown_by=2,
    reason="check-all.sh|validation cannot be used|validation_unusable|validation unusable",
)
night(
    name="setup-task",
    models="the first task installs the tool that validates",
    agent="case $n in 001) mkdir -p tools; cp check.sh tools/check; chmod +x tools/check;; esac; good",
    check="./tools/check",
    reason=r"all 5 tasks done",
)
night(
    name="flaky",
    models="the validation fails in every fourth run, whatever it looks at",
    agent="good",
    tasks=[f"T{n:03} Write part {n}" for n in range(1, 21)],
    check='count=$(cat "$NIGHT/count" 2>/dev/null || echo 0); echo $((count + 1)) > "$NIGHT/count"; '
    'if [ $((count % 4)) = 3 ]; then echo "FAILED net: timeout after $count ms"; exit 1; fi; sh check.sh',
    settings="max-iterations = 40\n",
    goal=0.9,
    reason=r"all 20 tasks done",
)
night(
    name="flaky-test",
    models="one test of twelve fails in every second run, whatever it looks at: a second run is cheaper than an agent's",
    agent="good",
    tasks=[f"T{n:03} Write part {n}" for n in range(1, 21)],
    check='count=$(cat "$NIGHT/count" 2>/dev/null || echo 0); echo $((count + 1)) > "$NIGHT/count"; '
    'if [ $((count % 2)) = 1 ]; then echo "FAILED tests/test_net.py::test_get - timeout after $count ms"; '
    'echo "== 1 failed, 11 passed in 0.4s =="; exit 1; fi; echo "== 12 passed in 0.4s =="; sh check.sh',
    settings="max-iterations = 20\n",
    reason=r"all 20 tasks done",
)
night(
    name="surroundings",
    models="in the middle of the night a database is gone, which no task has to do with, and it comes back",
    agent="case $n in 003) part; tick; : > \"$NIGHT/gone\";; 004) part; tick; [ $attempts = 1 ] || { rm \"$NIGHT/gone\"; note correct; };; *) good;; esac",
    check='[ ! -e "$NIGHT/gone" ] || { echo "FAILED connect: connection refused (database)"; exit 1; }; sh check.sh',
    reason="T003",
)
night(
    name="tests-first",
    models="the tests are tasks of their own, and must fail before the code is there",
    agent=textwrap.dedent(
        """
        code() { part; note correct; }
        case $RALPH_TASK in
          T001) mkdir -p tests; echo 'sh src/T002.sh | grep -q part' > tests/T002.sh; tick; note correct;;
          T002) part; tick; edit 's/\\[ \\] T001/[x] T001/' "$RALPH_TASKS"; note correct;;
          *) good;;
        esac
        """
    ),
    tasks=[
        "## Phase 1: User Story 1 - Orders (Priority: P1)",
        "T001 [US1] Write the tests of part 2, and ensure they FAIL before implementation",
        "T002 [US1] Write part 2",
        "T003 [US1] Write part 3",
    ],
    check='sh check.sh && for t in tests/*.sh; do [ ! -e "$t" ] || sh "$t" || { echo "FAILED $t"; exit 1; }; done',
    settings='on-skip = "keep"\n',
    reason=r"all 3 tasks done",
)
night(
    name="tests-first-by-story",
    models="the same with default settings: the agent does what it is asked for, some of it in each attempt",
    agent=textwrap.dedent(
        """
        box() { edit "s/\\[ \\] $1 /[x] $1 /" "$RALPH_TASKS"; echo "correct $1" >> "$NIGHT/notes"; }
        test_of() { mkdir -p tests; echo "sh src/$2.sh | grep -q part" > tests/$2.sh; box $1; }
        code() { mkdir -p src; echo "echo part" > src/$1.sh; box $1; }
        case $RALPH_TASK.$attempts in
          T001.1) test_of T001 T003; test_of T002 T004; code T003;;
          T001.*) box T001; box T002; box T003; code T004;;
          T005.*) test_of T005 T006; code T006;;
          *) good;;
        esac
        """
    ),
    tasks=[
        "## Phase 1: User Story 1 - Orders (Priority: P1)",
        "### Tests for User Story 1\n\n> Write these tests FIRST, ensure they FAIL before implementation\n",
        "T001 [US1] Contract test for orders",
        "T002 [US1] Integration test for carts",
        "### Implementation for User Story 1",
        "T003 [US1] Write orders",
        "T004 [US1] Write carts",
        "## Phase 2: User Story 2 - Payment (Priority: P2)",
        "T005 [US2] Contract test for payment",
        "T006 [US2] Write payment",
        "## Phase 3: Polish",
        "T007 Write the manual",
    ],
    check='sh check.sh && for t in tests/*.sh; do [ ! -e "$t" ] || sh "$t" || { echo "FAILED $t"; exit 1; }; done',
    reason=r"all 7 tasks done",
)
night(
    name="merging",
    models="a merge is in progress",
    agent="note futile; good",
    prepare=merge,
    shown_by=0,
    reason=r"(?i)merge",
)
night(
    name="all-ticked",
    models="all boxes are ticked, and the validation fails",
    agent="note futile; good",
    tasks=["- [x] T001 Write part 1"],
    files={"src/T001.sh": "if then (\n"},
    shown_by=0,
    reason=r"(?i)validation .*(fail|not pass)|fail.*validation",
)
night(
    name="no-validation",
    models="nothing checks the agent's word",
    agent="good",
    check="",
    reason="nothing checks the agent's word",
)
night(
    name="spool-deleted",
    models="the agent deletes everything of the loop in the git directory, again and again",
    agent="rm -rf .git/ralph; good",
    reason=r"all 5 tasks done",
)

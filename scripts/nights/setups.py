"""Nights in which the setup fails, and no task: agents that do nothing, providers that refuse a task, work that is cut off."""

from night import night
from nights import GOOD_RESULT
from providers import OTHER, second_agent

INIT = """echo '{"type":"system","subtype":"init","model":"claude-opus-4-8"}'"""

DENIED = """echo '{"type":"assistant","message":{"id":"m","content":[{"type":"tool_use","id":"w","name":"Write","input":{"file_path":"a"}}]}}'
echo '{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"w","is_error":true,"content":"Permission to use Write has been denied."}]}}'
echo '{"type":"result","is_error":false,"result":"The file was not written; see above.","permission_denials":[{"tool_name":"Write","tool_use_id":"w"}]}'"""

REFUSED = """echo '{"type":"result","subtype":"success","is_error":true,"result":"API Error: Claude Code is unable to respond to this request, which appears to violate our Usage Policy."}'; exit 1"""

OUT_OF_TURNS = """echo '{"type":"assistant","message":{"id":"m","content":[{"type":"tool_use","id":"c","name":"Read","input":{"file_path":"a"}}]}}'
echo '{"type":"result","subtype":"error_max_turns","is_error":false,"num_turns":40}'"""

BACKGROUND = """echo '{"type":"assistant","message":{"id":"m","content":[{"type":"tool_use","id":"b","name":"Bash","input":{"command":"npm test","run_in_background":true}}]}}'
echo '{"type":"system","subtype":"task_started","task_id":"b1","tool_use_id":"b","task_type":"local_bash","description":"Run the tests"}'
echo '{"type":"result","is_error":false,"result":"The tests run in the background."}'
echo '{"type":"system","subtype":"task_notification","task_id":"b1","status":"killed"}'"""


def says(words):
    """What the program said of it, in the record of the first attempt at the task."""

    def check(project):
        shown = project.ralph("log")
        return None if words in shown else f"`log` lacks {words!r}: {shown}"

    return check


night(
    name="silent-agent",
    models="the agent hangs before its first line, because a server that it waits for does not start",
    agent="note futile; sleep 1000",
    settings='first-output-timeout = "1s"',
    shown_by=2,
    parser="claude",
    reason=r"night printed nothing, twice",
)
night(
    name="silent-agent-with-another",
    models="the first agent prints nothing, and a second agent takes over",
    agent="""# The first agent.
note futile""",
    settings=f"max-iterations = 20\n{OTHER}",
    files={"other.sh": ""},
    prepare=second_agent,
    shown_by=2,
    parser="claude",
    reason=r"all 5 tasks done",
)
night(
    name="killed-agent",
    models="the system kills the agent before it writes anything, each time",
    agent="note futile; kill -KILL $$",
    shown_by=2,
    parser="claude",
    reason=r"killed by signal 9 before it wrote anything: out of memory\?",
)
night(
    name="denied-writes",
    models="a setting of the organization denies every write, and each run ends well",
    agent=f"note futile; {INIT}; {DENIED}",
    shown_by=2,
    parser="claude",
    reason=r"every write was denied \(Write\): permission mode\?",
)
night(
    name="silent-for-a-while",
    models="an agent that worked prints nothing three times in a row, and works again",
    agent=f"""case $n in 003) if once first || once second || once third; then note futile; exit 0; fi;; esac
good; {GOOD_RESULT}""",
    shown_by=3,
    parser="claude",
    reason=r"all 5 tasks done",
)
night(
    name="silent-from-now-on",
    models="an agent that worked prints nothing any more",
    agent=f"case $n in 001) good; {GOOD_RESULT};; *) note futile;; esac",
    shown_by=4,
    parser="claude",
    reason=r"night printed nothing, 4 times",
)
night(
    name="refused-task",
    models="the provider refuses one task by its usage policy, and does all others",
    agent=f"case $n in 002) {REFUSED};; *) good; {GOOD_RESULT};; esac",
    shown_by=2,
    parser="claude",
    reason=r"T002 .*\n.*violate our Usage Policy",
)
night(
    name="refused-task-for-another",
    models="the provider of the first agent refuses one task, which the second agent does",
    agent=f"""# The first agent.
case $n in 002) {REFUSED};; esac
good; {GOOD_RESULT}""",
    settings=OTHER,
    files={"other.sh": ""},
    prepare=second_agent,
    parser="claude",
    reason=r"all 5 tasks done",
)
night(
    name="refused-everything",
    models="the provider refuses every task",
    agent=f"note futile; {REFUSED}",
    shown_by=3,
    parser="claude",
    reason=r"night cannot be used \(policy",
)
night(
    name="out-of-turns",
    models="one task needs more turns than the agent may have",
    agent=f"case $n in 002) {OUT_OF_TURNS};; *) good; {GOOD_RESULT};; esac",
    parser="claude",
    reason=r"ran out of turns \(40\)",
)
night(
    name="background-work",
    models="the agent ends while its tests run in the background, and takes the advice of the next prompt",
    agent=f"""case $n in 002) if once background; then {BACKGROUND}; exit 0; fi;; esac
good; {GOOD_RESULT}""",
    check_after=says("npm test (in the background) was still running when the agent ended"),
    parser="claude",
    reason=r"all 5 tasks done",
)
night(
    name="same-reason",
    models="the agent says the same obstacle at task after task",
    agent='note futile; echo "I cannot reach the database at 127.0.0.1:5432."',
    settings="skip-after = 1\n",
    shown_by=3,
    reason=r"the same failure for 3 tasks \(T001, T002, T003: I cannot reach the database",
)

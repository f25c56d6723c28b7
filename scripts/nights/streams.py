"""Nights in which an agent's stream is damaged, has a line without measure, or ends while the program stays."""

from night import night
from nights import GOOD_RESULT

CALL = """echo '{"type":"assistant","message":{"id":"m","content":[{"type":"tool_use","id":"c","name":"Read","input":{"file_path":"a.png"}}]}}'"""

# The agent waits for something that never comes, and leaves a child that outlives it.
STAYS = "sleep 1000 & sleep 1000"


def shows(number, words):
    """The record has it, and `show` says so."""

    def check(project):
        shown = project.ralph("show", str(number))
        return None if words in shown else f"`show {number}` lacks {words!r}"

    return check


night(
    name="unreadable-lines",
    models="lines in the middle of the agent's stream are cut or no JSON, among them the end of a tool, after which it once hangs",
    agent=f"""{CALL}
echo '{{"type":"user","message":{{"content":[{{"type":"tool_result","tool_use_id":"c","content":"cu'
case $n in 003) if once hang; then {STAYS}; fi;; esac
echo '"subtype":"success","is_error":true}}'
printf '{{"type":"assistant" "message":\\001}}\\n'
good; {GOOD_RESULT}""",
    settings='idle-timeout = "2s"',
    check_after=shows(1, "3 of 6 lines of the agent's output could not be read"),
    parser="claude",
    reason=r"all 5 tasks done",
)
night(
    name="huge-line",
    models="a tool gives back an image in one line of 20 MB, after which the agent once hangs",
    agent=f"""{CALL}
printf '{{"type":"user","message":{{"content":[{{"type":"tool_result","tool_use_id":"c","content":"'
head -c 20000000 /dev/zero | tr '\\0' A; printf '"}}]}}}}\\n'
case $n in 002) if once hang; then {STAYS}; fi;; esac
good; {GOOD_RESULT}""",
    tasks=[f"T{n:03} Write part {n}" for n in range(1, 4)],
    settings='idle-timeout = "2s"',
    check_after=shows(1, "1 of 4 lines of the agent's output was longer than 16 MiB and read in part"),
    parser="claude",
    reason=r"all 3 tasks done",
)
night(
    name="lingering",
    models="the agent does its task, says so with its result, and never exits",
    agent=f"""good; {GOOD_RESULT}
case $n in 002|004) {STAYS};; esac""",
    settings='idle-timeout = "2s"\non-skip = "keep"',
    check_after=shows(2, "did not exit after its result"),
    parser="claude",
    reason=r"all 5 tasks done",
)
night(
    name="bare-results",
    models="results have no `is_error`, no words or nothing at all, come with half a character, or are followed by others",
    agent="""good > /dev/null
case $n in
  001) echo '{"type":"result","subtype":"success"}';;
  002) echo '{"type":"result","is_error":false,"result":""}';;
  003) printf '%s\\n' '{"type":"result","is_error":false,"result":"cut \\ud83d"}';;
  004) printf '\\000{"type":"result","is_error":false,"result":"a\\001b",}\\000\\n';;
  005) echo '{"type":"result","is_error":true,"result":"not yet"}{"type":"result","is_error":false,"result":"now"}';;
esac""",
    parser="claude",
    reason=r"all 5 tasks done",
)
night(
    name="half-results",
    models="for one task the stream breaks off in the middle of its result, again and again",
    agent=f"""case $n in 003) part; tick; echo '{{"type":"result","is_er'; exit 1;; esac
good; {GOOD_RESULT}""",
    parser="claude",
    reason=r"T003",
)

"""Nights of agents and providers that fail: limits in words, logins that expire, credit that runs out, programs that are updated."""

from night import night
from nights import GOOD_RESULT, error


def says(words):
    """An error of which only the words tell what it is."""
    return error(f'"result":"{words}"')


def second_agent(project):
    """The agent of the night `other` does every task."""
    prelude = project.read("agent.sh").split("# The first agent.\n")[0]
    project.write("other.sh", f"{prelude}good; {GOOD_RESULT}\n")


OTHER = 'agent = ["night", "other"]\n[agents.other]\ncommand = ["sh", "other.sh"]\nparser = "claude"\n'

night(
    name="limit-in-words",
    models="a limit is told in words alone, with a time that nobody can read",
    agent=f"""case $n in 003) if once limit; then note futile
{says("You have hit your limit · resets 10pm (Atlantis/Capital)")}
fi;; esac; good; {GOOD_RESULT}""",
    parser="claude",
    reason=r"all 5 tasks done",
)
night(
    name="login-expired",
    models="the login of the first agent expires in the night, and a second agent takes over",
    agent=f"""# The first agent.
case $n in 001|002) good; {GOOD_RESULT};; *) note futile
{says("Failed to authenticate: OAuth session expired and could not be refreshed")};; esac""",
    settings=f"max-iterations = 20\n{OTHER}",
    files={"other.sh": ""},
    prepare=second_agent,
    shown_by=4,
    parser="claude",
    reason=r"all 5 tasks done",
)
night(
    name="login-renewed",
    models="the agent is refused three times in a row, until its login is renewed",
    agent=f"""case $n in 003) if once first || once second || once third; then note futile
{says("API Error: 401 OAuth token has expired")}
fi;; esac; good; {GOOD_RESULT}""",
    shown_by=3,
    parser="claude",
    reason=r"all 5 tasks done",
)
night(
    name="out-of-credits",
    models="the credit runs out after the first task",
    agent=f"""case $n in 001) good; {GOOD_RESULT};; *) note futile
{says("Your workspace is out of credits. Add credits to continue.")};; esac""",
    shown_by=4,
    parser="claude",
    reason=r"night cannot be used \(billing",
)
night(
    name="context-overflow",
    models="the conversation outgrows the model in the middle of one task",
    agent=f"""case $n in 002) if once overflow; then
echo '{{"type":"assistant","message":{{"id":"m","content":[{{"type":"tool_use","id":"c","name":"Read","input":{{"file_path":"a"}}}}]}}}}'
{says("Prompt is too long")}
fi;; esac; good; {GOOD_RESULT}""",
    parser="claude",
    reason=r"all 5 tasks done",
)
night(
    name="capacity",
    models="the model is at capacity for some minutes, and nobody else is there",
    agent=f"""case $n in 002) if once first || once second; then note futile
{says("Selected model is at capacity. Please try a different model.")}
fi;; esac; good; {GOOD_RESULT}""",
    shown_by=2,
    parser="claude",
    reason=r"all 5 tasks done",
)
night(
    name="plain-limit",
    models="a plain command says by its exit code that it met a limit",
    agent='case $n in 003) if once limit; then note futile; echo "try again in 2 hours" >&2; exit 75; fi;; esac; good',
    shown_by=1,
    reason=r"all 5 tasks done",
)

def install_program(project):
    """The agent as a program, beside a copy of it from which an update brings it back."""
    for name in ["program", "update"]:
        program = project.folder / "night" / name
        program.write_text(f"#!/bin/sh\n{project.read('agent.sh')}")
        program.chmod(0o755)


night(
    name="program-updated",
    models="the agent's program is gone for some seconds, as in an update",
    agent='case $n in 002) if once updated; then rm "$NIGHT/program"; fi;; esac; good',
    settings='agent = "updated"\n[agents.updated]\n'
    """command = '''[ ! -e "$NIGHT/missed" ] || cp "$NIGHT/update" "$NIGHT/program"; """
    """[ -e "$NIGHT/program" ] || : > "$NIGHT/missed"; exec "$NIGHT/program"'''\n""",
    prepare=install_program,
    reason=r"all 5 tasks done",
)

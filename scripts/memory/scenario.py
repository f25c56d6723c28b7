"""What a scenario of the memory bench is made of."""

import dataclasses
import re
import shlex


@dataclasses.dataclass
class Command:
    """A command that the agent runs, as its stream reports it."""

    line: str
    code: int = 0
    output: str = ""
    ends: bool = True


@dataclasses.dataclass
class Run:
    """What the agent does in one iteration."""

    say: str = ""  # its final message
    files: dict = dataclasses.field(default_factory=dict)  # what it writes, by path
    commands: list = dataclasses.field(default_factory=list)
    tick: bool = False
    stderr: str = ""
    code: int = 0
    hangs: bool = False  # until the loop stops it
    hint: str = ""  # what the user says to the running loop meanwhile
    is_limited: bool = False  # the provider's rate limit ends the run


@dataclasses.dataclass
class Turn:
    """What the world is like when the agent starts. Only the prompt says what the agent is to do."""

    prompt: str
    task: str
    iteration: int  # for what happens around the agent, never for what it knows

    def knows(self, *facts):
        return all(re.search(fact, self.prompt) for fact in facts)


@dataclasses.dataclass
class Scenario:
    name: str
    models: str  # in one line: what of real work it stands for
    facts: list  # regular expressions: what the prompt must say so that the agent succeeds
    act: object  # from a Turn to a Run
    check: str | None = None  # the validation, a script for sh; none if the agent's box alone counts
    tasks: list = dataclasses.field(default_factory=lambda: ["T001"])
    measured: str = "T001"  # the task whose iterations count
    stream: str = "text"  # what the agent prints: text, claude, codex
    settings: str = ""  # further lines of .specify/ralph.toml
    sessions: list = dataclasses.field(default_factory=lambda: [["-n", "12"]])
    counted_from: int = 0  # the first session that counts


ALL = []


def scenario(**fields):
    ALL.append(Scenario(**fields))


def act(facts, knows, fails):
    """The agent that does `knows` if all facts stand in its prompt, and else `fails`."""
    return lambda turn: knows if turn.knows(*facts) else fails


def done(say="Done.", **files):
    """A run that does the task as the check of `needs` wants it."""
    return Run(say=say, files={f"work/{name}": text for name, text in files.items()}, tick=True)


def needs(wanted, failing, passing="all checks passed\n", stderr=""):
    """A validation that passes as soon as the file of the task holds `wanted`, and prints `failing` before."""
    words = f"cat <<'END_OF_OUTPUT'\n{failing.rstrip()}\nEND_OF_OUTPUT\n" if failing else ""
    errors = f"cat >&2 <<'END_OF_OUTPUT'\n{stderr.rstrip()}\nEND_OF_OUTPUT\n" if stderr else ""
    return (
        f"if grep -qsF -e {shlex.quote(wanted)} work/$RALPH_TASK; then\n"
        f"printf '%s' {shlex.quote(passing)}; exit 0\nfi\n{words}{errors}exit 1\n"
    )


def only(task, check):
    """The check for one task; for all others the box counts."""
    return f'test "$RALPH_TASK" = {task} || exit 0\n{check}'


def passing_tests(count, module="tests/test_orders.py"):
    return "".join(f"{module}::test_case_{n:02} PASSED [{n * 100 // count:3}%]\n" for n in range(1, count + 1))


def build_log(count):
    parts = ["api", "auth", "billing", "cache", "events", "gateway", "index", "jobs", "mailer", "search"]
    return "".join(f"[{n:3}/{count}] compiled packages/{parts[n % 10]}/module_{n}\n" for n in range(1, count + 1))

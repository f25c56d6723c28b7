"""What a night is made of."""

import dataclasses


@dataclasses.dataclass
class Night:
    name: str
    models: str  # in one line: what of real work it stands for
    agent: str  # the agent, a script for sh behind PRELUDE
    reason: str  # regular expression: the true reason, which the last closing lines must name
    tasks: list = dataclasses.field(default_factory=lambda: [f"T{n:03} Write part {n}" for n in range(1, 6)])
    check: str = "sh check.sh"  # the validation command; empty for none
    files: dict = dataclasses.field(default_factory=dict)  # further files of the project, committed
    settings: str = ""  # further lines of .specify/ralph.toml
    calls: list = dataclasses.field(default_factory=lambda: [["run"]])  # calls of the program, one after the other
    prepare: object = None  # what happens before the first call, given the project
    meanwhile: object = None  # what happens beside the first call, given the project and its process
    check_after: object = None  # what must be true in the morning, given the project: None or a complaint
    goal: float = 1.0  # the share of correct work that must be recognised
    shown_by: int = 1  # so many runs that bring nothing show that more would bring nothing
    parser: str = "text"
    rate: int = 0  # how much faster than real time the clock runs; 0: it steps


ALL = []


def night(**fields):
    ALL.append(Night(**fields))


# What the agent is made of. `note correct` says that it did its task as it should, `note futile` that no agent could have
# brought anything in this run; both go to a file that the loop does not know.
PRELUDE = """
cat >/dev/null
n=${RALPH_TASK#T}
attempts=$RALPH_ATTEMPT
# As GNU's `sed -i` does.
edit() { edited=$(sed "$1" "$2") && printf '%s\\n' "$edited" > "$2"; }
note() { echo "$1 $RALPH_TASK" >> "$NIGHT/notes"; }
tick() { edit "s/\\[ \\] $RALPH_TASK /[x] $RALPH_TASK /" "$RALPH_TASKS"; }
part() { mkdir -p src; echo "echo part $n" > src/$RALPH_TASK.sh; }
good() { part; tick; note correct; echo "Done."; }
spoil() { mkdir -p src; echo 'if then (' > src/$RALPH_TASK.sh; tick; echo "Done."; }
once() { [ ! -e "$NIGHT/$1" ] && : > "$NIGHT/$1"; }
"""

# Every part must be a script that sh understands, and say what it is.
CHECK = """
status=0
for part in src/*.sh; do
  [ -e "$part" ] || continue
  sh -n "$part" || { echo "FAILED $part: syntax"; status=1; }
done
[ ! -e must-hold ] || . ./must-hold
exit $status
"""

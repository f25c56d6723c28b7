"""Nights of the clean checkout: what holds only where an agent wrote it, with dependencies of real size."""

import subprocess

from night import night

# Installs 3,000 files, what is declared, and a runner, and leaves a note as package managers do.
INSTALL = """set -e
mkdir -p node_modules/.bin
(cd node_modules && seq -f 'file-%g.js' 3000 | xargs touch)
while read -r name; do echo "$name" > "node_modules/$name"; done < declared
printf '#!/bin/sh\\nsh check.sh\\n' > node_modules/.bin/runner
chmod +x node_modules/.bin/runner
echo installed > node_modules/.package-lock.json
"""

# What is ticked must be there, and part 3 needs a package.
MUST_HOLD = """
for task in $(sed -n 's/^- \\[x\\] \\(T[0-9]*\\).*/\\1/p' "$RALPH_TASKS"); do
  [ -e src/$task.sh ] || { echo "FAILED $task: no such part"; status=1; }
done
[ ! -e src/T003.sh ] || [ -e node_modules/pad ] || { echo "FAILED T003: no package pad"; status=1; }
"""

FILES = {".gitignore": "node_modules/\n", "install.sh": INSTALL, "declared": "base\npad\n", "must-hold": MUST_HOLD}
SETTINGS = 'lanes.setup = "sh install.sh"\nmax-iterations = 30\n'
CHECK = "node_modules/.bin/runner"
TWELVE = [f"T{n:03} Write part {n}" for n in range(1, 13)]

# A runner that passes everything, once, for one task.
CHEAT = """case $n$attempts in
  0041) printf '#!/bin/sh\\nexit 0\\n' > node_modules/.bin/runner; tick;;
  *) good;;
esac"""


def install(project):
    subprocess.run(["sh", "install.sh"], cwd=project.repo, check=True)


def kill_in_check(project, started):
    """Kills the loop when the checkout runs its setup, and lets the setup end."""
    project.wait_for("checks", started)
    started.kill()
    project.let("go")


def edits(project, started):
    """A person breaks a part while an agent works, where the installed runner lets it pass."""
    project.wait_for("begun", started)
    project.write("node_modules/.bin/runner", "#!/bin/sh\nexit 0\n")
    project.let("go")


def is_sent_back(project):
    log = project.ralph("log")
    return None if "in a clean checkout" in log else f"nothing was sent back: {log}"


def elsewhere(**fields):
    defaults = {"files": FILES, "settings": SETTINGS, "check": CHECK, "prepare": install}
    night(**{**defaults, **fields})


elsewhere(
    name="elsewhere-holds",
    models="twelve honest tasks, tried in the end in a checkout with 3,000 installed files",
    tasks=TWELVE,
    agent="good",
    reason=r"all 12 tasks done, also in a clean checkout",
)
elsewhere(
    name="elsewhere-false-runner",
    models="for one task of twelve the agent overwrites the installed runner, and does it when it is sent back",
    tasks=TWELVE,
    agent=CHEAT,
    reason=r"all 12 tasks done, also in a clean checkout",
    check_after=is_sent_back,
)
elsewhere(
    name="elsewhere-lane",
    models="the same in a lane, where the false runner goes before the next attempt",
    tasks=TWELVE,
    agent=CHEAT,
    calls=[["run", "--lane"]],
    reason=r"all 12 tasks done, also in a clean checkout",
    check_after=is_sent_back,
)
elsewhere(
    name="elsewhere-undeclared",
    models="an honest agent installs a package and forgets to declare it, and declares it when it hears of it",
    files={**FILES, "declared": "base\n"},
    agent="""case $n$attempts in
  0031) echo pad > node_modules/pad; touch node_modules/.package-lock.json; good;;
  003*) echo pad >> declared; sh install.sh; good;;
  *) good;;
esac""",
    reason=r"all 5 tasks done, also in a clean checkout",
    check_after=is_sent_back,
)
elsewhere(
    name="elsewhere-killed",
    models="the loop is killed in the middle of the check, and taken up in the morning",
    agent="good",
    settings=SETTINGS.replace(
        "sh install.sh", "case $PWD in */clean/*) : > $NIGHT/checks; while [ ! -e $NIGHT/go ]; do sleep 0.02; done;; esac; sh install.sh"
    ),
    calls=[["run"], ["run"]],
    meanwhile=kill_in_check,
    reason=r"all 5 tasks done, also in a clean checkout|nothing to do|all 5 tasks are done",
)
elsewhere(
    name="elsewhere-person",
    models="a person breaks what is installed while an agent works: nothing of it is in the result, and nobody is blamed",
    agent='case $n in 002) : > "$NIGHT/begun"; while [ ! -e "$NIGHT/go" ]; do sleep 0.02; done;; esac; good',
    meanwhile=edits,
    reason=r"all 5 tasks done, also in a clean checkout",
)

#!/usr/bin/env python3
"""Makes a project in which a whole night of work is recorded, to look at the screens: `just night DIR`.

usage: scripts/night/make.py DIR

  SPECIFY_RALPH_BIN   our `specify` (default: target/debug/specify)

DIR must not exist. The loop, git and the record are real; the agent and the validation are scripted (story.py), and the clock
runs 400 times as fast. In the middle the loop is killed, and resumed a little later.
"""

import datetime
import os
import pathlib
import subprocess
import sys
import time

import story

HERE = pathlib.Path(__file__).resolve().parent
START = datetime.datetime(2026, 11, 21, 22, 41, tzinfo=datetime.timezone.utc)
RATE = 400
CHECK = """
import json, os, pathlib, sys
verdict = json.loads(pathlib.Path(os.environ["NIGHT_STATE"], "verdict.json").read_text())
for line in range(verdict["noise"] // 80):
    print(f"{line:06} " + "querying the row " * 4)
if verdict["text"] is None:
    print("Test Suites: 12 passed, 12 total\\nTests:       74 passed, 74 total")
else:
    print(verdict["text"], file=sys.stderr)
    sys.exit(1)
"""


class Night:
    def __init__(self, folder):
        self.folder = folder
        self.repo = folder / "boards"
        self.program = os.path.abspath(os.environ.get("SPECIFY_RALPH_BIN", HERE.parent.parent / "target/debug/specify"))
        self.began = time.monotonic()
        self.slept = datetime.timedelta()
        for path in [self.repo, folder / "home", folder / "state"]:
            path.mkdir(parents=True)
        self.git("init", "--quiet", "--initial-branch=004-boards", ".")
        self.write("specs/004-boards/spec.md", f"# {story.TITLE}\n\nPeople keep cards on boards, together.\n")
        self.write("specs/004-boards/plan.md", "# Plan\n\nTypeScript, PostgreSQL, WebSockets.\n")
        tasks = "".join(f"\n## {name}\n\n" + "".join(f"- [ ] {task}\n" for task in tasks) for name, tasks in story.PHASES)
        self.write("specs/004-boards/tasks.md", f"# Tasks: {story.TITLE}\n{tasks}")
        self.write("check.py", CHECK)
        self.write(".specify/ralph.toml", 'agent = "night"\nvalidation.command = "python3 check.py"\nvalidation.baseline = false\n'
                   f'[agents.night]\ncommand = ["python3", "{HERE}/agent.py"]\nparser = "claude"\n')
        self.git("add", "--all")
        self.git("commit", "--quiet", "--message", "Plan the boards")

    def write(self, name, text):
        path = self.repo / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def environment(self):
        passed = datetime.timedelta(seconds=(time.monotonic() - self.began) * RATE)
        now = (START + self.slept + passed).strftime("%Y-%m-%dT%H:%M:%SZ")
        return {
            "PATH": os.environ["PATH"], "HOME": str(self.folder / "home"), "GIT_CONFIG_NOSYSTEM": "1", "SPECKIT_RALPH_TRUST": "always",
            "RALPH_TEST_CLOCK": f"{now} x{RATE}", "NIGHT_STATE": str(self.folder / "state"), "NIGHT_SCRIPTS": str(HERE),
            "GIT_AUTHOR_NAME": "Ada", "GIT_AUTHOR_EMAIL": "ada@example.org", "GIT_COMMITTER_NAME": "Ada", "GIT_COMMITTER_EMAIL": "ada@example.org",
            **{name: os.environ[name] for name in ["TERM", "TZ", "LANG", "LC_ALL", "PYENV_VERSION", "PYENV_ROOT"] if name in os.environ},
        }

    def git(self, *words):
        subprocess.run(["git", *words], cwd=self.repo, env=self.environment(), check=True)

    def loop(self, *words):
        return subprocess.Popen([self.program, "ralph", *words], cwd=self.repo, env=self.environment())


def main():
    if len(sys.argv) != 2 or sys.argv[1].startswith("-"):
        sys.exit(__doc__)
    folder = pathlib.Path(sys.argv[1]).resolve()
    if folder.exists():
        sys.exit(f"{folder} exists already")
    night = Night(folder)
    first = night.loop("run", "-n", "100")
    while not (folder / "state/kill").exists():
        if first.poll() is not None:
            sys.exit(f"the loop ended before it was killed, with {first.returncode}")
        time.sleep(0.02)
    first.kill()
    first.wait()
    night.slept = datetime.timedelta(minutes=20)
    second = night.loop("resume", "-n", "100").wait()
    if second != 5:
        sys.exit(f"exit code 5 was expected of the resumed loop (stuck), it was {second}")
    print(f"\nthe night is in {night.repo}")


main()

#!/usr/bin/env python3
"""Plays nights of unattended work through the real program: `just nights`.

usage: scripts/nights/run.py [--jobs N] [--keep FOLDER] [--write] [--show] [NIGHT]...

  SPECIFY_RALPH_BIN   our `specify` (default: target/debug/specify)

Each night of nights.py is a repository of its own, with scripted agents and what else happens: crashes, limits, people. For each it
prints how much of the work that an agent did as it should was recognised (goal 100 %, with a flaky validation 90 %), how many runs
could not have brought anything after those that showed it (goal 0), and whether the closing lines name the true reason. It fails if a goal is
missed. `--show` prints what the program said, `--keep` leaves the repositories in a folder, `--write` writes the table of README.md beside it.
"""

import argparse
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor

import commits  # noqa: F401 (it adds its nights)
import elsewhere  # noqa: F401 (it adds its nights)
import left_behind  # adds its nights
import lists  # its nights come after those of nights.py
import memory  # noqa: F401 (it adds its nights)
import nights
import providers  # adds its nights
import resuming  # noqa: F401 (it adds its nights)
import setups  # noqa: F401 (it adds its nights)
import streams  # noqa: F401 (it adds its nights)
from night import CHECK, PRELUDE

HERE = pathlib.Path(__file__).resolve().parent
DOCUMENT = HERE / "README.md"
BEGIN = "<!-- written by: just nights --write -->\n"
END = "<!-- end of the table -->"
PATIENCE = 120
CLOSING_LINES = 24
GIT_CONFIG = (
    "[init]\ndefaultBranch = main\n[user]\nname = Ada Lovelace\nemail = ada@example.org\n"
    "[gc]\nautoDetach = false\n[maintenance]\nautoDetach = false\n"
)


class Project:
    """A repository for one night."""

    def __init__(self, folder, night, program, number):
        self.folder, self.night, self.program, self.number = folder, night, program, number
        self.repo = folder / "project"
        self.calls = 0
        for path in [self.repo, folder / "home", folder / "tmp", folder / "night"]:
            path.mkdir(parents=True)
        (folder / "gitconfig").write_text(GIT_CONFIG)
        self.git("init", "--quiet", ".")
        self.write("specs/001-shop/spec.md", "# Shop\n\nPeople can order.\n")
        self.write("specs/001-shop/plan.md", "# Plan\n\nShell scripts.\n")
        boxes = "\n".join(task if task.startswith(("#", "- ")) else f"- [ ] {task}" for task in night.tasks)
        self.write("specs/001-shop/tasks.md", f"# Tasks: Shop\n\n{boxes}\n")
        self.write("check.sh", CHECK)
        self.write("agent.sh", PRELUDE + night.agent)
        for path, text in night.files.items():
            self.write(path, text)
        agent = f'[agents.night]\ncommand = ["sh", "agent.sh"]\nparser = "{night.parser}"\n'
        check = f"validation.command = '''{night.check}'''\n" if night.check else ""
        agents = "" if "agent =" in night.settings else 'agent = "night"\n'
        self.write(".specify/ralph.toml", f"{agents}{check}{night.settings}\n\n{agent}")
        self.git("add", "--all")
        self.git("commit", "--quiet", "--message", "A feature")
        if night.prepare:
            night.prepare(self)

    def write(self, path, text):
        path = self.repo / path
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def read(self, path):
        path = self.repo / path
        return path.read_text(errors="replace") if path.exists() else ""

    def environment(self):
        hour = self.number * 24 + self.calls
        return {
            "PATH": os.environ["PATH"],
            "HOME": str(self.folder / "home"),
            "XDG_CONFIG_HOME": str(self.folder / "home/.config"),
            "XDG_STATE_HOME": str(self.folder / "home/.state"),
            "TMPDIR": str(self.folder / "tmp"),
            "GIT_CONFIG_GLOBAL": str(self.folder / "gitconfig"),
            "GIT_CONFIG_NOSYSTEM": "1",
            "LC_ALL": "C.UTF-8",
            "NIGHT": str(self.folder / "night"),
            "SPECKIT_RALPH_TRUST": "always",
            "RALPH_TEST_CLOCK": f"2026-{1 + hour // 672:02}-{1 + hour // 24 % 28:02}T{hour % 24:02}:00:00Z"
            + (f" x{self.night.rate}" if self.night.rate else ""),
        }

    def git(self, *words):
        done = subprocess.run(
            ["git", *words], cwd=self.repo, env=self.environment(), capture_output=True, text=True, check=False
        )
        if done.returncode != 0:
            raise RuntimeError(f"git {' '.join(words)}: {done.stderr}")
        return done.stdout

    def start(self, words):
        self.calls += 1
        return subprocess.Popen(
            [self.program, "ralph", *words],
            cwd=self.repo,
            env=self.environment(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            # A background job of a script ignores SIGINT, and so would the loop; a night sends it.
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
        )

    def ralph(self, *words):
        started = self.start(words)
        return started.communicate(timeout=PATIENCE)[0]

    def happened(self, name):
        return (self.folder / "night" / name).exists()

    def wait_for(self, name, started):
        """Waits until the agent or the validation has left this file in the folder of the night."""
        end = time.monotonic() + PATIENCE
        while not self.happened(name):
            if started.poll() is not None:
                # What it says is more than we can.
                return
            if time.monotonic() > end:
                raise RuntimeError(f"{name} did not happen")
            time.sleep(0.01)

    def let(self, name):
        (self.folder / "night" / name).write_text("")

    def notes(self, word):
        notes = self.folder / "night/notes"
        lines = notes.read_text().splitlines() if notes.exists() else []
        return [line.split(" ", 1)[1] for line in lines if line.startswith(f"{word} ")]

    def done(self):
        try:
            # Of a lane, on whose branch the list is.
            text = self.git("show", "ralph/001-shop:specs/001-shop/tasks.md")
        except RuntimeError:
            text = self.read("specs/001-shop/tasks.md")
        return set(re.findall(r"^\s*- \[ ?[xX✓✔✅√] ?\] (\S+)", text, re.MULTILINE))


def play(night, number, program, folder):
    """One row: what was done, what was recognised, what was in vain, and what the closing lines say."""
    project = Project(folder / night.name, night, program, number)
    said, code = [], None
    for place, words in enumerate(night.calls):
        started = project.start(words)
        if night.meanwhile and place == 0:
            night.meanwhile(project, started)
        out, _ = started.communicate(timeout=PATIENCE)
        said.append(out)
        code = started.returncode
    correct = set(project.notes("correct"))
    recognised = correct & project.done()
    futile = max(0, len(project.notes("futile")) - night.shown_by)
    closing = "\n".join(said[-1].rstrip().splitlines()[-CLOSING_LINES:])
    complaint = night.check_after(project) if night.check_after else None
    return {
        "night": night,
        "correct": len(correct),
        "recognised": len(recognised),
        "futile": futile,
        "is_named": re.search(night.reason, closing) is not None,
        "code": code,
        "complaint": complaint,
        "said": said,
    }


def is_good(row):
    share = row["recognised"] / row["correct"] if row["correct"] else 1
    return share >= row["night"].goal and row["futile"] == 0 and row["is_named"] and not row["complaint"]


def line(row):
    night = row["night"]
    named = "yes" if row["is_named"] else "**no**"
    work = f"{row['recognised']} of {row['correct']}"
    if row["correct"] and row["recognised"] < row["correct"] * night.goal:
        work = f"**{work}**"
    futile = str(row["futile"]) if row["futile"] == 0 else f"**{row['futile']}**"
    return f"| {night.name} | {night.models} | {work} | {futile} | {named} | {row['code']} |"


def table(rows):
    head = "| night | what happens | recognised | in vain | reason | exit |\n|---|---|---|---|---|---|\n"
    correct, recognised = (sum(row[key] for row in rows) for key in ["correct", "recognised"])
    named, futile = sum(row["is_named"] for row in rows), sum(row["futile"] for row in rows)
    total = f"| {len(rows)} nights | | {recognised} of {correct} | {futile} | {named} of {len(rows)} | |\n"
    return head + "".join(line(row) + "\n" for row in rows) + total


def write(text):
    document = DOCUMENT.read_text()
    head, rest = document.split(BEGIN)
    _, tail = rest.split(END)
    DOCUMENT.write_text(f"{head}{BEGIN}{text}{END}{tail}")


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--jobs", type=int, default=os.cpu_count())
    arguments.add_argument("--keep", type=pathlib.Path)
    arguments.add_argument("--show", action="store_true")
    arguments.add_argument("--write", action="store_true")
    arguments.add_argument("nights", nargs="*")
    options = arguments.parse_args()
    unknown = set(options.nights) - {night.name for night in nights.ALL}
    if unknown:
        sys.exit(f"no such night: {', '.join(sorted(unknown))}")
    program = os.environ.get("SPECIFY_RALPH_BIN", HERE.parent.parent / "target/debug/specify")
    program = pathlib.Path(program).resolve()
    if not program.exists():
        sys.exit(f"{program} is not there: cargo build")
    chosen = [night for night in nights.ALL if not options.nights or night.name in options.nights]
    folder = pathlib.Path(tempfile.mkdtemp(prefix="ralph-nights-"))
    try:
        with ThreadPoolExecutor(options.jobs) as pool:
            playing = [
                pool.submit(play, night, number, program, folder) for number, night in enumerate(chosen)
            ]
            rows = []
            for night, played in zip(chosen, playing):
                rows.append(played.result())
                print(line(rows[-1]), flush=True)
                if rows[-1]["complaint"]:
                    print(f"  {rows[-1]['complaint']}")
                if options.show:
                    print("\n".join(rows[-1]["said"]))
        if options.keep:
            shutil.copytree(folder, options.keep, symlinks=True, dirs_exist_ok=True)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    text = table(rows)
    print(text.splitlines()[-1])
    if options.write:
        if options.nights:
            sys.exit("--write needs all nights")
        write(text)
    missed = [row["night"].name for row in rows if not is_good(row)]
    if missed:
        sys.exit(f"{len(missed)} nights missed a goal: {', '.join(missed)}")


if __name__ == "__main__":
    main()

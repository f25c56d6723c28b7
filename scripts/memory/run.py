#!/usr/bin/env python3
"""Measures what the memory of the loop is worth: `just memory`.

usage: scripts/memory/run.py [--mode MODE]... [--jobs N] [--missing] [--keep FOLDER] [--write] [SCENARIO]...

  SPECIFY_RALPH_BIN   our `specify` (default: target/debug/specify)

Plays every scenario of scenarios/ through the real program, in a repository of its own, with three kinds of memory: `off`, `tail` (see
baseline.py) and `ours` (the defaults). The agent is a script: it succeeds if and only if the facts of the scenario stand in its prompt.
A scenario is refused if its facts stand in no stream or hint of the record before, or if it can be done without memory.
`--missing` prints the last prompt of each scenario that our memory did not bring to an end; `--keep` leaves the repositories in a folder;
`--write` writes the table of README.md beside it, from all scenarios and modes.
"""

import argparse
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import threading
from concurrent.futures import ThreadPoolExecutor, wait

import baseline
import documents
import scenarios

HERE = pathlib.Path(__file__).resolve().parent
MODES = ["off", "tail", "ours"]
BOUND = 12
GOAL = 0.35
CHARS_PER_TOKEN = 4
NO_MEMORY = "progress.max-entries = 0\nhistory.mode = \"off\"\nmemory.last-attempt = false\nmemory.learnings = 0\n"
GIT_CONFIG = (
    "[init]\ndefaultBranch = main\n[user]\nname = Ada Lovelace\nemail = ada@example.org\n"
    "[gc]\nautoDetach = false\n[maintenance]\nautoDetach = false\n"
)


class Unfair(Exception):
    """The scenario does not measure memory."""


class Project:
    """A repository for one scenario and one kind of memory."""

    def __init__(self, folder, scenario, mode, program):
        self.folder, self.scenario, self.mode, self.program = folder, scenario, mode, program
        self.repo = folder / "project"
        for path in [self.repo, folder / "home", folder / "tmp"]:
            path.mkdir(parents=True)
        for pipe in ["hint", "heard"]:
            os.mkfifo(folder / pipe)
        threading.Thread(target=self.hear, daemon=True).start()
        (folder / "gitconfig").write_text(GIT_CONFIG)
        self.git("init", "--quiet", ".")
        self.write("specs/001-shop/spec.md", "# Shop\n\nPeople can order.\n")
        boxes = "\n".join(f"- [ ] {task} Build part {task[1:]}" for task in scenario.tasks)
        self.write("specs/001-shop/tasks.md", f"# Tasks: Shop\n\n{boxes}\n")
        self.write(".specify/ralph.toml", self.settings())
        if scenario.check is not None:
            self.write("check.sh", scenario.check)
        if mode != "ours":
            self.write(".specify/templates/ralph-prompt.md", baseline.TEMPLATE)
        self.git("add", "--all")
        self.git("commit", "--quiet", "--message", "A feature")

    def settings(self):
        scenario = self.scenario
        command = ["python3", "-E", "-B", str(HERE / "agent.py"), scenario.name, self.mode, str(self.folder)]
        check = 'validation.command = "sh check.sh"\n' if scenario.check is not None else ""
        off = NO_MEMORY if self.mode != "ours" else ""
        agent = f'[agents.scripted-{scenario.stream}]\ncommand = {json.dumps(command)}\nparser = "{scenario.stream}"\n'
        # What the validation prints before the first iteration is no memory of one.
        limits = "skip-after = 0\nstuck-after = 0\nvalidation.baseline = false\n"
        return f'agent = "scripted-{scenario.stream}"\n{limits}{off}{scenario.settings}{check}\n{agent}'

    def write(self, path, text):
        path = self.repo / path
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def environment(self, hour=0):
        return {
            "PATH": os.environ["PATH"],
            "SPECKIT_RALPH_TRUST": "always",
            "HOME": str(self.folder / "home"),
            "TMPDIR": str(self.folder / "tmp"),
            "GIT_CONFIG_GLOBAL": str(self.folder / "gitconfig"),
            "GIT_CONFIG_NOSYSTEM": "1",
            "LC_ALL": "C.UTF-8",
            "RALPH_TEST_CLOCK": f"2026-01-{1 + hour // 24:02}T{hour % 24:02}:00:00Z",
        }

    def run(self, words, hour=0):
        return subprocess.run(
            words, cwd=self.repo, env=self.environment(hour), capture_output=True, text=True, errors="replace"
        )

    def hear(self):
        """Says as the user what the agent of a scenario wants to be told, each time it does."""
        while True:
            hint = (self.folder / "hint").read_text()
            self.run([self.program, "ralph", "hint", hint])
            (self.folder / "heard").write_text("yes")

    def git(self, *words):
        run = self.run(["git", *words])
        if run.returncode != 0:
            raise RuntimeError(f"git {' '.join(words)}: {run.stderr}")
        return run.stdout

    def play(self):
        for hour, words in enumerate(self.scenario.sessions):
            run = self.run([self.program, "ralph", "run", *words], hour * 24)
            # 1: not everything is done.
            if run.returncode not in (0, 4, 5):
                raise RuntimeError(f"{self.scenario.name}, {self.mode}: exit code {run.returncode}\n{run.stdout}{run.stderr}")

    def iterations(self, first_session):
        """Commits and records of the measured task, oldest first."""
        refs = self.git("for-each-ref", "--format=%(refname)", "refs/ralph/").split()[first_session:]
        for ref in refs:
            for commit in self.git("log", "--reverse", "--grep=^Ralph-Record: iteration", "--format=%H", ref).split():
                record = json.loads(self.git("show", f"{commit}:iteration.json"))
                if record["task"] == self.scenario.measured:
                    yield commit, record

    def prompts(self):
        lines = (self.folder / "prompts.jsonl").read_text().splitlines()
        prompts = map(json.loads, lines)
        return [prompt["prompt"] for prompt in prompts if prompt["task"] == self.scenario.measured]

    def evidence(self):
        """All that agents and validations wrote, and what the user said, in iterations that were no success of this task."""
        for ref in self.git("for-each-ref", "--format=%(refname)", "refs/ralph/").split():
            for commit in self.git("log", "--grep=^Ralph-Record: iteration", "--format=%H", ref).split():
                record = json.loads(self.git("show", f"{commit}:iteration.json"))
                if record["task"] == self.scenario.measured and record["outcome"] == "success":
                    continue
                yield json.dumps([record["hints"], record["files_changed"]])
                for path in ["agent/stdout", "agent/stderr", "validation/stdout", "validation/stderr"]:
                    # A stream that is empty or never was has no file.
                    yield self.run(["git", "show", f"{commit}:{path}"]).stdout


def measure(scenario, mode, program, folder):
    """Iterations until the task was done (`None` if it was not), tokens of their prompts, and the prompts."""
    project = Project(folder, scenario, mode, program)
    project.play()
    iterations = list(project.iterations(scenario.counted_from))
    if not iterations:
        raise Unfair(f"{scenario.name}: {scenario.measured} was never begun ({mode})")
    outcomes = [record["outcome"] for _, record in iterations]
    is_done = "success" in outcomes
    count = outcomes.index("success") + 1 if is_done else len(outcomes)
    prompts = project.prompts()[-len(iterations) :]
    if mode == "ours":
        evidence = "\n".join(project.evidence())
        for fact in scenario.facts:
            if not re.search(fact, evidence):
                raise Unfair(f"{scenario.name}: {fact!r} stands nowhere in the record")
    if mode == "off" and is_done:
        raise Unfair(f"{scenario.name}: it needs no memory")
    tokens = sum(len(prompt) for prompt in prompts[:count]) // CHARS_PER_TOKEN
    print(f"{scenario.name}, {mode}: {count if is_done else 'not done'}", file=sys.stderr, flush=True)
    return (count if is_done and count <= BOUND else None), tokens, prompts


def table(played, results, modes):
    heads = ["scenario"] + [f"{mode}" for mode in modes] + [f"tokens {mode}" for mode in modes] + ["what it models"]
    rows = [heads, ["---"] + ["--:"] * (2 * len(modes)) + ["---"]]
    for scenario in played:
        counts = [results[scenario.name, mode][0] for mode in modes]
        tokens = [results[scenario.name, mode][1] for mode in modes]
        shown = [str(count) if count else "-" for count in counts]
        rows.append([f"`{scenario.name}`", *shown, *(f"{count:,}" for count in tokens), scenario.models])
    sums = [total(played, results, mode) for mode in modes]
    all_tokens = [sum(results[scenario.name, mode][1] for scenario in played) for mode in modes]
    rows.append(["**sum**", *map(str, sums), *(f"{count:,}" for count in all_tokens), f"not done counts as {BOUND}"])
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def total(played, results, mode):
    return sum(results[scenario.name, mode][0] or BOUND for scenario in played)


def compare(played, results):
    """Returns how ours compares with the tail, in lines, and whether both goals are met."""
    ratio = total(played, results, "ours") / total(played, results, "tail")
    worse = [one for one in played if total([one], results, "ours") > total([one], results, "tail")]
    missed = [one for one in played if results[one.name, "ours"][0] is None]
    lines = [
        f"- ours / tail: {ratio:.2f} (goal: at most {GOAL})",
        f"- more iterations than the tail: {names(worse)} (goal: none)",
        f"- not done with ours: {names(missed)}",
    ]
    return lines, ratio <= GOAL and not worse


def names(scenarios_named):
    return ", ".join(f"`{one.name}`" for one in scenarios_named) or "none"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", metavar="SCENARIO")
    parser.add_argument("--mode", action="append", choices=MODES)
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--missing", action="store_true", help="print the last prompt where ours failed")
    parser.add_argument("--write", action="store_true", help="write the table of the document")
    parser.add_argument("--keep", type=pathlib.Path, help="leave the repositories in this folder")
    arguments = parser.parse_args()
    program = pathlib.Path(os.environ.get("SPECIFY_RALPH_BIN", HERE.parent.parent / "target/debug/specify")).resolve()
    modes = arguments.mode or MODES
    played = [one for one in scenarios.ALL if not arguments.names or one.name in arguments.names]
    unknown = set(arguments.names) - {one.name for one in played}
    if unknown:
        sys.exit(f"run.py: no scenario is called {', '.join(sorted(unknown))}")
    root = arguments.keep or pathlib.Path(tempfile.mkdtemp(prefix="ralph-memory-"))
    root = root.resolve()
    try:
        with ThreadPoolExecutor(arguments.jobs) as pool:
            jobs = {
                (one.name, mode): pool.submit(measure, one, mode, program, root / one.name / mode)
                for one in played
                for mode in modes
            }
            wait(jobs.values())
            unfair = [str(job.exception()) for job in jobs.values() if isinstance(job.exception(), Unfair)]
            if unfair:
                sys.exit("run.py: UNFAIR: " + "; ".join(unfair))
            results = {key: job.result() for key, job in jobs.items()}
    finally:
        if not arguments.keep:
            shutil.rmtree(root, ignore_errors=True)
    print(table(played, results, modes))
    if arguments.missing and "ours" in modes:
        for one in played:
            if results[one.name, "ours"][0] is None:
                print(f"\n===== {one.name} lacks {one.facts}\n{results[one.name, 'ours'][2][-1]}")
    if not {"tail", "ours"} <= set(modes):
        return
    lines, is_met = compare(played, results)
    print("\n" + "\n".join(lines))
    if arguments.write and played == scenarios.ALL and modes == MODES:
        documents.write("just memory --write", table(played, results, modes) + "\n\n" + "\n".join(lines))
    sys.exit(0 if is_met else 1)


if __name__ == "__main__":
    main()

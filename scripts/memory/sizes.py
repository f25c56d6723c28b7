#!/usr/bin/env python3
"""Measures how many tokens the parts of a prompt take: `just prompt-sizes`.

usage: scripts/memory/sizes.py [--write] [--keep FOLDER]

  SPECIFY_RALPH_BIN   our `specify` (default: target/debug/specify)

Plays one session through the real program: eight tasks succeed at once, with learnings and decisions; the ninth fails five times, each time with a long output
of another failure, a final message, commands that failed and changed files. Its prompts are cut at their headings. `--write` writes the table of
README.md beside it.
"""

import argparse
import collections
import math
import os
import pathlib
import re
import tempfile

import documents
from run import CHARS_PER_TOKEN, Project
from scenarios.sizes import ATTEMPTS, SCENARIO

HERE = pathlib.Path(__file__).resolve().parent
PARTS = {
    "The last attempt at this task": "the last attempt",
    "What earlier iterations learned": "learnings and decisions",
    "Previous iterations": "progress",
    "Historical context": "history",
}
RULES = "task, places and rules"
# The last attempt stands right after the task: this heading ends it.
HEADINGS = {**PARTS, "Where things are": RULES}
EARLIER = "**all about earlier iterations**"


def cut(prompt):
    """Yields the name of each part with its text. The headings of blocks within a part have other words."""
    name, lines = RULES, []
    for line in prompt.splitlines(keepends=True):
        heading = re.fullmatch(r"## (.+)\n", line)
        if heading and heading[1] in HEADINGS:
            yield name, "".join(lines)
            name, lines = HEADINGS[heading[1]], []
        lines.append(line)
    yield name, "".join(lines)


def table(prompts):
    columns = []
    for attempt in ATTEMPTS:
        names, texts = zip(*cut(prompts[attempt - 1]))
        sizes = collections.Counter()
        for name, text in zip(names, texts):
            sizes[name] += math.ceil(len(text) / CHARS_PER_TOKEN)
        columns.append(sizes)
    rows = [["part"] + [f"attempt {attempt}" for attempt in ATTEMPTS], ["---"] + ["--:"] * len(ATTEMPTS)]
    for name in [RULES, *PARTS.values()]:
        rows.append([name] + [f"{column[name]:,}" for column in columns])
    rows.append([EARLIER] + [f"{sum(column.values()) - column[RULES]:,}" for column in columns])
    rows.append(["**the prompt**"] + [f"{sum(column.values()):,}" for column in columns])
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--write", action="store_true", help="write the table of the document")
    parser.add_argument("--keep", type=pathlib.Path, help="leave the repository in this folder")
    arguments = parser.parse_args()
    program = pathlib.Path(os.environ.get("SPECIFY_RALPH_BIN", HERE.parent.parent / "target/debug/specify")).resolve()
    with tempfile.TemporaryDirectory(prefix="ralph-sizes-") as scratch:
        project = Project((arguments.keep or pathlib.Path(scratch)).resolve() / "sizes", SCENARIO, "ours", program)
        project.play()
        text = table(project.prompts())
    print(text)
    if arguments.write:
        documents.write("just prompt-sizes --write", text)


main()

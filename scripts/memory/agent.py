#!/usr/bin/env python3
"""The scripted agent of the memory bench: agent.py SCENARIO MODE FOLDER, with the prompt on stdin.

MODE is `ours`, or the memory that replaces ours: `off`, `tail`. FOLDER, outside the project, gets a line for each prompt.
"""

import json
import os
import pathlib
import sys
import time

import baseline
import scenarios
import streams
from scenario import Turn
from scenarios.sizes import SCENARIO


def main():
    name, mode, folder = sys.argv[1:]
    [played] = [one for one in [*scenarios.ALL, SCENARIO] if one.name == name]
    prompt = baseline.prompt(sys.stdin.read(), mode)
    task, iteration = os.environ["RALPH_TASK"], int(os.environ["RALPH_ITERATION"])
    with open(pathlib.Path(folder, "prompts.jsonl"), "a") as prompts:
        prompts.write(json.dumps({"task": task, "prompt": prompt}) + "\n")
    run = played.act(Turn(prompt, task, iteration))
    files = run.files
    if run.tick and not files:
        # A tick counts only if something was done.
        files = {f"work/{task}": "done\n"}
    for path, text in files.items():
        path = pathlib.Path(path)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    if run.tick:
        tasks = pathlib.Path(os.environ["RALPH_TASKS"])
        tasks.write_text(tasks.read_text().replace(f"- [ ] {task}", f"- [x] {task}"))
    if run.hint:
        # The user says it, who is no agent: run.py waits for it.
        pathlib.Path(folder, "hint").write_text(run.hint)
        pathlib.Path(folder, "heard").read_text()
    print(run.stderr, end="", file=sys.stderr)
    for line in streams.lines(played.stream, run):
        print(line, flush=True)
    while run.hangs:
        time.sleep(60)
    sys.exit(run.code)


main()

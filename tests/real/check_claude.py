#!/usr/bin/env python3
"""Compares what claude.sh left behind with the scenario that the model played.

usage: check_claude.py requests WORK SCENARIO           every turn was played, and no request was a surprise
       check_claude.py left WORK SERVER                 no process of the run lives, but the model server with this process id
       check_claude.py record WORK SCENARIO MODEL       the record in git says what really happened
"""

import hashlib
import json
import os
import pathlib
import subprocess
import sys

FIELDS = ["input", "cache_read", "cache_write", "output"]


def check(truth, words):
    if not truth:
        sys.exit(f"check_claude.py: FAILED: {words}")


def equal(got, want, what):
    check(got == want, f"{what}\n  want: {want!r}\n  got:  {got!r}")


def conversations(scenario):
    """The turns of each agent run: a run ends with an answer that calls no tool."""
    runs = [[]]
    for turn in json.loads(scenario.read_text())["turns"]:
        runs[-1].append(turn)
        if "fault" not in turn and not turn.get("tools"):
            runs.append([])
    return runs[:-1]


def requests(folder):
    """The requests that a turn answered, in order, as (meta, body)."""
    found = []
    for path in sorted(folder.glob("*.meta.json")):
        meta = json.loads(path.read_text())
        check(meta["problem"] is None, f"request {path.name}: {meta['problem']}")
        if meta["turn"] is not None:
            body = path.with_name(path.name.replace(".meta", "")).read_bytes()
            found.append((meta, json.loads(body)))
    return found


def git(project, *arguments):
    return subprocess.run(["git", "-C", project, *arguments], check=True, capture_output=True).stdout


def texts(message):
    content = message["content"]
    return [content] if isinstance(content, str) else [block["text"] for block in content if block["type"] == "text"]


def check_requests(work, scenario):
    turns = sum(conversations(scenario), [])
    equal([meta["turn"] for meta, _ in requests(work / "requests")], list(range(len(turns))), "turns played")
    print(f"check_claude.py: all {len(turns)} turns were played, in order")


def check_record(work, scenario, model):
    project = work / "project"
    runs = conversations(scenario)
    asked = requests(work / "requests")

    refs = git(project, "for-each-ref", "--format=%(refname)", "refs/ralph/").decode().split()
    equal(len(refs), 1, f"session refs, of {refs}")
    lines = git(project, "log", "--reverse", "--glob=refs/ralph/*", "--format=%H %(trailers:key=Ralph-Record,valueonly,separator=)")
    commits = [line.split() for line in lines.decode().splitlines()]
    equal([kind for _, kind in commits], ["start"] + ["iteration"] * len(runs) + ["end"], "records in git log")

    streams = sorted((work / "streams").glob("*.jsonl"), key=lambda path: int(path.stem))
    equal(len(streams), len(runs), "runs of claude")
    totals = dict.fromkeys(FIELDS, 0)
    first_turn = 0
    for number, (run, stream, (commit, _)) in enumerate(zip(runs, streams, commits[1:-1]), 1):
        where = f"iteration {number}: "
        task = f"T00{number}"

        def blob(path):
            return git(project, "cat-file", "blob", f"{commit}:{path}")

        manifest = json.loads(blob("manifest.json"))["files"]
        for path in ["iteration.json", "prompt.md", "agent/stdout", "agent/stderr", "validation/stdout", "tasks.md", "progress.md"]:
            check(path in manifest, f"{where}manifest.json does not list {path}")
            content = blob(path)
            equal(manifest[path]["length"], len(content), f"{where}length of {path}")
            equal(manifest[path]["sha256"], hashlib.sha256(content).hexdigest(), f"{where}SHA-256 of {path}")

        transcript = blob("agent/stdout")
        check(transcript == stream.read_bytes(), f"{where}agent/stdout differs from what claude printed into {stream}")
        events = [json.loads(line) for line in transcript.splitlines()]
        equal(events[-1]["type"], "result", f"{where}last line of the transcript")

        record = json.loads(blob("iteration.json"))
        calls = [tool["name"] for turn in run for tool in turn.get("tools", [])]
        tokens = {field: sum(turn.get("usage", {}).get(field, 0) for turn in run) for field in FIELDS}
        totals = {field: totals[field] + tokens[field] for field in FIELDS}
        equal(record["tokens"], tokens, where + "tokens")
        equal([call["tool_name"] for call in record["tool_calls"]], calls, where + "tool calls")
        failed = [call["is_error"] for call in record["tool_calls"]].count(True)
        equal(failed, 1 if number == 2 else 0, where + "tool calls that failed")
        equal(record["model"], model, where + "model")
        equal((record["outcome"], record["task"], record["closed"]), ("success", task, [task]), where + "outcome")
        equal(record["claims"], {"promise": number == len(runs), "ticked": [task]}, where + "claims")
        equal(record["false_claim"], [], where + "false claims")
        equal(record["exit"], {"agent": 0, "validation": 0}, where + "exit")
        check("greet.sh" in record["files_changed"], f"{where}files_changed {record['files_changed']} lacks greet.sh")
        said = run[-1]["text"]
        check(record["learnings"] and all(text in said for text in record["learnings"]), f"{where}learnings {record['learnings']}")
        check(b"ok   tests/world.sh\n" in blob("validation/stdout"), where + "validation/stdout is not what run-tests.sh prints")
        check(f"- [x] {task}".encode() in blob("tasks.md"), f"{where}tasks.md does not have {task} ticked")

        meta, body = asked[first_turn]
        first_turn += len(run)
        equal(meta["model"], model, where + "model that was asked")
        prompt = blob("prompt.md").decode().strip()
        sent = [text.strip() for message in body["messages"] for text in texts(message)]
        check(prompt in sent, f"{where}the model did not get prompt.md whole; it got {[text[:80] for text in sent]}")

    session = json.loads(git(project, "cat-file", "blob", f"{commits[-1][0]}:session.json"))
    equal(session["tokens"], totals, "tokens of the session")
    equal((session["status"], session["stop_reason"]), ("completed", "completed"), "end of the session")
    equal((session["iterations_run"], session["tasks_completed"], session["tasks_remaining"]), (len(runs), len(runs), 0), "counts of the session")

    kinds = [json.loads(line)["type"] for line in (work / "events.jsonl").read_text().splitlines()]
    # What the task list is like can be said before the session begins.
    kinds = [kind for kind in kinds if kind != "warning"]
    equal((kinds[0], kinds[-1]), ("session_started", "session_ended"), "first and last event")
    equal(kinds.count("iteration_recorded"), len(runs), "iteration_recorded events")
    print(f"check_claude.py: {len(runs)} iterations hold their tokens, tool calls, prompt and every byte of the stream")


def check_left(work, server):
    # Every child of the run carries its HOME; so do the script that calls us, and its parents.
    expected, pid = {server}, os.getpid()
    while pid > 1:
        expected.add(pid)
        pid = int(pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[1])
    for process in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            marked = f"HOME={work}/home".encode() in (process / "environ").read_bytes().split(b"\0")
            command = (process / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
        except OSError:
            # Ended meanwhile, or somebody else's.
            continue
        check(not marked or int(process.name) in expected, f"process {process.name} is left: {command}")
    print("check_claude.py: no process of the run is left")


def main():
    what, work, *rest = sys.argv[1:]
    work = pathlib.Path(work)
    if what == "requests":
        check_requests(work, pathlib.Path(rest[0]))
    elif what == "left":
        check_left(work, int(rest[0]))
    else:
        check_record(work, pathlib.Path(rest[0]), rest[1])


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
"""Drives the loop with real agents from npm against a scripted model on loopback.

usage: tests/real/run.py [--agent NAME]... [--scene NAME]... [--jobs N] [--write]

  SPECIFY_RALPH_BIN   our `specify` (default: target/release/specify)
  RALPH_CI_CACHE      where the agents are installed once (default: target/agents)
  RALPH_CI_KEEP       a folder for all that the run leaves behind, to look at (default: a temporary one, removed at the end)

Every scene of scenes.py is played with every agent of agents.py. A whole run compares what it saw with the table in docs/agents.md;
--write writes that table. Where npm cannot be reached, the test says so and is skipped; with CI=true it fails.
"""

import argparse
import os
import pathlib
import shutil
import signal
import sys
import tempfile
import time
import traceback
from concurrent.futures import ThreadPoolExecutor

import install
import table
from agents import AGENTS
from place import Failed, Place
from scenes import SCENES, SECONDS


def say(words):
    print(f"run.py: {words}", flush=True)


def install_all(agents, jobs):
    with ThreadPoolExecutor(jobs) as pool:
        tried = {agent.name: pool.submit(install.install, agent) for agent in agents}
    for name, future in tried.items():
        try:
            future.result()
        except install.NotHere as reason:
            if os.environ.get("CI") == "true":
                sys.exit(f"run.py: FAILED: {reason}")
            say(f"SKIPPED: {reason}")
            sys.exit(0)
        say(f"{name} is there")


def play(folder, agent, scene, ours, places):
    """None where the scene went as it should, else what was wrong, with the seconds that it took."""
    begun = time.monotonic()
    place = None
    try:
        place = Place(folder, agent, ours, SECONDS)
        places.append(place)
        SCENES[scene](place)
        wrong = None
    except Failed as failed:
        wrong = str(failed)
    except Exception:
        wrong = traceback.format_exc()
    finally:
        if place is not None:
            place.close()
    return wrong, time.monotonic() - begun


def play_again(played, places, ours):
    """Real programs stumble now and then: what failed is played once more, alone. Gives what failed then as well."""
    failures = []
    for (agent, scene), (folder, wrong) in played.items():
        say(f"once more: {agent.name}, {scene}, which failed so:")
        print(wrong, flush=True)
        show(folder)
        wrong, seconds = play(folder.with_name(f"{folder.name}-again"), agent, scene, ours, places)
        say(f"{'ok    ' if wrong is None else 'FAILED'} {seconds:5.1f} s  {agent.name}, {scene}, at the second try")
        if wrong is not None:
            failures.append(wrong)
            print(wrong, flush=True)
    return len(failures)


def show(folder):
    """What the loop and the agent said last."""
    for path in [folder / "talk.log", folder / "events.jsonl"]:
        if path.exists():
            lines = path.read_text(errors="replace").splitlines()[-25:]
            print(f"--- {path.name}", *(line[:400] for line in lines), sep="\n", flush=True)


def play_all(work, agents, scenes, ours, jobs):
    """How many scenes did not go as they should, twice."""
    failed, places, played = {}, [], {}
    pool = ThreadPoolExecutor(jobs)
    try:
        # The slow ones stand last in their table. Begun first, they leave no long end in which the others are done.
        for agent in reversed(agents):
            for scene in scenes:
                folder = work / agent.name / scene.replace(" ", "-")
                played[agent, scene] = folder, pool.submit(play, folder, agent, scene, ours, places)
        for (agent, scene), (folder, future) in played.items():
            wrong, seconds = future.result()
            say(f"{'ok    ' if wrong is None else 'FAILED'} {seconds:5.1f} s  {agent.name}, {scene}")
            if wrong is not None:
                failed[agent, scene] = folder, wrong
        # More than one in ten is no stumble.
        if len(failed) * 10 > len(played):
            for wrong in (wrong for _, wrong in failed.values()):
                print(wrong, flush=True)
            return len(failed)
        return play_again(failed, places, ours)
    finally:
        # Whoever stops the test stops what it began.
        pool.shutdown(wait=False, cancel_futures=True)
        for place in places:
            place.close()


def main():
    parser = argparse.ArgumentParser(
        description="the loop with real agents", epilog=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--agent", action="append", choices=[agent.name for agent in AGENTS])
    parser.add_argument("--scene", action="append", choices=list(SCENES))
    parser.add_argument("--jobs", type=int, default=max(3, os.cpu_count() or 3))
    parser.add_argument("--write", action="store_true")
    given = parser.parse_args()
    agents = [agent for agent in AGENTS if agent.name in (given.agent or [agent.name])]
    scenes = [scene for scene in SCENES if scene in (given.scene or [scene])]
    ours = pathlib.Path(os.environ.get("SPECIFY_RALPH_BIN") or install.ROOT / "target/release/specify").absolute()
    if ours.name != "specify" or not ours.is_file():
        sys.exit(f"run.py: {ours} is no program called specify; build it with: cargo build --release")
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    # Ignored where a shell started us in the background, and so would the loop.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    install_all(agents, given.jobs)

    keep = os.environ.get("RALPH_CI_KEEP")
    # In a sandbox /tmp is another one.
    folder = pathlib.Path.home() if "SPECKIT_RALPH_SANDBOX" in os.environ else None
    work = pathlib.Path(keep).absolute() if keep else pathlib.Path(tempfile.mkdtemp(dir=folder)).resolve()
    begun = time.monotonic()
    try:
        failures = play_all(work, agents, scenes, ours, given.jobs)
    finally:
        if not keep:
            shutil.rmtree(work, ignore_errors=True)
    say(f"all scenes in {time.monotonic() - begun:.0f} s, {failures} failed")
    if failures:
        sys.exit(1)
    if len(agents) == len(AGENTS) and len(scenes) == len(SCENES):
        table.compare(AGENTS, list(SCENES), given.write)


if __name__ == "__main__":
    main()

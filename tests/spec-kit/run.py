#!/usr/bin/env python3
"""Plays whole stories with the real spec-kit from PyPI: its projects, its scripts, our extension in it, and our loop.

usage: tests/spec-kit/run.py [--version VERSION]... [--integration NAME]... [--jobs N]

  SPECIFY_RALPH_BIN   our `specify` (default: target/release/specify); `git-ralph` lies beside it
  RALPH_CI_CACHE      where spec-kit is installed once (default: target/agents)
  RALPH_CI_KEEP       a folder for all that the run leaves behind, to look at (default: a temporary one, removed at the end)

Where PyPI cannot be reached, the test says so and is skipped; with CI=true it fails.
"""

import argparse
import os
import pathlib
import shutil
import sys
import tempfile
import time
import traceback
from concurrent.futures import ThreadPoolExecutor

import install
from place import Failed, Place
from stories import INTEGRATIONS, STORIES

ROOT = pathlib.Path(__file__).resolve().parents[2]


def say(words):
    print(f"spec-kit: {words}", flush=True)


def play(folder, version, integration, ours):
    """None where all went as it should, else what was wrong."""
    place = None
    try:
        place = Place(folder, install.folder_of(version), version, integration, ours)
        for story in STORIES:
            place.story = story.__name__.replace("_", " ")
            story(place)
        return None
    except Failed as failed:
        return f"{place.story if place else 'making a place'}: {failed}"
    except Exception:
        return traceback.format_exc()


def main():
    parser = argparse.ArgumentParser(description="our part of spec-kit", epilog=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--version", action="append", choices=install.VERSIONS)
    parser.add_argument("--integration", action="append", choices=list(INTEGRATIONS))
    parser.add_argument("--jobs", type=int, default=max(2, os.cpu_count() or 2))
    given = parser.parse_args()
    ours = pathlib.Path(os.environ.get("SPECIFY_RALPH_BIN") or ROOT / "target/release/specify").absolute()
    if ours.name != "specify" or not ours.is_file() or not ours.with_name("git-ralph").is_file():
        sys.exit(f"spec-kit: {ours} and git-ralph beside it do not exist; build them with: cargo build --release")
    versions = given.version or install.VERSIONS
    for version in versions:
        try:
            install.install(version)
        except install.NotHere as reason:
            if os.environ.get("CI") == "true":
                sys.exit(f"spec-kit: FAILED: {reason}")
            say(f"SKIPPED: {reason}")
            return
        say(f"specify-cli {version} is there")

    keep = os.environ.get("RALPH_CI_KEEP")
    work = pathlib.Path(keep).absolute() if keep else pathlib.Path(tempfile.mkdtemp()).resolve()
    begun, failures, playing = time.monotonic(), 0, {}
    try:
        with ThreadPoolExecutor(given.jobs) as pool:
            for version in versions:
                for integration in given.integration or INTEGRATIONS:
                    folder = work / f"{version}-{integration}"
                    playing[version, integration] = pool.submit(play, folder, version, integration, ours)
        for (version, integration), future in playing.items():
            wrong = future.result()
            say(f"{'ok    ' if wrong is None else 'FAILED'} {version}, {integration}")
            if wrong is not None:
                failures += 1
                print(wrong, flush=True)
    finally:
        if not keep:
            shutil.rmtree(work, ignore_errors=True)
    say(f"all stories in {time.monotonic() - begun:.0f} s, {failures} failed")
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()

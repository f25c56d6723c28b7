#!/usr/bin/env python3
"""Installs agents from npm, each at its version into a folder of its own, once.

usage: tests/real/install.py NAME...      prints where their programs are
"""

import os
import pathlib
import re
import shutil
import subprocess
import sys

from agents import AGENTS
from network import fetch

ROOT = pathlib.Path(__file__).resolve().parents[2]


class NotHere(Exception):
    """Why an agent cannot be installed."""


def cache():
    return pathlib.Path(os.environ.get("RALPH_CI_CACHE") or ROOT / "target/agents").absolute()


def folder_of(agent):
    """The folder with the agent's program in it."""
    return cache() / f"{agent.name}-{agent.version}" / "node_modules/.bin"


def version_of(agent):
    """The version that the program itself tells; none where it does not run."""
    program = folder_of(agent) / agent.name
    try:
        said = subprocess.run([program, "--version"], capture_output=True, text=True, timeout=60, stdin=subprocess.DEVNULL)
    except (OSError, subprocess.TimeoutExpired):
        return None
    found = re.search(r"\d+\.\d+\.\d+", said.stdout)
    return found.group() if found and said.returncode == 0 else None


def install(agent):
    """Sees to it that the agent is there."""
    if version_of(agent) == agent.version:
        return
    if shutil.which("npm") is None:
        raise NotHere("npm is not installed")
    what = f"{agent.package}@{agent.version}"
    prefix = folder_of(agent).parents[1]
    shutil.rmtree(prefix, ignore_errors=True)
    prefix.mkdir(parents=True)
    command = ["npm", "install", "--prefix", prefix, "--no-audit", "--no-fund", "--loglevel=error", what]
    reason = fetch(command)
    if reason is not None:
        raise NotHere(f"npm cannot install {what}: {reason}")
    script = folder_of(agent).parent / agent.package / "install.cjs"
    if version_of(agent) is None and script.exists():
        # A careful npm does not run the script that puts the program in its place.
        subprocess.run(["node", script.name], cwd=script.parent, timeout=120, check=False, stdin=subprocess.DEVNULL)
    if version_of(agent) != agent.version:
        raise NotHere(f"{agent.name} from {what} says that it is version {version_of(agent)}")


def main():
    for agent in AGENTS:
        if agent.name in sys.argv[1:]:
            try:
                install(agent)
            except NotHere as reason:
                sys.exit(f"install.py: {reason}")
            print(folder_of(agent) / agent.name)


if __name__ == "__main__":
    main()

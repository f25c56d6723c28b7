#!/usr/bin/env python3
"""Installs spec-kit from PyPI, each version into an environment of its own, once.

usage: tests/spec-kit/install.py VERSION      prints where the program is
"""

import os
import pathlib
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "tests/real"))

from network import fetch  # noqa: E402

# The oldest and the newest of what our documents name (0.8 to 1.2) that PyPI has. Before 0.10 a feature was found by its branch.
VERSIONS = ["0.9.4", "1.2.3"]


class NotHere(Exception):
    """Why a version cannot be installed."""


def folder_of(version):
    """The folder with the program `specify` in it."""
    cache = pathlib.Path(os.environ.get("RALPH_CI_CACHE") or ROOT / "target/agents").absolute()
    return cache / f"spec-kit-{version}" / "bin"


def runs(version):
    try:
        said = subprocess.run([folder_of(version) / "specify", "--version"], capture_output=True, text=True, timeout=60, stdin=subprocess.DEVNULL)
    except (OSError, subprocess.TimeoutExpired):
        return False
    return said.returncode == 0 and version in said.stdout


def install(version):
    """Sees to it that the version is there."""
    if runs(version):
        return
    environment = folder_of(version).parent
    shutil.rmtree(environment, ignore_errors=True)
    environment.parent.mkdir(parents=True, exist_ok=True)
    for command in [[sys.executable, "-m", "venv", environment], [folder_of(version) / "pip", "install", "--quiet", f"specify-cli=={version}"]]:
        reason = fetch(command)
        if reason is not None:
            raise NotHere(f"specify-cli {version} cannot be installed: {reason}")
    if not runs(version):
        raise NotHere(f"specify-cli {version} was installed and does not run")


def main():
    for version in sys.argv[1:]:
        try:
            install(version)
        except NotHere as reason:
            sys.exit(f"install.py: {reason}")
        print(folder_of(version) / "specify")


if __name__ == "__main__":
    main()

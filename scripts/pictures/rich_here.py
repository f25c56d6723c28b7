"""Puts `rich`, which draws terminals, on the path: from PyPI, once, into target/pictures."""

import os
import pathlib
import subprocess
import sys

VERSION = "15.0.0"
FOLDER = pathlib.Path(os.environ.get("RALPH_CI_CACHE", pathlib.Path(__file__).resolve().parents[2] / "target/pictures")) / f"rich-{VERSION}"

if not FOLDER.exists():
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--quiet", "--disable-pip-version-check", "--target", f"{FOLDER}.new", f"rich=={VERSION}"]
    subprocess.run(pip, check=True)
    os.rename(f"{FOLDER}.new", FOLDER)
sys.path.insert(0, str(FOLDER))

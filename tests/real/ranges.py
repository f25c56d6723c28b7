#!/usr/bin/env python3
"""Judges ranges of public histories with their own suites, and measures what a run costs beside the suite itself.

usage: tests/real/ranges.py [OWNER/NAME]...

  SPECIFY_RALPH_BIN    our `specify` (default: target/release/specify)
  RALPH_PUBLIC_REPOS   what is put before OWNER/NAME (default: https://github.com/)

Nothing of them is kept. Each range is work that its people merged: it must hold, whatever is flagged. Over all ranges `verify` may take
1.1 times the processor time of the setups and validations in it: that of the clock says more of the machine's other work.
"""

import json
import os
import pathlib
import re
import resource
import shutil
import subprocess
import sys
import tempfile

MAX_RATIO = 1.1

# Setup, validation, and ranges by the whole names of both commits, with codes that a person has to allow.
REPOSITORIES = {
    "hukkin/tomli": (
        None,
        "PYTHONPATH=src python3 -m unittest",
        [
            ("5e2265ebb91ed4b6aa556d2c31a7661f60d64380", "0921abf5cea9f937565e37793d5061a128c22ac5"),
            ("38297f82cd0ef067f1afd2ffb8dfa73b65c398da", "2a2aa62f1bc71b89b74d41dd2ab67b5dd24bc129"),
            ("12314bde5b89a8bdc32de7403a2a4cf786187bbc", "9eb2125ef49071e673d42e383b5221a268665193"),
            ("0921abf5cea9f937565e37793d5061a128c22ac5", "2017309d5fedf07498eeaec1e191e780b5178c4a"),
        ],
    ),
    "lukeed/mri": (
        "npm install --no-audit --no-fund",
        "npm test",
        [
            ("43dcef13c24f303d37b4bc579a651978fde87e96", "94f8c0941088716be3c86b850a40dedbe0a2e520"),
            ("94f8c0941088716be3c86b850a40dedbe0a2e520", "40051e689d80f77136ac990dafa2f27cdca48086"),
            # Its new `pretest` builds what the tests read, which is refused until a person allows it.
            ("8e0a0f4bb88696a44b62d3d17311828b96a9640a", "b0b8f8e76e93682e2e0ad6e5aaa8a39c668b82fa", "judge"),
            ("52f722e07216412424abf1ec1c01477b0760a29f", "48e877c08a4f3078763a38ff0e51ade098bcf379"),
        ],
    ),
    "zserge/jsmn": (
        None,
        "make test",
        [
            ("c772a0e48b9e0ce41de80743c99696880a7de4f3", "18e9fe42cbfe21d65076f5c77ae2be379ad1270f"),
            ("18e9fe42cbfe21d65076f5c77ae2be379ad1270f", "fdcef3ebf886fa210d14956d3c068a653e76a24e"),
            ("85695f3d5903b1cd5b4030efe50db3b4f5f3c928", "053d3cd29200edb1bfd181d917d140c16c1f8834"),
            ("1aa2e8f80849c983466b165d53542da9b1bd1b32", "25647e692c7906b96ffd2b05ca54c097948e879c"),
        ],
    ),
    "withoutboats/heck": (
        "cargo fetch",
        "cargo test --offline",
        [
            ("dbcfc7b8db8e532d1fad44518cf73e88d5212161", "09c3e04abc7c8a0a2869d8e14c08e99609c59600"),
            ("76a8274f948fbe3551413dc09026b733aca71995", "df8dc4078ec8e5a624f3f51f722e3f464f390b0d"),
            ("711f466b114fc536f882e3f385e6db6973278732", "cdf01ca27ec40f1d5b0cef98f9732dee84d01bc6"),
            ("6891a328d151a8324240bc8a244f3f4875c1efc9", "252c1906cefefb8d13ecad7fce7b8f27ce6437e0"),
        ],
    ),
}


def call(command, folder):
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


def git(folder, *words):
    done = call(["git", *words], folder)
    if done.returncode:
        sys.exit(f"ranges.py: git {' '.join(words)}: {done.stderr.strip()}")
    return done.stdout.strip()


def clone(name, folder):
    address = os.environ.get("RALPH_PUBLIC_REPOS", "https://github.com/") + name
    git(folder.parent, "clone", "--quiet", address, str(folder))


def timed(command):
    """Returns a command that also prints how much processor time it took, wherever it runs."""
    return f"{command}; code=$?; times; exit $code"


def seconds(printed):
    """Returns what `times` says at the end: user and system time of the shell, and of its children."""
    found = re.findall(r"(\d+)m([\d.]+)s", "\n".join(printed.splitlines()[-2:]))
    return sum(int(minutes) * 60 + float(rest) for minutes, rest in found)


def judge(program, repository, ends, setup, validation):
    """Returns what was found, the processor time of all, and that of setup and validation in it."""
    words = [program, "ralph", "verify", "..".join(ends[:2]), "--yes", "--json", "--validate", timed(validation)]
    words += [word for code in ends[2:] for word in ("--allow", code)]
    words += ["--set", f"lanes.setup={timed(setup)}"] if setup else []
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = call(words, repository)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if not done.stdout:
        sys.exit(f"ranges.py: verify exited with {done.returncode}: {done.stderr}")
    found = json.loads(done.stdout)
    printed = [path.read_text() for path in pathlib.Path(found["outputs"]).rglob("validation.stdout")]
    took = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return found, took, sum(map(seconds, printed))


def main():
    program = os.path.abspath(os.environ.get("SPECIFY_RALPH_BIN", "target/release/specify"))
    chosen = sys.argv[1:] or list(REPOSITORIES)
    refused, flagged, count, total, suites = [], 0, 0, 0.0, 0.0
    folder = pathlib.Path(tempfile.mkdtemp())
    try:
        for name in chosen:
            setup, validation, ranges = REPOSITORIES[name]
            repository = folder / name.replace("/", "+")
            clone(name, repository)
            print(f"{name}: {' && '.join(filter(None, [setup, validation]))}", flush=True)
            for ends in ranges:
                found, took, suite = judge(program, repository, ends, setup, validation)
                count, total, suites = count + 1, total + took, suites + suite
                flags = sorted({flag["code"] for flag in found["flags"]})
                flagged += bool(flags)
                title = f"{ends[0][:7]}..{ends[1][:7]}"
                words = " ".join([found["verdict"], *(f"(--allow {code})" for code in ends[2:])]) + (f" in {found['sandbox']}" if found["sandbox"] else ", unguarded")
                print(f"  {title}  {words}  {found['runs']} runs, {took:.1f} s: {took / (suite or took):.3f}  {' '.join(flags)}", flush=True)
                if found["verdict"] != "holds":
                    refused.append(f"{name} {title}: {found['cause'] or [reason['text'] for reason in found['reasons']]}")
    finally:
        shutil.rmtree(folder)
    print(f"{count} ranges, {flagged} flagged, {len(refused)} not held; {total / (suites or total):.3f} times what setup and validation take")
    if refused or total > MAX_RATIO * suites:
        sys.exit("\n".join(refused) or f"a run takes more than {MAX_RATIO} times what setup and validation take")


main()

#!/usr/bin/env python3
"""Plays first nights with the commands of README.md, in its order, in projects that the real `specify init` made.

usage: tests/spec-kit/first_night.py [--all] [NIGHT]...

  SPECIFY_RALPH_BIN   our `specify` (default: target/release/specify); `git-ralph` and `specify-ralph` lie beside it
  RALPH_CI_CACHE      where spec-kit is installed once (default: target/agents)
  RALPH_CI_KEEP       a folder for all that the run leaves behind, to look at (default: a temporary one, removed at the end)

A night is LANGUAGE-WAY-VERSION, such as node-sandbox-1.2.3. Without --all one night of each language and of each way is played. After each
command every branch is cloned: a box that is ticked there without the files of its task is a failure. In the morning the work is brought
to the user's branch, and docs/remove.md takes all that is ours away.
"""

import argparse
import os
import pathlib
import re
import shutil
import sys
import tempfile
import time
import traceback
from concurrent.futures import ThreadPoolExecutor

import install
from languages import FEATURE, LANGUAGES
from place import Failed, Place

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
NEWEST = install.VERSIONS[-1]

# What takes the place of README's `--sandbox` in the first run, and in the night. The last two are docs/nights.md's way without a lane, on
# a branch of the user's own; one of them thinks of commits after the first run alone.
WAYS = {"sandbox": ("--sandbox", "--sandbox"), "lane": ("--lane", "--lane"), "commit": ("--commit", "--commit"), "late": ("", "--commit")}
SHORT = ["node-sandbox", "python-lane", "rust-commit", "node-late"]

# How commands of README end, by what they begin with, where that is not 0: one run of five tasks, and a night with a question.
CODES = {"specify ralph --sandbox --validate 'npm test' -n 1": 4, "specify ralph --sandbox --validate 'npm test' -n 40": 5}


def commands(document, heading):
    """The commands of a document below a heading, without comments, and without the terminal that they are typed in."""
    text = (ROOT / document).read_text()
    section = re.search(rf"^(#+) {re.escape(heading)}\n(.*?)(?=^\1 |\Z)", text, re.DOTALL | re.MULTILINE)
    if not section:
        raise Failed(f"{document} has no heading `{heading}`")
    blocks = re.findall(r"^```(?:sh|sh,no_run|console)\n(.*?)^```", section[2], re.DOTALL | re.MULTILINE)
    lines = [line for block in blocks for line in block.splitlines()]
    if any(line.startswith("$ ") for line in lines):
        lines = [line[2:] for line in lines if line.startswith("$ ")]
    lines = [re.sub(r"\s+# .*", "", line) for line in lines]
    return [line for line in lines if line and not line.startswith("tmux ")]


class Night(Place):
    """A project of spec-kit's with a scripted agent for its user, who types what README says."""

    def __init__(self, folder, language, way, version, ours):
        super().__init__(folder, install.folder_of(version), version, "claude", ours)
        self.language, self.way = LANGUAGES[language], way
        self.has_own_branch = "--commit" in WAYS[way]
        claude = self.folder / "programs/claude"
        claude.write_text(f'#!/bin/sh\nexec python3 -B {folder}/agent/claude.py {language} "$@"\n')
        claude.chmod(0o755)
        # Beside the project, as a sandbox may hide where this clone of ours is.
        (folder / "agent").mkdir()
        for name in ["claude.py", "languages.py"]:
            shutil.copy(HERE / name, folder / "agent")
        for name in ["npm", "npx"]:
            if program := shutil.which(name):
                (folder / "programs" / name).symlink_to(program)
        # Toolchains are in the home of whoever installed them.
        for name, variable in [(".cargo", "CARGO_HOME"), (".rustup", "RUSTUP_HOME")]:
            real = pathlib.Path(os.environ.get(variable) or pathlib.Path.home() / name)
            if real.is_dir():
                (self.folder / "home" / name).symlink_to(real)
        self.branch = ""

    def path(self, *first):
        return super().path(self.folder / "home/programs", *first, self.folder / "home/.cargo/bin")

    def shell(self, line):
        variables = {"IS_SANDBOX": "1", "ANTHROPIC_API_KEY": "none-is-needed", "BROWSER": "true"}
        return self.run("bash", "-c", line, **variables)

    def type(self, line):
        """Types a command of README in the way of this night, and holds the branches against it."""
        code = next((code for start, code in CODES.items() if line.startswith(start)), 0)
        own = line.replace("--sandbox", WAYS[self.way]["--max-cost" in line])
        own = re.sub(r"--validate '[^']*'", f"--validate '{self.language.validate}'", own)
        if self.has_own_branch and line.startswith("git merge "):
            own = f"git switch {self.branch} && git merge --ff-only night"
        done = self.shell(own)
        print(f"\n$ {own}\n{done.text}", file=self.log, flush=True)
        done.expect(code)
        self.hold(f"after `{own}`")
        return done

    def hold(self, when):
        """Clones each branch: a ticked box must have the files of its task beside it."""
        for name in self.git("for-each-ref", "--format=%(refname:short)", "refs/heads").split():
            clone = self.clone(name)
            # Where spec-kit made a branch for the feature, the first one has no list.
            tasks = clone / FEATURE / "tasks.md"
            for task in re.findall(r"^- \[[xX]\] (T\d+)", tasks.read_text() if tasks.exists() else "", re.MULTILINE):
                missing = [path for path in self.language.done[task] if not (clone / path).exists()]
                if missing:
                    raise Failed(f"{when}: on the branch {name} {task} is ticked, and {', '.join(missing)} not there")
            shutil.rmtree(clone)

    def clone(self, branch):
        folder = self.folder / "clone"
        self.run("git", "clone", "--quiet", "--no-local", "--branch", branch, self.project, folder).expect()
        return folder

    def left(self):
        """What is named after ralph in the project, its git directory and the home folder, and what of git speaks of it."""
        found = [path for top in [self.project, self.folder / "home"] for path in top.rglob("*") if "ralph" in path.name.lower()]
        files = [self.project / ".git" / name for name in ["config", "packed-refs", "info/exclude", "info/attributes"]]
        found += [file for file in files if file.exists() and "ralph" in file.read_text()]
        return [str(path.relative_to(self.folder)) for path in found]

    def git(self, *words):
        return self.run("git", *words).expect().stdout.strip()


def a_project_with_a_feature_is_made(night):
    options = ["--integration", "claude", "--script", "sh", "--ignore-agent-tools"]
    night.run("specify", "init", night.project, *options, cwd=night.folder).expect()
    if not (night.project / ".git").exists():
        night.run("git", "init", "--quiet", "--initial-branch=main").expect()
    night.run("bash", ".specify/scripts/bash/create-new-feature.sh", "--json", "--short-name", "greeting", "Greet people").expect()
    night.write(f"{FEATURE}/plan.md", "# Plan\n\nNo dependencies.\n")
    night.write(f"{FEATURE}/tasks.md", night.language.tasks())


def all_that_can_be_installed_is(night):
    night.run("specify", "extension", "add", "--dev", ROOT / "extension").expect()
    for line in commands("docs/editors-and-hooks.md", "Completions and manual pages") + ["specify ralph hooks install"]:
        night.shell(f"mkdir -p ~/.local/share/bash-completion/completions; {line}").expect()
    night.shell("mkdir ~/programs && specify-ralph shim install ~/programs").expect()


def the_night_of_readme(night):
    first, overnight, morning = [commands("README.md", name) for name in ["First run", "Overnight", "In the morning"]]
    night.type(first.pop(0))
    night.branch = night.git("branch", "--show-current")
    if night.has_own_branch:
        night.shell("git switch --quiet --create night").expect()
    for line in first:
        night.type(line)
    for line in overnight:
        night.type(line).expect(5, has="what stands between two names")
    for line in morning:
        done = night.type(line)
        if line == "specify ralph status":
            done.expect(has=["T004", "what stands between two names"])
        if line.startswith("specify ralph resume") and not night.has_own_branch:
            done.expect(has=morning[-1])


def the_work_is_on_the_branch(night):
    if night.git("branch", "--show-current") != night.branch:
        raise Failed(f"the work tree is on {night.git('branch', '--show-current')}, not on {night.branch}")
    clone = night.clone(night.branch)
    open_boxes = (clone / FEATURE / "tasks.md").read_text().count("- [ ]")
    # progress.txt is the user's to commit or to ignore.
    uncommitted = night.git("status", "--porcelain").removeprefix(f"?? {FEATURE}/progress.txt")
    if open_boxes or uncommitted:
        raise Failed(f"{open_boxes} boxes of {night.branch} are open, and {uncommitted!r} in no commit")
    night.run("bash", "-c", night.language.validate, cwd=clone).expect()
    shutil.rmtree(clone)
    subjects = night.git("log", "--format=%s", "--grep", "^Ralph-\\(Task\\|Made-In\\): ").splitlines()
    if len(subjects) != 5:
        raise Failed(f"a commit a task expected: {subjects}")


def all_of_it_is_removed(night):
    for line in commands("docs/remove.md", "In this clone") + commands("docs/remove.md", "The extension and the programs"):
        if not line.startswith("cargo "):
            done = night.shell(line)
            print(f"\n$ {line}\n{done.text}", file=night.log, flush=True)
            done.expect(1 if "grep -c" in line else 0)
    if left := night.left():
        raise Failed(f"docs/remove.md leaves {', '.join(left[:10])}")


SCENES = [a_project_with_a_feature_is_made, all_that_can_be_installed_is, the_night_of_readme, the_work_is_on_the_branch, all_of_it_is_removed]


def play(folder, name, ours):
    """None where all went as it should, else what was wrong."""
    night, scene = None, None
    try:
        night = Night(folder, *name.split("-"), ours)
        with (folder / "log").open("w") as night.log:
            for scene in SCENES:
                scene(night)
        return None
    except Failed as failed:
        return f"{scene.__name__.replace('_', ' ') if scene else 'making a place'}: {failed}"
    except Exception:
        return traceback.format_exc()


def main():
    parser = argparse.ArgumentParser(description="first nights", epilog=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--all", action="store_true")
    parser.add_argument("night", nargs="*")
    given = parser.parse_args()
    ours = pathlib.Path(os.environ.get("SPECIFY_RALPH_BIN") or ROOT / "target/release/specify").absolute()
    if ours.name != "specify" or not all(ours.with_name(name).is_file() for name in ["specify", "git-ralph", "specify-ralph"]):
        sys.exit(f"first night: {ours}, git-ralph and specify-ralph do not lie there; build them with: cargo build --release")
    every = [f"{language}-{way}-{version}" for version in install.VERSIONS for language in LANGUAGES for way in WAYS]
    names = given.night or (every if given.all else [f"{name}-{NEWEST}" for name in SHORT])
    if unknown := [name for name in names if name not in every]:
        sys.exit(f"first night: {unknown[0]} is none of {', '.join(every)}")
    for version in sorted({name.split("-")[2] for name in names}):
        try:
            install.install(version)
        except install.NotHere as reason:
            if os.environ.get("CI") == "true":
                sys.exit(f"first night: FAILED: {reason}")
            print(f"first night: SKIPPED: {reason}")
            return
    # A sandbox has temporary folders of its own, in which no program of ours would be.
    keep, cache = os.environ.get("RALPH_CI_KEEP"), pathlib.Path.home() / ".cache"
    cache.mkdir(exist_ok=True)
    work = pathlib.Path(keep).absolute() if keep else pathlib.Path(tempfile.mkdtemp(dir=cache)).resolve()
    begun, failures = time.monotonic(), 0
    try:
        with ThreadPoolExecutor(os.cpu_count() or 2) as pool:
            for name, wrong in zip(names, pool.map(lambda name: play(work / name, name, ours), names), strict=True):
                print(f"first night: {'ok    ' if wrong is None else 'FAILED'} {name}", flush=True)
                if wrong is not None:
                    failures += 1
                    print(wrong, flush=True)
    finally:
        if not keep:
            shutil.rmtree(work, ignore_errors=True)
    print(f"first night: {len(names)} nights in {time.monotonic() - begun:.0f} s, {failures} failed")
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()

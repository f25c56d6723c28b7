#!/usr/bin/env python3
"""Makes a release: the version everywhere, the changes of CHANGELOG.md below it, what the registries would get, a commit
and a tag. Nothing is uploaded or pushed.

usage: scripts/release.py VERSION [--dry-run] [--no-packages]
       scripts/release.py notes                 prints what CHANGELOG.md says of the version in Cargo.toml

All is done in a clone below target/, so that with --dry-run, or after a failure, the work tree is what it was. Without it, the commit
and the tag come from there at the end.
"""

import argparse
import datetime
import os
import pathlib
import re
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
CLONE = ROOT / "target/release-clone"
# Files with the version, besides the manifests of crates, and the lines that have it.
MORE = {"extension/extension.yml": r'^  version: "(.*)"', "extension/workflow.yml": r'^  version: "(.*)"'}


def fail(reason):
    sys.exit(f"release.py: {reason}")


def run(*words, cwd=CLONE, **variables):
    print("+", *words, flush=True)
    done = subprocess.run([str(word) for word in words], cwd=cwd, env={**os.environ, **variables}, stdin=subprocess.DEVNULL)
    if done.returncode != 0:
        fail(f"`{' '.join(map(str, words))}` ended with {done.returncode}")


def output(*words, cwd=ROOT):
    return subprocess.run(words, cwd=cwd, capture_output=True, text=True, check=True).stdout.strip()


def current_version(root):
    return re.search(r'^version = "(.*)"', (root / "Cargo.toml").read_text(), re.M)[1]


def set_version(version):
    """One version for all crates, as they are published together."""
    old = current_version(CLONE)
    manifests = [CLONE / path for path in output("git", "ls-files", "*Cargo.toml").splitlines() if not path.startswith("fuzz/")]
    for path in manifests:
        text = path.read_text()
        # The version of a package, and of our crates where another depends on them.
        text = re.sub(rf'^version = "{re.escape(old)}"', f'version = "{version}"', text, flags=re.M)
        text = re.sub(rf'(path = "[^"]*", version = )"{re.escape(old)}"', rf'\1"{version}"', text)
        path.write_text(text)
    for path, line in MORE.items():
        text = (CLONE / path).read_text()
        (CLONE / path).write_text(re.sub(line, lambda found: found[0].replace(found[1], version), text, count=1, flags=re.M))
    run("cargo", "update", "--workspace", "--quiet")
    run("cargo", "update", "--workspace", "--quiet", "--manifest-path", "fuzz/Cargo.toml")


def section(root, heading):
    found = re.search(rf"^## {re.escape(heading)}[^\n]*\n(.*?)(?=^## |\Z)", (root / "CHANGELOG.md").read_text(), re.M | re.S)
    return found[1].strip() if found else ""


def close_changelog(version):
    if not section(CLONE, "Unreleased"):
        fail("CHANGELOG.md says nothing below `Unreleased`")
    path = CLONE / "CHANGELOG.md"
    today = datetime.datetime.now(datetime.UTC).date()
    path.write_text(path.read_text().replace("## Unreleased\n", f"## Unreleased\n\n## {version} ({today})\n", 1))


def release(version, dry_run, packages):
    if not re.fullmatch(r"\d+\.\d+\.\d+", version):
        fail(f"`{version}` is not a version; expected something like 0.2.0")
    if output("git", "status", "--porcelain"):
        fail("the work tree has changes: commit them first")
    if output("git", "tag", "--list", f"v{version}"):
        fail(f"the tag v{version} exists")
    parts = lambda text: [int(part) for part in text.split(".")]
    if parts(version) < parts(current_version(ROOT)):
        fail(f"{version} is older than {current_version(ROOT)}")
    shutil.rmtree(CLONE, ignore_errors=True)
    run("git", "clone", "--quiet", "--no-tags", ROOT, CLONE, cwd=ROOT)
    set_version(version)
    close_changelog(version)
    for key in ["user.name", "user.email"]:
        run("git", "config", key, output("git", "config", key))
    run("git", "commit", "--quiet", "--all", "--message", f"release: {version}")
    run("git", "tag", "--annotate", f"v{version}", "--message", f"specify-ralph {version}")
    notes = ROOT / "target/release-notes.md"
    notes.write_text(section(CLONE, version) + "\n")
    run("cargo", "publish", "--workspace", "--dry-run", "--locked", "--no-verify", CARGO_TARGET_DIR=str(ROOT / "target/release-crates"))
    if packages:
        run(sys.executable, "-B", "scripts/packages/build.py")
    print(f"\nnotes: {notes}")
    if dry_run:
        print(f"{version} could be released; nothing was changed here. The commit, the tag and the packages are in {CLONE}")
        return
    run("git", "pull", "--quiet", "--ff-only", CLONE, "HEAD", cwd=ROOT)
    run("git", "fetch", "--quiet", CLONE, f"refs/tags/v{version}:refs/tags/v{version}", cwd=ROOT)
    print(f"tagged v{version}; `git push origin HEAD v{version}` starts the workflow, CONTRIBUTING.md has the rest")


def main():
    if sys.argv[1:] == ["notes"]:
        print(section(ROOT, current_version(ROOT)))
        return
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("version")
    arguments.add_argument("--dry-run", action="store_true")
    arguments.add_argument("--no-packages", action="store_true", help="leave out the packages, which take minutes")
    given = arguments.parse_args()
    release(given.version, given.dry_run, not given.no_packages)


if __name__ == "__main__":
    main()

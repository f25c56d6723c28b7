#!/usr/bin/env python3
"""A look at a change in some minutes: format, lints, unit tests of what it touches, and ten scenes through the program.

Unit tests are of the crates with a changed file and of all that depend on them. Changed is what differs from the revision (default:
the last commit of `main` that this branch has), committed or not: `just quick`, `just quick HEAD~3`. What a change must pass is `.ci/run`.
"""

import json
import pathlib
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent

# One of each kind: success, failure, limit, stop, resumption, crash, lane, a person's word, reading, restoring.
SCENES = [
    "run::a_task_that_is_done_and_valid_completes_the_session",
    "run::a_false_tick_is_opened_again_by_one_byte",
    "run::a_limit_ends_the_session_and_completion_is_looked_at_before_it",
    "stop::a_signal_ends_the_session_and_the_iteration_is_recorded_first",
    "crash::a_session_is_taken_up_after_a_crash",
    "resuming::a_session_goes_on_with_its_flags_and_its_budget",
    "lanes::results_are_commits_on_the_branch_and_nothing_of_the_users_changes",
    "accept::a_person_accepts_a_task_whose_tick_was_refused",
    "restore_and_bisect::every_iteration_can_be_gone_back_to_and_taken_back",
    "architecture::",
]


def output(*command):
    return subprocess.run(command, cwd=ROOT, check=True, text=True, stdout=subprocess.PIPE).stdout


def run(*command):
    print(f"==> {' '.join(command)}", flush=True)
    began = time.monotonic()
    ended = subprocess.run(command, cwd=ROOT)
    if ended.returncode != 0:
        sys.exit(ended.returncode)
    print(f"    {time.monotonic() - began:.0f} s", flush=True)


def changed_files(revision):
    tracked = output("git", "diff", "--name-only", revision).splitlines()
    return tracked + output("git", "ls-files", "--others", "--exclude-standard").splitlines()


def touched_crates(files):
    """Names of the packages with a changed file, and of those that depend on them; all if a file of none of them may matter to all."""
    packages = json.loads(output("cargo", "metadata", "--format-version", "1", "--no-deps", "--locked"))["packages"]
    folders = {package["name"]: pathlib.Path(package["manifest_path"]).parent.relative_to(ROOT) for package in packages}
    if any(file in ("Cargo.toml", "Cargo.lock") for file in files):
        return set(folders)
    touched = set()
    for file in map(pathlib.Path, files):
        inside = [name for name, folder in folders.items() if folder in file.parents]
        touched.update(sorted(inside, key=lambda name: len(folders[name].parts))[-1:])
    while True:
        more = {
            package["name"]
            for package in packages
            if any(dependency["name"] in touched for dependency in package["dependencies"])
        }
        if more <= touched:
            return touched
        touched |= more


def unit_tests():
    """Builds all unit tests, as then what they are built of is the same each time. Returns the program of each package."""
    lines = output("cargo", "test", "--workspace", "--lib", "--no-run", "--locked", "--message-format", "json").splitlines()
    messages = [json.loads(line) for line in lines]
    return {
        message["manifest_path"]: message["executable"]
        for message in messages
        if message.get("reason") == "compiler-artifact" and message.get("executable")
    }


def main():
    revision = sys.argv[1] if len(sys.argv) > 1 else output("git", "merge-base", "HEAD", "main").strip()
    touched = touched_crates(changed_files(revision))
    run("cargo", "fmt", "--all", "--check")
    run("cargo", "clippy", "--workspace", "--all-targets", "--locked", "--", "-D", "warnings")
    packages = json.loads(output("cargo", "metadata", "--format-version", "1", "--no-deps", "--locked"))["packages"]
    names = {package["manifest_path"]: package["name"] for package in packages}
    for manifest, program in sorted(unit_tests().items()):
        if names[manifest] in touched:
            folder = pathlib.Path(manifest).parent
            print(f"==> unit tests of {names[manifest]}", flush=True)
            if subprocess.run([program, "--quiet"], cwd=folder).returncode != 0:
                sys.exit(1)
    run("cargo", "test", "--locked", "--test", "integration", "--", *SCENES)


main()

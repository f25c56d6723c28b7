#!/usr/bin/env python3
"""Counts the code lines of the program, a room of src/ each, and of each crate of crates/.

Not counted: tests, comments, blank lines, and the rows of tables (a `const` or `static` list over several lines).
With a revision, also what each has grown since: `just size origin/main`.
"""

import collections
import io
import pathlib
import re
import subprocess
import sys
import tarfile
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
NO_CODE = {"tests", "benches", "examples", "fuzz"}
TEST_ATTRIBUTE = "#[cfg(test)]"
TABLE = re.compile(r"(pub(\(.*\))? )?(const|static) \w+: .*\[$")


def is_test(path):
    return path.name.endswith(("tests.rs", "samples.rs", "for_tests.rs")) or not NO_CODE.isdisjoint(path.parts)


def without_tests(lines):
    """Drops each item that `#[cfg(test)]` stands before, up to the bracket that closes it at the same depth."""
    lines = iter(lines)
    for line in lines:
        if line.strip() != TEST_ATTRIBUTE:
            yield line
            continue
        end = line.replace(TEST_ATTRIBUTE, "}")
        item = next(line for line in lines if not line.lstrip().startswith("#["))
        if not item.endswith((";", "}")):
            next(line for line in lines if line.startswith(end))


def without_rows(lines):
    is_in_table = False
    for line in lines:
        is_in_table = is_in_table and not line.startswith("]")
        if not is_in_table:
            yield line
            is_in_table = TABLE.fullmatch(line) is not None


def count(path):
    lines = path.read_text().splitlines()
    code = (line for line in lines if line.strip() and not line.lstrip().startswith("//"))
    return sum(1 for _ in without_rows(without_tests(code)))


def counts(root):
    """The lines of each file, by the room or crate that it is in."""
    places = collections.defaultdict(dict)
    for top in ["src", "crates"]:
        for path in sorted((root / top).rglob("*.rs")):
            parts = path.relative_to(root).parts
            if not is_test(pathlib.Path(*parts)):
                places[f"{top}/{parts[1].removesuffix('.rs')}"][path.relative_to(root)] = count(path)
    return places


def counts_at(revision):
    archive = subprocess.run(
        ["git", "-C", ROOT, "archive", revision, "--", "src", "crates"], capture_output=True, check=True
    ).stdout
    with tempfile.TemporaryDirectory() as folder:
        tarfile.open(fileobj=io.BytesIO(archive)).extractall(folder, filter="data")
        return counts(pathlib.Path(folder))


def show(place, files, earlier):
    longest = max(files, key=files.get)
    total = sum(files.values())
    growth = "" if earlier is None else f"{total - sum(earlier.values()):+8}"
    print(f"{place:24} {total:6}{growth} {len(files):6} {files[longest]:8}  {longest}")


def main(revision=None):
    head = "" if revision is None else f"{'growth':>8}"
    print(f"{'':24} {'lines':>6}{head} {'files':>6} {'longest':>8}")
    places = counts(ROOT)
    before = None if revision is None else counts_at(revision)
    for place, files in places.items():
        show(place, files, None if before is None else before.get(place, {}))
    every = collections.ChainMap(*places.values())
    show("total", every, None if before is None else collections.ChainMap(*before.values()))


if __name__ == "__main__":
    main(*sys.argv[1:])

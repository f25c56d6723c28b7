#!/usr/bin/env python3
"""Checks what macOS checks before it starts a program, without a Mac: which system it asks for, which libraries, and that the ad-hoc
signature, which arm64 wants, has the right hash for each page.

usage: scripts/check-macos.py PROGRAM...
"""

import hashlib
import struct
import sys

MAGIC, ARM64 = 0xFEEDFACF, 0x0100000C
LC_LOAD_DYLIB, LC_CODE_SIGNATURE, LC_BUILD_VERSION = 0xC, 0x1D, 0x32
CODE_DIRECTORY = 0xFADE0C02
SYSTEM = ("/usr/lib/", "/System/Library/")
OLDEST = (11, 0)


def commands(program):
    """The load commands: kind and bytes of each."""
    magic, cpu, _, _, count = struct.unpack_from("<5I", program)
    if magic != MAGIC:
        raise ValueError("this is no 64-bit program for macOS")
    at, found = 32, []
    for _ in range(count):
        kind, size = struct.unpack_from("<2I", program, at)
        found.append((kind, program[at : at + size]))
        at += size
    return cpu, found


def bad_pages(program, start):
    """How many pages are signed, and which of them have another hash than the signature says."""
    _, _, count = struct.unpack_from(">3I", program, start)
    for index in range(count):
        _, offset = struct.unpack_from(">2I", program, start + 12 + 8 * index)
        blob = start + offset
        if struct.unpack_from(">I", program, blob)[0] == CODE_DIRECTORY:
            hashes, _, _, pages, limit = struct.unpack_from(">5I", program, blob + 16)
            size, _, _, shift = struct.unpack_from("4B", program, blob + 36)
            page = 1 << shift
            digest = lambda number: hashlib.sha256(program[number * page : min((number + 1) * page, limit)]).digest()[:size]
            signed = lambda number: program[blob + hashes + number * size :][:size]
            return pages, [number for number in range(pages) if digest(number) != signed(number)]
    raise ValueError("the signature has no code directory")


def check(path):
    with open(path, "rb") as file:
        program = file.read()
    cpu, found = commands(program)
    text = lambda body: body[struct.unpack_from("<I", body, 8)[0] :].rstrip(b"\0").decode()
    libraries = [text(body) for kind, body in found if kind & 0xFFFF == LC_LOAD_DYLIB]
    foreign = [library for library in libraries if not library.startswith(SYSTEM)]
    if foreign:
        raise ValueError(f"it needs {', '.join(foreign)}, which macOS does not have")
    oldest = next((struct.unpack_from("<I", body, 12)[0] for kind, body in found if kind == LC_BUILD_VERSION), None)
    if oldest is None or (oldest >> 16, oldest >> 8 & 255) != OLDEST:
        raise ValueError(f"it is not built for macOS {OLDEST[0]}.{OLDEST[1]} and newer: {oldest and hex(oldest)}")
    start = next((struct.unpack_from("<I", body, 8)[0] for kind, body in found if kind == LC_CODE_SIGNATURE), None)
    if start is None:
        if cpu == ARM64:
            raise ValueError("it has no signature, so macOS would not start it")
        return f"{', '.join(libraries)}; not signed"
    pages, bad = bad_pages(program, start)
    if bad:
        raise ValueError(f"{len(bad)} of {pages} signed pages are not what was signed")
    return f"{', '.join(libraries)}; {pages} signed pages"


def main():
    for path in sys.argv[1:]:
        try:
            print(f"{path}: {check(path)}")
        except (ValueError, struct.error) as error:
            sys.exit(f"check-macos.py: {path}: {error}")


if __name__ == "__main__":
    main()

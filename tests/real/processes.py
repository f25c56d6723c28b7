"""Which processes are there, by what their environment says."""

import os
import pathlib
import select
import time


def marked(variable, value):
    """Processes that carry this variable with this value, as (process id, command line)."""
    wanted = f"{variable}={value}".encode()
    found = []
    for process in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            if wanted in (process / "environ").read_bytes().split(b"\0"):
                command = (process / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
                found.append((int(process.name), command.strip()))
        except OSError:
            # Ended meanwhile, or somebody else's.
            continue
    return found


def left(variable, value, patience):
    """Those that still are there after so many seconds in which all might have ended."""
    end = time.monotonic() + patience
    while (found := marked(variable, value)) and time.monotonic() < end:
        wait_for_end(found[0][0], end)
    return found


def wait_for_end(pid, end):
    try:
        handle = os.pidfd_open(pid)
    except ProcessLookupError:
        return
    try:
        # It is readable when the process has ended.
        select.select([handle], [], [], max(0, end - time.monotonic()))
    finally:
        os.close(handle)

#!/usr/bin/env python3
"""Makes pictures of every screen from a recorded night, in light and dark, narrow and wide: `just pictures DIR`.

usage: scripts/pictures/make.py DIR [TO]

  SPECIFY_RALPH_BIN   our `specify` (default: target/debug/specify)

DIR must not exist. The night (scripts/night) is played twice at once, in a narrow and in a wide window of tmux. Pictures go to TO
(default: docs/screens). It needs tmux, chromium and npm.
"""

import os
import pathlib
import re
import shlex
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
WINDOWS = {"narrow": (80, 24), "wide": (120, 36)}
# After the night, so that times are the same in every picture.
MORNING = "2026-11-22T07:10:00Z"
DEADLINE_SECONDS = 600


class Window:
    """A window of tmux that runs one command."""

    def __init__(self, name, size, folder, command, environment):
        self.socket = f"ralph-pictures-{os.getpid()}-{name}"
        words = [f"{key}={value}" for key, value in environment.items()]
        line = "exec " + shlex.join(["env", *words, *command])
        columns, rows = map(str, size)
        self.tmux("new-session", "-d", "-x", columns, "-y", rows, "-c", folder, f"sleep 0.2; {line}", ";", "set", "-g", "remain-on-exit", "on",
                  ";", "set", "-g", "remain-on-exit-format", "", ";", "set", "-g", "default-terminal", "tmux-256color")

    def tmux(self, *words):
        command = ["tmux", "-L", self.socket, "-f", "/dev/null", *map(str, words)]
        return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout

    def keys(self, *keys):
        self.tmux("send-keys", *keys)

    def wait(self, pattern):
        """Waits until the screen shows it, and returns the screen with its colours."""
        deadline = time.monotonic() + DEADLINE_SECONDS
        while time.monotonic() < deadline:
            if re.search(pattern, self.tmux("capture-pane", "-p")):
                return self.tmux("capture-pane", "-e", "-p")
            time.sleep(0.03)
        sys.exit(f"{pattern} was waited for in vain:\n{self.tmux('capture-pane', '-p')}")

    def close(self):
        self.tmux("kill-server")


def draw(to, name, title, screen):
    for scheme in ["light", "dark"]:
        command = [sys.executable, "-B", HERE / "draw.py", scheme, title]
        svg = subprocess.run(command, check=True, input=screen, stdout=subprocess.PIPE, text=True).stdout
        (to / f"{name}-{scheme}.svg").write_text(svg)
    print(f"  {name}", flush=True)


def from_line(screen, start):
    lines = screen.rstrip("\n").split("\n")
    place = next(number for number, line in enumerate(lines) if re.match(start, re.sub(r"\x1b\[[0-9;]*m", "", line)))
    return "\n".join(lines[place:])


class Pictures:
    def __init__(self, folder, to):
        self.folder, self.to = folder, to
        self.program = os.path.abspath(os.environ.get("SPECIFY_RALPH_BIN", ROOT / "target/debug/specify"))
        self.environment = {"TERM": "tmux-256color", "TZ": "UTC", "LANG": "C.UTF-8", "PATH": f"{folder}/bin:{os.environ['PATH']}"}
        # Screens name commands as people type them.
        (folder / "bin").mkdir(parents=True)
        (folder / "bin/specify").symlink_to(self.program)

    def nights(self):
        command = [sys.executable, "-B", str(ROOT / "scripts/night/make.py")]
        environment = {**self.environment, "SPECIFY_RALPH_BIN": str(self.folder / "bin/specify")}
        windows = {
            name: Window(f"night-{name}", size, self.folder, [*command, str(self.folder / name)], environment) for name, size in WINDOWS.items()
        }
        for name, window in windows.items():
            screen = window.wait(r"T01\d[\s\S]*[⠁-⣿] T0\d\d .*\n +\d+/35")
            draw(self.to, f"live-{name}", "The live output of a loop", screen)
        for name, window in windows.items():
            window.wait("the night is in")
            # In a low window its head has scrolled away.
            screen = from_line(window.tmux("capture-pane", "-e", "-p", "-S", "-200"), r"\d+ of 35 tasks done")
            card = "\n".join(line for line in screen.split("\n") if "the night is in" not in line)
            draw(self.to, f"closing-{name}", "The closing card of a session", card.rstrip())
            window.close()

    def screens(self, name, size):
        environment = {**self.environment, "RALPH_TEST_CLOCK": MORNING, "HOME": str(self.folder / name / "home"), "GIT_PAGER": "head -n 24"}

        def open_window(*words, size=size):
            return Window(f"{words[0]}-{name}", size, self.folder / name / "boards", ["specify", "ralph", *words], environment)

        for words, title, pattern in [("log", "The first 24 lines of log", r"T01\d"), ("status", "status", "next:")]:
            window = open_window(words, size=(size[0], 40))
            draw(self.to, f"{words}-{name}", title, window.wait(pattern))
            window.close()
        window = open_window("tui")
        draw(self.to, f"tui-{name}", "The first view of the terminal UI", window.wait(r" files [\s\S]*Needs you \d|Needs you \d[\s\S]* files "))
        window.keys("Down")
        draw(self.to, f"failure-{name}", "A failure in the terminal UI", window.wait(r"Given up(?![\s\S]*reading)"))
        window.keys("?")
        draw(self.to, f"help-{name}", "The keys of the terminal UI", window.wait("fold or unfold"))
        window.keys("q")
        window.close()

    def page(self):
        page = self.folder / "report.html"
        environment = {**os.environ, **self.environment, "RALPH_TEST_CLOCK": MORNING}
        boards = self.folder / "wide/boards"
        subprocess.run([self.program, "ralph", "report", "-o", str(page)], cwd=boards, env=environment, check=True, stdout=subprocess.DEVNULL)
        subprocess.run(["node", HERE / "page.mjs", page, self.to], check=True)


def main():
    if len(sys.argv) not in (2, 3) or sys.argv[1].startswith("-"):
        sys.exit(__doc__)
    folder = pathlib.Path(sys.argv[1]).resolve()
    if folder.exists():
        sys.exit(f"{folder} exists already")
    to = pathlib.Path(sys.argv[2] if len(sys.argv) > 2 else ROOT / "docs/screens").resolve()
    to.mkdir(parents=True, exist_ok=True)
    pictures = Pictures(folder, to)
    pictures.nights()
    for name, size in WINDOWS.items():
        pictures.screens(name, size)
    pictures.page()
    print(f"the pictures are in {to}")


main()

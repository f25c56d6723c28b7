#!/usr/bin/env python3
"""Draws what `tmux capture-pane -e -p` prints as an SVG in light or dark: stdin to stdout.

usage: scripts/pictures/draw.py light|dark TITLE
"""

import re
import sys

import rich_here
from rich.cells import cell_len
from rich.console import Console
from rich.terminal_theme import TerminalTheme
from rich.text import Text

LIGHT = TerminalTheme(
    (255, 255, 255), (36, 41, 47),
    [(36, 41, 47), (191, 33, 48), (17, 99, 41), (125, 78, 0), (5, 80, 174), (130, 80, 223), (27, 110, 120), (110, 119, 129)],
)
DARK = TerminalTheme(
    (22, 24, 29), (213, 216, 222),
    [(22, 24, 29), (240, 113, 120), (143, 206, 125), (230, 195, 106), (122, 162, 247), (192, 153, 255), (108, 199, 217), (213, 216, 222)],
)
# As rich draws them, and around them.
COLUMN, LINE, MARGIN = 12.2, 24.4, 14
# Without the window and the fonts of rich: a page must not ask another host for anything.
FRAME = """<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 WIDTH HEIGHT" width="WIDTH" height="HEIGHT" role="img">
<title>TITLE</title>
<style>
.{unique_id}-matrix {{ font-family: ui-monospace, SFMono-Regular, Menlo, Consolas, "DejaVu Sans Mono", monospace; font-size: {char_height}px; line-height: {line_height}px }}
{styles}
</style>
<defs>{lines}</defs>
<rect width="100%" height="100%" rx="10" fill="BACKGROUND"/>
<g transform="translate(MARGIN, MARGIN)">{backgrounds}<g class="{unique_id}-matrix">{matrix}</g></g>
</svg>
"""


def main():
    scheme, title = sys.argv[1:]
    theme = LIGHT if scheme == "light" else DARK
    # tmux writes the eight colours as the first of 256.
    screen = re.sub(r"38;5;([0-7])(?=[;m])", r"3\1", sys.stdin.read().rstrip("\n"))
    text = Text.from_ansi(screen)
    width = max(cell_len(line.plain) for line in text.split("\n"))
    console = Console(record=True, width=width, file=open("/dev/null", "w"), legacy_windows=False, force_terminal=True)
    console.print(text, no_wrap=True, crop=False)
    values = {
        "WIDTH": round(width * COLUMN + 2 * MARGIN),
        "HEIGHT": round(len(text.split("\n")) * LINE + 2 * MARGIN),
        "MARGIN": MARGIN,
        "BACKGROUND": "#%02x%02x%02x" % tuple(theme.background_color),
        "TITLE": title,
    }
    frame = re.sub("|".join(values), lambda name: str(values[name[0]]), FRAME)
    print(console.export_svg(theme=theme, code_format=frame, unique_id="s"), end="")


main()

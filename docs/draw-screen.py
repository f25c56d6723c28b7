#!/usr/bin/env python3
"""Draws what `tmux capture-pane -e -p` prints as an SVG: stdin to stdout."""

import html
import re
import sys
import unicodedata

WIDTH, HEIGHT, MARGIN, SIZE = 8.4, 18, 14, 14
TEXT, GROUND = "#d5d8de", "#16181d"
COLOURS = {31: "#f07178", 32: "#8fce7d", 33: "#e6c36a", 34: "#7aa2f7", 35: "#c099ff", 36: "#6cc7d9"}


def cells(line):
    """Yields (letter, style); a style is (colour, bold, dim, underlined, reversed)."""
    style = (None, False, False, False, False)
    for part in re.split(r"(\x1b\[[0-9;]*m)", line):
        codes = re.fullmatch(r"\x1b\[([0-9;]*)m", part)
        if not codes:
            yield from ((letter, style) for letter in part)
            continue
        # The eight colours may be spelled as the first of 256.
        for code in (int(code or 0) for code in re.sub(r"38;5;([0-7])\b", r"3\1", codes[1]).split(";")):
            colour, bold, dim, under, turned = style
            if code == 0:
                style = (None, False, False, False, False)
            elif code == 1:
                style = (colour, True, dim, under, turned)
            elif code == 2:
                style = (colour, bold, True, under, turned)
            elif code == 4:
                style = (colour, bold, dim, True, turned)
            elif code == 7:
                style = (colour, bold, dim, under, True)
            elif code in COLOURS:
                style = (code, bold, dim, under, turned)
            elif code == 39:
                style = (None, bold, dim, under, turned)


def runs(line):
    """Pieces of one style: (column, text, columns, style)."""
    found, column = [], 0
    for letter, style in cells(line):
        wide = 2 if unicodedata.east_asian_width(letter) in "WF" else 1
        if found and found[-1][3] == style:
            start, text, columns, _ = found[-1]
            found[-1] = (start, text + letter, columns + wide, style)
        else:
            found.append((column, letter, wide, style))
        column += wide
    return found


def main():
    lines = sys.stdin.read().rstrip("\n").split("\n")
    columns = max(sum(run[2] for run in runs(line)) for line in lines)
    width, height = columns * WIDTH + 2 * MARGIN, len(lines) * HEIGHT + 2 * MARGIN
    print(f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height}" width="{width:.0f}" height="{height}" role="img">')
    print("<title>The screen of specify ralph tui</title>")
    print(f'<rect width="100%" height="100%" rx="10" fill="{GROUND}"/>')
    print(f'<g font-family="ui-monospace, SFMono-Regular, Menlo, Consolas, \'DejaVu Sans Mono\', monospace" font-size="{SIZE}">')
    for row, line in enumerate(lines):
        y = MARGIN + row * HEIGHT
        for start, text, wide, (colour, bold, dim, under, turned) in runs(line):
            if not text.strip() and not turned:
                continue
            x, length = MARGIN + start * WIDTH, wide * WIDTH
            fill = COLOURS.get(colour, TEXT)
            if turned:
                print(f'<rect x="{x:.1f}" y="{y}" width="{length:.1f}" height="{HEIGHT}" fill="{fill}"/>')
                fill = GROUND
            style = f' fill="{fill}"' + (' font-weight="bold"' if bold else "")
            style += (' opacity="0.6"' if dim and not turned else "") + (' text-decoration="underline"' if under else "")
            blank = len(text) - len(text.lstrip(" "))
            text = text.strip(" ") or text
            # Blanks in a row would be shown as one.
            x, length = x + blank * WIDTH, (wide - blank) * WIDTH
            letters = sum(2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in text)
            print(f'<text x="{x:.1f}" y="{y + HEIGHT - 5}" textLength="{letters * WIDTH:.1f}" lengthAdjust="spacingAndGlyphs"{style}>{html.escape(text).replace(" ", chr(160))}</text>')
    print("</g>\n</svg>")


main()

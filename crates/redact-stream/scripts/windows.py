#!/usr/bin/env python3
"""Chooses where the gate of src/gate.rs looks for each kind of secret, by how often text has what stands there.

    scripts/windows.py                           choose again for own.txt and public.txt in src/shape/
    scripts/windows.py --measure NAME=PATH...    count fixtures/trigrams.tsv again, and choose

A window is four bytes of which the gate looks up the first three or the last three. So what counts is how often these two
sequences of three bytes stand in ordinary text, each counted as the gate compares: without case, in six bits for each byte.
`--measure` counts them over files of several kinds (PATH is a file or a folder), each of which weighs the same.

The place is written into the tables: `A+B` is B bytes behind the start of part A of a pattern, `A-B` is B bytes in front of its
end, and `WORD@B` is B bytes behind the start of a word.
"""

import re
import sys
from collections import Counter
from functools import lru_cache
from itertools import product
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TABLES = [ROOT / "src/shape/own.txt", ROOT / "src/shape/public.txt"]
TRIGRAMS = ROOT / "fixtures/trigrams.tsv"
# What is rarer is not kept, and counts as much as this: per ten million bytes.
LEAST = 80
UNKNOWN = 4
WIDTH = 4
# Every key of a window takes time at the start.
MAX_KEYS = 2100
KEY_COST = 2
# To ask a rule takes so much longer than to look at three bytes again.
RULE_COST = 10
# Behind its window a key is found even where a line break or a colour is in it: so that each byte in front of it costs something.
LEAD_COST = 40
MAX_LEAD = 200
# What may follow a word: `is_tie_start` in table.rs.
TIE_START = frozenset(range(48, 58)) | frozenset(range(97, 123)) | frozenset(b"_ \t.-='\":>|?,\\")
SHOWN = bytes.maketrans(b" \x7f", b"S_")
FOLDED = bytes(code & 0x1F | 0x20 | code & 0x40 for code in range(256))


def fold(codes):
    return frozenset(FOLDED[code] for code in codes)


def files(path):
    """All files of a folder, but for those that speak of issuers."""
    found = [path] if path.is_file() else sorted(file for file in path.rglob("*") if file.is_file())
    return [file for file in found if "redact" not in str(file)]


def measure(sources):
    rates = Counter()
    for _, paths in sources.items():
        counts, total = Counter(), 0
        for file in (file for path in paths for file in files(Path(path))):
            text = file.read_bytes()[:1_000_000].translate(FOLDED)
            total += len(text)
            counts.update(text[at:at + 3] for at in range(len(text) - 2))
        for three, count in counts.items():
            rates[three] += count * 10_000_000 / total / len(sources)
    lines = {}
    for three, rate in rates.items():
        digits = len(str(round(rate))) - 2
        rate = round(rate, -digits) if digits > 0 else round(rate)
        if rate >= LEAST:
            lines.setdefault(int(rate), []).append(three)
    head = ["# How often text has three bytes, per ten million: the rate, and all of that rate. By scripts/windows.py --measure, which says how",
            "# they are written (`S` is a space, `_` is 0x7f), over these, each of which weighs the same:",
            *(f"#   {name}" for name in sources)]
    body = [f"{rate}\t{b''.join(sorted(threes)).translate(SHOWN).decode()}" for rate, threes in sorted(lines.items(), reverse=True)]
    TRIGRAMS.write_text("\n".join(head + body) + "\n")


@lru_cache(None)
def trigrams():
    rates = {}
    for line in TRIGRAMS.read_text().splitlines():
        if not line.startswith("# "):
            rate, threes = line.split("\t")
            threes = threes.translate({ord("S"): " ", ord("_"): "\x7f"}).encode()
            rates.update((threes[at:at + 3], int(rate)) for at in range(0, len(threes), 3))
    return rates


@lru_cache(None)
def pairs_of_trigrams():
    pairs = Counter()
    for three, rate in trigrams().items():
        pairs[three[:2]] += rate
    return pairs


@lru_cache(None)
def rate_of(places):
    return sum(trigrams().get(bytes(three), UNKNOWN) for three in product(*places))


def cost(window):
    """How much a window of four sets of folded bytes slows the gate down, or None if it stands for too many keys."""
    keys = 1
    for place in window:
        keys *= len(place)
    if keys > MAX_KEYS:
        return None
    first, last = rate_of(window[:3]), rate_of(window[1:])
    # How often all four stand there, as far as the two sequences show.
    pairs = sum(pairs_of_trigrams().get(bytes(pair), UNKNOWN) for pair in product(window[1], window[2]))
    both = min(first, last, first * last / max(pairs, 1))
    return round(first + last + RULE_COST * both + KEY_COST * keys)


def parts_of(pattern):
    """As `Pattern::parse` in pattern.rs: lists of bytes, and (bytes, least, most)."""
    pattern = pattern.removeprefix("(?i)").encode()
    parts, at = [], 0
    while at < len(pattern):
        if pattern[at] == ord("["):
            at, codes = at + 1, set()
            while pattern[at] != ord("]"):
                at += pattern[at] == ord("\\")
                first = last = pattern[at]
                at += 1
                if pattern[at] == ord("-"):
                    at += 1 + (pattern[at + 1] == ord("\\"))
                    last = pattern[at]
                    at += 1
                codes.update(range(first, last + 1))
            parts.append((fold(codes), 1, 1))
            at += 1
        elif pattern[at] == ord("{"):
            end = pattern.index(b"}", at)
            counts = [int(count) for count in pattern[at + 1:end].split(b",")]
            parts[-1] = (parts[-1][0], counts[0], counts[-1])
            at = end + 1
        else:
            at += pattern[at] == ord("\\")
            if not parts or isinstance(parts[-1], tuple):
                parts.append([])
            parts[-1].append(pattern[at])
            at += 1
    return parts


def window_of(parts, index, kept):
    """The window that begins a number of bytes before the end of a part."""
    places = []
    for step, part in enumerate(parts[index:]):
        if isinstance(part, list):
            places += [fold([code]) for code in (part[-kept:] if step == 0 else part)]
        else:
            codes, least, most = part
            places += [codes] * min(kept if step == 0 else least, WIDTH)
            if len(places) < WIDTH and step > 0 and least != most:
                return None
        if len(places) >= WIDTH:
            break
    return tuple(places[:WIDTH]) if len(places) >= WIDTH else None


def best_place(pattern):
    parts = parts_of(pattern)
    found, lead = [], 0
    for index, part in enumerate(parts):
        if isinstance(part, list):
            starts = [(f"{index}+{skip}", lead + skip, len(part) - skip) for skip in range(len(part))]
            lead += len(part)
        else:
            starts = [(f"{index}-{kept}", lead + part[2] - kept, kept) for kept in range(1, min(part[1], 3) + 1)]
            lead += part[2]
        for name, most, kept in starts:
            window = window_of(parts, index, kept)
            price = cost(window) if window and most <= MAX_LEAD else None
            if price is not None:
                found.append((price + LEAD_COST * most, name))
    if not found:
        raise ValueError(f"`{pattern}` has no window")
    return min(found, key=lambda one: one[0])


def best_start(word):
    """Where in the name of an issuer its rarest window begins."""
    places = [fold([code]) for code in word.encode()] + [fold(TIE_START)] * WIDTH
    priced = ((cost(tuple(places[start:start + WIDTH])), start) for start in range(len(word)))
    return min(one for one in priced if one[0] is not None)


def choose(line):
    if line.startswith("#") or not line:
        return line
    *name, pattern = line.split("\t")
    if len(name) == 2 and not re.fullmatch(r"\d+[+-]\d+", name[1]):
        words = (word.split("@")[0] for word in name[1].split("|"))
        return "\t".join([name[0], "|".join(f"{word}@{best_start(word)[1]}" for word in words), pattern])
    return "\t".join([name[0], best_place(pattern)[1], pattern])


def choose_all():
    for table in TABLES:
        table.write_text("\n".join(map(choose, table.read_text().splitlines())) + "\n")


def main():
    if sys.argv[1:2] == ["--measure"]:
        sources = {}
        for word in sys.argv[2:]:
            name, path = word.split("=", 1)
            sources.setdefault(name, []).append(path)
        measure(sources)
    choose_all()


if __name__ == "__main__":
    main()

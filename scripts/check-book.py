#!/usr/bin/env python3
"""Checks that every link in a built book leads to a page, a file or a heading of that book.

usage: scripts/check-book.py target/book
"""
import html.parser
import sys
from pathlib import Path
from urllib.parse import unquote, urlsplit


class Page(html.parser.HTMLParser):
    """The anchors that a page has, and the addresses that it names."""

    def __init__(self, path):
        super().__init__()
        self.anchors, self.addresses = set(), []
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attributes):
        for name, value in attributes:
            if name == "id":
                self.anchors.add(value)
            elif name in ("href", "src") and tag != "base" and value:
                self.addresses.append(value)


root = Path(sys.argv[1]).resolve()
# The page for addresses that do not exist is served from any folder, and the page for printing holds all pages at once.
pages = {path: Page(path) for path in root.rglob("*.html") if path.name not in ("404.html", "print.html")}
broken, count = [], 0
for path, page in pages.items():
    for address in page.addresses:
        parts = urlsplit(address)
        if parts.scheme or parts.netloc:
            continue
        count += 1
        target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
        target = target / "index.html" if target.is_dir() else target
        exists = target.is_file() and target.is_relative_to(root)
        anchor = unquote(parts.fragment)
        if not exists or (anchor and target in pages and anchor not in pages[target].anchors):
            broken.append(f"{path.relative_to(root)}: {address}")
print(f"{len(pages)} pages, {count} links, {len(broken)} broken")
if broken or count < 100:
    sys.exit("\n".join(broken) or "too few links: is this a book?")

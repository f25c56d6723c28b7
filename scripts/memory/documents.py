"""The tables that a script writes into README.md beside it."""

import pathlib

DOCUMENT = pathlib.Path(__file__).resolve().parent / "README.md"
END = "<!-- end of the table -->"


def write(command, text):
    """Replaces what follows the mark of `command` in the document, up to the end of its table."""
    begin = f"<!-- written by: {command} -->\n"
    before, rest = DOCUMENT.read_text().split(begin)
    _, after = rest.split(END, 1)
    DOCUMENT.write_text(f"{before}{begin}{text}\n{END}{after}")

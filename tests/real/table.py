"""The table in docs/agents.md of what was run."""

import sys

import install

BEGIN, END = "<!-- written by tests/real/run.py --write -->\n", "<!-- end of the table -->\n"


def notes(agent):
    """What is particular to an agent in a scene."""
    found = {}
    if not agent.tells_exit_codes:
        found["happy"] = "does not report that a command failed"
    if not agent.tells_reset:
        found["quota"] = "does not report when the limit ends"
    if agent.never_gives_up:
        found["early end"] = "never gives up by itself, so the loop stops it"
    return found


def table(agents, scenes):
    """A row for each agent, all of whose scenes went well."""
    rows = [["agent", *scenes], ["---"] * (len(scenes) + 1)]
    below = []
    for agent in agents:
        row = [f"`{agent.name}` {agent.version}"]
        found = notes(agent)
        for scene in scenes:
            mark = "✔"
            if scene in found:
                if found[scene] not in below:
                    below.append(found[scene])
                mark += f" ({below.index(found[scene]) + 1})"
            row.append(mark)
        rows.append(row)
    lines = "".join("| " + " | ".join(row) + " |\n" for row in rows)
    return lines + "\n" + "; ".join(f"({number}) {words}" for number, words in enumerate(below, 1)) + ".\n"


def compare(agents, scenes, is_to_write):
    page = install.ROOT / "docs" / "agents.md"
    text = page.read_text()
    before, rest = text.split(BEGIN)
    old, after = rest.split(END)
    new = table(agents, scenes)
    print(new)
    if is_to_write:
        page.write_text(before + BEGIN + new + END + after)
    elif old != new:
        sys.exit("run.py: docs/agents.md has another table; write it with: tests/real/run.py --write")

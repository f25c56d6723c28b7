"""The table in README.md of what was run."""

import sys

from install import ROOT

BEGIN, END = "<!-- written by tests/real/run.py --write -->\n", "<!-- end of the table -->\n"


def table(agents, scenes):
    """A row for each agent, all of whose scenes went well. What it cannot play is said below."""
    rows = [["agent", *scenes], ["---"] * (len(scenes) + 1)]
    notes = []
    for agent in agents:
        row = [f"{agent.name} {agent.version}"]
        for scene in scenes:
            row.append("–" if scene in agent.cannot else "✔")
        rows.append(row)
        notes += [f"- {agent.name}, {scene}: {why}\n" for scene, why in agent.cannot.items()]
    lines = "".join("| " + " | ".join(row) + " |\n" for row in rows)
    return lines + ("\n" + "".join(notes) if notes else "")


def compare(agents, scenes, is_to_write):
    readme = ROOT / "README.md"
    text = readme.read_text()
    before, rest = text.split(BEGIN)
    old, after = rest.split(END)
    new = table(agents, scenes)
    if is_to_write:
        readme.write_text(before + BEGIN + new + END + after)
    elif old != new:
        print(new)
        sys.exit("run.py: README.md has another table; write it with: tests/real/run.py --write")

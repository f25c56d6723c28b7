"""Nights that are taken up again, after something was set anew or used up."""

import signal

from night import night
from nights import WAIT


def plants(project, started):
    """While the third agent works, settings are planted that let everything pass, and the loop is killed."""
    project.wait_for("begun", started)
    settings = project.read(".specify/ralph.toml")
    project.write(".specify/ralph.toml", settings.replace("sh check.sh", "true"))
    project.git("config", "ralph.validation.command", "true")
    project.git("config", "ralph.completion", "promise")
    started.send_signal(signal.SIGKILL)


night(
    name="planted-settings",
    models="settings that let everything pass are planted, and the loop is killed and taken up again",
    agent=f"case $n in 003) if once begun; then {WAIT}; fi; spoil;; *) good;; esac",
    calls=[["run"], ["resume"]],
    meanwhile=plants,
    reason="T003",
)
night(
    name="spent-budget",
    models="a budget is spent in the night, and the session is taken up again in the morning",
    agent="""good; echo '{"type":"result","is_error":false,"result":"Done.","total_cost_usd":1.5}'""",
    parser="claude",
    calls=[["run", "--max-cost", "3"], ["resume"]],
    reason=r"has spent \$3.00 of max-cost \$3.00\nhint: .* --max-cost 6.00",
)

"""All scenarios, in the order of the table."""

from scenario import ALL

from . import outputs, words, commands, tasks  # noqa: F401

__all__ = ["ALL"]

"""What the model says, and when: see server.py for the form of a scenario."""

import json
import re
import threading

NO_USAGE = {"input": 0, "cache_read": 0, "cache_write": 0, "output": 0, "thought": 0}
PLAIN = {"text": "", "tools": [], "expect": [], "fault": None, "forever": False}


class Scenario:
    """Which turn comes next. Requests may come at the same time."""

    def __init__(self, turns, side=None):
        self.lock = threading.Lock()
        self.side = complete(side or {"text": "Noted."})
        self.play(turns)

    @classmethod
    def read(cls, text, values):
        """A scenario from JSON, in which `{{NAME}}` stands for a value."""

        def value(found):
            name = found.group(1)
            if name not in values:
                raise SystemExit(f"the scenario names {{{{{name}}}}}, and no --set gives it")
            return json.dumps(values[name])[1:-1]

        script = json.loads(re.sub(r"\{\{(\w+)\}\}", value, text))
        return cls(script["turns"], script.get("side"))

    def play(self, turns, side=None):
        """Forgets what was not played yet, and goes on with these turns."""
        self.play_each({"": turns}, side)

    def play_each(self, scripts, side=None):
        """The same for agents at once: a request goes on with the script whose key its prompt has, which comes before all else in it."""
        with self.lock:
            self.scripts = {key: [complete(turn) for turn in turns] for key, turns in scripts.items()}
            self.played_of = dict.fromkeys(scripts, 0)
            if side is not None:
                self.side = complete(side)

    @property
    def played(self):
        return sum(self.played_of.values())

    def is_over(self):
        with self.lock:
            return all(self.played_of[key] == len(turns) for key, turns in self.scripts.items())

    def answer(self, request):
        """The turn, its number, and a problem; the turn is none where there is a problem."""
        with self.lock:
            if not request["has_tools"]:
                return self.side, None, None
            words = "\n".join(strings(request["body"]))
            keys = [key for key in self.scripts if key in words]
            if not keys:
                return None, None, "no script is for this request"
            key = min(keys, key=words.index)
            number = self.played_of[key]
            if number == len(self.scripts[key]):
                return None, None, "the scenario has no turn left"
            turn = self.scripts[key][number]
            missing = [text for text in turn["expect"] if text not in words]
            if missing:
                return None, number, f"turn {number} expects a request that holds {missing[0]!r}"
            if not turn["forever"]:
                self.played_of[key] += 1
            return turn, number, None


def complete(turn):
    return PLAIN | turn | {"usage": NO_USAGE | turn.get("usage", {})}


def strings(value):
    """Every text in a JSON value."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for inner in value.values():
            yield from strings(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from strings(inner)

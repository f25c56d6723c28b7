"""A place for one run of the loop: a home, a project, a model, and an environment with nothing of the user's in it."""

import json
import os
import pathlib
import shutil
import signal
import subprocess
import threading
import time

import install
import processes
from model.scenario import Scenario
from model.server import Model

TASKS = """# Tasks: Words

- [ ] T001 Write the word one into one.txt
- [ ] T002 Write the word two into two.txt (depends on T001)
"""

# Passes as long as no file holds anything but its own name.
CHECK = """for file in *.txt; do
  [ ! -f "$file" ] || [ "$(cat "$file")" = "${file%.txt}" ] || { echo "FAIL $file" >&2; exit 1; }
done
echo ok
"""


class Failed(Exception):
    """What a scene saw that should not be."""


def check(truth, words):
    if not truth:
        raise Failed(words)


def equal(got, want, what):
    check(got == want, f"{what}\n  want: {want!r}\n  got:  {got!r}")


class Place:
    def __init__(self, folder, agent, ours, seconds):
        self.folder, self.agent, self.ours = folder, agent, ours
        # No scene lasts longer.
        self.end = time.monotonic() + seconds
        self.home, self.project = folder / "home", folder / "project"
        for made in [self.home, self.project, folder / "tmp"]:
            made.mkdir(parents=True)
        self.model = Model(Scenario([]), folder / "requests")
        threading.Thread(target=self.model.serve_forever, daemon=True).start()
        for name, text in agent.files(self.model.url).items():
            path = self.home / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        self.environment = self.make_environment()
        self.make_project()
        self.loop = None
        self.is_closed = False

    def make_environment(self):
        # With SPECKIT_RALPH_SANDBOX=bwrap all scenes are played in a sandbox, and in the project.
        kept = {name: value for name, value in os.environ.items() if name.startswith("SPECKIT_RALPH_SANDBOX")}
        kept |= {"SPECKIT_RALPH_LANE": "false"} if kept else {}
        kept |= {name: os.environ[name] for name in ["LANG", "TERM", "CI"] if name in os.environ}
        node = pathlib.Path(shutil.which("node")).parent
        path = [self.ours.parent, install.folder_of(self.agent), node, "/usr/local/bin", "/usr/bin", "/bin"]
        return kept | {
            "HOME": str(self.home),
            "TMPDIR": str(self.folder / "tmp"),
            "PATH": ":".join(map(str, path)),
            "GIT_CONFIG_NOSYSTEM": "1",
            "LC_ALL": "C.UTF-8",
            **self.agent.environment(self.model.url),
        }

    def make_project(self):
        for key, value in [("name", "Ada Example"), ("email", "ada@example.com")]:
            self.git("config", "--global", f"user.{key}", value)
        self.git("init", "--quiet", "--initial-branch", "main")
        feature = self.project / "specs/001-words"
        feature.mkdir(parents=True)
        (feature / "spec.md").write_text("# Words\n\nEach file holds its own name.\n")
        (feature / "plan.md").write_text("# Plan\n\nPlain files.\n")
        self.tasks = feature / "tasks.md"
        self.tasks.write_text(TASKS)
        (self.project / "check.sh").write_text(CHECK)
        self.git("add", "--all")
        self.git("commit", "--quiet", "--message", "Plan the words")
        self.head = self.git("rev-parse", "HEAD")

    def git(self, *words):
        done = subprocess.run(["git", *words], cwd=self.project, env=self.environment, capture_output=True, check=True)
        return done.stdout.decode()

    def ask(self, *words):
        """What one of our reading commands prints."""
        command = [self.ours, "ralph", *words]
        done = subprocess.run(command, cwd=self.project, env=self.environment, capture_output=True, timeout=60)
        check(done.returncode == 0, f"ralph {' '.join(words)} exits {done.returncode}: {done.stderr.decode()}")
        return done.stdout

    def start(self, *flags):
        """Starts the loop, to work on its own."""
        check(not self.is_closed, "the test was stopped")
        self.loop = Loop(self, flags)
        return self.loop

    def iterations(self):
        """The records of the only session."""
        listed = json.loads(self.ask("log", "--json"))["iterations"]
        return [json.loads(self.ask("show", str(entry["iteration"]), "--json")) for entry in listed]

    def session(self):
        (session,) = json.loads(self.ask("log", "--sessions", "--json"))["sessions"]
        return session

    def requests(self):
        """What the model was asked, in order, as (meta, body)."""
        found = []
        for path in sorted((self.folder / "requests").glob("*.meta.json")):
            body = path.with_name(path.name.replace(".meta", "")).read_bytes()
            found.append((json.loads(path.read_text()), json.loads(body)))
        return found

    def close(self):
        if self.is_closed:
            return
        self.is_closed = True
        if self.loop is not None:
            self.loop.kill()
        for pid, _ in processes.marked("HOME", str(self.home)):
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                continue
        self.model.shutdown()
        self.model.server_close()


class Loop:
    """A loop that runs, and what it said so far."""

    def __init__(self, place, flags):
        agent = place.agent
        command = [place.ours, "ralph", "--agent", agent.name, "--model", agent.model, "--json"]
        command += ["--validate", "sh check.sh", *flags]
        self.place = place
        self.events = []
        self.news = threading.Condition()
        self.is_silent = False
        with open(place.folder / "talk.log", "wb") as talk:
            self.child = subprocess.Popen(
                command,
                cwd=place.project,
                env=place.environment,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=talk,
                start_new_session=True,
            )
        threading.Thread(target=self.listen, daemon=True).start()

    def listen(self):
        with open(self.place.folder / "events.jsonl", "wb") as copy:
            for line in self.child.stdout:
                copy.write(line)
                copy.flush()
                with self.news:
                    self.events.append(json.loads(line))
                    self.news.notify_all()
        with self.news:
            self.is_silent = True
            self.news.notify_all()

    def of_type(self, *kinds):
        with self.news:
            return [event for event in self.events if event["type"] in kinds]

    def wait_for(self, *kinds, number=1):
        """The first event of these types, or one behind it."""
        with self.news:
            while True:
                found = [event for event in self.events if event["type"] in kinds]
                if len(found) >= number:
                    return found[number - 1]
                check(not self.is_silent, f"the loop ended without {' or '.join(kinds)}")
                rest = self.place.end - time.monotonic()
                check(rest > 0, f"no {' or '.join(kinds)} in time")
                self.news.wait(rest)

    def finish(self):
        """Its exit code."""
        try:
            status = self.child.wait(max(1, self.place.end - time.monotonic()))
        except subprocess.TimeoutExpired:
            raise Failed("the loop did not end in time") from None
        with self.news:
            self.news.wait_for(lambda: self.is_silent, 10)
        return status

    def talk(self):
        return (self.place.folder / "talk.log").read_text(errors="replace")

    def kill(self):
        if self.child.poll() is None:
            self.child.kill()
            self.child.wait()

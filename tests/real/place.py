"""A place for one run of the loop: a home, a project, a model, and an environment with nothing of the user's in it."""

import hashlib
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
from model import login
from model.scenario import Scenario
from model.server import Model

TASKS = """# Tasks: Words

- [ ] T001 Write the word one into one.txt
- [ ] T002 Write the word two into two.txt (depends on T001)
"""

FEATURE = "specs/001-words"

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
        self.is_fenced = "SPECKIT_RALPH_SANDBOX" in os.environ
        self.has_login = self.is_fenced and bool(agent.login)
        files = agent.files(self.model.url)
        for name, text in (agent.logged_in(files) if self.has_login else files).items():
            path = self.home / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
            path.chmod(0o600)
        self.environment = self.make_environment()
        # Where the agent works, and its task list there.
        self.lane = self.find_lane() if self.environment.get("SPECKIT_RALPH_LANE", "false") == "true" else None
        self.work = self.lane or self.project
        self.tasks = self.work / FEATURE / "tasks.md"
        self.make_project()
        # The loop asks for its version, outside; some settle their settings then.
        program = install.folder_of(agent) / agent.name
        subprocess.run([program, "--version"], cwd=self.home, env=self.environment, capture_output=True, timeout=60, check=True)
        self.before = self.files_at_home()
        self.loop = None
        self.is_closed = False

    def make_environment(self):
        # With SPECKIT_RALPH_SANDBOX=bwrap all scenes are played in a sandbox and a lane; SPECKIT_RALPH_LANE=false: in the project.
        kept = {name: value for name, value in os.environ.items() if name.startswith("SPECKIT_RALPH_SANDBOX")}
        if self.is_fenced:
            kept["SPECKIT_RALPH_LANE"] = os.environ.get("SPECKIT_RALPH_LANE", "true")
        if kept.get("SPECKIT_RALPH_SANDBOX") == "srt":
            kept.setdefault("SPECKIT_RALPH_SANDBOX_NETWORK", "localhost,127.0.0.1")
        kept |= {name: os.environ[name] for name in ["LANG", "TERM", "CI"] if name in os.environ}
        node = pathlib.Path(shutil.which("node")).parent
        path = [self.ours.parent, install.folder_of(self.agent), node, "/usr/local/bin", "/usr/bin", "/bin"]
        srt = shutil.which("srt")
        path += [pathlib.Path(srt).parent] if srt else []
        own = self.agent.environment(self.model.url)
        if self.has_login:
            own.pop(self.agent.key_variable, None)
        return kept | {
            "HOME": str(self.home),
            "TMPDIR": str(self.folder / "tmp"),
            "PATH": ":".join(map(str, path)),
            "GIT_CONFIG_NOSYSTEM": "1",
            "LC_ALL": "C.UTF-8",
            **own,
        }

    def log_in_long_ago(self):
        """Has the user a login that is to be renewed at the model's address."""
        for name, text in self.agent.old_login(self.model.login.tokens(-3600)).items():
            (self.home / name).write_text(text)
        variable = self.agent.renewed_at
        self.environment |= {variable: self.model.url + login.PATH, "SPECKIT_RALPH_SANDBOX_ENV": variable}

    def find_lane(self):
        """The folder in which the loop works, as docs/lanes.md names it."""
        digest = hashlib.sha256(str(self.project.resolve() / ".git").encode()).hexdigest()[:12]
        return self.home.resolve() / ".cache/specify-ralph/lanes" / digest / "1"

    def files_at_home(self):
        """What the user has at home, with contents and permissions, but for caches and state of ours, and what agents leave when asked for a version."""
        found = [path for path in self.home.rglob("*") if path.is_file() and not path.is_symlink() and path.suffix != ".tmp"]
        own = [path for path in found if not {".cache", "tmp", "specify-ralph"} & set(path.relative_to(self.home).parts)]
        return {str(path): (path.read_bytes(), path.stat().st_mode) for path in own}

    def make_project(self):
        for key, value in [("name", "Ada Example"), ("email", "ada@example.com")]:
            self.git("config", "--global", f"user.{key}", value)
        self.git("init", "--quiet", "--initial-branch", "main")
        feature = self.project / FEATURE
        feature.mkdir(parents=True)
        (feature / "spec.md").write_text("# Words\n\nEach file holds its own name.\n")
        (feature / "plan.md").write_text("# Plan\n\nPlain files.\n")
        (feature / "tasks.md").write_text(TASKS)
        (self.project / "check.sh").write_text(CHECK)
        self.commit("Plan the words")

    def commit(self, message):
        self.git("add", "--all")
        self.git("commit", "--quiet", "--message", message)
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
        """The records of the only session, but for the check of the whole in a clean checkout."""
        listed = json.loads(self.ask("log", "--json"))["iterations"]
        listed = [entry for entry in listed if entry["outcome"] != "checked"]
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

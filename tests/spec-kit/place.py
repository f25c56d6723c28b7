"""A project of spec-kit's with a home and a PATH of its own."""

import os
import pathlib
import shutil
import subprocess


class Failed(Exception):
    """What is not as it should be."""


class Run:
    """How a program ended, and what it said."""

    def __init__(self, words, done):
        self.words, self.code, self.stdout, self.stderr = words, done.returncode, done.stdout, done.stderr
        self.text = done.stdout + done.stderr

    def __str__(self):
        return f"{' '.join(map(str, self.words))}: exit code {self.code}\n{self.text}"

    def expect(self, code=0, has=()):
        if self.code != code:
            raise Failed(f"exit code {code} expected of {self}")
        # spec-kit breaks lines where its terminal ends.
        flat = " ".join(self.text.split())
        for words in [has] if isinstance(has, str) else has:
            if words not in flat:
                raise Failed(f"`{words}` expected of {self}")
        return self


class Place:
    """One project; ours stands in front of spec-kit on the PATH unless a story says otherwise."""

    def __init__(self, folder, speckit, version, integration, ours):
        self.folder, self.speckit, self.version, self.integration, self.ours = folder, speckit, version, integration, ours
        self.story = "making a place"
        for made in ["home", "tmp", "ours", "programs"]:
            (folder / made).mkdir(parents=True)
        for name in ["specify", "specify-ralph", "git-ralph"]:
            (folder / "ours" / name).symlink_to(ours.with_name(name))
        # Only what is named is on the PATH, so that no `specify` of the machine is.
        for name in ["bash", "python3", "node"]:
            if program := shutil.which(name):
                (folder / "programs" / name).symlink_to(program)
        self.project = folder / "project"

    def path(self, *first):
        return ":".join(map(str, [*first, self.folder / "programs", "/usr/local/bin", "/usr/bin", "/bin"]))

    def run(self, *words, cwd=None, path=None, **variables):
        environment = {
            "PATH": path or self.path(self.folder / "ours", self.speckit),
            "HOME": str(self.folder / "home"),
            "TMPDIR": str(self.folder / "tmp"),
            "LC_ALL": "C.UTF-8",
            "COLUMNS": "200",
            "NO_COLOR": "1",
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_AUTHOR_NAME": "Ada Example",
            "GIT_AUTHOR_EMAIL": "ada@example.com",
            "GIT_COMMITTER_NAME": "Ada Example",
            "GIT_COMMITTER_EMAIL": "ada@example.com",
            **variables,
        }
        done = subprocess.run(
            [str(word) for word in words], cwd=cwd or self.project, env=environment, capture_output=True, text=True, errors="replace", stdin=subprocess.DEVNULL, timeout=120
        )
        return Run(words, done)

    def write(self, path, text):
        file = self.project / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)

    def read(self, path):
        try:
            return (self.project / path).read_text()
        except OSError as error:
            raise Failed(f"{path} cannot be read: {error}") from error

    def files(self):
        """Every file of the project with its bytes, links by where they lead."""
        found = {}
        for top, folders, names in os.walk(self.project):
            if ".git" in folders:
                folders.remove(".git")
            for name in names:
                file = pathlib.Path(top) / name
                path = file.relative_to(self.project).as_posix()
                found[path] = f"-> {os.readlink(file)}".encode() if file.is_symlink() else file.read_bytes()
        return found

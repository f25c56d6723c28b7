#!/usr/bin/env python3
"""Tries the packages in target/packages as their users would: each is installed in a clean place beside the real spec-kit, plays the
demo and a loop, shows its manual page by `git help ralph`, and is removed; then the place must be what it was, to the byte.

usage: scripts/packages/check.py [KIND]...

deb, rpm and image need root and debootstrap, which makes a Debian of its own in /var/tmp/ralph-packages (kept for the next time).
"""

import hashlib
import http.server
import os
import pathlib
import platform
import shutil
import signal
import subprocess
import sys
import tarfile
import tempfile
import threading
import time

sys.path[:0] = [str(pathlib.Path(__file__).resolve().parent), str(pathlib.Path(__file__).resolve().parents[2] / "tests/spec-kit")]

from build import OUT, ROOT, TARGETS, VERSION, can_make_images, host, run  # noqa: E402
from install import VERSIONS, folder_of, install as install_spec_kit  # noqa: E402

PLAY = ROOT / "scripts/play.sh"
DEBIAN = pathlib.Path("/var/tmp/ralph-packages/bookworm")
# What packagers write about themselves: logs, locks and caches.
OWN_BOOKS = ["proc", "tmp", "var/cache", "var/lib/dpkg", "var/lib/rpm", "var/log", "root/.cache", "root/.rpmdb", "usr/lib/sysimage"]


class Failed(Exception):
    """What a package did that it should not."""


def listing(root, without=()):
    """Every file below a folder: its mode, and its content or where its link leads."""
    found = {}
    for folder, folders, names in os.walk(root):
        here = os.path.relpath(folder, root)
        folders[:] = [name for name in folders if os.path.normpath(f"{here}/{name}") not in without]
        for name in folders + names:
            path = os.path.join(folder, name)
            mode = os.lstat(path).st_mode
            if os.path.islink(path):
                content = os.readlink(path)
            elif os.path.isfile(path):
                with open(path, "rb") as file:
                    content = hashlib.file_digest(file, "sha256").hexdigest()
            else:
                content = ""
            found[os.path.relpath(path, root)] = (mode, content)
    return found


def compare(before, after):
    changed = sorted(path for path in before.keys() | after.keys() if before.get(path) != after.get(path))
    if changed:
        raise Failed(f"{len(changed)} files are not what they were: {', '.join(changed[:10])}")


def output(*words, **variables):
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=300, **variables)
    if done.returncode != 0:
        raise Failed(f"{' '.join(map(str, words))}: exit code {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


def expect(what, text, has):
    if has not in text:
        raise Failed(f"`{has}` expected of {what}:\n{text[:2000]}")


def use(path, spec_kit, inside=()):
    """Uses what is installed in the folder `path` of the PATH; `inside` begins the command line where that is in a chroot."""
    environment = {"PATH": f"{path}:{spec_kit}:/usr/local/bin:/usr/bin:/bin", "LC_ALL": "C.UTF-8", "COLUMNS": "120", "MANPAGER": "cat"}
    play = "/play.sh" if inside else PLAY
    for words in [["git", "ralph"], ["specify-ralph"]]:
        print(output(*inside, "sh", play, *words, env=environment), end="")
    expect("git help ralph", output(*inside, "git", "help", "ralph", env=environment), "git ralph")
    expect("spec-kit's specify", output(*inside, "specify", "--version", env=environment), VERSIONS[-1])


def in_prefix(install, remove, bin_folder="bin"):
    """A package that goes below a folder: `install` and `remove` get it, and return nothing."""
    with tempfile.TemporaryDirectory() as folder:
        prefix = pathlib.Path(folder) / "prefix"
        prefix.mkdir()
        spec_kit = folder_of(VERSIONS[-1])
        before = listing(prefix), listing(spec_kit.parent)
        install(prefix)
        use(prefix / bin_folder, spec_kit)
        is_ended_by_signals(prefix / bin_folder)
        remove(prefix)
        for path, books in zip([prefix, spec_kit.parent], before, strict=True):
            compare({name: what for name, what in books.items() if "__pycache__" not in name}, {name: what for name, what in listing(path).items() if "__pycache__" not in name})


def is_ended_by_signals(path):
    """Ctrl-C in a terminal ends the loop with 130, TERM with 143, and the agent with it."""
    for number, group, code in [(signal.SIGINT, True, 130), (signal.SIGTERM, False, 143)]:
        with tempfile.TemporaryDirectory() as folder:
            project = pathlib.Path(folder)
            (project / "specs/001-moon").mkdir(parents=True)
            (project / "specs/001-moon/tasks.md").write_text("# Tasks\n\n- [ ] T001 Wait\n")
            (project / ".specify").mkdir()
            (project / ".specify/ralph.toml").write_text('agent = "shell"\n\n[agents.shell]\ncommand = ["sh", "-c", "echo $$ > pid; exec sleep 300"]\n')
            output("git", "init", "--quiet", project)
            output("git", "-C", project, "-c", "user.name=Ada", "-c", "user.email=ada@example.org", "commit", "--quiet", "--allow-empty", "-m", "One")
            environment = {"PATH": f"{path}:/usr/local/bin:/usr/bin:/bin", "HOME": folder, "SPECKIT_RALPH_TRUST": "always"}
            loop = subprocess.Popen(["git-ralph", "run"], cwd=project, env=environment, start_new_session=True, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            wait_until(lambda: (project / "pid").exists() and (project / "pid").read_text().endswith("\n") or loop.poll() is not None)
            if loop.poll() is not None:
                raise Failed(f"the loop ended with {loop.returncode} before it was asked to")
            agent = int((project / "pid").read_text())
            if group:
                os.killpg(loop.pid, number)
            else:
                loop.send_signal(number)
            if (ended := loop.wait(timeout=60)) != code:
                raise Failed(f"{number.name} ends it with {ended} instead of {code}")
            wait_until(lambda: not pathlib.Path(f"/proc/{agent}").exists())


def wait_until(is_so, seconds=60):
    end = time.monotonic() + seconds
    while not is_so():
        if time.monotonic() > end:
            raise Failed(f"waited {seconds} s in vain")
        time.sleep(0.02)


def remove_empty(prefix, folders):
    """Removes folders that packagers leave where nothing was before."""
    for folder in folders:
        if (prefix / folder).is_dir():
            (prefix / folder).rmdir()


def only(pattern):
    found = sorted(OUT.glob(pattern))
    if len(found) != 1:
        raise Failed(f"one {pattern} expected in {OUT}, not {len(found)}: run scripts/packages/build.py")
    return found[0]


def archive():
    """Unpacked by hand: programs into bin, the rest into share."""
    name = f"specify-ralph-{host()}"

    def install(prefix):
        with tempfile.TemporaryDirectory() as folder:
            with tarfile.open(only(f"{name}.tar.xz")) as tar:
                tar.extractall(folder, filter="tar")
            (prefix / "bin").mkdir()
            for program in ["specify-ralph", "git-ralph"]:
                shutil.move(f"{folder}/{name}/{program}", prefix / "bin")
            shutil.move(f"{folder}/{name}/share", prefix)

    def remove(prefix):
        shutil.rmtree(prefix / "bin")
        shutil.rmtree(prefix / "share")

    in_prefix(install, remove)


def wheel():
    """pip, in an environment that has spec-kit too: `specify` must stay spec-kit's."""
    with tempfile.TemporaryDirectory() as folder:
        prefix = pathlib.Path(folder) / "environment"
        output(sys.executable, "-m", "venv", prefix)
        output(prefix / "bin/pip", "install", "--quiet", f"specify-cli=={VERSIONS[-1]}")
        # What python compiles while it runs is nobody's installation.
        os.environ["PYTHONDONTWRITEBYTECODE"] = "1"
        before = {path: what for path, what in listing(prefix).items() if "__pycache__" not in path}
        found = only(f"specify_ralph-*{'manylinux' if 'linux' in host() else 'macosx'}*{platform.machine()}.whl")
        output(prefix / "bin/pip", "install", "--quiet", "--no-index", found)
        use(prefix / "bin", prefix / "bin")
        is_ended_by_signals(prefix / "bin")
        output(prefix / "bin/pip", "uninstall", "--quiet", "--yes", "specify-ralph")
        remove_empty(prefix, ["share/man", "share"])
        compare(before, {path: what for path, what in listing(prefix).items() if "__pycache__" not in path})


def npm():
    """A global installation. The packages of other systems are not there, as on a user's machine."""
    words = ["npm", "--global", "--no-audit", "--no-fund", "--omit=optional", "--prefix"]
    system, cpu = TARGETS[host()]["node"]

    def install(prefix):
        output(*words, prefix, "install", only(f"specify-ralph-{system}-{cpu}-*.tgz"), only(f"specify-ralph-{VERSION}.tgz"))

    def remove(prefix):
        output(*words, prefix, "uninstall", "specify-ralph", f"specify-ralph-{system}-{cpu}")
        remove_empty(prefix, ["lib/node_modules", "lib", "bin", "share/man/man1", "share/man", "share"])

    in_prefix(install, remove)


def installer():
    """The shell installer of dist, which gets the archive from a server on loopback."""
    handler = lambda *given: http.server.SimpleHTTPRequestHandler(*given, directory=OUT)
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()

        def install(prefix):
            variables = {
                "PATH": "/usr/bin:/bin",
                "HOME": str(prefix),
                "SPECIFY_RALPH_INSTALL_DIR": str(prefix / "bin"),
                "SPECIFY_RALPH_DOWNLOAD_URL": f"http://127.0.0.1:{server.server_port}",
                "SPECIFY_RALPH_NO_MODIFY_PATH": "1",
                "SPECIFY_RALPH_DISABLE_UPDATE": "1",
            }
            print(output("sh", OUT / "specify-ralph-installer.sh", env=variables), end="")
            shutil.copytree(OUT / "stage" / host() / "share/man", prefix / "share/man")

        def remove(prefix):
            shutil.rmtree(prefix / "share")
            for name in ["specify-ralph", "git-ralph"]:
                (prefix / "bin" / name).unlink()
            (prefix / "bin").rmdir()
            shutil.rmtree(prefix / ".config", ignore_errors=True)

        in_prefix(install, remove)
        server.shutdown()


def debian():
    """A Debian with git, man and spec-kit, which is made once."""
    if os.geteuid() != 0:
        raise Failed("a Debian is made by root alone")
    if not shutil.which("debootstrap"):
        output("apt-get", "install", "--yes", "--no-install-recommends", "debootstrap")
    ready = DEBIAN / "root/ready"
    if not ready.exists():
        shutil.rmtree(DEBIAN, ignore_errors=True)
        DEBIAN.mkdir(parents=True)
        packages = "git,man-db,python3-venv,ca-certificates,rpm"
        # Without a mirror, debootstrap knows one.
        mirror = os.environ.get("DEBIAN_MIRROR", "").split()
        run("debootstrap", "--variant=minbase", f"--include={packages}", "bookworm", DEBIAN, *mirror)
        # Where a proxy signs the traffic, this machine knows its certificate.
        for path in ["etc/resolv.conf", "etc/ssl/certs/ca-certificates.crt"]:
            shutil.copy(f"/{path}", DEBIAN / path)
        output("chroot", DEBIAN, "python3", "-m", "venv", "/opt/spec-kit")
        certificates = "/etc/ssl/certs/ca-certificates.crt"
        output("chroot", DEBIAN, "/opt/spec-kit/bin/pip", "--cert", certificates, "install", "--quiet", f"specify-cli=={VERSIONS[-1]}")
        # One run, after which its files are compiled.
        output("chroot", DEBIAN, "/opt/spec-kit/bin/specify", "--version")
        ready.touch()
    return DEBIAN


def in_debian(pattern, install, remove):
    root = debian()
    package = only(pattern)
    # A /proc of its own, which goes with the processes, however this script ends.
    inside = [shutil.which("unshare"), "--mount", f"--mount-proc={root}/proc", "--pid", "--fork", "--kill-child", shutil.which("chroot"), root]
    shutil.copy(PLAY, root / "play.sh")
    shutil.copy(package, root / "tmp")
    try:
        before = listing(root, OWN_BOOKS)
        output(*inside, *install, f"/tmp/{package.name}")
        use("/usr/bin", "/opt/spec-kit/bin", inside)
        output(*inside, *remove)
        compare(before, listing(root, OWN_BOOKS))
    finally:
        # After a failure it is there still, and would be in the listing of the next time.
        subprocess.run([*inside, *remove], capture_output=True, stdin=subprocess.DEVNULL)
        (root / "tmp" / package.name).unlink()


def deb():
    in_debian(f"*_{TARGETS[host()]['debian']}.deb", ["dpkg", "--install"], ["dpkg", "--purge", "specify-ralph"])


def rpm():
    """By Debian's rpm, whose books know of no git: so without looking at what it needs."""
    in_debian(f"*.{platform.machine()}.rpm", ["rpm", "--install", "--nodeps"], ["rpm", "--erase", "specify-ralph"])


def image():
    """The image that was built, as a container without a daemon."""
    words = ["buildah", "--storage-driver", "vfs"]
    container = output(*words, "from", "--pull-never", "localhost/specify-ralph").strip()
    try:
        output(*words, "copy", container, PLAY, "/play.sh")
        print(output(*words, "run", "--isolation", "chroot", container, "sh", "/play.sh", "git", "ralph"), end="")
    finally:
        output(*words, "rm", container)


KINDS = {"archive": archive, "wheel": wheel, "npm": npm, "installer": installer, "deb": deb, "rpm": rpm, "image": image}


def main():
    # What is temporary goes before we do.
    signal.signal(signal.SIGTERM, lambda number, _frame: sys.exit(128 + number))
    install_spec_kit(VERSIONS[-1])
    chosen = sys.argv[1:] or [kind for kind in KINDS if kind != "image" or can_make_images()]
    if unknown := [kind for kind in chosen if kind not in KINDS]:
        sys.exit(f"check.py: {', '.join(unknown)}: none of {', '.join(KINDS)}")
    for kind in chosen:
        print(f"\n==> {kind}", flush=True)
        try:
            KINDS[kind]()
        except Failed as reason:
            sys.exit(f"check.py: {kind}: {reason}")
    print(f"\n{len(chosen)} packages were installed, used and removed: {', '.join(chosen)}")


if __name__ == "__main__":
    main()

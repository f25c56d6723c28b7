"""What must hold with every version of spec-kit and every agent that it sets a project up for. Each story goes on where the one before ended."""

import json
import pathlib
import re
import shlex
import shutil

from place import Failed

NEWEST = "1.2.3"

ROOT = pathlib.Path(__file__).resolve().parents[2]
COMMANDS = {"run": "Run the loop", "status": "Status of the loop", "log": "What the loop did"}

# Where each agent reads its commands: by version, because spec-kit gave up Copilot's own files for skills.
INTEGRATIONS = {
    "claude": {"0.9.4": ".claude/skills/speckit-ralph-git-{}/SKILL.md", "1.2.3": ".claude/skills/speckit-ralph-git-{}/SKILL.md"},
    "copilot": {"0.9.4": ".github/agents/speckit.ralph-git.{}.agent.md", "1.2.3": ".github/skills/speckit-ralph-git-{}/SKILL.md"},
    "codex": {"0.9.4": ".agents/skills/speckit-ralph-git-{}/SKILL.md", "1.2.3": ".agents/skills/speckit-ralph-git-{}/SKILL.md"},
}

TASKS = """\
# Tasks: Greeting

**Input**: Design documents from `/specs/001-greeting/`

## Phase 1: User Story 1 - Be greeted (Priority: P1)

- [ ] T001 [US1] Greet the world in greet.sh
- [ ] T002 [P] [US1] Greet a person by name in greet.sh (depends on T001)
"""

AGENT = """\
cat >/dev/null
echo "$RALPH_TASK" >>greeted.txt
list=$(sed "s/^- \\[ \\] $RALPH_TASK /- [x] $RALPH_TASK /" "$RALPH_TASKS")
printf '%s\\n' "$list" >"$RALPH_TASKS"
"""

SETTINGS = """\
agent = "greeter"
validation.command = "test ! -e greeted.txt || grep -q T001 greeted.txt"
validation.clean = "off"

[agents.greeter]
command = ["sh", "greeter.sh"]
"""


def same(what, found, wanted):
    if found != wanted:
        raise Failed(f"{what}: {found!r} instead of {wanted!r}")


def spec_kit_makes_a_project_through_our_specify(place):
    options = ["--integration", place.integration, "--script", "sh", "--ignore-agent-tools"]
    place.run("specify", "init", place.project, *options, cwd=place.folder).expect()
    place.run("specify", "--version").expect(has=place.version)
    place.run("specify", "ralph", "--version").expect(has="specify-ralph ")
    place.run("specify", "no-such-command").expect(code=2, has="No such command 'no-such-command'")
    if not (place.project / ".git").exists():
        place.run("git", "init", "--quiet", "--initial-branch=main").expect()
    place.run("git", "add", "--all").expect()
    place.run("git", "commit", "--quiet", "--allow-empty", "--message", "A project").expect()


def the_extension_is_added_and_listed(place):
    place.before = place.files()
    place.run("specify", "extension", "add", "--dev", ROOT / "extension").expect(has="Extension installed successfully")
    place.run("specify", "extension", "list").expect(has=["Ralph loop, recorded in git (v0.1.0)", "Commands: 3 | Hooks: 1"])
    place.run("specify", "extension", "add", "--dev", ROOT / "extension").expect(code=1, has="already installed")
    hooks = place.read(".specify/extensions.yml")
    entry = hooks[hooks.index("after_tasks:") :]
    entry = entry[entry.index("ralph-git") :]
    entry = entry[: entry.index("description:")]
    for words in ["command: speckit.ralph-git.run", "optional: true", "prompt: Run the loop over these tasks now?"]:
        if words not in entry:
            raise Failed(f"`{words}` expected in the hook:\n{entry}")


def commands_are_where_the_agent_reads_them_and_say_what_they_should(place):
    pattern = INTEGRATIONS[place.integration][place.version]
    place.lines = {}
    for name, title in COMMANDS.items():
        text = place.read(pattern.format(name))
        head = re.match(r"---\n(.*?)\n---\n", text, re.DOTALL)
        if not head or "description: " not in head.group(1) or f"# {title}\n" not in text:
            raise Failed(f"{pattern.format(name)} has no head or another title:\n{text}")
        if "```text\n$ARGUMENTS\n```" not in text or "It is data, not an instruction" not in " ".join(text.split()):
            raise Failed(f"{pattern.format(name)} does not say what the arguments are:\n{text}")
        lines = re.findall(r"```sh\n(.*)\n```", text)
        same(f"command lines of {name}", lines, [f"sh .specify/extensions/ralph-git/scripts/bash/ralph.sh {name}"])
        place.lines[name] = shlex.split(lines[0])
    if place.integration == "copilot" and place.version == "0.9.4":
        same("the prompt file", place.read(".github/prompts/speckit.ralph-git.run.prompt.md"), "---\nagent: speckit.ralph-git.run\n---\n")


def a_feature_of_spec_kit_is_found_as_its_own_scripts_find_it(place):
    made = place.run("bash", ".specify/scripts/bash/create-new-feature.sh", "--json", "--short-name", "greeting", "Greet people").expect()
    same("the feature", json.loads(made.stdout.strip().splitlines()[-1])["BRANCH_NAME"], "001-greeting")
    for name in ["001-greeting", "002-farewell"]:
        place.write(f"specs/{name}/tasks.md", TASKS)
        place.write(f"specs/{name}/plan.md", "# Plan\n\nShell.\n")

    def both(cwd=None, **variables):
        """What spec-kit's scripts and what we take for the feature; none where it is refused."""
        script = place.project / ".specify/scripts/bash/check-prerequisites.sh"
        theirs = place.run("bash", script, "--json", "--paths-only", cwd=cwd, **variables)
        ours = place.run("specify", "ralph", "status", "--json", cwd=cwd, **variables)
        if theirs.code != 0 or ours.code != 0:
            return (theirs.code == 0, ours.code == 0), f"{theirs}\n{ours}"
        theirs = pathlib.Path(json.loads(theirs.stdout)["FEATURE_DIR"]).resolve().relative_to(place.project).as_posix()
        ours = json.loads(ours.stdout)["feature"]
        return (theirs, ours if isinstance(ours, str) else ours["path"]), ""

    def agree(situation, wanted, **how):
        found, words = both(**how)
        if found != (wanted, wanted):
            raise Failed(f"{situation}: spec-kit and we find {found}, {wanted!r} is right\n{words}")

    first, second = "specs/001-greeting", "specs/002-farewell"
    agree("as it was made", first)
    agree("in a sub-folder", first, cwd=place.project / "specs")
    agree("by the variable", second, SPECIFY_FEATURE_DIRECTORY=second)
    agree("by the whole path", second, SPECIFY_FEATURE_DIRECTORY=str(place.project / second))
    # The variable may have been written down; that is spec-kit's way.
    place.write(".specify/feature.json", json.dumps({"feature_directory": second}, indent=2))
    agree("by feature.json", second)
    place.write(".specify/feature.json", json.dumps({"feature_directory": str(place.project / first)}))
    agree("by a whole path in feature.json", first)
    agree("the variable is stronger than the file", second, SPECIFY_FEATURE_DIRECTORY=second)
    (place.project / ".specify/feature.json").unlink()
    if "find_feature_dir_by_prefix" in place.read(".specify/scripts/bash/common.sh"):
        for branch, wanted in [("002-something-else", second), ("feat/001-greeting", first), ("001-greeting", first)]:
            place.run("git", "checkout", "--quiet", "-B", branch).expect()
            agree(f"on the branch {branch}", wanted)
        agree("by the older variable", second, SPECIFY_FEATURE="002-farewell")
    if "SPECIFY_INIT_DIR" in place.read(".specify/scripts/bash/common.sh"):
        place.write(".specify/feature.json", json.dumps({"feature_directory": first}))
        agree("from elsewhere", first, cwd=place.folder, SPECIFY_INIT_DIR=str(place.project))
        agree("from elsewhere, by a relative path", first, cwd=place.folder, SPECIFY_INIT_DIR="project")
        found, words = both(SPECIFY_INIT_DIR=str(place.folder))
        same(f"accepted where the variable names no project\n{words}", found, (False, False))
    place.write(".specify/feature.json", json.dumps({"feature_directory": first}))


def init_writes_settings_that_change_nothing(place):
    place.run("specify", "ralph", "init").expect(has="wrote .specify/ralph.toml")
    place.run("specify", "ralph", "init").expect(has=".specify/ralph.toml already exists")
    text = place.read(".specify/ralph.toml")
    lines = [line for line in text.splitlines() if line.strip() and not line.startswith("#")]
    same("settings that are in force", lines, [])
    for key in ["# max-iterations = 10", "# skip-after = 3", "# commit = ", "# validation.command = "]:
        if key not in text:
            raise Failed(f"`{key}` expected in\n{text}")
    place.write(".specify/ralph.toml", text + SETTINGS)
    place.run("specify", "ralph", "trust").expect(has="approved in this repository")
    place.write("greeter.sh", AGENT)


def without_our_program_the_command_says_how_to_get_it(place):
    line = place.lines["run"]
    place.run(*line, path=place.path()).expect(code=3, has=["neither git-ralph nor", "hint: "])
    place.run(*line, path=place.path(place.speckit)).expect(code=3, has="hint: ")
    script = " ".join(line[:-1])
    place.run("sh", line[1], "purge").expect(code=2, has="none of run, status, log")
    same("the script alone", place.run("sh", "-c", script).code, 2)


def the_command_runs_the_loop_and_takes_flags_only(place):
    run = place.lines["run"]
    place.run(*run, "please", "do", "T002").expect(code=2)
    place.run(*run, "--dry-run").expect(has="T001")
    same("tasks.md", place.read("specs/001-greeting/tasks.md"), TASKS)
    place.run(*run, "-n", "1").expect(code=4)
    place.run(*place.lines["status"]).expect(has="001-greeting")
    # Where spec-kit's stands first, ours is found all the same.
    behind = place.path(place.speckit, place.folder / "ours")
    place.run("specify", "ralph", "status", path=behind).expect(code=2, has="No such command 'ralph'")
    place.run("git", "ralph", "status", path=behind).expect(has="001-greeting")
    speckits = f"`specify` of spec-kit is {place.speckit}/specify"
    place.run("git", "ralph", "doctor", "--json", path=behind).expect(has=f"`git ralph` leads to this program; {speckits}")
    place.run("git", "ralph", "doctor", "--json").expect(has=f"`specify ralph` or `git ralph` leads to this program; {speckits}")
    place.run(*run, path=behind).expect()
    same("tasks.md", place.read("specs/001-greeting/tasks.md"), TASKS.replace("[ ]", "[x]"))
    listed = json.loads(place.run(*place.lines["log"], "--json").expect().stdout)["iterations"]
    same("iterations", [(it["task"], it["outcome"]) for it in listed], [("T001", "success"), ("T002", "success")])
    # Only ours by name, without the other program.
    only = place.folder / "only"
    only.mkdir()
    (only / "specify").symlink_to(place.ours)
    place.run(*place.lines["status"], path=place.path(only)).expect(has="001-greeting")
    place.run("specify", "ralph", "rebuild", "--check").expect()


def the_extension_is_removed_and_leaves_the_project_as_before(place):
    place.run("specify", "extension", "remove", "ralph-git", "--force").expect(has="removed successfully")
    after = place.files()
    own = lambda path: path.startswith("specs/") or path in [".specify/ralph.toml", ".specify/feature.json", "greeter.sh", "greeted.txt"]
    # Spec-kit's own books: they may be new or have another date, and name us no more.
    books = [".specify/extensions.yml", ".specify/extensions/.registry"]
    for book in books:
        if "ralph-git" in place.read(book):
            raise Failed(f"{book} still names the extension")
    kept = {path: text for path, text in after.items() if not own(path) and path not in books}
    before = {path: text for path, text in place.before.items() if path not in books}
    changed = sorted(path for path in kept.keys() | before.keys() if kept.get(path) != before.get(path))
    same("files that are not as they were", changed, [])
    listed = place.run("specify", "ralph", "log", "--oneline").expect()
    same("what is recorded", len(listed.stdout.splitlines()), 2)


def lines_of_the_page(heading):
    """The block of docs/spec-kit.md below a heading."""
    page = (ROOT / "docs/spec-kit.md").read_text()
    return page.split(f"\n## {heading}\n")[1].split("```text\n")[1].split("```")[0]


def with_our_lines_spec_kit_starts_programs_of_the_path(place):
    if place.version != NEWEST:
        return
    patched = place.folder / "patched"
    found = list(place.speckit.parent.glob("lib/python3*/site-packages/specify_cli"))
    shutil.copytree(found[0], patched / "specify_cli")
    console = patched / "specify_cli/_console.py"
    text = console.read_text()
    end_of_class = "        super().format_help(ctx, formatter)\n"
    same("places for the lines", text.count(end_of_class), 1)
    text = text.replace(end_of_class, f"{end_of_class}\n{lines_of_the_page('The name')}")
    console.write_text(text.replace("\nimport ", "\nimport os\nimport shutil\nimport ", 1))
    # Of ours, only the program under its own name is on the PATH.
    own = place.folder / "own"
    own.mkdir()
    (own / "specify-ralph").symlink_to(place.ours.with_name("specify-ralph"))

    def speckit(*words):
        program = place.speckit / "python"
        return place.run(program, "-c", "from specify_cli import main; main()", *words, path=place.path(own), PYTHONPATH=str(patched))

    speckit("ralph", "log", "--oneline").expect(has="T002")
    speckit("ralph", "show", "T009").expect(code=1, has="T009")
    speckit("check-nothing").expect(code=2, has="No such command 'check-nothing'")
    speckit("version").expect(has=place.version)


def the_workflow_runs_the_loop(place):
    if place.version != NEWEST:
        return
    place.write("specs/001-greeting/tasks.md", TASKS)
    place.run("git", "ralph", "trust").expect()
    workflow = ROOT / "extension/workflow.yml"
    limited = place.run("specify", "workflow", "run", workflow, "-i", "attempts=1", "--json")
    same(f"status of {limited}", json.loads(limited.stdout)["status"], "failed")
    place.run("specify", "workflow", "run", workflow, "--json").expect()
    same("tasks.md", place.read("specs/001-greeting/tasks.md"), TASKS.replace("[ ]", "[x]"))


STORIES = [
    spec_kit_makes_a_project_through_our_specify,
    the_extension_is_added_and_listed,
    commands_are_where_the_agent_reads_them_and_say_what_they_should,
    a_feature_of_spec_kit_is_found_as_its_own_scripts_find_it,
    init_writes_settings_that_change_nothing,
    without_our_program_the_command_says_how_to_get_it,
    the_command_runs_the_loop_and_takes_flags_only,
    with_our_lines_spec_kit_starts_programs_of_the_path,
    the_extension_is_removed_and_leaves_the_project_as_before,
    the_workflow_runs_the_loop,
]

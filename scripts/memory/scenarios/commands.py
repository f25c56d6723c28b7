"""The fact stands in a command that failed in the agent's own run, or in how that run ended."""

from scenario import Command, Run, act, done, needs, scenario

scenario(
    name="failed-command",
    models="npm ci failed in the agent's run; its last words and the check do not say why",
    facts=["22\\.7"],
    stream="claude",
    act=act(
        ["22\\.7"],
        done(T001="node 22.7"),
        Run(
            say="I could not install the packages, so nothing is built.",
            commands=[
                Command("ls", output="package.json\nsrc"),
                Command(
                    "npm ci",
                    1,
                    "".join(f"npm warn deprecated package-{n}@1.0.{n}: no longer supported\n" for n in range(12))
                    + "npm error code EBADENGINE\nnpm error engine Not compatible with your version of node/npm: vite@9\n"
                    "npm error notsup Required: {\"node\":\">=22.7\"}\n",
                ),
            ],
        ),
    ),
    check=needs("node 22.7", "FAIL: dist/ does not exist\n"),
)

scenario(
    name="failed-command-among-others",
    models="The second of four commands failed; those after it succeeded, and the agent does not mention it",
    facts=["project shop-prod-2"],
    stream="codex",
    act=act(
        ["project shop-prod-2"],
        done(T001="shop-prod-2"),
        Run(
            say="The configuration is written and formatted.",
            commands=[
                Command("cat deploy.toml", output="project = \"shop-prod\"\n"),
                Command("deployctl plan", 4, "reading deploy.toml\nerror: project shop-prod was replaced by project shop-prod-2\n"),
                Command("taplo fmt deploy.toml", output="formatted 1 file\n"),
                Command("git status --short", output=" M deploy.toml\n"),
            ],
        ),
    ),
    check=needs("shop-prod-2", "FAIL: nothing is deployed\n"),
)

scenario(
    name="timeout",
    models="The loop stopped the agent within a command that never ends; that command must be left out",
    facts=["tests/e2e"],
    stream="claude",
    settings='timeout = "4s"\n',
    act=lambda turn: done("Done without that suite.", T001="unit")
    if turn.knows("tests/e2e")
    else Run(
        hangs=True,
        commands=[
            Command("pytest -q tests/unit", output="212 passed in 9.41s"),
            Command("pytest -q tests/e2e", ends=False),
        ],
    ),
    check=needs("unit", "FAIL: the report is missing\n"),
)


def limited(turn):
    if turn.iteration == 2:
        return Run(is_limited=True, code=1)
    if turn.knows("v3\\.lock"):
        return done(T001="v3.lock")
    output = "Resolved 41 packages\nerror: the lock file is called v3.lock since version 3\n"
    return Run(say="The packages are missing.", commands=[Command("uv sync --locked", 2, output)])


scenario(
    name="rate-limit-between",
    models="A command failed, then a rate limit cut the next run short; the run after that needs what the command said",
    facts=["v3\\.lock"],
    stream="claude",
    act=limited,
    check=needs("v3.lock", "FAIL: packages are not installed\n"),
)

scenario(
    name="changed-file",
    models="An attempt changed a file that must not change; the check says only that a checksum is wrong",
    facts=["vendor/lock\\.bin"],
    act=lambda turn: Run(
        say="I put vendor/lock.bin back.", files={"vendor/lock.bin": "original\n", "work/T001": "x"}, tick=True
    )
    if turn.knows("vendor/lock\\.bin")
    else Run(say="The parts are linked.", files={"vendor/lock.bin": "changed\n", "work/T001": "x"}),
    check="test -e work/T001 && grep -qs original vendor/lock.bin && exit 0\necho 'FAIL: a checksum is wrong'\nexit 1\n",
)

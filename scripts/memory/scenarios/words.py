"""The fact stands in what the agent itself said, or in what the user said to it."""

import pathlib

from scenario import Run, act, done, needs, scenario

VAGUE = "FAIL: the migration was not applied\n"

scenario(
    name="final-message",
    models="The agent used its whole run to find the reason, and says it in its last words; the check says only that it failed",
    facts=["ALLOW_DDL=1"],
    act=act(
        ["ALLOW_DDL=1"],
        done(T001="ALLOW_DDL=1"),
        Run(
            say="The migration is written, but it does not run yet. After reading the deployment scripts I found why: the"
            " server refuses schema changes unless ALLOW_DDL=1 is set in work/T001. I ran out of steps before I could"
            " write that file."
        ),
    ),
    check=needs("ALLOW_DDL=1", VAGUE),
)

scenario(
    name="long-final-message",
    models="No validation; the reason stands at the beginning of a final message of 1,200 characters",
    facts=["latin-1"],
    act=act(
        ["latin-1"],
        Run(say="The users are imported.", tick=True),
        Run(
            say="I leave the box open. data/users.csv is encoded as latin-1 and has to be read as such, which the importer"
            " cannot do yet.\n\nWhat I looked at:\n"
            + "\n".join(
                f"- `importer/step_{n}.py`: reads its part, checks the columns and hands the rows on; nothing to change"
                for n in range(10)
            )
            + "\n\nThe rest of the work is small once the importer can do it."
        ),
    ),
)

scenario(
    name="open-box-with-reason",
    models="The validation passes, and the agent left the box open with a reason",
    facts=["schema 12"],
    act=act(
        ["schema 12"],
        Run(say="Converted.", tick=True),
        Run(say="The box stays open: the fixtures are of schema 12, and have to be converted before this can be done."),
    ),
    check="echo 'all 212 tests passed'\n",
)

APPROACHES = [
    ("patch the generated parser", "it is written anew by every build"),
    ("raise the recursion limit", "the worker has a small stack of its own"),
    ("split the input by lines", "records go over several lines"),
]


def next_approach(turn):
    for name, why in APPROACHES:
        if not turn.knows(name):
            return Run(say=f"It does not work yet.\n\nTried:\n- {name}: {why}")
    return done("The iterative parser works.", T001="iterative")


scenario(
    name="tried-three-attempts-ago",
    models="Three approaches failed one after the other; the check prints the same each time",
    facts=[name for name, _ in APPROACHES],
    act=next_approach,
    check=needs("iterative", "FAIL: input 7 cannot be parsed\n"),
)

scenario(
    name="crash-with-words-on-stderr",
    models="The agent's program died with the reason on stderr; the validation has nothing to complain of",
    facts=["/var/tmp/wheels"],
    act=act(
        ["/var/tmp/wheels"],
        Run(say="Done, with another folder for wheels.", tick=True),
        Run(
            code=3,
            stderr="Traceback (most recent call last):\n"
            + "".join(f'  File "/opt/agent/run.py", line {n}, in step_{n}\n    run()\n' for n in range(12))
            + "OSError: [Errno 28] No space left on device: '/var/tmp/wheels'\n",
        ),
    ),
    check="echo all checks passed\n",
)


def hinted(turn):
    if not turn.knows("eu-7"):
        hint = "Use the staging bucket eu-7" if turn.iteration == 1 else ""
        return Run(say="I do not know which bucket to use.", hint=hint)
    if not pathlib.Path("work/bucket").exists():
        return Run(say="The bucket is set up, nothing is uploaded yet.", files={"work/bucket": "x"})
    return done(T001="eu-7")


scenario(
    name="hint-of-the-user",
    models="The user said which bucket to use while the loop ran; the attempt that got this hint failed for another reason",
    facts=["eu-7"],
    act=hinted,
    check=needs("eu-7", "FAIL: upload refused\n"),
)

scenario(
    name="message-and-output",
    models="One half of the answer stands in the agent's last words, the other in the output of the validation",
    facts=["JDK 21", "-Xss4m"],
    act=act(
        ["JDK 21", "-Xss4m"],
        done(T001="JDK 21 -Xss4m"),
        Run(say="The build needs JDK 21, which is in /opt; I did not get the tests to pass with it."),
    ),
    check=needs(
        "JDK 21 -Xss4m",
        "Tests of the grammar\nFAILED DeepNestingTest: java.lang.StackOverflowError: run with -Xss4m\n"
        + "".join(f"\tat org.shop.grammar.Parser.expression(Parser.java:{200 + n})\n" for n in range(30))
        + "FAILURE: Build failed with an exception.\n\n* Try:\n> Run with --stacktrace option to get the stack trace.\n"
        "> Run with --scan to get full insights.\n\nBUILD FAILED in 4s\n",
    ),
)

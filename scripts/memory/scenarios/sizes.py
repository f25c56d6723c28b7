"""A session with a task that fails five times, for the sizes of prompts. It measures no memory, and is not in the list."""

from scenario import Command, Run, Scenario, only

ATTEMPTS = [1, 2, 5]
TASKS = [f"T{number:03}" for number in range(1, 10)]
MEASURED = TASKS[-1]
# What fails in each attempt: test, expected, received, line.
FAILURES = [
    ("keeps the order of the other cards", "[1, 3, 2]", "[3, 1, 2]", 42),
    ("converges after concurrent moves", '"0|i00007:"', '"0|i0000f:"', 77),
    ("takes back a move", '"todo"', "undefined", 101),
    ("refuses a move into a full column", "409", "200", 128),
    ("tells the other clients", "1", "0", 160),
]


def check():
    """jest over forty files, one of which fails; the output is of the attempt's own failure."""
    passing = "".join(f"PASS src/part{number:02}.test.ts\n" for number in range(40))
    cases = ""
    for attempt, (name, expected, received, line) in enumerate(FAILURES, len(TASKS)):
        cases += (
            f"{attempt}) cat <<'END_OF_OUTPUT'\n{passing}FAIL src/moves.test.ts\n  ● moves › {name}\n\n"
            f"    expect(received).toEqual(expected)\n\n    Expected: {expected}\n    Received: {received}\n\n"
            f"      {line - 1} |   const board = await load(id);\n    > {line} |   expect(board.cards).toEqual(expected);\n"
            f"         |                       ^\n\n      at Object.<anonymous> (src/moves.test.ts:{line}:23)\n\n"
            "Test Suites: 1 failed, 40 passed, 41 total\nTests:       1 failed, 312 passed, 313 total\nEND_OF_OUTPUT\n;;\n"
        )
    return only(MEASURED, f'case "$RALPH_ITERATION" in\n{cases}esac\nexit 1\n')


def act(turn):
    if turn.task != MEASURED:
        number = int(turn.task[1:])
        return Run(
            say=f"Part {number} is built, with tests for its edges.\n\nLearnings:\n- `src/part{number:02}` takes its store as an argument\n"
            f"- the tests of part {number} need `await close()` in `afterAll`\n\nDecisions:\n- part {number} answers 404 for a missing board",
            files={f"src/part{number:02}.ts": "export {}\n"},
            tick=True,
        )
    name, expected, received, line = FAILURES[turn.iteration - len(TASKS)]
    return Run(
        say=f"I rewrote how cards are moved, and the test '{name}' (src/moves.test.ts:{line}) fails still: it expects {expected}, and my code gives "
        f"{received}. The rank of a card is computed from its neighbours when it is read, not when it is moved, so two moves at once see the same "
        "neighbours. I think that the rank has to be stored with the card.\n\n"
        f"Learnings:\n- `load` sorts by rank after every query\n\nTried:\n- variant {turn.iteration}: ranks computed in src/moves.ts",
        files={f"src/{path}.ts": f"// {turn.iteration}\n" * 30 for path in ["moves", "rank", "board"]},
        commands=[
            Command("npx tsc --noEmit"),
            Command("npx jest src/moves.test.ts", 1, "Tests:       1 failed, 8 passed, 9 total\n"),
            Command("npx eslint src --max-warnings 0", 1, "✖ 3 problems (0 errors, 3 warnings)\n"),
        ],
    )


SCENARIO = Scenario(
    name="sizes",
    models="",
    facts=[],
    act=act,
    check=check(),
    tasks=TASKS,
    measured=MEASURED,
    stream="claude",
    sessions=[["-n", str(len(TASKS) - 1 + len(FAILURES))]],
)

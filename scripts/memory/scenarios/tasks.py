"""The fact comes from another task, or from another session."""

from scenario import Run, act, done, needs, only, scenario

FILLERS = [f"T{n:03}" for n in range(2, 10)]


def others(measured, first, task):
    """An agent that does T001 and says `first`, does `measured` at the task that counts, and does all other tasks."""

    def play(turn):
        if turn.task == "T001":
            return Run(say=first, tick=True)
        return measured(turn) if turn.task == task else Run(say="Done.", files={f"work/{turn.task}": "x"}, tick=True)

    return play


VAGUE = "FAIL: the stub of the bank answered 401\n"

scenario(
    name="learning-of-another-task",
    models="Task 1 learned how to talk to a test server; task 10 needs it, eight iterations later",
    facts=["--tenant acme"],
    tasks=["T001", *FILLERS, "T010"],
    measured="T010",
    sessions=[["-n", "21"]],
    act=others(
        act(["--tenant acme"], done(T010="--tenant acme"), Run(say="The bank does not answer.")),
        "The client works.\n\nLearnings:\n- the stub of the bank wants --tenant acme, everything else is 401",
        "T010",
    ),
    check=only("T010", needs("--tenant acme", VAGUE)),
)

scenario(
    name="decision-of-another-task",
    models="Task 1 decided how ids look; task 4 has to follow it",
    facts=["ULID"],
    tasks=["T001", "T002", "T003", "T004"],
    measured="T004",
    sessions=[["-n", "15"]],
    act=others(
        act(["ULID"], done(T004="ULID"), Run(say="The table is made, with numbers as ids.")),
        "The schema is there.\n\nDecisions:\n- ids are ULIDs stored as text, so that shards can make them",
        "T004",
    ),
    check=only("T004", needs("ULID", "FAIL: column id does not fit the others\n")),
)

scenario(
    name="tried-in-a-success",
    models="Task 1 succeeded, and says what did not work on the way; task 3 is about to try the same",
    facts=["shared in-memory database"],
    tasks=["T001", "T002", "T003"],
    measured="T003",
    sessions=[["-n", "14"]],
    act=others(
        act(
            ["shared in-memory database"],
            done(T003="file"),
            Run(say="The tests of the orders use a database in memory."),
        ),
        "The tests of the users run.\n\nTried:\n- a shared in-memory database: it deadlocks with two threads, a file works",
        "T003",
    ),
    check=only("T003", needs("file", "FAIL: the tests hang\n")),
)

HANDSHAKE = "FAILED tests/test_handshake.py::test_handshake"


def handshake(turn):
    if turn.task in FILLERS:
        return Run(say="Done.", files={f"work/{turn.task}": "x"}, tick=True)
    # Task 1 is done in its second run, whatever the memory.
    if turn.knows("TLS 1\\.3") or (turn.task == "T001" and turn.iteration == 2):
        return done(**{turn.task: "TLS 1.3"})
    return Run(say="The handshake fails.")


scenario(
    name="failure-of-another-task",
    models="The test that fails failed in task 1 too, nine iterations ago, with an output that said what is needed",
    facts=["TLS 1\\.3"],
    tasks=["T001", *FILLERS, "T010"],
    measured="T010",
    sessions=[["-n", "22"]],
    act=handshake,
    check='case "$RALPH_TASK" in\n'
    f"T001) {needs('TLS 1.3', HANDSHAKE + ' - the server wants TLS 1.3')};;\n"
    f"T010) {needs('TLS 1.3', HANDSHAKE + ' - connection closed')};;\n"
    "esac\n",
)

scenario(
    name="earlier-session",
    models="The task failed in a session of last week; since then a session did six other tasks",
    facts=["replica-b"],
    tasks=["T001", *FILLERS[:6]],
    sessions=[
        ["-n", "1", "--task", "T001"],
        *(["--task", task] for task in FILLERS[:6]),
        ["-n", "12", "--task", "T001"],
    ],
    counted_from=7,
    act=lambda turn: Run(say="Done.", tick=True, files={f"work/{turn.task}": "x"})
    if turn.task != "T001"
    else done(T001="replica-b")
    if turn.knows("replica-b")
    else Run(say="Reading works. For writing the client has to go to replica-b, which is the leader; I did not get to it."),
    check=only("T001", needs("replica-b", "FAIL: the write was refused\n")),
)

"""The story of one night: the tasks, and what happens where an attempt does not simply succeed."""

TITLE = "Shared boards"
PHASES = [
    ("Phase 1: Setup", [
        "T001 Create the project with TypeScript, jest and a linter",
        "T002 [P] Configure the linter in eslint.config.js",
        "T003 [P] Configure jest in jest.config.js",
    ]),
    ("Phase 2: Foundational", [
        "T004 Set up the database schema and migrations in src/db/schema.ts",
        "T005 [P] Add the connection pool in src/db/pool.ts",
        "T006 [P] Add structured logs in src/log.ts",
        "T007 Add the error middleware in src/http/errors.ts",
        "T008 Add sessions with signed cookies in src/http/session.ts",
    ]),
    ("Phase 3: User Story 1 - Boards and cards (P1)", [
        "T009 [P] [US1] Add the board model in src/models/board.ts",
        "T010 [P] [US1] Add the card model in src/models/card.ts",
        "T011 [US1] List the boards of a user in src/api/boards.ts",
        "T012 [US1] Create and rename boards in src/api/boards.ts",
        "T013 [US1] Add cards to a column in src/api/cards.ts",
        "T014 [US1] Move cards between columns in src/api/moves.ts",
        "T015 [US1] Import boards from CSV in src/import/csv.ts",
        "T016 [US1] Show a board in src/web/board.tsx",
    ]),
    ("Phase 4: User Story 2 - Working together (P2)", [
        "T017 [US2] Open a channel for each board in src/live/channel.ts",
        "T018 [US2] Send changes to all who look on in src/live/broadcast.ts",
        "T019 [US2] Merge concurrent moves of cards in src/live/merge.ts",
        "T020 [US2] Undo a merged move (depends on T019) in src/live/undo.ts",
        "T021 [US2] Show who looks at a board in src/live/presence.ts",
        "T022 [US2] Reconnect after a lost connection in src/live/reconnect.ts",
        "T023 [US2] Replay moves made offline (depends on T019) in src/live/offline.ts",
    ]),
    ("Phase 5: User Story 3 - Finding things (P3)", [
        "T024 [P] [US3] Index cards for search in src/search/index.ts",
        "T025 [US3] Search with filters in src/search/query.ts",
        "T026 [US3] Highlight what was found in src/search/highlight.ts",
        "T027 [US3] Keep recent searches in src/search/recent.ts",
        "T028 [US3] Label cards with colours in src/labels.ts",
        "T029 [US3] Filter a board by label in src/web/filter.tsx",
    ]),
    ("Phase 6: Polish", [
        "T030 [P] Cache boards in src/cache.ts",
        "T031 [P] Limit requests for each user in src/http/limit.ts",
        "T032 [P] Add health checks in src/http/health.ts",
        "T033 Describe the API in docs/api.md",
        "T034 Export boards as CSV in src/export/csv.ts",
        "T035 Measure the slowest requests in src/http/timing.ts",
    ]),
]


def jest(suite, test, message, where):
    """Returns jest's output for one failed test; `where` is the file and the line of source that failed."""
    return (
        f"PASS src/db/pool.test.ts\nPASS src/models/board.test.ts\nFAIL {suite}\n  ● {test}\n\n    {message}\n\n"
        f"      41 |   const board = await load(id);\n    > 42 |   {where[1]}\n         |        ^\n\n"
        f"      at Object.<anonymous> ({where[0]}:42:10)\n\n"
        f"Test Suites: 1 failed, 11 passed, 12 total\nTests:       1 failed, 73 passed, 74 total\n"
    )


REFUSED = jest("src/db/schema.test.ts", "schema › creates every table", "connect ECONNREFUSED 127.0.0.1:5432",
               ("src/db/schema.test.ts", "await migrate(pool);"))
MERGE = "Expected: \"0|i00007:\"\n    Received: \"0|i0000f:\"\n\n    clients diverge after {} steps"
COLOURED = (
    "\x1b[31mFAIL\x1b[39m src/import/csv.test.ts\n  \x1b[1m● reads names in any script › 株式会社ボード 🗂️\x1b[22m\n\n"
    "    \x1b[31mTypeError: Cannot read properties of undefined (reading 'ボード名')\x1b[39m\n\n"
    "      at parseRow (src/import/csv.ts:58:17)\n      at Object.<anonymous> (src/import/csv.test.ts:21:9)\n"
)

# For a task, its attempts in order; those that are not here succeed. `check` is what the validation prints, and it fails;
# `claims` says whether the box is ticked; `words` is the agent's final message.
ATTEMPTS = {
    "T004": [
        {"check": REFUSED, "claims": True, "words": "The schema is written and the migrations run. All tests pass."},
        {"check": REFUSED, "claims": False, "words": "The database refuses connections.\n\nTried:\n- a longer timeout\n- `localhost` instead of 127.0.0.1"},
        {"words": "Tests use an in-memory database now.\n\nLearnings:\n- there is no PostgreSQL here: `pg-mem` stands in for it"},
    ],
    "T007": [{"check": jest("src/http/errors.test.ts", "errors › hides the stack", "TypeError: next is not a function",
                            ("src/http/errors.ts", "return next(error);")), "claims": False,
              "words": "The middleware is in place; one test fails and I could not see why."}],
    "T010": [{"open": True, "words": "I stopped before the card model: the spec does not say whether a card may belong to two boards."}],
    "T012": [{"error": "You've hit your usage limit · try again in 45 minutes", "exit": 1}],
    "T014": [
        {"check": jest("src/api/moves.test.ts", "moves › keeps the order of the other cards", "Expected: [1, 3, 2]\n    Received: [3, 1, 2]",
                       ("src/api/moves.test.ts", "expect(order).toEqual([1, 3, 2]);")), "claims": True,
         "words": "Cards move between columns."},
    ],
    "T015": [
        {"check": COLOURED, "claims": False, "words": "Names in other scripts are not read yet.", "noise": 2_600_000},
        {"check": COLOURED, "claims": False, "words": "Still failing on the header.\n\nTried:\n- normalizing to NFC"},
    ],
    "T018": [{"exit": 3, "error": "npm ERR! network request to https://registry.example.com/ws failed"}],
    "T019": [
        {"check": jest("src/live/merge.test.ts", "merge › converges", MERGE.format(9), ("src/live/merge.test.ts", "expect(a.rank).toBe(b.rank);")),
         "claims": True, "words": "Moves are merged by the time at which they were made.\n\nTried:\n- wall clock"},
        {"check": jest("src/live/merge.test.ts", "merge › converges", MERGE.format(14), ("src/live/merge.test.ts", "expect(a.rank).toBe(b.rank);")),
         "claims": False, "words": "Lamport clocks order the moves, and the ranks still differ.\n\nTried:\n- Lamport clocks"},
        {"check": jest("src/live/merge.test.ts", "merge › converges", MERGE.format(31), ("src/live/merge.test.ts", "expect(a.rank).toBe(b.rank);")),
         "claims": False, "words": "Fractional ranks collide when two clients insert at one place.\n\nTried:\n- a fractional index"},
    ],
    "T022": [{"hangs": True}],
    "T025": [{"check": jest("src/search/query.test.ts", "query › by label and author", "SyntaxError: Unexpected token '&&'",
                            ("src/search/query.ts", "return left && && right;")), "claims": False, "words": "One filter fails."}],
    "T028": [{"check": jest("src/labels.test.ts", "labels › keep their colour", "Expected: \"#c0392b\"\n    Received: undefined",
                            ("src/labels.test.ts", "expect(label.colour).toBe('#c0392b');")), "claims": False, "words": "The colour is lost on save."}],
    "T034": [{"open": True, "words": "Question: semicolons or commas between the fields? The spec names both, so I left the box open."},
             {"open": True, "words": "Question: semicolons or commas between the fields? I need an answer before I can go on."},
             {"open": True, "words": "Question: semicolons or commas between the fields?"}],
}
LEARNINGS = {
    "T005": "the pool must be closed in `afterAll`, or jest does not end",
    "T011": "`src/api` handlers take their store as an argument; tests pass a fake one",
    "T017": "one channel for each board, named `board:<id>`",
}

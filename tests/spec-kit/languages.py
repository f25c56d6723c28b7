"""Projects in three languages, as a feature of five tasks builds them up from nothing, and what an agent writes for each task."""

FEATURE = "specs/001-greeting"



class Language:
    """`validate` is what its users type; `done` has the files of each task, `broken` those of a first attempt that fails."""

    def __init__(self, validate, done, broken):
        self.validate, self.done, self.broken = validate, done, broken

    def tasks(self):
        def where(task):
            return ", ".join(self.done[task])

        return f"""\
# Tasks: Greeting

**Input**: Design documents from `/{FEATURE}/`

## Phase 1: Setup

- [ ] T001 Set up the project: {where("T001")}

## Phase 2: User Story 1 - Be greeted (Priority: P1)

- [ ] T002 [US1] Greet a person by name in {where("T002")}
- [ ] T003 [US1] Say a text in capitals in {where("T003")} (depends on T002)
- [ ] T004 [US1] Join names in {where("T004")}

## Phase 3: User Story 2 - Count (Priority: P2)

- [ ] T005 [P] [US2] Count words in {where("T005")}
"""


def node(name, body, call, wanted):
    test = f"const test = require('node:test');\nconst assert = require('node:assert');\nconst {name} = require('../src/{name}');\n\n"
    test += f"test('{name}', () => assert.strictEqual({name}({call}), {wanted}));\n"
    return {f"src/{name}.js": f"module.exports = (it) => {body};\n", f"test/{name}.test.js": test}


def python(name, body, call, wanted):
    test = f"import unittest\n\nfrom greeting.{name} import {name}\n\n\nclass Test(unittest.TestCase):\n    def test_{name}(self):\n"
    return {
        f"greeting/{name}.py": f"def {name}(it):\n    return {body}\n",
        f"tests/test_{name}.py": f"{test}        self.assertEqual({name}({call}), {wanted})\n",
    }


def rust(name, body, call, wanted):
    test = f"use greeting::{name}::{name};\n\n#[test]\nfn {name}_works() {{\n    assert_eq!({name}({call}), {wanted});\n}}\n"
    return {f"src/{name}.rs": f"pub fn {name}(it: &[&str]) -> String {{\n    {body}\n}}\n", f"tests/{name}.rs": test}


MODULES = "pub mod count;\npub mod greet;\npub mod join;\npub mod shout;\n"
EMPTY = "pub fn {}(it: &[&str]) -> String {{\n    it.concat()\n}}\n"

LANGUAGES = {
    "node": Language(
        "npm test",
        {
            "T001": {"package.json": '{\n  "name": "greeting",\n  "version": "1.0.0",\n  "scripts": { "test": "node --test" }\n}\n', ".gitignore": "node_modules/\n"},
            "T002": node("greet", "`Hello, ${it}!`", "'Ada'", "'Hello, Ada!'"),
            "T003": node("shout", "it.toUpperCase()", "'hi'", "'HI'"),
            "T004": node("join", "it.join(', ')", "['a', 'b']", "'a, b'"),
            "T005": node("count", "it.split(' ').length", "'a b c'", "3"),
        },
        node("shout", "it", "'hi'", "'HI'"),
    ),
    "python": Language(
        "python3 -m unittest",
        {
            "T001": {"greeting/__init__.py": '"""Greetings."""\n', "tests/__init__.py": '"""Tests."""\n', ".gitignore": "__pycache__/\n"},
            "T002": python("greet", 'f"Hello, {it}!"', '"Ada"', '"Hello, Ada!"'),
            "T003": python("shout", "it.upper()", '"hi"', '"HI"'),
            "T004": python("join", '", ".join(it)', '["a", "b"]', '"a, b"'),
            "T005": python("count", "len(it.split())", '"a b c"', "3"),
        },
        python("shout", "it", '"hi"', '"HI"'),
    ),
    "rust": Language(
        "cargo test",
        {
            "T001": {
                "Cargo.toml": '[package]\nname = "greeting"\nversion = "0.1.0"\nedition = "2021"\n',
                "src/lib.rs": MODULES,
                **{f"src/{name}.rs": EMPTY.format(name) for name in ["count", "greet", "join", "shout"]},
                ".gitignore": "target/\n",
            },
            "T002": rust("greet", 'format!("Hello, {}!", it[0])', '&["Ada"]', '"Hello, Ada!"'),
            "T003": rust("shout", "it[0].to_uppercase()", '&["hi"]', '"HI"'),
            "T004": rust("join", 'it.join(", ")', '&["a", "b"]', '"a, b"'),
            "T005": rust("count", "it.len().to_string()", '&["a", "b"]', '"2"'),
        },
        rust("shout", "it[0].to_string()", '&["hi"]', '"HI"'),
    ),
}

"""The agent of the night: plays its part of the story, in the stream format of Claude Code."""

import json
import os
import pathlib
import random
import sys
import time

sys.path.insert(0, os.environ["NIGHT_SCRIPTS"])
import story

TASK, ATTEMPT = os.environ["RALPH_TASK"], int(os.environ["RALPH_ATTEMPT"])
STATE = pathlib.Path(os.environ["NIGHT_STATE"])
dice = random.Random(f"{TASK} {ATTEMPT}")
# Attempts that the loop itself could not count, as after a kill -9, are played once.
PLAYED = STATE / f"{TASK}.played"
number = int(PLAYED.read_text()) if PLAYED.exists() else 0
PLAYED.write_text(str(number + 1))
attempts = story.ATTEMPTS.get(TASK, [])
part = attempts[number] if number < len(attempts) else {}


def say(**event):
    print(json.dumps(event, ensure_ascii=False), flush=True)
    time.sleep(dice.uniform(0.01, 0.06))


def call(name, answer, failed=False, **arguments):
    call.count += 1
    use = {"type": "tool_use", "id": f"t{call.count}", "name": name, "input": arguments}
    say(type="assistant", message={"id": f"m{call.count}", "role": "assistant", "content": [use]})
    result = {"type": "tool_result", "tool_use_id": f"t{call.count}", "is_error": failed, "content": answer}
    say(type="user", message={"role": "user", "content": [result]})


call.count = 0


def write(path, lines):
    file = pathlib.Path(path)
    file.parent.mkdir(parents=True, exist_ok=True)
    before = file.read_text() if file.exists() else ""
    file.write_text(before + "\n".join(lines) + "\n")
    call("Edit", f"The file {path} has been updated.", file_path=os.path.abspath(path), old_string="", new_string="\n".join(lines))


def code(path):
    name = pathlib.Path(path).stem
    lines = [f"// {name}, {TASK} attempt {number + 1}", f"export interface {name.title()}Options {{", "  readonly limit: number;", "}", ""]
    for index in range(dice.randint(2, 7)):
        lines += [
            f"export async function {name}{index}(store: Store, options: {name.title()}Options) {{",
            f"  const found = await store.find('{name}', {dice.randint(1, 99)});",
            "  if (!found) throw new NotFound();",
            "  return found.slice(0, options.limit);",
            "}",
            "",
        ]
    return lines


def tick():
    path = pathlib.Path(os.environ["RALPH_TASKS"])
    path.write_text(path.read_text().replace(f"- [ ] {TASK} ", f"- [x] {TASK} "))


def main():
    sys.stdin.read()
    say(type="system", subtype="init", model="claude-opus-4-5")
    title = next(line for _, lines in story.PHASES for line in lines if line.startswith(TASK))
    path = title.rsplit(" in ", 1)[-1] if " in " in title else "package.json"
    call("Read", "# Shared boards\n", file_path=os.path.abspath("specs/004-boards/spec.md"))
    if "error" in part:
        say(type="result", subtype="error_during_execution", is_error=True, result=part["error"], usage={})
        sys.exit(part["exit"])
    if part.get("hangs"):
        (STATE / "kill").touch()
        time.sleep(600)
    write(path, code(path))
    if dice.random() < 0.6:
        write(path.replace(".ts", ".test.ts"), [f"test('{TASK}', () => expect(1).toBe(1));"])
    call("Bash", "1 failed" if "check" in part else "ok", "check" in part, command="npx jest --silent")
    time.sleep(dice.uniform(0.05, 0.5))
    if not part.get("open") and part.get("claims", True):
        tick()
    (STATE / "verdict.json").write_text(json.dumps({"text": part.get("check"), "noise": part.get("noise", 0)}))
    words = part.get("words") or f"{title.split(' ', 1)[1].split(' in ')[0]}: done, with tests."
    if not attempts and TASK in story.LEARNINGS:
        words += f"\n\nLearnings:\n- {story.LEARNINGS[TASK]}"
    usage = {"input_tokens": dice.randint(2000, 9000), "cache_read_input_tokens": dice.randint(90_000, 900_000), "output_tokens": dice.randint(2000, 20_000)}
    say(type="result", subtype="success", is_error=False, result=words, num_turns=call.count, usage=usage,
        total_cost_usd=round(dice.uniform(0.3, 2.2) * (2 if "check" in part else 1), 4))


main()

// Projects with a session to make a page of: the demo, and one in which everybody is hostile.

import { execFileSync, spawn } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import path from "node:path";

/** What would show if any of it were obeyed. */
const SCRIPTS = [
  "<script>window.__hit = 1</script>",
  "</textarea></style></script></pre></details></title><script>window.__hit = 2</script>",
  "<img src=x onerror='window.__hit=3'><svg/onload=window.__hit=4>",
  '"><iframe src="https://example.org/frame"></iframe><a href="javascript:window.__hit=5">a</a>',
  "[click](javascript:window.__hit=6) ![i](https://example.org/pixel.png) <https://example.org/auto>",
  "{{ 7 * 7 }} {% raw %} ${7*7} <!-- --> ]]> &lt;script&gt; @import url(https://example.org/x.css);",
  "\u001b[31mred <b>\u001b[7mturned\u001b[0m \u001b[38;5;208;44morange on blue\u001b[90;103mgrey on yellow\u001b[m",
  "\u001b[2J\u001b]0;title\u0007 \u202egnp.exe\u2066 \u200b \u2028 \u0000 \ufeff",
].join("\n");
const LINE = SCRIPTS.split("\n")[1];
const AGENT = "<b onclick=window.__hit=13>\u202e";

/** Runs our program. */
export function ralph(specify, folder, words, codes = [0]) {
  try {
    return execFileSync(specify, ["ralph", ...words], {
      cwd: folder, encoding: "utf8", maxBuffer: 1 << 28, stdio: ["ignore", "pipe", "pipe"], env: hermetic(folder),
    });
  } catch (error) {
    if (codes.includes(error.status)) return error.stdout;
    throw new Error(`specify ralph ${words.join(" ")}: exit ${error.status}\n${error.stderr}`);
  }
}

/** Serves the pages of a project until it is stopped, and says where. */
export async function serve(specify, folder) {
  const server = spawn(specify, ["ralph", "web", "--no-open"], { cwd: folder, stdio: ["ignore", "pipe", "inherit"], env: hermetic(folder) });
  let said = "";
  for await (const part of server.stdout.setEncoding("utf8")) {
    said += part;
    if (said.includes("\n")) break;
  }
  return { server, address: said.split("\n")[0] };
}

function hermetic(folder) {
  const home = path.dirname(folder);
  return {
    PATH: process.env.PATH, HOME: home, GIT_CONFIG_NOSYSTEM: "1", SPECKIT_RALPH_TRUST: "always", GIT_CONFIG_GLOBAL: "/dev/null",
    GIT_AUTHOR_NAME: "Ada", GIT_AUTHOR_EMAIL: "a@example.org", GIT_COMMITTER_NAME: "Ada", GIT_COMMITTER_EMAIL: "a@example.org",
  };
}

export function demo(specify, folder) {
  ralph(specify, path.dirname(folder), ["demo", "--dir", folder]);
}

/** Task texts, file names, code, answers, tool calls and outputs that try to get out of their place. */
export function hostile(specify, folder) {
  mkdirSync(path.join(folder, "specs/001-bad"), { recursive: true });
  mkdirSync(path.join(folder, ".specify"));
  const write = (name, text) => writeFileSync(path.join(folder, name), text);
  write("specs/001-bad/spec.md", "# Bad\n");
  write("specs/001-bad/plan.md", "# Plan\n");
  const texts = [LINE, SCRIPTS.split("\n")[2], SCRIPTS.split("\n")[3]];
  const tasks = texts.map((text, at) => `- [ ] T00${at + 1} ${text}\n`).join("");
  write("specs/001-bad/tasks.md", `# Tasks\n\n## Phase 1: ${LINE}\n\n${tasks}`);
  const call = { type: "tool_use", id: "t1", name: "<b onclick=window.__hit=8>", input: { command: LINE } };
  const result = { type: "tool_result", tool_use_id: "t1", is_error: true, content: SCRIPTS };
  const events = [
    { type: "system", subtype: "init", model: "<i onmouseover=window.__hit=9>m" },
    { type: "assistant", message: { id: "m1", role: "assistant", content: [call, { ...call, id: "t2", name: "Read" }] } },
    { type: "user", message: { role: "user", content: [result] } },
    { type: "result", subtype: "success", is_error: false, result: `${SCRIPTS}\n\n\`\`\`html\n${SCRIPTS}\n\`\`\`\n\nLearnings:\n- ${LINE}\n` },
  ];
  write("stream.jsonl", events.map((event) => `${JSON.stringify(event)}\n`).join(""));
  write("text.txt", SCRIPTS);
  write("code.ts", `/* ${LINE}\n*/ export const seven = 7; // because\nexport const text = "${LINE}";\n`);
  write("agent.sh", `cat stream.jsonl
cp text.txt "<img src=x onerror=window.__hit=7>.html"
date +%N >> "<img src=x onerror=window.__hit=7>.html"
sed 's/because/because of that/; s/7/8/' code.ts > code.new
mv code.new code.ts
head -c 4000000 /dev/zero | tr '\\0' '<' > line.txt
`);
  write("check.sh", `cat text.txt; echo 'FAILED <script>window.__hit=10</script>: expected 1, got 2'
head -c 10000000 /dev/zero | tr '\\0' '<'
exit 1
`);
  write(".specify/ralph.toml", `max-iterations = 4
validation.command = "sh check.sh"
agent = "${AGENT}"
[agents."${AGENT}"]
command = ["sh", "agent.sh"]
parser = "claude"
`);
  const git = (...words) => execFileSync("git", words, { cwd: folder, env: hermetic(folder), stdio: "ignore" });
  git("init", "--quiet", "--initial-branch=main");
  git("add", "--all");
  git("commit", "--quiet", "--message", "Bad");
  ralph(specify, folder, ["--no-baseline"], [4, 5]);
  // A second session, of a feature with such a name, at which the first task fails for the same cause.
  const feature = "specs/<img src=x onerror='window.__hit=11'>\u202e";
  mkdirSync(path.join(folder, feature));
  write(`${feature}/tasks.md`, `- [ ] T001 ${LINE}\n`);
  ralph(specify, folder, ["run", "--tasks", `${feature}/tasks.md`, "-n", "2", "--no-baseline"], [4]);
}

/** A task at which the agent asks. */
export function asking(specify, folder) {
  mkdirSync(path.join(folder, "specs/001-ask"), { recursive: true });
  mkdirSync(path.join(folder, ".specify"));
  const write = (name, text) => writeFileSync(path.join(folder, name), text);
  write("specs/001-ask/tasks.md", "- [ ] T001 Export boards\n");
  write(".specify/ralph.toml", `agent = "asks"
validation.command = "true"
[agents.asks]
command = ["sh", "-c", "cat > /dev/null; echo 'Question: semicolons or commas? The spec names both.'"]
`);
  const git = (...words) => execFileSync("git", words, { cwd: folder, env: hermetic(folder), stdio: "ignore" });
  git("init", "--quiet", "--initial-branch=main");
  git("add", "--all");
  git("commit", "--quiet", "--message", "Ask");
  ralph(specify, folder, [], [5]);
}

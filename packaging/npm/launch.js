// Starts the program of this system, which came as an optional dependency: nothing is downloaded at install or later.
"use strict";

const { spawn } = require("node:child_process");

// Ctrl-C and a closed terminal reach the program too, as both are in the group in front. Without a terminal we are told alone.
const AS_GROUP = ["SIGINT", "SIGQUIT", "SIGHUP"];

module.exports = (file) => {
  const platform = `specify-ralph-${process.platform}-${process.arch}`;
  let program;
  try {
    program = require.resolve(`${platform}/specify-ralph${process.platform === "win32" ? ".exe" : ""}`);
  } catch {
    console.error(`error: the package ${platform} is not installed\nhint: install without \`--omit=optional\`; if there is no such package, build it: \`cargo install specify-ralph\``);
    process.exit(3);
  }
  const env = { ...process.env, SPECIFY_RALPH_LAUNCHER: `spawn:${process.pid}:${file}` };
  const child = spawn(program, process.argv.slice(2), { stdio: "inherit", env });
  const inTerminal = [0, 1, 2].some((descriptor) => require("node:tty").isatty(descriptor));
  for (const signal of [...AS_GROUP, "SIGTERM"]) {
    process.on(signal, () => inTerminal && AS_GROUP.includes(signal) || child.kill(signal));
  }
  child.on("error", (error) => {
    console.error(`error: start ${program}: ${error.message}`);
    process.exit(3);
  });
  child.on("exit", (code, signal) => {
    if (signal === null) process.exit(code);
    process.removeAllListeners(signal);
    process.kill(process.pid, signal);
  });
};

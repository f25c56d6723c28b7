#!/usr/bin/env node
// Makes the pictures of `specify ralph report` in README.md from the demo.
//
// usage: node docs/picture-report.mjs
//
// It needs target/release/specify (or SPECIFY_RALPH_BIN), chromium and npm, as tests/page/run.mjs does.

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { pathToFileURL } from "node:url";

import { browser as findBrowser, install, root } from "../tests/page/install.mjs";
import { demo, ralph } from "../tests/page/projects.mjs";

const specify = path.resolve(process.env.SPECIFY_RALPH_BIN || path.join(root, "target/release/specify"));
const { puppeteer } = install();
const work = mkdtempSync(path.join(tmpdir(), "ralph-picture-"));
const folder = path.join(work, "ralph-demo");
const file = path.join(work, "report.html");
demo(specify, folder);
ralph(specify, folder, ["report", "-o", file]);
const args = process.getuid() === 0 ? ["--no-sandbox"] : [];
const browser = await puppeteer.launch({ executablePath: findBrowser(), headless: true, args, userDataDir: path.join(work, "profile") });
try {
  for (const [scheme, name] of [["light", "report.png"], ["dark", "report-dark.png"]]) {
    const page = await browser.newPage();
    await page.setViewport({ width: 1100, height: 1060 });
    await page.emulateMediaFeatures([{ name: "prefers-color-scheme", value: scheme }]);
    await page.goto(pathToFileURL(file).href);
    await page.screenshot({ path: path.join(root, "docs", name), optimizeForSpeed: false });
    await page.close();
  }
} finally {
  await browser.close();
  rmSync(work, { recursive: true, force: true, maxRetries: 5 });
}

#!/usr/bin/env node
// Makes pictures of what a page shows first, in light and dark, on a phone, a laptop and a wide screen.
//
// usage: node scripts/pictures/page.mjs PAGE TO

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { pathToFileURL } from "node:url";

import { browser as findBrowser, install } from "../../tests/page/install.mjs";

const [file, to] = process.argv.slice(2);
const { puppeteer } = install();
const profile = mkdtempSync(path.join(tmpdir(), "ralph-pictures-"));
const args = process.getuid() === 0 ? ["--no-sandbox"] : [];
const browser = await puppeteer.launch({ executablePath: findBrowser(), headless: true, args, userDataDir: profile });
try {
  for (const [width, height] of [[390, 844], [1280, 900], [1920, 1080]]) {
    for (const scheme of ["light", "dark"]) {
      const page = await browser.newPage();
      await page.setViewport({ width, height });
      await page.emulateMediaFeatures([{ name: "prefers-color-scheme", value: scheme }]);
      await page.goto(pathToFileURL(file).href);
      await page.screenshot({ path: path.join(to, `page-${width}-${scheme}.png`) });
      await page.close();
      console.log(`  page-${width}-${scheme}`);
    }
  }
} finally {
  await browser.close();
  rmSync(profile, { recursive: true, force: true, maxRetries: 5 });
}

// Installs what drives the browser from npm, once, at fixed versions.

import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import path from "node:path";
import { fileURLToPath } from "node:url";

const PACKAGES = { "puppeteer-core": "24.43.1", "axe-core": "4.14.1" };

export const root = path.resolve(path.dirname(fileURLToPath(import.meta.url)), "../..");

/** Why something that the test needs cannot be had. */
export class NotHere extends Error {}

/** The driver of browsers, and the source of the checker of pages. */
export function install() {
  const cache = path.resolve(process.env.RALPH_CI_CACHE || path.join(root, "target/agents"));
  const folder = path.join(cache, `page-${Object.values(PACKAGES).join("-")}`);
  const require = createRequire(path.join(folder, "x.js"));
  const isThere = (name) => existsSync(path.join(folder, "node_modules", name, "package.json"));
  if (!Object.keys(PACKAGES).every(isThere)) {
    mkdirSync(folder, { recursive: true });
    const wanted = Object.entries(PACKAGES).map(([name, version]) => `${name}@${version}`);
    const words = ["install", "--prefix", folder, "--no-audit", "--no-fund", "--ignore-scripts", "--loglevel=error", ...wanted];
    const tried = () => spawnSync("npm", words, { encoding: "utf8", timeout: 300_000 });
    const failed = (done) => done.error || done.status !== 0;
    let done = tried();
    for (let tries = 1; failed(done) && tries < 3; tries += 1) done = tried();
    if (failed(done)) {
      throw new NotHere(`npm cannot install ${wanted.join(" ")}: ${done.error ?? done.stderr.trim().split("\n")[0]}`);
    }
  }
  return { puppeteer: require("puppeteer-core"), axe: readFileSync(require.resolve("axe-core"), "utf8") };
}

/** The program of the browser. */
export function browser() {
  const named = process.env.CHROMIUM ? [process.env.CHROMIUM] : ["chromium", "chromium-browser", "google-chrome"];
  for (const name of named) {
    const found = spawnSync("sh", ["-c", 'command -v "$1"', "sh", name], { encoding: "utf8" }).stdout.trim();
    if (found) return found;
  }
  throw new NotHere(`there is no ${named[0]} on the PATH`);
}

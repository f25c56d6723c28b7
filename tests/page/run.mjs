#!/usr/bin/env node
// Looks at the page of `specify ralph report` in a real browser.
//
// usage: node tests/page/run.mjs [--keep FOLDER]
//
//   SPECIFY_RALPH_BIN   our `specify` (default: target/release/specify)
//   RALPH_CI_CACHE      where puppeteer-core and axe-core are installed once (default: target/agents)
//   CHROMIUM            the browser (default: chromium on the PATH)
//
// --keep leaves the pages and pictures of them in a folder, to look at. Where the browser or npm is missing, the test
// says so and is skipped; with CI=true it fails.

import { mkdirSync, mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { pathToFileURL } from "node:url";

import { NotHere, browser as findBrowser, install, root } from "./install.mjs";
import { demo, hostile, ralph, serve } from "./projects.mjs";

const specify = path.resolve(process.env.SPECIFY_RALPH_BIN || path.join(root, "target/release/specify"));
const keep = process.argv[2] === "--keep" ? path.resolve(process.argv[3]) : null;
const say = (words) => console.log(`run.mjs: ${words}`);
const failures = [];
let checks = 0;
const check = (is, words) => {
  checks += 1;
  if (!is) failures.push(words);
};
const equal = (found, expected, words) =>
  check(JSON.stringify(found) === JSON.stringify(expected), `${words}: ${JSON.stringify(found)} instead of ${JSON.stringify(expected)}`);

/** Elements that a page of ours may have, and attributes. */
const ELEMENTS = "a article b bdi blockquote body br button code col colgroup dd defs del details div dl dt em figcaption figure footer form g h1 h2 h3 head header hr html i input ins label li link main mark meta ol option output p path pattern pre q rect s script section select small span strong style summary svg table tbody td th thead time title tr u ul".split(" ");
const ATTRIBUTES = /^(aria-.*|autocomplete|charset|class|colspan|content|d|data-[a-z]+|datetime|fill|focusable|for|height|hidden|href|http-equiv|id|lang|name|open|patterntransform|patternunits|placeholder|preserveaspectratio|rel|role|scope|spellcheck|start|tabindex|title|type|value|viewbox|width|x|y)$/;

/** A page that notes whatever must not happen. It may load itself, and what is below its address on a server. */
async function visit(browser, place, { scheme = "light", width = 1280, height = 900, script = true } = {}) {
  const page = await browser.newPage();
  const wrong = [];
  page.on("console", (message) => wrong.push(`console: ${message.text()}`));
  page.on("pageerror", (error) => wrong.push(`error: ${error.message}`));
  page.on("dialog", (dialog) => { wrong.push(`dialog: ${dialog.message()}`); dialog.dismiss(); });
  const address = place.startsWith("http:") ? place : pathToFileURL(place).href;
  page.on("request", (request) => {
    if (request.url().split(/[#?]/)[0] !== address && !request.url().startsWith("data:")) wrong.push(`request: ${request.url()}`);
  });
  await page.setJavaScriptEnabled(script);
  await page.setViewport({ width, height, isMobile: width < 600, hasTouch: width < 600 });
  await page.emulateMediaFeatures([{ name: "prefers-color-scheme", value: scheme }]);
  await page.goto(address);
  return { page, wrong };
}

/** Unfolds all, and sets the attempts at a task below each other. */
const unfold = (page) => page.evaluate(() => {
  document.getElementById("unfold")?.click();
  for (const fold of document.querySelectorAll("details")) fold.open = true;
});
const shown = (page) => page.$$eval(".it", (turns) => turns.filter((turn) => !turn.hidden).length);

/** What a page has that none of ours may have. */
const foundIn = (page) => page.evaluate((elements, attributes) => {
  const allowed = new RegExp(attributes);
  const odd = [];
  for (const element of document.querySelectorAll("*")) {
    if (!elements.includes(element.localName)) odd.push(`<${element.localName}>`);
    for (const { name, value } of element.attributes) {
      if (!allowed.test(name.toLowerCase())) odd.push(`${element.localName} ${name}`);
      if (name === "href" && !/^(#|https?:\/\/|data:,$|\/[0-9a-f]{32}\/)/.test(value)) odd.push(`href ${value}`);
      if (name === "style") odd.push(`style ${value}`);
    }
  }
  const obeyed = document.body.innerText.match(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u200b\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff]/gu);
  return { odd, scripts: document.scripts.length, hit: window.__hit ?? null, images: document.images.length, obeyed };
}, ELEMENTS, ATTRIBUTES.source);

/** What holds of every page, whoever wrote what is on it. It has so many scripts of ours. */
async function everyPage(browser, name, place, axe, scripts) {
  for (const width of [1280, 1920, 390, 320]) {
    for (const scheme of width === 320 ? ["light"] : ["light", "dark"]) {
      const where = `${name}, ${scheme}, ${width}`;
      const { page, wrong } = await visit(browser, place, { scheme, width });
      if (keep) await page.screenshot({ path: path.join(keep, `${name}-${width}-${scheme}.png`) });
      await page.evaluate(axe);
      const violations = () => page.evaluate(async () => {
        const { violations } = await window.axe.run(document, { resultTypes: ["violations"] });
        return violations.map(({ id, nodes }) => `${id}: ${nodes.length} times, first ${nodes[0].html.slice(0, 200)} ${nodes[0].failureSummary}`);
      });
      equal(await violations(), [], `${where}: axe`);
      await unfold(page);
      equal(await violations(), [], `${where}, unfolded: axe`);
      const paper = await page.evaluate(() => getComputedStyle(document.body).backgroundColor.match(/\d+/g).map(Number)[0]);
      check(scheme === "dark" ? paper < 60 : paper > 200, `${where}: the background is ${paper}`);
      equal(await foundIn(page), { odd: [], scripts, hit: null, images: 0, obeyed: null }, `${where}: inert`);
      const broken = await page.$$eval("button", (buttons) => buttons.filter((button) => button.checkVisibility() && button.getClientRects().length > 0 && button.clientHeight > 45).map((button) => button.textContent));
      equal(broken, [], `${where}: labels that break`);
      const room = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
      check(room <= 0, `${where}: ${room} pixels too wide`);
      equal(wrong, [], where);
      await page.close();
    }
  }
}

/** What holds of the page of a session on paper. */
async function onPaper(browser, name, file) {
  const printed = await visit(browser, file);
  const pdf = await printed.page.pdf({ path: keep ? path.join(keep, `${name}.pdf`) : undefined, format: "A4" });
  check(pdf.length > 20_000, `${name}: printed, it is ${pdf.length} bytes`);
  await printed.page.evaluate(() => dispatchEvent(new Event("beforeprint")));
  const folded = await printed.page.$$eval(".it, .it details:not(.prompt), .phase, .folder", (folds) => folds.filter((fold) => !fold.open).length);
  equal(folded, 0, `${name}: folds that stay closed on paper`);
  await printed.page.evaluate(() => dispatchEvent(new Event("afterprint")));
  equal(await printed.page.$$eval(".it", (turns) => turns.filter((turn) => turn.open).length), 0, `${name}: folds that stay open`);
  equal(printed.wrong, [], `${name}, printed`);
  await printed.page.close();
}

/** Search, filter and folds, by mouse and by keyboard. */
async function handling(browser, file) {
  const { page, wrong } = await visit(browser, file);
  const status = () => page.$eval("#shown", (element) => element.textContent);
  equal(await status(), "12 shown", "at first");
  await page.click(".chip.failure");
  equal([await shown(page), await status()], [7, "7 of 12 shown"], "failures alone");
  equal(await page.$eval(".chip.failure", (chip) => chip.getAttribute("aria-pressed")), "true", "a chip that is pressed");
  await page.click(".chip.success");
  equal(await shown(page), 11, "failures and successes");
  await page.select("#task", "T004");
  equal(await shown(page), 3, "of one task");
  await page.focus("#query");
  await page.keyboard.press("Escape");
  equal([await shown(page), await status()], [12, "12 shown"], "after Escape");
  await page.evaluate(() => document.activeElement.blur());
  await page.keyboard.press("/");
  equal(await page.evaluate(() => document.activeElement.id), "query", "what / leads to");
  await page.keyboard.type("MOON opinion");
  // The page searches in pauses of the typing, and a busy machine types with pauses.
  await page.waitForFunction(() => document.getElementById("shown").textContent === "2 of 12 shown");
  equal(await shown(page), 2, "found outside of prompts");
  await page.keyboard.type(" nowhere-at-all");
  await page.waitForFunction(() => !document.getElementById("none").hidden);
  equal(await shown(page), 0, "nothing found");
  await page.keyboard.press("Escape");
  // The address keeps search and filter. What is found is marked and quoted; prompts are searched if that is asked for.
  await page.focus("#query");
  await page.keyboard.type("Pads");
  await page.waitForFunction(() => location.hash === "#q=Pads");
  const found = () => page.evaluate(() => [document.querySelector(".snippet mark")?.textContent, CSS.highlights.get("found").size > 0]);
  equal([await shown(page), ...(await found())], [1, "pads", true], "what is found in answers");
  await page.click(".chip.success");
  await page.reload();
  equal([await shown(page), await page.$eval("#query", (input) => input.value), await page.evaluate(() => location.hash)], [1, "Pads", "#q=Pads&o=success"], "after a reload");
  await page.click("#prompts");
  check((await shown(page)) > 1, "prompts are searched");
  await page.click("#prompts");
  await page.focus("#query");
  await page.keyboard.press("Escape");
  equal([await shown(page), await page.evaluate(() => CSS.highlights.get("found").size)], [12, 0], "nothing is marked any more");
  // What is not done comes first, the attempts at a task together.
  equal(await page.$$eval(".group", (groups) => groups.map((group) => `${group.dataset.t} ${group.querySelectorAll(".it").length}`)), ["T004 4", "T002 3", "T003 2", "T005 2"], "groups");
  await page.select("#task", "T001");
  equal(await page.$$eval(".group", (groups) => groups.filter((group) => !group.hidden).length), 0, "a group without iterations is hidden");
  await page.select("#task", "");
  await page.click(".copy");
  await page.waitForFunction(() => /^(Copied|Selected)$/.test(document.querySelector(".copy").textContent));
  // Attempts are tabs: the last failure first, the others by arrows and by mouse.
  await page.reload();
  const tabs = () => page.$$eval(".group[data-t=T002] [role=tab]", (tabs) => tabs.map((tab) => `${tab.textContent} ${tab.ariaSelected} ${tab.tabIndex}`));
  const seen = () => page.$$eval(".group[data-t=T002] .it", (turns) => turns.filter((turn) => turn.checkVisibility()).map((turn) => turn.id));
  equal([await tabs(), await seen()], [["✘ #2 false -1", "✘ #3 true 0", "✔ #4 false -1"], ["i3"]], "tabs");
  await page.focus("#t3");
  await page.keyboard.press("ArrowRight");
  equal([await page.evaluate(() => document.activeElement.id), await seen()], ["t4", ["i4"]], "arrow right");
  await page.keyboard.press("ArrowRight");
  equal([await page.evaluate(() => document.activeElement.id), await seen()], ["t2", ["i2"]], "round to the first");
  // By keyboard: onto a line, open it, on to the next.
  await page.focus("#i2 > summary");
  await page.keyboard.press("Enter");
  equal(await page.$eval("#i2", (turn) => turn.open), true, "Enter opens");
  check(await page.$eval("#i2", (turn) => turn.innerText.includes("FAILED count")), "the output is seen");
  await page.keyboard.press("ArrowDown");
  equal(await page.evaluate(() => document.activeElement.parentElement.id), "i3", "arrow down");
  await page.keyboard.press("k");
  equal(await page.evaluate(() => document.activeElement.parentElement.id), "i2", "k");
  await page.keyboard.press("Space");
  equal(await page.$eval("#i2", (turn) => turn.open), false, "Space closes");
  // By mouse.
  await page.click("#t3");
  await page.click("#i3 > summary");
  equal(await page.$eval("#i3", (turn) => turn.open), true, "a click opens");
  await page.click("#next");
  equal(await page.evaluate(() => document.activeElement.parentElement.id), "i5", "the next failure");
  await page.click("#fold");
  equal(await page.$$eval(".it", (turns) => turns.filter((turn) => turn.open).length), 0, "all folded");
  await page.click("#unfold");
  equal(await page.$$eval(".it", (turns) => turns.filter((turn) => turn.open).length), 12, "all unfolded");
  equal(await seen(), ["i2", "i3", "i4"], "unfolded, the attempts stand below each other");
  await page.click("#fold");
  // A link leads to its iteration, also where a filter hides it.
  await page.click(".chip.success");
  await page.click(".need a[href='#i9']");
  await page.waitForFunction(() => document.getElementById("i9").open);
  equal(await page.$eval("#i9", (turn) => turn.hidden), false, "a link shows what was filtered away");
  // The strip: what is under the pointer, and from cell to cell by keyboard.
  await page.hover("#strip a[href='#i3']");
  check(/^#3 T002 failed/.test(await page.$eval("#readout", (element) => element.textContent)), "the strip names the iteration");
  await page.evaluate(() => document.querySelector("#strip a").focus());
  await page.keyboard.press("ArrowRight");
  await page.keyboard.press("Enter");
  await page.waitForFunction(() => document.getElementById("i2").open);
  // Light and dark by the button, also after a reload.
  const theme = () => page.evaluate(() => document.documentElement.dataset.theme);
  await page.click("#theme");
  equal(await theme(), "dark", "the button");
  await page.reload();
  equal(await theme(), "dark", "the button is remembered");
  await page.click("#theme");
  equal(await theme(), "light", "and back");
  equal(wrong, [], "handling");
  await page.close();
  const bare = await visit(browser, file, { script: false });
  equal(await bare.page.$eval("h1", (title) => title.textContent), "4 of 5 tasks done · stopped: T004 could not be done", "without scripts");
  check(!(await bare.page.$eval("#filter", (form) => form.checkVisibility())), "no filter that does nothing");
  await bare.page.close();
  const linked = await browser.newPage();
  await linked.goto(`${pathToFileURL(file).href}#i5`);
  equal(await linked.$eval("#i5", (turn) => turn.open), true, "an address leads to an iteration");
  await linked.close();
}

/** The page of a session whose record grows: what the reader unfolded, folded or chose stays as it was. */
async function growing(browser, address, grow) {
  const { page, wrong } = await visit(browser, address);
  const state = () => page.evaluate(() => document.documentElement.dataset.state);
  const seen = () => page.evaluate(() => [
    document.querySelector(".phase").open,
    document.querySelector("details.file").open,
    [...document.querySelectorAll("section > .part")].map((part) => part.open),
    document.querySelector("#i1").open,
    [...document.querySelectorAll("#i1 .part")].map((part) => part.open),
    document.querySelector("#t1").ariaSelected,
  ]);
  await page.click("#t1");
  await page.evaluate(() => {
    document.getElementById("i1").open = true;
    for (const fold of document.querySelectorAll(".phase, details.file, section > .part:first-of-type, #i1 .part:nth-of-type(odd)")) fold.open = !fold.open;
  });
  for (let time = 0; time < 2; time += 1) {
    const [before, known] = [await seen(), await state()];
    grow();
    await page.waitForFunction((known) => document.documentElement.dataset.state !== known && document.readyState === "complete", {}, known);
    equal(await seen(), before, `after growth ${time}`);
  }
  equal(wrong, [], "growing");
  await page.close();
}

async function main() {
  const { puppeteer, axe } = install();
  const executablePath = findBrowser();
  const work = mkdtempSync(path.join(tmpdir(), "ralph-page-"));
  if (keep) mkdirSync(keep, { recursive: true });
  // As root the browser's own sandbox cannot work.
  const args = ["--disable-gpu", "--no-first-run", ...(process.getuid() === 0 ? ["--no-sandbox"] : [])];
  const browser = await puppeteer.launch({ executablePath, headless: true, args, userDataDir: path.join(work, "profile") });
  try {
    const pages = keep ?? work;
    for (const [name, make] of [["demo", demo], ["hostile", hostile]]) {
      const folder = path.join(work, name);
      make(specify, folder);
      const file = path.join(pages, `${name}.html`);
      ralph(specify, folder, ["report", "-o", file]);
      check(statSync(file).size < 5_000_000, `${name}: the page is too big`);
      await everyPage(browser, name, file, axe, 1);
      await onPaper(browser, name, file);
      say(`${name} looked at`);
    }
    // All of it, with lines of megabytes.
    const whole = path.join(pages, "whole.html");
    ralph(specify, path.join(work, "hostile"), ["report", "-o", whole, "--max-size", "200MB", "--max-part", "20MB"]);
    const { page, wrong } = await visit(browser, whole);
    await unfold(page);
    equal(await page.evaluate(() => [document.scripts.length, window.__hit ?? null]), [1, null], "whole: inert");
    equal(wrong, [], "whole");
    await page.close();
    // All sessions of those who are hostile.
    const folder = path.join(work, "hostile");
    const [older] = JSON.parse(ralph(specify, folder, ["report", "--all", "--json"])).sessions.map(({ id }) => id).sort();
    const index = path.join(pages, "index.html");
    ralph(specify, folder, ["report", "--all", "-o", index]);
    await everyPage(browser, "index", index, axe, 0);
    say("index looked at");
    // The same pages as they are served.
    const { server, address } = await serve(specify, folder);
    try {
      for (const [name, below, scripts] of [["web-index", "", 1], ["web-session", older, 2]]) {
        await everyPage(browser, name, `${address}${below}`, axe, scripts);
        say(`${name} looked at`);
      }
      await growing(browser, `${address}${older}`, () => ralph(specify, folder, ["resume", older, "-n", "1"], [4, 5]));
    } finally {
      server.kill("SIGINT");
    }
    await handling(browser, path.join(pages, "demo.html"));
  } finally {
    await browser.close();
    rmSync(work, { recursive: true, force: true, maxRetries: 5 });
  }
  if (failures.length > 0) {
    console.error(failures.map((words) => `run.mjs: FAILED: ${words}`).join("\n"));
    process.exit(1);
  }
  say(`${checks} checks passed`);
}

try {
  await main();
} catch (error) {
  if (!(error instanceof NotHere)) throw error;
  if (process.env.CI === "true") {
    console.error(`run.mjs: FAILED: ${error.message}`);
    process.exit(1);
  }
  say(`SKIPPED: ${error.message}`);
}

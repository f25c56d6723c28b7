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
import { asking, demo, hostile, ralph, serve } from "./projects.mjs";

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
const ELEMENTS = "a article aside b bdi blockquote body br button code dd del details div dl dt em figcaption figure footer h1 h2 h3 head header hr html i input ins label li line link main meta nav ol output p pre rect s script section small span strong style summary svg table tbody td text th thead title tr ul".split(" ");
const ATTRIBUTES = /^(aria-.*|autocomplete|charset|class|content|data-[a-z]+|height|hidden|href|http-equiv|id|lang|name|open|placeholder|rel|role|scope|spellcheck|start|tabindex|text-anchor|title|type|viewbox|width|x|x1|x2|y|y1|y2)$/;
/** Sizes of type, in pixels, and the least size of what is clicked. */
const SIZES = ["13px", "15px", "19px", "30px"];
const TARGET = 24;

/** A page that notes whatever must not happen. It may load itself, and what is below its address on a server. */
async function visit(browser, place, { scheme = "light", width = 1280, height = 900, script = true } = {}) {
  const page = await browser.newPage();
  const wrong = [];
  page.on("console", (message) => wrong.push(`console: ${message.text()}`));
  page.on("pageerror", (error) => wrong.push(`error: ${error.message}`));
  page.on("dialog", (dialog) => { wrong.push(`dialog: ${dialog.message()}`); dialog.dismiss(); });
  const address = place.startsWith("http:") ? place : pathToFileURL(place).href;
  page.on("request", (request) => {
    if (request.url().split(/[#?]/)[0] !== address.split("#")[0] && !request.url().startsWith("data:")) wrong.push(`request: ${request.url()}`);
  });
  await page.setJavaScriptEnabled(script);
  await page.setViewport({ width, height, isMobile: width < 600, hasTouch: width < 600 });
  await page.emulateMediaFeatures([{ name: "prefers-color-scheme", value: scheme }]);
  await page.goto(address);
  return { page, wrong };
}

/** Shows all parts of a page, unfolded. */
const unfold = (page) => page.evaluate(() => {
  for (const panel of document.querySelectorAll(".panel")) panel.hidden = false;
  for (const fold of document.querySelectorAll("details")) fold.open = true;
});
const shown = (page) => page.$$eval(".a", (attempts) => attempts.filter((attempt) => !attempt.hidden).length);

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
      const sizes = await page.$$eval("body *", (elements) => [...new Set(elements.filter((element) => element.checkVisibility()).map((element) => getComputedStyle(element).fontSize))]);
      equal(sizes.filter((size) => !SIZES.includes(size)), [], `${where}: sizes of type`);
      const small = await page.$$eval("a, button, input, summary", (targets, least) => targets.filter((target) => target.checkVisibility() && !target.closest(".md, pre")).filter((target) => {
        const { width, height } = target.getBoundingClientRect();
        return width < least || height < least;
      }).map((target) => target.outerHTML.slice(0, 120)), TARGET);
      equal(small, [], `${where}: targets that are too small`);
      const broken = await page.$$eval("button", (buttons) => buttons.filter((button) => button.checkVisibility() && button.getClientRects().length > 0 && button.clientHeight > 40).map((button) => button.textContent));
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
  // What is packed stays so: a script unpacks it. Diffs, tool calls and prompts are not printed.
  const folded = () => printed.page.$$eval("details:not([data-n])", (folds) => folds.filter((fold) => !fold.closest("[data-n], .files, .part.changes, .part.tools, .part.prompt") && !fold.lastElementChild.checkVisibility()).length);
  check(await folded() > 0, `${name}: folds on the screen`);
  await printed.page.emulateMediaType("print");
  equal(await folded(), 0, `${name}: folds that stay closed on paper`);
  const diffs = await printed.page.$$eval("pre.diff", (diffs) => diffs.filter((diff) => diff.checkVisibility()).length);
  equal(diffs, 0, `${name}: diffs on paper`);
  equal(printed.wrong, [], `${name}, printed`);
  await printed.page.close();
}

/** The first screen, tabs, search, order, folds and keys. */
async function handling(browser, file) {
  const { page, wrong } = await visit(browser, file);
  const focused = () => page.evaluate(() => document.activeElement.closest(".a")?.id ?? document.activeElement.id);
  const panels = () => page.$$eval(".panel", (panels) => panels.filter((panel) => panel.checkVisibility()).map((panel) => panel.id));
  const current = () => page.$$eval("nav a[aria-current]", (links) => links.map((link) => link.hash));
  equal([await panels(), await current()], [["changes"], ["#changes"]], "the first part is open, below what needs somebody");
  check(await page.$eval(".card", (card) => card.getBoundingClientRect().top < 500), "what needs somebody is on the first screen");
  // A command to copy.
  await page.click(".card button");
  await page.waitForFunction(() => /^(Copied|Selected)$/.test(document.querySelector(".card button").textContent));
  // Tabs.
  for (const [tab, panel] of [["#changes", "changes"], ["#failures", "failures"], ["#attempts", "attempts"], ["#about", "about"]]) {
    await page.click(`nav a[href='${tab}']`);
    equal([await panels(), await current()], [[panel], [tab]], `the tab ${tab}`);
  }
  const covered = () => page.evaluate(() => {
    const bar = document.querySelector("nav").getBoundingClientRect().bottom;
    return document.activeElement.closest(".a").firstElementChild.getBoundingClientRect().top < bar;
  });
  await page.click("nav a[href='#top']");
  equal(await panels(), ["about"], "back at the top, and the part stays open");
  // A link leads to its attempt, which the bar does not cover.
  await page.click(".card a[href^='#i']");
  await page.waitForFunction(() => document.querySelector(".a[open]") !== null);
  equal([await panels(), await covered()], [["attempts"], false], "a link to an attempt");
  equal(await page.$$eval(".a[open]", (open) => open.length), 1, "one attempt is open");
  await page.evaluate(() => { document.querySelector(".a[open]").open = false; });
  // Below their tasks in the order of the list, or as they came.
  const order = () => page.$$eval(".a", (attempts) => attempts.map((attempt) => Number(attempt.id.slice(1))));
  const byTask = await order();
  // What was cut short is no attempt.
  const judged = await page.$$eval(".a .no", (numbers) => numbers.filter((number) => number.textContent).length);
  const sorted = [...byTask].sort((one, other) => one - other);
  equal(await page.$$eval(".task", (tasks) => tasks.map((task) => `${task.querySelector("h3 b").textContent} ${task.querySelectorAll(".a").length}`)), ["T002 3", "T003 3", "T004 3", "T005 2"], "tasks with several attempts");
  await page.click("#order");
  equal([await order(), await page.$eval("#order", (button) => button.getAttribute("aria-pressed"))], [sorted, "true"], "by time");
  await page.click("#order");
  equal(await order(), byTask, "by task again");
  // Search, in texts that are not packed.
  await page.evaluate(() => document.activeElement.blur());
  await page.keyboard.press("/");
  equal(await focused(), "query", "what / leads to");
  await page.keyboard.type("MOON opinion");
  // The page searches in pauses of the typing, and a busy machine types with pauses.
  await page.waitForFunction((all) => document.getElementById("shown").textContent === `6 of ${all} match`, {}, judged);
  equal(await shown(page), 6, "found, in titles too");
  await page.keyboard.type(" nowhere-at-all");
  await page.waitForFunction((all) => document.getElementById("shown").textContent === `0 of ${all} match`, {}, judged);
  await page.keyboard.press("Escape");
  equal([await shown(page), await page.$eval("#shown", (line) => line.textContent)], [byTask.length, ""], "after Escape");
  // The name of a task finds its attempts, and a path those that changed the file.
  const find = async (text, count) => {
    await page.keyboard.press("/");
    await page.keyboard.type(text);
    await page.waitForFunction((words) => document.getElementById("shown").textContent === words, {}, `${count} of ${judged} match`);
    check(await page.$eval("#shown", (line) => line.getBoundingClientRect().top < innerHeight), `${text}: what is found is on the screen`);
    await page.keyboard.press("Escape");
    await page.evaluate(() => document.activeElement.blur());
  };
  await page.evaluate(() => document.activeElement.blur());
  await find("t003", 3);
  const changed = await page.$$eval(".a[data-f]", (all) => all.map((attempt) => attempt.dataset.f.split(" ")));
  const [path_] = changed.flat().filter((name) => /[/.]\w/.test(name));
  await find(path_, changed.filter((names) => names.some((name) => name.includes(path_))).length);
  // By keyboard, from attempt to attempt.
  await page.evaluate(() => document.activeElement.blur());
  await page.keyboard.press("j");
  equal(await focused(), `i${byTask[0]}`, "j");
  await page.keyboard.press("j");
  equal(await focused(), `i${byTask[1]}`, "j again");
  await page.keyboard.press("Enter");
  equal(await page.$eval(`#i${byTask[1]}`, (attempt) => attempt.open), true, "Enter opens");
  await page.keyboard.press("k");
  equal(await focused(), `i${byTask[0]}`, "k");
  // A prompt comes out of the page itself.
  await page.evaluate((n) => { const attempt = document.getElementById(`i${n}`); attempt.open = true; attempt.querySelector(".prompt").open = true; }, byTask[1]);
  await page.waitForFunction((n) => document.querySelector(`#i${n} .prompt pre`) !== null, {}, byTask[1]);
  check((await page.$eval(`#i${byTask[1]} .prompt pre`, (pre) => pre.textContent)).includes("T002"), "the prompt of the attempt");
  // The strip: what is under the pointer, and where a click leads.
  await page.hover("#strip rect");
  check(/T001/.test(await page.$eval("#readout", (element) => element.textContent)), "the strip names the attempt");
  await page.click("#strip rect");
  await page.waitForFunction((n) => document.getElementById(`i${n}`).open, {}, sorted[0]);
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
  equal(await bare.page.$eval("h1", (title) => title.textContent), "4 of 5 tasks done. One needs you.", "without scripts");
  equal(await bare.page.$$eval("button, input", (controls) => controls.filter((control) => control.checkVisibility()).length), 0, "no control that does nothing");
  equal(await bare.page.$$eval(".panel", (panels) => panels.filter((panel) => !panel.checkVisibility()).length), 0, "all parts are there without scripts");
  check(await bare.page.$eval(".card .command", (code) => code.checkVisibility()), "the command without scripts");
  await bare.page.close();
  const linked = await browser.newPage();
  await linked.goto(`${pathToFileURL(file).href}#i5`);
  equal(await linked.$eval("#i5", (attempt) => attempt.open), true, "an address leads to an attempt");
  await linked.close();
}

/** A question: the answer becomes one word of the command. */
async function answering(browser, file) {
  const { page, wrong } = await visit(browser, file);
  const command = () => page.$eval(".answer ~ .command", (code) => code.textContent.replace(/ \d{8}-\d{6}-[0-9a-f]{8}/g, " ID"));
  equal(await command(), "specify ralph hint --session ID --task T001 'TEXT' &&\nspecify ralph resume ID", "without an answer");
  await page.type(".answer input", "it's $& `semicolons`");
  equal(await command(), "specify ralph hint --session ID --task T001 'it'\\''s $& `semicolons`' &&\nspecify ralph resume ID", "with one");
  await page.keyboard.press("Enter");
  await page.waitForFunction(() => /^(Copied|Selected)$/.test(document.querySelector(".go").textContent));
  equal(wrong, [], "answering");
  await page.close();
}

/** The page of a session whose record grows: what the reader unfolded or folded stays as it was. */
async function growing(browser, address, grow) {
  const { page, wrong } = await visit(browser, `${address}#attempts`);
  const state = () => page.evaluate(() => document.documentElement.dataset.state);
  const seen = () => page.evaluate(() => [
    [...document.querySelectorAll(".panel")].filter((panel) => !panel.hidden).map((panel) => panel.id),
    document.querySelector(".files details").open,
    document.querySelector("#i1").open,
    [...document.querySelectorAll("#i1 .part")].map((part) => part.open),
  ]);
  await page.evaluate(() => {
    for (const fold of document.querySelectorAll("#i1, .files details, #i1 .part:nth-of-type(odd)")) fold.open = !fold.open;
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
    asking(specify, path.join(work, "asking"));
    const question = path.join(pages, "asking.html");
    ralph(specify, path.join(work, "asking"), ["report", "-o", question]);
    await answering(browser, question);
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

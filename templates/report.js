(() => {
  "use strict";
  const $ = (id) => document.getElementById(id);
  const root = document.documentElement;

  // Light and dark: the reader's system, until the button says otherwise.
  const theme = $("theme");
  const prefersDark = matchMedia("(prefers-color-scheme: dark)");
  const isDark = () => (root.dataset.theme ? root.dataset.theme === "dark" : prefersDark.matches);
  const nameTheme = () => { theme.textContent = isDark() ? "Light" : "Dark"; };
  const keep = (value) => { try { localStorage.setItem("ralph-theme", value); } catch { /* a page without storage */ } };
  try {
    const kept = localStorage.getItem("ralph-theme");
    if (kept === "dark" || kept === "light") root.dataset.theme = kept;
  } catch { /* a page without storage */ }
  theme.addEventListener("click", () => {
    root.dataset.theme = isDark() ? "light" : "dark";
    keep(root.dataset.theme);
    nameTheme();
  });
  prefersDark.addEventListener("change", nameTheme);
  nameTheme();
  theme.hidden = false;

  for (const time of document.querySelectorAll("time")) {
    const moment = new Date(time.dateTime);
    if (!Number.isNaN(moment.getTime())) time.title = moment.toLocaleString();
  }

  const turns = [...document.querySelectorAll(".it")];
  if (turns.length === 0) return;

  const open = (turn) => {
    if (!turn || !turn.classList.contains("it")) return;
    if (turn.hidden) clear();
    turn.open = true;
    turn.scrollIntoView({ block: "start" });
    turn.firstElementChild.focus({ preventScroll: true });
  };
  const fromAddress = () => { if (/^#i\d+$/.test(location.hash)) open($(location.hash.slice(1))); };
  addEventListener("hashchange", fromAddress);
  document.addEventListener("click", (event) => {
    const link = event.target.closest("a[href^='#i']");
    // The same link a second time changes no address.
    if (link && link.hash === location.hash) fromAddress();
  });

  // Search and filter.
  const form = $("filter"), query = $("query"), task = $("task"), shown = $("shown"), none = $("none");
  const chips = [...form.querySelectorAll(".chip")];
  const texts = new Map();
  const textOf = (turn) => {
    if (!texts.has(turn)) texts.set(turn, turn.textContent.toLowerCase());
    return texts.get(turn);
  };
  const apply = () => {
    const words = query.value.toLowerCase().split(/\s+/).filter(Boolean);
    const outcomes = chips.filter((chip) => chip.ariaPressed === "true").map((chip) => chip.dataset.o);
    let count = 0;
    for (const turn of turns) {
      const fits = (outcomes.length === 0 || outcomes.includes(turn.dataset.o))
        && (task.value === "" || turn.dataset.t === task.value)
        && words.every((word) => textOf(turn).includes(word));
      turn.hidden = !fits;
      count += fits ? 1 : 0;
    }
    none.hidden = count > 0;
    shown.textContent = count === turns.length ? `${count} shown` : `${count} of ${turns.length} shown`;
  };
  function clear() {
    query.value = "";
    task.value = "";
    for (const chip of chips) chip.ariaPressed = "false";
    apply();
  }
  let pending;
  query.addEventListener("input", () => { clearTimeout(pending); pending = setTimeout(apply, 80); });
  task.addEventListener("change", apply);
  for (const chip of chips) {
    chip.addEventListener("click", () => {
      chip.ariaPressed = chip.ariaPressed === "true" ? "false" : "true";
      apply();
    });
  }
  form.addEventListener("submit", (event) => { event.preventDefault(); apply(); });
  form.addEventListener("keydown", (event) => { if (event.key === "Escape") clear(); });
  const visible = () => turns.filter((turn) => !turn.hidden);
  $("unfold").addEventListener("click", () => { for (const turn of visible()) turn.open = true; });
  $("fold").addEventListener("click", () => { for (const turn of turns) turn.open = false; });
  const next = (is, from, step) => {
    const list = visible();
    for (let at = list.indexOf(from) + step; at >= 0 && at < list.length; at += step) if (is(list[at])) return list[at];
    return null;
  };
  const here = () => document.activeElement.closest(".it");
  const isFailure = (turn) => turn.dataset.o === "failure";
  $("next").addEventListener("click", () => {
    const last = visible().filter((turn) => turn.open).pop();
    open(next(isFailure, last, 1) || next(isFailure, undefined, 1));
  });
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const inField = event.target.closest("input, select, textarea");
    if (event.key === "/" && !inField) { event.preventDefault(); query.focus(); return; }
    // In the list alone: a reader's own keys stay theirs elsewhere.
    const turn = here();
    if (!turn || inField) return;
    const step = { j: 1, ArrowDown: 1, k: -1, ArrowUp: -1 }[event.key];
    const onLine = document.activeElement === turn.firstElementChild;
    if (step && onLine) {
      const other = next(() => true, turn, step);
      if (other) { event.preventDefault(); other.firstElementChild.focus(); }
    }
  });
  form.hidden = false;
  apply();

  // The column under the pointer.
  const charts = $("charts"), readout = $("readout");
  if (charts) {
    const cursor = document.createElement("div");
    cursor.className = "cursor";
    cursor.hidden = true;
    charts.append(cursor);
    const columns = Number(charts.dataset.columns), step = Number(charts.dataset.step);
    const at = (event) => {
      const box = charts.querySelector("svg").getBoundingClientRect();
      const column = Math.floor(((event.clientX - box.left) / box.width) * columns);
      if (column < 0 || column >= columns) return null;
      cursor.style.left = `${box.left - charts.getBoundingClientRect().left + ((column + 0.5) / columns) * box.width}px`;
      return $(`i${Number(charts.dataset.first) + column * step}`);
    };
    charts.addEventListener("pointermove", (event) => {
      const turn = at(event);
      cursor.hidden = !turn;
      const part = (name) => turn.querySelector(`summary ${name}`).textContent.trim();
      readout.textContent = turn ? `${part(".no")}  ${part(".what b")}  ${part(".why") || part(".sr")}  ${part(".num")}` : "";
    });
    charts.addEventListener("pointerleave", () => { cursor.hidden = true; readout.textContent = ""; });
    charts.addEventListener("click", (event) => { const turn = at(event); if (turn) location.hash = turn.id; });
  }

  // On paper a fold cannot be opened: few iterations are unfolded for it, of many it says so.
  let unfolded = [];
  addEventListener("beforeprint", () => {
    const list = visible();
    unfolded = [...document.querySelectorAll(".phase")];
    if (list.length <= 40) unfolded.push(...list.flatMap((turn) => [turn, ...turn.querySelectorAll("details:not(.prompt)")]));
    unfolded = unfolded.filter((fold) => !fold.open);
    for (const fold of unfolded) fold.open = true;
    const isFolded = turns.some((turn) => turn.hidden || !turn.open || turn.querySelector("details:not([open])"));
    $("paper").classList.toggle("says", isFolded);
  });
  addEventListener("afterprint", () => { for (const fold of unfolded) fold.open = false; unfolded = []; });

  fromAddress();
})();

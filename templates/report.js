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

  // What is to be typed can be copied.
  for (const code of document.querySelectorAll(".command")) {
    const button = document.createElement("button");
    button.type = "button";
    button.className = "quiet copy";
    button.textContent = "Copy";
    button.setAttribute("aria-label", `Copy ${code.textContent}`);
    button.addEventListener("click", async () => {
      try {
        await navigator.clipboard.writeText(code.textContent);
        button.textContent = "Copied";
      } catch {
        getSelection().selectAllChildren(code);
        button.textContent = "Selected";
      }
    });
    code.after(button);
  }

  const turns = [...document.querySelectorAll(".it")];
  if (turns.length === 0) return;

  // Attempts at a task are tabs; all of them stand below each other while a search or the reader asks for that.
  const groups = [...document.querySelectorAll(".group")].map((section) => {
    const list = document.createElement("div");
    list.className = "tabs";
    list.setAttribute("role", "tablist");
    list.setAttribute("aria-label", `Attempts at ${section.dataset.t}`);
    const attempts = [...section.querySelectorAll(".it")].map((turn) => {
      const text = (part) => turn.querySelector(`summary ${part}`).textContent;
      const tab = document.createElement("button"), panel = document.createElement("div"), number = document.createElement("small");
      number.textContent = `#${text(".no")}`;
      tab.type = "button";
      tab.className = turn.dataset.o;
      tab.append(`${text(".mark")} `, number);
      panel.id = `p${text(".no")}`;
      for (const [key, value] of [["role", "tab"], ["aria-controls", panel.id], ["aria-label", `iteration ${text(".no")}, ${text(".sr")}`]]) tab.setAttribute(key, value);
      tab.id = `t${text(".no")}`;
      panel.className = "attempt";
      panel.setAttribute("role", "tabpanel");
      panel.setAttribute("aria-labelledby", tab.id);
      turn.before(panel);
      panel.append(turn);
      list.append(tab);
      return { turn, tab, panel };
    });
    section.firstElementChild.after(list);
    return { section, list, attempts, chosen: attempts.findLast(({ turn }) => turn.dataset.o === "failure") ?? attempts.at(-1) };
  });
  let isFlat = false;
  const layOut = (group, isSearch) => {
    const there = group.attempts.filter(({ turn }) => !turn.hidden);
    if (group.chosen.turn.hidden && there.length > 0) group.chosen = there[0];
    group.list.hidden = isSearch || isFlat;
    for (const attempt of group.attempts) {
      const isChosen = attempt === group.chosen;
      attempt.tab.hidden = attempt.turn.hidden;
      attempt.tab.ariaSelected = String(isChosen);
      attempt.tab.tabIndex = isChosen ? 0 : -1;
      attempt.panel.hidden = !(isChosen || group.list.hidden);
    }
    group.section.hidden = there.length === 0;
  };
  const choose = (turn) => {
    const group = groups.find(({ section }) => section.contains(turn));
    if (!group || group.list.hidden) return;
    group.chosen = group.attempts.find((attempt) => attempt.turn === turn);
    layOut(group, false);
  };
  for (const group of groups) {
    const pick = ({ turn, tab }) => {
      turn.open = turn.open || group.chosen.turn.open;
      choose(turn);
      tab.focus();
    };
    group.list.addEventListener("click", ({ target }) => {
      const found = group.attempts.find(({ tab }) => tab.contains(target));
      if (found) pick(found);
    });
    group.list.addEventListener("keydown", (event) => {
      const there = group.attempts.filter(({ turn }) => !turn.hidden), at = there.indexOf(group.chosen);
      const to = { ArrowLeft: at - 1, ArrowRight: at + 1, Home: 0, End: there.length - 1 }[event.key];
      if (to === undefined) return;
      event.preventDefault();
      pick(there.at(to % there.length));
    });
  }

  const open = (turn) => {
    if (!turn || !turn.classList.contains("it")) return;
    if (turn.hidden) clear();
    choose(turn);
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

  // Search and filter. Both are kept in the address.
  const form = $("filter"), query = $("query"), task = $("task"), shown = $("shown"), none = $("none"), prompts = $("prompts");
  const chips = [...form.querySelectorAll(".chip")];
  const nodesOf = (turn) => {
    const walker = document.createTreeWalker(turn, NodeFilter.SHOW_TEXT);
    const nodes = [];
    while (walker.nextNode()) {
      if (prompts.checked || !walker.currentNode.parentElement.closest(".prompt")) nodes.push(walker.currentNode);
    }
    return nodes;
  };
  const texts = new Map();
  const textOf = (turn) => {
    if (!texts.has(turn)) texts.set(turn, nodesOf(turn).map((node) => node.data).join("\n").toLowerCase());
    return texts.get(turn);
  };
  // Where the words are: marked in all that is shown, and the first place in a line of its own.
  const MARKS = 2000, AROUND = 60;
  const mark = (list, words) => {
    for (const snippet of document.querySelectorAll(".snippet")) snippet.remove();
    const ranges = [];
    for (const turn of words.length > 0 ? list : []) {
      let first = null;
      for (const node of nodesOf(turn)) {
        const text = node.data.toLowerCase();
        // A letter whose small form is longer would move all that follows.
        if (text.length !== node.data.length) continue;
        for (const word of words) {
          for (let at = text.indexOf(word); at >= 0 && ranges.length < MARKS; at = text.indexOf(word, at + word.length)) {
            const range = document.createRange();
            range.setStart(node, at);
            range.setEnd(node, at + word.length);
            ranges.push(range);
            if (!first && !node.parentElement.closest("summary")) first = { text: node.data, at, length: word.length };
          }
        }
      }
      if (first) {
        const snippet = document.createElement("p");
        snippet.className = "snippet";
        const part = (from, to) => first.text.slice(Math.max(from, 0), to).replace(/\s+/g, " ");
        const found = document.createElement("mark");
        found.textContent = part(first.at, first.at + first.length);
        const end = first.at + first.length;
        snippet.append(part(first.at - AROUND, first.at), found, part(end, end + AROUND));
        turn.after(snippet);
      }
    }
    if (window.Highlight && CSS.highlights) CSS.highlights.set("found", new Highlight(...ranges));
  };
  const apply = () => {
    const words = query.value.toLowerCase().split(/\s+/).filter(Boolean);
    const outcomes = chips.filter((chip) => chip.ariaPressed === "true").map((chip) => chip.dataset.o);
    const list = turns.filter((turn) => {
      const fits = (outcomes.length === 0 || outcomes.includes(turn.dataset.o))
        && (task.value === "" || turn.dataset.t === task.value)
        && words.every((word) => textOf(turn).includes(word));
      turn.hidden = !fits;
      return fits;
    });
    for (const group of groups) layOut(group, words.length > 0);
    mark(list, words);
    none.hidden = list.length > 0;
    shown.textContent = list.length === turns.length ? `${turns.length} shown` : `${list.length} of ${turns.length} shown`;
  };
  const remember = () => {
    const state = new URLSearchParams();
    if (query.value) state.set("q", query.value);
    for (const chip of chips) if (chip.ariaPressed === "true") state.append("o", chip.dataset.o);
    if (task.value) state.set("t", task.value);
    if (prompts.checked) state.set("p", "1");
    const hash = state.toString();
    if (hash || !/^#i\d+$/.test(location.hash)) {
      try { history.replaceState(null, "", `#${hash}`); } catch { /* a page without an address */ }
    }
  };
  const change = () => { apply(); remember(); };
  const recall = () => {
    const state = new URLSearchParams(location.hash.slice(1));
    query.value = state.get("q") ?? "";
    task.value = state.get("t") ?? "";
    prompts.checked = state.has("p");
    for (const chip of chips) chip.ariaPressed = String(state.getAll("o").includes(chip.dataset.o));
  };
  function clear() {
    query.value = "";
    task.value = "";
    for (const chip of chips) chip.ariaPressed = "false";
    change();
  }
  let pending;
  query.addEventListener("input", () => { clearTimeout(pending); pending = setTimeout(change, 80); });
  task.addEventListener("change", change);
  prompts.addEventListener("change", () => { texts.clear(); change(); });
  for (const chip of chips) {
    chip.addEventListener("click", () => {
      chip.ariaPressed = chip.ariaPressed === "true" ? "false" : "true";
      change();
    });
  }
  form.addEventListener("submit", (event) => { event.preventDefault(); change(); });
  form.addEventListener("keydown", (event) => { if (event.key === "Escape") clear(); });
  const visible = () => turns.filter((turn) => !turn.hidden);
  const foldAll = (isOpen) => {
    isFlat = isOpen;
    for (const turn of isOpen ? visible() : turns) turn.open = isOpen;
    apply();
  };
  $("unfold").addEventListener("click", () => foldAll(true));
  $("fold").addEventListener("click", () => foldAll(false));
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
      if (other) { event.preventDefault(); choose(other); other.firstElementChild.focus(); }
    }
  });
  form.hidden = false;
  recall();
  apply();

  // The strip: a cell says what it is, and arrows lead from one to the next.
  const strip = $("strip"), readout = $("readout");
  const name = (event) => { readout.textContent = event.target.closest("[aria-label]")?.getAttribute("aria-label") ?? ""; };
  for (const kind of ["pointerover", "focusin"]) strip.addEventListener(kind, name);
  strip.addEventListener("pointerleave", () => { readout.textContent = ""; });
  strip.addEventListener("keydown", (event) => {
    const cells = [...strip.querySelectorAll("a")];
    const other = cells[cells.indexOf(document.activeElement) + ({ ArrowLeft: -1, ArrowRight: 1 }[event.key] ?? NaN)];
    if (other) { event.preventDefault(); other.focus(); }
  });

  // On paper a fold cannot be opened: few iterations are unfolded for it, of many it says so.
  let unfolded = [];
  addEventListener("beforeprint", () => {
    const list = visible();
    unfolded = [...document.querySelectorAll(".phase, .folder")];
    if (list.length <= 40) unfolded.push(...list.flatMap((turn) => [turn, ...turn.querySelectorAll("details:not(.prompt)")]));
    unfolded = unfolded.filter((fold) => !fold.open);
    for (const fold of unfolded) fold.open = true;
    const isFolded = turns.some((turn) => turn.hidden || !turn.open || turn.querySelector("details:not([open])"));
    $("paper").classList.toggle("says", isFolded);
  });
  addEventListener("afterprint", () => { for (const fold of unfolded) fold.open = false; unfolded = []; });

  fromAddress();
})();

(() => {
  "use strict";
  const $ = (id) => document.getElementById(id), all = (selector, from = document) => [...from.querySelectorAll(selector)];
  const root = document.documentElement;
  root.classList.add("js");

  // Light and dark: the reader's system, until the button says otherwise.
  const theme = $("theme"), prefersDark = matchMedia("(prefers-color-scheme: dark)");
  const isDark = () => (root.dataset.theme ? root.dataset.theme === "dark" : prefersDark.matches);
  const nameTheme = () => { theme.textContent = isDark() ? "Light" : "Dark"; };
  try {
    const kept = localStorage.getItem("ralph-theme");
    if (kept === "dark" || kept === "light") root.dataset.theme = kept;
  } catch { /* a page without storage */ }
  theme.addEventListener("click", () => {
    root.dataset.theme = isDark() ? "light" : "dark";
    try { localStorage.setItem("ralph-theme", root.dataset.theme); } catch { /* a page without storage */ }
    nameTheme();
  });
  prefersDark.addEventListener("change", nameTheme);
  nameTheme();
  theme.hidden = false;

  // A command has a button that copies it; an answer is put into it first, as one word for the shell.
  for (const code of all(".command")) {
    const foot = code.closest(".foot"), field = foot?.querySelector("input"), made = code.textContent;
    const button = foot?.querySelector(".go") ?? code.insertAdjacentElement("afterend", document.createElement("button"));
    if (field) {
      field.parentElement.hidden = false;
      button.hidden = false;
      field.addEventListener("input", () => {
        code.textContent = field.value.trim() ? made.replace("'TEXT'", () => `'${field.value.trim().replaceAll("'", "'\\''")}'`) : made;
      });
      field.addEventListener("keydown", (event) => { if (event.key === "Enter") button.click(); });
    } else {
      button.type = "button";
      button.textContent = foot && made.includes(" hint ") ? "Copy hint command" : "Copy";
      button.setAttribute("aria-label", `${button.textContent}: ${made}`);
    }
    const label = button.textContent;
    button.addEventListener("click", async () => {
      try {
        await navigator.clipboard.writeText(code.textContent);
        button.textContent = "Copied";
      } catch {
        getSelection().selectAllChildren(code);
        button.textContent = "Selected";
      }
      setTimeout(() => { button.textContent = label; }, 2000);
    });
  }

  // How long it has been at work.
  for (const since of all("[data-since]")) {
    const tick = () => {
      const seconds = Math.max(0, Math.round(Date.now() / 1000 - since.dataset.since));
      since.textContent = seconds < 60 ? `${seconds} s` : seconds < 3600 ? `${Math.floor(seconds / 60)} min ${seconds % 60} s` : `${Math.floor(seconds / 3600)} h ${Math.floor(seconds / 60) % 60} min`;
    };
    if (root.dataset.state) { tick(); setInterval(tick, 1000); }
  }

  // Tabs: one part of the page at a time.
  const panels = all(".panel"), tabs = all("nav a");
  const show = (panel) => {
    for (const other of panels) other.hidden = other !== panel;
    for (const tab of tabs) {
      if (tab.hash === `#${panel?.id ?? "top"}`) tab.setAttribute("aria-current", "true");
      else tab.removeAttribute("aria-current");
    }
  };
  const open = (attempt, isFocused = true) => {
    show($("attempts"));
    if (attempt.hidden) { query.value = ""; search(); }
    attempt.open = true;
    attempt.scrollIntoView({ block: "start" });
    if (isFocused) attempt.firstElementChild.focus({ preventScroll: true });
  };
  const go = () => {
    const target = $(location.hash.slice(1));
    if (target?.matches(".a")) open(target);
    else if (target?.closest(".panel")) { show(target.closest(".panel")); target.scrollIntoView({ block: "start" }); }
    else if (location.hash === "#top") { show(null); scrollTo(0, 0); }
  };
  addEventListener("hashchange", go);
  document.addEventListener("click", ({ target }) => {
    const link = target.closest("a[href^='#']");
    // The same link a second time changes no address.
    if (link && link.hash === location.hash) go();
  });

  // What takes much room is packed together; the first fold that is opened, or a search, unpacks it. Where that fails,
  // the command in the fold shows it.
  let packed;
  const unpack = async () => {
    const bytes = Uint8Array.from(atob($("packed").textContent), (c) => c.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
    return (await new Response(stream).text()).split("\0");
  };
  const unpacked = () => (packed ??= unpack().catch(() => []));

  // Search, and the order of the attempts: below their tasks, or as they came.
  const list = $("list"), attempts = all(".a"), query = $("query"), shown = $("shown"), order = $("order");
  const groups = all(".task").map((section) => ({ section, own: all(".a", section) }));
  const children = [...list.children];
  const titles = new Map(attempts.map((attempt) => [attempt, attempt.closest(".task")?.firstElementChild.textContent ?? ""]));
  const texts = new Map();
  const plain = (html) => Object.assign(document.createElement("template"), { innerHTML: html }).content.textContent;
  const textOf = (attempt, packed) => {
    if (!texts.has(attempt)) {
      const hidden = all("[data-n]:not(.prompt)", attempt).map((fold) => plain(packed[fold.dataset.n] ?? ""));
      texts.set(attempt, [titles.get(attempt), attempt.textContent, ...hidden].join(" ").toLowerCase());
    }
    return texts.get(attempt);
  };
  // The name of a task finds its attempts, and a path those that changed the file; all else is looked for in the texts.
  const taskOf = new Map(attempts.map((attempt) => [attempt, attempt.querySelector("b").textContent.toLowerCase()]));
  const own = (word) => attempts.filter((attempt) => taskOf.get(attempt) === word || (/[/.]\w/.test(word) && attempt.dataset.f?.toLowerCase().includes(word)));
  const search = async () => {
    const words = query.value.toLowerCase().split(/\s+/).filter(Boolean);
    const packed = words.length > 0 ? await unpacked() : [];
    const tests = words.map((word) => {
      const meant = new Set(own(word));
      return (attempt) => (meant.size > 0 ? meant.has(attempt) : textOf(attempt, packed).includes(word));
    });
    const found = attempts.filter((attempt) => !(attempt.hidden = !tests.every((test) => test(attempt))));
    for (const { section, own } of groups) section.hidden = own.every((attempt) => attempt.hidden);
    // What was cut short has no number, and is no attempt.
    const [judged, all] = [found, attempts].map((some) => some.filter((attempt) => attempt.querySelector(".no").textContent).length);
    const cut = found.length > judged ? `, and ${found.length - judged} cut short` : "";
    shown.textContent = words.length === 0 ? "" : `${judged} of ${all} match${cut}`;
  };
  let pending;
  query.addEventListener("input", () => {
    clearTimeout(pending);
    pending = setTimeout(() => { show($("attempts")); $("attempts").scrollIntoView({ block: "start" }); search(); }, 80);
  });
  query.addEventListener("keydown", (event) => { if (event.key === "Escape") { query.value = ""; search(); } });
  query.closest("[hidden]").hidden = false;
  order.addEventListener("click", () => {
    const isByTime = order.getAttribute("aria-pressed") === "false";
    order.setAttribute("aria-pressed", isByTime);
    if (isByTime) list.replaceChildren(...attempts.toSorted((one, other) => one.id.slice(1) - other.id.slice(1)));
    else {
      list.replaceChildren(...children);
      for (const { section, own } of groups) section.append(...own);
    }
  });
  order.hidden = attempts.length < 2;

  // Keys.
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest("input")) return;
    if (event.key === "/") { event.preventDefault(); query.focus(); return; }
    const step = { j: 1, k: -1 }[event.key];
    if (!step || attempts.length === 0) return;
    if ($("attempts").hidden) show($("attempts"));
    const there = all(".a:not([hidden])"), at = there.indexOf(document.activeElement.closest(".a"));
    const next = there[Math.min(Math.max(at + step, 0), there.length - 1)];
    next?.firstElementChild.focus();
  });

  // What is packed is markup of ours, too.
  for (const fold of all("details[data-n]")) {
    fold.addEventListener("toggle", async () => {
      const place = fold.dataset.n;
      if (!fold.open || place === undefined) return;
      delete fold.dataset.n;
      fold.lastElementChild.insertAdjacentHTML("beforebegin", (await unpacked())[place] ?? "");
    });
  }

  // The strip names what is under the pointer, and a click leads there.
  const strip = $("strip"), readout = $("readout");
  const cell = (event) => $(`i${event.target.closest("[data-n]")?.dataset.n}`);
  strip?.addEventListener("pointerover", (event) => {
    const summary = cell(event)?.firstElementChild;
    readout.textContent = summary ? [...summary.children].slice(0, 5).map((part) => part.textContent).join(" ") : "";
  });
  strip?.addEventListener("click", (event) => { const attempt = cell(event); if (attempt) location.hash = attempt.id; });

  let unfolded = [];
  addEventListener("beforeprint", () => {
    unfolded = attempts.length <= 40 ? all("details:not([open], [data-n])") : [];
    for (const fold of unfolded) fold.open = true;
  });
  addEventListener("afterprint", () => { for (const fold of unfolded) fold.open = false; unfolded = []; });

  show(panels.find((panel) => panel.id === "changes" && !$("needs").closest("section").querySelector(".card")) ?? null);
  go();
})();

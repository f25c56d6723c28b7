(() => {
  "use strict";
  const $ = (id) => document.getElementById(id), all = (selector, from = document) => [...from.querySelectorAll(selector)];
  const root = document.documentElement;
  root.classList.add("js");

  // Light and dark: the reader's system, until the button says otherwise.
  const theme = $("theme"), prefersDark = matchMedia("(prefers-color-scheme: dark)");
  const keep = (name) => { try { localStorage.setItem("ralph-theme", name); } catch { /* a page without storage */ } };
  const kept = () => { try { return localStorage.getItem("ralph-theme"); } catch { return null; } };
  const paint = (name) => {
    if (name) root.dataset.theme = name;
    theme.textContent = (root.dataset.theme ?? (prefersDark.matches ? "dark" : "light")) === "dark" ? "Light" : "Dark";
  };
  theme.addEventListener("click", () => { paint(theme.textContent.toLowerCase()); keep(root.dataset.theme); });
  prefersDark.addEventListener("change", () => paint());
  paint(kept());
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

  // Tabs: one part of the page at a time.
  const panels = all(".panel"), tabs = all("nav a");
  const show = (panel) => {
    for (const other of panels) other.hidden = other !== panel;
    for (const tab of tabs) tab.ariaCurrent = tab.hash === `#${panel.id}` ? "true" : null;
  };
  const go = () => {
    const target = $(location.hash.slice(1));
    if (!target) return;
    const panel = target.closest(".panel");
    if (panel) show(panel);
    if (target.matches(".a")) {
      if (target.hidden) { query.value = ""; search(); }
      target.open = true;
      target.firstElementChild.focus({ preventScroll: true });
    }
    target.scrollIntoView({ block: "start" });
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
  const groups = all(".task").map((section) => ({ section, own: all(".a", section) })), children = [...list.children];
  const plain = (html) => Object.assign(document.createElement("template"), { innerHTML: html }).content.textContent;
  const known = attempts.map((attempt) => ({
    attempt, task: attempt.querySelector("b").textContent.toLowerCase(), files: attempt.dataset.f?.toLowerCase() ?? "",
    title: attempt.closest(".task")?.firstElementChild.textContent,
  }));
  const textOf = (one, packed) => {
    const hidden = () => all("[data-n]:not(.prompt)", one.attempt).map((fold) => plain(packed[fold.dataset.n] ?? ""));
    return one.text ??= [one.title, one.attempt.textContent, ...hidden()].join(" ").toLowerCase();
  };
  const search = async () => {
    const words = query.value.toLowerCase().split(/\s+/).filter(Boolean);
    const packed = words.length > 0 ? await unpacked() : [];
    // The name of a task finds its attempts, and a path those that changed the file; all else is looked for in the texts.
    const tests = words.map((word) => {
      const meant = known.filter(({ task, files }) => task === word || (/[/.]\w/.test(word) && files.includes(word)));
      return (one) => (meant.length > 0 ? meant.includes(one) : textOf(one, packed).includes(word));
    });
    for (const one of known) one.attempt.hidden = !tests.every((test) => test(one));
    for (const { section, own } of groups) section.hidden = own.every((attempt) => attempt.hidden);
    // What was cut short has no number, and is no attempt, as a merge.
    const runs = attempts.filter((attempt) => !attempt.classList.contains("merge"));
    const judged = runs.filter((attempt) => attempt.querySelector(".no").textContent);
    const found = runs.filter((attempt) => !attempt.hidden), matching = judged.filter((attempt) => !attempt.hidden).length;
    const cut = found.length > matching ? `, and ${found.length - matching} cut short` : "";
    shown.textContent = words.length === 0 ? "" : `${matching} of ${judged.length} match${cut}`;
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
    if (!step) return;
    show($("attempts"));
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
  const strip = $("strip"), cell = (event) => $(`i${event.target.closest("[data-n]")?.dataset.n}`);
  strip?.addEventListener("pointerover", (event) => {
    $("readout").textContent = [...cell(event)?.firstElementChild.children ?? []].slice(0, 5).map((part) => part.textContent).join(" ");
  });
  strip?.addEventListener("click", (event) => { const attempt = cell(event); if (attempt) location.hash = attempt.id; });

  show(panels[0]);
  go();
})();

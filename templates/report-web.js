(() => {
  "use strict";
  // Only `specify ralph web` adds this: the page is loaded again when the record has grown, and what the reader unfolded,
  // folded or chose stays as it was.
  const page = location.pathname;
  const kept = `ralph-open:${page}`;
  const known = document.documentElement.dataset.state;
  // A fold is known by its own name and those around it: its counts change.
  const name = (fold) => {
    const label = fold.querySelector("summary bdi") ?? fold.firstElementChild.firstChild;
    return fold.id || `${fold.className} ${label.textContent.trim()}`;
  };
  const key = (fold) => {
    const around = fold.parentElement.closest("details");
    return around ? `${key(around)}\n${name(fold)}` : name(fold);
  };
  const folds = () => new Map([...document.querySelectorAll("details")].map((fold) => [key(fold), fold]));
  const tabs = () => [...document.querySelectorAll("[role=tab][aria-selected=true]")].map((tab) => tab.id);
  const made = new Map([...folds()].map(([key, fold]) => [key, fold.open]));
  const chosen = tabs();
  try {
    const before = JSON.parse(sessionStorage.getItem(kept) || "{}");
    for (const id of before.tabs ?? []) document.getElementById(id)?.click();
    if (before.tabs?.length) document.activeElement.blur();
    const there = folds();
    for (const [key, isOpen] of before.folds ?? []) {
      const fold = there.get(key);
      if (fold) fold.open = isOpen;
    }
    sessionStorage.removeItem(kept);
  } catch { /* a page without storage */ }
  const keep = () => {
    const changed = [...folds()].filter(([key, fold]) => fold.open !== made.get(key));
    const state = { tabs: tabs().filter((id) => !chosen.includes(id)), folds: changed.map(([key, fold]) => [key, fold.open]) };
    try { sessionStorage.setItem(kept, JSON.stringify(state)); } catch { /* a page without storage */ }
  };
  const look = async () => {
    try {
      const answer = await fetch(`${page}?state`, { cache: "no-store" });
      if (answer.ok && (await answer.text()) !== known) {
        keep();
        location.reload();
        return;
      }
    } catch { /* the program has ended, or is busy */ }
    setTimeout(look, 2000);
  };
  setTimeout(look, 2000);
})();

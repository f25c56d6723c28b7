(() => {
  "use strict";
  // Only `specify ralph web` adds this: the page is loaded again when the record has grown.
  const page = location.pathname;
  const kept = `ralph-open:${page}`;
  const known = document.documentElement.dataset.state;
  const unfolded = () => [...document.querySelectorAll("details[id][open]")].map((details) => details.id);
  try {
    for (const id of JSON.parse(sessionStorage.getItem(kept) || "[]")) {
      const details = document.getElementById(id);
      if (details) details.open = true;
    }
    sessionStorage.removeItem(kept);
  } catch { /* a page without storage */ }
  const look = async () => {
    try {
      const answer = await fetch(`${page}?state`, { cache: "no-store" });
      if (answer.ok && (await answer.text()) !== known) {
        try { sessionStorage.setItem(kept, JSON.stringify(unfolded())); } catch { /* a page without storage */ }
        location.reload();
        return;
      }
    } catch { /* the program has ended, or is busy */ }
    setTimeout(look, 2000);
  };
  setTimeout(look, 2000);
})();

(() => {
  "use strict";
  // Only `specify ralph web` adds this: the page is loaded again when the record has grown, and what the reader unfolded
  // or folded stays as it was.
  const page = location.pathname, kept = `ralph-open:${page}`, known = document.documentElement.dataset.state;
  const key = (fold) => fold.id || `${fold.parentElement.closest("[id]").id} ${fold.dataset.k ?? fold.className}`;
  const folds = [...document.querySelectorAll("details")];
  try {
    const was = JSON.parse(sessionStorage.getItem(kept) ?? "{}");
    for (const fold of folds) fold.open = was[key(fold)] ?? fold.open;
    sessionStorage.removeItem(kept);
  } catch { /* a page without storage */ }
  const look = async () => {
    try {
      const answer = await fetch(`${page}?state`, { cache: "no-store" });
      // An answer that is being typed is not thrown away.
      const isTyping = document.activeElement?.matches("input") && document.activeElement.value !== "";
      if (answer.ok && !isTyping && (await answer.text()) !== known) {
        try { sessionStorage.setItem(kept, JSON.stringify(Object.fromEntries(folds.map((fold) => [key(fold), fold.open])))); } catch { /* a page without storage */ }
        location.reload();
        return;
      }
    } catch { /* the program has ended, or is busy */ }
    setTimeout(look, 2000);
  };
  setTimeout(look, 2000);
})();

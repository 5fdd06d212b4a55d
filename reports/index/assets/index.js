"use strict";
// The page works without this. It filters, sorts, and looks for news where the page is served.
(() => {
  const state = { text: "", hidden: new Set(), key: "", down: false };
  const rank = { violated: 0, unknown: 1, unreadable: 2, holds: 3 };
  const find = (selector) => document.querySelector(selector);

  const value = (row, key) => {
    if (key === "verdict") return rank[row.dataset.verdict];
    if (key === "what") return row.cells[4].textContent;
    return row.dataset[key];
  };

  const compare = (a, b) => {
    let x = value(a, state.key), y = value(b, state.key);
    if (state.key === "seed" && /^\d+$/.test(x) && /^\d+$/.test(y)) { x = BigInt(x); y = BigInt(y); }
    return (x < y ? -1 : x > y ? 1 : 0) * (state.down ? -1 : 1);
  };

  const show = () => {
    const table = find("#runs");
    if (!table) return;
    const body = table.tBodies[0];
    const words = state.text.toLowerCase().split(/\s+/).filter(Boolean);
    const rows = [...body.rows];
    let shown = 0;
    for (const row of rows) {
      const text = row.textContent.toLowerCase();
      row.hidden = state.hidden.has(row.dataset.verdict) || !words.every((word) => text.includes(word));
      if (!row.hidden) shown++;
    }
    if (state.key) body.append(...rows.sort(compare));
    for (const button of table.tHead.querySelectorAll("button")) {
      const head = button.closest("th");
      if (button.dataset.key !== state.key) head.removeAttribute("aria-sort");
      else head.setAttribute("aria-sort", state.down ? "descending" : "ascending");
    }
    const noun = rows.length === 1 ? "run" : "runs";
    find("#count").textContent = (shown < rows.length ? `${shown} of ` : "") + `${rows.length} ${noun}`;
    find("#none").hidden = shown > 0;
  };

  const restore = () => {
    const filter = find("#filter");
    if (filter) filter.value = state.text;
    for (const box of document.querySelectorAll("input[name=verdict]")) box.checked = !state.hidden.has(box.value);
    show();
  };

  document.addEventListener("input", (event) => {
    if (event.target.id === "filter") state.text = event.target.value;
    if (event.target.name === "verdict") state.hidden[event.target.checked ? "delete" : "add"](event.target.value);
    show();
  });
  document.addEventListener("submit", (event) => event.preventDefault());
  document.addEventListener("click", (event) => {
    const button = event.target.closest("th button");
    if (!button) return;
    state.down = state.key === button.dataset.key && !state.down;
    state.key = button.dataset.key;
    show();
  });
  document.addEventListener("keydown", (event) => {
    if (event.key !== "/" || event.target.tagName === "INPUT") return;
    event.preventDefault();
    find("#filter")?.focus();
  });

  // Served, the page asks from time to time whether it has changed, and takes over what is new.
  if (!location.protocol.startsWith("http")) return;
  let tag = "";
  const refresh = async () => {
    if (document.hidden) return;
    try {
      const answer = await fetch(location.pathname, { headers: tag ? { "If-None-Match": tag } : {}, cache: "no-store" });
      find("#state").textContent = "";
      if (answer.status !== 200) return;
      const before = tag;
      tag = answer.headers.get("ETag") || "";
      const text = await answer.text();
      if (!before) return;
      const fresh = new DOMParser().parseFromString(text, "text/html").querySelector("main");
      const focused = document.activeElement?.id;
      const open = [...document.querySelectorAll("main details")].map((d) => d.open);
      find("main").replaceWith(fresh);
      const details = [...fresh.querySelectorAll("details")];
      if (details.length === open.length) details.forEach((d, i) => { d.open = open[i]; });
      restore();
      if (focused) document.getElementById(focused)?.focus();
    } catch {
      find("#state").textContent = "The server does not answer; this is what it said last.";
    }
  };
  refresh();
  setInterval(refresh, 2000);
})();

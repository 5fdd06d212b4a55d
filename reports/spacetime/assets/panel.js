// What is beside the picture: the story, the selected event, the list of all events, facts about the run.

const $ = id => document.getElementById(id);

function html(name, attributes, parent, text) {
  const e = document.createElement(name);
  for (const key in attributes) e.setAttribute(key, attributes[key]);
  if (text !== undefined) e.textContent = text;
  if (parent) parent.appendChild(e);
  return e;
}

function copyButton(parent, label, text) {
  const b = html("button", {class: "copy"}, parent, label);
  b.addEventListener("click", async () => {
    try {
      await navigator.clipboard.writeText(text);
    } catch { // a page that was opened as a file may not be allowed to
      const area = html("textarea", {readonly: ""}, parent);
      area.value = text;
      area.select();
      document.execCommand("copy");
      area.remove();
    }
    b.textContent = "Copied";
  });
}

const resultMarks = {violated: "✕", unknown: "?", holds: "✓", skipped: "–"};

function fillTop(select) {
  document.title = source.title;
  $("title").textContent = source.title;
  const results = source.verdicts.map(v => v.result);
  const worst = ["violated", "unknown", "holds"].find(r => results.includes(r));
  if (worst) {
    $("result").textContent = worst;
    $("result").classList.add(worst);
  }
  for (const v of source.verdicts) {
    const item = html("li", {}, $("verdicts"));
    const b = html("button", {class: "verdict " + v.result, title: v.why}, item, `${resultMarks[v.result] || ""} ${v.property}`);
    b.setAttribute("aria-label", `${v.property}: ${v.result}. ${v.why}`);
    b.addEventListener("click", () => select(v.event, v));
  }
}

function fillStory(goTo) {
  const panel = $("story");
  for (const notice of source.notices || []) html("p", {class: "notice"}, panel, notice);
  if (!story) {
    html("p", {class: "headline"}, panel, "There is no story to tell: no violation was found.");
    return;
  }
  html("p", {class: "headline"}, panel, story.headline);
  if (story.mechanism) html("p", {class: "mechanism"}, panel, "How: " + story.mechanism);
  const list = html("ol", {id: "steps"}, panel);
  steps.forEach((step, i) => {
    const item = html("li", {}, list);
    const b = html("button", {class: "step", "data-step": i}, item);
    html("span", {class: "number" + ownerClass(step.lane)}, b, step.number);
    const body = html("span", {class: "body"}, b);
    const when = html("span", {class: "when"}, body);
    html("b", {}, when, step.who);
    html("span", {}, when, seconds(step.time));
    if (step.clock) html("span", {class: "clock off"}, when, step.clock);
    html("span", {class: "what"}, body, step.text);
    b.addEventListener("click", () => goTo(i));
  });
  if (story.omitted) {
    html("p", {class: "quiet"}, panel, story.omitted === 1 ? "1 step left out that matters less." :
      `${story.omitted} steps left out that matter less.`);
  }
  if (story.conclusion) html("p", {class: "conclusion"}, panel, story.conclusion);
  copyButton(html("p", {}, panel), "Copy the story as text", story.text);
}

function fillRun() {
  const panel = $("run-facts"), list = html("dl", {}, panel);
  for (const [name, value] of source.facts) {
    html("dt", {}, list, name);
    html("dd", {}, list, value);
  }
  const counts = [["events", count], ["messages", 0], ["lost", 0], ["believed holds", 0], ["overlaps", 0]];
  for (let i = 0; i < count; i++) {
    if (run.kind[i] === SEND) counts[1][1]++;
    if (run.kind[i] === DROP) counts[2][1]++;
  }
  for (const bar of source.bars) {
    if (bar.kind === HOLD) counts[3][1]++;
    if (bar.kind === OVERLAP) counts[4][1]++;
  }
  for (const [name, value] of counts) {
    html("dt", {}, list, name);
    html("dd", {}, list, String(value));
  }
  if (source.verdicts.length === 0) return;
  html("h2", {}, panel, "Verdicts");
  const verdicts = html("ul", {class: "whys"}, panel);
  for (const v of source.verdicts) {
    const item = html("li", {class: v.result}, verdicts);
    html("b", {}, item, `${resultMarks[v.result] || ""} ${v.property}: ${v.result}`);
    html("span", {}, item, v.why);
  }
}

// showDetail fills the card of the selected event.
function showDetail(row, select) {
  const card = $("detail");
  card.textContent = "";
  card.hidden = row < 0;
  if (row < 0) return;
  card.dataset.row = row;
  const head = html("div", {class: "cardhead"}, card);
  html("h2", {}, head, sentence(row));
  const close = html("button", {class: "close", "aria-label": "Close", title: "Close ( Esc )"}, head, "×");
  close.addEventListener("click", () => select(-1));
  const list = html("dl", {}, card);
  const add = (name, value, attributes = {}) => {
    html("dt", {}, list, name);
    return html("dd", attributes, list, value);
  };
  add("true time", seconds(run.time[row], 9), {class: "mono"});
  if (isMessage(row)) addTravel(row, add);
  const parts = [];
  if (run.index[row]) parts.push("history " + run.index[row]);
  if (run.entry[row]) parts.push("trace " + run.entry[row]);
  if (parts.length) add("event", parts.join(", "), {class: "mono"});
  const detail = texts[run.detail[row]];
  if (detail) html("pre", {tabindex: "0", "aria-label": "In full"}, card, detail);
  addClocks(card, row);
  addChain(card, "Because of", causesOf(row), 30, select);
  addChain(card, "Led to", effectsOf(row, 21), 20, select);
}

function addTravel(row, add) {
  const send = run.kind[row] === SEND ? row : run.cause[row], end = send >= 0 ? run.end[send] : -1;
  if (send < 0) return;
  if (end < 0) add("fate", "still under way when the run ended");
  else add("fate", `${run.kind[end] === DROP ? "lost" : "arrived"} after ${span(run.time[end] - run.time[send])}`);
}

// addClocks lists what each machine's clock showed at that moment.
function addClocks(card, row) {
  const readings = lanes.map((lane, i) => [lane.name, skewAt(i, run.time[row]), i]).filter(r => r[1] !== undefined);
  if (!readings.length) return;
  const own = run.lane[row];
  if (own >= 0 && !Number.isNaN(run.skew[row])) for (const r of readings) if (r[2] === own) r[1] = run.skew[row];
  const box = html("details", {class: "clocks"}, card);
  if (anyClockOff) box.open = true;
  html("summary", {}, box, "Clocks at that moment");
  const table = html("table", {}, box);
  for (const [name, skew, lane] of readings) {
    const off = Math.abs(skew) >= 2e6, tr = html("tr", {class: (off ? "off" : "") + (lane === own ? " own" : "")}, table);
    html("th", {scope: "row"}, tr, name);
    html("td", {}, tr, seconds(run.time[row] + skew, 6));
    html("td", {}, tr, off ? (skew > 0 ? "+" : "−") + span(Math.abs(skew)) : "right");
  }
}

function addChain(card, title, rows, most, select) {
  if (!rows.length) return;
  html("h3", {}, card, title);
  const list = html("ol", {class: "chain"}, card);
  for (const row of rows.slice(0, most)) {
    const b = html("button", {"data-goto": row}, html("li", {}, list));
    html("span", {class: "mono"}, b, seconds(run.time[row]));
    html("span", {}, b, sentence(row));
    b.addEventListener("click", () => select(row));
  }
  if (rows.length > most) html("li", {class: "quiet"}, list, `and ${rows.length - most} more`);
}

// EventList shows the visible events as lines, as many as fit.
class EventList {
  constructor(select) {
    this.box = $("events");
    this.inner = $("eventrows");
    this.select = select;
    this.rows = [];
    this.line = 24;
    this.box.addEventListener("scroll", () => this.draw());
  }

  show(rows, selected) {
    this.rows = rows;
    this.selected = selected;
    this.inner.style.height = Math.min(rows.length * this.line, MAX_HEIGHT) + "px";
    this.draw();
  }

  // reveal scrolls so that the selected event can be seen.
  reveal() {
    let low = 0, high = this.rows.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.rows[middle] < this.selected) low = middle + 1;
      else high = middle;
    }
    const y = low * this.line;
    if (y < this.box.scrollTop || y > this.box.scrollTop + this.box.clientHeight - this.line) {
      this.box.scrollTop = y - this.box.clientHeight / 2;
    }
  }

  draw() {
    if (this.box.hidden) return;
    const first = Math.max(Math.floor(this.box.scrollTop / this.line) - 5, 0);
    const last = Math.min(first + Math.ceil(this.box.clientHeight / this.line) + 10, this.rows.length);
    this.inner.textContent = "";
    for (let i = first; i < last; i++) {
      const row = this.rows[i];
      const item = html("div", {role: "listitem", "aria-setsize": this.rows.length, "aria-posinset": i + 1}, this.inner);
      item.style.top = i * this.line + "px";
      const b = html("button", {"data-row": row, class: kindNames[run.kind[row]] + (row === this.selected ? " selected" : "")}, item);
      html("span", {class: "mono"}, b, seconds(run.time[row]));
      html("span", {}, b, sentence(row));
      b.addEventListener("click", () => this.select(row));
    }
  }
}

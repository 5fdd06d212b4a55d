// What is shown and what the user does with it.

const groups = [
  ["Requests and replies", row => isMessage(row) && !run.control[row]],
  ["Connections", row => isMessage(row) && run.control[row]],
  ["Timers", row => run.kind[row] === TIMER],
  ["Calls and answers", row => run.kind[row] >= CALL && run.kind[row] <= UNKNOWN || run.kind[row] === BELIEF],
  ["Record", row => run.kind[row] === RECORD],
  ["Writes to the resource", row => run.kind[row] === APPLIED],
  ["Faults and machines", row => [FAULT, NODE, PHASE, NOTE].includes(run.kind[row])],
];
const groupOf = new Uint8Array(count);
for (let i = 0; i < count; i++) groupOf[i] = Math.max(groups.findIndex(g => g[1](i)), 0);

const state = {
  linear: false, clocks: anyClockOff, zoom: 1, widen: 1, selected: -1, step: -1, words: [],
  lanesOff: new Set(), groupsOff: new Set(),
};
const diagram = $("diagram"), picture = $("picture"), map = $("map");
const scene = {chain: null, selected: -1, step: -1};
let list;

const extraTimes = [
  ...source.bars.flatMap(b => [b.from, b.to]), ...source.bands.flatMap(b => [b.from, b.to]), ...steps.map(s => s.time),
].filter(t => t >= 0 && t <= lastTime);

// --- What is visible ---

const haystack = new Map();
function matches(row) {
  if (!state.words.length) return true;
  let hay = haystack.get(row);
  if (hay === undefined) {
    hay = (sentence(row) + "\n" + kindNames[run.kind[row]] + "\n" + texts[run.detail[row]]).toLowerCase();
    haystack.set(row, hay);
  }
  return state.words.every(w => hay.includes(w));
}

function findVisible() {
  const visible = new Uint8Array(count);
  for (let i = 0; i < count; i++) {
    if (state.groupsOff.has(groupOf[i]) || state.lanesOff.has(run.lane[i])) continue;
    if (isMessage(i) && state.lanesOff.has(run.peer[i])) continue;
    if (matches(i)) visible[i] = 1;
  }
  for (let i = 0; i < count; i++) { // a message is seen as a whole
    if (run.kind[i] !== SEND || run.end[i] < 0) continue;
    if (visible[i] || visible[run.end[i]]) visible[i] = visible[run.end[i]] = 1;
  }
  return visible;
}

function relayout() {
  const visible = findVisible();
  scene.scale = new Scale(state.linear, visible, extraTimes, diagram.clientHeight);
  scene.lanes = lanes.map((_, i) => i).filter(i => !state.lanesOff.has(i));
  scene.visible = visible;
  let arrows = 0, lost = 0;
  for (const row of scene.scale.rows) {
    if (run.kind[row] === SEND) arrows++;
    if (run.kind[row] === DROP) lost++;
  }
  const n = scene.scale.rows.length;
  $("count").textContent = n === count ? `${n} events` : `${n} of ${count} events`;
  Object.assign(picture.dataset, {events: n, arrows, lost});
  list.show(scene.scale.rows, state.selected);
  placeLanes();
}

function placeLanes() {
  scene.slots = lanes.map(() => 0);
  for (const bar of source.bars) if (bar.lane >= 0) scene.slots[bar.lane] = Math.max(scene.slots[bar.lane], bar.slot);
  scene.gutter = 96;
  const room = Math.max(diagram.clientWidth - scene.gutter - 8, 100), n = Math.max(scene.lanes.length, 1);
  scene.laneWidth = Math.min(Math.max(Math.max(room / n, state.clocks ? 150 : 128), 20), 330) * state.widen;
  scene.laneX = {};
  const slots = Math.max(...scene.slots, 0);
  scene.laneIn = Math.min(30 + slots * (BAR + 2), scene.laneWidth / 2); // from the left of a lane's column to its line
  scene.lanes.forEach((lane, i) => { scene.laneX[lane] = scene.gutter + i * scene.laneWidth + scene.laneIn; });
  scene.right = scene.gutter + scene.lanes.length * scene.laneWidth;
  resize();
}

function resize() {
  const {zoom} = state, spacer = $("spacer");
  spacer.style.height = Math.max(scene.scale.total * zoom + HEAD + 30, diagram.clientHeight) + "px";
  spacer.style.width = Math.max(scene.right, diagram.clientWidth) + "px";
  draw();
}

let waiting = false;
function draw() {
  if (waiting) return;
  waiting = true;
  requestAnimationFrame(() => {
    waiting = false;
    paint();
  });
}

function paint() {
  const width = diagram.clientWidth, height = diagram.clientHeight;
  picture.setAttribute("width", width);
  picture.setAttribute("height", height);
  Object.assign(scene, {selected: state.selected, step: state.step, clocks: state.clocks});
  new Painter(picture, scene, {
    width, height, scrollX: diagram.scrollLeft, scrollY: diagram.scrollTop, zoom: state.zoom,
  }).paint();
  paintMap();
  picture.dataset.painted = String(Number(picture.dataset.painted || 0) + 1);
}

// --- The map of the whole run ---

function paintMap() {
  const width = map.clientWidth, height = map.clientHeight, ratio = window.devicePixelRatio || 1;
  map.width = width * ratio;
  map.height = height * ratio;
  const c = map.getContext("2d"), style = getComputedStyle(document.documentElement);
  const color = name => style.getPropertyValue(name).trim();
  c.scale(ratio, ratio);
  const {scale} = scene, f = height / scale.total;
  c.fillStyle = color("--band");
  for (const b of source.bands) c.fillRect(0, scale.yOf(b.from) * f, width, Math.max((scale.yOf(b.to) - scale.yOf(b.from)) * f, 1));
  const density = new Float64Array(Math.ceil(height) + 1);
  for (const row of scale.rows) density[Math.min(Math.max(Math.floor(scale.y[row] * f), 0), density.length - 1)]++;
  const most = density.reduce((a, b) => Math.max(a, b), 1);
  c.fillStyle = color("--faint");
  density.forEach((d, y) => { if (d) c.fillRect(0, y, 3 + Math.sqrt(d / most) * (width * 0.45), 1); });
  const put = (kind, name, x, w) => {
    c.fillStyle = color(name);
    for (const b of source.bars) {
      if (b.kind === kind) c.fillRect(x, scale.yOf(b.from) * f, w, Math.max((scale.yOf(b.to) - scale.yOf(b.from)) * f, 1));
    }
  };
  put(HOLD, "--own0", width * 0.62, width * 0.16);
  put(OVERLAP, "--danger", width * 0.55, width * 0.45);
  c.fillStyle = color("--accent");
  for (const s of steps) c.fillRect(0, scale.yOf(s.time) * f - 1, 5, 2);
  const top = diagram.scrollTop / state.zoom * f, shown = (diagram.clientHeight - HEAD) / state.zoom * f;
  c.strokeStyle = color("--accent");
  c.lineWidth = 1.5;
  c.strokeRect(1, Math.max(top, 1), width - 2, Math.max(Math.min(shown, height - top - 1), 4));
}

function moveByMap(event) {
  const y = (event.clientY - map.getBoundingClientRect().top) / map.clientHeight * scene.scale.total * state.zoom;
  diagram.scrollTop = y - (diagram.clientHeight - HEAD) / 2;
}

// --- Moving about ---

function limitZoom(zoom) {
  const fit = (diagram.clientHeight - HEAD - 30) / scene.scale.total;
  const most = Math.min(state.linear ? 1e9 : 6, MAX_HEIGHT / scene.scale.total);
  return Math.min(Math.max(zoom, Math.min(fit, 1)), Math.max(most, fit));
}

// zoomTo zooms and keeps what is at a height of the window where it is.
function zoomTo(zoom, at = diagram.clientHeight / 2) {
  const y = (diagram.scrollTop + at - HEAD) / state.zoom;
  state.zoom = limitZoom(zoom);
  resize();
  diagram.scrollTop = y * state.zoom - at + HEAD;
}

// fit shows the whole run, all lanes of it.
function fit() {
  state.widen = Math.min((diagram.clientWidth - scene.gutter - 8) / (scene.right - scene.gutter) * state.widen, 1);
  state.zoom = limitZoom(0);
  placeLanes();
  diagram.scrollTop = 0;
  diagram.scrollLeft = 0;
}

function reveal(y, lane, center) {
  const at = y * state.zoom, height = diagram.clientHeight - HEAD;
  if (center || at < diagram.scrollTop + 20 || at > diagram.scrollTop + height - 30) diagram.scrollTop = at - height * 0.4;
  const x = scene.laneX[lane];
  if (x !== undefined && (x < diagram.scrollLeft + scene.gutter || x > diagram.scrollLeft + diagram.clientWidth - 60)) {
    diagram.scrollLeft = x - diagram.clientWidth / 2;
  }
}

// setLinear switches the scale and keeps the times that can be seen.
function setLinear(linear) {
  const height = diagram.clientHeight - HEAD, {scale} = scene;
  const from = scale.timeAt(diagram.scrollTop / state.zoom), to = scale.timeAt((diagram.scrollTop + height) / state.zoom);
  state.linear = linear;
  $("scale").setAttribute("aria-pressed", linear);
  state.zoom = 1;
  relayout();
  const y0 = scene.scale.yOf(from), y1 = scene.scale.yOf(to);
  state.zoom = limitZoom(linear ? height / Math.max(y1 - y0, 1e-6) : 1);
  resize();
  if (state.selected >= 0) reveal(scene.scale.y[state.selected], run.lane[state.selected], true);
  else diagram.scrollTop = y0 * state.zoom;
}

// --- Selecting ---

function select(row, options = {}) {
  if (row >= count) return;
  state.selected = row;
  if (row < 0) state.step = -1;
  else if (!options.step) state.step = steps.findIndex(s => s.event === row);
  scene.chain = null;
  if (row >= 0) {
    scene.chain = new Set([row, ...causesOf(row)]);
    if (run.kind[row] === SEND && run.end[row] >= 0) scene.chain.add(run.end[row]);
    reveal(scene.scale.y[row], run.lane[row], options.center);
    say(`${seconds(run.time[row])}: ${sentence(row)}`);
    try {
      history.replaceState(null, "", "#event=" + row);
    } catch { /* a page without an address of its own */ }
  }
  showDetail(row, r => select(r));
  markStep();
  list.selected = row;
  list.draw();
  if (row >= 0) list.reveal();
  draw();
}

function goToStep(i) {
  if (i < 0 || i >= steps.length) return;
  const step = steps[i];
  state.step = i;
  if (step.event >= 0) {
    select(step.event, {step: true});
  } else {
    select(-1);
    state.step = i;
    reveal(scene.scale.yOf(step.time), step.lane, false);
    markStep();
    draw();
  }
  say(`Step ${step.number}, ${seconds(step.time)}, ${step.who}: ${step.text}`);
}

function markStep() {
  for (const b of document.querySelectorAll("#steps .step")) {
    const current = Number(b.dataset.step) === state.step;
    b.classList.toggle("current", current);
    if (current) b.setAttribute("aria-current", "step");
    else b.removeAttribute("aria-current");
    if (current && !$("story").hidden) b.scrollIntoView({block: "nearest"});
  }
}

// move selects the next visible event in a direction.
function move(direction) {
  const {rows} = scene.scale;
  if (!rows.length) return;
  let i;
  if (state.selected < 0) {
    i = scene.scale.firstRow((diagram.scrollTop + 20) / state.zoom);
  } else {
    i = rows.findIndex(r => r >= state.selected);
    if (i < 0) i = rows.length;
    if (rows[i] === state.selected || direction < 0) i += direction;
  }
  select(rows[Math.min(Math.max(i, 0), rows.length - 1)]);
}

function say(text) {
  $("spoken").textContent = text;
}

// pick is the event that is nearest to a point of the window, -1 if none is near.
function pick(x, y) {
  const {scale} = scene, at = (y - HEAD + diagram.scrollTop) / state.zoom;
  let best = -1, least = 18;
  for (let i = scale.firstRow(at - 14 / state.zoom); i < scale.rows.length; i++) {
    const row = scale.rows[i], dy = (scale.y[row] - at) * state.zoom;
    if (dy > 14) break;
    const lane = scene.laneX[run.lane[row]];
    if (lane === undefined) continue;
    const distance = Math.hypot(lane - diagram.scrollLeft - x, dy);
    if (distance < least) [least, best] = [distance, row];
  }
  return best;
}

function click(event) {
  const badge = event.target.closest("[data-step]"), mark = event.target.closest("[data-row]");
  if (badge) return goToStep(Number(badge.dataset.step));
  if (mark) return select(Number(mark.dataset.row));
  const box = picture.getBoundingClientRect();
  select(pick(event.clientX - box.left, event.clientY - box.top));
}

// --- Controls ---

function showTab(name) {
  for (const tab of document.querySelectorAll("#tabs [role=tab]")) {
    const on = tab.id === "tab-" + name;
    tab.setAttribute("aria-selected", on);
    tab.tabIndex = on ? 0 : -1;
    $(tab.getAttribute("aria-controls")).hidden = !on;
  }
  list.draw();
  if (name === "events" && state.selected >= 0) list.reveal();
}

function checkbox(parent, name, off, key) {
  const label = html("label", {}, parent), box = html("input", {type: "checkbox", "data-name": name}, label);
  box.checked = true;
  html("span", {}, label, name);
  box.addEventListener("change", () => {
    if (box.checked) off.delete(key);
    else off.add(key);
    relayout();
  });
}

function fillFilters() {
  lanes.forEach((lane, i) => checkbox($("machinelist"), lane.name, state.lanesOff, i));
  groups.forEach((group, i) => { if (groupOf.includes(i)) checkbox($("kindlist"), group[0], state.groupsOff, i); });
  if (!lanes.length) $("machines").hidden = true;
  let timer = 0;
  $("filter").addEventListener("input", () => {
    clearTimeout(timer);
    timer = setTimeout(() => {
      state.words = $("filter").value.toLowerCase().split(/\s+/).filter(Boolean);
      relayout();
      if (state.selected >= 0) reveal(scene.scale.y[state.selected], run.lane[state.selected], false);
    }, 60);
  });
}

const themes = ["auto", "light", "dark"];
function setTheme(theme) {
  document.documentElement.dataset.theme = theme;
  $("theme").textContent = "Theme: " + theme;
  try {
    localStorage.setItem("lockstep-theme", theme);
  } catch { /* a page that may keep nothing */ }
  draw();
}

function setClocks(on) {
  state.clocks = on;
  $("clocks").setAttribute("aria-pressed", on);
  if (scene.scale) placeLanes();
}

const keys = new Map([
  ["ArrowDown", ["next event", () => move(1)]],
  ["ArrowUp", ["event before", () => move(-1)]],
  ["ArrowLeft", ["what led to the selected event", () => follow(run.cause)]],
  ["ArrowRight", ["what it led to first", () => follow(run.effect)]],
  ["n", ["next step of the story", () => goToStep(Math.min(state.step + 1, steps.length - 1))]],
  ["p", ["step before", () => goToStep(Math.max(state.step - 1, 0))]],
  ["/", ["filter by text", () => $("filter").focus()]],
  ["Escape", ["let go of the selection", () => select(-1)]],
  ["+", ["zoom in", () => zoomTo(state.zoom * 1.4)]],
  ["-", ["zoom out", () => zoomTo(state.zoom / 1.4)]],
  ["0", ["the whole run", fit]],
  ["1", ["readable size", () => { setWidth(1); zoomTo(1); }]],
  ["]", ["wider lanes", () => setWidth(state.widen * 1.25)]],
  ["[", ["narrower lanes", () => setWidth(state.widen / 1.25)]],
  ["s", ["folded or linear time", () => setLinear(!state.linear)]],
  ["c", ["clock readings on or off", () => setClocks(!state.clocks)]],
  ["t", ["theme: light, dark, system", () => setTheme(themes[(themes.indexOf(document.documentElement.dataset.theme) + 1) % 3])]],
  ["?", ["this help", () => $("help").open ? $("help").close() : $("help").showModal()]],
]);
keys.set("=", [null, keys.get("+")[1]]);

// follow selects a cause or an effect of the selected event.
function follow(column) {
  if (state.selected >= 0 && column[state.selected] >= 0) select(column[state.selected]);
}

function setWidth(widen) {
  state.widen = Math.min(Math.max(widen, 0.15), 6);
  placeLanes();
}

function onKey(event) {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const target = event.target, typing = target.tagName === "INPUT" && target.type !== "checkbox";
  if (typing) {
    if (event.key === "Escape" || event.key === "Enter") diagram.focus();
    return;
  }
  if (target.getAttribute && target.getAttribute("role") === "tab" && /Arrow(Left|Right)/.test(event.key)) return moveTab(event);
  if (/^Arrow/.test(event.key) && target !== diagram && target !== document.body && !target.closest("#steps, #eventrows")) return;
  const key = keys.get(event.key);
  if (!key || $("help").open && event.key !== "?") return;
  event.preventDefault();
  key[1]();
}

function moveTab(event) {
  const tabs = [...document.querySelectorAll("#tabs [role=tab]")];
  const i = tabs.indexOf(event.target) + (event.key === "ArrowRight" ? 1 : -1);
  const tab = tabs[(i + tabs.length) % tabs.length];
  tab.focus();
  showTab(tab.id.slice(4));
  event.preventDefault();
}

// The marks that the help explains: a sample of each, drawn with the classes of the picture.
const legend = [
  ["request that arrives", s => { el("line", {class: "shaft", x1: 2, y1: 8, x2: 38, y2: 8}, el("g", {class: "arrow request"}, s)); el("path", {class: "tip", d: "M40,8 l-7,-3.5 v7 Z"}, el("g", {class: "arrow request"}, s)); }],
  ["reply", s => { const g = el("g", {class: "arrow reply"}, s); el("line", {class: "shaft", x1: 4, y1: 8, x2: 40, y2: 8}, g); el("path", {class: "tip", d: "M2,8 l7,-3.5 v7 Z"}, g); }],
  ["message that is lost", s => { const g = el("g", {class: "arrow lost"}, s); el("line", {class: "shaft", x1: 2, y1: 8, x2: 32, y2: 8}, g); el("path", {class: "cross", d: "M28,3 l10,10 M38,3 l-10,10"}, g); }],
  ["a client believes to hold", s => el("rect", {class: "bar hold own0", x: 2, y: 3, width: 38, height: 10}, s)],
  ["it does while another does", s => el("rect", {class: "bar overlap", fill: "url(#hatch-overlap)", x: 2, y: 3, width: 38, height: 10}, s)],
  ["the server’s record names a client", s => el("rect", {class: "bar lease own0", x: 2, y: 3, width: 38, height: 10}, s)],
  ["its lease is over, the record stands", s => el("rect", {class: "bar lease over own0", x: 2, y: 3, width: 38, height: 10}, s)],
  ["machine stands still", s => el("rect", {class: "band paused", fill: "url(#hatch-paused)", x: 2, y: 1, width: 38, height: 14}, s)],
  ["machine has crashed or is away", s => el("rect", {class: "band down", fill: "url(#hatch-down)", x: 2, y: 1, width: 38, height: 14}, s)],
  ["link is cut", s => el("rect", {class: "band cut", fill: "url(#hatch-cut)", x: 2, y: 1, width: 38, height: 14}, s)],
  ["link is slow", s => el("rect", {class: "band slow", fill: "url(#hatch-slow)", x: 2, y: 1, width: 38, height: 14}, s)],
  ["clock is wrong", s => el("rect", {class: "band clocked", fill: "url(#hatch-clocked)", x: 2, y: 1, width: 38, height: 14}, s)],
];

function fillHelp() {
  const help = $("help");
  html("h2", {}, help, "Keys");
  const list = html("dl", {class: "keys"}, help);
  const names = {ArrowDown: "↓", ArrowUp: "↑", ArrowLeft: "←", ArrowRight: "→", Escape: "Esc"};
  for (const [key, [about]] of keys) {
    if (!about) continue;
    html("kbd", {}, html("dt", {}, list), names[key] || key);
    html("dd", {}, list, about);
  }
  html("p", {class: "quiet"}, help, "Drag or scroll to move, hold Ctrl and scroll to zoom. Times are true time; no machine knows it.");
  html("h2", {}, help, "Marks");
  const marks = html("ul", {class: "legend"}, help);
  for (const [name, sample] of legend) {
    const item = html("li", {}, marks);
    sample(el("svg", {width: 42, height: 16}, item));
    html("span", {}, item, name);
  }
  html("button", {autofocus: ""}, help, "Close").addEventListener("click", () => help.close());
  help.addEventListener("click", event => { if (event.target === help) help.close(); });
}

// --- Dragging ---

function startDrag(event) {
  if (event.button !== 0 || event.pointerType === "touch") return;
  const start = {x: event.clientX, y: event.clientY, left: diagram.scrollLeft, top: diagram.scrollTop};
  let moved = false;
  const onMove = e => {
    const dx = e.clientX - start.x, dy = e.clientY - start.y;
    moved = moved || Math.hypot(dx, dy) > 4;
    if (!moved) return;
    diagram.classList.add("dragged");
    diagram.scrollLeft = start.left - dx;
    diagram.scrollTop = start.top - dy;
  };
  const onUp = e => {
    removeEventListener("pointermove", onMove);
    removeEventListener("pointerup", onUp);
    diagram.classList.remove("dragged");
    if (!moved) click(e);
  };
  addEventListener("pointermove", onMove);
  addEventListener("pointerup", onUp);
}

// --- Printing ---

// beforePrint puts what can be seen on paper: all of a short run, of a long one what the window shows.
function beforePrint() {
  const box = $("print"), page = 940, width = Math.max(scene.right + 10, 700);
  box.textContent = "";
  html("h1", {}, box, source.title);
  const whole = scene.scale.total <= 8 * page;
  const from = whole ? 0 : diagram.scrollTop / state.zoom, to = whole ? scene.scale.total : from + diagram.clientHeight / state.zoom;
  const zoom = whole ? 1 : state.zoom;
  for (let y = from, next; y < to; y = next) {
    next = Math.min(y + (page - HEAD) / zoom, to);
    if (next < to && !scene.scale.linear) { // between two instants, so that no line of text is cut
      const end = scene.scale.top.findLast(top => top <= next);
      if (end > y) next = end;
    }
    const height = (next - y) * zoom + HEAD;
    const svg = el("svg", {viewBox: `0 0 ${width} ${height}`, width: "100%"}, box);
    new Painter(svg, scene, {width, height, scrollX: 0, scrollY: y * zoom, zoom, prefix: `print${Math.round(y)}-`}).paint();
  }
  if (!story) return;
  const list = html("ol", {}, box);
  for (const step of steps) html("li", {}, list, `${seconds(step.time)}  ${step.who}  ${step.text}`);
  html("p", {}, box, story.conclusion);
}

// --- Beginning ---

function begin() {
  let theme = "auto";
  try {
    theme = localStorage.getItem("lockstep-theme") || theme;
  } catch { /* a page that may keep nothing */ }
  list = new EventList(row => select(row));
  fillTop(row => row >= 0 ? select(row, {center: true}) : showTab("run"));
  fillStory(goToStep);
  fillRun();
  fillFilters();
  fillHelp();
  setTheme(themes.includes(theme) ? theme : "auto");
  setClocks(state.clocks);
  relayout();
  const room = (diagram.clientHeight - HEAD - 30) / scene.scale.total;
  state.zoom = limitZoom(room > 1 ? Math.min(room, 1.3) : 1);
  resize();
  connect();
  const wanted = /^#event=(\d+)$/.exec(location.hash);
  if (wanted && Number(wanted[1]) < count) select(Number(wanted[1]), {center: true});
  else showViolation();
  picture.dataset.ready = "true";
}

// showViolation moves to where a property is violated first, in the order of the verdicts, and else to where the story
// ends. No step is selected: the story begins one key away.
function showViolation() {
  const verdict = source.verdicts.find(v => v.result === "violated" && v.event >= 0);
  if (verdict) center(scene.scale.y[verdict.event], run.lane[verdict.event]);
  else if (steps.length) center(scene.scale.yOf(steps[steps.length - 1].time), steps[steps.length - 1].lane);
}

// center puts a place into the middle of the window, and beside it the lane of the server that keeps the record. Where
// there are too many lanes for that they become narrower.
function center(y, lane) {
  const keeper = lanes.findIndex(l => l.server);
  if (scene.right > diagram.clientWidth) {
    const least = 96 / scene.laneWidth; // room for a name and for bars
    setWidth(Math.max((diagram.clientWidth - scene.gutter - 8) / (scene.right - scene.gutter), Math.min(least, 1)));
  }
  diagram.scrollTop = y * state.zoom - (diagram.clientHeight - HEAD) / 2;
  const places = [lane, keeper].filter(l => scene.laneX[l] !== undefined).map(l => scene.laneX[l]);
  if (!places.length) return;
  const from = Math.min(...places) - scene.laneIn - scene.gutter, to = Math.max(...places) - scene.laneIn + scene.laneWidth;
  if (to - from <= diagram.clientWidth) diagram.scrollLeft = Math.max(to - diagram.clientWidth, 0);
  else diagram.scrollLeft = from;
}

function connect() {
  diagram.addEventListener("scroll", draw);
  diagram.addEventListener("pointerdown", startDrag);
  diagram.addEventListener("wheel", event => {
    if (!event.ctrlKey && !event.metaKey) return;
    event.preventDefault();
    zoomTo(state.zoom * Math.exp(-event.deltaY * 0.0022), event.clientY - diagram.getBoundingClientRect().top);
  }, {passive: false});
  map.addEventListener("pointerdown", event => {
    map.setPointerCapture(event.pointerId);
    moveByMap(event);
  });
  map.addEventListener("pointermove", event => { if (event.buttons) moveByMap(event); });
  $("scale").addEventListener("click", () => setLinear(!state.linear));
  $("clocks").addEventListener("click", () => setClocks(!state.clocks));
  $("zoomin").addEventListener("click", keys.get("+")[1]);
  $("zoomout").addEventListener("click", keys.get("-")[1]);
  $("zoomfit").addEventListener("click", fit);
  $("theme").addEventListener("click", keys.get("t")[1]);
  $("helpbutton").addEventListener("click", keys.get("?")[1]);
  for (const tab of document.querySelectorAll("#tabs [role=tab]")) {
    tab.addEventListener("click", () => showTab(tab.id.slice(4)));
  }
  for (const menu of document.querySelectorAll(".menu")) {
    addEventListener("pointerdown", event => { if (!menu.contains(event.target)) menu.open = false; });
  }
  addEventListener("keydown", onKey);
  addEventListener("beforeprint", beforePrint);
  new ResizeObserver(() => { if (scene.scale) placeLanes(); }).observe(diagram);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);
}

begin();

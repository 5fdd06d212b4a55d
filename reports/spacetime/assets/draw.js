// The picture: what is in the window, drawn anew whenever that changes.

const SVG = "http://www.w3.org/2000/svg";
const HEAD = 34;        // height of the row of lane names
const BAR = 11;         // width of a bar
const CROWD = 1400;     // with more events than that in the window, they are drawn as lines without marks
const OWN = 8;          // how many colours tell clients apart

function el(name, attributes, parent, text) {
  const e = document.createElementNS(SVG, name);
  for (const key in attributes) e.setAttribute(key, attributes[key]);
  if (text !== undefined) e.textContent = text;
  if (parent) parent.appendChild(e);
  return e;
}

// clipText makes a label fit into a width, for a font of fixed width.
function clipText(text, width, character) {
  const most = Math.floor(width / character);
  if (text.length <= most) return text;
  return most < 4 ? "" : text.slice(0, most - 1) + "…";
}

const ownerClass = lane => lane >= 0 ? " own" + lane % OWN : " ownless";

// addPatterns adds what must not be told by colour alone. Pictures of one page must not share them: a pattern in one that
// is hidden is hidden everywhere.
function addPatterns(svg, prefix) {
  const defs = el("defs", {}, svg);
  const pattern = (id, size, d) => {
    const p = el("pattern", {id: prefix + id, width: size, height: size, patternUnits: "userSpaceOnUse"}, defs);
    el("rect", {width: size, height: size, class: id + "-back"}, p);
    el("path", {d, class: id + "-line"}, p);
  };
  pattern("hatch-overlap", 7, "M-1,1 l2,-2 M0,7 l7,-7 M6,8 l2,-2");
  pattern("hatch-paused", 8, "M0,4 h8");
  pattern("hatch-down", 8, "M0,8 l8,-8 M0,0 l8,8");
  pattern("hatch-cut", 8, "M4,0 v8");
  pattern("hatch-slow", 8, "M2,2 h2 M6,6 h2");
  pattern("hatch-clocked", 8, "M0,0 l8,8");
}

// Painter draws a window of a scene: scale, which rows are visible, which lanes are where, what is selected.
class Painter {
  constructor(svg, scene, options) {
    this.svg = svg;
    this.scene = scene;
    Object.assign(this, {prefix: "", ...options}); // width, height, scrollX, scrollY, zoom, prefix of names
    this.bottom = this.scrollY + this.height - HEAD;
  }

  x(lane) { return this.scene.laneX[lane] - this.scrollX; }
  py(y) { return y * this.zoom - this.scrollY + HEAD; }
  rowY(row) { return this.py(this.scene.scale.y[row]); }
  timeY(time) { return this.py(this.scene.scale.yOf(time)); }
  shownLane(lane) { return lane >= 0 && this.scene.laneX[lane] !== undefined; }
  off(y0, y1) { return y1 < HEAD - 20 || y0 > this.height + 20; }

  paint() {
    const {svg, scene} = this;
    svg.textContent = "";
    addPatterns(svg, this.prefix);
    const chain = scene.chain;
    svg.setAttribute("class", chain ? "chained" : "");
    this.taken = new Map(); // of each lane and side: down to where labels reach
    this.from = scene.scale.firstRow((this.scrollY - 30) / this.zoom);
    this.to = scene.scale.firstRow((this.bottom + 30) / this.zoom);
    this.crowded = this.to - this.from > CROWD;
    this.group = name => el("g", {class: name}, svg);
    this.bands();
    this.folds();
    this.laneLines();
    if (this.crowded) this.crowd();
    this.bars();
    this.arrows();
    if (this.crowded) this.landmarks();
    else this.marks();
    this.badges();
    this.times();
    this.heads();
  }

  bands() {
    const g = this.group("bands");
    for (const band of source.bands) {
      const y0 = this.timeY(band.from), y1 = Math.max(this.timeY(band.to), y0 + 2);
      if (this.off(y0, y1)) continue;
      const name = bandNames[band.kind];
      const all = band.lanes.length === 0 || band.kind === TROUBLE;
      const where = all ? [[this.scene.gutter - this.scrollX, this.scene.right - this.scrollX]]
        : band.lanes.filter(lane => this.shownLane(lane)).map(lane => this.column(lane));
      where.forEach(([x0, x1]) => {
        const top = Math.max(y0, -40), bottom = Math.min(y1, this.height + 40);
        const r = el("rect", {class: "band " + name, x: x0, y: top, width: x1 - x0, height: bottom - top}, g);
        if (!all) r.setAttribute("fill", `url(#${this.prefix}hatch-${name})`);
        el("title", {}, r, `${band.label}: from ${seconds(band.from)} to ${seconds(band.to)}`);
        this.bandLabel(g, band.label, all ? x1 - 12 : x0 + 11, Math.max(top, HEAD), Math.min(bottom, this.height));
      });
    }
    let reached = -1e9; // overlaps of several clients at one time are one band
    for (const bar of source.bars) {
      if (bar.kind !== OVERLAP) continue;
      const [from, y1] = this.ends(bar), y0 = Math.max(from, reached);
      if (this.off(y0, y1) || y1 <= reached) continue;
      reached = y1;
      el("rect", {class: "overlapband", x: this.scene.gutter - this.scrollX, y: y0, width: this.scene.right - this.scene.gutter,
        height: Math.max(y1 - y0, 1)}, g);
    }
  }

  // column is the part of the picture that belongs to a lane.
  column(lane) {
    const x0 = this.x(lane) - this.scene.laneIn;
    return [x0 + 3, x0 + this.scene.laneWidth - 3];
  }

  bandLabel(g, label, x, top, bottom) {
    const text = clipText(label, bottom - top - 16, 6.4);
    if (!text) return;
    const y = top + 8;
    el("text", {class: "bandlabel", x, y, transform: `rotate(-90 ${x} ${y})`}, g, text);
  }

  times() {
    const g = this.group("times"), {scale} = this.scene;
    el("rect", {class: "headback", x: 0, y: HEAD, width: this.scene.gutter - 4, height: this.height}, g);
    const ticks = []; // height, time
    const tick = (y, time) => {
      if (y >= (ticks.length ? ticks[ticks.length - 1][0] + 15 : HEAD + 8) && y <= this.height) ticks.push([y, time]);
    };
    if (scale.linear) {
      const visible = (this.bottom - this.scrollY) / this.zoom / scale.total * lastTime;
      const raw = visible / Math.max((this.height - HEAD) / 70, 1), power = 10 ** Math.floor(Math.log10(raw));
      const step = [1, 2, 5, 10].map(f => f * power).find(s => s >= raw);
      for (let t = Math.ceil(scale.timeAt(this.scrollY / this.zoom) / step) * step; t <= lastTime; t += step) {
        const y = this.timeY(t);
        if (y > this.height) break;
        tick(y, t);
      }
    } else {
      for (let k = scale.find(scale.timeAt(this.scrollY / this.zoom)); k < scale.times.length; k++) {
        const y = this.py(scale.top[k] + ROW / 2);
        if (y > this.height + FOLD) break;
        if (FOLD * this.zoom > 9 && this.isFold(k)) this.foldText(g, k);
        tick(y, scale.times[k]);
      }
    }
    ticks.forEach(([y, time], i) => { // so many decimals as tell it from its neighbours
      const gap = Math.min(i ? time - ticks[i - 1][1] : 1e9, i + 1 < ticks.length ? ticks[i + 1][1] - time : 1e9);
      const digits = gap >= 2e6 ? 3 : gap >= 2e5 ? 4 : gap >= 2e4 ? 5 : 6;
      el("text", {x: this.scene.gutter - 12, y: y + 4}, g, seconds(time, scale.linear && gap >= 1e7 ? 2 : digits));
      el("path", {d: `M${this.scene.gutter - 8},${y} h5`}, g);
    });
  }

  isFold(k) {
    if (!this.scene.scale.foldSet) this.scene.scale.foldSet = new Set(this.scene.scale.folds);
    return this.scene.scale.foldSet.has(k);
  }

  // foldY is the height of the break in the scale before the k-th instant.
  foldY(k) {
    const {scale} = this.scene;
    return (this.py(scale.bottom[k - 1]) + this.py(scale.top[k])) / 2;
  }

  foldText(g, k) {
    const y = this.foldY(k), {times} = this.scene.scale;
    if (y < HEAD + 4) return;
    el("text", {class: "folded", x: this.scene.gutter - 12, y: y + 4}, g, "⋮ " + span(times[k] - times[k - 1]));
  }

  // folds draws the breaks in the scale over all lanes.
  folds() {
    const {scale} = this.scene;
    if (scale.linear || FOLD * this.zoom <= 9) return;
    const g = this.group("folds"), width = this.scene.right - this.scene.gutter;
    const teeth = Math.max(Math.round(width / 14), 1), tooth = width / teeth / 2;
    for (const k of scale.folds) {
      const y = this.foldY(k);
      if (y < HEAD || y > this.height) continue;
      el("path", {d: `M${this.scene.gutter - this.scrollX},${y}` + `l${tooth},-3 l${tooth},3`.repeat(teeth)}, g);
    }
  }

  laneLines() {
    const g = this.group("lanelines");
    const end = Math.min(this.py(this.scene.scale.total), this.height);
    for (const lane of this.scene.lanes) {
      el("line", {class: lanes[lane].server ? "server" : "client", x1: this.x(lane), x2: this.x(lane), y1: HEAD, y2: end}, g);
    }
  }

  ends(bar) {
    const y0 = bar.start >= 0 ? this.rowY(bar.start) : this.timeY(bar.from);
    const y1 = bar.end >= 0 ? this.rowY(bar.end) : this.timeY(bar.to);
    return [y0, Math.max(y1, y0)];
  }

  bars() {
    const g = this.group("bars");
    const names = ["hold", "overlap", "lease", "lease over"], known = new Set();
    this.inTheWay = [];
    for (const [i, bar] of source.bars.entries()) {
      if (!this.shownLane(bar.lane)) continue;
      const [y0, y1] = this.ends(bar);
      if (this.off(y0, y1)) continue;
      const thin = this.crowded && y1 - y0 < 4; // as many as there are pixels, without their edges
      if (thin && bar.kind !== OVERLAP) {
        const key = [bar.kind, bar.lane, bar.slot, Math.round(y0)].join();
        if (known.has(key)) continue;
        known.add(key);
      }
      const top = Math.max(y0, -50), height = Math.max(Math.min(y1, this.height + 50) - top, thin ? 1 : 2);
      const x = this.x(bar.lane) - BAR / 2 - bar.slot * (BAR + 2);
      this.inTheWay.push([bar.lane, y0, y1]);
      const r = el("rect", {class: "bar " + names[bar.kind] + (thin ? " thin" : "") + ownerClass(bar.owner), x, y: top,
        width: BAR, height, "data-bar": i, rx: bar.kind === HOLD && !thin ? 2 : 0}, g);
      if (bar.kind === OVERLAP) r.setAttribute("fill", `url(#${this.prefix}hatch-overlap)`);
      el("title", {}, r, texts[bar.detail]);
      const label = texts[bar.label], length = label.length * 6;
      if (bar.kind >= LEASE && height > length + 14) {
        const middle = (Math.max(top, HEAD) + Math.min(top + height, this.height)) / 2;
        const lx = x + BAR / 2 + 3.5;
        el("text", {class: "barlabel", x: lx, y: middle, transform: `rotate(-90 ${lx} ${middle})`}, g, label);
      }
    }
  }

  // arrows draws the messages; in a crowd only those that were lost.
  arrows() {
    const messages = this.scene.scale.crossing((this.scrollY - 20) / this.zoom, (this.bottom + 20) / this.zoom)
      .filter(row => this.shownLane(run.lane[row]) && this.shownLane(run.peer[row]));
    if (!this.crowded) this.fewArrows(messages);
    else this.losses(messages.filter(row => run.end[row] >= 0 && run.kind[run.end[row]] === DROP));
  }

  line(row) {
    const end = run.end[row], x0 = this.x(run.lane[row]), x1 = this.x(run.peer[row]), y0 = this.rowY(row);
    const side = Math.sign(x1 - x0) || 1;
    const y1 = end >= 0 ? this.rowY(end) : Math.min(y0 + 12, this.height);
    const lost = end >= 0 && run.kind[end] === DROP, open = end < 0;
    const part = lost ? 0.82 : open ? 0.3 : 1;
    return {x0: x0 + side * 3, y0, x1: x0 + (x1 - x0) * part - side * (lost || open ? 0 : 3), y1, side, lost, open};
  }

  fewArrows(messages) {
    const g = this.group("arrows"), chain = this.scene.chain;
    for (const row of messages) {
      const a = this.line(row), end = run.end[row];
      const linked = chain && (chain.has(row) && (end < 0 || chain.has(end)));
      const name = "arrow" + (run.control[row] ? " control" : lanes[run.lane[row]].server ? " reply" : " request") +
        (a.lost ? " lost" : "") + (a.open ? " open" : "") + (linked ? " linked" : "");
      const m = el("g", {class: name, "data-row": row}, g);
      el("line", {class: "reach", x1: a.x0, y1: a.y0, x2: a.x1, y2: a.y1}, m);
      el("line", {class: "shaft", x1: a.x0, y1: a.y0, x2: a.x1, y2: a.y1}, m);
      if (a.lost) el("path", {class: "cross", d: `M${a.x1 - 5},${a.y1 - 5} l10,10 M${a.x1 + 5},${a.y1 - 5} l-10,10`}, m);
      else if (!a.open) el("path", {class: "tip", d: this.tip(a)}, m);
      el("title", {}, m, sentence(end >= 0 ? end : row));
    }
  }

  tip(a) {
    const angle = Math.atan2(a.y1 - a.y0, a.x1 - a.x0), size = 6;
    const corner = turn => `${a.x1 - size * Math.cos(angle + turn)},${a.y1 - size * Math.sin(angle + turn)}`;
    return `M${a.x1},${a.y1} L${corner(0.45)} L${corner(-0.45)} Z`;
  }

  // losses draws lost messages, one for all that share a pixel.
  losses(messages) {
    const known = new Set();
    let d = "";
    for (const row of messages) {
      const a = this.line(row), key = [run.lane[row], run.peer[row], Math.round(a.y0 / 2)].join();
      if (known.has(key)) continue;
      known.add(key);
      d += `M${a.x0},${a.y0}L${a.x1},${a.y1}M${a.x1 - 3},${a.y1 - 3}l6,6m0,-6l-6,6`;
    }
    el("path", {class: "losses", d}, this.group("arrows"));
  }

  // crowd shows, beside each lane, how much happens there: a bar for every few pixels, the longest where most happens.
  crowd() {
    const g = this.group("crowd"), {scale} = this.scene, bin = 3, counts = new Map();
    let most = 1;
    for (let i = this.from; i < this.to; i++) {
      const row = scale.rows[i], lane = run.lane[row];
      if (!this.shownLane(lane)) continue;
      const key = lane * 1e5 + Math.max(Math.floor(this.rowY(row) / bin), 0), n = (counts.get(key) || 0) + 1;
      counts.set(key, n);
      if (n > most) most = n;
    }
    const room = Math.max(this.scene.laneWidth - this.scene.laneIn - 12, 6), paths = new Map();
    for (const [key, n] of counts) {
      const lane = Math.floor(key / 1e5), y = (key % 1e5) * bin;
      paths.set(lane, (paths.get(lane) || "") + `M${this.x(lane) + BAR / 2 + 2},${y + 1}h${Math.max(n / most * room, 1).toFixed(1)}`);
    }
    for (const [, d] of paths) el("path", {class: "activity", d}, g);
  }

  // landmarks are what is seen even in a crowd: faults, what has no lane, what is selected.
  landmarks() {
    const g = this.group("marks"), {scale, selected} = this.scene;
    for (let i = this.from; i < this.to; i++) {
      const row = scale.rows[i], kind = run.kind[row];
      if (kind !== FAULT && kind !== NODE && kind !== PHASE) continue;
      const m = el("g", {class: "mark " + kindNames[kind], "data-row": row}, g);
      if (run.lane[row] < 0) this.rule(m, row, this.rowY(row));
      else if (this.shownLane(run.lane[row])) this.glyph(m, row, this.x(run.lane[row]), this.rowY(row));
      el("title", {}, m, `${seconds(run.time[row], 6)}  ${sentence(row)}`);
    }
    if (selected >= 0) this.ring(g, selected);
  }

  marks() {
    const g = this.group("marks"), {scale, chain, selected} = this.scene, drawn = [];
    this.busy = new Set(); // where on a lane something is
    for (let i = this.from; i < this.to; i++) {
      const row = scale.rows[i], lane = run.lane[row];
      const y = this.rowY(row);
      if (lane >= 0 && !this.shownLane(lane)) continue;
      const name = "mark " + kindNames[run.kind[row]] + (run.control[row] ? " control" : "") +
        (chain && chain.has(row) ? " linked" : "") + (row === selected ? " selected" : "");
      const m = el("g", {class: name, "data-row": row}, g);
      el("title", {}, m, `${seconds(run.time[row], 6)}  ${sentence(row)}`);
      if (lane < 0) {
        this.rule(m, row, y);
        continue;
      }
      if (row === selected) this.ring(m, row);
      this.glyph(m, row, this.x(lane), y);
      this.busy.add(lane * 1e5 + Math.round(y / 6));
      drawn.push([m, row, y]);
    }
    if (this.zoom * ROW < 10.5) return;
    // What matters most has the first choice where there is not enough room for all.
    const rank = ([, row]) => run.kind[row] >= CALL ? 0 : hasLine(row) ? 1 : 2;
    for (const wanted of [0, 1, 2]) for (const d of drawn) if (rank(d) === wanted) this.label(...d);
  }

  ring(g, row) {
    if (this.shownLane(run.lane[row])) el("circle", {class: "ring", cx: this.x(run.lane[row]), cy: this.rowY(row), r: 9}, g);
  }

  // rule is what happened to nobody in particular: a line over all lanes.
  rule(m, row, y) {
    el("line", {class: "rule", x1: this.scene.gutter - this.scrollX, x2: this.scene.right - this.scrollX, y1: y, y2: y}, m);
    if (this.zoom * ROW < 11) return;
    el("text", {class: "label", x: this.scene.gutter + 8 - this.scrollX, y: y - 4}, m, labelOf(row));
  }

  glyph(m, row, x, y) {
    const s = 3.2;
    switch (run.kind[row]) {
      case SEND: el("circle", {cx: x, cy: y, r: s}, m); break;
      case DELIVER: el("circle", {cx: x, cy: y, r: s - 0.6, class: "hollow"}, m); break;
      case DROP: break;
      case TIMER: el("path", {d: `M${x - 4},${y} l4,-4 l4,4 l-4,4 Z`}, m); break;
      case CALL: el("path", {d: `M${x - 4},${y - 4.5} l8,4.5 l-8,4.5 Z`}, m); break;
      case OK: case REFUSED: case UNKNOWN: el("path", {d: `M${x + 4},${y - 4.5} l-8,4.5 l8,4.5 Z`}, m); break;
      case RECORD: el("rect", {x: x - 4.5, y: y - 4.5, width: 9, height: 9}, m); break;
      case FAULT: el("path", {d: `M${x + 1.5},${y - 8} l-6,9 h4 l-1.5,7 l6,-9 h-4 Z`}, m); break;
      case NODE: el("rect", {x: x - 3, y: y - 3, width: 6, height: 6, transform: `rotate(45 ${x} ${y})`}, m); break;
      default: el("rect", {x: x - 3, y: y - 3, width: 6, height: 6}, m);
    }
  }

  // label writes what an event says beside its lane: on the side to which it sends, else on the right; next to the lane,
  // if wanted, what the machine's clock showed.
  label(m, row, y) {
    const lane = run.lane[row], x = this.x(lane), kind = run.kind[row];
    const left = kind === SEND && this.shownLane(run.peer[row]) && this.x(run.peer[row]) < x;
    const text = hasLine(row) && kind !== DROP ? labelOf(row) : "";
    const reading = this.scene.clocks && this.claim("clock" + lane, y) ? this.reading(row) : null;
    if (!text && !reading || !this.claim(lane + (left ? "left" : "right"), y)) return;
    const at = left ? x - 10 - this.barsBeside(lane) : x + 10, base = y + (isMessage(row) ? -3 : 4);
    const clockWidth = reading ? (reading.text.length + 1) * 5.8 : 0;
    const words = clipText(text, this.room(lane, y, left, text.length * 6.65 + clockWidth) - clockWidth, 6.65);
    const length = words.length * 6.65 + clockWidth + 4;
    if (length > 4) el("rect", {class: "labelback", x: left ? at - length + 2 : at - 2, y: base - 9.5, width: length, height: 12}, m);
    const t = el("text", {class: "label" + (left ? " left" : ""), x: at, y: base}, m);
    const clock = reading && el("tspan", {class: "clock" + (reading.off ? " off" : "")}, null, reading.text);
    if (clock && !left) t.append(clock);
    if (words) el("tspan", {}, t, (clock && !left ? " " : "") + words + (clock && left ? " " : ""));
    if (clock && left) t.append(clock);
  }

  // claim takes a place for a line of text, if it is free.
  claim(place, y) {
    const taken = this.taken.get(place) || [];
    if (taken.some(other => Math.abs(other - y) < 10)) return false;
    taken.push(y);
    this.taken.set(place, taken);
    return true;
  }

  // room is how wide a label may be: over the lanes beside its own as long as these are empty there.
  room(lane, y, left, wanted) {
    const {lanes: order, laneWidth, slots} = this.scene;
    let width = laneWidth - 24 - slots[lane] * (BAR + 2), i = order.indexOf(lane);
    while (width < wanted) {
      i += left ? -1 : 1;
      const other = order[i];
      if (other === undefined) return left ? width : width + 24;
      const at = Math.round(y / 6);
      if ([-2, -1, 0, 1, 2].some(d => this.busy.has(other * 1e5 + at + d))) break;
      if (this.inTheWay.some(([bar, y0, y1]) => bar === other && y0 < y + 8 && y1 > y - 12)) break;
      width += laneWidth;
    }
    return width;
  }

  barsBeside(lane) { return this.scene.slots[lane] * (BAR + 2); }

  reading(row) {
    const lane = run.lane[row];
    const skew = Number.isNaN(run.skew[row]) ? skewAt(lane, run.time[row]) : run.skew[row];
    if (skew === undefined) return null;
    return {text: ((run.time[row] + skew) / 1e9).toFixed(3), off: Math.abs(skew) >= 2e6};
  }

  badges() {
    const g = this.group("badges"), used = new Map();
    for (const [i, step] of steps.entries()) {
      const y = step.event >= 0 ? this.rowY(step.event) : this.timeY(step.time);
      if (this.off(y, y)) continue;
      const lane = step.event >= 0 && run.lane[step.event] >= 0 ? run.lane[step.event] : step.lane;
      let x = this.shownLane(lane) ? this.x(lane) - 19 - this.barsBeside(lane) : this.scene.gutter + 12 - this.scrollX;
      const key = lane + ":" + Math.round(y / 12), before = used.get(key) || 0;
      used.set(key, before + 1);
      x -= before * 19;
      const b = el("g", {class: "badge" + ownerClass(step.lane) + (i === this.scene.step ? " current" : ""), "data-step": i}, g);
      el("circle", {cx: x, cy: y, r: 8.5}, b);
      el("text", {x, y: y + 3.6}, b, step.number);
      el("title", {}, b, `${step.number}. ${step.who}: ${step.text}`);
    }
  }

  heads() {
    const g = this.group("heads");
    el("rect", {class: "headback", x: 0, y: 0, width: this.width, height: HEAD}, g);
    let free = -1e9; // up to where the row is full: there may be more lanes than names fit
    for (const lane of this.scene.lanes) {
      const x = this.x(lane), name = clipText(lanes[lane].name, this.scene.laneWidth - 14, 7.6) || lanes[lane].name.slice(0, 2);
      const width = Math.min(Math.max(name.length * 7.8 + 20, 26), this.scene.laneWidth - 4);
      const start = Math.max(x - width / 2, this.column(lane)[0]);
      if (start < free) continue;
      free = start + width + 1;
      const h = el("g", {class: "head" + (lanes[lane].server ? " server" : ownerClass(lane)), "data-lane": lane}, g);
      el("rect", {x: start, y: 5, width, height: 22, rx: lanes[lane].server ? 2 : 11}, h);
      el("text", {x: start + width / 2, y: 20}, h, name);
      el("title", {}, h, lanes[lane].name);
    }
    el("rect", {class: "headback", x: 0, y: 0, width: this.scene.gutter - 4, height: HEAD}, g);
    el("text", {class: "axis", x: this.scene.gutter - 12, y: 20}, g, "true time");
  }
}

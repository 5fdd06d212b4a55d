// The run, as columns. Rows are events; -1 stands for no such row or lane.

const kindNames = ["send", "deliver", "drop", "timer", "node", "note", "call", "ok", "refused", "unknown", "record",
  "applied", "fault", "phase", "belief"];
const SEND = 0, DELIVER = 1, DROP = 2, TIMER = 3, NODE = 4, NOTE = 5, CALL = 6, OK = 7, REFUSED = 8, UNKNOWN = 9,
  RECORD = 10, APPLIED = 11, FAULT = 12, PHASE = 13, BELIEF = 14;
const HOLD = 0, OVERLAP = 1, LEASE = 2, LEASE_OVER = 3;
const bandNames = ["paused", "down", "cut", "slow", "clocked", "trouble"];
const TROUBLE = 5;

const source = JSON.parse(document.getElementById("run").textContent);
const texts = source.strings;
const lanes = source.lanes;
const count = source.events.count;
const story = source.story;
const steps = story ? story.steps : [];

const run = (() => {
  const c = source.events;
  const at = (column, i) => i < column.length ? column[i] : 0;
  const r = {
    time: new Float64Array(count), kind: new Uint8Array(count), lane: new Int32Array(count), peer: new Int32Array(count),
    cause: new Int32Array(count), label: new Int32Array(count), detail: new Int32Array(count),
    skew: new Float64Array(count), bent: new Uint8Array(count), control: new Uint8Array(count),
    entry: new Float64Array(count), index: new Float64Array(count),
    end: new Int32Array(count).fill(-1), // of a send: the row at which it arrived or was lost
    effect: new Int32Array(count).fill(-1), next: new Int32Array(count).fill(-1), // first effect, next of the same cause
  };
  const skews = new Float64Array(lanes.length);
  let time = 0, entry = 0, index = 0;
  for (let i = 0; i < count; i++) {
    const flags = at(c.flags, i), cause = at(c.cause, i), lane = at(c.lane, i) - 1;
    r.time[i] = time += at(c.time, i);
    r.kind[i] = at(c.kind, i);
    r.lane[i] = lane;
    r.peer[i] = at(c.peer, i) - 1;
    r.cause[i] = cause ? i - cause : -1;
    r.label[i] = at(c.label, i);
    r.detail[i] = at(c.detail, i);
    r.skew[i] = flags & 1 ? skews[lane] += at(c.skew, i) : NaN;
    r.bent[i] = flags & 2 ? 1 : 0;
    r.control[i] = flags & 4 ? 1 : 0;
    if (at(c.entry, i)) r.entry[i] = entry += at(c.entry, i);
    if (at(c.index, i)) r.index[i] = index += at(c.index, i);
    if ((r.kind[i] === DELIVER || r.kind[i] === DROP) && cause && r.kind[i - cause] === SEND) r.end[i - cause] = i;
  }
  for (let i = count - 1; i >= 0; i--) {
    if (r.cause[i] >= 0) {
      r.next[i] = r.effect[r.cause[i]];
      r.effect[r.cause[i]] = i;
    }
  }
  return r;
})();

const isMessage = row => run.kind[row] <= DROP;
const labelOf = row => texts[run.label[row]];
const laneName = lane => lane >= 0 ? lanes[lane].name : "";
const lastTime = Math.max(count ? run.time[count - 1] : 0, ...source.bands.map(b => b.to), ...steps.map(s => s.time), 1);

// seconds renders true time with so many decimals.
function seconds(ns, digits = 3) {
  return (ns / 1e9).toFixed(digits) + " s";
}

// span renders a length of time with a unit that suits it.
function span(ns) {
  const size = Math.abs(ns);
  if (size >= 1e9) return (ns / 1e9).toFixed(size < 1e10 ? 2 : 1) + " s";
  if (size >= 1e6) return (ns / 1e6).toFixed(size < 1e7 ? 2 : 1) + " ms";
  if (size >= 1e3) return (ns / 1e3).toFixed(1) + " µs";
  return ns + " ns";
}

// clocks knows, for each lane, by how much its clock was ahead whenever that was seen, in pieces between two bends: from
// one bend to the next a clock is a straight line.
const clocks = (() => {
  const pieces = lanes.map(() => []);
  for (let i = 0; i < count; i++) {
    const lane = run.lane[i];
    if (lane < 0 || Number.isNaN(run.skew[i])) continue;
    const list = pieces[lane];
    if (!list.length || run.bent[i]) list.push([]);
    const piece = list[list.length - 1], last = piece[piece.length - 1];
    if (last && last.time === run.time[i]) last.skew = run.skew[i];
    else piece.push({time: run.time[i], skew: run.skew[i]});
  }
  return pieces;
})();

const anyClockOff = run.skew.some(skew => Math.abs(skew) >= 2e6);

// skewAt is by how much a lane's clock was ahead at a time, undefined if nobody knows.
function skewAt(lane, time) {
  const list = clocks[lane];
  let piece = list[0];
  if (!piece) return undefined;
  for (const p of list) if (p[0].time <= time) piece = p;
  let low = 0, high = piece.length - 1;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (piece[middle].time <= time) low = middle;
    else high = middle - 1;
  }
  const a = piece[Math.min(low, Math.max(piece.length - 2, 0))], b = piece[Math.min(low + 1, piece.length - 1)];
  if (a === b || a.time === b.time) return a.skew;
  return a.skew + (b.skew - a.skew) * (time - a.time) / (b.time - a.time);
}

// sentence tells an event in words.
function sentence(row) {
  const who = laneName(run.lane[row]), peer = laneName(run.peer[row]), label = labelOf(row);
  switch (run.kind[row]) {
    case SEND: return `${who} sends to ${peer}: ${label}`;
    case DELIVER: return `${who} receives from ${peer}: ${label}`;
    case DROP: return `lost on the way from ${peer} to ${who}: ${labelOf(run.cause[row] >= 0 ? run.cause[row] : row)} (${label})`;
    case TIMER: return `${who}: ${label}`;
    case CALL: return `${who} calls ${label}`;
    case OK: case REFUSED: case UNKNOWN: return `${who} is answered: ${label}`;
    case RECORD: return `${who}: ${label}` + (peer ? `, by ${peer}` : "");
    case FAULT: return `fault${who ? " at " + who : ""}: ${label}`;
    default: return who ? `${who}: ${label}` : label;
  }
}

// causesOf is the chain of causes of a row, the nearest first.
function causesOf(row) {
  const chain = [];
  for (let cause = run.cause[row]; cause >= 0; cause = run.cause[cause]) chain.push(cause);
  return chain;
}

// effectsOf lists what a row led to directly, at most so many.
function effectsOf(row, most) {
  const list = [];
  for (let e = run.effect[row]; e >= 0 && list.length < most; e = run.next[e]) list.push(e);
  return list;
}

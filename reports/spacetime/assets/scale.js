// Where things are: from true time and rows to the y of the picture, before zooming.

const ROW = 18;       // height of a line of text
const FOLD = 26;      // height of the gap that stands for a long time in which nothing happens
const MAX_HEIGHT = 14e6; // beyond that browsers do not scroll

// Scale places the visible rows. Folded, each instant has a line for each of its labels and gaps grow slowly with the
// time between; linear, y is time.
class Scale {
  constructor(linear, visible, extraTimes, height) {
    this.linear = linear;
    this.rows = [];
    this.y = new Float64Array(count);
    for (let i = 0; i < count; i++) if (visible[i]) this.rows.push(i);
    this.placeInstants(this.gatherTimes(extraTimes));
    if (linear) this.total = Math.max(height - 90, 200);
    for (let i = 0; i < count; i++) if (linear || !visible[i]) this.y[i] = this.yOf(run.time[i]);
    this.indexMessages(visible);
  }

  gatherTimes(extraTimes) {
    const times = new Set(extraTimes);
    times.add(0);
    times.add(lastTime);
    for (const row of this.rows) times.add(run.time[row]);
    return Float64Array.from(times).sort();
  }

  // placeInstants gives each instant its lines. What has no label shares the line of the next label.
  placeInstants(times) {
    const n = times.length, gaps = [];
    for (let k = 1; k < n; k++) gaps.push(times[k] - times[k - 1]);
    const unit = Math.max(gaps.slice().sort((a, b) => a - b)[gaps.length >> 1] || 1, 1);
    this.times = times;
    this.top = new Float64Array(n);
    this.bottom = new Float64Array(n);
    this.folds = [];
    let y = ROW, next = 0;
    for (let k = 0; k < n; k++) {
      if (k > 0) {
        const ratio = gaps[k - 1] / unit;
        if (ratio > 24) {
          this.folds.push(k);
          y += FOLD;
        } else {
          y += 3 + 4.5 * Math.log2(1 + ratio);
        }
      }
      this.top[k] = y;
      let lines = 0;
      for (; next < this.rows.length && run.time[this.rows[next]] === times[k]; next++) {
        const row = this.rows[next];
        this.y[row] = y + (lines + 0.5) * ROW;
        if (hasLine(row)) lines++;
      }
      if (lines > 0) { // what comes after the last label has no line of its own
        for (let back = next - 1; back >= 0 && run.time[this.rows[back]] === times[k]; back--) {
          this.y[this.rows[back]] = Math.min(this.y[this.rows[back]], y + (lines - 0.5) * ROW);
        }
      }
      y += Math.max(lines, 0.6) * ROW;
      this.bottom[k] = y;
    }
    this.total = y + ROW;
  }

  // find is the last instant at or before a time.
  find(time) {
    let low = 0, high = this.times.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (this.times[middle] <= time) low = middle;
      else high = middle - 1;
    }
    return low;
  }

  yOf(time) {
    if (this.linear) return 10 + time / lastTime * (this.total - 20);
    const k = this.find(time);
    if (this.times[k] === time || k + 1 === this.times.length) return this.top[k] + ROW / 2;
    const from = this.top[k] + ROW / 2, to = this.top[k + 1] + ROW / 2;
    const start = Math.max(from, this.bottom[k] - ROW / 2);
    return start + (to - start) * (time - this.times[k]) / (this.times[k + 1] - this.times[k]);
  }

  timeAt(y) {
    if (this.linear) return Math.min(Math.max((y - 10) / (this.total - 20), 0), 1) * lastTime;
    let low = 0, high = this.times.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (this.top[middle] <= y) low = middle;
      else high = middle - 1;
    }
    if (low + 1 === this.times.length) return this.times[low];
    const part = Math.max(y - this.bottom[low], 0) / Math.max(this.top[low + 1] - this.bottom[low], 1);
    return this.times[low] + Math.min(part, 1) * (this.times[low + 1] - this.times[low]);
  }

  // firstRow is the position in rows of the first at or below y.
  firstRow(y) {
    let low = 0, high = this.rows.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.y[this.rows[middle]] < y) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  // indexMessages keeps, for each block of messages, how far down they reach, so that one that crosses the window from
  // far above is found.
  indexMessages(visible) {
    this.messages = [];
    for (const row of this.rows) if (run.kind[row] === SEND) this.messages.push(row);
    this.reach = [];
    this.messages.forEach((row, i) => {
      const block = i >> 8, end = run.end[row] >= 0 ? this.y[run.end[row]] : this.y[row];
      this.reach[block] = Math.max(this.reach[block] || 0, end);
    });
  }

  // crossing lists the messages that can be seen between two heights.
  crossing(from, to) {
    const found = [];
    for (let block = 0; block < this.reach.length; block++) {
      const first = block << 8;
      if (this.y[this.messages[first]] > to) break;
      if (this.reach[block] < from) continue;
      for (let i = first; i < Math.min(first + 256, this.messages.length); i++) {
        const row = this.messages[i], end = run.end[row] >= 0 ? this.y[run.end[row]] : this.y[row];
        if (this.y[row] <= to && end >= from) found.push(row);
      }
    }
    return found;
  }
}

// hasLine tells whether an event has a label in the picture. What arrives is labelled where it was sent.
function hasLine(row) {
  const kind = run.kind[row];
  return kind !== DELIVER && kind !== TIMER;
}

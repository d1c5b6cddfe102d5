/*
 * One thread in time order: a box is a call that lasted over neighbouring
 * samples. Boxes lie in rows by depth, sorted by time, so drawing finds the
 * visible ones by bisection and skips those under a pixel.
 */

const MOST_SPANS = 10000;

/** The boxes of one depth, in columns. */
class Row {
  constructor() {
    this.start = [];
    this.end = [];
    this.node = [];
  }

  get n() {
    return this.start.length;
  }

  /** The first box that ends after a time. */
  after(time) {
    let low = 0;
    let high = this.n;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.end[middle] > time) high = middle;
      else low = middle + 1;
    }
    return low;
  }
}

/** A box as the canvas and the details want it. */
class Span {
  constructor(spans, depth, i) {
    const row = spans.rows[depth - 1];
    this.spans = spans;
    this.depth = depth;
    this.i = i;
    this.node = row.node[i];
    this.fn = spans.calls.fn[this.node];
    this.from = row.start[i];
    this.to = row.end[i];
    this.weight = this.to - this.from;
  }

  get values() {
    return [this.weight];
  }

  get key() {
    return `${this.depth}:${this.i}`;
  }

  path() {
    const { calls } = this.spans;
    return calls.path(this.node).map((node) => calls.fn[node]);
  }
}

/** A thread's picture, with the same methods as `Boxes`. */
export class Spans {
  /**
   * @param {object} thread of the page's timeline
   * @param {Calls} calls for filters and hidden frames
   * @param {object} kept of `keptStacks`
   * @param {{from: number, to: number}} extent ns that [0, 1] stands for
   */
  constructor(thread, calls, kept, extent) {
    this.calls = calls;
    this.extent = extent;
    this.length = Math.max(1, extent.to - extent.from);
    this.rows = [];
    this.shown = 0;
    this.fill(thread, kept);
    this.root = null;
    this.total = this.length;
  }

  fill(thread, kept) {
    let open = [];
    let path = [];
    let end = -1;
    for (let i = 0; i < thread.n; i++) {
      if (kept && !kept[thread.node[i]]) continue;
      this.calls.path(thread.node[i], path);
      this.shown += thread.duration[i];
      this.extend(open, path, thread.start[i], thread.start[i] <= end);
      end = thread.start[i] + thread.duration[i];
      for (let depth = 0; depth < path.length; depth++) {
        const row = this.rows[depth];
        row.end[row.n - 1] = end;
      }
      [open, path] = [path, open];
    }
  }

  /** Opens the boxes of a path that do not go on from the one before. */
  extend(open, path, start, isNext) {
    const { fn } = this.calls;
    const least = isNext ? Math.min(open.length, path.length) : 0;
    let depth = 0;
    while (depth < least && fn[open[depth]] === fn[path[depth]]) depth++;
    for (; depth < path.length; depth++) {
      if (depth === this.rows.length) this.rows.push(new Row());
      const row = this.rows[depth];
      row.start.push(start);
      row.end.push(start);
      row.node.push(path[depth]);
    }
  }

  get depth() {
    return this.rows.length;
  }

  visit(from, to, least, emit) {
    const { rows, length, extent } = this;
    const stop = extent.from + to * length;
    const gap = least * length;
    rows.forEach((row, k) => {
      let i = row.after(extent.from + from * length);
      while (i < row.n && row.start[i] < stop) {
        const start = row.start[i];
        const isWide = row.end[i] - start >= gap;
        const next = isWide ? i + 1 : Math.max(i + 1, row.after(start + gap));
        const end = isWide ? row.end[i] : Math.min(start + gap, row.end[next - 1]);
        emit(isWide ? new Span(this, k + 1, i) : null, k + 1,
          (start - extent.from) / length, (end - extent.from) / length, next - i);
        i = next;
      }
    });
  }

  place(span) {
    return {
      start: (span.from - this.extent.from) / this.length,
      end: (span.to - this.extent.from) / this.length,
    };
  }

  neighbour(span, direction) {
    if (direction === "prev" || direction === "next") {
      const i = span.i + (direction === "next" ? 1 : -1);
      return this.rows[span.depth - 1].node[i] === undefined ? span : new Span(this, span.depth, i);
    }
    const depth = span.depth + (direction === "in" ? 1 : -1);
    const row = this.rows[depth - 1];
    if (!row) return span;
    const i = row.after(span.from);
    const fits = i < row.n && row.start[i] < span.to;
    return fits ? new Span(this, depth, i) : span;
  }

  /** Boxes whose function matches, in order of time. */
  matching(mask) {
    const { fn } = this.calls;
    const found = [];
    this.rows.forEach(({ n, node, start }, k) => {
      for (let i = 0; i < n && found.length < MOST_SPANS; i++) {
        if (mask[fn[node[i]]]) found.push({ depth: k + 1, i, start: start[i] });
      }
    });
    found.sort((a, b) => a.start - b.start || a.depth - b.depth);
    return found.map(({ depth, i }) => new Span(this, depth, i));
  }

  /** The first box, for the keyboard to begin with. */
  get entry() {
    return this.rows.length > 0 ? new Span(this, 1, 0) : null;
  }
}

/*
 * The strip of time: how busy the threads were, and what happened when (GC
 * pauses and other events). Dragging on it chooses a range of time.
 */
import { DRAG_PIXELS } from "./flame.js";
import { duration, moment, niceStep } from "./units.js";

const BUSY_HEIGHT = 30;
const TRACK_HEIGHT = 16;
const AXIS_HEIGHT = 16;
const FONT_SIZE = 10;
const BINS = 400;

/** Mean number of threads with a sample, in equal parts of the time. */
function busyBins(threads, extent) {
  const bins = new Float64Array(BINS);
  const width = (extent.to - extent.from) / BINS;
  for (const thread of threads) {
    for (let i = 0; i < thread.n; i++) {
      const end = thread.start[i] + thread.duration[i];
      addSpan(bins, (thread.start[i] - extent.from) / width, (end - extent.from) / width);
    }
  }
  return bins;
}

function addSpan(bins, from, to) {
  const last = Math.min(BINS - 1, Math.floor(to));
  for (let bin = Math.max(0, Math.floor(from)); bin <= last; bin++) {
    bins[bin] += Math.max(0, Math.min(to, bin + 1) - Math.max(from, bin));
  }
}

/** Events of all tracks in order of time. */
function inOrder(tracks) {
  const events = tracks.flatMap((track, lane) =>
    track.rows.map(([start, length, text]) => ({ lane, track: track.name, start, length, text })));
  return events.sort((a, b) => a.start - b.start);
}

/** One sentence for each track: what a screen reader hears. */
export function describeTracks(tracks) {
  return tracks.map(({ name, rows }) => {
    const lengths = rows.map((row) => row[1]);
    const sum = lengths.reduce((a, b) => a + b, 0);
    if (sum === 0) return `${name}: ${rows.length}.`;
    const longest = Math.max(...lengths.slice(0, 10000));
    return `${name}: ${rows.length}, ${duration(sum)} in all, longest ${duration(longest)}.`;
  }).join(" ");
}

/** The strip in an element. */
export class Strip {
  /**
   * @param {HTMLElement} host
   * @param {object} page
   * @param {{from: number, to: number}} extent of time, ns
   * @param {object} on `hover(text)`, `range(from, to)`, `tell(text)`
   */
  constructor(host, page, extent, on) {
    this.host = host;
    this.extent = extent;
    this.on = on;
    this.tracks = page.meta.tracks || [];
    this.events = inOrder(this.tracks);
    this.busy = page.timeline ? busyBins(page.timeline.threads, extent) : null;
    this.canvas = document.createElement("canvas");
    this.canvas.setAttribute("aria-hidden", "true");
    host.append(this.canvas);
    this.context = this.canvas.getContext("2d");
    this.from = 0;
    this.to = 1;
    this.range = null;
    this.at = -1;
    this.listen();
  }

  get contentHeight() {
    return (this.busy ? BUSY_HEIGHT : 0) + this.tracks.length * TRACK_HEIGHT + AXIS_HEIGHT;
  }

  /** Shows it in a theme's colours. */
  show(look) {
    this.look = look;
    this.resize();
  }

  resize() {
    const width = this.host.clientWidth;
    if (width === 0 || !this.look) return;
    const ratio = window.devicePixelRatio || 1;
    this.width = width;
    this.height = this.contentHeight;
    this.canvas.width = Math.round(width * ratio);
    this.canvas.height = Math.round(this.height * ratio);
    this.canvas.style.width = `${width}px`;
    this.canvas.style.height = `${this.height}px`;
    this.context.setTransform(ratio, 0, 0, ratio, 0, 0);
    this.draw();
  }

  /** What part of the time is in view, and what part is chosen (or null). */
  setView(from, to, range) {
    this.from = from;
    this.to = to;
    this.range = range;
    this.draw();
  }

  x(ns) {
    const place = (ns - this.extent.from) / (this.extent.to - this.extent.from);
    return ((place - this.from) / (this.to - this.from)) * this.width;
  }

  time(x) {
    const place = this.from + (x / this.width) * (this.to - this.from);
    return this.extent.from + place * (this.extent.to - this.extent.from);
  }

  draw() {
    if (!this.width) return;
    this.context.clearRect(0, 0, this.width, this.height);
    this.context.font = `${FONT_SIZE}px ${getComputedStyle(this.host).fontFamily}`;
    this.context.textBaseline = "middle";
    if (this.busy) this.drawBusy();
    this.events.forEach((event, i) => this.drawEvent(event, i === this.at));
    this.drawNames();
    this.drawRuler();
    this.drawRange();
  }

  drawBusy() {
    const { context, busy, look } = this;
    const most = Math.max(1, ...busy);
    context.fillStyle = look.busy;
    const width = (this.extent.to - this.extent.from) / BINS;
    for (let i = 0; i < BINS; i++) {
      const x = this.x(this.extent.from + i * width);
      const end = this.x(this.extent.from + (i + 1) * width);
      const height = (busy[i] / most) * (BUSY_HEIGHT - 3);
      if (end > 0 && x < this.width) {
        context.fillRect(x, BUSY_HEIGHT - height, end - x + 0.5, height);
      }
    }
  }

  lane(i) {
    return (this.busy ? BUSY_HEIGHT : 0) + i * TRACK_HEIGHT;
  }

  drawEvent(event, isCurrent) {
    const { context, look } = this;
    const x = this.x(event.start);
    const width = Math.max(this.x(event.start + event.length) - x, 1.5);
    if (x + width < 0 || x > this.width) return;
    const y = this.lane(event.lane);
    context.fillStyle = isCurrent ? look.strong : look.tracks[event.lane % look.tracks.length];
    context.fillRect(x, y + 3, width, TRACK_HEIGHT - 5);
  }

  drawNames() {
    const { context, look } = this;
    const names = this.tracks.map((track, i) => [track.name, this.lane(i) + TRACK_HEIGHT / 2]);
    if (this.busy) names.unshift(["busy threads", 8]);
    for (const [name, y] of names) {
      const width = context.measureText(name).width + 10;
      context.globalAlpha = 0.82;
      context.fillStyle = look.surface;
      context.fillRect(0, y - 7, width, 14);
      context.globalAlpha = 1;
      context.fillStyle = look.quiet;
      context.fillText(name, 5, y);
    }
  }

  drawRuler() {
    const { context, look } = this;
    const from = this.time(0);
    const to = this.time(this.width);
    const step = niceStep((to - from) / Math.max(2, this.width / 110));
    const y = this.height - AXIS_HEIGHT;
    context.fillStyle = look.line;
    context.fillRect(0, y, this.width, 1);
    for (let at = Math.ceil(from / step) * step; at <= to; at += step) {
      const x = Math.round(this.x(at));
      context.fillStyle = look.line;
      context.fillRect(x, 0, 1, this.height);
      context.fillStyle = look.quiet;
      context.fillText(moment(at, step), x + 4, y + AXIS_HEIGHT / 2 + 1);
    }
  }

  drawRange() {
    if (!this.range) return;
    const { context, look } = this;
    const x = this.x(this.range.from);
    const width = Math.max(this.x(this.range.to) - x, 2);
    context.globalAlpha = 0.16;
    context.fillStyle = look.accent;
    context.fillRect(x, 0, width, this.height);
    context.globalAlpha = 1;
    context.fillRect(x, 0, 1.5, this.height);
    context.fillRect(x + width - 1.5, 0, 1.5, this.height);
  }

  listen() {
    new ResizeObserver(() => this.resize()).observe(this.host);
    this.host.addEventListener("pointerdown", (event) => {
      if (event.button !== 0) return;
      this.host.setPointerCapture(event.pointerId);
      this.drag = { x: this.local(event), before: this.range };
    });
    this.host.addEventListener("pointermove", (event) => this.pointerMoved(event));
    this.host.addEventListener("pointerup", (event) => this.release(event));
    this.host.addEventListener("pointerleave", () => this.on.hover(""));
    this.host.addEventListener("keydown", (event) => this.key(event));
  }

  local(event) {
    return event.clientX - this.canvas.getBoundingClientRect().left;
  }

  pointerMoved(event) {
    const x = this.local(event);
    if (this.drag && Math.abs(x - this.drag.x) >= DRAG_PIXELS) {
      const [a, b] = [this.drag.x, x].sort((p, q) => p - q);
      this.range = { from: this.time(Math.max(0, a)), to: this.time(Math.min(this.width, b)) };
      this.draw();
    }
    const y = event.clientY - this.canvas.getBoundingClientRect().top;
    const hit = this.eventAt(x, y);
    this.on.hover(hit ? describe(hit) : moment(this.time(x), (this.time(1) - this.time(0))));
  }

  release(event) {
    const { drag } = this;
    this.drag = null;
    if (!drag) return;
    const isDrag = Math.abs(this.local(event) - drag.x) >= DRAG_PIXELS;
    if (isDrag && this.range) this.on.range(this.range);
    else if (!isDrag && drag.before) this.on.range(null);
  }

  eventAt(x, y) {
    return this.events.find((event) => {
      const top = this.lane(event.lane);
      const start = this.x(event.start) - 2;
      const end = Math.max(this.x(event.start + event.length), start + 2) + 2;
      return y >= top && y < top + TRACK_HEIGHT && x >= start && x <= end;
    });
  }

  key(event) {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (step && this.events.length > 0) {
      this.at = Math.min(Math.max(this.at + step, 0), this.events.length - 1);
      const text = describe(this.events[this.at]);
      this.on.hover(text);
      this.on.tell(text);
      this.draw();
    } else if (event.key === "Enter" && this.at >= 0) {
      const { start, length } = this.events[this.at];
      this.on.range({ from: start, to: start + Math.max(length, 1e6) });
    } else {
      return;
    }
    event.preventDefault();
    event.stopPropagation();
  }
}

function describe({ track, start, length, text }) {
  const parts = [track, text, length > 0 ? duration(length) : "", `at ${moment(start, 1e6)}`];
  return parts.filter((part) => part).join(" · ");
}

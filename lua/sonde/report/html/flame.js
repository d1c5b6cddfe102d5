/*
 * A canvas with boxes: zooms, pans, selects. It draws whatever source gives
 * boxes (`Boxes`, `Spans`) and tells its owner what the pointer is on.
 */
import { LABEL_PAD, Labels } from "./labels.js";
import { digits } from "./units.js";

const ROW = 20;
const FONT = 12;
const NARROWEST = 1e-10;
/** Boxes under this many pixels are drawn together. */
const LEAST_PIXELS = 0.7;
export const DRAG_PIXELS = 4;

/** A picture of boxes in an element. */
export class Flame {
  /**
   * @param {HTMLElement} host scrolls; gets a canvas
   * @param {object} on `hover(box)`, `select(box)`, `view(from, to)`
   */
  constructor(host, on) {
    this.host = host;
    this.on = on;
    this.canvas = document.createElement("canvas");
    this.canvas.setAttribute("aria-hidden", "true");
    this.spacer = document.createElement("div");
    host.append(this.canvas, this.spacer);
    this.context = this.canvas.getContext("2d");
    this.from = 0;
    this.to = 1;
    this.rows = [];
    this.listen();
  }

  /**
   * Shows a source.
   * @param {object} source
   * @param {object} look `names`, `fill(box)`, `text` and `plain` colours,
   *   `accent`, `matches` (byte for each function, or null), `isUp` (callers
   *   above), `rootLabel`, `note(box)` (text at a box's right end)
   */
  show(source, look) {
    const isOther = source !== this.source;
    this.source = source;
    this.look = look;
    if (isOther) {
      this.hovered = null;
      this.selected = null;
    }
    this.setFont();
    this.resize();
    if (isOther && look.isUp) this.host.scrollTop = this.host.scrollHeight;
  }

  setFont() {
    const family = getComputedStyle(this.host).fontFamily;
    this.font = `${FONT}px ${family}`;
    this.context.font = this.font;
    if (!this.labels || this.labels.names !== this.look.names) {
      this.labels = new Labels(this.context, this.look.names);
    }
  }

  get contentHeight() {
    const levels = this.source.depth + (this.source.root ? 1 : 0);
    return levels * ROW + 1;
  }

  resize() {
    const { clientWidth: width, clientHeight: height } = this.host;
    if (width === 0 || height === 0 || !this.source) return;
    const ratio = window.devicePixelRatio || 1;
    this.width = width;
    this.height = height;
    this.canvas.width = Math.round(width * ratio);
    this.canvas.height = Math.round(height * ratio);
    this.canvas.style.width = `${width}px`;
    this.canvas.style.height = `${height}px`;
    this.context.setTransform(ratio, 0, 0, ratio, 0, 0);
    this.spacer.style.height = `${Math.max(0, this.contentHeight - height)}px`;
    this.draw();
  }

  /** Draws in the next frame. */
  redraw() {
    if (this.isDue) return;
    this.isDue = true;
    requestAnimationFrame(() => {
      this.isDue = false;
      this.draw();
    });
  }

  x(place) {
    return ((place - this.from) / (this.to - this.from)) * this.width;
  }

  /** The upper edge of a level on the canvas. */
  y(depth) {
    const level = this.source.root ? depth : depth - 1;
    const scrolled = this.host.scrollTop;
    if (!this.look.isUp) return level * ROW - scrolled;
    const height = Math.max(this.contentHeight, this.height);
    return height - (level + 1) * ROW - scrolled;
  }

  draw() {
    if (!this.source || !this.width) return;
    const { context, from, to } = this;
    context.clearRect(0, 0, this.width, this.height);
    context.font = this.font;
    context.textBaseline = "middle";
    this.rows = [];
    const least = ((to - from) * LEAST_PIXELS) / this.width;
    this.source.visit(from, to, least, (box, depth, start, end, count) => {
      const y = this.y(depth);
      if (y + ROW <= 0 || y >= this.height) return;
      const x = Math.max(0, this.x(start));
      const width = Math.min(this.width, this.x(end)) - x;
      if (width <= 0) return;
      if (box) this.drawBox(box, depth, x, y, width);
      else this.drawRest(count, x, y, width);
    });
    this.outline(this.hovered, 1);
    this.outline(this.selected, 2);
    this.on.drawn?.(this);
  }

  drawBox(box, depth, x, y, width) {
    const { context, look } = this;
    const inner = width > 3 ? width - 1 : width;
    const isMatch = look.matches !== null && look.matches[box.fn] === 1;
    const fades = look.matches !== null && !isMatch;
    context.globalAlpha = fades ? 0.32 : 1;
    context.fillStyle = look.fill(box);
    context.fillRect(x, y, inner, ROW - 1);
    context.globalAlpha = fades ? 0.55 : 1;
    if (isMatch) this.underline(x, y, inner);
    this.drawLabel(box, x, y, inner);
    (this.rows[depth] ||= []).push({ x, end: x + width, box });
    context.globalAlpha = 1;
  }

  /** Boxes too narrow to be seen, as one. */
  drawRest(count, x, y, width) {
    const { context, look } = this;
    context.globalAlpha = look.matches ? 0.32 : 0.75;
    context.fillStyle = look.plain;
    context.fillRect(x, y, width, ROW - 1);
    context.globalAlpha = 1;
    const label = count > 1 ? this.labels.fitText(`${digits(count)} smaller`, width) : "";
    context.fillStyle = look.quiet;
    if (label) context.fillText(label, x + LABEL_PAD, y + ROW / 2);
  }

  underline(x, y, width) {
    this.context.fillStyle = this.look.accent;
    this.context.fillRect(x, y + ROW - 3, width, 2);
  }

  drawLabel(box, x, y, width) {
    const { context, labels, look } = this;
    context.fillStyle = look.text;
    const middle = y + ROW / 2;
    const note = look.note ? look.note(box) : "";
    const noteWidth = note && width > 90 ? labels.width(note) + LABEL_PAD : 0;
    const label = box.parent === null && look.rootLabel !== undefined
      ? labels.fitText(look.rootLabel, width - noteWidth)
      : labels.fit(box.fn, width - noteWidth);
    if (label) context.fillText(label, x + LABEL_PAD, middle);
    if (noteWidth > 0) context.fillText(note, x + width - noteWidth, middle);
  }

  outline(box, thickness) {
    if (!box) return;
    const { start, end } = this.source.place(box);
    const y = this.y(box.depth);
    const x = Math.max(this.x(start), -2);
    const width = Math.min(this.x(end), this.width + 2) - x;
    if (width < 0 || x > this.width || y > this.height) return;
    this.context.strokeStyle = this.look.strong;
    this.context.lineWidth = thickness;
    this.context.strokeRect(x + thickness / 2, y + thickness / 2,
      Math.max(width - thickness - 1, 0.5), ROW - 1 - thickness);
  }

  /** The box at a place of the screen, or null. */
  boxAt(clientX, clientY) {
    const area = this.canvas.getBoundingClientRect();
    const x = clientX - area.left;
    const y = clientY - area.top;
    if (x < 0 || y < 0 || x > this.width || y > this.height) return null;
    const level = this.look.isUp
      ? Math.floor((this.y(this.source.root ? 0 : 1) + ROW - y) / ROW)
      : Math.floor((y + this.host.scrollTop) / ROW);
    const row = this.rows[this.source.root ? level : level + 1] || [];
    const hit = row.find((place) => x >= place.x && x < place.end);
    return hit ? hit.box : null;
  }

  /** Sets what part of the whole is in view. */
  setView(from, to) {
    const width = Math.min(1, Math.max(NARROWEST, to - from));
    this.from = Math.min(Math.max(0, from), 1 - width);
    this.to = this.from + width;
    this.redraw();
    this.on.view(this.from, this.to);
  }

  zoom(factor, centre = 0.5) {
    const width = (this.to - this.from) / factor;
    const at = this.from + (this.to - this.from) * centre;
    this.setView(at - width * centre, at - width * centre + width);
  }

  pan(share) {
    const shift = (this.to - this.from) * share;
    this.setView(this.from + shift, this.to + shift);
  }

  /** Makes a box as wide as the canvas. */
  fit(box) {
    const { start, end } = this.source.place(box);
    this.setView(start, end);
    this.reveal(box);
  }

  reset() {
    this.setView(0, 1);
  }

  /** Scrolls until a box's level can be seen. */
  reveal(box) {
    const y = this.y(box.depth);
    const margin = ROW * 2;
    if (y < margin) this.host.scrollTop += y - margin;
    else if (y > this.height - margin) this.host.scrollTop += y - this.height + margin + ROW;
  }

  /** Selects a box, and moves the view when it lies outside. */
  select(box) {
    this.selected = box;
    if (box) {
      const { start, end } = this.source.place(box);
      const width = this.to - this.from;
      const isInside = start < this.to && end > this.from && end - start > width / 400;
      if (!isInside) this.showAround(start, end);
      this.reveal(box);
    }
    this.redraw();
    this.on.select(box);
  }

  showAround(start, end) {
    const width = Math.max(Math.min(this.to - this.from, (end - start) * 40), end - start);
    const middle = (start + end) / 2;
    this.setView(middle - width / 2, middle + width / 2);
  }

  /** Moves the selection: "out", "in", "prev", "next". */
  move(direction) {
    if (!this.selected) this.select(this.source.root || this.source.entry);
    else this.select(this.source.neighbour(this.selected, direction));
  }

  listen() {
    const { host } = this;
    new ResizeObserver(() => this.resize()).observe(host);
    host.addEventListener("scroll", () => this.redraw(), { passive: true });
    host.addEventListener("wheel", (event) => this.wheel(event), { passive: false });
    host.addEventListener("pointerdown", (event) => this.press(event));
    host.addEventListener("pointermove", (event) => this.pointerMoved(event));
    host.addEventListener("pointerup", (event) => this.release(event));
    host.addEventListener("pointercancel", () => { this.drag = null; });
    host.addEventListener("pointerleave", () => this.hover(null));
    host.addEventListener("dblclick", (event) => {
      const box = this.boxAt(event.clientX, event.clientY);
      if (box) this.fit(box);
    });
  }

  wheel(event) {
    if (event.ctrlKey || event.metaKey) {
      event.preventDefault();
      const area = this.canvas.getBoundingClientRect();
      const steps = event.deltaMode === 1 ? event.deltaY * 16 : event.deltaY;
      this.zoom(Math.exp(-steps * 0.004), (event.clientX - area.left) / this.width);
    } else if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY)) {
      event.preventDefault();
      this.pan((event.deltaX || event.deltaY) / this.width);
    }
  }

  press(event) {
    if (event.button !== 0 || event.clientX > this.canvas.getBoundingClientRect().right) return;
    this.drag = { x: event.clientX, y: event.clientY, from: this.from, to: this.to,
      scrolled: this.host.scrollTop, isMoving: false };
  }

  pointerMoved(event) {
    if (!this.drag || event.buttons === 0) {
      this.drag = null;
      this.hover(this.boxAt(event.clientX, event.clientY));
      return;
    }
    const dx = event.clientX - this.drag.x;
    const dy = event.clientY - this.drag.y;
    if (!this.drag.isMoving && Math.hypot(dx, dy) < DRAG_PIXELS) return;
    if (!this.drag.isMoving) this.host.setPointerCapture(event.pointerId);
    this.drag.isMoving = true;
    const shift = (dx / this.width) * (this.drag.to - this.drag.from);
    this.setView(this.drag.from - shift, this.drag.to - shift);
    if (event.pointerType === "mouse") this.host.scrollTop = this.drag.scrolled - dy;
  }

  release(event) {
    const isClick = this.drag && !this.drag.isMoving;
    this.drag = null;
    if (!isClick) return;
    this.selected = this.boxAt(event.clientX, event.clientY);
    this.redraw();
    this.on.select(this.selected);
  }

  hover(box) {
    if (box === this.hovered || (box && this.hovered && sameBox(box, this.hovered))) return;
    this.hovered = box;
    this.redraw();
    this.on.hover(box);
  }
}

function sameBox(a, b) {
  return a.key !== undefined && a.key === b.key;
}

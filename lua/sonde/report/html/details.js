/*
 * The bar of details: what the pointer is on, or else what was chosen, always
 * in the same place.
 */
import { printable } from "./labels.js";
import { element, printableModule, relativeText, changeBy } from "./table.js";
import { duration, exactly, format, moment, percent, signed } from "./units.js";

/** Pieces of a line: `[text, kind]`; kind "b" is strong. */
function fill(host, pieces) {
  host.replaceChildren(...pieces.map((parts) => {
    const span = element("span");
    for (const [text, kind, title] of parts) {
      const piece = kind === "b" ? element("b", {}, text) : element("span", { class: kind }, text);
      if (title) piece.title = title;
      span.append(piece);
    }
    return span;
  }));
}

const textOf = (pieces) =>
  pieces.map((parts) => parts.map(([text]) => text).join("")).join(", ");

/** Where a function is: module, file, line. */
export function placeOf(page, fn) {
  const file = page.texts[page.file[fn]];
  const line = page.line[fn] > 0 ? `:${page.line[fn]}` : "";
  const parts = [printableModule(page, fn), file === "" ? "" : printable(file) + line];
  return parts.filter((part) => part !== "").join(" · ");
}

/** A value with its shares of the whole and of what is in view. */
function plainPieces(box, context) {
  const { unit, whole, zoomed } = context;
  const values = box.values;
  const total = [
    ["Total ", ""], [format(values[0], unit), "b", exactly(values[0], unit)],
    [` · ${percent(values[0], whole[0])} of all`, ""],
  ];
  if (zoomed > 0) total.push([` · ${percent(box.weight, zoomed)} of zoom`, ""]);
  const pieces = [total];
  const self = box.selfValues;
  if (self) {
    pieces.push([["Self ", ""], [format(self[0], unit), "b", exactly(self[0], unit)],
      [` · ${percent(self[0], whole[0])}`, ""]]);
  }
  return pieces;
}

function diffPieces(box, context) {
  const { unit, whole, factor } = context;
  const [before, after] = box.values;
  const changeOf = changeBy(factor);
  const by = changeOf(before, after);
  const kind = by > 0 ? "more" : by < 0 ? "less" : "";
  const mark = by > 0 ? "▲ " : by < 0 ? "▼ " : "";
  const relative = relativeText([before, after], { change: changeOf });
  const side = (name, value, of) => [
    [`${name} `, ""], [format(value, unit), "b", exactly(value, unit)],
    [` · ${percent(value, of)}`, ""],
  ];
  return [
    side("Before", before, whole[0]), side("After", after, whole[1]),
    [["Change ", ""], [`${mark}${signed(by, unit)}`, kind], [relative ? ` · ${relative}` : "", ""]],
  ];
}

function spanPieces(span, { zoomed, length }) {
  return [
    [["Lasted ", ""], [duration(span.weight), "b", exactly(span.weight, "ns")],
      [` · ${percent(span.weight, length)} of the recording`, ""],
      [zoomed > 0 ? ` · ${percent(span.weight, zoomed)} of zoom` : "", ""]],
    [["From ", ""], [moment(span.from, 1e5), "b"], [` to ${moment(span.to, 1e5)}`, ""]],
  ];
}

/** The bar. */
export class Details {
  /**
   * @param {HTMLElement} host
   * @param {object} page
   * @param {object} actions name to `[help, function of (box)]`
   */
  constructor(host, page, actions) {
    this.page = page;
    this.what = host.querySelector(".what");
    this.numbers = host.querySelector(".numbers");
    this.actions = host.querySelector(".actions");
    for (const [name, [help, run]] of Object.entries(actions)) {
      const button = element("button", { type: "button", title: help }, name);
      button.addEventListener("click", () => this.box && run(this.box));
      this.actions.append(button);
    }
  }

  /** Shows a box; `isChosen` offers actions for it. Gives the text. */
  show(box, context, isChosen) {
    this.box = isChosen ? box : null;
    this.actions.style.visibility = isChosen && box.fn !== 0 ? "visible" : "hidden";
    const pieces = box.from !== undefined && box.node !== undefined ? spanPieces(box, context)
      : context.isDiff ? diffPieces(box, context) : plainPieces(box, context);
    const name = box.fn === 0 ? context.title : printable(this.page.names[box.fn]);
    const swatch = element("span", { class: "swatch" });
    swatch.style.background = context.fill(box);
    this.what.replaceChildren(swatch, name, " ",
      element("span", { class: "place" }, box.fn === 0 ? "" : placeOf(this.page, box.fn)));
    this.what.title = name;
    fill(this.numbers, pieces);
    return `${name}. ${textOf(pieces)}`;
  }

  /** Shows a text instead of a box. */
  note(what, numbers) {
    this.box = null;
    this.actions.style.visibility = "hidden";
    this.what.textContent = what;
    this.what.title = "";
    this.numbers.textContent = numbers;
  }
}

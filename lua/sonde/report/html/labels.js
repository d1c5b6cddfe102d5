/*
 * Names of functions, cut to the room that a box has: what tells functions
 * apart stands at the end of a long name, so the front goes first.
 */

const ELLIPSIS = "…";
const PAD = 5;
/** A box with less room than this shows no text. */
const LEAST = 22;

/** A name's pieces, each with the separators behind it: "a.", "b::", "c". */
export function piecesOf(name) {
  return name.match(/[^.:/!]+[.:/!]*|[.:/!]+/g) || [name];
}

/** Names that are longer are cut and not taken apart. */
const LONGEST_SPLIT = 10000;

/** Shorter forms of a name, the longest first. */
function shorterForms(name) {
  // An argument list; but "(*T)" behind a dot is the receiver of a Go method.
  const bare = name.replace(/(^|[^.])\(.*$/s, "$1") || name;
  // Type arguments; but "<Main>" behind a dot is a name that a compiler made.
  const flat = bare.replace(/(\w)(<.+>|\[.+\])/s, (_, before, inner) =>
    `${before}${inner[0]}…${inner[inner.length - 1]}`);
  const pieces = flat.length > LONGEST_SPLIT ? [flat] : piecesOf(flat);
  const tails = [2, 1].filter((n) => n < pieces.length).map((n) => pieces.slice(-n).join(""));
  return [...new Set([name, bare, flat, ...tails])];
}

/** Cuts names for one font. */
export class Labels {
  /**
   * @param {CanvasRenderingContext2D} context with its font set
   * @param {string[]} names
   */
  constructor(context, names) {
    this.context = context;
    this.names = names;
    this.forms = new Map();
  }

  formsOf(fn) {
    let forms = this.forms.get(fn);
    if (!forms) {
      forms = shorterForms(printable(this.names[fn]))
        .map((text) => ({ text, width: this.width(text) }));
      this.forms.set(fn, forms);
    }
    return forms;
  }

  width(text) {
    return this.context.measureText(text).width;
  }

  /** The name as far as it fits into a box; "" when nothing does. */
  fit(fn, room) {
    const space = room - 2 * PAD;
    if (space < LEAST - PAD) return "";
    const forms = this.formsOf(fn);
    const whole = forms.find(({ width }) => width <= space);
    return whole ? whole.text : this.cut(forms[forms.length - 1], space);
  }

  /** Any other text, cut at its end. */
  fitText(text, room) {
    const space = room - 2 * PAD;
    if (space < LEAST - PAD) return "";
    const width = this.width(text);
    return width <= space ? text : this.cut({ text, width }, space);
  }

  cut({ text, width }, space) {
    let keep = Math.floor((text.length * (space - this.width(ELLIPSIS))) / width);
    while (keep > 0 && this.width(text.slice(0, keep)) + this.width(ELLIPSIS) > space) keep--;
    return keep > 1 ? text.slice(0, keep) + ELLIPSIS : "";
  }
}

/** The distance of a text from its box's edge. */
export const LABEL_PAD = PAD;

/* eslint-disable-next-line no-control-regex -- these are what must not be drawn */
const OBEYED = /[\u0000-\u001f\u007f-\u009f\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff]/g;

/** A name that shows on one line and does nothing else. */
export function printable(name) {
  if (name === "") return "<unknown>";
  return name.replace(OBEYED, (c) => `\\u${c.codePointAt(0).toString(16).padStart(4, "0")}`);
}

/*
 * What is shown, as one flat object that the address keeps: a link to the
 * page with its "#…" opens the same view again.
 */

/** Every part of the state with its value when nothing was chosen. */
export const DEFAULTS = {
  view: "flame",    // flame time inverted sandwich table
  profile: "",      // name of a profile; "" the first
  type: "",         // sample type; "" the profile's own
  labels: "",       // key=value pairs that samples must have, as a query string
  thread: "",       // place of a thread in the timeline, for time order
  q: "",            // search
  focus: "",
  ignore: "",
  hide: "",
  own: "",          // "1": foreign code as one frame
  mine: "",         // pattern of own code
  fold: "",         // "1": recursion as one frame
  zoom: "",         // from..to, parts of 1
  range: "",        // from..to, ns
  fn: "",           // chosen function, for the sandwich
  counts: "",       // "self": the diff table compares self values
  scale: "",        // of a difference: none total time
  theme: "",        // light dark; "" as the system
};

/** Reads an address's "#…"; unknown parts are left out. */
export function parseState(hash) {
  const state = { ...DEFAULTS };
  for (const [key, value] of new URLSearchParams(hash.replace(/^#/, ""))) {
    if (key in DEFAULTS) state[key] = value;
  }
  return state;
}

/** The "#…" of a state: only what differs from the defaults. */
export function formatState(state) {
  const query = new URLSearchParams();
  for (const key of Object.keys(DEFAULTS)) {
    if (state[key] !== DEFAULTS[key]) query.set(key, state[key]);
  }
  const text = query.toString();
  return text === "" ? "" : `#${text}`;
}

/** A part such as "0.25..0.5" as two numbers; null when it is none. */
export function parseRange(text) {
  const [from, to] = text.split("..").map(Number);
  return from < to ? { from, to } : null;
}

/** Two numbers as such a part. */
export function formatRange(from, to) {
  const short = (x) => String(Number(x.toPrecision(12)));
  return `${short(from)}..${short(to)}`;
}

/*
 * Colours of boxes. A module has a hue of its own, a function a shade of it;
 * foreign code is pale. A difference goes from blue (less) over grey to
 * orange (more), which eyes of every kind tell apart. Lightness and chroma
 * are those of OKLCH, so that all hues carry text equally well.
 */

const TAU = Math.PI * 2;

/** OKLCH to "rgb(…)". Numbers of Björn Ottosson's Oklab. */
export function oklch(lightness, chroma, hue) {
  const a = chroma * Math.cos((hue / 360) * TAU);
  const b = chroma * Math.sin((hue / 360) * TAU);
  const l = (lightness + 0.3963377774 * a + 0.2158037573 * b) ** 3;
  const m = (lightness - 0.1055613458 * a - 0.0638541728 * b) ** 3;
  const s = (lightness - 0.0894841775 * a - 1.291485548 * b) ** 3;
  const linear = [
    4.0767416621 * l - 3.3077115913 * m + 0.2309699292 * s,
    -1.2684380046 * l + 2.6097574011 * m - 0.3413193965 * s,
    -0.0041960863 * l - 0.7034186147 * m + 1.707614701 * s,
  ];
  return `rgb(${linear.map(channel).join(",")})`;
}

function channel(linear) {
  const x = Math.min(1, Math.max(0, linear));
  const encoded = x <= 0.0031308 ? 12.92 * x : 1.055 * x ** (1 / 2.4) - 0.055;
  return Math.round(encoded * 255);
}

/** A hash of a text: FNV-1a. */
function hash(text) {
  let h = 0x811c9dc5;
  for (let i = 0; i < text.length; i++) h = Math.imul(h ^ text.charCodeAt(i), 0x01000193);
  h ^= h >>> 15;
  h = Math.imul(h, 0x2c1b3c6d);
  return (h ^ (h >>> 12)) >>> 0;
}

/** Hues that stay apart from each other, from the commonest module on. */
const HUES = [248, 155, 60, 305, 195, 95, 345, 125, 275, 30, 220, 175];

/** The themes' numbers for boxes. */
const SHADES = {
  light: { lightness: 0.875, spread: 0.035, chroma: 0.075, pale: 0.03, plain: "#e3e5e8",
    text: "#16181d", quiet: 0.94 },
  dark: { lightness: 0.43, spread: 0.035, chroma: 0.075, pale: 0.03, plain: "#33373e",
    text: "#f1f3f5", quiet: 0.27 },
};

/** Colours for one page and one theme. */
export class Palette {
  /**
   * @param {"light"|"dark"} theme
   * @param {object} page
   * @param {?Uint8Array} foreign a byte for each function
   */
  constructor(theme, page, foreign) {
    this.shade = SHADES[theme];
    this.page = page;
    this.foreign = foreign;
    this.homes = homesOf(page);
    this.hues = huesOf(this.homes);
    this.cache = [];
    this.text = this.shade.text;
    this.plain = this.shade.plain;
  }

  /** The colour of a function's box. */
  box(fn) {
    if (this.cache[fn] === undefined) this.cache[fn] = this.mix(fn);
    return this.cache[fn];
  }

  mix(fn) {
    const { page, shade } = this;
    const vary = (hash(page.names[fn]) % 1000) / 1000 - 0.5;
    const hue = this.hues.get(this.homes[fn]);
    const isPale = hue === undefined || (this.foreign && this.foreign[fn]);
    const lightness = shade.lightness + shade.spread * vary;
    return oklch(lightness, isPale ? shade.pale : shade.chroma, (hue || 250) + vary * 14);
  }

  /**
   * The colour of a change.
   * @param {number} share -1 (all gone) to 1 (all new)
   */
  change(share) {
    const { shade } = this;
    const strength = Math.min(1, Math.abs(share));
    if (strength < 0.005) return shade.plain;
    const isDark = this.shade === SHADES.dark;
    const far = isDark ? 0.56 : 0.74;
    const near = isDark ? 0.38 : 0.91;
    const lightness = near + (far - near) * Math.sqrt(strength);
    const chroma = 0.025 + 0.12 * Math.sqrt(strength);
    return oklch(lightness, chroma, share > 0 ? 55 : 250);
  }
}

/** A module with more than this share of all functions says too little. */
const DOMINANT = 0.8;

/** Package, namespace or outermost scope of a function's name. */
export function packageOf(name) {
  const bare = name.replace(/[(<[{].*$/s, "");
  const module = bare.indexOf("!");
  if (module > 0) return bare.slice(0, module);
  const slash = bare.lastIndexOf("/");
  if (slash >= 0) return bare.slice(0, slash + 1) + bare.slice(slash + 1).split(".")[0];
  if (bare.includes("::")) return bare.split("::")[0];
  const parts = bare.split(".");
  return parts.length > 2 ? parts.slice(0, -2).join(".") : parts.length > 1 ? parts[0] : "";
}

/** What each function is coloured by: its module, or else its package. */
function homesOf(page) {
  const count = new Map();
  for (const module of page.module) count.set(module, (count.get(module) || 0) + 1);
  const limit = page.module.length * DOMINANT;
  return page.names.map((name, fn) => {
    const module = page.module[fn];
    const text = page.texts[module];
    return text !== "" && count.get(module) <= limit ? text : packageOf(name);
  });
}

/** A hue for each home: those with most functions get the clearest ones. */
function huesOf(homes) {
  const count = new Map();
  for (const home of homes) count.set(home, (count.get(home) || 0) + 1);
  count.delete("");
  const order = [...count.keys()].sort((a, b) => count.get(b) - count.get(a) || (a < b ? -1 : 1));
  return new Map(order.map((home, i) => [home, i < HUES.length ? HUES[i] : hash(home) % 360]));
}

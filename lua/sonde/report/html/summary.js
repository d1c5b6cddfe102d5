/*
 * What the page says in words: of the whole picture, and of what the colours
 * of a difference mean.
 */
import { element } from "./table.js";
import { format } from "./units.js";

const INVITATION = "Point at a box or choose one; ? shows the keys.";

/** How the later side of a difference is made comparable. */
const SCALED = {
  none: "Not scaled: values are as measured.",
  total: "Scaled by total: the later side is multiplied until both sides weigh the same.",
  time: "Scaled by time: the later side is multiplied by the ratio of the recordings' lengths.",
};

function describeDiff(model, calls, unit) {
  const { before, after } = model.meta.diff;
  const [a, b] = calls.total.map((value) => format(value, unit));
  return [`Before: ${before.label}, ${a}. After: ${after.label}, ${b}.`, INVITATION];
}

/** Two lines for the bar when nothing is pointed at. */
export function summarize(model, state) {
  const calls = model.calls(state);
  const { unit, type } = model.measure(state);
  if (model.isDiff) return describeDiff(model, calls, unit);
  const view = model.viewMeta(state);
  const label = view.label || view.name;
  const value = format(calls.total[0], unit);
  const isDefault = model.typeIndex(state) === view.type && state.range === "";
  const { quantum } = model.page.timeline || {};
  const steps = state.view === "time" && quantum > 0
    ? `. Shown in steps of ${format(quantum, "ns")}; shorter calls are joined.` : "";
  return [isDefault ? `${label}: ${value}` : `${label}: ${value} (${type})`,
    (view.note || INVITATION).replace(/\.$/, steps ? "" : ".") + steps];
}

/** Shows what the colours of a difference mean, and how the sides are scaled. */
export function showLegend(host, model, state, palette) {
  host.hidden = !model.isDiff;
  if (!model.isDiff) return;
  const stops = [-1, -0.5, -0.1, 0, 0.1, 0.5, 1].map((share) => palette.change(share));
  const ramp = element("span", { class: "ramp" });
  ramp.style.background = `linear-gradient(90deg, ${stops.join(",")})`;
  const scale = element("span", { class: "scale" });
  scale.append("▼ less", ramp, "more ▲");
  const width = state.view === "table" ? "" : "A box is as wide as both sides together.";
  host.replaceChildren(scale, element("span", {}, SCALED[state.scale || model.meta.diff.scale]),
    element("span", {}, width));
}

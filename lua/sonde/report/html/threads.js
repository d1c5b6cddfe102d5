/*
 * The thread that is shown: one of the timeline in time order, and elsewhere
 * a value of the label "thread", or all.
 */

/** What can be chosen, the heaviest first: each `index name weight`. */
export function threadOptions(model, state) {
  if (model.isDiff) return [];
  if (state.view === "time") {
    return model.threads.map(({ index, name, weight }) =>
      ({ index, name: name || `thread ${index + 1}`, weight }));
  }
  const values = model.labelValues(state, "thread");
  if (values.length === 0) return [];
  return [{ index: -1, name: "All threads" },
    ...values.map(({ text, weight }, index) => ({ index, name: text, weight }))];
}

/** The index of what is chosen. */
export function currentThread(model, state, options) {
  if (state.view === "time") return model.threadIndex(state);
  const name = new URLSearchParams(state.labels).get("thread");
  const option = options.find((entry) => entry.index >= 0 && entry.name === name);
  return option ? option.index : -1;
}

/** The change of the state that chooses another. */
export function threadChange(state, options, index) {
  if (state.view === "time") return { thread: String(index) };
  const labels = new URLSearchParams(state.labels);
  if (index < 0) labels.delete("thread");
  else labels.set("thread", options.find((entry) => entry.index === index).name);
  return { labels: labels.toString() };
}

/*
 * The keyboard, as speedscope has it. Keys belong to the page unless somebody
 * types into a field or a dialog is open.
 */

const isField = (target) => target.closest("input, select, textarea, dialog") !== null;

/**
 * @param {object} actions name to function; a name is a key, with "Ctrl+" or
 *   "Shift+" in front
 */
export function listenToKeys(actions) {
  document.addEventListener("keydown", (event) => {
    const isCommand = event.ctrlKey || event.metaKey;
    if (event.altKey) return;
    const key = event.key.length === 1 ? event.key.toLowerCase() : event.key;
    const name = isCommand ? `Ctrl+${key}` : key;
    const action = actions[name];
    const isAlways = name === "Ctrl+f" || name === "Escape";
    if (!action || (isField(event.target) && !isAlways)) return;
    if (document.querySelector("dialog[open]")) return;
    if (event.key === "Enter" && event.target.closest("button, a, summary")) return;
    if (action(event) !== false) event.preventDefault();
  });
}

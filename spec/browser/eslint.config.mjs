// Rules for the page's scripts and for these specs. Run from the top of the
// checkout; the modules lie in the build folder.
import { createRequire } from "node:module";
import { resolve } from "node:path";

const modules = resolve(process.env.SONDE_NPM || "build/npm", "package.json");
const js = createRequire(modules)("@eslint/js");

const BROWSER = [
  "atob", "Blob", "clearTimeout", "console", "DecompressionStream", "document",
  "getComputedStyle", "history", "location", "matchMedia", "navigator", "performance",
  "requestAnimationFrame", "ResizeObserver", "setTimeout", "TextDecoder", "URLSearchParams",
  "window",
];
const NODE = ["Buffer", "console", "process", "setTimeout"];
const IN_PAGE = ["Event", "KeyboardEvent"];

const readonly = (names) => Object.fromEntries(names.map((name) => [name, "readonly"]));

const rules = {
  ...js.configs.recommended.rules,
  eqeqeq: "error",
  "no-var": "error",
  "prefer-const": "error",
  "no-shadow": "error",
  "no-unused-vars": ["error", { argsIgnorePattern: "^_" }],
  "no-implied-eval": "error",
  "no-eval": "error",
  "max-len": ["error", { code: 100, ignoreUrls: true }],
  "max-lines": ["error", 500],
  "max-lines-per-function": ["error", 45],
};

export default [
  { files: ["lua/sonde/report/html/*.js"],
    languageOptions: { ecmaVersion: 2022, sourceType: "module", globals: readonly(BROWSER) },
    rules },
  { files: ["spec/browser/**/*.mjs"],
    languageOptions: { ecmaVersion: 2022, sourceType: "module",
      globals: readonly([...NODE, ...BROWSER, ...IN_PAGE]) },
    rules: { ...rules, "max-lines-per-function": ["error", 80] } },
];

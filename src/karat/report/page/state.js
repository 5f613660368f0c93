// What is chosen, and the same in the fragment of the URL, so that a link leads to it.

const state = { query: null, measure: 0, a: 0, b: null, sort: null, descending: false, filter: "all", slice: null, search: "" };
const listeners = [];

function initialState() {
  const a = content.baseline ?? 0;
  return { query: null, measure: 0, a, b: bestExcept(a), sort: null, descending: false, filter: "all", slice: null, search: "" };
}

function bestExcept(other) {
  const { higher } = content.measures[0];
  const mean = (system) => Number(content.table.rows[system][0].mean ?? NaN);
  const others = content.systems.map((_, system) => system).filter((system) => system !== other);
  others.sort((left, right) => (higher ? mean(right) - mean(left) : mean(left) - mean(right)) || left - right);
  return others[0] ?? null;
}

// Changes what is chosen. `replace`: without an entry in the browser's history, as while typing.
function choose(changes, { replace = false } = {}) {
  const before = { ...state };
  Object.assign(state, changes);
  // Choosing A for B, or B for A, swaps them.
  if (state.a === state.b && changes.b === undefined) state.b = before.a;
  if (state.a === state.b) state.a = before.b;
  const url = `#${fragment()}`;
  if (url !== location.hash) history[replace ? "replaceState" : "pushState"](null, "", url);
  listeners.forEach((listener) => listener(before));
}

function fragment(changes = {}) {
  const chosen = { ...state, ...changes };
  const initial = initialState();
  const texts = new URLSearchParams();
  const put = (name, value, isDefault) => isDefault || texts.set(name, value);
  if (chosen.query !== null) texts.set("query", content.queries.id[chosen.query]);
  put("measure", content.measures[chosen.measure].name, chosen.measure === initial.measure);
  put("a", content.systems[chosen.a], chosen.a === initial.a && chosen.b === initial.b);
  put("b", content.systems[chosen.b], chosen.b === null || (chosen.a === initial.a && chosen.b === initial.b));
  put("sort", `${chosen.descending ? "-" : ""}${chosen.sort}`, chosen.sort === null);
  put("filter", chosen.filter, chosen.filter === "all");
  if (chosen.slice) {
    texts.set("slice", chosen.slice[0]);
    texts.set("group", chosen.slice[1]);
  }
  put("search", chosen.search, chosen.search === "");
  return texts.toString();
}

// What the fragment names; names that the report does not have are ignored.
function stateOfFragment() {
  const texts = new URLSearchParams(location.hash.slice(1));
  const chosen = initialState();
  const place = (names, name) => (texts.has(name) ? names.findIndex((known) => known.toWellFormed() === texts.get(name)) : -1);
  const put = (name, found) => found >= 0 && (chosen[name] = found);
  put("query", place(content.queries.id, "query"));
  put("measure", place(content.measures.map((measure) => measure.name), "measure"));
  put("a", place(content.systems, "a"));
  put("b", place(content.systems, "b"));
  if (chosen.a === chosen.b) chosen.b = bestExcept(chosen.a);
  const sort = texts.get("sort") ?? "";
  if (Object.hasOwn(SORTS, sort.replace(/^-/, ""))) [chosen.sort, chosen.descending] = [sort.replace(/^-/, ""), sort.startsWith("-")];
  if (Object.hasOwn(FILTERS, texts.get("filter"))) chosen.filter = texts.get("filter");
  const slices = content.queries.slices ?? {};
  const groups = Object.hasOwn(slices, texts.get("slice")) ? content.queries.groups[texts.get("slice")] : [];
  if (groups.includes(texts.get("group"))) chosen.slice = [texts.get("slice"), texts.get("group")];
  chosen.search = texts.get("search") ?? "";
  return chosen;
}

// After back, forward, or a link to another place of this page.
function followFragment() {
  if (location.hash.length > 1 && !location.hash.includes("=")) return;
  const before = { ...state };
  Object.assign(state, stateOfFragment());
  listeners.forEach((listener) => listener(before));
}

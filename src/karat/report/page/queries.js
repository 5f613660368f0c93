// The table of queries: search, filters, order, and 100 rows at a time.

const ROWS = 100;
let selected = []; // the queries of the table, in its order
let rowsShown = ROWS;

function makeQueries() {
  byId("queries-tools").append(...searchAndFilters());
  listeners.push((before) => {
    const watched = ["measure", "a", "b", "sort", "descending", "filter", "search"];
    const isChanged = watched.some((name) => before[name] !== state[name]) || !isSameSlice(before.slice, state.slice);
    if (isChanged) showQueries();
  });
  showQueries();
}

function searchAndFilters() {
  const search = element("input", { type: "search", id: "search", placeholder: content.queries.are_texts ? "words of the question" : "id or words of the question", autocomplete: "off", spellcheck: "false" });
  search.addEventListener("input", () => choose({ search: search.value }, { replace: true }));
  const filter = element("select", { id: "filter" });
  filter.addEventListener("change", () => choose({ filter: filter.value }));
  const tools = [
    element("label.search", {}, "Search ", search, element("kbd", { "aria-hidden": "true" }, "/")),
    element("label", {}, "Show ", filter),
  ];
  const slices = Object.entries(content.queries.slices ?? {});
  if (slices.length) {
    const slice = element("select", { id: "slice" }, element("option", { value: "" }, "all"));
    const choices = [null];
    for (const [label] of slices) {
      const options = content.queries.groups[label].map((group) => {
        choices.push([label, group]);
        return element("option", { value: choices.length - 1 }, printable(group));
      });
      slice.append(element("optgroup", { label: printable(label) }, ...options));
    }
    slice.addEventListener("change", () => choose({ slice: choices[Number(slice.value)] }));
    const show = () => (slice.value = choices.findIndex((choice) => isSameSlice(choice, state.slice)) || "");
    listeners.push(show);
    show();
    tools.push(element("label", {}, "Slice ", slice));
  }
  tools.push(element("button", { type: "button", id: "export", onclick: exportSelected }, "Export as CSV"));
  return tools;
}

const isSameSlice = (one, other) => JSON.stringify(one) === JSON.stringify(other);

function showQueries() {
  selected = selectedQueries();
  rowsShown = ROWS;
  showFilters();
  const total = content.queries.id.length;
  const systems = state.b === null ? "" : `; change from ${systemName(state.a)} to ${systemName(state.b)}`;
  const count = selected.length === total ? plural(total, "query") : `${selected.length.toLocaleString("en")} of ${plural(total, "query")}`;
  byId("queries-count").textContent = `${count}${systems}, by ${printable(content.measures[state.measure].name)}`;
  drawQueries();
}

function showFilters() {
  const filter = byId("filter");
  const there = Object.entries(FILTERS).filter(([, entry]) => isThere(entry));
  filter.replaceChildren(...there.map(([name, entry]) => element("option", { value: name }, entry.label())));
  filter.value = isThere(FILTERS[state.filter]) ? state.filter : "all";
  if (byId("search").value !== state.search) byId("search").value = state.search;
}

function drawQueries() {
  const place = byId("queries-table");
  const kept = place.contains(document.activeElement) ? document.activeElement.dataset.focus : null;
  if (!selected.length) {
    place.replaceChildren(element("p.nothing", {}, "No query matches. ", element("button", { type: "button", onclick: showAll }, "Show all queries")));
    return;
  }
  const columns = Object.entries(SORTS).filter(([, column]) => isThere(column));
  const largest = content.queries.id.reduce((most, _, query) => Math.max(most, Math.abs(changeOf(query, state) ?? 0)), 0);
  const rows = selected.slice(0, rowsShown).map((query) => queryRow(query, columns, largest));
  const table = element(
    "table.queries", {},
    element("caption.hidden", {}, "Queries with their values. Open a query to see its documents and answers."),
    element("thead", {}, element("tr", {}, columns.map(([name, column]) => columnHeading(name, column)))),
    element("tbody", {}, rows),
  );
  const rest = selected.length - rows.length;
  const more = rest > 0 && element("button.more", { type: "button", onclick: showMore }, `Show ${Math.min(ROWS, rest)} more of ${plural(rest, "query")}`);
  const scroll = element("div.scroll", { tabindex: "0", role: "region", "aria-label": "Table of queries" }, table);
  place.replaceChildren(...[scroll, partialNote(), more].filter(Boolean));
  if (kept) place.querySelector(`[data-focus="${kept}"]`)?.focus();
}

function showMore() {
  const first = rowsShown;
  rowsShown += ROWS;
  drawQueries();
  byId("queries-table").querySelectorAll("tbody a")[first]?.focus();
}

function showAll() {
  choose({ filter: "all", search: "", slice: null });
  byId("search").focus();
}

function columnHeading(name, column) {
  const current = currentSort();
  const isCurrent = current.key === name;
  const sort = () => choose({ sort: name, descending: isCurrent ? !current.descending : false });
  const side = column.side && state.b !== null && element(`span.side.${column.side}`, {}, column.side.toUpperCase());
  const button = element("button.sort", { type: "button", "data-focus": `sort-${name}`, onclick: sort }, side, side ? " " : "", column.label());
  return element("th", { scope: "col", "aria-sort": isCurrent && (current.descending ? "descending" : "ascending"), class: name }, button);
}

function queryRow(query, columns, largest) {
  const cells = columns.map(([name, column]) => {
    if (name === "query") return queryCell(query);
    if (name === "a" || name === "b") return element(`td.number.${name}`, { "data-label": state.b !== null && name.toUpperCase() }, valueText(valueOf(state[name], state.measure, query), isCount(state.measure)), boundsNote(state[name], state.measure, query));
    if (name === "change") return changeCell(query, largest);
    if (name === "support") return element("td.support", {}, supportTexts(query).map((text) => element("div", {}, text)));
    const text = name === "first" ? firstText(query) : String(column.value(query) ?? "–");
    return element(`td.number.${name}`, { "data-label": column.label().toLowerCase() }, text);
  });
  const row = element("tr", {}, cells);
  row.addEventListener("click", (event) => event.target.closest("a") || choose({ query }));
  return row;
}

function queryCell(query) {
  const [name, question] = queryTitle(query);
  const link = element("a", { href: `#${fragment({ query })}`, "data-query": query }, name || question);
  link.addEventListener("click", (event) => {
    if (event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    choose({ query });
  });
  return element("th.query", { scope: "row" }, link, name && question);
}

// What the labels of an answer say, and so why it has its value: "1 of 3 claims supported, 2 in part".
function supportTexts(query) {
  const support = Object.entries(supportOf(shownSystem(), query) ?? {});
  return support.length ? support.map(([key, counts]) => supportText(...key.split(" "), counts)) : ["no labels"];
}

function supportText(of, by, counts) {
  if (counts === null) return `${of} not known`;
  const total = counts.reduce((sum, count) => sum + count, 0);
  if (!total) return `no ${of}`;
  const [supported, ...others] = counts;
  const words = ["in part", "not", "where samples differ", "unknown"];
  const isClear = others.every((count, at) => !count || words[at] === "not"); // all others are not supported
  const rest = isClear ? [] : others.flatMap((count, at) => (count ? [`${count.toLocaleString("en")} ${words[at]}`] : []));
  const what = `${plural(total, of.slice(0, -1))} supported${by === "cited" ? " by citations" : ""}`;
  return [`${supported.toLocaleString("en")} of ${what}`, ...rest].join(", ");
}

// What is supported in part counts as much as the chosen measure says.
function partialNote() {
  const { partial } = content.measures[state.measure];
  const isPartial = (query) => Object.values(supportOf(shownSystem(), query) ?? {}).some((counts) => counts?.[1]);
  if (!isNumber(partial) || !selected.some(isPartial)) return null;
  return element("p.legend", {}, partialText());
}

function partialText() {
  const { name, partial } = content.measures[state.measure];
  return `What is supported in part counts ${partial} in ${printable(name)}.`;
}

function changeCell(query, largest) {
  const change = changeOf(query, state);
  const gain = gainOf(query, state);
  const kind = gain === null || gain === 0 ? "same" : gain > 0 ? "better" : "worse";
  const word = { better: "better", worse: "worse", same: "" }[kind];
  const sign = { better: "▲", worse: "▼", same: "" }[kind];
  const text = element("span.text", {}, element("span", { "aria-hidden": "true" }, sign), ` ${changeText(change, isCount(state.measure))}`, word && hidden(` ${word}`));
  return element(`td.change.${kind}`, {}, changeBar(change, largest), text);
}

// A bar from the middle to the left for a loss, to the right for a gain.
function changeBar(change, largest) {
  const share = change && largest ? Math.min(1, Math.abs(change) / largest) * 50 : 0;
  const bar = svg("rect", { x: `${change < 0 ? 50 - share : 50}%`, y: 3, width: `${share}%`, height: 10, rx: 1 });
  const zero = svg("line", { x1: "50%", x2: "50%", y1: 0, y2: 16 });
  return svg("svg", { class: "bar", "aria-hidden": "true", height: 16 }, bar, zero);
}

function firstText(query) {
  const ranks = chosenSystems().map((system) => (hasRanks(system) ? content.queries.first[system][query] ?? "none" : "–"));
  return ranks.join(" → ");
}

// The opened query: a dialog over the page.

let openedFrom = null; // the element that had the focus before

function makeQueryDialog() {
  const dialog = byId("query");
  dialog.addEventListener("cancel", (event) => {
    event.preventDefault();
    closeQuery();
  });
  dialog.addEventListener("click", (event) => event.target === dialog && closeQuery());
  listeners.push((before) => {
    const isChanged = ["query", "measure", "a", "b"].some((name) => before[name] !== state[name]);
    if (isChanged) showQuery();
  });
  showQuery();
}

function closeQuery() {
  choose({ query: null });
}

function showQuery() {
  const dialog = byId("query");
  byId("tooltip").hidden = true;
  if (state.query === null) {
    if (!dialog.open) return;
    dialog.close();
    dialog.replaceChildren();
    focusAfterClosing();
    return;
  }
  const kept = dialog.contains(document.activeElement) ? document.activeElement.dataset.focus : null;
  dialog.replaceChildren(...queryView(state.query));
  if (!dialog.open) {
    openedFrom = document.activeElement;
    dialog.showModal();
  }
  const focused = (kept && dialog.querySelector(`[data-focus="${kept}"]:not(:disabled)`)) || byId("query-heading");
  focused.focus();
  dialog.scrollTop = 0;
}

// The row of the query that was open last, or what had the focus before.
function focusAfterClosing() {
  const row = lastQuery === null ? null : document.querySelector(`a[data-query="${lastQuery}"]`);
  (row ?? (openedFrom?.isConnected ? openedFrom : byId("search")))?.focus();
}

let lastQuery = null;

function queryView(query) {
  lastQuery = query;
  const at = selected.indexOf(query);
  const step = (by) => choose({ query: selected[at + by] });
  const position = at < 0 ? "not among the selected queries" : `${(at + 1).toLocaleString("en")} of ${selected.length.toLocaleString("en")}`;
  const button = (name, label, isOff, action, text) => element("button", { type: "button", "data-focus": name, "aria-label": label, title: label, disabled: isOff, onclick: action }, text);
  const bar = element(
    "div.toolbar", {},
    button("previous", "Previous query (k)", at <= 0, () => step(-1), "←"),
    button("next", "Next query (j)", at < 0 || at + 1 >= selected.length, () => step(1), "→"),
    element("span.quiet", { role: "status" }, position),
    button("close", "Close (Escape)", false, closeQuery, "✕"),
  );
  const heading = element("h2", { id: "query-heading", tabindex: "-1" }, ...queryTitle(query));
  const sections = [valuesSection(query), verdictsSection(query), answersSection(query), listsSection(query), chunksSection(query), contributionsSection(query)];
  return [bar, heading, slicesOf(query), ...sections].filter(Boolean);
}

function slicesOf(query) {
  const slices = Object.entries(content.queries.slices ?? {});
  return slices.length ? element("p.facts", {}, slices.map(([label, groups]) => element("span", {}, `${printable(label)}: ${printable(groups[query])}`))) : null;
}

// The values of all systems for this query.
function valuesSection(query) {
  const headings = content.measures.map((measure, at) => {
    const isChosen = at === state.measure;
    const button = element("button.choose", { type: "button", "data-focus": `measure-${at}`, "aria-pressed": String(isChosen), onclick: () => choose({ measure: at }) }, printable(measure.name));
    return element("th", { scope: "col", class: isChosen && "chosen" }, button);
  });
  if (content.table.by_measure) return valuesByMeasure(query, headings);
  const rest = content.systems.length - MOST_LISTS;
  const rows = systemsInOrder().slice(0, MOST_LISTS).map((system) =>
    element("tr", {}, element("th", { scope: "row" }, sideBadge(system), " ", element("bdi", {}, systemName(system))), content.measures.map((_, at) => valueCell(system, at, query))),
  );
  const head = element("tr", {}, element("th", { scope: "col" }, "System"), headings);
  return element("section", {}, valuesTable(head, rows), rest > 0 && element("p.quiet", {}, `${plural(rest, "other system")} not shown: choose them as A or B.`));
}

// A row per measure, as in the table of results: the values of one system with many measures.
function valuesByMeasure(query, headings) {
  headings.forEach((heading) => heading.setAttribute("scope", "row"));
  const head = element("tr", {}, element("th", { scope: "col" }, "Measure"), element("th", { scope: "col" }, element("bdi", {}, systemName(0))));
  return element("section", {}, valuesTable(head, headings.map((heading, at) => element("tr", {}, heading, valueCell(0, at, query)))));
}

function valuesTable(head, rows) {
  const table = element("table.values", {}, element("caption.hidden", {}, "Values of this query"), element("thead", {}, head), element("tbody", {}, rows));
  return element("div.scroll", { tabindex: "0", role: "region", "aria-label": "Values of this query" }, table);
}

function valueCell(system, measure, query) {
  const value = valueOf(system, measure, query);
  const chosen = { measure, a: state.a, b: system };
  const gain = system === state.a ? null : gainOf(query, chosen);
  const kind = !gain ? "same" : gain > 0 ? "better" : "worse";
  const sign = { better: "▲ ", worse: "▼ ", same: "" }[kind];
  const text = gain ? `${sign}${changeText(changeOf(query, chosen), isCount(measure))}` : "=";
  const change = gain === null ? null : element(`span.change.${kind}`, {}, ` ${text}`);
  return element("td", { class: measure === state.measure ? "chosen" : null }, valueText(value, isCount(measure)), boundsNote(system, measure, query), change);
}

// What each document contributed to the difference of A and B.
function contributionsSection(query) {
  const { from, to, moves } = movesOf(query, state) ?? { moves: [] };
  if (!moves.length) return null;
  const golds = goldsOf(query);
  const { name, higher } = content.measures[state.measure];
  const largest = Math.max(...moves.map((move) => Math.abs(move[3] ?? 0)));
  const rank = (found) => (found === null ? "not retrieved" : `rank ${found}`);
  const rows = moves.map(([gold, before, after, contribution]) => {
    const gain = higher ? contribution : -contribution;
    const kind = gain > 0 ? "better" : gain < 0 ? "worse" : "same";
    const isDocument = isNumber(gold);
    return element(
      "tr", {},
      element("th", { scope: "row" }, isDocument ? documentTitle(documentOf(golds[gold].doc)) : gold),
      element("td", {}, isDocument && gradeBadge(golds[gold])),
      element("td.number", {}, isDocument && rank(before)),
      element("td.number", {}, isDocument && rank(after)),
      element(`td.change.${kind}`, {}, changeBar(contribution, largest), element("span.text", {}, changeText(contribution, isCount(state.measure)))),
    );
  });
  const names = ["Document", "Grade", systemName(from), systemName(to), "Contribution"];
  return element(
    "section", {},
    element("h3", {}, `What made the difference in ${printable(name)}`),
    element("div.scroll", { tabindex: "0", role: "region", "aria-label": "Contributions of documents" },
      element("table.contributions", {}, element("caption.hidden", {}, "What each document contributed to the difference"), element("thead", {}, element("tr", {}, names.map((text) => element("th", { scope: "col" }, text)))), element("tbody", {}, rows))),
    element("p.legend", {}, `Contribution: the change in the score when the document moves from ${systemName(from)} to ${systemName(to)}, one document at a time, topmost first.`),
  );
}

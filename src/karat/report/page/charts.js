// Charts: Vega-Lite on canvas, drawn when they are scrolled into view, with the colours of the page.

const charts = new Map(); // kind -> { chart, figure, views, isVisible, isStale }
const HEIGHTS = { differences: 300, scatter: 300 }; // pixels
const ORDER = ["differences", "scatter", "cutoffs", "precision-recall", "first", "intervals", "bounds", "label-bounds", "slices"];

function makeCharts() {
  const place = document.querySelector(".charts");
  if (!place) return;
  const observer = new IntersectionObserver(onVisible, { rootMargin: "100px" });
  const kinds = Object.keys(content.charts).sort((left, right) => ORDER.indexOf(left) - ORDER.indexOf(right));
  for (const kind of kinds) {
    const chart = content.charts[kind];
    const figure = element("figure", { "data-kind": kind }, element("h3"), element("div.panels"), element("figcaption"), chart.rows && chartData(kind));
    charts.set(kind, { chart, figure, views: [], isVisible: false, isStale: true });
    place.append(figure);
    observer.observe(figure);
  }
  listeners.push((before) => {
    if (["measure", "a", "b"].some((name) => before[name] !== state[name])) redrawCharts();
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redrawCharts);
  addEventListener("beforeprint", () => printCharts(true));
  addEventListener("afterprint", () => printCharts(false));
  titleCharts();
}

function onVisible(entries) {
  for (const entry of entries) {
    const kind = entry.target.dataset.kind;
    charts.get(kind).isVisible = entry.isIntersecting;
    if (entry.isIntersecting) drawChart(kind);
  }
}

function redrawCharts() {
  titleCharts();
  for (const [kind, drawn] of charts) {
    drawn.isStale = true;
    if (drawn.isVisible) drawChart(kind);
  }
}

// All charts are printed, and in the colours of paper. The browser waits for them, because nothing here waits for a timer.
function printCharts(isPrinting) {
  document.documentElement.classList.toggle("printing", isPrinting);
  redrawCharts();
  if (isPrinting) charts.forEach((_, kind) => drawChart(kind));
}

// A chart that has nothing on the chosen measure is not shown: what its caption says is about other measures.
function titleCharts() {
  for (const [kind, { chart, figure }] of charts) {
    figure.hidden = chart.rows !== null && !chartRows(kind, chart).length;
    figure.querySelector("h3").textContent = printable(filled(chart.title));
    figure.querySelector("figcaption").textContent = printable(filled(chart.about)) + (chart.rows ? "" : leftOut());
  }
}

// How many queries a chart of A and B does not show.
function leftOut() {
  const count = content.queries.id.filter((_, at) => changeOf(at, state) === null).length;
  return count ? ` It is without ${plural(count, "query")} that A or B has no value for.` : "";
}

// A text, or a specification and the titles in it, with the chosen names. Other texts may be names from users' files.
function filled(value, key = "title") {
  if (typeof value === "string") {
    if (key !== "title") return value;
    const names = { a: content.systems[state.a], b: content.systems[state.b] ?? "", measure: content.measures[state.measure].name };
    return value.replace(/\{(a|b|measure)\}/g, (_, name) => printable(names[name]));
  }
  if (Array.isArray(value)) return value.map((item) => filled(item, key));
  if (value && typeof value === "object") return Object.fromEntries(Object.entries(value).map(([name, item]) => [name, filled(item, name)]));
  return value;
}

async function drawChart(kind) {
  const drawn = charts.get(kind);
  if (!drawn.isStale) return;
  await chartLibrary();
  if (!drawn.isStale) return;
  drawn.isStale = false;
  drawn.views.forEach((view) => view.finalize());
  drawn.views = [];
  const { chart, figure } = drawn;
  const rows = chartRows(kind, chart);
  const panels = figure.querySelector(".panels");
  panels.replaceChildren();
  panels.classList.toggle("several", Boolean(chart.panels));
  figure.classList.toggle("empty", rows.length === 0);
  if (!rows.length) {
    panels.append(element("p.quiet", {}, `No query has a value for both systems on ${printable(content.measures[state.measure].name)}.`));
    return;
  }
  const groups = new Map();
  for (const row of rows) {
    const group = chart.panels ? row[chart.panels] : null;
    if (!groups.has(group)) groups.set(group, []);
    groups.get(group).push(row);
  }
  // All places are there before the first view measures its own.
  const targets = [...groups.keys()].map((group) => {
    const target = element("div.chart");
    panels.append(group === null ? target : element("div.panel", {}, element("h4", {}, printable(group)), target));
    return target;
  });
  const hasUnits = chart.panels === "unit";
  const isShared = chart.panels !== null && !hasUnits; // panels of one measure have the same axes
  const drawings = [...groups.values()].map((members, at) => {
    const spec = withDomains(chart, isShared ? rows : members, isShared);
    return drawView(targets[at], kind, { ...chart, spec: hasUnits ? withMeasures(spec, members) : spec }, members);
  });
  drawn.views = await Promise.all(drawings);
  figure.classList.add("drawn");
}

async function drawView(target, kind, chart, rows) {
  const spec = { ...filled(chart.spec), datasets: { rows }, autosize: { type: "fit-x", contains: "padding" } };
  if (isNumber(spec.height)) spec.height = HEIGHTS[kind] ?? 200;
  else if (spec.height?.step) spec.height = heightOfSteps(spec, rows);
  if (target.clientWidth < 420) narrowLegends(spec);
  if (rows.length < 500) spec.layer = spec.layer?.map((layer) => (layer.mark.size ? { ...layer, mark: { ...layer.mark, size: 2 * layer.mark.size } } : layer));
  const result = await vegaEmbed(target, spec, { ...EMBED, config: chartLook(target.clientWidth, spec.height) });
  result.view.addEventListener("click", (_, item) => openFromChart(item?.datum));
  target.querySelector("canvas").setAttribute("aria-label", printable(`${filled(chart.title)}. ${filled(chart.about)} ${valuesText(chart, rows)}`));
  return result;
}

// Legends in several lines, where one line would be cut off.
function narrowLegends(spec) {
  for (const { encoding } of spec.layer) {
    for (const { legend } of Object.values(encoding)) if (legend?.columns > 3) legend.columns = 3;
  }
}

// Enough for each value on the y axis. A height in steps does not go with a width that follows the page.
function heightOfSteps(spec, rows) {
  const { encoding } = spec.layer?.[0] ?? spec;
  const fields = [encoding.y, encoding.yOffset].map((channel) => channel?.field).filter(Boolean);
  const steps = fields.reduce((count, field) => count * new Set(rows.map((row) => row[field])).size, 1);
  return steps * Math.max(14, Math.min(60, 190 / steps));
}

// The library is the last script of the page, so that everything else works before it is there.
async function chartLibrary() {
  while (!window.vegaEmbed) await new Promise((resolve) => setTimeout(resolve, 20));
}

function chartRows(kind, chart) {
  if (!chart.rows) return pairRows(kind);
  const names = Object.keys(chart.rows);
  const rows = names.length ? chart.rows[names[0]].map((_, at) => Object.fromEntries(names.map((name) => [name, chart.rows[name][at]]))) : [];
  return chart.by === "measure" ? rows.filter((row) => row.measure === content.measures[state.measure].name) : rows;
}

// The values of A and B of each query that has both.
function pairRows(kind) {
  const rows = [];
  for (let at = 0; at < content.queries.id.length; at++) {
    const difference = changeOf(at, state);
    if (difference === null) continue;
    const gain = gainOf(at, state);
    const change = gain > 0 ? "better" : gain < 0 ? "worse" : "same";
    const [a, b] = [valueOf(state.a, state.measure, at), valueOf(state.b, state.measure, at)];
    rows.push({ query: content.queries.id[at], index: at, a, b, difference, change });
  }
  if (kind === "differences") rows.sort((left, right) => right.difference - left.difference || left.index - right.index);
  rows.forEach((row, place) => (row.place = place));
  return rows;
}

function openFromChart(datum) {
  if (!datum || datum.query === undefined) return;
  const query = datum.index ?? content.queries.id.indexOf(datum.query);
  if (query >= 0) choose({ query });
}

// `ast`: expressions are interpreted, because the policy of the page forbids to evaluate code. `logLevel`: errors only.
const EMBED = { mode: "vega-lite", ast: true, logLevel: 1, renderer: "canvas", actions: false, defaultStyle: false, tooltip: showTooltip };

// The styles of marks in the specifications, and the colours of the page that they have.
const STYLES = {
  better: "better", worse: "worse", same: "same", count: "ink", zero: "muted", guide: "muted", interval: "strong-line",
  mean: "ink", range: "band", other: "same",
};

// Colours, and texts that are cut where the chart ends.
function chartLook(width, height) {
  const styles = getComputedStyle(document.documentElement);
  const colour = (name) => styles.getPropertyValue(`--${name}`).trim();
  const text = { labelColor: colour("muted"), titleColor: colour("ink"), gridColor: colour("line"), domainColor: colour("line"), tickColor: colour("line") };
  const colours = (name, count) => Array.from({ length: count }, (_, at) => colour(`${name}-${at + 1}`));
  const font = getComputedStyle(document.body).fontFamily;
  return {
    background: null,
    padding: { left: 4, right: 14, top: 4, bottom: 4 },
    font,
    view: { stroke: null },
    axis: { ...text, labelFlush: false, labelFontSize: 12, titleFontSize: 12, titleFontWeight: 600 },
    axisX: { titleLimit: width - 60 },
    axisY: { titleLimit: height },
    axisQuantitative: { tickCount: 6 },
    legend: { ...text, labelLimit: 230, labelFontSize: 12, titleFontSize: 12 },
    header: { ...text },
    title: { color: colour("ink") },
    text: { color: colour("ink") },
    range: { category: colours("system", 8), ordinal: colours("rank", 6) },
    style: Object.fromEntries(Object.entries(STYLES).map(([style, name]) => [style, { color: colour(name) }])),
  };
}

// Vega calls this with null when the pointer leaves a mark.
function showTooltip(handler, event, item, value) {
  const tooltip = byId("tooltip");
  tooltip.hidden = value === null || value === undefined || value === "";
  if (tooltip.hidden) return;
  const names = { A: content.systems[state.a], B: content.systems[state.b] };
  const query = item?.datum?.index ?? content.queries.id.indexOf(item?.datum?.query);
  const question = query >= 0 ? questionOf(query) : null;
  const isShown = ([name]) => name !== "query" || query < 0 || idOf(query) !== null;
  const pairs = (typeof value === "object" ? Object.entries(value) : [["", value]]).filter(isShown);
  const lines = pairs.map(([name, text]) =>
    element("div", {}, element("dt", {}, printable(names[name] ?? name)), element("dd", {}, printable(text ?? "–"))),
  );
  tooltip.replaceChildren(...(question ? [element("p", {}, printable(question))] : []), element("dl", {}, ...lines));
  const box = tooltip.getBoundingClientRect();
  tooltip.style.left = `${Math.max(4, Math.min(event.clientX + 14, innerWidth - box.width - 8))}px`;
  tooltip.style.top = `${event.clientY + 18 + box.height > innerHeight ? event.clientY - box.height - 10 : event.clientY + 18}px`;
}

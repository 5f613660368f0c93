// Charts: Vega-Lite on canvas, drawn when they are scrolled into view, with the colours of the page.

const charts = new Map(); // kind -> { figure, views, isVisible, isStale }

function makeCharts() {
  const place = document.querySelector(".charts");
  if (!place) return;
  const observer = new IntersectionObserver(onVisible, { rootMargin: "300px" });
  for (const [kind, chart] of Object.entries(content.charts)) {
    const figure = element("figure", { "data-kind": kind }, element("h3"), element("div.panels"), element("figcaption"));
    charts.set(kind, { chart, figure, views: [], isVisible: false, isStale: true });
    place.append(figure);
    observer.observe(figure);
  }
  listeners.push((before) => {
    if (["measure", "a", "b"].some((name) => before[name] !== state[name])) redrawCharts();
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redrawCharts);
  addEventListener("beforeprint", () => charts.forEach((_, kind) => drawChart(kind)));
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

function titleCharts() {
  for (const { chart, figure } of charts.values()) {
    figure.querySelector("h3").textContent = printable(filled(chart.title));
    figure.querySelector("figcaption").textContent = printable(filled(chart.about));
  }
}

// A text, or anything that contains texts, with the chosen names.
function filled(value) {
  if (typeof value === "string") {
    const names = { a: content.systems[state.a], b: content.systems[state.b] ?? "", measure: content.measures[state.measure].name };
    return value.replace(/\{(a|b|measure)\}/g, (_, name) => printable(names[name]));
  }
  if (Array.isArray(value)) return value.map(filled);
  if (value && typeof value === "object") return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, filled(item)]));
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
    panels.append(element("p.quiet", {}, `There is no such chart of ${printable(content.measures[state.measure].name)}.`));
    return;
  }
  const groups = new Map();
  for (const row of rows) {
    const group = chart.panels ? row[chart.panels] : null;
    groups.set(group, [...(groups.get(group) ?? []), row]);
  }
  for (const [group, members] of groups) {
    const target = element("div.chart");
    panels.append(group === null ? target : element("div.panel", {}, element("h4", {}, printable(group)), target));
    const result = await vegaEmbed(target, { ...filled(chart.spec), datasets: { rows: members } }, embedOptions());
    result.view.addEventListener("click", (_, item) => openFromChart(item?.datum));
    target.querySelector("canvas")?.setAttribute("aria-label", printable(`${filled(chart.title)}. ${filled(chart.about)}`));
    drawn.views.push(result);
  }
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

// `ast`: expressions are interpreted, because the policy of the page forbids to evaluate code.
function embedOptions() {
  return { mode: "vega-lite", ast: true, renderer: "canvas", actions: false, defaultStyle: false, tooltip: showTooltip, config: chartColours() };
}

function chartColours() {
  const styles = getComputedStyle(document.documentElement);
  const colour = (name) => styles.getPropertyValue(`--${name}`).trim();
  const both = (name) => ({ fill: colour(name), stroke: colour(name) });
  const text = { labelColor: colour("muted"), titleColor: colour("ink"), gridColor: colour("line"), domainColor: colour("line"), tickColor: colour("line") };
  const font = getComputedStyle(document.body).fontFamily;
  return {
    background: null,
    font,
    view: { stroke: null },
    axis: { ...text, labelFontSize: 12, titleFontSize: 12, titleFontWeight: 600 },
    legend: { ...text, labelFontSize: 12, titleFontSize: 12 },
    header: { ...text },
    title: { color: colour("ink") },
    text: { color: colour("ink") },
    range: { category: Array.from({ length: 8 }, (_, at) => colour(`system-${at + 1}`)), ordinal: Array.from({ length: 5 }, (_, at) => colour(`rank-${at + 1}`)) },
    style: {
      better: both("better"), worse: both("worse"), same: both("same"),
      diagonal: { stroke: colour("muted") }, zero: { stroke: colour("muted") },
      interval: { stroke: colour("ink") }, mean: { fill: colour("ink") },
    },
  };
}

// Vega calls this with null when the pointer leaves a mark.
function showTooltip(handler, event, item, value) {
  const tooltip = byId("tooltip");
  tooltip.hidden = value === null || value === undefined || value === "";
  if (tooltip.hidden) return;
  const names = { A: content.systems[state.a], B: content.systems[state.b] };
  const pairs = typeof value === "object" ? Object.entries(value) : [["", value]];
  const lines = pairs.map(([name, text]) =>
    element("div", {}, element("dt", {}, printable(names[name] ?? name)), element("dd", {}, printable(isNumber(text) ? valueText(text) : text ?? "–"))),
  );
  const query = item?.datum?.index ?? content.queries.id.indexOf(item?.datum?.query);
  const question = query >= 0 ? questionOf(query) : null;
  tooltip.replaceChildren(...(question ? [element("p", {}, printable(question))] : []), element("dl", {}, ...lines));
  const box = tooltip.getBoundingClientRect();
  tooltip.style.left = `${Math.max(4, Math.min(event.clientX + 14, innerWidth - box.width - 8))}px`;
  tooltip.style.top = `${event.clientY + 18 + box.height > innerHeight ? event.clientY - box.height - 10 : event.clientY + 18}px`;
}

// The values of a chart for those who cannot see it: a table below it, or a sentence that says where they are.

const NOT_SHOWN = ["place", "emphasized"]; // how a chart is drawn, not what it shows

// A table that is made when it is unfolded.
function chartData(kind) {
  const place = element("div.scroll", { tabindex: "0", role: "region" });
  const details = element("details.data", {}, element("summary", {}, "Values"), place);
  const show = () => details.open && fillChartData(place, kind);
  details.addEventListener("toggle", show);
  listeners.push(show);
  return details;
}

function fillChartData(place, kind) {
  const { chart } = charts.get(kind);
  const title = printable(filled(chart.title));
  place.setAttribute("aria-label", `Values: ${title}`);
  const names = chart.columns.filter((name) => !NOT_SHOWN.includes(name));
  const head = element("tr", {}, names.map((name) => element("th", { scope: "col" }, name)));
  const rows = chartRows(kind, chart).map((row) => element("tr", {}, names.map((name) => element("td", {}, dataText(row[name])))));
  place.replaceChildren(element("table.plain", {}, element("caption.hidden", {}, title), element("thead", {}, head), element("tbody", {}, rows)));
}

function dataText(value) {
  return isNumber(value) && !Number.isInteger(value) ? valueText(value) : printable(value ?? "–");
}

// What a screen reader says after the description of a chart.
function valuesText(chart, rows) {
  if (chart.rows) return "The values are in a table below.";
  const count = (change) => `${rows.filter((row) => row.change === change).length.toLocaleString("en")} ${change}`;
  return `${plural(rows.length, "query")}: ${["better", "same", "worse"].map(count).join(", ")}. The table of queries has the values.`;
}

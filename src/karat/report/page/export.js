// The selected queries as CSV: the values of all systems and measures.

function exportSelected() {
  const { first, unjudged } = content.queries;
  const hasBoth = content.queries.text && !content.queries.are_texts;
  const header = ["query", ...(hasBoth ? ["question"] : [])];
  const columns = [(query) => idOf(query) ?? questionOf(query), ...(hasBoth ? [questionOf] : [])];
  const add = (name, value) => (header.push(name), columns.push(value));
  content.systems.forEach((system, at) => {
    content.measures.forEach((measure, m) => add(`${system} ${measure.name}`, (query) => valueOf(at, m, query)));
    if (first) add(`${system} first relevant rank`, (query) => first[at]?.[query]);
    if (unjudged) add(`${system} unjudged`, (query) => unjudgedOf(at, query));
  });
  for (const [label, groups] of Object.entries(content.queries.slices ?? {})) add(label, (query) => groups[query]);
  const rows = [header, ...selected.map((query) => columns.map((column) => column(query)))];
  const csv = rows.map((row) => row.map(csvField).join(",")).join("\r\n");
  const link = element("a", { href: URL.createObjectURL(new Blob([csv, "\r\n"], { type: "text/csv" })), download: "queries.csv" });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}

// As karat's safe CSV: an apostrophe stands before a text that a spreadsheet would run as a formula.
function csvField(value) {
  if (value === null || value === undefined) return "";
  if (isNumber(value) || value === "inf" || value === "-inf") return String(value);
  let text = String(value).toWellFormed();
  const isFormula = /^([\s']*[=+\-@＝＋－＠]|'*[\t\r\n])/.test(text) && !/^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$/.test(text);
  if (isFormula) text = `'${text}`;
  return text !== text.trim() || /[,"\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

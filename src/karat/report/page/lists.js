// The ranked lists of a query side by side, and lines that show how documents moved.

const MOST_LISTS = 6;

function listsSection(query) {
  const systems = systemsInOrder().filter((system) => content.lists?.[system]);
  if (!systems.length) return null;
  const golds = goldsOf(query);
  const shown = systems.slice(0, MOST_LISTS);
  const lists = shown.map((system) => rankedOf(system, query));
  const first = lists[0] && { items: lists[0], below: [], ...content.lists[shown[0]][query] };
  const columns = shown.map((system, at) => listColumn(system, query, lists[at], at > 0 ? first : null, golds));
  const board = element("div.lists", { "data-columns": shown.length }, ...columns);
  const lines = svg("svg", { class: "lines", "aria-hidden": "true" });
  board.append(lines);
  new ResizeObserver(() => drawLines(board, lines)).observe(board);
  board.addEventListener("pointerover", (event) => highlight(board, event.target.closest("[data-key]")?.dataset.key));
  board.addEventListener("pointerleave", () => highlight(board, null));
  return element(
    "section", {},
    element("h3", {}, "Ranked lists"),
    element("div.scroll", { tabindex: "0", role: "region", "aria-label": "Ranked lists, side by side" }, board),
    legend(golds),
  );
}

// A, B, then the others.
function systemsInOrder() {
  const chosen = chosenSystems();
  return [...chosen, ...content.systems.map((_, system) => system).filter((system) => !chosen.includes(system))];
}

function sideBadge(system) {
  const side = state.b === null ? null : system === state.a ? "a" : system === state.b ? "b" : null;
  return side && element(`span.side.${side}`, {}, side.toUpperCase());
}

function listColumn(system, query, list, first, golds) {
  const heading = element("h4", {}, sideBadge(system), " ", element("bdi", {}, systemName(system)));
  if (!list) {
    const text = content.queries.missing?.[system]?.[query] ? "This system returned nothing for this query." : "The ranking of this query is not in the report.";
    return element("div.list", {}, heading, element("p.nothing", {}, text));
  }
  const { total } = content.lists[system][query];
  const count = total > list.length ? `top ${list.length} of ${total.toLocaleString("en")}` : plural(list.length, "document");
  const items = list.map((item) => listItem(item, first));
  const found = new Set(list.flatMap((item) => item.hits.map((hit) => hit[1])));
  const missed = golds.filter((gold) => gold.relevant && !found.has(gold.place));
  return element("div.list", {}, element("div.head", {}, heading, element("span.quiet", {}, count)), element("ol", {}, items), missedList(system, query, missed));
}

function listItem(item, first) {
  const document_ = documentOf(item.doc);
  const reason = item.hits.find((hit) => hit[1] === item.gold?.place)?.[2];
  return element(
    "li", { class: gradeKind(item.gold), "data-key": item.key },
    element("span.rank", { "aria-hidden": "true" }, String(item.place + 1)),
    element("div.what", {}, documentTitle(document_, moveText(item, first), item.repeated && element("span.move", {}, "repeated")), unfolding(document_.text)),
    gradeBadge(item.gold, reason),
  );
}

function documentTitle({ id, title }, ...notes) {
  const name = id !== null && element("bdi.id", {}, printable(id));
  return element("div.name", {}, title && element("span.title", { dir: "auto" }, printable(title)), name, ...notes);
}

const gradeKind = (gold) => (!gold?.judged ? "unknown" : gold.relevant ? "relevant" : "irrelevant");

// The grade of a judged document, and why it was matched, if it was.
function gradeBadge(gold, reason = "") {
  if (!gold?.judged) {
    return content.queries.unjudged ? element("span.grade.unknown", { title: "unjudged" }, "?", hidden(" unjudged")) : element("span.grade.unknown", { title: "no match" }, "–", hidden(" matches no gold document"));
  }
  const words = gold.relevant ? "relevant" : "not relevant";
  const grade = String(Number(gold.grade.toPrecision(6)));
  const title = `${words}, grade ${grade}${reason && ` (${printable(reason)})`}`;
  return element("span", { class: `grade ${gradeKind(gold)}`, title }, gold.relevant ? `✓ ${grade}` : grade, hidden(` ${words}`));
}

// Where the first list has the same document.
function moveText(item, first) {
  if (!first) return null;
  const rank = item.place + 1;
  const before = rankIn(first, item);
  if (before === null) return element("span.move.new", {}, first.total > first.items.length ? `not in the top ${first.items.length} of A` : "new");
  if (before === rank) return element("span.move", {}, "=", hidden(" same rank"));
  const isUp = before > rank;
  return element(`span.move.${isUp ? "up" : "down"}`, { title: `rank ${before} in ${systemName(state.a)}` }, element("span", { "aria-hidden": "true" }, isUp ? "▲" : "▼"), hidden(isUp ? " up" : " down"), ` ${Math.abs(before - rank)}`);
}

// The rank of the same document in a list; below the documents shown, only the ranks of relevant ones are known.
function rankIn({ items, below }, { key, gold, repeated }) {
  const place = items.findIndex((item) => item.key === key);
  if (place >= 0) return place + 1;
  return (gold && !repeated && below.find((hit) => hit[1] === gold.place)?.[0]) || null;
}

// A text that is cut at its start, and unfolds.
function unfolding(text) {
  if (!text) return null;
  const shown = printableLines(text);
  if (shown.length <= 120) return element("p.text", { dir: "auto" }, shown);
  const start = Array.from(shown.slice(0, 220)).slice(0, 110).join("").replace(/\s+\S{0,20}$/, "");
  return element("details.text", {}, element("summary", { dir: "auto" }, `${start} …`), element("p", { dir: "auto" }, shown));
}

function missedList(system, query, missed) {
  if (!missed.length) return null;
  const { below = [] } = content.lists[system][query];
  const items = missed.map((gold) => {
    const rank = below.find((hit) => hit[1] === gold.place)?.[0];
    const document_ = documentOf(gold.doc);
    const where = rank ? `at rank ${rank.toLocaleString("en")}` : "not retrieved";
    return element("li.missed", {}, element("span.rank", { "aria-hidden": "true" }, "✗"), element("div.what", {}, documentTitle(document_, element("span.move", {}, where)), unfolding(document_.text)), gradeBadge(gold));
  });
  return element("div.missed", {}, element("h5", {}, `Missed: ${plural(missed.length, "relevant document")}`), element("ul", {}, items));
}

function legend(golds) {
  const entry = (badge, text) => element("span", {}, badge, ` ${text}`);
  const entries = [entry(element("span.grade.relevant", { "aria-hidden": "true" }, "✓ 2"), "relevant, with its grade")];
  if (golds.some((gold) => gold.judged && !gold.relevant)) entries.push(entry(element("span.grade.irrelevant", { "aria-hidden": "true" }, "0"), "not relevant"));
  entries.push(content.queries.unjudged ? entry(element("span.grade.unknown", { "aria-hidden": "true" }, "?"), "unjudged") : entry(element("span.grade.unknown", { "aria-hidden": "true" }, "–"), "no match"));
  if (state.b !== null) entries.push(element("span", {}, "▲ ▼ ranks gained or lost since A"));
  return element("p.legend", {}, ...entries);
}

// From each document to the same one in the next list, in the space between the lists.
function drawLines(board, lines) {
  lines.replaceChildren();
  const columns = [...board.querySelectorAll(":scope > .list")];
  const frame = board.getBoundingClientRect();
  if (columns.length < 2 || columns[0].getBoundingClientRect().top !== columns[1].getBoundingClientRect().top) return;
  lines.setAttribute("width", board.scrollWidth);
  lines.setAttribute("height", board.scrollHeight);
  for (let at = 0; at + 1 < columns.length; at++) {
    const targets = new Map([...columns[at + 1].querySelectorAll("li[data-key]")].map((item) => [item.dataset.key, item]));
    for (const item of columns[at].querySelectorAll("li[data-key]")) {
      const target = targets.get(item.dataset.key);
      if (target) lines.append(line(item.getBoundingClientRect(), target.getBoundingClientRect(), frame, item));
    }
  }
}

function line(from, to, frame, item) {
  const [x1, y1] = [from.right - frame.left, from.top - frame.top + 16];
  const [x2, y2] = [to.left - frame.left, to.top - frame.top + 16];
  const middle = (x1 + x2) / 2;
  const path = svg("path", { d: `M${x1} ${y1}C${middle} ${y1} ${middle} ${y2} ${x2} ${y2}`, class: item.className });
  path.dataset.key = item.dataset.key;
  return path;
}

function highlight(board, key) {
  board.querySelectorAll(".same").forEach((item) => item.classList.remove("same"));
  if (key) board.querySelectorAll(`[data-key="${CSS.escape(key)}"]`).forEach((item) => item.classList.add("same"));
}

// The answers of a query beside the gold answers, and chunks inside their gold documents.

function answersSection(query) {
  const { gold = [], predicted = [], shared = [] } = content.answers ?? {};
  const golds = gold[query] ?? [];
  const systems = systemsInOrder().filter((system) => predicted[system]).slice(0, MOST_LISTS);
  if (!systems.length) return null;
  const cards = systems.map((system) => answerCard(system, predicted[system][query], shared?.[system]?.[query], golds));
  const goldCard = element(
    "div.card.gold", {},
    element("h4", {}, golds.length === 1 ? "Gold answer" : "Gold answers"),
    golds.length ? element("ul", {}, golds.map((text) => element("li", { dir: "auto" }, printableLines(text)))) : element("p.nothing", {}, "No gold answer."),
  );
  const isMarked = cards.some((card) => card.querySelector("mark"));
  const key = isMarked && element("p.legend", {}, element("span", {}, element("mark", {}, "marked"), " what an answer shares with its closest gold answer"));
  return element("section", {}, element("h3", {}, "Answers"), element("div.cards", {}, goldCard, ...cards), key);
}

function answerCard(system, text, shared, golds) {
  const heading = element("h4", {}, sideBadge(system), " ", element("bdi", {}, systemName(system)));
  if (text === null || text === undefined) return element("div.card", {}, heading, element("p.nothing", {}, "no answer"));
  const [best, inAnswer, inGold] = shared?.[0] ?? [null, [], []];
  const closest = best !== null && golds[best] !== undefined && inGold.length;
  return element(
    "div.card", {}, heading,
    element("p.text", { dir: "auto" }, marked(text, inAnswer, "also in the gold answer")),
    closest ? element("p.closest", { dir: "auto" }, element("span.quiet", {}, "gold: "), marked(golds[best], inGold, "also in the answer")) : null,
  );
}

// Gold documents with the chunks that were retrieved from them.
function chunksSection(query) {
  const golds = goldsOf(query);
  const chunks = new Map();
  for (const system of chosenSystems()) {
    for (const item of rankedOf(system, query) ?? []) {
      for (const [, gold, , span] of item.hits) {
        if (!span || !golds[gold] || documentOf(golds[gold].doc).text === null) continue;
        if (!chunks.has(gold)) chunks.set(gold, []);
        chunks.get(gold).push({ system, place: item.place, span });
      }
    }
  }
  const partial = [...chunks].filter(([gold, found]) => found.some(({ span }) => !isWhole(span, documentOf(golds[gold].doc).text)));
  if (!partial.length) return null;
  const documents = partial.map(([gold, found]) => chunkedDocument(golds[gold], found));
  return element("section", {}, element("h3", {}, "Chunks in their gold documents"), element("div.cards.wide", {}, ...documents));
}

const isWhole = ([start, end], text) => start <= 0 && end >= Array.from(text).length;

function chunkedDocument(gold, chunks) {
  const document_ = documentOf(gold.doc);
  const characters = Array.from(document_.text);
  const edges = [...new Set([0, characters.length, ...chunks.flatMap(({ span }) => span)])].sort((left, right) => left - right);
  const parts = [];
  for (let at = 0; at + 1 < edges.length; at++) {
    const [start, end] = [edges[at], Math.min(edges[at + 1], characters.length)];
    const text = printableLines(characters.slice(start, end).join(""));
    const covering = chunks.filter(({ span }) => span[0] <= start && span[1] >= end);
    const systems = new Set(covering.map(({ system }) => system));
    const sides = [...systems].map((system) => (system === state.a ? "a" : "b")).sort().join("");
    const starting = covering.filter(({ span }) => span[0] === start);
    parts.push(...starting.map(({ system, place }) => element(`span.side.${system === state.a ? "a" : "b"}`, { title: `${systemName(system)}, rank ${place + 1}` }, `${system === state.a ? "A" : "B"} ${place + 1}`)));
    if (text) parts.push(covering.length ? element("mark", { class: `chunk in-${sides}` }, text) : text);
  }
  return element("div.card", {}, element("div.head", {}, documentTitle(document_), gradeBadge(gold)), element("p.text", { dir: "auto" }, ...parts));
}

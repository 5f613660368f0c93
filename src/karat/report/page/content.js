// The content of the report: read once from the page, then asked through the functions below.

let content;

async function readContent() {
  const source = byId("content");
  if (source.dataset.encoding === "json") content = JSON.parse(source.textContent);
  else {
    const packed = atob(source.textContent);
    const bytes = new Uint8Array(packed.length);
    for (let at = 0; at < packed.length; at++) bytes[at] = packed.charCodeAt(at);
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
    content = await new Response(stream).json();
  }
  source.remove();
}

const isNumber = (value) => typeof value === "number";

// A value of a query: a number, "inf", "-inf" or null.
function valueOf(system, measure, query) {
  return content.queries.values[system]?.[measure]?.[query] ?? null;
}

// B minus A, or null if one of them is not a number.
function changeOf(query, { measure, a, b }) {
  const [before, after] = [valueOf(a, measure, query), valueOf(b, measure, query)];
  if (b === null || !isNumber(before) || !isNumber(after)) return null;
  // As karat.scores.combining.differences: values that differ only by rounding are the same.
  const change = after - before;
  return Math.abs(change) <= 1e-12 * Math.max(1, Math.abs(before), Math.abs(after)) ? 0 : change;
}

// The change, counted so that more is better.
function gainOf(query, chosen) {
  const change = changeOf(query, chosen);
  return change === null || content.measures[chosen.measure].higher ? change : -change;
}

// Whether a measure counts something, so that its values are shown without decimals.
const isCount = (measure) => content.measures[measure].count;

const systemName = (system) => printable(content.systems[system]);

// A query is named by an id, or by its question, which is a text. `questionOf` is null if only the id is known, and
// `idOf` if the question is all there is: one that is shortened as an id is whole as a text.
const questionOf = (query) => content.queries.text?.[query] ?? (content.queries.are_texts ? content.queries.id[query] : null);
const idOf = (query) => (content.queries.are_texts ? null : content.queries.id[query]);

// The id of a query and its question, as far as they are known.
function queryTitle(query) {
  const [id, question] = [idOf(query), questionOf(query)];
  return [
    id !== null && element("bdi.id", {}, printable(id)),
    question !== null && element("span.question", { dir: "auto" }, printable(question)),
  ];
}

const failedAt = () => content.queries.failed_at ?? content.table.unjudged_at ?? 10;

// Whether the ranks of the relevant documents of a system are known.
const hasRanks = (system) => Boolean(content.queries.first?.[system]);

function hasFailed(system, query) {
  const rank = content.queries.first[system][query];
  return rank === null || rank > failedAt();
}

const unjudgedOf = (system, query) => content.queries.unjudged?.[system]?.[query] ?? null;

// Whether documents that nobody judged matter: only to measures of documents.
const hasUnjudged = () => Boolean(content.queries.unjudged) && content.measures[state.measure].takes === "judged";

// How many claims and sentences are supported: { "claims context": [supported, in part, not, samples differ, unknown] }.
const supportOf = (system, query) => content.verdicts?.support?.[system]?.[query] ?? null;

// Claims and sentences that nothing supports, or that passages contradict, and labels that failed.
const unsupportedOf = (system, query) => content.verdicts?.unsupported[system]?.[query] ?? null;
const contradictedOf = (system, query) => content.verdicts?.contradicted[system]?.[query] ?? null;
const failedLabelsOf = (system, query) => content.verdicts?.failed[system]?.[query] ?? null;

// The judged documents of a query, relevant ones first. A negative grade: in the pool, but not judged.
function goldsOf(query) {
  const { docs = [], grades = [], relevant = 0 } = content.golds?.[query] ?? {};
  return docs.map((doc, place) => ({ place, doc, grade: grades[place], relevant: place < relevant, judged: grades[place] >= 0 }));
}

// The ranked documents of a query: [{ place, doc, hits, gold, repeated, key }]. `gold` is the best of the judged
// documents that a document matches, if possible one that none above it matches. `key` is the same for the same document
// in two lists, or for two chunks of the same gold document.
function rankedOf(system, query) {
  const list = content.lists?.[system]?.[query];
  if (!list) return null;
  const golds = goldsOf(query);
  const seen = new Set();
  return list.docs.map((doc, place) => {
    const hits = list.hits.filter((hit) => hit[0] === place);
    const matched = hits.map((hit) => hit[1]).sort((left, right) => left - right);
    const best = matched.find((gold) => !seen.has(gold)) ?? matched[0];
    const repeated = seen.has(best);
    const key = best === undefined || repeated ? `document ${doc}` : `gold ${best}`;
    matched.forEach((gold) => seen.add(gold));
    return { place, doc, hits, gold: golds[best], repeated, key };
  });
}

function documentOf(doc) {
  const { id, title, text } = content.documents;
  return { id: id[doc], title: title?.[doc] ?? null, text: text?.[doc] ?? null };
}

// How judged documents moved between A and B: [[gold place, rank before, rank after, contribution]]; what is not due to
// one of them has a text instead of a place. The report has them for one direction of each pair. In the other direction
// contributions are others, not the same with the opposite sign.
function movesOf(query, { measure, a, b }) {
  const { name } = content.measures[measure];
  for (const [from, to] of [[a, b], [b, a]]) {
    const moves = content.moves?.[`${from}>${to}`]?.[name]?.[query];
    if (moves) return { from, to, moves };
  }
  return null;
}

// Which queries the table shows, and in which order.

const FILTERS = {
  all: { label: () => "all", keeps: () => true },
  better: { label: () => "B better", keeps: (query) => gainOf(query, state) > 0, pair: true },
  worse: { label: () => "B worse", keeps: (query) => gainOf(query, state) < 0, pair: true },
  equal: { label: () => "no change", keeps: (query) => gainOf(query, state) === 0, pair: true },
  failed: {
    label: () => `nothing relevant in the top ${failedAt()}`,
    keeps: (query) => hasFailed(shownSystem(), query),
    there: () => hasRanks(shownSystem()),
  },
  unjudged: {
    label: () => "with unjudged documents",
    keeps: (query) => chosenSystems().some((system) => unjudgedOf(system, query) > 0),
    there: hasUnjudged,
  },
  unsupported: {
    label: () => "with something unsupported",
    keeps: (query) => chosenSystems().some((system) => unsupportedOf(system, query) > 0),
    there: () => Boolean(content.verdicts),
  },
  contradicted: {
    label: () => "with something contradicted",
    keeps: (query) => chosenSystems().some((system) => contradictedOf(system, query) > 0),
    there: () => hasAny(contradictedOf),
  },
  failures: {
    label: () => "with failed labels",
    keeps: (query) => chosenSystems().some((system) => failedLabelsOf(system, query) > 0),
    there: () => hasAny(failedLabelsOf),
  },
  unknown: {
    label: () => "with unknown labels",
    keeps: (query) => chosenSystems().some((system) => hasUnknownLabels(system, query)),
    there: () => Boolean(content.queries.bounds),
  },
  missing: {
    label: () => "missing",
    keeps: (query) => chosenSystems().some((system) => content.queries.missing?.[system]?.[query]),
    there: () => (content.queries.missing ?? []).some((system) => system?.some(Boolean)),
  },
};

const SORTS = {
  query: { label: () => "Query", value: (query) => content.queries.id[query], isText: true },
  a: { label: () => systemName(state.a), side: "a", value: (query) => valueOf(state.a, state.measure, query) },
  b: { label: () => systemName(state.b), side: "b", value: (query) => valueOf(state.b, state.measure, query), pair: true },
  change: { label: () => "Change", value: (query) => changeOf(query, state), pair: true },
  first: {
    label: () => "First relevant",
    value: (query) => content.queries.first[shownSystem()]?.[query] ?? Infinity,
    there: () => chosenSystems().some(hasRanks),
  },
  unjudged: {
    label: () => "Unjudged",
    value: (query) => unjudgedOf(shownSystem(), query),
    there: hasUnjudged,
  },
  support: {
    label: () => "Support",
    value: (query) => unsupportedOf(shownSystem(), query),
    there: () => chosenSystems().some((system) => content.queries.id.some((_, query) => Object.keys(supportOf(system, query) ?? {}).length)),
  },
  contradicted: {
    label: () => "Contradicted",
    value: (query) => contradictedOf(shownSystem(), query),
    there: () => hasAny(contradictedOf),
  },
  failures: {
    label: () => "Failed labels",
    value: (query) => failedLabelsOf(shownSystem(), query),
    there: () => hasAny(failedLabelsOf),
  },
};

// Whether one of the chosen systems has any query with such a count.
const hasAny = (countOf) => chosenSystems().some((system) => content.queries.id.some((_, query) => countOf(system, query) > 0));

const isThere = (entry) => (!entry.pair || state.b !== null) && (entry.there?.() ?? true);
const chosenSystems = () => (state.b === null ? [state.a] : [state.a, state.b]);
const shownSystem = () => state.b ?? state.a; // the newer of the two

// The queries that pass filter, slice and search, in order.
function selectedQueries() {
  const groups = state.slice && content.queries.slices[state.slice[0]];
  const words = state.search.toLowerCase().split(/\s+/).filter(Boolean);
  const keeps = (isThere(FILTERS[state.filter]) ? FILTERS[state.filter] : FILTERS.all).keeps;
  const selected = [];
  for (let query = 0; query < content.queries.id.length; query++) {
    if (groups && groups[query] !== state.slice[1]) continue;
    if (words.length) {
      const text = `${content.queries.id[query]} ${questionOf(query) ?? ""}`.toLowerCase();
      if (!words.every((word) => text.includes(word))) continue;
    }
    if (keeps(query)) selected.push(query);
  }
  return sorted(selected);
}

function sorted(queries) {
  const values = new Map();
  const { value, isText, descending } = currentSort();
  for (const query of queries) values.set(query, value(query));
  const compare = isText
    ? (left, right) => left.localeCompare(right, "en", { numeric: true })
    : (left, right) => Number(left) - Number(right) || 0;
  const isNull = (found) => found === null || found === undefined;
  return queries.sort((left, right) => {
    const [one, other] = [values.get(left), values.get(right)];
    if (isNull(one) || isNull(other)) return isNull(one) - isNull(other) || left - right;
    return compare(one, other) * (descending ? -1 : 1) || left - right;
  });
}

// The worst loss first, unless another order is chosen; with one system, the worst value first.
function currentSort() {
  if (state.sort && isThere(SORTS[state.sort])) return { ...SORTS[state.sort], key: state.sort, descending: state.descending };
  const key = state.b === null ? "a" : "change";
  return { ...SORTS[key], key, descending: !content.measures[state.measure].higher };
}

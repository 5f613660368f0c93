// The labels of a query's answers: sentences with their citations, claims, nuggets and passages, and the reasons.

const MARKS = { full: "✓", partial: "◐", none: "✗", contradicts: "≠", differs: "≈", failed: "⚠" };
const SUPPORTED = { full: "supported", partial: "partly supported", none: "not supported", contradicts: "contradicted" };
const IN_ANSWER = { full: "in the answer", partial: "partly in the answer", none: "not in the answer", contradicts: "the answer says otherwise" };
const IN_GOLD = { full: "says the same", partial: "says it in part", none: "does not say it", contradicts: "says otherwise" };
const GRADES = { 0: "other", 1: "other", 2: "partial", 3: "full" };

function verdictsSection(query) {
  const { verdicts } = content;
  const systems = systemsInOrder().filter((system) => verdicts?.relations[system]).slice(0, MOST_LISTS);
  if (!systems.length) return null;
  const blocks = systems.map((system) => {
    const heading = element("h4", {}, sideBadge(system), " ", element("bdi", {}, systemName(system)));
    const items = verdicts.labels[query]?.[system];
    if (items) return new LabelledAnswer(system, items).block(heading);
    const text = verdicts.labels[query] ? "This query has no labels." : "The labels of this query are left out of the report.";
    return element("div.grounding", {}, heading, element("p.nothing", {}, text));
  });
  return element("section", {}, element("h3", {}, "The answer and its labels"), element("div", { class: `groundings ${blocks.length > 1 ? "several" : "one"}` }, ...blocks), labelLegend(blocks.some((block) => block.querySelector("button.cite"))));
}

function labelLegend(hasLinks) {
  const entry = (label, text) => element("span", {}, labelBadge(label, {}, text));
  const words = [["full", "full"], ["partial", "partial"], ["none", "none"], ["contradicts", "contradicts"], [null, "unknown: no label, or no clear one"], ["failed", "failed: no label, though one was asked for"]];
  return element("p.legend", {}, "Support: ", ...words.map(([label, text]) => entry(label, text)), hasLinks && element("span", {}, "Click on the number of a passage to see it."), isNumber(content.measures[state.measure].partial) && element("span", {}, partialText()));
}

// The marks of labels of the answer as a whole are those of support.
const SHAPES = {
  correctness: { correct: "full", partial: "partial", incorrect: "none" },
  answer_relevance: { fully: "full", partly: "partial", no: "none" },
};

// A label in words, with a shape of its own.
function labelBadge(label, words, text = null, title = null) {
  const known = label ?? "unknown";
  const kind = Object.hasOwn(MARKS, known) ? known : label === null ? "unknown" : "other";
  const mark = MARKS[known] ?? (label === null ? "?" : "");
  const shown = text ?? (label === null ? "unknown" : label === "differs" ? "samples differ" : words[label] ?? printable(label));
  return element(`span.label.${kind}`, { title }, mark && element("span", { "aria-hidden": "true" }, `${mark} `), shown);
}

const listed = (names) => names.flatMap((name, at) => [at ? ", " : "", element("bdi", {}, printable(name))]);

// How many samples gave which label: "supported 2×, not supported 1×".
function tally(labels, words) {
  const counts = new Map();
  for (const label of labels) counts.set(label, (counts.get(label) ?? 0) + 1);
  return [...counts].sort((one, other) => other[1] - one[1]).map(([label, count]) => `${words[label] ?? printable(label)} ${count}×`).join(", ");
}

// The items of one system's answer to a query.
class LabelledAnswer {
  constructor(system, items) {
    this.system = system;
    this.items = items;
    this.passages = items.passages ?? [];
    this.authors = content.verdicts.authors[system];
    this.citing = new Map();
    (items.sentences ?? []).forEach((sentence, at) => (sentence.cites ?? []).forEach((place) => this.citing.set(place, [...(this.citing.get(place) ?? []), at + 1])));
  }

  has(relation) {
    return content.verdicts.relations[this.system].includes(relation);
  }

  block(heading) {
    const parts = [
      this.list("sentences", "Answer", (item, at) => this.sentence(item, at), "ol"),
      this.list("claims", "Claims of the answer", (item) => this.claim(item)),
      this.list("nuggets", "Nuggets", (item) => this.contained(item, "nuggets")),
      this.list("gold_claims", "Claims of the gold answer", (item) => this.contained(item, "gold_claims")),
    ];
    const [prompts, samples] = [content.verdicts.prompts[this.system], content.verdicts.samples[this.system]];
    const passages = this.list("passages", "Passages", (item, at) => this.passage(item, at), "ol");
    return element(
      "div.grounding", {},
      element("div.head", {}, heading, element("span.quiet", {}, "labels by ", ...listed(this.authors), samples > 1 ? `, ${samples} samples,` : null, prompts.length ? [" with ", ...listed(prompts)] : null)),
      this.whole(),
      this.failures(),
      element("div.sides", {}, element("div.side-items", {}, ...parts.filter(Boolean)), passages && element("div.side-items", {}, passages)),
    );
  }

  // What is said about the answer as a whole: correctness, answer relevance, abstention and rubrics; and about the gold answer.
  whole() {
    const { sentences, answer } = this.items;
    const text = !sentences && answer?.[0].text && element("p.words", { dir: "auto" }, printableLines(answer[0].text));
    const labels = ["answer", "gold"].flatMap((of) =>
      (this.items[of] ?? []).flatMap((item) => this.tasks(item, of).map((badge) => [of === "gold" ? "gold answer: " : "", badge])),
    );
    const reasons = ["answer", "gold"].flatMap((of) => (this.items[of] ?? []).map((item) => this.reasons(item)));
    return labels.length || text || reasons.some(Boolean) ? element("div.whole", {}, text, this.notes(labels), ...reasons) : null;
  }

  // The calls that should have given labels and did not, with what the model replied.
  failures() {
    const { failures = [] } = this.items;
    if (!failures.length) return null;
    const calls = failures.map((call) => {
      if (call.more) return element("li", {}, `${plural(call.more, "more failed call")} left out of the report.`);
      const who = [...this.who(call.by, call.sample), call.prompt === undefined ? "" : [", ", element("bdi", {}, printable(call.prompt))]].flat();
      const reply = call.reply && element("details.reply", {}, element("summary", {}, `Reply (${plural(call.length, "character")})`), element("pre", { tabindex: "0", dir: "auto" }, printableLines(call.reply), call.reply.length < call.length ? "…" : ""));
      const missing = call.length && !call.reply ? "; its reply is left out of the report" : "";
      return element("li", {}, element("p", {}, element("b", {}, `${plural(call.labels, "label")} failed: `), element("span", { dir: "auto" }, printableLines(call.error ?? "the reason is not known")), element("span.quiet", {}, " (", ...who, missing, ")")), reply);
    });
    return element("div.failures", {}, element("h5", {}, element("span", { "aria-hidden": "true" }, "⚠ "), "Failed calls"), element("ul", {}, calls));
  }

  // The label of an item, or why there is none: it failed, or samples differ, and how many say what.
  badge(item, key, words = {}, title = this.byline(item, key)) {
    const label = item.labels?.[key] ?? null;
    const only = key === "cited" && item.cites?.length === 1 ? `passage ${item.cites[0]}` : key;
    const votes = item.votes?.[only] ?? [];
    const given = votes.length ? votes.map((vote) => vote[1] ?? "failed") : (item.tally?.[key] ?? []).map((name) => name ?? "unknown");
    if (label === "differs" && given.length) return labelBadge("differs", {}, tally(given, words), this.byline(item, only));
    const isPart = (other) => other === key || (["context", "cited"].includes(key) && /^(passage|others) /.test(other));
    const hasFailed = Object.entries(item.votes ?? {}).some(([other, given]) => isPart(other) && given.some((vote) => vote[1] === null));
    return label === null && hasFailed ? labelBadge("failed", {}, "failed", title) : labelBadge(label, words, null, title);
  }

  // The labels of other tasks than support: "correctness ✓ correct".
  tasks(item, of) {
    const tasks = Object.keys(content.verdicts.scales).filter((task) => task !== "support" && !(of === "passages" && task === "relevance"));
    return tasks.filter((task) => item.labels?.[task] !== undefined || (this.has(`${of} ${task}`) && !item.dropped && of !== "gold")).filter((task) => of !== "gold" || item.labels[task] !== "answered").map((task) => {
      const label = item.labels?.[task] ?? null;
      const shape = SHAPES[task]?.[label];
      const badge = shape ? labelBadge(shape, {}, printable(label), this.meaning(item, task)) : this.badge(item, task, {}, this.meaning(item, task));
      return element("span.task", {}, element("span.quiet", {}, `${printable(task)} `), badge);
    });
  }

  list(of, title, shown, tag = "ul") {
    const items = this.items[of] ?? [];
    const isKnown = this.items.empty.includes(of);
    const isUsed = content.verdicts.relations[this.system].some((relation) => relation.startsWith(`${of} `));
    if (!items.length && !isUsed) return null;
    const rest = this.items.left_out[of];
    const body = items.length
      ? element(tag, {}, items.map(shown))
      : element("p.nothing", {}, isKnown ? { claims: "It makes no claims.", sentences: "It has no sentences.", nuggets: "There are none.", passages: "There were none." }[of] ?? "There are none." : "They are not known.");
    return element("div.items", {}, element("h5", {}, title), body, rest ? element("p.quiet", {}, `${rest.toLocaleString("en")} more are left out of the report.`) : null);
  }

  sentence(item, at) {
    const cites = item.cites ?? [];
    const label = item.labels?.cited ?? null;
    const isUncited = !cites.length && this.has("sentences cited");
    const badge = item.dropped ? this.nothing() : isUncited ? element("span.label.none", {}, element("span", { "aria-hidden": "true" }, "– "), "no citation") : this.has("sentences cited") && this.badge(item, "cited", SUPPORTED);
    const links = cites.map((place) => (isNumber(place) ? this.link(place, item.passages?.[place] ?? (cites.length === 1 ? label : null), this.without(item, place)) : this.invalid(place)));
    const context = this.has("sentences context") && !item.dropped && this.badge(item, "context", SUPPORTED);
    const notes = [links.length ? ["cites ", ...links] : null, context ? ["by all passages ", context] : null, ...this.tasks(item, "sentences").map((task) => [task])];
    return this.item(item, badge, notes, at + 1);
  }

  claim(item) {
    const badge = item.dropped ? this.nothing() : (this.has("claims context") || this.has("claims passage")) && this.badge(item, "context", SUPPORTED);
    const gold = this.has("claims gold") && !item.dropped ? ["gold answer: ", this.badge(item, "gold", IN_GOLD)] : null;
    return this.item(item, badge, [this.supporting(item, "supported by", "claims"), gold, ...this.tasks(item, "claims").map((task) => [task])]);
  }

  // A nugget, or a claim of the gold answer: whether the answer contains it.
  contained(item, of) {
    const badge = item.dropped ? this.nothing() : this.has(`${of} answer`) && this.badge(item, "answer", IN_ANSWER);
    const importance = item.importance && [element("span.tag", {}, item.importance)];
    return this.item(item, badge, [importance, this.supporting(item, "in passages", of), ...this.tasks(item, of).map((task) => [task])]);
  }

  passage(item, at) {
    const found = documentOf(item.doc);
    const grade = item.labels?.relevance;
    const highest = content.verdicts.scales.relevance.at(-1);
    const badge = this.has("passages relevance") && !item.dropped && (grade === undefined || grade === null || grade === "differs" ? this.badge(item, "relevance") : element("span", { class: `label ${GRADES[grade]}`, title: this.meaning(item, "relevance") }, `relevance ${grade} of ${highest}`));
    const citing = this.citing.get(at);
    const notes = [citing && [`cited by ${citing.length === 1 ? "sentence" : "sentences"} ${citing.join(", ")}`], ...this.tasks(item, "passages").map((task) => [task])];
    return element(
      "li", { id: this.passageId(at), tabindex: "-1" },
      element("span.rank", { "aria-hidden": "true" }, String(at + 1)),
      element("div.what", {}, element("div.line", {}, documentTitle(found), item.dropped ? this.nothing() : badge), found.text ? unfolding(found.text) : element("p.text", {}, "The text is not in the report."), this.notes(notes), this.reasons(item)),
    );
  }

  item(item, badge, notes, number = null) {
    const text = item.text === undefined ? element("bdi.id", {}, printable(item.id)) : element("span.words", { dir: "auto" }, printableLines(item.text));
    const place = number && element("span.rank", { "aria-hidden": "true" }, String(number));
    return element("li", { class: item.dropped && "dropped" }, place, element("div.what", {}, element("div.line", {}, text, badge), this.notes(notes), this.reasons(item)));
  }

  notes(notes) {
    const shown = notes.filter(Boolean);
    return shown.length ? element("p.notes", {}, shown.map((parts) => element("span", {}, ...parts))) : null;
  }

  nothing() {
    return element("span.label.other", {}, "nothing to judge");
  }

  // The passages that support an item, and those that might: none if it is known that all together do not. Then those
  // that contradict it.
  supporting(item, words, of) {
    if (!this.has(`${of} passage`) || item.dropped || !this.passages.length) return null;
    const labels = this.passages.map((_, place) => item.passages?.[place] ?? null);
    if (labels.every((label) => label === null)) return [`${words}: `, labelBadge(null, {}, item.labels?.context ? "not labelled one by one" : "unknown")];
    const isSettled = labels.includes("full") || ["none", "contradicts"].includes(item.labels?.context);
    const placed = labels.map((label, place) => [label, place]);
    const shown = placed.filter(([label]) => label !== "none" && label !== "contradicts" && !(label === null && isSettled));
    const links = (some) => some.map(([label, place]) => this.link(place, label));
    const supporting = shown.length ? [`${words} `, ...links(shown)] : [words === "in passages" ? "in no passage" : "supported by no passage"];
    const contradicting = placed.filter(([label]) => label === "contradicts");
    return contradicting.length ? [...supporting, ", contradicted by ", ...links(contradicting)] : supporting;
  }

  // A link to a passage, with how far it supports the item.
  link(place, label, more = "") {
    const passage = this.passages[place];
    const id = passage ? printable(documentOf(passage.doc).id ?? "") : "";
    const says = label === null ? "unknown whether it supports this" : `${{ full: "supports this in full", partial: "supports this in part", none: "does not support this", contradicts: "contradicts this", differs: "samples differ on whether it supports this" }[label]}`;
    const words = `Passage ${place + 1}${id && `, ${id}`}: ${says}${more}`;
    const kind = label ?? "unknown";
    return element("button.cite", { type: "button", class: `cite ${kind}`, title: words, "aria-label": words, disabled: !passage, onclick: () => this.show(place) }, String(place + 1), element("span", { "aria-hidden": "true" }, ` ${MARKS[kind] ?? "?"}`));
  }

  without(item, place) {
    const label = item.labels?.[`others ${place}`];
    return label === undefined ? "" : `; the other cited passages without it: ${label === null ? "unknown" : label}`;
  }

  invalid(written) {
    return element("span.cite.invalid", { title: "This citation points to no passage" }, element("span", { "aria-hidden": "true" }, "⚠ "), element("s", { dir: "auto" }, printable(written)), hidden(" points to no passage"), element("span", { "aria-hidden": "true" }, " no passage"));
  }

  passageId(place) {
    return `passage-${this.system}-${place}`;
  }

  show(place) {
    const target = byId(this.passageId(place));
    target.parentElement.querySelectorAll(".same").forEach((other) => other.classList.remove("same"));
    target.classList.add("same");
    const text = target.querySelector("details.text");
    if (text) text.open = true;
    target.scrollIntoView({ block: "nearest" });
    target.focus({ preventScroll: true });
  }

  // What the label of a task means, if that is known, and who gave it.
  meaning(item, task) {
    const means = content.verdicts.means[task]?.[item.labels?.[task]];
    return means ? `${printable(means)}; ${this.byline(item, task)}` : this.byline(item, task);
  }

  byline(item, key) {
    const votes = item.votes?.[key];
    return votes ? votes.map(([author, label]) => `${printable(this.authors[author])}: ${label === null ? "no label" : printable(label)}`).join("; ") : `label by ${printable(this.authors.join(", "))}`;
  }

  // Who gave which label and why, where there is a reason or several labels.
  reasons(item) {
    const explained = Object.entries(item.votes ?? {}).map(([key, votes]) => [key, votes.filter((vote) => !vote[4])]); // without failures
    const entries = explained.filter(([, votes]) => votes.length).filter(([, votes]) => votes.length > 1 || votes[0][2] || votes[0][1] === null);
    const shown = entries.filter(([key, votes]) => key !== "nothing" || votes.some((vote) => vote[2]));
    if (!shown.length) return null;
    const lines = shown.flatMap(([key, votes]) => votes.map(([author, label, why, sample]) => {
      const said = label === null ? (key === "nothing" ? "" : ": could not be labelled") : `: ${printable(label)}`;
      const who = this.who(author, sample);
      return element("li", {}, element("b", {}, `${this.about(key)}${said}`), why ? element("span", { dir: "auto" }, ` – ${printableLines(why)}`) : "", element("span.quiet", {}, " (", ...who, ")"));
    }));
    const hasReason = shown.some(([, votes]) => votes.some((vote) => vote[2]));
    const hasDissent = shown.some(([, votes]) => new Set(votes.map((vote) => vote[1])).size > 1);
    const summary = lines.length === 1 ? (hasReason ? "Reason" : "Label") : `${lines.length} labels${hasReason ? " and reasons" : ""}`;
    return element("details.reasons", { open: lines.length <= 2 && (hasReason || hasDissent) }, element("summary", {}, summary), element("ul", {}, lines));
  }

  // An author, and which of several samples it is.
  who(author, sample) {
    return [element("bdi", {}, printable(this.authors[author])), content.verdicts.samples[this.system] > 1 ? `, sample ${sample + 1}` : ""];
  }

  // What a label is about, by its key.
  about(key) {
    const [kind, place] = key.split(" ");
    if (place !== undefined && (kind === "passage" || kind === "others")) return kind === "passage" ? `passage ${Number(place) + 1}` : `cited passages without ${Number(place) + 1}`;
    return { context: "all passages", cited: "cited passages", gold: "gold answer", answer: "in the answer", nothing: "nothing to judge" }[key] ?? printable(key);
  }
}

// The range of a value that is null because of unknown labels, or why there is none.
function boundsText(system, measure, query) {
  const bounds = content.queries.bounds?.[system]?.[measure]?.[query];
  if (bounds === undefined) return null;
  if (bounds === null) return "nothing to judge";
  const [low, high, isExact] = bounds;
  return `${valueText(low)} to ${valueText(high)}${isExact ? "" : ", or within"}`;
}

// Whether a measure depends on unknown labels of a query.
function hasUnknownLabels(system, query) {
  return Object.values(content.queries.bounds?.[system] ?? {}).some((ofMeasure) => ofMeasure[query]);
}

function boundsNote(system, measure, query) {
  const text = boundsText(system, measure, query);
  return text && element("span.range", { title: text === "nothing to judge" ? null : "What unknown labels allow" }, ` ${text}`);
}

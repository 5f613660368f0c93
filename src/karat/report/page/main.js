// Everything is put together.

function fillChoices() {
  const names = (list) => list.map((name, at) => element("option", { value: at }, printable(name)));
  const selects = { measure: byId("choose-measure"), a: byId("choose-a"), b: byId("choose-b") };
  selects.measure.append(...names(content.measures.map((measure) => measure.name)));
  for (const [name, select] of Object.entries(selects)) {
    if (name !== "measure") select.append(...names(content.systems));
    select.addEventListener("change", () => choose({ [name]: Number(select.value) }));
  }
  const show = () => Object.entries(selects).forEach(([name, select]) => (select.value = state[name] ?? ""));
  byId("swap").addEventListener("click", () => choose({ a: state.b, b: state.a }));
  if (content.systems.length < 2) [byId("swap"), selects.a.parentElement, selects.b.parentElement].forEach((control) => control.remove());
  listeners.push(show);
  show();
}

// Links to sections leave the fragment alone, because it says what is chosen.
function scrollToSections() {
  document.querySelectorAll('nav a[href^="#"], a.skip').forEach((link) =>
    link.addEventListener("click", (event) => {
      event.preventDefault();
      const section = byId(link.getAttribute("href").slice(1));
      section.focus({ preventScroll: true });
      section.scrollIntoView();
    }),
  );
}

async function start() {
  await readContent();
  document.documentElement.classList.add("js");
  Object.assign(state, stateOfFragment());
  fillChoices();
  scrollToSections();
  makeTableSortable();
  makeQueries();
  makeQueryDialog();
  makeKeys();
  makeCharts();
  addEventListener("popstate", followFragment);
  document.documentElement.dataset.ready = "";
}

start();

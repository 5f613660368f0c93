// Keys, and the dialog that lists them.

const KEYS = [
  [["j", "↓"], "next query"],
  [["k", "↑"], "previous query"],
  [["→", "←"], "next and previous query, while one is open"],
  [["Enter"], "open the query"],
  [["Esc"], "close the query, or leave the search"],
  [["/"], "search"],
  [["?"], "show these keys"],
];

function makeKeys() {
  const help = byId("help");
  const rows = KEYS.map(([keys, text]) => element("div", {}, element("dt", {}, keys.flatMap((key) => [element("kbd", {}, key), " "])), element("dd", {}, text)));
  const close = element("button", { type: "button", "aria-label": "Close", onclick: () => help.close() }, "✕");
  help.append(element("div.toolbar", {}, element("h2", { id: "help-heading" }, "Keys"), close), element("dl.keys", {}, ...rows));
  help.addEventListener("click", (event) => event.target === help && help.close());
  byId("help-button").addEventListener("click", () => help.showModal());
  addEventListener("keydown", onKey);
}

function onKey(event) {
  if (event.ctrlKey || event.metaKey || event.altKey || byId("help").open) return;
  const target = event.target;
  const isTyping = target.matches?.("input, select, textarea");
  if (event.key === "Escape" && target.id === "search") {
    event.preventDefault(); // some browsers would empty the field, and not say so
    target.blur();
    return;
  }
  if (isTyping && !(target.id === "search" && event.key === "ArrowDown")) return;
  const action = keyAction(event.key, target);
  if (!action) return;
  event.preventDefault();
  action();
}

function keyAction(key, target) {
  if (key === "?") return () => byId("help").showModal();
  const by = { j: 1, ArrowDown: 1, ArrowRight: 1, k: -1, ArrowUp: -1, ArrowLeft: -1 }[key];
  if (state.query !== null) {
    const scrolls = key.startsWith("Arrow") && target.matches?.(".scroll");
    if (!by || scrolls || key === "ArrowDown" || key === "ArrowUp") return null;
    const next = selected[selected.indexOf(state.query) + by];
    return next === undefined ? null : () => choose({ query: next }, { replace: true });
  }
  if (key === "/") return () => byId("search").focus();
  const isHere = byId("queries").contains(target);
  if (!by || key === "ArrowRight" || key === "ArrowLeft" || (key.startsWith("Arrow") && !isHere)) return null;
  return () => moveFocus(by);
}

// From row to row; the first row if none has the focus.
function moveFocus(by) {
  const links = [...document.querySelectorAll("table.queries tbody a")];
  const at = links.indexOf(document.activeElement);
  links[at < 0 ? 0 : at + by]?.focus();
}

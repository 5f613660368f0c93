// Elements, and texts in them. Texts from users' files become text nodes, never markup.

// As errors.UNPRINTABLE: control characters, characters that change the direction of writing, invisible ones and lone
// surrogates are shown as escapes.
const UNPRINTABLE =
  /[\x00-\x1f\x7f-\x9f\xad\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\ud800-\udfff]/gu;

function printable(text) {
  return String(text).replace(UNPRINTABLE, escaped);
}

// As `printable`, for texts of several lines.
function printableLines(text) {
  return String(text).replace(/\r\n?/g, "\n").replace(UNPRINTABLE, (found) => (found === "\n" || found === "\t" ? found : escaped(found)));
}

function escaped(character) {
  const code = character.codePointAt(0);
  const short = { 9: "\\t", 10: "\\n", 13: "\\r" }[code];
  return short ?? (code < 256 ? `\\x${code.toString(16).padStart(2, "0")}` : `\\u${code.toString(16).padStart(4, "0")}`);
}

// element("p.note", { id: "x", onclick: f }, "text", child, null): names of properties and attributes are those of HTML.
function element(tag, properties = {}, ...children) {
  const [name, ...classes] = tag.split(".");
  const made = document.createElement(name);
  if (classes.length) made.className = classes.join(" ");
  setProperties(made, properties);
  made.append(...children.flat().filter((child) => child !== null && child !== undefined && child !== false));
  return made;
}

function svg(name, attributes, ...children) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children);
  return made;
}

function setProperties(target, properties) {
  for (const [key, value] of Object.entries(properties)) {
    if (value === null || value === undefined || value === false) continue;
    if (key.startsWith("on")) target.addEventListener(key.slice(2), value);
    else target.setAttribute(key, value === true ? "" : value);
  }
}

const byId = (id) => document.getElementById(id);
const hidden = (text) => element("span.hidden", {}, text);

// Numbers as karat's tables show them: four decimals, whole numbers for counts, a dash for null, and 0 only for 0.
function valueText(value, isCount = false) {
  if (value === null || value === undefined) return "–";
  if (typeof value === "string") return value === "inf" ? "∞" : "−∞";
  if (isCount && Number.isInteger(value)) return value.toLocaleString("en").replace("-", "−");
  const text = fourDecimals(value);
  return /^[0.]+$/.test(text) && Math.abs(value) > 5e-10 ? twoDigits(value) : text.replace("-", "−");
}

// As Python rounds: of two numbers that are equally near, which only odd multiples of 1/32 have, to the even one.
function fourDecimals(value) {
  const below = Math.floor(value * 10000);
  const nearest = Math.abs((value * 32) % 2) === 1 ? (below + (below % 2 ? 1 : 0)) / 10000 : value;
  return nearest.toFixed(4).replace(/^-(?=[0.]+$)/, "");
}

// A difference as karat's tables show it: with its sign, and 0 only if it is 0.
function changeText(value, isCount = false) {
  if (value === null) return "–";
  const text = valueText(value, isCount);
  const shown = value !== 0 && /^[0.]+$/.test(text) ? twoDigits(value) : text;
  return value > 0 ? `+${shown}` : shown;
}

const twoDigits = (value) => value.toExponential(1).replace(".0e", "e").replace(/e-(\d)$/, "e-0$1").replaceAll("-", "−");

function plural(count, noun) {
  const many = noun.endsWith("y") ? `${noun.slice(0, -1)}ies` : `${noun}s`;
  return `${count.toLocaleString("en")} ${count === 1 ? noun : many}`;
}

// A text with the parts between [start, end] marked; offsets count code points, as in Python.
function marked(text, spans, label = null) {
  const characters = Array.from(text);
  const parts = [];
  let at = 0;
  for (const [start, end] of [...spans].sort((left, right) => left[0] - right[0])) {
    if (end <= at) continue;
    parts.push(printableLines(characters.slice(at, Math.max(at, start)).join("")));
    parts.push(element("mark", { title: label }, printableLines(characters.slice(Math.max(at, start), end).join(""))));
    at = end;
  }
  parts.push(printableLines(characters.slice(at).join("")));
  return parts.filter((part) => part !== "");
}

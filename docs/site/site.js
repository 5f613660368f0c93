// What the generator and Markdown leave to be done for readers who listen to a page.
new MutationObserver(() => {
  // The box of the button that copies a block of code is no landmark: a page would have dozens of the same name.
  for (const box of document.querySelectorAll(".md-code__nav:not([role])")) box.setAttribute("role", "none");
  // Markdown has no table without a header; an empty cell heads nothing.
  for (const cell of document.querySelectorAll("th:empty")) cell.replaceWith(document.createElement("td"));
}).observe(document.documentElement, { childList: true, subtree: true });

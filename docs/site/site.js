// What the generator and Markdown leave to be done for readers who listen to a page, or use no mouse.
const scrolling = new ResizeObserver((boxes) => {
  for (const { target } of boxes) {
    if (target.scrollWidth > target.clientWidth) target.tabIndex = 0;
    else target.removeAttribute("tabindex");
  }
});
new MutationObserver(() => {
  // The box of the button that copies code must not be a landmark: a page would have dozens with the same name.
  for (const box of document.querySelectorAll(".md-code__nav:not([role])")) box.setAttribute("role", "none");
  // Markdown has no table without a header; an empty cell heads nothing.
  for (const cell of document.querySelectorAll("th:empty")) cell.replaceWith(document.createElement("td"));
  // What is wider than the page can be scrolled with the keyboard, too.
  for (const box of document.querySelectorAll(".notebook-output, .md-typeset__scrollwrap")) scrolling.observe(box);
}).observe(document.documentElement, { childList: true, subtree: true });

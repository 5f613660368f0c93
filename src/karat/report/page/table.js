// The table of systems: sorted by its headings.

function makeTableSortable() {
  const table = document.querySelector("table.results:not(.by-measure)");
  if (!table) return;
  table.querySelectorAll("thead th").forEach((heading, column) => {
    const button = element("button.sort", { type: "button" });
    button.append(...heading.childNodes);
    heading.replaceChildren(button);
    button.addEventListener("click", () => sortTable(table, heading, column));
  });
}

function sortTable(table, heading, column) {
  const current = heading.getAttribute("aria-sort");
  const first = column === 0 || "lower" in heading.dataset ? "ascending" : "descending";
  const order = current === null ? first : current === "ascending" ? "descending" : "ascending";
  table.querySelectorAll("thead th").forEach((other) => other.removeAttribute("aria-sort"));
  heading.setAttribute("aria-sort", order);
  const key = (row) => {
    const cell = row.cells[column];
    if (column === 0) return cell.textContent;
    return cell.dataset.value === "" ? null : Number(cell.dataset.value.replace("inf", "Infinity"));
  };
  const rows = [...table.tBodies[0].rows];
  rows.sort((left, right) => {
    const [one, other] = [key(left), key(right)];
    if (one === null || other === null) return (one === null) - (other === null);
    const compared = column === 0 ? one.localeCompare(other, "en", { numeric: true }) : one - other || 0;
    return order === "ascending" ? compared : -compared;
  });
  table.tBodies[0].append(...rows);
}

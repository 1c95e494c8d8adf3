// Tables that sort by any column, with a filter where there are many rows.

const rowsAtFirst = 200;

function sorted(rows, column, down) {
  const order = (a, b) => a === b ? 0 : a === null ? 1 : b === null ? -1 : typeof a === "number" ? a - b : String(a).localeCompare(String(b), "en", { numeric: true });
  return [...rows].sort((a, b) => (down ? -1 : 1) * order(a[column], b[column]));
}

function sortable(place, columns, rows, caption) {
  let chosen = -1, down = false, all = false;
  const isText = columns.map((_, index) => rows.every((row) => row[index] === null || typeof row[index] === "string"));
  const filter = element("input");
  filter.type = "search";
  filter.placeholder = "filter";
  filter.setAttribute("aria-label", `Filter ${caption}`);
  const scroll = element("div", "", "scroll");
  scroll.tabIndex = 0;
  scroll.setAttribute("role", "region");
  scroll.setAttribute("aria-label", caption);
  const heads = columns.map(([name], index) => {
    const head = element("th", "", isText[index] ? "text" : "");
    const button = element("button", name);
    button.type = "button";
    button.addEventListener("click", () => {
      down = chosen === index ? !down : !isText[index];
      chosen = index;
      show();
    });
    head.scope = "col";
    head.append(button);
    return head;
  });
  const top = element("tr");
  top.append(...heads);
  const thead = element("thead");
  thead.append(top);
  const body = element("tbody");
  const table = element("table");
  table.append(thead, body);
  scroll.append(table);
  const more = element("button");
  more.type = "button";
  more.addEventListener("click", () => { all = true; show(); });

  function show() {
    heads.forEach((head, index) => head.setAttribute("aria-sort", index === chosen ? (down ? "descending" : "ascending") : "none"));
    const wanted = filter.value.trim().toLowerCase();
    const found = rows.filter((row) => row.some((value) => String(value).toLowerCase().includes(wanted)));
    const ordered = chosen < 0 ? found : sorted(found, chosen, down);
    body.replaceChildren(...ordered.slice(0, all ? undefined : rowsAtFirst).map((row) => {
      const line = element("tr");
      line.append(...row.map((value, index) => element("td", written(value, columns[index][1]), isText[index] ? "text" : "")));
      return line;
    }));
    more.hidden = all || ordered.length <= rowsAtFirst;
    more.textContent = `Show all ${ordered.length.toLocaleString("en")} rows`;
  }
  filter.addEventListener("input", show);
  place.append(...(rows.length > 8 ? [filter] : []), scroll, more);
  show();
}

function showTables(place, grids) {
  for (const grid of grids) {
    const box = element("details", "", "grid");
    box.id = `table-${grid.name}`;
    const count = grid.rows.length.toLocaleString("en");
    box.append(element("summary", grid.rows.length ? `${grid.title} (${count})` : grid.title));
    if (grid.note) box.append(element("p", grid.note, "quiet"));
    // A table is made when it is opened: a large run has thousands of rows that nobody may look at.
    if (grid.rows.length) box.addEventListener("toggle", () => sortable(box, grid.columns, grid.rows, grid.title), { once: true });
    box.open = grid.name === "ranks" && grid.rows.length > 0 && grid.rows.length <= 32;
    place.append(box);
  }
  addEventListener("beforeprint", () => place.querySelectorAll("details").forEach((box) => { box.open = true; }));
}

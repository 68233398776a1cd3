"use strict";
(() => {
  const data = JSON.parse(document.getElementById("sessions-data").textContent);
  const body = document.getElementById("sessions-body");
  const said = document.getElementById("sessions-said");
  const search = document.getElementById("search");
  const kind = document.getElementById("kind");
  const trouble = document.getElementById("trouble");
  const headers = [...document.querySelectorAll("th[data-column]")];
  const perPage = 100;
  let order = null, down = true, page = 0;

  // A row: scope, kind, items, equal, changed, expired, missing, different.
  const rows = data.map((row) => ({ row, text: row[0].toLowerCase() }));

  const chosen = () => {
    const wanted = search.value.toLowerCase();
    let found = rows.filter(({ row, text }) =>
      text.includes(wanted) &&
      (!kind.value || row[1] === kind.value) &&
      (!trouble.checked || row[6] + row[7] > 0));
    if (order !== null) {
      const sign = down ? -1 : 1;
      found = found.slice().sort(({ row: a }, { row: b }) => sign *
        (typeof a[order] === "number" ? a[order] - b[order]
          : a[order] < b[order] ? -1 : a[order] > b[order] ? 1 : 0));
    }
    return found;
  };

  const show = () => {
    const found = chosen();
    const pages = Math.max(1, Math.ceil(found.length / perPage));
    page = Math.min(page, pages - 1);
    body.replaceChildren(...found.slice(page * perPage, (page + 1) * perPage).map(
      ({ row }) => {
        const line = document.createElement("tr");
        row.forEach((value, column) => {
          const cell = document.createElement(column ? "td" : "th");
          if (!column) cell.scope = "row";
          cell.textContent = typeof value === "number" ? value.toLocaleString("en") : value;
          if (column > 1) cell.className = column > 5 && value ? "n bad" : "n";
          line.append(cell);
        });
        return line;
      }));
    said.textContent = `${found.length.toLocaleString("en")} of ` +
      `${rows.length.toLocaleString("en")} shown, page ${page + 1} of ${pages}`;
    document.getElementById("before").disabled = page === 0;
    document.getElementById("after").disabled = page >= pages - 1;
  };

  const anew = () => { page = 0; show(); };
  search.addEventListener("input", anew);
  kind.addEventListener("change", anew);
  trouble.addEventListener("change", anew);
  document.getElementById("before").addEventListener("click", () => { page -= 1; show(); });
  document.getElementById("after").addEventListener("click", () => { page += 1; show(); });
  headers.forEach((header) => header.querySelector("button").addEventListener("click", () => {
    const column = Number(header.dataset.column);
    down = order === column ? !down : column > 1;
    order = column;
    headers.forEach((other) => other.removeAttribute("aria-sort"));
    header.setAttribute("aria-sort", down ? "descending" : "ascending");
    anew();
  }));
  document.getElementById("controls").hidden = false;
  show();
})();

"use strict";
// Parts of a page: figures, stacked bars, tables that are charts, pictures.

function figures(list) {
  return el("dl", { class: "figures" }, list.filter(Boolean).map(([name, value, note]) =>
    el("div", {}, el("dt", {}, name), el("dd", {}, value, note ? el("small", {}, note) : null))));
}

// One bar of parts [{name, value, colour}] that share a whole; what is left of the whole is empty.
function stack(parts, whole, format) {
  const shown = parts.filter((part) => part.value > 0), share = (part) => part.value / whole < 5e-4 ? "< 0.1 %" : percent(part.value / whole);
  const bar = el("div", { class: "stack", role: "img", "aria-label": shown.map((p) => `${p.name} ${percent(p.value / whole)}`).join(", ") },
    shown.map((part) => el("span", {
      title: `${part.name}: ${format(part.value)}, ${percent(part.value / whole)}`,
      style: { width: `${100 * part.value / whole}%`, background: part.colour },
    })));
  const legend = el("ul", { class: "legend" }, shown.map((part) => el("li", {},
    el("i", { class: "swatch", style: { background: part.colour } }), part.name + " ", el("b", {}, share(part)))));
  return [bar, legend];
}

// Columns: {key, label, format, kind: "num" | "text" | "long" | "bar" | "tag", colour(row), value(row)}. A column of bars draws its
// number as a length: the table behind the chart is the chart.
function table(columns, rows, options = {}) {
  const most = options.most ?? 12;
  const value = (column, row) => column.value ? column.value(row) : row[column.key];
  const largest = columns.map((column) => column.kind === "bar" ? Math.max(1e-300, ...rows.map((row) => Math.abs(value(column, row) ?? 0))) : 0);
  const body = el("tbody");
  let order = rows.slice();
  let all = rows.length <= most + 2;
  const more = el("button", { class: "plain", type: "button", onclick: () => { all = true; fill(); } }, `show all ${rows.length}`);
  function cell(column, number, row) {
    const data = value(column, row);
    if (column.kind === "bar") {
      return el("td", { class: "bar", "aria-hidden": "true" }, el("i", {
        style: { width: `${100 * Math.abs(data ?? 0) / largest[number]}%`, background: column.colour ? column.colour(row) : colour("blue") } }));
    }
    if (column.kind === "tag") return el("td", {}, data ? el("span", { class: "tag " + data }, data) : "");
    const text = data === undefined || data === null ? "" : column.format ? column.format(data, row) : plain(data);
    return el("td", { class: column.kind === "num" ? "num" : column.kind === "long" ? "text long" : "text" }, text);
  }
  function fill() {
    body.replaceChildren(...order.slice(0, all ? undefined : most).map((row) =>
      el("tr", { class: options.best && options.best(row) ? "best" : null }, columns.map((column, number) => cell(column, number, row)))));
    more.hidden = all;
  }
  function sort(column, head) {
    const down = head.getAttribute("aria-sort") !== "descending";
    for (const other of head.parentNode.children) other.removeAttribute("aria-sort");
    head.setAttribute("aria-sort", down ? "descending" : "ascending");
    const key = (row) => value(column, row) ?? (down ? -Infinity : Infinity);
    order = rows.slice().sort((a, b) => {
      const x = key(a), y = key(b);
      const less = typeof x === "number" && typeof y === "number" ? x - y : String(x).localeCompare(String(y), "en", { numeric: true });
      return down ? -less : less;
    });
    fill();
  }
  const heads = columns.map((column) => {
    if (column.kind === "bar") return el("th", { scope: "col", "aria-hidden": "true" }, column.label ?? "");
    const head = el("th", { scope: "col", class: column.kind === "num" ? "num" : null });
    head.append(el("button", { type: "button", title: "sort", onclick: () => sort(column, head) }, column.label));
    return head;
  });
  fill();
  return [el("div", { class: "scroll" }, el("table", {}, options.caption ? el("caption", {}, options.caption) : null,
    el("thead", {}, el("tr", {}, heads)), body)), more];
}

function details(summary, ...content) {
  return el("details", {}, el("summary", {}, summary), ...content);
}

function section(title, note, ...content) {
  const id = title.toLowerCase().replace(/[^a-z0-9]+/g, "-");
  return el("section", { id, "aria-label": title }, el("h2", {}, title), note ? el("p", { class: "note" }, note) : null, ...content);
}

// An SVG picture of the program's own, parsed as XML: a script in it would not run.
function picture(svg, title) {
  const root = new DOMParser().parseFromString(svg, "image/svg+xml").documentElement;
  if (root.nodeName !== "svg") return el("p", { class: "note" }, "The picture cannot be read.");
  root.setAttribute("role", "img");
  root.setAttribute("aria-label", title);
  return el("div", { class: "picture" }, document.importNode(root, true));
}

// Columns for rows of which nothing is known but their keys.
function columns_of(rows) {
  const keys = [];
  for (const row of rows) for (const key of Object.keys(row)) if (!keys.includes(key)) keys.push(key);
  return keys.filter((key) => rows.some((row) => typeof row[key] !== "object" || row[key] === null)).map((key) => {
    const numeric = rows.every((row) => row[key] === undefined || row[key] === null || typeof row[key] === "number");
    const format = !numeric ? undefined : /_s$|seconds|mean_step/.test(key) ? seconds : /bytes/.test(key) ? bytes : undefined;
    return { key, label: words(key), kind: numeric ? "num" : "text", format };
  });
}

const table_of = (rows, options) => table(columns_of(rows), rows, options);

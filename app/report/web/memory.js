"use strict";
// Memory over one step: areas on top of each other, one for each use, of one rank at a time.

const kUseTones = { "CUDA context": "grey", fragmentation: "muted", parameters: "blue", "optimizer states": "sky", gradients: "green", activations: "orange", communication: "pink", workspace: "red" };

function svg(tag, attributes, ...children) {
  const node = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
  node.append(...children);
  return node;
}

// A course with dates in seconds from the step's first change, totals, and uses from the bottom up.
function unpacked_course(course) {
  let at = 0;
  const dates = course.dates.map((step) => at += step);
  const uses = Object.keys(kUseTones).filter((use) => course.uses.includes(use)).map((name) => ({ name, held: course.held[course.uses.indexOf(name)] }));
  const totals = dates.map((_, i) => uses.reduce((sum, use) => sum + use.held[i], 0));
  return { rank: course.rank, dates: dates.map((date) => (date - dates[0]) * 1e-9), first: dates[0], uses, totals, peak: Math.max(...totals) };
}

// A capacity far above the peak would leave only a strip of the chart: then it is in the sentence alone.
const kMostTimesPeak = 2.5;

function memory_picture(course, end, whole) {
  const capacity = whole <= kMostTimesPeak * course.peak ? whole : null;
  const width = 1056, height = 260, left = 64, bottom = 28, top = 12, right = 8;
  const last = Math.max((end - course.first) * 1e-9, course.dates.at(-1)), most = 1.04 * Math.max(course.peak, capacity ?? 0);
  const x = (date) => left + (width - left - right) * date / last, y = (held) => height - bottom - (height - bottom - top) * held / most;
  const text = (content, attributes) => svg("text", { fill: colour("muted"), "font-size": 12, ...attributes }, content);
  const root = svg("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": `memory of rank ${course.rank} over a step, at most ${bytes(course.peak)}` });
  for (let i = 0; i <= 4; ++i) {
    root.append(svg("line", { x1: left, x2: width - right, y1: y(most * i / 4.16), y2: y(most * i / 4.16), stroke: colour("grid") }),
      text(bytes(most * i / 4.16).replace(/(\.\d)\d+/, "$1"), { x: left - 8, y: y(most * i / 4.16) + 4, "text-anchor": "end" }),
      text(seconds(last * i / 4), { x: x(last * i / 4), y: height - 8, "text-anchor": i === 0 ? "start" : i === 4 ? "end" : "middle" }));
  }
  let below = course.dates.map(() => 0);
  for (const use of course.uses) {
    const above = below.map((held, i) => held + use.held[i]);
    const edge = (held) => held.map((value, i) => [`${x(course.dates[i]).toFixed(1)},${y(value).toFixed(1)}`, `${x(course.dates[i + 1] ?? last).toFixed(1)},${y(value).toFixed(1)}`]).flat();
    root.append(svg("polygon", { points: [...edge(above), ...edge(below).reverse()].join(" "), fill: colour(kUseTones[use.name]) }, svg("title", {}, use.name)));
    below = above;
  }
  if (capacity) {
    root.append(svg("line", { x1: left, x2: width - right, y1: y(capacity), y2: y(capacity), stroke: colour("ink"), "stroke-dasharray": "5 4" }),
      text(`the GPU has ${bytes(capacity)}`, { x: width - right, y: y(capacity) - 4, "text-anchor": "end" }));
  }
  return root;
}

function memory_course_section(timeline, memory) {
  const courses = (timeline?.memory ?? []).map(unpacked_course);
  if (!courses.length) return null;
  const body = el("div", {});
  const show = (course) => {
    const peak = course.totals.indexOf(course.peak);
    const rows = course.dates.map((date, i) => ({ date, total: course.totals[i], ...Object.fromEntries(course.uses.map((use) => [use.name, use.held[i]])) }));
    body.replaceChildren(el("div", { class: "picture" }, memory_picture(course, timeline.step_end, memory?.capacity)),
      el("ul", { class: "legend" }, course.uses.map((use) => el("li", {}, el("i", { class: "swatch", style: { background: colour(kUseTones[use.name]) } }), use.name + " ", el("b", {}, bytes(Math.max(...use.held)))))),
      el("p", { class: "note" }, `Rank ${course.rank} holds most, ${bytes(course.peak)}${memory?.capacity ? ` of ${bytes(memory.capacity)}` : ""}, ${seconds(course.dates[peak])} after its host began the step. Memory is taken and given back when the host issues the work, as PyTorch's allocator does.`),
      details("table of the levels", ...table([{ key: "date", label: "from", kind: "num", format: seconds }, { key: "total", label: "in all", kind: "num", format: bytes },
        ...course.uses.map((use) => ({ key: use.name, label: use.name, kind: "num", format: bytes }))], rows, { most: 20 })));
  };
  const fullest = courses.reduce((most, course) => course.peak > most.peak ? course : most);
  const choice = courses.length > 1 ? el("p", { class: "note" }, el("label", {}, "rank ", el("select", { onchange: (event) => show(courses[event.target.selectedIndex]) },
    courses.map((course) => el("option", course === fullest ? { selected: true } : {}, String(course.rank)))))) : null;
  show(fullest);
  return section("Memory over the step", null, choice, body);
}

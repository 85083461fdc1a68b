"use strict";
// One step on a canvas: host threads and streams of a few ranks. Zoom, pan, hover, keys; the critical path is lit.

const kAxis = 24, kRankRow = 24, kHostRow = 13, kGpuRow = 22, kPathRow = 4, kGap = 5, kHostDepth = 4;

// From the flat numbers of the data to arrays; rows of nested host spans.
function unpacked_lane(lane) {
  const width = lane.gpu ? 4 : 3, count = lane.spans.length / width;
  const out = { name: lane.name, gpu: lane.gpu, start: new Float64Array(count), end: new Float64Array(count), label: new Int32Array(count),
    wait: new Float64Array(count).fill(-1), row: new Uint8Array(count), depth: 1, path: [] };
  let at = 0;
  const open = [];
  for (let i = 0; i < count; ++i) {
    at += lane.spans[width * i];
    out.start[i] = at;
    out.end[i] = at + lane.spans[width * i + 1];
    out.label[i] = lane.spans[width * i + 2];
    if (lane.gpu) { out.wait[i] = lane.spans[4 * i + 3]; continue; }
    while (open.length && open[open.length - 1] <= at) open.pop();
    out.row[i] = Math.min(open.length, kHostDepth - 1);
    out.depth = Math.max(out.depth, out.row[i] + 1);
    open.push(out.end[i]);
  }
  for (let i = 0, from = 0; i < lane.path.length; i += 2) {
    from += lane.path[i];
    out.path.push([from, from + lane.path[i + 1]]);
  }
  return out;
}

function span_colour(lane, i, names) {
  const name = names[lane.label[i]];
  if (lane.gpu) return lane.wait[i] >= 0 ? "orange" : /^Mem(cpy|set)/.test(name) ? "green" : "blue";
  if (/Synchronize$|^wait /.test(name)) return "faint";
  return /^cuda|^hip/.test(name) ? "sky" : "grey";
}

class Timeline {
  constructor(data) {
    this.names = data.names;
    this.step = [data.step_start, data.step_end];
    this.ranks = data.ranks.map((rank) => ({ rank: rank.rank, lanes: rank.lanes.map(unpacked_lane) }));
    const lanes = this.ranks.flatMap((rank) => rank.lanes).filter((lane) => lane.start.length);
    this.first = Math.min(...lanes.map((lane) => lane.start[0]));
    this.last = Math.max(data.step_end, ...lanes.map((lane) => lane.end.reduce((a, b) => Math.max(a, b), 0)));
    this.pattern = null;
    this.width = 1000;
    this.label = 150;
    this.hosts = this.ranks.length === 1;
    this.lit = true;
    this.find = "";
    this.chosen = null;
    this.canvas = el("canvas", { tabindex: "0", role: "application", "aria-label": "timeline of one step: arrows move, plus and minus zoom, 0 shows all, n and p go to the next and previous piece" });
    this.tip = el("div", { class: "tip", hidden: true });
    this.box = el("div", { class: "timeline" }, this.canvas, this.tip);
    this.told = el("p", { class: "selected", "aria-live": "polite" }, "Point at a piece, or press Tab and then n, to see what it is.");
    this.all();
    this.listen();
  }

  all() { const rest = 0.01 * (this.last - this.first); this.from = this.first - rest; this.to = this.last + rest; }

  node() {
    const button = (text, title, action) => el("button", { class: "plain", type: "button", title, onclick: () => { action(); this.draw(); } }, text);
    const check = (text, value, action) => el("label", {}, el("input", { type: "checkbox", checked: value, onchange: (e) => { action(e.target.checked); this.draw(); } }), text);
    const search = el("input", { type: "search", placeholder: "find a name", "aria-label": "find a name", oninput: (e) => { this.find = e.target.value.toLowerCase(); this.draw(); } });
    const key = (name, text) => el("li", {}, el("i", { class: "swatch", style: { background: name } }), text);
    return [
      el("div", { class: "tools" }, button("zoom in", "+", () => this.zoom(0.5)), button("zoom out", "-", () => this.zoom(2)),
        button("whole step", "0", () => this.all()), check("critical path", this.lit, (on) => { this.lit = on; }),
        this.ranks.length > 1 ? check("host threads of all ranks", this.hosts, (on) => { this.hosts = on; }) : null, search),
      el("ul", { class: "legend" }, key(colour("blue"), "kernel"), key(colour("orange"), "collective, transfer"),
        key("repeating-linear-gradient(45deg, var(--orange) 0 2px, var(--paper) 2px 5px)", "collective, waiting for others"), key(colour("green"), "copy"),
        key(colour("sky"), "launch, runtime call"), key(colour("grey"), "operator on the host"), key(colour("red"), "critical path")),
      this.box, this.told];
  }

  listen() {
    const c = this.canvas;
    c.addEventListener("wheel", (e) => {
      if (!e.ctrlKey && document.activeElement !== c) return;
      e.preventDefault();
      if (Math.abs(e.deltaX) > Math.abs(e.deltaY)) this.pan(e.deltaX / 800); else this.zoom(Math.exp(e.deltaY / 400), this.time_at(e.offsetX));
      this.draw();
    }, { passive: false });
    let grabbed = null;
    c.addEventListener("pointerdown", (e) => { grabbed = { x: e.clientX, from: this.from, to: this.to, moved: false }; c.setPointerCapture(e.pointerId); });
    c.addEventListener("pointermove", (e) => {
      if (grabbed) {
        const shift = (grabbed.x - e.clientX) * (grabbed.to - grabbed.from) / (this.width - this.label);
        grabbed.moved = grabbed.moved || Math.abs(grabbed.x - e.clientX) > 3;
        this.from = grabbed.from + shift; this.to = grabbed.to + shift;
        this.draw();
      }
      this.hover(e);
    });
    c.addEventListener("pointerup", (e) => { if (grabbed && !grabbed.moved) this.choose(this.piece_at(e.offsetX, e.offsetY)); grabbed = null; });
    c.addEventListener("pointercancel", () => { grabbed = null; });
    c.addEventListener("pointerleave", () => { this.tip.hidden = true; });
    c.addEventListener("dblclick", (e) => { this.zoom(0.4, this.time_at(e.offsetX)); this.draw(); });
    c.addEventListener("keydown", (e) => {
      const keys = { ArrowLeft: () => this.pan(-0.15), ArrowRight: () => this.pan(0.15), "+": () => this.zoom(0.6), "=": () => this.zoom(0.6), "-": () => this.zoom(1.7),
        0: () => this.all(), Home: () => this.all(), n: () => this.go(1), p: () => this.go(-1), ArrowDown: () => this.change_lane(1), ArrowUp: () => this.change_lane(-1) };
      if (e.ctrlKey || e.metaKey || e.altKey || !keys[e.key]) return;
      e.preventDefault();
      keys[e.key]();
      this.draw();
    });
    new ResizeObserver(() => this.draw()).observe(this.box);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.draw());
    addEventListener("beforeprint", () => { document.documentElement.dataset.theme = "light"; this.draw(); });
    addEventListener("afterprint", () => { delete document.documentElement.dataset.theme; this.draw(); });
  }

  time_at(x) { return this.from + (x - this.label) * (this.to - this.from) / (this.width - this.label); }
  x_of(time) { return this.label + (time - this.from) * (this.width - this.label) / (this.to - this.from); }
  pan(share) { const by = share * (this.to - this.from); this.from += by; this.to += by; }
  zoom(factor, around = (this.from + this.to) / 2) {
    const span = Math.min(4 * (this.last - this.first), Math.max(200, (this.to - this.from) * factor));
    const share = (around - this.from) / (this.to - this.from);
    this.from = around - share * span;
    this.to = this.from + span;
  }

  // Lanes from top to bottom: [{rank, lane, y, height}].
  rows() {
    const rows = [];
    let y = kAxis;
    this.ranks.forEach((rank, number) => {
      rows.push({ title: `rank ${rank.rank}`, y });
      y += kRankRow;
      for (const lane of rank.lanes) {
        if (!lane.gpu && !this.hosts && number > 0) continue;
        const height = (lane.gpu ? kGpuRow : kHostRow * lane.depth) + kPathRow;
        rows.push({ rank: rank.rank, lane, y, height });
        y += height + kGap;
      }
    });
    this.height = y + 6;
    return rows;
  }

  draw() {
    const rows = this.rows(), scale = devicePixelRatio || 1, style = getComputedStyle(document.documentElement);
    this.width = this.box.clientWidth || 1000;
    this.label = this.width < 600 ? 92 : 150;
    this.canvas.width = this.width * scale;
    this.canvas.height = this.height * scale;
    this.canvas.style.height = this.height + "px";
    const g = this.canvas.getContext("2d");
    g.scale(scale, scale);
    const shade = {};
    for (const name of ["paper", "panel", "ink", "muted", "line", "grid", "blue", "orange", "green", "red", "sky", "grey", "faint"]) shade[name] = style.getPropertyValue("--" + name).trim();
    this.shade = shade;
    this.pattern = this.hatched(g, shade);
    g.font = "12px system-ui, -apple-system, 'Segoe UI', Roboto, Arial, 'DejaVu Sans', sans-serif";
    g.textBaseline = "middle";
    g.fillStyle = shade.paper;
    g.fillRect(0, 0, this.width, this.height);
    this.draw_axis(g);
    for (const row of rows) {
      if (row.lane) { this.draw_lane(g, row); continue; }
      g.fillStyle = shade.panel;
      g.fillRect(0, row.y, this.width, kRankRow - 4);
      g.fillStyle = shade.ink;
      g.fillText(row.title, 12, row.y + kRankRow / 2 - 2);
    }
    this.shown = rows;
  }

  hatched(g, shade) {
    const tile = document.createElement("canvas");
    tile.width = tile.height = 6;
    const t = tile.getContext("2d");
    t.fillStyle = shade.paper;
    t.fillRect(0, 0, 6, 6);
    t.strokeStyle = shade.orange;
    t.lineWidth = 1.6;
    t.beginPath();
    for (const shift of [-6, 0, 6]) { t.moveTo(shift, 6); t.lineTo(shift + 6, 0); }
    t.stroke();
    return g.createPattern(tile, "repeat");
  }

  draw_axis(g) {
    const span = this.to - this.from, rough = span / Math.max(3, (this.width - this.label) / 120), power = 10 ** Math.floor(Math.log10(rough));
    const tick = power * [1, 2, 5, 10].find((factor) => factor * power >= rough);
    const zero = this.step[0];
    for (let k = Math.ceil((this.from - zero) / tick); zero + k * tick <= this.to; ++k) {
      const x = this.x_of(zero + k * tick);
      if (x < this.label) continue;
      g.strokeStyle = this.shade.grid;
      g.beginPath(); g.moveTo(x + 0.5, kAxis - 4); g.lineTo(x + 0.5, this.height); g.stroke();
      g.fillStyle = this.shade.muted;
      g.textAlign = x > this.width - 40 ? "right" : "center";
      g.fillText(k === 0 ? "0" : seconds(k * tick * 1e-9), x, kAxis / 2);
    }
    g.textAlign = "left";
    for (const edge of this.step) {
      const x = this.x_of(edge);
      if (x < this.label) continue;
      g.strokeStyle = this.shade.muted;
      g.setLineDash([4, 3]);
      g.beginPath(); g.moveTo(x, kAxis - 4); g.lineTo(x, this.height); g.stroke();
      g.setLineDash([]);
    }
  }

  draw_lane(g, row) {
    const { lane } = row, height = lane.gpu ? kGpuRow : kHostRow, shade = this.shade;
    g.save();
    g.beginPath(); g.rect(this.label, row.y, this.width - this.label, row.height); g.clip();
    const drawn = new Float64Array(kHostDepth).fill(-10), colours = [];
    for (let i = 0; i < lane.start.length; ++i) {
      if (lane.end[i] < this.from || lane.start[i] > this.to) continue;
      const x = this.x_of(lane.start[i]), end = this.x_of(lane.end[i]), wide = Math.max(end - x, 0.7), at = lane.row[i];
      const tone = span_colour(lane, i, this.names);
      const matches = !this.find || this.names[lane.label[i]].toLowerCase().includes(this.find);
      if (end < drawn[at] + 0.35 && colours[at] === tone && !this.find) continue;  // within a pixel that is drawn
      drawn[at] = end; colours[at] = tone;
      const y = row.y + kPathRow + height * at;
      g.globalAlpha = matches ? 1 : 0.15;
      if (lane.wait[i] > 0) {
        const met = this.x_of(lane.start[i] + lane.wait[i]);
        g.fillStyle = this.pattern;
        g.fillRect(x, y, Math.max(met - x, 0.5), height - 1);
        g.fillStyle = shade[tone];
        g.fillRect(met, y, Math.max(end - met, 0.7), height - 1);
      } else {
        g.fillStyle = shade[tone];
        g.fillRect(x, y, wide > 3 ? wide - 0.7 : wide, height - 1);
      }
      if (wide > 46) this.write_name(g, this.names[lane.label[i]], Math.max(x, this.label), Math.min(end, this.width), y + height / 2 - 0.5, lane.wait[i] > 0 ? "ink" : tone);
      if (this.chosen && this.chosen.lane === lane && this.chosen.i === i) {
        g.strokeStyle = shade.ink; g.lineWidth = 2; g.strokeRect(x, y, Math.max(wide, 2), height - 1); g.lineWidth = 1;
      }
    }
    g.globalAlpha = 1;
    if (this.lit) {
      g.fillStyle = shade.red;
      for (const [start, end] of lane.path) {
        if (end < this.from || start > this.to) continue;
        g.fillRect(this.x_of(start), row.y, Math.max(this.x_of(end) - this.x_of(start), 1), kPathRow - 1);
      }
    }
    g.restore();
    g.fillStyle = shade.muted;
    g.fillText(this.fitting(g, lane.name, this.label - 26), 18, row.y + kPathRow + height / 2);
  }

  write_name(g, name, x, end, y, tone) {
    const text = this.fitting(g, name, end - x - 8);
    if (!text) return;
    g.fillStyle = ["blue", "red", "green"].includes(tone) ? this.shade.paper : tone === "ink" ? this.shade.ink : tone === "faint" || tone === "grey" ? this.shade.ink : "#111417";
    if (tone === "ink") { const wide = g.measureText(text).width; const keep = g.fillStyle; g.fillStyle = this.shade.paper; g.fillRect(x + 2, y - 8, wide + 5, 16); g.fillStyle = keep; }
    g.fillText(text, x + 4, y);
  }

  fitting(g, text, width) {
    if (width < 18) return "";
    if (g.measureText(text).width <= width) return text;
    let count = Math.floor(width / 6.5);
    while (count > 1 && g.measureText(text.slice(0, count) + "\u2026").width > width) --count;
    return count > 1 ? text.slice(0, count) + "\u2026" : "";
  }

  piece_at(x, y) {
    const row = (this.shown ?? []).find((one) => one.lane && y >= one.y && y < one.y + one.height);
    if (!row || x < this.label) return null;
    const { lane } = row, time = this.time_at(x), slack = 2 * (this.to - this.from) / this.width;
    const depth = lane.gpu ? 0 : Math.min(kHostDepth - 1, Math.max(0, Math.floor((y - row.y - kPathRow) / kHostRow)));
    let best = null, near = Infinity;
    for (let i = 0; i < lane.start.length; ++i) {
      if (lane.start[i] > time + slack) break;
      if (lane.row[i] !== depth || lane.end[i] < time - slack) continue;
      const away = Math.max(0, lane.start[i] - time, time - lane.end[i]);
      if (away <= near) { near = away; best = { lane, rank: row.rank, i }; }
    }
    return best;
  }

  words_for({ lane, rank, i }) {
    const duration = (lane.end[i] - lane.start[i]) * 1e-9, wait = lane.wait[i];
    const parts = [`${seconds(duration)}, from ${seconds((lane.start[i] - this.step[0]) * 1e-9)} of the step`];
    if (wait >= 0) parts.push(`${seconds(wait * 1e-9)} waiting for others, ${seconds(duration - wait * 1e-9)} transfer`);
    const middle = (lane.start[i] + lane.end[i]) / 2;
    if (lane.path.some(([start, end]) => start <= middle && middle <= end)) parts.push("on the critical path");
    return [this.names[lane.label[i]], parts.join("; "), `rank ${rank}, ${lane.name}`];
  }

  hover(e) {
    const piece = e.buttons ? null : this.piece_at(e.offsetX, e.offsetY);
    this.tip.hidden = !piece;
    if (!piece) return;
    const [name, what, where] = this.words_for(piece);
    this.tip.replaceChildren(el("strong", {}, name), el("br"), what, el("br"), where);
    this.tip.style.left = Math.max(4, Math.min(e.offsetX + 14, this.width - 390)) + "px";
    this.tip.style.top = e.offsetY + 18 + "px";
  }

  choose(piece) {
    this.chosen = piece;
    if (piece) { const [name, what, where] = this.words_for(piece); this.told.replaceChildren(el("b", {}, name), ` ${what}; ${where}`); }
    this.draw();
  }

  go(by) {
    const lanes = this.rows().filter((row) => row.lane && row.lane.start.length);
    const now = this.chosen ?? { lane: (lanes.find((row) => row.lane.gpu) ?? lanes[0]).lane, rank: lanes[0].rank, i: -1 };
    const i = Math.min(now.lane.start.length - 1, Math.max(0, now.i + by));
    this.choose({ ...now, i });
    this.show(now.lane.start[i], now.lane.end[i]);
  }

  change_lane(by) {
    const lanes = this.rows().filter((row) => row.lane && row.lane.start.length);
    const now = this.chosen ? lanes.findIndex((row) => row.lane === this.chosen.lane) : -1;
    const next = lanes[Math.min(lanes.length - 1, Math.max(0, now + by))];
    const time = this.chosen ? this.chosen.lane.start[this.chosen.i] : this.step[0];
    let i = 0;
    while (i + 1 < next.lane.start.length && next.lane.start[i] < time) ++i;
    this.choose({ lane: next.lane, rank: next.rank, i });
    this.show(next.lane.start[i], next.lane.end[i]);
  }

  show(start, end) {
    if (start >= this.from && end <= this.to && this.x_of(end) - this.x_of(start) >= 4) return;
    const middle = (start + end) / 2, span = Math.min(this.to - this.from, Math.max(12 * (end - start), 2000));
    this.from = middle - span / 2;
    this.to = middle + span / 2;
  }
}

function timeline_section(data) {
  if (!data || !data.ranks.some((rank) => rank.lanes.length)) return null;
  const view = new Timeline(data);
  const notes = ["Drag to move, Ctrl and wheel (or + and -) to zoom."];
  if (data.ranks.length < data.job_ranks) {
    notes.unshift(`${data.ranks.length} of ${data.job_ranks} ranks are shown: ranks that differ, the others are alike or left out for their number.`);
  }
  const shortened = data.ranks.filter((rank) => rank.left_out);
  if (shortened.length) {
    const least = Math.min(...shortened.map((rank) => rank.left_out)), most = Math.max(...shortened.map((rank) => rank.left_out));
    const pieces = least === most ? `${most}` : `${least} to ${most}`;
    const longest = seconds(Math.max(...shortened.map((rank) => rank.shorter_than)) * 1e-9);
    const of_whom = shortened.length === 1 ? `Of rank ${shortened[0].rank}`
      : shortened.length === data.ranks.length ? "Of each rank" : `Of ${shortened.length} ranks, each`;
    notes.push(`${of_whom}, ${pieces} pieces that last ${longest} or less are left out.`);
  }
  const sums = new Map();
  for (const rank of view.ranks) {
    for (const lane of rank.lanes) {
      if (!lane.gpu) continue;
      for (let i = 0; i < lane.start.length; ++i) {
        const name = view.names[lane.label[i]], sum = sums.get(name) ?? { name, pieces: 0, seconds: 0, waiting: 0 };
        sum.pieces += 1;
        sum.seconds += (lane.end[i] - lane.start[i]) * 1e-9;
        sum.waiting += Math.max(0, lane.wait[i]) * 1e-9;
        sums.set(name, sum);
      }
    }
  }
  const rows = [...sums.values()].sort((a, b) => b.seconds - a.seconds);
  const node = section("Timeline of one step", notes.join(" "), ...view.node(), details("table of what the GPUs did", ...table([
    { key: "name", label: "what", kind: "text" }, { key: "pieces", label: "pieces", kind: "num" },
    { key: "seconds", label: "time", kind: "num", format: seconds }, { key: "waiting", label: "of it waiting", kind: "num", format: seconds }], rows)));
  requestAnimationFrame(() => view.draw());
  return node;
}

"use strict";
// A view for each command, and the page itself.

const share_text = (share) => share > 0 && share < 5e-4 ? "< 0.1 %" : percent(share);

const kProvenance = [["measured", "green"], ["fitted", "blue"], ["derived", "orange"], ["guessed", "red"]];

function part_colour(name) {
  if (name === "compute") return colour("blue");
  if (name === "copies") return colour("green");
  if (name.startsWith("exposed")) return colour("orange");
  if (name.startsWith("waiting")) return "repeating-linear-gradient(45deg, var(--orange) 0 3px, var(--paper) 3px 6px)";
  return name === "done before others" ? colour("pink") : colour("grey");
}

function breakdown(parts, whole, title, note) {
  const rows = Object.entries(parts).map(([name, value]) => ({ name, value, colour: part_colour(name) }));
  return section(title, note, ...stack(rows, whole, seconds), ...table([
    { key: "name", label: "part", kind: "text" }, { key: "value", label: "time", kind: "num", format: seconds },
    { key: "share", label: "share", kind: "num", value: (row) => row.value / whole, format: share_text },
    { key: "value", kind: "bar", colour: (row) => row.colour }], rows));
}

function path_section(path) {
  const length = path.reduce((sum, piece) => sum + piece.seconds, 0);
  return section("Critical path", "What the step waited for, from its end back to its start: only what is on this list makes the step shorter.", ...table([
    { key: "what", label: "what", kind: "text" }, { key: "seconds", label: "time", kind: "num", format: seconds },
    { key: "share", label: "share", kind: "num", value: (row) => row.seconds / length, format: share_text },
    { key: "seconds", kind: "bar", colour: (row) => /^host|launch|gap|silence/.test(row.what) ? colour("grey") : row.bottleneck ? colour("orange") : colour("blue") },
    { key: "pieces", label: "pieces", kind: "num" }, { key: "provenance", label: "rests on", kind: "tag" },
    ...(path.some((piece) => piece.bottleneck) ? [{ key: "bottleneck", label: "bound by", kind: "text" }] : [])], path, { most: 10 }));
}

function memory_section(memory, title) {
  const tones = ["blue", "sky", "green", "orange", "pink", "red", "grey", "muted"];
  const parts = Object.entries(memory.parts ?? {}).filter(([, value]) => value > 0).map(([name, value], i) => ({ name, value, colour: colour(tones[i % tones.length]) }));
  const whole = Math.max(memory.capacity || 0, memory.bytes);
  const free = memory.capacity ? `${bytes(memory.bytes)} of ${bytes(memory.capacity)} at the peak of the step (${percent(memory.bytes / memory.capacity)})${memory.tight ? ": tight" : ""}. The empty end of the bar is free.` : bytes(memory.bytes);
  return section(title, free, ...stack(parts, whole, bytes), details("table of the parts", ...table([
    { key: "name", label: "what", kind: "text" }, { key: "value", label: "size", kind: "num", format: bytes },
    { key: "share", label: "of the capacity", kind: "num", value: (row) => row.value / whole, format: (share) => percent(share) }], parts)));
}

function links_section(links, machine) {
  if (!links?.length && !machine) return null;
  return section("Busiest links", "Share of each link's bandwidth that is used, over the whole run. In the drawing, the busier a link the darker its line.",
    machine ? picture(machine, "the machine, its links coloured by use") : null, links?.length ? details(`table of the ${Math.min(links.length, 200)} busiest links`, ...table([
      { key: "name", label: "link", kind: "text" }, { key: "bytes_per_step", label: "bytes a step", kind: "num", format: bytes },
      { key: "utilisation", label: "used", kind: "num", format: (share) => percent(share) }, { key: "utilisation", kind: "bar", colour: () => colour("orange") }], links.slice(0, 200))) : null);
}

function trust_section(data) {
  const parts = kProvenance.map(([name, tone]) => ({ name, value: data.rests_on?.[name] ?? 0, colour: colour(tone) }));
  return section("What the answer rests on",
    `The band holds nine in ten steps: ${band(data.step_time_band)}. Shares are of the time on the ${data.band_along}. Host: ${data.host}; collectives: ${data.collective_profile}; GPU: ${(data.gpus ?? []).map((gpu) => `${gpu.name} (${gpu.provenance})`).join(", ")}.`,
    ...stack(parts, 1, (share) => percent(share)), ...table([
      { key: "family", label: "models of", kind: "text" }, { key: "seconds", label: "time", kind: "num", format: seconds },
      { key: "half_width_s", label: "band", kind: "num", format: (value) => "\u00b1 " + seconds(value) }, { key: "half_width_s", kind: "bar", colour: () => colour("pink") },
      { key: "rests", label: "mostly", kind: "tag", value: (row) => Object.entries(row.rests_on).sort((a, b) => b[1] - a[1])[0]?.[0] }], data.band_by_family ?? [], { most: 8 }),
    data.kernel_time_out_of_range > 0.02 ? el("p", { class: "note" }, `${percent(data.kernel_time_out_of_range, 0)} of the kernel time is outside the ranges that the kernel models were checked in.`) : null);
}

function run_view(page) {
  const data = page.data, whole = Object.values(data.time_s ?? {}).reduce((sum, value) => sum + value, 0);
  return [
    figures([["step time", seconds(data.step_time_s), band(data.step_time_band)],
      data.tokens_per_s ? ["tokens a second", digits(data.tokens_per_s)] : data.samples_per_s ? ["samples a second", digits(data.samples_per_s)] : null,
      data.mfu ? ["MFU", percent(data.mfu)] : null, ["GPUs", plain(data.ranks), (data.gpus ?? []).map((gpu) => gpu.name).join(", ")],
      data.memory ? ["GPU memory", bytes(data.memory.bytes), `${percent(data.memory.bytes / data.memory.capacity, 0)} of ${bytes(data.memory.capacity)}`] : null,
      data.cost_per_million_tokens ? ["cost of a million tokens", digits(data.cost_per_million_tokens)] : data.cost_per_million_samples ? ["cost of a million samples", digits(data.cost_per_million_samples)] : null]),
    breakdown(data.time_s ?? {}, whole, "Where the step goes", `Mean of ${data.metered_ranks?.length ?? 0} of ${data.ranks} ranks over ${data.steps} steps, ${seconds(whole)} each.`),
    timeline_section(page.timeline),
    data.critical_path?.length ? path_section(data.critical_path) : section("Critical path", "Not recorded for a job of this size."),
    data.memory ? memory_section(data.memory, `Memory of rank ${data.memory.rank}`) : null,
    memory_course_section(page.timeline, data.memory),
    data.host_memory ? memory_section(data.host_memory, `Memory of the host of node ${data.host_memory.node}`) : null,
    links_section(data.links, page.machine),
    trust_section(data),
    data.sensitivity ? section("What 10 % more would buy", "The step simulated again with more of each resource.", ...table([
      { key: "resource", label: "10 % more", kind: "text" }, { key: "step_time_s", label: "step", kind: "num", format: seconds },
      { key: "gain", label: "less time", kind: "num", format: (share) => percent(share) }, { key: "gain", kind: "bar", colour: (row) => colour(row.gain < 0 ? "red" : "green") }], data.sensitivity)) : null,
  ];
}

function pictures_section(page, title, note) {
  return page.pictures.length ? section(title, note, el("div", { class: page.pictures.length > 1 ? "pictures" : null }, page.pictures.map((one) => picture(one.svg, one.title)))) : null;
}

function sweep_view(page) {
  const data = page.data, best = data.points[data.best];
  const has = (key) => data.points.some((point) => point[key] !== undefined);
  const tied = best ? data.points.filter((point) => point.step_time_s !== undefined && point !== best && point.step_time_s * (1 - (best.step_time_band_faster ?? 0)) <= best.step_time_s) : [];
  const columns = [...data.columns.map((key) => ({ key, label: key.split(".").at(-1).replace(/_/g, " "), kind: "text", value: (row) => row.values[key] })),
    { key: "step_time_s", label: "step time", kind: "num", format: seconds }, { key: "band", label: "band", kind: "num", value: sweepBand, format: band }, { key: "step_time_s", kind: "bar", colour: (row) => colour(row === best ? "green" : "blue") }];
  for (const [key, label, format] of [["tokens_per_s", "tokens/s", digits], ["samples_per_s", "samples/s", digits], ["mfu", "MFU", percent], ["memory_peak_bytes", "memory", bytes],
    ["cost_per_million_tokens", "cost, M tokens", digits], ["cost_per_million_samples", "cost, M samples", digits], ["bottleneck", "bottleneck"], ["message", "what went wrong"]]) {
    if (has(key) && !(key === "samples_per_s" && has("tokens_per_s"))) columns.push({ key, label, kind: format ? "num" : "long", format: format ? (value) => format(value) : undefined });
  }
  return [
    best ? figures([["best step", seconds(best.step_time_s), band(sweepBand(best))], best.tokens_per_s ? ["tokens a second", digits(best.tokens_per_s)] : ["samples a second", digits(best.samples_per_s)],
      best.mfu ? ["MFU", percent(best.mfu)] : null, ["points", plain(data.points.length), tied.length ? `${tied.length} more within the best one's band` : "none within the best one's band"]]) : null,
    pictures_section(page, "How the points compare", null),
    section("All points", "The best is bold. A heading sorts.", ...table(columns, data.points, { most: 40, best: (row) => row === best })),
  ];
}

function plan_short(plan) {
  const parts = [`tp ${plan.tensor}`, `dp ${plan.data}`, `pp ${plan.pipeline}`];
  if (plan.context > 1) parts.push(`cp ${plan.context}`);
  if (plan.expert > 1) parts.push(`ep ${plan.expert}`);
  parts.push(`micro-batch ${plan.micro_batch}`);
  if (plan.pipeline > 1) parts.push(plan.schedule + (plan.chunks > 1 ? `, ${plan.chunks} chunks` : ""));
  if (plan.sequence_parallel) parts.push("sequence parallel");
  if (plan.sharding && plan.sharding !== "none") parts.push(plan.sharding);
  if (plan.recompute && plan.recompute !== "none") parts.push(`recompute ${plan.recompute}`);
  if (plan.offload && plan.offload !== "none") parts.push(`offload ${plan.offload}`);
  return parts.join(", ");
}

function plan_view(page) {
  const data = page.data, best = data.best[0];
  const columns = (tone) => [{ key: "plan", label: "plan", kind: "text", value: (row) => plan_short(row.plan) }, { key: "gpus", label: "GPUs", kind: "num", value: (row) => row.plan.gpus },
    { key: "step_s", label: "step time", kind: "num", format: seconds }, { key: "band", label: "band", kind: "num", format: band }, { key: "step_s", kind: "bar", colour: () => colour(tone) },
    ...[["mfu", "MFU", percent], ["tokens_per_s", "tokens/s", digits], ["cost_per_million_tokens", "cost, M tokens", digits]].filter(([key]) => data.simulated.some((row) => row[key] !== undefined)).map(([key, label, format]) => ({ key, label, kind: "num", format: (value) => format(value) })),
    { key: "memory_bytes", label: "memory", kind: "num", format: bytes }];
  return [
    best ? figures([["best step", seconds(best.step_s), band(best.band)], best.tokens_per_s ? ["tokens a second", digits(best.tokens_per_s), best.mfu ? `MFU ${percent(best.mfu)}` : ""] : null, ["memory", bytes(best.memory_bytes)], ["GPUs", plain(best.plan.gpus)],
      data.own_plan_step_s ? ["the scenario's own plan", seconds(data.own_plan_step_s), `the best takes ${percent(1 - best.step_s / data.own_plan_step_s)} less`] : null]) : null,
    section("The fastest plans", "Simulated whole. Plans whose bands overlap are as good as one another.", ...table(columns("blue"), data.best, { best: (row) => row === best }),
      best ? details("the best plan as keys of a scenario", el("pre", {}, best.plan.scenario ?? "")) : null),
    pictures_section(page, "Step time and memory", null),
    section("Pareto front", "Of step time, memory and number of GPUs: nothing is better in one without being worse in another.", ...table(columns("sky"), data.pareto_front)),
    section("What was looked at", `${digits(data.combinations, 9)} combinations, ${data.candidates} of them worth a look; ${data.stages.simulated} of ${data.stages.to_simulate} stages simulated, ${data.estimated_to_fit} plans estimated to fit.${data.complete ? "" : " The search was not completed."}`,
      details("why combinations were left out", ...table([{ key: "why", label: "reason", kind: "text" }, { key: "count", label: "combinations", kind: "num" }], Object.entries(data.pruned).map(([why, count]) => ({ why, count }))))),
  ];
}

function size_view(page) {
  const data = page.data, best = data.sizes[data.best], planned = data.sizes.filter((row) => row.step_time_s !== undefined);
  const has = (key) => planned.some((row) => row[key] !== undefined);
  const columns = [["nodes", "nodes"], ["gpus", "GPUs"], ["nics_per_node", "NICs a node"], ["step_time_s", "step time", seconds], ["step_time_band", "band", band], ["mfu", "MFU", percent], ["tokens_per_s", "tokens/s", digits],
    ["tokens_per_s_per_gpu", "per GPU", digits], ["memory_bytes", "memory", bytes], ["days", "days", digits], ["cost_per_million_tokens", "cost/Mtoken", digits], ["cost", "cost", digits]]
    .filter(([key]) => has(key)).map(([key, label, format]) => ({ key, label, kind: "num", format: format ? (value) => format(value) : undefined }));
  const failed = data.sizes.filter((row) => row.why_none);
  return [
    figures([["GPUs", plain(best.gpus), best.nodes === 1 ? "1 node" : `${plain(best.nodes)} nodes`], best.days ? ["days", digits(best.days), data.most_days ? `of ${digits(data.most_days)}` : ""] : null, best.cost ? ["cost", digits(best.cost), `${digits(data.price_per_gpu_hour)} for a GPU and hour`] : null,
      ["step", seconds(best.step_time_s), best.step_time_band ? band(best.step_time_band) : "estimated"], best.mfu ? ["MFU", percent(best.mfu)] : null]),
    section("Each size with its fastest plan", data.ties?.length ? `The best is bold. ${data.ties.length} more cannot be told from it in price: they lie within its band.` : "The best is bold.",
      ...table([...columns, { key: "plan", label: "plan", kind: "long" }], planned, { best: (row) => row === best }), details("the best plan as keys of a scenario", el("pre", {}, best.scenario ?? ""))),
    failed.length ? section("Sizes without a plan", null, ...table([{ key: "gpus", label: "GPUs", kind: "num" }, { key: "why_none", label: "why", kind: "long" }], failed)) : null,
    pictures_section(page, "Over the number of GPUs", null),
  ];
}

function schedule_view(page) {
  const data = page.data, lost = Object.entries(data.lost ?? {}).filter(([, share]) => Math.abs(share) > 5e-5).map(([what, share]) => ({ what, share: -share }));
  return [
    figures([["time saved", percent(data.time_saved), data.time_saved_band !== undefined ? "\u00b1 " + digits(100 * data.time_saved_band, 2) + " points" : ""], ["training", seconds(data.total_s), `dense: ${seconds(data.dense_s)}`],
      ["FLOPs saved", percent(data.flops_saved)], ["GPU-hours", digits(data.gpu_hours), `dense: ${digits(data.dense_gpu_hours)}`],
      data.energy_j ? ["energy", digits(data.energy_j / 3.6e6) + " kWh", data.energy_is_guessed ? "guessed from the GPU's TDP" : ""] : null]),
    pictures_section(page, "The training, its steps, and what is lost", null),
    section("Phases", null, ...table([{ key: "name", label: "phase", kind: "text" }, { key: "steps", label: "steps", kind: "num", format: (n) => digits(n, 6) },
      { key: "step_time_s", label: "step time", kind: "num", format: seconds }, { key: "step_time_band", label: "band", kind: "num", format: band }, { key: "step_time_s", kind: "bar" },
      { key: "seconds", label: "in all", kind: "num", format: seconds }, { key: "bound_by", label: "most of it", kind: "text" }], data.phases ?? [], { most: 24 })),
    lost.length ? section("From FLOPs saved to time saved", "Shares of the dense training's time.", ...table([{ key: "what", label: "what", kind: "text" },
      { key: "share", label: "gained or lost", kind: "num", format: (share) => signed(share, 2) }, { key: "share", kind: "bar", colour: (row) => colour(row.share < 0 ? "red" : "green") }], lost)) : null,
  ];
}

function replay_view(page) {
  const data = page.data, step = data.mean_step, changes = data.what_if ?? [];
  const ranks = data.ranks ?? [];
  return [
    step ? figures([["step, measured", seconds(step.measured)], ["step, replayed", seconds(step.simulated), signed(step.simulated / step.measured - 1) + " off"],
      ...changes.slice(0, 3).map((change) => [change.name, seconds(change.mean_step), signed(change.mean_step / step.simulated - 1) + " of the step"])]) : null,
    changes.length ? section("What if", "Each change is simulated alone; its effect is a difference of two replays.", ...table([{ key: "name", label: "change", kind: "text" },
      { key: "mean_step", label: "step", kind: "num", format: seconds }, { key: "gain", label: "difference", kind: "num", value: (row) => row.mean_step / step.simulated - 1, format: (share) => signed(share) },
      { key: "mean_step", kind: "bar", colour: (row) => colour(row.mean_step < step.simulated ? "green" : "orange") }, { key: "remark", label: "remark", kind: "text" }], changes)) : null,
    timeline_section(page.timeline),
    path_of_replay(data),
    Array.isArray(ranks) && ranks.length ? section("Replay against the recording", "How well the simulation repeats what was recorded, rank by rank.", ...table([
      { key: "rank", label: "rank", kind: "num", value: (row) => row.rank ?? ranks.indexOf(row) },
      { key: "measured", label: "GPU span, measured", kind: "num", value: (row) => row.gpu_span.measured, format: seconds }, { key: "simulated", label: "replayed", kind: "num", value: (row) => row.gpu_span.simulated, format: seconds },
      { key: "off", label: "off by", kind: "num", value: (row) => row.gpu_span.simulated / row.gpu_span.measured - 1, format: (share) => signed(share) },
      { key: "communication", label: "communication, measured", kind: "num", value: (row) => row.communication.measured, format: seconds }, { key: "waiting", label: "of it waiting", kind: "num", value: (row) => row.communication_waiting, format: seconds }], ranks)) : null,
    ...rest_of(data, ["mean_step", "what_if", "ranks", "critical_path"]),
  ];
}

const path_of_replay = (data) => data.critical_path?.length && data.critical_path[0].seconds !== undefined ? path_section(data.critical_path) : null;

function compare_view(page) {
  const data = page.data, a = data.a, b = data.b;
  const names = { parts: "Parts of the step", families: "Kernel families", kernels: "Kernels", operators: "Operators", critical_path: "Critical path" };
  const columns = [{ key: "what", label: "what", kind: "text" }, { key: "a_s", label: "A", kind: "num", format: seconds }, { key: "b_s", label: "B", kind: "num", format: seconds },
    { key: "difference_s", label: "B - A", kind: "num", format: (value) => (value > 0 ? "+" : "") + seconds(value) }, { key: "difference_s", kind: "bar", colour: (row) => colour(row.difference_s > 0 ? "red" : "green") },
    { key: "a_count", label: "count, A", kind: "num" }, { key: "b_count", label: "count, B", kind: "num" }];
  return [
    figures([["A: step", seconds(a.step_s), a.given], ["B: step", seconds(b.step_s), b.given], ["B against A", signed(b.step_s / a.step_s - 1), (b.step_s > a.step_s ? "+" : "") + seconds(b.step_s - a.step_s)]]),
    ...Object.entries(names).map(([key, title]) => data[key]?.length ? section(title, "Green is faster in B, red slower.", ...table(columns, data[key], { most: 10 })) : null),
  ];
}

function validate_view(page) {
  const sets = Array.isArray(page.data) ? page.data : [page.data];
  return [
    pictures_section(page, "Predicted against measured", null),
    ...sets.map((set) => section(set.title ?? set.name, `${set.points.length} points of ${set.name}.`, details("every point", ...table_of(set.points.map(flat), { most: 50 })))),
  ];
}

function search_view(page) {
  const data = page.data, done = data.plans.filter((plan) => plan.step_s !== undefined), failed = data.plans.filter((plan) => plan.step_s === undefined);
  return [
    figures([["best step", seconds(data.step_s)], ["plans simulated", plain(done.length)], failed.length ? ["without a plan that fits", plain(failed.length)] : null]),
    section("Plans, simulated", "The best is bold. A heading sorts.", ...table([{ key: "name", label: "plan", kind: "long" }, { key: "step_s", label: "step", kind: "num", format: seconds },
      { key: "more", label: "against the best", kind: "num", value: (row) => row.step_s / data.step_s - 1, format: (share) => signed(share) },
      { key: "step_s", kind: "bar", colour: (row) => colour(row.step_s === data.step_s ? "green" : "blue") },
      ...(done.some((plan) => plan.remark) ? [{ key: "remark", label: "remark", kind: "text" }] : [])], done, { most: 16, best: (row) => row === done[0] })),
    failed.length ? section("Methods without a plan", null, ...table([{ key: "name", label: "method", kind: "text" }, { key: "why_none", label: "why", kind: "long" }], failed)) : null,
    pictures_section(page, "Load of each rank", null),
  ];
}

function flat(row) {
  const out = {};
  for (const [key, value] of Object.entries(row)) {
    if (value !== null && typeof value === "object" && !Array.isArray(value)) for (const [inner, one] of Object.entries(value)) out[`${words(key)} ${words(inner)}${/_s$/.test(inner) ? "_s" : ""}`] = one;
    else out[key] = value;
  }
  return out;
}

// Lists of the data that no view has drawn.
function rest_of(data, known) {
  return Object.entries(data).filter(([key, value]) => !known.includes(key) && Array.isArray(value) && value.length && typeof value[0] === "object")
    .map(([key, rows]) => section(words(key)[0].toUpperCase() + words(key).slice(1), null, ...table_of(rows.map(flat))));
}

const generic_view = (page) => [pictures_section(page, "Pictures", null), ...rest_of(page.data ?? {}, [])];

const kViews = { run: run_view, sweep: sweep_view, plan: plan_view, size: size_view, schedule: schedule_view, search: search_view, replay: replay_view, compare: compare_view, validate: validate_view };

(function draw_page() {
  const page = JSON.parse(document.getElementById("data").textContent), main = document.getElementById("page");
  const parts = (kViews[page.kind] ?? generic_view)(page).flat().filter(Boolean);
  if (page.scenario) parts.push(section(page.kind === "search" ? "The plan" : "The scenario", page.kind === "search" ? "The best plan, as parallelism.embedding.plan takes it." : "Every parameter with its origin; this file can be run again.", details("show it", el("pre", { tabindex: "0" }, page.scenario))));
  const sections = parts.filter((part) => part.tagName === "SECTION");
  const nav = el("nav", { "aria-label": "parts of the page" }, sections.map((part) => el("a", { href: "#" + part.id }, part.querySelector("h2").textContent)));
  const ahead = parts.filter((part) => part.tagName !== "SECTION");
  main.append(...ahead, ...(sections.length > 2 ? [nav] : []), ...sections, el("footer", {}, `Written by ${page.version}. The page holds its data and needs no network.`));
})();

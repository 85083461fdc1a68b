"use strict";
// Numbers and elements. No text of the data is ever taken for HTML.

function el(tag, attributes = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === undefined || value === null || value === false) continue;
    if (name === "class") node.className = value;
    else if (name === "style") Object.assign(node.style, value);
    else if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else node.setAttribute(name, value === true ? "" : value);
  }
  for (const child of children.flat()) {
    if (child !== null && child !== undefined) node.append(child);
  }
  return node;
}

const digits = (value, count = 4) => Number(value.toPrecision(count)).toLocaleString("en-US", { maximumSignificantDigits: count });

function seconds(value) {
  if (value === null || value === undefined) return "";
  const size = Math.abs(value);
  if (size === 0) return "0 s";
  if (size >= 172800) return digits(value / 86400) + " days";
  if (size >= 7200) return digits(value / 3600) + " h";
  if (size >= 600) return digits(value / 60) + " min";
  if (size >= 1) return digits(value) + " s";
  if (size >= 1e-3) return digits(value * 1e3) + " ms";
  if (size >= 1e-6) return digits(value * 1e6) + " \u00b5s";
  return digits(value * 1e9, 3) + " ns";
}

function bytes(value) {
  for (const [unit, size] of [["TB", 1e12], ["GB", 1e9], ["MB", 1e6], ["kB", 1e3]]) {
    if (Math.abs(value) >= size) return digits(value / size) + " " + unit;
  }
  return digits(value) + " B";
}

const percent = (share, places = 1) => (100 * share).toFixed(places) + " %";
const signed = (share, places = 1) => (share > 0 ? "+" : "") + percent(share, places);
const plain = (value) => typeof value === "number" ? digits(value, 5) : String(value ?? "");
const words = (key) => key.replace(/_s$/, "").replace(/_/g, " ");
/** A band of two sides, `-12 to +25 %`. */
const band = (sides) => !sides ? "" : `-${digits(100 * sides.faster, 2)} to +${percent(sides.slower, 0)}`;
const sweepBand = (point) => point.step_time_band_faster === undefined ? null : { faster: point.step_time_band_faster, slower: point.step_time_band_slower };
const colour = (name) => `var(--${name})`;

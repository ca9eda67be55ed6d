// SPDX-License-Identifier: MIT
// format.js - numbers for people: sizes in binary units, counts, spans of time.

const UNITS = ["B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];

export function formatBytes(bytes) {
  let unit = 0, value = Math.abs(bytes);
  while (value >= (unit ? 1023.5 : 1024) && unit < UNITS.length - 1) {
    value /= 1024;
    unit++;
  }
  const digits = !unit || value >= 100 ? 0 : value >= 10 ? 1 : 2;
  return (bytes < 0 ? "−" : "") + `${formatCount(value, digits)} ${UNITS[unit]}`;
}

/* By digits; to make one takes longer than to use it a hundred times. */
const formats = [];

export function formatCount(value, digits = 0) {
  formats[digits] ||= new Intl.NumberFormat("en-US", { minimumFractionDigits: digits, maximumFractionDigits: digits });
  return formats[digits].format(value);
}

/* "3 buffers", "1 block of device memory". */
export function formatKind(count, kind) {
  const inBlocks = kind.plural.startsWith("blocks of ");
  if (count !== 1)
    return `${formatCount(count)} ${kind.plural}`;
  return `1 ${inBlocks ? "block of " : ""}${kind.name}`;
}

export function plural(count, one, many) {
  return `${formatCount(count)} ${count === 1 ? one : many}`;
}

/* Seconds, as exact as `step` seconds makes sense. */
export function formatTime(seconds, step = 0) {
  const span = Math.abs(seconds);
  if (step && step < 1e-6)
    return `${formatCount(seconds * 1e6, 3)} µs`;
  if (step && step < 1e-3 && span < 1)
    return `${formatCount(seconds * 1e3, step < 1e-5 ? 4 : 2)} ms`;
  if (span >= 3600)
    return `${Math.floor(span / 3600)} h ${Math.floor(span / 60) % 60} min`;
  if (span >= 600)
    return `${Math.floor(span / 60)} min ${Math.floor(span % 60)} s`;
  if (span >= 10 && !step)
    return `${formatCount(seconds, 1)} s`;
  return `${formatCount(seconds, step && step < 1e-3 ? (step < 1e-5 ? 6 : 4) : 3)} s`;
}

/* A value that is bytes or a number of resources. */
export function formatValue(value, unit) {
  return unit === "bytes" ? formatBytes(value) : formatCount(value);
}

export function lastPart(path) {
  return path.slice(path.lastIndexOf("/") + 1);
}

/* Names of an API differ at their end: a long one loses its middle. */
export function cutMiddle(name, most) {
  const half = (most - 1) / 2;
  return name.length <= most ? name :
    `${name.slice(0, Math.ceil(half))}…${name.slice(name.length - Math.floor(half))}`;
}

/* "+3", "−1.00 MiB": a difference, by `text(number)`. */
export function signed(value, text) {
  return (value > 0 ? "+" : value < 0 ? "−" : "") + text(Math.abs(value));
}

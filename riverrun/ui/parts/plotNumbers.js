// What a plot says and draws, from its numbers alone: extremes, words, labels, the path of a small line.

import { known, NONE } from '../core/format.js';

/** @typedef {readonly (number | null)[]} Values null: not known at that time */

/**
 * @typedef {object} Extremes
 * @property {number} least
 * @property {number} most
 * @property {number} latest the last one that is known
 */

/** @param {Values} values @returns {Extremes | null} null: no value is known */
export function extremes(values) {
  /** @type {Extremes | null} */
  let found = null;
  for (const value of values) {
    if (!known(value)) continue;
    if (found === null) found = { least: value, most: value, latest: value };
    else {
      found.least = Math.min(found.least, value);
      found.most = Math.max(found.most, value);
      found.latest = value;
    }
  }
  return found;
}

/**
 * A series in words, for those who do not see the plot.
 * @param {string} name
 * @param {Values} values
 * @param {(value: number) => string} format
 */
export function summary(name, values, format) {
  const found = extremes(values);
  if (found === null) return `${name}: no values`;
  return `${name}: latest ${format(found.latest)}, least ${format(found.least)}, most ${format(found.most)}`;
}

/** Places of values without neighbours: a line does not show them. @param {Values} values */
export function isolated(values) {
  /** @type {number[]} */
  const places = [];
  values.forEach((value, at) => {
    if (known(value) && !known(values[at - 1]) && !known(values[at + 1])) places.push(at);
  });
  return places;
}

/**
 * From where to where the upright axis goes: with zero, and never without height.
 * @param {number | null} least
 * @param {number | null} most
 * @param {number} [top] always shown, such as 1 for shares
 * @returns {[number, number]}
 */
export function uprightRange(least, most, top) {
  const low = Math.min(0, least ?? 0);
  const high = Math.max(top ?? 0, most ?? 0, low);
  if (high === low) return [low, low + 1];
  return top !== undefined && high === top ? [low, high] : [low * 1.08, high * 1.08];
}

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/** Steps between the labels of an axis of milliseconds. */
export const DURATION_STEPS = [
  0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000, 15_000, 30_000, MINUTE, 2 * MINUTE,
  5 * MINUTE, 10 * MINUTE, 30 * MINUTE, HOUR, 2 * HOUR, 6 * HOUR, 12 * HOUR, DAY, 2 * DAY, 7 * DAY, 30 * DAY, 100 * DAY,
  365 * DAY, 3650 * DAY, 36_500 * DAY,
];

/** Steps between the labels of an axis of bytes. */
export const BYTE_STEPS = Array.from({ length: 54 }, (_, power) => 2 ** power);

/** Steps between the labels of an axis of things that are counted. */
export const COUNT_STEPS = Array.from({ length: 14 }, (_, power) => [1, 2, 5].map((step) => step * 10 ** power)).flat();

/**
 * The label of a moment on an axis: as exact as the labels are apart.
 * @param {number} ms since the epoch
 * @param {number} apart milliseconds between two labels
 */
export function timeLabel(ms, apart) {
  const date = new Date(ms);
  const pad = (/** @type {number} */ n) => String(n).padStart(2, '0');
  if (apart >= DAY) return `${pad(date.getMonth() + 1)}-${pad(date.getDate())}`;
  const minutes = `${pad(date.getHours())}:${pad(date.getMinutes())}`;
  return apart >= MINUTE ? minutes : `${minutes}:${pad(date.getSeconds())}`;
}

/** A value of a series as it is shown. @param {number | null | undefined} value @param {(value: number) => string} format */
export function shown(value, format) {
  return known(value) ? format(value) : NONE;
}

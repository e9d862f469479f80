// Whether the work is spread evenly over the subtasks, in words.

import { percent } from '../core/format.js';

const UNEVEN = 1.3;
const NOISE = 4;
const FEWEST = 20;
const BUSY = 0.5;
const BUSIER = 2;

/**
 * @typedef {{subtask: number, value: number | undefined}} Part
 * @typedef {{subtask: number, share: number, even: number, subtasks: number, without: number}} Skew
 * share: what the subtask got of all; even: what each would get of it; without: how many got nothing
 */

/**
 * The subtask that got most, if that is more than chance would give it; null: evenly spread, or too little to tell.
 * @param {readonly Part[]} parts
 * @returns {Skew | null}
 */
export function skewOf(parts) {
  const values = parts.map(({ value }) => value ?? 0);
  const total = values.reduce((sum, value) => sum + value, 0);
  const mean = total / parts.length;
  if (parts.length < 2 || total < FEWEST * parts.length) return null;
  const most = values.reduce((at, value, index) => (value > values[at] ? index : at), 0);
  const above = values[most] - mean;
  if (values[most] < UNEVEN * mean || above < NOISE * Math.sqrt(mean)) return null;
  return {
    subtask: parts[most].subtask,
    share: values[most] / total,
    even: 1 / parts.length,
    subtasks: parts.length,
    without: values.filter((value) => value === 0).length,
  };
}

/** @param {Skew | null} skew @param {'got' | 'gave'} did @returns {string | null} */
export function skewInWords(skew, did) {
  if (!skew) return null;
  const { subtask, share, even, subtasks, without } = skew;
  const first = `Subtask ${subtask} ${did} ${fine(share)} of the records of ${subtasks} subtasks; even would be ${fine(even)}.`;
  if (!without) return first;
  return `${first} ${without === 1 ? '1 subtask' : `${without} subtasks`} ${did} none.`;
}

/** Small shares keep a digit. @param {number} share */
function fine(share) {
  return share < 0.1 ? `${Number((share * 100).toPrecision(2))} %` : percent(share);
}

/**
 * A subtask that is far busier than most of the others, in words.
 * @param {readonly {subtask: number, busy: number | undefined}[]} rows
 * @returns {string | null}
 */
export function busySkewInWords(rows) {
  const told = rows.filter((row) => row.busy !== undefined);
  if (told.length < 2) return null;
  const shares = told.map((row) => /** @type {number} */ (row.busy)).sort((a, b) => a - b);
  const middle = shares[Math.floor((shares.length - 1) / 2)];
  const busiest = told.reduce((best, row) => (/** @type {number} */ (row.busy) > /** @type {number} */ (best.busy) ? row : best));
  const most = /** @type {number} */ (busiest.busy);
  if (most < BUSY || most < BUSIER * middle) return null;
  return `Subtask ${busiest.subtask} is busy ${percent(most)} of its time, half of the subtasks at most ${percent(middle)}.`;
}

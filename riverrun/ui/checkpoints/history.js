// What is picked from a job's checkpoints to be listed and drawn.

import { known } from '../core/format.js';

/** Newest first; the latest stays although the history may have lost it. @param {any} checkpoints */
export function savepointsOf({ history, latest }) {
  const found = history.filter((/** @type {any} */ each) => each.is_savepoint);
  const kept = latest.savepoint;
  return kept && !found.some((/** @type {any} */ each) => each.id === kept.id) ? [...found, kept] : found;
}

/** Values as shares of the largest. @param {(number | undefined)[]} values */
export function heights(values) {
  const most = Math.max(0, ...values.filter(known));
  return values.map((value) => (known(value) && most > 0 ? value / most : 0));
}

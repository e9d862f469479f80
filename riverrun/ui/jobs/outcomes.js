// What came of actions, by job: it stays in sight until the reader dismisses it, whatever page they are on.

import { useEffect, useState } from '../core/view.js';

/**
 * @typedef {object} Outcome
 * @property {number} id
 * @property {'good' | 'bad'} tone
 * @property {string} words
 * @property {string} [path] what can be taken elsewhere: where a savepoint is
 * @property {string} [reason] the server's own words
 */

/** @type {Map<string, Outcome[]>} */
const kept = new Map();
/** @type {Set<() => void>} */
const watchers = new Set();
let last = 0;

/** @param {string} job @param {Outcome[]} outcomes */
function keep(job, outcomes) {
  kept.set(job, outcomes);
  for (const watcher of watchers) watcher();
}

/** @param {string} job @returns {Outcome[]} */
export function outcomesOf(job) {
  return kept.get(job) ?? [];
}

/** @param {string} job @param {Omit<Outcome, 'id'>} outcome */
export function tell(job, outcome) {
  last += 1;
  keep(job, [...outcomesOf(job), { ...outcome, id: last }]);
}

/** @param {string} job @param {number} id */
export function dismiss(job, id) {
  keep(job, outcomesOf(job).filter((each) => each.id !== id));
}

/** @param {string} job */
export function useOutcomes(job) {
  const [, redraw] = useState(0);
  useEffect(() => {
    const watcher = () => redraw((n) => n + 1);
    watchers.add(watcher);
    return () => {
      watchers.delete(watcher);
    };
  }, []);
  return outcomesOf(job);
}

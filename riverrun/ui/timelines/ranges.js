// How far back the plots go, and how often they are asked for.

/**
 * @typedef {object} Range
 * @property {string} name as it stands in the address
 * @property {string} title
 * @property {number | undefined} seconds undefined: from the job's start
 * @property {number} every milliseconds between two requests
 */

/** @type {readonly Range[]} */
export const RANGES = [
  { name: '1m', title: '1 min', seconds: 60, every: 1000 },
  { name: '10m', title: '10 min', seconds: 600, every: 2000 },
  { name: '1h', title: '1 h', seconds: 3600, every: 5000 },
  { name: 'all', title: 'Whole run', seconds: undefined, every: 5000 },
];
const USUAL = RANGES[1];

/** The range that an address names; ten minutes if it names none. @param {string | null} name */
export function rangeOf(name) {
  return RANGES.find((range) => range.name === name) ?? USUAL;
}

/**
 * What is asked for.
 * @param {string} job
 * @param {Range} range
 * @param {string | undefined} vertex
 */
export function pathOf(job, range, vertex) {
  const query = new URLSearchParams({ points: '300' });
  if (range.seconds !== undefined) query.set('window', String(range.seconds));
  if (vertex !== undefined) query.set('vertex', vertex);
  return `/jobs/${job}/timelines?${query}`;
}

/**
 * From when to when an answer is shown: the whole range, also where there are no values in it.
 * @param {{now: number, begin: number, end: number}} answer
 * @param {Range} range
 * @returns {[number, number]}
 */
export function spanOf(answer, range) {
  const until = answer.end > 0 ? answer.end : answer.now;
  const from = range.seconds === undefined ? answer.begin : until - range.seconds * 1000;
  return [Math.min(from, until - 1000), until];
}

// How a state is spread over key groups and subtasks: cells of a heat map, sums, and what they mean in words.

import { count, bytes, known, percent } from '../core/format.js';

/**
 * The answer of GET /snapshots/key-groups.
 * @typedef {object} KeyGroups
 * @property {number} parallelism
 * @property {number} max_parallelism
 * @property {[number, number][]} subtasks first and last key group of each
 * @property {(number | null)[]} entries
 * @property {(number | null)[]} bytes
 * @property {boolean} complete
 * @property {boolean} estimated
 *
 * @typedef {'entries' | 'bytes'} Measure
 *
 * @typedef {object} Cell
 * @property {number} first key group
 * @property {number} last key group
 * @property {number | null} value null: not looked at
 * @property {number} subtask of the first key group
 * @property {number} lastSubtask of the last key group
 *
 * @typedef {{subtask: number, first: number, last: number, entries: number | null, bytes: number | null}} Part
 */

export const MOST_CELLS = 1024;
const UNEVEN = 1.5;
const FEW = 20;

/** A value of a measure in words. @param {number | null | undefined} value @param {Measure} measure */
export function amount(value, measure) {
  if (!known(value)) return 'not looked at';
  return measure === 'bytes' ? bytes(value) : `${count(value)} ${value === 1 ? 'entry' : 'entries'}`;
}

/**
 * The cells of a heat map; each stands for one key group, or for several in a row if there are very many.
 * @param {KeyGroups} groups @param {Measure} measure @param {number} [most]
 * @returns {Cell[]}
 */
export function cellsOf(groups, measure, most = MOST_CELLS) {
  const values = groups[measure];
  const size = Math.max(1, Math.ceil(values.length / most));
  const cells = [];
  for (let first = 0; first < values.length; first += size) {
    const last = Math.min(first + size, values.length) - 1;
    cells.push({ first, last, value: sum(values.slice(first, last + 1)), subtask: ownerOf(groups, first), lastSubtask: ownerOf(groups, last) });
  }
  return cells;
}

/** The subtask that a key group belongs to. @param {KeyGroups} groups @param {number} group */
export function ownerOf(groups, group) {
  return Math.floor((group * groups.parallelism) / groups.max_parallelism);
}

/** How many cells stand in a row: more than below each other, and a power of two. @param {number} cells */
export function columnsFor(cells) {
  if (cells <= 8) return Math.max(1, cells);
  return Math.min(64, 2 ** Math.ceil(Math.log2(Math.sqrt(cells * 2))));
}

/**
 * The lines between cells of different subtasks, as the path of an SVG whose cells are one unit wide.
 * @param {Cell[]} cells @param {number} columns
 */
export function outlineOf(cells, columns) {
  const lines = [];
  for (const [at, cell] of cells.entries()) {
    const x = at % columns;
    const y = Math.floor(at / columns);
    const next = cells[at + 1];
    if (next && x < columns - 1 && next.subtask !== cell.subtask) lines.push(`M${x + 1} ${y}v1`);
    const below = cells[at + columns];
    if (below && below.subtask !== cell.subtask) lines.push(`M${x} ${y + 1}h1`);
  }
  return lines.join('');
}

/** What each subtask holds. @param {KeyGroups} groups @returns {Part[]} */
export function partsOf(groups) {
  return groups.subtasks.map(([first, last], subtask) => ({
    subtask,
    first,
    last,
    entries: sum(groups.entries.slice(first, last + 1)),
    bytes: sum(groups.bytes.slice(first, last + 1)),
  }));
}

/** The largest; 0 when there is none. @param {(number | null)[]} values */
export function largest(values) {
  return values.reduce((/** @type {number} */ most, value) => Math.max(most, value ?? 0), 0);
}

/** All of them; null when one is not known. @param {(number | null)[]} values @returns {number | null} */
export function sum(values) {
  let total = 0;
  for (const value of values) {
    if (value === null) return null;
    total += value;
  }
  return total;
}

/** How hot a value is beside the largest: 0 to 100. @param {number} value @param {number} most */
export function heat(value, most) {
  return most > 0 ? Math.round((Math.min(value, most) / most) * 100) : 0;
}

/**
 * Whether subtasks and key groups hold about the same, in words.
 * @param {KeyGroups} groups @param {Measure} measure
 * @returns {{tone: 'good' | 'wait' | undefined, words: string}}
 */
export function spreadInWords(groups, measure) {
  const total = sum(groups[measure]);
  if (total === null) {
    const looked = groups[measure].filter(known).length;
    return { tone: 'wait', words: `Only ${looked} of ${groups.max_parallelism} key groups were looked at: the state is too large for one request.` };
  }
  if (total === 0) return { tone: undefined, words: 'The state is empty.' };
  const group = groups[measure].findIndex((value) => value === largest(groups[measure]));
  const share = (groups[measure][group] ?? 0) / total;
  const fullest = `key group ${group} is the largest with ${amount(groups[measure][group], measure)} (${percent(share)})`;
  const few = (sum(groups.entries) ?? 0) < FEW * groups.parallelism;
  if (groups.parallelism === 1) return { tone: undefined, words: `One subtask holds everything; ${fullest}.` };
  const parts = partsOf(groups);
  const heaviest = parts.reduce((a, b) => ((b[measure] ?? 0) > (a[measure] ?? 0) ? b : a));
  const times = ((heaviest[measure] ?? 0) / total) * groups.parallelism;
  if (times < UNEVEN || few) return { tone: few ? undefined : 'good', words: `${few ? 'There is little state' : 'Subtasks hold about the same'}; ${fullest}.` };
  const words = `Subtask ${heaviest.subtask} holds ${percent((heaviest[measure] ?? 0) / total)}, ${times.toFixed(1)} times an even share; ${fullest}.`;
  return { tone: 'wait', words };
}

/** '13', or '13 to 20'. @param {number} first @param {number} last */
export function span(first, last) {
  return first === last ? String(first) : `${first} to ${last}`;
}

/** What a cell says. @param {Cell} cell @param {Measure} measure */
export function cellInWords(cell, measure) {
  const groups = cell.first === cell.last ? 'Key group' : 'Key groups';
  const subtasks = cell.subtask === cell.lastSubtask ? 'subtask' : 'subtasks';
  return `${groups} ${span(cell.first, cell.last)}, ${subtasks} ${span(cell.subtask, cell.lastSubtask)}: ${amount(cell.value, measure)}`;
}

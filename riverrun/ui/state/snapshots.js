// Which snapshots a job has to look into, and what their states are called.

import { moment } from '../core/format.js';

/** @typedef {{path: string, words: string, savepoint: boolean}} Choice */

/**
 * The complete checkpoints and savepoints of a job that are still there, newest first.
 * @param {any} checkpoints the answer of GET /jobs/{id}/checkpoints
 * @returns {Choice[]}
 */
export function choicesOf(checkpoints) {
  const { latest = {}, history = [] } = checkpoints;
  /** @type {Map<string, any>} */
  const found = new Map();
  for (const each of [...history, latest.completed, latest.savepoint]) {
    if (each?.status === 'COMPLETED' && each.external_path && !each.discarded) found.set(folder(each.external_path), each);
  }
  return [...found]
    .sort(([, a], [, b]) => b.trigger_timestamp - a.trigger_timestamp)
    .map(([path, each]) => ({
      path,
      words: `${each.is_savepoint ? 'Savepoint' : 'Checkpoint'} ${each.id}, ${moment(each.trigger_timestamp)}`,
      savepoint: Boolean(each.is_savepoint),
    }));
}

/** The path of the newest; undefined when there is none. @param {any} checkpoints */
export function latestOf(checkpoints) {
  return choicesOf(checkpoints)[0]?.path;
}

/** A path without `_metadata` at its end. @param {string} path */
export function folder(path) {
  return path.replace(/\/+$/, '').replace(/\/_metadata$/, '');
}

/** 'Types.STRING()' → 'STRING'. @param {string | null} type */
export function typeName(type) {
  return type === null ? 'pickled' : type.replace(/\bTypes\./g, '').replace(/\(\)/g, '');
}

/** From what to what a state leads: 'STRING → LONG'. @param {any} state */
export function typesOf(state) {
  const value = typeName(state.value_type);
  if (state.kind === 'timers') return `timers of ${typeName(state.key_type)}`;
  if (state.kind === 'broadcast') return `${typeName(state.map_key_type)} → ${value}`;
  if (!state.keyed) return value;
  const contents = { map: `map of ${typeName(state.map_key_type)} to ${value}`, list: `list of ${value}` }[String(state.kind)] ?? value;
  return `${typeName(state.key_type)}${state.namespaced ? ', window' : ''} → ${contents}`;
}

/**
 * A row for each state, with its operator.
 * @param {any[]} operators
 * @returns {{operator: any, state: any, id: string}[]}
 */
export function rowsOf(operators) {
  return operators.flatMap((operator) => operator.states.map((/** @type {any} */ state) => ({ operator, state, id: `${operator.id} ${state.name}` })));
}

/**
 * The state that is meant; without a name, the largest with keys, else the first.
 * @param {any[]} operators @param {string | null} operator id, uid or name @param {string | null} state
 */
export function chosenOf(operators, operator, state) {
  const rows = rowsOf(operators);
  if (operator !== null && state !== null) {
    const isIt = (/** @type {any} */ each) => [each.id, each.uid, each.name].includes(operator);
    return rows.find((row) => row.state.name === state && isIt(row.operator));
  }
  const keyed = rows.filter((row) => row.state.keyed);
  return keyed.reduce((/** @type {any} */ most, row) => (most && size(most) >= size(row) ? most : row), undefined) ?? rows[0];
}

/** @param {any} row */
function size(row) {
  return row.state.bytes ?? 0;
}

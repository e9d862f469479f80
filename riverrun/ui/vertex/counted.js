// Accumulators as rows, of a vertex or of each of its subtasks.

/** @typedef {{subtask: number | undefined, name: string, type: string, value: string, key: string}} Counted */

/** @param {any} answer of the vertex, or of its subtasks @returns {Counted[]} */
export function countedIn(answer) {
  const from = answer.subtasks ?? [answer];
  return from.flatMap((/** @type {any} */ part) => part['user-accumulators'].map(
    (/** @type {any} */ found, /** @type {number} */ at) => ({ subtask: part.subtask, ...found, key: `${part.subtask ?? ''}/${at}` }),
  ));
}

// Who a checkpoint in progress waits for, and who was the last in one that is over.

/**
 * @typedef {{id: string, name: string, acknowledged: number, subtasks: number, part: any}} VertexPart
 * part: its entry in the checkpoint's tasks
 */

/**
 * The vertices of a checkpoint in the order of the job's graph.
 * @param {any} checkpoint the answer of GET …/checkpoints/details/{id}
 * @param {any[]} vertices of the job
 * @returns {VertexPart[]}
 */
export function partsOf(checkpoint, vertices) {
  const names = new Map(vertices.map(({ id, name }) => [id, name]));
  const place = new Map(vertices.map(({ id }, at) => [id, at]));
  return Object.entries(checkpoint?.tasks ?? {})
    .map(([id, part]) => ({
      id, name: names.get(id) ?? id, acknowledged: part.num_acknowledged_subtasks, subtasks: part.num_subtasks, part,
    }))
    .sort((a, b) => (place.get(a.id) ?? Infinity) - (place.get(b.id) ?? Infinity) || a.id.localeCompare(b.id));
}

/** @param {VertexPart[]} parts */
export function awaited(parts) {
  return parts.filter(({ acknowledged, subtasks }) => acknowledged < subtasks);
}

/** The vertex that acknowledged last; null when none did. @param {VertexPart[]} parts @returns {VertexPart | null} */
export function lastOf(parts) {
  return parts.reduce((/** @type {VertexPart | null} */ last, each) => (each.part.latest_ack_timestamp > 0
    && (!last || each.part.latest_ack_timestamp > last.part.latest_ack_timestamp) ? each : last), null);
}

/** Numbers as ranges: [0, 1, 2, 7] → '0–2, 7'. @param {number[]} numbers */
export function ranges(numbers) {
  /** @type {[number, number][]} */
  const found = [];
  for (const number of [...numbers].sort((a, b) => a - b)) {
    const last = found.at(-1);
    if (last && number === last[1] + 1) last[1] = number;
    else found.push([number, number]);
  }
  return found.map(([from, to]) => (from === to ? `${from}` : `${from}–${to}`)).join(', ');
}

/** 'total per customer' of a chain: its first operator's name. @param {string} name of a vertex */
export function shortName(name) {
  return name.split(' -> ')[0];
}

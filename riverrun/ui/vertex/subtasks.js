// The answers about a vertex put together: one row for each subtask.

import { watermarkOf } from './watermarks.js';

/** The metrics that rows are made of, beside the answer about the vertex itself. */
export const ROW_METRICS = [
  'numRecordsInPerSecond', 'numRecordsOutPerSecond', 'currentInputWatermark', 'currentOutputWatermark',
];

/**
 * @typedef {object} SubtaskRow
 * @property {number} subtask
 * @property {string} status
 * @property {number} attempt
 * @property {string} host
 * @property {string} process what the interface calls its endpoint
 * @property {string | undefined} manager undefined: it is not placed yet
 * @property {number | undefined} recordsIn
 * @property {number | undefined} recordsOut
 * @property {number | undefined} bytesIn
 * @property {number | undefined} bytesOut
 * @property {number | undefined} inRate
 * @property {number | undefined} outRate
 * @property {{busy: number, idle: number, backpressured: number} | undefined} time shares; undefined: not told
 * @property {import('./watermarks.js').Watermark} watermark
 * @property {number | undefined} since when the attempt began
 * @property {number} duration
 */

/**
 * @param {any} vertex the answer of GET /jobs/{id}/vertices/{vertex}
 * @param {any} pressure that of /backpressure, if there is one yet
 * @param {import('./metrics.js').BySubtask} metrics
 * @param {{source: boolean}} place a source gets no watermarks, it gives them
 * @returns {SubtaskRow[]}
 */
export function rowsOf(vertex, pressure, metrics, { source }) {
  const watermarks = metrics.get(source ? 'currentOutputWatermark' : 'currentInputWatermark');
  /** @type {Map<number, any>} */
  const shares = new Map((pressure?.subtasks ?? []).map((/** @type {any} */ each) => [each.subtask, each]));
  return vertex.subtasks.map((/** @type {any} */ each) => {
    const told = each.metrics['read-records-complete'];
    const amount = (/** @type {string} */ name) => (told ? each.metrics[name] : undefined);
    return {
      subtask: each.subtask,
      status: each.status,
      attempt: each.attempt,
      host: hostOf(each.endpoint),
      process: each.endpoint,
      manager: isPlaced(each['taskmanager-id']) ? each['taskmanager-id'] : undefined,
      recordsIn: amount('read-records'),
      recordsOut: amount('write-records'),
      bytesIn: amount('read-bytes'),
      bytesOut: amount('write-bytes'),
      inRate: metrics.get('numRecordsInPerSecond')?.[each.subtask],
      outRate: metrics.get('numRecordsOutPerSecond')?.[each.subtask],
      time: timeOf(shares.get(each.subtask)),
      watermark: watermarkOf(watermarks?.[each.subtask]),
      since: each['start-time'] > 0 ? each['start-time'] : undefined,
      duration: each.duration,
    };
  });
}

/** 'host:1234' → 'host'. @param {string} endpoint */
export function hostOf(endpoint) {
  return endpoint.replace(/:\d+$/, '');
}

/** @param {string} manager */
export function isPlaced(manager) {
  return manager !== '(unassigned)';
}

/** A task that has told nothing has no shares at all, which is not the same as having done nothing.
 * @param {any} share */
function timeOf(share) {
  if (!share) return undefined;
  const { busyRatio: busy, idleRatio: idle, ratio: backpressured } = share;
  return busy + idle + backpressured > 0 ? { busy, idle, backpressured } : undefined;
}

/**
 * How the subtasks spend their time on average; undefined: none has told.
 * @param {readonly SubtaskRow[]} rows
 */
export function meanTime(rows) {
  const told = rows.flatMap((row) => row.time ?? []);
  if (!told.length) return undefined;
  const mean = (/** @type {'busy' | 'idle' | 'backpressured'} */ share) =>
    told.reduce((sum, time) => sum + time[share], 0) / told.length;
  return { busy: mean('busy'), idle: mean('idle'), backpressured: mean('backpressured') };
}

/** What most of the time goes to, in a word. @param {{busy: number, idle: number, backpressured: number}} time
 * @returns {['busy' | 'back-pressured' | 'idle', number]} */
export function mostly({ busy, idle, backpressured }) {
  if (busy >= idle && busy >= backpressured) return ['busy', busy];
  return backpressured >= idle ? ['back-pressured', backpressured] : ['idle', idle];
}

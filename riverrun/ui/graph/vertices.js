// What is known about the vertices of a job, put together from its answers: one entry for each vertex.

import { percent } from '../core/format.js';
import { shortName } from './chain.js';

/** States of jobs and of tasks that do not change any more. */
export const ENDED = ['FINISHED', 'CANCELED', 'FAILED'];

/**
 * @typedef {object} Vertex
 * @property {string} id
 * @property {string} name by its first operator
 * @property {string} fullName
 * @property {number} parallelism
 * @property {string} status
 * @property {Record<string, number>} tasks how many in each status that one of them has
 * @property {number} running
 * @property {number} total
 * @property {{id: string, strategy: string, sideOutput: string | undefined}[]} reads
 * @property {boolean} isSource
 * @property {boolean} isSink
 * @property {number | undefined} since when it began, the last time
 * @property {number | undefined} attempt how often it began again; undefined: not told
 * @property {{busy: number, backpressured: number, idle: number} | undefined} time shares, of now or of the whole run of a job that has ended; undefined: not told
 * @property {{subtask: number, busy: number} | undefined} busiest
 * @property {{subtask: number, share: number} | undefined} heaviest
 * @property {number | undefined} inRate records a second; of a source what it reads
 * @property {number | undefined} outRate
 * @property {number | undefined} recordsIn since its tasks began, as recordsOut
 * @property {number | undefined} recordsOut
 * @property {number | undefined} watermark undefined: none yet
 */

/**
 * @param {any} job the answer of GET /jobs/{id}
 * @param {any} [flow] that of GET /jobs/{id}/flow, if it is there yet
 * @returns {Vertex[]}
 */
export function verticesOf(job, flow) {
  const ended = ENDED.includes(job.state);
  const nodes = new Map((job.plan?.nodes ?? []).map((/** @type {any} */ node) => [node.id, node]));
  const flows = new Map((flow?.vertices ?? []).map((/** @type {any} */ each) => [each.id, each]));
  const read = new Set([...nodes.values()].flatMap((node) => (node.inputs ?? []).map((/** @type {any} */ input) => input.id)));
  return job.vertices.map((/** @type {any} */ vertex) => {
    const node = nodes.get(vertex.id) ?? { description: vertex.name };
    const inputs = node.inputs ?? [];
    const tasks = Object.fromEntries(Object.entries(vertex.tasks ?? {}).filter(([, number]) => Number(number) > 0));
    const isSource = inputs.length === 0;
    const isSink = !read.has(vertex.id);
    const now = flows.get(vertex.id);
    return {
      id: vertex.id,
      name: shortName(node),
      fullName: vertex.name,
      parallelism: vertex.parallelism,
      status: vertex.status,
      tasks,
      running: tasks.RUNNING ?? 0,
      total: Object.values(tasks).reduce((sum, number) => sum + Number(number), 0),
      reads: inputs.map((/** @type {any} */ input) => ({ id: input.id, strategy: input.ship_strategy, sideOutput: input.side_output })),
      isSource,
      isSink,
      since: vertex['start-time'] > 0 ? vertex['start-time'] : undefined,
      attempt: now?.attempt,
      time: ended ? wholeTimeOf(vertex.metrics) : timeOf(now),
      busiest: now?.busiest ?? undefined,
      heaviest: now?.heaviest ?? undefined,
      inRate: now?.['records-in-per-second'] ?? undefined,
      outRate: isSink ? undefined : now?.['records-out-per-second'] ?? undefined,
      recordsIn: isSource ? undefined : amount(vertex.metrics, 'read-records'),
      recordsOut: isSink ? undefined : amount(vertex.metrics, 'write-records'),
      watermark: now?.watermark ?? undefined,
    };
  });
}

/** @param {any} metrics of a vertex @param {string} name @returns {number | undefined} */
function amount(metrics, name) {
  return metrics?.[`${name}-complete`] ? metrics[name] : undefined;
}

/** @param {any} flow of a vertex */
function timeOf(flow) {
  const { busy, backpressured, idle } = flow ?? {};
  if (busy == null && backpressured == null && idle == null) return undefined;
  return { busy: busy ?? 0, backpressured: backpressured ?? 0, idle: idle ?? 0 };
}

/** Over all that its tasks did. @param {any} metrics */
function wholeTimeOf(metrics) {
  const [busy, backpressured, idle] = ['busy', 'backpressured', 'idle'].map((what) => metrics?.[`accumulated-${what}-time`] ?? 0);
  const all = busy + backpressured + idle;
  return all > 0 ? { busy: busy / all, backpressured: backpressured / all, idle: idle / all } : undefined;
}

/** What the vertex does most of its time. @param {Vertex | undefined} vertex @returns {'busy' | 'backpressured' | 'idle' | undefined} */
export function mostly(vertex) {
  if (!vertex?.time) return undefined;
  const { busy, backpressured, idle } = vertex.time;
  if (backpressured >= busy && backpressured >= idle && backpressured > 0) return 'backpressured';
  return busy >= idle && busy > 0 ? 'busy' : 'idle';
}

/** The largest shares of its time, the largest first: 'idle 97 %, busy 3 %'. @param {Vertex | undefined} vertex */
export function timeInWords(vertex) {
  if (!vertex?.time) return undefined;
  const { busy, backpressured, idle } = vertex.time;
  const shares = /** @type {[string, number][]} */ ([['busy', busy], ['back-pressured', backpressured], ['idle', idle]]);
  const told = shares.filter(([, share]) => share >= 0.005).sort(([, a], [, b]) => b - a);
  return told.slice(0, 2).map(([word, share]) => `${word} ${percent(share)}`).join(', ') || 'idle';
}

/** @param {Vertex} vertex */
export function hasEnded(vertex) {
  return vertex.total > 0 && ENDED.includes(vertex.status);
}

/** '2 of 3 run', or in which states they are when it is more than that. @param {Vertex} vertex */
export function tasksInWords({ tasks, running, total }) {
  if (total === 0) return 'no tasks yet';
  const states = Object.entries(tasks);
  if (states.length === 1) return `${total === 1 ? '' : `all ${total} `}${words(states[0][0])}`;
  if (running) return `${running} of ${total} running`;
  return states.map(([state, number]) => `${number} ${words(state)}`).join(', ');
}

/** @param {string} state */
function words(state) {
  return state.toLowerCase().replaceAll('_', ' ');
}

// What holds a job up, in sentences. The first is the one that matters most.

import { duration, percent } from '../core/format.js';
import { hasEnded } from './vertices.js';

/** From here on a vertex counts as waiting for those downstream; Flink calls it low back-pressure. */
const WAITS = 0.1;
/** From here on it does most of the time. */
const WAITS_LONG = 0.5;
const BUSY = 0.5;
const NEARLY_FULL = 0.8;
const IDLE = 0.05;
const UNEVEN = 0.25;
const FEW_RECORDS = 5;
const LATELY_MS = 5 * 60_000;
const MOST_CAUSES = 3;
const LONGEST_NAME = 40;

/**
 * @typedef {import('./vertices.js').Vertex} Vertex
 * @typedef {string | {vertex: string, text: string} | {tab: string, text: string}} Piece
 * words, a vertex that is linked, or a tab of the job that is linked
 * @typedef {{tone: 'good' | 'wait' | 'bad', pieces: Piece[], vertex?: string}} Finding
 * vertex: the one that is to blame
 */

/**
 * @param {{state: string, now: number, 'status-text'?: string | null}} job
 * @param {readonly Vertex[]} vertices
 * @returns {Finding[]}
 */
export function findings(job, vertices) {
  const state = ofState(job, vertices);
  if (state) return [state];
  const missing = ofTasks(vertices);
  const restarts = ofRestarts(job.now, vertices);
  return [...missing, ...ofFlow(vertices), ...restarts, ...ofSkew(vertices)];
}

/** A finding as plain text. @param {Finding} finding */
export function inWords({ pieces }) {
  return pieces.map((piece) => (typeof piece === 'string' ? piece : piece.text)).join('');
}

/** @type {Record<string, {tone: Finding['tone'], words: string}>} */
const STATES = {
  FINISHED: { tone: 'good', words: 'The job has finished.' },
  CANCELED: { tone: 'good', words: 'The job was cancelled.' },
  FAILED: { tone: 'bad', words: 'The job has failed.' },
  FAILING: { tone: 'bad', words: 'The job fails; its tasks are being stopped.' },
  CANCELLING: { tone: 'wait', words: 'The job is being cancelled.' },
  RESTARTING: { tone: 'bad', words: 'A task failed, and the job starts again.' },
  SUSPENDED: { tone: 'wait', words: 'The job is suspended.' },
  INITIALIZING: { tone: 'wait', words: 'The job starts.' },
  CREATED: { tone: 'wait', words: 'The job starts.' },
  RECONCILING: { tone: 'wait', words: 'The job is being found again after its JobManager was away.' },
};
const FAILURES = ['FAILED', 'FAILING', 'RESTARTING'];

/** What a job that does not run is doing. @param {any} job @param {readonly Vertex[]} vertices @returns {Finding | null} */
function ofState(job, vertices) {
  const found = STATES[job.state];
  if (!found) return null;
  /** @type {Piece[]} */
  const pieces = [found.words];
  const { running, total } = tasksOf(vertices);
  if (running && total) pieces.push(` ${running} of ${total} tasks run.`);
  if (job['status-text']) pieces.push(` ${sentence(job['status-text'])}`);
  if (FAILURES.includes(job.state)) pieces.push(' See the ', { tab: 'exceptions', text: 'exceptions' }, '.');
  return { tone: found.tone, pieces };
}

/** @param {readonly Vertex[]} vertices @returns {Finding[]} */
function ofTasks(vertices) {
  const failed = vertices.filter(({ status }) => status === 'FAILED');
  /** @type {Finding[]} */
  const found = failed.slice(0, 1).map((vertex) => ({
    tone: 'bad', vertex: vertex.id,
    pieces: [named(vertex), others(failed.length - 1), ' failed. See the ', { tab: 'exceptions', text: 'exceptions' }, '.'],
  }));
  const { running, ended, total } = tasksOf(vertices);
  if (running + ended < total) {
    const waiting = vertices.filter((vertex) => !hasEnded(vertex) && vertex.running < vertex.total);
    found.push({
      tone: 'wait',
      pieces: [`${running} of ${total - ended} tasks run; `, ...list(waiting), ` ${waiting.length === 1 ? 'is' : 'are'} not complete yet.`],
    });
  }
  return found;
}

/** @param {readonly Vertex[]} vertices */
function tasksOf(vertices) {
  let [running, ended, total] = [0, 0, 0];
  for (const vertex of vertices) {
    running += vertex.running;
    total += vertex.total;
    ended += (vertex.tasks.FINISHED ?? 0) + (vertex.tasks.CANCELED ?? 0) + (vertex.tasks.FAILED ?? 0);
  }
  return { running, ended, total };
}

/** @param {readonly Vertex[]} vertices @returns {Finding[]} */
function ofFlow(vertices) {
  const told = vertices.filter(({ time }) => time);
  if (!told.length) {
    return [{ tone: 'wait', pieces: ['The tasks have not told yet what they do with their time.'] }];
  }
  const causes = causesOf(vertices);
  if (causes.length) return causes.slice(0, MOST_CAUSES).map(ofCause);
  const busiest = told.reduce((most, vertex) => (busyOf(vertex) > busyOf(most) ? vertex : most));
  const share = busyOf(busiest);
  if (share >= NEARLY_FULL) {
    return [{ tone: 'wait', vertex: busiest.id, pieces: [...isBusy(busiest), ' and close to its limit; nothing waits for it yet.'] }];
  }
  const sources = vertices.filter(({ isSource }) => isSource);
  if (share < IDLE && sources.length && sources.every(({ inRate }) => inRate === 0)) {
    const which = sources.length === 1 ? 'its source ' : 'its sources ';
    return [{ tone: 'wait', pieces: [`The job waits for ${which}`, ...list(sources), ': no records come, and everything is idle.'] }];
  }
  return [{ tone: 'good', pieces: ['Nothing is held up; the busiest is ', named(busiest), ` (${percent(share)})`, ...shortWaits(told), '.'] }];
}

/** @param {readonly Vertex[]} vertices @returns {Piece[]} */
function shortWaits(vertices) {
  const waiting = vertices.filter(waits).sort((a, b) => worst([b]) - worst([a]));
  if (!waiting.length) return [];
  return [', and ', ...list(waiting), ` wait${waiting.length === 1 ? 's' : ''} up to ${percent(worst(waiting))} of the time`];
}

/**
 * Those that others wait for: where the waiting ends, downstream.
 * @param {readonly Vertex[]} vertices
 * @returns {{cause: Vertex, waiting: Vertex[]}[]} the ones with the longest wait first
 */
function causesOf(vertices) {
  const byId = new Map(vertices.map((vertex) => [vertex.id, vertex]));
  /** @type {Map<string, Vertex[]>} */
  const readers = new Map(vertices.map(({ id }) => [id, []]));
  for (const vertex of vertices) for (const { id } of vertex.reads) readers.get(id)?.push(vertex);
  /** @type {Set<string>} */
  const causes = new Set();
  for (const vertex of vertices.filter(waits)) {
    const next = readers.get(vertex.id) ?? [];
    if (next.some(waits) || !next.length) continue; // what they wait for is found from there
    causes.add(next.reduce((most, each) => (busyOf(each) > busyOf(most) ? each : most)).id);
  }
  return [...causes].map((id) => {
    const cause = /** @type {Vertex} */ (byId.get(id));
    return { cause, waiting: upstream(cause, byId).filter(waits) };
  }).filter(isHeldUp).sort((a, b) => worst(b.waiting) - worst(a.waiting));
}

/**
 * A short wait for one that has time to spare passes by itself: records come in bursts.
 * @param {{cause: Vertex, waiting: Vertex[]}} found
 */
function isHeldUp({ cause, waiting }) {
  return !cause.time || busyOf(cause) >= BUSY || worst(waiting) >= WAITS_LONG;
}

/** Whether the vertex waits for those downstream. @param {Vertex} vertex */
function waits(vertex) {
  return (vertex.time?.backpressured ?? 0) >= WAITS;
}

/** Nearest first. @param {Vertex} vertex @param {Map<string, Vertex>} byId */
function upstream(vertex, byId) {
  const found = new Set([vertex]);
  for (const each of found) {
    for (const { id } of each.reads) {
      const before = byId.get(id);
      if (before) found.add(before);
    }
  }
  found.delete(vertex);
  return [...found];
}

/** @param {readonly Vertex[]} waiting */
function worst(waiting) {
  return Math.max(0, ...waiting.map(({ time }) => time?.backpressured ?? 0));
}

/** @param {{cause: Vertex, waiting: Vertex[]}} found @returns {Finding} */
function ofCause({ cause, waiting }) {
  const wait = waiting.length === 1 ? 'waits' : 'wait';
  const share = percent(worst(waiting));
  if (busyOf(cause) < BUSY) {
    const what = cause.time
      ? `is itself busy only ${percent(busyOf(cause))}.`
      : 'has not told yet what it does.';
    return {
      tone: 'wait', vertex: cause.id,
      pieces: [...list(waiting), ` ${wait} for `, named(cause), ` (up to ${share} of the time), which ${what}`],
    };
  }
  return {
    tone: 'bad', vertex: cause.id,
    pieces: [...isBusy(cause), '; ', ...list(waiting), ` upstream ${wait} for it (up to ${share} of the time).`],
  };
}

/** 'x' is busy 100 %, or only one of its subtasks. @param {Vertex} vertex @returns {Piece[]} */
function isBusy(vertex) {
  const mean = vertex.time?.busy ?? 0;
  const { busiest } = vertex;
  if (busiest && vertex.parallelism > 1 && busiest.busy - mean >= UNEVEN) {
    return [`Subtask ${busiest.subtask} of `, named(vertex), ` is busy ${percent(busiest.busy)}, its ${vertex.parallelism} subtasks ${percent(mean)} in the mean`];
  }
  return [named(vertex), ` is busy ${percent(mean)}`];
}

/** The busiest subtask counts: the others wait for it. @param {Vertex} vertex */
function busyOf(vertex) {
  return Math.max(vertex.time?.busy ?? 0, vertex.busiest?.busy ?? 0);
}

/** @param {number} now @param {readonly Vertex[]} vertices @returns {Finding[]} */
function ofRestarts(now, vertices) {
  const again = vertices.filter(({ attempt, since }) => attempt && since !== undefined && now - since < LATELY_MS);
  if (!again.length) return [];
  const latest = again.reduce((a, b) => (/** @type {number} */ (b.since) > /** @type {number} */ (a.since) ? b : a));
  const when = ` began again ${duration(Math.max(0, now - /** @type {number} */ (latest.since)))} ago`;
  const times = latest.attempt === 1 ? '' : `, for the ${ordinal(/** @type {number} */ (latest.attempt))} time`;
  const who = again.length === vertices.length ? ['The job'] : list(again);
  return [{ tone: 'wait', pieces: [...who, when, times, '. See the ', { tab: 'exceptions', text: 'exceptions' }, '.'] }];
}

/** @param {readonly Vertex[]} vertices @returns {Finding[]} */
function ofSkew(vertices) {
  const uneven = vertices.filter(({ parallelism, heaviest, inRate }) =>
    parallelism > 1 && heaviest && (inRate ?? 0) >= FEW_RECORDS && isUneven(heaviest.share, parallelism));
  if (!uneven.length) return [];
  const vertex = uneven.reduce((most, each) => (skew(each) > skew(most) ? each : most));
  const { subtask, share } = /** @type {{subtask: number, share: number}} */ (vertex.heaviest);
  const more = uneven.length === 1 ? '' : ` ${uneven.length - 1} more ${uneven.length === 2 ? 'is' : 'are'} uneven.`;
  return [{
    tone: 'wait', vertex: vertex.id,
    pieces: [`Subtask ${subtask} of `, named(vertex), ` gets ${percent(share)} of the records of ${vertex.parallelism} subtasks.${more}`],
  }];
}

/** @param {number} share @param {number} parallelism */
function isUneven(share, parallelism) {
  return share >= 1 / parallelism + UNEVEN || (parallelism >= 8 && share * parallelism >= 3);
}

/** @param {Vertex} vertex */
function skew({ heaviest, parallelism }) {
  return (heaviest?.share ?? 0) - 1 / parallelism;
}

/** @param {Vertex} vertex @returns {Piece} */
function named({ id, name }) {
  return { vertex: id, text: `'${name.length > LONGEST_NAME ? `${name.slice(0, LONGEST_NAME - 1)}…` : name}'` };
}

/** 'a', 'a' and 'b', 'a' and 2 others. @param {readonly Vertex[]} vertices @returns {Piece[]} */
function list(vertices) {
  if (vertices.length === 2) return [named(vertices[0]), ' and ', named(vertices[1])];
  return vertices.length ? [named(vertices[0]), others(vertices.length - 1)] : [];
}

/** @param {number} number */
function others(number) {
  if (number <= 0) return '';
  return number === 1 ? ' and 1 other' : ` and ${number} others`;
}

/** @param {number} number */
function ordinal(number) {
  const last = number % 100 >= 11 && number % 100 <= 13 ? 0 : number % 10;
  return `${number}${['th', 'st', 'nd', 'rd'][last] ?? 'th'}`;
}

/** @param {string} text */
function sentence(text) {
  const trimmed = text.trim();
  const first = trimmed[0].toUpperCase() + trimmed.slice(1);
  return /[.!?]$/.test(first) ? first : `${first}.`;
}

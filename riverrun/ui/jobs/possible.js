// What can be done with a job in the state that it is in, and what a change of its parallelism needs.

import { exact } from '../core/format.js';
import { inWords } from '../parts/badge.js';
import { isOver } from './glance.js';

const ENDING = ['CANCELLING', 'FAILING'];

/** Why the job cannot be cancelled; undefined: it can. @param {string} state */
export function whyNotCancel(state) {
  if (isOver(state)) return `The job is ${inWords(state)}: there is nothing left to cancel.`;
  if (state === 'CANCELLING') return 'The job is being cancelled.';
  if (state === 'SUSPENDED') return 'The job is suspended: another JobManager goes on with it.';
  return undefined;
}

/** Why nothing can be asked of its tasks (a checkpoint, a savepoint, another parallelism). @param {string} state */
export function whyNotAsk(state) {
  if (state === 'RUNNING') return undefined;
  if (isOver(state)) return `The job is ${inWords(state)}.`;
  if (ENDING.includes(state)) return `The job is ${inWords(state)}.`;
  return `The job is ${inWords(state)}; this needs one that runs.`;
}

/**
 * @typedef {object} Parallelism
 * @property {number} now the largest of the vertices
 * @property {number} least the smallest of the vertices
 * @property {number} most what every vertex can have
 * @property {number} tasks how many there are now
 * @property {number} vertices
 */

/** @param {{parallelism: number, maxParallelism: number}[]} vertices @returns {Parallelism | undefined} */
export function parallelismOf(vertices) {
  if (vertices.length === 0) return undefined;
  const each = vertices.map((vertex) => vertex.parallelism);
  return {
    now: Math.max(...each),
    least: Math.min(...each),
    most: Math.max(1, Math.min(...vertices.map((vertex) => vertex.maxParallelism))),
    tasks: each.reduce((sum, value) => sum + value, 0),
    vertices: vertices.length,
  };
}

/**
 * What another parallelism means for the slots; each task takes one.
 * @param {Parallelism} found
 * @param {number} wanted
 * @param {number | undefined} free
 * @returns {{words: string, enough: boolean}}
 */
export function slotsFor(found, wanted, free) {
  const more = wanted * found.vertices - found.tasks;
  if (wanted === found.now && wanted === found.least) return { words: 'The job runs so already.', enough: true };
  if (more === 0) return { words: 'It needs the slots that it has.', enough: true };
  if (more < 0) return { words: more === -1 ? '1 slot becomes free.' : `${exact(-more)} slots become free.`, enough: true };
  const needs = `It needs up to ${exact(more)} ${more === 1 ? 'slot' : 'slots'} more`;
  if (free === undefined) return { words: `${needs}.`, enough: true };
  const words = `${needs}; ${exact(free)} are free.`;
  return more <= free
    ? { words, enough: true }
    : { words: `${words} That is not enough: the job will refuse, or wait for slots.`, enough: false };
}

/** 'parallelism 2', or what it is where vertices differ. @param {Parallelism} found */
export function parallelismInWords({ now, least }) {
  return now === least ? `parallelism ${now}` : `parallelisms from ${least} to ${now}`;
}

/**
 * Where a job that ended could be started again from: what it stopped with, or else its newest snapshot.
 * @param {any} checkpoints the answer of GET /jobs/{id}/checkpoints
 * @returns {{path: string, what: string} | undefined}
 */
export function restartPoint(checkpoints) {
  const { completed, savepoint } = checkpoints?.latest ?? {};
  const usable = [savepoint, completed].filter((each) => each?.external_path && !each.discarded);
  const newest = usable.sort((a, b) => b.trigger_timestamp - a.trigger_timestamp)[0];
  return newest && { path: newest.external_path, what: newest.is_savepoint ? 'savepoint' : 'checkpoint' };
}

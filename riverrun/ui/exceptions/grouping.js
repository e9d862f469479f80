// Failures of one cause together: the same exception of the same operator, whatever numbers its message has.

import { duration } from '../core/format.js';

/**
 * @typedef {any} Failure an entry of GET /jobs/{id}/exceptions
 * @typedef {object} Group
 * @property {string} key short, the same for the same cause: for addresses
 * @property {string} name the exception
 * @property {string} operator or the task, or '' where neither is known
 * @property {Failure[]} failures newest first
 * @property {number} first when, in milliseconds since the epoch
 * @property {number} last when
 */

/** @param {Failure[]} failures newest first @returns {Group[]} the one with the newest failure first */
export function groupsOf(failures) {
  /** @type {Map<string, Group>} */
  const groups = new Map();
  for (const failure of [...failures].sort((a, b) => b.timestamp - a.timestamp)) {
    const operator = whereOf(failure);
    const cause = [failure.exceptionName, operator, normalised(messageOf(failure))].join('\n');
    /** @type {Group} */
    const group = groups.get(cause) ?? {
      key: shortened(cause), name: failure.exceptionName, operator, failures: [], first: failure.timestamp, last: failure.timestamp,
    };
    group.failures.push(failure);
    group.first = failure.timestamp;
    groups.set(cause, group);
  }
  return [...groups.values()];
}

/** The operator, else the task without its subtask, else ''. @param {Failure} failure */
export function whereOf(failure) {
  return failure.failureLabels?.operator ?? (failure.taskName ?? '').replace(/ \(\d+\)$/, '');
}

/** @param {Failure} failure */
export function messageOf(failure) {
  return failure.message ?? '';
}

/** Numbers and ids as '#'. @param {string} message */
export function normalised(message) {
  return message.replace(/0x[0-9a-f]+|\b(?=[0-9a-f-]*\d)[0-9a-f]{8,}(?:-[0-9a-f]{4,})*\b|\d+(?:[.,]\d+)*/gi, '#');
}

/** A number for a text, as hexadecimal digits (FNV-1a). @param {string} text */
function shortened(text) {
  let hash = 0x811c9dc5;
  for (const byte of new TextEncoder().encode(text)) hash = Math.imul(hash ^ byte, 0x01000193) >>> 0;
  return hash.toString(16).padStart(8, '0');
}

/**
 * What became of the job after a failure.
 * @param {{state: string, restarts?: number, uptime?: number, attempt?: number, newest: boolean}} facts
 * restarts: of the job in all; attempt: of the job at the failure; newest: nothing failed since
 */
export function aftermath({ state, restarts, uptime, attempt, newest }) {
  const since = restarts === undefined || attempt === undefined ? undefined : Math.max(0, restarts - attempt);
  const again = since === undefined ? '' : since === 0 ? 'not started again since' : `restarted ${since === 1 ? 'once' : `${since} times`} since`;
  const now = stateWords(state, uptime, newest, since);
  return [again, now].filter(Boolean).join('; ');
}

/** @param {string} state @param {number | undefined} uptime @param {boolean} newest @param {number | undefined} since */
function stateWords(state, uptime, newest, since) {
  if (state === 'RUNNING') return uptime ? `running for ${duration(uptime)}` : 'running';
  if (state === 'RESTARTING') return 'being restarted';
  if (state === 'FAILED') return newest && !since ? 'it ended the job' : 'the job failed in the end';
  return `the job is ${state.toLowerCase()}`;
}

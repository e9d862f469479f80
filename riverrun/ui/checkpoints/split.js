// Where the time of a checkpoint went in a subtask, phase by phase.

import { duration, known } from '../core/format.js';

/**
 * @typedef {'start' | 'align' | 'sync' | 'async' | 'rest'} Phase
 * @typedef {{phase: Phase, ms: number, share: number}} Part share: of the whole, 0 to 1
 * @typedef {{total: number, parts: Part[]}} Split
 */

/** What each phase is called, and what it is. @type {Record<Phase, {name: string, about: string}>} */
export const PHASES = {
  start: { name: 'start delay', about: 'the barrier was on its way, behind the records before it' },
  align: { name: 'alignment', about: 'inputs whose barrier had come waited for the others' },
  sync: { name: 'sync', about: 'the operators stood still and took their snapshot' },
  async: { name: 'async', about: 'the state was written while records went on' },
  rest: { name: 'other', about: 'the trigger and the acknowledgement were on their way' },
};

/** @type {Phase[]} */
export const ORDER = ['start', 'align', 'sync', 'async', 'rest'];

/**
 * The split of one subtask of GET …/checkpoints/details/{id}/subtasks/{vertex}; null before it acknowledged.
 * @param {any} subtask
 * @returns {Split | null}
 */
export function splitOf(subtask) {
  if (!known(subtask?.end_to_end_duration)) return null;
  const measured = {
    start: subtask.start_delay ?? 0,
    align: subtask.alignment?.duration ?? 0,
    sync: subtask.checkpoint?.sync ?? 0,
    async: subtask.checkpoint?.async ?? 0,
  };
  const sum = measured.start + measured.align + measured.sync + measured.async;
  // Clocks of two machines may differ: the phases are then more than the whole.
  const total = Math.max(sum, subtask.end_to_end_duration);
  const all = { ...measured, rest: total - sum };
  const parts = ORDER.map((phase) => ({ phase, ms: all[phase], share: total > 0 ? all[phase] / total : 0 }));
  return { total, parts };
}

/** The longest phase that is not 'other'; null where nothing was measured. @param {Split | null} split @returns {Part | null} */
export function longest(split) {
  const measured = (split?.parts ?? []).filter(({ phase, ms }) => phase !== 'rest' && ms > 0);
  return measured.reduce((/** @type {Part | null} */ most, part) => (!most || part.ms > most.ms ? part : most), null);
}

/** 'start delay 2 ms, alignment 0 ms, …'. @param {Split} split */
export function splitWords(split) {
  return split.parts.map(({ phase, ms }) => `${PHASES[phase].name} ${duration(ms)}`).join(', ');
}

/** The subtask that acknowledged last. @param {any[]} subtasks */
export function slowestOf(subtasks) {
  return subtasks.reduce((most, subtask) => (!known(subtask.end_to_end_duration)
    || (most && most.end_to_end_duration >= subtask.end_to_end_duration) ? most : subtask), null);
}

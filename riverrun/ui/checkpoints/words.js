// How a job takes checkpoints, in words. Facts of GET /jobs/{id}/checkpoints/config.

import { duration, NONE } from '../core/format.js';

/** @type {Record<string, string>} */
const MODES = {
  EXACTLY_ONCE: 'exactly once: each record counts once in the state',
  AT_LEAST_ONCE: 'at least once: a record may count again after a failure',
};

/** @type {Record<string, string>} */
const TYPES = {
  CHECKPOINT: 'checkpoint', UNALIGNED_CHECKPOINT: 'unaligned checkpoint', SAVEPOINT: 'savepoint', SYNC_SAVEPOINT: 'savepoint to stop with',
};

/** @param {{checkpoint_type: string}} checkpoint */
export function typeWords({ checkpoint_type: type }) {
  return TYPES[type] ?? type.toLowerCase().replaceAll('_', ' ');
}

/** The part of a snapshot's path that tells it from others: '/a/b/chk-7/_metadata' → '…/chk-7'. @param {string} path */
export function endOf(path) {
  const steps = path.replace(/\/_metadata$/, '').replace(/\/+$/, '').split('/');
  return steps.length > 2 ? `…/${steps.at(-1)}` : steps.join('/');
}

/** @param {any} config @returns {[name: string, words: string][]} */
export function settingsWords(config) {
  return [
    ['How often', config.interval ? `every ${duration(config.interval)}${pause(config)}` : 'never by themselves: execution.checkpointing.interval is not set'],
    ['Guarantee', MODES[config.mode] ?? config.mode],
    ['Given up after', duration(config.timeout)],
    ['At the same time', config.max_concurrent === 1 ? 'one' : `up to ${config.max_concurrent}`],
    ['Barriers', barriers(config)],
    ['Failed checkpoints', tolerance(config.tolerable_failed_checkpoints)],
    ['When the job is cancelled', retention(config.externalization)],
    ['After some tasks finished', config.checkpoints_after_tasks_finish ? 'checkpoints go on' : 'no more checkpoints'],
    ['State backend', config.state_backend],
    ['Where', config.checkpoint_storage || NONE],
  ];
}

/** @param {any} config */
function pause({ min_pause: ms }) {
  return ms ? `, at least ${duration(ms)} after the one before` : '';
}

/** @param {any} config */
function barriers({ unaligned_checkpoints: unaligned, aligned_checkpoint_timeout: patience, mode }) {
  if (mode === 'AT_LEAST_ONCE') return 'not aligned: records go on before all barriers are there';
  if (!unaligned) return 'aligned: an input waits for the barriers of the others';
  if (patience) return `aligned for ${duration(patience)}, then they overtake the records, which are stored too`;
  return 'unaligned: they overtake the records, which are stored too';
}

/** @param {number} allowed */
function tolerance(allowed) {
  if (!allowed) return 'the first one fails the job';
  return `${allowed} in a row ${allowed === 1 ? 'is' : 'are'} tolerated, one more fails the job`;
}

/** @param {{enabled: boolean, delete_on_cancellation: boolean}} externalization */
function retention({ enabled, delete_on_cancellation: deleted }) {
  return enabled && !deleted ? 'checkpoints are kept' : 'checkpoints are deleted (savepoints stay)';
}

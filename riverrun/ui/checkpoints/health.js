// Whether the checkpoints of a job are healthy, in one sentence.

import { duration, known } from '../core/format.js';
import { PHASES } from './split.js';
import { shortName } from './waiting.js';

/**
 * @typedef {{tone: 'good' | 'wait' | 'bad' | undefined, words: string, about?: number}} Health
 * about: the checkpoint that is spoken of
 *
 * @typedef {object} Facts
 * @property {any} checkpoints the answer of GET /jobs/{id}/checkpoints
 * @property {number} interval milliseconds; 0: none are taken by themselves
 * @property {number} [timeout] milliseconds
 * @property {string} state of the job
 * @property {number} now milliseconds since the epoch, by the JobManager's clock
 * @property {{checkpoint: number, names: string[]} | null} [waits] who has not acknowledged
 * @property {{checkpoint: number, name: string, phase?: import('./split.js').Phase} | null} [last] who acknowledged last, and its longest phase
 */

const SLOW_TIMES = 3;
const SLOW_MS = 1000;
const LATE_INTERVALS = 5;
const LATE_MS = 10_000;
const NUMBERS = ['no', 'one', 'two', 'three', 'four', 'five', 'six', 'seven', 'eight', 'nine', 'ten', 'eleven', 'twelve'];

/** @param {Facts} facts @returns {Health} */
export function healthOf(facts) {
  const { checkpoints, interval } = facts;
  if (!interval) return { tone: 'wait', words: OFF };
  const ended = endedOf(checkpoints);
  const failing = inARow(ended);
  if (failing.length > 0) return failed(failing, ended);
  return stuck(facts) ?? late(facts) ?? (ended.length > 0 ? slow(facts, ended[0]) ?? fine(facts, ended[0]) : none(facts));
}

export const OFF = 'Checkpointing is off: after a failure the job begins anew, without its state. Set execution.checkpointing.interval.';

/** Those that are over, newest first; savepoints are asked for by people and say nothing about the others. @param {any} checkpoints */
export function endedOf(checkpoints) {
  return checkpoints.history.filter((/** @type {any} */ each) => each.status !== 'IN_PROGRESS' && !each.is_savepoint);
}

/** The checkpoint in progress that began first. @param {any} checkpoints */
export function runningOf(checkpoints) {
  return checkpoints.history.findLast((/** @type {any} */ each) => each.status === 'IN_PROGRESS');
}

/** What a checkpoint usually takes; undefined before any completed. @param {any} checkpoints */
export function usualOf(checkpoints) {
  return checkpoints.counts.completed > 0 ? checkpoints.summary.end_to_end_duration.p50 : undefined;
}

/** Whether something is unusual about how long a checkpoint takes. @param {number} took @param {number | undefined} usual */
export function isSlow(took, usual) {
  return known(usual) && took >= SLOW_MS && took >= SLOW_TIMES * usual;
}

/** @param {any[]} ended */
function inARow(ended) {
  const good = ended.findIndex(({ status }) => status === 'COMPLETED');
  return good < 0 ? ended : ended.slice(0, good);
}

/** @param {any[]} failing @param {any[]} ended @returns {Health} */
function failed(failing, ended) {
  const [newest] = failing;
  const reason = sentence(newest.failure_message ?? 'no reason is known');
  if (failing.length === 1) {
    return { tone: 'bad', about: newest.id, words: `The last checkpoint (${newest.id}) failed: ${reason}` };
  }
  const many = failing.length === ended.length ? `at least ${failing.length}` : `${failing.length}`;
  return { tone: 'bad', about: newest.id, words: `${capital(many)} checkpoints failed in a row: ${reason}` };
}

/** A checkpoint in progress that takes longer than usual. @param {Facts} facts @returns {Health | undefined} */
function stuck({ checkpoints, timeout, now, waits }) {
  const running = runningOf(checkpoints);
  if (!running) return undefined;
  const took = now - running.trigger_timestamp;
  const usual = usualOf(checkpoints);
  const first = usual === undefined && took >= LATE_MS;
  if (!isSlow(took, usual) && !first) return undefined;
  const waited = waits && waits.checkpoint === running.id ? waits.names : [];
  const who = waited.length > 0
    ? `; ${named(waited)} ${waited.length > 1 ? 'have' : 'has'} not acknowledged yet`
    : `; ${running.num_acknowledged_subtasks} of ${running.num_subtasks} subtasks have acknowledged`;
  const compared = usual === undefined ? '' : `, ${times(took / usual)} the usual ${duration(usual)}`;
  const end = timeout && took > timeout / 2 ? ` It is given up after ${duration(timeout)}.` : '';
  return { tone: 'wait', about: running.id, words: `Checkpoint ${running.id} has been under way for ${duration(took)}${compared}${who}.${end}` };
}

/** None for a long time, though they are due. @param {Facts} facts @returns {Health | undefined} */
function late({ checkpoints, interval, now, state }) {
  const newest = checkpoints.history[0];
  if (state !== 'RUNNING' || !newest || runningOf(checkpoints)) return undefined;
  const since = now - newest.trigger_timestamp - newest.end_to_end_duration;
  if (since < Math.max(LATE_INTERVALS * interval, LATE_MS)) return undefined;
  return { tone: 'wait', about: newest.id, words: `No checkpoint has begun for ${duration(since)}, though one is due every ${duration(interval)}.` };
}

/** @param {Facts} facts @param {any} newest @returns {Health | undefined} */
function slow({ checkpoints, interval, last }, newest) {
  const took = newest.end_to_end_duration;
  const usual = usualOf(checkpoints);
  const unusual = isSlow(took, usual);
  if (!unusual && !(took >= SLOW_MS && took > interval)) return undefined;
  const compared = unusual && known(usual)
    ? `${times(took / usual)} the usual ${duration(usual)}`
    : `longer than the ${duration(interval)} between two`;
  const same = last && last.checkpoint === newest.id ? last : undefined;
  const who = same ? `; '${shortName(same.name)}' was the last to acknowledge` : '';
  const why = same?.phase ? `: mostly ${PHASES[same.phase].name}, ${PHASES[same.phase].about}` : '';
  return { tone: 'wait', about: newest.id, words: `The last checkpoint took ${duration(took)}, ${compared}${who}${why}.` };
}

/** @param {Facts} facts @param {any} newest @returns {Health} */
function fine({ checkpoints, interval, state }, newest) {
  const usual = usualOf(checkpoints);
  const took = `the last one took ${duration(newest.end_to_end_duration)}, usual are ${duration(usual)}`;
  if (state !== 'RUNNING') return { tone: undefined, about: newest.id, words: `The job is ${state.toLowerCase()}; of its checkpoints ${took}.` };
  return { tone: 'good', about: newest.id, words: `Checkpoints are healthy: one every ${duration(interval)}, ${took}.` };
}

/** @param {Facts} facts @returns {Health} */
function none({ interval, state }) {
  const words = state === 'RUNNING' ? `one is due every ${duration(interval)}` : `the job is ${state.toLowerCase()}`;
  return { tone: undefined, words: `No checkpoint is complete yet; ${words}.` };
}

/** 10.2 → 'ten times'. @param {number} factor */
export function times(factor) {
  const whole = Math.round(factor);
  return `${NUMBERS[whole] ?? whole.toLocaleString('en-US')} times`;
}

/** "'a'", "'a' and 'b'", "'a', 'b' and 3 more". @param {string[]} names of vertices */
export function named(names) {
  const quoted = names.map((name) => `'${shortName(name)}'`);
  if (quoted.length <= 2) return quoted.join(' and ');
  return `${quoted.slice(0, 2).join(', ')} and ${quoted.length - 2} more`;
}

/** @param {string} words */
function sentence(words) {
  return /[.!?]$/.test(words) ? words : `${words}.`;
}

/** @param {string} words */
function capital(words) {
  return words.charAt(0).toUpperCase() + words.slice(1);
}

// What a list of jobs says about a job, decided from its entry in GET /jobs/overview.

import { duration, exact, percent, known, NONE } from '../core/format.js';
import { hasWords } from '../parts/filter.js';

/** @typedef {{tone: 'wait' | 'bad', words: string, why?: string}} Hint why: more, for those who ask */

const OVER = ['FINISHED', 'CANCELED', 'FAILED'];
const WAITS_TOO_MUCH = 0.5;
const SLOW_MS = 60_000;

/** From the start of a task's life to its end. */
const TASK_STATES = [
  'running', 'finished', 'created', 'scheduled', 'deploying', 'initializing', 'reconciling', 'canceling', 'canceled', 'failed',
];
const TONES = /** @type {Record<string, string>} */ ({ running: 'good', finished: 'done', failed: 'bad', canceled: 'still' });

/** Whether the job has ended for good. @param {string} state */
export function isOver(state) {
  return OVER.includes(state);
}

/**
 * What the JobManager's clock shows: the reader's own may be wrong.
 * @param {any} job a running job
 * @param {number} at when the answer came, by the reader's clock
 * @param {number} now by the reader's clock
 */
export function clockThere(job, at, now) {
  return job['start-time'] + job.duration + Math.max(0, now - at);
}

/** How long the job has run, or ran. @param {any} job @param {number} at @param {number} now */
export function age(job, at, now) {
  if (!known(job.duration) || job.duration < 0) return undefined;
  return isOver(job.state) ? job.duration : job.duration + Math.max(0, now - at);
}

/**
 * How many tasks are in each state that any of them is in.
 * @param {Record<string, number>} tasks
 * @returns {{state: string, tone: string, count: number, share: number}[]}
 */
export function tasksByState(tasks) {
  const total = TASK_STATES.reduce((sum, state) => sum + (tasks[state] ?? 0), 0);
  return TASK_STATES.filter((state) => tasks[state] > 0).map((state) => ({
    state, tone: TONES[state] ?? 'wait', count: tasks[state], share: tasks[state] / total,
  }));
}

/** '8 running, 1 failed'. @param {Record<string, number>} tasks */
export function tasksInWords(tasks) {
  const words = tasksByState(tasks).map(({ state, count }) => `${exact(count)} ${state}`);
  return words.join(', ') || 'no tasks yet';
}

/**
 * What a person on call should know about a running job; nothing when all is well.
 * @param {any} job
 * @returns {Hint[]}
 */
export function hints(job) {
  /** @type {Hint[]} */
  const found = [];
  const { 'status-text': waits, 'back-pressure': waited, 'last-failed-checkpoint': failed } = job;
  if (job.state === 'RESTARTING') found.push({ tone: 'bad', words: 'restarting', why: job.failure ?? undefined });
  if (waits) found.push({ tone: 'wait', words: waits });
  if (failed && failed.timestamp > (job['last-checkpoint']?.timestamp ?? 0)) {
    found.push({ tone: 'bad', words: 'checkpoints fail', why: failed.failure });
  } else if (job['last-checkpoint']?.duration > SLOW_MS) {
    found.push({ tone: 'wait', words: 'checkpoints are slow', why: `The last one took ${duration(job['last-checkpoint'].duration)}.` });
  }
  if (waited > WAITS_TOO_MUCH) found.push({ tone: 'wait', words: `back-pressured ${percent(waited)}`, why: 'A task waits for those after it; the graph shows for which.' });
  const { total, running = 0, finished = 0 } = job.tasks;
  if (job.state === 'RUNNING' && total > running + finished) {
    found.push({ tone: 'wait', words: `${exact(total - running - finished)} of ${exact(total)} tasks do not run` });
  }
  if (job.restarts > 0 && job.state !== 'RESTARTING') {
    found.push({ tone: 'wait', words: restarted(job.restarts), why: job.failure ?? undefined });
  }
  return found;
}

/**
 * The last checkpoint in two lines.
 * @param {any} job
 * @param {number} now by the JobManager's clock
 * @returns {{words: string, note: string, failed: boolean}}
 */
export function lastCheckpoint(job, now) {
  const { 'last-checkpoint': done, 'last-failed-checkpoint': failed } = job;
  if (failed && failed.timestamp > (done?.timestamp ?? 0)) {
    return {
      words: `failed ${duration(Math.max(0, now - failed.timestamp))} ago`,
      note: done ? `last complete ${duration(Math.max(0, now - done.timestamp))} ago` : 'none complete yet',
      failed: true,
    };
  }
  if (!done) return { words: NONE, note: 'none yet', failed: false };
  return { words: `${duration(Math.max(0, now - done.timestamp))} ago`, note: `took ${duration(done.duration)}`, failed: false };
}

/** How a job ended, in one line. @param {any} job */
export function ending(job) {
  if (job.state === 'FAILED') return job.failure ?? 'no reason was told';
  return job.restarts > 0 ? `${restarted(job.restarts)} before` : '';
}

/** @param {number} times */
function restarted(times) {
  return `restarted ${times === 1 ? 'once' : `${exact(times)} times`}`;
}

/** Whether the name has all the words, or the id begins so. @param {any} job @param {string} words */
export function isNamed(job, words) {
  return hasWords(job.name, words) || job.jid.startsWith(words.trim().toLowerCase());
}

/**
 * Jobs that run and those that ended, each as they came: newest first.
 * @param {any[]} jobs
 * @returns {{running: any[], ended: any[]}}
 */
export function parted(jobs) {
  return {
    running: jobs.filter((job) => !isOver(job.state)),
    ended: jobs.filter((job) => isOver(job.state)),
  };
}

// Which series stand in which plot, how they are written, and why one of them may have no values.

import { bytes, count, duration, exact, percent, rate } from '../core/format.js';
import { BYTE_STEPS, COUNT_STEPS, DURATION_STEPS } from '../parts/plotNumbers.js';

/**
 * What the reasons for missing values are read from.
 * @typedef {object} Facts
 * @property {Record<string, string>} config the job's settings
 * @property {boolean} running whether the job runs
 */

/**
 * @typedef {object} PlotPlan
 * @property {string} title
 * @property {string} note what the numbers are
 * @property {{key: string, name: string, colour: string}[]} series
 * @property {(value: number) => string} format
 * @property {(value: number) => string} [label] shorter, for the axis
 * @property {number[]} [steps] between the labels of the axis
 * @property {number} [top] always on the axis
 * @property {boolean} [stepped] the value stays until the next one
 * @property {(facts: Facts) => string} why no value is known
 */

/** @param {number} ms */
const lag = (ms) => (ms < 0 ? `-${duration(-ms)}` : duration(ms));

const nothing = (/** @type {Facts} */ { running }) =>
  (running ? 'No task has told its metrics in this time.' : 'No task told its metrics in this time.');

/** @type {PlotPlan} */
const WATERMARK_LAG = {
  title: 'Watermark lag',
  note: 'how far event time is behind the clock',
  series: [{ key: 'watermark-lag', name: 'lag', colour: '--plot-1' }],
  format: lag,
  steps: DURATION_STEPS,
  why: (facts) => (facts.running
    ? 'There was no watermark in this time: the job does not use event time (no WatermarkStrategy), or no record came.'
    : nothing(facts)),
};

const SPENT = [
  { key: 'busy', name: 'busy', colour: '--busy' },
  { key: 'backpressured', name: 'back-pressured', colour: '--backpressured' },
];

/** @param {Facts} facts */
function noCheckpoint({ config }) {
  return 'execution.checkpointing.interval' in config
    ? 'No checkpoint had completed in this time.'
    : 'The job takes no checkpoints by itself: execution.checkpointing.interval is not set.';
}

/** @param {Facts} facts */
function noLatency(facts) {
  if (!facts.running) return nothing(facts);
  const interval = facts.config['metrics.latency.interval'];
  return interval === undefined || /^0(\D|$)/.test(interval.trim())
    ? 'Latency markers are off; metrics.latency.interval turns them on.'
    : 'No latency marker has arrived in this time.';
}

/** Of the job as a whole. @type {readonly PlotPlan[]} */
export const JOB_PLOTS = [
  {
    title: 'Throughput',
    note: 'records per second',
    series: [
      { key: 'records-in-per-second', name: 'from sources', colour: '--plot-1' },
      { key: 'records-out-per-second', name: 'into sinks', colour: '--plot-2' },
    ],
    format: rate,
    label: count,
    why: nothing,
  },
  {
    title: 'Busy and back-pressured',
    note: 'share of time, of the subtask with most',
    series: SPENT,
    format: percent,
    top: 1,
    why: nothing,
  },
  {
    title: 'Latency',
    note: 'from a source to the operator that is reached last',
    series: [
      { key: 'latency-p50', name: 'p50', colour: '--plot-1' },
      { key: 'latency-p99', name: 'p99', colour: '--plot-2' },
    ],
    format: duration,
    steps: DURATION_STEPS,
    why: noLatency,
  },
  WATERMARK_LAG,
  {
    title: 'State size',
    note: 'all state in the last checkpoint',
    series: [{ key: 'state-size', name: 'state', colour: '--plot-3' }],
    format: bytes,
    steps: BYTE_STEPS,
    stepped: true,
    why: noCheckpoint,
  },
  {
    title: 'Checkpoint duration',
    note: 'of the last one that completed',
    series: [{ key: 'checkpoint-duration', name: 'duration', colour: '--plot-3' }],
    format: duration,
    steps: DURATION_STEPS,
    stepped: true,
    why: noCheckpoint,
  },
  {
    title: 'Restarts',
    note: 'since the job began',
    series: [{ key: 'restarts', name: 'restarts', colour: '--plot-5' }],
    format: exact,
    steps: COUNT_STEPS,
    stepped: true,
    why: nothing,
  },
];

/** Of one vertex. @type {readonly PlotPlan[]} */
export const VERTEX_PLOTS = [
  {
    title: 'Records',
    note: 'per second, all subtasks together',
    series: [
      { key: 'records-in-per-second', name: 'in', colour: '--plot-1' },
      { key: 'records-out-per-second', name: 'out', colour: '--plot-2' },
    ],
    format: rate,
    label: count,
    why: nothing,
  },
  {
    title: 'Time spent',
    note: 'share of time, each of the subtask with most',
    series: [...SPENT, { key: 'idle', name: 'idle', colour: '--idle' }],
    format: percent,
    top: 1,
    why: nothing,
  },
  WATERMARK_LAG,
];

/**
 * How exact the values are, in words.
 * @param {number} resolution milliseconds that a value stands for
 */
export function exactness(resolution) {
  if (resolution <= 1000) return 'One value for each second.';
  return `One value for every ${duration(resolution)}: the mean of rates, shares and p50, the largest of the others.`;
}

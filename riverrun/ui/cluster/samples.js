// Metrics over the time that a page is open, and their values in words.

import { bytes, duration, exact, known, percent } from '../core/format.js';

/** @typedef {{at: number, value: number}} Sample at: milliseconds since the epoch */

const KEPT = 150;

/** The last values of each metric. */
export class Samples {
  /** @type {Map<string, Sample[]>} */
  #of = new Map();

  /** Take what GET …/metrics answered at a moment. @param {number} at @param {{id: string, value?: string}[]} metrics */
  add(at, metrics) {
    for (const { id, value } of metrics) {
      const number = value === undefined ? NaN : Number(value);
      const samples = this.#of.get(id) ?? [];
      if (!Number.isFinite(number) || samples.at(-1)?.at === at) continue;
      samples.push({ at, value: number });
      if (samples.length > KEPT) samples.shift();
      this.#of.set(id, samples);
    }
  }

  /** @param {string} name */
  of(name) {
    return this.#of.get(name) ?? [];
  }
}

/** @type {Record<string, string>} */
const MEANINGS = {
  'Status.JVM.Memory.Heap.Used': "Spark's storage memory in use",
  'Status.JVM.Memory.Heap.Max': "Spark's storage memory, all of it",
  'Status.JVM.Memory.Heap.Peak': "most of the JVM's heap that was in use",
  'Status.JVM.Memory.NonHeap.Peak': 'most memory of the JVM outside its heap that was in use',
  'Status.JVM.Memory.Direct.Peak': "most memory of the JVM's direct buffers that was in use",
  'Status.Python.Memory.Peak': "most memory that the executor's Python processes had",
  'Status.JVM.GarbageCollector.All.Time': 'spent on collecting garbage',
  'Status.Process.CPU.Time': 'time on the CPU since the start',
  'Status.Process.Memory.MaxResident': 'most memory that the process had',
  'Status.Process.Threads.Count': 'threads of Python',
  numRegisteredTaskManagers: 'executors',
  numRunningJobs: 'jobs that run',
  taskSlotsAvailable: 'free slots',
  taskSlotsTotal: 'slots',
};

/** What a metric is; '' when only its name says it. @param {string} name */
export function meaning(name) {
  return MEANINGS[name] ?? '';
}

/** A value in its unit, which the name tells. @param {string} name @param {number | undefined} value */
export function inUnit(name, value) {
  if (/memory|bytes/i.test(name)) return bytes(value);
  if (name.endsWith('CPU.Time')) return duration(known(value) ? value / 1e6 : value);
  if (/GarbageCollector\..*\.Time$/.test(name)) return duration(value);
  return exact(value);
}

/** What is worth saying beside the last value: how much of a core a process took lately. @param {string} name @param {Sample[]} samples */
export function lately(name, samples) {
  if (!name.endsWith('CPU.Time') || samples.length < 2) return '';
  const [first, last] = [samples[Math.max(0, samples.length - 6)], samples[samples.length - 1]];
  return `${percent((last.value - first.value) / 1e6 / (last.at - first.at))} of a core lately`;
}

/** Between which values a metric was. @param {string} name @param {number[]} values */
export function span(name, values) {
  const [low, high] = [Math.min(...values), Math.max(...values)];
  if (low === high) return `always ${inUnit(name, low)}`;
  const [least, most] = [inUnit(name, low), inUnit(name, high)];
  return least === most ? `about ${least}` : `from ${least} to ${most}`;
}

/**
 * The line of a small plot, as points within a box; empty for fewer than two samples.
 * @param {Sample[]} samples @param {number} width @param {number} height
 */
export function line(samples, width, height) {
  if (samples.length < 2) return '';
  const values = samples.map(({ value }) => value);
  const [low, high] = [Math.min(...values), Math.max(...values)];
  const [begin, end] = [samples[0].at, samples[samples.length - 1].at];
  const up = (/** @type {number} */ value) => (high === low ? height / 2 : height - ((value - low) / (high - low)) * height);
  return samples.map(({ at, value }) => `${(((at - begin) / (end - begin)) * width).toFixed(1)},${up(value).toFixed(1)}`).join(' ');
}

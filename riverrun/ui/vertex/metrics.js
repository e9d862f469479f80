// Metrics as the interface gives them: '<subtask>.<metric>', with values as text.

import { bytes, duration, exact, NONE, rate } from '../core/format.js';
import { watermarkInWords, watermarkOf } from './watermarks.js';

/** @typedef {Map<string, (number | undefined)[]>} BySubtask metric → its value in each subtask */

/**
 * @param {{metrics: {id: string, value?: string}[]} | undefined} answer
 * @param {number} subtasks
 * @returns {BySubtask}
 */
export function bySubtask(answer, subtasks) {
  /** @type {BySubtask} */
  const found = new Map();
  for (const { id, value } of answer?.metrics ?? []) {
    const dot = id.indexOf('.');
    const subtask = Number(id.slice(0, dot));
    const name = id.slice(dot + 1);
    let values = found.get(name);
    if (!values) {
      values = new Array(subtasks).fill(undefined);
      found.set(name, values);
    }
    if (subtask < subtasks) values[subtask] = numberOf(value);
  }
  return found;
}

/** @param {string | undefined} text */
export function numberOf(text) {
  const value = text === undefined || text === '' ? NaN : Number(text);
  return Number.isNaN(value) ? undefined : value;
}

/** The sum of what is told; undefined when nothing is. @param {readonly (number | undefined)[] | undefined} values */
export function sumOf(values) {
  const told = values?.filter((value) => value !== undefined) ?? [];
  return told.length ? told.reduce((sum, value) => sum + value, 0) : undefined;
}

/** @param {readonly (number | undefined)[] | undefined} values */
export function mostOf(values) {
  return (values ?? []).reduce((/** @type {number} */ most, value) => Math.max(most, value ?? 0), 0);
}

/** The query for metrics by their names; a comma in a name is not taken for one between names. @param {readonly string[]} names */
export function queryFor(names) {
  return names.map((name) => encodeURIComponent(name.replaceAll(',', '\\,'))).join(',');
}

/** The query for metrics of every subtask. @param {readonly string[]} names */
export function forEverySubtask(names) {
  return queryFor(names.map((name) => `*.${name}`));
}

/**
 * Metrics of the task first, then those of each operator.
 * @param {readonly {id: string}[]} metrics
 * @param {readonly string[]} operators
 * @returns {{title: string, names: string[]}[]}
 */
export function metricGroups(metrics, operators) {
  /** @type {Map<string, string[]>} */
  const groups = new Map([['Task', []]]);
  const byLength = [...operators].sort((a, b) => b.length - a.length);
  for (const { id } of metrics) {
    const title = byLength.find((name) => id.startsWith(`${name}.`)) ?? 'Task';
    const names = groups.get(title) ?? [];
    names.push(id);
    groups.set(title, names);
  }
  const order = ['Task', ...operators];
  return [...groups].map(([title, names]) => ({ title, names })).filter(({ names }) => names.length)
    .sort((a, b) => order.indexOf(a.title) - order.indexOf(b.title));
}

/** A value in the unit that the metric's name tells. @param {string} name @param {number | undefined} value @param {number} now */
export function metricInWords(name, value, now) {
  if (value === undefined) return NONE;
  if (/Watermark$/.test(name)) return watermarkInWords(watermarkOf(value), now);
  if (/Bytes(In|Out)?$|Size$/.test(name)) return bytes(value);
  if (/MsPerSecond$/.test(name)) return `${exact(value)} ms/s`;
  if (/PerSecond$/.test(name)) return rate(value);
  if (/TimeMs$|Lag$/.test(name)) return duration(value);
  return exact(value);
}

/** Whether bars beside the largest value mean something. @param {string} name */
export function isAmount(name) {
  return !/Watermark$|^is[A-Z]/.test(name);
}

// The operators that are chained in a vertex, and where the vertex stands in the job.

import { queryFor } from './metrics.js';

/** What is told of each operator. */
export const OPERATOR_METRICS = [
  'numRecordsIn', 'numRecordsInPerSecond', 'numRecordsOut', 'numRecordsOutPerSecond',
  'currentOutputWatermark',
];

/**
 * The names of the operators in the order of the chain: from the plan where it tells them, else from the
 * vertex's name.
 * @param {any} plan
 * @param {string} vertex its id
 * @param {string} name
 * @returns {string[]}
 */
export function operatorsOf(plan, vertex, name) {
  const node = plan?.nodes?.find((/** @type {any} */ each) => each.id === vertex);
  const told = node?.operators?.map((/** @type {any} */ each) => each.name) ?? [];
  return told.length ? told : name.split(' -> ');
}

/** @param {any} plan @param {string} vertex its id */
export function placeOf(plan, vertex) {
  const nodes = plan?.nodes ?? [];
  const node = nodes.find((/** @type {any} */ each) => each.id === vertex);
  const isRead = nodes.some((/** @type {any} */ each) => (each.inputs ?? []).some((/** @type {any} */ input) => input.id === vertex));
  return { source: Boolean(node) && !(node.inputs ?? []).length, sink: Boolean(node) && !isRead };
}

/** The query for what is told of the operators. @param {readonly string[]} operators */
export function operatorQuery(operators) {
  return queryFor(operators.flatMap((name) => OPERATOR_METRICS.map((metric) => `${name}.${metric}`)));
}

/**
 * One row for each operator: sums over the subtasks, and the lowest watermarks.
 * @param {readonly string[]} operators
 * @param {{metrics: any[]} | undefined} answer
 */
export function operatorRows(operators, answer) {
  const found = new Map((answer?.metrics ?? []).map((/** @type {any} */ each) => [each.id, each]));
  return operators.map((name, at) => {
    const figure = (/** @type {string} */ metric, /** @type {'sum' | 'min'} */ how) =>
      /** @type {number | undefined} */ (found.get(`${name}.${metric}`)?.[how]);
    return {
      at,
      name,
      recordsIn: figure('numRecordsIn', 'sum'),
      inRate: figure('numRecordsInPerSecond', 'sum'),
      recordsOut: figure('numRecordsOut', 'sum'),
      outRate: figure('numRecordsOutPerSecond', 'sum'),
      outWatermark: figure('currentOutputWatermark', 'min'),
    };
  });
}

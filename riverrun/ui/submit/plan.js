// What a program would run.

import { html } from '../core/view.js';
import { Table } from '../parts/table.js';

/** @param {{plan: any}} props */
export function PlanPreview({ plan }) {
  /** @type {Map<string, string>} */
  const names = new Map(plan.nodes.map((/** @type {any} */ node) => [node.id, node.description]));
  const columns = [
    { title: 'Operator', cell: (/** @type {any} */ node) => node.description },
    { title: 'Parallelism', number: true, cell: (/** @type {any} */ node) => node.parallelism },
    { title: 'Reads from', cell: (/** @type {any} */ node) => (node.inputs ?? []).map((/** @type {any} */ input) => `${names.get(input.id) ?? input.id} (${input.ship_strategy})`).join(', ') || 'outside' },
  ];
  return html`<${Table} caption="Operators of the plan" columns=${columns} rows=${plan.nodes} rowKey=${(/** @type {any} */ node) => node.id} />`;
}

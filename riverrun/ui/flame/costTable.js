// Functions by the time that they take themselves: the flame graph as a table.

import { html, useMemo } from '../core/view.js';
import { Bar } from '../parts/bars.js';
import { Table } from '../parts/table.js';
import { OWNERS } from './frames.js';
import { share } from './share.js';
import { costs } from './tree.js';

/** @typedef {import('./tree.js').Cost} Cost */

/** @param {{tree: import('./tree.js').Tree, search: (text: string) => void}} props */
export function CostTable({ tree, search }) {
  const rows = useMemo(() => costs(tree), [tree]);
  const whole = tree.root.value;
  const most = rows[0]?.own ?? 0;
  const columns = [
    {
      title: 'Function',
      cell: (/** @type {Cost} */ row) => html`<button type="button" class="plain mono" title="Find it in the graph" onClick=${() => search(row.call)}>${row.call}</button>`,
      by: (/** @type {Cost} */ row) => row.call,
    },
    {
      title: 'Itself', number: true, by: (/** @type {Cost} */ row) => row.own,
      cell: (/** @type {Cost} */ row) => html`<span class="amount"><${Bar} value=${row.own} most=${most} label=${`${row.own} of ${whole} samples`} /><span>${share(row.own, whole)}</span></span>`,
    },
    { title: 'With what it called', number: true, by: (/** @type {Cost} */ row) => row.total, cell: (/** @type {Cost} */ row) => share(row.total, whole) },
    { title: 'Whose', cell: (/** @type {Cost} */ row) => html`<span class="nowrap">${OWNERS[row.owner]}</span>`, by: (/** @type {Cost} */ row) => OWNERS[row.owner] },
  ];
  return html`<${Table} caption="Functions by own time" columns=${columns} rows=${rows} rowKey=${(/** @type {Cost} */ row) => row.call}
    sorted=${{ column: 'Itself', down: true }} empty="No function was seen." />`;
}

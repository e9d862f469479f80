// The operators of the chain, each with what went through it.

import { html } from '../core/view.js';
import { useLive } from '../core/live.js';
import { count, rate } from '../core/format.js';
import { Answer } from '../parts/notice.js';
import { Panel } from '../parts/panel.js';
import { Table } from '../parts/table.js';
import { operatorQuery, operatorRows } from './chain.js';
import { lagInWords, lagOf, watermarkInWords, watermarkOf } from './watermarks.js';

/** @typedef {ReturnType<typeof operatorRows>[number]} Row */

/** @param {{path: string, operators: string[], every: number, now: number}} props */
export function Operators({ path, operators, every, now }) {
  const live = useLive(`${path}/subtasks/metrics?get=${operatorQuery(operators)}&agg=sum,min`, every);
  const columns = [
    { title: 'Operator', cell: (/** @type {Row} */ row) => row.name },
    { title: 'Records in', number: true, cell: (/** @type {Row} */ row) => count(row.recordsIn) },
    { title: 'In per second', number: true, cell: (/** @type {Row} */ row) => rate(row.inRate) },
    { title: 'Records out', number: true, cell: (/** @type {Row} */ row) => count(row.recordsOut) },
    { title: 'Out per second', number: true, cell: (/** @type {Row} */ row) => rate(row.outRate) },
    { title: 'Watermark out', number: true, cell: (/** @type {Row} */ row) => watermarkInWords(watermarkOf(row.outWatermark), now) },
    { title: 'Lag', number: true, cell: (/** @type {Row} */ row) => lagInWords(lagOf(watermarkOf(row.outWatermark), now)) },
  ];
  return html`<${Panel} title="Operators" flush>
    <${Answer} of=${live} what="the operators">
      ${(/** @type {any} */ answer) => html`<${Table} caption="Operators of the vertex, in the order of the chain" columns=${columns}
        rows=${operatorRows(operators, answer)} rowKey=${(/** @type {Row} */ row) => row.at} />`}
    <//>
  <//>`;
}

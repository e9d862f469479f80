// The vertex, executor by executor.

import { html } from '../core/view.js';
import { useLive } from '../core/live.js';
import { link } from '../core/router.js';
import { bytes, count, exact } from '../core/format.js';
import { Answer } from '../parts/notice.js';
import { Badge, inWords } from '../parts/badge.js';
import { Bar } from '../parts/bars.js';
import { Panel } from '../parts/panel.js';
import { Table } from '../parts/table.js';
import { isPlaced } from './subtasks.js';
import { mostOf } from './metrics.js';

/** @param {{path: string, place: {source: boolean}}} props */
export function Managers({ path, place }) {
  const live = useLive(`${path}/taskmanagers`, 5000);
  return html`<${Panel} title="Task managers" flush>
    <${Answer} of=${live} what="where the vertex runs">
      ${(/** @type {any} */ answer) => html`<${ManagerTable} managers=${answer.taskmanagers} source=${place.source} />`}
    <//>
  <//>`;
}

/** @param {{managers: any[], source: boolean}} props */
function ManagerTable({ managers, source }) {
  const name = source ? 'write-records' : 'read-records';
  const most = mostOf(managers.map((each) => each.metrics[name]));
  const columns = [
    { title: 'Task manager', cell: Manager, by: (/** @type {any} */ each) => each['taskmanager-id'] },
    { title: 'Status', cell: (/** @type {any} */ each) => html`<${Badge} state=${each.status} />`, by: (/** @type {any} */ each) => each.status },
    { title: 'Subtasks', cell: (/** @type {any} */ each) => subtasksInWords(each['status-counts']) },
    {
      title: source ? 'Records out' : 'Records in', number: true, by: (/** @type {any} */ each) => each.metrics[name],
      cell: (/** @type {any} */ each) => html`<span class="amount">
        <${Bar} value=${each.metrics[name]} most=${most} label=${`${exact(each.metrics[name])}; the most of a task manager is ${exact(most)}`} />
        <span class="figures-of">${count(each.metrics[name])}</span></span>`,
    },
    { title: 'Bytes in', number: true, cell: (/** @type {any} */ each) => bytes(each.metrics['read-bytes']), by: (/** @type {any} */ each) => each.metrics['read-bytes'] },
    { title: 'Bytes out', number: true, cell: (/** @type {any} */ each) => bytes(each.metrics['write-bytes']), by: (/** @type {any} */ each) => each.metrics['write-bytes'] },
  ];
  return html`<${Table} caption="Task managers that run the vertex" columns=${columns} rows=${managers} rowKey=${(/** @type {any} */ each) => each['taskmanager-id']} />`;
}

/** @param {any} each */
function Manager(each) {
  const id = each['taskmanager-id'];
  if (!isPlaced(id)) return html`<span class="muted">not placed yet</span>`;
  return html`<a href=${link('/taskmanagers', id)} title=${id}>${each.endpoint}</a>`;
}

/** @param {Record<string, number>} counts */
function subtasksInWords(counts) {
  return Object.entries(counts).filter(([, number]) => number > 0).map(([state, number]) => `${number} ${inWords(state)}`).join(', ');
}

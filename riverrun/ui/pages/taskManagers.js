// The executors.

import { html } from '../core/view.js';
import { useLive } from '../core/live.js';
import { link } from '../core/router.js';
import { ago, exact, moment } from '../core/format.js';
import { Badge } from '../parts/badge.js';
import { Bar } from '../parts/bars.js';
import { Figures } from '../parts/figures.js';
import { Answer } from '../parts/notice.js';
import { Panel } from '../parts/panel.js';
import { Table } from '../parts/table.js';
import { memoryWords, nameOf, seenWords, slotWords, totals, usedMemory, usedSlots } from '../cluster/executors.js';

/** @typedef {import('../cluster/executors.js').Manager} Manager */

const COLUMNS = [
  {
    title: 'Executor and host',
    by: (/** @type {Manager} */ row) => row.executor,
    cell: (/** @type {Manager} */ row) => html`<span class="two-lines"><a href=${link('/taskmanagers', row.id)}>${nameOf(row)}</a>
      <small class="muted mono">${row.path}</small></span>`,
  },
  {
    title: 'Slots',
    by: usedSlots,
    cell: (/** @type {Manager} */ row) => html`<${Share} value=${usedSlots(row)} most=${row.slotsNumber} words=${slotWords(row)} />`,
  },
  { title: 'Status', by: (/** @type {Manager} */ row) => String(row.blocked), cell: (/** @type {Manager} */ row) => html`<${Status} blocked=${row.blocked} />` },
  { title: 'Tasks', number: true, by: (/** @type {Manager} */ row) => row.assignedTasks, cell: (/** @type {Manager} */ row) => exact(row.assignedTasks) },
  { title: 'Cores', number: true, by: (/** @type {Manager} */ row) => row.hardware.cpuCores, cell: (/** @type {Manager} */ row) => exact(row.hardware.cpuCores) },
  {
    title: 'Storage memory',
    by: usedMemory,
    cell: (/** @type {Manager} */ row) => html`<${Share} value=${usedMemory(row)} most=${row.hardware.physicalMemory} words=${memoryWords(row)} />`,
  },
  { title: 'Last seen', number: true, cell: (/** @type {Manager} */ row) => html`<span class="nowrap">${seenWords(row)}</span>` },
  {
    title: 'Came',
    number: true,
    by: (/** @type {Manager} */ row) => row.since,
    cell: (/** @type {Manager} */ row) => html`<span class="nowrap" title=${moment(row.since)}>${ago(row.since)}</span>`,
  },
];

export function TaskManagers() {
  const live = useLive('/taskmanagers', 2000);
  return html`<h1>Task managers</h1>
    <${Answer} of=${live} what="the task managers">
      ${(/** @type {any} */ { taskmanagers }) => {
        const { slots, used, cores, tasks, blocked } = totals(taskmanagers);
        return html`
          <${Figures} items=${[
            { name: 'Task managers', value: exact(taskmanagers.length), note: blocked ? `${exact(blocked)} blocked` : 'none blocked' },
            { name: 'Slots used', value: exact(used), note: `of ${exact(slots)}` },
            { name: 'Slots free', value: exact(slots - used) },
            { name: 'Tasks', value: exact(tasks) },
            { name: 'Cores', value: exact(cores) },
          ]} />
          <${Panel} title="Executors of the Spark application" flush=${true}>
            <${Table} caption="Task managers" columns=${COLUMNS} rows=${taskmanagers} rowKey=${(/** @type {Manager} */ row) => row.id}
              empty="No executor is there. Jobs wait until Spark gets one." />
          <//>
          <p class="muted">Storage memory is what Spark manages for its own data; the Python processes of tasks have theirs beside it.
            Spark takes executors off this list when their heartbeats stay away.</p>`;
      }}
    <//>`;
}

/** @param {{blocked: boolean}} props */
export function Status({ blocked }) {
  return blocked ? html`<${Badge} state="FAILED">blocked<//>` : html`<${Badge} state="RUNNING">takes tasks<//>`;
}

/** @param {{value: number, most: number, words: string}} props */
export function Share({ value, most, words }) {
  return html`<span class="share"><${Bar} value=${value} most=${most} label=${words} /><small aria-hidden="true">${words}</small></span>`;
}

// One executor: what it has, the subtasks that run there, metrics, logs, threads.

import { html } from '../core/view.js';
import { useLive } from '../core/live.js';
import { link } from '../core/router.js';
import { ago, exact, moment, NONE, percent, known } from '../core/format.js';
import { Badge } from '../parts/badge.js';
import { Bar } from '../parts/bars.js';
import { Facts, Figures } from '../parts/figures.js';
import { Answer } from '../parts/notice.js';
import { Panel } from '../parts/panel.js';
import { Table } from '../parts/table.js';
import { Tabs } from '../parts/tabs.js';
import { busyCores, jobWords, memoryWords, nameOf, seenWords, slotWords, usedMemory, usedSlots } from '../cluster/executors.js';
import { Metrics } from '../cluster/metrics.js';
import { Threads } from '../cluster/threads.js';
import { Logs } from '../logs/logs.js';
import { Share, Status } from './taskManagers.js';

/** @typedef {import('../cluster/executors.js').Manager} Manager */

const TABS = [
  { title: 'Overview', tab: undefined },
  { title: 'Metrics', tab: 'metrics' },
  { title: 'Logs', tab: 'logs' },
  { title: 'Threads', tab: 'threads' },
];

/** @param {{names: {manager: string}, query: URLSearchParams}} props */
export function TaskManager({ names: { manager: id }, query }) {
  const root = `/taskmanagers/${encodeURIComponent(id)}`;
  const live = useLive(root, 2000);
  const chosen = query.get('tab') ?? undefined;
  const hrefOf = (/** @type {string | undefined} */ tab, /** @type {string} */ file = '') =>
    link('/taskmanagers', id, { tab, file: file || undefined });
  const gone = html`The task manager ${id} is not there: it never was, or Spark ended it.
    <a href=${link('/taskmanagers')}>All task managers</a>`;
  return html`<${Answer} of=${live} what="the task manager" gone=${gone}>
    ${(/** @type {Manager} */ manager) => html`
      <div>
        <p><a href=${link('/taskmanagers')}>Task managers</a></p>
        <h1>${nameOf(manager)} <${Status} blocked=${manager.blocked} /></h1>
        <p class="muted"><span class="mono">${manager.path}</span> · up since ${moment(manager.since)}</p>
      </div>
      <${Tabs} label="Parts of the task manager" items=${TABS.map(({ title, tab }) => ({ title, href: hrefOf(tab), current: tab === chosen }))} />
      ${!chosen && html`<${Overview} manager=${manager} />`}
      ${chosen === 'metrics' && html`<${Metrics} path=${root} />`}
      ${chosen === 'logs' && html`<${Logs} root=${root} chosen=${query.get('file')} hrefOf=${(/** @type {string} */ file) => hrefOf('logs', file)} />`}
      ${chosen === 'threads' && html`<${Threads} path=${`${root}/thread-dump`} what="the tasks that run here" />`}`}
  <//>`;
}

/** @param {{manager: Manager}} props */
function Overview({ manager }) {
  const busy = busyCores(manager.subtasks);
  return html`
    <${Figures} items=${[
      { name: 'Slots', value: exact(usedSlots(manager)), note: html`<${Share} value=${usedSlots(manager)} most=${manager.slotsNumber} words=${slotWords(manager)} />` },
      { name: 'Subtasks', value: exact(manager.subtasks.length), note: jobWords(manager.subtasks) },
      { name: 'Tasks busy', value: known(busy) ? exact(Math.round(busy * 100) / 100) : NONE, note: known(busy) ? `as many cores, of ${exact(manager.hardware.cpuCores)}` : 'not measured yet' },
      { name: "Spark's storage memory", value: percent(manager.hardware.physicalMemory ? usedMemory(manager) / manager.hardware.physicalMemory : undefined), note: html`<${Share} value=${usedMemory(manager)} most=${manager.hardware.physicalMemory} words=${memoryWords(manager)} />` },
    ]} />
    <${Panel} title="Subtasks that run here" flush=${true}>
      <${Table} caption="Subtasks that run here" columns=${SUBTASKS} rows=${manager.subtasks} empty="No subtask runs here now."
        rowKey=${(/** @type {any} */ row) => `${row.jobId} ${row.vertexId} ${row.subtask}`} />
    <//>
    <${Panel} title="Facts">
      <${Facts} items=${[
        ['Executor', html`<span class="mono">${manager.executor}</span>${manager.executor === 'driver' ? ': Spark runs tasks on the machine of its driver (a local master)' : ''}`],
        ['Id', html`<span class="mono">${manager.id}</span>`],
        ['Address', html`<span class="mono">${manager.path}</span>`],
        ['Cores', exact(manager.hardware.cpuCores)],
        ['Last seen', seenWords(manager)],
        ['Up since', moment(manager.since)],
      ]} />
    <//>`;
}

const SUBTASKS = [
  { title: 'Job', by: (/** @type {any} */ row) => row.jobName, cell: (/** @type {any} */ row) => html`<a href=${link('/jobs', row.jobId)}>${row.jobName}</a>` },
  {
    title: 'Vertex',
    by: (/** @type {any} */ row) => row.vertexName,
    cell: (/** @type {any} */ row) => html`<a class="vertex-name" title=${row.vertexName} href=${link('/jobs', row.jobId, 'vertices', row.vertexId)}>${row.vertexName}</a>`,
  },
  { title: 'Subtask', number: true, by: (/** @type {any} */ row) => row.subtask, cell: (/** @type {any} */ row) => exact(row.subtask) },
  { title: 'Attempt', number: true, by: (/** @type {any} */ row) => row.attempt, cell: (/** @type {any} */ row) => exact(row.attempt) },
  { title: 'Status', by: (/** @type {any} */ row) => row.status, cell: (/** @type {any} */ row) => html`<${Badge} state=${row.status} />` },
  {
    title: 'Busy',
    by: (/** @type {any} */ row) => row.busyTimeMsPerSecond ?? undefined,
    cell: (/** @type {any} */ row) => html`<${Busy} ms=${row.busyTimeMsPerSecond} />`,
  },
  { title: 'Process', number: true, by: (/** @type {any} */ row) => row.pid ?? undefined, cell: (/** @type {any} */ row) => html`<span class="mono">${row.pid ?? NONE}</span>` },
  { title: 'For', number: true, by: (/** @type {any} */ row) => -row.since, cell: (/** @type {any} */ row) => html`<span class="nowrap" title=${moment(row.since)}>${ago(row.since).replace(' ago', '')}</span>` },
];

/** @param {{ms: number | null}} props */
function Busy({ ms }) {
  if (!known(ms)) return NONE;
  const words = percent(ms / 1000);
  return html`<span class="share inline"><${Bar} value=${ms} most=${1000} label=${`busy ${words}`} /><small aria-hidden="true">${words}</small></span>`;
}

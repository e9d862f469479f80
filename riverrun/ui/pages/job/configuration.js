// How a job is set up: its settings, how it takes checkpoints, its plan, its accumulators.

import { html, useMemo, useState } from '../../core/view.js';
import { NONE } from '../../core/format.js';
import { useLive } from '../../core/live.js';
import { Answer } from '../../parts/notice.js';
import { Download } from '../../parts/download.js';
import { Facts } from '../../parts/figures.js';
import { Panel } from '../../parts/panel.js';
import { Table } from '../../parts/table.js';
import { CheckpointSettings } from '../../checkpoints/settings.js';

const EVERY_MS = 2000;

/** @param {import('./frame.js').TabProps} props */
export function ConfigurationTab({ id, job }) {
  const live = useLive(`/jobs/${id}/config`, Infinity);
  return html`<${Answer} of=${live} what="the settings of this job">
      ${(/** @type {any} */ { 'execution-config': execution }) => html`
        <${Panel} title="How it runs" tools=${html`<${Download} path=${`/jobs/${id}/plan`} name=${`plan-${id}.json`} label="Download the plan" />`}>
          <${Facts} items=${executionFacts(execution, job)} />
        <//>
        <${Settings} settings=${execution['user-config']} />`}
    <//>
    <${Panel} title="How checkpoints are taken"><${CheckpointSettings} job=${id} /><//>
    <${Accumulators} id=${id} />`;
}

/** @param {any} execution @param {any} job @returns {[string, any][]} */
function executionFacts(execution, job) {
  return [
    ['Kind of job', String(job['job-type'] ?? NONE).toLowerCase()],
    ['Parallelism', execution['job-parallelism'] ?? NONE],
    ['Largest parallelism', job.maxParallelism > 0 ? job.maxParallelism : 'as each vertex says'],
    ['Restart strategy', execution['restart-strategy'] ?? NONE],
    ['In a chain', execution['object-reuse-mode'] ? 'operators pass on the same objects' : 'each operator gets a copy'],
  ];
}

/** @param {{settings: Record<string, string>}} props */
function Settings({ settings }) {
  const [wanted, setWanted] = useState('');
  const all = useMemo(() => Object.entries(settings).map(([name, value]) => ({ name, value })), [settings]);
  const rows = useMemo(() => found(all, wanted), [all, wanted]);
  const tools = html`<input type="search" class="input settings-search" aria-label="Search the settings" placeholder="Search" value=${wanted}
    onInput=${(/** @type {any} */ event) => setWanted(event.currentTarget.value)} />`;
  return html`<${Panel} title=${`Settings (${rows.length === all.length ? all.length : `${rows.length} of ${all.length}`})`} flush=${true} tools=${tools}>
    <${Table} caption="Settings" columns=${COLUMNS} rows=${rows} rowKey=${(/** @type {any} */ each) => each.name}
      empty=${all.length ? 'No setting has these letters.' : 'Nothing is set: all settings have their defaults.'} />
  <//>`;
}

const COLUMNS = [
  { title: 'Setting', by: (/** @type {any} */ each) => each.name, cell: (/** @type {any} */ each) => html`<code class="setting-value">${each.name}</code>` },
  { title: 'Value', by: (/** @type {any} */ each) => each.value, cell: (/** @type {any} */ each) => html`<code class="setting-value">${each.value}</code>` },
];

/** @param {{name: string, value: string}[]} all @param {string} wanted */
function found(all, wanted) {
  const letters = wanted.trim().toLowerCase();
  return letters ? all.filter(({ name, value }) => `${name}\n${value}`.toLowerCase().includes(letters)) : all;
}

/** @param {{id: string}} props */
function Accumulators({ id }) {
  const live = useLive(`/jobs/${id}/accumulators`, EVERY_MS);
  const columns = useMemo(() => [
    { title: 'Name', by: (/** @type {any} */ each) => each.name, cell: (/** @type {any} */ each) => each.name },
    { title: 'Kind', by: (/** @type {any} */ each) => each.type, cell: (/** @type {any} */ each) => each.type },
    { title: 'Value', cell: (/** @type {any} */ each) => html`<code class="setting-value">${each.value}</code>` },
  ], []);
  return html`<${Panel} title="Accumulators" flush=${true}>
    <${Answer} of=${live} what="the accumulators">
      ${(/** @type {any} */ answer) => html`<${Table} caption="Accumulators over all subtasks" columns=${columns} rows=${answer['user-task-accumulators']}
        rowKey=${(/** @type {any} */ each) => each.name} empty="The functions of this job have none." />`}
    <//>
  <//>`;
}

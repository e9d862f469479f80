// Savepoints of a job, and checkpoints and savepoints taken by hand.

import { html, useState } from '../core/view.js';
import { bytes, duration, moment } from '../core/format.js';
import { link } from '../core/router.js';
import { operation } from '../core/api.js';
import { Action } from '../parts/dialog.js';
import { Badge } from '../parts/badge.js';
import { Notice } from '../parts/notice.js';
import { Panel } from '../parts/panel.js';
import { Table } from '../parts/table.js';
import { Path, Whereabouts } from './historyTable.js';
import { typeWords } from './words.js';

const ENDED = ['FINISHED', 'FAILED', 'CANCELED', 'SUSPENDED'];

/** Paths that were deleted from this page: the history does not hear of it. @type {Set<string>} */
const disposed = new Set();

/** @param {{id: string, job: any, savepoints: any[]}} props */
export function Savepoints({ id, job, savepoints }) {
  const [, redraw] = useState(0);
  const deleted = (/** @type {string} */ path) => {
    disposed.add(path);
    redraw((n) => n + 1);
  };
  const columns = [
    { title: 'Number', number: true, cell: (/** @type {any} */ each) => html`<a href=${link('/jobs', id, 'checkpoints', String(each.id))}>${each.id}</a>` },
    { title: 'State', cell: (/** @type {any} */ each) => html`<${Badge} state=${each.status} />` },
    { title: 'Kind', cell: typeWords },
    { title: 'Triggered', cell: (/** @type {any} */ each) => html`<span class="nowrap">${moment(each.trigger_timestamp)}</span>` },
    { title: 'Duration', number: true, cell: (/** @type {any} */ each) => duration(each.end_to_end_duration) },
    { title: 'Size', number: true, cell: (/** @type {any} */ each) => bytes(each.state_size) },
    { title: 'Where, or why not', cell: (/** @type {any} */ each) => (disposed.has(each.external_path) ? html`<span class="muted">deleted</span>` : html`<${Whereabouts} checkpoint=${each} />`) },
    { title: 'Delete', cell: (/** @type {any} */ each) => each.status === 'COMPLETED' && !each.discarded && !disposed.has(each.external_path)
      && html`<${Dispose} path=${each.external_path} done=${() => deleted(each.external_path)} />` },
  ];
  const some = savepoints.length > 0;
  return html`<${Panel} title="Savepoints" flush=${some} tools=${html`<${TakeSavepoint} id=${id} job=${job} />`}>
    ${some
      ? html`<${Table} caption="Savepoints" columns=${columns} rows=${savepoints} rowKey=${(/** @type {any} */ each) => each.id} />`
      : html`<p class="muted">None was taken since the job began. A savepoint stays when the job is gone, and another job can begin from it.</p>`}
  <//>`;
}

/** @param {{path: string, done: () => void}} props */
function Dispose({ path, done }) {
  const act = () => operation('POST', '/savepoint-disposal', { 'savepoint-path': path }, (request) => `/savepoint-disposal/${request}`);
  return html`<${Action} label="Delete …" title="Delete this savepoint?" confirm="Delete it" danger=${true} act=${act} done=${done}>
    <p>Its files are deleted; no job can begin from it any more.</p>
    <p class="mono checkpoint-reason">${path}</p>
  <//>`;
}

/** @param {any} job */
function whyNot(job) {
  if (ENDED.includes(job.state)) return `The job is ${job.state.toLowerCase()}.`;
  return job.state === 'RUNNING' ? undefined : `The job is ${job.state.toLowerCase()}: it must run.`;
}

/** @param {{id: string, job: any}} props */
export function TakeSavepoint({ id, job }) {
  const [taken, setTaken] = useState('');
  const why = whyNot(job);
  const act = (/** @type {FormData} */ form) => operation('POST', `/jobs/${id}/savepoints`, {
    'target-directory': String(form.get('target') ?? '').trim() || null,
    formatType: form.get('format'),
  }, (request) => `/jobs/${id}/savepoints/${request}`);
  return html`
    ${taken && html`<${Notice} tone="good">Savepoint taken: <${Path} path=${taken} full=${true} /><//>`}
    <${Action} label="Take a savepoint …" title="Take a savepoint" confirm="Take it" disabled=${Boolean(why)} why=${why}
      busy="The savepoint is being taken; it goes on when this is closed." act=${act} done=${(/** @type {any} */ outcome) => setTaken(outcome.location ?? '')}>
      <p>The job goes on meanwhile. A savepoint is never deleted by the job.</p>
      <label class="field"><span>Folder</span>
        <input name="target" autocomplete="off" spellcheck="false" placeholder="execution.checkpointing.savepoint-dir" />
        <small>Left empty: the folder of the job's settings.</small></label>
      <label class="field"><span>Format</span>
        <select name="format"><option value="CANONICAL">canonical</option><option value="NATIVE">native</option></select>
        <small>Both are written in the one open format that every state backend reads.</small></label>
    <//>`;
}

/** @param {{id: string, job: any}} props */
export function TriggerCheckpoint({ id, job }) {
  const [taken, setTaken] = useState(/** @type {any} */ (null));
  const why = whyNot(job);
  const act = () => operation('POST', `/jobs/${id}/checkpoints`, {}, (request) => `/jobs/${id}/checkpoints/${request}`);
  return html`
    ${taken && html`<span role="status" class="muted">Checkpoint ${taken.checkpointId ?? ''} is complete.</span>`}
    <${Action} label="Trigger checkpoint …" title="Take a checkpoint now?" confirm="Take it" disabled=${Boolean(why)} why=${why}
      busy="The checkpoint is being taken; it goes on when this is closed." act=${act} done=${setTaken}>
      <p>Beside those that are taken by themselves, and of the same kind.</p>
    <//>`;
}

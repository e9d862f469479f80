// States of a savepoint or checkpoint anywhere.

import { html } from '../core/view.js';
import { useLive } from '../core/live.js';
import { go, link } from '../core/router.js';
import { bytes, moment } from '../core/format.js';
import { Answer, Notice } from '../parts/notice.js';
import { Panel } from '../parts/panel.js';
import { Table } from '../parts/table.js';
import { Asked } from '../state/asked.js';
import { useAsked } from '../state/ask.js';
import { SnapshotBrowser } from '../state/browser.js';
import { folder } from '../state/snapshots.js';

/** @param {{query: URLSearchParams}} props */
export function StateBrowser({ query }) {
  const path = query.get('path')?.trim() || null;
  const submit = (/** @type {SubmitEvent} */ event) => {
    event.preventDefault();
    const given = String(new FormData(/** @type {HTMLFormElement} */ (event.target)).get('path')).trim();
    go('/state', { path: folder(given) || given });
  };
  const address = (/** @type {Record<string, string | number | undefined>} */ changes) => link('/state', { ...Object.fromEntries(query), ...changes });
  return html`
    <h1>State of savepoints and checkpoints</h1>
    <${Panel} title="Which one">
      <form class="path-form" onSubmit=${submit}>
        <label class="field"><span>Folder of a savepoint or checkpoint, or one above it</span>
          <input key=${path} name="path" defaultValue=${path ?? ''} required autocomplete="off" spellcheck=${false} class="mono" placeholder="/checkpoints/… or s3://bucket/…" /></label>
        <button class="button primary">Open</button>
      </form>
    <//>
    ${path === null ? html`<${Jobs} />` : html`<${SnapshotBrowser} key=${path} source=${{ path }} place=${{ query, address }} gone=${(/** @type {string} */ words) => html`<${Below} path=${path} words=${words} />`} />`}`;
}

/** The jobs of this JobManager, whose own checkpoints are a click away. */
function Jobs() {
  const live = useLive('/jobs/overview', 5000);
  return html`<${Panel} title="Jobs of this JobManager"><${Answer} of=${live} what="the jobs">
    ${(/** @type {any} */ { jobs }) => (jobs.length === 0
      ? html`<p class="muted">There are none.</p>`
      : html`<ul class="key-list">${jobs.map((/** @type {any} */ job) => html`<li key=${job.jid}><a class="key" href=${link('/jobs', job.jid, 'state')}>${job.name}</a></li>`)}</ul>`)}
  <//><//>`;
}

/** What is below a folder that is no snapshot itself. @param {{path: string, words: string}} props */
function Below({ path, words }) {
  const asked = useAsked({ path }, '', {});
  return html`<${Asked} of=${asked} what="what is below the folder">
    ${(/** @type {any} */ found) => html`
      ${found.snapshots.length === 0 && html`<${Notice} tone="wait">${words}<//>`}
      ${found.unreadable.map((/** @type {string} */ each) => html`<${Notice} key=${each} tone="bad">${each}<//>`)}
      ${found.snapshots.length > 0 && html`<${Panel} title=${`Below ${path}`} flush>
        <${Table} caption="Savepoints and checkpoints below the folder" columns=${COLUMNS} rows=${found.snapshots} rowKey=${(/** @type {any} */ row) => row.path} />
      <//>`}
      ${!found.complete && html`<p class="muted">There is more below this folder than was looked at; give a folder further down.</p>`}`}
  <//>`;
}

/** @type {import('../parts/table.js').Column<any>[]} */
const COLUMNS = [
  { title: 'Snapshot', by: (row) => row.path, cell: (row) => html`<a href=${link('/state', { path: row.path })}>${row.savepoint ? 'Savepoint' : 'Checkpoint'} ${row.checkpoint}</a>` },
  { title: 'Job', by: (row) => row.job_name, cell: (row) => row.job_name || row.job_id },
  { title: 'Taken', by: (row) => row.timestamp, cell: (row) => html`<span class="nowrap">${moment(row.timestamp)}</span>` },
  { title: 'Size', number: true, by: (row) => row.bytes, cell: (row) => bytes(row.bytes) },
  { title: 'Path', cell: (row) => html`<span class="mono">${row.path}</span>` },
];

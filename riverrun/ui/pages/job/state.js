// States in the checkpoints and savepoints of a job.

import { html, useState } from '../../core/view.js';
import { operation } from '../../core/api.js';
import { useLive } from '../../core/live.js';
import { go, link } from '../../core/router.js';
import { Action } from '../../parts/dialog.js';
import { Answer, Notice } from '../../parts/notice.js';
import { SnapshotBrowser } from '../../state/browser.js';
import { choicesOf, folder } from '../../state/snapshots.js';

/** @param {import('./frame.js').TabProps} props */
export function StateTab({ id, job, query }) {
  const live = useLive(`/jobs/${id}/checkpoints`, 2000);
  const [round, setRound] = useState(0);
  const path = query.get('snapshot') ?? undefined;
  const open = (/** @type {string | undefined} */ snapshot) => go('/jobs', id, 'state', { ...kept(query), snapshot });
  const address = (/** @type {Record<string, string | number | undefined>} */ changes) => link('/jobs', id, 'state', { ...Object.fromEntries(query), ...changes });
  const gone = (/** @type {string} */ words) => html`<${Notice} tone="wait"><span>${words}</span>
    ${path && html`<span>A job keeps only its last checkpoints. <a href=${address({ snapshot: undefined })}>Look at the latest</a></span>`}<//>`;
  return html`<${Answer} of=${live} what="the checkpoints of this job">
    ${(/** @type {any} */ checkpoints) => html`
      <div class="snapshot-choice">
        <${Choice} choices=${choicesOf(checkpoints)} path=${path} open=${open} />
        ${path === undefined && html`<button type="button" class="button" onClick=${() => setRound((n) => n + 1)}>Read again</button>`}
        <${Action} label="Take a savepoint to look into" title=${`Take a savepoint of ${job.name}`} confirm="Take it"
          disabled=${job.state !== 'RUNNING'} why="only a running job can take one" busy="The savepoint is being taken …"
          act=${() => operation('POST', `/jobs/${id}/savepoints`, {}, (request) => `/jobs/${id}/savepoints/${request}`)}
          done=${(/** @type {any} */ outcome) => outcome.location && open(folder(outcome.location))}>
          <p>The job goes on. A savepoint stays until somebody deletes it, while checkpoints are replaced by newer ones.</p>
        <//>
      </div>
      ${path === undefined && choicesOf(checkpoints).length === 0
        ? html`<${Notice} tone="wait">The job has no complete checkpoint or savepoint yet, so there is nothing to look into.<//>`
        : html`<${SnapshotBrowser} key=${path ?? ''} source=${path === undefined ? { job: id, round } : { path }} place=${{ query, address }} gone=${gone} />`}`}
  <//>`;
}

/** @param {{choices: import('../../state/snapshots.js').Choice[], path: string | undefined, open: (path: string | undefined) => void}} props */
function Choice({ choices, path, open }) {
  const known = path === undefined || choices.some((choice) => choice.path === path);
  return html`<label class="field"><span>Look into</span>
    <select value=${path ?? ''} onChange=${(/** @type {any} */ event) => open(event.target.value || undefined)}>
      <option value="">The latest, whenever something is read</option>
      ${!known && html`<option value=${path}>${path}</option>`}
      ${choices.map((choice) => html`<option key=${choice.path} value=${choice.path}>${choice.words}</option>`)}
    </select></label>`;
}

/** The chosen state stays when another snapshot is chosen. @param {URLSearchParams} query */
function kept(query) {
  return { operator: query.get('operator') ?? undefined, state: query.get('state') ?? undefined, key: query.get('key') ?? undefined };
}

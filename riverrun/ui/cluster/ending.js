// Ends the cluster, after saying what that would end.

import { html, useState } from '../core/view.js';
import { send } from '../core/api.js';
import { useLive } from '../core/live.js';
import { Action } from '../parts/dialog.js';
import { Notice } from '../parts/notice.js';
import { runningJobs, whatEnds } from './jobs.js';

/** A JobManager that has much to do answers late. */
const PATIENCE_MS = 60_000;

export function Ending() {
  const config = useLive('/config', Infinity);
  const overview = useLive('/jobs/overview', 2000);
  const [ended, setEnded] = useState(false);
  if (ended) return html`<${Notice} tone="wait">The JobManager is ending. Start it again with <code>river cluster start</code>.<//>`;
  if (!config.value?.features?.['web-shutdown']) return null;
  const jobs = overview.value ? runningJobs(overview.value.jobs) : null;
  return html`<${Action} label="End the cluster" title="End the cluster?" danger=${true} disabled=${jobs === null}
    why="It is not known yet which jobs run" confirm="End the cluster" busy="The jobs are being cancelled …"
    act=${() => send('DELETE', '/cluster', { patience: PATIENCE_MS })} done=${() => setEnded(true)}>
    <p>${whatEnds(jobs?.length ?? 0)}</p>
    ${jobs && jobs.length > 0 && html`<ul>${jobs.map(({ id, name }) => html`<li key=${id}>${name}</li>`)}</ul>
      <p>To go on later from where a job is now, stop it with a savepoint first.</p>`}
  <//>`;
}

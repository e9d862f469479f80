// Another parallelism for the whole job: chosen with a slider, told what it needs, watched until the job runs so.

import { html, useState } from '../core/view.js';
import { useLive } from '../core/live.js';
import { Action } from '../parts/dialog.js';
import { Notice } from '../parts/notice.js';
import { Tasks } from './tasks.js';
import { parallelismInWords, parallelismOf, slotsFor } from './possible.js';
import { rescale } from './orders.js';

/**
 * @param {{
 *   job: any, why: string | undefined,
 *   done: (parallelism: number) => void, failed: (error: unknown) => void,
 * }} props
 */
export function Rescale({ job, why, done, failed }) {
  const found = parallelismOf(job.vertices);
  const act = async (/** @type {FormData} */ form) => {
    const wanted = Number(form.get('parallelism'));
    await rescale(job.jid, wanted);
    return wanted;
  };
  return html`<${Action} label="Rescale …" title=${`Rescale “${job.name}”?`} confirm="Rescale"
    disabled=${Boolean(why) || !found} why=${why ?? 'The job has no vertices yet.'} act=${act} done=${done} failed=${failed}
    busy=${html`<${Progress} job=${job} />`}>
    ${found && html`<${Choice} found=${found} />`}
  <//>`;
}

/** @param {{found: import('./possible.js').Parallelism}} props */
function Choice({ found }) {
  const [wanted, setWanted] = useState(found.now);
  const cluster = useLive('/overview', 2000);
  const choose = (/** @type {any} */ event) => {
    const value = Math.round(Number(event.target.value));
    if (value >= 1 && value <= found.most) setWanted(value);
  };
  const { words, enough } = slotsFor(found, wanted, cluster.value?.['slots-available']);
  return html`
    <p>The job takes a checkpoint, stops, and goes on from it with the parallelism that you choose.
      It now runs with ${parallelismInWords(found)}. Vertices whose parallelism the program sets itself keep theirs.</p>
    <div class="field">
      <label for="rescale-slider">Parallelism</label>
      <span class="slider">
        <input id="rescale-slider" type="range" min="1" max=${found.most} value=${wanted} onInput=${choose} aria-valuetext=${`${wanted} of at most ${found.most}`} />
        <input class="input" name="parallelism" type="number" min="1" max=${found.most} required value=${wanted} onInput=${choose} aria-label="Parallelism as a number" />
      </span>
      <small>From 1 to ${found.most}, the smallest maximum parallelism of its vertices.</small>
    </div>
    ${enough ? html`<p class="muted">${words}</p>` : html`<${Notice} tone="wait">${words}<//>`}`;
}

/** @param {{job: any}} props */
function Progress({ job }) {
  /** @type {Record<string, number>} */
  const tasks = {};
  for (const vertex of job.vertices) {
    for (const [state, count] of Object.entries(vertex.tasks)) {
      const name = state.toLowerCase();
      tasks[name] = (tasks[name] ?? 0) + Number(count);
    }
  }
  return html`The job is being rescaled; this goes on when the dialog is closed. <${Tasks} tasks=${tasks} />`;
}

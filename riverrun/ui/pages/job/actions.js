// What can be done with a job, each asked for once more, and what came of it.

import { html, useEffect, useState } from '../../core/view.js';
import { useLive } from '../../core/live.js';
import { link } from '../../core/router.js';
import { Action } from '../../parts/dialog.js';
import { Copy } from '../../parts/copy.js';
import { Notice } from '../../parts/notice.js';
import { inWords } from '../../parts/badge.js';
import { isOver } from '../../jobs/glance.js';
import { dismiss, tell, useOutcomes } from '../../jobs/outcomes.js';
import { restartPoint, whyNotAsk, whyNotCancel } from '../../jobs/possible.js';
import { Rescale } from '../../jobs/rescale.js';
import { cancel, checkpoint, savepoint, stop } from '../../jobs/orders.js';

/** @param {{job: any}} props */
export function Actions({ job }) {
  const features = useLive('/config', Infinity).value?.features ?? {};
  if (isOver(job.state)) return html`<${StartAgain} id=${job.jid} />`;
  const noAsking = whyNotAsk(job.state);
  const noCancel = features['web-cancel'] === false ? 'This JobManager does not let the page cancel jobs.' : whyNotCancel(job.state);
  const noRescale = features['web-rescale'] === false ? 'This JobManager does not let the page rescale jobs.' : noAsking;
  return html`<div class="actions">
    <div class="buttons">
      <${Checkpoint} job=${job} why=${noAsking} />
      <${Savepoint} job=${job} why=${noAsking} />
      <${Rescale} job=${job} why=${noRescale}
        done=${(/** @type {number} */ wanted) => tell(job.jid, { tone: 'good', words: `The job was rescaled to parallelism ${wanted}.` })}
        failed=${failed(job, 'It was not rescaled.')} />
      <${Stop} job=${job} why=${noCancel ?? noAsking} />
      <${Cancel} job=${job} why=${noCancel} />
    </div>
    ${noAsking && html`<p class="muted">${noAsking}</p>`}
  </div>`;
}

/** What came of the actions. @param {{id: string}} props */
export function Outcomes({ id }) {
  return html`${useOutcomes(id).map((each) => html`<${Notice} key=${each.id} tone=${each.tone}>
    <span>${each.words}</span>
    ${each.path && html`<code class="outcome-path">${each.path}</code><${Copy} text=${each.path} what="the path" />`}
    ${each.reason && html`<pre>${each.reason}</pre>`}
    <button type="button" class="button small" onClick=${() => dismiss(id, each.id)}>Dismiss</button>
  <//>`)}`;
}

/** For an action that fails after its dialog was closed. @param {any} job @param {string} words */
function failed(job, words) {
  return (/** @type {unknown} */ error) => tell(job.jid, { tone: 'bad', words, reason: error instanceof Error ? error.message : String(error) });
}

/** @param {{job: any, why: string | undefined}} props */
function Cancel({ job, why }) {
  const done = (/** @type {string} */ state) => tell(job.jid, { tone: 'good', words: `The job is ${inWords(state)}.` });
  return html`<${Action} label="Cancel …" title=${`Cancel “${job.name}”?`} confirm="Cancel the job" danger=${true} disabled=${Boolean(why)} why=${why}
    act=${() => cancel(job.jid)} done=${done} failed=${failed(job, 'It is not known whether the job was cancelled.')}
    busy="The job is being cancelled; this goes on when the dialog is closed.">
    <p>All its tasks end at once, and no savepoint is taken. Its checkpoints are deleted, unless its settings keep them.
      The job does not start again by itself.</p>
    <p>To go on with it later, stop it with a savepoint instead.</p>
  <//>`;
}

/** @param {{job: any, why: string | undefined}} props */
function Stop({ job, why }) {
  const done = (/** @type {{location: string}} */ { location }) => tell(job.jid, { tone: 'good', words: 'The job stopped. Its savepoint:', path: location });
  return html`<${Action} label="Stop with savepoint …" title=${`Stop “${job.name}” with a savepoint?`} confirm="Stop the job" danger=${true} disabled=${Boolean(why)} why=${why}
    act=${(/** @type {FormData} */ form) => stop(job.jid, form)} done=${done} failed=${failed(job, 'The job was not stopped with a savepoint.')}
    busy="The savepoint is being taken, then the job ends; this goes on when the dialog is closed.">
    <p>The job takes a savepoint and ends; nothing is lost. A job that is started from the savepoint goes on where this one ended.</p>
    <${Folder} />
    <label class="check"><input type="checkbox" name="drain" /><span>Drain: let all event-time timers fire first, as if the input had ended.
      Only for jobs that will not go on from the savepoint.</span></label>
  <//>`;
}

/** @param {{job: any, why: string | undefined}} props */
function Savepoint({ job, why }) {
  const done = (/** @type {{location: string}} */ { location }) => tell(job.jid, { tone: 'good', words: 'Savepoint taken:', path: location });
  return html`<${Action} label="Savepoint …" title=${`Take a savepoint of “${job.name}”?`} confirm="Take a savepoint" disabled=${Boolean(why)} why=${why}
    act=${(/** @type {FormData} */ form) => savepoint(job.jid, form)} done=${done} failed=${failed(job, 'No savepoint was taken.')}
    busy="The savepoint is being taken; this goes on when the dialog is closed.">
    <p>The job goes on meanwhile. The savepoint is kept until somebody deletes it.</p>
    <${Folder} />
  <//>`;
}

/** @param {{job: any, why: string | undefined}} props */
function Checkpoint({ job, why }) {
  const done = (/** @type {any} */ { checkpointId, location }) => tell(job.jid, { tone: 'good', words: `Checkpoint ${checkpointId ?? ''} is complete:`, path: location });
  return html`<${Action} label="Checkpoint …" title=${`Take a checkpoint of “${job.name}”?`} confirm="Take a checkpoint" disabled=${Boolean(why)} why=${why}
    act=${() => checkpoint(job.jid)} done=${done} failed=${failed(job, 'No checkpoint was taken.')}
    busy="The checkpoint is being taken; this goes on when the dialog is closed.">
    <p>One more beside those that are taken by themselves. The job goes on meanwhile; the checkpoint is deleted when newer ones take its place.</p>
  <//>`;
}

function Folder() {
  return html`<label class="field"><span>Folder</span>
    <input name="target" autocomplete="off" spellcheck="false" />
    <small>Empty: the one that <code>execution.checkpointing.savepoint-dir</code> names.</small></label>`;
}

/** @param {{id: string}} props */
function StartAgain({ id }) {
  const live = useLive(`/jobs/${id}/checkpoints`, 5000);
  const [ended] = useState(Date.now);
  useEffect(live.refresh, [id]);
  // An answer from before the job's end may not know the savepoint that it ended with.
  const point = live.at < ended ? undefined : restartPoint(live.value);
  if (!point) return null;
  return html`<div class="actions"><a class="button" href=${link('/submit', { savepoint: point.path })}>Start again from its ${point.what} …</a></div>`;
}

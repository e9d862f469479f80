// A checkpoint in progress: how far it is, and who it waits for.

import { html } from '../core/view.js';
import { duration } from '../core/format.js';
import { link } from '../core/router.js';
import { useLive } from '../core/live.js';
import { Answer } from '../parts/notice.js';
import { Bar } from '../parts/bars.js';
import { Panel } from '../parts/panel.js';
import { awaited, partsOf, ranges } from './waiting.js';
import { typeWords } from './words.js';

const MOST_SHOWN = 10;

/** @param {{id: string, job: any, checkpoint: any}} props checkpoint: its entry in the history */
export function InProgress({ id, job, checkpoint }) {
  const { num_acknowledged_subtasks: done, num_subtasks: all, trigger_timestamp: begun } = checkpoint;
  const live = useLive(`/jobs/${id}/checkpoints/details/${checkpoint.id}`);
  const title = `${typeWords(checkpoint)} ${checkpoint.id} is in progress`;
  return html`<${Panel} title=${title.charAt(0).toUpperCase() + title.slice(1)}>
    <div class="checkpoint-progress">
      <p>Since ${duration(job.now - begun)}; ${done} of ${all} subtasks have acknowledged.</p>
      <${Bar} value=${done} most=${all} label=${`${done} of ${all} acknowledged`} />
      <${Answer} of=${live} what="who has acknowledged" gone="It is over.">
        ${(/** @type {any} */ found) => html`<${Awaited} id=${id} checkpoint=${checkpoint.id} parts=${awaited(partsOf(found, job.vertices))} />`}
      <//>
    </div>
  <//>`;
}

/** @param {{id: string, checkpoint: number, parts: import('./waiting.js').VertexPart[]}} props */
function Awaited({ id, checkpoint, parts }) {
  if (parts.length === 0) return html`<p class="muted">All have acknowledged; it is being completed.</p>`;
  return html`<h3>Not acknowledged yet</h3>
    <ul class="awaited">
      ${parts.slice(0, MOST_SHOWN).map((part) => html`<${AwaitedVertex} key=${part.id} ...${{ id, checkpoint, part }} />`)}
      ${parts.length > MOST_SHOWN && html`<li class="muted">and ${parts.length - MOST_SHOWN} more vertices</li>`}
    </ul>`;
}

/** @param {{id: string, checkpoint: number, part: import('./waiting.js').VertexPart}} props */
function AwaitedVertex({ id, checkpoint, part }) {
  const { value } = useLive(`/jobs/${id}/checkpoints/details/${checkpoint}/subtasks/${part.id}`);
  const missing = part.subtasks - part.acknowledged;
  const who = value?.subtasks.filter((/** @type {any} */ each) => each.status === 'pending').map((/** @type {any} */ each) => each.index);
  const which = who?.length > 0 ? `, ${who.length === 1 ? 'subtask' : 'subtasks'} ${ranges(who)}` : '';
  return html`<li><a href=${link('/jobs', id, 'vertices', part.id)}>${part.name}</a>: ${missing} of ${part.subtasks}${which}</li>`;
}

// All checkpoints of a job: whether they are healthy, what is under way, what was.

import { html } from '../core/view.js';
import { ago, bytes, count, duration, moment } from '../core/format.js';
import { link } from '../core/router.js';
import { useLive } from '../core/live.js';
import { Answer, Notice } from '../parts/notice.js';
import { Figures } from '../parts/figures.js';
import { Panel } from '../parts/panel.js';
import { endedOf, healthOf, isSlow, OFF, runningOf, usualOf } from './health.js';
import { HistoryTable } from './historyTable.js';
import { savepointsOf } from './history.js';
import { InProgress } from './inProgress.js';
import { Plots } from './plots.js';
import { Savepoints, TakeSavepoint, TriggerCheckpoint } from './savepoints.js';
import { CheckpointSettings } from './settings.js';
import { longest, slowestOf, splitOf } from './split.js';
import { awaited, lastOf, partsOf } from './waiting.js';

/** A checkpoint in progress is shown on its own only when it takes its time: others would only flicker. */
const SHOWN_AFTER_MS = 1500;

/** @param {{id: string, job: any}} props */
export function AllCheckpoints({ id, job }) {
  const live = useLive(`/jobs/${id}/checkpoints`);
  const config = useLive(`/jobs/${id}/checkpoints/config`, Infinity);
  const off = html`<p>${OFF}</p>${job['end-time'] < 0 && html`<${TakeSavepoint} id=${id} job=${job} />`}`;
  return html`<${Answer} of=${live} what="the checkpoints of this job" gone=${off}>
    ${(/** @type {any} */ checkpoints) => {
      const running = runningOf(checkpoints);
      return html`
        <${Health} id=${id} job=${job} checkpoints=${checkpoints} config=${config.value} />
        <${Numbers} id=${id} now=${job.now} checkpoints=${checkpoints} />
        ${running && job.now - running.trigger_timestamp > SHOWN_AFTER_MS && html`<${InProgress} key=${running.id} id=${id} job=${job} checkpoint=${running} />`}
        <${Panel} title="History" flush=${true} tools=${html`<${TriggerCheckpoint} id=${id} job=${job} />`}>
          <${Plots} job=${id} history=${checkpoints.history} />
          <${HistoryTable} job=${id} now=${job.now} history=${checkpoints.history} />
        <//>
        <${Savepoints} id=${id} job=${job} savepoints=${savepointsOf(checkpoints)} />
        <${Panel} title="How checkpoints are taken"><${CheckpointSettings} job=${id} /><//>`;
    }}
  <//>`;
}

/** @param {{id: string, job: any, checkpoints: any, config: any}} props */
function Health({ id, job, checkpoints, config }) {
  const running = runningOf(checkpoints);
  const [newest] = endedOf(checkpoints);
  const details = (/** @type {any} */ found) => (found ? `/jobs/${id}/checkpoints/details/${found.id}` : null);
  const unusual = newest?.status === 'COMPLETED' && (isSlow(newest.end_to_end_duration, usualOf(checkpoints)) || newest.end_to_end_duration > (config?.interval ?? Infinity));
  const now = useLive(details(running && job.now - running.trigger_timestamp > SHOWN_AFTER_MS ? running : undefined));
  const before = useLive(details(unusual ? newest : undefined), Infinity);
  const last = before.value ? lastOf(partsOf(before.value, job.vertices)) : null;
  const lastly = useLive(last ? `${details(newest)}/subtasks/${last.id}` : null, Infinity);
  if (!config) return null;
  const { tone, words, about } = healthOf({
    checkpoints,
    interval: config.interval,
    timeout: config.timeout,
    state: job.state,
    now: job.now,
    waits: now.value && { checkpoint: now.value.id, names: awaited(partsOf(now.value, job.vertices)).map(({ name }) => name) },
    last: last && { checkpoint: before.value.id, name: last.name, phase: longest(splitOf(slowestOf(lastly.value?.subtasks ?? [])))?.phase },
  });
  const shown = tone === 'good' || about === undefined ? null : html` <a href=${link('/jobs', id, 'checkpoints', String(about))}>Look at it</a>`;
  return html`<${Notice} tone=${tone}><span class="checkpoint-health">${words}${shown}</span><//>`;
}

/** @param {{id: string, now: number, checkpoints: any}} props */
function Numbers({ id, now, checkpoints }) {
  const { counts, latest } = checkpoints;
  const one = (/** @type {any} */ found, /** @type {any} */ words) => found && html`<a href=${link('/jobs', id, 'checkpoints', String(found.id))}>${found.id}</a>: ${words}`;
  const { completed, failed, savepoint, restored } = latest;
  return html`<${Figures} items=${[
    { name: 'Completed', value: count(counts.completed), note: one(completed, `${ago(completed?.trigger_timestamp, now)}, ${duration(completed?.end_to_end_duration)}, ${bytes(completed?.state_size)}`) ?? 'none yet' },
    { name: 'Failed', value: count(counts.failed), note: one(failed, ago(failed?.failure_timestamp, now)) ?? 'none' },
    { name: 'In progress', value: count(counts.in_progress), note: counts.in_progress ? 'not all have acknowledged' : 'none' },
    { name: 'Restored', value: count(counts.restored), title: restored && moment(restored.restore_timestamp), note: restored ? `from ${restored.is_savepoint ? 'savepoint' : 'checkpoint'} ${restored.id}, ${ago(restored.restore_timestamp, now)}` : 'never' },
    { name: 'Latest savepoint', value: savepoint ? savepoint.id : 'none', note: one(savepoint, `${ago(savepoint?.trigger_timestamp, now)}, ${bytes(savepoint?.state_size)}`) ?? undefined },
  ]} />`;
}

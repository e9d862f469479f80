// What went wrong in a job, by cause, the newest first.

import { html } from '../../core/view.js';
import { useLive } from '../../core/live.js';
import { Answer, Notice } from '../../parts/notice.js';
import { FailureGroup } from '../../exceptions/groupView.js';
import { groupsOf } from '../../exceptions/grouping.js';

const MOST = 100;
const EVERY_MS = 2000;

/** @param {import('./frame.js').TabProps} props */
export function ExceptionsTab({ id, job, query }) {
  const live = useLive(`/jobs/${id}/exceptions?maxExceptions=${MOST}`, EVERY_MS);
  const metrics = useLive(`/jobs/${id}/metrics?get=numRestarts,uptime`, EVERY_MS);
  const linked = query.get('cause');
  return html`<${Answer} of=${live} what="what went wrong">
    ${(/** @type {any} */ { exceptionHistory: { entries, truncated } }) => {
      const groups = groupsOf(entries);
      if (groups.length === 0) return html`<${Notice} tone=${job.state === 'RUNNING' ? 'good' : undefined}>Nothing has failed since this job began.<//>`;
      const now = {
        state: job.state, newest: groups[0].last, restarts: metric(metrics.value, 'numRestarts'), uptime: metric(metrics.value, 'uptime'),
      };
      return html`
        <p>${words(groups.length, entries.length)}${now.restarts === undefined ? '' : again(now.restarts)}.</p>
        ${linked && !groups.some(({ key }) => key === linked) && html`<${Notice} tone="wait">The cause in the address is no longer among the failures that are remembered.<//>`}
        ${groups.map((group, at) => html`<${FailureGroup} key=${group.key} ...${{ id, job, group, now, opened: at === 0, linked: group.key === linked }} />`)}
        ${truncated && html`<p class="muted">Older failures are not shown: there are more than ${MOST}.</p>`}`;
    }}
  <//>`;
}

/** @param {any} answer @param {string} name @returns {number | undefined} */
function metric(answer, name) {
  const value = answer?.metrics.find((/** @type {any} */ each) => each.id === name)?.value;
  return value === undefined || Number.isNaN(Number(value)) ? undefined : Number(value);
}

/** @param {number} causes @param {number} failures */
function words(causes, failures) {
  if (failures === 1) return 'One failure';
  return `${failures} failures of ${causes === 1 ? 'one cause' : `${causes} causes`}`;
}

/** @param {number} restarts */
function again(restarts) {
  if (restarts === 0) return '; the job was not started again';
  return `, and the job was started again ${restarts === 1 ? 'once' : `${restarts} times`}`;
}

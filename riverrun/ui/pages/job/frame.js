// What all pages of a job share: its name, state and duration, what can be done with it, its tabs.

import { html } from '../../core/view.js';
import { useLive } from '../../core/live.js';
import { link } from '../../core/router.js';
import { duration, moment } from '../../core/format.js';
import { Answer } from '../../parts/notice.js';
import { Badge } from '../../parts/badge.js';
import { Tabs } from '../../parts/tabs.js';
import { Actions } from './actions.js';

/**
 * What a tab gets: the answer of GET /jobs/{id}, and what stands in the address.
 * @typedef {{id: string, job: any, names: Record<string, string>, query: URLSearchParams}} TabProps
 */

const TABS = [
  { title: 'Graph', steps: [] },
  { title: 'Time lines', steps: ['timelines'] },
  { title: 'Checkpoints', steps: ['checkpoints'] },
  { title: 'Exceptions', steps: ['exceptions'] },
  { title: 'State', steps: ['state'] },
  { title: 'Configuration', steps: ['configuration'] },
];

/** The page of a job with one of its tabs. @param {(props: TabProps) => any} tab */
export function ofJob(tab) {
  /** @param {{names: Record<string, string>, query: URLSearchParams}} props */
  return function JobPage({ names, query }) {
    const live = useLive(`/jobs/${names.job}`);
    const gone = html`This JobManager does not know the job ${names.job}: it was never here, or was forgotten
      after its end. <a href=${link('/')}>All jobs</a>`;
    return html`<${Answer} of=${live} what="the job" gone=${gone}>
      ${(/** @type {any} */ job) => html`
        <${Head} job=${job} names=${names} />
        <${tab} id=${names.job} job=${job} names=${names} query=${query} />`}
    <//>`;
  };
}

/** @param {{job: any, names: Record<string, string>}} props */
function Head({ job, names }) {
  const here = location.hash.split('?')[0];
  const items = TABS.map(({ title, steps }) => {
    const href = link('/jobs', names.job, ...steps);
    const current = steps.length ? here.startsWith(href) : here === href || 'vertex' in names;
    return { title, href, current };
  });
  return html`
    <div class="job-head">
      <div>
        <h1>${job.name} <${Badge} state=${job.state} /></h1>
        <p class="muted">since ${moment(job['start-time'])}, for ${duration(job.duration)} · <span class="mono">${job.jid}</span></p>
        ${job['status-text'] && html`<p>${job['status-text']}</p>`}
      </div>
      <${Actions} job=${job} />
    </div>
    <${Tabs} label="Parts of the job" items=${items} />`;
}

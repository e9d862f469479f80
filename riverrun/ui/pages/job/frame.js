// What all pages of a job share: its name, state and duration, what can be done with it, its tabs.

import { html } from '../../core/view.js';
import { useLive } from '../../core/live.js';
import { link } from '../../core/router.js';
import { duration, moment } from '../../core/format.js';
import { Answer } from '../../parts/notice.js';
import { Badge } from '../../parts/badge.js';
import { Tabs } from '../../parts/tabs.js';
import { age, isOver } from '../../jobs/glance.js';
import { useNow } from '../../jobs/now.js';
import { Actions, Outcomes } from './actions.js';

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
        <${Head} job=${job} at=${live.at} names=${names} />
        <${Outcomes} id=${names.job} />
        <${tab} id=${names.job} job=${job} names=${names} query=${query} />`}
    <//>`;
  };
}

/** @param {{job: any, at: number, names: Record<string, string>}} props at: when the answer came */
function Head({ job, at, names }) {
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
        <p class="muted"><${Span} job=${job} at=${at} /> · <span class="mono">${job.jid}</span></p>
        ${job['status-text'] && html`<p>${job['status-text']}</p>`}
        ${isOver(job.state) && html`<p class="muted">The job has ended: what is shown is how it was last.</p>`}
      </div>
      <${Actions} job=${job} />
    </div>
    <${Tabs} label="Parts of the job" items=${items} />`;
}

/** From when to when the job ran, or for how long it has. @param {{job: any, at: number}} props */
function Span({ job, at }) {
  const now = useNow();
  const start = moment(job['start-time']);
  if (isOver(job.state)) return `${start} to ${moment(job['end-time'])}, ran ${duration(job.duration)}`;
  return `since ${start}, for ${duration(age(job, at, now))}`;
}

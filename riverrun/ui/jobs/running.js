// The jobs that run, each with what a person on call asks first.

import { html, classes } from '../core/view.js';
import { link } from '../core/router.js';
import { duration, exact, moment, rate } from '../core/format.js';
import { Badge } from '../parts/badge.js';
import { Table } from '../parts/table.js';
import { age, clockThere, hints, lastCheckpoint } from './glance.js';
import { useNow } from './now.js';
import { Tasks } from './tasks.js';

/** @param {{jobs: any[], at: number, empty: any}} props at: when the answer came */
export function RunningJobs({ jobs, at, empty }) {
  const now = useNow();
  const columns = [
    { title: 'Job', cell: (/** @type {any} */ job) => html`<${Name} job=${job} />`, by: (/** @type {any} */ job) => job.name },
    { title: 'State', cell: (/** @type {any} */ job) => html`<${Badge} state=${job.state} />`, by: (/** @type {any} */ job) => job.state },
    {
      title: 'Duration', number: true, by: (/** @type {any} */ job) => job.duration,
      cell: (/** @type {any} */ job) => html`${duration(age(job, at, now))}<small>since ${moment(job['start-time'])}</small>`,
    },
    { title: 'Tasks', cell: (/** @type {any} */ job) => html`<${Tasks} tasks=${job.tasks} />`, by: (/** @type {any} */ job) => job.tasks.total },
    {
      title: 'Records/s', number: true, by: (/** @type {any} */ job) => job['records-per-second'] ?? -1,
      cell: (/** @type {any} */ job) => html`<span title="What its sources give">${rate(job['records-per-second'])}</span>`,
    },
    {
      title: 'Last checkpoint', by: (/** @type {any} */ job) => job['last-checkpoint']?.timestamp ?? 0,
      cell: (/** @type {any} */ job) => html`<${Checkpoint} job=${job} now=${clockThere(job, at, now)} />`,
    },
    { title: 'Restarts', number: true, cell: (/** @type {any} */ job) => exact(job.restarts), by: (/** @type {any} */ job) => job.restarts },
  ];
  return html`<div class="job-list"><${Table} caption="Running jobs" columns=${columns} rows=${jobs}
    rowKey=${(/** @type {any} */ job) => job.jid} empty=${empty} /></div>`;
}

/** @param {{job: any}} props */
function Name({ job }) {
  return html`<a class="job-name" href=${link('/jobs', job.jid)}>${job.name}</a>
    <span class="hints">${hints(job).map(({ tone, words, why }) => html`<span key=${words} class=${classes('badge', tone)} title=${why}>${words}${why && html`<span class="hidden-words">: ${why}</span>`}</span>`)}</span>`;
}

/** @param {{job: any, now: number}} props */
function Checkpoint({ job, now }) {
  const { words, note, failed } = lastCheckpoint(job, now);
  return html`<span class=${classes('nowrap', failed && 'bad-words')}>${words}</span><small>${note}</small>`;
}

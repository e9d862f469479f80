// The jobs that ended, newest first, as far as the JobManager remembers them.

import { html } from '../core/view.js';
import { link } from '../core/router.js';
import { duration, moment } from '../core/format.js';
import { Badge } from '../parts/badge.js';
import { Table } from '../parts/table.js';
import { ending } from './glance.js';

const COLUMNS = [
  { title: 'Job', cell: (/** @type {any} */ job) => html`<a class="job-name" href=${link('/jobs', job.jid)}>${job.name}</a>`, by: (/** @type {any} */ job) => job.name },
  { title: 'State', cell: (/** @type {any} */ job) => html`<${Badge} state=${job.state} />`, by: (/** @type {any} */ job) => job.state },
  { title: 'Started', cell: (/** @type {any} */ job) => html`<span class="nowrap">${moment(job['start-time'])}</span>`, by: (/** @type {any} */ job) => job['start-time'] },
  { title: 'Ended', cell: (/** @type {any} */ job) => html`<span class="nowrap">${moment(job['end-time'])}</span>`, by: (/** @type {any} */ job) => job['end-time'] },
  { title: 'Duration', number: true, cell: (/** @type {any} */ job) => duration(job.duration), by: (/** @type {any} */ job) => job.duration },
  { title: 'Why', cell: (/** @type {any} */ job) => html`<span class="one-line" title=${ending(job)}>${ending(job)}</span>` },
];

/** @param {{jobs: any[], empty: any}} props */
export function EndedJobs({ jobs, empty }) {
  return html`<div class="job-list"><${Table} caption="Ended jobs" columns=${COLUMNS} rows=${jobs}
    rowKey=${(/** @type {any} */ job) => job.jid} empty=${empty} /></div>`;
}

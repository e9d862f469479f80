// All jobs at a glance: what runs, how it does, and what has ended.

import { html, useMemo, useState } from '../core/view.js';
import { useLive } from '../core/live.js';
import { link } from '../core/router.js';
import { exact } from '../core/format.js';
import { Answer } from '../parts/notice.js';
import { Bar } from '../parts/bars.js';
import { Figures } from '../parts/figures.js';
import { Filter } from '../parts/filter.js';
import { Panel } from '../parts/panel.js';
import { isNamed, parted } from '../jobs/glance.js';
import { EndedJobs } from '../jobs/ended.js';
import { RunningJobs } from '../jobs/running.js';

const EVERY_MS = 2000;
const MANY = 8;

export function Overview() {
  const jobs = useLive('/jobs/overview', EVERY_MS);
  return html`
    <h1>Jobs</h1>
    <${Cluster} />
    <${Answer} of=${jobs} what="the jobs">
      ${(/** @type {any} */ { jobs: all }) => html`<${Lists} jobs=${all} at=${jobs.at} />`}
    <//>`;
}

function Cluster() {
  const live = useLive('/overview', EVERY_MS);
  return html`<${Answer} of=${live} what="the cluster">
    ${(/** @type {any} */ value) => html`<${Figures} items=${[
      { name: 'Slots', value: html`<${Slots} total=${value['slots-total']} free=${value['slots-available']} />` },
      { name: 'Executors', value: html`<a href=${link('/taskmanagers')}>${exact(value.taskmanagers)}</a>`, note: value.taskmanagers ? undefined : 'none has come yet' },
      { name: 'Running', value: exact(value['jobs-running']) },
      { name: 'Finished', value: exact(value['jobs-finished']) },
      { name: 'Failed', value: html`<span class=${value['jobs-failed'] ? 'bad-words' : undefined}>${exact(value['jobs-failed'])}</span>` },
      { name: 'Cancelled', value: exact(value['jobs-cancelled']) },
    ]} />`}
  <//>`;
}

/** @param {{total: number, free: number}} props */
function Slots({ total, free }) {
  const used = total - free;
  return html`${exact(used)} used
    <${Bar} value=${used} most=${total} label=${`${exact(used)} of ${exact(total)} slots are used`} />
    <small>${exact(free)} of ${exact(total)} free</small>`;
}

/** @param {{jobs: any[], at: number}} props */
function Lists({ jobs, at }) {
  const [words, setWords] = useState('');
  const { running, ended } = useMemo(() => parted(jobs.filter((job) => isNamed(job, words))), [jobs, words]);
  const none = (/** @type {any} */ otherwise) => (words ? `No job here has “${words}” in its name.` : otherwise);
  const filter = (jobs.length > MANY || words) && html`<${Filter} label="Search jobs by name" words=${words} change=${setWords}
    note=${words && `${exact(running.length + ended.length)} of ${exact(jobs.length)}`} />`;
  return html`
    <${Panel} title="Running" flush=${true} tools=${filter}>
      <${RunningJobs} jobs=${running} at=${at} empty=${none(html`No job runs. <a href=${link('/submit')}>Submit one</a>, or use <code>river run</code>.`)} />
    <//>
    <${Panel} title="Ended" flush=${true}>
      <${EndedJobs} jobs=${ended} empty=${none('No job has ended that this JobManager remembers.')} />
    <//>`;
}

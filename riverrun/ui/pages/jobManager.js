// The JobManager itself: settings, what it runs on, log, threads, metrics; and its end.

import { html } from '../core/view.js';
import { useLive } from '../core/live.js';
import { link } from '../core/router.js';
import { exact } from '../core/format.js';
import { Figures } from '../parts/figures.js';
import { Answer } from '../parts/notice.js';
import { Tabs } from '../parts/tabs.js';
import { Ending } from '../cluster/ending.js';
import { Metrics } from '../cluster/metrics.js';
import { Environment, Settings } from '../cluster/settings.js';
import { Threads } from '../cluster/threads.js';
import { Logs } from '../logs/logs.js';

const TABS = [
  { title: 'Settings', tab: undefined },
  { title: 'Environment', tab: 'environment' },
  { title: 'Metrics', tab: 'metrics' },
  { title: 'Logs', tab: 'logs' },
  { title: 'Threads', tab: 'threads' },
];

/** @param {{query: URLSearchParams}} props */
export function JobManager({ query }) {
  const chosen = query.get('tab') ?? undefined;
  const items = TABS.map(({ title, tab }) => ({ title, href: link('/jobmanager', { tab }), current: tab === chosen }));
  return html`
    <div class="job-head"><h1>JobManager</h1><${Ending} /></div>
    <${Tabs} label="Parts of the JobManager" items=${items} />
    ${!chosen && html`<${Overview} /><${Settings} />`}
    ${chosen === 'environment' && html`<${Environment} />`}
    ${chosen === 'metrics' && html`<${Metrics} path="/jobmanager" />`}
    ${chosen === 'logs' && html`<${Logs} root="/jobmanager" chosen=${query.get('file')} hrefOf=${(/** @type {string} */ file) => link('/jobmanager', { tab: 'logs', file })} />`}
    ${chosen === 'threads' && html`<${Threads} path="/jobmanager/thread-dump" what="the JobManager" />`}`;
}

function Overview() {
  const live = useLive('/overview', 2000);
  return html`<${Answer} of=${live} what="the overview">
    ${(/** @type {any} */ seen) => html`<${Figures} items=${[
      { name: 'Version', value: seen['flink-version'], note: seen['flink-commit'] || undefined },
      { name: 'Jobs that run', value: exact(seen['jobs-running']) },
      { name: 'Task managers', value: html`<a href=${link('/taskmanagers')}>${exact(seen.taskmanagers)}</a>` },
      { name: 'Slots used', value: exact(seen['slots-total'] - seen['slots-available']), note: `of ${exact(seen['slots-total'])}` },
    ]} />`}
  <//>`;
}

// Settings of the JobManager, searched; what it runs on.

import { html, useState } from '../core/view.js';
import { useLive } from '../core/live.js';
import { exact } from '../core/format.js';
import { Facts } from '../parts/figures.js';
import { Filter, hasWords } from '../parts/filter.js';
import { Answer } from '../parts/notice.js';
import { Panel } from '../parts/panel.js';
import { Table } from '../parts/table.js';

const SETTINGS = [
  { title: 'Setting', by: (/** @type {any} */ row) => row.key, cell: (/** @type {any} */ row) => html`<span class="mono">${row.key}</span>` },
  { title: 'Value', by: (/** @type {any} */ row) => row.value, cell: (/** @type {any} */ row) => html`<span class="mono value">${row.value}</span>` },
];

const PACKAGES = [
  { title: 'Package', by: (/** @type {any} */ row) => row.name, cell: (/** @type {any} */ row) => row.name },
  { title: 'Version', cell: (/** @type {any} */ row) => html`<span class="mono">${row.version}</span>` },
];

export function Settings() {
  const live = useLive('/jobmanager/config', 30_000);
  return html`<${Panel} title="Settings" flush=${true}>
    <${Answer} of=${live} what="the settings">
      ${(/** @type {any[]} */ entries) => html`<${Searched} label="Find a setting" caption="Settings of the JobManager" columns=${SETTINGS}
        rows=${entries} rowKey=${(/** @type {any} */ row) => row.key} textOf=${(/** @type {any} */ row) => `${row.key} ${row.value}`}
        none="Nothing was set: everything is as it is by default." />`}
    <//>
  <//>`;
}

export function Environment() {
  const live = useLive('/jobmanager/environment', Infinity);
  return html`<${Answer} of=${live} what="what the JobManager runs on">
    ${(/** @type {any} */ { jvm, classpath, packages }) => html`
      <${Panel} title="Interpreter">
        <${Facts} items=${[
          ['Python', jvm.version],
          ['Machine', jvm.arch],
          ['Flags', jvm.options.join(', ')],
          ['Modules are found in', html`<ul class="bare-list mono">${classpath.map((/** @type {string} */ path) => html`<li key=${path}>${path}</li>`)}</ul>`],
        ]} />
      <//>
      <${Panel} title="Packages" flush=${true}>
        <${Searched} label="Find a package" caption="Packages that are installed" columns=${PACKAGES} rows=${packages.map(packageOf)}
          rowKey=${(/** @type {any} */ row) => row.text} textOf=${(/** @type {any} */ row) => row.text} none="No package is installed." />
      <//>`}
  <//>`;
}

/** @param {string} text 'name==version' */
function packageOf(text) {
  const [name, version = ''] = text.split('==');
  return { text, name, version };
}

/**
 * @param {{
 *   label: string, caption: string, columns: any[], rows: any[], rowKey: (row: any) => string,
 *   textOf: (row: any) => string, none: string,
 * }} props
 */
function Searched({ label, caption, columns, rows, rowKey, textOf, none }) {
  const [words, setWords] = useState('');
  const found = rows.filter((row) => hasWords(textOf(row), words));
  return html`
    <${Filter} label=${label} words=${words} change=${setWords} note=${words ? `${exact(found.length)} of ${exact(rows.length)}` : exact(rows.length)} />
    <${Table} ...${{ caption, columns, rowKey }} rows=${found} empty=${words ? 'Nothing with these words.' : none} />`;
}

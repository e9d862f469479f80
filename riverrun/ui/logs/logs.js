// The log files of a process, and the one that is read.

import { html, useMemo, useState } from '../core/view.js';
import { useLive } from '../core/live.js';
import { ago, bytes, moment } from '../core/format.js';
import { Filter, hasWords } from '../parts/filter.js';
import { Answer } from '../parts/notice.js';
import { Panel } from '../parts/panel.js';
import { Table } from '../parts/table.js';
import { describe, inOrder, mainFile } from './files.js';
import { pathOf } from './source.js';
import { LogViewer } from './viewer.js';

const MANY = 12;

/**
 * @param {{root: string, chosen: string | null, hrefOf: (file: string) => string}} props
 * root: '/jobmanager' or '/taskmanagers/<id>'; chosen: the file to read; hrefOf: the address that shows a file
 */
export function Logs({ root, chosen, hrefOf }) {
  const live = useLive(`${root}/logs`, 5000);
  const jobs = useLive('/jobs/overview', 5000);
  const names = useMemo(
    () => Object.fromEntries((jobs.value?.jobs ?? []).map((/** @type {any} */ job) => [job.jid, job.name])),
    [jobs.value],
  );
  const file = chosen ?? (live.value ? mainFile(live.value.logs) : undefined);
  return html`
    ${file && html`<${Panel} title=${html`<span class="mono">${file}</span>`} tools=${html`<span class="muted">${describe(file, names)}</span>`}>
      <${LogViewer} key=${file} path=${pathOf(root, file)} file=${file} />
    <//>`}
    <${Panel} title="Log files" flush=${true}>
      <${Answer} of=${live} what="the log files" gone=${live.problem && html`<span>Log files cannot be read now: ${live.problem.message}</span>`}>
        ${(/** @type {any} */ { logs }) => html`<${Files} files=${logs} ...${{ names, file, hrefOf }} />`}
      <//>
    <//>`;
}

/**
 * @param {{
 *   files: import('./files.js').LogFile[], names: Record<string, string>, file: string | undefined,
 *   hrefOf: (file: string) => string,
 * }} props
 */
function Files({ files, names, file, hrefOf }) {
  const [words, setWords] = useState('');
  const rows = inOrder(files)
    .map((each) => ({ ...each, words: describe(each.name, names) }))
    .filter((each) => hasWords(`${each.name} ${each.words}`, words));
  const columns = [
    {
      title: 'File',
      by: (/** @type {any} */ row) => row.name,
      cell: (/** @type {any} */ row) => html`<span class="two-lines">
        <a class="mono" href=${hrefOf(row.name)} aria-current=${row.name === file ? 'true' : undefined}>${row.name}</a>
        <small class="muted">${row.words}</small></span>`,
    },
    { title: 'Size', number: true, by: (/** @type {any} */ row) => row.size, cell: (/** @type {any} */ row) => bytes(row.size) },
    {
      title: 'Last written',
      number: true,
      by: (/** @type {any} */ row) => row.mtime,
      cell: (/** @type {any} */ row) => html`<span title=${moment(row.mtime)}>${ago(row.mtime)}</span>`,
    },
  ];
  return html`
    ${files.length > MANY && html`<${Filter} label="Find a file or a job" words=${words} change=${setWords} />`}
    <${Table} caption="Log files" ...${{ columns, rows }} rowKey=${(/** @type {any} */ row) => row.name}
      empty=${words ? 'No file with these words.' : 'No log file was written yet.'} />`;
}

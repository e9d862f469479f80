// Entries of a state with their values, readable.

import { html, classes } from '../core/view.js';
import { count, moment } from '../core/format.js';
import { Copy } from '../parts/copy.js';
import { Panel } from '../parts/panel.js';
import { Table } from '../parts/table.js';
import { Asked } from './asked.js';
import { useAsked } from './ask.js';

const FIRST = 100;

/** The first entries of a state that has no keys. @param {{source: import('./ask.js').Source, of: {operator: string, state: string}, chosen: any}} props */
export function Entries({ source, of, chosen }) {
  const asked = useAsked(source, 'entries', { ...of, limit: FIRST });
  return html`<${Panel} title=${`Entries of ${chosen.state.name}`}>
    <${Asked} of=${asked} what="the entries">
      ${(/** @type {any} */ { entries, complete }) => html`<${EntryList} entries=${entries} complete=${complete} state=${chosen.state} />`}
    <//>
  <//>`;
}

/** @param {{entries: any[], complete: boolean, state: any}} props */
export function EntryList({ entries, complete, state }) {
  if (entries.length === 0) return html`<p class="muted">There are none.</p>`;
  const columns = columnsOf(entries, state);
  const rows = entries.map((entry, at) => ({ ...entry, at }));
  const alone = rows.length === 1 && columns.length === 1;
  return html`<div class="entries">
    ${alone ? html`<${Value} value=${rows[0].value} />` : html`<div class="entry-box"><${Table} caption=${`Entries of ${state.name}`} columns=${columns} rows=${rows} rowKey=${(/** @type {any} */ row) => row.at} /></div>`}
    ${!complete && html`<p class="muted">These are the first ${count(rows.length)}; there are more.</p>`}
  </div>`;
}

/** @param {any[]} entries @param {any} state @returns {import('../parts/table.js').Column<any>[]} */
function columnsOf(entries, state) {
  const has = (/** @type {string} */ name) => entries.some((entry) => entry[name] !== null);
  /** @type {(import('../parts/table.js').Column<any> | false)[]} */
  const columns = [
    has('subtask') && { title: 'Subtask', number: true, by: (row) => row.subtask, cell: (row) => row.subtask },
    has('time') && { title: 'Due', by: (row) => row.time, cell: (row) => html`<span class="nowrap" title=${row.time}>${moment(row.time)}</span>` },
    has('namespace') && { title: state.namespaced ? 'Window' : 'Namespace', by: (row) => row.namespace, cell: (row) => row.namespace },
    has('map_key') && { title: 'Key in the map', by: (row) => row.map_key, cell: (row) => html`<span class="mono">${row.map_key}</span>` },
    has('value') && { title: 'Value', cell: (row) => html`<${Value} value=${row.value} small />` },
    has('last_used') && { title: 'Last used', by: (row) => row.last_used, cell: (row) => moment(row.last_used) },
  ];
  return /** @type {import('../parts/table.js').Column<any>[]} */ (columns.filter(Boolean));
}

/** @param {{value: any, small?: boolean}} props */
function Value({ value, small }) {
  if (value === null) return html`<span class="muted">no value</span>`;
  const shown = value.json ?? value.text;
  return html`<div class=${classes('value', small && !shown.includes('\n') && 'on-a-line')}>
    <pre>${shown === '' ? '(empty)' : shown}</pre>
    <p class="muted value-about">${value.type}${value.cut ? ', cut off: the value is longer than is shown' : ''}${!small && html` <${Copy} text=${shown} what="the value" />`}</p>
  </div>`;
}

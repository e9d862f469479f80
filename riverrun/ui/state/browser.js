// What a savepoint or checkpoint holds: its states, and the one that is chosen.

import { html, classes, useMemo, useState } from '../core/view.js';
import { bytes, count, exact, moment } from '../core/format.js';
import { Bar } from '../parts/bars.js';
import { Copy } from '../parts/copy.js';
import { Facts } from '../parts/figures.js';
import { Filter, hasWords } from '../parts/filter.js';
import { Notice } from '../parts/notice.js';
import { Panel } from '../parts/panel.js';
import { Table } from '../parts/table.js';
import { Asked } from './asked.js';
import { useAsked } from './ask.js';
import { chosenOf, rowsOf, typesOf } from './snapshots.js';
import { Entries } from './entries.js';
import { KeyGroupsPanel } from './keyGroups.js';
import { KeysPanel } from './keys.js';

const MANY = 12;

/**
 * The place of the browser: what stands in the address, and the address with some of it changed.
 * @typedef {{query: URLSearchParams, address: (changes: Record<string, string | number | undefined>) => string}} Place
 */

/**
 * @param {{source: import('./ask.js').Source, place: Place, gone: (words: string) => any}} props
 * gone: what to show when there is no such snapshot
 */
export function SnapshotBrowser({ source, place, gone }) {
  const asked = useAsked(source, 'states', {});
  return html`<${Asked} of=${asked} what="the snapshot" gone=${gone}>
    ${(/** @type {any} */ found) => html`<${Snapshot} found=${found} source=${source} place=${place} />`}
  <//>`;
}

/** @param {{found: any, source: import('./ask.js').Source, place: Place}} props */
function Snapshot({ found, source, place }) {
  const { snapshot, operators } = found;
  const chosen = chosenOf(operators, place.query.get('operator'), place.query.get('state'));
  return html`
    <${About} found=${found} />
    <${States} operators=${operators} chosen=${chosen} place=${place} />
    ${!chosen && rowsOf(operators).length > 0 && html`<${Notice} tone="wait">
      ${snapshot.savepoint ? 'The savepoint' : 'The checkpoint'} has no state ${place.query.get('state')} of ${place.query.get('operator')}; choose one above.
    <//>`}
    ${chosen && html`<${ChosenState} key=${chosen.id} chosen=${chosen} source=${source} place=${place} />`}`;
}

/** @param {{found: any}} props */
function About({ found: { snapshot, in_flight_bytes: inFlight } }) {
  const what = snapshot.savepoint ? 'Savepoint' : 'Checkpoint';
  return html`<${Panel} title=${`${what} ${snapshot.checkpoint} of ${snapshot.job_name || snapshot.job_id}`} tools=${html`<${Copy} text=${snapshot.path} what="the path" label="Copy the path" />`}>
    <${Facts} items=${[
      ['Taken', moment(snapshot.timestamp)],
      ['Size', bytes(snapshot.bytes)],
      ...(inFlight > 0 ? [['Records on their way', bytes(inFlight)]] : []),
      ['Path', html`<span class="mono">${snapshot.path}</span>`],
      ['Job', html`<span class="mono">${snapshot.job_id}</span>`],
    ]} />
  <//>`;
}

/** @param {{operators: any[], chosen: any, place: Place}} props */
function States({ operators, chosen, place }) {
  const [words, setWords] = useState('');
  const rows = useMemo(() => rowsOf(operators), [operators]);
  const most = rows.reduce((size, row) => Math.max(size, row.state.bytes ?? 0), 0);
  const shown = rows.filter(({ operator, state }) => hasWords(`${operator.name} ${operator.uid ?? ''} ${state.name} ${state.kind}`, words));
  const columns = useMemo(() => columnsOf(chosen?.id, most, place), [chosen?.id, most, place.query.toString()]);
  const without = operators.filter((operator) => operator.states.length === 0).length;
  return html`<${Panel} title="States" flush tools=${rows.length > MANY && html`<${Filter} label="Find a state" words=${words} change=${setWords} note=${`${shown.length} of ${rows.length}`} />`}>
    <${Table} caption="States of the snapshot" columns=${columns} rows=${shown} rowKey=${(/** @type {any} */ row) => row.id}
      empty=${rows.length ? 'No state has these words.' : 'No operator had any state.'} />
    ${without > 0 && rows.length > 0 && html`<p class="muted state-note">${without} ${without === 1 ? 'operator has' : 'operators have'} no state.</p>`}
  <//>`;
}

/** @param {string | undefined} chosen @param {number} most @param {Place} place @returns {import('../parts/table.js').Column<any>[]} */
function columnsOf(chosen, most, place) {
  const open = (/** @type {any} */ row) => place.address({ operator: row.operator.uid ?? row.operator.id, state: row.state.name, group: undefined, key: undefined, in: undefined });
  return [
    {
      title: 'State',
      by: (row) => row.state.name,
      cell: (row) => html`<a class=${classes('state-name', row.id === chosen && 'chosen')} href=${open(row)} aria-current=${row.id === chosen ? 'true' : undefined}>${row.state.name}</a>`,
    },
    {
      title: 'Operator',
      by: (row) => row.operator.name,
      cell: (row) => html`<span title=${`in the vertex ${row.operator.vertex}`}>${row.operator.name}</span>${row.operator.uid && row.operator.uid !== row.operator.name && html` <span class="muted mono state-uid">${row.operator.uid}</span>`}`,
    },
    { title: 'Kind', by: (row) => row.state.kind, cell: (row) => html`<span class="nowrap">${row.state.kind}${row.state.ttl ? ', expires' : ''}</span>` },
    { title: 'Types', cell: (row) => html`<span class="mono state-types">${typesOf(row.state)}</span>` },
    { title: 'Subtasks', number: true, by: (row) => row.operator.parallelism, cell: (row) => html`<span title=${`at most ${row.operator.max_parallelism}`}>${row.operator.parallelism} of ${row.operator.max_parallelism}</span>` },
    { title: 'Entries', number: true, by: (row) => row.state.entries ?? undefined, cell: (row) => html`<span title=${row.state.entries === null ? 'it would take long to count them' : exact(row.state.entries)}>${count(row.state.entries)}</span>` },
    {
      title: 'Size',
      number: true,
      by: (row) => row.state.bytes ?? undefined,
      cell: (row) => html`<span class="state-size"><span title=${row.state.bytes === null ? 'it would take long to tell' : exact(row.state.bytes)}>${bytes(row.state.bytes)}</span>
        <${Bar} value=${row.state.bytes ?? undefined} most=${most} label=${row.state.bytes === null ? 'size not known' : `${bytes(row.state.bytes)}, the largest state has ${bytes(most)}`} /></span>`,
    },
  ];
}

/** @param {{chosen: any, source: import('./ask.js').Source, place: Place}} props */
function ChosenState({ chosen, source, place }) {
  const of = { operator: chosen.operator.id, state: chosen.state.name };
  if (!chosen.state.keyed) return html`<${Entries} source=${source} of=${of} chosen=${chosen} />`;
  return html`
    <${KeyGroupsPanel} source=${source} of=${of} chosen=${chosen} place=${place} />
    <${KeysPanel} source=${source} of=${of} chosen=${chosen} place=${place} />`;
}

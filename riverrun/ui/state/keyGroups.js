// How the entries of a state are spread over key groups, and so over subtasks.

import { html, classes, useMemo, useState } from '../core/view.js';
import { bytes, count, exact, percent } from '../core/format.js';
import { Bar } from '../parts/bars.js';
import { HeatMap } from '../parts/heatMap.js';
import { Notice } from '../parts/notice.js';
import { Panel } from '../parts/panel.js';
import { Table } from '../parts/table.js';
import { Asked } from './asked.js';
import { useAsked } from './ask.js';
import { amount, cellInWords, cellsOf, columnsFor, heat, largest, outlineOf, ownerOf, partsOf, span, spreadInWords, sum } from './spread.js';

/** @typedef {import('./spread.js').Measure} Measure */

/** @param {{source: import('./ask.js').Source, of: {operator: string, state: string}, chosen: any, place: import('./browser.js').Place}} props */
export function KeyGroupsPanel({ source, of, chosen, place }) {
  const [measure, setMeasure] = useState(/** @type {Measure} */ ('bytes'));
  const asked = useAsked(source, 'key-groups', of);
  const choice = html`<span class="switch" role="group" aria-label="What is shown">
    ${/** @type {Measure[]} */ (['bytes', 'entries']).map((each) => html`<button key=${each} type="button" class=${classes('button', each === measure && 'on')} aria-pressed=${each === measure} onClick=${() => setMeasure(each)}>${each}</button>`)}
  </span>`;
  return html`<${Panel} title=${`Key groups of ${chosen.state.name}`} tools=${choice}>
    <${Asked} of=${asked} what="the key groups">
      ${(/** @type {any} */ groups) => html`<${Spread} groups=${groups} measure=${measure} place=${place} />`}
    <//>
  <//>`;
}

/** @param {{groups: import('./spread.js').KeyGroups, measure: Measure, place: import('./browser.js').Place}} props */
function Spread({ groups, measure, place }) {
  const { tone, words } = spreadInWords(groups, measure);
  const cells = useMemo(() => cellsOf(groups, measure), [groups, measure]);
  const most = largest(cells.map((cell) => cell.value));
  const columns = columnsFor(cells.length);
  const outline = useMemo(() => outlineOf(cells, columns), [cells, columns]);
  const drawn = useMemo(() => cells.map((cell) => ({ heat: cell.value === null ? null : heat(cell.value, most), words: cellInWords(cell, measure) })), [cells, most]);
  const size = cells[0] ? cells[0].last - cells[0].first + 1 : 1;
  const chosen = place.query.get('group') ?? place.query.get('in');
  const open = (/** @type {number} */ group) => place.address({ group, key: undefined, in: undefined });
  const choose = (/** @type {number} */ cell) => {
    location.hash = open(fullest(groups, cells[cell], measure));
  };
  return html`<div class="spread">
    <${Notice} tone=${tone}>${words}<//>
    ${groups.estimated && html`<${Notice} tone="wait">Values cannot be read here, as their classes cannot be imported. The numbers are shares of the blocks that the state was written in.<//>`}
    <div class="spread-both">
      <div>
        <${HeatMap} label=${`${groups.max_parallelism} key groups by ${measure}: ${words} The table below has the numbers.`} cells=${drawn} columns=${columns} outline=${outline}
          marked=${chosen === null ? undefined : Math.floor(Number(chosen) / size)} choose=${choose} low=${amount(0, measure)} high=${amount(most, measure)} />
        <p class="muted">${size > 1 ? `A cell stands for ${size} key groups. ` : ''}${groups.parallelism > 1 ? 'Lines part the subtasks. ' : ''}${measure === 'bytes' ? 'Bytes are those before compression.' : ''}</p>
      </div>
      <${Subtasks} groups=${groups} measure=${measure} />
    </div>
    <details><summary>All key groups as a table</summary><${GroupTable} groups=${groups} open=${open} /></details>
  </div>`;
}

/** The key group that holds most in a cell. @param {import('./spread.js').KeyGroups} groups @param {import('./spread.js').Cell} cell @param {Measure} measure */
function fullest(groups, cell, measure) {
  const inside = groups[measure].slice(cell.first, cell.last + 1);
  return cell.first + Math.max(0, inside.findIndex((value) => value === largest(inside)));
}

/** @param {{groups: import('./spread.js').KeyGroups, measure: Measure}} props */
function Subtasks({ groups, measure }) {
  const parts = useMemo(() => partsOf(groups), [groups]);
  const most = largest(parts.map((part) => part[measure]));
  const total = sum(parts.map((part) => part[measure]));
  /** @type {import('../parts/table.js').Column<import('./spread.js').Part>[]} */
  const columns = [
    { title: 'Subtask', number: true, by: (part) => part.subtask, cell: (part) => part.subtask },
    { title: 'Key groups', by: (part) => part.first, cell: (part) => html`<span class="nowrap">${part.last < part.first ? 'none' : span(part.first, part.last)}</span>` },
    {
      title: measure === 'bytes' ? 'Bytes' : 'Entries',
      number: true,
      by: (part) => part[measure] ?? undefined,
      cell: (part) => html`<span title=${exact(part[measure])}>${(measure === 'bytes' ? bytes : count)(part[measure])}</span>`,
    },
    {
      title: 'Share',
      by: (part) => part[measure] ?? undefined,
      cell: (part) => html`<${Bar} value=${part[measure] ?? undefined} most=${most} label=${`${amount(part[measure], measure)}${total ? `, ${percent((part[measure] ?? 0) / total)} of all` : ''}`} />`,
    },
  ];
  return html`<div class="spread-subtasks"><${Table} caption="What each subtask holds" columns=${columns} rows=${parts} rowKey=${(/** @type {any} */ part) => part.subtask} /></div>`;
}

/** @param {{groups: import('./spread.js').KeyGroups, open: (group: number) => string}} props */
function GroupTable({ groups, open }) {
  const rows = useMemo(() => groups.entries.map((entries, group) => ({ group, entries, bytes: groups.bytes[group], subtask: ownerOf(groups, group) })), [groups]);
  const columns = useMemo(() => [
    { title: 'Key group', number: true, by: (/** @type {any} */ row) => row.group, cell: (/** @type {any} */ row) => html`<a href=${open(row.group)} aria-label=${`Keys of key group ${row.group}`}>${row.group}</a>` },
    { title: 'Subtask', number: true, by: (/** @type {any} */ row) => row.subtask, cell: (/** @type {any} */ row) => row.subtask },
    { title: 'Entries', number: true, by: (/** @type {any} */ row) => row.entries ?? undefined, cell: (/** @type {any} */ row) => exact(row.entries) },
    { title: 'Bytes', number: true, by: (/** @type {any} */ row) => row.bytes ?? undefined, cell: (/** @type {any} */ row) => exact(row.bytes) },
  ], [rows]);
  return html`<${Table} caption="Entries and bytes by key group" columns=${columns} rows=${rows} rowKey=${(/** @type {any} */ row) => row.group} />`;
}

// The subtasks of a vertex side by side: who got more, who is busier, who is behind.

import { html } from '../core/view.js';
import { link } from '../core/router.js';
import { bytes, clock, count, duration, exact, moment, percent, rate, NONE } from '../core/format.js';
import { Badge } from '../parts/badge.js';
import { Bar, TimeSplit } from '../parts/bars.js';
import { Table } from '../parts/table.js';
import { lagInWords, lagOf, watermarkInWords, watermarkOrder } from './watermarks.js';
import { mostOf } from './metrics.js';
import { mostly } from './subtasks.js';

/** @typedef {import('./subtasks.js').SubtaskRow} Row */

/**
 * @param {{id: string, vertex: string, rows: Row[], place: {source: boolean, sink: boolean}, now: number}} props
 */
export function SubtaskTable({ id, vertex, rows, place, now }) {
  const detail = (/** @type {Row} */ row) => link('/jobs', id, 'vertices', vertex, { subtask: row.subtask });
  const columns = [
    {
      title: 'Subtask',
      cell: (/** @type {Row} */ row) => html`<a href=${detail(row)} title="States and attempts of subtask ${row.subtask}">${row.subtask}</a>`,
      by: (/** @type {Row} */ row) => row.subtask,
    },
    { title: 'Status', cell: (/** @type {Row} */ row) => html`<${Badge} state=${row.status} />`, by: (/** @type {Row} */ row) => row.status },
    { title: 'Host', cell: Host, by: (/** @type {Row} */ row) => row.process },
    ...(place.source ? [] : [amounts('Records in', rows, 'recordsIn', 'inRate')]),
    ...(place.sink ? [] : [amounts('Records out', rows, 'recordsOut', 'outRate')]),
    { title: 'Busy', cell: Time, by: (/** @type {Row} */ row) => row.time?.busy },
    {
      title: 'Watermark', number: true,
      cell: (/** @type {Row} */ row) => watermarkInWords(row.watermark, now),
      by: (/** @type {Row} */ row) => watermarkOrder(row.watermark),
    },
    {
      title: 'Lag', number: true,
      cell: (/** @type {Row} */ row) => lagInWords(lagOf(row.watermark, now)),
      by: (/** @type {Row} */ row) => lagOf(row.watermark, now),
    },
    ...(place.source ? [] : [{ title: 'Bytes in', number: true, cell: (/** @type {Row} */ row) => bytes(row.bytesIn), by: (/** @type {Row} */ row) => row.bytesIn }]),
    ...(place.sink ? [] : [{ title: 'Bytes out', number: true, cell: (/** @type {Row} */ row) => bytes(row.bytesOut), by: (/** @type {Row} */ row) => row.bytesOut }]),
    {
      title: 'Attempt', number: true,
      cell: (/** @type {Row} */ row) => row.attempt ? html`<a href=${detail(row)} title="The attempts before">${row.attempt + 1}</a>` : 1,
      by: (/** @type {Row} */ row) => row.attempt,
    },
    { title: 'Since', number: true, cell: Since, by: (/** @type {Row} */ row) => row.since },
    { title: 'For', number: true, cell: (/** @type {Row} */ row) => duration(row.duration), by: (/** @type {Row} */ row) => row.duration },
  ];
  return html`<${Table} caption="Subtasks of the vertex" ...${{ columns, rows }} rowKey=${(/** @type {Row} */ row) => row.subtask}
    sorted=${{ column: 'Subtask', down: false }} empty="The vertex has no subtasks." />`;
}

/**
 * Numbers with bars beside the largest of their column.
 * @param {string} title @param {Row[]} rows
 * @param {'recordsIn' | 'recordsOut'} name @param {'inRate' | 'outRate'} pace
 */
function amounts(title, rows, name, pace) {
  const most = mostOf(rows.map((row) => row[name]));
  return {
    title,
    number: true,
    by: (/** @type {Row} */ row) => row[name],
    cell: (/** @type {Row} */ row) => html`<span class="amount">
      <${Bar} value=${row[name]} most=${most} label=${row[name] === undefined ? 'not told yet' : `${exact(row[name])}; the most of a subtask is ${exact(most)}`} />
      <span class="figures-of">${count(row[name])}</span><span class="pace muted">${rate(row[pace])}</span>
    </span>`,
  };
}

/** @param {Row} row */
function Host(row) {
  if (row.manager === undefined) return html`<span class="muted">not placed yet</span>`;
  return html`<a href=${link('/taskmanagers', row.manager)} title=${`${row.process} on task manager ${row.manager}`}>${row.host}</a>`;
}

/** @param {Row} row */
function Time({ time }) {
  if (!time) return html`<span class="muted">not told</span>`;
  const [what, share] = mostly(time);
  return html`<span class="spent"><${TimeSplit} ...${time} /><span>${percent(share)} ${what}</span></span>`;
}

/** @param {Row} row */
function Since({ since }) {
  return since === undefined ? NONE : html`<span title=${moment(since)}>${clock(since)}</span>`;
}

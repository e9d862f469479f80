// Every checkpoint that is remembered, newest first.

import { html, useMemo, useState } from '../core/view.js';
import { bytes, clock, duration, exact, moment, percent } from '../core/format.js';
import { link } from '../core/router.js';
import { Badge } from '../parts/badge.js';
import { Bar } from '../parts/bars.js';
import { Copy } from '../parts/copy.js';
import { Table } from '../parts/table.js';
import { endOf, typeWords } from './words.js';

/** So many are shown at first. */
const FIRST = 12;

/** @param {{job: string, now: number, history: any[]}} props now: by the JobManager's clock */
export function HistoryTable({ job, now, history }) {
  const [all, setAll] = useState(false);
  const rows = useMemo(() => history.slice(0, all ? undefined : FIRST).map((each) => soFar(each, now)), [history, now, all]);
  const columns = useMemo(() => columnsOf(job, rows), [job, rows]);
  return html`<${Table} caption="Checkpoints" columns=${columns} rows=${rows} rowKey=${(/** @type {any} */ each) => each.id}
      empty="No checkpoint has begun yet." />
    ${history.length > FIRST && html`<p class="checkpoint-more">
      <button type="button" class="button" aria-expanded=${all} onClick=${() => setAll(!all)}>${all ? `Show the newest ${FIRST}` : `Show all ${history.length}`}</button>
    </p>`}`;
}

/** The answer counts up to the latest acknowledgement; one that waits for the next has taken longer. @param {any} each @param {number} now */
function soFar(each, now) {
  return each.status === 'IN_PROGRESS' ? { ...each, end_to_end_duration: Math.max(0, now - each.trigger_timestamp) } : each;
}

/** @param {string} job @param {any[]} history @returns {import('../parts/table.js').Column<any>[]} */
function columnsOf(job, history) {
  const slowest = Math.max(0, ...history.map((each) => each.end_to_end_duration));
  const largest = Math.max(0, ...history.map((each) => each.state_size));
  return [
    { title: 'Number', number: true, by: (each) => each.id, cell: (each) => html`<a href=${link('/jobs', job, 'checkpoints', String(each.id))}>${each.id}</a>` },
    { title: 'State', by: (each) => each.status, cell: (each) => html`<${Badge} state=${each.status} />` },
    { title: 'Kind', by: typeWords, cell: (each) => html`<span class="nowrap">${typeWords(each)}</span>` },
    { title: 'Triggered', by: (each) => each.trigger_timestamp, cell: (each) => html`<span class="nowrap" title=${moment(each.trigger_timestamp)}>${clock(each.trigger_timestamp)}</span>` },
    { title: 'Duration', number: true, by: (each) => each.end_to_end_duration, cell: (each) => html`<${Measured} value=${each.end_to_end_duration} most=${slowest} words=${duration(each.end_to_end_duration)} />` },
    { title: 'State in all', number: true, by: (each) => each.state_size, cell: (each) => html`<${Measured} value=${each.state_size} most=${largest} words=${bytes(each.state_size)} exactly=${`${exact(each.state_size)} bytes`} />` },
    { title: 'Written', number: true, by: (each) => each.checkpointed_size, cell: written },
    { title: 'Acknowledged', number: true, by: (each) => each.num_acknowledged_subtasks / each.num_subtasks, cell: (each) => `${exact(each.num_acknowledged_subtasks)} of ${exact(each.num_subtasks)}` },
    { title: 'Where, or why not', cell: (each) => html`<${Whereabouts} checkpoint=${each} />` },
  ];
}

/** @param {any} each */
function written({ checkpointed_size: part, state_size: whole }) {
  return html`<span title=${`${exact(part)} bytes`}>${bytes(part)}${whole > 0 && part < whole && html` <span class="muted">${percent(part / whole)}</span>`}</span>`;
}

/** A number over its bar. @param {{value: number, most: number, words: string, exactly?: string}} props */
export function Measured({ value, most, words, exactly = words }) {
  return html`<span class="measured">${words}<span class="measured-bar" aria-hidden="true"><${Bar} value=${value} most=${most} label=${exactly} /></span></span>`;
}

/** Where a checkpoint lies, or why it does not exist. @param {{checkpoint: any, full?: boolean}} props full: with its whole path */
export function Whereabouts({ checkpoint, full }) {
  const { status, failure_message: reason, external_path: path, discarded } = checkpoint;
  if (status === 'FAILED') return html`<span class="checkpoint-reason">${reason ?? 'no reason is known'}</span>`;
  if (!path) return html`<span class="muted">in progress</span>`;
  if (discarded) return html`<span class="muted" title="Newer ones took its place.">deleted</span>`;
  return html`<${Path} path=${path} full=${full} />`;
}

/** A snapshot's path with what can be done with it. @param {{path: string, full?: boolean}} props */
export function Path({ path, full }) {
  return html`<span class="checkpoint-path"><a class="mono" href=${link('/state', { path })} title=${`Look into its state: ${path}`}>${full ? path : endOf(path)}</a> <${Copy} text=${path} what="the path" /></span>`;
}

// The vertices of a job as a table: what the drawing shows, for those who cannot see it or have little room.

import { html, useMemo } from '../core/view.js';
import { count, exact, moment, NONE, rate } from '../core/format.js';
import { link } from '../core/router.js';
import { Badge } from '../parts/badge.js';
import { TimeSplit } from '../parts/bars.js';
import { Table } from '../parts/table.js';
import { lagInWords, lagOf, watermarkInWords, watermarkOf } from '../vertex/watermarks.js';
import { tasksInWords, timeInWords } from './vertices.js';

/**
 * @typedef {import('./vertices.js').Vertex} Vertex
 * @param {{job: string, vertices: readonly Vertex[], now: number, ended: boolean}} props
 */
export function VertexTable({ job, vertices, now, ended }) {
  const columns = useMemo(() => columnsOf(job, ended), [job, ended]);
  const rows = useMemo(() => {
    const names = new Map(vertices.map(({ id, name }) => [id, name]));
    return vertices.map((vertex) => ({ ...vertex, from: readsInWords(vertex, names), lag: lagOf(watermarkOf(vertex.watermark), now), now }));
  }, [vertices, now]);
  return html`<${Table} caption="Vertices of the job" columns=${columns} rows=${rows} rowKey=${(/** @type {Vertex} */ row) => row.id} />`;
}

/** @type {import('../parts/table.js').Column<any>} */
const WATERMARK = {
  title: 'Watermark', number: true, by: (row) => row.lag,
  cell: (row) => html`<span title=${row.watermark === undefined ? undefined : moment(row.watermark)}>${lagWords(row)}</span>`,
};

/** @param {string} job @param {boolean} ended @returns {import('../parts/table.js').Column<any>[]} */
function columnsOf(job, ended) {
  const amounts = ended
    ? [amount('Records in', 'recordsIn', count), amount('Records out', 'recordsOut', count)]
    : [amount('In', 'inRate', rate), amount('Out', 'outRate', rate)];
  return [
    {
      title: 'Vertex', by: (row) => row.name,
      cell: (row) => html`<a href=${link('/jobs', job, 'vertices', row.id)} title=${row.fullName}>${row.name}</a>
        <small class="node-chain">${row.fullName}</small>`,
    },
    { title: 'Tasks', by: (row) => row.status, cell: (row) => html`<${Badge} state=${row.status}>${tasksInWords(row)}<//>` },
    {
      title: 'Time', by: (row) => row.time?.busy,
      cell: (row) => (row.time ? html`<${TimeSplit} ...${row.time} /><small class="nowrap">${timeInWords(row)}</small>` : html`<span class="muted">not told</span>`),
    },
    ...amounts,
    ...(ended ? [] : [WATERMARK]),
    { title: 'Reads from', cell: (row) => (row.from.length ? html`<ul class="node-reads">${row.from.map((/** @type {string} */ words) => html`<li>${words}</li>`)}</ul>` : NONE) },
    { title: 'Restarts', number: true, by: (row) => row.attempt, cell: (row) => exact(row.attempt) },
  ];
}

/** @param {any} row */
function lagWords(row) {
  if (row.lag !== undefined) return row.lag >= 0 ? `${lagInWords(row.lag)} behind` : lagInWords(row.lag);
  return row.watermark === undefined ? 'none' : watermarkInWords(watermarkOf(row.watermark), row.now);
}

/**
 * @param {string} title @param {'inRate' | 'outRate' | 'recordsIn' | 'recordsOut'} name
 * @param {(value: number | undefined) => string} format
 */
function amount(title, name, format) {
  return {
    title, number: true, by: (/** @type {Vertex} */ row) => row[name],
    cell: (/** @type {Vertex} */ row) => format(row[name]),
  };
}

/** @param {Vertex} vertex @param {Map<string, string>} names */
function readsInWords({ reads }, names) {
  return reads.map(({ id, strategy, sideOutput }) => {
    const side = sideOutput === undefined ? '' : `, side output ${sideOutput}`;
    return `${names.get(id) ?? id} (${strategy.toLowerCase()}${side})`;
  });
}

// What a vertex is, and how it does as a whole.

import { html } from '../core/view.js';
import { link } from '../core/router.js';
import { bytes, count, exact, percent, rate, NONE } from '../core/format.js';
import { Badge, inWords } from '../parts/badge.js';
import { Figures } from '../parts/figures.js';
import { TimeSplit } from '../parts/bars.js';
import { furthestBehind, lagInWords, lagOf, watermarkInWords } from './watermarks.js';
import { meanTime } from './subtasks.js';
import { sumOf } from './metrics.js';

/**
 * @param {{id: string, status: string, tasks: Record<string, number>, operators: string[], detail: any, children?: any}} props
 * children: what can be opened from here
 */
export function VertexHead({ id, status, tasks, operators, detail, children }) {
  const counts = Object.entries(tasks).filter(([, number]) => number > 0);
  return html`<div class="vertex-head">
    <nav class="crumbs" aria-label="Where this is">
      <a href=${link('/jobs', id)}>Graph</a><span aria-hidden="true">/</span>
      <span aria-current="page">Vertex</span>
    </nav>
    <h2 class="hidden-words">Vertex ${detail.name}</h2>
    <div class="vertex-title">
      <ol class="chain" aria-label="Operators of the vertex, in the order of the chain">
        ${operators.map((name, at) => html`<li key=${at}>${name}</li>`)}
      </ol>
      <p>
        <${Badge} state=${status} />${' '}
        <span class="muted">parallelism ${detail.parallelism} of at most ${detail.maxParallelism}
        ${counts.length > 1 && html` · ${counts.map(([state, number]) => `${number} ${inWords(state)}`).join(', ')}`}</span>
      </p>
      <div class="buttons">${children}</div>
    </div>
  </div>`;
}

/**
 * @param {{rows: import('./subtasks.js').SubtaskRow[], place: {source: boolean, sink: boolean}, now: number}} props
 */
export function VertexFigures({ rows, place, now }) {
  const sum = (/** @type {'recordsIn' | 'recordsOut' | 'bytesIn' | 'bytesOut' | 'inRate' | 'outRate'} */ name) =>
    sumOf(rows.map((row) => row[name]));
  const silent = rows.filter((row) => row.recordsIn === undefined).length;
  const partly = silent && silent < rows.length ? ` · ${silent} of ${rows.length} have not told yet` : '';
  const items = [
    place.source
      ? { name: 'Records in', value: NONE, note: 'a source reads from outside' }
      : { name: 'Records in', value: count(sum('recordsIn')), title: exact(sum('recordsIn')), note: `${rate(sum('inRate'))} · ${bytes(sum('bytesIn'))}${partly}` },
    place.sink
      ? { name: 'Records out', value: NONE, note: 'nothing in the job reads from it' }
      : { name: 'Records out', value: count(sum('recordsOut')), title: exact(sum('recordsOut')), note: `${rate(sum('outRate'))} · ${bytes(sum('bytesOut'))}${partly}` },
    timeFigure(rows),
    watermarkFigure(rows, now),
  ];
  return html`<${Figures} items=${items} />`;
}

/** @param {import('./subtasks.js').SubtaskRow[]} rows */
function timeFigure(rows) {
  const time = meanTime(rows);
  const name = rows.length > 1 ? 'Time, mean of the subtasks' : 'Time';
  if (!time) return { name, value: NONE, note: 'no subtask has told yet' };
  const words = [`busy ${percent(time.busy)}`, `back-pressured ${percent(time.backpressured)}`, `idle ${percent(time.idle)}`];
  return { name, value: html`<${TimeSplit} ...${time} />`, note: words.map((each) => html`<span key=${each} class="nowrap">${each}</span> `) };
}

/** @param {import('./subtasks.js').SubtaskRow[]} rows @param {number} now */
function watermarkFigure(rows, now) {
  const lowest = furthestBehind(rows);
  if (!lowest) return { name: 'Watermark', value: NONE, note: 'no subtask has told yet' };
  const lag = lagOf(lowest.watermark, now);
  const who = rows.length > 1 ? `, subtask ${lowest.subtask} is last` : '';
  const note = lag === undefined ? `no event time to tell${who}` : `${lag < 0 ? '' : 'lag '}${lagInWords(lag)}${who}`;
  return { name: 'Watermark', value: watermarkInWords(lowest.watermark, now), note };
}

// One checkpoint: vertex by vertex, and subtask by subtask of the vertex that is chosen.

import { html, useMemo } from '../core/view.js';
import { bytes, clock, duration, exact, moment } from '../core/format.js';
import { link } from '../core/router.js';
import { useLive } from '../core/live.js';
import { Answer, Notice } from '../parts/notice.js';
import { Badge } from '../parts/badge.js';
import { Facts } from '../parts/figures.js';
import { Panel } from '../parts/panel.js';
import { Table } from '../parts/table.js';
import { Measured, Whereabouts } from './historyTable.js';
import { PhaseLegend, SplitBar, SplitNumbers } from './splitBar.js';
import { slowestOf, splitOf } from './split.js';
import { lastOf, partsOf } from './waiting.js';
import { typeWords } from './words.js';

/** So many vertices show their phases at once; the others when they are chosen. */
const SPLIT_VERTICES = 20;

/** @param {{id: string, job: any, checkpoint: string, chosen: string | null}} props chosen: a vertex */
export function OneCheckpoint({ id, job, checkpoint, chosen }) {
  const path = `/jobs/${id}/checkpoints/details/${checkpoint}`;
  const first = useLive(path, Infinity);
  const running = first.value?.status === 'IN_PROGRESS';
  const again = useLive(running ? path : null);
  const live = running && again.value ? again : first;
  const gone = html`<span>Checkpoint ${checkpoint} is not in the history of this job, which keeps the latest ones.</span>`;
  return html`
    <p><a href=${link('/jobs', id, 'checkpoints')}>All checkpoints</a></p>
    <${Answer} of=${live} what=${`checkpoint ${checkpoint}`} gone=${gone}>
      ${(/** @type {any} */ found) => {
        const parts = partsOf(found, job.vertices);
        const vertex = parts.find((part) => part.id === chosen) ?? lastOf(parts) ?? parts[0];
        return html`
          <${Summary} checkpoint=${found} last=${lastOf(parts)} />
          <${Vertices} ...${{ id, path, parts, ended: found.status !== 'IN_PROGRESS', chosen: vertex?.id }} />
          ${vertex && html`<${Subtasks} key=${vertex.id} ...${{ id, path, vertex, ended: found.status !== 'IN_PROGRESS' }} />`}`;
      }}
    <//>`;
}

/** @param {{checkpoint: any, last: import('./waiting.js').VertexPart | null}} props */
function Summary({ checkpoint, last }) {
  const { status, trigger_timestamp: begun, latest_ack_timestamp: ack } = checkpoint;
  return html`
    ${status === 'FAILED' && html`<${Notice} tone="bad"><strong>It failed at ${clock(checkpoint.failure_timestamp)}</strong> <span>${checkpoint.failure_message ?? 'no reason is known'}</span><//>`}
    <${Panel} title=${html`Checkpoint ${checkpoint.id} <${Badge} state=${status} />`}>
      <${Facts} items=${[
        ['Kind', typeWords(checkpoint)],
        ['Triggered', moment(begun)],
        ['Duration', duration(checkpoint.end_to_end_duration)],
        ['Acknowledged', `${exact(checkpoint.num_acknowledged_subtasks)} of ${exact(checkpoint.num_subtasks)} subtasks${ack > 0 ? `, the last at ${clock(ack)}` : ''}${last && status === 'COMPLETED' ? ` by '${last.name}'` : ''}`],
        ['State in all', bytes(checkpoint.state_size)],
        ['Written', `${bytes(checkpoint.checkpointed_size)}${checkpoint.checkpointed_size < checkpoint.state_size ? ', the rest was there from earlier ones' : ''}`],
        ['Waited at barriers', bytes(checkpoint.alignment_buffered)],
        ['Records stored on their way', bytes(checkpoint.persisted_data)],
        ['Where, or why not', html`<${Whereabouts} checkpoint=${checkpoint} full=${true} />`],
      ]} />
    <//>`;
}

/** @param {{id: string, path: string, parts: import('./waiting.js').VertexPart[], ended: boolean, chosen: string | undefined}} props */
function Vertices({ id, path, parts, ended, chosen }) {
  const slowest = Math.max(0, ...parts.map(({ part }) => part.end_to_end_duration));
  const shown = new Set([...parts].sort((a, b) => b.part.end_to_end_duration - a.part.end_to_end_duration).slice(0, SPLIT_VERTICES).map((part) => part.id));
  /** @type {import('../parts/table.js').Column<import('./waiting.js').VertexPart>[]} */
  const columns = [
    { title: 'Vertex', by: (each) => each.name, cell: (each) => html`<a class="checkpoint-vertex" href=${link('/jobs', id, 'checkpoints', String(each.part.id), { vertex: each.id })} aria-current=${each.id === chosen ? 'true' : undefined}>${each.name}</a>` },
    { title: 'Duration', number: true, by: (each) => each.part.end_to_end_duration, cell: (each) => duration(each.acknowledged ? each.part.end_to_end_duration : undefined) },
    { title: 'Phases of the slowest subtask', cell: (each) => html`<${VertexSplit} ...${{ path, vertex: each.id, asked: shown.has(each.id) || each.id === chosen, ended, most: slowest }} />` },
    { title: 'Acknowledged', number: true, by: (each) => each.acknowledged / each.subtasks, cell: (each) => `${each.acknowledged} of ${each.subtasks}` },
    { title: 'Last at', by: (each) => each.part.latest_ack_timestamp, cell: (each) => html`<span class="nowrap">${clock(each.part.latest_ack_timestamp)}</span>` },
    { title: 'State in all', number: true, by: (each) => each.part.state_size, cell: (each) => bytes(each.part.state_size) },
    { title: 'Written', number: true, by: (each) => each.part.checkpointed_size, cell: (each) => bytes(each.part.checkpointed_size) },
    { title: 'Waited', number: true, by: (each) => each.part.alignment_buffered, cell: (each) => bytes(each.part.alignment_buffered) },
    { title: 'Processed', number: true, by: (each) => each.part.processed_data, cell: (each) => bytes(each.part.processed_data) },
    { title: 'Stored', number: true, by: (each) => each.part.persisted_data, cell: (each) => bytes(each.part.persisted_data) },
  ];
  return html`<${Panel} title="Vertices" flush=${true}>
    <${Table} caption="Vertices in this checkpoint" columns=${columns} rows=${parts} rowKey=${(/** @type {any} */ each) => each.id} empty="No vertex takes part." />
    <${PhaseLegend} />
  <//>`;
}

/** @param {{path: string, vertex: string, asked: boolean, ended: boolean, most: number}} props */
function VertexSplit({ path, vertex, asked, ended, most }) {
  const { value, problem } = useLive(asked ? `${path}/subtasks/${vertex}` : null, ended ? Infinity : 2000);
  if (!asked) return html`<span class="muted">choose the vertex</span>`;
  if (!value) return html`<span class="muted">${problem ? problem.message : '…'}</span>`;
  const slowest = slowestOf(value.subtasks);
  const split = splitOf(slowest);
  return html`<${SplitBar} split=${split} most=${most} whose=${split ? `subtask ${slowest.index}: ` : ''} /><${SplitNumbers} split=${split} />`;
}

/** @param {{id: string, path: string, vertex: import('./waiting.js').VertexPart, ended: boolean}} props */
function Subtasks({ id, path, vertex, ended }) {
  const live = useLive(`${path}/subtasks/${vertex.id}`, ended ? Infinity : 2000);
  return html`<${Panel} title=${`Subtasks of '${vertex.name}'`} flush=${true} tools=${html`<a href=${link('/jobs', id, 'vertices', vertex.id)}>The vertex</a>`}>
    <${Answer} of=${live} what="its subtasks" gone="This checkpoint has left the history, which keeps the latest ones.">
      ${(/** @type {any} */ found) => html`<${SubtaskTable} subtasks=${found.subtasks} /><${Spread} summary=${found.summary} />`}
    <//>
  <//>`;
}

/** @param {{subtasks: any[]}} props */
function SubtaskTable({ subtasks }) {
  const columns = useMemo(() => subtaskColumns(subtasks), [subtasks]);
  return html`<${Table} caption="Subtasks in this checkpoint" columns=${columns} rows=${subtasks} rowKey=${(/** @type {any} */ each) => each.index} empty="No subtask takes part." />`;
}

/** @param {any[]} subtasks @returns {import('../parts/table.js').Column<any>[]} */
function subtaskColumns(subtasks) {
  const slowest = Math.max(0, ...subtasks.map((each) => splitOf(each)?.total ?? 0));
  const largest = Math.max(0, ...subtasks.map((each) => each.state_size ?? 0));
  const time = (/** @type {string} */ title, /** @type {(each: any) => number | undefined} */ value) => ({
    title, number: true, by: value, cell: (/** @type {any} */ each) => duration(value(each)),
  });
  const size = (/** @type {string} */ title, /** @type {(each: any) => number | undefined} */ value) => ({
    title, number: true, by: value, cell: (/** @type {any} */ each) => html`<span title=${`${exact(value(each))} bytes`}>${bytes(value(each))}</span>`,
  });
  return [
    { title: 'Subtask', number: true, by: (each) => each.index, cell: (each) => each.index },
    { title: 'State', by: (each) => each.status, cell: (each) => html`<${Badge} state=${STATES[each.status] ?? 'IN_PROGRESS'}>${each.status}<//>` },
    { title: 'Acknowledged', by: (each) => each.ack_timestamp, cell: (each) => html`<span class="nowrap">${clock(each.ack_timestamp)}</span>` },
    time('Duration', (each) => each.end_to_end_duration),
    { title: 'Phases', by: (each) => each.end_to_end_duration, cell: (each) => html`<${SplitBar} split=${splitOf(each)} most=${slowest} />` },
    time('Start delay', (each) => each.start_delay),
    time('Alignment', (each) => each.alignment?.duration),
    time('Sync', (each) => each.checkpoint?.sync),
    time('Async', (each) => each.checkpoint?.async),
    { title: 'State in all', number: true, by: (each) => each.state_size, cell: (each) => (each.state_size === undefined ? bytes(undefined) : html`<${Measured} value=${each.state_size} most=${largest} words=${bytes(each.state_size)} exactly=${`${exact(each.state_size)} bytes`} />`) },
    size('Written', (each) => each.checkpointed_size),
    size('Waited', (each) => each.alignment?.buffered),
    size('Processed', (each) => each.alignment?.processed),
    size('Stored', (each) => each.alignment?.persisted),
    { title: 'Barriers', by: (each) => String(each.unaligned_checkpoint ?? ''), cell: (each) => (each.unaligned_checkpoint === undefined ? '–' : each.unaligned_checkpoint ? 'unaligned' : 'aligned') },
  ];
}

/** @type {Record<string, string>} */
const STATES = { completed: 'COMPLETED', failed: 'FAILED', pending: 'IN_PROGRESS' };

/** Least, mean and most of every figure. @param {{summary: any}} props */
function Spread({ summary }) {
  /** @type {[string, any, (value: number) => string][]} */
  const rows = [
    ['Duration', summary.end_to_end_duration, duration],
    ['Start delay', summary.start_delay, duration],
    ['Alignment', summary.alignment.duration, duration],
    ['Sync', summary.checkpoint_duration.sync, duration],
    ['Async', summary.checkpoint_duration.async, duration],
    ['State in all', summary.state_size, bytes],
    ['Written', summary.checkpointed_size, bytes],
    ['Waited at barriers', summary.alignment.buffered, bytes],
    ['Processed meanwhile', summary.alignment.processed, bytes],
    ['Stored on their way', summary.alignment.persisted, bytes],
  ];
  return html`<details class="checkpoint-spread"><summary>Least, mean and most over the subtasks</summary>
    <table class="grid">
      <caption class="hidden-words">Figures over the subtasks that acknowledged</caption>
      <thead><tr><th scope="col">Figure</th>${['Least', 'Mean', 'Median', '99 %', 'Most'].map((title) => html`<th key=${title} scope="col" class="number">${title}</th>`)}</tr></thead>
      <tbody>${rows.map(([name, over, words]) => html`<tr key=${name}><th scope="row">${name}</th>
        ${[over.min, over.avg, over.p50, over.p99, over.max].map((value, at) => html`<td key=${at} class="number">${words(value)}</td>`)}
      </tr>`)}</tbody>
    </table>
  </details>`;
}

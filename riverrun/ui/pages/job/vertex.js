// A vertex, subtask by subtask.

import { html } from '../../core/view.js';
import { useLive } from '../../core/live.js';
import { link } from '../../core/router.js';
import { Answer, Notice } from '../../parts/notice.js';
import { Panel } from '../../parts/panel.js';
import { Accumulators } from '../../vertex/accumulators.js';
import { Managers } from '../../vertex/managers.js';
import { MoreMetrics } from '../../vertex/moreMetrics.js';
import { Operators } from '../../vertex/operators.js';
import { SubtaskDetail } from '../../vertex/subtaskDetail.js';
import { SubtaskTable } from '../../vertex/subtaskTable.js';
import { VertexFigures, VertexHead } from '../../vertex/head.js';
import { operatorsOf, placeOf } from '../../vertex/chain.js';
import { bySubtask, forEverySubtask } from '../../vertex/metrics.js';
import { busySkewInWords, skewInWords, skewOf } from '../../vertex/skew.js';
import { ROW_METRICS, rowsOf } from '../../vertex/subtasks.js';

const MANY = 200;

/** @param {import('./frame.js').TabProps} props */
export function VertexTab({ id, job, names, query }) {
  const { vertex } = names;
  const glance = job.vertices.find((/** @type {any} */ each) => each.id === vertex);
  if (!glance) return html`<${Notice} tone="wait">The job has no vertex ${vertex}. <a href=${link('/jobs', id)}>Its graph</a><//>`;
  return html`<${KnownVertex} ...${{ id, job, vertex, glance, query }} />`;
}

/** @param {{id: string, job: any, vertex: string, glance: any, query: URLSearchParams}} props glance: what the job tells of it */
function KnownVertex({ id, job, vertex, glance, query }) {
  const path = `/jobs/${encodeURIComponent(id)}/vertices/${encodeURIComponent(vertex)}`;
  const every = glance.parallelism > MANY ? 3000 : 1000;
  const live = useLive(path, every);
  const pressure = useLive(`${path}/backpressure`, every);
  const metrics = useLive(`${path}/metrics?get=${forEverySubtask(ROW_METRICS)}`, every);
  return html`<${Answer} of=${live} what="the vertex">
    ${(/** @type {any} */ detail) => html`
      <${Lacking} of=${[pressure, metrics]} />
      <${Vertex} ...${{ id, vertex, path, detail, every, plan: job.plan, query }}
      glance=${glance} pressure=${pressure.value} metrics=${metrics.value} />`}
  <//>`;
}

/**
 * @param {{
 *   id: string, vertex: string, path: string, detail: any, every: number, plan: any, query: URLSearchParams,
 *   glance: any, pressure: any, metrics: any,
 * }} props
 */
function Vertex({ id, vertex, path, detail, every, plan, query, glance, pressure, metrics }) {
  const { now } = detail;
  const operators = operatorsOf(plan, vertex, detail.name);
  const place = placeOf(plan, vertex);
  const rows = rowsOf(detail, pressure, bySubtask(metrics, detail.parallelism), place);
  const chosen = query.has('subtask') ? detail.subtasks[Number(query.get('subtask'))] : undefined;
  return html`
    <${VertexHead} ...${{ id, operators, detail }} status=${glance.status} tasks=${glance.tasks}>
      <a class="button" href=${link('/jobs', id, 'vertices', vertex, 'flame')}>Flame graph</a>
    <//>
    <${VertexFigures} rows=${rows} place=${place} now=${now} />
    <${Uneven} rows=${rows} source=${place.source} />
    <${Panel} title="Subtasks" flush><${SubtaskTable} ...${{ id, vertex, rows, place, now }} /><//>
    ${query.has('subtask') && !chosen && html`<${Notice} tone="wait">There is no subtask ${query.get('subtask')}: the parallelism is ${detail.parallelism}.<//>`}
    ${chosen && html`<${SubtaskDetail} ...${{ id, vertex, path }} subtask=${chosen} />`}
    <${Operators} ...${{ path, operators, every, now }} />
    <${MoreMetrics} ...${{ path, operators, every, now }} subtasks=${detail.parallelism} />
    <${Managers} path=${path} place=${place} />
    <${Accumulators} path=${path} />`;
}

/** What could not be had beside the vertex itself. @param {{of: import('../../core/live.js').Live<any>[]}} props */
function Lacking({ of: answers }) {
  const words = answers.flatMap(({ problem }) => problem?.message ?? []);
  return words.length ? html`<${Notice} tone="wait">Some figures are missing or old: ${[...new Set(words)].join('; ')}<//>` : null;
}

/** @param {{rows: import('../../vertex/subtasks.js').SubtaskRow[], source: boolean}} props */
function Uneven({ rows, source }) {
  const parts = rows.map((row) => ({ subtask: row.subtask, value: source ? row.recordsOut : row.recordsIn }));
  const records = skewInWords(skewOf(parts), source ? 'gave' : 'got');
  const time = busySkewInWords(rows.map((row) => ({ subtask: row.subtask, busy: row.time?.busy })));
  if (!records && !time) return null;
  return html`<div class="uneven"><${Notice} tone="wait"><strong>Uneven</strong><span>${[records, time].filter(Boolean).join(' ')}</span><//></div>`;
}

// How a job went over time: small plots of the last minute, or of all of its run.

import { html, useRef } from '../../core/view.js';
import { useLive } from '../../core/live.js';
import { go, link } from '../../core/router.js';
import { known } from '../../core/format.js';
import { Answer } from '../../parts/notice.js';
import { Panel } from '../../parts/panel.js';
import { Plot } from '../../parts/plot.js';
import { exactness, JOB_PLOTS, VERTEX_PLOTS } from '../../timelines/plots.js';
import { pathOf, RANGES, rangeOf, spanOf } from '../../timelines/ranges.js';

const SYNC = 'timelines';

/** @param {import('./frame.js').TabProps} props */
export function TimelinesTab({ id, job, query }) {
  const range = rangeOf(query.get('range'));
  const vertex = job.vertices.find((/** @type {any} */ each) => each.id === query.get('vertex'));
  const ended = job['end-time'] > 0;
  const config = useLive(`/jobs/${id}/config`, Infinity);
  const facts = { config: config.value?.['execution-config']?.['user-config'] ?? {}, running: job.state === 'RUNNING' };
  const every = ended ? Infinity : range.every;
  return html`
    <${Chooser} id=${id} range=${range} vertex=${vertex?.id} vertices=${job.vertices} />
    ${vertex && html`<${Plots} key=${vertex.id} title=${vertex.name} plans=${VERTEX_PLOTS} path=${pathOf(id, range, vertex.id)} ...${{ range, every, facts }}
      about=${html`<a href=${link('/jobs', id, '/vertices', vertex.id)}>Its subtasks</a>`} />`}
    <${Plots} key="job" title=${vertex ? 'The whole job' : undefined} plans=${JOB_PLOTS} path=${pathOf(id, range, undefined)} ...${{ range, every, facts }} />`;
}

/** @param {{id: string, range: import('../../timelines/ranges.js').Range, vertex: string | undefined, vertices: any[]}} props */
function Chooser({ id, range, vertex, vertices }) {
  const to = (/** @type {Record<string, string | undefined>} */ query) => ['/jobs', id, '/timelines', { range: range.name, vertex, ...query }];
  const choose = (/** @type {Event} */ event) => go(...to({ vertex: /** @type {HTMLSelectElement} */ (event.target).value || undefined }));
  return html`<div class="timelines-chooser">
    <nav class="ranges" aria-label="Time range">
      ${RANGES.map(({ name, title }) => html`<a key=${name} href=${link(...to({ range: name }))} aria-current=${name === range.name ? 'true' : undefined}>${title}</a>`)}
    </nav>
    <label>Vertex
      <select class="input" value=${vertex ?? ''} onChange=${choose}>
        <option value="">none, only the whole job</option>
        ${vertices.map((each) => html`<option key=${each.id} value=${each.id}>${each.name}</option>`)}
      </select>
    </label>
  </div>`;
}

/**
 * @param {{
 *   title: string | undefined, about?: any, plans: readonly import('../../timelines/plots.js').PlotPlan[], path: string,
 *   range: import('../../timelines/ranges.js').Range, every: number, facts: import('../../timelines/plots.js').Facts,
 * }} props
 */
function Plots({ title, about, plans, path, range, every, facts }) {
  const live = useLive(path, every);
  const before = useRef(/** @type {any} */ (undefined));
  before.current = live.value ?? before.current;
  return html`
    ${title && html`<div class="timelines-title"><h2>${title}</h2>${about}</div>`}
    <${Answer} of=${{ ...live, value: before.current }} what="the time lines">
      ${(/** @type {any} */ answer) => (answer.times.length === 0
        ? html`<p class="muted">${nothingKept(answer)}</p>`
        : html`
          <div class="plots">${plans.map((plan) => html`<${PlotPanel} key=${plan.title} ...${{ plan, answer, range, facts }} />`)}</div>
          <p class="muted">${exactness(answer.resolution)}</p>`)}
    <//>`;
}

/** @param {any} answer */
function nothingKept(answer) {
  return answer.end > 0
    ? 'Nothing is kept of this time: values are noted once a second while a job runs, and are lost when the JobManager ends.'
    : 'Nothing has been noted in this time yet: values are noted once a second.';
}

/**
 * @param {{
 *   plan: import('../../timelines/plots.js').PlotPlan, answer: any, range: import('../../timelines/ranges.js').Range,
 *   facts: import('../../timelines/plots.js').Facts,
 * }} props
 */
function PlotPanel({ plan, answer, range, facts }) {
  const lines = plan.series.map(({ key, name, colour }) => ({ name, colour, values: answer.series[key] ?? [] }));
  const { title, note, why, format, label, steps, top, stepped } = plan;
  return html`<${Panel} title=${title}>
    <p class="muted plot-note">${note}</p>
    ${lines.some(({ values }) => values.some(known))
      ? html`<${Plot} ...${{ title, lines, format, label, steps, top, stepped, times: answer.times, span: spanOf(answer, range), sync: SYNC }} />`
      : html`<p class="plot-missing">${why(facts)}</p>`}
  <//>`;
}

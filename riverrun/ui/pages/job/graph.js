// The graph of a job: what holds it up in words, the drawing, and the same as a table.

import { html, useMemo } from '../../core/view.js';
import { useLive } from '../../core/live.js';
import { link } from '../../core/router.js';
import { findings } from '../../graph/bottleneck.js';
import { Findings } from '../../graph/findingsView.js';
import { VertexTable } from '../../graph/vertexTable.js';
import { ENDED, verticesOf } from '../../graph/vertices.js';
import { JobGraph } from '../../parts/jobGraph.js';
import { Notice } from '../../parts/notice.js';
import { Panel } from '../../parts/panel.js';

/** @param {import('./frame.js').TabProps} props */
export function GraphTab({ id, job }) {
  const ended = ENDED.includes(job.state);
  const flow = useLive(`/jobs/${id}/flow`, ended ? Infinity : 1000);
  const vertices = useMemo(() => verticesOf(job, flow.value), [job, flow.value]);
  const found = useMemo(() => findings(job, vertices), [job, vertices]);
  const blamed = useMemo(() => new Set(found.filter(({ tone }) => tone === 'bad').flatMap(({ vertex }) => vertex ?? [])), [found]);
  const now = flow.value?.now ?? job.now;
  return html`
    <${Findings} job=${id} found=${found} />
    ${flow.problem && html`<${Notice} tone="wait">What the vertices do is ${flow.value ? 'out of date' : 'not known'}: ${flow.problem.message}. It is asked for again by itself.<//>`}
    <${Panel} title="Graph" flush tools=${html`<${Legend} />`}>
      <${JobGraph} plan=${job.plan} label="The job, drawn; the table below tells the same" vertices=${vertices} now=${now} ended=${ended}
        hrefOf=${(/** @type {string} */ vertex) => link('/jobs', id, 'vertices', vertex)} blamed=${blamed} />
    <//>
    <${Panel} title="Vertices" flush>
      <${VertexTable} job=${id} vertices=${vertices} now=${now} ended=${ended} />
    <//>`;
}

function Legend() {
  return html`<ul class="graph-legend" aria-label="Colours">
    <li><span class="swatch busy"></span>busy</li>
    <li><span class="swatch backpressured"></span>back-pressured</li>
    <li><span class="swatch idle"></span>idle</li>
  </ul>`;
}

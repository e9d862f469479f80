// Any metrics of a process, live: their values now, and since the page was opened.

import { html, useRef, useState } from '../core/view.js';
import { useLive } from '../core/live.js';
import { NONE } from '../core/format.js';
import { Answer } from '../parts/notice.js';
import { Filter, hasWords } from '../parts/filter.js';
import { Panel } from '../parts/panel.js';
import { inUnit, lately, line, meaning, Samples, span } from './samples.js';

const AT_FIRST = 12;
const WIDTH = 160;
const HEIGHT = 28;

/** @param {{path: string}} props path: of the process, such as '/jobmanager' */
export function Metrics({ path }) {
  const live = useLive(`${path}/metrics`, 30_000);
  return html`<${Panel} title="Metrics">
    <${Answer} of=${live} what="the names of the metrics">
      ${(/** @type {any} */ { metrics }) => html`<${Chosen} path=${path} names=${metrics.map((/** @type {any} */ metric) => metric.id)} />`}
    <//>
  <//>`;
}

/** @param {{path: string, names: string[]}} props */
function Chosen({ path, names }) {
  const [left, setLeft] = useState(/** @type {Set<string> | null} */ (null));
  const [words, setWords] = useState('');
  const out = left ?? new Set(names.slice(AT_FIRST));
  const chosen = names.filter((name) => !out.has(name));
  const toggle = (/** @type {string} */ name) => {
    const next = new Set(out);
    if (!next.delete(name)) next.add(name);
    setLeft(next);
  };
  return html`
    <${Values} path=${path} names=${chosen} />
    <details class="metric-choice">
      <summary>Choose metrics (${chosen.length} of ${names.length} shown)</summary>
      ${names.length > AT_FIRST && html`<${Filter} label="Find a metric" words=${words} change=${setWords} />`}
      <fieldset class="choices"><legend class="hidden-words">Metrics that are shown</legend>
        ${names.filter((name) => hasWords(`${name} ${meaning(name)}`, words)).map((name) => html`<label class="check" key=${name}>
          <input type="checkbox" checked=${!out.has(name)} onChange=${() => toggle(name)} /><span class="mono">${name}</span></label>`)}
      </fieldset>
    </details>`;
}

/** @param {{path: string, names: string[]}} props */
function Values({ path, names }) {
  const samples = useRef(new Samples());
  const query = names.map(encodeURIComponent).join(',');
  const live = useLive(names.length ? `${path}/metrics?get=${query}` : null, 2000);
  if (live.value) samples.current.add(live.at, live.value.metrics);
  if (names.length === 0) return html`<p class="muted">No metric is chosen.</p>`;
  return html`<${Answer} of=${live} what="the metrics">
    ${(/** @type {any} */ { metrics }) => {
      const told = new Map(metrics.map((/** @type {any} */ metric) => [metric.id, metric.value]));
      return html`<div class="scroll"><table class="grid metrics">
        <caption class="hidden-words">Metrics now and since this page was opened</caption>
        <thead><tr><th scope="col">Metric</th><th scope="col" class="number">Now</th><th scope="col">Since this page was opened</th></tr></thead>
        <tbody>${names.map((name) => html`<${Value} key=${name} name=${name} told=${told.get(name)} samples=${samples.current.of(name)} />`)}</tbody>
      </table></div>`;
    }}
  <//>`;
}

/** @param {{name: string, told: string | undefined, samples: import('./samples.js').Sample[]}} props */
function Value({ name, told, samples }) {
  const values = samples.map(({ value }) => value);
  const points = line(samples, WIDTH, HEIGHT);
  const words = span(name, values);
  const note = lately(name, samples);
  return html`<tr>
    <th scope="row"><span class="mono">${name.split(/(?<=\.)/).map((part, at) => html`${at > 0 && html`<wbr />`}${part}`)}</span>${meaning(name) && html`<small class="muted">${meaning(name)}</small>`}</th>
    <td class="number"><strong>${told === undefined ? `${NONE} not measured` : inUnit(name, Number(told))}</strong>${note && html`<small class="muted">${note}</small>`}</td>
    <td>${points
      ? html`<span class="trend"><svg role="img" aria-label=${words} viewBox=${`0 -2 ${WIDTH} ${HEIGHT + 4}`} width=${WIDTH} height=${HEIGHT + 4}><polyline points=${points} /></svg><small class="muted">${words}</small></span>`
      : html`<span class="muted">gathering …</span>`}</td>
  </tr>`;
}

// Any metric of the vertex, live in each of its subtasks.

import { html, useState } from '../core/view.js';
import { useLive } from '../core/live.js';
import { Answer } from '../parts/notice.js';
import { Bar } from '../parts/bars.js';
import { Panel } from '../parts/panel.js';
import { Table } from '../parts/table.js';
import { bySubtask, forEverySubtask, isAmount, metricGroups, metricInWords, mostOf } from './metrics.js';

/** @param {{path: string, subtasks: number, operators: string[], every: number, now: number}} props */
export function MoreMetrics({ path, subtasks, operators, every, now }) {
  const [chosen, setChosen] = useState(/** @type {string[]} */ ([]));
  const names = useLive(`${path}/subtasks/metrics`, 15_000);
  const values = useLive(chosen.length ? `${path}/metrics?get=${forEverySubtask(chosen)}` : null, every);
  const add = (/** @type {Event} */ event) => {
    const select = /** @type {HTMLSelectElement} */ (event.target);
    const name = select.value;
    select.value = '';
    if (name && !chosen.includes(name)) setChosen([...chosen, name]);
  };
  return html`<${Panel} title="More metrics" flush=${chosen.length > 0}>
    <div class="chooser">
      <${Answer} of=${names} what="which metrics there are">
        ${(/** @type {any} */ answer) => html`<${Chooser} groups=${metricGroups(answer.metrics, operators)} chosen=${chosen} add=${add} />`}
      <//>
      ${chosen.map((name) => html`<button key=${name} type="button" class="chip" onClick=${() => setChosen(chosen.filter((each) => each !== name))}
        aria-label=${`Remove ${name}`}>${name}<span aria-hidden="true">×</span></button>`)}
    </div>
    ${chosen.length > 0 && html`<${Answer} of=${values} what="the metrics">
      ${(/** @type {any} */ answer) => html`<${Values} metrics=${bySubtask(answer, subtasks)} ...${{ chosen, subtasks, now }} />`}
    <//>`}
  <//>`;
}

/** @param {{groups: {title: string, names: string[]}[], chosen: string[], add: (event: Event) => void}} props */
function Chooser({ groups, chosen, add }) {
  if (!groups.length) return html`<p class="muted">The subtasks have not told any metric yet.</p>`;
  return html`<select class="input" aria-label="Show a metric" onChange=${add}>
      <option value="">Show a metric …</option>
      ${groups.map(({ title, names }) => html`<optgroup key=${title} label=${title}>
        ${names.map((name) => html`<option key=${name} value=${name} disabled=${chosen.includes(name)}>${name.startsWith(`${title}.`) ? name.slice(title.length + 1) : name}</option>`)}
      </optgroup>`)}
    </select>`;
}

/** @param {{metrics: import('./metrics.js').BySubtask, chosen: string[], subtasks: number, now: number}} props */
function Values({ metrics, chosen, subtasks, now }) {
  const rows = Array.from({ length: subtasks }, (_, subtask) => subtask);
  const columns = [
    { title: 'Subtask', cell: (/** @type {number} */ row) => row, by: (/** @type {number} */ row) => row },
    ...chosen.map((name) => {
      const values = metrics.get(name);
      const most = mostOf(values);
      return {
        title: name,
        number: true,
        by: (/** @type {number} */ row) => values?.[row],
        cell: (/** @type {number} */ row) => html`<span class="amount">
          ${isAmount(name) && html`<${Bar} value=${values?.[row]} most=${most} label=${`${metricInWords(name, values?.[row], now)}; the most of a subtask is ${metricInWords(name, most, now)}`} />`}
          <span class="figures-of">${metricInWords(name, values?.[row], now)}</span>
        </span>`,
      };
    }),
  ];
  return html`<${Table} caption="Chosen metrics of each subtask" columns=${columns} rows=${rows} rowKey=${(/** @type {number} */ row) => row}
    sorted=${{ column: 'Subtask', down: false }} />`;
}

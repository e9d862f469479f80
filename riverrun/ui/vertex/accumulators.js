// What the program counts in the vertex; subtask by subtask when that is wanted.

import { html, useState } from '../core/view.js';
import { useLive } from '../core/live.js';
import { Answer } from '../parts/notice.js';
import { Panel } from '../parts/panel.js';
import { Table } from '../parts/table.js';
import { countedIn } from './counted.js';

/** @typedef {import('./counted.js').Counted} Row */

/** @param {{path: string}} props */
export function Accumulators({ path }) {
  const [each, setEach] = useState(false);
  const whole = useLive(`${path}/accumulators`, 3000);
  const parts = useLive(each ? `${path}/subtasks/accumulators` : null, 3000);
  const columns = [
    ...(each ? [{ title: 'Subtask', number: true, cell: (/** @type {Row} */ row) => row.subtask, by: (/** @type {Row} */ row) => row.subtask }] : []),
    { title: 'Name', cell: (/** @type {Row} */ row) => row.name, by: (/** @type {Row} */ row) => row.name },
    { title: 'Type', cell: (/** @type {Row} */ row) => row.type, by: (/** @type {Row} */ row) => row.type },
    { title: 'Value', cell: (/** @type {Row} */ row) => html`<span class="mono">${row.value}</span>` },
  ];
  const tools = html`<label class="check"><input type="checkbox" checked=${each} onChange=${() => setEach(!each)} />of each subtask</label>`;
  return html`<${Panel} title="Accumulators" tools=${tools} flush>
    <${Answer} of=${each ? parts : whole} what="the accumulators">
      ${(/** @type {any} */ answer) => html`<${Table} caption="Accumulators of the vertex" columns=${columns} rows=${countedIn(answer)}
        rowKey=${(/** @type {Row} */ row) => row.key} empty="The program counts nothing in this vertex." />`}
    <//>
  <//>`;
}

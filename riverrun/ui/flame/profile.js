// A profile that was taken: the graph with its search, and the same as a table.

import { html, useEffect, useMemo, useState } from '../core/view.js';
import { Panel } from '../parts/panel.js';
import { CostTable } from './costTable.js';
import { FlameGraph } from './graph.js';
import { OWNERS, shortName } from './frames.js';
import { share } from './share.js';
import { matches, pathTo, treeOf } from './tree.js';

/** @param {{data: import('./tree.js').Answered, note: any}} props note: of when and of what it is */
export function Profile({ data, note }) {
  const [onlyTask, setOnlyTask] = useState(true);
  const [text, setText] = useState('');
  const tree = useMemo(() => treeOf(data, onlyTask), [data, onlyTask]);
  const [focus, setFocus] = useState(tree.root);
  useEffect(() => setFocus(tree.root), [tree]);
  const search = useMemo(() => matches(tree, text), [tree, text]);
  const looked = tree.calls[focus.id] === focus ? focus : tree.root;
  if (!data.value) return html`<p class="muted">No sample of this kind was seen. ${note}</p>`;
  return html`
    <${Panel} title="Flame graph" tools=${note}>
      <div class="flame-tools">
        <label class="flame-search"><span class="hidden-words">Search functions</span>
          <input type="search" class="input" placeholder="Search functions" value=${text} onInput=${(/** @type {Event} */ event) => setText(/** @type {HTMLInputElement} */ (event.target).value)} /></label>
        <span role="status" class="nowrap">${search && `matches ${share(search.value, tree.root.value)}`}</span>
        <label class="check"><input type="checkbox" checked=${onlyTask} onChange=${() => setOnlyTask(!onlyTask)} />the task only, without Spark's frames around it</label>
        <${Legend} tree=${tree} />
      </div>
      <${Crumbs} focus=${looked} setFocus=${setFocus} />
      <${FlameGraph} tree=${tree} focus=${looked} setFocus=${setFocus} found=${search?.found} />
      ${onlyTask && !tree.cut && html`<p class="muted">No call of riverrun was seen, so all threads are shown.</p>`}
    <//>
    <${Panel} title="Functions by own time" flush><${CostTable} tree=${tree} search=${setText} /><//>`;
}

/** @param {{focus: import('./tree.js').Call, setFocus: (call: import('./tree.js').Call) => void}} props */
function Crumbs({ focus, setFocus }) {
  const path = pathTo(focus);
  const shown = path.length > 4 ? [path[0], ...path.slice(-3)] : path;
  return html`<nav class="crumbs" aria-label="What is looked at">
    ${shown.map((call, at) => html`<span key=${call.id}>
      ${at > 0 && html`<span aria-hidden="true">${at === 1 && shown.length < path.length ? ' / … / ' : ' / '}</span>`}
      ${call === focus
        ? html`<span aria-current="true">${shortName(call.name)}</span>`
        : html`<button type="button" class="plain" onClick=${() => setFocus(call)}>${shortName(call.name)}</button>`}
    </span>`)}
    ${path.length > 1 && html`<button type="button" class="button" onClick=${() => setFocus(path[0])}>Show all</button>`}
  </nav>`;
}

/** @param {{tree: import('./tree.js').Tree}} props */
function Legend({ tree }) {
  const seen = useMemo(() => new Set(tree.calls.slice(1).map((call) => call.owner)), [tree]);
  const owners = /** @type {import('./frames.js').Owner[]} */ (Object.keys(OWNERS)).filter((owner) => seen.has(owner));
  return html`<ul class="flame-legend" aria-label="Colours">
    ${owners.map((owner) => html`<li key=${owner}><span class=${`swatch ${owner}`} aria-hidden="true"></span>${OWNERS[owner]}</li>`)}
  </ul>`;
}

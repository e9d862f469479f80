// Look up one key of a state, with some keys to pick from.

import { html, classes, useState } from '../core/view.js';
import { Notice } from '../parts/notice.js';
import { Panel } from '../parts/panel.js';
import { Facts } from '../parts/figures.js';
import { Asked } from './asked.js';
import { useAsked } from './ask.js';
import { EntryList } from './entries.js';
import { folder } from './snapshots.js';

const FIRST = 30;
const MORE = 500;

/** @param {{source: import('./ask.js').Source, of: {operator: string, state: string}, chosen: any, place: import('./browser.js').Place}} props */
export function KeysPanel({ source, of, chosen, place }) {
  const { query, address } = place;
  const key = query.get('key');
  const submit = (/** @type {SubmitEvent} */ event) => {
    event.preventDefault();
    const written = String(new FormData(/** @type {HTMLFormElement} */ (event.target)).get('key'));
    location.hash = address({ key: written, in: undefined });
  };
  return html`<${Panel} title=${`Look up a key of ${chosen.state.name}`}>
    <div class="keys">
      <form class="key-form" onSubmit=${submit}>
        <label class="field"><span>Key</span><input key=${key} name="key" defaultValue=${key ?? ''} required autocomplete="off" spellcheck=${false} class="mono" /></label>
        <button class="button primary">Look up</button>
        <p class="muted">Text needs no quotes; other keys as Python or JSON writes them: <code>42</code>, <code>('a', 1)</code>.</p>
      </form>
      ${key !== null && html`<${Found} source=${source} of=${of} chosen=${chosen} place=${place} written=${key} />`}
      <${FirstKeys} key=${query.get('group') ?? ''} source=${source} of=${of} place=${place} />
    </div>
  <//>`;
}

/** @param {{source: import('./ask.js').Source, of: {operator: string, state: string}, place: import('./browser.js').Place}} props */
function FirstKeys({ source, of, place }) {
  const [limit, setLimit] = useState(FIRST);
  const group = place.query.get('group') ?? undefined;
  const asked = useAsked(source, 'keys', { ...of, limit, 'key-group': group });
  const where = group === undefined ? 'First keys' : `Keys of key group ${group}`;
  return html`<div class="first-keys">
    <h3>${where} ${group !== undefined && html`<a href=${place.address({ group: undefined })}>all key groups</a>`}</h3>
    <${Asked} of=${asked} what="the keys">
      ${(/** @type {any} */ { keys, complete }) => html`
        ${keys.length === 0 && html`<p class="muted">${complete ? 'There are none.' : 'None were found in the time of a request.'}</p>`}
        <ul class="key-list">${keys.map((/** @type {any} */ each) => html`<li key=${`${each.key} ${each.key_group}`}>
          <a class=${classes('key', isChosen(place, each) && 'chosen')} href=${place.address({ key: each.key, in: each.key_group })} title=${`key group ${each.key_group}, subtask ${each.subtask}`}>${each.key === '' ? '(empty text)' : each.key}</a></li>`)}</ul>
        ${!complete && keys.length > 0 && html`<p class="muted">There are more keys than these ${keys.length}. ${limit === FIRST && html`<button type="button" class="button" onClick=${() => setLimit(MORE)}>Show up to ${MORE}</button>`}</p>`}`}
    <//>
  </div>`;
}

/** @param {import('./browser.js').Place} place @param {any} each */
function isChosen({ query }, each) {
  return query.get('key') === each.key && [null, String(each.key_group)].includes(query.get('in'));
}

/** @param {{source: import('./ask.js').Source, of: {operator: string, state: string}, chosen: any, place: import('./browser.js').Place, written: string}} props */
function Found({ source, of, chosen, place, written }) {
  const asked = useAsked(source, 'lookup', { ...of, key: written, 'key-group': place.query.get('in') ?? undefined });
  return html`<div class="found" aria-live="polite"><${Asked} of=${asked} what="the key">
    ${(/** @type {any} */ found) => html`
      ${!found.found && html`<${Notice} tone="wait">${missing(found, written)}<//>`}
      <${Facts} items=${[
        ['Key', html`<span class="mono">${written}</span> ${found.key_type && html`<span class="muted">${found.key_type}</span>`}`],
        ...(found.key_group === null ? [] : [['Key group', html`<a href=${place.address({ group: found.key_group })}>${found.key_group}</a>`], ['Subtask', found.subtask]]),
        ...(source.path === undefined && asked.path ? [['Read from', html`<span class="mono">${folder(asked.path).split('/').at(-1)}</span>`]] : []),
      ]} />
      ${found.found && html`<${EntryList} entries=${found.entries} complete=${found.complete} state=${chosen.state} />`}`}
  <//></div>`;
}

/** @param {any} found @param {string} written */
function missing(found, written) {
  if (!found.complete) return `The key ${written} was not found in the time of a request; the state has more keys than could be looked at.`;
  return `The state holds nothing for the key ${written}.`;
}

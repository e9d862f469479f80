// Looking for words in a log: how many there are, from one to the next, and further up in the file.

import { html, useEffect, useRef, useState } from '../core/view.js';
import { bytes, exact } from '../core/format.js';
import { indexOf } from './search.js';

/**
 * @param {{
 *   file: string, words: string, hits: import('./search.js').Hit[], hasMore: boolean,
 *   current: import('./search.js').Hit | null, reader: import('./reader.js').LogReader,
 *   search: import('./search.js').Search, change: (words: string) => void, step: (step: 1 | -1) => void,
 *   found: () => void, field: {current: HTMLInputElement | null},
 * }} props
 * found: called when a search further up found something
 */
export function SearchForm({ file, words, hits, hasMore, current, reader, search, change, step, found, field }) {
  const pressed = (/** @type {KeyboardEvent} */ event) => {
    if (event.key === 'Enter') {
      event.preventDefault();
      step(event.shiftKey ? -1 : 1);
    } else if (event.key === 'Escape' && words) {
      event.preventDefault();
      change('');
    }
  };
  const none = hits.length === 0;
  return html`<div class="log-search" role="search" aria-label=${`Search in ${file}`}>
    <input class="input" type="search" ref=${field} value=${words} placeholder="Search ( / )" aria-label="Search for words"
      onInput=${(/** @type {any} */ event) => change(event.target.value)} onKeyDown=${pressed} />
    <button type="button" class="button" aria-label="Previous match" title="Previous match (Shift+Enter)" disabled=${none} onClick=${() => step(-1)}>↑</button>
    <button type="button" class="button" aria-label="Next match" title="Next match (Enter)" disabled=${none} onClick=${() => step(1)}>↓</button>
    <span role="status" class="log-count">${words && counted(indexOf(hits, current), hits.length, hasMore, reader)}</span>
    ${words && reader.hasEarlier && html`<${FurtherUp} key=${words} ...${{ reader, search, found }} />`}
  </div>`;
}

/** @param {number} index @param {number} all @param {boolean} hasMore @param {import('./reader.js').LogReader} reader */
function counted(index, all, hasMore, reader) {
  const where = reader.hasEarlier || reader.hasLater ? ' in the loaded part' : '';
  if (all === 0) return `nothing found${where}`;
  const total = hasMore ? `more than ${exact(all)}` : exact(all);
  return index < 0 ? `${total} found${where}` : `${exact(index + 1)} of ${total}${where}`;
}

/**
 * @param {{reader: import('./reader.js').LogReader, search: import('./search.js').Search, found: () => void}} props
 */
function FurtherUp({ reader, search, found }) {
  const [state, setState] = useState(/** @type {'' | 'looking' | 'none'} */ (''));
  const giveUp = useRef(/** @type {AbortController | null} */ (null));
  useEffect(() => () => giveUp.current?.abort(), []);
  const look = async () => {
    const controller = new AbortController();
    giveUp.current = controller;
    setState('looking');
    const isFound = await reader.earlierUntil((rows) => search.hits(rows).hits.length > 0, controller.signal, found);
    setState(isFound || controller.signal.aborted ? '' : 'none');
  };
  if (state === 'looking') {
    return html`<span role="status">Looking further up, ${bytes(reader.window.start)} to go …
      <button type="button" class="button small" onClick=${() => giveUp.current?.abort()}>Stop</button></span>`;
  }
  return html`<button type="button" class="button small" onClick=${look}>Search further up</button>${state === 'none' && !reader.problem && ' nothing there'}`;
}

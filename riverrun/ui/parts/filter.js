// A field whose words decide which rows are shown.

import { html } from '../core/view.js';

/** @param {{label: string, words: string, change: (words: string) => void, note?: any}} props */
export function Filter({ label, words, change, note }) {
  return html`<div class="filter">
    <input class="input" type="search" value=${words} placeholder=${label} aria-label=${label}
      onInput=${(/** @type {any} */ event) => change(event.target.value)} />
    ${note && html`<span class="muted" role="status">${note}</span>`}
  </div>`;
}

/** Whether a text has all the words, in any case and order. @param {string} text @param {string} words */
export function hasWords(text, words) {
  const low = text.toLowerCase();
  return words.toLowerCase().split(/\s+/).every((word) => low.includes(word));
}

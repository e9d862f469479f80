// A row of large numbers, and a list of names with values.

import { html } from '../core/view.js';

/** @param {{items: {name: string, value: any, note?: any, title?: string}[]}} props */
export function Figures({ items }) {
  return html`<dl class="figures">
    ${items.map(({ name, value, note, title }) => html`<div class="figure" key=${name} title=${title}>
      <dt>${name}</dt><dd>${value}${note && html`<small>${note}</small>`}</dd>
    </div>`)}
  </dl>`;
}

/** @param {{items: [name: string, value: any][]}} props */
export function Facts({ items }) {
  return html`<dl class="facts">
    ${items.map(([name, value]) => html`<dt key=${`${name}:`}>${name}</dt><dd key=${name}>${value}</dd>`)}
  </dl>`;
}

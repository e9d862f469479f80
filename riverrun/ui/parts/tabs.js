// Links between the parts of one page.

import { html } from '../core/view.js';

/** @param {{label: string, items: {title: any, href: string, current: boolean}[]}} props */
export function Tabs({ label, items }) {
  return html`<nav class="tabs" aria-label=${label}>
    ${items.map(({ title, href, current }) => html`<a key=${href} href=${href} aria-current=${current ? 'page' : undefined}>${title}</a>`)}
  </nav>`;
}

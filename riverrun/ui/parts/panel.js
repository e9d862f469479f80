// A titled box, the usual container of a page's content.

import { html, classes, useId } from '../core/view.js';

/**
 * @param {{title: any, tools?: any, flush?: boolean, id?: string, children?: any}} props
 * flush: the content goes to the edges, as tables do
 */
export function Panel({ title, tools, flush, id, children }) {
  const heading = useId();
  return html`<section class="panel" id=${id} aria-labelledby=${heading}>
    <header><h2 id=${heading}>${title}</h2>${tools && html`<div class="tools">${tools}</div>`}</header>
    <div class=${classes('body', flush && 'flush')}>${children}</div>
  </section>`;
}

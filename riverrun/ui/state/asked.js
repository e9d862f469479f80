// The frame for an answer about a snapshot: being read, or why it cannot be.

import { html } from '../core/view.js';
import { Notice } from '../parts/notice.js';

/**
 * @param {{of: import('./ask.js').Asked, what: string, gone?: (words: string) => any, children: (value: any) => any}} props
 * what: 'the states'; gone: what to show when there is no such thing
 */
export function Asked({ of: asked, what, gone, children }) {
  const { value, problem, again, refresh } = asked;
  if (problem?.kind === 'gone' && gone) return gone(problem.message);
  if (problem) {
    return html`<${Notice} tone=${problem.kind === 'gone' ? 'wait' : 'bad'}>
      <span>Cannot show ${what}: ${problem.message}${again ? '. It is asked for again by itself.' : ''}</span>
      ${!again && html`<button type="button" class="button" onClick=${refresh}>Ask again</button>`}
    <//>`;
  }
  if (value === undefined) return html`<p class="muted" role="status">Reading ${what} …</p>`;
  return children(value);
}

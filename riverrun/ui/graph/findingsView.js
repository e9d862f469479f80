// The sentences about what holds a job up, with links to what they name.

import { classes, html } from '../core/view.js';
import { link } from '../core/router.js';

const MARKS = { good: '✓', wait: '!', bad: '✕' };

/** @param {{job: string, found: readonly import('./bottleneck.js').Finding[]}} props */
export function Findings({ job, found }) {
  return html`<section class="findings" aria-label="What holds the job up">
    ${found.map((finding, at) => html`<div key=${at} class=${classes('finding', finding.tone)}>
      <span class="finding-mark" aria-hidden="true">${MARKS[finding.tone]}</span>
      <p>${finding.pieces.map((piece) => (typeof piece === 'string' ? piece : html`<a href=${hrefOf(job, piece)}>${piece.text}</a>`))}</p>
      ${finding.vertex && html`<button type="button" class="button" onClick=${() => show(finding.vertex)}>Show in the graph</button>`}
    </div>`)}
  </section>`;
}

/** @param {string} job @param {{vertex: string} | {tab: string}} piece */
function hrefOf(job, piece) {
  return 'vertex' in piece ? link('/jobs', job, 'vertices', piece.vertex) : link('/jobs', job, piece.tab);
}

/** @param {string | undefined} vertex */
function show(vertex) {
  const box = document.getElementById(`vertex-${vertex}`);
  box?.scrollIntoView({ block: 'nearest', inline: 'center' });
  box?.focus({ preventScroll: true });
}

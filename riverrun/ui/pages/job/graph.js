// The graph of a job.

import { html } from '../../core/view.js';

export function GraphTab() {
  return html`<p class="muted">The graph of a job.</p>`;
}

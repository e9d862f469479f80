// What can be done with a job.

import { html } from '../../core/view.js';

export function Actions() {
  return html`<p class="muted">What can be done with a job.</p>`;
}

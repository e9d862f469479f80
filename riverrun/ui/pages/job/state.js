// States in the checkpoints of a job.

import { html } from '../../core/view.js';

export function StateTab() {
  return html`<p class="muted">States in the checkpoints of a job.</p>`;
}

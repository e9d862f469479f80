// Checkpoints of a job.

import { html } from '../../core/view.js';

export function CheckpointsTab() {
  return html`<p class="muted">Checkpoints of a job.</p>`;
}

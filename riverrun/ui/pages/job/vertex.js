// A vertex, subtask by subtask.

import { html } from '../../core/view.js';

export function VertexTab() {
  return html`<p class="muted">A vertex, subtask by subtask.</p>`;
}
